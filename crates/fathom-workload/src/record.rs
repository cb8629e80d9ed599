//! One I/O of a trace.

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoKind {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Declares a range as unused (trim).
    Discard,
    /// Makes written data durable; it has no range.
    Flush,
}

impl IoKind {
    /// All kinds, in the order of their index.
    pub const ALL: [IoKind; 4] = [IoKind::Read, IoKind::Write, IoKind::Discard, IoKind::Flush];

    /// Its plural in texts.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            IoKind::Read => "reads",
            IoKind::Write => "writes",
            IoKind::Discard => "discards",
            IoKind::Flush => "flushes",
        }
    }
}

/// Properties of an I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoFlags(u8);

impl IoFlags {
    /// Somebody waits for it.
    pub const SYNC: IoFlags = IoFlags(1);
    /// Forced unit access: complete when the data is durable.
    pub const FUA: IoFlags = IoFlags(2);
    /// Metadata of a file system.
    pub const METADATA: IoFlags = IoFlags(4);
    /// Read ahead of what the program asked for.
    pub const READ_AHEAD: IoFlags = IoFlags(8);
    /// A flush of data without metadata: `fdatasync`.
    pub const DATA_ONLY: IoFlags = IoFlags(16);

    /// With these properties as well.
    #[must_use]
    pub const fn with(self, other: IoFlags) -> IoFlags {
        IoFlags(self.0 | other.0)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Bits that mean nothing are left out.
    pub(crate) const fn from_bits(bits: u8) -> IoFlags {
        IoFlags(bits & 31)
    }

    /// Whether it has all of these properties.
    #[must_use]
    pub const fn has(self, other: IoFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One I/O of a trace, whatever the format was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceIo {
    /// When it was issued, in nanoseconds since an origin of the trace.
    pub time_ns: u64,
    /// From issue to completion, in nanoseconds; `None` where the trace does not say.
    pub latency_ns: Option<u64>,
    /// First byte on the device; 0 for a flush.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub length: u32,
    /// Index of the device, volume or file in [`TraceFacts::devices`](crate::TraceFacts::devices).
    pub device: u32,
    /// Process or thread that issued it; 0 where the trace does not say.
    pub process: u32,
    /// What it does.
    pub kind: IoKind,
    /// Its properties.
    pub flags: IoFlags,
}

impl TraceIo {
    /// The byte after the last one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.length))
    }

    /// Whether it moves data: a read or a write.
    #[must_use]
    pub fn has_data(&self) -> bool {
        matches!(self.kind, IoKind::Read | IoKind::Write)
    }
}
