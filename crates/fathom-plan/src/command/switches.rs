//! The switches of the command lines of `fathom run` and `fathom fio`, without the options of jobs.

use std::fmt::Write;

use fathom_model::Personality;

/// Whether a switch takes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentUse {
    /// No argument.
    Never,
    /// An argument, after `=` or as the next argument.
    Required,
    /// An argument after `=`, or none.
    Optional,
}

/// One switch of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Name without dashes.
    pub name: &'static str,
    /// The same switch as one letter.
    pub letter: Option<char>,
    /// Whether it takes an argument.
    pub takes: ArgumentUse,
    /// Placeholder of the argument in help texts.
    pub argument: &'static str,
    /// The valid arguments, where they are a fixed list.
    pub choices: &'static [&'static str],
    /// Only valid in `fathom run`.
    pub fathom_only: bool,
    /// One line of help; for refused switches, what to do instead.
    pub help: &'static str,
}

impl Switch {
    const fn choices(mut self, choices: &'static [&'static str]) -> Self {
        self.choices = choices;
        self
    }
}

/// A switch of fio.
const fn switch(
    name: &'static str,
    letter: char,
    takes: ArgumentUse,
    argument: &'static str,
    help: &'static str,
) -> Switch {
    Switch {
        name,
        letter: Some(letter),
        takes,
        argument,
        choices: &[],
        fathom_only: false,
        help,
    }
}

/// A switch of `fathom run` that fio does not have. Without a placeholder it takes no argument.
const fn own(name: &'static str, argument: &'static str, help: &'static str) -> Switch {
    Switch {
        name,
        letter: None,
        takes: if argument.is_empty() { Never } else { Required },
        argument,
        choices: &[],
        fathom_only: true,
        help,
    }
}

use ArgumentUse::{Never, Optional, Required};

