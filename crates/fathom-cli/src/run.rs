//! `run` and `fio`: described for help, man pages and completions. Their arguments are parsed by `fathom-plan`.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Command, ValueHint};
use fathom_model::Personality;
use fathom_plan::{ArgumentUse, Switch, option_groups, switches};

/// About, details, examples of `run`.
pub(crate) const RUN_TEXT: (&str, &str, &str) = (
    "Run fio job files, or jobs from the command line",
    "Jobs come from job files (`-` is standard input), from the command line, or both. Any job option of fio can be \
     given as --OPTION=VALUE, --OPTION VALUE or -OPTION=VALUE; --cmdhelp lists them, --cmdhelp=OPTION explains one.\n\n\
     k, m and g are powers of 1024, as in fio; 4KiB and 1min have their usual meaning too. Options that are \
     often misunderstood print a warning.\n\n\
     A block device, or a file with data that fathom did not write, is never written without --destroy=CODE. A device \
     that is mounted or otherwise in use is never written.",
    "Examples:
  fathom run jobs/first-look.fio
  fathom run --name=oltp --rw=randread --bs=4k --iodepth=32 --size=1g --filename=./fathom.data
  fathom run job.fio --set iodepth=64 --output-format=json --output=result.json
  fathom run job.fio --machine nvme-ssd        the same on a simulated drive
  fathom run job.fio --explain        show what the jobs would do
  fathom run job.fio --hosts=web1,web2 --nats=nats://10.0.0.1        on both hosts at the same time",
);

/// About, details, examples of `fio`.
pub(crate) const FIO_TEXT: (&str, &str, &str) = (
    "Run fio jobs with exactly fio's semantics, output and exit codes",
    "Options, units, output and exit codes are those of fio. fathom does the same when it is called as `fio`, for example \
     by a symbolic link.",
    "Examples:
  fathom fio job.fio
  fathom fio --name=read --rw=randread --size=1g --filename=./fathom.data --output-format=json",
);

const FILES: &str = "job-files";

/// Switches that belong to the heading Output.
const OUTPUT: [&str; 16] = [
    "output",
    "output-format",
    "minimal",
    "append-terse",
    "terse-version",
    "status-interval",
    "eta",
    "eta-newline",
    "eta-interval",
    "bandwidth-log",
    "idle-prof",
    "format",
    "json",
    "quiet",
    "color",
    "width",
];
const STORE: [&str; 3] = ["store", "no-store", "label"];
const SIMULATION: [&str; 3] = ["machine", "link", "seed"];

/// Whether the arguments of a command are those of fio.
pub(crate) fn has_fio_grammar(name: &str) -> bool {
    matches!(name, "run" | "fio")
}

/// `fathom run` with its switches.
#[must_use]
pub fn run_command() -> Command {
    crate::table::command("run")
}

pub(crate) fn add_run_options(command: Command) -> Command {
    with_switches(command, Personality::Fathom)
}

pub(crate) fn add_fio_options(command: Command) -> Command {
    with_switches(command, Personality::Fio)
}

fn with_switches(command: Command, personality: Personality) -> Command {
    let files = Arg::new(FILES)
        .value_name("JOB.fio")
        .num_args(0..)
        .value_hint(ValueHint::FilePath)
        .help("Job files; `-` is standard input");
    command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(files)
        .args(switches(personality).map(switch_arg))
}

fn switch_arg(option: &Switch) -> Arg {
    let heading = match option.name {
        name if OUTPUT.contains(&name) => "Output",
        name if STORE.contains(&name) => "Store",
        name if SIMULATION.contains(&name) => "Simulation",
        _ => "Options",
    };
    let arg = Arg::new(option.name)
        .long(option.name)
        .help(sentence(option.help))
        .help_heading(heading);
    let arg = match option.letter {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    match option.takes {
        ArgumentUse::Never => arg.action(ArgAction::SetTrue),
        ArgumentUse::Required if option.name != "output-format" && !option.choices.is_empty() => {
            arg.value_name(option.argument)
                .value_parser(option.choices.to_vec())
        }
        ArgumentUse::Required => arg.value_name(option.argument),
        ArgumentUse::Optional if option.argument.is_empty() => arg.action(ArgAction::SetTrue),
        ArgumentUse::Optional => arg
            .value_name(option.argument)
            .num_args(0..=1)
            .require_equals(true),
    }
}

/// A line of help with a capital letter, as in the help of the other commands.
fn sentence(help: &str) -> String {
    let mut letters = help.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Adds the job options of fio by group. `--help` leaves them out, since there are hundreds.
pub(crate) fn add_job_options(mut command: Command) -> Command {
    let mut known: BTreeSet<String> = command
        .get_arguments()
        .filter_map(|arg| arg.get_long().map(str::to_owned))
        .collect();
    for (title, rows) in option_groups() {
        for row in *rows {
            if !known.insert(row.name.to_owned()) {
                continue;
            }
            let arg = Arg::new(row.name)
                .long(row.name)
                .help(sentence(row.help))
                .value_name("VALUE")
                .num_args(0..=1)
                .help_heading(format!("Job options: {title}"));
            command = command.arg(match row.alias {
                Some(alias) if known.insert(alias.to_owned()) => arg.visible_alias(alias),
                _ => arg,
            });
        }
    }
    command
}
