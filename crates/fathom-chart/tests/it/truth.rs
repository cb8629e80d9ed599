//! What is drawn is what was measured: positions and colours are read back from the SVG with the labels of the axes, and
//! compared with the data to half a pixel.

use crate::examples;
use std::collections::HashSet;

use crate::drawing::{Drawing, Pixel, Scale, Shape, colour, distance, plain_number};
use base64::Engine;
use fathom_analyse::chart;
use fathom_chart::{Frame, Renderer, Theme, svg};
use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartGrid, ChartSeries, MarkPosition, SeriesShape,
};

/// Half a pixel, and the rounding of coordinates to a tenth of one.
const TOLERANCE: f64 = 0.55;

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn renderer(test: &str) -> Option<Renderer> {
    let made = Renderer::new().ok();
    if made.is_none() {
        eprintln!("SKIP: {test}: this build has no chart script");
    }
    made
}

fn drawn(made: &Chart, frame: Frame, renderer: &Renderer) -> Drawing {
    Drawing::of(&svg(made, &frame, renderer).expect("a picture"))
}

/// The chart without the panels for which its image says that it has no room.
fn with_room(made: &Chart, drawing: &Drawing) -> Chart {
    let mut made = made.clone();
    let left_out = drawing.labels.iter().find_map(|label| {
        let rest = label.text.strip_prefix("No room for ")?;
        let (count, _) = rest.split_once(" of ")?;
        count.parse::<usize>().ok()
    });
    let Some(left_out) = left_out else {
        return made;
    };
    let kept = made.panels.len() - left_out;
    match &mut made.body {
        ChartBody::Series(all) => all.retain(|series| series.panel < kept),
        ChartBody::Grid(grid) => grid.values.truncate(grid.columns * grid.rows * kept),
    }
    made.marks
        .retain(|mark| mark.panel.is_none_or(|panel| panel < kept));
    made
}

/// All that differs between a chart and its picture.
fn differences(made: &Chart, drawing: &Drawing) -> Vec<String> {
    let made = &with_room(made, drawing);
    match &made.body {
        ChartBody::Series(all) => {
            let mut found = of_series(made, all, drawing);
            found.extend(of_marks(made, drawing));
            found
        }
        ChartBody::Grid(grid) if grid.solid => of_bars_in_space(made, grid, drawing),
        ChartBody::Grid(grid) if drawing.rasters.is_empty() => of_cells(made, grid, drawing),
        ChartBody::Grid(grid) => of_raster(made, grid, drawing),
    }
}

/// Values of an axis in its unit.
fn shown(value: f64, axis: &ChartAxis) -> f64 {
    value / axis.unit.divide
}

fn side(made: &Chart, axis: usize) -> &ChartAxis {
    made.y.get(axis).or(made.y.first()).expect("a y axis")
}

/// Labels that are not where the scale of their axis has their value, to half a pixel. A label has four figures.
fn untrue_labels(name: &str, scales: &[Scale]) -> Vec<String> {
    let mut found = Vec::new();
    if scales.is_empty() {
        found.push(format!("axis {name}: no two labels"));
    }
    for scale in scales {
        for (value, pixel) in &scale.ticks {
            let expected = scale.pixel(*value);
            let rounding = (scale.pixel(value * 1.0005) - expected).abs();
            if (expected - pixel).abs() > TOLERANCE + rounding.min(1.0) {
                found.push(format!(
                    "axis {name}: label {value} at {pixel:.1}, its value is at {expected:.1}"
                ));
            }
        }
    }
    found
}

