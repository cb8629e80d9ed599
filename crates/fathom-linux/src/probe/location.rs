//! The file system of a file, whether it belongs to the kernel, and its free space.

use super::error::ProbeError;
use super::mounts;
use fathom_device::DeviceLocation;
use fathom_model::Bytes;
use rustix::fs::StatVfsMountFlags;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// File systems whose files control the kernel; writing some of them can make the machine unusable.
const KERNEL_OWNED: [&str; 20] = [
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "debugfs",
    "tracefs",
    "securityfs",
    "cgroup",
    "cgroup2",
    "bpf",
    "pstore",
    "efivarfs",
    "configfs",
    "mqueue",
    "selinuxfs",
    "smackfs",
    "nsfs",
    "binfmt_misc",
    "fusectl",
    "rpc_pipefs",
];

/// The location of the open file or directory `fd` with path `resolved`, in the directory
/// `directory`.
pub(super) fn location(
    fd: BorrowedFd<'_>,
    directory: &Path,
    resolved: &Path,
) -> Result<DeviceLocation, ProbeError> {
    let stat = rustix::fs::fstatvfs(fd)
        .map_err(|error| ProbeError::new("query the file system of", resolved, error))?;
    let mount = mount_of(fd);
    let (fs_type, at) = mount.map_or_else(
        || (magic(fd), None),
        |row| (row.mount.fs_type, Some(row.mount.at)),
    );
    Ok(DeviceLocation {
        directory: directory.to_owned(),
        kernel_owned: kernel_owned(&fs_type, at.as_deref(), resolved),
        fs_type,
        read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
        free: Bytes::new(stat.f_bavail.saturating_mul(stat.f_frsize)),
        total: Bytes::new(stat.f_blocks.saturating_mul(stat.f_frsize)),
    })
}

/// The mount through which a descriptor was opened, by the id in its fdinfo (`proc_pid_fdinfo(5)`).
fn mount_of(fd: BorrowedFd<'_>) -> Option<mounts::MountRow> {
    let id = mounts::mount_id(fd)?;
    mounts::here().into_iter().find(|row| row.id == id)
}

/// A mount of another namespace has no name here; `statfs(2)` then gives the type as a number.
fn magic(fd: BorrowedFd<'_>) -> String {
    let kind = rustix::fs::fstatfs(fd).map_or(0, |stat| stat.f_type);
    match kind {
        0x9FA0 => "proc".into(),
        0x6265_6572 => "sysfs".into(),
        other => format!("file system {other:#x}"),
    }
}

fn kernel_owned(fs_type: &str, at: Option<&Path>, resolved: &Path) -> Option<String> {
    // Shared memory is a file system for users that is only mounted below /dev.
    let shared_memory = fs_type == "tmpfs" && at.is_some_and(|at| at.starts_with("/dev/shm"));
    let root = ["/proc", "/sys", "/dev"]
        .into_iter()
        .find(|root| resolved.starts_with(root));
    match root {
        _ if KERNEL_OWNED.contains(&fs_type) => Some(format!("a {fs_type} file system")),
        Some(root) if !shared_memory => Some(format!("below {root}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_locations_are_recognised_by_type_and_by_path() {
        let owned = |fs_type, at: &str, path: &str| {
            kernel_owned(fs_type, Some(Path::new(at)), Path::new(path)).is_some()
        };
        assert!(owned("proc", "/proc", "/proc/sys/vm/swappiness"));
        assert!(
            owned("devtmpfs", "/srv/dev", "/srv/dev/sdx"),
            "a second mount of it"
        );
        assert!(owned("tmpfs", "/dev", "/dev/sdx"), "as in containers");
        assert!(
            owned("tmpfs", "/dev", "/dev/shm/x"),
            "shm that is not a separate mount"
        );
        assert!(owned(
            "efivarfs",
            "/sys/firmware/efi/efivars",
            "/sys/firmware/efi/efivars/BootOrder"
        ));
        assert!(!owned("tmpfs", "/dev/shm", "/dev/shm/x"));
        assert!(!owned("ext4", "/", "/devices/x") && !owned("tmpfs", "/tmp", "/tmp/x"));
    }
}
