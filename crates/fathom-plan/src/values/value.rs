//! The value of an option, read by the type of its row.

use fathom_model::{Distribution, PatternPart, PerDirection};

use super::distribution::distribution;
use super::lists::{first_part, floats, one, pair, ranges, single, three};
use super::number::{Amount, amount};
use super::priorities::{SizePriority, size_priorities};
use super::reading::{Fault, Reading};
use super::sets::{cpus, errors, mask};
use super::split::{SizeShares, sizes};
use super::{bytes_pattern::bytes_pattern, words};
use crate::options::{Kind, OptionRow, Unit};

/// A size that may be relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Percent of the target, 0 to 100.
    Percent(u8),
    /// Zones of a zoned device.
    Zones(u32),
}

/// What an option was set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A count, bytes, or nanoseconds, by the unit of the row.
    Number(i64),
    /// As [`Value::Number`] for read, write and trim; `None` leaves what was there.
    Three([Option<u64>; 3]),
    /// Lowest and highest.
    Pair(u64, u64),
    /// A size that may be relative.
    Extent(Size),
    /// Any text.
    Text(String),
    /// Text, or nothing.
    Prefix(Option<String>),
    /// A word, and what followed its colon.
    Choice(&'static str, Option<String>),
    /// Ranges for read, write and trim.
    Ranges([Option<(u64, u64)>; 3]),
    /// Sizes with shares for read, write and trim.
    Split([SizeShares; 3]),
    /// Sizes with shares and priorities for read, write and trim.
    PrioritySplit([Vec<SizePriority>; 3]),
    /// Distributions for read, write and trim.
    Distribution(PerDirection<Distribution>),
    /// Decimals.
    Floats(Vec<f64>),
    /// Bytes.
    Pattern(Vec<PatternPart>),
    /// CPU numbers.
    Cpus(Vec<u32>),
    /// errno values for read, write and verify.
    Errors([Option<Vec<i32>>; 3]),
    /// The option has no value any more.
    Nothing,
}

