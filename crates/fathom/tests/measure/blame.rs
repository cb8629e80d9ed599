//! `--blame`: time that passes at one known place is blamed on the right phase. The place is a stopped load generator, a
//! limit of a control group, the queue of a scheduler, a slow device, or a busy CPU.

use crate::common;
use crate::common::{Json, fathom, filename_arg, program, split_args, start};
use crate::scene::{Scene, next_case};
use fathom_testkit::Need;
use fathom_testkit::{
    DeviceOptions, FaultDevice, Latency, Limit, LoopDevice, LoopOptions, Scratch, Throttle,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

pub const SCENES: &[Scene] = &[
    Scene::check(
        "time in a slow device is blamed on the device",
        &[Need::Root, Need::Fuse, Need::Loop],
        time_in_a_slow_device_is_blamed_on_the_device,
    ),
    Scene::check(
        "time under a limit is blamed on the submission",
        &[Need::Root, Need::Loop, Need::BlkioV1],
        time_under_a_limit_of_a_control_group_is_blamed_on_the_way_to_the_block_layer,
    ),
    Scene::check(
        "I/Os beyond the tags wait in the scheduler",
        &[Need::Root, Need::Fuse, Need::Loop, Need::IoUring],
        ios_beyond_the_tags_of_the_device_wait_in_the_scheduler,
    ),
    Scene::check(
        "time of a stopped generator is blamed on it",
        &[Need::Root, Need::Loop],
        time_of_a_stopped_generator_is_blamed_on_the_generator,
    ),
    Scene::check(
        "completions that nobody looked at",
        &[Need::Root, Need::Fuse, Need::Loop],
        completions_that_nobody_looked_at_are_blamed_on_reaping,
    ),
    Scene::check(
        "a worker behind a busy process reaps late",
        &[Need::Root, Need::Fuse, Need::Loop],
        a_worker_behind_a_busy_process_reaps_late,
    ),
    Scene::check(
        "direct I/Os on the disk are joined",
        &[Need::Root, Need::IoUring],
        direct_ios_on_the_disk_are_joined,
    ),
];

const ASYNCHRONOUS: [&str; 2] = ["libaio", "io_uring"];

const ENGINES: [&str; 3] = ["psync", "libaio", "io_uring"];

const PHASES: [&str; 6] = [
    "generator",
    "submission",
    "block_layer",
    "scheduler",
    "device",
    "reaping",
];

/// How exactly a delay must be blamed on its phase.
const TOLERANCE: f64 = 0.02;

/// A loop device on a fault device with this latency of its reads.
fn slow_device(read_us: u64) -> (LoopDevice, FaultDevice) {
    let fault = FaultDevice::mount(DeviceOptions {
        latency: Latency {
            read_us,
            ..Latency::default()
        },
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    let device = LoopDevice::attach(&fault.path(), LoopOptions::default()).expect("a loop device");
    (device, fault)
}

/// A loop device on a sparse file.
fn plain_device(scratch: &Scratch) -> LoopDevice {
    LoopDevice::create(&scratch.join("image"), 256 << 20, LoopOptions::default())
        .expect("a loop device")
}

fn arguments(target: &Path, options: &str) -> Vec<String> {
    let mut arguments = split_args(&format!(
        "run --json --blame --name=job --rw=randread --bs=4k --direct=1 {options}"
    ));
    arguments.push(filename_arg(target));
    arguments
}

/// The sheet of the whole load.
fn sheet(result: &Json) -> &Value {
    result
        .0
        .pointer("/fathom/blame/groups/0")
        .unwrap_or_else(|| panic!("no blame sheet in {:#}", result.0))
}

fn number(value: &Value, name: &str) -> u64 {
    value[name]
        .as_u64()
        .unwrap_or_else(|| panic!("no number {name} in {value:#}"))
}

fn phase(of: &Value, name: &str) -> u64 {
    number(&of["phases_ns"], name)
}

fn sum(of: &Value) -> u64 {
    PHASES.iter().map(|name| phase(of, name)).sum()
}

fn row<'a>(sheet: &'a Value, rank: &str) -> &'a Value {
    sheet["rows"]
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["rank"] == rank))
        .unwrap_or_else(|| panic!("no row {rank} in {sheet:#}"))
}

fn share(of: &Value, names: &[&str]) -> f64 {
    let part: u64 = names.iter().map(|name| phase(of, name)).sum();
    part as f64 / sum(of).max(1) as f64
}

fn slowest(sheet: &Value) -> &Value {
    &sheet["slowest_ios"][0]
}

