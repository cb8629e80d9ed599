//! The two programs, and a single run of one of them.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::Value;

/// Sampling interval of a running program's memory.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);

/// The compared programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Fathom,
    Fio,
}

/// The paths of the programs.
pub struct Tools {
    pub fathom: PathBuf,
    pub fio: PathBuf,
    /// The directory of this executable: the output of the same build.
    pub directory: PathBuf,
}

/// The cost and the result of a run.
pub struct Run {
    /// It ended with exit code 0.
    pub succeeded: bool,
    pub wall: Duration,
    /// User time of the program and all its children, microseconds.
    pub user_us: f64,
    /// System time of the program and all its children, microseconds.
    pub system_us: f64,
    /// Anonymous resident memory of all its processes over the run, KiB, sampled every 20 ms. Pages
    /// of program files and memory that processes share are excluded, so that nothing is counted
    /// twice.
    pub resident: Vec<u64>,
    /// Total resident memory of its processes at the same times, KiB, program files included.
    pub whole: Vec<u64>,
    pub json: Value,
}

impl Tools {
    /// `program`, by default fathom from the same build as this program, and the installed fio.
    pub fn find(program: Option<PathBuf>) -> Result<Self, String> {
        let me = std::env::current_exe()
            .map_err(|error| format!("cannot determine the path of this program: {error}"))?;
        let directory = me.parent().map(Path::to_path_buf).unwrap_or_default();
        let fathom = match program {
            Some(program) => program,
            None => {
                build(&directory)?;
                directory.join("fathom")
            }
        };
        let tools = Self {
            fathom,
            fio: "fio".into(),
            directory,
        };
        tools
            .version(Tool::Fio)
            .ok_or("fio is not installed; install it (apt install fio)")?;
        tools
            .version(Tool::Fathom)
            .ok_or_else(|| format!("cannot run {}", tools.fathom.display()))?;
        Ok(tools)
    }

    /// The version that the program prints.
    pub fn version(&self, tool: Tool) -> Option<String> {
        let output = Command::new(self.path(tool))
            .arg("--version")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output
            .status
            .success()
            .then(|| text.lines().next().unwrap_or("").to_owned())
    }

    pub fn path(&self, tool: Tool) -> &Path {
        match tool {
            Tool::Fathom => &self.fathom,
            Tool::Fio => &self.fio,
        }
    }

    /// Runs a job in `directory`.
    pub fn run(&self, tool: Tool, directory: &Path, options: &[String]) -> Result<Run, String> {
        self.run_under(&[], tool, directory, options)
    }

    /// The same, started by another program: `before` is its command line, followed by that of
    /// `tool`.
    pub fn run_under(
        &self,
        before: &[OsString],
        tool: Tool,
        directory: &Path,
        options: &[String],
    ) -> Result<Run, String> {
        let (stdout, stderr) = (directory.join("stdout"), directory.join("stderr"));
        let open = |path: &Path| {
            File::create(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let own = self.path(tool).as_os_str().to_owned();
        let args: Vec<&OsString> = before.iter().chain([&own]).collect();
        let mut command = Command::new(args[0]);
        command.args(&args[1..]);
        if tool == Tool::Fathom {
            command.args(["run", "--no-store"]);
        }
        command
            .arg("--name=bench")
            .args(options)
            .arg("--output-format=json+")
            .current_dir(directory);
        command
            .stdin(Stdio::null())
            .stdout(open(&stdout)?)
            .stderr(open(&stderr)?);
        let mut run = time(command)?;
        run.json = parse(&stdout).ok_or_else(|| {
            let message = std::fs::read_to_string(&stderr).unwrap_or_default();
            format!(
                "{tool:?} printed no result: {}",
                message.lines().next().unwrap_or("no message")
            )
        })?;
        Ok(run)
    }

    /// The code that permits fathom to overwrite `file`, which belongs to this benchmark and was
    /// written by the other program.
    pub fn code_for(&self, file: &Path) -> Option<String> {
        let output = Command::new(&self.fathom)
            .arg("devices")
            .arg(file)
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("code"))?;
        line.split_whitespace().next().map(str::to_owned)
    }
}

/// Builds fathom with the profile of this program.
fn build(directory: &Path) -> Result<(), String> {
    // The toolchain of this program, also when cargo did not start it: the default toolchain may be
    // another one.
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| env!("CARGO").to_owned());
    let mut command = Command::new(&cargo);
    if let Some(toolchain) = option_env!("RUSTUP_TOOLCHAIN") {
        command.env("RUSTUP_TOOLCHAIN", toolchain);
    }
    command.args(["build", "--quiet", "--package", "fathom", "--manifest-path"]);
    command
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        .env("CARGO_TARGET_DIR", directory.join(".."));
    if directory.ends_with("release") {
        command.arg("--release");
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("building fathom failed: {status}")),
        Err(error) => Err(format!("cannot run {cargo}: {error}")),
    }
}

/// Runs a command to its end. No other child may run at the same time, because its CPU time would
/// be counted.
pub fn time(mut command: Command) -> Result<Run, String> {
    let (user, system) = cpu()?;
    let start = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    let (succeeded, memory) = watch(&mut child)?;
    let (resident, whole) = memory.into_iter().unzip();
    let wall = start.elapsed();
    let (user_after, system_after) = cpu()?;
    Ok(Run {
        succeeded,
        wall,
        user_us: user_after - user,
        system_us: system_after - system,
        resident,
        whole,
        json: Value::Null,
    })
}

/// Waits for a program; samples its memory only after a while, so that a short run is not
/// disturbed. Returns whether it succeeded, and the samples.
fn watch(child: &mut Child) -> Result<(bool, Vec<(u64, u64)>), String> {
    let mut resident = Vec::new();
    let failed = |error: std::io::Error| format!("waiting: {error}");
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok((status.success(), resident));
        }
        if start.elapsed() < SAMPLE_INTERVAL * 10 {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        }
        resident.push(of_family(child.id()));
        std::thread::sleep(SAMPLE_INTERVAL);
    }
}

/// Resident KiB of a process and its children: anonymous and total.
fn of_family(pid: u32) -> (u64, u64) {
    let children =
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children
        .split_whitespace()
        .filter_map(|word| word.parse().ok());
    children
        .chain([pid])
        .map(resident)
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

fn resident(pid: u32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
            .unwrap_or(0)
    };
    (of("RssAnon:"), of("VmRSS:"))
}

/// User and system time of all children so far, microseconds.
fn cpu() -> Result<(f64, f64), String> {
    let usage =
        getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("getrusage: {error}"))?;
    Ok((
        usage.user_time().num_microseconds() as f64,
        usage.system_time().num_microseconds() as f64,
    ))
}

/// fio may print a message before its JSON.
fn parse(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).ok()?;
    let start = text.find('{')?;
    serde_json::from_str(&text[start..]).ok()
}
