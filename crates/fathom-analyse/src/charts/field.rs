//! Charts of one metric over two parameters: heat maps and 3D bars.

use std::collections::HashMap;

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartGrid, ChartOptions, Dimension, Direction,
    JobFigures,
};

use super::ChartError;
use super::curve::value_range;
use super::dimension::DimensionFormat;
use super::encoding::{Encoding, PANELS, encode};
use super::group::{Seen, chosen, split};
use super::unit::inner;

pub(super) const DERIVED: &str = "Each field is one job of a result at that position of the grid. Fields without a result are empty: nothing is \
    interpolated.";

pub(super) fn heat(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let other = |axis: Dimension| {
        if axis == Dimension::Jobs {
            Dimension::Depth
        } else {
            Dimension::Jobs
        }
    };
    let (x, y) = match (options.x, options.y) {
        (Some(x), Some(y)) if x == y => {
            return Err(ChartError::Lacks(
                "the two axes must differ: choose another --x or --y",
            ));
        }
        (Some(x), y) => (x, y.unwrap_or_else(|| other(x))),
        (None, Some(Dimension::Depth)) => (Dimension::Jobs, Dimension::Depth),
        (None, y) => (Dimension::Depth, y.unwrap_or(Dimension::Jobs)),
    };
    over_two(cells, options, x, y)
}

pub(super) fn solid(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let mut chart = heat(cells, options)?;
    if chart.panels.len() > 1 {
        chart.notes.push(
            "3D bars show one load, and these are several: --rw, --block or --direction selects one."
                .to_owned(),
        );
        return Ok(chart);
    }
    if let ChartBody::Grid(grid) = &mut chart.body {
        grid.solid = true;
    }
    Ok(chart)
}

/// Effect of a read/write mix on reads: share of reads on the x axis, outstanding I/Os on the y
/// axis.
pub(super) fn interference(
    cells: &[JobFigures],
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let of_reads = ChartOptions {
        direction: options.direction.or(Some(Direction::Read)),
        metric: options.metric.or(Some(Dimension::Percentile(99.0))),
        ..options.clone()
    };
    if let Some(map) = by_rates(cells, &of_reads)? {
        return Ok(map);
    }
    // A job that only reads has no rwmixread: its share of reads is 100 %.
    let mixed: Vec<JobFigures> = cells
        .iter()
        .map(JobFigures::without_series)
        .map(|mut cell| {
            let only_reads =
                cell.directions.len() == 1 && cell.directions[0].direction == Direction::Read;
            cell.mix = cell.mix.or(only_reads.then_some(100));
            // Only this direction is drawn: a pure read job is the same load at 100 %.
            let wanted = of_reads.direction;
            cell.directions
                .retain(|figures| wanted.is_none_or(|wanted| wanted == figures.direction));
            cell.rw = cell
                .rw
                .replace("randread", "random")
                .replace("randrw", "random")
                .replace("rw", "sequential")
                .replace("read", "sequential");
            cell
        })
        .collect();
    let mut chart = over_two(&mixed, &of_reads, Dimension::Mix, Dimension::Outstanding)?;
    if matches!(&chart.x.scale, AxisScale::Names(names) if names.len() < 2) {
        return Err(ChartError::Lacks(
            "this chart needs jobs with at least two shares of reads (rwmixread)",
        ));
    }
    chart.title = format!(
        "Effect of writes on reads: {}",
        inner(&of_reads.metric.map_or(String::new(), Dimension::title))
    );
    chart.x.title = "Reads among all I/Os".to_owned();
    Ok(chart)
}

