//! Parsers that read fathom's output as known programs read fio's, and a check that documents
//! contain nothing else.

use std::process::Command;

use crate::common::{Completed, fathom, filename_arg, split_args};
use fathom_testkit::{Scratch, skip};
use serde_json::Value;

/// A mixed load long enough for samples, in all formats that `formats` names.
fn run_formats(formats: &str, more: &str) -> Completed {
    let line = "fio --name=rand_rw_4k --ioengine=null --size=1g --bs=4k --rw=randrw --time_based --runtime=1200ms --rate_iops=3000,2000";
    fathom(split_args(&format!(
        "{line} --output-format={formats} {more}"
    )))
    .expect(0)
}

/// Terse and JSON of one run.
fn terse_and_json(version: u8) -> (Vec<String>, Value) {
    let ran = run_formats("terse,json", &format!("--terse-version={version}"));
    let (line, document) = ran.out.split_once('\n').expect("a line and a document");
    (
        line.split(';').map(str::to_owned).collect(),
        serde_json::from_str(document).expect("a document"),
    )
}

fn integer(document: &Value, pointer: &str) -> u64 {
    let value = document
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no {pointer}"));
    value as u64
}

/// Fields are numbered from 1, as in cut(1) and awk(1).
fn field(line: &[String], number: usize) -> u64 {
    let text = &line[number - 1];
    text.parse::<f64>()
        .unwrap_or_else(|_| panic!("field {number} is {text}")) as u64
}

/// YABS: `fio --minimal`, the line found by the job's name, fields 7, 8, 48 and 49. The kckecheng
/// exporter counts the same way.
#[test]
fn yabs_finds_bandwidth_and_iops_in_terse_3() {
    let (line, json) = terse_and_json(3);
    assert_eq!((line[0].as_str(), line[2].as_str()), ("3", "rand_rw_4k"));
    for (number, pointer) in [
        (7, "read/bw"),
        (8, "read/iops"),
        (48, "write/bw"),
        (49, "write/iops"),
    ] {
        let expected = integer(&json, &format!("/jobs/0/{pointer}"));
        assert!(
            expected > 0 && field(&line, number) == expected,
            "field {number}: {} is not {expected}",
            line[number - 1]
        );
    }
}

/// blktests: terse 4 by column; trims are between writes and CPU.
#[test]
fn blktests_finds_its_columns_in_terse_4() {
    let (line, json) = terse_and_json(4);
    assert_eq!(line[0], "4");
    for (number, pointer) in [
        (8, "read/iops"),
        (49, "write/iops"),
        (90, "trim/iops"),
        (6, "read/io_kbytes"),
        (47, "write/io_kbytes"),
    ] {
        assert_eq!(
            field(&line, number),
            integer(&json, &format!("/jobs/0/{pointer}")),
            "field {number}"
        );
    }
    let share = |number: usize| {
        line[number - 1]
            .trim_end_matches('%')
            .parse::<f64>()
            .expect("a share")
    };
    for (number, pointer) in [(129, "/jobs/0/usr_cpu"), (130, "/jobs/0/sys_cpu")] {
        let expected = json
            .pointer(pointer)
            .and_then(Value::as_f64)
            .expect("a share");
        assert!(
            (share(number) - expected).abs() < 1e-5 && line[number - 1].ends_with('%'),
            "field {number}"
        );
    }
}

/// The exporters of fritchie and mwennrich: terse 5 by fixed column, percentiles split at `=`,
/// percentiles of lat.
#[test]
fn prometheus_exporters_find_their_columns_in_terse_5() {
    let ran = run_formats(
        "terse,json",
        "--terse-version=5 --lat_percentiles=1 --clat_percentiles=0 --group_reporting",
    );
    let (line, document) = ran.out.split_once('\n').expect("a line and a document");
    let (line, json): (Vec<String>, Value) = (
        line.split(';').map(str::to_owned).collect(),
        serde_json::from_str(document).expect("JSON"),
    );
    assert_eq!((line[0].as_str(), line.len() >= 180), ("5", true));
    // Each direction has 47 columns, starting with the sixth; the last six are the IOPS samples.
    for (direction, base) in [("read", 6), ("write", 53), ("trim", 100)] {
        let expect = |offset: usize, pointer: &str| {
            assert_eq!(
                field(&line, base + offset),
                integer(&json, &format!("/jobs/0/{direction}/{pointer}")),
                "{direction} {pointer}"
            );
        };
        for (offset, pointer) in [
            (0, "io_kbytes"),
            (1, "bw"),
            (2, "iops"),
            (3, "runtime"),
            (41, "bw_samples"),
            (46, "iops_samples"),
        ] {
            expect(offset, pointer);
        }
        let (percent, us) = line[base + 12].split_once('=').expect("percent=value");
        let ns = json
            .pointer(&format!(
                "/jobs/0/{direction}/lat_ns/percentile/{}",
                percent.trim_end_matches('%')
            ))
            .and_then(Value::as_u64);
        assert_eq!(
            us.parse::<u64>().expect("microseconds"),
            ns.unwrap_or(0) / 1000,
            "{direction} {percent}"
        );
    }
}

