//! The charts of a report.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, ChartUnit, Dimension,
    Direction, JobFigures, ReportChart, SeriesShape, StoredAnswer,
};

use super::comparison::FEW;
use super::device::Device;
use super::statement::statement;
use super::workload::{Load, LoadKey, load_key, loads, pattern};
use crate::charts::{CHARTS, Quantity, chart, thin};

/// Charts of one device besides the first.
const MAX_CHARTS: usize = 12;
/// Loads with charts of their own.
const MAX_LOADS: usize = 4;
/// Jobs that are drawn over time.
const MAX_OVER_TIME: usize = 4;
/// Shorter series show nothing.
const MIN_INTERVALS: usize = 20;
/// Jobs whose latencies one chart compares.
const MAX_DISTRIBUTIONS: usize = 7;
/// Points of a line over time.
const POINTS: usize = 120;

/// The charts, and how many more the data would give.
pub(super) struct Charts {
    pub(super) made: Vec<ReportChart>,
    pub(super) left_out: usize,
}

impl Charts {
    fn add(&mut self, name: &str, jobs: &[JobFigures], options: &ChartOptions) -> bool {
        let Ok(chart) = chart(name, jobs, options) else {
            return false;
        };
        let is_known = |known: &ReportChart| {
            (&known.chart.title, &known.chart.subtitle) == (&chart.title, &chart.subtitle)
        };
        if self.made.iter().any(is_known) {
            return false;
        }
        if self.made.len() > MAX_CHARTS {
            self.left_out += 1;
            return false;
        }
        let derived = CHARTS
            .iter()
            .find(|kind| kind.name == name)
            .map_or("", |kind| kind.derived);
        self.made.push(with_statement(chart, derived));
        true
    }
}

/// Bandwidths in the unit of the tables.
fn in_megabytes(unit: &mut ChartUnit) {
    if unit.symbol.ends_with("iB/s") {
        (unit.symbol, unit.divide) = ("MB/s".to_owned(), 1e6);
    }
}

