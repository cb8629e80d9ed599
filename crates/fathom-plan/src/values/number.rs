//! One number with a suffix: sizes, counts and times, in fio's meaning and in the plain one.

use super::reading::{Fault, Reading};
use crate::options::Unit;

/// A number, or one of the two other things a size may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Bytes, a count, or nanoseconds.
    Plain(i128),
    /// `N%`.
    Percent(i128),
}

/// Reads `text` as an amount of `unit`; times come out in nanoseconds.
///
/// # Errors
/// When it is no number, its suffix is unknown, or it is beyond 63 bits.
pub(crate) fn amount(text: &str, unit: Unit, reading: &mut Reading) -> Result<Amount, Fault> {
    let lax = fio_amount(text, unit, reading.kb_base).filter(|_| !text.ends_with('z'));
    if reading.is_fio() {
        return lax.ok_or_else(|| not_a_number(text, unit));
    }
    let plain = plain_amount(text.trim(), unit, reading.kb_base)?;
    if lax != Some(plain) {
        note_difference(text.trim(), plain, lax, unit, reading);
    }
    Ok(plain)
}

/// As [`amount`], where a percentage makes no sense.
///
/// # Errors
/// As [`amount`], and for a percentage.
pub(crate) fn number(text: &str, unit: Unit, reading: &mut Reading) -> Result<i128, Fault> {
    match amount(text, unit, reading)? {
        Amount::Plain(n) => Ok(n),
        Amount::Percent(n) if unit == Unit::Percent && !reading.is_fio() => {
            let note = Fault::new(format!(
                "fio does not read '{}' as a percentage here",
                text.trim()
            ));
            reading.note(note.advise(format!("write {n} to mean the same in both")));
            Ok(n)
        }
        Amount::Percent(_) => Err(Fault::new(format!(
            "'{text}' is a percentage, but this takes {}",
            wanted(unit)
        ))),
    }
}

fn wanted(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a number",
        Unit::Bytes => "a size such as 4k or 1g",
        Unit::Percent => "a percentage from 0 to 100",
        Unit::Millis => "a number of milliseconds",
        Unit::Micros | Unit::Seconds => "a time such as 500ms or 10s",
    }
}

fn not_a_number(text: &str, unit: Unit) -> Fault {
    Fault::new(format!("'{text}' is not {}", wanted(unit)))
}

// ---------------------------------------------------------------------------------------------- fio's meaning

/// fio's meaning of `text`, or `None` where fio refuses it.
///
/// Digits are read as far as they go, a suffix that is not known multiplies by one, a fraction is cut off.
pub(crate) fn fio_amount(text: &str, unit: Unit, kb_base: u64) -> Option<Amount> {
    let text: String = text.chars().take(127).collect();
    let hex = text.contains("0x") || text.contains("0X");
    let value = leading_integer(&text, if hex { 16 } else { 10 })?;
    let suffix = fio_suffix(&text);
    if unit.is_time() {
        return Some(Amount::Plain(
            value.checked_mul(fio_time_factor(suffix, unit))?,
        ));
    }
    let suffix = suffix
        .split([':', '-', ',', '/'])
        .next()
        .unwrap_or("")
        .to_ascii_lowercase();
    if suffix.starts_with('%') {
        return Some(Amount::Percent(value));
    }
    let product = value.checked_mul(fio_size_factor(&suffix, kb_base))?;
    // fio computes in 64 bits; what does not fit wraps there and is refused here.
    (product.abs() <= i128::from(i64::MAX)).then_some(Amount::Plain(product))
}

/// What strtoll(3) makes of the beginning of `text`; `None` without a digit or beyond 63 bits.
fn leading_integer(text: &str, radix: u32) -> Option<i128> {
    let text = text.trim_start();
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let stripped = if radix == 16 {
        rest.strip_prefix("0x")
            .or_else(|| rest.strip_prefix("0X"))
            .unwrap_or(rest)
    } else {
        rest
    };
    let digits: String = stripped.chars().take_while(|c| c.is_digit(radix)).collect();
    if digits.is_empty() {
        return rest.starts_with('0').then_some(0);
    }
    let magnitude = i128::from_str_radix(&digits, radix).ok()?;
    (magnitude <= i128::from(i64::MAX)).then_some(sign * magnitude)
}

