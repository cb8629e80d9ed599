//! Labelled lines and points, and the strip of events under a time axis.

use fathom_model::{AxisScale, Chart, ChartBody, MarkPosition};
use serde_json::{Value, json};

use super::layout::STRIP;
use super::series::number;
use crate::theme::role;

/// Labels of points below this share of the height are above their points.
const LOW: f64 = 0.4;
/// The same in a panel of several, which is lower.
const LOW_IN_PANEL: f64 = 0.6;

/// ECharts attaches marks to a series: an empty one for each y axis of each panel.
pub(super) fn add(drawn: &mut Vec<Value>, chart: &Chart) {
    let axes = chart.y.len().max(1);
    for cell in 0..chart.panels.len().max(1) * axes {
        let (panel, axis) = (cell / axes, cell % axes);
        let (mut lines, mut points) = (Vec::new(), Vec::new());
        let here = |mark: &&fathom_model::ChartMark| mark.panel.is_none_or(|own| own == panel);
        for mark in chart.marks.iter().filter(here) {
            match mark.at {
                MarkPosition::Across(on, value) if on == axis => {
                    lines.push(json!({ "yAxis": number(value, &chart.y[axis]), "name": mark.label, "label": { "position": "insideStartTop" } }));
                }
                MarkPosition::Up(place) if axis == 0 => {
                    lines.push(json!({ "xAxis": number(place, &chart.x), "name": mark.label, "label": { "position": "end" } }));
                }
                MarkPosition::Point(on, x, y) if on == axis => {
                    let place = label_place(chart, (panel, axis), (x, y), &mark.label);
                    points.push(json!({ "coord": [number(x, &chart.x), number(y, &chart.y[axis])], "name": mark.label,
                        "label": { "align": place.align, "position": place.position, "offset": [place.aside, 0] } }));
                }
                _ => {}
            }
        }
        if lines.is_empty() && points.is_empty() {
            continue;
        }
        let back = json!({ "formatter": "{b}", "color": role("mark"), "fontSize": 12, "backgroundColor": role("background"), "padding": [0, 2] });
        let mut below = back.clone();
        below["position"] = json!("bottom");
        below["distance"] = json!(8);
        drawn.push(json!({
            "type": "line", "name": "", "xAxisIndex": cell, "yAxisIndex": cell, "data": [], "silent": true, "z": 8,
            "markLine": { "symbol": "none", "silent": true, "data": lines, "lineStyle": { "color": role("mark"), "type": "dashed", "width": 1.4 },
                "label": back },
            "markPoint": { "symbol": "circle", "symbolSize": 15, "silent": true, "data": points,
                "itemStyle": { "color": "transparent", "borderColor": role("mark"), "borderWidth": 2.2 },
                "label": below },
        }));
    }
}

/// Events as shaded spans behind the curves of every panel.
pub(super) fn shade(drawn: &mut Vec<Value>, chart: &Chart) {
    if chart.events.is_empty() {
        return;
    }
    let axes = chart.y.len().max(1);
    for cell in 0..chart.panels.len().max(1) * axes {
        let here = |one: &&fathom_model::ChartEvent| one.panel.is_none_or(|own| own == cell / axes);
        let data: Vec<Value> = chart
            .events
            .iter()
            .filter(here)
            .map(|one| {
                json!({ "value": [number(one.from, &chart.x), number(one.to, &chart.x), one.severity.min(2)], "name": one.label })
            })
            .collect();
        drawn.push(json!({
            "type": "custom", "name": "findings", "xAxisIndex": cell, "yAxisIndex": cell, "z": 0,
            "renderItem": { "$fn": "span", "with": [role("strip0"), role("strip1"), role("strip2")] },
            "data": data, "encode": { "x": [0, 1] }, "tooltip": { "trigger": "item", "formatter": "{b}" },
        }));
    }
}

/// How high a value is in its panel, 0 to 1.
fn height(chart: &Chart, axis: usize, value: f64) -> f64 {
    let ChartBody::Series(all) = &chart.body else {
        return 1.0;
    };
    let side = super::panels::shared(chart, all, axis);
    let (Some(from), Some(to)) = (side.from, side.to) else {
        return 1.0;
    };
    match side.scale {
        AxisScale::Log(_) => (value / from).ln() / (to / from).ln(),
        _ => (value - from) / (to - from),
    }
}

/// Where the label of a point is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LabelPlace {
    /// `top` or `bottom`.
    position: &'static str,
    /// `center`, or the side of the label that is at the point: `right` is a label on the left.
    align: &'static str,
    /// Pixels to the right.
    aside: f64,
}

