//! `fathom replay`: the I/O of a trace on another target, through the replay of `fathom run`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use fathom_cli::{MeasurementFormat, ReplayArgs, ReplayMapping};
use fathom_load::{IoChunk, IoLogSink};
use fathom_model::format::{bytes, duration, printable, thousands};
use fathom_model::{Direction, Histogram, Personality};
use fathom_workload::{
    IoFlags, IoKind, IologText, Mapping, Profile, Profiler, ReadOptions, ReplayChange,
    ReplayTarget, TraceIo, TraceReader, TraceSource as _, fidelity, fidelity_text,
};

use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print};
use crate::{cli, logs, profile, run};

/// Chunks of I/Os on their way to the profile.
const CHUNKS: usize = 1024;
/// Largest queue of a replay at the times of the trace.
const DEEPEST: u32 = 4096;
/// An I/O that is sent so long after its time is late.
const LATE_NS: u64 = 100_000;

/// Where the next run sends its I/Os.
static SINK: Mutex<Option<IoLogSink>> = Mutex::new(None);

/// The sink for all jobs of the next run, if it is a replay. It is given once.
pub fn take_sink() -> Option<IoLogSink> {
    SINK.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Replays the trace that the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ReplayArgs| replay(&args))
}

/// What the first reading of the trace says.
struct Trace {
    name: String,
    options: ReadOptions,
    /// The profile of what is compared: without flushes, whose times a run does not record.
    profile: Profile,
    flushes: u64,
    spans: Vec<u64>,
    depth: f64,
    deepest: u32,
    /// From its first I/O to the last completion, nanoseconds.
    length: u64,
    /// The power of two that divides all offsets and lengths.
    alignment: u64,
}

fn replay(args: &ReplayArgs) -> Result<Outcome, String> {
    let trace = read(args)?;
    let change = change(args, &trace)?;
    let name = virtual_name(&trace.name);
    let (path, options, same) = (args.trace.clone(), trace.options, change.clone());
    logs::provide(
        &name,
        Box::new(move || -> Result<Box<dyn BufRead + Send>, String> {
            let file = File::open(&path).map_err(|error| error.to_string())?;
            let reader = TraceReader::open(file, options).map_err(|error| error.to_string())?;
            Ok(Box::new(BufReader::with_capacity(
                64 << 10,
                IologText::new(reader, same.clone()),
            )))
        }),
    );
    let (chunks, received) = sync_channel(CHUNKS);
    *SINK.lock().unwrap_or_else(PoisonError::into_inner) =
        Some(IoLogSink::new(chunks, 1).of_every_job());
    let watch = watch(received)?;
    let outcome = run::command(
        "fathom replay",
        Personality::Fathom,
        &run_arguments(args, &trace, &name),
    );
    // A run that was refused has not taken it.
    drop(take_sink());
    let done = watch
        .join()
        .map_err(|_| "the profile of the replay stopped by an error".to_owned())?;
    if done.profile.ios() > 0 {
        report(args, &trace, &change, &done);
    }
    Ok(outcome)
}

/// Reads the trace once: what it is, and how far it reaches.
fn read(args: &ReplayArgs) -> Result<Trace, String> {
    if args.trace == Path::new("-") {
        return Err(
            "a replay reads the trace twice: give a file, not the standard input".to_owned(),
        );
    }
    let (name, options) = (
        profile::name(&args.trace),
        profile::read_options(&args.reading)?,
    );
    let file = File::open(&args.trace).map_err(|error| format!("{name}: {error}"))?;
    let failed = |error: fathom_workload::TraceError| format!("{name}: {error}");
    let mut reader = TraceReader::open(file, options).map_err(failed)?;
    let mut profiler = Profiler::default();
    let mut all = Profiler::default();
    let mut spans: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut flushes, mut together, mut first, mut length) = (0, 0, None, 0);
    while let Some(io) = reader.next_io().map_err(failed)? {
        let first = *first.get_or_insert(io.time_ns);
        length = length.max(
            io.time_ns
                .saturating_sub(first)
                .saturating_add(io.latency_ns.unwrap_or(0)),
        );
        let span = spans.entry(io.device).or_default();
        *span = (*span).max(io.end());
        together |= io.offset | u64::from(io.length);
        all.add(&io);
        if io.kind == IoKind::Flush {
            flushes += 1;
            continue;
        }
        let since = (io.time_ns - first) as f64 / args.speed;
        let end = args
            .runtime
            .map_or(f64::INFINITY, |runtime| runtime.as_nanos() as f64);
        if since < end {
            profiler.add(&TraceIo {
                time_ns: since as u64,
                process: 0,
                ..io
            });
        }
    }
    let facts = reader.facts();
    let all = all.finish();
    let moved = all.totals[0].ios + all.totals[1].ios + all.totals[2].ios;
    if moved == 0 {
        return Err(format!("{name}: the trace has no I/O to replay"));
    }
    if args.dependencies && all.with_latency < all.ios() {
        let without = all.ios() - all.with_latency;
        if all.with_latency == 0 {
            return Err(format!(
                "{name}: a trace of format {} without latencies: --dependencies needs to know when each I/O had completed; \
                 --closed keeps the depth, and without both the I/Os are sent at their times",
                facts.format
            ));
        }
        note_line!(
            "fathom replay: {} of {} I/Os have no latency in the trace: no other I/O waits for them",
            thousands(without),
            thousands(all.ios())
        );
    }
    let mut profile = profiler.finish();
    profile.lost = facts.lost_share(all.ios());
    let devices = facts.devices.len().max(1) as u32;
    Ok(Trace {
        name,
        options,
        profile,
        flushes,
        spans: (0..devices)
            .map(|device| spans.get(&device).copied().unwrap_or(0))
            .collect(),
        depth: all.depth.as_ref().map_or(1.0, |depth| depth.mean),
        deepest: all.depth.as_ref().map_or(64, |depth| depth.max),
        length,
        alignment: 1 << together.trailing_zeros().min(20),
    })
}

