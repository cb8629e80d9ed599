//! Virtual time: the disks, the threads that wait for them, and whose turn it is.
//!
//! A thread runs until it waits. Then time moves to the first event that makes a thread ready; of several, the one with the
//! lowest number runs first. The order is fixed, so that the same plan and machine give the same recording.

use std::cell::{RefCell, RefMut};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fathom_model::DiskCounters;

use super::disk::Disk;
use super::hardware::Hardware;
use crate::agenda::earlier;
use crate::device::{SimCompletion, SimOp, SimRequest, SimTime};
use crate::machine::{Extent, SimMachineSpec};

/// How long a look that finds nothing takes. Without it a loop that polls would never end.
const POLL: SimTime = 1000;
/// The thread of [`fathom_load::run`].
pub(super) const COORDINATOR: usize = 0;
/// The number of other programs in place of a thread.
pub(super) const FOREIGN: usize = (1 << 30) - 1;
/// How long a thread waits for a disk that hangs before its engine gives up, longer than the load waits at the end of a job.
const HANG_PATIENCE: SimTime = 100_000_000_000;

/// The identifier of a request at its disk: slot, thread and operation.
pub(super) mod id {
    use crate::device::SimOp;

    const THREAD_SHIFT: u32 = 32;
    const OP_SHIFT: u32 = 62;
    const THREAD_MASK: u64 = (1 << (OP_SHIFT - THREAD_SHIFT)) - 1;

    pub fn join(op: SimOp, thread: usize, slot: u32) -> u64 {
        (op as u64) << OP_SHIFT | (thread as u64 & THREAD_MASK) << THREAD_SHIFT | u64::from(slot)
    }

    pub fn slot(id: u64) -> u32 {
        id as u32
    }

    pub fn op(id: u64) -> usize {
        (id >> OP_SHIFT) as usize
    }

    pub fn thread(id: u64) -> usize {
        (id >> THREAD_SHIFT & THREAD_MASK) as usize
    }
}

/// The state of a machine during a run. Only the threads of the run use it, which share one thread of the operating system.
/// It is borrowed until a thread waits, never longer.
pub(super) struct World {
    /// The present time, for all that ask.
    now: Arc<AtomicU64>,
    state: RefCell<State>,
}

/// The state of a machine.
pub(super) struct State {
    now: SimTime,
    pub hardware: Hardware,
    threads: Vec<Thread>,
    ready: ReadyThreads,
    /// Times for which threads wait. An entry is void unless it is that of its thread.
    timers: BinaryHeap<Reverse<(SimTime, usize)>>,
    /// The thread that runs next, if that was found out already.
    next: Option<usize>,
    /// Threads that wait for [`World::wake_others`].
    waiting_for_others: Vec<usize>,
    /// The run is over: what is in flight is given up.
    ending: bool,
    done: Vec<SimCompletion>,
}

struct Thread {
    status: Status,
    /// The time of its entry in [`State::timers`], at most the time for which it waits.
    timer: Option<SimTime>,
    /// Completions that it has not taken yet: slots, and whether they failed.
    inbox: VecDeque<(u32, bool)>,
    in_flight: usize,
    /// The last time at which it took completions or had nothing in flight.
    served: SimTime,
    /// Its wake-up is late already, or it computes.
    is_late: bool,
    /// CPU time, and time that it waited for a CPU.
    busy: SimTime,
    waited: SimTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Running,
    Ready,
    /// Until this time or until it has this many completions; 0: only the time.
    Waiting {
        until: SimTime,
        least: usize,
    },
    Ended,
}

/// Threads that can run: a bit for each, because a heap of many takes longer than the I/O of one.
#[derive(Debug, Default)]
struct ReadyThreads {
    words: Vec<u64>,
    /// Words before this one have no bit.
    first: usize,
}

impl ReadyThreads {
    fn insert(&mut self, thread: usize) {
        let (word, bit) = (thread / 64, thread % 64);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
        self.first = self.first.min(word);
    }

    /// Takes the thread with the lowest number.
    fn pop_first(&mut self) -> Option<usize> {
        while let Some(word) = self.words.get_mut(self.first) {
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(64 * self.first + bit);
            }
            self.first += 1;
        }
        None
    }

    fn is_empty(&self) -> bool {
        self.words.iter().skip(self.first).all(|word| *word == 0)
    }
}

impl State {
    /// A machine that runs nothing.
    pub fn new(now: SimTime, hardware: Hardware) -> Self {
        State {
            now,
            hardware,
            threads: Vec::new(),
            ready: ReadyThreads::default(),
            timers: BinaryHeap::new(),
            next: None,
            waiting_for_others: Vec::new(),
            ending: false,
            done: Vec::new(),
        }
    }

