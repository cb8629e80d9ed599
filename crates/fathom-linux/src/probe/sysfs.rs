//! What sysfs says about a block device: who it is and what it is joined to.

use super::mounts::device_number;
use fathom_device::{DevNo, Relative};
use fathom_model::Bytes;
use std::path::{Path, PathBuf};

/// A block device's folder in sysfs.
#[derive(Clone, Debug)]
pub(super) struct Node {
    folder: PathBuf,
    pub(super) relative: Relative,
}

impl Node {
    /// The device with this number, where sysfs has it.
    pub(super) fn of(devno: DevNo) -> Option<Self> {
        Self::at(&PathBuf::from(format!("/sys/dev/block/{devno}")))
    }
    /// The device whose folder, or a link to it, this is.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        let folder = std::fs::canonicalize(folder).ok()?;
        let devno = device_number(&std::fs::read(folder.join("dev")).ok()?)?;
        // A slash in a device's name is an exclamation mark in sysfs.
        let name = folder.file_name()?.to_str()?.replace('!', "/");
        Some(Self {
            folder,
            relative: Relative { name, devno },
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
        let bytes = std::fs::read(self.folder.join(file)).ok()?;
        let text = String::from_utf8_lossy(&bytes)
            .trim_matches(|c: char| c.is_whitespace() || c == '\0')
            .to_owned();
        (!text.is_empty()).then_some(text)
    }
    fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.parse().ok()
    }
    /// Capacity; sysfs counts in 512 bytes whatever the block size is.
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
        self.folder
            .join("partition")
            .exists()
            .then(|| Self::at(self.folder.parent()?))
            .flatten()
    }
    /// Partitions the kernel knows.
    pub(super) fn partitions(&self) -> Vec<Self> {
        self.children(&self.folder)
            .into_iter()
            .filter(|node| node.folder.join("partition").exists())
            .collect()
    }
    /// What is built on it.
    pub(super) fn holders(&self) -> Vec<Self> {
        self.children(&self.folder.join("holders"))
    }
    /// What it is built on.
    pub(super) fn slaves(&self) -> Vec<Self> {
        self.children(&self.folder.join("slaves"))
    }
    fn children(&self, folder: &Path) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Vec::new();
        };
        let below = |node: &Self| {
            node.folder != self.folder && Some(node.folder.as_path()) != self.folder.parent()
        };
        let mut nodes: Vec<Self> = entries
            .flatten()
            .filter_map(|entry| Self::at(&entry.path()))
            .filter(below)
            .collect();
        nodes.sort_by(|a, b| a.relative.name.cmp(&b.relative.name));
        nodes
    }
    /// File behind a loop device, as its owner named it.
    pub(super) fn backing_file(&self) -> Option<PathBuf> {
        self.text("loop/backing_file").map(PathBuf::from)
    }
    /// Vendor and model, serial number, world-wide identity: of the disk, when this is a partition.
    pub(super) fn identity(&self) -> [Option<String>; 3] {
        let disk = self.whole().unwrap_or_else(|| self.clone());
        [disk.model(), disk.serial(), disk.wwid()]
    }
    fn model(&self) -> Option<String> {
        let model = self
            .text("device/model")
            .or_else(|| self.text("device/name"))
            .or_else(|| self.text("dm/name"))?;
        // PCI and virtio drivers put a number there, SCSI a name; ATA disks put the word itself.
        let vendor = self
            .text("device/vendor")
            .filter(|vendor| !vendor.starts_with("0x") && vendor != "ATA");
        Some(vendor.map_or(model.clone(), |vendor| format!("{vendor} {model}")))
    }
    fn serial(&self) -> Option<String> {
        let plain = self.text("device/serial").or_else(|| self.text("serial"));
        plain.or_else(|| self.unit_serial())
    }
    /// SCSI vital product data page 0x80 (SPC-4, 7.8.15): four bytes of header, then the number.
    fn unit_serial(&self) -> Option<String> {
        let page = std::fs::read(self.folder.join("device/vpd_pg80")).ok()?;
        let serial = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
        (!serial.is_empty()).then_some(serial)
    }
    fn wwid(&self) -> Option<String> {
        ["wwid", "device/wwid", "dm/uuid", "md/uuid", "device/cid"]
            .iter()
            .find_map(|file| self.text(file))
    }
}
