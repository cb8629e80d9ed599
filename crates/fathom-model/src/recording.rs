//! What happened: counts, distributions and intervals of every job, and the conditions they were measured under.
//!
//! A recording holds no judgement and no derived statistic; `fathom-analyse` makes those from it.

use crate::{
    BlameRecording, Bytes, Conditions, Damage, DamageCounts, DepthProbe, Direction, EarlierRuns,
    Histogram, HostPart, Nanos, ObservedIo, PerDirection, Plan, SparseHistogram, SteadyRule,
    TargetRecording, Witnessed,
};

/// One whole run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The plan.
    pub plan: Plan,
    /// Wall clock at the start of the run, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Length of the whole run. All instants below are counted from its start (the run's epoch).
    pub elapsed: Nanos,
    /// One for each job of the plan, in its order.
    pub jobs: Vec<JobRecording>,
    /// Block devices below the targets, before and after.
    pub disks: Vec<DiskRecording>,
    /// Every target with the chain of devices below it: identity, settings and health, before and after.
    pub targets: Vec<TargetRecording>,
    /// How time was read.
    pub clock: ClockFacts,
    /// The machine, before and after.
    pub host: HostRecording,
    /// Conditions while it ran.
    pub conditions: Conditions,
    /// Stalls of the load generator itself.
    pub stalls: Vec<Stall>,
    /// How the run ended.
    pub end: RunEnd,
    /// Messages for the user (fallbacks, targets laid out, settings not available).
    pub messages: Vec<String>,
    /// Where the response time of the I/Os passed, with `--blame`.
    pub blame: Option<BlameRecording>,
    /// The hosts of a run on several hosts; empty for one host.
    pub hosts: Vec<HostPart>,
    /// The load of the only section of the plan at other queue depths, measured after the run.
    pub depth_probes: Vec<DepthProbe>,
    /// What the store knew of earlier runs of the same load on the same device, when this one ended.
    pub earlier: Option<EarlierRuns>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunEnd {
    /// By its plan.
    #[default]
    Completed,
    /// Interrupted by the user; I/O in flight was waited for.
    Interrupted,
    /// Stopped without waiting for I/O in flight.
    Aborted,
}

/// One worker's part.
#[derive(Clone, Debug)]
pub struct JobRecording {
    /// Engine that did the I/O, by fio's name; differs from the plan after a fallback.
    pub engine: String,
    /// Reason of a fallback.
    pub fallback: Option<String>,
    /// Thread id of the worker.
    pub tid: u32,
    /// The job never started (an earlier one failed, or the run was interrupted).
    pub skipped: bool,
    /// When the worker started.
    pub launched: Nanos,
    /// When measuring began: the first planned I/O after the warm-up.
    pub measured_from: Nanos,
    /// When the last measured I/O completed or the job stopped.
    pub ended: Nanos,
    /// Reads, writes, trims.
    pub directions: PerDirection<DirectionRecording>,
    /// fsync and fdatasync.
    pub sync: Histogram,
    /// Failed fsync and fdatasync calls.
    pub sync_failed: u64,
    /// I/O of the warm-up, in no other number.
    pub warmup: PerDirection<Counts>,
    /// The measured time, interval by interval, without gaps.
    pub intervals: Vec<Interval>,
    /// How many I/Os were in flight at each submission, by fio's classes 1, 2, 4, 8, 16, 32, 64 and more.
    pub depth_levels: [u64; 7],
    /// I/Os in one submission: 0, 4, 8, 16, 32, 64 and more (each class up to its name).
    pub submit_levels: [u64; 7],
    /// I/Os reaped at once, same classes.
    pub complete_levels: [u64; 7],
    /// Sum over all measured I/Os of the time from submission to completion.
    pub in_flight_ns: u128,
    /// CPU of the worker.
    pub usage: Usage,
    /// The error that stopped the job, or the first one that did not.
    pub error: Option<JobError>,
    /// Errors that did not stop it (`continue_on_error`).
    pub errors_continued: u64,
    /// What verification did.
    pub verify: VerifyCounts,
    /// Results of `steadystate` and `latency_target`.
    pub pace: PaceRecording,
    /// Times without a completion, of at least a quarter of a second, with their exact start and length. Only the first ones of
    /// a job with very many.
    pub gaps: Vec<Stall>,
    /// Name and content of the verify state file to save (`verify_state_save`).
    pub verify_state: Option<(String, Vec<u8>)>,
    /// The first wrong blocks, at most [`Damage::MAX_RECORDED`]; `verify.bad` counts all.
    pub damages: Vec<Damage>,
    /// Events with their times.
    pub events: Vec<Event>,
    /// Bytes of the regions of all files together.
    pub region: Bytes,
    /// I/Os per second that this worker could generate on a target without latency, measured after the run; known for
    /// the first clone of each section of a sufficiently long run.
    pub ceiling_iops: Option<f64>,
    /// How addresses were drawn without replacement, and other choices made at run time, as text.
    pub notes: Vec<String>,
    /// Block I/O of other programs, seen through tracepoints.
    pub observed: Option<Box<ObservedIo>>,
}

