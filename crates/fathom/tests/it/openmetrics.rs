//! The OpenMetrics output of all commands, read by a strict parser of its grammar and by promtool, and JUnit of `--slo`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{Completed, program, split_args, start};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Scratch};

/// One metric family.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    /// Name and labels of each sample, with its value.
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

/// Parses an exposition by the ABNF and the rules of the OpenMetrics specification 1.0: everything that it forbids is an error.
fn parse(text: &str) -> Result<BTreeMap<String, Family>, String> {
    let body = text
        .strip_suffix("# EOF\n")
        .ok_or("the last line is not `# EOF`")?;
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut series = BTreeSet::new();
    let mut metadata = BTreeSet::new();
    for line in body.lines() {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        if let Some(rest) = line.strip_prefix("# ") {
            let mut fields = rest.splitn(3, ' ');
            let (key, name, value) = (fields.next(), fields.next(), fields.next());
            let (Some(key), Some(name), Some(value)) = (key, name, value) else {
                return wrong("incomplete metadata");
            };
            if !is_name(name, true) {
                return wrong("invalid metric name");
            }
            if name != current {
                if families.contains_key(name) {
                    return wrong("the lines of a family are not together");
                }
                families.insert(name.to_owned(), Family::default());
                name.clone_into(&mut current);
            }
            let family = families.get_mut(name).expect("it was inserted");
            if !family.samples.is_empty() {
                return wrong("metadata after a sample");
            }
            if !metadata.insert((key.to_owned(), name.to_owned())) {
                return wrong("metadata twice");
            }
            match key {
                "TYPE"
                    if [
                        "gauge",
                        "counter",
                        "summary",
                        "info",
                        "stateset",
                        "histogram",
                        "unknown",
                    ]
                    .contains(&value) =>
                {
                    value.clone_into(&mut family.kind);
                }
                "UNIT" if name.ends_with(&format!("_{value}")) => {}
                "HELP" if !value.is_empty() => {}
                _ => return wrong("invalid metadata"),
            }
            continue;
        }
        let (name, labels, value) = sample(line)?;
        let family = families
            .get_mut(&current)
            .ok_or_else(|| format!("a sample without metadata: {line}"))?;
        let suffix = name
            .strip_prefix(current.as_str())
            .ok_or_else(|| format!("a sample of another family: {line}"))?;
        let quantile = labels.get("quantile");
        let fits = match (family.kind.as_str(), suffix) {
            ("gauge", "") => quantile.is_none(),
            ("counter", "_total") => value >= 0.0,
            // A family without a type: its samples have its name.
            ("", "") => quantile.is_none(),
            ("summary", "") => quantile
                .and_then(|text| text.parse::<f64>().ok())
                .is_some_and(|quantile| (0.0..=1.0).contains(&quantile)),
            ("summary", "_sum") => quantile.is_none() && value >= 0.0,
            ("summary", "_count") => quantile.is_none() && value >= 0.0 && value.fract() == 0.0,
            _ => false,
        };
        if !fits {
            return Err(format!("not a sample of a {}: {line}", family.kind));
        }
        if !series.insert((name.clone(), labels.clone())) {
            return Err(format!("a series twice: {line}"));
        }
        family.samples.push((name, labels, value));
    }
    // No name may be that of a sample of another family.
    for name in families.keys() {
        for suffix in ["_total", "_sum", "_count", "_bucket", "_created", "_info"] {
            let clash = name
                .strip_suffix(suffix)
                .is_some_and(|base| families.contains_key(base));
            if clash {
                return Err(format!("{name} clashes with another family"));
            }
        }
    }
    Ok(families)
}

fn is_name(text: &str, colon: bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colon && c == ':');
    !text.is_empty() && text.chars().all(fits) && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// `name{label="value",...} number`, with exactly one space and no time.
