//! What happens to a simulated machine, each event at a set time and of a set size.

use fathom_model::{Bytes, Nanos};

/// Something that happens to the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When it begins, on the machine's own clock: zero is the start of its first run.
    pub at: Nanos,
    /// What happens.
    pub kind: EventKind,
}

/// What happens. Disks are numbered from 0, in the order of [`super::SimMachineSpec::disks`]; I/Os of the load generator at a
/// disk are numbered from 1, in the order in which they reach it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// No thread of the load generator runs, as after SIGSTOP. The disks go on.
    GeneratorStops {
        /// Until it continues.
        lasts: Nanos,
    },
    /// The hypervisor gives a share of each CPU to others: what the generator computes takes 1 / (1 - share) times as long.
    CpuStolen {
        /// How long.
        lasts: Nanos,
        /// From 0 to below 1.
        share: f64,
    },
    /// The CPUs run at a share of their nominal frequency: what the generator computes takes 1 / share times as long.
    CpuSlows {
        /// How long.
        lasts: Nanos,
        /// Above 0, at most 1.
        share: f64,
    },
    /// A worker that waited runs later than it could.
    WakesLate {
        /// How much later.
        late: Nanos,
        /// Each wake-up in this time is late; with zero, only the first one at or after the event.
        lasts: Nanos,
    },
    /// Another program reads a disk at random offsets.
    ForeignReads {
        /// The disk.
        disk: usize,
        /// How long it goes on submitting.
        lasts: Nanos,
        /// How much it reads.
        load: ForeignLoad,
        /// Bytes of each read.
        size: Bytes,
    },
    /// A control group or a token bucket limits the I/O of the generator on a disk; what has no tokens waits for them in order.
    IoLimited {
        /// The disk.
        disk: usize,
        /// How long.
        lasts: Nanos,
        /// I/Os.
        ios: Option<TokenBucket>,
        /// Bytes.
        bytes: Option<TokenBucket>,
    },
    /// Somebody sets the wall clock. The monotonic clock goes on.
    ClockSteps {
        /// How far, nanoseconds; back if negative.
        by: i64,
    },
    /// A disk serves nothing. What was in service is completed so much later.
    DiskStalls {
        /// The disk.
        disk: usize,
        /// How long.
        lasts: Nanos,
    },
    /// A disk slows itself down because it is hot: what it does takes 1 / share times as long. It counts the time in which it does.
    DiskThrottles {
        /// The disk.
        disk: usize,
        /// How long.
        lasts: Nanos,
        /// Above 0, at most 1.
        share: f64,
    },
    /// A disk serves nothing from now on, and completes nothing.
    DiskHangs {
        /// The disk.
        disk: usize,
    },
    /// One I/O is never completed, if it reaches the disk after the event.
    IoHangs {
        /// The disk.
        disk: usize,
        /// The number of the I/O.
        number: u64,
    },
    /// One I/O fails with EIO after its usual time, if it reaches the disk after the event.
    IoFails {
        /// The disk.
        disk: usize,
        /// The number of the I/O.
        number: u64,
    },
    /// Reads and writes that touch a range fail with EIO after their usual time, from now on.
    RangeFails {
        /// The disk.
        disk: usize,
        /// The first byte.
        from: u64,
        /// The first byte after it.
        to: u64,
    },
    /// One write completes with success, but only its first bytes are stored, if it reaches the disk after the event.
    WriteTorn {
        /// The disk.
        disk: usize,
        /// The number of the I/O. If it is no write, nothing happens.
        number: u64,
        /// Bytes that are stored.
        keep: u64,
    },
    /// One write completes with success, but nothing is stored, if it reaches the disk after the event.
    WriteLost {
        /// The disk.
        disk: usize,
        /// The number of the I/O. If it is no write, nothing happens.
        number: u64,
    },
    /// One write completes with success, but is stored elsewhere, if it reaches the disk after the event.
    WriteMisplaced {
        /// The disk.
        disk: usize,
        /// The number of the I/O. If it is no write, nothing happens.
        number: u64,
        /// How far behind its place, bytes.
        by: u64,
    },
    /// All bits of what is stored in a range at this time are inverted. Later writes are stored as they are.
    DataCorrupted {
        /// The disk.
        disk: usize,
        /// The first byte.
        from: u64,
        /// The first byte after it.
        to: u64,
    },
    /// The power is cut and comes back at once: of the machine with this disk, or of the disk alone.
    PowerCut {
        /// The disk.
        disk: usize,
    },
    /// Messages to and from other machines are lost.
    NetworkCut {
        /// How long.
        lasts: Nanos,
    },
    /// Messages to and from other machines arrive later.
    NetworkDelays {
        /// How much later.
        by: Nanos,
        /// Those that leave in this time.
        lasts: Nanos,
    },
    /// Tasks wait for memory in a share of the time. The pressure is reported; it costs the generator nothing.
    MemoryPressure {
        /// How long.
        lasts: Nanos,
        /// From 0 to 1.
        share: f64,
    },
}

