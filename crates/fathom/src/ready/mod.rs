//! `fathom ready`: whether a disk is good enough for an application.

mod hosts;
mod library;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_analyse::{ReadyPace, ReadySession, ready_result, ready_sentence};
use fathom_cli::{ReadyArgs, SizeFormat, ready_figure};
use fathom_device::Target;
use fathom_linux::interrupts;
use fathom_model::format::size as size_text;
use fathom_model::{
    Bytes, Findings, Nanos, Personality, Plan, ReadyCheckResult, ReadyResult, ReadyVerdict,
    Recording, RunEnd,
};
use fathom_plan::{
    FileReader, Planned, Profile, ProfilePlace, ProfileStep, Reporting, parse_args, plan,
    profile_place,
};
use fathom_report::wrap;

pub use self::hosts::Judge;
use self::library::ProfileLibrary;
use crate::cli;
use crate::experiment_target::{check_directory, image_message, not_enough_space, remove_created};
use crate::guard;
use crate::machine::Contents;
use crate::measure::{RunExtras, measure_and_store};
use crate::outcome::Outcome;
use crate::output;
use crate::print::{eprint_line, is_quiet, note_line, print, print_to, write_junit};
use crate::result_store::{self, RunWriter};
use crate::screen::Screen;
use crate::session::{Session, marked};

/// errno of a full file system.
const ENOSPC: i32 = 28;
/// The load runs this long before it is judged: one part of the time, but at most a second.
const RAMP_SHARE: u32 = 10;
const LONGEST_RAMP: Duration = Duration::from_secs(1);
/// The files together take at most one part in this many of the free space.
const SHARE_OF_FREE: u64 = 2;
/// A smaller file shows nothing about a disk.
const LEAST_SIZE: u64 = 16 << 20;
/// With fewer commits the counters of a device show nothing.
const ENOUGH_COMMITS: u64 = 50;
/// File systems in memory.
const MEMORY: [&str; 3] = ["tmpfs", "ramfs", "hugetlbfs"];
/// Mount options with which fsync does not flush the device: of ext4, XFS and btrfs, and of overlay.
const NO_FLUSH: [&str; 3] = ["nobarrier", "barrier=0", "volatile"];

/// Judges the target that the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args: ReadyArgs| {
        Ok(ready(session, &args).unwrap_or_else(|message| {
            eprint_line!("fathom ready: {message}");
            if interrupts().load(Relaxed) == 0 {
                Outcome::Refused
            } else {
                Outcome::Interrupted
            }
        }))
    })
}

fn ready(session: &Session, args: &ReadyArgs) -> Result<Outcome, String> {
    let library = ProfileLibrary::read(&args.profiles);
    let chosen = match &args.operands[..] {
        [] if args.rate.is_some() => return Err("no path: give the directory to check".to_owned()),
        [] => {
            report_errors(&library);
            return Ok(list(&library));
        }
        [only] if args.rate.is_none() && !args.is_custom() => {
            report_errors(&library);
            return describe(session, &library, only);
        }
        [path] => (None, path),
        [name, path, ..] => (Some(library.find(name)?), path),
    };
    let profile = profile(args, chosen.0)?;
    match args.hosts.hosts {
        Some(_) => hosts::check(session, args, profile, Path::new(chosen.1)),
        None => check(session, args, profile, Path::new(chosen.1)),
    }
}

fn report_errors(library: &ProfileLibrary) {
    library
        .errors
        .iter()
        .for_each(|error| eprint_line!("fathom ready: skipped: {error}"));
}

fn list(library: &ProfileLibrary) -> Outcome {
    let widest = library
        .profiles
        .iter()
        .map(|profile| profile.name.len())
        .max()
        .unwrap_or(0);
    let lines: String = library
        .profiles
        .iter()
        .map(|profile| format!("  {:widest$}  {}\n", profile.name, profile.title))
        .collect();
    print(&format!(
        "{lines}\n`fathom ready PROFILE` describes a profile, `fathom ready PROFILE PATH` checks a disk.\n"
    ))
}

