//! `fathom app`: runs a real database on a path.

pub mod child;
mod streams;
pub mod tenant;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_app::{
    AppReport, AppSpec, Circumstances, Distribution, Engine, Journal, Measured, MemoryReport,
    MemoryRow, PrivateFolder, Setting, Transaction, abandoned_folders, data_size, drop_from_cache,
    find_built_in, find_mariadb, find_postgres, log_folder_of,
};
use fathom_cli::{
    AppArgs, AppDistribution, AppEngine, AppJournal, AppMemory, AppSetting, AppTransaction,
};
use fathom_device::Machine;
use fathom_linux::{
    LinuxHost, LinuxSysfs, WitnessError, WitnessOptions, interrupts, remove_abandoned_groups,
};
use fathom_load::Host;
use fathom_model::{
    Counts, Direction, FileSystemFacts, FileSystemLocation, Findings, Interval, IntervalDirection,
    JobRecording, Nanos, ProgramEnd, Recording, RunEnd, RunState, Traffic, Verdict,
};
use fathom_report::Format;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};

use self::child::{Answer, Phase};
use self::streams::StreamTrace;
use crate::cli;
use crate::fsync::commits_of_one_client;
use crate::outcome::Outcome;
use crate::output::answer_style;
use crate::print::{eprint_line, note_line, print_to, set_quiet};
use crate::ready::durability_fault;
use crate::result_store::{self, RunWriter};
use crate::session::Session;
use crate::this_machine::start_clock;
use crate::witness;

/// Time of the commits that are measured beforehand.
const COMMITS: Duration = Duration::from_millis(1500);
/// Memory of the programs of an engine, which a limit does not count: their own data, not caches.
const PROGRAMS: u64 = 16 << 20;
const MARIADB: u64 = 192 << 20;
const EACH_CLIENT: u64 = 2 << 20;
/// Part of a memory limit that PostgreSQL gets as shared_buffers, as its documentation recommends for a whole machine.
const SHARED_BUFFERS: u64 = 4;
/// Time between two looks at a process.
const POLL: Duration = Duration::from_millis(20);

/// Whether the user interrupted before signals were passed on to the database.
fn is_interrupted() -> bool {
    interrupts().load(Relaxed) > 0
}

/// Why nothing was measured.
enum Stop {
    Interrupted,
    Failed(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Failed(message)
    }
}

/// Runs the database of the arguments.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: AppArgs| {
        set_quiet(args.quiet);
        interrupts();
        Ok(app(&args).unwrap_or_else(|stop| match stop {
            Stop::Interrupted => {
                eprint_line!("fathom app: interrupted; the database is removed");
                Outcome::Interrupted
            }
            Stop::Failed(message) => {
                eprint_line!("fathom app: {message}");
                Outcome::Refused
            }
        }))
    })
}

fn app(args: &AppArgs) -> Result<Outcome, Stop> {
    for folder in std::iter::once(&args.path)
        .chain(&args.log_path)
        .flat_map(|path| abandoned_folders(path))
    {
        note_line!(
            "fathom app: removed {}, the database of a run that was killed",
            folder.display()
        );
    }
    for group in remove_abandoned_groups() {
        note_line!(
            "fathom app: removed {}, a control group of a run that was killed",
            group.display()
        );
    }
    let text = |error: fathom_app::AppError| error.to_string();
    find_engine(args.engine)?;
    let steps = steps(args)?;
    let mut spec = spec_of(args)?;
    let folder = PrivateFolder::create(&args.path).map_err(text)?;
    let log = args
        .log_path
        .as_ref()
        .map(|path| folder.create_log(path))
        .transpose()
        .map_err(text)?;
    spec.user = user_of(
        spec.engine,
        std::iter::once(folder.path()).chain(log.as_deref()),
    )?;
    let at = circumstances(args, &spec, folder.path())?;
    note_line!(
        "fathom app: creates the database ({} units of 100,000 {})",
        args.scale,
        match spec.engine {
            Engine::Mariadb => "rows",
            _ => "accounts",
        }
    );
    prepare(&spec, folder.path())?;
    let outcome = match &steps[..] {
        [step] => one(args, &spec, &at, folder.path(), step),
        steps => all_steps(args, &spec, &at, folder.path(), steps),
    }?;
    if args.keep {
        let kept = folder.keep(spec.engine.name()).map_err(text)?;
        note_line!("fathom app: the database is kept in {}", kept.display());
    }
    Ok(outcome)
}

