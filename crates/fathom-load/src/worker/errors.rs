//! I/Os that did not complete in full, syncs, and the end of a job.

use std::sync::atomic::Ordering::Relaxed;

use fathom_model::{Bytes, Direction, EventKind, JobError};

use super::Worker;
use crate::clock::Clock;
use crate::engine::{Completion, Engine};
use crate::errno::{EDQUOT, EIO, ENOSPC};
use crate::host::Host;
use crate::recorder::InFlight;

/// Why a job ends before its time or amount does.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The first error with which the job fails.
    pub error: Option<JobError>,
    /// An error has ended the job.
    pub is_ended: bool,
    /// Errors after which the job continued (`continue_on_error`).
    pub errors_continued: u64,
    /// The goal is reached: the target is full (`fill_device`), or the depth is found
    /// (`latency_target`).
    pub complete: bool,
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    #[cold]
    pub(super) fn sync_completed(&mut self, io: &InFlight, completion: Completion, now: u64) {
        let result = completion.result;
        if result >= 0 {
            self.recorder.flushed(io, now);
            self.verification.sync_done(completion.slot);
            return;
        }
        self.recorder.sync_failed += 1;
        let errno = -result as i32;
        self.recorder.event(
            now,
            EventKind::FirstError {
                direction: None,
                offset: 0,
                errno,
            },
        );
        self.fail(errno, format!("fsync of {} failed", self.path_of(io)));
    }

    pub(super) fn path_of(&self, io: &InFlight) -> String {
        self.job
            .files
            .paths
            .get(io.file as usize)
            .map_or_else(String::new, |path| path.display().to_string())
    }

    /// A short or failed I/O: counted separately, reported once, and fatal unless the plan allows it.
    #[cold]
    pub(super) fn failed_or_short(&mut self, io: &InFlight, completion: Completion, now: u64) {
        let result = completion.result;
        if io.direction == Direction::Write {
            self.verification.write_failed(completion.slot);
        }
        self.verification.count_read(io);
        if result >= 0 {
            self.recorder.bad(io, Some(result as u64), now);
            self.short(io, result as u32, now);
            return;
        }
        let errno = -result as i32;
        self.recorder.bad(io, None, now);
        self.live
            .failed
            .store(self.live.failed.load(Relaxed) + 1, Relaxed);
        if matches!(errno, ENOSPC | EDQUOT) && self.job.files.layout.fill_device {
            self.outcome.complete = true;
            return;
        }
        if !self
            .recorder
            .has_event(|e| matches!(e, EventKind::FirstError { .. }))
        {
            let what = EventKind::FirstError {
                direction: Some(io.direction),
                offset: io.offset,
                errno,
            };
            self.recorder.event(now, what);
        }
        let policy = &self.job.errors;
        let (continues, ignored) = match io.direction {
            Direction::Read => (policy.continue_read, &policy.ignore[0]),
            _ => (policy.continue_write, &policy.ignore[1]),
        };
        if ignored.contains(&errno) {
            return;
        }
        if continues {
            self.outcome.errors_continued += 1;
            return;
        }
        let what = format!(
            "{} of {} bytes at offset {} of {} failed",
            io.direction.name(),
            io.len,
            io.offset,
            self.path_of(io)
        );
        self.fail(errno, what);
    }

    fn short(&mut self, io: &InFlight, moved: u32, now: u64) {
        if !self
            .recorder
            .has_event(|e| matches!(e, EventKind::FirstShort { .. }))
        {
            let what = EventKind::FirstShort {
                direction: io.direction,
                offset: io.offset,
                requested: io.len,
                transferred: moved,
            };
            self.recorder.event(now, what);
        }
        let Some(path) = self.job.files.paths.get(io.file as usize) else {
            return;
        };
        let end = io.offset + u64::from(io.len);
        let size = self.host.size_now(path).map_or(u64::MAX, Bytes::get);
        if io.direction == Direction::Read && size < end {
            let what = EventKind::TargetShrank {
                path: path.display().to_string(),
                from: Bytes::new(end),
                to: Bytes::new(size),
            };
            self.recorder.event(now, what);
            let text = format!(
                "{} shrank to {size} bytes during the run: a read at {} found {moved} of {} bytes",
                path.display(),
                io.offset,
                io.len
            );
            self.fail(EIO, text);
        } else if moved == 0 {
            let what = format!(
                "{} at offset {} of {} transferred no data",
                io.direction.name(),
                io.offset,
                path.display()
            );
            self.fail(EIO, what);
        }
    }

    /// Stops the job with an error; the first one stays.
    #[cold]
    pub(super) fn fail(&mut self, errno: i32, what: String) {
        self.outcome.is_ended = true;
        self.note_error(errno, what);
    }

    /// The job fails with this error at its end; the first one stays.
    #[cold]
    pub(super) fn note_error(&mut self, errno: i32, what: String) {
        if self.outcome.error.is_none() {
            self.outcome.error = Some(JobError {
                errno,
                operation: what,
                at: self.clock.now(),
            });
        }
    }
}
