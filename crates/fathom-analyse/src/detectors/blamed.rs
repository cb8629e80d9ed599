//! SCHEDULER_WAIT, BEHIND_FLUSHES, BEHIND_OWN_WRITES and REAPED_LATE: time that only the blame sheet shows.

use fathom_model::{BlamePhase, BlameRank, BlameRecording, BlameRow, Finding, OtherKind, Weight};

use super::RunContext;
use super::context::of_run;
use crate::blame::main_other;
use crate::figures::{duration, percent};

/// A part of the response time from this share on is worth a finding, 0 to 1.
const SHARE: f64 = 0.25;
/// A shorter time per I/O is not, nanoseconds.
const LEAST: f64 = 100e3;

/// The row in which a part of the time is largest, of all I/Os and of the slowest 1 %, with that part of its time.
fn worst<'a>(
    run: &RunContext<'a>,
    part: impl Fn(&BlameRow) -> f64,
) -> Option<(&'a BlameRecording, &'a BlameRow, f64)> {
    let recording = run.recording.blame.as_ref()?;
    let group = recording.groups.first()?;
    [BlameRank::Mean, BlameRank::SlowestPercent]
        .into_iter()
        .filter_map(|rank| group.row(rank))
        .map(|row| (recording, row, part(row)))
        .filter(|(_, row, part)| *part >= SHARE && part * row.mean_ns() >= LEAST)
        .max_by(|a, b| a.2.total_cmp(&b.2))
}

/// How much of the time of a row passed in a phase.
fn in_phase(phase: BlamePhase) -> impl Fn(&BlameRow) -> f64 {
    move |row| row.phases.share(phase)
}

/// How much of the response time passed in block layer and device while an other of this kind had requests there.
fn beside(run: &RunContext, kind: &OtherKind) -> impl Fn(&BlameRow) -> f64 {
    let index = run
        .recording
        .blame
        .as_ref()
        .and_then(|blame| blame.others.iter().position(|other| other.who == *kind));
    move |row| {
        let total = row.phases.total();
        index.map_or(0.0, |index| {
            row.beside(index) * row.in_block_layer_ns as f64 / total.max(1) as f64
        })
    }
}

fn evidence(row: &BlameRow, part: f64, what: &str) -> String {
    format!(
        "Of {}, {} of the response time ({} per I/O) {what}.",
        row.rank.text(),
        percent(part * 100.0),
        duration(part * row.mean_ns()),
    )
}

pub(crate) fn scheduler(run: &RunContext) -> Vec<Finding> {
    let Some((recording, row, part)) = worst(run, in_phase(BlamePhase::Scheduler)) else {
        return Vec::new();
    };
    let behind = main_other(recording, row)
        .map(|other| format!(", behind {}", recording.others[other].text()))
        .unwrap_or_default();
    let evidence = evidence(
        row,
        part,
        &format!("passed in the queue of the I/O scheduler{behind}"),
    );
    vec![of_run(
        Weight::Note,
        evidence,
        "Compare with the scheduler none (/sys/block/DEVICE/queue/scheduler), or with an idle device.",
    )]
}

pub(crate) fn flushes(run: &RunContext) -> Vec<Finding> {
    worst(run, beside(run, &OtherKind::Flushes))
        .map(|(_, row, part)| {
            of_run(
                Weight::Note,
                evidence(
                    row,
                    part,
                    "passed in the device while it flushed its cache",
                ),
                "Look for who flushes: fsync= of the jobs, the journal of the file system, or another program.",
            )
        })
        .into_iter()
        .collect()
}

pub(crate) fn own_writes(run: &RunContext) -> Vec<Finding> {
    worst(run, beside(run, &OtherKind::OwnLargeWrites))
        .map(|(_, row, part)| {
            of_run(
                Weight::Note,
                evidence(
                    row,
                    part,
                    "passed while the load's own writes of 128 KiB or more were in the device",
                ),
                "The latency of the small I/Os is that of a device under the load's own writes: measure them alone too.",
            )
        })
        .into_iter()
        .collect()
}

pub(crate) fn reaped_late(run: &RunContext) -> Vec<Finding> {
    worst(run, in_phase(BlamePhase::Reaping))
        .map(|(_, row, part)| {
            of_run(
                Weight::Degrades,
                evidence(
                    row,
                    part,
                    "passed after the device had completed them: the load generator saw the completions late",
                ),
                "The device is faster than these latencies: leave a CPU for each worker (cpus_allowed=, fewer jobs), or reap smaller batches (iodepth_batch_complete_max=).",
            )
        })
        .into_iter()
        .collect()
}

/// The codes whose findings also say where the time passed.
const WITH_PHASE: [&str; 4] = [
    "RATE_LIMITED",
    "REQUESTS_RESIZED",
    "LITTLE_DISAGREES",
    "WORKER_WAITED",
];
/// Foreign processes that are named.
const NAMED: usize = 3;

/// Adds to findings what the blame sheet knows of their cause.
pub(super) fn explain(recording: &BlameRecording, found: &mut [Finding]) {
    let Some(row) = recording
        .groups
        .first()
        .and_then(|group| group.row(BlameRank::SlowestPercent))
    else {
        return;
    };
    for finding in found {
        if WITH_PHASE.contains(&finding.code) {
            finding.evidence += " ";
            finding.evidence += &crate::blame::sentence(recording, row);
        }
        if finding.code == "FOREIGN_IO" {
            let names: Vec<String> = recording
                .others
                .iter()
                .enumerate()
                .filter(|(_, other)| {
                    matches!(other.who, OtherKind::Process { .. } | OtherKind::Kernel)
                })
                .take(NAMED)
                .map(|(index, other)| {
                    format!(
                        "{} ({} of the time of the slowest 1 % in the device)",
                        other.text(),
                        percent(row.beside(index) * 100.0)
                    )
                })
                .collect();
            if !names.is_empty() {
                finding.evidence += &format!(" Seen beside the load: {}.", names.join("; "));
            }
        }
    }
}
