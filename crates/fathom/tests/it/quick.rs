//! `fathom quick` as users call it.

use crate::common;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::common::{fathom, program, split_args, start};
use fathom_testkit::{LoopDevice, LoopOptions, Scratch, require};

fn quick(rest: &str) -> Vec<String> {
    split_args(&format!("quick {rest}"))
}

#[test]
fn a_directory_is_measured_in_the_given_time_and_left_unchanged() {
    let scratch = Scratch::new().expect("a directory");
    let started = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs_f64();
    let report = Scratch::new().expect("a directory");
    let junit = report.join("quick.xml");
    let ran = fathom(quick(&format!(
        "{} --runtime=10s --json --junit={}",
        scratch.path().display(),
        junit.display()
    )));
    let json = ran.expect_done().json();
    let cases = std::fs::read_to_string(junit).expect("test cases");
    let verdict = json.text("/fathom/verdict");
    let failures = u32::from(verdict == "invalid");
    assert!(
        cases.contains(&format!(
            "<testsuite name=\"fathom quick\" tests=\"1\" failures=\"{failures}\" skipped=\"0\">"
        )) && cases.contains(&format!(
            "name=\"verdict\">{}",
            if failures == 0 {
                "<system-out>"
            } else {
                "<failure"
            }
        )),
        "{cases}"
    );
    assert!(cases.contains(verdict), "{verdict}: {cases}");
    let jobs = json
        .0
        .pointer("/jobs")
        .and_then(|all| all.as_array())
        .expect("jobs")
        .len();
    assert_eq!(jobs, 12);
    for job in 0..jobs {
        let ios: f64 = ["read", "write"]
            .iter()
            .map(|direction| json.number(&format!("/jobs/{job}/{direction}/total_ios")))
            .sum();
        assert!(ios > 0.0, "measurement {job} did no I/O");
    }
    // All measurements together take the requested time; a busy machine starts them late.
    let measured: f64 = (0..jobs)
        .map(|job| json.number(&format!("/jobs/{job}/job_runtime")))
        .sum();
    assert!((5_000.0..=10_500.0).contains(&measured), "{measured} ms");
    // The planned time plus the preparation before it equal the requested time, however long the
    // preparation took.
    let us = |name: &str| {
        let option = json.text(&format!("/global options/{name}"));
        option
            .trim_end_matches("us")
            .parse::<f64>()
            .unwrap_or_else(|_| panic!("{name}={option}"))
    };
    let planned = jobs as f64 * (us("runtime") + us("ramp_time")) / 1e6;
    let before = (json.number("/jobs/0/job_start") / 1e3 - started).max(0.0);
    // Each measurement takes at least a quarter of a second.
    let expected = (10.0 - before).max(0.25 * jobs as f64);
    assert!(
        (planned - expected).abs() < 1.0,
        "{planned} s planned after {before} s"
    );
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("the directory")
            .count(),
        0,
        "the file is removed"
    );
}

/// The first figure is on the screen within three seconds, before the file is laid out.
#[test]
fn the_first_figure_appears_within_three_seconds() {
    let scratch = Scratch::new().expect("a directory");
    let first = common::retry_on_busy_machine(|| {
        let mut command = program(quick(&format!(
            "{} --runtime=60s",
            scratch.path().display()
        )));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let line = lines
            .map_while(Result::ok)
            .find(|line| line.contains("first look: 4 KiB random reads") && line.contains("IOPS"));
        let first = started.elapsed();
        let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a number");
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it exists");
        child.wait().expect("it ends");
        match line {
            Some(_) if first < Duration::from_secs(3) => Ok(first),
            other => Err(format!("{other:?} after {first:?}")),
        }
    });
    eprintln!(
        "the first figure appeared after {:.2} s",
        first.as_secs_f64()
    );
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("the directory")
            .count(),
        0,
        "the file is removed"
    );
}

