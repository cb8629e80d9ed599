//! The first check of a block: right, or the class of its damage.

use fathom_model::DamageClass;

use super::compare::{SectorDamage, TornRest};
use super::sectors::Sectors;
use super::stamp::{self, SECTOR, SectorStamp};

/// The properties of the expected write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedStamps {
    /// Its number; `None` if any write of the run is accepted.
    pub number: Option<u64>,
    /// Its generation, if each block is written once per pass. Of this job's own writes, older ones
    /// are wrong.
    pub generation: Option<u32>,
    /// The previous write to the same offset, if known.
    pub before: Option<u64>,
    /// The highest number that was assigned.
    pub last: u64,
    /// When the run began, nanoseconds since 1970, if this is its first write to this place: the place
    /// may then still hold what it held before the run.
    pub first_since: Option<u64>,
}

impl ExpectedStamps {
    /// The oldest accepted generation if any write of the run is accepted; a number is more
    /// specific.
    fn oldest(&self) -> u32 {
        if self.number.is_some() {
            0
        } else {
            self.generation.unwrap_or(0)
        }
    }
}

/// The result of the first check of a bad block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockMismatch {
    pub class: DamageClass,
    /// The first wrong sector, and the number of sectors from there to the last wrong one.
    pub sectors: (u32, u32),
    /// A valid stamp that was found in the wrong place.
    pub found: Option<SectorStamp>,
    /// A stamp of the expected write in the same block, or what is known of it.
    pub right: Option<SectorStamp>,
    pub detail: String,
}

/// The state of one sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectorState {
    Right(SectorStamp),
    OtherWrite(SectorStamp),
    OtherPlace(SectorStamp),
    OtherJob(SectorStamp),
    OtherRun(SectorStamp),
    OtherTarget(SectorStamp),
    Zeros,
    /// Data without a stamp.
    Unstamped,
    /// A stamp whose checksum is wrong.
    Broken,
}

impl SectorState {
    /// Whether it may have been here before `since`, when the run began.
    fn is_older_than(&self, since: Option<u64>) -> bool {
        let Some(since) = since else { return false };
        match self {
            SectorState::Unstamped => true,
            SectorState::OtherRun(stamp)
            | SectorState::OtherTarget(stamp)
            | SectorState::OtherJob(stamp) => stamp.when < since,
            _ => false,
        }
    }
}

impl Sectors {
    /// Checks a block read from byte `offset` of `file`.
    ///
    /// # Errors
    /// The mismatch.
    #[inline]
    pub fn check(
        &self,
        buf: &[u8],
        file: u32,
        offset: u64,
        expected: &ExpectedStamps,
    ) -> Result<(), Box<BlockMismatch>> {
        let (sectors, _) = buf.as_chunks::<SECTOR>();
        let (mut number, oldest) = (expected.number, expected.oldest());
        for (index, sector) in sectors.iter().enumerate() {
            let at = offset + (index * SECTOR) as u64;
            match self.classify(sector, file, at, number, oldest) {
                SectorState::Right(stamp) => number = number.or(Some(stamp.number)),
                _ => return Err(Box::new(self.diagnose(sectors, file, offset, expected))),
            }
        }
        Ok(())
    }

    #[inline]
    fn classify(
        &self,
        sector: &[u8; SECTOR],
        file: u32,
        offset: u64,
        number: Option<u64>,
        oldest: u32,
    ) -> SectorState {
        let decoded = SectorStamp::decode(sector);
        let Some(stamp) = decoded.filter(|stamp| self.is_valid(sector, stamp)) else {
            return if decoded.is_some() {
                SectorState::Broken
            } else if sector.iter().all(|byte| *byte == 0) {
                SectorState::Zeros
            } else {
                SectorState::Unstamped
            };
        };
        if stamp.target != self.target(file) && self.is_other_target(&stamp) {
            return SectorState::OtherTarget(stamp);
        }
        if stamp.run != self.run {
            return SectorState::OtherRun(stamp);
        }
        if stamp.offset != offset || stamp.target != self.target(file) {
            return SectorState::OtherPlace(stamp);
        }
        if stamp.job != self.job && !self.any_job {
            return SectorState::OtherJob(stamp);
        }
        let is_older = stamp.generation < oldest && stamp.job == self.job;
        if is_older || number.is_some_and(|number| number != stamp.number) {
            SectorState::OtherWrite(stamp)
        } else {
            SectorState::Right(stamp)
        }
    }

    /// Another file of this job is another place, not another target.
    fn is_other_target(&self, stamp: &SectorStamp) -> bool {
        stamp.run != self.run || !self.targets.contains(&stamp.target)
    }

