//! The first look at a block: right, or wrong in which way.

use fathom_model::DamageClass;

use super::author::Sectors;
use super::compare::Inside;
use super::stamp::{SECTOR, SectorStamp};

/// What is known about the write that should be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its number; `None` where any write of the run will do.
    pub number: Option<u64>,
    /// Its generation, where each block is written once a pass. Of this job's own writes none may be older.
    pub generation: Option<u32>,
    /// The write of the same place before it, where known.
    pub before: Option<u64>,
    /// The newest number given out.
    pub last: u64,
}

impl Wanted {
    /// The oldest generation that is right where any write of the run will do; a number says more.
    fn oldest(&self) -> u32 {
        if self.number.is_some() {
            0
        } else {
            self.generation.unwrap_or(0)
        }
    }
}

/// What is wrong with a block at the first look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockMismatch {
    pub class: DamageClass,
    /// First wrong sector, and how many from there to the last wrong one.
    pub sectors: (u32, u32),
    /// A sound stamp that was found where it should not be.
    pub found: Option<SectorStamp>,
    /// A stamp of the right write in the same block, or what is known of it.
    pub right: Option<SectorStamp>,
    pub detail: String,
}

/// What one sector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Right(SectorStamp),
    OtherWrite(SectorStamp),
    OtherPlace(SectorStamp),
    OtherJob(SectorStamp),
    OtherRun(SectorStamp),
    OtherTarget(SectorStamp),
    Zeros,
    Broken,
}

impl Sectors {
    /// Checks a block read from byte `offset` of `file`.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline]
    pub fn check(
        &self,
        buf: &[u8],
        file: u32,
        offset: u64,
        want: &Wanted,
    ) -> Result<(), Box<BlockMismatch>> {
        let (sectors, _) = buf.as_chunks::<SECTOR>();
        let (mut number, oldest) = (want.number, want.oldest());
        for (index, sector) in sectors.iter().enumerate() {
            let at = offset + (index * SECTOR) as u64;
            match self.see(sector, file, at, number, oldest) {
                Seen::Right(stamp) => number = number.or(Some(stamp.number)),
                _ => return Err(Box::new(self.diagnose(sectors, file, offset, want))),
            }
        }
        Ok(())
    }

