//! A chart as a picture that stands alone: SVG, and from it PNG.

use std::sync::Arc;

use fathom_model::Chart;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::error::InkError;
use crate::font::{FAMILY, database};
use crate::option::{Medium, option};
use crate::stage::Stage;
use crate::theme::Theme;

/// How large, and on which ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Pixels of the SVG.
    pub width: u32,
    /// Pixels of the SVG.
    pub height: u32,
    /// Pixels of the PNG for each of the SVG's.
    pub scale: f32,
    /// Colours.
    pub theme: Theme,
}

impl Default for Frame {
    fn default() -> Self {
        Frame { width: 1000, height: 600, scale: 2.0, theme: Theme::Light }
    }
}

/// The chart as SVG.
///
/// # Errors
/// Those of the script.
pub fn svg(chart: &Chart, frame: &Frame, stage: &Stage) -> Result<String, InkError> {
    let option = option(chart, Medium::Paper { width: frame.width, height: frame.height });
    let drawn = stage.draw(&option.to_string(), frame.theme, frame.width, frame.height)?;
    // A map is stretched over its axes, field by field: neither kept in proportion nor blurred.
    Ok(drawn.replace("<image ", "<image preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" "))
}

/// The chart as PNG.
///
/// # Errors
/// Those of the script, and of the picture when it is too large for memory.
pub fn png(chart: &Chart, frame: &Frame, stage: &Stage) -> Result<Vec<u8>, InkError> {
    let drawn = svg(chart, frame, stage)?;
    let options = Options { fontdb: Arc::new(database()), font_family: FAMILY.to_owned(), ..Options::default() };
    let tree = Tree::from_str(&drawn, &options).map_err(|error| InkError::Pixels(error.to_string()))?;
    let side = |pixels: u32| (pixels as f32 * frame.scale).round().max(1.0) as u32;
    let (width, height) = (side(frame.width), side(frame.height));
    let none = || InkError::Pixels(format!("{width} x {height} pixels are too many"));
    let mut pixels = Pixmap::new(width, height).ok_or_else(none)?;
    resvg::render(&tree, Transform::from_scale(frame.scale, frame.scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| InkError::Pixels(error.to_string()))
}
