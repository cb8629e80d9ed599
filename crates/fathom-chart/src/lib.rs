//! Charts to ink: SVG, PNG, CSV and the page that opens offline.
//!
//! A [`fathom_model::Chart`] becomes one option of Apache ECharts. The page embeds the script and draws it in the browser; the static
//! picture is the same option drawn by the same script inside QuickJS, and turned into pixels by resvg. No statistic is
//! computed here.

mod colours;
mod csv;
mod error;
mod font;
mod image;
#[cfg(test)]
mod legible;
mod option;
mod page;
mod picture;
mod report;
mod stage;
mod theme;

pub use self::csv::csv;
pub use self::error::InkError;
pub use self::page::{Page, escape, page};
pub use self::picture::{Frame, png, svg};
pub use self::report::{report_markdown, report_page};
pub use self::stage::Stage;
pub use self::theme::Theme;
