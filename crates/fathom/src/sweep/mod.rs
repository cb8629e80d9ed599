//! `fathom sweep`: a grid of cells, coarse first, so that an interrupted sweep is useful too.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_cli::{CommandArgs, ResumeArgs, SweepArgs};
use fathom_experiment::{
    Bounds, CellSource, LEAST_FOR_PRECISION, Saved, SweepCells, SweepGoal, SweepPlan, cell_time,
    layout_cell, sweep_grid, sweep_settings,
};
use fathom_model::{Bytes, Direction, Job, Run};
use fathom_plan::{PlannedCell, Sweep, parse_size};
use fathom_store::Store;

use crate::cli;
use crate::experiment::{
    ExperimentRunner, StoreWriter, check_events, check_observers, enter_directory, plan_cell,
    read_job_file, save_inputs,
};
use crate::experiment_target::{ExperimentTarget, TargetRequest};
use crate::guard;
use crate::hosts::{self, Fleet, resolve_target_of, stored_arguments, target_value};
use crate::outcome::Outcome;
use crate::output;
use crate::print::{print, print_commands, print_to, write_junit};
use crate::result_store;
use crate::session::{Session, marked};

/// The file that is created in a directory.
const FILE: &str = "fathom-sweep.data";
/// The most cells of a sweep; more are a mistake in an axis.
const MOST_CELLS: usize = 100_000;

/// Runs the sweep that the arguments describe.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args| begin(session, args, arguments))
}

fn begin(session: &Session, args: SweepArgs, arguments: &[String]) -> Result<Outcome, String> {
    check_observers(&args.common.observers)?;
    let job_file = args.job_file.as_deref().map(read_job_file).transpose()?;
    let targets = targets(session, &args)?;
    let fleet = Fleet::find(session, "sweep", &args.common.hosts)?;
    let prepared = Prepared::new(session, args, job_file, targets, fleet)?;
    prepared.check()?;
    if prepared.args.common.dry_run {
        let plan = prepared.plan();
        return Ok(print(&format!("{plan}\n{}", plan.listing())));
    }
    let mut experiment = result_store::experiment(
        session,
        "sweep",
        prepared.title(),
        prepared.saved(arguments)?.write(),
    );
    experiment.planned = (prepared.sweep.count().unwrap_or(0) * prepared.repeats as usize) as u64;
    let files = prepared.targets.iter().map(|target| target.file.as_path());
    check_events(&prepared.args.common.observers, files)?;
    let stored = StoreWriter::begin(session, &prepared.args.common.store, &experiment)?;
    prepared.run(stored, None)
}

/// Resumes a sweep.
///
/// # Errors
/// When the stored inputs do not fit the present targets.
pub fn resume(run: &Run, store: Store, resume: &ResumeArgs) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let mut args = SweepArgs::read(&enter_directory(&saved)?)?;
    let session = &Session::open(&args.machine(), args.hosts())?;
    let stored = StoreWriter::resume(session, store, run)?;
    check_observers(&resume.observers)?;
    args.common.continue_with(resume);
    let fleet = Fleet::find(session, "sweep", &args.common.hosts)?;
    let prepared = Prepared::new(session, args, saved.job_file(), saved.targets(), fleet)?;
    prepared.check()?;
    prepared.run(stored, resume.budget)
}

/// A sweep that was checked and not started yet.
struct Prepared<'a> {
    session: &'a Session,
    args: SweepArgs,
    sweep: Sweep,
    targets: Vec<ExperimentTarget>,
    /// Time of a cell; `None` if the job file sets it.
    cell_time: Option<Duration>,
    repeats: u32,
    /// The hosts that measure in place of this one.
    fleet: Option<Fleet>,
}

