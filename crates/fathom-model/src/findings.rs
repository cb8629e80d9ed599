//! The results of the analysis: every statistic a report prints, and every finding with its evidence.
//!
//! `fathom-analyse` fills these types; `fathom-report` formats them and computes nothing.

use crate::names::named;
use crate::{
    BlameSheet, Bytes, ClockFacts, Conditions, Counts, Damage, Diagnosis, DiskCounters, Histogram,
    HostRecording, HostSummary, LatencyTarget, Nanos, ObservedIo, Override, PerDirection,
    Personality, Provenance, RunEnd, SparseHistogram, SpecReport, Stall, SteadyRecording,
    SteadySample, TargetRecording, VerifyCounts, fio_bins::fio_bins,
};

/// One whole run, evaluated.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Unit conventions of the job files.
    pub personality: Personality,
    /// Job files as given.
    pub sources: Vec<String>,
    /// Options of `[global]`, canonical names, as written.
    pub globals: Vec<(String, Option<String>)>,
    /// Explicit overrides.
    pub overrides: Vec<Override>,
    /// Wall clock at the start, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Length of the run.
    pub elapsed: Nanos,
    /// How it ended.
    pub end: RunEnd,
    /// One for each job, or for each group with `group_reporting`: fio's `jobs[]`, in its order.
    pub entries: Vec<Entry>,
    /// One for each reporting group: fio's `Run status group`.
    pub groups: Vec<GroupSummary>,
    /// The jobs that ran at the same time, added; empty where every entry ran alone.
    pub totals: Vec<TotalSummary>,
    /// Block devices below the targets.
    pub disks: Vec<DiskSummary>,
    /// Every target with the devices below it.
    pub targets: Vec<TargetRecording>,
    /// All findings, worst first.
    pub findings: Vec<Finding>,
    /// Whether the numbers can be used.
    pub verdict: Verdict,
    /// How time was read.
    pub clock: ClockFacts,
    /// The machine.
    pub host: HostRecording,
    /// Conditions while it ran.
    pub conditions: Conditions,
    /// Stalls of the load generator.
    pub stalls: Vec<Stall>,
    /// Warnings of the front end and messages of the run, as text.
    pub messages: Vec<String>,
    /// Set where another program measured this: clock, host and conditions are then empty.
    pub imported: Option<Provenance>,
    /// Comparison with the data sheet of the device, where one was used.
    pub spec: Option<SpecReport>,
    /// Where the response time of the I/Os passed, with `--blame`.
    pub blame: Option<BlameSheet>,
    /// The hosts of a run on several hosts; empty for one host.
    pub hosts: Vec<HostSummary>,
}

impl Findings {
    /// Wall clock at the end of the reported time, milliseconds since 1970.
    #[must_use]
    pub fn ended_unix_ms(&self) -> u64 {
        self.started_unix_ns.saturating_add(self.elapsed.get()) / 1_000_000
    }
}

/// Whether the numbers of a run can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No known problem affects them.
    Valid,
    /// They are valid only under the conditions named in the findings.
    Degraded,
    /// They must not be used.
    Invalid,
}

named!(Verdict {
    Valid => "valid",
    Degraded => "degraded",
    Invalid => "invalid",
});

/// A known problem of the run, with its code, evidence and advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Stable number, such as `F005`; `fathom explain F005` explains it.
    pub id: &'static str,
    /// Stable name, such as `SHORT_IO`, accepted wherever the number is.
    pub code: &'static str,
    /// Its effect on the verdict.
    pub weight: Weight,
    /// Name of the entry it is about; `None` is the whole run.
    pub about: Option<String>,
    /// What was seen, with the figures in it.
    pub evidence: String,
    /// What the user can do about it.
    pub advice: String,
    /// When it was seen, ascending and disjoint; empty where it has no specific time.
    pub when: Vec<TimeSpan>,
}

/// A part of a run's time, counted from the run's epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    /// Beginning.
    pub from: Nanos,
    /// End; not before the beginning.
    pub to: Nanos,
}

impl TimeSpan {
    /// The largest number of spans of one finding; of more, the longest are kept.
    pub const MAX_PER_FINDING: usize = 64;

    /// The span of `length` from `from` on.
    #[must_use]
    pub fn of_length(from: Nanos, length: Nanos) -> TimeSpan {
        TimeSpan {
            from,
            to: from + length,
        }
    }

