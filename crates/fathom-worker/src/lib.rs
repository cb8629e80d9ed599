//! The load on this machine: the generic loops of `fathom-load`, compiled for the engines, clocks and files of
//! `fathom-linux`.
//!
//! Nothing else is here, so that only these loops need the slow compilation with all optimisations: the other code of
//! `fathom-linux` waits for the kernel. What a loop calls for each I/O is `#[inline]` there, and so compiled here.
//!
//! ```
//! use fathom_load::LoadError;
//! use fathom_model::{Plan, Recording};
//!
//! fn record(
//!     plan: Plan,
//!     host: std::sync::Arc<fathom_linux::LinuxHost>,
//!     hooks: fathom_load::RunHooks<'_>,
//! ) -> Result<Recording, LoadError> {
//!     fathom_worker::run_load(plan, host, &|| 0, hooks)
//! }
//! ```

use std::sync::Arc;

use fathom_linux::LinuxHost;
use fathom_load::{LoadError, RunHooks};
use fathom_model::{Plan, Recording};

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
