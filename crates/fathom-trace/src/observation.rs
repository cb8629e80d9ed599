//! A finished observation, with what is needed to judge it.

use std::collections::BTreeMap;

use crate::counters::{DiskCounts, ProcessCounts};
use crate::decode::Tracepoint;
use crate::event::{DeviceNumber, SECTOR};
use crate::session::TraceTotals;
use crate::summary::{IoDirection, QueueLimits, SplitCause, Summary};

/// What was observed through tracepoints.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// What the trace says.
    pub summary: Summary,
    /// The devices with their limits, as far as they are known.
    pub limits: BTreeMap<DeviceNumber, QueueLimits>,
    /// Counts of the trace itself.
    pub totals: TraceTotals,
    /// Tracepoints that the kernel does not have.
    pub missing: Vec<Tracepoint>,
    /// CPU time for reading and analysing the trace, without what the kernel spends on recording.
    pub cpu_ns: u64,
    /// Devices that disappeared meanwhile.
    pub gone: Vec<String>,
    /// What was asked for: `vda`, `PID 123`.
    pub target: String,
}

/// How bios of one size reach the device.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeAudit {
    /// Bytes of the bios.
    pub bytes: u64,
    /// Number of bios.
    pub bios: u64,
    /// Requests for one bio: above 1 when bios are split, below 1 when they are merged.
    pub requests_per_bio: f64,
    /// Parts of one bio.
    pub parts_per_bio: f64,
    /// The limit that split most of them.
    pub limit: Option<SplitCause>,
}

impl Observation {
    /// The name of a device, such as `vda`.
    #[must_use]
    pub fn name(&self, device: DeviceNumber) -> String {
        match self.limits.get(&device) {
            Some(limits) if !limits.name.is_empty() => limits.name.clone(),
            _ => device.to_string(),
        }
    }

    /// Requests of all devices.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.summary
            .devices
            .values()
            .map(|one| one.requests())
            .sum()
    }

    /// Seconds observed.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.summary.end_ns - self.summary.start_ns) as f64 / 1e9
    }

    /// Whether the figures are of a part of the I/O only.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.totals.lost > 0 || self.summary.gaps > 0
    }

    /// For each size of bios of a direction, how many requests the device gets; the most frequent first.
    #[must_use]
    pub fn audit(&self, device: DeviceNumber, direction: IoDirection) -> Vec<SizeAudit> {
        let Some(summary) = self.summary.devices.get(&device) else {
            return Vec::new();
        };
        let summary = summary.direction(direction);
        let most_frequent = summary
            .splits
            .iter()
            .max_by_key(|(_, count)| **count)
            .map(|(cause, _)| *cause);
        let mut audits: Vec<SizeAudit> = summary
            .bio_sizes
            .iter()
            .map(|(sectors, size)| {
                let requests = size.parts.saturating_sub(size.merged);
                SizeAudit {
                    bytes: u64::from(*sectors) * SECTOR,
                    bios: size.bios,
                    requests_per_bio: requests as f64 / size.bios.max(1) as f64,
                    parts_per_bio: size.parts as f64 / size.bios.max(1) as f64,
                    limit: most_frequent.filter(|_| size.parts > size.bios),
                }
            })
            .collect();
        audits.sort_by_key(|audit| std::cmp::Reverse((audit.bios, audit.bytes)));
        audits
    }

    /// The value of a limit of a device, bytes; of `max_segments` the number.
    #[must_use]
    pub fn limit(&self, device: DeviceNumber, cause: SplitCause) -> u64 {
        self.limits.get(&device).map_or(0, |limits| match cause {
            SplitCause::MaxSectors => limits.max_sectors_kb * 1024,
            SplitCause::Chunk => limits.chunk_sectors * SECTOR,
            SplitCause::Segments => limits.max_segments,
        })
    }
}

/// What was observed through counters alone.
#[derive(Clone, Debug, Default)]
pub struct CountedObservation {
    /// Why the tracepoints were not used.
    pub reason: String,
    /// Length in nanoseconds.
    pub elapsed_ns: u64,
    /// Growth of the counters of devices with I/O.
    pub devices: Vec<DiskCounts>,
    /// Growth of the counters of processes with I/O: process number and counters.
    pub processes: Vec<(u32, ProcessCounts)>,
    /// Processes whose counters this user may not read.
    pub hidden_processes: u64,
}