/// Whether an engine is part of this build, or its programs are installed.
fn find_engine(engine: AppEngine) -> Result<(), String> {
    match engine {
        AppEngine::Sqlite => find_built_in(engine_of(engine)),
        AppEngine::Postgres => find_postgres().map(drop),
        AppEngine::Mariadb => find_mariadb(),
    }
    .map_err(|error| error.to_string())
}

/// One measurement of an experiment.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    clients: u32,
    memory: Option<AppMemory>,
    settings: Vec<Setting>,
    /// Its values on the axes that have several, without the memory.
    axes: Vec<(String, String)>,
    /// The text of its memory limit, where there are several.
    memory_axis: Option<String>,
}

/// All steps: repeats outside, so that the values of an axis take turns, the memory inside.
fn steps(args: &AppArgs) -> Result<Vec<Step>, String> {
    let choices = combinations(args)?;
    let mut all = Vec::new();
    for repeat in 1..=args.repeats {
        for clients in &args.clients {
            for settings in &choices {
                let memory: Vec<Option<AppMemory>> = match &args.memory[..] {
                    [] => vec![None],
                    some => some.iter().copied().map(Some).collect(),
                };
                for memory in memory {
                    let mut axes = Vec::new();
                    if args.clients.len() > 1 {
                        axes.push(("clients".to_owned(), clients.to_string()));
                    }
                    let varied = settings.iter().zip(&args.set);
                    let varied = varied.filter(|(_, setting)| setting.values.len() > 1);
                    axes.extend(varied.map(|(setting, _)| {
                        (setting.name().to_owned(), setting.value().to_owned())
                    }));
                    if args.repeats > 1 {
                        axes.push(("repeat".to_owned(), repeat.to_string()));
                    }
                    all.push(Step {
                        clients: *clients,
                        memory,
                        settings: settings.clone(),
                        axes,
                        memory_axis: memory.filter(|_| args.memory.len() > 1).map(memory_text),
                    });
                }
            }
        }
    }
    Ok(all)
}

fn memory_text(memory: AppMemory) -> String {
    match memory {
        AppMemory::Bytes(bytes) => fathom_model::format::bytes(bytes),
        AppMemory::Percent(percent) => format!("{percent}%"),
    }
}

/// Every choice of one value for each setting.
fn combinations(args: &AppArgs) -> Result<Vec<Vec<Setting>>, String> {
    let mut choices = vec![Vec::new()];
    for AppSetting { name, values } in &args.set {
        let mut extended = Vec::new();
        for before in &choices {
            for value in values {
                let setting =
                    Setting::classify(engine_of(args.engine), journal_of(args), name, value)
                        .map_err(|error| error.to_string())?;
                extended.push(before.iter().cloned().chain([setting]).collect());
            }
        }
        choices = extended;
    }
    Ok(choices)
}

fn journal_of(args: &AppArgs) -> Journal {
    match args.journal {
        AppJournal::WalFull => Journal::WalFull,
        AppJournal::WalNormal => Journal::WalNormal,
        AppJournal::Rollback => Journal::Rollback,
    }
}

fn engine_of(engine: AppEngine) -> Engine {
    match engine {
        AppEngine::Sqlite => Engine::Sqlite,
        AppEngine::Postgres => Engine::Postgres,
        AppEngine::Mariadb => Engine::Mariadb,
    }
}