/// How another program reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForeignLoad {
    /// So many reads are in flight all the time.
    Depth(u32),
    /// A read begins so many times per second, in equal gaps.
    Rate(f64),
}

/// A bucket that is full at the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    /// Tokens that it gets per second.
    pub rate: f64,
    /// Tokens that it holds, at least one.
    pub burst: f64,
}

/// Bytes that a bandwidth limit of a control group lets pass at once.
pub(super) const BURST_BYTES: u64 = 1 << 20;

impl TokenBucket {
    /// Whether it is a limit of a control group, which the host knows and which lets no bursts pass, rather than a bucket of the volume,
    /// which is the provider's.
    pub(crate) fn is_of_control_group(&self) -> bool {
        self.burst <= 1.0 || self.burst == BURST_BYTES as f64
    }
}

impl EventKind {
    /// The disk to which it happens.
    #[must_use]
    pub fn disk(&self) -> Option<usize> {
        match *self {
            EventKind::ForeignReads { disk, .. }
            | EventKind::IoLimited { disk, .. }
            | EventKind::DiskStalls { disk, .. }
            | EventKind::DiskThrottles { disk, .. }
            | EventKind::DiskHangs { disk }
            | EventKind::IoHangs { disk, .. }
            | EventKind::IoFails { disk, .. }
            | EventKind::RangeFails { disk, .. }
            | EventKind::WriteTorn { disk, .. }
            | EventKind::WriteLost { disk, .. }
            | EventKind::WriteMisplaced { disk, .. }
            | EventKind::DataCorrupted { disk, .. }
            | EventKind::PowerCut { disk } => Some(disk),
            _ => None,
        }
    }

    /// How long it lasts; zero if it is over at once, [`Nanos::MAX`] if it never ends.
    #[must_use]
    pub fn lasts(&self) -> Nanos {
        match *self {
            EventKind::GeneratorStops { lasts }
            | EventKind::NetworkCut { lasts }
            | EventKind::NetworkDelays { lasts, .. }
            | EventKind::CpuStolen { lasts, .. }
            | EventKind::CpuSlows { lasts, .. }
            | EventKind::WakesLate { lasts, .. }
            | EventKind::ForeignReads { lasts, .. }
            | EventKind::IoLimited { lasts, .. }
            | EventKind::DiskStalls { lasts, .. }
            | EventKind::DiskThrottles { lasts, .. }
            | EventKind::MemoryPressure { lasts, .. } => lasts,
            EventKind::DiskHangs { .. } | EventKind::RangeFails { .. } => Nanos::MAX,
            EventKind::ClockSteps { .. }
            | EventKind::IoHangs { .. }
            | EventKind::IoFails { .. }
            | EventKind::WriteTorn { .. }
            | EventKind::WriteLost { .. }
            | EventKind::WriteMisplaced { .. }
            | EventKind::DataCorrupted { .. }
            | EventKind::PowerCut { .. } => Nanos::ZERO,
        }
    }

