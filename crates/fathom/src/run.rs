//! `fathom run` and `fathom fio`: text -> plan -> recording -> findings -> output.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use fathom_analyse::SloLimit;
use fathom_cli::{MachineOptions, StoreOptions, StoreSource};
use fathom_linux::{OutputName, Outputs, interrupts};
use fathom_load::HostError;
use fathom_model::{
    Entry, Findings, Nanos, Personality, Plan, Progress, Recording, RunEnd, SloAnswer, Verdict,
    Weight,
};
use fathom_plan::{
    Action, ColorMode, Diagnostic, IdleProf, Invocation, OutputFormat, Planned, Severity,
    TriggerOptions, command_help, engine_help, help_text, parse_args, plan, show_commands,
};
use fathom_report::TestCase;

use crate::depth_probes;
use crate::experiment_target::image_message;
use crate::guard;
use crate::help;
use crate::hosts::Clients;
use crate::measure::{self, RunExtras, measure_and_store};
use crate::outcome::{FIO_INTERRUPTED, FIO_MAX_FAILED, Outcome};
use crate::output::{self, Output};
use crate::overdue::Overdue;
use crate::print::{eprint_line, note_line, print, print_commands, set_quiet};
use crate::result_store::{self, RunWriter};
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::status_requests::StatusRequests;
use crate::this_machine::ThisMachine;
use crate::timeout::start_query;
use crate::trigger::{self, Trigger};
use crate::verify_state;

/// Runs the jobs of the arguments.
pub fn command(program: &str, personality: Personality, arguments: &[String]) -> Outcome {
    let invocation = match parse_args(arguments, personality) {
        Ok(invocation) => invocation,
        Err(problems) => return refuse(program, personality, &problems),
    };
    screen::set_color(match invocation.reporting.color {
        ColorMode::Auto => fathom_cli::ColorMode::Auto,
        ColorMode::Always => fathom_cli::ColorMode::Always,
        ColorMode::Never => fathom_cli::ColorMode::Never,
    });
    screen::set_width(invocation.reporting.width);
    set_quiet(invocation.reporting.quiet);
    match limits(&invocation) {
        Err(message) => {
            eprint_line!("{program}: --slo: {message}");
            return refused(personality);
        }
        Ok(limits) if limits.is_empty() && invocation.reporting.junit.is_some() => {
            eprint_line!("{program}: --junit needs a limit, such as --slo 'p99<=2ms'");
            return refused(personality);
        }
        Ok(_) => {}
    }
    match &invocation.action {
        Action::Run => match open_session(&invocation) {
            Ok(session) => act(&session, program, &invocation, arguments),
            Err(message) => {
                eprint_line!("{program}: {message}");
                refused(personality)
            }
        },
        Action::Version if personality == Personality::Fio => {
            print(&format!("{}\n", output::fio_version()))
        }
        Action::Version => help::version(false),
        Action::Help if personality == Personality::Fio => print(&help_text("fio", personality)),
        Action::Help => help::run(),
        Action::CommandHelp(option) => {
            print_or_refuse(program, personality, command_help(option.as_deref()))
        }
        Action::EngineHelp(engine) => {
            print_or_refuse(program, personality, engine_help(engine.as_deref()))
        }
        Action::InflateLog(name) => inflate(program, personality, name),
    }
}

/// The session on the machine that the arguments name.
fn open_session(invocation: &Invocation) -> Result<Session, String> {
    let machine = MachineOptions {
        machine: invocation.machine.machine.clone(),
        link: invocation.machine.link,
        seed: invocation.machine.seed,
    };
    let clients = Clients::of(invocation)?.map(|clients| clients.names().join(","));
    let hosts = clients.as_ref().or(invocation.agents.hosts.as_ref());
    Session::open(&machine, hosts.map(String::as_str))
}

/// Runs the jobs, or prints what was asked about them.
fn act(session: &Session, program: &str, invocation: &Invocation, arguments: &[String]) -> Outcome {
    if invocation.idle_prof == Some(IdleProf::Calibrate) {
        let idleness = session.calibrate_idleness();
        return print(&fathom_report::idleness_text(&idleness));
    }
    if invocation.show_command {
        return show(session, program, invocation);
    }
    run(session, program, invocation, arguments)
}

