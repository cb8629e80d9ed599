//! Input of chart tests: values that follow from arithmetic.

use std::sync::Arc;

use fathom_analyse::CHARTS;
use fathom_model::{
    BlameGroup, BlameRank, BlameRow, BlameTimes, ChartOptions, Dimension, Direction,
    DirectionFigures, Histogram, JobFigures, JobFinding, LatencySummary, MergedInterval,
    MergedIntervalDirection, Nanos, ObservedIo, ObservedOffsets, PerDirection, RatedValue,
    RequestPhase, SparseHistogram, TimeSpan, latency_classes,
};

/// A device of eight servers of 100 us: IOPS and latency follow from depth x jobs by Little's law.
pub fn job(depth: u32, jobs: u32, mix: Option<u32>) -> JobFigures {
    let flying = f64::from(depth * jobs);
    let iops = flying.min(8.0) * 10_000.0;
    let mean = flying / iops * 1e9;
    let way = |direction, share: f64| DirectionFigures {
        direction,
        iops: iops * share,
        iops_spread: Some((iops * share * 0.04, 20)),
        bandwidth: iops * share * 4096.0,
        ios: (iops * share * 10.0) as u64,
        latency: latency(mean),
        slat: Some(2000.0),
        lat: Some(mean + 2000.0),
    };
    let directions = match mix {
        Some(reads) if reads < 100 => vec![
            way(Direction::Read, f64::from(reads) / 100.0),
            way(Direction::Write, 1.0 - f64::from(reads) / 100.0),
        ],
        _ => vec![way(Direction::Read, 1.0)],
    };
    JobFigures {
        source: "disk".into(),
        name: format!("d{depth}j{jobs}"),
        rw: if mix.is_some_and(|mix| mix < 100) {
            "randrw"
        } else {
            "randread"
        }
        .into(),
        block: Some(4096),
        depth: Some(depth),
        jobs: Some(jobs),
        mix,
        directions,
        cpu: Some((5.0, 12.0)),
        ..JobFigures::default()
    }
}

fn latency(mean: f64) -> LatencySummary {
    let bins: Vec<(u64, u64)> = (0..24)
        .map(|n| {
            (
                (mean * 0.5 * 1.2f64.powi(n)) as u64,
                1 << (20 - (n - 4).abs().min(20)),
            )
        })
        .collect();
    let n = bins.iter().map(|bin| bin.1).sum();
    let percentiles = [(50.0, 1.0), (99.0, 2.5), (99.9, 6.0)]
        .map(|(percent, times)| (percent, (mean * times) as u64))
        .to_vec();
    LatencySummary {
        min: bins[0].0,
        max: bins[23].0,
        mean,
        stddev: mean / 3.0,
        n,
        percentiles,
        bins,
        overflow: 0,
    }
}

/// Twenty seconds, with one in which nothing completes and one with an error.
fn over_time() -> JobFigures {
    let moment = |n: u64| {
        let ios = if n == 7 { 0 } else { 10_000 + 300 * (n % 5) };
        let mut all = Histogram::new();
        (0..ios.min(500)).for_each(|k| all.record(80_000 + k * k * (1 + n % 3)));
        let figure = |percent| all.percentile(percent).map(|value| value as u64);
        let read = MergedIntervalDirection {
            ios,
            bytes: ios * 4096,
            bad: u64::from(n == 12),
            p50: figure(50.0),
            p99: figure(99.0),
            max: figure(100.0),
            latencies: SparseHistogram::pack(&all),
            ..MergedIntervalDirection::default()
        };
        MergedInterval {
            start: Nanos::new(n * 1_000_000_000),
            length: Nanos::new(1_000_000_000),
            directions: PerDirection([
                read,
                MergedIntervalDirection::default(),
                MergedIntervalDirection::default(),
            ]),
        }
    };
    // A finding with a time of its own, and one of the whole run.
    let finding = |code: &str, when: Vec<TimeSpan>| JobFinding {
        id: "F000".into(),
        code: code.into(),
        severity: 1,
        evidence: "43 throttles.".into(),
        when,
        ..JobFinding::default()
    };
    let throttled = TimeSpan {
        from: Nanos::from_secs(15),
        to: Nanos::from_secs(17),
    };
    let findings = vec![
        finding("CPU_THROTTLED", vec![throttled]),
        finding("STEAL", Vec::new()),
    ];
    JobFigures {
        series: (0..20).map(moment).collect(),
        findings,
        ..job(4, 1, None)
    }
}

