//! The direction of each I/O of a mix with planned rates, which the clock decides.

use std::sync::{Arc, Mutex, PoisonError};

use fathom_model::Direction;

/// The directions of all I/Os so far, one bit for each.
#[derive(Debug, Default)]
struct Noted {
    /// A set bit is a write.
    bits: Vec<u64>,
    len: u64,
}

impl Noted {
    fn at(&self, at: u64) -> Direction {
        if self.bits[(at / 64) as usize] >> (at % 64) & 1 == 1 {
            Direction::Write
        } else {
            Direction::Read
        }
    }

    fn push(&mut self, direction: Direction) {
        if self.len.is_multiple_of(64) {
            self.bits.push(0);
        }
        if direction == Direction::Write {
            self.bits[(self.len / 64) as usize] |= 1 << (self.len % 64);
        }
        self.len += 1;
    }
}

/// Chooses the direction of the next I/O as it was steered to.
///
/// A copy of the generator repeats the same directions where they are noted, which is in jobs that
/// read back what they wrote.
#[derive(Clone, Debug)]
pub(super) struct Steering {
    wanted: Direction,
    /// I/Os drawn so far.
    drawn: u64,
    /// Shared by all copies of the generator.
    noted: Option<Arc<Mutex<Noted>>>,
}

impl Steering {
    /// A choice that copies of the generator can repeat if `repeatable`.
    pub fn new(repeatable: bool) -> Self {
        Steering {
            wanted: Direction::Read,
            drawn: 0,
            noted: repeatable.then(Arc::default),
        }
    }

    /// The next I/O has this direction.
    pub fn steer(&mut self, direction: Direction) {
        self.wanted = direction;
    }

    /// The direction of the next I/O.
    pub fn next(&mut self) -> Direction {
        let at = self.drawn;
        self.drawn += 1;
        let Some(noted) = &self.noted else {
            return self.wanted;
        };
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        if at < noted.len {
            return noted.at(at);
        }
        noted.push(self.wanted);
        self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_repeats_the_directions() {
        let mut live = Steering::new(true);
        let start = live.clone();
        let directions: Vec<Direction> = (0..200)
            .map(|n: u32| {
                if n.is_multiple_of(3) {
                    Direction::Write
                } else {
                    Direction::Read
                }
            })
            .collect();
        for direction in &directions {
            live.steer(*direction);
            assert_eq!(live.next(), *direction);
        }
        let mut copy = start;
        let again: Vec<Direction> = (0..200).map(|_| copy.next()).collect();
        assert_eq!(again, directions);
    }
}
