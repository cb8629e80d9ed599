//! `fathom capture` on loop devices: the trace is compared with what the load did, also after a kill and on a full disk.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Completed, Json, Running, fathom, program, start};
use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, FsKind, Latency, LoopDevice, LoopOptions, Mount, Scratch,
    require,
};
use fathom_trace::Tracefs;
use rustix::process::Signal;

/// The trace instances of a process. Their paths lead somewhere as long as `tracefs` is open.
fn trace_instances(tracefs: &Tracefs, pid: u32) -> Vec<PathBuf> {
    let prefix = format!("fathom-{pid}-");
    fs::read_dir(tracefs.root().join("instances"))
        .expect("instances")
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|name| name.starts_with(&prefix))
        })
        .map(|entry| entry.path())
        .collect()
}

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
        let pid = running.id();
        let tracefs = Tracefs::open().expect("tracefs");
        running.wait_until("the capture records", || {
            let records = |instance: &Path| {
                fs::read_to_string(instance.join("tracing_on"))
                    .is_ok_and(|text| text.starts_with('1'))
            };
            // The file begins when the trace is on.
            fs::metadata(&trace).is_ok_and(|file| file.len() > 0)
                && trace_instances(&tracefs, pid)
                    .iter()
                    .any(|path| records(path))
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
        .expect(0)
        .json()
}

fn notes(trace: &Path) -> String {
    fathom(["profile", &trace.display().to_string()])
        .expect(0)
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
        .expect(0)
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
                .expect(0)
                .json()
                .number("/totals/reads/ios")
                >= 700.0
    });
    let killed = running.id();
    running.signal(Signal::KILL);
    running.finish();
    let json = profile(&trace);
    assert_eq!(json.number("/totals/reads/ios"), 700.0);
    assert!(notes(&trace).contains("The trace is cut at its end."));
    // The next capture, or that of a test beside this one, removes what the killed one left in tracefs.
    scene.capture(&[], || scene.read("4k", 10));
    let tracefs = Tracefs::open().expect("tracefs");
    assert_eq!(trace_instances(&tracefs, killed), Vec::<PathBuf>::new());
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
fn a_rotation_keeps_the_last_files_and_each_is_a_trace() {
    require!(Loop);
    let scene = Scene::new();
    let trace = scene.trace();
    // A chunk per second and 20,000 reads of 10 bytes each: several seconds' worth of files of 8 KiB.
    let done = scene.capture(&["--max-size=8k", "--rotate=2"], || {
        for _ in 0..5 {
            scene.read("4k", 2000);
            std::thread::sleep(std::time::Duration::from_millis(1100));
        }
    });
    let files: u64 = done
        .out
        .split(" in ")
        .find_map(|part| part.split_once(" files")?.0.parse().ok())
        .unwrap_or_else(|| panic!("no number of files: {}", done.out));
    assert!(files >= 3, "{}", done.out);
    assert!(!trace.exists());
    let numbered = |number: u64| PathBuf::from(format!("{}.{number}", trace.display()));
    for number in 2..=files {
        assert_eq!(numbered(number).exists(), number > files - 2, "{number}");
    }
    for number in [files - 1, files] {
        let text = notes(&numbered(number));
        assert!(!text.contains("cut at its end"), "{text}");
        assert!(profile(&numbered(number)).number("/totals/reads/ios") > 0.0);
    }
}

/// Regression 1008: a rotation wrote over FILE.2 and the others of an earlier capture.
#[test]
fn a_rotation_goes_on_after_the_files_of_an_earlier_capture() {
    require!(Loop);
    let scene = Scene::new();
    let trace = scene.trace();
    let numbered = |number: &str| PathBuf::from(format!("{}.{number}", trace.display()));
    for (file, content) in [(trace.clone(), "old 1"), (numbered("7"), "old 7")] {
        fs::write(file, content).expect("a file");
    }
    // Not names of a rotation.
    for other in ["011", "9x", "old"] {
        fs::write(numbered(other), "other").expect("a file");
    }
    let (path, output) = (scene.path(), trace.display().to_string());
    let line = [
        "capture",
        &path,
        "-o",
        &output,
        "--max-size=1m",
        "--rotate=1",
        "--runtime=2s",
    ];
    let running = start(program(line));
    let running = running.wait_until("the capture begins", || numbered("8").exists());
    scene.read("4k", 10);
    let done = running.finish().expect(0);
    assert!(
        done.err
            .contains(".trace.7 are of an earlier capture and stay")
            && done.err.contains("begins with"),
        "{}",
        done.err
    );
    assert!(done.out.contains(".trace.8: "), "{}", done.out);
    assert!(fs::metadata(numbered("8")).expect("a trace").len() > 0);
    let read = |file: &Path| fs::read_to_string(file).expect("a file");
    assert_eq!(
        (read(&trace), read(&numbered("7"))),
        ("old 1".to_owned(), "old 7".to_owned())
    );
}

