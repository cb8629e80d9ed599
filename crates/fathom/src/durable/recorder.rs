//! The recorder as the writer and the checker see it: another host, or a file on another disk.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fathom_durable::log::{Begin, Entry, Log};
use fathom_durable::wire::{Channel, Message, Session, Token, WireError, answer};
use fathom_durable::{COMMITS_IN_FLIGHT, Fingerprint};
use fathom_hosts::Bell;
use fathom_tls::Trust;

use crate::durable::log_file::{self, LogFile};
use crate::durable::read_small;
use crate::durable::world::{Crew, Wire, World, lock};

/// Time without an answer after which the recorder is lost.
pub const MAX_SILENCE_TIME: Duration = Duration::from_secs(15);
/// A message is sent at least this often.
const PING_INTERVAL: Duration = Duration::from_secs(1);
/// Acknowledgements in one message.
const MAX_BATCH: usize = 4096;
/// The largest log that is fetched.
const LARGEST_LOG: usize = 8 << 30;

/// Where the recorder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PORT`.
    Host(String),
    /// A file on another disk of this machine.
    File(PathBuf),
}

impl Address {
    /// An address, or a path: only a path has a slash.
    pub fn new(text: &str) -> Address {
        if text.contains('/') {
            Address::File(text.into())
        } else {
            Address::Host(text.to_owned())
        }
    }
}

/// A recorder with the secret for it.
#[derive(Clone)]
pub struct Recorder {
    world: Arc<dyn World>,
    address: Address,
    token: Option<Token>,
    trust: Option<Trust>,
}

impl Recorder {
    /// The recorder at an address.
    ///
    /// # Errors
    /// When the token file, or the file of the authority, is missing or invalid.
    pub fn new(
        world: &Arc<dyn World>,
        address: &str,
        token_file: Option<&Path>,
        fingerprint: Option<Fingerprint>,
        authority: Option<&Path>,
    ) -> Result<Recorder, String> {
        let address = Address::new(address);
        let token = match (&address, token_file) {
            (Address::Host(_), Some(file)) => Some(super::token(file)?),
            (Address::Host(_), None) => {
                return Err("a recorder on another host needs --token-file=FILE".to_owned());
            }
            (Address::File(_), _) => None,
        };
        let trust = match (fingerprint, authority, &address) {
            (Some(fingerprint), _, _) => {
                Some(Trust::new(fingerprint.0).map_err(|error| error.to_string())?)
            }
            (None, Some(file), Address::Host(host)) => {
                let trust = Trust::authority(&read_small(file)?, name_of(host));
                Some(trust.map_err(|error| format!("--tls-ca={}: {error}", file.display()))?)
            }
            _ => None,
        };
        Ok(Recorder {
            world: Arc::clone(world),
            address,
            token,
            trust,
        })
    }

    /// The recorder at an address, which knows this token.
    pub fn with_token(world: &Arc<dyn World>, address: &str, token: Token) -> Recorder {
        Recorder {
            world: Arc::clone(world),
            address: Address::new(address),
            token: Some(token),
            trust: None,
        }
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Its log, and whether it is on another host.
    ///
    /// # Errors
    /// When it cannot be reached or its log cannot be read.
    pub fn fetch(&self) -> Result<(Log, bool), String> {
        match &self.address {
            Address::File(path) if !self.world.files().exists(path) => Ok((Log::default(), false)),
            Address::File(path) => Ok((log_file::read(self.world.files(), path)?, false)),
            Address::Host(host) => {
                let (mut stream, mut session) = self.connect(host)?;
                let second_host = stream.is_to_other_host();
                let fail = |error: WireError| format!("recorder {host}: {error}");
                let bytes = session.outgoing.seal(&Message::Fetch);
                stream.write_all(&bytes).map_err(|e| fail(e.into()))?;
                let mut all = Vec::new();
                loop {
                    match session.incoming.receive(&mut stream).map_err(fail)? {
                        Message::Log(piece) if piece.is_empty() => break,
                        Message::Log(piece) if all.len() + piece.len() <= LARGEST_LOG => {
                            all.extend(piece);
                        }
                        other => return Err(unexpected(host, &other)),
                    }
                }
                let log = Log::read(&all).map_err(|error| format!("recorder {host}: {error}"))?;
                Ok((log, second_host))
            }
        }
    }

    /// Stores one entry.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn store(&self, entry: Entry) -> Result<(), String> {
        match &self.address {
            Address::File(path) => {
                let mut log = LogFile::open(self.world.files(), path)?;
                log.append(entry)?;
                log.sync()
            }
            Address::Host(host) => {
                let (mut stream, mut session) = self.connect(host)?;
                send_entry(host, &mut *stream, &mut session, entry)
            }
        }
    }

