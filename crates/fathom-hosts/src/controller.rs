//! The side of the controller: one thread that speaks to all agents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use serde::Serialize;

use crate::HostsError;
use crate::clock::{ClockSample, Offset};
use crate::jetstream::{self, Request};
use crate::protocol::{
    ALL, AgentState, BEAT, Claim, FromAgent, Job, LARGEST_JOURNAL, LARGEST_RECORDING, Order, PIECE,
    QUIET, ReadError, SILENCE, Signed, ToAgent, beat_of, other_protocol, read, subject, write,
};
use crate::select::Selection;
use crate::sign::{SigningKey, hex, random};
use crate::time::Clock;
use crate::transport::{Connection, Event, Message};

/// Agents that are named are waited for this long.
const NAMED_PATIENCE: Duration = Duration::from_secs(3);
/// All agents of a launcher are waited for this long.
const LAUNCH_PATIENCE: Duration = Duration::from_secs(60);
/// Agents that are not named must answer within this time.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// The question is repeated after this time without the answer of a further agent: while many answer, it would only add to
/// what they wait for.
const ASK_INTERVAL: Duration = Duration::from_millis(250);
/// Round trips for one offset.
const ROUNDS: usize = 16;
/// The same for each of many agents.
const FEWER_ROUNDS: usize = 4;
/// From here on there are many.
const MANY: usize = 64;
/// After these rounds, and this time for agents that are asked at once, no more follow.
const LEAST_ROUNDS: usize = 2;
const CLOCK_TIME: Duration = Duration::from_secs(2);
/// Agents that are asked for their clocks at once.
const AT_ONCE: usize = 32;
/// Longest wait for the answers of one round: round trips with a satellite take less.
const ROUND_TIMEOUT: Duration = Duration::from_secs(1);
/// An order to start that was not answered is sent again after this time: one that is lost makes no host late.
const START_AGAIN: Duration = Duration::from_millis(100);
/// From the order to start to the planned instant.
const START_IN: Duration = Duration::from_millis(300);
/// The same for a later phase.
const PHASE_IN: Duration = Duration::from_millis(60);
/// The longest time between an order and its instant.
const LONGEST_LEAD: Duration = Duration::from_secs(5);
/// Orders that are sent at once: each is answered with a state.
const ORDERS_AT_ONCE: usize = 256;
/// Bytes of recordings that are on their way at once: a NATS server closes a connection with 64 MiB of messages that wait for it.
const BYTES_AT_ONCE: u64 = 16 << 20;
/// A piece or an order that was not answered is sent again after this time.
const PIECE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for the server to answer a request to its streams, and for the next message that it has kept.
const STREAM_TIME: Duration = Duration::from_secs(2);
/// How often the loop looks at the time.
const LOOK: Duration = Duration::from_millis(20);

/// An agent that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAgent {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// It takes signed jobs only.
    pub wants_signature: bool,
    nonce: String,
    instance: String,
}

/// What happens, for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerPhase {
    /// The agents plan, check and lay out.
    Preparing,
    /// The load runs.
    Running,
    /// The recordings are fetched.
    Collecting,
}

/// What came from one host.
#[derive(Clone, Debug)]
pub struct HostResult {
    /// Its name.
    pub name: String,
    /// Its recording as a document, or why there is none.
    pub document: Result<Vec<u8>, String>,
    /// Where there is none: what it had sent while the load ran, in order; the first is its plan.
    pub journal: Vec<Vec<u8>>,
    /// The start of its load after the planned instant, by the corrected clock, nanoseconds.
    pub epoch_late_ns: i64,
    /// The largest error of that.
    pub late_bound_ns: u64,
    /// Wall clock of the host minus that of the controller, nanoseconds.
    pub wall_offset_ns: i64,
}

/// The controller of one run.
#[derive(Debug)]
pub struct Controller {
    connection: Connection,
    inbox: String,
    session: String,
    name: String,
    version: String,
}

/// One agent while it works.
#[derive(Debug)]
struct Worker {
    name: String,
    order: Vec<u8>,
    state: AgentState,
    heard: Duration,
    has_order: bool,
    ordered: Option<Duration>,
    lost: Option<String>,
    before: Vec<ClockSample>,
    after: Vec<ClockSample>,
    start_at: u64,
    document: Vec<u8>,
    requested: Option<(u32, Duration)>,
    received: u32,
    /// Parts by their number.
    journal: BTreeMap<u64, Vec<u8>>,
}

impl Worker {
    fn new(name: String, order: Vec<u8>, now: Duration) -> Worker {
        Worker {
            name,
            order,
            state: AgentState::Preparing,
            heard: now,
            has_order: false,
            ordered: None,
            lost: None,
            before: Vec::new(),
            after: Vec::new(),
            start_at: 0,
            document: Vec::new(),
            requested: None,
            received: 0,
            journal: BTreeMap::new(),
        }
    }

    /// Whether everything that it can give is there.
    fn is_collected(&self) -> bool {
        self.lost.is_some()
            || match self.state {
                AgentState::Done { bytes, .. } => self.document.len() as u64 >= bytes,
                AgentState::Failed { .. } => true,
                _ => false,
            }
    }

