//! The detectors: each looks for one known way in which numbers mislead, and says so with the figures.
//!
//! They are data: [`DETECTORS`] is the whole list, and a run can be judged with any part of it. Thresholds are
//! conservative: a clean run shows nothing above a note.

mod cache_setting_disagrees;
mod ceiling_reached;
mod clock_drift;
mod clones_overlap;
mod context;
mod cpu_slowed;
mod cpu_throttled;
mod depth_not_reached;
mod direct_not_direct;
mod engine_fallback;
mod few_samples;
mod fio_bins_clamped;
mod flush_unproven;
mod foreign_io;
mod generator_stall;
mod histogram_overflow;
mod holes_read;
mod host_busy;
mod interrupted;
mod io_error;
mod job_skipped;
mod jobs_apart;
mod late_issue;
mod little_disagrees;
mod loop_buffered;
mod memory_backed;
mod memory_pressure;
mod not_conserved;
mod not_steady;
mod nothing_done;
mod page_cache;
mod percentile_inflection;
mod ran_short;
mod rate_limited;
mod rate_not_reached;
mod repeated_addresses;
mod replay_cut;
mod replay_lag;
mod requests_resized;
mod settings_changed;
mod settings_reduced;
mod short_io;
mod soft_payload;
mod steal;
mod summary_disagrees;
mod sync_engine_depth;
mod target_gone;
mod target_shared;
mod target_shrank;
mod timed_out;
mod too_hot;
mod tool_bound;
mod verify_failed;
mod verify_nothing;
mod volatile_cache_no_flush;
mod wall_clock_stepped;
mod worker_died;
mod worker_waited;
mod working_set_cached;

use fathom_model::{Finding, TimeSpan, Verdict, Weight};

pub(crate) use self::context::{EntryContext, RunContext};

/// Looks for one way in which numbers mislead.
#[derive(Clone, Copy, Debug)]
pub struct Detector {
    /// Stable name of what it finds.
    pub code: &'static str,
    detect: fn(&RunContext) -> Vec<Finding>,
}

/// All detectors; within one weight, findings are listed in this order.
pub const DETECTORS: &[Detector] = &[
    worker_died::DETECTOR,
    not_conserved::DETECTOR,
    summary_disagrees::DETECTOR,
    verify_failed::DETECTOR,
    short_io::DETECTOR,
    io_error::DETECTOR,
    timed_out::DETECTOR,
    target_shrank::DETECTOR,
    nothing_done::DETECTOR,
    generator_stall::DETECTOR,
    verify_nothing::DETECTOR,
    interrupted::DETECTOR,
    ran_short::DETECTOR,
    job_skipped::DETECTOR,
    rate_not_reached::DETECTOR,
    late_issue::DETECTOR,
    replay_lag::DETECTOR,
    replay_cut::DETECTOR,
    depth_not_reached::DETECTOR,
    sync_engine_depth::DETECTOR,
    page_cache::DETECTOR,
    foreign_io::DETECTOR,
    cpu_throttled::DETECTOR,
    steal::DETECTOR,
    host_busy::DETECTOR,
    worker_waited::DETECTOR,
    tool_bound::DETECTOR,
    clock_drift::DETECTOR,
    histogram_overflow::DETECTOR,
    clones_overlap::DETECTOR,
    jobs_apart::DETECTOR,
    not_steady::DETECTOR,
    repeated_addresses::DETECTOR,
    requests_resized::DETECTOR,
    volatile_cache_no_flush::DETECTOR,
    soft_payload::DETECTOR,
    few_samples::DETECTOR,
    fio_bins_clamped::DETECTOR,
    engine_fallback::DETECTOR,
    direct_not_direct::DETECTOR,
    holes_read::DETECTOR,
    target_gone::DETECTOR,
    target_shared::DETECTOR,
    little_disagrees::DETECTOR,
    rate_limited::DETECTOR,
    ceiling_reached::DETECTOR,
    percentile_inflection::DETECTOR,
    settings_changed::DETECTOR,
    settings_reduced::DETECTOR,
    cache_setting_disagrees::DETECTOR,
    working_set_cached::DETECTOR,
    too_hot::DETECTOR,
    cpu_slowed::DETECTOR,
    memory_pressure::DETECTOR,
    wall_clock_stepped::DETECTOR,
    flush_unproven::DETECTOR,
    memory_backed::DETECTOR,
    loop_buffered::DETECTOR,
];

/// What the detectors find, worst first, one finding for each code and name.
pub(crate) fn detect(scene: &RunContext, detectors: &[Detector]) -> Vec<Finding> {
    let mut found = Vec::new();
    for detector in detectors {
        found.extend(folded((detector.detect)(scene)));
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

/// Sightings of one code, one for each name: the worst is told, the others are counted.
fn folded(sightings: Vec<Finding>) -> Vec<Finding> {
    let mut told: Vec<(Finding, usize)> = Vec::new();
    for mut sighting in sightings {
        match told
            .iter_mut()
            .find(|(first, _)| first.about == sighting.about)
        {
            Some((first, more)) => {
                *more += 1;
                if sighting.weight > first.weight {
                    std::mem::swap(first, &mut sighting);
                }
                first.when = TimeSpan::joined([first.when.as_slice(), &sighting.when].concat());
            }
            None => told.push((sighting, 0)),
        }
    }
    told.into_iter()
        .map(|(finding, more)| with_count(finding, more))
        .collect()
}

fn with_count(mut finding: Finding, more: usize) -> Finding {
    if more > 0 {
        finding.evidence += &format!(" ({more} more like this)");
    }
    finding
}

/// The rule of every verdict: the worst weight decides. A finding that invalidates makes the run invalid, one that degrades
/// makes it degraded, and notes leave it valid.
#[must_use]
pub fn verdict(findings: &[Finding]) -> Verdict {
    match findings.iter().map(|f| f.weight).max() {
        Some(Weight::Invalidates) => Verdict::Invalid,
        Some(Weight::Degrades) => Verdict::Degraded,
        Some(Weight::Note) | None => Verdict::Valid,
    }
}
