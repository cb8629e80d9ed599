//! Lines, bars and points.

use fathom_model::{AxisScale, Chart, ChartAxis, ChartBody, ChartSeries, SeriesShape};
use serde_json::{Value, json};

use super::layout::{Layout, STRIP};
use super::{axis, mark};
use crate::theme::{palette, role};

/// Narrower bars, in pixels, have no value label if there are several series.
const NARROW: f32 = 36.0;
/// Maximum number of bars that have value labels.
const LABELLED: usize = 40;

/// A symbol for each colour.
const SYMBOLS: [&str; 5] = ["circle", "rect", "triangle", "diamond", "roundRect"];
/// Dashes for lines with too many points for symbols; the first is solid.
const DASHES: [Option<&[u32]>; 8] = [
    None,
    Some(&[8, 2]),
    Some(&[3, 2]),
    Some(&[9, 2, 2, 2]),
    Some(&[14, 3]),
    Some(&[1, 2]),
    Some(&[9, 2, 2, 2, 2, 2]),
    Some(&[5, 5]),
];

pub(super) fn draw(option: &mut Value, chart: &Chart, all: &[ChartSeries], layout: &Layout) {
    let mut names: Vec<String> = all.iter().map(|series| series.name.clone()).collect();
    names.dedup();
    option["legend"] = layout.legend_of(&names);
    option["grid"] = json!([layout.grid(chart)]);
    option["xAxis"] = json!([axis::bottom(chart, layout.wide)]);
    option["yAxis"] = axis::sides(chart);
    option["tooltip"] = tooltip(chart, all);
    let mut drawn: Vec<Value> = Vec::new();
    let bars: Vec<&ChartSeries> = all
        .iter()
        .filter(|series| series.shape == SeriesShape::Bars)
        .collect();
    let count = bars.iter().map(|series| series.points.len()).sum::<usize>();
    // Value labels side by side need space, most of all above an interval, whose label is at its upper end.
    let narrow = bars.len() > 1 && layout.wide / (count.max(1) as f32) < NARROW;
    let labelled = count <= LABELLED && !narrow;
    for series in all {
        drawn.push(one(chart, series, labelled));
        if !series.intervals.is_empty() {
            let place = bars.iter().position(|bar| std::ptr::eq(*bar, series));
            drawn.push(whiskers(
                chart,
                series,
                place.map(|place| (place + 1, bars.len())),
                labelled,
            ));
        }
    }
    if all.iter().all(|series| series.points.is_empty()) {
        option["graphic"] = json!([{ "type": "text", "left": "center", "top": "middle", "style": { "text": "no data: these results lack the metric", "fill": role("muted"), "fontSize": 14 } }]);
    }
    mark::add(&mut drawn, chart);
    option["series"] = json!(drawn);
    if layout.strip {
        mark::strip(option, chart, layout.bottom - STRIP - 50.0);
    }
    if !layout.is_image && !matches!(chart.x.scale, AxisScale::Names(_)) {
        let axes: &[u32] = if layout.strip { &[0, 1] } else { &[0] };
        option["dataZoom"] =
            json!([{ "type": "inside", "xAxisIndex": axes, "filterMode": "none" }]);
    }
}

/// The tooltip shows all values at an x position; in a scatter plot, the value of the point.
fn tooltip(chart: &Chart, all: &[ChartSeries]) -> Value {
    let apart = all.iter().any(|series| series.shape == SeriesShape::Dots);
    let pointer = if matches!(chart.x.scale, AxisScale::Names(_)) {
        "shadow"
    } else {
        "line"
    };
    json!({
        "trigger": if apart { "item" } else { "axis" }, "confine": true, "axisPointer": { "type": pointer, "label": { "show": false } },
        "backgroundColor": role("background"), "borderColor": role("axis"), "textStyle": { "color": role("text"), "fontSize": 12 },
    })
}

