//! Axes of sweeps: `--axis bs=4k,16k`, `--axis iodepth=1..64*2`.

use std::fmt;

use fathom_model::Personality;

use crate::options::{Kind, OptionRow, closest_option, find, read_value};
use crate::values::{ParseContext, Size, Unit, Value};

/// Maximum number of values.
const MAX_VALUES: usize = 1000;
/// Short names of options that are often varied.
const SHORT_NAMES: [(&str, &str); 11] = [
    ("depth", "iodepth"),
    ("jobs", "numjobs"),
    ("mix", "rwmixread"),
    ("engine", "ioengine"),
    ("working-set", "size"),
    ("distribution", "random_distribution"),
    ("compressibility", "buffer_compress_percentage"),
    ("device", "target"),
    ("path", "target"),
    ("fs", "target"),
    ("filesystem", "target"),
];

/// An option and its values; `target` is the target of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Canonical name of the option, or `target`.
    pub name: String,
    /// Its values, as written in a job file.
    pub values: Vec<String>,
    /// Whether the values are quantities, with values between two of them.
    pub ordered: bool,
}

/// An invalid axis: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisError {
    /// The axis as written.
    pub text: String,
    /// Position of the error in characters, counted from 0.
    pub at: usize,
    /// What is wrong, and how to fix it.
    pub problem: String,
}

impl fmt::Display for AxisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self
            .text
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        write!(f, "{}\n  {text}\n  {:at$}^", self.problem, "", at = self.at)
    }
}

impl std::error::Error for AxisError {}

/// A part of the text and its start.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    at: usize,
}

/// Position and reason of an error.
type Error = (usize, String);

impl Axis {
    /// Parses `NAME=VALUES`. Values are separated by commas, or by semicolons where a value contains commas. A value can
    /// be a range: `1..8` counts, `1..64*2` multiplies, `4k..64k+4k` adds, `2^0..6` takes powers. A range includes its end
    /// where a step reaches it.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn parse(text: &str) -> Result<Axis, AxisError> {
        read(text).map_err(|(at, why)| AxisError {
            text: text.to_owned(),
            at: text[..at.min(text.len())].chars().count(),
            problem: why,
        })
    }
}

fn read(text: &str) -> Result<Axis, Error> {
    let (name, values) = text.split_once('=').ok_or((
        text.len(),
        "an axis is NAME=VALUES, such as bs=4k,16k".to_owned(),
    ))?;
    let name = SHORT_NAMES
        .iter()
        .find(|(short, _)| *short == name.trim())
        .map_or(name.trim(), |(_, option)| option);
    let row = if name == "target" {
        None
    } else {
        Some(option(name)?)
    };
    let separator = if values.contains(';') { ';' } else { ',' };
    let start = text.len() - values.len();
    let mut found: Vec<String> = Vec::new();
    let mut at = start;
    for part in values.split(separator) {
        let blanks = part.len() - part.trim_start().len();
        let piece = Piece {
            text: part.trim(),
            at: at + blanks,
        };
        let new = expand(piece, row)?;
        if let Some(twice) = new.iter().find(|value| found.contains(value)) {
            return Err((piece.at, format!("the value {twice} occurs twice")));
        }
        found.extend(new);
        if found.len() > MAX_VALUES {
            return Err((
                piece.at,
                format!("more than {MAX_VALUES} values: take larger steps, such as *2"),
            ));
        }
        at += part.len() + separator.len_utf8();
    }
    let ordered = row.is_some_and(|row| quantity(row).is_some())
        && found
            .iter()
            .all(|value| value.starts_with(|c: char| c.is_ascii_digit()));
    Ok(Axis {
        name: row.map_or(name, |row| row.name).to_owned(),
        values: found,
        ordered,
    })
}

fn option(name: &str) -> Result<&'static OptionRow, Error> {
    const GIVEN: [&str; 4] = ["filename", "directory", "name", "runtime"];
    match find(name) {
        Some(row) if GIVEN.contains(&row.name) => {
            let advice = if row.name == "runtime" {
                "--runtime sets the time of each cell"
            } else {
                "vary `target` instead"
            };
            Err((0, format!("{} cannot be an axis: {advice}", row.name)))
        }
        Some(row) => Ok(row),
        None => {
            let close = closest_option(name)
                .map_or(String::new(), |close| format!("; did you mean {close}?"));
            Err((
                0,
                format!("unknown option '{}'{close}", name.escape_debug()),
            ))
        }
    }
}

/// The unit of an option whose values are quantities.
fn quantity(row: &OptionRow) -> Option<Unit> {
    match row.kind {
        Kind::One(unit) | Kind::Three(unit) | Kind::Pair(unit) => Some(unit),
        Kind::Extent => Some(Unit::Bytes),
        _ => None,
    }
}

