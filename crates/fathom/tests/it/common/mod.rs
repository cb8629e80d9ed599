//! Runs the built program as a user does and parses its output.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_testkit::{DeviceOptions, FaultDevice, Latency};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The program under test.
pub const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// Time limit of one program; a program that runs longer hangs.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A lock on the machine, across threads and processes: timing-sensitive tests take it exclusively.
pub struct MachineLock {
    _file: File,
}

/// Exclusive, for measurements that other tests would disturb.
pub fn lock_machine_exclusive() -> MachineLock {
    lock_machine(FlockOperation::LockExclusive)
}

/// Shared with other tests that take it shared.
pub fn lock_machine_shared() -> MachineLock {
    lock_machine(FlockOperation::LockShared)
}

fn lock_machine(operation: FlockOperation) -> MachineLock {
    let path = std::env::temp_dir().join("fathom-tests.turn");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .expect("a lock file");
    flock(&file, operation).expect("the lock");
    MachineLock { _file: file }
}

/// The median and the 99th percentile of the clat of single reads of 4 KiB in ns, by fio: what the kernel and the machine need to
/// carry a read to the device and back. On a machine whose sleeping threads wake late, it is more than what the device logs. `None`
/// without fio.
pub fn latency_by_fio(device: &Path, reads: u64) -> Option<[f64; 2]> {
    let out = Command::new("fio")
        .args(["--name=x", "--rw=randread", "--bs=4k", "--size=1m"])
        .args(["--direct=1", "--ioengine=psync", "--norandommap"])
        .args(["--percentile_list=50:99", "--output-format=json"])
        .arg(format!("--io_size={}", reads * 4096))
        .arg(filename_arg(device))
        .output()
        .ok()?;
    let document: Value = serde_json::from_slice(&out.stdout).ok()?;
    let percentiles = &document["jobs"][0]["read"]["clat_ns"]["percentile"];
    Some([
        percentiles["50.000000"].as_f64()?,
        percentiles["99.000000"].as_f64()?,
    ])
}

/// Gives this thread, and the devices and programs that it starts from now on, a real-time
/// priority. Without the permission for it, measurements are only noisier.
pub fn raise_priority() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let _ = Command::new("chrt")
        .args(["--fifo", "--pid", "10", &thread])
        .stderr(Stdio::null())
        .status();
}

/// Findings about the host or the generator: they explain why a figure is out of bounds.
const DISTURBANCES: [&str; 5] = [
    "GENERATOR_STALL",
    "STEAL",
    "CPU_THROTTLED",
    "HOST_BUSY",
    "WORKER_WAITED",
];
/// From this share of time on in which a program waited for a CPU, percent, devices and programs of
/// a test do not run in time.
const PRESSURE_PERCENT: f64 = 5.0;

thread_local! {
    /// What the runs of the present measurement recorded about the host.
    static EVIDENCE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Repeats a failed measurement, at most five times, where its own runs recorded that the host
/// disturbed them, or where the whole machine paused meanwhile: a run that is between two I/Os, and
/// the device of a test, do not record that. Without such evidence the first failure counts.
pub fn retry_measurement<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let mut failures = Vec::new();
    for _ in 0..6 {
        EVIDENCE.take();
        let pauses = PauseDetector::start();
        match outcome(&mut attempt) {
            Ok(value) => return value,
            Err(failure) => failures.push(failure),
        }
        let paused = pauses.longest();
        assert!(
            EVIDENCE.with_borrow(|evidence| !evidence.is_empty()) || paused >= MACHINE_PAUSE,
            "out of bounds although the host disturbed nothing:\n{}",
            failures.join("\n")
        );
    }
    panic!(
        "out of bounds in each of {} measurements:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// The result of one measurement. An assertion that fails in it is a failed measurement as well.
fn outcome<T>(attempt: &mut impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt));
    result.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(text.unwrap_or("a panic without a message").to_owned())
    })
}

/// Repeats a failed measurement, at most five times, where the kernel recorded that the machine was busy meanwhile. Only for
/// measurements that no run of ours records: the time that a command takes, what a killed run has stored, figures of fio, and
/// the results of `fathom fio`, which have no findings.
pub fn retry_on_busy_machine<T>(attempt: impl FnMut() -> Result<T, String>) -> T {
    retry_where_threads_waited(PRESSURE_PERCENT, attempt)
}

