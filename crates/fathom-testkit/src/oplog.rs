//! The device's own record of every operation, the judge of what a benchmark reports.

use std::fmt;

use crate::fault::{FaultKind, Op};

/// One operation as the device saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What was asked.
    pub op: Op,
    /// First byte; 0 for a sync.
    pub offset: u64,
    /// Bytes asked for; 0 for a sync.
    pub len: u64,
    /// When the device took the request, nanoseconds of CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Just before the answer was sent, nanoseconds of CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// Bytes moved, or the negated error number.
    pub result: i64,
    /// The faults that struck this operation.
    pub faults: Vec<FaultKind>,
}

impl Entry {
    /// Time the device held the request, in nanoseconds.
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
        let faults: Vec<_> = faults.iter().map(|k| k.word()).collect();
        let (op, faults) = (op.word(), faults.join("+"));
        write!(
            f,
            "{op},{offset},{len},{start_ns},{end_ns},{result},{faults}"
        )
    }
}

/// A bounded list of entries that knows how many it could not keep.
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
