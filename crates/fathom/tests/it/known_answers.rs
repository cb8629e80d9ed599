//! Devices with a known rate and latency: the report must match them.

use crate::common;
use std::path::Path;
use std::thread;

use crate::common::{
    Json, check_near, device_code, filename_arg, lock_machine_exclusive, lock_machine_shared,
    program, retry_measurement, retry_where_threads_waited, split_args, start,
};
use fathom_testkit::{
    DeviceOptions, FaultDevice, Latency, Limit, LoopDevice, LoopOptions, Op, Scratch, Throttle,
    require,
};

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
    start(command).finish().expect_done().json()
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

#[test]
fn an_iops_limit_is_measured() {
    require!(Root, Loop, BlkioV1, IoUring);
    let _lock = lock_machine_shared();
    let limits = [50u64, 200, 1000];
    thread::scope(|scope| {
        let (mut number, mut threads) = (0, Vec::new());
        for limit in limits {
            for engine in ENGINES {
                number += 1;
                let name = format!("iops-{number}");
                let work = move || {
                    common::raise_priority();
                    retry_measurement(|| {
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
                    });
                };
                threads.push(
                    thread::Builder::new()
                        .name(name)
                        .spawn_scoped(scope, work)
                        .expect("a thread"),
                );
            }
        }
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("the rate is right"));
    });
}

#[test]
fn a_bandwidth_limit_is_measured() {
    require!(Root, Loop, BlkioV1);
    let _lock = lock_machine_shared();
    let limit = 10u64 << 20;
    retry_measurement(|| {
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
    });
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
    let by_fio = common::latency_by_fio(&device.path(), reads);
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
/// A device whose own p99 lies this far above its setting, ns, runs on a machine that wakes its threads late. What the kernel takes to
/// wake the worker is then as uncertain, and the p99 of this measurement has no known answer.
const LATE_DEVICE: f64 = 1e6;

/// Why a latency was not found to be the known one.
enum Miss {
    Wrong(String),
    /// The device itself did not answer in its time.
    LateDevice(String),
}

impl From<String> for Miss {
    fn from(text: String) -> Miss {
        Miss::Wrong(text)
    }
}

fn check_latency(micros: u64, (engine, depth): (&str, u32)) -> Result<(), Miss> {
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
    let json = start(command).finish().expect_done().json();
    let own = logged_reads(&device);
    let reported = json.number("/jobs/0/read/total_ios");
    if own.len() < reported as usize {
        return Err(Miss::Wrong(format!(
            "{reported} I/Os reported, {} seen by the device",
            own.len()
        )));
    }
    // Never less than the device took, and no more than the device and the way to it and back.
    let after = carried(&device, micros);
    for (number, percent) in [50.0, 99.0].into_iter().enumerate() {
        let pointer = format!("/jobs/0/read/clat_ns/percentile/{percent:.6}");
        let (clat, device) = (json.number(&pointer), percentile(&own, percent));
        let way = before[number].max(after[number]);
        if !(device - TOLERANCE..=device + TOLERANCE.max(way + TOLERANCE / 2.0)).contains(&clat) {
            let text = format!(
                "p{percent} of clat, ns: {clat} instead of {device} of the device and {way} of the way to it"
            );
            let late = percent > 50.0 && device > micros as f64 * 1e3 + LATE_DEVICE;
            return Err(if late {
                Miss::LateDevice(text)
            } else {
                Miss::Wrong(text)
            });
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

/// Each measurement has the machine to itself: CPU use of other tests would be measured too.
#[allow(
    clippy::print_stderr,
    reason = "what a test could not judge is reported"
)]
fn assert_latency_equals_device(micros: u64) {
    common::raise_priority();
    for engine in ENGINES {
        let _lock = lock_machine_exclusive();
        retry_where_threads_waited(1.0, || {
            let mut late = String::new();
            for _ in 0..5 {
                match check_latency(micros, engine) {
                    Ok(()) => return Ok(()),
                    Err(Miss::Wrong(text)) => {
                        return Err(format!("{micros} us, {engine:?}: {text}"));
                    }
                    Err(Miss::LateDevice(text)) => late = text,
                }
            }
            eprintln!(
                "DISTURBED: {micros} us, {engine:?}: the device was late in each of 5 measurements, its p99 is not judged: {late}"
            );
            Ok(())
        });
    }
}

#[test]
fn one_millisecond_is_one_millisecond() {
    require!(Root, Fuse, IoUring);
    assert_latency_equals_device(1_000);
}

#[test]
fn five_milliseconds_are_five_milliseconds() {
    require!(Root, Fuse, IoUring);
    assert_latency_equals_device(5_000);
}

#[test]
fn twenty_milliseconds_are_twenty_milliseconds() {
    require!(Root, Fuse, IoUring);
    assert_latency_equals_device(20_000);
}

/// Regression 0405: the latency of a commit was that of the write or that of the flush. The device takes 2 ms for the one
/// and 3 ms for the other.
#[test]
fn a_commit_takes_its_write_and_its_flush() {
    require!(Root, Fuse);
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
             --number_ios=100 --norandommap --output-format=json,normal {rate}"
        )));
        command.arg(filename_arg(&device.path()));
        let ran = start(command).finish().expect_done();
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
        assert!(mean >= 5e6, "{mean}");
        let (json, text) = ran
            .out
            .split_at(ran.out.rfind("\n}\n").expect("JSON first") + 3);
        let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let response = &json["fathom"]["entries"][0]["write"]["response_ns"];
        assert_eq!(response["N"], 100, "{engine} {rate}");
        let reported = response["mean"].as_f64().expect("a number");
        assert!(
            reported >= mean && reported <= mean + 1e6,
            "{engine} {rate}: {reported} ns, {mean} ns in the device"
        );
        let name = if rate.is_empty() {
            "commit"
        } else {
            "response"
        };
        assert!(
            text.contains(&format!("{name} (")),
            "{name} is missing in\n{text}"
        );
        assert!(
            text.contains(&format!(
                "at {} on average",
                fathom_model::format::duration(reported)
            )),
            "{text}"
        );
    }
}

