//! What the kernel counts of a disk: /sys/block/DISK/stat (Documentation/block/stat.rst of Linux).

use fathom_model::DiskCounters;

use crate::device::{SimRequest, SimTime};
use crate::members::MemberCounts;

/// The unit in which the kernel counts.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// The counters of a disk.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// By [`SimOp`].
    ops: [OpCounts; 4],
    in_flight: u64,
    /// Time with requests in flight.
    busy: SimTime,
    /// The time of the last change.
    changed: SimTime,
}

#[derive(Clone, Copy, Debug, Default)]
struct OpCounts {
    ios: u64,
    bytes: u64,
    in_flight: u64,
    /// Sum of the times in flight.
    waited: SimTime,
    changed: SimTime,
}

impl OpCounts {
    fn waited(&self, now: SimTime) -> SimTime {
        self.waited + self.in_flight * now.saturating_sub(self.changed)
    }

    fn change(&mut self, now: SimTime) {
        self.waited = self.waited(now);
        self.changed = now;
    }
}

impl Counts {
    /// Requests that have not completed.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The requests that arrived.
    pub fn received(&self) -> MemberCounts {
        let [reads, writes, trims, flushes] = self.ops.map(|op| op.ios + op.in_flight);
        let [read, written, ..] = self.ops;
        MemberCounts {
            reads,
            writes,
            read_bytes: read.bytes,
            written_bytes: written.bytes,
            trims,
            flushes,
        }
    }

    fn busy(&self, now: SimTime) -> SimTime {
        self.busy + now.saturating_sub(self.changed) * u64::from(self.in_flight > 0)
    }

    /// A request arrives.
    #[inline]
    pub fn submitted(&mut self, now: SimTime, request: &SimRequest) {
        (self.busy, self.changed) = (self.busy(now), now);
        self.in_flight += 1;
        let op = &mut self.ops[request.op as usize];
        op.change(now);
        op.in_flight += 1;
        op.bytes += u64::from(request.bytes);
    }

    /// A request of this [`SimOp`] completes.
    #[inline]
    pub fn completed(&mut self, now: SimTime, op: usize) {
        (self.busy, self.changed) = (self.busy(now), now);
        self.in_flight = self.in_flight.saturating_sub(1);
        let op = &mut self.ops[op];
        op.change(now);
        op.in_flight = op.in_flight.saturating_sub(1);
        op.ios += 1;
    }

    /// What the kernel would have counted until `now`.
    pub fn counters(&self, now: SimTime) -> DiskCounters {
        const MILLISECOND: SimTime = 1_000_000;
        let [read, write, trim, flush] = self.ops;
        let ticks = |op: OpCounts| op.waited(now) / MILLISECOND;
        let waited: SimTime = self.ops.iter().map(|op| op.waited(now)).sum();
        DiskCounters {
            read_ios: read.ios,
            read_sectors: read.bytes / SECTOR_BYTES,
            read_ticks: ticks(read),
            write_ios: write.ios,
            write_sectors: write.bytes / SECTOR_BYTES,
            write_ticks: ticks(write),
            in_flight: self.in_flight,
            io_ticks: self.busy(now) / MILLISECOND,
            time_in_queue: waited / MILLISECOND,
            discard_ios: trim.ios,
            discard_sectors: trim.bytes / SECTOR_BYTES,
            flush_ios: flush.ios,
            flush_ticks: ticks(flush),
            ..DiskCounters::default()
        }
    }
}
