//! What is run.

use std::path::PathBuf;

use crate::options::row_size;
use crate::safety::{CrashSafety, Setting};
use serde::{Deserialize, Serialize};

/// A database engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// SQLite, in this process.
    #[default]
    Sqlite,
    /// PostgreSQL with pgbench, from the packages of the distribution.
    Postgres,
    /// MariaDB with sysbench, from the packages of the distribution.
    Mariadb,
    /// RocksDB's `db_bench`, from the packages of the distribution.
    Rocksdb,
    /// redb, in this process.
    Redb,
    /// fjall, in this process.
    Fjall,
}

impl Engine {
    /// Its name in commands and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgres",
            Engine::Mariadb => "mariadb",
            Engine::Rocksdb => "rocksdb",
            Engine::Redb => "redb",
            Engine::Fjall => "fjall",
        }
    }

    /// Its name in sentences.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
            Engine::Mariadb => "MariaDB",
            Engine::Rocksdb => "RocksDB",
            Engine::Redb => "redb",
            Engine::Fjall => "fjall",
        }
    }

    /// Whether it runs in this process, so that no program needs to be installed.
    #[must_use]
    pub const fn is_in_process(self) -> bool {
        matches!(self, Engine::Sqlite | Engine::Redb | Engine::Fjall)
    }
}

/// How SQLite makes a transaction durable. See <https://sqlite.org/pragma.html#pragma_synchronous>.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Journal {
    /// Write-ahead log, synced at each commit (`synchronous=FULL`).
    #[default]
    WalFull,
    /// Write-ahead log, synced at checkpoints only (`synchronous=NORMAL`): a power cut may lose the last commits.
    WalNormal,
    /// Rollback journal (`journal_mode=DELETE`, `synchronous=FULL`).
    Rollback,
}

impl Journal {
    /// Its name in commands and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Journal::WalFull => "wal-full",
            Journal::WalNormal => "wal-normal",
            Journal::Rollback => "rollback",
        }
    }

    /// Whether a commit that returned survives a power cut.
    #[must_use]
    pub const fn is_durable(self) -> bool {
        !matches!(self, Journal::WalNormal)
    }
}

/// Which rows the transactions of sysbench use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Each as often as any other.
    #[default]
    Uniform,
    /// 80 % of the uses fall on 20 % of the rows, those with low numbers.
    Pareto,
}

impl Distribution {
    /// Its name in commands, results and for sysbench.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Pareto => "pareto",
        }
    }
}

/// What a transaction does; the names and statements are those of pgbench and sysbench.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transaction {
    /// Updates an account, a teller and a branch, and adds a row to the history.
    #[default]
    TpcbLike,
    /// The same without teller and branch.
    SimpleUpdate,
    /// Reads one account.
    SelectOnly,
    /// 10 point queries, 4 range queries, 2 updates, and a row that is deleted and inserted again.
    OltpReadWrite,
    /// Its queries only.
    OltpReadOnly,
    /// One point query.
    OltpPointSelect,
    /// `db_bench` writes the value of a random key, synced.
    Overwrite,
    /// It reads a random key.
    ReadRandom,
    /// The same, while one more thread writes.
    ReadWhileWriting,
    /// It writes all keys in their order, not synced.
    FillSeq,
    /// The script of this file, for pgbench.
    Script(PathBuf),
}

