//! What `fathom why` reads: counters of /proc and /sys, and looks at threads that wait. Nothing is written, no file of a file
//! system is touched, and each reading is bounded.

mod calls;
mod groups;
mod processes;
mod stat;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_device::volumes::Volume;
use fathom_trace::{
    BlockDevices, DeviceNumber, WhyDevice, WhyLook, WhyMount, WhyPressure, WhyReading, WhyVolume,
    disk_counts,
};

use crate::host::pressure_total;
use crate::probe::mounts;

/// Counters of `/proc/vmstat` that are used.
const MEMORY_COUNTERS: [&str; 8] = [
    "nr_dirty",
    "nr_writeback",
    "nr_dirty_threshold",
    "nr_dirty_background_threshold",
    "pswpin",
    "pswpout",
    "pgscan_direct",
    "workingset_refault_file",
];
/// Models of disks by the providers that sell them.
const PROVIDERS: [(&str, &str); 4] = [
    ("Amazon Elastic Block Store", "AWS EBS"),
    ("Virtual Disk", "Azure"),
    ("PersistentDisk", "Google Cloud"),
    ("nvme_card", "Google Cloud"),
];
const GIB: f64 = 1_073_741_824.0;

/// Reads a machine, or a tree with the files of one.
#[derive(Debug)]
pub struct WhyReader {
    root: PathBuf,
    devices: BlockDevices,
    has_fuse: bool,
    /// Processes that are read before all others.
    first: Vec<u32>,
}

impl Default for WhyReader {
    fn default() -> Self {
        Self::below(Path::new("/"))
    }
}

impl WhyReader {
    /// Reads the files of /proc and /sys below `root`.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        let is_fuse = |row: &mounts::MountRow| row.mount.fs_type.starts_with("fuse");
        Self {
            root: root.to_owned(),
            devices: BlockDevices::of_tree(root.join("sys")),
            has_fuse: mounts::below(root).iter().any(is_fuse),
            first: Vec::new(),
        }
    }

    /// Reads these processes before all others, so that no bound leaves them out.
    pub fn read_first(&mut self, pids: &[u32]) {
        self.first = pids.to_vec();
    }

    /// The block devices.
    #[must_use]
    pub fn block_devices(&self) -> &BlockDevices {
        &self.devices
    }

    /// All counters now.
    #[must_use]
    pub fn reading(&self, time_ns: u64) -> WhyReading {
        let vmstat = self.text("proc/vmstat");
        let memory = vmstat.lines().filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            let is_used = MEMORY_COUNTERS.contains(&name);
            is_used.then(|| Some((name.to_owned(), value.trim().parse().ok()?)))?
        });
        let mut reading = WhyReading {
            time_ns,
            disks: self.disks(),
            memory: memory.collect(),
            pressure: self.pressure(),
            groups: groups::read(&self.root),
            fuse_waiting: self.fuse_waiting(),
            ..WhyReading::default()
        };
        processes::read(&self.root.join("proc"), &self.first, &mut reading);
        reading
    }

    /// Threads that wait now.
    #[must_use]
    pub fn look(&self, time_ns: u64) -> WhyLook {
        let mut look = WhyLook {
            time_ns,
            disks: self.disks(),
            ..WhyLook::default()
        };
        let proc = self.root.join("proc");
        processes::look(&proc, &self.first, self.has_fuse, &mut look);
        look
    }

    /// The whole devices, with the volumes that they can be.
    #[must_use]
    pub fn devices(&self, volumes: &[Volume]) -> BTreeMap<DeviceNumber, WhyDevice> {
        let mut devices = self.devices.why_devices();
        for device in devices.values_mut() {
            device.volumes = volumes_of(device, volumes);
        }
        devices
    }

    /// The mounts of this namespace.
    #[must_use]
    pub fn mounts(&self) -> Vec<WhyMount> {
        let rows = mounts::below(&self.root).into_iter();
        rows.map(|row| WhyMount {
            device: DeviceNumber::new(row.devno.major, row.devno.minor),
            at: row.mount.at.display().to_string(),
            kind: row.mount.fs_type,
            source: row.source.display().to_string(),
        })
        .collect()
    }

    /// Whole devices with swap space. See proc_swaps(5).
    #[must_use]
    pub fn swap(&self) -> Vec<DeviceNumber> {
        let (disks, mounts) = (self.disks(), self.mounts());
        let text = self.text("proc/swaps");
        let number = |line: &str| {
            let mut fields = line.split_whitespace();
            let (path, kind) = (fields.next()?, fields.next()?);
            if kind == "file" {
                let below = mounts
                    .iter()
                    .filter(|mount| Path::new(path).starts_with(&mount.at));
                return below
                    .max_by_key(|mount| mount.at.len())
                    .map(|mount| mount.device);
            }
            let name = path.strip_prefix("/dev/")?;
            disks
                .iter()
                .find(|(_, disk)| disk.name == name)
                .map(|(number, _)| *number)
        };
        text.lines()
            .skip(1)
            .filter_map(number)
            .filter_map(|number| self.devices.whole(number))
            .collect()
    }

    /// The control group with this name, or of the unit of this name.
    #[must_use]
    pub fn group_of_unit(&self, unit: &str) -> Option<String> {
        groups::find(&self.root, unit)
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_default()
    }

    fn disks(&self) -> BTreeMap<DeviceNumber, fathom_trace::DiskCounts> {
        disk_counts(&self.text("proc/diskstats"))
    }

    fn pressure(&self) -> WhyPressure {
        let total =
            |name: &str| pressure_total(&self.text(&format!("proc/pressure/{name}")), "some");
        WhyPressure {
            io: total("io"),
            memory: total("memory"),
            cpu: total("cpu"),
        }
    }

    /// Requests that wait for FUSE servers (`Documentation/filesystems/fuse.rst`).
    fn fuse_waiting(&self) -> BTreeMap<u32, u64> {
        let connections = fs::read_dir(self.root.join("sys/fs/fuse/connections"));
        let entries = connections.into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let number = entry.file_name().to_str()?.parse().ok()?;
                let waiting = fs::read_to_string(entry.path().join("waiting")).ok()?;
                Some((number, waiting.trim().parse().ok()?))
            })
            .collect()
    }
}

/// Volumes of the provider of this disk whose size fits and that can burst.
fn volumes_of(device: &WhyDevice, volumes: &[Volume]) -> Vec<WhyVolume> {
    let known = PROVIDERS
        .iter()
        .find(|(model, _)| device.model.contains(model));
    let gib = device.bytes as f64 / GIB;
    let fits = |volume: &&Volume| {
        known.is_some_and(|(_, provider)| volume.provider.starts_with(provider))
            && !volume.provisioned
            && (volume.min_gib..=volume.max_gib).contains(&gib)
    };
    volumes
        .iter()
        .filter(fits)
        .filter_map(|volume| {
            Some(WhyVolume {
                name: format!("{} of {gib:.0} GiB ({})", volume.name, volume.provider),
                base_iops: volume.iops(gib),
                burst_iops: volume.burst_iops?,
            })
        })
        .collect()
}
