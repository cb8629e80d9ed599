//! Reads a drawn SVG back: texts, shapes in pixels, and the scales of the axes from their labels.

use fathom_model::{AxisScale, ChartAxis};
use roxmltree::{Document, Node};

/// A position in pixels.
pub type Pixel = (f64, f64);

/// A line of text.
#[derive(Clone, Debug)]
pub struct Label {
    pub text: String,
    /// `start`, `middle` or `end`.
    pub anchor: String,
    /// Where it is anchored.
    pub at: Pixel,
    pub is_rotated: bool,
    pub is_bold: bool,
    /// Whether `at` is the middle of its height, not its base line.
    pub is_central: bool,
    /// Size of the font in pixels.
    pub size: f64,
    /// Position among all elements; later ones cover earlier ones.
    pub number: usize,
}

/// A path, rectangle, polygon or polyline: the vertices of its first subpath, in pixels.
#[derive(Clone, Debug)]
pub struct Shape {
    pub vertices: Vec<Pixel>,
    /// Where its own origin is: the middle of a symbol.
    pub origin: Pixel,
    pub fill: String,
    pub stroke: String,
    pub is_legend: bool,
    /// Position among all elements; later ones cover earlier ones.
    pub number: usize,
}

impl Shape {
    pub fn is_filled(&self) -> bool {
        !matches!(self.fill.as_str(), "" | "none" | "transparent")
    }

    pub fn is_stroked(&self) -> bool {
        !matches!(self.stroke.as_str(), "" | "none" | "transparent")
    }

    /// Left, top, right, bottom.
    pub fn bounds(&self) -> [f64; 4] {
        let unbounded = [
            f64::INFINITY,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
        ];
        self.vertices
            .iter()
            .fold(unbounded, |[left, top, right, bottom], (x, y)| {
                [left.min(*x), top.min(*y), right.max(*x), bottom.max(*y)]
            })
    }
}

/// An embedded raster image.
#[derive(Clone, Debug)]
pub struct Raster {
    /// Left, top, right, bottom, pixels.
    pub place: [f64; 4],
    /// Its `data:` URL.
    pub url: String,
}

/// Everything in a picture.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    pub labels: Vec<Label>,
    pub shapes: Vec<Shape>,
    pub rasters: Vec<Raster>,
    /// Colours of each gradient with at least two different ones, from its start to its end.
    pub gradients: Vec<Vec<[f64; 3]>>,
}

/// x' = a x + c y + e, y' = b x + d y + f.
type Matrix = [f64; 6];

impl Drawing {
    pub fn of(svg: &str) -> Drawing {
        let document = Document::parse(svg).expect("the SVG is well-formed XML");
        let mut drawing = Drawing::default();
        for node in document.descendants().filter(Node::is_element) {
            if node
                .ancestors()
                .any(|parent| matches!(parent.tag_name().name(), "defs" | "clipPath"))
            {
                if node.tag_name().name() == "linearGradient" {
                    drawing.gradients.extend(gradient(node));
                }
                continue;
            }
            drawing.add(node);
        }
        drawing
    }

    fn add(&mut self, node: Node) {
        let matrix = node.attribute("transform").map_or(IDENTITY, matrix);
        let number = |name: &str| -> f64 {
            let text = node.attribute(name).unwrap_or("0");
            text.parse().unwrap_or(0.0)
        };
        match node.tag_name().name() {
            "text" => self.labels.push(Label {
                text: node.text().unwrap_or("").trim().to_owned(),
                anchor: node.attribute("text-anchor").unwrap_or("start").to_owned(),
                at: apply(matrix, (number("x"), number("y"))),
                is_rotated: matrix[1].abs() > 1e-6,
                is_bold: node.attribute("style").unwrap_or("").contains("bold"),
                is_central: node.attribute("dominant-baseline") == Some("central"),
                size: font_size(node.attribute("style").unwrap_or("")),
                number: node.id().get_usize(),
            }),
            "image" => {
                let (left, top) = apply(matrix, (number("x"), number("y")));
                self.rasters.push(Raster {
                    place: [left, top, left + number("width"), top + number("height")],
                    url: node
                        .attribute("href")
                        .or(node.attribute(("http://www.w3.org/1999/xlink", "href")))
                        .unwrap_or("")
                        .to_owned(),
                });
            }
            "path" => {
                for vertices in subpaths(node.attribute("d").unwrap_or("")) {
                    self.push(node, matrix, vertices);
                }
            }
            "polygon" | "polyline" => {
                let vertices = pairs(node.attribute("points").unwrap_or(""));
                self.push(node, matrix, vertices);
            }
            "rect" => {
                let (x, y) = (number("x"), number("y"));
                let (right, bottom) = (x + number("width"), y + number("height"));
                let vertices = vec![(x, y), (right, y), (right, bottom), (x, bottom)];
                self.push(node, matrix, vertices);
            }
            _ => {}
        }
    }

