//! `fathom plot`: a chart of results, as an image, a page or a table.

mod fio_plot;
mod rated_values;

use std::path::{Path, PathBuf};
use std::sync::mpsc;

use fathom_analyse::{chart, fitting_charts, jobs_of};
use fathom_chart::{Frame, Renderer, Theme, csv, png, svg};
use fathom_cli::{PlotArgs, SheetOptions, StoreSource};
use fathom_linux::{OutputName, Outputs};
use fathom_model::{Chart, ChartOptions, ImportedResult, JobFigures, ReportSource};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::eprint_line;
use crate::results::{is_simulated, note_mixture, read_results_with_logs};

/// What is drawn.
#[derive(Default)]
struct PlotRequest {
    results: Vec<String>,
    /// `None` is the chart that fits the results best.
    chart: Option<String>,
    outputs: Vec<PathBuf>,
    options: ChartOptions,
    frame: Frame,
    /// The largest queue depth and number of jobs to draw.
    limits: (Option<u32>, Option<u32>),
    sheets: SheetOptions,
    store: StoreSource,
}

/// Draws what the arguments describe, in fathom's options or in those of fio-plot.
pub fn command(arguments: &[String]) -> Outcome {
    let draw = |request: &PlotRequest| draw(request).map(|()| Outcome::Good);
    match fio_plot::request(arguments) {
        Some(request) => request
            .and_then(|request| draw(&request))
            .unwrap_or_else(|message| cli::refuse("plot", &message)),
        None => cli::command(arguments, |args: PlotArgs| {
            refuse_unused(&args)?;
            draw(&args.into())
        }),
    }
}

/// Charts on which `--link` draws the capacity of a link.
const CHARTS_WITH_LINKS: [&str; 6] = ["depth", "jobs", "block", "xy", "compare", "time"];