/// Prints a text, or the error.
fn print_or_refuse(
    program: &str,
    personality: Personality,
    text: Result<String, Diagnostic>,
) -> Outcome {
    match text {
        Ok(text) => print(&text),
        Err(problem) => {
            eprint_line!("{program}: {problem}");
            refused(personality)
        }
    }
}

/// Prints the lines of a compressed log, or any other log unchanged.
fn inflate(program: &str, personality: Personality, name: &str) -> Outcome {
    let inflated = std::fs::File::open(name).and_then(|file| {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        fathom_report::inflate_log(std::io::BufReader::new(file), &mut out)?;
        std::io::Write::flush(&mut out)
    });
    match inflated {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprint_line!("{program}: --inflate-log: {name}: {error}");
            refused(personality)
        }
        _ => Outcome::Good,
    }
}

fn refused(personality: Personality) -> Outcome {
    match personality {
        Personality::Fathom => Outcome::Refused,
        Personality::Fio => Outcome::Fio(1),
    }
}

fn refuse(program: &str, personality: Personality, problems: &[Diagnostic]) -> Outcome {
    for problem in problems {
        eprint_line!("{problem}");
    }
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    match errors {
        0 => eprint_line!("{program}: run not started: warnings are fatal"),
        1 => eprint_line!("{program}: run not started: 1 error"),
        n => eprint_line!("{program}: run not started: {n} errors"),
    }
    refused(personality)
}

fn show(session: &Session, program: &str, invocation: &Invocation) -> Outcome {
    // fio's line begins with its own name; ours works when it is pasted.
    let name = match invocation.personality {
        Personality::Fio => program.trim_start_matches("fathom "),
        Personality::Fathom => program,
    };
    match show_commands(name, invocation, session, &ThisMachine) {
        Ok(text) => print(&text),
        Err(problems) => refuse(program, invocation.personality, &problems),
    }
}

fn run(session: &Session, program: &str, invocation: &Invocation, arguments: &[String]) -> Outcome {
    let agents = &invocation.agents;
    if (agents.hosts.is_some() || !agents.clients.is_empty()) && !invocation.parse_only {
        return on_hosts(session, program, invocation, arguments);
    }
    if invocation.agents != fathom_plan::AgentOptions::default() && !invocation.parse_only {
        return without_hosts(program, invocation);
    }
    let planned = match plan(invocation, session, &ThisMachine) {
        Ok(planned) => planned,
        Err(problems) => return refuse(program, invocation.personality, &problems),
    };
    if invocation.explain || invocation.dry_run {
        show_commands_of(&planned.plan, &invocation.trigger);
    }
    if invocation.explain {
        return explain(session, program, invocation, &planned.plan);
    }
    if invocation.personality == Personality::Fathom {
        print_remarks(&planned);
    }
    if invocation.parse_only {
        return Outcome::Good;
    }
    if planned.plan.jobs.is_empty() {
        eprint_line!("{program}: no job to run: give a job file, or --name=JOB with its options");
        return refused(invocation.personality);
    }
    if let Some(job) = fathom_hosts::placed_job(&planned.plan) {
        eprint_line!(
            "{program}: {}: host= needs --hosts; on one host, choose its jobs with --section",
            job.name
        );
        return refused(invocation.personality);
    }
    if invocation.dry_run {
        return match guard::dry_run(session, &planned.plan, &confirmed(invocation)) {
            Ok(text) => print(&text),
            Err(refusals) => {
                eprint_line!("{program}: {}", refusals.join("\n"));
                refused(invocation.personality)
            }
        };
    }
    match load(session, invocation, planned) {
        Ok(ran) => ran_outcome(program, ran),
        Err(message) => {
            eprint_line!("{program}: {message}");
            not_started(invocation.personality)
        }
    }
}

/// Refuses options about agents, which need `--hosts`.
fn without_hosts(program: &str, invocation: &Invocation) -> Outcome {
    let agents = &invocation.agents;
    let of_ssh = [&agents.ssh_command, &agents.ssh_fathom, &agents.ssh_listen];
    if of_ssh.iter().any(|option| option.is_some()) {
        eprint_line!("{program}: {}", fathom_cli::NEED_SSH);
    } else {
        let hosts = match invocation.personality {
            Personality::Fathom => "--hosts",
            Personality::Fio => "--client",
        };
        eprint_line!("{program}: --nats, --nats-creds, --nats-fingerprint and --key need {hosts}");
    }
    refused(invocation.personality)
}

