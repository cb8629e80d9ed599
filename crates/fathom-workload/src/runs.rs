//! Sequential runs among interleaved I/Os.

use std::collections::VecDeque;

use crate::hash::NumberMap;

/// Runs whose continuation is followed.
const ESTABLISHED_RUNS: usize = 64;
/// Ends of I/Os at which a run may begin: at first, at least, at most.
const CANDIDATES: (usize, usize, usize) = (64, 16, 4096);
/// How often the last part of a run may be written again without progress, as a log does with its last page.
const REWRITES: u32 = 32;
/// I/Os after which the number of candidates is adapted.
const ADAPT: u32 = 1024;
/// I/Os after which a run counts as sequential: two adjacent I/Os can be chance.
pub(crate) const ESTABLISHED: u32 = 3;

#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    end: u64,
    write: bool,
    used: u64,
    turn: u64,
    /// I/Os without progress.
    stalls: u32,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    ios: u32,
    bytes: u64,
    /// Bytes of the last I/O.
    last: u64,
    number: u64,
}

/// What an I/O is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It begins somewhere else.
    Random,
    /// It establishes a run; the two I/Os before it, with these bytes, belong to it.
    Establishes(u64),
    /// It continues a run that was continued this many sequential I/Os before.
    Continues(u64),
}

/// The ends of the runs on one device.
#[derive(Clone, Debug)]
pub(crate) struct RunTable {
    runs: Vec<Run>,
    candidates: NumberMap<u64, Candidate>,
    order: VecDeque<(u64, u64)>,
    capacity: usize,
    number: u64,
    /// Sequential I/Os of reads and of writes.
    turns: [u64; 2],
    /// Since the last adaptation: candidates, those with a second I/O, those with a third.
    observed: [u32; 3],
}

impl Default for RunTable {
    fn default() -> Self {
        RunTable {
            runs: Vec::new(),
            candidates: NumberMap::default(),
            order: VecDeque::new(),
            capacity: CANDIDATES.0,
            number: 0,
            turns: [0; 2],
            observed: [0; 3],
        }
    }
}

fn key(end: u64, write: bool) -> u64 {
    end << 1 | u64::from(write)
}

impl RunTable {
    /// An I/O with data.
    pub fn add(&mut self, write: bool, offset: u64, end: u64) -> Step {
        self.number += 1;
        let turns = &mut self.turns[usize::from(write)];
        // A log writes its last page again, as it fills.
        let found = self.runs.iter().position(|run| {
            run.write == write
                && (run.end == offset
                    || write
                        && (run.start..run.end).contains(&offset)
                        && end >= run.end
                        && (end > run.end || run.stalls < REWRITES))
        });
        if let Some(index) = found {
            let run = &mut self.runs[index];
            let step = Step::Continues(*turns - run.turn);
            run.stalls = if end > run.end { 0 } else { run.stalls + 1 };
            (run.start, run.end) = (offset, end);
            (run.used, run.turn) = (self.number, *turns);
            *turns += 1;
            self.runs.swap(index, index / 2);
            return step;
        }
        let mut before = self.candidates.remove(&key(offset, write));
        let mut again = None;
        if write && before.is_none() {
            // The same start, and further; or the same once more, which is not progress.
            let start = key(!offset, write);
            match self.candidates.get(&start) {
                Some(run) if end - offset > run.last => before = self.candidates.remove(&start),
                Some(run) if end - offset == run.last => {
                    again = Some((run.ios - 1, run.bytes - run.last));
                }
                _ => {}
            }
        }
        let (ios, bytes) = match again {
            Some(same) => same,
            None => {
                let before = before.map_or((0, 0), |run| (run.ios, run.bytes));
                self.observed[before.0.min(2) as usize] += 1;
                before
            }
        };
        if ios + 1 >= ESTABLISHED {
            let run = Run {
                start: offset,
                end,
                write,
                used: self.number,
                turn: *turns,
                stalls: 0,
            };
            *turns += 1;
            if self.runs.len() < ESTABLISHED_RUNS {
                self.runs.push(run);
            } else if let Some(oldest) = self.runs.iter_mut().min_by_key(|run| run.used) {
                *oldest = run;
            }
            return Step::Establishes(bytes);
        }
        let candidate = Candidate {
            ios: ios + 1,
            bytes: bytes + (end - offset),
            last: end - offset,
            number: self.number,
        };
        self.candidates.insert(key(end, write), candidate);
        self.order.push_back((key(end, write), self.number));
        if write {
            self.candidates.insert(key(!offset, write), candidate);
            self.order.push_back((key(!offset, write), self.number));
        }
        if self.observed.iter().sum::<u32>() >= ADAPT {
            self.adapt();
        }
        while self.order.len() > self.capacity {
            let Some((key, number)) = self.order.pop_front() else {
                break;
            };
            if self
                .candidates
                .get(&key)
                .is_some_and(|run| run.number == number)
            {
                self.candidates.remove(&key);
            }
        }
        Step::Random
    }

