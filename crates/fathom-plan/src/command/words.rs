//! The options of the command line itself, beside those of jobs.

use std::fmt::Write;

use fathom_model::Personality;

/// Whether an option of the command line takes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No argument.
    Nothing,
    /// An argument, after `=` or as the next word.
    Argument,
    /// An argument after `=`, or none.
    MayArgument,
}

/// One option of the command line.
#[derive(Clone, Copy, Debug)]
pub struct CommandOption {
    /// Name without dashes.
    pub name: &'static str,
    /// One letter that does the same.
    pub letter: Option<char>,
    /// Whether it takes an argument.
    pub takes: Takes,
    /// What the argument stands for.
    pub argument: &'static str,
    /// Only known to `fathom run`.
    pub ours: bool,
    /// One line of help; for options that are refused, what to do instead.
    pub help: &'static str,
}

const fn word(
    name: &'static str,
    letter: char,
    takes: Takes,
    argument: &'static str,
    help: &'static str,
) -> CommandOption {
    let letter = if letter == ' ' { None } else { Some(letter) };
    CommandOption {
        name,
        letter,
        takes,
        argument,
        ours: false,
        help,
    }
}

const fn ours(name: &'static str, argument: &'static str, help: &'static str) -> CommandOption {
    CommandOption {
        name,
        letter: None,
        takes: Takes::Argument,
        argument,
        ours: true,
        help,
    }
}

use Takes::{Argument, MayArgument, Nothing};

/// Options of the command line that are obeyed.
pub(super) const OBEYED: &[CommandOption] = &[
    word("output", 'o', Argument, "FILE", "write results to FILE"),
    word(
        "output-format",
        'F',
        Argument,
        "LIST",
        "normal, terse, json, json+; several with commas between",
    ),
    word(
        "minimal",
        'm',
        Nothing,
        "",
        "the same as --output-format=terse",
    ),
    word("append-terse", 'f', MayArgument, "", "terse output too"),
    word(
        "terse-version",
        'V',
        Argument,
        "N",
        "fields of the terse output, 2 to 5",
    ),
    word(
        "status-interval",
        'L',
        Argument,
        "TIME",
        "print the state of the run this often",
    ),
    word(
        "eta",
        'e',
        Argument,
        "WHEN",
        "show progress: always, never or auto",
    ),
    word(
        "eta-newline",
        'E',
        Argument,
        "TIME",
        "begin a fresh line of progress this often",
    ),
    word(
        "eta-interval",
        'O',
        Argument,
        "TIME",
        "renew the progress this often",
    ),
    word(
        "bandwidth-log",
        'b',
        MayArgument,
        "PREFIX",
        "log the bandwidth of all jobs together",
    ),
    word(
        "idle-prof",
        'I',
        Argument,
        "HOW",
        "report idle CPU time: system, percpu or calibrate",
    ),
    word(
        "section",
        'x',
        Argument,
        "NAME",
        "only this job of the job files; may be repeated",
    ),
    word("parse-only", 'P', Nothing, "", "check the jobs and stop"),
    word(
        "showcmd",
        's',
        Nothing,
        "",
        "print the jobs as a command line and stop",
    ),
    word(
        "readonly",
        'r',
        Nothing,
        "",
        "refuse jobs that write or trim",
    ),
    word(
        "warnings-fatal",
        'w',
        Nothing,
        "",
        "refuse to run when there is a warning",
    ),
    word("version", 'v', Nothing, "", "print the version"),
    word("help", 'h', Nothing, "", "print this help"),
    word(
        "cmdhelp",
        'c',
        MayArgument,
        "OPTION",
        "explain a job option, or all",
    ),
    word(
        "enghelp",
        'i',
        MayArgument,
        "ENGINE",
        "list the engines, or explain one",
    ),
    word(
        "inflate-log",
        'X',
        Argument,
        "FILE",
        "print a compressed log",
    ),
    word(
        "aux-path",
        'K',
        Argument,
        "FOLDER",
        "folder of the files a run leaves behind",
    ),
    word(
        "trigger-file",
        'W',
        Argument,
        "FILE",
        "end the jobs when FILE appears, then run the trigger",
    ),
    word(
        "trigger-timeout",
        'B',
        Argument,
        "TIME",
        "end the jobs after this time, then run the trigger",
    ),
    word(
        "trigger",
        'H',
        Argument,
        "COMMAND",
        "shell command to run once the jobs have ended and their states are saved",
    ),
    word(
        "debug",
        'd',
        Argument,
        "WHAT",
        "accepted; findings explain a run here",
    ),
    word(
        "max-jobs",
        'j',
        Argument,
        "N",
        "accepted; there is no table to size",
    ),
    word(
        "alloc-size",
        'a',
        Argument,
        "KIB",
        "accepted; there is no pool to size",
    ),
    ours(
        "set",
        "[JOB.]OPTION=VALUE",
        "override what the jobs say; shown in every result",
    ),
    ours(
        "destroy",
        "CODE",
        "confirm the target whose content may be lost",
    ),
    ours(
        "store",
        "FILE",
        "keep the result in the store FILE instead of your own",
    ),
    CommandOption {
        takes: Nothing,
        ..ours("no-store", "", "do not keep the result")
    },
    CommandOption {
        takes: Nothing,
        ..ours(
            "explain",
            "",
            "tell what will run, where, how long and how much, and stop",
        )
    },
    CommandOption {
        takes: Nothing,
        ..ours(
            "dry-run",
            "",
            "show each target and what would be done to it, and stop",
        )
    },
];

