//! What a command line asks for.

use fathom_model::{Nanos, Override, Personality};

use crate::diagnostic::Diagnostic;
use crate::jobfile::Section;
use crate::span::Span;

/// A command line, understood: jobs as written, and how to run and report them.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Whose meaning words have.
    pub personality: Personality,
    /// What is wanted.
    pub action: Action,
    /// Jobs of the command line as sections; options before the first `--name` are a global section.
    pub sections: Vec<Section>,
    /// Job files in order, with their places; `-` is the standard input.
    pub files: Vec<(String, Span)>,
    /// `--section`: only these jobs of the files; empty is all.
    pub wanted: Vec<String>,
    /// `--set`: overrides of what the jobs say, with their places.
    pub sets: Vec<(Override, Span)>,
    /// `--destroy`: codes that confirm the identity of targets that hold data.
    pub destroy: Vec<String>,
    /// How results are given.
    pub reporting: Reporting,
    /// `--parse-only`: check the jobs and stop.
    pub parse_only: bool,
    /// `--showcmd`: print the jobs as a command line and stop.
    pub show_command: bool,
    /// `--dry-run`: judge every target, show what would be done to it, and stop.
    pub dry_run: bool,
    /// `--explain`: tell what the jobs will do, and stop.
    pub explain: bool,
    /// `--readonly`: refuse jobs that write or trim.
    pub read_only: bool,
    /// `--warnings-fatal`: a warning is an error.
    pub warnings_fatal: bool,
    /// `--idle-prof`.
    pub idle_prof: Option<IdleProf>,
    /// `--aux-path`: folder of the files a run leaves behind.
    pub aux_path: Option<String>,
    /// What ends the run before its time, and what is run then.
    pub trigger: TriggerWish,
    /// Doubts about the command line itself.
    pub warnings: Vec<Diagnostic>,
}

/// `--trigger-file`, `--trigger-timeout`, `--trigger`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerWish {
    /// A file that ends the run when it appears.
    pub file: Option<String>,
    /// A time after which the run ends.
    pub after: Option<Nanos>,
    /// A shell command for the end.
    pub command: Option<String>,
}

/// What a command line wants done.
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

/// How results are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// `--output`: a file instead of the standard output.
    pub output: Option<String>,
    /// Formats, each once, in the order they are printed.
    pub formats: Vec<OutputFormat>,
    /// `--terse-version`, 2 to 5.
    pub terse_version: u8,
    /// `--status-interval`: print the state of the run this often.
    pub status_interval: Option<Nanos>,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-newline`: a fresh line for the progress this often.
    pub eta_newline: Option<Nanos>,
    /// `--eta-interval`: renew the progress this often.
    pub eta_interval: Option<Nanos>,
    /// `--store`: where the result is kept, instead of the user's store.
    pub store: Option<String>,
    /// `--no-store`: it is not kept.
    pub no_store: bool,
    /// `--bandwidth-log[=PREFIX]`: logs of the bandwidth of all jobs together.
    pub bandwidth_log: Option<String>,
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
            bandwidth_log: None,
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
    /// Only measure the unit of work.
    Calibrate,
}
