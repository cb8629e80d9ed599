//! Virtual time: the device, and the threads that wait for it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fathom_load::Clock;
use fathom_model::Nanos;

use crate::device::{SimCompletion, SimRequest, SimTime};
use crate::registry::Device;

/// How long a look that finds nothing takes. Without it a loop that polls would never end.
const POLL: SimTime = 1000;
/// The part of a request's identifier that is its slot.
const SLOT_BITS: u32 = 32;

thread_local! {
    /// The number of this thread in its run; the coordinator is 0.
    static THREAD: Cell<usize> = const { Cell::new(0) };
}

/// The device and the threads of one run.
pub(crate) struct World {
    /// The time of `State`, for readers without the lock.
    now: AtomicU64,
    state: Mutex<State>,
}

struct State {
    now: SimTime,
    device: Device,
    threads: Vec<Thread>,
    done: Vec<SimCompletion>,
}

struct Thread {
    status: Status,
    /// Completions that it has not taken yet.
    inbox: VecDeque<SimCompletion>,
    in_flight: usize,
    /// Signalled when it is its turn.
    turn: Arc<Condvar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Running,
    /// Until this time or until it has this many completions; 0: only the time.
    Waiting {
        until: SimTime,
        least: usize,
    },
    Ended,
}

impl Thread {
    fn new(status: Status) -> Self {
        Thread {
            status,
            inbox: VecDeque::new(),
            in_flight: 0,
            turn: Arc::new(Condvar::new()),
        }
    }

    fn is_ready(&self, now: SimTime) -> bool {
        match self.status {
            Status::Waiting { until, least } => {
                until <= now || (least > 0 && self.inbox.len() >= least)
            }
            Status::Running | Status::Ended => false,
        }
    }
}

impl State {
    /// The thread that runs next. Moves time to the first event that makes one ready.
    fn next_thread(&mut self, shown: &AtomicU64) -> Option<usize> {
        loop {
            let ready = |thread: &Thread| thread.is_ready(self.now);
            if let Some(thread) = self.threads.iter().position(ready) {
                return Some(thread);
            }
            let until = self
                .threads
                .iter()
                .filter_map(|thread| match thread.status {
                    Status::Waiting { until, .. } => Some(until),
                    _ => None,
                });
            let time = until.min()?;
            // Only a completion or that time makes a thread ready: most events of a device are neither.
            while self.done.is_empty() && self.now < time {
                let event = self.device.next_event();
                self.now = event.map_or(time, |event| event.min(time)).max(self.now);
                self.device.advance(self.now, &mut self.done);
            }
            shown.store(self.now, Relaxed);
            self.hand_out();
        }
    }

    /// Moves the device to the present time and hands its completions to their threads.
    fn deliver(&mut self) {
        self.device.advance(self.now, &mut self.done);
        self.hand_out();
    }

    /// Hands completions to their threads.
    fn hand_out(&mut self) {
        for completion in self.done.drain(..) {
            let thread = (completion.id >> SLOT_BITS) as usize;
            if let Some(thread) = self.threads.get_mut(thread) {
                thread.inbox.push_back(completion);
            }
        }
    }
}

impl World {
    /// A world whose coordinator is the thread that runs.
    pub fn new(device: Device) -> Self {
        World {
            now: AtomicU64::new(0),
            state: Mutex::new(State {
                now: 0,
                device,
                threads: vec![Thread::new(Status::Running)],
                done: Vec::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present time.
    pub fn now(&self) -> SimTime {
        self.now.load(Relaxed)
    }

    /// Lets other threads run until this time or until the calling thread has so many completions.
    fn wait(&self, mut state: MutexGuard<'_, State>, until: SimTime, least: usize) {
        let me = THREAD.get();
        state.threads[me].status = Status::Waiting { until, least };
        match state.next_thread(&self.now) {
            Some(next) if next == me => state.threads[me].status = Status::Running,
            next => {
                state.pass_turn(next);
                let turn = Arc::clone(&state.threads[me].turn);
                while state.threads[me].status != Status::Running {
                    state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Sleeps until a time. A time that has passed is a look that finds nothing.
    fn sleep_until(&self, at: SimTime) {
        let state = self.lock();
        let until = if at > state.now { at } else { state.now + POLL };
        self.wait(state, until, 0);
    }

    /// Submits requests of the calling thread.
    pub fn submit(&self, requests: impl Iterator<Item = SimRequest>) {
        let mut state = self.lock();
        let me = THREAD.get();
        let now = state.now;
        // The device is at the present time, also if another thread has submitted at it.
        state.deliver();
        for request in requests {
            let id = (me as u64) << SLOT_BITS | request.id;
            state.threads[me].in_flight += 1;
            state.device.submit(now, SimRequest { id, ..request });
        }
    }

    /// Takes up to `most` completions of the calling thread when there are `least`, at the latest
    /// after `limit`. False if the device can complete nothing more although requests are in flight.
    pub fn reap(
        &self,
        (least, most): (usize, usize),
        limit: SimTime,
        mut each: impl FnMut(SimCompletion),
    ) -> bool {
        let mut state = self.lock();
        let me = THREAD.get();
        state.deliver();
        let least = least.min(state.threads[me].in_flight).min(most);
        let count = state.threads[me].inbox.len();
        if count < least || (count == 0 && most > 0) {
            if state.threads[me].in_flight > count && state.device.next_event().is_none() {
                return false;
            }
            let until = state.now + if least == 0 { POLL } else { limit.max(1) };
            self.wait(state, until, least.max(1));
            state = self.lock();
        }
        let thread = &mut state.threads[me];
        let count = thread.inbox.len().min(most);
        thread.in_flight -= count;
        for mut completion in thread.inbox.drain(..count) {
            completion.id &= (1 << SLOT_BITS) - 1;
            each(completion);
        }
        true
    }

    fn thread_starts(&self) -> u64 {
        let mut state = self.lock();
        let until = state.now;
        state
            .threads
            .push(Thread::new(Status::Waiting { until, least: 0 }));
        state.threads.len() as u64 - 1
    }

    fn thread_started(&self, thread: u64) {
        THREAD.set(thread as usize);
        let mut state = self.lock();
        let turn = Arc::clone(&state.threads[thread as usize].turn);
        while state.threads[thread as usize].status != Status::Running {
            state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn thread_ended(&self, thread: u64) {
        let mut state = self.lock();
        let was_running = state.threads[thread as usize].status == Status::Running;
        state.threads[thread as usize].status = Status::Ended;
        // The coordinator looks at the result at once.
        if let Status::Waiting { until, .. } = &mut state.threads[0].status {
            *until = 0;
        }
        if was_running {
            let next = state.next_thread(&self.now);
            state.pass_turn(next);
        }
    }
}

impl State {
    fn pass_turn(&mut self, next: Option<usize>) {
        if let Some(next) = next {
            self.threads[next].status = Status::Running;
            self.threads[next].turn.notify_one();
        }
    }
}

/// The clock of a simulated device.
#[derive(Clone)]
pub struct VirtualClock(pub(crate) Arc<World>);

impl Clock for VirtualClock {
    const IS_VIRTUAL: bool = true;

    fn now(&self) -> Nanos {
        Nanos::new(self.0.now())
    }

    fn sleep_until(&self, at: Nanos) {
        self.0.sleep_until(at.get());
    }

    fn thread_starts(&self) -> u64 {
        self.0.thread_starts()
    }

    fn thread_started(&self, thread: u64) {
        self.0.thread_started(thread);
    }

    fn thread_ended(&self, thread: u64) {
        self.0.thread_ended(thread);
    }
}
