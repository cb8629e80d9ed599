//! The verification of one job: the expected content of blocks, and the mismatches found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fathom_model::{
    Damage, DamageClass, Direction, Job, Nanos, RereadResult, VerifyCounts, WriteIdentity,
};

use super::async_verify::{Checked, Helpers};
use super::block_check::{BadBlock, Method, Reason, check_block, digest};
use super::checker::{ANY_WRITE, Checker, REREAD};
use super::dump::Dump;
use super::suspects::{IntendedLocation, Suspect, attribute_missing_writes};
use super::write_replay::{ExpectedWrite, WriteReplay};
use crate::engine::Op;
use crate::errno::EILSEQ;
use crate::host::Host;
use crate::io_generator::{PlannedIo, Region};
use crate::recorder::InFlight;
use crate::verify::{BlockMismatch, SECTOR, SectorStamp, VerifyState};

/// Wrong blocks of one job that `verify_dump` saves at most. More would fill a disk and add
/// nothing.
const MAX_DUMPS: u32 = 1000;
/// Writes that an interrupted verify pass did not read are counted up to this number.
const MAX_COUNTED_UNREAD: usize = 10_000_000;

/// A wrong block that the job has to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MismatchReport {
    pub offset: u64,
    pub message: String,
}

/// Stamps what a job writes, checks what it reads, and keeps the mismatches. Without `verify=` it
/// does nothing.
pub(super) struct Verification<'a> {
    job: &'a Job,
    regions: &'a [Region],
    checker: Option<Checker>,
    /// Threads that check concurrently with the worker.
    helpers: Option<Box<Helpers>>,
    /// Ordinary reads are checked: the job writes nothing.
    checks_reads: bool,
    /// See [`Verification::reads_on`].
    reads_on: bool,
    /// I/O waits for that in flight which touches the same bytes: the order of writes must be
    /// known.
    separates_writes: bool,
    counts: VerifyCounts,
    damages: Vec<Damage>,
    /// Wrong blocks that have not been reported.
    mismatches: Vec<MismatchReport>,
    /// Wrong blocks that were saved.
    dumped: u32,
    notes: Vec<String>,
}

impl<'a> Verification<'a> {
    /// The verification of a job over these regions; without a checker the job verifies nothing.
    pub fn new(
        job: &'a Job,
        regions: &'a [Region],
        checker: Option<Checker>,
        reads_on: bool,
    ) -> Self {
        Verification {
            job,
            regions,
            checks_reads: checker.as_ref().is_some_and(|checker| checker.checks_reads),
            reads_on,
            separates_writes: checker.as_ref().is_some_and(Checker::separates_writes),
            checker,
            helpers: None,
            counts: VerifyCounts::default(),
            damages: Vec::new(),
            mismatches: Vec::new(),
            dumped: 0,
            notes: Vec::new(),
        }
    }

    /// Starts the threads of `verify_async`.
    pub fn start_helpers<H: Host>(&mut self, host: &Arc<H>) {
        let (helpers, notes) = Helpers::start(host, self.job.verify.as_ref());
        self.helpers = helpers;
        self.notes.extend(notes);
    }

