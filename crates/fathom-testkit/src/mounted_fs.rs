//! A real file system on a test's own block device.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device::unmount_patiently;
use crate::loop_device::run;
use crate::scratch::Scratch;

/// The file systems tests run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsKind {
    /// The fourth extended file system; any size from about 1 MiB.
    Ext4,
    /// XFS; needs 300 MiB or more.
    Xfs,
    /// Btrfs; needs 110 MiB or more.
    Btrfs,
}

impl FsKind {
    /// The name as `mount -t` takes it.
    pub fn name(self) -> &'static str {
        match self {
            FsKind::Ext4 => "ext4",
            FsKind::Xfs => "xfs",
            FsKind::Btrfs => "btrfs",
        }
    }

    /// Whether the program that makes it is installed.
    ///
    /// # Errors
    /// The reason why not, for a person.
    pub fn available(self) -> Result<(), String> {
        let mkfs = format!("mkfs.{}", self.name());
        let found = Command::new(&mkfs).arg("-V").output();
        found.map(drop).map_err(|e| format!("needs {mkfs}: {e}"))
    }

    /// Makes the file system on `device`, losing what was there.
    ///
    /// # Errors
    /// When the device is too small or busy, with what the program said.
    pub fn format(self, device: &Path) -> io::Result<()> {
        let mut mkfs = Command::new(format!("mkfs.{}", self.name()));
        mkfs.args(match self {
            FsKind::Ext4 => ["-q", "-F"],
            FsKind::Xfs | FsKind::Btrfs => ["-q", "-f"],
        });
        run(mkfs.arg(device)).map(drop)
    }
}

/// A mounted file system; dropping it unmounts. Declare it after the device it lies on.
#[derive(Debug)]
pub struct Mount {
    mountpoint: Scratch,
    is_mounted: bool,
}

impl Mount {
    /// Makes a file system on `device`, losing what was there, and mounts it with `options` (as
    /// in `mount -o`, may be empty) on a fresh directory.
    ///
    /// # Errors
    /// When making or mounting fails, with what the program said.
    pub fn format(device: &Path, kind: FsKind, options: &str) -> io::Result<Self> {
        kind.format(device)?;
        Self::existing(device, kind, options)
    }

    /// Mounts the file system that is on `device`.
    ///
    /// # Errors
    /// When mounting fails, with what the program said.
    pub fn existing(device: &Path, kind: FsKind, options: &str) -> io::Result<Self> {
        let mountpoint = Scratch::new()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", kind.name()]);
        if !options.is_empty() {
            mount.args(["-o", options]);
        }
        run(mount.arg(device).arg(mountpoint.path()))?;
        Ok(Mount {
            mountpoint,
            is_mounted: true,
        })
    }

    /// Where it is mounted, absolute.
    pub fn path(&self) -> &Path {
        self.mountpoint.path()
    }

    /// A path in it; nothing is made.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.mountpoint.join(name)
    }

    /// Unmounts now and says why when that fails.
    ///
    /// # Errors
    /// When it stays busy for five seconds; it is then detached and goes with its last user.
    pub fn unmount(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_mounted) {
            return Ok(());
        }
        unmount_patiently(self.mountpoint.path())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // `unmount` reports errors; in a drop the mount is at least detached.
        let _ = self.close();
    }
}
