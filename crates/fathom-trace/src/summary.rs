//! What a trace says about devices and processes: rates, sizes, phases of latency, depth, splits and merges.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use fathom_model::{Histogram, Nanos, ObservedIo, ObservedOffsets, RequestPhase, SparseHistogram};

use crate::decode::{ThreadName, thread_name};
use crate::event::{BlockEvent, BlockEventKind, DeviceNumber, IoFlags, SECTOR};
use crate::files::{FileIo, FileRequest};
use crate::offsets::OffsetMap;
use crate::process::{Process, Processes};
use crate::session::TraceConsumer;
use crate::tracker::{Bio, BioPart, FastHasher, Request, Tracker, TrackerCounts, TrackerOutput};

/// Length of an interval at first.
pub const INTERVAL_NS: u64 = 100_000_000;
/// Intervals that are kept. When there are more, each two become one, so that days take no more memory than minutes.
const MOST_INTERVALS: usize = 4_096;
/// Different sizes, streams and processes that are kept apart; the rest is added to one of them, or left out where it says so.
const MOST_SIZES: usize = 4_096;
const MOST_STREAMS: usize = 16_384;
const MOST_PROCESSES: usize = 2_048;
/// Depths above this count as this.
const LARGEST_DEPTH: usize = 4_096;

/// The limits of a device's queue that make the kernel split I/O: files of `/sys/block/*/queue`, 0 where unknown or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueLimits {
    /// Its name, such as `vda`.
    pub name: String,
    /// The scheduler, such as `mq-deadline`.
    pub scheduler: String,
    /// Largest request, KiB.
    pub max_sectors_kb: u64,
    /// Largest request that the hardware takes, KiB.
    pub max_hw_sectors_kb: u64,
    /// Most pieces of memory in one request.
    pub max_segments: u64,
    /// A request may not cross a multiple of this many sectors: the stripe of an array, or a zone.
    pub chunk_sectors: u64,
    /// Bytes of a logical block.
    pub logical_block_size: u64,
    /// `nomerges`: 1 or 2 keep the kernel from merging.
    pub nomerges: u64,
    /// The device has no requests: its bios complete by themselves.
    pub bio_based: bool,
}

/// Why a bio was divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SplitCause {
    /// The first part has the length of `max_sectors_kb`.
    MaxSectors,
    /// It ends at a multiple of `chunk_sectors`.
    Chunk,
    /// It is shorter than both: too many pieces of memory (`max_segments`), or a limit of one segment.
    Segments,
}

impl SplitCause {
    /// The file of `/sys/block/*/queue` that has the limit.
    #[must_use]
    pub fn limit(self) -> &'static str {
        match self {
            Self::MaxSectors => "max_sectors_kb",
            Self::Chunk => "chunk_sectors",
            Self::Segments => "max_segments",
        }
    }
}

/// Reads, writes or discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IoDirection {
    /// Reads.
    Read,
    /// Writes of data.
    Write,
    /// Discards and secure erases.
    Discard,
}

impl IoDirection {
    /// All of them.
    pub const ALL: [IoDirection; 3] = [Self::Read, Self::Write, Self::Discard];

    /// `read`, `write` or `discard`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
        }
    }

    /// The direction of an I/O with data; `None` for flushes and commands.
    #[must_use]
    pub fn of(flags: IoFlags, sectors: u32) -> Option<Self> {
        if flags.is_flush() || sectors == 0 {
            None
        } else if flags.is_read() {
            Some(Self::Read)
        } else if flags.is_write() {
            Some(Self::Write)
        } else if flags.is_discard() {
            Some(Self::Discard)
        } else {
            None
        }
    }
}

/// The time of requests by phase, nanoseconds. Each histogram has the requests for which the trace saw both ends.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    /// From the block layer's first sight of it to the scheduler's queue.
    pub queue_to_insert: Histogram,
    /// In the scheduler's queue.
    pub insert_to_issue: Histogram,
    /// From the block layer's first sight of it to the driver: both of the above, or direct.
    pub queue_to_issue: Histogram,
    /// With the driver and the device.
    pub issue_to_complete: Histogram,
    /// All of it.
    pub queue_to_complete: Histogram,
}