fn spec_of(args: &AppArgs) -> Result<AppSpec, String> {
    let transaction = match (&args.script, args.transaction()) {
        (Some(script), _) => {
            Transaction::Script(std::path::absolute(script).unwrap_or_else(|_| script.clone()))
        }
        (None, AppTransaction::TpcbLike) => Transaction::TpcbLike,
        (None, AppTransaction::SimpleUpdate) => Transaction::SimpleUpdate,
        (None, AppTransaction::SelectOnly) => Transaction::SelectOnly,
        (None, AppTransaction::OltpReadWrite) => Transaction::OltpReadWrite,
        (None, AppTransaction::OltpReadOnly) => Transaction::OltpReadOnly,
        (None, AppTransaction::OltpPointSelect) => Transaction::OltpPointSelect,
    };
    Ok(AppSpec {
        engine: engine_of(args.engine),
        transaction,
        scale: args.scale,
        clients: args.clients.first().copied().unwrap_or(1),
        runtime_ns: args.runtime.as_nanos() as u64,
        warmup_ns: args.warmup.as_nanos() as u64,
        rate: args.tps,
        latency_limit_ns: args.latency_limit.map(|ns| ns as u64),
        distribution: match args.distribution {
            Some(AppDistribution::Pareto) => Distribution::Pareto,
            Some(AppDistribution::Uniform) | None => Distribution::Uniform,
        },
        journal: journal_of(args),
        cache: args.cache.map(fathom_model::Bytes::get),
        settings: combinations(args)?.swap_remove(0),
        read_first: false,
        user: None,
    })
}

/// The user of a server where fathom is root; it must be able to enter the folders.
fn user_of<'a>(
    engine: Engine,
    folders: impl Iterator<Item = &'a Path>,
) -> Result<Option<(u32, u32)>, String> {
    if engine.is_in_process() || !geteuid().is_root() {
        return Ok(None);
    }
    let (name, user) = unprivileged_user(engine)?;
    for folder in folders {
        may_enter(folder, &name, user, engine)?;
    }
    Ok(Some(user))
}

/// The user of a server that refuses to run as root: that of the packages, or nobody.
fn unprivileged_user(engine: Engine) -> Result<(String, (u32, u32)), String> {
    let own = match engine {
        Engine::Postgres => "postgres",
        Engine::Mariadb => "mysql",
        _ => "nobody",
    };
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    [own, "nobody"]
        .into_iter()
        .find_map(|wanted| {
            let line = users
                .lines()
                .find(|line| line.split(':').next() == Some(wanted))?;
            let mut fields = line.split(':').skip(2);
            let user = fields.next()?.parse().ok()?;
            Some((wanted.to_owned(), (user, fields.next()?.parse().ok()?)))
        })
        .ok_or_else(|| {
            format!(
                "{} does not run as root, and /etc/passwd has neither a user {own} nor nobody",
                engine.title()
            )
        })
}

/// Every directory above the database must let the user pass.
fn may_enter(
    folder: &Path,
    name: &str,
    (user, group): (u32, u32),
    engine: Engine,
) -> Result<(), String> {
    let closed = folder.ancestors().find(|directory| {
        std::fs::metadata(directory).is_ok_and(|facts| {
            let mode = facts.permissions().mode();
            let passes = match (facts.uid() == user, facts.gid() == group) {
                (true, _) => mode & 0o100,
                (false, true) => mode & 0o010,
                (false, false) => mode & 0o001,
            };
            passes == 0
        })
    });
    match closed {
        Some(directory) => Err(format!(
            "the user {name}, as which {} runs, may not enter {}: give another path, or `chmod o+x` this directory",
            engine.title(),
            directory.display()
        )),
        None => Ok(()),
    }
}

/// The place, with the commits of one client there.
fn circumstances(args: &AppArgs, spec: &AppSpec, folder: &Path) -> Result<Circumstances, Stop> {
    let below = LinuxSysfs::default().backing_devices(&args.path);
    let disk = LinuxHost::new(start_clock()).disks(std::slice::from_ref(&args.path));
    let network = below
        .as_ref()
        .and_then(|below| network_note(&args.path, &below.file_system));
    let file_system = match (below, disk.last()) {
        (Some(below), Some((disk, _))) => format!("{} on {disk}", below.file_system.kind),
        (Some(below), None) => below.file_system.kind,
        (None, _) => "unknown file system".to_owned(),
    };
    let session = &Session::on_this_machine();
    let mut at = Circumstances {
        path: result_store::path_name(&args.path),
        file_system,
        cpus: std::thread::available_parallelism().map_or(1, usize::from) as u32,
        commit_method: "fdatasync".to_owned(),
        notes: durability_fault(session, &args.path)
            .into_iter()
            .chain(network)
            .collect(),
        ..Circumstances::default()
    };
    let log = log_folder_of(folder);
    at.notes.extend(
        log.as_deref()
            .and_then(|log| durability_fault(session, log)),
    );
    if !spec.transaction.only_reads() {
        match commits_of_one_client(
            session,
            log.as_deref().unwrap_or(folder),
            COMMITS.min(args.runtime),
        ) {
            Ok(row) if row.failed.is_none() => at.commits_per_second = Some(row.rate),
            Ok(row) => at.notes.extend(row.failed),
            Err(_) if is_interrupted() => return Err(Stop::Interrupted),
            Err(message) => return Err(Stop::Failed(message)),
        }
    }
    Ok(at)
}