fn of_series(made: &Chart, all: &[ChartSeries], drawing: &Drawing) -> Vec<String> {
    let across = drawing.across(&made.x);
    let mut found = untrue_labels("x", &across);
    let ups: Vec<Vec<Scale>> = made.y.iter().map(|axis| drawing.up(axis)).collect();
    for (axis, scales) in made.y.iter().zip(&ups) {
        found.extend(untrue_labels(&axis.title, scales));
    }
    if !found.is_empty() {
        return found;
    }
    let mut used = HashSet::new();
    for series in all.iter().filter(|series| !series.points.is_empty()) {
        let y = side(made, series.axis);
        let ups = ups.get(series.axis).unwrap_or(&ups[0]);
        let bases = bases(all, series);
        let mut nearest: Option<Vec<String>> = None;
        for (x_scale, y_scale) in across.iter().flat_map(|x| ups.iter().map(move |y| (x, y))) {
            let at = Placed {
                x: &made.x,
                y,
                x_scale,
                y_scale,
            };
            let misses = of_one(series, &bases, &at, drawing, &mut used);
            if nearest
                .as_ref()
                .is_none_or(|known| misses.len() < known.len())
            {
                nearest = Some(misses);
            }
            if nearest.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        let name = &series.name;
        found.extend(
            nearest
                .unwrap_or_default()
                .into_iter()
                .take(3)
                .map(|what| format!("series '{name}': {what}")),
        );
    }
    found
}

/// Positions in one panel.
struct Placed<'a> {
    x: &'a ChartAxis,
    y: &'a ChartAxis,
    x_scale: &'a Scale,
    y_scale: &'a Scale,
}

impl Placed<'_> {
    fn pixel(&self, x: f64, y: f64) -> Pixel {
        (
            self.x_scale.pixel(shown(x, self.x)),
            self.y_scale.pixel(shown(y, self.y)),
        )
    }

    /// Whether a value can be drawn: a logarithmic axis has no place for zero.
    fn is_drawn(&self, (x, y): (f64, f64)) -> bool {
        let has_place = |value: f64, axis: &ChartAxis| {
            value.is_finite() && (value > 0.0 || !matches!(axis.scale, AxisScale::Log(_)))
        };
        has_place(x, self.x) && has_place(y, self.y)
    }
}

fn close(a: Pixel, b: Pixel) -> bool {
    (a.0 - b.0).abs() <= TOLERANCE && (a.1 - b.1).abs() <= TOLERANCE
}

/// What is missing of one series in this panel. Shapes that were found belong to it from then on.
fn of_one(
    series: &ChartSeries,
    bases: &[f64],
    at: &Placed,
    drawing: &Drawing,
    used: &mut HashSet<usize>,
) -> Vec<String> {
    let mut found = match series.shape {
        SeriesShape::Bars | SeriesShape::Stacked => bars(series, bases, at, drawing, used),
        SeriesShape::Dots => dots(series, at, drawing),
        _ => line(series, at, drawing, used),
    };
    if !series.intervals.is_empty() {
        found.extend(intervals(series, at, drawing));
    }
    found
}

fn dots(series: &ChartSeries, at: &Placed, drawing: &Drawing) -> Vec<String> {
    let is_symbol = |shape: &Shape, pixel: Pixel| {
        let [left, top, right, bottom] = shape.bounds();
        let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        !shape.is_legend
            && (right - left) < 24.0
            && (close(shape.origin, pixel) || close(middle, pixel))
    };
    series
        .points
        .iter()
        .filter(|point| at.is_drawn(**point))
        .filter_map(|point| {
            let pixel = at.pixel(point.0, point.1);
            let drawn = drawing.shapes.iter().any(|shape| is_symbol(shape, pixel));
            (!drawn).then(|| format!("no symbol for {point:?} at {pixel:.1?}"))
        })
        .collect()
}

/// The vertices of a line; a step has its value until the next point.
fn expected_line(series: &ChartSeries, at: &Placed) -> Vec<Vec<Pixel>> {
    let mut parts: Vec<Vec<Pixel>> = vec![Vec::new()];
    for point in &series.points {
        if !at.is_drawn(*point) {
            let part = parts.last_mut().expect("there is always one");
            if let (SeriesShape::Steps, Some(last)) = (series.shape, part.last().copied()) {
                part.push((at.pixel(point.0, 1.0).0, last.1));
            }
            parts.push(Vec::new());
            continue;
        }
        let pixel = at.pixel(point.0, point.1);
        let part = parts.last_mut().expect("there is always one");
        if let (SeriesShape::Steps, Some(last)) = (series.shape, part.last().copied()) {
            part.push((pixel.0, last.1));
        }
        part.push(pixel);
    }
    parts.retain(|part| part.len() > 1);
    parts
}