impl Phases {
    fn merge(&mut self, other: &Phases) {
        self.queue_to_insert.merge(&other.queue_to_insert);
        self.insert_to_issue.merge(&other.insert_to_issue);
        self.queue_to_issue.merge(&other.queue_to_issue);
        self.issue_to_complete.merge(&other.issue_to_complete);
        self.queue_to_complete.merge(&other.queue_to_complete);
    }

    fn clear(&mut self) {
        self.queue_to_insert.clear();
        self.insert_to_issue.clear();
        self.queue_to_issue.clear();
        self.issue_to_complete.clear();
        self.queue_to_complete.clear();
    }
}

/// What completed within one interval.
#[derive(Clone, Debug, Default)]
pub struct IntervalSummary {
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// From queue to the scheduler's queue.
    pub queue_to_insert: SparseHistogram,
    /// In the scheduler's queue.
    pub insert_to_issue: SparseHistogram,
    /// From queue to issue.
    pub queue_to_issue: SparseHistogram,
    /// From issue to completion.
    pub issue_to_complete: SparseHistogram,
    /// From queue to completion.
    pub queue_to_complete: SparseHistogram,
}

impl IntervalSummary {
    fn add(&mut self, open: &Open) {
        let phases = &open.phases;
        self.merge(&IntervalSummary {
            requests: open.requests,
            bytes: open.bytes,
            queue_to_insert: SparseHistogram::pack(&phases.queue_to_insert),
            insert_to_issue: SparseHistogram::pack(&phases.insert_to_issue),
            queue_to_issue: SparseHistogram::pack(&phases.queue_to_issue),
            issue_to_complete: SparseHistogram::pack(&phases.issue_to_complete),
            queue_to_complete: SparseHistogram::pack(&phases.queue_to_complete),
        });
    }

    fn merge(&mut self, other: &IntervalSummary) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        for (packed, more) in [
            (&mut self.queue_to_insert, &other.queue_to_insert),
            (&mut self.insert_to_issue, &other.insert_to_issue),
            (&mut self.queue_to_issue, &other.queue_to_issue),
            (&mut self.issue_to_complete, &other.issue_to_complete),
            (&mut self.queue_to_complete, &other.queue_to_complete),
        ] {
            if packed.is_empty() {
                packed.clone_from(more);
            } else if !more.is_empty() {
                let mut both = packed.unpack();
                more.add_to(&mut both);
                *packed = SparseHistogram::pack(&both);
            }
        }
    }
}

/// Bios of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeSummary {
    /// Bios.
    pub bios: u64,
    /// Parts of them after splitting.
    pub parts: u64,
    /// Parts that were merged into requests of other bios.
    pub merged: u64,
}

/// I/O in order of sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// I/Os.
    pub ios: u64,
    /// I/Os that start where the one before ended.
    pub sequential: u64,
    /// Series of I/Os that follow each other; one that follows nothing starts a new series.
    pub runs: u64,
    /// Bytes of the longest series.
    pub longest_run_bytes: u64,
}

impl Sequence {
    fn add(&mut self, follows: bool, run_bytes: u64) {
        self.ios += 1;
        self.sequential += u64::from(follows);
        self.runs += u64::from(!follows);
        self.longest_run_bytes = self.longest_run_bytes.max(run_bytes);
    }

    /// The share of I/Os that start where the one before ended.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.sequential as f64 / self.ios as f64)
    }

    /// Mean number of I/Os in a series.
    #[must_use]
    pub fn mean_run(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.ios as f64 / self.runs as f64)
    }
}

