//! Analyses an imported result.

use fathom_model::{
    Direction, DirectionSummary, Entry, Finding, Findings, HostRecording, ImportedDirection,
    ImportedFigures, ImportedLatency, ImportedResult, LatencyPercentiles, LatencySummary, Little,
    LogLatency, Nanos, Personality, RecordedFinding, RunEnd, SparseHistogram, StatedRate,
    ThroughputRounds, Weight,
};

use super::CheckInput;
use super::check_input::judge_alone;
use super::over_time;
use crate::catalogue::explain;
use crate::charts::job_figures::size;
use crate::detectors::few_samples::shown;
use crate::detectors::{not_steady, verdict};
use crate::group::groups;

/// Logs that account for less of the bytes do not show how the throughput changed.
const ACCOUNTED: f64 = 0.9;
/// From this ratio on two means contradict each other: windows and totals end at different times.
const CONTRADICTS: f64 = 1.5;
/// The mean of fewer I/Os is not compared.
const LEAST_LOGGED: f64 = 100.0;

/// The findings of `result`. Missing data (clock, host, conditions) stays empty.
#[must_use]
pub fn imported(result: ImportedResult) -> Findings {
    let found = judge_alone(&check_input(&result));
    let ImportedResult {
        mut source,
        written_unix_ms,
        elapsed,
        globals,
        mut entries,
        disks,
        judged,
        simulated,
        ..
    } = result;
    for entry in &mut entries {
        entry.little = little(entry);
        // The logs of fathom hold response latencies in an open loop; its summary has both.
        if !judged && log_latency(entry).is_some() {
            leave_out_log_latencies(entry);
        }
    }
    source.over_time = over_time::over_time(&entries);
    let written = Nanos::new(written_unix_ms.saturating_mul(1_000_000));
    Findings {
        personality: Personality::Fio,
        sources: source.files.clone(),
        globals,
        overrides: Vec::new(),
        started_unix_ns: written.saturating_sub(elapsed).get(),
        elapsed,
        end: RunEnd::Completed,
        groups: groups(&entries),
        entries,
        totals: Vec::new(),
        disks,
        targets: Vec::new(),
        verdict: verdict(&found),
        findings: found,
        clock: Default::default(),
        host: HostRecording {
            simulated,
            ..HostRecording::default()
        },
        conditions: Default::default(),
        stalls: Vec::new(),
        messages: source.notes.clone(),
        imported: Some(source),
        spec: None,
        blame: None,
        hosts: Vec::new(),
    }
}

/// The input of the checks of `result`: `fathom check` adds what the user states about it.
#[must_use]
pub fn check_input(result: &ImportedResult) -> CheckInput {
    let figures = |entry: &Entry| ImportedFigures {
        judged: result.judged,
        log_latency: log_latency(entry).filter(|_| !result.judged),
        ..figures_of(entry, &result.globals)
    };
    CheckInput {
        results: result.entries.iter().map(figures).collect(),
        hosts: result.hosts.clone(),
        spreads: result.entries.iter().filter_map(spread).collect(),
        recorded: result.recorded.iter().filter_map(recorded).collect(),
        ..CheckInput::default()
    }
}

/// Options as in a result.
type Options = [(String, Option<String>)];

/// The value of an option of a job, or of all jobs.
fn option<'a>(entry: &'a Entry, globals: &'a Options, name: &str) -> Option<&'a str> {
    let mut all = entry.options.iter().chain(globals);
    all.find(|(known, _)| known == name)?.1.as_deref()
}

/// Percentiles of the direction with most I/Os.
fn spread(entry: &Entry) -> Option<LatencyPercentiles> {
    let largest = entry.directions.0.iter().max_by_key(|one| one.ios)?;
    (largest.ios > 0).then(|| LatencyPercentiles {
        ios: largest.ios,
        percentiles: shown(largest)
            .1
            .percentiles
            .iter()
            .map(|(percent, ns)| (*percent, *ns as f64))
            .collect(),
    })
}

/// A finding in a result of fathom, if this version has its kind.
fn recorded(one: &RecordedFinding) -> Option<Finding> {
    let kind = explain(&one.finding.code)?;
    Some(Finding {
        id: kind.id,
        code: kind.code,
        weight: match one.finding.severity {
            0 => Weight::Note,
            1 => Weight::Degrades,
            _ => Weight::Invalidates,
        },
        about: one.about.clone(),
        evidence: one.finding.evidence.clone(),
        advice: one.finding.advice.clone(),
        when: one.finding.when.clone(),
    })
}

/// The rates over time of an entry whose logs account for most of its I/Os.
fn over_time(entry: &Entry) -> Option<ThroughputRounds> {
    let (mut bytes, mut to) = (0u64, Nanos::ZERO);
    for moment in &entry.series {
        bytes += moment.directions.0.iter().map(|one| one.bytes).sum::<u64>();
        to = to.max(moment.start + moment.length);
    }
    let all: u64 = entry.directions.0.iter().map(|one| one.bytes).sum();
    let accounted = bytes as f64 >= all as f64 * ACCOUNTED;
    (accounted && bytes > 0 && entry.series.len() >= 5 && to >= not_steady::LEAST).then(|| {
        ThroughputRounds {
            bytes_per_s: not_steady::rounds(&entry.series, Nanos::ZERO, to),
            from: Nanos::ZERO,
            to,
        }
    })
}

