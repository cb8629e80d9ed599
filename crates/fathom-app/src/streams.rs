//! The device I/O of a database by stream: data, log, temporary files.

use std::path::Path;

use fathom_model::format::{bytes, duration, percent};
use serde::{Deserialize, Serialize};

use crate::Engine;

/// What a file of a database is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamKind {
    /// Tables and indexes.
    Data,
    /// The log of commits: write-ahead, redo or rollback.
    Log,
    /// Files of sorts, of temporary tables and of statistics, which a restart removes.
    Temporary,
    /// Other files of the database, such as the states of transactions and lists of files.
    Other,
    /// The file system's own blocks, and the I/O of other programs on the device.
    Rest,
}

impl StreamKind {
    /// All, in the order of results.
    pub const ALL: [StreamKind; 5] = [
        StreamKind::Data,
        StreamKind::Log,
        StreamKind::Temporary,
        StreamKind::Other,
        StreamKind::Rest,
    ];

    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            StreamKind::Data => "data",
            StreamKind::Log => "log",
            StreamKind::Temporary => "temporary",
            StreamKind::Other => "other",
            StreamKind::Rest => "rest",
        }
    }

    /// Its name in sentences.
    const fn title(self) -> &'static str {
        match self {
            StreamKind::Data => "data",
            StreamKind::Log => "log",
            StreamKind::Temporary => "temporary files",
            StreamKind::Other => "other files of the database",
            StreamKind::Rest => "file system and other programs",
        }
    }

    /// The stream of a file, by its path below the private folder.
    ///
    /// The files of PostgreSQL are those of the chapter "Database File Layout" of its documentation, those of InnoDB and Aria have
    /// their default names.
    #[must_use]
    pub fn of_file(engine: Engine, path: &Path) -> StreamKind {
        let has = |folder: &str| path.iter().any(|part| part == folder);
        let name = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // The kernel adds this to the names of open files that were removed.
        let name = name.trim_end_matches(" (deleted)");
        match engine {
            Engine::Sqlite if name.ends_with("-wal") || name.ends_with("-journal") => {
                StreamKind::Log
            }
            Engine::Sqlite if name.ends_with(".sqlite") => StreamKind::Data,
            Engine::Postgres if has("pgsql_tmp") || has("pg_stat_tmp") => StreamKind::Temporary,
            Engine::Postgres if has("pg_wal") => StreamKind::Log,
            Engine::Postgres if has("base") || has("global") || has("pg_tblspc") => {
                StreamKind::Data
            }
            Engine::Mariadb if has("tmp") || name.starts_with("ibtmp") => StreamKind::Temporary,
            Engine::Mariadb if name.starts_with("ib_logfile") || name.starts_with("aria_log") => {
                StreamKind::Log
            }
            Engine::Mariadb if has("data") => StreamKind::Data,
            _ => StreamKind::Other,
        }
    }
}

/// The requests of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Which.
    pub kind: StreamKind,
    /// Reads that completed on the device.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Writes that completed on the device.
    pub writes: u64,
    /// Bytes of them.
    pub written_bytes: u64,
    /// Mean latency of reads and writes from queue to completion, nanoseconds; `None` where it is not known.
    pub latency_ns: Option<f64>,
}

/// What a device did in the measured time, by stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamUse {
    /// The device of the file system, by its kernel name.
    pub device: String,
    /// One for each kind that had I/O.
    pub streams: Vec<Stream>,
    /// Requests without data that only flush the cache of the device; the counters of the kernel contain each as a write.
    #[serde(default)]
    pub flush_requests: u64,
    /// The share of the reads that start where the one before ended, 0 to 1; `None` without reads.
    pub sequential_reads: Option<f64>,
    /// The share of the reads that read-ahead asked for, 0 to 1; `None` without reads.
    pub read_ahead: Option<f64>,
    /// Events of the trace were lost: the counts are too low.
    pub lost: bool,
}

impl StreamUse {
    /// One stream.
    #[must_use]
    pub fn of(&self, kind: StreamKind) -> Option<&Stream> {
        self.streams.iter().find(|one| one.kind == kind)
    }

