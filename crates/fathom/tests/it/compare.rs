//! `fathom compare` as users and CI servers use it.

use crate::common;
use std::path::{Path, PathBuf};

use crate::common::{Completed, fathom, split_args};
use fathom_testkit::{LoopDevice, LoopOptions, Scratch, require};

/// A simulated result of two seconds at exactly this rate, in intervals of a tenth of a second.
fn result(directory: &Path, name: &str, rate: u32) -> PathBuf {
    let (job, file) = (directory.join("job.fio"), directory.join(name));
    let text = format!(
        "[oltp]\nfilename=x\nioengine=libaio\ndirect=1\nsize=1g\nrw=randread\nbs=4k\nruntime=2\ntime_based\nrate_iops={rate}\nbwavgtime=100\n"
    );
    std::fs::write(&job, text).expect("a job file");
    let (job, file_arg) = (
        job.display().to_string(),
        format!("--output={}", file.display()),
    );
    let device = "--machine=servers(count=8, service=100us)";
    let format = "--output-format=json+";
    fathom([
        "run",
        &job,
        device,
        "--no-store",
        "--quiet",
        format,
        &file_arg,
    ])
    .expect(0);
    file
}

/// Whether a comparison ends with the verdict of each result.
fn has_verdicts(report: &str) -> bool {
    ["a.json: VALID", "b.json: VALID"]
        .into_iter()
        .all(|verdict| report.contains(verdict))
}

fn compare(before: &Path, after: &Path, rest: &str) -> Completed {
    let mut arguments = vec![
        "compare".to_owned(),
        before.display().to_string(),
        after.display().to_string(),
    ];
    arguments.extend(split_args(rest));
    fathom(arguments)
}

/// The line of a metric and the line below it.
fn row(text: &str, figure: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.contains(figure));
    format!(
        "{}{}",
        lines.next().expect("a line for the figure"),
        lines.next().unwrap_or_default()
    )
}

#[test]
fn ten_percent_fewer_iops_is_reported_and_fails_a_build() {
    let scratch = Scratch::new().expect("a directory");
    let (before, after) = (
        result(scratch.path(), "a.json", 2000),
        result(scratch.path(), "b.json", 1800),
    );
    let refused = compare(&before, &after, "").expect(2);
    assert!(
        refused
            .err
            .contains("rate_iops differs: '2000' before, '1800' after"),
        "{}",
        refused.err
    );
    let report = compare(&before, &after, "--unlike").expect(0);
    let line = row(&report.out, "read iops");
    assert!(
        line.contains("2,000")
            && line.contains("1,800")
            && line.contains("-10.0 %")
            && line.contains("worse"),
        "{}",
        report.out
    );
    assert!(
        report.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        report.out
    );
    let (markdown, junit) = (scratch.join("c.md"), scratch.join("c.xml"));
    let rest = format!(
        "--unlike --fail-if=iops:-5% --markdown={} --junit {}",
        markdown.display(),
        junit.display()
    );
    let failed = compare(&before, &after, &rest).expect(1);
    assert!(
        failed.out.contains("beyond --fail-if=iops:-5%"),
        "{}",
        failed.out
    );
    let read = |file: &Path| std::fs::read_to_string(file).expect("written");
    assert!(read(&markdown).contains("| oltp | read iops | 2,000 | 1,800 | -10.0 % | worse"));
    assert!(
        read(&junit).contains("failures=\"1\"")
            && read(&junit).contains("<failure message=\"oltp: read iops changed by -10.0 %")
    );
    // Regression 0357: limits had no outcome of their own, and what could not be decided passed silently.
    assert!(
        failed
            .out
            .contains("FAIL: oltp: read iops changed by -10.0 %"),
        "{}",
        failed.out
    );
    assert!(read(&markdown).contains("* **FAIL**: oltp"));
    assert!(has_verdicts(&failed.out), "{}", failed.out);
    compare(
        &before,
        &after,
        "--unlike --fail-if=iops:-15% --fail-if=iops:+5%",
    )
    .expect(0);
}

