//! `fathom suite`: named procedures, each a recipe that anyone can read.

mod cell_source;
mod library;
mod tell;
mod watching;

use std::time::Duration;

use fathom_cli::{Purge, ResumeArgs, SuiteArgs};
use fathom_device::Target;
use fathom_linux::{examine, inspect_target};
use fathom_model::{Bytes, Run, SuiteTold, Traffic};
use fathom_plan::{PlannedCell, Recipe, RunTarget, Setting, Step, file_value, read_recipe};

use self::cell_source::Procedure;
use self::library::Library;
use self::watching::Noting;
use crate::cli;
use crate::experiment::{
    Bounds, CellSource, Ended, ExperimentRunner, Saved, StoreWriter, check_observers, layout_cell,
    plan_of,
};
use crate::experiment_target::{ExperimentTarget, TargetRequest, subject};
use crate::guard;
use crate::outcome::Outcome;
use crate::output;
use crate::print::{eprint_line, print, print_to};
use crate::result_store;
use crate::timeout::ask;

/// Speed that the budget of a fill is told for, bytes per second: a SATA drive's.
const FILL_SPEED: u64 = 500_000_000;
/// Stands for a level whose value is not known yet.
const SOME_LEVEL: &str = "1000";

/// Lists suites, or carries one out.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args| begin(args, arguments))
}

/// Goes on with a suite, by the recipe as it was when it began.
///
/// # Errors
/// When what was saved of it does not fit what is there now.
pub fn resume(run: &Run, stored: StoreWriter, again: &ResumeArgs) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let mut args = SuiteArgs::read(&saved.enter()?)?;
    check_observers(&again.observers)?;
    args.common.continue_with(again);
    let text = |name: &str| {
        saved
            .one(name)
            .ok_or_else(|| format!("{} does not hold its recipe", run.id))
    };
    let recipe = read_recipe(text("recipe")?, text("recipe-text")?)
        .map_err(|trouble| trouble.to_string())?;
    let subject = saved
        .subjects()
        .pop()
        .ok_or_else(|| format!("{} does not say what it measured", run.id))?;
    let prepared = Prepared::new(&args, &recipe, subject)?;
    prepared.judge()?;
    prepared.run(stored)
}

fn begin(args: SuiteArgs, arguments: &[String]) -> Result<Outcome, String> {
    check_observers(&args.common.observers)?;
    let library = Library::read(&args.directories);
    library
        .troubles
        .iter()
        .for_each(|trouble| eprint_line!("{trouble}"));
    let Some(name) = &args.name else {
        return Ok(list(&library));
    };
    let recipe = library.find(name)?;
    let path = args.path.as_deref().ok_or_else(|| {
        format!(
            "{}\n{}\ngive a folder, a file or a device: fathom suite {name} PATH",
            recipe.title, recipe.about
        )
    })?;
    // The size that the recipe would like, else what there is room for.
    let wish = |size| {
        subject(TargetRequest {
            path,
            name: "fathom-suite.data",
            size,
            read_only: args.common.read_only,
        })
    };
    let subject = match (args.common.size, recipe.size) {
        (None, Some(size)) => wish(Some(size)).or_else(|_| wish(None)),
        (size, _) => wish(size),
    }?;
    let mut saved = Saved::of(arguments, std::slice::from_ref(&subject))?;
    saved.push("recipe", recipe.source.as_str());
    saved.push("recipe-text", recipe.text.as_str());
    let title = format!("{name} on {}", subject.file.display());
    let prepared = Prepared::new(&args, recipe, subject)?;
    if args.common.dry_run {
        let said = print(&(prepared.budget() + "\n" + &prepared.listing()));
        return prepared.judge().map(|()| said);
    }
    prepared.judge()?;
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
        "{lines}\n`fathom suite NAME PATH --dry-run` tells what one does and how long it takes.\n"
    ))
}

/// All that is known before anything is measured.
struct Prepared<'a> {
    args: &'a SuiteArgs,
    recipe: &'a Recipe,
    subject: ExperimentTarget,
    place: RunTarget,
    /// For each step the reason why it is left out.
    left_out: Vec<Option<String>>,
}

