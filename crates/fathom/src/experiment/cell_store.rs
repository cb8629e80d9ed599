//! Where the cells of an experiment are kept.

use std::collections::HashMap;
use std::path::Path;

use fathom_cli::StoreOptions;
use fathom_load::IntervalSink;
use fathom_model::{
    CellFigures, CellState, Content, Experiment, Plan, Recording, Run, RunEnd, RunId, RunState,
};
use fathom_plan::PlannedCell;
use fathom_store::{Journal, Store};

use super::Ended;
use super::cell::{MeasuredCell, plan_of};
use crate::result_store::{
    about_to_be, cell_of, facts_of, if_it_runs_full, journal_of, owner, unix_now_ns,
};

/// Keeps cells and knows those of earlier sessions.
pub trait CellStore {
    /// The figures of a cell that was finished before.
    ///
    /// # Errors
    /// When what was kept cannot be read.
    fn known(&mut self, cell: &PlannedCell) -> Result<Option<CellFigures>, String>;
    /// A cell is about to be measured, as `plan`. What it measures goes to what comes back, where it is to be kept.
    ///
    /// # Errors
    /// Why nothing can be kept: it would be measured in vain.
    fn begins(&mut self, cell: &PlannedCell, plan: &Plan) -> Result<Option<IntervalSink>, String>;
    /// A cell could not be measured.
    ///
    /// # Errors
    /// Why that cannot be kept.
    fn failed(&mut self, cell: &PlannedCell, why: &str) -> Result<(), String>;
    /// Takes a cell, whole or interrupted; when this returns it is safe.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn save(&mut self, cell: &PlannedCell, measured: &MeasuredCell) -> Result<(), String>;
}

/// A run in the store, or nothing where none is wanted.
pub struct StoreWriter(Option<OpenRun>);

/// Begins the text of each cell's plan, so that the cell is found again.
const MARK: &str = "; cell: ";

struct OpenRun {
    store: Store,
    run: RunId,
    /// Where each cell stands, and whether it is finished.
    places: HashMap<String, (u64, bool)>,
    next: u64,
    described: bool,
    /// The target is not the one that was prepared.
    prepares_again: bool,
}

impl OpenRun {
    /// Where a cell stands, or will.
    fn place(&self, cell: &PlannedCell) -> u64 {
        self.places
            .get(&cell.id())
            .map_or(self.next, |(position, _)| *position)
    }

    /// Takes a cell to its place.
    fn put(
        &mut self,
        cell: &PlannedCell,
        kept: fathom_model::StoredCell,
        content: &Content,
    ) -> Result<(), String> {
        let position = self.place(cell);
        let state = kept.state;
        let kept = fathom_model::StoredCell {
            position,
            axes: axes(cell),
            plan: text(cell),
            ..kept
        };
        self.store
            .save_cell(self.run, &kept, content)
            .map_err(|error| error.to_string())?;
        self.places
            .insert(cell.id(), (position, state == CellState::Finished));
        self.next = self.next.max(position + 1);
        Ok(())
    }
}

impl StoreWriter {
    /// Begins a new run in the store that is wished for.
    ///
    /// # Errors
    /// When there is none: what takes hours is not begun without a place for it.
    pub fn begin(options: &StoreOptions, experiment: &Experiment) -> Result<StoreWriter, String> {
        let Some(place) = options.path()? else {
            return Ok(StoreWriter(None));
        };
        let trouble = |error: fathom_store::StoreError| {
            format!("{error}; --no-store measures without keeping anything")
        };
        let mut store = Store::open(&place).map_err(trouble)?;
        let run = store.begin(experiment).map_err(trouble)?;
        if_it_runs_full(&store, &format!("`fathom resume {run}` goes on"));
        Ok(StoreWriter(Some(OpenRun {
            store,
            run,
            places: HashMap::new(),
            next: 1,
            described: false,
            prepares_again: false,
        })))
    }

