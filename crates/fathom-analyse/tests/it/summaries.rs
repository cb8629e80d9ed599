//! The metrics of entries, groups and disks, compared with arithmetic by hand and with fio's
//! definitions.

#![allow(clippy::print_stderr, reason = "skipped tests are reported")]

use std::process::Command;

use fathom_analyse::findings;
use fathom_model::*;

use crate::sample::*;

const R: Direction = Direction::Read;
const W: Direction = Direction::Write;

#[test]
fn a_clean_run_matches_manual_calculation() {
    let judged = findings(&clean());
    let [entry] = &judged.entries[..] else {
        panic!("one job, one entry")
    };
    let read = &entry.directions[R];
    // 40,000 x 4 KiB in 10 s.
    assert_eq!(
        (read.ios, read.bytes, read.runtime_ms),
        (40_000, 163_840_000, 10_000)
    );
    assert_eq!((read.iops, read.bandwidth), (4_000.0, 16_384_000.0));
    assert_eq!(
        (
            read.clat.min,
            read.clat.max,
            read.clat.mean,
            read.clat.stddev,
            read.clat.n
        ),
        (MS, MS, 1e6, 0.0, 40_000)
    );
    assert_eq!(read.lat.mean, 1_001_000.0);
    assert_eq!(
        read.clat.percentiles,
        [(50.0, MS), (90.0, MS), (99.0, MS), (99.9, MS)]
    );
    // Only clat percentiles were requested.
    assert_eq!(
        (read.slat.percentiles.len(), read.lat.percentiles.len()),
        (0, 0)
    );
    // 1,000,000 ns: 2^19 + 58 * 2^13 is the last bin start below it; middle + 2^12.
    assert_eq!(read.clat.bins, [(524_288 + 58 * 8_192 + 4_096, 40_000)]);
    // 20 windows of 2,000 I/Os in 0.5 s; 16,000 KiB/s.
    let rate = |r: f64| Samples {
        min: r,
        max: r,
        mean: r,
        dev: 0.0,
        count: 20,
    };
    assert_eq!(
        (read.iops_samples, read.bw_samples),
        (rate(4_000.0), rate(16_000.0))
    );
    assert_eq!(read.bw_share, 100.0);
    assert_eq!(entry.directions[W].runtime_ms, 0);
    assert_eq!(
        (entry.job_runtime, entry.user_percent, entry.system_percent),
        (Nanos::from_secs(10), 5.0, 10.0)
    );
    assert_eq!(
        (entry.switches, entry.major_faults, entry.minor_faults),
        (7, 1, 2)
    );
    assert_eq!(entry.depth_levels, [0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0]);
    // 1 ms is in fio's class `2` of milliseconds (0 and 1).
    assert_eq!((entry.latency_ms[0], entry.latency_us), (100.0, [0.0; 10]));
    assert_eq!(
        entry.little,
        Little {
            queue_depth: 4.0,
            in_flight: 4.0,
            iops: 4_000.0,
            mean_ns: 1e6
        }
    );
    assert_eq!(
        (entry.elapsed_s, entry.started_unix_ms, entry.tid),
        (10, 1_700_000_000_000, 4711)
    );
    assert_eq!(judged.messages, ["a warning", "a message"]);
}

