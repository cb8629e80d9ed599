//! Numbers with units, as people write them.

/// A number at the beginning of a text and the unit after it, in lower case without spaces. Digits
/// may be grouped by commas, in groups of three.
///
/// # Errors
/// When the text does not begin with a number, or a comma is at another place.
pub(crate) fn split(text: &str) -> Result<(f64, String), String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let wrong = || format!("'{}' does not begin with a number", shown(text));
    if let Some((whole, _)) = digits.split_once('.').or(Some((digits, "")))
        && whole.contains(',')
    {
        let mut groups = whole.split(',');
        let first = groups
            .next()
            .is_some_and(|group| (1..=3).contains(&group.len()));
        if !first || !groups.all(|group| group.len() == 3) {
            return Err(format!(
                "'{}': a comma separates groups of three digits; write 80,000, 80k or 80.5",
                shown(text)
            ));
        }
    }
    let number: f64 = digits.replace(',', "").parse().map_err(|_| wrong())?;
    let unit: String = unit.to_ascii_lowercase().split_whitespace().collect();
    Ok((number, unit))
}

/// The text of a user in a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .take(60)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

/// Bytes of a capacity: `10TB`, `512 GiB`. TB is 10^12 bytes, TiB 2^40.
///
/// # Errors
/// Without a number above 0 or a unit.
pub fn capacity(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text)?;
    let scale = match unit.as_str() {
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "pb" => 1e15,
        "mib" => 1048576.0,
        "gib" => 1073741824.0,
        "tib" => 1024f64.powi(4),
        "pib" => 1024f64.powi(5),
        "" => {
            return Err(format!(
                "'{}' has no unit: write {number}TB or {number}TiB",
                shown(text)
            ));
        }
        other => {
            return Err(format!(
                "unknown unit '{}' of a capacity; use GB, TB, PB (powers of 10) or GiB, TiB, PiB (powers of 2)",
                shown(other)
            ));
        }
    };
    let bytes = number * scale;
    if (1e6..=1e21).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!(
            "'{}' is not a capacity from 1 MB to 1,000,000 PB",
            shown(text)
        ))
    }
}

/// Bytes of a block: `8k`, `1m`, `512b`; k and m are powers of 1024, as in fio.
///
/// # Errors
/// Without a unit.
pub(crate) fn block(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text)?;
    let scale = match unit.as_str() {
        "b" | "bytes" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1048576.0,
        _ => {
            return Err(format!(
                "'{}' is not a block size such as 8k or 1m",
                shown(text)
            ));
        }
    };
    let bytes = number * scale;
    if (512.0..=1073741824.0).contains(&bytes) && bytes.fract() == 0.0 {
        Ok(bytes)
    } else {
        Err(format!(
            "block size '{}' is not from 512b to 1024m",
            shown(text)
        ))
    }
}

/// A percentage as a share, with limits in percent.
///
/// # Errors
/// Without a percent sign or outside the limits.
pub fn percentage(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let found = split(text)
        .ok()
        .filter(|(number, unit)| unit == "%" && (least..=most).contains(number));
    found
        .map(|(number, _)| number / 100.0)
        .ok_or_else(|| format!("not a percentage from {least}% to {most}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_have_decimal_and_binary_units() {
        assert_eq!(capacity("10TB"), Ok(1e13));
        assert_eq!(capacity("1 TiB"), Ok(1_099_511_627_776.0));
        assert_eq!(capacity("1,000GB"), Ok(1e12));
        for (wrong, part) in [
            ("10", "no unit"),
            ("10 lightyears", "unknown unit"),
            ("TB", "does not begin with a number"),
            ("80,00GB", "groups of three"),
            ("0TB", "not a capacity"),
            ("-1TB", "does not begin"),
            ("1e9TB", "unknown unit"),
        ] {
            let error = capacity(wrong).expect_err(wrong);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn blocks_need_a_unit() {
        assert_eq!(block("8k"), Ok(8192.0));
        assert_eq!(block("512b"), Ok(512.0));
        assert!(block("8").is_err() && block("100b").is_err() && block("8g").is_err());
        assert_eq!(percentage("20%", 0.0, 90.0), Ok(0.2));
        assert!(percentage("20", 0.0, 90.0).is_err() && percentage("95%", 0.0, 90.0).is_err());
    }
}
