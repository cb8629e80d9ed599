//! Text into a plan: fio's job files and command lines, read with every value's place kept.
//!
//! This crate opens no file and reads no environment: [`FileReader`] and [`HostInfo`] are handed in.

mod command;
mod diagnostic;
mod experiment;
mod host;
mod iolog;
mod jobfile;
mod limits;
mod options;
mod reference;
mod resolve;
mod span;
mod text;
mod values;

pub use self::command::{
    Action, ArgumentUse, ColorMode, Eta, IdleProf, Invocation, OutputFormat, Reporting, Switch,
    TriggerOptions, help_text, parse_args, show_command, switches,
};
pub use self::diagnostic::{Diagnostic, Severity};
pub use self::experiment::{
    Axis, AxisError, Level, PlannedCell, Quick, QuickError, Recipe, RecipeError, Rounds, RunTarget,
    Setting, Step, Sweep, Tracked, coarse_first, file_value, merge_plans, read_recipe,
};
pub use self::host::{FileReader, HostInfo};
pub use self::iolog::{TraceError, TraceReader, TraceSummary, summarise_trace};
pub use self::jobfile::{Assignment, JobFile, Section, Source};
pub use self::options::{
    Kind, OptionRow, Support, closest_option, command_help, engine_help, find, option_groups,
    option_help, options, read_value, value_description,
};
pub use self::reference::{ListedOption, ListedValue, compatibility, job_option_list, switch_list};
pub use self::resolve::{Planned, plan, read_job_files, show_commands};
pub use self::span::Span;
pub use self::text::closest;
pub use self::values::{
    ParseContext, QuantityError, Size, Unit, Value, ValueError, parse_count, parse_percent,
    parse_rate, parse_size, parse_time,
};
