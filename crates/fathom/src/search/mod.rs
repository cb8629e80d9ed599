//! `fathom search`: the largest load within limits, with its confidence interval, the curves and the knees.

use std::time::Duration;

use fathom_analyse::LatencyFigure;
use fathom_analyse::SloLimit;
use fathom_cli::{CommandArgs, LoadUnit, ResumeArgs, SearchArgs};
use fathom_experiment::{
    Bounds, CellSource, CellStore, Ended, Saved, SearchCells, SearchGoal, TrialLoad, layout_cell,
    search_description, search_mix,
};
use fathom_model::{Dimension, Response, Run};
use fathom_plan::PlannedCell;
use fathom_report::TestCase;
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
use crate::print::{eprint_line, print, print_commands, print_to, write_junit};
use crate::result_store;
use crate::run::test_case;
use crate::session::{Session, marked};

/// The file that is created in a directory.
const FILE: &str = "fathom-search.data";
/// Default time of a trial.
const TRIAL_TIME: Duration = Duration::from_secs(2);
/// Default width of the bracket, as a share.
const PRECISION: f64 = 0.01;
/// Default job file.
const LOAD: &str = "[search]\nrw=randread\nbs=4k\ndirect=1\n";

/// Runs the search that the arguments describe.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args| begin(session, args, arguments))
}

fn begin(session: &Session, args: SearchArgs, arguments: &[String]) -> Result<Outcome, String> {
    check_observers(&args.common.observers)?;
    let job_file = match &args.job_file {
        Some(name) => read_job_file(name)?,
        None => ("search.fio".to_owned(), LOAD.to_owned()),
    };
    let common = &args.common;
    let target = args.path.as_deref().map(|path| {
        let request = TargetRequest {
            path,
            name: FILE,
            size: common.size,
            read_only: common.read_only,
            create: common.create,
        };
        resolve_target_of(session, &common.hosts, request)
    });
    let targets: Vec<ExperimentTarget> = target.transpose()?.into_iter().collect();
    let fleet = Fleet::find(session, "search", &common.hosts)?;
    let mut saved = save_inputs(&stored_arguments(fleet.as_ref(), arguments), &targets)?;
    saved.push_job_file(&job_file);
    let prepared = Prepared::new(session, args, job_file, targets, fleet)?;
    if prepared.args.common.dry_run {
        let each = fathom_model::format::time_left(prepared.load.cell_time);
        return Ok(print(&format!(
            "{}, {each} each trial\n",
            prepared.description
        )));
    }
    let files = prepared.targets.iter().map(|target| target.file.as_path());
    check_events(&prepared.args.common.observers, files)?;
    let description = prepared.description.clone();
    let experiment = result_store::experiment(session, "search", description, saved.write());
    let stored = StoreWriter::begin(session, &prepared.args.common.store, &experiment)?;
    prepared.run(stored, None)
}

/// Resumes a search.
///
/// # Errors
/// When the stored inputs do not fit the present target.
pub fn resume(run: &Run, store: Store, resume: &ResumeArgs) -> Result<Outcome, String> {
    let saved = Saved::read(&run.experiment.plan);
    let mut args = SearchArgs::read(&enter_directory(&saved)?)?;
    let session = &Session::open(&args.machine(), args.hosts())?;
    let stored = StoreWriter::resume(session, store, run)?;
    check_observers(&resume.observers)?;
    args.common.continue_with(resume);
    let job_file = saved
        .job_file()
        .ok_or_else(|| format!("the stored run {} has no job file", run.id))?;
    let fleet = Fleet::find(session, "search", &args.common.hosts)?;
    Prepared::new(session, args, job_file, saved.targets(), fleet)?.run(stored, resume.budget)
}

/// A search that was checked and not started yet.
struct Prepared<'a> {
    session: &'a Session,
    args: SearchArgs,
    /// At most one; without a path the job file names the target.
    targets: Vec<ExperimentTarget>,
    load: TrialLoad,
    description: String,
    /// The hosts that measure in place of this one.
    fleet: Option<Fleet>,
}