    fn start_thread(&mut self, status: Status) -> usize {
        self.threads.push(Thread {
            status,
            timer: None,
            inbox: VecDeque::new(),
            in_flight: 0,
            served: self.now,
            is_late: false,
            busy: 0,
            waited: 0,
        });
        self.threads.len() - 1
    }

    fn make_ready(&mut self, thread: usize) {
        self.threads[thread].status = Status::Ready;
        self.ready.insert(thread);
    }

    /// Wakes up a thread that waits.
    fn wake(&mut self, thread: usize) {
        let is_late = std::mem::take(&mut self.threads[thread].is_late);
        let late = match thread {
            COORDINATOR => 0,
            _ if is_late => 0,
            _ => self.hardware.lateness(self.now),
        };
        if late == 0 {
            return self.make_ready(thread);
        }
        let until = self.now + late;
        self.threads[thread].is_late = true;
        self.threads[thread].status = Status::Waiting { until, least: 0 };
        self.set_timer(thread, until);
    }

    /// Moves time to the first event that makes a thread ready. Returns the thread, which runs now; none if all have ended.
    fn next_thread(&mut self, shown: &AtomicU64) -> Option<usize> {
        loop {
            let stop = self.hardware.stops.end_at(self.now);
            if let Some(end) = stop.filter(|_| !self.ready.is_empty()) {
                self.move_time(end, shown);
                continue;
            }
            if let Some(thread) = self.ready.pop_first() {
                self.threads[thread].status = Status::Running;
                return Some(thread);
            }
            let time = self.earliest_timer()?;
            self.move_time(time, shown);
        }
    }

    /// A time before which no wait ends without a completion; none if all threads have ended.
    ///
    /// A thread that has waited again since may wait longer: its entry stays until it is due, because most waits end by a
    /// completion, and two changes of the heap would take longer than the rest of such an I/O.
    fn earliest_timer(&mut self) -> Option<SimTime> {
        loop {
            let Reverse((time, thread)) = *self.timers.peek()?;
            let owner = &self.threads[thread];
            if owner.timer == Some(time) && owner.status != Status::Ended {
                return Some(time);
            }
            self.timers.pop();
        }
    }

    /// Wakes up the threads whose time has come.
    fn wake_due(&mut self) {
        while self.earliest_timer().is_some_and(|time| time <= self.now) {
            let Some(Reverse((_, thread))) = self.timers.pop() else {
                return;
            };
            self.threads[thread].timer = None;
            match self.threads[thread].status {
                Status::Waiting { until, .. } if until <= self.now => self.wake(thread),
                Status::Waiting { until, .. } => self.set_timer(thread, until),
                Status::Running | Status::Ready | Status::Ended => {}
            }
        }
    }

    fn set_timer(&mut self, thread: usize, until: SimTime) {
        let timer = &mut self.threads[thread].timer;
        if timer.is_none_or(|time| time > until) {
            *timer = Some(until);
            self.timers.push(Reverse((until, thread)));
        }
    }

    /// Moves time to the next completion, at most to `limit`, and makes the threads ready that wait for it.
    fn move_time(&mut self, limit: SimTime, shown: &AtomicU64) {
        let limit = limit.min(self.hardware.next_reading());
        // Only a completion or that time makes a thread ready: most events of a disk are neither.
        while self.done.is_empty() && self.now < limit {
            let event = self.next_event();
            self.now = event.map_or(limit, |event| event.min(limit)).max(self.now);
            for disk in &mut self.hardware.disks {
                disk.advance(self.now, &mut self.done);
            }
        }
        shown.store(self.now, Relaxed);
        if self.now >= self.hardware.next_reading() {
            self.hardware.read(self.now);
        }
        self.hand_out();
        self.wake_due();
    }

    /// Whether the requests of a thread are never completed. If a disk hangs, the thread notices it by its own timeouts.
    fn is_stuck(&self, thread: usize) -> bool {
        self.next_event().is_none()
            && (!self.hardware.disks.iter().any(Disk::hangs)
                || self.now - self.threads[thread].served > HANG_PATIENCE)
    }

    #[inline]
    fn next_event(&self) -> Option<SimTime> {
        match &self.hardware.disks[..] {
            [only] => only.next_event(),
            disks => disks.iter().map(Disk::next_event).fold(None, earlier),
        }
    }

    /// Hands out what the disks complete at the present time: a thread may have submitted at it.
    #[inline]
    fn deliver(&mut self) {
        if self.next_event().is_none_or(|event| event > self.now) {
            return;
        }
        for disk in &mut self.hardware.disks {
            disk.advance(self.now, &mut self.done);
        }
        self.hand_out();
    }

