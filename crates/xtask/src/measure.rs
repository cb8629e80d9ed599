//! Runs the suite of measurements, `crates/fathom/tests/measure`, which is not among the tests that `cargo test` runs.

use std::io;
use std::process::Command;

/// Runs it with these options.
///
/// # Errors
/// Cargo cannot be started, or a scene failed.
pub fn run(options: &[&str]) -> io::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "test",
            "--release",
            "--package",
            "fathom",
            "--test",
            "measure",
            "--",
        ])
        .args(options)
        .status()?;
    if status.success() {
        Ok("every scene passed".to_owned())
    } else {
        Err(io::Error::other("the measurements failed"))
    }
}
