//! Runs of `fathom app`, and what they leave behind.

use crate::common::{Completed, fathom, program, start};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A directory that any user may enter.
pub fn place() -> Scratch {
    let place = Scratch::new().expect("a directory");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    place
}

pub fn app(line: &str, place: &Path) -> Completed {
    fathom(arguments(line, place))
}

pub fn arguments(line: &str, place: &Path) -> Vec<String> {
    let place = place.display().to_string();
    let words = line.split_whitespace();
    let words = words.map(|word| word.replace("PATH", &place));
    std::iter::once("app".to_owned()).chain(words).collect()
}

pub fn json(done: &Completed) -> Value {
    serde_json::from_str(&done.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// Names in a directory.
pub fn names(place: &Path) -> Vec<String> {
    fs::read_dir(place)
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

pub fn kill(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid as i32).expect("a process number"), signal);
}

/// Processes whose command line names `place`, but for this test.
pub fn processes_of(place: &Path) -> Vec<u32> {
    let wanted = place.as_os_str().as_encoded_bytes();
    fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.windows(wanted.len()).any(|part| part == wanted))
        })
        .collect()
}

/// A loop device with ext4, which any user may enter.
pub struct Disk {
    pub mounted: Mount,
    pub device: LoopDevice,
    pub _directory: Scratch,
}

/// `options` are those of `mount`.
pub fn disk(megabytes: u64, options: &str) -> Disk {
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(
        &directory.join("backing"),
        megabytes << 20,
        LoopOptions::default(),
    )
    .expect("a loop device");
    let mounted = Mount::format(device.path(), FsKind::Ext4, options).expect("a file system");
    fs::set_permissions(mounted.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    Disk {
        mounted,
        device,
        _directory: directory,
    }
}

impl Disk {
    pub fn path(&self) -> &Path {
        self.mounted.path()
    }

    /// The kernel name of the device.
    pub fn name(&self) -> String {
        let name = self.device.path().file_name().expect("a name");
        name.to_string_lossy().into_owned()
    }

    /// What is left on it.
    pub fn left(&self) -> Vec<String> {
        let all = names(self.path()).into_iter();
        all.filter(|name| name != "lost+found").collect()
    }
}

/// Each run has a folder, a socket and a server of its own: a second one on the same path, while the first one runs, neither finds its
/// socket taken nor removes the first. `ready` is a file of a run that has started, in its folder.
pub fn check_two_runs_share_a_path(engine: &str, ready: &str) {
    let place = place();
    let first = start(program(arguments(
        &format!("{engine} PATH --scale=1 --tps=50 --runtime=100s --warmup=0s --json --no-store"),
        place.path(),
    )));
    let sockets = || {
        let all = names(place.path()).into_iter();
        all.filter(|name| place.join(name).join(ready).exists())
            .collect::<Vec<_>>()
    };
    let first = first.wait_until("the first run", || sockets().len() == 1);
    let mine = sockets();
    let line =
        format!("{engine} PATH --scale=1 --tps=50 --runtime=1s --warmup=0s --json --no-store");
    let second = json(&app(&line, place.path()).expect(0));
    assert!(number(&second["app"]["transactions"]) >= 1.0, "{engine}");
    assert_eq!(sockets(), mine, "{engine}: the first run goes on");
    first.signal(Signal::INT);
    let done = first.finish();
    assert_eq!(done.code(), 130, "{engine}: {}{}", done.out, done.err);
    assert_eq!(names(place.path()), Vec::<String>::new(), "{engine}");
    assert_eq!(processes_of(place.path()), Vec::<u32>::new(), "{engine}");
}

/// A server listens on a socket in its private folder only: the port of the machine's own server may be taken.
pub fn check_that_no_port_is_needed(engine: &str, port: u16) {
    // Where another program has it, it is taken as well.
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port));
    let place = place();
    let line =
        format!("{engine} PATH --scale=1 --tps=50 --runtime=1s --warmup=0s --json --no-store");
    let result = json(&app(&line, place.path()).expect(0));
    assert!(number(&result["app"]["transactions"]) >= 1.0, "{engine}");
    assert_eq!(names(place.path()), Vec::<String>::new(), "{engine}");
}

/// A cache that no machine has: the server says so in its log.
pub fn check_that_a_failed_start_is_explained(engine: &str, expected: &str) {
    let place = place();
    let line = format!("{engine} PATH --scale=1 --runtime=1s --cache=900t --no-store");
    let done = app(&line, place.path());
    assert_eq!(done.code(), 2, "{}{}", done.out, done.err);
    assert!(
        done.err.contains("failed (exit status: ") && done.err.contains(expected),
        "{}",
        done.err
    );
    assert_eq!(names(place.path()), Vec::<String>::new());
    assert_eq!(processes_of(place.path()), Vec::<u32>::new());
}

/// With the log on a device of its own, that device has the flushes and the log, and the other one has no writes of the log.
pub fn check_that_the_log_is_on_its_device(engine: &str, data: &Disk, log: &Disk) {
    let name = log.name();
    let line = format!(
        "{engine} PATH --log-path={} --scale=1 --clients=2 --tps=100 --runtime=2s --warmup=0s --json --no-store",
        log.path().display()
    );
    let result = json(&app(&line, data.path()).expect(0));
    let app = &result["app"];
    let used = app["log_devices"].as_array().expect("devices");
    let used = used.iter().find(|one| one["name"] == name.as_str());
    let used = used.unwrap_or_else(|| panic!("{engine}: no {name}: {}", app["log_devices"]));
    assert!(number(&used["flushes"]) >= 1.0, "{engine}: {used}");
    assert!(number(&used["writes"]) >= 1.0, "{engine}: {used}");
    if fathom_trace::Tracefs::open().is_ok() {
        let streams = app["streams"].as_array().expect("streams");
        let has = |device: usize, kind: &str| {
            let all = streams[device]["streams"].as_array().expect("streams");
            all.iter().any(|one| one["kind"] == kind)
        };
        assert_eq!(streams.len(), 2, "{engine}: {streams:?}");
        assert!(has(1, "log") && !has(0, "log"), "{engine}: {streams:?}");
    }
    for disk in [data, log] {
        assert_eq!(disk.left(), Vec::<String>::new(), "{engine}");
    }
}
