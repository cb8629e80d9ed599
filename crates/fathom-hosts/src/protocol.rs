//! The messages of controller and agents: JSON documents, and pieces of recordings as bytes after one.
//!
//! | subject | from, to | message |
//! | --- | --- | --- |
//! | `fathom.all` | controller, every agent | [`ToAgent::Who`], [`ToAgent::Beat`], [`ToAgent::Stop`], [`ToAgent::Release`] |
//! | `fathom.agent.NAME` | controller, one agent | [`ToAgent::Prepare`], [`ToAgent::TakeOver`], [`ToAgent::Ping`], [`ToAgent::Start`], [`ToAgent::Phase`], [`ToAgent::Fetch`] |
//! | an inbox of the controller | agents, controller | [`FromAgent`] |
//! | `fathom.journal.SESSION.NAME` | one agent, a stream of JetStream | [`FromAgent::Journal`], where [`Order::has_stream`] says so |
//!
//! Agents repeat their state until the controller has what it needs, and the controller repeats its questions: a lost or
//! doubled message changes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sign::{PublicKey, SigningKey};

/// Number of the protocol: agents and controllers of another number refuse each other.
pub const PROTOCOL: u32 = 2;
/// Subject that every agent hears.
pub const ALL: &str = "fathom.all";
/// How often a controller and its agents say that they are there.
pub const BEAT: Duration = Duration::from_millis(250);
/// An agent that has not heard its controller for this long stops the load.
pub const LEASE: Duration = Duration::from_millis(1500);
/// After this time without a message a second connection is tried, before the lease ends: a cut of a second passes.
pub(crate) const QUIET: Duration = Duration::from_millis(750);
/// Time for the server to answer on it. One that is farther away keeps the first connection.
pub(crate) const RENEW_TIME: Duration = Duration::from_millis(100);
/// Between two attempts, and after one that worked.
pub(crate) const RENEW_INTERVAL: Duration = Duration::from_millis(20);
pub(crate) const RENEWED_FOR: Duration = Duration::from_millis(500);
/// A host that has not been heard for this long is lost.
pub const SILENCE: Duration = Duration::from_secs(4);
/// Bytes of a recording in one message: below the limit that NATS has by default (1 MiB).
pub const PIECE: usize = 256 << 10;
/// The most that a controller keeps of what the hosts record while the load runs, for all of them together.
pub const LARGEST_JOURNAL: usize = 64 << 20;
/// The largest recording of one host.
pub const LARGEST_RECORDING: u64 = 1 << 30;
/// The largest job, with its files.
const LARGEST_JOB: usize = 16 << 20;

/// Subject of one agent.
#[must_use]
pub fn subject(agent: &str) -> String {
    format!("fathom.agent.{agent}")
}

/// Subject of what an agent records while the load of a run goes on. The stream has all subjects of this form.
#[must_use]
pub fn journal_subject(session: &str, agent: &str) -> String {
    format!("fathom.journal.{session}.{agent}")
}

/// A job for agents: a command line of `fathom run` or `fathom fio` with the files and variables that its plan needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Arguments of `fathom run`, or of `fathom fio`.
    pub arguments: Vec<String>,
    /// They are those of `fathom fio`: its units and its latencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fio: bool,
    /// The job files and everything else that they name, by name as it is written there.
    pub files: BTreeMap<String, String>,
    /// Environment variables of the controller that the job files name (`${NAME}`), and `FATHOM_HOST`, `FATHOM_RANK` and
    /// `FATHOM_HOSTS` of this agent.
    pub variables: BTreeMap<String, String>,
    /// Nothing is run: these files are removed if fathom created them and nobody changed them since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// The checks of `fathom ready`, which this agent judges while the load runs. Its answer is before the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Value>,
}

