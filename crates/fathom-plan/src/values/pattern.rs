//! `buffer_pattern` and `verify_pattern`: bytes in several notations, side by side.

use std::path::PathBuf;

use fathom_model::PatternPart;

use super::context::ValueError;

/// Maximum length of a pattern in bytes, more than any useful block.
const MAX_LENGTH: usize = 1 << 20;

/// Parses `0xff`, `"text"`, `-12`, `'file'` and `%o`, in any order without blanks between.
///
/// # Errors
/// When a part is not closed or is none of these, or the pattern is empty or too long.
pub(crate) fn bytes_pattern(text: &str) -> Result<Vec<PatternPart>, ValueError> {
    let mut rest = text;
    let mut parts: Vec<PatternPart> = Vec::new();
    while !rest.is_empty() {
        let (part, after) = self::part(rest)?;
        push(&mut parts, part);
        rest = after;
    }
    let length: usize = parts
        .iter()
        .map(|part| {
            if let PatternPart::Bytes(bytes) = part {
                bytes.len()
            } else {
                8
            }
        })
        .sum();
    match length {
        0 => {
            Err(ValueError::new("the pattern is empty")
                .advise("write 0xdeadbeef, \"text\" or 'file'"))
        }
        n if n > MAX_LENGTH => Err(ValueError::new(format!(
            "the pattern has more than {MAX_LENGTH} bytes"
        ))),
        _ => Ok(parts),
    }
}

fn push(parts: &mut Vec<PatternPart>, part: PatternPart) {
    match (parts.last_mut(), part) {
        (Some(PatternPart::Bytes(before)), PatternPart::Bytes(mut more)) => {
            before.append(&mut more);
        }
        (_, part) => parts.push(part),
    }
}

fn part(text: &str) -> Result<(PatternPart, &str), ValueError> {
    match text.as_bytes()[0] {
        b'"' => quoted(text, '"')
            .map(|(inner, rest)| (PatternPart::Bytes(inner.as_bytes().to_vec()), rest)),
        b'\'' => {
            quoted(text, '\'').map(|(inner, rest)| (PatternPart::File(PathBuf::from(inner)), rest))
        }
        b'%' => match text.strip_prefix("%o") {
            Some(rest) => Ok((PatternPart::Offset, rest)),
            None => Err(ValueError::new(format!("unknown format '{text}'"))
                .advise("only %o, the offset, is supported")),
        },
        _ => number(text).map(|(bytes, rest)| (PatternPart::Bytes(bytes), rest)),
    }
}

fn quoted(text: &str, quote: char) -> Result<(&str, &str), ValueError> {
    text[1..]
        .split_once(quote)
        .ok_or_else(|| ValueError::new(format!("the quotation mark {quote} is not closed")))
}

/// Hexadecimal bytes as written, or a decimal number of 32 bits as little-endian bytes without leading zeros.
fn number(text: &str) -> Result<(Vec<u8>, &str), ValueError> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hexadecimal(text, digits);
    }
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len() - sign);
    // A hexadecimal number may follow directly: the 0 of its 0x belongs to it.
    let hex_follows =
        text[sign + digits..].starts_with(['x', 'X']) && text[sign..sign + digits].ends_with('0');
    let end = sign + digits - usize::from(hex_follows);
    let value: i64 = text[..end].parse().map_err(|_| invalid(text))?;
    if i32::try_from(value).is_err() {
        return Err(
            ValueError::new(format!("{value} does not fit into 32 bits"))
                .advise("write it as hexadecimal bytes, 0x..."),
        );
    }
    let bytes = (value as i32 as u32).to_le_bytes();
    let length = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(1, |at| at + 1);
    Ok((bytes[..length].to_vec(), &text[end..]))
}

fn hexadecimal<'a>(text: &str, digits: &'a str) -> Result<(Vec<u8>, &'a str), ValueError> {
    let mut end = digits
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(digits.len());
    if digits[end..].starts_with(['x', 'X']) && digits[..end].ends_with('0') {
        end -= 1;
    }
    if end == 0 {
        return Err(invalid(text));
    }
    let nibbles: Vec<u8> = digits[..end]
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|n| n as u8)
        .collect();
    // An odd number of digits: the first byte has one digit (0xFF1 is 0f f1).
    let bytes = nibbles
        .rchunks(2)
        .rev()
        .map(|pair| pair.iter().fold(0, |byte, nibble| byte << 4 | nibble))
        .collect();
    Ok((bytes, &digits[end..]))
}

fn invalid(text: &str) -> ValueError {
    let shown: String = text.chars().take(20).collect();
    ValueError::new(format!("invalid pattern '{shown}'"))
        .advise("write 0xdeadbeef, \"text\", a number, 'file' or %o")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        match &bytes_pattern(text).expect("readable")[..] {
            [PatternPart::Bytes(bytes)] => bytes.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The examples of combined patterns in fio's manual.
    #[test]
    fn examples_of_the_manual() {
        assert_eq!(bytes("\"abcd\""), b"abcd");
        assert_eq!(bytes("-1024"), [0x00, 0xfc, 0xff, 0xff]);
        assert_eq!(bytes("66"), [0x42]);
        assert_eq!(bytes("0xFF0X1"), [0xff, 0x01]);
        assert_eq!(
            bytes("\"123\"0xFFeeCC"),
            [0x31, 0x32, 0x33, 0xff, 0xee, 0xcc]
        );
        assert_eq!(
            bytes("\"abcd\"-120xdeadface"),
            [
                b'a', b'b', b'c', b'd', 0xf4, 0xff, 0xff, 0xff, 0xde, 0xad, 0xfa, 0xce
            ]
        );
        assert_eq!(bytes("0"), [0]);
        // Regression 0012: the bytes differed from those that fio 3.33 writes.
        assert_eq!(bytes("\"long\"0xff7"), [b'l', b'o', b'n', b'g', 0x0f, 0xf7]);
        assert_eq!(
            bytes_pattern("-100xab\"1\"%o\"2\""),
            Ok(vec![
                PatternPart::Bytes(vec![0xf6, 0xff, 0xff, 0xff, 0xab, 0x31]),
                PatternPart::Offset,
                PatternPart::Bytes(vec![0x32])
            ])
        );
        assert_eq!(
            bytes_pattern("'/tmp/x'"),
            Ok(vec![PatternPart::File("/tmp/x".into())])
        );
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for text in [
            "",
            "abc",
            "0x",
            "\"open",
            "'open",
            "%x",
            "99999999999",
            "\"\"",
            "é",
        ] {
            assert!(bytes_pattern(text).is_err(), "{text}");
        }
    }
}
