//! Rules of commands about time, exactly: in virtual time a command takes what its device takes and nothing else.

use fathom_testkit::Scratch;
use serde_json::Value;

use crate::common::{Completed, program, split_args, start};
use crate::status::documents;

/// One server of 1 ms: 1,000 I/Os per second at any depth.
const ONE_SERVER: &str = "servers(count=1, service=1ms)";
/// A load on it.
const READS: &str = "--filename=/dev/x --rw=randread --bs=4k --direct=1 --ioengine=libaio";
/// `fathom run` that prints only JSON documents and stores nothing.
const RUN: &str = "run --no-store --no-probe --output-format=json";

/// Runs a line on such a machine.
fn on_one_server(line: &str) -> Completed {
    let mut arguments = split_args(line);
    arguments.push(format!("--machine={ONE_SERVER}"));
    start(program(arguments)).finish().expect(0)
}

/// I/Os of all jobs and the time that is left, in seconds, of each document.
fn states(line: &str) -> Vec<(u64, u64)> {
    states_of(&documents(&on_one_server(line).out))
}

/// I/Os of all jobs and the time that is left of these documents.
fn states_of(documents: &[Value]) -> Vec<(u64, u64)> {
    let state = |document: &Value| {
        let jobs = document["jobs"].as_array().expect("jobs").iter();
        let ios = jobs.map(|job| job["read"]["total_ios"].as_u64().expect("a number"));
        let left = document["jobs"][0]["eta"].as_u64().expect("a number");
        (ios.sum(), left)
    };
    documents.iter().map(state).collect()
}

/// The coordinator looks at its jobs 20 ms after the first of them starts, and tells the state every 100 ms from then on: what is due at
/// 300 ms is told at 320 ms. Each job has done as many I/Os as milliseconds have passed, and what is left is rounded up.
#[test]
fn documents_of_the_status_have_the_state_of_their_time() {
    for command in [RUN, "fio --output-format=json"] {
        let line =
            format!("{command} --name=a {READS} --time_based --runtime=1 --status-interval=300ms");
        let ran = on_one_server(&line);
        let all = documents(&ran.out);
        let found = states_of(&all);
        assert_eq!(
            found,
            [(320, 1), (620, 1), (920, 1), (1_000, 0)],
            "{command}"
        );
        for (document, (ios, _)) in all.iter().zip(&found) {
            let read = &document["jobs"][0]["read"];
            assert_eq!(read["runtime"].as_u64(), Some(*ios), "{document:#}");
            assert_eq!(read["iops"].as_f64(), Some(1_000.0), "{document:#}");
            assert_eq!(read["clat_ns"]["N"].as_u64(), Some(*ios), "{document:#}");
            assert_eq!(
                read["clat_ns"]["max"].as_u64(),
                Some(1_000_000),
                "{document:#}"
            );
        }
        // Only the final document of a run has a verdict.
        let judged = all.iter().map(|one| one.get("fathom").is_some());
        let judged: Vec<bool> = judged.collect();
        assert_eq!(judged, [false, false, false, command == RUN]);
        assert_eq!(ran.err, "", "{command}");
    }
}

/// Regression 1470: the time that is left of a job which began after others was that of one which began with the run. It was 0 in all of
/// the second job after a stonewall, and the delay of a job counted as long as the job waited for it.
#[test]
fn the_time_left_of_a_later_job_begins_with_it() {
    let ten = "--time_based --runtime=10";
    // 20 s: each job has 10.
    let line = format!("{RUN} --status-interval=4s {READS} {ten} --name=a --name=b --stonewall");
    let expected = [
        (4_020, 16),
        (8_020, 12),
        (12_020, 8),
        (16_020, 4),
        (20_000, 0),
    ];
    let mut found = states(&line);
    // The last state is due when the run ends.
    found.dedup();
    assert_eq!(found, expected);
    // 15 s: the job waits for 5.
    let line = format!("{RUN} --status-interval=4s {READS} {ten} --name=a --startdelay=5");
    assert_eq!(
        states(&line),
        [(0, 11), (3_020, 7), (7_020, 3), (10_000, 0)]
    );
    // The first job ends after 4,096 reads, so that the looks are 20 ms after that, and every 100 ms. How long the second one takes, is not
    // known before it runs.
    let line =
        format!("{RUN} --status-interval=2s {READS} --size=16m --name=a --name=b --stonewall");
    let expected = [(2_020, 0), (4_020, 0), (6_016, 3), (8_016, 1), (8_192, 0)];
    assert_eq!(states(&line), expected);
}

