//! I/O priorities of single I/Os, and the latencies of each priority.

use fathom_model::{Direction, Histogram, Job, PerDirection, PriorityRecording, PriorityShare};

use crate::io_generator::PlannedIo;
use crate::recorder::InFlight;
use crate::rng::Rng;

const SEED_PRIORITY: u64 = 8;

/// Draws the priority of each I/O and records one distribution per priority. A job without priority
/// shares has none.
pub(crate) struct PriorityTracker {
    shares: PerDirection<Vec<PriorityShare>>,
    rng: Rng,
    /// The priority of an I/O outside all shares.
    default_prio: u16,
    /// Records total latencies, not service times.
    total: bool,
    recorded: PerDirection<Vec<PriorityRecording>>,
}

impl PriorityTracker {
    pub fn new(job: &Job) -> Option<Box<PriorityTracker>> {
        let priorities = &job.engine.settings.priorities;
        let uses = |d: Direction| job.pattern.traffic.uses(d);
        let shares = PerDirection::from_fn(|d| {
            if uses(d) {
                priorities.shares[d].clone()
            } else {
                Vec::new()
            }
        });
        if shares.iter().all(|(_, shares)| shares.is_empty()) {
            return None;
        }
        let default_prio = priorities.worker.unwrap_or(0);
        Some(Box::new(PriorityTracker {
            recorded: PerDirection::from_fn(|d| distributions(default_prio, &shares[d])),
            rng: Rng::new(job.pattern.seed, SEED_PRIORITY),
            total: job.accounting.lat_percentiles,
            default_prio,
            shares,
        }))
    }

    /// Sets the priorities of these I/Os.
    pub fn assign(&mut self, planned_ios: &mut [PlannedIo]) {
        for planned_io in planned_ios {
            let Some(direction) = planned_io.direction() else {
                continue;
            };
            let mut drawn = self.rng.below(100);
            for share in &self.shares[direction] {
                if share.size.is_some_and(|size| size != planned_io.len) {
                    continue;
                }
                if drawn < u64::from(share.percent) {
                    planned_io.prio = share.prio;
                    break;
                }
                drawn -= u64::from(share.percent);
            }
        }
    }

    /// Records the latency of an I/O that completed at `now`.
    pub fn record(&mut self, io: &InFlight, now: u64) {
        let from = if self.total { io.ready } else { io.issued };
        let prio = if io.prio == 0 {
            self.default_prio
        } else {
            io.prio
        };
        if let Some(entry) = self.recorded[io.direction]
            .iter_mut()
            .find(|entry| entry.prio == prio)
        {
            entry.latency.record(now.saturating_sub(from));
        }
    }

    /// Clears everything recorded so far.
    pub fn clear(&mut self) {
        self.recorded
            .0
            .iter_mut()
            .flatten()
            .for_each(|entry| entry.latency.clear());
    }

    /// Everything recorded so far.
    pub fn recorded(&self) -> &PerDirection<Vec<PriorityRecording>> {
        &self.recorded
    }
}

/// One distribution for the default priority and one for each other, in the order in which they are
/// named.
fn distributions(default_prio: u16, shares: &[PriorityShare]) -> Vec<PriorityRecording> {
    let mut all: Vec<PriorityRecording> = Vec::new();
    for prio in std::iter::once(default_prio)
        .chain(shares.iter().map(|share| share.prio))
        .take(shares.len() + 1)
    {
        if !shares.is_empty() && all.iter().all(|entry| entry.prio != prio) {
            all.push(PriorityRecording {
                prio,
                latency: Histogram::new(),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Op;
    use crate::testing::job;
    use fathom_model::{Access, Priorities, Traffic};

    fn planned_io(op: Op, len: u32) -> PlannedIo {
        PlannedIo {
            offset: 0,
            len,
            file: 0,
            op,
            then_write: false,
            prio: 0,
        }
    }

    fn with(shares: [Vec<PriorityShare>; 3]) -> Job {
        let mut job = job(
            Traffic::ReadWrite { read_percent: 50 },
            Access::Sequential { skip: 0 },
        );
        job.engine.settings.priorities = Priorities {
            worker: Some(0x4004),
            shares: PerDirection(shares),
        };
        job
    }

    #[test]
    fn a_job_without_shares_has_no_tracker() {
        assert!(PriorityTracker::new(&with(Default::default())).is_none());
    }

    #[test]
    fn each_size_has_its_own_shares() {
        let share = |size, percent, prio| PriorityShare {
            size: Some(size),
            percent,
            prio,
        };
        let reads = vec![
            share(4096, 25, 0x2001),
            share(8192, 100, 0x6002),
            share(4096, 60, 0x6002),
        ];
        let mut tracker =
            PriorityTracker::new(&with([reads, Vec::new(), Vec::new()])).expect("it has shares");
        let mut planned_ios = vec![planned_io(Op::Read, 4096); 20_000];
        tracker.assign(&mut planned_ios);
        let share_of = |planned_ios: &[PlannedIo], prio| {
            planned_ios
                .iter()
                .filter(|planned_io| planned_io.prio == prio)
                .count() as f64
                / planned_ios.len() as f64
        };
        // The standard error of a share of 20,000 is at most 0.0035.
        for (prio, expected) in [(0x2001, 0.25), (0x6002, 0.60), (0, 0.15)] {
            assert!(
                (share_of(&planned_ios, prio) - expected).abs() < 0.018,
                "{prio:x}: {}",
                share_of(&planned_ios, prio)
            );
        }
        let mut others = [
            planned_io(Op::Read, 8192),
            planned_io(Op::Read, 512),
            planned_io(Op::Write, 4096),
            planned_io(Op::Fsync, 0),
        ];
        tracker.assign(&mut others);
        assert_eq!(others.map(|planned_io| planned_io.prio), [0x6002, 0, 0, 0]);
    }

    #[test]
    fn latencies_are_recorded_by_priority() {
        let share = PriorityShare {
            size: None,
            percent: 50,
            prio: 0x2000,
        };
        let mut tracker = PriorityTracker::new(&with([vec![share], Vec::new(), Vec::new()]))
            .expect("it has shares");
        for (prio, now) in [(0, 10), (0x2000, 20), (0x2000, 30)] {
            tracker.record(
                &InFlight {
                    prio,
                    ..InFlight::NONE
                },
                now,
            );
        }
        let recorded = tracker.recorded();
        let reads: Vec<_> = recorded[Direction::Read]
            .iter()
            .map(|entry| (entry.prio, entry.latency.count(), entry.latency.sum()))
            .collect();
        assert_eq!(reads, [(0x4004, 1, 10), (0x2000, 2, 50)]);
        assert!(recorded[Direction::Write].is_empty());
    }
}
