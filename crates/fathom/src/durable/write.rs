//! `fathom durable write`: commits records and sends their acknowledgements until the power is cut.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fathom_durable::log::{Begin, CycleLog, Log};
use fathom_durable::{FORMAT, Geometry, RunId, WriteOptions};

use crate::durable::files::{self, StreamFiles, WriteError};
use crate::durable::recorder::{Address, Link, Recorder, Sink};
use crate::durable::{boot, check, random};
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
pub fn write(options: &WriteOptions) -> Result<Outcome, String> {
    let recorder = open_recorder(options)?;
    let (log, _) = recorder.fetch()?;
    cycle(options, &recorder, &log)
}

/// Checks the last cycle, then starts the next one until all are done.
///
/// # Errors
/// As [`write()`], and when the last cycle cannot be checked.
pub fn resume(options: &WriteOptions) -> Result<Outcome, String> {
    let recorder = open_recorder(options)?;
    let (log, second_host) = recorder.fetch()?;
    let (mut log, mut done) = (log, 0);
    if let Some(current) = log.current.take() {
        let geometry = current.begin.geometry.clone();
        let subject = check::Subject {
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
    cycle(options, &recorder, &log).inspect(|_| {
        if options.cut.is_none() {
            note_line!("fathom durable: cycle {} ended", done + 1);
        }
    })
}

fn open_recorder(options: &WriteOptions) -> Result<Recorder, String> {
    let recorder = Recorder::new(
        &options.recorder,
        options.token_file.as_deref(),
        options.tls_fingerprint,
        options.tls_ca.as_deref(),
    )?;
    if let Address::File(file) = recorder.address()
        && files::same_file_system(file, &options.path)
    {
        return Err(format!(
            "--recorder={}: it is on the file system under test, which would lose the acknowledgements with the data; name a file \
             on another disk, or a recorder on another host",
            file.display()
        ));
    }
    Ok(recorder)
}

/// One cycle.
fn cycle(options: &WriteOptions, recorder: &Recorder, log: &Log) -> Result<Outcome, String> {
    let (run, cycle, is_new) = next_cycle(&options.path, log)?;
    let geometry = geometry(options, run, cycle)?;
    if is_new {
        files::create_run(&options.path, run)?;
    }
    let begin = Begin {
        geometry: geometry.clone(),
        boot: boot()?,
    };
    // Before the files of the last cycle are removed: from now on nobody expects them.
    let link = recorder.begin(begin)?;
    files::remove_earlier_cycles(&options.path, cycle)?;
    let directory = files::create_cycle(&options.path, &geometry)?;
    note_line!(
        "fathom durable: run {run}, cycle {cycle}: {}, {} threads, commits of {} x {} bytes; cut the power while it runs",
        geometry.method,
        geometry.streams.len(),
        geometry.records_per_commit,
        geometry.record_bytes
    );
    let end = load(options, &geometry, &directory, &link);
    let stored = link.stored();
    let interrupted = matches!(end, Ok(End::Interrupted));
    // Errors are expected of a device without power. After any other error the machine runs on, and the cache of the device can
    // reach the media before a later cut.
    let is_cut = matches!(&end, Err(error) if options.device_cut && error.is_device_lost);
    let ended = link.end(!is_cut);
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
fn next_cycle(path: &Path, log: &Log) -> Result<(RunId, u32, bool), String> {
    let own = files::run_of(path)?;
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
        (Some(run), _) if !files::cycle_directory(path, 1).exists() => Ok((run, 1, false)),
        (Some(run), _) => Err(format!(
            "{} belongs to run {run}, and the recorder has another one; name a new directory",
            path.display()
        )),
        (None, _) => {
            let [a, b, c, d, e, f, g, h, ..] = random()?;
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

fn load(
    options: &WriteOptions,
    geometry: &Geometry,
    directory: &Path,
    link: &Link,
) -> Result<End, WriteError> {
    let interrupts = fathom_linux::interrupts();
    let stop = AtomicBool::new(false);
    let commits = AtomicU64::new(0);
    let failure: Mutex<Option<WriteError>> = Mutex::new(None);
    let mut cut = Cut::new(options)?;
    let result = std::thread::scope(|scope| {
        for stream in 0..geometry.streams.len() as u16 {
            let (sink, stop, commits, failure) = (link.sink(), &stop, &commits, &failure);
            scope.spawn(move || {
                if let Err(error) = run_stream(geometry, directory, stream, &sink, stop, commits) {
                    stop.store(true, Ordering::Relaxed);
                    failure
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .get_or_insert(error);
                }
            });
        }
        let mut progress = Instant::now();
        let result = loop {
            std::thread::sleep(POLL_INTERVAL);
            if interrupts.load(Ordering::Relaxed) > 0 {
                break Ok(End::Interrupted);
            }
            if stop.load(Ordering::Relaxed) {
                break Ok(End::Cut);
            }
            if let Some(error) = link.failure() {
                break Err(error);
            }
            if let Err(error) = cut.poll() {
                break Err(error);
            }
            if progress.elapsed() >= PROGRESS_INTERVAL {
                progress = Instant::now();
                note_line!(
                    "fathom durable: {} commits, {} acknowledgements stored",
                    commits.load(Ordering::Relaxed),
                    link.stored()
                );
            }
        };
        stop.store(true, Ordering::Relaxed);
        if result.is_err() {
            link.abort("the writer stopped");
        }
        result
    });
    let failure = failure
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match (result, failure) {
        (Err(error), _) => Err(error.into()),
        (Ok(_), Some(error)) => Err(error),
        (Ok(end), None) => Ok(end),
    }
}

fn run_stream(
    geometry: &Geometry,
    directory: &Path,
    stream: u16,
    sink: &Sink,
    stop: &AtomicBool,
    commits: &AtomicU64,
) -> Result<(), WriteError> {
    let mut files = StreamFiles::new(geometry, directory, stream)?;
    files.prepare(sink)?;
    for commit in geometry.first_commit(stream).. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        files.commit(commit, sink)?;
        sink.acknowledge(stream, commit)?;
        commits.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The command that cuts the power, at a random time.
struct Cut {
    command: Option<String>,
    due: Instant,
    child: Option<Child>,
    ended: Option<Instant>,
}

impl Cut {
    fn new(options: &WriteOptions) -> Result<Cut, String> {
        let after_ms = options.cut.as_ref().map_or(0, |cut| cut.after_ms);
        let [a, b, ..] = random()?;
        let share = f64::from(u16::from_le_bytes([a, b])) / f64::from(u16::MAX);
        let wait = Duration::from_millis(after_ms).mul_f64(0.5 + share / 2.0);
        Ok(Cut {
            command: options.cut.as_ref().map(|cut| cut.command.clone()),
            due: Instant::now() + wait,
            child: None,
            ended: None,
        })
    }

    /// Runs the command when it is due.
    fn poll(&mut self) -> Result<(), String> {
        let Some(command) = &self.command else {
            return Ok(());
        };
        let fail = |what: String| Err(format!("--cut: '{command}' {what}"));
        if let Some(ended) = self.ended {
            return if ended.elapsed() < CUT_TIMEOUT {
                Ok(())
            } else {
                fail(format!(
                    "ended {} s ago, and this machine still runs",
                    CUT_TIMEOUT.as_secs()
                ))
            };
        }
        let Some(child) = &mut self.child else {
            if Instant::now() >= self.due {
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
                self.ended = Some(Instant::now());
                Ok(())
            }
            Ok(Some(status)) => fail(format!("ended with {status}")),
            Err(error) => fail(format!("cannot be waited for: {error}")),
        }
    }
}
