//! Errors of drawing a chart.

use std::fmt;

/// Why a chart could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChartError {
    /// The program was built without charts.
    NotBuilt,
    /// This build has no chart script.
    NoScript,
    /// The script threw this exception.
    Script(String),
    /// The SVG could not be rendered as pixels.
    Pixels(String),
}

impl fmt::Display for ChartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt => write!(
                f,
                "this build draws no charts: the cargo feature `charts` is missing; use CSV or Markdown, or build fathom with `cargo build --features charts`"
            ),
            Self::NoScript => write!(
                f,
                "this build has no chart script and cannot draw SVG, PNG or HTML (CSV works); rebuild where cargo can \
                 reach its registry, or with FATHOM_ECHARTS=/path/to/echarts-5.5.1.min.js"
            ),
            Self::Script(exception) => write!(f, "the chart script failed: {exception}"),
            Self::Pixels(reason) => {
                write!(f, "cannot render the image: {reason}")
            }
        }
    }
}

impl std::error::Error for ChartError {}
