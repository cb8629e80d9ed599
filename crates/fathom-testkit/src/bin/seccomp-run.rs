//! Runs a program without access to io_uring or native asynchronous I/O.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use fathom_testkit::seccomp::{Denied, deny};

const USAGE: &str = "usage: seccomp-run --deny io_uring|io_setup [--deny ...] -- COMMAND [ARGS...]";

fn main() -> ExitCode {
    let why = match parse(std::env::args_os().skip(1)) {
        Ok((denied, command)) => run(&denied, &command),
        Err(why) => format!("{why}\n{USAGE}"),
    };
    // Reached only if the program did not start; 126 is the exit code of shells in that case.
    let _ = writeln!(std::io::stderr(), "seccomp-run: {why}");
    ExitCode::from(126)
}

fn parse(args: impl Iterator<Item = OsString>) -> Result<(Vec<Denied>, Vec<OsString>), String> {
    let mut args = args;
    let mut denied = Vec::new();
    loop {
        let arg = args.next().ok_or("no command given")?;
        match arg.to_str() {
            Some("--deny") => denied.push(value(args.next())?),
            Some("--") => break,
            _ => return Err(format!("unknown option `{}`", arg.to_string_lossy())),
        }
    }
    let command: Vec<_> = args.collect();
    if command.is_empty() {
        Err("no command given".into())
    } else {
        Ok((denied, command))
    }
}

fn value(text: Option<OsString>) -> Result<Denied, String> {
    let text = text.ok_or("--deny needs a value")?;
    text.to_string_lossy()
        .parse()
        .map_err(|error: fathom_testkit::seccomp::UnknownCall| error.to_string())
}

fn run(denied: &[Denied], command: &[OsString]) -> String {
    if let Err(why) = deny(denied) {
        return why.to_string();
    }
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    format!("{}: {error}", command[0].to_string_lossy())
}
