//! A dense grid of values as one raster image.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fathom_model::ChartGrid;
use resvg::tiny_skia::{ColorU8, Pixmap};

use crate::colours::Shades;

/// Each cell is at least this many pixels wide and high, so that scaling does not blur it.
const SCALE: u32 = 3;
/// Maximum width and height of the image.
const LARGEST: usize = 2400;

/// A PNG as a `data:` URL; cells without a value are transparent. Where several cells share a pixel, it
/// shows the largest value.
pub(crate) fn url(grid: &ChartGrid, shades: &Shades) -> String {
    let grid = &*shrunk(grid);
    let scale = if grid.columns.max(grid.rows) * SCALE as usize > LARGEST {
        1
    } else {
        SCALE as usize
    };
    let (wide, high) = (
        (grid.columns * scale).clamp(1, LARGEST),
        (grid.rows * scale).clamp(1, LARGEST),
    );
    let Some(mut pixels) = Pixmap::new(wide as u32, high as u32) else {
        return String::new();
    };
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

/// At most [`LARGEST`] columns and rows; each value is the maximum of the cells it replaces.
fn shrunk(grid: &ChartGrid) -> Cow<'_, ChartGrid> {
    let (across, up) = (
        grid.columns.div_ceil(LARGEST).max(1),
        grid.rows.div_ceil(LARGEST).max(1),
    );
    if across == 1 && up == 1 {
        return Cow::Borrowed(grid);
    }
    let (columns, rows) = (grid.columns.div_ceil(across), grid.rows.div_ceil(up));
    let mut values: Vec<Option<f64>> = vec![None; columns * rows];
    for (place, value) in grid
        .values
        .iter()
        .take(grid.columns * grid.rows)
        .enumerate()
    {
        let kept = &mut values[place / grid.columns / up * columns + place % grid.columns / across];
        if let Some(value) = value {
            *kept = Some(kept.map_or(*value, |known| known.max(*value)));
        }
    }
    Cow::Owned(ChartGrid {
        columns,
        rows,
        values,
        log: grid.log,
        ..ChartGrid::default()
    })
}

/// RFC 4648, section 4.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use fathom_model::ChartGrid;

    use super::{LARGEST, base64, shrunk};

    /// With twice as many columns and one, each pixel is the maximum of three columns; the last has only one.
    #[test]
    fn each_pixel_shows_its_largest_value() {
        let columns = 2 * LARGEST + 1;
        let values: Vec<Option<f64>> = (0..columns).map(|n| (n != 1).then_some(n as f64)).collect();
        let grid = ChartGrid {
            columns,
            rows: 1,
            values,
            ..ChartGrid::default()
        };
        let small = shrunk(&grid);
        assert_eq!(
            (small.columns, small.rows, small.values.len()),
            (1601, 1, 1601)
        );
        assert_eq!(
            (small.values[0], small.values[1], small.values[1600]),
            (Some(2.0), Some(5.0), Some(4800.0))
        );
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
