//! `fathom observe`: the block I/O of any program, from the kernel's tracepoints.

mod audit;
mod counters;
mod file_systems;
pub mod files;
mod stored;
pub mod target;

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_cli::ObserveArgs;
use fathom_linux::{HostWatch, OutputName, Outputs, interrupts};
use fathom_report::{LiveRates, Style, live_rates_text, observation_json, observation_text};
use fathom_trace::{
    BlockDevices, DeviceNumber, Observation, Observer, Processes, TraceError, TraceOptions,
    TraceSession, Tracefs, Tracepoint, monotonic_ns, remove_dead_instances,
};

use self::audit::Audit;
use self::files::NamedFiles;
use self::target::ObservedTarget;
use crate::cli;
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print_to, set_quiet};
use crate::screen;

/// Between two readings of the ring buffers.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Above this share of the ring buffers in use, the next reading follows at once.
pub const FULL: f64 = 0.25;
/// Between two pictures of `--watch`, and two looks at the devices.
const SECOND_NS: u64 = 1_000_000_000;
/// Without an option.
const RUNTIME: Duration = Duration::from_secs(10);
/// The smallest and largest buffers; all memory of an observation stays below 256 MiB.
pub const BUFFERS: std::ops::RangeInclusive<u64> = 64 << 10..=128 << 20;

/// Observes, reports and stores.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ObserveArgs| {
        set_quiet(args.quiet);
        observe(&args)
    })
}

fn observe(args: &ObserveArgs) -> Result<Outcome, String> {
    let devices = BlockDevices::default();
    let mut target = ObservedTarget::of(
        args.path.as_deref(),
        &args.pid,
        args.cgroup.as_deref(),
        &devices,
    )?;
    if args.audit.is_some() {
        target.add_process(std::process::id());
    }
    let buffer = args.buffer.map_or(64 << 20, |size| size.get());
    if !BUFFERS.contains(&buffer) {
        return Err("--buffer: 64k to 128m".to_owned());
    }
    if let Some(size) = args.audit {
        Audit::check(args.path.as_deref(), size.get())?;
    }
    let outputs = Outputs::default();
    let events = match &args.events {
        None => None,
        Some(name) if name == "-" => Some(Box::new(std::io::stdout()) as Box<dyn Write + Send>),
        Some(name) => Some(Box::new(
            outputs
                .stream(Path::new(name), OutputName::Explicit)
                .map_err(|error| format!("--events: {error}"))?,
        ) as Box<dyn Write + Send>),
    };
    let started_unix_ns = crate::machine::unix_now_ns();
    let runtime = args.runtime.unwrap_or(RUNTIME);
    let mut named = match args.files.as_slice() {
        [] => None,
        roots => Some(NamedFiles::new(
            roots,
            target.pids(),
            &target.devices,
            &devices,
        )?),
    };
    let host = HostWatch::start();
    let style = screen::style(
        args.result.output.is_none() && std::io::stdout().is_terminal(),
        "",
    );
    let observation = match trace(
        args,
        &target,
        &devices,
        named.as_mut(),
        events,
        buffer,
        runtime,
    ) {
        Ok(observation) => observation,
        Err(
            error @ (TraceError::NoPermission
            | TraceError::NoTracefs
            | TraceError::Mount(_)
            | TraceError::NoTracepoints
            | TraceError::NoClock),
        ) => return Ok(counters::observe(args, &target, &error, runtime, &style)),
        Err(error) => return Err(error.to_string()),
    };
    let result = stored::result(&observation, runtime, started_unix_ns, host.finish());
    let text = if args.result.is_json() {
        let findings = result.as_ref().map(|(_, findings)| findings);
        let style = crate::output::answer_style();
        observation_json(&observation, findings.map(|findings| (findings, &style)))
    } else {
        observation_text(&observation, &style)
    };
    let outcome = if args.events_on_stdout() && args.result.output.is_none() {
        Outcome::Good
    } else {
        print_to(args.result.output.as_deref(), &text)
    };
    if let Some(named) = named {
        named.report();
    }
    if let Some((recording, findings)) = result {
        stored::store(args, &observation, recording, &findings);
    }
    Ok(match outcome {
        Outcome::Good if interrupts().load(Relaxed) > 0 => Outcome::Interrupted,
        outcome => outcome,
    })
}

