//! `fathom durable record`: stores the acknowledgements of a writer on another host.

use std::fs::OpenOptions;
use std::io::{BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fathom_cli::DurableArgs;
use fathom_durable::RunId;
use fathom_durable::log::Entry;
use fathom_durable::wire::{
    LOG_PIECE, Message, Session, Token, WireError, decide, greeting, tls_greeting,
};
use fathom_tls::{Identity, Stream, fingerprint_text, self_signed};

use crate::durable::linux::{Linux, random};
use crate::durable::log_file::{LogFile, SharedLog};
use crate::durable::world::{How, Wire, World};
use crate::durable::{read_small, token};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line};

/// Connections at the same time.
const MAX_CONNECTIONS: usize = 16;
/// Time for the proof of the token.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without a message after which a writer is gone; it sends one every second.
const MAX_SILENCE_TIME: Duration = Duration::from_secs(30);
/// Time for the first byte of TLS.
const TLS_TIMEOUT: Duration = Duration::from_secs(3);
/// The name in a certificate of its own.
const CERTIFICATE_NAME: &str = "fathom-recorder";
/// Delay of the answer to a wrong token.
const WRONG_TOKEN_DELAY: Duration = Duration::from_millis(200);
/// How often the listener looks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Entries after which the log is synced although more are waiting.
const ENTRIES_PER_SYNC: u64 = 1024;

