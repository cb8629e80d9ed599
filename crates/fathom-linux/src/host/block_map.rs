//! Where the data of a file is on its block device.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::kernel::{Extent, extents_as_they_are};

/// Bytes of a sector of the kernel's block layer.
const SECTOR: u64 = 512;
/// Extents of a file that are read; the places of a more fragmented file are unknown beyond them.
const MOST_EXTENTS: usize = 1 << 20;

/// The block device below a file or a device node, and where the bytes of the file are on it.
#[derive(Clone, Debug)]
pub struct BlockMap {
    /// Major and minor number of the device that the target is or lies on; perhaps a partition.
    pub device: (u32, u32),
    /// The whole device.
    pub disk: (u32, u32),
    /// First sector of the device on the whole device.
    first_sector: u64,
    /// `None` for a device itself.
    extents: Option<Vec<Extent>>,
}

/// A part of a file on a whole device, in sectors of 512 bytes.
pub type SectorRange = Range<u64>;

impl BlockMap {
    /// The map of a file or block device as it is now. Nothing is written back for it: the map of a file with data that is
    /// only in the page cache lacks these parts.
    ///
    /// # Errors
    /// If it cannot be opened, or lies on no block device, or on a file system whose addresses are not those of its device.
    pub fn of(path: &Path) -> io::Result<BlockMap> {
        let metadata = std::fs::metadata(path)?;
        if metadata.file_type().is_block_device() {
            return BlockMap::device(metadata.rdev(), None);
        }
        if !metadata.is_file() {
            return Err(unsupported("neither a file nor a block device"));
        }
        let file = File::open(path)?;
        let mut found: Vec<Extent> = Vec::new();
        let mut at = 0;
        let end = metadata.len().max(1);
        while at < end && found.len() < MOST_EXTENTS {
            let batch = extents_as_they_are(file.as_fd(), at..end)?;
            let Some(last) = batch.last() else { break };
            let (next, is_last) = (last.end, last.last);
            found.extend(batch);
            if is_last || next <= at {
                break;
            }
            at = next;
        }
        BlockMap::device(metadata.dev(), Some(found))
    }

    /// The device that a file below this directory will lie on, without a place for any of its bytes.
    ///
    /// # Errors
    /// If it does not exist or is on no block device.
    pub fn of_directory(path: &Path) -> io::Result<BlockMap> {
        BlockMap::device(std::fs::metadata(path)?.dev(), Some(Vec::new()))
    }

    fn device(number: u64, extents: Option<Vec<Extent>>) -> io::Result<BlockMap> {
        let device = (libc::major(number), libc::minor(number));
        if device.0 == 0 {
            return Err(unsupported(
                "its file system has no single block device below it",
            ));
        }
        let directory = std::fs::canonicalize(format!("/sys/dev/block/{}:{}", device.0, device.1))?;
        let (disk, first_sector) = if directory.join("partition").exists() {
            let text = |path: &Path| std::fs::read_to_string(path);
            let start = text(&directory.join("start"))?;
            let parent = directory
                .parent()
                .ok_or_else(|| unsupported("a partition without a disk"))?;
            let disk = text(&parent.join("dev"))?;
            let disk = disk
                .trim()
                .split_once(':')
                .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
            let start = start.trim().parse().ok();
            disk.zip(start)
                .ok_or_else(|| unsupported("a partition whose place is unknown"))?
        } else {
            (device, 0)
        };
        Ok(BlockMap {
            device,
            disk,
            first_sector,
            extents,
        })
    }

    /// The sectors on the whole device that hold these bytes, in the order of the bytes. `None` if any of them has no
    /// place, or the range is not of whole sectors.
    #[must_use]
    pub fn sectors(&self, bytes: Range<u64>) -> Option<Vec<SectorRange>> {
        if !bytes.start.is_multiple_of(SECTOR) || !bytes.end.is_multiple_of(SECTOR) {
            return None;
        }
        let sector = |at: u64| self.first_sector + at / SECTOR;
        let Some(extents) = &self.extents else {
            return Some(std::iter::once(sector(bytes.start)..sector(bytes.end)).collect());
        };
        let mut found: Vec<SectorRange> = Vec::new();
        let mut at = bytes.start;
        let mut index = extents.partition_point(|extent| extent.end <= at);
        while at < bytes.end {
            let extent = extents.get(index).filter(|extent| extent.start <= at)?;
            let physical = extent.physical? + (at - extent.start);
            let end = extent.end.min(bytes.end);
            let part = sector(physical)..sector(physical + (end - at));
            match found.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => found.push(part),
            }
            at = end;
            index += 1;
        }
        Some(found)
    }
}