/// One direction of a device.
#[derive(Clone, Debug, Default)]
pub struct DirectionSummary {
    /// Requests that completed. Of a device without requests, its bios.
    pub requests: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bios that entered the block layer and completed.
    pub bios: u64,
    /// Bios that were split.
    pub split_bios: u64,
    /// Parts that were merged into requests of other bios.
    pub merged: u64,
    /// Splits by the limit that caused them.
    pub splits: BTreeMap<SplitCause, u64>,
    /// Requests that ended with an error.
    pub errors: u64,
    /// How often the driver gave requests back.
    pub requeues: u64,
    /// Requests with forced unit access.
    pub fua: u64,
    /// Requests that flush the device's cache first.
    pub preflush: u64,
    /// Requests of read-ahead.
    pub read_ahead: u64,
    /// Bytes of read-ahead.
    pub read_ahead_bytes: u64,
    /// Requests with metadata of a file system.
    pub metadata: u64,
    /// Requests whose bios the trace has not seen, or not all of them: they have no time before their issue.
    pub without_history: u64,
    /// Number of requests by size in sectors.
    pub request_sizes: BTreeMap<u32, u64>,
    /// Bios by size in sectors.
    pub bio_sizes: BTreeMap<u32, SizeSummary>,
    /// Latency by phase.
    pub phases: Phases,
    /// Latency of requests with forced unit access, from queue to completion.
    pub fua_latency: Histogram,
    /// Requests in the order in which they went to the device.
    pub at_device: Sequence,
    /// Interval by interval.
    pub intervals: Vec<IntervalSummary>,
    /// Where on the device, over time.
    pub offsets: OffsetMap,
    in_interval: Open,
}

/// The interval that is not over. Its latencies are in the totals when it is closed.
#[derive(Clone, Debug, Default)]
struct Open {
    index: usize,
    requests: u64,
    bytes: u64,
    phases: Phases,
}

impl DirectionSummary {
    /// Adds what is new in the open interval to the totals and to the intervals.
    fn close_interval(&mut self) {
        let open = &mut self.in_interval;
        if open.requests == 0 {
            return;
        }
        self.phases.merge(&open.phases);
        if self.intervals.len() <= open.index {
            self.intervals
                .resize_with(open.index + 1, IntervalSummary::default);
        }
        self.intervals[open.index].add(open);
        (open.requests, open.bytes) = (0, 0);
        open.phases.clear();
    }

    /// Makes one interval of each two.
    fn double_intervals(&mut self) {
        self.close_interval();
        self.in_interval.index /= 2;
        let pairs = std::mem::take(&mut self.intervals);
        let mut pairs = pairs.into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                first.merge(&second);
            }
            self.intervals.push(first);
        }
    }

    /// A request or bio completed in the interval `index`.
    fn complete(&mut self, index: usize, bytes: u64) -> &mut Phases {
        // A completion that another CPU reported late counts in the interval that is open.
        if index > self.in_interval.index {
            self.close_interval();
            self.in_interval.index = index;
        }
        self.requests += 1;
        self.bytes += bytes;
        let open = &mut self.in_interval;
        open.requests += 1;
        open.bytes += bytes;
        &mut open.phases
    }

    fn request(&mut self, request: &Request, index: usize) {
        let since =
            |start: Option<u64>| start.map(|start| request.t_complete.saturating_sub(start));
        let queue = request.t_queue.filter(|_| request.complete_history);
        let bytes = u64::from(request.sectors) * SECTOR;
        let phases = self.complete(index, bytes);
        if let Some(time) = since(request.t_issue) {
            phases.issue_to_complete.record(time);
        }
        if let Some(time) = since(queue) {
            phases.queue_to_complete.record(time);
        }
        if let (Some(queue), Some(insert)) = (queue, request.t_insert) {
            phases.queue_to_insert.record(insert.saturating_sub(queue));
        }
        if let (Some(insert), Some(issue)) = (request.t_insert, request.t_issue) {
            phases.insert_to_issue.record(issue.saturating_sub(insert));
        }
        if let (Some(queue), Some(issue)) = (queue, request.t_issue) {
            phases.queue_to_issue.record(issue.saturating_sub(queue));
        }
        if request.flags.fua() {
            self.fua += 1;
            if let Some(time) = since(queue) {
                self.fua_latency.record(time);
            }
        }
        self.preflush += u64::from(request.flags.preflush());
        self.metadata += u64::from(request.flags.metadata());
        if request.flags.read_ahead() {
            self.read_ahead += 1;
            self.read_ahead_bytes += bytes;
        }
        self.errors += u64::from(request.error != 0);
        self.requeues += u64::from(request.requeues);
        self.without_history += u64::from(!request.complete_history);
        self.merged += u64::from(request.merged);
        count(&mut self.request_sizes, request.sectors, 1);
    }

    fn bio(&mut self, bio: &Bio) {
        self.bios += 1;
        self.split_bios += u64::from(bio.parts > 1);
        if self.bio_sizes.len() < MOST_SIZES || self.bio_sizes.contains_key(&bio.sectors) {
            let size = self.bio_sizes.entry(bio.sectors).or_default();
            size.bios += 1;
            size.parts += u64::from(bio.parts);
            size.merged += u64::from(bio.merged);
        }
    }
}