/// The load, the limits and the sources of a profile.
fn describe(session: &Session, library: &ProfileLibrary, name: &str) -> Result<Outcome, String> {
    let profile = library.find(name).map_err(|message| {
        if session.exists(Path::new(name)) {
            format!(
                "which application? give a profile: fathom ready etcd {name}; or a load: fathom ready {name} --rate=3000 --mix=70/30 --slo 'p99<=2ms'"
            )
        } else {
            message
        }
    })?;
    let width = output::answer_style().width;
    let paragraph = |text: &str| wrap(text, width, "", "  ");
    let item = |text: &str| wrap(text, width, "  ", "      ");
    let mut text = paragraph(&format!("{}: {}", profile.name, profile.title));
    text += &wrap(&profile.about, width, "", "");
    for step in &profile.steps {
        text += &format!("\n{}", paragraph(&step.title));
        for job in &step.jobs {
            let options: Vec<String> = job
                .options
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let background = job
                .background
                .as_ref()
                .map_or(String::new(), |what| format!(" (at the same time: {what})"));
            text += &item(&format!(
                "{}: {} of {}{background}",
                job.name,
                options.join(" "),
                size_text(job.size)
            ));
        }
        for check in &step.checks {
            let limit = check.limit;
            let (figure, hard) = match limit {
                fathom_model::ReadyLimit::AtMost { figure, hard, .. } => (
                    format!("{figure} at most "),
                    fathom_model::format::duration(hard.get() as f64),
                ),
                fathom_model::ReadyLimit::AtLeast { hard, .. } => (
                    "at least ".to_owned(),
                    fathom_model::format::rate(hard) + " I/Os per second",
                ),
            };
            let source = check
                .source
                .as_ref()
                .map_or(String::new(), |source| format!(" [{source}]"));
            text += &item(&format!("limit: {}: {figure}{hard}{source}", check.title));
        }
    }
    text += "\nSources:\n";
    for source in &profile.sources {
        // A long address stays in one piece.
        text += &format!("  {source}\n");
    }
    text += &format!("\nTo check a disk, give a directory on it: fathom ready {name} PATH\n");
    Ok(print(&text))
}

/// The profile of the arguments: a named one, or a load of its own.
fn profile(args: &ReadyArgs, named: Option<&Profile>) -> Result<Profile, String> {
    let mut profile = match (named, args.rate) {
        (Some(_), _) if args.is_custom() => {
            return Err(
                "a profile has limits of its own; leave out the profile, or leave out --slo, --mix and --bs"
                    .to_owned(),
            );
        }
        (Some(profile), None) => profile.clone(),
        (Some(profile), Some(rate)) => {
            let mut profile = profile.clone();
            if !profile.replace_option("rate_iops", &rate.to_string()) {
                return Err(format!(
                    "--rate: the profile {} has no load with a rate",
                    profile.name
                ));
            }
            profile
        }
        (None, Some(rate)) if !args.limits.is_empty() => {
            let limits: Vec<_> = args
                .limits
                .iter()
                .filter_map(|limit| Some((ready_figure(limit)?, limit.most)))
                .collect();
            Profile::custom(
                rate,
                args.mix.unwrap_or(100),
                args.bs.unwrap_or(Bytes::new(4096)),
                &limits,
            )
        }
        (None, _) => {
            return Err(
                "which load? give a profile: fathom ready etcd PATH; or a load and a limit: --rate=3000 --mix=70/30 --slo 'p99<=2ms'"
                    .to_owned(),
            );
        }
    };
    if let Some(size) = args.size {
        profile.limit_sizes(size);
    }
    Ok(profile)
}

/// A profile on a place, before it is measured.
struct Ready<'a> {
    session: &'a Session,
    args: &'a ReadyArgs,
    profile: Profile,
    place: ProfilePlace,
    path: PathBuf,
    /// Files that do not exist yet.
    creates: Vec<PathBuf>,
}

