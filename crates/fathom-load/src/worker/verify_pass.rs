//! Reads back what was written, looks at it, and looks a second time at what was wrong.

use fathom_model::{Damage, DamageClass, Direction, EventKind, SecondLook, WriteMark};

use super::Worker;
use super::async_verify::CheckContext;
use super::check::{ANY_WRITE, Checker, Method, SECOND_LOOK};
use super::dump::Dump;
use super::suspects::{Home, Suspect, join_homes};
use super::write_replay::{ExpectedWrite, Replay};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op};
use crate::errno::EILSEQ;
use crate::host::Host;
use crate::live::Stop;
use crate::recorder::InFlight;
use crate::script::Draft;
use crate::verify::{BlockMismatch, SECTOR, SectorStamp};

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether written blocks must be verified before the script goes on.
    pub(super) fn verify_due(&self) -> bool {
        self.checker.as_ref().is_some_and(Checker::due)
    }

    /// Reads back and checks what was written since the last verify pass; all of it at the `last`
    /// one.
    pub(super) fn verify_pass(&mut self, last: bool) {
        let unused = (self.drafts.len() - self.next_draft) as u64;
        self.verify.unknown += self.checker.as_ref().map_or(0, Checker::forgotten);
        let Some(mut replay) = self
            .checker
            .as_mut()
            .and_then(|checker| checker.replay(unused, last))
        else {
            return;
        };
        if let Err(error) = self.walk(&mut replay).and_then(|()| self.drain()) {
            self.fail(error.errno, error.to_string());
        }
    }

    fn walk(&mut self, replay: &mut Replay) -> Result<(), EngineError> {
        let mut now = self.now();
        let schedule = self.schedule.take();
        let depth = self.slots.len() as u32;
        loop {
            while self.in_flight + (self.batch.len() as u32) < depth {
                let Some(sought) = replay.next() else { break };
                if self
                    .checker
                    .as_ref()
                    .is_some_and(|checker| checker.has_failed(sought.number))
                {
                    self.verify.unknown += 1;
                    continue;
                }
                self.prepare_check(sought, now);
            }
            if self.live.stopping() != Stop::No || self.error.is_some() && self.fatal_error() {
                break;
            }
            if !self.batch.is_empty() {
                now = self.hand_over(now)?;
            } else if self.in_flight == 0 {
                break;
            }
            now = self.reap(now)?;
        }
        self.schedule = schedule;
        Ok(())
    }

    fn prepare_check(&mut self, sought: ExpectedWrite, now: u64) {
        let ExpectedWrite {
            file,
            offset,
            len,
            number,
            ..
        } = sought;
        self.prepare(
            Draft {
                offset,
                len,
                file,
                op: Op::Read,
                then_write: false,
                prio: 0,
            },
            now,
        );
        let slot = self.batch.last().expect("was just prepared").slot;
        self.slots[slot as usize].check = number;
        if let Some(checker) = &mut self.checker {
            checker.seek(slot, sought);
        }
        self.verify.planned += 1;
    }

    /// Whether the error that was met ends a verify pass: a mismatch does only with `verify_fatal`.
    fn fatal_error(&self) -> bool {
        let fatal = self
            .checker
            .as_ref()
            .is_some_and(|checker| checker.verify.fatal);
        self.error
            .as_ref()
            .is_some_and(|error| error.errno != EILSEQ || fatal)
    }

    /// Checks a block that was read.
    #[cold]
    pub(super) fn look_at(&mut self, slot: u32, io: &InFlight) {
        self.count_read(io);
        let Some(checker) = &mut self.checker else {
            return;
        };
        if io.direction != Direction::Read || io.check == 0 {
            return;
        }
        let block = &self.engine.buffer(slot)[..io.len as usize];
        if io.check == SECOND_LOOK {
            checker.suspects.again.clear();
            checker.suspects.again.extend_from_slice(block);
            return;
        }
        self.verify.bytes += u64::from(io.len);
        checker.anchor(block, io.file, io.offset);
        let sought = if io.check == ANY_WRITE {
            None
        } else {
            checker.sought(slot)
        };
        let terms = checker.terms(sought, io.check, io.offset);
        if self.helpers.is_some() {
            return self.check_beside(slot, io, sought, terms);
        }
        let found = judge(&checker.method, &terms, block, io);
        self.found(io, sought, found);
    }

    /// What a check came to.
    pub(super) fn found(
        &mut self,
        io: &InFlight,
        sought: Option<ExpectedWrite>,
        found: Result<(), Wrong>,
    ) {
        match found {
            Ok(()) => self.verify.good += 1,
            Err(Wrong { what, dump }) => {
                if let Some(dump) = dump {
                    self.save(io.file, *dump);
                }
                match what {
                    What::Fio(what) => {
                        self.verify.bad += 1;
                        self.mismatched(io.offset, what);
                    }
                    What::Ours(blemish, bytes) => self.suspect(io, sought, *blemish, bytes),
                }
            }
        }
    }

    /// An ordinary read that is to be checked is over. Those of a verify pass were counted when
    /// they were planned.
    pub(super) fn count_read(&mut self, io: &InFlight) {
        self.verify.planned += u64::from(io.check == ANY_WRITE);
    }

    fn suspect(
        &mut self,
        io: &InFlight,
        sought: Option<ExpectedWrite>,
        blemish: BlockMismatch,
        bytes: u64,
    ) {
        self.verify.bad += 1;
        let class = blemish.class;
        let (file, offset, len) = (io.file, io.offset, io.len);
        let elsewhere = blemish
            .found
            .filter(|_| class == DamageClass::MisdirectedWrite)
            .map(|stamp| self.home_of(&stamp, blemish.sectors.0, file));
        let suspect = Suspect {
            file,
            offset,
            len,
            sought,
            blemish,
            bytes,
            again: SecondLook::NotTried,
            elsewhere,
        };
        let kept = self
            .checker
            .as_mut()
            .is_some_and(|checker| checker.suspects.keep(suspect));
        if !kept {
            self.verify.classes.count(class);
        }
        self.mismatched(
            io.offset,
            format!(
                "{} at byte {} of {}",
                class.word(),
                io.offset,
                self.path_of(io)
            ),
        );
    }

    /// Where a block belongs whose sector `first` holds this stamp.
    fn home_of(&self, stamp: &SectorStamp, first: u32, here: u32) -> (u32, u64) {
        let file = match self.checker.as_ref().map(|checker| &checker.method) {
            Some(Method::Sectors(sectors)) => sectors
                .targets
                .iter()
                .position(|target| *target == stamp.target)
                .map_or(here, |n| n as u32),
            _ => here,
        };
        (
            file,
            stamp
                .offset
                .saturating_sub(u64::from(first) * SECTOR as u64),
        )
    }

    fn mismatched(&mut self, offset: u64, what: String) {
        let now = self.now();
        if !self
            .recorder
            .has_event(|e| matches!(e, EventKind::FirstMismatch { .. }))
        {
            self.recorder.event(
                now,
                EventKind::FirstMismatch {
                    offset,
                    what: what.clone(),
                },
            );
        }
        if self.job.errors.continue_verify {
            self.errors_continued += 1;
            return;
        }
        self.fail(EILSEQ, format!("verify: {what}"));
    }

    /// Reads every wrong block again, and the place where misdirected data belongs; then nothing is
    /// in flight.
    pub(super) fn second_look(&mut self) {
        self.join_checks();
        let Some(checker) = &mut self.checker else {
            return;
        };
        let mut list = std::mem::take(&mut checker.suspects.list);
        for suspect in &mut list {
            if self.live.stopping() != Stop::No || self.in_flight > 0 {
                break;
            }
            self.look_again(suspect);
        }
        join_homes(&mut list);
        for suspect in list {
            self.verify.classes.count(suspect.blemish.class);
            if self.damages.len() < Damage::KEPT {
                let damage = self.damage(suspect);
                self.damages.push(damage);
            }
        }
    }

    fn look_again(&mut self, suspect: &mut Suspect) {
        let Suspect {
            file,
            offset,
            len,
            sought,
            ..
        } = *suspect;
        let Some(found) = self.read_again(file, offset, len) else {
            return;
        };
        suspect.again = match self.first_fault(&found, file, offset, sought) {
            None => SecondLook::Good,
            Some(_) if digest(&found) == suspect.bytes => SecondLook::Same,
            Some(_) => SecondLook::Changed,
        };
        if suspect.blemish.class != DamageClass::MisdirectedWrite {
            return;
        }
        if suspect.again == SecondLook::Good {
            suspect.blemish.class = DamageClass::MisdirectedRead;
            return;
        }
        let home = suspect
            .elsewhere
            .map_or(Home::Robbed, |home| self.look_home(suspect, home));
        suspect.settle_stray(home);
    }

    /// What stands where the data found belongs.
    fn look_home(&mut self, suspect: &Suspect, (file, offset): (u32, u64)) -> Home {
        let Some(stray) = suspect.blemish.found else {
            return Home::Robbed;
        };
        let Some(found) = self.read_again(file, offset, suspect.len) else {
            return Home::Robbed;
        };
        let first = suspect.blemish.sectors.0 as usize;
        let Some(stamp) = found
            .as_chunks::<SECTOR>()
            .0
            .get(first)
            .and_then(SectorStamp::decode)
        else {
            return Home::Robbed;
        };
        let ours = suspect.offset + (first * SECTOR) as u64;
        if stamp == stray {
            Home::Intact
        } else if stamp.run == stray.run
            && stamp.offset == ours
            && suspect
                .sought
                .is_none_or(|sought| sought.number == stamp.number)
        {
            Home::Exchanged
        } else {
            Home::Robbed
        }
    }

    fn first_fault(
        &self,
        block: &[u8],
        file: u32,
        offset: u64,
        sought: Option<ExpectedWrite>,
    ) -> Option<Box<BlockMismatch>> {
        let checker = self.checker.as_ref()?;
        let Method::Sectors(sectors) = &checker.method else {
            return None;
        };
        sectors
            .check(block, file, offset, &checker.wanted(sought))
            .err()
    }

    /// Reads a block by itself; `None` when that fails or it lies outside of what the job may
    /// touch.
    fn read_again(&mut self, file: u32, offset: u64, len: u32) -> Option<Vec<u8>> {
        let region = self.regions.get(file as usize)?;
        if offset < region.start || offset + u64::from(len) > region.end {
            return None;
        }
        self.checker.as_mut()?.suspects.again.clear();
        let now = self.now();
        self.prepare(
            Draft {
                offset,
                len,
                file,
                op: Op::Read,
                then_write: false,
                prio: 0,
            },
            now,
        );
        let slot = self.batch.last()?.slot;
        self.slots[slot as usize].check = SECOND_LOOK;
        self.drain().ok()?;
        let again = std::mem::take(&mut self.checker.as_mut()?.suspects.again);
        (again.len() == len as usize).then_some(again)
    }

    fn damage(&self, suspect: Suspect) -> Damage {
        let path = |file: u32| {
            self.job
                .files
                .paths
                .get(file as usize)
                .cloned()
                .unwrap_or_default()
        };
        let Suspect {
            file,
            offset,
            len,
            sought,
            blemish,
            again,
            elsewhere,
            ..
        } = suspect;
        let BlockMismatch {
            class,
            sectors,
            found,
            right,
            detail,
        } = blemish;
        let expected = right
            .map(mark)
            .or_else(|| sought.map(|sought| self.mark_of(sought)));
        let elsewhere = elsewhere.map(|(file, offset)| (path(file), offset));
        let found = found.map(mark);
        Damage {
            class,
            path: path(file),
            offset,
            len,
            sectors,
            expected,
            found,
            elsewhere,
            again,
            detail,
        }
    }

    /// What is known of a write of which nothing was found.
    fn mark_of(&self, sought: ExpectedWrite) -> WriteMark {
        let (run, when) = match &self.checker {
            Some(Checker {
                method: Method::Sectors(sectors),
                chronicle,
                ..
            }) => (sectors.run, chronicle.when(sought.number)),
            _ => (0, None),
        };
        let generation = sought.generation.unwrap_or(0);
        WriteMark {
            run,
            job: self.job.number,
            generation,
            number: sought.number,
            when_unix_ns: when,
        }
    }
}

