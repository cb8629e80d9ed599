//! What carries messages: a NATS server, or a simulated network.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::HostsError;
use crate::nats::{Client, Server};
use crate::time::{Bell, Clock, SystemClock, lock};

/// A received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The subject to which it was sent.
    pub subject: String,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// The bytes of the message.
    pub payload: Vec<u8>,
    /// When it arrived, by the clock of the receiver, nanoseconds.
    pub at: u64,
}

/// What a connection delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message.
    Message(Message),
    /// The connection is lost, and why; it is opened again.
    Lost(String),
    /// It is there again.
    Back,
    /// The server refused something.
    Refused(String),
}

/// One end of what carries messages.
pub(crate) trait Transport: Debug + Send + Sync {
    /// Delivers messages of this subject from now on. One that ends with `.>` means all that begin so.
    fn subscribe(&self, subject: &str) -> io::Result<()>;

    /// Sends messages, each with its subject.
    fn publish_all(
        &self,
        reply: Option<&str>,
        messages: &mut dyn Iterator<Item = (String, Vec<u8>)>,
    ) -> io::Result<()>;

    /// The largest message.
    fn max_payload(&self) -> usize;

    /// Whether streams are kept.
    fn has_jetstream(&self) -> bool {
        false
    }

    /// Takes another way where the present one has delivered nothing for too long. Whether there is one within `patience`.
    fn renew(&self, _patience: Duration) -> bool {
        false
    }
}

/// What has arrived.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    events: Mutex<VecDeque<Event>>,
    arrived: Arc<Bell>,
}

impl Inbox {
    pub fn put(&self, event: Event) {
        lock(&self.events).push_back(event);
        self.arrived.ring();
    }

    fn take(&self) -> Option<Event> {
        lock(&self.events).pop_front()
    }
}

/// A connection to what carries messages, with the clock of its side. Copies share it; it ends with the last of them.
#[derive(Clone, Debug)]
pub struct Connection {
    transport: Arc<dyn Transport>,
    inbox: Arc<Inbox>,
    clock: Arc<dyn Clock>,
}

impl Connection {
    pub(crate) fn new(
        transport: Arc<dyn Transport>,
        inbox: Arc<Inbox>,
        clock: Arc<dyn Clock>,
    ) -> Connection {
        Connection {
            transport,
            inbox,
            clock,
        }
    }

    /// Connects to a server. `name` is shown by the server's own tools.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses the login.
    pub fn to_server(server: Server, name: &str) -> Result<Connection, HostsError> {
        let inbox = Arc::new(Inbox::default());
        let client = Client::connect(server, name, Arc::clone(&inbox))?;
        let transport = Arc::new(client);
        Ok(Connection::new(transport, inbox, Arc::new(SystemClock)))
    }

    /// The clock of this side.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// The next event, if one comes until `at`.
    #[must_use]
    pub fn receive(&self, at: Duration) -> Option<Event> {
        loop {
            let heard = self.inbox.arrived.count();
            let event = self.inbox.take();
            if event.is_some() || self.clock.now() >= at {
                return event;
            }
            self.clock.wait(&self.inbox.arrived, heard, at);
        }
    }

    /// Delivers messages of this subject from now on.
    ///
    /// # Errors
    /// When the connection is lost; the subscription is made when it is there again.
    pub fn subscribe(&self, subject: &str) -> io::Result<()> {
        self.transport.subscribe(subject)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the connection is lost at present, or the message is too large.
    pub fn publish(&self, subject: &str, reply: Option<&str>, payload: &[u8]) -> io::Result<()> {
        let message = (subject.to_owned(), payload.to_vec());
        self.publish_all(reply, std::iter::once(message))
    }

    /// Sends messages with as few writes as possible: each write of one alone would wake a server.
    ///
    /// # Errors
    /// As [`Connection::publish`]; the messages before were sent.
    pub fn publish_all(
        &self,
        reply: Option<&str>,
        mut messages: impl Iterator<Item = (String, Vec<u8>)>,
    ) -> io::Result<()> {
        self.transport.publish_all(reply, &mut messages)
    }

    pub(crate) fn max_payload(&self) -> usize {
        self.transport.max_payload()
    }

    pub(crate) fn has_jetstream(&self) -> bool {
        self.transport.has_jetstream()
    }

    pub(crate) fn renew(&self, patience: Duration) -> bool {
        self.transport.renew(patience)
    }
}
