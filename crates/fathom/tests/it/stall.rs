//! A stalled generator is reported: response times count from the planned start.

use crate::common;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{
    Json, Running, check_near, filename_arg, lock_machine_exclusive, program, retry_measurement,
    retry_on_busy_machine, split_args, start,
};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Latency, require, skip};
use rustix::process::Signal;

/// 200 I/Os per second for five seconds: 1000 planned.
const LOAD: &str = "run --name=x --rw=randread --bs=4k --size=32m --direct=1 --rate_iops=200 --norandommap --time_based \
                    --runtime=5 --output-format=json --percentile_list=81.1:82.9:99.9";

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

/// One second without the generator at 200 per second: the 180 I/Os due in its first 0.9 s took
/// longer than 100 ms.
fn check_one_second_stall(json: &Json) -> Result<(), String> {
    let evidence = json
        .finding("GENERATOR_STALL")
        .ok_or("no finding GENERATOR_STALL")?;
    check_near(
        "responses above 100 ms",
        slow_responses(evidence),
        180.0,
        9.0,
    )?;
    let response = "/fathom/entries/0/read/response_ns";
    check_near(
        "longest response, s",
        json.number(&format!("{response}/max")) / 1e9,
        1.0,
        0.05,
    )?;
    let at = |percent: f64| json.number(&format!("{response}/percentile/{percent:.6}"));
    if json.count("ok_ios") == 1000 && !(at(81.1) < 1e8 && at(82.9) > 1e8) {
        return Err(format!(
            "p81.1 {} and p82.9 {} do not enclose 100 ms",
            at(81.1),
            at(82.9)
        ));
    }
    let service = json.number("/jobs/0/read/clat_ns/max");
    let p99 = json.number("/jobs/0/read/clat_ns/percentile/82.900000");
    // One I/O may have been in flight while the process was stopped; the others have the latency of
    // the device.
    if p99 > 20e6 || service > 1.1e9 {
        return Err(format!(
            "the service latency is that of the device: p82.9 {p99} ns, max {service} ns"
        ));
    }
    assert_ne!(json.verdict(), "valid");
    Ok(())
}

#[test]
fn a_second_of_sigstop_is_detected() {
    require!(Fuse);
    common::raise_priority();
    let _lock = lock_machine_exclusive();
    for engine in [
        "--ioengine=psync",
        "--ioengine=libaio --iodepth=16",
        "--ioengine=io_uring --iodepth=16",
    ] {
        retry_measurement(|| {
            let device = device();
            let running = load(&device, engine);
            running.signal(Signal::STOP);
            std::thread::sleep(Duration::from_secs(1));
            running.signal(Signal::CONT);
            // The stall affects more than one in a hundred responses: the run is invalid.
            let json = running.finish().expect(1).json();
            check_one_second_stall(&json).map_err(|error| format!("{engine}: {error}"))
        });
    }
}

/// Regression 0361: stops of 20 to 100 ms were not reported, or reported as a queue depth that was
/// too small.
#[test]
fn a_short_sigstop_is_detected() {
    require!(Fuse);
    common::raise_priority();
    let _lock = lock_machine_exclusive();
    for (rate, stopped_ms) in [(500, 50), (500, 90), (2_000, 20)] {
        retry_on_busy_machine(|| check_short_stop(rate, stopped_ms));
    }
}

/// A stop of this length in a load of this rate: the only finding of late I/Os is the stall.
fn check_short_stop(rate: u64, stopped_ms: u64) -> Result<(), String> {
    let device = device();
    let mut command = program(split_args(
        "run --name=x --rw=randread --bs=4k --size=32m --direct=1 --norandommap --time_based --runtime=4 \
         --ioengine=psync --output-format=json",
    ));
    command
        .arg(filename_arg(&device.path()))
        .arg(format!("--rate_iops={rate}"));
    let running = start(command);
    common::wait_until("the load started", || device.log().len() > 100);
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(stopped_ms));
    running.signal(Signal::CONT);
    let json = running.finish().json();
    let evidence = json.expect_finding("GENERATOR_STALL");
    assert!(json.finding("LATE_ISSUE").is_none(), "{evidence}");
    assert_ne!(json.verdict(), "valid");
    let longest = json.0["fathom"]["stalls"]
        .as_array()
        .expect("stalls")
        .iter()
        .filter_map(|stall| stall["lasted_ns"].as_f64())
        .fold(0.0, f64::max);
    // The watchdog sleeps for 5 ms.
    assert!(
        longest >= (stopped_ms - 6) as f64 * 1e6,
        "{longest}: {evidence}"
    );
    Ok(())
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
    common::raise_priority();
    let _lock = lock_machine_exclusive();
    let Some(freezer) = Freezer::new() else {
        return skip("needs the freezer of cgroup version 1");
    };
    retry_measurement(|| {
        let device = device();
        let running = load(&device, "--ioengine=psync");
        std::fs::write(freezer.0.join("cgroup.procs"), running.id().to_string())
            .expect("joins the group");
        freezer.set("FROZEN");
        std::thread::sleep(Duration::from_secs(1));
        freezer.set("THAWED");
        check_one_second_stall(&running.finish().expect(1).json())
    });
}

#[test]
fn an_undisturbed_run_reports_no_stall() {
    require!(Fuse);
    common::raise_priority();
    let _lock = lock_machine_exclusive();
    retry_measurement(|| {
        let device = device();
        let json = load(&device, "--ioengine=psync")
            .finish()
            .expect_done()
            .json();
        for code in [
            "GENERATOR_STALL",
            "RATE_NOT_REACHED",
            "TIMED_OUT",
            "IO_ERROR",
            "SHORT_IO",
        ] {
            if let Some(evidence) = json.finding(code) {
                return Err(format!("{code}: {evidence}"));
            }
        }
        check_near("planned", json.count("planned_ios") as f64, 1000.0, 1.0)?;
        let longest = json.number("/fathom/entries/0/read/response_ns/max");
        if longest < 1e8 {
            Ok(())
        } else {
            Err(format!("longest response {longest} ns"))
        }
    });
}