    fn push(&mut self, node: Node, matrix: Matrix, vertices: Vec<Pixel>) {
        self.shapes.push(Shape {
            vertices: vertices
                .into_iter()
                .map(|vertex| apply(matrix, vertex))
                .collect(),
            origin: (matrix[4], matrix[5]),
            fill: node.attribute("fill").unwrap_or("").to_owned(),
            stroke: node.attribute("stroke").unwrap_or("").to_owned(),
            is_legend: node.attribute("ecmeta_ssr_type") == Some("legend"),
            number: node.id().get_usize(),
        });
    }

    /// Scales of an x axis, one for each panel: labels on one line, with rising values.
    pub fn across(&self, axis: &ChartAxis) -> Vec<Scale> {
        let below = |label: &&Label| label.anchor == "middle" || label.is_rotated;
        let key = |label: &Label| (label.at.1 * 2.0).round() as i64;
        let mut found = Vec::new();
        for line in groups(self.labels.iter().filter(below), key) {
            let mut ticks: Vec<(f64, f64)> = line
                .iter()
                .filter_map(|label| Some((value(&label.text, axis)?, label.at.0)))
                .collect();
            ticks.sort_by(|a, b| a.1.total_cmp(&b.1));
            found.extend(scales(&ticks, axis));
        }
        found
    }

    /// Scales of a y axis, one for each panel: labels in one column, with values that rise upwards.
    pub fn up(&self, axis: &ChartAxis) -> Vec<Scale> {
        let beside = |label: &&Label| label.anchor != "middle" && !label.is_rotated;
        let key = |label: &Label| (label.at.0 * 2.0).round() as i64;
        let mut found = Vec::new();
        for column in groups(self.labels.iter().filter(beside), key) {
            let mut ticks: Vec<(f64, f64)> = column
                .iter()
                .filter_map(|label| Some((value(&label.text, axis)?, label.at.1)))
                .collect();
            ticks.sort_by(|a, b| b.1.total_cmp(&a.1));
            found.extend(scales(&ticks, axis));
        }
        found
    }
}