fn sample(line: &str) -> Result<(String, BTreeMap<String, String>, f64), String> {
    let wrong = |why: &str| format!("{why}: {line}");
    let end = line.find(['{', ' ']).ok_or_else(|| wrong("no value"))?;
    let (name, mut rest) = line.split_at(end);
    if !is_name(name, true) {
        return Err(wrong("invalid metric name"));
    }
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest
                .split_once("=\"")
                .ok_or_else(|| wrong("no label value"))?;
            if !is_name(label, false) {
                return Err(wrong("invalid label name"));
            }
            let mut value = String::new();
            let mut chars = after.char_indices();
            let stop = loop {
                match chars.next().ok_or_else(|| wrong("an open label"))? {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match chars.next() {
                        Some((_, 'n')) => '\n',
                        Some((_, c @ ('"' | '\\'))) => c,
                        _ => return Err(wrong("invalid escape")),
                    }),
                    (_, c) => value.push(c),
                }
            };
            if labels.insert(label.to_owned(), value).is_some() {
                return Err(wrong("a label twice"));
            }
            rest = &after[stop + 1..];
            if let Some(next) = rest.strip_prefix(',') {
                rest = next;
            } else {
                rest = rest
                    .strip_prefix('}')
                    .ok_or_else(|| wrong("no closing brace"))?;
                break;
            }
        }
    }
    let number = rest.strip_prefix(' ').ok_or_else(|| wrong("no space"))?;
    let value = number.parse().map_err(|_| wrong("invalid number"))?;
    Ok((name.to_owned(), labels, value))
}

/// Parses an exposition with the strict parser, and checks it with promtool where it is installed.
fn checked(text: &str) -> BTreeMap<String, Family> {
    let families = parse(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    check_with_promtool(text);
    families
}

/// Has promtool check a document as the text format of Prometheus: it prints a line and fails for every violated convention.
fn check_with_promtool(text: &str) {
    let tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = tool else {
        return fathom_testkit::skip("promtool is not installed");
    };
    let mut input = tool.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("promtool reads");
    drop(input);
    let output = tool.wait_with_output().expect("promtool ends");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}{}",
        String::from_utf8_lossy(&output.stderr),
        text
    );
}

fn run_in(directory: &Scratch, line: &str) -> Completed {
    let mut command = program(split_args(line));
    command
        .current_dir(directory.path())
        .env("FATHOM_STORE", directory.join("store.db"));
    start(command).finish()
}

/// The values of a family by one label.
fn values(families: &BTreeMap<String, Family>, family: &str, by: &str) -> BTreeMap<String, f64> {
    families[family]
        .samples
        .iter()
        .map(|(_, labels, value)| (labels.get(by).cloned().unwrap_or_default(), *value))
        .collect()
}

/// The parser of this file refuses what the specification forbids.
#[test]
fn the_parser_is_strict() {
    let good = "# HELP a_seconds A.\n# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds{b=\"c\\n\"} 1\n# EOF\n";
    parse(good).expect("valid");
    for (from, to) in [
        ("# EOF\n", ""),
        ("# EOF\n", "# EOF\n\n"),
        ("# UNIT a_seconds seconds", "# UNIT a_seconds bytes"),
        ("a_seconds{b=\"c\\n\"} 1", "a_seconds{b=\"c\\t\"} 1"),
        ("a_seconds{b=\"c\\n\"} 1", "a_seconds{b=\"c\"}  1"),
        ("a_seconds{b=\"c\\n\"} 1", "a_seconds 1\na_seconds 2"),
        ("a_seconds{b=\"c\\n\"} 1", "a_seconds_total 1"),
        ("a_seconds{b=\"c\\n\"} 1", "b_seconds 1"),
        ("# TYPE a_seconds gauge", "# TYPE a_seconds number"),
        ("a_seconds{b=\"c\\n\"} 1", "a_seconds{1=\"c\"} 1"),
    ] {
        parse(&good.replace(from, to)).expect_err(to);
    }
}

