//! NOT_STEADY: throughput changed over the run.

use fathom_model::{Finding, MergedInterval, Nanos, ThroughputRounds, TimeSpan, Weight};

use super::context::timed;
use super::{EntryContext, RunContext};
use crate::figures::{bytes, percent};
use crate::job_summary::is_open_loop;

/// SNIA Solid State Storage Performance Test Specification: within a steady window of five rounds,
/// no round is more than 10 % away from the mean, a range of 20 %.
const ROUNDS: usize = 5;
const RANGE_PERCENT: f64 = 20.0;
/// Rounds shorter than a second are too noisy.
pub(crate) const LEAST: Nanos = Nanos::from_secs(5);
pub(crate) const ADVICE: &str =
    "Run longer, precondition the device, or use warm-up (ramp_time) before comparing.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(unsteady)
}

fn unsteady(entry: &EntryContext) -> Option<Finding> {
    let from = entry.members.iter().map(|m| m.seen.measured_from).max()?;
    let to = entry.members.iter().map(|m| m.seen.ended).min()?;
    let paced = entry.members.iter().any(|m| {
        is_open_loop(&m.job.pace) || m.job.pace.replay.is_some() || m.job.pace.think.is_some()
    });
    if paced || to.saturating_sub(from) < LEAST {
        return None;
    }
    let (evidence, when) = evidence(&ThroughputRounds {
        bytes_per_s: rounds(&entry.figures.series, from, to),
        from,
        to,
    })?;
    Some(timed(
        entry.finding(Weight::Note, evidence, ADVICE),
        when,
        to,
    ))
}

/// The evidence that throughput changed, and the parts that are outside the limit.
pub(crate) fn evidence(over_time: &ThroughputRounds) -> Option<(String, Vec<TimeSpan>)> {
    let ThroughputRounds {
        bytes_per_s: rounds,
        from,
        to,
    } = *over_time;
    let mean = rounds.iter().sum::<f64>() / ROUNDS as f64;
    let (low, high) = rounds
        .iter()
        .fold((f64::MAX, 0f64), |(l, h), r| (l.min(*r), h.max(*r)));
    let range = (high - low) * 100.0 / mean;
    if mean <= 0.0 || range <= RANGE_PERCENT {
        return None;
    }
    let evidence = format!(
        "Not in steady state: over five equal parts of the run throughput was between {}/s and {}/s ({} of the mean).",
        bytes(low as u64),
        bytes(high as u64),
        percent(range),
    );
    Some((evidence, outside(&rounds, mean, from, to)))
}

/// The parts that are further from the mean than the limit allows.
fn outside(rounds: &[f64; ROUNDS], mean: f64, from: Nanos, to: Nanos) -> Vec<TimeSpan> {
    let part = to.saturating_sub(from).get() / ROUNDS as u64;
    let far = rounds
        .iter()
        .enumerate()
        .filter(|(_, round)| (*round - mean).abs() * 200.0 / mean > RANGE_PERCENT);
    far.map(|(place, _)| {
        TimeSpan::of_length(from + Nanos::new(part * place as u64), Nanos::new(part))
    })
    .collect()
}

/// Bytes per second of five equal parts of the time. An interval belongs to the part that contains
/// its middle.
pub(crate) fn rounds(series: &[MergedInterval], from: Nanos, to: Nanos) -> [f64; ROUNDS] {
    let (mut moved, mut time) = ([0u64; ROUNDS], [0f64; ROUNDS]);
    let whole = to.saturating_sub(from).get().max(1);
    for moment in series {
        let middle = moment.start.get() + moment.length.get() / 2;
        if middle < from.get() || middle >= to.get() {
            continue;
        }
        let round = (u128::from(middle - from.get()) * ROUNDS as u128 / u128::from(whole)) as usize;
        moved[round] += moment.directions.iter().map(|(_, d)| d.bytes).sum::<u64>();
        time[round] += moment.length.as_secs_f64();
    }
    std::array::from_fn(|i| {
        if time[i] > 0.0 {
            moved[i] as f64 / time[i]
        } else {
            0.0
        }
    })
}
