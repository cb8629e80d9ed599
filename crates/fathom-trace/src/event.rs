//! What one event of a block tracepoint says, in units that do not depend on the kernel.

use std::fmt;

/// Bytes of a sector in the kernel's block layer, whatever the device's own block size is.
pub const SECTOR: u64 = 512;

/// The number of a block device: 12 bits of major and 20 bits of minor number, as in the kernel's `dev_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// The device with this major and minor number.
    #[must_use]
    pub fn new(major: u32, minor: u32) -> Self {
        Self(major << 20 | (minor & 0xf_ffff))
    }

    /// Its major number: the driver.
    #[must_use]
    pub fn major(self) -> u32 {
        self.0 >> 20
    }

    /// Its minor number.
    #[must_use]
    pub fn minor(self) -> u32 {
        self.0 & 0xf_ffff
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

/// One event of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// Nanoseconds of `CLOCK_MONOTONIC` (the trace clock `mono`).
    pub time_ns: u64,
    /// The CPU in whose ring buffer the event was.
    pub cpu: u16,
    /// The thread that ran on that CPU. Only in [`BlockEventKind::BioQueue`] and [`BlockEventKind::Split`] is
    /// it always the thread that issues the I/O; a completion runs in an interrupt of whichever thread it meets.
    pub thread: u32,
    /// The device; for partitions the kernel reports first the partition, and after
    /// [`BlockEventKind::Remap`] the whole device. 0:0 where an event has no device.
    pub device: DeviceNumber,
    /// First sector (of 512 bytes) on that device.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// Direction and properties.
    pub flags: IoFlags,
    /// What happened.
    pub kind: BlockEventKind,
}

impl BlockEvent {
    /// Bytes of the I/O.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR
    }

    /// The sector after the last one.
    #[must_use]
    pub fn end_sector(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }
}

/// What happened to a bio or to a request. A bio is what a file system or a direct I/O submits; the block layer
/// makes requests of bios (splitting and merging them) and issues requests to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEventKind {
    /// `block_bio_queue`: a bio enters the block layer.
    BioQueue,
    /// `block_bio_remap`: a bio of a partition or of a stacked device goes to the device below.
    Remap {
        /// The device above.
        from_device: DeviceNumber,
        /// The first sector on the device above.
        from_sector: u64,
    },
    /// `block_split`: a bio is divided; the second part starts at this sector.
    Split {
        /// First sector of the second part.
        new_sector: u64,
    },
    /// `block_bio_backmerge`: a bio is added at the end of a request.
    BackMerge,
    /// `block_bio_frontmerge`: a bio is added at the start of a request.
    FrontMerge,
    /// `block_rq_merge`: a request was merged with another one.
    RequestMerge,
    /// `block_getrq`: a request was allocated for a bio.
    GetRequest,
    /// `block_rq_insert`: a request enters the scheduler's queue.
    Insert,
    /// `block_rq_issue`: a request goes to the driver.
    Issue,
    /// `block_rq_complete`: the driver has completed a request, or a part of it.
    Complete {
        /// 0, or a negative `errno`.
        error: i32,
    },
    /// `block_rq_requeue`: the driver gave a request back.
    Requeue,
    /// `block_bio_complete`: a bio is complete.
    BioComplete {
        /// 0, or a negative `errno`.
        error: i32,
    },
    /// `block_plug`: the thread starts to collect requests.
    Plug,
    /// `block_unplug`: the thread releases the requests that it collected.
    Unplug {
        /// How many.
        requests: u32,
    },
    /// A file system looked up where a part of a file is: these sectors of this device, or of a partition. The sectors are
    /// blocks of the file system where `in_blocks` says so.
    FileMap {
        /// The file system, by its device.
        file_system: DeviceNumber,
        /// The file's number in it.
        inode: u64,
        /// `sector` and `sectors` are blocks of the file system.
        in_blocks: bool,
    },
}

/// The `rwbs` text of a tracepoint as bits: direction, and the properties that matter to a device
/// (`blk_fill_rwbs` in the kernel's `kernel/trace/blktrace.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IoFlags(u16);

