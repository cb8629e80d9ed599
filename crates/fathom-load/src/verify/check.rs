//! Checks blocks that were read back.

use fathom_model::VerifyKind;

use super::checksum::{sum, unfinished_sha512};
use super::header::{Header, HeaderError, HeaderFormat, method_name, method_number};
use super::mismatch::{Difference, Fault, Mismatch};
use super::stamper::{Stamp, Stamper};

/// The properties of the expected write; `None` is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Number of the write (`verify_write_sequence`).
    pub number: Option<u64>,
    /// Seed of its content (`verify_header_seed`), see [`Stamper::seed_of`].
    pub seed: Option<u64>,
}

/// A method number that fio reserves; both fio and fathom treat it as crc32c.
const CRC32C_INTEL: u8 = 6;

impl Stamper {
    /// Checks `buf`, a block read from byte `offset`; returns the first bad piece.
    ///
    /// The block must have the extent with which it was written if `verify_interval` is not set, or
    /// if the length of a pattern does not divide it. Without expectations, both of fio's header
    /// formats are accepted; otherwise only the format that this stamper writes. Checked bytes: all
    /// with a checksum method or a pattern; only the header with `meta` without a pattern; none
    /// with `null`.
    ///
    /// # Errors
    /// The class of the fault, and its location.
    pub fn check(&self, buf: &[u8], offset: u64, expected: Expected) -> Result<(), Mismatch> {
        if self.kind == VerifyKind::Null {
            return Ok(());
        }
        for (interval, range) in self.pieces(buf.len()).enumerate() {
            let piece = Piece {
                stamper: self,
                bytes: &buf[range.clone()],
                at: range.start,
                block: offset,
            };
            let fail = |fault| {
                let (offset, len) = (offset + range.start as u64, range.len() as u32);
                Mismatch {
                    offset,
                    len,
                    interval,
                    fault,
                }
            };
            piece.check(expected).map_err(fail)?;
        }
        Ok(())
    }
}

/// One piece of a block.
struct Piece<'a> {
    stamper: &'a Stamper,
    bytes: &'a [u8],
    /// Position in the block.
    at: usize,
    /// Position of the block, bytes.
    block: u64,
}

impl<'a> Piece<'a> {
    fn check(&self, expected: Expected) -> Result<(), Fault> {
        if !self.stamper.has_header() {
            return self.check_pattern([self.bytes, &[], &[]], 0);
        }
        let format = self.format(expected)?;
        let len = self.stamper.header_len_in(format);
        let stored = &self.bytes[self.stamper.header_offset..][..len];
        let header = Header::decode(format, stored)
            .map_err(|header_fault| self.header_fault(header_fault, stored))?;
        self.check_header(&header, format, expected)?;
        self.check_data(&header, format, &stored[format.len()..])
    }

    fn offset(&self) -> u64 {
        self.block + self.at as u64
    }

    /// The format to read with: the one in the bytes if nothing is expected, otherwise the
    /// stamper's own.
    fn format(&self, expected: Expected) -> Result<HeaderFormat, Fault> {
        let stamper = self.stamper;
        let needed = |format| stamper.header_offset + stamper.header_len_in(format) + 1;
        let Some(front) = self
            .bytes
            .get(stamper.header_offset..needed(stamper.format))
        else {
            return Err(Fault::TooSmall {
                needed: needed(stamper.format),
            });
        };
        let found = HeaderFormat::of(front);
        let fits = self.bytes.len() >= needed(found)
            && (stamper.header_offset == 0 || !self.overlaps(found));
        if found == stamper.format
            || !fits
            || Header::decode(found, &self.bytes[stamper.header_offset..]).is_err()
        {
            return Ok(stamper.format);
        }
        if expected == Expected::default() {
            Ok(found)
        } else {
            Err(Fault::OtherFormat)
        }
    }

    fn overlaps(&self, format: HeaderFormat) -> bool {
        self.stamper.header_offset < self.stamper.header_len_in(format)
    }

    fn header_fault(&self, header_fault: HeaderError, stored: &[u8]) -> Fault {
        match header_fault {
            HeaderError::Altered => Fault::AlteredHeader,
            HeaderError::Missing => Fault::NoHeader {
                found: u16::from_le_bytes([stored[0], stored[1]]),
                zeroed: self.bytes.iter().all(|&byte| byte == 0),
            },
        }
    }

    /// Checks the fields, the most informative first: offset, method, length, write number.
    fn check_header(
        &self,
        header: &Header,
        format: HeaderFormat,
        expected: Expected,
    ) -> Result<(), Fault> {
        let method = method_number(self.stamper.kind);
        if header.offset != self.offset() {
            return Err(Fault::Misdirected {
                belongs: header.offset,
            });
        }
        if header.method != method
            && (header.method != CRC32C_INTEL || self.stamper.kind != VerifyKind::Crc32cIntel)
        {
            return Err(Fault::WrongMethod {
                found: header.method,
                expected: method,
            });
        }
        if header.len as usize != self.bytes.len() {
            return Err(Fault::WrongLength { found: header.len });
        }
        check_generation(header, format, expected)
    }

    fn check_data(
        &self,
        header: &Header,
        format: HeaderFormat,
        stored: &[u8],
    ) -> Result<(), Fault> {
        let len = self.stamper.header_len_in(format);
        let parts = self.data(len);
        if sum(self.stamper.kind, &parts).as_bytes() == stored {
            return if self.checks_pattern() {
                self.check_pattern(parts, len)
            } else {
                Ok(())
            };
        }
        if self.stamper.pattern.is_some() {
            self.check_pattern(parts, len)?;
        }
        if self.stamper.kind == VerifyKind::Sha512
            && unfinished_sha512(&parts).is_some_and(|left| left == *stored)
        {
            return Err(Fault::NoChecksum);
        }
        let method = method_name(method_number(self.stamper.kind));
        Err(Fault::Altered {
            method,
            difference: self.difference(header, format),
        })
    }

