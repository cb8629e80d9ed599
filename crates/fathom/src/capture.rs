//! `fathom capture`: the block I/O of any program as a compact trace.

mod file;
mod recorder;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_cli::CaptureArgs;
use fathom_linux::{OutputName, Outputs, interrupts};
use fathom_model::format::{bytes, duration, printable, thousands};
use fathom_trace::{
    BlockDevices, TraceError, TraceOptions, TraceSession, Tracefs, Tracepoint, monotonic_ns,
    remove_dead_instances,
};
use fathom_workload::{CaptureCounts, CaptureHeader, CaptureWriter};

use self::file::{NextFile, TraceFile};
use self::recorder::Recorder;
use crate::cli;
use crate::observe::target::ObservedTarget;
use crate::observe::{BUFFERS, FULL, POLL_INTERVAL, own_cpu_ns};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print, set_quiet};

const SECOND_NS: u64 = 1_000_000_000;
/// I/Os that are written at once, though the second is not over.
const MANY: usize = 16 << 10;
/// I/Os of a second that a 99th percentile needs.
const ENOUGH: u64 = 100;

/// Captures until the time is over or the user interrupts.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: CaptureArgs| {
        set_quiet(args.quiet);
        capture(&args)
    })
}

/// Why a capture ended.
enum Ended {
    Interrupted,
    Runtime,
    Full,
    Triggered(f64),
    DeviceGone,
    Failed(std::io::Error),
}

fn capture(args: &CaptureArgs) -> Result<Outcome, String> {
    // From now on Ctrl-C ends the capture, and not the program.
    interrupts();
    let devices = BlockDevices::default();
    let mut target = ObservedTarget::of(
        args.path.as_deref(),
        &args.pid,
        args.cgroup.as_deref(),
        &devices,
    )?;
    // The I/O of a stacked device, not again that of the devices below it.
    target.devices.truncate(1);
    let buffer = args.buffer.map_or(64 << 20, |size| size.get());
    if !BUFFERS.contains(&buffer) {
        return Err("--buffer: 64k to 128m".to_owned());
    }
    let to_stdout = args.output == Path::new("-");
    let first = match args.rotate {
        Some(_) => first_number(&args.output).map_err(|error| {
            format!(
                "--rotate: {}: which files there are cannot be read: {error}",
                args.output.display()
            )
        })?,
        None => 1,
    };
    let output = numbered(&args.output, first);
    if to_stdout && std::io::stdout().is_terminal() {
        return Err("-o -: the trace is binary; write it to a file or a pipe".to_owned());
    }
    // Before the file, so that a refusal leaves an older trace as it was.
    let tracefs = Tracefs::open().map_err(needs)?;
    match remove_dead_instances(tracefs.root()) {
        Ok(removed) => {
            for name in removed {
                eprint_line!(
                    "fathom capture: removed the trace instance {name} of a fathom that was killed"
                );
            }
        }
        Err(error) => eprint_line!("fathom capture: {error}"),
    }
    let mut session =
        TraceSession::start(tracefs.root(), &trace_options(&target, &devices, buffer))
            .map_err(needs)?;
    let out: Box<dyn Write> = if to_stdout {
        Box::new(std::io::stdout())
    } else {
        Box::new(
            Outputs::default()
                .stream(&output, OutputName::Explicit)
                .map_err(|error| error.to_string())?,
        )
    };
    if !to_stdout {
        warn_of_own_writes(&output, &target, &devices);
    }
    if first > 1 {
        note_line!(
            "fathom capture: the files up to {} are of an earlier capture and stay as they are; this one begins with {}",
            numbered(&args.output, first - 1).display(),
            output.display()
        );
    }
    let mut file = TraceFile::new(
        out,
        args.max_size.map(|size| size.get()),
        args.last.map(|last| last.as_nanos() as u64),
    );
    if let Some(keep) = args.rotate {
        file.rotate(next_files(args.output.clone(), first, keep));
    }
    let mut recorder = Recorder::new(
        target.filter(),
        devices.clone(),
        args.names,
        args.start_above.is_none(),
    );
    note_line!(
        "fathom capture: {} {}; Ctrl-C ends {}",
        target.name,
        match args.runtime {
            Some(time) => format!("for {}", duration(time.as_nanos() as f64)),
            None => "until Ctrl-C".to_owned(),
        },
        if args.runtime.is_some() {
            "earlier"
        } else {
            "with a valid file"
        }
    );
    let cpu_before = own_cpu_ns();
    let started = monotonic_ns();
    let ended = match record(
        args,
        &target,
        &devices,
        &mut session,
        &mut recorder,
        &mut file,
    ) {
        Ok(ended) => ended,
        Err(error) => return Err(error.to_string()),
    };
    let (totals, _) = session
        .finish(&mut recorder)
        .map_err(|error| error.to_string())?;
    let open = recorder.open();
    match &ended {
        Ended::Full => note_line!("fathom capture: --max-size is reached"),
        Ended::DeviceGone => note_line!("fathom capture: the device is gone"),
        Ended::Triggered(p99) => note_line!(
            "fathom capture: the 99th percentile of the last second is {}: ended by --stop-above",
            duration(*p99)
        ),
        _ => {}
    }
    let (mut failed, mut interrupted) = (None, false);
    match ended {
        Ended::Failed(error) => failed = Some(error),
        ref other => {
            interrupted = matches!(other, Ended::Interrupted);
            let end = |ios| {
                CaptureWriter::end(CaptureCounts {
                    ios,
                    events: totals.events,
                    lost: totals.lost,
                    open,
                })
            };
            let rest = recorder.chunks(monotonic_ns());
            failed = file
                .add(rest)
                .and_then(|_| file.finish(end))
                .err()
                .or(failed);
        }
    }
    let cpu_ns = own_cpu_ns() - cpu_before;
    let seconds = (monotonic_ns() - started) as f64 / 1e9;
    let text = summary(&file, totals.lost, open, seconds, cpu_ns, failed.is_none());
    if to_stdout {
        note_line!("{}", text.trim_end());
    } else {
        print(&format!(
            "{}: {text}",
            printable(&output.display().to_string())
        ));
    }
    Ok(match failed {
        Some(error) => {
            eprint_line!(
                "fathom capture: cannot write {}: {error}; the trace is valid up to here",
                numbered(&args.output, first + file.files() - 1).display()
            );
            Outcome::Bad
        }
        // Without --runtime, Ctrl-C is how it ends.
        None if interrupted && args.runtime.is_some() => Outcome::Interrupted,
        None => Outcome::Good,
    })
}

