//! The main statement of a chart, for readers who do not see it.

use fathom_model::format::printable;
use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartGrid, ChartSeries, ChartUnit, is_fio_last_bin,
};

use super::key_figures::{latency, significant};
use crate::charts::inner;

/// Series that a statement names.
const MAX_SERIES: usize = 4;

/// One sentence for each of the first series, or one for a grid.
pub(super) fn statement(chart: &Chart) -> String {
    match &chart.body {
        ChartBody::Series(all) => of_series(chart, all),
        ChartBody::Grid(grid) => of_grid(chart, grid),
    }
}

fn of_series(chart: &Chart, all: &[ChartSeries]) -> String {
    let usable: Vec<&ChartSeries> = all
        .iter()
        .filter(|series| series.points.iter().any(|(_, y)| y.is_finite()))
        .collect();
    let mut sentences: Vec<String> = usable
        .iter()
        .take(MAX_SERIES)
        .map(|series| of_one(chart, series))
        .collect();
    if usable.len() > MAX_SERIES {
        sentences.push(format!("{} more series.", usable.len() - MAX_SERIES));
    }
    sentences.join(" ")
}

fn of_one(chart: &Chart, series: &ChartSeries) -> String {
    let axis = chart.y.get(series.axis).or(chart.y.first());
    let unit = axis.map_or_else(ChartUnit::default, |axis| axis.unit.clone());
    let points = || series.points.iter().filter(|(_, y)| y.is_finite());
    let lowest = points().min_by(|a, b| a.1.total_cmp(&b.1));
    let highest = points().max_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(lowest), Some(highest)) = (lowest, highest) else {
        return String::new();
    };
    let name = if series.name.is_empty() {
        axis.map_or("value", |axis| axis.title.as_str())
    } else {
        &series.name
    };
    let panel = chart
        .panels
        .get(series.panel)
        .filter(|panel| !panel.is_empty());
    let name = panel.map_or_else(|| name.to_owned(), |panel| format!("{panel}, {name}"));
    let name = name.as_str();
    let at = |point: &(f64, f64)| {
        format!(
            "{} at {}",
            value(point.1, &unit),
            position(&chart.x, point.0)
        )
    };
    if lowest.1 == highest.1 {
        format!("{}: {}.", printable(name), value(highest.1, &unit))
    } else {
        format!(
            "{}: lowest {}, highest {}.",
            printable(name),
            at(lowest),
            at(highest)
        )
    }
}

fn of_grid(chart: &Chart, grid: &ChartGrid) -> String {
    let cells = grid
        .values
        .iter()
        .enumerate()
        .filter_map(|(n, value)| Some((n, (*value)?)))
        .filter(|(_, value)| value.is_finite());
    let lowest = cells.clone().min_by(|a, b| a.1.total_cmp(&b.1));
    let highest = cells.max_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(lowest), Some(highest)) = (lowest, highest) else {
        return String::new();
    };
    let columns = grid.columns.max(1);
    let at = |(n, number): (usize, f64)| {
        let (column, row, panel) = grid.place(n);
        let column = position(&chart.x, middle(&chart.x, column, columns));
        let row = chart.y.first().map_or_else(String::new, |axis| {
            position(axis, middle(axis, row, grid.rows.max(1)))
        });
        let load = chart
            .panels
            .get(panel)
            .map_or(String::new(), |panel| format!(" of {}", printable(panel)));
        format!("{} at {column} and {row}{load}", value(number, &grid.unit))
    };
    format!(
        "{}: lowest {}, highest {}.",
        printable(&grid.title),
        at(lowest),
        at(highest)
    )
}

/// The value of the middle of a field on an axis.
fn middle(axis: &ChartAxis, at: usize, count: usize) -> f64 {
    match (&axis.scale, axis.from, axis.to) {
        (AxisScale::Names(_), ..) => at as f64,
        (AxisScale::Log(_), Some(from), Some(to)) if from > 0.0 => {
            from * (to / from).powf((at as f64 + 0.5) / count as f64)
        }
        (_, Some(from), Some(to)) => from + (to - from) * (at as f64 + 0.5) / count as f64,
        _ => at as f64,
    }
}

fn position(axis: &ChartAxis, x: f64) -> String {
    match &axis.scale {
        AxisScale::Names(names) => {
            names
                .get(x.max(0.0) as usize)
                .map_or_else(String::new, |name| {
                    let title = inner(&axis.title);
                    let is_number = name.chars().all(|c| c.is_ascii_digit());
                    if is_number && !title.is_empty() {
                        format!("{title} {name}")
                    } else {
                        printable(name).into_owned()
                    }
                })
        }
        AxisScale::Nines => percentile(x),
        _ => {
            let title = inner(&axis.title);
            format!("{title} {}", value(x, &axis.unit))
        }
    }
}

/// The percentile at `x` nines, without the error of the power: `p99.9` for 3.
fn percentile(x: f64) -> String {
    let percent = 100.0 * (1.0 - 10f64.powf(-x));
    format!("p{}", (percent * 1e9).round() / 1e9)
}

fn value(number: f64, unit: &ChartUnit) -> String {
    if is_fio_last_bin(number as u64) && ["ms", "s"].contains(&unit.symbol.as_str()) {
        return latency(number);
    }
    let scaled = significant(number / unit.divide);
    if unit.symbol.is_empty() {
        scaled
    } else {
        format!("{scaled} {}", unit.symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 1006: a report printed `p1.0000000000000009`.
    #[test]
    fn percentiles_have_the_digits_of_their_name() {
        for name in [
            "1", "5", "50", "90", "99", "99.5", "99.9", "99.99", "99.9999",
        ] {
            let percent: f64 = name.parse().expect("a number");
            let nines = -(1.0 - percent / 100.0).log10();
            assert_eq!(percentile(nines), format!("p{name}"));
        }
    }
}
