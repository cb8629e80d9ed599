//! `fathom why`: what programs wait for now, and who and what is the reason.

mod events;
mod scope;

use std::io::{IsTerminal, Write};
use std::process::{Child, Command};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_cli::WhyArgs;
use fathom_device::volumes::parse_volumes;
use fathom_linux::{WhyReader, interrupts, process_tree};
use fathom_report::{why_json, why_text};
use fathom_trace::{
    WhyAnswer, WhyCause, WhyCost, WhyEvidence, WhyLook, WhyReading, WhyScope, monotonic_ns, why,
};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use self::events::Events;
use self::scope::find_scope;
use crate::cli;
use crate::limits::VOLUMES;
use crate::observe::own_cpu_ns;
use crate::outcome::Outcome;
use crate::print::{note_line, print_to, set_quiet};
use crate::screen;

/// Time of the observation where neither an option nor a command sets it.
const DEFAULT_RUN_TIME: Duration = Duration::from_secs(10);
/// Looks that are kept of a long command.
const MAX_KEPT_LOOKS: usize = 256;
/// Between two looks at waiting threads.
const LOOK_INTERVAL_NS: u64 = 500_000_000;
/// Between two readings of the trace.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The exit code of a command that was killed by a signal is this plus the number of the signal, as in shells.
const SIGNAL_EXIT_CODE_BASE: i32 = 128;

/// Looks, and answers.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: WhyArgs| {
        set_quiet(args.quiet);
        answer(&args)
    })
}

fn answer(args: &WhyArgs) -> Result<Outcome, String> {
    let mut reader = WhyReader::default();
    let (scope, note) = find_scope(args, &reader)?;
    let signals = interrupts();
    let runtime = args.runtime.unwrap_or(DEFAULT_RUN_TIME);
    let mut pids = scope.pids.clone();
    reader.read_first(&pids);
    // What a short command does is counted from before its start.
    let mut watch = Watch::start(&reader, &scope);
    let end = watch.before.time_ns + runtime.as_nanos() as u64;
    let mut child = start(&args.command)?;
    pids.extend(child.as_ref().map(Child::id));
    reader.read_first(&pids);
    match &child {
        None => note_line!(
            "fathom why: looks for {} s; Ctrl-C ends earlier",
            runtime.as_secs_f64()
        ),
        Some(_) => note_line!("fathom why: looks until the command ends"),
    }
    loop {
        let is_over = match &child {
            Some(child) => has_ended(child),
            None => monotonic_ns() >= end || signals.load(Relaxed) > 0,
        };
        if is_over {
            break;
        }
        watch.step(&reader, end, child.as_ref());
    }
    if let Some(child) = &child {
        watch.add_processes_of(child.id());
    }
    let mut evidence = watch.finish(&reader, scope);
    evidence.not_looked_at.extend(note);
    let answer = why(&evidence);
    let code = child.as_mut().map(exit_code);
    let printed = print_answer(args, &answer);
    Ok(match (code, printed) {
        (Some(code), Outcome::Good) => Outcome::Command(code),
        (None, Outcome::Good) if signals.load(Relaxed) > 0 => Outcome::Interrupted,
        (None, Outcome::Good) if answer.finding.cause == WhyCause::NotKnown => Outcome::Undecided,
        (_, outcome) => outcome,
    })
}

/// Starts the command, if there is one.
fn start(command: &[String]) -> Result<Option<Child>, String> {
    let Some((program, arguments)) = command.split_first() else {
        return Ok(None);
    };
    let child = Command::new(program).args(arguments).spawn();
    child
        .map(Some)
        .map_err(|error| format!("{program}: {error}"))
}

/// Whether the command has ended; its counters stay readable until it is waited for.
fn has_ended(child: &Child) -> bool {
    let Some(pid) = Pid::from_raw(child.id() as i32) else {
        return true;
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).is_ok_and(|status| status.is_some())
}