impl<'a> Prepared<'a> {
    fn new(
        session: &'a Session,
        args: SearchArgs,
        job_file: (String, String),
        targets: Vec<ExperimentTarget>,
        fleet: Option<Fleet>,
    ) -> Result<Prepared<'a>, String> {
        let base = base(&args, job_file, targets.first())?;
        let (plan, _) = match &fleet {
            Some(_) => hosts::plan_cell(session, &with_time(&base))?,
            None => plan_cell(session, &with_time(&base)).map_err(|error| error.to_string())?,
        };
        let mix = search_mix(&plan).map_err(|error| error.to_string())?;
        if args.common.dry_run {
            print_commands(&fathom_analyse::plan_commands(&plan));
        }
        if args.common.read_only {
            guard::check_read_only(&plan)?;
        }
        // Each agent judges its own targets.
        if fleet.is_none() {
            guard::dry_run(
                session,
                &plan,
                &guard::Confirmed::codes(&args.common.destroy),
            )
            .map_err(|refusals| refusals.join("\n"))?;
        }
        let load = TrialLoad {
            base,
            // The load is that of all hosts together.
            jobs: plan.jobs.len() as u32 * fleet.as_ref().map_or(1, Fleet::len),
            mix,
            cell_time: args.runtime.unwrap_or(TRIAL_TIME),
        };
        let description = search_description(&plan, targets.first());
        Ok(Prepared {
            session,
            args,
            targets,
            load,
            description,
            fleet,
        })
    }

    /// The cell that lays out a created file.
    fn layout(&self) -> Option<PlannedCell> {
        let size = self.targets.first().filter(|target| target.writes)?.size?;
        Some(layout_cell(size, self.load.base.targets.clone()))
    }

    fn run(
        self,
        mut stored: StoreWriter,
        session_budget: Option<Duration>,
    ) -> Result<Outcome, String> {
        let common = &self.args.common;
        let mut cells = SearchCells::new(self.load.clone(), goal(&self.args), self.layout());
        let bounds = Bounds {
            budget: self.args.load.budget,
            session_budget,
            expected: Some(self.load.cell_time),
        };
        let runner = ExperimentRunner {
            session: self.session,
            kind: "search",
            title: &self.description,
            summary: &self.description,
            cells: cells.remaining(),
            observers: &common.observers,
            targets: &self.targets,
            keep: common.keep,
            destroy: &common.destroy,
            fleet: self.fleet.as_ref(),
            apps: None,
        };
        let experiment = runner.run(&mut cells, &bounds, &mut stored, None)?;
        let printed = self.print_result(&cells);
        if let (Ended::Done, Some(reason)) = (&experiment.ended, &cells.failed) {
            eprint_line!("fathom search: {reason}");
            return Ok(Outcome::Bad);
        }
        // A bracket is a result, though not as narrow as requested.
        let has_bracket = cells.best_answer().is_some_and(|answer| {
            !answer.stopped_early || answer.load.zip(answer.exceeded).is_some()
        });
        let partial = if has_bracket { printed } else { Outcome::Bad };
        Ok(experiment.outcome(cells.remaining(), printed, partial))
    }

    fn print_result(&self, cells: &SearchCells) -> Outcome {
        let response = Response {
            simulated: self.session.simulated(),
            ..summary(&self.description, &self.args, cells)
        };
        if response.closed.is_empty() && response.at.is_none() {
            return Outcome::Bad;
        }
        let cases = test_cases(&self.args, cells, &response);
        let file = self.args.junit.as_deref();
        let class = marked(&self.description, self.session);
        if write_junit(file, "fathom search", &class, &cases) != Outcome::Good {
            return Outcome::Bad;
        }
        let exceeded = response.at.as_ref().is_some_and(|at| !at.met);
        match self.print_response(&response) {
            Outcome::Good if exceeded => Outcome::Bad,
            printed => printed,
        }
    }

    fn print_response(&self, response: &Response) -> Outcome {
        let result = &self.args.common.result;
        if result.output.is_none() && self.args.common.observers.uses_stdout() {
            return Outcome::Good;
        }
        let by_bytes = self.args.unit == LoadUnit::Mbps;
        let file = result.output.as_deref();
        if result.is_json() {
            print_to(file, &fathom_report::response_json(response))
        } else {
            print_to(
                file,
                &fathom_report::response_text(response, by_bytes, &output::answer_style()),
            )
        }
    }
}

