//! What a crash of the machine can cost under each setting of an engine.
//!
//! Settings are compared within one class only. A faster setting of a worse class is not better: the difference is the price of
//! safety, and no sentence advises to save it.

use serde::{Deserialize, Serialize};

use self::CrashSafety::{CanLoseDatabase, CrashSafe, LosesLastTransactions};
use crate::{AppError, Engine, Journal};

/// What a power cut or a crash of the operating system can cost, from nothing to everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrashSafety {
    /// Every transaction that was acknowledged survives.
    CrashSafe,
    /// The last acknowledged transactions can be lost; the database stays consistent.
    LosesLastTransactions,
    /// The database can be damaged beyond repair.
    CanLoseDatabase,
}

impl CrashSafety {
    /// What a crash can do, as the predicate of a sentence; `None` where it costs nothing.
    #[must_use]
    pub const fn risk(self) -> Option<&'static str> {
        match self {
            CrashSafety::CrashSafe => None,
            CrashSafety::LosesLastTransactions => {
                Some("can lose the last committed transactions in a crash")
            }
            CrashSafety::CanLoseDatabase => Some("can lose the database in a crash"),
        }
    }
}

/// A setting of an engine with its value and its class. Only [`Setting::classify`] creates one, so there is none without a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    name: String,
    value: String,
    safety: CrashSafety,
}

impl Setting {
    /// The setting with the class that the engine's documentation gives this value.
    ///
    /// # Errors
    /// If the class is not known: the setting is refused, because it could not be compared with others.
    pub fn classify(
        engine: Engine,
        journal: Journal,
        name: &str,
        value: &str,
    ) -> Result<Setting, AppError> {
        // A second line would be a second setting, which nobody classified.
        if value.contains(|c: char| c.is_control() || c == ';') {
            return Err(AppError::Request(format!(
                "--setting: the value of {name} contains a control character or a semicolon; give one plain value"
            )));
        }
        let key = name.to_ascii_lowercase().replace('-', "_");
        let text = value.trim().trim_matches('\'').to_ascii_lowercase();
        let safety = match engine {
            Engine::Postgres => classify_postgres(&key, &text),
            Engine::Mariadb => classify_mariadb(&key, &text),
            Engine::Sqlite => classify_sqlite(&key, &text, journal),
        };
        let Some(safety) = safety else {
            return Err(AppError::Request(format!(
                "--setting: it is not known what a crash can cost with {name} of {}, so it is refused; docs/app.md lists the {} \
                 settings that are known",
                engine.title(),
                known_settings(engine).len()
            )));
        };
        Ok(Setting {
            name: name.to_owned(),
            value: value.to_owned(),
            safety,
        })
    }

    /// The name of the setting, as the user wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of the setting, as the user wrote it.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What a crash can cost with it.
    #[must_use]
    pub const fn safety(&self) -> CrashSafety {
        self.safety
    }
}

/// Settings of PostgreSQL that change speed, memory or timing, but not what survives a crash. See
/// <https://www.postgresql.org/docs/current/runtime-config.html>.
const POSTGRES_NEUTRAL: [&str; 74] = [
    "autovacuum",
    "autovacuum_max_workers",
    "autovacuum_naptime",
    "autovacuum_vacuum_cost_delay",
    "autovacuum_vacuum_cost_limit",
    "autovacuum_vacuum_scale_factor",
    "autovacuum_work_mem",
    "backend_flush_after",
    "bgwriter_delay",
    "bgwriter_flush_after",
    "bgwriter_lru_maxpages",
    "bgwriter_lru_multiplier",
    "checkpoint_completion_target",
    "checkpoint_flush_after",
    "checkpoint_timeout",
    "checkpoint_warning",
    "commit_delay",
    "commit_siblings",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "cpu_tuple_cost",
    "deadlock_timeout",
    "default_statistics_target",
    "default_toast_compression",
    "effective_cache_size",
    "effective_io_concurrency",
    "enable_bitmapscan",
    "enable_hashjoin",
    "enable_indexonlyscan",
    "enable_indexscan",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_seqscan",
    "enable_sort",
    "hash_mem_multiplier",
    "huge_page_size",
    "huge_pages",
    "io_combine_limit",
    "io_max_combine_limit",
    "io_max_concurrency",
    "io_method",
    "io_workers",
    "jit",
    "log_checkpoints",
    "log_min_duration_statement",
    "logical_decoding_work_mem",
    "maintenance_io_concurrency",
    "maintenance_work_mem",
    "max_files_per_process",
    "max_parallel_maintenance_workers",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_wal_size",
    "max_worker_processes",
    "min_wal_size",
    "parallel_setup_cost",
    "parallel_tuple_cost",
    "random_page_cost",
    "recovery_prefetch",
    "seq_page_cost",
    "shared_buffers",
    "shared_memory_type",
    "temp_buffers",
    "track_io_timing",
    "track_wal_io_timing",
    "vacuum_buffer_usage_limit",
    "vacuum_cost_delay",
    "vacuum_cost_limit",
    "wal_buffers",
    "wal_compression",
    "wal_init_zero",
    "wal_recycle",
    "wal_skip_threshold",
    "work_mem",
];

