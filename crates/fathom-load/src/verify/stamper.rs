//! Writes content and headers into blocks that will be verified.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use fathom_model::{Fill, Payload, Verify, VerifyKind};

use super::checksum::{self, sum};
use super::header::{self, Header, HeaderFormat, method_number};
use crate::payload::{Content, Files, PayloadError, RepeatedPattern, Stream, mix};

#[cfg(test)]
pub(crate) const KINDS: [VerifyKind; 19] = [
    VerifyKind::Md5,
    VerifyKind::Crc64,
    VerifyKind::Crc32c,
    VerifyKind::Crc32cIntel,
    VerifyKind::Crc32,
    VerifyKind::Crc16,
    VerifyKind::Crc7,
    VerifyKind::Xxhash,
    VerifyKind::Sha1,
    VerifyKind::Sha256,
    VerifyKind::Sha512,
    VerifyKind::Sha3_224,
    VerifyKind::Sha3_256,
    VerifyKind::Sha3_384,
    VerifyKind::Sha3_512,
    VerifyKind::Meta,
    VerifyKind::Pattern,
    VerifyKind::PatternHeader,
    VerifyKind::Null,
];

/// Header and checksum together, the largest of all methods and formats, bytes.
pub(crate) const LARGEST: usize = header::LARGEST + checksum::LARGEST;

/// Why a verification cannot be set up, or a block cannot be stamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// The pattern or the content.
    Payload(PayloadError),
    /// A method that compares with a pattern, without one.
    NoPattern,
    /// `verify_offset` would place the header onto itself.
    HeaderOffset {
        /// The requested offset, bytes.
        requested: u32,
        /// The header with its checksum, bytes.
        header: usize,
    },
    /// A piece is too small for a header and at least one byte after it.
    TooSmall {
        /// Bytes of the piece.
        len: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// A block of 4 GiB or more, whose length does not fit into a header.
    TooLarge {
        /// Bytes of the block.
        len: usize,
    },
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Payload(cause) => cause.fmt(f),
            VerifyError::NoPattern => {
                f.write_str("verify=pattern and verify=pattern_hdr need verify_pattern")
            }
            VerifyError::HeaderOffset { requested, header } => {
                write!(
                    f,
                    "verify_offset={requested} is less than the header of {header} bytes; use 0 or at least {header}"
                )
            }
            VerifyError::TooSmall { len, needed } => {
                write!(
                    f,
                    "a piece of {len} bytes cannot be verified, at least {needed} are needed; raise bs or verify_interval"
                )
            }
            VerifyError::TooLarge { len } => write!(
                f,
                "a block of {len} bytes cannot be verified: the limit is 4 GiB"
            ),
        }
    }
}

impl std::error::Error for VerifyError {}

impl From<PayloadError> for VerifyError {
    fn from(cause: PayloadError) -> Self {
        VerifyError::Payload(cause)
    }
}

/// The values of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Offset of the block, bytes.
    pub offset: u64,
    /// Number of the write in its job.
    pub number: u64,
    /// Seed of its content ([`Stamper::seed_of`], except when imitating another tool's blocks).
    pub seed: u64,
    /// Time of the write; any clock, by convention the time since 1970.
    pub when: Duration,
}

/// Stamps and checks the blocks of one worker; allocates nothing for a good block.
///
/// It also writes their content: the `verify_pattern`, or else the payload, drawn from the seed in
/// the header, so that a bad block can be compared with what was written. `verify=null` fills
/// blocks and stamps nothing.
#[derive(Clone, Debug)]
pub struct Stamper {
    pub(crate) kind: VerifyKind,
    pub(crate) format: HeaderFormat,
    pub(crate) pattern: Option<RepeatedPattern>,
    pub(crate) header_offset: usize,
    interval: usize,
    content: Content,
    seed: u64,
    thread: u16,
}

impl Stamper {
    /// A stamper for worker `thread`. `seed` should differ from run to run, so that the data of an
    /// earlier run is never accepted. `files` reads the files that patterns name.
    ///
    /// # Errors
    /// A bad pattern, a pattern method without one, a `verify_offset` inside the header, an
    /// interval that is too small.
    pub fn new(
        verify: &Verify,
        payload: &Payload,
        seed: u64,
        thread: u16,
        files: Files<'_>,
    ) -> Result<Self, VerifyError> {
        let pattern = if verify.pattern.is_empty() {
            None
        } else {
            Some(RepeatedPattern::new(&verify.pattern, files)?.every(verify.pattern_interval))
        };
        if pattern.is_none()
            && matches!(verify.kind, VerifyKind::Pattern | VerifyKind::PatternHeader)
        {
            return Err(VerifyError::NoPattern);
        }
        let stamper = Stamper {
            kind: verify.kind,
            format: HeaderFormat::default(),
            content: Content::new(body(&payload.fill, pattern.is_some()), files)?,
            pattern,
            header_offset: verify.header_offset as usize,
            interval: verify.interval as usize,
            seed,
            thread,
        };
        stamper.check_shape()?;
        Ok(stamper)
    }

