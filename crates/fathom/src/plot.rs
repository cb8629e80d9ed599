//! `fathom plot`: a chart of results, as a picture, a page or a table.

mod fio_plot;
mod promises;

use std::path::Path;
use std::sync::mpsc;

use fathom_analyse::{CHARTS, chart, jobs_of};
use fathom_chart::{Frame, Renderer, Theme, csv, png, svg};
use fathom_model::{
    Chart, ChartOptions, Dimension, Direction, ImportedResult, JobFigures, ReportSource,
};

use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::result_store::StoreChoice;
use crate::results::told_with;

const HELP: &str = "\
usage: fathom plot RESULT.json|FOLDER|RUN... --chart=NAME -o FILE.svg|png|html|csv [OPTIONS]
       fathom plot FILE.ini [-o FILE]            (an INI file of fio-plot)
       fathom plot -i FOLDER... -T TITLE -l|-L|-N|-H|-g|-C [...]   (its options)

Draws a chart of results of fathom or fio; a folder is searched for them
and for fio's logs; RUN is a name that `fathom runs` lists. Charts over time and
distributions need results written with --output-format=json+, or logs.

  --chart=NAME        which one (see below); `depth` when nothing is said
  -o, --output=FILE   where to, and by its ending as what; can be repeated
  --rw=WORD[,..]      only jobs of these patterns
  --direction=WORD    only reads, writes or trims: read, write, trim
  --depth=N[,..]      only these queue depths; the same: --jobs, --block, --name
  --metric=WORD       what is measured: iops, bw, mean, p99 (any percentile), max,
                      stddev, slat, lat, cpu, cpu-per-io
  --also=WORD         for time and compare: a second figure, on an axis of its own
  --x=WORD            for xy: what it is drawn over: depth, jobs, outstanding, block,
                      mix, offered, offered-bw, offset, or any metric
  --slo=pN:TIME       for load: a limit, such as p99:2ms, and what it allows
  --sheet=ID          for spec: a data sheet, where the device's own is not meant
  --title=TEXT        in place of the chart's own; also --subtitle
  --dark              light on dark
  --size=WxH          pixels, 1000x600 when nothing is said; a PNG has twice as many
  --top=VALUE         where the axis of the measured value ends: 5ms, 100k, 2000

Charts:
";

/// What was asked for.
#[derive(Default)]
struct PlotArgs {
    results: Vec<String>,
    chart: String,
    outputs: Vec<String>,
    wish: ChartOptions,
    frame: Frame,
    /// No greater queue depths and numbers of jobs than these.
    most: (Option<u32>, Option<u32>),
    /// A data sheet by its name.
    sheet: Option<String>,
    store: StoreChoice,
}

/// Draws what the arguments ask for.
pub fn command(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return help();
    }
    match asked(words).and_then(|asked| drawn(&asked)) {
        Ok(()) => Outcome::Good,
        Err(trouble) => {
            eprint_line!("fathom plot: {trouble}");
            Outcome::Refused
        }
    }
}

/// How it is used.
pub fn help() -> Outcome {
    let charts: String = CHARTS
        .iter()
        .map(|kind| format!("  {:<18}  {}\n", kind.name, kind.about))
        .collect();
    print(&format!("{HELP}{charts}"))
}

const VALUED: [&str; 18] = [
    "--chart",
    "-o",
    "--output",
    "--rw",
    "--direction",
    "--depth",
    "--jobs",
    "--block",
    "--name",
    "--metric",
    "--x",
    "--slo",
    "--title",
    "--subtitle",
    "--size",
    "--top",
    "--also",
    "--sheet",
];

fn asked(words: &[String]) -> Result<PlotArgs, String> {
    if let Some(asked) = fio_plot::asked(words) {
        return asked;
    }
    let mut asked = PlotArgs {
        chart: "depth".into(),
        ..PlotArgs::default()
    };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if asked.store.take(word, &mut rest)? {
            continue;
        }
        let (name, mut value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if VALUED.contains(&name) && value.is_none() {
            value = Some(rest.next().ok_or(format!("{name}: needs a value"))?.clone());
        }
        match (name, value) {
            ("--dark", None) => asked.frame.theme = Theme::Dark,
            (name, Some(value)) if VALUED.contains(&name) => take(&mut asked, name, &value)?,
            (other, _) if other.starts_with('-') => {
                return Err(format!(
                    "there is no option '{}'; `fathom plot --help` lists them",
                    other.escape_debug()
                ));
            }
            _ => asked.results.push(word.clone()),
        }
    }
    if asked.results.is_empty() {
        return Err("which results? `fathom plot RESULT.json --chart=depth -o depth.png`".into());
    }
    if asked.outputs.is_empty() {
        return Err("where to? `-o FILE.svg`, .png, .html or .csv".into());
    }
    Ok(asked)
}

