//! The device's data: what a reader sees now, and what would survive a power cut.

use std::collections::BTreeSet;

/// Bytes in one sector, the unit in which unsynced writes are kept or lost.
pub const SECTOR: u64 = 512;

/// Which unsynced sectors survive a power cut.
///
/// A sector survives in its newest version or not at all; older unsynced versions are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// Everything unsynced is lost.
    None,
    /// Everything unsynced had already reached the media.
    All,
    /// A random half, chosen by this seed: the same seed keeps the same sectors.
    Half(u64),
    /// Exactly these sector numbers (offset / 512).
    Sectors(BTreeSet<u64>),
}

impl Keep {
    /// Whether an unsynced `sector` (offset / 512) survives.
    #[must_use]
    pub fn survives(&self, sector: u64) -> bool {
        match self {
            Keep::None => false,
            Keep::All => true,
            Keep::Half(seed) => mix(seed ^ mix(sector)) & 1 == 1,
            Keep::Sectors(chosen) => chosen.contains(&sector),
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): spreads every input bit over the result.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Two images and the set of sectors in which they may differ.
#[derive(Debug)]
pub(crate) struct Store {
    current: Vec<u8>,
    stable: Vec<u8>,
    unsynced: BTreeSet<u64>,
    size: usize,
}

impl Store {
    /// A device of `size` zero bytes; memory is allocated as it is written.
    pub(crate) fn new(size: usize) -> Self {
        Store {
            current: vec![0; size],
            stable: vec![0; size],
            unsynced: BTreeSet::new(),
            size,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size as u64
    }

    pub(crate) fn unsynced(&self) -> &BTreeSet<u64> {
        &self.unsynced
    }

    /// The part of `offset..offset + len` that is on the device, as indexes.
    fn clip(&self, offset: u64, len: u64) -> std::ops::Range<usize> {
        let end = offset.saturating_add(len).min(self.size());
        offset.min(end) as usize..end as usize
    }

    pub(crate) fn read(&self, offset: u64, len: u64) -> Vec<u8> {
        self.current[self.clip(offset, len)].to_vec()
    }

    /// Stores what fits and returns the number of stored bytes.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> usize {
        let range = self.clip(offset, data.len() as u64);
        let fits = range.len();
        self.unsynced.extend(sectors(&range));
        self.current[range].copy_from_slice(&data[..fits]);
        fits
    }

    /// Makes every sector in `offset..offset + len` stable.
    pub(crate) fn sync_range(&mut self, offset: u64, len: u64) {
        for sector in sectors(&self.clip(offset, len)) {
            if self.unsynced.remove(&sector) {
                self.make_stable(sector);
            }
        }
    }

    pub(crate) fn sync(&mut self) {
        for sector in std::mem::take(&mut self.unsynced) {
            self.make_stable(sector);
        }
    }

    fn make_stable(&mut self, sector: u64) {
        let range = self.sector_range(sector);
        self.stable[range.clone()].copy_from_slice(&self.current[range]);
    }

    fn sector_range(&self, sector: u64) -> std::ops::Range<usize> {
        let start = (sector * SECTOR) as usize;
        start..(start + SECTOR as usize).min(self.current.len())
    }

    /// Discards the unsynced writes: readers see the stable bytes again.
    pub(crate) fn drop_unsynced(&mut self) {
        for sector in std::mem::take(&mut self.unsynced) {
            let range = self.sector_range(sector);
            self.current[range.clone()].copy_from_slice(&self.stable[range]);
        }
    }

    /// Shrinks the device to `size` bytes; it never grows.
    pub(crate) fn shrink(&mut self, size: u64) {
        self.size = size.min(self.size()) as usize;
        let first_gone = self.size().div_ceil(SECTOR);
        self.unsynced.split_off(&first_gone);
    }

    /// Passes the image after a power cut to `sink`, piece by piece in order.
    pub(crate) fn cut<E>(
        &self,
        keep: &Keep,
        mut sink: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = 0;
        for sector in self.unsynced.iter().filter(|s| keep.survives(**s)) {
            let range = self.sector_range(*sector);
            let range = range.start..range.end.min(self.size);
            sink(at as u64, &self.stable[at..range.start])?;
            sink(range.start as u64, &self.current[range.clone()])?;
            at = range.end;
        }
        sink(at as u64, &self.stable[at..self.size])
    }
}

fn sectors(range: &std::ops::Range<usize>) -> std::ops::Range<u64> {
    if range.is_empty() {
        return 0..0;
    }
    range.start as u64 / SECTOR..(range.end as u64).div_ceil(SECTOR)
}