fn expand(piece: Piece<'_>, row: Option<&'static OptionRow>) -> Result<Vec<String>, Error> {
    if piece.text.is_empty() {
        return Err((piece.at, "missing value".to_owned()));
    }
    let Some(row) = row else {
        return Ok(vec![piece.text.to_owned()]);
    };
    match (quantity(row), piece.text.split_once("..")) {
        (Some(unit), Some((low, high))) => {
            let high = Piece {
                text: high,
                at: piece.at + low.len() + 2,
            };
            range(
                Piece {
                    text: low,
                    at: piece.at,
                },
                high,
                row,
                unit,
            )
        }
        _ => {
            check(piece, row)?;
            Ok(vec![piece.text.to_owned()])
        }
    }
}

fn check(piece: Piece<'_>, row: &'static OptionRow) -> Result<Value, Error> {
    let mut context = ParseContext::new(Personality::Fathom, 4096);
    read_value(row, Some(piece.text), &mut context).map_err(|fault| {
        let advice = fault
            .advice
            .map_or(String::new(), |advice| format!(" ({advice})"));
        (piece.at, format!("{}: {}{advice}", row.name, fault.problem))
    })
}

/// The step of a range.
enum Step {
    Times(i64),
    Plus(i64),
}

fn range(
    low: Piece<'_>,
    high: Piece<'_>,
    row: &'static OptionRow,
    unit: Unit,
) -> Result<Vec<String>, Error> {
    if let Some((base, from)) = low.text.split_once('^') {
        let from = Piece {
            text: from,
            at: low.at + base.len() + 1,
        };
        return powers(
            Piece {
                text: base,
                at: low.at,
            },
            from,
            high,
            row,
            unit,
        );
    }
    let (high, step) = step(high, row)?;
    let (first, last) = (number(low, row)?, number(high, row)?);
    let step = match step {
        Some(step) => step,
        None if unit == Unit::Bytes || unit.is_time() => {
            return Err((
                high.at + high.text.len(),
                "a range of sizes or times needs a step, such as *2 or +4k".to_owned(),
            ));
        }
        None => Step::Plus(1),
    };
    if last < first {
        return Err((
            high.at,
            format!(
                "the range ends at {} before it begins at {}",
                high.text, low.text
            ),
        ));
    }
    if first == 0 && matches!(step, Step::Times(_)) {
        return Err((
            low.at,
            "a multiplied range cannot begin with zero; begin with 1 and add the value 0"
                .to_owned(),
        ));
    }
    let next = |value: &i64| match step {
        Step::Times(factor) => value.checked_mul(factor),
        Step::Plus(more) => value.checked_add(more),
    };
    let values = std::iter::successors(Some(first), next)
        .take_while(|value| *value <= last)
        .take(MAX_VALUES + 1);
    Ok(values.map(|value| written(value, unit)).collect())
}

/// Takes `*N` or `+N` from the end of a range.
fn step<'a>(high: Piece<'a>, row: &'static OptionRow) -> Result<(Piece<'a>, Option<Step>), Error> {
    let Some(place) = high.text.find(['*', '+']) else {
        return Ok((high, None));
    };
    let (end, rest) = (
        Piece {
            text: &high.text[..place],
            at: high.at,
        },
        Piece {
            text: &high.text[place + 1..],
            at: high.at + place + 1,
        },
    );
    let step = if high.text[place..].starts_with('*') {
        let factor = rest.text.parse().ok().filter(|factor| *factor >= 2);
        Step::Times(factor.ok_or((
            rest.at,
            format!(
                "invalid factor '{}': use 2 or more",
                rest.text.escape_debug()
            ),
        ))?)
    } else {
        let more = number(rest, row)?;
        Step::Plus(
            Some(more)
                .filter(|more| *more > 0)
                .ok_or((rest.at, "a step must be greater than zero".to_owned()))?,
        )
    };
    Ok((end, Some(step)))
}

fn powers(
    base: Piece<'_>,
    from: Piece<'_>,
    to: Piece<'_>,
    row: &'static OptionRow,
    unit: Unit,
) -> Result<Vec<String>, Error> {
    let whole = |piece: Piece<'_>, least: i64| {
        let value = piece
            .text
            .parse::<i64>()
            .ok()
            .filter(|value| (least..=62).contains(value));
        value.ok_or((
            piece.at,
            format!(
                "'{}' is not a whole number from {least} to 62",
                piece.text.escape_debug()
            ),
        ))
    };
    let (base_value, first, last) = (whole(base, 2)?, whole(from, 0)?, whole(to, 0)?);
    if last < first {
        return Err((
            to.at,
            format!("the powers end at {last} before they begin at {first}"),
        ));
    }
    let power = |exponent: i64| {
        let value = base_value
            .checked_pow(exponent as u32)
            .ok_or((to.at, format!("{base_value}^{exponent} is too large")))?;
        let text = written(value, unit);
        check(
            Piece {
                text: &text,
                at: base.at,
            },
            row,
        )?;
        Ok(text)
    };
    (first..=last).map(power).collect()
}

