//! Axes: name with unit, scale, ticks.

use fathom_model::{AxisScale, Chart, ChartAxis};
use serde_json::{Value, json};

use crate::font::FAMILY;
use crate::theme::role;

/// The title with the unit: `Latency (ms)`.
pub(crate) fn named(axis: &ChartAxis) -> String {
    let unit = if is_sizes(axis) { "" } else { axis.unit.word.as_str() };
    match (axis.title.as_str(), unit) {
        (title, "") => title.to_owned(),
        ("", unit) => unit.to_owned(),
        (title, unit) => format!("{title} ({unit})"),
    }
}

/// Sizes by powers of two, each written with its own unit: 512 B, 4 KiB, 1 MiB.
fn is_sizes(axis: &ChartAxis) -> bool {
    axis.scale == AxisScale::Log(2) && axis.unit.word == "bytes"
}

/// Along the bottom.
pub(super) fn bottom(chart: &Chart) -> Value {
    let mut axis = common(&chart.x);
    axis["nameLocation"] = json!("middle");
    axis["nameGap"] = json!(32);
    axis["splitLine"] = json!({ "show": matches!(chart.x.scale, AxisScale::Log(_) | AxisScale::Nines), "lineStyle": { "color": role("grid") } });
    axis
}

/// Left and right.
pub(super) fn sides(chart: &Chart) -> Value {
    let mut sides = Vec::new();
    for (place, side) in chart.y.iter().enumerate() {
        let mut axis = common(side);
        // The name is a title of its own: beside the axis it would hang over the edge.
        axis["name"] = json!("");
        axis["position"] = json!(if place == 0 { "left" } else { "right" });
        axis["splitLine"] = json!({ "show": place == 0, "lineStyle": { "color": role("grid") } });
        axis["axisLine"]["show"] = json!(false);
        axis["axisTick"] = json!({ "show": false });
        sides.push(axis);
    }
    json!(sides)
}

fn common(axis: &ChartAxis) -> Value {
    let mut made = json!({
        "name": named(axis),
        "nameTextStyle": { "color": role("muted"), "fontSize": 12.5, "fontFamily": FAMILY },
        "axisLabel": { "color": role("muted"), "fontSize": 12, "fontFamily": FAMILY, "hideOverlap": true },
        "axisLine": { "show": true, "lineStyle": { "color": role("axis") } },
        "minorSplitLine": { "show": false },
    });
    match &axis.scale {
        AxisScale::Linear => made["type"] = json!("value"),
        AxisScale::Close => {
            made["type"] = json!("value");
            made["scale"] = json!(true);
        }
        AxisScale::Log(base) => {
            made["type"] = json!("log");
            made["logBase"] = json!(base);
            made["interval"] = json!(1);
        }
        AxisScale::Names(names) => {
            made["type"] = json!("category");
            made["data"] = json!(names);
            made["axisTick"] = json!({ "show": false });
            made["axisLabel"]["interval"] = if names.len() <= 24 { json!(0) } else { json!("auto") };
            let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
            if longest > 14 || longest * names.len() > 110 {
                made["axisLabel"]["width"] = json!((820 / names.len().max(1)).max(40));
                made["axisLabel"]["overflow"] = json!("break");
            }
        }
        AxisScale::Nines => {
            made["type"] = json!("value");
            made["interval"] = json!(1);
        }
    }
    match axis.scale {
        AxisScale::Nines => made["axisLabel"]["formatter"] = json!({ "$fn": "nines" }),
        AxisScale::Names(_) => {}
        _ if is_sizes(axis) => made["axisLabel"]["formatter"] = json!({ "$fn": "binary" }),
        _ => made["axisLabel"]["formatter"] = json!({ "$fn": "number" }),
    }
    // The end of a run is where it is: only a round one has a label.
    if let (AxisScale::Linear, Some(to)) = (&axis.scale, axis.to) {
        let shown = to / axis.unit.divide;
        let step = 10f64.powf(shown.abs().max(1e-300).log10().floor()) / 2.0;
        made["axisLabel"]["showMaxLabel"] = json!((shown / step).fract() == 0.0);
    }
    for (key, limit) in [("min", axis.from), ("max", axis.to)] {
        if let Some(limit) = limit.filter(|limit| limit.is_finite()) {
            made[key] = json!(limit / axis.unit.divide);
        }
    }
    made
}
