//! From the events of the kernel to the chunks of a capture.

use std::collections::{HashMap, HashSet};

use fathom_model::Histogram;
use fathom_trace::{
    Bio, BioPart, BlockDevices, BlockEvent, BlockEventKind, DeviceNumber, IoFlags as BlockFlags,
    ProcessFilter, Processes, Request, SECTOR, ThreadName, TraceConsumer, Tracker, TrackerOutput,
};
use fathom_workload::{CaptureWriter, CapturedIo, EncodedChunk, IoFlags, IoKind, TraceIo};

/// How long an I/O that is not complete keeps later ones from counting as settled.
const PATIENCE_NS: u64 = 10_000_000_000;

/// Follows the events, and encodes the I/Os that are complete.
pub struct Recorder {
    tracker: Tracker,
    taken: Taken,
    /// Losses, which are written before the I/Os that follow.
    lost: Vec<EncodedChunk>,
}

/// Takes what the tracker completes.
struct Taken {
    writer: CaptureWriter,
    filter: Option<ProcessFilter>,
    processes: Processes,
    names: bool,
    known: BlockDevices,
    devices: HashMap<DeviceNumber, bool>,
    /// Numbers of processes.
    numbers: HashMap<u32, u32>,
    /// Processes with a name in the file.
    named: HashSet<u32>,
    /// I/Os are recorded, and not only watched.
    armed: bool,
    /// Latencies since the last look.
    latencies: Histogram,
}

impl Recorder {
    /// Records the I/O of processes that `filter` accepts. `names`: processes keep their numbers and names.
    pub fn new(
        filter: Option<ProcessFilter>,
        known: BlockDevices,
        names: bool,
        armed: bool,
    ) -> Self {
        Recorder {
            tracker: Tracker::new(),
            taken: Taken {
                writer: CaptureWriter::default(),
                filter,
                processes: Processes::default(),
                names,
                known,
                devices: HashMap::new(),
                numbers: HashMap::new(),
                named: HashSet::new(),
                armed,
                latencies: Histogram::new(),
            },
            lost: Vec::new(),
        }
    }

    /// Begins to record what completes from now on.
    pub fn arm(&mut self) {
        self.taken.armed = true;
    }

    /// The latencies since the last call.
    pub fn take_latencies(&mut self) -> Histogram {
        std::mem::take(&mut self.taken.latencies)
    }

    /// I/Os that are in no chunk yet.
    pub fn waiting(&self) -> usize {
        self.taken.writer.waiting()
    }

    /// I/Os that are not complete.
    pub fn open(&self) -> u64 {
        self.tracker.open() as u64
    }

    /// What completed since the last call; events up to `seen_ns` have been delivered.
    pub fn chunks(&mut self, seen_ns: u64) -> Vec<EncodedChunk> {
        let settled = self
            .tracker
            .oldest_open()
            .unwrap_or(u64::MAX)
            .max(seen_ns.saturating_sub(PATIENCE_NS))
            .min(seen_ns);
        let mut chunks = std::mem::take(&mut self.lost);
        chunks.extend(self.taken.writer.chunks(settled));
        chunks
    }
}

impl TraceConsumer for Recorder {
    fn event(&mut self, event: &BlockEvent) {
        if event.kind == BlockEventKind::BioQueue {
            // Asked now, while the thread is most likely alive.
            self.taken.processes.of(event.thread);
        }
        self.tracker.event(event, &mut self.taken);
    }

    fn thread(&mut self, thread: u32, name: &ThreadName) {
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        self.taken.processes.thread(thread, name);
    }

    fn lost(&mut self, time_ns: u64, events: u64) {
        self.tracker.lost_events();
        self.lost.push(CaptureWriter::lost(time_ns, events));
    }
}

impl Taken {
    fn is_wanted(&mut self, thread: u32) -> bool {
        match &self.filter {
            Some(filter) => filter(self.processes.of(thread)),
            None => true,
        }
    }

