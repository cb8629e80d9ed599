//! Devices with a known rate and latency: the report must match them.

use std::path::Path;

use fathom_testkit::{
    DeviceOptions, FaultDevice, Latency, Limit, LoopDevice, LoopOptions, Need, Op, Scratch,
    Throttle,
};

use crate::common::{self, Json, device_code, filename_arg, program, split_args, start};
use crate::machine::{latency_by_fio, raise_priority};
use crate::scene::{Scene, check_near, next_case};

pub const SCENES: &[Scene] = &[
    Scene::check(
        "limits of 50, 200 and 1,000 IOPS are measured",
        &[Need::Root, Need::Loop, Need::BlkioV1, Need::IoUring],
        iops_limits,
    ),
    Scene::check(
        "a limit of 10 MiB/s is measured",
        &[Need::Root, Need::Loop, Need::BlkioV1],
        bandwidth_limit,
    ),
    Scene::check("1 ms is 1 ms, psync", DEVICE, || {
        check_latency(1_000, ENGINES[0])
    }),
    Scene::check("1 ms is 1 ms, libaio", DEVICE, || {
        check_latency(1_000, ENGINES[1])
    }),
    Scene::check("1 ms is 1 ms, io_uring", DEVICE, || {
        check_latency(1_000, ENGINES[2])
    }),
    Scene::check("5 ms are 5 ms, psync", DEVICE, || {
        check_latency(5_000, ENGINES[0])
    }),
    Scene::check("5 ms are 5 ms, libaio", DEVICE, || {
        check_latency(5_000, ENGINES[1])
    }),
    Scene::check("5 ms are 5 ms, io_uring", DEVICE, || {
        check_latency(5_000, ENGINES[2])
    }),
    Scene::check("20 ms are 20 ms, psync", DEVICE, || {
        check_latency(20_000, ENGINES[0])
    }),
    Scene::check("20 ms are 20 ms, libaio", DEVICE, || {
        check_latency(20_000, ENGINES[1])
    }),
    Scene::check("20 ms are 20 ms, io_uring", DEVICE, || {
        check_latency(20_000, ENGINES[2])
    }),
    Scene::check(
        "a commit takes its write and its flush",
        &[Need::Root, Need::Fuse],
        commit_latency,
    ),
];

const DEVICE: &[Need] = &[Need::Root, Need::Fuse, Need::IoUring];

/// An engine and its queue depth.
const ENGINES: [(&str, u32); 3] = [("psync", 1), ("libaio", 16), ("io_uring", 16)];

const SECONDS: u32 = 8;

/// The warm-up is not measured: the kernel grants the I/Os of its first slice (100 ms) at once,
/// which in eight seconds at depth 16 is 1 % more than the limit (block/blk-throttle.c,
/// `tg_within_iops_limit`).
const FREE_SLICE: &str = "--ramp_time=2s";

/// Creates a throttled loop device and reads it at random for some seconds from inside the control
/// group.
fn throttled(
    scratch: &Path,
    name: &str,
    limit: Limit,
    block: &str,
    (engine, depth): (&str, u32),
) -> Json {
    let backing = scratch.join(name);
    std::fs::write(&backing, vec![0x5A; 32 << 20]).expect("a backing file with data");
    let device = LoopDevice::attach(&backing, LoopOptions::default()).expect("a loop device");
    let group = Throttle::new().expect("a group");
    group.limit(device.path(), limit).expect("a limit");
    let mut command = group.command(common::FATHOM);
    command.args(split_args(&format!(
        "run --name=x --rw=randread --bs={block} --direct=1 --ioengine={engine} --iodepth={depth} --time_based --norandommap \
         {FREE_SLICE} --runtime={SECONDS} --output-format=json"
    )));
    command.arg(filename_arg(device.path()));
    start(command).finish().expect(0).json()
}

fn check_rate(json: &Json, rate: f64, depth: f64) -> Result<(), String> {
    check_near("IOPS", json.number("/jobs/0/read/iops"), rate, rate * 0.01)?;
    // The queue fills and drains once per run; in a run that is long compared with that, Little's
    // law holds.
    if rate * f64::from(SECONDS) >= 100.0 * depth {
        let ideal = depth / rate * 1e9;
        check_near(
            "mean latency, ns",
            json.number("/jobs/0/read/lat_ns/mean"),
            ideal,
            ideal * 0.02,
        )?;
    }
    Ok(())
}

/// One limit with one engine at a time: several programs would take the CPU from each other when the kernel lets their I/Os go.
fn iops_limits() -> Result<(), String> {
    raise_priority();
    let cases: Vec<_> = [50_u64, 200, 1000]
        .into_iter()
        .flat_map(|limit| ENGINES.map(|engine| (limit, engine)))
        .collect();
    let (limit, engine) = next_case(&cases);
    let scratch = Scratch::new().expect("a directory");
    let json = throttled(
        scratch.path(),
        "backing",
        Limit::ReadIops(limit),
        "4k",
        engine,
    );
    check_rate(&json, limit as f64, f64::from(engine.1))
        .map_err(|error| format!("{limit} IOPS, {engine:?}: {error}"))
}

