//! Telemetry during a run: all of it is in the result and in the store. The expected metrics are
//! determined from the same machine by other means.

use std::path::Path;

use crate::common::{Json, program, split_args, start};
use fathom_testkit::Scratch;
use serde_json::Value;

/// Every metric of a sample, and whether this machine has it.
fn metrics() -> Vec<(&'static str, bool)> {
    let pressure = |what: &str| {
        std::fs::read_to_string(format!("/proc/pressure/{what}"))
            .is_ok_and(|text| text.contains("total="))
    };
    let frequency = any_file("/sys/devices/system/cpu", "cpufreq/scaling_cur_freq");
    let temperature =
        any_file("/sys/class/thermal", "temp") || any_file("/sys/class/hwmon", "temp1_input");
    vec![
        ("cpu_pressure_percent", pressure("cpu")),
        ("io_pressure_percent", pressure("io")),
        ("memory_pressure_percent", pressure("memory")),
        ("cpu_mhz", frequency),
        ("celsius", temperature),
        ("available_bytes", true),
        ("dirty_bytes", true),
        ("writeback_bytes", true),
        ("cpu_throttles", has_quota_counter()),
    ]
}

/// Whether an entry of `directory` has a file `name` with a number.
fn any_file(directory: &str, name: &str) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let number = |path: &Path| {
        std::fs::read_to_string(path).is_ok_and(|text| text.trim().parse::<i64>().is_ok())
    };
    entries
        .map(|entry| entry.path().join(name))
        .any(|path| number(&path))
}

/// Only control groups below the root have throttling counters (cgroups(7)).
fn has_quota_counter() -> bool {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let files = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (controllers, path) = (parts.nth(1)?, parts.next()?);
        let at = if controllers.is_empty() {
            String::new()
        } else {
            format!("/{controllers}")
        };
        std::fs::read_to_string(format!("/sys/fs/cgroup{at}{path}/cpu.stat")).ok()
    });
    files.into_iter().any(|text| text.contains("nr_throttled"))
}

fn cpus() -> usize {
    let stat = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    stat.lines()
        .filter(|line| {
            line.starts_with("cpu") && line.as_bytes().get(3).is_some_and(u8::is_ascii_digit)
        })
        .count()
}

/// Asserts that a sample has all metrics.
fn assert_complete(sample: &Value) {
    for (name, available) in metrics() {
        let value = sample
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {sample:#}"));
        assert!(
            !available || value.is_number(),
            "{name} is not known: {sample:#}"
        );
        let percent = name.ends_with("_percent").then(|| value.as_f64()).flatten();
        assert!(
            percent.is_none_or(|n| (0.0..=100.5).contains(&n)),
            "{name}: {value}"
        );
    }
    for name in ["cpu_busy_percent", "cpu_steal_percent"] {
        let all = sample[name]
            .as_array()
            .unwrap_or_else(|| panic!("no {name} in {sample:#}"));
        assert_eq!(all.len(), cpus(), "{name}");
        assert!(
            all.iter()
                .all(|n| n.as_f64().is_some_and(|n| (0.0..=100.5).contains(&n))),
            "{name}: {all:?}"
        );
    }
    assert!(
        sample["wall_step_ns"].is_i64() && sample["length_ns"].as_u64().is_some_and(|ns| ns > 0),
        "{sample:#}"
    );
}

/// Asserts that a sample has the counters of every device below the target.
fn assert_disk_counters(sample: &Value, devices: &[&str]) {
    for device in devices {
        let disk = &sample["disks"][device];
        for name in "read_ios read_sectors read_ticks write_ios write_sectors write_ticks in_flight io_ticks flush_ios".split(' ') {
            assert!(disk[name].is_u64(), "{name} of {device}: {sample:#}");
        }
    }
}

fn telemetry(json: &Value) -> &Value {
    json.pointer("/fathom/conditions/telemetry")
        .expect("telemetry")
}

#[test]
fn every_metric_is_in_the_result_and_in_the_store() {
    let directory = Scratch::new().expect("a directory");
    std::fs::write(directory.join("target"), vec![7; 4 << 20]).expect("a file");
    let run = |line: &str| {
        let mut command = program(split_args(line));
        command
            .current_dir(directory.path())
            .env_remove("FATHOM_STORE")
            .arg("--store=store.db");
        start(command).finish()
    };
    let ran = run(
        "run --name=x --rw=randread --bs=4k --filename=target --time_based --runtime=2 --thinktime=1000 --output-format=json",
    );
    let json: Json = ran.json();
    let samples = telemetry(&json.0)["samples"].as_array().expect("samples");
    assert!(!samples.is_empty());
    let devices: Vec<&str> = json
        .0
        .pointer("/fathom/targets/0/devices")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|device| device["name"].as_str())
        .collect();
    for sample in samples {
        assert_complete(sample);
        assert_disk_counters(sample, &devices);
    }
    let stored = run("show r1 --json").expect(0).json();
    assert_eq!(
        telemetry(&stored.0),
        telemetry(&json.0),
        "the store has all of it"
    );
    let exported = run("export r1 --format=json").expect(0);
    assert!(exported.out.contains("\"verdict\""), "{}", exported.out);
}
