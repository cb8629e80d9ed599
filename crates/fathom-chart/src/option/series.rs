//! Lines, bars and points.

use fathom_model::{AxisScale, Chart, ChartAxis, ChartBody, ChartSeries, SeriesShape};
use serde_json::{Value, json};

use super::layout::{Layout, legend_names};
use super::{axis, mark, panels};
use crate::font::{FAMILY, width};
use crate::theme::{ORDERED, ordered, palette, role};

/// Narrower bars, in pixels, have no value label if there are several series.
const NARROW: f32 = 36.0;
/// Narrower bars with an interval have no value label.
const NARROWEST: f32 = 30.0;
/// Lower bars, as a share of the highest one, have no value label if there are several series.
const LOWEST: f64 = 0.01;
/// The width of the plot of a page, about which names are placed.
const PAGE_PLOT: f32 = 580.0;
/// Maximum number of bars that have value labels.
const LABELLED: usize = 40;

/// A symbol for each of the lines of a panel: the last three are a triangle on its tip, and two crosses.
const SYMBOLS: [&str; 7] = [
    "circle",
    "rect",
    "triangle",
    "diamond",
    "path://M0,0L10,0L5,10Z",
    "path://M3,0L7,0L7,3L10,3L10,7L7,7L7,10L3,10L3,7L0,7L0,3L3,3Z",
    "path://M2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5L0,2Z",
];

pub(super) fn draw(option: &mut Value, chart: &Chart, all: &[ChartSeries], layout: &Layout) {
    option["legend"] = layout.legend_of(&legend_names(all));
    option["tooltip"] = tooltip(chart, all);
    let panel_width = if panels::is_divided(chart) {
        divided(option, chart, all, layout)
    } else {
        option["grid"] = json!([layout.grid(chart)]);
        option["xAxis"] = json!([axis::bottom(chart, layout.wide)]);
        option["yAxis"] = axis::sides(chart);
        layout.wide
    };
    let mut drawn: Vec<Value> = Vec::new();
    mark::shade(&mut drawn, chart);
    let is_divided = panels::is_divided(chart);
    for series in all {
        let is_bar = series.shape == SeriesShape::Bars;
        let bars: Vec<&ChartSeries> = beside(all, series)
            .filter(|other| other.shape == SeriesShape::Bars)
            .collect();
        let count = bars.iter().map(|bar| bar.points.len()).sum::<usize>();
        // Value labels side by side need space, most of all above an interval, whose label is at its upper end.
        let place = panel_width / (count.max(1) as f32);
        let narrow =
            bars.len() > 1 && place < NARROW || !series.intervals.is_empty() && place < NARROWEST;
        let labelled = count <= LABELLED && !narrow;
        let is_band = series.shape == SeriesShape::Thin && !series.intervals.is_empty();
        if is_band {
            drawn.push(band(chart, series));
        }
        let named_at_end = layout.ends.is_some() && !is_divided;
        drawn.push(one(chart, all, series, labelled, named_at_end));
        if !series.intervals.is_empty() && !is_band {
            let place = bars
                .iter()
                .position(|bar| is_bar && std::ptr::eq(*bar, series));
            drawn.push(whiskers(
                chart,
                series,
                place.map(|place| (place + 1, bars.len())),
                labelled,
            ));
        }
    }
    let mut graphic: Vec<Value> = Vec::new();
    if all.iter().all(|series| series.points.is_empty()) {
        graphic.push(json!({ "type": "text", "left": "center", "top": "middle", "style": { "text": "no data: these results lack the metric", "fill": role("muted"), "fontSize": 14 } }));
    }
    let colours: Vec<Value> = all.iter().map(colour).collect();
    let one_each = chart.table.len() == all.len() + 1;
    graphic.extend(layout.table(if one_each { &colours } else { &[] }));
    if layout.ends.is_some() && is_divided {
        graphic.extend(end_names(chart, all, layout));
    }
    if !graphic.is_empty() {
        option["graphic"] = json!(graphic);
    }
    mark::add(&mut drawn, chart);
    option["series"] = json!(drawn);
    if !layout.is_image && is_horizontal(chart) {
        lay_down(option, chart);
    } else if let Some(media) = layout.narrow_legend(chart, &option["legend"], &option["grid"]) {
        option["media"] = media;
    }
    if !layout.is_image && !matches!(chart.x.scale, AxisScale::Names(_)) {
        let axes: Vec<usize> = (0..option["grid"].as_array().map_or(1, Vec::len)).collect();
        option["dataZoom"] =
            json!([{ "type": "inside", "xAxisIndex": axes, "filterMode": "none" }]);
    }
}