    /// Begins a cycle: the returned link takes acknowledgements.
    ///
    /// # Errors
    /// When the recorder cannot be reached or refuses the cycle.
    pub fn begin(&self, begin: Begin) -> Result<Link, String> {
        let streams = begin.geometry.streams.len();
        let shared = Arc::new(Shared {
            world: Arc::clone(&self.world),
            state: Mutex::new(State {
                confirmed: vec![0; streams],
                ..State::default()
            }),
            changed: Arc::default(),
            requested: Arc::default(),
        });
        let entry = Entry::Begin(Box::new(begin));
        let crew = Crew::default();
        let world = &*self.world;
        match &self.address {
            Address::File(path) => {
                let mut log = LogFile::open(world.files(), path)?;
                log.append(entry)?;
                log.sync()?;
                let own = Arc::clone(&shared);
                crew.spawn(world, "acknowledge", move || store_in_file(log, &own))?;
            }
            Address::Host(host) => {
                let (mut stream, mut session) = self.connect(host)?;
                send_entry(host, &mut *stream, &mut session, entry)?;
                let Session { outgoing, incoming } = session;
                let reader = stream
                    .copy()
                    .map_err(|error| format!("recorder {host}: {error}"))?;
                let (own, name) = (Arc::clone(&shared), host.clone());
                crew.spawn(world, "acknowledge", move || {
                    send_to_host(stream, outgoing, &own, &name);
                })?;
                let (own, name) = (Arc::clone(&shared), host.clone());
                crew.spawn(world, "confirm", move || {
                    receive_from_host(reader, incoming, &own, &name);
                })?;
            }
        }
        Ok(Link { shared, crew })
    }

    fn connect(&self, host: &str) -> Result<(Box<dyn Wire>, Session), String> {
        let token = self.token.as_ref().ok_or("no token")?;
        let mut stream = self.world.connect(host, self.trust.as_ref())?;
        let mut run = || -> Result<Session, WireError> {
            let nonce = self.world.random().map_err(WireError::Invalid)?;
            let (bytes, pending) = answer(token, &nonce, &mut stream)?;
            stream.write_all(&bytes)?;
            pending.accept(&mut stream)
        };
        let session = run().map_err(|error| format!("recorder {host}: {error}"))?;
        Ok((stream, session))
    }
}

/// The name or address of `HOST:PORT`, `[ADDRESS]:PORT`.
fn name_of(host: &str) -> &str {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name)
}

fn unexpected(host: &str, message: &Message) -> String {
    match message {
        Message::Refused(reason) => format!("recorder {host}: {reason}"),
        _ => format!("recorder {host}: unexpected message"),
    }
}

fn send_entry(
    host: &str,
    stream: &mut dyn Wire,
    session: &mut Session,
    entry: Entry,
) -> Result<(), String> {
    let fail = |error: WireError| format!("recorder {host}: {error}");
    let bytes = session.outgoing.seal(&Message::Entry(entry));
    stream.write_all(&bytes).map_err(|e| fail(e.into()))?;
    match session.incoming.receive(&mut &mut *stream).map_err(fail)? {
        Message::Stored(_) => Ok(()),
        other => Err(unexpected(host, &other)),
    }
}

