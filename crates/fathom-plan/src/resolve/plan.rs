//! An invocation into a plan.

use std::collections::HashMap;

use fathom_model::{
    BlockSizes, Direction, EngineKind, Extent, Job, Nanos, Personality, Plan, Start, Traffic,
};

use super::demand::MemoryDemand;
use super::diagnostics::Diagnostics;
use super::job::{JobContext, JobView, job_name, resolve, within};
use super::replay::Logs;
use super::sections::{UnresolvedJob, UnresolvedJobs, unresolved_jobs};
use super::{overrides, pitfalls, steady};
use crate::command::{Invocation, show_command};
use crate::diagnostic::{Diagnostic, Severity};
use crate::host::{FileReader, HostInfo};
use crate::jobfile::{Context, JobFile, MEMORY, Section, Source, parse, substitute};
use crate::limits::{MAX_CLONES, MAX_WORKERS};
use crate::options::table as opt;
use crate::span::Span;
use crate::text::shorten;
use crate::values::ParseContext;

/// fio's interval of bandwidth samples, the default length of an interval.
const INTERVAL_MS: u64 = 500;
/// Minimum length of an interval.
const MIN_INTERVAL_MS: u64 = 10;

/// A plan, with its warnings and notes.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Settings that may not mean what was intended.
    pub warnings: Vec<Diagnostic>,
    /// Options that are accepted without effect.
    pub notes: Vec<Diagnostic>,
}

/// Makes the plan of an invocation.
///
/// # Errors
/// Every error in the job files and on the command line, with the warnings, by location. With `--warnings-fatal`
/// also when there are only warnings.
pub fn plan(
    invocation: &Invocation,
    host: &dyn HostInfo,
    includes: &dyn FileReader,
) -> Result<Planned, Vec<Diagnostic>> {
    let mut diagnostics = Diagnostics::default();
    diagnostics.extend(invocation.warnings.iter().cloned());
    let files = read_files(invocation, host, includes, &mut diagnostics);
    let cpus = match invocation.checks_only() {
        true => u32::MAX,
        false => host.host_cpus(),
    };
    let mut context = ParseContext::new(invocation.personality, cpus);
    let sections = files.iter().map(|file| file.sections.as_slice());
    let mut unresolved_jobs = unresolved_jobs(
        &command_line_sections(invocation, host),
        sections,
        &mut context,
        &mut diagnostics,
    );
    overrides::apply(
        &invocation.sets,
        &mut unresolved_jobs.jobs,
        &mut context,
        &mut diagnostics,
    );
    check_any(invocation, &unresolved_jobs, &mut diagnostics);
    let planner = Planner {
        invocation,
        host,
        logs: &Logs::new(includes),
    };
    let jobs = planner.jobs(&unresolved_jobs.jobs, &mut diagnostics);
    finish(invocation, unresolved_jobs, jobs, diagnostics)
}

