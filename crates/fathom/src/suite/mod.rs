//! `fathom suite`: procedures by name, each a recipe in TOML.

mod library;

use std::time::Duration;

use fathom_cli::{Purge, ResumeArgs, SuiteArgs};
use fathom_device::Target;
use fathom_experiment::{
    Bounds, CellSource, DetailObserver, Ended, Saved, SuiteCells, layout_cell, suite_steps,
};
use fathom_linux::{examine, inspect_target};
use fathom_model::{Bytes, Run, SuiteTold, Traffic};
use fathom_plan::{PlannedCell, Recipe, RunTarget, Setting, Step, file_value, read_recipe};

use self::library::Library;
use crate::cli;
use crate::experiment::{
    ExperimentRunner, StoreWriter, check_observers, enter_directory, plan_cell, save_inputs,
};
use crate::experiment_target::{ExperimentTarget, TargetRequest, resolve_target};
use crate::guard;
use crate::outcome::Outcome;
use crate::output;
use crate::print::{eprint_line, print, print_to};
use crate::result_store;
use crate::timeout::ask;

/// Speed for the estimated time of a fill, bytes per second: that of a SATA drive.
const FILL_SPEED: u64 = 500_000_000;
/// Placeholder for a level whose value is not known yet.
const SOME_LEVEL: &str = "1000";

/// Lists suites, or runs one.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args| begin(args, arguments))
}

/// Resumes a suite, with the recipe that the run stored.
///
/// # Errors
/// When the stored inputs do not fit the present target.
pub fn resume(run: &Run, stored: StoreWriter, resume: &ResumeArgs) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let mut args = SuiteArgs::read(&enter_directory(&saved)?)?;
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
    let prepared = Prepared::new(&args, &recipe, target)?;
    prepared.check_guard()?;
    prepared.run(stored)
}

fn begin(args: SuiteArgs, arguments: &[String]) -> Result<Outcome, String> {
    check_observers(&args.common.observers)?;
    let library = Library::read(&args.directories);
    library
        .errors
        .iter()
        .for_each(|error| eprint_line!("{error}"));
    let Some(name) = &args.name else {
        return Ok(list(&library));
    };
    let recipe = library.find(name)?;
    let path = args.path.as_deref().ok_or_else(|| {
        format!(
            "{}\n{}\nto run it, name a directory, a file or a device: fathom suite {name} PATH",
            recipe.title, recipe.about
        )
    })?;
    // The size in the recipe, else what fits.
    let target = |size| {
        resolve_target(TargetRequest {
            path,
            name: "fathom-suite.data",
            size,
            read_only: args.common.read_only,
        })
    };
    let target = match (args.common.size, recipe.size) {
        (None, Some(size)) => target(Some(size)).or_else(|_| target(None)),
        (size, _) => target(size),
    }?;
    let mut saved = save_inputs(arguments, std::slice::from_ref(&target))?;
    saved.push("recipe", recipe.source.as_str());
    saved.push("recipe-text", recipe.text.as_str());
    let title = format!("{name} on {}", target.file.display());
    let prepared = Prepared::new(&args, recipe, target)?;
    if args.common.dry_run {
        let printed = print(&(prepared.budget() + "\n" + &prepared.listing()));
        return prepared.check_guard().map(|()| printed);
    }
    prepared.check_guard()?;
    let stored = StoreWriter::begin(
        &args.common.store,
        &result_store::experiment("suite", title, saved.write()),
    )?;
    prepared.run(stored)
}

fn list(library: &Library) -> Outcome {
    let widest = library
        .recipes
        .iter()
        .map(|recipe| recipe.name.len())
        .max()
        .unwrap_or(0);
    let line = |recipe: &Recipe| format!("  {:widest$}  {}\n", recipe.name, recipe.title);
    let lines: String = library.recipes.iter().map(line).collect();
    print(&format!(
        "{lines}\n`fathom suite NAME PATH --dry-run` describes a suite and estimates its time.\n"
    ))
}

