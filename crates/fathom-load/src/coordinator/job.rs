//! Runs one job in the thread of its worker, from the start of the thread to its recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, SyncSender};

use fathom_model::{
    Bytes, FileLock, Job, JobError, JobRecording, LogChunk, Nanos, Personality, Plan,
};

use super::cpu_load;
use super::layout::PreparedFiles;
use super::program;
use crate::archive::JobArchive;
use crate::clock::{Clock, Since};
use crate::engine::{EngineError, EngineRequest, OpenFile};
use crate::engine_filter::Filtered;
use crate::errno::EINVAL;
use crate::flow::Member;
use crate::host::{Host, HostError, LayOut, ThreadBody};
use crate::io_generator::{self, Region};
use crate::io_log::IoLogSink;
use crate::job_recording::failed;
use crate::live::{Live, Phase, Stop};
use crate::locks::FileLocks;
use crate::overlaps::{Overlaps, needs_overlap_check};
use crate::targets::{self, FileNeeds};
use crate::trace_read_ahead::{TraceReadAhead, TraceSource};
use crate::worker::Setup;

/// The inputs of a worker's thread.
pub(super) struct JobThread {
    pub plan: Arc<Plan>,
    pub index: usize,
    pub live: Arc<Live>,
    /// The start of the load on the clock of the host.
    pub zero: Nanos,
    pub files: Arc<PreparedFiles>,
    pub sink: SyncSender<LogChunk>,
    /// Takes the times of each I/O.
    pub io_log: Option<IoLogSink>,
    pub unix_start_ns: u64,
    pub max_intervals: usize,
    pub job_archive: Option<JobArchive>,
    pub flow: Option<Member>,
    /// The log that is replayed.
    pub log: Option<Box<dyn TraceSource>>,
    /// Receives the number and the recording of the job.
    pub results: Sender<(usize, JobRecording)>,
}

impl ThreadBody for JobThread {
    fn run<H: Host>(mut self, host: &Arc<H>) {
        let (flow, log) = (self.flow.take(), self.log.take());
        let worker = JobWorker {
            host,
            clock: Since::at(host.clock(), self.zero),
            inputs: self,
        };
        let recording = worker.run(flow, log);
        // After an abort this worker may have been abandoned, and nothing receives its recording.
        let inputs = worker.inputs;
        let _ = inputs.results.send((inputs.index, recording));
    }
}

/// A worker in its thread.
struct JobWorker<'h, H: Host> {
    inputs: JobThread,
    host: &'h Arc<H>,
    clock: Since<H::Clock>,
}

