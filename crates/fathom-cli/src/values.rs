//! Values of options: sizes, times, rates, percentages and counts, by the rules of job files.

use std::time::Duration;

use fathom_model::{Bytes, parse_label};
use fathom_plan::{parse_percent, parse_size, parse_time};

/// The shortest time in which something can be measured.
const SHORTEST: Duration = Duration::from_millis(100);
/// The smallest useful part of a target.
const SMALLEST_TARGET: u64 = 1 << 20;

/// A time such as `20s` or `5m`; a bare number is seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    parse_time(text)
        .map(|time| Duration::from_nanos(time.get()))
        .map_err(|error| error.to_string())
}

/// A time that is long enough to measure something.
pub(crate) fn runtime(text: &str) -> Result<Duration, String> {
    match time(text)? {
        time if time >= SHORTEST => Ok(time),
        _ => Err("too short: at least 100ms".to_owned()),
    }
}

/// A width of text.
pub(crate) fn columns(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(columns @ 20..=10_000) => Ok(columns),
        _ => Err("expected a number of columns from 20 to 10000".to_owned()),
    }
}

/// A latency in nanoseconds: above 0, with its unit.
pub(crate) fn latency(text: &str) -> Result<f64, String> {
    let wrong =
        || "not a time above 0 with its unit (ns, us, ms or s), such as 116us or 8.5ms".to_owned();
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, scale) = units
        .into_iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .ok_or_else(wrong)?;
    fathom_analyse::parse_figure(number)
        .ok()
        .map(|number| number * scale)
        .filter(|ns| *ns > 0.0)
        .ok_or_else(wrong)
}

/// A size such as `4k` or `1g`.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    match parse_size(text) {
        Ok(size) if size == Bytes::ZERO => Err("must be above 0".to_owned()),
        size => size.map_err(|error| error.to_string()),
    }
}

/// A size that is large enough to measure on.
pub(crate) fn target_size(text: &str) -> Result<Bytes, String> {
    match size(text)? {
        size if size.get() >= SMALLEST_TARGET => Ok(size),
        _ => Err("too small: at least 1m".to_owned()),
    }
}

/// A percentage from 0.1 % to 100 %, as a share.
pub(crate) fn percentage(text: &str) -> Result<f64, String> {
    share(text, 100.0)
}

/// A percentage from 0.1 % to 50 %, as a share.
pub(crate) fn precision(text: &str) -> Result<f64, String> {
    share(text, 50.0)
}

fn share(text: &str, most: f64) -> Result<f64, String> {
    let percent = parse_percent(text)
        .ok()
        .filter(|percent| (0.1..=most).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("not a percentage from 0.1% to {most}%"))
}

/// A whole number within limits.
pub(crate) fn whole_number<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|number| (LEAST..=MOST).contains(number))
        .ok_or_else(|| format!("not a whole number from {LEAST} to {MOST}"))
}

/// `OPTION=VALUE`.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "not OPTION=VALUE".to_owned())
}

/// `KEY=VALUE` of a label.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    match parse_label(text)? {
        (_, value) if value.is_empty() => Err("a label needs a value".to_owned()),
        label => Ok(label),
    }
}

/// An address and a port to listen on.
pub(crate) fn socket_address(text: &str) -> Result<std::net::SocketAddr, String> {
    text.parse().map_err(|_| {
        "not an address with a port, such as 127.0.0.1:8410, [::1]:8410, or 0.0.0.0:8410 for all interfaces"
            .to_owned()
    })
}

/// Any text but the empty one.
pub(crate) fn not_empty(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("a value is required".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// A value in the syntax of another crate's type.
pub(crate) fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A percentile with a latency in nanoseconds, with `separator` between them: `p99<=2ms`, `p99=2ms`.
pub(crate) fn percentile_latency(text: &str, separator: &str) -> Result<(f64, f64), String> {
    let wrong = || format!("not a percentile with its latency, such as p99{separator}2ms");
    let (percentile, latency_text) = text.split_once(separator).ok_or_else(wrong)?;
    let percent = percentile
        .trim()
        .strip_prefix('p')
        .and_then(|number| number.parse::<f64>().ok())
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .ok_or_else(wrong)?;
    Ok((percent, latency(latency_text.trim())?))
}

/// Whether an operand is a job file, not a target.
pub(crate) fn is_job_file(operand: &str) -> bool {
    operand == "-" || operand.ends_with(".fio")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sizes_and_percentages_are_read_as_in_job_files() {
        assert_eq!(runtime("20"), Ok(Duration::from_secs(20)));
        assert_eq!(runtime("1.5m"), Ok(Duration::from_secs(90)));
        assert!(runtime("soon").is_err() && runtime("1ms").is_err());
        assert_eq!(target_size("1g"), Ok(Bytes::new(1 << 30)));
        assert!(target_size("4k").is_err() && size("big").is_err() && size("-4k").is_err());
        assert_eq!(size("4k"), Ok(Bytes::new(4096)));
        assert_eq!(percentage("5%"), Ok(0.05));
        assert!(percentage("0%").is_err() && precision("60%").is_err());
        assert_eq!(latency("8.5ms"), Ok(8.5e6));
        assert!(latency("8.5").is_err() && latency("0ms").is_err());
        assert_eq!(percentile_latency("p99.9<=2ms", "<="), Ok((99.9, 2e6)));
        assert!(percentile_latency("2ms", "<=").is_err());
    }
}
