//! Looks into a sector whose checksum does not hold: flipped, torn in itself, or something else.

use super::author::Sectors;
use super::diagnose::Wanted;
use super::stamp::{self, BODY, SECTOR, SectorStamp};

/// More differing bits than this are no flip.
const FEW_BITS: u32 = 8;

/// What is wrong inside a sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// So many bits differ, the first in this byte of the sector.
    Flipped { bits: u32, byte: usize },
    /// The bytes from `from` to `to` are not those of the write; the end (or start) belongs to write `other`, or is zeros.
    Torn {
        from: usize,
        to: usize,
        other: Option<u64>,
    },
    /// Neither.
    Unknown,
}

impl Sectors {
    /// Compares a broken sector with the one that should be there. `likely` is the stamp it should have as far as known:
    /// without a good `neighbour` of the same write, its time and its place in the write are those that it claims.
    pub(super) fn look_inside(
        &self,
        sector: &[u8; SECTOR],
        likely: SectorStamp,
        neighbour: bool,
        want: &Wanted,
    ) -> Inside {
        let best = self.difference(sector, likely);
        if best.bits <= FEW_BITS {
            return Inside::Flipped {
                bits: best.bits,
                byte: best.first,
            };
        }
        if let Some(byte) = Some(sector).filter(|_| !neighbour).and_then(single_flip) {
            return Inside::Flipped { bits: 1, byte };
        }
        self.torn(sector, likely, want)
    }

    fn difference(&self, sector: &[u8; SECTOR], stamp: SectorStamp) -> Difference {
        let mut image = [0; SECTOR];
        self.write(&mut image, &stamp);
        Difference::of(sector, &image)
    }

    /// Start and end of a torn sector are compared by the content between stamp and tail, which hangs on no time.
    fn torn(&self, sector: &[u8; SECTOR], likely: SectorStamp, want: &Wanted) -> Inside {
        let mut image = [0; SECTOR];
        self.write(&mut image, &likely);
        let body = |n: &usize| sector[*n] == image[*n];
        let (from, to) = (BODY.start, BODY.end);
        let head = (from..to).take_while(body).count();
        let rest = (from..to).rev().take_while(body).count();
        let stamped = SectorStamp::decode(sector).map(|stamp| stamp.number);
        let tail = stamp::tail_number(sector, self.run);
        let known = |number: u64| number > 0 && number <= want.last;
        if stamped == Some(likely.number) && tail != likely.number && head < to - from {
            let zeros = sector[from + head..].iter().all(|byte| *byte == 0);
            if zeros || known(tail) {
                return Inside::Torn {
                    from: from + head,
                    to: SECTOR,
                    other: (!zeros).then_some(tail),
                };
            }
        }
        if tail == likely.number && stamped != Some(likely.number) && rest < to - from {
            let zeros = sector[..to - rest].iter().all(|byte| *byte == 0);
            if zeros || stamped.is_some() {
                return Inside::Torn {
                    from: 0,
                    to: to - rest,
                    other: stamped,
                };
            }
        }
        Inside::Unknown
    }
}

/// The byte in which one flipped bit makes the checksum wrong: found by turning back each, which takes 0.1 ms.
fn single_flip(sector: &[u8; SECTOR]) -> Option<usize> {
    let mut repaired = *sector;
    (0..SECTOR * 8).find_map(|bit| {
        repaired[bit / 8] ^= 1 << (bit % 8);
        let good = stamp::holds(&repaired);
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
