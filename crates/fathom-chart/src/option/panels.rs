//! Where the panels of a chart are: patterns side by side, quantities below each other. They share
//! their axes.

use fathom_model::{AxisScale, Chart, ChartBody, ChartSeries, MarkPosition, SeriesShape};

use super::axis::{self, Range};
use crate::font::width;

/// Narrower images have one column of panels.
const PHONE: f32 = 500.0;
/// Space for the labels of the y axis, and on the right of a panel.
const LABELS: f32 = 66.0;
const EDGE: f32 = 30.0;
/// Labels of percentiles are wide, also the last one.
const NINES_EDGE: f32 = 52.0;
/// Font size of names at the ends of lines, and their distance from the line.
pub(super) const END_LABEL: f32 = 11.5;
const END_GAP: f32 = 12.0;
/// Distance of the names at the ends of lines from each other.
const END_DISTANCE: f32 = 14.0;
/// Height of the title of a panel, of the name of a y axis with the labels beside it, of the labels
/// below the x axis, and of its name.
const TITLE: f32 = 19.0;
pub(super) const Y_NAME: f32 = 36.0;
const X_LABELS: f32 = 24.0;
const X_NAME: f32 = 20.0;
/// Lower panels are unreadable.
const LOWEST: f32 = 40.0;
/// Height of a panel on a page.
const PAGE_PANEL: f32 = 150.0;
/// Usual width of a panel on a page.
pub(super) const PAGE_WIDTH: f32 = 520.0;
/// Names at line ends need this share of the width at most.
const END_SHARE: f32 = 0.3;

/// One panel: its position in pixels from the edges of the image.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) panel: usize,
    pub(super) axis: usize,
    pub(super) left: f32,
    /// `None` on a page, whose width is not known.
    pub(super) width: Option<f32>,
    pub(super) right: f32,
    pub(super) top: f32,
    pub(super) height: f32,
    /// Whether it has labels on the y axis.
    pub(super) is_first: bool,
    /// Whether it has labels on the x axis.
    pub(super) is_lowest: bool,
    /// Whether its panel has its title above it.
    pub(super) is_highest: bool,
}

/// Whether a chart has more than one panel.
pub(super) fn is_divided(chart: &Chart) -> bool {
    match &chart.body {
        ChartBody::Series(_) => chart.panels.len() > 1 || chart.y.len() > 1,
        ChartBody::Grid(grid) => chart.panels.len() > 1 && !grid.solid,
    }
}

/// The chart without the panels for which an image of this size has no room; a note names them.
pub(super) fn fitted(chart: &Chart, height_of: impl Fn(&Chart) -> f32) -> Option<Chart> {
    let count = chart.panels.len();
    if count < 2 || height_of(chart) >= LOWEST {
        return None;
    }
    let cut = |kept: usize| {
        let mut made = chart.clone();
        let names = made.panels.split_off(kept);
        match &mut made.body {
            ChartBody::Series(all) => all.retain(|series| series.panel < kept),
            ChartBody::Grid(grid) => grid.values.truncate(grid.columns * grid.rows * kept),
        }
        let is_kept = |panel: Option<usize>| panel.is_none_or(|panel| panel < kept);
        made.marks.retain(|mark| is_kept(mark.panel));
        made.events.retain(|event| is_kept(event.panel));
        made.notes.insert(
            0,
            format!(
                "No room for {} of {count} panels ({}) in an image of this size.",
                names.len(),
                names.join("; ")
            ),
        );
        if kept == 1 {
            let parts = [made.subtitle.as_str(), &made.panels[0]];
            let named: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            made.subtitle = named.join(" · ");
            made.panels.clear();
        }
        made
    };
    let mut made = cut(count - 1);
    for kept in (1..count - 1).rev() {
        if height_of(&made) >= LOWEST {
            break;
        }
        made = cut(kept);
    }
    Some(made)
}

/// Height of the panels on a page.
pub(super) fn page_height(chart: &Chart) -> f32 {
    let (panels, axes) = (chart.panels.len().max(1), chart.y.len().max(1));
    let title = if chart.panels.is_empty() { 0.0 } else { TITLE };
    panels as f32 * (axes as f32 * (PAGE_PANEL + Y_NAME) + title + x_labels(chart, PAGE_WIDTH))
        + X_NAME
}

