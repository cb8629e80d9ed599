//! Axes: name with unit, scale, ticks.

use fathom_model::{AxisScale, Chart, ChartAxis, ChartSeries};
use serde_json::{Value, json};

use super::series::rounded;
use crate::axis_name::{is_sizes, named};
use crate::font::{FAMILY, width, wrapped};
use crate::theme::role;

/// Font size of axis labels.
const LABEL: f32 = 12.0;
/// Height of a line of labels.
const LINE: f32 = 14.0;
/// Rotation of long names in degrees, and their maximum length: the first must not extend past the left edge.
const ROTATED: f32 = 60.0;
const ROTATED_MAX: f32 = 150.0;
/// Narrower plots have only this many pixels on their left.
const PHONE: f32 = 500.0;
const LEFT: f32 = 40.0;
/// Font size of rotated labels, and their minimum distance.
const ROTATED_LABEL: f32 = 11.0;
const ROTATED_DISTANCE: f32 = 15.0;

/// Fewest labels of a logarithmic axis, and the most.
const LOG_LABELS: std::ops::RangeInclusive<usize> = 3..=8;

/// The smallest and the largest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Range {
    /// Of finite values; from 0 to 1 if there is none.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Range {
        let kept = values.filter(|value| value.is_finite());
        let (low, high) = kept.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            Range {
                low: 0.0,
                high: 1.0,
            }
        } else {
            Range { low, high }
        }
    }

    /// Of the x axis of a chart.
    pub(super) fn of_x(chart: &Chart, all: &[ChartSeries]) -> Range {
        let points = all.iter().flat_map(|series| &series.points);
        let seen = Range::of(points.map(|point| point.0));
        Range {
            low: chart.x.from.unwrap_or(seen.low),
            high: chart.x.to.unwrap_or(seen.high),
        }
    }
}

/// The axis with limits around its values, so that several panels have the same: round numbers, or
/// 1, 2 or 5 times a power of ten on a logarithmic axis.
pub(super) fn limited(axis: &ChartAxis, range: Range) -> ChartAxis {
    let mut made = axis.clone();
    let unit = axis.unit.divide;
    let (low, high) = match axis.scale {
        AxisScale::Log(10) => {
            let (low, high) = log_ends(range.low / unit, range.high / unit);
            (Some(low), Some(high))
        }
        AxisScale::Linear => {
            let step = round_step(range.high.max(0.0) / unit - range.low.min(0.0) / unit);
            let low = (range.low.min(0.0) / unit / step).floor() * step;
            (
                Some(low),
                Some((range.high / unit / step).ceil().max(1.0) * step),
            )
        }
        AxisScale::Close => {
            let step = round_step((range.high - range.low) / unit);
            let low = (range.low / unit / step).floor() * step;
            let high = (range.high / unit / step).ceil() * step;
            (Some(low), Some(if high > low { high } else { low + step }))
        }
        _ => (None, None),
    };
    made.from = axis.from.or(low.map(|low| low * unit));
    made.to = axis.to.or(high.map(|high| high * unit));
    made
}

/// About a fifth of a span, rounded up to 1, 2, 2.5 or 5 times a power of ten.
fn round_step(span: f64) -> f64 {
    if !span.is_finite() || span <= 0.0 {
        return 1.0;
    }
    let part = span / 5.0;
    let power = 10f64.powf(part.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= part * 0.999)
        .unwrap_or(part)
}

/// 1, 2 and 5 times the powers of ten from at most `low` to at least `high`, at least three.
fn log_ends(low: f64, high: f64) -> (f64, f64) {
    let steps = [1.0, 2.0, 5.0];
    let at =
        |index: i64| steps[index.rem_euclid(3) as usize] * 10f64.powi(index.div_euclid(3) as i32);
    if !(low > 0.0 && high.is_finite()) {
        return (0.1, 10.0);
    }
    let near = |value: f64| (value.log10().floor() as i64) * 3;
    let mut first = (near(low)..near(low) + 4)
        .rev()
        .find(|index| at(*index) <= low * 1.000_001)
        .unwrap_or(near(low));
    let mut last = (near(high)..near(high) + 4)
        .find(|index| at(*index) >= high * 0.999_999)
        .unwrap_or(near(high) + 3);
    while last - first < 2 {
        last += 1;
        if last - first < 2 {
            first -= 1;
        }
    }
    (at(first), at(last))
}

