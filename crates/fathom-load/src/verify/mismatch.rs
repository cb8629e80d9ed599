//! Faults of a piece that was read back, and their messages.

use std::fmt;
use std::time::Duration;

use super::header::method_name;

/// A piece that differs from what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset of the piece in its file or device, bytes.
    pub offset: u64,
    /// Bytes of the piece.
    pub len: u32,
    /// Index of the piece in the block, from 0.
    pub interval: usize,
    /// The fault.
    pub fault: Fault,
}

/// The classes of wrong data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No header: never written, a lost write, or overwritten by something else.
    NoHeader {
        /// The first two bytes, in place of the magic number.
        found: u16,
        /// The whole piece is zeros.
        zeroed: bool,
    },
    /// There is a header, but it does not match its own checksum.
    AlteredHeader,
    /// A valid header in fio's other format.
    OtherFormat,
    /// A header of another method.
    WrongMethod {
        /// Number of the method found.
        found: u8,
        /// Number of the method expected.
        expected: u8,
    },
    /// The header has another piece length.
    WrongLength {
        /// Length in the header, bytes.
        found: u32,
    },
    /// A complete piece of another offset: a misdirected write or read.
    Misdirected {
        /// The offset in the header, bytes.
        belongs: u64,
    },
    /// The data of another write to the same offset: usually an older one, so that the newer one
    /// was lost.
    Stale {
        /// Number of the write found.
        found: u64,
        /// Number of the write expected.
        expected: u64,
        /// Time stamp of the write found.
        when: Duration,
    },
    /// The data of another run or job: its seed differs.
    OtherRun {
        /// Seed in the header.
        found: u64,
        /// Seed expected.
        expected: u64,
        /// Time stamp of the write found.
        when: Duration,
    },
    /// The header is valid, but the data does not match its checksum.
    Altered {
        /// fio's name of the method.
        method: &'static str,
        /// How it differs from what was written; `None` if the content cannot be recreated.
        difference: Option<Difference>,
    },
    /// A header of an old fio whose `sha512` stored a piece of the data instead of a checksum (fio
    /// 3.33).
    NoChecksum,
    /// A byte that differs from the pattern.
    Pattern {
        /// Its position in the file or device, bytes.
        at: u64,
        /// The byte found.
        found: u8,
        /// The byte of the pattern.
        expected: u8,
    },
    /// The block is too small for a header and at least one byte after it.
    TooSmall {
        /// Bytes needed.
        needed: usize,
    },
}

/// Where a piece differs from what was written; offsets are in the file or device, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// First differing byte.
    pub first: u64,
    /// Last differing byte.
    pub last: u64,
    /// Differing bytes.
    pub bytes: u64,
    /// Differing bits.
    pub bits: u64,
}

impl Mismatch {
    /// Whether the header was valid, and what follows it was not.
    #[must_use]
    pub fn is_about_data(&self) -> bool {
        matches!(
            self.fault,
            Fault::Altered { .. } | Fault::NoChecksum | Fault::Pattern { .. }
        )
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "offset {}, length {}, interval {}: ",
            self.offset, self.len, self.interval
        )?;
        self.fault.fmt(f)
    }
}

impl std::error::Error for Mismatch {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoHeader { zeroed: true, .. } => {
                f.write_str("all zeros instead of a header (never written, trimmed, or the write was lost)")
            }
            Fault::NoHeader { found, .. } => write!(
                f,
                "no header: magic {found:#06x}, expected 0xacca (never written, the write was lost, or overwritten)"
            ),
            Fault::AlteredHeader => f.write_str("the header does not match its own checksum (altered or torn)"),
            Fault::OtherFormat => f.write_str("a header in fio's other format (written by another tool)"),
            Fault::WrongMethod { found, expected } => {
                write!(f, "written with verify={}, read with verify={}", method_name(*found), method_name(*expected))
            }
            Fault::WrongLength { found } => {
                write!(f, "the header has a length of {found} bytes (written with another bs or verify_interval)")
            }
            Fault::Misdirected { belongs } => {
                write!(f, "misdirected: according to its header this data belongs at offset {belongs}")
            }
            Fault::Stale { found, expected, when } => {
                let age = if found < expected { "stale: an older" } else { "a later" };
                write!(f, "{age} write, number {found} at {} s, where number {expected} was expected", seconds(*when))
            }
            Fault::OtherRun { found, expected, when } => write!(
                f,
                "stale or foreign: seed {found:#018x} at {} s, expected {expected:#018x} (written by another run or job)",
                seconds(*when)
            ),
            Fault::Altered { method, difference: None } => {
                write!(f, "wrong {method}: the data was altered after it was stamped, or torn")
            }
            Fault::Altered { method, difference: Some(place) } => write!(f, "wrong {method}: {place}"),
            Fault::NoChecksum => f.write_str(
                "written by an old fio whose sha512 stores no checksum: cannot be verified; write it with another method",
            ),
            Fault::Pattern { at, found, expected } => {
                write!(f, "byte {at} is {found:#04x}, the pattern has {expected:#04x}")
            }
            Fault::TooSmall { needed } => write!(f, "too small to be verified, at least {needed} bytes are needed"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bits == 1 {
            return write!(f, "one bit differs, in byte {}", self.first);
        }
        write!(
            f,
            "{} bytes ({} bits) differ, from byte {} to {}",
            self.bytes, self.bits, self.first, self.last
        )
    }
}

fn seconds(when: Duration) -> String {
    format!("{:.3}", when.as_secs_f64())
}
