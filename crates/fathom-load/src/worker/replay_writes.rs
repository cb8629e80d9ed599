//! The writes of a replay, remembered for being read back: a log, unlike a script, is not walked a second time.

use std::collections::BTreeMap;

use super::write_replay::ExpectedWrite;

/// Writes and trims that are remembered: 64 MiB of them.
const MOST: usize = 2 << 20;

/// One write or trim as it was handed over.
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
pub(super) struct Heard {
    deeds: Vec<ReplayedWrite>,
    /// Writes that there was no room for: then nothing is known for certain any more.
    beyond: u64,
}

impl Heard {
    /// Notes a write, or a trim with `number` 0.
    pub fn note(&mut self, file: u32, offset: u64, len: u32, number: u64) {
        if self.deeds.len() < MOST {
            self.deeds.push(ReplayedWrite {
                offset,
                number,
                len,
                file,
            });
        } else {
            self.beyond += u64::from(number > 0);
        }
    }

    /// Writes that cannot be looked for, because too many came after the first [`MOST`].
    pub fn unknown(&self) -> u64 {
        if self.beyond == 0 {
            0
        } else {
            self.beyond + self.deeds.iter().filter(|deed| deed.number > 0).count() as u64
        }
    }

    /// The writes of which nothing was overwritten or trimmed later, in the order of the log.
    pub fn lasting(&self) -> Vec<ExpectedWrite> {
        let mut covered = Covered::default();
        let mut lasting = Vec::new();
        for deed in self.deeds.iter().rev().filter(|_| self.beyond == 0) {
            let ReplayedWrite {
                offset,
                number,
                len,
                file,
            } = *deed;
            if !covered.cover(file, offset, offset + u64::from(len)) && number > 0 {
                lasting.push(ExpectedWrite {
                    file,
                    offset,
                    len,
                    number,
                    generation: Some(1),
                    before: None,
                });
            }
        }
        lasting.reverse();
        lasting
    }
}

/// Ranges of files, none touching another: start to end, by file and start.
#[derive(Default)]
struct Covered(BTreeMap<(u32, u64), u64>);

impl Covered {
    /// Adds a range and says whether any of it was there before.
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

    fn numbers(deeds: &[(u32, u64, u32, u64)]) -> Vec<u64> {
        let mut heard = Heard::default();
        deeds
            .iter()
            .for_each(|(file, offset, len, number)| heard.note(*file, *offset, *len, *number));
        heard.lasting().iter().map(|sought| sought.number).collect()
    }

    #[test]
    fn what_was_overwritten_or_trimmed_is_not_looked_for() {
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
        /// The model: an array with the number of the last deed at each byte.
        #[test]
        fn it_is_those_whose_every_byte_is_still_theirs(deeds in proptest::collection::vec((0..2_u32, 0..40_u64, 1..12_u32, any::<bool>()), 1..60)) {
            let deeds: Vec<_> = deeds.into_iter().zip(1..).map(|((file, offset, len, writes), n)| (file, offset, len, if writes { n } else { 0 })).collect();
            let mut bytes = vec![[0_usize; 64]; 2];
            for (at, (file, offset, len, _)) in deeds.iter().enumerate() {
                bytes[*file as usize][*offset as usize..*offset as usize + *len as usize].fill(at + 1);
            }
            let whole = |at: usize| {
                let (file, offset, len, number) = deeds[at];
                number > 0 && bytes[file as usize][offset as usize..offset as usize + len as usize].iter().all(|by| *by == at + 1)
            };
            let expected: Vec<u64> = (0..deeds.len()).filter(|at| whole(*at)).map(|at| deeds[at].3).collect();
            prop_assert_eq!(numbers(&deeds), expected);
        }
    }
}
