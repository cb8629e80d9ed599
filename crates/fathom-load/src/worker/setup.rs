//! Sets up a worker: everything it needs is allocated before its load starts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;

use fathom_model::{
    Access, BlockSizes, Bytes, Direction, Distribution, Fallocate, Job, JobRecording, LogChunk,
    Nanos, PerDirection, Personality, Traffic, Verify, VerifyKind,
};

use super::block_check::Method;
use super::checker::{Checker, Shape};
use super::errors::Outcome;
use super::finish::{self, WorkerContext};
use super::pacing::Pacing;
use super::queue::IoQueue;
use super::replay::ReplayLog;
use super::source::IoSource;
use super::verification::Verification;
use super::{Features, Times, Worker};
use crate::archive::JobArchive;
use crate::budget::Budget;
use crate::clock::{Clock, Since};
use crate::engine::{Engine, EngineUser, Op, Request};
use crate::errno::ENOENT;
use crate::flow::Member;
use crate::host::{Host, LayOut};
use crate::io_generator::{IoGenerator, Region};
use crate::io_log::IoLogSink;
use crate::live::{Live, Phase};
use crate::logger::{Logger, LoggerSetup};
use crate::payload::{Filler, PayloadError};
use crate::priorities::PriorityTracker;
use crate::recorder::{Intervals, RecordOptions, Recorder, ResponseEnd};
use crate::targets;
use crate::trace_read_ahead::TraceReadAhead;
use crate::verify::{SECTOR, Sectors, Stamper, StateError, VerifyError, VerifyState};

/// A job that is ready to run on its engine.
pub(crate) struct Setup<'a, H: Host> {
    pub job: &'a Job,
    /// Its index in the plan.
    pub index: u32,
    pub host: &'a Arc<H>,
    pub live: &'a Live,
    pub clock: Since<H::Clock>,
    pub generator: IoGenerator,
    /// The trace that is replayed instead of generated I/O.
    pub log: Option<TraceReadAhead>,
    pub regions: &'a [Region],
    pub sink: SyncSender<LogChunk>,
    /// Takes the times of each I/O.
    pub io_log: Option<IoLogSink>,
    pub unix_start_ns: u64,
    pub interval: Nanos,
    pub max_intervals: usize,
    /// Takes the intervals of long runs.
    pub job_archive: Option<JobArchive>,
    /// In `fathom run`, log windows without an I/O are written with a rate of 0, and a job that
    /// only verifies reads on after a wrong block; in `fathom fio` not.
    pub personality: Personality,
    pub notes: Vec<String>,
    /// Its membership in a flow.
    pub flow: Option<Member>,
    /// Blocks of the set that `dedupe_mode=working_set` repeats, and whether other jobs share it.
    pub dedupe_set: Option<(u64, bool)>,
}

/// Why a job cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    /// The content of its writes.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// Its verification.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The verify state cannot be read.
    #[error("{}: {source}; verify_state_load=1 needs the state that a write with verify_state_save=1 left", path.display())]
    MissingState {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// The verify state is invalid.
    #[error("{}: {source}", path.display())]
    InvalidState {
        /// The file.
        path: PathBuf,
        /// Why it is invalid.
        source: StateError,
    },
    /// Blocks of `verify=fathom` are not whole sectors.
    #[error(
        "verify=fathom stamps sectors of {SECTOR} bytes, but blocks begin or end at multiples of {granularity}; use a multiple of {SECTOR} for bs and offset, or one of fio's formats such as verify=crc32c"
    )]
    PartialSectors {
        /// All offsets and lengths of writes are multiples of this, bytes.
        granularity: u32,
    },
    /// A verified block has no space for its header.
    #[error(
        "a verified block of {smallest} bytes is too small for its header, which needs {needed} bytes; increase bs or verify_interval"
    )]
    BlockTooSmall {
        /// Bytes of the smallest verified block.
        smallest: usize,
        /// Bytes needed.
        needed: usize,
    },
}

impl<H: Host> EngineUser for Setup<'_, H> {
    type Output = Result<JobRecording, SetupError>;

    fn run<E: Engine>(
        self,
        engine: E,
        name: &'static str,
        fallback: Option<String>,
    ) -> Self::Output {
        let region = self.regions.iter().map(|r| r.end - r.start).sum();
        let (host, notes, clock) = (self.host, self.notes.clone(), self.clock.clone());
        let usage = host.usage();
        let launched = clock.now();
        let frame = WorkerContext {
            launched,
            usage,
            engine: name,
            fallback,
            tid: host.thread_id(),
            region,
            notes,
        };
        let mut worker = self.worker(engine, launched, region, frame)?;
        worker.verification.start_helpers(host);
        worker.work();
        worker.verification.stop_helpers();
        worker.pacing.leave_flow();
        let ended_load = worker.now();
        worker.live.enter(Phase::Finishing);
        worker.close_files();
        Ok(finish::record(worker, ended_load))
    }
}