/// A message to agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToAgent {
    /// Who is there? Answered by [`FromAgent::Here`].
    Who {
        /// Host and process of the controller, for people.
        controller: String,
    },
    /// Plan this job, judge and lay out its targets, and wait for the start.
    Prepare(Signed),
    /// Another process controls this run from now on: a signed [`Claim`]. Answered by [`FromAgent::State`].
    TakeOver(Signed),
    /// What is your clock? Answered by [`FromAgent::Pong`].
    Ping {
        /// Comes back.
        number: u64,
    },
    /// Start at this instant of the agent's monotonic clock.
    Start {
        /// The run.
        session: String,
        /// Nanoseconds.
        at_ns: u64,
    },
    /// Every host has reached this phase: begin it at this instant of the agent's monotonic clock.
    Phase {
        /// The run.
        session: String,
        /// The phase: how many stonewalls are before it.
        phase: u32,
        /// Nanoseconds.
        at_ns: u64,
    },
    /// The controller is there. Without this the load stops after [`LEASE`].
    Beat {
        /// The run.
        session: String,
    },
    /// End the load.
    Stop {
        /// The run.
        session: String,
        /// Why, for people.
        reason: String,
    },
    /// Send this piece of the recording. Answered by [`FromAgent::Piece`].
    Fetch {
        /// The run.
        session: String,
        /// Counted from 0.
        piece: u32,
    },
    /// The recording is received, or nobody needs it any more.
    Release {
        /// The run.
        session: String,
    },
}

/// What a controller signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The run.
    pub session: String,
    /// Host and process of the controller, for people.
    pub controller: String,
    /// Inbox of the controller.
    pub inbox: String,
    /// The agent that it is for.
    pub agent: String,
    /// The number that this agent gave ([`FromAgent::Here`]): an order is good for one time.
    pub nonce: String,
    /// How often the agent says where it is, milliseconds: see [`beat_of`].
    pub beat_ms: u64,
    /// A stream of JetStream keeps what the agent records: it sends that to [`journal_subject`] until the server acknowledges it.
    /// Without one, it sends it to the inbox, once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_stream: bool,
    /// The job.
    pub job: Job,
}

/// What a controller signs that takes over a run whose controller was killed. It cannot be read as an [`Order`], nor the other
/// way round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The run.
    pub session: String,
    /// Host and process of the new controller, for people.
    pub controller: String,
    /// Inbox of the new controller.
    pub inbox: String,
    /// The agent that it is for.
    pub agent: String,
    /// As in [`Order`].
    pub nonce: String,
}

/// How often each of `agents` agents says where it is: so that a controller never gets more than 10,000 of these messages a
/// second, up to 10,000 agents; from there on four times before it would count as lost.
#[must_use]
pub fn beat_of(agents: usize) -> Duration {
    let share =
        Duration::from_micros(100).saturating_mul(u32::try_from(agents).unwrap_or(u32::MAX));
    share.clamp(BEAT, SILENCE / 4)
}

/// An order or a claim with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// An [`Order`] or a [`Claim`] as JSON, exactly as it was signed.
    pub order: String,
    /// Signature of it, hexadecimal; without one, only agents that were given no key accept it.
    pub signature: Option<String>,
}

impl Signed {
    /// Signs an order.
    ///
    /// # Errors
    /// When the job is too large.
    pub fn new<T: Serialize>(order: &T, key: Option<&SigningKey>) -> Result<Signed, String> {
        let order = serde_json::to_string(order).map_err(|error| error.to_string())?;
        if order.len() > LARGEST_JOB {
            return Err("the job files are larger than 16 MiB together".to_owned());
        }
        Ok(Signed {
            signature: key.map(|key| key.sign(&order)),
            order,
        })
    }

    /// The order, if one of the keys signed it for this agent and this time. Without keys every order is accepted.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn open(&self, keys: &[PublicKey], agent: &str, nonce: &str) -> Result<Order, String> {
        let order: Order = self.verified(keys)?;
        if order.agent != agent || order.nonce != nonce {
            return Err(ANOTHER.to_owned());
        }
        Ok(order)
    }

    /// The claim, as [`Signed::open`].
    ///
    /// # Errors
    /// Why it is refused.
    pub fn open_claim(
        &self,
        keys: &[PublicKey],
        agent: &str,
        nonce: &str,
    ) -> Result<Claim, String> {
        let claim: Claim = self.verified(keys)?;
        if claim.agent != agent || claim.nonce != nonce {
            return Err(ANOTHER.to_owned());
        }
        Ok(claim)
    }

    fn verified<T: for<'de> Deserialize<'de>>(&self, keys: &[PublicKey]) -> Result<T, String> {
        let is_signed = |key: &PublicKey| {
            self.signature
                .as_ref()
                .is_some_and(|signature| key.verifies(&self.order, signature))
        };
        if !keys.is_empty() && !keys.iter().any(is_signed) {
            return Err(match self.signature {
                None => "the job is not signed: this agent takes only jobs of `fathom run --key`",
                Some(_) => "the job is not signed with a key that this agent was given; compare what `fathom run --key` prints with `fathom agent --trust` there",
            }
            .to_owned());
        }
        serde_json::from_str(&self.order).map_err(|error| format!("malformed job: {error}"))
    }
}

