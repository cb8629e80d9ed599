//! Stamps the writes of a job, and determines the expected content when blocks are read back.

use std::sync::Arc;
use std::time::Duration;

use fathom_model::{Direction, Job, Traffic, Verify};

use super::block_check::{CheckContext, Method};
use super::replay_writes::ReplayedWrites;
use super::suspects::Suspects;
use super::write_replay::{
    ExpectedWrite, GeneratedWrites, LastPieces, LastWrites, UnverifiedWrites, WriteReplay,
};
use super::write_times::WriteTimes;
use crate::engine::Op;
use crate::io_generator::{IoGenerator, PlannedIo};
use crate::verify::{Expected, ExpectedStamps, ReplayVerdict, SECTOR, Stamper, VerifyState, Write};

/// A read of an unknown write: only its stamp is checked.
pub(super) const ANY_WRITE: u64 = u64::MAX;
/// A second read of a wrong block.
pub(super) const REREAD: u64 = u64::MAX - 1;
/// Maximum number of failed writes that are tracked; their blocks may contain anything.
const MAX_FAILED: usize = 65_536;

/// How a job writes, as far as its verification depends on it.
pub(super) struct Shape {
    /// Each block is written at most once in a pass.
    pub once: bool,
    /// All offsets and lengths are multiples of this, bytes.
    pub granularity: u32,
    /// I/Os in flight at once.
    pub depth: u32,
    /// Bytes for notes about writes.
    pub memory_budget: u64,
}

/// Stamps writes, keeps the state of the generator at the first of them, and replays them from there.
pub(super) struct Checker {
    pub method: Method,
    pub verify: Verify,
    /// Number of the next write, from 1.
    number: u64,
    /// Pass of the generator, from 1.
    generation: u32,
    shape: Shape,
    /// The job starts over until its time ends.
    time_based: bool,
    /// The job writes, by its plan.
    writes: bool,
    /// Each pass writes every block once.
    everywhere: bool,
    /// Writes may overwrite each other, and there is one amount of them however many passes it
    /// takes. As in fio, it is verified at its end.
    one_amount: bool,
    /// How often each block was written by the earlier run that a verify-only job checks, where it
    /// is known.
    passes: Option<u32>,
    /// Ordinary reads are checked: the job writes nothing.
    pub checks_reads: bool,
    /// For each file, whether the run that wrote it was identified from its first good block.
    anchored: Vec<bool>,
    /// The writes that have not been verified.
    unverified: Option<UnverifiedWrites>,
    /// The pass before `unverified`, in a job that starts over until its time ends.
    older: Option<UnverifiedWrites>,
    /// Number of the last write in each slot.
    written: Vec<u64>,
    /// The write that the read in each slot should return.
    expected: Vec<Option<ExpectedWrite>>,
    failed: Vec<u64>,
    /// The progress of an earlier run.
    loaded: Option<VerifyState>,
    /// How many of its writes were generated.
    loaded_drawn: u64,
    /// Writes after those that the loaded state lists.
    unlisted: u64,
    /// They are all counted, and nothing more is generated.
    pub counted: bool,
    /// The loaded state lists no further write: nothing more is read.
    pub stopped: bool,
    /// What a replay has written so far.
    replayed: Option<ReplayedWrites>,
    /// Generated writes that cannot be read back because there were too many to track.
    too_many: u64,
    /// Number of the last write submitted before the fsync in each slot.
    before_sync: Vec<u64>,
    /// Number of the last write submitted before an fsync that succeeded.
    synced: u64,
    pub write_times: WriteTimes,
    pub suspects: Suspects,
    unix_start: u64,
}

impl Checker {
    pub fn new(
        job: &Job,
        verify: &Verify,
        method: Method,
        shape: Shape,
        loaded: Option<VerifyState>,
        unix_start_ns: u64,
    ) -> Self {
        let traffic = job.pattern.traffic;
        let writes = traffic.uses(Direction::Write) || traffic.uses(Direction::Trim);
        let depth = shape.depth as usize;
        let once = shape.once;
        let everywhere = once && traffic == Traffic::Write;
        let passes = passes(job, verify, &shape).filter(|_| loaded.is_none());
        Checker {
            method,
            verify: verify.clone(),
            number: 1,
            generation: 1,
            shape,
            time_based: job.limits.time_based && job.limits.runtime.is_some(),
            writes: traffic.uses(Direction::Write),
            everywhere,
            one_amount: !(once || job.limits.time_based && job.limits.runtime.is_some()),
            passes,
            checks_reads: !writes || verify.only,
            anchored: vec![false; job.files.paths.len()],
            unverified: None,
            older: None,
            written: vec![0; depth],
            expected: vec![None; depth],
            failed: Vec::new(),
            loaded,
            loaded_drawn: 0,
            unlisted: 0,
            counted: false,
            stopped: false,
            replayed: (job.pace.replay.is_some() && verify.after_writes)
                .then(ReplayedWrites::default),
            too_many: 0,
            before_sync: vec![0; depth],
            synced: 0,
            write_times: WriteTimes::new(),
            suspects: Suspects::default(),
            unix_start: unix_start_ns,
        }
    }

