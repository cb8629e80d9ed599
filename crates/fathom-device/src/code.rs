//! The short code that confirms one target in one state.
//!
//! A code is the first 40 bits of a SHA-256 over the target's identity and samples of its contents,
//! written as 8 characters of Crockford's base 32. It is a confirmation, not a secret: it proves
//! that the user has inspected this device in its current state. The code changes when the device,
//! its first or last MiB or one of the samples between them changes (see [`Samples`]), and no two
//! devices share one. For a file it also changes with every change that the file system dates.

use crate::facts::{BlockFacts, Ends, FileFacts, Target, TargetFacts};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 8;

/// The full identity hash of a target. Probing an unchanged target twice gives the same hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// The identity of a block device, independent of its contents: the same before and after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity([u8; 32]);

impl Identity {
    /// The identity of a block device; `None` for any other target.
    #[must_use]
    pub fn of(facts: &TargetFacts) -> Option<Self> {
        let Target::Block(block) = &facts.target else {
            return None;
        };
        let mut hash = Sha256::new();
        block_identity(&mut hash, block);
        Some(Self(hash.finalize().into()))
    }
}

/// The code that the user passes to `--destroy=`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DestroyCode([u8; LENGTH]);

/// The text is not a destroy code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not a destroy code; a code has {LENGTH} letters and digits, as shown by `fathom devices PATH`",
    text.escape_debug()
)]
pub struct ParseCodeError {
    text: String,
}

/// The parts of a target that are read for its code, besides the first and last MiB: one block of
/// 4 KiB at a fixed place in each of 768 equal parts.
///
/// A change of 1 % of the blocks is missed with a probability of at most 0.99^768 = 0.04 %, and a
/// connected change of 0.3 % is never missed, because it covers a whole part.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    size: u64,
}

impl Samples {
    /// Number of samples of a large target.
    pub const COUNT: u64 = 768;
    /// Size of one sample, bytes.
    pub const BLOCK: u64 = 4096;

    /// The samples of a target of `size` bytes.
    #[must_use]
    pub const fn of(size: u64) -> Self {
        Self { size }
    }

    /// The ranges in ascending order. A target with fewer blocks than samples is read as a whole.
    pub fn ranges(self) -> impl Iterator<Item = Range<u64>> {
        let blocks = self.size.div_ceil(Self::BLOCK);
        let parts = blocks.min(Self::COUNT);
        (0..parts).map(move |part| {
            let bound =
                |part: u64| (u128::from(blocks) * u128::from(part) / u128::from(parts)) as u64;
            let (start, end) = (bound(part), bound(part + 1));
            let offset = (start + scatter(part) % (end - start)) * Self::BLOCK;
            offset..(offset + Self::BLOCK).min(self.size)
        })
    }

    /// SHA-256 over all samples. One that cannot be read counts with its errno: a bad sector must
    /// not make the rest of a disk unknown.
    pub fn digest(self, mut read: impl FnMut(Range<u64>) -> Result<Vec<u8>, i32>) -> [u8; 32] {
        let mut hash = Sha256::new();
        for range in self.ranges() {
            match read(range) {
                Ok(bytes) => field(&mut hash, "sample", &bytes),
                Err(errno) => field(&mut hash, "unreadable", &errno.to_le_bytes()),
            }
        }
        hash.finalize().into()
    }
}

