//! An invocation into a plan.

use std::collections::HashMap;

use fathom_model::{
    BlockSizes, Direction, EngineKind, Extent, Job, Nanos, Personality, Plan, Start, Traffic,
};

use super::bounds::{MOST_CLONES, MOST_WORKERS, within};
use super::demand::Demand;
use super::job::{JobContext, View, job_name, resolve};
use super::replay::Logs;
use super::report::Report;
use super::sections::{Draft, Drafts, drafts};
use super::{overrides, steady, traps};
use crate::command::{Invocation, show_command};
use crate::diagnostic::{Diagnostic, Severity};
use crate::jobfile::{Context, JobFile, Source, parse};
use crate::span::Span;
use crate::surroundings::{Includes, Surroundings};
use crate::values::Reading;

/// fio's distance of bandwidth samples, the length of an interval where nothing asks for a shorter one.
const INTERVAL_MS: u64 = 500;
/// The shortest interval, whatever is asked.
const SHORTEST_INTERVAL_MS: u64 = 10;

/// A plan, and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What will be done.
    pub plan: Plan,
    /// What may not mean what was meant.
    pub warnings: Vec<Diagnostic>,
    /// Options that are accepted and change nothing.
    pub notes: Vec<Diagnostic>,
}

/// Makes the plan of an invocation.
///
/// # Errors
/// Every mistake in the job files and on the command line, with the warnings, by place. With `--warnings-fatal`
/// also when there are only warnings.
pub fn plan(
    invocation: &Invocation,
    surroundings: &dyn Surroundings,
    includes: &dyn Includes,
) -> Result<Planned, Vec<Diagnostic>> {
    let mut report = Report::default();
    report.extend(invocation.warnings.iter().cloned());
    let files = read_files(invocation, surroundings, includes, &mut report);
    let mut reading = Reading::new(invocation.personality, surroundings.cpus());
    let sections = files.iter().map(|file| file.sections.as_slice());
    let mut drafts = drafts(&invocation.sections, sections, &mut reading, &mut report);
    overrides::apply(
        &invocation.sets,
        &mut drafts.jobs,
        &mut reading,
        &mut report,
    );
    check_any(invocation, &drafts, &mut report);
    let planner = Planner {
        invocation,
        surroundings,
        logs: &Logs::new(includes),
    };
    let jobs = planner.jobs(&drafts.jobs, &mut report);
    finish(invocation, drafts, jobs, report)
}

/// The job files of an invocation as sections, for `--showcmd` and for tools.
///
/// # Errors
/// Every mistake of grammar.
pub fn read_job_files(
    invocation: &Invocation,
    surroundings: &dyn Surroundings,
    includes: &dyn Includes,
) -> Result<Vec<JobFile>, Vec<Diagnostic>> {
    let mut report = Report::default();
    let files = read_files(invocation, surroundings, includes, &mut report);
    if report.has_errors() {
        Err(report.into_failure())
    } else {
        Ok(files)
    }
}

/// `--showcmd`: the jobs of the command line, if any, and of each file as one command line of `program`.
///
/// # Errors
/// As [`plan`].
pub fn show_commands(
    program: &str,
    invocation: &Invocation,
    surroundings: &dyn Surroundings,
    includes: &dyn Includes,
) -> Result<String, Vec<Diagnostic>> {
    plan(invocation, surroundings, includes)?;
    let files = read_job_files(invocation, surroundings, includes)?;
    if files.is_empty() {
        return Ok(show_command(program, &invocation.sections));
    }
    let mut before = invocation.sections.clone();
    let lines = files.into_iter().map(|file| {
        before.extend(file.sections);
        show_command(program, &std::mem::take(&mut before))
    });
    Ok(lines.collect())
}

