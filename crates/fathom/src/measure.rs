//! One run of a plan on this machine, with its log files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_linux::{
    ConditionsWatch, DeviceWatch, HostWatch, LinuxClock, LinuxHost, OutputError, OutputName,
    Outputs, interrupts,
};
use fathom_load::{HostError, IntervalSink, LoadError, RunHooks, States, Stop};
use fathom_model::{JobError, LogChunk, Nanos, Plan, Progress, Recording};
use fathom_report::{LogWriter, Mode};

use crate::blame::{BlameWatch, is_wanted as is_blame_wanted};
use crate::guard::written_devices;
use crate::logs::replay;
use crate::scratch_devices;

/// errno of a target that another process started to use.
const EBUSY: i32 = 16;
/// Chunks of log entries on their way to the writer.
const CHUNKS: usize = 64;
/// How often the targets are checked, so that a change is noticed within a second.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// errno of a thread that cannot be started.
const EAGAIN: i32 = 11;
/// How long it waits after an abort for each answer of a target.
const PATIENCE_AFTER_ABORT: Duration = Duration::from_millis(200);
/// How long the end of the run waits for the check of the targets.
const PATIENCE_AT_END: Duration = Duration::from_secs(1);
/// How often the writer checks whether the run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `plan` on `host`, as [`measure_and_store`] without storing its intervals.
///
/// # Errors
/// When the files of a job cannot be prepared.
pub fn measure(
    plan: Plan,
    host: LinuxHost,
    clock: LinuxClock,
    progress: &mut dyn FnMut(&Progress),
    is_state_wanted: &mut dyn FnMut(Nanos) -> bool,
    on_state: &mut dyn FnMut(Recording, Option<Nanos>),
) -> Result<(Recording, Option<String>), LoadError> {
    measure_and_store(
        plan,
        host,
        clock,
        progress,
        is_state_wanted,
        on_state,
        RunExtras {
            interval_sink: None,
            end: &|| false,
            before_start: None,
            may_begin: None,
        },
    )
}

/// Additional callbacks of a run.
pub struct RunExtras<'a> {
    /// Receives the intervals during the run.
    pub interval_sink: Option<IntervalSink>,
    /// Called often: whether the run should end now.
    pub end: &'a dyn Fn() -> bool,
    /// Called once, when all files are ready: the load starts when it returns.
    pub before_start: Option<&'a dyn Fn()>,
    /// Whether a job may begin whose turn it is by the order of the plan.
    pub may_begin: Option<&'a dyn Fn(usize) -> bool>,
}

