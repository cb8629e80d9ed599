//! Limits of devices and their relations, from sysfs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::event::{DeviceNumber, SECTOR};
use crate::summary::QueueLimits;

/// The block devices of a machine, as `/sys` shows them.
#[derive(Clone, Debug)]
pub struct BlockDevices {
    sys: PathBuf,
}

impl Default for BlockDevices {
    fn default() -> Self {
        Self { sys: "/sys".into() }
    }
}

impl BlockDevices {
    /// The devices of the tree `sys`.
    #[must_use]
    pub fn of_tree(sys: impl Into<PathBuf>) -> Self {
        Self { sys: sys.into() }
    }

    /// The whole device of a device number: of a partition its disk. `None` if there is no such block device.
    #[must_use]
    pub fn whole(&self, number: DeviceNumber) -> Option<DeviceNumber> {
        let directory = self.directory(number)?;
        let whole = if directory.join("partition").exists() {
            directory.parent()?.to_owned()
        } else {
            directory
        };
        read_number(&whole)
    }

    /// First sector of a partition on its disk; 0 of a whole device.
    #[must_use]
    pub fn first_sector(&self, number: DeviceNumber) -> u64 {
        self.directory(number)
            .filter(|directory| directory.join("partition").exists())
            .and_then(|directory| read_text(&directory, "start")?.parse().ok())
            .unwrap_or(0)
    }

    /// The size of a device in bytes; 0 if it is gone.
    #[must_use]
    pub fn bytes(&self, number: DeviceNumber) -> u64 {
        self.directory(number)
            .and_then(|directory| read_text(&directory, "size")?.parse::<u64>().ok())
            .unwrap_or(0)
            .saturating_mul(SECTOR)
    }

    /// The device and all whole devices below it (of md, device mapper and others), itself first.
    #[must_use]
    pub fn with_devices_below(&self, number: DeviceNumber) -> Vec<DeviceNumber> {
        let mut found = vec![number];
        let mut seen = BTreeSet::from([number]);
        let mut next = 0;
        while next < found.len() {
            let below = self.directory(found[next]).map(|d| d.join("slaves"));
            for entry in below
                .and_then(|d| fs::read_dir(d).ok())
                .into_iter()
                .flatten()
                .flatten()
            {
                let number = read_number(&entry.path()).and_then(|number| self.whole(number));
                if let Some(number) = number
                    && seen.insert(number)
                {
                    found.push(number);
                }
            }
            next += 1;
        }
        found
    }

    /// All whole devices with their limits. A device without a size, such as a free loop device, is left out.
    #[must_use]
    pub fn all(&self) -> BTreeMap<DeviceNumber, QueueLimits> {
        let entries = fs::read_dir(self.sys.join("block"));
        entries
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| read_text(&entry.path(), "size").is_none_or(|size| size != "0"))
            .filter_map(|entry| {
                let number = read_number(&entry.path())?;
                Some((number, limits(&entry.path())))
            })
            .collect()
    }

    /// The limits of a device; all unknown if it is gone.
    #[must_use]
    pub fn limits(&self, number: DeviceNumber) -> QueueLimits {
        match self.directory(number) {
            Some(directory) => limits(&directory),
            None => QueueLimits {
                name: number.to_string(),
                ..QueueLimits::default()
            },
        }
    }

    /// What is attached to these numbers now.
    pub fn attachments<'a>(
        &self,
        numbers: impl IntoIterator<Item = &'a DeviceNumber>,
    ) -> Attachments {
        let numbers = numbers.into_iter();
        Attachments(numbers.map(|one| (*one, self.sequence(*one))).collect())
    }

    /// Whether the device of then is still attached, and not another one that was given its number since.
    #[must_use]
    pub fn is_attached(&self, number: DeviceNumber, then: &Attachments) -> bool {
        let now = self.sequence(number);
        now.is_some() && then.0.get(&number).is_none_or(|then| *then == now)
    }

    /// The sequence number of what is attached to a number; 0 before Linux 5.15, `None` without a device
    /// (Documentation/ABI/stable/sysfs-block, `diskseq`).
    fn sequence(&self, number: DeviceNumber) -> Option<u64> {
        let size = read_text(&self.directory(number)?, "size")?;
        let disk = self.directory(self.whole(number)?)?;
        let sequence = || read_text(&disk, "diskseq")?.parse().ok();
        (size != "0").then(|| sequence().unwrap_or(0))
    }

    pub(crate) fn directory(&self, number: DeviceNumber) -> Option<PathBuf> {
        fs::canonicalize(self.sys.join("dev/block").join(number.to_string())).ok()
    }
}

/// What was attached to device numbers at some moment: a number is used again as soon as its device is gone.
#[derive(Clone, Debug)]
pub struct Attachments(BTreeMap<DeviceNumber, Option<u64>>);

