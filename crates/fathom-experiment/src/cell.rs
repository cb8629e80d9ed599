//! One cell and its plan.

use std::ops::Range;

use fathom_load::LoadError;
use fathom_model::{Bytes, CellFigures, Findings, Personality, Plan, Recording};
use fathom_plan::{
    Diagnostic, FileReader, HostInfo, Planned, PlannedCell, Span, merge_plans, parse_args, plan,
};
use thiserror::Error;

use crate::cell_store::CellStoreError;

/// A measured cell.
pub struct MeasuredCell {
    /// Everything that was recorded.
    pub recording: Recording,
    /// The findings of the recording.
    pub findings: Findings,
    /// The main figures of the cell.
    pub figures: CellFigures,
}

impl MeasuredCell {
    /// Analyses a recording, whose jobs belong to these sides of the cell.
    #[must_use]
    pub fn of(recording: Recording, sides: &[Range<usize>]) -> MeasuredCell {
        let findings = fathom_analyse::findings(&recording);
        let figures = fathom_analyse::cell_figures(&recording, &findings, sides);
        MeasuredCell {
            recording,
            findings,
            figures,
        }
    }
}

/// Why a cell was not measured.
#[derive(Debug, Error)]
pub enum CellError {
    /// It has no plan. Other cells may have one.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Its load could not start. That of other cells may.
    #[error(transparent)]
    Load(LoadError),
    /// The guard refuses its targets; it would refuse them for every further cell.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// It cannot be stored, so its result would be lost.
    #[error(transparent)]
    Store(#[from] CellStoreError),
    /// The file system of its target is full.
    #[error("{error}: {advice}")]
    NoSpace {
        /// The failed load.
        #[source]
        error: LoadError,
        /// The full file systems, and what to do.
        advice: String,
    },
}

/// Why a cell has no plan.
#[derive(Clone, Debug, Error)]
pub enum PlanError {
    /// Its job file, settings or targets have mistakes.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Diagnostics(Vec<Diagnostic>),
    /// Its jobs wait for each other, and it has several targets.
    #[error(
        "a job file with stonewall cannot run on several targets at once: the jobs of one target would wait for those of another"
    )]
    Stonewall,
    /// It has no job.
    #[error("{0} has no job")]
    NoJob(String),
}

/// A cell that only lays out `targets`, each of `size` bytes.
#[must_use]
pub fn layout_cell(size: Bytes, targets: Vec<String>) -> PlannedCell {
    PlannedCell {
        key: "layout".to_owned(),
        source: "layout.fio".to_owned(),
        job_file: "[layout]\nrw=randread\nbs=1m\ncreate_only=1\n".to_owned(),
        settings: vec![("size".to_owned(), size.get().to_string())],
        targets,
        prepares: true,
        ..PlannedCell::default()
    }
}

/// The job file of a cell. `files` reads the files that it includes.
struct CellFiles<'a> {
    cell: &'a PlannedCell,
    files: &'a dyn FileReader,
}

impl FileReader for CellFiles<'_> {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        if path == self.cell.source {
            Ok(self.cell.job_file.clone().into_bytes())
        } else {
            self.files.read(path)
        }
    }

    fn open_log(&self, path: &str) -> std::io::Result<Box<dyn std::io::BufRead + Send>> {
        self.files.open_log(path)
    }
}

/// The plan of a cell, and for several targets the range of jobs of each.
///
/// # Errors
/// When the cell cannot be planned.
pub fn plan_cell(
    cell: &PlannedCell,
    host: &dyn HostInfo,
    files: &dyn FileReader,
) -> Result<(Plan, Vec<Range<usize>>), PlanError> {
    let sides = (0..cell.plan_count())
        .map(|side| plan_side(cell, side, host, files))
        .collect::<Result<Vec<Plan>, PlanError>>()?;
    let mut first = 0;
    let ranges = sides.iter().map(|side| {
        let range = first..first + side.jobs.len();
        first = range.end;
        range
    });
    let ranges: Vec<Range<usize>> = ranges.collect();
    let waits = sides
        .iter()
        .any(|side| side.jobs.iter().any(|job| job.start.after_all_before));
    if sides.len() > 1 && waits {
        return Err(PlanError::Stonewall);
    }
    let plan = merge_plans(sides, &cell.targets)
        .filter(|plan| !plan.jobs.is_empty())
        .ok_or_else(|| PlanError::NoJob(cell.source.clone()))?;
    Ok((plan, if ranges.len() > 1 { ranges } else { Vec::new() }))
}

fn plan_side(
    cell: &PlannedCell,
    side: usize,
    host: &dyn HostInfo,
    files: &dyn FileReader,
) -> Result<Plan, PlanError> {
    let arguments = cell.arguments(side);
    let invocation = parse_args(&arguments, Personality::Fathom);
    let planned =
        invocation.and_then(|invocation| plan(&invocation, host, &CellFiles { cell, files }));
    let Planned { plan, .. } = planned.map_err(|diagnostics| {
        let named = diagnostics
            .into_iter()
            .map(|diagnostic| with_option(diagnostic, &arguments));
        PlanError::Diagnostics(named.collect())
    })?;
    Ok(plan)
}

/// A diagnostic about an argument that names the option: the user did not write these arguments.
fn with_option(diagnostic: Diagnostic, arguments: &[String]) -> Diagnostic {
    let Span::Argument(number) = diagnostic.at else {
        return diagnostic;
    };
    let Some([option, value]) = arguments.get(number as usize - 1..=number as usize) else {
        return diagnostic;
    };
    Diagnostic {
        at: Span::Override(format!("{option} {value}").into()),
        option: diagnostic.option.filter(|name| name != option),
        ..diagnostic
    }
}
