//! The profile of a trace: what the load is.

use crate::arrivals::{ArrivalCounter, ArrivalModel, Arrivals};
use crate::depth::{Depth, DepthCounter};
use crate::error::TraceError;
use crate::hash::NumberMap;
use crate::histogram::LogHistogram;
use crate::reader::TraceSource;
use crate::record::{IoFlags, IoKind, TraceIo};
use crate::reuse::{Locality, Reuse};
use crate::runs::{ESTABLISHED, RunTable, Step};
use crate::space::{Pattern, Popularity, Regions, pattern};
use crate::windows::{OverTime, Phase, Picture};

/// Processes that have streams of their own; the others share one.
const PROCESSES: usize = 64;
/// Different sizes of a stream that are counted exactly.
const SIZES: usize = 512;
/// A stream with less than this share of the I/Os is left out.
const SMALL: f64 = 0.005;

/// I/Os and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Sizes of I/Os in bytes, with their number, by size.
pub type Sizes = Vec<(u32, u64)>;

/// The most frequent first.
pub(crate) fn by_count(mut sizes: Sizes) -> Sizes {
    sizes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sizes
}

#[derive(Clone, Debug, Default)]
struct SizeCounter {
    counts: NumberMap<u32, u64>,
    last: (u32, u64),
}

impl SizeCounter {
    fn add(&mut self, size: u32) {
        if self.last.0 == size {
            self.last.1 += 1;
            return;
        }
        self.store();
        self.last = (size, 1);
    }

    fn store(&mut self) {
        let (size, count) = self.last;
        if count == 0 {
            return;
        }
        // With very many sizes, rare ones are rounded up to a power of two.
        let size = if self.counts.len() >= SIZES && !self.counts.contains_key(&size) {
            size.checked_next_power_of_two().unwrap_or(u32::MAX)
        } else {
            size
        };
        *self.counts.entry(size).or_default() += count;
    }

    fn finish(mut self) -> Sizes {
        self.store();
        let mut all: Sizes = self.counts.into_iter().collect();
        all.sort_unstable();
        all
    }
}

/// How often a stream makes its writes durable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flushing {
    /// Mean number of writes from one flush to the next.
    pub every: f64,
    /// That number is always the same.
    pub even: bool,
    /// Number of flushes.
    pub count: u64,
    /// They are `fdatasync`; false where the trace does not distinguish.
    pub data_only: bool,
}

/// I/Os of one kind that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Index of the device.
    pub device: u32,
    /// Process or thread; 0 if unknown or if several share the stream.
    pub process: u32,
    /// Reads, writes, discards and flushes.
    pub totals: [Total; 4],
    /// Sizes of reads and of writes.
    pub sizes: [Sizes; 2],
    /// Where they go.
    pub pattern: Pattern,
    /// First byte of the part of the device that it uses.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// When they arrive: reads and writes.
    pub arrivals: Arrivals,
    /// I/Os in flight; `None` where the trace has no latencies.
    pub depth: Option<Depth>,
    /// From the last completion to the next issue, in nanoseconds. In a closed loop it is the think time.
    pub think: LogHistogram,
    /// Latencies of reads and writes in nanoseconds.
    pub latency: LogHistogram,
    /// Latencies of flushes.
    pub flush_latency: LogHistogram,
    /// From the issue of a write to that of the flush after it.
    pub flush_delay: LogHistogram,
    /// Flushes.
    pub flushing: Option<Flushing>,
    /// Share of writes with forced unit access, 0 to 1.
    pub fua: f64,
    /// From the first I/O of the trace to its first, in nanoseconds.
    pub first: u64,
    /// From the first I/O of the trace to its last.
    pub last: u64,
}