fn line(
    series: &ChartSeries,
    at: &Placed,
    drawing: &Drawing,
    used: &mut HashSet<usize>,
) -> Vec<String> {
    let expected = expected_line(series, at);
    if expected.is_empty() {
        return dots(series, at, drawing);
    }
    let mut missing = Vec::new();
    let mut mine = Vec::new();
    for part in expected {
        let same = |shape: &Shape| {
            shape.is_stroked()
                && !shape.is_filled()
                && shape.vertices.len() > 1
                && part
                    .iter()
                    .all(|pixel| distance(*pixel, &shape.vertices) <= TOLERANCE)
                && shape
                    .vertices
                    .iter()
                    .all(|vertex| distance(*vertex, &part) <= TOLERANCE)
        };
        let drawn = (0..drawing.shapes.len())
            .find(|number| !used.contains(number) && same(&drawing.shapes[*number]));
        match drawn {
            Some(number) => mine.push(number),
            None => missing.push(format!(
                "no line of {} points from {:.1?} to {:.1?}",
                part.len(),
                part[0],
                part[part.len() - 1]
            )),
        }
    }
    if missing.is_empty() {
        used.extend(mine);
        if series.shape == SeriesShape::Line {
            missing = dots(series, at, drawing);
        }
    }
    missing
}

/// Where the bars of a series begin: a stacked one on top of those before it.
fn bases(all: &[ChartSeries], series: &ChartSeries) -> Vec<f64> {
    let below: Vec<&ChartSeries> = all
        .iter()
        .take_while(|other| !std::ptr::eq(*other, series))
        .filter(|other| {
            series.shape == SeriesShape::Stacked
                && other.shape == SeriesShape::Stacked
                && (other.panel, other.axis) == (series.panel, series.axis)
        })
        .collect();
    let at = |x: f64| -> f64 {
        let points = below.iter().flat_map(|other| &other.points);
        points
            .filter(|point| point.0 == x)
            .map(|point| point.1)
            .sum()
    };
    series.points.iter().map(|point| at(point.0)).collect()
}

fn bars(
    series: &ChartSeries,
    bases: &[f64],
    at: &Placed,
    drawing: &Drawing,
    used: &mut HashSet<usize>,
) -> Vec<String> {
    let slot = at.x_scale.per_unit().abs();
    let is_log = matches!(at.y.scale, AxisScale::Log(_));
    let colours: HashSet<&str> = drawing
        .shapes
        .iter()
        .filter(|shape| shape.is_filled())
        .map(|shape| shape.fill.as_str())
        .collect();
    let mut nearest: Option<Vec<String>> = None;
    for fill in colours {
        let (mut missing, mut mine) = (Vec::new(), Vec::new());
        let points = series.points.iter().zip(bases);
        for (point, base) in points.filter(|(point, _)| point.1 > 0.0) {
            let (middle, top) = at.pixel(point.0, base + point.1);
            let zero = at.pixel(point.0, *base).1;
            let is_bar = |shape: &Shape| {
                let [left, upper, right, lower] = shape.bounds();
                shape.fill == fill
                    && !shape.is_legend
                    && (f64::midpoint(left, right) - middle).abs() < slot / 2.0
                    && (upper - top).abs() <= TOLERANCE
                    && (is_log || (lower - zero).abs() <= TOLERANCE)
            };
            let drawn = (0..drawing.shapes.len()).find(|number| {
                !used.contains(number) && !mine.contains(number) && is_bar(&drawing.shapes[*number])
            });
            match drawn {
                Some(number) => mine.push(number),
                None => missing.push(format!(
                    "no bar for {point:?} around x = {middle:.1} with its top at {top:.1}"
                )),
            }
        }
        if missing.is_empty() {
            used.extend(mine);
            return missing;
        }
        if nearest
            .as_ref()
            .is_none_or(|known| missing.len() < known.len())
        {
            nearest = Some(missing);
        }
    }
    nearest.unwrap_or_default()
}

