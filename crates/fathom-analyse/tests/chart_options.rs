//! Options of charts: limits, ceilings and labels, with values by arithmetic.

use fathom_analyse::{ChartError, chart};
use fathom_model::{
    AxisScale, ChartBody, ChartOptions, Dimension, Direction, DirectionFigures, HostLink,
    JobFigures, LatencySummary, MarkPosition,
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
