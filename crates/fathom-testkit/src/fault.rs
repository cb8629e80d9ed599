//! The faults of the device, and the list of the armed ones.

use std::collections::BTreeMap;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// Transfers bytes from the device to the caller.
    Read,
    /// Transfers bytes from the caller to the device.
    Write,
    /// Makes everything acknowledged so far survive a power cut (fsync, fdatasync, flush).
    Sync,
}

impl Op {
    /// Lower-case name in commands and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Sync => "sync",
        }
    }
}

/// A fault of the device while it is armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every `every`-th read or write takes `micros` microseconds longer.
    Stall {
        /// Period in operations, at least 1.
        every: u64,
        /// Added time in microseconds.
        micros: u64,
    },
    /// Reads that touch `offset..offset + len` (bytes) fail with EIO.
    ReadError {
        /// First byte of the bad range.
        offset: u64,
        /// Length of the bad range in bytes.
        len: u64,
    },
    /// Writes that touch `offset..offset + len` (bytes) fail with EIO and change nothing.
    WriteError {
        /// First byte of the bad range.
        offset: u64,
        /// Length of the bad range in bytes.
        len: u64,
    },
    /// Reads return at most `at_most` bytes.
    ShortRead {
        /// Maximum number of returned bytes.
        at_most: u64,
    },
    /// Reads that cover byte `offset` return it with the bits of `mask` inverted.
    BitFlip {
        /// Byte to corrupt in the result; the stored byte is unchanged.
        offset: u64,
        /// Bits to invert.
        mask: u8,
    },
    /// Every `every`-th write is acknowledged and dropped.
    LostWrite {
        /// Period in writes, at least 1.
        every: u64,
    },
    /// Only the first `sectors` 512-byte sectors of a write reach the device; success is reported.
    TornWrite {
        /// Sectors stored.
        sectors: u64,
    },
    /// Writes go to an offset `shift` bytes away; bytes outside the device are lost.
    MisdirectedWrite {
        /// Distance in bytes; negative values move towards the start.
        shift: i64,
    },
    /// Sync and synchronous writes are acknowledged without making anything stable.
    LyingFlush,
    /// Sync fails with EIO and the unsynced writes are dropped, as a kernel may do.
    SyncError,
    /// Operations hang until `release`; `None` holds all kinds.
    Hang(
        /// Kind to hold, or all.
        Option<Op>,
    ),
    /// The device was removed: everything fails with EIO.
    Gone,
}

/// The name of a fault without its parameters, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the fault of the same name")]
pub enum FaultKind {
    Stall,
    ReadError,
    WriteError,
    ShortRead,
    BitFlip,
    LostWrite,
    TornWrite,
    MisdirectedWrite,
    LyingFlush,
    SyncError,
    Hang,
    Gone,
    Shrink,
}

impl FaultKind {
    /// The name in commands, the status text and the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Stall => "stall",
            FaultKind::ReadError => "eio-read",
            FaultKind::WriteError => "eio-write",
            FaultKind::ShortRead => "short-read",
            FaultKind::BitFlip => "flip",
            FaultKind::LostWrite => "lose-writes",
            FaultKind::TornWrite => "torn-write",
            FaultKind::MisdirectedWrite => "misdirect",
            FaultKind::LyingFlush => "lying-flush",
            FaultKind::SyncError => "sync-eio",
            FaultKind::Hang => "hang",
            FaultKind::Gone => "gone",
            FaultKind::Shrink => "shrink",
        }
    }
}

impl Fault {
    /// The name of this fault.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            Fault::Stall { .. } => FaultKind::Stall,
            Fault::ReadError { .. } => FaultKind::ReadError,
            Fault::WriteError { .. } => FaultKind::WriteError,
            Fault::ShortRead { .. } => FaultKind::ShortRead,
            Fault::BitFlip { .. } => FaultKind::BitFlip,
            Fault::LostWrite { .. } => FaultKind::LostWrite,
            Fault::TornWrite { .. } => FaultKind::TornWrite,
            Fault::MisdirectedWrite { .. } => FaultKind::MisdirectedWrite,
            Fault::LyingFlush => FaultKind::LyingFlush,
            Fault::SyncError => FaultKind::SyncError,
            Fault::Hang(_) => FaultKind::Hang,
            Fault::Gone => FaultKind::Gone,
        }
    }

    /// Operations between two triggers; 1 for faults without a period.
    fn every(&self) -> u64 {
        match self {
            Fault::Stall { every, .. } | Fault::LostWrite { every } => (*every).max(1),
            _ => 1,
        }
    }
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    left: Option<u64>,
    seen: u64,
}

impl Armed {
    /// Counts one matching operation and returns whether the fault is triggered.
    fn triggers(&mut self) -> bool {
        self.seen += 1;
        if self.left == Some(0) || !self.seen.is_multiple_of(self.fault.every()) {
            return false;
        }
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        true
    }
}

/// The armed faults, and how often each kind was triggered.
#[derive(Debug, Default)]
pub(crate) struct ArmedFaults {
    armed: Vec<Armed>,
    triggered: BTreeMap<FaultKind, u64>,
}

impl ArmedFaults {
    pub(crate) fn arm(&mut self, fault: Fault, times: Option<u64>) {
        self.armed.push(Armed {
            fault,
            left: times,
            seen: 0,
        });
    }

    pub(crate) fn disarm(&mut self) {
        self.armed.clear();
    }

    pub(crate) fn disarm_kind(&mut self, kind: FaultKind) {
        self.armed.retain(|a| a.fault.kind() != kind);
    }

    pub(crate) fn armed(&self) -> impl Iterator<Item = Fault> + '_ {
        self.armed
            .iter()
            .filter(|a| a.left != Some(0))
            .map(|a| a.fault)
    }

    /// Triggers the first armed fault that `pick` accepts; its kind is appended to `marks`.
    pub(crate) fn fire<T>(
        &mut self,
        marks: &mut Vec<FaultKind>,
        pick: impl Fn(&Fault) -> Option<T>,
    ) -> Option<T> {
        for armed in &mut self.armed {
            let Some(value) = pick(&armed.fault) else {
                continue;
            };
            if armed.triggers() {
                let kind = armed.fault.kind();
                self.count(kind, marks);
                return Some(value);
            }
        }
        None
    }

    /// Triggers every armed fault that `pick` accepts.
    pub(crate) fn fire_all<T>(
        &mut self,
        marks: &mut Vec<FaultKind>,
        pick: impl Fn(&Fault) -> Option<T>,
    ) -> Vec<T> {
        let mut values = Vec::new();
        for armed in &mut self.armed {
            let Some(value) = pick(&armed.fault) else {
                continue;
            };
            if armed.triggers() {
                *self.triggered.entry(armed.fault.kind()).or_default() += 1;
                marks.push(armed.fault.kind());
                values.push(value);
            }
        }
        values
    }

    pub(crate) fn count(&mut self, kind: FaultKind, marks: &mut Vec<FaultKind>) {
        *self.triggered.entry(kind).or_default() += 1;
        marks.push(kind);
    }

    pub(crate) fn triggered(&self) -> &BTreeMap<FaultKind, u64> {
        &self.triggered
    }
}
