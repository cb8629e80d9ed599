//! The machine of this process: Linux, its files and devices.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use fathom_device::{DevNo, EbsStats, Machine as _, Permit, ScratchList};
use fathom_linux::{
    CommitError, CommitLoad, CommitResult, ConditionsWatch, DeviceWatch, HeldTarget, HostWatch,
    IdleWatch, LinuxClock, LinuxHost, LinuxSysfs, ebs_stats, hold, hold_again, idle_calibration,
    inspect_target, interrupts, measure_commits, remove_owned, run_load,
};
use fathom_load::{Host, IoLogSink, LoadError, RunHooks, States, Stop};
use fathom_model::{
    Bytes, CpuIdleness, DeviceFacts, DiskCounters, FileSystemFacts, JobError, Plan, Progress,
    Recording, Simulated, TargetRecording,
};
use fathom_plan::HostInfo;
use rustix::fs::{Access, StatVfsMountFlags};
use rustix::io::Errno;

use super::{
    Backup, CommitFile, Contents, Entry, EntryKind, Examined, IdlenessWatch, Machine, PreparedLoad,
    Space,
};
use crate::blame::{BlameWatch, clock_of, is_wanted as is_blame_wanted};
use crate::fua::FuaCount;
use crate::guard::{Images, examine_images, written_devices};
use crate::measure::{no_thread, target_paths};
use crate::probe_child;
use crate::scratch_devices;
use crate::this_machine::{ThisMachine, start_clock};

/// How often the targets are checked, so that a change is noticed within a second.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How long it waits after an abort for each answer of a target.
const PATIENCE_AFTER_ABORT: Duration = Duration::from_millis(200);
/// How long the end of the run waits for the check of the targets.
const PATIENCE_AT_END: Duration = Duration::from_secs(1);

/// The machine of this process.
#[derive(Default)]
pub struct LinuxMachine {
    /// The clock of the measurements, calibrated once.
    clock: OnceLock<LinuxClock>,
}

impl Machine for LinuxMachine {
    fn facts(&self) -> &dyn HostInfo {
        &ThisMachine
    }

    fn simulated(&self) -> Option<Simulated> {
        None
    }

    fn runs_programs(&self) -> bool {
        true
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn unix_now_ns(&self) -> u64 {
        unix_now_ns()
    }

    fn check_plan(&self, plan: &Plan) -> Result<(), String> {
        probe_child::probe_targets(plan)
    }

    fn check_answers(&self, targets: &[PathBuf], notify: bool) -> Result<(), String> {
        probe_child::answer(targets, notify)
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        let facts = std::fs::metadata(path)?;
        let (kind, size) = if facts.is_dir() {
            (EntryKind::Directory, 0)
        } else if facts.is_file() {
            (EntryKind::File, facts.len())
        } else {
            (EntryKind::Special, 0)
        };
        Ok(Entry { kind, size })
    }

    fn has_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn space(&self, directory: &Path) -> Option<Space> {
        let facts = rustix::fs::statvfs(directory).ok()?;
        Some(Space {
            free: Bytes::new(facts.f_bavail.saturating_mul(facts.f_frsize)),
            read_only: facts.f_flag.contains(StatVfsMountFlags::RDONLY),
        })
    }

    fn may_create_in(&self, directory: &Path) -> bool {
        rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK) != Err(Errno::ACCESS)
    }

    fn file_system(&self, path: &Path) -> Option<FileSystemFacts> {
        LinuxSysfs::default()
            .backing_devices(path)
            .map(|below| below.file_system)
    }

    fn directory_id(&self, path: &Path) -> io::Result<(DevNo, u64)> {
        use std::os::unix::fs::MetadataExt;
        let facts = std::fs::metadata(path)?;
        let dev = DevNo {
            major: rustix::fs::major(facts.dev()),
            minor: rustix::fs::minor(facts.dev()),
        };
        Ok((dev, facts.ino()))
    }

    fn examine(&self, path: &Path, contents: Contents) -> io::Result<Examined> {
        let examined = match contents {
            Contents::Samples => fathom_linux::examine(path),
            Contents::Ends => fathom_linux::examine_without_samples(path),
        };
        let opened = examined.map_err(|error| io::Error::new(error.source.kind(), error))?;
        Ok(Examined {
            facts: opened.facts().clone(),
            opened: Some(opened),
        })
    }

    fn scratch_list(&self) -> ScratchList {
        scratch_devices::scratch_lists()
    }

    fn default_file_size(&self) -> u64 {
        0
    }

    fn examine_images(&self, plan: &Plan) -> Result<Images, Vec<String>> {
        examine_images(plan)
    }

