//! Size and colours of an image.

use crate::theme::Theme;

/// Size and colours of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width of the SVG in pixels.
    pub width: u32,
    /// Height of the SVG in pixels.
    pub height: u32,
    /// PNG pixels per SVG pixel.
    pub scale: f32,
    /// Colours.
    pub theme: Theme,
}

impl Default for Frame {
    fn default() -> Self {
        Frame {
            width: 1000,
            height: 600,
            scale: 2.0,
            theme: Theme::Light,
        }
    }
}
