//! Parses the arguments of one command.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command};

use crate::common::{ColorMode, DisplayOptions, MachineOptions};
use crate::table::{self, bin_name};

/// The arguments of a command.
pub trait CommandArgs: Args {
    /// Name of the command.
    const NAME: &'static str;

    /// Receives the options of every command.
    fn display(&mut self, _display: DisplayOptions) {}

    /// Receives the values of options grouped by occurrence.
    fn occurrences(&mut self, _matches: &ArgMatches) {}

    /// The machine that the command measures.
    fn machine(&self) -> MachineOptions {
        MachineOptions::default()
    }

    /// The hosts that measure in place of this one.
    fn hosts(&self) -> Option<&str> {
        None
    }

    /// Sorts operands and checks options against each other.
    ///
    /// # Errors
    /// When options contradict each other.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// The arguments of a command, parsed.
#[derive(Clone, Debug)]
pub struct Parsed<T> {
    /// Its own options.
    pub args: T,
    /// Options of every command.
    pub display: DisplayOptions,
}

/// Why there are no arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseStop {
    /// Help was requested: this text.
    Help(String),
    /// A mistake: the message, without the name of the command.
    Mistake(String),
}

impl ParseStop {
    /// The text.
    #[must_use]
    pub fn into_text(self) -> String {
        match self {
            ParseStop::Help(text) | ParseStop::Mistake(text) => text,
        }
    }
}

/// Parses the arguments of the command `T::NAME`.
///
/// # Errors
/// A request for help, or a mistake with a suggestion.
pub fn parse<T: CommandArgs>(arguments: &[String]) -> Result<Parsed<T>, ParseStop> {
    let command = table::command(T::NAME);
    let matches = command
        .no_binary_name(true)
        .try_get_matches_from(arguments)
        .map_err(|error| stop(&error, arguments))?;
    let mut args = T::from_arg_matches(&matches).map_err(|error| stop(&error, arguments))?;
    let display = display(&matches);
    args.display(display);
    args.occurrences(&matches);
    args.finish().map_err(|mistake| {
        ParseStop::Mistake(format!(
            "{mistake}\n\nFor more information, try '{} --help'.",
            bin_name(T::NAME)
        ))
    })?;
    Ok(Parsed { args, display })
}

fn display(matches: &ArgMatches) -> DisplayOptions {
    DisplayOptions {
        quiet: matches.get_flag("quiet"),
        color: matches
            .get_one::<ColorMode>("color")
            .copied()
            .unwrap_or_default(),
        width: matches.get_one::<usize>("width").copied(),
    }
}

/// A message of clap in the format of other messages: without `error: `, and without control characters.
fn stop(error: &clap::Error, arguments: &[String]) -> ParseStop {
    let mut text = error.render().to_string();
    if error.kind() == ErrorKind::DisplayHelp {
        return ParseStop::Help(text);
    }
    for argument in arguments {
        if argument.chars().any(char::is_control) {
            text = text.replace(argument.as_str(), &argument.escape_debug().to_string());
        }
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    ParseStop::Mistake(text.trim_end().to_owned())
}

/// Adds the options of every command.
pub(crate) fn with_display_options(command: Command) -> Command {
    DisplayOptions::augment_args(command)
}
