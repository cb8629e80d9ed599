//! What `fathom help` says.

use crate::outcome::Outcome;
use crate::print::{eprint_line, print};

const HELP: &str = "\
fathom measures what a storage device can really do, and says why.

usage: fathom COMMAND ...

  quick PATH           the answer in a minute: what the disk under PATH can do
  run JOB.fio...       run fio job files; options of fio's command line work too
  sweep PATH --axis bs=4k,16k --axis iodepth=1..64*2
                       a grid of cells over a path, or over a job file
  search PATH --slo 'p99<=1ms'
                       the most IOPS within limits on latency, the curve of latency
                       over load, and its knee
  suite [NAME PATH]    a named procedure (hero, surface, mysql-16k, pts-iops, ...);
                       without a name, the list of them
  resume [RUN]         go on with an experiment that was interrupted or killed
  fio ...              the same with fio's exact meaning, output and exit codes
                       (also when the program is called as `fio`)
  devices [PATH...]    what is there, how it is joined, its limits and health,
                       what is on it, and the code that confirms its
                       destruction; --json for programs
  compare A B...       whether results or groups of repeats differ, by how much, and
                       how sure that is
  plot RESULT... -o F  charts of results as SVG, PNG, HTML or CSV
  report RESULT... -o F
                       one offline page with verdict, figures, charts and plan
  import PATH...       results of fio of any version, with their logs, as ours
  check RESULT.json... what is wrong with results of fio, or with figures from a page
  spec [PATH]          the data sheet of a device; with --run whether it is kept
                       (--sheet=ID, --specs=DIR, --runtime=S, --writes, --json)
  runs [TEXT...]       the results that are kept; --json for programs
  show [RUN]           one of them, as it was told when it was measured
  export RUN...        their figures as CSV, JSON or Parquet
  rm RUN...            remove them
  explain [CODE]       what a finding means and what to do about it
  help [run]           this text, or that of a command
  help compatibility   what becomes of every option of fio
  version              the version

First steps:
  fathom quick .
  fathom run jobs/first-look.fio
  fathom run --name=read --rw=randread --size=1g --filename=./fathom.data

Exit codes: 0 valid, 1 invalid or an I/O failed, 2 refused, 130 interrupted.
";

const RUN: &str = "\
usage: fathom run [OPTIONS] JOB.fio... | --name=JOB --OPTION=VALUE...

Jobs come from job files (`-` is the standard input), from the command line, or both.
Any job option of fio can be given as --OPTION=VALUE, --OPTION VALUE or -OPTION=VALUE;
--cmdhelp lists them, --cmdhelp=OPTION explains one.

What is run
  --section=NAME           only this job of the files; can be repeated
  --set [JOB.]OPTION=VALUE override what a job file says; shown in the result
  --readonly               refuse jobs that write or trim
  --destroy=CODE           allow writing to a target that holds data; the refusal
                           and `fathom devices PATH` print the code
  --parse-only             check the jobs and stop
  --explain                tell what will run, in which order, where, how long and
                           how much, and stop
  --dry-run                show each target and what would be done to it, and stop
  --showcmd                print the jobs as a command line and stop
  --warnings-fatal         refuse when there is a warning

How it is reported
  --output=FILE            write the result to FILE
  --output-format=F[,F]    normal, terse, json, json+
  --minimal                the same as --output-format=terse
  --terse-version=N        2 to 5
  --eta=WHEN               always, never or auto
  --store=FILE             keep the result in FILE instead of your own store
  --no-store               do not keep it

A block device or a file with foreign data is never written without --destroy=CODE;
one that is mounted or otherwise in use is never written at all.
";

const QUICK: &str = "\
usage: fathom quick PATH [OPTIONS]

What the storage under PATH can do, in about a minute: small random reads and writes,
alone and many at a time, large ones in order, a mix, and commits.

PATH is a folder (a file is made in it, and removed at the end), a file, or a block
device. A file that fathom did not make, and a device, are only read.

  --for=TIME     how long it may take in all; 60s by default, 10s at least
  --read-only    write nothing; PATH must be a file or a device
  --json         fio's JSON document with what fathom adds, instead of the table
  --keep         leave the file where it is; the next quick look is then faster
  --show         print the job file it would run, and stop
  --sheet=ID     hold the figures against this data sheet; without it against the one
                 that fits the device (`fathom spec` lists them)
  --specs=DIR    data sheets of your own besides those in ~/.config/fathom/specs
  --store=FILE   keep the result in FILE instead of your own store
  --no-store     do not keep it

