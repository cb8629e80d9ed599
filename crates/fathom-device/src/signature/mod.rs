//! Known structures at the two ends of a device: file systems, RAID members, partition tables.
//!
//! A table of (kind, offset, magic bytes) is searched in the first and last MiB. The numbers come
//! from the formats' own documents: ext4, XFS, btrfs and f2fs in the Linux kernel documentation;
//! the LVM2, md, LUKS, ZFS and bcache on-disk format notes; ECMA-119 (ISO 9660); UEFI chapter 5
//! (GPT, MBR).
//!
//! A false match is harmless, because the owner confirms with a code; a missed one is not. So each
//! row checks only as many bytes as distinguish the kind.

mod table;

use fathom_model::Bytes;
use std::fmt;

/// Bytes examined at each end.
pub const END_WINDOW: usize = 1 << 20;

/// One known structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// What it is.
    pub kind: SignatureKind,
    /// Start in bytes from the start of the device.
    pub offset: Bytes,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset.get())
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The known structures. Each one is somebody's data.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the text beside each name is its documentation")]
        pub enum SignatureKind { $($(#[$doc])* $name,)* }
        impl fmt::Display for SignatureKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

kinds! {
    Ext2 = "ext2 file system",
    Ext3 = "ext3 file system",
    Ext4 = "ext4 file system",
    ExtJournal = "ext3/ext4 external journal",
    Xfs = "XFS file system",
    XfsLog = "XFS external log",
    Btrfs = "btrfs member",
    F2fs = "f2fs file system",
    Fat = "FAT file system",
    Exfat = "exFAT file system",
    Ntfs = "NTFS file system",
    Jfs = "JFS file system",
    Reiserfs = "reiserfs file system",
    Nilfs2 = "nilfs2 file system",
    HfsPlus = "HFS+ file system",
    Apfs = "APFS container",
    Erofs = "erofs file system",
    Squashfs = "squashfs file system",
    Iso9660 = "ISO 9660 file system",
    Udf = "UDF file system",
    Swap = "swap space",
    Hibernation = "hibernation image",
    Lvm2 = "LVM2 physical volume",
    MdRaid090 = "md RAID member (metadata 0.90)",
    MdRaid1 = "md RAID member (metadata 1.x)",
    IntelRaid = "Intel RAID member",
    DdfRaid = "DDF RAID member",
    Luks1 = "LUKS1 encrypted volume",
    Luks2 = "LUKS2 encrypted volume",
    Luks2Second = "LUKS2 second header",
    Bitlocker = "BitLocker volume",
    Integrity = "dm-integrity volume",
    Verity = "dm-verity hash device",
    Vdo = "VDO volume",
    Zfs = "ZFS pool member",
    Bcache = "bcache device",
    Bcachefs = "bcachefs member",
    CephOsd = "Ceph OSD (BlueStore)",
    OracleAsm = "Oracle ASM disk",
    Qcow2 = "QEMU disk image",
    GptPrimary = "GPT partition table",
    GptBackup = "GPT backup partition table",
    Mbr = "MBR partition table",
}

/// The first and last bytes of a device of `size` bytes.
pub(crate) struct Windows<'a> {
    head: &'a [u8],
    tail: &'a [u8],
    size: u64,
}

impl<'a> Windows<'a> {
    /// The bytes at `offset`, if they are within one of the windows.
    fn at(&self, offset: u64, length: usize) -> Option<&'a [u8]> {
        let slice = |window: &'a [u8], from: u64| {
            let start = usize::try_from(offset.checked_sub(from)?).ok()?;
            window.get(start..start.checked_add(length)?)
        };
        let tail_from = self.size.saturating_sub(self.tail.len() as u64);
        slice(self.head, 0).or_else(|| slice(self.tail, tail_from))
    }
    fn has(&self, offset: u64, magic: &[u8]) -> bool {
        self.at(offset, magic.len()) == Some(magic)
    }
    fn le32(&self, offset: u64) -> Option<u32> {
        self.at(offset, 4)?.try_into().ok().map(u32::from_le_bytes)
    }
}

/// Every known structure in the first bytes (`head`) and last bytes (`tail`) of a device of `size`
/// bytes, in order of offset. `tail` ends at `size`; on a small device the two may overlap.
#[must_use]
pub fn signatures(head: &[u8], tail: &[u8], size: Bytes) -> Vec<Signature> {
    let windows = Windows {
        head,
        tail,
        size: size.get(),
    };
    let mut found = table::look_up(&windows);
    found.sort_by_key(|signature| (signature.offset, signature.kind));
    found.dedup();
    found
}

#[cfg(test)]
mod tests;