/// Regression 1471: the time that is left of a job did not depend on `number_ios`, and was unknown with `io_size`. 4,096 I/Os take 4.096 s.
#[test]
fn the_time_left_depends_on_each_amount() {
    for amount in [
        "--size=16m",
        "--size=4m --loops=4",
        "--size=40m --io_size=16m",
        "--size=40m --number_ios=4096",
        "--size=40m --time_based --runtime=60 --number_ios=4096",
    ] {
        let line = format!("{RUN} --status-interval=1s --name=a {READS} {amount}");
        let expected = [(1_020, 4), (2_020, 3), (3_020, 2), (4_020, 1), (4_096, 0)];
        assert_eq!(states(&line), expected, "{amount}");
    }
}

/// The second job begins after 1 s, so that the looks are at 1.02 s and every 100 ms from then on.
#[test]
fn terse_status_is_lines_and_waiting_jobs_are_empty() {
    let line = format!(
        "fio --minimal --status-interval=300ms {READS} --time_based --runtime=1 --name=a --name=b --stonewall"
    );
    let out = on_one_server(&line).out;
    let kib = |line: &str| {
        let columns: Vec<&str> = line.split(';').collect();
        (
            columns.len(),
            columns[2].to_owned(),
            columns[5].parse::<u64>().expect("KiB") / 4,
        )
    };
    let rows: Vec<(usize, String, u64)> = out.lines().map(kib).collect();
    assert!(rows.iter().all(|row| row.0 == rows[0].0), "{out}");
    let jobs: Vec<(&str, u64)> = rows.iter().map(|row| (row.1.as_str(), row.2)).collect();
    let expected = [
        ("a", 320),
        ("b", 0),
        ("a", 620),
        ("b", 0),
        ("a", 920),
        ("b", 0),
        ("a", 1_000),
        ("b", 220),
        ("a", 1_000),
        ("b", 520),
        ("a", 1_000),
        ("b", 820),
        ("a", 1_000),
        ("b", 1_000),
    ];
    assert_eq!(jobs, expected);
}

/// A line of progress each second: 20 ms of 4 s are half a per cent. The time that is left is in whole seconds.
#[test]
fn progress_has_the_share_and_the_rate_of_its_time() {
    let line = format!(
        "run --no-store --no-probe --eta=always --eta-interval=1s --name=a {READS} --time_based --runtime=4"
    );
    let err = on_one_server(&line).err;
    let lines: Vec<&str> = err
        .split(['\r', '\n'])
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .collect();
    let expected = [
        "running, 0.5%, eta 00m:03s",
        "running, 25.5%, read 4000KiB/s 1000 IOPS, eta 00m:02s",
        "running, 50.5%, read 4000KiB/s 1000 IOPS, eta 00m:01s",
        "running, 75.5%, read 4000KiB/s 1000 IOPS, eta 00m:00s",
    ];
    assert_eq!(lines, expected);
}

/// A run of 10 s is ended after the time of the trigger, and its command runs.
#[test]
fn a_trigger_ends_the_run_at_its_time() {
    for (timeout, ms) in [("300ms", 300.0), ("1s", 1_000.0), ("3s", 3_000.0)] {
        let directory = Scratch::new().expect("a directory");
        let shot = directory.join("shot");
        let mut line = split_args(&format!(
            "{RUN} --name=a {READS} --time_based --runtime=10 --trigger-timeout={timeout} --machine"
        ));
        line.push(ONE_SERVER.to_owned());
        line.push(format!("--trigger=touch {}", shot.display()));
        let json = start(program(line)).finish().expect(0).json();
        assert_eq!(json.number("/jobs/0/read/total_ios"), ms, "{timeout}");
        assert_eq!(json.number("/jobs/0/job_runtime"), ms, "{timeout}");
        assert!(
            json.finding("RAN_SHORT")
                .is_some_and(|text| text.ends_with("of the planned 10.00 s."))
        );
        assert!(shot.exists(), "{timeout}");
    }
}