fn limits(directory: &Path) -> QueueLimits {
    let queue = directory.join("queue");
    let number = |file: &str| {
        read_text(&queue, file)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    let schedulers = read_text(&queue, "scheduler").unwrap_or_default();
    // `none [mq-deadline] kyber bfq`
    let chosen = schedulers
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(schedulers.as_str(), |(chosen, _)| chosen);
    QueueLimits {
        name: directory
            .file_name()
            .map(|name| name.to_string_lossy().replace('!', "/"))
            .unwrap_or_default(),
        scheduler: chosen.to_owned(),
        max_sectors_kb: number("max_sectors_kb"),
        max_hw_sectors_kb: number("max_hw_sectors_kb"),
        max_segments: number("max_segments"),
        chunk_sectors: number("chunk_sectors"),
        logical_block_size: number("logical_block_size"),
        nomerges: number("nomerges"),
        // Drivers with requests have a directory for their hardware queues.
        bio_based: !directory.join("mq").exists(),
    }
}

/// `MAJOR:MINOR` of the file `dev`.
fn read_number(directory: &Path) -> Option<DeviceNumber> {
    let text = read_text(directory, "dev")?;
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
}

pub(crate) fn read_text(directory: &Path, file: &str) -> Option<String> {
    let text = fs::read_to_string(directory.join(file)).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_stacks_and_limits_are_read() {
        let sys = std::env::temp_dir().join(format!("fathom-limits-{}", std::process::id()));
        let put = |file: &str, text: &str| {
            let path = sys.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let link = |from: &str, to: &str| {
            let path = sys.join(from);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(sys.join(to), path).unwrap();
        };
        put("devices/sda/dev", "8:0\n");
        put("devices/sda/size", "2048\n");
        put("devices/sda/mq/0/cpu_list", "0\n");
        put("devices/sda/queue/max_sectors_kb", "1280\n");
        put("devices/sda/queue/chunk_sectors", "256\n");
        put("devices/sda/queue/scheduler", "none [mq-deadline] bfq\n");
        put("devices/sda/sda1/dev", "8:1\n");
        put("devices/sda/sda1/partition", "1\n");
        put("devices/sda/sda1/start", "2048\n");
        put("devices/dm-0/dev", "253:0\n");
        put("devices/dm-0/size", "100\n");
        put("devices/loop7/dev", "7:7\n");
        put("devices/loop7/size", "0\n");
        link("devices/dm-0/slaves/sda1", "devices/sda/sda1");
        for device in ["sda", "dm-0", "loop7"] {
            link(&format!("block/{device}"), &format!("devices/{device}"));
        }
        link("dev/block/8:0", "devices/sda");
        link("dev/block/8:1", "devices/sda/sda1");
        link("dev/block/253:0", "devices/dm-0");
        let devices = BlockDevices::of_tree(&sys);
        let (disk, partition, mapped) = (
            DeviceNumber::new(8, 0),
            DeviceNumber::new(8, 1),
            DeviceNumber::new(253, 0),
        );
        let whole = devices.whole(partition);
        let stack = devices.with_devices_below(mapped);
        let all = devices.all();
        let start = devices.first_sector(partition);
        let unknown = devices.whole(DeviceNumber::new(1, 1));
        fs::remove_dir_all(&sys).unwrap();
        assert_eq!((whole, unknown), (Some(disk), None));
        assert_eq!(stack, [mapped, disk]);
        assert_eq!(start, 2048);
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), [disk, mapped]);
        let limits = &all[&disk];
        assert_eq!(limits.name, "sda");
        assert_eq!(limits.scheduler, "mq-deadline");
        assert_eq!((limits.max_sectors_kb, limits.chunk_sectors), (1280, 256));
        assert!(!limits.bio_based && all[&mapped].bio_based);
    }

    /// Regression 1449: a device that was given the number of one that is gone was taken for it. Sequence numbers as in the kernel's
    /// documentation: each attachment has a higher one; a partition has that of its disk; kernels before 5.15 have none.
    #[test]
    fn regression_1449_another_device_of_the_same_number_is_not_the_one_that_was() {
        let sys = std::env::temp_dir().join(format!("fathom-attached-{}", std::process::id()));
        let (disk, part) = (sys.join("devices/loop7"), sys.join("devices/loop7/loop7p1"));
        fs::create_dir_all(&part).unwrap();
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        let put = |size: &str, sequence: Option<&str>| {
            fs::write(disk.join("size"), size).unwrap();
            match sequence {
                Some(sequence) => fs::write(disk.join("diskseq"), sequence).unwrap(),
                None => drop(fs::remove_file(disk.join("diskseq"))),
            }
        };
        fs::write(disk.join("dev"), "7:7\n").unwrap();
        fs::write(part.join("size"), "100\n").unwrap();
        fs::write(part.join("partition"), "1\n").unwrap();
        for (number, directory) in [("7:7", &disk), ("259:1", &part)] {
            std::os::unix::fs::symlink(directory, sys.join("dev/block").join(number)).unwrap();
        }
        let devices = BlockDevices::of_tree(&sys);
        let numbers = [DeviceNumber::new(7, 7), DeviceNumber::new(259, 1)];
        let is_attached =
            |then: &Attachments| numbers.map(|number| devices.is_attached(number, then));
        put("2048\n", Some("9\n"));
        let then = devices.attachments(&numbers);
        assert_eq!(is_attached(&then), [true, true]);
        put("4096\n", Some("9\n"));
        assert_eq!(is_attached(&then), [true, true], "it has grown");
        put("2048\n", Some("10\n"));
        assert_eq!(is_attached(&then), [false, false]);
        put("2048\n", None);
        let before = devices.attachments(&numbers);
        assert_eq!(is_attached(&before), [true, true]);
        put("0\n", None);
        assert_eq!(is_attached(&before), [false, true], "without a medium");
        fs::remove_dir_all(sys).unwrap();
    }
}
