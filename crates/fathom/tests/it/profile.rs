//! `fathom profile` and `fathom fidelity` as users call them: from a trace to a job file that runs in fio and in fathom, to a score.

use crate::common;
use std::fmt::Write as _;
use std::fs::File;
use std::process::Command;

use crate::common::fathom;
use fathom_testkit::{Scratch, require};

/// Text of blkparse: random reads of 8 KiB over 32 MiB at 1000 per second, and a log of 4 KiB with a flush after each of 500
/// writes per second, for two seconds.
fn trace(seed: u64) -> String {
    let (mut text, mut state) = (String::new(), seed);
    let mut random = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit
    };
    let mut events = Vec::new();
    for n in 0..2000_u64 {
        let time = n * 1_000_000 + random(900_000);
        // The first two reads are those of the ends.
        let sector = 16 * if n < 2 { n * 4095 } else { random(4096) };
        events.push((time, format!("4711 D R {sector} + 16 [db]")));
        events.push((time + 90_000, format!("0 C R {sector} + 16 [0]")));
    }
    for n in 0..1000_u64 {
        let (time, sector) = (n * 2_000_000 + 300_000, (1 << 20) + n * 8);
        events.push((time, format!("4712 D WS {sector} + 8 [log]")));
        events.push((time + 50_000, format!("0 C WS {sector} + 8 [0]")));
        events.push((time + 60_000, "4712 D FF [log]".to_owned()));
        events.push((time + 400_000, "0 C FF 0 [0]".to_owned()));
    }
    events.sort();
    for (n, (time, event)) in events.iter().enumerate() {
        let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
        let _ = writeln!(text, "8,0 1 {n} {seconds}.{rest:09} {event}");
    }
    text
}

const SENTENCE: &str = "2 streams: random 8 KiB reads over 32 MiB, and a sequential log of 4 KiB with flush after each write";

#[test]
fn a_trace_becomes_a_job_file_that_runs_in_both_programs() {
    let scratch = Scratch::new().expect("a directory");
    let file = scratch.join("t.txt").display().to_string();
    std::fs::write(&file, trace(1)).expect("a trace");
    let job = scratch.join("load.fio");
    let done = fathom(["profile", &file, "-o", &job.display().to_string()]).expect(0);
    for text in [
        SENTENCE,
        "(blkparse): 4,000 I/Os in",
        "2,000 reads (15.6 MiB), 1,000 writes (3.91 MiB), 1,000 flushes",
    ] {
        assert!(done.out.contains(text), "{text}\n{}", done.out);
    }
    assert!(done.err.contains("scores "), "{}", done.err);
    let options = std::fs::read_to_string(&job).expect("a job file");
    for text in [
        "rw=randread",
        "bs=8192",
        "rw=write",
        "bs=4096",
        "fsync=1",
        "runtime=2",
    ] {
        assert!(options.contains(text), "{text}\n{options}");
    }
    let fio = |program: &mut Command| {
        let done = program
            .args(["--output-format=json", "load.fio"])
            .current_dir(scratch.path())
            .output()
            .expect("a program");
        let out = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(out.contains("\"jobname\" : \"random-1\""), "{out}");
    };
    let mut own = common::program(["fio"]);
    fio(&mut own);
    // Twice the rate on half of the space.
    let scaled = fathom([
        "profile",
        &file,
        "--format=fio",
        "--scale-rate=2",
        "--scale-footprint=0.5",
    ])
    .expect(0);
    assert!(scaled.out.contains("size=16777216"), "{}", scaled.out);
    require!(Fio);
    fio(&mut Command::new("fio"));
}

#[test]
fn scores_name_the_worst() {
    let scratch = Scratch::new().expect("a directory");
    let path = |name: &str| scratch.join(name).display().to_string();
    std::fs::write(path("a"), trace(1)).expect("a trace");
    std::fs::write(path("b"), trace(2)).expect("a trace");
    std::fs::write(path("c"), trace(1).replace(" + 16 ", " + 64 ")).expect("a trace");
    let json = |text: &str| -> serde_json::Value { serde_json::from_str(text).expect("JSON") };
    let same = fathom(["fidelity", &path("a"), &path("b"), "--json"]).expect(0);
    assert!(
        json(&same.out)["total"]
            .as_f64()
            .is_some_and(|total| total > 90.0),
        "{}",
        same.out
    );
    let other = fathom(["fidelity", &path("a"), &path("c")]).expect(0);
    assert!(other.out.contains("Worst: "), "{}", other.out);
    assert!(
        other.out.contains("mean 6.7 KiB against 22.7 KiB"),
        "{}",
        other.out
    );
    assert!(
        other
            .out
            .contains("Total = (2 x lowest score + mean of all scores) / 3"),
        "{}",
        other.out
    );
    let profile = json(&fathom(["profile", &path("a"), "--json"]).expect(0).out);
    assert_eq!(profile["sentence"], SENTENCE);
    assert_eq!(profile["totals"]["reads"]["ios"], 2000);
}

