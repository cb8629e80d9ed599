//! Measures cells on this machine: plan, guard, load, findings.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use fathom_experiment::{
    CellError, CellRunner, CellStore, MeasuredCell, Observer, PlanError, Position,
};
use fathom_linux::{LinuxClock, LinuxHost, interrupts};
use fathom_load::{HostError, LoadError};
use fathom_model::{Bytes, Nanos, Plan, Progress};
use fathom_plan::{HostInfo, LIMITED_STEP, PlannedCell};

use crate::app::tenant::TenantApps;
use crate::codes::Codes;
use crate::guard::{self, Backups};
use crate::limited_jobs::LimitedJobs;
use crate::measure::{RunExtras, measure_and_store, writes_logs};
use crate::sim::{SimDeviceSource, SimMachine};
use crate::this_machine::{ThisMachine, start_clock};

/// errno of a full file system.
const ENOSPC: i32 = 28;
/// errno of a tenant in a process of its own that failed.
const EIO: i32 = 5;

/// The plan of a cell, and for several targets the range of jobs of each.
///
/// # Errors
/// When the cell cannot be planned.
pub fn plan_cell(cell: &PlannedCell) -> Result<(Plan, Vec<Range<usize>>), PlanError> {
    fathom_experiment::plan_cell(cell, &ThisMachine, &ThisMachine)
}

/// Measures cells one after the other. The clock is calibrated once for all of them.
pub struct LinuxRunner<'a> {
    clock: LinuxClock,
    codes: Codes,
    backups: Backups,
    apps: Option<&'a RefCell<TenantApps>>,
}

impl<'a> LinuxRunner<'a> {
    /// A runner that may write what the codes `destroy` allow, with the tenants that run in processes of their own.
    pub fn new(destroy: &[String], apps: Option<&'a RefCell<TenantApps>>) -> LinuxRunner<'a> {
        interrupts();
        LinuxRunner {
            clock: start_clock(),
            codes: Codes::new(destroy.to_vec()),
            backups: Backups::new(Path::new(".")),
            apps,
        }
    }
}

/// A tenant in a process of its own that cannot run.
fn app_failed(what: String) -> CellError {
    CellError::Load(LoadError {
        job: "tenant".to_owned(),
        cause: HostError { errno: EIO, what },
    })
}

impl CellRunner for LinuxRunner<'_> {
    fn run(
        &mut self,
        cell: &PlannedCell,
        position: &Position,
        observer: &mut dyn Observer,
        store: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError> {
        let (mut plan, sides) = plan_cell(cell)?;
        let clock = crate::blame::clock_of(&plan, || self.clock);
        let host = match std::env::var_os("TMPDIR").filter(|directory| !directory.is_empty()) {
            Some(directory) => LinuxHost::new(clock).with_scratch(directory.into()),
            None => LinuxHost::new(clock),
        };
        self.codes.note(&plan);
        let whole = plan.clone();
        let limited = self.apps.filter(|_| cell.key == LIMITED_STEP).map(|apps| {
            apps.borrow()
                .start_limited(cell, &mut plan, self.codes.all())
        });
        let limited = limited.transpose().map_err(app_failed)?.unwrap_or_default();
        let messages = guard::open_targets(
            &plan,
            &guard::Confirmed::codes(self.codes.all()),
            &host,
            &mut self.backups,
        )
        .map_err(CellError::Refused)?;
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
            plan,
            host,
            clock,
            &mut |progress: &Progress| observer.borrow_mut().progress(position, progress),
            &mut |elapsed: Nanos| observer.borrow_mut().wants_state(elapsed),
            &mut |state, _| observer.borrow_mut().state(&state),
            RunExtras {
                interval_sink: journal,
                end: &|| false,
                before_start: (!apps.is_empty() || !limited.is_empty())
                    .then_some(&release as &dyn Fn()),
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
        apps.finish(&mut recording).map_err(app_failed)?;
        for jobs in limited {
            jobs.finish(&mut recording).map_err(app_failed)?;
        }
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

/// A cell that was simulated, and its plan.
struct SimulatedCell {
    plan: Plan,
    /// Its result, or why it cannot be simulated.
    measured: Result<MeasuredCell, String>,
}

/// Measures cells on a simulated device, each on a new one. In virtual time they do not disturb each other, so that all CPUs
/// simulate cells at the same time. The results do not depend on it.
pub struct SimRunner<'scope, 'env> {
    device: &'env SimDeviceSource,
    scope: &'scope Scope<'scope, 'env>,
    /// Cells that were begun before their turn, by their identifiers.
    begun: HashMap<String, ScopedJoinHandle<'scope, SimulatedCell>>,
    /// Whether results of begun cells are still of use.
    wanted: Arc<AtomicBool>,
}

impl<'scope, 'env> SimRunner<'scope, 'env> {
    /// A runner whose threads belong to `scope`.
    pub fn new(device: &'env SimDeviceSource, scope: &'scope Scope<'scope, 'env>) -> Self {
        SimRunner {
            device,
            scope,
            begun: HashMap::new(),
            wanted: Arc::new(AtomicBool::new(true)),
        }
    }
}

impl Drop for SimRunner<'_, '_> {
    fn drop(&mut self) {
        self.wanted.store(false, Relaxed);
    }
}

fn plan_simulated(cell: &PlannedCell) -> Result<(Plan, Vec<Range<usize>>), PlanError> {
    fathom_experiment::plan_cell(cell, &SimMachine, &ThisMachine)
}

fn simulate(
    device: &SimDeviceSource,
    plan: Plan,
    sides: &[Range<usize>],
    wanted: &AtomicBool,
) -> SimulatedCell {
    let measured = device.run_while(plan.clone(), wanted);
    SimulatedCell {
        plan,
        measured: measured.map(|recording| MeasuredCell::of(recording, sides)),
    }
}

impl CellRunner for SimRunner<'_, '_> {
    fn ahead(&self) -> usize {
        // Cells end in their order, and some take ten times as long as others: with one for each CPU most CPUs would wait
        // for the longest.
        2 * ThisMachine.cpus() as usize + 4
    }

    fn begin(&mut self, cells: Vec<PlannedCell>) {
        for cell in cells {
            let name = cell.id();
            if self.begun.contains_key(&name) {
                continue;
            }
            let Ok((plan, sides)) = plan_simulated(&cell) else {
                continue;
            };
            // The logs of all cells may have the same names: they are written one after the other.
            if writes_logs(&plan) {
                continue;
            }
            let (device, wanted) = (self.device, Arc::clone(&self.wanted));
            let work = move || simulate(device, plan, &sides, &wanted);
            // Without another thread the cell is simulated at its turn.
            if let Ok(thread) = std::thread::Builder::new().spawn_scoped(self.scope, work) {
                self.begun.insert(name, thread);
            }
        }
    }

    fn run(
        &mut self,
        cell: &PlannedCell,
        _: &Position,
        _: &mut dyn Observer,
        store: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError> {
        let begun = self.begun.remove(&cell.id());
        let simulated = match begun {
            Some(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => {
                let (plan, sides) = plan_simulated(cell)?;
                simulate(self.device, plan, &sides, &self.wanted)
            }
        };
        // No journal: a cell takes milliseconds.
        let _ = store.start(cell, &simulated.plan)?;
        simulated
            .measured
            .map_err(|message| CellError::Refused(vec![message]))
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