/// 60 reads of 1 ms, one every 25 ms, and two stalls of 200 ms. By the times of the trace the last one is due after 59 x 25 ms = 1.475 s.
/// fio waits for a gap after the submission of the last I/O, and not after the first one, which has no time: the last one is submitted after
/// 1 + 58 x 25 = 1,451 ms. Of the I/Os that are submitted 1 ms after the begin of a stall the next ones wait for 200 ms instead of 25.
#[test]
fn delays_of_a_replay_do_not_accumulate() {
    let directory = Scratch::new().expect("a directory");
    let device = format!("[[device]]\npath = \"/dev/a\"\nmodel = \"{ONE_SERVER}\"\n");
    let stall = |at: &str| {
        format!("\n[[event]]\nat = \"{at}\"\nstall_device = \"/dev/a\"\nlasts = \"200ms\"\n")
    };
    let mut trace = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n".to_owned();
    for number in 0..60 {
        trace += &format!("{} /dev/a read {} 4096\n", number * 25_000, number * 4096);
    }
    trace += "1500000 /dev/a close\n";
    std::fs::write(directory.join("trace"), trace).expect("a log");
    let runtime_ms = |events: &str, command: &str| {
        std::fs::write(directory.join("machine.toml"), format!("{device}{events}"))
            .expect("a machine");
        let line = "--name=r --read_iolog=trace --ioengine=psync --direct=1 --machine=machine.toml";
        let mut command = program(split_args(&format!("{command} {line}")));
        command.current_dir(directory.path());
        let json = start(command).finish().expect(0).json();
        assert_eq!(json.number("/jobs/0/read/total_ios"), 60.0);
        json.number("/jobs/0/read/runtime")
    };
    let stalls = stall("250ms") + &stall("750ms");
    assert_eq!(runtime_ms("", RUN), 1_476.0);
    assert_eq!(runtime_ms(&stalls, RUN), 1_476.0);
    let gaps = |events: &str| runtime_ms(events, "fio --output-format=json");
    assert_eq!(gaps(""), 1_452.0);
    assert_eq!(gaps(&stalls), 1_452.0 + 2.0 * (200.0 - 25.0));
}

/// A profile of reads with a limit of 10 ms at p99, for a disk that is twice as fast, nearly too slow, too slow, and twice too slow. A value
/// is in a bucket that is at most 0.8 % wide. Verdicts far from the limit need only the first look at a measurement of 60 s, after 20 blocks
/// of 250 ms. A block is made of the states of the workers, which are told every 100 ms, so that it has 300 ms; the first one has 240 ms of
/// the time after the ramp, from 1 s to the answer of the workers at 1.24 s.
#[test]
fn readiness_is_judged_right_and_early() {
    let profiles = Scratch::new().expect("a directory");
    std::fs::write(profiles.join("log.toml"), READS_PROFILE).expect("a profile");
    let first_look = Some(0.24 + 19.0 * 0.3);
    for (service, ns, verdict, code, decided_after) in [
        ("5ms", 5e6, "pass", 0, first_look),
        ("9900us", 9.9e6, "pass", 0, None),
        ("10100us", 10.1e6, "fail", 1, None),
        ("20ms", 20e6, "fail", 1, first_look),
    ] {
        let mut line = split_args("ready log /data --no-store --quiet --runtime=61s --json");
        line.push(format!("--profiles={}", profiles.path().display()));
        line.push(format!("--machine=servers(count=1, service={service})"));
        let json = start(program(line)).finish().expect(code).json();
        assert_eq!(json.text("/verdict"), verdict, "{service}");
        assert_eq!(json.text("/checks/0/verdict"), verdict, "{service}");
        let value = json.number("/checks/0/value");
        assert!((value / ns - 1.0).abs() <= 0.008, "{service}: {value}");
        if let Some(expected) = decided_after {
            let seconds = json.number("/checks/0/seconds");
            assert!((seconds - expected).abs() < 1e-9, "{service}: {seconds} s");
        }
    }
}

pub const READS_PROFILE: &str = r#"schema = 1
name = "log"
title = "A log"
sources = ["these tests"]
[[step]]
name = "log"
[[step.job]]
name = "log"
size = "16m"
options = { rw = "randread", bs = "4k", ioengine = "libaio", direct = 1 }
[[step.check]]
title = "reads"
job = "log"
metric = "read"
figure = "p99"
limit = "10ms"
advice = "use a faster disk"
source = "these tests"
"#;

