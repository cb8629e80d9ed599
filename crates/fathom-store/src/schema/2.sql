-- Version 2: labels of runs, such as the project, the host or a ticket, by which runs are found again.
CREATE TABLE label (
    run BIGINT NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, name)
);

CREATE INDEX label_value ON label (name, value, run);
