//! Charts by host of a run on several hosts: all jobs of a host are one line, or one row of a heat map.

use std::collections::HashMap;

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartGrid, ChartOptions, Dimension, Histogram,
    JobFigures, MergedInterval, MergedIntervalDirection,
};

use super::ChartError;
use super::clones::combine;
use super::curve::value_range;
use super::dimension::DimensionFormat;
use super::group::chosen;
use super::time::full;
use super::unit::Quantity;
use super::{distribution, time};

pub(super) const DERIVED: &str = "All jobs of a host are added, bucket by bucket and interval by interval; the intervals of the hosts are aligned by their \
    corrected clocks. A field of the map contains all I/Os of that host in that range of time: a rate is their number divided by the time, a latency \
    is computed from their distribution. Blank: no interval.";
/// Columns of the map.
const COLUMNS: usize = 60;
const ONE_HOST: ChartError = ChartError::Lacks(
    "a chart by host needs a run of several hosts: `fathom run --hosts` or `--ssh`",
);
const NO_INTERVALS: ChartError = ChartError::Lacks(
    "these results have no intervals; of a run on several hosts the store keeps them: `fathom plot rN -o FILE`",
);

/// The jobs of each host as one, in the order of the hosts. What they do not have in common is left out, so that the names of the
/// hosts tell the lines apart.
fn by_host(cells: &[JobFigures], options: &ChartOptions) -> Result<Vec<JobFigures>, ChartError> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<JobFigures>> = Vec::new();
    let used = |cell: &&JobFigures| !cell.host.is_empty() && options.matches(cell);
    for cell in cells.iter().filter(used) {
        let key = (cell.result, &cell.source, &cell.host);
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(cell.clone()),
            None => groups.push(vec![cell.clone()]),
        }
    }
    if groups.len() < 2 {
        return Err(ONE_HOST);
    }
    let mut hosts: Vec<JobFigures> = groups.iter().map(|group| combine(group)).collect();
    let all = || groups.iter().flatten();
    let same = |differs: &dyn Fn(&JobFigures, &JobFigures) -> bool| {
        let first = &groups[0][0];
        !all().any(|job| differs(first, job))
    };
    let (rw, engine) = (
        same(&|a, b| a.rw != b.rw),
        same(&|a, b| a.engine != b.engine),
    );
    let (block, depth) = (
        same(&|a, b| a.block != b.block),
        same(&|a, b| a.depth != b.depth),
    );
    let mix = same(&|a, b| a.mix != b.mix);
    for (host, group) in hosts.iter_mut().zip(&groups) {
        host.name.clone_from(&host.host);
        host.jobs = None;
        host.offset = None;
        // Options of `fathom plot` that select jobs were for the jobs.
        if !rw {
            host.rw.clear();
        }
        if !engine {
            host.engine.clear();
        }
        host.block = host.block.filter(|_| block);
        host.depth = host.depth.filter(|_| depth);
        host.mix = host.mix.filter(|_| mix && group.len() == 1);
    }
    Ok(hosts)
}

/// The options without what has selected the jobs.
fn of_hosts(options: &ChartOptions) -> ChartOptions {
    ChartOptions {
        direction: options.direction,
        metric: options.metric,
        second_metric: options.second_metric,
        smoothing: options.smoothing,
        is_complete: options.is_complete,
        ..ChartOptions::default()
    }
}

pub(super) fn lines(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let mut chart = time::throughput(&by_host(cells, options)?, &of_hosts(options))?;
    chart.title = format!("{} by host", chart.title);
    // The table of the hosts is in the result; of many, it would leave no room for the lines.
    chart.table.clear();
    Ok(chart)
}

pub(super) fn percentiles(
    cells: &[JobFigures],
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let mut chart = distribution::percentiles(&by_host(cells, options)?, &of_hosts(options))?;
    chart.title = format!("{} and host", chart.title);
    Ok(chart)
}

/// A field of the map.
struct Field {
    length: u64,
    ios: u64,
    bytes: u64,
    mean_sum: u128,
    max: u64,
    latencies: Histogram,
}

