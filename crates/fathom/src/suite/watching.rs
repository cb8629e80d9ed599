//! Keeps what a suite tells beyond the figures of its cells: their course over time, and single jobs in them.

use std::collections::BTreeMap;

use fathom_model::{CellFigures, Entry, Moment, Progress};
use fathom_plan::{Cell, Recipe};

use crate::experiment::{Audience, Lines, Measured, Standing};

/// What was kept of a cell.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// All its entries over time.
    pub series: Vec<Moment>,
    /// The job that is judged.
    pub judged: Option<CellFigures>,
}

/// Looks on, and tells in lines.
pub struct Watching<'a> {
    recipe: &'a Recipe,
    lines: Lines,
    /// By the id of the cell.
    pub kept: BTreeMap<String, Kept>,
}

impl<'a> Watching<'a> {
    /// Keeps what `recipe` asks for.
    pub fn new(recipe: &'a Recipe) -> Watching<'a> {
        Watching { recipe, lines: Lines::new(), kept: BTreeMap::new() }
    }

    fn keep(&mut self, cell: &Cell, measured: &Measured) {
        let named = |name: &str| cell.key == name || cell.key.starts_with(&format!("{name} "));
        let Some(step) = self.recipe.steps.iter().find(|step| named(&step.name)) else { return };
        if !step.series && step.judged.is_none() {
            return;
        }
        let entries = &measured.findings.entries;
        let judged = step.judged.as_ref().and_then(|job| entries.iter().find(|entry| entry.name == *job));
        let judged = judged.map(|entry| fathom_analyse::entry_figures(entry, &measured.figures));
        let series = if step.series { entries.iter().flat_map(|entry: &Entry| entry.series.iter().cloned()).collect() } else { Vec::new() };
        self.kept.insert(cell.id(), Kept { series, judged });
    }
}

impl Audience for Watching<'_> {
    fn begins(&mut self, standing: &Standing, cell: &Cell) {
        self.lines.begins(standing, cell);
    }

    fn progress(&mut self, standing: &Standing, progress: &Progress) {
        self.lines.progress(standing, progress);
    }

    fn ends(&mut self, standing: &Standing, cell: &Cell, came: Result<&Measured, &str>) {
        if let Ok(measured) = came {
            self.keep(cell, measured);
        }
        self.lines.ends(standing, cell, came);
    }
}
