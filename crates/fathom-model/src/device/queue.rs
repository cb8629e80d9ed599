//! How the kernel queues for a device. See Documentation/ABI/stable/sysfs-block of Linux.

use crate::Bytes;

/// The limits and settings under `queue/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueFacts {
    /// Hardware queues (directories under `mq/`).
    pub hardware_queues: Option<u32>,
    /// Requests of the block layer for each hardware queue (`nr_requests`).
    pub requests: Option<u32>,
    /// Commands that the device accepts at once, over all its queues.
    pub device_depth: Option<u32>,
    /// Scheduler in use.
    pub scheduler: Option<String>,
    /// Smallest unit it can address, bytes.
    pub logical_block: Option<u32>,
    /// Smallest unit it writes without reading first, bytes.
    pub physical_block: Option<u32>,
    /// Preferred smallest I/O, bytes; chunk of an array.
    pub minimum_io: Option<u32>,
    /// Preferred I/O, bytes; full stripe of an array.
    pub optimal_io: Option<u32>,
    /// Largest request as set now (`max_sectors_kb`).
    pub max_request: Option<Bytes>,
    /// Largest request the hardware takes (`max_hw_sectors_kb`).
    pub max_hardware_request: Option<Bytes>,
    /// Pieces of memory in one request.
    pub max_segments: Option<u32>,
    /// Largest piece, bytes.
    pub max_segment_size: Option<u32>,
    /// A request is split where it crosses a multiple of this (stripe, zone, NVMe optimal boundary).
    pub chunk: Option<Bytes>,
    /// Largest I/O that is never split, even when no two pages of its buffer are neighbours in memory.
    pub max_unsplit: Option<Bytes>,
    /// Largest I/O that is not split when its buffer is one piece of memory (huge pages).
    pub max_unsplit_contiguous: Option<Bytes>,
    /// Read-ahead of buffered reads.
    pub read_ahead: Option<Bytes>,
    /// The kernel treats it as a rotating disk.
    pub rotational: Option<bool>,
    /// Polling is on.
    pub polls: Option<bool>,
    /// Merging of neighbours: 0 all, 1 simple only, 2 none (`nomerges`).
    pub no_merges: Option<u32>,
    /// Target of writeback throttling, microseconds; 0 is off.
    pub writeback_throttle_us: Option<i64>,
    /// Largest discard; zero where unsupported.
    pub max_discard: Option<Bytes>,
    /// `none`, `host-aware`, `host-managed`.
    pub zoned: Option<String>,
    /// Every small file under `queue/` with its text, by name: what a later run is compared with.
    pub settings: Vec<(String, String)>,
}

impl QueueFacts {
    /// The text of a setting.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}
