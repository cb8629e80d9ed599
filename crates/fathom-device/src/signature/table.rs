//! The table of magic bytes, and the few formats that need more than a comparison.

use super::SignatureKind::{self as Kind};
use super::{Signature, Windows};
use fathom_model::Bytes;

/// Magic bytes at a fixed distance from one end.
struct Row {
    kind: Kind,
    /// From the start when positive or zero, from the end when negative.
    at: i64,
    magic: &'static [u8],
}

const fn row(kind: Kind, at: i64, magic: &'static [u8]) -> Row {
    Row { kind, at, magic }
}

const MD_LE: &[u8] = &0xA92B_4EFC_u32.to_le_bytes();
const MD_BE: &[u8] = &0xA92B_4EFC_u32.to_be_bytes();
const BCACHE: &[u8] = &[
    0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9, 0xD9, 0x6A, 0x60, 0xCF, 0x80, 0x3D, 0xF7, 0xEF,
];
const LUKS: &[u8] = b"LUKS\xBA\xBE";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    row(Kind::Xfs,        0,        b"XFSB"),
    row(Kind::XfsLog,     0,        &[0xFE, 0xED, 0xBA, 0xBE]),
    row(Kind::Btrfs,      0x1_0040, b"_BHRfS_M"),
    row(Kind::F2fs,       0x400,    &[0x10, 0x20, 0xF5, 0xF2]),
    row(Kind::Fat,        0x36,     b"FAT12   "),
    row(Kind::Fat,        0x36,     b"FAT16   "),
    row(Kind::Fat,        0x36,     b"FAT     "),
    row(Kind::Fat,        0x52,     b"FAT32   "),
    row(Kind::Exfat,      3,        b"EXFAT   "),
    row(Kind::Ntfs,       3,        b"NTFS    "),
    row(Kind::Bitlocker,  3,        b"-FVE-FS-"),
    row(Kind::Jfs,        0x8000,   b"JFS1"),
    row(Kind::Reiserfs,   0x1_0034, b"ReIsEr"),
    row(Kind::Nilfs2,     0x406,    &[0x34, 0x34]),
    row(Kind::HfsPlus,    0x400,    b"H+\x00\x04"),
    row(Kind::HfsPlus,    0x400,    b"HX\x00\x05"),
    row(Kind::Apfs,       32,       b"NXSB"),
    row(Kind::Erofs,      0x400,    &[0xE2, 0xE1, 0xF5, 0xE0]),
    row(Kind::Squashfs,   0,        b"hsqs"),
    row(Kind::Squashfs,   0,        b"sqsh"),
    row(Kind::Iso9660,    0x8001,   b"CD001"),
    row(Kind::Udf,        0x8001,   b"BEA01"),
    row(Kind::MdRaid1,    0,        MD_LE),
    row(Kind::MdRaid1,    4096,     MD_LE),
    row(Kind::IntelRaid,  -1024,    b"Intel Raid ISM Cfg"),
    row(Kind::DdfRaid,    -512,     &[0xDE, 0x11, 0xDE, 0x11]),
    row(Kind::Integrity,  0,        b"integrt\0"),
    row(Kind::Verity,     0,        b"verity\0\0"),
    row(Kind::Vdo,        0,        b"dmvdo001"),
    row(Kind::Bcache,     4096 + 24, BCACHE),
    row(Kind::Bcachefs,   4096 + 24, BCACHEFS),
    row(Kind::CephOsd,    0,        b"bluestore block device"),
    row(Kind::OracleAsm,  32,       b"ORCLDISK"),
    row(Kind::Qcow2,      0,        b"QFI\xFB"),
    row(Kind::GptPrimary, 512,      b"EFI PART"),
    row(Kind::GptPrimary, 4096,     b"EFI PART"),
    row(Kind::GptBackup,  -512,     b"EFI PART"),
    row(Kind::GptBackup,  -4096,    b"EFI PART"),
];

type Finder = fn(&Windows<'_>, &mut Vec<Signature>);

const FINDERS: [Finder; 7] = [ext, swap, lvm2, md_at_end, luks, zfs, mbr];

pub(super) fn look_up(windows: &Windows<'_>) -> Vec<Signature> {
    let mut found: Vec<Signature> = TABLE.iter().filter_map(|row| row.look(windows)).collect();
    for finder in FINDERS {
        finder(windows, &mut found);
    }
    found
}

impl Row {
    fn look(&self, windows: &Windows<'_>) -> Option<Signature> {
        let place = windows.place(self.at)?;
        windows.has(place, self.magic).then(|| at(self.kind, place))
    }
}

impl Windows<'_> {
    /// Converts an offset from either end to one from the start.
    fn place(&self, at: i64) -> Option<u64> {
        if at < 0 {
            self.size.checked_sub(at.unsigned_abs())
        } else {
            Some(at.unsigned_abs())
        }
    }
}

fn at(kind: Kind, offset: u64) -> Signature {
    Signature {
        kind,
        offset: Bytes::new(offset),
    }
}

