//! The device's own log of every operation, the reference for the results of a benchmark.

use std::fmt;

use crate::fault::{FaultKind, Op};

/// One operation as seen by the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The operation.
    pub op: Op,
    /// First byte; 0 for a sync.
    pub offset: u64,
    /// Requested bytes; 0 for a sync.
    pub len: u64,
    /// When the device accepted the request, nanoseconds of CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Just before the result was sent, nanoseconds of CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// Transferred bytes, or the negated error number.
    pub result: i64,
    /// The faults that were triggered by this operation.
    pub faults: Vec<FaultKind>,
}

impl Entry {
    /// Time that the request spent in the device, in nanoseconds.
    #[must_use]
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Column names of the text form.
    pub const HEADER: &str = "op,offset,len,start_ns,end_ns,result,faults";
}

/// One comma-separated line; several faults are joined with `+`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry {
            op,
            offset,
            len,
            start_ns,
            end_ns,
            result,
            faults,
        } = self;
        let faults: Vec<_> = faults.iter().map(|k| k.name()).collect();
        let (op, faults) = (op.name(), faults.join("+"));
        write!(
            f,
            "{op},{offset},{len},{start_ns},{end_ns},{result},{faults}"
        )
    }
}

/// A bounded list of entries with a count of the dropped ones.
#[derive(Debug)]
pub(crate) struct OpLog {
    entries: Vec<Entry>,
    limit: usize,
    dropped: u64,
}

impl OpLog {
    pub(crate) fn new(limit: usize) -> Self {
        OpLog {
            entries: Vec::new(),
            limit,
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        if self.entries.len() < self.limit {
            self.entries.push(entry);
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.dropped = 0;
    }
}
