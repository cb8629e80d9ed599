//! Text into a plan: fio's job files and command lines, read with every value's place kept.
//!
//! This crate opens no file and reads no environment: [`Includes`] and [`Surroundings`] are handed in.

mod command;
mod diagnostic;
mod experiment;
mod iolog;
mod jobfile;
mod options;
mod resolve;
mod span;
mod surroundings;
mod values;

pub use self::command::{
    Action, CommandOption, Eta, IdleProf, Invocation, OutputFormat, Reporting, Takes, TriggerWish,
    command_options, help_text, parse_args, show_command,
};
pub use self::diagnostic::{Diagnostic, Severity};
pub use self::experiment::{
    Axis, AxisError, Level, PlannedCell, Quick, QuickError, Recipe, RecipeTrouble, Rounds,
    RunTarget, Setting, Step, Sweep, Tracked, beside, coarse_first, file_value, read_recipe,
};
pub use self::iolog::{Survey, TraceError, TraceReader, survey};
pub use self::jobfile::{Assignment, JobFile, Section, Source};
pub use self::options::{
    Kind, OptionRow, Support, Unit, closest, closest_option, cmdhelp, command_help, compatibility,
    engine_help, find, option_groups, options,
};
pub use self::resolve::{Planned, plan, read_job_files, show_commands};
pub use self::span::Span;
pub use self::surroundings::{Includes, Surroundings};
pub use self::values::{Fault, Reading, Size, Value, read_value};
