//! Stores the cells of an experiment.

use std::collections::HashMap;

use fathom_cli::StoreOptions;
use fathom_experiment::{CellStore, CellStoreError, Ended, MeasuredCell};
use fathom_load::IntervalSink;
use fathom_model::{
    CellContent, CellFigures, CellState, Experiment, Plan, Recording, Run, RunEnd, RunId, RunState,
    StoredCell,
};
use fathom_plan::PlannedCell;
use fathom_store::{Journal, Store};

use super::cell_runner::plan_cell;
use crate::result_store::{
    journal_sink, labelled, owner, report_full_disk, run_facts, run_labels, starting_cell,
    store_path, stored_cell,
};
use crate::session::Session;

/// A run in the store, or nothing with `--no-store`.
pub struct StoreWriter {
    session: Session,
    open: Option<OpenRun>,
}

/// Starts the stored plan of each cell, before the cell's id. A resumed run finds the cell by this id.
const MARK: &str = "; cell: ";

struct OpenRun {
    store: Store,
    run: RunId,
    /// Position of each cell, and whether it is finished.
    positions: HashMap<String, (u64, bool)>,
    next: u64,
    described: bool,
    /// The prepared target does not exist any more.
    prepares_again: bool,
}

impl OpenRun {
    /// The position of a cell, stored or new.
    fn position(&self, cell: &PlannedCell) -> u64 {
        self.positions
            .get(&cell.id())
            .map_or(self.next, |(position, _)| *position)
    }

    /// Stores a cell at its position.
    fn put(
        &mut self,
        cell: &PlannedCell,
        stored: StoredCell,
        content: &CellContent,
    ) -> Result<(), CellStoreError> {
        let position = self.position(cell);
        let state = stored.state;
        let stored = StoredCell {
            position,
            axes: axes(cell),
            plan: text(cell),
            ..stored
        };
        self.store
            .save_cell(self.run, &stored, content)
            .map_err(CellStoreError::new)?;
        self.positions
            .insert(cell.id(), (position, state == CellState::Finished));
        self.next = self.next.max(position + 1);
        Ok(())
    }
}

impl StoreWriter {
    /// Starts a new run in the store that the options name.
    ///
    /// # Errors
    /// When the store cannot be opened: an experiment of hours is not started without a store.
    pub fn begin(
        session: &Session,
        options: &StoreOptions,
        experiment: &Experiment,
    ) -> Result<StoreWriter, String> {
        let session = session.clone();
        let Some(path) = store_path(options)? else {
            return Ok(StoreWriter {
                session,
                open: None,
            });
        };
        let with_hint = |error: fathom_store::StoreError| {
            format!("{error}; --no-store measures without storing anything")
        };
        let mut store = Store::open(&path).map_err(with_hint)?;
        let run = store
            .begin(&labelled(experiment, options))
            .map_err(with_hint)?;
        report_full_disk(&store, &format!("resume with `fathom resume {run}`"));
        Ok(StoreWriter {
            session,
            open: Some(OpenRun {
                store,
                run,
                positions: HashMap::new(),
                next: 1,
                described: false,
                prepares_again: false,
            }),
        })
    }

    /// Continues an unfinished run.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn resume(session: &Session, mut store: Store, run: &Run) -> Result<StoreWriter, String> {
        store
            .resume(run.id, &owner())
            .map_err(|error| error.to_string())?;
        report_full_disk(&store, &format!("resume with `fathom resume {}`", run.id));
        StoreWriter::stored(session, store, run)
    }

    /// A stored run, to read its cells.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn stored(session: &Session, mut store: Store, run: &Run) -> Result<StoreWriter, String> {
        let cells = store.cells(run.id).map_err(|error| error.to_string())?;
        let next = cells.iter().map(|cell| cell.position).max().unwrap_or(0) + 1;
        let id = |plan: &str| {
            plan.lines()
                .next()
                .and_then(|line| line.strip_prefix(MARK))
                .map(str::to_owned)
        };
        let positions = cells
            .iter()
            .filter_map(|cell| {
                Some((
                    id(&cell.plan)?,
                    (cell.position, cell.state == CellState::Finished),
                ))
            })
            .collect();
        Ok(StoreWriter {
            session: session.clone(),
            open: Some(OpenRun {
                store,
                run: run.id,
                positions,
                next,
                described: true,
                prepares_again: false,
            }),
        })
    }

    /// Makes the next session prepare the target again: the prepared one does not exist any more.
    pub fn prepare_again(&mut self) {
        if let Some(open) = &mut self.open {
            open.prepares_again = true;
        }
    }

    /// The name of the run.
    pub fn name(&self) -> Option<String> {
        self.open.as_ref().map(|open| open.run.to_string())
    }

    /// Stores the answer of the run.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn set_answer(&mut self, answer: &str) -> Result<(), String> {
        const ANSWER: &str = "answer";
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let name = open.run.to_string();
        let run = open.store.run(&name).map_err(|error| error.to_string())?;
        let mut facts = run.experiment.facts;
        facts.retain(|(name, _)| name != ANSWER);
        facts.push((ANSWER.to_owned(), answer.to_owned()));
        open.store
            .set_facts(open.run, facts)
            .map_err(|error| error.to_string())
    }

    /// Stores how the run ended.
    ///
    /// # Errors
    /// When that cannot be stored. The cells are stored already.
    pub fn finish(&mut self, ended: &Ended) -> Result<(), String> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let state = if ended.is_complete() {
            RunState::Finished
        } else {
            RunState::Stopped
        };
        open.store
            .finish(open.run, state, self.session.unix_now_ns())
            .map_err(|error| error.to_string())
    }
}

