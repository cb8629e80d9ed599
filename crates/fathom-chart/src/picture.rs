//! A chart as a picture that stands alone: SVG, and from it PNG.

use std::io::Write;
use std::sync::Arc;

use fathom_model::{Chart, ChartAxis, ChartBody, ChartSeries};
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
        Frame {
            width: 1000,
            height: 600,
            scale: 2.0,
            theme: Theme::Light,
        }
    }
}

/// The chart as SVG.
///
/// # Errors
/// Those of the script.
pub fn svg(chart: &Chart, frame: &Frame, stage: &Stage) -> Result<String, InkError> {
    let option = option(
        chart,
        Medium::Paper {
            width: frame.width,
            height: frame.height,
        },
    );
    let drawn = stage.draw(&option.to_string(), frame.theme, frame.width, frame.height)?;
    // A map is stretched over its axes, field by field: neither kept in proportion nor blurred.
    Ok(drawn.replace(
        "<image ",
        "<image preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" ",
    ))
}

/// The chart as PNG.
///
/// # Errors
/// Those of the script, and of the picture when it is too large for memory.
pub fn png(chart: &Chart, frame: &Frame, stage: &Stage) -> Result<Vec<u8>, InkError> {
    let mut drawn = svg(chart, frame, stage)?;
    // The script clips every line, and for each of them resvg makes a second picture as large: half of all the time.
    if !is_cut(chart) {
        drawn = drawn.replace("<g clip-path=", "<g class=");
    }
    let pixels = rendered(&drawn, frame)?;
    encoded(&pixels).map_err(|error| InkError::Pixels(error.to_string()))
}

/// The pixels of an SVG.
fn rendered(drawn: &str, frame: &Frame) -> Result<Pixmap, InkError> {
    let options = Options {
        fontdb: Arc::new(database()),
        font_family: FAMILY.to_owned(),
        ..Options::default()
    };
    let tree =
        Tree::from_str(drawn, &options).map_err(|error| InkError::Pixels(error.to_string()))?;
    let side = |pixels: u32| (pixels as f32 * frame.scale).round().max(1.0) as u32;
    let (width, height) = (side(frame.width), side(frame.height));
    let none = || InkError::Pixels(format!("{width} x {height} pixels are too many"));
    let mut pixels = Pixmap::new(width, height).ok_or_else(none)?;
    resvg::render(
        &tree,
        Transform::from_scale(frame.scale, frame.scale),
        &mut pixels.as_mut(),
    );
    Ok(pixels)
}

/// Whether anything may reach beyond its axes: an image, or points beyond an end that was set; others reach as far as their points.
fn is_cut(chart: &Chart) -> bool {
    let ChartBody::Series(all) = &chart.body else {
        return true;
    };
    let beyond = |axis: &ChartAxis, value: f64| {
        axis.from.is_some_and(|from| value < from) || axis.to.is_some_and(|to| value > to)
    };
    let is_cut = |series: &ChartSeries| {
        let side = chart
            .y
            .get(series.axis)
            .or(chart.y.first())
            .unwrap_or(&chart.x);
        series
            .points
            .iter()
            .any(|point| beyond(&chart.x, point.0) || beyond(side, point.1))
    };
    all.iter().any(is_cut)
}

/// A PNG of what has a ground of its own, as every chart, and is nowhere clear. Quickly packed it is larger by two thirds or more, in a tenth of the time.
fn encoded(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    // Row by row: a second picture in memory takes as long to get as to pack.
    let mut rows = writer.stream_writer()?;
    let mut line = Vec::with_capacity(pixels.width() as usize * 3);
    for row in pixels.data().chunks_exact(pixels.width() as usize * 4) {
        line.clear();
        row.as_chunks::<4>()
            .0
            .iter()
            .for_each(|pixel| line.extend_from_slice(&pixel[..3]));
        rows.write_all(&line)?;
    }
    rows.finish()?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// regression 0281: every line was drawn into a picture of its own, which half of the time of a PNG was spent on.
    #[test]
    fn regression_0281_only_what_reaches_beyond_its_axes_is_cut() {
        let chart = |to, highest| {
            let line = ChartSeries {
                points: vec![(0.0, 1.0), (1.0, highest)],
                ..ChartSeries::default()
            };
            Chart {
                y: vec![ChartAxis {
                    to,
                    ..ChartAxis::default()
                }],
                body: ChartBody::Series(vec![line]),
                ..Chart::default()
            }
        };
        assert!(
            !is_cut(&chart(None, 1e9))
                && !is_cut(&chart(Some(5.0), 5.0))
                && is_cut(&chart(Some(5.0), 6.0))
        );
        let Ok(stage) = Stage::new() else {
            eprintln!(
                "SKIP: regression_0281_only_what_reaches_beyond_its_axes_is_cut: this build has no chart script"
            );
            return;
        };
        // The same pixels with the cut that the SVG has and without it.
        let whole = chart(None, 4.0);
        let frame = Frame {
            width: 300,
            height: 200,
            ..Frame::default()
        };
        let pixels = |png: &[u8]| Pixmap::decode_png(png).expect("a picture").take();
        let cut =
            rendered(&svg(&whole, &frame, &stage).expect("a picture"), &frame).expect("a picture");
        let uncut = pixels(&png(&whole, &frame, &stage).expect("a picture"));
        let differing = cut
            .data()
            .iter()
            .zip(&uncut)
            .filter(|(one, other)| one.abs_diff(**other) > 8)
            .count();
        assert_eq!(differing, 0);
    }
}
