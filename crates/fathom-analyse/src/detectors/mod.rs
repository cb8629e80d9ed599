//! The detectors: each checks for one known problem that makes figures misleading, and reports it
//! with figures.
//!
//! [`crate::FINDINGS`] lists them. Thresholds are conservative: a clean run has nothing above a
//! note.

pub(crate) mod blamed;
pub(crate) mod burst_ended;
pub(crate) mod cache_setting_disagrees;
pub(crate) mod ceiling_by_size;
pub(crate) mod ceiling_reached;
pub(crate) mod clock_drift;
pub(crate) mod clones_overlap;
pub(crate) mod command_failed;
pub(crate) mod context;
pub(crate) mod cpu_slowed;
pub(crate) mod cpu_throttled;
pub(crate) mod depth_not_reached;
pub(crate) mod device_queue_exceeded;
pub(crate) mod direct_not_direct;
pub(crate) mod engine_fallback;
pub(crate) mod few_samples;
pub(crate) mod fio_bins_clamped;
pub(crate) mod flush_unproven;
pub(crate) mod foreign_io;
pub(crate) mod generator_stall;
pub(crate) mod histogram_overflow;
pub(crate) mod holes_read;
pub(crate) mod host_busy;
pub(crate) mod host_straggles;
pub(crate) mod hosts_apart;
pub(crate) mod hosts_differ;
pub(crate) mod hosts_lost;
pub(crate) mod interrupted;
pub(crate) mod io_error;
pub(crate) mod job_skipped;
pub(crate) mod jobs_apart;
pub(crate) mod late_issue;
pub(crate) mod latency_above_class;
pub(crate) mod little_disagrees;
pub(crate) mod loop_buffered;
pub(crate) mod memory_backed;
pub(crate) mod memory_pressure;
pub(crate) mod not_conserved;
pub(crate) mod not_steady;
pub(crate) mod nothing_done;
pub(crate) mod page_cache;
pub(crate) mod percentile_inflection;
pub(crate) mod processes_left;
pub(crate) mod ran_short;
pub(crate) mod rate_limited;
pub(crate) mod rate_not_reached;
pub(crate) mod repeated_addresses;
pub(crate) mod replay_cut;
pub(crate) mod replay_lag;
pub(crate) mod requests_resized;
pub(crate) mod settings_changed;
pub(crate) mod settings_reduced;
pub(crate) mod short_io;
pub(crate) mod smooth_ceiling;
pub(crate) mod soft_payload;
pub(crate) mod steal;
pub(crate) mod summary_disagrees;
pub(crate) mod sync_engine_depth;
pub(crate) mod target_gone;
pub(crate) mod target_shared;
pub(crate) mod target_shrank;
pub(crate) mod target_stalled;
pub(crate) mod timed_out;
pub(crate) mod too_hot;
pub(crate) mod tool_bound;
pub(crate) mod verify_failed;
pub(crate) mod verify_nothing;
pub(crate) mod volatile_cache_no_flush;
pub(crate) mod wall_clock_stepped;
pub(crate) mod worker_died;
pub(crate) mod worker_waited;
pub(crate) mod working_set_cached;

use fathom_model::{Finding, TimeSpan, Verdict, Weight};

use crate::catalogue::FindingKind;
use crate::members::Member;

pub(crate) use self::context::{EntryContext, RunContext};

/// The findings of `kinds`, most severe first, one for each code and name.
pub(crate) fn detect(run: &RunContext, kinds: &[&FindingKind]) -> Vec<Finding> {
    let mut found = Vec::new();
    let of_command = run.witnessed().is_some();
    // The programs that are observed are those that use the CPUs.
    let of_others = !of_command && run.members().any(Member::is_of_observe);
    let applies = |kind: &&&FindingKind| {
        kind.about_commands && !(of_others && kind.code == "HOST_BUSY") || !of_command && !of_others
    };
    for kind in kinds.iter().filter(applies) {
        found.extend(merge_repeats(kind.detect(run)));
    }
    if let Some(blame) = &run.recording.blame {
        blamed::explain(blame, &mut found);
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

/// Merges findings of one code: keeps the most severe of each name, with the number of the others.
fn merge_repeats(found: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<(Finding, usize)> = Vec::new();
    for mut other in found {
        match merged
            .iter_mut()
            .find(|(first, _)| first.about == other.about)
        {
            Some((first, more)) => {
                *more += 1;
                if other.weight > first.weight {
                    std::mem::swap(first, &mut other);
                }
                first.when = TimeSpan::merged([first.when.as_slice(), &other.when].concat());
            }
            None => merged.push((other, 0)),
        }
    }
    merged
        .into_iter()
        .map(|(finding, more)| with_count(finding, more))
        .collect()
}

fn with_count(mut finding: Finding, more: usize) -> Finding {
    if more > 0 {
        finding.evidence += &format!(" ({more} more like this)");
    }
    finding
}

/// The rule of every verdict: the highest weight decides. A finding that invalidates makes the run
/// invalid, one that degrades makes it degraded, and notes leave it valid.
#[must_use]
pub fn verdict(findings: &[Finding]) -> Verdict {
    match findings.iter().map(|f| f.weight).max() {
        Some(Weight::Invalidates) => Verdict::Invalid,
        Some(Weight::Degrades) => Verdict::Degraded,
        Some(Weight::Note) | None => Verdict::Valid,
    }
}