#[test]
fn what_is_no_trace_is_refused() {
    let scratch = Scratch::new().expect("a directory");
    let path = |name: &str| scratch.join(name).display().to_string();
    std::fs::write(path("garbage"), [0x81_u8; 5000]).expect("a file");
    std::fs::write(path("empty"), "").expect("a file");
    std::fs::write(path("t.zst"), b"\x28\xb5\x2f\xfd\x00\x00").expect("a file");
    std::fs::write(path("torn"), trace(1) + &"torn\n".repeat(3)).expect("a file");
    for (args, message) in [
        (
            vec!["profile".to_owned(), path("missing")],
            "missing: No such file",
        ),
        (
            vec!["profile".to_owned(), scratch.path().display().to_string()],
            "is a directory",
        ),
        (
            vec!["profile".to_owned(), path("garbage")],
            "unknown trace format; known formats: capture, blktrace, ",
        ),
        (
            vec!["profile".to_owned(), path("empty")],
            "the trace is empty",
        ),
        (
            vec!["profile".to_owned(), path("t.zst")],
            "the zstd data ends too early",
        ),
        (
            vec![
                "profile".to_owned(),
                path("torn"),
                "--max-malformed=2".to_owned(),
            ],
            "3 malformed lines of 8003 (limit 2)",
        ),
        (
            vec![
                "profile".to_owned(),
                path("torn"),
                "--trace-format=x".to_owned(),
            ],
            "unknown trace format 'x'",
        ),
        (
            vec![
                "profile".to_owned(),
                path("torn"),
                "--scale-rate=0".to_owned(),
            ],
            "--scale-rate: the factor must be greater than 0",
        ),
        (
            vec!["fidelity".to_owned(), path("torn"), path("missing")],
            "missing: No such file",
        ),
    ] {
        let done = fathom(&args).expect(2);
        assert!(done.err.contains(message), "{args:?}: {}", done.err);
        assert!(done.out.is_empty(), "{}", done.out);
    }
    // A few torn lines are counted.
    let done = fathom(["profile", &path("torn")]).expect(0);
    assert!(
        done.out
            .contains("3 of 8003 lines are malformed and were skipped (8001: "),
        "{}",
        done.out
    );
}

#[test]
fn a_profile_becomes_a_page_with_pictures() {
    let scratch = Scratch::new().expect("a directory");
    let (file, page) = (scratch.join("t.txt"), scratch.join("load.html"));
    std::fs::write(&file, trace(1)).expect("a trace");
    fathom([
        "profile",
        &file.display().to_string(),
        "-o",
        &page.display().to_string(),
    ])
    .expect(0);
    let page = std::fs::read_to_string(&page).expect("a page");
    for text in [
        SENTENCE,
        "Where the I/Os go",
        "Arrivals per second",
        "Misses of an LRU cache",
        "[sequential-2]",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

/// A stored run stands for the I/O log that it wrote; without one the message says how to record it.
#[test]
fn a_stored_run_is_profiled_by_its_log() {
    let scratch = Scratch::new().expect("a directory");
    let at = |name: &str| scratch.join(name).display().to_string();
    let (store, log) = (format!("--store={}", at("runs.db")), at("io.log"));
    let run = |size: &str, more: &[&str]| {
        let (file, size) = (format!("--filename={}", at("data")), format!("--bs={size}"));
        let mut line = vec![
            "run",
            "--name=a",
            &file,
            "--size=1m",
            "--rw=read",
            &size,
            &store,
        ];
        line.extend(more);
        fathom(line).expect(0);
    };
    let write = format!("--write_iolog={log}");
    run("16k", &[&write]);
    let json = fathom(["profile", "latest", &store, "--json"])
        .expect(0)
        .json();
    assert_eq!(json.number("/totals/reads/ios"), 64.0);
    assert_eq!(json.number("/totals/reads/bytes"), 1048576.0);
    let score = fathom(["fidelity", "r1", &log, &store, "--json"])
        .expect(0)
        .json();
    assert!(score.number("/total") > 99.9);
    // A run without a log.
    run("4k", &[]);
    let refused = fathom(["profile", "latest", &store]);
    assert_eq!(refused.code(), 2, "{}", refused.err);
    assert!(
        refused.err.contains("r2 has no record of each I/O")
            && refused.err.contains("--write_iolog"),
        "{}",
        refused.err
    );
    // The log of another run, by its time.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    let file = File::options().append(true).open(&log).expect("the log");
    file.set_modified(later).expect("a time");
    let refused = fathom(["profile", "r1", &store]);
    assert!(
        refused.err.contains("the log of another run"),
        "{}",
        refused.err
    );
    std::fs::remove_file(&log).expect("the log");
    let refused = fathom(["profile", "r1", &store]);
    assert!(
        refused.err.contains("wrote its I/O log to"),
        "{}",
        refused.err
    );
}