/// Labelled values of a logarithmic axis in its unit: powers of ten, or also their double and their
/// fivefold, whichever are at least three.
pub(super) fn log_labels(from: f64, to: f64) -> Vec<f64> {
    if !(from > 0.0 && to > from && to.is_finite()) {
        return Vec::new();
    }
    let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let of = |steps: &[f64]| -> Vec<f64> {
        decades
            .clone()
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|value| *value >= from * 0.999_999 && *value <= to * 1.000_001)
            .collect()
    };
    let sets: [&[f64]; 4] = [
        &[1.0],
        &[1.0, 3.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    ];
    let mut labels = sets
        .into_iter()
        .map(of)
        .find(|labels| labels.len() >= *LOG_LABELS.start())
        .unwrap_or_else(|| vec![from, (from * to).sqrt(), to]);
    while labels.len() > *LOG_LABELS.end() {
        labels = labels.into_iter().step_by(2).collect();
    }
    labels
}

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
    let mut axis = match (&chart.body, &chart.x.scale) {
        (fathom_model::ChartBody::Series(all), AxisScale::Log(10)) => {
            common(&limited(&chart.x, Range::of_x(chart, all)))
        }
        _ => common(&chart.x),
    };
    let plot = wide - 60.0 * chart.y.len() as f32;
    axis["name"] = json!(titled(&chart.x));
    axis["nameLocation"] = json!("middle");
    axis["nameGap"] = json!(32);
    match &chart.x.scale {
        AxisScale::Names(names) => fit_names(&mut axis, names, plot),
        AxisScale::Log(2) => powers_of_two(&mut axis, &chart.x, plot),
        _ => {}
    }
    if !matches!(chart.x.scale, AxisScale::Names(_)) {
        // Labels that would touch are left out.
        axis["axisLabel"]["minMargin"] = json!(8);
    }
    axis["splitLine"]["show"] = json!(matches!(
        chart.x.scale,
        AxisScale::Log(_) | AxisScale::Nines
    ));
    axis["splitLine"]["lineStyle"] = json!({ "color": role("grid") });
    axis
}