/// Twenty seconds of block I/O: reads that go once over 16 MiB, without a scheduler.
fn observed() -> JobFigures {
    let packed = |from: u64, n: u64| {
        let mut all = Histogram::new();
        (0..200).for_each(|k| all.record(from + k * k * (1 + n % 3)));
        SparseHistogram::pack(&all)
    };
    let offsets = ObservedOffsets {
        column: Nanos::from_secs(1),
        first_byte: 8 << 20,
        row_bytes: 1 << 20,
        rows: 16,
        counts: (0..20 * 16)
            .map(|place| {
                if place % 16 == place / 20 {
                    100
                } else {
                    place % 3
                }
            })
            .collect(),
    };
    JobFigures {
        name: "disk read".into(),
        observed: Some(Arc::new(ObservedIo {
            interval: Nanos::from_secs(1),
            phases: vec![
                (
                    RequestPhase::QueueToIssue,
                    (0..20).map(|n| packed(800, n)).collect(),
                ),
                (
                    RequestPhase::IssueToComplete,
                    (0..20).map(|n| packed(90_000, n)).collect(),
                ),
            ],
            depth: (0..20).map(|n| 500 + 100 * (n % 7)).collect(),
            largest_depth: 4,
            request_sizes: vec![(4096, 100), (16384, 300)],
            bio_sizes: vec![(4096, 100), (65536, 75)],
            offsets: Some(offsets),
        })),
        ..job(4, 1, None)
    }
}

/// 1,000 I/Os, of which the slowest spent most of their time in the scheduler.
fn blamed() -> JobFigures {
    let row = |rank, ios, ns| BlameRow {
        rank,
        ios,
        phases: BlameTimes { ns },
        in_block_layer_ns: 0,
        beside_ns: Vec::new(),
    };
    JobFigures {
        blame: vec![BlameGroup {
            joined: 1000,
            rows: vec![
                row(BlameRank::Mean, 1000, [0, 1000, 500, 20_000, 70_000, 8500]),
                row(BlameRank::P50, 20, [0, 15, 5, 10, 1900, 70]),
                row(BlameRank::Slowest, 1, [100, 20, 10, 800, 60, 10]),
            ],
            ..BlameGroup::default()
        }],
        ..job(4, 1, None)
    }
}

/// Two jobs on each of three hosts: `h2` does half as much at twice the latency, and all hosts stop at 7 s.
fn hosts() -> Vec<JobFigures> {
    let one = over_time();
    let job = |host: &str, job: &str, share: u64| {
        let mut made = JobFigures {
            name: format!("{host}:{job}"),
            host: host.into(),
            ..one.clone()
        };
        for moment in &mut made.series {
            let read = &mut moment.directions[Direction::Read];
            (read.ios, read.bytes) = (read.ios / share, read.bytes / share);
        }
        let read = &mut made.directions[0];
        read.iops /= share as f64;
        read.latency = latency(1e5 * share as f64);
        made
    };
    [("h1", 1), ("h2", 2), ("h3", 1)]
        .into_iter()
        .flat_map(|(host, share)| ["a", "b"].map(|name| job(host, name, share)))
        .collect()
}

/// The jobs and options for a kind of chart.
pub fn example(kind: &str) -> (Vec<JobFigures>, ChartOptions) {
    let depths = || {
        [1, 2, 4, 8, 16, 32]
            .map(|depth| job(depth, 1, None))
            .to_vec()
    };
    let grid = || {
        [1, 4, 16]
            .into_iter()
            .flat_map(|depth| [1, 2, 8].map(|jobs| job(depth, jobs, None)))
            .collect()
    };
    let options = ChartOptions::default();
    match kind {
        "jobs" => (
            [1, 2, 4, 8].map(|jobs| job(1, jobs, None)).to_vec(),
            options,
        ),
        "load" => (
            depths(),
            ChartOptions {
                slo: Some((Dimension::Percentile(99.0), 600_000.0)),
                ..options
            },
        ),
        "block" => (
            [1u64, 4, 16, 64]
                .map(|kib| JobFigures {
                    block: Some(kib << 10),
                    ..job(4, 1, None)
                })
                .to_vec(),
            options,
        ),
        "heat" | "3d" => (grid(), options),
        "interference" => (
            [50, 70, 90, 100]
                .into_iter()
                .flat_map(|mix| [1, 8, 32].map(|depth| job(depth, 1, Some(mix))))
                .collect(),
            options,
        ),
        "space" => (
            vec![JobFigures {
                rw: "read".into(),
                ..over_time()
            }],
            options,
        ),
        "spec" => (
            depths(),
            ChartOptions {
                rated_values: rated_values(),
                sheet: "A drive of eight servers".into(),
                ..options
            },
        ),
        "time" | "time-latency" | "latency-map" | "convergence" | "window" => {
            (vec![over_time()], options)
        }
        "hosts" | "hosts-time" | "hosts-percentiles" => (hosts(), options),
        "phases" | "offsets" | "sizes" | "in-device" => (vec![observed()], options),
        "blame" => (vec![blamed()], options),
        "compare" | "cpu" | "distribution" | "percentiles" => (depths()[..4].to_vec(), options),
        _ => (depths(), options),
    }
}