/// Whether a page shows the bars lying, with their names on the left: names that would be rotated below them.
pub(super) fn is_horizontal(chart: &Chart) -> bool {
    let (ChartBody::Series(all), AxisScale::Names(names)) = (&chart.body, &chart.x.scale) else {
        return false;
    };
    let is_plain = |series: &ChartSeries| {
        series.shape == SeriesShape::Bars && series.intervals.is_empty() && series.labels.is_empty()
    };
    chart.panels.is_empty()
        && chart.y.len() == 1
        && chart.x.title.is_empty()
        && chart.marks.is_empty()
        && chart.events.is_empty()
        && all.iter().all(is_plain)
        && axis::rotates(names, PAGE_PLOT)
}

/// Exchanges the axes of bars.
fn lay_down(option: &mut Value, chart: &Chart) {
    option["xAxis"] = json!([axis::values_below(chart)]);
    option["yAxis"] = json!([axis::names_on_the_left(chart)]);
    // The value of the longest bar is beside it.
    option["grid"][0]["right"] = json!(56);
    for series in option["series"].as_array_mut().into_iter().flatten() {
        series["itemStyle"]["borderRadius"] = json!([0, 2, 2, 0]);
        if series["label"].is_object() {
            series["label"]["position"] = json!("right");
            // Now the value is the first of each pair.
            series["label"]["formatter"]["with"] = json!(0);
        }
        for point in series["data"].as_array_mut().into_iter().flatten() {
            let pair = if point.is_array() {
                point
            } else {
                &mut point["value"]
            };
            if let Some(pair) = pair.as_array_mut() {
                pair.reverse();
            }
        }
    }
}

/// The series in the same panel on the same axis.
fn beside<'a>(
    all: &'a [ChartSeries],
    series: &ChartSeries,
) -> impl Iterator<Item = &'a ChartSeries> {
    let place = (series.panel, series.axis);
    all.iter()
        .filter(move |other| (other.panel, other.axis) == place)
}

/// The grids and axes of several panels. Returns the width of a panel.
fn divided(option: &mut Value, chart: &Chart, all: &[ChartSeries], layout: &Layout) -> f32 {
    let cells = layout.cells(chart);
    add_axes(option, chart, all, &cells);
    option["axisPointer"] = json!({ "link": [{ "xAxisIndex": "all" }] });
    let first = cells.first().and_then(|cell| cell.width);
    first.unwrap_or(panels::PAGE_WIDTH)
}

/// A grid with its axes for each of several panels.
pub(super) fn add_axes(
    option: &mut Value,
    chart: &Chart,
    all: &[ChartSeries],
    cells: &[panels::Cell],
) {
    let wide = cells
        .first()
        .and_then(|cell| cell.width)
        .unwrap_or(panels::PAGE_WIDTH);
    let (mut grids, mut along, mut up) = (Vec::new(), Vec::new(), Vec::new());
    for (number, cell) in cells.iter().enumerate() {
        let mut grid = json!({ "left": cell.left, "top": cell.top, "height": cell.height, "containLabel": false });
        match cell.width {
            Some(wide) => grid["width"] = json!(wide),
            None => grid["right"] = json!(cell.right),
        }
        grids.push(grid);
        let mut x = axis::panel_bottom(chart, all, wide, cell.is_lowest);
        x["gridIndex"] = json!(number);
        along.push(x);
        let mut y = axis::panel_side(&panels::shared(chart, all, cell.axis), cell.is_first);
        y["gridIndex"] = json!(number);
        up.push(y);
    }
    option["grid"] = json!(grids);
    option["xAxis"] = json!(along);
    option["yAxis"] = json!(up);
}

/// The names at the ends of the lines of several panels.
fn end_names(chart: &Chart, all: &[ChartSeries], layout: &Layout) -> Vec<Value> {
    let size = panels::END_LABEL;
    let mut texts = Vec::new();
    for cell in layout.cells(chart) {
        for (number, y) in panels::end_places(chart, all, &cell) {
            let name = &all[number].name;
            let mut text = json!({ "type": "text", "y": y, "silent": true,
                "style": { "text": name, "fill": role("text"), "verticalAlign": "middle", "font": format!("{size}px {FAMILY}, sans-serif") } });
            match cell.width {
                Some(wide) => text["x"] = json!(cell.left + wide + 7.0),
                None => text["right"] = json!(cell.right - 7.0 - width(name, size, false)),
            }
            texts.push(text);
        }
    }
    texts
}

/// The index of the axes of a series.
fn cell(chart: &Chart, series: &ChartSeries) -> usize {
    let axes = chart.y.len().max(1);
    let panel = series.panel.min(chart.panels.len().saturating_sub(1));
    panel * axes + series.axis.min(axes - 1)
}

