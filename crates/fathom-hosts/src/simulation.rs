//! Several hosts in one process and in virtual time: their clocks, and the network between them.
//!
//! The threads of all hosts take turns: one runs until it waits. When all wait, time moves to the first instant that one of them
//! waits for. The order is fixed, so that the same hosts exchange the same messages at the same times. A message takes no time, unless its
//! sender or its receiver says so.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use crate::time::{Bell, Clock, ThreadBody, lock};
use crate::transport::{Connection, Event, Inbox, Message, Transport};

/// The largest message, as of a NATS server.
const MAX_PAYLOAD: usize = 1 << 20;
/// The stack of a thread, as of the first thread of a process.
const STACK_SIZE: usize = 8 << 20;

/// The wall clock of a host at a time of the simulation, since 1970.
pub type WallClock = Arc<dyn Fn(Duration) -> Duration + Send + Sync>;

/// A simulated host as the others see it.
#[derive(Clone)]
pub struct SimulatedHost {
    /// How far its clocks are ahead of the time of the simulation.
    pub ahead: Duration,
    /// The wall clock of the host by the time of the simulation.
    pub wall: WallClock,
    /// What happens to messages that leave in a span of time, both ways: they take so long, or are lost.
    pub network: Vec<(Range<Duration>, Option<Duration>)>,
}

impl SimulatedHost {
    /// How long a message takes that leaves now; `None` if it is lost.
    fn delay(&self, now: Duration) -> Option<Duration> {
        let spans = self.network.iter();
        let spans = spans.filter(|(span, _)| span.contains(&now));
        spans.map(|(_, delay)| *delay).sum()
    }
}

impl std::fmt::Debug for SimulatedHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimulatedHost({:?}, {:?})", self.ahead, self.network)
    }
}

/// The time that simulated hosts share, and the network between them.
#[derive(Debug)]
pub struct Simulation {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    now: Duration,
    /// The thread whose turn it is.
    running: usize,
    threads: Vec<SimulatedThread>,
    /// By their numbers, which count all that there have been.
    ends: BTreeMap<usize, End>,
    connected: usize,
    /// Messages on their way: when and in which order they arrive, and where.
    on_way: BTreeMap<(Duration, u64), (usize, Message)>,
    sent: u64,
}

#[derive(Debug)]
struct SimulatedThread {
    /// `None` while it is being started.
    thread: Option<Thread>,
    wait: Wait,
}

#[derive(Debug)]
enum Wait {
    /// It runs, or could.
    No,
    /// Until a time, or until the bell has been rung again.
    Until(Duration, Arc<Bell>, u64),
    HasEnded,
}

/// One end of the network.
#[derive(Debug)]
struct End {
    host: SimulatedHost,
    subjects: Vec<String>,
    inbox: Arc<Inbox>,
}

impl State {
    fn start_thread(&mut self, thread: Option<Thread>) -> usize {
        self.threads.push(SimulatedThread {
            thread,
            wait: Wait::No,
        });
        self.threads.len() - 1
    }

    /// The thread that runs next: the first one that can. Time moves on where none can.
    fn next_thread(&mut self) -> Option<usize> {
        let can_run = |thread: &SimulatedThread, now: Duration| match &thread.wait {
            Wait::No => true,
            Wait::Until(at, bell, heard) => *at <= now || bell.count() != *heard,
            Wait::HasEnded => false,
        };
        let now = self.now;
        let ready = |thread: &SimulatedThread| can_run(thread, now);
        if let Some(next) = self.threads.iter().position(ready) {
            return Some(next);
        }
        let times = self.threads.iter().enumerate();
        let times = times.filter_map(|(number, thread)| match thread.wait {
            Wait::Until(at, ..) if at < Duration::MAX => Some((at, number)),
            _ => None,
        });
        let first = times.min();
        let arrival = self.on_way.keys().next().map(|(at, _)| *at);
        if let Some(at) = arrival.filter(|at| first.is_none_or(|first| *at <= first.0)) {
            self.now = at;
            self.deliver();
            return self.next_thread();
        }
        let (at, next) = first?;
        self.now = at;
        Some(next)
    }

    /// Sends a message to whoever wants it.
    fn send(&mut self, from: usize, message: &Message) {
        let now = self.now;
        let sender = self.ends.get(&from).map(|end| &end.host);
        let Some(delay) = sender.and_then(|host| host.delay(now)) else {
            return;
        };
        for (number, end) in &self.ends {
            let subject = &message.subject;
            let takes = end.subjects.iter().any(|known| matches(known, subject));
            let Some(more) = end.host.delay(now).filter(|_| takes && *number != from) else {
                continue;
            };
            let arrival = (now + delay + more, self.sent);
            self.sent += 1;
            self.on_way.insert(arrival, (*number, message.clone()));
        }
        self.deliver();
    }

