//! The figures of one cell of an experiment.

use std::ops::Range;

use fathom_model::{
    CellFigures, CellLatency, Findings, Histogram, Interval, JobRecording, Recording, Verdict,
    Weight,
};

/// Number of parts of the measured time.
const PARTS: usize = crate::search::SEARCH_PARTS;

/// The figures of a whole recording: all jobs and directions together. `sides` are the jobs of each
/// target if several targets were loaded at once.
#[must_use]
pub fn cell_figures(
    recording: &Recording,
    findings: &Findings,
    sides: &[Range<usize>],
) -> CellFigures {
    let rates = |jobs: &[JobRecording]| {
        jobs.iter()
            .map(rate)
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let (iops, bandwidth) = rates(&recording.jobs);
    let weighty = |finding: &&fathom_model::Finding| finding.weight != Weight::Note;
    let mut codes: Vec<String> = findings
        .findings
        .iter()
        .filter(weighty)
        .map(|finding| finding.code.to_owned())
        .collect();
    // Several hosts may have the same finding.
    let all = std::mem::take(&mut codes);
    for code in all {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    CellFigures {
        iops,
        bandwidth,
        offered: offered(recording),
        latency: latency(recording),
        bad: recording.jobs.iter().map(bad).sum(),
        not_sent: recording.jobs.iter().map(not_sent).sum(),
        error: recording
            .jobs
            .iter()
            .find_map(|job| job.error.as_ref())
            .map_or(0, |error| error.errno),
        elapsed: recording.elapsed,
        end: findings.end,
        verdict: if findings.entries.is_empty() {
            Verdict::Invalid
        } else {
            findings.verdict
        },
        codes,
        parts: parts(recording),
        per_target: sides
            .iter()
            .map(|side| rates(recording.jobs.get(side.clone()).unwrap_or(&[])).0)
            .collect(),
    }
}

/// Good I/Os and bytes per second of one job's measured time.
fn rate(job: &JobRecording) -> (f64, f64) {
    let seconds = job.ended.saturating_sub(job.measured_from).as_secs_f64();
    let sum = job.directions.iter().fold((0, 0), |sum, (_, seen)| {
        (sum.0 + seen.counts.ok, sum.1 + seen.counts.bytes_ok)
    });
    if seconds > 0.0 {
        (sum.0 as f64 / seconds, sum.1 as f64 / seconds)
    } else {
        (0.0, 0.0)
    }
}

fn bad(job: &JobRecording) -> u64 {
    job.directions
        .iter()
        .map(|(_, seen)| seen.counts.planned.saturating_sub(seen.counts.ok))
        .sum()
}

fn not_sent(job: &JobRecording) -> u64 {
    job.directions
        .iter()
        .map(|(_, seen)| seen.counts.not_sent)
        .sum()
}

/// Planned I/Os per second of the measured time.
fn offered(recording: &Recording) -> Option<f64> {
    let jobs = recording.plan.jobs.iter().zip(&recording.jobs);
    let open = jobs.filter(|(job, _)| job.pace.rate.iter().any(|(_, rate)| rate.is_some()));
    let due = open.map(|(_, seen)| {
        let seconds = seen.ended.saturating_sub(seen.measured_from).as_secs_f64();
        let planned: u64 = seen
            .directions
            .iter()
            .map(|(_, one)| one.counts.planned)
            .sum();
        if seconds > 0.0 {
            planned as f64 / seconds
        } else {
            0.0
        }
    });
    let due: Vec<f64> = due.collect();
    (!due.is_empty()).then(|| due.iter().sum())
}

fn latency(recording: &Recording) -> CellLatency {
    let mut all = Histogram::new();
    for (_, seen) in recording.jobs.iter().flat_map(|job| job.directions.iter()) {
        all.merge(if seen.response.count() > 0 {
            &seen.response
        } else {
            &seen.clat
        });
    }
    latency_figures(&all)
}

/// Latencies of the I/Os that completed in each of the equal parts of the measured time.
fn parts(recording: &Recording) -> Vec<CellLatency> {
    let all = || recording.jobs.iter().flat_map(|job| &job.intervals);
    let middle = |one: &Interval| one.start.get() + one.length.get() / 2;
    let (Some(first), Some(last)) = (all().map(middle).min(), all().map(middle).max()) else {
        return Vec::new();
    };
    let longest = all().map(|one| one.length.get()).max().unwrap_or(0);
    let span = last - first + 1;
    if span < longest * (PARTS as u64 - 1) {
        return Vec::new();
    }
    let mut seen = vec![Histogram::new(); PARTS];
    for one in all() {
        let part = &mut seen
            [(u128::from(middle(one) - first) * PARTS as u128 / u128::from(span)) as usize];
        for (_, direction) in one.directions.iter() {
            if direction.response.is_empty() {
                direction.clat.add_to(part);
            } else {
                direction.response.add_to(part);
            }
        }
    }
    seen.iter().map(latency_figures).collect()
}

fn latency_figures(all: &Histogram) -> CellLatency {
    let at = |percent: f64| all.percentile(percent).unwrap_or(0.0);
    CellLatency {
        mean: all.mean(),
        p50: at(50.0),
        p90: at(90.0),
        p99: at(99.0),
        p999: at(99.9),
        p9999: at(99.99),
        max: all.max().map_or(0.0, |max| max.get() as f64),
    }
}
