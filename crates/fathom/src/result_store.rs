//! Stores results as they arrive. A failure of the store never stops a run.

use std::path::Path;

use fathom_cli::{StoreOptions, StoreSource};
use fathom_load::IntervalSink;
use fathom_model::{
    CellContent, CellState, Experiment, Findings, Plan, Recording, Run, RunEnd, RunId, RunState,
    StoredCell,
};
use fathom_store::{Journal, Store, StoreError};

use crate::print::{eprint_line, note_line};

/// Opens the store that a command reads.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn open_store(source: &StoreSource) -> Result<Store, String> {
    let path = source
        .path()?
        .ok_or("no store to read: --store or FATHOM_STORE is set to none")?;
    Store::open_existing(&path).map_err(|error| error.to_string())
}

/// Writes a run to the store. A failure is reported once, and the run continues without the store.
pub struct RunWriter {
    program: &'static str,
    store_run: Option<(Store, RunId)>,
}

impl RunWriter {
    /// Opens the store and records that the run began.
    pub fn begin(
        program: &'static str,
        options: &StoreOptions,
        experiment: &Experiment,
    ) -> RunWriter {
        let mut writer = RunWriter {
            program,
            store_run: None,
        };
        match options.path() {
            Ok(None) => {}
            Ok(Some(path)) => match open_and_begin(&path, experiment) {
                Ok(store_run) => writer.store_run = Some(store_run),
                Err(error) => writer.report_error(&error.to_string()),
            },
            Err(error) => writer.report_error(&error),
        }
        writer
    }

    fn report_error(&self, error: &str) {
        eprint_line!("{}: the result is not stored: {error}", self.program);
    }

    /// Uses the store; after a failure it is not used again.
    fn with(&mut self, act: impl FnOnce(&mut Store, RunId) -> Result<(), StoreError>) {
        let Some((store, run)) = &mut self.store_run else {
            return;
        };
        if let Err(error) = act(store, *run) {
            self.report_error(&error.to_string());
            self.store_run = None;
        }
    }

    /// Stores the plan of the cell, and creates a journal for its intervals. A failure is reported once, and the run continues.
    pub fn journal(&mut self, plan: &Plan) -> Option<IntervalSink> {
        let (cell, content) = new_cell(plan);
        let mut journal = None;
        self.with(|store, run| {
            store.save_cell(run, &cell, &content)?;
            journal = Some(Journal::open(Path::new(store.path()), run, cell.position)?);
            Ok(())
        });
        journal.map(|journal| journal_of(self.program, journal))
    }

    /// Nothing was measured: removes the run.
    pub fn forget(mut self) {
        self.with(|store, run| store.remove(run));
    }

    /// Stores the only cell of a run, with the run's end, and prints its name.
    pub fn finish(
        mut self,
        recording: Recording,
        findings: &Findings,
        more_facts: Vec<(String, String)>,
    ) {
        let (state, end) = match findings.end {
            RunEnd::Completed => (CellState::Finished, RunState::Finished),
            RunEnd::Interrupted | RunEnd::Aborted => (CellState::Interrupted, RunState::Stopped),
        };
        let cell = cell_of(&recording, findings, state);
        let facts = facts_of(&recording).into_iter().chain(more_facts).collect();
        self.with(|store, run| {
            store.save_cell(run, &cell, &CellContent::Recording(Box::new(recording)))?;
            store.set_facts(run, facts)?;
            store.finish(run, end, unix_now_ns())
        });
        if let Some((_, run)) = &self.store_run {
            note_line!("{}: stored as {run}: fathom show {run}", self.program);
        }
    }
}

/// A cell that is about to be measured as `plan`, with its content so far.
pub fn new_cell(plan: &Plan) -> (StoredCell, CellContent) {
    let started_unix_ns = unix_now_ns();
    let empty_recording = fathom_load::rebuild_recording(plan.clone(), started_unix_ns, Vec::new());
    (
        StoredCell {
            state: CellState::Running,
            started_unix_ns,
            ..StoredCell::default()
        },
        CellContent::Recording(Box::new(empty_recording)),
    )
}

/// Passes intervals to `journal`. A failure is reported once, and the run continues.
pub fn journal_of(program: &'static str, journal: Journal) -> IntervalSink {
    let mut journal = Some(journal);
    Box::new(move |intervals| {
        if let Some(Err(error)) = journal.as_mut().map(|journal| journal.add(intervals)) {
            eprint_line!("{program}: intervals are not stored before the end of the run: {error}");
            journal = None;
        }
    })
}