    /// Delivers the messages that arrive now.
    fn deliver(&mut self) {
        while let Some(first) = self
            .on_way
            .first_entry()
            .filter(|one| one.key().0 <= self.now)
        {
            let (number, mut message) = first.remove();
            if let Some(end) = self.ends.get(&number) {
                message.at = (self.now + end.host.ahead).as_nanos() as u64;
                end.inbox.put(Event::Message(message));
            }
        }
    }
}

impl Simulation {
    /// A simulation whose only thread is the one that calls this.
    #[must_use]
    pub fn begin() -> Arc<Simulation> {
        let mut state = State {
            now: Duration::ZERO,
            running: 0,
            threads: Vec::new(),
            ends: BTreeMap::new(),
            connected: 0,
            on_way: BTreeMap::new(),
            sent: 0,
        };
        state.start_thread(Some(std::thread::current()));
        Arc::new(Simulation {
            state: Mutex::new(state),
        })
    }

    /// The simulated time since the begin of the simulation.
    #[must_use]
    pub fn now(&self) -> Duration {
        lock(&self.state).now
    }

    /// Waits until this time.
    pub fn sleep_until(&self, at: Duration) {
        self.wait(Wait::Until(at, Arc::default(), 0));
    }

    /// Waits until this time, or until the bell has been rung after somebody counted `heard`.
    pub fn wait_for(&self, bell: &Arc<Bell>, heard: u64, at: Duration) {
        self.wait(Wait::Until(at, Arc::clone(bell), heard));
    }

    /// A connection of a host to the network.
    #[must_use]
    pub fn connect(self: &Arc<Simulation>, host: SimulatedHost) -> Connection {
        let inbox = Arc::new(Inbox::default());
        let clock = SimulatedClock {
            simulation: Arc::clone(self),
            host: host.clone(),
        };
        let mut state = lock(&self.state);
        let number = state.connected;
        state.connected += 1;
        let end = End {
            host,
            subjects: Vec::new(),
            inbox: Arc::clone(&inbox),
        };
        state.ends.insert(number, end);
        let transport = SimulatedTransport {
            simulation: Arc::clone(self),
            number,
        };
        Connection::new(Arc::new(transport), inbox, Arc::new(clock))
    }

    /// Starts a thread of a host.
    ///
    /// # Errors
    /// When the system has none.
    pub fn spawn(
        self: &Arc<Simulation>,
        name: &str,
        body: ThreadBody,
    ) -> io::Result<JoinHandle<()>> {
        let own = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK_SIZE);
        let mut state = lock(&self.state);
        let number = state.start_thread(None);
        let started = thread.spawn(move || {
            let turn = EndOfThread(Arc::clone(&own));
            own.wait_for_turn(number);
            body();
            drop(turn);
        });
        match &started {
            Ok(handle) => state.threads[number].thread = Some(handle.thread().clone()),
            Err(_) => state.threads[number].wait = Wait::HasEnded,
        }
        started
    }

    /// Lets others run until the thread that calls this can go on.
    fn wait(&self, wait: Wait) {
        let own = self.hand_over(wait);
        self.wait_for_turn(own);
    }

    /// The thread whose turn it is waits, and the next one goes on. Returns the number of the former.
    fn hand_over(&self, wait: Wait) -> usize {
        let mut state = lock(&self.state);
        let own = state.running;
        state.threads[own].wait = wait;
        let Some(next) = state.next_thread() else {
            return own;
        };
        state.running = next;
        state.threads[next].wait = Wait::No;
        let thread = state.threads[next].thread.clone();
        drop(state);
        if let Some(thread) = thread.filter(|_| next != own) {
            thread.unpark();
        }
        own
    }

    fn wait_for_turn(&self, own: usize) {
        while lock(&self.state).running != own {
            std::thread::park();
        }
    }
}

/// Gives the turn to others at the end of a thread, also after a panic.
struct EndOfThread(Arc<Simulation>);

impl Drop for EndOfThread {
    fn drop(&mut self) {
        self.0.hand_over(Wait::HasEnded);
    }
}

/// The clocks of a host.
#[derive(Debug)]
struct SimulatedClock {
    simulation: Arc<Simulation>,
    host: SimulatedHost,
}

impl Clock for SimulatedClock {
    fn now(&self) -> Duration {
        self.simulation.now() + self.host.ahead
    }

    fn wall(&self) -> Duration {
        (self.host.wall)(self.simulation.now())
    }

    fn wait(&self, bell: &Arc<Bell>, heard: u64, at: Duration) {
        let at = match at {
            Duration::MAX => at,
            at => at.saturating_sub(self.host.ahead),
        };
        self.simulation.wait_for(bell, heard, at);
    }

    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<JoinHandle<()>> {
        self.simulation.spawn(name, body)
    }
}

/// A host at the network.
#[derive(Debug)]
struct SimulatedTransport {
    simulation: Arc<Simulation>,
    number: usize,
}

impl Drop for SimulatedTransport {
    fn drop(&mut self) {
        lock(&self.simulation.state).ends.remove(&self.number);
    }
}

