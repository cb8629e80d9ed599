//! No chart panics, whatever the figures: none, one, all alike, the largest and smallest there are,
//! and very many.

use fathom_analyse::{CHARTS, chart, thin};
use fathom_chart::{Frame, Renderer, csv, svg};
use fathom_model::{
    Chart, ChartAxis, ChartBody, ChartGrid, ChartOptions, Dimension, Direction, DirectionFigures,
    JobFigures, LatencySummary, MergedInterval, MergedIntervalDirection, Nanos, PerDirection,
};
use proptest::prelude::*;

fn way() -> impl Strategy<Value = DirectionFigures> {
    let figure = || {
        prop_oneof![
            Just(0.0),
            Just(1.0),
            Just(f64::MIN_POSITIVE),
            Just(1e300),
            1.0..1e7
        ]
    };
    let bins = prop::collection::vec((any::<u64>(), 0..1_000_000u64), 0..6);
    (0..3usize, figure(), figure(), figure(), any::<u64>(), bins).prop_map(
        |(way, iops, bandwidth, mean, ns, mut bins)| {
            bins.sort_unstable();
            DirectionFigures {
                direction: Direction::ALL[way],
                iops,
                iops_spread: Some((mean, 2)),
                bandwidth,
                ios: ns % 1000,
                latency: LatencySummary {
                    min: 0,
                    max: ns,
                    mean,
                    stddev: mean,
                    n: ns % 7,
                    percentiles: vec![(50.0, ns / 2), (99.0, ns), (100.0, ns)],
                    bins,
                    overflow: 0,
                },
                slat: Some(mean),
                lat: None,
            }
        },
    )
}

fn moment() -> impl Strategy<Value = MergedInterval> {
    (any::<u32>(), any::<u32>(), any::<u64>(), 0..3u64).prop_map(|(start, length, ios, bad)| {
        let one = MergedIntervalDirection {
            ios,
            bytes: ios / 2,
            bad,
            p50: Some(ios),
            p99: None,
            max: Some(ios),
            ..MergedIntervalDirection::default()
        };
        let none = MergedIntervalDirection::default;
        MergedInterval {
            start: Nanos::new(start.into()),
            length: Nanos::new(length.into()),
            directions: PerDirection([one, none(), none()]),
        }
    })
}

