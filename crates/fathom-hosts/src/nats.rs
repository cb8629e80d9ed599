//! A client of a NATS server: publish and subscribe over NATS' text protocol (docs.nats.io, "Client Protocol").
//!
//! The connection comes back by itself after the server was restarted; messages of the time in between are lost, as NATS
//! has it. Whoever needs an answer asks again.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fathom_tls::{Stream, Trust};
use serde_json::{Value, json};

use crate::HostsError;
use crate::nkey::Credentials;
use crate::time::{Clock, SystemClock, lock};
use crate::transport::{Event, Inbox, Message, Transport};

/// Time to connect, and for each step of it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The server is asked whether it is there after this time without a message, and given up after the second.
const IDLE: Duration = Duration::from_secs(5);
/// Between two attempts to connect again.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The longest line of the protocol.
const LONGEST_LINE: usize = 64 << 10;
/// The largest message that is accepted, above the limit of any sensible server.
const LARGEST_PAYLOAD: usize = 64 << 20;
/// Bytes of several messages in one write.
const AT_ONCE: usize = 64 << 10;
/// Port without one in the address.
const PORT: u16 = 4222;

/// Address of a server, with what it wants to know.
#[derive(Clone)]
pub struct Server {
    host: String,
    port: u16,
    user: Option<String>,
    password: Option<String>,
    credentials: Option<Credentials>,
    /// TLS, and which certificate is accepted.
    trust: Option<Trust>,
    wants_tls: bool,
}

impl Server {
    /// `nats://[USER:PASSWORD@]HOST[:PORT]`, `nats://TOKEN@HOST`, or the same with `tls://`.
    ///
    /// ```
    /// use fathom_hosts::nats::Server;
    ///
    /// assert_eq!(Server::parse("nats://10.0.0.1").expect("an address").to_string(), "nats://10.0.0.1:4222");
    /// assert_eq!(Server::parse("me:secret@[::1]:7000").expect("an address").to_string(), "nats://[::1]:7000");
    /// assert!(Server::parse("http://10.0.0.1").is_err());
    /// ```
    ///
    /// # Errors
    /// What is wrong, without the password.
    pub fn parse(url: &str) -> Result<Server, String> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("nats", url));
        let wants_tls = match scheme {
            "nats" => false,
            "tls" => true,
            _ => {
                return Err("the address of a NATS server begins with nats:// or tls://".to_owned());
            }
        };
        let (login, address) = match rest.rsplit_once('@') {
            Some((login, address)) => (Some(login), address),
            None => (None, rest),
        };
        let (user, password) = match login.map(|login| login.split_once(':')) {
            None => (None, None),
            Some(None) => (None, login.map(decoded)),
            Some(Some((user, password))) => (Some(decoded(user)), Some(decoded(password))),
        };
        let address = address.trim_end_matches('/');
        let (host, port) = host_and_port(address)
            .ok_or_else(|| format!("'{}' is not HOST or HOST:PORT", address.escape_debug()))?;
        Ok(Server {
            host,
            port,
            user,
            password,
            credentials: None,
            trust: None,
            wants_tls,
        })
    }

    /// The same with the credentials of a file: the seed of an nkey, and a JWT if the server wants one.
    ///
    /// # Errors
    /// When they are not valid.
    pub fn with_credentials(mut self, file: &str) -> Result<Server, String> {
        self.credentials = Some(Credentials::parse(file)?);
        Ok(self)
    }

    /// The same with TLS, accepting the certificate with this SHA-256 fingerprint.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn with_fingerprint(mut self, fingerprint: [u8; 32]) -> Result<Server, String> {
        self.trust = Some(Trust::new(fingerprint).map_err(|error| error.to_string())?);
        self.wants_tls = true;
        Ok(self)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({self})")
    }
}

/// Without its password.
impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.wants_tls { "tls" } else { "nats" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':'))
        }
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = port.map_or(Some(PORT), |port| port.parse().ok())?;
    (!host.is_empty() && !host.contains(char::is_whitespace)).then(|| (host.to_owned(), port))
}

