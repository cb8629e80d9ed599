//! Details of the cells of a suite beyond their figures: figures over time, and figures of single jobs.

use std::collections::BTreeMap;

use fathom_model::{
    CellFigures, Entry, Findings, MergedInterval, Progress, ReadyFigure, SuiteTenant,
};
use fathom_plan::{PlannedCell, Recipe, Step, Tenant};

use super::cells::StepProgress;
use crate::cell::MeasuredCell;
use crate::cell_store::{CellStore, CellStoreError};
use crate::observer::{Observer, Position};

/// Details of one cell.
#[derive(Clone, Debug, Default)]
pub struct CellDetails {
    /// Figures of all its entries over time.
    pub series: Vec<MergedInterval>,
    /// Figures of the job that the recipe judges.
    pub judged: Option<CellFigures>,
    /// Figures of its tenants, in the order of the step.
    pub tenants: Vec<SuiteTenant>,
}

/// A cell with the id of the soak before a round.
pub fn soak_cell(step: &Step, round: u32) -> PlannedCell {
    PlannedCell {
        key: format!("{} soak", step.name),
        repeat: round,
        ..PlannedCell::default()
    }
}

fn has_details(step: &Step) -> bool {
    step.series || step.judged.is_some() || !step.tenants.is_empty()
}

/// The figures of a tenant: those of the reporting group that begins with its first section.
fn tenant(tenant: &Tenant, entries: &[Entry], cell: &CellFigures) -> Option<SuiteTenant> {
    let first = tenant.sections.first()?;
    let entry = entries.iter().find(|entry| entry.name == *first)?;
    let figures = fathom_analyse::entry_figures(entry, cell);
    let figure = tenant
        .limit
        .map_or(ReadyFigure::Percentile(99.0), |(figure, _)| figure);
    let latency = match figure {
        ReadyFigure::Mean => figures.latency.mean,
        ReadyFigure::Percentile(percent) if percent <= 50.0 => figures.latency.p50,
        ReadyFigure::Percentile(percent) if percent <= 90.0 => figures.latency.p90,
        ReadyFigure::Percentile(percent) if percent <= 99.0 => figures.latency.p99,
        ReadyFigure::Percentile(percent) if percent <= 99.9 => figures.latency.p999,
        ReadyFigure::Percentile(_) => figures.latency.p9999,
    };
    Some(SuiteTenant {
        name: tenant.name.clone(),
        iops: figures.iops,
        bandwidth: figures.bandwidth,
        figure: figure.to_string(),
        latency,
        limit: tenant.limit.map(|(_, limit)| limit.get() as f64),
        alone: None,
    })
}

/// An observer that collects the details of cells.
pub struct DetailObserver<'a> {
    recipe: &'a Recipe,
    /// Details by the id of the cell.
    pub details: BTreeMap<String, CellDetails>,
}

impl<'a> DetailObserver<'a> {
    /// Collects the details that `recipe` requires.
    #[must_use]
    pub fn new(recipe: &'a Recipe) -> DetailObserver<'a> {
        DetailObserver {
            recipe,
            details: BTreeMap::new(),
        }
    }

    /// Reads the details of cells that earlier sessions measured.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read_earlier(
        &mut self,
        done: &[StepProgress],
        store: &mut dyn CellStore,
    ) -> Result<(), CellStoreError> {
        for (step, done) in self
            .recipe
            .steps
            .iter()
            .zip(done)
            .filter(|(step, _)| has_details(step))
        {
            let soaks = (0..done.round).map(|round| soak_cell(step, round));
            let cells: Vec<PlannedCell> = done
                .cells
                .iter()
                .map(|known| known.cell.clone())
                .chain(soaks)
                .collect();
            for cell in cells
                .iter()
                .filter(|cell| !self.details.contains_key(&cell.id()))
                .collect::<Vec<_>>()
            {
                let Some(recording) = store.recording(cell)? else {
                    continue;
                };
                let findings = fathom_analyse::findings(&recording);
                let figures = fathom_analyse::cell_figures(&recording, &findings, &[]);
                self.collect(cell, &findings, &figures);
            }
        }
        Ok(())
    }

    fn collect(&mut self, cell: &PlannedCell, findings: &Findings, figures: &CellFigures) {
        let named = |name: &str| cell.key == name || cell.key.starts_with(&format!("{name} "));
        let Some(step) = self.recipe.steps.iter().find(|step| named(&step.name)) else {
            return;
        };
        if !has_details(step) {
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
        let tenants = step
            .tenants
            .iter()
            .filter_map(|at| tenant(&self.recipe.tenants[*at], entries, figures))
            .collect();
        let details = CellDetails {
            series,
            judged,
            tenants,
        };
        self.details.insert(cell.id(), details);
    }
}

impl Observer for DetailObserver<'_> {
    fn cell_started(&mut self, _position: &Position, _cell: &PlannedCell) {}

    fn progress(&mut self, _position: &Position, _progress: &Progress) {}

    fn cell_finished(
        &mut self,
        _position: &Position,
        cell: &PlannedCell,
        result: Result<&MeasuredCell, &str>,
    ) {
        if let Ok(measured) = result {
            self.collect(cell, &measured.findings, &measured.figures);
        }
    }
}
