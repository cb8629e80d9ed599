//! The source of the I/Os of one worker: a generator, used ahead in batches, or a replayed trace.

use fathom_model::Direction;

use super::checker::Checker;
use super::replay::ReplayLog;
use crate::budget::Budget;
use crate::io_generator::{IoGenerator, PlannedIo};
use crate::priorities::PriorityTracker;

/// I/Os generated at once.
const DRAW: usize = 256;
/// I/Os generated at once where the clock chooses the direction of each.
const DRAW_STEERED: usize = 1;
/// Writes that a loaded verify state does not list are counted up to this number.
const MAX_UNLISTED: u64 = 10_000_000;

/// The I/Os of a job in their order, whatever the clock and the queue do.
pub(super) struct IoSource {
    generator: IoGenerator,
    planned_ios: Vec<PlannedIo>,
    next: usize,
    budget: Budget,
    log: Option<ReplayLog>,
    /// No sync follows the last write of the job.
    drops_last_syncs: bool,
    /// The load stops for a moment after every pass.
    stops_at_pass: bool,
    /// A pass has ended, and nothing is generated before [`IoSource::take_pass_end`].
    pass_ended: bool,
}

impl IoSource {
    /// The I/Os of `generator` within `budget`, or those of `log`.
    pub fn new(generator: IoGenerator, budget: Budget, log: Option<ReplayLog>) -> IoSource {
        IoSource {
            generator,
            planned_ios: Vec::with_capacity(DRAW * 3),
            next: 0,
            budget,
            log,
            drops_last_syncs: false,
            stops_at_pass: false,
            pass_ended: false,
        }
    }

    /// Makes the load stop after every pass that is not the last.
    pub fn stopping_at_passes(mut self, stops: bool) -> IoSource {
        self.stops_at_pass = stops;
        self
    }

    /// Leaves out the syncs after the last write of the job, as fio does.
    pub fn without_last_syncs(mut self, drops: bool) -> IoSource {
        self.drops_last_syncs = drops;
        self
    }

    /// Whether the load stopped because a pass ended. It may go on then.
    pub fn take_pass_end(&mut self) -> bool {
        std::mem::take(&mut self.pass_ended)
    }

    /// Whether the load stopped because a pass ended, and has more I/O after it.
    pub fn is_between_passes(&self) -> bool {
        self.pass_ended
    }

    /// Whether the I/Os come from a log.
    pub fn is_replay(&self) -> bool {
        self.log.is_some()
    }

    /// The log that is replayed.
    pub fn log(&mut self) -> Option<&mut ReplayLog> {
        self.log.as_mut()
    }

