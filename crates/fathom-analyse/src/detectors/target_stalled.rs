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
        join_overlaps(recorded.chain([(from, start), (end, to)]).collect())
    });
    let first = members.next()?;
    let common = members.fold(first, |common, spans| intersect(&common, &spans));
    common
        .into_iter()
        .map(|(start, end)| (start, end - start))
        .max_by_key(|(_, length)| *length)
}

/// Times in their order, each from a start to an end.
type Spans = Vec<(Nanos, Nanos)>;

/// Makes one span of those that overlap: a gap may begin before the measured time. Two that only touch have a completion between them.
fn join_overlaps(mut spans: Spans) -> Spans {
    spans.retain(|(start, end)| start < end);
    spans.sort_unstable();
    let mut joined: Spans = Vec::with_capacity(spans.len());
    for (start, end) in spans {
        match joined.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// The times that are in a span of both; the spans of each do not overlap.
fn intersect(one: &[(Nanos, Nanos)], other: &[(Nanos, Nanos)]) -> Spans {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut common = Spans::new();
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        let (start, end) = (a.0.max(b.0), a.1.min(b.1));
        if start < end {
            common.push((start, end));
        }
        if a.1 <= b.1 {
            one.next();
        } else {
            other.next();
        }
    }
    common
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(of: &[(u64, u64)]) -> Spans {
        let at = |ns| Nanos::new(ns);
        of.iter().map(|one| (at(one.0), at(one.1))).collect()
    }

    /// Regression 1486: each of 64 jobs had a gap that began before its measured time, so that two of its spans overlapped. The times in
    /// common doubled with each job, until the memory of the machine was used up.
    #[test]
    fn overlapping_gaps_of_many_jobs_are_one_in_common() {
        let of_job = || join_overlaps(spans(&[(0, 12), (0, 10), (30, 40)]));
        let common = (1..64).fold(of_job(), |common, _| intersect(&common, &of_job()));
        assert_eq!(common, spans(&[(0, 12), (30, 40)]));
    }

    /// A job completes something at 5, another one at 8 and at 9: nothing completes from 0 to 5, 5 to 8 and 8 to 9.
    #[test]
    fn a_completion_of_any_job_ends_the_time_in_common() {
        let one = join_overlaps(spans(&[(0, 5), (5, 10)]));
        let other = join_overlaps(spans(&[(0, 8), (8, 9)]));
        let common = intersect(&one, &other);
        assert_eq!(common, spans(&[(0, 5), (5, 8), (8, 9)]));
        assert_eq!(intersect(&other, &one), common);
        assert_eq!(
            join_overlaps(spans(&[(3, 3), (4, 9), (5, 6)])),
            spans(&[(4, 9)])
        );
    }
}
