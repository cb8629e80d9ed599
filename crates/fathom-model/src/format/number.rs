//! Counts, sizes, rates and shares.

use crate::Bytes;

/// Groups of three digits: `95012` is `95,012`.
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 I/O`, `2,048 I/Os`.
#[must_use]
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// The largest binary unit, at most two decimals: `64 MiB`, `1.5 GiB`, `512 bytes`.
#[must_use]
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} byte{}", if n == 1 { "" } else { "s" });
    }
    let power = n.ilog2() as usize / 10;
    let text = format!("{:.2}", n as f64 / 1024f64.powi(power as i32));
    format!("{} {}", trimmed(&text), UNITS[power - 1])
}

/// [`size`], rounded down: for what is available, where the rounded figure could promise more than there is.
#[must_use]
pub fn available(size: Bytes) -> String {
    let n = size.get();
    let unit = 1u64 << (n.max(1).ilog2() / 10 * 10);
    // A hundredth of the unit, rounded down to whole bytes, so that `bytes` does not round up.
    let hundredths = u128::from(n) * 100 / u128::from(unit);
    let shown = (hundredths * u128::from(unit)).div_ceil(100);
    bytes(u64::try_from(shown).unwrap_or(n))
}

/// [`bytes`] of a [`Bytes`].
#[must_use]
pub fn size(size: Bytes) -> String {
    bytes(size.get())
}

/// The capacity of a device in the decimal unit of its maker and in the binary one: `1 TB (931.51 GiB)`.
#[must_use]
pub fn capacity(size: Bytes) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let n = size.get();
    if n < 1000 {
        return bytes(n);
    }
    let power = n.ilog10() as usize / 3;
    let text = format!("{:.2}", n as f64 / 1000f64.powi(power as i32));
    format!("{} {} ({})", trimmed(&text), UNITS[power - 1], bytes(n))
}

/// Without zeros at the end of the decimals.
fn trimmed(decimal: &str) -> &str {
    decimal.trim_end_matches('0').trim_end_matches('.')
}

/// A rate per second: `200`, `12.5`, `1,500,000`; one decimal below 100, unless it is a whole number.
#[must_use]
pub fn rate(per_second: f64) -> String {
    if per_second >= 99.95 || per_second.fract() == 0.0 {
        thousands(per_second.round() as u64)
    } else {
        format!("{per_second:.1}")
    }
}

/// Bytes per second: `389 MB/s`, `4.1 MB/s`.
#[must_use]
pub fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} MB/s", rate(bytes_per_second / 1e6))
}

/// A share given in percent: `38 %`, `2.4 %`, `0.02 %`. A value below 100 is never rounded to 100.
#[must_use]
pub fn percent(share: f64) -> String {
    match share.abs() {
        s if (99.0..100.0).contains(&s) => format!("{:.2} %", (share * 100.0).floor() / 100.0),
        s if s == 0.0 || s >= 10.0 => format!("{share:.0} %"),
        s if s >= 0.1 => format!("{share:.1} %"),
        _ => format!("{share:.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_groups_of_three_digits() {
        let all = [0, 999, 95_012, 1_000_000].map(thousands);
        assert_eq!(all, ["0", "999", "95,012", "1,000,000"]);
        assert_eq!(counted(1, "I/O"), "1 I/O");
        assert_eq!(counted(2048, "I/O"), "2,048 I/Os");
    }

    #[test]
    fn sizes_have_the_largest_unit() {
        assert_eq!([0, 1, 512].map(bytes), ["0 bytes", "1 byte", "512 bytes"]);
        assert_eq!(bytes(64 << 20), "64 MiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(bytes(u64::MAX), "16 EiB");
        assert_eq!(capacity(Bytes::new(1_000_204_886_016)), "1 TB (931.51 GiB)");
        assert_eq!(capacity(Bytes::new(512)), "512 bytes");
        assert_eq!(capacity(Bytes::new(u64::MAX)), "18.45 EB (16 EiB)");
    }

    #[test]
    fn rates_and_shares_have_no_needless_decimals() {
        assert_eq!(
            [200.0, 12.5, 12.0, 99.97, 1.5e6].map(rate),
            ["200", "12.5", "12", "100", "1,500,000"]
        );
        assert_eq!(
            [95_012.0 * 4096.0, 4_096_000.0].map(bandwidth),
            ["389 MB/s", "4.1 MB/s"]
        );
        assert_eq!(
            [2.44, 99.996, 100.0, 0.024].map(percent),
            ["2.4 %", "99.99 %", "100 %", "0.02 %"]
        );
    }
}
