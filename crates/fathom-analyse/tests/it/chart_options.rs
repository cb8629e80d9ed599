//! Options of charts: limits, ceilings and labels, with values by arithmetic.

use fathom_analyse::{ChartError, chart, fitting_charts};
use fathom_model::{
    AxisScale, ChartBody, ChartOptions, Dimension, Direction, DirectionFigures, HostLink,
    JobFigures, LatencySummary, MarkPosition, MergedInterval, Nanos, SeriesShape, Smoothing,
};

/// Random reads of 4 KiB at a depth: IOPS and mean latency in milliseconds.
fn cell(depth: u32, iops: f64, mean_ms: f64) -> JobFigures {
    JobFigures {
        source: "drive".into(),
        name: format!("depth-{depth}"),
        rw: "randread".into(),
        block: Some(4096),
        depth: Some(depth),
        jobs: Some(1),
        directions: vec![DirectionFigures {
            direction: Direction::Read,
            iops,
            iops_spread: None,
            bandwidth: iops * 4096.0,
            ios: 1000,
            latency: LatencySummary {
                mean: mean_ms * 1e6,
                n: 1000,
                ..LatencySummary::default()
            },
            slat: None,
            lat: None,
        }],
        cpu: Some((6.0, 4.0)),
        ..JobFigures::default()
    }
}

fn link(name: &str, links: u32, metric: Dimension) -> ChartOptions {
    ChartOptions {
        link: Some((name.parse::<HostLink>().expect("a link"), links)),
        metric: Some(metric),
        ..ChartOptions::default()
    }
}

/// Regression 0501: a mean was refused as the limit of a load curve. Of 100, 219 and 300 IOPS at 10, 19.9 and 31 ms, the
/// second is the most within 20 ms.
#[test]
fn the_limit_of_a_load_curve_can_be_a_mean() {
    let cells = [
        cell(1, 100.0, 10.0),
        cell(4, 219.0, 19.9),
        cell(16, 300.0, 31.0),
    ];
    let options = ChartOptions {
        slo: Some((Dimension::Mean, 20e6)),
        ..ChartOptions::default()
    };
    let drawn = chart("load", &cells, &options).expect("a chart");
    let note = drawn
        .notes
        .iter()
        .find(|note| note.contains("is the highest within"));
    assert!(
        note.is_some_and(|note| note.contains("219 IOPS") && note.contains("mean latency of 20")),
        "{:?}",
        drawn.notes
    );
    let across = drawn
        .marks
        .iter()
        .find(|mark| mark.at == MarkPosition::Across(0, 20e6));
    assert_eq!(
        across.map(|mark| mark.label.as_str()),
        Some("limit: mean latency of 20.0 ms")
    );
}

/// Regression 0502: no chart showed the capacity of the link. SATA at 6 Gbit/s with 8b/10b carries 600 MB/s, which are 146,484
/// blocks of 4 KiB per second.
#[test]
fn the_capacity_of_a_link_is_a_ceiling() {
    let cells = [cell(1, 52_000.0, 0.1), cell(4, 100_000.0, 0.1)];
    for (links, metric, value) in [
        (1, Dimension::Bandwidth, 6e8),
        (1, Dimension::Iops, 6e8 / 4096.0),
        (2, Dimension::Bandwidth, 1.2e9),
    ] {
        for name in ["depth", "xy", "compare"] {
            let drawn = chart(name, &cells, &link("sata6", links, metric)).expect("a chart");
            let mark = drawn
                .marks
                .iter()
                .find(|mark| mark.label.contains("SATA at 6 Gbit/s"));
            assert_eq!(
                mark.map(|mark| mark.at),
                Some(MarkPosition::Across(0, value)),
                "{name}"
            );
            assert!(
                drawn.y[0].to.is_some_and(|to| to > value),
                "the axis includes it"
            );
        }
    }
    // 16 lanes of PCIe 4.0 (31.5 GB/s) would leave no room for 400 MB/s: a note names them.
    let far = chart("depth", &cells, &link("pcie4x16", 1, Dimension::Bandwidth)).expect("a chart");
    assert!(far.marks.is_empty() && far.notes.iter().any(|note| note.contains("PCIe 4.0 x16")));
    // The capacity has no meaning in IOPS where block sizes differ.
    let mut mixed = cells.clone();
    mixed[1].block = Some(8192);
    assert!(matches!(
        chart("compare", &mixed, &link("sata6", 1, Dimension::Iops)),
        Err(ChartError::Lacks(_))
    ));
}

