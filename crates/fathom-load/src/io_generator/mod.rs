//! Generates the sequence of I/Os of a job, independent of the clock and the target.
//!
//! A generator works in batches ahead of the load loop, so that the loop itself never branches on
//! the pattern. It is seeded and can be cloned: a clone repeats the same I/O, which is how a pass of
//! writes is verified.

mod build;
mod error;
mod file_pass;
mod files;
mod mixed;
mod shuffled_slabs;
mod sizes;
mod steering;

use fathom_model::Direction;

use crate::engine::{Op, Request};
use crate::offsets::Offsets;

pub(crate) use self::build::{Region, all_sizes, build};
pub(crate) use self::error::GeneratorError;
use self::file_pass::FilePass;
use self::mixed::Mixed;
use self::shuffled_slabs::ShuffledSlabs;

/// One generated I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedIo {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Which file.
    pub file: u32,
    /// The operation.
    pub op: Op,
    /// A trim that is followed by a write of the same range once it has completed.
    pub then_write: bool,
    /// Its priority; 0 is the priority of the thread.
    pub prio: u16,
}

impl PlannedIo {
    /// Direction; `None` for a sync.
    pub fn direction(self) -> Option<Direction> {
        direction_of(self.op)
    }

    /// The request for this I/O, in `slot`.
    #[inline]
    pub fn request(&self, slot: u32) -> Request {
        Request {
            slot,
            file: self.file,
            op: self.op,
            len: self.len,
            offset: self.offset,
            prio: self.prio,
        }
    }
}

/// Direction of an operation; `None` for a sync.
#[inline]
pub(crate) fn direction_of(op: Op) -> Option<Direction> {
    match op {
        Op::Read => Some(Direction::Read),
        Op::Write => Some(Direction::Write),
        Op::Trim => Some(Direction::Trim),
        Op::Fsync | Op::Fdatasync | Op::SyncFileRange(_) => None,
    }
}

/// The operation of a direction.
pub(crate) fn op_of(direction: Direction) -> Op {
    match direction {
        Direction::Read => Op::Read,
        Direction::Write => Op::Write,
        Direction::Trim => Op::Trim,
    }
}

/// Passes over the regions of a job, one I/O after the other.
#[derive(Clone)]
pub(crate) struct IoGenerator {
    source: Source,
    /// Bytes of one pass.
    pass: u64,
    /// Bytes left in this pass.
    left: u64,
}

#[derive(Clone)]
enum Source {
    Plain(Plain),
    Mixed(Box<Mixed>),
    ShuffledSlabs(Box<ShuffledSlabs>),
    FilePass(FilePass),
    /// The I/O comes from a log.
    Nothing,
}

impl IoGenerator {
    /// The generator of a job whose I/O comes from a trace: it generates nothing.
    pub(crate) fn nothing() -> Self {
        IoGenerator::new(Source::Nothing, 0)
    }

    fn new(source: Source, pass: u64) -> Self {
        IoGenerator {
            source,
            pass,
            left: pass,
        }
    }

    /// Appends up to `want` I/Os and returns their number. 0 is the end of a pass; the next call
    /// begins another.
    pub fn fill(&mut self, out: &mut Vec<PlannedIo>, want: usize) -> usize {
        if self.left == 0 {
            self.left = self.pass;
            self.restart();
            return 0;
        }
        let before = out.len();
        match &mut self.source {
            Source::Plain(plain) => plain.fill(&mut self.left, out, want),
            Source::Mixed(mixed) => mixed.fill(&mut self.left, out, want),
            Source::ShuffledSlabs(tiles) => tiles.fill(&mut self.left, out, want),
            Source::FilePass(file_pass) => file_pass.fill(&mut self.left, out, want),
            Source::Nothing => {}
        }
        let drawn = out.len() - before;
        if drawn == 0 {
            self.left = self.pass;
            self.restart();
        }
        drawn
    }

    /// Whether all I/O of this pass has been generated.
    pub fn is_at_pass_end(&self) -> bool {
        self.left == 0
    }

    /// Whether [`IoGenerator::steer`] chooses the direction of each I/O.
    pub fn is_steered(&self) -> bool {
        match &self.source {
            Source::Mixed(mixed) => mixed.steering.is_some(),
            Source::ShuffledSlabs(slabs) => slabs.steering.is_some(),
            Source::Plain(_) | Source::FilePass(_) | Source::Nothing => false,
        }
    }

    /// The next planned_io has this direction, in a mix with planned rates.
    pub fn steer(&mut self, direction: Direction) {
        let steering = match &mut self.source {
            Source::Mixed(mixed) => mixed.steering.as_mut(),
            Source::ShuffledSlabs(slabs) => slabs.steering.as_mut(),
            Source::Plain(_) | Source::FilePass(_) | Source::Nothing => None,
        };
        if let Some(steering) = steering {
            steering.steer(direction);
        }
    }

    fn restart(&mut self) {
        match &mut self.source {
            Source::Plain(plain) => plain.restart(),
            Source::Mixed(mixed) => mixed.restart(),
            Source::ShuffledSlabs(tiles) => tiles.restart(),
            Source::FilePass(file_pass) => file_pass.restart(),
            Source::Nothing => {}
        }
    }
}

/// One file, one direction, one block size: the common case, drawn in bulk.
#[derive(Clone)]
struct Plain {
    offsets: Box<dyn Offsets>,
    len: u32,
    op: Op,
    then_write: bool,
    /// The stream ended a pass by itself and begins the next one.
    at_pass_start: bool,
}

impl Plain {
    fn fill(&mut self, left: &mut u64, out: &mut Vec<PlannedIo>, want: usize) {
        let mut starts = [0u64; 64];
        let mut want = want.min(left.div_ceil(u64::from(self.len)) as usize);
        while want > 0 {
            let room = want.min(starts.len());
            let n = self.offsets.fill(self.len, &mut starts[..room]);
            let planned_io = |offset| PlannedIo {
                offset,
                len: self.len,
                file: 0,
                op: self.op,
                then_write: self.then_write,
                prio: 0,
            };
            out.extend(starts[..n].iter().map(|offset| planned_io(*offset)));
            *left = left.saturating_sub(n as u64 * u64::from(self.len));
            want -= n;
            self.at_pass_start = n < room;
            if n < room {
                *left = 0;
                return;
            }
        }
    }

    /// Moves the stream to the start of a pass if the amount was reached before the end of the
    /// pass.
    fn restart(&mut self) {
        if !self.at_pass_start {
            self.offsets.end_pass();
        }
        self.at_pass_start = true;
    }
}

#[cfg(test)]
mod tests;