    fn inspect(&self, path: &Path) -> TargetRecording {
        inspect_target(path)
    }

    fn volume_counters(&self, device: &DeviceFacts) -> Option<EbsStats> {
        ebs_stats(device)
    }

    fn remove_created(&self, file: &Path) -> Result<(), String> {
        remove_owned(file)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    fn prepare_load<'a>(&'a self, plan: &Plan, aux: &Path) -> Box<dyn PreparedLoad + 'a> {
        let clock = clock_of(plan, || *self.clock.get_or_init(start_clock));
        let host = LinuxHost::new(clock).with_aux_directory(aux.to_owned());
        let host = match std::env::var_os("TMPDIR").filter(|directory| !directory.is_empty()) {
            Some(directory) => host.with_scratch(directory.into()),
            None => host,
        };
        Box::new(LinuxLoad { clock, host })
    }

    fn open_commits<'a>(
        &'a self,
        examined: Examined,
        permit: &Permit,
    ) -> Result<Box<dyn CommitFile + 'a>, String> {
        let file = examined.facts().named.clone();
        let opened = examined.opened.ok_or(NOT_OPEN)?;
        let held = hold(opened, permit, None).map_err(|error| error.to_string())?;
        Ok(Box::new(LinuxCommitFile {
            held,
            file,
            host: LinuxHost::new(*self.clock.get_or_init(start_clock)),
        }))
    }

    fn calibrate_idleness(&self) -> CpuIdleness {
        idle_calibration()
    }

    fn watch_idleness(&self, per_cpu: bool) -> Box<dyn IdlenessWatch> {
        Box::new(LinuxIdleness(IdleWatch::new(per_cpu)))
    }
}

/// The message about facts that came from another machine.
const NOT_OPEN: &str = "the target was examined on another machine";

/// The wall clock, nanoseconds since 1970.
pub fn unix_now_ns() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |now| now.as_nanos() as u64)
}

struct LinuxIdleness(IdleWatch);

impl IdlenessWatch for LinuxIdleness {
    fn begin(&mut self) {
        self.0.begin();
    }

    fn finish(self: Box<Self>) -> CpuIdleness {
        self.0.finish()
    }
}

struct LinuxCommitFile {
    held: HeldTarget,
    file: PathBuf,
    host: LinuxHost,
}

impl CommitFile for LinuxCommitFile {
    fn measure(
        &self,
        load: &CommitLoad,
        is_over: &dyn Fn() -> bool,
    ) -> Result<CommitResult, CommitError> {
        measure_commits(&self.held, load, is_over)
    }

    fn counters(&self) -> Option<(String, DiskCounters)> {
        // The lowest device does the work; those above it pass the requests on.
        self.host.disks(std::slice::from_ref(&self.file)).pop()
    }

    fn count_forced_writes(&self) -> FuaCount {
        self.counters()
            .map_or(FuaCount::Unknown, |(disk, _)| FuaCount::start(&disk))
    }

    fn release(self: Box<Self>) {
        drop(self.held.release());
    }
}

/// A run on Linux whose targets are being opened.
struct LinuxLoad {
    clock: LinuxClock,
    host: LinuxHost,
}

impl PreparedLoad for LinuxLoad {
    fn add_image(&self, target: PathBuf, size: u64) {
        self.host.add_image(target, size);
    }

    fn hold(
        &self,
        examined: Examined,
        permit: &Permit,
        backup: Backup<'_>,
    ) -> Result<bool, String> {
        let opened = examined.opened.ok_or(NOT_OPEN)?;
        let held = match backup {
            Backup::AlreadySaved => hold_again(opened, permit),
            Backup::SaveTo(file) => hold(opened, permit, Some(file)),
            Backup::NotNeeded => hold(opened, permit, None),
        };
        let held = held.map_err(|error| error.to_string())?;
        self.host
            .add(held, false)
            .map_err(|error| error.to_string())?;
        Ok(matches!(backup, Backup::SaveTo(_)))
    }

    fn run(self: Box<Self>, plan: Plan, hooks: RunHooks<'_>) -> Result<Recording, LoadError> {
        let host = Arc::new(self.host);
        let watches = Watches::start(&plan, &host, self.clock)?;
        let written = written_devices(&plan);
        let outcome = run_watched(plan, &host, hooks, &watches);
        watches.finish(outcome, &host, &written)
    }
}

