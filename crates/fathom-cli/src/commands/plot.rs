//! `fathom plot`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use fathom_analyse::CHARTS;
use fathom_model::{Bytes, Dimension, Direction, HostLink, Smoothing};

use super::Text;
use crate::common::{SheetOptions, StoreSource};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Draw charts of results as SVG, PNG, HTML or CSV",
    "Draws a chart of results of fathom or fio. A directory is searched for results and for fio's logs; a stored run is a name \
     that `fathom runs` lists. Charts over time and distributions need results written by `fathom run --output-format=json+`, or logs.\n\n\
     The options and INI files of fio-plot work too: `fathom plot FILE.ini [-o FILE]`, \
     `fathom plot -i DIR... -T TITLE -l|-L|-N|-H|-g|-C ...`.",
    "Examples:
  fathom plot result.json --chart=percentiles -o latency.svg
  fathom plot results/ --chart=depth --rw=randread --metric=p99 -o depth.png
  fathom plot r12 --chart=load --slo='p99<=2ms' -o load.html -o load.csv",
);

/// Kinds of I/O.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionName {
    /// Reads
    Read,
    /// Writes
    Write,
    /// Trims
    Trim,
}

impl From<DirectionName> for Direction {
    fn from(name: DirectionName) -> Direction {
        match name {
            DirectionName::Read => Direction::Read,
            DirectionName::Write => Direction::Write,
            DirectionName::Trim => Direction::Trim,
        }
    }
}

/// How charts over time combine intervals.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmoothingName {
    /// The median of each window
    Median,
    /// The mean of each window
    Mean,
    /// Each interval
    None,
}

impl From<SmoothingName> for Smoothing {
    fn from(name: SmoothingName) -> Smoothing {
        match name {
            SmoothingName::Median => Smoothing::Median,
            SmoothingName::Mean => Smoothing::Mean,
            SmoothingName::None => Smoothing::None,
        }
    }
}