/// Options that only some charts use, whether they are given, and those charts.
fn restricted(args: &PlotArgs) -> [(&'static str, bool, &'static [&'static str]); 7] {
    const OVER_TIME: &[&str] = &["time", "time-latency"];
    [
        ("--y", args.y.is_some(), &["heat", "3d"]),
        ("--x", args.x.is_some(), &["xy", "heat", "3d"]),
        ("--slo", args.slo.is_some(), &["load"]),
        ("--also", args.also.is_some(), &["compare", "time"]),
        ("--smoothing", args.smoothing.is_some(), OVER_TIME),
        ("--window", args.window.is_some(), OVER_TIME),
        ("--link", args.link.is_some(), &CHARTS_WITH_LINKS),
    ]
}

/// Refuses an option that the chart does not use.
fn refuse_unused(args: &PlotArgs) -> Result<(), String> {
    let Some(chart) = args.chart.as_deref() else {
        return Ok(());
    };
    let options = restricted(args);
    let unused = options
        .iter()
        .find(|(_, is_given, charts)| *is_given && !charts.contains(&chart));
    match unused {
        Some((option, _, charts)) => Err(format!(
            "{option} has no effect on --chart={}; it applies to {}",
            chart.escape_debug(),
            charts.join(", ")
        )),
        None => Ok(()),
    }
}

impl From<PlotArgs> for PlotRequest {
    fn from(args: PlotArgs) -> PlotRequest {
        let mut frame = Frame::default();
        (frame.width, frame.height) = args.image_size;
        if args.dark {
            frame.theme = Theme::Dark;
        }
        PlotRequest {
            chart: chosen_by_options(&args),
            results: args.results,
            outputs: args.output,
            options: ChartOptions {
                rw: args.rw,
                direction: args.direction.map(Into::into),
                depths: args.depth,
                jobs: args.jobs,
                blocks: args.block.iter().map(|size| size.get()).collect(),
                names: args.name,
                x: args.x,
                y: args.y,
                metric: args.metric,
                second_metric: args.also,
                smoothing: args.smoothing.map(Into::into).unwrap_or_default(),
                window: args
                    .window
                    .map(|window| u64::try_from(window.as_nanos()).unwrap_or(u64::MAX)),
                slo: args.slo,
                link: args.link.map(|link| (link, args.links)),
                title: args.title,
                subtitle: args.subtitle,
                y_max: args.top,
                ..ChartOptions::default()
            },
            frame,
            limits: (None, None),
            sheets: args.sheets,
            store: args.store,
        }
    }
}

/// The chart of the arguments, or the first chart that uses an option which only some charts use.
fn chosen_by_options(args: &PlotArgs) -> Option<String> {
    let of_option = || {
        let given = restricted(args)
            .into_iter()
            .find(|(option, is_given, _)| *is_given && *option != "--link");
        given.map(|(_, _, charts)| charts[0].to_owned())
    };
    args.chart.clone().or_else(of_option)
}

/// Charts that show nothing over time, and so do not need the logs of a directory.
const CHARTS_OF_TOTALS: [&str; 19] = [
    "depth",
    "jobs",
    "load",
    "fit",
    "block",
    "xy",
    "compare",
    "heat",
    "3d",
    "distribution",
    "percentiles",
    "hosts-percentiles",
    "spec",
    "cpu",
    "phases",
    "offsets",
    "sizes",
    "in-device",
    "blame",
];

/// The options, with the data sheet if the chart shows one.
fn options_of(
    request: &PlotRequest,
    chart: &str,
    results: &[ReportSource],
) -> Result<ChartOptions, String> {
    if chart != "spec" {
        let mut options = request.options.clone();
        // The chart of a search shows its answer, unless another limit is asked for.
        let mut answers = results.iter().filter_map(|result| result.search.as_ref());
        if let (None, Some(answer), None) = (options.slo, answers.next(), answers.next()) {
            (options.slo, options.answer) = (Some(answer.slo), Some(answer.load));
        }
        return Ok(options);
    }
    let (sheet, rated_values) = rated_values::of(results, &request.sheets)?;
    Ok(ChartOptions {
        sheet,
        rated_values,
        ..request.options.clone()
    })
}

impl PlotRequest {
    /// Whether this job is within the limits on depth and number of jobs.
    fn is_within_limits(&self, cell: &JobFigures) -> bool {
        let within = |limits: Option<u32>, value: Option<u32>| {
            limits.is_none_or(|limits| value.is_none_or(|value| value <= limits))
        };
        within(self.limits.0, cell.depth) && within(self.limits.1, cell.jobs)
    }

    /// Whether the chart shows this result over time, or the variation of the sum of several jobs.
    fn needs_logs_of(&self, chart: &str, result: &ImportedResult) -> bool {
        let over_time = !CHARTS_OF_TOTALS.contains(&chart);
        let of_sum = chart == "compare";
        let needs = |cell: &JobFigures| {
            (over_time || cell.jobs.is_some_and(|jobs| jobs > 1))
                && self.is_within_limits(cell)
                && self.options.matches(cell)
        };
        (over_time || of_sum)
            && fathom_analyse::job_figures(&fathom_analyse::imported(result.clone()), "")
                .iter()
                .any(needs)
    }
}

/// More stack than the chart script uses.
const STACK: usize = 16 << 20;

/// Draws the chart. The renderer starts on a thread of its own while the results are read.
fn draw(request: &PlotRequest) -> Result<(), String> {
    for file in &request.outputs {
        if !["svg", "png", "html", "csv"].contains(&extension(file)) {
            return Err(format!(
                "{}: unknown format: use the extension .svg, .png, .html or .csv",
                file.display()
            ));
        }
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let drawing = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, move || draw_files(request, &receiver))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        match make_charts(request) {
            Ok(charts) => drop(sender.send(charts)),
            Err(message) => return Err(message),
        }
        drop(sender);
        drawing
            .join()
            .map_err(|_| "the chart could not be drawn".to_owned())?
    })
}

/// A chart for images and pages, and one with every point for tables.
struct Charts {
    drawn: Chart,
    complete: Option<Chart>,
}

/// With more jobs the logs of a directory are read only for a chart that shows them.
const FEW_JOBS: usize = 2;

