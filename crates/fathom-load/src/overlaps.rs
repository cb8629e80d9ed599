//! `serialize_overlap` with `io_submit_mode=offload`: I/O waits until nothing that touches its bytes is in flight in any of the jobs
//! that ask for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_model::{Job, Plan};

use crate::engine::{Completion, Engine, EngineError, EngineUser, Op, Request, Wait};

/// Longest time in which nobody looks again.
const LOOK_UP: Duration = Duration::from_millis(100);

/// Bytes of a file that are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    file: usize,
    start: u64,
    end: u64,
}

/// All that is in flight in the jobs of a run that keep out of each other's way.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    /// The same file has the same number in all jobs.
    files: HashMap<PathBuf, usize>,
    ranges: Mutex<Vec<Range>>,
    freed: Condvar,
}

/// Whether a job keeps out of the way of others, not only of itself.
pub(crate) fn needs_overlap_check(job: &Job) -> bool {
    job.pace.serialize_overlap && job.engine.settings.offload
}

impl Busy {
    pub fn new(plan: &Plan) -> Arc<Busy> {
        let paths: std::collections::BTreeSet<&PathBuf> = plan
            .jobs
            .iter()
            .filter(|job| needs_overlap_check(job))
            .flat_map(|job| &job.files.paths)
            .collect();
        let files = paths.into_iter().cloned().zip(0..).collect();
        Arc::new(Busy {
            files,
            ..Busy::default()
        })
    }

    fn number(&self, path: &Path) -> usize {
        self.files.get(path).copied().unwrap_or(usize::MAX)
    }

    fn ranges(&self) -> MutexGuard<'_, Vec<Range>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the first of these ranges up to one that touches another, and returns how many; with `wait` it waits for the first.
    fn take(&self, wanted: &[Option<Range>], wait: bool) -> usize {
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
            ranges = self
                .freed
                .wait_timeout(ranges, LOOK_UP)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn free(&self, freed: impl Iterator<Item = Range>) {
        let mut ranges = self.ranges();
        for range in freed {
            if let Some(at) = ranges.iter().position(|other| *other == range) {
                ranges.swap_remove(at);
            }
        }
        drop(ranges);
        self.freed.notify_all();
    }
}

/// Hands its user an engine that keeps out of the way.
pub(crate) struct Apart<U> {
    user: U,
    busy: Arc<Busy>,
    files: Vec<usize>,
}

impl<U> Apart<U> {
    pub fn new(user: U, busy: Arc<Busy>, job: &Job) -> Self {
        let files = job
            .files
            .paths
            .iter()
            .map(|path| busy.number(path))
            .collect();
        Apart { user, busy, files }
    }
}

impl<U: EngineUser> EngineUser for Apart<U> {
    type Output = U::Output;

    /// As for `lockfile`, one copy of the loop serves all engines.
    fn run<E: Engine>(self, engine: E, name: &'static str, fallback: Option<String>) -> U::Output {
        let Apart { user, busy, files } = self;
        let mut engine = engine;
        let held = vec![None; engine.depth() as usize];
        user.run(
            Serial {
                inner: &mut engine,
                busy: &busy,
                files: &files,
                held,
                in_flight: 0,
            },
            name,
            fallback,
        )
    }
}

struct Serial<'a> {
    inner: &'a mut dyn Engine,
    busy: &'a Busy,
    files: &'a [usize],
    /// What the I/O in each slot touches.
    held: Vec<Option<Range>>,
    in_flight: u32,
}

impl Serial<'_> {
    fn range(&self, request: &Request) -> Option<Range> {
        let moves = !matches!(request.op, Op::Fsync | Op::Fdatasync);
        let file = *self.files.get(request.file as usize)?;
        moves.then(|| Range {
            file,
            start: request.offset,
            end: request.offset + u64::from(request.len),
        })
    }
}

impl Engine for Serial<'_> {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn is_synchronous(&self) -> bool {
        self.inner.is_synchronous()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        let wanted: Vec<Option<Range>> = batch.iter().map(|request| self.range(request)).collect();
        // With something of its own in flight the job goes and reaps; with nothing it waits here for the others.
        let free = self
            .busy
            .take(&wanted, self.in_flight == 0 && !batch.is_empty());
        let taken = if free > 0 {
            self.inner.submit(&batch[..free])
        } else {
            Ok(0)
        };
        let kept = *taken.as_ref().unwrap_or(&0);
        for (request, range) in batch[..kept].iter().zip(&wanted) {
            self.held[request.slot as usize] = *range;
        }
        if kept < free {
            self.busy.free(wanted[kept..free].iter().flatten().copied());
        }
        self.in_flight += kept as u32;
        taken
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.inner.reap(wait, done)?;
        self.in_flight -= (done.len() - before) as u32;
        let held = &mut self.held;
        self.busy.free(
            done[before..]
                .iter()
                .filter_map(|completion| held[completion.slot as usize].take()),
        );
        Ok(())
    }
}

impl Drop for Serial<'_> {
    fn drop(&mut self) {
        self.busy.free(self.held.iter().flatten().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(file: usize, start: u64, end: u64) -> Option<Range> {
        Some(Range { file, start, end })
    }

    #[test]
    fn ranges_are_taken_up_to_the_first_that_touches_another() {
        let busy = Busy::default();
        assert_eq!(
            busy.take(
                &[range(0, 0, 8), None, range(0, 8, 16), range(0, 4, 6)],
                false
            ),
            3
        );
        assert_eq!(busy.take(&[range(0, 15, 20)], false), 0);
        assert_eq!(busy.take(&[range(1, 15, 20), range(0, 16, 20)], false), 2);
        busy.free([range(0, 8, 16)].into_iter().flatten());
        assert_eq!(busy.take(&[range(0, 15, 16)], false), 1);
    }

    #[test]
    fn who_waits_goes_on_when_the_range_is_free() {
        let busy = Busy::default();
        assert_eq!(busy.take(&[range(0, 0, 8)], false), 1);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| busy.take(&[range(0, 4, 12)], true));
            busy.free([range(0, 0, 8)].into_iter().flatten());
            assert_eq!(waiter.join().expect("it goes on"), 1);
        });
        assert_eq!(
            *busy.ranges(),
            [Range {
                file: 0,
                start: 4,
                end: 12
            }]
        );
    }
}
