//! `fathom import` as users call it: a directory of good, old and broken results.

use crate::common;
use std::path::Path;

use crate::common::{fathom, split_args};
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
        "250, 10000000, 0, 0\n500, 10000000, 0, 0\n750, 10000000, 0, 0\n1000, 10000000, 0, 0\n",
    );
    write(
        directory,
        "sda/a_lat.2.log",
        "250, 80000000, 0, 0\n500, 80000000, 0, 0\n",
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
    // 15 I/Os of 10 ms and 20 of 80 ms, then only those of the first job.
    let means: Vec<u64> = series
        .iter()
        .map(|interval| interval["read"]["mean_ns"].as_u64().expect("a mean"))
        .collect();
    assert_eq!(means, [50_000_000, 50_000_000, 10_000_000, 10_000_000]);
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
    let missing = format!("import {} --no-store", scratch.join("missing").display());
    for (arguments, expected) in [
        ("import", "required arguments were not provided"),
        ("import --jsn x", "a similar argument exists: '--json'"),
        (missing.as_str(), "cannot be read"),
    ] {
        let ran = fathom(split_args(arguments)).expect(2);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
    }
}

/// Regression 0380: `import` called a result valid, `report` did not judge it, and `check` called it
/// degraded. A result of fathom lost the findings of its run.
#[test]
fn a_result_has_the_same_verdict_in_every_command() {
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.join("results");
    let clamped = NEW
        .replace(
            "\"99.000000\": 50000000",
            "\"50.000000\": 17112760320, \"99.000000\": 17112760320",
        )
        .replace("\"N\": 100", "\"N\": 100, \"max\": 38590000000");
    let of_fathom = NEW
        .trim_end()
        .strip_suffix('}')
        .expect("an object")
        .to_owned()
        + r#", "fathom" : {"version": 1, "verdict": "degraded", "findings": [{"id": "F019", "code": "PAGE_CACHE", "weight": "degrades", "about": "a",
        "evidence": "The page cache answered.", "advice": "Use direct=1.", "when": []}], "entries": [{"name": "a"}]}}"#;
    let with_error = NEW.replace("\"jobname\": \"a\",", "\"jobname\": \"a\", \"error\": 5,");
    for (name, text, verdict) in [
        ("valid.json", NEW, "valid"),
        ("clamped.json", &clamped, "degraded"),
        ("fathom.json", &of_fathom, "degraded"),
        ("error.json", &with_error, "invalid"),
    ] {
        write(&directory, name, text);
        let path = directory.join(name).to_string_lossy().into_owned();
        let store = format!("--store={}", scratch.join(name).display());
        let json = fathom([
            "import".to_owned(),
            "--json".to_owned(),
            store.clone(),
            path.clone(),
        ]);
        let stated = format!("\"verdict\" : \"{verdict}\"");
        assert!(json.out.contains(&stated), "{name}: {}", json.out);
        let show = fathom([
            "show".to_owned(),
            "latest".to_owned(),
            "--format=json".to_owned(),
            store,
        ]);
        assert!(
            show.out.contains(verdict),
            "{name}: {}{}",
            show.out,
            show.err
        );
        let check = fathom(["check".to_owned(), path.clone()]);
        assert!(
            check.out.contains(&verdict.to_uppercase()),
            "{name}: {}{}",
            check.out,
            check.err
        );
        let report = directory.join("report.md").to_string_lossy().into_owned();
        fathom(["report".to_owned(), path, "-o".to_owned(), report.clone()]).expect(0);
        let report = std::fs::read_to_string(report).expect("written");
        assert!(
            report
                .to_lowercase()
                .contains(&format!("verdict: {verdict}"))
                || report.to_lowercase().contains(&format!("**{verdict}**")),
            "{name}: {report}"
        );
    }
}