fn bandwidth_limit() -> Result<(), String> {
    raise_priority();
    let limit = 10u64 << 20;
    let scratch = Scratch::new().expect("a directory");
    let json = throttled(
        scratch.path(),
        "backing",
        Limit::ReadBytes(limit),
        "64k",
        ("libaio", 4),
    );
    check_near(
        "bytes per second",
        json.number("/jobs/0/read/bw_bytes"),
        limit as f64,
        limit as f64 * 0.01,
    )
}

/// The times of the reads of 4 KiB that the device logged, sorted. Clears its log.
fn logged_reads(device: &FaultDevice) -> Vec<u64> {
    let log = device.log();
    device.clear_log();
    let reads = log.iter().filter(|one| one.len == 4096);
    let mut times: Vec<u64> = reads.map(fathom_testkit::Entry::latency_ns).collect();
    times.sort_unstable();
    times
}

/// The nearest-rank percentile.
fn percentile(sorted: &[u64], percent: f64) -> f64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank - 1] as f64
}

/// What a read takes beyond the time in the device, by fio, at each percentile: ns. More than a millisecond is a disturbance, which
/// explains nothing.
fn carried(device: &FaultDevice, micros: u64) -> [f64; 2] {
    device.clear_log();
    let reads = (1_000_000 / micros.max(1)).clamp(40, 400);
    let by_fio = latency_by_fio(&device.path(), reads);
    let own = logged_reads(device);
    by_fio.map_or([0.0; 2], |[median, p99]| {
        [
            median - percentile(&own, 50.0),
            p99 - percentile(&own, 99.0),
        ]
        .map(|more| more.clamp(0.0, 1e6))
    })
}

/// How far a latency may lie from the known one, ns.
const TOLERANCE: f64 = 300_000.0;

fn check_latency(micros: u64, (engine, depth): (&str, u32)) -> Result<(), String> {
    raise_priority();
    let latency = Latency {
        read_us: micros,
        ..Latency::default()
    };
    let device = FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    let before = carried(&device, micros);
    let mut command = program(split_args(&format!(
        "run --name=x --rw=randread --bs=4k --size=32m --direct=1 --ioengine={engine} --iodepth={depth} --time_based \
         --norandommap --runtime=2 --output-format=json"
    )));
    command.arg(filename_arg(&device.path()));
    let json = start(command).finish().expect(0).json();
    let own = logged_reads(&device);
    let reported = json.number("/jobs/0/read/total_ios");
    if own.len() < reported as usize {
        return Err(format!(
            "{reported} I/Os reported, {} seen by the device",
            own.len()
        ));
    }
    // Never less than the device took, and no more than the device and the way to it and back.
    let after = carried(&device, micros);
    for (number, percent) in [50.0, 99.0].into_iter().enumerate() {
        let pointer = format!("/jobs/0/read/clat_ns/percentile/{percent:.6}");
        let (clat, device) = (json.number(&pointer), percentile(&own, percent));
        let way = before[number].max(after[number]);
        if !(device - TOLERANCE..=device + TOLERANCE.max(way + TOLERANCE / 2.0)).contains(&clat) {
            return Err(format!(
                "p{percent} of clat, ns: {clat} instead of {device} of the device and {way} of the way to it"
            ));
        }
    }
    let (iops, mean) = (
        json.number("/jobs/0/read/iops"),
        json.number("/jobs/0/read/clat_ns/mean"),
    );
    let in_flight = json.number("/fathom/entries/0/littles_law/in_flight");
    check_near(
        "depth by Little's law from IOPS and mean",
        iops * mean / 1e9,
        in_flight,
        in_flight * 0.02,
    )?;
    let share = 20.0 * f64::from(depth) / reported;
    check_near(
        "depth by Little's law",
        in_flight,
        f64::from(depth),
        f64::from(depth) * share.clamp(0.05, 0.2),
    )?;
    Ok(())
}

/// The device takes 2 ms for a write and 3 ms for a flush.
fn commit_latency() -> Result<(), String> {
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    for (engine, rate) in [("psync", ""), ("io_uring", ""), ("psync", "--rate_iops=50")] {
        device.set_latency(Latency {
            write_us: 2000,
            sync_us: 3000,
            ..Latency::default()
        });
        let code = device_code(&device.path());
        device.clear_log();
        let mut command = program(split_args(&format!(
            "run --name=x --destroy={code} --rw=randwrite --bs=4k --size=1m --direct=1 --ioengine={engine} --iodepth=1 --fdatasync=1 \
             --number_ios=100 --norandommap --output-format=json {rate}"
        )));
        command.arg(filename_arg(&device.path()));
        let ran = start(command).finish().expect(0);
        let log = device.log();
        device.set_latency(Latency::default());
        let flushes = log.iter().filter(|entry| entry.op == Op::Sync);
        let writes: Vec<_> = log
            .iter()
            .filter(|entry| entry.op == Op::Write && entry.len == 4096)
            .collect();
        let commits: Vec<f64> = writes
            .iter()
            .map(|write| {
                let flush = flushes
                    .clone()
                    .find(|flush| flush.start_ns >= write.end_ns)
                    .expect("a flush after each write");
                (flush.end_ns - write.start_ns) as f64
            })
            .collect();
        let mean = commits.iter().sum::<f64>() / commits.len() as f64;
        let reported = ran
            .json()
            .number("/fathom/entries/0/write/response_ns/mean");
        let what = format!("mean of the commits beyond the device, {engine} {rate}, ns");
        check_near(&what, reported - mean, 0.5e6, 0.5e6)?;
    }
    Ok(())
}
