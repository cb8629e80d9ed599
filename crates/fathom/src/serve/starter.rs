//! Runs that `fathom serve --allow-run` starts: on listed paths, in a process of their own, one at a time.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fathom_cli::StoreSource;
use fathom_serve::{CheckedJob, Starter};

use super::secret;

/// Jobs that were shown and may be started.
const CHECKED: usize = 16;
/// How long a run may take to fail before it counts as started.
const FIRST: Duration = Duration::from_secs(2);
/// Bytes of the messages of a run.
const MESSAGES: u64 = 16 << 10;

/// A path of `--allow-run`.
#[derive(Debug)]
struct Allowed {
    /// Without symbolic links.
    path: PathBuf,
    identity: Identity,
}

/// Device, inode and birth of a file, whose inode may be used again; or the number of a block device.
type Identity = (u64, u64, Option<SystemTime>);

/// A job that was shown.
#[derive(Debug)]
struct Shown {
    key: String,
    place: usize,
    file: String,
}

#[derive(Debug, Default)]
struct State {
    shown: VecDeque<Shown>,
    running: Option<Child>,
}

/// A process to start: its arguments, its standard input, and where the process goes.
type Ask = (Vec<String>, String, SyncSender<std::io::Result<Child>>);

/// See [`Starter`].
#[derive(Debug)]
pub struct Runs {
    allowed: Vec<Allowed>,
    names: Vec<String>,
    store: Vec<String>,
    /// A thread with the priority that the server had at its start: processes inherit that of the thread that starts them.
    thread: Mutex<Sender<Ask>>,
    state: Mutex<State>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(path: &Path) -> Result<Identity, String> {
    let facts = std::fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    match facts.file_type() {
        kind if kind.is_file() => Ok((facts.dev(), facts.ino(), facts.created().ok())),
        kind if kind.is_block_device() => Ok((facts.rdev(), 0, None)),
        kind if kind.is_dir() => Err("it is a directory: name a file in it".to_owned()),
        _ => Err("it is neither a file nor a block device".to_owned()),
    }
}

fn allowed(path: &Path) -> Result<Allowed, String> {
    let shown = path.display().to_string();
    let wrong = |problem: String| format!("--allow-run: {}: {problem}", shown.escape_debug());
    let real = path
        .canonicalize()
        .map_err(|error| wrong(format!("{error}; create the file or name a device")))?;
    let is_plain = real.to_str().is_some_and(|path| {
        path.chars()
            .all(|c| c.is_alphanumeric() || "/._-:@+,=".contains(c))
    });
    if !is_plain {
        return Err(wrong(
            "a path may have letters, digits and / . _ - : @ + , = only".to_owned(),
        ));
    }
    let identity = identity(&real).map_err(wrong)?;
    Ok(Allowed {
        path: real,
        identity,
    })
}

impl Runs {
    /// Runs on these paths, stored in this store. Call it before the priority of the server is lowered.
    ///
    /// # Errors
    /// When a path is not usable.
    pub fn new(paths: &[PathBuf], store: &StoreSource) -> Result<Runs, String> {
        let allowed = paths
            .iter()
            .map(|path| allowed(path))
            .collect::<Result<Vec<_>, _>>()?;
        let (thread, asks) = channel::<Ask>();
        std::thread::Builder::new()
            .name("starter".into())
            .spawn(move || {
                for (arguments, input, reply) in asks {
                    let _ = reply.send(spawn(&arguments, &input));
                }
            })
            .map_err(|error| format!("--allow-run: {error}"))?;
        Ok(Runs {
            names: allowed
                .iter()
                .map(|one| one.path.display().to_string())
                .collect(),
            allowed,
            // The other names of a store are in the environment, which the process inherits.
            store: store
                .store
                .iter()
                .map(|store| format!("--store={store}"))
                .collect(),
            thread: Mutex::new(thread),
            state: Mutex::default(),
        })
    }

    /// The path is still the file or device that was allowed.
    fn verify(&self, place: usize) -> Result<(), String> {
        let one = self.allowed.get(place).ok_or("the path is not allowed")?;
        if identity(&one.path).as_ref() == Ok(&one.identity) {
            Ok(())
        } else {
            Err(format!(
                "{} is not the file or device that it was when the server started: start the server again",
                one.path.display()
            ))
        }
    }

