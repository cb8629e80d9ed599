//! RATE_NOT_REACHED: an open loop did less than was asked.

use fathom_model::{Direction, Finding, Rate, Weight};

use super::{Detector, Scene, Seat};
use crate::figures::{bytes, count, duration, percent, rate};
use crate::members::Member;

const CODE: &str = "RATE_NOT_REACHED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

/// Shortfalls within one percent are rounding of the run's ends.
const TOLERANCE: f64 = 0.01;
/// A Poisson count of n varies by sqrt(n); four of those happen once in 30,000 runs.
const SIGMAS: f64 = 4.0;
const ADVICE: &str = "The target or the queue depth cannot carry this rate: read the result as an overload test, or ask \
                      for less.";

fn look(scene: &Scene) -> Vec<Finding> {
    scene.each(|seat| Direction::ALL.into_iter().find_map(|d| missed(seat, d)))
}

/// Asked for and achieved, per second, summed over members with a rate of this kind.
#[derive(Default)]
struct Rates {
    asked: f64,
    got: f64,
    ios: u64,
    not_sent: u64,
    planned: u64,
}

fn missed(seat: &Seat, direction: Direction) -> Option<Finding> {
    let by_ios = rates(seat, direction, |rate| if let Rate::Iops(n) = rate { Some(n) } else { None });
    let by_bytes = rates(seat, direction, |rate| if let Rate::Bandwidth(n) = rate { Some(n) } else { None });
    let evidence = told(seat, direction, &by_ios, |r| format!("{} {}s", rate(r), direction.word()))
        .or_else(|| told(seat, direction, &by_bytes, |r| format!("{} of {}s", bytes(r as u64), direction.word())))?;
    Some(seat.finding(CODE, Weight::Degrades, evidence, ADVICE))
}

fn rates(seat: &Seat, direction: Direction, asked: fn(Rate) -> Option<f64>) -> Rates {
    let mut sum = Rates::default();
    for member in seat.members.iter().filter(|m| m.job.pattern.traffic.uses(direction)) {
        if let Some(wanted) = member.job.pace.rate[direction].and_then(asked) {
            let by_bytes = matches!(member.job.pace.rate[direction], Some(Rate::Bandwidth(_)));
            add(&mut sum, member, direction, wanted, by_bytes);
        }
    }
    sum
}

fn add(sum: &mut Rates, member: &Member, direction: Direction, wanted: f64, by_bytes: bool) {
    let made = &member.seen.directions[direction];
    let amount = if by_bytes { made.counts.bytes_asked } else { made.counts.planned - made.counts.not_sent };
    // The last I/O completes after the schedule has ended: that wait is no shortfall.
    let drain = made.response.max().unwrap_or_default().get() as f64 / 1e9;
    let time = member.run_time().as_secs_f64();
    let schedule = (time - drain).max(time / 2.0);
    sum.asked += wanted;
    sum.got += if schedule > 0.0 { amount as f64 / schedule } else { 0.0 };
    sum.ios += made.counts.ok;
    sum.not_sent += made.counts.not_sent;
    sum.planned += made.counts.planned;
}

fn told(seat: &Seat, direction: Direction, r: &Rates, words: impl Fn(f64) -> String) -> Option<String> {
    let tolerance = TOLERANCE.max(SIGMAS / (r.ios.max(1) as f64).sqrt());
    let dropped = r.not_sent as f64 > tolerance * r.planned as f64;
    if r.asked <= 0.0 || r.planned == 0 || (r.got >= r.asked * (1.0 - tolerance) && !dropped) {
        return None;
    }
    let summary = &seat.entry.directions[direction];
    let achieved = r.got * (1.0 - r.not_sent as f64 / r.planned as f64).min(1.0);
    let got = if dropped && r.got >= r.asked { achieved } else { r.got };
    Some(format!(
        "Asked for {} per second, achieved {} ({}) over {}; {} were due but never handed over.",
        words(r.asked),
        words(got),
        percent(got * 100.0 / r.asked),
        duration(summary.runtime_ms as f64 * 1e6),
        count(r.not_sent),
    ))
}