    /// The same stamper, with headers in `format`.
    ///
    /// # Errors
    /// As for [`Stamper::new`]: the other format has another size.
    pub fn with_format(mut self, format: HeaderFormat) -> Result<Self, VerifyError> {
        self.format = format;
        self.check_shape()?;
        Ok(self)
    }

    fn check_shape(&self) -> Result<(), VerifyError> {
        let header = self.header_len();
        if self.header_offset > 0 && self.header_offset < header {
            return Err(VerifyError::HeaderOffset {
                requested: self.header_offset as u32,
                header,
            });
        }
        if self.interval > 0 {
            self.fits(self.interval)
        } else {
            Ok(())
        }
    }

    fn fits(&self, len: usize) -> Result<(), VerifyError> {
        let needed = self.smallest_piece();
        if len < needed {
            Err(VerifyError::TooSmall { len, needed })
        } else {
            Ok(())
        }
    }

    /// Bytes of header and checksum; 0 for methods without them.
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.header_len_in(self.format)
    }

    pub(crate) fn header_len_in(&self, format: HeaderFormat) -> usize {
        if self.has_header() {
            format.len() + checksum::size(self.kind)
        } else {
            0
        }
    }

    /// Minimum size of a block that can be verified.
    #[must_use]
    pub fn smallest_piece(&self) -> usize {
        self.header_offset + self.header_len() + 1
    }

    /// Whether blocks have headers.
    #[must_use]
    pub fn has_header(&self) -> bool {
        !matches!(self.kind, VerifyKind::Pattern | VerifyKind::Null)
    }

    /// The seed of a write: different for each run, write and offset.
    #[must_use]
    pub fn seed_of(&self, number: u64, offset: u64) -> u64 {
        mix(mix(self.seed ^ mix(number)) ^ offset)
    }

    /// Fills and stamps `buf`, write `number` of the job at byte `offset`.
    ///
    /// # Errors
    /// If the block is too small for a header, or its length does not fit into one.
    pub fn stamp(
        &self,
        buf: &mut [u8],
        offset: u64,
        number: u64,
        when: Duration,
    ) -> Result<(), VerifyError> {
        self.stamp_as(
            buf,
            Stamp {
                offset,
                number,
                seed: self.seed_of(number, offset),
                when,
            },
        )
    }

    /// Fills and stamps `buf` with exactly this stamp. The same stamp gives the same bytes, so that
    /// this also recreates the expected block (`verify_dump`).
    ///
    /// # Errors
    /// As for [`Stamper::stamp`].
    pub fn stamp_as(&self, buf: &mut [u8], stamp: Stamp) -> Result<(), VerifyError> {
        self.fits(buf.len())?;
        if u32::try_from(buf.len()).is_err() {
            return Err(VerifyError::TooLarge { len: buf.len() });
        }
        if let Some(pattern) = &self.pattern {
            pattern.fill(buf, stamp.offset);
        }
        for range in self.pieces(buf.len()) {
            let offset = stamp.offset + range.start as u64;
            self.write_piece(&mut buf[range], Stamp { offset, ..stamp });
        }
        Ok(())
    }

    /// The pieces of a block of `len` bytes; the last one includes the remainder.
    pub(crate) fn pieces(&self, len: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let step = if self.interval > 0 && self.interval <= len {
            self.interval
        } else {
            len.max(1)
        };
        let count = len / step;
        (0..count).map(move |n| n * step..if n + 1 == count { len } else { (n + 1) * step })
    }

    /// Writes content and header of one piece; a pattern is already in place. The stamp's offset is
    /// that of the piece.
    pub(crate) fn write_piece(&self, piece: &mut [u8], stamp: Stamp) {
        if self.pattern.is_none() {
            let mut stream = Stream::new(stamp.seed ^ mix(stamp.offset));
            self.content.fill(piece, stamp.offset, &mut stream);
        }
        if self.has_header() {
            self.write_header(piece, stamp);
        }
    }

    fn write_header(&self, piece: &mut [u8], stamp: Stamp) {
        let len = self.header_len();
        let mut front = [0; LARGEST];
        let header = Header {
            method: method_number(self.kind),
            len: piece.len() as u32,
            seed: stamp.seed,
            offset: stamp.offset,
            when: stamp.when,
            number: stamp.number,
            thread: self.thread,
        };
        header.encode(self.format, &mut front);
        front[self.format.len()..len].copy_from_slice(sum(self.kind, &[&piece[len..]]).as_bytes());
        piece[..len].copy_from_slice(&front[..len]);
        self.swap_header(piece);
    }

    /// `verify_offset`: swaps the header with the bytes at that offset.
    fn swap_header(&self, piece: &mut [u8]) {
        if self.header_offset > 0 {
            let len = self.header_len();
            let (front, back) = piece.split_at_mut(self.header_offset);
            front[..len].swap_with_slice(&mut back[..len]);
        }
    }
}

/// The content of blocks without a pattern. fio writes random content here; zeros and patterns,
/// which would make all blocks equal, need `verify_pattern`.
fn body(fill: &Fill, has_pattern: bool) -> &Fill {
    match fill {
        Fill::Compressible { .. } if !has_pattern => fill,
        _ => &Fill::Random,
    }
}