/// Of a file system whose devices belong to another machine.
fn network_note(path: &Path, system: &FileSystemFacts) -> Option<String> {
    (system.location == FileSystemLocation::Network).then(|| {
        format!(
            "{} is on {}: its server does the I/O, so that the reads, writes and flushes of its devices are unknown here; \
             `fathom observe` on the server shows them",
            path.display(),
            system.kind
        )
    })
}

/// Creates the database in a child, which ends the server of the preparation even if this process is killed.
fn prepare(spec: &AppSpec, folder: &Path) -> Result<(), Stop> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let (name, task) = child::variable(Phase::Prepare, spec, folder);
    let mut child = Command::new(program)
        .env(name, task)
        .spawn()
        .map_err(|error| format!("cannot start a process: {error}"))?;
    let mut asked = false;
    while matches!(child.try_wait(), Ok(None)) {
        if is_interrupted() && !asked {
            asked = true;
            if let Some(pid) = Pid::from_raw(child.id() as i32) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        std::thread::sleep(POLL);
    }
    match child::answer(folder) {
        Answer::Prepared => Ok(()),
        Answer::Interrupted => Err(Stop::Interrupted),
        Answer::Failed(_) if asked => Err(Stop::Interrupted),
        Answer::Failed(message) => Err(Stop::Failed(message)),
        Answer::Measured(_) => Err(Stop::Failed("unexpected answer".to_owned())),
    }
}

/// A run with its result.
struct Ran {
    report: AppReport,
    recording: Recording,
    findings: Findings,
}

/// A name and the words of the run.
fn name_of(spec: &AppSpec) -> String {
    format!("{} {}", spec.engine.name(), spec.transaction.name())
}

fn words_of(spec: &AppSpec, at: &Circumstances) -> Vec<String> {
    vec![
        spec.engine.title().to_owned(),
        spec.transaction.name(),
        at.path.clone(),
    ]
}

fn begin(args: &AppArgs, spec: &AppSpec, at: &Circumstances, planned: usize) -> RunWriter {
    let plan = words_of(spec, at).join(" ");
    let session = &Session::on_this_machine();
    let mut experiment = result_store::experiment(session, "app", name_of(spec), plan);
    experiment.planned = planned as u64;
    RunWriter::begin(session, "fathom app", &args.store, &experiment)
}

/// A single measurement.
fn one(
    args: &AppArgs,
    spec: &AppSpec,
    at: &Circumstances,
    folder: &Path,
    step: &Step,
) -> Result<Outcome, Stop> {
    let writer = begin(args, spec, at, 1);
    let ran = match measure(spec, at, folder, step, data_size(spec, folder)) {
        Ok(ran) => ran,
        Err(stop) => {
            writer.remove();
            return Err(stop);
        }
    };
    let text = if args.result.is_json() {
        let mut document = findings_json(&ran.findings)?;
        if let Value::Object(fields) = &mut document {
            fields.insert("app".to_owned(), ran.report.json());
        }
        document.to_string() + "\n"
    } else {
        findings_text(&ran.findings, Format::Normal)?
    };
    let reached = outcome(&ran, Outcome::Good);
    writer.finish(ran.recording, &ran.findings, facts(&ran.report));
    let printed = print_to(args.result.output.as_deref(), &text);
    Ok(if reached == Outcome::Good {
        printed
    } else {
        reached
    })
}

fn outcome(ran: &Ran, printed: Outcome) -> Outcome {
    let measured = &ran.report.measured;
    if measured.interrupted {
        Outcome::Interrupted
    } else if measured.error.is_some()
        || measured.failed > 0
        || ran.findings.verdict == Verdict::Invalid
    {
        Outcome::Bad
    } else {
        printed
    }
}