impl<H: Host> JobWorker<'_, H> {
    /// Runs the job. Errors are in the recording.
    fn run(&self, flow: Option<Member>, log: Option<Box<dyn TraceSource>>) -> JobRecording {
        self.inputs.live.enter(Phase::Preparing);
        let plan = Arc::clone(&self.inputs.plan);
        let job = &plan.jobs[self.inputs.index];
        let before = self.command(job, job.start.command_before.as_ref(), "prerun");
        let mut recording = match before.and_then(|()| self.load(job, flow, log)) {
            Ok(recording) => recording,
            Err(error) => failed(job, error.errno, error.what, self.clock.now()),
        };
        if let Err(error) = self.command(job, job.start.command_after.as_ref(), "postrun")
            && recording.error.is_none()
        {
            recording.error = Some(JobError {
                errno: error.errno,
                operation: error.what,
                at: self.clock.now(),
            });
        }
        recording
    }

    /// Runs a command of the job, with its output in the same file as in fio: `NAME.prerun.txt`.
    fn command(&self, job: &Job, line: Option<&String>, when: &str) -> Result<(), HostError> {
        let Some(line) = line else { return Ok(()) };
        let output = format!("{}.{when}.txt", job.name.replace('/', "_"));
        self.host.command(line, std::path::Path::new(&output))
    }

    fn load(
        &self,
        job: &Job,
        flow: Option<Member>,
        log: Option<Box<dyn TraceSource>>,
    ) -> Result<JobRecording, HostError> {
        let host = self.host;
        let mut notes = Vec::new();
        // Before this thread is bound to its CPUs: the thread that reads the log must not share
        // them.
        let log = log
            .map(|log| TraceReadAhead::start(host, log))
            .transpose()?;
        if let Err(error) = host.bind_cpus(&job.cpus, job.nice) {
            notes.push(error.to_string());
        }
        host.bind_numa(&job.engine.settings.numa)?;
        if let Some(prio) = job.engine.settings.priorities.worker {
            host.set_io_priority(prio)?;
        }
        host.set_credentials(&job.engine.settings.credentials)?;
        let pinned = job.engine.settings.locked_memory;
        let _unpinned_at_end = if pinned > 0 {
            Some(host.lock_memory(pinned)?)
        } else {
            None
        };
        if let Some(program) = &job.engine.settings.program {
            return program::run_program(
                job,
                program,
                &**host,
                &self.inputs.live,
                &self.clock,
                notes,
            );
        }
        if !job.engine.kind.does_io() {
            return Ok(cpu_load::run_cpu_load(
                job,
                &**host,
                &self.inputs.live,
                &self.clock,
                notes,
            ));
        }
        let (regions, files) = self.targets(job, &mut notes)?;
        let generator =
            io_generator::build(job, &regions, self.inputs.plan.personality).map_err(|error| {
                HostError {
                    errno: EINVAL,
                    what: error.to_string(),
                }
            })?;
        let buffer_size = targets::buffer_size(job);
        let request = EngineRequest {
            spec: &job.engine,
            depth: job.queue.depth,
            buffer_size,
            files: &files,
            huge_pages: self.inputs.plan.personality == Personality::Fathom,
        };
        if request.huge_pages && has_large_buffers(job, buffer_size) {
            notes.push(HUGE_PAGES.to_owned());
        }
        let setup = Setup {
            job,
            index: self.inputs.index as u32,
            host,
            live: &self.inputs.live,
            clock: self.clock.clone(),
            generator,
            log,
            regions: &regions,
            sink: self.inputs.sink.clone(),
            io_log: self
                .inputs
                .io_log
                .clone()
                .filter(|sink| sink.takes(job.accounting.blame)),
            unix_start_ns: self.inputs.unix_start_ns,
            interval: self.inputs.plan.interval,
            max_intervals: self.inputs.max_intervals,
            job_archive: self.inputs.job_archive.clone(),
            personality: self.inputs.plan.personality,
            notes,
            flow,
            dedupe_set: self.dedupe_set(job),
        };
        let locks = self.inputs.files.locks(job);
        let outcome = match job.engine.settings.lock {
            FileLock::None if needs_overlap_check(job) => {
                let ranges = &self.inputs.files.active_ranges;
                let filter = Overlaps::new(ranges, job, self.clock.clone());
                host.with_engine(
                    &request,
                    Filtered {
                        user: setup,
                        filter,
                    },
                )
            }
            FileLock::None => host.with_engine(&request, setup),
            kind => {
                let filter = FileLocks::new(&locks, kind, self.clock.clone());
                host.with_engine(
                    &request,
                    Filtered {
                        user: setup,
                        filter,
                    },
                )
            }
        };
        let outcome = outcome.map_err(|EngineError { errno, what }| HostError { errno, what })?;
        outcome.map_err(|error| HostError {
            errno: EINVAL,
            what: error.to_string(),
        })
    }

    /// How many blocks `dedupe_mode=working_set` repeats: those of all jobs that share a set, or
    /// the job's own. The second value is whether the set is shared.
    fn dedupe_set(&self, job: &Job) -> Option<(u64, bool)> {
        let own = job.payload.dedupe_set?;
        let of = |(index, job): (usize, &Job)| {
            let percent = job
                .payload
                .dedupe_set
                .filter(|set| set.shared || !own.shared)
                .map_or(0, |set| u64::from(set.percent));
            self.inputs.files.region_bytes(index) / u64::from(targets::smallest_block(job))
                * percent
                / 100
        };
        let all = || self.inputs.plan.jobs.iter().enumerate().map(of).sum();
        Some((
            if own.shared {
                all()
            } else {
                of((self.inputs.index, job))
            },
            own.shared,
        ))
    }

    /// Regions and files of the job, with the page cache dropped as planned.
    fn targets(
        &self,
        job: &Job,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<Region>, Vec<OpenFile>), HostError> {
        let mut regions = Vec::new();
        let mut files = Vec::new();
        for needs in &self.inputs.files.file_needs[self.inputs.index] {
            let region = match self.inputs.files.facts.get(&needs.path) {
                Some(facts) => {
                    let (region, note) = targets::available_region(job, needs, facts)?;
                    notes.extend(note);
                    region
                }
                None => needs.region,
            };
            if job.engine.kind.moves_data() && job.engine.kind.has_targets() {
                self.prepare_cache(job, needs, region)?;
            }
            files.push(targets::open(job, needs, region));
            regions.push(region);
        }
        Ok((regions, files))
    }

    /// Drops a file from the page cache or reads it once, as planned.
    fn prepare_cache(&self, job: &Job, needs: &FileNeeds, region: Region) -> Result<(), HostError> {
        let layout = &job.files.layout;
        if layout.create_on_open || !(layout.invalidate || layout.pre_read) {
            return Ok(());
        }
        let request = LayOut {
            path: needs.path.clone(),
            size: Bytes::ZERO,
            content: false,
            writes: needs.changes(),
            create: false,
            fallocate: fathom_model::Fallocate::None,
            fsync: false,
            invalidate: layout.invalidate.then_some((region.start, region.end)),
            pre_read: layout.pre_read,
            seed: 0,
        };
        let stop = AtomicBool::new(false);
        let mut check_stop = |_| stop.store(self.inputs.live.stopping() != Stop::No, Relaxed);
        self.host
            .lay_out(&request, &stop, &mut check_stop)
            .map(|_| ())
    }
}

/// The note about buffers that may change what the device receives.
const HUGE_PAGES: &str = "buffers are in huge pages where the kernel provides them, so that a large I/O is one piece of memory; \
     those of fio and of `fathom fio` are in ordinary pages, and a device with a limit of segments splits such an I/O: \
     compare results of the same kind of buffers";

/// Whether the pages of its buffers matter: several pages for one I/O, and a huge page of buffers.
fn has_large_buffers(job: &Job, buffer_size: u32) -> bool {
    const LARGE_IO: u32 = 64 << 10;
    const HUGE_PAGE: u64 = 2 << 20;
    job.engine.kind.moves_data()
        && buffer_size >= LARGE_IO
        && u64::from(buffer_size) * u64::from(job.queue.depth) >= HUGE_PAGE
}