impl Stream {
    /// The mean number of I/Os of a burst, where each burst waits until all I/Os of the one before have completed: so a generator
    /// that looks at its clock between waits for completions sends a load with a rate. `None` for other loads.
    #[must_use]
    pub fn burst(&self) -> Option<f64> {
        let limit = f64::from(self.depth.as_ref()?.closed?);
        match self.arrivals.model {
            ArrivalModel::OnOff { burst, gap, .. }
                if burst >= 2.0
                    && burst > 0.6 * limit
                    && burst * gap < 0.5 * self.latency.mean() =>
            {
                Some(burst)
            }
            _ => None,
        }
    }

    /// Whether its bursts are no more than a depth: the I/Os of a plain closed loop that all take the same time complete together, so
    /// that as many are sent at once, without a pause.
    #[must_use]
    pub fn is_in_step(&self) -> bool {
        let closed = self.depth.as_ref().and_then(|depth| depth.closed);
        let (Some(limit), Some(burst)) = (closed, self.burst()) else {
            return false;
        };
        let even = self.latency.quantile(0.9) <= 1.2 * self.latency.quantile(0.1);
        even && burst >= 0.9 * f64::from(limit) && self.think.mean() <= 0.02 * self.latency.mean()
    }

    /// The number of I/Os of each burst, where all have the same.
    #[must_use]
    pub fn equal_bursts(&self) -> Option<f64> {
        let size = self.burst()?;
        ((size - size.round()).abs() < 0.1).then_some(size.round())
    }

    /// Reads and writes.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.totals[0].ios + self.totals[1].ios
    }

    /// Share of reads among reads and writes, 0 to 1.
    #[must_use]
    pub fn read_share(&self) -> f64 {
        self.totals[0].ios as f64 / self.ios().max(1) as f64
    }

    /// Reads and writes per second, while it lasts.
    #[must_use]
    pub fn iops(&self) -> f64 {
        let gaps = self.ios().saturating_sub(1) as f64;
        gaps * 1e9 / self.last.saturating_sub(self.first).max(1) as f64
    }

    /// Its most frequent size.
    #[must_use]
    pub fn main_size(&self) -> u32 {
        self.sizes
            .iter()
            .flatten()
            .max_by_key(|(_, count)| *count)
            .map_or(4096, |(size, _)| *size)
    }
}

/// What a load is.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Reads, writes, discards and flushes.
    pub totals: [Total; 4],
    /// Sizes of reads and of writes.
    pub sizes: [Sizes; 2],
    /// From the first I/O to the last, in nanoseconds.
    pub length: u64,
    /// I/Os whose latency is known.
    pub with_latency: u64,
    /// Streams, the largest first; small ones are left out.
    pub streams: Vec<Stream>,
    /// Share of the bytes that are read or written in sequential runs, 0 to 1.
    pub sequential: f64,
    /// Footprint, working set, miss-ratio curve.
    pub locality: Locality,
    /// When I/Os arrive, all together.
    pub arrivals: Arrivals,
    /// I/Os in flight.
    pub depth: Option<Depth>,
    /// Latencies in nanoseconds.
    pub latency: LogHistogram,
    /// The load over time.
    pub over_time: OverTime,
    /// Parts that differ.
    pub phases: Vec<Phase>,
    /// Offsets over time.
    pub picture: Picture,
    /// Share of the events of the trace that were lost, 0 to 1, as far as that is known ([`TraceFacts::lost_share`](crate::TraceFacts::lost_share)).
    pub lost: f64,
}

#[derive(Default)]
struct StreamCounter {
    totals: [Total; 4],
    sizes: [SizeCounter; 2],
    regions: Regions,
    start: Option<u64>,
    end: u64,
    arrivals: ArrivalCounter,
    depth: DepthCounter,
    think: LogHistogram,
    latency: LogHistogram,
    flush_latency: LogHistogram,
    flush_delay: LogHistogram,
    wrote_at: u64,
    writes_since_flush: u64,
    flush_sum: u64,
    flush_squares: u64,
    data_only: u64,
    fua: u64,
    first: u64,
    last: u64,
    /// Runs, and the sum of how many others were continued in between.
    runs: u64,
    continued: u64,
    turns: u64,
}

