//! A chart as an ECharts option: one document for the page, the SVG and the PNG.

mod axis;
mod field;
mod layout;
mod mark;
mod panels;
mod series;

use fathom_model::{Chart, ChartBody};
use serde_json::{Value, json};

use self::layout::Layout;
use crate::font::FAMILY;
use crate::theme::role;

/// Where the chart is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// An image file, which contains title, notes and legend.
    Image {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// An interactive chart on a page, which shows title and notes itself.
    Page,
}

/// Height on a page in pixels of a chart with several panels or with lying bars; `None` is the usual height.
pub(crate) fn page_height(chart: &Chart) -> Option<f32> {
    if series::is_horizontal(chart) {
        return Some(Layout::lying_height(chart));
    }
    panels::is_divided(chart).then(|| Layout::page_height(chart))
}

/// Removes what only a pointer can see: an image is drawn faster without.
fn without_interaction(option: &mut Value) {
    if let Some(option) = option.as_object_mut() {
        ["tooltip", "axisPointer", "aria"]
            .into_iter()
            .for_each(|key| drop(option.remove(key)));
    }
    for series in option["series"].as_array_mut().into_iter().flatten() {
        if let Some(series) = series.as_object_mut() {
            series.remove("tooltip");
        }
        series["emphasis"] = json!({ "disabled": true });
    }
}

/// The option. It refers to colours and functions by name; `formatters.js` resolves them.
pub(crate) fn option(chart: &Chart, medium: Medium) -> Value {
    let fitted = match medium {
        Medium::Image { .. } => panels::fitted(chart, |chart| {
            let layout = Layout::of(chart, medium);
            let cells = layout.cells(chart);
            cells
                .iter()
                .map(|cell| cell.height)
                .fold(f32::INFINITY, f32::min)
        }),
        Medium::Page => None,
    };
    let chart = fitted.as_ref().unwrap_or(chart);
    let layout = Layout::of(chart, medium);
    let mut option = json!({
        "backgroundColor": role("background"),
        "animation": false,
        "textStyle": { "fontFamily": format!("{FAMILY}, system-ui, sans-serif"), "color": role("text") },
        "title": layout.titles(chart),
        "aria": { "enabled": medium == Medium::Page, "label": { "description": format!("{}. {}", chart.title, chart.subtitle) } },
    });
    match &chart.body {
        ChartBody::Series(all) => series::draw(&mut option, chart, all, &layout),
        ChartBody::Grid(grid) if field::is_solid(grid) => {
            field::solid(&mut option, chart, grid, &layout);
        }
        ChartBody::Grid(grid) => field::flat(&mut option, chart, grid, &layout),
    }
    if let Medium::Image { .. } = medium {
        without_interaction(&mut option);
    } else {
        option["toolbox"] = json!({ "right": 8, "top": 0, "itemSize": 13, "feature": { "dataZoom": { "yAxisIndex": "none" }, "restore": {}, "saveAsImage": { "pixelRatio": 2 } },
            "iconStyle": { "borderColor": role("muted") } });
    }
    option
}