/// The colour of a series: its position on the ordered scale, or its colour of the palette.
fn colour(series: &ChartSeries) -> Value {
    series.shade.map_or_else(|| palette(series.colour), ordered)
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

fn one(
    chart: &Chart,
    all: &[ChartSeries],
    series: &ChartSeries,
    labelled: bool,
    named_at_end: bool,
) -> Value {
    let side = side(chart, series);
    let (colour, cell) = (colour(series), cell(chart, series));
    let mut option = json!({
        "name": series.name, "xAxisIndex": cell, "yAxisIndex": cell,
        "data": data(chart, all, series), "itemStyle": { "color": colour }, "color": colour,
        "tooltip": { "valueFormatter": { "$fn": "unit", "with": side.unit.symbol } },
        "emphasis": { "focus": "series" },
    });
    let line = |width: f64| json!({ "width": width, "color": colour, "type": if series.dashed { json!([5, 4]) } else { json!("solid") } });
    let lines = beside(all, series).filter(|other| other.shape == SeriesShape::Line);
    // With more than one line their value labels would overlap.
    let alone = lines.count() <= 1;
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
        SeriesShape::Stacked => {
            option["type"] = json!("bar");
            option["stack"] = json!(format!("stack {cell}"));
            option["barMaxWidth"] = json!(96);
            option["barCategoryGap"] = json!("30%");
        }
        SeriesShape::Dots => {
            option["type"] = json!("scatter");
            option["symbolSize"] = json!(8);
            option["z"] = json!(4);
            if series.points.len() > MANY_DOTS {
                option["large"] = json!(true);
                option["largeThreshold"] = json!(MANY_DOTS);
            }
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
            option["symbol"] = json!(symbol(series));
            option["showSymbol"] = json!(series.points.len() == 1);
            option["lineStyle"] = line(1.6);
            if series.shape == SeriesShape::Steps {
                option["step"] = json!("end");
            }
        }
    }
    if !series.labels.is_empty() {
        option["label"] = json!({ "show": true, "position": "right", "fontSize": 11, "color": role("muted"), "formatter": { "$fn": "word" } });
        option["labelLayout"] = json!({ "hideOverlap": true });
    }
    if named_at_end {
        option["endLabel"] = json!({ "show": true, "formatter": "{a}", "fontSize": panels::END_LABEL, "fontFamily": FAMILY, "color": role("text"), "distance": 6 });
        option["labelLayout"] = json!({ "moveOverlap": "shiftY" });
    }
    option
}

/// More dots than this are one shape: with a shape for each, drawing 2,000 takes longer than 100 ms.
const MANY_DOTS: usize = 500;

