//! The recorder as the writer and the checker see it: another host, or a file on another disk.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_durable::log::{Begin, Entry, Log};
use fathom_durable::wire::{Channel, Message, Session, Token, WireError, answer};
use fathom_durable::{COMMITS_IN_FLIGHT, Fingerprint};
use fathom_tls::{Stream, Trust};

use crate::durable::log_file::{self, LogFile};
use crate::durable::{random, read_small};

/// Time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without an answer after which the recorder is lost.
const SILENCE: Duration = Duration::from_secs(15);
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
#[derive(Clone, Debug)]
pub struct Recorder {
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
            address,
            token,
            trust,
        })
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
            Address::File(path) if !path.exists() => Ok((Log::default(), false)),
            Address::File(path) => Ok((log_file::read(path)?, false)),
            Address::Host(host) => {
                let (mut stream, mut session) = self.connect(host)?;
                let second_host = is_other_host(&stream);
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
                let mut log = LogFile::open(path)?;
                log.append(entry)?;
                log.sync()
            }
            Address::Host(host) => {
                let (mut stream, mut session) = self.connect(host)?;
                send_entry(host, &mut stream, &mut session, entry)
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
            state: Mutex::new(State {
                confirmed: vec![0; streams],
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        let (sender, receiver) = channel();
        let entry = Entry::Begin(Box::new(begin));
        let mut threads = Vec::new();
        match &self.address {
            Address::File(path) => {
                let mut log = LogFile::open(path)?;
                log.append(entry)?;
                log.sync()?;
                let shared = shared.clone();
                threads.push(std::thread::spawn(move || {
                    store_in_file(log, &receiver, &shared);
                }));
            }
            Address::Host(host) => {
                let (mut stream, mut session) = self.connect(host)?;
                send_entry(host, &mut stream, &mut session, entry)?;
                let Session { outgoing, incoming } = session;
                let reader = stream
                    .try_clone()
                    .map_err(|error| format!("recorder {host}: {error}"))?;
                let (own, name) = (shared.clone(), host.clone());
                threads.push(std::thread::spawn(move || {
                    send_to_host(stream, outgoing, &receiver, &own, &name);
                }));
                let (own, name) = (shared.clone(), host.clone());
                threads.push(std::thread::spawn(move || {
                    receive_from_host(reader, incoming, &own, &name);
                }));
            }
        }
        Ok(Link {
            sender,
            shared,
            threads,
        })
    }

    fn connect(&self, host: &str) -> Result<(Stream, Session), String> {
        let fail = |error: &dyn std::fmt::Display| {
            format!(
                "cannot reach the recorder {host}: {error}; start `fathom durable record` there and check the address"
            )
        };
        let token = self.token.as_ref().ok_or("no token")?;
        let addresses = host.to_socket_addrs().map_err(|error| fail(&error))?;
        let mut last = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => return self.authenticate(stream, token, host),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or_else(|| fail(&"no address"), |error| fail(&error)))
    }

    fn authenticate(
        &self,
        tcp: TcpStream,
        token: &Token,
        host: &str,
    ) -> Result<(Stream, Session), String> {
        let fail = |error: &dyn std::fmt::Display| format!("recorder {host}: {error}");
        tcp.set_nodelay(true)
            .and_then(|()| tcp.set_read_timeout(Some(SILENCE)))
            .and_then(|()| tcp.set_write_timeout(Some(SILENCE)))
            .map_err(|error| fail(&error))?;
        let mut stream = match &self.trust {
            Some(trust) => Stream::client(tcp, trust).map_err(|error| {
                if trust.has_name() {
                    format!("recorder {host}: {error}; compare --tls-ca and the name in --recorder with its certificate")
                } else {
                    format!(
                        "recorder {host}: {error}; compare --tls-fingerprint with what `fathom durable record --tls` printed"
                    )
                }
            })?,
            None => Stream::plain(tcp),
        };
        let mut run = || -> Result<Session, WireError> {
            let nonce = random().map_err(WireError::Invalid)?;
            let (bytes, pending) = answer(token, &nonce, &mut stream)?;
            stream.write_all(&bytes)?;
            pending.accept(&mut stream)
        };
        let session = run().map_err(|error| fail(&error))?;
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

/// Whether the peer has another address than this machine has towards it.
fn is_other_host(stream: &Stream) -> bool {
    stream
        .addresses()
        .is_ok_and(|(local, peer)| peer.ip() != local.ip())
}

fn unexpected(host: &str, message: &Message) -> String {
    match message {
        Message::Refused(reason) => format!("recorder {host}: {reason}"),
        _ => format!("recorder {host}: unexpected message"),
    }
}

fn send_entry(
    host: &str,
    stream: &mut Stream,
    session: &mut Session,
    entry: Entry,
) -> Result<(), String> {
    let fail = |error: WireError| format!("recorder {host}: {error}");
    let bytes = session.outgoing.seal(&Message::Entry(entry));
    stream.write_all(&bytes).map_err(|e| fail(e.into()))?;
    match session.incoming.receive(stream).map_err(fail)? {
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
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, reason: String) {
        self.lock().failure.get_or_insert(reason);
        self.changed.notify_all();
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
        self.changed.notify_all();
    }
}

/// A running cycle of the recorder.
pub struct Link {
    sender: Sender<Request>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The end of the link that one thread of the writer has.
#[derive(Clone)]
pub struct Sink {
    sender: Sender<Request>,
    shared: Arc<Shared>,
}

impl Link {
    /// A sink for a thread.
    pub fn sink(&self) -> Sink {
        Sink {
            sender: self.sender.clone(),
            shared: self.shared.clone(),
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
        // The thread is gone only after a failure, which is reported below.
        let _ = self.sender.send(Request::End { is_orderly });
        for thread in self.threads {
            let _ = thread.join();
        }
        self.shared.lock().failure.take().map_or(Ok(()), Err)
    }
}

impl Sink {
    /// Sends an acknowledgement. Waits while too many are not confirmed.
    ///
    /// # Errors
    /// When the recorder is lost: the commit counts as not acknowledged.
    pub fn acknowledge(&self, stream: u16, commit: u64) -> Result<(), String> {
        let lost = || {
            self.failure()
                .unwrap_or_else(|| "the recorder is lost".to_owned())
        };
        self.sender
            .send(Request::Acknowledged(stream, commit))
            .map_err(|_| lost())?;
        self.wait_confirmed(stream, (commit + 1).saturating_sub(COMMITS_IN_FLIGHT))
    }

    /// Waits until the recorder has stored the first `commits` commits of a stream.
    ///
    /// # Errors
    /// When the recorder is lost.
    pub fn wait_confirmed(&self, stream: u16, commits: u64) -> Result<(), String> {
        let mut state = self.shared.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.confirmed[usize::from(stream)] >= commits {
                return Ok(());
            }
            state = self
                .shared
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn failure(&self) -> Option<String> {
        self.shared.lock().failure.clone()
    }
}

/// Acknowledgements that wait; whether the cycle ends after them, and then whether in an orderly way.
fn next_batch(receiver: &Receiver<Request>, first: Request) -> (Vec<(u16, u64)>, Option<bool>) {
    let mut batch = Vec::new();
    let mut request = Some(first);
    while let Some(one) = request {
        match one {
            Request::Acknowledged(stream, commit) => batch.push((stream, commit)),
            Request::End { is_orderly } => return (batch, Some(is_orderly)),
        }
        if batch.len() == MAX_BATCH {
            break;
        }
        request = receiver.try_recv().ok();
    }
    (batch, None)
}

fn store_in_file(mut log: LogFile, receiver: &Receiver<Request>, shared: &Shared) {
    let mut count = 0;
    while let Ok(first) = receiver.recv() {
        let (batch, end) = next_batch(receiver, first);
        count += batch.len() as u64;
        let mut done = Ok(());
        if !batch.is_empty() {
            shared.lock().sent.extend(&batch);
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

fn send_to_host(
    mut stream: Stream,
    mut channel: Channel,
    receiver: &Receiver<Request>,
    shared: &Shared,
    host: &str,
) {
    let mut last_ping = Instant::now();
    loop {
        let (mut messages, mut is_last) = (Vec::new(), false);
        match receiver.recv_timeout(PING_INTERVAL) {
            Ok(first) => {
                let (batch, end) = next_batch(receiver, first);
                is_last = end.is_some();
                if !batch.is_empty() {
                    shared.lock().sent.extend(&batch);
                    messages.push(Message::Entry(Entry::Acknowledged(batch)));
                }
                shared.lock().stopping |= is_last;
                if end == Some(true) {
                    messages.push(Message::Entry(Entry::Stopped));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // No sink is left, and nobody ended the cycle.
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if last_ping.elapsed() >= PING_INTERVAL {
            last_ping = Instant::now();
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

fn receive_from_host(mut stream: Stream, mut channel: Channel, shared: &Shared, host: &str) {
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
