//! Which I/O is done: directions, addresses, sizes.

use crate::{Bytes, Direction, PerDirection};

/// Which directions a job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Only reads.
    Read,
    /// Only writes.
    Write,
    /// Only trims.
    Trim,
    /// Reads and writes, this percentage of the I/Os being reads.
    ReadWrite {
        /// Percentage of reads, 0 to 100.
        read_percent: u8,
    },
    /// Each block is trimmed, then written.
    TrimWrite,
    /// A replayed log with more than one direction.
    Logged {
        /// It reads.
        reads: bool,
        /// It writes.
        writes: bool,
        /// It trims.
        trims: bool,
    },
}

impl Traffic {
    /// Whether a job with this traffic does I/O in `direction`.
    #[must_use]
    pub fn uses(self, direction: Direction) -> bool {
        matches!(
            (self, direction),
            (
                Traffic::Read | Traffic::Logged { reads: true, .. },
                Direction::Read
            ) | (
                Traffic::Write | Traffic::Logged { writes: true, .. },
                Direction::Write
            ) | (
                Traffic::Trim | Traffic::Logged { trims: true, .. },
                Direction::Trim
            ) | (Traffic::TrimWrite, Direction::Write | Direction::Trim)
                | (
                    Traffic::ReadWrite { .. },
                    Direction::Read | Direction::Write
                )
        )
    }
}

/// The order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Each I/O starts where the last one of its direction ended, plus `skip` bytes (negative: backwards).
    Sequential {
        /// `rw=read:N`: bytes added after each I/O.
        skip: i64,
    },
    /// Addresses are drawn.
    Random {
        /// `rw=randread:N`: a new address is drawn every N I/Os; in between it is sequential (or identical).
        every: u32,
        /// `rw_sequencer=identical`: in between, the same address again.
        identical: bool,
    },
}

/// Which I/O a job does.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Directions and their mix.
    pub traffic: Traffic,
    /// Order of addresses.
    pub access: Access,
    /// Block sizes.
    pub block_size: PerDirection<BlockSizes>,
    /// `blockalign` of random addresses; 0 is the smallest block size of the direction.
    pub block_align: PerDirection<Bytes>,
    /// `bs_unaligned`: sizes need not be multiples of the smallest.
    pub unaligned: bool,
    /// `bs_is_seq_rand`: the read block size is that of sequential I/O, the write one that of random.
    pub sizes_by_access: bool,
    /// How random addresses are drawn.
    pub distribution: PerDirection<Distribution>,
    /// `percentage_random`, 0 to 100.
    pub random_percent: PerDirection<u8>,
    /// Every block once before any twice (fio's random map); false is `norandommap`.
    pub without_replacement: bool,
    /// Seed of every draw of this job; the same seed gives the same I/O.
    pub seed: u64,
    /// `zonemode=strided`: I/O stays in zones.
    pub zones: Option<Strided>,
}

impl Pattern {
    /// fio's `rw=` value of the pattern: `randread`, `rw`, `trimwrite`.
    #[must_use]
    pub const fn rw(&self) -> &'static str {
        let random = matches!(self.access, Access::Random { .. });
        match (self.traffic, random) {
            (Traffic::Read, false) => "read",
            (Traffic::Read, true) => "randread",
            (Traffic::Write, false) => "write",
            (Traffic::Write, true) => "randwrite",
            (Traffic::Trim, false) => "trim",
            (Traffic::Trim, true) => "randtrim",
            (Traffic::ReadWrite { .. } | Traffic::Logged { .. }, false) => "rw",
            (Traffic::ReadWrite { .. } | Traffic::Logged { .. }, true) => "randrw",
            (Traffic::TrimWrite, false) => "trimwrite",
            (Traffic::TrimWrite, true) => "randtrimwrite",
        }
    }
}

/// `zonemode=strided`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Bytes of I/O done in a zone before the next.
    pub size: Bytes,
    /// Bytes a zone spans.
    pub range: Bytes,
    /// Bytes skipped after a zone.
    pub skip: Bytes,
}

/// Block sizes of one direction.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockSizes {
    /// Always this.
    Fixed(u32),
    /// Uniform over the multiples of `min` up to `max` (`bsrange`); any byte count with [`Pattern::unaligned`].
    Range {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// Sizes with their shares (`bssplit`); the shares add up to 100.
    Split(Vec<(u32, f64)>),
}

impl BlockSizes {
    /// Smallest size.
    #[must_use]
    pub fn min(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(parts) => parts.iter().map(|part| part.0).min().unwrap_or(0),
        }
    }
    /// Largest size.
    #[must_use]
    pub fn max(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(parts) => parts.iter().map(|part| part.0).max().unwrap_or(0),
        }
    }
}

/// How random addresses are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// All blocks with the same probability.
    #[default]
    Uniform,
    /// Zipf's law with this theta; hot blocks are scattered, or clustered around `center` (0 to 1).
    Zipf {
        /// Exponent; 1.0 excluded.
        theta: f64,
        /// Place of the hottest block as a share of the region; `None` scatters.
        center: Option<f64>,
    },
    /// Self-similar with this power (80/20 is about 0.2).
    Pareto {
        /// Power, in (0, 1).
        power: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// Gaussian.
    Normal {
        /// Standard deviation in percent of the region.
        deviation: f64,
        /// Middle as a share of the region; `None` is 0.5.
        center: Option<f64>,
    },
    /// Shares of the accesses go to shares of the region, in order: (access percent, size percent).
    Zoned(Vec<(u8, u8)>),
    /// Shares of the accesses go to spans of bytes: (access percent, bytes).
    ZonedAbs(Vec<(u8, Bytes)>),
    /// These blocks, in this order, over and over.
    Sequence {
        /// Numbers of blocks, from the start of the region; never empty.
        blocks: Vec<u64>,
        /// `random_sequence_stride`: each repetition starts as many blocks later as the sequence is long.
        advances: bool,
    },
    /// `sprandom`: each block once, and in each region as many blocks again as are stale in flash after long
    /// random writing.
    Aged {
        /// Spare capacity of the flash as a share of the region, in (0, 1).
        spare: f64,
        /// Number of regions of the flash model.
        regions: u32,
        /// Bytes of a write cache that must be full before a block is written again.
        cache: Bytes,
    },
}
