//! Devices with a known latency: the report never says less, and counts each I/O once.

use crate::common;
use crate::common::{device_code, fathom, filename_arg, program, split_args, start};
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Op, Scratch, require};

/// The times of the reads of 4 KiB that the device logged, sorted.
fn logged_reads(device: &FaultDevice) -> Vec<u64> {
    let log = device.log();
    let reads = log.iter().filter(|one| one.len == 4096);
    let mut times: Vec<u64> = reads.map(fathom_testkit::Entry::latency_ns).collect();
    times.sort_unstable();
    times
}

/// An I/O contains its time in the device, so no percentile is below that of the device, but for the width of the histogram's bins,
/// 0.8 %. How much more it is, `cargo xtask measure` says.
#[test]
fn a_latency_is_never_less_than_that_of_the_device() {
    require!(Root, Fuse, IoUring);
    for (engine, depth) in [("psync", 1), ("libaio", 16), ("io_uring", 16)] {
        let latency = Latency {
            read_us: 2000,
            ..Latency::default()
        };
        let device = FaultDevice::mount(DeviceOptions {
            latency,
            ..DeviceOptions::default()
        })
        .expect("a fault device");
        let mut command = program(split_args(&format!(
            "run --name=x --rw=randread --bs=4k --size=32m --direct=1 --ioengine={engine} --iodepth={depth} --norandommap \
             --number_ios=160 --output-format=json"
        )));
        command.arg(filename_arg(&device.path()));
        let json = start(command).finish().expect_measured().json();
        assert_eq!(json.number("/jobs/0/read/total_ios"), 160.0);
        let own = logged_reads(&device);
        // The inspection of the target reads as well.
        let own = &own[own.len() - 160..];
        assert!(own[0] >= 2_000_000, "{}", own[0]);
        for percent in [50.0_f64, 99.0] {
            let rank = (percent / 100.0 * 160.0).ceil() as usize;
            let clat = json.number(&format!("/jobs/0/read/clat_ns/percentile/{percent:.6}"));
            let least = own[rank - 1] as f64 * 0.992;
            assert!(clat >= least, "{engine}: p{percent} {clat}, {least}");
        }
        let iops = json.number("/jobs/0/read/iops");
        let limit = f64::from(depth) / 0.002;
        assert!(iops <= limit, "{engine}: {iops} of at most {limit}");
    }
}

/// Regression 0405: the latency of a commit was that of the write or that of the flush. The device takes 2 ms for the one
/// and 3 ms for the other.
#[test]
fn a_commit_takes_its_write_and_its_flush() {
    require!(Root, Fuse);
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    for (engine, rate) in [("psync", ""), ("io_uring", ""), ("psync", "--rate_iops=50")] {
        device.set_latency(Latency {
            write_us: 2000,
            sync_us: 3000,
            ..Latency::default()
        });
        let code = device_code(&device.path());
        device.clear_log();
        let mut command = program(split_args(&format!(
            "run --name=x --destroy={code} --rw=randwrite --bs=4k --size=1m --direct=1 --ioengine={engine} --iodepth=1 --fdatasync=1 \
             --number_ios=100 --norandommap --output-format=json,normal {rate}"
        )));
        command.arg(filename_arg(&device.path()));
        let ran = start(command).finish().expect_measured();
        let log = device.log();
        device.set_latency(Latency::default());
        let flushes = log.iter().filter(|entry| entry.op == Op::Sync);
        let writes: Vec<_> = log
            .iter()
            .filter(|entry| entry.op == Op::Write && entry.len == 4096)
            .collect();
        let commits: Vec<f64> = writes
            .iter()
            .map(|write| {
                let flush = flushes
                    .clone()
                    .find(|flush| flush.start_ns >= write.end_ns)
                    .expect("a flush after each write");
                (flush.end_ns - write.start_ns) as f64
            })
            .collect();
        let mean = commits.iter().sum::<f64>() / commits.len() as f64;
        assert!(mean >= 5e6, "{mean}");
        let (json, text) = ran
            .out
            .split_at(ran.out.rfind("\n}\n").expect("JSON first") + 3);
        let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let response = &json["fathom"]["entries"][0]["write"]["response_ns"];
        assert_eq!(response["N"], 100, "{engine} {rate}");
        let reported = response["mean"].as_f64().expect("a number");
        assert!(
            reported >= mean,
            "{engine} {rate}: {reported} ns, {mean} ns in the device"
        );
        let name = if rate.is_empty() {
            "commit"
        } else {
            "response"
        };
        assert!(
            text.contains(&format!("{name} (")),
            "{name} is missing in\n{text}"
        );
        assert!(
            text.contains(&format!(
                "at {} on average",
                fathom_model::format::duration(reported)
            )),
            "{text}"
        );
    }
}

