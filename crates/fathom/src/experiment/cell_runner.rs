//! Measures cells on the machine of the session: plan, guard, load, findings.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use fathom_experiment::{
    CellError, CellRunner, CellStore, MeasuredCell, Observer, PlanError, Position,
};
use fathom_linux::interrupts;
use fathom_load::{HostError, LoadError};
use fathom_model::{Bytes, Nanos, Plan, Progress};
use fathom_plan::{LIMITED_STEP, PlannedCell};

use crate::app::tenant::TenantApps;
use crate::codes::Codes;
use crate::guard::{self, Backups};
use crate::limited_jobs::LimitedJobs;
use crate::machine::PreparedLoad;
use crate::measure::{RunExtras, measure_and_store};
use crate::session::Session;
use crate::this_machine::ThisMachine;

/// errno of a full file system.
const ENOSPC: i32 = 28;
/// errno of a tenant in a process of its own that failed.
const EIO: i32 = 5;

/// The plan of a cell, and for several targets the range of jobs of each.
///
/// # Errors
/// When the cell cannot be planned.
pub fn plan_cell(
    session: &Session,
    cell: &PlannedCell,
) -> Result<(Plan, Vec<Range<usize>>), PlanError> {
    fathom_experiment::plan_cell(cell, session, &ThisMachine)
}

/// Measures cells one after the other on the machine of the session.
pub struct MachineRunner<'a> {
    session: &'a Session,
    codes: Codes,
    backups: Backups,
    apps: Option<&'a RefCell<TenantApps>>,
}

impl<'a> MachineRunner<'a> {
    /// A runner that may write what the codes `destroy` allow, with the tenants that run in processes of their own.
    pub fn new(
        session: &'a Session,
        destroy: &[String],
        apps: Option<&'a RefCell<TenantApps>>,
    ) -> MachineRunner<'a> {
        interrupts();
        MachineRunner {
            session,
            codes: Codes::new(destroy.to_vec()),
            backups: Backups::new(Path::new(".")),
            apps,
        }
    }

    /// Opens the targets of a cell.
    fn open(
        &mut self,
        plan: &Plan,
    ) -> Result<(Box<dyn PreparedLoad + 'a>, Vec<String>), CellError> {
        let confirmed = guard::Confirmed::codes(self.codes.all());
        guard::open_targets(self.session, plan, &confirmed, &mut self.backups)
            .map_err(CellError::Refused)
    }
}

/// A tenant in a process of its own that cannot run.
fn app_failed(what: String) -> CellError {
    CellError::Load(LoadError {
        job: "tenant".to_owned(),
        cause: HostError { errno: EIO, what },
    })
}

impl CellRunner for MachineRunner<'_> {
    fn run(
        &mut self,
        cell: &PlannedCell,
        position: &Position,
        observer: &mut dyn Observer,
        store: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError> {
        let (mut plan, sides) = plan_cell(self.session, cell)?;
        self.codes.note(self.session, &plan);
        let whole = plan.clone();
        let limited = self.apps.filter(|_| cell.key == LIMITED_STEP).map(|apps| {
            apps.borrow()
                .start_limited(cell, &mut plan, self.codes.all())
        });
        let limited = limited.transpose().map_err(app_failed)?.unwrap_or_default();
        let (load, messages) = self.open(&plan)?;
        let measures = plan.jobs.iter().any(|job| !job.files.layout.create_only);
        let journal = if measures {
            store.start(cell, &whole)?
        } else {
            None
        };
        let no_space = self.no_space(&plan);
        let apps = self.apps.map(|apps| {
            let is_limited = cell.key == LIMITED_STEP;
            apps.borrow_mut().start(&plan, is_limited)
        });
        let apps = apps.transpose().map_err(app_failed)?.unwrap_or_default();
        let release = || {
            apps.release();
            limited.iter().for_each(LimitedJobs::release);
        };
        let observer = RefCell::new(observer);
        let measured = measure_and_store(
            load,
            plan,
            &mut |progress: &Progress| observer.borrow_mut().progress(position, progress),
            &mut |elapsed: Nanos| observer.borrow_mut().wants_state(elapsed),
            &mut |state, _| observer.borrow_mut().state(&state),
            RunExtras {
                interval_sink: journal,
                before_start: (!apps.is_empty() || !limited.is_empty())
                    .then_some(&release as &dyn Fn()),
                ..RunExtras::default()
            },
        );
        self.codes.renew(self.session);
        let (mut recording, _) = measured.map_err(|error| match error.cause.errno {
            ENOSPC => CellError::NoSpace {
                error,
                advice: no_space,
            },
            _ => CellError::Load(error),
        })?;
        apps.finish(&mut recording).map_err(app_failed)?;
        for jobs in limited {
            jobs.finish(&mut recording).map_err(app_failed)?;
        }
        recording.messages.splice(0..0, messages);
        Ok(MeasuredCell::of(recording, &sides))
    }

    fn now(&self) -> Instant {
        self.session.now()
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
            let space = self.session.space(directory);
            format!(
                "the file system of {} is full ({} free)",
                directory.display(),
                fathom_model::format::size(space.map_or(Bytes::ZERO, |space| space.free))
            )
        });
        format!(
            "{}; free some space there, or use less with --size",
            messages.collect::<Vec<_>>().join(", ")
        )
    }
}