    /// Takes up a run that was not finished.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn again(mut store: Store, run: &Run) -> Result<StoreWriter, String> {
        store
            .resume(run.id, &owner())
            .map_err(|error| error.to_string())?;
        if_it_runs_full(&store, &format!("`fathom resume {}` goes on", run.id));
        let cells = store.cells(run.id).map_err(|error| error.to_string())?;
        let next = cells.iter().map(|cell| cell.position).max().unwrap_or(0) + 1;
        let id = |plan: &str| {
            plan.lines()
                .next()
                .and_then(|line| line.strip_prefix(MARK))
                .map(str::to_owned)
        };
        let places = cells
            .iter()
            .filter_map(|cell| {
                Some((
                    id(&cell.plan)?,
                    (cell.position, cell.state == CellState::Finished),
                ))
            })
            .collect();
        Ok(StoreWriter(Some(OpenRun {
            store,
            run: run.id,
            places,
            next,
            described: true,
            prepares_again: false,
        })))
    }

    /// The target is not there any more: what prepared it says nothing of the next one.
    pub fn prepare_again(&mut self) {
        if let Some(shelf) = &mut self.0 {
            shelf.prepares_again = true;
        }
    }

    /// The name of the run.
    pub fn name(&self) -> Option<String> {
        self.0.as_ref().map(|shelf| shelf.run.to_string())
    }

    /// Says in the store how the run ended.
    ///
    /// # Errors
    /// When that cannot be kept; the cells are.
    pub fn finish(&mut self, ended: &Ended) -> Result<(), String> {
        let Some(shelf) = &mut self.0 else {
            return Ok(());
        };
        let state = if ended.is_whole() {
            RunState::Finished
        } else {
            RunState::Stopped
        };
        shelf
            .store
            .finish(shelf.run, state, unix_now_ns())
            .map_err(|error| error.to_string())
    }
}

impl StoreWriter {
    /// What was recorded of a finished cell; nothing when it is not there any more.
    ///
    /// # Errors
    /// When what was kept cannot be read.
    pub fn recording(&mut self, cell: &PlannedCell) -> Result<Option<Recording>, String> {
        let Some(shelf) = &mut self.0 else {
            return Ok(None);
        };
        let Some((position, true)) = shelf.places.get(&cell.id()).copied() else {
            return Ok(None);
        };
        match shelf
            .store
            .content(shelf.run, position)
            .map_err(|error| error.to_string())?
        {
            Content::Recording(recording) => Ok(Some(*recording)),
            _ => Ok(None),
        }
    }
}

impl CellStore for StoreWriter {
    fn known(&mut self, cell: &PlannedCell) -> Result<Option<CellFigures>, String> {
        if cell.prepares && self.0.as_ref().is_some_and(|shelf| shelf.prepares_again) {
            return Ok(None);
        }
        // What was removed is measured again.
        let Some(recording) = self.recording(cell)? else {
            return Ok(None);
        };
        let sides = plan_of(cell).map(|(_, sides)| sides).unwrap_or_default();
        Ok(Some(fathom_analyse::cell_figures(
            &recording,
            &fathom_analyse::findings(&recording),
            &sides,
        )))
    }

    fn begins(&mut self, cell: &PlannedCell, plan: &Plan) -> Result<Option<IntervalSink>, String> {
        let Some(shelf) = &mut self.0 else {
            return Ok(None);
        };
        let position = shelf.place(cell);
        let (kept, content) = about_to_be(plan);
        shelf.put(cell, kept, &content)?;
        let journal = Journal::open(Path::new(shelf.store.path()), shelf.run, position)
            .map_err(|error| error.to_string())?;
        Ok(Some(journal_of("fathom", journal)))
    }

    fn failed(&mut self, cell: &PlannedCell, why: &str) -> Result<(), String> {
        let Some(shelf) = &mut self.0 else {
            return Ok(());
        };
        let kept = fathom_model::StoredCell {
            state: CellState::Failed,
            started_unix_ns: unix_now_ns(),
            notes: vec![why.to_owned()],
            ..fathom_model::StoredCell::default()
        };
        shelf.put(cell, kept, &Content::Nothing)
    }

    fn save(&mut self, cell: &PlannedCell, measured: &MeasuredCell) -> Result<(), String> {
        let Some(shelf) = &mut self.0 else {
            return Ok(());
        };
        let whole = measured.findings.end == RunEnd::Completed;
        let state = if whole {
            CellState::Finished
        } else {
            CellState::Interrupted
        };
        let content = Content::Recording(Box::new(measured.recording.clone()));
        let mut kept = cell_of(&measured.recording, &measured.findings, state);
        // The whole cell first, as the experiment's own tables tell it; then each of its jobs.
        kept.figures
            .splice(0..0, fathom_analyse::cell_headline(&measured.figures));
        shelf.put(cell, kept, &content)?;
        if !std::mem::replace(&mut shelf.described, true) {
            shelf
                .store
                .set_facts(shelf.run, facts_of(&measured.recording))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Where it lies. The steps of a suite may share their axes: what the values do not say, the name does.
fn axes(cell: &PlannedCell) -> Vec<(String, String)> {
    let mut axes = cell.values.clone();
    let said: Vec<String> = axes
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if said.join(" ") != cell.key {
        axes.insert(0, ("cell".to_owned(), cell.key.clone()));
    }
    if cell.repeat > 0 {
        axes.push(("repeat".to_owned(), (cell.repeat + 1).to_string()));
    }
    axes
}

/// The job file with what is set in it: it says all that was to be done.
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
