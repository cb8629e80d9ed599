//! The service latency of a device with a known time, at several depths and with each engine.

use crate::common;
use crate::common::{Json, filename_arg, program, split_args, start};
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Op, require};

const DEVICE_US: u64 = 500;
/// Engines that do direct I/O, so that each I/O reaches the device.
const ENGINES: [&str; 8] = [
    "psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio",
];
/// Those that complete an I/O within its submission.
const SYNCHRONOUS: [&str; 5] = ["psync", "sync", "vsync", "pvsync", "pvsync2"];

fn device() -> FaultDevice {
    let latency = Latency {
        read_us: DEVICE_US,
        write_us: DEVICE_US,
        ..Latency::default()
    };
    FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device")
}

/// The smallest possible mean time in the device of `ios` reads of 4 KiB, from its log: a longer read is several (vsync joins
/// them), and of more reads than that the fastest count.
fn least_mean_ns(device: &FaultDevice, ios: f64) -> f64 {
    let mut times: Vec<u64> = device
        .log()
        .iter()
        .filter(|one| one.op == Op::Read)
        .flat_map(|one| std::iter::repeat_n(one.latency_ns(), (one.len / 4096) as usize))
        .collect();
    assert_eq!(device.counts().log_dropped, 0, "the log is complete");
    assert!(times.len() as f64 >= ios, "{} of {ios}", times.len());
    times.sort_unstable();
    times[..ios as usize].iter().sum::<u64>() as f64 / ios
}

/// Checks the mean latencies of a job against what is physically possible. The time in the device is a part of each latency;
/// and with at most `depth` I/Os at the same time, the sum of all latencies is at most `depth` times the run time.
fn check_means(
    who: &str,
    of: &dyn Fn(&str) -> f64,
    device: &FaultDevice,
    engine: &str,
    depth: u32,
) {
    let ios = of("total_ios");
    let least = least_mean_ns(device, ios);
    let (clat, lat) = (of("clat_ns/mean"), of("lat_ns/mean"));
    // vsync collects I/Os up to the depth.
    let in_flight = if SYNCHRONOUS.contains(&engine) && engine != "vsync" {
        1
    } else {
        depth
    };
    // The run time is in whole milliseconds.
    let most = f64::from(in_flight) * (of("runtime") + 1.0) * 1e6 / ios;
    // clat of fio begins after the submission, in which an engine that is not synchronous may wait.
    let whole = if who == "fathom run" || SYNCHRONOUS.contains(&engine) {
        clat
    } else {
        lat
    };
    assert!(
        least >= (DEVICE_US * 1000) as f64 && whole >= least && clat <= most && lat <= most,
        "{who} {engine} at depth {depth}: clat {clat} ns, lat {lat} ns, in the device {least} ns, at most {most} ns"
    );
}

/// Threads that use both CPUs, so that the load generator is preempted in the middle of submissions.
struct Busy(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl Busy {
    fn start(threads: usize) -> Busy {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        for _ in 0..threads {
            let stop = std::sync::Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Busy(stop)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

fn load(personality: &str, device: &FaultDevice, engine: &str, depth: u32) -> Json {
    let line = format!(
        "{personality} --name=x --rw=randread --bs=4k --size=32m --direct=1 --ioengine={engine} --iodepth={depth} \
         --norandommap --number_ios=200 --output-format=json"
    );
    let mut command = program(split_args(&line));
    command.arg(filename_arg(&device.path()));
    start(command).finish().expect_measured().json()
}

/// Regression 0429: clat was 3 us on a device of 500 us, because it began after a submission in which the thread was preempted.
/// In `fathom run` it begins before the submission; in `fathom fio` slat and clat add up to lat, as in fio.
#[test]
fn service_latency_is_never_shorter_than_the_time_of_the_device() {
    require!(Fuse);
    let device = device();
    let _busy = Busy::start(4);
    for engine in ENGINES {
        for depth in [1, 32] {
            device.clear_log();
            let json = load("run", &device, engine, depth);
            let of = |name: &str| json.number(&format!("/jobs/0/read/{name}"));
            check_means("fathom run", &of, &device, engine, depth);
            let ios = json.number("/jobs/0/read/total_ios");
            let shortest = json.number("/jobs/0/read/clat_ns/min");
            assert!(
                ios == 200.0 && shortest >= (DEVICE_US * 1000) as f64,
                "{engine} at depth {depth}: {shortest} ns of {ios}"
            );
        }
    }
}

/// Regression 0584: only the shortest latency was compared with the device, not the mean. The device's own log says how long the I/Os took,
/// and Little's law how long they can have taken together. As in fio, the time in the submission is slat, clat begins after it, and both
/// add up to lat. `cargo xtask measure` compares each engine with fio.
#[test]
fn fathom_fio_divides_latencies_as_fio() {
    require!(Fuse);
    let device = device();
    for engine in ENGINES {
        for depth in [1, 32] {
            device.clear_log();
            let json = load("fio", &device, engine, depth);
            let of = |name: &str| json.number(&format!("/jobs/0/read/{name}"));
            check_means("fathom fio", &of, &device, engine, depth);
            let rest = of("lat_ns/mean") - of("slat_ns/mean") - of("clat_ns/mean");
            // A synchronous engine of fio has no slat, and its lat includes the time before the call.
            if SYNCHRONOUS.contains(&engine) {
                assert_eq!(of("slat_ns/mean"), 0.0, "{engine}");
                assert!(rest >= -1.0, "{engine} {depth}: {rest}");
            } else {
                assert!(rest.abs() <= 1.0, "{engine} {depth}: {rest}");
            }
            assert!(of("lat_ns/min") >= (DEVICE_US * 1000) as f64, "{engine}");
        }
    }
}

/// Regression 0521: above depth 1 the response to a write ended at its completion, without the flush that commits it. A write takes 2 ms
/// here and a flush 5 ms. A flush covers the writes that had completed before it was submitted, so that a commit takes at least 7 ms.
#[test]
fn a_commit_is_a_write_and_its_flush_at_every_depth() {
    require!(Fuse);
    let latency = Latency {
        write_us: 2_000,
        sync_us: 5_000,
        ..Latency::default()
    };
    let device = FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    for (engine, depth, sync) in [
        ("psync", 1, "fdatasync"),
        ("io_uring", 4, "fdatasync"),
        ("libaio", 8, "fsync"),
    ] {
        let line = format!(
            "run --name=x --rw=randwrite --bs=4k --size=16m --direct=1 --ioengine={engine} --iodepth={depth} --{sync}=1 \
             --norandommap --number_ios=60 --output-format=json"
        );
        let mut command = program(split_args(&line));
        command.arg(filename_arg(&device.path()));
        command.arg(format!("--destroy={}", common::device_code(&device.path())));
        let json = start(command).finish().expect(0).json();
        let of = |name: &str| json.number(&format!("/fathom/entries/0/write/response_ns/{name}"));
        assert!(
            of("min") >= 7e6,
            "{engine} at depth {depth}: {} ns",
            of("min")
        );
        let (writes, commits) = (json.number("/jobs/0/write/total_ios"), of("N"));
        assert!(
            commits > 0.0 && commits <= writes && commits + 2.0 * f64::from(depth) >= writes,
            "{engine} at depth {depth}: {commits} commits of {writes} writes"
        );
    }
}
