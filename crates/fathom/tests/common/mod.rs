//! Runs the built program as a user does, and reads what it says.
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The program under test.
pub const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// Nothing here runs longer; what does hangs.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A share of the machine: tests about time have it alone, across threads and processes.
pub struct MachineLock(File);

/// Alone, for what a neighbour would disturb.
pub fn lock_machine_exclusive() -> MachineLock {
    lock_machine(FlockOperation::LockExclusive)
}

/// Beside others of this kind.
pub fn lock_machine_shared() -> MachineLock {
    lock_machine(FlockOperation::LockShared)
}

fn lock_machine(how: FlockOperation) -> MachineLock {
    let path = std::env::temp_dir().join("fathom-tests.turn");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .expect("a lock file");
    flock(&file, how).expect("a turn");
    MachineLock(file)
}

/// Puts this thread, and the devices and programs it starts from now on, before the other work of the machine. Where
/// that is not allowed, measurements are only noisier.
pub fn raise_priority() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let _ = Command::new("chrt")
        .args(["--fifo", "--pid", "10", &thread])
        .stderr(Stdio::null())
        .status();
}

/// Repeats a failed measurement, at most five times: other work of the machine may disturb one measurement, not each of
/// several. Disturbances of less than a millisecond have no finding by which the run itself could excuse them.
pub fn retry_measurement<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let mut failures = Vec::new();
    for _ in 0..6 {
        match attempt() {
            Ok(value) => return value,
            Err(failure) => failures.push(failure),
        }
    }
    panic!(
        "out of bounds in each of {} measurements:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// An error unless `is` lies within `by` of `should`.
pub fn check_near(what: &str, is: f64, should: f64, by: f64) -> Result<(), String> {
    if (is - should).abs() <= by {
        Ok(())
    } else {
        Err(format!("{what}: {is} instead of {should} +- {by}"))
    }
}

/// The program with these arguments, not started.
pub fn program(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(FATHOM);
    // Tests keep nothing in the store of whoever runs them.
    command.args(arguments).env("FATHOM_STORE", "none");
    command
}

/// Runs the program to its end.
pub fn fathom(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Completed {
    start(program(arguments)).finish()
}

/// Arguments from a line of words.
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
        begun: Instant::now(),
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
    begun: Instant,
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process number");
        kill_process(pid, signal).expect("still there");
    }

    pub fn has_exited(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_some()
    }

    /// Waits for the end, for not longer than anything here may take.
    pub fn finish(self) -> Completed {
        self.finish_within(TIMEOUT)
    }

    /// Waits for the end; panics when it does not come in time.
    pub fn finish_within(mut self, limit: Duration) -> Completed {
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("our own child") {
                Some(status) => break status,
                None if begun.elapsed() > limit => {
                    panic!("still running {limit:?} after it was to end")
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let took = self.begun.elapsed();
        let text = |stream: Option<JoinHandle<String>>| stream.expect("once").join().expect("read");
        let (out, err) = (text(self.out.take()), text(self.err.take()));
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

/// A program that has ended.
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

    /// Panics with all that was said unless the run was done. That a busy machine held the generator up is told by the
    /// exit code too, but is no matter of a test that asks for something else.
    pub fn expect_done(self) -> Completed {
        let held_up = self.code() == 1 && self.out.contains("GENERATOR_STALL");
        if held_up { self } else { self.expect(0) }
    }

    /// Panics with all that was said unless the exit code is this.
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

/// A result document of `fathom run`, or of `fathom fio` where only fio's part is asked for.
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

    /// Evidence of a finding that must be there.
    pub fn expect_finding(&self, code: &str) -> &str {
        self.finding(code)
            .unwrap_or_else(|| panic!("{code} is not in {:#}", self.0["fathom"]))
    }

    /// planned = ok + short + failed + timed out + not sent, in I/Os and bytes, for every entry and direction.
    pub fn assert_conserved(&self) {
        let Some(entries) = self.0.pointer("/fathom/entries").and_then(Value::as_array) else {
            return;
        };
        for entry in entries {
            let parts = ["read", "write", "trim"]
                .into_iter()
                .filter_map(|way| entry.get(way))
                .map(|way| &way["counts"]);
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

/// The code that `fathom devices` prints for this target.
pub fn device_code(path: &Path) -> String {
    let text = fathom([Path::new("devices"), path]).expect(0).out;
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("code "))
        .unwrap_or_else(|| panic!("{text}"));
    line.split_whitespace().next().expect("a code").to_owned()
}

/// Waits until `is_so`, or panics with `what` after ten seconds.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "waited for: {what}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a shell command of the test's own; panics with what it complained about.
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
