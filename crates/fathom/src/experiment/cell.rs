//! One cell: text -> plan -> recording -> findings -> figures.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use fathom_linux::{LinuxClock, LinuxHost};
use fathom_model::{CellFigures, Findings, Nanos, Personality, Plan, Progress, Recording};
use fathom_plan::{Cell, Includes, Planned, beside, parse_args, plan};

use super::audience::{Audience, Standing};
use crate::guard;
use crate::measure::measure;
use crate::surroundings::ThisMachine;

/// errno of a full disk.
pub const ENOSPC: i32 = 28;

/// A cell that was measured.
pub struct Measured {
    /// All that happened.
    pub recording: Recording,
    /// What it means.
    pub findings: Findings,
    /// The same in a few figures.
    pub figures: CellFigures,
}

/// Why a cell was not measured.
#[derive(Clone, Debug)]
pub struct CellError {
    /// Every further cell would meet the same: the guard refuses what it allowed at the start, or the disk is full.
    pub stops: bool,
    what: String,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl CellError {
    fn plain(what: String) -> CellError {
        CellError { stops: false, what }
    }
}

/// The job file of a cell; files that it includes are read from the machine.
struct Text<'a>(&'a Cell);

impl Includes for Text<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if path == self.0.source { Ok(self.0.job_file.clone().into_bytes()) } else { ThisMachine.read(path) }
    }

    fn open_log(&self, path: &str) -> Result<Box<dyn std::io::BufRead + Send>, String> {
        ThisMachine.open_log(path)
    }
}

/// The plan of a cell, and which of its jobs belong to which target.
///
/// # Errors
/// Every mistake in it, in words.
pub fn plan_of(cell: &Cell) -> Result<(Plan, Vec<Range<usize>>), String> {
    let sides = (0..cell.sides()).map(|side| side_of(cell, side)).collect::<Result<Vec<Plan>, String>>()?;
    let mut begin = 0;
    let ranges = sides.iter().map(|side| {
        let range = begin..begin + side.jobs.len();
        begin = range.end;
        range
    });
    let ranges: Vec<Range<usize>> = ranges.collect();
    let waits = sides.iter().any(|side| side.jobs.iter().any(|job| job.start.after_all_before));
    if sides.len() > 1 && waits {
        return Err("a job file with stonewall cannot be run on several targets at once: its jobs would wait for each other's".to_owned());
    }
    let plan = beside(sides, &cell.targets).ok_or("the cell has no plan")?;
    if plan.jobs.is_empty() {
        return Err(format!("{} has no job", cell.source));
    }
    Ok((plan, if ranges.len() > 1 { ranges } else { Vec::new() }))
}

fn side_of(cell: &Cell, side: usize) -> Result<Plan, String> {
    let invocation = parse_args(&cell.arguments(side), Personality::Fathom);
    let planned = invocation.and_then(|invocation| plan(&invocation, &ThisMachine, &Text(cell)));
    let Planned { plan, .. } =
        planned.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(plan)
}

/// Measures cells one after the other. The clock is calibrated once for all of them.
pub struct Runner {
    clock: LinuxClock,
    destroy: Vec<String>,
}

impl Runner {
    /// A runner that may write what the codes allow.
    pub fn new(clock: LinuxClock, destroy: Vec<String>) -> Runner {
        Runner { clock, destroy }
    }

    /// Measures one cell.
    ///
    /// # Errors
    /// When it cannot be planned, is not permitted, or its files cannot be made ready.
    pub fn measure(&mut self, cell: &Cell, standing: &Standing, audience: &mut dyn Audience) -> Result<Measured, CellError> {
        let (plan, sides) = plan_of(cell).map_err(CellError::plain)?;
        let host = match std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()) {
            Some(folder) => LinuxHost::new(self.clock).with_scratch(folder.into()),
            None => LinuxHost::new(self.clock),
        };
        let held = guard::take_hold(&plan, &self.destroy, &host, Path::new(".")).map_err(|all| CellError { stops: true, what: all.join("\n") })?;
        let audience = RefCell::new(audience);
        let measured = measure(
            plan,
            host,
            self.clock,
            &mut |progress: &Progress| audience.borrow_mut().progress(standing, progress),
            &mut |elapsed: Nanos| audience.borrow_mut().wants_state(elapsed),
            &mut |state, _| audience.borrow_mut().state(&state),
        );
        let (mut recording, _) = measured.map_err(|error| CellError { stops: error.cause.errno == ENOSPC, what: error.to_string() })?;
        recording.messages.splice(0..0, held);
        let findings = fathom_analyse::findings(&recording);
        let figures = fathom_analyse::cell_figures(&recording, &findings, &sides);
        Ok(Measured { recording, findings, figures })
    }
}