    /// Ends those threads.
    pub fn stop_helpers(&mut self) {
        if let Some(helpers) = self.helpers.take() {
            helpers.stop();
        }
    }

    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.checker.is_some()
    }

    pub fn checks_reads(&self) -> bool {
        self.checks_reads
    }

    #[inline]
    pub fn separates_writes(&self) -> bool {
        self.separates_writes
    }

    #[inline]
    pub fn checker(&mut self) -> Option<&mut Checker> {
        self.checker.as_mut()
    }

    /// The write that an I/O of the load is checked against.
    #[inline]
    pub fn check_of(&self, op: Op) -> u64 {
        if self.checks_reads && op == Op::Read {
            ANY_WRITE
        } else {
            0
        }
    }

    /// Whether written blocks must be verified before more is drawn.
    pub fn is_due(&self) -> bool {
        self.checker.as_ref().is_some_and(Checker::is_due)
    }

    /// Whether something that was written has not been read back yet.
    pub fn has_unverified(&self) -> bool {
        self.checker.as_ref().is_some_and(Checker::has_unverified)
    }

    /// A sync goes into `slot`.
    #[inline]
    pub fn sync_begins(&mut self, slot: u32) {
        if let Some(checker) = &mut self.checker {
            checker.sync_begins(slot);
        }
    }

    /// The sync in `slot` succeeded.
    pub fn sync_done(&mut self, slot: u32) {
        if let Some(checker) = &mut self.checker {
            checker.sync_done(slot);
        }
    }

    /// The write in `slot` failed or was short.
    pub fn write_failed(&mut self, slot: u32) {
        if let Some(checker) = &mut self.checker {
            checker.write_failed(slot);
        }
    }

    /// A write or trim of a replay is about to be submitted.
    #[inline]
    pub fn note_replayed(&mut self, planned_io: PlannedIo) {
        if let Some(checker) = &mut self.checker {
            checker.note_replayed(planned_io);
        }
    }

    /// An ordinary read that is checked has completed. Those of a verify pass were counted when
    /// they were planned.
    pub fn count_read(&mut self, io: &InFlight) {
        self.counts.planned += u64::from(io.check == ANY_WRITE);
    }

    /// Begins a verify pass over what was written since the last one, of which the last `unused`
    /// I/Os were never submitted; over all of it at the `last` pass. `None` when there is nothing
    /// to read back.
    pub fn begin_pass(&mut self, unused: u64, last: bool) -> Option<WriteReplay> {
        let checker = self.checker.as_mut()?;
        self.counts.unknown += checker.unverifiable();
        checker.replay(unused, last)
    }

    /// Ends a verify pass that took `time`. An interrupted one did not read the rest of `replay`.
    pub fn end_pass(&mut self, replay: &mut WriteReplay, time: Nanos, interrupted: bool) {
        self.counts.time += time;
        if interrupted {
            let mut rest = std::iter::from_fn(|| replay.next()).take(MAX_COUNTED_UNREAD);
            self.counts.planned += rest.by_ref().count() as u64;
        }
        self.counts.unknown += replay.unverifiable();
    }

    /// A wrong block does not end a job that only checks: it reads the others too.
    pub fn reads_on(&self) -> bool {
        self.reads_on && self.checks_reads && !self.is_fatal(EILSEQ)
    }

    /// Whether a write can be read back. One that failed cannot: its block may hold anything.
    pub fn is_readable(&mut self, expected: &ExpectedWrite) -> bool {
        let failed = self
            .checker
            .as_ref()
            .is_some_and(|checker| checker.has_failed(expected.number));
        self.counts.unknown += u64::from(failed);
        !failed
    }

    /// The read in `slot` should return this write.
    pub fn expect(&mut self, slot: u32, expected: ExpectedWrite) {
        if let Some(checker) = &mut self.checker {
            checker.expect(slot, expected);
        }
        self.counts.planned += 1;
    }

    /// Whether an error of this kind ends a verify pass: a mismatch does only with `verify_fatal`.
    pub fn is_fatal(&self, errno: i32) -> bool {
        let fatal = self
            .checker
            .as_ref()
            .is_some_and(|checker| checker.verify.fatal);
        errno != EILSEQ || fatal
    }

    /// Whether the block of a completed I/O is checked.
    pub fn needs_check(&self, io: &InFlight) -> bool {
        self.checker.is_some() && io.direction == Direction::Read && io.check != 0
    }

    /// Checks a block that was read.
    #[cold]
    pub fn check<H: Host>(&mut self, host: &H, slot: u32, io: &InFlight, block: &[u8]) {
        let Some(checker) = &mut self.checker else {
            return;
        };
        if io.check == REREAD {
            checker.suspects.reread.clear();
            checker.suspects.reread.extend_from_slice(block);
            return;
        }
        self.counts.bytes += u64::from(io.len);
        checker.anchor(block, io.file, io.offset);
        let expected = if io.check == ANY_WRITE {
            None
        } else {
            checker.expected_in(slot)
        };
        let context = checker.context(expected, io.check, io.offset);
        let method = &checker.method;
        if self.helpers.is_some() {
            let method = method.clone();
            self.take_checked(host, false);
            while self
                .helpers
                .as_ref()
                .is_some_and(|helpers| helpers.is_full())
            {
                self.take_checked(host, true);
            }
            if let Some(helpers) = &mut self.helpers {
                helpers.send(io, expected, context, method, block);
            }
            return;
        }
        let result = check_block(method, &context, block, io);
        self.record(host, io, expected, result);
    }

    /// Takes the results of the helpers; with `wait` it waits for one result.
    fn take_checked<H: Host>(&mut self, host: &H, wait: bool) {
        let mut wait = wait;
        while let Some(helpers) = &mut self.helpers {
            let Some(Checked {
                io,
                expected,
                result,
            }) = helpers.receive(wait)
            else {
                return;
            };
            wait = false;
            self.record(host, &io, expected, result);
        }
    }

    /// Waits until the helpers have checked all blocks.
    pub fn join<H: Host>(&mut self, host: &H) {
        while self
            .helpers
            .as_ref()
            .is_some_and(|helpers| helpers.has_work())
        {
            self.take_checked(host, true);
        }
    }

    /// Counts the result of a check and keeps a mismatch.
    fn record<H: Host>(
        &mut self,
        host: &H,
        io: &InFlight,
        expected: Option<ExpectedWrite>,
        result: Result<(), BadBlock>,
    ) {
        let Err(BadBlock { reason, dump }) = result else {
            self.counts.good += 1;
            return;
        };
        if let Some(dump) = dump {
            self.save(host, io.file, *dump);
        }
        self.counts.bad += 1;
        let message = match reason {
            Reason::Fio(message) => message,
            Reason::Sectors(mismatch, digest) => self.suspect(io, expected, *mismatch, digest),
        };
        self.mismatches.push(MismatchReport {
            offset: io.offset,
            message,
        });
    }

    /// Wrong blocks found since the last call, in the order in which they were found.
    pub fn take_mismatches(&mut self) -> Vec<MismatchReport> {
        std::mem::take(&mut self.mismatches)
    }

    /// Keeps a wrong block for the second read. Returns the message about it.
    fn suspect(
        &mut self,
        io: &InFlight,
        expected: Option<ExpectedWrite>,
        mismatch: BlockMismatch,
        digest: u64,
    ) -> String {
        let class = mismatch.class;
        let (file, offset, len) = (io.file, io.offset, io.len);
        let elsewhere = mismatch
            .found
            .filter(|_| class == DamageClass::MisdirectedWrite)
            .map(|stamp| self.intended_location(&stamp, mismatch.sectors.0, file));
        let suspect = Suspect {
            file,
            offset,
            len,
            expected,
            mismatch,
            digest,
            second_read: RereadResult::NotTried,
            elsewhere,
        };
        let kept = self
            .checker
            .as_mut()
            .is_some_and(|checker| checker.suspects.keep(suspect));
        if !kept {
            self.counts.classes.count(class);
        }
        format!(
            "{} at byte {offset} of {}",
            class.name(),
            self.path(file).display()
        )
    }

    /// Where a block belongs whose sector `first` holds this stamp.
    fn intended_location(&self, stamp: &SectorStamp, first: u32, here: u32) -> (u32, u64) {
        let file = match self.checker.as_ref().map(|checker| &checker.method) {
            Some(Method::Sectors(sectors)) => sectors
                .targets
                .iter()
                .position(|target| *target == stamp.target)
                .map_or(here, |n| n as u32),
            _ => here,
        };
        let offset = stamp
            .offset
            .saturating_sub(u64::from(first) * SECTOR as u64);
        (file, offset)
    }

    /// Takes the wrong blocks that are to be read a second time, for [`Verification::conclude`].
    pub fn take_suspects(&mut self) -> Vec<Suspect> {
        self.checker.as_mut().map_or_else(Vec::new, |checker| {
            std::mem::take(&mut checker.suspects.list)
        })
    }

    /// Whether a block is within what the job may touch, so that it can be read a second time.
    pub fn may_reread(&self, file: u32, offset: u64, len: u32) -> bool {
        self.checker.is_some()
            && self.regions.get(file as usize).is_some_and(|region| {
                offset >= region.start && offset + u64::from(len) <= region.end
            })
    }

    /// Discards the result of the last second read.
    pub fn clear_reread(&mut self) {
        if let Some(checker) = &mut self.checker {
            checker.suspects.reread.clear();
        }
    }

    /// The bytes of a second read of `len` bytes; `None` when it failed.
    pub fn take_reread(&mut self, len: u32) -> Option<Vec<u8>> {
        let reread = std::mem::take(&mut self.checker.as_mut()?.suspects.reread);
        (reread.len() == len as usize).then_some(reread)
    }

    /// Judges the second read of a wrong block. Returns true when the data was misdirected, and the
    /// intended location must be read for [`Verification::judge_intended_location`].
    pub fn judge_reread(&self, suspect: &mut Suspect, block: &[u8]) -> bool {
        let mismatch = self.recheck(suspect, block);
        suspect.second_read = match mismatch {
            None => RereadResult::Good,
            Some(_) if digest(block) == suspect.digest => RereadResult::Same,
            Some(_) => RereadResult::Changed,
        };
        if suspect.mismatch.class != DamageClass::MisdirectedWrite {
            return false;
        }
        if suspect.second_read == RereadResult::Good {
            suspect.mismatch.class = DamageClass::MisdirectedRead;
            return false;
        }
        true
    }

    fn recheck(&self, suspect: &Suspect, block: &[u8]) -> Option<Box<BlockMismatch>> {
        let checker = self.checker.as_ref()?;
        let Method::Sectors(sectors) = &checker.method else {
            return None;
        };
        let wanted = checker.wanted(suspect.expected);
        sectors
            .check(block, suspect.file, suspect.offset, &wanted)
            .err()
    }

    /// Classifies, counts and describes the wrong blocks.
    pub fn conclude(&mut self, mut suspects: Vec<Suspect>) {
        attribute_missing_writes(&mut suspects);
        for suspect in suspects {
            self.counts.classes.count(suspect.mismatch.class);
            if self.damages.len() < Damage::MAX_RECORDED {
                let damage = self.damage(suspect);
                self.damages.push(damage);
            }
        }
    }

    fn damage(&self, suspect: Suspect) -> Damage {
        let Suspect {
            file,
            offset,
            len,
            expected,
            mismatch,
            second_read,
            elsewhere,
            ..
        } = suspect;
        let BlockMismatch {
            class,
            sectors,
            found,
            right,
            detail,
        } = mismatch;
        let expected = right
            .map(mark_of_stamp)
            .or_else(|| expected.map(|expected| self.mark_of(expected)));
        Damage {
            class,
            path: self.path(file),
            offset,
            len,
            sectors,
            expected,
            found: found.map(mark_of_stamp),
            elsewhere: elsewhere.map(|(file, offset)| (self.path(file), offset)),
            reread: second_read,
            detail,
        }
    }

    /// The identity of a write that was not found.
    fn mark_of(&self, expected: ExpectedWrite) -> WriteIdentity {
        let (run, when) = match &self.checker {
            Some(Checker {
                method: Method::Sectors(sectors),
                write_times,
                ..
            }) => (sectors.run, write_times.when(expected.number)),
            _ => (0, None),
        };
        WriteIdentity {
            run,
            job: self.job.number,
            generation: expected.generation.unwrap_or(0),
            number: expected.number,
            when_unix_ns: when,
        }
    }

    fn path(&self, file: u32) -> PathBuf {
        let paths = &self.job.files.paths;
        paths.get(file as usize).cloned().unwrap_or_default()
    }

    /// Saves a wrong block, up to [`MAX_DUMPS`] of them.
    #[cold]
    fn save<H: Host>(&mut self, host: &H, file: u32, dump: Dump) {
        if self.dumped == MAX_DUMPS {
            return;
        }
        self.dumped += 1;
        let paths = &self.job.files.paths;
        let path = paths
            .get(file as usize)
            .map_or(Path::new("target"), |path| path);
        let name = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        for (name, bytes) in dump.files(&name) {
            if let Err(error) = host.save_output(&name, &bytes) {
                self.notes.push(error.to_string());
                self.dumped = MAX_DUMPS;
            }
        }
        if self.dumped == MAX_DUMPS {
            self.notes.push(format!(
                "verify_dump saved {MAX_DUMPS} wrong blocks at most"
            ));
        }
    }

    /// The verify state for a later run that verifies: a file name and its content.
    /// `in_flight` are the slots whose I/O never completed.
    pub fn state(&self, in_flight: &[u32]) -> Option<(String, Vec<u8>)> {
        let state = self.checker.as_ref()?.state(self.job, in_flight)?;
        let name = VerifyState::file_name(&state.name, state.index);
        Some((name, state.encode()))
    }

    /// The same while the run lasts. `busy` are the slots of writes that have not completed.
    pub fn state_so_far(&self, busy: impl Iterator<Item = u32>) -> Option<(String, Vec<u8>)> {
        let state = self.checker.as_ref()?.state_so_far(self.job, busy)?;
        let name = VerifyState::file_name(&state.name, state.index);
        Some((name, state.encode()))
    }

    pub fn counts(&self) -> VerifyCounts {
        let unlisted = self.checker.as_ref().map_or(0, Checker::unlisted);
        VerifyCounts {
            unknown: self.counts.unknown + unlisted,
            ..self.counts
        }
    }

    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// Messages for the user.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Classifies the content of the intended location of misdirected data, `block`.