/// The supported switches.
pub(super) const SUPPORTED: &[Switch] = &[
    switch("output", 'o', Required, "FILE", "write results to FILE"),
    switch(
        "output-format",
        'F',
        Required,
        "LIST",
        "normal, terse, json or json+; several separated by commas",
    )
    .choices(&["normal", "terse", "json", "json+"]),
    switch("minimal", 'm', Never, "", "same as --output-format=terse"),
    switch("append-terse", 'f', Optional, "", "add terse output"),
    switch(
        "profile",
        'p',
        Required,
        "NAME",
        "run the jobs of a built-in profile: tiobench",
    )
    .choices(&["tiobench"]),
    switch(
        "terse-version",
        'V',
        Required,
        "N",
        "version of the terse output, 2 to 5",
    )
    .choices(&["2", "3", "4", "5"]),
    switch(
        "status-interval",
        'L',
        Required,
        "TIME",
        "print the results so far at this interval",
    ),
    switch(
        "eta",
        'e',
        Required,
        "WHEN",
        "show progress: always, never or auto",
    )
    .choices(&["always", "never", "auto"]),
    switch(
        "eta-newline",
        'E',
        Required,
        "TIME",
        "begin a new line of progress at this interval",
    ),
    switch(
        "eta-interval",
        'O',
        Required,
        "TIME",
        "update the progress at this interval",
    ),
    switch(
        "bandwidth-log",
        'b',
        Optional,
        "PREFIX",
        "log the bandwidth of all jobs together",
    ),
    switch(
        "idle-prof",
        'I',
        Required,
        "HOW",
        "report idle CPU time: system, percpu or calibrate",
    )
    .choices(&["system", "percpu", "calibrate"]),
    switch(
        "section",
        'x',
        Required,
        "NAME",
        "run only this job of the job files; may be repeated",
    ),
    switch(
        "parse-only",
        'P',
        Never,
        "",
        "check the jobs, not this machine, and exit",
    ),
    switch(
        "showcmd",
        's',
        Never,
        "",
        "print the jobs as a command line and exit",
    ),
    switch("readonly", 'r', Never, "", "refuse jobs that write or trim"),
    switch("warnings-fatal", 'w', Never, "", "treat warnings as errors"),
    switch("version", 'v', Never, "", "print the version"),
    switch("help", 'h', Never, "", "print this help"),
    switch(
        "cmdhelp",
        'c',
        Optional,
        "OPTION",
        "describe a job option, or list all",
    ),
    switch(
        "enghelp",
        'i',
        Optional,
        "ENGINE",
        "list the engines, or describe one",
    ),
    switch(
        "inflate-log",
        'X',
        Required,
        "FILE",
        "decompress a log and print it",
    ),
    switch(
        "aux-path",
        'K',
        Required,
        "DIR",
        "directory for verify states, backups and other auxiliary files",
    ),
    switch(
        "trigger-file",
        'W',
        Required,
        "FILE",
        "end the jobs when FILE exists, then run the trigger command",
    ),
    switch(
        "trigger-timeout",
        'B',
        Required,
        "TIME",
        "end the jobs after this time, then run the trigger command",
    ),
    switch(
        "trigger",
        'H',
        Required,
        "COMMAND",
        "shell command to run after the jobs have ended and the verify states are saved",
    ),
    switch("debug", 'd', Required, "WHAT", "accepted without effect"),
    switch(
        "max-jobs",
        'j',
        Required,
        "N",
        "accepted without effect; the number of jobs is not limited",
    ),
    switch(
        "alloc-size",
        'a',
        Required,
        "KIB",
        "accepted without effect; there is no memory pool",
    ),
    own("format", "FORMAT", "format of the result").choices(&[
        "normal",
        "terse",
        "json",
        "json+",
        "openmetrics",
        "prometheus",
    ]),
    own("json", "", "short for --format=json"),
    own("read-only", "", "write nothing to the target"),
    own(
        "set",
        "[JOB.]OPTION=VALUE",
        "override an option of the jobs; shown in every result",
    ),
    own(
        "destroy",
        "CODE",
        "confirm that the data on this target may be destroyed",
    ),
    own(
        "destroy-all-in",
        "DIR=CODE",
        "confirm that the files of benchmarks in DIR may be overwritten",
    ),
    own(
        "store",
        "STORE",
        "use this store instead of the default one; `none` for no store",
    ),
    own("no-store", "", "do not store the result"),
    own(
        "label",
        "KEY=VALUE",
        "label, such as project=apollo or rack=3; can be repeated",
    ),
    own(
        "explain",
        "",
        "explain what would run, where and for how long, and exit; in `size`, how each number is calculated; in `show`, what limits the result",
    ),
    own(
        "blame",
        "",
        "report where the response time of the I/Os passed, from the load generator to the device",
    ),
    own("dry-run", "", "show what would be done, and exit"),
    own(
        "no-probe",
        "",
        "do not measure other queue depths after the run, which tell what limits it (at most 5 % of its time, and 3 s)",
    ),
    own("quiet", "", "print only results, warnings and errors"),
    own("slo", "LIMIT", "latency limit, such as p99<=1ms"),
    own(
        "junit",
        "FILE",
        "write the verdicts as JUnit test cases to this file too",
    ),
    own(
        "hosts",
        "HOSTS",
        "run on these agents at the same time: a,b,c, all, @GROUP or labels such as rack=3",
    ),
    own("nats", "URL", "address of the NATS server"),
    own(
        "nats-fingerprint",
        "HEX",
        "use TLS with the NATS server, and accept only the certificate with this SHA-256 fingerprint",
    ),
    own(
        "nats-creds",
        "FILE",
        "log in to the NATS server with the credentials in this file (.creds, or the seed of an nkey)",
    ),
    own(
        "key",
        "FILE",
        "sign jobs for agents with the key in this file, which is created if it does not exist",
    ),
    own(
        "ssh",
        "HOSTS",
        "start a private NATS server, and agents over ssh on these hosts, for the time of the run",
    ),
    own(
        "ssh-command",
        "COMMAND",
        "the ssh program with its options [default: ssh]",
    ),
    own(
        "ssh-fathom",
        "PATH",
        "the program fathom on the hosts [default: fathom]",
    ),
    own(
        "ssh-listen",
        "ADDRESS",
        "let the agents connect to this address, with TLS, in place of a tunnel of ssh",
    ),
    own(
        "machine",
        "MODEL|FILE.toml",
        "simulate a machine with this device, or the machine of this file, in virtual time",
    ),
    own(
        "link",
        "LINK",
        "link of the device: sata6, sas12, pcie3x4, fc16, 25gbe, usb10, tb3",
    ),
    own(
        "seed",
        "N",
        "seed of the random numbers of the simulated device [default: 1]",
    ),
    own("width", "COLUMNS", "width of text in columns"),
    own("color", "WHEN", "when to use colour").choices(&["auto", "always", "never"]),
];

