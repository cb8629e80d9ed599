//! Page maps in the state in which a simulation begins.
//!
//! Writing a device over at random takes a million steps. The cells of a sweep begin with the same
//! device, so that the last maps are kept. A map follows from its key: whether it was kept does not
//! change a simulation.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::page_map::PageMap;
use super::parameters::Precondition;
use crate::random::Random;

/// How often each page is overwritten before the start of a device in the steady state.
const OVERWRITES: f64 = 3.0;
/// Maps that are kept: an array of eight drives. Each takes up to 5 MiB.
const KEPT: usize = 8;

/// Pages, the bits of the over-provisioning, the content, and the seed.
type Key = (u64, u64, Precondition, u64);

static MAPS: Mutex<VecDeque<(Key, PageMap)>> = Mutex::new(VecDeque::new());

/// The map of a device with this content.
pub(super) fn page_map(
    pages: u64,
    over_provisioning: f64,
    precondition: Precondition,
    seed: u64,
) -> PageMap {
    if precondition == Precondition::Empty {
        return PageMap::new(pages, over_provisioning);
    }
    let key = (pages, over_provisioning.to_bits(), precondition, seed);
    let maps = || MAPS.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = maps().iter().find(|(known, _)| *known == key).cloned();
    if let Some((_, map)) = kept {
        return map;
    }
    let map = made(pages, over_provisioning, precondition, seed);
    let mut maps = maps();
    maps.truncate(KEPT - 1);
    maps.push_front((key, map.clone()));
    map
}

fn made(pages: u64, over_provisioning: f64, precondition: Precondition, seed: u64) -> PageMap {
    let mut map = PageMap::new(pages, over_provisioning);
    map.fill();
    if precondition == Precondition::Random {
        map.overwrite(OVERWRITES, &mut Random::new(seed));
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map that was kept is the same as one that is made, also after the first copy was written.
    #[test]
    fn a_kept_map_is_that_of_a_new_device() {
        for precondition in [Precondition::Filled, Precondition::Random] {
            let new = made(40_000, 0.1, precondition, 7);
            for _ in 0..3 {
                let mut map = page_map(40_000, 0.1, precondition, 7);
                assert_eq!(format!("{map:?}"), format!("{new:?}"));
                map.write(0, 1000);
            }
        }
        let others = [(40_000, 0.1, 8), (40_000, 0.2, 7), (39_000, 0.1, 7)];
        for (pages, over_provisioning, seed) in others {
            let new = made(pages, over_provisioning, Precondition::Random, seed);
            let map = page_map(pages, over_provisioning, Precondition::Random, seed);
            assert_eq!(format!("{map:?}"), format!("{new:?}"));
        }
    }
}