#[test]
fn a_group_is_the_exact_merge_of_its_members() {
    let mut jobs = vec![job("a"), job("b"), job("alone")];
    jobs[0].group_reporting = true;
    jobs[1].group_reporting = true;
    let mut r = run_of(jobs);
    fill(&mut r, 0, R, 10_000, MS);
    fill(&mut r, 1, R, 30_000, 2 * MS);
    fill(&mut r, 2, R, 20_000, MS);
    r.jobs[1].ended = Nanos::new(8 * SECOND + 1);
    let judged = findings(&r);
    assert_eq!(
        judged
            .entries
            .iter()
            .map(|e| (e.name.as_str(), e.members))
            .collect::<Vec<_>>(),
        [("a", 2), ("alone", 1)]
    );
    let read = &judged.entries[0].directions[R];
    assert_eq!(
        (read.ios, read.runtime_ms, read.iops),
        (40_000, 10_000, 4_000.0)
    );
    // (10,000 x 1 ms + 30,000 x 2 ms) / 40,000; deviations 0.75 and 0.25 ms: sum of squares 7.5e15
    // ns2.
    assert_eq!(read.clat.mean, 1_750_000.0);
    assert!(
        (read.clat.stddev - (7.5e15f64 / 39_999.0).sqrt()).abs() / read.clat.stddev < 0.008,
        "{}",
        read.clat.stddev
    );
    // fio adds the members' samples: 1,000/s + 3,000/s.
    assert_eq!(
        (
            read.iops_samples.mean,
            read.iops_samples.min,
            read.iops_samples.count
        ),
        (4_000.0, 4_000.0, 40)
    );
    assert_eq!(judged.entries[0].job_runtime, Nanos::new(18 * SECOND + 1));
    // The group line: entries of 16,384,000 and 8,192,000 B/s, all bytes over the longest run time.
    let line = judged.groups[0].directions[R].unwrap();
    assert_eq!((line.bytes, line.bandwidth), (245_760_000, 24_576_000.0));
    assert_eq!(
        (line.min_bandwidth, line.max_bandwidth),
        (8_192_000.0, 16_384_000.0)
    );
    // 16,000 of 24,000 KiB/s.
    assert!((judged.entries[0].directions[R].bw_share - 200.0 / 3.0).abs() < 1e-9);
    assert_eq!(judged.groups[0].directions[W], None);
}

#[test]
fn a_run_time_is_rounded_up_to_milliseconds_as_in_fio() {
    let mut r = clean();
    r.jobs[0].ended = Nanos::new(8 * SECOND + 1);
    assert_eq!(findings(&r).entries[0].directions[R].runtime_ms, 8_001);
}

#[test]
fn mixed_reporting_combines_all_directions() {
    let mut mixed = job("mixed");
    mixed.pattern.traffic = Traffic::ReadWrite { read_percent: 75 };
    mixed.accounting.unified = Unified::Both;
    let mut r = run_of(vec![mixed]);
    fill(&mut r, 0, R, 30_000, MS);
    fill(&mut r, 0, W, 10_000, 3 * MS);
    let judged = findings(&r);
    let all = judged.entries[0].mixed.as_ref().unwrap();
    assert!(judged.entries[0].show_directions);
    assert_eq!(
        (all.ios, all.iops, all.clat.mean, all.clat.n),
        (40_000, 4_000.0, 1_500_000.0, 40_000)
    );
    assert_eq!(all.iops_samples.mean, 4_000.0);
    assert_eq!(judged.groups[0].mixed.unwrap().bandwidth, 16_384_000.0);
    r.plan.jobs[0].accounting.unified = Unified::Mixed;
    let judged = findings(&r);
    assert!(!judged.entries[0].show_directions);
    assert_eq!(
        judged.entries[0].mixed.as_ref().unwrap().iops_samples.count,
        20
    );
    assert_eq!(judged.groups[0].directions[R], None);
    assert_eq!(judged.groups[0].mixed.unwrap().bytes, 163_840_000);
}

#[test]
fn a_run_without_clocks_has_samples_but_no_latency() {
    let mut r = clean();
    let (percentiles, half) = (vec![99.0], Nanos::from_millis(500));
    r.plan.jobs[0].accounting = Accounting {
        reduced: true,
        percentiles,
        bandwidth_sample: half,
        iops_sample: half,
        ..Accounting::default()
    };
    let d = &mut r.jobs[0].directions[R];
    (d.slat, d.clat, d.lat) = (Histogram::new(), Histogram::new(), Histogram::new());
    r.jobs[0]
        .intervals
        .iter_mut()
        .for_each(|i| i.directions[R].clat = SparseHistogram::default());
    let judged = findings(&r);
    let entry = &judged.entries[0];
    assert_eq!(entry.latency_kinds, LatencyKinds::default());
    assert_eq!(entry.directions[R].clat, LatencySummary::default());
    // Regression 0008: results with gtod_reduce=1 had no samples; fio 3.33 has them, and kubestr
    // prints them.
    assert_eq!(
        (
            entry.directions[R].bw_samples.count,
            entry.directions[R].iops_samples.mean
        ),
        (20, 4_000.0)
    );
    assert_eq!(entry.directions[R].iops, 4_000.0);
    // 40,000 x 1 ms in 10 s, counted in flight.
    assert_eq!(entry.little.in_flight, 4.0);
    assert_eq!(judged.verdict, Verdict::Valid);
}

