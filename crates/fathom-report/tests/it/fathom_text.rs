//! Additions to fio's text and JSON: summaries, response times, verdict, findings with their advice.

use crate::common::{empty, idle};
use fathom_model::{
    Counts, Direction, DirectionSummary, DiskCounters, DiskSummary, Entry, Finding, Findings,
    GroupDirection, GroupSummary, LatencySummary, Little, MergedInterval, MergedIntervalDirection,
    Nanos, Override, PerDirection, Personality, RunEnd, Samples, TimeSpan, Verdict, VerifyCounts,
    Weight,
};
use fathom_report::{Format, Style, TerseVersion, json, text, write};
use serde_json::Value;

fn latency(min: u64, mean: f64, max: u64) -> LatencySummary {
    let percentiles = vec![(50.0, mean as u64), (99.0, max - 1), (99.9, max)];
    LatencySummary {
        min,
        max,
        mean,
        stddev: 12_345.6,
        n: 990,
        percentiles,
        bins: vec![(min, 990)],
        overflow: 0,
    }
}

/// One open-loop job of which ten reads of a thousand were short.
fn degraded() -> Findings {
    let mut findings = empty(Personality::Fathom);
    findings.started_unix_ns = 1_795_229_263_000_000_000;
    findings.elapsed = Nanos::from_secs(10);
    findings.entries = vec![entry()];
    let group = GroupDirection {
        bandwidth: 405_504.0,
        min_bandwidth: 405_504.0,
        max_bandwidth: 405_504.0,
        bytes: 4_055_040,
        min_runtime_ms: 10_000,
        max_runtime_ms: 10_000,
    };
    findings.groups = vec![GroupSummary {
        group: 0,
        directions: PerDirection([Some(group), None, None]),
        mixed: None,
    }];
    findings.disks = vec![DiskSummary {
        name: "vda".into(),
        delta: DiskCounters {
            read_ios: 1000,
            read_sectors: 8000,
            ..DiskCounters::default()
        },
        util: 12.5,
        size: None,
    }];
    findings.findings = vec![Finding {
        id: "F005",
        code: "SHORT_IO",
        weight: Weight::Degrades,
        about: Some("oltp".into()),
        evidence: "10 of 1,000 reads moved fewer bytes than asked; the first at offset 1,044,480."
            .into(),
        advice: "look for a target that is smaller than size=, or for a device that fails.".into(),
        when: vec![TimeSpan {
            from: Nanos::from_secs(3),
            to: Nanos::from_secs(4),
        }],
    }];
    findings.verdict = Verdict::Degraded;
    findings.overrides = vec![Override {
        job: None,
        option: "iodepth".into(),
        value: "32".into(),
    }];
    findings.messages = vec!["sync_file_range is accepted and has no effect here".into()];
    findings
}

fn entry() -> Entry {
    let counts = Counts {
        planned: 1000,
        ok: 990,
        short: 10,
        bytes_requested: 4_096_000,
        bytes_ok: 4_055_040,
        bytes_short: 20_480,
        bytes_missing: 20_480,
        ..Counts::default()
    };
    let samples = Samples {
        min: 380.0,
        max: 400.0,
        mean: 396.0,
        dev: 4.0,
        count: 20,
    };
    let mut entry = idle("oltp");
    entry.workload =
        "random read, 4 KiB blocks, open loop at 100 I/Os per second, io_uring, direct".into();
    entry.offered = Some("100 I/Os per second".into());
    entry.counts = counts;
    entry.little = Little {
        queue_depth: 32.0,
        in_flight: 31.9,
        iops: 95_012.0,
        mean_ns: 336_000.0,
    };
    entry.notes = vec!["addresses were drawn by a permutation".into()];
    entry.series = vec![MergedInterval {
        start: Nanos::from_secs(1),
        length: Nanos::from_secs(1),
        directions: PerDirection([
            MergedIntervalDirection {
                ios: 99,
                bytes: 405_504,
                bad: 1,
                p50: Some(336_000),
                p99: None,
                max: Some(400_000),
                ..MergedIntervalDirection::default()
            },
            MergedIntervalDirection::default(),
            MergedIntervalDirection::default(),
        ]),
    }];
    entry.directions[Direction::Read] = DirectionSummary {
        bytes: counts.bytes_ok,
        bandwidth: 405_504.0,
        iops: 99.0,
        runtime_ms: 10_000,
        ios: 990,
        short_ios: 10,
        counts,
        clat: latency(200_000, 336_000.0, 900_000),
        lat: latency(201_000, 337_000.0, 901_000),
        response: Some(latency(250_000, 1_400_000.0, 150_000_000)),
        lateness: Some(latency(3_000, 60_000.0, 140_000_000)),
        bw_samples: samples,
        bw_share: 100.0,
        iops_samples: samples,
        ..DirectionSummary::default()
    };
    entry
}