impl StreamCounter {
    fn add(&mut self, io: &TraceIo, since: u64) {
        let kind = io.kind as usize;
        let total = &mut self.totals[kind];
        total.ios += 1;
        total.bytes += u64::from(io.length);
        self.depth.add(io.time_ns, io.latency_ns);
        if let Some(completed) = self.depth.completed {
            self.think.add(io.time_ns.saturating_sub(completed));
        }
        if let Some(latency) = io.latency_ns {
            match io.kind {
                IoKind::Flush => self.flush_latency.add(latency),
                _ => self.latency.add(latency),
            }
        }
        self.last = since;
        match io.kind {
            IoKind::Read | IoKind::Write => {
                if self.start.is_none() {
                    self.first = since;
                }
                self.start = Some(self.start.map_or(io.offset, |start| start.min(io.offset)));
                self.end = self.end.max(io.end());
                self.sizes[kind].add(io.length);
                self.regions.add(io.offset);
                self.arrivals.add(io.time_ns);
                if io.kind == IoKind::Write {
                    self.writes_since_flush += 1;
                    self.wrote_at = io.time_ns;
                }
                self.fua += u64::from(io.flags.has(IoFlags::FUA));
            }
            IoKind::Flush => {
                if self.writes_since_flush > 0 {
                    self.flush_delay
                        .add(io.time_ns.saturating_sub(self.wrote_at));
                }
                self.flush_sum += self.writes_since_flush;
                self.flush_squares += self.writes_since_flush.pow(2);
                self.writes_since_flush = 0;
                self.data_only += u64::from(io.flags.has(IoFlags::DATA_ONLY));
            }
            IoKind::Discard => {}
        }
    }

    fn finish(self, device: u32, process: u32, sequential: bool, blocks: &[(u32, f64)]) -> Stream {
        let (start, end) = self.regions.trimmed(self.start.unwrap_or(0), self.end);
        let mut sizes = self.sizes.map(SizeCounter::finish);
        let ios = self.totals[0].ios + self.totals[1].ios;
        for (sizes, total) in sizes.iter_mut().zip(&self.totals) {
            // The first I/Os of runs, which are counted with the runs.
            if total.ios * 1000 < ios {
                sizes.clear();
            }
        }
        let main = sizes
            .iter()
            .flatten()
            .max_by_key(|(_, count)| *count)
            .map_or(4096, |(size, _)| *size);
        let pattern = if sequential {
            Pattern::Sequential {
                places: (self.continued as f64 / self.turns.max(1) as f64).max(1.0),
                run: ios as f64 / self.runs.max(1) as f64,
            }
        } else {
            pattern(blocks, &self.regions, (start, end), u64::from(main))
        };
        let (writes, flushes) = (self.totals[1].ios, self.totals[3].ios);
        let arrivals = self.arrivals.finish();
        let mut depth = self.depth.finish();
        // Paced I/Os find an even depth as well; but their pauses vary with the latency, and their gaps do not.
        let deviation = |histogram: &LogHistogram| histogram.mean() * histogram.cv2().sqrt();
        if let Some(depth) = &mut depth
            && deviation(&self.think) > 1.1 * deviation(&arrivals.gaps) + 1000.0
        {
            depth.closed = None;
        }
        let flushing = (flushes > 2 && self.flush_sum > 0 && writes * 2 >= flushes).then(|| {
            let count = flushes as f64;
            let every = self.flush_sum as f64 / count;
            let variance = self.flush_squares as f64 / count - every * every;
            Flushing {
                every,
                even: variance < (0.02 * every * every).max(0.25),
                count: flushes,
                data_only: self.data_only * 2 > flushes,
            }
        });
        Stream {
            device,
            process,
            totals: self.totals,
            sizes,
            pattern,
            start,
            end,
            arrivals,
            depth,
            think: self.think,
            latency: self.latency,
            flush_latency: self.flush_latency,
            flush_delay: self.flush_delay,
            flushing,
            fua: self.fua as f64 / self.totals[1].ios.max(1) as f64,
            first: self.first,
            last: self.last,
        }
    }
}

