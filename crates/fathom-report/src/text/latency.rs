//! A latency distribution in fio's text: one line, and a table of percentiles.

use fathom_model::LatencySummary;

use crate::fio_number::{Prefix, shorten};

/// The units of all latencies of one kind in a report: fio chooses them for each line and each table, so that the tables of
/// two jobs may have different units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// Of lines: name and nanoseconds.
    line: (&'static str, u64),
    /// Of tables: name and how often nanoseconds are divided by 1000.
    table: (&'static str, u32),
}

impl Units {
    /// The smallest of the units that fio would choose for each of `summaries`; `None` without samples.
    pub(super) fn common<'a>(summaries: impl Iterator<Item = &'a LatencySummary>) -> Option<Units> {
        let used = summaries.filter(|summary| summary.n > 0);
        used.map(|summary| {
            let line = line_unit(summary);
            let table = range(summary).map_or(("msec", 2), |(min, max)| table_unit(min, max));
            Units { line, table }
        })
        .reduce(|a, b| Units {
            line: if a.line.1 <= b.line.1 { a.line } else { b.line },
            table: if a.table.1 <= b.table.1 {
                a.table
            } else {
                b.table
            },
        })
    }
}

/// The smallest and the largest of the percentiles.
fn range(summary: &LatencySummary) -> Option<(u64, u64)> {
    let values = summary.percentiles.iter().map(|(_, ns)| *ns);
    Some((values.clone().min()?, values.max()?)).filter(|_| summary.n > 0)
}

/// `    clat (usec): min=.., max=.., avg=.., stdev=..`; empty without samples.
pub(super) fn line(name: &str, summary: &LatencySummary, units: Option<Units>) -> String {
    if summary.n == 0 {
        return String::new();
    }
    let (unit, size) = units.map_or_else(|| line_unit(summary), |units| units.line);
    let whole = |ns: u64| shorten(ns / size, 6, 0, Prefix::Si);
    let part = |ns: f64| format!("{:5.2}", ns / size as f64);
    let (min, max) = (whole(summary.min), whole(summary.max));
    let (mean, dev) = (part(summary.mean), part(summary.stddev));
    format!("    {name} ({unit}): min={min}, max={max}, avg={mean}, stdev={dev}\n")
}

/// fio's rule: a larger unit only when neither the smallest value nor the spread would vanish in it.
fn line_unit(summary: &LatencySummary) -> (&'static str, u64) {
    let suits = |min, max, dev| summary.min > min && summary.max > max && summary.stddev > dev;
    if suits(2_000_000, 99_999_999, 1e6) {
        ("msec", 1_000_000)
    } else if suits(2_000, 99_999, 1e3) {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    }
}

/// The table `    clat percentiles (usec):`, as many columns as fit `width`; empty without samples.
pub(super) fn percentiles(
    name: &str,
    summary: &LatencySummary,
    width: usize,
    units: Option<Units>,
) -> String {
    let Some((min, max)) = range(summary) else {
        return String::new();
    };
    let (unit, thousands) = units.map_or_else(|| table_unit(min, max), |units| units.table);
    let decimals = decimals(&summary.percentiles);
    let digits = (max / 1000u64.pow(thousands))
        .checked_ilog10()
        .map_or(5, |log| (log as usize + 1).max(5));
    let each = (width.saturating_sub(7) / (decimals + 10 + digits)).max(1);
    let cell = |(percent, ns): &(f64, u64)| {
        format!(
            " {percent:w$.decimals$}th=[{:digits$}]",
            round_up(*ns, thousands),
            w = decimals + 3
        )
    };
    let rows: Vec<String> = summary
        .percentiles
        .chunks(each)
        .map(|row| {
            format!(
                "     |{}",
                row.iter().map(cell).collect::<Vec<_>>().join(",")
            )
        })
        .collect();
    format!("    {name} percentiles ({unit}):\n{}\n", rows.join(",\n"))
}

/// Unit and how often a value in nanoseconds is divided by 1000 for it.
fn table_unit(min: u64, max: u64) -> (&'static str, u32) {
    if min > 2_000_000 && max > 99_999_999 {
        ("msec", 2)
    } else if min > 2_000 && max > 99_999 {
        ("usec", 1)
    } else {
        ("nsec", 0)
    }
}

fn round_up(ns: u64, thousands: u32) -> u64 {
    (0..thousands).fold(ns, |value, _| value.div_ceil(1000))
}

/// Decimals of the requested percentiles: 99.95 has two.
fn decimals(percentiles: &[(f64, u64)]) -> usize {
    let needed = |percent: &f64| {
        percent
            .to_string()
            .split_once('.')
            .map_or(0, |(_, part)| part.len())
    };
    percentiles
        .iter()
        .map(|(percent, _)| needed(percent))
        .max()
        .unwrap_or(0)
}
