//! The facts in sysfs about a block device: its identity and its relations.

use super::mounts::device_number;
use fathom_device::{DevNo, RelatedDevice};
use fathom_model::Bytes;
use std::path::{Path, PathBuf};

/// The directory of a block device in sysfs.
#[derive(Clone, Debug)]
pub(super) struct Node {
    directory: PathBuf,
    pub(super) relative: RelatedDevice,
}

impl Node {
    /// The device with this number, if sysfs has it.
    pub(super) fn of(devno: DevNo) -> Option<Self> {
        Self::at(&PathBuf::from(format!("/sys/dev/block/{devno}")))
    }
    /// The device whose directory, or a link to it, this is.
    pub(super) fn at(directory: &Path) -> Option<Self> {
        let directory = std::fs::canonicalize(directory).ok()?;
        let devno = device_number(&std::fs::read(directory.join("dev")).ok()?)?;
        // sysfs writes a slash in a device name as an exclamation mark.
        let name = directory.file_name()?.to_str()?.replace('!', "/");
        Some(Self {
            directory,
            relative: RelatedDevice { name, devno },
        })
    }
    /// Every block device of the host, by name.
    pub(super) fn all() -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir("/sys/class/block") else {
            return Vec::new();
        };
        let mut nodes: Vec<Self> = entries
            .flatten()
            .filter_map(|entry| Self::at(&entry.path()))
            .collect();
        nodes.sort_by(|a, b| a.relative.name.cmp(&b.relative.name));
        nodes
    }
    fn text(&self, file: &str) -> Option<String> {
        let bytes = std::fs::read(self.directory.join(file)).ok()?;
        let text = String::from_utf8_lossy(&bytes)
            .trim_matches(|c: char| c.is_whitespace() || c == '\0')
            .to_owned();
        (!text.is_empty()).then_some(text)
    }
    fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.parse().ok()
    }
    /// Capacity. sysfs counts units of 512 bytes, independent of the block size.
    pub(super) fn size(&self) -> Bytes {
        Bytes::new(self.number("size").unwrap_or(0).saturating_mul(512))
    }
    /// Where a partition starts on its disk.
    pub(super) fn starts_at(&self) -> Option<Bytes> {
        self.whole()?;
        self.number("start")
            .map(|sectors| Bytes::new(sectors.saturating_mul(512)))
    }
    /// Sequence number of the attachment.
    pub(super) fn disk_sequence(&self) -> Option<u64> {
        self.number("diskseq")
    }
    /// Block sizes: logical, physical.
    pub(super) fn blocks(&self) -> (u32, u32) {
        let disk = self.whole().unwrap_or_else(|| self.clone());
        let block = |file| {
            disk.number(file)
                .and_then(|bytes| u32::try_from(bytes).ok())
                .unwrap_or(512)
        };
        (
            block("queue/logical_block_size"),
            block("queue/physical_block_size"),
        )
    }
    pub(super) fn read_only(&self) -> bool {
        self.number("ro").is_some_and(|flag| flag != 0)
    }
    /// The whole disk, for a partition.
    pub(super) fn whole(&self) -> Option<Self> {
        self.directory
            .join("partition")
            .exists()
            .then(|| Self::at(self.directory.parent()?))
            .flatten()
    }
    /// Partitions that the kernel has read.
    pub(super) fn partitions(&self) -> Vec<Self> {
        self.children(&self.directory)
            .into_iter()
            .filter(|node| node.directory.join("partition").exists())
            .collect()
    }
    /// What is built on it.
    pub(super) fn holders(&self) -> Vec<Self> {
        self.children(&self.directory.join("holders"))
    }
    /// What it is built on.
    pub(super) fn slaves(&self) -> Vec<Self> {
        self.children(&self.directory.join("slaves"))
    }
    fn children(&self, directory: &Path) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return Vec::new();
        };
        let below = |node: &Self| {
            node.directory != self.directory
                && Some(node.directory.as_path()) != self.directory.parent()
        };
        let mut nodes: Vec<Self> = entries
            .flatten()
            .filter_map(|entry| Self::at(&entry.path()))
            .filter(below)
            .collect();
        nodes.sort_by(|a, b| a.relative.name.cmp(&b.relative.name));
        nodes
    }
    /// Backing file of a loop device, as its owner named it.
    pub(super) fn backing_file(&self) -> Option<PathBuf> {
        self.text("loop/backing_file").map(PathBuf::from)
    }
    /// Vendor and model, serial number, world-wide identifier; for a partition, those of the disk.
    pub(super) fn identity(&self) -> [Option<String>; 3] {
        let disk = self.whole().unwrap_or_else(|| self.clone());
        [disk.model(), disk.serial(), disk.wwid()]
    }
    fn model(&self) -> Option<String> {
        let model = self
            .text("device/model")
            .or_else(|| self.text("device/name"))
            .or_else(|| self.text("dm/name"))?;
        // PCI and virtio drivers report a number, SCSI a name, and ATA disks the word "ATA".
        let vendor = self
            .text("device/vendor")
            .filter(|vendor| !vendor.starts_with("0x") && vendor != "ATA");
        Some(vendor.map_or(model.clone(), |vendor| format!("{vendor} {model}")))
    }
    fn serial(&self) -> Option<String> {
        let plain = self.text("device/serial").or_else(|| self.text("serial"));
        plain.or_else(|| self.unit_serial())
    }
    /// SCSI vital product data page 0x80 (SPC-4, 7.8.15): a four-byte header, then the serial
    /// number.
    fn unit_serial(&self) -> Option<String> {
        let page = std::fs::read(self.directory.join("device/vpd_pg80")).ok()?;
        let serial = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
        (!serial.is_empty()).then_some(serial)
    }
    fn wwid(&self) -> Option<String> {
        ["wwid", "device/wwid", "dm/uuid", "md/uuid", "device/cid"]
            .iter()
            .find_map(|file| self.text(file))
    }
}
