//! The shares that the parts of the mean response have.
//!
//! Each of the N slots of a closed loop is at any time in one part: it pauses, waits for a sync, stands still with this program or with the
//! target, is served, or waits in a queue. By Little's law N / X is the mean time of a slot for each I/O, so that the shares of these
//! parts add up to 1.

use fathom_model::{Diagnosis, LimitCause};

use super::ceiling::time_alone;
use super::queue::usual_rate;
use super::{Evidence, disturbance};

/// Sets the shares of a diagnosis. An open loop has no slots that are always used, and without a cause there is nothing to divide.
pub(super) fn add(evidence: &Evidence, diagnosis: &mut Diagnosis) {
    let is_divided = !matches!(
        diagnosis.cause,
        LimitCause::NotKnown | LimitCause::PlannedRate
    );
    if is_divided && !evidence.is_open_loop() {
        diagnosis.shares = shares(evidence, diagnosis.cause);
    }
}

fn shares(evidence: &Evidence, cause: LimitCause) -> Vec<(LimitCause, f64)> {
    let (from, to) = evidence.context.span();
    let whole = to.saturating_sub(from).as_secs_f64().max(1e-9);
    let mut left = 1.0_f64;
    let mut all: Vec<(LimitCause, f64)> = Vec::new();
    let mut take = |cause, share: f64| {
        let share = share.clamp(0.0, left);
        left -= share;
        if share > 0.0 {
            all.push((cause, share));
        }
        left
    };
    let of_time = |spans: Vec<_>| disturbance::total(&spans).as_secs_f64() / whole;
    take(LimitCause::HostCpu, of_time(disturbance::stops(evidence)));
    let running = take(
        LimitCause::TargetStall,
        of_time(disturbance::stalls(evidence)),
    );
    let heated = disturbance::share_lost_to_heat(evidence).unwrap_or(0.0);
    let running = take(LimitCause::Heat, running * heated);
    let working = take(LimitCause::Flush, disturbance::flush_share(evidence));
    let depth = evidence.effective_depth().max(1.0);
    let mut pauses = evidence.members().filter(|m| m.job.pace.think.is_some());
    let mut busy = working;
    if pauses.next().is_some() {
        let in_flight = evidence.entry().little.in_flight / depth;
        busy = take(LimitCause::ThinkTime, working - in_flight.min(working));
    }
    // What an I/O takes alone, at the usual rate while nothing stands still, and the queue.
    let alone = usual_rate(evidence) * time_alone(evidence, depth).mean_ns / 1e9 / depth;
    let waiting = take(LimitCause::QueueDepth, (running * alone).min(busy));
    let foreign = evidence.foreign_per_own_io;
    let own = take(LimitCause::Neighbour, waiting * foreign / (1.0 + foreign));
    // What waits for other I/Os of the run waits for the first cause, where that makes I/Os wait, or else for the target.
    let of_queue = match cause {
        LimitCause::Ceiling
        | LimitCause::Program
        | LimitCause::ControlGroup
        | LimitCause::Link
        | LimitCause::RaidWritePenalty
        | LimitCause::GarbageCollection
        | LimitCause::SlowMember
        | LimitCause::Splitting => cause,
        _ => LimitCause::Target,
    };
    take(of_queue, own);
    all
}
