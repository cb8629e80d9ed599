//! When I/O is submitted, when it is delayed, and when a job ends early: compared with arithmetic
//! and fio's rules.

use std::time::Instant;

use crate::common::{fathom, program, split_args, start};
use crate::peer::{FATHOM_FIO, FIO, Fixture, number, run};
use fathom_testkit::{Scratch, require};
use serde_json::Value;

/// The report of a job that fails, and its exit code.
fn failing(job: &str) -> (Value, Option<i32>) {
    let fixture = Fixture::new(job);
    let result = run(
        &FATHOM_FIO,
        fixture.0.path(),
        &["--output-format=json", "job.fio"],
    );
    let at = result
        .out
        .find('{')
        .unwrap_or_else(|| panic!("no document: {} {}", result.out, result.err));
    (
        serde_json::from_str(&result.out[at..]).expect("one document"),
        result.code,
    )
}

fn numbers(json: &Value, pointer: &str) -> Vec<f64> {
    let list = json
        .pointer(pointer)
        .and_then(Value::as_array)
        .unwrap_or_else(|| panic!("no list at {pointer}"));
    list.iter().map(|n| n.as_f64().expect("a number")).collect()
}

/// fio's t/steadystate_tests.py recomputes the criterion from the samples; so does this test, and
/// the criterion has ended the job.
#[test]
fn a_steady_rate_ends_the_job() {
    let job = "[s]\nioengine=null\nsize=1g\nrate_iops=2000\ntime_based\nruntime=60\nss=iops:90%\nss_dur=2s\n";
    let json = Fixture::new(job).json(&[]);
    let state = &json["jobs"][0]["steadystate"];
    assert_eq!(
        (&state["attained"], &state["ss"], &state["duration"]),
        (&1.into(), &"iops:90.000000%".into(), &2.into())
    );
    let iops = numbers(state, "/data/iops");
    let mean = iops.iter().sum::<f64>() / 2.0;
    assert!(iops.len() == 2 && mean > 200.0, "{iops:?}");
    let worst = iops.iter().map(|n| (n - mean).abs()).fold(0.0, f64::max);
    let criterion: f64 = state["criterion"]
        .as_str()
        .and_then(|text| text.strip_suffix('%'))
        .and_then(|n| n.parse().ok())
        .expect("a share");
    assert!(
        (criterion - worst * 100.0 / mean).abs() < 0.01,
        "{criterion} {iops:?}"
    );
    assert_eq!(
        (number(state, "/max_deviation"), number(state, "/slope")),
        (worst, 0.0)
    );
    assert_eq!(number(state, "/data/iops_mean"), mean.floor());
    assert_eq!(
        (numbers(state, "/data/bw").iter().sum::<f64>() / 2.0).floor(),
        number(state, "/data/bw_mean")
    );
    assert!((2000.0..60_000.0).contains(&number(&json, "/jobs/0/job_runtime")));
}

/// With too few samples the criterion is not attained, and as in fio missing samples are zeros.
#[test]
fn a_ramp_that_outlasts_the_job_attains_nothing() {
    let job = "[s]\nioengine=null\nsize=1g\nrate_iops=100\ntime_based\nruntime=300ms\nss=lat_slope:1us\nss_dur=3s\nss_ramp=500\n";
    let state = &Fixture::new(job).json(&[])["jobs"][0]["steadystate"];
    assert_eq!(
        (&state["attained"], &state["criterion"]),
        (&0.into(), &"0.000000".into())
    );
    assert_eq!(
        (numbers(state, "/data/iops"), numbers(state, "/data/lat_ns")),
        (vec![0.0; 3], vec![0.0; 3])
    );
}

/// If the target latency is always met, the search doubles up to the full depth, repeats it once,
/// and ends.
#[test]
fn a_latency_target_that_is_always_met_finds_the_full_depth() {
    let job = "[t]\nioengine=null\nsize=1g\niodepth=8\ntime_based\nruntime=60\nlatency_target=10s\nlatency_window=20ms\nlatency_percentile=50\n";
    let json = Fixture::new(job).json(&[]);
    let of = |name: &str| number(&json, &format!("/jobs/0/{name}"));
    assert_eq!(
        (
            of("latency_depth"),
            of("latency_target"),
            of("latency_window")
        ),
        (8.0, 1e10, 20_000.0)
    );
    // Only the last window is reported.
    assert!(of("job_runtime") < 10_000.0 && of("read/total_ios") > 0.0);
    assert!(
        of("iodepth_level/1") < 20.0,
        "the reported depth levels are those of the found depth"
    );
}