/// The panels between `top` and `bottom`.
pub(super) fn cells(chart: &Chart, area: &Area) -> Vec<Cell> {
    let (panels, axes) = (chart.panels.len().max(1), chart.y.len().max(1));
    let columns = match area.width {
        Some(wide) if wide >= PHONE => match (panels, axes) {
            (1..=3, _) => panels,
            (4, 1) => 2,
            (_, 1) => 3,
            _ => panels.min(3),
        },
        _ => 1,
    };
    let rows = panels.div_ceil(columns);
    let title = if chart.panels.is_empty() { 0.0 } else { TITLE };
    let edge = match chart.x.scale {
        AxisScale::Nines => NINES_EDGE,
        _ => EDGE,
    };
    let head = title + axes as f32 * Y_NAME;
    let inner = area.width.map(|wide| {
        (wide - LABELS - columns as f32 * area.right - (columns - 1) as f32 * edge - EDGE.min(edge))
            / columns as f32
    });
    let x_labels = x_labels(chart, inner.unwrap_or(PAGE_WIDTH));
    let high = (area.height - X_NAME) / rows as f32 - head - x_labels;
    let mut all = Vec::new();
    for panel in 0..panels {
        let (row, column) = (panel / columns, panel % columns);
        let left = LABELS + column as f32 * (inner.unwrap_or(0.0) + area.right + edge);
        let mut top = area.top + row as f32 * (head + x_labels + high) + title;
        for axis in 0..axes {
            let height = (high * share(axis, axes)).max(20.0);
            top += Y_NAME;
            all.push(Cell {
                panel,
                axis,
                left: area.left + left,
                width: inner,
                right: area.right + edge,
                top,
                height,
                is_first: column == 0,
                is_lowest: axis + 1 == axes,
                is_highest: axis == 0,
            });
            top += height;
        }
    }
    all
}

/// Height of the labels below the x axis of a panel of this width.
fn x_labels(chart: &Chart, wide: f32) -> f32 {
    let names = match &chart.x.scale {
        AxisScale::Names(names) => axis::names_height(names, wide),
        _ => None,
    };
    names.unwrap_or(X_LABELS)
}

/// The first of two quantities is the larger.
fn share(axis: usize, axes: usize) -> f32 {
    match (axis, axes) {
        (0, 2) => 0.6,
        (_, 2) => 0.4,
        _ => 1.0 / axes as f32,
    }
}

/// The space for all panels.
pub(super) struct Area {
    pub(super) left: f32,
    pub(super) width: Option<f32>,
    pub(super) top: f32,
    pub(super) height: f32,
    /// For names at line ends.
    pub(super) right: f32,
}

/// Space for the names at the ends of the lines, if every panel has room for them: lines that end at
/// the same place, no more than fit, with short names. `None` if they need a legend.
pub(super) fn end_space(chart: &Chart, wide: f32, high: f32) -> Option<f32> {
    let ChartBody::Series(all) = &chart.body else {
        return None;
    };
    let is_line = |series: &&ChartSeries| {
        matches!(series.shape, SeriesShape::Line | SeriesShape::Thin) && series.labels.is_empty()
    };
    if all.len() < 2 || !all.iter().all(|series| is_line(&series)) {
        return None;
    }
    // The name at the end of a curve that turns back, as a load curve beyond its knee, would be on the curve.
    let turns_back = |series: &ChartSeries| {
        let mut kept = series.points.iter().filter(|point| point.1.is_finite());
        let mut furthest = f64::NEG_INFINITY;
        kept.any(|point| {
            let is_back = point.0 < furthest;
            furthest = furthest.max(point.0);
            is_back
        })
    };
    if all.iter().any(turns_back) {
        return None;
    }
    let last = |series: &ChartSeries| {
        let kept = series.points.iter().filter(|point| point.1.is_finite());
        kept.map(|point| point.0).fold(f64::NEG_INFINITY, f64::max)
    };
    let (low, high_end) = all
        .iter()
        .map(last)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
            (low.min(end), high.max(end))
        });
    let range = Range::of_x(chart, all);
    let close = (high_end - low).abs() <= 0.03 * (range.high - range.low).abs();
    // In the middle of the panel a name would cover other lines.
    let at_edge = range.high - high_end <= 0.05 * (range.high - range.low).abs()
        || (matches!(chart.x.scale, AxisScale::Log(_)) && high_end > 0.7 * range.high);
    let fullest = (0..chart.panels.len().max(1))
        .flat_map(|panel| (0..chart.y.len().max(1)).map(move |axis| (panel, axis)))
        .map(|(panel, axis)| {
            all.iter()
                .filter(|series| series.panel == panel && series.axis == axis)
                .count()
        })
        .max()
        .unwrap_or(0);
    let longest = all
        .iter()
        .map(|series| width(&series.name, END_LABEL, false))
        .fold(0.0, f32::max);
    let fits = longest <= END_SHARE * wide && fullest as f32 * (END_LABEL + 3.0) <= high;
    (close && at_edge && fits && fullest > 1).then_some(longest + END_GAP)
}