impl<'a> Prepared<'a> {
    fn new(
        session: &'a Session,
        args: SweepArgs,
        job_file: Option<(String, String)>,
        targets: Vec<ExperimentTarget>,
        fleet: Option<Fleet>,
    ) -> Result<Prepared<'a>, String> {
        let mut axes = args.axes.clone();
        let names = targets
            .iter()
            .map(name)
            .collect::<Result<Vec<String>, String>>()?;
        let mut common_targets = Vec::new();
        // The values of an axis of targets become the names of their files.
        match axes.iter_mut().find(|axis| axis.name == "target") {
            Some(axis) => axis.values = names,
            None => common_targets = names,
        }
        let display_names = targets
            .iter()
            .filter_map(|target| Some((name(target).ok()?, target.display_name.clone())))
            .collect();
        let mut sweep = Sweep {
            axes,
            job_file,
            settings: Vec::new(),
            targets: common_targets,
            display_names,
            together: !args.alone,
        };
        let count = sweep.count().filter(|count| *count <= MOST_CELLS);
        let count = count.ok_or_else(|| {
            format!(
                "these axes have more than {MOST_CELLS} cells; use fewer values or larger steps"
            )
        })?;
        let least = if args.precision.is_some() {
            LEAST_FOR_PRECISION
        } else {
            1
        };
        let repeats = args.repeat.unwrap_or(1).max(least);
        let cell_time = cell_time(
            args.runtime,
            args.load.budget,
            args.job_file.is_some(),
            count * repeats as usize,
        );
        sweep.settings = sweep_settings(cell_time, &targets, &args.load.set);
        Ok(Prepared {
            session,
            args,
            sweep,
            targets,
            cell_time,
            repeats,
            fleet,
        })
    }

    /// Its name in lists.
    fn title(&self) -> String {
        let targets: Vec<String> = self
            .targets
            .iter()
            .map(|target| result_store::path_name(&target.file))
            .collect();
        let job_file = self.sweep.job_file.as_ref().map(|(name, _)| name.clone());
        job_file
            .into_iter()
            .chain(targets)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn plan(&self) -> SweepPlan<'_> {
        SweepPlan {
            sweep: &self.sweep,
            cell_time: self.cell_time,
            repeats: self.repeats,
            adaptive: self.args.agreement().is_some(),
            budget: self.args.load.budget,
            targets: &self.targets,
            keep: self.args.common.keep,
        }
    }

    /// Everything that a resume needs.
    fn saved(&self, arguments: &[String]) -> Result<Saved, String> {
        let arguments = stored_arguments(self.fleet.as_ref(), arguments);
        let mut saved = save_inputs(&arguments, &self.targets)?;
        if let Some(job_file) = &self.sweep.job_file {
            saved.push_job_file(job_file);
        }
        Ok(saved)
    }

    /// Checks before the first cell that every cell has a plan and that the guard permits it.
    fn check(&self) -> Result<(), String> {
        let mut commands = Vec::new();
        let mut checked = HashSet::new();
        for position in self.sweep.positions() {
            let cell = self.sweep.cell(&position);
            let planned = match self.fleet {
                Some(_) => hosts::plan_cell(self.session, &cell),
                None => plan_cell(self.session, &cell).map_err(|problems| problems.to_string()),
            };
            let (plan, _) = planned.map_err(|problems| format!("{}: {problems}", cell.key))?;
            for command in fathom_analyse::plan_commands(&plan) {
                if self.args.common.dry_run && !commands.contains(&command) {
                    print_commands(std::slice::from_ref(&command));
                    commands.push(command);
                }
            }
            if self.fleet.is_some() {
                // Each agent judges its own targets.
                if self.args.common.read_only {
                    guard::check_read_only(&plan)
                        .map_err(|error| format!("{}: {error}", cell.key))?;
                }
                continue;
            }
            // The guard inspects the targets, which takes longer: once for all cells that do the same to them.
            let uses =
                |job: &Job| Direction::ALL.map(|direction| job.pattern.traffic.uses(direction));
            let accesses: Vec<_> = plan
                .jobs
                .iter()
                .map(|job| {
                    (
                        job.files.paths.clone(),
                        job.files.size,
                        uses(job),
                        job.engine.kind,
                    )
                })
                .collect();
            if !checked.insert(format!("{accesses:?}")) {
                continue;
            }
            if self.args.common.read_only {
                guard::check_read_only(&plan).map_err(|error| format!("{}: {error}", cell.key))?;
            }
            let confirmed = guard::Confirmed::codes(&self.args.common.destroy);
            guard::dry_run(self.session, &plan, &confirmed)
                .map_err(|refusals| format!("{}: {}", cell.key, refusals.join("\n")))?;
        }
        Ok(())
    }

    /// The cell that lays out created files.
    fn layout(&self) -> Option<PlannedCell> {
        let made: Vec<&ExperimentTarget> = self
            .targets
            .iter()
            .filter(|target| target.writes && target.size.is_some())
            .collect();
        let size = made.iter().filter_map(|target| target.size).max()?;
        Some(layout_cell(
            size,
            made.into_iter()
                .filter_map(|target| name(target).ok())
                .collect(),
        ))
    }

    fn run(
        &self,
        mut stored: StoreWriter,
        session_budget: Option<Duration>,
    ) -> Result<Outcome, String> {
        let common = &self.args.common;
        let goal = SweepGoal {
            repeats: self.repeats,
            precision: self.args.precision,
            agreement: self.args.agreement(),
            again: self.args.load.budget.or(session_budget).is_some(),
        };
        let mut cells =
            SweepCells::new(&self.sweep, goal, self.layout()).map_err(|error| error.to_string())?;
        let bounds = Bounds {
            budget: self.args.load.budget,
            session_budget,
            expected: self.cell_time,
        };
        let runner = ExperimentRunner {
            session: self.session,
            kind: "sweep",
            title: &self.title(),
            summary: &self.plan().to_string(),
            cells: self.sweep.count().unwrap_or(0),
            observers: &common.observers,
            targets: &self.targets,
            keep: common.keep,
            destroy: &common.destroy,
            fleet: self.fleet.as_ref(),
            apps: None,
        };
        let experiment = runner.run(&mut cells, &bounds, &mut stored, None)?;
        let printed = self.print_result(&cells);
        Ok(experiment.outcome(cells.remaining(), printed, printed))
    }

    fn print_result(&self, cells: &SweepCells<'_>) -> Outcome {
        let targets: Vec<String> = self
            .targets
            .iter()
            .map(|target| target.display_name.clone())
            .collect();
        let mut grid = sweep_grid(&self.sweep, cells, &targets);
        grid.simulated = self.session.simulated();
        if grid.rows.is_empty() {
            return Outcome::Bad;
        }
        let file = self.args.junit.as_deref();
        let cases = fathom_report::grid_cases(&grid);
        let class = marked(&self.title(), self.session);
        if write_junit(file, "fathom sweep", &class, &cases) != Outcome::Good {
            return Outcome::Bad;
        }
        let result = &self.args.common.result;
        if result.output.is_none() && self.args.common.observers.uses_stdout() {
            return Outcome::Good;
        }
        let file = result.output.as_deref();
        if result.is_json() {
            print_to(file, &fathom_report::grid_json(&grid))
        } else {
            print_to(
                file,
                &fathom_report::grid_text(&grid, &output::answer_style()),
            )
        }
    }
}

fn name(target: &ExperimentTarget) -> Result<String, String> {
    target_value(&target.file)
}

/// The targets of all paths and of an axis of targets.
fn targets(session: &Session, args: &SweepArgs) -> Result<Vec<ExperimentTarget>, String> {
    let size = args.common.size.or(largest_size(args));
    let target = |path: &Path| {
        resolve_target_of(
            session,
            &args.common.hosts,
            TargetRequest {
                path,
                name: FILE,
                size,
                read_only: args.common.read_only,
                create: args.common.create,
            },
        )
    };
    let by_axis = args
        .axes
        .iter()
        .filter(|axis| axis.name == "target")
        .flat_map(|axis| &axis.values)
        .map(Path::new);
    args.paths
        .iter()
        .map(PathBuf::as_path)
        .chain(by_axis)
        .map(target)
        .collect()
}

/// The largest working set on an axis, which a created file must hold.
fn largest_size(args: &SweepArgs) -> Option<Bytes> {
    let sizes = args
        .axes
        .iter()
        .filter(|axis| axis.name == "size")
        .flat_map(|axis| &axis.values);
    sizes.filter_map(|value| parse_size(value).ok()).max()
}