/// Regression 0121: the empty response histogram of a closed loop, which workers store too, hid the
/// latencies over time.
#[test]
fn an_empty_response_histogram_is_ignored() {
    let mut r = run_of(vec![job("a")]);
    fill(&mut r, 0, R, 10_000, MS);
    r.jobs[0]
        .intervals
        .iter_mut()
        .for_each(|i| i.directions[R].response = SparseHistogram::pack(&Histogram::new()));
    let judged = findings(&r);
    assert!(
        judged.entries[0]
            .series
            .iter()
            .all(|interval| interval.directions[R].p99 == Some(MS))
    );
}

#[test]
fn the_series_adds_members_interval_by_interval() {
    let mut jobs = vec![job("a"), job("a")];
    jobs.iter_mut().for_each(|j| j.group_reporting = true);
    let mut r = run_of(jobs);
    fill(&mut r, 0, R, 10_000, MS);
    fill(&mut r, 1, R, 30_000, 200);
    r.jobs[1].intervals.remove(0);
    let series = &findings(&r).entries[0].series;
    assert_eq!(series.len(), 100);
    let at = |i: usize| {
        (
            series[i].start.as_millis(),
            series[i].directions[R].ios,
            series[i].directions[R].p50,
        )
    };
    assert_eq!(at(0), (0, 100, Some(MS)));
    assert_eq!(at(1), (100, 400, Some(200)));
    assert_eq!(series[1].directions[R].max, Some(MS));
    assert_eq!(series[1].directions[R].bytes, 400 * 4096);
}

#[test]
fn latencies_that_are_not_shown_need_not_add_up() {
    let mut r = clean();
    r.plan.jobs[0].accounting.clat = false;
    r.plan.jobs[0].accounting.clat_percentiles = false;
    r.jobs[0].directions[R].clat = Histogram::new();
    assert_eq!(findings(&r).findings, []);
}

#[test]
fn intervals_of_different_length_still_add_up() {
    let mut jobs = vec![job("a"), job("a")];
    jobs.iter_mut().for_each(|j| j.group_reporting = true);
    let mut r = run_of(jobs);
    fill(&mut r, 0, R, 10_000, MS);
    fill(&mut r, 1, R, 10_000, MS);
    // A long run doubles the intervals of one worker.
    let long: Vec<Interval> = r.jobs[1]
        .intervals
        .chunks(2)
        .map(|pair| {
            let mut both = pair[0].clone();
            both.length += pair[1].length;
            both.directions[R].ios += pair[1].directions[R].ios;
            both
        })
        .collect();
    r.jobs[1].intervals = long;
    let series = &findings(&r).entries[0].series;
    assert_eq!(series.len(), 50);
    assert!(
        series
            .iter()
            .all(|m| m.length == Nanos::from_millis(200) && m.directions[R].ios == 400)
    );
}

#[test]
fn cpu_usage_is_relative_to_the_time_of_its_measurement() {
    let mut r = clean();
    // Ten seconds of warm-up before, with the same load.
    (r.jobs[0].measured_from, r.jobs[0].ended) = (Nanos::from_secs(10), Nanos::from_secs(20));
    let entry = &findings(&r).entries[0];
    assert_eq!(
        (entry.user_percent, entry.system_percent, entry.job_runtime),
        (2.5, 5.0, Nanos::from_secs(10))
    );
}

#[test]
fn disks_are_after_minus_before() {
    let mut r = clean();
    r.disks = vec![disk("vda", (163_840_000, 40_000), (0, 0))];
    let d = &findings(&r).disks[0];
    assert_eq!(
        (
            d.name.as_str(),
            d.delta.read_ios,
            d.delta.read_sectors,
            d.util
        ),
        ("vda", 40_000, 320_000, 50.0)
    );
}

fn describe(change: impl FnOnce(&mut Job)) -> String {
    let mut job = job("described");
    change(&mut job);
    findings(&run_of(vec![job])).entries[0].workload.clone()
}

