//! The command line of fathom: every command and option, defined once.
//!
//! Parsing, help, suggestions, shell completions and man pages all come from the table of [`commands`]. The job options of
//! `run` and `fio` have fio's own grammar and are parsed by `fathom-plan`; here they are only described.
//!
//! ```
//! let arguments = ["/dev/nvme0n1".to_owned(), "--runtime=30s".to_owned()];
//! let quick = fathom_cli::parse::<fathom_cli::QuickArgs>(&arguments).expect("valid arguments");
//! assert_eq!(quick.args.runtime.as_secs(), 30);
//! ```

mod commands;
mod common;
mod parse;
mod program;
mod run;
mod table;
mod values;

pub use self::commands::agent::AgentArgs;
pub use self::commands::app::{
    AppArgs, AppDistribution, AppEngine, AppJournal, AppMemory, AppSetting, AppTransaction,
};
pub use self::commands::capture::CaptureArgs;
pub use self::commands::check::CheckArgs;
pub use self::commands::compare::CompareArgs;
pub use self::commands::completions::CompletionsArgs;
pub use self::commands::devices::{DevicesArgs, ScratchAction};
pub use self::commands::durable::{CertificateFormat, DurableAction, DurableArgs, UnreadableKind};
pub use self::commands::explain::ExplainArgs;
pub use self::commands::export::{ExportArgs, ExportFormat};
pub use self::commands::fit::FitArgs;
pub use self::commands::fsync::FsyncArgs;
pub use self::commands::help::HelpArgs;
pub use self::commands::import::ImportArgs;
pub use self::commands::limits::LimitsArgs;
pub use self::commands::observe::ObserveArgs;
pub use self::commands::plot::PlotArgs;
pub use self::commands::profile::{FidelityArgs, ProfileArgs, ProfileFormat, TraceOptions};
pub use self::commands::quick::QuickArgs;
pub use self::commands::ready::{ReadyArgs, ready_figure};
pub use self::commands::replay::{ReplayArgs, ReplayMapping};
pub use self::commands::report::{ReportArgs, ReportFormat};
pub use self::commands::resume::ResumeArgs;
pub use self::commands::rm::RmArgs;
pub use self::commands::runs::RunsArgs;
pub use self::commands::search::{ArrivalProcess, LoadUnit, SearchArgs};
pub use self::commands::serve::ServeArgs;
pub use self::commands::show::{ShowArgs, ShowFormat};
pub use self::commands::sim::SimArgs;
pub use self::commands::size::{SizeArgs, SizeFormat};
pub use self::commands::spec::SpecArgs;
pub use self::commands::store::{StoreAction, StoreArgs};
pub use self::commands::suite::{Purge, SuiteArgs};
pub use self::commands::sweep::SweepArgs;
pub use self::commands::version::VersionArgs;
pub use self::commands::why::WhyArgs;
pub use self::commands::witness::WitnessArgs;
pub use self::common::{
    ColorMode, DisplayOptions, ExperimentOptions, HostsOptions, LoadOptions, MachineOptions,
    MeasurementFormat, MeasurementOptions, NEED_SSH, ObserverOptions, OutputFormat, OutputOptions,
    ResultFormat, ResultOptions, SSH_ALONE, SheetOptions, StoreOptions, StoreSource,
};
pub use self::parse::{CommandArgs, ParseStop, Parsed, parse};
pub use self::program::{complete, program, program_help, unknown_command};
pub use self::run::run_command;
pub use self::table::{CommandGroup, CommandSpec, command, command_help, commands};