    /// What each stream asked of the device.
    #[must_use]
    pub fn sentences(&self, transactions: u64) -> Vec<String> {
        let mut parts = Vec::new();
        for one in &self.streams {
            let of = |count: u64, all: u64, name: &str| {
                (count > 0).then(|| {
                    let each = bytes((all as f64 / count as f64) as u64);
                    match transactions {
                        0 => format!("{count} {name} of {each}"),
                        _ => format!("{:.2} {name} of {each}", count as f64 / transactions as f64),
                    }
                })
            };
            let amounts: Vec<String> = [
                of(one.reads, one.read_bytes, "reads"),
                of(one.writes, one.written_bytes, "writes"),
            ]
            .into_iter()
            .flatten()
            .collect();
            if amounts.is_empty() {
                continue;
            }
            let time = one
                .latency_ns
                .map_or(String::new(), |time| format!(" at {}", duration(time)));
            parts.push(format!(
                "{} {}{time}",
                one.kind.title(),
                amounts.join(" and ")
            ));
        }
        if parts.is_empty() {
            return Vec::new();
        }
        let each = if transactions > 0 {
            "for each transaction, "
        } else {
            ""
        };
        let mut all = vec![format!(
            "By stream on {}, {each}mean sizes: {}.",
            self.device,
            parts.join("; ")
        )];
        if self.flush_requests > 0 && transactions > 0 {
            all[0].pop();
            all[0] += &format!(
                "; {:.2} flushes without data, which the kernel counts as writes.",
                self.flush_requests as f64 / transactions as f64
            );
        }
        if let (Some(sequential), Some(ahead)) = (self.sequential_reads, self.read_ahead) {
            all.push(format!(
                "{} of the reads of {} start where the one before ended, {} are read-ahead.",
                percent(100.0 * sequential),
                self.device,
                percent(100.0 * ahead)
            ));
        }
        if self.lost {
            all.push(
                "Events of the block layer were lost: the counts by stream are too low.".to_owned(),
            );
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_the_stream_that_the_documentation_of_the_engine_says() {
        use StreamKind::{Data, Log, Other, Temporary};
        for (engine, path, expected) in [
            (Engine::Sqlite, "database.sqlite", Data),
            (Engine::Sqlite, "database.sqlite-wal", Log),
            (Engine::Sqlite, "database.sqlite-journal (deleted)", Log),
            (Engine::Sqlite, "database.sqlite-shm", Other),
            (Engine::Postgres, "pg/data/base/5/16384.1", Data),
            (
                Engine::Postgres,
                "pg/data/base/pgsql_tmp/pgsql_tmp77.0",
                Temporary,
            ),
            (
                Engine::Postgres,
                "pg/data/pg_wal/000000010000000000000001",
                Log,
            ),
            (Engine::Postgres, "pg/data/pg_xact/0000", Other),
            (Engine::Mariadb, "maria/data/ib_logfile0", Log),
            (Engine::Mariadb, "maria/data/sbtest/sbtest1.ibd", Data),
            (Engine::Mariadb, "maria/data/ibdata1", Data),
            (Engine::Mariadb, "maria/data/ibtmp1", Temporary),
            (Engine::Mariadb, "maria/tmp/#sql_1.MAD", Temporary),
        ] {
            assert_eq!(
                StreamKind::of_file(engine, Path::new(path)),
                expected,
                "{path}"
            );
        }
    }

    /// 1,000 transactions with 2,000 writes of 8 KiB of the log: two of 8 KiB each.
    #[test]
    fn streams_are_given_for_each_transaction() {
        let log = Stream {
            kind: StreamKind::Log,
            reads: 0,
            read_bytes: 0,
            writes: 2000,
            written_bytes: 2000 * 8192,
            latency_ns: Some(4e6),
        };
        let used = StreamUse {
            device: "sda".to_owned(),
            streams: vec![log],
            sequential_reads: None,
            ..StreamUse::default()
        };
        assert_eq!(
            used.sentences(1000),
            [
                "By stream on sda, for each transaction, mean sizes: log 2.00 writes of 8 KiB at 4.00 ms."
            ]
        );
        let text = serde_json::to_string(&used).expect("JSON");
        assert_eq!(
            serde_json::from_str::<StreamUse>(&text).expect("JSON"),
            used
        );
    }
}