fn make_charts(request: &PlotRequest) -> Result<Charts, String> {
    let read = |chart: &str| {
        read_results_with_logs(
            &|result| request.needs_logs_of(chart, result),
            &request.results,
            &request.store,
        )
    };
    let cells_of = |results: &[ReportSource]| {
        let mut cells = jobs_of(results);
        cells.retain(|cell| request.is_within_limits(cell));
        cells
    };
    let mut results = read(request.chart.as_deref().unwrap_or("depth"));
    if request.chart.is_none()
        && results
            .as_ref()
            .map_or(true, |results| cells_of(results).len() <= FEW_JOBS)
    {
        results = read("time");
    }
    let results = results?;
    note_mixture("fathom plot", &results);
    let cells = cells_of(&results);
    let name = match &request.chart {
        Some(name) => name.clone(),
        None => fitting(&cells, &request.options)?,
    };
    let options = options_of(request, &name, &results)?;
    let make = |options: &ChartOptions| {
        let mut made = chart(&name, &cells, options)
            .map_err(|error| format!("--chart={}: {error}", name.escape_debug()))?;
        made.source = source_line(&results);
        Ok::<_, String>(made)
    };
    let has_table = request.outputs.iter().any(|file| extension(file) == "csv");
    let complete = ChartOptions {
        is_complete: true,
        ..options.clone()
    };
    Ok(Charts {
        drawn: make(&options)?,
        complete: has_table.then(|| make(&complete)).transpose()?,
    })
}

/// The chart that fits the results best; prints it with the others that fit.
fn fitting(cells: &[JobFigures], options: &ChartOptions) -> Result<String, String> {
    let all = fitting_charts(cells, options);
    let (first, others) = all
        .split_first()
        .ok_or("no chart fits these results and filters")?;
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; others that fit: {}", others.join(", "))
    };
    eprint_line!("fathom plot: chart {first}{others} (--chart=NAME)");
    Ok((*first).to_owned())
}

/// Which programs measured and when, and which one drew.
fn source_line(results: &[ReportSource]) -> String {
    let facts = |wanted: &[&str]| {
        let mut all: Vec<&str> = results
            .iter()
            .flat_map(|result| &result.facts)
            .flat_map(|(_, pairs)| pairs)
            .filter(|(name, _)| wanted.contains(&name.as_str()))
            .map(|(_, value)| value.as_str())
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    // `fathom, document version 4` is fathom.
    let mut programs: Vec<&str> = facts(&["Written by", "Measured by", "Simulated by"])
        .into_iter()
        .map(|program| program.split(',').next().unwrap_or(program))
        .collect();
    programs.dedup();
    let times = facts(&["Time"]);
    let dates = facts(&["Date"]);
    let simulated = results.iter().filter(|one| is_simulated(one)).count();
    let how = match simulated {
        0 => "Measured",
        all if all == results.len() => "Simulated, not measured,",
        _ => "Partly simulated, partly measured",
    };
    let parts = [
        (!programs.is_empty()).then(|| format!("{how} with {}", programs.join(", "))),
        match (times.as_slice(), dates.as_slice()) {
            ([one], []) | ([], [one]) => Some((*one).to_owned()),
            ([], [first, .., last]) => Some(format!("{first} to {last}")),
            _ => None,
        },
    ];
    let measured: Vec<String> = parts.into_iter().flatten().collect();
    let drawn = format!("Drawn by fathom {}.", env!("CARGO_PKG_VERSION"));
    if measured.is_empty() {
        drawn
    } else {
        format!("{}. {drawn}", measured.join(", "))
    }
}

fn extension(file: &Path) -> &str {
    file.extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
}

/// Draws the chart that arrives to all files. Without a chart it draws nothing.
fn draw_files(request: &PlotRequest, charts: &mpsc::Receiver<Charts>) -> Result<(), String> {
    let has_images = request
        .outputs
        .iter()
        .any(|file| ["svg", "png"].contains(&extension(file)));
    // The renderer is never freed: freeing all objects of its script takes as long as loading it.
    let renderer: Option<&Renderer> = if has_images {
        Some(Box::leak(Box::new(
            Renderer::new().map_err(|error| error.to_string())?,
        )))
    } else {
        None
    };
    let Ok(charts) = charts.recv() else {
        return Ok(());
    };
    let chart = charts.drawn;
    for file in &request.outputs {
        let bytes = match (extension(file), renderer) {
            ("csv", _) => Ok(csv(charts.complete.as_ref().unwrap_or(&chart)).into_bytes()),
            ("svg", Some(renderer)) => {
                svg(&chart, &request.frame, renderer).map(String::into_bytes)
            }
            ("png", Some(renderer)) => png(&chart, &request.frame, renderer),
            _ => fathom_chart::page(&chart).map(String::into_bytes),
        };
        Outputs::default()
            .write(
                file,
                OutputName::Explicit,
                &bytes.map_err(|error| error.to_string())?,
            )
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}