/// Regression 0503: cells that differed in the engine had the same label.
#[test]
fn bars_of_engines_are_named_by_their_engine() {
    let with_engine = |engine: &str| JobFigures {
        engine: engine.to_owned(),
        name: "sweep".to_owned(),
        ..cell(4, 100.0, 1.0)
    };
    let cells = ["io_uring", "libaio", "psync"].map(with_engine);
    let drawn = chart("cpu", &cells, &ChartOptions::default()).expect("a chart");
    let names = ["io_uring", "libaio", "psync"].map(str::to_owned);
    assert_eq!(drawn.x.scale, AxisScale::Names(names.to_vec()));
}

/// Regression 0504: the cost of bandwidth had no metric. 10 % of a CPU are 100 ms per second; at 25,600 blocks of 4 KiB, which
/// are 100 MiB, that is 1 ms for each MiB and 3.9 us for each I/O.
#[test]
fn cpu_time_per_mib_is_a_metric() {
    let options = ChartOptions {
        metric: Some("cpu-per-mib".parse().expect("a metric")),
        ..ChartOptions::default()
    };
    let drawn = chart("cpu", &[cell(1, 25_600.0, 0.1)], &options).expect("a chart");
    let ChartBody::Series(all) = &drawn.body else {
        panic!("bars")
    };
    assert!(
        (all[0].points[0].1 - 1e6).abs() < 1.0,
        "{:?}",
        all[0].points
    );
}

fn series(chart: &fathom_model::Chart) -> &[fathom_model::ChartSeries] {
    match &chart.body {
        ChartBody::Series(all) => all,
        ChartBody::Grid(_) => panic!("{chart:?}"),
    }
}

/// Two patterns at depths 1 and 2 with these numbers of jobs.
fn two_patterns(jobs: &[u32]) -> Vec<JobFigures> {
    let mut all = Vec::new();
    for rw in ["randread", "randwrite"] {
        for jobs in jobs {
            for depth in [1, 2] {
                all.push(JobFigures {
                    rw: rw.into(),
                    jobs: Some(*jobs),
                    ..cell(depth, f64::from(depth * jobs), 1.0)
                });
            }
        }
    }
    all
}

/// Regression 0651: reads and writes with six numbers of jobs were twelve lines in one panel, in the colours of a palette.
/// Each pattern has a panel; the colours of 1, 2, 4 and 8 jobs are at 0, 1/3, 2/3 and 1 of the ordered scale in both.
#[test]
fn regression_0651_patterns_have_panels_and_numbers_of_jobs_an_ordered_colour() {
    let made = chart(
        "depth",
        &two_patterns(&[1, 2, 4, 8]),
        &ChartOptions::default(),
    );
    let made = made.expect("a chart");
    assert_eq!(made.panels, ["randread", "randwrite"]);
    for panel in 0..2 {
        let shades: Vec<(String, f64)> = series(&made)
            .iter()
            .filter(|one| (one.panel, one.axis) == (panel, 0))
            .map(|one| (one.name.clone(), one.shade.expect("an ordered colour")))
            .collect();
        let expected = [
            ("1 job", 0.0),
            ("2 jobs", 1.0 / 3.0),
            ("4 jobs", 2.0 / 3.0),
            ("8 jobs", 1.0),
        ];
        assert_eq!(
            shades,
            expected.map(|(name, shade)| (name.to_owned(), shade))
        );
    }
    // IOPS and latency have an axis, and so a row of panels, each.
    let axes: Vec<&str> = made.y.iter().map(|axis| axis.title.as_str()).collect();
    assert_eq!(axes, ["Throughput", "Mean latency"]);
}

