//! Stamps that let written data be recognised when it is read back, in the format of fio's `verify=`.
//!
//! Each piece of a write (`verify_interval` bytes, or the whole block) carries a header with its place, its number in
//! the order of writes and a checksum of the rest. Reading back tells apart: data that was never written, data that
//! belongs elsewhere, data that is older than it should be, and data that was altered.

mod canary;
mod check;
mod checksum;
mod header;
mod mismatch;
mod sector;
mod sha256;
mod stamper;
mod state;

#[cfg(test)]
mod corruption_tests;
#[cfg(test)]
mod interop_tests;

pub(crate) use self::sector::{BlockMismatch, SECTOR, SectorStamp, Sectors, Wanted, Write};
/// A number for the name of a target.
pub fn name_hash(path: &std::path::Path) -> u32 {
    twox_hash::XxHash3_64::oneshot(path.as_os_str().as_encoded_bytes()) as u32
}

pub use self::canary::Canary;
pub use self::check::Expected;
pub use self::header::HeaderFormat;
pub use self::mismatch::{Difference, Fault, Mismatch};
pub use self::stamper::{Stamp, Stamper, VerifyError};
pub use self::state::{StateError, Told, VerifyState};
