//! Keeps what a suite tells beyond the figures of its cells: their course over time, and single jobs in them.

use std::collections::BTreeMap;

use fathom_model::{CellFigures, Entry, Findings, Moment, Progress};
use fathom_plan::{PlannedCell, Recipe, Step};

use super::cell_source::Done;
use crate::experiment::{MeasuredCell, Observer, Position, StoreWriter};

/// What was kept of a cell.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// All its entries over time.
    pub series: Vec<Moment>,
    /// The job that is judged.
    pub judged: Option<CellFigures>,
}

/// The soak before a round, as far as its id goes.
pub fn soak(step: &Step, round: u32) -> PlannedCell {
    PlannedCell {
        key: format!("{} soak", step.name),
        repeat: round,
        ..PlannedCell::default()
    }
}

/// Looks on, and notes.
pub struct Noting<'a> {
    recipe: &'a Recipe,
    /// By the id of the cell.
    pub kept: BTreeMap<String, Kept>,
}

impl<'a> Noting<'a> {
    /// Keeps what `recipe` asks for.
    pub fn new(recipe: &'a Recipe) -> Noting<'a> {
        Noting {
            recipe,
            kept: BTreeMap::new(),
        }
    }

    /// Looks up what earlier sessions measured.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn recall(&mut self, done: &[Done], stored: &mut StoreWriter) -> Result<(), String> {
        for (step, done) in self
            .recipe
            .steps
            .iter()
            .zip(done)
            .filter(|(step, _)| step.series || step.judged.is_some())
        {
            let soaks = (0..done.round).map(|round| soak(step, round));
            let cells: Vec<PlannedCell> = done
                .cells
                .iter()
                .map(|known| known.cell.clone())
                .chain(soaks)
                .collect();
            for cell in cells
                .iter()
                .filter(|cell| !self.kept.contains_key(&cell.id()))
                .collect::<Vec<_>>()
            {
                let Some(recording) = stored.recording(cell)? else {
                    continue;
                };
                let findings = fathom_analyse::findings(&recording);
                let figures = fathom_analyse::cell_figures(&recording, &findings, &[]);
                self.keep(cell, &findings, &figures);
            }
        }
        Ok(())
    }

    fn keep(&mut self, cell: &PlannedCell, findings: &Findings, figures: &CellFigures) {
        let named = |name: &str| cell.key == name || cell.key.starts_with(&format!("{name} "));
        let Some(step) = self.recipe.steps.iter().find(|step| named(&step.name)) else {
            return;
        };
        if !step.series && step.judged.is_none() {
            return;
        }
        let entries = &findings.entries;
        let judged = step
            .judged
            .as_ref()
            .and_then(|job| entries.iter().find(|entry| entry.name == *job));
        let judged = judged.map(|entry| fathom_analyse::entry_figures(entry, figures));
        let series = if step.series {
            entries
                .iter()
                .flat_map(|entry: &Entry| entry.series.iter().cloned())
                .collect()
        } else {
            Vec::new()
        };
        self.kept.insert(cell.id(), Kept { series, judged });
    }
}

impl Observer for Noting<'_> {
    fn begins(&mut self, _standing: &Position, _cell: &PlannedCell) {}

    fn progress(&mut self, _standing: &Position, _progress: &Progress) {}

    fn ends(
        &mut self,
        _standing: &Position,
        cell: &PlannedCell,
        came: Result<&MeasuredCell, &str>,
    ) {
        if let Ok(measured) = came {
            self.keep(cell, &measured.findings, &measured.figures);
        }
    }
}
