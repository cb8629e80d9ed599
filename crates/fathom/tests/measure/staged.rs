//! Situations that need a part that test machines lack or share: sensors, stolen CPU time, a wrong
//! clock. The part is simulated only for the program under test, by a mount namespace or a
//! preloaded library; everything else is real. Without the detector there is no finding and the
//! test fails.

use crate::common::{FATHOM, Json, Running, filename_arg, split_args, start, wait_until};
use crate::scene::Scene;
use fathom_testkit::Need;
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const SCENES: &[Scene] = &[Scene::check(
    "an overheating device",
    &[Need::Root, Need::Fuse],
    an_overheating_device,
)];

const LOAD: &str = "run --name=x --bs=4k --rw=randread --norandommap --size=16m --direct=1 --ioengine=psync --time_based --output-format=json";

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

    /// Replaces the kernel directory `target` by one with only this file.
    fn directory(&mut self, target: &'static str, file: &str, text: &str) -> PathBuf {
        let replacement = self.directory.path().join(self.mounts.len().to_string());
        let path = replacement.join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        std::fs::write(&path, text).expect("written");
        self.mounts.push((target, replacement));
        path
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

fn check_finding(json: &Json, code: &str, part: &str) -> Result<(), String> {
    let evidence = json
        .finding(code)
        .ok_or_else(|| format!("{code} is missing in {:#}", json.0["fathom"]["findings"]))?;
    if evidence.contains(part) {
        Ok(())
    } else {
        Err(evidence.to_owned())
    }
}

/// Cause 18: after half of the run a sensor shows 82 degrees, the CPUs run at half their frequency,
/// and the device is four times slower.
fn an_overheating_device() -> Result<(), String> {
    let mut simulation = Simulation::new();
    let temperature = simulation.directory("/sys/class/thermal", "thermal_zone0/temp", "45000\n");
    let clock = simulation.directory(
        "/sys/devices/system/cpu",
        "cpu0/cpufreq/scaling_cur_freq",
        "3000000\n",
    );
    if let Some(why) = simulation.unavailable() {
        return Err(why);
    }
    // The sensors are read less often where a reading takes long, so that a quarter of the run has to be more than a second.
    let milliseconds = 8000;
    std::fs::write(&temperature, "45000\n").expect("written");
    std::fs::write(&clock, "3000000\n").expect("written");
    let device = device(500);
    let running = simulation.start(&load(&device, milliseconds));
    wait_for_half(&device, u64::from(milliseconds));
    std::fs::write(&temperature, "82000\n").expect("written");
    std::fs::write(&clock, "1500000\n").expect("written");
    device.set_latency(Latency {
        read_us: 2_000,
        ..Latency::default()
    });
    let json = running.finish().json();
    check_finding(&json, "TOO_HOT", "rose from 45 to 82 degrees Celsius")?;
    check_finding(
        &json,
        "CPU_SLOWED",
        "3000 MHz in the first quarter and at 1500 MHz in the last",
    )?;
    let samples = json
        .0
        .pointer("/fathom/conditions/telemetry/samples")
        .and_then(serde_json::Value::as_array)
        .expect("samples");
    let all_known = samples
        .iter()
        .filter(|one| one["celsius"].is_number() && one["cpu_mhz"].is_number())
        .count();
    if all_known + 1 >= samples.len() {
        Ok(())
    } else {
        Err(format!("{all_known} of {}", samples.len()))
    }
}