/// Names wider than their column are broken between words if every word fits, otherwise rotated.
fn fit_names(axis: &mut Value, names: &[String], plot: f32) {
    let (place, longest) = (
        plot / names.len().max(1) as f32 - NAME_GAP,
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

/// Whether the names below a plot of this width would be rotated.
pub(super) fn rotates(names: &[String], plot: f32) -> bool {
    let mut axis = json!({ "axisLabel": {} });
    fit_names(&mut axis, names, plot);
    axis["axisLabel"]["rotate"].is_number()
}

/// The axis of names on the left of lying bars, the first name at the top.
pub(super) fn names_on_the_left(chart: &Chart) -> Value {
    let mut axis = common(&chart.x);
    axis["name"] = json!("");
    axis["inverse"] = json!(true);
    axis["axisLabel"]["interval"] = json!(0);
    axis["axisLabel"]["hideOverlap"] = json!(false);
    axis["axisLabel"]["width"] = json!(LYING_NAME);
    axis["axisLabel"]["overflow"] = json!("break");
    axis["axisLabel"]["lineHeight"] = json!(LYING_LINE);
    axis
}

/// The axis of values below lying bars.
pub(super) fn values_below(chart: &Chart) -> Value {
    let mut axis = common(&chart.y[0]);
    axis["name"] = json!("");
    axis["splitLine"] = json!({ "show": true, "lineStyle": { "color": role("grid") } });
    axis["axisLine"]["show"] = json!(false);
    axis["axisTick"] = json!({ "show": false });
    // Labels that would touch are left out.
    axis["axisLabel"]["minMargin"] = json!(8);
    axis
}

/// Height of the labels of names below a plot of this width.
pub(super) fn names_height(names: &[String], plot: f32) -> Option<f32> {
    let mut axis = json!({ "axisLabel": {} });
    fit_names(&mut axis, names, plot);
    if let Some(gap) = axis["nameGap"].as_f64() {
        return Some(gap as f32 - 8.0);
    }
    let room = axis["axisLabel"]["width"].as_f64()? as f32;
    let lines = names.iter().map(|name| wrapped(name, LABEL, room).len());
    Some(lines.max().unwrap_or(1) as f32 * LINE + 12.0)
}

/// Names that stand closer than a character is wide read as one, in pixels.
const NAME_GAP: f32 = 8.0;
/// Longer names on the left of lying bars are broken between words, in pixels.
const LYING_NAME: f32 = 180.0;
/// Height of a line of them.
const LYING_LINE: f32 = 14.0;

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
    for part in ["axisLabel", "axisTick", "splitLine"] {
        option[part]["customValues"] = json!(places);
    }
}

/// The y axes, left and right.
pub(super) fn sides(chart: &Chart) -> Value {
    let mut sides = Vec::new();
    for (place, side) in chart.y.iter().enumerate() {
        let mut axis = match (&chart.body, &side.scale) {
            (fathom_model::ChartBody::Series(all), AxisScale::Log(10)) => {
                common(&super::panels::shared(chart, all, place))
            }
            _ => common(side),
        };
        // The name is a separate title: beside the axis it would extend past the edge.
        axis["name"] = json!("");
        // Space for the value label above the highest point.
        if side.scale == AxisScale::Linear && side.to.is_none() {
            axis["boundaryGap"] = json!([0, "7%"]);
        }
        vertical(&mut axis);
        sides.push(axis);
    }
    json!(sides)
}

/// A y axis is its grid lines and labels.
fn vertical(axis: &mut Value) {
    axis["splitLine"]["show"] = json!(true);
    axis["splitLine"]["lineStyle"] = json!({ "color": role("grid") });
    axis["axisLine"]["show"] = json!(false);
    axis["axisTick"]["show"] = json!(false);
}

/// The x axis of one of several panels of this width.
pub(super) fn panel_bottom(chart: &Chart, all: &[ChartSeries], wide: f32, labelled: bool) -> Value {
    let mut shared = chart.clone();
    let range = Range::of_x(chart, all);
    shared.x = limited(&chart.x, range);
    shared.y.truncate(1);
    let mut axis = bottom(&shared, wide + 60.0);
    axis["name"] = json!("");
    axis["axisLabel"]["show"] = json!(labelled);
    axis["axisTick"]["show"] = json!(labelled && !matches!(chart.x.scale, AxisScale::Names(_)));
    axis
}

/// The y axis of one of several panels.
pub(super) fn panel_side(axis: &ChartAxis, labelled: bool) -> Value {
    let mut made = common(axis);
    made["name"] = json!("");
    made["position"] = json!("left");
    if let (AxisScale::Linear | AxisScale::Close, Some(from), Some(to)) =
        (&axis.scale, axis.from, axis.to)
    {
        made["interval"] = rounded(round_step((to - from) / axis.unit.divide));
        made["axisLabel"]["showMaxLabel"] = Value::Null;
    }
    vertical(&mut made);
    made["axisLabel"]["show"] = json!(labelled);
    made
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
    // ECharts labels only powers of ten, of which a short range may have none.
    if let (AxisScale::Log(10), Some(from), Some(to)) = (&axis.scale, axis.from, axis.to) {
        let labels: Vec<Value> = log_labels(from / axis.unit.divide, to / axis.unit.divide)
            .into_iter()
            .map(rounded)
            .collect();
        for part in ["axisLabel", "axisTick", "splitLine"] {
            option[part]["customValues"] = json!(labels);
        }
    }
    for (key, limit) in [("min", axis.from), ("max", axis.to)] {
        if let Some(limit) = limit.filter(|limit| limit.is_finite()) {
            option[key] = json!(limit / axis.unit.divide);
        }
    }
    option
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0661: an axis from 0.2 to 0.9 ms had no labelled line, because only powers of ten had
    /// one.
    #[test]
    fn regression_0661_log_axes_have_three_to_eight_labelled_lines() {
        for low in [1e-3, 0.2, 0.9, 1.0, 1.1, 3.0, 77.0, 5e5] {
            for times in [1.0, 1.01, 1.5, 2.0, 5.0, 30.0, 1e3, 1e9, 1e14] {
                let range = Range {
                    low,
                    high: low * times,
                };
                let axis = limited(
                    &ChartAxis {
                        scale: AxisScale::Log(10),
                        ..ChartAxis::default()
                    },
                    range,
                );
                let (from, to) = (axis.from.expect("a start"), axis.to.expect("an end"));
                assert!(
                    from <= low * 1.0001 && to >= range.high * 0.9999,
                    "{range:?}"
                );
                let labels = log_labels(from, to);
                assert!((3..=8).contains(&labels.len()), "{range:?}: {labels:?}");
                assert!(labels.windows(2).all(|two| two[0] < two[1]), "{labels:?}");
            }
        }
    }

    /// Regression 1140: at 500 pixels the names "1024 2048 4096" stood 3 pixels apart and read as one.
    #[test]
    fn regression_1140_names_on_an_axis_are_a_character_apart() {
        let names: Vec<String> = (0..10).map(|power| (8 << power).to_string()).collect();
        let digits = widest(std::iter::once("0000"));
        let plot = |gap: f32| (digits + gap) * names.len() as f32;
        assert!(rotates(&names, plot(3.5)));
        assert!(rotates(&names, plot(digits / 4.0)));
        assert!(!rotates(&names, plot(digits / 2.0)));
    }

    #[test]
    fn linear_axes_end_at_round_numbers_around_their_values() {
        let ends = |low, high| {
            let axis = limited(&ChartAxis::default(), Range { low, high });
            (axis.from, axis.to)
        };
        assert_eq!(ends(0.0, 252.0), (Some(0.0), Some(300.0)));
        assert_eq!(ends(10.0, 100.0), (Some(0.0), Some(100.0)));
        assert_eq!(ends(0.0, 0.0), (Some(0.0), Some(1.0)));
    }
}
