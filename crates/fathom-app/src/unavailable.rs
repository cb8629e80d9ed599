//! In place of engines that this build does not have.

#[cfg(not(all(feature = "sqlite", feature = "key-value", feature = "fjall")))]
mod absent {
    use std::path::Path;

    use crate::{AppError, AppSpec, Measured, Probe, not_built_in};

    pub(crate) fn prepare(spec: &AppSpec, _: &Path, _: &dyn Probe) -> Result<(), AppError> {
        Err(not_built_in(spec.engine))
    }

    pub(crate) fn run(spec: &AppSpec, _: &Path, _: &dyn Probe) -> Result<Measured, AppError> {
        Err(not_built_in(spec.engine))
    }
}

#[cfg(not(all(feature = "sqlite", feature = "key-value", feature = "fjall")))]
pub(crate) use self::absent::{prepare, run};

/// Fails where Cargo.lock has another version of a crate.
#[cfg(test)]
pub(crate) fn locked(name: &str, version: &str) {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).expect("Cargo.lock");
    let wanted = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    assert!(lock.contains(&wanted), "{name} is not {version}");
}