/// Two runs at the same exact rate: IOPS do not differ, whatever the latencies are.
#[test]
fn two_equal_runs_have_no_difference() {
    let scratch = Scratch::new().expect("a directory");
    let (before, after) = (
        result(scratch.path(), "a.json", 2000),
        result(scratch.path(), "b.json", 2000),
    );
    let report = compare(&before, &after, "--fail-if=iops:-1%").expect(0);
    let line = row(&report.out, "read iops");
    assert!(
        line.contains("no significant difference (95 % CI") && line.contains("detection limit"),
        "{}",
        report.out
    );
}

#[test]
fn incomparable_inputs_are_refused_with_a_reason() {
    let scratch = Scratch::new().expect("a directory");
    let file = |name: &str, text: &str| {
        std::fs::write(scratch.join(name), text).expect("a file");
        scratch.join(name)
    };
    let good = file(
        "good.json",
        r#"{"jobs": [{"jobname": "a", "read": {"iops": 5.0, "bw_bytes": 9}}]}"#,
    );
    let other = file(
        "other.json",
        r#"{"jobs": [{"jobname": "b", "read": {"iops": 5.0}}]}"#,
    );
    let cases = [
        (file("empty.json", ""), "is empty"),
        (
            file("cut.json", "{\"jobs\": [{"),
            "malformed JSON in line 1",
        ),
        (
            file("list.json", "[1, 2]"),
            "not a fio result: no JSON document",
        ),
        (
            file("nul.json", "\0\0\0"),
            "not a fio result: no JSON document",
        ),
        (scratch.join("none.json"), "cannot be read"),
        (other, "no job in common"),
    ];
    for (path, expected) in cases {
        let ran = compare(&good, &path, "").expect(2);
        assert!(
            ran.err.contains(expected) && ran.out.is_empty(),
            "{}: {}",
            path.display(),
            ran.err
        );
    }
    for (rest, expected) in [
        ("--fail-if=fast", "invalid limit"),
        ("--fail-if", "a value is required for '--fail-if"),
        ("--unlke", "a similar argument exists: '--unlike'"),
        ("x-y", "cannot be read"),
        ("--vs", "a value is required for '--vs"),
    ] {
        let ran = compare(&good, &good, rest).expect(2);
        assert!(ran.err.contains(expected), "{rest}: {}", ran.err);
    }
    // Regression 0292: a limit on a metric that is in no row never failed a build.
    let never = compare(&good, &good, "--fail-if=p99:+5%").expect(2);
    assert!(
        never
            .err
            .contains("--fail-if=p99:+5%: metric missing from one result; both have iops, bw"),
        "{}",
        never.err
    );
    // Totals alone decide nothing.
    let undecided = compare(&good, &good, "--fail-if=iops:-5%").expect(3);
    assert!(
        undecided.out.contains("INCONCLUSIVE: ") && undecided.out.contains("needs intervals"),
        "{}",
        undecided.out
    );
    let json = compare(&good, &good, "--fail-if=iops:-5% --json").expect(3);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["comparison"]["gates"][0]["outcome"], "INCONCLUSIVE");
    let totals = compare(&good, &good, "").expect(0);
    assert!(totals.out.contains("has only totals"), "{}", totals.out);
}

/// Cause 21: the same plan and device, but with another queue setting than in the earlier run.
#[test]
fn a_changed_queue_setting_is_reported() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a directory");
    let image = scratch.path().join("image");
    let device =
        LoopDevice::create(&image, 8 << 20, LoopOptions::default()).expect("a loop device");
    let measure = |name: &str, kib: &str| {
        let _setting = device
            .set_queue("read_ahead_kb", kib)
            .expect("a setting that can be set");
        let file = scratch.path().join(name);
        let line = "run --name=x --ioengine=psync --direct=1 --rw=read --bs=4k --number_ios=64 --output-format=json";
        fathom(split_args(line).into_iter().chain([
            common::filename_arg(device.path()),
            format!("--output={}", file.display()),
        ]));
        file
    };
    let (a, b, c) = (
        measure("a.json", "128"),
        measure("b.json", "256"),
        measure("c.json", "128"),
    );
    let report = compare(&a, &b, "").expect(0);
    let text = report.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("queue setting read_ahead_kb differs: '128' before, '256' after"),
        "{text}"
    );
    assert!(!compare(&a, &c, "").expect(0).out.contains("queue setting"));
}

