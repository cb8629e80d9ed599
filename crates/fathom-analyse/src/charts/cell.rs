//! What charts are drawn from: one job of one result, whoever wrote it.

use fathom_model::{Direction, Finding, Findings, LatencySummary, Moment};

/// One job, or one group of clones, of one result. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFigures {
    /// The result it is from: a device, a folder, a run.
    pub source: String,
    /// Its name in that result.
    pub name: String,
    /// fio's word for the pattern.
    pub rw: String,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// Queue depth of one job.
    pub depth: Option<u32>,
    /// Jobs at once.
    pub jobs: Option<u32>,
    /// Reads among all I/Os, percent.
    pub mix: Option<u32>,
    /// Planned I/Os per second, in an open loop.
    pub offered: Option<f64>,
    /// Reads, writes, trims, those that did something.
    pub ways: Vec<WayFigures>,
    /// CPU of one job in percent of its time: user, system.
    pub cpu: Option<(f64, f64)>,
    /// Over time.
    pub series: Vec<Moment>,
    /// Steady state by fio: samples of I/Os per second, a second each.
    pub steady: Vec<f64>,
    /// What qualifies it.
    pub findings: Vec<Remark>,
}

/// One direction of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct WayFigures {
    /// Which.
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

/// A finding as a result carries it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remark {
    /// `F005`.
    pub id: String,
    /// `SHORT_IO`.
    pub code: String,
    /// 0 note, 1 degrades, 2 invalidates.
    pub grave: u8,
    /// What was seen.
    pub evidence: String,
    /// What to do about it.
    pub advice: String,
}

impl JobFigures {
    /// I/Os per second of all directions.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.ways.iter().map(|way| way.iops).sum()
    }

    /// I/Os that could be in flight at once.
    #[must_use]
    pub fn outstanding(&self) -> Option<f64> {
        Some(f64::from(self.depth?) * f64::from(self.jobs.unwrap_or(1)))
    }

    /// The cells of a run of ours.
    #[must_use]
    pub fn of(findings: &Findings, source: &str) -> Vec<JobFigures> {
        findings.entries.iter().map(|entry| of_entry(findings, entry, source)).collect()
    }
}

fn of_entry(findings: &Findings, entry: &fathom_model::Entry, source: &str) -> JobFigures {
    let used = entry.directions.iter().filter(|(_, summary)| summary.ios > 0 || summary.iops > 0.0);
    let block = entry.block_sizes.iter().zip(entry.directions.iter()).find(|(_, (_, summary))| summary.ios > 0);
    let about = |finding: &&Finding| finding.about.as_ref().is_none_or(|name| *name == entry.name);
    JobFigures {
        source: source.to_owned(),
        name: entry.name.clone(),
        rw: entry.rw.clone(),
        block: block.and_then(|((_, (low, high)), _)| (low == high && *low > 0).then_some(u64::from(*low))),
        depth: (entry.depth > 0).then_some(entry.depth),
        jobs: Some(entry.members.max(1)),
        mix: mix(entry.directions[Direction::Read].ios, entry.directions[Direction::Write].ios),
        offered: None,
        ways: used.map(|(direction, summary)| of_direction(direction, summary)).collect(),
        cpu: Some((entry.user_percent, entry.system_percent)),
        series: entry.series.clone(),
        steady: entry.steady.iter().flat_map(|s| &s.seen.samples).map(|sample| sample.iops as f64).collect(),
        findings: findings.findings.iter().filter(about).map(Remark::of).collect(),
    }
}

fn mix(reads: u64, writes: u64) -> Option<u32> {
    (reads > 0 && writes > 0).then(|| (100.0 * reads as f64 / (reads + writes) as f64).round() as u32)
}

fn of_direction(direction: Direction, summary: &fathom_model::DirectionSummary) -> WayFigures {
    let felt = summary.response.as_ref().filter(|response| response.n > 0);
    let fallback = if summary.clat.n > 0 { &summary.clat } else { &summary.lat };
    let samples = &summary.iops_samples;
    WayFigures {
        direction,
        iops: summary.iops,
        iops_spread: (samples.count > 1).then_some((samples.dev, samples.count)),
        bandwidth: summary.bandwidth,
        ios: summary.ios,
        latency: felt.unwrap_or(fallback).clone(),
        slat: (summary.slat.n > 0).then_some(summary.slat.mean),
        lat: (summary.lat.n > 0).then_some(summary.lat.mean),
    }
}

impl Remark {
    fn of(finding: &Finding) -> Remark {
        Remark {
            id: finding.id.to_owned(),
            code: finding.code.to_owned(),
            grave: finding.weight as u8,
            evidence: finding.evidence.clone(),
            advice: finding.advice.clone(),
        }
    }
}