fn change(args: &ReplayArgs, trace: &Trace) -> Result<ReplayChange, String> {
    let mapping = match args.map {
        None => Mapping::Same,
        Some(ReplayMapping::Wrap) => Mapping::Wrap,
        Some(ReplayMapping::Scale) => Mapping::Scale,
        Some(ReplayMapping::Hash) => Mapping::Hash,
    };
    let mut targets = Vec::new();
    for (index, path) in args.on.iter().enumerate() {
        let shown = path.display();
        let name = path
            .to_str()
            .filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))
            .ok_or_else(|| format!("--on {shown}: a name without blanks is needed"))?;
        let span = trace
            .spans
            .iter()
            .skip(index)
            .step_by(args.on.len())
            .copied()
            .max()
            .unwrap_or(0);
        let there = size_of(path);
        let room = match (args.size, there) {
            (Some(size), _) => size.get(),
            (None, Some(size)) if size > 0 => size,
            _ => span,
        };
        if mapping == Mapping::Same && span > room {
            return Err(format!(
                "the trace reaches to byte {span} ({}), {shown} has {room} ({}); \
                 --map=wrap, scale or hash brings it onto the target",
                bytes(span),
                bytes(room)
            ));
        }
        let largest = trace
            .profile
            .sizes
            .iter()
            .flatten()
            .map(|(size, _)| u64::from(*size))
            .max();
        if room < largest.unwrap_or(0).max(1 << 16) {
            return Err(format!(
                "{shown}: {room} bytes are too few for the I/O of the trace"
            ));
        }
        targets.push(ReplayTarget {
            name: name.to_owned(),
            bytes: room,
            span,
        });
    }
    Ok(ReplayChange {
        targets,
        mapping,
        speed: if args.closed { 1.0 } else { args.speed },
        dependencies: args.dependencies,
    })
}

/// The size of a device or of a file with data.
fn size_of(path: &PathBuf) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.file_type().is_block_device() {
        return Some(metadata.len());
    }
    let mut device = File::open(path).ok()?;
    std::io::Seek::seek(&mut device, std::io::SeekFrom::End(0)).ok()
}

/// A name without the characters that separate names in the option.
fn virtual_name(name: &str) -> String {
    name.replace(|c: char| c == ':' || c == '\\' || c.is_whitespace(), "_")
}

fn run_arguments(args: &ReplayArgs, trace: &Trace, name: &str) -> Vec<String> {
    let depth = if args.closed {
        trace.depth.ceil().max(1.0) as u32
    } else if args.dependencies {
        // No more are in flight than in the trace, but for those without a latency.
        trace.deepest.clamp(1, DEEPEST)
    } else {
        trace.deepest.saturating_mul(4).clamp(256, DEEPEST)
    };
    let direct = !args.buffered && trace.alignment >= 512;
    if !args.buffered && !direct {
        note_line!(
            "fathom replay: the trace is not aligned to 512 bytes: the page cache is used, as with --buffered"
        );
    }
    let mut line = vec![
        "--name=replay".to_owned(),
        format!("--ioengine={}", if direct { "libaio" } else { "io_uring" }),
        format!("--direct={}", u8::from(direct)),
        format!("--iodepth={depth}"),
        format!("--read_iolog={name}"),
    ];
    if args.closed {
        line.push("--replay_no_stall=1".to_owned());
    }
    if let Some(runtime) = args.runtime {
        line.push(format!("--runtime={}ms", runtime.as_millis()));
    }
    line.extend(args.destroy.iter().map(|code| format!("--destroy={code}")));
    if let Some(output) = &args.result.output {
        line.push(format!("--output={}", output.display()));
    }
    match args.format() {
        MeasurementFormat::Text => {}
        MeasurementFormat::Json => line.push("--output-format=json".to_owned()),
        MeasurementFormat::OpenMetrics => line.push("--output-format=openmetrics".to_owned()),
        MeasurementFormat::Prometheus => line.push("--output-format=prometheus".to_owned()),
    }
    if args.store.no_store {
        line.push("--no-store".to_owned());
    } else if let Some(store) = &args.store.source.store {
        line.push(format!("--store={store}"));
    }
    let labels = args.store.label.iter();
    line.extend(labels.map(|(name, value)| format!("--label={name}={value}")));
    if crate::print::is_quiet() {
        line.push("--quiet".to_owned());
    }
    line
}

