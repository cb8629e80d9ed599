//! Blocks that were wrong at the first read, kept for a second one.

use std::collections::HashMap;

use fathom_model::{Damage, DamageClass, RereadResult};

use super::write_replay::ExpectedWrite;
use crate::verify::BlockMismatch;

/// A block that was wrong.
pub(super) struct Suspect {
    pub file: u32,
    pub offset: u64,
    pub len: u32,
    pub expected: Option<ExpectedWrite>,
    pub mismatch: BlockMismatch,
    /// Digest of the bytes of the first read.
    pub digest: u64,
    pub second_read: RereadResult,
    /// Where the data found belongs, or where the missing data was found: file and offset.
    pub elsewhere: Option<(u32, u64)>,
}

/// At most [`Damage::MAX_RECORDED`] of them. The others are counted by their first read.
#[derive(Default)]
pub(super) struct Suspects {
    pub list: Vec<Suspect>,
    /// The bytes of the last second read.
    pub reread: Vec<u8>,
}

impl Suspects {
    /// Keeps one for the second read. False when the list is full.
    pub fn keep(&mut self, suspect: Suspect) -> bool {
        let room = self.list.len() < Damage::MAX_RECORDED;
        if room {
            self.list.push(suspect);
        }
        room
    }
}

/// Content of the intended location of misdirected data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntendedLocation {
    /// The same write as the wrong block.
    Intact,
    /// The data that belongs in the wrong block.
    Swapped,
    /// Neither, or it cannot be read.
    Lacking,
}

impl Suspect {
    /// Classifies misdirected data by the content of its intended location.
    pub fn classify_misdirected(&mut self, location: IntendedLocation) {
        self.mismatch.class = match location {
            IntendedLocation::Intact => DamageClass::Duplicated,
            IntendedLocation::Swapped => DamageClass::Swapped,
            IntendedLocation::Lacking => DamageClass::MisdirectedWrite,
        };
    }
}

/// Attributes blocks that lack their data to the misdirected writes that stored it elsewhere.
pub(super) fn attribute_missing_writes(list: &mut [Suspect]) {
    let landed: HashMap<(u32, u64), (u32, u64)> = list
        .iter()
        .filter(|one| one.mismatch.class == DamageClass::MisdirectedWrite)
        .filter_map(|one| {
            one.elsewhere
                .map(|location| (location, (one.file, one.offset)))
        })
        .collect();
    let missing = [
        DamageClass::LostWrite,
        DamageClass::Stale,
        DamageClass::Zeroed,
        DamageClass::OtherRun,
    ];
    for one in list
        .iter_mut()
        .filter(|one| missing.contains(&one.mismatch.class))
    {
        if let Some(at) = landed.get(&(one.file, one.offset)) {
            one.mismatch.class = DamageClass::MisdirectedWrite;
            one.elsewhere = Some(*at);
            one.mismatch.detail = "the missing write was found there".to_owned();
        }
    }
}
