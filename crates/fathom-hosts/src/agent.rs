//! The side of an agent: messages in one thread, the load in another one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::HostsError;
use crate::jetstream::{Acknowledgement, Unacknowledged, acknowledgements};
use crate::protocol::{
    ALL, AgentState, BEAT, FromAgent, Job, LEASE, PIECE, QUIET, RENEW_INTERVAL, RENEW_TIME,
    RENEWED_FOR, ReadError, SILENCE, Signed, ToAgent, journal_subject, read, subject, write,
};
use crate::sign::{PublicKey, hex, random};
use crate::time::{Bell, Clock, lock as lock_mutex};
use crate::transport::{Connection, Event, Message};

/// How long a recording is kept for a controller that does not fetch it.
const KEPT: Duration = Duration::from_secs(10);
/// The largest recording that is kept after that, until the next one, for `fathom resume`.
const LARGEST_KEPT: usize = 256 << 20;
/// A wait that is slept to its instant: longer than the time between two questions of the load.
const SHORT: Duration = Duration::from_millis(30);
/// How often a waiting thread looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(20);

/// How an agent presents itself.
#[derive(Clone, Debug, Default)]
pub struct AgentSetup {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Version of the program.
    pub version: String,
    /// Keys of the controllers whose jobs it takes; without any, it takes those of everybody.
    pub keys: Vec<PublicKey>,
}

/// The result of a job.
#[derive(Debug)]
pub struct Finished {
    /// The recording as a document.
    pub document: Vec<u8>,
    /// The start of the load by [`StartSignal`], nanoseconds.
    pub epoch_ns: u64,
}

/// Sends what is recorded while the load runs.
#[derive(Debug)]
pub struct JournalSender {
    shared: Arc<Shared>,
    session: String,
    next: u64,
}

impl JournalSender {
    /// Sends the next part: the plan, then intervals. With a stream it is sent until the server has acknowledged it. Otherwise one
    /// that is lost or too large for a message is not sent again: it is needed only if this host vanishes.
    pub fn send(&mut self, bytes: &[u8]) {
        let name = &self.shared.setup.name;
        let number = self.next;
        let message = FromAgent::Journal {
            agent: name.clone(),
            session: self.session.clone(),
            number,
        };
        self.next += 1;
        let text = write(&self.shared.setup.version, &message, bytes);
        let mut inner = lock(&self.shared);
        let Some(own) = inner.session.as_ref().filter(|own| own.id == self.session) else {
            return;
        };
        let inbox = (!own.has_stream).then(|| own.inbox.clone());
        let connection = &self.shared.connection;
        if inbox.is_none() && text.len() <= connection.max_payload() {
            let now = connection.clock().now();
            inner.unacknowledged.add(&self.session, number, &text, now);
        }
        drop(inner);
        let _ = match inbox {
            Some(inbox) => connection.publish(&inbox, None, &text),
            None => {
                let subject = journal_subject(&self.session, name);
                let instance = &self.shared.instance;
                let answer = Acknowledgement::subject(instance, &self.session, number);
                connection.publish(&subject, Some(&answer), &text)
            }
        };
    }
}

/// The answer to an agent that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSignal {
    /// The instant is now: the clock of this agent, nanoseconds.
    Now(u64),
    /// The run was stopped, or the controller is silent.
    Never,
}

/// An agent that takes jobs.
#[derive(Debug)]
pub struct Agent {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    setup: AgentSetup,
    connection: Connection,
    instance: String,
    inner: Mutex<Inner>,
    /// Rung when anything changes for which somebody waits.
    changed: Arc<Bell>,
    /// Rung when the thread that answers messages has ended.
    ended: Arc<Bell>,
}

#[derive(Debug, Default)]
struct Inner {
    nonce: String,
    session: Option<Session>,
    /// The last run whose controller did not fetch its recording.
    kept: Option<Session>,
    /// What the stream has not acknowledged yet.
    unacknowledged: Unacknowledged,
    waiting_job: Option<Job>,
    closing: bool,
    messages: Vec<String>,
}

#[derive(Debug)]
struct Session {
    id: String,
    controller: String,
    inbox: String,
    heard: Duration,
    /// How often it says where it is.
    beat: Duration,
    has_stream: bool,
    stopped: Option<String>,
    start_at: Option<u64>,
    /// When each phase begins.
    phases: BTreeMap<u32, u64>,
    state: AgentState,
    document: Vec<u8>,
    ended: Option<Duration>,
}

