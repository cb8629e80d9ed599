//! `fathom app`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, Error, ValueEnum};
use fathom_model::Bytes;

use super::Text;
use crate::common::{DisplayOptions, ResultOptions, StoreOptions};
use crate::parse::{CommandArgs, ParseStop, parse};
use crate::values;

pub(crate) const TEXT: Text = (
    "Run a real database on a path, and say what limits it",
    "Creates a private database in a folder below PATH, runs transactions of several clients against it, and removes it. The \
     engine is sqlite (the default), which is part of fathom, or of the distribution's packages postgres (the server and pgbench) or mariadb \
     (the server and sysbench). A server runs on a unix socket, as an unprivileged user. The transactions are those of pgbench and sysbench. \
     `fathom witness` runs any other database.\n\n\
     Reports transactions per second and their latency, what the device did for each transaction, commits per flush, CPU time, \
     the engine's own counters, and what limits it. Beforehand the commits of one client are measured as by `fathom fsync`. The \
     engine runs in a control group of its own and is watched as by `fathom witness`; the result is stored.\n\n\
     --memory limits the memory of the engine with its page cache. A list of shares of the data, such as \
     --memory=100%,50%,25%,12%,6%, measures one after the other, and so do lists of --clients and of values of --setting, and \
     --repeats. The steps are the cells of one stored run.",
    "Examples:
  fathom app /data
  fathom app sqlite /data --journal=rollback --clients=1
  fathom app sqlite /data --clients=1,4,16
  fathom app postgres /data --scale=50 --clients=16 --runtime=60s
  fathom app mariadb /data --transaction=oltp_read_write --distribution=pareto
  fathom app postgres /data --tps=200 --latency-limit=50ms
  fathom app postgres /data --transaction=select-only --memory=100%,50%,25%,12%,6%
  fathom app postgres /data --setting=wal_sync_method=fdatasync,open_datasync --repeats=3
  fathom app mariadb /data --log-path=/log --clients=1,4,16

Exit codes: 0 valid or degraded, 1 transactions failed or the result is invalid, 2 refused or the engine is missing, 130 interrupted.",
);

/// A database engine.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppEngine {
    /// SQLite, in fathom itself
    #[default]
    Sqlite,
    /// PostgreSQL with pgbench, from the distribution's packages
    #[value(alias = "postgresql")]
    Postgres,
    /// MariaDB with sysbench, from the distribution's packages
    Mariadb,
}

/// What a transaction does.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppTransaction {
    /// Update an account, a teller and a branch, and add a row to the history
    TpcbLike,
    /// The same without teller and branch
    SimpleUpdate,
    /// Read one account
    SelectOnly,
    /// sysbench: 10 point queries, 4 range queries, 2 updates, a deletion and an insertion
    #[value(name = "oltp_read_write", alias = "read-write")]
    OltpReadWrite,
    /// sysbench: the queries of oltp_read_write
    #[value(name = "oltp_read_only", alias = "read-only")]
    OltpReadOnly,
    /// sysbench: one point query
    #[value(name = "oltp_point_select", alias = "point-select")]
    OltpPointSelect,
}

/// Which rows the transactions of sysbench use.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppDistribution {
    /// Each as often as any other
    Uniform,
    /// 80 % of the uses fall on 20 % of the rows
    Pareto,
}

/// How SQLite makes a transaction durable.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppJournal {
    /// Write-ahead log, synced at each commit
    #[default]
    WalFull,
    /// Write-ahead log, synced at checkpoints: a power cut may lose the last commits
    WalNormal,
    /// Rollback journal
    Rollback,
}

/// Memory of the engine with its page cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AppMemory {
    /// So many bytes.
    Bytes(u64),
    /// This share of the data, percent.
    Percent(f64),
}

/// A setting of the engine with the values that are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSetting {
    /// Its name.
    pub name: String,
    /// Its values, at least one.
    pub values: Vec<String>,
}