/// Several measurements of one database: less and less memory, more and more clients, other settings, repeats.
fn all_steps(
    args: &AppArgs,
    spec: &AppSpec,
    at: &Circumstances,
    folder: &Path,
    steps: &[Step],
) -> Result<Outcome, Stop> {
    let data = data_size(spec, folder);
    let mut report = MemoryReport {
        engine: spec.engine.title().to_owned(),
        data_bytes: data,
        rows: Vec::new(),
    };
    let mut writer = begin(args, spec, at, steps.len());
    let mut run_facts = Vec::new();
    let mut parts = Vec::new();
    let mut worst = Outcome::Good;
    for (position, step) in (1..).zip(steps) {
        let ran = match measure(spec, at, folder, step, data) {
            Ok(ran) => ran,
            Err(stop) if report.rows.is_empty() => {
                writer.remove();
                return Err(stop);
            }
            // What was measured is kept.
            Err(Stop::Interrupted) => {
                worst = Outcome::Interrupted;
                break;
            }
            Err(Stop::Failed(message)) => {
                eprint_line!(
                    "fathom app: ended at step {position} of {}: {message}",
                    steps.len()
                );
                worst = Outcome::Bad;
                break;
            }
        };
        let limit = step.memory.map_or(0, |memory| limit_of(memory, data));
        let share = 100.0 * limit as f64 / data.max(1) as f64;
        report.rows.push(MemoryRow::of(
            step.axes.clone(),
            (share, limit),
            &ran.report,
        ));
        let reached = outcome(&ran, Outcome::Good);
        parts.push(ran.report.json());
        let axes = stored_axes(step);
        run_facts = facts(&ran.report);
        run_facts.retain(|(name, _)| axes.iter().all(|(axis, _)| axis != name));
        writer.add_cell(
            position,
            axes,
            cell_figures(&ran.report),
            ran.recording,
            &ran.findings,
        );
        if reached != Outcome::Good {
            worst = reached;
            eprint_line!(
                "fathom app: ended at step {position} of {}: {}",
                steps.len(),
                ran.report
                    .measured
                    .error
                    .as_deref()
                    .unwrap_or("interrupted or invalid")
            );
            break;
        }
    }
    let sentences = report.sentences();
    if !sentences.is_empty() {
        run_facts.push(("answer".to_owned(), sentences.join(" ")));
    }
    let end = if report.rows.len() == steps.len() {
        RunState::Finished
    } else {
        RunState::Stopped
    };
    let text = if args.result.is_json() {
        let key = if args.memory.len() > 1 {
            "memory"
        } else {
            "steps"
        };
        let mut document = json!({ "sentences": sentences, "app": parts });
        document[key] = json!(report);
        document.to_string() + "\n"
    } else {
        format!("{}\n{}", report.text(), wrapped(&sentences))
    };
    writer.end(end, run_facts);
    let printed = print_to(args.result.output.as_deref(), &text);
    Ok(if worst == Outcome::Good {
        printed
    } else {
        worst
    })
}

/// Figures of a cell under the names that all cells share: transactions are its I/Os, latencies are in seconds.
fn cell_figures(report: &AppReport) -> Vec<(String, f64)> {
    let measured = &report.measured;
    let latency = measured.latency();
    let seconds = |percentile: f64| Some(latency.percentile(percentile)? / 1e9);
    [
        ("iops", Some(measured.tps())),
        ("mean", (latency.count() > 0).then(|| latency.mean() / 1e9)),
        ("p50", seconds(50.0)),
        ("p99", seconds(99.0)),
        ("max", seconds(100.0)),
    ]
    .into_iter()
    .filter_map(|(name, figure)| Some((name.to_owned(), figure?)))
    .collect()
}

/// The axes of a step, with the memory.
fn stored_axes(step: &Step) -> Vec<(String, String)> {
    let memory = step.memory_axis.iter();
    let memory = memory.map(|memory| ("memory".to_owned(), memory.clone()));
    // The repeat is the last one, as in sweeps.
    let (repeat, others): (Vec<_>, Vec<_>) = step
        .axes
        .iter()
        .cloned()
        .partition(|(name, _)| name == "repeat");
    others.into_iter().chain(memory).chain(repeat).collect()
}