/// The device above has 80,000 IOPS and a mean of 100 us at depth 1.
fn rated_values() -> Vec<RatedValue> {
    let one = |words: &str, figure, value| RatedValue {
        label: words.into(),
        direction: Some(Direction::Read),
        mix: None,
        random: true,
        block: Some(4096),
        metric: figure,
        value,
    };
    vec![
        one("random read, 100,000 IOPS", Dimension::Iops, 100_000.0),
        one("random read, 100 us", Dimension::Mean, 100_000.0),
    ]
}

/// Every kind of chart, and options that change it: file name, kind, jobs and options.
pub fn examples() -> Vec<(&'static str, &'static str, Vec<JobFigures>, ChartOptions)> {
    let mut all: Vec<_> = CHARTS
        .iter()
        .map(|kind| (kind.name, kind.name, example(kind.name)))
        .map(|(name, kind, (jobs, options))| (name, kind, jobs, options))
        .collect();
    all.push((
        "time-two",
        "time",
        vec![over_time()],
        ChartOptions {
            second_metric: Some(Dimension::Percentile(99.0)),
            ..ChartOptions::default()
        },
    ));
    let (mut us, mut ms) = ([0.0; 10], [0.0; 12]);
    (us[8], us[9], ms[0], ms[1], ms[11]) = (12.5, 30.0, 40.0, 17.0, 0.5);
    let cell = JobFigures {
        classes: latency_classes(&[0.0; 10], &us, &ms),
        directions: vec![DirectionFigures {
            latency: LatencySummary::default(),
            ..job(4, 1, None).directions[0].clone()
        }],
        ..job(4, 1, None)
    };
    all.push((
        "distribution-classes",
        "distribution",
        vec![cell],
        ChartOptions::default(),
    ));
    let depths = || [1, 2, 4, 8, 16, 32, 64].map(|depth| job(depth, 1, None));
    all.push((
        "compare-many",
        "compare",
        depths().to_vec(),
        ChartOptions::default(),
    ));
    let curves = [1, 2, 4]
        .into_iter()
        .flat_map(|jobs| [1, 2, 4, 8, 16, 32].map(|depth| job(depth, jobs, None)));
    all.push((
        "load-several",
        "load",
        curves.collect(),
        ChartOptions::default(),
    ));
    let folder = || -> Vec<JobFigures> {
        let mut all = Vec::new();
        for rw in ["randread", "randwrite"] {
            for depth in [1, 2, 4, 8, 16] {
                for jobs in [1, 2, 4, 8, 16] {
                    let mut job = job(depth, jobs, None);
                    job.rw = rw.into();
                    if rw == "randwrite" {
                        job.directions[0].direction = Direction::Write;
                        job.directions[0].iops *= 0.5;
                    }
                    all.push(job);
                }
            }
        }
        all
    };
    for kind in ["compare", "load", "heat", "cpu"] {
        let name = match kind {
            "compare" => "compare-folder",
            "load" => "load-folder",
            "heat" => "heat-folder",
            _ => "cpu-folder",
        };
        all.push((name, kind, folder(), ChartOptions::default()));
    }
    let rounds = (1..=3).flat_map(|jobs| {
        (0..6).map(move |round| {
            let mut job = job(4, jobs, None);
            job.directions[0].iops *= 1.0 + 0.05 * f64::from(round);
            job
        })
    });
    all.push((
        "convergence-loads",
        "convergence",
        rounds.collect(),
        ChartOptions::default(),
    ));
    all.push((
        "interference-rates",
        "interference",
        mixed_load(),
        ChartOptions::default(),
    ));
    let places = [0u64, 1 << 38, 2 << 38, 3 << 38].map(|offset| JobFigures {
        offset: Some(offset),
        ..job(4, 1, None)
    });
    all.push((
        "space-offsets",
        "space",
        places.to_vec(),
        ChartOptions::default(),
    ));
    // The script numbers its styles from picture to picture: what is added later comes last.
    all.sort_by_key(|(name, ..)| name.starts_with("hosts"));
    all
}

/// Readers and writers at nine pairs of rates.
fn mixed_load() -> Vec<JobFigures> {
    let pair = |result: usize| {
        let (reads, writes) = (
            10_000.0 * (result % 3 + 1) as f64,
            104_857_600.0 * (result / 3 + 1) as f64,
        );
        let mut reader = JobFigures {
            result,
            offered: Some(reads),
            depth: Some(256),
            name: "reads".into(),
            ..job(1, 1, None)
        };
        reader.directions[0].latency =
            latency(1e5 * (1 + result % 3) as f64 * (1 + result / 3) as f64);
        let mut writer = JobFigures {
            result,
            rate: Some(writes),
            rw: "write".into(),
            block: Some(131_072),
            name: "writes".into(),
            ..job(1, 1, None)
        };
        writer.directions[0].direction = Direction::Write;
        [reader, writer]
    };
    (0..9).flat_map(pair).collect()
}