/// Runs the plan with the hooks of the caller and those of the watches.
fn run_watched(
    plan: Plan,
    host: &Arc<LinuxHost>,
    hooks: RunHooks<'_>,
    watches: &Watches,
) -> Result<Recording, LoadError> {
    let (stop, progress) = (hooks.stop, hooks.progress);
    let stop = || match stop() {
        Stop::No if watches.changed.load(Relaxed) => Stop::Drain,
        wanted => wanted,
    };
    let progress = &mut |now: &Progress| {
        if now.layout.is_none() {
            watches.conditions.load_started();
        }
        progress(now);
    };
    let blame = watches.blame.as_ref().map(|(_, sink)| sink.clone());
    let hooks = RunHooks {
        stop: &stop,
        progress,
        logs: hooks.logs,
        states: hooks.states.map(|states| States {
            wanted: &mut *states.wanted,
            take: &mut *states.take,
        }),
        interval_sink: hooks.interval_sink,
        io_log: blame.or(hooks.io_log),
        before_start: hooks.before_start,
        may_begin: hooks.may_begin,
        replays: hooks.replays,
    };
    run_load(plan, Arc::clone(host), &unix_now_ns, hooks)
}

/// What is observed beside a load.
struct Watches {
    clock: LinuxClock,
    devices: DeviceWatch,
    host: HostWatch,
    conditions: ConditionsWatch,
    blame: Option<(BlameWatch, IoLogSink)>,
    /// Why there is no blame sheet.
    no_blame: Option<String>,
    /// A target has changed.
    changed: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    targets: JoinHandle<Option<String>>,
}

impl Watches {
    fn start(plan: &Plan, host: &Arc<LinuxHost>, clock: LinuxClock) -> Result<Watches, LoadError> {
        let paths: Vec<PathBuf> = target_paths(plan).map(Path::to_owned).collect();
        let devices = DeviceWatch::start(&paths);
        let host_watch = HostWatch::start();
        let conditions = ConditionsWatch::start(host, clock, &paths);
        let mut no_blame = None;
        let blame = if is_blame_wanted(plan) {
            BlameWatch::start(plan, clock)
                .map_err(|why| no_blame = Some(format!("no blame sheet: {why}")))
                .ok()
        } else {
            None
        };
        let over = Arc::new(AtomicBool::new(false));
        let (changed, targets) = watch_targets(Arc::clone(host), Arc::clone(&over))
            .map_err(|error| no_thread(plan, &error))?;
        Ok(Watches {
            clock,
            devices,
            host: host_watch,
            conditions,
            blame,
            no_blame,
            changed,
            over,
            targets,
        })
    }

    /// Ends the watches, and adds what they saw to the recording.
    fn finish(
        self,
        outcome: Result<Recording, LoadError>,
        host: &Arc<LinuxHost>,
        written: &[PathBuf],
    ) -> Result<Recording, LoadError> {
        let load_start = host.load_start();
        // After an abort nothing waits for a target that hangs: whatever asks it once more is abandoned.
        let aborted = interrupts().load(Relaxed) > 1;
        let Watches {
            conditions,
            blame,
            devices,
            ..
        } = self;
        let conditions =
            unless_it_hangs(aborted, move || conditions.finish(load_start)).unwrap_or_default();
        let blame = blame.and_then(|(blame, _)| unless_it_hangs(aborted, move || blame.finish()));
        self.over.store(true, Relaxed);
        self.targets.thread().unpark();
        let patience = if aborted {
            PATIENCE_AFTER_ABORT
        } else {
            PATIENCE_AT_END
        };
        let change = finished_within(self.targets, patience).flatten();
        if outcome.is_ok() && !aborted && change.is_none() {
            scratch_devices::renew(written);
        }
        let released = {
            let host = Arc::clone(host);
            unless_it_hangs(aborted, move || host.release()).unwrap_or(Ok(()))
        };
        let mut recording = outcome?;
        if let Some(what) = change {
            fail_jobs(&mut recording, what);
        }
        recording.clock = self.clock.facts();
        recording.host = self.host.finish();
        recording.conditions = conditions;
        recording.blame = blame;
        recording.messages.extend(self.no_blame);
        recording.targets = unless_it_hangs(aborted, move || devices.finish()).unwrap_or_default();
        if let Err(error) = released {
            recording.messages.push(error.to_string());
        }
        Ok(recording)
    }
}

/// Every job that went on fails with this change of a target.
fn fail_jobs(recording: &mut Recording, what: String) {
    let error = JobError {
        errno: Errno::BUSY.raw_os_error(),
        operation: what,
        at: recording.elapsed,
    };
    for job in recording.jobs.iter_mut().filter(|job| job.error.is_none()) {
        job.error = Some(error.clone());
    }
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
