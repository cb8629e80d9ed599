//! TARGET_STALLED: nothing completed for much longer than usual.

use fathom_model::{Finding, MergedInterval, Nanos, TimeSpan, Weight};

use super::{EntryContext, RunContext};
use crate::figures::duration;

/// Two intervals without a completion. Shorter stalls are visible in the percentiles.
const LEAST: Nanos = Nanos::from_secs(1);
/// The same where the exact times are known.
const LEAST_EXACT: Nanos = Nanos::from_millis(500);
/// A gap this many times as long as the usual one is not a matter of chance: with independent
/// completions it happens once in e^10 = 22,000 gaps.
const TIMES_USUAL: u64 = 10;
/// From this share of the measured time on, the averages are no longer those of a working target.
const SHARE_PERCENT: u64 = 10;
const ADVICE: &str = "Look for resets, timeouts and path changes in the kernel log (dmesg) at that time, and run again.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| stalled(run, entry))
}

fn stalled(run: &RunContext, entry: &EntryContext) -> Option<Finding> {
    let pauses =
        |m: &crate::members::Member| m.job.pace.think.is_some() || m.job.pace.replay.is_some();
    if entry.members.iter().any(pauses) {
        return None;
    }
    let (from, to) = entry.span();
    let to = to.min(run.recording.elapsed);
    let exact = exact_gap(entry, from, to);
    let least = if exact.is_some() { LEAST_EXACT } else { LEAST };
    let (start, length) = exact.or_else(|| longest_gap(&entry.figures.series, from, to))?;
    let ios: u64 = entry.figures.series.iter().map(completed).sum();
    let working = to.saturating_sub(from).saturating_sub(length);
    let usual = Nanos::new(working.get() / ios.max(1));
    let of_generator: u64 = run
        .recording
        .stalls
        .iter()
        .filter(|stall| stall.at < start + length && stall.at + stall.lasted > start)
        .map(|stall| stall.lasted.get())
        .sum();
    if ios == 0
        || length < least
        || length.get() < usual.get().saturating_mul(TIMES_USUAL)
        || of_generator * 2 > length.get()
    {
        return None;
    }
    let mut evidence = format!(
        "Nothing completed for {} from {} of the run on; usually there is a completion every {}.",
        duration(length.get() as f64),
        duration(start.get() as f64),
        duration(usual.get() as f64),
    );
    let beyond = beyond_runtime(entry, to);
    if beyond >= LEAST {
        evidence += &format!(
            " The load ended {} after its runtime.",
            duration(beyond.get() as f64)
        );
    }
    let share = u128::from(length.get()) * 100 / u128::from(to.saturating_sub(from).get().max(1));
    let weight = if beyond >= LEAST || share >= u128::from(SHARE_PERCENT) {
        Weight::Degrades
    } else {
        Weight::Note
    };
    let span = TimeSpan::of_length(start, length);
    Some(
        entry
            .finding(weight, evidence, ADVICE)
            .with_times(vec![span]),
    )
}

fn completed(interval: &MergedInterval) -> u64 {
    interval
        .directions
        .iter()
        .map(|(_, direction)| direction.ios + direction.bad)
        .sum()
}

/// The longest time without a completion of any member, from the times that the workers recorded. `None` if they recorded none.
fn exact_gap(entry: &EntryContext, from: Nanos, to: Nanos) -> Option<(Nanos, Nanos)> {
    let recorded = entry.members.iter().any(|m| !m.seen.gaps.is_empty());
    if !recorded {
        return None;
    }
    let mut members = entry.members.iter().map(|m| {
        let (start, end) = (m.seen.measured_from, m.seen.ended);
        let recorded = m.seen.gaps.iter().map(|gap| (gap.at, gap.at + gap.lasted));
        let mut spans: Vec<(Nanos, Nanos)> = recorded.collect();
        spans.extend(
            [(from, start), (end, to)]
                .into_iter()
                .filter(|(a, b)| a < b),
        );
        spans
    });
    let first = members.next()?;
    let common = members.fold(first, |common, spans| {
        let pairs = common.iter().flat_map(|one| {
            spans
                .iter()
                .map(move |other| (one.0.max(other.0), one.1.min(other.1)))
        });
        pairs.filter(|(start, end)| start < end).collect()
    });
    common
        .into_iter()
        .map(|(start, end)| (start, end - start))
        .max_by_key(|(_, length)| *length)
}

/// Start and length of the longest time between `from` and `to` without a completion, by whole
/// intervals.
fn longest_gap(series: &[MergedInterval], from: Nanos, to: Nanos) -> Option<(Nanos, Nanos)> {
    let busy = series
        .iter()
        .filter(|interval| completed(interval) > 0 && interval.start + interval.length > from)
        .map(|interval| (interval.start, interval.start + interval.length));
    let mut last = from;
    let mut longest = None;
    for (start, end) in busy.chain([(to, to)]) {
        let gap = (last, start.saturating_sub(last));
        if longest.is_none_or(|(_, length)| gap.1 > length) {
            longest = Some(gap);
        }
        last = last.max(end);
    }
    longest
}

/// How long after the end of their runtime the last member ended; zero without a runtime, and where written data is read back
/// after it.
fn beyond_runtime(entry: &EntryContext, to: Nanos) -> Nanos {
    if entry.members.iter().any(|m| m.job.verify.is_some()) {
        return Nanos::ZERO;
    }
    let ends: Option<Vec<Nanos>> = entry
        .members
        .iter()
        .map(|m| Some(m.seen.measured_from + m.job.limits.runtime?))
        .collect();
    ends.and_then(|ends| ends.into_iter().max())
        .map_or(Nanos::ZERO, |end| to.saturating_sub(end))
}
