//! File systems on the observed devices whose tracepoints say which file is where.

use std::collections::HashMap;
use std::path::PathBuf;

use fathom_trace::{BlockDevices, DeviceNumber, FileMapSource, FileSystemPlace, SECTOR};

/// These file systems, with their places.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TracedFileSystems {
    /// What is recorded.
    pub sources: Vec<(FileMapSource, DeviceNumber)>,
    /// Where their blocks are, by the device of the file system.
    pub places: HashMap<DeviceNumber, FileSystemPlace>,
}

impl TracedFileSystems {
    /// Those of the mounts of this process on these whole devices; without a device, on all.
    pub fn on(devices: &[DeviceNumber], known: &BlockDevices) -> Self {
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut found = TracedFileSystems::default();
        for (number, at, source) in text.lines().filter_map(mount) {
            let Some(disk) = known.whole(number) else {
                continue;
            };
            let is_wanted = devices.is_empty() || devices.contains(&disk);
            if !is_wanted || found.places.contains_key(&number) {
                continue;
            }
            // Another mount may hide this one: its block size is that of another file system.
            let is_visible = std::fs::metadata(&at).is_ok_and(|metadata| {
                let raw = std::os::unix::fs::MetadataExt::dev(&metadata);
                number == DeviceNumber::new(rustix::fs::major(raw), rustix::fs::minor(raw))
            });
            if let Ok(file_system) = rustix::fs::statvfs(&at)
                && is_visible
            {
                found.sources.push((source, number));
                let place = FileSystemPlace {
                    disk,
                    first_sector: known.first_sector(number),
                    block_sectors: (file_system.f_frsize / SECTOR).max(1),
                };
                found.places.insert(number, place);
            }
        }
        found
    }
}

/// Device, place and source of a line of proc_pid_mountinfo(5).
fn mount(line: &str) -> Option<(DeviceNumber, PathBuf, FileMapSource)> {
    let (head, tail) = line.split_once(" - ")?;
    let source = FileMapSource::of(tail.split(' ').next()?)?;
    let mut fields = head.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let number = DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?);
    // Space, tab, line end and backslash are written as three octal digits.
    let at = fields.nth(1)?;
    let plain = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let at = plain
        .iter()
        .fold(at.to_owned(), |at, (code, letter)| at.replace(code, letter));
    Some((number, at.into(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_without_tracepoints_are_left_out() {
        let line =
            |kind: &str| format!("36 35 8:17 /sub /mnt/my\\040disk rw - {kind} /dev/sdb1 rw");
        let expected = |source| Some((DeviceNumber::new(8, 17), "/mnt/my disk".into(), source));
        assert_eq!(mount(&line("ext4")), expected(FileMapSource::Ext4));
        assert_eq!(mount(&line("xfs")), expected(FileMapSource::Iomap));
        for other in ["btrfs", "tmpfs", "fuseblk"] {
            assert_eq!(mount(&line(other)), None, "{other}");
        }
        assert_eq!(mount("36 35 8:17"), None);
    }
}