/// Bytes written as `%40`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail
            .first_chunk::<2>()
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Client {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: Server,
    name: String,
    closed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stream: Option<Stream>,
    /// Subjects; the number of a subscription is its place, counted from 1.
    subjects: Vec<String>,
    max_payload: usize,
    has_jetstream: bool,
    /// The reading side of a connection that has taken the place of the one before.
    renewed: Option<Connection>,
}

impl State {
    /// Changes to this connection: it gets the subscriptions, and messages leave through it.
    fn change(&mut self, mut writer: Stream, info: ServerInfo) -> io::Result<()> {
        let all: String = self
            .subjects
            .iter()
            .zip(1..)
            .map(|(subject, number)| format!("SUB {subject} {number}\r\n"))
            .collect();
        writer.write_all(all.as_bytes())?;
        self.max_payload = info.max_payload;
        self.has_jetstream = info.has_jetstream;
        if let Some(old) = self.stream.replace(writer) {
            let _ = old.shut_down();
        }
        Ok(())
    }
}

impl Client {
    /// Connects; `inbox` receives what arrives. `name` is shown by the server's own tools.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses the login.
    pub fn connect(server: Server, name: &str, inbox: Arc<Inbox>) -> Result<Client, HostsError> {
        let fail = |reason: String| {
            HostsError::Server(format!(
                "cannot use the NATS server {server}: {reason}; start one with `nats-server`, or check --nats"
            ))
        };
        let (stream, connection) = open(&server, name, CONNECT_TIMEOUT).map_err(fail)?;
        let shared = Arc::new(Shared {
            server: server.clone(),
            name: name.to_owned(),
            closed: AtomicBool::new(false),
            state: Mutex::new(State {
                stream: Some(stream),
                subjects: Vec::new(),
                max_payload: connection.info.max_payload,
                has_jetstream: connection.info.has_jetstream,
                renewed: None,
            }),
        });
        let own = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("nats".to_owned())
            .spawn(move || read_all(&own, connection, &inbox))
            .map_err(|error| fail(error.to_string()))?;
        Ok(Client { shared })
    }
}

impl Transport for Client {
    /// When the connection is lost, the subscription is made when it is there again.
    fn subscribe(&self, subject: &str) -> io::Result<()> {
        check_subject(subject)?;
        let mut state = lock(&self.shared.state);
        state.subjects.push(subject.to_owned());
        let line = format!("SUB {subject} {}\r\n", state.subjects.len());
        send(&mut state, line.as_bytes())
    }

    fn publish_all(
        &self,
        reply: Option<&str>,
        messages: &mut dyn Iterator<Item = (String, Vec<u8>)>,
    ) -> io::Result<()> {
        reply.map_or(Ok(()), check_subject)?;
        let reply = reply.map_or(String::new(), |reply| format!("{reply} "));
        let max_payload = self.max_payload();
        let mut bytes = Vec::new();
        let mut checked = Ok(());
        for (subject, payload) in messages {
            checked = check_subject(&subject).and_then(|()| check_size(&payload, max_payload));
            if checked.is_err() {
                break;
            }
            bytes.extend_from_slice(
                format!("PUB {subject} {reply}{}\r\n", payload.len()).as_bytes(),
            );
            bytes.extend_from_slice(&payload);
            bytes.extend_from_slice(b"\r\n");
            if bytes.len() >= AT_ONCE {
                send(&mut lock(&self.shared.state), &bytes)?;
                bytes.clear();
            }
        }
        if !bytes.is_empty() {
            send(&mut lock(&self.shared.state), &bytes)?;
        }
        checked
    }

    /// Opens a second connection and changes to it: after a cut of a second, TCP is silent for up to a second more, because each
    /// repetition of lost data waits twice as long as the one before. If the server does not answer, nothing changes.
    fn renew(&self, patience: Duration) -> bool {
        let Ok((writer, connection)) = open(&self.shared.server, &self.shared.name, patience)
        else {
            return false;
        };
        let mut state = lock(&self.shared.state);
        if state.change(writer, connection.info).is_err() {
            return false;
        }
        state.renewed = Some(connection);
        true
    }

