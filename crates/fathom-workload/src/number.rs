//! Numbers in the text of traces, without allocation.

/// Digits only, below 2^64.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Decimal, or hexadecimal after `0x`.
pub(crate) fn integer(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] if !digits.is_empty() && digits.len() <= 16 => {
            digits.iter().try_fold(0_u64, |value, byte| {
                Some(value << 4 | u64::from((*byte as char).to_digit(16)?))
            })
        }
        _ => decimal(text),
    }
}

/// A decimal number with an optional fraction, times `unit` (a power of ten), rounded down: `scaled("1.5", 1000)` is 1500.
pub(crate) fn scaled(text: &[u8], unit: u64) -> Option<u64> {
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &[][..]),
    };
    let mut value = match whole {
        [] if !fraction.is_empty() => 0,
        whole => decimal(whole)?,
    }
    .checked_mul(unit)?;
    let mut place = unit;
    for byte in fraction {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        place /= 10;
        value = value.checked_add(place * u64::from(digit))?;
    }
    Some(value)
}

/// Without blanks at both ends.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// Splits into exactly `N` fields, trimmed.
pub(crate) fn fields<const N: usize>(line: &[u8], separator: u8) -> Option<[&[u8]; N]> {
    let mut all = line.split(|byte| *byte == separator);
    let mut found = [&[][..]; N];
    for field in &mut found {
        *field = trim(all.next()?);
    }
    all.next().is_none().then_some(found)
}

/// Fields between blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b"-1"), None);
        assert_eq!(integer(b"0x1F"), Some(31));
        assert_eq!(integer(b"0x"), None);
        assert_eq!(
            scaled(b"2721.616912", 1_000_000_000),
            Some(2_721_616_912_000)
        );
        assert_eq!(scaled(b".5", 1000), Some(500));
        assert_eq!(scaled(b"7", 1000), Some(7000));
        assert_eq!(scaled(b"0.0123456789123", 1_000_000_000), Some(12_345_678));
        assert_eq!(scaled(b".", 1000), None);
        assert_eq!(scaled(b"1e5", 1000), None);
        assert_eq!(fields::<3>(b"a, b,c", b','), Some([&b"a"[..], b"b", b"c"]));
        assert_eq!(fields::<3>(b"a,b", b','), None);
        assert_eq!(fields::<3>(b"a,b,c,d", b','), None);
    }
}
