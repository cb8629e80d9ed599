//! Programs that parse fio's output also parse fathom's: kubestr and fio's own tools.

use crate::common;
use std::process::Command;

use crate::common::{Json, fathom, filename_arg, run_tool};
use fathom_testkit::{Scratch, skip};
use serde_json::Value;

// ---- kubestr: Go types, decoded strictly. Names and types are those of its pkg/fio/fio_types.go.

#[derive(Clone, Copy)]
enum Go {
    Text,
    Int32,
    Int64,
    Float32,
    Object(&'static [(&'static str, Go)]),
    List(&'static [(&'static str, Go)]),
}

const RESULT: &[(&str, Go)] = &[
    ("fio version", Go::Text),
    ("timestamp", Go::Int64),
    ("timestamp_ms", Go::Int64),
    ("time", Go::Text),
    ("global options", Go::Object(GLOBAL)),
    ("jobs", Go::List(JOB)),
    ("disk_util", Go::List(DISK)),
];
const GLOBAL: &[(&str, Go)] = &[
    ("directory", Go::Text),
    ("randrepeat", Go::Text),
    ("verify", Go::Text),
    ("ioengine", Go::Text),
    ("direct", Go::Text),
    ("gtod_reduce", Go::Text),
];
const JOB: &[(&str, Go)] = &[
    ("jobname", Go::Text),
    ("groupid", Go::Int64),
    ("error", Go::Int64),
    ("eta", Go::Int64),
    ("elapsed", Go::Int64),
    ("job options", Go::Object(OPTIONS)),
    ("read", Go::Object(STATS)),
    ("write", Go::Object(STATS)),
    ("trim", Go::Object(STATS)),
    ("sync", Go::Object(STATS)),
    ("job_runtime", Go::Int32),
    ("usr_cpu", Go::Float32),
    ("sys_cpu", Go::Float32),
    ("ctx", Go::Int32),
    ("majf", Go::Int32),
    ("minf", Go::Int32),
    ("iodepth_level", Go::Object(DEPTH)),
    ("iodepth_submit", Go::Object(DEPTH)),
    ("iodepth_complete", Go::Object(DEPTH)),
    ("latency_ns", Go::Object(LATENCY)),
    ("latency_us", Go::Object(LATENCY)),
    ("latency_ms", Go::Object(LATENCY)),
    ("latency_depth", Go::Int32),
    ("latency_target", Go::Int32),
    ("latency_percentile", Go::Float32),
    ("latency_window", Go::Int32),
];
const OPTIONS: &[(&str, Go)] = &[
    ("name", Go::Text),
    ("bs", Go::Text),
    ("iodepth", Go::Text),
    ("size", Go::Text),
    ("rw", Go::Text),
    ("ramp_time", Go::Text),
    ("runtime", Go::Text),
];
const STATS: &[(&str, Go)] = &[
    ("io_bytes", Go::Int64),
    ("io_kbytes", Go::Int64),
    ("bw_bytes", Go::Int64),
    ("bw", Go::Int64),
    ("iops", Go::Float32),
    ("runtime", Go::Int64),
    ("total_ios", Go::Int64),
    ("short_ios", Go::Int64),
    ("drop_ios", Go::Int64),
    ("slat_ns", Go::Object(NS)),
    ("clat_ns", Go::Object(NS)),
    ("lat_ns", Go::Object(NS)),
    ("bw_min", Go::Int64),
    ("bw_max", Go::Int64),
    ("bw_agg", Go::Float32),
    ("bw_mean", Go::Float32),
    ("bw_dev", Go::Float32),
    ("bw_samples", Go::Int32),
    ("iops_min", Go::Int32),
    ("iops_max", Go::Int32),
    ("iops_mean", Go::Float32),
    ("iops_stddev", Go::Float32),
    ("iops_samples", Go::Int32),
];
const NS: &[(&str, Go)] = &[
    ("min", Go::Int64),
    ("max", Go::Int64),
    ("mean", Go::Float32),
    ("stddev", Go::Float32),
    ("N", Go::Int64),
];
const DEPTH: &[(&str, Go)] = &[
    ("0", Go::Float32),
    ("1", Go::Float32),
    ("2", Go::Float32),
    ("4", Go::Float32),
    ("8", Go::Float32),
    ("16", Go::Float32),
    ("32", Go::Float32),
    ("64", Go::Float32),
    (">=64", Go::Float32),
];
const LATENCY: &[(&str, Go)] = &[
    ("2", Go::Float32),
    ("4", Go::Float32),
    ("10", Go::Float32),
    ("20", Go::Float32),
    ("50", Go::Float32),
    ("100", Go::Float32),
    ("250", Go::Float32),
    ("500", Go::Float32),
    ("750", Go::Float32),
    ("1000", Go::Float32),
    ("2000", Go::Float32),
    (">=2000", Go::Float32),
];
const DISK: &[(&str, Go)] = &[
    ("name", Go::Text),
    ("read_ios", Go::Int64),
    ("write_ios", Go::Int64),
    ("read_merges", Go::Int64),
    ("write_merges", Go::Int64),
    ("read_ticks", Go::Int64),
    ("write_ticks", Go::Int64),
    ("in_queue", Go::Int64),
    ("util", Go::Float32),
];