/// What a stream of the writer sends.
enum Request {
    Acknowledged(u16, u64),
    /// The writer ends, in an orderly way or not.
    End {
        is_orderly: bool,
    },
}

#[derive(Default)]
struct State {
    /// What the streams want to be sent.
    requests: VecDeque<Request>,
    /// For each stream, the number of commits that the recorder has stored.
    confirmed: Vec<u64>,
    /// Sent and not yet confirmed.
    sent: VecDeque<(u16, u64)>,
    /// Confirmed acknowledgements.
    count: u64,
    /// Why no more acknowledgements are taken.
    failure: Option<String>,
    /// The writer ended the cycle.
    stopping: bool,
    /// Nobody ended the cycle, and nobody will.
    abandoned: bool,
}

struct Shared {
    world: Arc<dyn World>,
    state: Mutex<State>,
    /// Acknowledgements were confirmed, or the recorder is lost.
    changed: Arc<Bell>,
    /// There are more requests.
    requested: Arc<Bell>,
}

/// What there is to send.
enum Next {
    /// A batch of acknowledgements; whether the cycle ends after them, and then whether in an orderly way.
    Batch(Vec<(u16, u64)>, Option<bool>),
    Nothing,
    Abandoned,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn fail(&self, reason: String) {
        self.lock().failure.get_or_insert(reason);
        self.changed.ring();
    }

    fn request(&self, request: Request) {
        self.lock().requests.push_back(request);
        self.requested.ring();
    }

    /// Waits for requests, at the latest until `at`.
    fn next(&self, at: Duration) -> Next {
        loop {
            let heard = self.requested.count();
            let mut state = self.lock();
            if !state.requests.is_empty() {
                let (batch, end) = next_batch(&mut state.requests);
                state.sent.extend(&batch);
                return Next::Batch(batch, end);
            }
            if state.abandoned {
                return Next::Abandoned;
            }
            drop(state);
            if self.world.now() >= at {
                return Next::Nothing;
            }
            self.world.clock().wait(&self.requested, heard, at);
        }
    }

    /// The first `count` acknowledgements are stored.
    fn confirm(&self, count: u64) {
        let mut state = self.lock();
        while state.count < count {
            let Some((stream, commit)) = state.sent.pop_front() else {
                break;
            };
            state.count += 1;
            let own = &mut state.confirmed[usize::from(stream)];
            *own = (*own).max(commit + 1);
        }
        drop(state);
        self.changed.ring();
    }
}

/// A running cycle of the recorder.
pub struct Link {
    shared: Arc<Shared>,
    crew: Crew,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.lock().abandoned = true;
        self.shared.requested.ring();
    }
}

/// The end of the link that one thread of the writer has.
#[derive(Clone)]
pub struct Sink {
    shared: Arc<Shared>,
}

