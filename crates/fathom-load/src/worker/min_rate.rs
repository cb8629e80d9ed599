//! `rate_min`, `rate_iops_min`: a job that stays below them for a cycle fails.

use fathom_model::{Direction, Job, Nanos, PerDirection, Rate};

/// Time before the first check, as in fio.
const SETTLE: u64 = 2_000_000_000;

/// Checks the rates of one job.
#[derive(Debug)]
pub(super) struct MinRate {
    min: PerDirection<Option<Rate>>,
    cycle: u64,
    since: u64,
    next: u64,
    before: [(u64, u64); 3],
}

impl MinRate {
    /// `None` for a job without a minimum rate.
    pub fn new(job: &Job, measured_from: Nanos) -> Option<MinRate> {
        let min =
            PerDirection::from_fn(|d| job.pace.rate_min[d].filter(|_| job.pattern.traffic.uses(d)));
        let any = min.iter().any(|(_, rate)| rate.is_some());
        let next = measured_from.get().saturating_add(SETTLE);
        any.then(|| MinRate {
            min,
            cycle: job.pace.rate_cycle.get().max(1_000_000),
            since: 0,
            next,
            before: [(0, 0); 3],
        })
    }

    #[inline]
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.next
    }

    /// Judges the I/Os and bytes done since the last call. Returns a message when the rate is too
    /// low.
    pub fn judge(&mut self, done: [(u64, u64); 3], now: u64) -> Option<String> {
        let (before, since) = (self.before, self.since);
        (self.before, self.since, self.next) = (done, now, now.saturating_add(self.cycle));
        let seconds = (now - since) as f64 / 1e9;
        if since == 0 {
            return None;
        }
        Direction::ALL.into_iter().find_map(|direction| {
            let d = direction as usize;
            let (ios, bytes) = (
                (done[d].0 - before[d].0) as f64 / seconds,
                (done[d].1 - before[d].1) as f64 / seconds,
            );
            let direction_name = direction.name();
            match self.min[direction]? {
                Rate::Iops(min) if ios < min => Some(format!(
                    "rate_iops_min={min} is not met: {ios:.0} {direction_name}s per second"
                )),
                Rate::Bandwidth(min) if bytes < min => Some(format!(
                    "rate_min={min} is not met: {bytes:.0} bytes of {direction_name}s per second"
                )),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::job;
    use fathom_model::{Access, Traffic};

    #[test]
    fn a_cycle_below_the_minimum_rate_is_reported_with_its_figures() {
        let mut job = job(Traffic::Read, Access::Sequential { skip: 0 });
        assert!(MinRate::new(&job, Nanos::ZERO).is_none());
        job.pace.rate_min[Direction::Write] = Some(Rate::Iops(1e9));
        assert!(
            MinRate::new(&job, Nanos::ZERO).is_none(),
            "it does not write"
        );
        job.pace.rate_min[Direction::Read] = Some(Rate::Iops(100.0));
        job.pace.rate_cycle = Nanos::from_secs(1);
        let mut rate = MinRate::new(&job, Nanos::ZERO).expect("a minimum rate");
        assert!(!rate.is_due(SETTLE - 1) && rate.is_due(SETTLE));
        let at = |second: u64| SETTLE + second * 1_000_000_000;
        assert_eq!(
            rate.judge([(0, 0); 3], at(0)),
            None,
            "the first call begins a cycle"
        );
        assert!(!rate.is_due(at(1) - 1));
        assert_eq!(rate.judge([(100, 0), (0, 0), (0, 0)], at(1)), None);
        let message = rate.judge([(199, 0), (0, 0), (0, 0)], at(2));
        assert_eq!(
            message.as_deref(),
            Some("rate_iops_min=100 is not met: 99 reads per second")
        );
        job.pace.rate_min[Direction::Read] = Some(Rate::Bandwidth(1000.0));
        let mut rate = MinRate::new(&job, Nanos::ZERO).expect("a minimum rate");
        rate.judge([(0, 0); 3], at(0));
        let message = rate.judge([(1, 1998), (0, 0), (0, 0)], at(2));
        assert_eq!(
            message.as_deref(),
            Some("rate_min=1000 is not met: 999 bytes of reads per second")
        );
    }
}
