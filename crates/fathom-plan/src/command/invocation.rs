//! A parsed command line.

use fathom_model::{HostLink, Nanos, Override, Personality};

use crate::diagnostic::Diagnostic;
use crate::jobfile::Section;
use crate::span::Span;

/// A parsed command line: jobs as written, and how to run and report them.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The unit conventions.
    pub personality: Personality,
    /// What to do.
    pub action: Action,
    /// Jobs of the command line as sections; options before the first `--name` form a global section.
    pub sections: Vec<Section>,
    /// Job files in order, with their locations; `-` is the standard input.
    pub files: Vec<(String, Span)>,
    /// `--section`: only these jobs of the files; empty is all.
    pub selected_jobs: Vec<String>,
    /// `--set`: overrides of job options, with their locations.
    pub sets: Vec<(Override, Span)>,
    /// `--destroy`: codes that confirm the identity of targets that contain data.
    pub destroy: Vec<String>,
    /// `--destroy-all-in`: directories whose benchmark files may be overwritten, each with its code, as `DIR=CODE`.
    pub destroy_all_in: Vec<String>,
    /// How to report results.
    pub reporting: Reporting,
    /// `--parse-only`: check the jobs and exit.
    pub parse_only: bool,
    /// `--showcmd`: print the jobs as a command line and exit.
    pub show_command: bool,
    /// `--blame`: join each direct I/O with its requests in the block layer.
    pub blame: bool,
    /// `--no-probe`: do not measure other queue depths after the run.
    pub no_probe: bool,
    /// `--dry-run`: check every target, show what would happen to it, and exit.
    pub dry_run: bool,
    /// `--explain`: show what the jobs would do, and exit.
    pub explain: bool,
    /// `--readonly` or `--read-only`, as given: refuse jobs that write or trim.
    pub read_only: Option<&'static str>,
    /// `--warnings-fatal`: a warning is an error.
    pub warnings_fatal: bool,
    /// `--idle-prof`.
    pub idle_prof: Option<IdleProf>,
    /// `--aux-path`: directory of the files that a run creates.
    pub aux_path: Option<String>,
    /// What ends the run early, and the command to run then.
    pub trigger: TriggerOptions,
    /// The agents that run the jobs, in place of this host.
    pub agents: AgentOptions,
    /// The machine that is simulated, in place of this one.
    pub machine: SimulatedMachine,
    /// Warnings about the command line itself.
    pub warnings: Vec<Diagnostic>,
}

impl Invocation {
    /// Whether the jobs are only checked or shown. Then, as in fio, limits of this machine do not matter: CPUs, memory,
    /// directories.
    #[must_use]
    pub fn checks_only(&self) -> bool {
        self.parse_only || self.show_command
    }
}

/// `--trigger-file`, `--trigger-timeout`, `--trigger`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerOptions {
    /// A file that ends the run when it exists.
    pub file: Option<String>,
    /// A time after which the run ends.
    pub after: Option<Nanos>,
    /// A shell command to run at the end.
    pub command: Option<String>,
}

/// `--machine` and what belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedMachine {
    /// `--machine`: a model of a device, or a file with a machine.
    pub machine: Option<String>,
    /// `--link`: the link of the device.
    pub link: Option<HostLink>,
    /// `--seed`: seed of its random numbers.
    pub seed: Option<u64>,
}

/// `--hosts` and what belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentOptions {
    /// `--hosts`: which agents.
    pub hosts: Option<String>,
    /// `--client` of fio: agents too, in their order.
    pub clients: Vec<ClientOption>,
    /// `--nats`: address of the server.
    pub server: Option<String>,
    /// `--nats-fingerprint`: its certificate.
    pub fingerprint: Option<String>,
    /// `--nats-creds`: a file with the login.
    pub credentials: Option<String>,
    /// `--key`: the file with the key that signs jobs.
    pub key: Option<String>,
    /// `--ssh`: hosts on which agents are started for the time of the run.
    pub ssh: Option<String>,
    /// `--ssh-command`: the program that reaches them, with its arguments.
    pub ssh_command: Option<String>,
    /// `--ssh-fathom`: the program on the hosts.
    pub ssh_fathom: Option<String>,
    /// `--ssh-listen`: the address of this host that the agents reach.
    pub ssh_listen: Option<String>,
}