/// Random I/O of one process on one device.
#[derive(Default)]
struct ProcessCounter {
    device: u32,
    process: u32,
    stream: StreamCounter,
    /// The stream of its last write.
    wrote: Option<Place>,
}

/// Sequential reads and writes of one device. Several processes can continue one run, as those of a database do with its log.
#[derive(Default)]
struct DeviceCounter {
    device: u32,
    runs: RunTable,
    streams: [StreamCounter; 2],
    /// The only process, or 0.
    owners: [Option<u32>; 2],
    /// The stream of the last write.
    wrote: Option<Place>,
}

/// Where the counter of a stream is.
#[derive(Clone, Copy)]
enum Place {
    Random(usize),
    Writes(usize),
}

/// Builds a profile, one I/O after the other.
#[derive(Default)]
pub struct Profiler {
    first: Option<u64>,
    now: u64,
    totals: [Total; 4],
    sizes: [SizeCounter; 2],
    indices: NumberMap<u64, usize>,
    processes: Vec<ProcessCounter>,
    last: (u64, usize),
    device_indices: NumberMap<u32, usize>,
    devices: Vec<DeviceCounter>,
    popularity: Popularity,
    reuse: Reuse,
    arrivals: ArrivalCounter,
    depth: DepthCounter,
    latency: LogHistogram,
    over_time: OverTime,
    picture: Picture,
    sequential: u64,
}

impl Profiler {
    fn process(&mut self, io: &TraceIo) -> usize {
        let key = u64::from(io.device) << 32 | u64::from(io.process);
        if self.last.0 == key && !self.processes.is_empty() {
            return self.last.1;
        }
        let index = match self.indices.get(&key) {
            Some(index) => *index,
            None if self.processes.len() < PROCESSES => {
                let index = self.processes.len();
                self.indices.insert(key, index);
                self.processes.push(ProcessCounter {
                    device: io.device,
                    process: io.process,
                    ..ProcessCounter::default()
                });
                index
            }
            None => {
                let shared = PROCESSES - 1;
                self.processes[shared].process = 0;
                shared
            }
        };
        self.last = (key, index);
        index
    }

    fn device(&mut self, io: &TraceIo) -> usize {
        if let Some(index) = self.device_indices.get(&io.device) {
            return *index;
        }
        if self.devices.len() == PROCESSES {
            return PROCESSES - 1;
        }
        self.device_indices.insert(io.device, self.devices.len());
        self.devices.push(DeviceCounter {
            device: io.device,
            ..DeviceCounter::default()
        });
        self.devices.len() - 1
    }