fn open_and_begin(path: &Path, experiment: &Experiment) -> Result<(Store, RunId), StoreError> {
    let mut store = Store::open(path)?;
    let run = store.begin(experiment)?;
    report_full_disk(
        &store,
        &format!("`fathom show {run}` shows what was measured so far"),
    );
    Ok((store, run))
}

/// Sets the message for a file system that has no room for a page of the store (regression 0278).
pub fn report_full_disk(store: &Store, then: &str) {
    fathom_linux::sigbus_handler(format!(
        "fathom: no space left for the store {}: free some space there; {then}",
        store.path()
    ));
}

/// The only cell of a run, or one of several whose position and axes the caller sets.
pub fn cell_of(recording: &Recording, findings: &Findings, state: CellState) -> StoredCell {
    StoredCell {
        state,
        started_unix_ns: recording.started_unix_ns,
        elapsed_ns: recording.elapsed.get(),
        verdict: findings.verdict.name().to_owned(),
        figures: fathom_analyse::headline(findings),
        findings: fathom_analyse::found(findings),
        ..StoredCell::default()
    }
}

/// A run that starts now in this process.
pub fn experiment(kind: &str, name: String, plan: String) -> Experiment {
    Experiment {
        kind: kind.to_owned(),
        name,
        command: std::env::args().collect(),
        plan,
        facts: vec![
            ("fathom".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("host".to_owned(), host()),
        ],
        planned: 1,
        owner: owner(),
        created_unix_ns: unix_now_ns(),
    }
}

/// The name of a run of jobs: its job files, or its first job.
pub fn name_of(plan: &Plan) -> String {
    let first = || {
        plan.jobs
            .first()
            .map_or(String::new(), |job| job.name.clone())
    };
    if plan.sources.is_empty() {
        first()
    } else {
        plan.sources.join(" ")
    }
}

/// Where it was measured, for filters and comparisons.
pub fn facts_of(recording: &Recording) -> Vec<(String, String)> {
    let mut facts = vec![
        ("fathom".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("host".to_owned(), host()),
        ("kernel".to_owned(), recording.host.kernel.clone()),
        ("cpus".to_owned(), recording.host.cpus.to_string()),
    ];
    if let Some(target) = recording.targets.first() {
        facts.push(("target".to_owned(), target.path.display().to_string()));
        let device = target.devices.last().map(|device| &device.before);
        let who = device.map(|device| {
            [
                &device.identity.model,
                &device.identity.serial,
                &device.identity.firmware,
            ]
        });
        let words: Vec<&str> = who
            .into_iter()
            .flatten()
            .flatten()
            .map(String::as_str)
            .collect();
        if let Some(device) = device {
            facts.push(("disk".to_owned(), device.name.clone()));
        }
        if !words.is_empty() {
            facts.push(("device".to_owned(), words.join(" ")));
        }
    }
    facts
}

fn line_of(path: &str) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn host() -> String {
    line_of("/proc/sys/kernel/hostname")
}

/// When a live process started, in clock ticks since the boot: field 22 of proc_pid_stat(5), the 20th after the name.
/// A killed process that was not waited for is still listed, as a zombie (regression 0181).
fn started(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let lives = !matches!(fields.next(), Some("Z" | "X"));
    fields.nth(18).filter(|_| lives).map(str::to_owned)
}

/// This process, so that this host can later check whether it is alive: host, boot, process and its start.
pub fn owner() -> String {
    let pid = std::process::id().to_string();
    let started = started(&pid).unwrap_or_default();
    format!(
        "{} {} {pid} {started}",
        host(),
        line_of("/proc/sys/kernel/random/boot_id")
    )
}

/// Whether the process that measures a run was killed. Processes of other hosts are unknown.
pub fn was_killed(run: &Run) -> bool {
    let words: Vec<&str> = run.experiment.owner.split(' ').collect();
    let [on, boot, pid, start] = words[..] else {
        return run.state == RunState::Running;
    };
    let other_host = on != host();
    run.state == RunState::Running
        && !other_host
        && (boot != line_of("/proc/sys/kernel/random/boot_id")
            || started(pid).as_deref() != Some(start))
}

/// The other host that measures a run, if the store records one.
pub fn other_host(run: &Run) -> Option<&str> {
    let on = run
        .experiment
        .owner
        .split(' ')
        .next()
        .filter(|on| !on.is_empty())?;
    (run.state == RunState::Running && on != host()).then_some(on)
}

/// The wall clock.
pub fn unix_now_ns() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |now| now.as_nanos() as u64)
}