/// Regression 0414: rows appeared together at the end, and the progress named no test.
#[test]
fn rows_appear_as_they_are_measured_and_a_sentence_names_the_class() {
    let scratch = Scratch::new().expect("a directory");
    let store = scratch.join("store.db");
    let mut command = program(quick(&format!(
        ". --runtime=10s --store={}",
        store.display()
    )));
    let disk = scratch.join("disk");
    std::fs::create_dir(&disk).expect("a directory");
    command
        .current_dir(&disk)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let rows: Vec<(String, Instant)> = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("/12 "))
        .map(|line| (line, Instant::now()))
        .collect();
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(rows.len(), 12, "{rows:?}");
    for (number, title) in [
        (1, "4 KiB random reads, depth 1: "),
        (5, "1 MiB sequential reads, depth 1: "),
        (7, "1 MiB sequential writes, depth 1: "),
        (12, "4 KiB commits (write, fdatasync): "),
    ] {
        let row = &rows[number - 1].0;
        assert!(row.starts_with(&format!("{number}/12 {title}")), "{row}");
        assert!(row.contains(" IOPS, "), "{row}");
    }
    let between = rows[11].1 - rows[0].1;
    assert!(between > Duration::from_secs(3), "{between:?}");
    let text = String::from_utf8(out.stdout).expect("text");
    assert!(
        text.contains("In plain words: ") || text.contains("INVALID"),
        "{text}"
    );
    // Regression 0415: the run was named ".".
    let runs = fathom(split_args(&format!("runs --store={}", store.display()))).expect(0);
    assert!(
        runs.out.contains(&disk.display().to_string()),
        "{}",
        runs.out
    );
}

#[test]
fn a_foreign_file_is_only_read() {
    let scratch = Scratch::new().expect("a directory");
    let file = scratch.join("mine");
    let content: Vec<u8> = (0..8u32 << 20).map(|i| (i % 251) as u8).collect();
    std::fs::write(&file, &content).expect("a file");
    let json = fathom(quick(&format!("{} --runtime=10s --json", file.display())))
        .expect_done()
        .json();
    assert_eq!(
        json.0
            .pointer("/jobs")
            .and_then(|all| all.as_array())
            .expect("jobs")
            .len(),
        6
    );
    assert!(
        std::fs::read(&file).expect("it exists") == content,
        "the file is unchanged"
    );
}

#[test]
fn a_device_is_only_read_and_the_answer_is_a_table() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a directory");
    let image = scratch.join("disk.img");
    let device = LoopDevice::create(&image, 64 << 20, LoopOptions::default()).expect("a device");
    let ran = fathom(quick(&format!("{} --runtime=10s", device.path().display()))).expect_done();
    for row in [
        "4 KiB random reads, depth 1",
        "1 MiB sequential reads",
        "Verdict:",
        "p99",
    ] {
        assert!(ran.out.contains(row), "{row} is missing in\n{}", ran.out);
    }
    assert!(
        !ran.out.contains("random writes") && !ran.out.contains("commits"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ran.out
    );
    drop(device);
    assert!(
        std::fs::read(&image)
            .expect("the image")
            .iter()
            .all(|byte| *byte == 0),
        "the device is unchanged"
    );
}

#[test]
fn an_interrupt_reports_the_partial_result_and_removes_the_file() {
    let scratch = Scratch::new().expect("a directory");
    let running = start(program(quick(&format!(
        "{} --runtime=60s",
        scratch.path().display()
    ))));
    let size = || {
        std::fs::metadata(scratch.join("fathom-quick.data")).map_or(0, |facts| facts.blocks() * 512)
    };
    let mut before = 0;
    // Layout is over when the file exists and does not grow.
    common::wait_until("it is laid out", || {
        std::thread::sleep(Duration::from_millis(1500));
        std::mem::replace(&mut before, size()) == before && before > 0
    });
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish_within(Duration::from_secs(20)).expect(130);
    assert!(ran.out.contains("interrupted"), "{}", ran.out);
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("the directory")
            .count(),
        0,
        "the file is removed"
    );
}

/// Regression 0120: an interrupt before the start of the load was reported as a refusal.
#[test]
fn an_interrupt_during_layout_is_reported_as_interrupt() {
    let scratch = Scratch::new().expect("a directory");
    let arguments = quick(&format!("{} --runtime=60s", scratch.path().display()));
    let file = scratch.join("fathom-quick.data");
    let layout_only = split_args(&format!(
        "run --name=x --size=2g --create_only=1 --filename={}",
        file.display()
    ));
    for (arguments, left) in [(arguments, 0), (layout_only, 1)] {
        let running = start(program(arguments)).wait_until("its file exists", || file.exists());
        running.signal(rustix::process::Signal::INT);
        running.finish_within(Duration::from_secs(20)).expect(130);
        assert_eq!(
            std::fs::read_dir(scratch.path())
                .expect("the directory")
                .count(),
            left
        );
    }
}

