//! Examines a sector with a wrong checksum: flipped bits, torn within the sector, or something
//! else.

use std::ops::Range;

use super::diagnose::ExpectedStamps;
use super::sectors::Sectors;
use super::stamp::{self, BODY, SECTOR, SectorStamp};

/// With more differing bits, it is not a bit flip.
const FEW_BITS: u32 = 8;

/// The damage inside a sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SectorDamage {
    /// The number of differing bits, and the byte of the sector with the first one.
    Flipped { bits: u32, byte: usize },
    /// The bytes from `from` to `to` do not belong to the write.
    Torn {
        from: usize,
        to: usize,
        rest: TornRest,
    },
    /// Anything else.
    Unknown,
}

/// What the other part of a torn sector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TornRest {
    Zeros,
    /// The write with this number.
    Write(u64),
    /// What was there before the run.
    Older,
}

impl Sectors {
    /// Compares a damaged sector with the expected one. `likely` is the expected stamp as far as it
    /// is known: without a valid `neighbour` of the same write, its time and its index in the write
    /// are taken from the sector itself.
    pub(super) fn compare_sector(
        &self,
        sector: &[u8; SECTOR],
        likely: SectorStamp,
        neighbour: bool,
        want: &ExpectedStamps,
    ) -> SectorDamage {
        let best = self.difference(sector, likely);
        if best.bits <= FEW_BITS {
            return SectorDamage::Flipped {
                bits: best.bits,
                byte: best.first,
            };
        }
        if let Some(byte) = Some(sector).filter(|_| !neighbour).and_then(single_flip) {
            return SectorDamage::Flipped { bits: 1, byte };
        }
        self.torn(sector, likely, want)
    }

    fn difference(&self, sector: &[u8; SECTOR], stamp: SectorStamp) -> Difference {
        let mut image = [0; SECTOR];
        self.write(&mut image, &stamp);
        Difference::of(sector, &image)
    }

    /// Start and end of a torn sector are compared by the content between stamp and tail, which
    /// does not depend on the time.
    fn torn(
        &self,
        sector: &[u8; SECTOR],
        likely: SectorStamp,
        want: &ExpectedStamps,
    ) -> SectorDamage {
        let mut image = [0; SECTOR];
        self.write(&mut image, &likely);
        let body = |n: &usize| sector[*n] == image[*n];
        let (from, to) = (BODY.start, BODY.end);
        let head = (from..to).take_while(body).count();
        let rest = (from..to).rev().take_while(body).count();
        let stamped = SectorStamp::decode(sector).map(|stamp| stamp.number);
        let tail = stamp::tail_number(sector, self.run);
        let known = |number: u64| number > 0 && number <= want.last;
        // Before the first write of the run a place may hold anything.
        let may_be_older = |part: Range<usize>| {
            let equal = part.clone().filter(|n| sector[*n] == image[*n]).count();
            want.first_since.is_some() && equal * 8 <= part.len()
        };
        if stamped == Some(likely.number) && tail != likely.number && head < to - from {
            let zeros = sector[from + head..].iter().all(|byte| *byte == 0);
            let rest = if zeros {
                Some(TornRest::Zeros)
            } else if known(tail) {
                Some(TornRest::Write(tail))
            } else {
                may_be_older(from + head..to).then_some(TornRest::Older)
            };
            if let Some(rest) = rest {
                return SectorDamage::Torn {
                    from: from + head,
                    to: SECTOR,
                    rest,
                };
            }
        }
        if tail == likely.number && stamped != Some(likely.number) && rest < to - from {
            let zeros = sector[..to - rest].iter().all(|byte| *byte == 0);
            let start = match stamped {
                _ if zeros => Some(TornRest::Zeros),
                Some(number) => Some(TornRest::Write(number)),
                None => may_be_older(from..to - rest).then_some(TornRest::Older),
            };
            if let Some(start) = start {
                return SectorDamage::Torn {
                    from: 0,
                    to: to - rest,
                    rest: start,
                };
            }
        }
        SectorDamage::Unknown
    }
}

/// The byte with a single flipped bit that explains the wrong checksum, found by trying every bit
/// in 0.1 ms.
fn single_flip(sector: &[u8; SECTOR]) -> Option<usize> {
    let mut repaired = *sector;
    (0..SECTOR * 8).find_map(|bit| {
        repaired[bit / 8] ^= 1 << (bit % 8);
        let good = stamp::is_valid(&repaired);
        repaired[bit / 8] ^= 1 << (bit % 8);
        good.then_some(bit / 8)
    })
}

/// Where two sectors differ.
struct Difference {
    first: usize,
    bits: u32,
}

impl Difference {
    fn of(found: &[u8; SECTOR], wanted: &[u8; SECTOR]) -> Self {
        let pairs = || found.iter().zip(wanted);
        Difference {
            first: pairs().position(|(a, b)| a != b).unwrap_or(0),
            bits: pairs().map(|(a, b)| (a ^ b).count_ones()).sum(),
        }
    }
}
