//! Traces compressed with zstd, decompressed while they are read.

use std::io::{self, BufRead, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// How a frame begins.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The first bytes are those of a frame, or of one to skip, as `pzstd` and seekable files have them.
pub(crate) fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(&MAGIC) || matches!(head, [first, 0x2a, 0x4d, 0x18, ..] if *first >> 4 == 5)
}

/// Reads the content of frames one after the other. Memory: the window of the frame, at most 128 MiB, which is that of `zstd --long`.
pub(crate) struct Zstd<S> {
    source: Noted<S>,
    decoder: FrameDecoder,
    problem: Option<Problem>,
}

/// Remembers that more was asked for than is there.
struct Noted<S> {
    source: S,
    ended: bool,
}

impl<S: Read> Read for Noted<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// What is wrong with the data.
type Problem = (ErrorKind, &'static str);

impl<S: BufRead> Zstd<S> {
    pub fn new(source: S) -> Self {
        Zstd {
            source: Noted {
                source,
                ended: false,
            },
            decoder: FrameDecoder::new(),
            problem: None,
        }
    }

    fn problem(&self, what: &'static str) -> Problem {
        if self.source.ended {
            (ErrorKind::UnexpectedEof, "the zstd data ends too early")
        } else {
            (ErrorKind::InvalidData, what)
        }
    }

    /// Begins the next frame. `false` at the end.
    fn begin(&mut self) -> Result<bool, Problem> {
        loop {
            match self.source.source.fill_buf() {
                Ok([]) => return Ok(false),
                Ok(_) => {}
                Err(error) => return Err((error.kind(), "the compressed trace cannot be read")),
            }
            let error = match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(error) => error,
            };
            let what = match error {
                FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                }) => {
                    let length = u64::from(length);
                    let mut skipped = (&mut self.source).take(length);
                    match io::copy(&mut skipped, &mut io::sink()) {
                        Ok(count) if count == length => continue,
                        _ => "a frame of the zstd data cannot be skipped",
                    }
                }
                FrameDecoderError::WindowSizeTooBig { .. } => {
                    "the window of the zstd data is larger than 128 MiB"
                }
                FrameDecoderError::DictNotProvided { .. } => "the zstd data needs a dictionary",
                _ => "the zstd data has a damaged frame",
            };
            return Err(self.problem(what));
        }
    }

    /// Decodes until there is something to read. `false` at the end.
    fn advance(&mut self) -> Result<bool, Problem> {
        while self.decoder.can_collect() == 0 {
            if self.decoder.is_finished() {
                let said = self.decoder.get_checksum_from_data();
                if said.is_some() && said != self.decoder.get_calculated_checksum() {
                    return Err(self.problem("the zstd data has a wrong checksum"));
                }
                if !self.begin()? {
                    return Ok(false);
                }
                continue;
            }
            let blocks = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = self.decoder.decode_blocks(&mut self.source, blocks);
            if decoded.is_err() {
                return Err(self.problem("the zstd data is damaged"));
            }
        }
        Ok(true)
    }
}

impl<S: BufRead> Read for Zstd<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A damaged frame has no continuation.
        if self.problem.is_none() {
            match self.advance() {
                Ok(true) => return self.decoder.read(buffer),
                Ok(false) => return Ok(0),
                Err(problem) => self.problem = Some(problem),
            }
        }
        match self.problem {
            Some((kind, what)) => Err(io::Error::new(kind, what)),
            None => Ok(0),
        }
    }
}
