//! RATE_NOT_REACHED: an open loop did not reach its planned rate.

use fathom_model::{Direction, Finding, Rate, TimeSpan, Weight};

use super::context::timed;
use super::{EntryContext, RunContext};
use crate::figures::{bytes, count, duration, percent, rate};
use crate::members::Member;

/// A shortfall of one percent is rounding at the start and end of the run.
const TOLERANCE: f64 = 0.01;
/// A Poisson count of n has the standard deviation sqrt(n); a deviation of four of them happens
/// once in 30,000 runs.
const SIGMAS: f64 = 4.0;
/// An interval below this share of the rate misses it not only by chance.
const CLEARLY_BELOW: f64 = 0.9;
const ADVICE: &str = "The target or the queue depth cannot sustain this rate: read the result as an overload test, or lower the rate.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| Direction::ALL.into_iter().find_map(|d| missed(entry, d)))
}

/// Sums over the members with a rate of one kind.
#[derive(Default)]
struct Rates {
    planned_rate: f64,
    /// Submitted per second of the run.
    got: f64,
    /// Submitted per second of the schedule, which ends before the last I/O completes.
    scheduled: f64,
    ios: u64,
    not_sent: u64,
    planned: u64,
}

fn missed(entry: &EntryContext, direction: Direction) -> Option<Finding> {
    let by_ios = rates(entry, direction, |rate| {
        if let Rate::Iops(n) = rate {
            Some(n)
        } else {
            None
        }
    });
    let by_bytes = rates(entry, direction, |rate| {
        if let Rate::Bandwidth(n) = rate {
            Some(n)
        } else {
            None
        }
    });
    let evidence = evidence_of(entry, direction, &by_ios, "", rate)
        .or_else(|| evidence_of(entry, direction, &by_bytes, " of", |r| bytes(r as u64)))?;
    let when = below(entry, direction, by_ios.planned_rate, by_bytes.planned_rate);
    Some(timed(
        entry.finding(Weight::Degrades, evidence, ADVICE),
        when,
        entry.span().1,
    ))
}

/// The intervals with less than [`CLEARLY_BELOW`] of the planned rate.
fn below(entry: &EntryContext, direction: Direction, ios: f64, bytes: f64) -> Vec<TimeSpan> {
    entry.intervals(|moment| {
        let (direction_summary, seconds) =
            (&moment.directions[direction], moment.length.as_secs_f64());
        (direction_summary.ios as f64) < CLEARLY_BELOW * ios * seconds
            || (direction_summary.bytes as f64) < CLEARLY_BELOW * bytes * seconds
    })
}

fn rates(
    entry: &EntryContext,
    direction: Direction,
    planned_rate: fn(Rate) -> Option<f64>,
) -> Rates {
    let mut sum = Rates::default();
    for member in entry
        .members
        .iter()
        .filter(|m| m.job.pattern.traffic.uses(direction))
    {
        if let Some(wanted) = member.job.pace.rate[direction].and_then(planned_rate) {
            let by_bytes = matches!(member.job.pace.rate[direction], Some(Rate::Bandwidth(_)));
            add(&mut sum, member, direction, wanted, by_bytes);
        }
    }
    sum
}

fn add(sum: &mut Rates, member: &Member, direction: Direction, wanted: f64, by_bytes: bool) {
    let made = &member.seen.directions[direction];
    let c = &made.counts;
    let amount = if by_bytes {
        c.bytes_requested
    } else {
        c.planned.saturating_sub(c.not_sent)
    };
    let drain = made.response.max().unwrap_or_default().as_secs_f64();
    let time = member.run_time().as_secs_f64().max(1e-9);
    sum.planned_rate += wanted;
    sum.got += amount as f64 / time;
    sum.scheduled += amount as f64 / (time - drain).max(time / 2.0);
    sum.ios += c.ok;
    sum.not_sent += c.not_sent;
    sum.planned += c.planned;
}

fn evidence_of(
    entry: &EntryContext,
    direction: Direction,
    r: &Rates,
    of: &str,
    figure: fn(f64) -> String,
) -> Option<String> {
    let tolerance = TOLERANCE.max(SIGMAS / (r.ios.max(1) as f64).sqrt());
    let dropped = r.not_sent as f64 > tolerance * r.planned as f64;
    if r.planned == 0 || (r.scheduled >= r.planned_rate * (1.0 - tolerance) && !dropped) {
        return None;
    }
    Some(format!(
        "Planned {}{of} {}s per second, achieved {} ({}) over {}; {} were due but never submitted.",
        figure(r.planned_rate),
        direction.name(),
        figure(r.got),
        percent(r.got * 100.0 / r.planned_rate),
        duration(entry.figures.directions[direction].runtime_ms as f64 * 1e6),
        count(r.not_sent),
    ))
}