/// Too slow even at depth 1: fio's error is ETIMEDOUT.
#[test]
fn a_latency_target_that_cannot_be_met_is_an_error() {
    let (json, code) =
        failing("[t]\nioengine=psync\nsize=1m\nbs=1m\nlatency_target=1us\nlatency_window=10ms\n");
    assert_eq!((number(&json, "/jobs/0/error"), code), (110.0, Some(1)));
}

/// Regression 0050: `rate_min` and `rate_iops_min` were accepted and ignored. Twenty I/Os per
/// second are fewer than ten thousand; fio checks after two seconds, and its error is EIO.
#[test]
fn a_rate_below_the_minimum_is_an_error() {
    let started = Instant::now();
    let (json, code) = failing(
        "[m]\nioengine=null\nsize=1g\nthinktime=50ms\nrate_iops_min=10000\nratecycle=200\ntime_based\nruntime=60\n",
    );
    assert_eq!((number(&json, "/jobs/0/error"), code), (5.0, Some(1)));
    assert!((2..50).contains(&started.elapsed().as_secs()));
}

/// Regression 0051: `thinktime_iotime` was accepted and ignored. With 20 ms of load between pauses
/// of 30 ms, a second has at most 20 pauses, and there is no I/O during a pause.
#[test]
fn pauses_come_after_a_time_of_load() {
    let job = "[p]\nioengine=null\nsize=1g\nthinktime=30ms\nthinktime_iotime=20ms\ntime_based\nruntime=500ms\nwrite_iops_log=p\n";
    let fixture = Fixture::new(job);
    fixture.json(&[]);
    let times: Vec<u64> = fixture
        .text("p_iops.1.log")
        .lines()
        .map(|line| {
            line.split(',')
                .next()
                .and_then(|n| n.parse().ok())
                .expect("a time")
        })
        .collect();
    let pauses = times
        .windows(2)
        .filter(|pair| pair[1] - pair[0] >= 29)
        .count();
    assert!((1..=17).contains(&pauses), "{pauses} pauses");
    assert!(
        times.len() > 50,
        "more than one I/O is submitted between pauses"
    );
}

/// Regression 0052: `max_latency` ended a job with ETIME; fio's error is ETIMEDOUT.
#[test]
fn an_io_beyond_the_maximum_latency_ends_the_job() {
    let (json, code) = failing("[m]\nioengine=psync\nsize=1m\nbs=1m\nmax_latency=1\n");
    assert_eq!((number(&json, "/jobs/0/error"), code), (110.0, Some(1)));
}

/// fio's suite, 10 and 13: offloaded submission, and I/Os that wait for overlapping I/Os.
#[test]
fn overlapping_ios_are_serialised_and_all_complete() {
    let job = "[o]\nioengine=null\nsize=64k\nbsrange=4k-16k\nrw=randwrite\nnorandommap\nio_submit_mode=offload\niodepth=8\nserialize_overlap=1\nnumber_ios=5000\nio_size=1g\nnumjobs=2\n";
    let json = Fixture::new(job).json(&[]);
    assert_eq!(number(&json, "/jobs/0/write/total_ios"), 5000.0);
    assert_eq!(number(&json, "/jobs/1/write/total_ios"), 5000.0);
}

