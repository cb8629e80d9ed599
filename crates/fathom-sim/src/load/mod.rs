//! A simulated device as the machine of the load generator: its clock, its engine and its files.
//!
//! The threads of a run take turns: one runs until it waits for the device or for a time. Then
//! virtual time moves to the first event for which a thread waits. The order is fixed, so that the
//! same plan, device and seed give the same recording.

mod engine;
mod host;
mod world;

use std::sync::Arc;

use fathom_load::{LoadError, RunHooks};
use fathom_model::{Plan, Recording};

pub use self::engine::SimEngine;
pub use self::host::{SimHost, unsupported};
pub use self::world::VirtualClock;

/// Runs `plan` on `host`: [`fathom_load::run`].
///
/// # Errors
/// When the files of a job do not fit on the device.
pub fn run_load(
    plan: Plan,
    host: Arc<SimHost>,
    unix_now_ns: &dyn Fn() -> u64,
    hooks: RunHooks<'_>,
) -> Result<Recording, LoadError> {
    fathom_load::run(plan, host, unix_now_ns, hooks)
}
