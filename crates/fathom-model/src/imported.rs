//! Results of other programs, in our units: the same figures as those of our own runs, with the unknown ones listed.
//!
//! `fathom-import` fills these from text; `fathom_analyse::imported` turns them into [`crate::Findings`], like
//! those of our own runs.

use std::fmt;

use crate::format::{duration, percent, rate};
use crate::{Direction, DiskSummary, Entry, ImportedHosts, JobFinding, Nanos, Simulated};

/// One run of another program.
///
/// Its entries are those of the result, each with a [`crate::MergedInterval`] for every window of its logs. A figure that the result
/// does not have is empty: a `depth` of 0 is unknown, as is an empty `rw`.
#[derive(Clone, Debug, Default)]
pub struct ImportedResult {
    /// Where it comes from.
    pub source: Provenance,
    /// When the result was written, milliseconds since 1970; 0 where unknown.
    pub written_unix_ms: u64,
    /// Length of the run as far as it is known.
    pub elapsed: Nanos,
    /// Options of the global section.
    pub globals: Vec<(String, Option<String>)>,
    /// Jobs, or groups of clones reported as one.
    pub entries: Vec<Entry>,
    /// Block devices below the targets.
    pub disks: Vec<DiskSummary>,
    /// The hosts of a client/server result.
    pub hosts: ImportedHosts,
    /// The result is of a run of fathom, which judged it with more data than the result contains.
    pub judged: bool,
    /// Set in a result of a simulated device.
    pub simulated: Option<Simulated>,
    /// Findings in the result that cannot be found again from its figures.
    pub recorded: Vec<RecordedFinding>,
}

/// A finding in a result of fathom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedFinding {
    /// Name of the entry it is about; `None` is the whole run.
    pub about: Option<String>,
    /// The finding.
    pub finding: JobFinding,
}

/// Where the figures of an imported result come from, and what is unknown about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Program and version, such as `fio-3.33`; empty where unknown.
    pub program: String,
    /// What it was read from: the result first, then its logs.
    pub files: Vec<String>,
    /// Unknown properties: `queue depth`, `device`.
    pub unknown: Vec<String>,
    /// Remarks of the importer, in sentences.
    pub notes: Vec<String>,
    /// How even the directions of its entries are over time.
    pub over_time: Vec<DirectionOverTime>,
}

/// The intervals of one direction of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionOverTime {
    /// Index of the entry.
    pub entry: usize,
    /// The direction.
    pub direction: Direction,
    /// I/Os per second.
    pub iops: OverTime,
    /// Mean latency of the intervals, nanoseconds; `None` without a latency log.
    pub latency: Option<OverTime>,
}

/// A figure over the intervals of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverTime {
    /// Number of intervals.
    pub intervals: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Smallest.
    pub least: f64,
    /// Largest.
    pub most: f64,
}

/// `1,000 IOPS, deviation 14 %, 800 to 1,200 (1.5 times); latency 95.2 us, deviation 5.0 %, 61.8 us to 188 us (3.0 times)`.
impl fmt::Display for DirectionOverTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let iops = &self.iops;
        write!(
            f,
            "{} IOPS, deviation {}, {} to {}{}",
            rate(iops.mean),
            iops.relative(),
            rate(iops.least),
            rate(iops.most),
            iops.ratio()
        )?;
        if let Some(latency) = &self.latency {
            write!(
                f,
                "; latency {}, deviation {}, {} to {}{}",
                duration(latency.mean),
                latency.relative(),
                duration(latency.least),
                duration(latency.most),
                latency.ratio()
            )?;
        }
        Ok(())
    }
}

impl OverTime {
    /// The deviation relative to the mean.
    fn relative(&self) -> String {
        percent(100.0 * self.deviation / self.mean.max(f64::MIN_POSITIVE))
    }

    /// How many times the smallest the largest is.
    fn ratio(&self) -> String {
        if self.least > 0.0 {
            format!(" ({:.1} times)", self.most / self.least)
        } else {
            String::new()
        }
    }
}
