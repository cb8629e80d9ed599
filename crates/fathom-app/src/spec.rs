//! What is run.

use std::path::PathBuf;

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
}

impl Engine {
    /// Its name in commands and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgres",
            Engine::Mariadb => "mariadb",
        }
    }

    /// Its name in sentences.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
            Engine::Mariadb => "MariaDB",
        }
    }

    /// Whether it runs in this process, so that no program needs to be installed.
    #[must_use]
    pub const fn is_in_process(self) -> bool {
        matches!(self, Engine::Sqlite)
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
            Transaction::Script(file) => file.display().to_string(),
        }
    }

    /// Whether those that are counted only read.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        matches!(
            self,
            Transaction::SelectOnly | Transaction::OltpReadOnly | Transaction::OltpPointSelect
        )
    }

    /// Bytes of the rows that it changes. TPC-B 5.1: a row of accounts, tellers or branches has at least 100 bytes, one of the
    /// history at least 50. A row of sysbench has two numbers of 4 bytes, 120 and 60 characters. `None` for a script.
    fn changed_bytes(&self) -> Option<u64> {
        match self {
            Transaction::TpcbLike => Some(3 * ROW + HISTORY_ROW),
            Transaction::SimpleUpdate => Some(ROW + HISTORY_ROW),
            Transaction::OltpReadWrite => Some(3 * 188),
            Transaction::SelectOnly | Transaction::OltpReadOnly | Transaction::OltpPointSelect => {
                Some(0)
            }
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
    /// Cache of the engine, bytes: `shared_buffers`, `innodb_buffer_pool_size`, or the page cache of each connection of SQLite.
    pub cache: Option<u64>,
    /// Settings of the engine: of `postgresql.conf`, of `my.cnf`, or pragmas of SQLite.
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
        self.transaction.changed_bytes()
    }

    /// What a crash can cost: the worst of the settings and the journal.
    #[must_use]
    pub fn crash_safety(&self) -> CrashSafety {
        let loses_last = match self.engine {
            // A pragma that makes it durable again is not trusted to do so.
            Engine::Sqlite => !self.journal.is_durable(),
            Engine::Postgres | Engine::Mariadb => false,
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
#[cfg(any(test, feature = "sqlite"))]
pub(crate) const ACCOUNTS: i64 = 100_000;
/// Tellers for each unit of the scale.
#[cfg(any(test, feature = "sqlite"))]
pub(crate) const TELLERS: i64 = 10;