/// Runs until it is interrupted.
///
/// # Errors
/// When the log, the token or the address cannot be used.
pub fn record(args: &DurableArgs) -> Result<Outcome, String> {
    let (Some(log), Some(address), Some(token_file)) = (&args.path, &args.listen, &args.token_file)
    else {
        return Err("a file, --listen and --token-file are required".to_owned());
    };
    create_token(token_file)?;
    let token = token(token_file)?;
    let identity = args.tls.as_deref().map(identity).transpose()?;
    let world = Linux::world();
    let log = Arc::new(SharedLog::new(LogFile::open(world.files(), log)?));
    // Who sees the port open may interrupt at once.
    let interrupts = fathom_linux::interrupts();
    let listener = TcpListener::bind(address.as_str())
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let local = listener
        .local_addr()
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    listener
        .set_nonblocking(true)
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    note_line!(
        "fathom durable: listening on {local}; acknowledgements go to {}",
        log.with(&*world, |log| log.path().display().to_string())
    );
    if let Some(identity) = &identity {
        note_line!(
            "fathom durable: with TLS: --tls-fingerprint={}",
            fingerprint_text(&identity.fingerprint())
        );
    }
    let connections = Arc::new(AtomicUsize::new(0));
    while interrupts.load(Ordering::Relaxed) == 0 {
        match listener.accept() {
            Ok((stream, peer)) => {
                if connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
                    eprint_line!("fathom durable: {peer}: too many connections");
                    continue;
                }
                connections.fetch_add(1, Ordering::Relaxed);
                let (log, token, connections) = (log.clone(), token.clone(), connections.clone());
                let (identity, world) = (identity.clone(), Arc::clone(&world));
                std::thread::spawn(move || {
                    let served = accept(stream, identity.as_ref()).and_then(|stream| {
                        stream.map_or(Ok(()), |stream| {
                            serve(&*world, Box::new(stream), &token, &log)
                        })
                    });
                    if let Err(error) = served {
                        eprint_line!("fathom durable: {peer}: {error}");
                    }
                    connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(POLL_INTERVAL);
            }
            // The other side gave up, or there are too many open files: the next one may work.
            Err(error) => {
                eprint_line!("fathom durable: {error}");
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }
    log.with(&*world, LogFile::sync)?;
    Ok(Outcome::Good)
}

/// Creates a token if there is no file.
fn create_token(path: &Path) -> Result<(), String> {
    let created = create_secret(path, || {
        let text = random()?.map(|byte| format!("{byte:02x}")).concat();
        Ok(format!("{text}\n"))
    })?;
    if created {
        note_line!(
            "fathom durable: wrote a new token to {}; copy the file to the host with the disk",
            path.display()
        );
    }
    Ok(())
}

/// The certificate and key of a file, which is created if there is none.
fn identity(path: &Path) -> Result<Identity, String> {
    let created = create_secret(path, || {
        let made = self_signed(CERTIFICATE_NAME).map_err(|error| error.to_string())?;
        Ok(made.certificate + &made.key)
    })?;
    if created {
        note_line!(
            "fathom durable: wrote a new certificate and its key to {}",
            path.display()
        );
    }
    let text = read_small(path)?;
    Identity::new(&text, &text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Creates a file that only this user can read, if there is none; whether it did.
pub fn create_secret(
    path: &Path,
    content: impl FnOnce() -> Result<String, String>,
) -> Result<bool, String> {
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match created {
        Ok(mut file) => {
            file.write_all(content()?.as_bytes())
                .and_then(|()| file.sync_all())
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(format!("cannot create {}: {error}", path.display())),
    }
}

/// A new connection, with TLS if the recorder has an identity; nothing if the other side only probed the port.
fn accept(tcp: TcpStream, identity: Option<&Identity>) -> Result<Option<Stream>, WireError> {
    tcp.set_nonblocking(false)?;
    tcp.set_nodelay(true)?;
    tcp.set_write_timeout(Some(MAX_SILENCE_TIME))?;
    let Some(identity) = identity else {
        tcp.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
        return Ok(Some(Stream::plain(tcp)));
    };
    // With TLS the writer speaks first. One that waits for the greeting does not use TLS.
    tcp.set_read_timeout(Some(TLS_TIMEOUT))?;
    match tcp.peek(&mut [0]) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            (&tcp).write_all(&tls_greeting())?;
            let missing =
                "the other side does not use TLS: --tls-fingerprint or --tls-ca is missing there";
            return Err(WireError::Io(std::io::Error::other(missing)));
        }
        Err(error) => return Err(error.into()),
    }
    tcp.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    Stream::server(tcp, identity)
        .map(Some)
        .map_err(|error| WireError::Io(std::io::Error::other(error.to_string())))
}

/// One connection, from the proof of the token to its end.
///
/// # Errors
/// When the other side does not have the token, or breaks the protocol, and when the log cannot be stored.
pub fn serve(
    world: &dyn World,
    mut stream: Box<dyn Wire>,
    token: &Token,
    log: &SharedLog,
) -> Result<(), WireError> {
    let nonce = world.random().map_err(WireError::Invalid)?;
    stream.write_all(&greeting(&nonce))?;
    let (decision, session) = match decide(token, &nonce, &mut stream) {
        // A probe of the port.
        Err(WireError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
        decided => decided?,
    };
    let Some(session) = session else {
        world.sleep(WRONG_TOKEN_DELAY);
        stream.write_all(&decision)?;
        return Err(WireError::WrongToken);
    };
    stream.write_all(&decision)?;
    stream.set_read_timeout(Some(MAX_SILENCE_TIME))?;
    Connection {
        world,
        reader: BufReader::with_capacity(256 << 10, stream.copy()?),
        stream,
        session,
        log,
        own: None,
        acknowledged: 0,
        unconfirmed: 0,
    }
    .run()
}

/// Stores an entry of a connection that began the cycle `own`.
fn store(log: &mut LogFile, own: &mut Option<(RunId, u32)>, entry: Entry) -> Result<(), String> {
    let current = log.log().current.as_ref();
    let current = current.map(|current| {
        let geometry = &current.begin.geometry;
        (geometry.run, geometry.cycle)
    });
    match &entry {
        Entry::Begin(begin) => {
            let geometry = &begin.geometry;
            *own = Some((geometry.run, geometry.cycle));
            note_line!(
                "fathom durable: run {}, cycle {}: {}",
                geometry.run,
                geometry.cycle,
                geometry.method
            );
        }
        // A connection of an earlier cycle must not add to a later one.
        Entry::Acknowledged(_) | Entry::Stopped if *own != current => {
            return Err("another writer began a cycle".to_owned());
        }
        _ => {}
    }
    log.append(entry)
}

struct Connection<'a> {
    world: &'a dyn World,
    reader: BufReader<Box<dyn Wire>>,
    stream: Box<dyn Wire>,
    session: Session,
    log: &'a SharedLog,
    /// The cycle that this connection began.
    own: Option<(RunId, u32)>,
    /// Acknowledgements of this connection.
    acknowledged: u64,
    /// Entries that were appended and not yet confirmed.
    unconfirmed: u64,
}

impl Connection<'_> {
    fn run(mut self) -> Result<(), WireError> {
        loop {
            let message = match self.session.incoming.receive(&mut self.reader) {
                Ok(message) => message,
                Err(WireError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let done = match message {
                Message::Entry(entry) => self.entry(entry),
                Message::Fetch => self.send_log(),
                Message::Ping => self.confirm(),
                other => Err(format!("unexpected message {other:?}")),
            };
            if let Err(reason) = done {
                self.send(&Message::Refused(reason.clone()))?;
                return Err(WireError::Invalid(reason));
            }
        }
    }

    fn send(&mut self, message: &Message) -> Result<(), WireError> {
        let bytes = self.session.outgoing.seal(message);
        Ok(self.stream.write_all(&bytes)?)
    }

    fn entry(&mut self, entry: Entry) -> Result<(), String> {
        let count = match &entry {
            Entry::Acknowledged(all) => all.len() as u64,
            _ => 0,
        };
        let own = &mut self.own;
        self.log.with(self.world, |log| store(log, own, entry))?;
        self.acknowledged += count;
        self.unconfirmed += 1;
        // Everything that has arrived is stored with one sync.
        if self.reader.buffer().is_empty() || self.unconfirmed >= ENTRIES_PER_SYNC {
            self.confirm()?;
        }
        Ok(())
    }

    fn confirm(&mut self) -> Result<(), String> {
        self.log.with(self.world, LogFile::sync)?;
        self.unconfirmed = 0;
        self.send(&Message::Stored(self.acknowledged))
            .map_err(|error| error.to_string())
    }

    fn send_log(&mut self) -> Result<(), String> {
        // Not beyond what is there now.
        let (path, length) = self.log.with(self.world, |log| {
            log.sync()?;
            Ok::<_, String>((log.path().to_owned(), log.len()))
        })?;
        let how = How {
            read_only: true,
            ..How::default()
        };
        let fail = |error: std::io::Error| format!("cannot read the log: {error}");
        let file = self.world.files().open(&path, how).map_err(fail)?;
        let mut sent = 0;
        loop {
            let most = (length - sent).min(LOG_PIECE as u64);
            let piece = file.read_from(sent, most).map_err(fail)?;
            sent += piece.len() as u64;
            let is_last = piece.is_empty();
            self.send(&Message::Log(piece))
                .map_err(|error| error.to_string())?;
            if is_last {
                return Ok(());
            }
        }
    }
}