#[test]
fn unmeasurable_targets_are_refused_with_a_reason() {
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.path().display();
    std::fs::write(scratch.join("tiny"), "x").expect("a file");
    let cases = [
        (
            String::new(),
            "required arguments were not provided:\n  <PATH>",
        ),
        (format!("{directory} {directory}"), "unexpected argument"),
        (
            format!("{directory} --fro=20s"),
            "unexpected argument '--fro'",
        ),
        (format!("{directory} --runtime=1s"), "too short"),
        (format!("{directory} --runtime=soon"), "expected a time"),
        (
            format!("{directory} --runtime"),
            "a value is required for '--runtime <TIME>'",
        ),
        (
            format!("{directory} --sheet=nonsense"),
            "unknown data sheet 'nonsense'",
        ),
        (
            format!("{directory} --read-only"),
            "--read-only creates no file",
        ),
        (format!("{directory}/no/where"), "no/where"),
        (format!("{directory}/tiny"), "too small to measure"),
        (
            "/dev/null".to_owned(),
            "is not a directory, file or block device",
        ),
    ];
    for (arguments, expected) in cases {
        let ran = fathom(quick(&arguments)).expect(2);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
        assert!(ran.out.is_empty(), "{}", ran.out);
    }
}

/// Regression 0400: a mistyped path became a new file of up to 1 GiB in whatever file system it was in.
#[test]
fn a_path_that_does_not_exist_is_refused_without_create() {
    let scratch = Scratch::new().expect("a directory");
    let missing = scratch.join("typo");
    let path = missing.display();
    let no_store = "--no-store";
    for line in [
        format!("quick {path} --runtime=10s"),
        format!("sweep {path} --axis iodepth=1 --runtime=1s {no_store}"),
        format!("suite block-sizes {path} {no_store}"),
        format!("search {path} {no_store}"),
    ] {
        let ran = fathom(split_args(&line)).expect(2);
        assert!(
            ran.err.contains("typo does not exist") && ran.err.contains("--create"),
            "{line}: {}",
            ran.err
        );
        assert!(!missing.exists(), "{line}");
    }
    let ran = fathom(split_args(&format!(
        "sweep {path} --create --size=16m --axis iodepth=1 --runtime=1s {no_store}"
    )))
    .expect(0);
    assert!(ran.out.contains("iodepth"), "{}", ran.out);
}

/// Regression 0405: the table of `quick` had the time of the flush of a commit, its page that of the write. One commit at a
/// time: its mean time is one second divided by the commits per second (Little's law).
#[test]
fn a_commit_is_its_write_and_its_flush() {
    let scratch = Scratch::new().expect("a directory");
    let store = scratch.join("store.db");
    let json = fathom(quick(&format!(
        "{} --runtime=10s --json --store={}",
        scratch.path().display(),
        store.display()
    )))
    .expect_done()
    .json();
    let entries = json.0["fathom"]["entries"].as_array().expect("entries");
    let entry = entries
        .iter()
        .find(|entry| entry["name"] == "commit")
        .expect("commits");
    let response = &entry["write"]["response_ns"];
    let mean = response["mean"].as_f64().expect("a number");
    let iops = entry["littles_law"]["iops"].as_f64().expect("a number");
    // Between two commits this program needs time too, and it is not alone on the machine.
    let share = mean * iops / 1e9;
    assert!(
        (0.8..=1.02).contains(&share),
        "{iops} x {mean} ns = {share}"
    );
    // The table and the page have the same figure as the document.
    let median = response["percentile"]["50.000000"]
        .as_f64()
        .expect("a number");
    let median = fathom_model::format::duration(median);
    let shown = fathom(split_args(&format!("show --store={}", store.display())))
        .expect(0)
        .out;
    // A long title has its figures on the next line.
    let row: Vec<&str> = shown
        .lines()
        .skip_while(|line| !line.contains("commits"))
        .take(2)
        .collect();
    let row = row.join(" ");
    assert!(row.contains(&median), "{median} is missing in {row}");
    let page = scratch.join("page.md");
    fathom(split_args(&format!(
        "report latest --store={} -o {}",
        store.display(),
        page.display()
    )))
    .expect(0);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains(&median), "{median} is missing in the page");
}

