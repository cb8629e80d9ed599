//! The blame sheet: where the response time of direct I/Os passed, from the load generator through the block layer to the device
//! and back.

use crate::names::named;
use crate::{Direction, Nanos};

/// A part of the response time of one I/O. The six phases of an I/O follow each other without gaps, so their sum is its
/// response time, to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlamePhase {
    /// Due to the start of the submission: the load generator.
    Generator,
    /// Start of the submission to the entry of its first bio into the block layer: the system call, the file system, the
    /// rest of its batch, and limits of control groups, which hold bios back before they enter.
    Submission,
    /// Entry into the block layer to the insertion into the scheduler; without a scheduler, to the issue. Waiting for a tag
    /// of the device's queue, splitting and plugging.
    BlockLayer,
    /// Insertion into the scheduler to the issue of the first request.
    Scheduler,
    /// Issue of the first request to the completion of the last one: driver and device.
    Device,
    /// Completion by the device to the time when the load generator saw it.
    Reaping,
}

named!(BlamePhase {
    Generator => "generator",
    Submission => "submission",
    BlockLayer => "block_layer",
    Scheduler => "scheduler",
    Device => "device",
    Reaping => "reaping",
});

impl BlamePhase {
    /// Where an I/O is in this phase, as part of a sentence: `in the scheduler's queue`.
    #[must_use]
    pub const fn place(self) -> &'static str {
        match self {
            BlamePhase::Generator => "in the load generator before the submission",
            BlamePhase::Submission => "between submission and the block layer",
            BlamePhase::BlockLayer => "in the block layer before the scheduler",
            BlamePhase::Scheduler => "in the scheduler's queue",
            BlamePhase::Device => "in the device",
            BlamePhase::Reaping => "between completion by the device and reaping",
        }
    }
}

/// Nanoseconds of each phase, in the order of [`BlamePhase::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlameTimes {
    /// Nanoseconds.
    pub ns: [u64; 6],
}

impl BlameTimes {
    /// The sum: the response time.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ns.iter().sum()
    }

    /// The time of one phase.
    #[must_use]
    pub fn of(&self, phase: BlamePhase) -> u64 {
        self.ns[phase as usize]
    }

    /// Adds the times of `other`.
    pub fn add(&mut self, other: &BlameTimes) {
        for (sum, time) in self.ns.iter_mut().zip(other.ns) {
            *sum += time;
        }
    }

    /// The phase that took most; the first of equal ones.
    #[must_use]
    pub fn largest(&self) -> BlamePhase {
        let mut largest = BlamePhase::Generator;
        for phase in BlamePhase::ALL {
            if self.of(*phase) > self.of(largest) {
                largest = *phase;
            }
        }
        largest
    }

    /// Share of a phase, 0 to 1; 0 where no time passed.
    #[must_use]
    pub fn share(&self, phase: BlamePhase) -> f64 {
        match self.total() {
            0 => 0.0,
            total => self.of(phase) as f64 / total as f64,
        }
    }
}

/// Result of `--blame`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlameRecording {
    /// The whole load first; then each job section and direction, where there is more than one of these.
    pub groups: Vec<BlameGroup>,
    /// Who else had requests in the devices of the load, by the time they had some, longest first.
    pub others: Vec<BlameOther>,
    /// Events that the kernel could not store. The I/Os they belong to are unjoined.
    pub lost_events: u64,
    /// What restricts the sheet, as text.
    pub messages: Vec<String>,
}

/// The sheet with its meaning in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlameSheet {
    /// The figures.
    pub recording: BlameRecording,
    /// What they mean.
    pub sentences: Vec<String>,
}

/// The I/Os of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlameGroup {
    /// Name of the job section; empty for the whole load.
    pub name: String,
    /// `None` for the whole load.
    pub direction: Option<Direction>,
    /// I/Os that were joined with their requests.
    pub joined: u64,
    /// Sum of their response times by the load generator's stamps, nanoseconds.
    pub response_ns: u64,
    /// I/Os that were not, by reason.
    pub unjoined: Unjoined,
    /// The I/Os at several ranks of the response time. Empty without a joined I/O.
    pub rows: Vec<BlameRow>,
    /// The slowest I/Os, slowest first, at most [`BlameGroup::MAX_SLOWEST`].
    pub slowest: Vec<BlamedIo>,
}

impl BlameGroup {
    /// How many of the slowest I/Os are kept.
    pub const MAX_SLOWEST: usize = 32;

    /// The row of these I/Os.
    #[must_use]
    pub fn row(&self, rank: BlameRank) -> Option<&BlameRow> {
        self.rows.iter().find(|row| row.rank == rank)
    }

    /// Share of the I/Os that were joined, 0 to 1.
    #[must_use]
    pub fn joined_share(&self) -> f64 {
        match self.joined + self.unjoined.total() {
            0 => 0.0,
            all => self.joined as f64 / all as f64,
        }
    }
}

/// Why I/Os were not joined with requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unjoined {
    /// They went through the page cache.
    pub buffered: u64,
    /// A request contained data of somebody else too.
    pub merged: u64,
    /// The kernel lost events while they were in flight.
    pub lost_events: u64,
    /// The position of the file's data on the device is not known.
    pub no_position: u64,
    /// No request was seen: a hole of the file, a cache, or a device that has no requests of its own.
    pub no_request: u64,
    /// Several I/Os to the same place were in flight at once.
    pub ambiguous: u64,
    /// The load was faster than its log could be read.
    pub not_logged: u64,
}