    /// Whether a piece of its recording can be asked for.
    fn has_more(&self) -> bool {
        !self.is_collected() && matches!(self.state, AgentState::Done { .. })
    }

    /// Whether the next piece is on its way.
    fn waits(&self, now: Duration) -> bool {
        self.has_more()
            && self.requested.is_some_and(|(piece, at)| {
                piece == self.received && now.saturating_sub(at) < PIECE_TIMEOUT
            })
    }

    /// The size of the next piece.
    fn next_bytes(&self) -> u64 {
        match self.state {
            AgentState::Done { bytes, .. } => bytes
                .saturating_sub(self.document.len() as u64)
                .min(PIECE as u64),
            _ => 0,
        }
    }

    fn has_ended(&self) -> bool {
        self.lost.is_some()
            || matches!(
                self.state,
                AgentState::Done { .. } | AgentState::Failed { .. }
            )
    }
}

impl Controller {
    /// The controller of a new run. `name` is shown to people at the agents.
    ///
    /// # Errors
    /// When the connection is lost, or the system has no random numbers.
    pub fn new(
        connection: Connection,
        name: &str,
        version: &str,
    ) -> Result<Controller, HostsError> {
        let session = hex(&random::<8>().map_err(HostsError::Agent)?);
        Controller::of(connection, name, version, session, "")
    }

    /// As [`Controller::new`], for a run whose controller was killed.
    ///
    /// # Errors
    /// As [`Controller::new`].
    pub fn resume(
        connection: Connection,
        name: &str,
        version: &str,
        session: &str,
    ) -> Result<Controller, HostsError> {
        let own = hex(&random::<8>().map_err(HostsError::Agent)?);
        let session = session.to_owned();
        Controller::of(connection, name, version, session, &format!(".{own}"))
    }

    fn of(
        connection: Connection,
        name: &str,
        version: &str,
        session: String,
        own: &str,
    ) -> Result<Controller, HostsError> {
        let inbox = format!("_INBOX.fathom.{session}{own}");
        connection
            .subscribe(&inbox)
            .and_then(|()| connection.subscribe(&answers(&inbox)))
            .and_then(|()| connection.subscribe(&replays(&inbox)))
            .map_err(|error| HostsError::Server(error.to_string()))?;
        Ok(Controller {
            connection,
            inbox,
            session,
            name: name.to_owned(),
            version: version.to_owned(),
        })
    }

    fn clock(&self) -> &dyn Clock {
        self.connection.clock()
    }

    fn now(&self) -> Duration {
        self.clock().now()
    }

    /// The name of the run for [`Controller::resume`].
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Takes over the run: agents whose load still runs go on, the others give what they recorded. Times are from the start of
    /// the first host. Agents that do not answer are lost.
    ///
    /// # Errors
    /// When no agent answers, or one takes only signed jobs and there is no key.
    pub fn take_over(
        &self,
        names: &[String],
        key: Option<&SigningKey>,
        interrupts: &dyn Fn() -> u32,
        on_phase: &mut dyn FnMut(ControllerPhase),
    ) -> Result<Vec<HostResult>, HostsError> {
        let found = self.find_again(names, interrupts)?;
        let worker = |name: &String| {
            let Some(agent) = found.get(name) else {
                let mut worker = Worker::new(name.clone(), Vec::new(), self.now());
                worker.lost = Some("the agent does not answer".to_owned());
                return Ok(worker);
            };
            let claim = Claim {
                session: self.session.clone(),
                controller: self.name.clone(),
                inbox: self.inbox.clone(),
                agent: name.clone(),
                nonce: agent.nonce.clone(),
            };
            let signed = self.signed(agent, &claim, key)?;
            let order = write(&self.version, &ToAgent::TakeOver(signed), b"");
            Ok(Worker::new(name.clone(), order, self.now()))
        };
        let workers = names
            .iter()
            .map(worker)
            .collect::<Result<_, HostsError>>()?;
        let mut run = Run::new(self, workers);
        // Orders first: the lease of an agent ends soon.
        run.turn();
        run.measure_clocks(|worker| &mut worker.before);
        on_phase(ControllerPhase::Running);
        Ok(run.end(interrupts, on_phase))
    }

    /// Those of the agents that answer, busy or not. They hear that there is a controller again.
    fn find_again(
        &self,
        names: &[String],
        interrupts: &dyn Fn() -> u32,
    ) -> Result<BTreeMap<String, FoundAgent>, HostsError> {
        let wanted: BTreeSet<&String> = names.iter().collect();
        let (begun, mut next_ask) = (self.now(), self.now());
        let mut found = BTreeMap::new();
        while self.clock().elapsed(begun) < NAMED_PATIENCE && found.len() < wanted.len() {
            if interrupts() > 0 {
                return Err(HostsError::Interrupted);
            }
            if self.now() >= next_ask {
                next_ask = self.now() + ASK_INTERVAL;
                let session = self.session.clone();
                self.send(ALL, &ToAgent::Beat { session });
                let controller = self.name.clone();
                self.send(ALL, &ToAgent::Who { controller });
            }
            let Some(message) = self.next(LOOK)? else {
                continue;
            };
            if let Ok((
                FromAgent::Here {
                    agent,
                    instance,
                    labels,
                    nonce,
                    wants_signature,
                    ..
                },
                _,
            )) = read::<FromAgent>(&message.payload)
                && wanted.contains(&agent)
            {
                let one = FoundAgent {
                    name: agent.clone(),
                    labels,
                    wants_signature,
                    nonce,
                    instance,
                };
                found.insert(agent, one);
            }
        }
        if found.is_empty() {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(HostsError::Agent(format!(
                "no answer from {}; what they recorded is in their `fathom agent`, while it runs",
                first_names(&names)
            )));
        }
        Ok(found)
    }

