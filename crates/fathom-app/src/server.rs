//! Servers and load generators of the distribution's packages: started as an unprivileged user in a private folder, watched, and
//! ended with their last lines.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::folder::log_folder_of;
use crate::{AppError, AppSpec, Probe};

/// A server that is not ready after this time does not start.
const START: Duration = Duration::from_secs(60);
/// A server that still runs so long after it was asked to stop is killed.
pub(crate) const STOP: Duration = Duration::from_secs(30);
/// A program of a load that still runs so long after it was asked to stop is killed.
const STOP_LOAD: Duration = Duration::from_secs(2);
/// Time between two looks at a program.
pub(crate) const POLL: Duration = Duration::from_millis(10);
/// As many lines of a program are shown when it fails.
const LINES: usize = 12;
/// Longest address of a unix socket. See unix(7).
const LONGEST_SOCKET: usize = 107;

/// The last lines of a program.
type Lines = Arc<Mutex<VecDeque<String>>>;

/// A program that runs, in a process group of its own: a signal reaches all that it started.
pub(crate) struct Running {
    name: String,
    child: Child,
    lines: Lines,
    output: Option<JoinHandle<String>>,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn log(&self) -> String {
        // What it wrote last may still be in the pipe.
        std::thread::sleep(POLL * 5);
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        all.join("\n")
    }

    fn error(&self, status: String) -> AppError {
        AppError::Program {
            program: self.name.clone(),
            status,
            log: self.log(),
        }
    }

    pub(crate) fn failed(&self, status: ExitStatus) -> AppError {
        self.error(status.to_string())
    }

    /// How it ended, or `None` while it runs.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks it to end, and kills it if it does not.
    pub(crate) fn stop(&mut self, signal: Signal, patience: Duration) {
        let started = Instant::now();
        let group = Pid::from_raw(self.child.id() as i32);
        let send = |signal| group.map(|group| kill_process_group(group, signal));
        send(signal);
        while matches!(self.child.try_wait(), Ok(None)) {
            if started.elapsed() > patience {
                send(Signal::KILL);
            }
            std::thread::sleep(POLL);
        }
        // What it started and did not wait for.
        send(Signal::KILL);
    }

    /// Waits until it has ended, or the run is over; `true` for the second.
    pub(crate) fn wait(&mut self, probe: &dyn Probe) -> std::io::Result<(ExitStatus, bool)> {
        let mut interrupted = false;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok((status, interrupted));
            }
            if probe.stop() {
                interrupted = true;
                self.stop(Signal::INT, STOP_LOAD);
            }
            std::thread::sleep(POLL);
        }
    }

    /// What it wrote to its standard output, if that was kept; it has ended.
    pub(crate) fn output(&mut self) -> String {
        let output = self.output.take().map(JoinHandle::join);
        output.and_then(Result::ok).unwrap_or_default()
    }
}

fn keep_lines(from: impl Read + Send + 'static, lines: &Lines) {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(String::from_utf8_lossy(&line).into_owned());
        }
    });
}

/// The folder of an engine below the private folder, with what its programs need.
pub(crate) struct Place<'a> {
    pub(crate) folder: PathBuf,
    pub(crate) spec: &'a AppSpec,
    pub(crate) probe: &'a dyn Probe,
}