const WHOLE: &str = "
oltp: random read, 4 KiB blocks, open loop at 100 I/Os per second, io_uring,
  direct
oltp: (groupid=0, jobs=1): err= 0: pid=4711: Sat Nov 21 02:47:53 2026
  read: IOPS=99, BW=396KiB/s (406kB/s)(3960KiB/10000msec)
    clat (usec): min=200, max=900, avg=336.00, stdev=12.35
     lat (usec): min=201, max=901, avg=337.00, stdev=12.35
    response (usec): min=250, max=150000, avg=1400.00, stdev=12.35
    overdue (usec): min=3, max=140000, avg=60.00, stdev=12.35
    clat percentiles (usec):
     | 50.0th=[  336], 99.0th=[  900], 99.9th=[  900]
    response percentiles (usec):
     | 50.0th=[  1400], 99.0th=[150000], 99.9th=[150000]
   bw (  KiB/s): min=  380, max=  400, per=100.00%, avg=396.00, stdev= 4.00, samples=20
   iops        : min=  380, max=  400, avg=396.00, stdev= 4.00, samples=20
  cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=0
  IO depths    : 1=0.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     submit    : 0=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     complete  : 0=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     issued rwts: total=990,0,0,0 short=10,0,0,0 dropped=0,0,0,0
     latency   : target=0.00ns, window=0.00ns, percentile=100.00%, depth=1

Run status group 0 (all jobs):
   READ: bw=396KiB/s (406kB/s), 396KiB/s-396KiB/s (406kB/s-406kB/s), io=3960KiB (4055kB), run=10000-10000msec

Disk stats (read/write):
  vda: ios=1000/0, sectors=8000/0, merge=0/0, ticks=0/0, in_queue=0, util=12.50%

Verdict: DEGRADED: these results are valid only under the conditions below.
  oltp: 31.9 of 32 in flight: 95,012 IOPS x 336 us
  oltp: 1,000 I/Os planned = 990 ok + 10 short
  oltp: open loop at 100 I/Os per second; response times are measured from the
    due time of each I/O
  oltp: addresses were drawn by a permutation
  DEGRADES F005 SHORT_IO (oltp)
    10 of 1,000 reads moved fewer bytes than asked; the first at offset
    1,044,480.
    Advice: look for a target that is smaller than size=, or for a device that
      fails.
  Set on the command line: iodepth=32
  Note: sync_file_range is accepted and has no effect here
  Measured on Linux 6.1.0, 2 CPUs, 4.0 GiB; clock tsc (12 ns per reading, drift
    0.4 ppm)
";

#[test]
fn the_whole_text() {
    let ours = text(&degraded(), &Style::default());
    for (ours, expected) in ours.lines().zip(WHOLE.lines()) {
        assert_eq!(ours, expected);
    }
    assert_eq!(ours, WHOLE);
}

#[test]
fn scripts_that_parse_fios_text_read_ours() {
    let text = text(&degraded(), &Style::default());
    let found = |needle: &str| text.lines().filter(|line| line.contains(needle)).count();
    assert_eq!(found("IOPS=99, BW="), 1);
    assert_eq!(found("READ: bw=396KiB/s"), 1);
    // ` lat.*avg=` must find only the total latency.
    let lat: Vec<&str> = text
        .lines()
        .filter(|l| {
            l.split(" lat")
                .nth(1)
                .is_some_and(|rest| rest.contains("avg="))
        })
        .collect();
    assert_eq!(lat.len(), 1, "{lat:?}");
    assert!(lat[0].contains("avg=337.00,"));
}

#[test]
fn fio_says_nothing_of_it() {
    let mut findings = degraded();
    findings.personality = Personality::Fio;
    findings.entries[0].directions[Direction::Read].response = None;
    findings.entries[0].directions[Direction::Read].lateness = None;
    let text = text(&findings, &Style::default());
    assert!(text.starts_with("\noltp: (groupid=0"));
    assert!(text.ends_with("util=12.50%\n"));
    assert!(!text.contains("Verdict") && !document(&findings, true).contains("fathom"));
}