/// Arguments of `fathom plot`.
#[derive(Args, Clone, Debug)]
pub struct PlotArgs {
    /// Result files, directories, or stored runs
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,
    /// Which chart (see below)
    ///
    /// Default: the one that fits the results best. Its name is printed with the others that fit.
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = chart_names())]
    pub chart: Option<String>,
    /// Write results to FILE
    ///
    /// The extension is the format: .svg, .png, .html or .csv. Can be repeated.
    #[arg(
        short,
        long,
        value_name = "FILE",
        required = true,
        help_heading = "Output"
    )]
    pub output: Vec<PathBuf>,
    /// I/O pattern, such as randread
    ///
    /// Only jobs with one of these patterns.
    #[arg(
        long,
        value_name = "PATTERN",
        value_delimiter = ',',
        help_heading = "Filters"
    )]
    pub rw: Vec<String>,
    /// Only reads, writes or trims
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Filters")]
    pub direction: Option<DirectionName>,
    /// Only jobs with these queue depths
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        help_heading = "Filters"
    )]
    pub depth: Vec<u32>,
    /// Only results with these numbers of jobs
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        help_heading = "Filters"
    )]
    pub jobs: Vec<u32>,
    /// Only jobs with these block sizes
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = values::size, help_heading = "Filters")]
    pub block: Vec<Bytes>,
    /// Only jobs with these names
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        help_heading = "Filters"
    )]
    pub name: Vec<String>,
    /// What is drawn: iops, bw, mean, p99 (any percentile), max, stddev, slat, lat, cpu, cpu-per-io or cpu-per-mib
    #[arg(long, value_name = "METRIC", value_parser = values::parsed::<Dimension>, help_heading = "Axes")]
    pub metric: Option<Dimension>,
    /// A second metric in a panel below the first (charts time and compare)
    #[arg(long, value_name = "METRIC", value_parser = values::parsed::<Dimension>, help_heading = "Axes")]
    pub also: Option<Dimension>,
    /// Horizontal axis of the charts xy, heat and 3d
    ///
    /// depth, jobs, outstanding, block, mix, offered, offered-bw, offset, or any metric.
    #[arg(long, value_name = "DIMENSION", value_parser = values::parsed::<Dimension>, help_heading = "Axes")]
    pub x: Option<Dimension>,
    /// Vertical axis of the charts heat and 3d: one of the same
    #[arg(long, value_name = "DIMENSION", value_parser = values::parsed::<Dimension>, help_heading = "Axes")]
    pub y: Option<Dimension>,
    /// How charts over time combine intervals
    ///
    /// Default: the median of each window with a band that contains the middle 80 % of its intervals, if there are more than 300.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Axes")]
    pub smoothing: Option<SmoothingName>,
    /// Length of the windows of --smoothing, such as 10s
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Axes")]
    pub window: Option<Duration>,
    /// Upper end of the metric's axis: 5ms, 100k, 2000
    #[arg(long, value_name = "VALUE", value_parser = axis_end, help_heading = "Axes")]
    pub top: Option<f64>,
    /// Latency limit, such as p99<=1ms
    ///
    /// Mean (mean<=20ms), maximum or any percentile; the chart load shows the largest load within it.
    #[arg(long, value_name = "LIMIT", value_parser = limit, help_heading = "Axes")]
    pub slo: Option<(Dimension, f64)>,
    /// Link of the device: sata6, sas12, pcie3x4, fc16, 25gbe, usb10, tb3
    ///
    /// Its capacity is drawn as a ceiling on charts of bandwidth, or of IOPS where all results have the same block size.
    #[arg(long, value_name = "LINK", value_parser = values::parsed::<HostLink>, help_heading = "Axes")]
    pub link: Option<HostLink>,
    /// Number of links, one for each device
    #[arg(long, value_name = "N", default_value = "1", requires = "link", value_parser = values::whole_number::<1, 1_000_000>, help_heading = "Axes")]
    pub links: u32,
    /// Use this title instead of the default one
    #[arg(long, value_name = "TEXT", help_heading = "Appearance")]
    pub title: Option<String>,
    /// Use this subtitle instead of the default one
    #[arg(long, value_name = "TEXT", help_heading = "Appearance")]
    pub subtitle: Option<String>,
    /// Use a dark background
    #[arg(long, help_heading = "Appearance")]
    pub dark: bool,
    /// Size in pixels; a PNG has twice as many
    #[arg(long, value_name = "WxH", value_parser = pixels, default_value = "1000x600", help_heading = "Appearance")]
    pub image_size: (u32, u32),
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sheets: SheetOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for PlotArgs {
    const NAME: &'static str = "plot";
}

/// The list of charts, for the help.
pub(crate) fn charts() -> String {
    CHARTS.iter().fold("Charts:".to_owned(), |list, chart| {
        format!("{list}\n  {:<18}  {}", chart.name, chart.about)
    })
}

fn chart_names() -> PossibleValuesParser {
    CHARTS
        .iter()
        .map(|chart| chart.name)
        .collect::<Vec<_>>()
        .into()
}

fn limit(text: &str) -> Result<(Dimension, f64), String> {
    let wrong = || "not a latency limit, such as p99<=2ms or mean<=20ms".to_owned();
    let (figure, latency) = text.split_once("<=").ok_or_else(wrong)?;
    let Ok(figure @ (Dimension::Mean | Dimension::Max | Dimension::Percentile(_))) =
        figure.trim().parse()
    else {
        return Err(wrong());
    };
    Ok((figure, values::latency(latency.trim())?))
}

fn axis_end(text: &str) -> Result<f64, String> {
    values::latency(text)
        .ok()
        .or_else(|| values::size(text).ok().map(|size| size.get() as f64))
        .ok_or_else(|| "not a value such as 5ms, 100k or 2000".to_owned())
}

fn pixels(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('x');
    let (width, height) = parts
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or("not a size in pixels, such as 1000x600")?;
    if (200..=8000).contains(&width) && (200..=8000).contains(&height) {
        Ok((width, height))
    } else {
        Err("from 200 to 8000 pixels each".to_owned())
    }
}
