//! A chart as an option of ECharts: one document for the page, the SVG and the PNG.

mod axis;
mod field;
mod layout;
mod mark;
mod series;

use fathom_model::{Chart, ChartBody};
use serde_json::{Value, json};

pub(crate) use self::axis::named;
use self::layout::Layout;
use crate::font::FAMILY;
use crate::theme::role;

/// What the picture is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A picture that stands alone: title, notes and legend are in it.
    Paper {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// A place on a page, which has title and notes itself, and on which one can point, zoom and choose.
    Page,
}

/// The option. Colours and functions are named in it and put in by the house script.
pub(crate) fn option(chart: &Chart, medium: Medium) -> Value {
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
            field::solid(&mut option, chart, grid, &layout)
        }
        ChartBody::Grid(grid) => field::flat(&mut option, chart, grid, &layout),
    }
    if medium == Medium::Page {
        option["toolbox"] = json!({ "right": 8, "top": 0, "itemSize": 13, "feature": { "dataZoom": { "yAxisIndex": "none" }, "restore": {}, "saveAsImage": { "pixelRatio": 2 } },
            "iconStyle": { "borderColor": role("muted") } });
    }
    option
}
