//! A value for each column and row: coloured cells, one raster image if there are many, or 3D bars.

use fathom_model::format::thousands;
use fathom_model::{AxisScale, Chart, ChartAxis, ChartGrid};
use serde_json::{Value, json};

use super::layout::{Layout, STRIP};
use super::series::{self, rounded};
use super::{axis, mark, panels};
use crate::axis_name::named;
use crate::colours::{Shades, hex};
use crate::font::FAMILY;
use crate::image;
use crate::theme::role;

/// More cells than this are drawn as one raster image.
const MAX_CELLS: usize = 600;
/// Maximum number of 3D bars.
const MAX_BARS: usize = 1024;
/// Below the first width, in pixels, a cell shows its value in two figures; below the second, none.
const NARROW: f32 = 46.0;
const NARROWEST: f32 = 24.0;
/// Height of the colour bar, and of each of its labels.
const BAR: f32 = 180.0;
const BAR_LABEL: f32 = 24.0;
/// Space for the labels of the y axis and for the colour bar, in pixels.
const LABELS_AND_BAR: f32 = 130.0;
/// Maximum number of cells that show their value.
const LABELLED: usize = 120;

pub(super) fn flat(option: &mut Value, chart: &Chart, grid: &ChartGrid, layout: &Layout) {
    let shades = Shades::of(grid);
    let column_width = if panels::is_divided(chart) {
        let cells = layout.cells(chart);
        series::add_axes(option, chart, &[], &cells);
        cells
            .first()
            .and_then(|cell| cell.width)
            .unwrap_or(panels::PAGE_WIDTH)
    } else {
        let mut place = layout.grid(chart);
        place["right"] = json!(96);
        option["grid"] = json!([place]);
        option["xAxis"] = json!([axis::bottom(chart, layout.wide - 76.0)]);
        option["yAxis"] = axis::sides(chart);
        layout.wide - LABELS_AND_BAR
    } / grid.columns.max(1) as f32;
    option["visualMap"] = colour_bar(chart, grid, &shades, layout);
    // Separate cells need names on both axes.
    let has_names = [Some(&chart.x), chart.y.first()]
        .into_iter()
        .flatten()
        .all(|axis| matches!(axis.scale, AxisScale::Names(_)));
    if grid.columns * grid.rows > MAX_CELLS || !has_names {
        picture(option, chart, grid, &shades);
    } else {
        fields(option, chart, grid, &shades, column_width);
        if !layout.is_image {
            narrow(option, chart, grid);
        }
    }
    if layout.strip {
        mark::strip(option, chart, layout.bottom - STRIP - 50.0);
    }
}

/// The labels of the cells where a page is too narrow for them.
fn narrow(option: &mut Value, chart: &Chart, grid: &ChartGrid) {
    let all = option["series"].as_array().map_or(0, Vec::len);
    let below = |cell: f32, label: Value| {
        let widest = (cell * grid.columns as f32 + LABELS_AND_BAR).ceil();
        json!({ "query": { "maxWidth": widest }, "option": { "series": vec![json!({ "label": label }); all] } })
    };
    let is_labelled = chart_is_labelled(chart, grid);
    option["media"] = json!([
        below(
            NARROW,
            json!({ "show": is_labelled, "fontSize": 9.5, "formatter": { "$fn": "tiny", "with": 2 } })
        ),
        below(NARROWEST, json!({ "show": false })),
    ]);
}

/// Whether a panel has few enough cells for their values.
fn chart_is_labelled(chart: &Chart, grid: &ChartGrid) -> bool {
    let panels = chart.panels.len().max(1);
    grid.columns * grid.rows <= LABELLED && panels * grid.columns * grid.rows <= 3 * LABELLED
}

