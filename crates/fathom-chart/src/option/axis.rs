//! Axes: name with unit, scale, ticks.

use fathom_model::{AxisScale, Chart, ChartAxis};
use serde_json::{Value, json};

use super::series::rounded;
use crate::axis_name::{is_sizes, named};
use crate::font::{FAMILY, width};
use crate::theme::role;

/// Font size of axis labels.
const LABEL: f32 = 12.0;
/// Rotation of long names in degrees, and their maximum length: the first must not extend past the left edge.
const ROTATED: f32 = 60.0;
const ROTATED_MAX: f32 = 150.0;
/// Narrower plots have only this many pixels on their left.
const PHONE: f32 = 500.0;
const LEFT: f32 = 40.0;
/// Font size of rotated labels, and their minimum distance.
const ROTATED_LABEL: f32 = 11.0;
const ROTATED_DISTANCE: f32 = 15.0;

/// [`named`], with `log` for a logarithmic axis.
pub(super) fn titled(axis: &ChartAxis) -> String {
    let name = named(axis);
    match (&axis.scale, name.strip_suffix(')')) {
        (AxisScale::Log(10), Some(open)) => format!("{open}, log)"),
        (AxisScale::Log(10), None) if !name.is_empty() => format!("{name} (log)"),
        _ => name,
    }
}

/// The x axis.
pub(super) fn bottom(chart: &Chart, wide: f32) -> Value {
    let mut axis = common(&chart.x);
    let plot = wide - 60.0 * chart.y.len() as f32;
    axis["name"] = json!(titled(&chart.x));
    axis["nameLocation"] = json!("middle");
    axis["nameGap"] = json!(32);
    match &chart.x.scale {
        AxisScale::Names(names) => fit_names(&mut axis, names, plot),
        AxisScale::Log(2) => powers_of_two(&mut axis, &chart.x, plot),
        _ => {}
    }
    axis["splitLine"] = json!({ "show": matches!(chart.x.scale, AxisScale::Log(_) | AxisScale::Nines), "lineStyle": { "color": role("grid") } });
    axis
}

