//! What charts are drawn from: one job of one result, whoever wrote it.

use fathom_model::{Direction, Finding, Findings, LatencySummary, Moment, TimeSpan};

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
    /// Which of the results side by side it is from: jobs with the same number ran together.
    pub result: usize,
    /// Where its region begins, bytes.
    pub offset: Option<u64>,
    /// Planned bytes per second, in an open loop.
    pub rate: Option<f64>,
    /// How many clones its job has (`numjobs`), where the result tells them one by one and this is one of them.
    pub clones: Option<u32>,
    /// Share of its I/Os, percent, by the most they took, nanoseconds, rising; the last without an end.
    pub classes: Vec<(f64, f64)>,
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
    /// When it was seen; empty where it has no time of its own.
    pub when: Vec<TimeSpan>,
}

impl JobFigures {
    /// The same without what it did over time, which may be very much.
    #[must_use]
    pub(crate) fn slim(&self) -> JobFigures {
        JobFigures {
            source: self.source.clone(),
            name: self.name.clone(),
            rw: self.rw.clone(),
            ways: self.ways.clone(),
            findings: self.findings.clone(),
            classes: self.classes.clone(),
            series: Vec::new(),
            steady: Vec::new(),
            ..*self
        }
    }

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
        findings
            .entries
            .iter()
            .map(|entry| of_entry(findings, entry, source))
            .collect()
    }
}

fn of_entry(findings: &Findings, entry: &fathom_model::Entry, source: &str) -> JobFigures {
    let used = entry
        .directions
        .iter()
        .filter(|(_, summary)| summary.ios > 0 || summary.iops > 0.0);
    let block = entry
        .block_sizes
        .iter()
        .zip(entry.directions.iter())
        .find(|(_, (_, summary))| summary.ios > 0);
    let about = |finding: &&Finding| {
        finding
            .about
            .as_ref()
            .is_none_or(|name| *name == entry.name)
    };
    let option = |name: &str| {
        let told = |all: &[(String, Option<String>)]| {
            all.iter()
                .find(|(known, _)| known == name)
                .and_then(|(_, value)| value.clone())
        };
        told(&entry.options).or_else(|| told(&findings.globals))
    };
    let named = Named::of(&entry.name).filter(|_| entry.rw.is_empty());
    JobFigures {
        source: source.to_owned(),
        name: entry.name.clone(),
        rw: named
            .as_ref()
            .map_or_else(|| entry.rw.clone(), |named| named.rw.clone()),
        block: block
            .and_then(|((_, (low, high)), _)| (low == high && *low > 0).then_some(u64::from(*low))),
        depth: (entry.depth > 0)
            .then_some(entry.depth)
            .or(named.as_ref().map(|named| named.depth)),
        jobs: Some(
            named
                .as_ref()
                .map_or(entry.members.max(1), |named| named.jobs),
        ),
        mix: mix(
            entry.directions[Direction::Read].ios,
            entry.directions[Direction::Write].ios,
        ),
        offered: option("rate_iops")
            .and_then(|text| size(text.split(',').find(|part| !part.trim().is_empty())?))
            .map(|rate| rate as f64),
        ways: used
            .map(|(direction, summary)| of_direction(direction, summary))
            .collect(),
        cpu: Some((entry.user_percent, entry.system_percent)),
        series: entry.series.clone(),
        steady: entry
            .steady
            .iter()
            .flat_map(|s| &s.seen.samples)
            .map(|sample| sample.iops as f64)
            .collect(),
        findings: findings
            .findings
            .iter()
            .filter(about)
            .map(Remark::of)
            .collect(),
        result: 0,
        clones: option("numjobs")
            .and_then(|text| text.trim().parse().ok())
            .filter(|clones| *clones > 1 && entry.members <= 1),
        offset: option("offset").and_then(|text| size(&text)),
        rate: option("rate")
            .and_then(|text| size(text.split(',').find(|part| !part.trim().is_empty())?))
            .map(|rate| rate as f64),
        classes: classes(&entry.latency_ns, &entry.latency_us, &entry.latency_ms),
    }
}

/// What bench-fio writes into the names of logs: `randread-iodepth-16-numjobs-4`.
struct Named {
    rw: String,
    depth: u32,
    jobs: u32,
}

impl Named {
    fn of(name: &str) -> Option<Named> {
        let (rw, rest) = name.split_once("-iodepth-")?;
        let (depth, jobs) = rest.split_once("-numjobs-")?;
        let digits = |text: &str| {
            text.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
                .parse()
                .ok()
        };
        Some(Named {
            rw: rw.to_owned(),
            depth: digits(depth)?,
            jobs: digits(jobs)?,
        })
    }
}

/// `4096`, `4k`, `1m`: a number of bytes in a result of fio, 1024 to the k.
fn size(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &lower[digits.len()..] {
        "" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << power)
}

/// fio's classes of latency: their upper ends in nanoseconds, and the share of the I/Os in each, percent.
#[must_use]
pub fn classes(ns: &[f64; 10], us: &[f64; 10], ms: &[f64; 12]) -> Vec<(f64, f64)> {
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

fn mix(reads: u64, writes: u64) -> Option<u32> {
    (reads > 0 && writes > 0)
        .then(|| (100.0 * reads as f64 / (reads + writes) as f64).round() as u32)
}

fn of_direction(direction: Direction, summary: &fathom_model::DirectionSummary) -> WayFigures {
    let user_latency = summary.response.as_ref().filter(|response| response.n > 0);
    let fallback = if summary.clat.n > 0 {
        &summary.clat
    } else {
        &summary.lat
    };
    let samples = &summary.iops_samples;
    WayFigures {
        direction,
        iops: summary.iops,
        iops_spread: (samples.count > 1).then_some((samples.dev, samples.count)),
        bandwidth: summary.bandwidth,
        ios: summary.ios,
        latency: user_latency.unwrap_or(fallback).clone(),
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
            when: finding.when.clone(),
        }
    }
}