    /// Whether writes of one block must not be in flight together, because their order determines the
    /// content.
    pub fn separates_writes(&self) -> bool {
        let rewrites = match &self.method {
            Method::Sectors(_) => !self.shape.once || self.time_based || !self.verify.after_writes,
            // Each pass is read back before the next one.
            Method::Fio(stamper) => {
                stamper.has_header() && !self.shape.once && self.verify.after_writes
            }
        };
        (rewrites || self.replayed.is_some()) && self.shape.depth > 1 && !self.checks_reads
    }

    /// Stamps the next write, which is in `slot`, `now` nanoseconds after the start.
    pub fn stamp(&mut self, slot: u32, buffer: &mut [u8], file: u32, offset: u64, now: u64) {
        let when = self.unix_start + now;
        match &self.method {
            // A block too small to carry a stamp was refused when the job was set up. fio counts
            // writes from 0.
            Method::Fio(stamper) => {
                drop(stamper.stamp(buffer, offset, self.number - 1, Duration::from_nanos(when)));
            }
            Method::Sectors(sectors) => {
                let write = Write {
                    number: self.number,
                    generation: self.generation,
                    when,
                };
                sectors.stamp(buffer, file, offset, write);
                self.write_times.note(self.number, when);
            }
        }
        self.written[slot as usize] = self.number;
        self.number += 1;
    }

    /// The write in `slot` failed or was short.
    pub fn write_failed(&mut self, slot: u32) {
        if self.failed.len() < MAX_FAILED {
            self.failed.push(self.written[slot as usize]);
        }
    }

    /// A sync goes into `slot`.
    pub fn sync_begins(&mut self, slot: u32) {
        self.before_sync[slot as usize] = self.number - 1;
    }

    /// The sync in `slot` succeeded.
    pub fn sync_done(&mut self, slot: u32) {
        self.synced = self.synced.max(self.before_sync[slot as usize]);
    }

    /// The progress of the writes, for a later run. `in_flight` are the slots whose I/O never
    /// completed.
    pub fn state(&self, job: &Job, in_flight: &[u32]) -> Option<VerifyState> {
        let wrote = !self.checks_reads && self.verify.state_save;
        wrote.then(|| self.progress(job, in_flight))
    }

    fn progress(&self, job: &Job, in_flight: &[u32]) -> VerifyState {
        VerifyState {
            name: job.name.clone(),
            index: u64::from(job.number.saturating_sub(1)),
            depth: self.shape.depth,
            issued: if self.verify.only_fsynced {
                self.synced
            } else {
                self.number - 1
            },
            in_flight: in_flight
                .iter()
                .map(|slot| self.written[*slot as usize].saturating_sub(1))
                .collect(),
            failed: self.failed.iter().map(|number| number - 1).collect(),
            completed: None,
            unfinished: None,
        }
    }

    /// The progress while the run lasts. `busy` are the slots of writes that have not completed;
    /// what was written from the oldest of them on is unknown if the run is killed.
    pub fn state_so_far(&self, job: &Job, busy: impl Iterator<Item = u32>) -> Option<VerifyState> {
        let state = (!self.checks_reads).then(|| self.progress(job, &[]))?;
        let oldest = busy
            .map(|slot| self.written[slot as usize].saturating_sub(1))
            .min();
        Some(VerifyState {
            issued: oldest.map_or(state.issued, |oldest| state.issued.min(oldest)),
            unfinished: Some(VerifyState::targets_of(job)),
            ..state
        })
    }

    /// Writes of this job that a loaded state does not list. Their blocks are unknown and are not
    /// read.
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Keeps the I/Os to be submitted.
    pub fn select(&mut self, planned_ios: &mut Vec<PlannedIo>) {
        self.turn_writes_into_reads(planned_ios);
        self.apply_loaded_state(planned_ios);
    }

    /// Keeps the I/Os whose blocks were written according to the loaded state.
    fn apply_loaded_state(&mut self, planned_ios: &mut Vec<PlannedIo>) {
        let Some(state) = &self.loaded else { return };
        let (loaded_drawn, stopped) = (&mut self.loaded_drawn, &mut self.stopped);
        let unlisted = &mut self.unlisted;
        planned_ios.retain(|planned_io| {
            if *stopped {
                *unlisted += 1;
                return false;
            }
            let verdict = state.verdict(*loaded_drawn, planned_io.file.into(), planned_io.offset);
            *loaded_drawn += 1;
            *stopped = verdict == ReplayVerdict::Stop;
            *unlisted += u64::from(*stopped);
            verdict == ReplayVerdict::Check
        });
    }

