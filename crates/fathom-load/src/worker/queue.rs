//! The queue of one worker: its slots, the batch to submit next, and the I/Os in flight.

use fathom_model::{Direction, Nanos, Queue};

use super::levels::Levels;
use super::{MAX_WAIT, POLL};
use crate::engine::{Completion, Engine, EngineError, Request, Wait};
use crate::io_generator::{PlannedIo, direction_of};
use crate::recorder::InFlight;

/// The slots of an engine and what is in them.
///
/// A slot is free, holds an I/O of the batch, or holds an I/O in flight. `free`, `batch` and
/// `in_flight` add up to the queue depth.
pub(super) struct IoQueue {
    slots: Vec<InFlight>,
    free: Vec<u32>,
    batch: Vec<Request>,
    /// Reaped and not yet completed by the worker.
    reaped: Vec<Completion>,
    in_flight: u32,
    /// The queue is being filled. Once full it drains to `iodepth_low` first.
    refilling: bool,
    options: Queue,
    levels: Levels,
    /// How long before the end of a wait it polls.
    poll: u64,
}

impl IoQueue {
    /// An empty queue of `depth` slots.
    pub fn new(depth: u32, options: Queue) -> IoQueue {
        IoQueue {
            slots: vec![InFlight::NONE; depth as usize],
            free: (0..depth).rev().collect(),
            batch: Vec::with_capacity(depth as usize + 1),
            reaped: Vec::with_capacity(depth as usize),
            in_flight: 0,
            refilling: true,
            options,
            levels: Levels::default(),
            poll: POLL,
        }
    }

    /// The same in virtual time, where a wait ends exactly.
    pub fn without_polling(self) -> IoQueue {
        IoQueue { poll: 0, ..self }
    }

    #[inline]
    pub fn depth(&self) -> u32 {
        self.slots.len() as u32
    }

    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// I/Os in the batch and in flight.
    #[inline]
    pub fn busy(&self) -> u32 {
        self.in_flight + self.batch.len() as u32
    }