    #[cold]
    fn diagnose(
        &self,
        sectors: &[[u8; SECTOR]],
        file: u32,
        offset: u64,
        expected: &ExpectedStamps,
    ) -> BlockMismatch {
        let at = |index: usize| offset + (index * SECTOR) as u64;
        let oldest = expected.oldest();
        let classify = |number| -> Vec<SectorState> {
            sectors
                .iter()
                .enumerate()
                .map(|(n, sector)| self.classify(sector, file, at(n), number, oldest))
                .collect()
        };
        let mut seen = classify(expected.number);
        let mut expected = *expected;
        if expected.number.is_none() {
            // The expected write is unknown: take the newest of those in the block.
            let newest = seen
                .iter()
                .filter_map(|one| {
                    if let SectorState::Right(stamp) = one {
                        Some(stamp.number)
                    } else {
                        None
                    }
                })
                .max();
            expected.number = newest;
            seen = classify(newest);
        }
        let right = seen.iter().find_map(|one| {
            if let SectorState::Right(stamp) = one {
                Some(*stamp)
            } else {
                None
            }
        });
        let is_right = |one: &SectorState| matches!(one, SectorState::Right(_));
        let first = seen.iter().position(|one| !is_right(one)).unwrap_or(0);
        let last = seen.iter().rposition(|one| !is_right(one)).unwrap_or(0);
        // An intact sector of the first pass shows that this is the first write to this place, too.
        let first_pass = right.filter(|right| right.generation <= 1 && expected.before.is_none());
        expected.first_since = expected.first_since.or(first_pass.map(|right| right.when));
        let broken = seen.iter().enumerate().position(|(at, one)| match one {
            SectorState::Broken => true,
            // The end of the sector may belong to the write.
            SectorState::Unstamped => {
                let end = stamp::tail_number(&sectors[at], self.run);
                expected.first_since.is_none() || expected.number == Some(end)
            }
            _ => false,
        });
        let (class, found, detail) = match broken {
            Some(broken) => {
                let (class, detail) = self.broken(sectors, &seen, broken, file, offset, &expected);
                (class, first_foreign_stamp(&seen), detail)
            }
            None => whole_sectors(&seen, &expected),
        };
        BlockMismatch {
            class,
            sectors: (first as u32, (last + 1 - first) as u32),
            found,
            right,
            detail,
        }
    }

    /// Classifies a block with at least one sector whose checksum is wrong.
    fn broken(
        &self,
        sectors: &[[u8; SECTOR]],
        seen: &[SectorState],
        broken: usize,
        file: u32,
        offset: u64,
        expected: &ExpectedStamps,
    ) -> (DamageClass, String) {
        let sibling = seen.iter().find_map(|one| {
            if let SectorState::Right(stamp) = one {
                Some(*stamp)
            } else {
                None
            }
        });
        let own = SectorStamp::decode(&sectors[broken]);
        let Some(number) = expected.number.or(own.map(|own| own.number)) else {
            return (DamageClass::Altered, "the bytes have no stamp".to_owned());
        };
        let place = offset + (broken * SECTOR) as u64;
        let likely = match sibling {
            Some(sibling) => SectorStamp {
                offset: place,
                index: index_in_write(sibling, offset, broken),
                ..sibling
            },
            None => self.likely_stamp(
                SectorStamp::fields(&sectors[broken]),
                file,
                place,
                number,
                expected,
            ),
        };
        match self.compare_sector(&sectors[broken], likely, sibling.is_some(), expected) {
            SectorDamage::Flipped { bits, byte } => {
                let at = likely.offset + byte as u64;
                let more = if bits == 1 {
                    "one bit differs".to_owned()
                } else {
                    format!("{bits} bits differ")
                };
                (
                    DamageClass::BitFlip,
                    format!("{more}, the first in byte {at}"),
                )
            }
            SectorDamage::Torn { from, to, rest } => {
                let place = format!(
                    "bytes {} to {}",
                    likely.offset + from as u64,
                    likely.offset + to as u64 - 1
                );
                let rest = match rest {
                    TornRest::Zeros => "are zeros".to_owned(),
                    TornRest::Write(number) => format!("are of write {number}"),
                    TornRest::Older => "are older than the run".to_owned(),
                };
                (DamageClass::TornSector, format!("{place} {rest}"))
            }
            SectorDamage::Unknown if own.is_none() => {
                (DamageClass::Altered, "the bytes have no stamp".to_owned())
            }
            SectorDamage::Unknown => (
                DamageClass::Altered,
                format!(
                    "the checksum of the sector at byte {} is wrong",
                    likely.offset
                ),
            ),
        }
    }

    /// The stamp that a damaged sector should have if there is no valid sector of the same write:
    /// what is unknown is taken from its own fields.
    fn likely_stamp(
        &self,
        own: SectorStamp,
        file: u32,
        offset: u64,
        number: u64,
        expected: &ExpectedStamps,
    ) -> SectorStamp {
        let target = self.target(file);
        let (job, file) = if self.any_job {
            (own.job, own.file)
        } else {
            (self.job, file as u16)
        };
        let generation = expected.generation.unwrap_or(own.generation);
        SectorStamp {
            run: self.run,
            offset,
            number,
            generation,
            job,
            file,
            target,
            ..own
        }
    }
}