/// A suite that was checked and not started yet.
struct Prepared<'a> {
    args: &'a SuiteArgs,
    recipe: &'a Recipe,
    target: ExperimentTarget,
    run_target: RunTarget,
    /// Why a step is left out, for each step.
    left_out: Vec<Option<String>>,
}

impl<'a> Prepared<'a> {
    fn new(
        args: &'a SuiteArgs,
        recipe: &'a Recipe,
        target: ExperimentTarget,
    ) -> Result<Prepared<'a>, String> {
        let name = file_value(&target.file)
            .map_err(|error| format!("{}: {error}", target.file.display()))?;
        // A procedure needs all its steps, and --dry-run shows them before writing is allowed.
        let allowed =
            args.common.dry_run && recipe.procedure.is_some() || !args.common.destroy.is_empty();
        let writes = target.writes || allowed && !args.common.read_only;
        let size = target.size.map_or_else(|| device_size(&target), Ok)?;
        let run_target = RunTarget {
            target: name,
            size,
            writes,
            faster: args.faster.unwrap_or(1),
        };
        let mut prepared = Prepared {
            args,
            recipe,
            target,
            run_target,
            left_out: Vec::new(),
        };
        prepared.left_out = recipe
            .steps
            .iter()
            .map(|step| prepared.check(step))
            .collect::<Result<_, _>>()?;
        if prepared.left_out.iter().all(Option::is_some)
            || recipe.procedure.is_some() && prepared.left_out.iter().any(Option::is_some)
        {
            let file = prepared.target.file.display();
            return Err(format!(
                "writing to {file} is not allowed, and {} needs it: name a directory, or allow it with --destroy=CODE (`fathom devices {file}` shows the code)",
                recipe.name
            ));
        }
        Ok(prepared)
    }

    fn cells(&self, step: &Step) -> Vec<PlannedCell> {
        let level = |level: &fathom_plan::Level| Setting {
            option: level.option.clone(),
            value: SOME_LEVEL.to_owned(),
            label: "?".to_owned(),
        };
        self.recipe.cells(
            step,
            &self.run_target,
            &[step.levels.iter().map(level).collect()],
        )
    }

    /// Checks before the first cell that every cell of a step has a plan. Returns why the step is left out.
    fn check(&self, step: &Step) -> Result<Option<String>, String> {
        for cell in self.cells(step) {
            let (plan, _) = plan_cell(&cell)
                .map_err(|problems| format!("{}: {}: {problems}", self.recipe.source, cell.key))?;
            let writes = plan
                .jobs
                .iter()
                .any(|job| job.pattern.traffic != Traffic::Read);
            if writes && !self.run_target.writes {
                return Ok(Some(
                    "it writes, and writing to the target is not allowed".to_owned(),
                ));
            }
        }
        Ok(None)
    }

    /// Checks before the first cell that the guard permits every cell.
    fn check_guard(&self) -> Result<(), String> {
        let steps = self
            .recipe
            .steps
            .iter()
            .zip(&self.left_out)
            .filter(|(_, reason)| reason.is_none());
        for cell in steps.flat_map(|(step, _)| self.cells(step)) {
            let (plan, _) = plan_cell(&cell)
                .map_err(|problems| format!("{}: {}: {problems}", self.recipe.source, cell.key))?;
            guard::dry_run(&plan, &self.args.common.destroy)
                .map_err(|refusals| format!("{}: {}", cell.key, refusals.join("\n")))?;
        }
        Ok(())
    }

    /// The cell that lays out a created file.
    fn layout(&self) -> Option<PlannedCell> {
        let size = self.target.size.filter(|_| self.target.writes)?;
        Some(layout_cell(size, vec![self.run_target.target.clone()]))
    }

    fn purge(&self) -> Option<PlannedCell> {
        match self.args.purge? {
            Purge::Discard => Some(self.whole_target(
                "purge by discard",
                "rw=trim\nbs=1m\niodepth=1\n",
                self.run_target.size,
            )),
            Purge::Zeros => Some(self.whole_target(
                "purge by zeros",
                "rw=write\nbs=1m\nzero_buffers=1\ndirect=1\n",
                self.run_target.size,
            )),
            Purge::Done => None,
        }
    }

    fn whole_target(&self, key: &str, options: &str, size: Bytes) -> PlannedCell {
        PlannedCell {
            key: key.to_owned(),
            source: "prepare.fio".to_owned(),
            job_file: format!("[prepare]\n{options}"),
            settings: vec![("size".to_owned(), size.get().to_string())],
            targets: vec![self.run_target.target.clone()],
            prepares: true,
            ..PlannedCell::default()
        }
    }

    fn run(&self, mut stored: StoreWriter) -> Result<Outcome, String> {
        let common = &self.args.common;
        let mut cells = SuiteCells::new(
            self.recipe,
            self.run_target.clone(),
            self.layout(),
            self.purge(),
            self.left_out.clone(),
        );
        let mut details = DetailObserver::new(self.recipe);
        let budget = self.budget();
        let runner = ExperimentRunner {
            kind: "suite",
            title: &self.recipe.name,
            summary: budget.trim_end(),
            cells: cells.remaining(),
            observers: &common.observers,
            targets: std::slice::from_ref(&self.target),
            keep: common.keep,
            destroy: &common.destroy,
        };
        let experiment = runner.run(
            &mut cells,
            &Bounds::default(),
            &mut stored,
            Some(&mut details),
        )?;
        details.read_earlier(&cells.done, &mut stored)?;
        let printed = self.print_result(&cells, &details);
        if let (Ended::Done, Some(reason)) = (&experiment.ended, &cells.failed) {
            eprint_line!("fathom suite: {reason}");
            return Ok(Outcome::Bad);
        }
        Ok(experiment.outcome(cells.remaining(), printed, Outcome::Bad))
    }

    fn print_result(&self, cells: &SuiteCells<'_>, details: &DetailObserver<'_>) -> Outcome {
        let result = &self.args.common.result;
        if result.output.is_none() && self.args.common.observers.uses_stdout() {
            return Outcome::Good;
        }
        let suite_result = SuiteTold {
            name: self.recipe.name.clone(),
            title: self.recipe.title.clone(),
            about: self.recipe.about.clone(),
            procedure: self.recipe.procedure.clone(),
            target: format!(
                "{} ({})",
                self.target.file.display(),
                fathom_model::format::size(self.run_target.size)
            ),
            notes: self.notes(cells),
            steps: suite_steps(self.recipe, &cells.done, &details.details),
        };
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

    /// Differences from the recipe.
    fn notes(&self, cells: &SuiteCells<'_>) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        if self.recipe.steps.iter().any(|step| step.purge) {
            let not_purged = "The target was not purged. Purge it with --purge=discard or --purge=zeros, or give --purge=done after the device's own format.";
            notes.push(
                self.args
                    .purge
                    .map_or(not_purged, Purge::sentence)
                    .to_owned(),
            );
        }
        if let Some(times) = self.args.faster {
            notes.push(format!("All times are {times} times shorter than in the recipe: this is a rehearsal, not the procedure."));
        }
        if self.recipe.procedure.is_some() && self.target.made {
            notes.push("The target is a file, and the procedure is for devices: the results include the file system.".to_owned());
        }
        if self.recipe.procedure.is_some() {
            notes.push(self.write_cache());
        }
        let left_out = self.recipe.steps.iter().zip(&cells.done);
        notes.extend(left_out.filter_map(|(step, done)| {
            Some(format!(
                "{} was left out: {}.",
                step.title,
                done.left_out.as_ref()?
            ))
        }));
        notes
    }

    /// The state of the write cache of the target's device, which a procedure reports.
    fn write_cache(&self) -> String {
        let file = self.target.file.clone();
        let target = ask(move || inspect_target(&file))
            .answer()
            .unwrap_or_default();
        let device = target.devices.last().map(|device| &device.before);
        let cache = device.map_or_else(
            || "unknown".to_owned(),
            |device| {
                format!(
                    "{}: {}",
                    device.name,
                    fathom_report::cache_words(&device.cache)
                )
            },
        );
        format!("Write cache of {cache}. The procedure requires it off.")
    }

    /// The steps and their estimated time.
    fn budget(&self) -> String {
        let size = fathom_model::format::size(self.run_target.size);
        let made = if self.target.made {
            ", a file that is removed at the end"
        } else {
            ""
        };
        let made = if self.args.common.keep { "" } else { made };
        let mut text = format!(
            "{}: {}\n  on {} ({size}{made})\n",
            self.recipe.name,
            self.recipe.title,
            self.target.file.display()
        );
        if let Some(procedure) = &self.recipe.procedure {
            text += &format!("  {procedure}; follows the procedure, not certified\n");
        }
        let (mut least, mut most, mut filled) = (Duration::ZERO, Duration::ZERO, 0_u64);
        for (step, _) in self
            .recipe
            .steps
            .iter()
            .zip(&self.left_out)
            .filter(|(_, reason)| reason.is_none())
        {
            let (low, high) = self.time(step);
            least += low;
            most += high;
            filled += u64::from(step.passes.unwrap_or(0))
                * self.run_target.size.get()
                * self.cells(step).len() as u64;
        }
        if self.args.purge.is_some_and(|purge| purge == Purge::Zeros) {
            filled += self.run_target.size.get()
                * self.recipe.steps.iter().filter(|step| step.purge).count() as u64;
        }
        let span = fathom_model::format::time_left;
        let range = if least == most {
            span(least)
        } else {
            format!("{} to {}", span(least), span(most))
        };
        text += &format!("  measuring: {range}\n");
        if filled > 0 {
            let time = Duration::from_secs(filled.div_ceil(FILL_SPEED));
            text += &format!(
                "  transferring {} sequentially, mostly to prepare: {} at 500 MB/s\n",
                fathom_model::format::size(Bytes::new(filled)),
                span(time)
            );
        }
        text
    }

    /// The least and the most time of a step, without fills.
    fn time(&self, step: &Step) -> (Duration, Duration) {
        let levels: usize = step
            .levels
            .iter()
            .map(|level| level.percent.len())
            .product();
        let cells = (self.cells(step).len() * levels) as u32;
        let each = self
            .recipe
            .time(step, &self.run_target)
            .map_or(0, |time| time.get());
        let soak = self
            .recipe
            .soak(step, &self.run_target, 0)
            .and_then(|cell| {
                let last = cell
                    .settings
                    .iter()
                    .rev()
                    .find(|(name, _)| name == "runtime")?;
                last.1.trim_end_matches("us").parse::<u64>().ok()
            });
        let round = Duration::from_nanos(each) * cells + Duration::from_micros(soak.unwrap_or(0));
        match &step.rounds {
            Some(rounds) => (
                round * fathom_analyse::PTS_WINDOW as u32,
                round * rounds.most,
            ),
            None => (round, round),
        }
    }

    fn listing(&self) -> String {
        let mut text = String::new();
        for (step, reason) in self.recipe.steps.iter().zip(&self.left_out) {
            let cells = self.cells(step);
            let what = match (reason, &step.rounds, step.levels.is_empty()) {
                (Some(reason), _, _) => format!("left out: {reason}"),
                (None, Some(rounds), _) => format!(
                    "rounds of {}, at most {}, until steady",
                    counted(cells.len()),
                    rounds.most
                ),
                (None, None, false) => counted(
                    step.levels
                        .iter()
                        .map(|level| level.percent.len())
                        .product(),
                ),
                (None, None, true) => counted(cells.len()),
            };
            text += &format!("{}: {} ({what})\n", step.name, step.title);
            if reason.is_none() && step.levels.is_empty() {
                text.extend(cells.iter().map(|cell| format!("  {}\n", cell.key)));
            }
        }
        text
    }
}

fn counted(cells: usize) -> String {
    format!("{cells} cell{}", if cells == 1 { "" } else { "s" })
}

/// All of a device.
fn device_size(target: &ExperimentTarget) -> Result<Bytes, String> {
    let examined = examine(&target.file).map_err(|error| error.to_string())?;
    match &examined.facts().target {
        Target::Block(block) => Ok(block.size),
        Target::File(file) => Ok(file.size),
        _ => Err(format!("{} has no size", target.file.display())),
    }
}
