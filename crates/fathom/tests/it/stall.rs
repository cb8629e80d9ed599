//! A stalled generator is reported: response times count from the planned start.

use crate::common;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{Json, Running, filename_arg, program, split_args, start};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Latency, Op, require, skip};
use rustix::process::Signal;

/// 200 I/Os per second for two seconds and a half.
const LOAD: &str = "run --name=x --rw=randread --bs=4k --size=32m --direct=1 --rate_iops=200 --norandommap --time_based \
                    --runtime=2500ms --output-format=json";

fn device() -> FaultDevice {
    let latency = Latency {
        read_us: 0,
        ..Latency::default()
    };
    FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device")
}

fn load(device: &FaultDevice, engine: &str) -> Running {
    let mut command = program(split_args(LOAD));
    command
        .arg(filename_arg(&device.path()))
        .args(split_args(engine));
    let running = start(command);
    common::wait_until("the load started", || device.log().len() > 100);
    running
}

/// The number of slow responses in the finding: `180 responses took more than 100 ms`.
fn slow_responses(evidence: &str) -> f64 {
    let (before, _) = evidence
        .split_once(" responses took more than 100 ms")
        .unwrap_or_else(|| panic!("{evidence}"));
    let figure = before
        .rsplit(' ')
        .next()
        .expect("a figure")
        .replace(',', "");
    figure.parse().unwrap_or_else(|_| panic!("{evidence}"))
}

/// At least a second without the generator at 200 per second: of the I/Os due in it, those of its first 0.9 s took longer than 100 ms,
/// which is more than one in a hundred. A busy machine makes it longer, and so more of them.
fn check_one_second_stall(json: &Json) {
    let evidence = json.expect_finding("GENERATOR_STALL");
    assert!(slow_responses(evidence) >= 179.0, "{evidence}");
    let longest = json.number("/fathom/entries/0/read/response_ns/max");
    // The next I/O was due within 5 ms of the stop.
    assert!(longest >= 0.995e9, "{longest}");
    assert_eq!(json.verdict(), "invalid");
}

#[test]
fn a_second_of_sigstop_is_detected() {
    require!(Fuse);
    for engine in [
        "--ioengine=psync",
        "--ioengine=libaio --iodepth=16",
        "--ioengine=io_uring --iodepth=16",
    ] {
        let device = device();
        let running = load(&device, engine);
        running.signal(Signal::STOP);
        std::thread::sleep(Duration::from_secs(1));
        running.signal(Signal::CONT);
        check_one_second_stall(&running.finish().expect(1).json());
    }
}

/// A control group of the freezer hierarchy, thawed and removed when dropped.
struct Freezer(PathBuf);

impl Freezer {
    fn new() -> Option<Freezer> {
        let path = Path::new("/sys/fs/cgroup/freezer")
            .join(format!("fathom-stall-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let group = Freezer(path);
        group.0.join("freezer.state").exists().then_some(group)
    }

    fn set(&self, state: &str) {
        std::fs::write(self.0.join("freezer.state"), state).expect("the freezer state");
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0.join("freezer.state"), "THAWED");
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_second_in_the_cgroup_freezer_is_detected() {
    require!(Root, Fuse);
    let Some(freezer) = Freezer::new() else {
        return skip("needs the freezer of cgroup version 1");
    };
    let device = device();
    let running = load(&device, "--ioengine=psync");
    std::fs::write(freezer.0.join("cgroup.procs"), running.id().to_string())
        .expect("joins the group");
    freezer.set("FROZEN");
    std::thread::sleep(Duration::from_secs(1));
    freezer.set("THAWED");
    check_one_second_stall(&running.finish().expect(1).json());
}

/// Regression 0318: a target that answered nothing for seconds, also beyond the runtime, left a valid result of a closed loop.
#[test]
fn a_stalled_target_that_lengthens_a_run_is_a_finding() {
    fathom_testkit::require!(Fuse);
    for engine in ["psync", "libaio --iodepth=4"] {
        let device = fathom_testkit::FaultDevice::mount(fathom_testkit::DeviceOptions::default())
            .expect("a fault device");
        let line = format!(
            "run --name=x --rw=randread --bs=4k --size=16m --direct=1 --norandommap --time_based --runtime=1 --ioengine={engine} --output-format=json"
        );
        let mut command = common::program(common::split_args(&line));
        command.arg(common::filename_arg(&device.path()));
        let running = common::start(command);
        common::wait_until("the load started", || device.log().len() > 100);
        device.inject(fathom_testkit::Fault::Hang(None));
        std::thread::sleep(std::time::Duration::from_secs(3));
        device.clear_faults();
        let json = running.finish().json();
        let evidence = json.expect_finding("TARGET_STALLED").to_owned();
        assert!(evidence.contains("Nothing completed for"), "{evidence}");
        assert!(
            evidence.contains("after its runtime"),
            "{engine}: {evidence}"
        );
        assert_ne!(json.verdict(), "valid", "{engine}");
    }
}

/// Nothing completes for 0.7 s, which is too short for a whole interval. `cargo xtask measure` compares the exact span with the log of
/// the device.
#[test]
fn a_short_outage_of_the_target_is_a_finding() {
    require!(Fuse);
    for (engine, log_op) in [
        ("--rw=randread --ioengine=psync", Op::Read),
        ("--rw=randread --ioengine=io_uring --iodepth=16", Op::Read),
        ("--rw=randwrite --verify=crc32c --ioengine=psync", Op::Write),
        (
            "--rw=randwrite --verify=md5 --verify_backlog=64 --ioengine=libaio --iodepth=4",
            Op::Write,
        ),
    ] {
        let device = device();
        device.set_latency(Latency {
            read_us: 1000,
            write_us: 1000,
            ..Latency::default()
        });
        let mut command = program(split_args(
            "run --name=x --bs=4k --size=32m --direct=1 --norandommap --time_based --runtime=2 --output-format=json",
        ));
        command
            .arg(filename_arg(&device.path()))
            .args(split_args(engine));
        if log_op == Op::Write {
            command.arg(format!("--destroy={}", common::device_code(&device.path())));
        }
        let running = start(command);
        // The inspection of a target that is written also reads.
        let begun = || device.log().iter().filter(|one| one.op == log_op).count();
        common::wait_until("the load started", || begun() > 200);
        device.inject(Fault::Hang(None));
        std::thread::sleep(Duration::from_millis(700));
        device.clear_faults();
        device.release();
        let json = running.finish().json();
        // How long it was, a machine that is busy makes shorter or longer; the simulated one below has the exact time.
        json.expect_finding("TARGET_STALLED");
    }
}
