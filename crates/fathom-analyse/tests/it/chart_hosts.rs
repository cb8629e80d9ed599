//! Charts by host: what each host did, against arithmetic.

use fathom_analyse::chart;
use fathom_model::{
    AxisScale, Chart, ChartBody, ChartOptions, Dimension, Direction, DirectionFigures, Histogram,
    JobFigures, MergedInterval, MergedIntervalDirection, Nanos, PerDirection, SparseHistogram,
};

/// A job of a host: in each second this many I/Os of 4 KiB, each of this latency.
fn job(host: &str, name: &str, ios: &[u64], latency: u64) -> JobFigures {
    let moment = |(second, ios): (usize, &u64)| {
        let mut all = Histogram::new();
        (0..*ios).for_each(|_| all.record(latency));
        let read = MergedIntervalDirection {
            ios: *ios,
            bytes: ios * 4096,
            mean: Some(latency),
            max: Some(latency),
            latencies: SparseHistogram::pack(&all),
            ..MergedIntervalDirection::default()
        };
        MergedInterval {
            start: Nanos::from_secs(second as u64),
            length: Nanos::from_secs(1),
            directions: PerDirection::from_fn(|direction| match direction {
                Direction::Read => read.clone(),
                _ => MergedIntervalDirection::default(),
            }),
        }
    };
    let all: u64 = ios.iter().sum();
    let mut read = DirectionFigures {
        direction: Direction::Read,
        iops: all as f64 / ios.len() as f64,
        iops_spread: None,
        bandwidth: 4096.0 * all as f64 / ios.len() as f64,
        ios: all,
        latency: Default::default(),
        slat: None,
        lat: None,
    };
    read.latency.n = all;
    read.latency.bins = vec![(latency, all)];
    read.latency.percentiles = vec![(50.0, latency), (99.0, latency)];
    JobFigures {
        name: format!("{host}:{name}"),
        host: host.to_owned(),
        rw: "randread".to_owned(),
        directions: vec![read],
        series: ios.iter().enumerate().map(moment).collect(),
        ..JobFigures::default()
    }
}

fn hosts() -> Vec<JobFigures> {
    vec![
        job("a", "x", &[100, 300], 1000),
        job("a", "y", &[50, 50], 1000),
        job("b", "x", &[10, 0], 8000),
    ]
}

fn drawn(name: &str, jobs: &[JobFigures], metric: Option<Dimension>) -> Chart {
    let options = ChartOptions {
        metric,
        ..ChartOptions::default()
    };
    chart(name, jobs, &options).expect("a chart")
}

/// Host a does 150 and 350 I/Os per second with both jobs, b 10 and none. The first host is the highest row.
#[test]
fn the_map_adds_the_jobs_of_a_host() {
    let map = drawn("hosts", &hosts(), None);
    let ChartBody::Grid(grid) = &map.body else {
        panic!("a map");
    };
    assert_eq!((grid.columns, grid.rows), (2, 2));
    assert_eq!(
        grid.values,
        [Some(10.0), Some(0.0), Some(150.0), Some(350.0)]
    );
    let AxisScale::Names(names) = &map.y[0].scale else {
        panic!("names");
    };
    assert_eq!(names, &["b", "a"]);
    // Where nothing completed there is no latency.
    let map = drawn("hosts", &hosts(), Some(Dimension::Mean));
    let ChartBody::Grid(grid) = &map.body else {
        panic!("a map");
    };
    assert_eq!(
        grid.values,
        [Some(8000.0), None, Some(1000.0), Some(1000.0)]
    );
}

/// Lines and distributions have the names of the hosts, also where their jobs differ.
#[test]
fn each_host_is_one_line() {
    let mut jobs = hosts();
    jobs[2].rw = "read".to_owned();
    for name in ["hosts-time", "hosts-percentiles"] {
        let ChartBody::Series(lines) = drawn(name, &jobs, None).body else {
            panic!("lines");
        };
        let mut names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "b"], "{name}");
    }
}

#[test]
fn one_host_has_no_chart_by_host() {
    let one = [job("a", "x", &[1], 1000)];
    let none = [JobFigures {
        host: String::new(),
        ..job("a", "x", &[1], 1000)
    }];
    for jobs in [&one, &none] {
        for name in ["hosts", "hosts-time", "hosts-percentiles"] {
            let error = chart(name, jobs, &ChartOptions::default()).expect_err("one host");
            assert!(error.to_string().contains("--hosts"), "{error}");
        }
    }
}

/// The host is the part of the name before the colon, if it is a host of the run: a job can be called `x:y`.
#[test]
fn the_host_is_known_from_the_run() {
    let of = |name: &str| JobFigures::host_of(name, ["web", "web1"].into_iter());
    assert_eq!(
        (of("web1:read").as_str(), of("web:read").as_str()),
        ("web1", "web")
    );
    assert_eq!((of("x:y").as_str(), of("web1").as_str()), ("", ""));
}