/// At a given load each limit is a test case. A search for the largest load is one: whether any load meets the limits.
fn test_cases(args: &SearchArgs, cells: &SearchCells, response: &Response) -> Vec<TestCase> {
    let last = cells.measured.open.last().filter(|_| args.at.is_some());
    if let Some((_, figures)) = last {
        let load = args.at.map(|load| load as f64);
        let case = |limit: &SloLimit| {
            test_case(limit, &fathom_analyse::slo_answer(&[*limit], figures, load))
        };
        return args.limits.iter().map(case).collect();
    }
    let load = response.max_load.as_ref();
    vec![TestCase {
        name: response.limits.join(", "),
        passed: load.is_some_and(|found| found.load.is_some()),
        sentence: response.sentences.first().cloned().unwrap_or_default(),
    }]
}

fn goal(args: &SearchArgs) -> SearchGoal {
    SearchGoal {
        limits: args.limits.clone(),
        precision: args.precision.unwrap_or(PRECISION),
        arrivals: args.arrivals.into(),
        at: args.at,
    }
}

fn summary(description: &str, args: &SearchArgs, cells: &SearchCells) -> Response {
    let response = fathom_analyse::response(
        description.to_owned(),
        &args.limits,
        &cells.measured,
        cells.best_answer(),
    );
    // The last trial: those before it were disturbed.
    let last = cells.measured.open.last().filter(|_| args.at.is_some());
    Response {
        at: last.map(|(_, figures)| {
            fathom_analyse::slo_answer(&args.limits, figures, args.at.map(|load| load as f64))
        }),
        ..response
    }
}

/// The first limit of a stored search as a metric of charts and its largest value, nanoseconds.
pub fn first_limit(run: &Run) -> Option<(Dimension, f64)> {
    let args = SearchArgs::read(&Saved::read(&run.experiment.plan).arguments()).ok()?;
    let limit = args.limits.first()?;
    let dimension = match limit.figure {
        LatencyFigure::Mean => Dimension::Mean,
        LatencyFigure::Max => Dimension::Max,
        LatencyFigure::Percentile(percent) => Dimension::Percentile(percent),
    };
    Some((dimension, limit.most.get() as f64))
}

/// The result of a stored search, from its stored trials. The same trials in the same order give the same answer as when they
/// were measured. The flag is set when loads are shown in MB/s.
pub fn stored_result(run: &Run, mut stored: StoreWriter) -> Option<(Response, bool)> {
    let args = SearchArgs::read(&Saved::read(&run.experiment.plan).arguments()).ok()?;
    // Target and number of jobs change neither which trials follow nor what they show.
    let load = TrialLoad {
        jobs: 1,
        cell_time: args.runtime.unwrap_or(TRIAL_TIME),
        ..TrialLoad::default()
    };
    let mut cells = SearchCells::new(load, goal(&args), None);
    let mut simulated = None;
    while let Some(cell) = cells.next() {
        let Some(recording) = stored.recording(&cell).ok()? else {
            break;
        };
        let findings = fathom_analyse::findings(&recording);
        let figures = fathom_analyse::cell_figures(&recording, &findings, &[]);
        cells.learn(&cell, Ok(&figures));
        simulated = simulated.or(recording.host.simulated);
    }
    let response = Response {
        simulated,
        ..summary(&run.experiment.name, &args, &cells)
    };
    (!response.closed.is_empty() || response.at.is_some())
        .then_some((response, args.unit == LoadUnit::Mbps))
}

/// The load without time, depth and rate, which each trial sets.
fn base(
    args: &SearchArgs,
    (source, job_file): (String, String),
    target: Option<&ExperimentTarget>,
) -> Result<PlannedCell, String> {
    let mut settings = Vec::new();
    if let Some(size) = target.and_then(|target| target.size) {
        settings.push(("size".to_owned(), size.get().to_string()));
    }
    settings.extend(args.load.set.iter().cloned());
    let name = |target: &ExperimentTarget| target_value(&target.file);
    let targets = target.map(name).transpose()?.into_iter().collect();
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
