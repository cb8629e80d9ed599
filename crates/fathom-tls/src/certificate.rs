//! A certificate that its own key signed, in the encoding of X.509 (RFC 5280) with a key of Ed25519 (RFC 8410).
//!
//! Whoever connects compares its fingerprint, so it needs no authority and no date.

use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::TlsError;

/// A new certificate and its key, both as PEM.
pub struct SelfSigned {
    /// The certificate.
    pub certificate: String,
    /// The private key (PKCS #8).
    pub key: String,
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Version, and extensions.
const CONTEXT_0: u8 = 0xa0;
const CONTEXT_3: u8 = 0xa3;
/// A name of the domain name system in the alternative names.
const DNS_NAME: u8 = 0x82;

/// 1.3.101.112, Ed25519.
const ED25519: [u8; 3] = [0x2b, 0x65, 0x70];
/// 2.5.4.3, the common name.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
/// 2.5.29.17, alternative names of the subject.
const ALTERNATIVE_NAMES: [u8; 3] = [0x55, 0x1d, 0x11];
const BEGINS: &[u8] = b"200101000000Z";
/// RFC 5280, 4.1.2.5: a certificate without an end.
const ENDS: &[u8] = b"99991231235959Z";
/// Bytes of a serial number.
const SERIAL: usize = 16;

/// Makes a certificate with the DNS name `name`, at most 63 characters of ASCII.
///
/// # Errors
/// When the kernel gives no random numbers, or the name is not valid.
pub fn self_signed(name: &str) -> Result<SelfSigned, TlsError> {
    if name.is_empty() || name.len() > 63 || !name.is_ascii() {
        return Err(TlsError::Refused(format!(
            "'{}' cannot be the name of a certificate",
            name.escape_debug()
        )));
    }
    let unavailable = |_| TlsError::Refused("no random numbers for a key".to_owned());
    let random = SystemRandom::new();
    let key = Ed25519KeyPair::generate_pkcs8(&random).map_err(unavailable)?;
    let pair = Ed25519KeyPair::from_pkcs8(key.as_ref())
        .map_err(|error| TlsError::Refused(format!("a new key is not valid: {error}")))?;
    let mut serial = [0; SERIAL];
    random.fill(&mut serial).map_err(unavailable)?;
    // A positive number without leading zeros.
    serial[0] = (serial[0] & 0x7f) | 0x40;

    let algorithm = tagged(SEQUENCE, &[&tagged(OBJECT, &[&ED25519])]);
    let common = [
        tagged(OBJECT, &[&COMMON_NAME]),
        tagged(UTF8_STRING, &[name.as_bytes()]),
    ];
    let common = tagged(SEQUENCE, &[&common[0], &common[1]]);
    let subject = tagged(SEQUENCE, &[&tagged(SET, &[&common])]);
    let names = tagged(SEQUENCE, &[&tagged(DNS_NAME, &[name.as_bytes()])]);
    let extension = tagged(
        SEQUENCE,
        &[
            &tagged(OBJECT, &[&ALTERNATIVE_NAMES]),
            &tagged(OCTET_STRING, &[&names]),
        ],
    );
    let content = tagged(
        SEQUENCE,
        &[
            // Version 3.
            &tagged(CONTEXT_0, &[&tagged(INTEGER, &[&[2]])]),
            &tagged(INTEGER, &[&serial]),
            &algorithm,
            &subject,
            &tagged(
                SEQUENCE,
                &[
                    &tagged(UTC_TIME, &[BEGINS]),
                    &tagged(GENERALIZED_TIME, &[ENDS]),
                ],
            ),
            &subject,
            &tagged(SEQUENCE, &[&algorithm, &bits(pair.public_key().as_ref())]),
            &tagged(CONTEXT_3, &[&tagged(SEQUENCE, &[&extension])]),
        ],
    );
    let signature = bits(pair.sign(&content).as_ref());
    let certificate = tagged(SEQUENCE, &[&content, &algorithm, &signature]);
    Ok(SelfSigned {
        certificate: pem("CERTIFICATE", &certificate),
        key: pem("PRIVATE KEY", key.as_ref()),
    })
}

/// A bit string of whole bytes.
fn bits(bytes: &[u8]) -> Vec<u8> {
    tagged(BIT_STRING, &[&[0], bytes])
}

/// Tag, length and the parts (DER).
fn tagged(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut all = vec![tag];
    match content.len() {
        short if short < 0x80 => all.push(short as u8),
        long => {
            let bytes = long.to_be_bytes();
            let used = &bytes[long.leading_zeros() as usize / 8..];
            all.push(0x80 | used.len() as u8);
            all.extend(used);
        }
    }
    all.extend(content);
    all
}

/// The textual encoding of RFC 7468.
fn pem(label: &str, bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const LINE: usize = 64;
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut bits = [0; 3];
        bits[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, bits[0], bits[1], bits[2]]);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) as usize & 0x3f;
            text.push(match place <= group.len() {
                true => char::from(ALPHABET[index]),
                false => '=',
            });
        }
    }
    let lines: Vec<&str> = (0..text.len())
        .step_by(LINE)
        .map(|at| &text[at..text.len().min(at + LINE)])
        .collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let expected = format!("-----BEGIN X-----\n{text}\n-----END X-----\n");
            assert_eq!(pem("X", bytes.as_bytes()), expected);
        }
        assert!(pem("X", &[0; 100]).lines().all(|line| line.len() <= 64));
    }

    #[test]
    fn names_that_cannot_be_in_a_certificate_are_refused() {
        for name in ["", "ü", &"x".repeat(64)] {
            assert!(self_signed(name).is_err(), "{name}");
        }
    }
}
