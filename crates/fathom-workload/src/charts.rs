//! Pictures of a profile, as data: offsets over time, rate, sizes, miss-ratio curve.

use fathom_model::format::bytes;
use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartGrid, ChartSeries, ChartUnit, Report, ReportBlock,
    ReportChart, ReportSection, SeriesShape,
};

use crate::job::{Scale, fio_job};
use crate::profile::{Profile, Sizes, by_count};
use crate::reader::TraceFacts;
use crate::text::{profile_text, sentence};

/// Points of the rate over time at most.
const POINTS: usize = 400;
/// Sizes that have a bar.
const BARS: usize = 12;

/// The profile as a report with pictures. `name` is that of the trace.
#[must_use]
pub fn profile_report(profile: &Profile, name: &str, facts: &TraceFacts) -> Report {
    let mut charts = vec![
        (
            offsets(profile),
            "Each field counts the reads and writes that began in it.",
        ),
        (rate(profile), "I/Os issued in each window of time."),
        (sizes(profile), "The most frequent sizes."),
    ];
    charts.extend(miss_ratio(profile).map(|chart| {
        (
            chart,
            "The share of block accesses that would miss a cache of this size, from reuse distances (SHARDS).",
        )
    }));
    let mut answer = vec![
        ReportBlock::Subject(format!("{name} ({})", facts.format)),
        ReportBlock::Answer(sentence(profile)),
    ];
    for (mut chart, derived) in charts {
        name.clone_into(&mut chart.subtitle);
        answer.push(ReportBlock::Chart(Box::new(ReportChart {
            statement: chart.title.clone(),
            derived: derived.to_owned(),
            chart,
        })));
    }
    Report {
        title: format!("Load of {name}"),
        sections: vec![
            ReportSection {
                blocks: answer,
                ..ReportSection::default()
            },
            ReportSection {
                heading: "Figures".to_owned(),
                folded: false,
                blocks: vec![ReportBlock::List(figures(profile, name, facts))],
            },
            ReportSection {
                heading: "Job file".to_owned(),
                folded: true,
                blocks: vec![ReportBlock::Plan(fio_job(profile, name, Scale::default()))],
            },
        ],
    }
}

/// The lines of the text, without the first two, which the report has above.
fn figures(profile: &Profile, name: &str, facts: &TraceFacts) -> Vec<String> {
    profile_text(profile, name, facts)
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect()
}

fn axis(title: &str, symbol: &str, divide: f64) -> ChartAxis {
    ChartAxis {
        title: title.to_owned(),
        unit: ChartUnit {
            symbol: symbol.to_owned(),
            divide,
        },
        ..ChartAxis::default()
    }
}

fn time_axis(profile: &Profile) -> ChartAxis {
    let (symbol, divide) = if profile.length >= 600_000_000_000 {
        ("min", 60e9)
    } else {
        ("s", 1e9)
    };
    axis("Time", symbol, divide)
}

