//! Facts of the build for `fathom version --verbose`: the commit, the profile, the target and the compiler. None of them
//! depends on the time or on the directory of the build, so that two builds of one commit are equal.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FATHOM_COMMIT");
    let value = |name: &str| env::var(name).unwrap_or_default();
    // Every commit would rebuild the program and all its tests in a development build.
    let commit = match value("FATHOM_COMMIT") {
        commit if !commit.is_empty() => commit,
        _ if value("PROFILE") == "release" => git_commit().unwrap_or_else(|| "unknown".to_owned()),
        _ => "not recorded in development builds".to_owned(),
    };
    println!("cargo:rustc-env=FATHOM_BUILD_COMMIT={commit}");
    println!("cargo:rustc-env=FATHOM_BUILD_PROFILE={}", value("PROFILE"));
    println!("cargo:rustc-env=FATHOM_BUILD_TARGET={}", value("TARGET"));
    let compiler = output(&value("RUSTC"), &["--version"]).unwrap_or_default();
    println!("cargo:rustc-env=FATHOM_BUILD_COMPILER={compiler}");
}

/// The commit of the work tree, and whether it was changed since.
fn git_commit() -> Option<String> {
    let commit = output("git", &["rev-parse", "HEAD"])?;
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = output("git", &["rev-parse", "--git-path", name]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let changes = output("git", &["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() {
        commit
    } else {
        format!("{commit} with changes")
    })
}

/// What a program prints, without the line end.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
