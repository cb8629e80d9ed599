//! The commands on stored results: `runs`, `show`, `export`, `rm`, `store`.

mod export;
mod list;
mod manage;
mod remove;
mod show;

use fathom_cli::StoreSource;
use fathom_model::{Findings, Run, RunId, StoredCell};
use fathom_report::{Exposition, Label};
use fathom_store::Store;

use crate::import::exposition;
use crate::results::each_stored_cell;

pub use self::export::command as export;
pub use self::list::command as runs;
pub use self::manage::command as store;
pub use self::remove::command as remove;
pub use self::show::command as show;

/// All cells of runs as an exposition of metrics: each with its run, its number and its axes as labels.
///
/// # Errors
/// When a run cannot be read.
fn stored_exposition(
    names: &[String],
    store: &StoreSource,
    format: Exposition,
) -> Result<String, String> {
    let mut all: Vec<(Vec<Label>, Findings)> = Vec::new();
    for name in names {
        each_stored_cell(name, store, &mut |run, cell, findings| {
            let mut labels = vec![
                ("run".to_owned(), run.id.to_string()),
                ("cell".to_owned(), cell.position.to_string()),
            ];
            labels.extend(
                cell.axes
                    .iter()
                    .map(|(axis, value)| (format!("axis_{axis}"), value.clone())),
            );
            if findings.imported.is_some() {
                let file = findings.sources.first().cloned().unwrap_or_default();
                labels.push(("source".to_owned(), file));
            }
            all.push((labels, findings));
            Ok(())
        })?;
    }
    let results: Vec<_> = all
        .iter()
        .map(|(labels, findings)| (labels.clone(), findings))
        .collect();
    exposition(&results, format)
}

/// A run, or one of its cells: `r12`, `latest`, `r12.3`.
pub struct RunOrCell {
    pub run: Run,
    /// Position of the cell.
    pub cell: Option<u64>,
}

impl RunOrCell {
    /// Finds a run or a cell by its name.
    ///
    /// # Errors
    /// When there is no such run, or the cell is not a number.
    pub fn find(store: &mut Store, name: &str) -> Result<RunOrCell, String> {
        let (run, cell) = match name.split_once('.') {
            Some((run, cell)) if run == "latest" || RunId::parse(run).is_some() => {
                let position = cell.parse().ok().filter(|position| *position > 0);
                let position = position.ok_or_else(|| {
                    format!(
                        "invalid cell '{}'; cells are named r12.1, r12.2 and so on",
                        name.escape_debug()
                    )
                })?;
                (run, Some(position))
            }
            _ => (name, None),
        };
        let run = store.run(run).map_err(|error| error.to_string())?;
        Ok(RunOrCell { run, cell })
    }

    /// All cells of the run, or the named one.
    ///
    /// # Errors
    /// When there is no such cell, or the store cannot be read.
    pub fn cells(&self, store: &mut Store) -> Result<Vec<StoredCell>, String> {
        let id = self.run.id;
        let mut cells = store.cells(id).map_err(|error| error.to_string())?;
        if ["sweep", "suite"].contains(&self.run.experiment.kind.as_str()) {
            fathom_analyse::mark_stored_contradictions(&mut cells);
        }
        let Some(position) = self.cell else {
            return Ok(cells);
        };
        cells.retain(|cell| cell.position == position);
        if cells.is_empty() {
            return Err(format!(
                "{id} has no cell {position}; `fathom show {id}` lists them"
            ));
        }
        Ok(cells)
    }
}