/// Opens the files after the first one, and removes those of this capture that are too old.
fn next_files(output: PathBuf, first: u64, keep: u64) -> NextFile {
    let outputs = Outputs::default();
    Box::new(move |file_number| {
        let number = first + file_number - 1;
        let file = outputs
            .stream(&numbered(&output, number), OutputName::Explicit)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        if file_number > keep {
            match std::fs::remove_file(numbered(&output, number - keep)) {
                // Who moved it away wants to keep it.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(Box::new(file))
    })
}

/// The number after that of the last file of an earlier rotation; 1 if there is none.
fn first_number(output: &Path) -> std::io::Result<u64> {
    let has_data = std::fs::metadata(output).is_ok_and(|file| file.is_file() && file.len() > 0);
    let mut last = u64::from(has_data);
    let folder = match output.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Some(name) = output.file_name() else {
        return Ok(1);
    };
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?.file_name();
        let number = entry
            .as_encoded_bytes()
            .strip_prefix(name.as_encoded_bytes())
            .and_then(|rest| std::str::from_utf8(rest.strip_prefix(b".")?).ok())
            // Only names that a rotation makes.
            .filter(|digits| !digits.starts_with('0') && digits.bytes().all(|c| c.is_ascii_digit()))
            .and_then(|digits| digits.parse::<u64>().ok())
            .filter(|number| *number < 1 << 60);
        last = last.max(number.unwrap_or(0));
    }
    Ok(last + 1)
}

/// The name of a file of a rotation: the first one has no number.
fn numbered(output: &Path, number: u64) -> PathBuf {
    if number == 1 {
        return output.to_owned();
    }
    let mut name = output.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Without the tracepoints there is no trace; the counters of the kernel do not replace them.
fn needs(error: TraceError) -> String {
    match error {
        TraceError::NoPermission => {
            "recording block tracepoints needs root; run it with sudo".to_owned()
        }
        error => error.to_string(),
    }
}

fn trace_options(
    target: &ObservedTarget,
    devices: &BlockDevices,
    buffer_bytes: u64,
) -> TraceOptions {
    let limits = match target.devices.as_slice() {
        [] => devices.all(),
        some => some
            .iter()
            .map(|number| (*number, devices.limits(*number)))
            .collect(),
    };
    let mut options = TraceOptions {
        devices: target.devices.clone(),
        buffer_bytes,
        bio_devices: limits
            .iter()
            .filter(|(_, limits)| limits.bio_based)
            .map(|(number, _)| *number)
            .collect(),
        ..TraceOptions::default()
    };
    let bios_only = limits.values().all(|limits| limits.bio_based);
    options.tracepoints.retain(|one| match one {
        Tracepoint::BioQueue | Tracepoint::Split | Tracepoint::BioComplete => true,
        // When an I/O enters the scheduler is not recorded.
        Tracepoint::Insert => false,
        _ => !bios_only,
    });
    options
}

/// The writes of the trace are in the trace if it is on the device.
fn warn_of_own_writes(output: &Path, target: &ObservedTarget, devices: &BlockDevices) {
    let own = ObservedTarget::of(Some(output), &[], None, devices);
    let own = own.map(|own| own.devices).unwrap_or_default();
    if target.devices.iter().any(|device| own.contains(device)) {
        note_line!(
            "fathom capture: {} is on the device that is recorded: its own writes are in the trace (about 10 bytes for each I/O)",
            output.display()
        );
    }
}

fn record(
    args: &CaptureArgs,
    target: &ObservedTarget,
    devices: &BlockDevices,
    session: &mut TraceSession,
    recorder: &mut Recorder,
    file: &mut TraceFile,
) -> Result<Ended, TraceError> {
    let signals = interrupts();
    let header = CaptureWriter::header(&CaptureHeader {
        program: concat!("fathom ", env!("CARGO_PKG_VERSION")).to_owned(),
        started_unix_ns: crate::machine::unix_now_ns(),
        anonymous: !args.names,
    });
    if let Err(error) = file.add(vec![header]) {
        return Ok(Ended::Failed(error));
    }
    let attached = devices.attachments(&target.devices);
    let start = monotonic_ns();
    let mut armed = args.start_above.is_none();
    // With a trigger the time begins when it does.
    let mut end = args
        .runtime
        .filter(|_| armed)
        .map(|runtime| start + runtime.as_nanos() as u64);
    let mut next_second = start + SECOND_NS;
    loop {
        if signals.load(Relaxed) > 0 {
            return Ok(Ended::Interrupted);
        }
        let now = monotonic_ns();
        if end.is_some_and(|end| now >= end) {
            return Ok(Ended::Runtime);
        }
        if session.poll(recorder)? < FULL {
            let left = end.map_or(u64::MAX, |end| end.saturating_sub(monotonic_ns()));
            std::thread::sleep(POLL_INTERVAL.min(Duration::from_nanos(left)));
        }
        let is_second = now >= next_second;
        if !is_second && recorder.waiting() < MANY {
            continue;
        }
        // What was polled before `now` are all events up to a little before.
        match file.add(recorder.chunks(now.saturating_sub(SECOND_NS / 100))) {
            Ok(true) => {}
            Ok(false) => return Ok(Ended::Full),
            Err(error) => return Ok(Ended::Failed(error)),
        }
        if !is_second {
            continue;
        }
        next_second = now + SECOND_NS;
        let latencies = recorder.take_latencies();
        let p99 = latencies
            .percentile(99.0)
            .filter(|_| latencies.count() >= ENOUGH);
        match p99 {
            Some(p99) if !armed && args.start_above.is_some_and(|limit| p99 > limit) => {
                armed = true;
                recorder.arm();
                end = args.runtime.map(|runtime| now + runtime.as_nanos() as u64);
                note_line!(
                    "fathom capture: the 99th percentile of the last second is {}: started by --start-above",
                    duration(p99)
                );
            }
            Some(p99) if armed && args.stop_above.is_some_and(|limit| p99 > limit) => {
                return Ok(Ended::Triggered(p99));
            }
            _ => {}
        }
        let is_attached = |number: &_| devices.is_attached(*number, &attached);
        if !target.devices.is_empty() && !target.devices.iter().any(is_attached) {
            return Ok(Ended::DeviceGone);
        }
    }
}

fn summary(
    file: &TraceFile,
    lost: u64,
    open: u64,
    seconds: f64,
    cpu_ns: u64,
    is_whole: bool,
) -> String {
    let mut text = format!("{} I/Os", thousands(file.ios));
    if let Some((first, last)) = file.covers {
        text += &format!(" of {}", duration((last - first) as f64));
    }
    text += &format!(", {}", bytes(file.bytes));
    if file.files() > 1 {
        text += &format!(" in {} files", file.files());
    }
    if file.ios > 0 {
        text += &format!(
            " ({:.1} bytes for each I/O)",
            file.bytes as f64 / file.ios as f64
        );
    }
    text += &format!(
        ", {:.1} % of a CPU\n",
        cpu_ns as f64 / 1e7 / seconds.max(1e-3)
    );
    if lost > 0 {
        text += &format!(
            "{} events were lost: I/Os are missing, and the fidelity score falls; a larger --buffer holds more\n",
            thousands(lost)
        );
    }
    if open > 0 && is_whole {
        text += &format!("{} I/Os were not complete at the end\n", thousands(open));
    }
    text
}