/// Values that Go's decoder would refuse, with their path; a missing field keeps its zero value, as
/// in Go.
fn refused_by_go(at: &str, value: &Value, kind: Go, errors: &mut Vec<String>) {
    let fits = match kind {
        Go::Text => value.is_string(),
        Go::Int32 => is_integer(value).is_some_and(|n| i32::try_from(n).is_ok()),
        Go::Int64 => is_integer(value).is_some(),
        Go::Float32 => value
            .as_f64()
            .is_some_and(|n| n.is_finite() && n.abs() <= f64::from(f32::MAX)),
        Go::Object(_) => value.is_object(),
        Go::List(_) => value.is_array(),
    };
    if !fits {
        errors.push(format!("{at}: {value}"));
    }
    match kind {
        Go::Object(fields) => fields_refused(at, value, fields, errors),
        Go::List(fields) => {
            let elements = value.as_array().into_iter().flatten();
            elements.for_each(|element| fields_refused(at, element, fields, errors));
        }
        _ => {}
    }
}

fn fields_refused(at: &str, value: &Value, fields: &[(&str, Go)], errors: &mut Vec<String>) {
    for (name, kind) in fields {
        if let Some(field) = value.get(*name) {
            refused_by_go(&format!("{at}/{name}"), field, *kind, errors);
        }
    }
}

/// Go accepts `5` as an integer and refuses `5.0` and `5e0`.
fn is_integer(value: &Value) -> Option<i64> {
    value.as_i64()
}

/// One of kubestr's built-in jobs, smaller, run as it runs them.
fn run_kubestr_job() -> Json {
    let scratch = Scratch::new().expect("a directory on a disk");
    let job = scratch.join("job.fio");
    let text = "[global]\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ngtod_reduce=1\n[job1]\nname=rand_readwrite\n\
                bs=4K\niodepth=64\nsize=16M\nreadwrite=randrw\nrwmixread=75\ntime_based\nramp_time=1s\nruntime=2s\n";
    std::fs::write(&job, text).expect("written");
    let directory = scratch.path().display().to_string();
    let ran = fathom([
        "fio",
        "--directory",
        &directory,
        &job.display().to_string(),
        "--output-format=json",
    ])
    .expect(0);
    assert_eq!(ran.err, "", "kubestr treats any error output as a failure");
    ran.json()
}