fn byte_axis(title: &str, largest: f64) -> ChartAxis {
    let units = [
        ("TiB", 1_u64 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    let (symbol, divide) = units
        .into_iter()
        .find(|(_, unit)| largest >= *unit as f64)
        .unwrap_or(("KiB", 1 << 10));
    axis(title, symbol, divide as f64)
}

/// How many I/Os went where at which time.
fn offsets(profile: &Profile) -> Chart {
    let picture = &profile.picture;
    let columns = picture.columns.len().max(1);
    let rows = picture
        .columns
        .iter()
        .map(Vec::len)
        .max()
        .unwrap_or(0)
        .max(1);
    let mut values = Vec::with_capacity(columns * rows);
    for row in 0..rows {
        for column in 0..columns {
            let count = picture
                .columns
                .get(column)
                .and_then(|cells| cells.get(row))
                .copied()
                .unwrap_or(0);
            values.push((count > 0).then(|| f64::from(count)));
        }
    }
    let (width, height) = (
        picture.width as f64 * columns as f64,
        picture.height as f64 * rows as f64,
    );
    Chart {
        name: "offsets".to_owned(),
        title: "Where the I/Os go".to_owned(),
        x: ChartAxis {
            from: Some(0.0),
            to: Some(width),
            ..time_axis(profile)
        },
        y: vec![ChartAxis {
            from: Some(0.0),
            to: Some(height),
            ..byte_axis("Offset", height)
        }],
        body: ChartBody::Grid(ChartGrid {
            title: "I/Os".to_owned(),
            columns,
            rows,
            values,
            log: true,
            ..ChartGrid::default()
        }),
        ..Chart::default()
    }
}

fn rate(profile: &Profile) -> Chart {
    let coarse = profile.over_time.coarse(POINTS);
    let seconds = coarse.width as f64 / 1e9;
    // The last window is cut by the end of the trace.
    let whole = (profile.length / coarse.width).max(1) as usize;
    let series = |name: &str, colour: usize, of: &dyn Fn(usize) -> u64| ChartSeries {
        name: name.to_owned(),
        shape: SeriesShape::Thin,
        points: (0..coarse.windows.len().min(whole))
            .map(|index| {
                (
                    (index as f64 + 0.5) * coarse.width as f64,
                    of(index) as f64 / seconds,
                )
            })
            .collect(),
        colour,
        ..ChartSeries::default()
    };
    Chart {
        name: "rate".to_owned(),
        title: "Arrivals per second".to_owned(),
        x: time_axis(profile),
        y: vec![axis("I/Os per second", "", 1.0)],
        body: ChartBody::Series(vec![
            series("all", 0, &|index| coarse.windows[index].ios),
            series("reads", 1, &|index| coarse.windows[index].reads),
        ]),
        ..Chart::default()
    }
}

fn sizes(profile: &Profile) -> Chart {
    let mut all: Vec<(u32, u64)> = Vec::new();
    for (size, count) in profile.sizes.iter().flatten() {
        match all.iter_mut().find(|(known, _)| known == size) {
            Some((_, sum)) => *sum += count,
            None => all.push((*size, *count)),
        }
    }
    let total: u64 = all.iter().map(|(_, count)| count).sum();
    let mut all = by_count(all);
    all.truncate(BARS);
    all.sort_unstable();
    let bars = |name: &str, colour: usize, sizes: &Sizes| ChartSeries {
        name: name.to_owned(),
        shape: SeriesShape::Bars,
        points: all
            .iter()
            .enumerate()
            .map(|(at, (size, _))| {
                let count = sizes
                    .iter()
                    .find(|(known, _)| known == size)
                    .map_or(0, |(_, count)| *count);
                (at as f64, count as f64 * 100.0 / total.max(1) as f64)
            })
            .collect(),
        colour,
        ..ChartSeries::default()
    };
    Chart {
        name: "sizes".to_owned(),
        title: "Sizes".to_owned(),
        x: ChartAxis {
            title: "Size".to_owned(),
            scale: AxisScale::Names(all.iter().map(|(size, _)| bytes((*size).into())).collect()),
            ..ChartAxis::default()
        },
        y: vec![axis("Share of the I/Os", "%", 1.0)],
        body: ChartBody::Series(vec![
            bars("reads", 1, &profile.sizes[0]),
            bars("writes", 2, &profile.sizes[1]),
        ]),
        ..Chart::default()
    }
}

/// `None` without data.
fn miss_ratio(profile: &Profile) -> Option<Chart> {
    let points: Vec<(f64, f64)> = profile
        .locality
        .miss_ratio
        .iter()
        .filter(|(size, _)| *size > 0.0)
        .map(|(size, ratio)| (*size, ratio * 100.0))
        .collect();
    let (smallest, largest) = (points.first()?.0, points.last()?.0);
    Some(Chart {
        name: "miss-ratio".to_owned(),
        title: "Misses of an LRU cache".to_owned(),
        x: ChartAxis {
            scale: AxisScale::Log(2),
            from: Some(smallest),
            to: Some(largest),
            ..byte_axis("Size of the cache", largest)
        },
        y: vec![ChartAxis {
            to: Some(100.0),
            ..axis("Misses", "%", 1.0)
        }],
        body: ChartBody::Series(vec![ChartSeries {
            name: "misses".to_owned(),
            shape: SeriesShape::Thin,
            points,
            ..ChartSeries::default()
        }]),
        ..Chart::default()
    })
}
