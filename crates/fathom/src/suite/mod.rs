//! `fathom suite`: procedures by name, each a recipe in TOML.

mod library;

use std::cell::RefCell;
use std::time::Duration;

use fathom_analyse::suite_answer;
use fathom_cli::{CommandArgs, Purge, ResumeArgs, SuiteArgs};
use fathom_device::Target;
use fathom_experiment::{
    Bounds, CellSource, DetailObserver, Ended, RecipeLibrary, Saved, SuiteCells, SuitePlan,
    suite_steps,
};
use fathom_model::{Bytes, Plan, Run, SuiteResult, SuiteStep, Traffic};
use fathom_plan::{LIMITED_STEP, PlannedCell, Recipe, RunTarget, Step, read_recipe};
use fathom_store::Store;

use self::library::recipe_library;
use crate::app::tenant::TenantApps;
use crate::cli;
use crate::experiment::{
    ExperimentRunner, StoreWriter, check_events, check_observers, enter_directory, plan_cell,
    save_inputs,
};
use crate::experiment_target::{ExperimentTarget, TargetRequest};
use crate::guard;
use crate::hosts::{self, Fleet, resolve_target_of, stored_arguments, target_value};
use crate::machine::Contents;
use crate::outcome::Outcome;
use crate::output;
use crate::print::{eprint_line, print, print_to, write_junit};
use crate::result_store;
use crate::scratch_devices::is_scratch;
use crate::session::{Session, marked};
use crate::timeout::start_query;

/// Lists suites, or runs one.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args| begin(session, args, arguments))
}

/// Resumes a suite, with the recipe that the run stored.
///
/// # Errors
/// When the stored inputs do not fit the present target.
pub fn resume(run: &Run, store: Store, resume: &ResumeArgs) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let mut args = SuiteArgs::read(&enter_directory(&saved)?)?;
    let session = &Session::open(&args.machine(), args.hosts())?;
    let stored = StoreWriter::resume(session, store, run)?;
    check_observers(&resume.observers)?;
    args.common.continue_with(resume);
    let text = |name: &str| {
        saved
            .first(name)
            .ok_or_else(|| format!("the stored run {} has no recipe", run.id))
    };
    let recipe =
        read_recipe(text("recipe")?, text("recipe-text")?).map_err(|error| error.to_string())?;
    let target = saved
        .targets()
        .pop()
        .ok_or_else(|| format!("the stored run {} has no target", run.id))?;
    let fleet = Fleet::find(session, "suite", &args.common.hosts)?;
    let prepared = Prepared::new(session, &args, &recipe, target, fleet)?;
    prepared.check_guard()?;
    prepared.run(stored, resume.budget)
}

fn begin(session: &Session, args: SuiteArgs, arguments: &[String]) -> Result<Outcome, String> {
    check_observers(&args.common.observers)?;
    let library = recipe_library(&args.directories);
    library
        .errors()
        .iter()
        .for_each(|error| eprint_line!("{error}"));
    let Some(name) = &args.name else {
        return Ok(list(&library));
    };
    let recipe = library.find(name).map_err(|error| error.to_string())?;
    let path = args.path.as_deref().ok_or_else(|| {
        format!(
            "{}\n{}\nto run it, give a directory, a file or a device: fathom suite {name} PATH; or simulate one: fathom suite {name} PATH --machine MODEL",
            recipe.title, recipe.about
        )
    })?;
    // The size in the recipe, else what fits.
    let target = |size| {
        let request = TargetRequest {
            path,
            name: "fathom-suite.data",
            size,
            read_only: args.common.read_only,
            create: args.common.create,
        };
        resolve_target_of(session, &args.common.hosts, request)
    };
    let target = match (args.common.size, recipe.size) {
        (None, Some(size)) => target(Some(size)).or_else(|_| target(None)),
        (size, _) => target(size),
    }?;
    start(session, args, arguments, recipe, target)
}

