//! Jobs of one flow share their I/O by weight: a job that is ahead waits for the others.
//!
//! A job joins with the share that it would have had so far, so that from then on all jobs are
//! treated by their weight, whatever was done before. Its share leaves with it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use fathom_model::{FlowShare, Nanos, Plan};

/// The shared state of the jobs of one flow.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// I/Os of all members.
    ios: AtomicU64,
    /// Weights of all members.
    weight: AtomicU64,
    /// Jobs that have left but still count; locked while a job joins or leaves, never in the load
    /// loop.
    leaving: Mutex<Vec<FlowGuard>>,
}

/// The share of a job that has ended.
#[derive(Debug)]
struct FlowGuard {
    ios: u64,
    weight: u64,
    /// [`Flows::remove_departed`] has seen it once.
    seen: bool,
}

/// The flows of a plan, by their `flow_id`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows {
    flows: HashMap<u64, Arc<Flow>>,
}

impl Flows {
    pub fn new(plan: &Plan) -> Flows {
        let ids = plan
            .jobs
            .iter()
            .filter_map(|job| job.pace.flow.map(|flow| flow.id));
        Flows {
            flows: ids.map(|id| (id, Arc::default())).collect(),
        }
    }

    /// Adds a job to its flow; `None` for a job without a flow.
    pub fn join(&self, share: Option<FlowShare>) -> Option<Member> {
        let share = share?;
        let flow = Arc::clone(self.flows.get(&share.id)?);
        let weight = u64::from(share.weight);
        let _lock = flow
            .leaving
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let (ios, before) = (
            flow.ios.load(Relaxed),
            flow.weight.fetch_add(weight, Relaxed),
        );
        let mine = u128::from(ios) * u128::from(weight) / u128::from(before.max(1));
        let mine = if before == 0 { 0 } else { mine as u64 };
        flow.ios.fetch_add(mine, Relaxed);
        drop(_lock);
        Some(Member {
            flow,
            weight,
            mine,
            sleep: share.sleep,
            until: 0,
        })
    }
}

impl Flows {
    /// Removes the jobs that had already left at the previous call.
    ///
    /// Jobs that end together do not end in the same instant. Regression 0220: the backlog of a
    /// planned rate that the flow had held back was done in one burst between the end of one job
    /// and the end of the next.
    pub fn remove_departed(&self) {
        for flow in self.flows.values() {
            let mut leaving = flow
                .leaving
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            leaving.retain_mut(|one| {
                if one.seen {
                    flow.ios.fetch_sub(one.ios, Relaxed);
                    flow.weight.fetch_sub(one.weight, Relaxed);
                }
                !std::mem::replace(&mut one.seen, true)
            });
        }
    }
}

/// A job's membership in its flow.
#[derive(Debug)]
pub(crate) struct Member {
    flow: Arc<Flow>,
    weight: u64,
    mine: u64,
    sleep: Nanos,
    until: u64,
}

impl Member {
    /// How many of `wanted` I/Os may be submitted at `now`; they count as submitted.
    pub fn claim(&mut self, wanted: usize, now: u64) -> usize {
        if now < self.until {
            return 0;
        }
        let claimed = (0..wanted).take_while(|_| self.claim_one()).count();
        if claimed == 0 && wanted > 0 {
            self.until = now.saturating_add(self.sleep.get());
        }
        claimed
    }

    /// Claims one I/O unless this job's share of all I/Os is above its share of the weights.
    fn claim_one(&mut self) -> bool {
        let (ios, weight) = (
            self.flow.ios.load(Relaxed) + 1,
            self.flow.weight.load(Relaxed),
        );
        if u128::from(self.mine) * u128::from(weight) > u128::from(self.weight) * u128::from(ios) {
            return false;
        }
        self.flow.ios.fetch_add(1, Relaxed);
        self.mine += 1;
        true
    }

    /// Returns unused claims.
    pub fn unclaim(&mut self, n: usize) {
        self.mine -= n as u64;
        self.flow.ios.fetch_sub(n as u64, Relaxed);
    }