/// Sentences as wide as the terminal.
fn wrapped(sentences: &[String]) -> String {
    let style = answer_style();
    sentences
        .iter()
        .map(|sentence| fathom_report::paragraph(sentence, &style))
        .collect()
}

/// Memory that holds no data of the user.
fn programs(spec: &AppSpec) -> u64 {
    match spec.engine {
        Engine::Sqlite | Engine::Postgres => PROGRAMS,
        Engine::Mariadb => MARIADB,
    }
}

fn limit_of(memory: AppMemory, data: u64) -> u64 {
    match memory {
        AppMemory::Bytes(bytes) => bytes,
        AppMemory::Percent(percent) => (data as f64 * percent / 100.0) as u64,
    }
}

/// Runs the transactions in a control group of their own.
fn measure(
    spec: &AppSpec,
    at: &Circumstances,
    folder: &Path,
    step: &Step,
    data: u64,
) -> Result<Ran, Stop> {
    let memory = step.memory.map(|memory| limit_of(memory, data));
    let mut spec = AppSpec {
        clients: step.clients,
        settings: step.settings.clone(),
        ..spec.clone()
    };
    let mut at = at.clone();
    if let Some(limit) = memory {
        at.memory_limit = Some(limit);
        spec.read_first = true;
        spec.cache = spec.cache.or(match spec.engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(limit / SHARED_BUFFERS),
            // It does not use the page cache.
            Engine::Mariadb => Some(limit),
        });
    }
    let words = words_of(&spec, &at);
    // Charts show the cells of an experiment by the names of their jobs.
    let axes = stored_axes(step);
    let axes = axes.iter().filter(|(name, _)| name != "repeat");
    let axes: Vec<String> = axes
        .map(|(axis, value)| format!("{axis}={value}"))
        .collect();
    let name = if axes.is_empty() {
        name_of(&spec)
    } else {
        axes.join(" ")
    };
    let mut plan = witness::plan(&words, Nanos::from_secs(1));
    for job in &mut plan.jobs {
        job.name.clone_from(&name);
        job.pattern.traffic = if spec.transaction.only_reads() {
            Traffic::Read
        } else {
            Traffic::Write
        };
    }
    // What another group has read would serve the limited one.
    if memory.is_some() {
        drop_from_cache(folder);
    }
    note_line!(
        "fathom app: runs transactions for {}",
        fathom_model::format::duration((spec.warmup_ns + spec.runtime_ns) as f64)
    );
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let options = WitnessOptions {
        command: vec![program.display().to_string()],
        supervisor: program,
        environment: vec![child::variable(Phase::Run, &spec, folder)],
        memory_limit: memory
            .map(|limit| limit + programs(&spec) + EACH_CLIENT * u64::from(spec.clients)),
        interrupted: Some(is_interrupted),
        ..WitnessOptions::default()
    };
    let streams = StreamTrace::start(spec.engine, folder);
    let watched = witness::watched(&options, plan);
    let streams = streams.and_then(StreamTrace::finish);
    let (mut recording, end) = match watched {
        Ok(watched) => watched,
        Err(WitnessError::Interrupted) => return Err(Stop::Interrupted),
        Err(error) => return Err(Stop::Failed(error.to_string())),
    };
    let mut measured = match child::answer(folder) {
        Answer::Measured(measured) => *measured,
        Answer::Interrupted => return Err(Stop::Interrupted),
        Answer::Failed(message) => {
            return Err(Stop::Failed(match end {
                ProgramEnd::Signal(signal) => format!("{message} (signal {signal})"),
                ProgramEnd::Code(_) => message,
            }));
        }
        Answer::Prepared => return Err(Stop::Failed("unexpected answer".to_owned())),
    };
    match streams {
        Ok(streams) => measured.streams = streams,
        Err(reason) => measured
            .unknown
            .push(format!("the device I/O by stream is unknown: {reason}")),
    }
    let report = AppReport::new(spec, measured, at);
    complete(&mut recording, &report, words);
    let findings = fathom_analyse::findings(&recording);
    Ok(Ran {
        report,
        recording,
        findings,
    })
}

