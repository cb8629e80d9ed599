//! Runs a program in a directory of its own and collects its exit code and output.

use std::path::Path;
use std::process::{Command, Stdio};

use fathom_testkit::Scratch;
use serde_json::Value;

/// Exit code and output of a program.
#[derive(Debug)]
pub struct Completed {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs `program` in `directory`.
pub fn run(program: &[&str], directory: &Path, arguments: &[&str]) -> Completed {
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .args(arguments)
        .current_dir(directory)
        .env("FATHOM_STORE", "none")
        .stdin(Stdio::null());
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{program:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Completed {
        code: output.status.code(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

/// The program under test in fio mode.
pub const FATHOM_FIO: [&str; 2] = [env!("CARGO_BIN_EXE_fathom"), "fio"];
/// The installed fio.
pub const FIO: [&str; 1] = ["fio"];

/// A directory with a job file in it.
pub struct Fixture(pub Scratch);

impl Fixture {
    pub fn new(job: &str) -> Fixture {
        let scratch = Scratch::new().expect("a directory");
        std::fs::write(scratch.join("job.fio"), job).expect("a job file");
        Fixture(scratch)
    }

    /// Runs the job in fio mode and parses its JSON. As in fio's own suite, success is exit code 0
    /// and an empty error stream.
    pub fn json(&self, more: &[&str]) -> Value {
        let arguments = [&["--output-format=json", "job.fio"], more].concat();
        let result = run(&FATHOM_FIO, self.0.path(), &arguments);
        assert_eq!(
            (result.code, result.err.as_str()),
            (Some(0), ""),
            "{}",
            result.out
        );
        serde_json::from_str(&result.out).unwrap_or_else(|error| panic!("{error}: {}", result.out))
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Lines of a log: direction, block size, offset.
    pub fn log(&self, name: &str) -> Vec<(u64, u64, u64)> {
        let number = |field: &str| field.trim().parse::<u64>().expect("a number");
        let line = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            (number(fields[2]), number(fields[3]), number(fields[4]))
        };
        self.text(name).lines().map(line).collect()
    }
}

/// The number at `pointer`.
pub fn number(json: &Value, pointer: &str) -> f64 {
    json.pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no number at {pointer} in {json:#}"))
}