fn read_files(
    invocation: &Invocation,
    surroundings: &dyn Surroundings,
    includes: &dyn Includes,
    report: &mut Report,
) -> Vec<JobFile> {
    let context = Context {
        surroundings,
        includes,
        personality: invocation.personality,
        wanted: &invocation.wanted,
    };
    let mut files = Vec::new();
    for (name, at) in &invocation.files {
        let source = match includes.read(name) {
            Ok(bytes) => Source::new(if name == "-" { "standard input" } else { name }, bytes),
            Err(why) => Err(Diagnostic::error(
                at.clone(),
                format!("cannot read '{}': {why}", crate::jobfile::shorten(name)),
            )),
        };
        match source {
            Ok(source) => {
                let mut problems = Vec::new();
                files.push(parse(&source, &context, &mut problems));
                report.extend(problems);
            }
            Err(problem) => report.push(problem),
        }
    }
    files
}

fn check_any(invocation: &Invocation, drafts: &Drafts, report: &mut Report) {
    let only_looks = invocation.parse_only || invocation.show_command;
    if !drafts.jobs.is_empty() || only_looks || report.has_errors() {
        return;
    }
    let problem = match (invocation.wanted.first(), invocation.files.first()) {
        (Some(name), _) => Diagnostic::error(
            Span::CommandLine,
            format!("no job is named '{}'", crate::jobfile::shorten(name)),
        )
        .advise("--section takes the exact name between the brackets of a job file"),
        (None, Some((file, at))) => Diagnostic::error(
            at.clone(),
            format!("'{}' defines no job", crate::jobfile::shorten(file)),
        )
        .advise("a job begins with [NAME]; [global] alone is none"),
        (None, None) => Diagnostic::error(Span::CommandLine, "no job is defined")
            .advise("name a job file, or begin a job with --name=NAME"),
    };
    report.push(problem);
}

fn finish(
    invocation: &Invocation,
    drafts: Drafts,
    jobs: Vec<Job>,
    report: Report,
) -> Result<Planned, Vec<Diagnostic>> {
    let warnings = report.with(Severity::Warning);
    if report.has_errors() || (invocation.warnings_fatal && !warnings.is_empty()) {
        return Err(report.into_failure());
    }
    let plan = Plan {
        personality: invocation.personality,
        sources: invocation
            .files
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
        globals: drafts.globals,
        overrides: invocation.sets.iter().map(|(set, _)| set.clone()).collect(),
        interval: interval(&jobs),
        jobs,
        read_only: invocation.read_only,
        warnings: warnings.iter().map(ToString::to_string).collect(),
    };
    Ok(Planned {
        plan,
        warnings,
        notes: report.with(Severity::Note),
    })
}

/// The longest interval that divides every sample and log window asked for.
fn interval(jobs: &[Job]) -> Nanos {
    let asked = jobs.iter().flat_map(|job| {
        let accounting = &job.accounting;
        [
            accounting.bandwidth_sample,
            accounting.iops_sample,
            accounting.logs.average,
            accounting.logs.hist_every,
        ]
    });
    let ms = asked
        .map(Nanos::as_millis)
        .filter(|ms| *ms > 0)
        .fold(INTERVAL_MS, gcd);
    Nanos::from_millis(ms.max(SHORTEST_INTERVAL_MS))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Counts of what has been planned so far.
#[derive(Default)]
struct Tally {
    number: u32,
    group: u32,
    in_group: u32,
    demand: Demand,
}

struct Planner<'a> {
    invocation: &'a Invocation,
    surroundings: &'a dyn Surroundings,
    logs: &'a Logs<'a>,
}