/// Regression 0386: two drives in one import had the same name in charts and reports, and stored
/// cells had no axis that distinguishes them.
#[test]
fn results_of_several_drives_keep_their_names() {
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.join("results");
    write(&directory, "sda/random/a.json", NEW);
    write(
        &directory,
        "sdb/random/a.json",
        NEW.replace("100.0", "100.1"),
    );
    let path = directory.to_string_lossy().into_owned();
    let store = format!("--store={}", scratch.join("store").display());
    fathom(["import".to_owned(), store.clone(), path.clone()]).expect(0);
    let report = |results: &[String]| {
        let file = scratch.join("report.md").to_string_lossy().into_owned();
        let mut arguments = vec![
            "report".to_owned(),
            "-o".to_owned(),
            file.clone(),
            store.clone(),
        ];
        arguments.extend_from_slice(results);
        fathom(arguments).expect(0);
        std::fs::read_to_string(file).expect("written")
    };
    let folder = |name: &str| directory.join(name).to_string_lossy().into_owned();
    for text in [
        report(std::slice::from_ref(&path)),
        report(&["latest".to_owned()]),
        report(&[folder("sda/random"), folder("sdb/random")]),
    ] {
        assert!(
            text.contains("sda/random") && text.contains("sdb/random"),
            "{text}"
        );
    }
    let cells = fathom([
        "show".to_owned(),
        "latest".to_owned(),
        "--json".to_owned(),
        store,
    ])
    .expect(0);
    assert!(
        cells.out.contains("sda/random") && cells.out.contains("folder"),
        "{}",
        cells.out
    );
}

/// Regression 0388: a dangling link, a copy of a result, and a result without its logs were accepted
/// without a word.
#[test]
fn links_copies_and_missing_logs_are_reported() {
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.join("results");
    write(&directory, "sda/a.json", NEW);
    write(&directory, "copy.json", NEW);
    logs(&directory);
    std::os::unix::fs::symlink("nowhere", directory.join("link.json")).expect("a link");
    let none = "--store=none".to_owned();
    let path = |name: &str| directory.join(name).to_string_lossy().into_owned();
    let ran = fathom(["import".to_owned(), none.clone(), path("")]).expect(1);
    assert!(
        ran.err
            .contains("link.json: a symbolic link that cannot be followed")
            && ran
                .out
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains("a copy is not a repetition"),
        "{}{}",
        ran.err,
        ran.out
    );
    let ran = fathom(["import".to_owned(), none, path("sda/a.json")]).expect(0);
    assert!(
        ran.out
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains("4 logs beside"),
        "{}",
        ran.out
    );
}

/// Regression 0389: `bw_agg` of fio 2, the number of syncs and their percentiles were lost.
#[test]
fn shares_and_syncs_survive_an_import() {
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.join("results");
    let old = OLD.replace(
        "\"bw\": 800,",
        "\"bw\": 800, \"bw_agg\": 87.5, \"bw_mean\": 790.0,",
    );
    write(&directory, "old.json", old);
    let syncs = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "s", "job options": {"rw": "write"},
        "sync": {"total_ios": 255, "lat_ns": {"mean": 5000.0, "max": 9000, "percentile": {"50.000000": 4800, "99.000000": 8900}}}}]}"#;
    write(&directory, "syncs.json", syncs);
    let path = directory.to_string_lossy().into_owned();
    let ran = fathom([
        "import".to_owned(),
        "--store=none".to_owned(),
        "--json".to_owned(),
        path,
    ]);
    let plain: String = ran.out.split_whitespace().collect();
    for part in ["\"bw_agg\":87.5", "\"total_ios\":255", "\"99.000000\":8900"] {
        assert!(plain.contains(part), "{part}: {}", ran.out);
    }
}