fn count(sizes: &mut BTreeMap<u32, u64>, size: u32, by: u64) {
    if sizes.len() < MOST_SIZES || sizes.contains_key(&size) {
        *sizes.entry(size).or_default() += by;
    }
}

/// How many requests a device had, weighted by time.
#[derive(Clone, Debug, Default)]
pub struct DepthSummary {
    /// Nanoseconds at each depth.
    pub time_at: Vec<u64>,
    /// The largest depth.
    pub largest: u32,
    /// Sum over each interval of depth times nanoseconds.
    pub by_interval: Vec<u64>,
    now: u32,
    since: u64,
}

/// The start of an observation, and the length of its intervals.
#[derive(Clone, Copy)]
struct TimeScale {
    start: u64,
    interval: u64,
}

impl TimeScale {
    fn index(self, time_ns: u64) -> usize {
        (time_ns.saturating_sub(self.start) / self.interval) as usize
    }
}

impl DepthSummary {
    /// Mean over the time of the observation.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let time: u64 = self.time_at.iter().sum();
        let weighted: u128 = self
            .time_at
            .iter()
            .enumerate()
            .map(|(depth, time)| depth as u128 * u128::from(*time))
            .sum();
        weighted as f64 / time.max(1) as f64
    }

    /// The share of the time with at least one request.
    #[must_use]
    pub fn busy(&self) -> f64 {
        let time: u64 = self.time_at.iter().sum();
        let idle = self.time_at.first().copied().unwrap_or_default();
        (time - idle) as f64 / time.max(1) as f64
    }

    fn change(&mut self, time: u64, depth: u32, scale: TimeScale) {
        let (start, length) = (scale.start, scale.interval);
        let from = self.since.max(start);
        if time > from {
            let index = (self.now as usize).min(LARGEST_DEPTH);
            if self.time_at.len() <= index {
                self.time_at.resize(index + 1, 0);
            }
            self.time_at[index] += time - from;
            let mut at = from;
            while self.now > 0 && at < time {
                let interval = ((at - start) / length) as usize;
                let end = time.min(start + (interval as u64 + 1) * length);
                if self.by_interval.len() <= interval {
                    self.by_interval.resize(interval + 1, 0);
                }
                self.by_interval[interval] += u64::from(self.now) * (end - at);
                at = end;
            }
        }
        self.since = self.since.max(time);
        self.now = depth;
        self.largest = self.largest.max(depth);
    }
}

/// A device during the observation.
#[derive(Clone, Debug, Default)]
pub struct DeviceSummary {
    /// Reads, writes and discards.
    pub directions: [DirectionSummary; 3],
    /// Flush commands that the device got, from issue to completion.
    pub flushes: Histogram,
    /// Waits of programs for a flush, from queue to completion: a wait may need one command, or share it with others.
    pub flush_waits: Histogram,
    /// Requests with the driver.
    pub depth: DepthSummary,
    last_end: [(u64, u64); 3],
}

impl DeviceSummary {
    /// One direction.
    #[must_use]
    pub fn direction(&self, direction: IoDirection) -> &DirectionSummary {
        &self.directions[direction as usize]
    }

    /// Requests of all directions.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.directions.iter().map(|one| one.requests).sum()
    }
}

