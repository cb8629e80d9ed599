//! Databases as loads: a private database is prepared, transactions run against it, and the result says what they did to the
//! device and what limits them.
//!
//! * [`AppSpec`]: what is run. [`prepare`] creates the database, [`run`] runs the transactions; both work in a
//!   [`PrivateFolder`], which nothing of them leaves.
//! * [`Measured`]: counts, latencies and counters of a run, without judgement. It travels between processes as JSON.
//! * [`AppReport`]: the result with the [`Limit`], as text and JSON.
//!
//! Devices and processes are read through [`Probe`], so that this crate knows no counters of the kernel but the states of tasks.

mod activity;
#[cfg(feature = "sqlite")]
mod clients;
mod error;
mod folder;
mod limit;
mod maria;
mod measured;
mod memory;
mod postgres;
#[cfg(any(test, feature = "sqlite"))]
mod random;
mod report;
mod safety;
mod server;
mod settings;
mod spec;
mod sqlite;
mod streams;
mod unavailable;

use std::path::Path;

use fathom_model::{DiskCounters, Nanos, ProcessIo};

pub use self::activity::{Activity, Tasks};
pub use self::error::AppError;
pub use self::folder::{
    PrivateFolder, abandoned_folders, empty_folder, log_folder_of, remove_folder,
};
pub use self::limit::{Limit, LimitKind};
pub use self::maria::find_mariadb;
pub use self::measured::{DiskUse, Measured, MeasuredInterval, OwnSummary};
pub use self::memory::{MemoryReport, MemoryRow, drop_from_cache, size_of_folder};
pub use self::postgres::{PgPrograms, find_postgres};
pub use self::report::{AppReport, Circumstances};
pub use self::safety::{CrashSafety, Setting, known_settings};
pub use self::spec::{AppSpec, Distribution, Engine, Journal, Transaction};
pub use self::streams::{Stream, StreamKind, StreamUse};

/// What a run reads of the machine.
pub trait Probe: Sync {
    /// Counters of the block devices below the database, upper before lower.
    fn disks(&self) -> Vec<(String, DiskCounters)>;
    /// The same of the log, where that is on a path of its own.
    fn log_disks(&self) -> Vec<(String, DiskCounters)> {
        Vec::new()
    }
    /// What a process and all processes below it read, wrote and used.
    fn usage(&self, process: u32) -> Usage;
    /// Whether the run ends now: the user interrupted it, or its parent was killed.
    fn stop(&self) -> bool;
    /// The measured time begins now, or is over. Who watches the device meanwhile does so when this returns.
    fn measured_time(&self, _begins: bool) {}
}

/// Counters of some processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// What they read and wrote.
    pub io: ProcessIo,
    /// CPU time in user space.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
}

/// Whether this build has an engine that runs in this process. Programs of other engines are looked for by [`find_postgres`] and
/// [`find_mariadb`].
///
/// # Errors
/// With the feature that the build lacks.
pub fn find_built_in(engine: Engine) -> Result<(), AppError> {
    let has_it = match engine {
        Engine::Sqlite => cfg!(feature = "sqlite"),
        Engine::Postgres | Engine::Mariadb => true,
    };
    has_it.then_some(()).ok_or_else(|| not_built_in(engine))
}

fn not_built_in(engine: Engine) -> AppError {
    AppError::Missing(format!(
        "this fathom was built without {}: build it with the default features",
        engine.title()
    ))
}

/// Creates the database of `spec` in `folder`, synced to the device.
///
/// # Errors
/// If there is no room, the engine is missing or cannot start, or `probe` says to stop.
pub fn prepare(spec: &AppSpec, folder: &Path, probe: &dyn Probe) -> Result<(), AppError> {
    match spec.engine {
        Engine::Sqlite => sqlite::prepare(spec, folder, probe),
        Engine::Postgres => postgres::prepare(spec, folder, probe),
        Engine::Mariadb => maria::prepare(spec, folder, probe),
    }
}

/// Size of the tables and indexes of a database that was prepared, bytes.
#[must_use]
pub fn data_size(spec: &AppSpec, folder: &Path) -> u64 {
    match spec.engine {
        Engine::Sqlite => size_of_folder(folder),
        Engine::Postgres => size_of_folder(&postgres::data_folder(folder)),
        Engine::Mariadb => size_of_folder(&maria::data_folder(folder)),
    }
}

/// Runs the transactions of `spec` on the database in `folder`: first the warm-up, which is not in the result.
///
/// # Errors
/// If the database cannot be opened. A failure in the middle is part of the result.
pub fn run(spec: &AppSpec, folder: &Path, probe: &dyn Probe) -> Result<Measured, AppError> {
    // MariaDB reads its tables itself: its I/O does not go through the page cache.
    if spec.read_first && spec.engine != Engine::Mariadb {
        memory::read_folder(folder);
    }
    match spec.engine {
        Engine::Sqlite => sqlite::run(spec, folder, probe),
        Engine::Postgres => postgres::run(spec, folder, probe),
        Engine::Mariadb => maria::run(spec, folder, probe),
    }
}
