//! The counters that every user can read: `/proc/diskstats` and `/proc/PID/io`. They have no latency of single I/Os, no phases
//! and no sizes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::event::{DeviceNumber, SECTOR};

/// Counters of a device, or their growth (`Documentation/admin-guide/iostats.rst` of Linux).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Its name.
    pub name: String,
    /// Completed reads, writes, discards.
    pub ios: [u64; 3],
    /// Bytes of them.
    pub bytes: [u64; 3],
    /// Merged bios.
    pub merges: [u64; 3],
    /// Sum of the time of reads, writes, discards, milliseconds.
    pub ticks_ms: [u64; 3],
    /// Completed flushes.
    pub flushes: u64,
    /// Sum of their time, milliseconds.
    pub flush_ms: u64,
    /// I/Os in flight: at that moment, in a growth at its end.
    pub in_flight: u64,
    /// Time with at least one I/O, milliseconds.
    pub busy_ms: u64,
    /// Sum over all I/Os of their time, milliseconds.
    pub weighted_ms: u64,
}

impl DiskCounts {
    /// The growth since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let three = |now: [u64; 3], then: [u64; 3]| {
            [0, 1, 2].map(|index: usize| now[index].saturating_sub(then[index]))
        };
        Self {
            name: self.name.clone(),
            ios: three(self.ios, before.ios),
            bytes: three(self.bytes, before.bytes),
            merges: three(self.merges, before.merges),
            ticks_ms: three(self.ticks_ms, before.ticks_ms),
            flushes: self.flushes.saturating_sub(before.flushes),
            flush_ms: self.flush_ms.saturating_sub(before.flush_ms),
            in_flight: self.in_flight,
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
            weighted_ms: self.weighted_ms.saturating_sub(before.weighted_ms),
        }
    }
}

/// Counters of a process, or their growth (proc_pid_io(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessCounts {
    /// Its name.
    pub name: String,
    /// Bytes that it read and wrote by system calls, from the page cache or a device.
    pub called: [u64; 2],
    /// Bytes that devices were asked for on its behalf.
    pub device: [u64; 2],
}

impl ProcessCounts {
    /// The counters of a text of `/proc/PID/io`.
    #[must_use]
    pub fn parse(name: &str, text: &str) -> Self {
        let value = |field: &str| {
            text.lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(name, _)| *name == field)
                .and_then(|(_, value)| value.parse().ok())
                .unwrap_or(0)
        };
        Self {
            name: name.to_owned(),
            called: [value("rchar"), value("wchar")],
            device: [value("read_bytes"), value("write_bytes")],
        }
    }
}

/// The counters of `/proc/diskstats`.
#[must_use]
pub fn disk_counts(text: &str) -> BTreeMap<DeviceNumber, DiskCounts> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let number =
                DeviceNumber::new(words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let name = words.next()?.to_owned();
            let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let field = |index: usize| fields.get(index).copied().unwrap_or(0);
            let three = |index: usize| [field(index), field(index + 4), field(index + 11)];
            (fields.len() >= 11).then(|| {
                (
                    number,
                    DiskCounts {
                        name,
                        ios: three(0),
                        merges: three(1),
                        bytes: three(2).map(|sectors| sectors * SECTOR),
                        ticks_ms: three(3),
                        flushes: field(15),
                        flush_ms: field(16),
                        in_flight: field(8),
                        busy_ms: field(9),
                        weighted_ms: field(10),
                    },
                )
            })
        })
        .collect()
}

/// The counters of all processes that this user may read.
#[must_use]
pub fn process_counts(proc: &Path) -> BTreeMap<u32, ProcessCounts> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("io")).ok()?;
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            Some((pid, ProcessCounts::parse(name.trim_end(), &text)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_the_kernels_documentation_are_read() {
        let line = " 254       0 vda 10 1 80 5 20 2 160 7 0 11 12 30 3 240 9 4 6\n   7 1 loop1 1 2 3 4 5 6 7 8 9 10 11\n";
        let counts = disk_counts(line);
        let disk = &counts[&DeviceNumber::new(254, 0)];
        assert_eq!(disk.ios, [10, 20, 30]);
        assert_eq!(disk.merges, [1, 2, 3]);
        assert_eq!(disk.bytes, [80 * 512, 160 * 512, 240 * 512]);
        assert_eq!(disk.ticks_ms, [5, 7, 9]);
        assert_eq!((disk.busy_ms, disk.weighted_ms, disk.flushes), (11, 12, 4));
        assert_eq!((disk.in_flight, disk.flush_ms), (0, 6));
        // Before Linux 4.18 there were no discards and before 5.5 no flushes.
        assert_eq!(counts[&DeviceNumber::new(7, 1)].ios, [1, 5, 0]);
        assert_eq!(disk_counts("x y z\n8 0\n"), BTreeMap::new());
        let before = disk_counts(" 254 0 vda 4 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
        let grown = disk.since(&before[&DeviceNumber::new(254, 0)]);
        assert_eq!((grown.ios, grown.busy_ms), ([6, 20, 30], 10));
    }

    #[test]
    fn counters_of_a_process_are_read() {
        let text = "rchar: 5\nwchar: 6\nsyscr: 1\nsyscw: 1\nread_bytes: 7\nwrite_bytes: 8\ncancelled_write_bytes: 9\n";
        let counts = ProcessCounts::parse("dd", text);
        assert_eq!((counts.called, counts.device), ([5, 6], [7, 8]));
    }
}