/// ext2, ext3 and ext4 share a superblock at 1024; the feature words distinguish them.
fn ext(windows: &Windows<'_>, found: &mut Vec<Signature>) {
    const SUPERBLOCK: u64 = 1024;
    if windows.has(SUPERBLOCK + 0x38, &[0x53, 0xEF]) {
        let word = |offset| windows.le32(SUPERBLOCK + offset).unwrap_or(0);
        found.push(at(ext_kind(word(0x5C), word(0x60), word(0x64)), SUPERBLOCK));
    }
}

fn ext_kind(compatible: u32, incompatible: u32, read_only: u32) -> Kind {
    const JOURNAL: u32 = 0x4; // compatible
    const JOURNAL_DEVICE: u32 = 0x8; // incompatible
    const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10; // filetype, recover, meta_bg
    const EXT3_READ_ONLY: u32 = 0x1 | 0x2 | 0x4; // sparse_super, large_file, btree_dir
    if incompatible & JOURNAL_DEVICE != 0 {
        Kind::ExtJournal
    } else if incompatible & !EXT3_INCOMPATIBLE != 0 || read_only & !EXT3_READ_ONLY != 0 {
        Kind::Ext4
    } else if compatible & JOURNAL != 0 {
        Kind::Ext3
    } else {
        Kind::Ext2
    }
}

/// The last ten bytes of the first page, for every page size of Linux.
fn swap(windows: &Windows<'_>, found: &mut Vec<Signature>) {
    for page in [4096, 8192, 16384, 32768, 65536] {
        for (magic, kind) in [
            (b"SWAPSPACE2", Kind::Swap),
            (b"SWAP-SPACE", Kind::Swap),
            (b"S1SUSPEND\0", Kind::Hibernation),
            (b"S2SUSPEND\0", Kind::Hibernation),
        ] {
            if windows.has(page - 10, magic) {
                found.push(at(kind, page - 10));
            }
        }
    }
}

/// The label may be in any of the first four sectors.
fn lvm2(windows: &Windows<'_>, found: &mut Vec<Signature>) {
    let labels = (0..4)
        .map(|sector| sector * 512)
        .filter(|&label| windows.has(label, b"LABELONE") && windows.has(label + 24, b"LVM2 001"));
    found.extend(labels.map(|label| at(Kind::Lvm2, label)));
}

/// md 0.90 is in the last 64 KiB-aligned 64 KiB, 1.0 in the last 8 KiB or slightly before.
fn md_at_end(windows: &Windows<'_>, found: &mut Vec<Signature>) {
    let old = (windows.size & !0xFFFF).checked_sub(0x1_0000);
    let new = (windows.size / 512)
        .checked_sub(16)
        .map(|sector| (sector & !7) * 512);
    if let Some(place) = old.filter(|&place| windows.has(place, MD_LE) || windows.has(place, MD_BE))
    {
        found.push(at(Kind::MdRaid090, place));
    }
    if let Some(place) = new.filter(|&place| windows.has(place, MD_LE)) {
        found.push(at(Kind::MdRaid1, place));
    }
}

/// The first header is at 0, with its version; LUKS2 keeps a second one at a power of two from 16
/// KiB.
fn luks(windows: &Windows<'_>, found: &mut Vec<Signature>) {
    if windows.has(0, LUKS) {
        let kind = if windows.has(6, &[0, 2]) {
            Kind::Luks2
        } else {
            Kind::Luks1
        };
        found.push(at(kind, 0));
    }
    let seconds = (14..20)
        .map(|power| 1_u64 << power)
        .filter(|&place| windows.has(place, b"SKUL\xBA\xBE"));
    found.extend(seconds.map(|place| at(Kind::Luks2Second, place)));
}

/// Four labels of 256 KiB, two at each end; any valid uberblock in the upper half of one is enough.
fn zfs(windows: &Windows<'_>, found: &mut Vec<Signature>) {
    const LABEL: u64 = 256 << 10;
    let end = windows.size / LABEL * LABEL;
    let labels = [
        Some(0),
        Some(LABEL),
        end.checked_sub(2 * LABEL),
        end.checked_sub(LABEL),
    ];
    for label in labels.into_iter().flatten() {
        if (128..256).any(|slot| uberblock(windows, label + slot * 1024)) {
            found.push(at(Kind::Zfs, label));
        }
    }
}

fn uberblock(windows: &Windows<'_>, place: u64) -> bool {
    const MAGIC: u64 = 0x00BA_B10C;
    windows.has(place, &MAGIC.to_le_bytes()) || windows.has(place, &MAGIC.to_be_bytes())
}

/// Boot signature and at least one entry that could be a partition; a FAT or NTFS boot sector has
/// the same ending.
fn mbr(windows: &Windows<'_>, found: &mut Vec<Signature>) {
    let boot_sector = |kind| matches!(kind, Kind::Fat | Kind::Exfat | Kind::Ntfs | Kind::Bitlocker);
    let file_system = found.iter().any(|signature| boot_sector(signature.kind));
    let mut entries = (0..4).filter_map(|entry| windows.at(446 + entry * 16, 16));
    if !file_system && windows.has(510, &[0x55, 0xAA]) && entries.any(partition) {
        found.push(at(Kind::Mbr, 0));
    }
}

/// Status 0x00 or 0x80, a type, and a length.
fn partition(entry: &[u8]) -> bool {
    entry[0] & 0x7F == 0 && entry[4] != 0 && entry[12..16] != [0; 4]
}
