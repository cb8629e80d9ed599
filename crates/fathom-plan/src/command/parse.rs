//! Parses a command line into an [`Invocation`].

use fathom_model::{Nanos, Override, Personality, parse_label};

use super::arguments::{Token, tokens};
use super::invocation::{
    Action, ClientOption, ColorMode, Eta, IdleProf, Invocation, OutputFormat, Reporting,
    SimulatedMachine,
};
use super::profile::Tiobench;
use super::switches::Switch;
use crate::diagnostic::Diagnostic;
use crate::jobfile::{Assignment, Section};
use crate::options::{OptionRow, closest_option, find};
use crate::span::Span;
use crate::text::shorten;
use crate::values::parse_time;

/// Minimum interval between two status outputs, or two lines of progress.
const MIN_INTERVAL: Nanos = Nanos::from_millis(1);
/// Minimum `--eta-interval`, as in fio.
const MIN_ETA_INTERVAL: Nanos = Nanos::from_millis(250);

/// Parses the arguments after the name of the program.
///
/// # Errors
/// Every error of the command line. Values of job options are checked later, by `plan`.
pub fn parse_args(
    arguments: &[String],
    personality: Personality,
) -> Result<Invocation, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let tokens = tokens(arguments, personality, &mut problems);
    let mut parser = Parser {
        invocation: empty(personality),
        problems,
        state: ParseState::Defaults,
        profile: None,
        after_client: false,
    };
    for token in tokens {
        parser.token(token);
    }
    if let Some(profile) = parser.profile.take() {
        parser.invocation.sections.extend(profile.sections());
    }
    if parser.problems.is_empty() {
        Ok(parser.invocation)
    } else {
        Err(parser.problems)
    }
}

