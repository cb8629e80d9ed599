//! A device with a volatile write cache, and the ways in which devices lose what they acknowledged at a power cut.

use std::collections::VecDeque;

use crate::store::SECTOR;

/// What a device does with its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheFault {
    /// A flush stores everything before it, a write with FUA is stored itself. What was not flushed is lost or kept sector by
    /// sector.
    Honest,
    /// Flushes and FUA are acknowledged and do nothing; the cache is lost.
    IgnoresFlush,
    /// Flushes do nothing; a random half of the writes in the cache survives.
    Reorders,
    /// The last writes of more than one sector are acknowledged before all of their sectors are stored.
    TearsAt512,
    /// A write with FUA is an ordinary write.
    LosesFua,
    /// Metadata of the last flushes is lost: every write that does not begin with the given bytes.
    LosesMetadata(&'static [u8]),
    /// The last flushes before the cut had not happened yet.
    DropsLastFlushes,
}

impl CacheFault {
    /// Honest, and the six others; records begin with `data`.
    #[must_use]
    pub fn all(data: &'static [u8]) -> [CacheFault; 7] {
        [
            CacheFault::Honest,
            CacheFault::IgnoresFlush,
            CacheFault::Reorders,
            CacheFault::TearsAt512,
            CacheFault::LosesFua,
            CacheFault::LosesMetadata(data),
            CacheFault::DropsLastFlushes,
        ]
    }
}

/// Flushes whose metadata [`CacheFault::LosesMetadata`] loses.
const METADATA_FLUSHES: u64 = 12;
/// Flushes that [`CacheFault::DropsLastFlushes`] drops.
const DROPPED_FLUSHES: u64 = 8;

/// Writes that [`CacheFault::TearsAt512`] tears, as if each was on a channel of its own.
const TORN_WRITES: usize = 6;

/// A write in the cache.
#[derive(Debug, Clone)]
struct Cached {
    offset: u64,
    data: Vec<u8>,
    /// Number of the write; a later one is never overwritten by an earlier one.
    number: u64,
    /// Flushes before the write.
    flushes: u64,
}

/// A device of sectors with a write cache that is lost at a power cut.
#[derive(Debug, Clone)]
pub struct VolatileCache {
    fault: CacheFault,
    capacity: u64,
    stable: Vec<u8>,
    /// Number of the write that each sector was stored by.
    stored: Vec<u64>,
    cached: VecDeque<Cached>,
    cached_bytes: u64,
    writes: u64,
    flushes: u64,
}

impl VolatileCache {
    /// A device of `size` zero bytes, a multiple of 512, with a cache of `capacity` bytes.
    #[must_use]
    pub fn new(size: usize, capacity: u64, fault: CacheFault) -> Self {
        Self::with_content(vec![0; size], capacity, fault)
    }

    /// A device with this content, all of it stored.
    #[must_use]
    pub fn with_content(content: Vec<u8>, capacity: u64, fault: CacheFault) -> Self {
        VolatileCache {
            fault,
            capacity,
            stored: vec![0; content.len().div_ceil(SECTOR as usize)],
            stable: content,
            cached: VecDeque::new(),
            cached_bytes: 0,
            writes: 0,
            flushes: 0,
        }
    }

    /// Stores the cache, then behaves in this way.
    pub fn set_fault(&mut self, fault: CacheFault) {
        self.store_where(|_| true);
        self.fault = fault;
    }

    /// Writes whole sectors; `fua` requires that they are stored when this returns.
    ///
    /// # Panics
    /// If the range is not of whole sectors on the device.
    pub fn write(&mut self, offset: u64, data: &[u8], fua: bool) {
        assert!(
            offset.is_multiple_of(SECTOR) && (data.len() as u64).is_multiple_of(SECTOR),
            "whole sectors"
        );
        assert!(offset as usize + data.len() <= self.stable.len());
        self.writes += 1;
        let write = Cached {
            offset,
            data: data.to_vec(),
            number: self.writes,
            flushes: self.flushes,
        };
        if fua && self.keeps_fua() && !self.is_metadata_of_fault(&write) {
            self.store(&write, |_| true);
            return;
        }
        self.cached_bytes += data.len() as u64;
        self.cached.push_back(write);
        while self.cached_bytes > self.capacity {
            let Some(oldest) = self.cached.pop_front() else {
                break;
            };
            self.cached_bytes -= oldest.data.len() as u64;
            self.store(&oldest, |_| true);
        }
    }

    fn keeps_fua(&self) -> bool {
        !matches!(self.fault, CacheFault::IgnoresFlush | CacheFault::LosesFua)
    }

    fn is_metadata_of_fault(&self, write: &Cached) -> bool {
        matches!(self.fault, CacheFault::LosesMetadata(data) if !write.data.starts_with(data))
    }

    /// Acknowledges a flush.
    pub fn flush(&mut self) {
        self.flushes += 1;
        let flushes = self.flushes;
        match self.fault {
            CacheFault::Honest | CacheFault::LosesFua => self.store_where(|_| true),
            CacheFault::IgnoresFlush | CacheFault::Reorders => {}
            CacheFault::TearsAt512 => {
                let long = self.cached.iter().rev().filter(|write| is_long(write));
                let last: Vec<u64> = long.take(TORN_WRITES).map(|write| write.number).collect();
                self.store_where(|write| !last.contains(&write.number));
            }
            CacheFault::LosesMetadata(data) => self.store_where(|write| {
                write.data.starts_with(data) || write.flushes + METADATA_FLUSHES < flushes
            }),
            CacheFault::DropsLastFlushes => {
                self.store_where(|write| write.flushes + DROPPED_FLUSHES < flushes);
            }
        }
    }