/// Regression 0571: no command wrote its result for a monitoring system. The figures are those of the JSON of the same run.
#[test]
fn a_run_is_written_as_metrics() {
    let directory = Scratch::new().expect("a directory");
    let jobs = "run --name=a\"b --ioengine=null --size=1m --bs=4k --rw=randrw --name=a\"b --rw=write --ioengine=null --size=1m";
    let text = run_in(&directory, &format!("{jobs} --format=openmetrics"))
        .expect(0)
        .out;
    let families = checked(&text);
    let json = run_in(&directory, "show --json").expect(0).json();
    let ios = values(&families, "fathom_job_ios", "direction");
    assert_eq!(ios.keys().collect::<Vec<_>>(), ["read", "write"]);
    let job = |name: &str, direction: &str| {
        families["fathom_job_transferred_bytes"]
            .samples
            .iter()
            .find(|(_, labels, _)| labels["job"] == name && labels["direction"] == direction)
            .map(|(_, _, value)| *value)
    };
    assert_eq!(
        job("a\"b", "read"),
        Some(json.number("/jobs/0/read/io_bytes"))
    );
    assert_eq!(
        job("a\"b", "write"),
        Some(json.number("/jobs/0/write/io_bytes"))
    );
    // The second job has the same name.
    assert_eq!(job("a\"b (2)", "write"), Some(f64::from(1 << 20)));
    let latency = &families["fathom_job_completion_latency_seconds"];
    let p99 = latency
        .samples
        .iter()
        .find(|(_, labels, _)| {
            labels
                .get("quantile")
                .is_some_and(|quantile| quantile == "0.99")
                && labels["direction"] == "read"
        })
        .expect("a quantile");
    let ns = json.number("/jobs/0/read/clat_ns/percentile/99.000000");
    assert!((p99.2 * 1e9 - ns).abs() < 1e-3, "{} s, {ns} ns", p99.2);
    let count = latency
        .samples
        .iter()
        .find(|(name, labels, _)| name.ends_with("_count") && labels["direction"] == "read");
    assert_eq!(
        count.map(|one| one.2),
        Some(json.number("/jobs/0/read/clat_ns/N"))
    );
    let verdicts = values(&families, "fathom_run_verdict", "verdict");
    assert_eq!(verdicts.values().sum::<f64>(), 1.0);
    assert_eq!(verdicts[json.verdict()], 1.0);
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/how-to/prometheus.md"
    ))
    .expect("the page of the names");
    for family in families.keys() {
        let limit = ["_latency_min_seconds", "_latency_max_seconds"]
            .iter()
            .any(|end| family.ends_with(end));
        assert!(limit || page.contains(&format!("`{family}`")), "{family}");
    }
    // The stored run gives the same document.
    let shown = run_in(&directory, "show --format=openmetrics")
        .expect(0)
        .out;
    assert_eq!(shown, text);
}