#[test]
fn the_recipe_is_a_job_file_that_runs() {
    let scratch = Scratch::new().expect("a directory");
    let shown = fathom(quick(&format!("{} --dry-run", scratch.path().display())))
        .expect(0)
        .out;
    let file = scratch.join("quick.fio");
    std::fs::write(&file, shown).expect("a file");
    fathom(["run", "--parse-only", &file.display().to_string()]).expect(0);
}

/// A data sheet with one figure that every device exceeds and one that no device reaches: both are
/// in the table, in the document, and in the output of `show`.
#[test]
fn the_figures_are_compared_with_a_data_sheet() {
    let scratch = Scratch::new().expect("a directory");
    let (file, sheets, store) = (
        scratch.join("mine"),
        scratch.join("sheets"),
        scratch.join("store.db"),
    );
    std::fs::write(&file, vec![3; 16 << 20]).expect("a file");
    std::fs::create_dir(&sheets).expect("a directory");
    let figure = |what: &str, value: f64, more: &str| {
        format!(
            "[[sheet.figure]]\nwhat = \"{what}\"\nvalue = {value}\ndirection = \"read\"\n{more}\n"
        )
    };
    let random = "access = \"random\"\nblock = \"4KiB\"\nthreads = 1\n";
    let sheet = "schema = 1\n[[sheet]]\nid = \"test-sheet\"\nmaker = \"Maker\"\nproduct = \"Product\"\nconfidence = \"maker\"\nsource = [\"https://example.org\"]\n";
    let text = [
        sheet.to_owned(),
        figure("iops", 1.0, &format!("{random}depth = 1")),
        figure("bandwidth", 90_000_000.0, "access = \"sequential\"\n"),
        figure(
            "iops",
            7.0,
            "access = \"random\"\nblock = \"64KiB\"\ndepth = 1\nthreads = 1\n",
        ),
    ];
    std::fs::write(sheets.join("mine.toml"), text.concat()).expect("a sheet");
    let line = format!(
        "{} --runtime=10s --json --sheet=test-sheet --specs={} --store={}",
        file.display(),
        sheets.display(),
        store.display()
    );
    let json = fathom(quick(&line)).expect_done().json();
    let figures = json
        .0
        .pointer("/fathom/spec/figures")
        .and_then(|all| all.as_array())
        .unwrap_or_else(|| panic!("{:#}", json.0["fathom"]));
    let judgements: Vec<&str> = figures
        .iter()
        .filter_map(|figure| figure["judgement"].as_str())
        .collect();
    assert_eq!(judgements.len(), 2, "{figures:#?}");
    // A stall of the generator on a busy machine makes a measurement invalid, and its figure not
    // comparable.
    let stalled: Vec<bool> = figures
        .iter()
        .map(|figure| {
            figure["reasons"]
                .to_string()
                .contains("the measurement is invalid")
        })
        .collect();
    for ((judgement, expected), stalled) in judgements.iter().zip(["above", "below"]).zip(&stalled)
    {
        assert_eq!(
            *judgement,
            if *stalled { "not comparable" } else { expected },
            "{figures:#?}"
        );
    }
    // The measured value equals that of the table: the first job has depth 1.
    let (reported, measured) = (
        json.number("/jobs/0/read/iops"),
        figures[0]["measured"].as_f64().expect("a number"),
    );
    assert!(
        (reported / measured - 1.0).abs() < 0.01,
        "{reported} {measured}"
    );
    assert!(
        json.text("/fathom/spec/facts/figures under other conditions")
            .starts_with("1; `fathom spec")
    );
    let shown = fathom(split_args(&format!("show --store={}", store.display())))
        .expect(0)
        .out;
    let expected_lines = [
        ("Data sheet test-sheet", false),
        ("ABOVE random read, 1.0 IOPS", stalled[0]),
        ("BELOW sequential read", stalled[1]),
    ];
    for message in expected_lines
        .iter()
        .filter(|(_, stalled)| !stalled)
        .map(|(text, _)| *text)
    {
        assert!(
            shown
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(message),
            "{message} is missing in\n{shown}"
        );
    }
}
