//! fathom's own format of traces: compact, and readable up to the last complete chunk wherever it ends.
//!
//! A file begins with [`MAGIC`] and continues with chunks: the marker `FCHK`, a byte for the kind, three zero bytes, the length of
//! the content, the CRC-32 (that of gzip) of kind and content, both 32 bits little-endian, and the content.
//!
//! | kind | content |
//! | --- | --- |
//! | `h` | JSON: where and how the trace was taken |
//! | `n` | JSON: names of devices and processes that follow |
//! | `i` | I/Os in columns |
//! | `l` | varints: events were lost before this time, how many |
//! | `e` | JSON: counts of the whole trace; missing if the program was killed |
//!
//! The I/Os of a chunk are in the order of their issue. Later chunks can contain earlier I/Os, because an I/O is written
//! when it is complete: each chunk says up to which time all are written.

mod columns;
mod reader;
mod writer;

pub(crate) use self::reader::CaptureReader;
pub use self::writer::{CaptureCounts, CaptureHeader, CaptureWriter, CapturedIo, EncodedChunk};

/// The first bytes of a file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89fathom\n";
const MARKER: [u8; 4] = *b"FCHK";
/// Bytes before the content of a chunk.
const HEAD: usize = 16;
/// Longest content of a chunk.
const LONGEST: usize = 16 << 20;
/// I/Os of a chunk at most.
const IOS: usize = 1 << 16;

fn checksum(kind: u8, content: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(&[kind]);
    crc.update(content);
    crc.sum()
}
