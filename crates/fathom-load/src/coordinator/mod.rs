//! Coordinates the workers of a run: lays out files, starts the jobs in order, and stops them
//! in time.

mod ceiling;
mod cpu_load;
mod estimate;
mod job;
mod layout;
mod program;
mod rebuild;
mod start_order;
mod state;
mod steady;
mod verify_states;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::Duration;

use fathom_model::{
    DiskCounters, DiskRecording, Event, EventKind, ExitWhat, Job, JobPattern, JobPhase,
    JobRecording, LogChunk, Nanos, PaceRecording, Plan, Progress, Recording, Replay, RunEnd, Stall,
};

use self::job::JobThread;
pub use self::rebuild::rebuild_recording;
use self::start_order::StartOrder;
use self::state::RecordingHead;
pub use self::state::{States, failed_recording};
use self::steady::SteadyDetector;
use self::verify_states::VerifyStates;
use crate::archive::{Archive, IntervalSink};
use crate::clock::{Clock, Since};
use crate::errno::{EAGAIN, EIO};
use crate::flow::{Flows, Member};
use crate::host::{Host, HostError, Restore, RunningThread};
use crate::io_log::IoLogSink;
use crate::job_recording;
use crate::live::{Live, Phase, Stop};
use crate::trace_read_ahead::TraceSource;

/// How often the coordinator wakes up.
const TICK: Duration = Duration::from_millis(20);
/// How often it wakes up beside an open loop. I/Os become due while the process does not run, so
/// short stalls show in the response times; a longer sleep would miss a stall of 20 ms.
const OPEN_LOOP_TICK: Duration = Duration::from_millis(5);
/// How often the caller receives the progress while no job starts or ends. Each call costs CPU time beside the load, and no
/// display, trigger or status request needs it more often.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// A stall: later than this, ten timer ticks of a kernel with HZ=1000, no healthy machine wakes up.
const STALL: Duration = Duration::from_millis(10);
/// How long workers have to return their recording after an abort before they are abandoned.
const ABORT_TIMEOUT: u64 = 1_000_000_000;
/// Bytes of an interval record: about as many of them are kept in memory, for all jobs together, as the memory budget holds.
const INTERVAL_BYTES: u64 = 512;

/// What the caller of a run provides and receives while it lasts.
pub struct RunHooks<'a> {
    /// Called often: whether the user wants the run to end.
    pub stop: &'a dyn Fn() -> Stop,
    /// Called often with the progress of the run.
    pub progress: &'a mut dyn FnMut(&Progress),
    /// Takes log entries. Its receiver must be read all the time.
    pub logs: SyncSender<LogChunk>,
    /// Takes the state of the run when it is requested.
    pub states: Option<States<'a>>,
    /// Takes intervals while the run lasts, so that they can be stored.
    pub interval_sink: Option<IntervalSink>,
    /// Takes the times of each I/O of the jobs with `blame`.
    pub io_log: Option<IoLogSink>,
    /// Called once, when all files are ready: the load starts when it returns.
    pub before_start: Option<&'a dyn Fn()>,
    /// Whether a job may begin whose turn it is by the order of the plan. Asked again until it may; then its delay begins.
    pub may_begin: Option<&'a dyn Fn(usize) -> bool>,
    /// Opens the log that a job replays.
    pub replays: &'a dyn Fn(&Replay) -> Result<Box<dyn TraceSource>, HostError>,
}

