//! `fathom search`: the largest load that keeps limits, with its interval, the curves, and the knees.

mod asked;
mod course;

use std::time::Duration;

use fathom_model::{Plan, Response, Run, Traffic};
use fathom_plan::{Cell, Includes, file_value};

use self::asked::{Asked, Unit};
use self::course::{Goal, Load, Seeking};
use crate::experiment::{Bounds, Ended, Lines, Saved, Stored, drive, plan_of};
use crate::guard;
use crate::help;
use crate::keep;
use crate::outcome::Outcome;
use crate::output;
use crate::say::{complain, say};
use crate::subject::{Subject, Wish, subject, tidy};
use crate::surroundings::ThisMachine;

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
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return help::search();
    }
    begin(arguments).unwrap_or_else(|message| {
        complain!("fathom search: {message}");
        Outcome::Refused
    })
}

fn begin(arguments: &[String]) -> Result<Outcome, String> {
    let asked = Asked::read(arguments)?;
    let job_file = match &asked.job_file {
        Some(name) => read_job_file(name)?,
        None => ("search.fio".to_owned(), LOAD.to_owned()),
    };
    let subject = asked.path.as_deref().map(|path| subject(Wish { path, name: FILE, size: asked.size, read_only: asked.read_only }));
    let subject = subject.transpose()?;
    let mut saved = Saved::of(arguments, subject.as_ref())?;
    saved.push("job-file", job_file.0.as_str());
    saved.push("job-file-text", job_file.1.as_str());
    let prepared = Prepared::new(asked, job_file, subject)?;
    let stored = Stored::begin(&prepared.asked.store, &keep::experiment("search", prepared.about.clone(), saved.write()))?;
    prepared.run(stored)
}

/// Goes on with a search.
///
/// # Errors
/// When what was saved of it does not fit what is there now.
pub fn resume(run: &Run, stored: Stored) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let asked = Asked::read(&saved.enter()?)?;
    let text = |name: &str| saved.one(name).map(str::to_owned).ok_or_else(|| format!("{} does not hold its job file", run.id));
    Prepared::new(asked, (text("job-file")?, text("job-file-text")?), saved.subject())?.run(stored)
}

/// All that is known before anything is measured.
struct Prepared {
    asked: Asked,
    subject: Option<Subject>,
    load: Load,
    about: String,
}

impl Prepared {
    fn new(asked: Asked, job_file: (String, String), subject: Option<Subject>) -> Result<Prepared, String> {
        let base = base(&asked, job_file, subject.as_ref())?;
        let (plan, _) = plan_of(&with_time(&base))?;
        let mix = mix(&plan)?;
        guard::dry_run(&plan, &asked.destroy).map_err(|all| all.join("\n"))?;
        let load = Load { base, jobs: plan.jobs.len() as u32, mix, each: asked.each.unwrap_or(EACH) };
        let about = about(&plan, subject.as_ref());
        Ok(Prepared { asked, subject, load, about })
    }

    /// Lays out a file that we make.
    fn layout(&self) -> Option<Cell> {
        let subject = self.subject.as_ref().filter(|subject| subject.writes)?;
        let size = subject.size?;
        Some(Cell {
            key: "layout".to_owned(),
            source: "layout.fio".to_owned(),
            job_file: "[layout]\nrw=randread\nbs=1m\ncreate_only=1\n".to_owned(),
            settings: vec![("size".to_owned(), size.get().to_string())],
            targets: self.load.base.targets.clone(),
            prepares: true,
            ..Cell::default()
        })
    }

    fn run(self, mut stored: Stored) -> Result<Outcome, String> {
        let run = stored.name();
        complain!("fathom search: {}{}", self.about, run.as_ref().map_or(String::new(), |run| format!("\n  kept as {run}")));
        let goal = Goal { limits: self.asked.limits.clone(), precision: self.asked.precision.unwrap_or(PRECISION) };
        let mut course = Seeking::new(self.load.clone(), goal, self.layout());
        let bounds = Bounds { budget: self.asked.budget, expected: Some(self.load.each), destroy: self.asked.destroy.clone() };
        let ended = drive(&mut course, &bounds, &mut stored, &mut Lines::new());
        let kept = stored.finish(&ended);
        let resume = run.filter(|_| !ended.is_whole()).map(|run| format!("; `fathom resume {run}` goes on"));
        // What is interrupted needs its file when it goes on.
        let stays = ended == Ended::Interrupted && resume.is_some();
        if let Some(subject) = self.subject.as_ref().filter(|subject| subject.made && !self.asked.keep && !stays) {
            tidy("fathom search", &subject.file);
        }
        let told = self.tell(&course);
        kept?;
        Ok(how_it_ended(&ended, &course, &resume.unwrap_or_default(), told))
    }