/// Why a block is wrong, and what is to be saved of it.
pub(super) struct Wrong {
    what: What,
    dump: Option<Box<Dump>>,
}

/// Why a block is wrong, by whose stamps.
enum What {
    Fio(String),
    Ours(Box<BlockMismatch>, u64),
}

/// Checks a block that was read.
///
/// # Errors
/// What is wrong with it.
pub(super) fn judge(
    method: &Method,
    terms: &CheckContext,
    block: &[u8],
    io: &InFlight,
) -> Result<(), Wrong> {
    let dump = |dump: &dyn Fn() -> Dump| terms.dump.then(|| Box::new(dump()));
    match method {
        Method::Fio(stamper) => {
            stamper
                .check(block, io.offset, terms.expected)
                .map_err(|mismatch| {
                    let dump = dump(&|| Dump::of_piece(stamper, block, io.offset, &mismatch));
                    Wrong {
                        what: What::Fio(mismatch.to_string()),
                        dump,
                    }
                })
        }
        Method::Sectors(sectors) => sectors
            .check(block, io.file, io.offset, &terms.wanted)
            .map_err(|blemish| {
                let dump = dump(&|| Dump::of_block(sectors, block, io.offset, &blemish));
                Wrong {
                    what: What::Ours(blemish, digest(block)),
                    dump,
                }
            }),
    }
}

fn mark(stamp: SectorStamp) -> WriteMark {
    let SectorStamp {
        run,
        job,
        generation,
        number,
        when,
        ..
    } = stamp;
    WriteMark {
        run,
        job: job.into(),
        generation,
        number,
        when_unix_ns: Some(when),
    }
}

fn digest(block: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(block)
}
