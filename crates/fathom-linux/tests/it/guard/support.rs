//! Scratch directories, loop devices and mounts that are cleaned up even if a test fails.

use fathom_device::{DestroyCode, Fingerprint, Intent, Reason, Span, TargetFacts, judge};
use fathom_linux::{HeldTarget, HoldError, examine, hold};
use fathom_model::Bytes;
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub const MIB: u64 = 1 << 20;

/// Returns `None` and prints the reason unless the test runs as root with these tools installed.
/// Tests with devices run one at a time: a new mount namespace copies every mount, including those
/// of other tests.
pub fn requirements(tools: &[&str]) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let directories = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(Path::new);
    let missing = |tool: &&&str| {
        !directories
            .iter()
            .any(|directory| directory.join(tool).exists())
    };
    let missing: Vec<_> = tools.iter().filter(missing).collect();
    if !rustix::process::geteuid().is_root() {
        fathom_testkit::skip("the guard's tests need root");
    } else if !missing.is_empty() {
        fathom_testkit::skip(&format!("not installed: {missing:?}"));
    } else if !Path::new("/dev/loop-control").exists() {
        fathom_testkit::skip("no loop devices here");
    } else {
        return Some(TURN.lock().unwrap_or_else(PoisonError::into_inner));
    }
    None
}

/// Runs a command and returns its output; panics with its error output on failure.
pub fn run(command: &str) -> String {
    try_run(command).unwrap_or_else(|error| panic!("{command}: {error}"))
}

pub fn try_run(command: &str) -> Result<String, String> {
    let output = Command::new("sh")
        .arg("-c")
        .arg(command)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

/// A scratch directory.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "fathom-guard-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a new directory");
        Self(path)
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    /// A sparse file of this many MiB.
    pub fn image(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        std::fs::File::create(&path)
            .and_then(|file| file.set_len(mib * MIB))
            .expect("an image");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Undoes a change with a command.
pub struct Undo(String);

impl Undo {
    /// Runs `command` now and `undo` at the end.
    pub fn after(command: &str, undo: &str) -> Self {
        run(command);
        Self(undo.to_owned())
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Err(error) = try_run(&self.0) {
            eprintln!("cannot undo: {}: {error}", self.0);
        }
    }
}

/// A loop device over an image.
pub struct Loop {
    pub path: PathBuf,
    pub image: PathBuf,
}

impl Loop {
    pub fn over(image: &Path) -> Self {
        let path = run(&format!("losetup --find --show {}", image.display()));
        Self {
            path: path.into(),
            image: image.to_owned(),
        }
    }
    pub fn name(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("loopN")
    }
    pub fn contents(&self) -> Contents {
        contents(&self.image)
    }
    pub fn part(&self, number: u32, start: u64, sectors: u64) -> Undo {
        let device = self.path.display();
        Undo::after(
            &format!("addpart {device} {number} {start} {sectors}"),
            &format!("delpart {device} {number}"),
        )
    }
    pub fn mount(&self, at: &Path) -> Undo {
        mount(&self.path, at, "rw")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = try_run(&format!("losetup --detach {}", self.path.display()));
    }
}

pub fn mount(device: &Path, at: &Path, options: &str) -> Undo {
    std::fs::create_dir_all(at).expect("a mount point");
    let command = format!(
        "mount -o {options} {} {} && sync -f {}",
        device.display(),
        at.display(),
        at.display()
    );
    Undo::after(&command, &format!("umount {}", at.display()))
}

/// An ext4 file system without delayed initialisation writes.
pub fn ext4(device: &Path) {
    run(&format!(
        "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 {}",
        device.display()
    ));
}

/// The bytes of a file or device, whose comparison takes a fraction of the time that a hash of them takes without optimisation.
#[derive(PartialEq, Eq)]
pub struct Contents(Vec<u8>);

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

pub fn contents(path: &Path) -> Contents {
    Contents(std::fs::read(path).expect("readable"))
}

pub fn span(bytes: u64) -> Span {
    Span::new(Bytes::ZERO, Bytes::new(bytes))
}

pub fn writes() -> Intent {
    Intent::write(span(MIB))
}

pub fn facts(path: &Path) -> TargetFacts {
    examine(path).expect("can be examined").facts().clone()
}

pub fn code(path: &Path) -> DestroyCode {
    Fingerprint::of(&facts(path))
        .expect("readable contents")
        .code()
}

/// Everything a run does before its first write.
pub fn open_target(
    path: &Path,
    intent: &Intent,
    codes: &[DestroyCode],
    backup: Option<&Path>,
) -> Result<HeldTarget, HoldError> {
    let attempt = || {
        let examined = examine(path)?;
        let permit = judge(examined.facts(), intent, codes)?;
        hold(examined, &permit, backup)
    };
    // Regression 0123: a target was refused as locked because a program that another thread started
    // held the locked descriptor from fork to exec.
    let is_locked = |held: &Result<HeldTarget, HoldError>| matches!(held, Err(HoldError::Refused(refusal)) if refusal.reason == Reason::Locked);
    let mut attempts = (0..40).map(|_| {
        let held = attempt();
        if is_locked(&held) {
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        held
    });
    attempts
        .find(|held| !is_locked(held))
        .unwrap_or_else(attempt)
}

/// The worst case of a run: with the right code, writes as soon as it is permitted.
pub fn write_if_permitted(path: &Path) -> Result<(), String> {
    let codes: Vec<DestroyCode> = Fingerprint::of(&facts(path))
        .map(|print| print.code())
        .into_iter()
        .collect();
    let backup = std::env::temp_dir().join(format!(
        "{}.ends",
        path.display().to_string().replace('/', "-")
    ));
    let held = open_target(path, &writes(), &codes, Some(&backup));
    let _ = std::fs::remove_file(&backup);
    let held = held.map_err(|error| error.to_string())?;
    overwrite(&held);
    held.release().map_err(|error| error.to_string())
}

/// Overwrites the first block through a descriptor of its own, as an engine would.
pub fn overwrite(held: &HeldTarget) {
    let fd = held.reopen(OFlags::RDWR).expect("held for writing");
    assert_eq!(rustix::io::pwrite(&fd, &[0xFA; 4096], 0), Ok(4096));
    rustix::fs::fsync(&fd).expect("synced");
}

/// The attack is refused with this text, and no byte of the image changes.
pub fn refused(path: &Path, image: &Path, text: &str) {
    let before = contents(image);
    let refusal = write_if_permitted(path).expect_err("must be refused");
    assert!(refusal.contains(text), "\"{text}\" not in: {refusal}");
    assert_eq!(before, contents(image), "the image changed");
}

/// The attack succeeds, so the earlier refusal was caused by the one difference.
pub fn permitted(path: &Path, image: &Path) {
    let before = contents(image);
    write_if_permitted(path).expect("must be permitted");
    assert_ne!(before, contents(image), "nothing was written");
}