    /// Adds an I/O; they must be in the order of time.
    pub fn add(&mut self, io: &TraceIo) {
        let first = *self.first.get_or_insert(io.time_ns);
        let since = io.time_ns.saturating_sub(first);
        self.now = since;
        let kind = io.kind as usize;
        let total = &mut self.totals[kind];
        total.ios += 1;
        total.bytes = total.bytes.saturating_add(u64::from(io.length));
        self.arrivals.add(io.time_ns);
        let in_flight = self.depth.add(io.time_ns, io.latency_ns);
        if let Some(latency) = io.latency_ns {
            self.latency.add(latency);
        }
        self.over_time.add(since, io, in_flight as u64);
        let index = self.process(io);
        let at = self.device(io);
        if !io.has_data() {
            // Drivers and workers of the kernel also issue the flushes of others.
            let place = match io.kind {
                IoKind::Flush => self.processes[index].wrote.or(self.devices[at].wrote),
                _ => None,
            };
            let stream = match place {
                Some(Place::Writes(device)) => &mut self.devices[device].streams[1],
                Some(Place::Random(process)) => &mut self.processes[process].stream,
                None => &mut self.processes[index].stream,
            };
            stream.add(io, since);
            return;
        }
        self.sizes[kind].add(io.length);
        let second = u32::try_from(since / 1_000_000_000).unwrap_or(u32::MAX);
        self.reuse.add(io.device, io.offset, io.length, second);
        self.picture.add(since, io.offset);
        let write = io.kind == IoKind::Write;
        let (process, device) = (&mut self.processes[index], &mut self.devices[at]);
        let step = device.runs.add(write, io.offset, io.end());
        let length = u64::from(io.length);
        let run = &mut device.streams[usize::from(write)];
        match step {
            Step::Random => {}
            Step::Establishes(before) => {
                let moved = u64::from(ESTABLISHED - 1);
                self.sequential += length + before;
                let random = &mut process.stream.totals[kind];
                random.ios = random.ios.saturating_sub(moved);
                random.bytes = random.bytes.saturating_sub(before);
                run.totals[kind].ios += moved;
                run.totals[kind].bytes += before;
                run.runs += 1;
            }
            Step::Continues(turn) => {
                self.sequential += length;
                run.continued += turn;
                run.turns += 1;
            }
        }
        let place = if step == Step::Random {
            self.popularity.add(index, io.offset);
            process.stream.add(io, since);
            Place::Random(index)
        } else {
            let owner = &mut device.owners[usize::from(write)];
            *owner = match *owner {
                Some(other) if other != io.process => Some(0),
                _ => Some(io.process),
            };
            run.add(io, since);
            Place::Writes(at)
        };
        if write {
            process.wrote = Some(place);
            device.wrote = Some(place);
        }
    }

    /// The profile.
    #[must_use]
    pub fn finish(self) -> Profile {
        let ios: u64 = self.totals.iter().map(|total| total.ios).sum();
        let blocks = self.popularity.finish(self.processes.len());
        let large = |stream: &StreamCounter| {
            let data = stream.totals[0].ios + stream.totals[1].ios;
            data >= 3 && data as f64 >= SMALL * ios as f64
        };
        let mut streams = Vec::new();
        for (counter, blocks) in self.processes.into_iter().zip(&blocks) {
            if large(&counter.stream) {
                let (device, process) = (counter.device, counter.process);
                streams.push(counter.stream.finish(device, process, false, blocks));
            }
        }
        for counter in self.devices {
            for (stream, owner) in counter.streams.into_iter().zip(counter.owners) {
                if large(&stream) {
                    streams.push(stream.finish(counter.device, owner.unwrap_or(0), true, &[]));
                }
            }
        }
        streams.sort_by_key(|stream| std::cmp::Reverse(stream.ios()));
        let data = self.totals[0].bytes.saturating_add(self.totals[1].bytes);
        Profile {
            totals: self.totals,
            sizes: self.sizes.map(SizeCounter::finish),
            length: self.now,
            with_latency: self.latency.total(),
            streams,
            sequential: self.sequential as f64 / data.max(1) as f64,
            locality: self.reuse.finish(),
            arrivals: self.arrivals.finish(),
            depth: self.depth.finish(),
            latency: self.latency,
            phases: self.over_time.phases(self.now),
            over_time: self.over_time,
            picture: self.picture,
            lost: 0.0,
        }
    }
}

impl Profile {
    /// Reads a source to its end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(source: &mut impl TraceSource) -> Result<Profile, TraceError> {
        let mut profiler = Profiler::default();
        while let Some(io) = source.next_io()? {
            profiler.add(&io);
        }
        Ok(profiler.finish())
    }

    /// I/Os of all kinds.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.totals.iter().map(|total| total.ios).sum()
    }

    /// I/Os per second.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.ios().saturating_sub(1) as f64 * 1e9 / self.length.max(1) as f64
    }
}