/// Checks what holds for every sheet: the phases of each I/O and of all I/Os add up to the response time to the
/// nanosecond, and every I/O of the job is joined or counted as not joined. Returns the share of joined I/Os.
fn assert_sums(result: &Json) -> f64 {
    let sheet = sheet(result);
    let mean = row(sheet, "mean");
    assert_eq!(sum(mean), number(sheet, "response_ns"), "{sheet:#}");
    assert_eq!(number(mean, "ios"), number(sheet, "joined"));
    for row in sheet["rows"].as_array().expect("rows") {
        assert_eq!(sum(row), number(row, "response_ns"), "{row:#}");
    }
    let ios = sheet["slowest_ios"].as_array().expect("a list");
    assert!(!ios.is_empty());
    for io in ios {
        assert_eq!(
            sum(io),
            number(io, "reaped_ns") - number(io, "due_ns"),
            "{io:#}"
        );
    }
    let joined = number(sheet, "joined");
    let unjoined: u64 = sheet["unjoined"]
        .as_object()
        .expect("reasons")
        .values()
        .filter_map(Value::as_u64)
        .sum();
    let total = result.number("/jobs/0/read/total_ios") as u64;
    assert_eq!(joined + unjoined, total, "{sheet:#}");
    joined as f64 / total.max(1) as f64
}

fn check_joined(result: &Json) -> Result<(), String> {
    let joined = assert_sums(result);
    if joined >= 0.999 {
        Ok(())
    } else {
        Err(format!("{joined}: {:#}", sheet(result)["unjoined"]))
    }
}

/// Whether a share is this one within the tolerance.
fn check_share(what: &str, of: &Value, names: &[&str], expected: f64) -> Result<(), String> {
    let share = share(of, names);
    if (share - expected).abs() <= TOLERANCE {
        Ok(())
    } else {
        Err(format!(
            "{what}: {share} of the time in {names:?} instead of {expected}: {of:#}"
        ))
    }
}

/// Runs a load that is stopped for some time in its middle. Returns the result and how long it was stopped.
fn stopped_load(target: &Path, options: &str, stop: Duration) -> (Json, Duration) {
    let running = start(program(arguments(target, options)));
    std::thread::sleep(Duration::from_millis(1_200));
    running.signal(Signal::STOP);
    let begun = Instant::now();
    std::thread::sleep(stop);
    let stopped = begun.elapsed();
    running.signal(Signal::CONT);
    (running.finish().json(), stopped)
}

/// Six cases: a device that takes 20 or 40 ms, read by three engines. A wake-up on a busy host takes 0.1 ms and more: of a shorter
/// time that would be more than the tolerance.
fn time_in_a_slow_device_is_blamed_on_the_device() -> Result<(), String> {
    let cases = [20_000, 40_000].map(|read_us| ENGINES.map(|engine| (read_us, engine)));
    let (read_us, engine) = next_case(cases.as_flattened());
    let (device, _fault) = slow_device(read_us);
    let options = format!("--ioengine={engine} --iodepth=1 --runtime=2 --time_based");
    let result = fathom(arguments(device.path(), &options)).expect(0).json();
    check_joined(&result)?;
    let mean = row(sheet(&result), "mean");
    let at_least = (read_us * 1_000) as f64;
    let each = phase(mean, "device") as f64 / number(mean, "ios") as f64;
    if each < at_least {
        return Err(format!("{each} ns in a device of {at_least} ns"));
    }
    check_share(engine, mean, &["device"], 1.0)
}

/// Three cases: a control group lets 50 reads a second pass.
fn time_under_a_limit_of_a_control_group_is_blamed_on_the_way_to_the_block_layer()
-> Result<(), String> {
    let scratch = Scratch::new().expect("a folder");
    let device = plain_device(&scratch);
    let throttle = Throttle::new().expect("a group");
    throttle
        .limit(device.path(), Limit::ReadIops(50))
        .expect("a limit");
    let engine = next_case(&ENGINES);
    let options = format!("--ioengine={engine} --iodepth=4 --runtime=3 --time_based");
    let mut command = throttle.command(common::FATHOM);
    command
        .args(arguments(device.path(), &options))
        .env("FATHOM_STORE", "none");
    let result = start(command).finish().json();
    check_joined(&result)?;
    check_share(engine, row(sheet(&result), "mean"), &["submission"], 1.0)
}