fn with_statement(mut chart: Chart, derived: &str) -> ReportChart {
    in_megabytes(&mut chart.x.unit);
    chart
        .y
        .iter_mut()
        .for_each(|axis| in_megabytes(&mut axis.unit));
    if let ChartBody::Grid(grid) = &mut chart.body {
        in_megabytes(&mut grid.unit);
    }
    ReportChart {
        statement: statement(&chart),
        chart,
        derived: derived.to_owned(),
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<std::collections::BTreeSet<T>>().len()
}

fn owned(load: &Load) -> Vec<JobFigures> {
    load.jobs.iter().map(|job| job.without_series()).collect()
}

/// The charts of one device; the first one answers the main question.
pub(super) fn of_device(device: &Device, answers: &[&StoredAnswer]) -> Charts {
    let mut charts = Charts {
        made: Vec::new(),
        left_out: 0,
    };
    let all = ChartOptions::default();
    let jobs = device.all();
    let main = super::answer::main_load(&jobs);
    let mut loads = loads(&jobs);
    if let Some(main) = &main {
        let key = load_key(main.first());
        loads.sort_by_key(|load| load_key(load.first()) != key);
    }
    loads.retain(|load| load.jobs.len() > 1);
    charts.left_out += loads.len().saturating_sub(MAX_LOADS);
    // The load chart of a search shows its answer.
    let with_answer = |load: &Load| {
        let of_run = |answer: &&&StoredAnswer| {
            load.jobs.iter().any(|job| job.source == answer.run) || answers.len() == 1
        };
        let own = answers.iter().find(of_run);
        ChartOptions {
            slo: own.map(|answer| answer.slo),
            answer: own.map(|answer| answer.load),
            ..ChartOptions::default()
        }
    };
    for load in loads.iter().take(MAX_LOADS) {
        let figures = owned(load);
        let depths = distinct(figures.iter().map(|job| job.depth));
        let clones = distinct(figures.iter().map(|job| job.jobs));
        match (depths > 1, clones > 1) {
            (true, true) => {
                charts.add("heat", &figures, &all);
                charts.add("load", &figures, &all);
            }
            // Two points show no curve.
            (true, false) if depths < 3 => {}
            (true, false) => {
                charts.add("depth", &figures, &all);
                charts.add("load", &figures, &with_answer(load));
            }
            (false, true) if clones < 3 => {}
            (false, true) => {
                charts.add("jobs", &figures, &all);
                charts.add("load", &figures, &all);
            }
            (false, false) => {
                if figures.iter().any(|job| job.offered.is_some()) {
                    charts.add("load", &figures, &with_answer(load));
                }
            }
        }
        if figures.len() >= 5 && depths == 1 && clones == 1 {
            charts.add("convergence", &figures, &all);
            charts.add("window", &figures, &all);
        }
    }
    let bare: Vec<JobFigures> = jobs.iter().map(|job| job.without_series()).collect();
    if distinct(bare.iter().map(|job| job.block)) > 2 {
        charts.add("block", &bare, &all);
    }
    if distinct(bare.iter().map(|job| job.mix)) > 2 {
        charts.add("interference", &bare, &all);
    }
    if charts.made.is_empty() && (2..=24).contains(&bare.len()) {
        charts.add("compare", &bare, &all);
    }
    let spread = main.as_ref().map_or_else(Vec::new, owned);
    if (1..=MAX_DISTRIBUTIONS).contains(&spread.len()) {
        charts.add("percentiles", &spread, &all);
        if spread.len() == 1 {
            charts.add("distribution", &spread, &all);
        }
    }
    let of_hosts: Vec<JobFigures> = jobs
        .iter()
        .filter(|job| !job.host.is_empty())
        .map(|job| (*job).clone())
        .collect();
    for name in ["hosts", "hosts-time", "hosts-percentiles"] {
        charts.add(name, &of_hosts, &all);
    }
    over_time(&jobs, &mut charts);
    for name in ["blame", "phases", "offsets", "sizes", "in-device"] {
        charts.add(name, &bare, &all);
    }
    if bare.len() <= 16 {
        charts.add("cpu", &bare, &all);
    }
    charts
}

/// The jobs with findings at a time first, then the longest.
fn over_time(jobs: &[&JobFigures], charts: &mut Charts) {
    let mut with: Vec<&JobFigures> = jobs
        .iter()
        .copied()
        .filter(|job| job.series.len() >= MIN_INTERVALS)
        .collect();
    with.sort_by_key(|job| {
        let timed = job
            .findings
            .iter()
            .any(|finding| finding.severity > 0 && !finding.when.is_empty());
        std::cmp::Reverse((timed, job.series.len()))
    });
    charts.left_out += with.len().saturating_sub(MAX_OVER_TIME);
    for job in with.iter().take(MAX_OVER_TIME) {
        let options = ChartOptions {
            subtitle: Some(super::workload::generated(job)),
            ..ChartOptions::default()
        };
        let this = std::slice::from_ref(*job);
        charts.add("time", this, &options);
        if with.len() == 1 {
            charts.add("time-latency", this, &options);
            charts.add("latency-map", this, &options);
        }
    }
}

/// A quantity of all devices over the I/Os in flight: one line in the colour of each device.
pub(super) fn overlay(devices: &[Device], key: &LoadKey, metric: Dimension) -> Option<ReportChart> {
    let quantity = match metric {
        Dimension::Iops => Quantity::Rate,
        _ => Quantity::Latency,
    };
    let mut series = Vec::new();
    let mut name = String::new();
    for (n, device) in devices.iter().enumerate().take(FEW) {
        let all = loads(&device.all());
        let Some(load) = all.iter().find(|load| load_key(load.first()) == *key) else {
            continue;
        };
        name = pattern(load.first());
        let points: Vec<(f64, f64)> = load
            .points()
            .iter()
            .filter_map(|point| Some((point.in_flight, metric.of(point.job, None)?)))
            .collect();
        if !points.is_empty() {
            series.push(ChartSeries {
                name: device.name.clone(),
                points,
                colour: n,
                shape: SeriesShape::Line,
                ..ChartSeries::default()
            });
        }
    }
    let mut places: Vec<u64> = series
        .iter()
        .flat_map(|one: &ChartSeries| one.points.iter().map(|(x, _)| *x as u64))
        .collect();
    places.sort_unstable();
    places.dedup();
    for (x, _) in series.iter_mut().flat_map(|one| &mut one.points) {
        *x = places
            .iter()
            .position(|place| *place == *x as u64)
            .unwrap_or(0) as f64;
    }
    let values = || {
        series
            .iter()
            .flat_map(|one: &ChartSeries| one.points.iter().map(|(_, y)| *y))
    };
    let (low, high) = values().fold((f64::INFINITY, 0.0f64), |(low, high), y| {
        (low.min(y), high.max(y))
    });
    let is_wide = high > 20.0 * low;
    let several = series.iter().any(|one| one.points.len() > 1);
    if series.len() < 2 || !several || high <= 0.0 {
        return None;
    }
    let unit = quantity.unit(low, high, is_wide);
    let chart = Chart {
        name: "depth".to_owned(),
        title: format!("{}: {name}", metric.title()),
        subtitle: "one line for each device".to_owned(),
        x: ChartAxis {
            title: "I/Os in flight".to_owned(),
            scale: AxisScale::Names(places.iter().map(u64::to_string).collect()),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: metric.title(),
            unit,
            scale: if is_wide {
                AxisScale::Log(10)
            } else {
                AxisScale::Linear
            },
            ..ChartAxis::default()
        }],
        body: ChartBody::Series(series),
        notes: Vec::new(),
        ..Chart::default()
    };
    Some(with_statement(
        chart,
        "Of several measurements with as many I/Os in flight (depth x jobs) the fastest is drawn.",
    ))
}

