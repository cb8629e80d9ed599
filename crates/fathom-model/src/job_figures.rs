//! The figures of one job of one result, by whichever program: the input of charts and reports.

use std::sync::Arc;

use crate::{BlameGroup, Direction, LatencySummary, MergedInterval, ObservedIo, TimeSpan};

/// One job, or one group of clones, of one result. Unknown values are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFigures {
    /// The result it belongs to: a device, a directory, a run.
    pub source: String,
    /// Its name in that result.
    pub name: String,
    /// The host that ran it, of a run on several hosts; else empty.
    pub host: String,
    /// Its description, from the job file; may be empty.
    pub description: String,
    /// It flushes what it writes (`fsync`, `fdatasync` or `sync`).
    pub commits: bool,
    /// fio's name of the pattern, such as `randread`.
    pub rw: String,
    /// Its I/O engine.
    pub engine: String,
    /// Which latency its figures are; empty if it is not known.
    pub latency_name: &'static str,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// Queue depth of one job.
    pub depth: Option<u32>,
    /// Number of concurrent jobs.
    pub jobs: Option<u32>,
    /// Reads among all I/Os, percent.
    pub mix: Option<u32>,
    /// Planned I/Os per second, in an open loop.
    pub offered: Option<f64>,
    /// Reads, writes and trims, where there were any.
    pub directions: Vec<DirectionFigures>,
    /// CPU of one job in percent of its time: user, system.
    pub cpu: Option<(f64, f64)>,
    /// Figures over time.
    pub series: Vec<MergedInterval>,
    /// Samples of fio's steady-state detection: I/Os per second, one each second.
    pub steady: Vec<f64>,
    /// Findings about this job.
    pub findings: Vec<JobFinding>,
    /// Number of its result: jobs with the same number ran together.
    pub result: usize,
    /// Where its region begins, bytes.
    pub offset: Option<u64>,
    /// Bytes of its region (`filesize`, or `size`).
    pub region: Option<u64>,
    /// Planned bytes per second, in an open loop.
    pub rate: Option<f64>,
    /// Number of clones of its job (`numjobs`), where the result lists them separately and this is one of them.
    pub clones: Option<u32>,
    /// Upper bound of a latency class in nanoseconds and its share of the I/Os in percent, rising; the last class has no bound.
    pub classes: Vec<(f64, f64)>,
    /// Block I/O of other programs, seen through tracepoints.
    pub observed: Option<Arc<ObservedIo>>,
    /// The blame sheet of its result; only in the first job of a result.
    pub blame: Vec<BlameGroup>,
}

/// One direction of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionFigures {
    /// Read, write or trim.
    pub direction: Direction,
    /// I/Os per second.
    pub iops: f64,
    /// Standard deviation of the samples of `iops`, and how many there are.
    pub iops_spread: Option<(f64, u64)>,
    /// Bytes per second.
    pub bandwidth: f64,
    /// I/Os.
    pub ios: u64,
    /// Response times in an open loop, completion latencies in a closed one, nanoseconds.
    pub latency: LatencySummary,
    /// Mean submission latency, nanoseconds.
    pub slat: Option<f64>,
    /// Mean total latency, nanoseconds.
    pub lat: Option<f64>,
}

/// A finding as it is stored in a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFinding {
    /// `F005`.
    pub id: String,
    /// `SHORT_IO`.
    pub code: String,
    /// 0: note, 1: degrades, 2: invalidates.
    pub severity: u8,
    /// The evidence, with its figures.
    pub evidence: String,
    /// Advice.
    pub advice: String,
    /// When it was seen; empty if it has no time.
    pub when: Vec<TimeSpan>,
}

impl JobFigures {
    /// The host of a job with this name in a run on these hosts: `web1` of `web1:read`. Empty if it is none of them.
    #[must_use]
    pub fn host_of<'a>(name: &str, hosts: impl Iterator<Item = &'a str>) -> String {
        let mut hosts = hosts.filter(|host| {
            name.strip_prefix(host)
                .is_some_and(|rest| rest.starts_with(':'))
        });
        hosts.next().unwrap_or_default().to_owned()
    }

    /// The same without its series, which may be large.
    #[must_use]
    pub fn without_series(&self) -> JobFigures {
        JobFigures {
            source: self.source.clone(),
            name: self.name.clone(),
            host: self.host.clone(),
            description: self.description.clone(),
            rw: self.rw.clone(),
            engine: self.engine.clone(),
            directions: self.directions.clone(),
            findings: self.findings.clone(),
            classes: self.classes.clone(),
            observed: self.observed.clone(),
            blame: self.blame.clone(),
            series: Vec::new(),
            steady: Vec::new(),
            ..*self
        }
    }

    /// I/Os per second of all directions.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.directions.iter().map(|one| one.iops).sum()
    }

    /// The most I/Os that can be in flight: depth x jobs.
    #[must_use]
    pub fn outstanding(&self) -> Option<f64> {
        Some(f64::from(self.depth?) * f64::from(self.jobs.unwrap_or(1)))
    }
}

impl DirectionFigures {
    /// The latency at a percentile that the result lists; the listed one may differ by a millionth.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let near = |listed: &&(f64, u64)| (listed.0 - percent).abs() < 1e-6 + percent * 1e-6;
        self.latency
            .percentiles
            .iter()
            .find(near)
            .map(|(_, value)| *value as f64)
            .filter(|value| *value > 0.0)
    }
}

/// fio's latency classes: the upper bound of each in nanoseconds, and its share of the I/Os in percent.
#[must_use]
pub fn latency_classes(ns: &[f64; 10], us: &[f64; 10], ms: &[f64; 12]) -> Vec<(f64, f64)> {
    const ENDS: [f64; 10] = [
        2.0, 4.0, 10.0, 20.0, 50.0, 100.0, 250.0, 500.0, 750.0, 1000.0,
    ];
    let below = |scale: f64, shares: &[f64; 10]| {
        ENDS.into_iter()
            .zip(*shares)
            .map(|(end, share)| (end * scale, share))
            .collect::<Vec<_>>()
    };
    let slow = ENDS
        .into_iter()
        .chain([2000.0, f64::INFINITY])
        .zip(*ms)
        .map(|(end, share)| (end * 1e6, share));
    let all: Vec<(f64, f64)> = below(1.0, ns)
        .into_iter()
        .chain(below(1e3, us))
        .chain(slow)
        .collect();
    if all.iter().any(|(_, share)| *share > 0.0) {
        all
    } else {
        Vec::new()
    }
}
