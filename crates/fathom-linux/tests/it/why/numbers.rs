//! Reads the numbers of a sentence back and finds each among the figures of its finding, within the rounding of the text.

use fathom_trace::WhyFinding;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Nanoseconds,
    Share,
    Bytes,
    Plain,
}

/// A unit of the text with its size.
const UNITS: [(&str, Unit, f64); 14] = [
    ("%", Unit::Share, 0.01),
    ("ns", Unit::Nanoseconds, 1.0),
    ("us", Unit::Nanoseconds, 1e3),
    ("ms", Unit::Nanoseconds, 1e6),
    ("s", Unit::Nanoseconds, 1e9),
    ("bytes", Unit::Bytes, 1.0),
    ("KiB", Unit::Bytes, 1024.0),
    ("MiB", Unit::Bytes, 1_048_576.0),
    ("GiB", Unit::Bytes, 1_073_741_824.0),
    ("TiB", Unit::Bytes, 1_099_511_627_776.0),
    ("kB/s", Unit::Bytes, 1e3),
    ("MB/s", Unit::Bytes, 1e6),
    ("GB/s", Unit::Bytes, 1e9),
    ("TB/s", Unit::Bytes, 1e12),
];

/// The value of a figure in the unit that the end of its name says.
fn figure((name, value): (&str, f64)) -> (Unit, f64) {
    if name.ends_with("_share") {
        (Unit::Share, value)
    } else if name.ends_with("_ns") {
        (Unit::Nanoseconds, value)
    } else if name.ends_with("bytes") || name.ends_with("bytes_per_s") {
        (Unit::Bytes, value)
    } else if name.ends_with("_s") && !name.ends_with("per_s") {
        (Unit::Nanoseconds, value * 1e9)
    } else {
        (Unit::Plain, value)
    }
}

/// Panics if a number of the sentence is no figure. Names of what it is about are no numbers.
#[track_caller]
pub fn assert_in_figures(finding: &WhyFinding) {
    let mut text = finding.sentence.clone();
    let mut subjects = finding.subjects.clone();
    subjects.sort_by_key(|subject| std::cmp::Reverse(subject.name.len()));
    for subject in subjects {
        if let Some(pid) = subject.pid {
            text = text.replace(&format!("{} (pid {pid})", subject.name), "");
        }
        text = text.replace(&subject.name, "");
    }
    let strip = |word: &str| {
        word.trim_matches(|c| matches!(c, '(' | ')' | ',' | '.' | ';' | ':'))
            .to_owned()
    };
    let words: Vec<String> = text.split_whitespace().map(strip).collect();
    for (at, word) in words.iter().enumerate() {
        let Ok(number) = word.replace(',', "").parse::<f64>() else {
            continue;
        };
        let next = words.get(at + 1).map_or("", String::as_str);
        let known = UNITS.iter().find(|(name, _, _)| *name == next);
        // A limit in bytes per second may be one of I/Os as well.
        let (unit, size) = known.map_or((Unit::Plain, 1.0), |(_, unit, size)| (*unit, *size));
        let decimals = word.split_once('.').map_or(0, |(_, digits)| digits.len());
        let rounding = size * 10f64.powi(-(decimals as i32)) * 1.001;
        let is_shown = |one: &(&'static str, f64)| {
            let (kind, value) = figure(*one);
            let is_rate = unit == Unit::Bytes && one.0 == "limit_per_s";
            (kind == unit || is_rate) && (value - number * size).abs() <= rounding
        };
        assert!(
            finding.figures.iter().any(is_shown),
            "{number} {next} of '{}' is not among {:?}",
            finding.sentence,
            finding.figures
        );
    }
}
