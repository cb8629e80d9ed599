//! A block device backed by a file, for tests that need a real one.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The options of a loop device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoopOptions {
    /// Logical sector size in bytes; `None` leaves the kernel's 512.
    pub sector_size: Option<u32>,
    /// Refuse writes.
    pub read_only: bool,
    /// Go through the page cache of the backing file instead of direct I/O.
    pub buffered: bool,
}

/// The queue settings that tests change, and what sets each to the kernel's default.
const QUEUE_DEFAULTS: [(&str, &str); 3] = [
    ("max_sectors_kb", "0"),
    ("nomerges", "0"),
    ("scheduler", "none"),
];

/// A queue setting of a loop device; dropping it restores the old value.
#[derive(Debug)]
pub struct QueueSetting {
    path: PathBuf,
    old: String,
}

impl Drop for QueueSetting {
    fn drop(&mut self) {
        let restored = std::fs::write(&self.path, &self.old);
        if !std::thread::panicking() {
            restored.unwrap_or_else(|e| {
                panic!("{}: {} not restored: {e}", self.path.display(), self.old)
            });
        }
    }
}

/// An attached loop device; dropping it removes its partitions and detaches it.
///
/// The kernel's queue settings of a loop number outlive it: a test changes them with
/// [`LoopDevice::set_queue`], which restores the old value. A test that was killed cannot restore
/// anything, so attaching sets the settings that tests change to the kernel's defaults.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    partitions: Vec<u32>,
}

impl LoopDevice {
    /// Creates a sparse file of `size` bytes at `backing`, which must not exist, and attaches it.
    ///
    /// # Errors
    /// If the file exists or cannot be created, or `losetup` fails.
    pub fn create(backing: &Path, size: u64, options: LoopOptions) -> io::Result<Self> {
        File::create_new(backing)?.set_len(size)?;
        Self::attach(backing, options)
    }

    /// Attaches an existing file, such as a fault device.
    ///
    /// # Errors
    /// If `losetup` fails, with its output.
    pub fn attach(backing: &Path, options: LoopOptions) -> io::Result<Self> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show"]);
        losetup.arg(format!(
            "--direct-io={}",
            if options.buffered { "off" } else { "on" }
        ));
        if let Some(size) = options.sector_size {
            losetup.arg(format!("--sector-size={size}"));
        }
        if options.read_only {
            losetup.arg("--read-only");
        }
        let path = run(losetup.arg(backing))?;
        let device = LoopDevice {
            path: path.trim().into(),
            partitions: Vec::new(),
        };
        for (file, default) in QUEUE_DEFAULTS {
            // Without root nothing can be set, nor can it have been.
            let _ = std::fs::write(device.queue_file(file), default);
        }
        Ok(device)
    }

    /// Sets `queue/FILE` until the returned value is dropped.
    ///
    /// # Errors
    /// If this kernel has no such setting or does not accept the value.
    pub fn set_queue(&self, file: &str, value: &str) -> io::Result<QueueSetting> {
        let path = self.queue_file(file);
        let old = std::fs::read_to_string(&path)?;
        // One of several, such as `none [mq-deadline] bfq`, or the value alone.
        let chosen = old
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let old = chosen.map_or(old.trim(), |(chosen, _)| chosen).to_owned();
        std::fs::write(&path, value)?;
        Ok(QueueSetting { path, old })
    }

    fn queue_file(&self, file: &str) -> PathBuf {
        self.sysfs().join("queue").join(file)
    }

    /// The device node, such as `/dev/loop3`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of its settings and counters, such as `/sys/block/loop3`.
    #[must_use]
    pub fn sysfs(&self) -> PathBuf {
        Path::new("/sys/block").join(self.path.file_name().unwrap_or(OsStr::new("loop")))
    }

    /// Adds partition `number` from `start`, `sectors` long, both in 512-byte sectors, without
    /// writing a partition table. Returns its device node.
    ///
    /// # Errors
    /// If `addpart` fails, for example beyond the end of the device.
    pub fn add_partition(&mut self, number: u32, start: u64, sectors: u64) -> io::Result<PathBuf> {
        let numbers = [u64::from(number), start, sectors].map(|n| n.to_string());
        run(Command::new("addpart").arg(&self.path).args(numbers))?;
        self.partitions.push(number);
        let mut node = self.path.clone().into_os_string();
        node.push(format!("p{number}"));
        Ok(node.into())
    }

    /// Updates the size of the device after its backing file was resized.
    ///
    /// # Errors
    /// If `losetup` fails.
    pub fn follow_size(&self) -> io::Result<()> {
        run(Command::new("losetup")
            .arg("--set-capacity")
            .arg(&self.path))
        .map(drop)
    }

    /// Detaches now and reports an error.
    ///
    /// # Errors
    /// If `losetup` fails. A device that is still open elsewhere is detached at its last close,
    /// which is not an error.
    pub fn detach(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        for number in self.partitions.drain(..) {
            let number = number.to_string();
            // A partition that is still mounted remains; detaching reports that.
            let _ = run(Command::new("delpart").arg(&self.path).arg(number));
        }
        if self.path.as_os_str().is_empty() {
            return Ok(());
        }
        let backing = self.sysfs().join("loop/backing_file");
        let own_backing = std::fs::read(&backing).unwrap_or_default();
        let path = std::mem::take(&mut self.path);
        run(Command::new("losetup").arg("--detach").arg(path))?;
        wait_until_changed(&backing, &own_backing);
        Ok(())
    }
}

/// Waits up to a second: the kernel delays a detach while the device is open, even in a program
/// that inspects every new disk. The number may be reused at once.
fn wait_until_changed(path: &Path, content: &[u8]) {
    for _ in 0..100 {
        if std::fs::read(path).map_or(true, |now| now != content) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // `detach` reports errors.
        let _ = self.close();
    }
}

/// Runs a program and returns its standard output, or its standard error as an error.
pub(crate) fn run(command: &mut Command) -> io::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(format!(
        "{name} ended with {}: {message}",
        output.status
    )))
}