/// Runs `plan` on `host`. The second value is the first error of the log files. Whenever `is_state_wanted` returns true,
/// `on_state` receives the state of the run, with the run's expected length.
///
/// # Errors
/// When the files of a job cannot be prepared.
pub fn measure_and_store(
    plan: Plan,
    host: LinuxHost,
    clock: LinuxClock,
    progress: &mut dyn FnMut(&Progress),
    is_state_wanted: &mut dyn FnMut(Nanos) -> bool,
    on_state: &mut dyn FnMut(Recording, Option<Nanos>),
    extras: RunExtras<'_>,
) -> Result<(Recording, Option<String>), LoadError> {
    let outputs = outputs_excluding_targets(&plan);
    let (logs, chunks) = sync_channel(CHUNKS);
    let over = Arc::new(AtomicBool::new(false));
    let first_job = plan.jobs.first().map(|job| job.name.clone());
    let no_thread = move |error: io::Error| LoadError {
        job: first_job.clone().unwrap_or_default(),
        cause: HostError {
            errno: error.raw_os_error().unwrap_or(EAGAIN),
            what: "cannot start a thread; raise the limit of processes (ulimit -u)".to_owned(),
        },
    };
    let writer =
        write_logs(&plan, outputs.clone(), chunks, Arc::clone(&over)).map_err(&no_thread)?;
    let host = Arc::new(host);
    let watch_devices = DeviceWatch::start(
        plan.jobs
            .iter()
            .filter(|job| job.engine.kind.has_targets())
            .flat_map(|job| &job.files.paths),
    );
    let watch_host = HostWatch::start();
    let paths: Vec<PathBuf> = plan
        .jobs
        .iter()
        .filter(|job| job.engine.kind.has_targets())
        .flat_map(|job| job.files.paths.iter().cloned())
        .collect();
    let conditions = ConditionsWatch::start(&host, clock, &paths);
    let progress = &mut |now: &Progress| {
        if now.layout.is_none() {
            conditions.load_started();
        }
        progress(now);
    };
    let mut no_blame = None;
    let blame = if is_blame_wanted(&plan) {
        BlameWatch::start(&plan, clock)
            .map_err(|why| no_blame = Some(format!("no blame sheet: {why}")))
            .ok()
    } else {
        None
    };
    let signals = interrupts();
    let (changed, watcher) =
        watch_targets(Arc::clone(&host), Arc::clone(&over)).map_err(&no_thread)?;
    let stop = || match signals.load(Relaxed) {
        0 if changed.load(Relaxed) || (extras.end)() => Stop::Drain,
        0 => Stop::No,
        1 => Stop::Drain,
        _ => Stop::Abort,
    };
    let watch = RunHooks {
        stop: &stop,
        progress,
        logs,
        states: Some(States {
            wanted: is_state_wanted,
            take: on_state,
        }),
        interval_sink: extras.interval_sink,
        io_log: blame
            .as_ref()
            .map(|(_, sink)| sink.clone())
            .or_else(crate::replay::take_sink),
        before_start: extras.before_start,
        may_begin: extras.may_begin,
        replays: &replay,
    };
    let written = written_devices(&plan);
    let outcome = fathom_linux::run_load(plan, Arc::clone(&host), &unix_now_ns, watch);
    let elapsed = outcome
        .as_ref()
        .map_or(fathom_model::Nanos::ZERO, |recording| recording.elapsed);
    // After an abort nothing waits for a target that hangs: whatever asks it once more is abandoned.
    let aborted = signals.load(Relaxed) > 1;
    let conditions =
        unless_it_hangs(aborted, move || conditions.finish(elapsed)).unwrap_or_default();
    let blame = blame.and_then(|(blame, _)| unless_it_hangs(aborted, move || blame.finish()));
    over.store(true, Relaxed);
    let log_error = writer
        .join()
        .unwrap_or_else(|_| Some("the log writer stopped".to_owned()));
    watcher.thread().unpark();
    let change = finished_within(
        watcher,
        if aborted {
            PATIENCE_AFTER_ABORT
        } else {
            PATIENCE_AT_END
        },
    )
    .flatten();
    if outcome.is_ok() && !aborted && change.is_none() {
        scratch_devices::renew(&written);
    }
    let released = {
        let host = Arc::clone(&host);
        unless_it_hangs(aborted, move || host.release()).unwrap_or(Ok(()))
    };
    let mut recording = outcome?;
    if let Some(what) = change {
        let at = recording.elapsed;
        let error = JobError {
            errno: EBUSY,
            operation: what,
            at,
        };
        for job in recording.jobs.iter_mut().filter(|job| job.error.is_none()) {
            job.error = Some(error.clone());
        }
    }
    recording.clock = clock.facts();
    recording.host = watch_host.finish();
    recording.conditions = conditions;
    recording.blame = blame;
    recording.messages.extend(no_blame);
    recording.targets =
        unless_it_hangs(aborted, move || watch_devices.finish()).unwrap_or_default();
    if let Err(error) = released {
        recording.messages.push(error.to_string());
    }
    Ok((recording, log_error))
}

/// The result of `work`, which asks a target. After an abort it is done by another thread, which is abandoned if the target
/// does not answer.
fn unless_it_hangs<T: Send + 'static>(
    aborted: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if !aborted {
        return Some(work());
    }
    let thread = std::thread::Builder::new().spawn(work).ok()?;
    finished_within(thread, PATIENCE_AFTER_ABORT)
}