/// splitmix64: no structure of the contents repeats at the distances of the samples.
fn scatter(part: u64) -> u64 {
    let mixed = part.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Fingerprint {
    /// The fingerprint of `facts`. `None` if there is nothing to destroy, or the contents were not
    /// sampled or could not be read.
    #[must_use]
    pub fn of(facts: &TargetFacts) -> Option<Self> {
        let ends = match &facts.target {
            Target::Block(block) => block.ends.as_ref(),
            Target::File(file) => file.ends.as_ref(),
            Target::NewFile(_) | Target::Char(_) | Target::Other(_) => None,
        };
        ends.filter(|ends| ends.samples.is_some())
            .and_then(|_| Self::of_state(facts))
    }
    /// As [`Fingerprint::of`], with samples only if they were read: two sets of facts about the same
    /// target in the same state, read in the same way, have the same.
    pub(crate) fn of_state(facts: &TargetFacts) -> Option<Self> {
        let mut hash = Sha256::new();
        hash.update(b"fathom destroy v2\0");
        match &facts.target {
            Target::Block(block) => {
                block_identity(&mut hash, block);
                ends(&mut hash, block.ends.as_ref()?);
            }
            Target::File(file) => {
                file_identity(&mut hash, file);
                ends(&mut hash, file.ends.as_ref()?);
            }
            Target::NewFile(_) | Target::Char(_) | Target::Other(_) => return None,
        }
        Some(Self(hash.finalize().into()))
    }
    /// The short code that the user types.
    #[must_use]
    pub fn code(&self) -> DestroyCode {
        DestroyCode::of_hash(&self.0)
    }
}

impl DestroyCode {
    /// The code of an image of a storage cluster: of the cluster's and the image's ids, its size and bytes in use, and
    /// the digest of its [`Samples`].
    #[must_use]
    pub fn of_image(identity: (&str, &str), size: u64, used: u64, samples: &[u8; 32]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"fathom destroy image v1\0");
        field(&mut hash, "cluster", identity.0.as_bytes());
        field(&mut hash, "image", identity.1.as_bytes());
        field(&mut hash, "size", &size.to_le_bytes());
        field(&mut hash, "used", &used.to_le_bytes());
        field(&mut hash, "samples", samples);
        Self::of_hash(&hash.finalize().into())
    }

    /// The first 40 bits of a hash.
    pub(crate) fn of_hash(hash: &[u8; 32]) -> Self {
        let bits = hash[..5]
            .iter()
            .fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
        let symbol = |at: usize| ALPHABET[(bits >> (35 - 5 * at)) as usize & 31];
        Self(std::array::from_fn(symbol))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({})", self.code())
    }
}

/// Hashes the length before the bytes, so that no two lists of fields hash alike.
fn field(hash: &mut Sha256, name: &str, value: &[u8]) {
    hash.update(name.as_bytes());
    hash.update((value.len() as u64).to_le_bytes());
    hash.update(value);
}

fn block_identity(hash: &mut Sha256, block: &BlockFacts) {
    let text = |value: &Option<String>| value.clone().unwrap_or_default().into_bytes();
    field(hash, "model", &text(&block.model));
    field(hash, "serial", &text(&block.serial));
    field(hash, "wwid", &text(&block.wwid));
    field(hash, "devno", block.devno.to_string().as_bytes());
    field(hash, "size", &block.size.get().to_le_bytes());
    field(
        hash,
        "start",
        &block
            .starts_at
            .map_or(0, fathom_model::Bytes::get)
            .to_le_bytes(),
    );
    if block.serial.is_none() && block.wwid.is_none() {
        // Nothing identifies the medium itself, so the attachment must.
        field(hash, "diskseq", &block.diskseq.unwrap_or(0).to_le_bytes());
        let file = block
            .backing_file
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        field(hash, "backing", &text(&file));
    }
}

fn file_identity(hash: &mut Sha256, file: &FileFacts) {
    field(hash, "dev", file.dev.to_string().as_bytes());
    field(hash, "inode", &file.inode.to_le_bytes());
    field(hash, "size", &file.size.get().to_le_bytes());
    field(hash, "mtime", &file.mtime_ns.to_le_bytes());
    field(hash, "ctime", &file.ctime_ns.to_le_bytes());
}

fn ends(hash: &mut Sha256, ends: &Ends) {
    field(hash, "ends", &ends.sha256);
    if let Some(samples) = &ends.samples {
        field(hash, "samples", samples);
    }
    for found in &ends.signatures {
        field(hash, "signature", format!("{found:?}").as_bytes());
    }
}

impl fmt::Display for DestroyCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|&symbol| write!(f, "{}", char::from(symbol)))
    }
}

impl fmt::Debug for DestroyCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DestroyCode({self})")
    }
}