    /// The checksummed bytes in order: after the header, with the bytes that it displaced put back.
    fn data(&self, header_len: usize) -> [&'a [u8]; 3] {
        let (bytes, at) = (self.bytes, self.stamper.header_offset);
        if at == 0 {
            return [&bytes[header_len..], &[], &[]];
        }
        [
            &bytes[header_len..at],
            &bytes[..header_len],
            &bytes[at + header_len..],
        ]
    }

    /// Whether the pattern is compared although the checksum is right: for methods without a
    /// checksum.
    fn checks_pattern(&self) -> bool {
        let no_checksum = matches!(
            self.stamper.kind,
            VerifyKind::Meta | VerifyKind::PatternHeader
        );
        no_checksum && self.stamper.pattern.is_some()
    }

    fn check_pattern(&self, parts: [&[u8]; 3], header_len: usize) -> Result<(), Fault> {
        let Some(pattern) = &self.stamper.pattern else {
            return Ok(());
        };
        let mut logical = header_len;
        for part in parts {
            if let Some((index, expected)) =
                pattern.first_difference(part, self.at + logical, self.block)
            {
                let at = self.offset() + self.stored_position(logical + index, header_len) as u64;
                return Err(Fault::Pattern {
                    at,
                    found: part[index],
                    expected,
                });
            }
            logical += part.len();
        }
        Ok(())
    }

    /// Position of a byte of the data in the piece, given its position before the header was
    /// swapped.
    fn stored_position(&self, logical: usize, header_len: usize) -> usize {
        let at = self.stamper.header_offset;
        if at > 0 && (at..at + header_len).contains(&logical) {
            logical - at
        } else {
            logical
        }
    }

    /// Recreates the piece from the seed in its header and compares.
    fn difference(&self, header: &Header, format: HeaderFormat) -> Option<Difference> {
        compare(
            self.bytes,
            &self.expected_piece(header, format),
            self.offset(),
        )
    }

    /// The expected piece, recreated from its header. Allocates, for wrong pieces only.
    fn expected_piece(&self, header: &Header, format: HeaderFormat) -> Vec<u8> {
        let mut stamper = self.stamper.clone();
        stamper.format = format;
        let mut wanted = vec![0; self.bytes.len()];
        if let Some(pattern) = &stamper.pattern {
            // The phase of a pattern counts from the start of the block.
            let mut block = vec![0; self.at + self.bytes.len()];
            pattern.fill(&mut block, self.block);
            wanted.copy_from_slice(&block[self.at..]);
        }
        let stamp = Stamp {
            offset: header.offset,
            number: header.number,
            seed: header.seed,
            when: header.when,
        };
        stamper.write_piece(&mut wanted, stamp);
        stamper.keep_header(&mut wanted, self.bytes, format.len());
        wanted
    }

    /// The expected piece if it consists of a pattern only.
    fn expected_pattern(&self) -> Option<Vec<u8>> {
        let pattern = self.stamper.pattern.as_ref()?;
        let mut block = vec![0; self.at + self.bytes.len()];
        pattern.fill(&mut block, self.block);
        Some(block.split_off(self.at))
    }
}

impl Stamper {
    /// The expected content of the piece at byte `at` of the block at `block`, as far as its own
    /// header specifies it; `None` without a valid header.
    pub(crate) fn expected_piece(&self, piece: &[u8], at: usize, block: u64) -> Option<Vec<u8>> {
        let piece = Piece {
            stamper: self,
            bytes: piece,
            at,
            block,
        };
        if !self.has_header() {
            return piece.expected_pattern();
        }
        let format = piece.format(Expected::default()).ok()?;
        let header = Header::decode(format, &piece.bytes[self.header_offset..]).ok()?;
        Some(piece.expected_piece(&header, format))
    }
}

impl Stamper {
    /// Copies the header found, which was valid, so that only data and checksum are compared.
    fn keep_header(&self, wanted: &mut [u8], found: &[u8], len: usize) {
        let range = self.header_offset..self.header_offset + len;
        wanted[range.clone()].copy_from_slice(&found[range]);
    }
}

fn check_generation(
    header: &Header,
    format: HeaderFormat,
    expected: Expected,
) -> Result<(), Fault> {
    let (found, when) = (header.number, header.when);
    match expected.number.map(|number| format.stored_number(number)) {
        Some(number) if number != found => {
            return Err(Fault::Stale {
                found,
                expected: number,
                when,
            });
        }
        _ => {}
    }
    match expected.seed {
        Some(seed) if seed != header.seed => Err(Fault::OtherRun {
            found: header.seed,
            expected: seed,
            when,
        }),
        _ => Ok(()),
    }
}

/// `None` if so much differs that the content was never ours: unrelated bytes agree in one of 256.
fn compare(found: &[u8], wanted: &[u8], offset: u64) -> Option<Difference> {
    let differing = || {
        found
            .iter()
            .zip(wanted)
            .enumerate()
            .filter(|(_, (a, b))| a != b)
    };
    let (first, _) = differing().next()?;
    let (last, _) = differing().next_back()?;
    let bytes = differing().count();
    if bytes * 100 > found.len() * 95 {
        return None;
    }
    let bits = differing()
        .map(|(_, (a, b))| u64::from((a ^ b).count_ones()))
        .sum();
    Some(Difference {
        first: offset + first as u64,
        last: offset + last as u64,
        bytes: bytes as u64,
        bits,
    })
}