fn check(
    session: &Session,
    args: &ReadyArgs,
    mut profile: Profile,
    path: &Path,
) -> Result<Outcome, String> {
    let is_directory = session.has_directory(path);
    let found = if is_directory {
        Ok(())
    } else {
        session.entry(path).map(drop)
    };
    found.map_err(|error| {
        format!(
            "{}: {error}; give a directory on the disk to check",
            path.display()
        )
    })?;
    let place = profile_place(path, is_directory);
    if !is_directory {
        fit_into_target(session, &mut profile, path)?;
    } else {
        check_directory(session, path, 0)?;
        fit_into_free_space(session, &mut profile, &place, path)?;
        if let Some(message) = image_message(session, [place.file("data").as_path()]) {
            note_line!("fathom: {message}");
        }
    }
    let creates = profile
        .files()
        .iter()
        .map(|(name, _)| place.file(name))
        .filter(|file| !session.exists(file))
        .collect();
    let ready = Ready {
        session,
        args,
        profile,
        place,
        path: path.to_owned(),
        creates,
    };
    if args.dry_run {
        let text: Result<Vec<String>, String> = ready
            .profile
            .steps
            .iter()
            .map(|step| ready.job_file(step, args.runtime))
            .collect();
        return Ok(print(&text?.join("\n")));
    }
    interrupts();
    let outcome = ready.run();
    if !args.keep {
        ready
            .creates
            .iter()
            .filter(|file| session.exists(file))
            .for_each(|file| remove_created(session, "fathom ready", file));
    }
    outcome
}

/// Makes the files smaller where little space is free.
fn fit_into_free_space(
    session: &Session,
    profile: &mut Profile,
    place: &ProfilePlace,
    directory: &Path,
) -> Result<(), String> {
    let space = session.space(directory);
    let free = space.map_or(u64::MAX, |space| space.free.get());
    loop {
        let files = profile.files();
        let missing: u64 = files
            .iter()
            .map(|(name, size)| {
                let present = session.file_size(&place.file(name));
                size.get().saturating_sub(present)
            })
            .sum();
        if missing <= free / SHARE_OF_FREE {
            return Ok(());
        }
        let largest = files.iter().map(|(_, size)| size.get()).max().unwrap_or(0);
        if largest / 2 < LEAST_SIZE {
            return Err(not_enough_space(directory, free, missing * SHARE_OF_FREE));
        }
        profile.limit_sizes(Bytes::new(largest / 2));
    }
}

/// Makes the parts smaller where a file or a device has no room for all of them.
fn fit_into_target(session: &Session, profile: &mut Profile, path: &Path) -> Result<(), String> {
    let examined = session
        .examine(path, Contents::Ends)
        .map_err(|error| error.to_string())?;
    let room = match &examined.facts().target {
        Target::File(facts) => facts.size.get(),
        Target::Block(facts) => facts.size.get(),
        Target::NewFile(_) | Target::Char(_) | Target::Other(_) => {
            return Err(format!(
                "{} is not a directory, file or block device",
                path.display()
            ));
        }
    };
    loop {
        let sizes = profile.files();
        let all: u64 = sizes.iter().map(|(_, size)| size.get()).sum();
        if all <= room {
            return Ok(());
        }
        let largest = sizes.iter().map(|(_, size)| size.get()).max().unwrap_or(0);
        if largest / 2 < LEAST_SIZE {
            return Err(format!(
                "{} is too small: it has {}, and the profile needs {}",
                path.display(),
                size_text(Bytes::new(room)),
                size_text(Bytes::new(all))
            ));
        }
        profile.limit_sizes(Bytes::new(largest / 2));
    }
}

/// One job file.
struct JobText(String);

impl FileReader for JobText {
    fn read(&self, _path: &str) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }
}

/// A measured step.
struct MeasuredStep {
    results: Vec<ReadyCheckResult>,
    /// A reason for which no verdict is possible.
    fault: Option<String>,
    notes: Vec<String>,
    interrupted: bool,
}