#[test]
fn a_verdict_is_never_printed_without_its_findings() {
    for verdict in [Verdict::Valid, Verdict::Degraded, Verdict::Invalid] {
        let mut findings = degraded();
        findings.verdict = verdict;
        let text = text(&findings, &Style::default());
        let word = ["VALID", "DEGRADED", "INVALID"][verdict as usize];
        assert!(text.contains(&format!("Verdict: {word}: ")));
        assert!(text.contains("SHORT_IO") && text.contains("10 of 1,000 reads"));
    }
}

/// Regression 0401: "the generator alone could do 48,127,935 IOPS" beside a synchronous engine was its rate without system
/// calls.
#[test]
fn the_limit_of_the_load_generator_is_printed_only_where_it_can_be_reached() {
    let with_engine = |engine: &str| {
        let mut findings = degraded();
        findings.entries[0].engine = engine.to_owned();
        findings.entries[0].ceiling_iops = Some(950_120.0);
        text(&findings, &Style::default())
    };
    let unwrapped = with_engine("io_uring")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        unwrapped.contains("this job reaches 950,120 IOPS on this host (10 % used)"),
        "{unwrapped}"
    );
    assert!(!with_engine("psync").contains("950,120"));
}

#[test]
fn narrow_terminals_lose_nothing() {
    for width in [20, 40, 60] {
        let narrow = text(
            &degraded(),
            &Style {
                width,
                ..Style::default()
            },
        );
        let wide = narrow
            .lines()
            .filter(|line| line.chars().count() > width)
            .collect::<Vec<_>>();
        assert_eq!(wide, Vec::<&str>::new());
        let without_breaks = |text: &str| text.replace([' ', '\n', '|', ','], "");
        assert_eq!(without_breaks(&narrow), without_breaks(WHOLE));
    }
}

#[test]
fn fios_text_is_the_same_at_any_width() {
    let mut findings = degraded();
    findings.personality = Personality::Fio;
    let at = |width| {
        text(
            &findings,
            &Style {
                width,
                ..Style::default()
            },
        )
    };
    assert_eq!(at(40), at(80));
    assert_eq!(at(200), at(80));
}

#[test]
fn a_job_that_moved_nothing_still_says_why() {
    let mut findings = empty(Personality::Fathom);
    let mut entry = idle("broken");
    (entry.error, entry.error_text) = (5, "Input/output error".into());
    entry.counts = Counts {
        planned: 1,
        failed: 1,
        bytes_requested: 4096,
        bytes_missing: 4096,
        ..Counts::default()
    };
    entry.verify = Some(VerifyCounts {
        planned: 1200,
        good: 1198,
        bad: 2,
        ..VerifyCounts::default()
    });
    findings.entries.push(entry);
    let text = text(&findings, &Style::default());
    assert!(!text.contains("groupid"), "fio leaves it out");
    assert!(text.contains("  broken: 1 I/Os planned = 0 ok + 1 failed\n"));
    // Regression 1481: with `continue_on_error` a job that went on was said to be stopped by the error.
    assert!(text.contains("  broken: ended with error 5 (Input/output error)\n"));
    assert!(text.contains("  broken: 1,200 blocks to verify: 1,198 good, 2 bad\n"));
}

#[test]
fn colours_only_where_asked_and_ascii_only_where_asked() {
    let mut findings = degraded();
    findings.findings[0].evidence = "mean 3 µs × 2 \u{1b}[31m".into();
    let plain = text(&findings, &Style::default());
    assert!(!plain.contains('\u{1b}') && plain.contains("3 µs × 2 \\u{1b}[31m"));
    let ascii = text(
        &findings,
        &Style {
            ascii: true,
            ..Style::default()
        },
    );
    assert!(ascii.is_ascii() && ascii.contains("3 us x 2"));
    let colour = text(
        &findings,
        &Style {
            colour: true,
            ..Style::default()
        },
    );
    assert!(
        colour.contains("\u{1b}[33mDEGRADED\u{1b}[0m: ")
            && colour.contains("\u{1b}[33mDEGRADES\u{1b}[0m F005 SHORT_IO")
    );
}

#[test]
fn an_interrupted_run_and_unbalanced_counts_say_so() {
    let mut findings = degraded();
    findings.end = RunEnd::Interrupted;
    findings.entries[0].counts.ok = 980;
    let text = text(&findings, &Style::default());
    assert!(text.contains("The run was interrupted"));
    assert!(text.contains("1,000 I/Os planned != 980 ok + 10 short"));
}