#[test]
fn patterns_are_described() {
    assert_eq!(
        describe(|_| {}),
        "random read, 4 KiB blocks, queue depth 4, io_uring, direct"
    );
    // A common mistake: rw=rw is not random.
    let mixed = describe(|j| {
        j.pattern.traffic = Traffic::ReadWrite { read_percent: 50 };
        j.pattern.access = Access::Sequential { skip: 0 };
        j.files.direct = false;
    });
    assert_eq!(
        mixed,
        "sequential mixed 50/50 read/write, 4 KiB blocks, queue depth 4, io_uring, buffered"
    );
    let zipf = describe(|j| {
        j.pattern.traffic = Traffic::ReadWrite { read_percent: 70 };
        j.pattern.distribution = PerDirection::all(Distribution::Zipf {
            theta: 1.2,
            center: None,
        });
        j.pattern.block_size[W] = BlockSizes::Range {
            min: 4096,
            max: 65536,
        };
        j.sync.fsync_every = 8;
    });
    assert_eq!(
        zipf,
        "random mixed 70/30 read/write, 4 KiB reads and 4 KiB to 64 KiB writes, zipf 1.2, queue depth 4, io_uring, \
         direct, fsync every 8 writes"
    );
    let paced = describe(|j| {
        j.pace.rate[R] = Some(Rate::Iops(200.0));
        j.pace.process = Arrivals::Poisson;
        j.pattern.access = Access::Sequential { skip: 8192 };
    });
    assert_eq!(
        paced,
        "sequential (skipping 8 KiB) read, 4 KiB blocks, queue depth 4, io_uring, direct, open loop at 200 reads per \
         second (Poisson)"
    );
}

#[test]
fn rw_values_are_those_of_the_job_file() {
    let rw = |traffic, access| {
        let mut job = job("rw");
        (job.pattern.traffic, job.pattern.access) = (traffic, access);
        findings(&run_of(vec![job])).entries[0].rw.clone()
    };
    let random = Access::Random {
        every: 1,
        identical: false,
    };
    assert_eq!(rw(Traffic::Read, random), "randread");
    assert_eq!(
        rw(
            Traffic::ReadWrite { read_percent: 50 },
            Access::Sequential { skip: 0 }
        ),
        "rw"
    );
    assert_eq!(rw(Traffic::TrimWrite, random), "randtrimwrite");
}

#[test]
fn errors_are_named() {
    let mut r = clean();
    let what = "read at offset 4096 of /data/file".to_owned();
    r.jobs[0].error = Some(JobError {
        errno: 5,
        operation: what,
        at: Nanos::from_secs(1),
    });
    let entry = &findings(&r).entries[0];
    assert_eq!(
        (entry.error, entry.error_text.as_str()),
        (5, "Input/output error: read at offset 4096 of /data/file")
    );
    assert_eq!(entry.errors_continued, None);
}

#[test]
fn open_loops_show_response_and_lateness() {
    let entry = &findings(&open_loop()).entries[0];
    let read = &entry.directions[R];
    assert_eq!(entry.offered.as_deref(), Some("200 reads per second"));
    assert_eq!(
        read.response.as_ref().unwrap().percentiles,
        [(50.0, 2 * MS), (90.0, 2 * MS), (99.0, 2 * MS)]
    );
    assert_eq!(read.lateness.as_ref().unwrap().max, 1_000);
    assert_eq!(findings(&clean()).entries[0].directions[R].response, None);
}

/// Every bin that the installed fio prints must be the bin middle that fathom computes for the same
/// value.
#[test]
fn bins_equal_those_of_fio() {
    let args = [
        "--name=bins",
        "--ioengine=null",
        "--size=64m",
        "--bs=4k",
        "--output-format=json+",
    ];
    let Ok(out) = Command::new("fio").args(args).output() else {
        fathom_testkit::skip("fio is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    let bins: Vec<u64> = bin_keys(&text);
    assert!(bins.len() > 3, "fio printed no bins: {text}");
    for middle in bins {
        let mut r = clean();
        r.jobs[0].directions[R].clat = Histogram::new();
        r.jobs[0].directions[R].clat.record(middle);
        assert_eq!(
            findings(&r).entries[0].directions[R].clat.bins,
            [(middle, 1)]
        );
    }
}

/// Keys of all `"bins"` objects; fio prints one pair on each line.
fn bin_keys(json: &str) -> Vec<u64> {
    let mut keys = Vec::new();
    for part in json.split("\"bins\" : {").skip(1) {
        let body = part.split('}').next().unwrap_or("");
        keys.extend(
            body.lines()
                .filter_map(|line| line.split('"').nth(1)?.parse::<u64>().ok()),
        );
    }
    keys
}