/// Sizes in pixels: a usual panel (of several in a row, its share), a letter, and how far a label is from its point.
const FIELD: (f64, f64) = (720.0, 260.0);
const LETTER: f64 = 7.0;
const ASIDE: f64 = 10.0;
const AWAY: (f64, f64) = (12.0, 32.0);

/// A place of the label where no curve runs through it or along its edge; otherwise the usual one.
fn label_place(
    chart: &Chart,
    (panel, axis): (usize, usize),
    at: (f64, f64),
    label: &str,
) -> LabelPlace {
    // Near the right edge there is space on the left only.
    let near_edge = at.0 > 0.75 * furthest(chart);
    // Below a point near the x axis are the labels of that axis.
    let low = height(chart, axis, at.1)
        < if chart.panels.len() > 1 {
            LOW_IN_PANEL
        } else {
            LOW
        };
    let vertical = if low {
        ["top", "bottom"]
    } else {
        ["bottom", "top"]
    };
    let sides: &[(&'static str, f64)] = if near_edge {
        &[("right", -ASIDE)]
    } else {
        &[("center", 0.0), ("right", -ASIDE), ("left", ASIDE)]
    };
    let mut places = vertical.iter().flat_map(|&position| {
        sides.iter().map(move |&(align, aside)| LabelPlace {
            position,
            align,
            aside,
        })
    });
    let usual = places.clone().next();
    let curves = curves(chart, panel, axis, at);
    let is_free = |place: &LabelPlace| {
        let width = LETTER * label.chars().count() as f64;
        let left = match place.align {
            "right" => place.aside - width,
            "left" => place.aside,
            _ => -0.5 * width,
        };
        let (bottom, top) = match place.position {
            "top" => AWAY,
            _ => (-AWAY.1, -AWAY.0),
        };
        !curves
            .iter()
            .any(|(a, b)| crosses(*a, *b, (left - 2.0, left + width + 2.0), (bottom, top)))
    };
    places.find(is_free).or(usual).unwrap_or(LabelPlace {
        position: "top",
        align: "center",
        aside: 0.0,
    })
}

/// The parts of the lines of a panel, in pixels from the point `at`, upwards.
fn curves(
    chart: &Chart,
    panel: usize,
    axis: usize,
    at: (f64, f64),
) -> Vec<((f64, f64), (f64, f64))> {
    let ChartBody::Series(all) = &chart.body else {
        return Vec::new();
    };
    let columns = chart.panels.len().clamp(1, 3) as f64;
    let end = chart
        .x
        .to
        .unwrap_or_else(|| furthest(chart))
        .max(f64::MIN_POSITIVE);
    let across = |x: f64| match (&chart.x.scale, chart.x.from) {
        (AxisScale::Log(_), Some(from)) => (x / from).ln() / (end / from).ln(),
        _ => x / end,
    };
    let pixels = |point: &(f64, f64)| {
        (
            (across(point.0) - across(at.0)) * FIELD.0 / columns,
            (height(chart, axis, point.1) - height(chart, axis, at.1)) * FIELD.1 / columns,
        )
    };
    all.iter()
        .filter(|series| series.panel == panel && series.axis == axis)
        .flat_map(|series| series.points.windows(2))
        .map(|two| (pixels(&two[0]), pixels(&two[1])))
        .collect()
}

/// Whether the line from `a` to `b` has a point with x and y in these ranges.
fn crosses(a: (f64, f64), b: (f64, f64), x: (f64, f64), y: (f64, f64)) -> bool {
    // The part of the line, 0 to 1, that is within both ranges (Liang and Barsky).
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for (start, end, (low, high)) in [(a.0, b.0, x), (a.1, b.1, y)] {
        let length = end - start;
        if length == 0.0 {
            if start < low || start > high {
                return false;
            }
            continue;
        }
        let (first, second) = ((low - start) / length, (high - start) / length);
        from = from.max(first.min(second));
        to = to.min(first.max(second));
    }
    from <= to
}

/// The largest x value.
fn furthest(chart: &Chart) -> f64 {
    let ChartBody::Series(all) = &chart.body else {
        return f64::INFINITY;
    };
    all.iter()
        .flat_map(|series| &series.points)
        .map(|point| point.0)
        .fold(0.0, f64::max)
}

/// A second plot of the same width under the first, with a block for each event.
pub(super) fn strip(option: &mut Value, chart: &Chart, bottom: f32) {
    let right = match &chart.body {
        ChartBody::Grid(_) => 96,
        ChartBody::Series(_) => 28,
    };
    let mut under = option["grid"][0].clone();
    under["bottom"] = json!(bottom);
    under["height"] = json!(STRIP);
    under["containLabel"] = json!(false);
    if let Some(under) = under.as_object_mut() {
        under.remove("top");
    }
    option["grid"][0]["containLabel"] = json!(false);
    for grid in [&mut option["grid"][0], &mut under] {
        grid["left"] = json!(76);
        grid["right"] = json!(right);
    }
    option["grid"].as_array_mut().expect("an array").push(under);
    let mut along = option["xAxis"][0].clone();
    for (key, value) in [
        ("gridIndex", json!(1)),
        ("show", json!(false)),
        ("name", json!("")),
    ] {
        along[key] = value;
    }
    option["xAxis"]
        .as_array_mut()
        .expect("an array")
        .push(along);
    let axes = option["yAxis"].as_array_mut().expect("an array");
    let second = axes.len();
    axes.push(json!({ "gridIndex": 1, "type": "value", "show": false, "min": 0, "max": 1 }));
    let data = chart.events.iter().map(|one| {
        json!({ "value": [number(one.from, &chart.x), number(one.to, &chart.x), one.severity.min(2)], "name": one.label })
    });
    let drawn = json!({
        "type": "custom", "name": "findings", "xAxisIndex": 1, "yAxisIndex": second,
        "renderItem": { "$fn": "strip", "with": [role("strip0"), role("strip1"), role("strip2")] },
        "data": data.collect::<Value>(), "encode": { "x": [0, 1] }, "tooltip": { "trigger": "item", "formatter": "{b}" },
    });
    option["series"]
        .as_array_mut()
        .expect("an array")
        .push(drawn);
}

#[cfg(test)]
mod tests {
    use fathom_model::{ChartAxis, ChartMark, ChartSeries};

    use super::*;

    fn place(points: &[(f64, f64)], at: (f64, f64)) -> LabelPlace {
        let chart = Chart {
            y: vec![ChartAxis {
                from: Some(0.0),
                to: Some(100.0),
                ..ChartAxis::default()
            }],
            marks: vec![ChartMark {
                at: MarkPosition::Point(0, at.0, at.1),
                label: "knee".into(),
                panel: Some(0),
            }],
            body: ChartBody::Series(vec![ChartSeries {
                points: points.to_vec(),
                ..ChartSeries::default()
            }]),
            ..Chart::default()
        };
        label_place(&chart, (0, 0), at, "knee")
    }

    /// Regression 0892: the word "knee" touched the curve that goes straight up there.
    #[test]
    fn regression_0892_no_curve_runs_through_the_label_of_its_point() {
        // Flat, then straight up at the right edge: the label is to the left of the line, with a gap.
        let up = place(&[(0.0, 20.0), (100.0, 20.0), (100.0, 90.0)], (100.0, 20.0));
        assert_eq!((up.position, up.align), ("top", "right"));
        assert!(up.aside <= -8.0, "{up:?}");
        // In the middle, a straight line up would go through a label in the centre above.
        let middle = place(
            &[(0.0, 20.0), (50.0, 20.0), (50.0, 90.0), (90.0, 95.0)],
            (50.0, 20.0),
        );
        assert_ne!((middle.position, middle.align), ("top", "center"));
        // Nothing in the way.
        let plain = place(&[(0.0, 60.0), (50.0, 60.0), (100.0, 60.0)], (50.0, 60.0));
        assert_eq!(
            (plain.position, plain.align, plain.aside),
            ("bottom", "center", 0.0)
        );
        // A curve that falls to the right: below on the right is in its way, below on the left is not.
        let falls = place(
            &[(0.0, 95.0), (20.0, 60.0), (21.0, 0.0), (30.0, 0.0)],
            (20.0, 60.0),
        );
        assert_eq!((falls.position, falls.align), ("bottom", "right"));
    }

    #[test]
    fn a_line_crosses_a_field_or_not() {
        let field = ((0.0, 10.0), (0.0, 10.0));
        for (a, b, expected) in [
            ((-5.0, 5.0), (15.0, 5.0), true),
            ((-5.0, 11.0), (15.0, 11.0), false),
            ((5.0, -5.0), (5.0, 15.0), true),
            ((2.0, 2.0), (3.0, 3.0), true),
            ((-5.0, 5.0), (5.0, 20.0), false),
            ((20.0, 20.0), (30.0, 30.0), false),
        ] {
            assert_eq!(crosses(a, b, field.0, field.1), expected, "{a:?} {b:?}");
        }
    }
}
