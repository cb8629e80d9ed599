-- Version 1. Times in nanoseconds since 1970, lengths in nanoseconds, figures in SI units without prefix.
-- The schema's version, and the number of the next run: no number is given twice.
CREATE TABLE fathom (version BIGINT NOT NULL, next_run BIGINT NOT NULL);

INSERT INTO fathom (version, next_run) VALUES (0, 1);

CREATE TABLE run (
    number BIGINT PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    command TEXT NOT NULL,
    plan TEXT NOT NULL,
    facts TEXT NOT NULL,
    planned BIGINT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    created_ns BIGINT NOT NULL,
    ended_ns BIGINT
);

CREATE TABLE cell (
    run BIGINT NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    axes TEXT NOT NULL,
    plan TEXT NOT NULL,
    state TEXT NOT NULL,
    started_ns BIGINT NOT NULL,
    elapsed_ns BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    notes TEXT NOT NULL,
    PRIMARY KEY (run, position)
);

CREATE TABLE figure (
    run BIGINT NOT NULL,
    position BIGINT NOT NULL,
    place BIGINT NOT NULL,
    name TEXT NOT NULL,
    value DOUBLE PRECISION,
    PRIMARY KEY (run, position, place),
    FOREIGN KEY (run, position) REFERENCES cell (run, position) ON DELETE CASCADE
);

CREATE TABLE finding (
    run BIGINT NOT NULL,
    position BIGINT NOT NULL,
    place BIGINT NOT NULL,
    code TEXT NOT NULL,
    weight TEXT NOT NULL,
    about TEXT NOT NULL,
    evidence TEXT NOT NULL,
    PRIMARY KEY (run, position, place),
    FOREIGN KEY (run, position) REFERENCES cell (run, position) ON DELETE CASCADE
);

-- What was measured: a recording, or a result of another program as it was read.
CREATE TABLE content (
    run BIGINT NOT NULL,
    position BIGINT NOT NULL,
    format TEXT NOT NULL,
    body BYTES NOT NULL,
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES cell (run, position) ON DELETE CASCADE
);

-- Intervals of a cell that is still measured, in the order in which they came.
CREATE TABLE part (
    run BIGINT NOT NULL,
    position BIGINT NOT NULL,
    place BIGINT NOT NULL,
    job BIGINT NOT NULL,
    body BYTES NOT NULL,
    PRIMARY KEY (run, position, place),
    FOREIGN KEY (run, position) REFERENCES cell (run, position) ON DELETE CASCADE
);