    fn signed<T: Serialize>(
        &self,
        agent: &FoundAgent,
        order: &T,
        key: Option<&SigningKey>,
    ) -> Result<Signed, HostsError> {
        if agent.wants_signature && key.is_none() {
            return Err(HostsError::Agent(format!(
                "{} takes only signed jobs; give --key=FILE, whose public key it has from `fathom agent --trust`",
                agent.name
            )));
        }
        Signed::new(order, key).map_err(HostsError::Agent)
    }

    /// The selected agents, in the order of their names, or as they were named. Agents that still have one of the runs `left` by
    /// an earlier controller are free: nobody will ask for what they recorded.
    ///
    /// # Errors
    /// When one that is named does not answer, none answers, or one cannot be used.
    pub fn find(
        &self,
        selection: &Selection,
        left: &[String],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<FoundAgent>, HostsError> {
        let wanted: &[String] = match selection {
            Selection::Names(names) => names,
            _ => &[],
        };
        let by_name: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
        let takes = |agent: &str, labels: &BTreeMap<String, String>| {
            by_name.contains(agent) || (by_name.is_empty() && selection.takes(agent, labels))
        };
        let patience = if wanted.is_empty() {
            ANSWER_TIME
        } else {
            NAMED_PATIENCE
        };
        // A launcher starts its processes one after the other.
        let expected = selection.expected();
        let patience = if expected.is_some() {
            LAUNCH_PATIENCE
        } else {
            patience
        };
        let begun = self.now();
        // Patience ends by silence: the answers of many agents take their time.
        let (mut next_ask, mut last_new) = (begun, begun);
        let mut found: BTreeMap<String, FoundAgent> = BTreeMap::new();
        let mut busy: BTreeMap<String, String> = BTreeMap::new();
        let mut problems: Vec<String> = Vec::new();
        while self.clock().elapsed(last_new) < patience {
            if interrupted() {
                return Err(HostsError::Interrupted);
            }
            if !wanted.is_empty() && found.len() == by_name.len() {
                break;
            }
            if expected.is_some_and(|expected| found.len() >= expected && busy.is_empty()) {
                break;
            }
            if self.now() >= next_ask {
                next_ask = self.now() + ASK_INTERVAL;
                for session in left.iter().cloned() {
                    self.send(ALL, &ToAgent::Release { session });
                }
                let controller = self.name.clone();
                self.send(ALL, &ToAgent::Who { controller });
            }
            let Some(message) = self.next(LOOK)? else {
                continue;
            };
            match read::<FromAgent>(&message.payload) {
                Ok((
                    FromAgent::Here {
                        agent,
                        instance,
                        labels,
                        busy_with,
                        nonce,
                        wants_signature,
                    },
                    _,
                )) => {
                    if !takes(&agent, &labels) {
                        continue;
                    }
                    // An agent whose last controller is gone is free again soon.
                    if let Some(controller) = busy_with {
                        busy.insert(agent, controller);
                        continue;
                    }
                    busy.remove(&agent);
                    if found
                        .get(&agent)
                        .is_some_and(|known| known.instance != instance)
                    {
                        let problem = format!(
                            "two agents have the name {agent}; start one of them with another `fathom agent --host-name`"
                        );
                        note(&mut problems, problem);
                    }
                    let one = FoundAgent {
                        name: agent.clone(),
                        labels,
                        wants_signature,
                        nonce,
                        instance,
                    };
                    if found.insert(agent, one).is_none() {
                        last_new = self.now();
                        next_ask = last_new + ASK_INTERVAL;
                    }
                }
                Err(ReadError::Protocol {
                    number,
                    version,
                    agent,
                }) => {
                    let agent = agent.unwrap_or_else(|| "an agent".to_owned());
                    // Its labels cannot be read.
                    if takes(&agent, &BTreeMap::new()) {
                        note(
                            &mut problems,
                            other_protocol(&agent, &version, number, &self.version),
                        );
                    }
                }
                _ => {}
            }
        }
        for (agent, controller) in &busy {
            problems.push(format!("{agent} is busy with the run of {controller}"));
        }
        if !problems.is_empty() {
            return Err(HostsError::Agent(problems.join("\n")));
        }
        let missing: Vec<&str> = wanted
            .iter()
            .filter(|name| !found.contains_key(*name))
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            return Err(HostsError::Agent(format!(
                "no answer from {}; start `fathom agent --nats ... --host-name={}` there",
                first_names(&missing),
                missing[0]
            )));
        }
        if found.is_empty() {
            return Err(HostsError::Agent(
                "no agent answers that --hosts selects; start `fathom agent` on each host"
                    .to_owned(),
            ));
        }
        if let Some(expected) = expected.filter(|expected| found.len() < *expected) {
            return Err(HostsError::Agent(format!(
                "{} of {expected} agents answered within {} s; see what the launcher says about the others",
                found.len(),
                LAUNCH_PATIENCE.as_secs()
            )));
        }
        Ok(if wanted.is_empty() {
            let mut found: Vec<FoundAgent> = found.into_values().collect();
            // The ranks of a launcher are those of the run.
            let rank = |agent: &FoundAgent| {
                agent
                    .labels
                    .get("rank")
                    .and_then(|rank| rank.parse::<u32>().ok())
            };
            found.sort_by_key(rank);
            found
        } else {
            wanted
                .iter()
                .filter_map(|name| found.remove(name))
                .collect()
        })
    }

