//! The file system of a path, and the devices below it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use fathom_device::{BackingDevices, clean};
use fathom_model::{Bytes, DirectIoFacts, FileSystemFacts, FileSystemLocation, ReportedDirectIo};
use rustix::fs::{FileType, Mode, OFlags, StatVfsMountFlags, major, minor};

use crate::host::{DirectIo, direct_io};
use crate::probe::mounts::{MountRow, here, mount_id};

const NETWORK: [&str; 14] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "9p",
    "afs",
    "lustre",
    "gpfs",
    "beegfs",
    "orangefs",
    "fuse.glusterfs",
    "fuse.sshfs",
];
const MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
const STACKED: [&str; 3] = ["overlay", "aufs", "ecryptfs"];

/// What is below an existing file, directory or other entry. Only the name itself is opened
/// (`O_PATH`).
pub(super) fn backing_devices(path: &Path) -> Option<BackingDevices> {
    let fd = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let row = mount_of(&fd);
    let devices = devices(stat.st_dev, row.as_ref());
    Some(BackingDevices {
        file_system: facts(&fd, row.as_ref(), devices.is_empty()),
        devices,
    })
}

fn mount_of(fd: &OwnedFd) -> Option<MountRow> {
    let id = mount_id(fd.as_fd())?;
    here().into_iter().find(|row| row.id == id)
}

fn facts(fd: &OwnedFd, row: Option<&MountRow>, no_devices: bool) -> FileSystemFacts {
    let stat = rustix::fs::fstatvfs(fd).ok();
    let count = |blocks: fn(&rustix::fs::StatVfs) -> u64| {
        stat.as_ref().map_or(Bytes::ZERO, |stat| {
            Bytes::new(blocks(stat).saturating_mul(stat.f_frsize))
        })
    };
    let kind = row.map_or_else(
        || "unknown".to_owned(),
        |row| clean(row.mount.fs_type.as_bytes()),
    );
    FileSystemFacts {
        mounted_at: row.map(|row| row.mount.at.clone()).unwrap_or_default(),
        source: row
            .map(|row| clean(row.source.as_os_str().as_encoded_bytes()))
            .unwrap_or_default(),
        options: row
            .map(|row| clean(row.options.as_bytes()))
            .unwrap_or_default(),
        read_only: stat
            .as_ref()
            .is_some_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY)),
        location: place(&kind, no_devices),
        block: count(|_| 1),
        free: count(|stat| stat.f_bavail),
        total: count(|stat| stat.f_blocks),
        direct: DirectIoFacts {
            reported: reported_direct_io(fd),
            ..DirectIoFacts::default()
        },
        kind,
    }
}

fn place(kind: &str, no_devices: bool) -> FileSystemLocation {
    match kind {
        _ if NETWORK.contains(&kind) => FileSystemLocation::Network,
        _ if MEMORY.contains(&kind) => FileSystemLocation::Memory,
        _ if STACKED.contains(&kind) => FileSystemLocation::Stacked,
        _ if !no_devices => FileSystemLocation::Local,
        _ if kind.starts_with("fuse") => FileSystemLocation::Process,
        "zfs" => FileSystemLocation::Local,
        _ => FileSystemLocation::Unknown,
    }
}

fn reported_direct_io(fd: &OwnedFd) -> ReportedDirectIo {
    match direct_io(fd) {
        Ok(DirectIo::Buffered) => ReportedDirectIo::Buffered,
        Ok(DirectIo::Direct {
            offset_align,
            memory_align,
        }) => ReportedDirectIo::Direct {
            offset_align,
            memory_align,
        },
        Ok(DirectIo::Unknown) | Err(_) => ReportedDirectIo::Unknown,
    }
}

/// A file system over several devices (btrfs) has a device number of its own; its mount names one
/// of the devices.
fn devices(dev: u64, row: Option<&MountRow>) -> Vec<(u32, u32)> {
    if major(dev) != 0 {
        return vec![(major(dev), minor(dev))];
    }
    let Some(stat) = row
        .filter(|row| row.source.is_absolute())
        .and_then(|row| rustix::fs::stat(&row.source).ok())
    else {
        return Vec::new();
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
        return Vec::new();
    }
    let one = (major(stat.st_rdev), minor(stat.st_rdev));
    let members = members_of(one);
    if members.is_empty() {
        vec![one]
    } else {
        members
    }
}

/// All members of the btrfs that a device belongs to.
fn members_of(device: (u32, u32)) -> Vec<(u32, u32)> {
    let directories = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let number = |path: &Path| -> Option<(u32, u32)> {
        let text = std::fs::read_to_string(path.join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let systems = directories(Path::new("/sys/fs/btrfs"));
    let members = systems.iter().map(|system| {
        directories(&system.join("devices"))
            .iter()
            .filter_map(|path| number(path))
            .collect()
    });
    members
        .into_iter()
        .find(|members: &Vec<_>| members.contains(&device))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types are those that the kernel shows in /proc/self/mountinfo. Network file systems have no device number of a disk; zfs and
    /// tmpfs have none either.
    #[test]
    fn the_type_says_where_the_data_is() {
        for (kind, no_devices, known) in [
            ("nfs", true, FileSystemLocation::Network),
            ("nfs4", true, FileSystemLocation::Network),
            ("cifs", true, FileSystemLocation::Network),
            ("fuse.sshfs", true, FileSystemLocation::Network),
            ("tmpfs", true, FileSystemLocation::Memory),
            ("overlay", true, FileSystemLocation::Stacked),
            ("ext4", false, FileSystemLocation::Local),
            ("zfs", true, FileSystemLocation::Local),
            ("fuse.example", true, FileSystemLocation::Process),
        ] {
            assert_eq!(place(kind, no_devices), known, "{kind}");
        }
    }
}