/// One quantity, in the base unit of its option.
fn number(piece: Piece<'_>, row: &'static OptionRow) -> Result<i64, Error> {
    let wrong = || {
        (
            piece.at,
            format!(
                "'{}' is not a number for a range",
                piece.text.escape_debug()
            ),
        )
    };
    if !piece.text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    match check(piece, row)? {
        Value::Number(n) => Ok(n),
        Value::Three([Some(n), None, None]) => i64::try_from(n).map_err(|_| wrong()),
        Value::Three([Some(a), Some(b), Some(c)]) if a == b && b == c => {
            i64::try_from(a).map_err(|_| wrong())
        }
        Value::Pair(a, b) if a == b => i64::try_from(a).map_err(|_| wrong()),
        Value::Extent(Size::Bytes(n)) => i64::try_from(n).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// A quantity as in a job file.
fn written(value: i64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => {
            let factors = [
                (1_i64 << 40, "t"),
                (1 << 30, "g"),
                (1 << 20, "m"),
                (1 << 10, "k"),
            ];
            let fit = factors
                .iter()
                .find(|(factor, _)| value >= *factor && value % factor == 0);
            fit.map_or(value.to_string(), |(factor, suffix)| {
                format!("{}{suffix}", value / factor)
            })
        }
        Unit::Micros | Unit::Seconds => {
            let factors = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
            let fit = factors
                .iter()
                .find(|(factor, _)| value > 0 && value % factor == 0);
            fit.map_or(format!("{value}ns"), |(factor, suffix)| {
                format!("{}{suffix}", value / factor)
            })
        }
        Unit::Count | Unit::Percent | Unit::Millis => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Axis::parse(text)
            .unwrap_or_else(|error| panic!("{error}"))
            .values
    }

    #[test]
    fn lists_ranges_and_powers() {
        assert_eq!(values("bs=4k,16k,1m"), ["4k", "16k", "1m"]);
        assert_eq!(
            values("iodepth=1..64*2"),
            ["1", "2", "4", "8", "16", "32", "64"]
        );
        assert_eq!(values("iodepth=1..100*4"), ["1", "4", "16", "64"]);
        assert_eq!(values("numjobs=1..4"), ["1", "2", "3", "4"]);
        assert_eq!(
            values("rwmixread=0..100+25"),
            ["0", "25", "50", "75", "100"]
        );
        assert_eq!(values("bs=4k..64k*4"), ["4k", "16k", "64k"]);
        assert_eq!(values("bs=512..2k+512"), ["512", "1k", "1536", "2k"]);
        assert_eq!(
            values("iodepth=2^0..6"),
            ["1", "2", "4", "8", "16", "32", "64"]
        );
        assert_eq!(values("bs=2^12..14"), ["4k", "8k", "16k"]);
        assert_eq!(values("size=64m..1g*4"), ["64m", "256m", "1g"]);
        assert_eq!(
            values("iodepth=1,8..32*2,100"),
            ["1", "8", "16", "32", "100"]
        );
        assert_eq!(values("thinktime=1ms..4ms*2"), ["1ms", "2ms", "4ms"]);
    }

    #[test]
    fn names_and_values_with_commas() {
        let axis = Axis::parse("rw=read,randread").expect("names");
        assert!(!axis.ordered && axis.values == ["read", "randread"]);
        assert_eq!(values("bs=4k,8k;16k"), ["4k,8k", "16k"]);
        assert_eq!(
            values("random_distribution=random,zipf:1.1,zoned:50/10:50/90"),
            ["random", "zipf:1.1", "zoned:50/10:50/90"]
        );
        assert_eq!(
            Axis::parse("depth=1,2").expect("a short name").name,
            "iodepth"
        );
        let targets = Axis::parse("target=../a,/mnt/b..c").expect("paths");
        assert!(
            targets.name == "target" && targets.values == ["../a", "/mnt/b..c"] && !targets.ordered
        );
    }

    /// (axis, the text at the error, a part of the reason)
    #[test]
    fn errors_name_their_position() {
        let cases = [
            ("bs", "", "NAME=VALUES"),
            ("bss=4k", "bss", "did you mean"),
            ("bs=4k,,8k", ",8k", "missing value"),
            ("bs=4k,x", "x", "bs:"),
            ("iodepth=1..x*2", "x*2", "not a number"),
            ("iodepth=1..64*1", "1", "invalid factor"),
            ("iodepth=64..1*2", "1*2", "before it begins"),
            ("rwmixread=0..64*2", "0..64", "zero"),
            ("bs=4k..64k", "", "needs a step"),
            ("iodepth=1..5000", "1..5000", "more than 1000"),
            ("iodepth=2,1..4*2", "1..4*2", "twice"),
            ("bs=2^70..71", "70..71", "not a whole number"),
            ("rw=read,raed", "raed", "rw:"),
            ("runtime=1,2", "runtime", "--runtime"),
            ("filename=a,b", "filename", "target"),
            ("rwmixread=50,101", "101", "rwmixread"),
        ];
        for (text, under, name) in cases {
            let error = Axis::parse(text).expect_err(text);
            assert!(error.problem.contains(name), "{text}: {}", error.problem);
            assert!(
                text[error.at..].starts_with(under),
                "{text}: position {} instead of that of '{under}'",
                error.at
            );
        }
        let shown = Axis::parse("iodepth=1..x*2")
            .expect_err("wrong")
            .to_string();
        assert!(
            shown.ends_with("\n  iodepth=1..x*2\n             ^"),
            "{shown}"
        );
    }
}