    /// Runs a job on all agents at the same time, and returns what they recorded, in their order. `job_of` makes the job of
    /// the agent with this place. `interrupts` counts requests of the user to stop: the first ends the load in order, the
    /// second gives up.
    ///
    /// # Errors
    /// When an agent refuses the job or is lost before the start: then no load was started anywhere.
    pub fn run(
        &self,
        agents: &[FoundAgent],
        job_of: &dyn Fn(usize) -> Job,
        key: Option<&SigningKey>,
        interrupts: &dyn Fn() -> u32,
        on_phase: &mut dyn FnMut(ControllerPhase),
    ) -> Result<Vec<HostResult>, HostsError> {
        let has_stream = self.create_stream();
        let workers = self.orders(agents, job_of, key, has_stream)?;
        let mut run = Run::new(self, workers);
        on_phase(ControllerPhase::Preparing);
        let prepared = run.prepare(interrupts);
        if let Err(error) = prepared {
            run.stop("the run was not started");
            run.release();
            return Err(error);
        }
        on_phase(ControllerPhase::Running);
        run.start();
        Ok(run.end(interrupts, on_phase))
    }

    fn orders(
        &self,
        agents: &[FoundAgent],
        job_of: &dyn Fn(usize) -> Job,
        key: Option<&SigningKey>,
        has_stream: bool,
    ) -> Result<Vec<Worker>, HostsError> {
        let order = |(place, agent): (usize, &FoundAgent)| {
            let order = Order {
                session: self.session.clone(),
                controller: self.name.clone(),
                inbox: self.inbox.clone(),
                agent: agent.name.clone(),
                nonce: agent.nonce.clone(),
                beat_ms: beat_of(agents.len()).as_millis() as u64,
                has_stream,
                job: job_of(place),
            };
            let signed = self.signed(agent, &order, key)?;
            let order = write(&self.version, &ToAgent::Prepare(signed), b"");
            if order.len() > self.connection.max_payload() {
                return Err(HostsError::Agent(format!(
                    "the job has {} bytes with its files; the NATS server allows {} in a message (max_payload)",
                    order.len(),
                    self.connection.max_payload()
                )));
            }
            Ok(Worker::new(agent.name.clone(), order, self.now()))
        };
        agents.iter().enumerate().map(order).collect()
    }

    /// Makes the stream for what the hosts record. Without JetStream, or the right to use it, this controller keeps that itself.
    fn create_stream(&self) -> bool {
        self.connection.has_jetstream()
            && self
                .request(&jetstream::create_stream(), &mut |_| {})
                .is_some_and(|answer| jetstream::is_created(&answer))
    }