    #[inline]
    fn see(
        &self,
        sector: &[u8; SECTOR],
        file: u32,
        offset: u64,
        number: Option<u64>,
        oldest: u32,
    ) -> Seen {
        let Some(stamp) = SectorStamp::decode(sector).filter(|stamp| self.holds(sector, stamp))
        else {
            return if sector.iter().all(|byte| *byte == 0) {
                Seen::Zeros
            } else {
                Seen::Broken
            };
        };
        if stamp.target != self.target(file) && self.is_other_target(&stamp) {
            return Seen::OtherTarget(stamp);
        }
        if stamp.run != self.run {
            return Seen::OtherRun(stamp);
        }
        if stamp.offset != offset || stamp.target != self.target(file) {
            return Seen::OtherPlace(stamp);
        }
        if stamp.job != self.job && !self.any_job {
            return Seen::OtherJob(stamp);
        }
        let is_older = stamp.generation < oldest && stamp.job == self.job;
        if is_older || number.is_some_and(|number| number != stamp.number) {
            Seen::OtherWrite(stamp)
        } else {
            Seen::Right(stamp)
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
        want: &Wanted,
    ) -> BlockMismatch {
        let at = |index: usize| offset + (index * SECTOR) as u64;
        let oldest = want.oldest();
        let see = |number| -> Vec<Seen> {
            sectors
                .iter()
                .enumerate()
                .map(|(n, sector)| self.see(sector, file, at(n), number, oldest))
                .collect()
        };
        let mut seen = see(want.number);
        let mut want = *want;
        if want.number.is_none() {
            // Not known which write it should be: the newest of those that are here.
            let newest = seen
                .iter()
                .filter_map(|one| {
                    if let Seen::Right(stamp) = one {
                        Some(stamp.number)
                    } else {
                        None
                    }
                })
                .max();
            want.number = newest;
            seen = see(newest);
        }
        let right = seen.iter().find_map(|one| {
            if let Seen::Right(stamp) = one {
                Some(*stamp)
            } else {
                None
            }
        });
        let is_right = |one: &Seen| matches!(one, Seen::Right(_));
        let first = seen.iter().position(|one| !is_right(one)).unwrap_or(0);
        let last = seen.iter().rposition(|one| !is_right(one)).unwrap_or(0);
        let (class, found, detail) = match seen.iter().position(|one| *one == Seen::Broken) {
            Some(broken) => {
                let (class, detail) = self.broken(sectors, &seen, broken, file, offset, &want);
                (class, stray(&seen), detail)
            }
            None => whole_sectors(&seen, &want),
        };
        BlockMismatch {
            class,
            sectors: (first as u32, (last + 1 - first) as u32),
            found,
            right,
            detail,
        }
    }

    /// A block with at least one sector whose checksum does not hold.
    fn broken(
        &self,
        sectors: &[[u8; SECTOR]],
        seen: &[Seen],
        broken: usize,
        file: u32,
        offset: u64,
        want: &Wanted,
    ) -> (DamageClass, String) {
        let sibling = seen.iter().find_map(|one| {
            if let Seen::Right(stamp) = one {
                Some(*stamp)
            } else {
                None
            }
        });
        let own = SectorStamp::decode(&sectors[broken]);
        let Some(number) = want.number.or(own.map(|own| own.number)) else {
            return (DamageClass::Altered, "the bytes carry no stamp".to_owned());
        };
        let place = offset + (broken * SECTOR) as u64;
        let likely = match sibling {
            Some(sibling) => SectorStamp {
                offset: place,
                index: shifted(sibling, offset, broken),
                ..sibling
            },
            None => self.likely_alone(
                SectorStamp::fields(&sectors[broken]),
                file,
                place,
                number,
                want,
            ),
        };
        match self.look_inside(&sectors[broken], likely, sibling.is_some(), want) {
            Inside::Flipped { bits, byte } => {
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
            Inside::Torn { from, to, other } => {
                let place = format!(
                    "bytes {} to {}",
                    likely.offset + from as u64,
                    likely.offset + to as u64 - 1
                );
                let rest = other.map_or_else(
                    || "are zeros".to_owned(),
                    |number| format!("are of write {number}"),
                );
                (DamageClass::TornSector, format!("{place} {rest}"))
            }
            Inside::Unknown if own.is_none() => {
                (DamageClass::Altered, "the bytes carry no stamp".to_owned())
            }
            Inside::Unknown => (
                DamageClass::Altered,
                format!(
                    "the checksum of the sector at byte {} does not hold",
                    likely.offset
                ),
            ),
        }
    }

    /// The stamp that a broken sector should have, where no good sector of the same write tells it: what is not known is
    /// taken from its own fields.
    fn likely_alone(
        &self,
        own: SectorStamp,
        file: u32,
        offset: u64,
        number: u64,
        want: &Wanted,
    ) -> SectorStamp {
        let target = self.target(file);
        let (job, file) = if self.any_job {
            (own.job, own.file)
        } else {
            (self.job, file as u16)
        };
        let generation = want.generation.unwrap_or(own.generation);
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

/// Place of the sector `broken` of this block in the write that its sibling belongs to.
fn shifted(sibling: SectorStamp, offset: u64, broken: usize) -> u16 {
    let ours = offset + (broken * SECTOR) as u64;
    let start = sibling.offset - u64::from(sibling.index) * SECTOR as u64;
    (ours.saturating_sub(start) / SECTOR as u64) as u16
}

/// The first sound stamp of a sector that is not right.
fn stray(seen: &[Seen]) -> Option<SectorStamp> {
    seen.iter().find_map(|one| match one {
        Seen::OtherWrite(s)
        | Seen::OtherPlace(s)
        | Seen::OtherJob(s)
        | Seen::OtherRun(s)
        | Seen::OtherTarget(s) => Some(*s),
        _ => None,
    })
}

/// A block whose sectors are each whole.
fn whole_sectors(seen: &[Seen], want: &Wanted) -> (DamageClass, Option<SectorStamp>, String) {
    use DamageClass::{
        LostWrite, MisdirectedWrite, Newer, OtherJob, OtherRun, OtherTarget, Stale, TornBlock,
        Zeroed,
    };
    let is_right = |one: &Seen| matches!(one, Seen::Right(_));
    let wrong: Vec<&Seen> = seen.iter().filter(|one| !is_right(one)).collect();
    let found = stray(seen);
    let all = |what: fn(&Seen) -> bool| wrong.iter().all(|one| what(one));
    if wrong.iter().any(|one| matches!(one, Seen::OtherPlace(_))) {
        return (MisdirectedWrite, found, String::new());
    }
    if all(|one| matches!(one, Seen::OtherTarget(_))) {
        return (OtherTarget, found, String::new());
    }
    let some_right = seen.iter().any(is_right);
    if some_right && all(|one| !matches!(one, Seen::OtherJob(_) | Seen::OtherTarget(_))) {
        return mixed(seen, found);
    }
    if all(|one| *one == Seen::Zeros) {
        return (Zeroed, None, String::new());
    }
    let class = match found {
        Some(_) if all(|one| matches!(one, Seen::OtherRun(_))) => OtherRun,
        Some(_) if all(|one| matches!(one, Seen::OtherJob(_))) => OtherJob,
        Some(found) if all(|one| matches!(one, Seen::OtherWrite(_))) => match want.number {
            Some(number) if found.number > number => Newer,
            _ if want.before.is_some_and(|before| found.number < before) => Stale,
            _ if want
                .generation
                .is_some_and(|generation| found.generation + 1 < generation) =>
            {
                Stale
            }
            _ => LostWrite,
        },
        _ => TornBlock,
    };
    // Where it is not known which write should be here, at least its pass may be.
    let pass = want
        .generation
        .filter(|_| want.number.is_none() && matches!(class, LostWrite | Stale));
    (
        class,
        found,
        pass.map_or_else(String::new, |pass| {
            format!("pass {pass} of the job should be here")
        }),
    )
}

/// Right sectors beside older ones or zeros.
fn mixed(seen: &[Seen], found: Option<SectorStamp>) -> (DamageClass, Option<SectorStamp>, String) {
    let right = seen
        .iter()
        .filter(|one| matches!(one, Seen::Right(_)))
        .count();
    let from_start = seen
        .iter()
        .take_while(|one| matches!(one, Seen::Right(_)))
        .count();
    let zeros = seen.iter().filter(|one| **one == Seen::Zeros).count();
    let detail = format!("{right} of {} sectors are of the write", seen.len());
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
