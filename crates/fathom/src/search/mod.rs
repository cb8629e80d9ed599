//! `fathom search`: the largest load that keeps limits, with its interval, the curves, and the knees.

mod cell_source;

use std::time::Duration;

use fathom_cli::{LoadUnit, ResumeArgs, SearchArgs};
use fathom_model::{Plan, Response, Run, Traffic};
use fathom_plan::{PlannedCell, file_value};

use self::cell_source::{Goal, Load, Seeking};
use crate::cli;
use crate::experiment::{
    Bounds, CellSource, Ended, ExperimentRunner, Saved, StoreWriter, check_observers, layout_cell,
    plan_of, read_job_file,
};
use crate::experiment_target::{ExperimentTarget, TargetRequest, subject};
use crate::guard;
use crate::outcome::Outcome;
use crate::output;
use crate::print::{eprint_line, print, print_to};
use crate::result_store;

/// The file that is made in a folder.
const FILE: &str = "fathom-search.data";
/// How long a trial takes where nobody says.
const EACH: Duration = Duration::from_secs(2);
/// How close the bracket becomes where nobody says.
const PRECISION: f64 = 0.01;
/// What is measured where no job file is given.
const LOAD: &str = "[search]\nrw=randread\nbs=4k\ndirect=1\n";

/// Searches what the arguments say.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args| begin(args, arguments))
}

fn begin(args: SearchArgs, arguments: &[String]) -> Result<Outcome, String> {
    check_observers(&args.common.observers)?;
    let job_file = match &args.job_file {
        Some(name) => read_job_file(name)?,
        None => ("search.fio".to_owned(), LOAD.to_owned()),
    };
    let common = &args.common;
    let subject = args.path.as_deref().map(|path| {
        subject(TargetRequest {
            path,
            name: FILE,
            size: common.size,
            read_only: common.read_only,
        })
    });
    let subjects: Vec<ExperimentTarget> = subject.transpose()?.into_iter().collect();
    let mut saved = Saved::of(arguments, &subjects)?;
    saved.push_job_file(&job_file);
    let prepared = Prepared::new(args, job_file, subjects)?;
    if prepared.args.common.dry_run {
        let each = fathom_model::format::time_left(prepared.load.each);
        return Ok(print(&format!("{}, {each} each trial\n", prepared.about)));
    }
    let stored = StoreWriter::begin(
        &prepared.args.common.store,
        &result_store::experiment("search", prepared.about.clone(), saved.write()),
    )?;
    prepared.run(stored, None)
}

/// Goes on with a search.
///
/// # Errors
/// When what was saved of it does not fit what is there now.
pub fn resume(run: &Run, stored: StoreWriter, again: &ResumeArgs) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let mut args = SearchArgs::read(&saved.enter()?)?;
    check_observers(&again.observers)?;
    args.common.continue_with(again);
    let job_file = saved
        .job_file()
        .ok_or_else(|| format!("{} does not hold its job file", run.id))?;
    Prepared::new(args, job_file, saved.subjects())?.run(stored, again.budget)
}

/// All that is known before anything is measured.
struct Prepared {
    args: SearchArgs,
    /// One, unless the job file says where.
    subjects: Vec<ExperimentTarget>,
    load: Load,
    about: String,
}

impl Prepared {
    fn new(
        args: SearchArgs,
        job_file: (String, String),
        subjects: Vec<ExperimentTarget>,
    ) -> Result<Prepared, String> {
        let base = base(&args, job_file, subjects.first())?;
        let (plan, _) = plan_of(&with_time(&base))?;
        let mix = mix(&plan)?;
        guard::dry_run(&plan, &args.common.destroy).map_err(|all| all.join("\n"))?;
        let load = Load {
            base,
            jobs: plan.jobs.len() as u32,
            mix,
            each: args.runtime.unwrap_or(EACH),
        };
        let about = about(&plan, subjects.first());
        Ok(Prepared {
            args,
            subjects,
            load,
            about,
        })
    }

    /// Lays out a file that we make.
    fn layout(&self) -> Option<PlannedCell> {
        let size = self
            .subjects
            .first()
            .filter(|subject| subject.writes)?
            .size?;
        Some(layout_cell(size, self.load.base.targets.clone()))
    }