/// The job files of an invocation as sections, for `--showcmd` and for tools.
///
/// # Errors
/// Every syntax error.
pub fn read_job_files(
    invocation: &Invocation,
    host: &dyn HostInfo,
    includes: &dyn FileReader,
) -> Result<Vec<JobFile>, Vec<Diagnostic>> {
    let mut diagnostics = Diagnostics::default();
    let files = read_files(invocation, host, includes, &mut diagnostics);
    if diagnostics.has_errors() {
        Err(diagnostics.into_failure())
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
    host: &dyn HostInfo,
    includes: &dyn FileReader,
) -> Result<String, Vec<Diagnostic>> {
    plan(invocation, host, includes)?;
    let files = read_job_files(invocation, host, includes)?;
    if files.is_empty() {
        return Ok(show_command(
            program,
            &command_line_sections(invocation, host),
            invocation.personality,
        ));
    }
    let mut before = command_line_sections(invocation, host);
    let lines = files.into_iter().map(|file| {
        before.extend(file.sections);
        show_command(
            program,
            &std::mem::take(&mut before),
            invocation.personality,
        )
    });
    Ok(lines.collect())
}

/// The sections of the command line. The size of a profile depends on the memory of the host.
fn command_line_sections(invocation: &Invocation, host: &dyn HostInfo) -> Vec<Section> {
    let mut sections = invocation.sections.clone();
    for assignment in sections
        .iter_mut()
        .flat_map(|section| &mut section.assignments)
    {
        if let Some(value) = &mut assignment.value
            && value.contains(MEMORY)
            && let Ok(line) = substitute(&format!("{}={value}", assignment.key), host)
            && let Some((_, replaced)) = line.split_once('=')
        {
            *value = replaced.to_owned();
        }
    }
    sections
}

fn read_files(
    invocation: &Invocation,
    host: &dyn HostInfo,
    includes: &dyn FileReader,
    diagnostics: &mut Diagnostics,
) -> Vec<JobFile> {
    let context = Context {
        host,
        includes,
        personality: invocation.personality,
        selected_jobs: &invocation.selected_jobs,
    };
    let mut files = Vec::new();
    for (name, at) in &invocation.files {
        let source = match includes.read(name) {
            Ok(bytes) => Source::new(if name == "-" { "standard input" } else { name }, bytes),
            Err(why) => Err(Diagnostic::error(
                at.clone(),
                format!("cannot read '{}': {why}", shorten(name)),
            )),
        };
        match source {
            Ok(source) => {
                let mut problems = Vec::new();
                files.push(parse(&source, &context, &mut problems));
                diagnostics.extend(problems);
            }
            Err(problem) => diagnostics.push(problem),
        }
    }
    files
}

fn check_any(
    invocation: &Invocation,
    unresolved_jobs: &UnresolvedJobs,
    diagnostics: &mut Diagnostics,
) {
    if let Some(read_only) = invocation.read_only
        && invocation.trigger.command.is_some()
    {
        diagnostics.push(
            Diagnostic::error(
                Span::CommandLine,
                format!("--trigger runs a command, which {read_only} forbids"),
            )
            .advise(format!("remove --trigger or {read_only}")),
        );
    }
    if !unresolved_jobs.jobs.is_empty() || invocation.checks_only() || diagnostics.has_errors() {
        return;
    }
    let problem = match (invocation.selected_jobs.first(), invocation.files.first()) {
        (Some(name), _) => Diagnostic::error(
            Span::CommandLine,
            format!("no job is named '{}'", shorten(name)),
        )
        .advise("--section takes the exact name in the brackets of a job file"),
        (None, Some((file, at))) => {
            Diagnostic::error(at.clone(), format!("'{}' defines no job", shorten(file)))
                .advise("a job begins with [NAME]; [global] only sets defaults")
        }
        (None, None) => Diagnostic::error(Span::CommandLine, "no job is defined")
            .advise("give a job file, or begin a job with --name=NAME"),
    };
    diagnostics.push(problem);
}

fn finish(
    invocation: &Invocation,
    unresolved_jobs: UnresolvedJobs,
    mut jobs: Vec<Job>,
    diagnostics: Diagnostics,
) -> Result<Planned, Vec<Diagnostic>> {
    let warnings = diagnostics.with(Severity::Warning);
    if diagnostics.has_errors() || (invocation.warnings_fatal && !warnings.is_empty()) {
        return Err(diagnostics.into_failure());
    }
    if invocation.read_only.is_some() {
        for job in &mut jobs {
            job.files.layout.allow_create = false;
        }
    }
    if invocation.blame {
        for job in &mut jobs {
            job.accounting.blame = true;
        }
    }
    let plan = Plan {
        personality: invocation.personality,
        sources: invocation
            .files
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
        globals: unresolved_jobs.globals,
        overrides: invocation.sets.iter().map(|(set, _)| set.clone()).collect(),
        interval: interval(&jobs),
        jobs,
        read_only: invocation.read_only.is_some(),
        warnings: warnings.iter().map(ToString::to_string).collect(),
    };
    Ok(Planned {
        plan,
        warnings,
        notes: diagnostics.with(Severity::Note),
    })
}

/// The longest interval that divides every sample and log window of the jobs.
fn interval(jobs: &[Job]) -> Nanos {
    let windows = jobs.iter().flat_map(|job| {
        let accounting = &job.accounting;
        [
            accounting.bandwidth_sample,
            accounting.iops_sample,
            accounting.logs.average,
            accounting.logs.hist_every,
        ]
    });
    let ms = windows
        .map(Nanos::as_millis)
        .filter(|ms| *ms > 0)
        .fold(INTERVAL_MS, gcd);
    Nanos::from_millis(ms.max(MIN_INTERVAL_MS))
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
    demand: MemoryDemand,
    /// Address space of the clones of all sections so far that run at the same time.
    address_space: AddressSpace,
}

/// What the workers of a step need of the address space, as far as it is known before the run.
#[derive(Clone, Copy, Default)]
struct AddressSpace {
    jobs: u64,
    buffers_mib: u64,
}

impl AddressSpace {
    /// The program itself with its charts, databases and tables.
    const PROGRAM_MIB: u64 = 160;
    /// One worker: its stack, and its histograms and queues.
    const WORKER_MIB: u64 = 3;

    fn mib(self) -> u64 {
        self.jobs
            .saturating_mul(Self::WORKER_MIB)
            .saturating_add(self.buffers_mib)
            .saturating_add(Self::PROGRAM_MIB)
    }
}

struct Planner<'a> {
    invocation: &'a Invocation,
    host: &'a dyn HostInfo,
    logs: &'a Logs<'a>,
}

