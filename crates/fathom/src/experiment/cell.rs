//! One cell: text -> plan -> recording -> findings -> figures.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;

use fathom_linux::{LinuxClock, LinuxHost};
use fathom_model::{Bytes, CellFigures, Findings, Nanos, Personality, Plan, Progress, Recording};
use fathom_plan::{FileReader, Planned, PlannedCell, merge_plans, parse_args, plan};

use super::cell_store::CellStore;
use super::observer::{Observer, Position};
use crate::codes::Codes;
use crate::guard::{self, Backups};
use crate::measure::{Beside, measure_and_keep};
use crate::surroundings::ThisMachine;

/// errno of a full disk.
pub const ENOSPC: i32 = 28;

/// A cell that was measured.
pub struct MeasuredCell {
    /// All that happened.
    pub recording: Recording,
    /// What it means.
    pub findings: Findings,
    /// The same in a few figures.
    pub figures: CellFigures,
}

/// Why a cell was not measured.
#[derive(Clone, Debug)]
pub enum CellError {
    /// This cell cannot be; others may.
    Plain(String),
    /// The guard refuses what it allowed at the start: every further cell would meet the same.
    Refused(String),
    /// Its files find no room.
    Full(String),
}

/// A cell that lays out `targets`, each of `size` bytes, and measures nothing.
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

/// Where the files of a plan are, how much is free there, and how to mend it.
pub fn room(plan: &Plan) -> String {
    let mut folders: Vec<&Path> = plan
        .jobs
        .iter()
        .flat_map(|job| &job.files.paths)
        .filter_map(|path| path.parent())
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let told = folders.iter().map(|folder| {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let free = rustix::fs::statvfs(folder)
            .map_or(0, |facts| facts.f_bavail.saturating_mul(facts.f_frsize));
        format!(
            "the file system under {} is full ({} free)",
            folder.display(),
            fathom_model::format::size(Bytes::new(free))
        )
    });
    format!(
        "{}; make room there, or use less with --size",
        told.collect::<Vec<_>>().join(", ")
    )
}

/// The job file of a cell; files that it includes are read from the machine.
struct Text<'a>(&'a PlannedCell);

impl FileReader for Text<'_> {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        if path == self.0.source {
            Ok(self.0.job_file.clone().into_bytes())
        } else {
            ThisMachine.read(path)
        }
    }

    fn open_log(&self, path: &str) -> std::io::Result<Box<dyn std::io::BufRead + Send>> {
        ThisMachine.open_log(path)
    }
}

/// The plan of a cell, and which of its jobs belong to which target.
///
/// # Errors
/// Every mistake in it, in words.
pub fn plan_of(cell: &PlannedCell) -> Result<(Plan, Vec<Range<usize>>), String> {
    let sides = (0..cell.sides())
        .map(|side| side_of(cell, side))
        .collect::<Result<Vec<Plan>, String>>()?;
    let mut begin = 0;
    let ranges = sides.iter().map(|side| {
        let range = begin..begin + side.jobs.len();
        begin = range.end;
        range
    });
    let ranges: Vec<Range<usize>> = ranges.collect();
    let waits = sides
        .iter()
        .any(|side| side.jobs.iter().any(|job| job.start.after_all_before));
    if sides.len() > 1 && waits {
        return Err("a job file with stonewall cannot be run on several targets at once: its jobs would wait for each other's".to_owned());
    }
    let plan = merge_plans(sides, &cell.targets).ok_or("the cell has no plan")?;
    if plan.jobs.is_empty() {
        return Err(format!("{} has no job", cell.source));
    }
    Ok((plan, if ranges.len() > 1 { ranges } else { Vec::new() }))
}

fn side_of(cell: &PlannedCell, side: usize) -> Result<Plan, String> {
    let invocation = parse_args(&cell.arguments(side), Personality::Fathom);
    let planned = invocation.and_then(|invocation| plan(&invocation, &ThisMachine, &Text(cell)));
    let Planned { plan, .. } = planned.map_err(|problems| {
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    Ok(plan)
}

/// Measures cells one after the other. The clock is calibrated once for all of them.
pub struct Runner {
    clock: LinuxClock,
    codes: Codes,
    backups: Backups,
}

impl Runner {
    /// A runner that may write what the codes allow.
    pub fn new(clock: LinuxClock, destroy: Vec<String>) -> Runner {
        Runner {
            clock,
            codes: Codes::new(destroy),
            backups: Backups::new(Path::new(".")),
        }
    }

    /// Measures one cell.
    ///
    /// # Errors
    /// When it cannot be planned, is not permitted, or its files cannot be made ready.
    pub fn measure(
        &mut self,
        cell: &PlannedCell,
        standing: &Position,
        audience: &mut dyn Observer,
        keep: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError> {
        let (plan, sides) = plan_of(cell).map_err(CellError::Plain)?;
        let host = match std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()) {
            Some(folder) => LinuxHost::new(self.clock).with_scratch(folder.into()),
            None => LinuxHost::new(self.clock),
        };
        self.codes.note(&plan);
        let held = guard::open_targets(&plan, self.codes.all(), &host, &mut self.backups)
            .map_err(|all| CellError::Refused(all.join("\n")))?;
        let measures = plan.jobs.iter().any(|job| !job.files.layout.create_only);
        let journal = if measures {
            keep.begins(cell, &plan).map_err(CellError::Refused)?
        } else {
            None
        };
        let full = room(&plan);
        let audience = RefCell::new(audience);
        let measured = measure_and_keep(
            plan,
            host,
            self.clock,
            &mut |progress: &Progress| audience.borrow_mut().progress(standing, progress),
            &mut |elapsed: Nanos| audience.borrow_mut().wants_state(elapsed),
            &mut |state, _| audience.borrow_mut().state(&state),
            Beside {
                keep: journal,
                end: &|| false,
            },
        );
        self.codes.renew();
        let (mut recording, _) = measured.map_err(|error| match error.cause.errno {
            ENOSPC => CellError::Full(format!("{error}: {full}")),
            _ => CellError::Plain(error.to_string()),
        })?;
        recording.messages.splice(0..0, held);
        let findings = fathom_analyse::findings(&recording);
        let figures = fathom_analyse::cell_figures(&recording, &findings, &sides);
        Ok(MeasuredCell {
            recording,
            findings,
            figures,
        })
    }
}