    /// When to try again; in the past if there is no need to wait.
    pub fn until(&self) -> u64 {
        self.until
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut leaving = self
            .flow
            .leaving
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        leaving.push(FlowGuard {
            ios: self.mine,
            weight: self.weight,
            seen: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows() -> Flows {
        Flows {
            flows: HashMap::from([(1, Arc::default())]),
        }
    }

    fn share(weight: u32) -> Option<FlowShare> {
        Some(FlowShare {
            id: 1,
            weight,
            sleep: Nanos::ZERO,
        })
    }

    /// Every job submits as often as it may, `rounds` times.
    fn run(members: &mut [Member], rounds: usize) -> Vec<u64> {
        let before: Vec<u64> = members.iter().map(|member| member.mine).collect();
        for _ in 0..rounds {
            members
                .iter_mut()
                .for_each(|member| while member.claim(7, 0) > 0 {});
        }
        members
            .iter()
            .zip(before)
            .map(|(member, before)| member.mine - before)
            .collect()
    }

    #[test]
    fn ios_follow_the_weights() {
        let flows = flows();
        let mut members: Vec<Member> = [1, 5, 10]
            .into_iter()
            .filter_map(|weight| flows.join(share(weight)))
            .collect();
        let done = run(&mut members, 10_000);
        assert!(done[0] > 1000, "{done:?}");
        let ratio = |a: usize, b: usize| done[a] as f64 / done[b] as f64;
        assert!(
            (ratio(1, 0) - 5.0).abs() < 0.05 && (ratio(2, 0) - 10.0).abs() < 0.1,
            "{done:?}"
        );
    }

    #[test]
    fn joining_late_or_leaving_affects_only_later_ios() {
        let flows = flows();
        let mut members: Vec<Member> = [1, 2]
            .into_iter()
            .filter_map(|weight| flows.join(share(weight)))
            .collect();
        run(&mut members, 1000);
        members.extend(flows.join(share(3)));
        let with_three = run(&mut members, 1000);
        // The late job has nothing to catch up: 1 : 2 : 3 from here on.
        assert!(
            with_three[2] as f64 / with_three[0] as f64 - 3.0 < 0.1,
            "{with_three:?}"
        );
        members.pop();
        let still_three = run(&mut members, 1000);
        assert!(
            still_three[0] < 10 && still_three[1] < 10,
            "the share of a departed job is not taken at once: {still_three:?}"
        );
        (0..2).for_each(|_| flows.remove_departed());
        let with_two = run(&mut members, 1000);
        assert!(
            (with_two[1] as f64 / with_two[0] as f64 - 2.0).abs() < 0.1,
            "{with_two:?}"
        );
        drop(members);
        (0..2).for_each(|_| flows.remove_departed());
        let flow = &flows.flows[&1];
        assert_eq!((flow.ios.load(Relaxed), flow.weight.load(Relaxed)), (0, 0));
    }

    #[test]
    fn a_job_ahead_sleeps_and_unused_claims_are_returned() {
        let flows = flows();
        let mut fast = flows
            .join(Some(FlowShare {
                id: 1,
                weight: 1,
                sleep: Nanos::new(100),
            }))
            .expect("flow 1 exists");
        let mut slow = flows.join(share(1)).expect("flow 1 exists");
        assert!(fast.claim(100, 1000) < 100);
        assert_eq!((fast.claim(1, 1000), fast.until()), (0, 1100));
        assert!(slow.claim(50, 1000) > 0);
        assert_eq!(fast.claim(1, 1099), 0);
        let taken = fast.claim(1, 1100);
        assert_eq!(taken, 1);
        let mine = fast.mine;
        fast.unclaim(1);
        assert_eq!(fast.mine, mine - 1);
    }

    #[test]
    fn jobs_without_a_flow_join_none() {
        assert!(flows().join(None).is_none());
    }
}