impl Planner<'_> {
    fn jobs(&self, unresolved_jobs: &[UnresolvedJob], diagnostics: &mut Diagnostics) -> Vec<Job> {
        let exit_all = unresolved_jobs
            .iter()
            .any(|unresolved_job| unresolved_job.settings.get(opt::EXITALL));
        let mut tally = Tally::default();
        let mut jobs = Vec::new();
        let names = names(unresolved_jobs);
        for (section, unresolved_job) in unresolved_jobs.iter().enumerate() {
            self.section(
                section,
                &names,
                unresolved_job,
                exit_all,
                &mut tally,
                &mut jobs,
                diagnostics,
            );
            if jobs.len() > MAX_WORKERS {
                diagnostics.push(
                    Diagnostic::error(
                        unresolved_job.at.clone(),
                        format!("more than {MAX_WORKERS} workers"),
                    )
                    .advise("lower numjobs"),
                );
                break;
            }
        }
        steady::check_groups(
            &jobs,
            &|section| unresolved_jobs[section].at.clone(),
            diagnostics,
        );
        jobs
    }

    #[allow(clippy::too_many_arguments, reason = "the state of one loop")]
    fn section(
        &self,
        section: usize,
        names: &Names<'_>,
        unresolved_job: &UnresolvedJob,
        exit_all: bool,
        tally: &mut Tally,
        jobs: &mut Vec<Job>,
        diagnostics: &mut Diagnostics,
    ) {
        let view = self.view(unresolved_job);
        let stonewall = unresolved_job.begins_file || unresolved_job.settings.get(opt::STONEWALL);
        open_group(
            tally,
            stonewall || unresolved_job.settings.get(opt::NEW_GROUP),
        );
        let after_section = waited_for(&view, section, names, unresolved_job, diagnostics);
        let clones = self.clones(&view, diagnostics);
        for (index, clone) in clone_order(clones, self.invocation.personality).enumerate() {
            tally.number += 1;
            tally.in_group += 1;
            let start = Start {
                after_all_before: stonewall && index == 0,
                after_section,
                ..Start::default()
            };
            let job_context = JobContext {
                section_name: &unresolved_job.name,
                section: section as u32,
                clone,
                number: tally.number,
                group: tally.group,
                start,
                exit_all,
                options: unresolved_job.options.clone(),
            };
            let job = resolve(&view, job_context, diagnostics);
            if index == 0 {
                self.check(&view, &job, clones, diagnostics);
                if stonewall {
                    tally.address_space = AddressSpace::default();
                }
                self.check_address_space(&view, &job, clones, tally, diagnostics);
                if !tally.demand.add(&view, &job, clones, diagnostics) {
                    return;
                }
            }
            jobs.push(job);
        }
    }

    fn view<'d>(&'d self, unresolved_job: &'d UnresolvedJob) -> JobView<'d> {
        JobView {
            settings: &unresolved_job.settings,
            at: &unresolved_job.at,
            personality: self.invocation.personality,
            host: self.host,
            logs: self.logs,
            will_run: !self.invocation.checks_only(),
        }
    }

    fn clones(&self, view: &JobView<'_>, diagnostics: &mut Diagnostics) -> u32 {
        let clones = within(
            view,
            opt::NUMJOBS,
            view.settings.get(opt::NUMJOBS),
            MAX_CLONES,
            "clones",
            diagnostics,
        )
        .max(1);
        // With an error there is no plan: one clone is enough to find other errors.
        if diagnostics.has_errors() {
            1
        } else {
            clones as u32
        }
    }

    fn check(&self, view: &JobView<'_>, job: &Job, clones: u32, diagnostics: &mut Diagnostics) {
        if let Some(read_only) = self.invocation.read_only
            && job.pattern.traffic != Traffic::Read
        {
            let (option, advice) = match job.pace.replay {
                Some(_) => (opt::READ_IOLOG.name(), "set replay_skip=write,trim"),
                None => (opt::RW.name(), "use rw=read or rw=randread"),
            };
            diagnostics.push(
                view.error(
                    option,
                    format!("writes to the target, which {read_only} forbids"),
                )
                .advise(advice),
            );
        }
        if job.engine.kind == EngineKind::Ftruncate && job.pattern.traffic != Traffic::Write {
            diagnostics.push(
                view.error(opt::RW, "ftruncate can only write")
                    .advise("use rw=write or rw=randwrite"),
            );
        }
        let changes = job
            .engine
            .kind
            .file_operation()
            .is_some_and(|operation| !operation.is_read_only());
        if let Some(read_only) = self.invocation.read_only
            && changes
        {
            diagnostics.push(
                view.error(
                    opt::IOENGINE,
                    format!(
                        "{} changes a directory, which {read_only} forbids",
                        job.engine.kind.name()
                    ),
                )
                .advise("use filestat on existing files"),
            );
        }
        if let Some(read_only) = self.invocation.read_only {
            check_commands(view, job, read_only, diagnostics);
        }
        if !self.invocation.checks_only() {
            self.check_memory(view, job, clones, diagnostics);
        }
        if !view.leaves_combinations() {
            check_engine(view, job, diagnostics);
        }
        pitfalls::warn(view, job, clones, diagnostics);
    }

    /// Memory that cannot be had during the run would end it without a result.
    fn check_address_space(
        &self,
        view: &JobView<'_>,
        job: &Job,
        clones: u32,
        tally: &mut Tally,
        diagnostics: &mut Diagnostics,
    ) {
        let Some(limit_mib) = self.host.address_space_mib() else {
            return;
        };
        if self.invocation.checks_only() {
            return;
        }
        let needed = &mut tally.address_space;
        needed.jobs += u64::from(clones);
        needed.buffers_mib = needed.buffers_mib.saturating_add(buffers_mib(job, clones));
        if needed.mib() > limit_mib {
            let problem = format!(
                "{} jobs at a time with {} MiB of buffers need about {} MiB, but the process has {limit_mib} MiB of address space (ulimit -v)",
                needed.jobs,
                needed.buffers_mib,
                needed.mib()
            );
            diagnostics.push(
                view.error(opt::NUMJOBS, problem)
                    .advise("lower bs, iodepth or numjobs, or raise the limit"),
            );
        }
    }

    fn check_memory(
        &self,
        view: &JobView<'_>,
        job: &Job,
        clones: u32,
        diagnostics: &mut Diagnostics,
    ) {
        let needed_mib = buffers_mib(job, clones);
        let memory_mib = u128::from(self.host.memory_mib());
        let touched = match job.files.size {
            Extent::Bytes(size) if job.engine.kind == EngineKind::PageFault => {
                (u128::from(size.get()) * u128::from(clones)) >> 20
            }
            _ => 0,
        };
        if touched > memory_mib {
            let problem = format!(
                "page_fault would touch {touched} MiB, but this process can use {memory_mib} MiB of memory"
            );
            diagnostics.push(
                view.error(opt::SIZE, problem)
                    .advise("lower size or numjobs"),
            );
        }
        if u128::from(needed_mib) > memory_mib {
            let problem = format!(
                "the buffers need {needed_mib} MiB, but this process can use {memory_mib} MiB of memory"
            );
            diagnostics.push(
                view.error(opt::BS, problem)
                    .advise("lower bs, iodepth or numjobs"),
            );
        }
    }
}

