//! `--blame`: time that passes at one known place is blamed on the right phase. The place is a stopped load generator, a
//! limit of a control group, the queue of a scheduler, a slow device, or a busy CPU.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{Json, fathom, filename_arg, program, split_args, start};
use fathom_testkit::{
    DeviceOptions, FaultDevice, Latency, LoopDevice, LoopOptions, Scratch, require,
};
use rustix::process::Signal;
use serde_json::Value;

const ENGINES: [&str; 3] = ["psync", "libaio", "io_uring"];
const PHASES: [&str; 6] = [
    "generator",
    "submission",
    "block_layer",
    "scheduler",
    "device",
    "reaping",
];

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

/// Checks what holds for every sheet: the phases of each I/O and of all I/Os add up to the response time to the
/// nanosecond, and every I/O of the job is joined or counted as not joined. Returns the share of joined I/Os.
fn assert_sums(result: &Json) -> f64 {
    let sheet = sheet(result);
    let mean = row(sheet, "mean");
    assert_eq!(sum(mean), number(sheet, "response_ns"), "{sheet:#}");
    assert_eq!(number(mean, "ios"), number(sheet, "joined"));
    for row in sheet["rows"].as_array().expect("rows") {
        assert_eq!(sum(row), number(row, "response_ns"), "{row:#}");
        // From the entry into the block layer to the completion by the device.
        let inside = ["block_layer", "scheduler", "device"].map(|name| phase(row, name));
        let inside: u64 = inside.iter().sum();
        assert_eq!(inside, number(row, "in_block_layer_ns"), "{row:#}");
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

fn tracing_works() -> bool {
    let works = fathom_trace::Tracefs::open().is_ok();
    if !works {
        fathom_testkit::skip("needs tracefs");
    }
    works
}

/// Three engines on a device that takes 20 ms: every I/O is joined, and of each at least 20 ms are blamed on the device. That the rest is
/// blamed on nothing else, `cargo xtask measure` shows.
#[test]
fn time_in_a_slow_device_is_blamed_on_the_device() {
    require!(Root, Fuse, Loop);
    if !tracing_works() {
        return;
    }
    let (device, _fault) = slow_device(20_000);
    for engine in ENGINES {
        let options = format!("--ioengine={engine} --iodepth=1 --number_ios=40");
        let result = fathom(arguments(device.path(), &options))
            .expect_measured()
            .json();
        assert_eq!(assert_sums(&result), 1.0, "{engine}");
        let mean = row(sheet(&result), "mean");
        assert_eq!(number(mean, "ios"), 40, "{engine}");
        assert!(
            phase(mean, "device") >= 40 * 20_000_000,
            "{engine}: {mean:#}"
        );
    }
}

/// The load generator does not run for 0.6 s while an I/O every 5 ms becomes due, and while the device completes those in flight.
#[test]
fn time_of_a_stopped_generator_is_in_its_sheet() {
    require!(Root, Fuse, Loop);
    if !tracing_works() {
        return;
    }
    let (device, fault) = slow_device(4_000);
    for (engine, load) in [
        ("psync", "--rate_iops=200"),
        ("io_uring", "--iodepth=8 --rate_iops=200"),
        ("libaio", "--iodepth=8"),
    ] {
        let options = format!("--ioengine={engine} {load} --runtime=2 --time_based");
        let before = fault.log().len();
        let running = start(program(arguments(device.path(), &options)));
        let running = running.wait_until("the load runs", || fault.log().len() > before + 100);
        running.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(600));
        running.signal(Signal::CONT);
        let result = running.finish().json();
        assert_sums(&result);
        let io = &sheet(&result)["slowest_ios"][0];
        // An I/O that was due during the stop waited before its submission, one in flight after its completion: never in the device.
        let stopped = phase(io, "generator") + phase(io, "reaping");
        assert!(stopped >= 580_000_000, "{engine}: {io:#}");
    }
}

/// Another process that writes to the device is named, with what it writes.
#[test]
fn another_process_in_the_device_is_named() {
    require!(Root, Loop);
    if !tracing_works() {
        return;
    }
    let scratch = Scratch::new().expect("a folder");
    let device = plain_device(&scratch);
    let line = format!(
        "while :; do dd if=/dev/zero of={} bs=1M count=200 oflag=direct conv=notrunc status=none; done",
        device.path().display()
    );
    let mut writer = Command::new("sh")
        .args(["-c", &line])
        .process_group(0)
        .spawn()
        .expect("a shell");
    let result = fathom(arguments(
        device.path(),
        "--ioengine=libaio --iodepth=2 --runtime=2 --time_based",
    ))
    .json();
    let group = rustix::process::Pid::from_child(&writer);
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let _ = writer.wait();
    assert_sums(&result);
    let others = result
        .0
        .pointer("/fathom/blame/others")
        .and_then(Value::as_array)
        .expect("others");
    let dd = others
        .iter()
        .find(|other| other["name"] == "dd")
        .unwrap_or_else(|| panic!("dd is not in {others:#?}"));
    assert_eq!(number(dd, "reads"), 0);
    let size = number(dd, "written_bytes") / number(dd, "writes");
    assert_eq!(size, 1 << 20, "{dd:#}");
}

/// Buffered I/Os are counted and not guessed.
#[test]
fn buffered_ios_are_not_joined() {
    require!(Root);
    if !tracing_works() {
        return;
    }
    let scratch = Scratch::below(Path::new("/var/tmp")).expect("a folder");
    let mut arguments = split_args(
        "run --json --blame --name=job --rw=read --bs=64k --size=8m --ioengine=psync --direct=0",
    );
    arguments.push(filename_arg(&scratch.join("data")));
    let result = fathom(arguments).json();
    let sheet = sheet(&result);
    assert_eq!(number(sheet, "joined"), 0);
    assert_eq!(number(&sheet["unjoined"], "buffered"), 128);
}

/// Each cell of a sweep has a sheet, with the clock of the command as it is, and the chart shows them.
///
/// Regression 0801: cells of a sweep had no blame sheet unless the user chose another clock.
#[test]
fn cells_of_a_sweep_have_sheets() {
    require!(Root, Loop);
    if !tracing_works() {
        return;
    }
    let scratch = Scratch::new().expect("a folder");
    let device = plain_device(&scratch);
    let job = scratch.join("job.fio");
    let options = format!(
        "[job]\nfilename={}\nrw=randread\nbs=4k\ndirect=1\nioengine=libaio\nblame=1\ntime_based\nruntime=1\n",
        device.path().display()
    );
    std::fs::write(&job, options).expect("a job file");
    let job = job.to_str().expect("a path");
    let store = format!("--store={}", scratch.join("store").display());
    let swept = fathom(["sweep", job, "--axis=iodepth=1,8", &store]);
    assert_eq!(swept.code(), 0, "{}{}", swept.out, swept.err);
    let chart = scratch.join("blame.csv");
    let chart = chart.to_str().expect("a path");
    fathom(["plot", "r1", "--chart=blame", &store, "-o", chart]).expect(0);
    let table = std::fs::read_to_string(chart).expect("a table");
    for text in ["depth 1", "depth 8", "device"] {
        assert!(table.contains(text), "{text}: {table}");
    }
}

/// `fathom fio` does not know the option, and a job file of `fathom run` does.
#[test]
fn only_fathom_run_knows_the_option() {
    let scratch = Scratch::new().expect("a folder");
    let job = scratch.join("blame.fio");
    std::fs::write(&job, "[job]\nioengine=null\nrw=read\nsize=64k\nblame=1\n").expect("a job file");
    let job = job.to_str().expect("a path");
    fathom(["run", "--parse-only", job]).expect(0);
    let refused = fathom(["fio", "--parse-only", job]).expect(1);
    assert!(
        refused.err.contains("unknown option 'blame'"),
        "{}",
        refused.err
    );
    let refused = fathom(["fio", "--blame", "--parse-only", job]).expect(1);
    assert!(refused.err.contains("--blame"), "{}", refused.err);
}

/// Regression 1472: on a simulated machine `--blame` had no effect, and nothing said so.
#[test]
fn a_simulated_machine_says_that_it_has_no_sheet() {
    let ran = fathom(arguments(
        Path::new("/dev/x"),
        "--no-store --size=1m --machine=servers(service=1ms)",
    ));
    let ran = ran.expect(0);
    assert!(ran.json().0["fathom"]["blame"].is_null(), "{}", ran.out);
    assert!(
        ran.out.contains("no blame sheet: a simulated machine"),
        "{}",
        ran.out
    );
}