/// Regression 0484: no command could read the text that fio prints. The page quotes a part of it; the rest is listed as missing.
#[test]
fn every_command_reads_normal_output() {
    // 10,000 per second x 3.2 ms = 32 in flight.
    let page = "What I measured today:\n\nrandread: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32\n\
        fio-3.28\nrandread: (groupid=0, jobs=1): err= 0: pid=1: Sat Jan  1 00:00:00 2022\nread: IOPS=10.0k, BW=39.1MiB/s (40.0MB/s)(2344MiB/60001msec)\n\
        clat (usec): min=90, max=9000, avg=3195.00, stdev=100.00\nlat (usec): min=95, max=9005, avg=3200.00, stdev=100.00\n\
        clat percentiles (usec):\n| 1.00th=[ 200], 50.00th=[ 3100], 99.00th=[ 7000]\nissued rwts: total=600010,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let scratch = Scratch::new().expect("a directory");
    let path = scratch.join("page.txt");
    std::fs::write(&path, page).expect("written");
    let run = |line: &str| {
        let mut arguments = split_args(line);
        arguments.push(path.display().to_string());
        let ran = fathom(arguments).expect(0);
        ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let checked = run("check");
    for part in [
        "VALID: no known problem affects these results.",
        "10,000 I/Os per second (39.06 MiB/s) x 3.20 ms (lat) = 32.0 in flight, of 32 possible (100 %)",
        "read from fio's normal output: figures are rounded as printed",
        "missing in it: logs (no time series), percentiles above p99, CPU use, distribution of queue depths, disk statistics, options other",
    ] {
        assert!(checked.contains(part), "{part}: {checked}");
    }
    assert!(run("import --no-store").contains("unknown: percentiles above p99"));
    let compared = run(&format!("compare {}", path.display()));
    assert!(
        compared.contains("10,000") || compared.contains("10.0k"),
        "{compared}"
    );
    let picture = scratch.join("page.svg");
    run(&format!("plot --chart=depth -o {}", picture.display()));
    assert!(std::fs::read_to_string(&picture).is_ok_and(|svg| svg.contains("<svg")));
    let report = scratch.join("page.html");
    run(&format!("report -o {}", report.display()));
    assert!(std::fs::read_to_string(&report).is_ok_and(|html| html.contains("randread")));
}

/// Regression 0538: an import had one mean for each direction, and `compare --shape` alone showed how uneven it was. Reads are a sine
/// of amplitude 200 around 1,000: a standard deviation of 200 / sqrt(2) x sqrt(24 / 23) = 14.4 %, from 800 to 1,200. Their latency is
/// 50 and 150 us in turn: a mean of 100 us, 50 x sqrt(24 / 23) = 51 %. Writes are constant.
#[test]
fn an_import_shows_how_even_each_direction_is() {
    let scratch = Scratch::new().expect("a directory");
    let direction = |iops: u32, us: u32| {
        format!(
            r#"{{"io_bytes": {}, "bw_bytes": {}, "iops": {iops}.0, "runtime": 24000, "total_ios": {}, "clat_ns": {{"mean": {us}000, "N": {}}}, "lat_ns": {{"mean": {us}000}}}}"#,
            iops * 24 * 4096,
            iops * 4096,
            iops * 24,
            iops * 24
        )
    };
    let json = format!(
        r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "m", "job options": {{"rw": "randrw", "bs": "4k", "iodepth": "1", "ioengine": "libaio",
        "write_iops_log": "m", "write_lat_log": "m", "log_avg_msec": "1000"}}, "read": {}, "write": {}}}]}}"#,
        direction(1000, 100),
        direction(500, 200)
    );
    write(scratch.path(), "m.json", json);
    let (mut rates, mut latencies) = (String::new(), String::new());
    for second in 1..=24_u32 {
        let angle = std::f64::consts::TAU * f64::from(second) / 12.0;
        let reads = (1000.0 + 200.0 * angle.sin()).round();
        let ns = if second % 2 == 0 { 50_000 } else { 150_000 };
        rates += &format!("{0}, {reads}, 0, 0\n{0}, 500, 1, 0\n", second * 1000);
        latencies += &format!("{0}, {ns}, 0, 0\n{0}, 200000, 1, 0\n", second * 1000);
    }
    write(scratch.path(), "m_iops.1.log", rates);
    write(scratch.path(), "m_clat.1.log", latencies);
    let store = format!("--store={}", scratch.join("store.db").display());
    let place = scratch.path().display().to_string();
    let ran = fathom(["import", &place, &store]).expect(0);
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = [
        "read: 1,000 IOPS, deviation 14 %, 800 to 1,200 (1.5 times); latency 100 us, deviation 51 %, 50.0 us to 150 us (3.0 times)",
        "write: 500 IOPS, deviation 0 %, 500 to 500 (1.0 times); latency 200 us, deviation 0 %, 200 us to 200 us (1.0 times)",
    ];
    for line in lines {
        assert!(joined(&ran.out).contains(line), "{line}: {}", ran.out);
    }
    let shown = fathom(["show", "latest", &store]).expect(0).out;
    let page = scratch.join("page.md");
    fathom([
        "report",
        "latest",
        &store,
        "-o",
        &page.display().to_string(),
    ])
    .expect(0);
    let page = std::fs::read_to_string(page).expect("the report");
    for line in lines {
        assert!(joined(&shown).contains(line), "{line}: {shown}");
        let in_report = line.replacen(": ", " over time: ", 1);
        assert!(joined(&page).contains(&in_report), "{in_report}: {page}");
    }
}

