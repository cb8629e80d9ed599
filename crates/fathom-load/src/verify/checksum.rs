//! The checksums of fio's verify headers, byte for byte.
//!
//! Most are the published functions. The exceptions, found by reading blocks that fio 3.33 and 3.42
//! had written: crc32 is the CRC of POSIX `cksum` without the length and the final complement;
//! crc32c lacks the final complement; sha1 stores its words in the machine's byte order; sha256 and
//! sha512 fill their fields with remains of the message ([`super::sha256`]); xxhash is XXH32 with
//! seed 1.

use std::hash::Hasher;

use crc::{Algorithm, CRC_7_MMC, CRC_16_ARC, CRC_64_REDIS, Crc, Table};
use fathom_model::VerifyKind;
use md5::Md5;
use sha1::Sha1;
use sha2::Sha512;
use sha3::{Digest, Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use twox_hash::XxHash32;

use super::sha256::fio_sha256;

/// The largest checksum, bytes (sha512).
pub(crate) const LARGEST: usize = 128;

/// POSIX `cksum`'s polynomial, neither reflected nor complemented.
const CRC_32_FIO: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89a1_897f,
    residue: 0,
};

static CRC7: Crc<u8, Table<16>> = Crc::<u8, Table<16>>::new(&CRC_7_MMC);
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_FIO);
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

const XXHASH_SEED: u32 = 1;

/// A checksum as stored after a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    bytes: [u8; LARGEST],
    len: usize,
}

impl Sum {
    fn new(bytes: &[u8]) -> Self {
        let mut sum = Sum {
            bytes: [0; LARGEST],
            len: bytes.len(),
        };
        sum.bytes[..bytes.len()].copy_from_slice(bytes);
        sum
    }

    /// The bytes; empty for methods without a checksum.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Bytes that a method needs after the header.
pub(crate) const fn size(kind: VerifyKind) -> usize {
    match kind {
        VerifyKind::Md5 => 16,
        VerifyKind::Crc64 => 8,
        VerifyKind::Crc32c | VerifyKind::Crc32cIntel | VerifyKind::Crc32 | VerifyKind::Xxhash => 4,
        VerifyKind::Crc16 => 2,
        VerifyKind::Crc7 => 1,
        VerifyKind::Sha1 => 20,
        VerifyKind::Sha256 => 64,
        VerifyKind::Sha512 => LARGEST,
        VerifyKind::Sha3_224 => 28,
        VerifyKind::Sha3_256 => 32,
        VerifyKind::Sha3_384 => 48,
        VerifyKind::Sha3_512 => 64,
        VerifyKind::Meta
        | VerifyKind::Pattern
        | VerifyKind::PatternHeader
        | VerifyKind::Null
        | VerifyKind::Fathom => 0,
    }
}

/// The checksum of the concatenated parts.
pub(crate) fn sum(kind: VerifyKind, parts: &[&[u8]]) -> Sum {
    match kind {
        VerifyKind::Md5 => digest::<Md5>(parts),
        VerifyKind::Crc64 => Sum::new(&crc64(parts).to_le_bytes()),
        VerifyKind::Crc32c | VerifyKind::Crc32cIntel => Sum::new(&crc32c(parts).to_le_bytes()),
        VerifyKind::Crc32 => Sum::new(&crc32(parts).to_le_bytes()),
        VerifyKind::Crc16 => Sum::new(&crc16(parts).to_le_bytes()),
        VerifyKind::Crc7 => Sum::new(&[crc7(parts)]),
        VerifyKind::Xxhash => Sum::new(&xxhash(parts).to_le_bytes()),
        VerifyKind::Sha1 => sha1_words(parts),
        VerifyKind::Sha256 => Sum::new(&fio_sha256(parts)),
        VerifyKind::Sha512 => sha512(parts),
        VerifyKind::Sha3_224 => digest::<Sha3_224>(parts),
        VerifyKind::Sha3_256 => digest::<Sha3_256>(parts),
        VerifyKind::Sha3_384 => digest::<Sha3_384>(parts),
        VerifyKind::Sha3_512 => digest::<Sha3_512>(parts),
        VerifyKind::Meta
        | VerifyKind::Pattern
        | VerifyKind::PatternHeader
        | VerifyKind::Null
        | VerifyKind::Fathom => Sum::new(&[]),
    }
}

/// CRC-32C without the final complement; it also protects fio's headers.
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    !parts
        .iter()
        .fold(0, |crc, part| crc32c::crc32c_append(crc, part))
}