/// Switches that only `fathom fio` has: `fathom run` has its own.
pub(super) const FIO_ONLY: &[Switch] = &[switch(
    "client",
    'C',
    Required,
    "HOST",
    "run on the agent of this name, or on those in this file; job files that follow are for it alone",
)];

/// Switches of fio that are not supported; the help states the alternative.
pub(super) const REFUSED: &[Switch] = &[
    switch(
        "latency-log",
        'l',
        Required,
        "",
        "use write_lat_log in the job",
    ),
    switch(
        "server",
        'S',
        Optional,
        "",
        "start `fathom agent --nats=nats://HOST` on each host, and nats-server on one",
    ),
    switch(
        "daemonize",
        'D',
        Required,
        "",
        "start `fathom agent` on each host",
    ),
    switch("client", 'C', Required, "", "use `fathom run --hosts`"),
    switch(
        "remote-config",
        'R',
        Required,
        "",
        "name the job file on this host; it is sent to the agents",
    ),
    switch(
        "trigger-remote",
        'J',
        Required,
        "",
        "use --trigger on each host",
    ),
    switch(
        "cpuclock-test",
        'T',
        Never,
        "",
        "leave it out; every run checks the clock",
    ),
    switch("crctest", 'G', Optional, "", "leave it out"),
    switch("memcpytest", 'M', Optional, "", "leave it out"),
    switch(
        "merge-blktrace-only",
        'A',
        Never,
        "",
        "merge the traces with blkparse(1)",
    ),
];

/// The supported switches of `personality`.
pub fn switches(personality: Personality) -> impl Iterator<Item = &'static Switch> {
    let is_fio = personality == Personality::Fio;
    let own = FIO_ONLY.iter().filter(move |_| is_fio);
    SUPPORTED
        .iter()
        .filter(move |switch| !is_fio || !switch.fathom_only)
        .chain(own)
}

/// Switches of fio that are refused.
pub(crate) fn refused_switches(personality: Personality) -> impl Iterator<Item = &'static Switch> {
    let is_own = |name| FIO_ONLY.iter().any(|switch| switch.name == name);
    let is_fio = personality == Personality::Fio;
    REFUSED
        .iter()
        .filter(move |switch| !(is_fio && is_own(switch.name)))
}

/// The help text of `program`: usage, and the switches of the command line in a line each.
#[must_use]
pub fn help_text(program: &str, personality: Personality) -> String {
    let mut out = format!("{program} [options] [job options] [job files]\n");
    for switch in switches(personality) {
        let value = match switch.takes {
            ArgumentUse::Never => String::new(),
            ArgumentUse::Required => format!("={}", switch.argument),
            ArgumentUse::Optional if switch.argument.is_empty() => String::new(),
            ArgumentUse::Optional => format!("[={}]", switch.argument),
        };
        let _ = writeln!(
            out,
            "  {:<32} {}",
            format!("--{}{value}", switch.name),
            switch.help
        );
    }
    if personality == Personality::Fio {
        for (option, help) in [
            (
                "--destroy=CODE",
                "confirm that the data on this target may be destroyed",
            ),
            (
                "--destroy-all-in=DIR=CODE",
                "confirm that the files of benchmarks in DIR may be overwritten",
            ),
        ] {
            let _ = writeln!(out, "  {option:<32} {help}");
        }
    }
    out.push_str("A job begins with --name=NAME; --cmdhelp=all lists the options of jobs.\n");
    out
}