pub(super) fn judge_intended_location(suspect: &Suspect, block: Option<&[u8]>) -> IntendedLocation {
    let first = suspect.mismatch.sectors.0 as usize;
    let stamp = block
        .and_then(|block| block.as_chunks::<SECTOR>().0.get(first))
        .and_then(SectorStamp::decode);
    let (Some(misdirected), Some(stamp)) = (suspect.mismatch.found, stamp) else {
        return IntendedLocation::Lacking;
    };
    let here = suspect.offset + (first * SECTOR) as u64;
    if stamp == misdirected {
        IntendedLocation::Intact
    } else if stamp.run == misdirected.run
        && stamp.offset == here
        && suspect
            .expected
            .is_none_or(|expected| expected.number == stamp.number)
    {
        IntendedLocation::Swapped
    } else {
        IntendedLocation::Lacking
    }
}

fn mark_of_stamp(stamp: SectorStamp) -> WriteIdentity {
    let SectorStamp {
        run,
        job,
        generation,
        number,
        when,
        ..
    } = stamp;
    WriteIdentity {
        run,
        job: job.into(),
        generation,
        number,
        when_unix_ns: Some(when),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fathom_model::{Access, Traffic, Verify, VerifyKind};

    use super::super::checker::Shape;
    use super::*;
    use crate::testing::{FakeHost, job};
    use crate::verify::Sectors;

    const BLOCK: u32 = 4096;
    const REGION: Region = Region {
        start: 0,
        end: 16 * BLOCK as u64,
    };

    fn verify(threads: u32) -> Verify {
        Verify {
            threads,
            ..Verify::with(VerifyKind::Fathom)
        }
    }

    /// A job that writes and verifies, with `threads` helpers.
    fn verifying_job(threads: u32) -> Job {
        let mut job = job(Traffic::Write, Access::Sequential { skip: 0 });
        job.verify = Some(verify(threads));
        job
    }

    fn verification(job: &Job) -> Verification<'_> {
        let verify = job.verify.as_ref().expect("the job verifies");
        let files = |_: &Path| unreachable!("no pattern names a file");
        let sectors = Sectors::new(verify, &job.payload, 7, 1, vec![77], &files).expect("stamps");
        let shape = Shape {
            once: true,
            granularity: BLOCK,
            depth: 2,
            memory_budget: 1 << 20,
        };
        let method = Method::Sectors(Arc::new(sectors));
        let checker = Checker::new(job, verify, method, shape, None, 1000);
        Verification::new(job, &[REGION], Some(checker), true)
    }

    fn host() -> FakeHost {
        FakeHost::new(|_, _| None)
    }

    /// Stamps block `block` as the next write, in slot 0.
    fn write(verification: &mut Verification<'_>, block: u64) -> Vec<u8> {
        let mut data = vec![0; BLOCK as usize];
        let checker = verification.checker().expect("enabled");
        checker.stamp(0, &mut data, 0, block * u64::from(BLOCK), 1);
        data
    }

    fn expected(block: u64, number: u64) -> ExpectedWrite {
        ExpectedWrite {
            file: 0,
            offset: block * u64::from(BLOCK),
            len: BLOCK,
            start: block * u64::from(BLOCK),
            number,
            generation: Some(1),
            before: None,
        }
    }

    /// Checks `data` as what a read of block `block` in slot 1 returned, where write `number` is
    /// expected.
    fn check(verification: &mut Verification<'_>, block: u64, number: u64, data: &[u8]) {
        let expected = expected(block, number);
        verification.expect(1, expected);
        let io = InFlight {
            offset: expected.offset,
            len: BLOCK,
            direction: Direction::Read,
            check: number,
            ..InFlight::NONE
        };
        assert!(verification.needs_check(&io));
        verification.check(&host(), 1, &io, data);
    }

    #[test]
    fn without_verify_nothing_is_checked() {
        let job = job(Traffic::Read, Access::Sequential { skip: 0 });
        let mut verification = Verification::new(&job, &[], None, true);
        assert!(!verification.is_enabled() && !verification.is_due());
        assert!(!verification.checks_reads() && !verification.separates_writes());
        assert_eq!(verification.check_of(Op::Read), 0);
        assert!(!verification.needs_check(&InFlight {
            check: 1,
            ..InFlight::NONE
        }));
        assert!(verification.begin_pass(0, true).is_none());
        assert!(verification.take_suspects().is_empty() && verification.state(&[]).is_none());
    }

    #[test]
    fn a_good_block_is_counted_and_a_wrong_one_is_reported_once() {
        let job = verifying_job(0);
        let mut verification = verification(&job);
        let good = write(&mut verification, 0);
        check(&mut verification, 0, 1, &good);
        assert!(verification.take_mismatches().is_empty());
        check(&mut verification, 0, 1, &[0; BLOCK as usize]);
        let reports = verification.take_mismatches();
        assert_eq!((reports.len(), reports[0].offset), (1, 0));
        assert!(
            reports[0].message.ends_with(" at byte 0 of test.0.0"),
            "{}",
            reports[0].message
        );
        assert!(verification.take_mismatches().is_empty());
        let counts = verification.counts();
        assert_eq!((counts.planned, counts.good, counts.bad), (2, 1, 1));
        assert_eq!(counts.bytes, 2 * u64::from(BLOCK));
    }

    #[test]
    fn a_second_read_says_whether_the_data_is_stored_wrong() {
        let cases = [
            (None, RereadResult::Good),
            (Some(0), RereadResult::Same),
            (Some(1), RereadResult::Changed),
        ];
        for (byte, second_read) in cases {
            let job = verifying_job(0);
            let mut verification = verification(&job);
            let good = write(&mut verification, 0);
            check(&mut verification, 0, 1, &[0; BLOCK as usize]);
            let mut suspects = verification.take_suspects();
            let again = byte.map_or(good, |byte| vec![byte; BLOCK as usize]);
            assert!(!verification.judge_reread(&mut suspects[0], &again));
            verification.conclude(suspects);
            let damages = verification.damages();
            assert_eq!((damages.len(), damages[0].reread), (1, second_read));
            assert_eq!(damages[0].class, DamageClass::Zeroed);
            assert_eq!(damages[0].expected.map(|mark| mark.number), Some(1));
        }
    }

    #[test]
    fn misdirected_data_is_classified_by_the_content_of_its_intended_location() {
        let cases = [
            ("itself", DamageClass::Duplicated),
            ("the other", DamageClass::Swapped),
            ("nothing", DamageClass::MisdirectedWrite),
        ];
        for (holds, class) in cases {
            let job = verifying_job(0);
            let mut verification = verification(&job);
            let (first, second) = (write(&mut verification, 0), write(&mut verification, 1));
            // Block 0 holds what was written to block 1.
            check(&mut verification, 0, 1, &second);
            let mut suspects = verification.take_suspects();
            let suspect = &mut suspects[0];
            assert_eq!(suspect.elsewhere, Some((0, u64::from(BLOCK))));
            assert!(verification.judge_reread(suspect, &second));
            let block = match holds {
                "itself" => Some(&second[..]),
                "the other" => Some(&first[..]),
                _ => None,
            };
            suspect.classify_misdirected(judge_intended_location(suspect, block));
            verification.conclude(suspects);
            assert_eq!(verification.damages()[0].class, class, "{holds}");
        }
    }

    #[test]
    fn only_blocks_of_the_job_are_read_again() {
        let job = verifying_job(0);
        let mut verification = verification(&job);
        assert!(verification.may_reread(0, 15 * u64::from(BLOCK), BLOCK));
        assert!(!verification.may_reread(0, 15 * u64::from(BLOCK) + 1, BLOCK));
        assert!(!verification.may_reread(1, 0, BLOCK));
        let io = InFlight {
            len: BLOCK,
            direction: Direction::Read,
            check: REREAD,
            ..InFlight::NONE
        };
        verification.clear_reread();
        assert_eq!(verification.take_reread(BLOCK), None);
        verification.check(&host(), 0, &io, &[5; BLOCK as usize]);
        assert_eq!(
            verification.take_reread(BLOCK),
            Some(vec![5; BLOCK as usize])
        );
        assert_eq!(verification.counts(), VerifyCounts::default());
    }

    #[test]
    fn a_failed_write_is_not_read_back() {
        let job = verifying_job(0);
        let mut verification = verification(&job);
        write(&mut verification, 0);
        verification.write_failed(0);
        assert!(!verification.is_readable(&expected(0, 1)));
        assert!(verification.is_readable(&expected(1, 2)));
        assert_eq!(verification.counts().unknown, 1);
        assert!(verification.is_fatal(5) && !verification.is_fatal(EILSEQ));
    }

    #[test]
    fn helpers_find_the_same_as_the_worker() {
        let job = verifying_job(2);
        let mut verification = verification(&job);
        let host = Arc::new(host());
        let good: Vec<Vec<u8>> = (0..9)
            .map(|block| write(&mut verification, block))
            .collect();
        verification.start_helpers(&host);
        for (block, data) in (0..).zip(&good) {
            check(&mut verification, block, block + 1, data);
        }
        check(&mut verification, 0, 1, &[0; BLOCK as usize]);
        verification.join(&*host);
        verification.stop_helpers();
        let counts = verification.counts();
        assert_eq!((counts.good, counts.bad), (9, 1));
        assert_eq!(verification.take_mismatches().len(), 1);
        assert_eq!(verification.take_suspects().len(), 1);
        assert!(verification.notes().is_empty());
    }
}
