//! Jobs of a tenant that the kernel limits: they run in a child process in a control group of its own, beside the other jobs of a
//! cell.
//!
//! The child reads its task from its standard input, opens and lays out the targets, and reports that it is ready. Then it waits
//! until the other jobs start. Its standard output carries its messages: one byte that says what follows, and at the end of its
//! life the recording or the error. Control groups of version 2 limit processes only, not single threads.

use std::cell::RefCell;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, sync_channel};

use fathom_linux::{LimitedGroup, interrupts};
use fathom_model::{EngineKind, Nanos, Plan, Program, Recording};
use fathom_plan::PlannedCell;
use fathom_store::{read_recording, write_recording};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::experiment::plan_cell;
use crate::guard::{self, Backups};
use crate::measure::{RunExtras, measure_and_store};
use crate::outcome::Outcome;
use crate::session::Session;

/// Set in the environment of such a child.
const MARK: &str = "FATHOM_LIMITED_JOBS";
/// The targets are ready.
const READY: u8 = b'r';
/// A recording follows.
const MEASURED: u8 = b'm';
/// The text of an error follows.
const FAILED: u8 = b'e';
/// The load begins.
const GO: &[u8] = b"g\n";

/// Whether the user interrupted.
fn is_interrupted() -> bool {
    interrupts().load(Relaxed) > 0
}

/// The limits of a tenant's jobs.
#[derive(Clone, Debug)]
pub struct JobLimits {
    /// The names of its jobs.
    pub sections: Vec<String>,
    /// Rates under the names of `io.max`.
    pub io_max: Vec<(String, u64)>,
    /// A path on the disk that is limited.
    pub directory: PathBuf,
}

/// The jobs of one tenant in their process, which is ready and waits.
pub struct LimitedJobs {
    /// Their places in the plan, with the jobs themselves.
    jobs: Vec<(usize, fathom_model::Job)>,
    child: Child,
    go: ChildStdin,
    answers: ChildStdout,
    _group: LimitedGroup,
}

impl LimitedJobs {
    /// Starts the process of the jobs that `limits` names, in the control group `name`. In `plan` jobs that only wait take their place.
    ///
    /// # Errors
    /// Why they cannot run.
    pub fn start(
        name: &str,
        cell: &PlannedCell,
        plan: &mut Plan,
        limits: &JobLimits,
        codes: &[String],
    ) -> Result<LimitedJobs, String> {
        let text = |error: std::io::Error| format!("cannot start a process: {error}");
        let group = LimitedGroup::create(name, &limits.directory, &limits.io_max)?;
        let mut child = Command::new(std::env::current_exe().map_err(text)?)
            .env(MARK, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(text)?;
        let (Some(go), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("cannot start a process: it has no pipes".to_owned());
        };
        let mut jobs = LimitedJobs {
            jobs: Vec::new(),
            child,
            go,
            answers,
            _group: group,
        };
        // It does nothing before it has its task.
        jobs._group
            .add(jobs.child.id())
            .map_err(|error| format!("cannot limit its I/O: {error}"))?;
        let task = task(cell, &limits.sections, codes).to_string() + "\n";
        jobs.go.write_all(task.as_bytes()).map_err(text)?;
        let mut first = [0];
        match jobs.answers.read_exact(&mut first) {
            Ok(()) if first[0] == READY => {}
            Ok(()) => return Err(jobs.rest()),
            Err(_) => return Err("its process ended before it began".to_owned()),
        }
        for (place, job) in plan.jobs.iter_mut().enumerate() {
            if limits.sections.contains(&job.name) {
                jobs.jobs.push((place, job.clone()));
                wait_instead(job);
            }
        }
        Ok(jobs)
    }

    /// The load starts.
    pub fn release(&self) {
        let _ = (&self.go).write_all(GO);
    }

    /// Waits for their end. What they recorded takes the place of the jobs that waited.
    ///
    /// # Errors
    /// Why they were not measured.
    pub fn finish(mut self, recording: &mut Recording) -> Result<(), String> {
        if is_interrupted() {
            self.signal(Signal::TERM);
        }
        let mut kind = [0];
        if self.answers.read_exact(&mut kind).is_err() {
            return Err("its process ended without a result".to_owned());
        }
        if kind[0] != MEASURED {
            return Err(self.rest());
        }
        let mut document = Vec::new();
        self.answers
            .read_to_end(&mut document)
            .map_err(|error| error.to_string())?;
        let own = read_recording(&document).map_err(|error| error.to_string())?;
        if own.jobs.len() != self.jobs.len() {
            return Err("its process recorded other jobs".to_owned());
        }
        for ((place, job), recorded) in self.jobs.drain(..).zip(own.jobs) {
            recording.plan.jobs[place] = job;
            recording.jobs[place] = recorded;
        }
        recording.elapsed = recording.elapsed.max(own.elapsed);
        // Where all jobs are limited, nothing else in the run has a target.
        if recording.targets.is_empty() {
            (recording.targets, recording.disks) = (own.targets, own.disks);
        }
        recording.messages.extend(own.messages);
        Ok(())
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32)
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = kill_process(pid, signal);
        }
    }

    /// The text of an error.
    fn rest(&mut self) -> String {
        let mut text = String::new();
        let _ = self.answers.read_to_string(&mut text);
        text
    }
}