    fn run(&self, arguments: &[&str], input: &str) -> Result<Child, String> {
        let mut all: Vec<String> = ["run", "-"].map(str::to_owned).to_vec();
        all.extend(arguments.iter().map(|&argument| argument.to_owned()));
        let (reply, child) = sync_channel(1);
        let sent = locked(&self.thread).send((all, input.to_owned(), reply));
        let child = sent.ok().and_then(|()| child.recv().ok());
        child
            .unwrap_or_else(|| Err(std::io::ErrorKind::BrokenPipe.into()))
            .map_err(|error| format!("the run cannot be started: {error}"))
    }
}

fn spawn(arguments: &[String], input: &str) -> std::io::Result<Child> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut to) = child.stdin.take() {
        // A process that ended has its message on standard error.
        let _ = to.write_all(input.as_bytes());
    }
    Ok(child)
}

/// The first bytes of an output; the rest is read and dropped, so that the process never waits for a reader.
fn collect(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = from.by_ref().take(MESSAGES).read_to_end(&mut text);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        String::from_utf8_lossy(&text).trim().to_owned()
    })
}

fn outputs(child: &mut Child) -> [std::thread::JoinHandle<String>; 2] {
    let none = || std::thread::spawn(String::new);
    [
        child.stdout.take().map_or_else(none, collect),
        child.stderr.take().map_or_else(none, collect),
    ]
}

impl Starter for Runs {
    fn paths(&self) -> &[String] {
        &self.names
    }

    fn check(&self, place: usize, file: &str) -> Result<CheckedJob, String> {
        self.verify(place)?;
        let mut child = self.run(&["--dry-run"], file)?;
        let [printed, messages] = outputs(&mut child);
        let status = child.wait().map_err(|error| error.to_string())?;
        let text = |from: std::thread::JoinHandle<String>| from.join().unwrap_or_default();
        let (printed, messages) = (text(printed), text(messages));
        if !status.success() {
            return Err(messages);
        }
        let key = secret()?;
        let mut state = locked(&self.state);
        state.shown.truncate(CHECKED - 1);
        state.shown.push_front(Shown {
            key: key.clone(),
            place,
            file: file.to_owned(),
        });
        let text = [printed, messages].join("\n").trim().to_owned();
        Ok(CheckedJob { key, text })
    }

    fn start(&self, key: &str) -> Result<(), String> {
        let mut state = locked(&self.state);
        if let Some(child) = &mut state.running
            && matches!(child.try_wait(), Ok(None))
        {
            return Err("another run that was started here is in progress".to_owned());
        }
        let shown = state.shown.iter().position(|shown| shown.key == key);
        let shown = shown
            .and_then(|at| state.shown.remove(at))
            .ok_or("this job was started already, or is too old: check it again")?;
        self.verify(shown.place)?;
        let mut arguments = vec!["--quiet"];
        arguments.extend(self.store.iter().map(String::as_str));
        let mut child = self.run(&arguments, &shown.file)?;
        let [_, messages] = outputs(&mut child);
        let step = Duration::from_millis(50);
        for _ in 0..FIRST.as_millis() / step.as_millis() {
            match child.try_wait() {
                // 1: it measured, with a finding that makes the result invalid.
                Ok(Some(status)) if matches!(status.code(), Some(0 | 1)) => return Ok(()),
                Ok(Some(_)) => return Err(messages.join().unwrap_or_default()),
                _ => std::thread::sleep(step),
            }
        }
        state.running = Some(child);
        Ok(())
    }

    fn stop(&self) -> Result<(), String> {
        let mut state = locked(&self.state);
        let Some(child) = &mut state.running else {
            return Ok(());
        };
        if matches!(child.try_wait(), Ok(None)) {
            let id = rustix::process::Pid::from_child(child);
            rustix::process::kill_process(id, rustix::process::Signal::INT)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn is_running(&self) -> bool {
        let mut state = locked(&self.state);
        let running = state.running.as_mut();
        running.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}