/// Whiskers: a vertical line from end to end. A band: a polygon with both ends as vertices.
fn intervals(series: &ChartSeries, at: &Placed, drawing: &Drawing) -> Vec<String> {
    let slot = match series.shape {
        SeriesShape::Bars => at.x_scale.per_unit().abs() / 2.0,
        _ => TOLERANCE,
    };
    let mut missing = Vec::new();
    for (point, interval) in series.points.iter().zip(&series.intervals) {
        if !at.is_drawn(*point)
            || !at.is_drawn((point.0, interval.0))
            || !at.is_drawn((point.0, interval.1))
        {
            continue;
        }
        let (x, low) = at.pixel(point.0, interval.0);
        let (_, high) = at.pixel(point.0, interval.1);
        let joins = |shape: &Shape| {
            let vertex = |wanted: f64| {
                shape.vertices.iter().any(|(at_x, at_y)| {
                    (at_x - x).abs() <= slot && (at_y - wanted).abs() <= TOLERANCE
                })
            };
            let [left, _, right, _] = shape.bounds();
            let is_whisker = shape.vertices.len() == 2 && right - left <= TOLERANCE;
            (is_whisker || shape.vertices.len() > 3 && shape.is_filled())
                && vertex(low)
                && vertex(high)
        };
        if !drawing.shapes.iter().any(joins) {
            missing.push(format!(
                "no interval {interval:?} at x = {x:.1} from {low:.1} to {high:.1}"
            ));
        }
    }
    missing
}

fn of_marks(made: &Chart, drawing: &Drawing) -> Vec<String> {
    let across = drawing.across(&made.x);
    let mut found = Vec::new();
    for mark in &made.marks {
        let ups = |axis: usize| drawing.up(side(made, axis));
        let near = |value: f64, wanted: f64| (value - wanted).abs() <= 1.0;
        let drawn = match mark.at {
            MarkPosition::Across(axis, value) => ups(axis).iter().any(|scale| {
                let y = scale.pixel(shown(value, side(made, axis)));
                drawing.shapes.iter().any(|shape| {
                    let [left, top, right, bottom] = shape.bounds();
                    shape.is_stroked() && right - left > 50.0 && near(top, y) && near(bottom, y)
                })
            }),
            MarkPosition::Up(value) => across.iter().any(|scale| {
                let x = scale.pixel(shown(value, &made.x));
                drawing.shapes.iter().any(|shape| {
                    let [left, top, right, bottom] = shape.bounds();
                    shape.is_stroked() && bottom - top > 50.0 && near(left, x) && near(right, x)
                })
            }),
            MarkPosition::Point(axis, x, y) => across.iter().any(|x_scale| {
                ups(axis).iter().any(|y_scale| {
                    let pixel = (
                        x_scale.pixel(shown(x, &made.x)),
                        y_scale.pixel(shown(y, side(made, axis))),
                    );
                    drawing
                        .shapes
                        .iter()
                        .any(|shape| close(shape.origin, pixel))
                })
            }),
        };
        if !drawn {
            found.push(format!("mark '{}' is not at {:?}", mark.label, mark.at));
        }
    }
    for event in &made.events {
        let drawn = across.iter().any(|scale| {
            let (from, to) = (
                scale.pixel(shown(event.from, &made.x)),
                scale.pixel(shown(event.to, &made.x)),
            );
            drawing.shapes.iter().any(|shape| {
                let [left, top, right, bottom] = shape.bounds();
                shape.is_filled()
                    && bottom - top > 5.0
                    && (left - from).abs() <= TOLERANCE
                    && ((right - to).abs() <= TOLERANCE || to - from < 2.0 && right - left <= 2.1)
            })
        });
        if !drawn {
            found.push(format!("event '{}' is not at its time", event.label));
        }
    }
    found
}

/// The colour bar: colours from its lower to its upper end, and the values there.
struct ColourBar {
    colours: Vec<[f64; 3]>,
    low: f64,
    high: f64,
    is_log: bool,
}