impl CellStore for StoreWriter {
    fn recording(&mut self, cell: &PlannedCell) -> Result<Option<Recording>, CellStoreError> {
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        let Some((position, true)) = open.positions.get(&cell.id()).copied() else {
            return Ok(None);
        };
        let content = open
            .store
            .content(open.run, position)
            .map_err(CellStoreError::new)?;
        match content {
            CellContent::Recording(recording) => Ok(Some(*recording)),
            _ => Ok(None),
        }
    }

    fn finished(&mut self, cell: &PlannedCell) -> Result<Option<CellFigures>, CellStoreError> {
        if cell.prepares && self.open.as_ref().is_some_and(|open| open.prepares_again) {
            return Ok(None);
        }
        // A removed cell is measured again.
        let Some(recording) = self.recording(cell)? else {
            return Ok(None);
        };
        let sides = plan_cell(&self.session, cell)
            .map(|(_, sides)| sides)
            .unwrap_or_default();
        Ok(Some(fathom_analyse::cell_figures(
            &recording,
            &fathom_analyse::findings(&recording),
            &sides,
        )))
    }

    fn start(
        &mut self,
        cell: &PlannedCell,
        plan: &Plan,
    ) -> Result<Option<IntervalSink>, CellStoreError> {
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        let position = open.position(cell);
        let (stored, content) = starting_cell(&self.session, plan);
        open.put(cell, stored, &content)?;
        let journal =
            Journal::beside(&open.store, open.run, position).map_err(CellStoreError::new)?;
        Ok(Some(journal_sink("fathom", journal)))
    }

    fn fail(&mut self, cell: &PlannedCell, why: &str) -> Result<(), CellStoreError> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let stored = StoredCell {
            state: CellState::Failed,
            started_unix_ns: self.session.unix_now_ns(),
            notes: vec![why.to_owned()],
            ..StoredCell::default()
        };
        open.put(cell, stored, &CellContent::Nothing)
    }

    fn save(&mut self, cell: &PlannedCell, measured: &MeasuredCell) -> Result<(), CellStoreError> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let completed = measured.findings.end == RunEnd::Completed;
        let state = if completed {
            CellState::Finished
        } else {
            CellState::Interrupted
        };
        let content = CellContent::Recording(Box::new(measured.recording.clone()));
        let mut stored = stored_cell(&measured.recording, &measured.findings, state);
        // The figures of the whole cell first, as in the experiment's tables; then those of its jobs.
        stored
            .figures
            .splice(0..0, fathom_analyse::cell_headline(&measured.figures));
        open.put(cell, stored, &content)?;
        if !std::mem::replace(&mut open.described, true) {
            open.store
                .set_facts(open.run, run_facts(&measured.recording))
                .map_err(CellStoreError::new)?;
            open.store
                .add_labels(open.run, &run_labels(&measured.recording))
                .map_err(CellStoreError::new)?;
        }
        Ok(())
    }
}

/// The axes of a cell. Steps of a suite may share their axes, so the cell's name is added where the values do not give it.
fn axes(cell: &PlannedCell) -> Vec<(String, String)> {
    let mut axes = cell.values.clone();
    let labels: Vec<String> = axes
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if labels.join(" ") != cell.key {
        axes.insert(0, ("cell".to_owned(), cell.key.clone()));
    }
    if cell.repeat > 0 {
        axes.push(("repeat".to_owned(), (cell.repeat + 1).to_string()));
    }
    axes
}

/// The job file of a cell, its settings and its targets.
fn text(cell: &PlannedCell) -> String {
    let one_line = |text: &str| text.replace(['\n', '\r'], " ");
    let sets: String = cell
        .settings
        .iter()
        .map(|(name, value)| format!("; --set {name}={}\n", one_line(value)))
        .collect();
    let targets: String = cell
        .targets
        .iter()
        .map(|target| format!("; on {target}\n"))
        .collect();
    format!(
        "{MARK}{}\n{sets}{targets}{}",
        one_line(&cell.id()),
        cell.job_file
    )
}
