//! The general case: several files, directions or block sizes, and syncs between writes.

use fathom_model::{Direction, PerDirection, SyncPolicy};

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

/// Nothing was written.
const NOTHING: (u64, u64) = (u64::MAX, 0);

/// Syncs between writes.
#[derive(Clone, Debug)]
pub(super) struct Syncs {
    policy: SyncPolicy,
    writes: u64,
    /// What was written of each file since its last sync, as first byte and end, for sync_file_range.
    written: Vec<(u64, u64)>,
}

impl Syncs {
    pub fn new(policy: &SyncPolicy, files: usize) -> Self {
        let files = if policy.range_every > 0 { files } else { 0 };
        Syncs {
            policy: policy.clone(),
            writes: 0,
            written: vec![NOTHING; files],
        }
    }

    /// The sync that follows this I/O. As in fio there is only one.
    pub fn after(&mut self, planned_io: PlannedIo) -> Option<PlannedIo> {
        if planned_io.op != Op::Write {
            return None;
        }
        self.writes += 1;
        if let Some((start, end)) = self.written.get_mut(planned_io.file as usize) {
            *start = planned_io.offset.min(*start);
            *end = (planned_io.offset + u64::from(planned_io.len)).max(*end);
        }
        let due = |every: u32| every > 0 && self.writes.is_multiple_of(u64::from(every));
        let sync = |op, (start, end): (u64, u64)| PlannedIo {
            offset: start,
            // 0 is up to the end of the file, which covers a longer range.
            len: u32::try_from(end - start).unwrap_or(0),
            file: planned_io.file,
            op,
            then_write: false,
            prio: 0,
        };
        let (op, has_range) = if due(self.policy.fsync_every) {
            (Op::Fsync, false)
        } else if due(self.policy.fdatasync_every) {
            (Op::Fdatasync, false)
        } else if due(self.policy.range_every) {
            (Op::SyncFileRange(self.policy.range_flags), true)
        } else {
            return None;
        };
        let written = self.written.get_mut(planned_io.file as usize);
        let range = written.map_or((0, 0), |written| std::mem::replace(written, NOTHING));
        Some(sync(op, if has_range { range } else { (0, 0) }))
    }
}

#[derive(Clone)]
pub(super) struct Mixed {
    pub files: Files,
    pub streams: Vec<Streams>,
    pub mix: Mix,
    pub sizes: PerDirection<Sizes>,
    pub rng: Rng,
    /// Sizes of the I/Os of a random job that continue where the one before ended, with `bs_is_seq_rand`.
    pub sequential_sizes: Option<Sizes>,
    pub syncs: Syncs,
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
            out.extend(self.syncs.after(planned_io));
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
            let sizes = match &self.sequential_sizes {
                Some(sequential) if !stream.next_is_random() => sequential,
                _ => &self.sizes[direction],
            };
            let len = sizes.draw_within(stream.room(), &mut self.rng);
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