/// Settings of PostgreSQL whose value decides what survives a crash, or that are durable with each of their values.
const POSTGRES_CLASSED: [&str; 7] = [
    "data_sync_retry",
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "wal_level",
    "wal_sync_method",
    "wal_writer_delay",
];

fn classify_postgres(name: &str, value: &str) -> Option<CrashSafety> {
    Some(match name {
        "fsync" | "full_page_writes" => safe_if(is_on(value), CanLoseDatabase),
        // After a failed fsync the kernel may have dropped the pages: only a restart replays them from the log.
        "data_sync_retry" => safe_if(is_off(value), CanLoseDatabase),
        "synchronous_commit" => safe_if(
            is_on(value) || matches!(value, "local" | "remote_write" | "remote_apply"),
            LosesLastTransactions,
        ),
        "wal_level" | "wal_sync_method" | "wal_writer_delay" => CrashSafe,
        _ => return POSTGRES_NEUTRAL.contains(&name).then_some(CrashSafe),
    })
}

/// Settings of MariaDB that change speed, memory or timing, but not what survives a crash. See
/// <https://mariadb.com/kb/en/innodb-system-variables/>.
const MARIADB_NEUTRAL: [&str; 40] = [
    "innodb_adaptive_flushing",
    "innodb_adaptive_flushing_lwm",
    "innodb_adaptive_hash_index",
    "innodb_autoextend_increment",
    "innodb_buffer_pool_chunk_size",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_compression_default",
    "innodb_compression_level",
    "innodb_fill_factor",
    "innodb_flush_neighbors",
    "innodb_flush_sync",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_log_write_ahead_size",
    "innodb_lru_flush_size",
    "innodb_lru_scan_depth",
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_old_blocks_pct",
    "innodb_old_blocks_time",
    "innodb_page_size",
    "innodb_purge_batch_size",
    "innodb_purge_threads",
    "innodb_random_read_ahead",
    "innodb_read_ahead_threshold",
    "innodb_read_io_threads",
    "innodb_spin_wait_delay",
    "innodb_sync_spin_loops",
    "innodb_thread_concurrency",
    "innodb_use_native_aio",
    "innodb_write_io_threads",
    "max_connections",
    "query_cache_size",
    "table_open_cache",
    "thread_cache_size",
    "thread_handling",
    "thread_pool_size",
];

/// Settings of MariaDB whose value decides what survives a crash.
const MARIADB_CLASSED: [&str; 6] = [
    "default_storage_engine",
    "innodb_checksum_algorithm",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "sync_binlog",
];

fn classify_mariadb(name: &str, value: &str) -> Option<CrashSafety> {
    Some(match name {
        // 3 syncs twice for each commit; 0 and 2 leave up to a second of commits in memory.
        "innodb_flush_log_at_trx_commit" => {
            safe_if(matches!(value, "1" | "3"), LosesLastTransactions)
        }
        "sync_binlog" => safe_if(value == "1", LosesLastTransactions),
        "innodb_doublewrite" => safe_if(is_on(value), CanLoseDatabase),
        "innodb_checksum_algorithm" => safe_if(
            matches!(
                value,
                "crc32" | "strict_crc32" | "full_crc32" | "strict_full_crc32"
            ),
            CanLoseDatabase,
        ),
        "innodb_flush_method" => safe_if(
            matches!(value, "fsync" | "fdatasync" | "o_dsync" | "o_direct"),
            CanLoseDatabase,
        ),
        "default_storage_engine" => safe_if(value == "innodb", CanLoseDatabase),
        _ => return MARIADB_NEUTRAL.contains(&name).then_some(CrashSafe),
    })
}

/// Pragmas of SQLite that change speed or memory, but not what survives a crash. See <https://sqlite.org/pragma.html>.
const SQLITE_NEUTRAL: [&str; 16] = [
    "analysis_limit",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "journal_size_limit",
    "locking_mode",
    "mmap_size",
    "page_size",
    "secure_delete",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
    "fullfsync",
];

/// Pragmas of SQLite whose value decides what survives a crash.
const SQLITE_CLASSED: [&str; 2] = ["journal_mode", "synchronous"];

fn classify_sqlite(name: &str, value: &str, journal: Journal) -> Option<CrashSafety> {
    Some(match name {
        "synchronous" => match value {
            "2" | "full" | "3" | "extra" => CrashSafe,
            // With a rollback journal there is a small chance of damage.
            "1" | "normal" if journal != Journal::Rollback => LosesLastTransactions,
            _ => CanLoseDatabase,
        },
        "journal_mode" => safe_if(
            matches!(value, "delete" | "truncate" | "persist" | "wal"),
            CanLoseDatabase,
        ),
        _ => return SQLITE_NEUTRAL.contains(&name).then_some(CrashSafe),
    })
}