/// The height of the name of each line of a panel, beside the end of the line or as near as the other
/// names allow. ECharts would move names apart without regard to their panels.
pub(super) fn end_places(chart: &Chart, all: &[ChartSeries], cell: &Cell) -> Vec<(usize, f32)> {
    let axis = shared(chart, all, cell.axis);
    let (Some(from), Some(to)) = (axis.from, axis.to) else {
        return Vec::new();
    };
    let place = |value: f64| match axis.scale {
        AxisScale::Log(_) => value.ln(),
        _ => value,
    };
    let mut ends: Vec<(usize, f32)> = all
        .iter()
        .enumerate()
        .filter(|(_, series)| (series.panel, series.axis) == (cell.panel, cell.axis))
        .filter_map(|(number, series)| {
            let last = series
                .points
                .iter()
                .rev()
                .find(|point| point.1.is_finite())?;
            let share = (place(last.1) - place(from)) / (place(to) - place(from));
            Some((number, cell.top + cell.height * (1.0 - share as f32)))
        })
        .collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut placed: Vec<f32> = ends.iter().map(|end| end.1).collect();
    for n in 1..placed.len() {
        placed[n] = placed[n].max(placed[n - 1] + END_DISTANCE);
    }
    // Names below the panel move up again, and push the others up.
    let mut limit = cell.top + cell.height;
    for y in placed.iter_mut().rev() {
        *y = y.min(limit);
        limit = *y - END_DISTANCE;
    }
    ends.iter()
        .zip(placed)
        .map(|((number, _), y)| (*number, y))
        .collect()
}

/// The range of the values on an axis, with the lines across it.
pub(super) fn values(chart: &Chart, all: &[ChartSeries], axis: usize) -> Range {
    let own = all.iter().filter(|series| series.axis == axis);
    let points = own.flat_map(|series| {
        let ends = series.intervals.iter().flat_map(|one| [one.0, one.1]);
        series.points.iter().map(|point| point.1).chain(ends)
    });
    let marks = chart.marks.iter().filter_map(|mark| match mark.at {
        MarkPosition::Across(on, value) if on == axis => Some(value),
        _ => None,
    });
    Range::of(points.chain(marks))
}

/// The y axis with limits that all panels share.
pub(super) fn shared(chart: &Chart, all: &[ChartSeries], axis: usize) -> fathom_model::ChartAxis {
    axis::limited(&chart.y[axis], values(chart, all, axis))
}

#[cfg(test)]
mod tests {
    use fathom_model::ChartAxis;

    use super::*;
    use crate::option::{Medium, option};

    /// Regression 0660: IOPS and latency had two axes in one field. They have a panel each, below each
    /// other with the same left and right edge, and no panel covers another.
    #[test]
    fn regression_0660_panels_share_edges_and_never_overlap() {
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        for panels in 1..=6 {
            for axes in 1..=2 {
                for wide in [375, 1000] {
                    let titles: Vec<String> = (0..panels).map(|n| format!("panel {n}")).collect();
                    let series = |n: usize| ChartSeries {
                        name: format!("line {}", n % axes),
                        panel: n / axes,
                        axis: n % axes,
                        points: vec![(0.0, 1.0), (1.0, 250.0)],
                        ..ChartSeries::default()
                    };
                    let chart = Chart {
                        y: vec![ChartAxis::default(); axes],
                        panels: if panels > 1 { titles } else { Vec::new() },
                        body: ChartBody::Series((0..panels * axes).map(series).collect()),
                        ..Chart::default()
                    };
                    if panels * axes == 1 {
                        continue;
                    }
                    // High enough for all panels; a lower image leaves panels out and says so.
                    let high = 2400_u32;
                    let medium = Medium::Image {
                        width: wide,
                        height: high,
                    };
                    let made = option(&chart, medium);
                    let grids = made["grid"].as_array().expect("grids");
                    assert_eq!(grids.len(), panels * axes);
                    let boxes: Vec<[f64; 4]> = grids
                        .iter()
                        .map(|grid| {
                            let (left, top) = (number(&grid["left"]), number(&grid["top"]));
                            [
                                left,
                                top,
                                left + number(&grid["width"]),
                                top + number(&grid["height"]),
                            ]
                        })
                        .collect();
                    for (n, a) in boxes.iter().enumerate() {
                        assert!(
                            a[0] >= 0.0 && a[2] <= f64::from(wide) && a[3] < f64::from(high),
                            "{a:?}"
                        );
                        for b in &boxes[n + 1..] {
                            let apart =
                                a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
                            assert!(apart, "{panels} panels, {wide} wide: {a:?} {b:?}");
                        }
                    }
                    for panel in boxes.chunks(axes) {
                        assert!(
                            panel
                                .iter()
                                .all(|one| (one[0], one[2]) == (panel[0][0], panel[0][2]))
                        );
                    }
                    // Shared axes: the same limits in every panel.
                    for key in ["xAxis", "yAxis"] {
                        let all = made[key].as_array().expect("axes");
                        assert!(all.iter().all(|axis| axis["max"] == all[0]["max"]), "{key}");
                    }
                    for (n, series) in made["series"]
                        .as_array()
                        .expect("series")
                        .iter()
                        .enumerate()
                    {
                        assert_eq!(series["yAxisIndex"], n);
                    }
                }
            }
        }
    }
}
