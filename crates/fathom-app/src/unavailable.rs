//! In place of SQLite where this build does not have it.

#[cfg(not(feature = "sqlite"))]
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

#[cfg(not(feature = "sqlite"))]
pub(crate) use self::absent::{prepare, run};
