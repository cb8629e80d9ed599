//! The load on this machine.

use std::sync::Arc;

use fathom_load::{LoadError, RunHooks};
use fathom_model::{Plan, Recording};

use crate::host::LinuxHost;

/// Runs `plan` on `host`: [`fathom_load::run`].
///
/// # Errors
/// When the files of a job cannot be prepared.
pub fn run_load(
    plan: Plan,
    host: Arc<LinuxHost>,
    unix_now_ns: &dyn Fn() -> u64,
    hooks: RunHooks<'_>,
) -> Result<Recording, LoadError> {
    fathom_load::run(plan, host, unix_now_ns, hooks)
}