    /// Hands completions to their threads.
    fn hand_out(&mut self) {
        let mut done = std::mem::take(&mut self.done);
        for completion in done.drain(..) {
            if let Some(contents) = &mut self.hardware.contents {
                contents.completed(self.now, &completion);
            }
            let number = id::thread(completion.id);
            let Some(thread) = self.threads.get_mut(number) else {
                continue;
            };
            let slot = id::slot(completion.id);
            thread.inbox.push_back((slot, completion.failed));
            if let Status::Waiting { least, .. } = thread.status
                && least > 0
                && thread.inbox.len() >= least
            {
                self.wake(number);
            }
        }
        self.done = done;
    }
}

impl World {
    /// Begins a run, not before `at`: its coordinator is the only thread.
    pub fn begin_run(now: Arc<AtomicU64>, mut state: State, at: SimTime) -> Self {
        while state.now < at {
            state.move_time(at, &now);
        }
        state.start_thread(Status::Running);
        state.hardware.begin_run(state.now);
        World {
            now,
            state: RefCell::new(state),
        }
    }

    /// Begins to read the machine again: the load begins now.
    pub fn begin_load(&self) {
        let mut state = self.borrow();
        let now = state.now;
        state.hardware.begin_run(now);
    }

    /// Keeps what is written from now on.
    pub fn keep_contents(&self) {
        self.borrow().hardware.keep_contents();
    }

    pub fn keeps_contents(&self) -> bool {
        self.borrow().hardware.contents.is_some()
    }

    /// A file is elsewhere from now on; a new one has no bytes yet, and a removed one has lost them.
    pub fn place_changed(&self, before: Option<Extent>, after: Option<Extent>) {
        let mut state = self.borrow();
        let now = state.now;
        let Some(contents) = &mut state.hardware.contents else {
            return;
        };
        contents.corrupt_until(now);
        let start = |one: Extent| (one.disk, one.base);
        let range = |one: Extent| one.base..one.base.saturating_add(one.size);
        match (before, after) {
            (Some(before), Some(after)) if start(before) != start(after) => {
                contents.discard(after.disk, &range(after));
                contents.relocate(start(before), start(after), before.size);
            }
            (Some(gone), None) => contents.discard(gone.disk, &range(gone)),
            (None, Some(new)) => contents.discard(new.disk, &range(new)),
            _ => {}
        }
    }

    /// The machine after the run.
    pub fn end_run(&self) -> State {
        let mut state = self.borrow();
        let nothing = Hardware::new(SimMachineSpec::default());
        let mut hardware = std::mem::replace(&mut state.hardware, nothing);
        hardware.end_run(state.now);
        State::new(state.now, hardware)
    }

    /// What a thread had of the CPUs: CPU time, and time that it waited for a CPU.
    pub fn usage(&self, thread: usize) -> (SimTime, SimTime) {
        let state = self.borrow();
        let thread = &state.threads[thread];
        (thread.busy, thread.waited)
    }

    /// Name and counters of the disks, and of the members of arrays.
    pub fn disk_counters(&self) -> Vec<(String, DiskCounters)> {
        let state = self.borrow();
        let mut all = state.hardware.disk_counters(state.now);
        all.extend(state.hardware.member_counters(state.now));
        all
    }

    /// The wall clock, nanoseconds since 1970.
    pub fn unix_now_ns(&self) -> u64 {
        let state = self.borrow();
        state.hardware.wall.at(state.now)
    }

    fn borrow(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// The present time.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now.load(Relaxed)
    }

    /// Gives up what the threads of the run wait for. Whether any is left.
    pub fn give_up(&self) -> bool {
        let mut state = self.borrow();
        state.ending = true;
        let mut others = state.threads.iter().skip(1);
        others.any(|thread| thread.status != Status::Ended)
    }

    /// A new thread, which is ready. Returns its number.
    pub fn start_thread(&self) -> usize {
        let mut state = self.borrow();
        let thread = state.start_thread(Status::Ready);
        state.ready.insert(thread);
        thread
    }

    /// The last call of a thread. The coordinator looks at its result at once.
    pub fn end_thread(&self, thread: usize) {
        let mut state = self.borrow();
        state.threads[thread].status = Status::Ended;
        if let Status::Waiting { .. } = state.threads[COORDINATOR].status {
            state.make_ready(COORDINATOR);
        }
    }

    pub fn has_ended(&self, thread: usize) -> bool {
        self.borrow().threads[thread].status == Status::Ended
    }

    /// The thread that runs next.
    pub fn next_thread(&self) -> Option<usize> {
        let mut state = self.borrow();
        let next = state.next.take();
        next.or_else(|| state.next_thread(&self.now))
    }

