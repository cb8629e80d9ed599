//! `fathom limits` as users call it: on simulated volumes in virtual time, on a throttled loop
//! device, and with bad input.

use crate::common::{Json, fathom, split_args};
use fathom_testkit::Scratch;

/// The report of a simulated volume.
fn simulated(device: &str, options: &str) -> Json {
    let mut arguments = split_args(&format!("limits /data --no-store --json {options}"));
    arguments.push(format!("--machine={device}"));
    fathom(arguments).expect(0).json()
}

/// A volume with burst credits that counts each I/O once: rates within 2 %, bucket within 5 %.
#[test]
fn burst_credits_are_measured_with_their_refill() {
    let json = simulated(
        "limit(limit(servers(count=32, service=200us), iops=500, burst=60000), iops=3000)",
        "--runtime=2m",
    );
    assert_eq!(json.text("/limits/verdict"), "token bucket");
    for (what, expected, tolerance) in [
        ("limit/base_iops/value", 500.0, 0.02),
        ("limit/burst_iops/value", 3000.0, 0.02),
        ("limit/bucket_ios/value", 60_000.0, 0.05),
        // 60,000 / (3,000 - 500) and 60,000 / 500.
        ("limit/holds_s", 24.0, 0.05),
        ("limit/full_after_s", 120.0, 0.05),
        ("refill_ios_per_s", 500.0, 0.05),
        ("counts/iops", 500.0, 0.02),
    ] {
        let value = json.number(&format!("/limits/{what}"));
        assert!(
            (value / expected - 1.0).abs() < tolerance,
            "{what}: {value} instead of {expected}"
        );
    }
    assert_eq!(json.text("/limits/counts/what"), "ios");
    assert_eq!(
        json.text("/limits/sentence"),
        "3,000 IOPS: this figure holds for 24.00 s; after that 500 IOPS."
    );
}

/// What a limit counts, by its parameters.
#[test]
fn bytes_ios_and_ios_of_a_size_are_told_apart() {
    for (limit, what, iops, unit) in [
        ("iops=1000", "ios", 1000.0, None),
        (
            "iops=1000, io_size=16k",
            "ios of a size",
            1000.0,
            Some(16 << 10),
        ),
        (
            "iops=1000, io_size=32k",
            "ios of a size",
            1000.0,
            Some(32 << 10),
        ),
        (
            "iops=1000, io_size=256k",
            "ios of a size",
            1000.0,
            Some(256 << 10),
        ),
        ("bandwidth=20MB/s, burst_bytes=1MB", "bytes", 0.0, None),
        (
            "iops=1000, bandwidth=60MB/s, burst_bytes=600KB",
            "ios and bytes",
            1000.0,
            None,
        ),
    ] {
        let json = simulated(
            &format!("limit(servers(count=64, service=50us), {limit})"),
            "--runtime=1m",
        );
        assert_eq!(json.text("/limits/verdict"), "ceiling", "{limit}");
        assert_eq!(json.text("/limits/counts/what"), what, "{limit}");
        if iops > 0.0 {
            let value = json.number("/limits/counts/iops");
            assert!((value / iops - 1.0).abs() < 0.02, "{limit}: {value}");
        }
        if let Some(unit) = unit {
            assert_eq!(json.number("/limits/counts/unit_bytes"), f64::from(unit));
        }
    }
}

/// A delay of each I/O is not a limit of the rate: 5 ms alone, and 32 / 5 ms together.
#[test]
fn a_delay_is_told_apart_from_a_limit() {
    let json = simulated("servers(count=256, service=5ms)", "--runtime=20s");
    assert_eq!(json.text("/limits/verdict"), "latency");
    let alone = json.number("/limits/latency_alone_s");
    assert!((alone / 0.005 - 1.0).abs() < 0.02, "{alone}");
    let together = json.number("/limits/mean_iops");
    assert!((together / 6400.0 - 1.0).abs() < 0.02, "{together}");
}

#[test]
fn no_limit_is_claimed_without_one() {
    for device in [
        "sata-ssd",
        "servers(count=8, service=200us, distribution=exponential)",
    ] {
        let json = simulated(device, "--runtime=20s");
        assert_eq!(json.text("/limits/verdict"), "none", "{device}");
    }
}

/// gp2 of 100 GiB, scaled to a bucket of a hundredth: the rates fit, and the bucket was not full.
#[test]
fn a_known_volume_is_named_or_refused() {
    let p30 = "limit(servers(count=64, service=50us), iops=5000, bandwidth=209715200B/s, burst_bytes=2MB)";
    let text = fathom([
        "limits",
        "/data",
        "--no-store",
        "--runtime=20s",
        &format!("--machine={p30}"),
    ])
    .expect(0);
    assert!(
        text.out
            .contains("looks like   P30 of 1024 GiB (Azure Premium SSD)"),
        "{}",
        text.out
    );
    let json = simulated(
        "limit(servers(count=64, service=50us), iops=777)",
        "--runtime=20s",
    );
    let volumes = json.0.pointer("/limits/looks_like").expect("a list");
    assert_eq!(volumes.as_array().map(Vec::len), Some(0), "{volumes}");
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    let scratch = Scratch::new().expect("a directory");
    let path = scratch.path().display().to_string();
    for (arguments, expected) in [
        ("limits".to_owned(), "<PATH>"),
        (
            format!("limits {path} --runtime=1s"),
            "too short for meaningful figures",
        ),
        (format!("limits {path}/missing"), "does not exist"),
        (
            format!("limits {path} --read-only"),
            "--read-only creates no file",
        ),
        (
            "limits /dev/null".to_owned(),
            "not a directory, file or block device",
        ),
        (
            "limits /data --machine=limit(hdd-7200)".to_owned(),
            "give iops=, bandwidth= or both",
        ),
    ] {
        let ran = fathom(split_args(&format!("{arguments} --no-store"))).expect(2);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
    }
    assert_eq!(
        std::fs::read_dir(scratch.path()).expect("readable").count(),
        0
    );
}

/// Failed reads leave the question open: exit code 3 and nothing claimed.
#[test]
fn failed_reads_are_undecided() {
    let ran = fathom([
        "limits",
        "/data",
        "--no-store",
        "--json",
        "--runtime=20s",
        "--machine=faults(servers(service=1ms), read_errors=0.01)",
    ])
    .expect(3);
    assert_eq!(ran.json().text("/limits/verdict"), "undecided");
    assert!(ran.err.contains("undecided: IO_ERROR"), "{}", ran.err);
}

/// The cost in time comes first, the job file is shown on request, and nothing is left behind.
#[test]
fn the_cost_is_stated_and_the_file_removed() {
    let scratch = Scratch::new().expect("a directory");
    let path = scratch.path().display().to_string();
    let shown = fathom(["limits", &path, "--dry-run", "--runtime=30s"]).expect(0);
    assert!(
        shown.out.contains("[drain]\nstonewall\nruntime=15000000us"),
        "{}",
        shown.out
    );
    assert_eq!(
        std::fs::read_dir(scratch.path()).expect("readable").count(),
        0
    );
}