/// Names of all settings of an engine whose class is known, in order.
#[must_use]
pub fn known_settings(engine: Engine) -> Vec<&'static str> {
    let (neutral, classed): (&[&str], &[&str]) = match engine {
        Engine::Postgres => (&POSTGRES_NEUTRAL, &POSTGRES_CLASSED),
        Engine::Mariadb => (&MARIADB_NEUTRAL, &MARIADB_CLASSED),
        Engine::Sqlite => (&SQLITE_NEUTRAL, &SQLITE_CLASSED),
    };
    let mut names: Vec<&str> = neutral.iter().chain(classed).copied().collect();
    names.sort_unstable();
    names
}

const fn safe_if(safe: bool, otherwise: CrashSafety) -> CrashSafety {
    if safe { CrashSafe } else { otherwise }
}

/// Whether all engines read a value as true.
fn is_on(value: &str) -> bool {
    matches!(value, "on" | "true" | "yes" | "1")
}

/// Whether all engines read a value as false.
fn is_off(value: &str) -> bool {
    matches!(value, "off" | "false" | "no" | "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(engine: Engine, name: &str, value: &str) -> Option<CrashSafety> {
        Setting::classify(engine, Journal::WalFull, name, value)
            .ok()
            .map(|setting| setting.safety())
    }

    /// The classes are those of the documentation of each engine: PostgreSQL, chapters "Reliability" and "Write Ahead Log";
    /// MariaDB, "InnoDB System Variables"; SQLite, "PRAGMA synchronous".
    #[test]
    fn settings_have_the_class_of_the_engines_documentation() {
        use Engine::{Mariadb, Postgres, Sqlite};
        for (engine, name, value, expected) in [
            (Postgres, "fsync", "on", CrashSafe),
            (Postgres, "fsync", "off", CanLoseDatabase),
            (Postgres, "FSYNC", "'Off'", CanLoseDatabase),
            // PostgreSQL accepts unique prefixes; what is not plainly on counts as off.
            (Postgres, "fsync", "f", CanLoseDatabase),
            (Postgres, "full_page_writes", "off", CanLoseDatabase),
            (Postgres, "synchronous_commit", "off", LosesLastTransactions),
            (Postgres, "synchronous_commit", "local", CrashSafe),
            (Postgres, "wal_sync_method", "open_datasync", CrashSafe),
            (Postgres, "data_sync_retry", "on", CanLoseDatabase),
            (Postgres, "shared_buffers", "1GB", CrashSafe),
            (Mariadb, "innodb-flush-log-at-trx-commit", "1", CrashSafe),
            (
                Mariadb,
                "innodb_flush_log_at_trx_commit",
                "2",
                LosesLastTransactions,
            ),
            (Mariadb, "innodb_doublewrite", "0", CanLoseDatabase),
            (Mariadb, "innodb_flush_method", "nosync", CanLoseDatabase),
            (Mariadb, "sync_binlog", "0", LosesLastTransactions),
            (Mariadb, "innodb-io-capacity", "2000", CrashSafe),
            (Sqlite, "synchronous", "OFF", CanLoseDatabase),
            (Sqlite, "synchronous", "NORMAL", LosesLastTransactions),
            (Sqlite, "synchronous", "FULL", CrashSafe),
            (Sqlite, "journal_mode", "memory", CanLoseDatabase),
            (Sqlite, "cache_size", "500", CrashSafe),
        ] {
            assert_eq!(class(engine, name, value), Some(expected), "{name}={value}");
        }
        let rollback = Setting::classify(Sqlite, Journal::Rollback, "synchronous", "1");
        assert_eq!(
            rollback.map(|setting| setting.safety()).ok(),
            Some(CanLoseDatabase)
        );
    }

    #[test]
    fn a_setting_without_a_class_cannot_be_constructed() {
        for (engine, name, value) in [
            (Engine::Postgres, "zero_damaged_pages", "on"),
            (Engine::Postgres, "work_mem", "1MB\nfsync=off"),
            (Engine::Mariadb, "skip_innodb_doublewrite", "1"),
            (Engine::Sqlite, "writable_schema", "on"),
            (Engine::Sqlite, "cache_size", "1; PRAGMA synchronous=off"),
        ] {
            assert_eq!(class(engine, name, value), None, "{name}={value}");
        }
        let refused = Setting::classify(Engine::Sqlite, Journal::WalFull, "no_such", "1")
            .map_err(|error| error.to_string())
            .expect_err("no class");
        assert!(refused.contains("no_such of SQLite"), "{refused}");
    }

    #[test]
    fn the_documentation_lists_every_setting_with_a_class() {
        let page = include_str!("../../../docs/app.md");
        for engine in [Engine::Postgres, Engine::Mariadb, Engine::Sqlite] {
            for name in known_settings(engine) {
                assert!(page.contains(&format!("`{name}`")), "{name}");
            }
        }
    }
}
