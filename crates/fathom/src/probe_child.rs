//! Whether the targets of a plan answer, tried by a process of its own before this one opens them: a process that waits for a
//! device that hangs cannot be ended.

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

/// Says to the child that it is one.
const MARK: &str = "FATHOM_KNOCKS";
/// A disk that slept needs ten seconds or so to turn.
const PATIENCE: Duration = Duration::from_secs(15);
/// After this long the user learns what is waited for.
const NOTICE: Duration = Duration::from_secs(2);
/// How often an interrupt is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The targets, where this process was started to try them.
pub fn wanted() -> Option<Vec<OsString>> {
    std::env::var_os(MARK).map(|_| std::env::args_os().skip(1).collect())
}

/// The child: a byte for each target that answered, in their order.
pub fn run(targets: &[OsString]) -> Outcome {
    let mut out = std::io::stdout();
    for target in targets {
        probe_responds(Path::new(target));
        // A parent that is gone needs no answer.
        if out.write_all(b".").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    Outcome::Good
}

/// Waits until every target of `plan` has answered.
///
/// # Errors
/// The target that has not, in words.
pub fn all_answer(plan: &Plan) -> Result<(), String> {
    answer(&targets(plan), plan.personality == Personality::Fathom)
}

/// The same of some targets; with `tell`, what is waited for long is said.
///
/// # Errors
/// As [`all_answer`].
pub fn answer(targets: &[PathBuf], tell: bool) -> Result<(), String> {
    // Without a child nobody can try; those who open the target find out.
    let Some((mut child, answers)) = child(targets) else {
        return Ok(());
    };
    let heard = listen(answers);
    for target in targets {
        match apply_device_pages(&heard, target, tell) {
            Heard::Answer => {}
            Heard::End => break,
            Heard::Nothing(why) => {
                // It ends when the device answers; nobody waits for that.
                let _ = child.kill();
                return Err(why);
            }
        }
    }
    let _ = child.wait();
    Ok(())
}

/// One name in each folder, since its files are on one device, and all in `/dev`.
fn targets(plan: &Plan) -> Vec<PathBuf> {
    let mut folders = BTreeSet::new();
    let paths = plan.jobs.iter().flat_map(|job| &job.files.paths);
    paths
        .filter(|path| {
            folders.insert(if path.starts_with("/dev") {
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
    let answers = child.stdout.take()?;
    Some((child, answers))
}

fn listen(mut answers: ChildStdout) -> Receiver<()> {
    let (send, heard) = channel();
    std::thread::spawn(move || {
        let mut byte = [0];
        while answers.read_exact(&mut byte).is_ok() && send.send(()).is_ok() {}
    });
    heard
}

enum Heard {
    Answer,
    /// The child is gone: it cannot try, or was told to end.
    End,
    Nothing(String),
}

fn apply_device_pages(heard: &Receiver<()>, target: &Path, mut tell: bool) -> Heard {
    let begun = Instant::now();
    loop {
        match heard.recv_timeout(LOOK) {
            Ok(()) => return Heard::Answer,
            Err(RecvTimeoutError::Disconnected) => return Heard::End,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let (waited, name) = (begun.elapsed(), target.display().to_string());
        let name = name.escape_debug();
        if interrupts().load(Relaxed) > 0 {
            return Heard::Nothing(format!("{name} has not answered; nothing was begun"));
        }
        if waited >= PATIENCE {
            let timeout = PATIENCE.as_secs();
            return Heard::Nothing(format!(
                "{name} did not answer within {timeout} s when it was opened and read; nothing was begun. The kernel's log (dmesg) may say what its device waits for"
            ));
        }
        if waited >= NOTICE && std::mem::take(&mut tell) {
            eprint_line!(
                "fathom: {name} does not answer; waiting for it for up to {} s",
                PATIENCE.as_secs()
            );
        }
    }
}