impl Field {
    fn empty() -> Field {
        Field {
            length: 0,
            ios: 0,
            bytes: 0,
            mean_sum: 0,
            max: 0,
            latencies: Histogram::new(),
        }
    }

    fn add(&mut self, part: &MergedIntervalDirection) {
        self.ios += part.ios;
        self.bytes += part.bytes;
        self.mean_sum += u128::from(part.mean.unwrap_or(0)) * u128::from(part.ios);
        self.max = self.max.max(part.max.unwrap_or(0));
        part.latencies.add_to(&mut self.latencies);
    }

    fn value(&self, metric: Dimension) -> Option<f64> {
        let rate =
            |amount: u64| (self.length > 0).then(|| amount as f64 / (self.length as f64 / 1e9));
        let value = match metric {
            Dimension::Iops => return rate(self.ios),
            Dimension::Bandwidth => return rate(self.bytes),
            Dimension::Max => self.max as f64,
            Dimension::Percentile(percent) => self.latencies.percentile(percent)?,
            _ => self.mean_sum as f64 / self.ios.max(1) as f64,
        };
        (value > 0.0).then_some(value)
    }
}

pub(super) fn map(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Iops);
    let is_known = matches!(
        metric,
        Dimension::Iops
            | Dimension::Bandwidth
            | Dimension::Mean
            | Dimension::Max
            | Dimension::Percentile(_)
    );
    if !is_known {
        return Err(ChartError::Lacks(
            "the map of hosts has iops, bw, mean, max and any percentile",
        ));
    }
    let hosts = by_host(cells, options)?;
    let own = of_hosts(options);
    let series: Vec<Vec<&MergedInterval>> = hosts
        .iter()
        .map(|host| full(&host.series).collect())
        .collect();
    let ends = series.iter().flatten();
    let end = ends
        .map(|moment| (moment.start + moment.length).get())
        .max()
        .unwrap_or(0);
    let columns = series.iter().map(Vec::len).max().unwrap_or(0).min(COLUMNS);
    if columns == 0 || end == 0 {
        return Err(NO_INTERVALS);
    }
    let column_of = |moment: &MergedInterval| {
        let middle = u128::from(moment.start.get()) + u128::from(moment.length.get()) / 2;
        ((middle * columns as u128 / u128::from(end)) as usize).min(columns - 1)
    };
    let mut values = Vec::new();
    let mut names = Vec::new();
    // From the bottom: the first host is the highest row.
    for (host, series) in hosts.iter().zip(&series).rev() {
        let seen = chosen(std::slice::from_ref(host), &own);
        let mut fields: Vec<Field> = (0..columns).map(|_| Field::empty()).collect();
        for moment in series {
            let field = &mut fields[column_of(moment)];
            field.length += moment.length.get();
            for one in &seen {
                field.add(&moment.directions[one.direction_figures.direction]);
            }
        }
        values.extend(fields.iter().map(|field| field.value(metric)));
        names.push(host.name.clone());
    }
    if values.iter().all(Option::is_none) {
        return Err(NO_INTERVALS);
    }
    let (low, high) = value_range(values.iter().flatten().copied());
    let log = low > 0.0 && high / low > 50.0;
    let unit = Quantity::Elapsed.unit(0.0, end as f64, false);
    let starts = |column: usize| {
        let at = column as f64 * end as f64 / columns as f64 / unit.divide;
        format!("{}", (at * 10.0).round() / 10.0)
    };
    Ok(Chart {
        title: format!("{} of each host over time", metric.title()),
        subtitle: hosts[0].source.clone(),
        x: ChartAxis {
            title: format!("Time since the start, {}", unit.symbol),
            scale: AxisScale::Names((0..columns).map(starts).collect()),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: "Host".into(),
            scale: AxisScale::Names(names),
            ..ChartAxis::default()
        }],
        body: ChartBody::Grid(ChartGrid {
            title: metric.title(),
            unit: metric.quantity().unit(low, high, log),
            columns,
            rows: hosts.len(),
            values,
            solid: false,
            log,
        }),
        ..Chart::default()
    })
}