/// A simulated run of 10 s: the I/Os or bytes of each direction are those of its rate.
///
/// Regression 0321: syncs consumed the due times of writes, so that `rate_iops=500 fdatasync=1` did 248 writes per second.
/// Regression 0322: a mixed job with rates kept its read share, so that the slower direction delayed the other; and a direction without
/// a rate was limited by the rate of the other.
#[test]
fn each_direction_has_its_rate_whatever_is_beside_it() {
    let scratch = Scratch::new().expect("a directory");
    let job = scratch.join("job.fio");
    let run = |options: &str| {
        let options = options.replace(' ', "\n");
        let text = format!(
            "[r]\nfilename=x\nsize=1g\nioengine=libaio\ndirect=1\ntime_based\nruntime=10\n{options}\n"
        );
        std::fs::write(&job, text).expect("a job file");
        let job = job.display().to_string();
        let device = "--machine=servers(count=64, service=100us)";
        let json = fathom(["sim", &job, device, "--no-store", "--quiet", "--json"])
            .expect(0)
            .json();
        let figure = if options.contains("rate=") {
            "io_bytes"
        } else {
            "total_ios"
        };
        ["read", "write"].map(|way| json.number(&format!("/jobs/0/{way}/{figure}")))
    };
    let syncs = [
        "",
        "fdatasync=1",
        "fdatasync=2",
        "fsync=1",
        "fsync=3",
        "fsync=2 fdatasync=3",
    ];
    for sync in syncs {
        let options = format!("rw=randwrite bs=4k rate_iops=500 {sync}");
        assert_eq!(run(&options), [0.0, 5000.0], "{sync}");
        let options = format!("rw=randrw bs=4k rwmixread=70 rate_iops=2100,900 iodepth=8 {sync}");
        assert_eq!(run(&options), [21_000.0, 9000.0], "{sync}");
    }
    for (options, expected) in [
        (
            "rw=randrw bs=4k rwmixread=70 rate_iops=1000",
            [10_000.0, 10_000.0],
        ),
        ("rw=randrw bs=4k rate_iops=1000,250", [10_000.0, 2500.0]),
        ("rw=rw bs=4k rate_iops=1000,250", [10_000.0, 2500.0]),
        ("rw=randrw bs=4k rate=4m,1m", [41_943_040.0, 10_485_760.0]),
    ] {
        assert_eq!(run(options), expected, "{options}");
    }
    let [read, write] = run("rw=randrw bs=4k rate_iops=300, rwmixread=20");
    assert_eq!(read, 3000.0);
    // One server at a time: 10,000 per second less the reads.
    assert!(write > 20.0 * read, "{write}");
}

/// Regression 0328: a job that ended by its size within `ramp_time` reported zeros and failed, and log
/// times after a ramp started at the start of the job.
#[test]
fn a_ramp_is_left_out_as_in_fio() {
    require!(Fio);
    let short =
        "--name=r --ioengine=null --rw=randread --size=1m --ramp_time=5 --output-format=json";
    let long = "--name=r --ioengine=null --rw=randread --size=1g --rate_iops=1000 --ramp_time=1 --runtime=2 --time_based=1 --write_bw_log=y --log_avg_msec=500 --output-format=json";
    for peer in [&FIO[..], &FATHOM_FIO[..]] {
        let bench = Fixture::new("");
        let left = run(
            peer,
            bench.0.path(),
            &short.split_whitespace().collect::<Vec<_>>(),
        );
        assert_eq!(left.code, Some(0), "{}", left.err);
        let json: Value = serde_json::from_str(&left.out).expect("a document");
        assert_eq!(number(&json, "/jobs/0/read/total_ios"), 256.0);
        let left = run(
            peer,
            bench.0.path(),
            &long.split_whitespace().collect::<Vec<_>>(),
        );
        assert_eq!(left.code, Some(0), "{}", left.err);
        let log = bench.text("y_bw.1.log");
        let times: Vec<i64> = log
            .lines()
            .map(|line| {
                line.split(',')
                    .next()
                    .and_then(|at| at.parse().ok())
                    .expect("a time")
            })
            .collect();
        // The 2 s after the ramp have four windows and a rest, with the ramp they have six. When a window is closed, and whether the last
        // one is, depends on the clock of the machine.
        assert!(times.len() <= 5, "{peer:?}: {times:?}");
    }
    let bench = Fixture::new("");
    let line = format!("run --no-store --quiet {long} --filename=x --ioengine=psync");
    let mut command = program(split_args(&line));
    command
        .arg("--machine=servers(count=8, service=100us)")
        .current_dir(bench.0.path());
    start(command).finish().expect(0);
    let times: Vec<String> = bench
        .text("y_bw.1.log")
        .lines()
        .map(|line| line.split(',').next().expect("a time").to_owned())
        .collect();
    assert_eq!(times, ["500", "1000", "1500", "2000"]);
}