impl JobRecording {
    /// Changes every instant.
    pub fn shift_times(&mut self, shifted: impl Fn(Nanos) -> Nanos) {
        for at in [&mut self.launched, &mut self.measured_from, &mut self.ended] {
            *at = shifted(*at);
        }
        for interval in &mut self.intervals {
            interval.start = shifted(interval.start);
        }
        for gap in &mut self.gaps {
            gap.at = shifted(gap.at);
        }
        for event in &mut self.events {
            event.at = shifted(event.at);
        }
        if let Some(error) = &mut self.error {
            error.at = shifted(error.at);
        }
    }
}

/// One direction of one job.
#[derive(Clone, Debug, Default)]
pub struct DirectionRecording {
    /// How the I/Os ended.
    pub counts: Counts,
    /// From ready to submitted. Empty for engines whose submission is the I/O.
    pub slat: Histogram,
    /// From submitted to completed: the service time.
    pub clat: Histogram,
    /// From ready to completed.
    pub lat: Histogram,
    /// From due to completed: the response time. Filled only in an open loop; in a closed loop an I/O is due when it is ready.
    pub response: Histogram,
    /// From due to submitted: how late the generator was. Only in an open loop.
    pub lateness: Histogram,
    /// Latency of short and failed I/Os, which none of the above include.
    pub bad: Histogram,
    /// lat (with `lat_percentiles`) or clat of each priority, where single I/Os had one of their own.
    pub priorities: Vec<PriorityRecording>,
}

/// Latencies of the I/Os of one priority.
#[derive(Clone, Debug)]
pub struct PriorityRecording {
    /// In the encoding of ioprio_set(2).
    pub prio: u16,
    /// lat with `lat_percentiles`, otherwise clat.
    pub latency: Histogram,
}

/// How I/Os ended. `planned` is always the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Due by the plan.
    pub planned: u64,
    /// Completed in full.
    pub ok: u64,
    /// Transferred fewer bytes than requested.
    pub short: u64,
    /// Failed.
    pub failed: u64,
    /// Never completed.
    pub timed_out: u64,
    /// Due, but never submitted.
    pub not_sent: u64,
    /// Bytes requested by the submitted I/Os.
    pub bytes_requested: u64,
    /// Bytes moved by I/Os that completed in full.
    pub bytes_ok: u64,
    /// Bytes moved by short I/Os.
    pub bytes_short: u64,
    /// Bytes missing from short, failed and timed-out I/Os.
    pub bytes_missing: u64,
}