/// The colours with the smallest and the largest value.
fn colour_bar(chart: &Chart, grid: &ChartGrid, shades: &Shades, layout: &Layout) -> Value {
    let (low, high) = shades.ends();
    let word = |value: f64| {
        named(&ChartAxis {
            title: end_label(value / grid.unit.divide),
            unit: grid.unit.clone(),
            ..ChartAxis::default()
        })
    };
    // Between the titles, which the names of the axes follow, and the notes.
    let names = if panels::is_divided(chart) {
        10.0
    } else {
        40.0
    };
    let bar = BAR.min(layout.plot_height() - 2.0 * BAR_LABEL).max(20.0);
    let is_centred = (layout.high() - BAR) / 2.0 - BAR_LABEL >= layout.top - names;
    let (top, bar) = if is_centred || !layout.is_image {
        (json!("middle"), BAR)
    } else {
        (json!(layout.top), bar)
    };
    json!({
        "type": "continuous", "min": 0, "max": 1, "calculable": false, "hoverLink": false, "orient": "vertical", "right": 6, "top": top, "itemHeight": bar, "itemWidth": 14,
        "text": [word(high).replace(['(', ')'], ""), word(low).replace(['(', ')'], "")], "textStyle": { "color": role("muted"), "fontSize": 11.5, "fontFamily": FAMILY },
        "inRange": { "color": (0..=10).map(|n| hex(Shades::colour(f64::from(n) / 10.0))).collect::<Vec<_>>() },
        "seriesIndex": 99, "dimension": 0,
    })
}

