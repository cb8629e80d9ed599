//! Stamps what a job writes and checks what it reads back.

use std::time::Duration;

use fathom_model::{Direction, EventKind, Job, Verify};

use super::{EILSEQ, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op};
use crate::host::Host;
use crate::live::Stop;
use crate::recorder::InFlight;
use crate::script::{Draft, Script};
use crate::verify::{Expected, Stamper};

/// A read whose write is not known: only its stamp is checked.
pub(super) const ANY_WRITE: u64 = u64::MAX;

/// Stamps writes, remembers where they began in the script, and walks them again.
pub(super) struct Checker {
    stamper: Stamper,
    verify: Verify,
    /// Number of the next write, from 1.
    number: u64,
    /// Each block is written at most once in a pass, so the number found must be the one written.
    exact: bool,
    /// Start over for ever: what an earlier pass wrote is not read back.
    time_based: bool,
    /// Ordinary reads are checked: the job writes nothing.
    pub checks_reads: bool,
    mark: Option<Mark>,
    unix_start: Duration,
}

/// A place in the script from which on writes have not been verified.
struct Mark {
    script: Script,
    number: u64,
    drawn: u64,
    full: bool,
}

/// Walks a marked stretch of the script again.
struct Replay {
    script: Script,
    left: u64,
    number: u64,
    drafts: Vec<Draft>,
    next: usize,
}

impl Checker {
    pub fn new(job: &Job, verify: &Verify, stamper: Stamper, exact: bool, unix_start: Duration) -> Self {
        let traffic = job.pattern.traffic;
        let writes = traffic.uses(Direction::Write) || traffic.uses(Direction::Trim);
        Checker {
            stamper,
            verify: verify.clone(),
            number: 1,
            exact,
            time_based: job.limits.time_based && job.limits.runtime.is_some(),
            checks_reads: !writes || verify.only,
            mark: None,
            unix_start,
        }
    }

    /// Makes the content of the next write.
    pub fn stamp(&mut self, buffer: &mut [u8], offset: u64) {
        // A block too small to carry a stamp was refused when the job was set up.
        let _ = self.stamper.stamp(buffer, offset, self.number, self.unix_start);
        self.number += 1;
    }

    /// How many drafts may be drawn before the next verify pass, at most `want`.
    pub fn room(&self, want: usize) -> usize {
        match (self.verify.backlog, &self.mark) {
            (0, _) | (_, None) => want.min(self.verify.backlog.max(1) as usize).max(if self.verify.backlog == 0 { want } else { 1 }),
            (backlog, Some(mark)) => backlog.saturating_sub(mark.drawn).clamp(1, want as u64) as usize,
        }
    }

    /// Before drafts are drawn: a stretch begins here unless one is open.
    pub fn about_to_draw(&mut self, script: &Script) {
        if self.verify.after_writes && !self.checks_reads && self.mark.is_none() {
            self.mark = Some(Mark { script: script.clone(), number: self.number, drawn: 0, full: false });
        }
    }

    /// `n` drafts were drawn; 0 is the end of a pass.
    pub fn drew(&mut self, n: u64) {
        if let Some(mark) = &mut self.mark {
            mark.drawn += n;
            mark.full = n == 0 || (self.verify.backlog > 0 && mark.drawn >= self.verify.backlog);
        }
        if n == 0 && self.time_based {
            self.mark = None;
        }
    }

    /// Whether a stretch must be verified before more is drawn.
    pub fn due(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.full && mark.drawn > 0)
    }

    /// Takes the open stretch, of which the last `unused` drafts were never handed over.
    fn replay(&mut self, unused: u64) -> Option<Replay> {
        let mark = self.mark.take()?;
        let left = mark.drawn.saturating_sub(unused);
        (left > 0).then_some(Replay { script: mark.script, left, number: mark.number, drafts: Vec::new(), next: 0 })
    }

    fn expected(&self, number: u64, offset: u64) -> Expected {
        let known = self.exact && number != ANY_WRITE;
        Expected {
            number: (known && self.verify.write_sequence).then_some(number),
            seed: (known && self.verify.header_seed).then(|| self.stamper.seed_of(number, offset)),
        }
    }
}

impl Replay {
    /// The next write of the stretch, as a read, with its number.
    fn next(&mut self) -> Option<(Draft, u64)> {
        while self.left > 0 {
            if self.next == self.drafts.len() {
                self.drafts.clear();
                self.next = 0;
                let mut tries = 0;
                while self.script.fill(&mut self.drafts, 256) == 0 && tries < 2 {
                    tries += 1;
                }
                if self.drafts.is_empty() {
                    return None;
                }
            }
            let draft = self.drafts[self.next];
            self.next += 1;
            self.left -= 1;
            if draft.op == Op::Write || draft.then_write {
                let number = self.number;
                self.number += 1;
                return Some((Draft { op: Op::Read, then_write: false, ..draft }, number));
            }
        }
        None
    }
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether written blocks must be verified before the script goes on.
    pub(super) fn verify_due(&self) -> bool {
        self.checker.as_ref().is_some_and(Checker::due)
    }

    /// Reads back and checks what was written since the last verify pass.
    pub(super) fn verify_pass(&mut self) {
        let unused = (self.drafts.len() - self.next_draft) as u64;
        let Some(mut replay) = self.checker.as_mut().and_then(|checker| checker.replay(unused)) else { return };
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
                let Some((draft, number)) = replay.next() else { break };
                self.prepare(draft, now);
                let slot = self.batch.last().expect("was just prepared").slot;
                self.slots[slot as usize].check = number;
                self.verify.planned += 1;
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

    /// Whether the error that was met ends a verify pass: a mismatch does only with `verify_fatal`.
    fn fatal_error(&self) -> bool {
        let fatal = self.checker.as_ref().is_some_and(|checker| checker.verify.fatal);
        self.error.as_ref().is_some_and(|error| error.errno != EILSEQ || fatal)
    }

    /// Checks a block that was read.
    #[cold]
    pub(super) fn look_at(&mut self, slot: u32, io: &InFlight) {
        let Some(checker) = &self.checker else { return };
        if io.direction != Direction::Read || io.check == 0 {
            return;
        }
        let expected = checker.expected(io.check, io.offset);
        let block = &self.engine.buffer(slot)[..io.len as usize];
        let found = checker.stamper.check(block, io.offset, expected);
        self.verify.bytes += u64::from(io.len);
        match found {
            Ok(()) => self.verify.good += 1,
            Err(mismatch) => {
                self.verify.bad += 1;
                self.mismatched(io.offset, mismatch.to_string());
            }
        }
    }

    fn mismatched(&mut self, offset: u64, what: String) {
        let now = self.now();
        if !self.recorder.noted(|e| matches!(e, EventKind::FirstMismatch { .. })) {
            self.recorder.event(now, EventKind::FirstMismatch { offset, what: what.clone() });
        }
        if self.job.errors.continue_verify {
            self.errors_continued += 1;
            return;
        }
        self.fail(EILSEQ, format!("verify: {what}"));
    }
}
