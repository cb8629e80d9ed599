//! Beside the real fio: its own figures, put through our reports, must come out as its own text.
//!
//! fio runs once for each case and writes terse, JSON and text of the same run. The JSON is read into findings, and
//! the three reports made from these are held against the three that fio wrote.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use crate::common;
use std::process::Command;

use fathom_model::Findings;
use fathom_report::{Style, TerseVersion, banner, json, starting, terse, text};
use serde_json::Value;

/// What fio said about one run.
struct Said {
    terse: Vec<String>,
    json: String,
    text: Vec<String>,
    /// What it said before the run, banner first.
    before: Vec<String>,
    document: Value,
}

fn fio(arguments: &[&str]) -> Option<Said> {
    let directory = std::env::temp_dir().join(format!(
        "fathom-report-{}-{}",
        std::process::id(),
        next_number()
    ));
    std::fs::create_dir(&directory).expect("a directory");
    let run = Command::new("fio")
        .current_dir(&directory)
        .env("TZ", "UTC")
        .args(["--output-format=terse,json+,normal", "--eta=never"])
        .args(arguments)
        .output();
    std::fs::remove_dir_all(&directory).expect("the directory is ours");
    let Ok(run) = run else {
        fathom_testkit::skip("fio is not installed, nothing to compare with");
        return None;
    };
    let said = String::from_utf8(run.stdout).expect("fio writes text");
    Some(split(&said))
}

fn next_number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The three formats stand behind one another; the document is between `{` and `}` in column 0.
fn split(said: &str) -> Said {
    let lines: Vec<&str> = said.lines().collect();
    let from = lines
        .iter()
        .position(|line| *line == "{")
        .expect("a document");
    let to = lines.iter().position(|line| *line == "}").expect("its end");
    let version = lines[from + 1]
        .split('"')
        .nth(3)
        .expect("a version")
        .to_string();
    let is_terse = |line: &&&str| line.contains(&format!(";{version};"));
    let owned = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    let json = lines[from..=to].join("\n") + "\n";
    let document = serde_json::from_str(&json).expect("fio's JSON");
    Said {
        terse: lines[..from]
            .iter()
            .filter(is_terse)
            .map(ToString::to_string)
            .collect(),
        json,
        text: owned(&lines[to + 1..]),
        before: owned(&lines[..from]),
        document,
    }
}

/// The findings and style that would make fio's reports.
fn findings_of(said: &Said) -> (Findings, Style) {
    let mut findings = common::from_fio(&said.document);
    for (entry, header) in findings
        .entries
        .iter_mut()
        .zip(said.text.iter().filter(|line| line.contains(": pid=")))
    {
        let number = |name: &str| {
            header
                .split(name)
                .nth(1)
                .and_then(|rest| rest.split([',', ')', ':']).next())
        };
        entry.tid = number("pid=")
            .and_then(|pid| pid.parse().ok())
            .expect("a pid");
        entry.members = number("jobs=")
            .and_then(|jobs| jobs.parse().ok())
            .expect("a count");
        entry.error_text = header
            .split(['(', ')'])
            .nth(3)
            .unwrap_or_default()
            .to_string();
    }
    let version = said.document["fio version"]
        .as_str()
        .expect("a version")
        .to_string();
    let eta_s = said.document["jobs"][0]["eta"].as_u64().unwrap_or(0);
    (
        findings,
        Style {
            version,
            eta_s,
            ..Style::default()
        },
    )
}

/// Keys and lines of fio 3.42 that the installed fio may not have yet.
fn only_in_newer(line: &str) -> bool {
    [
        "\"job_start\"",
        "\"latency_target_ns\"",
        "\"latency_window_us\"",
        "_sectors\"",
    ]
    .iter()
    .any(|key| line.contains(key))
}

fn as_installed(line: &str, installed: &str) -> String {
    let mut line = line
        .replace("target=0.00ns, window=0.00ns", "target=0, window=0")
        .replace("/syncfs:", ":");
    if let (Some(from), Some(to)) = (line.find(" sectors="), line.find(" merge="))
        && !installed.contains(" sectors=")
    {
        line.replace_range(from..to, "");
    }
    line
}