/// Readers and writers that run together, each at a planned rate: write bandwidth on the x axis,
/// reads per second on the y axis.
fn by_rates(cells: &[JobFigures], options: &ChartOptions) -> Result<Option<Chart>, ChartError> {
    let does = |cell: &JobFigures, direction: Direction| {
        cell.directions
            .iter()
            .all(|direction_figures| direction_figures.direction == direction)
    };
    let writers: HashMap<usize, f64> = cells
        .iter()
        .filter(|cell| does(cell, Direction::Write))
        .filter_map(|cell| Some((cell.result, cell.rate?)))
        .collect();
    let readers = cells
        .iter()
        .filter(|cell| cell.offered.is_some() && does(cell, Direction::Read));
    let beside = readers.filter_map(|reader| {
        Some(JobFigures {
            rate: Some(*writers.get(&reader.result)?),
            ..reader.without_series()
        })
    });
    let beside: Vec<JobFigures> = beside.collect();
    let mut rates: Vec<f64> = beside.iter().filter_map(|cell| cell.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    if rates.len() < 2 {
        return Ok(None);
    }
    let mut chart = over_two(&beside, options, Dimension::Rate, Dimension::Offered)?;
    chart.title = format!(
        "Effect of writes on reads: {}",
        inner(&options.metric.map_or(String::new(), Dimension::title))
    );
    chart.x.title = "Planned concurrent writes".to_owned();
    chart.y[0].title = "Planned reads (IOPS)".to_owned();
    Ok(Some(chart))
}

fn over_two(
    cells: &[JobFigures],
    options: &ChartOptions,
    x: Dimension,
    y: Dimension,
) -> Result<Chart, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Iops);
    // Each load has a panel; of too many those with the most results are drawn.
    let mut groups = split(chosen(cells, options), &[x, y]);
    if groups.groups.len() > PANELS {
        groups
            .groups
            .sort_by_key(|group| std::cmp::Reverse(group.seen.len()));
    }
    let all = encode(groups).separated();
    let made = Encoding {
        is_complete: options.is_complete,
        ..if options.is_complete {
            all
        } else {
            all.limited()
        }
    };
    let seen: Vec<Seen> = made
        .lines
        .iter()
        .flat_map(|line| line.seen.clone())
        .collect();
    if seen.is_empty() {
        return Err(ChartError::Lacks(
            "no job in these results matches the filters",
        ));
    }
    let (columns, rows) = (places(&seen, x), places(&seen, y));
    let size = columns.len() * rows.len();
    let mut repeats: Vec<Vec<f64>> = vec![Vec::new(); size * made.panels.len().max(1)];
    for line in &made.lines {
        for seen in &line.seen {
            let place = |dimension: Dimension, known: &[f64]| {
                let value = seen.value(dimension)?;
                known.binary_search_by(|known| known.total_cmp(&value)).ok()
            };
            if let (Some(column), Some(row)) = (place(x, &columns), place(y, &rows)) {
                repeats[line.panel * size + row * columns.len() + column]
                    .extend(seen.value(metric));
            }
        }
    }
    let repeated = repeats.iter().filter(|values| values.len() > 1).count();
    let mean = |values: &Vec<f64>| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let values: Vec<Option<f64>> = repeats.iter().map(mean).collect();
    if values.iter().flatten().next().is_none() {
        return Err(ChartError::Lacks("no job in these results has that metric"));
    }
    let (low, high) = value_range(values.iter().flatten().copied());
    let log = low > 0.0 && high / low > 50.0;
    let named = |dimension: Dimension, places: &[f64]| ChartAxis {
        title: dimension.title(),
        scale: AxisScale::Names(places.iter().map(|place| dimension.label(*place)).collect()),
        ..ChartAxis::default()
    };
    let mut notes = Vec::new();
    if repeated > 0 {
        notes.push(format!(
            "{} of several results with the same parameters show their mean.",
            crate::figures::counted(repeated as u64, "field")
        ));
    }
    notes.extend(made.notes);
    Ok(Chart {
        title: format!(
            "{} by {} and {}",
            metric.title(),
            inner(&x.title()),
            inner(&y.title())
        ),
        subtitle: made.common,
        panels: made.panels,
        x: named(x, &columns),
        y: vec![named(y, &rows)],
        body: ChartBody::Grid(ChartGrid {
            title: metric.title(),
            unit: metric.quantity().unit(low, high, log),
            columns: columns.len(),
            rows: rows.len(),
            values,
            solid: false,
            log,
        }),
        notes,
        ..Chart::default()
    })
}

fn places(seen: &[Seen], dimension: Dimension) -> Vec<f64> {
    let mut places: Vec<f64> = seen
        .iter()
        .filter_map(|seen| seen.value(dimension))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use fathom_model::DirectionFigures;

    use super::*;

    fn cell(source: &str, depth: u32, jobs: u32, iops: f64) -> JobFigures {
        JobFigures {
            source: source.to_owned(),
            depth: Some(depth),
            jobs: Some(jobs),
            directions: vec![DirectionFigures {
                direction: Direction::Read,
                iops,
                iops_spread: None,
                bandwidth: 0.0,
                ios: 1,
                latency: Default::default(),
                slat: None,
                lat: None,
            }],
            ..JobFigures::default()
        }
    }

    /// Regression 0387: of several results at one place of the grid only the last one was shown.
    #[test]
    fn fields_of_repeats_are_means_and_say_so() {
        let cells = [
            cell("sda", 1, 1, 100.0),
            cell("sda", 1, 1, 200.0),
            cell("sda", 2, 2, 400.0),
            cell("sdb", 1, 1, 999.0),
        ];
        let chart = heat(&cells, &ChartOptions::default()).expect("a chart");
        let ChartBody::Grid(grid) = &chart.body else {
            panic!("{chart:?}")
        };
        assert_eq!(chart.panels, ["sda", "sdb"]);
        let empty = [None; 3];
        let (first, second) = grid.values.split_at(4);
        assert_eq!(first, [Some(150.0), None, None, Some(400.0)]);
        assert_eq!((second[0], &second[1..]), (Some(999.0), &empty[..]));
        assert!(
            chart.notes.iter().any(|note| note.starts_with("1 field")),
            "{:?}",
            chart.notes
        );
    }

    /// Of several loads only one was drawn in 3D, and the reader did not see that there are others.
    #[test]
    fn several_loads_are_never_drawn_as_one_in_3d() {
        let cells = [cell("sda", 1, 1, 100.0), cell("sdb", 1, 2, 999.0)];
        let drawn = |cells: &[JobFigures]| {
            let chart = solid(cells, &ChartOptions::default()).expect("a chart");
            let ChartBody::Grid(grid) = &chart.body else {
                panic!("{chart:?}")
            };
            let values: Vec<f64> = grid.values.iter().flatten().copied().collect();
            (
                grid.solid,
                chart.panels.clone(),
                values,
                chart.notes.join(" "),
            )
        };
        let (is_solid, panels, values, notes) = drawn(&cells);
        assert!(!is_solid && notes.contains("--rw"), "{notes}");
        assert_eq!((panels.len(), values), (2, vec![100.0, 999.0]));
        let (is_solid, panels, ..) = drawn(&cells[..1]);
        assert!(is_solid && panels.is_empty());
    }
}
