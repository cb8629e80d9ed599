//! What is run.

use std::path::PathBuf;

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
}

impl Engine {
    /// Its name in commands and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgres",
        }
    }

    /// Its name in sentences.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
        }
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

/// What a transaction does; the names and statements are those of pgbench.
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
            Transaction::Script(file) => file.display().to_string(),
        }
    }

    /// Whether it only reads.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        matches!(self, Transaction::SelectOnly)
    }

    /// Bytes of the rows that it changes. TPC-B 5.1: a row of accounts, tellers or branches has at least 100 bytes, one of the
    /// history at least 50. `None` for a script.
    #[must_use]
    pub fn changed_bytes(&self) -> Option<u64> {
        match self {
            Transaction::TpcbLike => Some(3 * 100 + 50),
            Transaction::SimpleUpdate => Some(100 + 50),
            Transaction::SelectOnly => Some(0),
            Transaction::Script(_) => None,
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
    /// Size of the database: 100,000 accounts for each unit, as in pgbench.
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
    /// Durability of SQLite.
    pub journal: Journal,
    /// Cache of the engine, bytes: `shared_buffers`, or the page cache of each connection of SQLite.
    pub cache: Option<u64>,
    /// All files are read before the warm-up, so that memory holds as much as it can.
    pub read_first: bool,
    /// User of the server when this process is root: number of user and group.
    pub user: Option<(u32, u32)>,
}

impl AppSpec {
    /// Whether a commit that returned survives a power cut.
    #[must_use]
    pub fn commits_are_durable(&self) -> bool {
        self.engine != Engine::Sqlite || self.journal.is_durable()
    }
}

/// Accounts for each unit of the scale.
#[cfg(feature = "sqlite")]
pub(crate) const ACCOUNTS: i64 = 100_000;
/// Tellers for each unit of the scale.
#[cfg(feature = "sqlite")]
pub(crate) const TELLERS: i64 = 10;