fn groups<'a>(
    labels: impl Iterator<Item = &'a Label>,
    key: impl Fn(&Label) -> i64,
) -> Vec<Vec<&'a Label>> {
    let mut groups: Vec<(i64, Vec<&Label>)> = Vec::new();
    for label in labels {
        let key = key(label);
        match groups
            .iter_mut()
            .find(|(known, _)| (known - key).abs() <= 1)
        {
            Some((_, group)) => group.push(label),
            None => groups.push((key, vec![label])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Where the values of an axis are drawn, as its labels say.
#[derive(Clone, Debug)]
pub struct Scale {
    is_log: bool,
    start: f64,
    step: f64,
    /// Values and pixels of its labels.
    pub ticks: Vec<(f64, f64)>,
}

impl Scale {
    /// The pixel of a value in the unit of the axis.
    pub fn pixel(&self, value: f64) -> f64 {
        self.start + self.step * self.place(value)
    }

    /// Pixels between values that differ by one.
    pub fn per_unit(&self) -> f64 {
        self.step
    }

    /// The largest distance of a label from its value, in pixels.
    fn error(&self) -> f64 {
        let distances = self
            .ticks
            .iter()
            .map(|(value, pixel)| (self.pixel(*value) - pixel).abs());
        distances.fold(0.0, f64::max)
    }

    fn place(&self, value: f64) -> f64 {
        if self.is_log { value.ln() } else { value }
    }

    /// The line through the labels by least squares.
    fn through(ticks: &[(f64, f64)], is_log: bool) -> Scale {
        let mut scale = Scale {
            is_log,
            start: 0.0,
            step: 0.0,
            ticks: ticks.to_vec(),
        };
        let count = ticks.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| ticks.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|tick| scale.place(tick.0)), mean(&|tick| tick.1));
        let product = mean(&|tick| (scale.place(tick.0) - x) * (tick.1 - y));
        let square = mean(&|tick| (scale.place(tick.0) - x).powi(2));
        scale.step = product / square;
        scale.start = y - scale.step * x;
        scale
    }
}

/// Splits labels where the values start anew; a scale needs two labels.
fn scales(ticks: &[(f64, f64)], axis: &ChartAxis) -> Vec<Scale> {
    let is_log = matches!(axis.scale, AxisScale::Log(_));
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    for tick in ticks.iter().filter(|tick| !is_log || tick.0 > 0.0) {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|last| last.0 < tick.0) => run.push(*tick),
            _ => runs.push(vec![*tick]),
        }
    }
    runs.iter()
        .filter(|run| run.len() > 1)
        .flat_map(|run| {
            // Labels of two panels, one above the other, may rise without a gap.
            let fits = |ticks: &[(f64, f64)]| Scale::through(ticks, is_log).error() < 1.5;
            let split = (2..run.len().saturating_sub(1))
                .find(|at| !fits(run) && fits(&run[..*at]) && fits(&run[*at..]));
            match split {
                Some(at) => vec![&run[..at], &run[at..]],
                None => vec![&run[..]],
            }
        })
        .map(|run| Scale::through(run, is_log))
        .collect()
}

/// The value of a label in the unit of its axis.
pub fn value(text: &str, axis: &ChartAxis) -> Option<f64> {
    match &axis.scale {
        AxisScale::Names(names) => {
            // A long name is cut, or broken into lines.
            let start = text.trim_end_matches(['.', '…']).trim_end();
            let begins = |name: &&String| start.len() > 3 && name.starts_with(start);
            let found = names.iter().position(|name| name == text).or_else(|| {
                let is_unique = names.iter().filter(begins).count() == 1;
                names.iter().position(|name| is_unique && begins(&name))
            })?;
            Some(found as f64)
        }
        AxisScale::Nines => {
            let percent: f64 = text.strip_suffix(" %")?.parse().ok()?;
            Some(-(1.0 - percent / 100.0).log10())
        }
        AxisScale::Log(2) if axis.unit.symbol == "bytes" => {
            let (number, unit) = text.split_once(' ')?;
            let power = ["B", "KiB", "MiB", "GiB", "TiB"]
                .iter()
                .position(|known| *known == unit)?;
            Some(number.parse::<f64>().ok()? * 1024f64.powi(power as i32))
        }
        _ => plain_number(text),
    }
}

/// `1,234`, `0.5`, `12 k`, `1.5 M`.
pub fn plain_number(text: &str) -> Option<f64> {
    let (text, factor) = match text.split_once(' ') {
        Some((number, "k")) => (number, 1e3),
        Some((number, "M")) => (number, 1e6),
        Some((number, "G")) => (number, 1e9),
        Some(_) => return None,
        None => (text, 1.0),
    };
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return None;
    }
    Some(text.replace(',', "").parse::<f64>().ok()? * factor)
}

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn matrix(text: &str) -> Matrix {
    text.split(')')
        .filter_map(|part| part.trim().split_once('('))
        .fold(IDENTITY, |matrix, (name, arguments)| {
            let n = numbers(arguments);
            let next = match (name.trim(), &n[..]) {
                ("translate", [x, y]) => [1.0, 0.0, 0.0, 1.0, *x, *y],
                ("translate", [x]) => [1.0, 0.0, 0.0, 1.0, *x, 0.0],
                ("scale", [x, y]) => [*x, 0.0, 0.0, *y, 0.0, 0.0],
                ("scale", [both]) => [*both, 0.0, 0.0, *both, 0.0, 0.0],
                ("rotate", [degrees]) => {
                    let (sin, cos) = degrees.to_radians().sin_cos();
                    [cos, sin, -sin, cos, 0.0, 0.0]
                }
                ("matrix", [a, b, c, d, e, f]) => [*a, *b, *c, *d, *e, *f],
                _ => panic!("unknown transform: {text}"),
            };
            times(matrix, next)
        })
}

