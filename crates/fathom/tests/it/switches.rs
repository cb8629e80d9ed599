//! Every switch of the command line has a visible effect, and the same one as in the installed fio
//! if it has the switch.
//!
//! The first test fails if a switch of the compatibility table has no case here.

use crate::common;
use crate::peer;
use std::path::Path;

use crate::common::fathom;
use crate::peer::{Completed, FATHOM_FIO, FIO};
use fathom_testkit::{Scratch, require};

const NULL: &str = "--name=j --ioengine=null --size=64k";
const LONG: &str = "--name=j --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=3";
const FILE: &str = "--name=j --filename=data --size=64k --bs=4k --rw=write";

/// The result of a command line: the output of the program and the files of its directory.
struct LineResult {
    result: Completed,
    files: Vec<String>,
    directory: Scratch,
}

fn run(program: &[&str], line: &str) -> LineResult {
    let directory = Scratch::new().expect("a directory");
    std::fs::write(
        directory.join("two.fio"),
        "[global]\nioengine=null\nsize=64k\n[a]\n[b]\nrw=randread\n",
    )
    .expect("a job file");
    std::fs::create_dir(directory.join("aux")).expect("a directory");
    let result = peer::run(
        program,
        directory.path(),
        &line.split_whitespace().collect::<Vec<_>>(),
    );
    LineResult {
        result,
        files: files(directory.path()),
        directory,
    }
}

fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .into_string()
                .expect("a name")
        });
    let mut names: Vec<String> = entries
        .filter(|name| name != "two.fio" && name != "data")
        .collect();
    names.sort();
    names
}

/// How often `text` is in the output.
fn times(line_result: &LineResult, text: &str) -> String {
    line_result.result.out.matches(text).count().to_string()
}

/// The part of a result that must be equal for fio.
type View = fn(&LineResult) -> String;

fn no_output(_: &LineResult) -> String {
    String::new()
}

fn remaining_files(line_result: &LineResult) -> String {
    format!(
        "{:?} {:?}",
        line_result.files,
        files(&line_result.directory.join("aux"))
    )
}

fn full_output(line_result: &LineResult) -> String {
    line_result.result.out.clone()
}

fn terse_fields(line_result: &LineResult) -> String {
    let lines = line_result
        .result
        .out
        .lines()
        .filter(|line| line.contains(";fio-"));
    format!(
        "{:?}",
        lines
            .map(|line| line.split(';').count())
            .collect::<Vec<_>>()
    )
}