/// What follows the leading digits and signs, if it begins with a letter or is a percent sign.
fn fio_suffix(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '+' || c == '-'))
        .unwrap_or(text.len());
    let suffix = &text[end..];
    let begins = suffix.as_bytes().first();
    if begins.is_some_and(|b| b.is_ascii_alphabetic() || *b == b'%') {
        suffix
    } else {
        ""
    }
}

fn fio_size_factor(suffix: &str, kb_base: u64) -> i128 {
    let letter = suffix.chars().next();
    let Some(power) = letter.and_then(|c| "kmgtp".find(c)) else {
        return 1;
    };
    let other = if kb_base == 1000 { 1024 } else { 1000 };
    let base = if suffix[1..].starts_with("ib") {
        other
    } else {
        kb_base
    };
    i128::from(base).pow(power as u32 + 1)
}

fn fio_time_factor(suffix: &str, unit: Unit) -> i128 {
    let suffix = suffix.to_ascii_lowercase();
    let micros = match suffix.as_str() {
        "" if unit == Unit::Seconds => 1_000_000,
        "" => 1,
        s if s.starts_with("us") => 1,
        s if s.starts_with("ms") => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => 1,
    };
    micros * 1_000
}

// --------------------------------------------------------------------------------------------- plain meaning

/// The plain meaning of `text`: units as they say, fractions where they come out whole.
fn plain_amount(text: &str, unit: Unit, kb_base: u64) -> Result<Amount, Fault> {
    if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        return expression(inner, unit, kb_base);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        return hexadecimal(text, hex, unit).map(|n| Amount::Plain(sign * n));
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    let (digits, suffix) = (&rest[..end], rest[end..].trim_start());
    let (mantissa, scale) = decimal(digits).ok_or_else(|| not_a_number(text, unit))?;
    if suffix == "%" && !unit.is_time() {
        return whole(text, mantissa, scale, "").map(|n| Amount::Percent(sign * n));
    }
    let factor =
        plain_factor(suffix, unit, kb_base).ok_or_else(|| unknown_suffix(text, suffix, unit))?;
    let product = mantissa
        .checked_mul(factor)
        .ok_or_else(|| too_large(text))?;
    let value = whole(text, product, scale, noun(unit))?;
    if value > i128::from(i64::MAX) {
        return Err(too_large(text));
    }
    Ok(Amount::Plain(sign * value))
}

fn expression(inner: &str, unit: Unit, kb_base: u64) -> Result<Amount, Fault> {
    let bare = if unit.is_time() {
        plain_factor("", unit, kb_base).unwrap_or(1)
    } else {
        1
    };
    crate::jobfile::evaluate(inner, |suffix| {
        plain_factor(suffix, unit, kb_base).map(|f| f / bare)
    })
    .and_then(|n| n.checked_mul(bare))
    .filter(|n| n.abs() <= i128::from(i64::MAX))
    .map(Amount::Plain)
    .ok_or_else(|| {
        Fault::new(format!("'({inner})' cannot be computed"))
            .advise("use whole numbers with + - * / % and brackets")
    })
}

fn hexadecimal(text: &str, hex: &str, unit: Unit) -> Result<i128, Fault> {
    if hex.is_empty() || !hex.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(not_a_number(text, unit).advise("a hexadecimal number takes no suffix"));
    }
    let factor = plain_factor("", unit, 1024).unwrap_or(1);
    i64::from_str_radix(hex, 16)
        .ok()
        .and_then(|n| i128::from(n).checked_mul(factor))
        .ok_or_else(|| too_large(text))
}