    pub fn has_failed(&self, number: u64) -> bool {
        !self.failed.is_empty() && self.failed.contains(&number)
    }

    /// How many I/Os may be generated before the next verify pass, at most `want`.
    pub fn room(&self, want: usize) -> usize {
        match (self.verify.backlog, &self.unverified) {
            (0, _) | (_, None) => want
                .min(self.verify.backlog.max(1) as usize)
                .max(if self.verify.backlog == 0 { want } else { 1 }),
            (backlog, Some(unverified)) => backlog
                .saturating_sub(unverified.drawn)
                .clamp(1, want as u64) as usize,
        }
    }

    /// I/Os are about to be generated: unverified writes begin here unless there are some already.
    pub fn before_draw(&mut self, generator: &IoGenerator) {
        if self.verify.after_writes && !self.checks_reads && self.unverified.is_none() {
            let (number, generation) = (self.number, self.generation);
            self.unverified = Some(UnverifiedWrites {
                generator: generator.clone(),
                number,
                generation,
                drawn: 0,
                full: false,
                ended: false,
            });
        }
    }

    /// `n` I/Os were generated; 0 is the end of a pass.
    pub fn note_drawn(&mut self, n: u64) {
        if let Some(unverified) = &mut self.unverified {
            unverified.drawn += n;
            unverified.ended |= n == 0;
            unverified.full = n == 0 && !self.one_amount
                || (self.verify.backlog > 0 && unverified.drawn >= self.verify.backlog);
        }
        if n == 0 {
            self.generation += 1;
            if self.time_based {
                self.start_over();
            }
        }
    }

    /// A pass of a job that starts over until its time ends has ended, and the next begins at once.
    fn start_over(&mut self) {
        match &self.method {
            // Each pass is read back before the next one, as in fio.
            Method::Fio(_) => {}
            // Each pass writes every block: the last two decide what every block holds.
            Method::Sectors(_) if self.everywhere => self.older = self.unverified.take(),
            Method::Sectors(_) => {
                if let Some(unverified) = &mut self.unverified {
                    unverified.full = false;
                }
            }
        }
    }

    /// Whether writes must be verified before more I/O is generated.
    pub fn is_due(&self) -> bool {
        self.unverified
            .as_ref()
            .is_some_and(|unverified| unverified.full && unverified.drawn > 0)
    }

    /// A write or trim of a replay is about to be submitted.
    pub fn note_replayed(&mut self, planned_io: PlannedIo) {
        let number = match planned_io.op {
            Op::Write => self.number,
            Op::Trim => 0,
            _ => return,
        };
        if let Some(replayed) = &mut self.replayed {
            replayed.note(planned_io.file, planned_io.offset, planned_io.len, number);
        }
    }

    /// Writes of a replay that cannot be read back because there were too many to track.
    pub fn unverifiable(&self) -> u64 {
        self.replayed.as_ref().map_or(0, ReplayedWrites::unknown) + self.too_many
    }

    /// The first of the unverified writes, where only those are checked now
    /// (`verify_backlog_batch`). Where a block may be written again, its content depends on all of
    /// them.
    fn first_unverified(&mut self) -> Option<WriteReplay> {
        let batch = self.verify.backlog_batch;
        let known = self.shape.once;
        let unverified = self.unverified.as_mut().filter(|unverified| {
            (1..unverified.drawn).contains(&batch) && known && !unverified.ended
        })?;
        let first = GeneratedWrites::new(unverified.clone(), batch);
        *unverified = UnverifiedWrites {
            drawn: unverified.drawn - batch,
            full: false,
            ..unverified.after(batch)
        };
        Some(WriteReplay::InOrder(first))
    }

    /// Whether something that was written has not been read back yet.
    pub fn has_unverified(&self) -> bool {
        self.unverified
            .as_ref()
            .is_some_and(|unverified| unverified.drawn > 0)
    }