    /// As the server says (`jetstream` of its INFO).
    fn has_jetstream(&self) -> bool {
        lock(&self.shared.state).has_jetstream
    }

    fn max_payload(&self) -> usize {
        lock(&self.shared.state).max_payload
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.closed.store(true, Relaxed);
        if let Some(stream) = lock(&self.shared.state).stream.take() {
            // The thread that reads ends with the connection.
            let _ = stream.shut_down();
        }
    }
}

/// A subject comes from another host: one with a line end would be a command to the server.
fn check_subject(subject: &str) -> io::Result<()> {
    if subject.is_empty() || !subject.chars().all(|c| c.is_ascii_graphic()) {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "not a subject of NATS",
        ));
    }
    Ok(())
}

fn check_size(payload: &[u8], max_payload: usize) -> io::Result<()> {
    if payload.len() > max_payload {
        return Err(io::Error::other(format!(
            "a message of {} bytes is larger than the server allows (max_payload {max_payload})",
            payload.len()
        )));
    }
    Ok(())
}

/// Writes to the connection; one that fails is given up, so that the reading thread opens another one.
fn send(state: &mut State, bytes: &[u8]) -> io::Result<()> {
    let Some(stream) = &mut state.stream else {
        return Err(ErrorKind::NotConnected.into());
    };
    let sent = stream.write_all(bytes);
    if sent.is_err() {
        let _ = stream.shut_down();
        state.stream = None;
    }
    sent
}

/// The reading side of a connection.
#[derive(Debug)]
struct Connection {
    stream: Stream,
    buffer: Vec<u8>,
    info: ServerInfo,
}

/// What the server says about itself at the start of a connection.
#[derive(Clone, Copy, Debug)]
struct ServerInfo {
    max_payload: usize,
    has_jetstream: bool,
}

/// Connects and logs in: the side that writes, and the side that reads.
fn open(server: &Server, name: &str, patience: Duration) -> Result<(Stream, Connection), String> {
    let mut last = format!("no address of {}", server.host);
    let addresses = (server.host.as_str(), server.port)
        .to_socket_addrs()
        .map_err(|error| error.to_string())?;
    for address in addresses {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(tcp) => return log_in(server, tcp, name, patience),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

fn log_in(
    server: &Server,
    tcp: TcpStream,
    name: &str,
    patience: Duration,
) -> Result<(Stream, Connection), String> {
    let io = |error: io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            "it does not answer as a NATS server does".to_owned()
        }
        _ => error.to_string(),
    };
    tcp.set_nodelay(true)
        .and_then(|()| tcp.set_read_timeout(Some(patience)))
        .and_then(|()| tcp.set_write_timeout(Some(CONNECT_TIMEOUT)))
        .map_err(io)?;
    // The greeting is not encrypted: TLS begins after it.
    let greeting = greeting(&tcp).map_err(io)?;
    let info: Value = greeting
        .strip_prefix("INFO ")
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(|| "it does not answer as a NATS server does".to_owned())?;
    let needs_tls = info["tls_required"].as_bool() == Some(true);
    let offers_tls = needs_tls || info["tls_available"].as_bool() == Some(true);
    let mut stream = match &server.trust {
        Some(_) if !offers_tls => return Err("it has no TLS".to_owned()),
        Some(trust) => Stream::client(tcp, trust).map_err(|error| error.to_string())?,
        None if needs_tls || server.wants_tls => {
            return Err(
                "TLS needs --nats-fingerprint, the SHA-256 fingerprint of the server's certificate"
                    .to_owned(),
            );
        }
        None => Stream::plain(tcp),
    };
    let mut options = json!({
        "verbose": false, "pedantic": false, "tls_required": server.wants_tls, "name": name, "lang": "rust",
        "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "echo": false,
    });
    match (&server.user, &server.password) {
        (Some(user), password) => {
            options["user"] = user.as_str().into();
            options["pass"] = password.as_deref().unwrap_or("").into();
        }
        (None, Some(token)) => options["auth_token"] = token.as_str().into(),
        (None, None) => {}
    }
    if let Some(credentials) = &server.credentials {
        let nonce = info["nonce"].as_str().unwrap_or_default();
        for (field, value) in credentials.answer(nonce)? {
            options[field] = value.into();
        }
    }
    stream
        .write_all(format!("CONNECT {options}\r\nPING\r\n").as_bytes())
        .map_err(io)?;
    let writer = stream.try_clone().map_err(io)?;
    let mut connection = Connection {
        stream,
        buffer: Vec::new(),
        info: ServerInfo {
            max_payload: info["max_payload"]
                .as_u64()
                .map_or(1 << 20, |bytes| bytes as usize)
                .min(LARGEST_PAYLOAD),
            has_jetstream: info["jetstream"].as_bool() == Some(true),
        },
    };
    // The answer to PING comes when the login is accepted.
    let begun = Instant::now();
    loop {
        match connection.next().map_err(io)? {
            Some(Line::Pong) => break,
            Some(Line::Error(reason)) => return Err(reason),
            _ if begun.elapsed() > patience => {
                return Err("it does not answer as a NATS server does".to_owned());
            }
            _ => {}
        }
    }
    connection.stream.set_read_timeout(Some(IDLE)).map_err(io)?;
    Ok((writer, connection))
}