fn take(asked: &mut PlotArgs, name: &str, value: &str) -> Result<(), String> {
    let wish = &mut asked.wish;
    let list = || {
        value
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
    };
    let numbers = || {
        list()
            .map(|word| {
                word.parse::<u32>()
                    .map_err(|_| format!("{name}: '{}' is no number", word.escape_debug()))
            })
            .collect::<Result<Vec<u32>, String>>()
    };
    match name {
        "--chart" => asked.chart = value.to_owned(),
        "-o" | "--output" => asked.outputs.push(value.to_owned()),
        "--rw" => wish.rw = list().map(str::to_owned).collect(),
        "--name" => wish.names = list().map(str::to_owned).collect(),
        "--direction" => {
            let found = Direction::ALL.into_iter().find(|d| d.word() == value);
            wish.direction = Some(found.ok_or("--direction: read, write or trim".to_owned())?);
        }
        "--depth" => wish.depths = numbers()?,
        "--jobs" => wish.jobs = numbers()?,
        "--block" => {
            wish.blocks = list()
                .map(|word| {
                    size(word).ok_or(format!(
                        "--block: '{}' is no size such as 4k",
                        word.escape_debug()
                    ))
                })
                .collect::<Result<_, _>>()?
        }
        "--metric" => {
            wish.metric = Some(
                value
                    .parse::<Dimension>()
                    .map_err(|why| format!("--metric: {why}"))?,
            )
        }
        "--also" => {
            wish.second_metric = Some(
                value
                    .parse::<Dimension>()
                    .map_err(|why| format!("--also: {why}"))?,
            )
        }
        "--sheet" => asked.sheet = Some(value.to_owned()),
        "--x" => {
            wish.x = Some(
                value
                    .parse::<Dimension>()
                    .map_err(|why| format!("--x: {why}"))?,
            )
        }
        "--slo" => wish.slo = Some(limit(value)?),
        "--title" => wish.title = Some(value.to_owned()),
        "--subtitle" => wish.subtitle = Some(value.to_owned()),
        "--top" => {
            wish.y_max = Some(
                time(value)
                    .or(size(value).map(|n| n as f64))
                    .ok_or("--top: a value such as 5ms, 100k or 2000")?,
            )
        }
        "--size" => {
            let (width, height) = value
                .split_once('x')
                .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)))
                .ok_or("--size: such as 1000x600")?;
            if !(200..=8000).contains(&width) || !(200..=8000).contains(&height) {
                return Err("--size: from 200 to 8000 pixels each".into());
            }
            (asked.frame.width, asked.frame.height) = (width, height);
        }
        _ => {}
    }
    Ok(())
}

/// `p99:2ms`.
fn limit(text: &str) -> Result<(f64, f64), String> {
    let parts = text.strip_prefix('p').and_then(|rest| rest.split_once(':'));
    let limit =
        parts.and_then(|(percent, limit)| Some((percent.parse::<f64>().ok()?, time(limit)?)));
    limit
        .filter(|(percent, ns)| (0.0..=100.0).contains(percent) && *ns > 0.0)
        .ok_or("--slo: a percentile and a time, such as p99:2ms".into())
}

/// Nanoseconds of `500us`, `2ms`, `1.5s`.
fn time(text: &str) -> Option<f64> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, scale) = units
        .into_iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    number
        .parse::<f64>()
        .ok()
        .filter(|n| n.is_finite() && *n > 0.0)
        .map(|n| n * scale)
}