/// Regression 0652: more lines than a reader can distinguish were drawn. Of nine numbers of jobs seven remain, with the first
/// and the last, the same in both panels, and the option that draws the others is named.
#[test]
fn regression_0652_a_panel_has_at_most_seven_lines_and_names_the_others() {
    let made = chart(
        "depth",
        &two_patterns(&[1, 2, 4, 8, 16, 32, 64, 128, 256]),
        &ChartOptions::default(),
    );
    let made = made.expect("a chart");
    for panel in 0..2 {
        let names: Vec<&str> = series(&made)
            .iter()
            .filter(|one| (one.panel, one.axis) == (panel, 0))
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names.len(), 7, "{names:?}");
        assert_eq!((names[0], names[6]), ("1 job", "256 jobs"));
    }
    let note = made.notes.iter().find(|note| note.starts_with("Left out"));
    let note = note.expect("a note");
    let shown: Vec<&str> = series(&made).iter().map(|one| one.name.as_str()).collect();
    for jobs in ["2", "4", "8", "16", "32", "64", "128"] {
        let is_shown = shown.contains(&format!("{jobs} jobs").as_str());
        assert_ne!(
            is_shown,
            note.contains(&format!("{jobs} jobs")),
            "{jobs}: {note}"
        );
    }
    assert!(
        note.contains("2 lines") && note.contains("--jobs="),
        "{note}"
    );
}

/// Regression 0653: a number of jobs and a device had colours of the same kind; devices have those of the palette.
#[test]
fn regression_0653_devices_have_colours_of_the_palette() {
    let of = |source: &str| {
        [1, 2].map(|depth| JobFigures {
            source: source.into(),
            ..cell(depth, 100.0, 1.0)
        })
    };
    let made = chart(
        "xy",
        &[of("sda"), of("sdb")].concat(),
        &ChartOptions::default(),
    );
    let made = made.expect("a chart");
    let colours: Vec<(&str, usize, Option<f64>)> = series(&made)
        .iter()
        .map(|one| (one.name.as_str(), one.colour, one.shade))
        .collect();
    assert_eq!(colours, [("sda", 0, None), ("sdb", 1, None)]);
}

/// A run of one-second intervals with these I/Os.
fn run(ios: impl Iterator<Item = u64>) -> JobFigures {
    let interval = |(second, ios): (usize, u64)| {
        let mut one = MergedInterval {
            start: Nanos::from_secs(second as u64),
            length: Nanos::from_secs(1),
            directions: Default::default(),
        };
        one.directions[Direction::Read].ios = ios;
        one.directions[Direction::Read].mean = Some(1000);
        one
    };
    JobFigures {
        series: ios.enumerate().map(interval).collect(),
        ..cell(1, 50.0, 1.0)
    }
}

/// Regression 0654: three hours of one-second intervals were a solid area. In each window of 100 s the intervals have 0 to 99
/// I/Os: the median is 49.5, the tenth is 9.9 and the ninetieth percentile 89.1 (type 7 of Hyndman and Fan, as in R).
#[test]
fn regression_0654_long_runs_are_medians_with_a_band_and_raw_on_request() {
    let jobs = [run((0..10_000).map(|second| (second * 37) % 100))];
    let options = ChartOptions {
        window: Some(100_000_000_000),
        ..ChartOptions::default()
    };
    let made = chart("time", &jobs, &options).expect("a chart");
    let line = &series(&made)[0];
    assert_eq!((line.points.len(), line.intervals.len()), (100, 100));
    for (point, band) in line.points.iter().zip(&line.intervals) {
        assert!((point.1 - 49.5).abs() < 1e-9, "{point:?}");
        assert!(
            (band.0 - 9.9).abs() < 1e-9 && (band.1 - 89.1).abs() < 1e-9,
            "{band:?}"
        );
    }
    let drawn = chart("time", &jobs, &ChartOptions::default()).expect("a chart");
    assert!(series(&drawn)[0].points.len() < 300 && !series(&drawn)[0].intervals.is_empty());
    let raw = ChartOptions {
        smoothing: Smoothing::None,
        ..ChartOptions::default()
    };
    let raw = chart("time", &jobs, &raw).expect("a chart");
    assert!(series(&raw)[0].intervals.is_empty() && series(&raw)[0].points.len() > 1000);
    // A table has every interval.
    let complete = ChartOptions {
        is_complete: true,
        ..ChartOptions::default()
    };
    let complete = chart("time", &jobs, &complete).expect("a chart");
    let all: Vec<f64> = series(&complete)[0]
        .points
        .iter()
        .map(|point| point.1)
        .collect();
    let expected: Vec<f64> = (0..10_000)
        .map(|second| f64::from(second * 37 % 100))
        .collect();
    assert_eq!(all, expected);
}