/// A result of fio with totals only.
fn totals(directory: &Path, name: &str, iops: f64) -> PathBuf {
    let file = directory.join(name);
    let text = format!(
        r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "a", "job options": {{"bs": "4k"}}, "read": {{"iops": {iops}, "bw_bytes": 9}}}}]}}"#
    );
    std::fs::write(&file, text).expect("a file");
    file
}

#[test]
fn repeats_and_more_than_two_are_compared() {
    let scratch = Scratch::new().expect("a directory");
    let rates = [
        ("a1", 1000.0),
        ("a2", 1003.0),
        ("a3", 998.0),
        ("b1", 950.0),
        ("b2", 951.0),
        ("c", 1001.0),
    ];
    let files = rates.map(|(name, iops)| {
        totals(scratch.path(), &format!("{name}.json"), iops)
            .display()
            .to_string()
    });
    let [a1, a2, a3, b1, b2, c] = files.each_ref().map(String::as_str);
    let run = |arguments: &[&str]| {
        fathom(
            std::iter::once("compare")
                .chain(arguments.iter().copied())
                .map(str::to_owned),
        )
    };
    let report = run(&[a1, a2, a3, "--vs", b1, b2, "--fail-if=iops:-2%"]).expect(1);
    assert!(
        row(&report.out, "read iops").contains("worse") && report.out.contains("whole runs"),
        "{}",
        report.out
    );
    // Two repeats on each side do not decide a limit of 0.05 %.
    let same = run(&[a1, a2, "--vs", c, a3, "--fail-if=iops:-0.05%"]).expect(3);
    assert!(same.out.contains("INCONCLUSIVE: "), "{}", same.out);
    assert!(
        row(&same.out, "read iops").contains("no significant difference"),
        "{}",
        same.out
    );
    // Single runs without intervals decide nothing.
    let three = run(&[a1, b1, c, "--fail-if=iops:-2%"]).expect(3);
    assert!(
        three.out.contains("b1.json: a")
            && three.out.contains("c.json: a")
            && three.out.matches("INCONCLUSIVE: ").count() == 2,
        "{}",
        three.out
    );
}

/// Directories are compared file by file, and a stored run with the file that it was imported from.
#[test]
fn directories_logs_and_stored_runs_are_compared() {
    let scratch = Scratch::new().expect("a directory");
    for (side, rate) in [("before", 4.0), ("after", 2.0)] {
        let directory = scratch.join(side);
        std::fs::create_dir(&directory).expect("created");
        totals(&directory, "x.json", rate * 10.0);
        let rows: String = (1..=60)
            .map(|at| {
                format!(
                    "{}, {}, 0, 0\n",
                    at * 1000,
                    rate * 10.0 + f64::from(at * 7 % 5)
                )
            })
            .collect();
        std::fs::write(directory.join("y_iops.1.log"), rows).expect("written");
    }
    let path = |name: &str| scratch.join(name).display().to_string();
    let report = fathom(["compare".to_owned(), path("before"), path("after")]).expect(0);
    assert!(
        report.out.contains("x\n") && report.out.contains("y_iops.1\n"),
        "{}",
        report.out
    );
    let of_logs = report.out.split("y_iops.1\n").nth(1).expect("its lines");
    assert!(
        row(of_logs, "read iops").contains("worse"),
        "{}",
        report.out
    );
    let store = format!("--store={}", path("store.db"));
    fathom(["import".to_owned(), path("before"), store.clone()]).expect(0);
    let stored = fathom([
        "compare".to_owned(),
        "r1.2".to_owned(),
        path("before/y_iops.1.log"),
        store,
    ])
    .expect(0);
    assert!(
        row(&stored.out, "read iops").contains("no significant difference"),
        "{}",
        stored.out
    );
}

