//! `serialize_overlap` with `io_submit_mode=offload`: an I/O waits until no I/O to the same bytes
//! is in flight in any job with these options.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_model::{Job, Nanos, Plan};

use crate::clock::Clock;
use crate::engine::{Completion, Engine, Request};
use crate::engine_filter::SubmitFilter;

/// Maximum time without a new attempt.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Bytes of a file that are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    file: usize,
    start: u64,
    end: u64,
}

/// All ranges in flight in the jobs of a run that serialise overlaps.
#[derive(Debug, Default)]
pub(crate) struct ActiveRanges {
    /// The same file has the same number in all jobs.
    files: HashMap<PathBuf, usize>,
    ranges: Mutex<Vec<Range>>,
    freed: Condvar,
}

/// Whether the job serialises overlaps with other jobs, not only within itself.
pub(crate) fn needs_overlap_check(job: &Job) -> bool {
    job.pace.serialize_overlap && job.engine.settings.offload
}

impl ActiveRanges {
    pub fn new(plan: &Plan) -> Arc<ActiveRanges> {
        let paths: std::collections::BTreeSet<&PathBuf> = plan
            .jobs
            .iter()
            .filter(|job| needs_overlap_check(job))
            .flat_map(|job| &job.files.paths)
            .collect();
        let files = paths.into_iter().cloned().zip(0..).collect();
        Arc::new(ActiveRanges {
            files,
            ..ActiveRanges::default()
        })
    }

    fn number(&self, path: &Path) -> usize {
        self.files.get(path).copied().unwrap_or(usize::MAX)
    }

    fn ranges(&self) -> MutexGuard<'_, Vec<Range>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the first of these ranges up to one that overlaps another, and returns their number;
    /// with `wait` it waits for the first.
    fn take<C: Clock>(&self, wanted: &[Option<Range>], wait: bool, clock: &C) -> usize {
        let mut ranges = self.ranges();
        loop {
            let mut taken = 0;
            for range in wanted {
                if let Some(range) = range {
                    if ranges.iter().any(|other| {
                        other.file == range.file
                            && other.start < range.end
                            && range.start < other.end
                    }) {
                        break;
                    }
                    ranges.push(*range);
                }
                taken += 1;
            }
            if taken > 0 || !wait {
                return taken;
            }
            if C::IS_VIRTUAL {
                drop(ranges);
                let retry_after = Nanos::new(RETRY_AFTER.as_nanos() as u64);
                clock.wait_for_others(clock.now().saturating_add(retry_after));
                ranges = self.ranges();
                continue;
            }
            ranges = self
                .freed
                .wait_timeout(ranges, RETRY_AFTER)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn free(&self, freed: impl Iterator<Item = Range>, clock: &impl Clock) {
        let mut ranges = self.ranges();
        for range in freed {
            if let Some(at) = ranges.iter().position(|other| *other == range) {
                ranges.swap_remove(at);
            }
        }
        drop(ranges);
        self.freed.notify_all();
        clock.wake_others();
    }
}

/// Serialises the overlapping I/O of one job with that of the others.
pub(crate) struct Overlaps<'a, C: Clock> {
    active: &'a ActiveRanges,
    clock: C,
    /// The numbers of the files of the engine, in their order.
    files: Vec<usize>,
    /// The range of the I/O in each slot.
    held: Vec<Option<Range>>,
    /// The ranges of the batch that is being submitted.
    wanted: Vec<Option<Range>>,
}

impl<'a, C: Clock> Overlaps<'a, C> {
    pub fn new(active: &'a ActiveRanges, job: &Job, clock: C) -> Self {
        let paths = job.files.paths.iter();
        Overlaps {
            active,
            clock,
            files: paths.map(|path| active.number(path)).collect(),
            held: Vec::new(),
            wanted: Vec::new(),
        }
    }

    fn range(&self, request: &Request) -> Option<Range> {
        let moves = !request.op.is_sync();
        let file = *self.files.get(request.file as usize)?;
        moves.then(|| Range {
            file,
            start: request.offset,
            end: request.offset + u64::from(request.len),
        })
    }
}

impl<C: Clock> SubmitFilter for Overlaps<'_, C> {
    fn admit(&mut self, engine: &mut dyn Engine, batch: &[Request], in_flight: u32) -> usize {
        self.held.resize(engine.depth() as usize, None);
        self.wanted = batch.iter().map(|request| self.range(request)).collect();
        // With I/O of its own in flight the job goes on to reap; otherwise it waits here for the
        // other jobs.
        self.active.take(&self.wanted, in_flight == 0, &self.clock)
    }

    fn submitted(&mut self, admitted: &[Request], accepted: usize) {
        for (request, range) in admitted[..accepted].iter().zip(&self.wanted) {
            self.held[request.slot as usize] = *range;
        }
        if accepted < admitted.len() {
            let refused = &self.wanted[accepted..admitted.len()];
            self.active
                .free(refused.iter().flatten().copied(), &self.clock);
        }
    }

    fn completed(&mut self, completions: &mut [Completion], _in_flight: u32) {
        let held = &mut self.held;
        self.active.free(
            completions
                .iter()
                .filter_map(|completion| held[completion.slot as usize].take()),
            &self.clock,
        );
    }
}

impl<C: Clock> Drop for Overlaps<'_, C> {
    fn drop(&mut self) {
        self.active
            .free(self.held.iter().flatten().copied(), &self.clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::StdClock;

    fn clock() -> StdClock {
        StdClock(std::time::Instant::now())
    }

    fn range(file: usize, start: u64, end: u64) -> Option<Range> {
        Some(Range { file, start, end })
    }

    #[test]
    fn ranges_are_taken_up_to_the_first_overlap() {
        let active = ActiveRanges::default();
        assert_eq!(
            active.take(
                &[range(0, 0, 8), None, range(0, 8, 16), range(0, 4, 6)],
                false,
                &clock()
            ),
            3
        );
        assert_eq!(active.take(&[range(0, 15, 20)], false, &clock()), 0);
        assert_eq!(
            active.take(&[range(1, 15, 20), range(0, 16, 20)], false, &clock()),
            2
        );
        active.free([range(0, 8, 16)].into_iter().flatten(), &clock());
        assert_eq!(active.take(&[range(0, 15, 16)], false, &clock()), 1);
    }

    #[test]
    fn a_waiting_job_continues_when_the_range_is_free() {
        let active = ActiveRanges::default();
        assert_eq!(active.take(&[range(0, 0, 8)], false, &clock()), 1);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| active.take(&[range(0, 4, 12)], true, &clock()));
            active.free([range(0, 0, 8)].into_iter().flatten(), &clock());
            assert_eq!(waiter.join().expect("it continues"), 1);
        });
        assert_eq!(
            *active.ranges(),
            [Range {
                file: 0,
                start: 4,
                end: 12
            }]
        );
    }
}
