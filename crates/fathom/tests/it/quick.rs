//! `fathom quick` as users call it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{fathom, program, split_args, start};
use fathom_testkit::{LoopDevice, LoopOptions, Scratch, require};

fn quick(rest: &str) -> Vec<String> {
    split_args(&format!("quick {rest}"))
}

/// Regression 0405: the table of `quick` had the time of the flush of a commit, its page that of the write. One commit at a time: its mean
/// time is at most one second divided by the commits per second (Little's law). In virtual time, for a disk that is busy with something
/// else may complete no commit in the time of a row.
#[test]
fn a_commit_is_a_write_and_its_flush() {
    let report = Scratch::new().expect("a directory");
    let store = report.join("store.db");
    let json = fathom(quick(&format!(
        "/data --machine=nvme-ssd --runtime=10s --json --store={}",
        store.display()
    )))
    .expect(0)
    .json();
    let entries = json.0["fathom"]["entries"].as_array().expect("entries");
    let entry = entries
        .iter()
        .find(|entry| entry["name"] == "commit")
        .expect("commits");
    let response = &entry["write"]["response_ns"];
    let mean = response["mean"].as_f64().expect("a number");
    let iops = entry["littles_law"]["iops"].as_f64().expect("a number");
    let share = mean * iops / 1e9;
    assert!(share <= 1.01, "{iops} x {mean} ns = {share}");
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
    let page = report.join("page.md");
    fathom(split_args(&format!(
        "report latest --store={} -o {}",
        store.display(),
        page.display()
    )))
    .expect(0);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains(&median), "{median} is missing in the page");
}

/// Regression 0414: rows appeared together at the end, and the progress named no test.
#[test]
fn rows_appear_as_they_are_measured_and_a_sentence_names_the_class() {
    let scratch = Scratch::new().expect("a directory");
    let store = scratch.join("store.db");
    let junit = scratch.join("quick.xml");
    let mut command = program(quick(&format!(
        ". --runtime=10s --store={} --junit={}",
        store.display(),
        junit.display()
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
    assert!(text.contains("In plain words: "), "{text}");
    let cases = std::fs::read_to_string(junit).expect("test cases");
    let suite = "<testsuite name=\"fathom quick\" tests=\"1\" failures=\"0\" skipped=\"0\">";
    assert!(cases.contains(suite), "{cases}");
    assert!(cases.contains("name=\"verdict\"><system-out>"), "{cases}");
    let left = std::fs::read_dir(&disk).expect("the directory").count();
    assert_eq!(left, 0, "the file is removed");
    // Regression 0415: the run was named ".".
    let runs = fathom(split_args(&format!("runs --store={}", store.display()))).expect(0);
    assert!(
        runs.out.contains(&disk.display().to_string()),
        "{}",
        runs.out
    );
}

#[test]
fn a_device_is_only_read_and_the_answer_is_a_table() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a directory");
    let image = scratch.join("disk.img");
    let device = LoopDevice::create(&image, 64 << 20, LoopOptions::default()).expect("a device");
    let ran = fathom(quick(&format!("{} --runtime=10s", device.path().display()))).expect(0);
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

/// Whether a process has a thread of this name (proc_pid_comm(5)).
fn has_thread(process: u32, name: &str) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let comm = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    tasks.is_ok_and(|tasks| tasks.filter_map(comm).any(|comm| comm.trim_end() == name))
}

#[test]
fn an_interrupt_reports_the_partial_result_and_removes_the_file() {
    let scratch = Scratch::new().expect("a directory");
    let running = start(program(quick(&format!(
        "{} --runtime=60s",
        scratch.path().display()
    ))));
    // Only the measurement itself has a worker of the second job; the first one is complete then.
    let id = running.id();
    let running = running.wait_until("the second job runs", || has_thread(id, "read-4k-8"));
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish().expect(130);
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
        running.finish().expect(130);
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

/// Somebody's file is only read, however busy the machine is.
#[test]
fn a_foreign_file_is_only_read() {
    let scratch = Scratch::new().expect("a directory");
    let file = scratch.join("mine");
    let content: Vec<u8> = (0..16u32 << 20).map(|i| (i % 251) as u8).collect();
    std::fs::write(&file, &content).expect("a file");
    let line = format!("{} --runtime=10s --json --no-store", file.display());
    let json = fathom(quick(&line)).json();
    let jobs = json.0["jobs"].as_array().map(Vec::len);
    assert_eq!(jobs, Some(6), "it is only read");
    let left = std::fs::read(&file).expect("it exists");
    assert!(left == content, "the file is unchanged");
}

/// A data sheet with one figure that every device exceeds and one that this one cannot reach: both are in the table, in the document, and
/// in the output of `show`. A single server of 100 us does 10,000 reads per second.
#[test]
fn the_figures_are_compared_with_a_data_sheet() {
    let scratch = Scratch::new().expect("a directory");
    let (machine, sheets, store) = (
        scratch.join("machine.toml"),
        scratch.join("sheets"),
        scratch.join("store.db"),
    );
    let disk = "[[device]]\npath = '/dev/disk'\nholds_data = true\nmodel = 'servers(count=1, service=100us)'\n";
    std::fs::write(&machine, disk).expect("a machine");
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
        "/dev/disk --machine={} --runtime=10s --json --sheet=test-sheet --specs={} --store={}",
        machine.display(),
        sheets.display(),
        store.display()
    );
    let json = fathom(quick(&line)).expect(0).json();
    let figures = json
        .0
        .pointer("/fathom/spec/figures")
        .and_then(|all| all.as_array())
        .unwrap_or_else(|| panic!("{:#}", json.0["fathom"]));
    let judgements: Vec<&str> = figures
        .iter()
        .filter_map(|figure| figure["judgement"].as_str())
        .collect();
    assert_eq!(judgements, ["above", "below"], "{figures:#?}");
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
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for message in [
        "Data sheet test-sheet",
        "ABOVE random read, 1.0 IOPS",
        "BELOW sequential read",
    ] {
        assert!(words.contains(message), "{message} is missing in\n{shown}");
    }
}
