//! The general case: several files, directions or block sizes, and syncs between writes.

use fathom_model::{Direction, PerDirection};

use super::files::Files;
use super::sizes::Sizes;
use super::steering::Steering;
use super::{PlannedIo, op_of};
use crate::engine::Op;
use crate::offsets::Offsets;
use crate::rng::Rng;

/// The streams of one file: sequential streams are separate for each direction, random ones are
/// shared where the blocks are.
#[derive(Clone)]
pub(super) enum Streams {
    PerDirection(PerDirection<Option<Box<dyn Offsets>>>),
    Shared(Box<dyn Offsets>),
}

/// Selects the direction of the next I/O.
#[derive(Clone, Debug)]
pub(super) enum Mix {
    One(Direction),
    ReadWrite { read_percent: u8 },
    TrimWrite,
}

impl Mix {
    pub fn draw(&self, rng: &mut Rng) -> Direction {
        match self {
            Mix::One(direction) => *direction,
            Mix::ReadWrite { read_percent } if rng.percent(*read_percent) => Direction::Read,
            Mix::ReadWrite { .. } => Direction::Write,
            Mix::TrimWrite => Direction::Trim,
        }
    }
}

/// Syncs between writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Syncs {
    pub fsync_every: u32,
    pub fdatasync_every: u32,
}

#[derive(Clone)]
pub(super) struct Mixed {
    pub files: Files,
    pub streams: Vec<Streams>,
    pub mix: Mix,
    pub sizes: PerDirection<Sizes>,
    pub rng: Rng,
    pub syncs: Syncs,
    pub writes: u64,
    /// Chooses the directions instead of `mix`.
    pub steering: Option<Steering>,
}

impl Mixed {
    pub fn fill(&mut self, left: &mut u64, out: &mut Vec<PlannedIo>, want: usize) {
        let end = out.len() + want;
        while out.len() < end && *left > 0 {
            let Some(planned_io) = self.draw() else {
                return;
            };
            *left = left.saturating_sub(u64::from(planned_io.len));
            out.push(planned_io);
            if planned_io.op == Op::Write {
                self.sync_after(planned_io.file, out);
            }
        }
    }

    fn draw(&mut self) -> Option<PlannedIo> {
        let steered = self.steering.as_mut().map(Steering::next);
        loop {
            let file = self.files.next()?;
            let direction = steered.unwrap_or_else(|| self.mix.draw(&mut self.rng));
            let stream = match &mut self.streams[file] {
                Streams::Shared(stream) => stream,
                Streams::PerDirection(streams) => streams[direction]
                    .as_mut()
                    .expect("exists for every direction of the mix"),
            };
            let len = self.sizes[direction].draw_within(stream.room(), &mut self.rng);
            if let Some(offset) = stream.next(len) {
                let then_write = matches!(self.mix, Mix::TrimWrite);
                return Some(PlannedIo {
                    offset,
                    len,
                    file: file as u32,
                    op: op_of(direction),
                    then_write,
                    prio: 0,
                });
            }
            self.files.end(file);
        }
    }

    fn sync_after(&mut self, file: u32, out: &mut Vec<PlannedIo>) {
        self.writes += 1;
        let due = |every: u32| every > 0 && self.writes.is_multiple_of(u64::from(every));
        let sync = |op| PlannedIo {
            offset: 0,
            len: 0,
            file,
            op,
            then_write: false,
            prio: 0,
        };
        if due(self.syncs.fsync_every) {
            out.push(sync(Op::Fsync));
        }
        if due(self.syncs.fdatasync_every) {
            out.push(sync(Op::Fdatasync));
        }
    }

    pub fn restart(&mut self) {
        self.files.restart();
        for streams in &mut self.streams {
            match streams {
                Streams::Shared(stream) => stream.end_pass(),
                Streams::PerDirection(streams) => streams
                    .0
                    .iter_mut()
                    .flatten()
                    .for_each(|stream| stream.end_pass()),
            }
        }
    }
}
