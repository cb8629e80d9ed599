//! Finds the script that draws charts among the sources of a package that carries it, and checks it.
//!
//! It is never part of this repository. Without it the crate builds all the same and says at run time what it lacks.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sha2::{Digest, Sha256};

/// The package and version, as cargo names its folder.
const PACKAGE: &str = "charming-0.6.0";
/// Where the script lies in it.
const SCRIPT: &str = "src/asset/echarts-5.5.1.min.js";
/// SHA-256 of the script, as ECharts 5.5.1 published it.
const SHA256: &str = "e84270bd0cd5bdf60fefc26d00c2a391cb2e81f4d26a7a9ee16185a54773a3cf";
/// A target for which cargo counts the package among the dependencies.
const TARGET: &str = "x86_64-unknown-none";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FATHOM_ECHARTS");
    let made = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("echarts.js");
    let given = env::var_os("FATHOM_ECHARTS").and_then(|path| checked(Path::new(&path)));
    let script = given.or_else(|| of_package(true)).or_else(|| of_package(false));
    if script.is_none() {
        println!("cargo:warning={SCRIPT} of the package {PACKAGE} was not found (or is not the one expected): this build draws no charts");
    }
    fs::write(&made, script.unwrap_or_default()).expect("OUT_DIR can be written");
}

/// The script among the sources of the package, which cargo brings if it may.
fn of_package(offline: bool) -> Option<Vec<u8>> {
    let mut cargo = Command::new(env::var_os("CARGO")?);
    cargo.args(["metadata", "--format-version=1", "--locked", "--filter-platform", TARGET]);
    cargo.args(["--manifest-path", "Cargo.toml"]).current_dir(env::var_os("CARGO_MANIFEST_DIR")?);
    if offline {
        cargo.arg("--offline");
    }
    let told = String::from_utf8(cargo.output().ok()?.stdout).ok()?;
    let end = format!("/{PACKAGE}/Cargo.toml\"");
    let vendored = "/charming/Cargo.toml\"";
    let at = told.find(&end).map(|at| at + 1 + PACKAGE.len()).or_else(|| told.find(vendored).map(|at| at + "/charming".len()))?;
    let start = told[..at].rfind('"')? + 1;
    checked(&Path::new(&told[start..at]).join(SCRIPT))
}

/// The file, if it is the one expected.
fn checked(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    (sum == SHA256).then_some(bytes)
}