/// The first line, read byte by byte: what follows belongs to TLS.
fn greeting(mut tcp: &TcpStream) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        if tcp.read(&mut byte)? == 0 || line.len() > LONGEST_LINE {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// One line of the protocol, with the message that follows it.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Message(Message),
    Ping,
    Pong,
    Error(String),
    /// Anything else: `INFO` of a cluster, `+OK`.
    Other,
}

impl Connection {
    /// The next line; `None` after the read timeout.
    fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some((line, used)) = parse(&self.buffer)? {
                self.buffer.drain(..used);
                return Ok(Some(line));
            }
            let mut piece = [0; 16 << 10];
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.buffer.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The first line of `buffer` and its length with its message; `None` while it is not complete.
fn parse(buffer: &[u8]) -> io::Result<Option<(Line, usize)>> {
    let invalid = || io::Error::new(ErrorKind::InvalidData, "a line that NATS does not have");
    let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
        return if buffer.len() > LONGEST_LINE {
            Err(invalid())
        } else {
            Ok(None)
        };
    };
    let line = std::str::from_utf8(&buffer[..end])
        .map_err(|_| invalid())?
        .trim_end();
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let line = match verb.to_ascii_uppercase().as_str() {
        "MSG" => {
            let parts: Vec<&str> = rest.split_ascii_whitespace().collect();
            let (subject, reply, size) = match parts[..] {
                [subject, _, size] => (subject, None, size),
                [subject, _, reply, size] => (subject, Some(reply), size),
                _ => return Err(invalid()),
            };
            let size: usize = size
                .parse()
                .ok()
                .filter(|size| *size <= LARGEST_PAYLOAD)
                .ok_or_else(invalid)?;
            let from = end + 1;
            let Some(payload) = buffer.get(from..from + size + 2) else {
                return Ok(None);
            };
            let payload = payload.strip_suffix(b"\r\n").ok_or_else(invalid)?.to_vec();
            let message = Message {
                subject: subject.to_owned(),
                reply: reply.map(str::to_owned),
                payload,
                at: SystemClock.now().as_nanos() as u64,
            };
            return Ok(Some((Line::Message(message), from + size + 2)));
        }
        "PING" => Line::Ping,
        "PONG" => Line::Pong,
        "-ERR" => Line::Error(rest.trim_matches('\'').to_owned()),
        "INFO" | "+OK" => Line::Other,
        _ => return Err(invalid()),
    };
    Ok(Some((line, end + 1)))
}

