//! Fills the buffers of one job before they are written.

use fathom_model::Payload;

use super::content::{Content, PayloadError};
use super::{Files, Stream, mix};

/// The smallest unit in which a device or file system detects duplicates, bytes.
const SECTOR: usize = 512;
/// Number of earlier blocks that `dedupe_percentage` may repeat.
const REMEMBERED: u64 = 1024;

/// Fills the buffers of one job; allocates nothing after its creation.
///
/// Without `refill_buffers` a buffer is filled once and then only marked. The filler therefore
/// identifies buffers by slot: one slot is one buffer, always the same memory, that nothing else
/// writes. After a read into the buffer of a slot, call [`Filler::forget`].
#[derive(Clone, Debug)]
pub struct Filler {
    content: Content,
    stream: Stream,
    refill: bool,
    scramble: bool,
    dedupe: Option<Dedupe>,
    /// Bytes of each slot that already hold content.
    filled: Vec<usize>,
    marks: u64,
}

impl Filler {
    /// A filler for `slots` buffers. The same seed and the same order of calls give the same bytes.
    ///
    /// `files` reads the files that patterns name.
    ///
    /// # Errors
    /// An empty pattern, a pattern file that cannot be read, a percentage above 100.
    pub fn new(
        payload: &Payload,
        seed: u64,
        slots: usize,
        files: Files<'_>,
    ) -> Result<Self, PayloadError> {
        if payload.dedupe_percent > 100 {
            return Err(PayloadError::Percent {
                option: "dedupe_percentage",
                requested: payload.dedupe_percent,
            });
        }
        let content = Content::new(&payload.fill, files)?;
        let random = content.is_random();
        Ok(Filler {
            stream: Stream::new(seed),
            refill: payload.refill && random,
            scramble: payload.scramble && random,
            dedupe: (payload.dedupe_percent > 0 && random)
                .then(|| Dedupe::new(payload.dedupe_percent, seed)),
            filled: vec![0; slots],
            marks: mix(seed ^ 0x6d61_726b),
            content,
        })
    }

    /// Sets the blocks that are repeated: one of `blocks` blocks derived from `seed`. Fillers with
    /// the same seed share them.
    #[must_use]
    pub fn repeating(mut self, blocks: u64, seed: u64) -> Self {
        if let Some(dedupe) = &mut self.dedupe {
            dedupe.set = Some((blocks.max(1), mix(seed ^ 0x0073_6574)));
        }
        self
    }

    /// Prepares `buf`, the buffer of `slot`, to be written at byte `offset`.
    pub fn fill(&mut self, slot: usize, buf: &mut [u8], offset: u64) {
        if let Some(dedupe) = &mut self.dedupe {
            return self
                .content
                .fill(buf, offset, &mut Stream::new(dedupe.next()));
        }
        if self.refill {
            return self.content.fill(buf, offset, &mut self.stream);
        }
        self.fill_once(slot, buf, offset);
        if self.scramble {
            self.mark(buf);
        }
    }

    /// The buffer of `slot` was overwritten, for example by a read: the next call fills it
    /// completely.
    pub fn forget(&mut self, slot: usize) {
        if let Some(filled) = self.filled.get_mut(slot) {
            *filled = 0;
        }
    }

    fn fill_once(&mut self, slot: usize, buf: &mut [u8], offset: u64) {
        let filled = self.filled.get(slot).copied().unwrap_or(0);
        if filled >= buf.len() && !self.content.follows_offset() {
            return;
        }
        self.content.fill(buf, offset, &mut self.stream);
        if let Some(filled) = self.filled.get_mut(slot) {
            *filled = buf.len();
        }
    }

    /// Writes two marks into each sector that are unique within this job.
    fn mark(&mut self, buf: &mut [u8]) {
        for sector in buf.chunks_mut(SECTOR) {
            self.marks = self.marks.wrapping_add(1);
            let mark = mix(self.marks).to_le_bytes();
            let room = sector.len().min(mark.len());
            sector[..room].copy_from_slice(&mark[..room]);
            if let Some(middle) = sector.get_mut(SECTOR / 2..SECTOR / 2 + mark.len()) {
                middle.copy_from_slice(&mark);
            }
        }
    }
}

/// Decides which blocks repeat an earlier one. A block is identified by the seed of its content.
#[derive(Clone, Debug)]
struct Dedupe {
    percent: u64,
    seed: u64,
    /// Draws made.
    draws: u64,
    /// Number of blocks that repeat none.
    unique: u64,
    /// The set of repeated blocks, if it is not the last blocks: their number, and the seed of
    /// their contents.
    set: Option<(u64, u64)>,
}

impl Dedupe {
    fn new(percent: u8, seed: u64) -> Self {
        Dedupe {
            percent: u64::from(percent),
            seed: mix(seed ^ 0x6465_6475),
            draws: 0,
            unique: 0,
            set: None,
        }
    }

    /// Seed of the next block.
    fn next(&mut self) -> u64 {
        self.draws += 1;
        let draw = mix(self.seed ^ self.draws);
        if let Some((blocks, seed)) = self.set.filter(|_| draw % 100 < self.percent) {
            return mix(seed.wrapping_add((draw >> 32) % blocks));
        }
        if self.set.is_none() && self.unique > 0 && draw % 100 < self.percent {
            let back = (draw >> 32) % self.unique.min(REMEMBERED);
            return self.block(self.unique - 1 - back);
        }
        self.unique += 1;
        self.block(self.unique - 1)
    }

    fn block(&self, index: u64) -> u64 {
        mix(self.seed.wrapping_add(index))
    }
}