fn start(
    session: &Session,
    args: SuiteArgs,
    arguments: &[String],
    recipe: &Recipe,
    target: ExperimentTarget,
) -> Result<Outcome, String> {
    let fleet = Fleet::find(session, "suite", &args.common.hosts)?;
    let arguments = stored_arguments(fleet.as_ref(), arguments);
    let mut saved = save_inputs(&arguments, std::slice::from_ref(&target))?;
    saved.push("recipe", recipe.source.as_str());
    saved.push("recipe-text", recipe.text.as_str());
    let place = result_store::path_name(&target.file);
    let title = format!("{} on {place}", recipe.name);
    let prepared = Prepared::new(session, &args, recipe, target, fleet)?;
    if args.common.dry_run {
        let printed = print(&(prepared.plan.summary() + "\n" + &prepared.plan.listing()));
        return prepared.check_guard().map(|()| printed);
    }
    prepared.check_guard()?;
    check_events(
        &args.common.observers,
        [prepared.plan.target.file.as_path()],
    )?;
    let experiment = result_store::experiment(session, "suite", title, saved.write());
    let stored = StoreWriter::begin(session, &args.common.store, &experiment)?;
    prepared.run(stored, None)
}

fn list(library: &RecipeLibrary) -> Outcome {
    let widest = library
        .recipes()
        .iter()
        .map(|recipe| recipe.name.len())
        .max()
        .unwrap_or(0);
    let line = |recipe: &Recipe| format!("  {:widest$}  {}\n", recipe.name, recipe.title);
    let lines: String = library.recipes().iter().map(line).collect();
    print(&format!(
        "{lines}\n`fathom suite NAME PATH --dry-run` describes a suite and estimates its time.\n"
    ))
}

/// A suite that was checked and not started yet.
struct Prepared<'a> {
    session: &'a Session,
    args: &'a SuiteArgs,
    plan: SuitePlan<'a>,
    /// The hosts that measure in place of this one.
    fleet: Option<Fleet>,
}