fn exit_code(child: &mut Child) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let Ok(status) = child.wait() else {
        return u8::MAX;
    };
    let code = status
        .code()
        .or_else(|| Some(SIGNAL_EXIT_CODE_BASE + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

/// The answer of a command goes to standard error, because standard output belongs to the command.
fn print_answer(args: &WhyArgs, answer: &WhyAnswer) -> Outcome {
    let is_command = !args.command.is_empty();
    let is_terminal = args.result.output.is_none()
        && if is_command {
            std::io::stderr().is_terminal()
        } else {
            std::io::stdout().is_terminal()
        };
    let text = if args.result.is_json() {
        why_json(answer)
    } else {
        why_text(answer, &screen::style(is_terminal, ""))
    };
    if is_command && args.result.output.is_none() {
        // A closed standard error is not a reason to change the exit code.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Outcome::Good;
    }
    print_to(args.result.output.as_deref(), &text)
}

/// What is collected while the time passes.
struct Watch {
    before: WhyReading,
    looks: Vec<WhyLook>,
    events: Events,
    /// Processes of the command.
    tree: Vec<u32>,
    next_look: u64,
    look_interval: u64,
    cpu_before: u64,
}

impl Watch {
    fn start(reader: &WhyReader, scope: &WhyScope) -> Self {
        let cpu_before = own_cpu_ns();
        let events = Events::start(reader, &scope.devices);
        let now = monotonic_ns();
        Self {
            before: reader.reading(now),
            looks: vec![reader.look(now)],
            events,
            tree: Vec::new(),
            next_look: now + LOOK_INTERVAL_NS,
            look_interval: LOOK_INTERVAL_NS,
            cpu_before,
        }
    }

    /// Waits a little, and looks when it is time.
    fn step(&mut self, reader: &WhyReader, end: u64, child: Option<&Child>) {
        if !self.events.poll() {
            let left = match child {
                Some(_) => POLL_INTERVAL,
                None => Duration::from_nanos(end.saturating_sub(monotonic_ns())),
            };
            std::thread::sleep(POLL_INTERVAL.min(left));
        }
        let now = monotonic_ns();
        if now >= self.next_look && (child.is_some() || now < end) {
            self.next_look = now + self.look_interval;
            self.looks.push(reader.look(now));
            if let Some(child) = child {
                self.add_processes_of(child.id());
                self.forget_half();
            }
        }
    }

    fn add_processes_of(&mut self, pid: u32) {
        for process in process_tree(pid) {
            if !self.tree.contains(&process) {
                self.tree.push(process);
            }
        }
    }

    /// Keeps the looks of a long command bounded: every second one, and from then on half as often.
    fn forget_half(&mut self) {
        if self.looks.len() >= MAX_KEPT_LOOKS {
            self.look_interval *= 2;
            let mut at = 0;
            self.looks.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
    }

    /// Reads the counters again.
    fn finish(mut self, reader: &WhyReader, mut scope: WhyScope) -> WhyEvidence {
        let now = monotonic_ns();
        let mut after = reader.reading(now);
        self.looks.push(reader.look(now));
        scope.pids.append(&mut self.tree);
        // This program is not what is asked about.
        let own = std::process::id();
        after.processes.remove(&own);
        self.before.processes.remove(&own);
        for look in &mut self.looks {
            look.waiting.retain(|thread| thread.pid != own);
        }
        let (requests, not_looked_at, counts) = self.events.finish();
        let volumes = parse_volumes(VOLUMES.0, VOLUMES.1).unwrap_or_default();
        WhyEvidence {
            scope,
            before: self.before,
            after,
            looks: self.looks,
            devices: reader.devices(&volumes),
            mounts: reader.mounts(),
            swap: reader.swap(),
            page_bytes: rustix::param::page_size() as u64,
            requests,
            not_looked_at,
            cost: WhyCost {
                cpu_ns: own_cpu_ns() - self.cpu_before,
                ..counts
            },
        }
    }
}
