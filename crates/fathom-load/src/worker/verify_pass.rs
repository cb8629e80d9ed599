//! Reads back what was written, and reads mismatches a second time.

use fathom_model::{EventKind, Nanos};

use super::Worker;
use super::checker::REREAD;
use super::suspects::{IntendedLocation, Suspect};
use super::verification::{MismatchReport, judge_intended_location};
use super::write_replay::{ExpectedWrite, WriteReplay};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op};
use crate::errno::EILSEQ;
use crate::host::Host;
use crate::io_generator::PlannedIo;
use crate::live::Stop;
use crate::recorder::InFlight;

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Reads back and checks what was written since the last verify pass; all of it at the `last`
    /// one.
    pub(super) fn verify_pass(&mut self, last: bool) {
        let unused = self.source.ahead().len() as u64;
        let Some(mut replay) = self.verification.begin_pass(unused, last) else {
            return;
        };
        let begun = self.now();
        if let Err(error) = self.read_back(&mut replay).and_then(|()| self.drain()) {
            self.fail(error.errno, error.to_string());
        }
        let measured = self
            .now()
            .saturating_sub(begun.max(self.times.measured_from));
        let interrupted = self.live.stopping() != Stop::No || self.has_fatal_error();
        self.verification
            .end_pass(&mut replay, Nanos::new(measured), interrupted);
    }

    /// Counts what was written and will not be read back because the run was interrupted.
    pub(super) fn count_unread(&mut self) {
        let unused = self.source.ahead().len() as u64;
        if let Some(mut replay) = self.verification.begin_pass(unused, true) {
            self.verification.end_pass(&mut replay, Nanos::ZERO, true);
        }
    }

    fn read_back(&mut self, replay: &mut WriteReplay) -> Result<(), EngineError> {
        let mut now = self.now();
        // A verify pass is a closed loop.
        let schedule = self.pacing.suspend();
        loop {
            while self.queue.busy() < self.queue.depth() {
                let Some(expected) = replay.next() else { break };
                if self.verification.is_readable(&expected) {
                    self.push_check(expected, now);
                }
            }
            if self.live.stopping() != Stop::No || self.has_fatal_error() {
                break;
            }
            if !self.queue.batch().is_empty() {
                now = self.submit(now)?;
            } else if self.queue.in_flight() == 0 {
                break;
            }
            now = self.reap(now)?;
        }
        self.pacing.resume(schedule);
        Ok(())
    }

    /// Whether an error ends a verify pass.
    fn has_fatal_error(&self) -> bool {
        let error = self.outcome.error.as_ref();
        error.is_some_and(|error| self.verification.is_fatal(error.errno))
    }

    fn push_check(&mut self, expected: ExpectedWrite, now: u64) {
        let ExpectedWrite {
            file,
            offset,
            len,
            number,
            ..
        } = expected;
        self.push(read(file, offset, len), now);
        let slot = self.queue.check_last(number).expect("was just pushed");
        self.verification.expect(slot, expected);
    }

    /// Checks a block that was read.
    #[cold]
    pub(super) fn check_read(&mut self, slot: u32, io: &InFlight) {
        self.verification.count_read(io);
        if self.verification.needs_check(io) {
            let block = &self.engine.buffer(slot)[..io.len as usize];
            self.verification.check(self.host, slot, io, block);
            self.report_mismatches();
        }
    }

    fn report_mismatches(&mut self) {
        for MismatchReport { offset, message } in self.verification.take_mismatches() {
            self.report_mismatch(offset, message);
        }
    }

    fn report_mismatch(&mut self, offset: u64, message: String) {
        let now = self.now();
        if !self
            .recorder
            .has_event(|e| matches!(e, EventKind::FirstMismatch { .. }))
        {
            let event = EventKind::FirstMismatch {
                offset,
                difference: message.clone(),
            };
            self.recorder.event(now, event);
        }
        if self.job.errors.continue_verify {
            self.outcome.errors_continued += 1;
            return;
        }
        let message = format!("verify: {message}");
        if self.verification.reads_on() {
            self.note_error(EILSEQ, message);
        } else {
            self.fail(EILSEQ, message);
        }
    }

    /// Reads every wrong block again, and the intended location of misdirected data. Nothing else is
    /// in flight.
    pub(super) fn confirm_mismatches(&mut self) {
        self.verification.join(self.host);
        self.report_mismatches();
        let mut suspects = self.verification.take_suspects();
        for suspect in &mut suspects {
            if self.live.stopping() != Stop::No || self.queue.in_flight() > 0 {
                break;
            }
            self.confirm(suspect);
        }
        self.verification.conclude(suspects);
    }

    fn confirm(&mut self, suspect: &mut Suspect) {
        let Some(block) = self.reread(suspect.file, suspect.offset, suspect.len) else {
            return;
        };
        if !self.verification.judge_reread(suspect, &block) {
            return;
        }
        let location = suspect
            .elsewhere
            .map_or(IntendedLocation::Lacking, |(file, offset)| {
                let block = self.reread(file, offset, suspect.len);
                judge_intended_location(suspect, block.as_deref())
            });
        suspect.classify_misdirected(location);
    }

    /// Reads one block; `None` when that fails or the block is outside of what the job may touch.
    fn reread(&mut self, file: u32, offset: u64, len: u32) -> Option<Vec<u8>> {
        if !self.verification.may_reread(file, offset, len) {
            return None;
        }
        self.verification.clear_reread();
        let now = self.now();
        self.push(read(file, offset, len), now);
        self.queue.check_last(REREAD)?;
        self.drain().ok()?;
        self.verification.take_reread(len)
    }
}

fn read(file: u32, offset: u64, len: u32) -> PlannedIo {
    PlannedIo {
        offset,
        len,
        file,
        op: Op::Read,
        then_write: false,
        prio: 0,
    }
}