/// The digits without their point, and how many stood behind it. At most 30 digits.
fn decimal(digits: &str) -> Option<(i128, u32)> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.contains('.') || digits.ends_with('.') || digits.len() > 25 {
        return None;
    }
    let joined = format!("{whole}{fraction}");
    Some((joined.parse().ok()?, fraction.len() as u32))
}

fn whole(text: &str, scaled: i128, scale: u32, noun: &str) -> Result<i128, Fault> {
    let divisor = 10_i128.pow(scale);
    if scaled % divisor == 0 {
        return Ok(scaled / divisor);
    }
    Err(Fault::new(format!("'{text}' is not a whole number{noun}")))
}

fn noun(unit: Unit) -> &'static str {
    match unit {
        Unit::Count | Unit::Percent => "",
        Unit::Bytes => " of bytes",
        Unit::Millis => " of milliseconds",
        Unit::Micros | Unit::Seconds => " of nanoseconds",
    }
}

fn plain_factor(suffix: &str, unit: Unit, kb_base: u64) -> Option<i128> {
    let suffix = suffix.to_ascii_lowercase();
    if unit.is_time() {
        plain_time_factor(&suffix, unit)
    } else {
        plain_size_factor(&suffix, unit, kb_base)
    }
}

fn plain_size_factor(suffix: &str, unit: Unit, kb_base: u64) -> Option<i128> {
    if suffix.is_empty() || (suffix == "b" && unit == Unit::Bytes) {
        return Some(1);
    }
    let power = "kmgtp".find(suffix.chars().next()?)? as u32 + 1;
    match &suffix[1..] {
        "" | "b" => Some(i128::from(kb_base).pow(power)),
        "i" | "ib" => Some(1024_i128.pow(power)),
        _ => None,
    }
}

fn plain_time_factor(suffix: &str, unit: Unit) -> Option<i128> {
    Some(match suffix {
        "" if unit == Unit::Seconds => 1_000_000_000,
        "" | "us" | "usec" | "usecs" => 1_000,
        "ns" | "nsec" | "nsecs" => 1,
        "ms" | "msec" | "msecs" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        _ => return None,
    })
}

fn unknown_suffix(text: &str, suffix: &str, unit: Unit) -> Fault {
    let advice = if unit.is_time() {
        "use d, h, m, s, ms or us"
    } else {
        "use k, m, g, t or p"
    };
    Fault::new(format!("'{text}' has the unknown unit '{suffix}'")).advise(advice)
}

fn too_large(text: &str) -> Fault {
    Fault::new(format!("'{text}' is too large")).advise("the largest number is 9223372036854775807")
}

// ------------------------------------------------------------------------------------------- the difference

fn note_difference(
    text: &str,
    plain: Amount,
    lax: Option<Amount>,
    unit: Unit,
    reading: &mut Reading,
) {
    let (Amount::Plain(here), Some(Amount::Plain(there))) = (plain, lax) else {
        return;
    };
    let problem = format!(
        "'{text}' is {} here, but fio reads {}",
        shown(here, unit),
        shown(there, unit)
    );
    let same = safe_spelling(here, unit, reading.kb_base);
    reading.note(Fault::new(problem).advise(format!("write {same} to mean the same in both")));
}

fn shown(value: i128, unit: Unit) -> String {
    match unit {
        Unit::Bytes => format!("{value} bytes"),
        Unit::Micros | Unit::Seconds => time_spelling(value),
        _ => value.to_string(),
    }
}

fn safe_spelling(value: i128, unit: Unit, kb_base: u64) -> String {
    if unit.is_time() {
        return time_spelling(value);
    }
    let base = i128::from(kb_base);
    let power = (1..=4)
        .rev()
        .find(|p| value != 0 && value % base.pow(*p) == 0)
        .unwrap_or(0);
    let letter = ["", "k", "m", "g", "t"][power as usize];
    format!("{}{letter}", value / base.pow(power))
}