/// A result of fio on `device` with IOPS logs of 20 windows around `iops`, and one of depth 16 with
/// totals only.
fn drive(directory: &Path, device: &str, iops: u32) {
    std::fs::create_dir_all(directory).expect("a directory");
    let document = |name: &str, depth: u32, ios: u32| {
        let text = format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "{name}", "job options": {{"filename": "{device}", "rw": "randread", "bs": "4k",
            "iodepth": "{depth}", "write_iops_log": "{name}", "log_avg_msec": "100"}}, "read": {{"iops": {iops}, "bw_bytes": 9, "runtime": 2000, "total_ios": {ios}}}}}]}}"#
        );
        std::fs::write(directory.join(format!("{name}.json")), text).expect("a file");
    };
    document("one", 1, 2 * iops);
    document("deep", 16, 2 * iops);
    let rows: String = (1..=20)
        .map(|row| format!("{}, {}, 0, 0\n", row * 100, iops + row % 3))
        .collect();
    std::fs::write(directory.join("one_iops.1.log"), rows).expect("a log");
}

/// Regression 0395: the comparison of two folders began with the figures of its first job, and did
/// not say which drive is better at what.
#[test]
fn folders_of_two_drives_begin_with_a_summary() {
    let scratch = Scratch::new().expect("a directory");
    let (old, new) = (scratch.join("old"), scratch.join("new"));
    drive(&old, "/dev/sda", 1000);
    drive(&new, "/dev/sdb", 1500);
    let report = compare(&old, &new, "").expect(0);
    let lines: Vec<Vec<&str>> = report
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let title = report.out.split("pattern").next().expect("a title");
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    // Regression 0832: the names of drives were the paths of their folders, in each line.
    assert_eq!(title, "IOPS of new (sdb) compared with old (sda):");
    for row in [
        "randread 1 1 0 0 0 +50.0 %",
        "randread 16 0 0 0 1 +50.0 %",
        "all 1 0 0 1",
    ] {
        assert!(
            lines.iter().any(|line| line.join(" ") == row),
            "{row}: {}",
            report.out
        );
    }
    let json = compare(&new, &old, "--json").expect(0);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    let loads = &json["comparison"]["summaries"][0]["iops"];
    assert_eq!(
        [&loads[0]["worse"], &loads[1]["undecided"]].map(serde_json::Value::as_u64),
        [Some(1), Some(1)],
        "{json}"
    );
}

/// Regression 0833: the comparison of two folders listed the same difference of the plans once for each of their results, and
/// had a block of seven lines for each.
#[test]
fn the_comparison_of_large_folders_is_short() {
    let scratch = Scratch::new().expect("a directory");
    let drive = |name: &str, size: &str, iops: u32| {
        let directory = scratch.join(name);
        std::fs::create_dir_all(&directory).expect("a directory");
        for depth in 1..=12 {
            let text = format!(
                r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "a{depth}", "job options": {{"filename": "/dev/{name}", "rw": "randread", "bs": "4k",
                "size": "{size}", "iodepth": "{depth}"}}, "read": {{"iops": {iops}, "bw_bytes": 9, "runtime": 20000, "total_ios": 9000,
                "iops_mean": {iops}, "iops_stddev": 10, "iops_samples": 40}}}}]}}"#
            );
            std::fs::write(directory.join(format!("a{depth}.json")), text).expect("a file");
        }
        directory
    };
    let (old, new) = (drive("old", "1g", 1000), drive("new", "2g", 1500));
    let refused = compare(&old, &new, "").expect(2);
    let lines: Vec<&str> = refused
        .err
        .lines()
        .filter(|line| line.contains("size differs"))
        .collect();
    assert!(
        lines.len() == 1 && lines[0].contains("and 9 more: size differs: '1g' before, '2g' after"),
        "{}",
        refused.err
    );
    let report = compare(&old, &new, "--unlike").expect(0);
    let jobs = report
        .out
        .lines()
        .filter(|line| line.contains("1,000 -> 1,500"));
    assert!(
        jobs.count() == 12 && report.out.lines().count() < 60,
        "{}",
        report.out
    );
    // 500 more of 1,000 with deviations of 10 are decided without intervals.
    let all = report
        .out
        .lines()
        .find(|line| line.trim_start().starts_with("all "));
    let all: Vec<&str> = all.expect("sums").split_whitespace().collect();
    assert_eq!(all, ["all", "12", "0", "0", "0"], "{}", report.out);
}