/// A symbol for each colour, so that lines are distinguishable without colours; hollow if dashed.
fn symbol(series: &ChartSeries) -> String {
    let number = series.shade.map_or(series.colour, |shade| {
        (shade * (ORDERED - 1) as f64).round() as usize
    });
    let kind = SYMBOLS[number % SYMBOLS.len()];
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
///
/// A bar too low to be seen has no value if others are beside it: the values would be all that is seen.
fn data(chart: &Chart, all: &[ChartSeries], series: &ChartSeries) -> Value {
    let bars = || beside(all, series).filter(|other| other.shape == SeriesShape::Bars);
    let several = series.shape == SeriesShape::Bars && bars().count() > 1;
    let highest = bars()
        .flat_map(|bar| &bar.points)
        .fold(0.0, |highest: f64, point| highest.max(point.1));
    let pairs = series.points.iter().enumerate().map(|(place, point)| {
        let pair = json!([
            number(point.0, &chart.x),
            number(point.1, side(chart, series))
        ]);
        match series.labels.get(place) {
            Some(words) => json!({ "value": pair, "words": words }),
            None if several && point.1 < LOWEST * highest => {
                json!({ "value": pair, "label": { "show": false } })
            }
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

/// Intervals as a band behind their line.
fn band(chart: &Chart, series: &ChartSeries) -> Value {
    let side = side(chart, series);
    let data: Vec<Value> = series
        .points
        .iter()
        .zip(&series.intervals)
        .map(|(point, interval)| {
            json!([
                number(point.0, &chart.x),
                number(interval.0, side),
                number(interval.1, side)
            ])
        })
        .collect();
    json!({
        "type": "custom", "name": series.name, "xAxisIndex": cell(chart, series), "yAxisIndex": cell(chart, series),
        "renderItem": { "$fn": "band", "with": data }, "data": data, "itemStyle": { "color": colour(series) }, "z": 1, "silent": true,
        "tooltip": { "show": false }, "encode": { "x": 0, "y": [1, 2] },
    })
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
        "type": "custom", "name": series.name, "xAxisIndex": cell(chart, series), "yAxisIndex": cell(chart, series), "renderItem": { "$fn": "whisker" },
        "data": data.collect::<Value>(), "itemStyle": { "color": if bar.is_some() { role("text") } else { colour(series) } }, "z": 6, "silent": true,
        "tooltip": { "show": false }, "encode": { "x": 0, "y": [1, 2] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::{Medium, option, page_height};

    fn bars(names: &[&str]) -> Chart {
        Chart {
            x: ChartAxis {
                scale: AxisScale::Names(names.iter().map(|name| (*name).to_owned()).collect()),
                ..ChartAxis::default()
            },
            y: vec![ChartAxis::default()],
            body: ChartBody::Series(vec![ChartSeries {
                name: "CPU".to_owned(),
                shape: SeriesShape::Bars,
                points: (0..names.len())
                    .map(|n| (n as f64, 10.0 + n as f64))
                    .collect(),
                ..ChartSeries::default()
            }]),
            ..Chart::default()
        }
    }

    /// Regression 0834: the names below the bars of a report were rotated and cut off, and on paper the bars had no height.
    #[test]
    fn regression_0834_bars_with_long_names_lie_on_a_page() {
        let long = "random writes of 4 KiB, depth 32";
        let chart = bars(&[long; 12]);
        let made = option(&chart, Medium::Page);
        assert_eq!(made["yAxis"][0]["data"][11], long);
        assert_eq!(made["yAxis"][0]["inverse"], true);
        assert!(made["yAxis"][0]["axisLabel"]["rotate"].is_null(), "{made}");
        assert_eq!(made["series"][0]["data"][11], json!([21, 11]));
        assert_eq!(made["series"][0]["label"]["formatter"]["with"], 0);
        assert!(page_height(&chart).expect("a height") > 12.0 * 28.0);
        let image = option(
            &chart,
            Medium::Image {
                width: 1000,
                height: 600,
            },
        );
        assert_eq!(image["series"][0]["data"][11], json!([11, 21]));
        let short = bars(&["1", "2"]);
        assert_eq!(
            option(&short, Medium::Page)["series"][0]["data"][1],
            json!([1, 11])
        );
        assert_eq!(page_height(&short), None);
    }

    fn lines(names: &[&str], points: &[(f64, f64)]) -> Chart {
        let one = |(n, name): (usize, &&str)| ChartSeries {
            name: (*name).to_owned(),
            shape: SeriesShape::Line,
            points: points.iter().map(|(x, y)| (*x, y + n as f64)).collect(),
            ..ChartSeries::default()
        };
        Chart {
            y: vec![ChartAxis::default()],
            body: ChartBody::Series(names.iter().enumerate().map(one).collect()),
            ..Chart::default()
        }
    }

    /// Regression 1412: each dot of a trend was a shape of its own; with 2,000 runs, the page showed a click after 128 ms.
    #[test]
    fn regression_1412_many_dots_are_one_shape() {
        let large = |count: usize| {
            let points: Vec<_> = (0..count).map(|n| (n as f64, 1.0)).collect();
            let mut chart = lines(&["runs"], &points);
            if let ChartBody::Series(all) = &mut chart.body {
                all[0].shape = SeriesShape::Dots;
            }
            option(&chart, Medium::Page)["series"][0]["large"].clone()
        };
        assert_eq!(large(2000), true);
        assert_eq!(large(200), Value::Null);
    }

    /// Regression 0835: the names at the ends of load curves that turn back beyond the knee were struck through by the curves.
    #[test]
    fn regression_0835_curves_that_turn_back_have_a_legend() {
        let names = ["mean", "p99"];
        let shown = |points: &[(f64, f64)]| {
            option(&lines(&names, points), Medium::Page)["legend"]["show"].clone()
        };
        assert_eq!(shown(&[(0.0, 1.0), (50.0, 5.0), (100.0, 9.0)]), false);
        assert_eq!(shown(&[(0.0, 1.0), (100.0, 5.0), (95.0, 9.0)]), true);
    }

    /// Regression 0836: on a phone the names of devices below a chart were cut off in a legend of one line.
    #[test]
    fn regression_0836_a_narrow_page_has_all_names_of_the_legend() {
        let names = [
            "intel-d3-s4610-hba",
            "raid5-8x2tb-md",
            "wd740gd-10k",
            "floppy",
        ];
        let made = option(
            &lines(&names, &[(0.0, 1.0), (100.0, 5.0), (95.0, 9.0)]),
            Medium::Page,
        );
        let narrow = &made["media"][0]["option"];
        assert_eq!(made["legend"]["type"], "scroll");
        assert_eq!(
            (&narrow["legend"]["type"], &narrow["legend"]["data"]),
            (&json!("plain"), &json!(names))
        );
        let space = |grid: &Value| grid["bottom"].as_f64().expect("pixels");
        assert!(
            space(&narrow["grid"][0]) > space(&made["grid"][0]) + 15.0,
            "{made}"
        );
    }
}