/// Records and analyses until the time is over or the user interrupts.
fn trace(
    args: &ObserveArgs,
    target: &ObservedTarget,
    devices: &BlockDevices,
    mut named: Option<&mut NamedFiles>,
    events: Option<Box<dyn Write + Send>>,
    buffer_bytes: u64,
    runtime: Duration,
) -> Result<Observation, TraceError> {
    let tracefs = Tracefs::open()?;
    match remove_dead_instances(tracefs.root()) {
        Ok(removed) => {
            for name in removed {
                eprint_line!(
                    "fathom observe: removed the trace instance {name} of a fathom that was killed"
                );
            }
        }
        Err(error) => eprint_line!("fathom observe: {error}"),
    }
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
        file_maps: named.as_ref().map_or(Vec::new(), |named| named.file_maps()),
        bio_devices: limits
            .iter()
            .filter(|(_, limits)| limits.bio_based)
            .map(|(number, _)| *number)
            .collect(),
        ..TraceOptions::default()
    };
    if limits.values().all(|limits| limits.bio_based) {
        options.tracepoints.retain(|one| {
            matches!(
                one,
                Tracepoint::BioQueue | Tracepoint::Split | Tracepoint::BioComplete
            )
        });
    }
    let mut session = TraceSession::start(tracefs.root(), &options)?;
    let missing = session.missing().to_vec();
    let signals = interrupts();
    let start = monotonic_ns();
    let by_number: HashMap<_, _> = limits.clone().into_iter().collect();
    let mut observer = Observer::new(start, by_number, Processes::default(), target.filter());
    if let Some(named) = &mut named {
        named.begin(observer.files());
    }
    if let Some(out) = events {
        observer = observer.with_sink(request_sink(out, devices));
    }
    note_line!(
        "fathom observe: {} for {}; Ctrl-C ends earlier",
        target.name,
        fathom_model::format::exact_time(fathom_model::Nanos::new(runtime.as_nanos() as u64))
    );
    let audit = match (&args.path, args.audit) {
        (Some(path), Some(size)) => Some(Audit::start(path, size.get()).map_err(TraceError::Load)?),
        _ => None,
    };
    let cpu_before = own_cpu_ns();
    let end = start + runtime.as_nanos() as u64;
    let mut watch = args.watch.then(|| Watch::open(start));
    let mut next_second = start + SECOND_NS;
    let attached = devices.attachments(&target.devices);
    let mut gone = Vec::new();
    let audited = || audit.as_ref().is_some_and(Audit::is_done);
    while signals.load(Relaxed) == 0 && monotonic_ns() < end && !audited() {
        if session.poll(&mut observer)? < FULL {
            let left = end.saturating_sub(monotonic_ns());
            std::thread::sleep(POLL_INTERVAL.min(Duration::from_nanos(left)));
        }
        if let Some(named) = &mut named {
            named.refresh(observer.files());
        }
        let now = monotonic_ns();
        if now >= next_second {
            next_second = now + SECOND_NS;
            for number in &target.devices {
                let name = &limits[number].name;
                if !devices.is_attached(*number, &attached) && !gone.contains(name) {
                    gone.push(name.clone());
                }
            }
            if let Some(watch) = &mut watch {
                watch.show(now, &mut observer, &|number| {
                    limits
                        .get(&number)
                        .map_or_else(|| number.to_string(), |limits| limits.name.clone())
                });
            }
            if !target.devices.is_empty() && gone.len() == target.devices.len() {
                break;
            }
        }
    }
    drop(watch);
    if let Some(audit) = &audit {
        audit.stop();
    }
    let stopped = monotonic_ns();
    let (totals, _) = session.finish(&mut observer)?;
    if let Some(audit) = audit {
        audit.finish().map_err(TraceError::Load)?;
    }
    let cpu_ns = own_cpu_ns() - cpu_before;
    if let Some(named) = named {
        named.finish(observer.files());
    }
    let summary = observer.finish(stopped);
    let mut limits = limits;
    for number in summary.devices.keys() {
        limits
            .entry(*number)
            .or_insert_with(|| devices.limits(*number));
    }
    Ok(Observation {
        summary,
        limits,
        totals,
        missing,
        cpu_ns,
        gone,
        target: target.name.clone(),
    })
}

/// Writes each request as a line. A reader that has closed its end does not stop the observation.
fn request_sink(out: Box<dyn Write + Send>, devices: &BlockDevices) -> fathom_trace::RequestSink {
    let mut out = std::io::BufWriter::new(out);
    let devices = devices.clone();
    let mut names: HashMap<DeviceNumber, String> = HashMap::new();
    Box::new(move |request, process| {
        let name = names
            .entry(request.device)
            .or_insert_with(|| devices.limits(request.device).name);
        let line = fathom_report::request_event(name, request, process);
        let _ = out.write_all(line.as_bytes());
    })
}

/// CPU time of this thread, which reads and analyses.
pub fn own_cpu_ns() -> u64 {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    cpu.tv_sec as u64 * SECOND_NS + cpu.tv_nsec as u64
}

/// The view of `--watch`: it replaces itself on a terminal, and follows itself elsewhere.
struct Watch {
    before: LiveRates,
    style: Style,
    terminal: bool,
}

impl Watch {
    fn open(start: u64) -> Self {
        let terminal = std::io::stdout().is_terminal();
        if terminal {
            let _ = std::io::stdout().write_all(b"\x1b[?1049h\x1b[?25l");
        }
        Self {
            before: LiveRates::at(start, &fathom_trace::Summary::default()),
            style: screen::style(terminal, ""),
            terminal,
        }
    }

    fn show(&mut self, now: u64, observer: &mut Observer, name: &dyn Fn(DeviceNumber) -> String) {
        let rates = LiveRates::at(now, observer.so_far());
        let mut text = live_rates_text(&self.before, &rates, name, &self.style);
        self.before = rates;
        if self.terminal {
            let lines: Vec<String> = text
                .lines()
                .map(|line| line.chars().take(self.style.width).collect())
                .collect();
            text = format!("\x1b[H\x1b[2J{}\n", lines.join("\n"));
        } else {
            text.push('\n');
        }
        let mut out = std::io::stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.terminal {
            let mut out = std::io::stdout();
            let _ = out
                .write_all(b"\x1b[?25h\x1b[?1049l")
                .and_then(|()| out.flush());
        }
    }
}
