//! Where the chunks of a capture go: to a file at once, or into memory that keeps the last ones.

use std::collections::VecDeque;
use std::io::{self, Write};

use fathom_workload::EncodedChunk;

/// Memory of a capture that keeps the last part, without `--max-size`.
const MEMORY: u64 = 256 << 20;

/// Takes the chunks in order.
pub struct TraceFile {
    out: Box<dyn Write>,
    /// Largest size of the whole trace.
    limit: Option<u64>,
    /// Kept until the end: chunks of the last so many nanoseconds, and their bytes.
    last_ns: Option<u64>,
    kept: VecDeque<EncodedChunk>,
    kept_bytes: u64,
    /// Bytes that are written.
    pub bytes: u64,
    /// I/Os that are written.
    pub ios: u64,
    /// First and last time in the trace.
    pub covers: Option<(u64, u64)>,
}

impl TraceFile {
    /// A trace of at most `limit` bytes; with `last_ns` only the end of the load.
    pub fn new(out: Box<dyn Write>, limit: Option<u64>, last_ns: Option<u64>) -> Self {
        TraceFile {
            out,
            limit: limit.or(last_ns.map(|_| MEMORY)),
            last_ns,
            kept: VecDeque::new(),
            kept_bytes: 0,
            bytes: 0,
            ios: 0,
            covers: None,
        }
    }

    /// Adds chunks. `false` if there is no room for the next one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, chunks: Vec<EncodedChunk>) -> io::Result<bool> {
        for chunk in chunks {
            // Names and the beginning are needed whatever is kept.
            let (Some(last_ns), Some((_, newest))) = (self.last_ns, chunk.times) else {
                if !self.fits(&chunk) {
                    return Ok(false);
                }
                self.write(&chunk)?;
                continue;
            };
            self.kept_bytes += chunk.bytes.len() as u64;
            self.kept.push_back(chunk);
            while let Some(oldest) = self.kept.front()
                && (oldest
                    .times
                    .is_some_and(|(_, time)| time < newest.saturating_sub(last_ns))
                    || self
                        .limit
                        .is_some_and(|limit| self.bytes + self.kept_bytes > limit))
            {
                self.kept_bytes -= oldest.bytes.len() as u64;
                self.kept.pop_front();
            }
        }
        self.out.flush()?;
        Ok(true)
    }

    fn fits(&self, chunk: &EncodedChunk) -> bool {
        chunk.times.is_none()
            || self
                .limit
                .is_none_or(|limit| self.bytes + chunk.bytes.len() as u64 <= limit)
    }

    /// Writes what was kept, and the end.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(&mut self, end: impl FnOnce(u64) -> EncodedChunk) -> io::Result<()> {
        while let Some(chunk) = self.kept.pop_front() {
            self.write(&chunk)?;
        }
        let end = end(self.ios);
        self.write(&end)?;
        self.out.flush()
    }

    fn write(&mut self, chunk: &EncodedChunk) -> io::Result<()> {
        self.out.write_all(&chunk.bytes)?;
        self.bytes += chunk.bytes.len() as u64;
        self.ios += chunk.ios;
        if let (Some((first, last)), true) = (chunk.times, chunk.ios > 0) {
            let (start, end) = self.covers.unwrap_or((first, last));
            self.covers = Some((start.min(first), end.max(last)));
        }
        Ok(())
    }
}
