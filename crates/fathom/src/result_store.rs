//! Stores results as they arrive. A failure of the store never stops a run.

use std::path::{Path, PathBuf};

use fathom_cli::{StoreOptions, StoreSource};
use fathom_load::IntervalSink;
use fathom_model::{
    CellContent, CellState, Direction, EarlierRuns, Experiment, Findings, Plan, Recording, Run,
    RunEnd, RunId, RunState, StoredCell, simulated_facts,
};
use fathom_store::{Journal, ListFilter, ListedRun, Store, StoreError, without_password};

use crate::print::{eprint_line, note_line};
use crate::session::Session;

/// Earlier runs of a load that tell what is usual.
const MIN_EARLIER_RUNS: usize = 3;
/// Runs of the same name, the newest, among which earlier ones are searched.
const MAX_EARLIER_RUNS: u32 = 100;
/// Facts that are equal where a load ran on the same device.
const FACTS_OF_SAME_TARGET: [&str; 6] = ["host", "target", "disk", "device", "simulated", "build"];

/// Opens the store that a command reads.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn open_store(source: &StoreSource) -> Result<Store, String> {
    let path = source
        .path()?
        .ok_or("no store to read: --store or FATHOM_STORE is set to `none`")?;
    Store::open_existing(&path).map_err(|error| error.to_string())
}

/// The store that a command writes to, if any. A build without a store writes to none unless one is named.
///
/// # Errors
/// When the default path cannot be determined.
pub fn store_path(options: &StoreOptions) -> Result<Option<PathBuf>, String> {
    if cfg!(feature = "store") || options.source.is_named() {
        options.path()
    } else {
        Ok(None)
    }
}

/// Writes a run to the store. A failure is reported once, and the run continues without the store.
pub struct RunWriter {
    session: Session,
    program: &'static str,
    open: Option<(Store, RunId)>,
}

impl RunWriter {
    /// Opens the store and records that the run began.
    pub fn begin(
        session: &Session,
        program: &'static str,
        options: &StoreOptions,
        experiment: &Experiment,
    ) -> RunWriter {
        let mut writer = RunWriter {
            session: session.clone(),
            program,
            open: None,
        };
        match store_path(options) {
            Ok(None) => {}
            Ok(Some(path)) => match open_and_begin(&path, &labelled(experiment, options)) {
                Ok(open) => writer.open = Some(open),
                Err(error) => writer.report(&error.to_string()),
            },
            Err(message) => writer.report(&message),
        }
        writer
    }

