//! Sizes, times, rates, percentages and counts as text, in the plain meaning that `fathom run` gives them.
//!
//! The command line of every command and the recipes use these functions, so that `10m` has one meaning everywhere.

use super::number::{Amount, plain_amount};
use super::quantity_error::QuantityError;
use super::unit::Unit;
use fathom_model::{Bytes, Nanos, Rate};

/// fio's base of `k`, `m` and `g`.
const KB_BASE: u64 = 1024;

fn plain(text: &str, unit: Unit) -> Result<Amount, QuantityError> {
    plain_amount(text.trim(), unit, KB_BASE)
}

fn unsigned(text: &str, unit: Unit) -> Result<u64, QuantityError> {
    match plain(text, unit)? {
        Amount::Plain(n) => u64::try_from(n).map_err(|_| QuantityError::Negative),
        Amount::Percent(_) => Err(QuantityError::Percentage(unit.expected())),
    }
}

/// A size in bytes: `512`, `4k`, `1.5g`, `64MiB`. `k`, `m`, `g`, `t` and `p` are powers of 1024.
///
/// # Errors
/// When the text is not a size in whole bytes.
pub fn parse_size(text: &str) -> Result<Bytes, QuantityError> {
    unsigned(text, Unit::Bytes).map(Bytes::new)
}

/// A time: `20s`, `1.5ms`, `500us`, `2h`. A bare number is seconds.
///
/// # Errors
/// When the text is not a time in whole nanoseconds.
pub fn parse_time(text: &str) -> Result<Nanos, QuantityError> {
    unsigned(text, Unit::Seconds).map(Nanos::new)
}

/// A rate: I/Os per second (`5000`, `20k`, `20kiops`), or bytes per second (`100MiB/s`, `1gb/s`).
///
/// # Errors
/// When the text is neither.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    const EXPECTED: &str = "a rate such as 5000, 20k or 100MiB/s";
    let lower = text.trim().to_ascii_lowercase();
    let rate = match lower.strip_suffix("/s") {
        Some(bytes) if bytes.ends_with('b') => {
            unsigned(bytes, Unit::Bytes).map(|n| Rate::Bandwidth(n as f64))
        }
        Some(ios) => unsigned(ios, Unit::Count).map(|n| Rate::Iops(n as f64)),
        None => unsigned(lower.strip_suffix("iops").unwrap_or(&lower), Unit::Count)
            .map(|n| Rate::Iops(n as f64)),
    };
    rate.map_err(|error| match error {
        QuantityError::Expected(_) => QuantityError::Expected(EXPECTED),
        QuantityError::Percentage(_) => QuantityError::Percentage(EXPECTED),
        other => other,
    })
}

/// A percentage from 0 to 100, decimals allowed: `95`, `99.9%`. The result is in percent, not a share of 1.
///
/// # Errors
/// When the text is not such a percentage.
pub fn parse_percent(text: &str) -> Result<f64, QuantityError> {
    let digits = text.trim();
    let digits = digits.strip_suffix('%').unwrap_or(digits).trim_end();
    let plain = digits
        .chars()
        .all(|c| c.is_ascii_digit() || c == '.' || c == '-');
    let percent: f64 = digits
        .parse()
        .ok()
        .filter(|_| plain)
        .ok_or(QuantityError::Expected(Unit::Percent.expected()))?;
    if (0.0..=100.0).contains(&percent) {
        Ok(percent)
    } else {
        Err(QuantityError::PercentRange)
    }
}

/// A count: `1000`, `64k`. As in job files, `k` is 1024.
///
/// # Errors
/// When the text is not a count.
pub fn parse_count(text: &str) -> Result<u64, QuantityError> {
    unsigned(text, Unit::Count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_their_plain_meaning() {
        assert_eq!(parse_size("4k"), Ok(Bytes::new(4096)));
        assert_eq!(parse_size(" 1.5GiB "), Ok(Bytes::new(3 << 29)));
        assert_eq!(parse_time("1.5ms"), Ok(Nanos::new(1_500_000)));
        assert_eq!(parse_time("20"), Ok(Nanos::from_millis(20_000)));
        assert_eq!(parse_rate("20k"), Ok(Rate::Iops(20_480.0)));
        assert_eq!(parse_rate("5000 IOPS"), Ok(Rate::Iops(5000.0)));
        assert_eq!(
            parse_rate("100MiB/s"),
            Ok(Rate::Bandwidth(f64::from(100 << 20)))
        );
        assert_eq!(parse_percent("99.9%"), Ok(99.9));
        assert_eq!(parse_percent("0"), Ok(0.0));
        assert_eq!(parse_count("1000"), Ok(1000));
    }

    #[test]
    fn errors_name_what_was_expected() {
        let message = |error: QuantityError| error.to_string();
        assert_eq!(
            parse_size("4q").map_err(message),
            Err("unknown unit 'q' (use k, m, g, t or p)".to_owned())
        );
        assert_eq!(
            parse_time("soon").map_err(message),
            Err("expected a time such as 500ms or 10s".to_owned())
        );
        assert_eq!(
            parse_size("10%"),
            Err(QuantityError::Percentage("a size such as 4k or 1g"))
        );
        assert_eq!(parse_time("-1s"), Err(QuantityError::Negative));
        assert_eq!(parse_percent("101"), Err(QuantityError::PercentRange));
        for text in ["", "nan", "1e2", "%"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
        assert!(parse_count("99999999999999999999").is_err() && parse_rate("fast").is_err());
    }
}
