//! Corruptions of single blocks, each at a place and a write of that place, for thousands at once.

use std::collections::BTreeMap;

use crate::store::{SECTOR, Store};

/// What becomes of one write, or of the block after it.
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
    /// It lands at byte `to`, over what stands there when the device is next read.
    Misdirect {
        /// Where it lands.
        to: u64,
    },
    /// The first read of the block is answered with what stands at byte `from`.
    ReadFrom {
        /// Where the answer comes from.
        from: u64,
    },
    /// It is acknowledged and forgotten.
    Lose,
    /// The block returns to what the first write to it left.
    Restore,
    /// It changes places with the block at byte `with`.
    Swap {
        /// The other block.
        with: u64,
    },
    /// These bytes stand there afterwards.
    Put(Vec<u8>),
}

#[derive(Debug)]
struct Armed {
    corruption: Corruption,
    /// Which write to this place it strikes, from 1.
    write: u64,
    seen: u64,
    first: Option<Vec<u8>>,
}

/// All armed mischief by place, and what has struck.
#[derive(Debug, Default)]
pub(crate) struct Mischiefs {
    armed: BTreeMap<u64, Armed>,
    /// Done before the next read.
    pending: Vec<(u64, usize, Pending)>,
    /// Reads answered from elsewhere, once.
    strayed: BTreeMap<u64, u64>,
    struck: Vec<u64>,
}

#[derive(Debug)]
enum Pending {
    Put(Vec<u8>),
    Swap(u64),
}

impl Mischiefs {
    pub(crate) fn arm(&mut self, offset: u64, write: u64, corruption: Corruption) {
        let armed = Armed {
            corruption,
            write,
            seen: 0,
            first: None,
        };
        self.armed.insert(offset, armed);
    }

    pub(crate) fn struck(&self) -> &[u64] {
        &self.struck
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.armed.is_empty() && self.pending.is_empty() && self.strayed.is_empty()
    }

    /// Stores a write that begins at `offset`, or what mischief makes of it. False when none is armed there.
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
        self.struck.push(offset);
        self.strike(store, offset, data, armed);
        true
    }

    fn strike(&mut self, store: &mut Store, offset: u64, data: &[u8], armed: Armed) {
        let later = |what| (offset, data.len(), what);
        match armed.corruption {
            Corruption::Flip { at, mask } => {
                let mut data = data.to_vec();
                data[at] ^= mask;
                store.write(offset, &data);
            }
            Corruption::Zero => drop(store.write(offset, &vec![0; data.len()])),
            Corruption::TearSector { bytes } => drop(store.write(offset, &data[..bytes])),
            Corruption::Shear { sectors } => {
                drop(store.write(offset, &data[..sectors * SECTOR as usize]))
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
                    .push((to, data.len(), Pending::Put(data.to_vec())))
            }
            Corruption::Lose => {}
            Corruption::ReadFrom { from } => {
                store.write(offset, data);
                self.strayed.insert(offset, from);
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

    /// Does what waits for a read, and says where the read at `offset` is answered from.
    pub(crate) fn read(&mut self, store: &mut Store, offset: u64) -> u64 {
        for (at, len, what) in std::mem::take(&mut self.pending) {
            match what {
                Pending::Put(bytes) => drop(store.write(at, &bytes)),
                Pending::Swap(with) => {
                    let (here, there) = (store.read(at, len as u64), store.read(with, len as u64));
                    store.write(at, &there);
                    store.write(with, &here);
                }
            }
        }
        self.strayed.remove(&offset).unwrap_or(offset)
    }
}