    /// Goes on with a stored run whose process was killed.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn resume(
        session: &Session,
        program: &'static str,
        mut store: Store,
        run: RunId,
    ) -> Result<RunWriter, StoreError> {
        store.resume(run, &owner())?;
        report_full_disk(&store, &format!("resume with `fathom resume {run}`"));
        Ok(RunWriter {
            session: session.clone(),
            program,
            open: Some((store, run)),
        })
    }

    /// Stores the plan of the only cell, with facts by which the run can go on elsewhere. They are replaced at its end.
    pub fn start(&mut self, plan: &Plan, facts: Vec<(String, String)>) {
        let (cell, content) = starting_cell(&self.session, plan);
        self.with(|store, run| {
            store.save_cell(run, &cell, &content)?;
            let known = store.run(&run.to_string())?.experiment.facts;
            store.set_facts(run, known.into_iter().chain(facts).collect())
        });
    }

    fn report(&self, message: &str) {
        eprint_line!("{}: the result is not stored: {message}", self.program);
    }

    /// Uses the store; after a failure it is not used again.
    fn with(&mut self, act: impl FnOnce(&mut Store, RunId) -> Result<(), StoreError>) {
        let Some((store, run)) = &mut self.open else {
            return;
        };
        if let Err(error) = act(store, *run) {
            self.report(&error.to_string());
            self.open = None;
        }
    }

    /// Stores the plan of the cell, and creates a journal for its intervals. A failure is reported once, and the run continues.
    pub fn journal(&mut self, plan: &Plan) -> Option<IntervalSink> {
        let (cell, content) = starting_cell(&self.session, plan);
        let mut journal = None;
        self.with(|store, run| {
            store.save_cell(run, &cell, &content)?;
            journal = Some(Journal::beside(store, run, cell.position)?);
            Ok(())
        });
        journal.map(|journal| journal_sink(self.program, journal))
    }

    /// What earlier runs of the same load on the same device reached, for comparison; `None` with fewer than three, without a store, and for a
    /// run that did not complete.
    pub fn earlier_runs(&mut self, recording: &Recording) -> Option<EarlierRuns> {
        if recording.end != RunEnd::Completed {
            return None;
        }
        let facts = run_facts(recording);
        let mut found = None;
        self.with(|store, run| {
            found = Some(find_earlier_runs(store, run, &facts)?);
            Ok(())
        });
        let direction = busiest_direction(recording)?;
        let figure = format!("{} iops", direction.name());
        let mut rates: Vec<f64> = found?
            .iter()
            .filter_map(|listed| {
                let mut figures = listed.figures.iter();
                figures
                    .find(|(name, _)| *name == figure)
                    .map(|(_, value)| *value)
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        (rates.len() >= MIN_EARLIER_RUNS).then(|| EarlierRuns {
            count: rates.len() as u32,
            median_iops: rates[rates.len() / 2],
            least_iops: rates[0],
        })
    }

    /// Removes the run, since nothing was measured.
    pub fn remove(mut self) {
        self.with(fathom_store::Store::remove);
    }

    /// Stores a cell of a run that has several, with its values on the axes and its figures for lists.
    pub fn add_cell(
        &mut self,
        position: u64,
        axes: Vec<(String, String)>,
        figures: Vec<(String, f64)>,
        recording: Recording,
        findings: &Findings,
    ) {
        let state = match findings.end {
            RunEnd::Completed => CellState::Finished,
            RunEnd::Interrupted | RunEnd::Aborted => CellState::Interrupted,
        };
        let cell = StoredCell {
            position,
            axes,
            figures,
            ..stored_cell(&recording, findings, state)
        };
        let labels = run_labels(&recording);
        let facts = run_facts(&recording);
        self.with(|store, run| {
            store.save_cell(run, &cell, &CellContent::Recording(Box::new(recording)))?;
            store.set_facts(run, facts)?;
            store.add_labels(run, &labels)
        });
    }

    /// Ends a run of several cells, and prints its name.
    pub fn end(mut self, end: RunState, more_facts: Vec<(String, String)>) {
        let ended_ns = self.session.unix_now_ns();
        self.with(|store, run| {
            let mut facts = store.run(&run.to_string())?.experiment.facts;
            facts.retain(|(name, _)| more_facts.iter().all(|(other, _)| other != name));
            store.set_facts(run, facts.into_iter().chain(more_facts).collect())?;
            store.finish(run, end, ended_ns)
        });
        if let Some((_, run)) = &self.open {
            note_line!("{}: stored as {run}: fathom show {run}", self.program);
        }
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
        let cell = stored_cell(&recording, findings, state);
        let labels = run_labels(&recording);
        let facts = run_facts(&recording)
            .into_iter()
            .chain(more_facts)
            .collect();
        let ended_ns = self.session.unix_now_ns();
        self.with(|store, run| {
            store.save_cell(run, &cell, &CellContent::Recording(Box::new(recording)))?;
            store.set_facts(run, facts)?;
            store.add_labels(run, &labels)?;
            store.finish(run, end, ended_ns)
        });
        if let Some((_, run)) = &self.open {
            note_line!("{}: stored as {run}: fathom show {run}", self.program);
        }
    }
}

/// The valid runs of the load of `run`, by its stored plan, on the same target of the same host, and on the same drive where it has a name.
fn find_earlier_runs(
    store: &mut Store,
    run: RunId,
    facts: &[(String, String)],
) -> Result<Vec<ListedRun>, StoreError> {
    let this = store.run(&run.to_string())?.experiment;
    let filter = ListFilter {
        texts: vec![this.name.clone()],
        kind: this.kind.clone(),
        state: "finished".to_owned(),
        verdict: "valid".to_owned(),
        before: Some(run),
        limit: MAX_EARLIER_RUNS,
        ..ListFilter::default()
    };
    let fact = |facts: &[(String, String)], name: &str| {
        let mut all = facts.iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    };
    let is_same =
        |name: &&str, other: &Run| fact(facts, name) == fact(&other.experiment.facts, name);
    let mut listed = store.list(&filter)?;
    listed.retain(|one| {
        !this.plan.is_empty()
            && one.run.experiment.plan == this.plan
            && FACTS_OF_SAME_TARGET
                .iter()
                .all(|name| is_same(name, &one.run))
    });
    Ok(listed)
}

/// The direction with most I/Os, of equal ones the first, as in the diagnosis.
fn busiest_direction(recording: &Recording) -> Option<Direction> {
    let ios = |direction: Direction| -> u64 {
        let jobs = recording.jobs.iter();
        jobs.map(|job| job.directions[direction].counts.ok).sum()
    };
    let most = Direction::ALL
        .into_iter()
        .max_by_key(|one| (ios(*one), std::cmp::Reverse(*one as usize)))?;
    (ios(most) > 0).then_some(most)
}

/// A cell whose measurement of `plan` starts now, with its empty content.
pub fn starting_cell(session: &Session, plan: &Plan) -> (StoredCell, CellContent) {
    let started_unix_ns = session.unix_now_ns();
    let empty = fathom_load::rebuild_recording(plan.clone(), started_unix_ns, Vec::new());
    (
        StoredCell {
            state: CellState::Running,
            started_unix_ns,
            ..StoredCell::default()
        },
        CellContent::Recording(Box::new(empty)),
    )
}

/// A sink that adds intervals to `journal`. The first failure is reported, and the run continues without the journal.
pub fn journal_sink(program: &'static str, journal: Journal) -> IntervalSink {
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

/// Sets the message for a file system that has no space for a page of the store (regression 0278).
pub fn report_full_disk(store: &Store, then: &str) {
    fathom_linux::sigbus_handler(format!(
        "fathom: no space left for the store {}: free some space there; {then}",
        store.path()
    ));
}

/// A measured cell. The caller sets its position and axes if the run has several.
pub fn stored_cell(recording: &Recording, findings: &Findings, state: CellState) -> StoredCell {
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

/// A run that begins now in this process. A simulated one is marked from its start.
pub fn experiment(session: &Session, kind: &str, name: String, plan: String) -> Experiment {
    let simulated = session.simulated().as_ref().map(simulated_facts);
    let facts = [
        ("fathom".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("host".to_owned(), host()),
    ];
    Experiment {
        kind: kind.to_owned(),
        name,
        command: std::env::args()
            .map(|word| without_password(&word))
            .collect(),
        // The plan of an experiment contains its arguments.
        plan: plan
            .split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                Some(text) => without_password(text) + "\n",
                None => without_password(line),
            })
            .collect(),
        facts: facts
            .into_iter()
            .chain(simulated.into_iter().flatten())
            .collect(),
        planned: 1,
        owner: owner(),
        created_unix_ns: session.unix_now_ns(),
        labels: Vec::new(),
    }
}

/// `experiment` with the labels of the command line, and that of this host.
pub fn labelled(experiment: &Experiment, options: &StoreOptions) -> Experiment {
    let mut labels = options.label.clone();
    if !labels.iter().any(|(name, _)| name == "host") {
        labels.push(("host".to_owned(), host()));
    }
    Experiment {
        labels,
        ..experiment.clone()
    }
}

/// Labels that a recording gives: kernel, and model and firmware of the drive.
pub fn run_labels(recording: &Recording) -> Vec<(String, String)> {
    let device = recording
        .targets
        .first()
        .and_then(|target| target.devices.last());
    let identity = device.map(|device| &device.before.identity);
    [
        ("kernel", Some(&recording.host.kernel)),
        (
            "drive",
            identity.and_then(|identity| identity.model.as_ref()),
        ),
        (
            "firmware",
            identity.and_then(|identity| identity.firmware.as_ref()),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?.trim().to_owned())))
    .filter(|(_, value)| !value.is_empty())
    .collect()
}

/// The name of a run of jobs: its job files, or its first job.
pub fn run_name(plan: &Plan) -> String {
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

/// A path that means the same in every directory.
pub fn path_name(path: &Path) -> String {
    std::path::absolute(path).map_or_else(
        |_| path.display().to_string(),
        |path| {
            let parts: PathBuf = path.components().collect();
            parts.display().to_string()
        },
    )
}

/// The host, the kernel and the device of a recording, for filters and comparisons.
pub fn run_facts(recording: &Recording) -> Vec<(String, String)> {
    let mut facts = vec![
        ("fathom".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("host".to_owned(), host()),
        ("kernel".to_owned(), recording.host.kernel.clone()),
        ("cpus".to_owned(), recording.host.cpus.to_string()),
    ];
    if !recording.host.build_profile.is_empty() {
        let profile = recording.host.build_profile.clone();
        facts.insert(1, ("build".to_owned(), profile));
    }
    if let Some(simulated) = &recording.host.simulated {
        facts.extend(simulated_facts(simulated));
    }
    if let Some(target) = recording.targets.first() {
        facts.push(("target".to_owned(), target.path.display().to_string()));
        let device = target.devices.last().map(|device| &device.before);
        let identity = device.map(|device| {
            [
                &device.identity.model,
                &device.identity.serial,
                &device.identity.firmware,
            ]
        });
        let fields: Vec<&str> = identity
            .into_iter()
            .flatten()
            .flatten()
            .map(String::as_str)
            .collect();
        if let Some(device) = device {
            facts.push(("disk".to_owned(), device.name.clone()));
        }
        if !fields.is_empty() {
            facts.push(("device".to_owned(), fields.join(" ")));
        }
    }
    facts
}

fn first_line(path: &str) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn host() -> String {
    first_line("/proc/sys/kernel/hostname")
}

/// When a live process started, in clock ticks since the boot: field 22 of proc_pid_stat(5), the 20th after the name.
/// A killed process that was not waited for is still listed, as a zombie (regression 0181).
fn started(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_alive = !matches!(fields.next(), Some("Z" | "X"));
    fields.nth(18).filter(|_| is_alive).map(str::to_owned)
}

/// When a live process started, as text that no later process with its number has.
pub fn process_started(pid: u32) -> Option<String> {
    started(&pid.to_string())
}

/// The name of this process for the store: host, boot, process id and start time. A later process of this host can check
/// whether it is alive.
pub fn owner() -> String {
    let pid = std::process::id().to_string();
    let started = started(&pid).unwrap_or_default();
    format!(
        "{} {} {pid} {started}",
        host(),
        first_line("/proc/sys/kernel/random/boot_id")
    )
}

/// Whether the process that measures a run was killed. Processes of other hosts are unknown.
pub fn is_dead(run: &Run) -> bool {
    let fields: Vec<&str> = run.experiment.owner.split(' ').collect();
    let [on, boot, pid, start] = fields[..] else {
        return run.state == RunState::Running;
    };
    let other_host = on != host();
    run.state == RunState::Running
        && !other_host
        && (boot != first_line("/proc/sys/kernel/random/boot_id")
            || started(pid).as_deref() != Some(start))
}

/// The other host that measures a run, according to the store.
pub fn other_host(run: &Run) -> Option<&str> {
    let on = run
        .experiment
        .owner
        .split(' ')
        .next()
        .filter(|on| !on.is_empty())?;
    (run.state == RunState::Running && on != host()).then_some(on)
}