impl Planner<'_> {
    fn jobs(&self, drafts: &[Draft], report: &mut Report) -> Vec<Job> {
        let exit_all = drafts.iter().any(|draft| draft.settings.switch("exitall"));
        let mut tally = Tally::default();
        let mut jobs = Vec::new();
        let names = names(drafts);
        for (section, draft) in drafts.iter().enumerate() {
            self.section(
                section, &names, draft, exit_all, &mut tally, &mut jobs, report,
            );
            if jobs.len() > MOST_WORKERS {
                report.push(
                    Diagnostic::error(
                        draft.at.clone(),
                        format!("more than {MOST_WORKERS} workers"),
                    )
                    .advise("lower numjobs"),
                );
                break;
            }
        }
        steady::check_groups(&jobs, &|section| drafts[section].at.clone(), report);
        jobs
    }

    #[allow(clippy::too_many_arguments, reason = "the running counts of one loop")]
    fn section(
        &self,
        section: usize,
        names: &Names<'_>,
        draft: &Draft,
        exit_all: bool,
        tally: &mut Tally,
        jobs: &mut Vec<Job>,
        report: &mut Report,
    ) {
        let view = self.view(draft);
        let wall = draft.begins_file || draft.settings.switch("stonewall");
        open_group(tally, wall || draft.settings.switch("new_group"));
        let after_section = waited_for(&view, section, names, draft, report);
        let clones = self.clones(&view, report);
        for (index, clone) in clone_order(clones, self.invocation.personality).enumerate() {
            tally.number += 1;
            tally.in_group += 1;
            let start = Start {
                after_all_before: wall && index == 0,
                after_section,
                ..Start::default()
            };
            let seat = JobContext {
                section_name: &draft.name,
                section: section as u32,
                clone,
                number: tally.number,
                group: tally.group,
                start,
                exit_all,
                options: draft.options.clone(),
            };
            let job = resolve(&view, seat, report);
            if index == 0 {
                self.check(&view, &job, clones, report);
                if !tally.demand.add(&view, &job, clones, report) {
                    return;
                }
            }
            jobs.push(job);
        }
    }

    fn view<'d>(&'d self, draft: &'d Draft) -> View<'d> {
        View {
            settings: &draft.settings,
            at: &draft.at,
            personality: self.invocation.personality,
            surroundings: self.surroundings,
            logs: self.logs,
            check_folders: !(self.invocation.parse_only || self.invocation.show_command),
        }
    }

    fn clones(&self, view: &View<'_>, report: &mut Report) -> u32 {
        let clones = within(
            view,
            "numjobs",
            view.settings.number("numjobs", 1),
            MOST_CLONES,
            "clones",
            report,
        )
        .max(1);
        // With an error there is no plan: one clone is enough to find the others.
        if report.has_errors() {
            1
        } else {
            clones as u32
        }
    }

    fn check(&self, view: &View<'_>, job: &Job, clones: u32, report: &mut Report) {
        if self.invocation.read_only && job.pattern.traffic != Traffic::Read {
            let (option, advice) = match job.pace.replay {
                Some(_) => ("read_iolog", "set replay_skip=write,trim"),
                None => ("rw", "use rw=read or rw=randread"),
            };
            report.push(
                view.error(option, "would change the target, but --readonly forbids it")
                    .advise(advice),
            );
        }
        if job.engine.kind == EngineKind::Ftruncate && job.pattern.traffic != Traffic::Write {
            report.push(
                view.error("rw", "ftruncate can only write")
                    .advise("use rw=write or rw=randwrite"),
            );
        }
        let changes = job
            .engine
            .kind
            .file_operation()
            .is_some_and(|operation| !operation.only_looks());
        if self.invocation.read_only && changes {
            report.push(
                view.error(
                    "ioengine",
                    format!(
                        "{} changes a folder, but --readonly forbids it",
                        job.engine.kind.word()
                    ),
                )
                .advise("use filestat on files that are there"),
            );
        }
        self.check_memory(view, job, clones, report);
        check_engine(view, job, report);
        traps::doubts(view, job, clones, report);
    }

    fn check_memory(&self, view: &View<'_>, job: &Job, clones: u32, report: &mut Report) {
        // A trim moves nothing, unless it is followed by a write of its size.
        let traffic = job.pattern.traffic;
        let moves = |d| {
            traffic == Traffic::TrimWrite || (traffic.uses(d) && d != fathom_model::Direction::Trim)
        };
        let used = job
            .pattern
            .block_size
            .iter()
            .filter(|(direction, _)| moves(*direction));
        let block = used
            .map(|(_, sizes)| u64::from(sizes.max()))
            .max()
            .unwrap_or(0);
        let needed_mib =
            (u128::from(block) * u128::from(job.queue.depth) * u128::from(clones)) >> 20;
        let memory_mib = u128::from(self.surroundings.memory_mib());
        let touched = match job.files.size {
            Extent::Bytes(size) if job.engine.kind == EngineKind::PageFault => {
                (u128::from(size.get()) * u128::from(clones)) >> 20
            }
            _ => 0,
        };
        if touched > memory_mib {
            let problem = format!(
                "page_fault would touch {touched} MiB, but there are {memory_mib} MiB of memory"
            );
            report.push(view.error("size", problem).advise("lower size or numjobs"));
        }
        if needed_mib > memory_mib {
            let problem = format!(
                "the buffers need {needed_mib} MiB, but there are {memory_mib} MiB of memory"
            );
            report.push(
                view.error("bs", problem)
                    .advise("lower bs, iodepth or numjobs"),
            );
        }
    }
}