/// Arguments of `fathom app`.
#[derive(Args, Clone, Debug)]
#[command(override_usage = "fathom app [OPTIONS] [ENGINE] <PATH>")]
pub struct AppArgs {
    /// Engine; sqlite where only PATH is given
    #[arg(value_name = "ENGINE", value_parser = EngineOrPath, required = true)]
    pub first: PathBuf,
    /// Directory (a folder is created in it and removed at the end)
    #[arg(value_name = "PATH")]
    pub second: Option<PathBuf>,
    /// The engine.
    #[arg(skip)]
    pub engine: AppEngine,
    /// The directory.
    #[arg(skip)]
    pub path: PathBuf,
    /// What a transaction does
    ///
    /// The default is tpcb-like; oltp_read_write with mariadb.
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        conflicts_with = "script",
        help_heading = "Load"
    )]
    pub transaction: Option<AppTransaction>,
    /// Which rows the transactions of mariadb use
    ///
    /// With pareto, 80 % of the uses fall on the 20 % of the rows with the lowest numbers. The default is uniform.
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Load")]
    pub distribution: Option<AppDistribution>,
    /// Run this script of pgbench instead
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub script: Option<PathBuf>,
    /// Size of the database: 100,000 accounts for each unit
    ///
    /// About 10 MB with SQLite and 15 MB with PostgreSQL for each unit, as in pgbench. MariaDB has a table of 100,000 rows for each unit,
    /// about 24 MB.
    #[arg(long, value_name = "N", default_value = "10", value_parser = values::whole_number::<1, 100_000>, help_heading = "Load")]
    pub scale: u32,
    /// Connections that run transactions at the same time
    ///
    /// With several numbers, separated by commas, each is measured.
    #[arg(long, value_name = "N,N", default_value = "4", value_delimiter = ',', value_parser = values::whole_number::<1, 1000>, help_heading = "Load")]
    pub clients: Vec<u32>,
    /// Measure each step so often
    ///
    /// The values of an axis take turns. A recommendation of a setting needs 3 or more.
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::whole_number::<1, 100>, help_heading = "Load")]
    pub repeats: u32,
    /// Time to measure
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = runtime, help_heading = "Load")]
    pub runtime: Duration,
    /// Run transactions for this time first; they are not in the result
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::time, help_heading = "Load")]
    pub warmup: Duration,
    /// Start so many transactions per second, at random times
    ///
    /// An open loop: latencies count from the time at which a transaction was due.
    #[arg(long, value_name = "N", value_parser = tps, help_heading = "Load")]
    pub tps: Option<f64>,
    /// Count slower transactions, and skip those that are later; needs --tps
    #[arg(long, value_name = "TIME", value_parser = values::latency, requires = "tps", help_heading = "Load")]
    pub latency_limit: Option<f64>,
    /// How SQLite makes a transaction durable
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "wal-full",
        help_heading = "Engine"
    )]
    pub journal: AppJournal,
    /// Cache of the engine
    ///
    /// shared_buffers of PostgreSQL, innodb_buffer_pool_size of MariaDB, or the cache of each connection of SQLite.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Engine")]
    pub cache: Option<Bytes>,
    /// Set a setting of the engine
    ///
    /// Of postgresql.conf, of MariaDB's configuration file, or a pragma of SQLite. With several values, separated by commas, each is measured. May be
    /// given more than once.
    #[arg(long = "setting", value_name = "NAME=VALUE,VALUE", value_parser = setting, help_heading = "Engine")]
    pub set: Vec<AppSetting>,
    /// Directory for the log, on another device; not with sqlite
    ///
    /// A folder is created in it and removed at the end.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "keep",
        help_heading = "Target"
    )]
    pub log_path: Option<PathBuf>,
    /// Limit the memory of the engine with its page cache; needs root
    ///
    /// A size such as 256m, or a share of the data such as 25%. With several shares, separated by commas, each is measured.
    #[arg(long, value_name = "SIZE|PERCENT", value_delimiter = ',', value_parser = memory, help_heading = "Engine")]
    pub memory: Vec<AppMemory>,
    /// Keep the file that was created for the measurement
    ///
    /// The folder of the database, under another name.
    #[arg(long, help_heading = "Target")]
    pub keep: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
    /// Messages are left out.
    #[arg(skip)]
    pub quiet: bool,
}