impl ColourBar {
    /// The ends have the labels furthest to the right that are a number with the unit of the grid: without a unit, those of the
    /// axes are numbers too.
    fn read(grid: &ChartGrid, drawing: &Drawing) -> Option<ColourBar> {
        let labels: Vec<((f64, f64), f64)> = drawing
            .labels
            .iter()
            .filter_map(|label| {
                let number = match grid.unit.symbol.as_str() {
                    "" => label.text.as_str(),
                    unit => label.text.strip_suffix(unit)?.trim_end(),
                };
                Some((label.at, plain_number(number)?))
            })
            .collect();
        let right = labels.iter().map(|(at, _)| at.0).fold(0.0, f64::max);
        let mut ends: Vec<(f64, f64)> = labels
            .iter()
            .filter(|(at, _)| right - at.0 <= 20.0)
            .map(|(at, number)| (at.1, *number))
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (high, low) = (ends.first()?.1, ends.last()?.1);
        let mut colours = drawing
            .gradients
            .iter()
            .max_by_key(|gradient| gradient.len())?
            .clone();
        // Light is much, whichever way the gradient runs.
        if colours[0].iter().sum::<f64>() > colours[colours.len() - 1].iter().sum() {
            colours.reverse();
        }
        Some(ColourBar {
            colours,
            low,
            high,
            is_log: grid.log,
        })
    }

    /// How far along the bar a colour is, 0 to 1.
    fn share(&self, seen: [f64; 3]) -> f64 {
        let apart = |a: [f64; 3], b: [f64; 3]| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let parts = self.colours.len() - 1;
        let mut nearest = (f64::INFINITY, 0.0);
        for (number, two) in self.colours.windows(2).enumerate() {
            for step in 0..=16 {
                let part = f64::from(step) / 16.0;
                let mixed: [f64; 3] =
                    std::array::from_fn(|n| two[0][n] + (two[1][n] - two[0][n]) * part);
                let at = (apart(mixed, seen), (number as f64 + part) / parts as f64);
                if at.0 < nearest.0 {
                    nearest = at;
                }
            }
        }
        nearest.1
    }

    fn expected(&self, value: f64) -> f64 {
        let place = |value: f64| {
            if self.is_log {
                value.max(self.low).ln()
            } else {
                value
            }
        };
        if self.high <= self.low {
            return 1.0;
        }
        ((place(value) - place(self.low)) / (place(self.high) - place(self.low))).clamp(0.0, 1.0)
    }

    /// Half a pixel of a bar of 180, and a step of a colour of eight bits, which is up to a 240th of the scale. The
    /// labels of the ends have at least three figures.
    fn is_same(&self, seen: [f64; 3], value: f64) -> bool {
        (self.share(seen) - self.expected(value)).abs() <= 0.5 / 180.0 + 1.0 / 240.0 + 0.005
    }
}

fn of_cells(made: &Chart, grid: &ChartGrid, drawing: &Drawing) -> Vec<String> {
    let (mut across, mut up) = (drawing.across(&made.x), drawing.up(side(made, 0)));
    if across.is_empty() || up.is_empty() {
        return vec!["no labels at the axes".to_owned()];
    }
    // Panels from left to right, row by row; the highest row has the smallest pixels.
    up.sort_by(|a, b| a.pixel(0.0).total_cmp(&b.pixel(0.0)));
    across.sort_by(|a, b| a.pixel(0.0).total_cmp(&b.pixel(0.0)));
    across.dedup_by(|a, b| (a.pixel(0.0) - b.pixel(0.0)).abs() < 1.0);
    let Some(bar) = ColourBar::read(grid, drawing) else {
        return vec!["no colour bar".to_owned()];
    };
    let mut found = Vec::new();
    for (place, value) in grid.values.iter().enumerate() {
        let (column, row, panel) = grid.place(place);
        let columns = across.len();
        let (Some(x), Some(y)) = (across.get(panel % columns), up.get(panel / columns)) else {
            found.push(format!("cell {place}: panel {panel} has no axes"));
            continue;
        };
        let pixel = (x.pixel(column as f64), y.pixel(row as f64));
        let is_here = |shape: &&Shape| {
            let [left, top, right, bottom] = shape.bounds();
            let size = (right - left) * (bottom - top);
            let expected = (x.per_unit() * y.per_unit()).abs();
            close(
                (f64::midpoint(left, right), f64::midpoint(top, bottom)),
                pixel,
            ) && shape.is_filled()
                && (size / expected - 1.0).abs() < 0.1
        };
        let cell = drawing.shapes.iter().find(is_here);
        match (value, cell.and_then(|cell| colour(&cell.fill))) {
            (None, None) => {}
            (None, Some(_)) => found.push(format!("cell {place} has a colour and no value")),
            (Some(value), None) => found.push(format!("cell {place}: {value} is not drawn")),
            (Some(value), Some(seen)) => {
                let value = value / grid.unit.divide;
                if !bar.is_same(seen, value) {
                    found.push(format!(
                        "cell {place}: {value} has the colour of {:.3} of the scale, not {:.3}",
                        bar.share(seen),
                        bar.expected(value)
                    ));
                }
            }
        }
    }
    found
}