/// Prints the warnings and the notes of a plan.
fn print_remarks(planned: &Planned) {
    for remark in planned.warnings.iter().chain(&planned.notes) {
        match remark.severity {
            Severity::Note => note_line!("{remark}"),
            _ => eprint_line!("{remark}"),
        }
    }
}

/// `--hosts`: agents run the jobs.
fn on_hosts(
    session: &Session,
    program: &str,
    invocation: &Invocation,
    arguments: &[String],
) -> Outcome {
    match crate::hosts::run(session, invocation, arguments) {
        Ok(ran) => ran_outcome(program, ran),
        Err(message) => {
            eprint_line!("{program}: {message}");
            not_started(invocation.personality)
        }
    }
}

/// The outcome of a run: its findings, whether it meets the limits of `--slo`, and whether its result was written.
pub fn ran_outcome(program: &str, ran: (Findings, bool, Result<(), String>)) -> Outcome {
    let (findings, met, written) = ran;
    if let Err(message) = written {
        eprint_line!("{program}: {message}");
        return result_lost(findings.personality);
    }
    match verdict(program, &findings) {
        Outcome::Good if !met => Outcome::Bad,
        outcome => outcome,
    }
}

/// What the command line confirms.
fn confirmed(invocation: &Invocation) -> guard::Confirmed<'_> {
    guard::Confirmed {
        codes: &invocation.destroy,
        directories: Some(&invocation.destroy_all_in),
    }
}

/// The outcome of a run that was refused, or interrupted before the load began.
fn not_started(personality: Personality) -> Outcome {
    match personality {
        _ if interrupts().load(Relaxed) == 0 => refused(personality),
        Personality::Fathom => Outcome::Interrupted,
        Personality::Fio => Outcome::Fio(FIO_INTERRUPTED),
    }
}

/// Prints the commands that the run would start, before everything else and also if it would be refused: the job file of
/// somebody else can run anything.
fn show_commands_of(plan: &Plan, trigger: &TriggerOptions) {
    let trigger = trigger
        .command
        .as_ref()
        .map(|line| format!("the run starts when its trigger ends it (--trigger): {line}"));
    let mut commands = fathom_analyse::plan_commands(plan);
    commands.extend(trigger);
    print_commands(&commands);
}

/// `--explain`: prints the timeline of the plan.
fn explain(session: &Session, program: &str, invocation: &Invocation, plan: &Plan) -> Outcome {
    match guard::estimate(session, plan, &confirmed(invocation)) {
        Ok((estimate, mut targets)) => {
            let explain_plan = fathom_analyse::explain_plan(plan, &estimate);
            targets.extend(queues(session, plan));
            print(&fathom_report::explanation_text(
                &explain_plan,
                &targets,
                &output::answer_style(),
            ))
        }
        Err(problem) => {
            eprint_line!("{program}: {problem}");
            refused(invocation.personality)
        }
    }
}