fn job() -> impl Strategy<Value = JobFigures> {
    let number = || prop::option::of(prop_oneof![Just(0u32), Just(1), Just(u32::MAX), 1..64u32]);
    (
        number(),
        number(),
        number(),
        prop::option::of(any::<u64>()),
        prop::collection::vec(way(), 0..3),
        prop::collection::vec(moment(), 0..8),
        "\\PC{0,8}",
    )
        .prop_map(
            |(depth, jobs, mix, block, directions, series, name)| JobFigures {
                host: String::new(),
                description: String::new(),
                commits: false,
                latency_name: "",
                source: name.clone(),
                engine: name.clone(),
                name,
                rw: "randrw".into(),
                block,
                depth,
                jobs,
                mix,
                offered: None,
                directions,
                cpu: Some((1.0, f64::MAX)),
                series,
                steady: vec![1.0, 0.0],
                findings: Vec::new(),
                result: 0,
                observed: None,
                blame: Vec::new(),
                clones: None,
                offset: block,
                region: block,
                rate: Some(1e300),
                classes: vec![(2.0, 1.0), (f64::INFINITY, 0.0)],
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_chart_panics(jobs in prop::collection::vec(job(), 0..6), metric in 0..4usize) {
        let metric = [None, Some(Dimension::Bandwidth), Some(Dimension::Percentile(99.0)), Some(Dimension::CpuPerIo)][metric];
        let options = ChartOptions { metric, slo: Some((Dimension::Percentile(99.0), 1e6)), ..ChartOptions::default() };
        for kind in CHARTS {
            if let Ok(made) = chart(kind.name, &jobs, &options) {
                prop_assert!(!csv(&made).is_empty());
            }
        }
    }
}

/// The script draws single points and constant values.
#[test]
fn single_and_constant_figures_are_drawn() {
    let Ok(renderer) = Renderer::new() else {
        eprintln!("SKIP: single_and_constant_figures_are_drawn: this build has no chart script");
        return;
    };
    let way = DirectionFigures {
        direction: Direction::Read,
        iops: 100.0,
        iops_spread: None,
        bandwidth: 409_600.0,
        ios: 1000,
        latency: LatencySummary {
            min: 5,
            max: 5,
            mean: 5.0,
            n: 1000,
            percentiles: vec![(50.0, 5), (99.0, 5)],
            bins: vec![(5, 1000)],
            ..LatencySummary::default()
        },
        slat: None,
        lat: None,
    };
    let one = JobFigures {
        depth: Some(1),
        jobs: Some(1),
        rw: "read".into(),
        directions: vec![way],
        cpu: Some((1.0, 1.0)),
        steady: vec![7.0; 9],
        ..JobFigures::default()
    };
    for kind in CHARTS {
        for jobs in [vec![], vec![one.clone()], vec![one.clone(); 5]] {
            if let Ok(made) = chart(kind.name, &jobs, &ChartOptions::default()) {
                let drawn = svg(
                    &made,
                    &Frame {
                        width: 400,
                        height: 300,
                        ..Frame::default()
                    },
                    &renderer,
                );
                assert!(
                    drawn
                        .as_ref()
                        .is_ok_and(|svg| svg.contains("<svg") && !svg.contains("NaN")),
                    "{}: {drawn:?}",
                    kind.name
                );
            }
        }
    }
}

/// Ten million values in one chart: four for each of two directions of an interval, and as many
/// rounds and bins.
#[test]
fn whole_charts_of_ten_million_points_stay_small() {
    let way = |n: u64| MergedIntervalDirection {
        ios: 1000 + n % 7,
        bytes: 4096 * (1000 + n % 7),
        p50: Some(100),
        p99: Some(1000 + n % 11),
        max: Some(if n == 777_777 { 9_000_000 } else { 5000 }),
        ..MergedIntervalDirection::default()
    };
    let moment = |n: u64| MergedInterval {
        start: Nanos::new(n * 1_000_000),
        length: Nanos::new(1_000_000),
        directions: PerDirection([way(n), way(n), MergedIntervalDirection::default()]),
    };
    let one = |direction| DirectionFigures {
        direction,
        iops: 1e6,
        iops_spread: None,
        bandwidth: 4e9,
        ios: 1 << 40,
        slat: None,
        lat: None,
        latency: LatencySummary {
            n: 10_000_000,
            percentiles: vec![(99.0, 5)],
            bins: (1..=5_000_000).map(|ns| (ns, 1)).collect(),
            ..LatencySummary::default()
        },
    };
    let directions = vec![one(Direction::Read), one(Direction::Write)];
    let job = JobFigures {
        rw: "read".into(),
        depth: Some(1),
        jobs: Some(1),
        directions,
        cpu: Some((1.0, 1.0)),
        series: (0..1_250_000).map(moment).collect(),
        ..JobFigures::default()
    };
    let rounds = JobFigures {
        series: Vec::new(),
        steady: (0..10_000_000).map(f64::from).collect(),
        ..job.clone()
    };
    let only = JobFigures {
        directions: vec![job.directions[0].clone()],
        ..job.clone()
    };
    let mut drawn = 0;
    for (job, kinds) in [
        (
            &job,
            &[
                "time",
                "time-latency",
                "latency-map",
                "distribution",
                "percentiles",
                "depth",
                "load",
                "convergence",
            ][..],
        ),
        (&only, &["space"]),
        (&rounds, &["convergence", "window"]),
    ] {
        for kind in kinds {
            let Ok(made) = chart(kind, std::slice::from_ref(job), &ChartOptions::default()) else {
                continue;
            };
            let ChartBody::Series(all) = &made.body else {
                continue;
            };
            assert!(
                all.iter().all(|series| series.points.len() <= 1502),
                "{kind}"
            );
            assert!(csv(&made).len() < 2_000_000, "{kind}");
            if *kind == "time-latency" {
                assert!(
                    all.iter()
                        .any(|series| series.points.iter().any(|point| point.1 == 9e6)),
                    "the one long I/O is seen"
                );
            }
            drawn += 1;
        }
    }
    assert!(drawn >= 8, "{drawn} were drawn");
}

#[test]
fn ten_million_points_keep_their_extremes() {
    let points: Vec<(f64, f64)> = (0..10_000_000)
        .map(|n| (f64::from(n), if n == 7_654_321 { 9.0 } else { 1.0 }))
        .collect();
    let thinned = thin(&points, 1500);
    assert!(thinned.len() <= 1502 && thinned.contains(&(7_654_321.0, 9.0)));
}

/// Charts with a point for each job draw few of very many: 6,400 jobs with 80 depths, 80 job
/// counts, block sizes and mixes.
#[test]
fn charts_with_a_point_for_each_job_stay_small() {
    let way = |direction, iops| DirectionFigures {
        direction,
        iops,
        iops_spread: None,
        bandwidth: iops * 4096.0,
        ios: 1000,
        slat: None,
        lat: None,
        latency: LatencySummary {
            mean: 5.0,
            n: 1000,
            percentiles: vec![(99.0, 9)],
            ..LatencySummary::default()
        },
    };
    let one = |n: u32| JobFigures {
        rw: "randrw".into(),
        depth: Some(1 + n % 80),
        jobs: Some(1 + n / 80),
        block: Some(4096),
        mix: Some(n % 100),
        cpu: Some((1.0, 1.0)),
        offset: Some(u64::from(n) << 20),
        directions: vec![
            way(Direction::Read, 1.0 + f64::from(n)),
            way(Direction::Write, 1.0),
        ],
        ..JobFigures::default()
    };
    let jobs: Vec<JobFigures> = (0..6_400).map(one).collect();
    let blocks: Vec<JobFigures> = jobs
        .iter()
        .enumerate()
        .map(|(n, job)| JobFigures {
            block: Some(512 * (1 + n as u64)),
            depth: Some(1),
            jobs: Some(1),
            mix: None,
            offset: None,
            ..job.clone()
        })
        .collect();
    for kind in [
        "heat",
        "3d",
        "compare",
        "cpu",
        "interference",
        "depth",
        "jobs",
        "xy",
        "space",
    ] {
        let made = chart(kind, &jobs, &ChartOptions::default())
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        stays_small(kind, &made);
    }
    let steps: Vec<JobFigures> = (0..6_400)
        .map(|n| JobFigures {
            depth: Some(1 + n),
            jobs: Some(1),
            mix: None,
            offset: None,
            ..one(n)
        })
        .collect();
    stays_small(
        "load",
        &chart("load", &steps, &ChartOptions::default()).expect("a chart"),
    );
    stays_small(
        "block",
        &chart("block", &blocks, &ChartOptions::default()).expect("a chart"),
    );
}

fn stays_small(kind: &str, made: &Chart) {
    if let ChartBody::Series(all) = &made.body {
        assert!(
            all.len() <= 48 && all.iter().all(|series| series.points.len() <= 1502),
            "{kind}"
        );
    }
}

/// Regression 0287: of more than 2,400 columns or rows the image showed only the first ones,
/// stretched. A grid of ten million values becomes an image of screen size that still shows a
/// single outlier.
#[test]
fn grids_of_ten_million_values_are_drawn() {
    let Ok(renderer) = Renderer::new() else {
        eprintln!("SKIP: grids_of_ten_million_values_are_drawn: this build has no chart script");
        return;
    };
    let side = 3_163;
    let mut values = vec![Some(1.0); side * side];
    values[5_000_000] = Some(1000.0);
    let axis = || ChartAxis {
        from: Some(0.0),
        to: Some(side as f64),
        ..ChartAxis::default()
    };
    for solid in [false, true] {
        let grid = ChartGrid {
            columns: side,
            rows: side,
            values: values.clone(),
            solid,
            ..ChartGrid::default()
        };
        let made = Chart {
            x: axis(),
            y: vec![axis()],
            body: ChartBody::Grid(grid),
            ..Chart::default()
        };
        let drawn = svg(&made, &Frame::default(), &renderer).expect("a picture");
        assert!(drawn.len() < 2_000_000, "{} bytes", drawn.len());
        assert!(
            drawn.contains("1,000"),
            "the largest value stands at the scale"
        );
    }
}