impl Counts {
    /// Conservation: every planned I/O ended in exactly one way, and every requested byte was transferred or is missing.
    #[must_use]
    pub fn balanced(&self) -> bool {
        self.planned == self.ok + self.short + self.failed + self.timed_out + self.not_sent
            && self.bytes_requested == self.bytes_ok + self.bytes_short + self.bytes_missing
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Counts) {
        self.planned += other.planned;
        self.ok += other.ok;
        self.short += other.short;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.not_sent += other.not_sent;
        self.bytes_requested += other.bytes_requested;
        self.bytes_ok += other.bytes_ok;
        self.bytes_short += other.bytes_short;
        self.bytes_missing += other.bytes_missing;
    }
}

/// One interval of one job. Intervals are aligned to the run's epoch, so those of different jobs can be added.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Start, counted from the run's epoch.
    pub start: Nanos,
    /// Length; only the first and the last may be shorter than [`Plan::interval`].
    pub length: Nanos,
    /// What completed in it.
    pub directions: PerDirection<IntervalDirection>,
}

/// One direction in one interval.
#[derive(Clone, Debug, Default)]
pub struct IntervalDirection {
    /// I/Os completed in full.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Short, failed and timed-out I/Os.
    pub bad: u64,
    /// Service times (clat).
    pub clat: SparseHistogram,
    /// Response times, open loop only.
    pub response: SparseHistogram,
}

/// Result of `steadystate`.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyRecording {
    /// The rule that was requested.
    pub rule: SteadyRule,
    /// The steady state was reached, which ended the jobs.
    pub attained: bool,
    /// Slope of the last samples in units per sample; 0 where the distance counts.
    pub slope: f64,
    /// Largest distance from their mean; 0 where the slope counts.
    pub deviation: f64,
    /// The value compared with the limit; 0 before there were enough samples.
    pub criterion: f64,
    /// The last samples, at most [`SteadyRule::samples`].
    pub samples: Vec<SteadySample>,
}

/// One sample of `steadystate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SteadySample {
    /// I/Os per second.
    pub iops: u64,
    /// Bytes per second.
    pub bandwidth: u64,
    /// Mean service time; 0 without an I/O.
    pub latency: Nanos,
}

/// Results of a search or a wait inside a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaceRecording {
    /// `steadystate`, stored with the first of the jobs that are judged together.
    pub steady: Option<SteadyRecording>,
    /// `latency_target`: the queue depth that was found.
    pub latency_depth: Option<u32>,
}

/// CPU time and faults of one thread. See getrusage(2), RUSAGE_THREAD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In user space.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
    /// Voluntary and involuntary context switches.
    pub switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
    /// Runnable but not running. See `/proc/thread-self/schedstat`.
    pub waited: Nanos,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    /// errno; 84 (EILSEQ) for a verify mismatch, as in fio.
    pub errno: i32,
    /// The operation as text, with offset and file.
    pub operation: String,
    /// When.
    pub at: Nanos,
}

/// An event during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Nanos,
    /// What happened.
    pub kind: EventKind,
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// First short I/O: direction, offset, bytes requested and transferred.
    FirstShort {
        /// Direction.
        direction: Direction,
        /// Offset, bytes.
        offset: u64,
        /// Requested bytes.
        requested: u32,
        /// Transferred bytes.
        transferred: u32,
    },
    /// First failed I/O.
    FirstError {
        /// Direction; `None` for fsync.
        direction: Option<Direction>,
        /// Offset, bytes.
        offset: u64,
        /// errno.
        errno: i32,
    },
    /// The target is smaller than it was at the start.
    TargetShrank {
        /// Path.
        path: String,
        /// Before.
        from: Bytes,
        /// Now.
        to: Bytes,
    },
    /// Waiting for I/Os in flight was given up.
    GaveUp {
        /// How many.
        in_flight: u32,
        /// How long they were waited for.
        waited: Nanos,
    },
    /// A worker thread ended without a recording.
    WorkerDied {
        /// Why, as far as known.
        reason: String,
    },
    /// First block that did not verify.
    FirstMismatch {
        /// Offset, bytes.
        offset: u64,
        /// The difference as text.
        difference: String,
    },
}

