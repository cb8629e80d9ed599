//! The command line: arguments into an invocation, and sections into a command line.

mod arguments;
mod invocation;
mod parse;
mod showcmd;
mod words;

pub use self::invocation::{
    Action, Eta, IdleProf, Invocation, OutputFormat, Reporting, TriggerWish,
};
pub use self::parse::parse_args;
pub use self::showcmd::show_command;
pub use self::words::{CommandOption, Takes, command_options, help_text};
pub(crate) use self::words::{obeyed_options, refused_options};
