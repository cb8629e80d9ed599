//! Scenes of findings about jobs, workers and counts.

use fathom_model::*;

use super::Scenes;
use crate::sample::*;
use crate::triggers::{one_failure, two_latencies, verifying, with, writes};

/// 4,000 reads per second of this latency by a job of this depth.
pub fn of_depth(depth: u32, clat_ns: u64) -> Recording {
    let mut job = job("clean");
    (job.queue.depth, job.queue.low) = (depth, depth);
    let mut recording = run_of(vec![job]);
    fill(&mut recording, 0, Direction::Read, 40_000, clat_ns);
    recording
}

/// The clean run, whose only worker used so much CPU time of its 10 s.
fn worker_used(cpu_ms: u64) -> Recording {
    with(|r| {
        r.jobs[0].usage.user = Nanos::ZERO;
        r.jobs[0].usage.system = Nanos::from_millis(cpu_ms);
    })
}

fn worker_waited(ms: u64) -> Recording {
    with(|r| r.jobs[0].usage.waited = Nanos::from_millis(ms))
}

/// The clean run on a host that can generate so many I/Os per second.
fn of_ceiling(iops: f64) -> Recording {
    with(|r| r.jobs[0].ceiling_iops = Some(iops))
}

/// So many reads in the whole run.
fn of_reads(ios: u64) -> Recording {
    let mut recording = run_of(vec![job("clean")]);
    spoil(&mut recording, |counts| {
        (counts.planned, counts.ok) = (ios, ios);
        (counts.bytes_requested, counts.bytes_ok) = (ios * 4096, ios * 4096);
    });
    recording
}

/// One read counts in the interval after its own: the totals are the same.
fn moved_to_the_next_interval() -> Recording {
    with(|r| {
        for (interval, ios) in [(3, 399), (4, 401)] {
            let read = &mut r.jobs[0].intervals[interval].directions[Direction::Read];
            (read.ios, read.bytes) = (ios, ios * 4096);
        }
    })
}

/// The clean run with one latency of this length.
fn with_latency(ns: u64) -> Recording {
    with(|r| r.jobs[0].directions[Direction::Read].lat.record(ns))
}

fn with_drift(ppm: f64) -> Recording {
    with(|r| r.clock.drift_ppm = ppm)
}

/// An event of a worker that is none of its death or of its target.
fn other_event() -> Recording {
    with(|r| {
        event(
            r,
            EventKind::GaveUp {
                in_flight: 0,
                waited: Nanos::ZERO,
            },
        );
    })
}

/// A command that ended like this.
fn command_ended(ended: ProgramEnd) -> Recording {
    with(|r| r.host.witnessed = command(|one| one.ended = ended))
}

pub const SCENES: &[Scenes<Recording>] = &[
    Scenes::fact("WORKER_DIED", &[other_event]),
    // What failed has an outcome.
    Scenes::fact("NOT_CONSERVED", &[|| with(one_failure)]),
    Scenes::fact("SUMMARY_DISAGREES", &[moved_to_the_next_interval]),
    Scenes::fact("VERIFY_FAILED", &[|| verifying(2_048, 2_048, 0)]),
    Scenes::limit(
        "VERIFY_NOTHING",
        (
            || verifying(2_048, 2_047, 0),
            "Verified 2,047 of 2,048 blocks, 1 skipped.",
        ),
        &[|| verifying(2_048, 2_048, 0), || writes(|_| {})],
    ),
    // What failed transferred nothing.
    Scenes::fact("SHORT_IO", &[|| with(one_failure)]),
    Scenes::fact("TARGET_SHRANK", &[other_event]),
    Scenes::limit(
        "NOTHING_DONE",
        (|| of_reads(0), "1 of 1 jobs completed no I/O in 10.00 s"),
        &[|| of_reads(1), clean],
    ),
    // A command that a signal ended was not complete; one with an exit code was.
    Scenes::fact(
        "INTERRUPTED",
        &[clean, || command_ended(ProgramEnd::Code(1))],
    ),
    Scenes::fact(
        "COMMAND_FAILED",
        &[
            || command_ended(ProgramEnd::Code(0)),
            || command_ended(ProgramEnd::Signal(9)),
        ],
    ),
    Scenes::fact("PROCESSES_LEFT", &[|| command_ended(ProgramEnd::Code(0))]),
    Scenes::fact("ENGINE_FALLBACK", &[clean]),
    // 4,000 per second of 1 ms are 4 in flight: less than half of 9, and half of 8.
    Scenes::limit(
        "DEPTH_NOT_REACHED",
        (|| of_depth(9, MS), "Requested depth 9, achieved 4.0"),
        &[|| of_depth(8, MS), || of_depth(4, MS)],
    ),
    // 4,000 x 0.999 ms are 79.92 % of 5, and 4,000 x 1 ms are 80 %.
    Scenes::limit(
        "LITTLE_DISAGREES",
        (
            || of_depth(5, 999_000),
            "= 4.00 in flight, of 5 possible: 20 % of the time passed between I/Os",
        ),
        &[|| of_depth(5, MS), || of_depth(4, MS)],
    ),
    // 4,000 x 1.051 ms are 105.1 % of 4, and 4,000 x 1.049 ms are 104.9 %.
    Scenes::limit(
        "LITTLE_DISAGREES",
        (
            || of_depth(4, 1_051_000),
            "= 4.20 in flight by Little's law, but at most 4 are possible",
        ),
        &[|| of_depth(4, 1_049_000), || of_depth(4, MS)],
    ),
    // 9.5 s of 10 s are 95 %.
    Scenes::limit(
        "TOOL_BOUND",
        (
            || worker_used(9_500),
            "Worker 1 used 95 % of its available CPU time at 4,000 I/Os per second",
        ),
        &[|| worker_used(9_499), clean],
    ),
    // 85 % of 4,705 are 3,999.25, and of 4,706 they are 4,000.1.
    Scenes::limit(
        "TOOL_BOUND",
        (
            || of_ceiling(4_705.0),
            "4,000 of the 4,705 I/Os per second that this host can generate",
        ),
        &[|| of_ceiling(4_706.0), || of_ceiling(1e6)],
    ),
    // A fifth of 10 s.
    Scenes::limit(
        "WORKER_WAITED",
        (
            || worker_waited(2_000),
            "waited 2.00 s for a CPU (20 % of its time)",
        ),
        &[|| worker_waited(1_999), clean],
    ),
    Scenes::limit(
        "CLOCK_DRIFT",
        (|| with_drift(-501.0), "drifted 501 ppm"),
        &[|| with_drift(-500.0), || with_drift(0.0)],
    ),
    // The histogram ends at 2^42 - 1 ns, 4,398 s or 73.3 minutes.
    Scenes::limit(
        "HISTOGRAM_OVERFLOW",
        (
            || with_latency(1 << 42),
            "1 value above the histogram's range of 73 minutes",
        ),
        &[|| with_latency((1 << 42) - 1), clean],
    ),
    // Twice as long; a bucket of the histogram is 0.8 % wide.
    Scenes::limit(
        "PERCENTILE_INFLECTION",
        (
            || two_latencies(MS, 2_020_000),
            "read clat is 1.00 ms up to p90 and 2.02 ms at p95, 2.0 times that",
        ),
        &[|| two_latencies(MS, 1_980_000), || two_latencies(MS, MS)],
    ),
];
