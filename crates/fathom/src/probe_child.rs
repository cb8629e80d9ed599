//! Checks in a child process that the targets of a plan respond, before this process opens them: a process that waits for a
//! hanging device cannot be killed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use fathom_linux::{interrupts, probe_responds};
use fathom_model::{Personality, Plan};

use crate::outcome::Outcome;
use crate::print::eprint_line;

/// Set in the environment of the child.
const MARK: &str = "FATHOM_PROBE_CHILD";
/// A disk that spins up needs about ten seconds.
const TIMEOUT: Duration = Duration::from_secs(15);
/// After this time a slow target is reported.
const NOTICE: Duration = Duration::from_secs(2);
/// How often interrupts are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The targets to probe, when this process is such a child.
pub fn wanted() -> Option<Vec<OsString>> {
    std::env::var_os(MARK).map(|_| std::env::args_os().skip(1).collect())
}

/// The child: writes a byte for each target that responds, in their order.
pub fn run(targets: &[OsString]) -> Outcome {
    let mut out = std::io::stdout();
    for target in targets {
        probe_responds(Path::new(target));
        // Without a parent nobody reads the answer.
        if out.write_all(b".").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    Outcome::Good
}

/// Waits until every target of `plan` has responded.
///
/// # Errors
/// When a target does not respond, with its name.
pub fn probe_targets(plan: &Plan) -> Result<(), String> {
    answer(&targets(plan), plan.personality == Personality::Fathom)
}

/// The same for some targets; with `notify`, a slow target is reported.
///
/// # Errors
/// As [`probe_targets`].
pub fn answer(targets: &[PathBuf], notify: bool) -> Result<(), String> {
    // Without a child the targets are not probed. Opening them shows whether they respond.
    let Some((mut child, child_output)) = child(targets) else {
        return Ok(());
    };
    let Ok(answers) = read_answers(child_output) else {
        // Without a thread nobody can wait for the child.
        let _ = child.kill();
        return Ok(());
    };
    for target in targets {
        match wait_for(&answers, target, notify) {
            Response::Answer => {}
            Response::End => break,
            Response::NoAnswer(why) => {
                // The child ends when the device responds.
                let _ = child.kill();
                return Err(why);
            }
        }
    }
    let _ = child.wait();
    Ok(())
}

/// One path in each directory, since its files are on one device, and all in `/dev`.
fn targets(plan: &Plan) -> Vec<PathBuf> {
    let mut directories = BTreeSet::new();
    let paths = plan.jobs.iter().flat_map(|job| &job.files.paths);
    paths
        .filter(|path| {
            directories.insert(if path.starts_with("/dev") {
                Some(path.as_path())
            } else {
                path.parent()
            })
        })
        .cloned()
        .collect()
}

fn child(targets: &[PathBuf]) -> Option<(Child, ChildStdout)> {
    if targets.is_empty() {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().ok()?);
    command
        .args(targets)
        .env(MARK, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let child_output = child.stdout.take()?;
    Some((child, child_output))
}

fn read_answers(mut child_output: ChildStdout) -> std::io::Result<Receiver<()>> {
    let (send, answers) = channel();
    std::thread::Builder::new().spawn(move || {
        let mut byte = [0];
        while child_output.read_exact(&mut byte).is_ok() && send.send(()).is_ok() {}
    })?;
    Ok(answers)
}

enum Response {
    Answer,
    /// The child has ended.
    End,
    NoAnswer(String),
}

fn wait_for(answers: &Receiver<()>, target: &Path, mut notify: bool) -> Response {
    let started = Instant::now();
    loop {
        match answers.recv_timeout(POLL_INTERVAL) {
            Ok(()) => return Response::Answer,
            Err(RecvTimeoutError::Disconnected) => return Response::End,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let (waited, name) = (started.elapsed(), target.display().to_string());
        let name = name.escape_debug();
        if interrupts().load(Relaxed) > 0 {
            return Response::NoAnswer(format!("{name} has not answered; run not started"));
        }
        if waited >= TIMEOUT {
            let timeout = TIMEOUT.as_secs();
            return Response::NoAnswer(format!(
                "{name} did not answer within {timeout} s when it was opened and read; run not started. The kernel log (dmesg) may say why"
            ));
        }
        if waited >= NOTICE && std::mem::take(&mut notify) {
            eprint_line!(
                "fathom: {name} does not answer; waiting for it for up to {} s",
                TIMEOUT.as_secs()
            );
        }
    }
}
