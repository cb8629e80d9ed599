//! A clock that is wrong for one program only, by preloading a small library before the C library.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::need::Unmet;
use crate::pace::monotonic_ns;

const SOURCE: &str = include_str!("clock_shim.c");

/// Changes the clocks of a program some time from now. The machine's own clocks are never changed.
#[derive(Debug, Clone)]
pub struct ClockShim {
    library: PathBuf,
}

impl ClockShim {
    /// Builds the library in `directory` with the C compiler.
    ///
    /// # Errors
    /// The reason if it cannot be built, usually that there is no `cc`.
    pub fn build(directory: &Path) -> Result<ClockShim, Unmet> {
        let (source, library) = (
            directory.join("clock_shim.c"),
            directory.join("clock_shim.so"),
        );
        std::fs::write(&source, SOURCE).map_err(|error| Unmet(error.to_string()))?;
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-o"])
            .arg(&library)
            .arg(&source)
            .stdin(Stdio::null());
        match cc.output() {
            Ok(done) if done.status.success() => Ok(ClockShim { library }),
            Ok(done) => Err(Unmet(format!(
                "cc: {}",
                String::from_utf8_lossy(&done.stderr)
            ))),
            Err(error) => Err(Unmet(format!("needs cc: {error}"))),
        }
    }

    /// Runs `command` with a wall clock that is set `step` ahead and a monotonic clock that gains
    /// `ppm` millionths, from `after` now on.
    pub fn skew(&self, command: &mut Command, after: Duration, step: Duration, ppm: u32) {
        command.env("LD_PRELOAD", &self.library);
        command.env(
            "SHIM_AT",
            (monotonic_ns() + after.as_nanos() as u64).to_string(),
        );
        command
            .env("SHIM_STEP", step.as_nanos().to_string())
            .env("SHIM_PPM", ppm.to_string());
    }
}
