//! One run on many hosts: agents, the controller that starts them together, and the merge of what they recorded.
//!
//! * [`Connection`]: what carries all messages, and the clock of its side: a NATS server ([`nats`]) in real time, or a
//!   [`Simulation`] of all hosts in this process and in virtual time.
//! * [`protocol`]: the messages of controller and agents.
//! * [`STREAM`]: the stream of JetStream with what hosts record while the load runs.
//! * [`Agent`]: waits for jobs, and stops the load when its controller is silent.
//! * [`Controller`]: finds agents, measures their clocks, starts them at one instant and collects their recordings.
//! * [`SshHost`]: a host on which the program starts an agent over ssh.
//! * [`place`]: which jobs of a plan a host runs, and in which phase.
//! * [`merge`]: several recordings as one. Nothing is rounded or resampled: distributions and intervals stay those of the hosts.
//!
//! The crate opens no file and does not carry out jobs: the program does, with the guard of its own host.

mod agent;
mod clock;
mod controller;
mod jetstream;
mod journal;
mod launcher;
mod merge;
pub mod nats;
mod nkey;
mod placement;
pub mod protocol;
mod select;
mod sign;
mod simulation;
mod ssh;
mod time;
mod transport;

pub use self::agent::{Agent, AgentSetup, Finished, JournalSender, StartSignal};
pub use self::clock::{ClockSample, Offset};
pub use self::controller::{Controller, ControllerPhase, FoundAgent, HostResult};
pub use self::jetstream::STREAM;
pub use self::journal::{read_intervals, write_intervals};
pub use self::launcher::launched;
pub use self::merge::{MergeError, ReceivedHost, host_variables, merge};
pub use self::placement::{Placed, place, placed_job, without_host};
pub use self::select::Selection;
pub use self::sign::{PublicKey, SigningKey, secret};
pub use self::simulation::{SimulatedHost, Simulation, WallClock};
pub use self::ssh::SshHost;
pub use self::time::{Bell, Clock, ThreadBody, system_clock};
pub use self::transport::{Connection, Event, Message};

/// Longest name of an agent.
const LONGEST_NAME: usize = 64;

/// Why agents cannot be reached or used.
#[derive(Debug)]
pub enum HostsError {
    /// The server of the messages: a sentence.
    Server(String),
    /// An agent, or the choice of agents: a sentence.
    Agent(String),
    /// The user interrupted before the load began.
    Interrupted,
}

impl std::fmt::Display for HostsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostsError::Server(text) | HostsError::Agent(text) => f.write_str(text),
            HostsError::Interrupted => f.write_str("interrupted before the load began"),
        }
    }
}

impl std::error::Error for HostsError {}

/// Checks the name of an agent: it is a part of the subjects of messages.
///
/// # Errors
/// What a name may contain.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_valid) || dots {
        return Err(format!(
            "'{}' cannot be the name of an agent: use 1 to {LONGEST_NAME} letters, digits, '-', '_' and '.'",
            name.escape_debug()
        ));
    }
    if name == "all" {
        return Err(
            "'all' cannot be the name of an agent: --hosts=all selects every agent".to_owned(),
        );
    }
    Ok(())
}
