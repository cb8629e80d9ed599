//! `fathom witness`: runs any command and watches it.

mod block_trace;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;

use fathom_cli::WitnessArgs;
use fathom_linux::{
    CommandInterval, Document, LinuxClock, OutputName, Outputs, SUPERVISOR_VARIABLE, WitnessError,
    WitnessEvent, WitnessOptions, WitnessedRun, remove_abandoned_groups, supervise, witness,
};
use fathom_load::rebuild_recording;
use fathom_model::{
    Accounting, Counts, Direction, EngineKind, EngineSettings, EngineSpec, Findings, Interval,
    IntervalDirection, Job, JobRecording, Nanos, PerDirection, Plan, Program, ProgramEnd,
    Recording, RunEnd, Traffic, Usage,
};
use fathom_report::Format;
use fathom_trace::Summary;

use self::block_trace::BlockTrace;

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, set_quiet};
use crate::result_store::{self, RunWriter};
use crate::screen;
use crate::session::Session;

/// Exit code where the command was not found, as of env(1).
const NOT_FOUND: u8 = 127;
/// Exit code where it cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// A command that was killed by a signal has this plus its number, as in shells.
const KILLED: u8 = 128;
/// The version of fio whose JSON is written.
const FIO_VERSION: &str = "fio-3.42";

/// The pipes of the supervisor of a command, and the command, when this process is one.
pub fn supervised() -> Option<(String, Vec<OsString>)> {
    let descriptors = std::env::var(SUPERVISOR_VARIABLE).ok()?;
    Some((descriptors, std::env::args_os().skip(1).collect()))
}

/// The supervisor.
pub fn run_supervised(descriptors: &str, command: &[OsString]) -> Outcome {
    Outcome::Command(supervise(descriptors, command))
}

/// Runs a command and watches it.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: WitnessArgs| {
        set_quiet(args.quiet);
        watch(&args)
    })
}

fn watch(args: &WitnessArgs) -> Result<Outcome, String> {
    // A file that cannot be written is found before the command runs, not after hours.
    let output = args.result.output.as_ref().map(|file| {
        Outputs::default()
            .document(file, OutputName::Explicit)
            .map_err(|error| format!("--output: {error}"))
    });
    let output = output.transpose()?;
    for group in remove_abandoned_groups() {
        note_line!(
            "fathom witness: removed {}, a control group of a run that was killed",
            group.display()
        );
    }
    let plan = plan(&args.command, Nanos::from_millis(250));
    let session = Session::on_this_machine();
    let (name, line) = (run_name(&args.command), args.command.join(" "));
    let writer = RunWriter::begin(
        &session,
        "fathom witness",
        &args.store,
        &result_store::experiment(&session, "witness", name, line),
    );
    let options = WitnessOptions {
        command: args.command.clone(),
        servers: args.pid.clone(),
        supervisor: std::env::current_exe().map_err(|error| error.to_string())?,
        ..WitnessOptions::default()
    };
    let (recording, end) = match watched(&options, plan) {
        Ok(watched) => watched,
        Err(error) => {
            writer.remove();
            return failed(error);
        }
    };
    let findings = fathom_analyse::findings(&recording);
    let written = write(args, output, &findings);
    writer.finish(recording, &findings, Vec::new());
    if let Err(message) = written {
        eprint_line!("fathom witness: {message}");
    }
    Ok(Outcome::Command(exit_code(end)))
}

/// Runs the command of `options` to its end: the recording, with the block I/O as a second job, and how it ended.
///
/// # Errors
/// If it cannot be started.
pub fn watched(
    options: &WitnessOptions,
    plan: Plan,
) -> Result<(Recording, ProgramEnd), WitnessError> {
    let started_unix_ns = crate::machine::unix_now_ns();
    let clock = LinuxClock::start();
    let mut trace = None;
    let mut block_io = None;
    let mut on_event = |event| match event {
        WitnessEvent::Ready(group) => trace = Some(BlockTrace::start(group)),
        WitnessEvent::Process(pid) => {
            if let Some(trace) = &trace {
                trace.add(pid);
            }
        }
        WitnessEvent::Ended => block_io = trace.take().map(BlockTrace::stop),
    };
    let run = witness(options, clock, &mut on_event)?;
    let end = run.witnessed.ended;
    let mut recording = recording(plan, run, started_unix_ns);
    if let Some(block_io) = block_io {
        add_block_io(&mut recording, block_io);
    }
    recording.clock = clock.facts();
    Ok((recording, end))
}

/// A command that could not be started.
fn failed(error: WitnessError) -> Result<Outcome, String> {
    let WitnessError::Command { error: cause, .. } = &error else {
        return Err(error.to_string());
    };
    eprint_line!("fathom witness: {error}");
    Ok(Outcome::Command(
        if cause.kind() == std::io::ErrorKind::NotFound {
            NOT_FOUND
        } else {
            NOT_EXECUTABLE
        },
    ))
}

fn exit_code(end: ProgramEnd) -> u8 {
    match end {
        ProgramEnd::Code(code) => u8::try_from(code).unwrap_or(u8::MAX),
        ProgramEnd::Signal(signal) => KILLED.saturating_add(u8::try_from(signal).unwrap_or(0)),
    }
}

