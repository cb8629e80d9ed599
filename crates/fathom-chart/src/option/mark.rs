//! Labelled lines and points, and the strip of events under a time axis.

use fathom_model::{AxisScale, Chart, ChartBody, MarkPosition};
use serde_json::{Value, json};

use super::layout::STRIP;
use super::series::number;
use crate::theme::role;

/// Labels of points below this share of the height are above their points.
const LOW: f64 = 0.4;

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
                    // Near the right edge there is space on the left only.
                    let near_edge = x > 0.75 * furthest(chart);
                    let align = if near_edge { "right" } else { "center" };
                    // Below a point near the x axis are the labels of that axis. A rising curve comes from
                    // below on the left.
                    let position =
                        if height(chart, axis, y) < LOW || near_edge && rises(chart, x, y) {
                            "top"
                        } else {
                            "bottom"
                        };
                    points.push(json!({ "coord": [number(x, &chart.x), number(y, &chart.y[axis])], "name": mark.label, "label": { "align": align, "position": position } }));
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

/// Whether the curve through this point comes from the lower left and goes to the upper right.
fn rises(chart: &Chart, x: f64, y: f64) -> bool {
    let ChartBody::Series(all) = &chart.body else {
        return false;
    };
    all.iter().any(|series| {
        let steps = series.points.windows(3);
        steps
            .filter(|step| step[1] == (x, y))
            .any(|step| step[0].0 < x && step[0].1 < y && step[2].0 > x && step[2].1 > y)
    })
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
