//! Blocks that were wrong at the first look, kept for the second.

use std::collections::HashMap;

use fathom_model::{Damage, DamageClass, SecondLook};

use super::write_replay::ExpectedWrite;
use crate::verify::BlockMismatch;

/// A block that was wrong.
pub(super) struct Suspect {
    pub file: u32,
    pub offset: u64,
    pub len: u32,
    pub sought: Option<ExpectedWrite>,
    pub blemish: BlockMismatch,
    /// The bytes of the first look, by their checksum.
    pub bytes: u64,
    pub again: SecondLook,
    pub elsewhere: Option<(u32, u64)>,
}

/// At most [`Damage::KEPT`] of them; the others are counted by their first look.
#[derive(Default)]
pub(super) struct Suspects {
    pub list: Vec<Suspect>,
    /// What the second read found.
    pub again: Vec<u8>,
}

impl Suspects {
    /// Keeps one for the second look; false when there is no room.
    pub fn keep(&mut self, suspect: Suspect) -> bool {
        let room = self.list.len() < Damage::KEPT;
        if room {
            self.list.push(suspect);
        }
        room
    }
}

/// What the place where misdirected data belongs was found to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The same write as here.
    Intact,
    /// The data that belongs here.
    Exchanged,
    /// Neither, or it cannot be read.
    Robbed,
}

impl Suspect {
    /// The second look's word on data that belongs elsewhere.
    pub fn settle_stray(&mut self, home: Home) {
        self.blemish.class = match home {
            Home::Intact => DamageClass::Duplicated,
            Home::Exchanged => DamageClass::Swapped,
            Home::Robbed => DamageClass::MisdirectedWrite,
        };
    }
}

/// A block that lost its data to a wrong place is part of the same misdirected write.
pub(super) fn join_homes(list: &mut [Suspect]) {
    let landed: HashMap<(u32, u64), (u32, u64)> = list
        .iter()
        .filter(|one| one.blemish.class == DamageClass::MisdirectedWrite)
        .filter_map(|one| one.elsewhere.map(|home| (home, (one.file, one.offset))))
        .collect();
    let missing = [
        DamageClass::LostWrite,
        DamageClass::Stale,
        DamageClass::Zeroed,
        DamageClass::OtherRun,
    ];
    for one in list
        .iter_mut()
        .filter(|one| missing.contains(&one.blemish.class))
    {
        if let Some(at) = landed.get(&(one.file, one.offset)) {
            one.blemish.class = DamageClass::MisdirectedWrite;
            one.elsewhere = Some(*at);
            one.blemish.detail = "the write that belongs here was found there".to_owned();
        }
    }
}