/// Why a run could not begin. Nothing was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// Name of the job.
    pub job: String,
    /// The problem, its location, and how to fix it.
    pub cause: HostError,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.job, self.cause)
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Runs `plan` to its end and returns what happened. Time starts when all files are ready. The
/// caller fills in the clock and host facts of the recording.
///
/// # Errors
/// When the files of a job cannot be prepared. I/O that fails is not an error here: it is in the
/// recording.
pub fn run<H: Host>(
    plan: Plan,
    host: Arc<H>,
    unix_now_ns: &dyn Fn() -> u64,
    mut hooks: RunHooks<'_>,
) -> Result<Recording, LoadError> {
    let files = layout::prepare(&plan, &*host, &mut hooks)?;
    let _restored_at_end = set_schedulers(&plan, &*host)?;
    let plan = Arc::new(plan);
    let paths: Vec<_> = files.paths();
    let (results, inbox) = channel();
    if let Some(wait) = hooks.before_start {
        wait();
    }
    let (clock, unix_start_ns) = (Since::now(host.clock()), unix_now_ns());
    host.begin_load(clock.zero());
    if let Some(io_log) = &hooks.io_log {
        io_log.set_start(clock.zero());
    }
    let intervals = (host.memory_budget() / INTERVAL_BYTES) as usize;
    let max_intervals = (intervals / plan.jobs.len().max(1)).clamp(600, 8192);
    let mut coordinator = Coordinator {
        archive: Archive::open(
            &host,
            plan.jobs.len(),
            max_intervals,
            plan.interval.get(),
            hooks.interval_sink.take(),
        ),
        max_intervals,
        start_order: StartOrder::new(&plan),
        flows: Flows::new(&plan),
        steady: SteadyDetector::new(&plan),
        lives: plan
            .jobs
            .iter()
            .map(|_| Arc::new(Live::default()))
            .collect(),
        threads: plan.jobs.iter().map(|_| None).collect(),
        done: plan.jobs.iter().map(|_| None).collect(),
        plan: Arc::clone(&plan),
        host: Arc::clone(&host),
        clock,
        files: Arc::new(files),
        results,
        unix_start_ns,
        stalls: Vec::new(),
        stop: Stop::No,
        aborted_at: None,
        rates: estimate::Rates::default(),
        disks_before: host.disks(&paths),
        paths,
        state_requested_at: None,
        verify_states: VerifyStates::new(&plan, &host),
    };
    coordinator.work(&inbox, &mut hooks);
    let disks = coordinator.disks();
    if !<H::Clock as Clock>::IS_VIRTUAL {
        coordinator.measure_ceilings();
    }
    Ok(coordinator.recording(disks))
}

/// Sets the I/O schedulers that jobs request until the returned value is dropped.
fn set_schedulers<H: Host>(plan: &Plan, host: &H) -> Result<Option<Restore>, LoadError> {
    let requests =
        |job: &&Job| job.engine.settings.scheduler.is_some() && job.engine.kind.has_targets();
    let of = |job: &Job| job.engine.settings.scheduler.clone();
    let wanted = plan.jobs.iter().filter(requests).flat_map(|job| {
        job.files
            .paths
            .iter()
            .filter_map(move |path| Some((path.clone(), of(job)?)))
    });
    let mut wanted: Vec<(PathBuf, String)> = wanted.collect();
    wanted.dedup();
    let Some(first) = plan
        .jobs
        .iter()
        .find(requests)
        .filter(|_| !wanted.is_empty())
    else {
        return Ok(None);
    };
    host.set_io_schedulers(&wanted)
        .map(Some)
        .map_err(|cause| LoadError {
            job: first.name.clone(),
            cause,
        })
}

/// The first paths, and how many more there are.
fn names(paths: &[PathBuf]) -> String {
    const SPELLED_OUT: usize = 3;
    let mut names: Vec<String> = paths
        .iter()
        .take(SPELLED_OUT)
        .map(|path| path.display().to_string())
        .collect();
    if paths.len() > SPELLED_OUT {
        names.push(format!("{} more", paths.len() - SPELLED_OUT));
    }
    names.join(", ")
}

fn pair(before: &[(String, DiskCounters)], after: &[(String, DiskCounters)]) -> Vec<DiskRecording> {
    let find = |name: &str| after.iter().find(|disk| disk.0 == name).map(|disk| disk.1);
    let matched = |(name, before): &(String, DiskCounters)| {
        find(name).map(|after| DiskRecording {
            name: name.clone(),
            before: *before,
            after,
        })
    };
    before.iter().filter_map(matched).collect()
}