impl Ready<'_> {
    fn job_file(&self, step: &ProfileStep, time: Duration) -> Result<String, String> {
        let ramp = ramp_of(time);
        self.profile
            .job_file(step, &self.place, nanos(ramp), nanos(time - ramp))
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn run(&self) -> Result<Outcome, String> {
        let mut checks = Vec::new();
        let mut notes = Vec::new();
        let mut fault = durability_fault(self.session, &self.path);
        let mut left = self.args.runtime;
        let all = self.profile.steps.len() as u32;
        for (number, step) in (0_u32..).zip(&self.profile.steps) {
            let time = (left / (all - number)).max(Duration::from_secs(1));
            let started = self.session.now();
            let measured = self.step(step, time)?;
            left = left.saturating_sub(self.session.elapsed(started).min(time));
            checks.extend(measured.results);
            for note in measured.notes {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            fault = fault.or(measured.fault);
            if measured.interrupted {
                note_line!("fathom ready: interrupted; no verdict");
                return Ok(Outcome::Interrupted);
            }
        }
        let target = marked(&self.path.display().to_string(), self.session);
        let names = (
            self.profile.name.as_str(),
            self.profile.title.as_str(),
            target.as_str(),
        );
        let mut result = ready_result(names, checks, fault);
        result.background = background(&self.profile);
        result.notes = notes;
        result.sources.clone_from(&self.profile.sources);
        Ok(print_answer(self.args, &result))
    }

    /// Measures one step and stores it as a run.
    fn step(&self, step: &ProfileStep, time: Duration) -> Result<MeasuredStep, String> {
        let text = self.job_file(step, time)?;
        let planned = plan_of(self.session, text.clone())?;
        let pace = pace_of(step, time);
        let session = RefCell::new(ReadySession::new(&step.checks, pace, self.profile.checks()));
        let mut writer = begin_step(
            self.session,
            (&self.profile, step),
            &self.path,
            self.args,
            text,
        );
        let measured = measure_step(
            self.session,
            planned,
            &self.args.destroy,
            (&session, pace),
            &mut writer,
        );
        let (mut recording, decided) = match measured {
            Ok(measured) => measured,
            Err(StepError::Refused(message)) => {
                writer.remove();
                return Err(message);
            }
            Err(StepError::NoVerdict(fault)) => {
                writer.remove();
                return Ok(MeasuredStep {
                    results: Vec::new(),
                    fault: Some(fault),
                    notes: Vec::new(),
                    interrupted: interrupts().load(Relaxed) > 0,
                });
            }
        };
        let interrupted = interrupts().load(Relaxed) > 0;
        if decided && !interrupted && recording.end == RunEnd::Interrupted {
            ended_by_verdict(&mut recording);
        }
        let mut session = session.into_inner();
        session.finish(&recording);
        let results = session.results(&step.name);
        let findings: Findings = fathom_analyse::findings(&recording);
        let fault = io_fault(&recording).or_else(|| flush_fault(&recording));
        let verdict = match &fault {
            Some(_) => ReadyVerdict::Undecided,
            None => ReadyVerdict::of_all(results.iter().map(|result| result.verdict)),
        };
        let sentences = results.iter().map(ready_sentence);
        let answer = std::iter::once(format!("{}: {}", self.profile.name, verdict.name()))
            .chain(fault.clone())
            .chain(sentences);
        let answer = answer.collect::<Vec<_>>().join("; ");
        recording.messages.push(format!("fathom ready: {answer}"));
        let facts = vec![("answer".to_owned(), answer)];
        let notes = fallbacks(&recording);
        writer.finish(recording, &findings, facts);
        Ok(MeasuredStep {
            results,
            fault,
            notes,
            interrupted,
        })
    }
}

/// The part of `time` that is not judged.
fn ramp_of(time: Duration) -> Duration {
    (time / RAMP_SHARE).min(LONGEST_RAMP)
}

/// How long a step of `time` measures at most and at least.
fn pace_of(step: &ProfileStep, time: Duration) -> ReadyPace {
    let seconds = (time - ramp_of(time)).as_secs_f64();
    ReadyPace {
        seconds,
        least: step.least.as_secs_f64().min(seconds),
    }
}

/// Opens the run of a step in the store.
fn begin_step(
    session: &Session,
    (profile, step): (&Profile, &ProfileStep),
    path: &Path,
    args: &ReadyArgs,
    job_file: String,
) -> RunWriter {
    let path = result_store::path_name(path);
    let name = format!("{}: {} on {path}", profile.name, step.name);
    let experiment = result_store::experiment(session, "ready", name, job_file);
    RunWriter::begin(session, "fathom ready", &args.store, &experiment)
}

/// The loads that run beside the judged ones.
fn background(profile: &Profile) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for job in profile.steps.iter().flat_map(|step| &step.jobs) {
        all.extend(job.background.clone().filter(|what| !all.contains(what)));
    }
    all
}

