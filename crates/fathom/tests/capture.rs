//! `fathom capture` on loop devices: the trace is compared with what the load did, also after a kill and on a full disk.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Completed, Json, Running, fathom, program, start};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};
use fathom_trace::Tracefs;
use rustix::process::Signal;

struct Scene {
    device: LoopDevice,
    scratch: Scratch,
}

impl Scene {
    fn new() -> Scene {
        let scratch = Scratch::new().expect("a directory");
        let device = LoopDevice::create(&scratch.join("backing"), 64 << 20, LoopOptions::default())
            .expect("a loop device");
        Scene { device, scratch }
    }

    fn path(&self) -> String {
        self.device.path().display().to_string()
    }

    fn trace(&self) -> PathBuf {
        self.scratch.join("t.trace")
    }

    /// Starts a capture of the device into `trace` and waits until it records.
    fn start(&self, trace: &Path, more: &[&str]) -> Running {
        let (path, trace) = (self.path(), trace.display().to_string());
        let mut line = vec!["capture", &path, "-o", &trace];
        line.extend(more);
        let running = start(program(line));
        let prefix = format!("fathom-{}-", running.id());
        let tracefs = Tracefs::open().expect("tracefs");
        let instances = tracefs.root().join("instances");
        running.wait_until("the capture records", || {
            let records = |instance: &Path| {
                fs::read_to_string(instance.join("tracing_on"))
                    .is_ok_and(|text| text.starts_with('1'))
            };
            // The file begins when the trace is on.
            fs::metadata(&trace).is_ok_and(|file| file.len() > 0)
                && fs::read_dir(&instances)
                    .expect("instances")
                    .flatten()
                    .any(|entry| {
                        entry
                            .file_name()
                            .to_str()
                            .is_some_and(|name| name.starts_with(&prefix))
                            && records(&entry.path())
                    })
        })
    }

    /// Captures the device during `load`; Ctrl-C ends it.
    fn capture(&self, more: &[&str], load: impl FnOnce()) -> Completed {
        let running = self.start(&self.trace(), more);
        load();
        running.signal(Signal::INT);
        running.finish().expect(0)
    }

    fn read(&self, size: &str, count: u32) {
        dd(&format!(
            "if={} of=/dev/null bs={size} count={count} iflag=direct",
            self.path()
        ));
    }

    fn write(&self, size: &str, count: u32) {
        dd(&format!(
            "if=/dev/zero of={} bs={size} count={count} oflag=direct conv=fsync",
            self.path()
        ));
    }
}

fn dd(arguments: &str) {
    let status = Command::new("dd")
        .args(arguments.split(' '))
        .stderr(Stdio::null())
        .status()
        .expect("dd");
    assert!(status.success(), "{arguments}");
}

fn profile(trace: &Path) -> Json {
    fathom(["profile", &trace.display().to_string(), "--json"])
        .expect_done()
        .json()
}

fn notes(trace: &Path) -> String {
    fathom(["profile", &trace.display().to_string()])
        .expect_done()
        .out
}