fn crc7(parts: &[&[u8]]) -> u8 {
    let mut digest = CRC7.digest();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
}

fn crc16(parts: &[&[u8]]) -> u16 {
    let mut digest = CRC16.digest();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
}

fn crc32(parts: &[&[u8]]) -> u32 {
    let mut digest = CRC32.digest();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
}

fn crc64(parts: &[&[u8]]) -> u64 {
    let mut digest = CRC64.digest();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
}

fn xxhash(parts: &[&[u8]]) -> u32 {
    let mut hash = XxHash32::with_seed(XXHASH_SEED);
    parts.iter().for_each(|part| hash.write(part));
    hash.finish_32()
}

fn digest<D: Digest>(parts: &[&[u8]]) -> Sum {
    let mut hash = D::new();
    parts.iter().for_each(|part| hash.update(part));
    Sum::new(&hash.finalize())
}

/// SHA-1, each of its five words in little-endian order.
fn sha1_words(parts: &[&[u8]]) -> Sum {
    let mut sum = digest::<Sha1>(parts);
    let len = sum.len;
    sum.bytes[..len]
        .chunks_exact_mut(4)
        .for_each(<[u8]>::reverse);
    sum
}

/// SHA-512, followed by the second half of the last padded block of its message.
fn sha512(parts: &[&[u8]]) -> Sum {
    const HALF: usize = 64;
    let mut sum = digest::<Sha512>(parts);
    sum.len = LARGEST;
    let len: usize = parts.iter().map(|part| part.len()).sum();
    // Message bytes of the last block; with 112 or more of them the padding needs another block.
    let held = len % LARGEST;
    let tail = &mut sum.bytes[HALF..];
    if held < LARGEST - 16 {
        copy_tail(parts, len - held + HALF, tail);
        if let Some(first) = held.checked_sub(HALF) {
            tail[first] = 0x80;
        }
    }
    tail[HALF - 8..].copy_from_slice(&(len as u64 * 8).to_be_bytes());
    sum
}

/// What fio 3.33 stores as sha512: it never runs the last step, so that its buffer holds the first
/// block of the message, overwritten at the front by the rest after the last whole block. `None`
/// for messages shorter than a block, where it is undefined.
pub(crate) fn unfinished_sha512(parts: &[&[u8]]) -> Option<[u8; LARGEST]> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let mut left = [0; LARGEST];
    let first = parts.iter().copied().flatten().take(LARGEST);
    left.iter_mut()
        .zip(first)
        .for_each(|(place, byte)| *place = *byte);
    copy_tail(parts, len - len % LARGEST, &mut left);
    (len >= LARGEST).then_some(left)
}

