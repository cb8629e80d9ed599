//! A chart as CSV (RFC 4180): units in the header, one row for each x value.

use fathom_model::format::csv_line;
use fathom_model::{AxisScale, Chart, ChartAxis, ChartBody, ChartGrid, ChartSeries};

use crate::axis_name::named;

/// The values of a chart as CSV, in the units of its axes.
#[must_use]
pub fn csv(chart: &Chart) -> String {
    table(chart).iter().map(|row| csv_line(row)).collect()
}

/// The same as rows of cells; the first row is the header.
pub(crate) fn table(chart: &Chart) -> Vec<Vec<String>> {
    match &chart.body {
        ChartBody::Series(all) => of_series(chart, all),
        ChartBody::Grid(grid) => of_grid(chart, grid),
    }
}

fn of_series(chart: &Chart, all: &[ChartSeries]) -> Vec<Vec<String>> {
    let mut head = vec![named(&chart.x)];
    for series in all {
        let axis = chart.y.get(series.axis).unwrap_or(&chart.x);
        let title = match chart.panels.get(series.panel) {
            Some(panel) if !panel.is_empty() => format!("{panel}, {}", series.name),
            _ => series.name.clone(),
        };
        let name = match axis.unit.symbol.as_str() {
            "" => title,
            unit => format!("{title} ({unit})"),
        };
        head.push(name.clone());
        if !series.intervals.is_empty() {
            head.extend([format!("{name} from"), format!("{name} to")]);
        }
    }
    let mut places: Vec<f64> = all
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.0))
        .filter(|x| !x.is_nan())
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut rows = vec![head];
    let mut sorted: Vec<Vec<usize>> = all.iter().map(order).collect();
    sorted.iter_mut().for_each(|order| order.reverse());
    for x in places {
        // An x value may occur more than once, as in a scatter plot: each point has a row.
        while let Some(row) = row(chart, all, &mut sorted, x) {
            rows.push(row);
        }
    }
    rows
}

/// The indexes of the points, ordered by x.
fn order(series: &ChartSeries) -> Vec<usize> {
    let mut order: Vec<usize> = (0..series.points.len())
        .filter(|n| !series.points[*n].0.is_nan())
        .collect();
    order.sort_by(|a, b| series.points[*a].0.total_cmp(&series.points[*b].0));
    order
}

fn row(chart: &Chart, all: &[ChartSeries], left: &mut [Vec<usize>], x: f64) -> Option<Vec<String>> {
    let (mut row, mut any) = (vec![place(&chart.x, x)], false);
    for (series, left) in all.iter().zip(left) {
        let divide = chart
            .y
            .get(series.axis)
            .map_or(1.0, |axis| axis.unit.divide);
        let here = left.pop_if(|n| series.points[*n].0 == x);
        any |= here.is_some();
        row.push(here.map_or(String::new(), |n| number(series.points[n].1 / divide)));
        if !series.intervals.is_empty() {
            let interval = here.and_then(|n| series.intervals.get(n));
            row.push(interval.map_or(String::new(), |interval| number(interval.0 / divide)));
            row.push(interval.map_or(String::new(), |interval| number(interval.1 / divide)));
        }
    }
    any.then_some(row)
}

fn of_grid(chart: &Chart, grid: &ChartGrid) -> Vec<Vec<String>> {
    let side = chart.y.first().unwrap_or(&chart.x);
    let value = ChartAxis {
        title: grid.title.clone(),
        unit: grid.unit.clone(),
        ..ChartAxis::default()
    };
    let has_panels = chart.panels.len() > 1;
    let mut rows = vec![vec![named(&chart.x), named(side), named(&value)]];
    if has_panels {
        rows[0].insert(0, "Load".to_owned());
    }
    for (at, value) in grid.values.iter().enumerate() {
        let Some(value) = value else { continue };
        let (column, row, panel) = grid.place(at);
        let mut cells = vec![
            field(&chart.x, column, grid.columns),
            field(side, row, grid.rows),
            number(value / grid.unit.divide),
        ];
        if has_panels {
            cells.insert(0, chart.panels.get(panel).cloned().unwrap_or_default());
        }
        rows.push(cells);
    }
    rows
}

/// The middle of a column or row.
fn field(axis: &ChartAxis, at: usize, count: usize) -> String {
    let share = (at as f64 + 0.5) / count.max(1) as f64;
    match (&axis.scale, axis.from, axis.to) {
        (AxisScale::Names(_), ..) => place(axis, at as f64),
        (AxisScale::Log(_), Some(from), Some(to)) if from > 0.0 => {
            number(from * (to / from).powf(share) / axis.unit.divide)
        }
        (_, Some(from), Some(to)) => number((from + (to - from) * share) / axis.unit.divide),
        _ => at.to_string(),
    }
}

fn place(axis: &ChartAxis, x: f64) -> String {
    match &axis.scale {
        AxisScale::Names(names) => names.get(x.max(0.0) as usize).cloned().unwrap_or_default(),
        AxisScale::Nines => number(100.0 * (1.0 - 10f64.powf(-x))),
        _ => number(x / axis.unit.divide),
    }
}

/// Six significant figures, without an exponent.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::ChartUnit;

    use super::*;

    /// 1.5 ms, known to be between 1 and 2 ms.
    #[test]
    fn an_interval_is_in_the_unit_of_its_value() {
        let latency = ChartAxis {
            unit: ChartUnit {
                symbol: "ms".to_owned(),
                divide: 1e6,
            },
            ..ChartAxis::default()
        };
        let series = ChartSeries {
            name: "mean".to_owned(),
            points: vec![(4.0, 1.5e6)],
            intervals: vec![(1e6, 2e6)],
            ..ChartSeries::default()
        };
        let chart = Chart {
            y: vec![latency],
            body: ChartBody::Series(vec![series]),
            ..Chart::default()
        };
        let rows = table(&chart);
        assert_eq!(
            rows[0][1..],
            ["mean (ms)", "mean (ms) from", "mean (ms) to"]
        );
        assert_eq!(rows[1], ["4", "1.5", "1", "2"]);
    }
}
