//! Measures what a controller needs for many agents: `scale agents URL COUNT MS BYTES` is that many agents as tasks of one process,
//! `scale controller URL COUNT` a controller of all of them. They speak the protocol of `fathom agent` and `fathom run --hosts`;
//! the load is a pause of MS milliseconds, and the result of each agent has BYTES bytes. `scripts/measure-hosts` runs both.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_hosts::nats::Server;
use fathom_hosts::protocol::{
    ALL, AgentState, BEAT, FromAgent, Job, PIECE, ToAgent, read, subject, write,
};
use fathom_hosts::{Connection, Controller, ControllerPhase, Event, Message, Selection};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const PREFIX: &str = "task";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["agents", url, first, count, ms, bytes] => numbers([first, count, ms, bytes])
            .and_then(|[first, count, ms, bytes]| agents(url, first, count, ms, bytes)),
        ["controller", url, count] => numbers([count]).and_then(|[count]| controller(url, count)),
        _ => Err(
            "usage: scale agents URL FIRST COUNT MS BYTES | scale controller URL COUNT".to_owned(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::FAILURE
        }
    }
}

fn numbers<const N: usize>(texts: [&str; N]) -> Result<[usize; N], String> {
    let mut numbers = [0; N];
    for (number, text) in numbers.iter_mut().zip(texts) {
        *number = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    }
    Ok(numbers)
}

/// One agent: where it is with its job.
#[derive(Default)]
struct Task {
    name: String,
    session: Option<(String, String)>,
    beat: Duration,
    state: AgentState,
    start_at: Option<Duration>,
    ends_at: Option<Duration>,
}

/// Agents of one process on one connection. Ends when the last of them was released.
///
/// # Errors
/// When the server cannot be used.
pub fn agents(
    url: &str,
    first: usize,
    count: usize,
    ms: usize,
    bytes: usize,
) -> Result<(), String> {
    let client =
        Connection::to_server(Server::parse(url)?, "agents").map_err(|error| error.to_string())?;
    let lost = |error: std::io::Error| error.to_string();
    client.subscribe(ALL).map_err(lost)?;
    let mut tasks: Vec<Task> = Vec::new();
    let mut places = BTreeMap::new();
    for number in first..first + count {
        let name = format!("{PREFIX}{number}");
        client.subscribe(&subject(&name)).map_err(lost)?;
        places.insert(subject(&name), tasks.len());
        tasks.push(Task {
            name,
            ..Task::default()
        });
    }
    let (zero, document) = (Instant::now(), Arc::new(vec![7_u8; bytes]));
    let load = Duration::from_millis(ms as u64);
    let (mut next_beat, mut next_look) = (Duration::ZERO, Duration::ZERO);
    let mut served = 0;
    while served < count {
        let received = client.receive(client.clock().now() + Duration::from_millis(1));
        if let Some(Event::Message(message)) = received {
            // Once for all tasks: each real agent has a CPU for it.
            let Ok((order, _)) = read::<ToAgent>(&message.payload) else {
                continue;
            };
            let own = places.get(&message.subject).copied();
            let range = own.map_or(0..tasks.len(), |place| place..place + 1);
            for task in &mut tasks[range] {
                served += usize::from(take(&client, task, &message, &order, zero, &document));
            }
        }
        let now = zero.elapsed();
        if now < next_look {
            continue;
        }
        next_look = now + Duration::from_millis(1);
        let beats = now >= next_beat;
        let mut states = Vec::new();
        for task in &mut tasks {
            let mut changed = beats;
            if task.start_at.is_some_and(|at| now >= at) && task.ends_at.is_none() {
                task.state = AgentState::Running { reached: 0 };
                task.ends_at = Some(now + load);
                changed = true;
            }
            if matches!(task.state, AgentState::Running { .. })
                && task.ends_at.is_some_and(|at| now >= at)
            {
                task.state = AgentState::Done {
                    bytes: bytes as u64,
                    epoch_ns: task.start_at.unwrap_or_default().as_nanos() as u64,
                };
                changed = true;
            }
            if changed {
                states.extend(state_of(task));
            }
        }
        let _ = client.publish_all(None, states.into_iter());
        if beats {
            let beats = tasks.iter().map(|task| task.beat);
            next_beat = now + beats.max().unwrap_or_default().max(BEAT);
        }
    }
    Ok(())
}

/// The message about where a task is, with its subject.
fn state_of(task: &Task) -> Option<(String, Vec<u8>)> {
    let (session, inbox) = task.session.as_ref()?;
    let state = FromAgent::State {
        agent: task.name.clone(),
        session: session.clone(),
        state: task.state.clone(),
        asks: false,
    };
    Some((inbox.clone(), write(VERSION, &state, b"")))
}