impl Unjoined {
    /// Each reason as its stored name and a text, with its count.
    #[must_use]
    pub const fn reasons(&self) -> [(&'static str, &'static str, u64); 7] {
        [
            ("buffered", "through the page cache", self.buffered),
            ("merged", "merged with I/O of others", self.merged),
            ("lost_events", "events lost by the kernel", self.lost_events),
            (
                "no_position",
                "position on the device unknown",
                self.no_position,
            ),
            ("no_request", "no request seen for them", self.no_request),
            (
                "ambiguous",
                "the same place several times at once",
                self.ambiguous,
            ),
            (
                "not_logged",
                "faster than the log could be read",
                self.not_logged,
            ),
        ]
    }

    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.buffered
            + self.merged
            + self.lost_events
            + self.no_position
            + self.no_request
            + self.ambiguous
            + self.not_logged
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Unjoined) {
        self.buffered += other.buffered;
        self.merged += other.merged;
        self.lost_events += other.lost_events;
        self.no_position += other.no_position;
        self.no_request += other.no_request;
        self.ambiguous += other.ambiguous;
        self.not_logged += other.not_logged;
    }
}

/// Which I/Os a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlameRank {
    /// All.
    Mean,
    /// Those from the 49th to the 51st percentile of the response time.
    P50,
    /// Those from the 98.75th to the 99.25th.
    P99,
    /// Those from the 99.875th to the 99.925th.
    P999,
    /// Those from the 99th on.
    SlowestPercent,
    /// The slowest one.
    Slowest,
}

named!(BlameRank {
    Mean => "mean",
    P50 => "p50",
    P99 => "p99",
    P999 => "p99.9",
    SlowestPercent => "slowest_1_percent",
    Slowest => "slowest",
});

impl BlameRank {
    /// First and last percentile of the I/Os.
    #[must_use]
    pub const fn band(self) -> (f64, f64) {
        match self {
            BlameRank::Mean => (0.0, 100.0),
            BlameRank::P50 => (49.0, 51.0),
            BlameRank::P99 => (98.75, 99.25),
            BlameRank::P999 => (99.875, 99.925),
            BlameRank::SlowestPercent => (99.0, 100.0),
            BlameRank::Slowest => (100.0, 100.0),
        }
    }

    /// The I/Os in a sentence.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            BlameRank::Mean => "all I/Os",
            BlameRank::P50 => "the I/Os at p50",
            BlameRank::P99 => "the I/Os at p99",
            BlameRank::P999 => "the I/Os at p99.9",
            BlameRank::SlowestPercent => "the slowest 1 %",
            BlameRank::Slowest => "the slowest I/O",
        }
    }
}

/// The I/Os at one rank: sums over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameRow {
    /// Which I/Os.
    pub rank: BlameRank,
    /// How many.
    pub ios: u64,
    /// The sum of each phase over them, nanoseconds.
    pub phases: BlameTimes,
    /// The sum of their times from the entry into the block layer to the completion by the device, nanoseconds.
    pub in_block_layer_ns: u64,
    /// For each of [`BlameRecording::others`]: how much of that time it had requests in the device too, nanoseconds.
    pub beside_ns: Vec<u64>,
}

impl BlameRow {
    /// Mean response time, nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.phases.total() as f64 / self.ios.max(1) as f64
    }

    /// Share of the time in block layer and device in which the other number `index` had requests there, 0 to 1.
    #[must_use]
    pub fn beside(&self, index: usize) -> f64 {
        match (self.beside_ns.get(index), self.in_block_layer_ns) {
            (Some(beside), whole) if whole > 0 => (*beside as f64 / whole as f64).min(1.0),
            _ => 0.0,
        }
    }
}

/// One I/O with its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlamedIo {
    /// Index into [`crate::Plan::jobs`].
    pub job: u32,
    /// Read, write or trim.
    pub direction: Direction,
    /// Offset in its file, bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// When it was due, counted from the start of the load.
    pub due: Nanos,
    /// When the load generator saw its completion.
    pub reaped: Nanos,
    /// The time of each phase.
    pub phases: BlameTimes,
    /// Pieces that the device received it in.
    pub pieces: u32,
}

/// Somebody else, or another kind of request, in the devices of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameOther {
    /// Who.
    pub who: OtherKind,
    /// Read requests and their bytes.
    pub reads: (u64, u64),
    /// Write requests and their bytes.
    pub writes: (u64, u64),
    /// Time in which it had at least one request in the devices, nanoseconds.
    pub busy_ns: u64,
}

/// Who else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherKind {
    /// Another process.
    Process {
        /// Its process id.
        pid: u32,
        /// Its name, at most 15 bytes, as in `/proc/PID/comm`.
        name: String,
    },
    /// The kernel writes dirty pages back or does other work of its own.
    Kernel,
    /// Flushes of the device's cache, whoever asked for them.
    Flushes,
    /// Writes of the load itself, of at least 128 KiB, beside I/Os of at most 32 KiB.
    OwnLargeWrites,
    /// Processes beyond the number that is kept apart.
    Rest,
}

impl BlameOther {
    /// It with what it did, for a sentence: `1 MiB writes of PID 1234 (rsync)`.
    #[must_use]
    pub fn text(&self) -> String {
        let who = match &self.who {
            OtherKind::Process { pid, name } => format!("PID {pid} ({name})"),
            OtherKind::Kernel => "the kernel (write-back and other work of its own)".to_owned(),
            OtherKind::Flushes => return "flushes of the device's cache".to_owned(),
            OtherKind::OwnLargeWrites => "the load itself".to_owned(),
            OtherKind::Rest => "further processes".to_owned(),
        };
        let (kind, (ios, bytes)) = if self.writes.1 >= self.reads.1 {
            ("writes", self.writes)
        } else {
            ("reads", self.reads)
        };
        if ios == 0 {
            return format!("requests of {who}");
        }
        let size = crate::format::bytes(bytes / ios);
        format!("{size} {kind} of {who}")
    }
}