impl<'a> Prepared<'a> {
    fn new(
        session: &'a Session,
        args: &'a SuiteArgs,
        recipe: &'a Recipe,
        target: ExperimentTarget,
        fleet: Option<Fleet>,
    ) -> Result<Prepared<'a>, String> {
        let name = target_value(&target.file)?;
        // A procedure needs all its steps, and --dry-run shows them before writing is allowed.
        let allowed = args.common.dry_run && recipe.procedure.is_some()
            || !args.common.destroy.is_empty()
            || fleet.is_none() && is_scratch(session, &target.file);
        let writes = target.writes || allowed && !args.common.read_only;
        let size = match target.size {
            None if fleet.is_some() => {
                return Err("the size of a target on other hosts is not known here: give the part of it that is used, --size=SIZE".to_owned());
            }
            None => device_size(session, &target)?,
            Some(size) => size,
        };
        let target_name = target.file.display().to_string();
        let run_target = RunTarget {
            target: name,
            size,
            writes,
            time_divisor: args.faster.unwrap_or(1),
        };
        let mut plan = SuitePlan {
            recipe,
            target,
            run_target,
            target_name,
            left_out: Vec::new(),
            purge_writes: args.purge.is_some_and(|purge| purge == Purge::Zeros),
            keep: args.common.keep,
        };
        plan.left_out = recipe
            .steps
            .iter()
            .map(|step| {
                let is_limited = step.name == LIMITED_STEP;
                let has_app = |at: &usize| recipe.tenants[*at].app.is_some();
                let has_group = |at: &usize| is_limited && !recipe.tenants[*at].io_max.is_empty();
                let is_file = || session.file_size(&plan.target.file) > 0;
                let is_here = session.runs_programs() && fleet.is_none();
                let is_here = is_here && (plan.target.made || is_file());
                if step.tenants.iter().any(has_app) && !is_here {
                    let reason = "its application needs a directory of this host";
                    return Ok(Some(reason.to_owned()));
                }
                if step.tenants.iter().any(has_group) && !is_here {
                    let reason = "io_max needs a directory of this host";
                    return Ok(Some(reason.to_owned()));
                }
                reason_to_leave_out(session, &plan, step, fleet.is_some())
            })
            .collect::<Result<_, _>>()?;
        if plan.is_impossible() {
            let file = plan.target.file.display();
            return Err(format!(
                "writing to {file} is not allowed, and {} needs it: give a directory, or allow it with --destroy=CODE (`fathom devices {file}` shows the code)",
                recipe.name
            ));
        }
        Ok(Prepared {
            session,
            args,
            plan,
            fleet,
        })
    }

    /// Checks before the first cell that the guard permits every cell.
    fn check_guard(&self) -> Result<(), String> {
        for cell in self.plan.steps().flat_map(|step| self.plan.cells(step)) {
            let plan = cell_plan(self.session, self.plan.recipe, &cell, self.fleet.is_some())?;
            if self.args.common.read_only {
                guard::check_read_only(&plan).map_err(|error| format!("{}: {error}", cell.key))?;
            }
            // Each agent judges its own targets.
            if self.fleet.is_some() {
                continue;
            }
            let confirmed = guard::Confirmed::codes(&self.args.common.destroy);
            guard::dry_run(self.session, &plan, &confirmed)
                .map_err(|refusals| format!("{}: {}", cell.key, refusals.join("\n")))?;
        }
        Ok(())
    }

    fn purge(&self) -> Option<PlannedCell> {
        match self.args.purge? {
            Purge::Discard => Some(self.plan.discard()),
            Purge::Zeros => Some(self.plan.zeros()),
            Purge::Done => None,
        }
    }

    fn run(
        &self,
        mut stored: StoreWriter,
        session_budget: Option<Duration>,
    ) -> Result<Outcome, String> {
        let common = &self.args.common;
        let mut cells = SuiteCells::new(
            self.plan.recipe,
            self.plan.run_target.clone(),
            self.plan.layout(),
            self.purge(),
            self.plan.left_out.clone(),
        )
        .measuring_again(self.args.budget.or(session_budget).is_some());
        let bounds = Bounds {
            budget: self.args.budget,
            session_budget,
            ..Bounds::default()
        };
        let directory = self.plan.target.file.parent();
        let directory = directory.filter(|_| self.session.runs_programs() && self.fleet.is_none());
        let apps = directory
            .map(|directory| TenantApps::of(self.plan.recipe, directory))
            .transpose()?
            .map(RefCell::new);
        let mut details = DetailObserver::new(self.plan.recipe);
        let summary = self.plan.summary();
        let runner = ExperimentRunner {
            session: self.session,
            kind: "suite",
            title: &self.plan.recipe.name,
            summary: summary.trim_end(),
            cells: cells.remaining(),
            observers: &common.observers,
            targets: std::slice::from_ref(&self.plan.target),
            keep: common.keep,
            destroy: &common.destroy,
            fleet: self.fleet.as_ref(),
            apps: apps.as_ref(),
        };
        let experiment = runner.run(&mut cells, &bounds, &mut stored, Some(&mut details))?;
        details
            .read_earlier(&cells.done, &mut stored)
            .map_err(|error| error.to_string())?;
        let steps = suite_steps(self.plan.recipe, &cells.done, &details.details);
        let is_done = matches!(experiment.ended, Ended::Done);
        let answer = suite_answer(&self.plan.recipe.name, &steps).filter(|_| is_done);
        if let Some(answer) = &answer {
            stored.set_answer(answer)?;
        }
        let printed = self.print_result(&cells, steps, answer);
        if let (Ended::Done, Some(reason)) = (&experiment.ended, &cells.failed) {
            eprint_line!("fathom suite: {reason}");
            return Ok(Outcome::Bad);
        }
        Ok(experiment.outcome(cells.remaining(), printed, Outcome::Bad))
    }

    fn print_result(
        &self,
        cells: &SuiteCells<'_>,
        steps: Vec<SuiteStep>,
        answer: Option<String>,
    ) -> Outcome {
        let result = &self.args.common.result;
        let recipe = self.plan.recipe;
        let write_cache = recipe.procedure.as_ref().map(|_| self.write_cache());
        let suite_result = SuiteResult {
            name: recipe.name.clone(),
            title: recipe.title.clone(),
            about: recipe.about.clone(),
            procedure: recipe.procedure.clone(),
            target: format!(
                "{} ({})",
                self.plan.target_name,
                fathom_model::format::size(self.plan.run_target.size)
            ),
            notes: self.plan.notes(
                &cells.done,
                self.args.purge.map(Purge::sentence),
                self.args.faster,
                write_cache.as_deref(),
            ),
            steps,
            answer,
            simulated: self.session.simulated(),
        };
        let cases = fathom_report::suite_cases(&suite_result);
        let class = format!("{} on {}", suite_result.name, suite_result.target);
        let class = marked(&class, self.session);
        let file = self.args.junit.as_deref();
        if write_junit(file, "fathom suite", &class, &cases) != Outcome::Good {
            return Outcome::Bad;
        }
        if result.output.is_none() && self.args.common.observers.uses_stdout() {
            return Outcome::Good;
        }
        let file = result.output.as_deref();
        if result.is_json() {
            print_to(file, &fathom_report::suite_json(&suite_result))
        } else {
            print_to(
                file,
                &fathom_report::suite_text(&suite_result, &output::answer_style()),
            )
        }
    }

    /// The device of the target, and the state of its write cache.
    fn write_cache(&self) -> String {
        if self.fleet.is_some() {
            return "as each host has it".to_owned();
        }
        let file = self.plan.target.file.clone();
        let machine = self.session.clone();
        let target = start_query(move || machine.inspect(&file))
            .answer()
            .unwrap_or_default();
        let device = target.devices.last().map(|device| &device.before);
        device.map_or_else(
            || "unknown".to_owned(),
            |device| {
                let cache = fathom_report::cache_words(&device.cache);
                format!("{}: {cache}", device.name)
            },
        )
    }
}