/// Why an order is refused that was sent before, or to another agent.
const ANOTHER: &str = "the job is for another agent or another time";

/// Where an agent is with its job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum AgentState {
    /// Plans, checks and lays out the targets.
    #[default]
    Preparing,
    /// Waits for the start.
    Ready,
    /// The load runs, or will start at the given instant.
    Running {
        /// The phase that could begin here: everything before it has ended.
        #[serde(default)]
        reached: u32,
    },
    /// The recording can be fetched.
    Done {
        /// Bytes of the recording.
        bytes: u64,
        /// The start of the load by its monotonic clock, nanoseconds.
        epoch_ns: u64,
    },
    /// There will be no recording.
    Failed {
        /// Why.
        reason: String,
        /// Nothing was started: the job was refused.
        refused: bool,
    },
}

/// A message of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromAgent {
    /// Answer to [`ToAgent::Who`].
    Here {
        /// Its name.
        agent: String,
        /// Random: two agents of one name differ.
        instance: String,
        /// Its labels.
        labels: BTreeMap<String, String>,
        /// The controller whose job it has.
        busy_with: Option<String>,
        /// To be repeated in an order.
        nonce: String,
        /// It accepts only signed jobs.
        wants_signature: bool,
    },
    /// Answer to [`ToAgent::Ping`].
    Pong {
        /// Its name.
        agent: String,
        /// As asked.
        number: u64,
        /// Its monotonic clock, nanoseconds.
        clock_ns: u64,
        /// Its wall clock, nanoseconds since 1970.
        wall_ns: u64,
    },
    /// Sent as often as [`beat_of`] says, and at every change.
    State {
        /// Its name.
        agent: String,
        /// The run.
        session: String,
        /// Where it is.
        state: AgentState,
        /// It has a new connection and has heard nothing for long: the controller answers at once. What it answered to a message that
        /// the old connection repeated went there as well.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
    },
    /// What was recorded since the last one, while the load runs; its bytes follow. Number 0 is the plan.
    Journal {
        /// Its name.
        agent: String,
        /// The run.
        session: String,
        /// Counted from 0.
        number: u64,
    },
    /// A piece of the recording; its bytes follow.
    Piece {
        /// Its name.
        agent: String,
        /// The run.
        session: String,
        /// Counted from 0.
        piece: u32,
    },
}

/// A message of the other side that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It has another protocol number: that number, the version of the program, and the name of the agent if it is one.
    Protocol {
        /// Its number.
        number: u64,
        /// Its version of fathom.
        version: String,
        /// Name of the agent.
        agent: Option<String>,
    },
    /// It is not a message of this protocol.
    Malformed(String),
}

/// A message as it is sent; `bytes` follow it.
#[must_use]
pub fn write<T: Serialize>(version: &str, message: &T, bytes: &[u8]) -> Vec<u8> {
    let mut document = serde_json::to_value(message).unwrap_or_default();
    document["fathom"] = PROTOCOL.into();
    document["version"] = version.into();
    let mut text = document.to_string().into_bytes();
    if !bytes.is_empty() {
        text.push(b'\n');
        text.extend_from_slice(bytes);
    }
    text
}