    fn run(self, mut stored: StoreWriter, more: Option<Duration>) -> Result<Outcome, String> {
        let common = &self.args.common;
        let goal = Goal {
            limits: self.args.limits.clone(),
            precision: self.args.precision.unwrap_or(PRECISION),
            arrivals: self.args.arrivals.into(),
        };
        let mut course = Seeking::new(self.load.clone(), goal, self.layout());
        let bounds = Bounds {
            budget: self.args.load.budget,
            more,
            expected: Some(self.load.each),
            destroy: common.destroy.clone(),
        };
        let conduct = ExperimentRunner {
            kind: "search",
            title: &self.about,
            summary: &self.about,
            cells: course.left(),
            observers: &common.observers,
            subjects: &self.subjects,
            keep: common.keep,
        };
        let came = conduct.carry_out(&mut course, &bounds, &mut stored, None)?;
        let told = self.tell(&course);
        if let (Ended::Done, Some(why)) = (&came.ended, &course.failed) {
            eprint_line!("fathom search: {why}");
            return Ok(Outcome::Bad);
        }
        Ok(came.outcome(course.left(), told, Outcome::Bad))
    }

    fn tell(&self, course: &Seeking) -> Outcome {
        let told: Response = fathom_analyse::response(
            self.about.clone(),
            &self.args.limits,
            &course.measured,
            course.answer,
        );
        if told.closed.is_empty() {
            return Outcome::Bad;
        }
        let result = &self.args.common.result;
        if result.output.is_none() && self.args.common.observers.uses_stdout() {
            return Outcome::Good;
        }
        let by_bytes = self.args.unit == LoadUnit::Mbps;
        let file = result.output.as_deref();
        if result.is_json() {
            print_to(file, &fathom_report::response_json(&told))
        } else {
            print_to(
                file,
                &fathom_report::response_text(&told, by_bytes, &output::answer_style()),
            )
        }
    }
}

/// The load without its time, depth and rate, which each trial sets.
fn base(
    args: &SearchArgs,
    (source, job_file): (String, String),
    subject: Option<&ExperimentTarget>,
) -> Result<PlannedCell, String> {
    let mut settings = Vec::new();
    if let Some(size) = subject.and_then(|subject| subject.size) {
        settings.push(("size".to_owned(), size.get().to_string()));
    }
    settings.extend(args.load.set.iter().cloned());
    let name = |subject: &ExperimentTarget| {
        file_value(&subject.file).map_err(|error| format!("{}: {error}", subject.file.display()))
    };
    let targets = subject.map(name).transpose()?.into_iter().collect();
    Ok(PlannedCell {
        source,
        job_file,
        settings,
        targets,
        ..PlannedCell::default()
    })
}

fn with_time(base: &PlannedCell) -> PlannedCell {
    let mut cell = base.clone();
    cell.settings.extend([
        ("time_based".to_owned(), "1".to_owned()),
        ("runtime".to_owned(), "1s".to_owned()),
    ]);
    cell
}

/// The share of reads in a mix. Loads that pace themselves, or that do not run side by side, have no single load to vary.
fn mix(plan: &Plan) -> Result<Option<f64>, String> {
    let share = |traffic: &Traffic| match traffic {
        Traffic::ReadWrite { read_percent } if (1..100).contains(read_percent) => {
            Some(f64::from(*read_percent) / 100.0)
        }
        _ => None,
    };
    let first = plan
        .jobs
        .first()
        .map(|job| share(&job.pattern.traffic))
        .ok_or("there is no job")?;
    for job in &plan.jobs {
        let paced =
            job.pace.rate.iter().any(|(_, rate)| rate.is_some()) || job.pace.replay.is_some();
        if paced {
            return Err(format!(
                "job '{}' has a rate of its own, which a search sets: leave rate, rate_iops and read_iolog out",
                job.name
            ));
        }
        if job.start.after_all_before {
            return Err(format!(
                "job '{}' waits for others (stonewall): a search needs jobs that run side by side",
                job.name
            ));
        }
        if share(&job.pattern.traffic) != first {
            return Err(
                "the jobs have different mixes of reads and writes: search each alone".to_owned(),
            );
        }
    }
    Ok(first)
}

fn about(plan: &Plan, subject: Option<&ExperimentTarget>) -> String {
    let words = fathom_analyse::load_summary(plan);
    let place = subject.map_or(String::new(), |subject| {
        let size = subject
            .size
            .map_or("all of it".to_owned(), fathom_model::format::size);
        format!(" on {} ({size})", subject.file.display())
    });
    words + &place
}