/// Regression 0590: the totals of a run were gauges alone. I/Os, bytes and errors are counters: with their type in the text format
/// of Prometheus, and without one in OpenMetrics, whose type lines have other names. The errors are those of the fault device.
#[test]
fn the_totals_of_a_run_are_counters() {
    let directory = Scratch::new().expect("a directory");
    let line = "run --ioengine=null --size=1m --bs=4k --name=a --rw=randrw --name=b --rw=write";
    let text = run_in(&directory, &format!("{line} --format=prometheus"))
        .expect(0)
        .out;
    check_with_promtool(&text);
    assert!(
        !text.contains("# EOF") && !text.contains("# UNIT"),
        "{text}"
    );
    let json = run_in(&directory, "show --json").expect(0).json();
    let of_jobs = |key: &str| -> [f64; 2] {
        ["read", "write"].map(|direction| {
            (0..2)
                .map(|job| json.number(&format!("/jobs/{job}/{direction}/{key}")))
                .sum()
        })
    };
    let value = |text: &str, name: &str, direction: &str| {
        let start = format!("{name}{{direction=\"{direction}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        value
            .and_then(|value| value.parse::<f64>().ok())
            .unwrap_or_else(|| panic!("no {start}in\n{text}"))
    };
    let open = run_in(&directory, "show --format=openmetrics")
        .expect(0)
        .out;
    let families = checked(&open);
    for (name, expected) in [
        ("fathom_run_ios_total", of_jobs("total_ios")),
        ("fathom_run_bytes_total", of_jobs("io_bytes")),
        ("fathom_run_errors_total", [0.0, 0.0]),
    ] {
        assert!(text.contains(&format!("# TYPE {name} counter\n")), "{name}");
        for (direction, expected) in ["read", "write"].iter().zip(expected) {
            assert_eq!(
                value(&text, name, direction),
                expected,
                "{name} {direction}"
            );
        }
        assert_eq!(families[name].kind, "", "{name}");
        let both = values(&families, name, "direction");
        assert_eq!([both["read"], both["write"]], expected, "{name}");
    }
    // The second job writes 1 MiB in blocks of 4 KiB, the first one 1 MiB in both directions.
    let all: f64 = ["read", "write"]
        .map(|direction| value(&text, "fathom_run_ios_total", direction))
        .iter()
        .sum();
    assert_eq!(all, 512.0);
    // All commands have the format; in a file of its own it replaces the old one at once.
    for line in [
        "show --format=prometheus",
        "export latest --format=prometheus",
        "show latest --format=prometheus -o own.prom",
    ] {
        let shown = run_in(&directory, line).expect(0).out;
        let shown = if line.contains("-o") {
            std::fs::read_to_string(directory.join("own.prom")).expect("a document")
        } else {
            shown
        };
        check_with_promtool(&shown);
        assert!(
            shown.contains("# TYPE fathom_run_ios_total counter"),
            "{line}"
        );
    }
    let refused = run_in(&directory, &format!("{line} --format=prometheus,json")).expect(2);
    assert!(
        refused.err.contains("prometheus cannot be combined"),
        "{}",
        refused.err
    );
}

/// A read of a part that the device refuses is an error in the counters.
#[test]
fn failed_ios_are_counted_as_errors() {
    fathom_testkit::require!(Fuse);
    let directory = Scratch::new().expect("a directory");
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a device");
    device.inject(Fault::ReadError {
        offset: 0,
        len: 64 << 10,
    });
    let line = format!(
        "run --name=j --ioengine=psync --direct=1 --rw=read --bs=4k --size=1m --continue_on_error=all --format=openmetrics --filename={}",
        device.path().display()
    );
    let families = checked(&run_in(&directory, &line).out);
    let total = |name: &str| values(&families, name, "direction")["read"];
    // 16 of 256 blocks are in the range.
    assert_eq!(total("fathom_run_errors_total"), 16.0);
    assert_eq!(total("fathom_run_ios_total"), 240.0);
    assert_eq!(total("fathom_run_bytes_total"), 240.0 * 4096.0);
}

/// The document appears under its name when it is complete: a collector reads the old one or the new one.
#[test]
fn the_file_is_replaced_at_once() {
    let directory = Scratch::new().expect("a directory");
    let file = directory.join("fathom.prom");
    let line = "run --no-store --name=j --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=1500ms --format=openmetrics -o fathom.prom";
    let begin = || {
        let mut command = program(split_args(line));
        command.current_dir(directory.path());
        start(command)
    };
    for old in [None, Some("old\n")] {
        let _ = std::fs::remove_file(&file);
        if let Some(old) = old {
            std::fs::write(&file, old).expect("a file");
        }
        let mut running = begin();
        let mut seen = BTreeSet::new();
        while !running.has_exited() {
            seen.insert(std::fs::read_to_string(&file).ok());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        running.finish().expect(0);
        let new = std::fs::read_to_string(&file).expect("the document");
        checked(&new);
        seen.insert(Some(new.clone()));
        let known = [old.map(str::to_owned), Some(new)];
        assert_eq!(seen, BTreeSet::from(known));
        let names = std::fs::read_dir(directory.path())
            .expect("a directory")
            .count();
        assert_eq!(names, 1, "no temporary file is left");
    }
    // A run that is refused leaves the old document.
    let old = std::fs::read_to_string(&file).expect("the document");
    let refused =
        "run --no-store --name=j --filename=/dev/sdX --rw=read --format=openmetrics -o fathom.prom";
    run_in(&directory, refused).expect(2);
    assert_eq!(std::fs::read_to_string(&file).expect("the document"), old);
}

/// All cells of a sweep, with their axes; and results of other programs, with their files.
#[test]
fn stored_and_imported_results_are_written_as_metrics() {
    let directory = Scratch::new().expect("a directory");
    std::fs::write(
        directory.join("one.fio"),
        "[one]\nioengine=null\nsize=1m\nrw=randread\n",
    )
    .expect("a job file");
    run_in(&directory, "sweep one.fio --axis bs=4k,16k --runtime=200ms").expect(0);
    for line in [
        "show --format=openmetrics",
        "export latest --format=openmetrics",
    ] {
        let families = checked(&run_in(&directory, line).expect(0).out);
        let rates = values(&families, "fathom_job_ios_per_second", "axis_bs");
        assert_eq!(rates.keys().collect::<Vec<_>>(), ["16k", "4k"], "{line}");
    }
    run_in(&directory, "export latest latest -o all.prom").expect(0);
    checked(&std::fs::read_to_string(directory.join("all.prom")).expect("a document"));
    let fixtures = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fathom-import/tests/fixtures"
    );
    let imported = run_in(
        &directory,
        &format!("import {fixtures} --format=openmetrics"),
    );
    let families = checked(&imported.out);
    assert!(families["fathom_job_ios_per_second"].samples.len() > 5);
    let shown = run_in(&directory, "show latest.1 --format=openmetrics").expect(0);
    checked(&shown.out);
}

/// An exposition is a document of its own, and not a format of fio.
#[test]
fn openmetrics_is_alone_in_its_document() {
    let directory = Scratch::new().expect("a directory");
    for formats in [
        "json,openmetrics",
        "openmetrics,normal",
        "openmetrics --append-terse",
    ] {
        let refused = run_in(
            &directory,
            &format!("run --name=j --ioengine=null --size=4k --format={formats}"),
        );
        let refused = refused.expect(2);
        assert!(
            refused.err.contains("openmetrics cannot be combined"),
            "{}",
            refused.err
        );
    }
    let fio = run_in(
        &directory,
        "fio --name=j --ioengine=null --size=4k --output-format=openmetrics",
    )
    .expect(1);
    assert!(
        fio.err.contains("unknown output format 'openmetrics'"),
        "{}",
        fio.err
    );
}

/// The test cases of a JUnit document, read by an XML parser: class, name, and the message of the failure.
fn junit_cases(file: &std::path::Path) -> Option<Vec<(String, String, Option<String>)>> {
    let script = r#"
import json, sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
assert suite.tag == "testsuite", suite.tag
cases = suite.findall("testcase")
failed = [case.find("failure") for case in cases]
assert int(suite.get("tests")) == len(cases) == len(list(suite)) > 0
assert int(suite.get("failures")) == sum(one is not None for one in failed)
print(json.dumps([[case.get("classname"), case.get("name"), None if one is None else one.get("message")]
                  for case, one in zip(cases, failed)]))
"#;
    let parser = Command::new("python3")
        .args(["-c", script])
        .arg(file)
        .output();
    let Ok(parsed) = parser else {
        fathom_testkit::skip("python3 is not installed");
        return None;
    };
    assert!(
        parsed.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&parsed.stderr),
        std::fs::read_to_string(file).unwrap_or_default()
    );
    let cases: serde_json::Value = serde_json::from_slice(&parsed.stdout).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let case = |one: &serde_json::Value| {
        (
            text(&one[0]).expect("a class"),
            text(&one[1]).expect("a name"),
            text(&one[2]),
        )
    };
    Some(cases.as_array().expect("a list").iter().map(case).collect())
}

