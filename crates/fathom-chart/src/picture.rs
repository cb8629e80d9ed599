//! A chart as an image file: SVG, and PNG made from it.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use fathom_model::{Chart, ChartAxis, ChartBody, ChartSeries};
use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Options, Tree};

use crate::error::ChartError;
use crate::frame::Frame;
use crate::option::{Medium, option};
use crate::outlines::with_outlines;
use crate::raster::Rasters;
use crate::renderer::Renderer;

/// The chart as SVG.
///
/// # Errors
/// If the script fails.
pub fn svg(chart: &Chart, frame: &Frame, renderer: &Renderer) -> Result<String, ChartError> {
    let option = option(
        chart,
        Medium::Image {
            width: frame.width,
            height: frame.height,
        },
    );
    let drawn = renderer.draw(&option.to_string(), frame.theme, frame.width, frame.height)?;
    // A raster is stretched over its axes cell by cell, without keeping proportions and without blur.
    Ok(drawn.replace(
        "<image ",
        "<image preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" ",
    ))
}

/// The chart as PNG.
///
/// # Errors
/// If the script fails, or the image is too large for memory.
pub fn png(chart: &Chart, frame: &Frame, renderer: &Renderer) -> Result<Vec<u8>, ChartError> {
    let mut drawn = svg(chart, frame, renderer)?;
    // The script clips every line, and resvg allocates a full image for each clip: half of the run time.
    if !is_clipped(chart) {
        drawn = drawn.replace("<g clip-path=", "<g class=");
    }
    encoded(&drawn, frame)
}

/// Rows of a band: the bands of an image are filled by two threads, and packed by a third as they arrive.
const BAND: u32 = 96;
/// Threads that fill bands.
const FILLERS: u32 = 2;

/// The image of an SVG as an opaque PNG.
fn encoded(drawn: &str, frame: &Frame) -> Result<Vec<u8>, ChartError> {
    let drawn = with_outlines(drawn);
    let tree = Tree::from_str(&drawn, &Options::default())
        .map_err(|error| ChartError::Pixels(error.to_string()))?;
    let rasters = Rasters::of(&tree);
    let side = |pixels: u32| (pixels as f32 * frame.scale).round().max(1.0) as u32;
    let (width, height) = (side(frame.width), side(frame.height));
    let bands = height.div_ceil(BAND);
    let filler = |first: u32, bands: u32, filled: &SyncSender<Option<Pixmap>>| {
        for band in (first..bands).step_by(FILLERS as usize) {
            let rows = BAND.min(height - band * BAND);
            if filled
                .send(rasters.band(&tree, frame.scale, band * BAND, (width, rows)))
                .is_err()
            {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let filled: Vec<Receiver<Option<Pixmap>>> = (0..FILLERS)
            .map(|first| {
                let (sender, receiver) = sync_channel(bands as usize);
                scope.spawn(move || filler(first, bands, &sender));
                receiver
            })
            .collect();
        let none = || ChartError::Pixels(format!("{width} x {height} pixels is too large"));
        let next = |band: u32| {
            let filled = filled[(band % FILLERS) as usize].recv();
            filled.ok().flatten().ok_or_else(none)
        };
        packed((0..bands).map(next), width, height)
    })
}

/// Whether anything may extend beyond its axes: a raster, or points beyond an axis limit that was set.
fn is_clipped(chart: &Chart) -> bool {
    let ChartBody::Series(all) = &chart.body else {
        return true;
    };
    let beyond = |axis: &ChartAxis, value: f64| {
        axis.from.is_some_and(|from| value < from) || axis.to.is_some_and(|to| value > to)
    };
    let is_clipped = |series: &ChartSeries| {
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
    all.iter().any(is_clipped)
}

/// An opaque PNG of these bands. Fast compression makes it larger by two thirds, in a tenth of the time. To try all five filters for
/// each row would take three times as long as all of that.
fn packed(
    bands: impl Iterator<Item = Result<Pixmap, ChartError>>,
    width: u32,
    height: u32,
) -> Result<Vec<u8>, ChartError> {
    let failed = |error: png::EncodingError| ChartError::Pixels(error.to_string());
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(failed)?;
    // Row by row: allocating a second image would take as long as compressing it.
    let mut rows = writer.stream_writer().map_err(failed)?;
    let side = width as usize;
    let mut line = vec![0; side * 3];
    for band in bands {
        let band = band?;
        let mut above: &[u8] = &[];
        for row in band.data().chunks_exact(side * 4) {
            // Most rows of a chart are equal to the one above.
            if row != above {
                let colours = line.as_chunks_mut::<3>().0.iter_mut();
                for (colour, [red, green, blue, _]) in colours.zip(row.as_chunks::<4>().0) {
                    *colour = [*red, *green, *blue];
                }
                above = row;
            }
            rows.write_all(&line)
                .map_err(|error| ChartError::Pixels(error.to_string()))?;
        }
    }
    rows.finish().map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0281: every line was drawn into a separate image, which took half of the time for
    /// a PNG.
    #[test]
    fn regression_0281_only_what_extends_beyond_its_axes_is_clipped() {
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
            !is_clipped(&chart(None, 1e9))
                && !is_clipped(&chart(Some(5.0), 5.0))
                && is_clipped(&chart(Some(5.0), 6.0))
        );
        let Ok(renderer) = Renderer::new() else {
            eprintln!(
                "SKIP: regression_0281_only_what_extends_beyond_its_axes_is_clipped: this build has no chart script"
            );
            return;
        };
        // The same pixels with the clip paths of the SVG and without them.
        let whole = chart(None, 4.0);
        let frame = Frame {
            width: 300,
            height: 200,
            ..Frame::default()
        };
        let pixels = |png: &[u8]| Pixmap::decode_png(png).expect("a picture").take();
        // The reference is filled at once, the PNG in bands.
        let clipped = with_outlines(&svg(&whole, &frame, &renderer).expect("a picture"));
        let tree = Tree::from_str(&clipped, &Options::default()).expect("an SVG");
        let clipped = Rasters::of(&tree)
            .band(&tree, frame.scale, 0, (600, 400))
            .expect("memory");
        let unclipped = pixels(&png(&whole, &frame, &renderer).expect("a picture"));
        assert_eq!(clipped.data().len(), unclipped.len());
        let differing = clipped
            .data()
            .iter()
            .zip(&unclipped)
            .filter(|(one, other)| one.abs_diff(**other) > 8)
            .count();
        assert_eq!(differing, 0);
    }
}