/// Options fio has and this program has not; the help says what to do instead.
pub(super) const REFUSED: &[CommandOption] = &[
    word(
        "latency-log",
        'l',
        Argument,
        "",
        "use write_lat_log in the job",
    ),
    word(
        "profile",
        'p',
        Argument,
        "",
        "write the jobs of the profile out in a job file",
    ),
    word("server", 'S', MayArgument, "", "start fathom on each host"),
    word("daemonize", 'D', Argument, "", "start fathom on each host"),
    word("client", 'C', Argument, "", "start fathom on each host"),
    word(
        "remote-config",
        'R',
        Argument,
        "",
        "start fathom on each host",
    ),
    word(
        "trigger-remote",
        'J',
        Argument,
        "",
        "use --trigger on each host",
    ),
    word(
        "cpuclock-test",
        'T',
        Nothing,
        "",
        "leave it out; the clock is checked in every run",
    ),
    word("crctest", 'G', MayArgument, "", "leave it out"),
    word("memcpytest", 'M', MayArgument, "", "leave it out"),
    word(
        "merge-blktrace-only",
        'A',
        Nothing,
        "",
        "merge the traces with blkparse(1)",
    ),
];

/// The options of the command line for the help text, those of `fathom run` included.
#[must_use]
pub fn command_options() -> &'static [CommandOption] {
    OBEYED
}

/// Options of the command line that are obeyed.
pub(crate) fn obeyed_options() -> &'static [CommandOption] {
    OBEYED
}

/// Options of fio's command line that are refused.
pub(crate) fn refused_options() -> &'static [CommandOption] {
    REFUSED
}

/// The help text of `program`: usage, and the options of the command line in a line each.
#[must_use]
pub fn help_text(program: &str, personality: Personality) -> String {
    let mut out = format!("{program} [options] [job options] [job files]\n");
    for option in OBEYED
        .iter()
        .filter(|option| personality == Personality::Fathom || !option.ours)
    {
        let value = match option.takes {
            Takes::Nothing => String::new(),
            Takes::Argument => format!("={}", option.argument),
            Takes::MayArgument if option.argument.is_empty() => String::new(),
            Takes::MayArgument => format!("[={}]", option.argument),
        };
        let _ = writeln!(
            out,
            "  {:<32} {}",
            format!("--{}{value}", option.name),
            option.help
        );
    }
    out.push_str("A job begins with --name=NAME; --cmdhelp=all lists the options of jobs.\n");
    out
}
