//! Block devices below a target, and their counters. See Documentation/admin-guide/iostats.rst.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use fathom_model::DiskCounters;
use rustix::fs::{FileType, Mode, OFlags, major, minor};

use crate::probe::mounts::mount_id;

/// Depth limit for stacked devices.
const MAX_DEPTH: u32 = 16;

/// The devices below some targets, each once, upper before lower.
#[derive(Debug, Default)]
pub(super) struct Disks {
    seen: HashSet<String>,
    found: Vec<(String, DiskCounters)>,
}

impl Disks {
    /// Their names and counters.
    pub(super) fn into_found(self) -> Vec<(String, DiskCounters)> {
        self.found
    }

    /// Name of the first device: the one of the first target added.
    pub(super) fn first(&self) -> Option<&str> {
        self.found.first().map(|(name, _)| name.as_str())
    }

    /// Adds the devices below an open target.
    pub(super) fn add_open(&mut self, target: BorrowedFd<'_>) {
        let Ok(facts) = rustix::fs::fstat(target) else {
            return;
        };
        if FileType::from_raw_mode(facts.st_mode) == FileType::BlockDevice {
            self.add_device(facts.st_rdev, 0);
        } else {
            self.add_file_system(facts.st_dev, mount_id(target), 0);
        }
    }

    /// Adds the devices below a path, or below the nearest existing directory of a missing file.
    pub(super) fn add_path(&mut self, path: &Path) {
        self.add_path_at(path, 0);
    }

    fn add_path_at(&mut self, path: &Path, depth: u32) {
        let mut existing = path.ancestors().map(|path| {
            if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                path
            }
        });
        let Some((path, facts)) =
            existing.find_map(|path| Some((path, rustix::fs::stat(path).ok()?)))
        else {
            return;
        };
        if FileType::from_raw_mode(facts.st_mode) == FileType::BlockDevice {
            return self.add_device(facts.st_rdev, depth);
        }
        // The path is only named, not opened for I/O.
        let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let mount = opened.ok().and_then(|fd| mount_id(fd.as_fd()));
        self.add_file_system(facts.st_dev, mount, depth);
    }

    /// A file system over several devices (btrfs, zfs) has a device number of its own; its mount
    /// names a device.
    fn add_file_system(&mut self, dev: u64, mount: Option<u64>, depth: u32) {
        if major(dev) != 0 {
            return self.add_device(dev, depth);
        }
        let Some(source) = mount.and_then(source_of) else {
            return;
        };
        match rustix::fs::stat(&source) {
            Ok(facts) if FileType::from_raw_mode(facts.st_mode) == FileType::BlockDevice => {
                let members = members_of(facts.st_rdev);
                members
                    .iter()
                    .for_each(|directory| self.add_directory(directory, depth));
                self.add_device(facts.st_rdev, depth);
            }
            _ => {}
        }
    }

    fn add_device(&mut self, dev: u64, depth: u32) {
        self.add_directory(&directory_of(dev), depth);
    }

    /// A partition is replaced by its disk. The devices it is built on follow it.
    fn add_directory(&mut self, directory: &Path, depth: u32) {
        let Some(directory) = std::fs::canonicalize(directory).ok().and_then(whole) else {
            return;
        };
        let Some(name) = directory.file_name().and_then(|name| name.to_str()) else {
            return;
        };
        if depth > MAX_DEPTH || !self.seen.insert(name.to_owned()) {
            return;
        }
        let counters = std::fs::read_to_string(directory.join("stat"))
            .ok()
            .and_then(|text| parse(&text));
        self.found
            .extend(counters.map(|counters| (name.replace('!', "/"), counters)));
        for below in entries(&directory.join("slaves")) {
            self.add_directory(&below, depth + 1);
        }
        if let Ok(file) = std::fs::read_to_string(directory.join("loop/backing_file")) {
            self.add_path_at(Path::new(file.trim_end_matches('\n')), depth + 1);
        }
    }
}

/// All block devices with a size, and their counters.
pub(crate) fn block_devices() -> Vec<(String, DiskCounters)> {
    entries(Path::new("/sys/block"))
        .iter()
        .filter_map(|directory| {
            let text = |file: &str| std::fs::read_to_string(directory.join(file)).ok();
            let counters = text("size")
                .filter(|size| size.trim() != "0")
                .and_then(|_| parse(&text("stat")?))?;
            let name = directory.file_name()?.to_str()?.replace('!', "/");
            Some((name, counters))
        })
        .collect()
}

fn directory_of(dev: u64) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}:{}", major(dev), minor(dev)))
}

fn whole(directory: PathBuf) -> Option<PathBuf> {
    if directory.join("partition").exists() {
        directory.parent().map(Path::to_owned)
    } else {
        Some(directory)
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The source of the mount with this id. See proc_pid_mountinfo(5): the source is the second field
/// after the separator dash.
fn source_of(mount: u64) -> Option<PathBuf> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.split(' ').next() == Some(&mount.to_string()))?;
    let source = line.split_once(" - ")?.1.split(' ').nth(1)?;
    source.starts_with('/').then(|| PathBuf::from(source))
}

/// Directories of all members of the btrfs that a device belongs to.
fn members_of(dev: u64) -> Vec<PathBuf> {
    let Some(own) = std::fs::canonicalize(directory_of(dev)).ok() else {
        return Vec::new();
    };
    let name = own.file_name().unwrap_or_default();
    let file_systems = entries(Path::new("/sys/fs/btrfs"));
    let devices = file_systems
        .iter()
        .map(|directory| directory.join("devices"))
        .find(|devices| devices.join(name).exists());
    devices.map(|devices| entries(&devices)).unwrap_or_default()
}

/// `/sys/block/NAME/stat`: 11 fields before Linux 4.18, 15 with discards, 17 with flushes.
pub(super) fn parse(text: &str) -> Option<DiskCounters> {
    let fields: Vec<u64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let at = |index: usize| fields.get(index).copied().unwrap_or(0);
    (fields.len() >= 11).then(|| DiskCounters {
        read_ios: at(0),
        read_merges: at(1),
        read_sectors: at(2),
        read_ticks: at(3),
        write_ios: at(4),
        write_merges: at(5),
        write_sectors: at(6),
        write_ticks: at(7),
        in_flight: at(8),
        io_ticks: at(9),
        time_in_queue: at(10),
        discard_ios: at(11),
        discard_sectors: at(13),
        flush_ios: at(15),
        flush_ticks: at(16),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_match_the_kernel_documentation() {
        let text = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n";
        let all = parse(text).expect("17 fields");
        assert_eq!(
            (
                all.read_ios,
                all.read_sectors,
                all.write_ios,
                all.write_ticks
            ),
            (1, 3, 5, 8)
        );
        assert_eq!(
            (all.in_flight, all.io_ticks, all.time_in_queue),
            (9, 10, 11)
        );
        assert_eq!((all.discard_ios, all.discard_sectors), (12, 14));
        assert_eq!((all.flush_ios, all.flush_ticks), (16, 17));
        let old = parse("1 2 3 4 5 6 7 8 9 10 11").expect("11 fields");
        assert_eq!((old.time_in_queue, old.flush_ios), (11, 0));
        assert_eq!(
            (parse("1 2 3"), parse("a b c d e f g h i j k")),
            (None, None)
        );
    }
}