/// Text and numbers of a line, apart.
fn tokens(line: &str) -> (Vec<&str>, Vec<f64>) {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let words = line
        .split(is_number)
        .filter(|word| !word.is_empty())
        .collect();
    let numbers = line
        .split(|c| !is_number(c))
        .filter_map(|number| number.parse().ok())
        .collect();
    (words, numbers)
}

/// The same words, and numbers within `slack`: JSON has six decimals of what text rounds to two.
#[track_caller]
fn assert_alike(ours: &str, theirs: &str, slack: f64) {
    let ((words, numbers), (their_words, their_numbers)) = (tokens(ours), tokens(theirs));
    assert_eq!(words, their_words, "\nours   {ours}\ntheirs {theirs}");
    assert_eq!(
        numbers.len(),
        their_numbers.len(),
        "\nours   {ours}\ntheirs {theirs}"
    );
    for (a, b) in numbers.iter().zip(their_numbers) {
        assert!(
            (a - b).abs() <= slack,
            "{a} is not {b}\nours   {ours}\ntheirs {theirs}"
        );
    }
}

#[track_caller]
fn check(arguments: &[&str]) {
    let Some(said) = fio(arguments) else { return };
    let (findings, style) = findings_of(&said);
    check_json(&findings, &style, &said);
    check_text(&findings, &style, &said);
    check_terse(&findings, &style, &said);
}

#[track_caller]
fn check_json(findings: &Findings, style: &Style, said: &Said) {
    let mut ours = Vec::new();
    json(findings, style, true, &mut ours).expect("memory takes everything");
    let ours = String::from_utf8(ours).expect("JSON is text");
    let known = said.json.contains("\"job_start\"");
    let kept: String = ours
        .lines()
        .filter(|line| known || !only_in_newer(line))
        .map(|line| format!("{line}\n"))
        .collect();
    // Leaving out the last line of an object leaves a comma behind.
    let kept = kept
        .replace(",\n    }", "\n    }")
        .replace(",\n      }", "\n      }");
    if kept != said.json {
        let first = kept.lines().zip(said.json.lines()).find(|(a, b)| a != b);
        panic!("first difference, ours and fio's: {first:?}");
    }
}

#[track_caller]
fn check_text(findings: &Findings, style: &Style, said: &Said) {
    let theirs = said.text.join("\n");
    let ours: Vec<String> = text(findings, style)
        .lines()
        .map(|line| as_installed(line, &theirs))
        .collect();
    for (ours, theirs) in ours.iter().zip(&said.text) {
        if ours.contains(": pid=") {
            // The date is read a second time for the text.
            let until_date = |line: &str| line.split(": pid=").next().map(str::to_string);
            assert_eq!(until_date(ours), until_date(theirs));
        } else if !theirs.starts_with("  mixed: IOPS=0, BW=0 (0)") {
            // (That line of fio 3.33 lost its figures: it rounds the mix to no digits.)
            // Until 3.35 fio counted zone resets where there are no zones.
            assert_alike(ours, theirs.trim_end_matches("; 0 zone resets"), 0.0101);
        }
    }
    assert_eq!(ours.len(), said.text.len(), "{ours:#?} {:#?}", said.text);
}

#[track_caller]
fn check_terse(findings: &Findings, style: &Style, said: &Said) {
    let number = said.terse[0]
        .split(';')
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a version");
    let version = TerseVersion::from_number(number).expect("one that fio has");
    let mut ours = Vec::new();
    terse(findings, style, version, &mut ours).expect("memory takes everything");
    let ours = String::from_utf8(ours).expect("terse is text");
    assert_eq!(ours.lines().count(), said.terse.len());
    for (ours, theirs) in ours.lines().zip(&said.terse) {
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (ours.split(';').collect(), theirs.split(';').collect());
        assert_eq!(ours.len(), theirs.len());
        // Ten classes of nanoseconds go into one of microseconds; each was raised to 0.01 when it was below.
        ours.iter()
            .zip(theirs)
            .for_each(|(ours, theirs)| assert_alike(ours, theirs, 0.1));
    }
}