/// Names wider than their column are broken between words if every word fits, otherwise rotated.
fn fit_names(axis: &mut Value, names: &[String], plot: f32) {
    let (place, longest) = (
        plot / names.len().max(1) as f32 - 3.0,
        widest(names.iter().map(String::as_str)),
    );
    if longest <= place {
        return;
    }
    let word = widest(names.iter().flat_map(|name| name.split(' ')));
    let label = &mut axis["axisLabel"];
    if word <= place && longest <= 5.0 * place && place > 50.0 {
        label["width"] = json!(place.floor());
        label["overflow"] = json!("break");
    } else {
        let long = longest.min(ROTATED_MAX);
        // On a phone the first of them could extend past the left edge.
        let overflows = plot < PHONE && long * f32::to_radians(ROTATED).cos() - place / 2.0 > LEFT;
        let degrees = if overflows { 90.0 } else { ROTATED };
        label["rotate"] = json!(degrees);
        label["fontSize"] = json!(ROTATED_LABEL);
        if place >= ROTATED_DISTANCE {
            label["interval"] = json!(0);
        }
        label["width"] = json!(ROTATED_MAX);
        label["overflow"] = json!("truncate");
        let high = long * f32::to_radians(degrees).sin();
        axis["nameGap"] = json!((high + 24.0).round());
    }
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f32 {
    texts
        .map(|text| width(text, LABEL, false))
        .fold(0.0, f32::max)
}

/// Labels at every power of two, or at every other, or at every fourth; ECharts places them at every tenth.
fn powers_of_two(option: &mut Value, axis: &ChartAxis, plot: f32) {
    let (Some(from), Some(to)) = (axis.from, axis.to) else {
        return;
    };
    let power = |value: f64| (value / axis.unit.divide).log2().round() as i32;
    let (low, high) = (power(from), power(to));
    let most = (plot / 52.0).max(2.0) as i32;
    let step = (1..=16)
        .find(|step| (high - low) / step < most)
        .unwrap_or(16);
    let places: Vec<Value> = (low..=high)
        .step_by(step as usize)
        .map(|power| rounded(f64::from(power).exp2()))
        .collect();
    option["axisTick"]["customValues"] = json!(places);
    option["axisLabel"]["customValues"] = json!(places);
}

/// The y axes, left and right.
pub(super) fn sides(chart: &Chart) -> Value {
    let mut sides = Vec::new();
    for (place, side) in chart.y.iter().enumerate() {
        let mut axis = common(side);
        // The name is a separate title: beside the axis it would extend past the edge.
        axis["name"] = json!("");
        axis["position"] = json!(if place == 0 { "left" } else { "right" });
        // Space for the value label above the highest point.
        if side.scale == AxisScale::Linear && side.to.is_none() {
            axis["boundaryGap"] = json!([0, "7%"]);
        }
        axis["splitLine"] = json!({ "show": place == 0, "lineStyle": { "color": role("grid") } });
        axis["axisLine"]["show"] = json!(false);
        axis["axisTick"] = json!({ "show": false });
        sides.push(axis);
    }
    json!(sides)
}

fn common(axis: &ChartAxis) -> Value {
    let mut option = json!({
        "name": named(axis),
        "nameTextStyle": { "color": role("muted"), "fontSize": 12.5, "fontFamily": FAMILY },
        "axisLabel": { "color": role("muted"), "fontSize": 12, "fontFamily": FAMILY, "hideOverlap": true },
        "axisLine": { "show": true, "lineStyle": { "color": role("axis") } },
        "minorSplitLine": { "show": false },
    });
    match &axis.scale {
        AxisScale::Linear => option["type"] = json!("value"),
        AxisScale::Close => {
            option["type"] = json!("value");
            option["scale"] = json!(true);
        }
        AxisScale::Log(base) => {
            option["type"] = json!("log");
            option["logBase"] = json!(base);
            option["interval"] = json!(1);
        }
        AxisScale::Names(names) => {
            option["type"] = json!("category");
            option["data"] = json!(names);
            option["axisTick"] = json!({ "show": false });
            option["axisLabel"]["interval"] = if names.len() <= 24 {
                json!(0)
            } else {
                json!("auto")
            };
        }
        AxisScale::Nines => {
            option["type"] = json!("value");
            option["interval"] = json!(1);
        }
    }
    match axis.scale {
        AxisScale::Nines => option["axisLabel"]["formatter"] = json!({ "$fn": "nines" }),
        AxisScale::Names(_) => {}
        _ if is_sizes(axis) => option["axisLabel"]["formatter"] = json!({ "$fn": "binary" }),
        _ => option["axisLabel"]["formatter"] = json!({ "$fn": "number" }),
    }
    // The end of a run has a label only if it is a round number.
    if let (AxisScale::Linear, Some(to)) = (&axis.scale, axis.to) {
        let shown = to / axis.unit.divide;
        let step = 10f64.powf(shown.abs().max(1e-300).log10().floor()) / 2.0;
        option["axisLabel"]["showMaxLabel"] = json!((shown / step).fract() == 0.0);
    }
    // An axis limit between powers has no label if there are enough powers.
    let wide = axis
        .from
        .zip(axis.to)
        .is_some_and(|(from, to)| from > 0.0 && to / from >= 1000.0);
    let odd = |limit: Option<f64>| {
        limit.is_some_and(|limit| ((limit / axis.unit.divide).log10().fract()).abs() > 1e-6)
    };
    if wide && matches!(axis.scale, AxisScale::Log(10)) {
        option["axisLabel"]["showMinLabel"] = json!(!odd(axis.from));
        option["axisLabel"]["showMaxLabel"] = json!(!odd(axis.to));
    }
    for (key, limit) in [("min", axis.from), ("max", axis.to)] {
        if let Some(limit) = limit.filter(|limit| limit.is_finite()) {
            option[key] = json!(limit / axis.unit.divide);
        }
    }
    option
}
