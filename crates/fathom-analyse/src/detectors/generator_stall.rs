//! GENERATOR_STALL: the load generator itself was stopped.

use fathom_model::{Finding, Nanos, Stall, TimeSpan, Weight};

use super::context::of_run;
use super::{EntryContext, RunContext};
use crate::figures::{count, counted, duration, percent, share};
use crate::job_summary::is_open_loop;

/// A watchdog that wakes this late did not only wait for its time slice: scheduler slices are a few
/// milliseconds, the period of CPU quotas is 100 ms (Documentation/scheduler/sched-bwc.rst of
/// Linux).
const LONG_STALL: Nanos = Nanos::from_millis(100);
/// Slower responses are counted in the evidence.
const SLOW: Nanos = Nanos::from_millis(100);
/// From this share of slow responses on, p99 measures the generator.
const SLOW_PERCENT: f64 = 1.0;
/// From this share of the run on, even closed-loop rates measure the generator.
const LOST_PERCENT: f64 = 5.0;
const ADVICE: &str = "Something stopped this process (suspend, debugger, CPU quota, a busy or paused machine): fix that and run again.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let measured = |s: &Stall| run.entries.iter().any(|entry| hits(s, entry));
    let long = run
        .recording
        .stalls
        .iter()
        .filter(|s| s.lasted >= LONG_STALL);
    let stalls: Vec<Stall> = long.copied().filter(measured).collect();
    if stalls.is_empty() {
        return Vec::new();
    }
    let open = run.each(|entry| open_loop(entry, &stalls));
    if open.is_empty() {
        vec![closed_loop(run, &stalls)]
    } else {
        open
    }
}

fn open_loop(entry: &EntryContext, stalls: &[Stall]) -> Option<Finding> {
    let worst = worst(stalls.iter().filter(|s| hits(s, entry)))?;
    if !entry.members.iter().any(|m| is_open_loop(&m.job.pace)) {
        return None;
    }
    let (response, service) = (
        entry.latencies(|d| &d.response),
        entry.latencies(|d| &d.clat),
    );
    let behind = entry.latencies(|d| &d.lateness).max().unwrap_or_default();
    let slow = response.count_above(SLOW);
    let evidence = format!(
        "Response p99 {} (service {}). The generator fell behind by up to {}; {} took more than {}. Its watchdog woke \
         {} late at {} of the run.",
        duration(response.percentile(99.0).unwrap_or(0.0)),
        duration(service.percentile(99.0).unwrap_or(0.0)),
        duration(behind.get() as f64),
        counted(slow, "response"),
        duration(SLOW.get() as f64),
        duration(worst.lasted.get() as f64),
        duration(worst.at.get() as f64),
    );
    let matters = share(slow, response.count()) >= SLOW_PERCENT;
    Some(
        entry
            .finding(weight(matters), evidence, ADVICE)
            .with_times(times(stalls.iter().filter(|s| hits(s, entry)))),
    )
}

/// Whether a stall overlaps the measured time of an entry.
fn hits(stall: &Stall, entry: &EntryContext) -> bool {
    let (from, to) = entry.span();
    stall.at < to && stall.at + stall.lasted > from
}

fn closed_loop(run: &RunContext, stalls: &[Stall]) -> Finding {
    let worst = worst(stalls.iter()).unwrap_or(stalls[0]);
    let (lost, elapsed) = (covered(stalls), run.recording.elapsed);
    let lost_share = share(lost.get(), elapsed.get());
    let evidence = format!(
        "The generator stalled {} times, {} in total ({} of the run), for up to {} at {} of the run; it submitted no I/O meanwhile.",
        count(stalls.len() as u64),
        duration(lost.get() as f64),
        percent(lost_share),
        duration(worst.lasted.get() as f64),
        duration(worst.at.get() as f64),
    );
    of_run(weight(lost_share >= LOST_PERCENT), evidence, ADVICE).with_times(times(stalls.iter()))
}

fn times<'a>(stalls: impl Iterator<Item = &'a Stall>) -> Vec<TimeSpan> {
    stalls
        .map(|stall| TimeSpan::of_length(stall.at, stall.lasted))
        .collect()
}

fn weight(matters: bool) -> Weight {
    if matters {
        Weight::Invalidates
    } else {
        Weight::Degrades
    }
}

fn worst<'a>(stalls: impl Iterator<Item = &'a Stall>) -> Option<Stall> {
    stalls.copied().max_by_key(|s| s.lasted)
}

/// Time covered by the stalls; several watchdogs may report the same one.
fn covered(stalls: &[Stall]) -> Nanos {
    let mut sorted = stalls.to_vec();
    sorted.sort_by_key(|s| s.at);
    let (mut sum, mut until) = (Nanos::ZERO, Nanos::ZERO);
    for stall in sorted {
        let end = stall.at + stall.lasted;
        sum += end.saturating_sub(stall.at.max(until));
        until = until.max(end);
    }
    sum
}