/// Regression 0591: `suite`, `sweep` and `quick` wrote no JUnit. Each cell is a test case, and so are the steady state of a
/// step and the answer of a suite.
#[test]
fn each_verdict_and_answer_is_a_test_case() {
    let directory = Scratch::new().expect("a directory");
    let cases = |line: &str| {
        run_in(&directory, &format!("{line} --no-store --junit=cases.xml"));
        junit_cases(&directory.join("cases.xml"))
    };
    std::fs::write(
        directory.join("job.fio"),
        "[j]\nioengine=null\nsize=1g\nrw=randread\n",
    )
    .expect("a job file");
    let Some(swept) = cases("sweep job.fio --axis=bs=4k,8k --runtime=200ms") else {
        return;
    };
    let names: Vec<&str> = swept.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["bs=4k", "bs=8k"]);
    assert!(swept.iter().all(|(class, _, _)| class == "job.fio"));

    std::fs::create_dir(directory.join("suites")).expect("a directory");
    std::fs::write(
        directory.join("suites/two.toml"),
        "schema = 1\nname = \"two\"\ntitle = \"t\"\nabout = \"a\"\ntime = \"1s\"\nsize = \"16m\"\n[options]\nrw = \"randread\"\nioengine = \"null\"\n\
         [[step]]\nname = \"sizes\"\naxes = [\"bs=4k,8k\"]\n[[step]]\nname = \"rounds\"\naxes = [\"bs=4k\"]\nrounds = 5\nsteady = [\"bs=4k\"]\n",
    )
    .expect("a recipe");
    let suite =
        cases("suite two . --suites=suites --faster=5 --json -o two.json").expect("python3");
    let names: Vec<&str> = suite.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "sizes: bs=4k",
            "sizes: bs=8k",
            "rounds: bs=4k",
            "rounds: steady state"
        ]
    );
    // The steady state is that of the result.
    let result = std::fs::read(directory.join("two.json")).expect("a result");
    let result: serde_json::Value = serde_json::from_slice(&result).expect("JSON");
    let steady = result
        .pointer("/steps/1/rounds/steady_round")
        .expect("the steady state");
    assert_eq!(suite[3].2.is_some(), steady.is_null(), "{suite:?}");
    assert!(
        suite
            .iter()
            .all(|(class, _, _)| class.starts_with("two on "))
    );
}

