//! Charts as SVG, PNG, CSV, and as an HTML page that works offline.
//!
//! A [`fathom_model::Chart`] becomes one option document of Apache ECharts. The page embeds the script
//! and draws in the browser. For static images the same script runs inside QuickJS, and resvg turns its
//! SVG into pixels. This crate computes no statistics. Without the feature `draw` it writes CSV and Markdown only.
//!
//! ```
//! use fathom_model::{Chart, ChartAxis, ChartBody, ChartSeries};
//!
//! let chart = Chart {
//!     x: ChartAxis { title: "Queue depth".into(), ..ChartAxis::default() },
//!     y: vec![ChartAxis { title: "IOPS".into(), ..ChartAxis::default() }],
//!     body: ChartBody::Series(vec![ChartSeries {
//!         name: "randread".into(),
//!         points: vec![(1.0, 9_000.0), (2.0, 17_500.0)],
//!         ..ChartSeries::default()
//!     }]),
//!     ..Chart::default()
//! };
//! assert_eq!(fathom_chart::csv(&chart), "Queue depth,randread\r\n1,9000\r\n2,17500\r\n");
//! ```

mod axis_name;
#[cfg(feature = "draw")]
mod colours;
mod csv;
mod error;
#[cfg(feature = "draw")]
mod font;
mod frame;
#[cfg(feature = "draw")]
mod image;
#[cfg(feature = "draw")]
mod option;
#[cfg(feature = "draw")]
mod outlines;
#[cfg(all(test, feature = "draw"))]
mod overlaps;
#[cfg(feature = "draw")]
mod page;
#[cfg(feature = "draw")]
mod picture;
#[cfg(feature = "draw")]
mod raster;
#[cfg(feature = "draw")]
mod renderer;
mod report;
#[cfg(feature = "draw")]
mod report_page;
mod theme;
// Compiled for its test, too.
#[cfg(any(test, not(feature = "draw")))]
#[cfg_attr(feature = "draw", allow(dead_code))]
mod unavailable;

pub use self::csv::csv;
pub use self::error::ChartError;
pub use self::frame::Frame;
#[cfg(feature = "draw")]
pub use self::page::{Page, PageAssets, PageParts, assets, escape, page};
#[cfg(feature = "draw")]
pub use self::picture::{png, svg};
#[cfg(feature = "draw")]
pub use self::renderer::Renderer;
pub use self::report::report_markdown;
#[cfg(feature = "draw")]
pub use self::report_page::{report_page, report_parts};
pub use self::theme::Theme;
#[cfg(not(feature = "draw"))]
pub use self::unavailable::{Renderer, page, png, report_page, svg};
