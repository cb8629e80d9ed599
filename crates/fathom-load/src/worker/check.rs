//! Stamps what a job writes, and knows what to expect when it is read back.

use std::sync::Arc;
use std::time::Duration;

use fathom_model::{Direction, Job, Traffic, Verify};

use super::async_verify::CheckContext;
use super::chronicle::Chronicle;
use super::replay_writes::Heard;
use super::suspects::Suspects;
use super::write_replay::{ExpectedWrite, Ledger, Mark, Replay, Walk};
use crate::engine::Op;
use crate::script::{Draft, Script};
use crate::verify::{Expected, ReplayVerdict, Sectors, Stamper, VerifyState, Wanted, Write};

/// A read whose write is not known: only its stamp is checked.
pub(super) const ANY_WRITE: u64 = u64::MAX;
/// A second read of a block that was wrong.
pub(super) const SECOND_LOOK: u64 = u64::MAX - 1;
/// Failed writes that are remembered; their blocks may hold anything.
const FAILED: usize = 65_536;

/// Whose stamps blocks carry. Shared with the threads that check beside the worker.
#[derive(Clone)]
pub(super) enum Method {
    /// fio's headers.
    Fio(Arc<Stamper>),
    /// Ours, in every sector.
    Sectors(Arc<Sectors>),
}

/// Facts of a job that a checker needs besides its verify options.
pub(super) struct Shape {
    /// Each block is written at most once in a pass.
    pub once: bool,
    /// All offsets and lengths are multiples of this, bytes.
    pub grain: u32,
    /// I/Os in flight at once.
    pub depth: u32,
}

