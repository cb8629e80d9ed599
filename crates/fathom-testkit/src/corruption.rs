//! Corruptions of single blocks, each for an offset and a write to that offset, for thousands of
//! blocks at once.

use std::collections::BTreeMap;

use crate::store::{SECTOR, Store};

/// The corruption of one write, or of the block after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Corruption {
    /// The bits of `mask` in the byte `at` of the block are stored inverted.
    Flip {
        /// Byte of the block.
        at: usize,
        /// Bits to invert.
        mask: u8,
    },
    /// Zeros are stored.
    Zero,
    /// Only the first `bytes` are stored: not a whole number of sectors.
    TearSector {
        /// Bytes stored.
        bytes: usize,
    },
    /// Only these sectors are stored.
    TearBlock {
        /// Bit n is sector n.
        kept: u64,
    },
    /// Only the first `sectors` are stored.
    Shear {
        /// Sectors stored.
        sectors: usize,
    },
    /// It is stored at byte `to`, over whatever is there when the device is next read.
    Misdirect {
        /// The offset where it is stored.
        to: u64,
    },
    /// The first read of the block returns the data at byte `from`.
    ReadFrom {
        /// The offset of the returned data.
        from: u64,
    },
    /// It is acknowledged and dropped.
    Lose,
    /// The block reverts to the content of the first write to it.
    Restore,
    /// It is swapped with the block at byte `with`.
    Swap {
        /// The other block.
        with: u64,
    },
    /// The block is then overwritten with these bytes.
    Put(Vec<u8>),
}

#[derive(Debug)]
struct Armed {
    corruption: Corruption,
    /// The write to this offset that it corrupts, from 1.
    write: u64,
    seen: u64,
    first: Option<Vec<u8>>,
}

/// All armed corruptions by offset, and those that were triggered.
#[derive(Debug, Default)]
pub(crate) struct Corruptions {
    armed: BTreeMap<u64, Armed>,
    /// Done before the next read.
    pending: Vec<(u64, usize, Pending)>,
    /// Redirected reads, once each.
    redirected: BTreeMap<u64, u64>,
    triggered: Vec<u64>,
}

#[derive(Debug)]
enum Pending {
    Put(Vec<u8>),
    Swap(u64),
}

impl Corruptions {
    pub(crate) fn arm(&mut self, offset: u64, write: u64, corruption: Corruption) {
        let armed = Armed {
            corruption,
            write,
            seen: 0,
            first: None,
        };
        self.armed.insert(offset, armed);
    }

    pub(crate) fn triggered(&self) -> &[u64] {
        &self.triggered
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.armed.is_empty() && self.pending.is_empty() && self.redirected.is_empty()
    }

    /// Stores a write that begins at `offset`, corrupted. Returns false if no corruption is armed
    /// there.
    pub(crate) fn write(&mut self, store: &mut Store, offset: u64, data: &[u8]) -> bool {
        let Some(armed) = self.armed.get_mut(&offset) else {
            return false;
        };
        armed.seen += 1;
        if armed.seen < armed.write {
            armed.first.get_or_insert_with(|| data.to_vec());
            return false;
        }
        let Some(armed) = self.armed.remove(&offset) else {
            return false;
        };
        self.triggered.push(offset);
        self.trigger(store, offset, data, armed);
        true
    }

    fn trigger(&mut self, store: &mut Store, offset: u64, data: &[u8], armed: Armed) {
        let later = |what| (offset, data.len(), what);
        match armed.corruption {
            Corruption::Flip { at, mask } => {
                let mut data = data.to_vec();
                data[at] ^= mask;
                store.write(offset, &data);
            }
            Corruption::Zero => {
                store.write(offset, &vec![0; data.len()]);
            }
            Corruption::TearSector { bytes } => {
                store.write(offset, &data[..bytes]);
            }
            Corruption::Shear { sectors } => {
                store.write(offset, &data[..sectors * SECTOR as usize]);
            }
            Corruption::TearBlock { kept } => {
                for (n, sector) in data
                    .chunks(SECTOR as usize)
                    .enumerate()
                    .filter(|(n, _)| kept >> n & 1 == 1)
                {
                    store.write(offset + n as u64 * SECTOR, sector);
                }
            }
            Corruption::Misdirect { to } => {
                self.pending
                    .push((to, data.len(), Pending::Put(data.to_vec())));
            }
            Corruption::Lose => {}
            Corruption::ReadFrom { from } => {
                store.write(offset, data);
                self.redirected.insert(offset, from);
            }
            Corruption::Restore => {
                store.write(offset, data);
                self.pending
                    .extend(armed.first.map(|first| later(Pending::Put(first))));
            }
            Corruption::Swap { with } => {
                store.write(offset, data);
                self.pending.push(later(Pending::Swap(with)));
            }
            Corruption::Put(bytes) => {
                store.write(offset, data);
                self.pending.push(later(Pending::Put(bytes)));
            }
        }
    }

    /// Applies what is pending until the next read, and returns the offset to read for `offset`.
    pub(crate) fn read(&mut self, store: &mut Store, offset: u64) -> u64 {
        for (at, len, what) in std::mem::take(&mut self.pending) {
            match what {
                Pending::Put(bytes) => {
                    store.write(at, &bytes);
                }
                Pending::Swap(with) => {
                    let (here, there) = (store.read(at, len as u64), store.read(with, len as u64));
                    store.write(at, &there);
                    store.write(with, &here);
                }
            }
        }
        self.redirected.remove(&offset).unwrap_or(offset)
    }
}