impl Transport for SimulatedTransport {
    fn subscribe(&self, subject: &str) -> io::Result<()> {
        let mut state = lock(&self.simulation.state);
        if let Some(end) = state.ends.get_mut(&self.number) {
            end.subjects.push(subject.to_owned());
        }
        Ok(())
    }

    fn publish_all(
        &self,
        reply: Option<&str>,
        messages: &mut dyn Iterator<Item = (String, Vec<u8>)>,
    ) -> io::Result<()> {
        for (subject, payload) in messages {
            let message = Message {
                subject,
                reply: reply.map(str::to_owned),
                payload,
                at: 0,
            };
            lock(&self.simulation.state).send(self.number, &message);
        }
        Ok(())
    }

    fn max_payload(&self) -> usize {
        MAX_PAYLOAD
    }
}

/// Whether a subscription gets messages of this subject.
fn matches(subscription: &str, subject: &str) -> bool {
    match subscription.strip_suffix('>') {
        Some(begin) => subject.starts_with(begin),
        None => subscription == subject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn host(ahead: u32, network: Vec<(Range<Duration>, Option<Duration>)>) -> SimulatedHost {
        SimulatedHost {
            ahead: SECOND * ahead,
            wall: Arc::new(|now| now),
            network,
        }
    }

    /// Two threads that wait for 3 s and 5 s by turns: each instant comes once, in order, and of equal ones the first thread is first.
    #[test]
    fn time_moves_to_the_first_instant_for_which_a_thread_waits() {
        let simulation = Simulation::begin();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(Bell::default());
        for (name, step) in [("three", 3), ("five", 5)] {
            let (own, seen, ended) = (
                Arc::clone(&simulation),
                Arc::clone(&seen),
                Arc::clone(&ended),
            );
            let body = move || {
                for turn in 1..=15 / step {
                    own.sleep_until(SECOND * step * turn);
                    lock(&seen).push((own.now().as_secs(), name));
                }
                ended.ring();
            };
            simulation.spawn(name, Box::new(body)).expect("a thread");
        }
        simulation.wait(Wait::Until(Duration::MAX, Arc::clone(&ended), 0));
        assert_eq!(simulation.now(), SECOND * 15);
        simulation.wait(Wait::Until(Duration::MAX, ended, 1));
        let (three, five) = (|at| (at, "three"), |at| (at, "five"));
        let expected = [
            three(3),
            five(5),
            three(6),
            three(9),
            five(10),
            three(12),
            three(15),
            five(15),
        ];
        assert_eq!(*lock(&seen), expected);
    }

    /// A message arrives at once, by the clock of the receiver; in a cut of one side it is lost.
    #[test]
    fn a_message_arrives_unless_a_side_is_cut() {
        let simulation = Simulation::begin();
        let a = simulation.connect(host(0, vec![(SECOND..SECOND * 2, None)]));
        let b = simulation.connect(host(100, vec![(SECOND * 3..SECOND * 4, None)]));
        a.subscribe("to.a.>").expect("a subscription");
        b.subscribe("to.b").expect("a subscription");
        let mut arrived = Vec::new();
        for second in 0..5 {
            simulation.sleep_until(SECOND * second);
            a.publish("to.b", Some("to.a.1"), b"x").expect("sent");
            if let Some(Event::Message(message)) = b.receive(Duration::ZERO) {
                assert_eq!(message.reply.as_deref(), Some("to.a.1"));
                arrived.push(message.at / 1_000_000_000);
                b.publish("to.a.1", None, b"y").expect("sent");
                assert!(a.receive(Duration::ZERO).is_some());
            }
        }
        assert_eq!(arrived, [100, 102, 104]);
        // Nothing comes until 10 s by the clock of b.
        assert_eq!(b.receive(SECOND * 110), None);
        assert_eq!(simulation.now(), SECOND * 10);
    }

    /// A message that both sides delay by 2 s and 3 s arrives after 5 s. One that leaves later, when there is no delay, overtakes it.
    #[test]
    fn a_delayed_message_arrives_late() {
        let simulation = Simulation::begin();
        let late = |seconds: u32| vec![(Duration::ZERO..SECOND, Some(SECOND * seconds))];
        let a = simulation.connect(host(0, late(2)));
        let b = simulation.connect(host(100, late(3)));
        b.subscribe("to.b").expect("a subscription");
        a.publish("to.b", None, b"first").expect("sent");
        simulation.sleep_until(SECOND);
        a.publish("to.b", None, b"second").expect("sent");
        let arrived = |at: u32| match b.receive(SECOND * at) {
            Some(Event::Message(message)) => (message.payload, message.at / 1_000_000_000),
            other => panic!("{other:?}"),
        };
        assert_eq!(arrived(110), (b"second".to_vec(), 101));
        assert_eq!(arrived(110), (b"first".to_vec(), 105));
        assert_eq!(simulation.now(), SECOND * 5);
    }
}
