//! A pattern, repeated until a buffer is full.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use fathom_model::PatternPart;

use super::PayloadError;

/// Reads the file that a pattern names; the caller provides it, because this crate opens no files.
pub(crate) type Files<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// Bytes of `%o` in a pattern (fio's manual, `buffer_pattern`).
const OFFSET_LEN: usize = 8;

/// One repetition of a pattern, and the positions in it of the block offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedPattern {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
    /// The pattern restarts every this many bytes, with the offset of that position; 0 is never.
    interval: usize,
}

impl RepeatedPattern {
    /// Joins the parts. An empty pattern is an error.
    pub(crate) fn new(parts: &[PatternPart], files: Files<'_>) -> Result<Self, PayloadError> {
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        for part in parts {
            if matches!(part, PatternPart::Offset) {
                offsets.push(bytes.len());
            }
            bytes.extend_from_slice(&part_bytes(part, files)?);
        }
        if bytes.is_empty() {
            return Err(PayloadError::EmptyPattern);
        }
        Ok(RepeatedPattern {
            bytes,
            offsets,
            interval: 0,
        })
    }

    /// The same pattern, restarted every `interval` bytes of a block (`verify_pattern_interval`); 0
    /// is never.
    pub(crate) fn every(mut self, interval: u32) -> Self {
        self.interval = interval as usize;
        self
    }

    /// Whether the content depends on the offset of the block.
    pub(crate) fn follows_offset(&self) -> bool {
        !self.offsets.is_empty()
    }

    /// Repeats the pattern over `buf`, which is written at byte `offset`.
    pub(crate) fn fill(&self, buf: &mut [u8], offset: u64) {
        let step = if self.interval > 0 {
            self.interval
        } else {
            buf.len().max(1)
        };
        for (n, piece) in buf.chunks_mut(step).enumerate() {
            self.fill_piece(piece, offset + (n * step) as u64);
        }
    }

    fn fill_piece(&self, buf: &mut [u8], offset: u64) {
        let len = buf.len();
        let mut done = self.bytes.len().min(len);
        buf[..done].copy_from_slice(&self.bytes[..done]);
        for &at in &self.offsets {
            let room = done.saturating_sub(at).min(OFFSET_LEN);
            if room > 0 {
                buf[at..at + room].copy_from_slice(&offset.to_le_bytes()[..room]);
            }
        }
        while done < len {
            let more = done.min(len - done);
            buf.copy_within(..more, done);
            done += more;
        }
    }

    /// The first byte of `found` that differs from the pattern: its index, and the expected byte.
    ///
    /// `phase` is the position of `found` in the block, `offset` is where the block was written.
    pub(crate) fn first_difference(
        &self,
        found: &[u8],
        phase: usize,
        offset: u64,
    ) -> Option<(usize, u8)> {
        let period = self.bytes.len();
        let head = found.len().min(period);
        let wrong = |range: std::ops::Range<usize>| {
            range
                .map(|i| (i, self.byte(phase + i, offset)))
                .find(|&(i, want)| found[i] != want)
        };
        if self.interval > 0 {
            return wrong(0..found.len());
        }
        let early = wrong(0..head);
        // Each repetition equals the one before it: one comparison of the buffer with itself,
        // shifted.
        if early.is_some() || found[head..] == found[..found.len() - head] {
            return early;
        }
        wrong(head..found.len())
    }

    fn byte(&self, place: usize, offset: u64) -> u8 {
        let (place, offset) = match self.interval {
            0 => (place, offset),
            step => (place % step, offset + (place - place % step) as u64),
        };
        let at = place % self.bytes.len();
        let field = self
            .offsets
            .iter()
            .find(|&&start| (start..start + OFFSET_LEN).contains(&at));
        field.map_or(self.bytes[at], |start| offset.to_le_bytes()[at - start])
    }
}

fn part_bytes<'a>(part: &'a PatternPart, files: Files<'_>) -> Result<Cow<'a, [u8]>, PayloadError> {
    match part {
        PatternPart::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
        PatternPart::Offset => Ok(Cow::Owned(vec![0; OFFSET_LEN])),
        PatternPart::File(path) => {
            files(path)
                .map(Cow::Owned)
                .map_err(|cause| PayloadError::File {
                    path: path.clone(),
                    reason: cause.to_string(),
                })
        }
    }
}