fn contains(file: &Path, text: &str) -> bool {
    let bytes = fs::read(file).expect("a trace");
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

#[test]
fn a_capture_has_every_request_of_the_load_and_no_names() {
    require!(Loop);
    let scene = Scene::new();
    let done = scene.capture(&[], || {
        scene.read("8k", 500);
        scene.write("16k", 40);
    });
    assert!(done.out.contains("bytes for each I/O"), "{}", done.out);
    let json = profile(&scene.trace());
    assert_eq!(json.number("/totals/reads/ios"), 500.0);
    assert_eq!(json.number("/totals/reads/bytes"), 500.0 * 8192.0);
    assert_eq!(json.number("/totals/writes/ios"), 40.0);
    assert!(json.number("/totals/flushes/ios") >= 1.0);
    // Every I/O has its latency.
    let ios: f64 = ["reads", "writes", "flushes"]
        .iter()
        .map(|kind| json.number(&format!("/totals/{kind}/ios")))
        .sum();
    assert_eq!(json.number("/with_latency"), ios);
    assert!(!contains(&scene.trace(), "\"dd\""));
    // The score of a trace against itself.
    let trace = scene.trace().display().to_string();
    let score = fathom(["fidelity", &trace, &trace, "--json"])
        .expect_done()
        .json();
    assert!(score.number("/total") > 99.9);
}

#[test]
fn names_are_kept_when_asked_for() {
    require!(Loop);
    let scene = Scene::new();
    scene.capture(&["--names"], || scene.read("8k", 100));
    assert!(contains(&scene.trace(), "\"dd\""));
    let text = notes(&scene.trace());
    assert!(text.contains("(dd "), "{text}");
}

/// The I/O of the second before the kill may be missing, and nothing else.
#[test]
fn a_capture_that_is_killed_is_valid_up_to_there() {
    require!(Loop);
    let scene = Scene::new();
    let trace = scene.trace();
    let running = scene.start(&trace, &[]);
    scene.read("8k", 700);
    // The reads may be in two different seconds: the first part of them is not enough.
    let running = running.wait_until("the reads are in the file", || {
        fs::metadata(&trace).is_ok_and(|file| file.len() > 2000)
            && fathom(["profile", &trace.display().to_string(), "--json"])
                .expect_done()
                .json()
                .number("/totals/reads/ios")
                >= 700.0
    });
    running.signal(Signal::KILL);
    running.finish();
    let json = profile(&trace);
    assert_eq!(json.number("/totals/reads/ios"), 700.0);
    assert!(notes(&trace).contains("The trace is cut at its end."));
    // The next capture removes what the killed one left in tracefs.
    let done = scene.capture(&[], || scene.read("4k", 10));
    assert!(
        done.err.contains("removed the trace instance"),
        "{}",
        done.err
    );
}

#[test]
fn a_full_disk_leaves_a_trace_that_is_valid_up_to_there() {
    require!(Loop);
    if FsKind::Ext4.available().is_err() {
        return;
    }
    let scene = Scene::new();
    let small = LoopDevice::create(
        &scene.scratch.join("small"),
        2 << 20,
        LoopOptions::default(),
    )
    .expect("a loop device");
    let mount = Mount::format(small.path(), FsKind::Ext4, "").expect("a file system");
    let trace = mount.path().join("t.trace");
    let running = scene.start(&trace, &[]);
    scene.read("8k", 300);
    let running = running.wait_until("the first reads are in the file", || {
        fs::metadata(&trace).is_ok_and(|file| file.len() > 1000)
    });
    // No room is left but for the block of the file that is begun.
    let filled = Command::new("dd")
        .arg("if=/dev/zero")
        .arg(format!("of={}", mount.path().join("fill").display()))
        .arg("bs=1k")
        .stderr(Stdio::null())
        .status()
        .expect("dd");
    assert!(!filled.success());
    scene.read("4k", 16_000);
    let done = running.finish();
    assert_eq!(done.code(), 1, "{}", done.err);
    assert!(
        done.err.contains("No space left on device") && done.err.contains("valid up to here"),
        "{}",
        done.err
    );
    let json = profile(&trace);
    assert!(json.number("/totals/reads/ios") >= 300.0);
    assert!(json.number("/totals/reads/ios") < 16_300.0);
}

#[test]
fn the_largest_size_and_the_last_time_bound_a_trace() {
    require!(Loop);
    let scene = Scene::new();
    let trace = scene.trace();
    let running = scene.start(&trace, &["--max-size=8k", "--runtime=60s"]);
    scene.read("4k", 16_000);
    let done = running.finish().expect(0);
    assert!(done.err.contains("--max-size is reached"), "{}", done.err);
    assert!(fs::metadata(&trace).expect("a trace").len() <= 8192 + 200);
    // Of two bursts of another size, 5 s apart, only the second is in the last 2 s.
    let done = scene.capture(&["--last=2s"], || {
        scene.read("16k", 200);
        std::thread::sleep(std::time::Duration::from_secs(5));
        scene.read("8k", 300);
    });
    assert!(done.out.contains("300 I/Os"), "{}", done.out);
    let json = profile(&trace);
    assert_eq!(json.number("/totals/reads/bytes"), 300.0 * 8192.0);
}

#[test]
fn lost_events_are_in_the_trace() {
    require!(Loop);
    let scene = Scene::new();
    let done = scene.capture(&["--buffer=64k"], || scene.read("4k", 16_000));
    assert!(done.out.contains("events were lost"), "{}", done.out);
    assert!(notes(&scene.trace()).contains("events were lost while the trace was taken"));
    let trace = scene.trace().display().to_string();
    let score = fathom(["fidelity", &trace, &trace]).expect_done().out;
    assert!(score.contains("completeness"), "{score}");
}

#[test]
fn a_capture_without_the_right_to_trace_says_so_and_leaves_the_old_file() {
    require!(Loop);
    let scene = Scene::new();
    let old = scene.trace();
    fs::write(&old, "old").expect("a file");
    let mut command = Command::new("setpriv");
    command.args([
        "--bounding-set=-sys_admin,-dac_override,-dac_read_search",
        common::FATHOM,
        "capture",
        &scene.path(),
        "-o",
        &old.display().to_string(),
    ]);
    let done = start(command).finish();
    assert_eq!(done.code(), 2, "{}", done.err);
    assert!(done.err.contains("needs root"), "{}", done.err);
    assert_eq!(fs::read_to_string(&old).expect("a file"), "old");
}