/// Index of the sector `broken` of this block in the write of its sibling.
fn index_in_write(sibling: SectorStamp, offset: u64, broken: usize) -> u16 {
    let ours = offset + (broken * SECTOR) as u64;
    let start = sibling.offset - u64::from(sibling.index) * SECTOR as u64;
    (ours.saturating_sub(start) / SECTOR as u64) as u16
}

/// The first valid stamp of a sector that is not right.
fn first_foreign_stamp(seen: &[SectorState]) -> Option<SectorStamp> {
    seen.iter().find_map(|one| match one {
        SectorState::OtherWrite(s)
        | SectorState::OtherPlace(s)
        | SectorState::OtherJob(s)
        | SectorState::OtherRun(s)
        | SectorState::OtherTarget(s) => Some(*s),
        _ => None,
    })
}

/// Classifies a block in which each sector is intact.
fn whole_sectors(
    seen: &[SectorState],
    expected: &ExpectedStamps,
) -> (DamageClass, Option<SectorStamp>, String) {
    use DamageClass::{
        LostWrite, MisdirectedWrite, Newer, OtherJob, OtherRun, OtherTarget, Stale, TornBlock,
        Zeroed,
    };
    let is_right = |one: &SectorState| matches!(one, SectorState::Right(_));
    let wrong: Vec<&SectorState> = seen.iter().filter(|one| !is_right(one)).collect();
    let found = first_foreign_stamp(seen);
    let all = |what: fn(&SectorState) -> bool| wrong.iter().all(|one| what(one));
    if wrong
        .iter()
        .any(|one| matches!(one, SectorState::OtherPlace(_)))
    {
        return (MisdirectedWrite, found, String::new());
    }
    let some_right = seen.iter().any(is_right);
    let older = |one: &SectorState| one.is_older_than(expected.first_since);
    if !some_right && !wrong.is_empty() && wrong.iter().all(|one| older(one)) {
        let unstamped = wrong.iter().all(|one| **one == SectorState::Unstamped);
        let detail = if unstamped {
            "it holds data without a stamp, as before the run"
        } else {
            "it holds data from before the run"
        };
        return (LostWrite, found, detail.to_owned());
    }
    if all(|one| matches!(one, SectorState::OtherTarget(_)))
        && !(some_right && wrong.iter().all(|one| older(one)))
    {
        return (OtherTarget, found, String::new());
    }
    let elsewhere =
        |one: &SectorState| matches!(one, SectorState::OtherJob(_) | SectorState::OtherTarget(_));
    if some_right && wrong.iter().all(|one| older(one) || !elsewhere(one)) {
        return mixed(seen, found);
    }
    if all(|one| *one == SectorState::Zeros) {
        return (Zeroed, None, String::new());
    }
    let class = match found {
        Some(_) if all(|one| matches!(one, SectorState::OtherRun(_))) => OtherRun,
        Some(_) if all(|one| matches!(one, SectorState::OtherJob(_))) => OtherJob,
        Some(found) if all(|one| matches!(one, SectorState::OtherWrite(_))) => {
            match expected.number {
                Some(number) if found.number > number => Newer,
                _ if expected.before.is_some_and(|before| found.number < before) => Stale,
                _ if expected
                    .generation
                    .is_some_and(|generation| found.generation + 1 < generation) =>
                {
                    Stale
                }
                _ => LostWrite,
            }
        }
        _ => TornBlock,
    };
    // If the expected write is unknown, its pass may be known.
    let pass = expected
        .generation
        .filter(|_| expected.number.is_none() && matches!(class, LostWrite | Stale));
    (
        class,
        found,
        pass.map_or_else(String::new, |pass| {
            format!("pass {pass} of the job should be here")
        }),
    )
}

/// Right sectors together with older ones or zeros.
fn mixed(
    seen: &[SectorState],
    found: Option<SectorStamp>,
) -> (DamageClass, Option<SectorStamp>, String) {
    let right = seen
        .iter()
        .filter(|one| matches!(one, SectorState::Right(_)))
        .count();
    let from_start = seen
        .iter()
        .take_while(|one| matches!(one, SectorState::Right(_)))
        .count();
    let zeros = seen
        .iter()
        .filter(|one| **one == SectorState::Zeros)
        .count();
    let detail = format!("{right} of {} sectors belong to the write", seen.len());
    if from_start == right {
        let rest = if zeros == seen.len() - right {
            ", the rest are zeros"
        } else {
            ", the rest are older"
        };
        return (DamageClass::ShornTail, found, detail + rest);
    }
    if zeros == seen.len() - right {
        return (
            DamageClass::Zeroed,
            None,
            format!("{zeros} of {} sectors are zeros", seen.len()),
        );
    }
    (DamageClass::TornBlock, found, detail)
}