fn document(findings: &Findings, plus: bool) -> String {
    let mut out = Vec::new();
    json(findings, &Style::default(), plus, &mut out).expect("memory takes everything");
    String::from_utf8(out).expect("JSON is text")
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

/// Names and order as fio 3.42's source gives them.
#[test]
fn keys_of_the_newest_fio() {
    let text = document(&degraded(), false);
    let document: Value = serde_json::from_str(&text).expect("valid JSON");
    assert_eq!(
        keys(&document),
        [
            "fio version",
            "timestamp",
            "timestamp_ms",
            "time",
            "jobs",
            "disk_util",
            "fathom"
        ]
    );
    assert_eq!(document["timestamp"], 1_795_229_273u64);
    let job = &document["jobs"][0];
    assert_eq!(
        keys(job)[..6],
        ["jobname", "groupid", "job_start", "error", "eta", "elapsed"]
    );
    let end = [
        "latency_depth",
        "latency_target",
        "latency_target_ns",
        "latency_percentile",
        "latency_window",
        "latency_window_us",
    ];
    assert_eq!(keys(job)[keys(job).len() - 6..], end);
    let disk = [
        "name",
        "read_ios",
        "write_ios",
        "read_sectors",
        "write_sectors",
        "read_merges",
    ];
    assert_eq!(keys(&document["disk_util"][0])[..6], disk);
    assert!(text.starts_with("{\n  \"fio version\" : \"fio-3.42\",\n") && text.ends_with("\n}\n"));
}

#[test]
fn bare_flags_have_empty_values_and_globals_stand_on_top() {
    let mut findings = degraded();
    findings.globals = vec![("direct".into(), Some("1".into()))];
    findings.entries[0].options = vec![
        ("group_reporting".into(), None),
        ("rw".into(), Some("randread".into())),
    ];
    let document: Value = serde_json::from_str(&document(&findings, false)).expect("valid JSON");
    assert_eq!(document["global options"]["direct"], "1");
    assert_eq!(document["jobs"][0]["job options"]["group_reporting"], "");
}

#[test]
fn the_addition_holds_what_the_text_says() {
    let document: Value = serde_json::from_str(&document(&degraded(), true)).expect("valid JSON");
    let ours = &document["fathom"];
    assert_eq!(
        (&ours["verdict"], &ours["end"]),
        (&"degraded".into(), &"completed".into())
    );
    assert_eq!(ours["findings"][0]["code"], "SHORT_IO");
    assert_eq!(ours["findings"][0]["weight"], "degrades");
    assert_eq!(ours["overrides"][0]["job"], Value::Null);
    assert_eq!(ours["host"]["memory_bytes"], 4_294_967_296u64);
    let entry = &ours["entries"][0];
    assert_eq!(entry["littles_law"]["in_flight"], 31.9);
    assert_eq!(entry["counts"]["short_ios"], 10);
    assert_eq!(
        entry["read"]["response_ns"]["percentile"]["99.900000"],
        150_000_000
    );
    assert_eq!(entry["read"]["lateness_ns"]["max"], 140_000_000);
    assert_eq!(entry["write"], Value::Null);
    assert_eq!(entry["series"][0]["read"]["p50_ns"], 336_000);
}

#[test]
fn formats_come_in_fios_order_whatever_was_asked_first() {
    let mut out = Vec::new();
    let formats = [
        Format::Normal,
        Format::Json,
        Format::Terse(TerseVersion::V5),
    ];
    write(&degraded(), &formats, &Style::default(), &mut out).expect("memory takes everything");
    let out = String::from_utf8(out).expect("text");
    let place = |needle: &str| out.find(needle).expect("each is there");
    assert!(out.starts_with("5;fio-3.42;oltp;0;0;"));
    assert!(place("\n{\n") < place("\n}\n") && place("\n}\n") < place("oltp: (groupid"));
}

/// `--status-interval`: each document is complete, and later ones have newer figures.
#[test]
fn documents_can_follow_each_other() {
    let mut out = Vec::new();
    let mut findings = degraded();
    for seconds in [1, 2] {
        findings.elapsed = Nanos::from_secs(seconds);
        json(
            &findings,
            &Style {
                eta_s: 10 - seconds,
                ..Style::default()
            },
            false,
            &mut out,
        )
        .expect("memory takes everything");
    }
    let documents = serde_json::Deserializer::from_slice(&out).into_iter::<Value>();
    let etas: Vec<u64> = documents
        .map(|one| {
            one.expect("valid JSON")["jobs"][0]["eta"]
                .as_u64()
                .expect("a number")
        })
        .collect();
    assert_eq!(etas, [9, 8]);
}