    /// Waits for this time or until the thread has so many completions. `switch` returns at the next turn of the thread.
    fn wait(
        &self,
        mut state: RefMut<'_, State>,
        (me, until, least): (usize, SimTime, usize),
        switch: impl FnOnce(),
    ) {
        state.threads[me].status = Status::Waiting { until, least };
        state.set_timer(me, until);
        state.next = state.next_thread(&self.now);
        if state.next == Some(me) {
            state.next = None;
            return;
        }
        drop(state);
        switch();
    }

    /// Sleeps until a time. A time that has passed is a look that finds nothing.
    pub fn sleep_until(&self, me: usize, at: SimTime, switch: impl FnOnce()) {
        let state = self.borrow();
        let until = if at > state.now { at } else { state.now + POLL };
        self.wait(state, (me, until, 0), switch);
    }

    /// Sleeps until another thread calls [`World::wake_others`], at the latest until `at`.
    pub fn wait_for_others(&self, me: usize, at: SimTime, switch: impl FnOnce()) {
        self.borrow().waiting_for_others.push(me);
        self.sleep_until(me, at, switch);
        self.borrow()
            .waiting_for_others
            .retain(|thread| *thread != me);
    }

    pub fn wake_others(&self) {
        let mut state = self.borrow();
        for thread in std::mem::take(&mut state.waiting_for_others) {
            if let Status::Waiting { .. } = state.threads[thread].status {
                state.make_ready(thread);
            }
        }
    }

    /// Spends the CPU time of `ios` I/Os.
    #[inline]
    pub fn compute(&self, me: usize, ios: usize, switch: impl FnOnce()) {
        let mut state = self.borrow();
        let work = state.hardware.cpus.cost * ios as SimTime;
        if work == 0 {
            return;
        }
        let now = state.now;
        let computed = state.hardware.cpus.compute(now, work);
        let thread = &mut state.threads[me];
        thread.busy += computed.busy;
        thread.waited += computed.waited;
        thread.is_late = true;
        self.wait(state, (me, computed.end, 0), switch);
    }

    /// Submits requests of a thread, each to its disk, with the bytes of writes if the disks keep them.
    pub fn submit<'b>(
        &self,
        me: usize,
        requests: impl Iterator<Item = (usize, SimRequest, &'b [u8])>,
    ) {
        let mut state = self.borrow();
        let state = &mut *state;
        let now = state.now;
        // The disks are at the present time, also if another thread has submitted at it.
        state.deliver();
        if state.threads[me].in_flight == 0 {
            state.threads[me].served = now;
        }
        for (disk, request, bytes) in requests {
            let id = id::join(request.op, me, request.id as u32);
            let request = SimRequest { id, ..request };
            state.threads[me].in_flight += 1;
            let fate = state.hardware.disks[disk].submit(now, request);
            if let Some(contents) = &mut state.hardware.contents {
                contents.submitted(disk, &request, fate, bytes);
            }
        }
    }

    /// Takes up to `most` completions of a thread when there are `least`, at the latest after `limit`. False if the disks
    /// can complete nothing more although requests are in flight.
    pub fn reap(
        &self,
        me: usize,
        (least, most, limit): (usize, usize, SimTime),
        switch: impl FnOnce(),
        mut each: impl FnMut(u32, bool, Option<Vec<u8>>),
    ) -> bool {
        let mut state = self.borrow();
        state.deliver();
        let least = least.min(state.threads[me].in_flight).min(most);
        let count = state.threads[me].inbox.len();
        if count < least || (count == 0 && most > 0) {
            if state.ending || state.threads[me].in_flight > count && state.is_stuck(me) {
                return false;
            }
            let until = state.now + if least == 0 { POLL } else { limit.max(1) };
            self.wait(state, (me, until, least.max(1)), switch);
            state = self.borrow();
        }
        let state = &mut *state;
        let thread = &mut state.threads[me];
        let count = thread.inbox.len().min(most);
        thread.in_flight -= count;
        if count > 0 {
            thread.served = state.now;
        }
        let contents = &mut state.hardware.contents;
        for (slot, failed) in thread.inbox.drain(..count) {
            let id = id::join(SimOp::Read, me, slot);
            let found = contents.as_mut().and_then(|one| one.take_found(id));
            each(slot, failed, found);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_with_the_lowest_number_is_first() {
        let mut ready = ReadyThreads::default();
        assert_eq!((ready.is_empty(), ready.pop_first()), (true, None));
        for thread in [200, 64, 63, 0, 1000] {
            ready.insert(thread);
        }
        assert_eq!((ready.pop_first(), ready.pop_first()), (Some(0), Some(63)));
        // One that becomes ready again comes before those that wait for their turn.
        ready.insert(3);
        assert!(!ready.is_empty());
        let rest: Vec<usize> = std::iter::from_fn(|| ready.pop_first()).collect();
        assert_eq!(rest, [3, 64, 200, 1000]);
        assert!(ready.is_empty());
    }
}