/// Reads until the client is dropped, and connects again whenever the connection is lost.
fn read_all(shared: &Shared, mut connection: Connection, inbox: &Inbox) {
    loop {
        let reason = read_one(shared, &mut connection, inbox);
        let renewed = {
            let mut state = lock(&shared.state);
            let renewed = state.renewed.take();
            if renewed.is_none() {
                state.stream = None;
            }
            renewed
        };
        if let Some(renewed) = renewed
            && !shared.closed.load(Relaxed)
        {
            connection = renewed;
            continue;
        }
        if shared.closed.load(Relaxed) {
            return;
        }
        inbox.put(Event::Lost(reason));
        connection = loop {
            std::thread::sleep(RETRY_INTERVAL);
            if shared.closed.load(Relaxed) {
                return;
            }
            if let Some(renewed) = lock(&shared.state).renewed.take() {
                break renewed;
            }
            let Ok((writer, connection)) = open(&shared.server, &shared.name, CONNECT_TIMEOUT)
            else {
                continue;
            };
            let mut state = lock(&shared.state);
            if let Some(renewed) = state.renewed.take() {
                break renewed;
            }
            if state.change(writer, connection.info).is_ok() {
                break connection;
            }
        };
        inbox.put(Event::Back);
    }
}

/// Reads one connection to its end, and says why it ended.
fn read_one(shared: &Shared, connection: &mut Connection, inbox: &Inbox) -> String {
    let mut silent = false;
    loop {
        let line = match connection.next() {
            Ok(line) => line,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return "the server closed the connection".to_owned();
            }
            Err(error) => return error.to_string(),
        };
        let answer: &[u8] = match line {
            None if silent => return "the server does not answer".to_owned(),
            None => {
                silent = true;
                b"PING\r\n"
            }
            Some(line) => {
                silent = false;
                match line {
                    Line::Ping => b"PONG\r\n",
                    Line::Message(message) => {
                        inbox.put(Event::Message(message));
                        continue;
                    }
                    Line::Error(reason) => {
                        inbox.put(Event::Refused(reason));
                        continue;
                    }
                    Line::Pong | Line::Other => continue,
                }
            }
        };
        if let Err(error) = send(&mut lock(&shared.state), answer) {
            return error.to_string();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of docs.nats.io: PING, MSG with and without a reply subject, an empty payload.
    #[test]
    fn lines_of_the_protocol_are_read() {
        let one = |text: &str| parse(text.as_bytes()).expect(text).expect("complete");
        assert_eq!(one("PING\r\n"), (Line::Ping, 6));
        assert_eq!(
            one("-ERR 'Authorization Violation'\r\n").0,
            Line::Error("Authorization Violation".into())
        );
        let text = "MSG FOO.BAR 9 GREETING.34 11\r\nHello World\r\nPING\r\n";
        let (Line::Message(message), used) = one(text) else {
            panic!("no message");
        };
        assert_eq!(
            (message.subject.as_str(), message.reply.as_deref()),
            ("FOO.BAR", Some("GREETING.34"))
        );
        assert_eq!(
            (message.payload.as_slice(), &text[used..]),
            (&b"Hello World"[..], "PING\r\n")
        );
        let (Line::Message(empty), _) = one("MSG A 1 0\r\n\r\n") else {
            panic!("no message");
        };
        assert!(empty.payload.is_empty() && empty.reply.is_none());
    }

    #[test]
    fn an_incomplete_line_waits_and_a_wrong_one_is_an_error() {
        for text in ["", "PI", "MSG A 1 5\r\nHell", "MSG A 1 5\r\nHello\r"] {
            assert_eq!(parse(text.as_bytes()).expect(text), None, "{text}");
        }
        for text in [
            "HELLO\r\n",
            "MSG A\r\n",
            "MSG A 1 x\r\n",
            "MSG A 1 99999999999\r\n",
            "MSG A 1 1\r\nabc",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(&vec![b'x'; LONGEST_LINE + 1]).is_err());
    }

    #[test]
    fn the_address_never_shows_the_password() {
        let server = Server::parse("tls://me:se%40cret@h:1").expect("an address");
        assert_eq!(server.to_string(), "tls://h:1");
        assert_eq!(server.password.as_deref(), Some("se@cret"));
        let token = Server::parse("nats://token@h").expect("an address");
        assert_eq!(
            (token.user, token.password.as_deref(), token.port),
            (None, Some("token"), 4222)
        );
        for url in [
            "nats://",
            "nats://h:x",
            "ftp://h",
            "nats://[::1",
            "nats://a b",
        ] {
            assert!(Server::parse(url).is_err(), "{url}");
        }
    }
}