    /// Whether its values are possible.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        let is_possible = match *self {
            EventKind::CpuStolen { share, .. } => (0.0..1.0).contains(&share),
            EventKind::CpuSlows { share, .. } | EventKind::DiskThrottles { share, .. } => {
                share > 0.0 && share <= 1.0
            }
            EventKind::MemoryPressure { share, .. } => (0.0..=1.0).contains(&share),
            EventKind::ForeignReads { load, size, .. } => {
                let loads = match load {
                    ForeignLoad::Depth(depth) => depth > 0,
                    ForeignLoad::Rate(rate) => is_positive(rate),
                };
                loads && (1..=u64::from(u32::MAX)).contains(&size.get())
            }
            EventKind::IoLimited { ios, bytes, .. } => {
                let buckets = [ios, bytes].into_iter().flatten();
                (ios.is_some() || bytes.is_some())
                    && buckets
                        .into_iter()
                        .all(|bucket| is_positive(bucket.rate) && bucket.burst >= 1.0)
            }
            EventKind::IoHangs { number, .. }
            | EventKind::IoFails { number, .. }
            | EventKind::WriteTorn { number, .. }
            | EventKind::WriteLost { number, .. } => number > 0,
            EventKind::WriteMisplaced { number, by, .. } => number > 0 && by > 0,
            EventKind::RangeFails { from, to, .. } | EventKind::DataCorrupted { from, to, .. } => {
                from < to
            }
            _ => true,
        };
        if is_possible {
            return Ok(());
        }
        Err(match self {
            EventKind::CpuStolen { .. } => "the stolen share is 0 to below 1",
            EventKind::CpuSlows { .. } => "the share of the frequency is above 0, at most 1",
            EventKind::DiskThrottles { .. } => "the share of the speed is above 0, at most 1",
            EventKind::MemoryPressure { .. } => "the share is 0 to 1",
            EventKind::ForeignReads { .. } => {
                "depth, rate and size of foreign reads are above 0, and a read is below 4 GiB"
            }
            EventKind::IoLimited { .. } => {
                "a limit has IOPS, bytes or both, with a rate above 0 and a burst of at least 1"
            }
            EventKind::RangeFails { .. } | EventKind::DataCorrupted { .. } => {
                "the range ends after its beginning"
            }
            EventKind::WriteMisplaced { number: 1.., .. } => "a misplaced write is elsewhere",
            _ => "the number of the first I/O is 1",
        })
    }
}

impl Event {
    /// The generator is stopped for `lasts`.
    #[must_use]
    pub fn generator_stops(at: Nanos, lasts: Nanos) -> Event {
        let kind = EventKind::GeneratorStops { lasts };
        Event { at, kind }
    }

    /// A share of CPU time, 0 to below 1, is stolen for `lasts`.
    #[must_use]
    pub fn cpu_stolen(at: Nanos, lasts: Nanos, share: f64) -> Event {
        let kind = EventKind::CpuStolen { lasts, share };
        Event { at, kind }
    }

    /// The CPUs run at this share of their frequency for `lasts`.
    #[must_use]
    pub fn cpu_slows(at: Nanos, lasts: Nanos, share: f64) -> Event {
        let kind = EventKind::CpuSlows { lasts, share };
        Event { at, kind }
    }

    /// One wake-up of a worker, the first from `at` on, is late by `late`.
    #[must_use]
    pub fn wakes_late_once(at: Nanos, late: Nanos) -> Event {
        Event::wakes_late(at, Nanos::ZERO, late)
    }

    /// Each wake-up of a worker within `lasts` is late by `late`.
    #[must_use]
    pub fn wakes_late(at: Nanos, lasts: Nanos, late: Nanos) -> Event {
        let kind = EventKind::WakesLate { late, lasts };
        Event { at, kind }
    }

    /// Another program reads `disk` in blocks of 4 KiB for `lasts`.
    #[must_use]
    pub fn foreign_reads(at: Nanos, lasts: Nanos, disk: usize, load: ForeignLoad) -> Event {
        let kind = EventKind::ForeignReads {
            disk,
            lasts,
            load,
            size: Bytes::new(4096),
        };
        Event { at, kind }
    }

    /// I/Os of the generator on `disk` are limited for `lasts`.
    #[must_use]
    pub fn ios_limited(at: Nanos, lasts: Nanos, disk: usize, ios: TokenBucket) -> Event {
        let kind = EventKind::IoLimited {
            disk,
            lasts,
            ios: Some(ios),
            bytes: None,
        };
        Event { at, kind }
    }

