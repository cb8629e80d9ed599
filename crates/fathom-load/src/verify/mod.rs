//! Stamps that identify written data when it is read back, in the format of fio's `verify=`.
//!
//! Each piece of a write (`verify_interval` bytes, or the whole block) has a header with its
//! offset, its write number and a checksum of the rest. On reading back, this distinguishes data
//! that was never written, misdirected data, stale data, and altered data.

mod check;
mod checksum;
mod header;
mod mismatch;
mod sector;
mod self_test;
mod sha256;
mod stamper;
mod state;

#[cfg(test)]
mod corruption_tests;
#[cfg(test)]
mod interop_tests;

pub(crate) use self::sector::{BlockMismatch, ExpectedStamps, SECTOR, SectorStamp, Sectors, Write};
/// An identifier for the path of a target.
#[must_use]
pub fn name_hash(path: &std::path::Path) -> u32 {
    twox_hash::XxHash3_64::oneshot(path.as_os_str().as_encoded_bytes()) as u32
}

pub use self::check::Expected;
pub use self::header::HeaderFormat;
pub use self::mismatch::{Difference, Fault, Mismatch};
pub use self::self_test::SelfTest;
pub use self::stamper::{Stamp, Stamper, VerifyError};
pub use self::state::{ReplayVerdict, StateError, VerifyState};