/// The same where threads waited for this share of the time. A percentile of p99 moves as soon as one I/O of a hundred waits,
/// which no finding reports.
pub fn retry_where_threads_waited<T>(
    percent: f64,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> T {
    let mut failures = Vec::new();
    for _ in 0..6 {
        let record = MachineRecord::start();
        match outcome(&mut attempt) {
            Ok(value) => return value,
            Err(failure) => failures.push(failure),
        }
        assert!(
            record.has_waited(percent),
            "out of bounds although the machine was not busy:\n{}",
            failures.join("\n")
        );
    }
    panic!(
        "out of bounds in each of {} measurements:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// A machine whose CPUs are all available wakes a sleeping thread within a fraction of this.
const MACHINE_PAUSE: Duration = Duration::from_millis(20);

/// Finds the times in which the machine executed nothing, as a thread that sleeps and compares: a hypervisor that pauses a
/// machine does not report all of it as stolen time.
struct PauseDetector {
    stop: Arc<AtomicBool>,
    watch: JoinHandle<Duration>,
}

impl PauseDetector {
    fn start() -> PauseDetector {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let watch = std::thread::spawn(move || {
            const STEP: Duration = Duration::from_millis(5);
            let mut longest = Duration::ZERO;
            while !stopped.load(Ordering::Relaxed) {
                let start = Instant::now();
                std::thread::sleep(STEP);
                longest = longest.max(start.elapsed().saturating_sub(STEP));
            }
            longest
        });
        PauseDetector { stop, watch }
    }

    /// By how much the thread was woken too late, at most.
    fn longest(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.watch.join().expect("the watching thread")
    }
}

/// What the kernel has recorded about the machine since it was booted.
struct MachineRecord {
    started: std::time::Instant,
    /// Time in which some thread waited for a CPU or for I/O, microseconds; `None` where the kernel does not record it.
    waited_us: Option<[u64; 2]>,
    /// Time that the hypervisor gave to others, in ticks of 10 ms.
    stolen_ticks: u64,
}

impl MachineRecord {
    fn start() -> MachineRecord {
        MachineRecord {
            started: std::time::Instant::now(),
            waited_us: pressure_us("cpu")
                .zip(pressure_us("io"))
                .map(<[u64; 2]>::from),
            stolen_ticks: stolen_ticks(),
        }
    }

    /// Whether threads waited, or time was stolen, for this share of the time since then.
    fn has_waited(&self, percent: f64) -> bool {
        let now = MachineRecord::start();
        let least_us = self.started.elapsed().as_micros() as f64 * percent / 100.0;
        let (Some(before), Some(after)) = (self.waited_us, now.waited_us) else {
            return true;
        };
        let waited = after
            .iter()
            .zip(before)
            .any(|(after, before)| (after - before) as f64 >= least_us);
        waited || ((now.stolen_ticks - self.stolen_ticks) * 10_000) as f64 >= least_us
    }
}

/// The total of "some" in /proc/pressure.
fn pressure_us(resource: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?;
    let some = text.lines().find(|line| line.starts_with("some"))?;
    some.rsplit_once("total=")?.1.parse().ok()
}

/// The eighth number of the first line of /proc/stat.
fn stolen_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = text.lines().next().unwrap_or_default();
    all.split_whitespace()
        .nth(8)
        .and_then(|ticks| ticks.parse().ok())
        .unwrap_or(0)
}

/// Notes what the output of a run records about disturbances by the host.
fn note_disturbances(output: &str) {
    let codes = DISTURBANCES.iter().filter(|code| output.contains(**code));
    let mut found: Vec<String> = codes.map(ToString::to_string).collect();
    if let Ok(document) = serde_json::from_str(output) {
        disturbances_of(&document, &mut found);
    }
    EVIDENCE.with_borrow_mut(|evidence| evidence.extend(found));
}

/// Recorded stalls and CPU pressure anywhere in a document.
fn disturbances_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match key.as_str() {
                    "stalls" => found.extend(
                        value
                            .as_array()
                            .into_iter()
                            .flatten()
                            .map(std::string::ToString::to_string),
                    ),
                    "cpu_pressure_percent" if value.as_f64() >= Some(PRESSURE_PERCENT) => {
                        found.push(format!("CPU pressure {value} %"));
                    }
                    _ => disturbances_of(value, found),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|one| disturbances_of(one, found)),
        _ => {}
    }
}