impl Session {
    /// Why the load must end now.
    fn stop_reason(&self, clock: &dyn Clock) -> Option<String> {
        self.stopped.clone().or_else(|| {
            (clock.elapsed(self.heard) > LEASE).then(|| {
                format!(
                    "the controller {} was silent for {:.1} s",
                    self.controller,
                    LEASE.as_secs_f64()
                )
            })
        })
    }

    /// Whether nobody needs this session any more.
    fn is_over(&self, clock: &dyn Clock) -> bool {
        let Some(ended) = self.ended else {
            return false;
        };
        let is_done = matches!(self.state, AgentState::Done { .. });
        let keep = if is_done { KEPT } else { LEASE };
        clock.elapsed(ended) > keep && clock.elapsed(self.heard) > LEASE
    }

    /// Whether its recording may still be asked for.
    fn is_worth_keeping(&self) -> bool {
        (1..=LARGEST_KEPT).contains(&self.document.len())
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Inner> {
    lock_mutex(&shared.inner)
}

impl Shared {
    fn clock(&self) -> &dyn Clock {
        self.connection.clock()
    }

    fn now(&self) -> Duration {
        self.clock().now()
    }

    /// What `find` finds, as soon as something has changed so that it finds it; `None` if there is nothing until `at`.
    fn wait_for<T>(
        &self,
        at: Duration,
        mut find: impl FnMut(&mut Inner) -> Option<T>,
    ) -> Option<T> {
        loop {
            let heard = self.changed.count();
            let found = find(&mut lock(self));
            if found.is_some() || self.now() >= at {
                return found;
            }
            self.clock().wait(&self.changed, heard, at);
        }
    }
}

impl Agent {
    /// Answers controllers through a connection.
    ///
    /// # Errors
    /// When the connection is lost, or the system has no random numbers.
    pub fn start(connection: Connection, setup: AgentSetup) -> Result<Agent, HostsError> {
        let random = || {
            random::<16>()
                .map(|bytes| hex(&bytes))
                .map_err(HostsError::Agent)
        };
        let shared = Arc::new(Shared {
            instance: random()?,
            inner: Mutex::new(Inner {
                nonce: random()?,
                ..Inner::default()
            }),
            changed: Arc::default(),
            ended: Arc::default(),
            connection,
            setup,
        });
        let lost = |error: std::io::Error| HostsError::Server(error.to_string());
        let connection = &shared.connection;
        connection.subscribe(ALL).map_err(lost)?;
        connection
            .subscribe(&subject(&shared.setup.name))
            .map_err(lost)?;
        connection
            .subscribe(&acknowledgements(&shared.instance))
            .map_err(lost)?;
        let own = Arc::clone(&shared);
        let body = move || {
            serve(&own);
            own.ended.ring();
        };
        let thread = shared
            .clock()
            .spawn("agent", Box::new(body))
            .map_err(lost)?;
        Ok(Agent {
            shared,
            thread: Some(thread),
        })
    }

    /// The clock of this agent.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.shared.clock()
    }

    /// The next job, if one comes within `patience`.
    #[must_use]
    pub fn next_job(&self, patience: Duration) -> Option<Job> {
        let at = self.shared.now() + patience;
        let found = self.shared.wait_for(at, |inner| {
            let has_changed = inner.waiting_job.is_some() || !inner.messages.is_empty();
            has_changed.then(|| inner.waiting_job.take())
        });
        found.flatten()
    }

    /// What the user of the agent should know, since the last call.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared).messages)
    }

    /// Host and process of the controller of the present job.
    #[must_use]
    pub fn controller(&self) -> String {
        lock(&self.shared)
            .session
            .as_ref()
            .map_or(String::new(), |session| session.controller.clone())
    }

    /// Where the present job sends what it records.
    #[must_use]
    pub fn journal(&self) -> JournalSender {
        let session = lock(&self.shared)
            .session
            .as_ref()
            .map_or(String::new(), |session| session.id.clone());
        JournalSender {
            shared: Arc::clone(&self.shared),
            session,
            next: 0,
        }
    }

    /// Why the load must end now, if it must.
    #[must_use]
    pub fn stop_reason(&self) -> Option<String> {
        match &lock(&self.shared).session {
            Some(session) => session.stop_reason(self.clock()),
            None => Some("the controller released the run".to_owned()),
        }
    }

