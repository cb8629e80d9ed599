//! The contents of a data sheet.

use std::fmt;

/// One drive, or one series of drives.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Unique name.
    pub id: String,
    /// Maker.
    pub maker: String,
    /// Product, as it is sold.
    pub product: String,
    /// Prefixes of the model that the device reports.
    pub models: Vec<String>,
    /// Starts of the part numbers of the product. Hyphens and letter case do not matter. Empty where no source gives them.
    pub part_numbers: Vec<String>,
    /// None of the sheet's sources confirms that devices report these models.
    pub models_unconfirmed: bool,
    /// Reliability of the figures.
    pub confidence: Confidence,
    /// The figures are those of the best capacity of a series.
    pub best_of_series: bool,
    /// Write bandwidth after the fast cache is full, bytes per second.
    pub write_after_cache: Option<f64>,
    /// The performance figures that no source has.
    pub missing: Option<String>,
    /// Further facts as text: interface, medium, endurance, method, note.
    pub facts: Vec<(String, String)>,
    /// Sources of the figures.
    pub source: Vec<String>,
    /// The promised figures.
    pub figures: Vec<Figure>,
    /// File that contains the sheet.
    pub file: String,
}

impl Sheet {
    /// Why nothing can be compared with this sheet, if it has no performance figures.
    #[must_use]
    pub fn no_figures(&self) -> Option<String> {
        let why = match &self.missing {
            Some(missing) => format!("; not found: {missing}"),
            None => String::new(),
        };
        let text = format!("data sheet {} has no performance figures{why}", self.id);
        self.figures.is_empty().then_some(text)
    }
}

/// Reliability of a sheet's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// The maker's own text.
    Maker,
    /// A page that quotes the maker.
    Secondary,
    /// Only some of the figures could be verified.
    Partial,
}

/// One promised figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The metric.
    pub what: Metric,
    /// The value: I/Os per second, bytes per second, or nanoseconds.
    pub value: f64,
    /// Direction.
    pub side: FigureDirection,
    /// Order of addresses.
    pub access: Access,
    /// Block size, bytes, where stated.
    pub block: Option<u32>,
    /// Queue depth of each thread, where stated.
    pub depth: Option<u32>,
    /// Threads, where stated.
    pub threads: Option<u32>,
    /// Where on the device.
    pub zone: Zone,
    /// Note of the sheet.
    pub note: Option<String>,
}

/// The metric of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Latency in nanoseconds: of a percentile, or the mean.
    Latency(Option<f64>),
}

/// Direction of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureDirection {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both; the share of reads in percent.
    Mix(u8),
}

/// Order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Random addresses.
    Random,
    /// Ascending addresses.
    Sequential,
}

/// Part of the device that a figure holds for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    /// All of it.
    #[default]
    Whole,
    /// Its beginning: outer tracks.
    Start,
    /// Its end: inner tracks.
    End,
}

impl Figure {
    /// Whether it can only be measured by writing.
    #[must_use]
    pub const fn writes(&self) -> bool {
        !matches!(self.side, FigureDirection::Read)
    }
}

/// `random read, 600,000 IOPS`.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            Access::Random => "random",
            Access::Sequential => "sequential",
        };
        match self.side {
            FigureDirection::Read => write!(f, "{access} read")?,
            FigureDirection::Write => write!(f, "{access} write")?,
            FigureDirection::Mix(reads) => write!(f, "{access} {reads} % reads")?,
        }
        match self.zone {
            Zone::Whole => write!(f, ", ")?,
            Zone::Start => write!(f, " at the start, ")?,
            Zone::End => write!(f, " at the end, ")?,
        }
        f.write_str(&self.what.words(self.value))
    }
}

impl Metric {
    /// A value of this kind with its unit: `600000 IOPS`, `3500 MB/s`, `85 us mean`, `150 us at
    /// p99.999`.
    #[must_use]
    pub fn words(self, value: f64) -> String {
        match self {
            Metric::Iops if value < 100.0 => format!("{value:.1} IOPS"),
            Metric::Iops => format!("{value:.0} IOPS"),
            Metric::Bandwidth if value < 1e7 => format!("{:.2} MB/s", value / 1e6),
            Metric::Bandwidth => format!("{:.0} MB/s", value / 1e6),
            Metric::Latency(percentile) => {
                let time = if value < 1e6 {
                    format!("{:.1} us", value / 1e3)
                } else {
                    format!("{:.2} ms", value / 1e6)
                };
                percentile.map_or_else(|| format!("{time} mean"), |p| format!("{time} at p{p}"))
            }
        }
    }
}