    /// Whether the device has no requests; it is named at its first I/O.
    fn is_bio_based(&mut self, device: DeviceNumber) -> bool {
        if let Some(bio_based) = self.devices.get(&device) {
            return *bio_based;
        }
        let limits = self.known.limits(device);
        let bytes = self.known.bytes(device);
        self.writer.name_device(device.0, &limits.name, bytes);
        self.devices.insert(device, limits.bio_based);
        limits.bio_based
    }

    /// The number of the process of a thread in the file.
    fn process(&mut self, thread: Option<u32>) -> u32 {
        let Some(thread) = thread else { return 0 };
        let process = self.processes.of(thread);
        if self.names {
            if self.named.insert(process.pid) {
                self.writer.name_process(process.pid, &process.name);
            }
            return process.pid;
        }
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry(process.pid).or_insert(next)
    }

    fn add(&mut self, io: TraceIo, waited_ns: Option<u64>) {
        if let Some(latency) = io.latency_ns {
            self.latencies.record(latency);
        }
        if self.armed {
            self.writer.add(CapturedIo { io, waited_ns });
        }
    }
}

/// What an I/O does; `None` if it is neither data nor a flush.
fn kind(flags: BlockFlags, sectors: u32) -> Option<IoKind> {
    if flags.is_flush() {
        Some(IoKind::Flush)
    } else if flags.is_discard() {
        Some(IoKind::Discard)
    } else if sectors == 0 {
        flags.preflush().then_some(IoKind::Flush)
    } else if flags.is_read() {
        Some(IoKind::Read)
    } else if flags.is_write() {
        Some(IoKind::Write)
    } else {
        None
    }
}

fn properties(flags: BlockFlags) -> IoFlags {
    let mut properties = IoFlags::default();
    for (has, property) in [
        (flags.sync(), IoFlags::SYNC),
        (flags.fua(), IoFlags::FUA),
        (flags.metadata(), IoFlags::METADATA),
        (flags.read_ahead(), IoFlags::READ_AHEAD),
    ] {
        if has {
            properties = properties.with(property);
        }
    }
    properties
}

impl TrackerOutput for Taken {
    fn request(&mut self, request: &Request, parts: &[BioPart]) {
        let (Some(kind), Some(issue)) = (kind(request.flags, request.sectors), request.t_issue)
        else {
            return;
        };
        // A flush has no bio of its own: it counts with any filter of a control group or process only if its thread is known.
        let wanted = match (self.filter.is_some(), parts) {
            (false, _) => true,
            (true, []) => request
                .issued_by
                .is_some_and(|thread| self.is_wanted(thread)),
            (true, parts) => parts.iter().any(|part| self.is_wanted(part.thread)),
        };
        if !wanted || self.is_bio_based(request.device) {
            return;
        }
        let is_flush = kind == IoKind::Flush;
        let io = TraceIo {
            time_ns: issue,
            latency_ns: request.t_complete.checked_sub(issue),
            offset: if is_flush {
                0
            } else {
                request.sector.saturating_mul(SECTOR)
            },
            length: if is_flush {
                0
            } else {
                u32::try_from(u64::from(request.sectors) * SECTOR).unwrap_or(u32::MAX)
            },
            device: request.device.0,
            process: self.process(request.thread.or(request.issued_by)),
            kind,
            flags: properties(request.flags),
        };
        let waited = request.t_queue.and_then(|queue| issue.checked_sub(queue));
        self.add(io, waited);
    }

    fn bio(&mut self, bio: &Bio) {
        let Some(kind) = kind(bio.flags, bio.sectors) else {
            return;
        };
        if !self.is_wanted(bio.thread) || !self.is_bio_based(bio.device) {
            return;
        }
        let is_flush = kind == IoKind::Flush;
        let io = TraceIo {
            time_ns: bio.t_queue,
            latency_ns: bio.t_complete.checked_sub(bio.t_queue),
            offset: if is_flush {
                0
            } else {
                bio.sector.saturating_mul(SECTOR)
            },
            length: if is_flush {
                0
            } else {
                u32::try_from(u64::from(bio.sectors) * SECTOR).unwrap_or(u32::MAX)
            },
            device: bio.device.0,
            process: self.process(Some(bio.thread)),
            kind,
            flags: properties(bio.flags),
        };
        self.add(io, None);
    }
}