    /// The spans in order, adjacent and overlapping ones merged, [`TimeSpan::MAX_PER_FINDING`] of them at most.
    #[must_use]
    pub fn merged(mut spans: Vec<TimeSpan>) -> Vec<TimeSpan> {
        spans.sort_unstable();
        let mut merged: Vec<TimeSpan> = Vec::new();
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.from <= last.to => last.to = last.to.max(span.to),
                _ => merged.push(span),
            }
        }
        if merged.len() > TimeSpan::MAX_PER_FINDING {
            merged.sort_by_key(|span| std::cmp::Reverse(span.to.saturating_sub(span.from)));
            merged.truncate(TimeSpan::MAX_PER_FINDING);
            merged.sort_unstable();
        }
        merged
    }
}

impl Finding {
    /// The same with the times it was seen at.
    #[must_use]
    pub fn with_times(mut self, spans: impl IntoIterator<Item = TimeSpan>) -> Finding {
        self.when.extend(spans);
        self.when = TimeSpan::merged(self.when);
        self
    }
}

/// Effect of a finding on the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Worth knowing.
    Note,
    /// The verdict is at best degraded.
    Degrades,
    /// The verdict is invalid.
    Invalidates,
}

named!(Weight {
    Note => "note",
    Degrades => "degrades",
    Invalidates => "invalidates",
});

/// A job, or a group of clones reported as one.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Name of the (first) job.
    pub name: String,
    /// Reporting group.
    pub group: u32,
    /// `description`.
    pub description: Option<String>,
    /// Options of the (first) job's own section.
    pub options: Vec<(String, Option<String>)>,
    /// How many jobs are in it.
    pub members: u32,
    /// Thread id of the (first) worker.
    pub tid: u32,
    /// Summary of the load: `random read, 4 KiB blocks, queue depth 32, io_uring, direct`.
    pub workload: String,
    /// fio's name of the pattern (`randread`) for its banner line.
    pub rw: String,
    /// Block sizes as (smallest, largest) bytes of each direction, for the banner line.
    pub block_sizes: PerDirection<(u32, u32)>,
    /// Its engine.
    pub engine: String,
    /// Requested queue depth of one job; 0 if none of its jobs did I/O of its own: it never began, only laid out files,
    /// or only verified existing data.
    pub depth: u32,
    /// errno of the first failure; 0 without one.
    pub error: i32,
    /// Description of that error.
    pub error_text: String,
    /// Number of errors that did not stop it, and errno of the first (`continue_on_error`).
    pub errors_continued: Option<(u64, i32)>,
    /// Whole seconds of the whole run up to the end of this entry (fio's `elapsed`).
    pub elapsed_s: u64,
    /// Start of the job, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Read, write, trim.
    pub directions: PerDirection<DirectionSummary>,
    /// All directions as one, with `unified_rw_reporting`.
    pub mixed: Option<DirectionSummary>,
    /// Whether read, write and trim are shown in addition to `mixed`.
    pub show_directions: bool,
    /// fsync, fdatasync and sync_file_range.
    pub sync: LatencySummary,
    /// fsyncs among them, where fio counts only these; `None` is all.
    pub fsyncs: Option<u64>,
    /// Run times of all members, summed.
    pub job_runtime: Nanos,
    /// CPU in percent of the run time.
    pub user_percent: f64,
    /// See `user_percent`.
    pub system_percent: f64,
    /// Context switches.
    pub switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
    /// Percent of submissions at in-flight 1, 2, 4, 8, 16, 32, 64 and more.
    pub depth_levels: [f64; 7],
    /// Percent of submissions of 0, 4, 8, 16, 32, 64 and more I/Os.
    pub submit_levels: [f64; 7],
    /// Percent of reaps of 0, 4, 8, 16, 32, 64 and more.
    pub complete_levels: [f64; 7],
    /// Percent of latencies up to 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000 ns.
    pub latency_ns: [f64; 10],
    /// The same in microseconds.
    pub latency_us: [f64; 10],
    /// The same in milliseconds, then 2000, and 2000 and more.
    pub latency_ms: [f64; 12],
    /// Little's law.
    pub little: Little,
    /// Which latency kinds were recorded and which percentiles were requested.
    pub latency_kinds: LatencyKinds,
    /// I/Os per second that its workers can generate on this host with this plan on a target without latency.
    pub ceiling_iops: Option<f64>,
    /// Verification.
    pub verify: Option<VerifyCounts>,
    /// Steady state.
    pub steady: Option<SteadySummary>,
    /// Search for a depth by latency.
    pub latency: Option<DepthSearch>,
    /// The wrong blocks that were recorded, of all members.
    pub damages: Vec<Damage>,
    /// The first of them, in sentences.
    pub damage_lines: Vec<String>,
    /// Planned I/Os and how they ended, over all directions.
    pub counts: Counts,
    /// Open loop: the requested rate as text, I/Os or bytes per second; `None` in a closed loop.
    pub offered: Option<String>,
    /// Choices made at run time by its members, as text, without duplicates.
    pub notes: Vec<String>,
    /// Bottleneck, remedy, recommended queue depth and tail latency: sentences, each with its figures.
    pub summary: Vec<String>,
    /// What limits its rate; `None` without I/O, and for the I/O of other programs.
    pub diagnosis: Option<Diagnosis>,
    /// The measured time, interval by interval, all members added: the points of every chart over time.
    pub series: Vec<MergedInterval>,
    /// Block I/O of other programs, seen through tracepoints.
    pub observed: Option<Box<ObservedIo>>,
}