/// The files before the last one are whole, the last one is valid up to the kill.
#[test]
fn a_rotation_that_is_killed_is_valid_up_to_there() {
    require!(Loop);
    let scene = Scene::new();
    let trace = scene.trace();
    let running = scene.start(&trace, &["--max-size=4k", "--rotate=100"]);
    let numbered = |number: u64| match number {
        1 => trace.clone(),
        number => PathBuf::from(format!("{}.{number}", trace.display())),
    };
    let reads = |number: u64| {
        let done = fathom(["profile", &numbered(number).display().to_string(), "--json"]);
        // A file that has no I/O yet is refused.
        (done.code() == 0).then(|| done.json().number("/totals/reads/ios"))
    };
    let last = || (1..).take_while(|number| numbered(*number).exists()).last();
    let all = || (1..=last().unwrap_or(0)).filter_map(reads).sum::<f64>();
    scene.read("8k", 600);
    let running = running.wait_until("the first reads are in files", || all() >= 600.0);
    scene.read("8k", 600);
    let running = running.wait_until("the other reads are in files", || all() >= 1200.0);
    running.signal(Signal::KILL);
    running.finish();
    let last = last().expect("files");
    assert!(last >= 2, "{last}");
    assert_eq!(all(), 1200.0);
    for number in 1..last {
        let text = notes(&numbered(number));
        assert!(!text.contains("cut at its end"), "{number}: {text}");
    }
    assert!(notes(&numbered(last)).contains("cut at its end"));
}

/// A program that ends with the test.
struct Load(std::process::Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads of this size at depth 32, for so many seconds.
fn reads(device: &str, size: &str, seconds: u32) -> Load {
    let child = Command::new("fio")
        .args([
            // Ends with the process.
            "--thread",
            "--name=load",
            "--rw=randread",
            "--direct=1",
            "--ioengine=libaio",
            "--iodepth=32",
        ])
        .args([&format!("--filename={device}"), &format!("--bs={size}")])
        .args(["--time_based", &format!("--runtime={seconds}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Load(child.expect("fio"))
}

/// Regression 0930: `--runtime` of a capture with `--start-above` began before the trigger, so that the capture ended without any I/O.
#[test]
fn triggers_start_and_end_a_capture() {
    require!(Loop, Fuse, Fio);
    // A device of 1 ms, one in twenty of whose reads will take half a second: the 99th percentile of a second passes 200 ms, which
    // no pause of the machine makes of 1 ms.
    let latency = Latency {
        read_us: 1000,
        ..Latency::default()
    };
    let slow = Fault::Stall {
        every: 20,
        micros: 500_000,
    };
    let fault = FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    let scratch = Scratch::new().expect("a directory");
    let device = LoopDevice::attach(&fault.path(), LoopOptions::default()).expect("a loop device");
    let scene = Scene { device, scratch };
    let (stop, begin) = (
        scene.scratch.join("stop.trace"),
        scene.scratch.join("start.trace"),
    );
    let stopped = scene.start(&stop, &["--stop-above=200ms"]);
    let started = scene.start(&begin, &["--start-above=200ms", "--runtime=2s"]);
    // Nothing happens while the device is fast.
    let mut quiet = reads(&scene.path(), "8k", 3);
    quiet.0.wait().expect("fio");
    fault.inject(slow);
    let load = reads(&scene.path(), "4k", 20);
    let stopped = stopped.finish().expect(0);
    let started = started.finish().expect(0);
    drop(load);
    fault.clear_faults();
    assert!(
        stopped.err.contains("ended by --stop-above"),
        "{}",
        stopped.err
    );
    assert!(
        started.err.contains("started by --start-above"),
        "{}",
        started.err
    );
    let sizes = |trace: &Path| {
        let sizes = profile(trace).0["read_sizes"].clone();
        let sizes = sizes.as_array().expect("sizes").clone();
        sizes
            .iter()
            .filter_map(|size| size[0].as_u64())
            .collect::<Vec<u64>>()
    };
    // The first one has both loads, the second one only what came after the trigger. Other programs may read from the device as well.
    let loads = |sizes: Vec<u64>| [4096, 8192].map(|size| sizes.contains(&size));
    assert_eq!(loads(sizes(&stop)), [true, true]);
    assert_eq!(loads(sizes(&begin)), [true, false]);
}

#[test]
fn lost_events_are_in_the_trace() {
    require!(Loop);
    let scene = Scene::new();
    let done = scene.capture(&["--buffer=64k"], || scene.read("4k", 16_000));
    assert!(done.out.contains("events were lost"), "{}", done.out);
    assert!(notes(&scene.trace()).contains("events were lost while the trace was taken"));
    let trace = scene.trace().display().to_string();
    let score = fathom(["fidelity", &trace, &trace]).expect(0).out;
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
