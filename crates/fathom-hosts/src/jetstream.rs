//! A stream of JetStream, the part of a NATS server that keeps messages, for what the hosts record while the load runs. It has what a
//! host recorded also when the controller was killed, or messages were lost while the server was restarted
//! (docs.nats.io, "JetStream wire API reference").

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use crate::protocol::journal_subject;
use crate::transport::Message;

/// Name of the stream. All runs on a server share it.
pub const STREAM: &str = "fathom-journal";
/// What runs left behind is removed after this time.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// The most that the stream keeps; then the oldest parts go.
const LARGEST_STREAM: u64 = 256 << 20;
/// The error of a server that has the stream with other limits, which is as good.
const OTHER_LIMITS: u64 = 10058;
/// A part that is not acknowledged is sent again after this time.
const RESEND_AFTER: Duration = Duration::from_secs(1);
/// Parts that are sent again at once.
const AT_ONCE: usize = 64;
/// The most that an agent keeps of parts that are not acknowledged. What comes after them is sent once.
const LARGEST_UNACKNOWLEDGED: usize = 16 << 20;

/// A request to the server: its subject and its content.
pub(crate) type Request = (String, Value);

/// Makes the stream, if it does not exist.
pub(crate) fn create_stream() -> Request {
    let config = json!({
        "name": STREAM, "subjects": ["fathom.journal.>"], "retention": "limits", "discard": "old",
        "storage": "file", "num_replicas": 1, "max_age": KEPT.as_nanos() as u64, "max_bytes": LARGEST_STREAM,
    });
    (format!("$JS.API.STREAM.CREATE.{STREAM}"), config)
}

/// Whether the stream is there, by the answer to [`create_stream`].
pub(crate) fn is_created(answer: &Value) -> bool {
    match &answer["error"] {
        Value::Null => answer["config"]["name"] == STREAM,
        error => error["err_code"] == OTHER_LIMITS,
    }
}

/// Delivers to `inbox` what an agent sent in a run. The answer has its name and the number of messages ([`replayed`]).
pub(crate) fn replay(session: &str, agent: &str, inbox: &str) -> Request {
    let config = json!({
        "deliver_subject": inbox, "filter_subject": journal_subject(session, agent), "deliver_policy": "all",
        "ack_policy": "none", "replay_policy": "instant", "mem_storage": true,
        "inactive_threshold": Duration::from_secs(10).as_nanos() as u64,
    });
    (
        format!("$JS.API.CONSUMER.CREATE.{STREAM}"),
        json!({"stream_name": STREAM, "config": config}),
    )
}

/// The name of a consumer and how many messages it delivers; `None` where the server has none of this run.
pub(crate) fn replayed(answer: &Value) -> Option<(String, u64)> {
    let waiting = answer["num_pending"].as_u64()?;
    let delivered = answer["delivered"]["consumer_seq"].as_u64().unwrap_or(0);
    Some((answer["name"].as_str()?.to_owned(), waiting + delivered))
}

/// Ends a consumer.
pub(crate) fn end_replay(consumer: &str) -> Request {
    (
        format!("$JS.API.CONSUMER.DELETE.{STREAM}.{consumer}"),
        Value::Null,
    )
}

/// Removes what the agents sent in a run.
pub(crate) fn purge(session: &str) -> Request {
    (
        format!("$JS.API.STREAM.PURGE.{STREAM}"),
        json!({"filter": journal_subject(session, ">")}),
    )
}

/// Where the acknowledgements of an agent arrive. `instance` is random.
pub(crate) fn acknowledgements(instance: &str) -> String {
    format!("_INBOX.fathom.kept.{instance}.>")
}

/// The answer of the server to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub session: String,
    pub number: u64,
    /// Why the part is not kept.
    pub refused: Option<String>,
}

impl Acknowledgement {
    /// Its subject.
    pub(crate) fn subject(instance: &str, session: &str, number: u64) -> String {
        format!("_INBOX.fathom.kept.{instance}.{session}.{number}")
    }

    /// `None` for another message.
    pub(crate) fn of(message: &Message, instance: &str) -> Option<Acknowledgement> {
        let rest = message.subject.strip_prefix("_INBOX.fathom.kept.")?;
        let (session, number) = rest
            .strip_prefix(instance)?
            .strip_prefix('.')?
            .split_once('.')?;
        let answer: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
        let refused = match (&answer["error"], answer["seq"].as_u64()) {
            (Value::Null, Some(_)) => None,
            (Value::Null, None) => Some("its answer has no sequence number".to_owned()),
            (error, _) => Some(
                error["description"]
                    .as_str()
                    .unwrap_or("no reason given")
                    .to_owned(),
            ),
        };
        Some(Acknowledgement {
            session: session.to_owned(),
            number: number.parse().ok()?,
            refused,
        })
    }
}

/// The parts of the last run that the stream has not acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Unacknowledged {
    session: String,
    parts: BTreeMap<u64, Vec<u8>>,
    /// Numbers with the time at which they were sent, oldest first.
    sent: VecDeque<(Duration, u64)>,
    bytes: usize,
    is_refused: bool,
}