/// Regression 0655: a chart over time had no figures of its series. Of 100, 300, 100 and 300 I/Os the standard deviation is
/// the square root of 4 x 100^2 / 3, which is 57.7 % of the mean; the CPU is 6 % + 4 %.
#[test]
fn regression_0655_a_table_below_a_time_chart_has_mean_deviation_and_cpu() {
    let job = JobFigures {
        directions: vec![DirectionFigures {
            iops: 200.0,
            ..cell(1, 200.0, 1.0).directions[0].clone()
        }],
        ..run([100, 300, 100, 300].into_iter())
    };
    let made = chart("time", &[job], &ChartOptions::default()).expect("a chart");
    assert_eq!(made.table[0], ["", "mean", "\u{3c3}", "CPU"]);
    assert_eq!(made.table[1], ["depth-1", "200", "57.7 %", "10 %"]);
}

/// Regression 0656: a metric that intervals do not have was replaced by IOPS without a word.
#[test]
fn regression_0656_a_chart_over_time_shows_the_metric_or_refuses_it() {
    let jobs = [run([100, 300, 100, 300].into_iter())];
    let with = |metric| ChartOptions {
        metric: Some(metric),
        ..ChartOptions::default()
    };
    for metric in [Dimension::Slat, Dimension::Deviation, Dimension::Cpu] {
        let made = chart("time", &jobs, &with(metric));
        assert!(matches!(made, Err(ChartError::Lacks(_))), "{metric:?}");
    }
    let made = chart("time", &jobs, &with(Dimension::Mean)).expect("a chart");
    let values: Vec<f64> = series(&made)[0]
        .points
        .iter()
        .map(|point| point.1)
        .collect();
    assert_eq!(
        (made.y[0].title.as_str(), values),
        ("Mean latency", vec![1000.0; 4])
    );
}

/// Regression 0657: few block sizes were a line, which has no value between them.
#[test]
fn regression_0657_few_block_sizes_are_bars() {
    let sizes = |count: u32| -> Vec<JobFigures> {
        (0..count)
            .map(|n| JobFigures {
                block: Some(512 << n),
                ..cell(1, 100.0, 1.0)
            })
            .collect()
    };
    for (count, shape) in [(4, SeriesShape::Bars), (12, SeriesShape::Line)] {
        let made = chart("block", &sizes(count), &ChartOptions::default()).expect("a chart");
        assert_eq!(series(&made)[0].shape, shape, "{count} sizes");
    }
}

/// Regression 0658: the window of the standard was five intervals, of whatever length. Ten minutes of one-second intervals
/// with 60 I/Os in the first half and 120 in the second are five rounds at 60 and five at 120 per second.
#[test]
fn regression_0658_rounds_of_a_run_are_minutes() {
    let jobs = [run(
        (0..600).map(|second| if second < 300 { 60 } else { 120 })
    )];
    let made = chart("convergence", &jobs, &ChartOptions::default()).expect("a chart");
    let rounds: Vec<f64> = series(&made)[0]
        .points
        .iter()
        .map(|point| point.1)
        .collect();
    assert_eq!(rounds, [[60.0; 5], [120.0; 5]].concat());
    let short = [run((0..20).map(|_| 60))];
    let made = chart("window", &short, &ChartOptions::default()).expect("a chart");
    assert!(
        made.notes
            .iter()
            .any(|note| note.contains("one minute long")),
        "{:?}",
        made.notes
    );
}

/// Regression 0659: the default chart was `depth` whatever was varied.
#[test]
fn regression_0659_the_first_fitting_chart_shows_what_was_varied() {
    let first = |cells: &[JobFigures]| {
        fitting_charts(cells, &ChartOptions::default())
            .first()
            .copied()
    };
    assert_eq!(
        first(&[cell(1, 1.0, 1.0), cell(2, 2.0, 1.0)]),
        Some("depth")
    );
    let jobs = [1, 2].map(|jobs| JobFigures {
        jobs: Some(jobs),
        ..cell(1, 1.0, 1.0)
    });
    assert_eq!(first(&jobs), Some("jobs"));
    let blocks = [1, 2, 4].map(|kib| JobFigures {
        block: Some(kib << 10),
        ..cell(1, 1.0, 1.0)
    });
    assert_eq!(first(&blocks), Some("block"));
    assert_eq!(first(&[run([1, 2, 3].into_iter())]), Some("time"));
    let rates = [1.0, 2.0].map(|rate| JobFigures {
        offered: Some(rate),
        ..cell(1, rate, 1.0)
    });
    assert_eq!(first(&rates), Some("load"));
}