impl FromStr for DestroyCode {
    type Err = ParseCodeError;
    /// Accepts either case, and O, I and L for the digits they resemble.
    fn from_str(text: &str) -> Result<Self, ParseCodeError> {
        let bad = || ParseCodeError {
            text: text.chars().take(40).collect(),
        };
        let symbols: Vec<u8> = text.bytes().map(lookalike).collect();
        let known = symbols.iter().all(|symbol| ALPHABET.contains(symbol));
        let code = <[u8; LENGTH]>::try_from(symbols).map_err(|_| bad())?;
        if known { Ok(Self(code)) } else { Err(bad()) }
    }
}

fn lookalike(byte: u8) -> u8 {
    match byte.to_ascii_uppercase() {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 4 KiB that the samples of a target contain.
    fn sampled(size: u64) -> Vec<u64> {
        let ranges: Vec<Range<u64>> = Samples::of(size).ranges().collect();
        assert!(
            ranges.windows(2).all(|pair| pair[0].end <= pair[1].start),
            "in order, and none twice"
        );
        assert!(
            ranges
                .iter()
                .all(|range| range.start < range.end && range.end <= size)
        );
        ranges
            .iter()
            .map(|range| range.start / Samples::BLOCK)
            .collect()
    }

    /// Regression 0301: a code covered the first and the last MiB only, so that it stayed valid when the middle of a
    /// device was replaced. A change of 1 % of the blocks, wherever they are, is found with 99.9 %.
    #[test]
    fn a_change_of_one_percent_is_found() {
        for size in [1_u64 << 30, 931 << 30, (20 << 40) + 512] {
            let sampled = sampled(size);
            let blocks = size.div_ceil(Samples::BLOCK);
            assert_eq!(sampled.len() as u64, Samples::COUNT);
            // Connected: every window of one percent contains samples.
            let one_percent = blocks / 100;
            let all = [0]
                .into_iter()
                .chain(sampled.iter().copied())
                .chain([blocks]);
            let all: Vec<u64> = all.collect();
            assert!(all.windows(2).all(|pair| pair[1] - pair[0] < one_percent));
            // Scattered: each part of the target weighs the same, so 1 % of the blocks is missed with (1 - 0.01)^768.
            let missed = 0.99_f64.powi(sampled.len() as i32);
            assert!(missed < 0.001, "{missed}");
        }
    }

    /// The same, by trial: one block in a hundred is changed at random.
    #[test]
    fn scattered_changes_are_found_at_the_promised_rate() {
        let blocks = 1_u64 << 18;
        let sampled = sampled(blocks * Samples::BLOCK);
        let missed = (0..10_000_u64)
            .filter(|&trial| {
                !sampled
                    .iter()
                    .any(|block| scatter(trial << 32 | block).is_multiple_of(100))
            })
            .count();
        assert!(missed <= 10, "{missed} of 10,000 changes were missed");
    }

    #[test]
    fn a_small_target_is_read_as_a_whole() {
        assert_eq!(sampled(0), Vec::<u64>::new());
        assert_eq!(sampled(1), [0]);
        assert_eq!(sampled(4097), [0, 1]);
        let all: Vec<u64> = (0..Samples::COUNT).collect();
        assert_eq!(sampled(Samples::COUNT * Samples::BLOCK), all);
    }

    #[test]
    fn forty_bits_encode_as_eight_symbols() {
        // 0x00 44 32 14 C7 is 00000 00001 00010 00011 00100 00101 00110 00111 in groups of five.
        let mut bytes = [0; 32];
        bytes[..5].copy_from_slice(&[0x00, 0x44, 0x32, 0x14, 0xC7]);
        assert_eq!(Fingerprint(bytes).code().to_string(), "01234567");
        assert_eq!(Fingerprint([0xFF; 32]).code().to_string(), "ZZZZZZZZ");
    }

    #[test]
    fn a_code_parses_in_any_case() {
        let code: DestroyCode = "0lIoABcZ".parse().expect("eight known symbols");
        assert_eq!(code.to_string(), "0110ABCZ");
        assert_eq!(code.to_string().parse(), Ok(code));
    }

    #[test]
    fn invalid_codes_are_rejected() {
        for text in [
            "",
            "yes",
            "1234567",
            "123456789",
            "1234567U",
            "1234-567",
            "ÄÄÄÄ",
        ] {
            assert!(text.parse::<DestroyCode>().is_err(), "{text}");
        }
    }
}
