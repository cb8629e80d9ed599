//! The name of an axis, in pictures and in tables.

use fathom_model::{AxisScale, ChartAxis};

/// The title with the unit: `Latency (ms)`.
pub(crate) fn named(axis: &ChartAxis) -> String {
    let unit = if is_sizes(axis) {
        ""
    } else {
        axis.unit.symbol.as_str()
    };
    match (axis.title.as_str(), unit) {
        (title, "") => title.to_owned(),
        ("", unit) => unit.to_owned(),
        (title, unit) => format!("{title} ({unit})"),
    }
}

/// Sizes by powers of two, each written with its own unit: 512 B, 4 KiB, 1 MiB.
pub(crate) fn is_sizes(axis: &ChartAxis) -> bool {
    axis.scale == AxisScale::Log(2) && axis.unit.symbol == "bytes"
}