impl Unacknowledged {
    /// Adds a part that is sent `now`. The first of another run takes the place of what is left of the run before.
    pub(crate) fn add(&mut self, session: &str, number: u64, text: &[u8], now: Duration) {
        if self.session != session {
            *self = Unacknowledged {
                session: session.to_owned(),
                ..Unacknowledged::default()
            };
        }
        if self.bytes + text.len() > LARGEST_UNACKNOWLEDGED {
            return;
        }
        if self.parts.insert(number, text.to_vec()).is_none() {
            self.bytes += text.len();
            self.sent.push_back((now, number));
        }
    }

    pub(crate) fn remove(&mut self, session: &str, number: u64) {
        if self.session == session
            && let Some(part) = self.parts.remove(&number)
        {
            self.bytes -= part.len();
        }
    }

    /// The run has its result.
    pub(crate) fn forget(&mut self, session: &str) {
        if self.session == session {
            *self = Unacknowledged::default();
        }
    }

    /// Parts that must be sent again `now`: run, number and message.
    pub(crate) fn due(&mut self, now: Duration) -> Vec<(String, u64, Vec<u8>)> {
        let mut due = Vec::new();
        while due.len() < AT_ONCE
            && let Some((at, number)) = self.sent.front().copied()
        {
            let part = self.parts.get(&number);
            if part.is_some() && now.saturating_sub(at) < RESEND_AFTER {
                break;
            }
            self.sent.pop_front();
            if let Some(part) = part {
                due.push((self.session.clone(), number, part.clone()));
                self.sent.push_back((now, number));
            }
        }
        due
    }

    /// Whether the server refuses a part of this run for the first time.
    pub(crate) fn is_first_refusal(&mut self) -> bool {
        !std::mem::replace(&mut self.is_refused, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(subject: &str, payload: &str) -> Message {
        Message {
            subject: subject.to_owned(),
            reply: None,
            payload: payload.as_bytes().to_vec(),
            at: 0,
        }
    }

    /// The examples of docs.nats.io: a PubAck, and an error of the server.
    #[test]
    fn an_acknowledgement_names_the_part() {
        let subject = Acknowledgement::subject("i1", "s1", 7);
        let kept = Acknowledgement::of(&message(&subject, r#"{"stream":"a","seq":41}"#), "i1");
        let kept = kept.expect("an acknowledgement");
        assert_eq!(
            (kept.session.as_str(), kept.number, kept.refused),
            ("s1", 7, None)
        );
        let text =
            r#"{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"}}"#;
        let refused = Acknowledgement::of(&message(&subject, text), "i1").expect("an answer");
        assert_eq!(
            refused.refused.as_deref(),
            Some("maximum messages exceeded")
        );
        assert_eq!(Acknowledgement::of(&message(&subject, "{}"), "i2"), None);
        assert_eq!(
            Acknowledgement::of(&message("fathom.all", "{}"), "i1"),
            None
        );
    }

    #[test]
    fn the_answers_of_the_server_are_read() {
        let made = json!({"type": "io.nats.jetstream.api.v1.stream_create_response", "config": {"name": STREAM}});
        assert!(is_created(&made));
        let other = json!({"error": {"code": 500, "err_code": 10058, "description": "stream name already in use"}});
        assert!(is_created(&other));
        let denied = json!({"error": {"code": 503, "err_code": 10039, "description": "JetStream not enabled for account"}});
        assert!(!is_created(&denied) && !is_created(&json!({})));
        let consumer = json!({"name": "c", "num_pending": 3, "delivered": {"consumer_seq": 2}});
        assert_eq!(replayed(&consumer), Some(("c".to_owned(), 5)));
        assert_eq!(replayed(&denied), None);
    }

    /// A part is due once each second until it is acknowledged; another run takes the place of all.
    #[test]
    fn a_part_is_sent_until_it_is_acknowledged() {
        let mut parts = Unacknowledged::default();
        let second = Duration::from_secs;
        let due = |parts: &mut Unacknowledged, now: Duration| -> Vec<u64> {
            let due = parts.due(now).into_iter();
            due.map(|(_, number, _)| number).collect()
        };
        for number in 0..3 {
            parts.add("s", number, b"part", second(5));
        }
        let nothing: [u64; 0] = [];
        assert_eq!(
            due(&mut parts, second(6) - Duration::from_nanos(1)),
            nothing
        );
        parts.remove("s", 1);
        parts.remove("other", 0);
        assert_eq!(due(&mut parts, second(6)), [0, 2]);
        assert_eq!((due(&mut parts, second(6)), parts.bytes), (vec![], 8));
        assert_eq!(due(&mut parts, second(7)), [0, 2]);
        parts.add("t", 9, b"x", second(8));
        assert_eq!((parts.bytes, parts.parts.len()), (1, 1));
        parts.add("t", 10, &vec![0; LARGEST_UNACKNOWLEDGED], second(8));
        assert_eq!(parts.parts.len(), 1);
        parts.forget("t");
        assert_eq!(parts.bytes, 0);
    }
}