/// The I/O that a process caused on a device. A request with bios of several processes counts for each of them with its bytes.
#[derive(Clone, Debug, Default)]
pub struct ProcessSummary {
    /// Bios.
    pub bios: [u64; 3],
    /// Bytes.
    pub bytes: [u64; 3],
    /// Waits for flushes.
    pub flushes: u64,
    /// Latency of the bios from queue to completion.
    pub latency: Histogram,
    /// Bios in the order in which the process submitted them.
    pub sequence: Sequence,
    /// Bios of read-ahead.
    pub read_ahead: u64,
    /// Bios that ended with an error.
    pub errors: u64,
}

/// All that a trace says.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The first moment, `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// The last one.
    pub end_ns: u64,
    /// Length of the intervals.
    pub interval_ns: u64,
    /// By device.
    pub devices: BTreeMap<DeviceNumber, DeviceSummary>,
    /// By device and process.
    pub processes: Vec<((DeviceNumber, Process), ProcessSummary)>,
    /// By file, where files are named.
    pub files: Option<FileIo>,
    /// What the tracker could not follow.
    pub counts: TrackerCounts,
    /// Moments at which events were lost.
    pub gaps: u64,
    /// Batches of requests that threads collected before they released them, and requests in them (plug and unplug).
    pub unplugs: (u64, u64),
}

/// Rows of the offsets that are kept of a finished observation.
const OFFSET_ROWS: usize = 128;

impl Summary {
    /// One direction of a device in the form in which results are stored. `None` without requests.
    #[must_use]
    pub fn observed_io(&self, device: DeviceNumber, direction: IoDirection) -> Option<ObservedIo> {
        let device = self.devices.get(&device)?;
        let one = device.direction(direction);
        if one.requests == 0 {
            return None;
        }
        let of = |phase: RequestPhase| -> fn(&IntervalSummary) -> &SparseHistogram {
            match phase {
                RequestPhase::QueueToInsert => |one| &one.queue_to_insert,
                RequestPhase::InsertToIssue => |one| &one.insert_to_issue,
                RequestPhase::QueueToIssue => |one| &one.queue_to_issue,
                RequestPhase::IssueToComplete => |one| &one.issue_to_complete,
                RequestPhase::QueueToComplete => |one| &one.queue_to_complete,
            }
        };
        let phases = RequestPhase::ALL.iter().filter_map(|phase| {
            let all: Vec<SparseHistogram> = one
                .intervals
                .iter()
                .map(|interval| of(*phase)(interval).clone())
                .collect();
            all.iter()
                .any(|packed| !packed.is_empty())
                .then_some((*phase, all))
        });
        let length = u128::from(self.interval_ns.max(1));
        let thousandths = |weighted: &u64| (u128::from(*weighted) * 1_000 / length) as u64;
        let bytes = |sectors: u32| u64::from(sectors) * SECTOR;
        Some(ObservedIo {
            interval: Nanos::new(self.interval_ns),
            phases: phases.collect(),
            depth: device.depth.by_interval.iter().map(thousandths).collect(),
            largest_depth: device.depth.largest,
            request_sizes: one
                .request_sizes
                .iter()
                .map(|(sectors, count)| (bytes(*sectors), *count))
                .collect(),
            bio_sizes: one
                .bio_sizes
                .iter()
                .map(|(sectors, size)| (bytes(*sectors), size.bios))
                .collect(),
            offsets: one.offsets.used(OFFSET_ROWS).map(|used| ObservedOffsets {
                column: Nanos::new(used.column_ns),
                first_byte: used.first_byte,
                row_bytes: used.row_bytes,
                rows: used.rows as u64,
                counts: used.counts,
            }),
        })
    }
}

/// Which I/O is summarised.
pub type ProcessFilter = Box<dyn Fn(&Process) -> bool + Send>;

/// Receives each request that is summarised, with the process that submitted its first bio.
pub type RequestSink = Box<dyn FnMut(&Request, Option<&Process>) + Send>;

/// Follows a trace and summarises it.
pub struct Observer {
    tracker: Tracker,
    summarizer: Summarizer,
}

