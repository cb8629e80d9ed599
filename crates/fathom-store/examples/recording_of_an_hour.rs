//! Measures how long it takes to write and to read the recording of an hour.
//!
//! `cargo run --release -p fathom-store --example recording_of_an_hour`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_model::{
    Bytes, CpuShare, DiskCounters, Histogram, Interval, IntervalDirection, Nanos, PerDirection,
    Recording, Sample, SparseHistogram,
};
use fathom_store::{CellContent, Store, read_recording, write_recording};

const SECONDS: u64 = 3600;
const JOBS: u64 = 4;
const INTERVALS_PER_SECOND: u64 = 2;
const CPUS: u64 = 16;
const DISKS: u64 = 2;
const ROUNDS: usize = 15;

fn main() {
    let recording = hour();
    let document = write_recording(&recording);
    println!("{} bytes", document.len());
    let write = fastest(|| {
        black_box(write_recording(black_box(&recording)));
    });
    let read = fastest(|| {
        black_box(read_recording(black_box(&document))).expect("it was just written");
    });
    println!("write {write:?}");
    println!("read  {read:?}");
}

fn fastest(mut measured: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            measured();
            begun.elapsed()
        })
        .min()
        .expect("more than one round")
}

/// A short recording of the tests, stretched to an hour of intervals and samples.
fn hour() -> Recording {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/every-kind.db");
    let mut store = Store::open_read_only(&fixture).expect("the fixture is readable");
    let run = store.run("r2").expect("it has a second run").id;
    let content = store.content(run, 1).expect("its cell is readable");
    let CellContent::Recording(mut recording) = content else {
        panic!("the cell has no recording")
    };
    let (job, plan) = (recording.jobs.remove(0), recording.plan.jobs.remove(0));
    recording.plan.jobs = (0..JOBS).map(|_| plan.clone()).collect();
    recording.jobs = (0..JOBS).map(|_| job.clone()).collect();
    for (number, job) in recording.jobs.iter_mut().enumerate() {
        job.intervals = (0..SECONDS * INTERVALS_PER_SECOND)
            .map(|at| interval(at, number as u64))
            .collect();
    }
    recording.conditions.telemetry.samples = (0..SECONDS).map(sample).collect();
    *recording
}

fn interval(at: u64, job: u64) -> Interval {
    let mut latencies = Histogram::new();
    for step in 0..60 {
        let latency = 60_000 + step * step * (97 + job) + at * 31 % 5_000;
        latencies.record_n(latency, 1 + (at + step) % 90);
    }
    let mut directions = PerDirection::default();
    directions.0[0] = IntervalDirection {
        ios: latencies.count(),
        bytes: latencies.count() * 4096,
        bad: 0,
        clat: SparseHistogram::pack(&latencies),
        response: SparseHistogram::default(),
    };
    Interval {
        start: Nanos::from_millis(at * 500),
        length: Nanos::from_millis(500),
        directions,
    }
}

fn sample(at: u64) -> Sample {
    let disk = |number: u64| DiskCounters {
        read_ios: 70_000 + (at * 7919 + number) % 10_000,
        read_sectors: 560_000 + at % 10_000,
        read_ticks: 3_000 + at % 100,
        in_flight: 16,
        io_ticks: 1_000,
        time_in_queue: 3_100,
        ..DiskCounters::default()
    };
    let cpu = |number: u64| CpuShare {
        busy: ((at + number) % 100) as f64 + 0.1,
        stolen: (at % 7) as f64 / 3.0,
    };
    Sample {
        start: Nanos::from_secs(at),
        length: Nanos::from_secs(1),
        disks: (0..DISKS).map(disk).collect(),
        cpus: (0..CPUS).map(cpu).collect(),
        cpu_pressure: Some((at % 100) as f64 / 7.0),
        io_pressure: Some((at % 90) as f64 / 7.0),
        memory_pressure: Some(0.0),
        cpu_mhz: Some(2_400.0 + (at % 300) as f64),
        celsius: Some(41.5),
        available: Some(Bytes::from_mib(60_000 - at)),
        dirty: Some(Bytes::from_kib(at)),
        writeback: Some(Bytes::ZERO),
        throttles: Some(0),
        wall_step_ns: (at % 11) as i64 - 5,
    }
}
