//! The program as a whole: its help, its completions, and commands that do not exist.

use std::fmt::Write;

use clap::Command;

use crate::run;
use crate::table::{CommandGroup, build, commands};

const ABOUT: &str = "Measure what a storage device can do, and explain the result";

const EXAMPLES: &str = "\
Examples:
  fathom quick .                      measure the disk of this directory in a minute
  fathom run jobs/first-look.fio      run a fio job file
  fathom run --name=read --rw=randread --size=1g --filename=./fathom.data
  fathom devices                      list the block devices of this machine

Exit codes: 0 valid, 1 invalid or an I/O failed, 2 refused, 130 interrupted.
";

/// The whole program with all commands, for completions and man pages.
#[must_use]
pub fn program() -> Command {
    let program = Command::new("fathom")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_long_help(EXAMPLES)
        .disable_help_subcommand(true)
        .subcommand_required(true);
    commands().iter().fold(program, |program, spec| {
        let command = build(spec);
        program.subcommand(if run::has_fio_grammar(spec.name) {
            run::add_job_options(command)
        } else {
            command
        })
    })
}

/// The help of the program: its commands by group, and examples.
#[must_use]
pub fn program_help() -> String {
    let mut text = format!("{ABOUT}.\n\nUsage: fathom COMMAND [ARGUMENTS]\n\nCommands:\n");
    for group in CommandGroup::ALL {
        let _ = writeln!(text, "\n  {}", group.title());
        for spec in commands().iter().filter(|spec| spec.group == group) {
            let _ = writeln!(text, "    {:<12} {}", spec.name, spec.about);
        }
    }
    text + "\nRun `fathom help COMMAND` for the options of a command.\n\n" + EXAMPLES
}

/// The error message when `word` is not a command.
#[must_use]
pub fn unknown_command(word: &str, is_file: bool) -> String {
    let names = || commands().iter().map(|spec| spec.name);
    let starts = names().find(|name| name.starts_with(word) || word.starts_with(name));
    let similar = starts.or_else(|| fathom_plan::closest(word, names()));
    let is_job = word.starts_with('-') || word.ends_with(".fio") || is_file;
    let shown = word.escape_debug();
    let tip = match similar {
        Some(name) => format!("\n\n  tip: a similar command exists: '{name}'"),
        None if is_job => format!("\n\n  tip: to run jobs, use 'fathom run {shown}'"),
        None => String::new(),
    };
    format!(
        "unknown command '{shown}'{tip}\n\nUsage: fathom COMMAND [ARGUMENTS]\n\nFor more information, try 'fathom help'."
    )
}

/// The completion script for a shell.
#[must_use]
pub fn complete(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(), "fathom", &mut script);
    script
}
