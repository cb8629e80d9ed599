//! Joins each direct I/O of a load with what the block layer did for it.
//!
//! Events of the kernel and I/Os of the load arrive in any amount at a time: [`BlameJoin::event`] follows the bios of the
//! observed devices, [`BlameJoin::add_io`] takes the I/Os, [`BlameJoin::advance`] joins those whose events are complete, and
//! [`BlameJoin::finish`] makes the sheet. Memory is bounded, however long the load lasts.

mod bios;
mod join;
mod sheet;
#[cfg(test)]
mod tests;

pub use self::bios::{Submitter, TracedDevices};
pub use self::join::{BlameJoin, IoPlace, JoinedIo, LoadIo, Piece};