/// Stamps writes, remembers where they began in the script, and walks them again.
pub(super) struct Checker {
    pub method: Method,
    pub verify: Verify,
    /// Number of the next write, from 1.
    number: u64,
    /// Pass of the script, from 1.
    generation: u32,
    shape: Shape,
    /// Start over for ever.
    time_based: bool,
    /// By its plan the job writes.
    writes: bool,
    /// How often every place of this job was written before it only checks, where its plan says so.
    passes: Option<u32>,
    /// Ordinary reads are checked: the job writes nothing.
    pub checks_reads: bool,
    /// What was written by whom is learnt from the first good block of each file.
    anchored: Vec<bool>,
    mark: Option<Mark>,
    /// Where the pass before the open stretch began, in a job that starts over for ever.
    older: Option<Mark>,
    /// The write in each slot: its number when it was stamped, what is sought when it is read back.
    pub written: Vec<u64>,
    sought: Vec<Option<ExpectedWrite>>,
    failed: Vec<u64>,
    /// How far an earlier run came, and how many of its writes were looked for; once it says stop
    /// nothing more is read.
    loaded: Option<VerifyState>,
    looked_for: u64,
    pub stopped: bool,
    /// What a replay has written so far.
    pub heard: Option<Heard>,
    /// Writes handed over before the fsync in each slot, and before the last one that succeeded.
    before_sync: Vec<u64>,
    synced: u64,
    pub chronicle: Chronicle,
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
        let passes = passes(job, verify, &shape).filter(|_| loaded.is_none());
        Checker {
            method,
            verify: verify.clone(),
            number: 1,
            generation: 1,
            shape,
            time_based: job.limits.time_based && job.limits.runtime.is_some(),
            writes: traffic.uses(Direction::Write),
            passes,
            checks_reads: !writes || verify.only,
            anchored: vec![false; job.files.paths.len()],
            mark: None,
            older: None,
            written: vec![0; depth],
            sought: vec![None; depth],
            failed: Vec::new(),
            loaded,
            looked_for: 0,
            stopped: false,
            heard: (job.pace.replay.is_some() && verify.after_writes).then(Heard::default),
            before_sync: vec![0; depth],
            synced: 0,
            chronicle: Chronicle::new(),
            suspects: Suspects::default(),
            unix_start: unix_start_ns,
        }
    }

    /// Whether two writes of one place may be in flight at once unless they are kept apart.
    pub fn must_keep_apart(&self) -> bool {
        let again = !self.shape.once || self.time_based || !self.verify.after_writes;
        let by_number = matches!(self.method, Method::Sectors(_)) || self.heard.is_some();
        again && self.shape.depth > 1 && !self.checks_reads && by_number
    }

    /// Makes the content of the next write, which is in `slot`, `now` nanoseconds after the start.
    pub fn stamp(&mut self, slot: u32, buffer: &mut [u8], file: u32, offset: u64, now: u64) {
        let when = self.unix_start + now;
        match &self.method {
            // A block too small to carry a stamp was refused when the job was set up. fio counts
            // writes from 0.
            Method::Fio(stamper) => {
                drop(stamper.stamp(buffer, offset, self.number - 1, Duration::from_nanos(when)))
            }
            Method::Sectors(sectors) => {
                let write = Write {
                    number: self.number,
                    generation: self.generation,
                    when,
                };
                sectors.stamp(buffer, file, offset, write);
                self.chronicle.note(self.number, when);
            }
        }
        self.written[slot as usize] = self.number;
        self.number += 1;
    }

    /// The write in `slot` failed or was short.
    pub fn write_failed(&mut self, slot: u32) {
        if self.failed.len() < FAILED {
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

    /// How far the writes came, for a later run; `in_flight` are the slots whose I/O never ended.
    pub fn state(&self, job: &Job, in_flight: &[u32]) -> Option<VerifyState> {
        let wrote = !self.checks_reads && self.verify.state_save;
        let fsynced = self.verify.only_fsynced;
        wrote.then(|| VerifyState {
            name: job.name.clone(),
            index: u64::from(job.number.saturating_sub(1)),
            depth: self.shape.depth,
            issued: if fsynced {
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
        })
    }

    /// Leaves of the drafts those that are to be done.
    pub fn choose(&mut self, drafts: &mut Vec<Draft>) {
        self.only_reads(drafts);
        self.keep_to_state(drafts);
    }

    /// Leaves of the drafts those whose blocks a loaded state says were written.
    fn keep_to_state(&mut self, drafts: &mut Vec<Draft>) {
        let Some(state) = &self.loaded else { return };
        let (looked_for, stopped) = (&mut self.looked_for, &mut self.stopped);
        drafts.retain(|draft| {
            if *stopped {
                return false;
            }
            let verdict = state.verdict(*looked_for, draft.file.into(), draft.offset);
            *looked_for += 1;
            *stopped = verdict == ReplayVerdict::Stop;
            verdict == ReplayVerdict::Check
        });
    }

    pub fn has_failed(&self, number: u64) -> bool {
        !self.failed.is_empty() && self.failed.contains(&number)
    }

    /// How many drafts may be drawn before the next verify pass, at most `want`.
    pub fn room(&self, want: usize) -> usize {
        match (self.verify.backlog, &self.mark) {
            (0, _) | (_, None) => want
                .min(self.verify.backlog.max(1) as usize)
                .max(if self.verify.backlog == 0 { want } else { 1 }),
            (backlog, Some(mark)) => {
                backlog.saturating_sub(mark.drawn).clamp(1, want as u64) as usize
            }
        }
    }

    /// Before drafts are drawn: a stretch begins here unless one is open.
    pub fn about_to_draw(&mut self, script: &Script) {
        if self.verify.after_writes && !self.checks_reads && self.mark.is_none() {
            let (number, generation) = (self.number, self.generation);
            self.mark = Some(Mark {
                script: script.clone(),
                number,
                generation,
                drawn: 0,
                full: false,
                ended: false,
            });
        }
    }

    /// `n` drafts were drawn; 0 is the end of a pass.
    pub fn drew(&mut self, n: u64) {
        if let Some(mark) = &mut self.mark {
            mark.drawn += n;
            mark.ended |= n == 0;
            mark.full = n == 0 || (self.verify.backlog > 0 && mark.drawn >= self.verify.backlog);
        }
        if n == 0 {
            self.generation += 1;
            if self.time_based {
                self.start_over();
            }
        }
    }

    /// A pass of a job that starts over for ever has ended, and the next begins at once.
    fn start_over(&mut self) {
        match (&self.method, self.shape.once) {
            // fio reads back only what the last pass wrote.
            (Method::Fio(_), _) => self.mark = None,
            // Each place is in each pass: the last two tell what stands everywhere.
            (Method::Sectors(_), true) => self.older = self.mark.take(),
            (Method::Sectors(_), false) => {
                if let Some(mark) = &mut self.mark {
                    mark.full = false;
                }
            }
        }
    }

    /// Whether a stretch must be verified before more is drawn.
    pub fn due(&self) -> bool {
        self.mark
            .as_ref()
            .is_some_and(|mark| mark.full && mark.drawn > 0)
    }

    /// A write or trim of a replay is about to be handed over.
    pub fn hears(&mut self, draft: Draft) {
        let number = match draft.op {
            Op::Write => self.number,
            Op::Trim => 0,
            _ => return,
        };
        if let Some(heard) = &mut self.heard {
            heard.note(draft.file, draft.offset, draft.len, number);
        }
    }

    /// Writes of a replay that were too many to be remembered.
    pub fn forgotten(&self) -> u64 {
        self.heard.as_ref().map_or(0, Heard::unknown)
    }

    /// The first blocks of the open stretch, where no more than those are to be checked now
    /// (`verify_backlog_batch`). Blocks that may be written again within the stretch are known only
    /// once all of it is.
    fn first_of_stretch(&mut self) -> Option<Replay> {
        let batch = self.verify.backlog_batch;
        let known = self.shape.once || matches!(self.method, Method::Fio(_));
        let mark = self
            .mark
            .as_mut()
            .filter(|mark| (1..mark.drawn).contains(&batch) && known && !mark.ended)?;
        let first = Walk::new(mark.clone(), batch);
        *mark = Mark {
            drawn: mark.drawn - batch,
            full: false,
            ..mark.moved_on(batch)
        };
        Some(Replay::Once(first))
    }

    /// Whether something that was written has not been read back yet.
    pub fn has_rest(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.drawn > 0)
    }

    /// Takes the open stretch, of which the last `unused` drafts were never handed over; all of it
    /// at the `last` time.
    pub fn replay(&mut self, unused: u64, last: bool) -> Option<Replay> {
        if let Some(heard) = self.heard.as_mut().map(std::mem::take) {
            let lasting = heard.lasting();
            return (!lasting.is_empty()).then(|| Replay::Listed(lasting.into_iter()));
        }
        if let Some(first) = if last || unused > 0 {
            None
        } else {
            self.first_of_stretch()
        } {
            return Some(first);
        }
        let older = self.older.take();
        let drawn = self.mark.as_ref().map_or(0, |mark| mark.drawn)
            + older.as_ref().map_or(0, |mark| mark.drawn);
        let once = self.shape.once && older.is_none();
        let mark = older.or(self.mark.take())?;
        self.mark = None;
        let left = drawn.saturating_sub(unused);
        if left == 0 {
            return None;
        }
        let walk = Walk::new(mark, left);
        Some(match self.method {
            Method::Sectors(_) if !once => {
                Replay::Latest(Box::new(Ledger::new(walk, self.shape.grain)))
            }
            _ => Replay::Once(walk),
        })
    }

    /// The read in `slot` is to find this write.
    pub fn seek(&mut self, slot: u32, sought: ExpectedWrite) {
        self.sought[slot as usize] = Some(sought);
    }

    /// The write that the read in `slot` is to find.
    pub fn sought(&self, slot: u32) -> Option<ExpectedWrite> {
        self.sought[slot as usize]
    }

    /// What fio's header is to hold.
    pub fn expected(&self, stamper: &Stamper, number: u64, offset: u64) -> Expected {
        let known = (self.shape.once || self.heard.is_some()) && number != ANY_WRITE;
        Expected {
            number: (known && self.verify.write_sequence).then(|| number - 1),
            seed: (known && self.verify.header_seed).then(|| stamper.seed_of(number - 1, offset)),
        }
    }

    /// All that a block read from `offset` is checked against.
    pub fn terms(&self, sought: Option<ExpectedWrite>, number: u64, offset: u64) -> CheckContext {
        let expected = match &self.method {
            Method::Fio(stamper) => self.expected(stamper, number, offset),
            Method::Sectors(_) => Expected::default(),
        };
        CheckContext {
            expected,
            wanted: self.wanted(sought),
            dump: self.verify.dump,
        }
    }

    /// What our stamps are to hold.
    pub fn wanted(&self, sought: Option<ExpectedWrite>) -> Wanted {
        Wanted {
            number: sought.map(|sought| sought.number),
            generation: sought.map_or(self.passes, |sought| sought.generation),
            before: sought.and_then(|sought| sought.before),
            last: if self.checks_reads {
                u64::MAX
            } else {
                self.number - 1
            },
        }
    }

    /// A job that writes nothing takes over run and target from the first good block of each file.
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

    /// What the drafts of a job that only checks become: its writes are read, the reads between
    /// them, which may be of places that were never written, are left out (regression 0062).
    fn only_reads(&self, drafts: &mut Vec<Draft>) {
        if self.verify.only && self.writes {
            drafts.retain(|draft| draft.op == Op::Write);
            drafts.iter_mut().for_each(|draft| draft.op = Op::Read);
        }
    }
}

/// How often each place of a job that only checks was written by the run that it looks for, when
/// that came to its end: what an earlier pass left there is then a write that was lost. Not known
/// of jobs that end by time or amount, or also read.
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