    /// The answer of the server to a request to its streams; `others` gets the messages that come before it.
    fn request(
        &self,
        (to, content): &Request,
        others: &mut dyn FnMut(&Message),
    ) -> Option<serde_json::Value> {
        let inbox = answers(&self.inbox);
        let text = if content.is_null() {
            String::new()
        } else {
            content.to_string()
        };
        let published = self.connection.publish(to, Some(&inbox), text.as_bytes());
        published.ok()?;
        let begun = self.now();
        while self.clock().elapsed(begun) < STREAM_TIME {
            match self.next(LOOK) {
                Ok(Some(message)) if message.subject == inbox => {
                    return serde_json::from_slice(&message.payload).ok();
                }
                Ok(Some(message)) => others(&message),
                Ok(None) => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// A message that is lost is sent again by whoever needs its effect.
    fn send<T: Serialize>(&self, subject: &str, message: &T) {
        let bytes = write(&self.version, message, b"");
        let _ = self.connection.publish(subject, Some(&self.inbox), &bytes);
    }

    /// As [`Controller::send`], to several agents at once.
    fn send_each<'a>(&self, messages: impl Iterator<Item = (&'a Worker, ToAgent)>) {
        let messages = messages
            .map(|(worker, message)| (subject(&worker.name), write(&self.version, &message, b"")));
        let _ = self.connection.publish_all(Some(&self.inbox), messages);
    }

    /// The next message, if one comes within `patience`.
    fn next(&self, patience: Duration) -> Result<Option<Message>, HostsError> {
        match self.connection.receive(self.now() + patience) {
            Some(Event::Message(message)) => Ok(Some(message)),
            Some(Event::Refused(reason)) => Err(HostsError::Server(format!(
                "the NATS server refuses: {reason}"
            ))),
            Some(Event::Lost(_) | Event::Back) | None => Ok(None),
        }
    }
}

/// Where the answers of the server about its streams arrive.
fn answers(inbox: &str) -> String {
    format!("{inbox}.answers")
}

/// Where messages arrive that a stream has kept.
fn replays(inbox: &str) -> String {
    format!("{inbox}.kept")
}

/// The first names, and how many more there are.
fn first_names(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 {
        shown
    } else {
        format!("{shown} and {more} more")
    }
}

fn note(problems: &mut Vec<String>, problem: String) {
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// A run from its first order to the last piece.
struct Run<'a> {
    controller: &'a Controller,
    workers: Vec<Worker>,
    /// The place of each host by its name.
    places: HashMap<String, usize>,
    next_beat: Duration,
    last_beat: Duration,
    next_starts: Duration,
    /// When this controller last listened.
    listened: Duration,
    /// The planned instant by the controller's clock; 0 in a run that was taken over, whose controller took it along.
    origin: u64,
    /// The phase that runs, and its planned instant by the controller's clock.
    phase: u32,
    phase_at: u64,
    /// Bytes of all journals.
    journal_bytes: usize,
    /// Why the load ends early; repeated, in case an agent did not hear it.
    stopped: Option<String>,
}

impl Run<'_> {
    fn new(controller: &Controller, workers: Vec<Worker>) -> Run<'_> {
        let places = workers
            .iter()
            .enumerate()
            .map(|(place, worker)| (worker.name.clone(), place))
            .collect();
        let now = controller.now();
        Run {
            controller,
            workers,
            places,
            next_beat: now,
            last_beat: now,
            next_starts: now,
            listened: now,
            origin: 0,
            phase: 0,
            phase_at: 0,
            journal_bytes: 0,
            stopped: None,
        }
    }

    /// Sends the orders and waits until every agent is ready.
    fn prepare(&mut self, interrupts: &dyn Fn() -> u32) -> Result<(), HostsError> {
        let now = self.controller.now();
        for worker in &mut self.workers {
            worker.heard = now;
        }
        loop {
            if interrupts() > 0 {
                return Err(HostsError::Interrupted);
            }
            self.turn();
            let refusals: Vec<String> = self
                .workers
                .iter()
                .filter_map(|worker| match (&worker.lost, &worker.state) {
                    (Some(why), _) => Some(format!("{}: {why}", worker.name)),
                    (None, AgentState::Failed { reason, .. }) => {
                        Some(format!("{}: {reason}", worker.name))
                    }
                    _ => None,
                })
                .collect();
            if !refusals.is_empty() {
                return Err(HostsError::Agent(refusals.join("\n")));
            }
            let is_ready = |worker: &Worker| worker.state == AgentState::Ready;
            if self.workers.iter().all(is_ready) {
                break;
            }
        }
        self.measure_clocks(|worker| &mut worker.before);
        match self.workers.iter().find(|worker| worker.before.is_empty()) {
            None => Ok(()),
            Some(worker) => Err(HostsError::Agent(format!(
                "{}: it does not answer questions about its clock",
                worker.name
            ))),
        }
    }

    /// Tells every agent the instant by its own clock.
    fn start(&mut self) {
        self.origin = self.controller.clock().now_ns() + self.lead(START_IN);
        for worker in &mut self.workers {
            let offset = Offset::of(&worker.before).unwrap_or_default();
            worker.start_at = offset.to_agent(self.origin);
        }
        self.send_starts();
    }

    /// From an order to its instant: long enough for the slowest way of a message, four times over.
    fn lead(&self, least: Duration) -> u64 {
        let bounds = self
            .workers
            .iter()
            .map(|worker| Offset::of(&worker.before).map_or(0, |offset| offset.bound_ns));
        let slowest = bounds.max().unwrap_or(0);
        (least.as_nanos() as u64).max(
            slowest
                .saturating_mul(8)
                .min(LONGEST_LEAD.as_nanos() as u64),
        )
    }

    /// Begins the next phase when every host has ended the one before it. A host that was lost or has ended holds none back.
    fn advance(&mut self) {
        let reached = self
            .workers
            .iter()
            .filter(|worker| !worker.has_ended())
            .map(|worker| match worker.state {
                AgentState::Running { reached } => reached,
                _ => 0,
            })
            .min();
        if reached.is_some_and(|reached| reached > self.phase) {
            self.phase += 1;
            self.phase_at = self.controller.clock().now_ns() + self.lead(PHASE_IN);
            self.send_phase();
        }
    }

    fn send_phase(&self) {
        if self.phase == 0 {
            return;
        }
        let phases = self.workers.iter().filter(|worker| !worker.has_ended());
        self.controller.send_each(phases.map(|worker| {
            let offset = Offset::of(&worker.before).unwrap_or_default();
            let phase = ToAgent::Phase {
                session: self.controller.session.clone(),
                phase: self.phase,
                at_ns: offset.to_agent(self.phase_at),
            };
            (worker, phase)
        }));
    }

    /// Agents that have not answered it hear it again. Many answer one after the other.
    fn send_starts(&mut self) {
        let now = self.controller.now();
        if now < self.next_starts {
            return;
        }
        self.next_starts = now
            + match self.workers.len() {
                ..=MANY => START_AGAIN,
                many => beat_of(many),
            };
        let waiting = |worker: &&Worker| worker.state == AgentState::Ready && worker.lost.is_none();
        let starts = self.workers.iter().filter(waiting).map(|worker| {
            let start = ToAgent::Start {
                session: self.controller.session.clone(),
                at_ns: worker.start_at,
            };
            (worker, start)
        });
        self.controller.send_each(starts);
    }

    /// From the start of the load to the results of all hosts.
    fn end(
        mut self,
        interrupts: &dyn Fn() -> u32,
        on_phase: &mut dyn FnMut(ControllerPhase),
    ) -> Vec<HostResult> {
        self.wait(interrupts);
        on_phase(ControllerPhase::Collecting);
        self.collect(interrupts);
        self.measure_clocks(|worker| &mut worker.after);
        self.replay(interrupts);
        self.release();
        self.results()
    }

    /// Fetches from the stream what lost hosts had sent there, and removes what it has of this run.
    fn replay(&mut self, interrupts: &dyn Fn() -> u32) {
        if !self.controller.connection.has_jetstream() {
            return;
        }
        let lost: Vec<String> = self
            .workers
            .iter()
            .filter(|worker| worker.document.is_empty())
            .map(|worker| worker.name.clone())
            .collect();
        for name in lost {
            if interrupts() > 1 || self.replay_host(&name).is_none() {
                break;
            }
        }
        let purge = jetstream::purge(&self.controller.session);
        let _ = self.controller.request(&purge, &mut |_| {});
    }

    /// Fetches what one host sent to the stream; `None` when the server has no stream or does not answer.
    fn replay_host(&mut self, name: &str) -> Option<()> {
        let controller = self.controller;
        let request = jetstream::replay(&controller.session, name, &replays(&controller.inbox));
        // The first parts may come before the answer.
        let mut received = 0;
        let answer = controller.request(&request, &mut |message| {
            received += u64::from(self.take_replayed(message, name));
        });
        let (consumer, expected) = jetstream::replayed(&answer?)?;
        let mut heard = controller.now();
        while received < expected && controller.clock().elapsed(heard) < STREAM_TIME {
            if let Ok(Some(message)) = controller.next(LOOK)
                && self.take_replayed(&message, name)
            {
                received += 1;
                heard = controller.now();
            }
        }
        controller.request(&jetstream::end_replay(&consumer), &mut |message| {
            self.take(message);
        });
        Some(())
    }

    /// Takes a message; whether it is one of this host from the stream.
    fn take_replayed(&mut self, message: &Message, name: &str) -> bool {
        self.take(message);
        message.subject == crate::protocol::journal_subject(&self.controller.session, name)
    }

    /// Waits for the end of the load on every host.
    fn wait(&mut self, interrupts: &dyn Fn() -> u32) {
        while !self.workers.iter().all(Worker::has_ended) {
            match interrupts() {
                0 => {}
                1 => self.stop("the user interrupted the run"),
                _ => return,
            }
            self.turn();
            self.advance();
        }
    }

    /// Fetches every recording, one piece of each host at a time.
    fn collect(&mut self, interrupts: &dyn Fn() -> u32) {
        while !self.workers.iter().all(Worker::is_collected) && interrupts() < 2 {
            let mut open = self.open_bytes();
            for place in 0..self.workers.len() {
                if open >= BYTES_AT_ONCE {
                    break;
                }
                open += self.request(place);
            }
            self.turn();
        }
        for worker in &mut self.workers {
            if !worker.is_collected() {
                worker.lost = Some("the run was aborted before its result was received".to_owned());
            }
        }
    }

    /// Bytes that are asked for and have not arrived.
    fn open_bytes(&self) -> u64 {
        self.workers
            .iter()
            .filter(|worker| worker.waits(self.controller.now()))
            .map(Worker::next_bytes)
            .sum()
    }

    /// Asks for the next piece of a host that is not on its way. Returns its bytes.
    fn request(&mut self, place: usize) -> u64 {
        let now = self.controller.now();
        let worker = &mut self.workers[place];
        if !worker.has_more() || worker.waits(now) {
            return 0;
        }
        worker.requested = Some((worker.received, now));
        let fetch = ToAgent::Fetch {
            session: self.controller.session.clone(),
            piece: worker.received,
        };
        self.controller.send(&subject(&worker.name), &fetch);
        self.workers[place].next_bytes()
    }

    /// One round of the loop: beat, one batch of messages, and who is silent.
    fn turn(&mut self) {
        let controller = self.controller;
        if controller.now() >= self.next_beat {
            self.send_beat();
            self.send_phase();
            self.send_stop();
        }
        if self.origin > 0 {
            self.send_starts();
        }
        self.send_orders();
        let mut patience = LOOK;
        // Silence while this controller did not listen is its own.
        let away = controller.clock().elapsed(self.listened);
        if away > QUIET {
            for worker in &mut self.workers {
                worker.heard += away;
            }
        }
        // An error of the server shows as silence of the agents. Agents must hear the next beat, however many messages wait.
        let mut is_behind = false;
        while let Ok(Some(message)) = controller.next(patience) {
            self.take(&message);
            patience = Duration::ZERO;
            if controller.now() >= self.next_beat {
                is_behind = true;
                break;
            }
        }
        self.listened = controller.now();
        if is_behind {
            return;
        }
        for worker in &mut self.workers {
            let has_begun = worker.ordered.is_some();
            if worker.lost.is_none()
                && has_begun
                && !worker.is_collected()
                && controller.clock().elapsed(worker.heard) > SILENCE
            {
                worker.lost = Some(format!(
                    "lost: no message for {:.0} s",
                    SILENCE.as_secs_f64()
                ));
            }
        }
    }

    fn send_beat(&mut self) {
        self.last_beat = self.controller.now();
        self.next_beat = self.last_beat + BEAT;
        let session = self.controller.session.clone();
        self.controller.send(ALL, &ToAgent::Beat { session });
    }

    /// Sends orders to those that have none, some at a time: with all of many, the answers would wait for each other.
    fn send_orders(&mut self) {
        let now = self.controller.now();
        let waits = |worker: &Worker| {
            let ordered = worker
                .ordered
                .map(|at| now.saturating_sub(at) < PIECE_TIMEOUT);
            !worker.has_order && ordered.unwrap_or(false)
        };
        let mut open = self.workers.iter().filter(|worker| waits(worker)).count();
        for worker in &mut self.workers {
            if open >= ORDERS_AT_ONCE {
                break;
            }
            if worker.has_order || worker.lost.is_some() || waits(worker) {
                continue;
            }
            open += 1;
            if worker.ordered.replace(now).is_none() {
                // Its time to answer begins here.
                worker.heard = now;
            }
            let _ = self.controller.connection.publish(
                &subject(&worker.name),
                Some(&self.controller.inbox),
                &worker.order,
            );
        }
    }

    fn take(&mut self, message: &Message) {
        let Ok((answer, bytes)) = read::<FromAgent>(&message.payload) else {
            return;
        };
        let (session, now) = (&self.controller.session, self.controller.now());
        match answer {
            FromAgent::State {
                agent,
                session: of,
                state,
                asks,
            } if of == *session => {
                // An agent that comes back waits for a sign of this controller. One that says where it is less often than that was
                // not away.
                let away = QUIET.max(beat_of(self.workers.len()) * 2);
                let is_back = self
                    .worker(&agent)
                    .is_some_and(|worker| now.saturating_sub(worker.heard) >= away);
                if is_back || asks {
                    // All of many may come back at once; each of them hears every beat.
                    self.next_beat = self.next_beat.min(self.last_beat + LOOK);
                }
                if let Some(worker) = self.worker(&agent) {
                    worker.heard = now;
                    worker.has_order = true;
                    // States only advance: a late message does not take one back.
                    if rank(&state) >= rank(&worker.state) {
                        worker.state = state;
                    }
                    if let AgentState::Done { bytes, .. } = worker.state
                        && bytes > LARGEST_RECORDING
                    {
                        worker.lost = Some("its recording is larger than 1 GiB".to_owned());
                    }
                }
            }
            FromAgent::Journal {
                agent,
                session: of,
                number,
            } if of == *session => {
                let fits = self.journal_bytes + bytes.len() <= LARGEST_JOURNAL;
                if let Some(worker) = self.worker(&agent) {
                    worker.heard = now;
                    if fits && worker.journal.insert(number, bytes.to_vec()).is_none() {
                        self.journal_bytes += bytes.len();
                    }
                }
            }
            FromAgent::Piece {
                agent,
                session: of,
                piece,
            } if of == *session => {
                if let Some(worker) = self.worker(&agent) {
                    worker.heard = now;
                    let AgentState::Done { bytes: all, .. } = worker.state else {
                        return;
                    };
                    let fits = worker.document.len() as u64 + bytes.len() as u64 <= all;
                    if piece == worker.received && fits {
                        worker.document.extend_from_slice(bytes);
                        worker.received += 1;
                    }
                }
                if let Some(place) = self.places.get(&agent).copied() {
                    self.request(place);
                }
            }
            _ => {}
        }
    }

    fn worker(&mut self, name: &str) -> Option<&mut Worker> {
        self.workers.get_mut(*self.places.get(name)?)
    }

    /// Round trips with some agents at once: with all of many, the answers would wait for each other.
    fn measure_clocks(&mut self, samples: impl Fn(&mut Worker) -> &mut Vec<ClockSample>) {
        let present: Vec<usize> = (0..self.workers.len())
            .filter(|place| self.workers[*place].lost.is_none())
            .collect();
        let rounds = if present.len() > MANY {
            FEWER_ROUNDS
        } else {
            ROUNDS
        };
        let mut number = 0;
        for places in present.chunks(AT_ONCE) {
            let mut places = places.to_vec();
            let begun = self.controller.now();
            for round in 0..rounds {
                let silent = self.round_trip(&places, &mut number, &samples);
                // One that is gone is not waited for in every round.
                if round > 0 {
                    places.retain(|place| !silent.contains(place));
                }
                // Further rounds over a slow network take long and show nothing new.
                if round >= LEAST_ROUNDS && self.controller.clock().elapsed(begun) > CLOCK_TIME {
                    break;
                }
            }
        }
    }

    /// One question to each of these places; returns those that did not answer.
    fn round_trip(
        &mut self,
        places: &[usize],
        number: &mut u64,
        samples: &impl Fn(&mut Worker) -> &mut Vec<ClockSample>,
    ) -> Vec<usize> {
        let clock = self.controller.clock();
        let mut sent: BTreeMap<u64, (usize, u64, u64)> = BTreeMap::new();
        for place in places {
            *number += 1;
            sent.insert(*number, (*place, clock.now_ns(), clock.wall_ns()));
            let name = subject(&self.workers[*place].name);
            self.controller
                .send(&name, &ToAgent::Ping { number: *number });
        }
        let begun = clock.now();
        while !sent.is_empty() && clock.elapsed(begun) < ROUND_TIMEOUT {
            if clock.now() >= self.next_beat {
                self.send_beat();
            }
            let Ok(Some(message)) = self.controller.next(Duration::from_millis(5)) else {
                continue;
            };
            let pong = read::<FromAgent>(&message.payload);
            let Ok((
                FromAgent::Pong {
                    number,
                    clock_ns,
                    wall_ns: wall,
                    ..
                },
                _,
            )) = pong
            else {
                self.take(&message);
                continue;
            };
            let Some((place, left, own_wall)) = sent.remove(&number) else {
                continue;
            };
            // The own wall clock in the middle of the round trip.
            let half = message.at.saturating_sub(left) / 2;
            let sample = ClockSample {
                sent: left,
                answered: message.at,
                agent: clock_ns,
                wall_difference: wall.wrapping_sub(own_wall + half) as i64,
            };
            samples(&mut self.workers[place]).push(sample);
        }
        self.listened = clock.now();
        sent.into_values().map(|(place, _, _)| place).collect()
    }

    fn stop(&mut self, reason: &str) {
        if self.stopped.is_none() {
            self.stopped = Some(reason.to_owned());
            self.send_stop();
        }
    }

    fn send_stop(&self) {
        if let Some(reason) = &self.stopped {
            let stop = ToAgent::Stop {
                session: self.controller.session.clone(),
                reason: reason.clone(),
            };
            self.controller.send(ALL, &stop);
        }
    }

    fn release(&self) {
        let session = self.controller.session.clone();
        self.controller.send(ALL, &ToAgent::Release { session });
    }

    /// When the load of a host began, after the planned instant; `None` without a result.
    fn late(&self, worker: &Worker) -> Option<i64> {
        let offset = Offset::of(&worker.before).or_else(|| Offset::of(&worker.after))?;
        match worker.state {
            AgentState::Done { epoch_ns, .. } if worker.lost.is_none() => {
                Some(offset.since(self.origin, epoch_ns))
            }
            _ => None,
        }
    }

    fn results(self) -> Vec<HostResult> {
        let origin = self.origin;
        let lates: Vec<Option<i64>> = self
            .workers
            .iter()
            .map(|worker| self.late(worker))
            .collect();
        // Without a planned instant: after the first host.
        let first = match origin {
            0 => lates.iter().flatten().copied().min().unwrap_or(0),
            _ => 0,
        };
        self.workers
            .into_iter()
            .zip(lates)
            .map(|(mut worker, late)| {
                let offset = Offset::of(&worker.before).unwrap_or_default();
                let after = Offset::of(&worker.after);
                let (document, epoch_late_ns) = match (worker.lost, worker.state) {
                    (Some(why), _) => (Err(why), 0),
                    (None, AgentState::Done { .. }) => {
                        let late = late.map_or(0, |late| late.saturating_sub(first));
                        (Ok(worker.document), late)
                    }
                    (None, AgentState::Failed { reason, .. }) => (Err(reason), 0),
                    (None, _) => (Err("it did not finish".to_owned()), 0),
                };
                let journal = match document {
                    // A gap ends what can be used.
                    Err(_) => (0..)
                        .map_while(|number| worker.journal.remove(&number))
                        .collect(),
                    Ok(_) => Vec::new(),
                };
                HostResult {
                    name: worker.name,
                    document,
                    journal,
                    epoch_late_ns,
                    late_bound_ns: offset.bound_at(origin, after.as_ref()),
                    wall_offset_ns: offset.wall_ns,
                }
            })
            .collect()
    }
}

/// The order of states.
fn rank(state: &AgentState) -> (u8, u32) {
    match state {
        AgentState::Preparing => (0, 0),
        AgentState::Ready => (1, 0),
        AgentState::Running { reached } => (2, *reached),
        AgentState::Done { .. } | AgentState::Failed { .. } => (3, 0),
    }
}