/// What an engine needs of a job, and a job of its engine.
fn check_engine(view: &View<'_>, job: &Job, report: &mut Report) {
    let engine = job.engine.kind;
    if engine == EngineKind::Cpuio && job.engine.settings.cpu.percent == 0 {
        report.push(
            view.error(
                "ioengine",
                "cpuio needs to know how busy a CPU is to be kept",
            )
            .advise("set cpuload, in percent"),
        );
    }
    if !job.engine.settings.atomic || !job.pattern.traffic.uses(Direction::Write) {
        return;
    }
    if !matches!(
        engine,
        EngineKind::Pvsync2 | EngineKind::Libaio | EngineKind::IoUring
    ) {
        let problem = format!(
            "{} has no way to ask for writes that are not torn",
            engine.word()
        );
        report.push(
            view.error("atomic", problem)
                .advise("use pvsync2, libaio or io_uring"),
        );
    }
    if !matches!(job.pattern.block_size[Direction::Write], BlockSizes::Fixed(size) if size.is_power_of_two())
    {
        let problem =
            "such a write has a size that is a power of two, and begins at a multiple of it";
        report.push(
            view.error("atomic", problem)
                .advise("use one block size, such as bs=4k or bs=16k"),
        );
    }
}

/// fio numbers the clones after the first downwards.
fn clone_order(clones: u32, personality: Personality) -> Box<dyn Iterator<Item = u32>> {
    match personality {
        Personality::Fathom => Box::new(0..clones),
        Personality::Fio => Box::new(std::iter::once(0).chain((1..clones).rev())),
    }
}

fn open_group(tally: &mut Tally, opens: bool) {
    if opens && tally.in_group > 0 {
        tally.group += 1;
        tally.in_group = 0;
    }
}

/// Sections by the name of their job, in order.
type Names<'a> = HashMap<&'a str, Vec<u32>>;

fn names(drafts: &[Draft]) -> Names<'_> {
    let mut names = Names::new();
    for (section, draft) in drafts.iter().enumerate() {
        names
            .entry(job_name(&draft.settings, &draft.name))
            .or_default()
            .push(section as u32);
    }
    names
}

/// The section `wait_for` names: exactly one earlier job.
fn waited_for(
    view: &View<'_>,
    section: usize,
    names: &Names<'_>,
    draft: &Draft,
    report: &mut Report,
) -> Option<u32> {
    let wanted = view.settings.text("wait_for")?;
    let same = names.get(wanted).map_or(&[][..], Vec::as_slice);
    let matches = &same[..same.partition_point(|at| (*at as usize) < section)];
    let shown = crate::jobfile::shorten(wanted);
    let problem = match matches[..] {
        [one] => return Some(one),
        [] if job_name(view.settings, &draft.name) == wanted => {
            view.error("wait_for", "a job cannot wait for itself")
        }
        [] => view
            .error("wait_for", format!("no earlier job is named '{shown}'"))
            .advise("name a job that stands above this one"),
        _ => view
            .error(
                "wait_for",
                format!("{} earlier jobs are named '{shown}'", matches.len()),
            )
            .advise("give them different names"),
    };
    report.push(problem);
    None
}
