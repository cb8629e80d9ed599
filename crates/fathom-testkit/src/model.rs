//! The specified behaviour of the fault device, implemented as simply as possible: the reference
//! for [`Core`].
//!
//! It shares nothing with the device except the names of the faults: two whole images, no locks, no
//! time, no log. Random operations run on both and must agree.
//!
//! [`Core`]: crate::Core

use std::collections::BTreeSet;

use rustix::io::Errno;

use crate::fault::Fault;
use crate::store::{Keep, SECTOR};

#[derive(Debug, Clone)]
struct Pending {
    fault: Fault,
    left: u64,
    seen: u64,
}

/// The reference device.
#[derive(Debug, Clone)]
pub struct Model {
    now: Vec<u8>,
    stable: Vec<u8>,
    unsynced: BTreeSet<u64>,
    faults: Vec<Pending>,
    injected: u64,
}

impl Model {
    /// A device of `size` zero bytes.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Model {
            now: vec![0; size],
            stable: vec![0; size],
            unsynced: BTreeSet::new(),
            faults: Vec::new(),
            injected: 0,
        }
    }

    /// Arms `fault` for `times` times, or without a limit.
    pub fn inject(&mut self, fault: Fault, times: Option<u64>) {
        self.faults.push(Pending {
            fault,
            left: times.unwrap_or(u64::MAX),
            seen: 0,
        });
    }

    /// Disarms all faults.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }

    /// Number of triggered faults so far, including shrinks.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.injected
    }

    /// Shrinks the device.
    pub fn shrink(&mut self, size: usize) {
        self.now.truncate(size);
        self.stable.truncate(size);
        self.unsynced.retain(|sector| sector * SECTOR < size as u64);
        self.injected += 1;
    }

    /// The result of a read of `len` bytes at `offset`.
    ///
    /// # Errors
    /// EIO if a fault is triggered.
    pub fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, Errno> {
        self.trigger(|f| matches!(f, Fault::Stall { .. }));
        self.fail_if(|f| *f == Fault::Gone)?;
        self.fail_if(|f| matches!(f, Fault::ReadError { offset: o, len: l } if overlap(offset, len as u64, *o, *l)))?;
        let bytes = self.now.iter().skip(offset as usize).take(len);
        let mut data: Vec<u8> = bytes.copied().collect();
        for (index, byte) in data.iter_mut().enumerate() {
            let here = offset + index as u64;
            *byte ^= self.trigger_each(|f| match f {
                Fault::BitFlip { offset, mask } if *offset == here => Some(*mask),
                _ => None,
            });
        }
        let full = data.len() as u64;
        let short = |f: &Fault| matches!(f, Fault::ShortRead { at_most } if *at_most < full);
        if let Some(Fault::ShortRead { at_most }) = self.trigger(short) {
            data.truncate(at_most as usize);
        }
        Ok(data)
    }

    /// Stores `data`; `durable` as with O_DSYNC. Returns the acknowledged bytes.
    ///
    /// # Errors
    /// EIO if a fault is triggered, ENOSPC at or beyond the end.
    pub fn write(&mut self, offset: u64, data: &[u8], durable: bool) -> Result<usize, Errno> {
        self.trigger(|f| matches!(f, Fault::Stall { .. }));
        self.fail_if(|f| *f == Fault::Gone)?;
        if offset >= self.now.len() as u64 {
            return Err(Errno::NOSPC);
        }
        let fits = data.len().min(self.now.len() - offset as usize);
        self.fail_if(|f| matches!(f, Fault::WriteError { offset: o, len: l } if overlap(offset, data.len() as u64, *o, *l)))?;
        if self
            .trigger(|f| matches!(f, Fault::LostWrite { .. }))
            .is_some()
        {
            return Ok(fits);
        }
        let shift = match self.trigger(|f| matches!(f, Fault::MisdirectedWrite { .. })) {
            Some(Fault::MisdirectedWrite { shift }) => shift,
            _ => 0,
        };
        let tears =
            |f: &Fault| matches!(f, Fault::TornWrite { sectors } if sectors * SECTOR < fits as u64);
        let kept = match self.trigger(tears) {
            Some(Fault::TornWrite { sectors }) => (sectors * SECTOR) as usize,
            _ => fits,
        };
        let touched = self.store(offset as i64 + shift, &data[..kept]);
        if durable && !touched.is_empty() && !self.ignores_flush() {
            touched.iter().for_each(|sector| self.make_stable(*sector));
        }
        Ok(fits)
    }

    /// Makes everything stable.
    ///
    /// # Errors
    /// EIO if a fault is triggered.
    pub fn sync(&mut self) -> Result<(), Errno> {
        self.fail_if(|f| *f == Fault::Gone)?;
        if self.trigger(|f| *f == Fault::SyncError).is_some() {
            self.now = self.stable.clone();
            self.unsynced.clear();
            return Err(Errno::IO);
        }
        if !self.ignores_flush() {
            self.stable = self.now.clone();
            self.unsynced.clear();
        }
        Ok(())
    }

    /// The image after a power cut.
    #[must_use]
    pub fn snapshot(&self, keep: &Keep) -> Vec<u8> {
        let pairs = self.now.iter().zip(&self.stable).enumerate();
        let byte = |(index, (now, stable)): (usize, (&u8, &u8))| {
            if keep.survives(index as u64 / SECTOR) {
                *now
            } else {
                *stable
            }
        };
        pairs.map(byte).collect()
    }

    /// Stores each byte at its offset on the device and returns the written sectors.
    fn store(&mut self, at: i64, data: &[u8]) -> BTreeSet<u64> {
        let mut touched = BTreeSet::new();
        for (index, byte) in data.iter().enumerate() {
            let Ok(position) = usize::try_from(at + index as i64) else {
                continue;
            };
            let Some(slot) = self.now.get_mut(position) else {
                continue;
            };
            *slot = *byte;
            touched.insert(position as u64 / SECTOR);
        }
        self.unsynced.extend(&touched);
        touched
    }

    fn make_stable(&mut self, sector: u64) {
        let start = (sector * SECTOR) as usize;
        let end = (start + SECTOR as usize).min(self.now.len());
        self.stable[start..end].copy_from_slice(&self.now[start..end]);
        self.unsynced.remove(&sector);
    }

    fn ignores_flush(&mut self) -> bool {
        !self.unsynced.is_empty() && self.trigger(|f| *f == Fault::LyingFlush).is_some()
    }

    fn fail_if(&mut self, matches: impl Fn(&Fault) -> bool) -> Result<(), Errno> {
        self.trigger(matches).map_or(Ok(()), |_| Err(Errno::IO))
    }

    /// The first armed fault that matches and is triggered.
    fn trigger(&mut self, matches: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let index = self
            .faults
            .iter_mut()
            .position(|p| matches(&p.fault) && triggers(p))?;
        self.injected += 1;
        Some(self.faults[index].fault)
    }

    /// The combined masks of all matching faults.
    fn trigger_each(&mut self, mask: impl Fn(&Fault) -> Option<u8>) -> u8 {
        let mut combined = 0;
        for pending in &mut self.faults {
            let Some(mask) = mask(&pending.fault) else {
                continue;
            };
            if triggers(pending) {
                self.injected += 1;
                combined ^= mask;
            }
        }
        combined
    }
}

fn triggers(pending: &mut Pending) -> bool {
    pending.seen += 1;
    let every = match pending.fault {
        Fault::Stall { every, .. } | Fault::LostWrite { every } => every,
        _ => 1,
    };
    let triggered = pending.left > 0 && pending.seen.is_multiple_of(every);
    pending.left -= u64::from(triggered);
    triggered
}

fn overlap(offset: u64, len: u64, other: u64, other_len: u64) -> bool {
    (offset..offset + len).any(|byte| (other..other + other_len).contains(&byte))
}