/// The result of a thread that ends within this time. One that hangs in a device is abandoned.
fn finished_within<T>(thread: JoinHandle<T>, time: Duration) -> Option<T> {
    let begun = Instant::now();
    while !thread.is_finished() {
        if begun.elapsed() > time {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().ok()
}

/// Checks the targets that are written during the load. When one has changed, or somebody else uses it, the flag is set and
/// the thread ends with the reason.
fn watch_targets(
    host: Arc<LinuxHost>,
    over: Arc<AtomicBool>,
) -> io::Result<(Arc<AtomicBool>, JoinHandle<Option<String>>)> {
    let changed = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&changed);
    let watcher = std::thread::Builder::new().spawn(move || {
        loop {
            std::thread::park_timeout(CHECK_INTERVAL);
            if over.load(Relaxed) {
                return None;
            }
            if let Err(error) = host.recheck() {
                flag.store(true, Relaxed);
                return Some(error.to_string());
            }
        }
    })?;
    Ok((changed, watcher))
}

pub fn unix_now_ns() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64)
}

/// Whether a job of the plan writes a log.
pub fn writes_logs(plan: &Plan) -> bool {
    let outputs = Outputs::default();
    LogWriter::new(plan, move |name: &str, mode| open_log(&outputs, name, mode)).is_wanted()
}

/// Writes log chunks as they arrive, so that memory does not grow with the run. Continues to read after an error, so that
/// the load never waits. A worker that hangs in an I/O never closes its end of the channel: after the run is `over`, the
/// chunks in the channel are the last ones.
pub fn write_logs(
    plan: &Plan,
    outputs: Outputs,
    chunks: Receiver<LogChunk>,
    over: Arc<AtomicBool>,
) -> io::Result<JoinHandle<Option<String>>> {
    let mut writer = LogWriter::new(plan, move |name: &str, mode| open_log(&outputs, name, mode));
    std::thread::Builder::new().spawn(move || {
        let mut log_error = None;
        if !writer.is_wanted() {
            // No job writes a log: nothing is sent, and polling would cost CPU time beside the load.
            drop(chunks);
            return None;
        }
        while let Some(chunk) = next(&chunks, &over) {
            if log_error.is_none() {
                log_error = writer.write(&chunk).err().map(|error| error.to_string());
            }
        }
        if log_error.is_none() {
            log_error = writer.finish().err().map(|error| error.to_string());
        }
        log_error
    })
}

fn next(chunks: &Receiver<LogChunk>, over: &AtomicBool) -> Option<LogChunk> {
    loop {
        let was_over = over.load(Relaxed);
        match chunks.recv_timeout(POLL_INTERVAL) {
            Ok(chunk) => return Some(chunk),
            Err(RecvTimeoutError::Timeout) if !was_over => {}
            Err(_) => return None,
        }
    }
}

/// Writes the bandwidth of all jobs together to `<prefix>-{read,write,trim}_bw.log`.
///
/// # Errors
/// When a file cannot be written, with its name.
pub fn write_bandwidth(
    prefix: &str,
    recording: &Recording,
    outputs: &Outputs,
) -> Result<(), OutputError> {
    for (direction, lines) in fathom_report::aggregate_bandwidth(recording).iter() {
        let name = format!("{prefix}-{}_bw.log", direction.name());
        outputs.write(Path::new(&name), OutputName::Implicit, lines.as_bytes())?;
    }
    Ok(())
}

/// Outputs of a run of `plan`: its targets are refused.
pub fn outputs_excluding_targets(plan: &Plan) -> Outputs {
    Outputs::excluding(target_paths(plan))
}

/// The files and devices of all jobs.
pub fn target_paths(plan: &Plan) -> impl Iterator<Item = &Path> {
    plan.jobs
        .iter()
        .filter(|job| job.engine.kind.has_targets())
        .flat_map(|job| job.files.paths.iter().map(PathBuf::as_path))
}

fn open_log(outputs: &Outputs, name: &str, mode: Mode) -> io::Result<Box<dyn Write + Send>> {
    if let Some(directory) = Path::new(name)
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        std::fs::create_dir_all(directory)?;
    }
    let file = match mode {
        Mode::Create => outputs.stream(Path::new(name), OutputName::Implicit),
        Mode::Append => outputs.append(Path::new(name), OutputName::Implicit),
    }
    .map_err(io::Error::other)?;
    Ok(Box::new(file))
}
