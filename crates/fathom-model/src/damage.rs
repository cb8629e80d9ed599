//! Corrupt blocks: the kind of corruption, and what is known about the write.

use std::path::PathBuf;

/// The ways in which a block can be corrupt. The first twelve are those of the field studies of silent corruption;
/// the others cover the remaining cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DamageClass {
    /// A few bits differ.
    BitFlip,
    /// All zeros where data was written.
    Zeroed,
    /// One sector holds the start of one write and the rest of another.
    TornSector,
    /// Whole sectors of two writes are side by side in one block.
    TornBlock,
    /// The first sectors of a write arrived, the others did not.
    ShornTail,
    /// A write reached another address than the one it was sent to.
    MisdirectedWrite,
    /// A read returned the data of another address; a second read was right.
    MisdirectedRead,
    /// The newest write never arrived: the one before it is still there.
    LostWrite,
    /// Data older than the last but one write: restored, or several consecutive writes were lost.
    Stale,
    /// Two blocks are swapped.
    Swapped,
    /// Data of another run of fathom.
    OtherRun,
    /// Data that was written to another file or device.
    OtherTarget,
    /// The data of another offset, where it is stored as well.
    Duplicated,
    /// Data of another job of this run.
    OtherJob,
    /// A write of this run that is newer than the one expected.
    Newer,
    /// Bytes that were never written here.
    Altered,
}

impl DamageClass {
    /// Every class.
    pub const ALL: [DamageClass; 16] = [
        DamageClass::BitFlip,
        DamageClass::Zeroed,
        DamageClass::TornSector,
        DamageClass::TornBlock,
        DamageClass::ShornTail,
        DamageClass::MisdirectedWrite,
        DamageClass::MisdirectedRead,
        DamageClass::LostWrite,
        DamageClass::Stale,
        DamageClass::Swapped,
        DamageClass::OtherRun,
        DamageClass::OtherTarget,
        DamageClass::Duplicated,
        DamageClass::OtherJob,
        DamageClass::Newer,
        DamageClass::Altered,
    ];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DamageClass::BitFlip => "bit flip",
            DamageClass::Zeroed => "zeroed",
            DamageClass::TornSector => "torn sector",
            DamageClass::TornBlock => "torn block",
            DamageClass::ShornTail => "shorn tail",
            DamageClass::MisdirectedWrite => "misdirected write",
            DamageClass::MisdirectedRead => "misdirected read",
            DamageClass::LostWrite => "lost write",
            DamageClass::Stale => "stale data",
            DamageClass::Swapped => "swapped blocks",
            DamageClass::OtherRun => "data of another run",
            DamageClass::OtherTarget => "data of another target",
            DamageClass::Duplicated => "duplicated block",
            DamageClass::OtherJob => "data of another job",
            DamageClass::Newer => "newer data",
            DamageClass::Altered => "altered",
        }
    }

    /// Its usual cause.
    #[must_use]
    pub const fn likely_cause(self) -> &'static str {
        match self {
            DamageClass::BitFlip => {
                "memory, a cable or a worn cell; look for corrected errors in the kernel log and SMART data"
            }
            DamageClass::Zeroed => {
                "the write was dropped, or the blocks were trimmed or zeroed afterwards"
            }
            DamageClass::TornSector => {
                "a sector was written in parts, although the device guarantees whole sectors"
            }
            DamageClass::TornBlock => "a write was split and only some parts arrived, in no order",
            DamageClass::ShornTail => {
                "a write was cut off in the middle: power, a reset, or firmware"
            }
            DamageClass::MisdirectedWrite => {
                "firmware, a RAID layer or a cache map sent the write to a wrong address"
            }
            DamageClass::MisdirectedRead => {
                "a wrong address on the way back: controller, cache or driver; the stored data is right"
            }
            DamageClass::LostWrite => {
                "a write was acknowledged and never stored: a volatile cache, an ignored flush, or firmware"
            }
            DamageClass::Stale => {
                "old data came back: a snapshot, a mirror that was out of sync, or a cache"
            }
            DamageClass::Swapped => {
                "two addresses were exchanged in a map: RAID, thin provisioning or flash translation"
            }
            DamageClass::OtherRun => {
                "the write of this run was lost and older data is visible, or another run writes the same blocks"
            }
            DamageClass::OtherTarget => {
                "blocks of another file or device: a wrong mapping in a lower layer, or another target was copied here"
            }
            DamageClass::Duplicated => {
                "a block exists at two addresses: a wrong map entry, or a copy"
            }
            DamageClass::OtherJob => {
                "two jobs of this run write the same blocks; give each its own file or offset"
            }
            DamageClass::Newer => "a write that should not exist yet; report it with the job file",
            DamageClass::Altered => {
                "another program wrote here, or the device returned something else entirely"
            }
        }
    }
}

/// How many blocks were wrong in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DamageCounts([u64; DamageClass::ALL.len()]);

impl DamageCounts {
    /// One more.
    pub fn count(&mut self, class: DamageClass) {
        self.0[class as usize] += 1;
    }

    /// `n` more.
    pub fn count_many(&mut self, class: DamageClass, n: u64) {
        self.0[class as usize] += n;
    }

    /// Blocks of this class.
    #[must_use]
    pub fn of(&self, class: DamageClass) -> u64 {
        self.0[class as usize]
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &DamageCounts) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(sum, more)| *sum += more);
    }

    /// The classes that occurred, with their counts.
    pub fn nonzero(&self) -> impl Iterator<Item = (DamageClass, u64)> + '_ {
        DamageClass::ALL
            .into_iter()
            .map(|class| (class, self.of(class)))
            .filter(|(_, n)| *n > 0)
    }
}

/// Identity of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteIdentity {
    /// Id of the run.
    pub run: u64,
    /// Number of the job in its run.
    pub job: u32,
    /// Generation of the block: the pass of the job in which it was written, from 1.
    pub generation: u32,
    /// Which write of its job it was, from 1.
    pub number: u64,
    /// When it was submitted, nanoseconds since 1970; `None` if unknown. For a write that never arrived the resolution
    /// is the distance of two samples.
    pub when_unix_ns: Option<u64>,
}

/// Result of a second read of a corrupt block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RereadResult {
    /// The same bytes.
    Same,
    /// The right bytes: the stored data is intact and was altered in transfer.
    Good,
    /// Other bytes, wrong as well.
    Changed,
    /// It was not read again.
    NotTried,
}

/// One corrupt block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its class.
    pub class: DamageClass,
    /// Its file or device.
    pub path: PathBuf,
    /// Its offset, bytes.
    pub offset: u64,
    /// Bytes of the block.
    pub len: u32,
    /// First wrong sector of 512 bytes in the block, and how many from there to the last wrong one.
    pub sectors: (u32, u32),
    /// The expected write; `None` where unknown.
    pub expected: Option<WriteIdentity>,
    /// The write that was found; `None` where the bytes do not identify it.
    pub found: Option<WriteIdentity>,
    /// Where the data found belongs, or where the missing data was found: file and byte offset.
    pub elsewhere: Option<(PathBuf, u64)>,
    /// Result of a second read.
    pub reread: RereadResult,
    /// Further details, as text.
    pub detail: String,
}

impl Damage {
    /// The largest number recorded for each job, about 2 MiB.
    pub const MAX_RECORDED: usize = 10_000;
}
