//! A dense field of values as one image.

use fathom_model::ChartGrid;
use resvg::tiny_skia::{ColorU8, Pixmap};

use crate::colours::Shades;

/// Each field is at least this many pixels wide and high, so that stretching does not blur it.
const SCALE: u32 = 3;
/// No image is larger in either direction.
const LARGEST: usize = 2400;

/// A PNG as a `data:` address; fields without a value are clear.
pub(crate) fn url(grid: &ChartGrid, shades: &Shades) -> String {
    let scale = if grid.columns.max(grid.rows) * SCALE as usize > LARGEST { 1 } else { SCALE as usize };
    let (wide, high) = ((grid.columns * scale).clamp(1, LARGEST), (grid.rows * scale).clamp(1, LARGEST));
    let Some(mut pixels) = Pixmap::new(wide as u32, high as u32) else { return String::new() };
    for (place, pixel) in pixels.pixels_mut().iter_mut().enumerate() {
        // Rows are counted from the bottom, pixels from the top.
        let (column, row) = (place % wide / scale, (high - 1 - place / wide) / scale);
        if let Some(Some(value)) = grid.values.get(row * grid.columns + column) {
            let (red, green, blue) = Shades::colour(shades.share(*value));
            *pixel = ColorU8::from_rgba(red, green, blue, 255).premultiply();
        }
    }
    let png = pixels.encode_png().unwrap_or_default();
    format!("data:image/png;base64,{}", base64(&png))
}

/// RFC 4648, section 4.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, n| bits << 8 | u32::from(three.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * n) & 63) as usize] as char;
            text.push(if n <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
