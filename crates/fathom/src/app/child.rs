//! The process that prepares and runs a database: a child of fathom, so that it has a control group of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use fathom_app::{AppError, AppSpec, Measured, Probe, Usage, log_folder_of, remove_folder};
use fathom_linux::{LinuxHost, OutputName, Outputs, interrupts, process_totals};
use fathom_load::Host;
use fathom_model::DiskCounters;
use serde_json::{Value, json};

use super::streams;
use crate::outcome::Outcome;
use crate::result_store::process_started;
use crate::this_machine::start_clock;

/// The task of such a child, as JSON.
const VARIABLE: &str = "FATHOM_APP_TASK";
/// The answer of a child, in its folder.
const ANSWER: &str = "answer.json";

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Creates the database.
    Prepare,
    /// Runs the transactions.
    Run,
}

/// The answer of a child.
pub enum Answer {
    /// The database is prepared.
    Prepared,
    /// The transactions have run.
    Measured(Box<Measured>),
    /// It failed.
    Failed(String),
    /// The user interrupted.
    Interrupted,
}

/// The variable that makes a process of fathom such a child.
pub fn variable(phase: Phase, spec: &AppSpec, folder: &Path) -> (String, String) {
    let owner = std::process::id();
    let task = json!({
        "run": phase == Phase::Run,
        "spec": spec,
        "folder": folder,
        "owner": owner,
        "owner_started": process_started(owner),
    });
    (VARIABLE.to_owned(), task.to_string())
}

/// The task, when this process is such a child.
pub fn wanted() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

struct Machine {
    host: LinuxHost,
    folder: PathBuf,
    owner: u32,
    owner_started: Option<String>,
}

impl Machine {
    /// fathom was killed: nobody reads the answer, and nobody else removes the database.
    fn is_alone(&self) -> bool {
        process_started(self.owner) != self.owner_started
    }
}

impl Probe for Machine {
    fn disks(&self) -> Vec<(String, DiskCounters)> {
        self.host.disks(std::slice::from_ref(&self.folder))
    }

    fn log_disks(&self) -> Vec<(String, DiskCounters)> {
        log_folder_of(&self.folder).map_or_else(Vec::new, |log| self.host.disks(&[log]))
    }

    fn usage(&self, process: u32) -> Usage {
        let (io, user, system) = process_totals(process);
        Usage { io, user, system }
    }

    fn stop(&self) -> bool {
        interrupts().load(Relaxed) > 0 || self.is_alone()
    }

    fn measured_time(&self, begins: bool) {
        streams::announce(&self.folder, begins, &|| self.stop());
    }
}

/// Carries out a task.
pub fn run(task: &str) -> Outcome {
    interrupts();
    let Some((machine, spec, runs)) = parse(task) else {
        return Outcome::Refused;
    };
    let folder = machine.folder.clone();
    let answer = if runs {
        fathom_app::run(&spec, &folder, &machine).map(|measured| {
            let good = measured.error.is_none();
            (json!({ "measured": measured }), good)
        })
    } else {
        fathom_app::prepare(&spec, &folder, &machine).map(|()| (json!({ "prepared": true }), true))
    };
    if machine.is_alone() {
        let _ = remove_folder(&folder);
        return Outcome::Interrupted;
    }
    let (answer, outcome) = match answer {
        Ok((answer, true)) => (answer, Outcome::Good),
        Ok((answer, false)) => (answer, Outcome::Bad),
        Err(AppError::Interrupted) => (json!({ "interrupted": true }), Outcome::Interrupted),
        Err(error) => (json!({ "failed": error.to_string() }), Outcome::Bad),
    };
    let file = folder.join(ANSWER);
    let text = answer.to_string();
    let write = || Outputs::default().write(&file, OutputName::Explicit, text.as_bytes());
    // On a full disk the database has to make room for the answer.
    if write().is_err() {
        fathom_app::empty_folder(&folder);
        let _ = write();
    }
    outcome
}

fn parse(task: &str) -> Option<(Machine, AppSpec, bool)> {
    let task: Value = serde_json::from_str(task).ok()?;
    let spec = serde_json::from_value(task["spec"].clone()).ok()?;
    let machine = Machine {
        host: LinuxHost::new(start_clock()),
        folder: task["folder"].as_str()?.into(),
        owner: u32::try_from(task["owner"].as_u64()?).ok()?,
        owner_started: task["owner_started"].as_str().map(str::to_owned),
    };
    Some((machine, spec, task["run"].as_bool()?))
}

/// Reads the answer of a child that has ended, and removes it.
pub fn answer(folder: &Path) -> Answer {
    let file = folder.join(ANSWER);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    let Ok(mut answer) = serde_json::from_str::<Value>(&text) else {
        return Answer::Failed(
            "the process of the database was killed, or had no room for its result; with --memory, the limit may be too small"
                .to_owned(),
        );
    };
    if let Some(message) = answer["failed"].as_str() {
        return Answer::Failed(message.to_owned());
    }
    if answer["interrupted"] == true {
        return Answer::Interrupted;
    }
    if answer["prepared"] == true {
        return Answer::Prepared;
    }
    match serde_json::from_value(answer["measured"].take()) {
        Ok(measured) => Answer::Measured(Box::new(measured)),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
