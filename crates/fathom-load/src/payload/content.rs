//! One kind of buffer content.

use std::fmt;
use std::path::PathBuf;

use fathom_model::Fill;

use super::{Files, RepeatedPattern, Stream};

/// Why a payload cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// A pattern without a single byte.
    EmptyPattern,
    /// A file named by a pattern could not be read.
    File {
        /// The file.
        path: PathBuf,
        /// The reason, as the system reports it.
        reason: String,
    },
    /// A percentage above 100.
    Percent {
        /// The option.
        option: &'static str,
        /// The requested value.
        requested: u8,
    },
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PayloadError::EmptyPattern => f.write_str(
                "the pattern has no bytes; give at least one, as in 0xff, \"text\" or 'file'",
            ),
            PayloadError::File { path, reason } => {
                write!(
                    f,
                    "the pattern names {}, which cannot be read: {reason}",
                    path.display()
                )
            }
            PayloadError::Percent { option, requested } => {
                write!(f, "{option}={requested}: a percentage is at most 100")
            }
        }
    }
}

impl std::error::Error for PayloadError {}

/// One kind of content.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Incompressible.
    Random,
    /// Zeros.
    Zeroes,
    /// A repeated pattern.
    Tiled(RepeatedPattern),
    /// The first part of each chunk is random, the rest constant; `constant` is `None` for zeros.
    Compressible {
        percent: u8,
        chunk: usize,
        constant: Option<RepeatedPattern>,
    },
}

impl Content {
    /// Reads files and parses patterns.
    pub(crate) fn new(fill: &Fill, files: Files<'_>) -> Result<Self, PayloadError> {
        Ok(match fill {
            Fill::Random | Fill::Compressible { percent: 0, .. } => Content::Random,
            Fill::Zeroes => Content::Zeroes,
            Fill::Pattern(parts) => Content::Tiled(RepeatedPattern::new(parts, files)?),
            Fill::Compressible { percent, .. } if *percent > 100 => {
                return Err(PayloadError::Percent {
                    option: "buffer_compress_percentage",
                    requested: *percent,
                });
            }
            Fill::Compressible {
                percent,
                chunk,
                pattern,
            } => Content::Compressible {
                percent: *percent,
                chunk: *chunk as usize,
                constant: if pattern.is_empty() {
                    None
                } else {
                    Some(RepeatedPattern::new(pattern, files)?)
                },
            },
        })
    }

    /// Writes the content of a block at byte `offset`; random parts come from `stream`.
    pub(crate) fn fill(&self, buf: &mut [u8], offset: u64, stream: &mut Stream) {
        match self {
            Content::Random => stream.fill(buf),
            Content::Zeroes => buf.fill(0),
            Content::Tiled(tile) => tile.fill(buf, offset),
            Content::Compressible {
                percent,
                chunk,
                constant,
            } => {
                let step = if *chunk == 0 {
                    buf.len().max(1)
                } else {
                    *chunk
                };
                for piece in buf.chunks_mut(step) {
                    fill_chunk(piece, *percent, constant.as_ref(), offset, stream);
                }
            }
        }
    }

    /// Whether some of it is random, so that marks may be written into it.
    pub(crate) fn is_random(&self) -> bool {
        matches!(self, Content::Random)
            || matches!(self, Content::Compressible { percent, .. } if *percent < 100)
    }

    /// Whether it depends on the offset of the block.
    pub(crate) fn follows_offset(&self) -> bool {
        match self {
            Content::Tiled(tile)
            | Content::Compressible {
                constant: Some(tile),
                ..
            } => tile.follows_offset(),
            _ => false,
        }
    }
}

fn fill_chunk(
    piece: &mut [u8],
    percent: u8,
    constant: Option<&RepeatedPattern>,
    offset: u64,
    stream: &mut Stream,
) {
    let constant_len = (piece.len() as u64 * u64::from(percent) / 100) as usize;
    let (random, rest) = piece.split_at_mut(piece.len() - constant_len);
    stream.fill(random);
    match constant {
        Some(tile) => tile.fill(rest, offset),
        None => rest.fill(0),
    }
}
