//! The requirements of a test on the machine, and the message when one is missing.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::throttle::Throttle;

/// Why a requirement is not met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unmet(pub(crate) String);

/// A capability of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Effective user 0.
    Root,
    /// `/dev/fuse`, and root or `fusermount3`.
    Fuse,
    /// Loop devices: root, `/dev/loop-control` and `losetup`.
    Loop,
    /// A writable blkio hierarchy of cgroup version 1.
    BlkioV1,
    /// The kernel lets this process set up an io_uring.
    IoUring,
    /// An installed `fio`, as a peer to compare with.
    Fio,
    /// An installed `nats-server`.
    Nats,
    /// Installed programs of OpenSSH, with its server.
    Ssh,
    /// Installed programs of a PostgreSQL server.
    Postgres,
}

impl Need {
    /// Checks the requirement.
    ///
    /// # Errors
    /// The reason if it is not met.
    pub fn check(self) -> Result<(), Unmet> {
        match self {
            Need::Root => root(),
            Need::Fuse => fuse(),
            Need::Loop => loop_devices(),
            Need::BlkioV1 => Throttle::available(),
            Need::IoUring => io_uring(),
            Need::Fio => program("fio", "--version"),
            Need::Nats => program("nats-server", "--version"),
            Need::Ssh => ssh(),
            Need::Postgres => crate::postgres::programs().map(drop),
        }
    }

    /// Whether a test may be skipped without this even with `FATHOM_TESTS_MUST_RUN=1`.
    ///
    /// cgroup version 1 may be missing: current distributions no longer have it.
    fn may_be_missing(self) -> bool {
        self == Need::BlkioV1
    }
}

fn ssh() -> Result<(), Unmet> {
    // `sshd` has no option that only prints its version.
    if !Path::new("/usr/sbin/sshd").is_file() {
        return Err(Unmet("/usr/sbin/sshd is not installed".to_owned()));
    }
    program("ssh", "-V")
}

/// Whether every requirement is met. If not, reports it as [`skip`] does, and the test returns.
///
/// # Panics
/// With `FATHOM_TESTS_MUST_RUN=1` in the environment, instead of skipping, for every need but
/// [`Need::BlkioV1`].
#[must_use]
pub fn all_met(needs: &[Need]) -> bool {
    let must_run = std::env::var_os("FATHOM_TESTS_MUST_RUN").is_some_and(|v| v == "1");
    match judge(needs, must_run) {
        Verdict::Run => true,
        Verdict::Skip(why) => {
            skip(&why);
            false
        }
        Verdict::Fail(why) => panic!(
            "{} must run (FATHOM_TESTS_MUST_RUN=1), but: {why}",
            test_name()
        ),
    }
}

/// Prints `SKIP: <test>: <why>` to the real standard error, past the test harness's capture.
pub fn skip(why: &(impl Display + ?Sized)) {
    // An unwritable standard error is ignored.
    let _ = writeln!(std::io::stderr(), "SKIP: {}: {why}", test_name());
}

/// The test harness gives each test's thread its name.
fn test_name() -> String {
    std::thread::current().name().unwrap_or("test").to_owned()
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Run,
    Skip(String),
    Fail(String),
}

fn judge(needs: &[Need], must_run: bool) -> Verdict {
    let missing = needs
        .iter()
        .find_map(|need| Some((need, need.check().err()?.to_string())));
    match missing {
        None => Verdict::Run,
        Some((need, why)) if must_run && !need.may_be_missing() => Verdict::Fail(why),
        Some((_, why)) => Verdict::Skip(why),
    }
}

/// Returns from the test, with a message, unless the machine meets all of these requirements.
///
/// `require!(Root, Fuse)` at the start of a test; see [`Need`] for the names.
#[macro_export]
macro_rules! require {
    ($($need:ident),+ $(,)?) => {
        if !$crate::all_met(&[$($crate::Need::$need),+]) {
            return;
        }
    };
}

fn root() -> Result<(), Unmet> {
    let is_root = rustix::process::geteuid().is_root();
    is_root
        .then_some(())
        .ok_or_else(|| Unmet("needs root".into()))
}

fn fuse() -> Result<(), Unmet> {
    let open = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    open.map_err(|e| Unmet(format!("needs /dev/fuse: {e}")))?;
    root().or_else(|_| program("fusermount3", "--version"))
}

fn loop_devices() -> Result<(), Unmet> {
    root()?;
    if !Path::new("/dev/loop-control").exists() {
        return Err(Unmet("needs loop devices: no /dev/loop-control".into()));
    }
    program("losetup", "--version")
}

fn io_uring() -> Result<(), Unmet> {
    let ring = io_uring::IoUring::new(2);
    ring.map(drop)
        .map_err(|e| Unmet(format!("needs io_uring: {e}")))
}

fn program(name: &str, harmless: &str) -> Result<(), Unmet> {
    let run = Command::new(name)
        .arg(harmless)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match run {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Unmet(format!("needs {name}, which exited with {status}"))),
        Err(e) => Err(Unmet(format!("needs {name}: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let why = program("no-such-program-here", "--version").expect_err("it cannot exist");
        assert!(why.to_string().contains("no-such-program-here"), "{why}");
    }

    #[test]
    fn a_test_without_requirements_always_runs() {
        assert_eq!(judge(&[], true), Verdict::Run);
    }

    #[test]
    fn must_run_turns_a_skip_into_a_failure() {
        let denied = crate::seccomp::without(&[crate::seccomp::Denied::IoUring], || {
            (
                judge(&[Need::IoUring], false),
                judge(&[Need::IoUring], true),
            )
        });
        let (skip, fail) = denied.expect("seccomp filter");
        assert!(
            matches!(&skip, Verdict::Skip(why) if why.contains("io_uring")),
            "{skip:?}"
        );
        assert!(
            matches!(&fail, Verdict::Fail(why) if why.contains("io_uring")),
            "{fail:?}"
        );
    }
}
