//! One run of a plan, with its log files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_linux::{OutputError, OutputName, Outputs, interrupts};
use fathom_load::{HostError, IntervalSink, LoadError, RunHooks, States, Stop};
use fathom_model::{LogChunk, Nanos, Plan, Progress, Recording};
use fathom_report::{LogWriter, Mode};

use crate::logs::replay;
use crate::machine::PreparedLoad;

/// Chunks of log entries on their way to the writer.
const CHUNKS: usize = 64;
/// How often the writer checks whether the run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

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

impl Default for RunExtras<'_> {
    fn default() -> Self {
        RunExtras {
            interval_sink: None,
            end: &|| false,
            before_start: None,
            may_begin: None,
        }
    }
}

/// Runs `plan` without callbacks, as [`measure_and_store`].
///
/// # Errors
/// When the files of a job cannot be prepared.
pub fn measure(
    load: Box<dyn PreparedLoad + '_>,
    plan: Plan,
) -> Result<(Recording, Option<String>), LoadError> {
    let (is_state_wanted, on_state) = (&mut |_| false, &mut |_, _| {});
    measure_and_store(
        load,
        plan,
        &mut |_| {},
        is_state_wanted,
        on_state,
        RunExtras::default(),
    )
}

/// Runs `plan`, whose targets `load` holds. The second value is the first error of the log files. Whenever `is_state_wanted`
/// returns true, `on_state` receives the state of the run, with the run's expected length.
///
/// # Errors
/// When the files of a job cannot be prepared.
pub fn measure_and_store(
    load: Box<dyn PreparedLoad + '_>,
    plan: Plan,
    progress: &mut dyn FnMut(&Progress),
    is_state_wanted: &mut dyn FnMut(Nanos) -> bool,
    on_state: &mut dyn FnMut(Recording, Option<Nanos>),
    extras: RunExtras<'_>,
) -> Result<(Recording, Option<String>), LoadError> {
    let (logs, chunks) = sync_channel(CHUNKS);
    let over = Arc::new(AtomicBool::new(false));
    let outputs = outputs_excluding_targets(&plan);
    let writer = write_logs(&plan, outputs, chunks, Arc::clone(&over))
        .map_err(|error| no_thread(&plan, &error))?;
    let signals = interrupts();
    let stop = || match signals.load(Relaxed) {
        0 if (extras.end)() => Stop::Drain,
        0 => Stop::No,
        1 => Stop::Drain,
        _ => Stop::Abort,
    };
    let hooks = RunHooks {
        stop: &stop,
        progress,
        logs,
        states: Some(States {
            wanted: is_state_wanted,
            take: on_state,
        }),
        interval_sink: extras.interval_sink,
        io_log: crate::replay::take_sink(),
        before_start: extras.before_start,
        may_begin: extras.may_begin,
        replays: &replay,
    };
    let outcome = load.run(plan, hooks);
    over.store(true, Relaxed);
    let log_error = writer
        .join()
        .unwrap_or_else(|_| Some("the log writer stopped".to_owned()));
    outcome.map(|recording| (recording, log_error))
}

/// The error of a run whose thread cannot be started.
pub fn no_thread(plan: &Plan, error: &io::Error) -> LoadError {
    let first_job = plan.jobs.first().map(|job| job.name.clone());
    LoadError {
        job: first_job.unwrap_or_default(),
        cause: HostError {
            errno: error
                .raw_os_error()
                .unwrap_or(rustix::io::Errno::AGAIN.raw_os_error()),
            what: "cannot start a thread; raise the limit of processes (ulimit -u)".to_owned(),
        },
    }
}

/// Writes log chunks as they arrive, so that memory does not grow with the run. Continues to read after an error, so that
/// the load never waits. A worker that hangs in an I/O never closes its end of the channel: after the run is `over`, the
/// chunks in the channel are the last ones.
fn write_logs(
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
