//! A chart as data: what is drawn, on which axes, in which units. `fathom-analyse` computes it, `fathom-chart` draws it.
//!
//! Values are in base units (nanoseconds, bytes, per second); an axis says by how much they are divided to be read.

/// One chart, defined once for every output format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Name that selects it, such as `depth`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The conditions.
    pub subtitle: String,
    /// Along the bottom.
    pub x: ChartAxis,
    /// On the left, and where a second quantity is drawn, on the right.
    pub y: Vec<ChartAxis>,
    /// What is drawn.
    pub body: ChartBody,
    /// Labelled lines and points.
    pub marks: Vec<ChartMark>,
    /// Below a time axis: events that qualify the values above.
    pub strip: Vec<Happening>,
    /// What a reader must know, sentence by sentence.
    pub notes: Vec<String>,
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
    /// What is along it, without the unit.
    pub title: String,
    /// In which unit it is read.
    pub unit: ChartUnit,
    /// Scale.
    pub scale: AxisScale,
    /// Where it begins, in base units; `None` is chosen from the data.
    pub from: Option<f64>,
    /// Where it ends.
    pub to: Option<f64>,
}

/// A unit, chosen once for a whole chart.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartUnit {
    /// `ms`, `MiB/s`, `IOPS`; empty for a plain count.
    pub word: String,
    /// Base units in one of it.
    pub divide: f64,
}

impl Default for ChartUnit {
    fn default() -> Self {
        ChartUnit {
            word: String::new(),
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
    /// Which of the y axes it is read on.
    pub axis: usize,
    /// Positions and values, in base units.
    pub points: Vec<(f64, f64)>,
    /// An interval for the value of each point; as long as `points`, or empty.
    pub intervals: Vec<(f64, f64)>,
    /// A label for each point; as long as `points`, or empty.
    pub words: Vec<String>,
    /// Its colour in the palette; series of the same thing have the same.
    pub colour: usize,
    /// Drawn with dashes: a limit, a fit, a second kind of the same.
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
    /// Points alone.
    Dots,
}

/// A value for each column and row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartGrid {
    /// What the value is, without the unit.
    pub title: String,
    /// In which unit it is read.
    pub unit: ChartUnit,
    /// How many columns; they lie between `from` and `to` of the x axis, or are its names.
    pub columns: usize,
    /// How many rows, from the bottom.
    pub rows: usize,
    /// Row by row; `None` where not measured.
    pub values: Vec<Option<f64>>,
    /// Drawn as bars in 3D instead of coloured fields.
    pub solid: bool,
    /// Colours by powers of ten.
    pub log: bool,
}

/// A labelled line or point.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartMark {
    /// Where.
    pub at: MarkPlace,
    /// What it is.
    pub words: String,
}

/// Position of a mark, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarkPlace {
    /// A horizontal line at a value of a y axis.
    Across(usize, f64),
    /// A vertical line at a position of the x axis.
    Up(f64),
    /// A point, on a y axis.
    Point(usize, f64, f64),
}

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// From, on the x axis.
    pub from: f64,
    /// To.
    pub to: f64,
    /// What.
    pub words: String,
    /// Severity: 0 note, 1 degrades, 2 invalidates.
    pub severity: u8,
}