const NULL: [&str; 3] = ["--name=one", "--ioengine=null", "--size=4m"];

fn null_and(more: &[&str]) {
    check(&[&NULL, more].concat());
}

#[test]
fn random_reads() {
    null_and(&["--rw=randread", "--iodepth=4"]);
}

#[test]
fn samples_of_a_second() {
    null_and(&[
        "--rw=randrw",
        "--time_based",
        "--runtime=1",
        "--rate_iops=20000,30000",
    ]);
}

#[test]
fn writes_to_a_file_with_fsync() {
    check(&[
        "--name=w",
        "--filename=w.dat",
        "--rw=write",
        "--size=1m",
        "--bs=64k",
        "--fsync=4",
        "--description=made by hand",
    ]);
}

#[test]
fn clones_in_one_group() {
    null_and(&["--rw=randrw", "--numjobs=3", "--group_reporting"]);
}

#[test]
fn clones_apart() {
    null_and(&["--rw=read", "--numjobs=2", "--thread"]);
}

#[test]
fn no_latencies() {
    null_and(&["--rw=randread", "--gtod_reduce=1"]);
}

#[test]
fn all_directions_mixed() {
    null_and(&["--rw=randrw", "--unified_rw_reporting=mixed"]);
}

#[test]
fn all_directions_apart_and_mixed() {
    null_and(&["--rw=randrw", "--unified_rw_reporting=both"]);
}

#[test]
fn errors_that_were_gone_on_after() {
    null_and(&["--rw=randread", "--continue_on_error=all"]);
}

#[test]
fn every_kind_of_percentile() {
    let kinds = [
        "--lat_percentiles=1",
        "--slat_percentiles=1",
        "--clat_percentiles=1",
        "--percentile_list=50:99.9:99.999",
    ];
    null_and(&[&["--rw=randread", "--iodepth=2"], &kinds[..]].concat());
}

#[test]
fn whole_percentiles() {
    null_and(&["--rw=randread", "--percentile_list=50:99"]);
}

#[test]
fn trims() {
    null_and(&["--rw=randtrim", "--terse-version=5"]);
}

#[test]
fn a_job_that_failed() {
    // A limit that no I/O keeps.
    null_and(&["--rw=read", "--max_latency=1ns"]);
}

#[test]
fn sections_one_after_the_other_with_defaults() {
    let rest = [
        "--name=global",
        "--bs=8k",
        "--name=a",
        "--rw=read",
        "--name=b",
        "--rw=write",
        "--stonewall",
    ];
    check(&[&["--ioengine=null", "--size=1m"], &rest[..]].concat());
}

#[test]
fn the_banner() {
    let Some(said) = fio(&[
        "--name=one",
        "--ioengine=null",
        "--size=4m",
        "--rw=randread",
        "--numjobs=2",
    ]) else {
        return;
    };
    let version = said.document["fio version"]
        .as_str()
        .expect("a version")
        .to_string();
    let one = common::job("one", 1, fathom_model::Logs::default());
    let clone = fathom_model::Job {
        clone: 1,
        ..one.clone()
    };
    let style = Style {
        version,
        ..Style::default()
    };
    let ours = banner(&common::plan(vec![one, clone]), &style) + &starting(0, 2);
    assert_eq!(ours.lines().collect::<Vec<_>>(), said.before[..4]);
}

#[test]
fn terse_lines_have_the_fields_that_were_counted() {
    for (version, count) in [(3, 121), (5, 180)] {
        let entry = common::idle("x");
        let mut findings = common::empty(fathom_model::Personality::Fio);
        findings.entries.push(entry);
        let mut line = Vec::new();
        let version = TerseVersion::from_number(version).expect("a version");
        terse(&findings, &Style::default(), version, &mut line).expect("memory takes everything");
        assert_eq!(String::from_utf8_lossy(&line).split(';').count(), count);
    }
}