fn empty(personality: Personality) -> Invocation {
    Invocation {
        personality,
        action: Action::Run,
        sections: Vec::new(),
        files: Vec::new(),
        selected_jobs: Vec::new(),
        sets: Vec::new(),
        destroy: Vec::new(),
        destroy_all_in: Vec::new(),
        reporting: Reporting::default(),
        parse_only: false,
        show_command: false,
        dry_run: false,
        no_probe: false,
        explain: false,
        blame: false,
        read_only: None,
        warnings_fatal: false,
        idle_prof: None,
        aux_path: None,
        trigger: Default::default(),
        agents: Default::default(),
        machine: Default::default(),
        warnings: Vec::new(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParseState {
    /// Before any `--name`: the next option opens a global section.
    Defaults,
    /// Inside the last section.
    Section,
    /// Inside a job that `--section` leaves out.
    Skipped,
}

struct Parser {
    invocation: Invocation,
    problems: Vec<Diagnostic>,
    state: ParseState,
    /// `--profile`
    profile: Option<Tiobench>,
    /// As in fio, job files that follow `--client` are only for it.
    after_client: bool,
}

impl Parser {
    fn token(&mut self, token: Token) {
        let opens_client = matches!(&token, Token::Switch(option, ..) if option.name == "client");
        match token {
            Token::Operand(file, at) => {
                let of_client = self.invocation.agents.clients.last_mut();
                match of_client.filter(|_| self.after_client) {
                    Some(client) => client.files.push((file, at)),
                    None => self.invocation.files.push((file, at)),
                }
                return;
            }
            Token::Job(row, value, at) => self.job_option(row, value, at),
            Token::Refused(option, at) => self.refused(option, at),
            Token::Switch(option, value, at) => {
                if let Err(problem) = self.switch(option, value.as_deref(), &at) {
                    let option = Some(format!("--{}", option.name));
                    self.problems.push(Diagnostic {
                        at,
                        option,
                        ..problem
                    });
                }
            }
        }
        self.after_client = opens_client;
    }

    fn refused(&mut self, option: &Switch, at: Span) {
        let problem = format!("--{} is not supported", option.name);
        self.problems
            .push(Diagnostic::error(at, problem).advise(option.help));
    }

    fn job_option(&mut self, row: &OptionRow, value: Option<String>, at: Span) {
        if self.state == ParseState::Defaults
            && let Some(profile) = &mut self.profile
            && profile.set(row.name, value.as_deref())
        {
            return;
        }
        if row.name == "name" {
            self.open(value.as_deref().unwrap_or(""), &at);
        } else if self.state == ParseState::Defaults {
            self.push_section("global", &at);
        }
        if self.state == ParseState::Skipped {
            return;
        }
        let assignment = Assignment {
            key: row.name.to_owned(),
            key_at: at.clone(),
            value,
            value_at: at,
        };
        if let Some(section) = self.invocation.sections.last_mut() {
            section.assignments.push(assignment);
        }
    }

    fn open(&mut self, name: &str, at: &Span) {
        let selected = &self.invocation.selected_jobs;
        if name.starts_with("global")
            || selected.is_empty()
            || selected.iter().any(|known| known == name)
        {
            self.push_section(name, at);
        } else {
            self.state = ParseState::Skipped;
        }
    }

    fn push_section(&mut self, name: &str, at: &Span) {
        let is_global = name.starts_with("global");
        self.invocation.sections.push(Section {
            name: name.to_owned(),
            at: at.clone(),
            is_global,
            assignments: Vec::new(),
        });
        self.state = ParseState::Section;
    }

    fn switch(
        &mut self,
        option: &Switch,
        value: Option<&str>,
        at: &Span,
    ) -> Result<(), Diagnostic> {
        let text = value.unwrap_or("");
        let owned = || text.to_owned();
        let invocation = &mut self.invocation;
        match option.name {
            "parse-only" => invocation.parse_only = true,
            "showcmd" => invocation.show_command = true,
            "explain" => invocation.explain = true,
            "blame" => invocation.blame = true,
            "no-probe" => invocation.no_probe = true,
            "dry-run" => invocation.dry_run = true,
            "readonly" => invocation.read_only = Some("--readonly"),
            "read-only" => invocation.read_only = Some("--read-only"),
            "warnings-fatal" => invocation.warnings_fatal = true,
            "version" => self.act(Action::Version),
            "help" => self.act(Action::Help),
            "cmdhelp" => self.act(Action::CommandHelp(value.map(str::to_owned))),
            "enghelp" => self.act(Action::EngineHelp(value.map(str::to_owned))),
            "inflate-log" => self.act(Action::InflateLog(owned())),
            "hosts" => invocation.agents.hosts = Some(owned()),
            "client" => invocation.agents.clients.push(ClientOption {
                text: owned(),
                at: at.clone(),
                files: Vec::new(),
            }),
            "nats" => invocation.agents.server = Some(owned()),
            "nats-fingerprint" => invocation.agents.fingerprint = Some(owned()),
            "nats-creds" => invocation.agents.credentials = Some(owned()),
            "key" => invocation.agents.key = Some(owned()),
            "ssh" => {
                invocation.agents.ssh = Some(owned());
                let hosts = &mut invocation.agents.hosts;
                hosts.get_or_insert_with(|| "all".to_owned());
            }
            "ssh-command" => invocation.agents.ssh_command = Some(owned()),
            "ssh-fathom" => invocation.agents.ssh_fathom = Some(owned()),
            "ssh-listen" => invocation.agents.ssh_listen = Some(owned()),
            "machine" | "link" | "seed" => set_machine(&mut invocation.machine, option.name, text)?,
            "aux-path" => invocation.aux_path = Some(owned()),
            "section" => invocation.selected_jobs.push(section_name(text)?),
            "destroy" => invocation.destroy.push(owned()),
            "destroy-all-in" => invocation.destroy_all_in.push(owned()),
            "profile" if text == "tiobench" => self.profile = Some(Tiobench::new(at.clone())),
            "profile" => {
                return Err(problem(format!("unknown profile '{}'", shorten(text)))
                    .advise("use tiobench, or write the jobs of the profile as a job file"));
            }
            "set" => invocation.sets.push((override_of(text)?, at.clone())),
            "idle-prof" => invocation.idle_prof = Some(idle_prof(text)?),
            "trigger-file" => invocation.trigger.file = Some(owned()),
            "trigger-timeout" => invocation.trigger.after = Some(interval(text, MIN_INTERVAL)?),
            "trigger" => {
                invocation.trigger.command = Some(owned()).filter(|command| !command.is_empty());
            }
            "debug" | "max-jobs" | "alloc-size" => {}
            "format" | "output-format" => {
                invocation.reporting.formats = formats(text, invocation.personality)?;
            }
            name => return reporting(&mut invocation.reporting, name, value),
        }
        Ok(())
    }

    /// The first of several counts, as in fio.
    fn act(&mut self, action: Action) {
        if self.invocation.action == Action::Run {
            self.invocation.action = action;
        }
    }
}

/// `--machine`, `--link`, `--seed`.
fn set_machine(machine: &mut SimulatedMachine, name: &str, text: &str) -> Result<(), Diagnostic> {
    match name {
        "machine" => machine.machine = Some(text.to_owned()),
        "link" => {
            let link = text.parse().map_err(|error| problem(format!("{error}")))?;
            machine.link = Some(link);
        }
        _ => {
            let seed = text.parse();
            let seed = seed.map_err(|_| problem(format!("'{}' is not a number", shorten(text))))?;
            machine.seed = Some(seed);
        }
    }
    Ok(())
}

fn reporting(reporting: &mut Reporting, name: &str, value: Option<&str>) -> Result<(), Diagnostic> {
    let text = value.unwrap_or("");
    match name {
        "output" => reporting.output = Some(text.to_owned()),
        "json" => reporting.formats = vec![OutputFormat::Json],
        "minimal" => reporting.formats = vec![OutputFormat::Terse],
        "append-terse" => {
            if let Some(format) = reporting.formats.iter().find(|one| one.is_exposition()) {
                let name = match format {
                    OutputFormat::Prometheus => "prometheus",
                    _ => "openmetrics",
                };
                return Err(alone(name));
            }
            add_format(&mut reporting.formats, OutputFormat::Terse);
        }
        "terse-version" => reporting.terse_version = terse_version(text)?,
        "status-interval" => reporting.status_interval = Some(interval(text, MIN_INTERVAL)?),
        "eta" => reporting.eta = eta(text)?,
        "eta-newline" => reporting.eta_newline = Some(interval(text, MIN_INTERVAL)?),
        "eta-interval" => reporting.eta_interval = Some(interval(text, MIN_ETA_INTERVAL)?),
        "store" => reporting.store = Some(text.to_owned()),
        "no-store" => reporting.no_store = true,
        "label" => reporting.labels.push(run_label(text)?),
        "quiet" => reporting.quiet = true,
        "color" => reporting.color = color(text)?,
        "slo" => reporting.limits.push(text.to_owned()),
        "junit" => reporting.junit = Some(text.to_owned()),
        "width" => reporting.width = Some(columns(text)?),
        "bandwidth-log" => reporting.bandwidth_log = Some(value.unwrap_or("agg").to_owned()),
        _ => {}
    }
    Ok(())
}

fn problem(text: String) -> Diagnostic {
    Diagnostic::error(Span::CommandLine, text)
}

/// An exposition with other text around it is not valid.
fn alone(name: &str) -> Diagnostic {
    problem(format!(
        "{name} cannot be combined with another output format"
    ))
    .advise("run with one of them; `fathom show` writes the stored result in another")
}

fn formats(text: &str, personality: Personality) -> Result<Vec<OutputFormat>, Diagnostic> {
    let exposition =
        |name| OutputFormat::exposition(name).filter(|_| personality == Personality::Fathom);
    if let Some(format) = exposition(text) {
        return Ok(vec![format]);
    }
    let mut formats = Vec::new();
    for name in text.split(',') {
        let format = match name {
            "normal" => OutputFormat::Normal,
            "terse" | "minimal" | "csv" => OutputFormat::Terse,
            "json" => OutputFormat::Json,
            "json+" => OutputFormat::JsonPlus,
            _ if exposition(name).is_some() => return Err(alone(name)),
            _ => {
                let advice = match personality {
                    Personality::Fio => "use normal, terse, json or json+",
                    Personality::Fathom => {
                        "use normal, terse, json, json+, openmetrics or prometheus"
                    }
                };
                return Err(
                    problem(format!("unknown output format '{}'", shorten(name))).advise(advice),
                );
            }
        };
        add_format(&mut formats, format);
    }
    Ok(formats)
}

fn add_format(formats: &mut Vec<OutputFormat>, format: OutputFormat) {
    if !formats.contains(&format) {
        formats.push(format);
    }
}

fn run_label(text: &str) -> Result<(String, String), Diagnostic> {
    let label = parse_label(text).and_then(|label| {
        if label.1.is_empty() {
            return Err("a label needs a value".to_owned());
        }
        Ok(label)
    });
    label.map_err(|why| {
        problem(format!("invalid label '{}': {why}", shorten(text)))
            .advise("write --label=KEY=VALUE, such as --label=project=apollo")
    })
}

fn terse_version(text: &str) -> Result<u8, Diagnostic> {
    let version = text
        .parse()
        .ok()
        .filter(|version| (2..=5).contains(version));
    version.ok_or_else(|| {
        problem(format!(
            "unknown version '{}' of the terse output",
            shorten(text)
        ))
        .advise("use 2, 3, 4 or 5")
    })
}

fn color(text: &str) -> Result<ColorMode, Diagnostic> {
    match text {
        "always" => Ok(ColorMode::Always),
        "never" => Ok(ColorMode::Never),
        "auto" => Ok(ColorMode::Auto),
        _ => Err(problem(format!("invalid value '{}'", shorten(text)))
            .advise("use always, never or auto")),
    }
}

fn columns(text: &str) -> Result<usize, Diagnostic> {
    match text.parse() {
        Ok(columns @ 20..=10_000) => Ok(columns),
        _ => Err(problem(format!("invalid value '{}'", shorten(text)))
            .advise("use a number of columns from 20 to 10000")),
    }
}

fn eta(text: &str) -> Result<Eta, Diagnostic> {
    match text {
        "always" => Ok(Eta::Always),
        "never" => Ok(Eta::Never),
        "auto" => Ok(Eta::Auto),
        _ => Err(problem(format!("invalid value '{}'", shorten(text)))
            .advise("use always, never or auto")),
    }
}

fn idle_prof(text: &str) -> Result<IdleProf, Diagnostic> {
    match text {
        "system" => Ok(IdleProf::System),
        "percpu" => Ok(IdleProf::PerCpu),
        "calibrate" => Ok(IdleProf::Calibrate),
        _ => Err(problem(format!("unknown idle profile '{}'", shorten(text)))
            .advise("use system, percpu or calibrate")),
    }
}

/// A time has its plain meaning in both personalities: `--status-interval=1sec` is one second.
fn interval(text: &str, min: Nanos) -> Result<Nanos, Diagnostic> {
    let time = parse_time(text)
        .map_err(|error| problem(format!("invalid time '{}': {error}", shorten(text))))?;
    if time < min {
        return Err(problem(format!("'{}' is too short", shorten(text)))
            .advise(format!("at least {} ms", min.as_millis())));
    }
    Ok(time)
}

fn section_name(text: &str) -> Result<String, Diagnostic> {
    match text {
        "global" => {
            Err(problem("'global' selects no job".to_owned())
                .advise("global sections always apply"))
        }
        name => Ok(name.to_owned()),
    }
}

/// `[JOB.]OPTION=VALUE`; the job is the text before the last dot of the left side.
fn override_of(text: &str) -> Result<Override, Diagnostic> {
    let Some((left, value)) = text.split_once('=') else {
        return Err(problem(format!("'{}' has no '='", shorten(text)))
            .advise("write --set OPTION=VALUE or --set JOB.OPTION=VALUE"));
    };
    let (job, option) = match left.rsplit_once('.') {
        Some((job, option)) => (Some(job.to_owned()), option),
        None => (None, left),
    };
    let Some(row) = find(option) else {
        let unknown = problem(format!("unknown job option '{}'", shorten(option)));
        return Err(match closest_option(option) {
            Some(best) => unknown.advise(format!("did you mean {best}?")),
            None => unknown,
        });
    };
    Ok(Override {
        job,
        option: row.name.to_owned(),
        value: value.to_owned(),
    })
}