/// JSON fields by consumer. Numbers unless the field ends in `$` (text) or `{` (object).
const FIELDS: &[(&str, &str)] = &[
    (
        "PerfKitBenchmarker",
        "jobs/0/jobname$ jobs/0/read/io_bytes jobs/0/read/bw jobs/0/read/bw_min jobs/0/read/bw_max jobs/0/read/bw_dev \
        jobs/0/read/bw_agg jobs/0/read/bw_mean jobs/0/read/iops jobs/0/read/clat_ns/min jobs/0/read/clat_ns/max jobs/0/read/clat_ns/mean \
        jobs/0/read/clat_ns/stddev jobs/0/read/clat_ns/percentile/50.000000 jobs/0/read/clat_ns/percentile/99.900000",
    ),
    (
        "VirtualClient",
        "jobs/0/write/io_bytes jobs/0/write/total_ios jobs/0/write/short_ios jobs/0/write/drop_ios jobs/0/write/bw \
        jobs/0/write/iops_stddev jobs/0/write/lat_ns/mean jobs/0/write/clat_ns/stddev jobs/0/write/slat_ns/max \
        jobs/0/write/clat_ns/percentile/70.000000 jobs/0/write/clat_ns/percentile/99.990000 jobs/0/latency_us/250 jobs/0/latency_us/1000 \
        jobs/0/latency_ms/2 jobs/0/latency_ms/2000 jobs/0/latency_ms/>=2000 jobs/0/job~options{",
    ),
    (
        "cbt",
        "jobs/0/read/io_bytes jobs/0/read/bw_bytes jobs/0/read/iops jobs/0/read/clat_ns/mean jobs/0/write/clat_ns/stddev",
    ),
    (
        "benchmark-wrapper",
        "jobs/0/jobname$ jobs/0/job~options{ jobs/0/read/iops jobs/0/write/iops timestamp",
    ),
    (
        "ezFIO",
        "jobs/0/read/iops jobs/0/read/lat_ns/mean jobs/0/read/total_ios jobs/0/read/clat_ns/N jobs/0/read/clat_ns/bins{",
    ),
    (
        "diskplorer",
        "jobs/0/read/iops jobs/0/write/bw_bytes jobs/0/read/clat_ns/percentile{",
    ),
    (
        "tart",
        "jobs/0/jobname$ jobs/0/read/bw jobs/0/read/iops jobs/0/write/bw jobs/0/write/iops",
    ),
    (
        "kbench",
        "jobs/0/read/iops_mean jobs/0/read/bw_mean jobs/0/read/lat_ns/mean cpu_idleness/system cpu_idleness{",
    ),
    (
        "Prometheus glue",
        "time$ jobs/0/read/iops jobs/0/read/bw jobs/0/read/lat_ns/mean jobs/0/read/clat_ns/percentile{",
    ),
    (
        "xfstests",
        "jobs/0/trim/iops_samples jobs/0/trim/io_bytes jobs/0/sync/total_ios jobs/0/job_runtime jobs/0/usr_cpu jobs/0/ctx jobs/0/majf \
        jobs/0/iodepth_level/>=64 jobs/0/latency_depth jobs/0/latency_target jobs/0/latency_percentile jobs/0/latency_window",
    ),
];

#[test]
fn fields_read_by_known_consumers_exist_with_their_types() {
    let document: Value =
        serde_json::from_str(&run_formats("json+", "--idle-prof=percpu").out).expect("a document");
    for (reader, fields) in FIELDS {
        for field in fields.split_whitespace() {
            let (name, kind) = match field.strip_suffix(['$', '{']) {
                Some(name) => (name, &field[field.len() - 1..]),
                None => (field, ""),
            };
            let value = document
                .pointer(&format!("/{}", name.replace('~', " ")))
                .unwrap_or_else(|| panic!("{reader}: no {name}"));
            let fits = match kind {
                "$" => value.is_string(),
                "{" => value.is_object(),
                _ => value.is_number(),
            };
            assert!(fits, "{reader}: {name} is {value}");
        }
    }
    // Whole values of float fields are written as floats.
    assert!(document["jobs"][0]["read"]["iops"].is_f64(), "cbt");
}

