//! `fathom durable write`: commits records and sends their acknowledgements until the power is cut.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fathom_durable::log::{Begin, CycleLog, Log};
use fathom_durable::{FORMAT, Geometry, RunId, WriteOptions};

use crate::durable::check;
use crate::durable::files::{self, StreamFiles, WriteError};
use crate::durable::recorder::{Address, Link, Recorder, Sink};
use crate::durable::world::{Crew, World, lock};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line};

/// How often the state of the cycle is inspected.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often progress is printed.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// Time that the power has to fail after the command of `--cut` ended.
const CUT_TIMEOUT: Duration = Duration::from_secs(120);

/// Starts the next cycle of the run in the directory, or a new run.
///
/// # Errors
/// When the directory, the recorder or the disk cannot be used.
pub fn write(world: &Arc<dyn World>, options: &WriteOptions) -> Result<Outcome, String> {
    write_with(world, options, &open_recorder(world, options)?)
}

/// The same, with a recorder that is known.
///
/// # Errors
/// As [`write()`].
pub fn write_with(
    world: &Arc<dyn World>,
    options: &WriteOptions,
    recorder: &Recorder,
) -> Result<Outcome, String> {
    let (log, _) = recorder.fetch()?;
    cycle(world, options, recorder, &log)
}

/// Checks the last cycle, then starts the next one until all are done.
///
/// # Errors
/// As [`write()`], and when the last cycle cannot be checked.
pub fn resume(world: &Arc<dyn World>, options: &WriteOptions) -> Result<Outcome, String> {
    let recorder = open_recorder(world, options)?;
    let (log, second_host) = recorder.fetch()?;
    let (mut log, mut done) = (log, 0);
    if let Some(current) = log.current.take() {
        let geometry = current.begin.geometry.clone();
        let subject = check::Subject {
            world,
            path: &options.path,
            device_cut: options.device_cut,
            unreadable: None,
            recorder: &recorder,
            second_host,
        };
        let certificate = check::certificate(&subject, &current, &log)?;
        done = geometry.cycle;
        note_line!(
            "fathom durable: after cycle {done}: {}: {}",
            certificate.verdict.name(),
            certificate.reason
        );
        let all = options.cut.as_ref().map_or(u32::MAX, |cut| cut.cycles);
        if done >= all {
            return Ok(check::print_text(&certificate));
        }
        log.checked = certificate.cycles;
        log.current = Some(current);
    }
    cycle(world, options, &recorder, &log).inspect(|_| {
        if options.cut.is_none() {
            note_line!("fathom durable: cycle {} ended", done + 1);
        }
    })
}

fn open_recorder(world: &Arc<dyn World>, options: &WriteOptions) -> Result<Recorder, String> {
    let recorder = Recorder::new(
        world,
        &options.recorder,
        options.token_file.as_deref(),
        options.tls_fingerprint,
        options.tls_ca.as_deref(),
    )?;
    check_place(world, options, &recorder)?;
    Ok(recorder)
}

/// Whether the recorder is not on the disk under test.
///
/// # Errors
/// When it is.
pub fn check_place(
    world: &Arc<dyn World>,
    options: &WriteOptions,
    recorder: &Recorder,
) -> Result<(), String> {
    if let Address::File(file) = recorder.address()
        && world.files().is_same(file, &options.path)
    {
        return Err(format!(
            "--recorder={}: it is on the file system under test, which would lose the acknowledgements with the data; name a file \
             on another disk, or a recorder on another host",
            file.display()
        ));
    }
    Ok(())
}

