//! One number with a suffix: sizes, counts and times, in fio's meaning and in the plain one.

use super::arithmetic::evaluate;
use super::context::{ParseContext, ValueError};
use super::quantity_error::QuantityError;
use super::unit::Unit;

/// A number, or a percentage where a size may be relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Bytes, a count, or nanoseconds.
    Plain(i128),
    /// `N%`.
    Percent(i128),
}

/// Parses `text` as an amount of `unit`; times are returned in nanoseconds.
///
/// # Errors
/// When it is not a number, its suffix is unknown, or it exceeds 63 bits.
pub(crate) fn amount(
    text: &str,
    unit: Unit,
    context: &mut ParseContext,
) -> Result<Amount, ValueError> {
    let lax = fio_amount(text, unit, context.kb_base).filter(|_| !text.ends_with('z'));
    if context.is_fio() {
        return lax
            .ok_or_else(|| ValueError::quantity(text, &QuantityError::Expected(unit.expected())));
    }
    let text = text.trim();
    let plain = plain_amount(text, unit, context.kb_base)
        .map_err(|error| ValueError::quantity(text, &error))?;
    if lax != Some(plain) {
        note_difference(text, plain, lax, unit, context);
    }
    Ok(plain)
}

/// As [`amount`], where a percentage is not allowed.
///
/// # Errors
/// As [`amount`], and for a percentage.
pub(crate) fn number(
    text: &str,
    unit: Unit,
    context: &mut ParseContext,
) -> Result<i128, ValueError> {
    match amount(text, unit, context)? {
        Amount::Plain(n) => Ok(n),
        Amount::Percent(n) if unit == Unit::Percent && !context.is_fio() => {
            let note = ValueError::new(format!(
                "fio does not read '{}' as a percentage here",
                text.trim()
            ));
            context.note(note.advise(format!("write {n}, which has the same meaning in both")));
            Ok(n)
        }
        Amount::Percent(_) => Err(ValueError::quantity(
            text,
            &QuantityError::Percentage(unit.expected()),
        )),
    }
}

impl Unit {
    /// A description of the values of this unit, for messages.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Unit::Count => "a number",
            Unit::Bytes => "a size such as 4k or 1g",
            Unit::Percent => "a percentage from 0 to 100",
            Unit::Millis => "a number of milliseconds",
            Unit::Micros | Unit::Seconds => "a time such as 500ms or 10s",
        }
    }
}

// ---------------------------------------------------------------------------------------------- fio's meaning

/// fio's meaning of `text`, or `None` where fio refuses it.
///
/// Leading digits count, an unknown suffix multiplies by one, and a fraction is cut off.
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
    // fio computes in 64 bits and wraps on overflow; here an overflow is an error.
    (product.abs() <= i128::from(i64::MAX)).then_some(Amount::Plain(product))
}

/// The result of strtoll(3) for the beginning of `text`; `None` without a digit or beyond 63 bits.
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

/// The text after the leading digits and signs, if it begins with a letter or a percent sign.
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

/// The plain meaning of `text`: SI and IEC units are distinct, and fractions are allowed where the result is whole.
pub(super) fn plain_amount(text: &str, unit: Unit, kb_base: u64) -> Result<Amount, QuantityError> {
    if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        return expression(inner, unit, kb_base);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        return hexadecimal(hex, unit).map(|n| Amount::Plain(sign * n));
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    let (digits, suffix) = (&rest[..end], rest[end..].trim_start());
    let (mantissa, scale) = decimal(digits).ok_or(QuantityError::Expected(unit.expected()))?;
    if suffix == "%" && !unit.is_time() {
        return whole(mantissa, scale, "").map(|n| Amount::Percent(sign * n));
    }
    let factor = plain_factor(suffix, unit, kb_base).ok_or_else(|| unknown_unit(suffix, unit))?;
    let product = mantissa
        .checked_mul(factor)
        .ok_or(QuantityError::TooLarge)?;
    let value = whole(product, scale, base_unit(unit))?;
    if value > i128::from(i64::MAX) {
        return Err(QuantityError::TooLarge);
    }
    Ok(Amount::Plain(sign * value))
}

fn expression(inner: &str, unit: Unit, kb_base: u64) -> Result<Amount, QuantityError> {
    let bare = if unit.is_time() {
        plain_factor("", unit, kb_base).unwrap_or(1)
    } else {
        1
    };
    evaluate(inner, |suffix| {
        plain_factor(suffix, unit, kb_base).map(|f| f / bare)
    })
    .and_then(|n| n.checked_mul(bare))
    .filter(|n| n.abs() <= i128::from(i64::MAX))
    .map(Amount::Plain)
    .ok_or(QuantityError::Expression)
}

fn hexadecimal(hex: &str, unit: Unit) -> Result<i128, QuantityError> {
    if hex.is_empty() || !hex.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(QuantityError::Hexadecimal(unit.expected()));
    }
    let factor = plain_factor("", unit, 1024).unwrap_or(1);
    i64::from_str_radix(hex, 16)
        .ok()
        .and_then(|n| i128::from(n).checked_mul(factor))
        .ok_or(QuantityError::TooLarge)
}

/// The digits without the decimal point, and how many followed it. At most 30 digits.
fn decimal(digits: &str) -> Option<(i128, u32)> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.contains('.') || digits.ends_with('.') || digits.len() > 25 {
        return None;
    }
    let joined = format!("{whole}{fraction}");
    Some((joined.parse().ok()?, fraction.len() as u32))
}

fn whole(scaled: i128, scale: u32, of: &'static str) -> Result<i128, QuantityError> {
    let divisor = 10_i128.pow(scale);
    if scaled % divisor == 0 {
        Ok(scaled / divisor)
    } else {
        Err(QuantityError::NotWhole(of))
    }
}

fn base_unit(unit: Unit) -> &'static str {
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

fn unknown_unit(suffix: &str, unit: Unit) -> QuantityError {
    let known = if unit.is_time() {
        "use d, h, m, s, ms or us"
    } else {
        "use k, m, g, t or p"
    };
    QuantityError::UnknownUnit {
        unit: suffix.to_owned(),
        known,
    }
}

// ------------------------------------------------------------------------------------------- the difference

fn note_difference(
    text: &str,
    plain: Amount,
    lax: Option<Amount>,
    unit: Unit,
    context: &mut ParseContext,
) {
    let (Amount::Plain(here), Some(Amount::Plain(there))) = (plain, lax) else {
        return;
    };
    let problem = format!(
        "'{text}' is {} here, but fio reads {}",
        display(here, unit),
        display(there, unit)
    );
    let same = safe_spelling(here, unit, context.kb_base);
    context.note(
        ValueError::new(problem)
            .advise(format!("write {same}, which has the same meaning in both")),
    );
}

fn display(value: i128, unit: Unit) -> String {
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
        let mut context = ParseContext::new(personality, 4);
        let value = number(text, unit, &mut context).ok();
        (value, context.notes.len())
    }

    /// Measured on fio 3.33: the size of the first I/O, or of the file, for each spelling.
    #[test]
    fn sizes_in_the_fio_personality_match_measurements_of_fio() {
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
    fn sizes_have_their_plain_meaning_and_a_difference_from_fio_is_noted() {
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
    fn unknown_time_suffixes_are_ignored_in_fio_and_understood_here() {
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