/// The means of the latency logs and of the summary, if they contradict each other.
fn log_latency(entry: &Entry) -> Option<LogLatency> {
    let moments = |direction: Direction| {
        entry
            .series
            .iter()
            .map(move |moment| &moment.directions[direction])
    };
    Direction::ALL.into_iter().find_map(|direction| {
        let (mut sum, mut ios) = (0.0, 0.0);
        for one in moments(direction) {
            if let Some(mean) = one.mean {
                sum += mean as f64 * one.ios as f64;
                ios += one.ios as f64;
            }
        }
        let summary = &entry.directions[direction];
        let mut means = [summary.clat.mean, summary.lat.mean]
            .into_iter()
            .filter(|mean| *mean > 0.0);
        let logs_ns = (ios >= LEAST_LOGGED).then(|| sum / ios)?;
        let apart = |mean: f64| (logs_ns / mean).max(mean / logs_ns);
        // The logs may be of either latency.
        let agrees = means.clone().any(|mean| apart(mean) <= CONTRADICTS);
        let summary_ns = means.next()?;
        (logs_ns > 0.0 && !agrees).then_some(LogLatency {
            logs_ns,
            summary_ns,
        })
    })
}

/// Removes the latencies over time, which the summary contradicts.
fn leave_out_log_latencies(entry: &mut Entry) {
    for moment in &mut entry.series {
        for one in &mut moment.directions.0 {
            (one.mean, one.p50, one.p99, one.max) = (None, None, None, None);
            one.latencies = SparseHistogram::default();
        }
    }
}

/// The figures of an entry that are checked.
fn figures_of(entry: &Entry, globals: &Options) -> ImportedFigures {
    let used = entry
        .directions
        .iter()
        .filter(|(_, direction_summary)| direction_summary.iops > 0.0);
    let mean = |lat: f64, clat: f64| [lat, clat].into_iter().find(|mean| *mean > 0.0);
    let streams = used.map(|(direction, direction_summary)| ImportedDirection {
        direction,
        iops: direction_summary.iops,
        latency_ns: mean(direction_summary.lat.mean, direction_summary.clat.mean),
        is_median: false,
    });
    let blocks =
        |d: Direction| Some(entry.block_sizes[d]).filter(|(low, high)| low == high && *low > 0);
    let has_mean =
        |of: fn(&DirectionSummary) -> f64| entry.directions.0.iter().any(|one| of(one) > 0.0);
    let latency_name = if has_mean(|one| one.lat.mean) {
        Some("lat")
    } else {
        has_mean(|one| one.clat.mean).then_some("clat")
    };
    ImportedFigures {
        latency_name,
        name: entry.name.clone(),
        rw: (!entry.rw.is_empty()).then(|| entry.rw.clone()),
        streams: streams.collect(),
        block: Direction::ALL
            .into_iter()
            .find_map(blocks)
            .map(|(size, _)| u64::from(size)),
        depth: (entry.depth > 0).then_some(entry.depth),
        jobs: Some(entry.members.max(1)),
        closed: entry.offered.is_none(),
        ios: Some(
            entry
                .directions
                .0
                .iter()
                .map(|direction_summary| direction_summary.ios)
                .sum(),
        ),
        error: entry.error,
        zipf: option(entry, globals, "random_distribution")
            .and_then(|text| text.strip_prefix("zipf:")?.split(':').next()?.parse().ok()),
        region: option(entry, globals, "size").and_then(size),
        latencies: entry
            .directions
            .iter()
            .filter(|(_, one)| one.ios > 0)
            .map(|(direction, one)| {
                let (kind, summary) = shown(one);
                ImportedLatency {
                    direction,
                    kind,
                    summary: LatencySummary {
                        bins: Vec::new(),
                        ..summary.clone()
                    },
                }
            })
            .collect(),
        rounds: over_time(entry),
        failed: entry.errors_continued.map_or(0, |(failed, _)| failed),
        rates: entry
            .directions
            .iter()
            .flat_map(|(d, direction_summary)| {
                StatedRate::of_direction(
                    d,
                    (direction_summary.iops, direction_summary.ios),
                    (direction_summary.bandwidth, direction_summary.bytes),
                    direction_summary.runtime_ms,
                )
            })
            .collect(),
        ..ImportedFigures::default()
    }
}

/// Little's law over all directions.
fn little(entry: &Entry) -> Little {
    let iops = entry
        .directions
        .0
        .iter()
        .map(|direction_summary| direction_summary.iops)
        .sum::<f64>();
    let in_flight = entry
        .directions
        .0
        .iter()
        .map(|direction_summary| direction_summary.iops * direction_summary.clat.mean / 1e9)
        .sum::<f64>();
    let asked = f64::from(entry.depth) * f64::from(entry.members);
    Little {
        queue_depth: asked,
        in_flight,
        iops,
        mean_ns: if iops > 0.0 {
            in_flight * 1e9 / iops
        } else {
            0.0
        },
    }
}
