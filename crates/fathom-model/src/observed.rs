//! What tracepoints say about the block I/O of a device or of a command, beyond counts and latencies.

use crate::names::named;
use crate::{Nanos, SparseHistogram};

/// A phase of the time of a request in the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestPhase {
    /// From the entry of its first bio into the block layer to the scheduler's queue.
    QueueToInsert,
    /// In the scheduler's queue.
    InsertToIssue,
    /// From the entry of its first bio to the driver, through a scheduler or directly.
    QueueToIssue,
    /// With the driver and the device.
    IssueToComplete,
    /// All of it.
    QueueToComplete,
}

named!(RequestPhase {
    QueueToInsert => "queue_to_insert",
    InsertToIssue => "insert_to_issue",
    QueueToIssue => "queue_to_issue",
    IssueToComplete => "issue_to_complete",
    QueueToComplete => "queue_to_complete",
});

impl RequestPhase {
    /// Its name in texts.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            RequestPhase::QueueToInsert => "queue to insert",
            RequestPhase::InsertToIssue => "insert to issue",
            RequestPhase::QueueToIssue => "queue to issue",
            RequestPhase::IssueToComplete => "issue to complete",
            RequestPhase::QueueToComplete => "queue to complete",
        }
    }
}

/// The requests of one direction on a device, or of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedIo {
    /// Length of the intervals of `phases` and `depth`.
    pub interval: Nanos,
    /// The latencies of each phase that was seen, interval by interval.
    pub phases: Vec<(RequestPhase, Vec<SparseHistogram>)>,
    /// The mean number of requests with the driver in each interval, of all directions, in thousandths. Empty for a device
    /// without requests, and for several devices.
    pub depth: Vec<u64>,
    /// The largest number of requests with the driver.
    pub largest_depth: u32,
    /// Sizes of requests in bytes, and how many.
    pub request_sizes: Vec<(u64, u64)>,
    /// Sizes of bios, before the block layer splits and merges them, and how many.
    pub bio_sizes: Vec<(u64, u64)>,
    /// Where on the device the requests were; `None` for several devices.
    pub offsets: Option<ObservedOffsets>,
}

/// I/Os by time and by position on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedOffsets {
    /// Length of a column.
    pub column: Nanos,
    /// Where the first row begins on the device, bytes.
    pub first_byte: u64,
    /// Height of a row, bytes.
    pub row_bytes: u64,
    /// Rows.
    pub rows: u64,
    /// I/Os, column by column.
    pub counts: Vec<u64>,
}