/// fio's own bins end at 17.1 s; fathom clamps nothing below an hour.
#[test]
fn twenty_seconds_are_twenty_seconds() {
    require!(Root, Fuse);
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    let mut command = program(split_args(
        "run --name=x --rw=randread --bs=4k --size=1m --direct=1 --ioengine=libaio --iodepth=2 --number_ios=2 --startdelay=3s \
         --output-format=json",
    ));
    command.arg(filename_arg(&device.path()));
    let running = start(command);
    // Reads before the load, for the inspection of the target, would be as slow.
    common::wait_until("it inspected the device", || !device.log().is_empty());
    std::thread::sleep(std::time::Duration::from_secs(1));
    device.set_latency(Latency {
        read_us: 20_000_000,
        ..Latency::default()
    });
    let json = running.finish().expect_done().json();
    assert_eq!(json.count("ok_ios"), 2);
    // Cause 12: fio's format would clamp these latencies, which is a finding.
    assert!(
        json.expect_finding("FIO_BINS_CLAMPED")
            .starts_with("2 latencies of 17.18 s or more"),
        "{}",
        json.expect_finding("FIO_BINS_CLAMPED")
    );
    let slowest = device
        .log()
        .iter()
        .map(fathom_testkit::Entry::latency_ns)
        .max()
        .expect("a log") as f64;
    assert!(slowest >= 20e9);
    let (p99, max) = (
        json.number("/jobs/0/read/clat_ns/percentile/99.000000"),
        json.number("/jobs/0/read/clat_ns/max"),
    );
    check_near("max, ns", max, slowest, 0.3e9).expect("the maximum equals the slowest I/O");
    assert!(
        (max * 0.99..=max * 1.01).contains(&p99),
        "p99 {p99} of max {max} is within the histogram's one percent"
    );
}

/// Regression 0500: a run of several jobs ended without a sum of them. The expected figures come from fio's
/// part of the same document: counts are added, and percentiles are read from the added bins of all
/// jobs (64 bins for each power of two).
#[test]
fn a_run_of_several_jobs_ends_with_their_total() {
    let scratch = Scratch::new().expect("a directory");
    let run = |more: &str| {
        let line = format!(
            "run --size=4m --bs=4k --direct=1 --ioengine=io_uring --iodepth=4 --rate_iops=2000 {more} --directory={} \
             --name=readers --rw=randread --numjobs=2 --name=writer --rw=randwrite --startdelay=200ms",
            scratch.path().display()
        );
        common::fathom(split_args(&line)).expect_done()
    };
    let json = run("--output-format=json+").json();
    let total = "/fathom/totals/0";
    assert_eq!(json.number(&format!("{total}/jobs")), 3.0);
    for (name, jobs, ios) in [("read", &[0, 1][..], 2048.0), ("write", &[2], 1024.0)] {
        assert_eq!(json.number(&format!("{total}/{name}/ios")), ios);
        let span = json.number(&format!("{total}/span_ns")) / 1e9;
        assert!(span > 0.2, "the writer starts 0.2 s later: {span}");
        let iops = json.number(&format!("{total}/{name}/iops"));
        assert!((iops * span - ios).abs() < 1e-3 * ios, "{iops} x {span}");
        let mut bins = std::collections::BTreeMap::<u64, u64>::new();
        for job in jobs {
            let pointer = format!("/jobs/{job}/{name}/clat_ns/bins");
            let all = json
                .0
                .pointer(&pointer)
                .and_then(serde_json::Value::as_object);
            for (middle, n) in all.expect("bins") {
                *bins.entry(middle.parse().expect("ns")).or_default() +=
                    n.as_u64().expect("a count");
            }
        }
        assert_eq!(bins.values().sum::<u64>() as f64, ios);
        for (percent, key) in [(0.5, "50.000000"), (0.99, "99.000000")] {
            let mut left = (ios * percent).ceil() as u64;
            let expected = bins.iter().find(|(_, n)| {
                left = left.saturating_sub(**n);
                left == 0
            });
            let expected = *expected.expect("a bin").0 as f64;
            let reported = json.number(&format!("{total}/{name}/clat_ns/percentile/{key}"));
            assert!(
                (reported / expected - 1.0).abs() < 0.02,
                "{name} p{percent}: {reported}, {expected}"
            );
        }
    }
    let lines = run("").out;
    let sentence = lines
        .split("Total of 3 jobs over ")
        .nth(1)
        .expect("a total");
    for part in ["read ", " IOPS, ", "write ", "p99.9", "in flight"] {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    // One job is its own total, and jobs that run one after the other have none.
    let line = "run --size=1m --ioengine=null --name=a --name=b --stonewall --output-format=json";
    let alone = common::fathom(split_args(line));
    assert_eq!(alone.expect_done().json().0.pointer("/fathom/totals"), None);
}