    /// Whether all I/Os generated ahead are taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.next == self.planned_ios.len()
    }

    /// I/Os generated ahead and not taken.
    #[inline]
    pub fn ahead(&self) -> &[PlannedIo] {
        &self.planned_ios[self.next..]
    }

    /// Takes the next I/O.
    ///
    /// # Panics
    /// When the source is empty.
    #[inline]
    pub fn take(&mut self) -> PlannedIo {
        self.next += 1;
        self.planned_ios[self.next - 1]
    }

    /// Takes the first `count` I/Os of [`IoSource::ahead`].
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.next += count;
    }

    /// Puts back the I/O that was taken last.
    #[inline]
    pub fn put_back(&mut self) {
        self.next -= 1;
    }

    /// The next I/O is generated for this direction, in a mix with planned rates.
    pub fn steer(&mut self, direction: Direction) {
        self.generator.steer(direction);
    }

    /// Generates I/O ahead. False when a verify pass is due or the amount is used up.
    #[cold]
    pub fn refill(
        &mut self,
        mut checker: Option<&mut Checker>,
        mut priorities: Option<&mut PriorityTracker>,
    ) -> bool {
        self.planned_ios.clear();
        self.next = 0;
        let mut empty_passes = 0;
        while !self.budget.spent()
            && empty_passes < 2
            && !self.pass_ended
            && !checker
                .as_ref()
                .is_some_and(|checker| checker.is_due() || checker.counted)
        {
            let most = if self.generator.is_steered() {
                DRAW_STEERED
            } else {
                DRAW
            };
            let want = checker.as_ref().map_or(most, |checker| checker.room(most));
            if let Some(checker) = &mut checker {
                checker.before_draw(&self.generator);
            }
            self.generator.fill(&mut self.planned_ios, want);
            if self.budget.is_limited() {
                self.apply_budget();
            }
            let is_last_pass = self.budget.passes == 1 && self.generator.is_at_pass_end();
            if self.drops_last_syncs && (self.budget.spent() || is_last_pass) {
                let is_sync = |io: &PlannedIo| io.direction().is_none();
                while self.planned_ios.pop_if(|io| is_sync(io)).is_some() {}
            }
            let drawn = self.planned_ios.len();
            if let Some(checker) = &mut checker {
                checker.note_drawn(drawn as u64);
                checker.select(&mut self.planned_ios);
                // The rest of the pass is only counted.
                checker.counted = checker.stopped
                    && self.planned_ios.is_empty()
                    && (drawn == 0 || checker.unlisted() >= MAX_UNLISTED);
                if checker.counted {
                    return false;
                }
            }
            if let Some(priorities) = &mut priorities {
                priorities.assign(&mut self.planned_ios);
            }
            if !self.planned_ios.is_empty() {
                return true;
            }
            if drawn > 0 {
                continue;
            }
            self.budget.end_pass();
            empty_passes += 1;
            self.pass_ended = self.stops_at_pass && !self.budget.spent();
        }
        false
    }

    fn apply_budget(&mut self) {
        if let Some(at) = self
            .planned_ios
            .iter()
            .position(|planned_io| planned_io.len > 0 && !self.budget.take(planned_io.len))
        {
            self.planned_ios.truncate(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Access, Bytes, Extent, Personality, Traffic};

    use super::*;
    use crate::io_generator::{Region, build};
    use crate::testing::job;

    /// Reads of 4 KiB blocks of a file of `blocks` blocks, in order.
    fn source(blocks: u64, change: impl FnOnce(&mut fathom_model::Job)) -> IoSource {
        let mut job = job(Traffic::Read, Access::Sequential { skip: 0 });
        change(&mut job);
        let region = Region {
            start: 0,
            end: blocks * 4096,
        };
        let generator = build(&job, &[region], Personality::Fathom).expect("a generator");
        IoSource::new(generator, Budget::new(&job, blocks * 4096), None)
    }

    fn offsets(source: &mut IoSource) -> Vec<u64> {
        let mut offsets = Vec::new();
        while !source.is_empty() || source.refill(None, None) {
            offsets.push(source.take().offset / 4096);
        }
        offsets
    }

    #[test]
    fn every_pass_is_drawn_in_order_and_then_the_source_ends() {
        let mut twice = source(600, |job| job.limits.loops = 2);
        let expected: Vec<u64> = (0..600).chain(0..600).collect();
        assert_eq!(offsets(&mut twice), expected);
        assert!(twice.is_empty() && !twice.refill(None, None));
    }

    #[test]
    fn an_amount_ends_the_source_within_a_pass() {
        let size = Extent::Bytes(Bytes::new(5 * 4096));
        assert_eq!(
            offsets(&mut source(3, |job| job.limits.io_size = Some(size))),
            [0, 1, 2, 0, 1]
        );
        assert_eq!(
            offsets(&mut source(600, |job| job.limits.ios = Some(300))).len(),
            300
        );
    }

    #[test]
    fn an_io_can_be_put_back_and_ios_ahead_can_be_taken_together() {
        let mut source = source(10, |_| ());
        assert!(source.is_empty() && source.ahead().is_empty());
        assert!(source.refill(None, None));
        assert_eq!(source.ahead().len(), 10);
        let first = source.take();
        source.put_back();
        assert_eq!(source.take(), first);
        source.skip(8);
        assert_eq!(source.ahead().len(), 1);
        assert_eq!(source.take().offset, 9 * 4096);
        assert!(source.is_empty());
    }
}