fn first_word(line_result: &LineResult) -> String {
    line_result
        .result
        .out
        .split([':', '-', ' ', '\n'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn names_of_jobs(line_result: &LineResult) -> String {
    format!(
        "{} {}",
        times(line_result, "a: (groupid"),
        times(line_result, "b: (groupid")
    )
}

fn result_file(line_result: &LineResult) -> String {
    let text = std::fs::read_to_string(line_result.directory.join("result")).unwrap_or_default();
    format!(
        "{} {} {}",
        line_result.result.out.len(),
        text.starts_with("{\n"),
        text.ends_with("}\n")
    )
}

fn documents(line_result: &LineResult) -> String {
    (line_result
        .result
        .out
        .lines()
        .filter(|line| *line == "{")
        .count()
        >= 2)
        .to_string()
}

fn idle(line_result: &LineResult) -> String {
    times(line_result, "\"system\" :")
}

fn unit_of_work(line_result: &LineResult) -> String {
    times(line_result, "unit work: mean=")
}

fn mentions_jsonplus(line_result: &LineResult) -> String {
    line_result.result.out.contains("json+").to_string()
}

/// A switch, a line with it, and what is compared.
type Case = (&'static str, String, View);

fn cases() -> Vec<Case> {
    let null = |more: &str| format!("{NULL} {more}");
    let long = |more: &str| format!("{LONG} {more}");
    let file = |more: &str| format!("{FILE} {more}");
    vec![
        (
            "output",
            null("--output-format=json --output=result"),
            result_file,
        ),
        ("output-format", null("--output-format=terse"), terse_fields),
        ("minimal", null("--minimal"), terse_fields),
        ("append-terse", null("--append-terse"), terse_fields),
        (
            "terse-version",
            null("--minimal --terse-version=5"),
            terse_fields,
        ),
        (
            "status-interval",
            long("--status-interval=1 --output-format=json"),
            documents,
        ),
        ("eta", null("--eta=never"), no_output),
        (
            "eta-newline",
            long("--runtime=1 --eta-newline=1"),
            no_output,
        ),
        (
            "eta-interval",
            long("--runtime=1 --eta-interval=500ms"),
            no_output,
        ),
        ("bandwidth-log", null("--bandwidth-log"), remaining_files),
        (
            "idle-prof",
            null("--idle-prof=system --output-format=json"),
            idle,
        ),
        ("idle-prof", null("--idle-prof=calibrate"), unit_of_work),
        ("section", "two.fio --section=b".into(), names_of_jobs),
        ("section", "two.fio --section=c".into(), no_output),
        ("parse-only", "two.fio --parse-only".into(), remaining_files),
        (
            "parse-only",
            file("--frobnicate=1 --parse-only"),
            remaining_files,
        ),
        ("showcmd", "two.fio --showcmd".into(), full_output),
        ("readonly", null("--readonly"), no_output),
        ("readonly", file("--readonly"), remaining_files),
        ("warnings-fatal", null("--warnings-fatal"), no_output),
        (
            "warnings-fatal",
            null("--time_based --warnings-fatal"),
            no_output,
        ),
        ("version", "--version".into(), first_word),
        ("help", "--help".into(), mentions_jsonplus),
        ("cmdhelp", "--cmdhelp=bs".into(), first_word),
        (
            "enghelp",
            "--enghelp=libaio,userspace_reap".into(),
            first_word,
        ),
        ("enghelp", "--enghelp=nosuch".into(), no_output),
        (
            "aux-path",
            file("--verify=crc32c --aux-path=aux"),
            remaining_files,
        ),
        ("debug", null("--debug=file"), no_output),
        ("max-jobs", null("--max-jobs=16"), no_output),
        ("alloc-size", null("--alloc-size=4096"), no_output),
        ("profile", "--profile=tiobench".into(), remaining_files),
    ]
}

/// Switches that other tests of this file, or of the named file, cover.
const ELSEWHERE: &[&str] = &[
    "inflate-log",
    // rare_options.rs and the test of triggers here.
    "trigger-file",
    "trigger-timeout",
    "trigger",
    // Switches of `fathom run` only: the last test.
    "set",
    "destroy",
    // scratch_devices.rs.
    "destroy-all-in",
    // search.rs and openmetrics.rs.
    "slo",
    "junit",
    // experiments.rs and quick.rs.
    "width",
    "store",
    "no-store",
    "explain",
    "dry-run",
    // store.rs.
    "label",
    // machine.rs.
    "no-probe",
    "machine",
    "link",
    "seed",
    // blame.rs.
    "blame",
    "format",
    "json",
    "read-only",
    "quiet",
    "color",
    // hosts.rs.
    "hosts",
    "client",
    "nats",
    "nats-fingerprint",
    "nats-creds",
    "ssh",
    "ssh-command",
    "ssh-fathom",
    "ssh-listen",
    "key",
];

/// The switches that the compatibility table lists below a heading.
fn listed(heading: &str) -> Vec<String> {
    let text = fathom(["help", "compatibility"]).expect(0).out;
    let from = text.find("## The command line").expect("a chapter");
    let from = from + text[from..].find(heading).expect("a table");
    let rows = text[from..]
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with("| `--"));
    rows.map(|line| line[5..].split('`').next().expect("a name").to_owned())
        .collect()
}

#[test]
fn every_switch_has_a_case() {
    let cases = cases();
    let known = listed("| option |");
    assert!(known.len() > 30, "{known:?}");
    for name in known {
        assert!(
            cases.iter().any(|case| case.0 == name) || ELSEWHERE.contains(&name.as_str()),
            "--{name} has no case"
        );
    }
}

#[test]
fn switches_do_what_they_do_in_fio() {
    require!(Fio);
    let compare = |(name, line, view): &Case| {
        let [theirs, ours] = [&FIO[..], &FATHOM_FIO[..]].map(|program| run(program, line));
        let (a, b) = (
            (theirs.result.code, view(&theirs)),
            (ours.result.code, view(&ours)),
        );
        (a != b).then(|| {
            format!(
                "--{name}: {line}\n fio    {a:?}\n fathom {b:?} {}",
                ours.result.err
            )
        })
    };
    let cases = cases();
    let some = |cases: &[Case]| cases.iter().filter_map(compare).collect::<Vec<_>>();
    let differences: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = cases
            .chunks(cases.len().div_ceil(4))
            .map(|part| scope.spawn(|| some(part)))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().expect("compared"))
            .collect()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A switch may be written as a letter, with one dash, or abbreviated as long as it is unique.
#[test]
fn switches_have_short_forms() {
    require!(Fio);
    for line in [
        format!("{NULL} -m"),
        format!("{NULL} -minimal"),
        format!("{NULL} --mini"),
        format!("{NULL} --minimal --terse-v=4"),
        format!("{NULL} -ffoo"),
    ] {
        let [theirs, ours] = [&FIO[..], &FATHOM_FIO[..]].map(|program| run(program, &line));
        assert_eq!(
            (ours.result.code, terse_fields(&ours)),
            (theirs.result.code, terse_fields(&theirs)),
            "{line} {}",
            ours.result.err
        );
    }
}

/// Each prints its own compressed log with one line per I/O; the sample format of fio 3.33 differs.
#[test]
fn compressed_logs_are_printed_by_both() {
    require!(Fio);
    let job = "--name=j --ioengine=null --size=256k --bs=4k --write_lat_log=z --log_compression=16k --log_store_compressed=1";
    for program in [&FIO[..], &FATHOM_FIO[..]] {
        let written = run(program, job);
        assert_eq!(written.result.code, Some(0), "{}", written.result.err);
        let read = peer::run(
            program,
            written.directory.path(),
            &["--inflate-log=z_clat.1.log.fz"],
        );
        let lines = read
            .out
            .lines()
            .filter(|line| line.split(',').count() >= 4)
            .count();
        assert_eq!(
            (read.code, lines),
            (Some(0), 64),
            "{program:?}: {}",
            read.err
        );
    }
}

/// The trigger ends both early, and its command runs in both.
#[test]
fn triggers_behave_the_same_in_both() {
    require!(Fio);
    for program in [&FIO[..], &FATHOM_FIO[..]] {
        let directory = Scratch::new().expect("a directory");
        let arguments = [
            "--name=j",
            "--ioengine=null",
            "--size=1g",
            "--time_based",
            "--runtime=60",
            "--rate_iops=100",
            "--trigger-timeout=1",
            "--trigger=touch shot",
            "--output-format=json",
        ];
        let result = peer::run(program, directory.path(), &arguments);
        assert_eq!(
            (result.code, directory.join("shot").exists()),
            (Some(0), true),
            "{program:?} {}",
            result.err
        );
        let json: serde_json::Value = serde_json::from_str(&result.out)
            .unwrap_or_else(|error| panic!("{error}: {}", result.out));
        let ios = peer::number(&json, "/jobs/0/read/total_ios");
        assert!(ios > 0.0 && ios < 6000.0, "{program:?}: {ios} of 6000");
    }
}

/// Unsupported switches of fio are refused with an alternative.
#[test]
fn refused_switches_name_the_alternative() {
    let refused = listed("| refused |");
    assert!(refused.len() > 5, "{refused:?}");
    for name in refused {
        let ran = fathom([
            "fio",
            &format!("--{name}=1"),
            "--name=j",
            "--ioengine=null",
            "--size=4k",
        ]);
        assert_eq!(ran.code(), 1, "--{name}: {}", ran.out);
        assert!(
            ran.err.contains(&format!("--{name} is not supported (")),
            "--{name}: {}",
            ran.err
        );
    }
}

/// Progress is shown on request, but never in a document.
#[test]
fn progress_is_shown_on_request() {
    let shown = |more: &str| {
        let line = format!("{LONG} --runtime=2 {more}");
        let line_result = run(&FATHOM_FIO, &line);
        (
            line_result.result.out.matches("Jobs: ").count()
                + line_result.result.err.matches("Jobs: ").count(),
            line_result.result.out.matches("{\n").count(),
        )
    };
    assert!(shown("--eta=always").0 > 0, "no progress was shown");
    assert_eq!(shown("--eta=never").0, 0);
    assert_eq!(shown("--eta=always --output-format=json").0, 0);
}

/// Switches of `fathom run` only; `fathom fio` refuses them, except `--destroy`, which its refusals
/// offer.
#[test]
fn fathom_run_has_additional_switches() {
    let ours = ["run"];
    let directory = Scratch::new().expect("a directory");
    let run = |arguments: &[&str]| {
        let arguments = [&ours[..], arguments].concat();
        let mut command = common::program(arguments);
        command
            .current_dir(directory.path())
            .env_remove("FATHOM_STORE")
            .env("XDG_DATA_HOME", directory.path())
            .env("HOME", directory.path());
        common::start(command).finish()
    };
    let null = [
        "--name=j",
        "--ioengine=null",
        "--size=64k",
        "--output-format=json",
    ];
    let with = |more: &[&str]| run(&[&null[..], more].concat());
    assert_eq!(
        with(&["--no-store", "--set", "bs=8k"])
            .expect(0)
            .json()
            .number("/jobs/0/read/total_ios"),
        8.0
    );
    assert!(
        files(directory.path()).is_empty(),
        "--no-store stores nothing: {:?}",
        files(directory.path())
    );
    let stored = with(&["--store", "new.db"]).expect(0).err;
    assert!(stored.contains("stored as"), "{stored}");
    let quiet = with(&["--store", "new.db", "--quiet"]).expect(0);
    assert!(quiet.err.is_empty() && quiet.out.starts_with("{\n"));
    assert!(directory.join("new.db").exists());
    let explained = with(&["--no-store", "--explain"]).expect(0).out;
    assert!(
        explained.contains('j') && !explained.contains("total_ios"),
        "{explained}"
    );
    let dry = run(&[
        "--no-store",
        "--name=j",
        "--filename=new",
        "--size=64k",
        "--rw=write",
        "--dry-run",
    ])
    .expect(0);
    assert!(
        dry.out.contains("new") && !directory.join("new").exists(),
        "{}",
        dry.out
    );
    // A code that no target needs is no mistake, one that cannot be a code is.
    with(&["--no-store", "--destroy=00000000"]).expect(0);
    let bad = with(&["--no-store", "--destroy=0000-0000"]).expect(2);
    assert!(bad.err.contains("is not a destroy code"), "{}", bad.err);
    let new = ["--no-store", "--filename=new", "--rw=write", "--read-only"];
    let forbidden = run(&[&["--name=j", "--size=64k"], &new[..]].concat()).expect(2);
    assert!(
        forbidden.err.contains("--read-only forbids") && !directory.join("new").exists(),
        "{}",
        forbidden.err
    );
    with(&["--no-store", "--color=always"]).expect(0).json();
    // The output of a test is a pipe.
    let plain = |color: &str| {
        let line = [
            "--name=j",
            "--ioengine=null",
            "--size=64k",
            "--no-store",
            color,
        ];
        run(&line).out.contains("\u{1b}[")
    };
    assert!(
        plain("--color=always"),
        "the report of a run has no colour in a pipe"
    );
    assert!(!plain("--color=never") && !plain("--color=auto"));
    let wrong = with(&["--no-store", "--color=blue"]).expect(2).err;
    assert!(wrong.contains("use always, never or auto"), "{wrong}");
    let shown = |format: &str| {
        run(&[&null[..3], &["--no-store", format]].concat())
            .expect(0)
            .out
    };
    assert!(shown("--format=json").starts_with("{\n"));
    assert!(shown("--json").starts_with("{\n"));
    assert!(!shown("--format=normal").contains('{'));
    for name in [
        "set=bs=8k",
        "store=x",
        "no-store",
        "explain",
        "dry-run",
        "format=json",
        "json",
        "read-only",
        "quiet",
        "color=never",
    ] {
        let ran = fathom([
            "fio",
            "--name=j",
            "--ioengine=null",
            "--size=64k",
            &format!("--{name}"),
        ]);
        assert!(
            ran.code() == 1 && ran.err.contains("unknown option"),
            "--{name}: {}",
            ran.err
        );
    }
}
