//! Absurd numbers, through both commands: they are refused with a message that names the limit, or
//! run in little memory. A job never gets more address space than [`MAX_MEMORY_KIB`], and every
//! refusal is immediate.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{Completed, FATHOM, fathom, program, split_args, start};
use fathom_testkit::{Need, Scratch, all_met};

/// Address space of one run: threads and mappings count before their memory is used.
const MAX_MEMORY_KIB: u32 = 1 << 20;
/// CPU seconds for loading libraries, parsing a job file and printing the answer. Wall-clock time
/// would depend on other load.
const MAX_CPU_SECONDS: u32 = 5;

const COMMANDS: [&str; 2] = ["run", "fio"];

/// Options and values beyond any host, and the part of the message that names the limit.
const REFUSED: [(&str, &str, &str); 28] = [
    ("rate", "9223372036854775807", "at most 10995116277760"),
    ("rate", "9223372036854775808", "rate"),
    ("rate", "-1", "negative"),
    ("rate_iops", "9223372036854775807", "at most 1000000000"),
    ("rate_iops", "9223372036854775808", "rate_iops"),
    ("rate_iops", "18446744073709551615", "rate_iops"),
    ("rate_iops", "-1", "negative"),
    ("rate_iops", "4294967296", "at most 1000000000"),
    ("iodepth", "4294967296", "at most 65536"),
    ("iodepth", "9223372036854775808", "iodepth"),
    ("iodepth", "0", "at least 1"),
    ("iodepth", "-1", "at least 1"),
    ("numjobs", "1000000", "at most 4096"),
    ("numjobs", "-1", "at least 1"),
    ("bs", "1t", "at most 4294963200"),
    ("bs", "9223372036854775808", "bs"),
    ("bs", "0", "at least 1"),
    ("bssplit", "4k/50:1t/50", "at most 4294963200"),
    ("bsrange", "4k-1t", "at most 4294963200"),
    ("size", "9223372036854775808", "size"),
    ("nrfiles", "1000001", "at most 1000000"),
    ("nrfiles", "9223372036854775807", "at most 1000000"),
    ("thinktime", "9223372036854775808", "thinktime"),
    ("thinktime", "9223372036854775807", "thinktime"),
    ("runtime", "9223372036854775807", "runtime"),
    ("startdelay", "9223372036854775807", "startdelay"),
    ("log_avg_msec", "9223372036854775808", "log_avg_msec"),
    ("bwavgtime", "9223372036854775808", "bwavgtime"),
];

/// Large but valid numbers: a job of ten I/Os runs with each of them.
const RUN: [(&str, &str); 11] = [
    ("rate", "10995116277760"),
    ("rate_iops", "1000000000"),
    ("iodepth", "65536"),
    ("size", "9223372036854771712"),
    ("loops", "9223372036854775807"),
    ("bwavgtime", "4294967295"),
    ("iodepth_batch", "4294967295"),
    ("iodepth_batch_complete_max", "4294967295"),
    ("log_avg_msec", "4294967295"),
    ("randseed", "9223372036854775807"),
    ("fsync", "2147483647"),
];

/// Runs `command` on this job with limited memory and CPU time.
fn limited(command: &str, job: &str, directory: &Path) -> Completed {
    std::fs::write(directory.join("job.fio"), job).expect("written");
    let mut shell = Command::new("sh");
    let line =
        format!("ulimit -v {MAX_MEMORY_KIB}; ulimit -t {MAX_CPU_SECONDS}; exec \"$0\" \"$@\"");
    shell
        .args(["-c", &line, FATHOM, command, "job.fio"])
        .env("FATHOM_STORE", "none")
        .current_dir(directory);
    start(shell).finish_within(Duration::from_secs(60))
}

/// Asserts that the program exited by itself and without a panic; returns its output.
fn assert_clean_exit(ran: &Completed, what: &str) -> String {
    let message = format!("{}{}", ran.err, ran.out);
    assert!(
        ran.status.code().is_some_and(|code| code != 101) && !message.contains("panicked"),
        "{what}: {:?} {message}",
        ran.status
    );
    message
}

#[test]
fn values_beyond_a_limit_are_refused_with_the_limit() {
    let scratch = Scratch::new().expect("a directory");
    for (option, value, limit) in REFUSED {
        for command in COMMANDS {
            let job = format!(
                "[a]\nioengine=null\nrw=randread\nsize=1g\nnumber_ios=10\n{option}={value}\n"
            );
            let (what, ran) = (
                format!("{command} {option}={value}"),
                limited(command, &job, scratch.path()),
            );
            let message = assert_clean_exit(&ran, &what);
            let expected = if command == "run" { 2 } else { 1 };
            assert_eq!(ran.code(), expected, "{what}: {message}");
            assert!(message.contains(limit), "{what}: {message}");
        }
    }
}