/// The name of the program.
fn run_name(command: &[String]) -> String {
    let program = command.first().map_or("", String::as_str);
    let name = Path::new(program).file_name();
    name.map_or_else(
        || program.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The plan of the store: one job that runs the program.
pub fn plan(command: &[String], interval: Nanos) -> Plan {
    let program = Program {
        path: command.first().cloned().unwrap_or_default(),
        arguments: command.iter().skip(1).cloned().collect(),
        grace: Nanos::ZERO,
        redirect: false,
    };
    let mut job = Job {
        name: run_name(command),
        number: 1,
        engine: EngineSpec {
            kind: EngineKind::Exec,
            named: true,
            settings: EngineSettings {
                program: Some(program),
                ..EngineSettings::default()
            },
        },
        accounting: Accounting {
            disk_util: true,
            ..Accounting::default()
        },
        ..Job::default()
    };
    job.pattern.traffic = Traffic::ReadWrite { read_percent: 50 };
    Plan {
        jobs: vec![job],
        interval,
        ..Plan::default()
    }
}

/// The system calls of the command as the I/Os of one job.
fn recording(mut plan: Plan, run: WitnessedRun, started_unix_ns: u64) -> Recording {
    plan.interval = run.interval;
    let WitnessedRun {
        witnessed,
        elapsed,
        intervals,
        disks,
        targets,
        conditions,
        host,
        ..
    } = run;
    let mut recording = rebuild_recording(plan, started_unix_ns, Vec::new());
    if let Some(job) = recording.jobs.first_mut() {
        fill(job, &intervals, elapsed);
        job.usage = Usage {
            user: witnessed.user,
            system: witnessed.system,
            ..Usage::default()
        };
    }
    recording.elapsed = elapsed;
    recording.end = match witnessed.ended {
        ProgramEnd::Code(_) => RunEnd::Completed,
        ProgramEnd::Signal(_) => RunEnd::Interrupted,
    };
    recording.disks = disks;
    recording.targets = targets;
    recording.conditions = conditions;
    recording.host = host;
    recording.messages = Vec::new();
    recording.host.witnessed = Some(Box::new(witnessed));
    recording
}

/// Adds the block I/O as a job for each device, or why it is unknown.
fn add_block_io(recording: &mut Recording, block_io: Result<Summary, String>) {
    let summary = match block_io {
        Ok(summary) => summary,
        Err(reason) => {
            if let Some(witnessed) = &mut recording.host.witnessed {
                witnessed.unknown.push(reason);
            }
            return;
        }
    };
    if summary.gaps > 0 {
        recording.messages.push(format!(
            "the kernel lost events of the block layer {} times: the figures of the block I/O are too low",
            summary.gaps
        ));
    }
    let Some(first) = recording.plan.jobs.first().cloned() else {
        return;
    };
    let elapsed = recording.elapsed;
    for (number, device) in (2..).zip(block_trace::devices(&summary)) {
        let job = block_trace::job(&first, device, number);
        let plan = Plan {
            jobs: vec![job.clone()],
            ..Plan::default()
        };
        if let Some(empty) = rebuild_recording(plan, 0, Vec::new()).jobs.pop() {
            let recorded = block_trace::recording(empty, &summary, device, elapsed);
            recording.plan.jobs.push(job);
            recording.jobs.push(recorded);
        }
    }
}

fn fill(job: &mut JobRecording, intervals: &[CommandInterval], elapsed: Nanos) {
    job.engine = EngineKind::Exec.name().to_owned();
    job.skipped = false;
    (job.launched, job.measured_from, job.ended) = (Nanos::ZERO, Nanos::ZERO, elapsed);
    job.error = None;
    job.events.clear();
    let directions = |one: &CommandInterval| {
        PerDirection::from_fn(|direction| {
            let (ios, bytes) = match direction {
                // The kernel does not count asynchronous I/O as system calls.
                Direction::Read => (
                    one.io.read_calls,
                    one.io.read_bytes.max(one.io.device_read_bytes),
                ),
                Direction::Write => (
                    one.io.write_calls,
                    one.io.written_bytes.max(one.io.device_written_bytes),
                ),
                Direction::Trim => (0, 0),
            };
            IntervalDirection {
                ios,
                bytes,
                ..IntervalDirection::default()
            }
        })
    };
    job.intervals = intervals
        .iter()
        .map(|one| Interval {
            start: one.start,
            length: one.length,
            directions: directions(one),
        })
        .collect();
    for direction in Direction::ALL {
        let sum = |count: fn(&IntervalDirection) -> u64| {
            job.intervals
                .iter()
                .map(|one| count(&one.directions[direction]))
                .sum()
        };
        let (ios, bytes): (u64, u64) = (sum(|one| one.ios), sum(|one| one.bytes));
        job.directions[direction].counts = Counts {
            planned: ios,
            ok: ios,
            bytes_requested: bytes,
            bytes_ok: bytes,
            ..Counts::default()
        };
    }
}

/// The report: to the file that `--output` names, else to standard error, because standard output belongs to the command.
fn write(args: &WitnessArgs, output: Option<Document>, findings: &Findings) -> Result<(), String> {
    let is_terminal = output.is_none() && std::io::stderr().is_terminal();
    let style = screen::style(is_terminal, FIO_VERSION);
    // With the intervals, so that a report of the document is that of the stored run.
    let format = if args.result.is_json() {
        Format::JsonPlus
    } else {
        Format::Normal
    };
    let mut text = Vec::new();
    fathom_report::write(findings, &[format], &style, &mut text)
        .map_err(|error| error.to_string())?;
    match output {
        Some(mut file) => file
            .write_all(&text)
            .map_err(|error| error.to_string())
            .and_then(|()| file.commit().map_err(|error| error.to_string()))
            .map_err(|error| format!("--output: {error}")),
        None => {
            // A closed standard error is not a reason to change the exit code.
            let _ = std::io::stderr().write_all(&text);
            Ok(())
        }
    }
}