impl<'a, H: Host> Setup<'a, H> {
    fn worker<E: Engine>(
        self,
        engine: E,
        launched: Nanos,
        region: u64,
        frame: WorkerContext,
    ) -> Result<Worker<'a, E, Since<H::Clock>, H>, SetupError> {
        let job = self.job;
        let depth = engine.depth().max(1);
        let synchronous = engine.is_synchronous();
        let ramp_end = launched.saturating_add(job.limits.ramp);
        let deadline = job
            .limits
            .runtime
            .map_or(u64::MAX, |time| ramp_end.saturating_add(time).get());
        let may_end_in_ramp = ends_by_amount(job);
        let measured_from = if may_end_in_ramp { launched } else { ramp_end };
        let (checker, filler) = (self.checker(depth)?, self.filler(depth)?);
        let logger = Logger::new(LoggerSetup {
            job: self.index,
            logs: job.accounting.logs.clone(),
            sink: self.sink,
            io_log: self.io_log,
            launched,
            start: ramp_end,
            unix_start_ns: self.unix_start_ns + ramp_end.get(),
            zero_rows: self.personality == Personality::Fathom,
            synchronous,
            prio: job.engine.settings.priorities.worker.unwrap_or(0),
            uses: PerDirection::from_fn(|d| job.pattern.traffic.uses(d)),
        });
        let verification = Verification::new(
            job,
            self.regions,
            checker,
            self.personality == Personality::Fathom,
        );
        let separates_writes = verification.separates_writes();
        let pacing = Pacing::new(job, depth, launched, ramp_end, self.flow, separates_writes);
        let limits = job
            .errors
            .max_latency
            .iter()
            .any(|(_, limit)| limit.is_some());
        let priorities = PriorityTracker::new(job);
        // A job that stamps its writes checks blocks in verify passes only, which have a loop of
        // their own.
        let load_has_follow_up = pacing.searches_depth()
            || priorities.is_some()
            || verification.checks_reads()
            || job.pace.think.is_some()
            || limits
            || job.pattern.traffic == Traffic::TrimWrite;
        let options = record_options(
            job,
            synchronous,
            pacing.is_open_loop(),
            has_commits(job) && self.personality == Personality::Fathom,
        );
        let record_options = RecordOptions {
            clat_from_ready: self.personality == Personality::Fathom,
            gaps_in_flight: job.verify.is_some(),
            ..options
        };
        let intervals = Intervals::new(
            self.interval.get().max(1_000_000),
            self.max_intervals,
            self.job_archive,
        );
        let log = self
            .log
            .zip(job.pace.replay.as_ref())
            .map(|(read_ahead, replay)| ReplayLog::new(read_ahead, replay, launched, depth));
        let features = Features {
            synchronous,
            fills_buffers: filler.is_some()
                || verification.is_enabled() && !verification.checks_reads(),
            has_follow_up: load_has_follow_up || verification.is_enabled(),
            load_has_follow_up,
            counts_final_syncs: self.personality == Personality::Fathom,
            accepts_empty_reads: self.personality == Personality::Fio
                && !synchronous
                && job
                    .files
                    .paths
                    .iter()
                    .all(|path| self.host.is_character_device(path)),
        };
        let times = Times {
            measured_from: measured_from.get(),
            deadline,
            next_publish: 0,
            ramp_end: may_end_in_ramp.then_some(ramp_end.get()),
        };
        Ok(Worker {
            job,
            regions: self.regions,
            live: self.live,
            host: self.host,
            clock: self.clock,
            engine,
            source: IoSource::new(self.generator, Budget::new(job, region), log)
                .stopping_at_passes(drops_cache_at_passes(job) || job.files.layout.unlink_each_loop)
                .without_last_syncs(self.personality == Personality::Fio),
            queue: if <H::Clock as Clock>::IS_VIRTUAL {
                IoQueue::new(depth, job.queue).without_polling()
            } else {
                IoQueue::new(depth, job.queue)
            },
            pacing,
            verification,
            recorder: Recorder::new(record_options, measured_from, intervals, logger),
            priorities,
            filler,
            times,
            features,
            outcome: Outcome::default(),
            frame,
        })
    }

    fn filler(&self, depth: u32) -> Result<Option<Filler>, SetupError> {
        let moves_nothing = self.job.engine.kind.changes_allocation() || !self.host.keeps_data();
        if !targets::writes(self.job) || self.job.verify.is_some() || moves_nothing {
            return Ok(None);
        }
        let read = |path: &Path| self.host.read_file(path);
        // Each run writes other data at the same offsets, so that a device that deduplicates gains
        // nothing.
        let seed = self.job.pattern.seed ^ self.unix_start_ns;
        let filler = Filler::new(&self.job.payload, seed, depth as usize, &read)?;
        Ok(Some(match self.dedupe_set {
            Some((blocks, shared)) => {
                filler.repeating(blocks, if shared { self.unix_start_ns } else { seed })
            }
            None => filler,
        }))
    }

    fn checker(&self, depth: u32) -> Result<Option<Checker>, SetupError> {
        let Some(verify) = &self.job.verify else {
            return Ok(None);
        };
        let granularity = self.job.pace.replay.as_ref().map_or_else(
            || granularity(self.job, self.regions),
            |replay| replay.alignment.get().min(1 << 20) as u32,
        );
        let shape = Shape {
            once: writes_once(self.job) && self.job.pace.replay.is_none(),
            granularity,
            depth,
            memory_budget: self.host.memory_budget(),
        };
        let method = match verify.kind {
            VerifyKind::Fathom => {
                Method::Sectors(Arc::new(self.sectors(verify, shape.granularity)?))
            }
            _ => Method::Fio(Arc::new(self.stamper(verify)?)),
        };
        let loaded = self.loaded_state(verify, depth)?;
        Ok(Some(Checker::new(
            self.job,
            verify,
            method,
            shape,
            loaded,
            self.unix_start_ns,
        )))
    }

    fn loaded_state(&self, verify: &Verify, depth: u32) -> Result<Option<VerifyState>, SetupError> {
        let Some(path) = &verify.state_load else {
            return Ok(None);
        };
        let bytes = self
            .host
            .read_file(path)
            .map_err(|source| SetupError::MissingState {
                path: path.clone(),
                source,
            })?;
        VerifyState::decode(&bytes, depth)
            .map(Some)
            .map_err(|source| SetupError::InvalidState {
                path: path.clone(),
                source,
            })
    }

    fn sectors(&self, verify: &Verify, granularity: u32) -> Result<Sectors, SetupError> {
        if !granularity.is_multiple_of(SECTOR as u32) {
            return Err(SetupError::PartialSectors { granularity });
        }
        let read = |path: &Path| self.host.read_file(path);
        // Each run has its own id, so that data of another run is never mistaken for data of this
        // one.
        let run = crate::payload::mix(self.unix_start_ns);
        let targets = self
            .job
            .files
            .paths
            .iter()
            .map(|path| self.host.target_id(path))
            .collect();
        let sectors = Sectors::new(
            verify,
            &self.job.payload,
            run,
            self.job.number as u16,
            targets,
            &read,
        )?;
        Ok(sectors)
    }

    fn stamper(&self, verify: &Verify) -> Result<Stamper, SetupError> {
        let read = |path: &Path| self.host.read_file(path);
        let seed = self.job.pattern.seed ^ if verify.only { 0 } else { self.unix_start_ns };
        let stamper = Stamper::new(
            verify,
            &self.job.payload,
            seed,
            self.job.number as u16,
            &read,
        )?;
        let smallest = if verify.interval > 0 {
            verify.interval
        } else {
            targets::smallest_block(self.job)
        } as usize;
        if stamper.has_header() && smallest < stamper.smallest_piece() {
            let needed = stamper.smallest_piece();
            return Err(SetupError::BlockTooSmall { smallest, needed });
        }
        Ok(stamper)
    }
}

