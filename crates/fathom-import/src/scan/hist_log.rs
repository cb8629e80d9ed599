//! Reads the histogram logs (`write_hist_log`) of fio and fathom: `ms, direction, block size`, then
//! the counts of all bins.

use std::io::{self, BufRead, Read};

use fathom_model::{Direction, Histogram, Nanos};

/// fio's bins: 0 to 127 ns one by one, then 64 for each power of two, up to 17 s.
const BINS: usize = 29 * 64;
/// The bins of fio 2.x, which counted microseconds: 19 groups of 64.
const OLD_BINS: usize = 19 * 64;
/// Longest line: 20 digits and a separator for each bin make 41 kB.
const LONGEST_LINE: u64 = 1 << 16;
/// Limit of I/Os in one line, a trillion: sums over any readable log stay exact.
const MOST_IOS: u64 = 1 << 40;

/// The lines of a histogram log, one at a time, so that memory does not grow with the log.
/// Iteration ends after the first error.
#[derive(Debug)]
pub struct HistLog<R> {
    input: R,
    number: u64,
    bins: Option<usize>,
    ended: bool,
}

/// The completions of one interval in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistLine {
    /// End of the interval: since the job's start, or since 1970 with `log_unix_epoch`.
    pub at: Nanos,
    /// Read, write or trim.
    pub direction: Direction,
    /// Bytes of the I/O that ended the interval.
    pub block_size: u64,
    counts: Vec<u64>,
}

/// Why a histogram log cannot be read, and where.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct HistLogError {
    /// Line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    #[source]
    pub problem: HistLogProblem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum HistLogProblem {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(io::Error),
    /// It has more than 64 KiB.
    #[error("longer than {LONGEST_LINE} bytes; is this a histogram log?")]
    TooLong,
    /// This field, counted from 1, is not a whole number.
    #[error("invalid number in field {0}; is this a histogram log?")]
    NoNumber(usize),
    /// The direction is not 0, 1 or 2.
    #[error("invalid direction {0}; expected 0 (read), 1 (write) or 2 (trim)")]
    NoDirection(u64),
    /// The number of bins is not fio's 1856 or a half, a quarter and so on of it.
    #[error(
        "{0} bins are neither {BINS} nor one of its halves (log_hist_coarseness); was it cut off?"
    )]
    Bins(usize),
    /// The previous lines had another number of bins.
    #[error("{0} bins, unlike the previous lines")]
    OtherBins(usize),
    /// The sum of the counts is more than 2^40.
    #[error("the counts add up to more than {MOST_IOS} I/Os")]
    TooMany,
}

impl<R: BufRead> HistLog<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        HistLog {
            input,
            number: 0,
            bins: None,
            ended: false,
        }
    }

    /// The next line that is not empty, or `None` at the end.
    fn line(&mut self) -> Result<Option<HistLine>, HistLogProblem> {
        let mut bytes = Vec::new();
        loop {
            self.number += 1;
            bytes.clear();
            let parser = (&mut self.input)
                .take(LONGEST_LINE + 1)
                .read_until(b'\n', &mut bytes);
            if parser.map_err(HistLogProblem::Unreadable)? == 0 {
                return Ok(None);
            }
            if bytes.len() as u64 > LONGEST_LINE {
                return Err(HistLogProblem::TooLong);
            }
            if !bytes.trim_ascii().is_empty() {
                return self.parse(&bytes).map(Some);
            }
        }
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<HistLine, HistLogProblem> {
        let fields = bytes.split(|byte| *byte == b',').enumerate();
        let mut numbers =
            fields.map(|(at, field)| number(field).ok_or(HistLogProblem::NoNumber(at + 1)));
        let mut next = |at| numbers.next().unwrap_or(Err(HistLogProblem::NoNumber(at)));
        let (millis, direction, block_size) = (next(1)?, next(2)?, next(3)?);
        let direction = direction_of(direction)?;
        let counts = numbers.collect::<Result<Vec<u64>, _>>()?;
        if !(0..=6).any(|coarseness| [BINS, OLD_BINS].contains(&(counts.len() << coarseness))) {
            return Err(HistLogProblem::Bins(counts.len()));
        }
        if self
            .bins
            .replace(counts.len())
            .is_some_and(|before| before != counts.len())
        {
            return Err(HistLogProblem::OtherBins(counts.len()));
        }
        let total = counts
            .iter()
            .try_fold(0_u64, |sum, count| sum.checked_add(*count));
        if total.is_none_or(|total| total > MOST_IOS) {
            return Err(HistLogProblem::TooMany);
        }
        let at = Nanos::new(millis.saturating_mul(1_000_000));
        Ok(HistLine {
            at,
            direction,
            block_size,
            counts,
        })
    }
}

impl<R: BufRead> Iterator for HistLog<R> {
    type Item = Result<HistLine, HistLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let line = self
            .line()
            .map_err(|problem| HistLogError {
                line: self.number,
                problem,
            })
            .transpose();
        self.ended = !matches!(line, Some(Ok(_)));
        line
    }
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field.trim_ascii())
        .ok()
        .filter(|text| !text.starts_with('+'))?
        .parse()
        .ok()
}

