//! Checks one block that was read, in the worker's thread or in another one.

use std::sync::Arc;

use super::dump::Dump;
use crate::recorder::InFlight;
use crate::verify::{BlockMismatch, Expected, ExpectedStamps, Sectors, Stamper};

/// The format of stamps. Shared with the threads of `verify_async`.
#[derive(Clone)]
pub(super) enum Method {
    /// fio's headers.
    Fio(Arc<Stamper>),
    /// fathom's stamps, one in every sector.
    Sectors(Arc<Sectors>),
}

/// The expectations for a block.
#[derive(Clone, Copy)]
pub(super) struct CheckContext {
    pub expected: Expected,
    pub wanted: ExpectedStamps,
    pub dump: bool,
}

/// Why a block is wrong, and its files of `verify_dump`.
pub(super) struct BadBlock {
    pub reason: Reason,
    pub dump: Option<Box<Dump>>,
}

/// Why a block is wrong, by the format of its stamps.
pub(super) enum Reason {
    Fio(String),
    /// With the digest of the block.
    Sectors(Box<BlockMismatch>, u64),
}

/// Checks a block that was read.
///
/// # Errors
/// When the block is wrong.
pub(super) fn check_block(
    method: &Method,
    context: &CheckContext,
    block: &[u8],
    io: &InFlight,
) -> Result<(), BadBlock> {
    let dump = |dump: &dyn Fn() -> Dump| context.dump.then(|| Box::new(dump()));
    match method {
        Method::Fio(stamper) => {
            stamper
                .check(block, io.offset, context.expected)
                .map_err(|mismatch| {
                    let dump = dump(&|| Dump::of_piece(stamper, block, io.offset, &mismatch));
                    BadBlock {
                        reason: Reason::Fio(mismatch.to_string()),
                        dump,
                    }
                })
        }
        Method::Sectors(sectors) => sectors
            .check(block, io.file, io.offset, &context.wanted)
            .map_err(|mismatch| {
                let dump = dump(&|| Dump::of_block(sectors, block, io.offset, &mismatch));
                BadBlock {
                    reason: Reason::Sectors(mismatch, digest(block)),
                    dump,
                }
            }),
    }
}

/// A digest by which two reads of a block are compared.
pub(super) fn digest(block: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(block)
}