#[test]
fn kubestr_decodes_the_result_and_finds_what_it_prints() {
    let json = run_kubestr_job();
    let mut errors = Vec::new();
    refused_by_go("", &json.0, Go::Object(RESULT), &mut errors);
    assert!(errors.is_empty(), "Go refuses {errors:#?}");
    for direction in ["read", "write"] {
        for field in [
            "iops",
            "bw",
            "iops_min",
            "iops_max",
            "iops_mean",
            "bw_min",
            "bw_max",
            "bw_mean",
        ] {
            assert!(
                json.number(&format!("/jobs/0/{direction}/{field}")) > 0.0,
                "{direction} {field} is zero"
            );
        }
    }
    let options = [
        ("name", "rand_readwrite"),
        ("bs", "4K"),
        ("iodepth", "64"),
        ("size", "16M"),
        ("rw", "randrw"),
    ];
    for (name, value) in options {
        assert_eq!(json.text(&format!("/jobs/0/job options/{name}")), value);
    }
    assert_eq!(json.text("/global options/ioengine"), "libaio");
    assert_eq!(json.text("/global options/gtod_reduce"), "1");
    assert!(json.0["disk_util"].is_array());
}

#[test]
fn the_go_type_check_rejects_wrong_types() {
    let wrong = serde_json::json!({
        "timestamp": 1.0, "time": 5, "jobs": [{"ctx": 3_000_000_000_u32, "read": {"iops": "5", "iops_min": 2.5}}], "disk_util": {}
    });
    let mut errors = Vec::new();
    refused_by_go("", &wrong, Go::Object(RESULT), &mut errors);
    assert_eq!(errors.len(), 6, "{errors:#?}");
}

/// The rates in the logs equal those of the document, so that charts of the logs are right.
#[test]
fn averaged_logs_agree_with_the_document() {
    let scratch = Scratch::new().expect("a directory on a disk");
    let log = scratch.join("trial");
    let mut arguments = common::split_args(
        "fio --name=a --rw=randread --size=8m --direct=1 --ioengine=libaio --iodepth=4 --time_based --runtime=3s \
         --log_avg_msec=500 --output-format=json",
    );
    arguments.extend([
        filename_arg(&scratch.join("data")),
        format!("--write_iops_log={}", log.display()),
    ]);
    let json = fathom(&arguments).expect(0).json();
    let text = std::fs::read_to_string(scratch.join("trial_iops.1.log")).expect("a log");
    let column = |line: &str, n: usize| {
        line.split(',')
            .nth(n)
            .expect("a column")
            .trim()
            .parse::<f64>()
            .expect("a number")
    };
    let rows: Vec<f64> = text.lines().map(|line| column(line, 1)).collect();
    let times: Vec<f64> = text.lines().map(|line| column(line, 0)).collect();
    assert_eq!(
        times,
        [500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0],
        "one row a window"
    );
    let mean = rows.iter().sum::<f64>() / rows.len() as f64;
    let iops = json.number("/jobs/0/read/iops");
    assert!(
        (mean / iops - 1.0).abs() < 0.01,
        "log {mean}, document {iops}"
    );
}

// ---- fio_jsonplus_clat2csv

#[test]
fn fio_jsonplus_clat2csv_reads_the_bins() {
    const TOOL: &str = "fio_jsonplus_clat2csv";
    let scratch = Scratch::new().expect("a directory on a disk");
    let installed = Command::new(TOOL)
        .arg("--help")
        .current_dir(scratch.path())
        .output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return skip("fio_jsonplus_clat2csv is not installed (it comes with fio)");
    }
    let document = scratch.join("out.json");
    let mut arguments = common::split_args(
        "fio --output-format=json+ --slat_percentiles=1 --clat_percentiles=1 --lat_percentiles=1 --ioengine=libaio \
         --iodepth=4 --direct=1 --size=8m --rw=randrw --name=first",
    );
    arguments.extend([
        filename_arg(&scratch.join("data")),
        format!("--output={}", document.display()),
    ]);
    assert_eq!(fathom(&arguments).expect(0).err, "");
    run_tool(
        Command::new(TOOL)
            .args(["out.json", "out.csv"])
            .current_dir(scratch.path()),
    )
    .expect("read");
    let json: Value =
        serde_json::from_slice(&std::fs::read(&document).expect("written")).expect("JSON");
    let csv = std::fs::read_to_string(scratch.join("out_job0.csv")).expect("one table a job");
    for direction in ["read", "write"] {
        for kind in ["slat", "clat", "lat"] {
            let sum = column_sum(&csv, &format!("{direction}_{kind}_ns_count"));
            assert_eq!(
                Some(sum),
                json["jobs"][0][direction]["total_ios"].as_u64(),
                "{direction} {kind}"
            );
        }
    }
}