/// Regression 0318: a target that answered nothing for seconds, also beyond the runtime, left a valid result of a closed loop.
#[test]
fn a_stalled_target_that_lengthens_a_run_is_a_finding() {
    fathom_testkit::require!(Fuse);
    let _lock = common::lock_machine_shared();
    for engine in ["psync", "libaio --iodepth=4"] {
        let device = fathom_testkit::FaultDevice::mount(fathom_testkit::DeviceOptions::default())
            .expect("a fault device");
        let line = format!(
            "run --name=x --rw=randread --bs=4k --size=16m --direct=1 --norandommap --time_based --runtime=3 --ioengine={engine} --output-format=json"
        );
        let mut command = common::program(common::split_args(&line));
        command.arg(common::filename_arg(&device.path()));
        let running = common::start(command);
        common::wait_until("the load started", || device.log().len() > 500);
        std::thread::sleep(std::time::Duration::from_millis(1000));
        device.inject(fathom_testkit::Fault::Hang(None));
        std::thread::sleep(std::time::Duration::from_secs(5));
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

/// Regression 0431: an outage of 0.7 s in a closed loop was not reported as a stall of the target, and a longer one was dated by whole intervals.
/// The device's own log has its exact span.
#[test]
fn an_outage_of_the_target_is_dated_exactly() {
    require!(Fuse);
    let _lock = lock_machine_exclusive();
    check_outage_of(&[
        "--rw=randread --ioengine=psync",
        "--rw=randread --ioengine=io_uring --iodepth=16",
        "--rw=randread --ioengine=psync --numjobs=3 --group_reporting",
    ]);
}

/// Regression 0554: an outage in a job with verify was dated by whole intervals, and below a second it was not reported as a stall.
#[test]
fn an_outage_in_a_job_with_verify_is_dated_exactly() {
    require!(Fuse);
    let _lock = lock_machine_exclusive();
    check_outage_of(&[
        "--rw=randwrite --verify=crc32c --ioengine=psync",
        "--rw=randrw --verify=fathom --ioengine=io_uring --iodepth=16",
        "--rw=randwrite --verify=md5 --verify_backlog=64 --ioengine=libaio --iodepth=4",
    ]);
}

/// Runs each load on a device that answers nothing for 0.7 s, and compares the finding with the log of the device.
fn check_outage_of(loads: &[&str]) {
    for engine in loads {
        retry_measurement(|| {
            let device = FaultDevice::mount(DeviceOptions {
                latency: Latency {
                    read_us: 1000,
                    write_us: 1000,
                    ..Latency::default()
                },
                ..DeviceOptions::default()
            })
            .expect("a fault device");
            let mut command = program(split_args(
                "run --name=x --bs=4k --size=32m --direct=1 --norandommap --time_based --runtime=4 --output-format=json",
            ));
            command
                .arg(filename_arg(&device.path()))
                .args(split_args(engine));
            if engine.contains("verify") {
                command.arg(format!("--destroy={}", common::device_code(&device.path())));
            }
            let running = start(command);
            // The inspection of a target that is written also reads.
            let begun = |log: &[fathom_testkit::Entry]| match engine.contains("write")
                || engine.contains("randrw")
            {
                true => log
                    .iter()
                    .filter(|entry| entry.op == fathom_testkit::Op::Write)
                    .count(),
                false => log.len(),
            };
            common::wait_until("the load started", || begun(&device.log()) > 1500);
            device.inject(Fault::Hang(None));
            std::thread::sleep(Duration::from_millis(700));
            device.clear_faults();
            device.release();
            let json = running.finish().json();
            let log = device.log();
            let mut ends: Vec<u64> = log.iter().map(|entry| entry.end_ns).collect();
            ends.sort_unstable();
            let outage = ends
                .windows(2)
                .max_by_key(|pair| pair[1] - pair[0])
                .expect("completions");
            let length = (outage[1] - outage[0]) as f64 / 1e9;
            // The load begins after the pause that follows the inspection of the target.
            let pause = ends
                .windows(2)
                .take_while(|pair| pair[0] < outage[0])
                .filter(|pair| pair[1] - pair[0] > 20_000_000)
                .last();
            let first_write = log
                .iter()
                .filter(|entry| entry.op == fathom_testkit::Op::Write)
                .map(|entry| entry.start_ns)
                .min();
            let first =
                first_write.unwrap_or_else(|| pause.map_or(ends[0], |pair| pair[1]) - 1_000_000);
            let begin = (outage[0] - first) as f64 / 1e9;
            let evidence = json
                .finding("TARGET_STALLED")
                .ok_or_else(|| format!("{engine}: no finding for {length} s"))?;
            let figure = |before: &str| -> Result<f64, String> {
                let rest = evidence.split_once(before).ok_or(evidence)?.1;
                let mut words = rest.split_whitespace();
                let value: f64 = words
                    .next()
                    .and_then(|word| word.parse().ok())
                    .ok_or(evidence)?;
                Ok(match words.next() {
                    Some("ms") => value / 1e3,
                    _ => value,
                })
            };
            check_near("length, s", figure("completed for ")?, length, 0.01)?;
            // The run begins a little before its first I/O reaches the device.
            check_near("begin, s", figure(" from ")?, begin, 0.05)?;
            Ok(())
        });
    }
}