impl IoFlags {
    const READ: u16 = 1;
    const WRITE: u16 = 1 << 1;
    const DISCARD: u16 = 1 << 2;
    const ERASE: u16 = 1 << 3;
    const FLUSH: u16 = 1 << 4;
    const PREFLUSH: u16 = 1 << 5;
    const FUA: u16 = 1 << 6;
    const READ_AHEAD: u16 = 1 << 7;
    const SYNC: u16 = 1 << 8;
    const METADATA: u16 = 1 << 9;
    const ATOMIC: u16 = 1 << 10;

    /// Reads an `rwbs` text. An `F` before the direction is a flush before the data (`PREFLUSH`), one after
    /// it is forced unit access; a flush without data is written `FF`, or `F` followed by `N` or other letters.
    #[must_use]
    pub fn parse(rwbs: &str) -> Self {
        Self::parse_bytes(rwbs.as_bytes())
    }

    /// The same for a text that ends at its first zero byte.
    #[must_use]
    pub fn parse_bytes(rwbs: &[u8]) -> Self {
        let mut bits = 0;
        let mut has_operation = false;
        for (index, letter) in rwbs.iter().copied().enumerate() {
            match letter {
                0 => break,
                b'F' if index == 0 => bits |= Self::PREFLUSH,
                b'F' if !has_operation => {
                    has_operation = true;
                    bits |= Self::FLUSH;
                }
                b'F' => bits |= Self::FUA,
                b'R' => (bits, has_operation) = (bits | Self::READ, true),
                b'W' => (bits, has_operation) = (bits | Self::WRITE, true),
                b'D' => (bits, has_operation) = (bits | Self::DISCARD, true),
                b'E' => bits |= Self::ERASE,
                b'N' => has_operation = true,
                b'A' => bits |= Self::READ_AHEAD,
                b'S' => bits |= Self::SYNC,
                b'M' => bits |= Self::METADATA,
                b'U' => bits |= Self::ATOMIC,
                _ => {}
            }
        }
        if bits & (Self::READ | Self::WRITE | Self::DISCARD) == 0 && bits & Self::PREFLUSH != 0 {
            bits |= Self::FLUSH;
        }
        Self(bits)
    }

    /// A read.
    #[must_use]
    pub fn is_read(self) -> bool {
        self.0 & Self::READ != 0
    }

    /// A write of data.
    #[must_use]
    pub fn is_write(self) -> bool {
        self.0 & Self::WRITE != 0
    }

    /// A discard (trim) or secure erase.
    #[must_use]
    pub fn is_discard(self) -> bool {
        self.0 & (Self::DISCARD | Self::ERASE) != 0
    }

    /// A flush without data.
    #[must_use]
    pub fn is_flush(self) -> bool {
        self.0 & Self::FLUSH != 0
    }

    /// The device's cache is flushed before the data.
    #[must_use]
    pub fn preflush(self) -> bool {
        self.0 & Self::PREFLUSH != 0
    }

    /// Forced unit access: complete when the data is on the medium.
    #[must_use]
    pub fn fua(self) -> bool {
        self.0 & Self::FUA != 0
    }

    /// Read ahead of what the program asked for.
    #[must_use]
    pub fn read_ahead(self) -> bool {
        self.0 & Self::READ_AHEAD != 0
    }

    /// Somebody waits for it.
    #[must_use]
    pub fn sync(self) -> bool {
        self.0 & Self::SYNC != 0
    }

    /// Metadata of a file system.
    #[must_use]
    pub fn metadata(self) -> bool {
        self.0 & Self::METADATA != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rwbs_of_the_kernel_is_read() {
        let read = IoFlags::parse("RA");
        assert!(read.is_read() && read.read_ahead() && !read.sync());
        let write = IoFlags::parse("FWFSM");
        assert!(write.is_write() && write.preflush() && write.fua() && write.sync());
        assert!(write.metadata() && !write.is_flush());
        for flush in ["FF", "FN", "F", "FFS"] {
            let flags = IoFlags::parse(flush);
            assert!(
                flags.is_flush() && !flags.is_write() && !flags.fua(),
                "{flush}"
            );
        }
        assert!(IoFlags::parse("D").is_discard());
        assert_eq!(IoFlags::parse("N"), IoFlags::default());
    }

    #[test]
    fn device_numbers_split_at_20_bits() {
        let device = DeviceNumber::new(254, 70_000);
        assert_eq!((device.major(), device.minor()), (254, 70_000));
    }
}