    /// Everything is prepared: waits for the start, to the instant.
    #[must_use]
    pub fn wait_for_start(&self, interrupted: &dyn Fn() -> bool) -> StartSignal {
        self.set_state(AgentState::Ready);
        let clock = self.clock();
        let at = loop {
            if interrupted() {
                return StartSignal::Never;
            }
            let found = self.shared.wait_for(clock.now() + LOOK, |inner| {
                let session = inner.session.as_ref();
                let session = session.filter(|one| one.stop_reason(clock).is_none());
                session.map_or(Some(None), |one| one.start_at.map(Some))
            });
            match found {
                Some(Some(at)) => break Duration::from_nanos(at),
                Some(None) => return StartSignal::Never,
                None => {}
            }
        };
        self.set_state(AgentState::Running { reached: 0 });
        loop {
            let now = clock.now();
            if now >= at {
                return StartSignal::Now(now.as_nanos() as u64);
            }
            if interrupted() || self.stop_reason().is_some() {
                return StartSignal::Never;
            }
            // A thread that sleeps wakes within a fraction of a millisecond; one that spins takes the CPU from other agents.
            clock.sleep_until(at.min(now + LOOK));
        }
    }

    /// Everything before this phase has ended here: whether it may begin, as the controller says when all hosts have got so far.
    /// To be asked again until it may.
    #[must_use]
    pub fn may_begin(&self, phase: u32) -> bool {
        let mut inner = lock(&self.shared);
        let Some(session) = &mut inner.session else {
            return false;
        };
        let is_new = matches!(session.state, AgentState::Running { reached } if reached < phase);
        if is_new {
            session.state = AgentState::Running { reached: phase };
            send_state(&self.shared, session);
        }
        let Some(at) = session.phases.get(&phase).copied() else {
            return false;
        };
        drop(inner);
        let at = Duration::from_nanos(at);
        if at.saturating_sub(self.shared.now()) > SHORT {
            return false;
        }
        self.clock().sleep_until(at);
        true
    }

    /// The job has ended with a result.
    pub fn finish(&self, finished: Finished) {
        let state = AgentState::Done {
            bytes: finished.document.len() as u64,
            epoch_ns: finished.epoch_ns,
        };
        if let Some(session) = &mut lock(&self.shared).session {
            session.document = finished.document;
            session.ended = Some(self.shared.now());
        }
        self.set_state(state);
    }

    /// There is no result: the job was refused, or its targets could not be prepared.
    pub fn fail(&self, reason: String, refused: bool) {
        if let Some(session) = &mut lock(&self.shared).session {
            session.ended = Some(self.shared.now());
        }
        self.set_state(AgentState::Failed { reason, refused });
    }

    /// Whether the controller has what it needs from the last job, or is gone.
    #[must_use]
    pub fn is_free(&self) -> bool {
        lock(&self.shared).session.is_none()
    }

    fn set_state(&self, state: AgentState) {
        let mut inner = lock(&self.shared);
        if let Some(session) = &mut inner.session {
            session.state = state;
            send_state(&self.shared, session);
        }
        drop(inner);
        self.shared.changed.ring();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        lock(&self.shared).closing = true;
        if let Some(thread) = self.thread.take() {
            self.clock().wait(&self.shared.ended, 0, Duration::MAX);
            let _ = thread.join();
        }
    }
}

/// A failure is not an error: the state is sent again at the next beat.
fn send_state(shared: &Shared, session: &Session) {
    send_state_or_ask(shared, session, false);
}

/// The same, which the controller answers at once where the agent `asks`.
fn send_state_or_ask(shared: &Shared, session: &Session, asks: bool) {
    let message = FromAgent::State {
        agent: shared.setup.name.clone(),
        session: session.id.clone(),
        state: session.state.clone(),
        asks,
    };
    let text = write(&shared.setup.version, &message, b"");
    let _ = shared.connection.publish(&session.inbox, None, &text);
}