/// Whether the controller released the task.
fn take(
    client: &Connection,
    task: &mut Task,
    message: &Message,
    order: &ToAgent,
    zero: Instant,
    document: &[u8],
) -> bool {
    let reply = |answer: &FromAgent, bytes: &[u8]| {
        if let Some(inbox) = &message.reply {
            let _ = client.publish(inbox, None, &write(VERSION, answer, bytes));
        }
    };
    match order.clone() {
        ToAgent::Who { .. } => reply(
            &FromAgent::Here {
                agent: task.name.clone(),
                instance: task.name.clone(),
                labels: BTreeMap::new(),
                busy_with: None,
                nonce: task.name.clone(),
                wants_signature: false,
            },
            b"",
        ),
        ToAgent::Ping { number } => reply(
            &FromAgent::Pong {
                agent: task.name.clone(),
                number,
                clock_ns: zero.elapsed().as_nanos() as u64,
                wall_ns: 0,
            },
            b"",
        ),
        ToAgent::Prepare(signed) if task.session.is_none() => {
            if let Ok(order) = signed.open(&[], &task.name, &task.name) {
                task.session = Some((order.session, order.inbox));
                task.beat = Duration::from_millis(order.beat_ms);
                task.state = AgentState::Ready;
                let _ = client.publish_all(None, state_of(task).into_iter());
            }
        }
        ToAgent::Start { at_ns, .. } => {
            task.start_at.get_or_insert(Duration::from_nanos(at_ns));
        }
        ToAgent::Fetch { session, piece } => {
            let piece_of = FromAgent::Piece {
                agent: task.name.clone(),
                session,
                piece,
            };
            if let Some(bytes) = document.chunks(PIECE).nth(piece as usize) {
                reply(&piece_of, bytes);
            }
        }
        ToAgent::Release { .. } => return task.session.take().is_some(),
        _ => {}
    }
    false
}

/// A run of all agents.
#[derive(Debug)]
pub struct Measured {
    /// All are found after this time.
    pub found: Duration,
    /// All are ready, and their clocks are known.
    pub ready: Duration,
    /// From the end of the last load to the last recording.
    pub collected: Duration,
    /// How many hosts have no recording, and why the first of them has none.
    pub failed: Option<(usize, String)>,
    /// The largest error of a start, nanoseconds.
    pub bound_ns: u64,
}

/// Runs a job on all agents.
///
/// # Errors
/// When an agent is missing, or the run does not begin.
pub fn measure(url: &str, count: usize) -> Result<Measured, String> {
    let text = |error: fathom_hosts::HostsError| error.to_string();
    let server = Server::parse(url)?;
    let connection = Connection::to_server(server, "scale").map_err(text)?;
    let controller = Controller::new(connection, "scale", VERSION).map_err(text)?;
    let begun = Instant::now();
    let names = (0..count)
        .map(|number| format!("{PREFIX}{number}"))
        .collect();
    let agents = controller
        .find(&Selection::Names(names), &[], &|| false)
        .map_err(text)?;
    let found = begun.elapsed();
    let mut phases = Vec::new();
    let results = controller
        .run(&agents, &|_| Job::default(), None, &|| 0, &mut |phase| {
            phases.push((phase, begun.elapsed()));
        })
        .map_err(text)?;
    let ended = begun.elapsed();
    let at = |wanted: ControllerPhase| {
        let found = phases.iter().find(|(phase, _)| *phase == wanted);
        found.map_or(Duration::ZERO, |(_, at)| *at)
    };
    let mut failed = results
        .iter()
        .filter_map(|host| Some((&host.name, host.document.as_ref().err()?)));
    let first = failed.next().map(|(name, why)| format!("{name}: {why}"));
    Ok(Measured {
        found,
        ready: at(ControllerPhase::Running),
        collected: ended.saturating_sub(at(ControllerPhase::Collecting)),
        failed: first.map(|first| (1 + failed.count(), first)),
        bound_ns: results
            .iter()
            .map(|host| host.late_bound_ns)
            .max()
            .unwrap_or(0),
    })
}

/// Prints the times of a run in milliseconds, the CPU time of this process and its largest memory.
fn controller(url: &str, count: usize) -> Result<(), String> {
    let measured = measure(url, count)?;
    let (cpu, memory) = own_use();
    let ms = |time: Duration| time.as_millis();
    let failed = measured.failed.map_or(0, |(hosts, first)| {
        eprintln!("scale: {first}");
        hosts
    });
    println!(
        "{count} found {} ready {} collected {} failed {failed} clock_bound_us {} cpu_ms {cpu} memory_mib {memory}",
        ms(measured.found),
        ms(measured.ready),
        ms(measured.collected),
        measured.bound_ns / 1000,
    );
    Ok(())
}

/// CPU time in milliseconds (ticks of 10 ms) and the largest resident memory in MiB of this process.
fn own_use() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0);
    (ticks * 10, kib >> 10)
}