/// Memory of the I/O buffers of all clones of a job.
fn buffers_mib(job: &Job, clones: u32) -> u64 {
    // A trim transfers no data, unless it is followed by a write of its size.
    let traffic = job.pattern.traffic;
    let transfers = |d| {
        traffic == Traffic::TrimWrite || (traffic.uses(d) && d != fathom_model::Direction::Trim)
    };
    let used = job
        .pattern
        .block_size
        .iter()
        .filter(|(direction, _)| transfers(*direction));
    let block = used
        .map(|(_, sizes)| u64::from(sizes.max()))
        .max()
        .unwrap_or(0);
    let bytes = u128::from(block) * u128::from(job.queue.depth) * u128::from(clones);
    u64::try_from(bytes >> 20).unwrap_or(u64::MAX)
}

/// A command can write anything, so `read_only` (`--readonly`) allows none.
fn check_commands(view: &JobView<'_>, job: &Job, read_only: &str, diagnostics: &mut Diagnostics) {
    let commands = [
        (opt::EXEC_PRERUN.name(), job.start.command_before.is_some()),
        (opt::EXEC_POSTRUN.name(), job.start.command_after.is_some()),
        (opt::IOENGINE.name(), job.engine.settings.program.is_some()),
    ];
    for (option, _) in commands.into_iter().filter(|(_, runs)| *runs) {
        diagnostics.push(
            view.error(option, format!("runs a command, which {read_only} forbids"))
                .advise(format!("remove the option or {read_only}")),
        );
    }
}

