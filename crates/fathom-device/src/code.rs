//! The short code that confirms one target in one state.
//!
//! A code is the first 40 bits of a SHA-256 over the target's identity and a sample of its
//! contents, written as 8 characters of Crockford's base 32. It is a confirmation, not a secret: it
//! proves that the user has inspected this device in its current state. The code changes when the
//! device or its first or last MiB changes, and no two devices share one.

use crate::facts::{BlockFacts, Ends, FileFacts, Target, TargetFacts};
use sha2::{Digest, Sha256};
use std::fmt;
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

impl Fingerprint {
    /// The fingerprint of `facts`. `None` if there is nothing to destroy or the contents could not
    /// be read.
    #[must_use]
    pub fn of(facts: &TargetFacts) -> Option<Self> {
        let mut hash = Sha256::new();
        hash.update(b"fathom destroy v1\0");
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
        let bits = self.0[..5]
            .iter()
            .fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
        let symbol = |at: usize| ALPHABET[(bits >> (35 - 5 * at)) as usize & 31];
        DestroyCode(std::array::from_fn(symbol))
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
        &block.starts_at.map_or(0, |start| start.get()).to_le_bytes(),
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
}

fn ends(hash: &mut Sha256, ends: &Ends) {
    field(hash, "ends", &ends.sha256);
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