/// The transactions take the place of the system calls as the I/Os of the job. Their time starts at 0, after the warm-up.
fn complete(recording: &mut Recording, report: &AppReport, words: Vec<String>) {
    let measured = &report.measured;
    recording.plan.interval = Nanos::new(
        measured
            .intervals
            .first()
            .map_or(1_000_000_000, |interval| interval.length_ns),
    );
    let direction = if report.spec.transaction.only_reads() {
        Direction::Read
    } else {
        Direction::Write
    };
    if let Some(job) = recording.jobs.first_mut() {
        fill(job, measured, direction);
    }
    if measured.interrupted {
        recording.end = RunEnd::Interrupted;
    }
    if let Some(witnessed) = &mut recording.host.witnessed {
        witnessed.command = words;
        witnessed.application = report.sentences();
        witnessed.costs = Some(measured.costs());
        witnessed.unknown.extend(measured.unknown.iter().cloned());
    }
}

fn fill(job: &mut JobRecording, measured: &Measured, direction: Direction) {
    let latency = measured.latency();
    (job.launched, job.measured_from) = (Nanos::ZERO, Nanos::ZERO);
    job.ended = Nanos::new(measured.elapsed_ns);
    job.in_flight_ns = latency.sum();
    job.usage.user = Nanos::new(measured.user_ns);
    job.usage.system = Nanos::new(measured.system_ns);
    for one in Direction::ALL {
        job.directions[one].counts = Counts::default();
    }
    let recorded = &mut job.directions[direction];
    recorded.counts = Counts {
        planned: measured.transactions + measured.failed + measured.skipped,
        ok: measured.transactions,
        failed: measured.failed,
        not_sent: measured.skipped,
        ..Counts::default()
    };
    (recorded.clat, recorded.lat) = (latency.clone(), latency);
    job.intervals = measured
        .intervals
        .iter()
        .map(|interval| {
            let mut one = Interval {
                start: Nanos::new(interval.start_ns),
                length: Nanos::new(interval.length_ns),
                ..Interval::default()
            };
            one.directions[direction] = IntervalDirection {
                ios: interval.transactions,
                clat: interval.packed(),
                ..IntervalDirection::default()
            };
            one
        })
        .collect();
}

/// For filters and comparisons of stored runs.
fn facts(report: &AppReport) -> Vec<(String, String)> {
    let spec = &report.spec;
    let mut facts = vec![
        (
            "engine".to_owned(),
            format!("{} {}", spec.engine.title(), report.measured.version),
        ),
        ("transaction".to_owned(), spec.transaction.name()),
        ("clients".to_owned(), spec.clients.to_string()),
        ("scale".to_owned(), spec.scale.to_string()),
    ];
    match spec.engine {
        Engine::Sqlite => facts.push(("journal".to_owned(), spec.journal.name().to_owned())),
        Engine::Postgres => {}
        Engine::Mariadb => {
            let distribution = spec.distribution.name().to_owned();
            facts.push(("distribution".to_owned(), distribution));
        }
    }
    facts.extend(
        spec.settings
            .iter()
            .map(|setting| (setting.name().to_owned(), setting.value().to_owned())),
    );
    if let Some(limit) = report.at.memory_limit {
        facts.push(("memory".to_owned(), fathom_model::format::bytes(limit)));
    }
    facts
}

fn findings_text(findings: &Findings, format: Format) -> Result<String, String> {
    let mut text = Vec::new();
    fathom_report::write(findings, &[format], &answer_style(), &mut text)
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn findings_json(findings: &Findings) -> Result<Value, String> {
    serde_json::from_str(&findings_text(findings, Format::Json)?).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_file_system_is_named() {
        let note = |kind: &str, location| {
            let system = FileSystemFacts {
                kind: kind.to_owned(),
                location,
                ..FileSystemFacts::default()
            };
            network_note(Path::new("/data"), &system)
        };
        let text = note("nfs4", FileSystemLocation::Network).expect("a note");
        assert!(text.contains("/data is on nfs4: its server"), "{text}");
        assert_eq!(note("ext4", FileSystemLocation::Local), None);
    }
}
