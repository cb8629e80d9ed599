//! Charts as SVG, PNG, CSV, and as an HTML page that works offline.
//!
//! A [`fathom_model::Chart`] becomes one option document of Apache ECharts. The page embeds the script
//! and draws in the browser. For static images the same script runs inside QuickJS, and resvg turns its
//! SVG into pixels. This crate computes no statistics.
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

mod colours;
mod csv;
mod error;
mod font;
mod image;
mod option;
#[cfg(test)]
mod overlaps;
mod page;
mod picture;
mod renderer;
mod report;
mod theme;

pub use self::csv::csv;
pub use self::error::ChartError;
pub use self::page::{Page, escape, page};
pub use self::picture::{Frame, png, svg};
pub use self::renderer::Renderer;
pub use self::report::{report_markdown, report_page};
pub use self::theme::Theme;