/// `4k`, `1m`, `2000`.
fn size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (number, shift) = [("k", 10), ("m", 20), ("g", 30)]
        .into_iter()
        .find_map(|(unit, shift)| Some((lower.strip_suffix(unit)?, shift)))
        .unwrap_or((&lower, 0));
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Charts that show nothing over time: the logs of a folder need not be read for them.
const OF_TOTALS: [&str; 12] = [
    "depth",
    "jobs",
    "load",
    "block",
    "xy",
    "compare",
    "heat",
    "3d",
    "distribution",
    "percentiles",
    "spec",
    "cpu",
];

/// With the data sheet, where the chart is about one.
fn wished(asked: &PlotArgs, told: &[ReportSource]) -> Result<ChartOptions, String> {
    if asked.chart != "spec" {
        return Ok(asked.wish.clone());
    }
    let (sheet, rated_values) = promises::of(told, asked.sheet.as_deref())?;
    Ok(ChartOptions {
        sheet,
        rated_values,
        ..asked.wish.clone()
    })
}

impl PlotArgs {
    /// Whether this job is no larger than was said.
    fn reaches(&self, cell: &JobFigures) -> bool {
        let within = |most: Option<u32>, value: Option<u32>| {
            most.is_none_or(|most| value.is_none_or(|value| value <= most))
        };
        within(self.most.0, cell.depth) && within(self.most.1, cell.jobs)
    }

    /// Whether the chart shows what happened over time in this result.
    fn needs_logs_of(&self, result: &ImportedResult) -> bool {
        let over_time = !OF_TOTALS.contains(&self.chart.as_str());
        over_time
            && fathom_analyse::job_figures(&fathom_analyse::imported(result.clone()), "")
                .iter()
                .any(|cell| self.reaches(cell) && self.wish.matches(cell))
    }
}

/// More than the script of the charts may take.
const STACK: usize = 16 << 20;

/// The engine that draws pictures gets ready on a thread of its own while the results are read, and waits there for the chart.
fn drawn(asked: &PlotArgs) -> Result<(), String> {
    for file in &asked.outputs {
        if !["svg", "png", "html", "csv"].contains(&ending(file)) {
            return Err(format!(
                "{file}: the name ends in .svg, .png, .html or .csv"
            ));
        }
    }
    let (hand_over, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        let ink = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, move || inked(asked, &receive))
            .map_err(|error| format!("no thread: {error}"))?;
        match made(asked) {
            Ok(chart) => drop(hand_over.send(chart)),
            Err(why) => return Err(why),
        }
        drop(hand_over);
        ink.join()
            .map_err(|_| "the chart could not be drawn".to_owned())?
    })
}

fn made(asked: &PlotArgs) -> Result<Chart, String> {
    let told = told_with(
        &|result| asked.needs_logs_of(result),
        &asked.results,
        &asked.store,
    )?;
    let mut cells = jobs_of(&told);
    cells.retain(|cell| asked.reaches(cell));
    chart(&asked.chart, &cells, &wished(asked, &told)?)
        .map_err(|error| format!("--chart={}: {error}", asked.chart.escape_debug()))
}

fn ending(file: &str) -> &str {
    Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
}

/// Inks the chart that is handed over; nothing when there is none.
fn inked(asked: &PlotArgs, charts: &mpsc::Receiver<Chart>) -> Result<(), String> {
    let pictures = asked
        .outputs
        .iter()
        .any(|file| ["svg", "png"].contains(&ending(file)));
    // The engine ends with the program: to free all that its script made, piece by piece, takes as long as to load it.
    let renderer: Option<&Renderer> = if pictures {
        Some(Box::leak(Box::new(
            Renderer::new().map_err(|error| error.to_string())?,
        )))
    } else {
        None
    };
    let Ok(chart) = charts.recv() else {
        return Ok(());
    };
    for file in &asked.outputs {
        let bytes = match (ending(file), renderer) {
            ("csv", _) => Ok(csv(&chart).into_bytes()),
            ("svg", Some(renderer)) => svg(&chart, &asked.frame, renderer).map(String::into_bytes),
            ("png", Some(renderer)) => png(&chart, &asked.frame, renderer),
            _ => fathom_chart::page(&chart).map(String::into_bytes),
        };
        std::fs::write(file, bytes.map_err(|error| error.to_string())?)
            .map_err(|error| format!("{file} cannot be written: {error}"))?;
    }
    Ok(())
}