/// Answers messages until the agent is dropped.
fn serve(shared: &Shared) {
    let (clock, connection) = (shared.clock(), &shared.connection);
    let mut next_beat = clock.now();
    let mut next_renewal = clock.now();
    let mut asks = false;
    loop {
        let heard = lock(shared).session.as_ref().map(|one| one.heard);
        let silent = heard.map_or(Duration::ZERO, |heard| clock.elapsed(heard));
        if (QUIET..LEASE).contains(&silent) && clock.now() >= next_renewal {
            let renewed = connection.renew(RENEW_TIME);
            let pause = if renewed { RENEWED_FOR } else { RENEW_INTERVAL };
            next_renewal = clock.now() + pause;
            if renewed {
                asks = true;
                next_beat = clock.now();
            }
        }
        match connection.receive(clock.now() + LOOK) {
            Some(Event::Message(message)) => take(shared, &message),
            Some(Event::Lost(reason)) => say(
                shared,
                format!("the connection to the NATS server is lost: {reason}"),
            ),
            Some(Event::Back) => say(
                shared,
                "the connection to the NATS server is back".to_owned(),
            ),
            Some(Event::Refused(reason)) => {
                say(shared, format!("the NATS server refuses: {reason}"));
            }
            None => {}
        }
        let mut inner = lock(shared);
        if inner.closing {
            return;
        }
        if inner.session.as_ref().is_some_and(|one| one.is_over(clock)) {
            let over = inner.session.take();
            if let Some(over) = over.filter(Session::is_worth_keeping) {
                inner.kept = Some(over);
            }
            shared.changed.ring();
        }
        // What did not arrive, or whose acknowledgement did not: the controller takes each part once, by its number.
        for (session, number, text) in inner.unacknowledged.due(clock.now()) {
            let subject = journal_subject(&session, &shared.setup.name);
            let answer = Acknowledgement::subject(&shared.instance, &session, number);
            let _ = connection.publish(&subject, Some(&answer), &text);
        }
        if clock.now() >= next_beat {
            let beat = inner.session.as_ref().map_or(BEAT, |session| session.beat);
            next_beat = clock.now() + beat;
            if let Some(session) = &inner.session {
                send_state_or_ask(shared, session, asks);
                asks = false;
            }
        }
    }
}

fn say(shared: &Shared, text: String) {
    lock(shared).messages.push(text);
    shared.changed.ring();
}

/// Takes one message.
fn take(shared: &Shared, message: &Message) {
    let setup = &shared.setup;
    if let Some(answer) = Acknowledgement::of(message, &shared.instance) {
        let mut inner = lock(shared);
        match answer.refused {
            None => inner.unacknowledged.remove(&answer.session, answer.number),
            Some(reason) if inner.unacknowledged.is_first_refusal() => {
                inner.messages.push(format!(
                    "the stream on the NATS server does not keep what is recorded: {reason}"
                ));
                shared.changed.ring();
            }
            Some(_) => {}
        }
        return;
    }
    let (order, _) = match read::<ToAgent>(&message.payload) {
        Ok(read) => read,
        // A controller of another protocol: the answer has this one's number, and it says so to its user.
        Err(ReadError::Protocol { .. }) => (
            ToAgent::Who {
                controller: String::new(),
            },
            &[][..],
        ),
        Err(ReadError::Malformed(_)) => return,
    };
    let (clock, connection) = (shared.clock(), &shared.connection);
    let reply = |answer: &FromAgent, bytes: &[u8]| {
        if let Some(inbox) = &message.reply {
            let text = write(&setup.version, answer, bytes);
            let _ = connection.publish(inbox, None, &text);
        }
    };
    let mut inner = lock(shared);
    match order {
        ToAgent::Who { .. } => {
            let here = FromAgent::Here {
                agent: setup.name.clone(),
                instance: shared.instance.clone(),
                labels: setup.labels.clone(),
                busy_with: inner
                    .session
                    .as_ref()
                    .map(|session| session.controller.clone()),
                nonce: inner.nonce.clone(),
                wants_signature: !setup.keys.is_empty(),
            };
            drop(inner);
            reply(&here, b"");
        }
        ToAgent::Ping { number } => {
            drop(inner);
            let pong = FromAgent::Pong {
                agent: setup.name.clone(),
                number,
                clock_ns: clock.now_ns(),
                wall_ns: clock.wall_ns(),
            };
            reply(&pong, b"");
        }
        ToAgent::Prepare(signed) => {
            prepare(shared, &mut inner, &signed, message.reply.as_deref());
        }
        ToAgent::TakeOver(signed) => {
            take_over(shared, &mut inner, &signed, message.reply.as_deref());
        }
        ToAgent::Start { session, at_ns } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                own.heard = clock.now();
                own.start_at.get_or_insert(at_ns);
                shared.changed.ring();
            }
        }
        ToAgent::Phase {
            session,
            phase,
            at_ns,
        } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                own.heard = clock.now();
                own.phases.entry(phase).or_insert(at_ns);
            }
        }
        ToAgent::Beat { session } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                // A lease that has ended does not begin again.
                match own.stop_reason(clock) {
                    Some(reason) if own.ended.is_none() => own.stopped = Some(reason),
                    _ => own.heard = clock.now(),
                }
            }
        }
        ToAgent::Stop { session, reason } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                own.heard = clock.now();
                own.stopped.get_or_insert(reason);
                shared.changed.ring();
            }
        }
        ToAgent::Fetch { session, piece } => {
            let Some(own) = inner.session.as_mut().filter(|own| own.id == session) else {
                return;
            };
            own.heard = clock.now();
            let size = PIECE
                .min(connection.max_payload().saturating_sub(4096))
                .max(1);
            let Some(bytes) = own.document.chunks(size).nth(piece as usize) else {
                return;
            };
            let answer = FromAgent::Piece {
                agent: setup.name.clone(),
                session,
                piece,
            };
            reply(&answer, bytes);
        }
        ToAgent::Release { session } => {
            if inner
                .session
                .as_ref()
                .is_some_and(|own| own.id == session && own.ended.is_some())
            {
                inner.session = None;
                inner.unacknowledged.forget(&session);
                shared.changed.ring();
            }
        }
    }
}

