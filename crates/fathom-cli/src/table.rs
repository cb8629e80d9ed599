//! The table of commands.

use clap::builder::StyledStr;
use clap::{Args, Command};

use crate::commands::{
    agent, app, capture, check, compare, completions, devices, durable, explain, export, fit,
    fsync, help, import, limits, observe, plot, profile, quick, ready, replay, report, resume, rm,
    runs, search, serve, show, sim, size, spec, store, suite, sweep, version, why, witness,
};
use crate::parse::with_display_options;
use crate::run;

/// What a command is for; the help of the program lists commands by group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandGroup {
    /// Commands that measure.
    Measure,
    /// Commands on stored results.
    Results,
    /// Commands that analyse and draw results.
    Analyse,
    /// Commands about devices and their data sheets.
    Devices,
    /// Commands about the program itself.
    Help,
}

impl CommandGroup {
    /// All groups, in the order of the help.
    pub const ALL: [CommandGroup; 5] = [
        CommandGroup::Measure,
        CommandGroup::Results,
        CommandGroup::Analyse,
        CommandGroup::Devices,
        CommandGroup::Help,
    ];

    /// Its heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            CommandGroup::Measure => "Measure",
            CommandGroup::Results => "Stored results",
            CommandGroup::Analyse => "Analyse results",
            CommandGroup::Devices => "Devices",
            CommandGroup::Help => "Help",
        }
    }
}

/// One command.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    /// Its name.
    pub name: &'static str,
    /// Its group.
    pub group: CommandGroup,
    /// One line.
    pub about: &'static str,
    /// The text of `--help`, after `about`.
    pub details: &'static str,
    /// The end of `--help`: command lines with their meaning, and notes.
    pub examples: &'static str,
    /// Adds its options to a bare command.
    pub build: fn(Command) -> Command,
}

/// All commands, in the order of the help.
#[must_use]
pub fn commands() -> &'static [CommandSpec] {
    COMMANDS
}

const fn row<T: Args>(
    name: &'static str,
    group: CommandGroup,
    (about, details, examples): (&'static str, &'static str, &'static str),
) -> CommandSpec {
    CommandSpec {
        name,
        group,
        about,
        details,
        examples,
        build: T::augment_args,
    }
}

use CommandGroup::{Analyse, Devices, Help, Measure, Results};

const COMMANDS: &[CommandSpec] = &[
    row::<quick::QuickArgs>("quick", Measure, quick::TEXT),
    row::<ready::ReadyArgs>("ready", Measure, ready::TEXT),
    row::<fsync::FsyncArgs>("fsync", Measure, fsync::TEXT),
    CommandSpec {
        name: "run",
        group: Measure,
        about: run::RUN_TEXT.0,
        details: run::RUN_TEXT.1,
        examples: run::RUN_TEXT.2,
        build: run::add_run_options,
    },
    CommandSpec {
        name: "fio",
        group: Measure,
        about: run::FIO_TEXT.0,
        details: run::FIO_TEXT.1,
        examples: run::FIO_TEXT.2,
        build: run::add_fio_options,
    },
    row::<sweep::SweepArgs>("sweep", Measure, sweep::TEXT),
    row::<search::SearchArgs>("search", Measure, search::TEXT),
    row::<suite::SuiteArgs>("suite", Measure, suite::TEXT),
    row::<limits::LimitsArgs>("limits", Measure, limits::TEXT),
    row::<sim::SimArgs>("sim", Measure, sim::TEXT),
    row::<app::AppArgs>("app", Measure, app::TEXT),
    row::<witness::WitnessArgs>("witness", Measure, witness::TEXT),
    row::<durable::DurableArgs>("durable", Measure, durable::TEXT),
    row::<why::WhyArgs>("why", Measure, why::TEXT),
    row::<observe::ObserveArgs>("observe", Measure, observe::TEXT),
    row::<capture::CaptureArgs>("capture", Measure, capture::TEXT),
    row::<replay::ReplayArgs>("replay", Measure, replay::TEXT),
    row::<agent::AgentArgs>("agent", Measure, agent::TEXT),
    row::<resume::ResumeArgs>("resume", Measure, resume::TEXT),
    row::<runs::RunsArgs>("runs", Results, runs::TEXT),
    row::<show::ShowArgs>("show", Results, show::TEXT),
    row::<serve::ServeArgs>("serve", Results, serve::TEXT),
    row::<export::ExportArgs>("export", Results, export::TEXT),
    row::<import::ImportArgs>("import", Results, import::TEXT),
    row::<rm::RmArgs>("rm", Results, rm::TEXT),
    row::<store::StoreArgs>("store", Results, store::TEXT),
    row::<compare::CompareArgs>("compare", Analyse, compare::TEXT),
    row::<plot::PlotArgs>("plot", Analyse, plot::TEXT),
    row::<fit::FitArgs>("fit", Analyse, fit::TEXT),
    row::<profile::ProfileArgs>("profile", Analyse, profile::PROFILE_TEXT),
    row::<profile::FidelityArgs>("fidelity", Analyse, profile::FIDELITY_TEXT),
    row::<report::ReportArgs>("report", Analyse, report::TEXT),
    row::<check::CheckArgs>("check", Analyse, check::TEXT),
    row::<explain::ExplainArgs>("explain", Analyse, explain::TEXT),
    row::<devices::DevicesArgs>("devices", Devices, devices::TEXT),
    row::<spec::SpecArgs>("spec", Devices, spec::TEXT),
    row::<size::SizeArgs>("size", Devices, size::TEXT),
    row::<help::HelpArgs>("help", Help, help::TEXT),
    row::<completions::CompletionsArgs>("completions", Help, completions::TEXT),
    row::<version::VersionArgs>("version", Help, version::TEXT),
];

/// `fathom NAME`.
pub(crate) fn bin_name(name: &str) -> String {
    format!("fathom {name}")
}

/// The command of this name; only its own options are built.
///
/// # Panics
/// When there is no such command.
#[must_use]
pub fn command(name: &str) -> Command {
    let spec = COMMANDS
        .iter()
        .find(|spec| spec.name == name)
        .unwrap_or_else(|| panic!("no command '{name}' in the table"));
    build(spec)
}

pub(crate) fn build(spec: &CommandSpec) -> Command {
    let is_fio_grammar = run::has_fio_grammar(spec.name);
    let bare = Command::new(spec.name)
        .bin_name(bin_name(spec.name))
        .display_name(format!("fathom-{}", spec.name));
    let command = (spec.build)(bare);
    let command = if is_fio_grammar {
        command
    } else {
        with_display_options(command)
    };
    // After the options, whose structs have texts of their own.
    let command = command
        .about(spec.about)
        .long_about(format!("{}\n\n{}", spec.about, spec.details))
        .args_override_self(true)
        .disable_version_flag(true);
    match spec.name {
        "plot" => command.after_long_help(format!("{}\n\n{}", spec.examples, plot::charts())),
        _ if spec.examples.is_empty() => command,
        _ => command.after_long_help(spec.examples),
    }
}

/// The long help of a command.
#[must_use]
pub fn command_help(name: &str) -> String {
    let help: StyledStr = command(name).render_long_help();
    help.to_string()
}
