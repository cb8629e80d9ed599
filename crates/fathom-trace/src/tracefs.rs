//! The tracefs file system: an existing mount, or one of our own that no path leads to.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::error::TraceError;

/// Where distributions mount it.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// An accessible tracefs.
#[derive(Debug)]
pub struct Tracefs {
    root: PathBuf,
    /// Of a detached mount: it exists as long as this is open, also when this process is killed.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Uses the mounted tracefs, or else mounts one without a place in the file tree.
    ///
    /// # Errors
    /// Without the right to trace (root, or `CAP_SYS_ADMIN` and access to the files), or on a kernel without tracefs.
    pub fn open() -> Result<Self, TraceError> {
        for mount in MOUNTS.map(Path::new) {
            match std::fs::read_dir(mount.join("instances")) {
                Ok(_) => {
                    return Ok(Self {
                        root: mount.to_owned(),
                        _mount: None,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(TraceError::NoPermission);
                }
                Err(_) => {}
            }
        }
        match detached_mount() {
            Ok(mount) => Ok(Self {
                root: format!("/proc/self/fd/{}", mount.as_raw_fd()).into(),
                _mount: Some(mount),
            }),
            Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => {
                Err(TraceError::NoPermission)
            }
            Err(rustix::io::Errno::NODEV) => Err(TraceError::NoTracefs),
            Err(errno) => Err(TraceError::Mount(errno.into())),
        }
    }

    /// The directory that has `events` and `instances`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn detached_mount() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
}