/// The largest number of bytes of which all offsets and lengths of a job's writes are multiples.
fn granularity(job: &Job, regions: &[Region]) -> u32 {
    let pattern = &job.pattern;
    let sizes = |direction: Direction| -> Vec<u64> {
        match &pattern.block_size[direction] {
            _ if pattern.unaligned => vec![1],
            BlockSizes::Fixed(size) => vec![u64::from(*size)],
            BlockSizes::Range { min, .. } => vec![u64::from(*min)],
            BlockSizes::Split(parts) => parts.iter().map(|part| u64::from(part.0)).collect(),
        }
    };
    let used = Direction::ALL
        .into_iter()
        .filter(|direction| pattern.traffic.uses(*direction));
    let all = used.flat_map(|direction| {
        sizes(direction)
            .into_iter()
            .chain([pattern.block_align[direction].get()])
    });
    let skip = match pattern.access {
        Access::Sequential { skip } => skip.unsigned_abs(),
        Access::Random { .. } => 0,
    };
    let zones = pattern.zones.map_or(0, |_| 512);
    let granularity = all
        .chain(regions.iter().map(|region| region.start))
        .chain([skip, zones])
        .fold(0, gcd);
    u32::try_from(granularity).unwrap_or(SECTOR as u32)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether each block is written at most once in a pass.
fn writes_once(job: &Job) -> bool {
    let pattern = &job.pattern;
    match pattern.access {
        Access::Sequential { skip } => skip >= 0,
        Access::Random { every, .. } => {
            every <= 1
                && pattern.without_replacement
                && pattern.random_percent[Direction::Write] == 100
                && pattern.distribution[Direction::Write] == Distribution::Uniform
                && pattern.block_align[Direction::Write].is_zero()
        }
    }
}

/// Whether a job with a warm-up ends by its amount, which may be before the end of the warm-up.
fn ends_by_amount(job: &Job) -> bool {
    let limits = &job.limits;
    !(limits.ramp.is_zero() || limits.time_based && limits.runtime.is_some())
        && limits.steady.is_none()
        && job.pace.latency.is_none()
}

/// Whether the file is dropped from the page cache before each pass, as it is before the first.
pub(super) fn drops_cache_at_passes(job: &Job) -> bool {
    let layout = &job.files.layout;
    layout.invalidate
        && !layout.pre_read
        && !layout.create_on_open
        && !job.files.direct
        && job.engine.kind.moves_data()
        && job.engine.kind.has_targets()
        && job.pace.replay.is_none()
}

/// Which latencies are recorded. A synchronous engine in a closed loop has only one latency, which
/// is recorded once.
fn record_options(job: &Job, synchronous: bool, open_loop: bool, commits: bool) -> RecordOptions {
    let accounting = &job.accounting;
    let any = !accounting.reduced;
    RecordOptions {
        slat: any && accounting.slat && !synchronous,
        clat: any && (accounting.clat || (synchronous && accounting.lat)),
        lat: any && accounting.lat && !(synchronous && accounting.clat),
        response: match commits {
            true => Some(ResponseEnd::Flush),
            false => open_loop.then_some(ResponseEnd::Completion),
        }
        .filter(|_| any),
        lateness: any && open_loop,
        clat_from_ready: false,
        gaps_in_flight: false,
    }
}

/// Whether each write is followed by a flush: together they are a commit, as a database makes it.
fn has_commits(job: &Job) -> bool {
    let sync = &job.sync;
    (sync.fsync_every == 1) != (sync.fdatasync_every == 1)
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Drops the regions of the job from the page cache.
    pub(super) fn drop_page_cache(&mut self) {
        for (path, region) in self.job.files.paths.iter().zip(self.regions) {
            let request = LayOut {
                path: path.clone(),
                size: Bytes::ZERO,
                content: false,
                writes: targets::writes(self.job),
                create: false,
                fallocate: Fallocate::None,
                fsync: false,
                invalidate: Some((region.start, region.end)),
                pre_read: false,
                seed: 0,
            };
            let stop = AtomicBool::new(false);
            if let Err(error) = self.host.lay_out(&request, &stop, &mut |_| ()) {
                return self.fail(error.errno, error.to_string());
            }
        }
    }

    /// Removes the data of the files between two passes. A job that only reads fails then, as in
    /// fio: its file is removed.
    pub(super) fn empty_files(&mut self) {
        let only_reads = !targets::writes(self.job);
        for path in &self.job.files.paths {
            let done = if only_reads {
                self.host.finish(path, false, true)
            } else {
                self.host.empty_file(path)
            };
            if let Err(error) = done {
                return self.fail(error.errno, error.to_string());
            }
        }
        if only_reads {
            let what =
                "with unlink_each_loop=1 no file is left for the second loop of a job that reads";
            self.fail(ENOENT, what.to_owned());
        }
    }

    /// Syncs and removes files as planned. Writes through a mapping only change memory: whether the kernel could
    /// write it back is known after fsync(2) at the earliest.
    fn close_files(&mut self) {
        let sync = (self.job.sync.fsync_at_end || self.job.sync.fsync_on_close)
            && targets::writes(self.job);
        let unlink = self.job.files.layout.unlink;
        if self.job.sync.syncfs_at_end && targets::writes(self.job) && self.queue.in_flight() == 0 {
            for path in &self.job.files.paths {
                if let Err(error) = self.host.sync_file_system(path) {
                    self.fail(error.errno, error.to_string());
                }
            }
        }
        let ask =
            self.job.engine.kind == fathom_model::EngineKind::Mmap && targets::writes(self.job);
        if !sync && !ask && !unlink || self.queue.in_flight() > 0 {
            return;
        }
        for (file, path) in self.job.files.paths.iter().enumerate() {
            let before = self.clock.now();
            if sync && self.recorder.traces() {
                let request = Request {
                    slot: 0,
                    file: file as u32,
                    op: Op::Fsync,
                    len: 0,
                    offset: 0,
                    prio: 0,
                };
                self.recorder.trace(&request, before.get());
            }
            match self.host.finish(path, sync || ask, unlink) {
                Ok(()) if sync && self.features.counts_final_syncs => {
                    self.recorder.sync.record((self.clock.now() - before).get());
                }
                Ok(()) => {}
                Err(error) => self.fail(error.errno, error.to_string()),
            }
        }
    }
}