struct Summarizer {
    limits: HashMap<DeviceNumber, QueueLimits>,
    filter: Option<ProcessFilter>,
    sink: Option<RequestSink>,
    processes: Processes,
    /// The I/O of each thread, by device.
    threads: HashMap<u32, Vec<Stream>, BuildHasherDefault<FastHasher>>,
    /// The place of each process in the summary.
    rows: HashMap<(DeviceNumber, Process), u32>,
    summary: Summary,
}

/// The I/O of a thread on a device.
struct Stream {
    device: DeviceNumber,
    /// The process in the summary; none beyond those that are kept apart.
    row: Option<u32>,
    /// End and series length of its last bio, by direction.
    ends: [(u64, u64); 3],
}

impl Observer {
    /// An observer that starts now. `limits` has the devices whose splits are explained; with a filter, requests of other
    /// processes count only in the depth.
    #[must_use]
    pub fn new(
        start_ns: u64,
        limits: HashMap<DeviceNumber, QueueLimits>,
        processes: Processes,
        filter: Option<ProcessFilter>,
    ) -> Self {
        Self {
            tracker: Tracker::new(),
            summarizer: Summarizer {
                limits,
                filter,
                sink: None,
                processes,
                threads: HashMap::default(),
                rows: HashMap::new(),
                summary: Summary {
                    start_ns,
                    interval_ns: INTERVAL_NS,
                    ..Summary::default()
                },
            },
        }
    }

    /// Gives each request to `sink`, too.
    #[must_use]
    pub fn with_sink(mut self, sink: RequestSink) -> Self {
        self.summarizer.sink = Some(sink);
        self
    }

    /// The I/O of files, whose places can be set at any time.
    pub fn files(&mut self) -> &mut FileIo {
        let files = &mut self.summarizer.summary.files;
        files.get_or_insert_with(FileIo::default)
    }

    /// The summary so far, without ending it.
    pub fn so_far(&mut self) -> &Summary {
        let summary = &mut self.summarizer.summary;
        for device in summary.devices.values_mut() {
            for direction in &mut device.directions {
                direction.close_interval();
            }
        }
        summary
    }

    /// Ends the observation.
    #[must_use]
    pub fn finish(self, end_ns: u64) -> Summary {
        let mut summarizer = self.summarizer;
        let scale = summarizer.scale_at(end_ns);
        let mut summary = summarizer.summary;
        summary.end_ns = end_ns.max(summary.start_ns);
        summary.counts = self.tracker.counts();
        summary.processes.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(files) = &mut summary.files {
            files.finish();
        }
        for device in summary.devices.values_mut() {
            let depth = &mut device.depth;
            depth.change(summary.end_ns, depth.now, scale);
            for direction in &mut device.directions {
                direction.close_interval();
            }
        }
        summary
    }
}

impl TraceConsumer for Observer {
    fn event(&mut self, event: &BlockEvent) {
        if let BlockEventKind::FileMap { .. } = event.kind {
            if let Some(files) = &mut self.summarizer.summary.files {
                files.map(event);
            }
            return;
        }
        self.summarizer.before(event);
        self.tracker.event(event, &mut self.summarizer);
    }

    fn thread(&mut self, thread: u32, name: &ThreadName) {
        self.summarizer.threads.remove(&thread);
        self.summarizer.processes.thread(thread, thread_name(name));
    }

    fn lost(&mut self, time_ns: u64, _events: u64) {
        self.tracker.lost_events();
        self.summarizer.summary.gaps += 1;
        // How many requests the device has is unknown until the next one.
        let scale = self.summarizer.scale_at(time_ns);
        for device in self.summarizer.summary.devices.values_mut() {
            device.depth.change(time_ns, 0, scale);
        }
    }
}