/// Prints and writes the answer.
fn print_answer(args: &ReadyArgs, result: &ReadyResult) -> Outcome {
    let sentences = result.checks.iter().map(ready_sentence).collect();
    let cases = fathom_report::ready_cases(result, sentences);
    let class = format!("{} on {}", result.profile, result.target);
    let junit = args.junit.as_deref();
    if write_junit(junit, "fathom ready", &class, &cases) != Outcome::Good {
        return Outcome::Bad;
    }
    let text = match args.result.format() {
        SizeFormat::Json => fathom_report::ready_json(result),
        SizeFormat::Md => fathom_report::ready_markdown(result),
        SizeFormat::Text => fathom_report::ready_text(result, &output::answer_style()),
    };
    match (
        print_to(args.result.output.as_deref(), &text),
        result.verdict,
    ) {
        (Outcome::Good, ReadyVerdict::Pass | ReadyVerdict::Warn) => Outcome::Good,
        (Outcome::Good, ReadyVerdict::Undecided) => Outcome::Undecided,
        (Outcome::Good, ReadyVerdict::Fail) => Outcome::Bad,
        (failed, _) => failed,
    }
}

/// Why what is written to the file system of `path` does not survive a power cut, and the consequence.
pub fn durability_fault(session: &Session, path: &Path) -> Option<String> {
    let system = session.file_system(path)?;
    if MEMORY.contains(&system.kind.as_str()) {
        return Some(format!(
            "{} is in memory ({}): nothing that is written there survives a power cut, and its latencies say nothing about a disk; give a directory on the disk",
            path.display(),
            system.kind
        ));
    }
    let without_flush = system
        .options
        .split(',')
        .find(|option| NO_FLUSH.contains(option))?;
    Some(format!(
        "{} is mounted with {without_flush}, so fsync does not flush the device: what was committed may be lost at a power cut, and the latencies do not contain the flush; mount it without this option",
        system.mounted_at.display()
    ))
}

/// Why a step has no measurement.
enum StepError {
    /// The guard refused it, or its jobs are wrong.
    Refused(String),
    /// The target could not be prepared or used.
    NoVerdict(String),
}

/// The measurement ended as planned: when its checks were decided.
fn ended_by_verdict(recording: &mut Recording) {
    recording.end = RunEnd::Completed;
    let elapsed: Vec<Nanos> = recording
        .jobs
        .iter()
        .map(|job| job.ended.saturating_sub(job.measured_from))
        .collect();
    for (job, elapsed) in recording.plan.jobs.iter_mut().zip(elapsed) {
        job.limits.runtime = Some(elapsed);
    }
    recording
        .messages
        .push("the run ended when every check was decided".to_owned());
}

/// Runs a step until it is decided or its time is up. The second value is whether it was decided.
fn measure_step(
    session: &Session,
    plan: Plan,
    destroy: &[String],
    (checks, pace): (&RefCell<ReadySession>, ReadyPace),
    writer: &mut RunWriter,
) -> Result<(Recording, bool), StepError> {
    let destroys = plan
        .jobs
        .iter()
        .flat_map(|job| job.files.paths.clone())
        .next();
    let (load, _) = guard::open_targets(
        session,
        &plan,
        &guard::Confirmed::codes(destroy),
        &mut guard::Backups::new(Path::new(".")),
    )
    .map_err(|all| StepError::Refused(all.join("\n")))?;
    let screen = RefCell::new(Screen::new(
        session,
        Personality::Fathom,
        &Reporting {
            quiet: is_quiet(),
            ..Reporting::default()
        },
    ));
    let journal = writer.journal(&plan);
    let block = Nanos::new((pace.block() * 1e9) as u64);
    let mut next = Nanos::ZERO;
    let measured = measure_and_store(
        load,
        plan,
        &mut |progress| screen.borrow_mut().show(progress),
        &mut |elapsed| {
            let is_due = elapsed >= next;
            if is_due {
                next = elapsed.saturating_add(block);
            }
            is_due
        },
        &mut |state, _| checks.borrow_mut().observe(&state),
        RunExtras {
            interval_sink: journal,
            end: &|| checks.borrow().is_decided(),
            ..RunExtras::default()
        },
    );
    screen.borrow_mut().wipe();
    let decided = checks.borrow().is_decided();
    measured
        .map(|(recording, _)| (recording, decided))
        .map_err(|error| {
            let file = destroys.unwrap_or_default();
            let consequence = match error.cause.errno {
                ENOSPC => "the file system is full, so nothing was measured; free some space, or use less with --size",
                _ if error.cause.what.contains("direct I/O") => {
                    "without direct I/O the page cache answers, and its latencies say nothing about the disk"
                }
                _ => "the load could not be started, so nothing was measured",
            };
            StepError::NoVerdict(format!("{error}: {consequence} ({})", file.display()))
        })
}