fn one(chart: &Chart, series: &ChartSeries, labelled: bool) -> Value {
    let side = side(chart, series);
    let colour = palette(series.colour);
    let mut option = json!({
        "name": series.name, "yAxisIndex": series.axis.min(chart.y.len().saturating_sub(1)),
        "data": data(chart, series), "itemStyle": { "color": colour }, "color": colour,
        "tooltip": { "valueFormatter": { "$fn": "unit", "with": side.unit.symbol } },
        "emphasis": { "focus": "series" },
    });
    let line = |width: f64| json!({ "width": width, "color": colour, "type": if series.dashed { json!([5, 4]) } else { json!("solid") } });
    let alone = lines_on_axis(chart, series.axis) <= 2;
    match series.shape {
        SeriesShape::Bars => {
            option["type"] = json!("bar");
            option["barMaxWidth"] = json!(72);
            option["barGap"] = json!("12%");
            option["barCategoryGap"] = json!("20%");
            option["itemStyle"]["borderRadius"] = json!([2, 2, 0, 0]);
            if series.dashed {
                option["itemStyle"]["opacity"] = json!(0.55);
            }
            if labelled && series.intervals.is_empty() {
                option["label"] = value_label(&role("text"));
                option["labelLayout"] = json!({ "hideOverlap": true });
            }
        }
        SeriesShape::Dots => {
            option["type"] = json!("scatter");
            option["symbolSize"] = json!(8);
            option["z"] = json!(4);
        }
        SeriesShape::Line => {
            option["type"] = json!("line");
            option["symbol"] = json!(symbol(series));
            option["symbolSize"] = json!(7);
            option["lineStyle"] = line(2.2);
            option["z"] = json!(4);
            // ECharts omits symbols of close points by default.
            option["showAllSymbol"] = json!(true);
            if series.axis == 1 && labelled && alone {
                option["label"] = value_label(&colour);
                option["labelLayout"] = json!({ "hideOverlap": true });
            }
        }
        SeriesShape::Thin | SeriesShape::Steps => {
            option["type"] = json!("line");
            option["showSymbol"] = json!(series.points.len() == 1);
            option["lineStyle"] = line(1.4);
            // In greyscale only the dashes distinguish the lines.
            if !series.dashed {
                option["lineStyle"]["type"] = DASHES[series.colour % DASHES.len()]
                    .map_or(json!("solid"), |dashes| json!(dashes));
            }
            if series.shape == SeriesShape::Steps {
                option["step"] = json!("end");
            }
        }
    }
    if !series.labels.is_empty() {
        option["label"] = json!({ "show": true, "position": "right", "fontSize": 11, "color": role("muted"), "formatter": { "$fn": "word" } });
        option["labelLayout"] = json!({ "hideOverlap": true });
    }
    option
}

/// Number of lines on an axis: with more than two, their value labels would overlap.
fn lines_on_axis(chart: &Chart, axis: usize) -> usize {
    let ChartBody::Series(all) = &chart.body else {
        return 0;
    };
    all.iter()
        .filter(|series| series.axis == axis && series.shape == SeriesShape::Line)
        .count()
}

/// A symbol for each colour, so that lines are distinguishable without colours; hollow if dashed.
fn symbol(series: &ChartSeries) -> String {
    let kind = SYMBOLS[series.colour % SYMBOLS.len()];
    if !series.dashed {
        return kind.to_owned();
    }
    let (first, rest) = kind.split_at(1);
    format!("empty{}{rest}", first.to_ascii_uppercase())
}

/// The value above its bar or point, on the background colour because a line may cross it.
fn value_label(colour: &Value) -> Value {
    json!({ "show": true, "position": "top", "fontSize": 11, "color": colour, "formatter": { "$fn": "label", "with": 1 },
        "backgroundColor": role("background"), "padding": [0, 2], "borderRadius": 2 })
}

/// Pairs in the units of the axes. Values that a logarithmic axis cannot show become null.
fn data(chart: &Chart, series: &ChartSeries) -> Value {
    let pairs = series.points.iter().enumerate().map(|(place, point)| {
        let pair = json!([
            number(point.0, &chart.x),
            number(point.1, side(chart, series))
        ]);
        match series.labels.get(place) {
            Some(words) => json!({ "value": pair, "words": words }),
            None => pair,
        }
    });
    pairs.collect()
}

fn side<'a>(chart: &'a Chart, series: &ChartSeries) -> &'a ChartAxis {
    chart
        .y
        .get(series.axis)
        .or(chart.y.first())
        .unwrap_or(&chart.x)
}

/// A value in the unit of the axis, rounded to what is visible.
pub(super) fn number(value: f64, axis: &ChartAxis) -> Value {
    let value = value / axis.unit.divide;
    if !value.is_finite() || (matches!(axis.scale, AxisScale::Log(_)) && value <= 0.0) {
        return Value::Null;
    }
    rounded(value)
}

/// Six significant figures: with all digits of a double the page would be twice as large.
pub(crate) fn rounded(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return json!(value as i64);
    }
    let short: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    json!(short)
}

/// Intervals, drawn as whiskers on the bar or point.
fn whiskers(
    chart: &Chart,
    series: &ChartSeries,
    bar: Option<(usize, usize)>,
    labelled: bool,
) -> Value {
    let side = side(chart, series);
    let (place, bars) = bar.unwrap_or((0, 1));
    let data = series
        .points
        .iter()
        .zip(&series.intervals)
        .map(|(point, interval)| {
            json!([
                number(point.0, &chart.x),
                number(interval.0, side),
                number(interval.1, side),
                place,
                bars,
                if labelled && place > 0 {
                    number(point.1, side)
                } else {
                    Value::Null
                }
            ])
        });
    json!({
        "type": "custom", "name": series.name, "yAxisIndex": series.axis, "renderItem": { "$fn": "whisker" },
        "data": data.collect::<Value>(), "itemStyle": { "color": if bar.is_some() { role("text") } else { palette(series.colour) } }, "z": 6, "silent": true,
        "tooltip": { "show": false }, "encode": { "x": 0, "y": [1, 2] },
    })
}