    /// Bytes of the generator on `disk` are limited for `lasts`.
    #[must_use]
    pub fn bytes_limited(at: Nanos, lasts: Nanos, disk: usize, bytes: TokenBucket) -> Event {
        let kind = EventKind::IoLimited {
            disk,
            lasts,
            ios: None,
            bytes: Some(bytes),
        };
        Event { at, kind }
    }

    /// The wall clock is set by so many nanoseconds.
    #[must_use]
    pub fn clock_steps(at: Nanos, by: i64) -> Event {
        let kind = EventKind::ClockSteps { by };
        Event { at, kind }
    }

    /// `disk` serves nothing for `lasts`.
    #[must_use]
    pub fn disk_stalls(at: Nanos, lasts: Nanos, disk: usize) -> Event {
        let kind = EventKind::DiskStalls { disk, lasts };
        Event { at, kind }
    }

    /// `disk` is hot and works at this share of its speed for `lasts`.
    #[must_use]
    pub fn disk_throttles(at: Nanos, lasts: Nanos, disk: usize, share: f64) -> Event {
        let kind = EventKind::DiskThrottles { disk, lasts, share };
        Event { at, kind }
    }

    /// `disk` completes nothing from `at` on.
    #[must_use]
    pub fn disk_hangs(at: Nanos, disk: usize) -> Event {
        let kind = EventKind::DiskHangs { disk };
        Event { at, kind }
    }

    /// I/O `number` of `disk` is never completed.
    #[must_use]
    pub fn io_hangs(at: Nanos, disk: usize, number: u64) -> Event {
        let kind = EventKind::IoHangs { disk, number };
        Event { at, kind }
    }

    /// I/O `number` of `disk` fails with EIO.
    #[must_use]
    pub fn io_fails(at: Nanos, disk: usize, number: u64) -> Event {
        let kind = EventKind::IoFails { disk, number };
        Event { at, kind }
    }

    /// What touches this range of `disk` fails with EIO.
    #[must_use]
    pub fn range_fails(at: Nanos, disk: usize, range: std::ops::Range<u64>) -> Event {
        let kind = EventKind::RangeFails {
            disk,
            from: range.start,
            to: range.end,
        };
        Event { at, kind }
    }

    /// I/O `number` of `disk` completes, and if it is a write, only its first `keep` bytes are stored.
    #[must_use]
    pub fn write_torn(at: Nanos, disk: usize, number: u64, keep: u64) -> Event {
        let kind = EventKind::WriteTorn { disk, number, keep };
        Event { at, kind }
    }

    /// I/O `number` of `disk` completes, and if it is a write, nothing of it is stored.
    #[must_use]
    pub fn write_lost(at: Nanos, disk: usize, number: u64) -> Event {
        let kind = EventKind::WriteLost { disk, number };
        Event { at, kind }
    }

    /// I/O `number` of `disk`, a write, is stored `by` bytes behind its place.
    #[must_use]
    pub fn write_misplaced(at: Nanos, disk: usize, number: u64, by: u64) -> Event {
        let kind = EventKind::WriteMisplaced { disk, number, by };
        Event { at, kind }
    }

    /// The bits of what is stored in this range of `disk` at this time are inverted.
    #[must_use]
    pub fn data_corrupted(at: Nanos, disk: usize, range: std::ops::Range<u64>) -> Event {
        let kind = EventKind::DataCorrupted {
            disk,
            from: range.start,
            to: range.end,
        };
        Event { at, kind }
    }

    /// Messages to and from other machines are lost for `lasts`.
    #[must_use]
    pub fn network_cut(at: Nanos, lasts: Nanos) -> Event {
        let kind = EventKind::NetworkCut { lasts };
        Event { at, kind }
    }

    /// Tasks wait for memory in this share of `lasts`.
    #[must_use]
    pub fn memory_pressure(at: Nanos, lasts: Nanos, share: f64) -> Event {
        let kind = EventKind::MemoryPressure { lasts, share };
        Event { at, kind }
    }

    /// The first time after it.
    #[must_use]
    pub fn end(&self) -> Nanos {
        self.at.saturating_add(self.kind.lasts())
    }
}
