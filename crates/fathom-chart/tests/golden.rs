//! Every kind of chart as it looked when somebody last looked at it. `FATHOM_BLESS=1` writes the pictures anew: look at them then.

use std::path::Path;

use fathom_analyse::{CHARTS, JobFigures, WayFigures, Wish, chart};
use fathom_chart::{Frame, Stage, csv, svg};
use fathom_model::{Direction, Histogram, LatencySummary, Moment, MomentDirection, Nanos, PerDirection, SparseHistogram};

/// A device of eight servers of 100 us: IOPS and latency follow from depth x jobs by Little's law.
fn job(depth: u32, jobs: u32, mix: Option<u32>) -> JobFigures {
    let flying = f64::from(depth * jobs);
    let iops = flying.min(8.0) * 10_000.0;
    let mean = flying / iops * 1e9;
    let way = |direction, share: f64| WayFigures {
        direction,
        iops: iops * share,
        iops_spread: Some((iops * share * 0.04, 20)),
        bandwidth: iops * share * 4096.0,
        ios: (iops * share * 10.0) as u64,
        latency: latency(mean),
        slat: Some(2000.0),
        lat: Some(mean + 2000.0),
    };
    let ways = match mix {
        Some(reads) if reads < 100 => vec![way(Direction::Read, f64::from(reads) / 100.0), way(Direction::Write, 1.0 - f64::from(reads) / 100.0)],
        _ => vec![way(Direction::Read, 1.0)],
    };
    JobFigures {
        source: "disk".into(),
        name: format!("d{depth}j{jobs}"),
        rw: if mix.is_some_and(|mix| mix < 100) { "randrw" } else { "randread" }.into(),
        block: Some(4096),
        depth: Some(depth),
        jobs: Some(jobs),
        mix,
        ways,
        cpu: Some((5.0, 12.0)),
        ..JobFigures::default()
    }
}

fn latency(mean: f64) -> LatencySummary {
    let bins: Vec<(u64, u64)> = (0..24).map(|n| ((mean * 0.5 * 1.2f64.powi(n)) as u64, 1 << (20 - (n - 4).abs().min(20)))).collect();
    let n = bins.iter().map(|bin| bin.1).sum();
    let percentiles = [(50.0, 1.0), (99.0, 2.5), (99.9, 6.0)].map(|(percent, times)| (percent, (mean * times) as u64)).to_vec();
    LatencySummary { min: bins[0].0, max: bins[23].0, mean, stddev: mean / 3.0, n, percentiles, bins, overflow: 0 }
}

/// Twenty seconds, with one in which nothing completes and one with an error.
fn over_time() -> JobFigures {
    let moment = |n: u64| {
        let ios = if n == 7 { 0 } else { 10_000 + 300 * (n % 5) };
        let mut all = Histogram::new();
        (0..ios.min(500)).for_each(|k| all.record(80_000 + k * k * (1 + n % 3)));
        let figure = |percent| all.percentile(percent).map(|value| value as u64);
        let read = MomentDirection {
            ios, bytes: ios * 4096, bad: u64::from(n == 12), p50: figure(50.0), p99: figure(99.0), max: figure(100.0), mean: None, latencies: SparseHistogram::pack(&all),
        };
        Moment { start: Nanos::new(n * 1_000_000_000), length: Nanos::new(1_000_000_000), directions: PerDirection([read, MomentDirection::default(), MomentDirection::default()]) }
    };
    JobFigures { series: (0..20).map(moment).collect(), ..job(4, 1, None) }
}

/// The cells that a kind of chart is drawn from here, and what is asked of it.
fn scene(kind: &str) -> (Vec<JobFigures>, Wish) {
    let depths = || [1, 2, 4, 8, 16, 32].map(|depth| job(depth, 1, None)).to_vec();
    let grid = || [1, 4, 16].into_iter().flat_map(|depth| [1, 2, 8].map(|jobs| job(depth, jobs, None))).collect();
    let wish = Wish::default();
    match kind {
        "jobs" => ([1, 2, 4, 8].map(|jobs| job(1, jobs, None)).to_vec(), wish),
        "load" => (depths(), Wish { slo: Some((99.0, 600_000.0)), ..wish }),
        "block" => ([1u64, 4, 16, 64].map(|kib| JobFigures { block: Some(kib << 10), ..job(4, 1, None) }).to_vec(), wish),
        "heat" | "3d" => (grid(), wish),
        "interference" => ([50, 70, 90, 100].into_iter().flat_map(|mix| [1, 8, 32].map(|depth| job(depth, 1, Some(mix)))).collect(), wish),
        "time" | "time-latency" | "latency-map" | "convergence" | "window" => (vec![over_time()], wish),
        "compare" | "cpu" | "distribution" | "percentiles" => (depths()[..4].to_vec(), wish),
        _ => (depths(), wish),
    }
}

/// Numbers that the script counts up from picture to picture.
fn plain(svg: &str) -> String {
    let mut text = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some(at) = rest.find("zr") {
        let (before, after) = rest.split_at(at + 2);
        text += before;
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text + rest
}

#[test]
fn every_chart_looks_as_it_did() {
    let Ok(stage) = Stage::new() else {
        eprintln!("SKIP: every_chart_looks_as_it_did: this build has no chart script");
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut differing = Vec::new();
    for kind in CHARTS {
        let (jobs, wish) = scene(kind.name);
        let made = chart(kind.name, &jobs, &wish).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        let frame = Frame { width: 800, height: 480, ..Frame::default() };
        let drawn = plain(&svg(&made, &frame, &stage).unwrap_or_else(|error| panic!("{}: {error}", kind.name)));
        let file = folder.join(format!("{}.svg", kind.name));
        if std::env::var_os("FATHOM_BLESS").is_some() {
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, &drawn)).expect("the picture is written");
        } else if std::fs::read_to_string(&file).ok().as_deref() != Some(&drawn) {
            differing.push(kind.name);
        }
    }
    assert!(differing.is_empty(), "these look otherwise; FATHOM_BLESS=1 writes them anew, to be looked at: {differing:?}");
}

#[test]
fn tables_have_the_figures_in_the_units_of_the_axes() {
    let (jobs, wish) = scene("depth");
    let table = csv(&chart("depth", &jobs, &wish).expect("a chart"));
    // Eight servers of 100 us: at depth 32 80,000 per second, so 0.4 ms each; p99 is 2.5 times that.
    assert!(table.contains("Queue depth,IOPS (IOPS),mean latency (ms),p99 latency (ms)\r\n"), "{table}");
    assert!(table.contains("32,80000,0.4,1\r\n"), "{table}");
    let (jobs, wish) = scene("load");
    let load = chart("load", &jobs, &wish).expect("a chart");
    // The greatest throughput over latency is where the servers are just busy; p99 of 250 us is within 600 us also at 16 (500 us).
    assert!(load.notes[0].contains("The knee is at 80,000 IOPS") && load.notes[0].contains("with 8 outstanding"), "{:?}", load.notes);
    assert!(load.notes[1].contains("80,000 IOPS is the most within p99 of 600 µs"), "{:?}", load.notes);
}

/// A spreadsheet runs what begins with these.
#[test]
fn regression_0200_a_name_is_never_a_formula_in_a_table() {
    let evil = JobFigures { source: "=cmd|' /C calc'!A0".into(), name: "@x".into(), ..job(1, 1, None) };
    let table = csv(&chart("compare", &[evil, job(2, 1, None)], &Wish::default()).expect("a chart"));
    assert!(table.lines().all(|line| !line.starts_with(['=', '@', '+', '-'])), "{table}");
    assert!(table.contains("'=cmd"), "{table}");
}