/// One cycle.
fn cycle(
    world: &Arc<dyn World>,
    options: &WriteOptions,
    recorder: &Recorder,
    log: &Log,
) -> Result<Outcome, String> {
    let (run, cycle, is_new) = next_cycle(&**world, &options.path, log)?;
    let geometry = Arc::new(geometry(options, run, cycle)?);
    if is_new {
        files::create_run(world.files(), &options.path, run)?;
    }
    let begin = Begin {
        geometry: Geometry::clone(&geometry),
        boot: world.boot()?,
    };
    // Before the files of the last cycle are removed: from now on nobody expects them.
    let link = recorder.begin(begin)?;
    files::remove_earlier_cycles(world.files(), &options.path, cycle)?;
    let directory = files::create_cycle(world.files(), &options.path, &geometry)?;
    note_line!(
        "fathom durable: run {run}, cycle {cycle}: {}, {} threads, commits of {} x {} bytes; cut the power while it runs",
        geometry.method,
        geometry.streams.len(),
        geometry.records_per_commit,
        geometry.record_bytes
    );
    let end = load(world, options, &geometry, &directory, &link);
    let stored = link.stored();
    let interrupted = matches!(end, Ok(End::Interrupted));
    // Errors are expected of a device without power. After any other error the machine runs on, and the cache of the device can
    // reach the media before a later cut.
    let is_cut = matches!(&end, Err(error) if options.device_cut && error.is_device_lost);
    let ended = link.end(!is_cut);
    // The recorder may not know: then the check must not take a later cut for one while it wrote.
    if !is_cut && (end.is_err() || ended.is_err()) {
        // A disk that does not even store this is not believed by the check either.
        let _ = files::mark_stopped(world.files(), &directory);
    }
    match end.map_err(|error| error.text).and(ended) {
        Ok(()) if interrupted => {
            note_line!(
                "fathom durable: interrupted; {stored} acknowledgements are stored, and the writer stopped before a cut"
            );
            Ok(Outcome::Interrupted)
        }
        Ok(()) => Ok(Outcome::Good),
        Err(error) => {
            eprint_line!(
                "fathom durable write: {error}\nstopped after {stored} stored acknowledgements; nothing after them is claimed. The \
                 cycle is undecided unless a check finds a loss."
            );
            Ok(Outcome::Undecided)
        }
    }
}

/// The run and the number of the cycle that comes next, and whether the run is new.
fn next_cycle(world: &dyn World, path: &Path, log: &Log) -> Result<(RunId, u32, bool), String> {
    let own = files::run_of(world.files(), path)?;
    let unchecked = |current: &CycleLog| !current.is_checked(log);
    match (own, &log.current) {
        (_, Some(current)) if unchecked(current) => Err(format!(
            "cycle {} of run {} is not checked yet: run `fathom durable check` first, or use another log of the recorder",
            current.begin.geometry.cycle, current.begin.geometry.run
        )),
        (Some(run), Some(current)) if current.begin.geometry.run == run => {
            Ok((run, current.begin.geometry.cycle + 1, false))
        }
        // The run was created, and its first cycle did not begin.
        (Some(run), _) if !world.files().exists(&files::cycle_directory(path, 1)) => {
            Ok((run, 1, false))
        }
        (Some(run), _) => Err(format!(
            "{} belongs to run {run}, and the recorder has another one; name a new directory",
            path.display()
        )),
        (None, _) => {
            let [a, b, c, d, e, f, g, h, ..] = world.random()?;
            let run = RunId(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
            Ok((run, 1, true))
        }
    }
}

fn geometry(options: &WriteOptions, run: RunId, cycle: u32) -> Result<Geometry, String> {
    let method = options.method(cycle);
    let streams = Geometry::streams_of(method, &options.layouts, options.threads);
    let commit_bytes = u64::from(options.record_bytes) * u64::from(options.records_per_commit);
    let geometry = Geometry {
        format: FORMAT.to_owned(),
        run,
        cycle,
        method,
        record_bytes: options.record_bytes,
        records_per_commit: options.records_per_commit,
        slots: Geometry::slots_for(options.size, streams.len(), commit_bytes),
        streams,
    };
    geometry.validate().map_err(|error| error.to_string())?;
    Ok(geometry)
}

/// Why the load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Interrupted,
    Cut,
}

/// What the streams of a cycle share.
struct Load {
    world: Arc<dyn World>,
    geometry: Arc<Geometry>,
    directory: PathBuf,
    stop: AtomicBool,
    commits: AtomicU64,
    failure: Mutex<Option<WriteError>>,
}