impl CommandArgs for AppArgs {
    const NAME: &'static str = "app";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        match &self.second {
            Some(path) => {
                let name = self.first.to_string_lossy();
                self.engine = AppEngine::from_str(&name, false).map_err(|_| {
                    let all = AppEngine::value_variants().iter();
                    let all = all.filter_map(ValueEnum::to_possible_value);
                    let all: Vec<String> = all.map(|one| one.get_name().to_owned()).collect();
                    format!("{name} is not an engine: {}", all.join(", "))
                })?;
                self.path.clone_from(path);
            }
            None if AppEngine::from_str(&self.first.to_string_lossy(), false).is_ok() => {
                let name = self.first.display();
                return Err(format!(
                    "the directory is missing, as in `fathom app {name} PATH`; a directory of this name is ./{name}"
                ));
            }
            None => self.path.clone_from(&self.first),
        }
        if self.script.is_some() && self.engine != AppEngine::Postgres {
            return Err(
                "--script is a script of pgbench: name the engine, as in `fathom app postgres PATH --script=FILE`"
                    .to_owned(),
            );
        }
        let of_sysbench = self.engine == AppEngine::Mariadb;
        if self.transaction.is_some_and(|one| !one.suits(self.engine)) {
            return Err(
                "--transaction: tpcb-like, simple-update and select-only are those of sqlite and postgres; oltp_read_write, oltp_read_only and \
                 oltp_point_select those of mariadb"
                    .to_owned(),
            );
        }
        if self.distribution.is_some() && !of_sysbench {
            return Err(
                "--distribution is one of sysbench: name the engine, as in `fathom app mariadb PATH --distribution=pareto`"
                    .to_owned(),
            );
        }
        if self.engine == AppEngine::Sqlite && self.log_path.is_some() {
            return Err(
                "--log-path: SQLite keeps its log beside the database; name another engine, as in `fathom app postgres PATH --log-path=DIR`"
                    .to_owned(),
            );
        }
        if let Some(twice) = self.set.iter().enumerate().find_map(|(place, one)| {
            let before = &self.set[..place];
            before
                .iter()
                .any(|other| other.name == one.name)
                .then_some(one)
        }) {
            return Err(format!(
                "--setting: {} is given twice: give its values in one list, as in --setting={}=1,2",
                twice.name, twice.name
            ));
        }
        let axes = self.set.iter().map(|one| one.values.len());
        let steps = axes
            .chain([
                self.clients.len(),
                self.memory.len().max(1),
                self.repeats as usize,
            ])
            .try_fold(1usize, |all, one| all.checked_mul(one));
        if steps.is_none_or(|steps| steps > MOST_STEPS) {
            return Err(format!(
                "these lists have more than {MOST_STEPS} steps: give fewer values"
            ));
        }
        if self.latency_limit.is_some() && of_sysbench {
            return Err(
                "--latency-limit: sysbench skips no transactions; use another engine, or --tps alone"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// The first operand: an engine, or the directory where it is the only one. Which of them is known when all operands are.
#[derive(Clone, Debug)]
struct EngineOrPath;

impl TypedValueParser for EngineOrPath {
    type Value = PathBuf;

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<PathBuf, Error> {
        Ok(value.into())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = AppEngine::value_variants().iter();
        Some(Box::new(all.filter_map(ValueEnum::to_possible_value)))
    }
}

impl AppTransaction {
    /// Whether the load generator of the engine has it.
    fn suits(self, engine: AppEngine) -> bool {
        use AppTransaction::{OltpPointSelect, OltpReadOnly, OltpReadWrite};
        use AppTransaction::{SelectOnly, SimpleUpdate, TpcbLike};
        match engine {
            AppEngine::Sqlite | AppEngine::Postgres => {
                matches!(self, TpcbLike | SimpleUpdate | SelectOnly)
            }
            AppEngine::Mariadb => matches!(self, OltpReadWrite | OltpReadOnly | OltpPointSelect),
        }
    }
}

impl AppArgs {
    /// Parses the arguments behind `fathom app`.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(arguments: &[String]) -> Result<AppArgs, String> {
        parse(arguments)
            .map(|parsed| parsed.args)
            .map_err(ParseStop::into_text)
    }

    /// What a transaction does: the one that was asked for, or that of the engine.
    #[must_use]
    pub fn transaction(&self) -> AppTransaction {
        self.transaction.unwrap_or(match self.engine {
            AppEngine::Mariadb => AppTransaction::OltpReadWrite,
            AppEngine::Sqlite | AppEngine::Postgres => AppTransaction::TpcbLike,
        })
    }
}

/// More are a mistake in a list.
const MOST_STEPS: usize = 1000;

fn setting(text: &str) -> Result<AppSetting, String> {
    let expected = "not NAME=VALUE, such as effective_io_concurrency=16";
    let (name, values) = text.split_once('=').ok_or(expected)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let values: Vec<String> = values.split(',').map(str::to_owned).collect();
    if name.is_empty() || !name.chars().all(is_name) || values.iter().any(String::is_empty) {
        return Err(expected.to_owned());
    }
    Ok(AppSetting {
        name: name.to_owned(),
        values,
    })
}

fn runtime(text: &str) -> Result<Duration, String> {
    match values::time(text)? {
        time if time >= Duration::from_secs(1) => Ok(time),
        _ => Err("too short for transactions: at least 1s".to_owned()),
    }
}

fn tps(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e7 => Ok(rate),
        _ => Err("not a number of transactions per second above 0, such as 200".to_owned()),
    }
}

fn memory(text: &str) -> Result<AppMemory, String> {
    match text.strip_suffix('%') {
        Some(number) => match number.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 10_000.0 => Ok(AppMemory::Percent(percent)),
            _ => Err("not a share of the data above 0, such as 25%".to_owned()),
        },
        None => values::size(text).map(|size| AppMemory::Bytes(size.get())),
    }
}
