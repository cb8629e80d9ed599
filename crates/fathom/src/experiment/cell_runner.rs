//! Measures cells on this machine: plan, guard, load, findings.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use fathom_experiment::{
    CellError, CellRunner, CellStore, MeasuredCell, Observer, PlanError, Position,
};
use fathom_linux::{LinuxClock, LinuxHost, interrupts};
use fathom_model::{Bytes, Nanos, Plan, Progress};
use fathom_plan::PlannedCell;

use crate::codes::Codes;
use crate::guard::{self, Backups};
use crate::measure::{RunExtras, measure_and_store};
use crate::sim::{SimDeviceSource, SimMachine};
use crate::this_machine::{ThisMachine, start_clock};

/// errno of a full file system.
const ENOSPC: i32 = 28;

/// The plan of a cell, and for several targets the range of jobs of each.
///
/// # Errors
/// When the cell cannot be planned.
pub fn plan_cell(cell: &PlannedCell) -> Result<(Plan, Vec<std::ops::Range<usize>>), PlanError> {
    fathom_experiment::plan_cell(cell, &ThisMachine, &ThisMachine)
}

/// Measures cells one after the other. The clock is calibrated once for all of them.
pub struct LinuxRunner {
    clock: LinuxClock,
    codes: Codes,
    backups: Backups,
}

impl LinuxRunner {
    /// A runner that may write what the codes `destroy` allow.
    pub fn new(destroy: &[String]) -> LinuxRunner {
        interrupts();
        LinuxRunner {
            clock: start_clock(),
            codes: Codes::new(destroy.to_vec()),
            backups: Backups::new(Path::new(".")),
        }
    }
}

impl CellRunner for LinuxRunner {
    fn run(
        &mut self,
        cell: &PlannedCell,
        position: &Position,
        observer: &mut dyn Observer,
        store: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError> {
        let (plan, sides) = plan_cell(cell)?;
        let clock = crate::blame::clock_of(&plan, || self.clock);
        let host = match std::env::var_os("TMPDIR").filter(|directory| !directory.is_empty()) {
            Some(directory) => LinuxHost::new(clock).with_scratch(directory.into()),
            None => LinuxHost::new(clock),
        };
        self.codes.note(&plan);
        let messages = guard::open_targets(
            &plan,
            &guard::Confirmed::codes(self.codes.all()),
            &host,
            &mut self.backups,
        )
        .map_err(CellError::Refused)?;
        let measures = plan.jobs.iter().any(|job| !job.files.layout.create_only);
        let journal = if measures {
            store.start(cell, &plan)?
        } else {
            None
        };
        let no_space = self.no_space(&plan);
        let observer = RefCell::new(observer);
        let measured = measure_and_store(
            plan,
            host,
            clock,
            &mut |progress: &Progress| observer.borrow_mut().progress(position, progress),
            &mut |elapsed: Nanos| observer.borrow_mut().wants_state(elapsed),
            &mut |state, _| observer.borrow_mut().state(&state),
            RunExtras {
                interval_sink: journal,
                end: &|| false,
                before_start: None,
                may_begin: None,
            },
        );
        self.codes.renew();
        let (mut recording, _) = measured.map_err(|error| match error.cause.errno {
            ENOSPC => CellError::NoSpace {
                error,
                advice: no_space,
            },
            _ => CellError::Load(error),
        })?;
        recording.messages.splice(0..0, messages);
        Ok(MeasuredCell::of(recording, &sides))
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn is_interrupted(&self) -> bool {
        interrupts().load(Relaxed) > 0
    }

    fn no_space(&self, plan: &Plan) -> String {
        let mut directories: Vec<&Path> = plan
            .jobs
            .iter()
            .flat_map(|job| &job.files.paths)
            .filter_map(|path| path.parent())
            .collect();
        directories.sort_unstable();
        directories.dedup();
        let messages = directories.iter().map(|directory| {
            let directory = if directory.as_os_str().is_empty() {
                Path::new(".")
            } else {
                directory
            };
            let free = rustix::fs::statvfs(directory)
                .map_or(0, |facts| facts.f_bavail.saturating_mul(facts.f_frsize));
            format!(
                "the file system of {} is full ({} free)",
                directory.display(),
                fathom_model::format::size(Bytes::new(free))
            )
        });
        format!(
            "{}; free some space there, or use less with --size",
            messages.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Measures cells on a simulated device, each on a new one.
pub struct SimRunner<'a>(pub &'a SimDeviceSource);

impl CellRunner for SimRunner<'_> {
    fn run(
        &mut self,
        cell: &PlannedCell,
        _: &Position,
        _: &mut dyn Observer,
        store: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError> {
        let (plan, sides) = fathom_experiment::plan_cell(cell, &SimMachine, &ThisMachine)?;
        // No journal: a cell takes milliseconds.
        let _ = store.start(cell, &plan)?;
        let recording = self
            .0
            .run(plan)
            .map_err(|message| CellError::Refused(vec![message]))?;
        Ok(MeasuredCell::of(recording, &sides))
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn is_interrupted(&self) -> bool {
        interrupts().load(Relaxed) > 0
    }

    fn no_space(&self, _: &Plan) -> String {
        "the simulated device is too small; reduce --size or set capacity= of the model".to_owned()
    }
}
