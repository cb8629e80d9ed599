//! The service latency of a device with a known time, at several depths and with each engine.

use crate::common;
use crate::common::{Json, filename_arg, program, split_args, start};
use crate::scene::{Scene, next_case};
use fathom_testkit::Need;
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Op};

pub const SCENES: &[Scene] = &[
    Scene::check(
        "fathom fio divides latencies as fio",
        &[Need::Fuse, Need::Fio],
        fathom_fio_divides_latencies_as_fio,
    ),
    Scene::check(
        "a commit is a write and its flush at every depth",
        &[Need::Fuse],
        a_commit_is_a_write_and_its_flush_at_every_depth,
    ),
];

fn fio_engines() -> std::collections::HashSet<String> {
    let mut command = std::process::Command::new("fio");
    command.arg("--enghelp");
    let listed = start(command).finish().out;
    listed.split_whitespace().map(str::to_owned).collect()
}

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

fn load(personality: &str, device: &FaultDevice, engine: &str, depth: u32) -> Json {
    let line = format!(
        "{personality} --name=x --rw=randread --bs=4k --size=32m --direct=1 --ioengine={engine} --iodepth={depth} \
         --norandommap --time_based --runtime=200ms --output-format=json"
    );
    let mut command = program(split_args(&line));
    command.arg(filename_arg(&device.path()));
    let ran = start(command).finish();
    ran.expect(0).json()
}

/// Regression 0584: only the shortest latency was compared with the device, not the mean. The device's own log says how long the
/// I/Os took, and Little's law how long they can have taken together. What fio does in the same situation: the time in the submission is slat, and clat begins after it. Each engine that the
/// installed fio has is compared with it, also its latencies.
fn fathom_fio_divides_latencies_as_fio() -> Result<(), String> {
    let device = device();
    let names = fio_engines();
    let engines: Vec<&str> = ENGINES
        .into_iter()
        .filter(|engine| names.contains(*engine))
        .collect();
    assert!(engines.len() > SYNCHRONOUS.len(), "{names:?}");
    let cases: Vec<(&str, u32)> = engines
        .into_iter()
        .flat_map(|engine| [1, 32].map(|depth| (engine, depth)))
        .collect();
    let (engine, depth) = next_case(&cases);
    device.clear_log();
    let ours = load("fio", &device, engine, depth);
    let mean_of = |name: &str| ours.number(&format!("/jobs/0/read/{name}"));
    check_means("fathom fio", &mean_of, &device, engine, depth);
    device.clear_log();
    let mut theirs = std::process::Command::new("fio");
    theirs.args(split_args(&format!(
        "--name=x --rw=randread --bs=4k --size=32m --direct=1 --ioengine={engine} --iodepth={depth} --norandommap \
         --time_based --runtime=200ms --output-format=json"
    )));
    theirs.arg(filename_arg(&device.path()));
    let theirs = start(theirs).finish().expect(0);
    // Its warnings come first.
    let document = theirs.out.find('{').map(|at| &theirs.out[at..]);
    let theirs: serde_json::Value =
        serde_json::from_str(document.expect("a document")).expect("JSON of fio");
    let of = |name: &str| {
        let pointer = format!("/jobs/0/read/{name}");
        (
            ours.number(&pointer),
            theirs
                .pointer(&pointer)
                .and_then(serde_json::Value::as_f64)
                .expect("a figure"),
        )
    };
    check_means("fio", &|name| of(name).1, &device, engine, depth);
    let (slat, clat, lat) = (of("slat_ns/mean"), of("clat_ns/mean"), of("lat_ns/mean"));
    for (who, sum, lat) in [
        ("fathom", slat.0 + clat.0, lat.0),
        ("fio", slat.1 + clat.1, lat.1),
    ] {
        // A synchronous engine of fio has no slat, and its lat includes the time before the call.
        let rest = lat - sum;
        let exact = !SYNCHRONOUS.contains(&engine);
        if exact && rest.abs() > 1.0 || !(-1.0..10_000.0).contains(&rest) {
            return Err(format!(
                "{who} {engine} {depth}: lat {lat}, slat and clat {sum}"
            ));
        }
    }
    if (slat.0 == 0.0) != (slat.1 == 0.0) {
        return Err(format!("{engine} {depth}: slat {slat:?}"));
    }
    // From the submission to the completion no I/O is faster than the device. posixaio of fio does one I/O per file
    // at a time, so that its shortest latency is longer.
    let shortest = of("lat_ns/min");
    let device_ns = (DEVICE_US * 1000) as f64;
    if shortest.0 < device_ns
        || shortest.1 < device_ns
        || shortest.0 > (device_ns * 1.4).max(shortest.1)
    {
        return Err(format!("{engine} {depth}: shortest latency {shortest:?}"));
    }
    Ok(())
}

/// Regression 0521: above depth 1 the response to a write ended at its completion, without the flush that commits it. A write
/// takes 2 ms here and a flush 5 ms. A flush covers the writes that had completed before it was submitted, so that a commit
/// takes at least 7 ms, and the whole of the write and of the flush after it.
fn a_commit_is_a_write_and_its_flush_at_every_depth() -> Result<(), String> {
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
    let (engine, depth, sync) = next_case(&[
        ("psync", 1, "fdatasync"),
        ("io_uring", 4, "fdatasync"),
        ("libaio", 8, "fsync"),
    ]);
    let line = format!(
        "run --name=x --rw=randwrite --bs=4k --size=16m --direct=1 --ioengine={engine} --iodepth={depth} --{sync}=1 \
         --norandommap --time_based --runtime=200ms --output-format=json"
    );
    let mut command = program(split_args(&line));
    command.arg(filename_arg(&device.path()));
    command.arg(format!("--destroy={}", common::device_code(&device.path())));
    let ran = start(command).finish();
    let json = ran.json();
    let of = |name: &str| json.number(&format!("/fathom/entries/0/write/response_ns/{name}")) / 1e6;
    let (least, longest) = (of("min"), of("max"));
    assert!(least >= 7.0, "{engine} at depth {depth}: {least} ms");
    // After a write at most one other completion passes until the next flush of the queue is submitted.
    let write = json.number("/jobs/0/write/clat_ns/max") / 1e6;
    let flush = json.number("/jobs/0/sync/lat_ns/max") / 1e6;
    let most = write + 2.0 * write.max(flush) + 10.0;
    if longest > most {
        return Err(format!("{engine} at depth {depth}: {longest} ms of {most}"));
    }
    let (writes, commits) = (json.number("/jobs/0/write/total_ios"), of("N") * 1e6);
    assert!(
        commits > 0.0 && commits <= writes && commits + 2.0 * f64::from(depth) >= writes,
        "{engine} at depth {depth}: {commits} commits of {writes} writes"
    );
    Ok(())
}