/// The list of fitting charts names the fit without computing it, exactly where it can be drawn: four loads over a factor of 4,
/// and a metric that a law predicts.
#[test]
fn a_fit_is_named_where_it_can_be_drawn() {
    let line = |depths: &[u32]| -> Vec<JobFigures> {
        let depths = depths.iter().copied();
        depths
            .map(|depth| cell(depth, 100.0 * f64::from(depth), 10.0))
            .collect()
    };
    for (depths, metric, expected) in [
        (&[1, 2, 4, 8][..], None, true),
        (&[1, 2, 4, 8], Some(Dimension::Mean), true),
        (&[1, 2, 4, 8], Some(Dimension::Cpu), false),
        (&[1, 2, 4], None, false),
        (&[4, 5, 6, 7], None, false),
        (&[1], None, false),
        (&[], None, false),
    ] {
        let cells = line(depths);
        let options = ChartOptions {
            metric,
            ..ChartOptions::default()
        };
        let is_named = fitting_charts(&cells, &options).contains(&"fit");
        assert_eq!(is_named, expected, "{depths:?} {metric:?}");
        assert_eq!(
            chart("fit", &cells, &options).is_ok(),
            expected,
            "{depths:?} {metric:?}"
        );
    }
}

/// `--metric=lat` over time drew the completion latency, and slat was refused although fio had logged it.
#[test]
fn slat_clat_and_lat_over_time_are_three_curves() {
    let mut job = run([100, 300, 100, 300].into_iter());
    for moment in &mut job.series {
        let read = &mut moment.directions[Direction::Read];
        (read.slat, read.mean, read.lat) = (Some(2_000), Some(8_000), Some(10_000));
    }
    let jobs = [job];
    for (metric, ns, title) in [
        (Dimension::Slat, 2e3, "Submission latency over time"),
        (Dimension::Mean, 8e3, "Mean latency over time"),
        (Dimension::Lat, 10e3, "Total latency over time"),
    ] {
        let options = ChartOptions {
            metric: Some(metric),
            ..ChartOptions::default()
        };
        for name in ["time", "time-latency"] {
            let made = chart(name, &jobs, &options).expect("a chart");
            let points = &series(&made)[0].points;
            assert!(
                points.len() == 4 && points.iter().all(|point| point.1 == ns),
                "{name}, {metric:?}: {points:?}"
            );
            assert_eq!(made.title, title, "{name}");
        }
    }
}

/// fio lists 17.11 s for every percentile in its last bin, and charts drew it as a latency of that length.
#[test]
fn the_last_bin_of_fio_is_drawn_as_a_lower_bound() {
    let listed = |ns: u64| {
        let mut job = cell(8, 100.0, 80.0);
        job.directions[0].latency.percentiles = vec![(50.0, 70_000_000), (99.0, ns)];
        [cell(1, 90.0, 11.0), job]
    };
    let notes = |name: &str, ns: u64| {
        let options = ChartOptions {
            metric: (name == "heat").then_some(Dimension::Percentile(99.0)),
            ..ChartOptions::default()
        };
        let made = chart(name, &listed(ns), &options).expect("a chart");
        let marks: Vec<String> = made.marks.iter().map(|mark| mark.label.clone()).collect();
        (made.notes.join(" "), marks)
    };
    for name in ["percentiles", "depth", "compare", "heat"] {
        let (text, marks) = notes(name, 17_112_760_320);
        assert!(
            text.contains("such latencies are at least 17.1 s"),
            "{name}: {text}"
        );
        let is_marked = marks.iter().any(|label| label == "at least 17.1 s");
        assert_eq!(is_marked, name != "heat", "{name}: {marks:?}");
        let (text, marks) = notes(name, 17_000_000_000);
        assert!(
            !text.contains("at least") && marks.is_empty(),
            "{name}: {text}"
        );
    }
}