/// The rate over time of all devices at one load and depth that most of them have.
pub(super) fn overlay_time(devices: &[Device]) -> Option<ReportChart> {
    let config = |job: &JobFigures| (job.rw.clone(), job.block, job.mix, job.depth, job.jobs);
    let usable = |job: &&JobFigures| job.series.len() >= MIN_INTERVALS;
    let count = |wanted: &JobFigures| {
        devices
            .iter()
            .filter(|device| {
                device
                    .jobs
                    .iter()
                    .filter(usable)
                    .any(|job| config(job) == config(wanted))
            })
            .count()
    };
    let candidates = devices
        .iter()
        .flat_map(|device| device.jobs.iter().filter(usable))
        .take(200);
    let wanted = candidates.max_by_key(|job| (count(job), job.rw.contains("write"), job.depth))?;
    if count(wanted) < 2 {
        return None;
    }
    let wanted = config(wanted);
    let mut series = Vec::new();
    let mut end = 0.0f64;
    let mut missing: Vec<&str> = Vec::new();
    let mut name = String::new();
    for (n, device) in devices.iter().enumerate().take(FEW) {
        let mut all = device.jobs.iter().filter(usable);
        let Some(job) = all.find(|job| config(job) == wanted) else {
            missing.push(&device.name);
            continue;
        };
        name = super::workload::generated(job);
        let rate = |one: &fathom_model::MergedInterval| {
            let ios: u64 = Direction::ALL.iter().map(|d| one.directions[*d].ios).sum();
            ios as f64 / (one.length.get().max(1) as f64 / 1e9)
        };
        // Means of groups of intervals, so that the lines stay apart.
        let group = job.series.len().div_ceil(POINTS).max(1);
        let points: Vec<(f64, f64)> = job
            .series
            .chunks(group)
            .map(|chunk| {
                let mean = chunk.iter().map(rate).sum::<f64>() / chunk.len() as f64;
                (chunk[0].start.get() as f64, mean)
            })
            .collect();
        end = points.iter().map(|(x, _)| *x).fold(end, f64::max);
        series.push(ChartSeries {
            name: device.name.clone(),
            points: thin(&points, POINTS),
            colour: n,
            shape: SeriesShape::Thin,
            ..ChartSeries::default()
        });
    }
    let high = series
        .iter()
        .flat_map(|one| one.points.iter().map(|(_, y)| *y))
        .fold(0.0f64, f64::max);
    let chart = Chart {
        name: "time".to_owned(),
        title: "Throughput over time".to_owned(),
        subtitle: name,
        x: ChartAxis {
            title: "Time".to_owned(),
            unit: Quantity::Elapsed.unit(0.0, end, false),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: Dimension::Iops.title(),
            unit: Quantity::Rate.unit(0.0, high, false),
            ..ChartAxis::default()
        }],
        body: ChartBody::Series(series),
        notes: if missing.is_empty() {
            Vec::new()
        } else {
            vec![format!(
                "Without intervals of this load: {}.",
                missing.join(", ")
            )]
        },
        ..Chart::default()
    };
    Some(with_statement(
        chart,
        "Each point is the mean of neighbouring intervals.",
    ))
}