/// Copies the message from byte `from` to its end to the start of `out`.
fn copy_tail(parts: &[&[u8]], from: usize, out: &mut [u8]) {
    let (mut skip, mut at) = (from, 0);
    for part in parts {
        let rest = part.get(skip..).unwrap_or(&[]);
        skip -= skip.min(part.len());
        out[at..at + rest.len()].copy_from_slice(rest);
        at += rest.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: &[u8] = b"123456789";

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The library has code of its own for x86-64 and aarch64 and a portable one. A table of the polynomial is neither: all
    /// agree on every length and alignment of a vector.
    #[test]
    fn crc32c_is_the_same_on_every_processor() {
        let portable = Crc::<u32, Table<1>>::new(&crc::CRC_32_ISCSI);
        let bytes: Vec<u8> = (0..3000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for start in 0..17 {
            for len in (0..300).chain([1024, 2900]) {
                let part = &bytes[start..start + len];
                assert_eq!(!crc32c(&[part]), portable.checksum(part), "{start}, {len}");
            }
        }
    }

    /// Check values of the catalogue of parametrised CRC algorithms (G. Cook), adjusted as
    /// described in the module.
    #[test]
    fn crcs_have_the_catalogues_check_values() {
        let value = |kind| hex(sum(kind, &[CHECK]).as_bytes());
        assert_eq!(value(VerifyKind::Crc7), "75"); // CRC-7/MMC
        assert_eq!(value(VerifyKind::Crc16), hex(&0xbb3d_u16.to_le_bytes())); // CRC-16/ARC
        assert_eq!(
            value(VerifyKind::Crc32),
            hex(&(!0x765e_7680_u32).to_le_bytes())
        ); // CRC-32/CKSUM, complement undone
        assert_eq!(
            value(VerifyKind::Crc32c),
            hex(&(!0xe306_9283_u32).to_le_bytes())
        ); // CRC-32/ISCSI, likewise
        assert_eq!(value(VerifyKind::Crc32cIntel), value(VerifyKind::Crc32c));
        assert_eq!(
            value(VerifyKind::Crc64),
            hex(&0xe9c6_d914_c4b8_d9ca_u64.to_le_bytes())
        ); // CRC-64/REDIS
    }

    /// RFC 1321 A.5; FIPS 180-4 examples; FIPS 202 examples: the message "abc".
    #[test]
    fn digests_have_the_published_values() {
        let value = |kind| hex(sum(kind, &[b"abc"]).as_bytes());
        assert_eq!(value(VerifyKind::Md5), "900150983cd24fb0d6963f7d28e17f72");
        // a9993e36 4706816a ba3e2571 7850c26c 9cd0d89d, each word little-endian.
        assert_eq!(
            value(VerifyKind::Sha1),
            "363e99a96a81064771253eba6cc250789dd8d09c"
        );
        let sha512 = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                      2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
        assert_eq!(value(VerifyKind::Sha512)[..128], *sha512);
        assert_eq!(
            value(VerifyKind::Sha3_224),
            "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"
        );
        assert_eq!(
            value(VerifyKind::Sha3_256),
            "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
        );
        assert!(value(VerifyKind::Sha3_384).starts_with("ec01498288516fc926459f58e2c6ad8d"));
        assert!(value(VerifyKind::Sha3_512).starts_with("b751850b1a57168a5693cd924b6b096e"));
    }

    /// The xxHash specification's sanity checks give XXH32 of the empty input with seed 0 and of
    /// "abc"-like inputs; with seed 1 the empty input gives 0x0b2cb792 (XXH32 definition: seed +
    /// PRIME32_5, then the final mix).
    #[test]
    fn xxhash_has_seed_one() {
        assert_eq!(
            hex(sum(VerifyKind::Xxhash, &[b""]).as_bytes()),
            hex(&0x0b2c_b792_u32.to_le_bytes())
        );
    }

    #[test]
    fn size_matches_the_checksum_and_parts_may_be_split_anywhere() {
        let data: Vec<u8> = (0..1000u32).map(|n| ((n * 31) >> 2) as u8).collect();
        for kind in super::super::stamper::KINDS {
            for len in [
                0, 1, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 191, 192, 200, 239, 240, 255,
                1000,
            ] {
                let whole = sum(kind, &[&data[..len]]);
                assert_eq!(whole.as_bytes().len(), size(kind), "{kind:?}");
                let (cut, next) = (len / 3, len / 2);
                assert_eq!(
                    whole,
                    sum(kind, &[&data[..cut], &data[cut..next], &data[next..len]]),
                    "{kind:?} {len}"
                );
            }
        }
    }
}