/// One interval of an entry, merged from all members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedInterval {
    /// Start, counted from the run's epoch.
    pub start: Nanos,
    /// Length.
    pub length: Nanos,
    /// Read, write, trim.
    pub directions: PerDirection<MergedIntervalDirection>,
}

/// One direction in one interval. Latencies are response times in an open loop, clat in a closed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedIntervalDirection {
    /// I/Os completed in full.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Short, failed and timed-out I/Os.
    pub bad: u64,
    /// Median latency, nanoseconds; `None` where no latency was recorded.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Largest.
    pub max: Option<u64>,
    /// Mean; that of all I/Os of the interval, not of its members' means.
    pub mean: Option<u64>,
    /// Mean submission latency, where it is recorded over time.
    pub slat: Option<u64>,
    /// Mean total latency, where it is recorded over time.
    pub lat: Option<u64>,
    /// All latencies, from which the figures above come; empty in an imported result that has only means.
    pub latencies: SparseHistogram,
}

/// Which latency figures an entry contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the name of a latency kind")]
pub struct LatencyKinds {
    pub slat: bool,
    pub clat: bool,
    pub lat: bool,
    pub slat_percentiles: bool,
    pub clat_percentiles: bool,
    pub lat_percentiles: bool,
}

/// Little's law: mean in flight = rate x mean latency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Little {
    /// Requested queue depth, over all members.
    pub queue_depth: f64,
    /// I/Os per second, times mean service time.
    pub in_flight: f64,
    /// I/Os per second of all directions.
    pub iops: f64,
    /// Mean service time (clat), nanoseconds.
    pub mean_ns: f64,
}

/// One direction of one entry.
#[derive(Clone, Debug, Default)]
pub struct DirectionSummary {
    /// Bytes moved by good I/Os.
    pub bytes: u64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Good I/Os per second.
    pub iops: f64,
    /// Longest run time of the members that used this direction, milliseconds.
    pub runtime_ms: u64,
    /// Good I/Os.
    pub ios: u64,
    /// I/Os that transferred less than requested.
    pub short_ios: u64,
    /// Dropped I/Os: due, but never submitted.
    pub dropped_ios: u64,
    /// How the I/Os ended.
    pub counts: Counts,
    /// Submission latency.
    pub slat: LatencySummary,
    /// Completion latency (service time).
    pub clat: LatencySummary,
    /// Total latency.
    pub lat: LatencySummary,
    /// From due to completed; open loop only.
    pub response: Option<LatencySummary>,
    /// From due to submitted; open loop only.
    pub lateness: Option<LatencySummary>,
    /// Latencies by priority, where the I/Os had more than one: lat with `lat_percentiles`, otherwise clat.
    pub priorities: Vec<PrioritySummary>,
    /// Bandwidth samples in KiB/s, as fio sums them over members.
    pub bw_samples: Samples,
    /// This entry's share of its group's bandwidth, percent.
    pub bw_share: f64,
    /// IOPS samples.
    pub iops_samples: Samples,
}

/// Latencies of the I/Os of one priority. See ioprio_set(2).
#[derive(Clone, Debug, PartialEq)]
pub struct PrioritySummary {
    /// 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// 0 (first) to 7.
    pub level: u8,
    /// Hint of the kernel's encoding.
    pub hint: u16,
    /// They are total latencies, not service times.
    pub total: bool,
    /// The latencies.
    pub latency: LatencySummary,
}

/// The result of `steadystate`.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadySummary {
    /// The rule, its value over the last samples, and the samples, padded with zeros to the number required.
    pub recording: SteadyRecording,
    /// Means over the samples.
    pub mean: SteadySample,
}

