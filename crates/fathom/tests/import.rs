//! `fathom import` as users call it: a directory of good, old and broken results.

mod common;

use std::path::Path;

use common::{fathom, split_args};
use fathom_testkit::Scratch;

const NEW: &str = r#"{"fio version": "fio-3.33", "timestamp_ms": 1700000000000, "jobs": [{"jobname": "a", "job options": {"rw": "randread", "bs": "4k",
    "iodepth": "2", "numjobs": "2", "group_reporting": "", "ioengine": "libaio", "write_iops_log": "/elsewhere/a", "write_lat_log": "a", "log_avg_msec": "250"},
    "read": {"io_bytes": 409600, "bw_bytes": 409600, "iops": 100.0, "runtime": 1000, "total_ios": 100,
    "clat_ns": {"mean": 40000000, "N": 100, "percentile": {"99.000000": 50000000}}, "lat_ns": {"mean": 40000000}}}]}"#;
const OLD: &str = r#"{"fio version": "fio-2.18", "jobs": [{"jobname": "old", "job options": {"rw": "randwrite", "bs": "8k", "iodepth": "1", "ioengine": "libaio"},
    "write": {"io_bytes": 800, "bw": 800, "iops": 100.0, "runtime": 1000, "total_ios": 100, "clat": {"mean": 9900.0}, "lat": {"mean": 10000.0}}}]}"#;

fn write(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("created");
    std::fs::write(path, bytes).expect("written");
}

/// Two jobs; the second does no I/O in the second half.
fn logs(directory: &Path) {
    write(
        directory,
        "sda/a_iops.1.log",
        "250, 60, 0, 0\n500, 60, 0, 0\n750, 60, 0, 0\n1000, 60, 0, 0\n",
    );
    write(
        directory,
        "sda/a_iops.2.log",
        "250, 80, 0, 0\n500, 80, 0, 0\n",
    );
    write(
        directory,
        "sda/a_lat.1.log",
        "250, 1000, 0, 0\n500, 1000, 0, 0\n750, 1000, 0, 0\n1000, 1000, 0, 0\n",
    );
    write(
        directory,
        "sda/a_lat.2.log",
        "250, 8000, 0, 0\n500, 8000, 0, 0\n",
    );
}

#[test]
fn a_directory_is_imported_and_broken_files_are_named() {
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.join("results");
    write(&directory, "sda/a.json", format!("fio: a message\n{NEW}"));
    write(&directory, "sdb/old.txt", OLD);
    logs(&directory);
    write(&directory, "broken/cut.json", &NEW[..300]);
    write(&directory, "broken/empty.json", "");
    write(
        &directory,
        "broken/number.json",
        NEW.replace("100.0", "80,00"),
    );
    write(&directory, "broken/nested.json", "{\"a\":".repeat(200_000));
    write(&directory, "broken/nul.log", [0; 4096]);
    write(&directory, "broken/x_bw.1.log", "250, 80,00, 0, 0\n");
    write(
        &directory,
        "broken/bytes.json",
        [0xff, 0x80, 0x7b, 0x0a, 0x7b],
    );
    write(
        &directory,
        "broken/huge.json",
        NEW.replace("\"total_ios\": 100", "\"total_ios\": 1e300"),
    );
    write(&directory, "sda/picture.png", [0x89, b'P', b'N', b'G']);
    write(&directory, "sda/job.fio", "[a]\nrw=randread\n");
    write(&directory, "sda/server.err", "");
    write(&directory, "broken/a_clat.1.log.fz", [0x78, 0x9c, 1, 2, 3]);
    let store = scratch.join("store.db");
    let mut arguments = split_args("import --json");
    arguments.extend([
        directory.display().to_string(),
        format!("--store={}", store.display()),
    ]);
    let ran = fathom(arguments.clone()).expect(1);
    for (file, why) in [
        ("cut.json", "malformed JSON"),
        ("empty.json", "is empty"),
        ("number.json", "malformed JSON"),
        ("nested.json", "recursion limit exceeded"),
        ("nul.log", "no JSON document"),
        ("x_bw.1.log", "line 1: the third column is the direction"),
        ("bytes.json", "malformed JSON"),
        ("huge.json", "total_ios: 1e+300"),
    ] {
        let lines: Vec<&str> = ran
            .err
            .lines()
            .filter(|line| line.contains(&format!("broken/{file}: ")))
            .collect();
        assert!(
            matches!(lines[..], [line] if line.contains(why)),
            "{file}: {}",
            ran.err
        );
    }
    assert!(
        ["picture.png", "job.fio", "server.err"]
            .iter()
            .all(|name| !ran.err.contains(name)),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("a_clat.1.log.fz: cannot be read: ") && ran.err.contains("stored as r1"),
        "{}",
        ran.err
    );
    let all: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let by_name = |name: &str| {
        all.as_array()
            .expect("a list")
            .iter()
            .find(|one| one["jobs"][0]["jobname"] == name)
            .expect("it is there")
            .clone()
    };
    let old = &by_name("old")["jobs"][0]["write"];
    assert_eq!(
        (old["io_bytes"].as_u64(), old["lat_ns"]["mean"].as_f64()),
        (Some(819_200), Some(1e7)),
        "KiB and microseconds"
    );
    let new = by_name("a");
    assert_eq!(new["fathom"]["imported"]["program"], "fio-3.33");
    let series = new["fathom"]["entries"][0]["series"]
        .as_array()
        .expect("intervals");
    let ios: Vec<u64> = series
        .iter()
        .map(|interval| interval["read"]["ok_ios"].as_u64().expect("a count"))
        .collect();
    assert_eq!(ios, [35, 35, 15, 15], "a missing row means no I/O");
    // 15 I/Os of 1 us and 20 of 8 us, then only those of the first job.
    let means: Vec<u64> = series
        .iter()
        .map(|interval| interval["read"]["mean_ns"].as_u64().expect("a mean"))
        .collect();
    assert_eq!(means, [5000, 5000, 1000, 1000]);
    // A written result is imported again without a change.
    write(&directory, "again/all.json", new.to_string() + "\n");
    let again = fathom(
        [
            split_args("import --no-store --json"),
            vec![directory.join("again").display().to_string()],
        ]
        .concat(),
    )
    .expect(0);
    let again: serde_json::Value = serde_json::from_str(&again.out).expect("JSON");
    assert_eq!(
        (&again[0]["jobs"], &again[0]["fathom"]),
        (&new["jobs"], &new["fathom"])
    );
}

#[test]
fn import_prints_a_table_and_explains_errors() {
    let scratch = Scratch::new().expect("a directory");
    write(scratch.path(), "a.json", NEW);
    let path = scratch.join("a.json").display().to_string();
    let report = fathom([split_args("import --no-store"), vec![path]].concat()).expect(0);
    assert!(
        report.out.contains("100         0.4   40.0 ms   50.0 ms")
            && report.out.contains("unknown: device"),
        "{}",
        report.out
    );
    for (arguments, expected) in [
        ("import", "required arguments were not provided"),
        ("import --jsn x", "a similar argument exists: '--json'"),
        ("import /nonexistent --no-store", "cannot be read"),
    ] {
        let ran = fathom(split_args(arguments)).expect(2);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
    }
}
