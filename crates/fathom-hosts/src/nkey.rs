//! Credentials of NATS: an nkey (docs.nats.io, "NKeys"), alone or with a JWT (a `.creds` file).
//!
//! An nkey is an Ed25519 key in base 32 (RFC 4648): prefix, key, and a CRC-16 (XMODEM), little-endian.

use ring::signature::{Ed25519KeyPair, KeyPair};

/// Prefix of a public key of a user, the letter U.
const USER: u8 = 20 << 3;
/// Prefix of a seed, the letter S; the next five bits are the prefix of its kind.
const SEED: u8 = 18 << 3;
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const URL_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What a client proves to a server.
#[derive(Clone)]
pub(crate) struct Credentials {
    jwt: Option<String>,
    seed: Vec<u8>,
}

/// Without the seed.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// The credentials in a file of `nsc` or `nk`: a line with a seed, and the JWT if there is one.
    pub(crate) fn parse(text: &str) -> Result<Credentials, String> {
        let words = || text.split_whitespace();
        let seed = words()
            .find_map(seed_of)
            .ok_or("no seed of an nkey: expected a line that begins with SU")?;
        // The only other word with two dots between parts of base 64.
        let jwt = words()
            .find(|word| word.starts_with("ey") && word.split('.').count() == 3)
            .map(str::to_owned);
        Ok(Credentials { jwt, seed })
    }

    /// The fields of `CONNECT` that answer a challenge.
    pub(crate) fn answer(&self, nonce: &str) -> Result<Vec<(&'static str, String)>, String> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.seed)
            .map_err(|_| "the seed of the nkey is not valid".to_owned())?;
        let signature = base64_url(pair.sign(nonce.as_bytes()).as_ref());
        let mut fields = vec![("sig", signature)];
        fields.push(match &self.jwt {
            Some(jwt) => ("jwt", jwt.clone()),
            None => ("nkey", public_name(pair.public_key().as_ref())),
        });
        Ok(fields)
    }
}

/// The key in a word such as `SUACSS...`.
fn seed_of(word: &str) -> Option<Vec<u8>> {
    let bytes = base32_decoded(word)?;
    let (content, sum) = bytes.split_last_chunk::<2>()?;
    let is_seed = content.len() == 34
        && content[0] & 0xf8 == SEED
        && ((content[0] & 7) << 5 | content[1] >> 3) == USER
        && crc16(content).to_le_bytes() == *sum;
    is_seed.then(|| content[2..].to_vec())
}

fn public_name(key: &[u8]) -> String {
    let mut bytes = vec![USER];
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&crc16(&bytes).to_le_bytes());
    base32(&bytes)
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum: u16, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| {
            if sum & 0x8000 == 0 {
                sum << 1
            } else {
                sum << 1 ^ 0x1021
            }
        })
    })
}

/// The bits of `bytes` in groups of `width`, as places in an alphabet; the last group is filled with zeros.
fn groups(bytes: &[u8], width: u32) -> Vec<usize> {
    let (mut held, mut bits) = (0_u32, 0);
    let mut places = Vec::new();
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= width {
            bits -= width;
            places.push((held >> bits) as usize & ((1 << width) - 1));
        }
        held &= (1 << bits) - 1;
    }
    if bits > 0 {
        places.push((held << (width - bits)) as usize);
    }
    places
}

fn base32(bytes: &[u8]) -> String {
    groups(bytes, 5)
        .into_iter()
        .map(|place| char::from(ALPHABET[place]))
        .collect()
}

/// Base 64 for URLs without padding.
fn base64_url(bytes: &[u8]) -> String {
    groups(bytes, 6)
        .into_iter()
        .map(|place| char::from(URL_ALPHABET[place]))
        .collect()
}

fn base32_decoded(text: &str) -> Option<Vec<u8>> {
    let (mut held, mut bits) = (0_u32, 0);
    let mut bytes = Vec::new();
    for letter in text.bytes() {
        let place = ALPHABET.iter().position(|one| *one == letter)?;
        held = held << 5 | place as u32;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair that docs.nats.io shows for `nk -gen user -pubout`.
    const EXAMPLE: (&str, &str) = (
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
    );

    #[test]
    fn the_public_key_is_that_of_the_documentation() {
        let credentials = Credentials::parse(EXAMPLE.0).expect("a seed");
        let fields = credentials.answer("nonce").expect("a valid seed");
        assert_eq!(fields[1], ("nkey", EXAMPLE.1.to_owned()));
        // 64 bytes of a signature are 86 letters.
        assert_eq!((fields[0].0, fields[0].1.len()), ("sig", 86));
    }

    #[test]
    fn a_file_of_credentials_has_a_jwt_and_a_seed() {
        let text = format!(
            "-----BEGIN NATS USER JWT-----\neyJ0.eyJq.c2ln\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            EXAMPLE.0
        );
        let fields = Credentials::parse(&text)
            .expect("credentials")
            .answer("n")
            .expect("valid");
        assert_eq!(fields[1], ("jwt", "eyJ0.eyJq.c2ln".to_owned()));
        let changed = EXAMPLE.0.replace("SUACSS", "SUACST");
        for wrong in ["", EXAMPLE.1, changed.as_str(), "SU", "garbage"] {
            assert!(Credentials::parse(wrong).is_err(), "{wrong}");
        }
    }

    /// The examples of RFC 4648, section 10, without padding.
    #[test]
    fn base_32_is_that_of_rfc_4648() {
        for (bytes, text) in [("f", "MY"), ("fo", "MZXQ"), ("foobar", "MZXW6YTBOI")] {
            assert_eq!(base32(bytes.as_bytes()), text);
            assert_eq!(base32_decoded(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(base64_url(b"foob"), "Zm9vYg");
    }
}