impl Summarizer {
    fn before(&mut self, event: &BlockEvent) {
        let Some(direction) = IoDirection::of(event.flags, event.sectors).or_else(|| {
            // A split has no length.
            matches!(event.kind, BlockEventKind::Split { .. })
                .then(|| IoDirection::of(event.flags, 1))
                .flatten()
        }) else {
            if let BlockEventKind::Unplug { requests } = event.kind {
                let (batches, all) = &mut self.summary.unplugs;
                (*batches, *all) = (*batches + 1, *all + u64::from(requests));
            }
            return;
        };
        match event.kind {
            BlockEventKind::BioQueue => self.queued(event, direction),
            BlockEventKind::Split { new_sector } if self.is_wanted(event.thread) => {
                let cause = self.cause(event.device, event.sector, new_sector);
                let device = self.summary.devices.entry(event.device).or_default();
                let splits = &mut device.directions[direction as usize].splits;
                *splits.entry(cause).or_default() += 1;
            }
            BlockEventKind::Issue => {
                let device = self.summary.devices.entry(event.device).or_default();
                let (last_end, run) = &mut device.last_end[direction as usize];
                let follows = *last_end == event.sector && *run > 0;
                *run = event.bytes() + if follows { *run } else { 0 };
                *last_end = event.end_sector();
                device.directions[direction as usize]
                    .at_device
                    .add(follows, *run);
            }
            _ => {}
        }
    }

    fn is_wanted(&mut self, thread: u32) -> bool {
        match &self.filter {
            Some(filter) => filter(self.processes.of(thread)),
            None => true,
        }
    }

    fn queued(&mut self, event: &BlockEvent, direction: IoDirection) {
        // Asked now, while the thread is most likely alive.
        if !self.is_wanted(event.thread) {
            return;
        }
        let stream = self.stream(event.device, event.thread);
        let row = stream.row;
        let (end, bytes) = &mut stream.ends[direction as usize];
        let follows = *end == event.sector && *bytes > 0;
        let run = event.bytes() + if follows { *bytes } else { 0 };
        (*end, *bytes) = (event.end_sector(), run);
        if let Some(process) = self.row(row) {
            process.sequence.add(follows, run);
        }
    }

    /// The I/O of a thread on a device.
    fn stream(&mut self, device: DeviceNumber, thread: u32) -> &mut Stream {
        if self.threads.len() >= MOST_STREAMS && !self.threads.contains_key(&thread) {
            self.threads.clear();
        }
        let streams = self.threads.entry(thread).or_default();
        let at = match streams.iter().position(|stream| stream.device == device) {
            Some(at) => at,
            None => {
                let process = self.processes.of(thread);
                let rows = &mut self.summary.processes;
                let row = match self.rows.get(&(device, process.clone())) {
                    Some(row) => Some(*row),
                    None if rows.len() >= MOST_PROCESSES => None,
                    None => {
                        let row = rows.len() as u32;
                        let key = (device, process.clone());
                        rows.push((key.clone(), ProcessSummary::default()));
                        self.rows.insert(key, row);
                        Some(row)
                    }
                };
                streams.push(Stream {
                    device,
                    row,
                    ends: [(0, 0); 3],
                });
                streams.len() - 1
            }
        };
        &mut streams[at]
    }

    fn row(&mut self, row: Option<u32>) -> Option<&mut ProcessSummary> {
        let processes = &mut self.summary.processes;
        processes.get_mut(row? as usize).map(|(_, summary)| summary)
    }

    fn file_io(&mut self, request: &Request) {
        let Some(files) = &mut self.summary.files else {
            return;
        };
        let Some(direction) = IoDirection::of(request.flags, request.sectors) else {
            return;
        };
        let since = request.t_queue.filter(|_| request.complete_history);
        files.add(FileRequest {
            device: request.device,
            sector: request.sector,
            bytes: u64::from(request.sectors) * SECTOR,
            direction,
            time: since.map(|since| request.t_complete.saturating_sub(since)),
            id: None,
        });
    }

    fn cause(&self, device: DeviceNumber, sector: u64, new_sector: u64) -> SplitCause {
        let Some(limits) = self.limits.get(&device) else {
            return SplitCause::Segments;
        };
        let length = new_sector.saturating_sub(sector);
        // The kernel rounds down to whole physical blocks.
        let largest = limits.max_sectors_kb * 2;
        let block = (limits.logical_block_size / SECTOR).max(1);
        if limits.chunk_sectors > 0
            && new_sector.is_multiple_of(limits.chunk_sectors)
            && length != largest
        {
            SplitCause::Chunk
        } else if largest > 0 && length <= largest && length + block.max(8) > largest {
            SplitCause::MaxSectors
        } else {
            SplitCause::Segments
        }
    }