/// The message in a payload, and the bytes that follow it.
///
/// # Errors
/// When it is none, or one of another protocol.
pub fn read<T: for<'de> Deserialize<'de>>(payload: &[u8]) -> Result<(T, &[u8]), ReadError> {
    let end = payload.iter().position(|byte| *byte == b'\n');
    let (text, bytes) = match end {
        Some(end) => (&payload[..end], &payload[end + 1..]),
        None => (payload, &[][..]),
    };
    let malformed = |error: serde_json::Error| ReadError::Malformed(error.to_string());
    let document: Value = serde_json::from_slice(text).map_err(malformed)?;
    let number = document["fathom"]
        .as_u64()
        .ok_or_else(|| ReadError::Malformed("no protocol number".to_owned()))?;
    if number != u64::from(PROTOCOL) {
        let text = |name: &str| document[name].as_str().map(str::to_owned);
        return Err(ReadError::Protocol {
            number,
            version: text("version").unwrap_or_default(),
            agent: text("agent"),
        });
    }
    let message = serde_json::from_value(document).map_err(malformed)?;
    Ok((message, bytes))
}

/// The sentence about two programs that do not understand each other.
#[must_use]
pub fn other_protocol(who: &str, their_version: &str, theirs: u64, own_version: &str) -> String {
    format!(
        "{who} has protocol {theirs} (fathom {their_version}), this is protocol {PROTOCOL} (fathom {own_version}); install the same version on all hosts"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            session: "s".into(),
            controller: "c".into(),
            inbox: "i".into(),
            agent: "a".into(),
            nonce: "n".into(),
            beat_ms: 250,
            has_stream: false,
            job: Job::default(),
        }
    }

    fn key() -> SigningKey {
        SigningKey::parse(&SigningKey::generate().expect("random")).expect("a key")
    }

    #[test]
    fn messages_come_back_as_they_were_sent() {
        let piece = FromAgent::Piece {
            agent: "a".into(),
            session: "s".into(),
            piece: 3,
        };
        let payload = write("0.1.0", &piece, b"\n{}\0");
        let (read, bytes) = read::<FromAgent>(&payload).expect("a message");
        assert_eq!((read, bytes), (piece, &b"\n{}\0"[..]));
        let signed = Signed::new(&order(), None).expect("small");
        let message = ToAgent::Prepare(signed);
        let payload = write("0.1.0", &message, b"");
        assert_eq!(
            super::read::<ToAgent>(&payload).expect("a message").0,
            message
        );
    }

    /// A host is lost after 4 s of silence.
    #[test]
    fn many_agents_speak_less_often() {
        let beats = [1, 2_500, 5_000, 10_000, 1_000_000].map(|agents| beat_of(agents).as_millis());
        assert_eq!(beats, [250, 250, 500, 1000, 1000]);
    }

    #[test]
    fn another_protocol_is_named_with_its_version() {
        let payload = br#"{"fathom":7,"version":"9.9","type":"here","agent":"b","new":[]}"#;
        let expected = ReadError::Protocol {
            number: 7,
            version: "9.9".into(),
            agent: Some("b".into()),
        };
        assert_eq!(read::<FromAgent>(payload), Err(expected));
        for payload in [
            &b""[..],
            b"{",
            b"{}",
            b"\xff\n",
            br#"{"fathom":2,"type":"no"}"#,
        ] {
            assert!(matches!(
                read::<FromAgent>(payload),
                Err(ReadError::Malformed(_))
            ));
        }
    }

    #[test]
    fn an_order_is_good_for_one_agent_one_time_and_given_keys() {
        let (good, other) = (key(), key());
        let signed = Signed::new(&order(), Some(&good)).expect("small");
        let keys = [good.public()];
        assert!(signed.open(&keys, "a", "n").is_ok());
        assert!(signed.open(&keys, "b", "n").is_err(), "another agent");
        assert!(signed.open(&keys, "a", "m").is_err(), "another time");
        assert!(
            signed.open(&[other.public()], "a", "n").is_err(),
            "a key it was not given"
        );
        let forged = Signed {
            order: signed.order.replace("\"c\"", "\"d\""),
            ..signed.clone()
        };
        assert!(
            forged.open(&keys, "a", "n").is_err(),
            "changed after it was signed"
        );
        let unsigned = Signed::new(&order(), None).expect("small");
        assert!(
            unsigned
                .open(&keys, "a", "n")
                .expect_err("no signature")
                .contains("not signed")
        );
        assert!(unsigned.open(&[], "a", "n").is_ok());
    }
}
