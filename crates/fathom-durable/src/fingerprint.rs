//! The fingerprint by which the writer knows the certificate of the recorder.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// SHA-256 of a certificate. As text 64 hexadecimal digits, which may have colons or spaces between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(
    /// The bytes.
    pub [u8; 32],
);

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Fingerprint, String> {
        let digits: Vec<u8> = text
            .chars()
            .filter(|c| *c != ':' && *c != ' ')
            .map(|c| c.to_digit(16).map(|digit| digit as u8))
            .collect::<Option<_>>()
            .ok_or("a fingerprint has hexadecimal digits, such as 3A:0F:...")?;
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(format!(
                "a SHA-256 fingerprint has 64 hexadecimal digits, this one has {}",
                digits.len()
            ));
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Fingerprint(bytes))
    }
}

/// As `openssl x509 -fingerprint -sha256` writes it.
impl Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.map(|byte| format!("{byte:02X}")).join(":"))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Fingerprint, String> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> String {
        fingerprint.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_with_and_without_colons() {
        let text = "86:98:E6:BB:0C:01:04:C0:3D:A3:89:4F:55:7C:0D:AB:58:D8:D0:59:3B:F4:C1:C4:F9:89:91:48:3A:23:C1:F2";
        let read: Fingerprint = text.parse().expect("a fingerprint");
        assert_eq!((read.0[0], read.0[31]), (0x86, 0xf2));
        assert_eq!(read.to_string(), text);
        let plain = text.replace(':', "").to_lowercase();
        assert_eq!(plain.parse(), Ok(read));
        for wrong in [
            "",
            "86:98",
            "zz",
            &text[..text.len() - 1],
            &(text.to_owned() + "0"),
        ] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