/// LISA matches `IOPS=(.+?),` and ` lat.*avg=(.+?),`; the Phoronix Test Suite the line `READ: bw=`
/// and `IOPS=` with its suffix.
#[test]
fn known_patterns_match_the_text_output() {
    let text = run_formats("normal", "").out;
    let after = |line: &str, mark: &str| {
        line.split_once(mark)
            .and_then(|(_, rest)| rest.split_once(','))
            .map(|(value, _)| value.to_owned())
    };
    let iops: Vec<String> = text
        .lines()
        .filter_map(|line| after(line, "IOPS="))
        .collect();
    let number = |text: &str| {
        text.trim_end_matches(['k', 'M'])
            .parse::<f64>()
            .expect("a number")
    };
    assert!(
        iops.len() == 2 && iops.iter().all(|iops| number(iops) > 0.0),
        "{iops:?}"
    );
    let lat: Vec<String> = text
        .lines()
        .filter(|line| line.contains(" lat"))
        .filter_map(|line| after(line, "avg="))
        .collect();
    assert!(
        lat.len() == 2 && lat.iter().all(|avg| number(avg.trim()) > 0.0),
        "{lat:?}"
    );
    for mark in ["   READ: bw=", "  WRITE: bw="] {
        let line = text
            .lines()
            .find(|line| line.starts_with(mark))
            .unwrap_or_else(|| panic!("no {mark}"));
        assert!(
            line.contains("iB/s (") && line.contains(", io=") && line.ends_with("msec"),
            "{line}"
        );
    }
}

/// fio2gnuplot comes with fio: it finds the logs by their names and reads columns 1 and 2.
#[test]
fn fio2gnuplot_reads_the_logs() {
    const TOOL: &str = "fio2gnuplot";
    if Command::new(TOOL).arg("--help").output().is_err() {
        return skip("fio2gnuplot is not installed (it comes with fio)");
    }
    let scratch = Scratch::new().expect("a directory");
    let prefix = scratch.join("x").display().to_string();
    run_formats(
        "json",
        &format!("--write_bw_log={prefix} --write_iops_log={prefix} --log_avg_msec=200"),
    );
    let read = Command::new(TOOL)
        .args(["-p", "*_iops.*.log", "-o", "seen"])
        .current_dir(scratch.path())
        .output()
        .expect("started");
    let message =
        String::from_utf8_lossy(&read.stdout).into_owned() + &String::from_utf8_lossy(&read.stderr);
    assert!(
        read.status.success() && !message.contains("Traceback"),
        "{message}"
    );
    assert!(message.contains("x_iops.1.log"), "{message}");
}

/// A job that fails during the run: each format stays well-formed, and messages are on the standard
/// error.
#[test]
fn a_failing_job_leaves_its_document_clean() {
    let scratch = Scratch::new().expect("a directory");
    for command in ["fio", "run"] {
        for format in ["json", "json+", "terse", "normal"] {
            let line = format!(
                "{command} --name=j --ioengine=null --size=1m --max_latency=1ns --output-format={format}"
            );
            let ran = fathom(split_args(&line));
            assert_eq!(ran.status.code(), Some(1), "{line}");
            check(format, &ran.out, &line);
            let file = scratch.join("out");
            let mut arguments = split_args(&line);
            arguments.push(format!("--output={}", file.display()));
            let ran = fathom(&arguments);
            assert_eq!(
                (ran.status.code(), ran.out.as_str()),
                (Some(1), ""),
                "{line}"
            );
            check(
                format,
                &std::fs::read_to_string(&file).expect("a result"),
                &line,
            );
        }
        let refused = fathom(split_args(&format!(
            "{command} --name=j --ioengine=null --size=1m --bs=abc --output-format=json"
        )));
        assert!(
            refused.out.is_empty() && refused.err.contains("bs"),
            "{}{}",
            refused.out,
            refused.err
        );
    }
    // Warnings are outside of the document.
    let mut arguments = split_args(
        "run --name=j --rw=read --iodepth=8 --ioengine=psync --size=64k --unlink=1 --output-format=json",
    );
    arguments.push(filename_arg(&scratch.join("data")));
    let ran = fathom(&arguments).expect(0);
    check("json", &ran.out, "with a warning");
    assert!(
        ran.err.contains("psync does one I/O at a time"),
        "{}",
        ran.err
    );
}

fn check(format: &str, text: &str, line: &str) {
    let clean = match format {
        "terse" => text.lines().count() == 1 && text.starts_with("3;fio-"),
        "normal" => text.contains("err=") && !text.contains('{'),
        _ => {
            serde_json::from_str::<Value>(text).is_ok()
                && text.starts_with("{\n")
                && text.ends_with("}\n")
        }
    };
    assert!(clean, "{line}:\n{text}");
}