// ---- fio-histo-log-pctiles.py

/// fio's tool for histogram logs counts every I/O of the run and finds the median of the document.
#[test]
fn fio_histo_log_pctiles_finds_the_median() {
    const TOOL: &str = "/usr/share/doc/fio/fio-histo-log-pctiles.py.gz";
    let installed = Command::new("zcat")
        .arg(TOOL)
        .output()
        .ok()
        .filter(|output| output.status.success());
    let Some(tool) = installed else {
        return skip("fio-histo-log-pctiles.py is not installed (it comes with Debian's fio)");
    };
    let scratch = Scratch::new().expect("a directory on a disk");
    std::fs::write(scratch.join("tool.py"), tool.stdout).expect("written");
    let mut arguments = common::split_args(
        "fio --machine=nvme-ssd --output-format=json --ioengine=libaio --iodepth=4 --direct=1 --size=64m --rw=randread --name=h \
         --log_hist_msec=50 --filename=/data",
    );
    arguments.push(format!("--write_hist_log={}", scratch.join("h").display()));
    let json: Value = serde_json::from_str(&fathom(&arguments).expect(0).out).expect("JSON");
    let options = ["tool.py", "--time-quantum", "3600", "h_clat_hist.1.log"];
    let message = run_tool(
        Command::new("python3")
            .args(options)
            .current_dir(scratch.path()),
    )
    .expect("read");
    // msec-since-start, samples, min, median, ...
    let last: Vec<f64> = message
        .lines()
        .last()
        .expect("a line")
        .split(',')
        .filter_map(|cell| cell.trim().parse().ok())
        .collect();
    assert_eq!(
        Some(last[1] as u64),
        json["jobs"][0]["read"]["total_ios"].as_u64(),
        "{message}"
    );
    let median = json["jobs"][0]["read"]["clat_ns"]["percentile"]["50.000000"]
        .as_f64()
        .expect("a median");
    // Both have 64 buckets per power of two, and the tool interpolates inside the bucket that it finds.
    assert!(
        (last[3] * 1000.0 / median - 1.0).abs() < 1.0 / 64.0,
        "{median} ns: {message}"
    );
}

/// The sum of the numbers of a column; empty cells are skipped.
fn column_sum(csv: &str, name: &str) -> u64 {
    let mut lines = csv
        .lines()
        .map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let at = header
        .iter()
        .position(|column| *column == name)
        .unwrap_or_else(|| panic!("no {name} in {header:?}"));
    lines
        .filter_map(|row| row.get(at).and_then(|cell| cell.parse::<u64>().ok()))
        .sum()
}

/// `fathom version --verbose` names the commit, the features and the build of this program.
#[test]
fn the_version_names_the_build() {
    let short = fathom(["version"]).out;
    assert_eq!(
        short,
        format!("fathom {}\n", env!("CARGO_PKG_VERSION")),
        "one line"
    );
    for arguments in [["version", "--verbose"], ["--version", "--verbose"]] {
        let verbose = fathom(arguments).out;
        let facts: Vec<&str> = verbose.lines().skip(1).collect();
        assert!(verbose.starts_with(&short), "{verbose}");
        assert!(facts[0].starts_with("commit: "), "{verbose}");
        assert_eq!(facts[1], "features: charts postgres serve store watch");
        let target = format!("{}-unknown-linux-", std::env::consts::ARCH);
        assert!(facts[2].contains(&target), "{verbose}");
        assert!(facts[3].starts_with("compiler: rustc 1."), "{verbose}");
    }
}