    /// Whether fewer I/Os are in flight than there are slots.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.in_flight < self.depth()
    }

    /// How many I/Os the next batch may hold.
    #[inline]
    pub fn room(&mut self) -> usize {
        let depth = self.depth();
        if self.in_flight >= depth {
            self.refilling = false;
        } else if self.in_flight <= self.options.low.min(depth - 1) {
            self.refilling = true;
        }
        if !self.refilling {
            return 0;
        }
        (depth - self.in_flight).min(self.options.batch_submit.max(1)) as usize
    }

    /// I/Os waiting to be submitted.
    #[inline]
    pub fn batch(&self) -> &[Request] {
        &self.batch
    }

    /// Puts an I/O into a free slot and the batch. Returns the slot.
    ///
    /// # Panics
    /// When no slot is free.
    #[inline]
    pub fn push(&mut self, planned_io: PlannedIo, planned: u64, check: u64) -> u32 {
        let slot = self.free.pop().expect("room was checked");
        self.slots[slot as usize] = InFlight {
            then_write: planned_io.then_write,
            check,
            ..InFlight::new(&planned_io, planned, planned)
        };
        self.batch.push(planned_io.request(slot));
        slot
    }

    /// Puts I/Os that are ready at the same time into slots and the batch.
    #[inline]
    pub fn push_all(&mut self, planned_ios: &[PlannedIo], ready: u64) {
        let left = self.free.len() - planned_ios.len();
        let slots = &mut self.slots[..];
        self.batch.extend(
            self.free[left..]
                .iter()
                .zip(planned_ios)
                .map(|(slot, planned_io)| {
                    slots[*slot as usize] = InFlight::new(planned_io, ready, ready);
                    planned_io.request(*slot)
                }),
        );
        self.free.truncate(left);
    }

    /// The slots that [`IoQueue::push_all`] uses for so many I/Os, in their order.
    pub fn next_slots(&self, count: usize) -> &[u32] {
        &self.free[self.free.len() - count..]
    }

    /// The first I/O of the batch, unless it is a sync.
    #[inline]
    pub fn first_of_batch(&self) -> Option<&InFlight> {
        let request = self.batch.first()?;
        Some(&self.slots[request.slot as usize]).filter(|io| !io.sync)
    }

    /// The I/O of the batch that was added last is read to check write `check`. Returns its slot.
    pub fn check_last(&mut self, check: u64) -> Option<u32> {
        let slot = self.batch.last()?.slot;
        self.slots[slot as usize].check = check;
        Some(slot)
    }

    /// Gives all I/Os of the batch the same ready time: their buffers were filled one after the
    /// other, or the kernel did not accept them the last time.
    #[inline]
    pub fn reset_ready(&mut self, ready: u64) {
        for request in &self.batch {
            let io = &mut self.slots[request.slot as usize];
            (io.planned, io.ready, io.issued) = (ready, ready, ready);
        }
    }

    /// Stamps the first `accepted` I/Os of the batch as submitted between `ready` and `issued`, and
    /// passes each to `each`. In a closed loop an I/O is due when it is ready.
    #[inline]
    pub fn submitted(
        &mut self,
        accepted: usize,
        (ready, issued): (u64, u64),
        closed_loop: bool,
        mut each: impl FnMut(&InFlight, &Request),
    ) {
        // The kernel accepts a batch one by one, in order, and the first may complete before the
        // last is accepted: each gets its share of the time. Regression 0028: with one stamp for
        // all, the service time of the first lacked the submission time of all the others.
        let share = (issued - ready) / (accepted as u64).max(1);
        let mut issued = ready;
        for request in &self.batch[..accepted] {
            let io = &mut self.slots[request.slot as usize];
            if closed_loop {
                io.planned = ready;
            }
            issued += share;
            (io.ready, io.issued) = (ready, issued);
            each(io, request);
        }
        self.remove_submitted(accepted);
    }

    /// As [`IoQueue::submitted`] for I/Os of a closed loop, in runs of the same operation: `each`
    /// gets the direction, the number of I/Os and their bytes.
    #[inline]
    pub fn submitted_runs(
        &mut self,
        accepted: usize,
        (ready, issued): (u64, u64),
        mut each: impl FnMut(Direction, u64, u64),
    ) {
        let share = (issued - ready) / (accepted as u64).max(1);
        let mut issued = ready;
        let mut rest = &self.batch[..accepted];
        while let Some(first) = rest.first() {
            let (mut ios, mut bytes) = (0, 0);
            for request in rest.iter().take_while(|request| request.op == first.op) {
                issued += share;
                self.slots[request.slot as usize].issued = issued;
                bytes += u64::from(request.len);
                ios += 1;
            }
            if let Some(direction) = direction_of(first.op) {
                each(direction, ios, bytes);
            }
            rest = &rest[ios as usize..];
        }
        self.remove_submitted(accepted);
    }

    #[inline]
    fn remove_submitted(&mut self, accepted: usize) {
        self.in_flight += accepted as u32;
        self.refilling &= self.in_flight < self.depth();
        self.levels.submitted(accepted as u32, self.in_flight);
        if accepted == self.batch.len() {
            self.batch.clear();
        } else {
            self.batch.drain(..accepted);
        }
    }

    /// Reaps completions and counts how many came at once.
    ///
    /// # Errors
    /// When the engine cannot continue.
    #[inline]
    pub fn reap<E: Engine>(&mut self, engine: &mut E, wait: Wait) -> Result<(), EngineError> {
        engine.reap(wait, &mut self.reaped)?;
        self.levels.reaped(self.reaped.len() as u32);
        Ok(())
    }

    /// Reaps completions without counting them: the load has ended, or runs one I/O at a time.
    ///
    /// # Errors
    /// When the engine cannot continue.
    #[inline]
    pub fn reap_uncounted<E: Engine>(
        &mut self,
        engine: &mut E,
        wait: Wait,
    ) -> Result<(), EngineError> {
        engine.reap(wait, &mut self.reaped)
    }

    /// Completions that were reaped.
    #[inline]
    pub fn reaped(&self) -> &[Completion] {
        &self.reaped
    }

    /// Takes the completions that were reaped, to be returned with [`IoQueue::reuse`].
    #[inline]
    pub fn take_reaped(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.reaped)
    }

    /// Takes the memory of completions back.
    #[inline]
    pub fn reuse(&mut self, mut reaped: Vec<Completion>) {
        reaped.clear();
        self.reaped = reaped;
    }

    /// Takes the completion of the only I/O there is.
    #[inline]
    pub fn pop_reaped(&mut self) -> Option<Completion> {
        self.reaped.pop()
    }

    /// Forgets the completions that were reaped.
    #[inline]
    pub fn clear_reaped(&mut self) {
        self.reaped.clear();
    }

    /// All slots, for completions that are recorded together.
    #[inline]
    pub fn slots(&self) -> &[InFlight] {
        &self.slots
    }

    /// Frees the slots of `count` completions from the reaped one at `from` on.
    #[inline]
    pub fn complete_all(&mut self, from: usize, count: usize) {
        self.free.extend(
            self.reaped[from..from + count]
                .iter()
                .map(|completion| completion.slot),
        );
        self.in_flight -= count as u32;
    }

    /// Frees a slot. Returns the I/O that was in it.
    #[inline]
    pub fn complete(&mut self, slot: u32) -> &InFlight {
        self.in_flight -= 1;
        self.free.push(slot);
        &self.slots[slot as usize]
    }

    /// Puts an I/O that was submitted without the queue in flight in the only slot, so that it can
    /// be completed.
    #[cold]
    pub fn adopt_single(&mut self, io: InFlight) {
        self.free.clear();
        self.in_flight = 1;
        self.slots[0] = io;
    }

    /// `n` I/Os were submitted and reaped one by one without the queue.
    pub fn count_singles(&mut self, n: u64) {
        self.levels.one_by_one(n);
    }

    /// Whether an I/O touches bytes of one that is in flight or in the batch.
    pub fn overlaps(&self, next: &PlannedIo) -> bool {
        let (start, end) = (next.offset, next.offset + u64::from(next.len));
        let touches = |io: &InFlight| {
            io.file == next.file
                && !io.sync
                && io.offset < end
                && start < io.offset + u64::from(io.len)
        };
        (0..self.depth())
            .any(|slot| touches(&self.slots[slot as usize]) && !self.free.contains(&slot))
    }

    /// Whether a slot holds an I/O, submitted or not.
    pub fn is_busy(&self, slot: u32) -> bool {
        !self.free.contains(&slot)
    }

    /// Slots with a write that has not completed, whether it was submitted or not.
    pub fn busy_writes(&self) -> impl Iterator<Item = u32> {
        (0..self.depth()).filter(|slot| {
            let io = &self.slots[*slot as usize];
            io.direction == Direction::Write && !io.sync && !self.free.contains(slot)
        })
    }

    /// Slots whose I/O was submitted and has not completed.
    pub fn slots_in_flight(&self) -> Vec<u32> {
        (0..self.depth())
            .filter(|slot| {
                self.in_flight > 0
                    && !self.free.contains(slot)
                    && !self.batch.iter().any(|request| request.slot == *slot)
            })
            .collect()
    }

    /// The I/O in a slot.
    pub fn io(&self, slot: u32) -> &InFlight {
        &self.slots[slot as usize]
    }

    /// Takes the batch that will not be submitted any more.
    pub fn take_batch(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.batch)
    }

    /// At least and at most how many completions one reap returns.
    #[inline]
    pub fn reap_bounds(&self) -> (u32, u32) {
        let options = &self.options;
        let at_most = options
            .batch_complete_max
            .max(options.batch_complete_min)
            .max(1);
        let at_least = options
            .batch_complete_min
            .clamp(1, self.in_flight.max(1))
            .min(at_most);
        (at_least, at_most)
    }

    /// A wait of at most [`MAX_WAIT`].
    #[inline]
    pub fn wait(&self) -> Wait {
        let (at_least, at_most) = self.reap_bounds();
        Wait {
            at_least,
            at_most,
            limit: Some(Nanos::new(MAX_WAIT)),
        }
    }

    /// A wait that ends `left` nanoseconds from now, early enough to poll for the last part.
    #[inline]
    pub fn wait_for(&self, left: u64) -> Wait {
        let (at_least, at_most) = self.reap_bounds();
        match left.checked_sub(self.poll).filter(|rest| *rest > 0) {
            Some(limit) => Wait {
                at_least,
                at_most,
                limit: Some(Nanos::new(limit)),
            },
            None => Wait {
                at_least: 0,
                at_most,
                limit: None,
            },
        }
    }

    /// How many I/Os were in flight, submitted and reaped at once.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Counts from here on.
    pub fn clear_levels(&mut self) {
        self.levels = Levels::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Op;
    use crate::null::NullEngine;

    fn options(depth: u32) -> Queue {
        Queue {
            depth,
            batch_submit: depth,
            batch_complete_min: 1,
            batch_complete_max: depth,
            low: depth,
        }
    }

    fn queue(depth: u32) -> IoQueue {
        IoQueue::new(depth, options(depth))
    }

    fn planned_io(op: Op, block: u64) -> PlannedIo {
        PlannedIo {
            offset: block * 4096,
            len: 4096,
            file: 0,
            op,
            then_write: false,
            prio: 0,
        }
    }

    fn reads(blocks: std::ops::Range<u64>) -> Vec<PlannedIo> {
        blocks.map(|block| planned_io(Op::Read, block)).collect()
    }

    fn assert_slots_add_up(queue: &IoQueue) {
        let all = queue.free.len() + queue.batch.len() + queue.in_flight as usize;
        assert_eq!(all, queue.slots.len());
    }

    /// Submits the first `accepted` I/Os of the batch.
    fn submit(queue: &mut IoQueue, accepted: usize) {
        queue.submitted(accepted, (0, 0), true, |_, _| ());
    }

    /// Regression 0331: a queue that became full by a submission went on filling at the next
    /// completion, as if there were no `iodepth_low`.
    #[test]
    fn a_queue_that_was_just_filled_drains_to_its_low_mark() {
        let mut queue = IoQueue::new(
            4,
            Queue {
                low: 1,
                batch_submit: 1,
                ..options(4)
            },
        );
        for block in 0..4 {
            assert_eq!(queue.room(), 1);
            queue.push(planned_io(Op::Read, block), 0, 0);
            submit(&mut queue, 1);
        }
        for (slot, room) in [(0, 0), (1, 0), (2, 1)] {
            queue.complete(slot);
            assert_eq!(queue.room(), room, "after completion {slot}");
        }
    }

    #[test]
    fn a_slot_is_free_in_the_batch_or_in_flight() {
        let mut queue = queue(4);
        let slots: Vec<u32> = reads(0..3)
            .into_iter()
            .map(|planned_io| queue.push(planned_io, 5, 0))
            .collect();
        assert_eq!(slots, [0, 1, 2]);
        assert_eq!((queue.busy(), queue.in_flight()), (3, 0));
        assert_slots_add_up(&queue);
        // The kernel accepts two of three.
        submit(&mut queue, 2);
        assert_eq!((queue.batch()[0].slot, queue.in_flight()), (2, 2));
        assert_eq!(queue.slots_in_flight(), [0, 1]);
        assert_slots_add_up(&queue);
        assert_eq!(queue.complete(0).offset, 0);
        assert_eq!(queue.slots_in_flight(), [1]);
        assert_slots_add_up(&queue);
        assert_eq!(
            queue.push(planned_io(Op::Read, 3), 5, 0),
            0,
            "the slot is reused"
        );
        assert_eq!(queue.take_batch().len(), 2);
    }

    #[test]
    fn single_and_batched_pushes_make_the_same_requests() {
        let mut planned_ios = reads(0..2);
        planned_ios.push(planned_io(Op::Fsync, 2));
        let (mut one, mut all) = (queue(4), queue(4));
        let slots: Vec<u32> = planned_ios
            .iter()
            .map(|planned_io| one.push(*planned_io, 9, 0))
            .collect();
        // Both use each free slot once; the order differs.
        let next = all.next_slots(3).to_vec();
        all.push_all(&planned_ios, 9);
        let used: Vec<u32> = all.batch().iter().map(|request| request.slot).collect();
        assert_eq!(used, next);
        let sorted = |mut slots: Vec<u32>| {
            slots.sort_unstable();
            slots
        };
        assert_eq!(sorted(used), sorted(slots));
        for (a, b) in one.batch().iter().zip(all.batch()) {
            assert_eq!(Request { slot: 0, ..*a }, Request { slot: 0, ..*b });
            let (a, b) = (one.io(a.slot), all.io(b.slot));
            assert_eq!((a.planned, a.offset, a.sync), (b.planned, b.offset, b.sync));
        }
        assert_slots_add_up(&all);
    }

    #[test]
    fn each_io_of_a_batch_gets_its_share_of_the_submission_time() {
        for by_runs in [false, true] {
            let mut queue = queue(4);
            let mut planned_ios = reads(0..2);
            planned_ios.extend([planned_io(Op::Write, 2), planned_io(Op::Fsync, 3)]);
            queue.push_all(&planned_ios, 100);
            let mut seen = Vec::new();
            if by_runs {
                queue.submitted_runs(4, (100, 180), |direction, ios, bytes| {
                    seen.push((direction, ios, bytes));
                });
                let runs = [(Direction::Read, 2, 8192), (Direction::Write, 1, 4096)];
                assert_eq!(seen, runs, "a sync has no direction");
            } else {
                let mut count = 0;
                queue.submitted(4, (100, 180), true, |_, _| count += 1);
                assert_eq!(count, 4);
            }
            let mut issued: Vec<u64> = queue.slots().iter().map(|io| io.issued).collect();
            issued.sort_unstable();
            assert_eq!(issued, [120, 140, 160, 180]);
            assert!(queue.slots().iter().all(|io| io.ready == 100));
            assert_eq!((queue.in_flight(), queue.levels().depth[2]), (4, 4));
        }
    }

    #[test]
    fn in_an_open_loop_an_io_keeps_its_due_time() {
        for (closed_loop, planned) in [(true, 100), (false, 30)] {
            let mut queue = queue(1);
            queue.push(planned_io(Op::Read, 0), 30, 0);
            queue.submitted(1, (100, 110), closed_loop, |_, _| ());
            assert_eq!(queue.io(0).planned, planned);
        }
    }

    #[test]
    fn a_full_queue_drains_to_its_low_mark_before_it_is_refilled() {
        let options = Queue {
            low: 1,
            batch_submit: 3,
            ..options(4)
        };
        let mut queue = IoQueue::new(4, options);
        assert_eq!(queue.room(), 3, "one batch");
        queue.push_all(&reads(0..4), 0);
        submit(&mut queue, 4);
        assert!(!queue.has_room());
        assert_eq!(queue.room(), 0);
        queue.complete(0);
        queue.complete(1);
        assert_eq!((queue.room(), queue.has_room()), (0, true));
        queue.complete(2);
        assert_eq!(queue.room(), 3);
    }

    #[test]
    fn overlaps_are_found_in_flight_and_in_the_batch_only() {
        let mut queue = queue(4);
        queue.push(planned_io(Op::Write, 1), 0, 0);
        submit(&mut queue, 1);
        queue.push(planned_io(Op::Write, 3), 0, 0);
        let half = PlannedIo {
            offset: 4096 + 2048,
            len: 4096,
            ..planned_io(Op::Read, 0)
        };
        assert!(queue.overlaps(&half) && queue.overlaps(&planned_io(Op::Read, 3)));
        assert!(
            !queue.overlaps(&planned_io(Op::Read, 0)) && !queue.overlaps(&planned_io(Op::Read, 2))
        );
        assert!(!queue.overlaps(&PlannedIo { file: 1, ..half }));
        queue.complete(0);
        assert!(!queue.overlaps(&half), "it has completed");
    }

    #[test]
    fn a_wait_is_bounded_by_the_options_and_polls_for_its_last_part() {
        let options = Queue {
            batch_complete_min: 8,
            batch_complete_max: 2,
            ..options(4)
        };
        let mut queue = IoQueue::new(4, options);
        queue.push_all(&reads(0..3), 0);
        submit(&mut queue, 3);
        let wait = queue.wait();
        assert_eq!((wait.at_least, wait.at_most), (3, 8));
        assert_eq!(wait.limit, Some(Nanos::new(MAX_WAIT)));
        let wait = queue.wait_for(POLL + 7);
        assert_eq!((wait.at_least, wait.limit), (3, Some(Nanos::new(7))));
        let poll = queue.wait_for(POLL);
        assert_eq!((poll.at_least, poll.limit), (0, None));
    }

    #[test]
    fn what_an_engine_completes_frees_its_slots() {
        let mut engine = NullEngine::new(4, 4096, &[]).expect("memory");
        let mut queue = queue(4);
        queue.push_all(&reads(0..4), 0);
        let accepted = engine.submit(queue.batch()).expect("null");
        submit(&mut queue, accepted);
        queue.reap(&mut engine, queue.wait()).expect("null");
        assert_eq!((queue.reaped().len(), queue.levels().complete[1]), (4, 1));
        queue.complete_all(1, 3);
        let reaped = queue.take_reaped();
        queue.complete(reaped[0].slot);
        queue.reuse(reaped);
        assert_eq!((queue.busy(), queue.reaped().len()), (0, 0));
        assert_slots_add_up(&queue);
    }
}