/// Whether its I/Os become due by a clock, whatever the target does.
fn is_open_loop(job: &Job) -> bool {
    job.pace.replay.is_some() || job.pace.rate.iter().any(|(_, rate)| rate.is_some())
}

fn length(time: Duration) -> Nanos {
    Nanos::new(time.as_nanos() as u64)
}

/// The jobs of a run and their threads.
struct Coordinator<H: Host> {
    /// Takes the intervals of long runs.
    archive: Option<Archive>,
    max_intervals: usize,
    plan: Arc<Plan>,
    host: Arc<H>,
    clock: Since<H::Clock>,
    files: Arc<layout::PreparedFiles>,
    start_order: StartOrder,
    flows: Flows,
    steady: SteadyDetector,
    lives: Vec<Arc<Live>>,
    threads: Vec<Option<Box<dyn RunningThread>>>,
    done: Vec<Option<JobRecording>>,
    results: Sender<(usize, JobRecording)>,
    unix_start_ns: u64,
    stalls: Vec<Stall>,
    stop: Stop,
    aborted_at: Option<Nanos>,
    rates: estimate::Rates,
    disks_before: Vec<(String, DiskCounters)>,
    paths: Vec<PathBuf>,
    state_requested_at: Option<Nanos>,
    verify_states: VerifyStates,
}