/// The result of `latency_target`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthSearch {
    /// The target that was requested.
    pub target: LatencyTarget,
    /// The depth that was found.
    pub depth: u32,
}

/// Samples of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "plain statistics of samples")]
pub struct Samples {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub dev: f64,
    pub count: u64,
}

/// The figures of a latency distribution that reports print. All values in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Smallest; 0 when empty.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Number of values.
    pub n: u64,
    /// (percentile, value), in the requested order.
    pub percentiles: Vec<(f64, u64)>,
    /// (middle of fio's bin, count), rising, empty bins left out: 64 bins per power of two.
    pub bins: Vec<(u64, u64)>,
    /// Values above 73 minutes; they are in `max`, not in `bins`.
    pub overflow: u64,
}

/// How long the kernel waits for a command before it aborts it and resets the device, by default: of SCSI and SATA
/// `/sys/block/*/device/timeout`, of NVMe `nvme_core.io_timeout`.
pub const COMMAND_TIMEOUT: Nanos = Nanos::from_secs(30);

/// Of the median that a closed loop has beside a standstill, its mean may lack this share: the shares of fast and slow I/Os
/// differ.
const MEAN_OF_STANDSTILL: f64 = 0.75;

impl LatencySummary {
    /// How long nothing completed, where a closed loop that lasted `lasted_ns` shows a command timeout: then all I/Os in flight
    /// waited as long as the longest, and the mean of all is that of the others divided by the share of the time in which they
    /// ran (Little's law). A single I/O that waited while others completed leaves the mean as it is.
    #[must_use]
    pub fn standstill(&self, lasted_ns: f64) -> Option<Nanos> {
        let longest = Nanos::new(self.max);
        let (_, median) = self
            .percentiles
            .iter()
            .find(|one| (one.0 - 50.0).abs() < 1e-6)?;
        let ran = 1.0 - self.max as f64 / lasted_ns;
        let all_waited = self.mean * ran >= *median as f64 * MEAN_OF_STANDSTILL;
        (longest >= COMMAND_TIMEOUT && ran > 0.0 && all_waited).then_some(longest)
    }

    /// The summary of `histogram`, with the values at `percentiles` (0 to 100).
    #[must_use]
    pub fn of(histogram: &Histogram, percentiles: &[f64]) -> LatencySummary {
        let value = |p: &f64| histogram.percentile(*p).map(|v| (*p, v.round() as u64));
        LatencySummary {
            min: histogram.min().map_or(0, Nanos::get),
            max: histogram.max().map_or(0, Nanos::get),
            mean: histogram.mean(),
            stddev: histogram.std_dev(),
            n: histogram.count(),
            percentiles: percentiles.iter().filter_map(value).collect(),
            bins: fio_bins(histogram),
            overflow: histogram.overflow(),
        }
    }
}

/// A reporting group (fio's `Run status group`).
#[derive(Clone, Debug, Default)]
pub struct GroupSummary {
    /// Its number.
    pub group: u32,
    /// Read, write, trim; `None` for directions without I/O.
    pub directions: PerDirection<Option<GroupDirection>>,
    /// In place of those with `unified_rw_reporting=mixed`.
    pub mixed: Option<GroupDirection>,
}

/// One direction of a group. Bandwidths in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the figures of fio's group line")]
pub struct GroupDirection {
    pub bandwidth: f64,
    pub min_bandwidth: f64,
    pub max_bandwidth: f64,
    pub bytes: u64,
    pub min_runtime_ms: u64,
    pub max_runtime_ms: u64,
}

/// All jobs of several entries that ran at the same time, as one load.
#[derive(Clone, Debug, Default)]
pub struct TotalSummary {
    /// Names of the entries, each once, in their order.
    pub names: Vec<String>,
    /// Number of jobs.
    pub jobs: u32,
    /// From the start of the first job to the end of the last one.
    pub span: Nanos,
    /// Sums over all jobs. Rates are the amount divided by `span`; percentiles are those of the merged histograms.
    pub directions: PerDirection<DirectionSummary>,
    /// Little's law over `span`.
    pub little: Little,
    /// The figures in one sentence.
    pub sentence: String,
}

/// A block device during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSummary {
    /// Kernel name.
    pub name: String,
    /// After minus before.
    pub delta: DiskCounters,
    /// Busy share, percent.
    pub util: f64,
    /// Capacity, where known.
    pub size: Option<Bytes>,
}