fn direction_of(number: u64) -> Result<Direction, HistLogProblem> {
    match number {
        0 => Ok(Direction::Read),
        1 => Ok(Direction::Write),
        2 => Ok(Direction::Trim),
        n => Err(HistLogProblem::NoDirection(n)),
    }
}

impl HistLine {
    /// Counts of the bins, as in the log.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of fio's bins that were merged into each of these, as a power of two
    /// (`log_hist_coarseness`).
    #[must_use]
    pub fn coarseness(&self) -> u32 {
        (self.all() / self.counts.len()).ilog2()
    }

    /// Number of bins without merging in this version of the format.
    fn all(&self) -> usize {
        let fits = |all: usize| (0..=6).any(|coarseness| self.counts.len() << coarseness == all);
        if fits(OLD_BINS) { OLD_BINS } else { BINS }
    }

    /// The counts as a histogram, each at the middle of its bin: at most 1/128 (0.8 %) from the
    /// measured latency, twice that with each step of coarseness. The last bin contains all
    /// latencies of 17 s and more.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        let width = 1 << self.coarseness();
        let unit = if self.all() == OLD_BINS { 1000 } else { 1 };
        for (at, count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let (first, last) = (first_of(at * width), first_of((at + 1) * width) - 1);
            histogram.record_n((first + (last - first).div_ceil(2)) * unit, *count);
        }
        histogram
    }
}

/// The middle of one of fio's bins, in its unit; `None` beyond the last.
#[must_use]
pub fn middle_of(bin: usize) -> Option<u64> {
    let (first, last) = (bin < BINS).then(|| (first_of(bin), first_of(bin + 1) - 1))?;
    Some(first + (last - first).div_ceil(2))
}

/// The smallest latency of one of fio's bins, in nanoseconds. One index past the last bin is
/// allowed.
fn first_of(bin: usize) -> u64 {
    if bin < 128 {
        return bin as u64;
    }
    let shift = bin / 64 - 1;
    ((bin % 64 + 64) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(before: &str, counts: &[(usize, u64)], bins: usize) -> String {
        let mut all = vec![0; bins];
        counts.iter().for_each(|(bin, count)| all[*bin] = *count);
        let all: Vec<String> = all.iter().map(u64::to_string).collect();
        format!("{before}, {}\n", all.join(", "))
    }

    fn problem(text: &str) -> String {
        let mut lines = HistLog::new(text.as_bytes());
        let error = lines.find_map(Result::err).expect("an error");
        assert!(lines.next().is_none(), "it ends after an error");
        error.to_string()
    }

    #[test]
    fn a_line_is_read_with_its_latencies() {
        let text = line("1000, 1, 4096", &[(5, 2), (128, 1), (1855, 3)], BINS);
        let lines: Vec<HistLine> = HistLog::new(text.as_bytes())
            .map(|line| line.expect("a line"))
            .collect();
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert_eq!(
            (line.at, line.direction, line.block_size),
            (Nanos::from_millis(1000), Direction::Write, 4096)
        );
        let histogram = line.histogram();
        // Bin 128 is 128 and 129 ns; the last is what fio's manual names 17,112,760,320 ns.
        assert_eq!(histogram.sum(), 2 * 5 + 129 + 3 * 17_112_760_320);
        assert_eq!(histogram.count(), 6);
    }

    #[test]
    fn coarse_logs_are_read() {
        for coarseness in 0..=6 {
            let text = line("1, 0, 1", &[(0, 1)], BINS >> coarseness);
            let line = HistLog::new(text.as_bytes())
                .next()
                .expect("a line")
                .expect("readable");
            assert_eq!(line.coarseness(), coarseness);
            assert!(line.histogram().sum() < 1 << coarseness.max(1));
        }
    }

    /// fio 2.x counted microseconds in 19 groups of 64 bins.
    #[test]
    fn logs_of_old_versions_count_microseconds() {
        let text = line("1, 0, 1", &[(7, 1), (128, 2)], OLD_BINS);
        let line = HistLog::new(text.as_bytes())
            .next()
            .expect("a line")
            .expect("readable");
        assert_eq!(
            (line.coarseness(), line.histogram().sum()),
            (0, 7_000 + 2 * 129_000)
        );
    }

    #[test]
    fn invalid_histogram_logs_are_refused_with_their_line() {
        let good = line("1, 0, 4096", &[(9, 1)], BINS);
        assert_eq!(
            problem("x"),
            "line 1: invalid number in field 1; is this a histogram log?"
        );
        assert_eq!(
            problem("1"),
            "line 1: invalid number in field 2; is this a histogram log?"
        );
        assert!(
            problem(&format!("{good}\n1, 3, 4, 5"))
                .starts_with("line 3: invalid direction 3; expected")
        );
        assert!(problem("1, 0, 4096, 1, 2").starts_with("line 1: 2 bins are neither 1856 nor"));
        assert!(
            problem(&(good.clone() + &line("1, 0, 4096", &[], BINS / 2)))
                .starts_with("line 2: 928 bins, unlike")
        );
        assert!(
            problem(&line("1, 0, 1", &[(0, u64::MAX), (1, 1)], BINS))
                .contains("add up to more than")
        );
        assert!(problem(&"1, ".repeat(40_000)).contains("longer than 65536 bytes"));
    }
}