fn times(m: Matrix, n: Matrix) -> Matrix {
    let (e, f) = apply(m, (n[4], n[5]));
    [
        m[0] * n[0] + m[2] * n[1],
        m[1] * n[0] + m[3] * n[1],
        m[0] * n[2] + m[2] * n[3],
        m[1] * n[2] + m[3] * n[3],
        e,
        f,
    ]
}

fn apply(m: Matrix, (x, y): Pixel) -> Pixel {
    (m[0] * x + m[2] * y + m[4], m[1] * x + m[3] * y + m[5])
}

fn numbers(text: &str) -> Vec<f64> {
    text.split([' ', ','])
        .filter_map(|number| number.parse().ok())
        .collect()
}

fn pairs(text: &str) -> Vec<Pixel> {
    numbers(text)
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect()
}

/// The vertices of each subpath; of curves and arcs only their ends.
fn subpaths(data: &str) -> Vec<Vec<Pixel>> {
    let mut all: Vec<Vec<Pixel>> = Vec::new();
    let mut at = (0.0, 0.0);
    let mut rest = data;
    while let Some(command) = rest.chars().next() {
        rest = &rest[1..];
        let end = rest
            .find(|c: char| c.is_ascii_alphabetic() && c != 'e')
            .unwrap_or(rest.len());
        let n = numbers(&rest[..end].replace('-', " -").replace("e -", "e-"));
        rest = &rest[end..];
        let arguments = match command {
            'A' | 'a' => 7,
            'C' | 'c' => 6,
            'Q' | 'q' => 4,
            _ => 2,
        };
        for part in n.chunks_exact(arguments) {
            let (x, y) = (part[arguments - 2], part[arguments - 1]);
            at = if command.is_ascii_lowercase() {
                (at.0 + x, at.1 + y)
            } else {
                (x, y)
            };
            if matches!(command, 'M' | 'm') {
                all.push(Vec::new());
            }
            all.last_mut().expect("a path starts with M").push(at);
        }
    }
    all
}

/// The size of `font-size:12px;...` or `font: bold 12px ...`.
fn font_size(style: &str) -> f64 {
    let before = style.split("px").next().unwrap_or_default();
    let digits = before
        .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
        .next();
    digits.and_then(|size| size.parse().ok()).unwrap_or(12.0)
}

fn gradient(node: Node) -> Option<Vec<[f64; 3]>> {
    let colours: Vec<[f64; 3]> = node
        .children()
        .filter_map(|stop| colour(stop.attribute("stop-color")?))
        .collect();
    let differ = colours.windows(2).any(|two| two[0] != two[1]);
    differ.then_some(colours)
}

/// Red, green and blue of `#0072b2` or `rgb(0,114,178)`.
pub fn colour(text: &str) -> Option<[f64; 3]> {
    if let Some(digits) = text.strip_prefix('#').filter(|digits| digits.len() == 6) {
        let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        return Some([part(0)?.into(), part(2)?.into(), part(4)?.into()]);
    }
    let inner = text.strip_prefix("rgb(")?.strip_suffix(')')?;
    numbers(inner).try_into().ok()
}

/// The distance of a pixel from a line through these vertices.
pub fn distance(pixel: Pixel, line: &[Pixel]) -> f64 {
    let apart = |a: Pixel, b: Pixel| (a.0 - b.0).hypot(a.1 - b.1);
    let to_part = |a: Pixel, b: Pixel| {
        let square = apart(a, b).powi(2);
        if square == 0.0 {
            return apart(pixel, a);
        }
        let share = ((pixel.0 - a.0) * (b.0 - a.0) + (pixel.1 - a.1) * (b.1 - a.1)) / square;
        let share = share.clamp(0.0, 1.0);
        apart(
            pixel,
            (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1)),
        )
    };
    match line {
        [only] => apart(pixel, *only),
        _ => line
            .windows(2)
            .map(|two| to_part(two[0], two[1]))
            .fold(f64::INFINITY, f64::min),
    }
}