impl BlockMap {
    /// The sectors of these bytes where they are one range and within one extent; otherwise [`BlockMap::sectors`] knows more.
    #[must_use]
    pub fn one_range(&self, bytes: Range<u64>) -> Option<SectorRange> {
        if !bytes.start.is_multiple_of(SECTOR) || !bytes.end.is_multiple_of(SECTOR) {
            return None;
        }
        let first = match &self.extents {
            None => bytes.start,
            Some(extents) => {
                let index = extents.partition_point(|extent| extent.end <= bytes.start);
                let extent = extents
                    .get(index)
                    .filter(|extent| extent.start <= bytes.start && extent.end >= bytes.end)?;
                extent.physical? + (bytes.start - extent.start)
            }
        };
        let first = self.first_sector + first / SECTOR;
        Some(first..first + (bytes.end - bytes.start) / SECTOR)
    }

    /// All sectors on the whole device that hold bytes of the file. Empty for a device itself.
    #[must_use]
    pub fn ranges(&self) -> Vec<SectorRange> {
        let extents = self.extents.iter().flatten();
        extents
            .filter_map(|extent| {
                let first = self.first_sector + extent.physical? / SECTOR;
                Some(first..first + (extent.end - extent.start).div_ceil(SECTOR))
            })
            .collect()
    }
}

fn unsupported(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(extents: Option<Vec<(u64, u64, Option<u64>)>>) -> BlockMap {
        let extent = |(start, end, physical)| Extent {
            start,
            end,
            physical,
            unwritten: false,
            last: false,
        };
        BlockMap {
            device: (8, 1),
            disk: (8, 0),
            first_sector: 2048,
            extents: extents.map(|all| all.into_iter().map(extent).collect()),
        }
    }

    fn one(range: SectorRange) -> Vec<SectorRange> {
        std::iter::once(range).collect()
    }

    #[test]
    fn bytes_of_a_partition_are_behind_its_start() {
        assert_eq!(map(None).sectors(4096..8192), Some(one(2056..2064)));
        assert_eq!(map(None).sectors(100..612), None, "no whole sectors");
    }

    #[test]
    fn bytes_of_a_file_are_in_its_extents() {
        let file = map(Some(vec![
            (0, 8192, Some(1 << 20)),
            (8192, 12288, Some((1 << 20) + 8192)),
            (12288, 16384, Some(1 << 30)),
            (20480, 24576, Some(1 << 31)),
            (24576, 28672, None),
        ]));
        let base = 2048 + (1 << 20) / 512;
        // Adjacent extents are one range.
        assert_eq!(file.sectors(4096..12288), Some(one(base + 8..base + 24)));
        let far = 2048 + (1 << 30) / 512;
        assert_eq!(
            file.sectors(8192..16384),
            Some(vec![base + 16..base + 24, far..far + 8])
        );
        assert_eq!(file.sectors(12288..20480), None, "a hole");
        // Within one extent both agree; beyond, only the general one knows.
        for (start, end) in [(0, 4096), (4096, 8192), (12288, 16384), (20480, 24576)] {
            let all = file.sectors(start..end);
            assert_eq!(file.one_range(start..end).map(one), all, "{start}");
            assert!(all.is_some());
        }
        for (start, end) in [
            (4096, 12288),
            (16384, 20480),
            (24576, 28672),
            (28672, 32768),
            (1, 513),
        ] {
            assert_eq!(file.one_range(start..end), None, "{start}");
        }
        assert_eq!(map(None).one_range(4096..8192), Some(2056..2064));
        assert_eq!(file.sectors(24576..28672), None, "no address on the device");
        assert_eq!(file.sectors(28672..32768), None, "after the end");
    }
}
