//! The writes of a replay, stored so that they can be read back: a trace, unlike generated
//! I/O, is not read a second time.

use std::collections::BTreeMap;

use super::write_replay::ExpectedWrite;

/// Maximum number of stored writes and trims: 64 MiB.
const MAX_WRITES: usize = 2 << 20;

/// One write or trim as it was submitted.
#[derive(Clone, Copy, Debug)]
struct ReplayedWrite {
    offset: u64,
    /// Of the write, from 1; 0 is a trim.
    number: u64,
    len: u32,
    file: u32,
}

/// What a replay did to its files, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayedWrites {
    writes: Vec<ReplayedWrite>,
    /// Writes beyond the maximum. They may have overwritten any other.
    dropped: u64,
}

impl ReplayedWrites {
    /// Notes a write, or a trim with `number` 0.
    pub fn note(&mut self, file: u32, offset: u64, len: u32, number: u64) {
        if self.writes.len() < MAX_WRITES {
            self.writes.push(ReplayedWrite {
                offset,
                number,
                len,
                file,
            });
        } else {
            self.dropped += u64::from(number > 0);
        }
    }

    /// Writes that cannot be read back, because too many came after the first [`MAX_WRITES`].
    pub fn unknown(&self) -> u64 {
        if self.dropped == 0 {
            0
        } else {
            self.dropped + self.writes.iter().filter(|write| write.number > 0).count() as u64
        }
    }

    /// The writes of which nothing was overwritten or trimmed later, in the order of the log.
    pub fn intact(&self) -> Vec<ExpectedWrite> {
        let mut covered = Covered::default();
        let mut intact = Vec::new();
        for write in self.writes.iter().rev().filter(|_| self.dropped == 0) {
            let ReplayedWrite {
                offset,
                number,
                len,
                file,
            } = *write;
            if !covered.cover(file, offset, offset + u64::from(len)) && number > 0 {
                intact.push(ExpectedWrite {
                    file,
                    offset,
                    len,
                    start: offset,
                    number,
                    generation: Some(1),
                    before: None,
                });
            }
        }
        intact.reverse();
        intact
    }
}

/// Disjoint ranges of files: start to end, by file and start.
#[derive(Default)]
struct Covered(BTreeMap<(u32, u64), u64>);

impl Covered {
    /// Adds a range. Returns whether any of it was covered before.
    fn cover(&mut self, file: u32, start: u64, end: u64) -> bool {
        let (mut from, mut to, mut touched) = (start, end, false);
        while let Some((&key, &last)) = self
            .0
            .range(..(file, to))
            .next_back()
            .filter(|((other, _), last)| *other == file && **last > from)
        {
            self.0.remove(&key);
            (from, to, touched) = (from.min(key.1), to.max(last), true);
        }
        self.0.insert((file, from), to);
        touched
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(log: &[(u32, u64, u32, u64)]) -> Vec<u64> {
        let mut writes = ReplayedWrites::default();
        log.iter()
            .for_each(|(file, offset, len, number)| writes.note(*file, *offset, *len, *number));
        writes
            .intact()
            .iter()
            .map(|expected| expected.number)
            .collect()
    }

    #[test]
    fn writes_that_were_overwritten_or_trimmed_are_not_read_back() {
        assert_eq!(
            numbers(&[(0, 0, 8, 1), (0, 8, 8, 2), (1, 0, 8, 3)]),
            [1, 2, 3]
        );
        assert_eq!(numbers(&[(0, 0, 8, 1), (0, 8, 8, 2), (0, 4, 2, 3)]), [2, 3]);
        assert_eq!(
            numbers(&[(0, 0, 8, 1), (0, 8, 8, 2), (0, 0, 16, 0)]),
            [0_u64; 0]
        );
        assert_eq!(
            numbers(&[(0, 0, 64, 1), (0, 8, 8, 2), (0, 24, 8, 3), (0, 0, 12, 4)]),
            [3, 4]
        );
    }

    proptest! {
        /// A simple model: an array with the number of the last write or trim of each byte.
        #[test]
        fn intact_writes_own_every_byte_of_their_range(log in proptest::collection::vec((0..2_u32, 0..40_u64, 1..12_u32, any::<bool>()), 1..60)) {
            let log: Vec<_> = log.into_iter().zip(1..).map(|((file, offset, len, writes), n)| (file, offset, len, if writes { n } else { 0 })).collect();
            let mut bytes = vec![[0_usize; 64]; 2];
            for (at, (file, offset, len, _)) in log.iter().enumerate() {
                bytes[*file as usize][*offset as usize..*offset as usize + *len as usize].fill(at + 1);
            }
            let whole = |at: usize| {
                let (file, offset, len, number) = log[at];
                number > 0 && bytes[file as usize][offset as usize..offset as usize + len as usize].iter().all(|by| *by == at + 1)
            };
            let expected: Vec<u64> = (0..log.len()).filter(|at| whole(*at)).map(|at| log[at].3).collect();
            prop_assert_eq!(numbers(&log), expected);
        }
    }
}