/// Reads `text` as a value of `row`; `None` is a bare name.
///
/// # Errors
/// When the text is no such value, or out of the row's limits.
pub fn read_value(
    row: &'static OptionRow,
    text: Option<&str>,
    reading: &mut Reading,
) -> Result<Value, Fault> {
    let Some(text) = text else {
        return bare(row, reading);
    };
    let text = if reading.is_fio() { text } else { text.trim() };
    if text.trim().is_empty() && row.kind != Kind::Prefix {
        return Err(Fault::new("the value is empty"));
    }
    let value = match row.kind {
        Kind::One(_) if row.name == "cpumask" => Value::Cpus(mask(text, reading)?),
        Kind::One(unit) => Value::Number(limited(row, unit, one(text, unit, reading)?)?),
        Kind::Three(unit) => triple(row, unit, text, reading)?,
        Kind::Pair(unit) => two(row, unit, text, reading)?,
        Kind::Extent => Value::Extent(extent(row, text, reading)?),
        Kind::Bool | Kind::Flag => {
            Value::Switch(words::switch(text, row.kind == Kind::Bool, reading)?)
        }
        Kind::Text | Kind::Engine => Value::Text(text.trim().to_owned()),
        Kind::Prefix => Value::Prefix(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Kind::Choice(known) => words::choice(text, known, false, reading)?,
        Kind::ChoiceWith(known) => words::choice(text, known, true, reading)?,
        Kind::Ranges => Value::Ranges(checked_ranges(row, text, reading)?),
        Kind::Split => Value::Split(sizes(text, reading)?),
        Kind::PrioritySplit => Value::PrioritySplit(size_priorities(text, reading)?),
        Kind::Distribution => Value::Distribution(distribution(text, reading)?),
        Kind::Floats(most) => Value::Floats(limited_floats(row, floats(text, most, reading)?)?),
        Kind::Pattern => Value::Pattern(pattern(row, text)?),
        Kind::Cpus => Value::Cpus(cpus(text, reading)?),
        Kind::Errors => Value::Errors(errors(text)?),
        Kind::Dead => Value::Nothing,
    };
    Ok(value)
}

fn pattern(row: &OptionRow, text: &str) -> Result<Vec<PatternPart>, Fault> {
    let parts = bytes_pattern(text)?;
    if row.name == "buffer_pattern" && parts.contains(&PatternPart::Offset) {
        return Err(Fault::new("%o is only known to verify_pattern")
            .advise("set verify=pattern and verify_pattern"));
    }
    Ok(parts)
}

fn bare(row: &OptionRow, reading: &Reading) -> Result<Value, Fault> {
    match row.kind {
        // A plain `verify` leaves the method to us.
        Kind::Choice(_) if row.name == "verify" && !reading.is_fio() => {
            Ok(Value::Choice("fathom", None))
        }
        Kind::Flag => Ok(Value::Switch(true)),
        Kind::Prefix => Ok(Value::Prefix(None)),
        Kind::Dead => Ok(Value::Nothing),
        Kind::Bool => Err(Fault::new("needs a value").advise(format!("write {}=1", row.name))),
        _ => Err(Fault::new("needs a value").advise(format!(
            "write {}={}",
            row.name,
            row.default.unwrap_or("VALUE")
        ))),
    }
}

fn triple(row: &OptionRow, unit: Unit, text: &str, reading: &mut Reading) -> Result<Value, Fault> {
    let mut values = [None; 3];
    for (slot, value) in values.iter_mut().zip(three(text, unit, reading)?) {
        *slot = value
            .map(|n| limited(row, unit, n))
            .transpose()?
            .and_then(|n| u64::try_from(n).ok());
    }
    Ok(Value::Three(values))
}

fn two(row: &OptionRow, unit: Unit, text: &str, reading: &mut Reading) -> Result<Value, Fault> {
    let (low, high) = pair(text, unit, reading)?;
    let unsigned = |n| limited(row, unit, n).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(Value::Pair(unsigned(low)?, unsigned(high)?))
}

/// Holds a number against the limits of its row; without limits it must not be negative.
fn limited(row: &OptionRow, unit: Unit, n: i128) -> Result<i64, Fault> {
    // Limits of times are written in microseconds, as fio counts them.
    let scale = if unit.is_time() { 1_000 } else { 1 };
    let min = i128::from(row.min.unwrap_or(0)) * scale;
    let max = row
        .max
        .map_or(i128::from(i64::MAX), |max| i128::from(max) * scale);
    if n < min && min == 0 {
        return Err(Fault::new("must not be negative"));
    }
    if n < min {
        let fault = Fault::new(format!("must be at least {}", min / scale));
        let synchronous = row.name == "iodepth";
        return Err(fault.advise(if synchronous {
            "use 1 for a synchronous workload".to_owned()
        } else {
            format!("it is {}", n / scale)
        }));
    }
    if n > max {
        return Err(Fault::new(format!("must be at most {}", max / scale))
            .advise(format!("it is {}", n / scale)));
    }
    i64::try_from(n).map_err(|_| Fault::new(format!("{n} is too large")))
}

fn limited_floats(row: &OptionRow, values: Vec<f64>) -> Result<Vec<f64>, Fault> {
    let min = row.min.map_or(f64::MIN, |min| min as f64);
    let max = row.max.map_or(f64::MAX, |max| max as f64);
    match values.iter().find(|value| **value < min || **value > max) {
        Some(value) => Err(Fault::new(format!(
            "{value} is not between {min} and {max}"
        ))),
        None => Ok(values),
    }
}

fn extent(row: &OptionRow, text: &str, reading: &mut Reading) -> Result<Size, Fault> {
    single(text.strip_prefix('-').unwrap_or(text), reading)?;
    let text = if reading.is_fio() {
        first_part(text)
    } else {
        text
    };
    if let Some(zones) = text.strip_suffix('z') {
        return zones
            .trim()
            .parse()
            .map(Size::Zones)
            .map_err(|_| Fault::new(format!("'{text}' is no number of zones")));
    }
    match amount(text, Unit::Bytes, reading)? {
        Amount::Percent(share) => percent(share),
        Amount::Plain(n) => limited(row, Unit::Bytes, n).map(|n| Size::Bytes(n.unsigned_abs())),
    }
}

fn percent(share: i128) -> Result<Size, Fault> {
    match u8::try_from(share) {
        Ok(share) if share <= 100 => Ok(Size::Percent(share)),
        _ => Err(Fault::new(format!("{share}% is not between 0% and 100%"))),
    }
}

fn checked_ranges(
    row: &OptionRow,
    text: &str,
    reading: &mut Reading,
) -> Result<[Option<(u64, u64)>; 3], Fault> {
    let mut values = [None; 3];
    for (slot, range) in values.iter_mut().zip(ranges(text, reading)?) {
        let Some((low, high)) = range else { continue };
        let (low, high) = (
            limited(row, Unit::Bytes, low)?,
            limited(row, Unit::Bytes, high)?,
        );
        *slot = Some((low.unsigned_abs(), high.unsigned_abs()));
    }
    Ok(values)
}