/// fio's own bins end at 17.1 s; fathom clamps nothing below an hour. Cause 12: fio's format would clamp these latencies, which is
/// a finding.
#[test]
fn twenty_seconds_are_twenty_seconds() {
    let scratch = Scratch::new().expect("a directory");
    let job = scratch.join("job.fio");
    let text = "[x]\nfilename=x\nrw=randread\nbs=4k\nsize=1m\ndirect=1\nioengine=libaio\niodepth=2\nnumber_ios=2\n";
    std::fs::write(&job, text).expect("a job file");
    let device = "--machine=servers(count=2, service=20s)";
    let job = job.display().to_string();
    let json = fathom(["sim", &job, device, "--no-store", "--quiet", "--json"])
        .expect(0)
        .json();
    assert_eq!(json.count("ok_ios"), 2);
    assert_eq!(
        json.expect_finding("FIO_BINS_CLAMPED")
            .split(" fall ")
            .next(),
        Some("2 latencies of 17.18 s or more")
    );
    assert_eq!(json.number("/jobs/0/read/clat_ns/max"), 20e9);
    // Within the bins of the histogram.
    let p99 = json.number("/jobs/0/read/clat_ns/percentile/99.000000");
    assert!((p99 / 20e9 - 1.0).abs() < 0.008, "{p99}");
}

/// Regression 0500: a run of several jobs ended without a sum of them. The expected figures come from fio's
/// part of the same document: counts are added, and percentiles are read from the added bins of all
/// jobs (64 bins for each power of two).
#[test]
fn a_run_of_several_jobs_ends_with_their_total() {
    let scratch = Scratch::new().expect("a directory");
    let run = |more: &str| {
        let line = format!(
            "run --size=4m --bs=4k --direct=1 --ioengine=io_uring --iodepth=4 --rate_iops=2000 {more} --directory={} \
             --name=readers --rw=randread --numjobs=2 --name=writer --rw=randwrite --startdelay=200ms",
            scratch.path().display()
        );
        common::fathom(split_args(&line)).expect(0)
    };
    let json = run("--output-format=json+").json();
    let total = "/fathom/totals/0";
    assert_eq!(json.number(&format!("{total}/jobs")), 3.0);
    for (name, jobs, ios) in [("read", &[0, 1][..], 2048.0), ("write", &[2], 1024.0)] {
        assert_eq!(json.number(&format!("{total}/{name}/ios")), ios);
        let span = json.number(&format!("{total}/span_ns")) / 1e9;
        assert!(span > 0.2, "the writer starts 0.2 s later: {span}");
        let iops = json.number(&format!("{total}/{name}/iops"));
        assert!((iops * span - ios).abs() < 1e-3 * ios, "{iops} x {span}");
        let mut bins = std::collections::BTreeMap::<u64, u64>::new();
        for job in jobs {
            let pointer = format!("/jobs/{job}/{name}/clat_ns/bins");
            let all = json
                .0
                .pointer(&pointer)
                .and_then(serde_json::Value::as_object);
            for (middle, n) in all.expect("bins") {
                *bins.entry(middle.parse().expect("ns")).or_default() +=
                    n.as_u64().expect("a count");
            }
        }
        assert_eq!(bins.values().sum::<u64>() as f64, ios);
        for (percent, key) in [(0.5, "50.000000"), (0.99, "99.000000")] {
            let mut left = (ios * percent).ceil() as u64;
            let expected = bins.iter().find(|(_, n)| {
                left = left.saturating_sub(**n);
                left == 0
            });
            let expected = *expected.expect("a bin").0 as f64;
            let reported = json.number(&format!("{total}/{name}/clat_ns/percentile/{key}"));
            assert!(
                (reported / expected - 1.0).abs() < 0.02,
                "{name} p{percent}: {reported}, {expected}"
            );
        }
    }
    let lines = run("").out;
    let sentence = lines
        .split("Total of 3 jobs over ")
        .nth(1)
        .expect("a total");
    for part in ["read ", " IOPS, ", "write ", "p99.9", "in flight"] {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    // One job is its own total, and jobs that run one after the other have none.
    let line = "run --size=1m --ioengine=null --name=a --name=b --stonewall --output-format=json";
    let alone = common::fathom(split_args(line));
    assert_eq!(alone.expect(0).json().0.pointer("/fathom/totals"), None);
}
