//! `fathom sweep`: a grid of cells, in an order in which every part of it is an answer.

mod rounds;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_cli::{ResumeArgs, SweepArgs};
use fathom_model::{Bytes, Direction, Grid, Job, Run};
use fathom_plan::{PlannedCell, Sweep, file_value, parse_size};

use self::rounds::{Rounds, Wanted};
use crate::cli;
use crate::experiment::{
    Bounds, CellSource, ExperimentRunner, Saved, StoreWriter, check_observers, layout_cell,
    plan_of, read_job_file,
};
use crate::experiment_target::{ExperimentTarget, TargetRequest, subject};
use crate::guard;
use crate::outcome::Outcome;
use crate::output;
use crate::print::{print, print_to};
use crate::result_store;

/// The file that is made in a folder.
const FILE: &str = "fathom-sweep.data";
/// How long a cell takes where nobody says.
const EACH: Duration = Duration::from_secs(10);
/// A budget makes cells no longer and no shorter than this.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// More cells are a mistake in an axis.
const MOST_CELLS: usize = 100_000;

/// Sweeps what the arguments say.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args| begin(args, arguments))
}

fn begin(args: SweepArgs, arguments: &[String]) -> Result<Outcome, String> {
    check_observers(&args.common.observers)?;
    let job_file = args.job_file.as_deref().map(read_job_file).transpose()?;
    let subjects = subjects(&args)?;
    let prepared = Prepared::new(args, job_file, subjects)?;
    prepared.check()?;
    if prepared.args.common.dry_run {
        return Ok(print(&(prepared.summary() + "\n" + &prepared.listing())));
    }
    let mut experiment = result_store::experiment(
        "sweep",
        prepared.title(),
        prepared.saved(arguments)?.write(),
    );
    experiment.planned = (prepared.sweep.count().unwrap_or(0) * prepared.repeats as usize) as u64;
    let stored = StoreWriter::begin(&prepared.args.common.store, &experiment)?;
    prepared.run(stored, None)
}

/// Goes on with a sweep.
///
/// # Errors
/// When what was saved of it does not fit what is there now.
pub fn resume(run: &Run, stored: StoreWriter, again: &ResumeArgs) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let mut args = SweepArgs::read(&saved.enter()?)?;
    check_observers(&again.observers)?;
    args.common.continue_with(again);
    let prepared = Prepared::new(args, saved.job_file(), saved.subjects())?;
    prepared.check()?;
    prepared.run(stored, again.budget)
}

/// All that is known before anything is measured.
struct Prepared {
    args: SweepArgs,
    sweep: Sweep,
    subjects: Vec<ExperimentTarget>,
    /// How long a cell takes; nothing when the job file says.
    each: Option<Duration>,
    repeats: u32,
}

impl Prepared {
    fn new(
        args: SweepArgs,
        job_file: Option<(String, String)>,
        subjects: Vec<ExperimentTarget>,
    ) -> Result<Prepared, String> {
        let mut axes = args.axes.clone();
        let names = subjects
            .iter()
            .map(name)
            .collect::<Result<Vec<String>, String>>()?;
        let mut targets = Vec::new();
        // The values of an axis of targets get the names of their files.
        match axes.iter_mut().find(|axis| axis.name == "target") {
            Some(axis) => axis.values = names,
            None => targets = names,
        }
        let called = subjects
            .iter()
            .filter_map(|subject| Some((name(subject).ok()?, subject.called.clone())))
            .collect();
        let mut sweep = Sweep {
            axes,
            job_file,
            settings: Vec::new(),
            targets,
            called,
            together: !args.alone,
        };
        let count = sweep.count().filter(|count| *count <= MOST_CELLS);
        let count = count.ok_or_else(|| {
            format!(
                "these axes have more than {MOST_CELLS} cells; take fewer values, or larger steps"
            )
        })?;
        let least = if args.precision.is_some() {
            rounds::LEAST_FOR_PRECISION
        } else {
            1
        };
        let repeats = args.repeat.unwrap_or(1).max(least);
        let each = time_of_cell(&args, count * repeats as usize);
        sweep.settings = settings(&args, &subjects, each);
        Ok(Prepared {
            args,
            sweep,
            subjects,
            each,
            repeats,
        })
    }

