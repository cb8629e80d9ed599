//! A real file system on a test's own block device.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device::unmount_with_retries;
use crate::loop_device::run;
use crate::need::Unmet;
use crate::scratch::Scratch;

/// The file systems that tests use.
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
    /// The name for `mount -t`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FsKind::Ext4 => "ext4",
            FsKind::Xfs => "xfs",
            FsKind::Btrfs => "btrfs",
        }
    }

    /// Whether the program that creates it is installed.
    ///
    /// # Errors
    /// The reason if it is not.
    pub fn available(self) -> Result<(), Unmet> {
        let mkfs = format!("mkfs.{}", self.name());
        let found = Command::new(&mkfs).arg("-V").output();
        found
            .map(drop)
            .map_err(|e| Unmet(format!("needs {mkfs}: {e}")))
    }

    /// Creates the file system on `device`; all data on it is lost.
    ///
    /// # Errors
    /// If the device is too small or busy, with the output of the program.
    pub fn format(self, device: &Path) -> io::Result<()> {
        let mut mkfs = Command::new(format!("mkfs.{}", self.name()));
        mkfs.args(match self {
            FsKind::Ext4 => ["-q", "-F"],
            FsKind::Xfs | FsKind::Btrfs => ["-q", "-f"],
        });
        run(mkfs.arg(device)).map(drop)
    }
}

/// A mounted file system; dropping it unmounts. Declare it after its device.
#[derive(Debug)]
pub struct Mount {
    mountpoint: Scratch,
    is_mounted: bool,
}

impl Mount {
    /// Creates a file system on `device` (all data on it is lost) and mounts it with `options` (as
    /// in `mount -o`, may be empty) on a new directory.
    ///
    /// # Errors
    /// If formatting or mounting fails, with the output of the program.
    pub fn format(device: &Path, kind: FsKind, options: &str) -> io::Result<Self> {
        kind.format(device)?;
        Self::existing(device, kind, options)
    }

    /// Mounts the file system that is on `device`.
    ///
    /// # Errors
    /// If mounting fails, with the output of the program.
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

    /// The mount point, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.mountpoint.path()
    }

    /// A path in it; nothing is created.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.mountpoint.join(name)
    }

    /// Unmounts now and reports an error.
    ///
    /// # Errors
    /// If it is busy for five seconds; it is then detached and disappears with its last user.
    pub fn unmount(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_mounted) {
            return Ok(());
        }
        unmount_with_retries(self.mountpoint.path())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // `unmount` reports errors; a drop at least detaches the mount.
        let _ = self.close();
    }
}
