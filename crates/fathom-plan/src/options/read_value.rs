//! Parses the value of an option by the type of its row.

use fathom_model::PatternPart;

use super::row::{Kind, OptionRow};
use crate::values::{
    self, Amount, ParseContext, Size, Unit, Value, ValueError, amount, choice, first_part, floats,
    mask, one, pair, single, switch, three,
};

/// Parses `text` as a value of `row`; `None` is a bare name.
///
/// # Errors
/// When the value is invalid, or outside the limits of the row.
pub fn read_value(
    row: &'static OptionRow,
    text: Option<&str>,
    context: &mut ParseContext,
) -> Result<Value, ValueError> {
    let Some(text) = text else {
        return bare(row, context);
    };
    let text = if context.is_fio() { text } else { text.trim() };
    if text.trim().is_empty() && row.kind != Kind::Prefix {
        return Err(ValueError::new("the value is empty"));
    }
    let value = match row.kind {
        Kind::One(_) if row.name == "cpumask" => Value::Cpus(mask(text, context)?),
        Kind::One(unit) => Value::Number(limited(row, unit, one(text, unit, context)?)?),
        Kind::Three(unit) => triple(row, unit, text, context)?,
        Kind::Pair(unit) => two(row, unit, text, context)?,
        Kind::Extent => Value::Extent(extent(row, text, context)?),
        Kind::Bool | Kind::Flag => Value::Switch(switch(text, row.kind == Kind::Bool, context)?),
        Kind::Text | Kind::Engine => Value::Text(text.trim().to_owned()),
        Kind::Prefix => Value::Prefix(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Kind::Choice(known) => choice(text, known, false, context)?,
        Kind::ChoiceWith(known) => choice(text, known, true, context)?,
        Kind::Ranges => Value::Ranges(checked_ranges(row, text, context)?),
        Kind::Split => Value::Split(values::sizes(text, context)?),
        Kind::PrioritySplit => Value::PrioritySplit(values::size_priorities(text, context)?),
        Kind::Distribution => Value::Distribution(values::distribution(text, context)?),
        Kind::Floats(most) => Value::Floats(limited_floats(row, floats(text, most, context)?)?),
        Kind::Pattern => Value::Pattern(pattern(row, text)?),
        Kind::Cpus => Value::Cpus(values::cpus(text, context)?),
        Kind::Errors => Value::Errors(values::errors(text)?),
        Kind::Removed => Value::Nothing,
    };
    Ok(value)
}

fn pattern(row: &OptionRow, text: &str) -> Result<Vec<PatternPart>, ValueError> {
    let parts = values::bytes_pattern(text)?;
    if row.name == "buffer_pattern" && parts.contains(&PatternPart::Offset) {
        return Err(ValueError::new("%o is only supported by verify_pattern")
            .advise("set verify=pattern and verify_pattern"));
    }
    Ok(parts)
}

fn bare(row: &OptionRow, context: &ParseContext) -> Result<Value, ValueError> {
    match row.kind {
        // A bare `verify` selects the default method.
        Kind::Choice(_) if row.name == "verify" && !context.is_fio() => {
            Ok(Value::Choice("fathom", None))
        }
        Kind::Flag => Ok(Value::Switch(true)),
        Kind::Prefix => Ok(Value::Prefix(None)),
        Kind::Removed => Ok(Value::Nothing),
        Kind::Bool => Err(ValueError::new("needs a value").advise(format!("write {}=1", row.name))),
        _ => Err(ValueError::new("needs a value").advise(format!(
            "write {}={}",
            row.name,
            row.default.unwrap_or("VALUE")
        ))),
    }
}

fn triple(
    row: &OptionRow,
    unit: Unit,
    text: &str,
    context: &mut ParseContext,
) -> Result<Value, ValueError> {
    let mut values = [None; 3];
    for (slot, value) in values.iter_mut().zip(three(text, unit, context)?) {
        *slot = value
            .map(|n| limited(row, unit, n))
            .transpose()?
            .and_then(|n| u64::try_from(n).ok());
    }
    Ok(Value::Three(values))
}

fn two(
    row: &OptionRow,
    unit: Unit,
    text: &str,
    context: &mut ParseContext,
) -> Result<Value, ValueError> {
    let (low, high) = pair(text, unit, context)?;
    let unsigned = |n| limited(row, unit, n).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(Value::Pair(unsigned(low)?, unsigned(high)?))
}

/// Checks a number against the limits of its row; without limits it must not be negative.
fn limited(row: &OptionRow, unit: Unit, n: i128) -> Result<i64, ValueError> {
    // Limits of times are written in microseconds, as fio counts them.
    let scale = if unit.is_time() { 1_000 } else { 1 };
    let min = i128::from(row.min.unwrap_or(0)) * scale;
    let max = row
        .max
        .map_or(i128::from(i64::MAX), |max| i128::from(max) * scale);
    if n < min && min == 0 {
        return Err(ValueError::new("must not be negative"));
    }
    if n < min {
        let fault = ValueError::new(format!("must be at least {}", min / scale));
        let synchronous = row.name == "iodepth";
        return Err(fault.advise(if synchronous {
            "use 1 for synchronous I/O".to_owned()
        } else {
            format!("the value is {}", n / scale)
        }));
    }
    if n > max {
        return Err(ValueError::new(format!("must be at most {}", max / scale))
            .advise(format!("the value is {}", n / scale)));
    }
    i64::try_from(n).map_err(|_| ValueError::new(format!("{n} is too large")))
}

fn limited_floats(row: &OptionRow, values: Vec<f64>) -> Result<Vec<f64>, ValueError> {
    let min = row.min.map_or(f64::MIN, |min| min as f64);
    let max = row.max.map_or(f64::MAX, |max| max as f64);
    match values.iter().find(|value| **value < min || **value > max) {
        Some(value) => Err(ValueError::new(format!(
            "{value} is not between {min} and {max}"
        ))),
        None => Ok(values),
    }
}

fn extent(row: &OptionRow, text: &str, context: &mut ParseContext) -> Result<Size, ValueError> {
    single(text.strip_prefix('-').unwrap_or(text), context)?;
    let text = if context.is_fio() {
        first_part(text)
    } else {
        text
    };
    if let Some(zones) = text.strip_suffix('z') {
        return zones
            .trim()
            .parse()
            .map(Size::Zones)
            .map_err(|_| ValueError::new(format!("invalid number of zones '{text}'")));
    }
    match amount(text, Unit::Bytes, context)? {
        // In fio the share of a target ends at the target.
        Amount::Percent(share) if context.is_fio() && row.name == "size" => percent(share.min(100)),
        Amount::Percent(share) => percent(share),
        Amount::Plain(n) => limited(row, Unit::Bytes, n).map(|n| Size::Bytes(n.unsigned_abs())),
    }
}

fn percent(share: i128) -> Result<Size, ValueError> {
    match u8::try_from(share) {
        Ok(share) if share <= 100 => Ok(Size::Percent(share)),
        _ => Err(ValueError::new(format!(
            "{share}% is not between 0% and 100%"
        ))),
    }
}

fn checked_ranges(
    row: &OptionRow,
    text: &str,
    context: &mut ParseContext,
) -> Result<[Option<(u64, u64)>; 3], ValueError> {
    let mut values = [None; 3];
    for (slot, range) in values.iter_mut().zip(values::ranges(text, context)?) {
        let Some((low, high)) = range else { continue };
        let (low, high) = (
            limited(row, Unit::Bytes, low)?,
            limited(row, Unit::Bytes, high)?,
        );
        *slot = Some((low.unsigned_abs(), high.unsigned_abs()));
    }
    Ok(values)
}
