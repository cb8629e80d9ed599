//! Several numbers in one value: triples, pairs, ranges, decimals.

use super::context::{ParseContext, ValueError};
use super::number::number;
use super::unit::Unit;

/// The separator at which fio splits: the first comma, else colon, else dash that is not a sign.
fn next_separator(text: &str) -> Option<usize> {
    text.find(',').or_else(|| text.find(':')).or_else(|| {
        text.get(1..)
            .and_then(|rest| rest.find('-'))
            .map(|at| at + 1)
    })
}

/// The parts of `text`, and whether a comma follows the last one (then it does not apply to the remaining directions).
fn parts(text: &str) -> (Vec<&str>, bool) {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = next_separator(rest) {
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    let closed = rest.is_empty() && text.ends_with(',');
    if !closed {
        parts.push(rest);
    }
    (parts, closed)
}

/// Three numbers for read, write and trim; `None` keeps the earlier value.
///
/// The last part applies to the remaining directions, unless a comma follows it.
///
/// # Errors
/// When a part is not a number, or there are more than three.
pub(crate) fn three(
    text: &str,
    unit: Unit,
    context: &mut ParseContext,
) -> Result<[Option<i128>; 3], ValueError> {
    let (parts, closed) = parts(text);
    if parts.len() > 3 && !context.is_fio() {
        return Err(
            ValueError::new(format!("'{text}' has {} values", parts.len()))
                .advise("at most read,write,trim"),
        );
    }
    let mut values = [None; 3];
    for (slot, part) in values.iter_mut().zip(&parts) {
        *slot = one_of_three(part, unit, context)?;
    }
    if values.iter().all(Option::is_none) {
        return Err(ValueError::new(format!("'{text}' contains no number")));
    }
    if !closed {
        let last = parts.len().clamp(1, 3);
        let filler = values[last - 1];
        values[last..].fill(filler);
    }
    note_separators(text, &parts, &values, context);
    Ok(values)
}

fn one_of_three(
    part: &str,
    unit: Unit,
    context: &mut ParseContext,
) -> Result<Option<i128>, ValueError> {
    if part.trim().is_empty() {
        return Ok(None);
    }
    match number(part, unit, context) {
        Err(_) if context.is_fio() => Ok(None),
        other => other.map(Some),
    }
}

fn note_separators(
    text: &str,
    parts: &[&str],
    values: &[Option<i128>; 3],
    context: &mut ParseContext,
) {
    if parts.len() < 2 || text.contains(',') || context.is_fio() {
        return;
    }
    let shown = |value: Option<i128>| value.map_or("unchanged".to_owned(), |n| n.to_string());
    let problem = format!(
        "'{text}' is not a range: it sets reads to {} and writes to {}",
        shown(values[0]),
        shown(values[1])
    );
    context.note(
        ValueError::new(problem)
            .advise("separate directions with a comma; for a range of block sizes use bsrange"),
    );
}

/// One number. fio ignores a second one.
///
/// # Errors
/// When it is not a number; outside the fio personality also when there is more than one.
pub(crate) fn one(text: &str, unit: Unit, context: &mut ParseContext) -> Result<i128, ValueError> {
    single(text, context)?;
    number(first_part(text), unit, context)
}

/// Refuses a list where one value is expected; fio takes the first.
pub(crate) fn single(text: &str, context: &ParseContext) -> Result<(), ValueError> {
    if context.is_fio() || next_separator(text).is_none() || text.starts_with('(') {
        return Ok(());
    }
    Err(ValueError::new(format!(
        "'{text}' is a list, expected one value"
    )))
}

/// The text before the first separator.
pub(crate) fn first_part(text: &str) -> &str {
    if text.starts_with('(') {
        return text;
    }
    next_separator(text).map_or(text, |at| &text[..at])
}

/// A number, or two separated by `-`, `:` or `,`: minimum and maximum.
///
/// # Errors
/// When a part is not a number, or there are more than two.
pub(crate) fn pair(
    text: &str,
    unit: Unit,
    context: &mut ParseContext,
) -> Result<(i128, i128), ValueError> {
    let (parts, _) = parts(text);
    if parts.len() > 2 && !context.is_fio() {
        return Err(
            ValueError::new(format!("'{text}' has {} values", parts.len()))
                .advise("write one value, or low-high"),
        );
    }
    let low = number(parts.first().copied().unwrap_or(""), unit, context)?;
    let high = parts
        .get(1)
        .map_or(Ok(low), |part| number(part, unit, context))?;
    Ok((low.min(high), low.max(high)))
}

/// Ranges of bytes for read, write and trim; the last one applies to the remaining directions as in [`three`].
///
/// # Errors
/// When a part is not a range.
pub(crate) fn ranges(
    text: &str,
    context: &mut ParseContext,
) -> Result<[Option<(i128, i128)>; 3], ValueError> {
    let closed = text.ends_with(',');
    let parts: Vec<&str> = text.strip_suffix(',').unwrap_or(text).split(',').collect();
    if parts.len() > 3 {
        return Err(
            ValueError::new(format!("'{text}' has {} ranges", parts.len()))
                .advise("at most read,write,trim"),
        );
    }
    let mut values = [None; 3];
    for (slot, part) in values
        .iter_mut()
        .zip(&parts)
        .filter(|(_, part)| !part.is_empty())
    {
        *slot = Some(range(part, context)?);
    }
    if !closed {
        let filler = values[parts.len() - 1];
        values[parts.len()..].fill(filler);
    }
    Ok(values)
}

fn range(text: &str, context: &mut ParseContext) -> Result<(i128, i128), ValueError> {
    let Some((low, high)) = text.split_once('-').or_else(|| text.split_once(':')) else {
        return Err(ValueError::new(format!("'{text}' is not a range"))
            .advise("write low-high, for example 4k-16k"));
    };
    let (low, high) = (
        number(low, Unit::Bytes, context)?,
        number(high, Unit::Bytes, context)?,
    );
    Ok((low.min(high), low.max(high)))
}

/// Decimals separated by colons, at most `max_count`.
///
/// # Errors
/// When one is not a decimal, or there are too many. fio ignores what follows a comma.
pub(crate) fn floats(
    text: &str,
    max_count: usize,
    context: &ParseContext,
) -> Result<Vec<f64>, ValueError> {
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > max_count {
        return Err(
            ValueError::new(format!("{} values are too many", parts.len()))
                .advise(format!("at most {max_count}")),
        );
    }
    parts.into_iter().map(|part| float(part, context)).collect()
}

/// One decimal; in the fio personality the beginning of `text` that is one.
pub(crate) fn float(text: &str, context: &ParseContext) -> Result<f64, ValueError> {
    let text = text.trim();
    let digits = if context.is_fio() {
        leading_float(text)
    } else {
        text
    };
    let plain = digits
        .chars()
        .all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    match digits.parse::<f64>() {
        Ok(value) if plain && value.is_finite() => Ok(value),
        _ if text.contains(',') => Err(ValueError::new(format!("'{text}' is not a number"))
            .advise("separate values with colons, not commas")),
        _ => Err(ValueError::new(format!("'{text}' is not a number"))),
    }
}

fn leading_float(text: &str) -> &str {
    let sign = usize::from(text.starts_with(['-', '+']));
    let end = text[sign..]
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map_or(text.len(), |at| at + sign);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Personality::{self, Fathom, Fio};

    fn bs(text: &str, personality: Personality) -> Result<[Option<i128>; 3], ValueError> {
        three(text, Unit::Bytes, &mut ParseContext::new(personality, 1))
    }

    /// fio's rule: a value not closed by a comma fills the directions after it.
    #[test]
    fn triples_fill_as_in_fio() {
        for (text, values) in [
            ("4k", [Some(4096); 3]),
            ("4k,8k", [Some(4096), Some(8192), Some(8192)]),
            ("4k,8k,16k", [Some(4096), Some(8192), Some(16384)]),
            (",8k", [None, Some(8192), Some(8192)]),
            ("4k,", [Some(4096), None, None]),
            ("4k,8k,", [Some(4096), Some(8192), None]),
            (",,16k", [None, None, Some(16384)]),
            ("4k:8k", [Some(4096), Some(8192), Some(8192)]),
            ("4k-16k", [Some(4096), Some(16384), Some(16384)]),
        ] {
            assert_eq!(bs(text, Fathom), Ok(values), "{text}");
            assert_eq!(bs(text, Fio), Ok(values), "{text}");
        }
        assert_eq!(bs("4k,abc", Fio), Ok([Some(4096), None, None]));
        assert!(
            bs("4k,abc", Fathom).is_err()
                && bs("1,2,3,4", Fathom).is_err()
                && bs(",", Fathom).is_err()
        );
    }

    #[test]
    fn a_dash_between_block_sizes_is_a_warning() {
        let mut context = ParseContext::new(Fathom, 1);
        three("4k-16k", Unit::Bytes, &mut context).expect("two directions");
        assert!(
            context.notes[0]
                .problem
                .contains("reads to 4096 and writes to 16384")
        );
    }

    #[test]
    fn ranges_are_sorted_and_fill() {
        let mut context = ParseContext::new(Fathom, 1);
        assert_eq!(ranges("16k-4k", &mut context), Ok([Some((4096, 16384)); 3]));
        assert_eq!(
            ranges("1k-2k,4k:8k", &mut context),
            Ok([Some((1024, 2048)), Some((4096, 8192)), Some((4096, 8192))])
        );
        assert!(ranges("4k", &mut context).is_err());
    }

    #[test]
    fn only_fio_ignores_floats_after_a_comma() {
        assert_eq!(
            floats("50,99", 20, &ParseContext::new(Fio, 1)),
            Ok(vec![50.0])
        );
        assert!(floats("50,99", 20, &ParseContext::new(Fathom, 1)).is_err());
        assert_eq!(
            floats("50:99.9", 20, &ParseContext::new(Fathom, 1)),
            Ok(vec![50.0, 99.9])
        );
        assert!(floats(&vec!["1"; 21].join(":"), 20, &ParseContext::new(Fathom, 1)).is_err());
        assert!(
            float("inf", &ParseContext::new(Fathom, 1)).is_err()
                && float("nan", &ParseContext::new(Fio, 1)).is_err()
        );
    }
}
