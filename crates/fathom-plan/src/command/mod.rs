//! The command lines of `run` and `fio`: arguments to an invocation, and sections to a command line.

mod arguments;
mod client;
mod invocation;
mod parse;
mod profile;
mod showcmd;
mod switches;

pub use self::arguments::planning_arguments;
pub use self::client::client_hosts;
pub use self::invocation::{
    Action, AgentOptions, ClientOption, ColorMode, Eta, IdleProf, Invocation, OutputFormat,
    Reporting, SimulatedMachine, TriggerOptions,
};
pub use self::parse::parse_args;
pub use self::showcmd::show_command;
pub(crate) use self::switches::refused_switches;
pub use self::switches::{ArgumentUse, Switch, help_text, switches};