/// Checks that engine and job fit.
fn check_engine(view: &JobView<'_>, job: &Job, diagnostics: &mut Diagnostics) {
    let engine = job.engine.kind;
    if engine == EngineKind::Cpuio && job.engine.settings.cpu.percent == 0 {
        diagnostics.push(
            view.error(opt::IOENGINE, "cpuio needs a CPU load")
                .advise("set cpuload in percent"),
        );
    }
    if !job.engine.settings.atomic || !job.pattern.traffic.uses(Direction::Write) {
        return;
    }
    if !matches!(
        engine,
        EngineKind::Pvsync2 | EngineKind::Libaio | EngineKind::IoUring
    ) {
        let problem = format!("{} does not support atomic writes", engine.name());
        diagnostics.push(
            view.error(opt::ATOMIC, problem)
                .advise("use pvsync2, libaio or io_uring"),
        );
    }
    if !matches!(job.pattern.block_size[Direction::Write], BlockSizes::Fixed(size) if size.is_power_of_two())
    {
        let problem = "the size of an atomic write must be a power of two";
        diagnostics.push(
            view.error(opt::ATOMIC, problem)
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

fn names(unresolved_jobs: &[UnresolvedJob]) -> Names<'_> {
    let mut names = Names::new();
    for (section, unresolved_job) in unresolved_jobs.iter().enumerate() {
        names
            .entry(job_name(&unresolved_job.settings, &unresolved_job.name))
            .or_default()
            .push(section as u32);
    }
    names
}

/// The section that `wait_for` names: exactly one earlier job.
fn waited_for(
    view: &JobView<'_>,
    section: usize,
    names: &Names<'_>,
    unresolved_job: &UnresolvedJob,
    diagnostics: &mut Diagnostics,
) -> Option<u32> {
    let name = view.settings.given(opt::WAIT_FOR)?;
    let same = names.get(name).map_or(&[][..], Vec::as_slice);
    let matches = &same[..same.partition_point(|at| (*at as usize) < section)];
    let shown = shorten(name);
    let problem = match matches[..] {
        [one] => return Some(one),
        [] if job_name(view.settings, &unresolved_job.name) == name => {
            view.error(opt::WAIT_FOR, "a job cannot wait for itself")
        }
        [] => view
            .error(opt::WAIT_FOR, format!("no earlier job is named '{shown}'"))
            .advise("name a job above this one"),
        _ => view
            .error(
                opt::WAIT_FOR,
                format!("{} earlier jobs are named '{shown}'", matches.len()),
            )
            .advise("give them different names"),
    };
    diagnostics.push(problem);
    None
}
