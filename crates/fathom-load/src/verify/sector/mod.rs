//! fathom's own stamps: one in every sector of 512 bytes, so that each sector identifies its write.
//!
//! | bytes | field (little-endian) |
//! |---|---|
//! | 0..8 | XXH3-64 of bytes 8..64, 504..512 and the digest of the content |
//! | 8..12 | `FTHM` |
//! | 12..14, 14..16 | index of the sector in its write, sectors of the write |
//! | 16..24 | id of the run |
//! | 24..32 | byte offset of the sector in its file or device |
//! | 32..40 | number of the write in its job, from 1 |
//! | 40..48 | time of the write, nanoseconds since 1970 |
//! | 48..52 | generation: pass of the job, from 1 |
//! | 52..54, 54..56 | job, file of the job |
//! | 56..60 | target: hash of the path |
//! | 60..64 | version of this format, 2 |
//! | 64..504 | content, different for each write and offset |
//! | 504..512 | number of the write again, combined with the run's id: a torn sector has two |
//!
//! Every word of the content is combined (exclusive or) with a key that is derived from run, number
//! and offset. The digest of the content is the XXH3-64 of its bytes without that key. Content that
//! comes from a pool then has one of as many digests as the pool has parts, and these are computed
//! once. A stamp costs a copy and a short hash, and no pass over what was just written.
//!
//! Two nested checksums of 64 bits miss one alteration in 2^63. XXH3 (Y. Collet, xxHash 0.8) is
//! four times as fast here as CRC-32C with its instruction, which has to wait for its own result
//! within one short sector.

mod compare;
mod diagnose;
mod sectors;
mod stamp;
#[cfg(test)]
mod tests;

pub(crate) use self::diagnose::{BlockMismatch, ExpectedStamps};
pub(crate) use self::sectors::{Sectors, Write};
pub(crate) use self::stamp::{SECTOR, SectorStamp};