fn load(
    world: &Arc<dyn World>,
    options: &WriteOptions,
    geometry: &Arc<Geometry>,
    directory: &Path,
    link: &Link,
) -> Result<End, WriteError> {
    let load = Arc::new(Load {
        world: Arc::clone(world),
        geometry: Arc::clone(geometry),
        directory: directory.to_owned(),
        stop: AtomicBool::new(false),
        commits: AtomicU64::new(0),
        failure: Mutex::new(None),
    });
    let mut cut = Cut::new(&**world, options)?;
    let crew = Crew::default();
    let started = (0..geometry.streams.len() as u16).try_for_each(|stream| {
        let (load, sink) = (Arc::clone(&load), link.sink());
        crew.spawn(&**world, "commit", move || {
            if let Err(error) = run_stream(&load, stream, &sink) {
                load.stop.store(true, Ordering::Relaxed);
                lock(&load.failure).get_or_insert(error);
            }
        })
    });
    let result = started.and_then(|()| watch(&load, link, &mut cut));
    load.stop.store(true, Ordering::Relaxed);
    if result.is_err() {
        link.abort("the writer stopped");
    }
    crew.join(&**world);
    match (result, lock(&load.failure).take()) {
        (Err(error), _) => Err(error.into()),
        (Ok(_), Some(error)) => Err(error),
        (Ok(end), None) => Ok(end),
    }
}

/// Waits for the end of a cycle, and prints progress.
fn watch(load: &Load, link: &Link, cut: &mut Cut) -> Result<End, String> {
    let world = &*load.world;
    let mut progress = world.now();
    loop {
        world.sleep(POLL_INTERVAL);
        if world.is_interrupted() {
            return Ok(End::Interrupted);
        }
        if load.stop.load(Ordering::Relaxed) {
            return Ok(End::Cut);
        }
        if let Some(error) = link.failure() {
            return Err(error);
        }
        cut.poll(world)?;
        if world.elapsed(progress) >= PROGRESS_INTERVAL {
            progress = world.now();
            note_line!(
                "fathom durable: {} commits, {} acknowledgements stored",
                load.commits.load(Ordering::Relaxed),
                link.stored()
            );
        }
    }
}

fn run_stream(load: &Load, stream: u16, sink: &Sink) -> Result<(), WriteError> {
    let geometry = &load.geometry;
    let mut files = StreamFiles::new(load.world.files(), geometry, &load.directory, stream)?;
    files.prepare(sink)?;
    for commit in geometry.first_commit(stream).. {
        if load.stop.load(Ordering::Relaxed) {
            break;
        }
        files.commit(commit, sink)?;
        sink.acknowledge(stream, commit)?;
        load.commits.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The command that cuts the power, at a random time.
struct Cut {
    command: Option<String>,
    due: Duration,
    child: Option<Child>,
    ended: Option<Duration>,
}

impl Cut {
    fn new(world: &dyn World, options: &WriteOptions) -> Result<Cut, String> {
        let after_ms = options.cut.as_ref().map_or(0, |cut| cut.after_ms);
        let [a, b, ..] = world.random()?;
        let share = f64::from(u16::from_le_bytes([a, b])) / f64::from(u16::MAX);
        let wait = Duration::from_millis(after_ms).mul_f64(0.5 + share / 2.0);
        Ok(Cut {
            command: options.cut.as_ref().map(|cut| cut.command.clone()),
            due: world.now() + wait,
            child: None,
            ended: None,
        })
    }

    /// Runs the command when it is due.
    fn poll(&mut self, world: &dyn World) -> Result<(), String> {
        let Some(command) = &self.command else {
            return Ok(());
        };
        let fail = |what: String| Err(format!("--cut: '{command}' {what}"));
        if let Some(ended) = self.ended {
            return if world.elapsed(ended) < CUT_TIMEOUT {
                Ok(())
            } else {
                fail(format!(
                    "ended {} s ago, and this machine still runs",
                    CUT_TIMEOUT.as_secs()
                ))
            };
        }
        let Some(child) = &mut self.child else {
            if world.now() >= self.due {
                let child = Command::new("/bin/sh")
                    .args(["-c", command])
                    .stdin(Stdio::null())
                    .stdout(std::io::stderr())
                    .spawn();
                match child {
                    Ok(child) => self.child = Some(child),
                    Err(error) => return fail(format!("cannot be run: {error}")),
                }
            }
            return Ok(());
        };
        match child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) if status.success() => {
                self.ended = Some(world.now());
                Ok(())
            }
            Ok(Some(status)) => fail(format!("ended with {status}")),
            Err(error) => fail(format!("cannot be waited for: {error}")),
        }
    }
}
