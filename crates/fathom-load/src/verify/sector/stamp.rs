//! The fields of one sector.

use twox_hash::XxHash3_64;

use crate::payload::mix;

/// Bytes of a sector: the unit that devices guarantee to write atomically.
pub(crate) const SECTOR: usize = 512;
/// Position of the content.
pub(crate) const BODY: std::ops::Range<usize> = 64..504;
const TAIL: std::ops::Range<usize> = 504..512;
const MAGIC: &[u8; 4] = b"FTHM";
const VERSION: u32 = 2;
/// The bytes of a sector that enter its checksum directly.
const FIELDS: std::ops::Range<usize> = 8..64;

/// The stamp of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectorStamp {
    pub run: u64,
    /// Offset of the sector, bytes.
    pub offset: u64,
    pub number: u64,
    /// Nanoseconds since 1970.
    pub when: u64,
    pub generation: u32,
    pub job: u16,
    pub file: u16,
    pub target: u32,
    /// Index of the sector in its write.
    pub index: u16,
    /// Sectors of its write.
    pub of: u16,
}

impl SectorStamp {
    /// Writes all fields except the checksum.
    #[inline]
    pub fn encode(&self, sector: &mut [u8; SECTOR]) {
        let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
        put(8, MAGIC);
        put(12, &self.index.to_le_bytes());
        put(14, &self.of.to_le_bytes());
        put(16, &self.run.to_le_bytes());
        put(24, &self.offset.to_le_bytes());
        put(32, &self.number.to_le_bytes());
        put(40, &self.when.to_le_bytes());
        put(48, &self.generation.to_le_bytes());
        put(52, &self.job.to_le_bytes());
        put(54, &self.file.to_le_bytes());
        put(56, &self.target.to_le_bytes());
        put(60, &VERSION.to_le_bytes());
        put(504, &(self.number ^ mix(self.run)).to_le_bytes());
    }

    /// The key of every word of the content. It is derived from fields of the stamp, so that a
    /// reader can remove it.
    #[inline]
    pub fn key(&self) -> u64 {
        mix(mix(self.run ^ self.number) ^ self.offset)
    }

    /// Reads the fields without checking the checksum; `None` if there is no stamp.
    pub fn decode(sector: &[u8; SECTOR]) -> Option<Self> {
        (sector[8..12] == *MAGIC && word4(sector, 60) == VERSION)
            .then(|| SectorStamp::fields(sector))
    }

    /// Reads the fields, whatever the sector contains.
    pub fn fields(sector: &[u8; SECTOR]) -> Self {
        SectorStamp {
            run: word8(sector, 16),
            offset: word8(sector, 24),
            number: word8(sector, 32),
            when: word8(sector, 40),
            generation: word4(sector, 48),
            job: word2(sector, 52),
            file: word2(sector, 54),
            target: word4(sector, 56),
            index: word2(sector, 12),
            of: word2(sector, 14),
        }
    }
}

/// The digest of content without its key.
#[inline]
pub(crate) fn digest(content: &[u8]) -> u64 {
    XxHash3_64::oneshot(content)
}

/// The digest of the content of a sector, after removing `key`.
#[inline]
pub(crate) fn digest_under(key: u64, sector: &[u8; SECTOR]) -> u64 {
    let mut bare = [0; BODY.end - BODY.start];
    let words = sector[BODY].as_chunks::<8>().0;
    for (bare, word) in bare.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bare = (u64::from_le_bytes(*word) ^ key).to_le_bytes();
    }
    digest(&bare)
}

/// Writes the checksum for content with this digest.
#[inline]
pub(crate) fn write_checksum(sector: &mut [u8; SECTOR], content: u64) {
    let sum = sum(sector, content);
    sector[..8].copy_from_slice(&sum.to_le_bytes());
}

/// Whether the checksum is right.
#[inline]
pub(crate) fn is_valid(sector: &[u8; SECTOR]) -> bool {
    let key = SectorStamp::fields(sector).key();
    checksum_matches(sector, digest_under(key, sector))
}

/// Whether the checksum is right for content with this digest.
#[inline]
pub(crate) fn checksum_matches(sector: &[u8; SECTOR], content: u64) -> bool {
    sum(sector, content) == word8(sector, 0)
}

#[inline]
fn sum(sector: &[u8; SECTOR], content: u64) -> u64 {
    let mut all = [0; FIELDS.end - FIELDS.start + TAIL.end - TAIL.start + 8];
    let (fields, rest) = all.split_at_mut(FIELDS.end - FIELDS.start);
    fields.copy_from_slice(&sector[FIELDS]);
    rest[..8].copy_from_slice(&sector[TAIL]);
    rest[8..].copy_from_slice(&content.to_le_bytes());
    XxHash3_64::oneshot(&all)
}

/// The number of the write to which the end of a sector belongs, if it is a write of `run`.
pub(crate) fn tail_number(sector: &[u8; SECTOR], run: u64) -> u64 {
    word8(sector, TAIL.start) ^ mix(run)
}

fn word8(bytes: &[u8; SECTOR], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}

fn word4(bytes: &[u8; SECTOR], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}

fn word2(bytes: &[u8; SECTOR], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}