/// What was done.
struct Done {
    profile: Profile,
    /// From the time of an I/O to its submission.
    lateness: Histogram,
    late: u64,
    not_logged: u64,
    /// First submission and last completion, nanoseconds.
    covers: Option<(u64, u64)>,
}

/// Collects the I/Os of the run, in order of their submission.
fn watch(received: Receiver<IoChunk>) -> Result<JoinHandle<Done>, String> {
    let body = move || {
        let (mut lateness, mut late, mut not_logged) = (Histogram::new(), 0, 0);
        let mut covers: Option<(u64, u64)> = None;
        let mut sorted = fathom_workload::Sorter::default();
        let mut profiler = Profiler::default();
        for chunk in received {
            not_logged += Direction::ALL
                .iter()
                .map(|direction| chunk.not_logged[*direction])
                .sum::<u64>();
            for io in &chunk.ios {
                let late_by = io.submitted.get().saturating_sub(io.due.get());
                lateness.record(late_by);
                late += u64::from(late_by > LATE_NS);
                let (from, to) = (io.submitted.get(), io.reaped.get());
                covers = Some(
                    covers.map_or((from, to), |(first, last)| (first.min(from), last.max(to))),
                );
                sorted.add(TraceIo {
                    time_ns: io.submitted.get(),
                    latency_ns: io.reaped.get().checked_sub(io.submitted.get()),
                    offset: io.offset,
                    length: io.len,
                    device: io.file,
                    process: 0,
                    kind: match io.direction {
                        Direction::Read => IoKind::Read,
                        Direction::Write => IoKind::Write,
                        Direction::Trim => IoKind::Discard,
                    },
                    flags: IoFlags::default(),
                });
                while let Some(io) = sorted.next(false) {
                    profiler.add(&io);
                }
            }
            chunk.recycle();
        }
        while let Some(io) = sorted.next(true) {
            profiler.add(&io);
        }
        Done {
            profile: profiler.finish(),
            lateness,
            late,
            not_logged,
            covers,
        }
    };
    std::thread::Builder::new()
        .name("replay".to_owned())
        .spawn(body)
        .map_err(|error| format!("cannot start a thread: {error}"))
}

fn report(args: &ReplayArgs, trace: &Trace, change: &ReplayChange, done: &Done) {
    let names: Vec<&str> = change.targets.iter().map(|one| one.name.as_str()).collect();
    let mut text = String::new();
    if let Some((first, last)) = done.covers.filter(|_| args.dependencies) {
        text += &format!(
            "\nBy dependencies: {} for what took {} in the trace\n",
            duration(last.saturating_sub(first) as f64),
            duration(trace.length as f64)
        );
    } else if !args.closed {
        let at = |percentile: f64| duration(done.lateness.percentile(percentile).unwrap_or(0.0));
        let count = done.lateness.count().max(1);
        text += &format!(
            "\nOn time: {:.1} % of the I/Os within 100 us of their time; lateness p50 {}, p99 {}, at most {}\n",
            100.0 - done.late as f64 / count as f64 * 100.0,
            at(50.0),
            at(99.0),
            at(100.0)
        );
    }
    if done.not_logged > 0 {
        text += &format!(
            "{} I/Os are missing in the score: they were faster than they could be noted\n",
            thousands(done.not_logged)
        );
    }
    let found = fidelity(&trace.profile, &done.profile);
    text.push('\n');
    let copy = format!("the replay on {}", printable(&names.join(", ")));
    text += &fidelity_text(&found, &trace.name, &copy);
    if args.closed || args.dependencies {
        text += "The times of the trace were left out: gaps, depth and latency are those of the target.\n";
    }
    if trace.flushes > 0 {
        text += &format!(
            "The {} flushes of the trace are sent, and are not in the score.\n",
            thousands(trace.flushes)
        );
    }
    if args.result.output.is_none() && args.format() == MeasurementFormat::Text {
        print(&text);
    } else {
        note_line!("{}", text.trim());
    }
    if change.mapping != Mapping::Same {
        eprint_line!(
            "fathom replay: --map changes offsets: footprint and sequentiality differ from the trace where the target is smaller"
        );
    }
}