impl Link {
    /// A sink for a thread.
    pub fn sink(&self) -> Sink {
        Sink {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Number of acknowledgements that the recorder has stored.
    pub fn stored(&self) -> u64 {
        self.shared.lock().count
    }

    /// Why the recorder is lost, if it is.
    pub fn failure(&self) -> Option<String> {
        self.shared.lock().failure.clone()
    }

    /// Makes all sinks refuse further acknowledgements.
    pub fn abort(&self, reason: &str) {
        self.shared.fail(reason.to_owned());
    }

    /// Ends the cycle. After an orderly end everything could reach the device, so that a later cut shows nothing.
    ///
    /// # Errors
    /// When the recorder is lost.
    pub fn end(self, is_orderly: bool) -> Result<(), String> {
        self.shared.request(Request::End { is_orderly });
        self.crew.join(&*self.shared.world);
        self.shared.lock().failure.take().map_or(Ok(()), Err)
    }
}

impl Sink {
    /// Sends an acknowledgement. Waits while too many are not confirmed.
    ///
    /// # Errors
    /// When the recorder is lost: the commit counts as not acknowledged.
    pub fn acknowledge(&self, stream: u16, commit: u64) -> Result<(), String> {
        self.shared.request(Request::Acknowledged(stream, commit));
        self.wait_confirmed(stream, (commit + 1).saturating_sub(COMMITS_IN_FLIGHT))
    }

    /// Waits until the recorder has stored the first `commits` commits of a stream.
    ///
    /// # Errors
    /// When the recorder is lost.
    pub fn wait_confirmed(&self, stream: u16, commits: u64) -> Result<(), String> {
        let Shared { world, changed, .. } = &*self.shared;
        loop {
            let heard = changed.count();
            let state = self.shared.lock();
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.confirmed[usize::from(stream)] >= commits {
                return Ok(());
            }
            drop(state);
            world.clock().wait(changed, heard, Duration::MAX);
        }
    }
}

/// Acknowledgements that wait; whether the cycle ends after them, and then whether in an orderly way.
fn next_batch(requests: &mut VecDeque<Request>) -> (Vec<(u16, u64)>, Option<bool>) {
    let mut batch = Vec::new();
    while batch.len() < MAX_BATCH
        && let Some(request) = requests.pop_front()
    {
        match request {
            Request::Acknowledged(stream, commit) => batch.push((stream, commit)),
            Request::End { is_orderly } => return (batch, Some(is_orderly)),
        }
    }
    (batch, None)
}

fn store_in_file(mut log: LogFile, shared: &Shared) {
    let mut count = 0;
    while let Next::Batch(batch, end) = shared.next(Duration::MAX) {
        count += batch.len() as u64;
        let mut done = Ok(());
        if !batch.is_empty() {
            done = log.append(Entry::Acknowledged(batch));
        }
        if end == Some(true) && done.is_ok() {
            done = log.append(Entry::Stopped);
        }
        match done.and_then(|()| log.sync()) {
            Ok(()) => shared.confirm(count),
            Err(error) => return shared.fail(error),
        }
        if end.is_some() {
            return;
        }
    }
}

fn send_to_host(mut stream: Box<dyn Wire>, mut channel: Channel, shared: &Shared, host: &str) {
    let world = &*shared.world;
    let mut last_ping = world.now();
    loop {
        let (mut messages, mut is_last) = (Vec::new(), false);
        match shared.next(world.now() + PING_INTERVAL) {
            Next::Batch(batch, end) => {
                is_last = end.is_some();
                if !batch.is_empty() {
                    messages.push(Message::Entry(Entry::Acknowledged(batch)));
                }
                shared.lock().stopping |= is_last;
                if end == Some(true) {
                    messages.push(Message::Entry(Entry::Stopped));
                }
            }
            Next::Nothing => {}
            Next::Abandoned => return,
        }
        if world.elapsed(last_ping) >= PING_INTERVAL {
            last_ping = world.now();
            messages.push(Message::Ping);
        }
        for message in messages {
            let bytes = channel.seal(&message);
            if let Err(error) = stream.write_all(&bytes) {
                return shared.fail(format!("lost the recorder {host}: {error}"));
            }
        }
        if is_last {
            // The recorder confirms what it has and closes.
            let _ = stream.finish();
            return;
        }
    }
}

fn receive_from_host(mut stream: Box<dyn Wire>, mut channel: Channel, shared: &Shared, host: &str) {
    loop {
        match channel.receive(&mut stream) {
            Ok(Message::Stored(count)) => shared.confirm(count),
            Ok(other) => return shared.fail(unexpected(host, &other)),
            Err(WireError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                let state = shared.lock();
                if state.stopping && state.sent.is_empty() {
                    return;
                }
                drop(state);
                return shared.fail(format!(
                    "lost the recorder {host}: it closed the connection"
                ));
            }
            Err(error) => return shared.fail(format!("lost the recorder {host}: {error}")),
        }
    }
}