/// A process that did not run to its end is ended, before its group is removed.
impl Drop for LimitedJobs {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A job of the same time without any I/O.
fn wait_instead(job: &mut fathom_model::Job) {
    job.engine.kind = EngineKind::Exec;
    job.engine.settings.program = Some(Program {
        path: "sleep".to_owned(),
        arguments: vec!["1000000000".to_owned()],
        grace: Nanos::ZERO,
        redirect: false,
    });
}

fn task(cell: &PlannedCell, sections: &[String], codes: &[String]) -> Value {
    json!({
        "key": cell.key,
        "source": cell.source,
        "job_file": cell.job_file,
        "settings": cell.settings,
        "targets": cell.targets,
        "sections": sections,
        "codes": codes,
    })
}

/// Whether this process is such a child.
pub fn is_wanted() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Carries out the task on the standard input.
pub fn run() -> Outcome {
    interrupts();
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).is_err() {
        return Outcome::Refused;
    }
    let Ok(task) = serde_json::from_str::<Value>(&line) else {
        return Outcome::Refused;
    };
    match carry_out(&task) {
        Ok(recording) => {
            send(MEASURED, &write_recording(&recording));
            Outcome::Good
        }
        Err(problem) => {
            send(FAILED, problem.as_bytes());
            Outcome::Refused
        }
    }
}

fn send(kind: u8, bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&[kind]);
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

fn carry_out(task: &Value) -> Result<Recording, String> {
    let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
    let list = |name: &str| -> Vec<String> {
        serde_json::from_value(task[name].clone()).unwrap_or_default()
    };
    let cell = PlannedCell {
        key: text("key"),
        source: text("source"),
        job_file: text("job_file"),
        settings: serde_json::from_value(task["settings"].clone()).unwrap_or_default(),
        targets: list("targets"),
        ..PlannedCell::default()
    };
    let session = Session::on_this_machine();
    let (mut plan, _) = plan_cell(&session, &cell).map_err(|error| error.to_string())?;
    let sections = list("sections");
    plan.jobs.retain(|job| sections.contains(&job.name));
    let codes = list("codes");
    let confirmed = guard::Confirmed::codes(&codes);
    let mut backups = Backups::new(Path::new("."));
    let (load, messages) = guard::open_targets(&session, &plan, &confirmed, &mut backups)
        .map_err(|refusals| refusals.join("\n"))?;
    let (parent, go) = Parent::watch();
    let go = RefCell::new(go);
    let (mut recording, _) = measure_and_store(
        load,
        plan,
        &mut |_| {},
        &mut |_| false,
        &mut |_, _| {},
        RunExtras {
            end: &|| parent.is_gone(),
            before_start: Some(&|| {
                send(READY, b"");
                let _ = go.borrow().recv();
            }),
            ..RunExtras::default()
        },
    )
    .map_err(|error| error.to_string())?;
    recording.messages.splice(0..0, messages);
    Ok(recording)
}

/// The process that started this one. Its end of the standard input closes when it ends.
struct Parent(Arc<AtomicBool>);

impl Parent {
    /// Watches it, and passes its word to begin on.
    fn watch() -> (Parent, Receiver<()>) {
        let gone = Arc::new(AtomicBool::new(false));
        let (begin, go) = sync_channel(1);
        let flag = Arc::clone(&gone);
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut line = String::new();
            if input.read_line(&mut line).is_ok_and(|read| read > 0) {
                let _ = begin.send(());
                let _ = input.read_line(&mut line);
            }
            flag.store(true, Relaxed);
        });
        (Parent(gone), go)
    }

    fn is_gone(&self) -> bool {
        self.0.load(Relaxed)
    }
}