impl Transaction {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Transaction::TpcbLike => "tpcb-like".to_owned(),
            Transaction::SimpleUpdate => "simple-update".to_owned(),
            Transaction::SelectOnly => "select-only".to_owned(),
            Transaction::OltpReadWrite => "oltp_read_write".to_owned(),
            Transaction::OltpReadOnly => "oltp_read_only".to_owned(),
            Transaction::OltpPointSelect => "oltp_point_select".to_owned(),
            Transaction::Overwrite => "overwrite".to_owned(),
            Transaction::ReadRandom => "readrandom".to_owned(),
            Transaction::ReadWhileWriting => "readwhilewriting".to_owned(),
            Transaction::FillSeq => "fillseq".to_owned(),
            Transaction::Script(file) => file.display().to_string(),
        }
    }

    /// Whether those that are counted only read.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        use Transaction::{
            OltpPointSelect, OltpReadOnly, ReadRandom, ReadWhileWriting, SelectOnly,
        };
        matches!(
            self,
            SelectOnly | OltpReadOnly | OltpPointSelect | ReadRandom | ReadWhileWriting
        )
    }

    /// Bytes of the rows that it changes. TPC-B 5.1: a row of accounts, tellers or branches has at least 100 bytes, one of the
    /// history at least 50. A row of sysbench has two numbers of 4 bytes, 120 and 60 characters. `None` for a script.
    fn changed_bytes(&self, row: u64) -> Option<u64> {
        match self {
            Transaction::TpcbLike => Some(3 * row + HISTORY_ROW),
            Transaction::SimpleUpdate => Some(row + HISTORY_ROW),
            Transaction::OltpReadWrite => Some(3 * 188),
            // A key of 16 bytes and a value of 100.
            Transaction::Overwrite | Transaction::FillSeq => Some(116),
            Transaction::SelectOnly
            | Transaction::OltpReadOnly
            | Transaction::OltpPointSelect
            | Transaction::ReadRandom => Some(0),
            Transaction::ReadWhileWriting | Transaction::Script(_) => None,
        }
    }
}

/// A load of transactions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AppSpec {
    /// The engine.
    pub engine: Engine,
    /// What a transaction does.
    pub transaction: Transaction,
    /// Size of the database: 100,000 accounts for each unit, as in pgbench, or a table of 100,000 rows of sysbench.
    pub scale: u32,
    /// Connections that run transactions at the same time.
    pub clients: u32,
    /// The measured time, nanoseconds.
    pub runtime_ns: u64,
    /// Time before it, nanoseconds.
    pub warmup_ns: u64,
    /// Transactions per second of all clients, in an open loop; `None`: each client starts the next one at once.
    pub rate: Option<f64>,
    /// With a rate: a transaction that is this late is skipped, and a slower one counts as late, nanoseconds.
    pub latency_limit_ns: Option<u64>,
    /// Rows that transactions of sysbench use.
    pub distribution: Distribution,
    /// Durability of SQLite.
    pub journal: Journal,
    /// Cache of the engine, bytes: `shared_buffers`, `innodb_buffer_pool_size`, the page cache of each connection of SQLite, or the
    /// caches of redb, fjall and RocksDB.
    pub cache: Option<u64>,
    /// Settings of the engine by name: of `postgresql.conf`, of `my.cnf`, pragmas of SQLite, options of `db_bench`, or those
    /// of redb and fjall.
    pub settings: Vec<Setting>,
    /// All files are read before the warm-up, so that memory holds as much as it can.
    pub read_first: bool,
    /// User of the server when this process is root: number of user and group.
    pub user: Option<(u32, u32)>,
}

impl AppSpec {
    /// Bytes of the rows that a transaction changes; `None` for a script.
    #[must_use]
    pub fn changed_bytes(&self) -> Option<u64> {
        self.transaction.changed_bytes(row_size(self))
    }

    /// What a crash can cost: the worst of the settings, the journal and the transaction.
    #[must_use]
    pub fn crash_safety(&self) -> CrashSafety {
        let loses_last = match self.engine {
            // A pragma that makes it durable again is not trusted to do so.
            Engine::Sqlite => !self.journal.is_durable(),
            // It is not synced.
            Engine::Rocksdb => self.transaction == Transaction::FillSeq,
            Engine::Postgres | Engine::Mariadb | Engine::Redb | Engine::Fjall => false,
        };
        let own = if loses_last {
            CrashSafety::LosesLastTransactions
        } else {
            CrashSafety::CrashSafe
        };
        self.settings
            .iter()
            .map(Setting::safety)
            .fold(own, Ord::max)
    }

    /// Whether a commit that returned survives a power cut.
    #[must_use]
    pub fn commits_are_durable(&self) -> bool {
        self.crash_safety() == CrashSafety::CrashSafe
    }
}

/// Least bytes of a row of accounts, tellers or branches: TPC-B 5.1.
pub(crate) const ROW: u64 = 100;
/// Least bytes of a row of the history.
pub(crate) const HISTORY_ROW: u64 = 50;
/// Accounts for each unit of the scale.
#[cfg(any(test, feature = "key-value", feature = "sqlite"))]
pub(crate) const ACCOUNTS: i64 = 100_000;
/// Tellers for each unit of the scale.
#[cfg(any(test, feature = "key-value", feature = "sqlite"))]
pub(crate) const TELLERS: i64 = 10;