/// A value at the end of the colour bar, with three figures or more.
fn end_label(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    if value >= 100.0 {
        return thousands(value.round() as u64);
    }
    if value <= -100.0 {
        return format!("-{}", thousands(value.abs().round() as u64));
    }
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn names(axis: &ChartAxis, count: usize) -> Vec<String> {
    match &axis.scale {
        AxisScale::Names(names) => names.clone(),
        _ => (0..count).map(|n| n.to_string()).collect(),
    }
}

/// Separate cells of the given width in pixels.
fn fields(option: &mut Value, chart: &Chart, grid: &ChartGrid, shades: &Shades, wide: f32) {
    let labelled = chart_is_labelled(chart, grid) && wide >= NARROWEST;
    let (size, words) = if wide < NARROW {
        (9.5, "tiny")
    } else {
        (11.5, "label")
    };
    let panels = chart.panels.len().max(1);
    let mut data: Vec<Vec<Value>> = vec![Vec::new(); panels];
    for (index, value) in grid.values.iter().enumerate() {
        let (column, row, panel) = grid.place(index);
        let (Some(value), Some(cells)) = (*value, data.get_mut(panel)) else {
            continue;
        };
        let share = shades.share(value);
        let text_colour = if share > 0.6 { "#1b1f24" } else { "#ffffff" };
        cells.push(json!({
            "value": [column, row, rounded(value / grid.unit.divide)],
            "itemStyle": { "color": hex(Shades::colour(share)) },
            "label": { "color": text_colour },
        }));
    }
    let tooltip = json!({ "x": chart.x.title, "y": chart.y.first().map(|y| y.title.clone()), "unit": grid.unit.symbol,
        "columns": names(&chart.x, grid.columns), "rows": chart.y.first().map(|y| names(y, grid.rows)) });
    // ECharts draws a heat map only with a visual map of its own; this one changes nothing.
    let all: Vec<usize> = (0..panels).collect();
    option["visualMap"] = json!([option["visualMap"].clone(), { "show": false, "type": "piecewise", "seriesIndex": all, "pieces": [{ "gte": -1e300, "lte": 1e300 }] }]);
    option["visualMap"][1]["inRange"] = json!({ "symbolSize": [8, 8] });
    option["tooltip"] = json!({ "trigger": "item", "confine": true, "formatter": { "$fn": "cell", "with": tooltip },
        "backgroundColor": role("background"), "borderColor": role("axis"), "textStyle": { "color": role("text"), "fontSize": 12 } });
    let series = data.into_iter().enumerate().map(|(panel, data)| {
        json!({
            "type": "heatmap", "name": chart.panels.get(panel).unwrap_or(&grid.title), "xAxisIndex": panel, "yAxisIndex": panel, "data": data,
            "label": { "show": labelled, "fontSize": size, "formatter": { "$fn": words, "with": 2 } },
            "itemStyle": { "borderColor": role("background"), "borderWidth": 1.5 },
            "emphasis": { "itemStyle": { "borderColor": role("text") } },
        })
    });
    option["series"] = series.collect();
}

/// Many cells as one raster image, stretched over its part of the plot.
fn picture(option: &mut Value, chart: &Chart, grid: &ChartGrid, shades: &Shades) {
    let ends = |axis: &ChartAxis, count: usize| -> [f64; 2] {
        match axis.scale {
            AxisScale::Names(_) => [-0.5, count as f64 - 0.5],
            _ => [
                axis.from.unwrap_or(0.0) / axis.unit.divide,
                axis.to.unwrap_or(count as f64) / axis.unit.divide,
            ],
        }
    };
    let (across, up) = (
        ends(&chart.x, grid.columns),
        chart.y.first().map_or([0.0, 1.0], |y| ends(y, grid.rows)),
    );
    option["tooltip"] = json!({ "show": false });
    let of_panel = |panel: usize, url: String| {
        json!({
            "type": "custom", "name": chart.panels.get(panel).unwrap_or(&grid.title), "renderItem": { "$fn": "raster", "with": url }, "silent": true, "clip": true,
            "xAxisIndex": panel, "yAxisIndex": panel, "data": [[across[0], across[1], up[0], up[1]]], "encode": { "x": [0, 1], "y": [2, 3] },
        })
    };
    if chart.panels.len() < 2 {
        option["series"] = json!([of_panel(0, image::url(grid, shades))]);
        return;
    }
    let size = (grid.columns * grid.rows).max(1);
    let parts = grid.values.chunks(size).enumerate().map(|(panel, values)| {
        let part = ChartGrid {
            values: values.to_vec(),
            ..grid.clone()
        };
        of_panel(panel, image::url(&part, shades))
    });
    option["series"] = parts.collect();
}

/// More than [`MAX_BARS`] bars would hide each other, so they are drawn flat.
pub(super) fn is_solid(grid: &ChartGrid) -> bool {
    grid.solid && grid.columns * grid.rows <= MAX_BARS
}

/// Bars in space.
pub(super) fn solid(option: &mut Value, chart: &Chart, grid: &ChartGrid, layout: &Layout) {
    let shades = Shades::of(grid);
    let values: Vec<Value> = grid
        .values
        .iter()
        .map(|value| value.map_or(Value::Null, |value| rounded(value / grid.unit.divide)))
        .collect();
    let colours: Vec<Value> = grid
        .values
        .iter()
        .map(|value| {
            value.map_or(Value::Null, |value| {
                json!(hex(Shades::colour(shades.share(value))))
            })
        })
        .collect();
    option["visualMap"] = colour_bar(chart, grid, &shades, layout);
    let highest = grid.values.iter().flatten().copied().fold(0.0, f64::max) / grid.unit.divide;
    let z = ChartAxis {
        title: grid.title.clone(),
        unit: grid.unit.clone(),
        ..ChartAxis::default()
    };
    let set = json!({
        "columns": names(&chart.x, grid.columns), "rows": chart.y.first().map_or(Vec::new(), |y| names(y, grid.rows)),
        "values": values, "colours": colours, "top": round_up(highest), "foot": layout.bottom - 30.0, "head": layout.top, "margin": layout.edge(),
        "xTitle": named(&chart.x), "yTitle": chart.y.first().map_or(String::new(), named), "zTitle": named(&z),
        "muted": role("muted"), "grid": role("grid"), "floor": role("floor"),
    });
    option["tooltip"] = json!({ "show": false });
    option["series"] = json!([{ "type": "custom", "coordinateSystem": "none", "silent": true, "renderItem": { "$fn": "solid", "with": set }, "data": [[0]] }]);
}

/// The next of 1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8 times a power of ten, which four lines divide well.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    steps
        .into_iter()
        .map(|step| step * power)
        .find(|top| *top >= value)
        .unwrap_or(value)
}