    /// What lists call it.
    fn title(&self) -> String {
        let targets: Vec<String> = self
            .subjects
            .iter()
            .map(|subject| subject.file.display().to_string())
            .collect();
        let job_file = self.sweep.job_file.as_ref().map(|(name, _)| name.clone());
        job_file
            .into_iter()
            .chain(targets)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Everything that is needed to take it up again.
    fn saved(&self, arguments: &[String]) -> Result<Saved, String> {
        let mut saved = Saved::of(arguments, &self.subjects)?;
        if let Some(job_file) = &self.sweep.job_file {
            saved.push_job_file(job_file);
        }
        Ok(saved)
    }

    /// Every cell must have a plan, and the guard must agree, before the first is measured.
    fn check(&self) -> Result<(), String> {
        let mut judged = HashSet::new();
        for place in self.sweep.places() {
            let cell = self.sweep.cell(&place);
            let (plan, _) =
                plan_of(&cell).map_err(|problems| format!("{}: {problems}", cell.key))?;
            // The guard looks at targets, which takes longer: once for all cells that do the same to them.
            let uses =
                |job: &Job| Direction::ALL.map(|direction| job.pattern.traffic.uses(direction));
            let does: Vec<_> = plan
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
            if !judged.insert(format!("{does:?}")) {
                continue;
            }
            guard::dry_run(&plan, &self.args.common.destroy)
                .map_err(|all| format!("{}: {}", cell.key, all.join("\n")))?;
        }
        Ok(())
    }

    /// Lays out files that we make.
    fn layout(&self) -> Option<PlannedCell> {
        let made: Vec<&ExperimentTarget> = self
            .subjects
            .iter()
            .filter(|subject| subject.writes && subject.size.is_some())
            .collect();
        let size = made.iter().filter_map(|subject| subject.size).max()?;
        Some(layout_cell(
            size,
            made.into_iter()
                .filter_map(|subject| name(subject).ok())
                .collect(),
        ))
    }

    fn run(&self, mut stored: StoreWriter, more: Option<Duration>) -> Result<Outcome, String> {
        let common = &self.args.common;
        let wanted = Wanted {
            repeats: self.repeats,
            precision: self.args.precision,
            agree: self.args.agreement(),
        };
        let mut rounds = Rounds::new(&self.sweep, wanted, self.layout())?;
        let bounds = Bounds {
            budget: self.args.load.budget,
            more,
            expected: self.each,
            destroy: common.destroy.clone(),
        };
        let conduct = ExperimentRunner {
            kind: "sweep",
            title: &self.title(),
            summary: &self.summary(),
            cells: self.sweep.count().unwrap_or(0),
            observers: &common.observers,
            subjects: &self.subjects,
            keep: common.keep,
        };
        let came = conduct.carry_out(&mut rounds, &bounds, &mut stored, None)?;
        let told = self.tell(&rounds);
        Ok(came.outcome(rounds.left(), told, told))
    }

    fn tell(&self, rounds: &Rounds<'_>) -> Outcome {
        let grid = self.grid(rounds);
        if grid.rows.is_empty() {
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

    fn grid(&self, rounds: &Rounds<'_>) -> Grid {
        let mut measured: Vec<(&[usize], fathom_analyse::Repeats<'_>)> = rounds
            .results()
            .map(|(place, known)| {
                (
                    place,
                    fathom_analyse::Repeats {
                        figures: &known.figures,
                        failed: known.failed.as_deref(),
                    },
                )
            })
            .collect();
        measured.sort_by_key(|(place, _)| place.to_vec());
        let cells = measured.iter().map(|(place, repeats)| {
            let values = self
                .sweep
                .cell(place)
                .values
                .into_iter()
                .map(|(_, value)| value)
                .collect();
            (values, *repeats)
        });
        let mut grid = fathom_analyse::grid(self.sweep.names(), cells.collect());
        grid.sentences = rounds.agreements();
        if let Some(axis) = grid.axes.iter().position(|name| name == "target") {
            let called: Vec<String> = self
                .subjects
                .iter()
                .map(|subject| subject.called.clone())
                .collect();
            grid.sentences
                .extend(fathom_analyse::by_target(&grid, axis, &called));
        }
        grid.sentences.extend(self.interferences(&grid));
        grid
    }

    /// What several targets cost each other, for each combination of the other axes.
    fn interferences(&self, grid: &Grid) -> Vec<String> {
        let n = self.sweep.targets.len();
        if n < 2 || self.args.alone {
            return Vec::new();
        }
        // Rows stand in the order of the axes, and the target is the last of them.
        let axes = grid.axes.len() - 1;
        let groups = grid
            .rows
            .chunk_by(|a, b| a.values[..axes] == b.values[..axes])
            .filter(|group| group.len() == n + 1);
        let told = groups.filter_map(|group| {
            let (together, alone) = group.split_last()?;
            let alone: Vec<(String, f64)> = alone
                .iter()
                .map(|row| (row.values[axes].clone(), row.iops.mean))
                .collect();
            let at: Vec<String> = grid
                .axes
                .iter()
                .zip(&group[0].values[..axes])
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            fathom_analyse::interference(&at.join(" "), &alone, &together.figures)
        });
        told.collect()
    }

    /// How many cells, how long, where.
    fn summary(&self) -> String {
        let shape = self
            .sweep
            .names()
            .into_iter()
            .zip(self.sweep.shape())
            .map(|(name, (length, _))| format!("{name} {length}"));
        let count = self.sweep.count().unwrap_or(0);
        let repeats = if self.repeats > 1 {
            format!(", {} times each", self.repeats)
        } else {
            String::new()
        };
        let all = count * self.repeats as usize;
        let time = self
            .each
            .map_or("as long as the job file says".to_owned(), |each| {
                format!(
                    "{} each, {} in all",
                    fathom_model::format::time_left(each),
                    fathom_model::format::time_left(each * all as u32)
                )
            });
        let repeats = if self.args.agreement().is_some() {
            format!("{repeats} at most, fewer where splits agree")
        } else {
            repeats
        };
        let budget = self.args.load.budget.map_or(String::new(), |budget| {
            format!(" (budget {})", fathom_model::format::time_left(budget))
        });
        let plural = if count == 1 { "cell" } else { "cells" };
        format!(
            "{count} {plural} ({}){repeats}: {time}{budget}{}",
            shape.collect::<Vec<_>>().join(" x "),
            self.targets()
        )
    }

    fn targets(&self) -> String {
        let one = |subject: &ExperimentTarget| {
            let size = subject
                .size
                .map_or("all of it".to_owned(), fathom_model::format::size);
            let made = if subject.made && !self.args.common.keep {
                ", removed at the end"
            } else {
                ""
            };
            format!("\n  on {} ({size}{made})", subject.file.display())
        };
        self.subjects.iter().map(one).collect()
    }

    fn listing(&self) -> String {
        self.sweep
            .places()
            .iter()
            .enumerate()
            .map(|(at, place)| format!("{:5}  {}\n", at + 1, self.sweep.cell(place).key))
            .collect()
    }
}

fn name(subject: &ExperimentTarget) -> Result<String, String> {
    file_value(&subject.file).map_err(|error| format!("{}: {error}", subject.file.display()))
}

/// The targets of all paths, or those of an axis.
fn subjects(args: &SweepArgs) -> Result<Vec<ExperimentTarget>, String> {
    let size = args.common.size.or(largest_size(args));
    let look = |path: &Path| {
        subject(TargetRequest {
            path,
            name: FILE,
            size,
            read_only: args.common.read_only,
        })
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
        .map(look)
        .collect()
}

/// A file must hold the largest working set that is asked for.
fn largest_size(args: &SweepArgs) -> Option<Bytes> {
    let sizes = args
        .axes
        .iter()
        .filter(|axis| axis.name == "size")
        .flat_map(|axis| &axis.values);
    sizes.filter_map(|value| parse_size(value).ok()).max()
}

/// What all cells have in common.
fn settings(
    args: &SweepArgs,
    subjects: &[ExperimentTarget],
    each: Option<Duration>,
) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
    if let Some(each) = each {
        // The first tenth of each cell is for the target to settle.
        let (us, ramp) = (each.as_micros(), each.as_micros() / 10);
        set("time_based", "1".to_owned());
        set("ramp_time", format!("{ramp}us"));
        set("runtime", format!("{}us", us - ramp));
    }
    if let Some(size) = subjects.iter().filter_map(|subject| subject.size).min() {
        set("size", size.get().to_string());
    }
    settings.extend(args.load.set.iter().cloned());
    settings
}

/// The time of one cell: as asked, else a share of the budget, else ten seconds; a job file that says so itself is obeyed.
fn time_of_cell(args: &SweepArgs, cells: usize) -> Option<Duration> {
    match (args.runtime, args.load.budget) {
        (Some(each), _) => Some(each),
        (None, Some(budget)) => Some((budget / cells.max(1) as u32).clamp(SHORTEST, LONGEST)),
        (None, None) => args.job_file.is_none().then_some(EACH),
    }
}
