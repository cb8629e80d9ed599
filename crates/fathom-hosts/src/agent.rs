//! The side of an agent: messages in one thread, the load in another one.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::HostsError;
use crate::clock::{now_ns, wall_ns};
use crate::jetstream::{Acknowledgement, Unacknowledged, acknowledgements};
use crate::nats::{Client, Event, Message, Server};
use crate::protocol::{
    ALL, AgentState, BEAT, FromAgent, Job, LEASE, PIECE, QUIET, RENEW_INTERVAL, RENEW_TIME,
    RENEWED_FOR, ReadError, SILENCE, Signed, ToAgent, journal_subject, read, subject, write,
};
use crate::sign::{PublicKey, hex, random};

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
    client: Arc<Client>,
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
        if inbox.is_none() && text.len() <= self.client.max_payload() {
            inner.unacknowledged.add(&self.session, number, &text);
        }
        drop(inner);
        let _ = match inbox {
            Some(inbox) => self.client.publish(&inbox, None, &text),
            None => {
                let subject = journal_subject(&self.session, name);
                let instance = &self.shared.instance;
                let answer = Acknowledgement::subject(instance, &self.session, number);
                self.client.publish(&subject, Some(&answer), &text)
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
    client: Arc<Client>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    setup: AgentSetup,
    instance: String,
    inner: Mutex<Inner>,
    changed: Condvar,
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
    heard: Instant,
    /// How often it says where it is.
    beat: Duration,
    has_stream: bool,
    stopped: Option<String>,
    start_at: Option<u64>,
    /// When each phase begins.
    phases: BTreeMap<u32, u64>,
    state: AgentState,
    document: Vec<u8>,
    ended: Option<Instant>,
}

impl Session {
    /// Why the load must end now.
    fn stop_reason(&self) -> Option<String> {
        self.stopped.clone().or_else(|| {
            (self.heard.elapsed() > LEASE).then(|| {
                format!(
                    "the controller {} was silent for {:.1} s",
                    self.controller,
                    LEASE.as_secs_f64()
                )
            })
        })
    }

    /// Whether nobody needs this session any more.
    fn is_over(&self) -> bool {
        let Some(ended) = self.ended else {
            return false;
        };
        let is_done = matches!(self.state, AgentState::Done { .. });
        let keep = if is_done { KEPT } else { LEASE };
        ended.elapsed() > keep && self.heard.elapsed() > LEASE
    }

    /// Whether its recording may still be asked for.
    fn is_worth_keeping(&self) -> bool {
        (1..=LARGEST_KEPT).contains(&self.document.len())
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Inner> {
    shared.inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agent {
    /// Connects to the server and answers controllers.
    ///
    /// # Errors
    /// When the server cannot be used.
    pub fn start(server: Server, setup: AgentSetup) -> Result<Agent, HostsError> {
        let random = || {
            random::<16>()
                .map(|bytes| hex(&bytes))
                .map_err(HostsError::Agent)
        };
        let (sender, events) = channel();
        let client = Client::connect(server, &format!("fathom agent {}", setup.name), sender)?;
        let client = Arc::new(client);
        let shared = Arc::new(Shared {
            instance: random()?,
            inner: Mutex::new(Inner {
                nonce: random()?,
                ..Inner::default()
            }),
            changed: Condvar::new(),
            setup,
        });
        let lost = |error: std::io::Error| HostsError::Server(error.to_string());
        client.subscribe(ALL).map_err(lost)?;
        client
            .subscribe(&subject(&shared.setup.name))
            .map_err(lost)?;
        client
            .subscribe(&acknowledgements(&shared.instance))
            .map_err(lost)?;
        let (own, connection) = (Arc::clone(&shared), Arc::clone(&client));
        let thread = std::thread::Builder::new()
            .name("agent".to_owned())
            .spawn(move || serve(&own, &connection, &events))
            .map_err(lost)?;
        Ok(Agent {
            shared,
            client,
            thread: Some(thread),
        })
    }

    /// The next job, if one comes within `patience`.
    #[must_use]
    pub fn next_job(&self, patience: Duration) -> Option<Job> {
        let (mut inner, _) = self
            .shared
            .changed
            .wait_timeout_while(lock(&self.shared), patience, |inner| {
                inner.waiting_job.is_none() && inner.messages.is_empty()
            })
            .unwrap_or_else(PoisonError::into_inner);
        inner.waiting_job.take()
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
            client: Arc::clone(&self.client),
            session,
            next: 0,
        }
    }

    /// Why the load must end now, if it must.
    #[must_use]
    pub fn stop_reason(&self) -> Option<String> {
        match &lock(&self.shared).session {
            Some(session) => session.stop_reason(),
            None => Some("the controller released the run".to_owned()),
        }
    }

    /// Everything is prepared: waits for the start, to the instant.
    #[must_use]
    pub fn wait_for_start(&self, interrupted: &dyn Fn() -> bool) -> StartSignal {
        self.set_state(AgentState::Ready);
        let at = loop {
            if interrupted() {
                return StartSignal::Never;
            }
            let (inner, _) = self
                .shared
                .changed
                .wait_timeout(lock(&self.shared), LOOK)
                .unwrap_or_else(PoisonError::into_inner);
            match &inner.session {
                None => return StartSignal::Never,
                Some(session) if session.stop_reason().is_some() => return StartSignal::Never,
                Some(session) => {
                    if let Some(at) = session.start_at {
                        break at;
                    }
                }
            }
        };
        self.set_state(AgentState::Running { reached: 0 });
        loop {
            let now = now_ns();
            if now >= at {
                return StartSignal::Now(now);
            }
            if interrupted() || self.stop_reason().is_some() {
                return StartSignal::Never;
            }
            // A thread that sleeps wakes within a fraction of a millisecond; one that spins takes the CPU from other agents.
            std::thread::sleep(Duration::from_nanos(at - now).min(LOOK));
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
            send_state(&self.shared.setup, &self.client, session);
        }
        let Some(at) = session.phases.get(&phase).copied() else {
            return false;
        };
        drop(inner);
        let now = now_ns();
        let left = Duration::from_nanos(at.saturating_sub(now));
        if left > SHORT {
            return false;
        }
        std::thread::sleep(left);
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
            session.ended = Some(Instant::now());
        }
        self.set_state(state);
    }

    /// There is no result: the job was refused, or its targets could not be prepared.
    pub fn fail(&self, reason: String, refused: bool) {
        if let Some(session) = &mut lock(&self.shared).session {
            session.ended = Some(Instant::now());
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
            send_state(&self.shared.setup, &self.client, session);
        }
        drop(inner);
        self.shared.changed.notify_all();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        lock(&self.shared).closing = true;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A failure is not an error: the state is sent again at the next beat.
fn send_state(setup: &AgentSetup, client: &Client, session: &Session) {
    send_state_or_ask(setup, client, session, false);
}

/// The same, which the controller answers at once where the agent `asks`.
fn send_state_or_ask(setup: &AgentSetup, client: &Client, session: &Session, asks: bool) {
    let message = FromAgent::State {
        agent: setup.name.clone(),
        session: session.id.clone(),
        state: session.state.clone(),
        asks,
    };
    let _ = client.publish(&session.inbox, None, &write(&setup.version, &message, b""));
}

/// Answers messages until the agent is dropped.
fn serve(shared: &Shared, client: &Client, events: &Receiver<Event>) {
    let mut next_beat = Instant::now();
    let mut next_renewal = Instant::now();
    let mut asks = false;
    loop {
        let heard = lock(shared).session.as_ref().map(|one| one.heard);
        let silent = heard.map_or(Duration::ZERO, |heard| heard.elapsed());
        if (QUIET..LEASE).contains(&silent) && Instant::now() >= next_renewal {
            let renewed = client.renew(RENEW_TIME);
            let pause = if renewed { RENEWED_FOR } else { RENEW_INTERVAL };
            next_renewal = Instant::now() + pause;
            if renewed {
                asks = true;
                next_beat = Instant::now();
            }
        }
        match events.recv_timeout(LOOK) {
            Ok(Event::Message(message)) => take(shared, client, &message),
            Ok(Event::Lost(reason)) => say(
                shared,
                format!("the connection to the NATS server is lost: {reason}"),
            ),
            Ok(Event::Back) => say(
                shared,
                "the connection to the NATS server is back".to_owned(),
            ),
            Ok(Event::Refused(reason)) => say(shared, format!("the NATS server refuses: {reason}")),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let mut inner = lock(shared);
        if inner.closing {
            return;
        }
        if inner.session.as_ref().is_some_and(Session::is_over) {
            let over = inner.session.take();
            if let Some(over) = over.filter(Session::is_worth_keeping) {
                inner.kept = Some(over);
            }
            shared.changed.notify_all();
        }
        // What did not arrive, or whose acknowledgement did not: the controller takes each part once, by its number.
        for (session, number, text) in inner.unacknowledged.due() {
            let subject = journal_subject(&session, &shared.setup.name);
            let answer = Acknowledgement::subject(&shared.instance, &session, number);
            let _ = client.publish(&subject, Some(&answer), &text);
        }
        if Instant::now() >= next_beat {
            let beat = inner.session.as_ref().map_or(BEAT, |session| session.beat);
            next_beat = Instant::now() + beat;
            if let Some(session) = &inner.session {
                send_state_or_ask(&shared.setup, client, session, asks);
                asks = false;
            }
        }
    }
}

fn say(shared: &Shared, text: String) {
    lock(shared).messages.push(text);
    shared.changed.notify_all();
}

/// Takes one message.
fn take(shared: &Shared, client: &Client, message: &Message) {
    let setup = &shared.setup;
    if let Some(answer) = Acknowledgement::of(message, &shared.instance) {
        let mut inner = lock(shared);
        match answer.refused {
            None => inner.unacknowledged.remove(&answer.session, answer.number),
            Some(reason) if inner.unacknowledged.is_first_refusal() => {
                inner.messages.push(format!(
                    "the stream on the NATS server does not keep what is recorded: {reason}"
                ));
                shared.changed.notify_all();
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
    let reply = |answer: &FromAgent, bytes: &[u8]| {
        if let Some(inbox) = &message.reply {
            let _ = client.publish(inbox, None, &write(&setup.version, answer, bytes));
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
                clock_ns: now_ns(),
                wall_ns: wall_ns(),
            };
            reply(&pong, b"");
        }
        ToAgent::Prepare(signed) => {
            prepare(
                shared,
                &mut inner,
                client,
                &signed,
                message.reply.as_deref(),
            );
        }
        ToAgent::TakeOver(signed) => {
            take_over(
                shared,
                &mut inner,
                client,
                &signed,
                message.reply.as_deref(),
            );
        }
        ToAgent::Start { session, at_ns } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                own.heard = Instant::now();
                own.start_at.get_or_insert(at_ns);
                shared.changed.notify_all();
            }
        }
        ToAgent::Phase {
            session,
            phase,
            at_ns,
        } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                own.heard = Instant::now();
                own.phases.entry(phase).or_insert(at_ns);
            }
        }
        ToAgent::Beat { session } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                // A lease that has ended does not begin again.
                match own.stop_reason() {
                    Some(reason) if own.ended.is_none() => own.stopped = Some(reason),
                    _ => own.heard = Instant::now(),
                }
            }
        }
        ToAgent::Stop { session, reason } => {
            if let Some(own) = inner.session.as_mut().filter(|own| own.id == session) {
                own.heard = Instant::now();
                own.stopped.get_or_insert(reason);
                shared.changed.notify_all();
            }
        }
        ToAgent::Fetch { session, piece } => {
            let Some(own) = inner.session.as_mut().filter(|own| own.id == session) else {
                return;
            };
            own.heard = Instant::now();
            let size = PIECE.min(client.max_payload().saturating_sub(4096)).max(1);
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
                shared.changed.notify_all();
            }
        }
    }
}