    /// Many candidates find runs that are rarely continued; but where random I/Os often meet a candidate by chance, there are too many.
    fn adapt(&mut self) {
        let [_, second, third] = self.observed;
        if second < ADAPT / 100 {
            self.capacity = (self.capacity * 2).min(CANDIDATES.2);
        } else if second > ADAPT / 33 && third < second / 2 {
            self.capacity = (self.capacity / 2).max(CANDIDATES.1);
        }
        self.observed = [0; 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn interleaved_logs_are_sequential_and_scattered_ios_are_not() {
        let mut table = RunTable::default();
        let mut steps = Vec::new();
        for n in 0..100_u64 {
            for log in 0..4_u64 {
                let offset = (log << 40) + n * 4096;
                steps.push(table.add(true, offset, offset + 4096));
                let random = (n * 4 + log).wrapping_mul(0x9e37_79b9) << 12;
                assert_eq!(table.add(false, random, random + 512), Step::Random);
            }
        }
        assert_eq!(steps[..8], [Step::Random; 8]);
        assert_eq!(steps[8..12], [Step::Establishes(8192); 4]);
        // Each log is continued every fourth time.
        assert!(steps[12..].iter().all(|step| *step == Step::Continues(4)));
    }

    /// Pages of 8 KiB; each write begins with the last page of the one before.
    /// Regression 0821: a log that wrote each page several times was random, because the second write of a page forgot the page
    /// before it.
    #[test]
    fn a_log_that_writes_each_page_several_times_is_sequential() {
        let mut table = RunTable::default();
        let mut random = 0;
        for n in 0..400_u64 {
            // Each page five times, with other writes in between.
            let page = n / 5 * 8192;
            random += u32::from(table.add(true, page, page + 8192) == Step::Random);
            let other = (1 << 40) + n * 7919 % 1000 * 65_536;
            table.add(true, other, other + 8192);
        }
        // Until the third page is written.
        assert!(random <= 10, "{random}");
        // A block that is written again and again alone is not a run.
        let mut table = RunTable::default();
        for _ in 0..100 {
            assert_eq!(table.add(true, 4096, 8192), Step::Random);
        }
    }

    #[test]
    fn a_log_that_writes_its_last_page_again_is_sequential() {
        let mut table = RunTable::default();
        let (mut page, mut sequential) = (0_u64, 0);
        for n in 0..1000 {
            let pages = 1 + mix(n) % 3;
            let (offset, end) = (page * 8192, (page + pages) * 8192);
            sequential += u32::from(table.add(true, offset, end) != Step::Random);
            page += pages - 1;
        }
        assert!(sequential > 980, "{sequential}");
    }

    #[test]
    fn a_rare_log_is_found_and_chance_is_not() {
        // A log write after every 500 reads of a large device.
        let mut table = RunTable::default();
        let (mut log, mut sequential) = (1_u64 << 50, 0);
        for n in 0..200_000_u64 {
            let offset = mix(n) % (1 << 24) * 4096;
            assert_eq!(table.add(false, offset, offset + 4096), Step::Random);
            if n % 500 == 0 {
                sequential += u32::from(table.add(true, log, log + 4096) != Step::Random);
                log += 4096;
            }
        }
        assert!(sequential > 380, "{sequential} of 400");
        // Random reads of 10 MiB meet by chance.
        let mut table = RunTable::default();
        let chance = (0..200_000_u64)
            .filter(|n| {
                let offset = mix(*n) % 1280 * 8192;
                table.add(false, offset, offset + 8192) != Step::Random
            })
            .count();
        assert!(chance < 10_000, "{chance}");
    }
}