impl<'a> Place<'a> {
    /// `socket` is the name of its unix socket, which must not be too long.
    pub(crate) fn new(
        spec: &'a AppSpec,
        private: &Path,
        folder: &str,
        socket: &str,
        probe: &'a dyn Probe,
    ) -> Result<Place<'a>, AppError> {
        let folder = private.join(folder);
        let length = folder.join(socket).as_os_str().len();
        if length > LONGEST_SOCKET {
            return Err(AppError::Request(format!(
                "{}: the path is too long for a unix socket by {} bytes: give a shorter one",
                private.display(),
                length - LONGEST_SOCKET
            )));
        }
        Ok(Place {
            folder,
            spec,
            probe,
        })
    }

    /// Creates the folder, which belongs to the user of the server.
    pub(crate) fn create(&self) -> Result<(), AppError> {
        self.create_below("")
    }

    /// Creates a folder in it.
    pub(crate) fn create_below(&self, name: &str) -> Result<(), AppError> {
        self.create_folder(&self.folder.join(name))
    }

    /// The folder of the log, where that is on a path of its own.
    pub(crate) fn log_folder(&self) -> Option<PathBuf> {
        let private = log_folder_of(self.folder.parent()?)?;
        Some(private.join("log"))
    }

    /// Creates the folder of the log, where that is on a path of its own.
    pub(crate) fn create_log(&self) -> Result<Option<PathBuf>, AppError> {
        let log = self.log_folder();
        if let Some(log) = &log {
            self.create_folder(log)?;
        }
        Ok(log)
    }

    fn create_folder(&self, folder: &Path) -> Result<(), AppError> {
        DirBuilder::new()
            .mode(0o700)
            .create(folder)
            .map_err(|error| AppError::file(folder, "cannot be created", error))?;
        let Some((user, group)) = self.spec.user else {
            return Ok(());
        };
        chown(folder, Some(user), Some(group))
            .map_err(|error| AppError::file(folder, "cannot change the owner", error))
    }

    /// A program, as the user of the server.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .env("LC_ALL", "C")
            .env("HOME", &self.folder)
            .env_remove("PGOPTIONS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some((user, group)) = self.spec.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts a program; its last lines are kept, or all of its output and the last lines of its messages.
    pub(crate) fn spawn(
        &self,
        name: &str,
        mut command: Command,
        keep_output: bool,
    ) -> Result<Running, AppError> {
        let mut child = command.spawn().map_err(|error| {
            AppError::file(Path::new(command.get_program()), "cannot be started", error)
        })?;
        let lines = Lines::default();
        let mut output = None;
        if let Some(mut out) = child.stdout.take() {
            if keep_output {
                output = Some(std::thread::spawn(move || {
                    let mut bytes = Vec::new();
                    let _ = out.read_to_end(&mut bytes);
                    String::from_utf8_lossy(&bytes).into_owned()
                }));
            } else {
                keep_lines(out, &lines);
            }
        }
        if let Some(errors) = child.stderr.take() {
            keep_lines(errors, &lines);
        }
        Ok(Running {
            name: name.to_owned(),
            child,
            lines,
            output,
        })
    }

    /// Runs a program to its end.
    pub(crate) fn complete(&self, name: &str, command: Command) -> Result<(), AppError> {
        let mut running = self.spawn(name, command, false)?;
        let (status, interrupted) = running
            .wait(self.probe)
            .map_err(|error| AppError::file(Path::new(name), "cannot be waited for", error))?;
        if interrupted {
            return Err(AppError::Interrupted);
        }
        if status.success() {
            return Ok(());
        }
        let log = running.log();
        if log.contains("No space left on device") || log.contains("is full") {
            return Err(AppError::Full(self.folder.clone()));
        }
        Err(running.failed(status))
    }

    /// Starts a server, and waits until it answers.
    pub(crate) fn serve(
        &self,
        name: &str,
        command: Command,
        answers: &dyn Fn() -> bool,
    ) -> Result<Running, AppError> {
        let mut server = self.spawn(name, command, false)?;
        let started = Instant::now();
        loop {
            if let Some(status) = server.ended() {
                return Err(server.failed(status));
            }
            let stop = self.probe.stop();
            if stop || started.elapsed() > START {
                server.stop(Signal::QUIT, STOP);
                return Err(if stop {
                    AppError::Interrupted
                } else {
                    server.error("not ready after 60 s".to_owned())
                });
            }
            if answers() {
                return Ok(server);
            }
            std::thread::sleep(POLL * 5);
        }
    }
}

/// The output of a client that answers a query.
pub(crate) fn answer(engine: &'static str, mut client: Command) -> Result<String, AppError> {
    let output = client.output().map_err(|error| {
        AppError::file(Path::new(client.get_program()), "cannot be started", error)
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(AppError::Statement {
        engine,
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// What counters grew by; those that did not are left out.
pub(crate) fn since(
    before: &BTreeMap<String, f64>,
    after: BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    after
        .into_iter()
        .filter_map(|(name, after)| {
            let grown = after - before.get(&name).copied().unwrap_or(0.0);
            (grown > 0.0).then_some((name, grown))
        })
        .collect()
}

/// Wall clock, nanoseconds since 1970.
pub(crate) fn unix_now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_nanos() as u64)
}

/// Ends the server of a private folder whose run was killed: the process of `pid_file`, if it works on `data`.
pub(crate) fn end_server(pid_file: &Path, data: &Path, first: Signal) {
    let pid = || {
        let text = fs::read_to_string(pid_file).ok()?;
        let pid: u32 = text.lines().next()?.trim().parse().ok()?;
        // The number may belong to another process by now.
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let path = data.as_os_str().as_encoded_bytes();
        command
            .windows(path.len())
            .any(|part| part == path)
            .then(|| Pid::from_raw(pid as i32))?
    };
    let started = Instant::now();
    let mut signal = first;
    while let Some(pid) = pid() {
        let _ = rustix::process::kill_process(pid, signal);
        if started.elapsed() > STOP {
            return;
        }
        if started.elapsed() > STOP / 6 {
            signal = Signal::KILL;
        }
        std::thread::sleep(POLL * 5);
    }
}