impl<H: Host> Coordinator<H> {
    fn work(&mut self, inbox: &Receiver<(usize, JobRecording)>, hooks: &mut RunHooks<'_>) {
        let mut next_progress = Nanos::ZERO;
        while self.done.iter().any(Option::is_none) {
            self.forward_stop(hooks);
            let mut has_changed = self.start_ready_jobs(hooks);
            match self.receive(inbox) {
                Ok((job, recording)) => {
                    has_changed = true;
                    self.collect(job, recording);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok((job, recording)) = inbox.try_recv() {
                self.collect(job, recording);
            }
            self.collect_dead_workers();
            self.flows.remove_departed();
            self.stop_steady_jobs();
            self.stop_jobs_without_io();
            let now = self.clock.now();
            if has_changed || now >= next_progress {
                next_progress = now + length(PROGRESS_INTERVAL);
                (hooks.progress)(&self.progress());
                self.send_state(hooks);
                self.verify_states.poll(&self.lives, now);
            } else if self.state_requested_at.is_some() {
                self.send_state(hooks);
            }
        }
    }

    /// Activity of the disks since the run began.
    fn disks(&self) -> Vec<DiskRecording> {
        pair(&self.disks_before, &self.host.disks(&self.paths))
    }

    /// Forwards the stop request of the user to the workers.
    fn forward_stop(&mut self, hooks: &RunHooks<'_>) {
        let stop = (hooks.stop)();
        if stop > self.stop {
            self.stop = stop;
            self.lives.iter().for_each(|live| live.stop(stop));
            if stop == Stop::Abort {
                self.aborted_at = Some(self.clock.now());
            }
        }
    }

    /// Starts the jobs whose turn it is. Whether there were any.
    fn start_ready_jobs(&mut self, hooks: &RunHooks<'_>) -> bool {
        let now = self.clock.now();
        let mut ready = Vec::new();
        for job in 0..self.plan.jobs.len() {
            if self.threads[job].is_some() || self.done[job].is_some() {
                continue;
            }
            if self.lives[job].stopping() != Stop::No || self.files.is_layout_only(job) {
                self.done[job] = Some(JobRecording {
                    skipped: true,
                    ..job_recording::empty(&self.plan.jobs[job])
                });
                self.lives[job].enter(Phase::Done);
                continue;
            }
            let is_done = |other: usize| self.done[other].is_some();
            let may_begin = || hooks.may_begin.is_none_or(|may| may(job));
            if self.start_order.may_start(job, now, &is_done, &may_begin) {
                // All jobs that start together join their flow before the first of them does any
                // I/O (regression 0055).
                ready.push((job, self.flows.join(self.plan.jobs[job].pace.flow)));
            }
        }
        let has_started = !ready.is_empty();
        ready
            .into_iter()
            .for_each(|(job, flow)| self.start(job, flow, hooks));
        has_started
    }

    fn start(&mut self, index: usize, flow: Option<Member>, hooks: &RunHooks<'_>) {
        let log = match self.plan.jobs[index]
            .pace
            .replay
            .as_ref()
            .map(hooks.replays)
            .transpose()
        {
            Ok(log) => log,
            Err(HostError { errno, what }) => {
                let failed =
                    job_recording::failed(&self.plan.jobs[index], errno, what, self.clock.now());
                return self.collect(index, failed);
            }
        };
        let start = JobThread {
            log,
            plan: Arc::clone(&self.plan),
            index,
            live: Arc::clone(&self.lives[index]),
            zero: self.clock.zero(),
            files: Arc::clone(&self.files),
            sink: hooks.logs.clone(),
            io_log: hooks.io_log.clone(),
            unix_start_ns: self.unix_start_ns,
            flow,
            max_intervals: self.max_intervals,
            job_archive: self.archive.as_ref().map(|archive| archive.for_job(index)),
            results: self.results.clone(),
        };
        self.lives[index]
            .started_ns
            .store(self.clock.now().get(), Relaxed);
        match self.host.spawn(&self.plan.jobs[index].name, start) {
            Ok(thread) => self.threads[index] = Some(thread),
            Err(error) => {
                let what = format!(
                    "cannot start a thread for job {} of {}; reduce numjobs",
                    index + 1,
                    self.plan.jobs.len()
                );
                let failed = job_recording::failed(
                    &self.plan.jobs[index],
                    error.raw_os_error().unwrap_or(EAGAIN),
                    what,
                    self.clock.now(),
                );
                self.collect(index, failed);
            }
        }
    }

    /// Takes a worker's recording and stops the jobs that end with it.
    fn collect(&mut self, index: usize, recording: JobRecording) {
        let job = &self.plan.jobs[index];
        let failed = recording.error.is_some();
        if self.done[index].is_none() {
            self.done[index] = Some(recording);
        }
        self.lives[index].enter(if failed { Phase::Failed } else { Phase::Done });
        if job.exit.exit_all || job.exit.exit_all_on_error && failed {
            let others: Vec<usize> = match job.exit.scope {
                ExitWhat::All => (0..self.plan.jobs.len()).collect(),
                ExitWhat::Group => (0..self.plan.jobs.len())
                    .filter(|i| self.plan.jobs[*i].group == job.group)
                    .collect(),
                ExitWhat::Stonewall => self.start_order.same_barrier(index),
            };
            others
                .into_iter()
                .filter(|i| *i != index)
                .for_each(|i| self.lives[i].stop(Stop::Drain));
        }
    }

    /// Stops jobs whose state has become steady.
    fn stop_steady_jobs(&mut self) {
        let now = self.clock.now();
        self.steady
            .sample(&self.lives, now)
            .into_iter()
            .for_each(|job| self.lives[job].stop(Stop::Drain));
    }

    /// Stops jobs without I/O, such as those of cpuio, when the load has ended, unless they have a
    /// runtime of their own.
    fn stop_jobs_without_io(&self) {
        let does_io = |index: &usize| self.plan.jobs[*index].engine.kind.does_io();
        let all = || 0..self.plan.jobs.len();
        if !all().any(|index| does_io(&index))
            || all().any(|index| does_io(&index) && self.done[index].is_none())
        {
            return;
        }
        let ends = |job: &Job| job.engine.settings.cpu.ends_with_io || job.limits.runtime.is_none();
        all()
            .filter(|index| !does_io(index) && ends(&self.plan.jobs[*index]))
            .for_each(|index| self.lives[index].stop(Stop::Drain));
    }

    /// Waits for a recording, at most for a tick, and notes stalls.
    fn receive(
        &mut self,
        inbox: &Receiver<(usize, JobRecording)>,
    ) -> Result<(usize, JobRecording), RecvTimeoutError> {
        let sleep = if self.plan.jobs.iter().any(is_open_loop) {
            OPEN_LOOP_TICK
        } else {
            TICK
        };
        let end = self.clock.now() + length(TICK);
        loop {
            let before = self.clock.now();
            let received = self.receive_until(inbox, before + length(sleep));
            if !matches!(received, Err(RecvTimeoutError::Timeout)) {
                return received;
            }
            self.note_stall(before + length(sleep));
            if self.clock.now() >= end {
                return received;
            }
        }
    }

    /// Waits for a recording until `at`.
    fn receive_until(
        &self,
        inbox: &Receiver<(usize, JobRecording)>,
        at: Nanos,
    ) -> Result<(usize, JobRecording), RecvTimeoutError> {
        if <H::Clock as Clock>::IS_VIRTUAL {
            return inbox.try_recv().or_else(|_| {
                // The end of a worker ends this wait.
                self.clock.sleep_until(at);
                inbox.try_recv().map_err(|_| RecvTimeoutError::Timeout)
            });
        }
        inbox.recv_timeout(Duration::from_nanos(
            at.saturating_sub(self.clock.now()).get(),
        ))
    }

    /// Notes a stall when the coordinator woke up long after it was due: this process did not run.
    fn note_stall(&mut self, due: Nanos) {
        let late = self.clock.now().saturating_sub(due);
        if late > length(STALL) && self.stalls.len() < 10_000 {
            self.stalls.push(Stall {
                at: due,
                lasted: late,
            });
        }
    }

    /// Makes recordings for workers that ended without one and for those abandoned after an abort.
    fn collect_dead_workers(&mut self) {
        let now = self.clock.now();
        let abandoned = self
            .aborted_at
            .is_some_and(|at| now.saturating_sub(at).get() > ABORT_TIMEOUT);
        for index in 0..self.threads.len() {
            let Some(thread) = &self.threads[index] else {
                continue;
            };
            if self.done[index].is_some() || !(thread.is_finished() || abandoned) {
                continue;
            }
            // A recording may have been sent since the inbox was last read.
            if thread.is_finished() && !abandoned && self.lives[index].phase() == Phase::Done {
                continue;
            }
            let why = if abandoned {
                let targets = names(&self.plan.jobs[index].files.paths);
                format!("it was stuck in an I/O on {targets} when the run was aborted")
            } else {
                "it panicked".to_owned()
            };
            let recording = self.dead_worker_recording(index, &why, now);
            self.collect(index, recording);
        }
    }

    /// The recording of a worker that left none.
    fn dead_worker_recording(&self, index: usize, why: &str, now: Nanos) -> JobRecording {
        let live = &self.lives[index];
        let mut recording = job_recording::failed(
            &self.plan.jobs[index],
            EIO,
            format!("the worker died: {why}"),
            now,
        );
        for direction in fathom_model::Direction::ALL {
            let counts = &mut recording.directions[direction].counts;
            counts.ok = live.ios[direction as usize].load(Relaxed);
            counts.bytes_ok = live.bytes[direction as usize].load(Relaxed);
            counts.planned = counts.ok;
            counts.bytes_requested = counts.bytes_ok;
        }
        if let Some((direction, bytes)) = live.sync_io_in_flight() {
            let counts = &mut recording.directions[direction].counts;
            (counts.planned, counts.timed_out) = (counts.planned + 1, counts.timed_out + 1);
            (counts.bytes_requested, counts.bytes_missing) =
                (counts.bytes_requested + bytes, counts.bytes_missing + bytes);
        }
        recording.events.push(Event {
            at: now,
            kind: EventKind::WorkerDied {
                reason: why.to_owned(),
            },
        });
        recording
    }

    fn progress(&mut self) -> Progress {
        let elapsed = self.clock.now();
        let jobs: Vec<JobPhase> = (0..self.plan.jobs.len()).map(|i| self.phase(i)).collect();
        let running = |i: &usize| {
            matches!(
                jobs[*i],
                JobPhase::Running(_) | JobPhase::WarmingUp | JobPhase::Verifying
            )
        };
        let open_files = (0..jobs.len())
            .filter(running)
            .map(|i| self.plan.jobs[i].files.paths.len() as u32)
            .sum();
        let open_loop = self
            .plan
            .jobs
            .iter()
            .any(|job| job.pace.rate.iter().any(|(_, rate)| rate.is_some()));
        let lateness = self
            .lives
            .iter()
            .map(|live| live.late_ns.load(Relaxed))
            .max()
            .unwrap_or(0);
        Progress {
            jobs,
            open_files,
            elapsed,
            expected: estimate::expected(
                &self.plan,
                &self.start_order,
                &self.files,
                &self.lives,
                elapsed,
            ),
            rates: self.rates.update(&self.lives, elapsed),
            layout: None,
            lateness: open_loop.then_some(Nanos::new(lateness)),
            failed: self
                .lives
                .iter()
                .map(|live| live.failed.load(Relaxed))
                .sum(),
        }
    }

    fn phase(&self, index: usize) -> JobPhase {
        use fathom_model::{Access, Direction};
        let pattern = &self.plan.jobs[index].pattern;
        match self.lives[index].phase() {
            Phase::Waiting => JobPhase::Waiting,
            Phase::Preparing => JobPhase::Preparing,
            Phase::WarmingUp => JobPhase::WarmingUp,
            Phase::Running => JobPhase::Running(JobPattern {
                random: matches!(pattern.access, Access::Random { .. }),
                reads: pattern.traffic.uses(Direction::Read),
                writes: pattern.traffic.uses(Direction::Write),
                trims: pattern.traffic.uses(Direction::Trim),
            }),
            Phase::Verifying => JobPhase::Verifying,
            Phase::Finishing => JobPhase::Finishing,
            // The worker has ended, but its recording may still be on its way: whoever sees "done" may ask for the figures.
            Phase::Done | Phase::Failed if self.done[index].is_none() => JobPhase::Finishing,
            Phase::Done => JobPhase::Done,
            Phase::Failed => JobPhase::Failed,
        }
    }

    /// Returns the archived intervals to their jobs. The result is a message when that failed.
    fn restore_intervals(&mut self) -> Option<String> {
        let mut contents = self.archive.take()?.close()?;
        for (index, job) in self.done.iter_mut().enumerate() {
            // A worker that died left no other records to which these would belong.
            let died = |job: &JobRecording| {
                job.events
                    .iter()
                    .any(|event| matches!(event.kind, EventKind::WorkerDied { .. }))
            };
            if let Some(job) = job.as_mut().filter(|job| !died(job)) {
                contents.read_back(index, job.measured_from, &mut job.intervals);
            }
        }
        contents.failure()
    }

    fn recording(mut self, disks: Vec<DiskRecording>) -> Recording {
        let end = match self.stop {
            Stop::No => RunEnd::Completed,
            Stop::Drain => RunEnd::Interrupted,
            Stop::Abort => RunEnd::Aborted,
        };
        let elapsed = self.clock.now();
        let mut messages = self.files.messages.clone();
        messages.extend(self.restore_intervals());
        let complete = |(index, job): (usize, Option<JobRecording>)| {
            let job = job.expect("the coordinator works until every job is done");
            let pace = PaceRecording {
                steady: self.steady.recording(index),
                ..job.pace
            };
            JobRecording { pace, ..job }
        };
        let jobs = self.done.into_iter().enumerate().map(complete).collect();
        let head = RecordingHead {
            plan: Arc::unwrap_or_clone(self.plan),
            started_unix_ns: self.unix_start_ns,
            elapsed,
        };
        Recording {
            stalls: self.stalls,
            end,
            messages,
            ..head.recording(jobs, disks)
        }
    }
}
