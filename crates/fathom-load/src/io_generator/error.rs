//! Why no I/O can be generated.

/// Why the I/O of a job cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GeneratorError {
    /// A region is smaller than the smallest block.
    #[error(
        "the region of {bytes} bytes at {start} holds no block of {block} bytes; make size= larger or bs= smaller"
    )]
    RegionTooSmall {
        /// Bytes of the region.
        bytes: u64,
        /// Its first byte.
        start: u64,
        /// Bytes of the smallest block.
        block: u32,
    },
    /// No aligned block is within a region.
    #[error("a region of {bytes} bytes holds no block aligned to {align}")]
    NoAlignedBlock {
        /// Bytes of the region.
        bytes: u64,
        /// The alignment.
        align: u64,
    },
    /// A distribution is not possible over so many blocks.
    #[error("random_distribution={name} is not possible over {blocks} blocks")]
    Distribution {
        /// Its name in job files.
        name: &'static str,
        /// Blocks of the region.
        blocks: u64,
    },
    /// `sprandom` with several files or with syncs.
    #[error("sprandom writes one file or device, without fsync= and fdatasync=")]
    SprandomTargets,
    /// `sprandom` with more regions than the target can be divided into.
    #[error(
        "{blocks} blocks are too few for {regions} regions of sprandom; lower spr_num_regions or spr_cs, or make size= larger"
    )]
    SprandomRegions {
        /// Blocks of the region.
        blocks: u64,
        /// Requested regions of the flash.
        regions: u32,
    },
}
