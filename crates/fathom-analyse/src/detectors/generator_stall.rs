//! GENERATOR_STALL: the load generator itself was stopped.

use fathom_model::{Direction, Finding, Nanos, Stall, TimeSpan, Weight};

use super::context::of_run;
use super::few_samples::shown;
use super::{EntryContext, RunContext};
use crate::figures::{count, counted, duration, percent, share};
use crate::job_summary::is_open_loop;

/// A watchdog that wakes this late did not only wait for its time slice: scheduler slices are a few
/// milliseconds, the period of CPU quotas is 100 ms (Documentation/scheduler/sched-bwc.rst of
/// Linux).
const LONG_STALL: Nanos = Nanos::from_millis(100);
/// A short stall is a finding where it delays I/Os that are due meanwhile. This is twice the sleep of
/// the watchdog beside an open loop, and longer than a time slice.
const SHORT_STALL: Nanos = Nanos::from_millis(10);
/// I/Os of an open loop that were submitted later than this are delayed.
const DELAYED: Nanos = Nanos::from_millis(5);
/// Fewer delayed I/Os than this do not count: any percentile that they change has few samples.
const LEAST_DELAYED: f64 = 5.0;
/// An open loop catches up after a stall. At two thirds of the highest rate of the target this takes
/// twice as long as the stall, and I/Os are delayed for three times its length.
const CATCHING_UP: f64 = 3.0;
/// Slower responses are counted in the evidence.
const SLOW: Nanos = Nanos::from_millis(100);
/// From this share of slow responses on, p99 measures the generator.
const SLOW_PERCENT: f64 = 1.0;
/// From this share of the run on, even closed-loop rates measure the generator.
const LOST_PERCENT: f64 = 5.0;
/// From this share of I/Os that were not submitted on, a target counts as one that does not complete the planned load.
const MISSING_PERCENT: f64 = 2.0;
const ADVICE: &str = "Something stopped this process (suspend, debugger, CPU quota, a busy or paused machine): fix that and run again.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let measured = |s: &Stall| run.entries.iter().any(|entry| hits(s, entry));
    let long = run
        .recording
        .stalls
        .iter()
        .filter(|s| s.lasted >= LONG_STALL);
    let stalls: Vec<Stall> = long.copied().filter(measured).collect();
    let open = run.each(|entry| open_loop(entry, &stalls).or_else(|| short(entry, run)));
    if open.is_empty() && !stalls.is_empty() {
        vec![closed_loop(run, &stalls)]
    } else {
        open
    }
}

/// Whether stalls of the generator explain why I/Os of this entry were submitted late.
pub(super) fn delayed_by_stalls(entry: &EntryContext, run: &RunContext) -> bool {
    let mut stalls = run.recording.stalls.iter();
    stalls.any(|s| s.lasted >= LONG_STALL && hits(s, entry)) || !short_stalls(entry, run).is_empty()
}

/// The stalls that delayed enough I/Os of an open loop to change its figures: at least as many as
/// are above the highest percentile that it shows. None where the target delayed them instead.
fn short_stalls(entry: &EntryContext, run: &RunContext) -> Vec<Stall> {
    if !entry.members.iter().any(|m| is_open_loop(&m.job.pace)) {
        return Vec::new();
    }
    let stalls = run.recording.stalls.iter();
    let stalls: Vec<Stall> = stalls
        .filter(|s| s.lasted >= SHORT_STALL && hits(s, entry))
        .copied()
        .collect();
    let lateness = entry.latencies(|d| &d.lateness);
    // What a stall at the end of the run delayed is not submitted at all.
    let not_sent = not_sent(entry) as f64;
    let (ios, delayed) = (
        lateness.count() as f64 + not_sent,
        lateness.count_above(DELAYED) as f64 + not_sent,
    );
    let (from, to) = entry.span();
    let rate = ios / to.saturating_sub(from).as_secs_f64().max(1e-9);
    let due = rate * covered(&stalls).as_secs_f64();
    let needed = (ios * (1.0 - highest_percentile(entry) / 100.0)).max(LEAST_DELAYED);
    let explained = CATCHING_UP * due + LEAST_DELAYED;
    if due >= needed && (needed..=explained).contains(&delayed) {
        stalls
    } else {
        Vec::new()
    }
}

/// I/Os that were due before the end of the run and not submitted.
fn not_sent(entry: &EntryContext) -> u64 {
    let members = entry.members.iter();
    let directions = members.flat_map(|member| member.seen.directions.iter());
    directions.map(|(_, seen)| seen.counts.not_sent).sum()
}

/// The highest percentile that the entry shows, except the maximum.
fn highest_percentile(entry: &EntryContext) -> f64 {
    let all = Direction::ALL.into_iter().flat_map(|direction| {
        let (_, summary) = shown(&entry.figures.directions[direction]);
        summary.percentiles.iter().map(|(percent, _)| *percent)
    });
    let highest = all.filter(|percent| *percent < 100.0).fold(0.0, f64::max);
    if highest > 0.0 { highest } else { 100.0 }
}

fn short(entry: &EntryContext, run: &RunContext) -> Option<Finding> {
    let stalls = short_stalls(entry, run);
    let worst = worst(stalls.iter())?;
    let lateness = entry.latencies(|d| &d.lateness);
    let often = match stalls.len() {
        1 => String::new(),
        n => format!(", and {} more", counted(n as u64 - 1, "time")),
    };
    let not_sent = not_sent(entry);
    let missing = match not_sent {
        0 => String::new(),
        n => format!(", {} not before the end", count(n)),
    };
    let evidence = format!(
        "Response p99 {} (service {}). The generator fell behind by up to {}; {} were submitted more than {} late{missing}. \
         Its watchdog woke {} late at {} of the run{often}.",
        duration(
            entry
                .latencies(|d| &d.response)
                .percentile(99.0)
                .unwrap_or(0.0)
        ),
        duration(entry.latencies(|d| &d.clat).percentile(99.0).unwrap_or(0.0)),
        duration(lateness.max().unwrap_or_default().get() as f64),
        counted(lateness.count_above(DELAYED), "I/O"),
        duration(DELAYED.get() as f64),
        duration(worst.lasted.get() as f64),
        duration(worst.at.get() as f64),
    );
    // The rate measures the generator as well.
    let matters = share(not_sent, not_sent + lateness.count()) >= MISSING_PERCENT;
    Some(
        entry
            .finding(weight(matters), evidence, ADVICE)
            .with_times(times(stalls.iter())),
    )
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