/// Why a step is left out. Checks before the first cell that every cell of the step has a plan.
fn reason_to_leave_out(
    session: &Session,
    plan: &SuitePlan<'_>,
    step: &Step,
    on_hosts: bool,
) -> Result<Option<String>, String> {
    for cell in plan.cells(step) {
        let jobs = cell_plan(session, plan.recipe, &cell, on_hosts)?.jobs;
        let writes = jobs.iter().any(|job| job.pattern.traffic != Traffic::Read);
        if writes && !plan.run_target.writes {
            let reason = "it writes, and writing to the target is not allowed";
            return Ok(Some(reason.to_owned()));
        }
    }
    Ok(None)
}

fn cell_plan(
    session: &Session,
    recipe: &Recipe,
    cell: &PlannedCell,
    on_hosts: bool,
) -> Result<Plan, String> {
    let planned = if on_hosts {
        hosts::plan_cell(session, cell)
    } else {
        plan_cell(session, cell).map_err(|error| error.to_string())
    };
    planned
        .map(|(plan, _)| plan)
        .map_err(|error| format!("{}: {}: {error}", recipe.source, cell.key))
}

/// The size of a device or a file.
fn device_size(session: &Session, target: &ExperimentTarget) -> Result<Bytes, String> {
    let examined = session
        .examine(&target.file, Contents::Ends)
        .map_err(|error| error.to_string())?;
    match &examined.facts().target {
        Target::Block(block) => Ok(block.size),
        Target::File(file) => Ok(file.size),
        _ => Err(format!("{} has no size", target.file.display())),
    }
}
