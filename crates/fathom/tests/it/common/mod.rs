//! Runs the built program as a user does and parses its output.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_testkit::{DeviceOptions, FaultDevice, Latency};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The program under test.
pub const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// Time limit of one program; a program that runs longer hangs.
const TIMEOUT: Duration = Duration::from_secs(90);

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

impl Completed {
    /// Panics unless the program measured its load to the end. How busy this machine is decides whether the load generator was
    /// stopped for too large a part of a short run (F010), which makes the result invalid and the exit code 1. Nothing else may; tests in
    /// virtual time state when F010 is reported and when it is not.
    pub fn expect_measured(self) -> Completed {
        let json = serde_json::Deserializer::from_str(&self.out)
            .into_iter::<Value>()
            .next();
        let json = json.and_then(Result::ok);
        let findings = json
            .as_ref()
            .and_then(|json| json.pointer("/fathom/findings"));
        let findings = findings.and_then(Value::as_array);
        let mut invalidating = findings
            .into_iter()
            .flatten()
            .filter(|finding| finding["weight"] == "invalidates")
            .peekable();
        let code = i32::from(invalidating.peek().is_some());
        assert!(
            invalidating.all(|finding| finding["code"] == "GENERATOR_STALL"),
            "{}",
            self.out
        );
        self.expect(code)
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