    /// Stores the cached writes that `select` accepts.
    fn store_where(&mut self, select: impl Fn(&Cached) -> bool) {
        let cached = std::mem::take(&mut self.cached);
        for write in cached {
            if select(&write) {
                self.cached_bytes -= write.data.len() as u64;
                self.store(&write, |_| true);
            } else {
                self.cached.push_back(write);
            }
        }
    }

    /// Stores the sectors of a write that `survives` accepts, unless a later write was stored there.
    fn store(&mut self, write: &Cached, mut survives: impl FnMut(usize) -> bool) {
        let sector_bytes = SECTOR as usize;
        let first = write.offset as usize / sector_bytes;
        for (index, sector) in write.data.chunks(sector_bytes).enumerate() {
            if survives(index) && self.stored[first + index] < write.number {
                self.stored[first + index] = write.number;
                let start = (first + index) * sector_bytes;
                self.stable[start..start + sector.len()].copy_from_slice(sector);
            }
        }
    }

    /// The content after a power cut now. The same seed makes the same choices.
    #[must_use]
    pub fn cut(&self, seed: u64) -> Vec<u8> {
        let mut after = self.clone();
        let mut random = Random(seed);
        for write in std::mem::take(&mut after.cached) {
            match self.fault {
                CacheFault::Honest => after.store(&write, |_| random.half()),
                CacheFault::Reorders => {
                    if random.half() {
                        after.store(&write, |_| true);
                    }
                }
                CacheFault::TearsAt512 => {
                    if is_long(&write) {
                        // At least one sector is stored and at least one is not; a boundary at a multiple of 4 KiB would not
                        // show the unit.
                        let sectors = write.data.len() as u64 / SECTOR;
                        let kept = 1 + random.below(sectors - 1);
                        let kept = if kept.is_multiple_of(8) {
                            kept - 1
                        } else {
                            kept
                        };
                        after.store(&write, |index| (index as u64) < kept);
                    }
                }
                CacheFault::LosesMetadata(data) => {
                    if write.data.starts_with(data) && random.half() {
                        after.store(&write, |_| true);
                    }
                }
                CacheFault::IgnoresFlush | CacheFault::LosesFua | CacheFault::DropsLastFlushes => {}
            }
        }
        after.stable
    }
}

fn is_long(write: &Cached) -> bool {
    write.data.len() as u64 > SECTOR
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn half(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 64 << 10;
    const DATA: &[u8] = b"D";

    fn device(fault: CacheFault) -> VolatileCache {
        VolatileCache::new(SIZE, 1 << 20, fault)
    }

    fn sectors(image: &[u8], first: usize, count: usize) -> Vec<u8> {
        (first..first + count).map(|s| image[s * 512]).collect()
    }

    #[test]
    fn an_honest_device_keeps_what_it_acknowledged() {
        let mut one = device(CacheFault::Honest);
        one.write(0, &[b'D'; 1024], false);
        one.flush();
        one.write(512, &[b'E'; 512], true);
        one.write(4096, &[b'F'; 8192], false);
        for seed in 0..50 {
            let image = one.cut(seed);
            assert_eq!(sectors(&image, 0, 2), b"DE");
            let open = sectors(&image, 8, 16);
            assert!(open.iter().all(|byte| matches!(byte, 0 | b'F')));
        }
        let counts: Vec<usize> = (0..50)
            .map(|seed| {
                sectors(&one.cut(seed), 8, 16)
                    .iter()
                    .filter(|b| **b == b'F')
                    .count()
            })
            .collect();
        assert!(counts.iter().any(|kept| *kept < 8) && counts.iter().any(|kept| *kept > 8));
    }

    /// A later write with FUA is never overwritten by an earlier one that leaves the cache after it.
    #[test]
    fn stored_sectors_keep_their_newest_write() {
        let mut one = device(CacheFault::Honest);
        one.write(0, &[b'D'; 512], false);
        one.write(0, &[b'E'; 512], true);
        assert_eq!(one.cut(1)[0], b'E');
        one.flush();
        assert_eq!(one.cut(1)[0], b'E');
    }

    #[test]
    fn each_fault_loses_its_own() {
        // Sector 0: FUA; 8..16: data with a flush; 16: metadata with a flush.
        let after = |fault| {
            let mut one = device(fault);
            one.write(0, &[b'D'; 512], true);
            one.write(4096, &[b'D'; 4096], false);
            one.write(8192, &[b'M'; 512], false);
            if !matches!(fault, CacheFault::LosesFua) {
                one.flush();
            }
            let image = one.cut(3);
            let kept = sectors(&image, 8, 8).iter().filter(|b| **b == b'D').count();
            (image[0] == b'D', kept, image[8192] == b'M')
        };
        assert_eq!(after(CacheFault::Honest), (true, 8, true));
        assert_eq!(after(CacheFault::IgnoresFlush), (false, 0, false));
        assert_eq!(after(CacheFault::DropsLastFlushes), (true, 0, false));
        assert_eq!(after(CacheFault::LosesMetadata(DATA)), (true, 8, false));
        assert_eq!(after(CacheFault::LosesFua), (false, 0, false));
        let (fua, kept, metadata) = after(CacheFault::TearsAt512);
        assert!(fua && metadata && (1..8).contains(&kept), "{kept}");
        let (_, kept, _) = after(CacheFault::Reorders);
        assert!(kept == 0 || kept == 8, "{kept}: whole writes");
    }

    #[test]
    fn a_full_cache_is_written_in_order() {
        let mut one = VolatileCache::new(SIZE, 1024, CacheFault::IgnoresFlush);
        for sector in 0..8 {
            one.write(sector * 512, &[b'D'; 512], false);
        }
        assert_eq!(sectors(&one.cut(0), 0, 8), b"DDDDDD\0\0");
    }
}