    /// Takes the unverified writes, of which the last `unused` I/Os were never submitted; all of them at
    /// the `last` time.
    pub fn replay(&mut self, unused: u64, last: bool) -> Option<WriteReplay> {
        if let Some(replayed) = self.replayed.as_mut().map(std::mem::take) {
            let intact = replayed.intact();
            return (!intact.is_empty()).then(|| WriteReplay::Listed(intact.into_iter()));
        }
        if let Some(first) = if last || unused > 0 {
            None
        } else {
            self.first_unverified()
        } {
            return Some(first);
        }
        let older = self.older.take();
        let drawn = self
            .unverified
            .iter()
            .chain(&older)
            .map(|unverified| unverified.drawn)
            .sum::<u64>();
        let sectors = matches!(self.method, Method::Sectors(_));
        let passes = self.unverified.iter().any(|writes| writes.ended);
        let once = self.shape.once && older.is_none() && !(sectors && self.time_based && passes);
        let unverified = older.or(self.unverified.take())?;
        self.unverified = None;
        let left = drawn.saturating_sub(unused);
        if left == 0 {
            return None;
        }
        let walk = GeneratedWrites::new(unverified, left);
        let (granularity, budget) = (self.shape.granularity, self.shape.memory_budget);
        Some(match self.method {
            _ if once => WriteReplay::InOrder(walk),
            Method::Sectors(_) => {
                WriteReplay::LastOfEach(Box::new(LastWrites::new(walk, granularity, budget)))
            }
            Method::Fio(_) if granularity >= SECTOR as u32 => {
                let pieces = LastPieces::new(walk, granularity, self.verify.interval, budget);
                WriteReplay::LastPieces(Box::new(pieces))
            }
            // Writes that begin at any byte.
            Method::Fio(_) => {
                let (mut walk, mut writes) = (walk, ReplayedWrites::default());
                while let Some(write) = walk.next() {
                    writes.note(write.file, write.offset, write.len, write.number);
                }
                self.too_many += writes.unknown();
                WriteReplay::Listed(writes.intact().into_iter())
            }
        })
    }

    /// The read in `slot` should return this write.
    pub fn expect(&mut self, slot: u32, expected: ExpectedWrite) {
        self.expected[slot as usize] = Some(expected);
    }

    /// The write that the read in `slot` should return.
    pub fn expected_in(&self, slot: u32) -> Option<ExpectedWrite> {
        self.expected[slot as usize]
    }

    /// The expected values of fio's header.
    fn expected_header(&self, stamper: &Stamper, number: u64, offset: u64) -> Expected {
        let known = number != ANY_WRITE;
        Expected {
            number: (known && self.verify.write_sequence).then(|| number - 1),
            seed: (known && self.verify.header_seed).then(|| stamper.seed_of(number - 1, offset)),
        }
    }

    /// The expectations for a block read from `offset`.
    pub fn context(
        &self,
        expected: Option<ExpectedWrite>,
        number: u64,
        offset: u64,
    ) -> CheckContext {
        let header = match &self.method {
            Method::Fio(stamper) => {
                let start = expected.map_or(offset, |expected| expected.start);
                self.expected_header(stamper, number, start)
            }
            Method::Sectors(_) => Expected::default(),
        };
        CheckContext {
            expected: header,
            wanted: self.wanted(expected),
            dump: self.verify.dump,
        }
    }

    /// The expected values of fathom's stamps.
    pub fn wanted(&self, expected: Option<ExpectedWrite>) -> ExpectedStamps {
        ExpectedStamps {
            number: expected.map(|expected| expected.number),
            generation: expected.map_or(self.passes, |expected| expected.generation),
            before: expected.and_then(|expected| expected.before),
            first_since: expected
                .filter(|expected| {
                    expected.before.is_none() && expected.generation.is_none_or(|pass| pass <= 1)
                })
                .map(|_| self.unix_start),
            last: if self.checks_reads {
                u64::MAX
            } else {
                self.number - 1
            },
        }
    }

    /// A job that writes nothing adopts run and target from the first good block of each file.
    pub fn anchor(&mut self, block: &[u8], file: u32, offset: u64) {
        if !self.checks_reads || self.anchored.get(file as usize) != Some(&false) {
            return;
        }
        if let Method::Sectors(sectors) = &mut self.method {
            let is_first = !self.anchored.contains(&true);
            self.anchored[file as usize] =
                Arc::make_mut(sectors).adopt(block, file, offset, is_first);
        }
    }

    /// Turns the writes of a job that only checks into reads. The reads between them are left out:
    /// they may be of blocks that were never written (regression 0062).
    fn turn_writes_into_reads(&self, planned_ios: &mut Vec<PlannedIo>) {
        if self.verify.only && self.writes {
            planned_ios.retain(|planned_io| planned_io.op == Op::Write);
            planned_ios
                .iter_mut()
                .for_each(|planned_io| planned_io.op = Op::Read);
        }
    }
}

/// How often a completed run wrote each block, for a job that only checks what that run left: data
/// of an earlier pass is then a lost write. Not known for jobs that end by time or amount, or that
/// also read.
fn passes(job: &Job, verify: &Verify, shape: &Shape) -> Option<u32> {
    let limits = &job.limits;
    let in_full = !limits.time_based
        && limits.runtime.is_none()
        && limits.io_size.is_none()
        && limits.ios.is_none();
    let everywhere =
        job.pattern.traffic == Traffic::Write && shape.once && job.pattern.zones.is_none();
    if verify.only && in_full && everywhere {
        u32::try_from(limits.loops).ok()
    } else {
        None
    }
}