/// The plan of a job file.
///
/// # Errors
/// All its problems.
pub fn plan_of(session: &Session, job_file: String) -> Result<Plan, String> {
    let joined = |problems: Vec<fathom_plan::Diagnostic>| {
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let invocation = parse_args(&["ready.fio".to_owned()], Personality::Fathom).map_err(joined)?;
    let Planned { plan, .. } = plan(&invocation, session, &JobText(job_file)).map_err(joined)?;
    Ok(plan)
}

/// The first failed I/O: a measurement with errors proves nothing.
fn io_fault(recording: &Recording) -> Option<String> {
    let jobs = recording.plan.jobs.iter().zip(&recording.jobs);
    for (plan, job) in jobs {
        if let Some(error) = &job.error {
            return Some(format!(
                "an I/O failed, so there is no verdict: {}: {}: {}",
                plan.name,
                error.operation,
                std::io::Error::from_raw_os_error(error.errno)
            ));
        }
        let bad: u64 = job
            .directions
            .iter()
            .map(|(_, seen)| seen.counts.failed + seen.counts.short + seen.counts.timed_out)
            .sum();
        if bad + job.sync_failed > 0 {
            return Some(format!(
                "I/Os failed, so there is no verdict: {}: {} of them",
                plan.name,
                bad + job.sync_failed
            ));
        }
    }
    None
}

/// Commits that reach no device: fsync has no effect.
fn flush_fault(recording: &Recording) -> Option<String> {
    let commits: u64 = recording.jobs.iter().map(|job| job.sync.count()).sum();
    let disks = &recording.disks;
    if commits < ENOUGH_COMMITS || disks.is_empty() {
        return None;
    }
    let written: u64 = disks
        .iter()
        .map(|disk| disk.after.write_ios.saturating_sub(disk.before.write_ios))
        .sum();
    let consequence =
        "what was committed is lost at a power cut, and the latencies say nothing about the disk";
    if written == 0 {
        return Some(format!(
            "fsync has no effect here: {commits} commits caused no write to the device; {consequence}"
        ));
    }
    let flushes: u64 = disks
        .iter()
        .map(|disk| disk.after.flush_ios.saturating_sub(disk.before.flush_ios))
        .sum();
    let counts_flushes = disks.iter().any(|disk| disk.after.flush_ios > 0);
    let has_cache = recording
        .targets
        .iter()
        .flat_map(|target| &target.devices)
        .any(|device| device.before.cache.device_on == Some(true));
    (has_cache && counts_flushes && flushes == 0).then(|| {
        format!(
            "fsync flushes nothing here: {commits} commits caused no flush of a device with a volatile write cache; {consequence}"
        )
    })
}

/// Engines that were replaced.
fn fallbacks(recording: &Recording) -> Vec<String> {
    let jobs = recording.plan.jobs.iter().zip(&recording.jobs);
    jobs.filter_map(|(plan, job)| {
        let reason = job.fallback.as_ref()?;
        Some(format!(
            "{}: engine {} in use: {reason}",
            plan.name, job.engine
        ))
    })
    .collect()
}

fn nanos(time: Duration) -> Nanos {
    Nanos::new(time.as_nanos() as u64)
}
