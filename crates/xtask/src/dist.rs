//! Packages: one static program, and what is made of it.
//!
//! Everything is written to `target/packages`. Names and contents do not depend on the time or on the directory of the
//! build.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shells with completions, and the names that their files have in Debian.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "fathom.bash"),
    ("zsh", "_fathom"),
    ("fish", "fathom.fish"),
];

fn root() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The directory of the packages.
fn packages() -> PathBuf {
    target_directory().join("packages")
}

/// The machine of the build: `x86_64` or `aarch64`.
const MACHINE: &str = std::env::consts::ARCH;

fn triple() -> String {
    format!("{MACHINE}-unknown-linux-gnu")
}

/// Runs a program to its end.
fn run(command: &mut Command) -> io::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| io::Error::new(error.kind(), format!("cannot start {name}: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{name} failed: {status}")))
    }
}

/// Builds the static program: the profile and the features of `cargo install`.
pub(crate) fn build() -> io::Result<String> {
    let (root, target) = (root(), target_directory());
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    );
    // Paths in messages would differ between machines.
    let mut flags = vec![
        "-Ctarget-feature=+crt-static".to_owned(),
        format!("--remap-path-prefix={}=/cargo", home.display()),
        format!("--remap-path-prefix={}=/target", target.display()),
        format!("--remap-path-prefix={}=/fathom", root.display()),
    ];
    // A message of a panic names a file of a crate without the registry that it came from; the last prefix that fits counts.
    let registries = fs::read_dir(home.join("registry/src"));
    flags.extend(
        registries
            .into_iter()
            .flatten()
            .flatten()
            .map(|registry| format!("--remap-path-prefix={}=/cargo", registry.path().display())),
    );
    let c_flags = format!(
        "-ffile-prefix-map={}=/cargo -ffile-prefix-map={}=/target",
        home.display(),
        target.display()
    );
    run(Command::new(env!("CARGO"))
        .current_dir(&root)
        .args(["build", "--locked", "--package=fathom", "--bin=fathom"])
        .args(["--release", "--target", &triple()])
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CFLAGS", c_flags))?;
    let packages = packages();
    fs::create_dir_all(&packages)?;
    let program = packages.join("fathom");
    fs::copy(target.join(triple()).join("release/fathom"), &program)?;
    let checked = check_program(&program)?;
    for (shell, file) in COMPLETIONS {
        let output = Command::new(&program)
            .args(["completions", shell])
            .output()?;
        fs::write(packages.join(file), output.stdout)?;
    }
    Ok(checked)
}

/// The program needs no shared library. Its size is reported.
fn check_program(program: &Path) -> io::Result<String> {
    let bytes = fs::metadata(program)?.len();
    let headers = Command::new("readelf")
        .args(["--program-headers", "--wide"])
        .arg(program)
        .output()?;
    if String::from_utf8_lossy(&headers.stdout).contains("INTERP") {
        return Err(io::Error::other("the program needs shared libraries"));
    }
    Ok(format!(
        "{}: {:.1} MB, static",
        program.display(),
        bytes as f64 / 1e6
    ))
}

/// The program, or an error that says how to build it.
fn program() -> io::Result<PathBuf> {
    let program = packages().join("fathom");
    if program.is_file() {
        Ok(program)
    } else {
        Err(io::Error::other(format!(
            "no {}: run `cargo xtask dist` first",
            program.display()
        )))
    }
}

/// A tarball with the program, its man pages, completions, documentation, job files and licences.
pub(crate) fn tarball() -> io::Result<String> {
    let (program, root, packages) = (program()?, root(), packages());
    let name = format!("fathom-{}-{MACHINE}-linux", env!("CARGO_PKG_VERSION"));
    let staging = packages.join(&name);
    if staging.exists() {
        fs::remove_dir_all(&staging)?;
    }
    fs::create_dir_all(staging.join("completions"))?;
    fs::copy(&program, staging.join("fathom"))?;
    for (_, file) in COMPLETIONS {
        fs::copy(packages.join(file), staging.join("completions").join(file))?;
    }
    for entry in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root.join(entry), staging.join(entry))?;
    }
    for directory in ["man", "docs", "jobs"] {
        copy_directory(&root.join(directory), &staging.join(directory))?;
    }
    let tarball = packages.join(format!("{name}.tar.gz"));
    run(Command::new("tar")
        .current_dir(&packages)
        .args(["--create", "--sort=name", "--mtime=@0", "--owner=0"])
        .args([
            "--group=0",
            "--numeric-owner",
            "--use-compress-program=gzip -n",
        ])
        .arg("--file")
        .arg(&tarball)
        .arg(&name))?;
    fs::remove_dir_all(&staging)?;
    Ok(tarball.display().to_string())
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// A Debian package, by cargo-deb: `[package.metadata.deb]` of the program's Cargo.toml lists its files.
pub(crate) fn deb() -> io::Result<String> {
    program()?;
    output(
        Command::new(env!("CARGO"))
            .current_dir(root())
            .args(["deb", "--no-build", "--no-strip", "--package=fathom"])
            .args(["--target", &triple(), "--output"])
            .arg(packages())
            .env("CARGO_TARGET_DIR", target_directory()),
    )
}

/// A container image that contains only the program, as an archive that podman, docker and skopeo load.
pub(crate) fn image() -> io::Result<String> {
    let (program, packages) = (program()?, packages());
    let version = env!("CARGO_PKG_VERSION");
    let container = output(Command::new("buildah").args(["from", "scratch"]))?;
    let built = build_image(
        &container,
        &program,
        &packages.join(format!("fathom-{version}-image.tar")),
    );
    run(Command::new("buildah")
        .args(["rm", &container])
        .stdout(std::process::Stdio::null()))?;
    built
}

fn build_image(container: &str, program: &Path, archive: &Path) -> io::Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let buildah = |arguments: &[&str]| {
        run(Command::new("buildah")
            .args(arguments)
            .stdout(std::process::Stdio::null()))
    };
    let program = program.display().to_string();
    buildah(&["copy", "--chmod=755", container, &program, "/fathom"])?;
    let label = format!("org.opencontainers.image.version={version}");
    buildah(&[
        "config",
        "--entrypoint=[\"/fathom\"]",
        "--workingdir=/data",
        "--user=65532:65532",
        "--env=FATHOM_STORE=none",
        "--label=org.opencontainers.image.title=fathom",
        "--label=org.opencontainers.image.licenses=MIT OR Apache-2.0",
        "--label",
        &label,
        container,
    ])?;
    if archive.exists() {
        fs::remove_file(archive)?;
    }
    let name = format!("fathom:{version}");
    let to = format!("docker-archive:{}:{name}", archive.display());
    buildah(&["commit", "--timestamp=0", container, &to])?;
    Ok(archive.display().to_string())
}

/// What a program prints, without the line end.
fn output(command: &mut Command) -> io::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("cannot start {name}: {error}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let text = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("{name} failed: {}", text.trim())))
    }
}
