//! When each job may start: stonewall, wait_for, startdelay.

use fathom_model::{Nanos, Plan, Start};

use crate::rng::Rng;

const SEED_DELAY: u64 = 7;

/// The order of the jobs of a plan.
pub(super) struct StartOrder {
    starts: Vec<Start>,
    sections: Vec<u32>,
    /// For each job the first job after its stonewall: all before that one must have ended.
    barriers: Vec<usize>,
    delays: Vec<Nanos>,
    free_since: Vec<Option<Nanos>>,
}

impl StartOrder {
    pub fn new(plan: &Plan) -> StartOrder {
        let mut barrier = 0;
        let barriers = plan.jobs.iter().enumerate().map(|(i, job)| {
            if job.start.after_all_before {
                barrier = i;
            }
            barrier
        });
        let delays = plan.jobs.iter().map(|job| {
            let (low, high) = job.start.delay;
            let spread = high.saturating_sub(low).get();
            low.saturating_add(Nanos::new(
                Rng::new(job.pattern.seed, SEED_DELAY).below(spread.saturating_add(1)),
            ))
        });
        StartOrder {
            barriers: barriers.collect(),
            delays: delays.collect(),
            starts: plan.jobs.iter().map(|job| job.start.clone()).collect(),
            sections: plan.jobs.iter().map(|job| job.section).collect(),
            free_since: vec![None; plan.jobs.len()],
        }
    }

    /// Whether `job` may start at `now`, given which other jobs have ended. `may_begin` is asked when its turn has come, until it
    /// agrees once.
    pub fn may_start(
        &mut self,
        job: usize,
        now: Nanos,
        is_done: &dyn Fn(usize) -> bool,
        may_begin: &dyn Fn() -> bool,
    ) -> bool {
        let waits = |other: usize| {
            other < self.barriers[job]
                || self.starts[job]
                    .after_section
                    .is_some_and(|section| self.sections[other] == section && other != job)
        };
        if (0..self.starts.len()).any(|other| waits(other) && !is_done(other)) {
            return false;
        }
        if self.free_since[job].is_none() && !may_begin() {
            return false;
        }
        let since = *self.free_since[job].get_or_insert(now);
        now >= since.saturating_add(self.delays[job])
    }

    /// What is left of the delay of a job that has not started.
    pub fn delay_left(&self, job: usize, now: Nanos) -> Nanos {
        let waited = self.free_since[job].map_or(Nanos::ZERO, |since| now.saturating_sub(since));
        self.delays[job].saturating_sub(waited)
    }

    /// Jobs that run between the same two stonewalls as `job`.
    pub fn same_barrier(&self, job: usize) -> Vec<usize> {
        (0..self.barriers.len())
            .filter(|other| self.barriers[*other] == self.barriers[job])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{job, plan};
    use fathom_model::{Access, Traffic};

    fn start_order(starts: Vec<Start>) -> StartOrder {
        let jobs = starts.into_iter().enumerate().map(|(i, start)| {
            let mut job = job(Traffic::Read, Access::Sequential { skip: 0 });
            job.start = start;
            job.section = i as u32;
            job
        });
        StartOrder::new(&plan(jobs.collect()))
    }

    #[test]
    fn a_stonewall_delays_all_jobs_behind_it_until_all_before_it_have_ended() {
        let wall = Start {
            after_all_before: true,
            ..Start::default()
        };
        let mut start_order = start_order(vec![
            Start::default(),
            Start::default(),
            wall,
            Start::default(),
        ]);
        let mut can = |done: &[usize]| -> Vec<usize> {
            (0..4)
                .filter(|i| {
                    start_order.may_start(*i, Nanos::ZERO, &|other| done.contains(&other), &|| true)
                })
                .collect()
        };
        assert_eq!(can(&[]), [0, 1]);
        assert_eq!(can(&[0]), [0, 1]);
        assert_eq!(can(&[0, 1]), [0, 1, 2, 3]);
    }

    #[test]
    fn wait_for_waits_for_one_section_and_delays_start_then() {
        let wait = Start {
            after_section: Some(0),
            delay: (Nanos::new(50), Nanos::new(50)),
            ..Start::default()
        };
        let mut start_order = start_order(vec![Start::default(), wait]);
        assert!(!start_order.may_start(1, Nanos::new(10), &|_| false, &|| true));
        assert!(!start_order.may_start(1, Nanos::new(100), &|other| other == 0, &|| true));
        assert!(!start_order.may_start(1, Nanos::new(149), &|_| true, &|| true));
        assert!(start_order.may_start(1, Nanos::new(150), &|_| true, &|| true));
    }

    /// The turn of a job has come, and somebody else holds it back: its delay begins when it is let go.
    #[test]
    fn a_job_that_is_held_back_starts_its_delay_when_it_is_let_go() {
        let delayed = Start {
            delay: (Nanos::new(50), Nanos::new(50)),
            ..Start::default()
        };
        let mut start_order = start_order(vec![delayed]);
        let mut may =
            |at: u64, free: bool| start_order.may_start(0, Nanos::new(at), &|_| true, &|| free);
        assert!(!may(100, false) && !may(200, true) && !may(249, true));
        assert!(may(250, false), "it was let go at 200");
    }
}