/// Regression 0580: an import kept the time series of all results in 500 bytes per interval until the last one was written.
/// A log states an interval in one line of text; the memory of an import grows by no more than twice this text.
#[test]
fn the_memory_of_an_import_is_no_larger_than_its_logs() {
    const ROWS: u32 = 9_000;
    const RATE: u32 = 12_345;
    let scratch = Scratch::new().expect("a directory");
    let mut text = 0;
    for drive in 0..30 {
        let place = if drive < 2 {
            format!("all/two/d{drive}")
        } else {
            format!("all/d{drive}")
        };
        let ios = RATE / 4 * ROWS;
        let json = format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "a", "job options": {{"rw": "randread", "bs": "4k", "iodepth": "1",
            "ioengine": "libaio", "write_iops_log": "a", "write_lat_log": "a", "log_avg_msec": "250"}},
            "read": {{"io_bytes": {}, "bw_bytes": {}, "iops": {RATE}.0, "runtime": {}, "total_ios": {ios},
            "clat_ns": {{"mean": 80000, "N": {ios}}}, "lat_ns": {{"mean": 80000}}}}}}]}}"#,
            u64::from(ios) * 4096,
            RATE * 4096,
            ROWS * 250
        );
        let rows = |value: u32| -> String {
            (1..=ROWS)
                .map(|row| format!("{}, {}, 0, 0\n", row * 250, value + (row + drive) % 100))
                .collect()
        };
        let (iops, lat) = (rows(RATE), rows(80_000));
        text += iops.len() + lat.len();
        write(scratch.path(), &format!("{place}/a.json"), json);
        write(scratch.path(), &format!("{place}/a_iops.1.log"), iops);
        write(scratch.path(), &format!("{place}/a_lat.1.log"), lat);
    }
    let peak_kib = |place: &Path, options: &str, results: usize| {
        let mut command = common::program(split_args(&format!("import {options}")));
        command.arg(place);
        let mut running = common::start(command);
        let mut peak = 0;
        while !running.has_exited() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", running.id()))
                .unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
            peak = peak.max(kib.unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let ran = running.finish().expect(0);
        assert!(
            options.contains("json") || ran.out.contains(&format!("{results} result")),
            "{}",
            ran.out
        );
        peak
    };
    let store = scratch.join("store.db").display().to_string();
    let file = scratch.join("all.json").display().to_string();
    for options in [
        "--no-store".to_owned(),
        format!("--no-store --json -o {file}"),
        format!("--store={store}"),
    ] {
        // Two threads read a result each.
        let few = peak_kib(&scratch.join("all/two"), &options, 2);
        let all = peak_kib(&scratch.join("all"), &options, 30);
        let grown = all.saturating_sub(few);
        assert!(
            few > 0 && grown <= 2 * text as u64 / 1024,
            "{options}: {few} KiB for 2 results, {all} KiB for 30 with logs of {text} bytes"
        );
    }
    // Every interval is in the document: 12,345 IOPS and more are at least 3,086 I/Os in 250 ms.
    let documents: serde_json::Value =
        serde_json::from_slice(&std::fs::read(file).expect("documents")).expect("JSON");
    let documents = documents.as_array().expect("an array");
    assert_eq!(documents.len(), 30);
    for document in documents {
        let entry = &document["fathom"]["entries"][0];
        let series = entry["series"].as_array().expect("a series");
        assert_eq!(series.len(), ROWS as usize);
        assert!(series.iter().all(|one| {
            one["read"]["ok_ios"].as_u64() >= Some(3_086)
                && one["read"]["mean_ns"].as_u64() >= Some(80_000)
        }));
    }
}

/// `unit_base=1`: fio prints bits. 1 MiB in a second are 8,388,608 bits a second.
#[test]
fn bits_per_second_of_a_text_become_bytes() {
    let scratch = Scratch::new().expect("a directory");
    let text = "j: (groupid=0, jobs=1): err= 0: pid=1: Tue Nov 14 22:13:20 2023\n  \
        read: IOPS=256, BW=8389kbit/s (8389kbit/s)(1024KiB/1000msec)\n    \
        clat (usec): min=100, max=300, avg=200.00, stdev=10.00\n     \
        lat (usec): min=100, max=300, avg=200.00, stdev=10.00\n  \
        cpu          : usr=0.00%, sys=0.00%, ctx=1, majf=0, minf=1\n  \
        IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%\n     \
        issued rwts: total=256,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    write(scratch.path(), "bits.txt", text);
    let path = |name: &str| scratch.join(name).display().to_string();
    let store = format!("--store={}", path("store.db"));
    fathom(["import", &path("bits.txt"), &store]).expect(0);
    let shown = fathom(["show", "r1", "--json", &store]).expect(0).out;
    let document: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let found = document["jobs"][0]["read"]["bw_bytes"].as_f64();
    let found = found.unwrap_or_else(|| panic!("{shown}"));
    // Four digits are printed.
    assert!((found / 1_048_576.0 - 1.0).abs() < 1e-3, "{found}");
}
