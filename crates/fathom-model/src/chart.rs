//! A chart as data: what is drawn, on which axes, in which units. `fathom-analyse` computes it, `fathom-chart` draws it.
//!
//! Values are in base units (nanoseconds, bytes, per second); each axis has a unit and the divisor for it.

/// One chart, defined once for every output format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Name that selects it, such as `depth`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The conditions of the measurement.
    pub subtitle: String,
    /// The axis at the bottom.
    pub x: ChartAxis,
    /// One axis for each quantity. Each has its own row of panels; all share the x axis.
    pub y: Vec<ChartAxis>,
    /// Titles of the panels side by side (patterns, directions), which share their axes; empty if
    /// there is one panel without a title.
    pub panels: Vec<String>,
    /// What is drawn.
    pub body: ChartBody,
    /// Labelled lines and points.
    pub marks: Vec<ChartMark>,
    /// Events, shaded behind the curves of a time axis.
    pub events: Vec<ChartEvent>,
    /// Remarks for the reader, one sentence each.
    pub notes: Vec<String>,
    /// Figures of each series, in a small table below the chart; the first row is the head.
    pub table: Vec<Vec<String>>,
    /// Which program measured, which one drew, and the date.
    pub source: String,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum ChartBody {
    /// Lines, bars, points.
    Series(Vec<ChartSeries>),
    /// A value for each column and row.
    Grid(ChartGrid),
}

impl Default for ChartBody {
    fn default() -> Self {
        ChartBody::Series(Vec::new())
    }
}

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartAxis {
    /// Its quantity, without the unit.
    pub title: String,
    /// Its unit.
    pub unit: ChartUnit,
    /// Its scale.
    pub scale: AxisScale,
    /// Its start, in base units; `None` is chosen from the data.
    pub from: Option<f64>,
    /// Its end.
    pub to: Option<f64>,
}

/// A unit, chosen once for a whole chart.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartUnit {
    /// `ms`, `MiB/s`, `IOPS`; empty for a plain count.
    pub symbol: String,
    /// Base units in one of it.
    pub divide: f64,
}

impl Default for ChartUnit {
    fn default() -> Self {
        ChartUnit {
            symbol: String::new(),
            divide: 1.0,
        }
    }
}

/// Scale of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AxisScale {
    /// Evenly, from zero.
    #[default]
    Linear,
    /// Evenly, from the smallest value.
    Close,
    /// By powers of this base.
    Log(u32),
    /// Names, one position each; values are their indices.
    Names(Vec<String>),
    /// A position is `-log10(1 - share)`: 1 is 90 %, 2 is 99 %, 5 is 99.999 %.
    Nines,
}

/// One line, row of bars or cloud of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartSeries {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub shape: SeriesShape,
    /// Index of its y axis.
    pub axis: usize,
    /// Index of its panel in [`Chart::panels`].
    pub panel: usize,
    /// Positions and values, in base units.
    pub points: Vec<(f64, f64)>,
    /// An interval for the value of each point, drawn as whiskers, or as a band behind a thin line;
    /// as long as `points`, or empty.
    pub intervals: Vec<(f64, f64)>,
    /// A label for each point; as long as `points`, or empty.
    pub labels: Vec<String>,
    /// Its colour in the palette; series of the same thing have the same.
    pub colour: usize,
    /// Its position on the ordered colour scale, 0 to 1, in place of a colour of the palette: for
    /// quantities with an order, such as the queue depth.
    pub shade: Option<f64>,
    /// Drawn with dashes: a tail, a limit or a fit of the series with the same colour.
    pub dashed: bool,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeriesShape {
    /// A line with a dot at each point.
    #[default]
    Line,
    /// A line alone, for many points.
    Thin,
    /// A value that holds until the next.
    Steps,
    /// A bar for each name.
    Bars,
    /// A part of the bar of each name, on top of the parts of the series before it.
    Stacked,
    /// Points alone.
    Dots,
}

/// A value for each column and row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartGrid {
    /// What the value is, without the unit.
    pub title: String,
    /// Its unit.
    pub unit: ChartUnit,
    /// Number of columns, between `from` and `to` of the x axis, or its names.
    pub columns: usize,
    /// Number of rows, from the bottom.
    pub rows: usize,
    /// Row by row, and panel by panel if the chart has several; `None` where not measured.
    pub values: Vec<Option<f64>>,
    /// Drawn as bars in 3D instead of coloured fields.
    pub solid: bool,
    /// Colours by powers of ten.
    pub log: bool,
}

impl ChartGrid {
    /// Column, row and panel of the value with this index.
    #[must_use]
    pub fn place(&self, index: usize) -> (usize, usize, usize) {
        let (columns, rows) = (self.columns.max(1), self.rows.max(1));
        (
            index % columns,
            index / columns % rows,
            index / (columns * rows),
        )
    }
}

/// A labelled line or point.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartMark {
    /// Where.
    pub at: MarkPosition,
    /// Its label.
    pub label: String,
    /// Index of its panel; `None` is all of them.
    pub panel: Option<usize>,
}

/// Position of a mark, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarkPosition {
    /// A horizontal line at a value of a y axis.
    Across(usize, f64),
    /// A vertical line at a position of the x axis.
    Up(f64),
    /// A point, on a y axis.
    Point(usize, f64, f64),
}

/// An event during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartEvent {
    /// From, on the x axis.
    pub from: f64,
    /// To.
    pub to: f64,
    /// Its description.
    pub label: String,
    /// Severity: 0 note, 1 degrades, 2 invalidates.
    pub severity: u8,
    /// Index of its panel; `None` is all of them.
    pub panel: Option<usize>,
}