/// A field of an order, for the answer: it is not trusted.
fn claimed(signed: &Signed, field: &str) -> String {
    let order: serde_json::Value = serde_json::from_str(&signed.order).unwrap_or_default();
    order[field].as_str().unwrap_or_default().to_owned()
}

fn refuse(setup: &AgentSetup, client: &Client, reply: Option<&str>, session: &str, reason: String) {
    let message = FromAgent::State {
        agent: setup.name.clone(),
        session: session.to_owned(),
        state: AgentState::Failed {
            reason,
            refused: true,
        },
        asks: false,
    };
    if let Some(reply) = reply {
        let _ = client.publish(reply, None, &write(&setup.version, &message, b""));
    }
}

/// Another controller takes over the present run, or the last one: its lease begins again if it has not ended.
fn take_over(
    shared: &Shared,
    inner: &mut Inner,
    client: &Client,
    signed: &Signed,
    reply: Option<&str>,
) {
    let setup = &shared.setup;
    let (id, inbox) = (claimed(signed, "session"), claimed(signed, "inbox"));
    let refuse = |reason: String| refuse(setup, client, reply, &id, reason);
    if let Some(own) = &inner.session {
        if own.id != id {
            return refuse(format!("busy with the run of {}", own.controller));
        }
        if own.inbox == inbox {
            // The claim was sent twice.
            return send_state(setup, client, own);
        }
    }
    let claim = match signed.open_claim(&setup.keys, &setup.name, &inner.nonce) {
        Ok(claim) => claim,
        Err(reason) => {
            inner.messages.push(format!("refused a resume: {reason}"));
            shared.changed.notify_all();
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
        own.stopped = own.stop_reason();
    }
    own.controller = claim.controller;
    own.inbox = claim.inbox;
    own.heard = Instant::now();
    send_state(setup, client, own);
    shared.changed.notify_all();
}

/// Takes an order, or answers why not.
fn prepare(
    shared: &Shared,
    inner: &mut Inner,
    client: &Client,
    signed: &Signed,
    reply: Option<&str>,
) {
    let setup = &shared.setup;
    let refuse = |session: &str, reason: String| refuse(setup, client, reply, session, reason);
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
            shared.changed.notify_all();
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
        heard: Instant::now(),
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
        send_state(setup, client, session);
    }
    shared.changed.notify_all();
}