/// The queue of each device below the targets, one line each.
fn queues(session: &Session, plan: &Plan) -> Vec<String> {
    let paths: BTreeSet<PathBuf> = plan
        .jobs
        .iter()
        .filter(|job| job.engine.kind.moves_data())
        .flat_map(|job| job.files.paths.iter().cloned())
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for path in paths {
        let machine = session.clone();
        let target = start_query(move || machine.inspect(&path)).answer();
        for device in target.iter().flat_map(|target| &target.devices) {
            let facts = &device.before;
            let line = format!(
                "queue of {}: {}",
                facts.name,
                fathom_report::queue_words(&facts.queue)
            );
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// The outcome of a run whose result could not be written.
fn result_lost(personality: Personality) -> Outcome {
    match personality {
        Personality::Fathom => Outcome::Bad,
        Personality::Fio => Outcome::Fio(1),
    }
}

/// Measures a plan and writes its result. The second value is whether it meets the limits of `--slo`, the third the error of
/// writing the result of a completed run.
fn load(
    session: &Session,
    invocation: &Invocation,
    mut planned: Planned,
) -> Result<(Findings, bool, Result<(), String>), String> {
    interrupts();
    trigger::check_file(&invocation.trigger, &planned.plan)?;
    let backups = invocation
        .aux_path
        .as_ref()
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    // What is left of a real run says nothing of a simulated disk.
    if session.simulated().is_none() {
        for message in verify_state::find(&mut planned.plan, &backups) {
            note_line!("{message}");
        }
    }
    let failure = FailureDocument::new(session, invocation, &planned.plan);
    let (load, backup_messages) = guard::open_targets(
        session,
        &planned.plan,
        &confirmed(invocation),
        &mut guard::Backups::new(&backups),
    )
    .map_err(|all| {
        failure.write(invocation, None, || HostError {
            errno: guard::refusal_errno(session, &planned.plan),
            what: all.join("\n"),
        });
        all.join("\n")
    })?;
    let outputs = measure::outputs_excluding_targets(&planned.plan);
    let mut output = Output::open(&invocation.reporting, &outputs)?;
    open_report(&planned.plan, &mut output)?;
    let screen = RefCell::new(Screen::new(
        session,
        invocation.personality,
        &invocation.reporting,
    ));
    let mut status_requests =
        StatusRequests::new(invocation.personality, invocation.reporting.status_interval);
    let mut take_state = |state, expected| {
        screen.borrow_mut().wipe();
        show_state(state, expected, &mut output);
    };
    let mut wants_state = |elapsed| status_requests.is_state_wanted(elapsed);
    let mut idle = invocation
        .idle_prof
        .map(|how| session.watch_idleness(how == IdleProf::PerCpu));
    let mut overdue = Overdue::new(&planned.plan);
    let mut show = |progress: &Progress| {
        if let Some(idle) = idle.as_mut().filter(|_| progress.layout.is_none()) {
            idle.begin();
        }
        if let Some(message) = overdue.message(progress) {
            screen.borrow_mut().wipe();
            eprint_line!("{message}");
        }
        screen.borrow_mut().show(progress);
    };
    let mut run_writer = run_writer(session, invocation, &planned.plan);
    let image = (invocation.personality == Personality::Fathom)
        .then(|| image_message(session, measure::target_paths(&planned.plan)))
        .flatten();
    let journal = run_writer.journal(&planned.plan);
    let trigger = Trigger::new(session, &invocation.trigger);
    let extras = RunExtras {
        interval_sink: journal,
        end: &|| trigger.poll(),
        ..RunExtras::default()
    };
    let measured = measure_and_store(
        load,
        planned.plan,
        &mut show,
        &mut wants_state,
        &mut take_state,
        extras,
    );
    screen.borrow_mut().wipe();
    let (mut recording, log_error) = match measured {
        Ok(measured) => measured,
        Err(error) => {
            run_writer.remove();
            failure.write(invocation, Some(&error.job), || error.cause.clone());
            return Err(error.to_string());
        }
    };
    recording.host.idleness = idle.map(|idle| idle.finish());
    recording.messages.splice(0..0, backup_messages);
    recording.messages.extend(image);
    recording.messages.extend(
        log_error
            .iter()
            .map(|message| format!("a log file is incomplete: {message}")),
    );
    if trigger.has_fired()
        && recording.end == RunEnd::Interrupted
        && interrupts().load(Relaxed) == 0
    {
        recording.end = RunEnd::Completed;
        recording
            .messages
            .push("the trigger ended the run early".to_owned());
    }
    let is_probed = invocation.personality == Personality::Fathom && !invocation.no_probe;
    if is_probed && !trigger.has_fired() {
        recording.depth_probes = depth_probes::measure_depths(session, &recording, &backups);
    }
    recording.earlier = run_writer.earlier_runs(&recording);
    let saved = verify_state::save(&recording, &backups, &outputs).and(trigger.run_command());
    let logged = log_error.map_or(Ok(()), |message| {
        Err(format!("a log file is incomplete: {message}"))
    });
    let (findings, met, written) =
        finish(invocation, recording, &mut output, &outputs, run_writer)?;
    Ok((findings, met, written.and(logged).and(saved)))
}

/// Evaluates, writes and stores a result. The second value is whether it meets the limits of `--slo`, the third the error of
/// writing it.
pub fn finish(
    invocation: &Invocation,
    recording: Recording,
    output: &mut Output,
    outputs: &Outputs,
    run_writer: RunWriter,
) -> Result<(Findings, bool, Result<(), String>), String> {
    let findings = fathom_analyse::findings(&recording);
    let mut written = output.result(&recording, &findings);
    let limits = limits(invocation)?;
    let answer =
        (!limits.is_empty()).then(|| fathom_analyse::run_meets(&limits, &recording, &findings));
    if let Some(answer) = &answer {
        let is_text = output.normal && invocation.reporting.formats.len() == 1;
        if is_text {
            written = written.and(output.text(&format!("{}\n", answer.sentence)));
        } else {
            eprint_line!("{}", answer.sentence);
        }
    }
    if let Some(file) = &invocation.reporting.junit {
        let cases = limits.iter().map(|limit| {
            let answer = fathom_analyse::run_meets(&[*limit], &recording, &findings);
            test_case(limit, &answer)
        });
        let name = result_store::run_name(&recording.plan);
        let text = fathom_report::junit("fathom run", &name, &cases.collect::<Vec<_>>());
        let junit = outputs
            .write(Path::new(file), OutputName::Explicit, text.as_bytes())
            .map_err(|error| format!("--junit: {error}"));
        written = written.and(junit);
    }
    if let Some(prefix) = &invocation.reporting.bandwidth_log {
        let log = measure::write_bandwidth(prefix, &recording, outputs)
            .map_err(|error| format!("--bandwidth-log: {error}"));
        written = written.and(log);
    }
    run_writer.finish(recording, &findings, Vec::new());
    let met = answer.is_none_or(|answer| answer.met);
    Ok((findings, met, written))
}

/// A latency limit as a test case.
pub fn test_case(limit: &SloLimit, answer: &SloAnswer) -> TestCase {
    TestCase {
        name: limit.to_string(),
        passed: answer.met,
        sentence: answer.sentence.clone(),
    }
}

/// The latency limits of `--slo`.
fn limits(invocation: &Invocation) -> Result<Vec<SloLimit>, String> {
    let limits = invocation.reporting.limits.iter();
    limits
        .map(|text| {
            text.parse()
                .map_err(|error: fathom_analyse::ParseLimitError| error.to_string())
        })
        .collect()
}

/// The JSON document of `fathom fio` about a run that could not begin. Programs that start fio read the
/// errors of the jobs from it.
struct FailureDocument<'a> {
    session: &'a Session,
    /// The plan, if the document is wanted.
    plan: Option<Plan>,
}

impl<'a> FailureDocument<'a> {
    fn new(session: &'a Session, invocation: &Invocation, plan: &Plan) -> FailureDocument<'a> {
        let is_json = |format| matches!(format, OutputFormat::Json | OutputFormat::JsonPlus);
        let is_wanted = invocation.personality == Personality::Fio
            && invocation
                .reporting
                .formats
                .iter()
                .any(|format| is_json(*format));
        FailureDocument {
            session,
            plan: is_wanted.then(|| plan.clone()),
        }
    }

    /// Writes the document of a run in which this job, or every job, failed with this error.
    fn write(&self, invocation: &Invocation, job: Option<&str>, error: impl FnOnce() -> HostError) {
        let Some(plan) = &self.plan else { return };
        let now = self.session.unix_now_ns();
        let recording = fathom_load::failed_recording(plan.clone(), now, job, &error());
        let outputs = measure::outputs_excluding_targets(plan);
        let written = Output::open(&invocation.reporting, &outputs).and_then(|mut output| {
            output.findings(&fathom_analyse::findings_with(&recording, &[]))
        });
        if let Err(message) = written {
            eprint_line!("{message}");
        }
    }
}

/// `fathom run` stores its result; `fathom fio` creates no file that fio would not create.
pub fn run_writer(session: &Session, invocation: &Invocation, plan: &Plan) -> RunWriter {
    let reporting = &invocation.reporting;
    let is_fio = invocation.personality == Personality::Fio;
    let store = StoreOptions {
        source: StoreSource {
            store: reporting.store.clone(),
        },
        no_store: reporting.no_store || is_fio,
        label: reporting.labels.clone(),
    };
    let from_input = invocation.files.iter().any(|(file, _)| file == "-");
    let jobs = (!store.no_store && !from_input)
        .then(|| show_commands("fathom run", invocation, session, &ThisMachine).ok())
        .flatten();
    RunWriter::begin(
        session,
        "fathom run",
        &store,
        &result_store::experiment(
            session,
            "run",
            result_store::run_name(plan),
            jobs.unwrap_or_default(),
        ),
    )
}

/// Prints the state of the run in every requested format. It has no findings before the end.
fn show_state(mut state: Recording, expected: Option<Nanos>, output: &mut Output) {
    if !output.takes_states() {
        return;
    }
    state.plan.personality = Personality::Fio;
    let left = expected.map_or(Nanos::ZERO, |expected| {
        expected.saturating_sub(state.elapsed)
    });
    output.style.eta_s = left.get().div_ceil(1_000_000_000);
    if let Err(message) = output.findings(&fathom_analyse::findings_with(&state, &[])) {
        eprint_line!("{message}");
    }
    output.style.eta_s = 0;
}

/// The header before the run, in the text format.
fn open_report(plan: &Plan, output: &mut Output) -> Result<(), String> {
    if !output.normal {
        return Ok(());
    }
    let banner = match plan.personality {
        Personality::Fio => {
            fathom_report::banner(plan, &output.style)
                + &fathom_report::starting(plan.jobs.len(), 0)
        }
        Personality::Fathom => String::new(),
    };
    output.text(&banner)
}

/// The exit code of a run.
fn verdict(program: &str, findings: &Findings) -> Outcome {
    match findings.personality {
        // A host that lost its controller ended early by itself: that is a failed run, and nobody interrupted it.
        Personality::Fathom
            if findings.end != RunEnd::Completed
                && !findings.hosts.is_empty()
                && interrupts().load(Relaxed) == 0 =>
        {
            Outcome::Bad
        }
        Personality::Fathom if findings.end != RunEnd::Completed => Outcome::Interrupted,
        Personality::Fathom if findings.verdict == Verdict::Invalid => Outcome::Bad,
        // With continue_on_error the run completes, but its errors still count.
        Personality::Fathom
            if findings
                .entries
                .iter()
                .any(|e| e.errors_continued.is_some_and(|(n, _)| n > 0)) =>
        {
            Outcome::Bad
        }
        Personality::Fathom => Outcome::Good,
        Personality::Fio => fio_code(program, findings),
    }
}

/// With `continue_on_error=verify`, wrong blocks are in fio's report and not in its exit code.
fn passes_over_mismatches(entry: &Entry) -> bool {
    let wrong = entry.verify.map_or(0, |counts| counts.bad);
    wrong > 0 && entry.errors_continued.is_some_and(|(n, _)| n == wrong)
}

/// fio counts failed jobs. Findings that fio would not report go to standard error, and are failures too.
fn fio_code(program: &str, findings: &Findings) -> Outcome {
    if findings.end != RunEnd::Completed {
        return Outcome::Fio(FIO_INTERRUPTED);
    }
    // fio's exit code ignores findings about the conditions of a run.
    let about_io = |code| fathom_analyse::explain(code).is_some_and(|kind| !kind.about_conditions);
    let unreported = findings
        .findings
        .iter()
        .filter(|f| f.weight == Weight::Invalidates && about_io(f.code));
    let fails = |entry: &&Entry| entry.error != 0 && !passes_over_mismatches(entry);
    let only_passed_over = !findings.entries.iter().any(|entry| fails(&entry));
    let mut code = findings
        .entries
        .iter()
        .filter(fails)
        .map(|entry| entry.members.min(1))
        .sum::<u32>();
    for finding in unreported {
        eprint_line!(
            "{program}: {}: {} {}",
            finding.code,
            finding.about.as_deref().unwrap_or("run"),
            finding.evidence
        );
        let passed_over = finding.code == "VERIFY_FAILED" && only_passed_over;
        code = code.max(u32::from(!passed_over));
    }
    Outcome::Fio(code.min(FIO_MAX_FAILED) as u8)
}