/// What verification did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyCounts {
    /// Blocks planned to be checked.
    pub planned: u64,
    /// Blocks checked and found right.
    pub good: u64,
    /// Blocks that differ.
    pub bad: u64,
    /// Bytes checked.
    pub bytes: u64,
    /// Blocks whose write had failed or is not in the loaded verify state, so that their expected content is unknown; none of the
    /// above include them.
    pub unknown: u64,
    /// Measured time in which blocks were read back and nothing else was done.
    pub time: Nanos,
    /// The wrong blocks by class; all zero for fio's formats, which have no classes.
    pub classes: DamageCounts,
}

impl VerifyCounts {
    /// Adds `other`.
    pub fn add(&mut self, other: &VerifyCounts) {
        self.planned += other.planned;
        self.good += other.good;
        self.bad += other.bad;
        self.bytes += other.bytes;
        self.unknown += other.unknown;
        self.time += other.time;
        self.classes.add(&other.classes);
    }
}

/// A block device below a target. See Documentation/admin-guide/iostats.rst of Linux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskRecording {
    /// Kernel name, such as `vda`.
    pub name: String,
    /// Before the load.
    pub before: DiskCounters,
    /// After it.
    pub after: DiskCounters,
}

/// Counters of a block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the names are those of the kernel's iostats document; times in ms, sectors of 512 bytes"
)]
pub struct DiskCounters {
    pub read_ios: u64,
    pub read_merges: u64,
    pub read_sectors: u64,
    pub read_ticks: u64,
    pub write_ios: u64,
    pub write_merges: u64,
    pub write_sectors: u64,
    pub write_ticks: u64,
    pub in_flight: u64,
    pub io_ticks: u64,
    pub time_in_queue: u64,
    pub discard_ios: u64,
    pub discard_sectors: u64,
    pub flush_ios: u64,
    pub flush_ticks: u64,
}

/// How time was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockFacts {
    /// `tsc` or `monotonic`.
    pub source: String,
    /// Cost of one reading, nanoseconds.
    pub cost_ns: f64,
    /// Disagreement with CLOCK_MONOTONIC over the run, parts per million.
    pub drift_ppm: f64,
}

/// The machine before and after the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRecording {
    /// Kernel release.
    pub kernel: String,
    /// Profile that the program was built with: `dev` or `release`; empty where unknown.
    pub build_profile: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Physical memory.
    pub memory: Bytes,
    /// Share of CPU time stolen by the hypervisor during the run, in percent; `None` where unknown.
    pub steal_percent: Option<f64>,
    /// cgroup CPU throttles during the run; `None` where unknown.
    pub cpu_throttles: Option<u64>,
    /// Share of all CPUs busy during the run, percent.
    pub busy_percent: Option<f64>,
    /// Result of `--idle-prof`.
    pub idleness: Option<CpuIdleness>,
    /// Set where a simulated device was measured in virtual time: nothing else of the machine
    /// is then known.
    pub simulated: Option<Simulated>,
    /// Set where a command was watched in place of a load of fathom: the only job then has the system
    /// calls of the command, without latencies.
    pub witnessed: Option<Box<Witnessed>>,
}

/// The simulated device of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// Its composition, such as `raid5(8 x hdd-7200, chunk=64k)`.
    pub device: String,
    /// Seed of the random numbers of the model.
    pub seed: u64,
}

/// How idle the CPUs were while the load ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuIdleness {
    /// Mean over all CPUs, percent; `None` where only the unit of work was timed.
    pub system_percent: Option<f64>,
    /// Each CPU, percent, where requested.
    pub cpus_percent: Vec<f64>,
    /// Mean time of a unit of work, microseconds.
    pub unit_mean_us: f64,
    /// Its standard deviation between CPUs.
    pub unit_stddev_us: f64,
}

/// The load generator stalled: its watchdog woke late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it should have woken.
    pub at: Nanos,
    /// How late it was.
    pub lasted: Nanos,
}