/// An error unless `actual` is within `tolerance` of `expected`.
pub fn check_near(what: &str, actual: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (actual - expected).abs() <= tolerance {
        Ok(())
    } else {
        Err(format!(
            "{what}: {actual} instead of {expected} +- {tolerance}"
        ))
    }
}

/// A command for the program with these arguments.
pub fn program(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(FATHOM);
    // Tests write nothing to the store of the user who runs them.
    command.args(arguments).env("FATHOM_STORE", "none");
    command
}

/// Runs the program until it exits.
pub fn fathom(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Completed {
    start(program(arguments)).finish()
}

/// Splits a command line at whitespace.
pub fn split_args(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Starts a command with both outputs collected.
pub fn start(mut command: Command) -> Running {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (child.stdout.take(), child.stderr.take());
    Running {
        child,
        out: Some(collect(out)),
        err: Some(collect(err)),
        started: Instant::now(),
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A started program, killed when dropped.
pub struct Running {
    child: Child,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
    started: Instant,
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process number");
        kill_process(pid, signal).expect("the process still exists");
    }

    pub fn has_exited(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_some()
    }

    /// Waits until `condition` holds; panics with the output if the program ends before that.
    pub fn wait_until(mut self, what: &str, mut condition: impl FnMut() -> bool) -> Running {
        let start = Instant::now();
        while !condition() {
            if self.has_exited() {
                let ran = self.finish();
                panic!("ended before {what}:\n{}\n{}", ran.out, ran.err);
            }
            assert!(start.elapsed() < TIMEOUT, "waited for: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
        self
    }

    /// Waits for the exit, at most `TIMEOUT`.
    pub fn finish(self) -> Completed {
        self.finish_within(TIMEOUT)
    }

    /// Waits for the exit; panics after `limit`.
    pub fn finish_within(mut self, limit: Duration) -> Completed {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("our own child") {
                Some(status) => break status,
                None if start.elapsed() > limit => {
                    panic!("still running after the limit of {limit:?}")
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let took = self.started.elapsed();
        let text = |stream: Option<JoinHandle<String>>| stream.expect("once").join().expect("read");
        let (out, err) = (text(self.out.take()), text(self.err.take()));
        note_disturbances(&out);
        Completed {
            status,
            took,
            out,
            err,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.try_wait();
    }
}

/// A program that has exited.
#[derive(Debug)]
pub struct Completed {
    pub status: ExitStatus,
    pub took: Duration,
    pub out: String,
    pub err: String,
}

impl Completed {
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// The JSON document on the standard output.
    pub fn json(&self) -> Json {
        let document = serde_json::from_str(&self.out);
        let document =
            document.unwrap_or_else(|error| panic!("no JSON: {error}\n{}\n{}", self.out, self.err));
        let json = Json(document);
        json.assert_conserved();
        json
    }

    /// Panics with both outputs unless the run succeeded. A stall of the generator on a busy
    /// machine also sets exit code 1; tests of other properties accept it.
    pub fn expect_done(self) -> Completed {
        let stalled = self.code() == 1 && self.out.contains("GENERATOR_STALL");
        if stalled { self } else { self.expect(0) }
    }

    /// Panics with both outputs unless the exit code is `code`.
    pub fn expect(self, code: i32) -> Completed {
        assert_eq!(
            self.code(),
            code,
            "{:?}\n--- out\n{}\n--- err\n{}",
            self.status,
            self.out,
            self.err
        );
        self
    }
}

/// A result document of `fathom run`, or of `fathom fio` for tests of fio's part only.
pub struct Json(pub Value);

impl Json {
    pub fn number(&self, pointer: &str) -> f64 {
        self.0
            .pointer(pointer)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("no number at {pointer} in {:#}", self.0))
    }

    /// A count of the first entry, such as `failed_ios`.
    pub fn count(&self, name: &str) -> u64 {
        self.number(&format!("/fathom/entries/0/counts/{name}")) as u64
    }

    pub fn text(&self, pointer: &str) -> &str {
        self.0
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no text at {pointer} in {:#}", self.0))
    }

    pub fn verdict(&self) -> &str {
        self.text("/fathom/verdict")
    }

    pub fn codes(&self) -> Vec<&str> {
        let findings = self
            .0
            .pointer("/fathom/findings")
            .and_then(Value::as_array)
            .expect("findings");
        findings
            .iter()
            .filter_map(|finding| finding["code"].as_str())
            .collect()
    }

    /// Evidence of the first finding with this code.
    pub fn finding(&self, code: &str) -> Option<&str> {
        let findings = self
            .0
            .pointer("/fathom/findings")
            .and_then(Value::as_array)
            .expect("findings");
        findings
            .iter()
            .find(|finding| finding["code"] == code)
            .and_then(|finding| finding["evidence"].as_str())
    }

    /// Evidence of a finding that must be present.
    pub fn expect_finding(&self, code: &str) -> &str {
        self.finding(code)
            .unwrap_or_else(|| panic!("{code} is missing in {:#}", self.0["fathom"]))
    }

    /// planned = ok + short + failed + timed out + not sent, in I/Os and bytes, for every entry and
    /// direction.
    pub fn assert_conserved(&self) {
        let Some(entries) = self.0.pointer("/fathom/entries").and_then(Value::as_array) else {
            return;
        };
        for entry in entries {
            let parts = ["read", "write", "trim"]
                .into_iter()
                .filter_map(|direction| entry.get(direction))
                .map(|direction| &direction["counts"]);
            for counts in parts.chain([&entry["counts"]]) {
                assert_balanced(counts);
            }
        }
    }
}

fn assert_balanced(counts: &Value) {
    let of = |name: &str| {
        counts[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {counts:#}"))
    };
    let ends = [
        "ok_ios",
        "short_ios",
        "failed_ios",
        "timed_out_ios",
        "not_sent_ios",
    ]
    .map(of)
    .iter()
    .sum::<u64>();
    assert_eq!(of("planned_ios"), ends, "I/Os are conserved: {counts:#}");
    let bytes = ["ok_bytes", "short_bytes", "missing_bytes"]
        .map(of)
        .iter()
        .sum::<u64>();
    assert_eq!(
        of("planned_bytes"),
        bytes,
        "bytes are conserved: {counts:#}"
    );
}

/// `--filename=PATH`.
pub fn filename_arg(path: &Path) -> String {
    format!("--filename={}", path.display())
}

/// The `--destroy` code that `fathom devices` prints for this target.
pub fn device_code(path: &Path) -> String {
    let text = fathom([Path::new("devices"), path]).expect(0).out;
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("code "))
        .unwrap_or_else(|| panic!("{text}"));
    line.split_whitespace().next().expect("a code").to_owned()
}

/// Waits until `condition` holds; panics with `what` after `TIMEOUT`, as a program that runs longer hangs.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "waited for: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a shell command of the test itself; panics with its error output if it fails.
pub fn sh(command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output()
        .expect("sh");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(
        output.status.success(),
        "{command}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs a third-party command; an error with its output if it fails.
pub fn run_tool(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let message = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(message(&output.stdout)),
        false => Err(format!(
            "{command:?}: {}\n{}",
            message(&output.stdout),
            message(&output.stderr)
        )),
    }
}

/// A profile whose limit is 10 ms for the 99th percentile of the commits.
pub const COMMITS_PROFILE: &str = r#"schema = 1
name = "log"
title = "A log"
sources = ["these tests"]
[[step]]
name = "log"
[[step.job]]
name = "log"
size = "16m"
options = { rw = "write", bs = "4k", ioengine = "psync", fdatasync = 1 }
[[step.check]]
title = "commits"
job = "log"
metric = "sync"
figure = "p99"
limit = "10ms"
advice = "use a faster disk"
source = "these tests"
"#;

/// A fault device of `size` bytes whose commits take exactly `sync_us` microseconds.
pub fn device_with_commits_of(size: u64, sync_us: u64) -> FaultDevice {
    let latency = Latency {
        sync_us,
        ..Latency::default()
    };
    let options = DeviceOptions {
        size,
        latency,
        ..DeviceOptions::default()
    };
    FaultDevice::mount(options).expect("a fault device")
}