/// A field of an order, for the answer: it is not trusted.
fn claimed(signed: &Signed, field: &str) -> String {
    let order: serde_json::Value = serde_json::from_str(&signed.order).unwrap_or_default();
    order[field].as_str().unwrap_or_default().to_owned()
}

fn refuse(shared: &Shared, reply: Option<&str>, session: &str, reason: String) {
    let message = FromAgent::State {
        agent: shared.setup.name.clone(),
        session: session.to_owned(),
        state: AgentState::Failed {
            reason,
            refused: true,
        },
        asks: false,
    };
    if let Some(reply) = reply {
        let text = write(&shared.setup.version, &message, b"");
        let _ = shared.connection.publish(reply, None, &text);
    }
}

/// Another controller takes over the present run, or the last one: its lease begins again if it has not ended.
fn take_over(shared: &Shared, inner: &mut Inner, signed: &Signed, reply: Option<&str>) {
    let (setup, clock) = (&shared.setup, shared.clock());
    let (id, inbox) = (claimed(signed, "session"), claimed(signed, "inbox"));
    let refuse = |reason: String| refuse(shared, reply, &id, reason);
    if let Some(own) = &inner.session {
        if own.id != id {
            return refuse(format!("busy with the run of {}", own.controller));
        }
        if own.inbox == inbox {
            // The claim was sent twice.
            return send_state(shared, own);
        }
    }
    let claim = match signed.open_claim(&setup.keys, &setup.name, &inner.nonce) {
        Ok(claim) => claim,
        Err(reason) => {
            inner.messages.push(format!("refused a resume: {reason}"));
            shared.changed.ring();
            return refuse(reason);
        }
    };
    match random::<16>() {
        Ok(bytes) => inner.nonce = hex(&bytes),
        Err(reason) => return refuse(reason),
    }
    if inner.session.is_none() {
        inner.session = inner.kept.take_if(|kept| kept.id == claim.session);
    }
    let Some(own) = &mut inner.session else {
        return refuse(
            "it has no recording of this run: it was not started here, or the agent was started again since, or has kept a later one".to_owned(),
        );
    };
    if own.ended.is_none() {
        own.stopped = own.stop_reason(clock);
    }
    own.controller = claim.controller;
    own.inbox = claim.inbox;
    own.heard = clock.now();
    send_state(shared, own);
    shared.changed.ring();
}

/// Takes an order, or answers why not.
fn prepare(shared: &Shared, inner: &mut Inner, signed: &Signed, reply: Option<&str>) {
    let setup = &shared.setup;
    let refuse = |session: &str, reason: String| refuse(shared, reply, session, reason);
    let claimed = &claimed(signed, "session");
    if let Some(own) = &inner.session {
        if own.id != *claimed {
            refuse(claimed, format!("busy with the run of {}", own.controller));
        }
        return;
    }
    let order = match signed.open(&setup.keys, &setup.name, &inner.nonce) {
        Ok(order) => order,
        Err(reason) => {
            inner.messages.push(format!("refused a job: {reason}"));
            shared.changed.ring();
            return refuse(claimed, reason);
        }
    };
    match random::<16>() {
        Ok(bytes) => inner.nonce = hex(&bytes),
        Err(reason) => return refuse(claimed, reason),
    }
    inner.session = Some(Session {
        id: order.session,
        controller: order.controller,
        inbox: order.inbox,
        heard: shared.now(),
        beat: Duration::from_millis(order.beat_ms).clamp(BEAT, SILENCE / 4),
        has_stream: order.has_stream,
        stopped: None,
        start_at: None,
        phases: BTreeMap::new(),
        state: AgentState::Preparing,
        document: Vec::new(),
        ended: None,
    });
    inner.waiting_job = Some(order.job);
    if let Some(session) = &inner.session {
        send_state(shared, session);
    }
    shared.changed.ring();
}
