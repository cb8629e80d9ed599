//! Signatures of jobs with Ed25519 (RFC 8032).

use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

/// Bytes of a key.
const KEY: usize = 32;
/// A signature of fathom is valid for nothing else.
const DOMAIN: &[u8] = b"fathom job 1\n";

/// Random bytes of the kernel.
///
/// # Errors
/// When it has none.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| "the kernel gives no random numbers".to_owned())?;
    Ok(bytes)
}

/// A text that nobody can guess, of 32 hexadecimal digits.
///
/// # Errors
/// When the kernel gives no random numbers.
pub fn secret() -> Result<String, String> {
    Ok(hex(&random::<16>()?))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// The key with which a controller signs its jobs.
pub struct SigningKey(Ed25519KeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl SigningKey {
    /// The text of a new key file: 64 hexadecimal digits.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub fn generate() -> Result<String, String> {
        Ok(hex(&random::<KEY>()?) + "\n")
    }

    /// The key of a file that [`SigningKey::generate`] made.
    ///
    /// # Errors
    /// When it is not a key.
    pub fn parse(text: &str) -> Result<SigningKey, String> {
        from_hex(text.trim())
            .and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok())
            .map(SigningKey)
            .ok_or_else(|| "no key: expected 64 hexadecimal digits".to_owned())
    }

    /// What an agent needs to accept jobs of this key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut key = [0; KEY];
        key.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(key)
    }

    pub(crate) fn sign(&self, text: &str) -> String {
        hex(self.0.sign(&message(text)).as_ref())
    }
}

fn message(text: &str) -> Vec<u8> {
    [DOMAIN, text.as_bytes()].concat()
}

/// The public half of a [`SigningKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; KEY]);

impl PublicKey {
    /// Whether this key signed the text.
    pub(crate) fn verifies(&self, text: &str, signature: &str) -> bool {
        from_hex(signature).is_some_and(|signature| {
            UnparsedPublicKey::new(&ED25519, &self.0)
                .verify(&message(text), &signature)
                .is_ok()
        })
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl std::str::FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<PublicKey, String> {
        from_hex(text)
            .and_then(|bytes| bytes.try_into().ok())
            .map(PublicKey)
            .ok_or_else(|| "not a public key: expected 64 hexadecimal digits".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, 7.1, test 1: the public key of this seed.
    #[test]
    fn the_public_key_is_that_of_rfc_8032() {
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let key = SigningKey::parse(seed).expect("a key");
        let expected = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(key.public().to_string(), expected);
    }

    #[test]
    fn only_the_text_and_the_key_that_were_signed_verify() {
        let new = || SigningKey::parse(&SigningKey::generate().expect("random")).expect("a key");
        let (key, other) = (new(), new());
        let signature = key.sign("job");
        assert!(key.public().verifies("job", &signature));
        assert!(!key.public().verifies("jobs", &signature));
        assert!(!other.public().verifies("job", &signature));
        assert!(!key.public().verifies("job", "") && !key.public().verifies("job", "zz"));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "00", "xyz", &"g".repeat(64)] {
            assert!(SigningKey::parse(text).is_err() && text.parse::<PublicKey>().is_err());
        }
    }
}
