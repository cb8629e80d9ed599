//! Situations that need a part that test machines lack or share: sensors, stolen CPU time, a wrong
//! clock. The part is simulated only for the program under test, by a mount namespace or a
//! preloaded library; everything else is real. Without the detector there is no finding and the
//! test fails.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::{FATHOM, Running, filename_arg, program, split_args, start, wait_until};
use fathom_testkit::{ClockShim, DeviceOptions, FaultDevice, Latency, Scratch, require, skip};

const LOAD: &str = "run --name=x --bs=4k --rw=randread --norandommap --size=16m --direct=1 --ioengine=psync --time_based --output-format=json";

fn device(read_us: u64) -> FaultDevice {
    let latency = Latency {
        read_us,
        ..Latency::default()
    };
    FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device")
}

/// Files that replace kernel files for the program under test: (kernel path, replacement).
struct Simulation {
    directory: Scratch,
    mounts: Vec<(&'static str, PathBuf)>,
}

impl Simulation {
    fn new() -> Simulation {
        Simulation {
            directory: Scratch::new().expect("a directory"),
            mounts: Vec::new(),
        }
    }

    /// Replaces the kernel file `target`.
    fn file(&mut self, target: &'static str, text: &str) -> PathBuf {
        let replacement = self.directory.path().join(self.mounts.len().to_string());
        std::fs::write(&replacement, text).expect("written");
        self.mounts.push((target, replacement.clone()));
        replacement
    }

    /// Why the simulation is impossible on this machine.
    fn unavailable(&self) -> Option<String> {
        let missing = self
            .mounts
            .iter()
            .find(|(target, _)| !Path::new(target).exists());
        missing
            .map(|(target, _)| format!("this kernel has no {target}"))
            .or_else(|| {
                let tried = Command::new("unshare").args(["--mount", "true"]).output();
                (!tried.is_ok_and(|done| done.status.success()))
                    .then(|| "needs unshare --mount".to_owned())
            })
    }

    /// Starts the program in a mount namespace of its own.
    fn start(&self, arguments: &[String]) -> Running {
        let binds = self.mounts.iter().map(|(target, replacement)| {
            format!("mount --bind {} {target} && ", replacement.display())
        });
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c"]);
        command
            .arg(format!("{}exec \"$0\" \"$@\"", binds.collect::<String>()))
            .arg(FATHOM)
            .args(arguments);
        start(command)
    }
}

fn load(device: &FaultDevice, milliseconds: u32) -> Vec<String> {
    let mut arguments = split_args(LOAD);
    arguments.extend([
        format!("--runtime={milliseconds}ms"),
        filename_arg(&device.path()),
    ]);
    arguments
}

/// Waits until half of a load of `milliseconds` is done.
fn wait_for_half(device: &FaultDevice, milliseconds: u64) {
    wait_until("the load started", || device.log().len() > 100);
    std::thread::sleep(Duration::from_millis(milliseconds / 2));
}

/// Cause 4: the kernel counts 30 % of the time as stolen, and 100 ms as waiting for memory.
#[test]
fn stolen_cpu_time() {
    require!(Root, Fuse);
    let stat = |idle: u32, stolen: u32| {
        let line = |name: &str| format!("{name} 100 0 100 {idle} 0 0 0 {stolen} 0 0\n");
        line("cpu") + &line("cpu0")
    };
    let mut simulation = Simulation::new();
    let times = simulation.file("/proc/stat", &stat(800, 0));
    let memory = simulation.file("/proc/pressure/memory", "some total=0\nfull total=0\n");
    if let Some(why) = simulation.unavailable() {
        return skip(&why);
    }
    let device = device(1_000);
    let running = simulation.start(&load(&device, 1600));
    wait_for_half(&device, 1000);
    std::fs::write(&times, stat(870, 30)).expect("written");
    // Less than the shortest time between two samples, which is the maximum that a sample can
    // contain.
    std::fs::write(&memory, "some total=200000\nfull total=100000\n").expect("written");
    let json = running.finish().json();
    assert!(
        json.expect_finding("STEAL")
            .starts_with("Steal 30 % of CPU time"),
        "{}",
        json.expect_finding("STEAL")
    );
    assert!(
        json.expect_finding("MEMORY_PRESSURE").contains("for 100"),
        "{}",
        json.expect_finding("MEMORY_PRESSURE")
    );
}

/// Cause 13: the wall clock is set 2.1 s ahead, and the kernel's clock drifts from the measuring
/// clock. Rates and latencies are not affected.
#[test]
fn a_wall_clock_that_is_set_and_drifts() {
    require!(Fuse);
    let directory = Scratch::new().expect("a directory");
    let shim = match ClockShim::build(directory.path()) {
        Ok(shim) => shim,
        Err(why) => return skip(&why),
    };
    let device = device(1_000);
    let mut command = program(load(&device, 1600));
    shim.skew(
        &mut command,
        Duration::from_millis(900),
        Duration::from_millis(2_100),
        20_000,
    );
    let ran = start(command).finish();
    let (json, took) = (ran.json(), ran.took.as_secs_f64());
    let step = json.expect_finding("WALL_CLOCK_STEPPED");
    // The drift of 2 % counts as well, and the step is said to a tenth of a second.
    let stepped = step.strip_prefix("The wall clock stepped by +");
    let seconds = stepped.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    let error = 0.02 * took + 0.05;
    assert!(
        seconds.is_some_and(|seconds| (seconds - 2.1).abs() <= error),
        "{step}, in {took} s"
    );
    if json.text("/fathom/clock/source") == "tsc" {
        assert!(
            json.expect_finding("CLOCK_DRIFT")
                .contains("ppm from CLOCK_MONOTONIC"),
            "{}",
            json.expect_finding("CLOCK_DRIFT")
        );
    }
    // One I/O at a time of at least a millisecond: the rate is at most one per millisecond.
    let rate = json.number("/jobs/0/read/iops");
    assert!(rate > 0.0 && rate < 1_000.0, "{rate}");
    let mut steady = program(load(&device, 600));
    shim.skew(
        &mut steady,
        Duration::from_secs(3600),
        Duration::from_millis(2_100),
        20_000,
    );
    let json = start(steady).finish().json();
    assert_eq!(
        (
            json.finding("WALL_CLOCK_STEPPED"),
            json.finding("CLOCK_DRIFT")
        ),
        (None, None)
    );
}