fn of_raster(made: &Chart, grid: &ChartGrid, drawing: &Drawing) -> Vec<String> {
    let y_axis = side(made, 0);
    let (across, up) = (drawing.across(&made.x), drawing.up(y_axis));
    let mut found = untrue_labels("x", &across);
    found.extend(untrue_labels("y", &up));
    let Some(bar) = ColourBar::read(grid, drawing) else {
        found.push("no colour bar".to_owned());
        return found;
    };
    let size = (grid.columns * grid.rows).max(1);
    let panels: Vec<&[Option<f64>]> = grid.values.chunks(size).collect();
    if drawing.rasters.len() != panels.len() {
        found.push(format!(
            "{} images for {} panels",
            drawing.rasters.len(),
            panels.len()
        ));
        return found;
    }
    let ends = |axis: &ChartAxis, count: usize| match axis.scale {
        AxisScale::Names(_) => (-0.5, count as f64 - 0.5),
        _ => (
            shown(axis.from.unwrap_or(0.0), axis),
            shown(axis.to.unwrap_or(count as f64), axis),
        ),
    };
    let (from, to) = ends(&made.x, grid.columns);
    let (low, high) = ends(y_axis, grid.rows);
    for (raster, values) in drawing.rasters.iter().zip(panels) {
        let near = |seen: f64, expected: f64| (seen - expected).abs() <= TOLERANCE;
        let [left, top, right, bottom] = raster.place;
        // Panels share their axes: each has those of its row and column.
        let fits_across = across
            .iter()
            .any(|x| near(left, x.pixel(from)) && near(right, x.pixel(to)));
        let fits_up = up
            .iter()
            .any(|y| near(top, y.pixel(high)) && near(bottom, y.pixel(low)));
        if !fits_across || !fits_up {
            found.push(format!(
                "the image is at {:.1?}, which is the place of no axes",
                raster.place
            ));
        }
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(
                raster
                    .url
                    .strip_prefix("data:image/png;base64,")
                    .expect("an embedded PNG"),
            )
            .expect("base64");
        let pixels = resvg::tiny_skia::Pixmap::decode_png(&bytes).expect("a PNG");
        let (wide, tall) = (
            pixels.width() as usize / grid.columns,
            pixels.height() as usize / grid.rows,
        );
        for (place, value) in values.iter().enumerate() {
            let (column, row) = (place % grid.columns, grid.rows - 1 - place / grid.columns);
            let pixel = pixels
                .pixel(
                    (column * wide + wide / 2) as u32,
                    (row * tall + tall / 2) as u32,
                )
                .expect("a pixel of the image")
                .demultiply();
            let seen = [pixel.red(), pixel.green(), pixel.blue()].map(f64::from);
            match value {
                None if pixel.alpha() > 0 => {
                    found.push(format!("cell {place} has a colour and no value"));
                }
                Some(value) if !bar.is_same(seen, value / grid.unit.divide) => {
                    found.push(format!(
                        "cell {place}: {value} has the colour of {:.3} of the scale, not {:.3}",
                        bar.share(seen),
                        bar.expected(value / grid.unit.divide)
                    ));
                }
                _ => {}
            }
        }
    }
    found.truncate(5);
    found
}