/// Four cases: more I/Os than the device has tags wait in the scheduler. By Little's law the time in a place is proportional
/// to the number of I/Os there, whatever the speed of the device.
fn ios_beyond_the_tags_of_the_device_wait_in_the_scheduler() -> Result<(), String> {
    let tags: f64 = std::fs::read_to_string("/sys/module/loop/parameters/hw_queue_depth")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(128.0);
    let (device, _fault) = slow_device(10_000);
    let Ok(_setting) = device.set_queue("scheduler", "mq-deadline") else {
        return Err("needs the scheduler mq-deadline".to_string());
    };
    let cases = ASYNCHRONOUS.map(|engine| [192.0, 240.0].map(|depth| (engine, depth)));
    let (engine, depth) = next_case(cases.as_flattened());
    let options = format!(
        "--ioengine={engine} --iodepth={depth} --iodepth_batch_complete_max=1 \
         --runtime=4 --ramp_time=1 --time_based"
    );
    let result = fathom(arguments(device.path(), &options)).json();
    assert_sums(&result);
    let mean = row(sheet(&result), "mean");
    let expected = (depth - tags) / depth;
    check_share(&format!("{engine} {depth}"), mean, &["scheduler"], expected)?;
    result.expect_finding("SCHEDULER_WAIT");
    Ok(())
}

/// Three cases: the load generator does not run while I/Os become due.
fn time_of_a_stopped_generator_is_blamed_on_the_generator() -> Result<(), String> {
    let scratch = Scratch::new().expect("a folder");
    let device = plain_device(&scratch);
    let engine = next_case(&ENGINES);
    let options =
        format!("--ioengine={engine} --iodepth=8 --rate_iops=200 --runtime=3 --time_based");
    let (result, stopped) = stopped_load(device.path(), &options, Duration::from_millis(600));
    check_joined(&result)?;
    let tail = row(sheet(&result), "slowest_1_percent");
    check_share(engine, tail, &["generator"], 1.0)?;
    // The slowest I/O was due within an interval of 5 ms after the stop.
    let waited = phase(slowest(sheet(&result)), "generator") as f64;
    let expected = stopped.as_secs_f64() * 1e9;
    if (waited - expected).abs() <= 0.02 * expected {
        Ok(())
    } else {
        Err(format!(
            "{engine}: {waited} ns of {expected} ns: {:#}",
            slowest(sheet(&result))
        ))
    }
}

/// Three cases: the load generator does not run while the device completes the I/Os in flight.
fn completions_that_nobody_looked_at_are_blamed_on_reaping() -> Result<(), String> {
    let (device, _fault) = slow_device(4_000);
    let engine = next_case(&ENGINES);
    let options = format!("--ioengine={engine} --iodepth=8 --runtime=3 --time_based");
    let (result, stopped) = stopped_load(device.path(), &options, Duration::from_millis(600));
    check_joined(&result)?;
    let io = slowest(sheet(&result));
    // It was in the device for some milliseconds of the stop at most.
    let expected = stopped.as_secs_f64() * 1e9;
    let reaping = phase(io, "reaping") as f64;
    if (reaping - expected).abs() <= 0.02 * expected {
        Ok(())
    } else {
        Err(format!("{engine}: {reaping} ns of {expected} ns: {io:#}"))
    }
}

/// The worker shares its CPU with a process that the scheduler prefers.
fn a_worker_behind_a_busy_process_reaps_late() -> Result<(), String> {
    let (device, _fault) = slow_device(4_000);
    let options = "--ioengine=libaio --iodepth=4 --runtime=3 --time_based --cpus_allowed=0";
    // 100 ms busy, 100 ms idle, before everything else on CPU 0.
    let script = "import time\nwhile True:\n t=time.monotonic()+0.1\n while time.monotonic()<t: pass\n time.sleep(0.1)";
    let mut busy = Command::new("chrt")
        .args([
            "--fifo", "50", "taskset", "-c", "0", "python3", "-c", script,
        ])
        .spawn()
        .map_err(|error| error.to_string())?;
    let result = fathom(arguments(device.path(), options)).json();
    let _ = busy.kill();
    let _ = busy.wait();
    check_joined(&result)?;
    let io = slowest(sheet(&result));
    // The process holds the CPU for 100 ms, of which the I/O is in the device for some 4 ms.
    let reaping = phase(io, "reaping") as f64;
    if !(90e6..=130e6).contains(&reaping) {
        return Err(format!("{io:#}"));
    }
    check_share("busy CPU", io, &["reaping", "device"], 1.0)
}

/// Each I/O of a fast load on this machine's disk is joined.
fn direct_ios_on_the_disk_are_joined() -> Result<(), String> {
    let scratch = Scratch::below(Path::new("/var/tmp")).expect("a folder");
    let file = scratch.join("data");
    let result = fathom(arguments(
        &file,
        "--ioengine=io_uring --iodepth=32 --size=512m --runtime=2 --time_based",
    ))
    .json();
    check_joined(&result)?;
    // Where the load has I/Os in the device, so have they phases there.
    let mean = row(sheet(&result), "mean");
    assert!(phase(mean, "device") > 0, "{mean:#}");
    Ok(())
}