    fn tell(&self, course: &Seeking) -> Outcome {
        let told: Response = fathom_analyse::response(self.about.clone(), &self.asked.limits, &course.measured, course.answer);
        if told.closed.is_empty() {
            return Outcome::Bad;
        }
        let by_bytes = self.asked.unit == Unit::MegaBytes;
        if self.asked.json { say(&fathom_report::response_json(&told)) } else { say(&fathom_report::response_text(&told, by_bytes, &output::answer_style())) }
    }
}

fn how_it_ended(ended: &Ended, course: &Seeking, resume: &str, told: Outcome) -> Outcome {
    let incomplete = |why: &str, outcome| {
        complain!("fathom search: {why}");
        outcome
    };
    match (ended, &course.failed) {
        (Ended::Done, None) => told,
        (Ended::Done, Some(why)) => incomplete(why, Outcome::Bad),
        (Ended::Interrupted, _) => incomplete(&format!("interrupted; the curves show what was measured{resume}"), Outcome::Interrupted),
        (Ended::OutOfTime, _) => incomplete("the budget is used up; the curves show what was measured", Outcome::Bad),
        (Ended::Stopped(why), _) => incomplete(&format!("{why}{resume}"), Outcome::Bad),
    }
}

/// The load without its time, depth and rate, which each trial sets.
fn base(asked: &Asked, (source, job_file): (String, String), subject: Option<&Subject>) -> Result<Cell, String> {
    let mut settings = Vec::new();
    if let Some(size) = subject.and_then(|subject| subject.size) {
        settings.push(("size".to_owned(), size.get().to_string()));
    }
    settings.extend(asked.settings.iter().cloned());
    let name = |subject: &Subject| file_value(&subject.file).map_err(|error| format!("{}: {error}", subject.file.display()));
    let targets = subject.map(name).transpose()?.into_iter().collect();
    Ok(Cell { source, job_file, settings, targets, ..Cell::default() })
}

fn with_time(base: &Cell) -> Cell {
    let mut cell = base.clone();
    cell.settings.extend([("time_based".to_owned(), "1".to_owned()), ("runtime".to_owned(), "1s".to_owned())]);
    cell
}

fn read_job_file(name: &str) -> Result<(String, String), String> {
    let bytes = ThisMachine.read(name).map_err(|why| format!("cannot read '{}': {why}", name.escape_debug()))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{name} is not text in UTF-8"))?;
    Ok((if name == "-" { "standard input".to_owned() } else { name.to_owned() }, text))
}

/// The share of reads in a mix. Loads that pace themselves, or that do not run side by side, have no single load to vary.
fn mix(plan: &Plan) -> Result<Option<f64>, String> {
    let share = |traffic: &Traffic| match traffic {
        Traffic::ReadWrite { read_percent } if (1..100).contains(read_percent) => Some(f64::from(*read_percent) / 100.0),
        _ => None,
    };
    let first = plan.jobs.first().map(|job| share(&job.pattern.traffic)).ok_or("there is no job")?;
    for job in &plan.jobs {
        let paced = job.pace.rate.iter().any(|(_, rate)| rate.is_some()) || job.pace.replay.is_some();
        if paced {
            return Err(format!("job '{}' has a rate of its own, which a search sets: leave rate, rate_iops and read_iolog out", job.name));
        }
        if job.start.after_all_before {
            return Err(format!("job '{}' waits for others (stonewall): a search needs jobs that run side by side", job.name));
        }
        if share(&job.pattern.traffic) != first {
            return Err("the jobs have different mixes of reads and writes: search each alone".to_owned());
        }
    }
    Ok(first)
}

fn about(plan: &Plan, subject: Option<&Subject>) -> String {
    let words = fathom_analyse::load_words(plan);
    let place = subject.map_or(String::new(), |subject| {
        let size = subject.size.map_or("all of it".to_owned(), fathom_device::size);
        format!(" on {} ({size})", subject.file.display())
    });
    words + &place
}