/// The front of each bar in space is as high as the labels at its side say.
fn of_bars_in_space(made: &Chart, grid: &ChartGrid, drawing: &Drawing) -> Vec<String> {
    let axis = ChartAxis {
        unit: grid.unit.clone(),
        ..ChartAxis::default()
    };
    let scales = drawing.up(&axis);
    let Some(scale) = scales.iter().max_by_key(|scale| scale.ticks.len()) else {
        return vec!["no labels".to_owned()];
    };
    let mut found = untrue_labels(&made.name, std::slice::from_ref(scale));
    // The sides of a bar are polygons with two vertical edges; the front is the left neighbour of the side.
    let mut heights: Vec<f64> = drawing
        .shapes
        .iter()
        .filter(|shape| shape.vertices.len() == 4 && shape.is_filled())
        .filter_map(|shape| {
            let v = &shape.vertices;
            let is_upright =
                (v[0].0 - v[3].0).abs() < 0.2 && (v[1].0 - v[2].0).abs() < 0.2 && v[1].0 > v[0].0;
            is_upright.then(|| f64::midpoint(v[0].1 - v[3].1, v[1].1 - v[2].1))
        })
        .collect();
    for value in grid.values.iter().flatten() {
        let value = value / grid.unit.divide;
        let expected = (scale.per_unit() * value).abs();
        for face in ["front", "side"] {
            match heights
                .iter()
                .position(|height| (height - expected).abs() <= TOLERANCE)
            {
                Some(place) => {
                    heights.swap_remove(place);
                }
                None => found.push(format!("no {face} of {expected:.1} pixels for {value}")),
            }
        }
    }
    found
}

const FRAMES: [Frame; 3] = [
    Frame {
        width: 1400,
        height: 800,
        scale: 1.0,
        theme: Theme::Light,
    },
    Frame {
        width: 1000,
        height: 600,
        scale: 1.0,
        theme: Theme::Dark,
    },
    Frame {
        width: 375,
        height: 400,
        scale: 1.0,
        theme: Theme::Light,
    },
];