#[test]
fn large_valid_values_run() {
    let scratch = Scratch::new().expect("a directory");
    for (option, value) in RUN {
        for command in COMMANDS {
            let size = if option == "size" { "" } else { "size=1g\n" };
            let job =
                format!("[a]\nioengine=null\nrw=randread\nnumber_ios=10\n{size}{option}={value}\n");
            let (what, ran) = (
                format!("{command} {option}={value}"),
                limited(command, &job, scratch.path()),
            );
            let message = assert_clean_exit(&ran, &what);
            assert!(!message.contains("run not started"), "{what}: {message}");
        }
    }
}

/// Regression 0151: small job files asked for gigabytes, because every clone had its own names and
/// options.
#[test]
fn the_sum_over_all_clones_is_limited() {
    let scratch = Scratch::new().expect("a directory");
    let base = "ioengine=null\nsize=1m\nnumber_ios=1\n";
    let names = |count: usize| {
        (0..count)
            .map(|n| format!("{n:03}"))
            .collect::<Vec<_>>()
            .join(":")
    };
    let many = |count: usize, line: &str| line.repeat(count);
    let cases = [
        (
            "long names",
            format!(
                "[a]\n{base}nrfiles=1000000\nfilename_format={}$jobnum.$filenum\n",
                "x".repeat(3900)
            ),
            "bytes of file names",
        ),
        (
            "names of clones",
            format!(
                "[a]\n{base}numjobs=4096\n{}",
                many(10, &format!("filename={}\n", names(1000)))
            ),
            "files exceed the limit",
        ),
        (
            "files of clones",
            format!("[a]\n{base}numjobs=4096\nnrfiles=1000\n"),
            "files exceed the limit",
        ),
        (
            "options of clones",
            format!("[a]\n{base}numjobs=4096\n{}", many(450, "bs=4k\n")),
            "options (counted for each clone)",
        ),
        (
            "long options",
            format!(
                "[a]\n{base}numjobs=4096\n{}",
                many(10, &format!("description={}\n", "x".repeat(1000)))
            ),
            "bytes of options",
        ),
    ];
    for (what, job, limit) in cases {
        for command in COMMANDS {
            let ran = limited(command, &job, scratch.path());
            let message = assert_clean_exit(&ran, what);
            assert!(
                message.contains(limit)
                    && message.contains("at most")
                    && message.contains("run not started"),
                "{what}: {message}"
            );
        }
    }
}

/// A thousand million I/Os per second are planned exactly, but no host reaches them: the result has
/// a finding.
#[test]
fn an_unreachable_rate_is_a_finding() {
    let line = "run --name=x --ioengine=null --size=1g --rw=randread --rate_iops=1000000000 --time_based --runtime=1 --output-format=json";
    let json = fathom(split_args(line)).json();
    json.expect_finding("RATE_NOT_REACHED");
}

/// The directory for the interval records of long runs is full from the start: the result has a
/// note, and the totals are those of the plan.
#[test]
fn a_full_scratch_directory_is_reported_and_loses_no_results() {
    const IOS: u64 = 6000;
    if !all_met(&[Need::Root]) {
        return;
    }
    let (scratch, directory) = (
        Scratch::new().expect("a directory"),
        Scratch::new().expect("a directory"),
    );
    let job = format!(
        "--name=x --ioengine=null --size=1g --rw=randread --rate_iops=2000 --number_ios={IOS} --bwavgtime=10 --iopsavgtime=10"
    );
    let mut command = Command::new("unshare");
    // The mount is visible to this run only and disappears with it.
    let line = format!(
        "mount -t tmpfs -o size=4k,nr_inodes=4 none '{0}' && TMPDIR='{0}' exec \"$0\" \"$@\"",
        directory.path().display()
    );
    command
        .args([
            "--mount",
            "sh",
            "-c",
            &line,
            FATHOM,
            "run",
            "--output-format=json",
        ])
        .args(split_args(&job));
    let ran = start(command_in(command, scratch.path())).finish();
    assert!(
        ran.out
            .contains("the scratch file for interval records failed"),
        "{} {}",
        ran.err,
        ran.out
    );
    let json = ran.json();
    assert_eq!(json.number("/jobs/0/read/total_ios"), IOS as f64);
    assert_eq!(json.number("/jobs/0/read/io_bytes"), (IOS * 4096) as f64);
    let undisturbed = start(program(
        ["run", "--output-format=json"]
            .into_iter()
            .map(str::to_owned)
            .chain(split_args(&job)),
    ))
    .finish();
    assert!(
        !undisturbed.out.contains("scratch file"),
        "{}",
        undisturbed.out
    );
}

fn command_in(mut command: Command, directory: &Path) -> Command {
    command.env("FATHOM_STORE", "none").current_dir(directory);
    command
}