/// Regression 0572: only `compare` wrote JUnit. Each limit of `--slo` is a test case.
#[test]
fn limits_are_written_as_test_cases() {
    let directory = Scratch::new().expect("a directory");
    let job = "run --no-store --name=j --ioengine=null --size=1m --rw=randread --slo=p50<=10s --slo=mean<=1ns --junit=limits.xml";
    run_in(&directory, job).expect(1);
    let text = std::fs::read_to_string(directory.join("limits.xml")).expect("a document");
    assert!(
        text.contains("<testsuite name=\"fathom run\" tests=\"2\" failures=\"1\" skipped=\"0\">"),
        "{text}"
    );
    assert!(
        text.contains("name=\"p50 &lt;= 10.00 s\"><system-out>yes:"),
        "{text}"
    );
    assert!(text.contains("<failure message=\"no:"), "{text}");
    let search =
        "search job.fio --no-store --at=500 --slo=p99<=10s --runtime=300ms --junit=search.xml";
    std::fs::write(
        directory.join("job.fio"),
        "[j]\nioengine=null\nsize=1g\nrw=randread\n",
    )
    .expect("a job file");
    run_in(&directory, search).expect(0);
    let text = std::fs::read_to_string(directory.join("search.xml")).expect("a document");
    assert!(
        text.contains("<testsuite name=\"fathom search\" tests=\"1\""),
        "{text}"
    );
    for line in [
        "run --no-store --name=j --ioengine=null --size=4k --junit=x.xml",
        "search job.fio --no-store --junit=x.xml",
    ] {
        let refused = run_in(&directory, line).expect(2);
        assert!(
            refused.err.contains("--junit needs a limit"),
            "{}",
            refused.err
        );
    }
}