#[test]
fn every_kind_of_chart_is_drawn_as_its_data_says() {
    let Some(renderer) = renderer("every_kind_of_chart_is_drawn_as_its_data_says") else {
        return;
    };
    let mut found = Vec::new();
    for (name, kind, jobs, options) in examples::examples() {
        let made = chart(kind, &jobs, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        for frame in FRAMES {
            let misses = differences(&made, &drawn(&made, frame, &renderer));
            found.extend(
                misses
                    .into_iter()
                    .map(|what| format!("{name}, {} wide: {what}", frame.width)),
            );
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Each shape on each scale, with gaps, intervals, several series, one point, zeros, and very large and small values.
#[test]
fn every_shape_is_drawn_to_scale_on_every_axis() {
    let Some(renderer) = renderer("every_shape_is_drawn_to_scale_on_every_axis") else {
        return;
    };
    let names = || AxisScale::Names(["a", "b", "c", "d", "e"].map(str::to_owned).to_vec());
    let mut found = Vec::new();
    for shape in [
        SeriesShape::Line,
        SeriesShape::Thin,
        SeriesShape::Steps,
        SeriesShape::Dots,
        SeriesShape::Bars,
    ] {
        let xs = match shape {
            SeriesShape::Bars => vec![names()],
            _ => vec![AxisScale::Linear, AxisScale::Log(2), names()],
        };
        for x in &xs {
            for y in [AxisScale::Linear, AxisScale::Close, AxisScale::Log(10)] {
                // Bars start at zero.
                if shape == SeriesShape::Bars && y != AxisScale::Linear {
                    continue;
                }
                for (case, all) in cases(shape, x) {
                    let made = Chart {
                        title: "Title".into(),
                        x: ChartAxis {
                            title: "x".into(),
                            scale: x.clone(),
                            from: matches!(x, AxisScale::Log(_)).then_some(1.0),
                            to: matches!(x, AxisScale::Log(_)).then_some(16.0),
                            ..ChartAxis::default()
                        },
                        y: vec![ChartAxis {
                            title: "y".into(),
                            scale: y.clone(),
                            ..ChartAxis::default()
                        }],
                        body: ChartBody::Series(all),
                        ..Chart::default()
                    };
                    // Constant values leave an axis that starts at the smallest value without a length.
                    let is_flat = matches!(case, "one point" | "zeros");
                    if is_flat && y != AxisScale::Linear {
                        continue;
                    }
                    let misses = differences(&made, &drawn(&made, FRAMES[0], &renderer));
                    found.extend(
                        misses
                            .into_iter()
                            .map(|what| format!("{shape:?}, {case}, {x:?} and {y:?}: {what}")),
                    );
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Series of five points, whose x values suit the axis.
fn cases(shape: SeriesShape, x: &AxisScale) -> Vec<(&'static str, Vec<ChartSeries>)> {
    let at = |n: usize| match x {
        AxisScale::Log(_) => f64::from(1 << n),
        _ => n as f64,
    };
    let series = |name: &str, colour, values: [f64; 5]| ChartSeries {
        name: name.into(),
        shape,
        colour,
        points: values
            .into_iter()
            .enumerate()
            .map(|(n, value)| (at(n), value))
            .collect(),
        ..ChartSeries::default()
    };
    let several = || {
        vec![
            series("first", 0, [3.0, 141.0, 59.0, 265.0, 358.0]),
            series("second", 1, [97.0, 93.0, 238.0, 46.0, 26.0]),
            series("third", 2, [1.0, 2.0, 4.0, 8.0, 16.0]),
        ]
    };
    let mut with_intervals = several();
    for series in &mut with_intervals {
        series.intervals = series
            .points
            .iter()
            .map(|point| (point.1 * 0.8, point.1 * 1.3))
            .collect();
    }
    let mut cases = vec![
        ("several", several()),
        ("intervals", with_intervals),
        ("large", vec![series("large", 0, [1e9, 3e9, 2e9, 5e9, 4e9])]),
        (
            "small",
            vec![series("small", 0, [0.002, 0.003, 0.001, 0.005, 0.004])],
        ),
        ("zeros", vec![series("zeros", 0, [0.0; 5])]),
    ];
    if shape != SeriesShape::Bars {
        cases.push((
            "gap",
            vec![series("gap", 0, [1.0, 5.0, f64::NAN, 3.0, 2.0])],
        ));
        let mut one = series("one", 0, [42.0; 5]);
        one.points.truncate(1);
        cases.push(("one point", vec![one]));
    }
    cases
}

/// These tests find a value that is drawn a few pixels away from its place, and a cell whose colour is a twentieth of
/// the scale off.
#[test]
fn a_wrong_position_is_found_in_every_kind_of_chart() {
    let Some(renderer) = renderer("a_wrong_position_is_found_in_every_kind_of_chart") else {
        return;
    };
    let mut unnoticed = Vec::new();
    for (name, kind, jobs, options) in examples::examples() {
        let mut made = chart(kind, &jobs, &options).expect("a chart");
        let drawing = drawn(&made, FRAMES[0], &renderer);
        match &mut made.body {
            ChartBody::Series(all) => {
                let y = made.y.first().map(|axis| axis.scale.clone());
                let highest = all
                    .iter()
                    .flat_map(|series| &series.points)
                    .map(|point| point.1)
                    .fold(0.0, f64::max);
                let series = all
                    .iter_mut()
                    .find(|series| series.axis == 0 && !series.points.is_empty())
                    .expect("a series");
                let middle = series.points.len() / 2;
                let value = &mut series.points[middle].1;
                match y {
                    Some(AxisScale::Log(_)) => *value *= 1.05,
                    _ => *value += highest * 0.01,
                }
            }
            ChartBody::Grid(grid) => {
                let log = grid.log;
                let seen: Vec<f64> = grid.values.iter().flatten().copied().collect();
                let low = seen.iter().copied().fold(f64::INFINITY, f64::min);
                let high = seen.iter().copied().fold(0.0, f64::max);
                let value = grid
                    .values
                    .iter_mut()
                    .flatten()
                    .find(|value| **value < high)
                    .expect("a value");
                if log {
                    *value *= (high / low).powf(0.05);
                } else {
                    *value += (high - low) * 0.05;
                }
            }
        }
        if differences(&made, &drawing).is_empty() {
            unnoticed.push(name);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
