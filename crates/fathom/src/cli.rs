//! From the arguments of a command to its outcome.

use fathom_cli::{CommandArgs, ParseStop};

use crate::outcome::Outcome;
use crate::print::{self, eprint_line, print};
use crate::screen;
use crate::session::Session;

/// Parses the arguments of a command and carries it out, or prints its help or an error.
pub fn command<T: CommandArgs>(
    arguments: &[String],
    act: impl FnOnce(T) -> Result<Outcome, String>,
) -> Outcome {
    match fathom_cli::parse::<T>(arguments) {
        Ok(parsed) => {
            screen::set_color(parsed.display.color);
            screen::set_width(parsed.display.width);
            print::set_quiet(parsed.display.quiet);
            act(parsed.args).unwrap_or_else(|message| refuse(T::NAME, &message))
        }
        Err(ParseStop::Help(text)) => print(&text),
        Err(ParseStop::Mistake(message)) => refuse(T::NAME, &message),
    }
}

/// As [`command`], for a command that measures: on the machine that its arguments name.
pub fn measuring_command<T: CommandArgs>(
    arguments: &[String],
    act: impl FnOnce(&Session, T) -> Result<Outcome, String>,
) -> Outcome {
    command(arguments, |args: T| {
        let session = Session::open(&args.machine(), args.hosts())?;
        act(&session, args)
    })
}

/// Prints why a command was not carried out.
pub fn refuse(command: &str, message: &str) -> Outcome {
    eprint_line!("fathom {command}: {message}");
    Outcome::Refused
}