/// `nanos` in the largest unit that divides it.
fn time_spelling(nanos: i128) -> String {
    let units = [
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    let fit = units
        .into_iter()
        .find(|(size, _)| nanos != 0 && nanos % size == 0);
    let (size, suffix) = fit.unwrap_or((1, "ns"));
    format!("{}{suffix}", nanos / size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Personality;

    fn read(text: &str, unit: Unit, personality: Personality) -> (Option<i128>, usize) {
        let mut reading = Reading::new(personality, 4);
        let value = number(text, unit, &mut reading).ok();
        (value, reading.notes.len())
    }

    /// Measured on fio 3.33: the size of the first I/O, or of the file, for each spelling.
    #[test]
    fn sizes_mean_what_fio_measures_in_its_personality() {
        for (text, bytes) in [
            ("4k", 4096),
            ("4kb", 4096),
            ("4ki", 4096),
            ("4KiB", 4000),
            ("1MiB", 1_000_000),
            ("1mi", 1_048_576),
            ("1.5m", 1),
            ("0.5g", 0),
            ("0x1000", 4096),
            ("0x10k", 16),
            ("10q", 10),
            ("10x", 16),
            ("2g", 2 << 30),
        ] {
            assert_eq!(
                read(text, Unit::Bytes, Personality::Fio),
                (Some(bytes), 0),
                "{text}"
            );
        }
    }

    #[test]
    fn sizes_mean_what_they_say_in_ours_and_the_difference_is_noted() {
        for (text, bytes, notes) in [
            ("4k", 4096, 0),
            ("4KiB", 4096, 1),
            ("1MiB", 1 << 20, 1),
            ("1mi", 1 << 20, 0),
            ("1.5m", 3 << 19, 1),
            ("0.5g", 1 << 29, 1),
            ("0x1000", 4096, 0),
            ("512", 512, 0),
            ("512b", 512, 0),
        ] {
            assert_eq!(
                read(text, Unit::Bytes, Personality::Fathom),
                (Some(bytes), notes),
                "{text}"
            );
        }
        for text in [
            "",
            "k",
            "4q",
            "0x10k",
            "1.k",
            "1..5k",
            "0.3k",
            "9999999999999999999",
            "4k4",
            "10%",
        ] {
            assert_eq!(
                read(text, Unit::Bytes, Personality::Fathom).0,
                None,
                "{text}"
            );
        }
    }

    /// Measured on fio 3.33: 1sec and 1min are one microsecond, 1.5 is one second.
    #[test]
    fn times_keep_the_trap_in_fio_and_lose_it_here() {
        const S: i128 = 1_000_000_000;
        for (text, fio, ours) in [
            ("30", 30 * S, 30 * S),
            ("30s", 30 * S, 30 * S),
            ("2m", 120 * S, 120 * S),
            ("1sec", 1_000, S),
            ("1min", 1_000, 60 * S),
            ("1.5", S, S * 3 / 2),
            ("10ms", S / 100, S / 100),
            ("5usec", 5_000, 5_000),
            ("1h", 3600 * S, 3600 * S),
            ("1d", 86_400 * S, 86_400 * S),
        ] {
            assert_eq!(
                read(text, Unit::Seconds, Personality::Fio).0,
                Some(fio),
                "{text}"
            );
            assert_eq!(
                read(text, Unit::Seconds, Personality::Fathom),
                (Some(ours), usize::from(fio != ours)),
                "{text}"
            );
        }
        assert_eq!(read("50", Unit::Micros, Personality::Fio).0, Some(50_000));
    }

    #[test]
    fn kb_base_1000_swaps_the_two_families_in_fio() {
        for (text, bytes) in [
            ("1k", 1000),
            ("1kib", 1024),
            ("1ki", 1000),
            ("2m", 2_000_000),
        ] {
            assert_eq!(
                fio_amount(text, Unit::Bytes, 1000),
                Some(Amount::Plain(bytes)),
                "{text}"
            );
        }
    }
}