    /// The intervals, as long as it takes for this time to be in one of them.
    fn scale_at(&mut self, time_ns: u64) -> TimeScale {
        let summary = &mut self.summary;
        let elapsed = time_ns.saturating_sub(summary.start_ns);
        while elapsed / summary.interval_ns >= MOST_INTERVALS as u64 {
            summary.interval_ns *= 2;
            for device in summary.devices.values_mut() {
                for direction in &mut device.directions {
                    direction.double_intervals();
                }
                let depths = device.depth.by_interval.chunks(2);
                device.depth.by_interval = depths.map(|two| two.iter().sum()).collect();
            }
        }
        TimeScale {
            start: summary.start_ns,
            interval: summary.interval_ns,
        }
    }
}

impl TrackerOutput for Summarizer {
    fn request(&mut self, request: &Request, parts: &[BioPart]) {
        let wanted = match (&self.filter, parts) {
            (None, _) => true,
            (Some(_), parts) => parts.iter().any(|part| match &self.filter {
                Some(filter) => filter(self.processes.of(part.thread)),
                None => true,
            }),
        };
        if !wanted {
            return;
        }
        if let Some(sink) = &mut self.sink {
            let process = request.thread.map(|thread| self.processes.of(thread));
            sink(request, process);
        }
        let scale = self.scale_at(request.t_complete);
        let device = self.summary.devices.entry(request.device).or_default();
        match IoDirection::of(request.flags, request.sectors) {
            Some(direction) => {
                let direction = &mut device.directions[direction as usize];
                direction.request(request, scale.index(request.t_complete));
                let elapsed = request.t_complete.saturating_sub(scale.start);
                direction.offsets.add(elapsed, request.sector);
                self.file_io(request);
            }
            None if request.flags.is_flush() => {
                if let Some(issue) = request.t_issue {
                    device
                        .flushes
                        .record(request.t_complete.saturating_sub(issue));
                }
            }
            None => {}
        }
    }

    fn bio(&mut self, bio: &Bio) {
        if !self.is_wanted(bio.thread) {
            return;
        }
        let bio_based = self
            .limits
            .get(&bio.device)
            .is_some_and(|limits| limits.bio_based);
        let scale = self.scale_at(bio.t_complete);
        let time = bio.t_complete.saturating_sub(bio.t_queue);
        let bytes = u64::from(bio.sectors) * SECTOR;
        let direction = IoDirection::of(bio.flags, bio.sectors);
        let device = self.summary.devices.entry(bio.device).or_default();
        match direction {
            Some(direction) => {
                let direction = &mut device.directions[direction as usize];
                direction.bio(bio);
                if bio_based {
                    let phases = direction.complete(scale.index(bio.t_complete), bytes);
                    phases.queue_to_complete.record(time);
                    let elapsed = bio.t_complete.saturating_sub(scale.start);
                    direction.offsets.add(elapsed, bio.sector);
                    direction.errors += u64::from(bio.error != 0);
                    direction.read_ahead += u64::from(bio.flags.read_ahead());
                    count(&mut direction.request_sizes, bio.sectors, 1);
                }
            }
            None => device.flush_waits.record(time),
        }
        let row = self.stream(bio.device, bio.thread).row;
        if let Some(process) = self.row(row) {
            match direction {
                Some(direction) => {
                    process.bios[direction as usize] += 1;
                    process.bytes[direction as usize] += bytes;
                    process.latency.record(time);
                    process.read_ahead += u64::from(bio.flags.read_ahead());
                }
                None => process.flushes += 1,
            }
            process.errors += u64::from(bio.error != 0);
        }
    }

    fn depth(&mut self, time_ns: u64, device: DeviceNumber, depth: u32) {
        let scale = self.scale_at(time_ns);
        let device = self.summary.devices.entry(device).or_default();
        device.depth.change(time_ns, depth, scale);
    }
}

#[cfg(test)]
mod tests;