/// Each of four cells takes a second of the budget.
///
/// Regression 1494: the cell that did not fit into the budget did not count as one that was not measured. With one cell left, the sweep said
/// that all were measured.
#[test]
fn a_budget_leaves_the_cells_that_do_not_fit() {
    for (budget, left) in [(1, 3), (2, 2), (3, 1)] {
        let line = format!(
            "sweep /dev/x --axis=iodepth=1,2,4,8 --set=runtime=1 --set=ramp_time=0 --budget={budget}s --no-store"
        );
        let err = on_one_server(&line).err;
        let said = format!("the budget is used up; cells not measured: {left}");
        assert!(err.contains(&said), "{budget} s: {err}");
    }
}

/// Twelve rows in 10 s. The time of a row is planned as ramp and runtime; the I/O that is in service at its end completes, and so do the
/// others of its depth: the row takes whole milliseconds, and one for each I/O that is in flight beside the last one.
#[test]
fn quick_takes_the_time_that_it_plans() {
    let json = on_one_server("quick /data --runtime=10s --json --no-store").json();
    let us = |name: &str| {
        let option = json.text(&format!("/global options/{name}"));
        let number = option.trim_end_matches("us").parse::<f64>();
        number.unwrap_or_else(|_| panic!("{name}={option}"))
    };
    let planned_ms = (us("ramp_time") + us("runtime")) / 1e3;
    let depths = [1, 8, 32, 128, 1, 8, 1, 8, 1, 32, 32, 1].map(f64::from);
    let start_ms = |row: usize| json.number(&format!("/jobs/{row}/job_start"));
    for (row, depth) in depths.into_iter().enumerate().take(11) {
        let took = start_ms(row + 1) - start_ms(row);
        assert_eq!(took, planned_ms.ceil() + depth - 1.0, "row {row}");
        let measured = json.number(&format!("/jobs/{row}/job_runtime"));
        assert_eq!(
            measured,
            (us("runtime") / 1e3).floor() + depth - 1.0,
            "row {row}"
        );
    }
    assert_eq!(json.0["jobs"].as_array().map(Vec::len), Some(12));
    // The preview of 1 s comes first. A commit is a write of 1 ms and a flush of 1 us.
    let elapsed_ms = json.number("/fathom/elapsed_ns") / 1e6;
    let rows = 12.0 * planned_ms.ceil() + depths.iter().map(|depth| depth - 1.0).sum::<f64>();
    assert_eq!(elapsed_ms.ceil(), rows);
    assert!(1_000.0 + rows <= 10_000.0, "{rows} ms");
}

/// Regression 1478: a closed loop of reads that the model answers at once, as those of pages that were never written, did any number of I/Os
/// at one time, and the command never ended. They take the shortest response time, 1 us.
#[test]
fn reads_that_take_no_time_end() {
    let scratch = Scratch::new().expect("a directory");
    let flash = "flash(capacity=64m, channels=2, chips_per_channel=1, dies_per_chip=1, planes=1, page=4k, pages_per_block=64, \
                 read_time=60us, program_time=600us, erase_time=3ms, channel_rate=400MB/s, buffer_time=5us, buffer=256k, \
                 power_loss_protection=on, over_provisioning=0.1, precondition=empty, garbage_collection=on)";
    let neighbour =
        "[[event]]\nat = \"0s\"\nforeign_reads = \"/dev/x\"\nlasts = \"1s\"\ndepth = 2\n";
    for event in ["", neighbour] {
        let machine = scratch.join("machine.toml");
        let device =
            format!("[[device]]\npath = \"/dev/x\"\nmodel = \"{flash}\"\nscratch = true\n\n");
        std::fs::write(&machine, format!("{device}{event}")).expect("a machine");
        let mut command = program(split_args(&format!(
            "{RUN} --name=a {READS} --time_based --runtime=50ms"
        )));
        command.arg(format!("--machine={}", machine.display()));
        let json = start(command).finish().expect(0).json();
        assert_eq!(json.number("/jobs/0/read/total_ios"), 50_000.0, "{event}");
        assert_eq!(json.number("/jobs/0/read/clat_ns/max"), 1_000.0, "{event}");
    }
}