/// Of a folder with patterns, depths and jobs, 98 names stood side by side. Patterns are panels, depths the x axis, and jobs
/// ordered colours; at most 28 bars are in a panel, and a note names the others.
#[test]
fn results_with_ordered_quantities_are_compared_in_panels() {
    let mut jobs = Vec::new();
    for rw in ["randread", "randwrite"] {
        for depth in [1, 2, 4, 8, 16, 32, 64] {
            for clones in [1, 2, 4, 8, 16, 32, 64] {
                jobs.push(JobFigures {
                    rw: rw.into(),
                    jobs: Some(clones),
                    ..cell(depth, f64::from(depth * clones), 1.0)
                });
            }
        }
    }
    jobs.iter_mut().for_each(|job| job.name = "io".into());
    let made = chart("compare", &jobs, &ChartOptions::default()).expect("a chart");
    assert_eq!(made.panels, ["randread", "randwrite"]);
    let AxisScale::Names(names) = &made.x.scale else {
        panic!("{:?}", made.x)
    };
    assert_eq!(names, &["1", "2", "4", "8", "16", "32", "64"]);
    let first: Vec<_> = series(&made)
        .iter()
        .filter(|one| (one.axis, one.panel) == (0, 0))
        .collect();
    assert_eq!(first.len(), 4);
    assert_eq!(first.iter().map(|one| one.points.len()).sum::<usize>(), 28);
    let shades: Vec<f64> = first.iter().filter_map(|one| one.shade).collect();
    assert!(shades.len() == 4 && shades.is_sorted(), "{shades:?}");
    // 64 jobs at depth 2 are 128.
    let last = first.last().expect("a line");
    assert_eq!(
        (last.name.as_str(), last.points[1]),
        ("64 jobs", (1.0, 128.0))
    );
    assert!(
        made.notes.iter().any(|note| note.contains("--jobs=2,8,32")),
        "{:?}",
        made.notes
    );
    let options = ChartOptions {
        is_complete: true,
        ..ChartOptions::default()
    };
    let table = chart("compare", &jobs, &options).expect("a chart");
    let values: usize = series(&table)
        .iter()
        .filter(|one| one.axis == 0)
        .map(|one| one.points.len())
        .sum();
    assert_eq!(values, 98);
}

/// Bars with a name each are ranked, and only the ends of a long list are drawn.
#[test]
fn many_unlike_results_are_ranked() {
    let jobs: Vec<JobFigures> = (0..60u32)
        .map(|n| JobFigures {
            name: format!("job{n}"),
            ..cell(1, f64::from(n * 37 % 60 + 1), 1.0)
        })
        .collect();
    let made = chart("compare", &jobs, &ChartOptions::default()).expect("a chart");
    let values: Vec<f64> = series(&made)[0]
        .points
        .iter()
        .map(|point| point.1)
        .collect();
    let expected: Vec<f64> = (49..=60)
        .rev()
        .chain((1..=12).rev())
        .map(f64::from)
        .collect();
    assert_eq!(values, expected);
    assert!(
        made.notes
            .iter()
            .any(|note| note.contains("36 results left out")),
        "{:?}",
        made.notes
    );
}

/// Seven curves that turn back cross each other. The first, the last and the best have panels of their own.
#[test]
fn many_load_curves_have_panels_of_their_own() {
    let mut jobs = Vec::new();
    for clones in [1, 2, 4, 8, 16, 32, 64] {
        for depth in [1, 2, 4, 8, 16, 32, 64] {
            // 16 jobs are the fastest.
            let peak = 1000.0 - f64::from(clones).log2().mul_add(10.0, -40.0).abs();
            jobs.push(JobFigures {
                jobs: Some(clones),
                ..cell(depth, peak - 100.0 / f64::from(depth), f64::from(depth))
            });
        }
    }
    jobs.iter_mut().for_each(|job| job.name = "io".into());
    let options = ChartOptions {
        metric: Some(Dimension::Mean),
        ..ChartOptions::default()
    };
    let made = chart("load", &jobs, &options).expect("a chart");
    assert_eq!(made.panels, ["1 job", "16 jobs", "64 jobs"]);
    let panels: Vec<usize> = series(&made).iter().map(|one| one.panel).collect();
    assert_eq!(panels, [0, 1, 2]);
    assert!(
        made.notes
            .iter()
            .any(|note| note.contains("--jobs=2,4,8,32")),
        "{:?}",
        made.notes
    );
}