The job file it prints with --show runs with `fathom run` too.
";

/// The help of `quick`.
pub fn quick() -> Outcome {
    print(QUICK)
}

const SWEEP: &str = "\
usage: fathom sweep [JOB.fio] PATH... --axis NAME=VALUES...

Measures every combination of the values, coarse ones first: the corners of the grid,
its middle, then what lies between. A sweep that is cut off has seen all of it.

PATH is a folder (a file is made in it, and removed at the end), a file, or a block
device. Without a job file the load is random reads of 4 KiB, 16 at once, direct.
Several PATHs are loaded each alone and all together; what they cost each other is told.

  --axis NAME=VALUES  what is varied, once for each axis: any job option, or target
                      (or fs): folders on different file systems, files or devices,
                      which are then compared by name and kind of file system.
                      VALUES are a list (4k,16k), a range (1..8, 1..64*2, 4k..64k+4k),
                      powers (2^0..6), or several of these; semicolons separate values
                      that have commas
  --for=TIME          how long each cell takes; 10s unless the job file says
  --budget=TIME       how long it may take in all; sets the time of a cell unless --for does
  --repeat=N          measure each cell N times, in rounds, and give a 95 % interval
  --precision=P%      repeat until the interval is within P % of the mean
  --adaptive          with the axes iodepth and numjobs: measure one line over what is
                      outstanding, check it at three points, and fill the grid only
                      where few and many jobs differ by more than --agree=P% (10%)
  --alone             do not load several PATHs together
  --set NAME=VALUE    an option of all cells
  --size=SIZE         how much of the target is used
  --destroy=CODE      allow writing to a target that holds data
  --read-only         write nothing
  --keep              leave the file that was made where it is
  --store=FILE        keep the cells there; --no-store keeps nothing
  --dry-run           show the cells in their order and what they take, and stop
  --json              the result as a JSON document
  --watch             the full-screen view: throughput, latencies over time, and
                      findings as they appear
  --events=FILE       what happens as lines of JSON, for programs; - is the
                      standard output

Each cell is kept the moment it exists: a sweep that is interrupted or killed goes on with
`fathom resume`.
";

/// The help of `sweep`.
pub fn sweep() -> Outcome {
    print(SWEEP)
}

const SEARCH: &str = "\
usage: fathom search PATH|JOB.fio [PATH] [--slo LIMIT]... [OPTIONS]

The largest load that keeps limits on latency. A ladder of depths in a closed loop comes
first; then loads are offered in an open loop (response times from due to completed),
doubled or halved by short trials, then halved in the logarithm by long ones, in which a
queue that grows shows; then the ends of the interval are looked for: loads that keep or
break the limits in all six parts of a trial; then the curve up to there is drawn.
Without a limit only the curves and their knees are measured.

PATH is a folder (a file is made in it, and removed at the end), a file, or a block
device. Without a job file the load is random reads of 4 KiB, direct.

  --slo LIMIT         a limit, such as p99<=1ms; several must hold together. Of mean,
                      max, p50, p90, p99, p99.9 and p99.99
  --max iops|mbps     what is told first; iops by default
  --arrivals=KIND     poisson (as of many users, the default) or even (equal distances)
  --for=TIME          how long a short trial takes; 2s by default, longer where a
                      percentile needs more I/Os. A long one takes six times that, and
                      up to a minute where limit and precision need it
  --budget=TIME       how long it may take in all
  --precision=P%      how close the search comes to the edge; 1% by default
  --set NAME=VALUE    an option of all trials
  --size=SIZE         how much of the target is used
  --destroy=CODE      allow writing to a target that holds data
  --read-only         write nothing
  --keep              leave the file that was made where it is
  --json              the result as a JSON document
  --watch             the full-screen view; --events=FILE: what happens as lines of JSON
  --store=FILE        keep the result there; --no-store keeps nothing
";

/// The help of `search`.
pub fn search() -> Outcome {
    print(SEARCH)
}

const SUITE: &str = "\
usage: fathom suite [NAME PATH] [OPTIONS]

Carries out a named procedure and tells what it came to, step by step. Without a name it
lists them. What a procedure takes in time and writes is told before it begins.