/// One `--client`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOption {
    /// A host with fio's prefix and port, several of them, or the name of a file with one in each line.
    pub text: String,
    /// Its location.
    pub at: Span,
    /// The job files right after it, which only this client runs.
    pub files: Vec<(String, Span)>,
}

/// The action of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run the jobs.
    Run,
    /// `--version`.
    Version,
    /// `--help`.
    Help,
    /// `--cmdhelp[=OPTION]`; `None` or `all` is every option.
    CommandHelp(Option<String>),
    /// `--enghelp[=ENGINE[,OPTION]]`.
    EngineHelp(Option<String>),
    /// `--inflate-log=FILE`.
    InflateLog(String),
}

/// How results are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// `--output`: a file instead of the standard output.
    pub output: Option<String>,
    /// Formats, each once, in output order.
    pub formats: Vec<OutputFormat>,
    /// `--terse-version`, 2 to 5.
    pub terse_version: u8,
    /// `--status-interval`: print the results so far at this interval.
    pub status_interval: Option<Nanos>,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-newline`: a new line of progress at this interval.
    pub eta_newline: Option<Nanos>,
    /// `--eta-interval`: update the progress at this interval.
    pub eta_interval: Option<Nanos>,
    /// `--store`: where the result is stored, instead of the default store.
    pub store: Option<String>,
    /// `--no-store`: do not store it.
    pub no_store: bool,
    /// `--label`: names with values by which the stored run is found again.
    pub labels: Vec<(String, String)>,
    /// `--bandwidth-log[=PREFIX]`: logs of the bandwidth of all jobs together.
    pub bandwidth_log: Option<String>,
    /// `--quiet`: no progress and no notes.
    pub quiet: bool,
    /// `--color`.
    pub color: ColorMode,
    /// `--slo`: latency limits.
    pub limits: Vec<String>,
    /// `--junit`: a file for the limits as JUnit test cases.
    pub junit: Option<String>,
    /// `--width`: columns of text.
    pub width: Option<usize>,
}

impl Default for Reporting {
    fn default() -> Self {
        Reporting {
            output: None,
            formats: vec![OutputFormat::Normal],
            terse_version: 3,
            status_interval: None,
            eta: Eta::Auto,
            eta_newline: None,
            eta_interval: None,
            store: None,
            no_store: false,
            labels: Vec::new(),
            bandwidth_log: None,
            quiet: false,
            color: ColorMode::Auto,
            limits: Vec::new(),
            junit: None,
            width: None,
        }
    }
}

/// `--output-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormat {
    /// Text for people.
    Normal,
    /// One line of fields.
    Terse,
    /// fio's JSON.
    Json,
    /// fio's JSON with latency bins.
    JsonPlus,
    /// OpenMetrics text, for Prometheus.
    OpenMetrics,
    /// The text format of Prometheus.
    Prometheus,
}

impl OutputFormat {
    /// Whether it is an exposition of metrics, which is alone in its document.
    #[must_use]
    pub fn is_exposition(self) -> bool {
        matches!(self, OutputFormat::OpenMetrics | OutputFormat::Prometheus)
    }

    /// The exposition of this name.
    pub(super) fn exposition(name: &str) -> Option<OutputFormat> {
        match name {
            "openmetrics" => Some(OutputFormat::OpenMetrics),
            "prometheus" => Some(OutputFormat::Prometheus),
            _ => None,
        }
    }
}

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// On a terminal, unless the environment overrides it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// `--eta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// `--idle-prof`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProf {
    /// All CPUs as one.
    System,
    /// Each CPU.
    PerCpu,
    /// Only calibrate the unit of work.
    Calibrate,
}
