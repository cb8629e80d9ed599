//! The header in front of each verified piece, in fio's two formats, little-endian.
//!
//! | field | fio 3.33 | fio 3.42 |
//! |---|---|---|
//! | magic 0xacca | 0..2 | 0..2 |
//! | format version 0x81 | - | 2 |
//! | method | 2..4 | 3 |
//! | length of the piece | 4..8 | 4..8 |
//! | seed of the content | 8..16 | 8..16 |
//! | byte offset of the piece | 16..24 | 16..24 |
//! | seconds, nanoseconds | 24..32 | 24..32 |
//! | number of the write | 34..36 | 32..40 |
//! | number of the worker | 32..34 | 40..42 |
//! | CRC-32C of the preceding bytes | 36..40 | 44..48 |

use std::time::Duration;

use fathom_model::VerifyKind;

use super::checksum::crc32c;

/// First two bytes of a header, as a little-endian number.
pub(crate) const MAGIC: u16 = 0xacca;
const VERSION: u8 = 0x81;
/// The larger of the two formats, bytes.
pub(crate) const LARGEST: usize = 48;

/// fio's two header formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeaderFormat {
    /// 40 bytes, as in fio 3.33; the number of a write is stored modulo 65536.
    Short,
    /// 48 bytes with a version byte, as in fio 3.42; the number has 64 bits.
    #[default]
    Long,
}

impl HeaderFormat {
    /// Length of the header itself, without the checksum after it.
    #[must_use]
    pub const fn len(self) -> usize {
        match self {
            HeaderFormat::Short => 40,
            HeaderFormat::Long => LARGEST,
        }
    }

    /// Always false.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        false
    }

    /// The number of a write as this format stores it.
    pub(crate) const fn stored_number(self, number: u64) -> u64 {
        match self {
            HeaderFormat::Short => number & 0xffff,
            HeaderFormat::Long => number,
        }
    }

    /// The format that these bytes claim to have.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if bytes.get(2) == Some(&VERSION) {
            HeaderFormat::Long
        } else {
            HeaderFormat::Short
        }
    }
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Number of the method ([`method_number`]).
    pub method: u8,
    /// Bytes of the piece, header included.
    pub len: u32,
    /// Seed of the content.
    pub seed: u64,
    /// Intended offset of the piece, bytes.
    pub offset: u64,
    /// Time of the write.
    pub when: Duration,
    /// Number of the write in its job.
    pub number: u64,
    /// The worker that wrote it.
    pub thread: u16,
}

/// Why bytes are not a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// No magic number.
    Missing,
    /// A header, but altered.
    Altered,
}

impl Header {
    /// Writes the header to the start of `out`, which is large enough.
    pub(crate) fn encode(&self, format: HeaderFormat, out: &mut [u8]) {
        put(out, 0, &MAGIC.to_le_bytes());
        put(out, 4, &self.len.to_le_bytes());
        put(out, 8, &self.seed.to_le_bytes());
        put(out, 16, &self.offset.to_le_bytes());
        put(out, 24, &(self.when.as_secs() as u32).to_le_bytes());
        put(out, 28, &self.when.subsec_nanos().to_le_bytes());
        match format {
            HeaderFormat::Short => {
                put(out, 2, &u16::from(self.method).to_le_bytes());
                put(out, 32, &self.thread.to_le_bytes());
                put(out, 34, &(self.number as u16).to_le_bytes());
            }
            HeaderFormat::Long => {
                put(out, 2, &[VERSION, self.method]);
                put(out, 32, &self.number.to_le_bytes());
                put(out, 40, &self.thread.to_le_bytes());
                put(out, 42, &[0, 0]);
            }
        }
        let covered = format.len() - 4;
        let crc = crc32c(&[&out[..covered]]);
        put(out, covered, &crc.to_le_bytes());
    }

    /// Reads a header; `bytes` is at least as long as the format.
    pub(crate) fn decode(format: HeaderFormat, bytes: &[u8]) -> Result<Self, HeaderError> {
        if number(bytes, 0..2) as u16 != MAGIC {
            return Err(if is_header_except_magic(format, bytes) {
                HeaderError::Altered
            } else {
                HeaderError::Missing
            });
        }
        if !crc_matches(format, &bytes[0..2], bytes) {
            return Err(HeaderError::Altered);
        }
        let (method, write, thread) = match format {
            HeaderFormat::Short => (
                number(bytes, 2..4),
                number(bytes, 34..36),
                number(bytes, 32..34),
            ),
            HeaderFormat::Long => (
                number(bytes, 3..4),
                number(bytes, 32..40),
                number(bytes, 40..42),
            ),
        };
        Ok(Header {
            method: method as u8,
            len: number(bytes, 4..8) as u32,
            seed: number(bytes, 8..16),
            offset: number(bytes, 16..24),
            when: Duration::new(number(bytes, 24..28), 0)
                + Duration::from_nanos(number(bytes, 28..32)),
            number: write,
            thread: thread as u16,
        })
    }
}

fn is_header_except_magic(format: HeaderFormat, bytes: &[u8]) -> bool {
    crc_matches(format, &MAGIC.to_le_bytes(), bytes)
}

fn crc_matches(format: HeaderFormat, magic: &[u8], bytes: &[u8]) -> bool {
    let covered = format.len() - 4;
    u64::from(crc32c(&[magic, &bytes[2..covered]])) == number(bytes, covered..covered + 4)
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    out[at..at + bytes.len()].copy_from_slice(bytes);
}

fn number(bytes: &[u8], range: std::ops::Range<usize>) -> u64 {
    let mut wide = [0; 8];
    wide[..range.len()].copy_from_slice(&bytes[range]);
    u64::from_le_bytes(wide)
}

/// The number of a method in a header. `crc32c-intel` is the same method as `crc32c`.
pub(crate) const fn method_number(kind: VerifyKind) -> u8 {
    match kind {
        VerifyKind::Meta => 1,
        VerifyKind::Md5 => 2,
        VerifyKind::Crc64 => 3,
        VerifyKind::Crc32 => 4,
        VerifyKind::Crc32c | VerifyKind::Crc32cIntel => 5,
        VerifyKind::Crc16 => 7,
        VerifyKind::Crc7 => 8,
        VerifyKind::Sha256 => 9,
        VerifyKind::Sha512 => 10,
        VerifyKind::Sha3_224 => 11,
        VerifyKind::Sha3_256 => 12,
        VerifyKind::Sha3_384 => 13,
        VerifyKind::Sha3_512 => 14,
        VerifyKind::Xxhash => 15,
        VerifyKind::Sha1 => 16,
        VerifyKind::PatternHeader => 17,
        VerifyKind::Pattern => 18,
        VerifyKind::Null => 19,
        // Its sectors have no fio header.
        VerifyKind::Fathom => 0,
    }
}

/// fio's name of a method number, for messages.
pub(crate) const fn method_name(number: u8) -> &'static str {
    match number {
        1 => "meta",
        2 => "md5",
        3 => "crc64",
        4 => "crc32",
        5 | 6 => "crc32c",
        7 => "crc16",
        8 => "crc7",
        9 => "sha256",
        10 => "sha512",
        11 => "sha3-224",
        12 => "sha3-256",
        13 => "sha3-384",
        14 => "sha3-512",
        15 => "xxhash",
        16 => "sha1",
        17 => "pattern_hdr",
        18 => "pattern",
        19 => "null",
        _ => "an unknown method",
    }
}