PATH is a folder (a file is made in it, and removed at the end), a file, or a block
device. What may not be written is only read, and steps that write are left out.

  --dry-run        tell what would be done and how long it takes, and stop
  --size=SIZE      how much of the target is used
  --destroy=CODE   allow writing to a target that holds data
  --purge=HOW      where a procedure wants a purge: discard (all of the target is
                   discarded), zeros (all of it is written), or done (you did it, with
                   the device's own format); without it nothing is purged, and the
                   result says so
  --faster=N       all times N times shorter: a rehearsal, not the procedure
  --suites=DIR     recipes of your own besides those in ~/.config/fathom/suites
  --read-only      write nothing
  --keep           leave the file that was made where it is
  --json           the result as a JSON document
  --watch          the full-screen view
  --events=FILE    what happens as lines of JSON, for programs; - is the standard output
  --store=FILE     keep the result there; --no-store keeps nothing

Recipes are TOML; docs/recipes.md tells how to write one.
";

/// The help of `suite`.
pub fn suite() -> Outcome {
    print(SUITE)
}

const DEVICES: &str = "\
usage: fathom devices [PATH...] [--json]

Who the devices of this machine are, or those below PATH (a device, a file or a folder): how
each is joined, its limits, cache and health, what is on it, and the code that confirms its
destruction. Nothing is written. --json prints it for programs.
";

const SPEC: &str = "\
usage: fathom spec [PATH] [OPTIONS]

Without PATH the list of data sheets; with it the sheet of the device below PATH.

  --run             measure each figure under the conditions of the sheet, and say why it is
                    missed; --runtime=S is the time of each, 1 to 86400 seconds
  --writes          measure writes as well; --destroy=CODE where the target holds data
  --sheet=ID        this sheet instead of the one that fits
  --specs=DIR       data sheets of your own besides those in ~/.config/fathom/specs
  --json            for programs
";

const EXPLAIN: &str = "\
usage: fathom explain [CODE]

What a finding means and what to do about it, by its number (F012) or its name
(TOOL_BOUND); without CODE the list of all.
";

/// The help of a command that is asked for it by `--help`, where it has no reader of arguments that knows it.
pub fn asked(word: &str, rest: &[String]) -> Option<Outcome> {
    let wants = rest
        .iter()
        .any(|argument| argument == "--help" || argument == "-h");
    let has_none = matches!(word, "devices" | "spec" | "explain");
    (wants && has_none).then(|| command(&[word.to_owned()]))
}

/// Prints the help of the program or of a command.
pub fn command(rest: &[String]) -> Outcome {
    match rest.first().map(String::as_str) {
        Some("run" | "fio") => print(RUN),
        Some("quick") => print(QUICK),
        Some("sweep") => sweep(),
        Some("search") => search(),
        Some("suite") => suite(),
        Some("devices") => print(DEVICES),
        Some("spec") => print(SPEC),
        Some("explain") => print(EXPLAIN),
        Some("compatibility") => print(&fathom_plan::compatibility()),
        Some("compare") => crate::compare::help(),
        Some("check") => crate::check::help(),
        Some("plot") => crate::plot::help(),
        Some("report") => crate::report::help(),
        Some("import") => crate::import::help(),
        _ => print(HELP),
    }
}

/// The help of `run`.
pub fn run() -> Outcome {
    print(RUN)
}

/// Without a word, the help goes to the error stream: nothing was done.
pub fn brief() -> Outcome {
    eprint_line!("{}", HELP.trim_end());
    Outcome::Refused
}

/// Prints the version.
pub fn version() -> Outcome {
    print(concat!("fathom ", env!("CARGO_PKG_VERSION"), "\n"))
}

/// A word that is none of ours.
pub fn unknown(word: &str) -> Outcome {
    const WORDS: [&str; 20] = [
        "quick", "sweep", "search", "suite", "resume", "run", "fio", "compare", "check", "plot",
        "report", "devices", "spec", "runs", "show", "export", "rm", "explain", "help", "version",
    ];
    let begins = WORDS
        .into_iter()
        .find(|known| known.starts_with(word) || word.starts_with(known));
    let close = begins.or_else(|| fathom_plan::closest(word, WORDS.into_iter()));
    let is_job =
        word.starts_with('-') || word.ends_with(".fio") || std::path::Path::new(word).is_file();
    let advice = match close {
        Some(known) => format!("did you mean `fathom {known}`?"),
        None if is_job => format!("did you mean `fathom run {word}`?"),
        None => "`fathom help` lists the commands".to_owned(),
    };
    eprint_line!(
        "fathom: there is no command '{}': {advice}",
        word.escape_debug()
    );
    Outcome::Refused
}