impl<'a> Prepared<'a> {
    fn new(
        args: &'a SuiteArgs,
        recipe: &'a Recipe,
        subject: ExperimentTarget,
    ) -> Result<Prepared<'a>, String> {
        let target = file_value(&subject.file)
            .map_err(|error| format!("{}: {error}", subject.file.display()))?;
        // A procedure is done whole or not at all, and what it takes may be asked before it is allowed.
        let allowed =
            args.common.dry_run && recipe.procedure.is_some() || !args.common.destroy.is_empty();
        let writes = subject.writes || allowed && !args.common.read_only;
        let size = subject.size.map_or_else(|| whole(&subject), Ok)?;
        let place = RunTarget {
            target,
            size,
            writes,
            faster: args.faster.unwrap_or(1),
        };
        let mut prepared = Prepared {
            args,
            recipe,
            subject,
            place,
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
            let file = prepared.subject.file.display();
            return Err(format!(
                "{file} may not be written, and {} needs to write it: name a folder, or allow it with --destroy=CODE (`fathom devices {file}` tells the code)",
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
            &self.place,
            &[step.levels.iter().map(level).collect()],
        )
    }

    /// Every cell must have a plan before the first is measured. Why the step is left out.
    fn check(&self, step: &Step) -> Result<Option<String>, String> {
        for cell in self.cells(step) {
            let (plan, _) = plan_of(&cell)
                .map_err(|problems| format!("{}: {}: {problems}", self.recipe.source, cell.key))?;
            let writes = plan
                .jobs
                .iter()
                .any(|job| job.pattern.traffic != Traffic::Read);
            if writes && !self.place.writes {
                return Ok(Some(
                    "it writes, and the target may not be written".to_owned(),
                ));
            }
        }
        Ok(None)
    }

    /// The guard must agree to every cell before the first is measured.
    fn judge(&self) -> Result<(), String> {
        let steps = self
            .recipe
            .steps
            .iter()
            .zip(&self.left_out)
            .filter(|(_, why)| why.is_none());
        for cell in steps.flat_map(|(step, _)| self.cells(step)) {
            let (plan, _) = plan_of(&cell)
                .map_err(|problems| format!("{}: {}: {problems}", self.recipe.source, cell.key))?;
            guard::dry_run(&plan, &self.args.common.destroy)
                .map_err(|all| format!("{}: {}", cell.key, all.join("\n")))?;
        }
        Ok(())
    }

    /// Lays out a file that we make.
    fn layout(&self) -> Option<PlannedCell> {
        let size = self.subject.size.filter(|_| self.subject.writes)?;
        Some(layout_cell(size, vec![self.place.target.clone()]))
    }

    fn purge(&self) -> Option<PlannedCell> {
        match self.args.purge? {
            Purge::Discard => Some(self.whole_target(
                "purge by discard",
                "rw=trim\nbs=1m\niodepth=1\n",
                self.place.size,
            )),
            Purge::Zeros => Some(self.whole_target(
                "purge by zeros",
                "rw=write\nbs=1m\nzero_buffers=1\ndirect=1\n",
                self.place.size,
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
            targets: vec![self.place.target.clone()],
            prepares: true,
            ..PlannedCell::default()
        }
    }

    fn run(&self, mut stored: StoreWriter) -> Result<Outcome, String> {
        let common = &self.args.common;
        let mut course = Procedure::new(
            self.recipe,
            self.place.clone(),
            self.layout(),
            self.purge(),
            self.left_out.clone(),
        );
        let bounds = Bounds {
            destroy: common.destroy.clone(),
            ..Bounds::default()
        };
        let mut noting = Noting::new(self.recipe);
        let budget = self.budget();
        let conduct = ExperimentRunner {
            kind: "suite",
            title: &self.recipe.name,
            summary: budget.trim_end(),
            cells: course.left(),
            observers: &common.observers,
            subjects: std::slice::from_ref(&self.subject),
            keep: common.keep,
        };
        let came = conduct.carry_out(&mut course, &bounds, &mut stored, Some(&mut noting))?;
        noting.recall(&course.done, &mut stored)?;
        let told = self.tell(&course, &noting);
        if let (Ended::Done, Some(why)) = (&came.ended, &course.failed) {
            eprint_line!("fathom suite: {why}");
            return Ok(Outcome::Bad);
        }
        Ok(came.outcome(course.left(), told, Outcome::Bad))
    }

    fn tell(&self, course: &Procedure<'_>, noting: &Noting<'_>) -> Outcome {
        let result = &self.args.common.result;
        if result.output.is_none() && self.args.common.observers.uses_stdout() {
            return Outcome::Good;
        }
        let told = SuiteTold {
            name: self.recipe.name.clone(),
            title: self.recipe.title.clone(),
            about: self.recipe.about.clone(),
            procedure: self.recipe.procedure.clone(),
            target: format!(
                "{} ({})",
                self.subject.file.display(),
                fathom_model::format::size(self.place.size)
            ),
            notes: self.notes(course),
            steps: tell::steps(self.recipe, &course.done, &noting.kept),
        };
        let file = result.output.as_deref();
        if result.is_json() {
            print_to(file, &fathom_report::suite_json(&told))
        } else {
            print_to(
                file,
                &fathom_report::suite_text(&told, &output::answer_style()),
            )
        }
    }

    /// What was not done as the recipe says.
    fn notes(&self, course: &Procedure<'_>) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        if self.recipe.steps.iter().any(|step| step.purge) {
            let none = "The target was not purged; --purge=discard, zeros or done (after the device's own format) says otherwise.";
            notes.push(self.args.purge.map_or(none, Purge::sentence).to_owned());
        }
        if let Some(times) = self.args.faster {
            notes.push(format!("All times are {times} times shorter than the recipe's: this is a rehearsal, not the procedure."));
        }
        if self.recipe.procedure.is_some() && self.subject.made {
            notes.push("The target is a file, and the procedure is for devices: the file system takes part.".to_owned());
        }
        if self.recipe.procedure.is_some() {
            notes.push(self.write_cache());
        }
        let left_out = self.recipe.steps.iter().zip(&course.done);
        notes.extend(left_out.filter_map(|(step, done)| {
            Some(format!(
                "{} was left out: {}.",
                step.title,
                done.left_out.as_ref()?
            ))
        }));
        notes
    }

    /// The state of the write cache below the target, which a procedure wants to be known.
    fn write_cache(&self) -> String {
        let file = self.subject.file.clone();
        let target = ask(move || inspect_target(&file))
            .answer()
            .unwrap_or_default();
        let device = target.devices.last().map(|device| &device.before);
        let words = device.map_or_else(
            || "unknown".to_owned(),
            |device| {
                format!(
                    "{}: {}",
                    device.name,
                    fathom_report::cache_words(&device.cache)
                )
            },
        );
        format!("Write cache of {words}. The procedure wants it off.")
    }

    /// What will be done, and how long that takes.
    fn budget(&self) -> String {
        let size = fathom_model::format::size(self.place.size);
        let made = if self.subject.made {
            ", a file that is removed at the end"
        } else {
            ""
        };
        let made = if self.args.common.keep { "" } else { made };
        let mut text = format!(
            "{}: {}\n  on {} ({size}{made})\n",
            self.recipe.name,
            self.recipe.title,
            self.subject.file.display()
        );
        if let Some(procedure) = &self.recipe.procedure {
            text += &format!("  {procedure}; its procedure, not certified\n");
        }
        let (mut least, mut most, mut filled) = (Duration::ZERO, Duration::ZERO, 0_u64);
        for (step, _) in self
            .recipe
            .steps
            .iter()
            .zip(&self.left_out)
            .filter(|(_, why)| why.is_none())
        {
            let (low, high) = self.time(step);
            least += low;
            most += high;
            filled += u64::from(step.passes.unwrap_or(0))
                * self.place.size.get()
                * self.cells(step).len() as u64;
        }
        if self.args.purge.is_some_and(|purge| purge == Purge::Zeros) {
            filled += self.place.size.get()
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
                "  moving {} from end to end, mostly to prepare: {} at 500 MB/s\n",
                fathom_model::format::size(Bytes::new(filled)),
                span(time)
            );
        }
        text
    }

    /// How long a step takes at least and at most, what is filled left out.
    fn time(&self, step: &Step) -> (Duration, Duration) {
        let levels: usize = step
            .levels
            .iter()
            .map(|level| level.percent.len())
            .product();
        let cells = (self.cells(step).len() * levels) as u32;
        let each = self
            .recipe
            .time(step, &self.place)
            .map_or(0, |time| time.get());
        let soak = self.recipe.soak(step, &self.place, 0).and_then(|cell| {
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
        for (step, why) in self.recipe.steps.iter().zip(&self.left_out) {
            let cells = self.cells(step);
            let what = match (why, &step.rounds, step.levels.is_empty()) {
                (Some(why), _, _) => format!("left out: {why}"),
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
            if why.is_none() && step.levels.is_empty() {
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
fn whole(subject: &ExperimentTarget) -> Result<Bytes, String> {
    let examined = examine(&subject.file).map_err(|error| error.to_string())?;
    match &examined.facts().target {
        Target::Block(block) => Ok(block.size),
        Target::File(file) => Ok(file.size),
        _ => Err(format!("{} has no size", subject.file.display())),
    }
}
