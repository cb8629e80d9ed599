//! Every detector: a run that triggers it, with the expected evidence, and proof that no other
//! detector reports it.

use fathom_analyse::{FindingKind, detectors, findings, findings_with};
use fathom_model::*;

use crate::sample::*;
use crate::triggers::*;

fn without(code: &str) -> Vec<&'static FindingKind> {
    detectors().filter(|kind| kind.code != code).collect()
}

#[test]
fn every_detector_has_a_trigger_here() {
    let triggers: Vec<_> = faulty_runs().iter().map(|w| w.code).collect();
    for detector in detectors() {
        assert!(
            triggers.contains(&detector.code),
            "{} has no trigger",
            detector.code
        );
    }
    assert!(
        triggers
            .iter()
            .all(|code| detectors().any(|detector| detector.code == *code))
    );
}

#[test]
fn each_detector_reports_its_evidence() {
    let mut wrong = Vec::new();
    for w in faulty_runs() {
        let found = findings(&(w.make)()).findings;
        let Some(f) = found.iter().find(|f| f.code == w.code) else {
            panic!("no finding {}: {found:#?}", w.code)
        };
        let actual = (f.evidence.as_str(), f.weight, f.about.as_deref());
        if actual != (w.evidence, w.weight, w.about) || f.advice.is_empty() {
            wrong.push(format!("{}: {actual:?}", w.code));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_disabled_detector_reports_nothing() {
    for w in faulty_runs() {
        let found = findings_with(&(w.make)(), &without(w.code)).findings;
        assert!(
            found
                .iter()
                .all(|f| f.code != w.code && f.evidence != w.evidence),
            "{}",
            w.code
        );
    }
}

/// One cause, one finding: other findings that a recording also triggers are listed here, with the
/// reason.
#[test]
fn a_recording_triggers_few_other_findings() {
    // An overflowing latency is also beyond fio's last bin; responses that wait for a stopped
    // generator also cause an inflection of the percentiles; a burst that ends is not steady, and
    // each job of a limit by size meets the limit.
    let also: &[(&str, &[&str])] = &[
        ("HISTOGRAM_OVERFLOW", &["FIO_BINS_CLAMPED"]),
        ("GENERATOR_STALL", &["PERCENTILE_INFLECTION"]),
        ("BURST_ENDED", &["NOT_STEADY"]),
        ("CEILING_BY_SIZE", &["SMOOTH_CEILING"]),
    ];
    for w in faulty_runs() {
        let allowed = also
            .iter()
            .find(|(code, _)| *code == w.code)
            .map_or(&[][..], |(_, others)| others);
        for f in findings(&(w.make)()).findings {
            assert!(
                f.code == w.code || allowed.contains(&f.code),
                "{} also triggered {}: {}",
                w.code,
                f.code,
                f.evidence
            );
        }
    }
}

#[test]
fn a_clean_run_has_no_findings() {
    for recording in [
        clean(),
        open_loop(),
        writes(|_| {}),
        verifying(2_048, 2_048, 0),
    ] {
        let judged = findings(&recording);
        assert_eq!(judged.findings, []);
        assert_eq!(judged.verdict, Verdict::Valid);
    }
}

#[test]
fn a_clean_run_on_a_known_disk_has_no_findings() {
    let mut r = clean();
    r.disks = vec![disk("vda", (164_000_000, 40_010), (1 << 20, 40))];
    assert_eq!(findings(&r).findings, []);
    // The same through a loop device: both devices see the bytes.
    r.disks.push(disk("loop0", (163_840_000, 40_000), (0, 0)));
    assert_eq!(findings(&r).findings, []);
}

#[test]
fn the_verdict_is_the_worst_weight_and_findings_are_worst_first() {
    let mut r = clean();
    r.host.steal_percent = Some(3.0);
    assert_eq!(findings(&r).verdict, Verdict::Degraded);
    r.plan.jobs[0].accounting.percentiles.push(99.99);
    one_failure(&mut r);
    let judged = findings(&r);
    assert_eq!(judged.verdict, Verdict::Invalid);
    let codes: Vec<_> = judged.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["IO_ERROR", "STEAL", "FEW_SAMPLES"]);
}

/// Regression 0352: one clock tick of steal in a second of two CPUs, 0.5 % by rounding, was a
/// finding.
#[test]
fn steal_of_fewer_than_three_clock_ticks_is_not_a_finding() {
    let stolen = |ticks: f64| {
        let mut r = clean();
        r.elapsed = Nanos::from_secs(1);
        r.host.cpus = 2;
        r.host.steal_percent = Some(100.0 * ticks / 200.0);
        findings(&r).findings.iter().any(|f| f.code == "STEAL")
    };
    assert!(!stolen(1.0) && !stolen(2.0));
    assert!(stolen(3.0) && stolen(20.0));
}

/// Regression 0406: steal of 2 % beside a disk that was busy all the time was "this host, not the target, is the limit". A
/// worker that uses a hundredth of a CPU loses 2 % of that: 0.02 % of its I/Os can be delayed, fewer than lie above p99.9.
#[test]
fn steal_degrades_only_what_it_can_have_delayed() {
    let with_cpu = |millis: u64, steal: f64| {
        let mut r = clean();
        r.jobs[0].usage.user = Nanos::ZERO;
        r.jobs[0].usage.system = Nanos::from_millis(millis);
        r.host.steal_percent = Some(steal);
        let found = findings(&r);
        let weight = found
            .findings
            .iter()
            .find(|f| f.code == "STEAL")
            .map(|f| f.weight);
        let host = found.entries[0]
            .summary
            .iter()
            .any(|one| one.contains("This host"));
        (weight, host)
    };
    assert_eq!(with_cpu(100, 2.0), (Some(Weight::Note), false));
    // 2 % cannot explain a tenth of the time, so it disturbs but is no cause; 20 % can.
    assert_eq!(with_cpu(9_900, 2.0), (Some(Weight::Degrades), false));
    assert_eq!(with_cpu(9_900, 20.0), (Some(Weight::Degrades), true));
    // 6 % of half a percent is 0.03 %.
    assert_eq!(with_cpu(50, 6.0), (Some(Weight::Note), false));
    // Delayed I/Os are in p99.9, but the target is the limit.
    assert_eq!(with_cpu(1_000, 6.0), (Some(Weight::Degrades), false));
}

/// Regression 0406: other I/O was judged by its bytes alone, with 16 MiB free in runs of any length.
#[test]
fn other_io_is_judged_by_time_and_count_as_well() {
    let with_writes = |ios: u64, ticks: u64| {
        let mut r = clean();
        let mut disk = disk("vda", (163_840_000, 40_000), (ios * 512, ios));
        disk.after.write_ticks = ticks;
        r.disks = vec![disk];
        let found = findings(&r).findings;
        found
            .iter()
            .find(|f| f.code == "FOREIGN_IO")
            .map(|f| f.evidence.clone())
    };
    // An idle system writes a little.
    assert_eq!(with_writes(50, 200), None);
    // 30 writes of 50 ms are in flight 15 % of ten seconds, with 15 KiB.
    assert_eq!(
        with_writes(30, 1500).as_deref(),
        Some(
            "30 writes on vda were not from this run (3 per second beside 4,000 of the jobs), and took 15 % of its time."
        )
    );
    // More than a quarter of the I/Os, although each is fast.
    assert!(with_writes(12_000, 100).is_some());
    assert_eq!(with_writes(9_000, 100), None);
}

#[test]
fn a_note_leaves_the_run_valid() {
    let mut r = clean();
    r.plan.jobs[0].accounting.percentiles.push(99.99);
    assert_eq!(findings(&r).verdict, Verdict::Valid);
}

#[test]
fn continued_errors_only_degrade() {
    let mut r = clean();
    one_failure(&mut r);
    r.plan.jobs[0].errors.continue_read = true;
    r.jobs[0].errors_continued = 1;
    let judged = findings(&r);
    assert_eq!(
        judged.findings.iter().map(|f| f.weight).collect::<Vec<_>>(),
        [Weight::Degrades]
    );
    assert_eq!(
        (judged.entries[0].errors_continued, judged.entries[0].error),
        (Some((1, 5)), 5)
    );
    // An errno named by ignore_error is not counted as a continued error.
    r.plan.jobs[0].errors = ErrorPolicy {
        ignore: [vec![5], Vec::new(), Vec::new()],
        ..ErrorPolicy::default()
    };
    r.jobs[0].errors_continued = 0;
    assert_eq!(findings(&r).verdict, Verdict::Degraded);
}

#[test]
fn a_stall_in_a_closed_loop_is_reported_once_per_run() {
    let mut r = clean();
    let stall = |at, ms| Stall {
        at: Nanos::from_millis(at),
        lasted: Nanos::from_millis(ms),
    };
    // Two watchdogs saw the same second; 20 ms are normal scheduling.
    r.stalls = vec![stall(2_000, 1_000), stall(2_010, 990), stall(4_000, 20)];
    let judged = findings(&r);
    let f = &judged.findings[0];
    assert_eq!(
        (f.code, f.weight, judged.findings.len()),
        ("GENERATOR_STALL", Weight::Invalidates, 1)
    );
    assert_eq!(
        f.evidence,
        "The generator stalled 2 times, 1.00 s in total (10 % of the run), for up to 1.00 s at 2.00 s of the run; it submitted no I/O meanwhile."
    );
    r.stalls = vec![stall(2_000, 150)];
    assert_eq!(findings(&r).verdict, Verdict::Degraded);
    r.stalls = vec![stall(4_000, 20)];
    assert_eq!(findings(&r).verdict, Verdict::Valid);
    // A stall during layout affects no latency.
    (r.jobs[0].measured_from, r.jobs[0].ended) = (Nanos::from_secs(5), Nanos::from_secs(15));
    r.stalls = vec![stall(2_000, 1_000)];
    assert_eq!(findings(&r).verdict, Verdict::Valid);
}

/// Five hundred reads per second for ten seconds on a device that needs 0.2 ms, in which the
/// generator is stopped once, for `stopped` milliseconds.
fn stopped_at_500_per_second(stopped: u64, percentiles: &[f64]) -> Recording {
    let mut planned = job("open");
    planned.pace.rate[Direction::Read] = Some(Rate::Iops(500.0));
    planned.accounting.percentiles = percentiles.to_vec();
    let mut r = run_of(vec![planned]);
    fill(&mut r, 0, Direction::Read, 5_000, MS / 5);
    let d = &mut r.jobs[0].directions[Direction::Read];
    (d.response, d.lateness) = (Histogram::new(), Histogram::new());
    let delayed: Vec<u64> = (1..)
        .map(|i| 2 * MS * i)
        .take_while(|late| *late <= stopped * MS)
        .collect();
    d.lateness.record_n(1_000, 5_000 - delayed.len() as u64);
    d.response.record_n(MS / 5, 5_000 - delayed.len() as u64);
    for late in delayed {
        d.lateness.record(late);
        d.response.record(late + MS / 5);
    }
    // The watchdog slept for 5 ms when the stop began.
    r.stalls = vec![Stall {
        at: Nanos::from_secs(5),
        lasted: Nanos::from_millis(stopped.saturating_sub(3)),
    }];
    r
}

/// Regression 0360: a generator that was stopped for 20 to 100 ms was valid, or its late I/Os were
/// attributed to the queue depth.
#[test]
fn a_short_stop_of_the_generator_is_reported_as_such() {
    let every = [50.0, 99.0, 99.9, 99.99];
    for stopped in [20, 50, 99] {
        let judged = findings(&stopped_at_500_per_second(stopped, &every));
        let codes: Vec<_> = judged.findings.iter().map(|f| (f.code, f.weight)).collect();
        assert!(
            codes.contains(&("GENERATOR_STALL", Weight::Degrades)),
            "{stopped} ms: {:#?}",
            judged.findings
        );
        assert!(
            codes.iter().all(|(code, _)| *code != "LATE_ISSUE"),
            "{codes:?}"
        );
        assert_eq!(judged.verdict, Verdict::Degraded);
    }
    let f = &findings(&stopped_at_500_per_second(50, &every)).findings[0];
    assert_eq!(
        f.evidence,
        "Response p99 200 us (service 200 us). The generator fell behind by up to 50.0 ms; 23 I/Os were submitted more \
         than 5.00 ms late. Its watchdog woke 47.0 ms late at 5.00 s of the run."
    );
    assert_eq!(
        f.when,
        [TimeSpan::of_length(
            Nanos::from_secs(5),
            Nanos::from_millis(47)
        )]
    );
}

/// Regression 0860: a stop in the last milliseconds of a run delayed no I/O that was submitted, so that I/Os that were not
/// submitted counted as a rate that the target does not reach.
#[test]
fn a_stop_at_the_end_of_the_run_is_reported_as_such() {
    let stopped_at_the_end = |not_sent| {
        let mut r = stopped_at_500_per_second(0, &[50.0, 99.9]);
        let counts = &mut r.jobs[0].directions[Direction::Read].counts;
        (counts.planned, counts.not_sent) = (counts.planned + not_sent, not_sent);
        r.stalls = vec![Stall {
            at: Nanos::from_millis(9_905),
            lasted: Nanos::from_millis(95),
        }];
        findings(&r)
    };
    let judged = stopped_at_the_end(50);
    assert_eq!(judged.verdict, Verdict::Degraded, "{:#?}", judged.findings);
    let stall = judged.findings.iter().find(|f| f.code == "GENERATOR_STALL");
    let evidence = &stall.expect("the stop").evidence;
    assert!(
        evidence.contains("0 I/Os were submitted more than 5.00 ms late, 50 not before the end."),
        "{evidence}"
    );
    // From 2 % on, a search takes a target for one that does not complete the load: 105 of 5,105.
    assert_eq!(stopped_at_the_end(105).verdict, Verdict::Invalid);
    // The stop explains less than half a second of missing I/Os.
    let overloaded = stopped_at_the_end(250);
    assert!(
        overloaded
            .findings
            .iter()
            .all(|f| f.code != "GENERATOR_STALL"),
        "{:#?}",
        overloaded.findings
    );
}

/// The threshold follows from the rate and the percentiles: a stop that no shown percentile shows is
/// not a finding, nor is a watchdog that woke late beside I/Os that did not.
#[test]
fn a_stop_that_no_shown_percentile_shows_is_not_a_finding() {
    let stall = |r: &Recording| {
        findings(r)
            .findings
            .iter()
            .any(|f| f.code == "GENERATOR_STALL")
    };
    // 23 of 5,000 I/Os are above p99.54.
    assert!(stall(&stopped_at_500_per_second(50, &[50.0, 99.9])));
    assert!(!stall(&stopped_at_500_per_second(50, &[50.0, 99.0])));
    assert!(!stall(&stopped_at_500_per_second(12, &[50.0, 99.99])));
    let mut punctual = open_loop();
    punctual.stalls = stopped_at_500_per_second(50, &[]).stalls;
    assert_eq!(findings(&punctual).findings, []);
}

/// I/Os that wait for a target are late throughout the run. A short stall does not explain them.
#[test]
fn a_short_stall_does_not_hide_a_queue_that_is_too_short() {
    let mut r = stopped_at_500_per_second(50, &[50.0, 99.9]);
    r.jobs[0].directions[Direction::Read]
        .lateness
        .record_n(15 * MS, 400);
    let codes: Vec<_> = findings(&r).findings.iter().map(|f| f.code).collect();
    assert!(
        codes.contains(&"LATE_ISSUE") && !codes.contains(&"GENERATOR_STALL"),
        "{codes:?}"
    );
}

#[test]
fn equal_findings_of_clones_are_reported_once_with_their_number() {
    let mut jobs = vec![job("same"); 3];
    jobs.iter_mut()
        .enumerate()
        .for_each(|(i, job)| (job.clone, job.number) = (i as u32, i as u32 + 1));
    let mut r = run_of(jobs);
    (0..3).for_each(|i| fill(&mut r, i, Direction::Read, 10_000, MS));
    (0..3).for_each(|i| r.plan.jobs[i].engine.kind = EngineKind::Psync);
    let judged = findings(&r);
    assert_eq!(judged.findings.len(), 1);
    assert!(
        judged.findings[0]
            .evidence
            .ends_with("depth 1. (2 more like this)"),
        "{}",
        judged.findings[0].evidence
    );
}

#[test]
fn cached_writes_are_reported_as_page_cache() {
    let mut r = writes(|job| {
        job.files.direct = false;
        job.sync.fsync_at_end = true;
    });
    r.disks = vec![disk("vda", (0, 0), (0, 0))];
    let judged = findings(&r);
    assert_eq!(judged.findings[0].code, "PAGE_CACHE");
    assert_eq!(
        judged.findings[0].evidence,
        "100 % of the written bytes stayed in memory: the devices received 0 bytes of 156.25 MiB."
    );
}

/// Regression 1466: the disk below the image of a loop device, from which another program read as much as the jobs, hid that
/// nothing was read from the loop device.
#[test]
fn reads_of_others_below_a_stacked_device_do_not_hide_the_page_cache() {
    let mut r = clean();
    r.plan.jobs[0].files.direct = false;
    let bytes = r.jobs[0].directions[Direction::Read].counts.bytes_ok;
    r.disks = vec![
        disk("loop0", (0, 0), (0, 0)),
        disk("vda", (bytes, bytes / 4096), (0, 0)),
    ];
    let stacked = |name: &str, parent| DeviceRecording {
        parent,
        before: DeviceFacts {
            name: name.to_owned(),
            ..DeviceFacts::default()
        },
        ..DeviceRecording::default()
    };
    r.targets = vec![TargetRecording {
        path: "/data/file".into(),
        devices: vec![stacked("loop0", None), stacked("vda", Some(0))],
        ..TargetRecording::default()
    }];
    let judged = findings(&r);
    let found = judged.findings.iter().find(|f| f.code == "PAGE_CACHE");
    assert!(
        found.is_some_and(|f| f
            .evidence
            .starts_with("100 % of the reads came from memory: the devices delivered 0 bytes")),
        "{found:?}"
    );
    // The same I/Os of the upper device are those of the jobs.
    r.disks[0] = disk("loop0", (bytes, bytes / 4096), (0, 0));
    assert!(!findings(&r).findings.iter().any(|f| f.code == "PAGE_CACHE"));
}

/// Regression 1488: the reads that an array with parity makes before its writes were those of another program.
#[test]
fn what_an_array_does_at_its_members_is_not_foreign() {
    let mut r = clean();
    let reads = r.jobs[0].directions[Direction::Read].counts.ok;
    let bytes = r.jobs[0].directions[Direction::Read].counts.bytes_ok;
    r.disks = vec![
        disk("md0", (bytes, reads), (0, 0)),
        disk("sda", (2 * bytes, 2 * reads), (2 * bytes, 2 * reads)),
    ];
    let part = |name: &str, parent, kind: Option<&str>| DeviceRecording {
        parent,
        before: DeviceFacts {
            name: name.to_owned(),
            array: kind.map(|kind| ArrayFacts {
                kind: kind.to_owned(),
                members: 3,
                ..ArrayFacts::default()
            }),
            ..DeviceFacts::default()
        },
        ..DeviceRecording::default()
    };
    let target = |kind| TargetRecording {
        path: "/dev/md0".into(),
        devices: vec![part("md0", None, Some(kind)), part("sda", Some(0), None)],
        ..TargetRecording::default()
    };
    let is_found = |r: &Recording| {
        let all = findings(r).findings;
        all.iter().any(|found| found.code == "FOREIGN_IO")
    };
    r.targets = vec![target("raid5")];
    assert!(!is_found(&r));
    // What lies below a volume of LVM does the I/Os of other volumes too.
    r.targets = vec![target("lvm")];
    assert!(is_found(&r));
}

#[test]
fn the_same_recording_gives_the_same_findings_byte_for_byte() {
    for w in faulty_runs() {
        let text = || format!("{:?}", findings(&(w.make)()));
        assert_eq!(text(), text());
    }
}

/// Regression 0002: a mixed job with `do_verify=0` was reported as not verified, but its reads are
/// load and nothing was to be verified.
#[test]
fn a_mixed_job_without_do_verify_needs_no_verification() {
    let stamping = |traffic| {
        let mut recording = verifying(0, 0, 0);
        let job = &mut recording.plan.jobs[0];
        job.pattern.traffic = traffic;
        job.verify.as_mut().expect("it verifies").after_writes = false;
        findings(&recording)
            .findings
            .iter()
            .any(|f| f.code == "VERIFY_NOTHING")
    };
    assert!(!stamping(Traffic::ReadWrite { read_percent: 50 }));
    assert!(
        stamping(Traffic::Read),
        "a read-only job is there to verify"
    );
}

/// Just inside every threshold: a healthy but imperfect run must not be called degraded.
#[test]
fn thresholds_leave_room_for_healthy_runs() {
    type Change = fn(&mut Recording);
    let changes: &[Change] = &[
        |r| r.host.steal_percent = Some(0.5),
        |r| r.host.steal_percent = None,
        |r| r.host.cpu_throttles = None,
        |r| r.jobs[0].usage.waited = Nanos::from_millis(1_900),
        |r| r.clock.drift_ppm = 400.0,
        |r| r.host.busy_percent = Some(89.0),
        |r| r.jobs[0].usage.system = Nanos::from_secs(8),
        |r| {
            r.stalls = vec![Stall {
                at: Nanos::from_secs(1),
                lasted: Nanos::from_millis(99),
            }];
        },
        |r| (r.plan.jobs[0].queue.depth, r.plan.jobs[0].queue.low) = (5, 5),
        |r| r.plan.jobs[0].limits.runtime = Some(Nanos::from_millis(10_400)),
        |r| r.jobs[0].region = Bytes::from_mib(80),
        // Ten above p99.975.
        |r| r.plan.jobs[0].accounting.percentiles = vec![99.975, 100.0],
        // Polling burns CPU by design.
        |r| {
            r.jobs[0].usage.system = Nanos::from_millis(9_400);
            r.plan.jobs[0].engine.settings.high_priority = true;
        },
        // Half of the bytes, a fifth more, and a third fewer requests.
        |r| r.disks = vec![disk("vda", (82_000_000, 20_000), (0, 0))],
        |r| r.disks = vec![disk("vda", (190_000_000, 45_000), (0, 0))],
        |r| r.disks = vec![disk("vda", (163_840_000, 28_000), (0, 0))],
    ];
    for (i, change) in changes.iter().enumerate() {
        let found = findings(&with(change)).findings;
        assert_eq!(found, [], "change {i}");
    }
}

#[test]
fn half_of_the_depth_is_a_note() {
    let judged = findings(&with(|r| {
        (r.plan.jobs[0].queue.depth, r.plan.jobs[0].queue.low) = (8, 8);
    }));
    assert_eq!(
        judged.findings.iter().map(|f| f.code).collect::<Vec<_>>(),
        ["LITTLE_DISAGREES"]
    );
    assert_eq!(judged.verdict, Verdict::Valid);
}

/// Regression 0851: with a job of `ioengine=exec`, only findings about observed programs were looked for: a job that failed was valid.
#[test]
fn a_failed_program_beside_the_load_is_an_error() {
    let mut r = run_of(vec![job("side")]);
    r.jobs[0].engine = EngineKind::Exec.name().to_owned();
    r.jobs[0].error = Some(JobError {
        errno: 2,
        operation: "cannot start '/no/such/program'".to_owned(),
        at: Nanos::ZERO,
    });
    let codes: Vec<_> = findings(&r).findings.iter().map(|f| f.code).collect();
    assert!(codes.contains(&"IO_ERROR"), "{codes:?}");
}

/// Regression 0850: reads from the page cache that libaio serves within each call of submission wait until half of the queue
/// is filled. With 8.4 I/Os in flight of 16, the depth counted as reached, although no two I/Os ran at the same time.
#[test]
fn ios_that_are_served_in_their_submission_do_not_reach_the_depth() {
    let depth_reached = |slat: Nanos| {
        let r = with(|r| {
            // 4 I/Os are in flight on average, at 4,000 per second.
            let queue = &mut r.plan.jobs[0].queue;
            (queue.depth, queue.low) = (8, 8);
            let read = &mut r.jobs[0].directions[Direction::Read];
            let ios = read.clat.count();
            read.slat = Histogram::new();
            read.slat.record_n(slat.get(), ios);
        });
        let findings = findings(&r).findings;
        findings.iter().all(|f| f.code != "DEPTH_NOT_REACHED")
    };
    // The worker is in the call for 96 % of the time, or for 4 %.
    assert!(!depth_reached(Nanos::from_micros(240)));
    assert!(depth_reached(Nanos::from_micros(10)));
}

#[test]
fn a_closed_loop_with_pauses_or_flushes_need_not_fill_its_queue() {
    let rests: [fn(&mut Job); 4] = [
        |job| job.sync.fsync_every = 1,
        |job| job.queue.low = 1,
        |job| job.pace.think = Some(think()),
        |job| job.pace.rate[Direction::Write] = Some(Rate::Iops(4_000.0)),
    ];
    for rest in rests {
        let r = writes(|job| {
            (job.queue.depth, job.queue.low) = (64, 64);
            rest(job);
        });
        assert_eq!(findings(&r).findings, []);
    }
}

fn think() -> Think {
    let (time, spin, io_time) = (Nanos::from_millis(1), Nanos::ZERO, Nanos::ZERO);
    Think {
        time,
        spin,
        blocks: 1,
        by_issue: false,
        io_time,
        ignored_by_rate: false,
    }
}

#[test]
fn a_full_target_is_expected_with_fill_device() {
    let mut r = writes(|job| job.files.layout.fill_device = true);
    let c = &mut r.jobs[0].directions[Direction::Write].counts;
    (c.planned, c.failed, c.bytes_requested, c.bytes_missing) =
        (c.planned + 4, 4, c.bytes_requested + 4 * 4096, 4 * 4096);
    assert_eq!(findings(&r).findings, []);
}

#[test]
fn a_dead_worker_is_reported_once() {
    let mut r = run_of(vec![job("clean")]);
    let at = Nanos::from_secs(1);
    let dead = &mut r.jobs[0];
    (dead.launched, dead.measured_from, dead.ended) = (at, at, at);
    dead.intervals.clear();
    dead.error = Some(JobError {
        errno: 5,
        operation: "the worker died: it panicked".to_owned(),
        at,
    });
    event(
        &mut r,
        EventKind::WorkerDied {
            reason: "it panicked".to_owned(),
        },
    );
    let codes: Vec<_> = findings(&r).findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["WORKER_DIED"]);
}

#[test]
fn a_job_that_could_not_start_is_reported_once() {
    let mut r = run_of(vec![job("clean")]);
    let what = "cannot open /data/file".to_owned();
    r.jobs[0].error = Some(JobError {
        errno: 2,
        operation: what,
        at: Nanos::ZERO,
    });
    r.jobs[0].ended = Nanos::ZERO;
    let judged = findings(&r);
    assert_eq!(judged.findings.len(), 1);
    let f = &judged.findings[0];
    assert_eq!((f.code, f.weight), ("IO_ERROR", Weight::Invalidates));
    assert_eq!(
        f.evidence,
        "The job failed: cannot open /data/file (No such file or directory)."
    );
}

#[test]
fn an_error_ends_a_timed_job_early() {
    let mut r = clean();
    one_failure(&mut r);
    r.plan.jobs[0].limits.runtime = Some(Nanos::from_secs(60));
    let what = "read of 4096 bytes at offset 1048576 failed".to_owned();
    r.jobs[0].error = Some(JobError {
        errno: 5,
        operation: what,
        at: Nanos::from_secs(10),
    });
    let found = findings(&r).findings;
    assert_eq!(
        found.iter().map(|f| f.code).collect::<Vec<_>>(),
        ["IO_ERROR", "RAN_SHORT"]
    );
    assert!(
        found[1]
            .evidence
            .ends_with("of the planned 60.00 s: read of 4096 bytes at offset 1048576 failed.")
    );
    // Other jobs that were ended with it did not run short by themselves.
    r.jobs[0].error = None;
    r.plan.jobs[0].exit.exit_all = true;
    assert!(findings(&r).findings.iter().all(|f| f.code != "RAN_SHORT"));
}

#[test]
fn a_poisson_shortfall_within_chance_is_not_a_finding() {
    let mut r = open_loop();
    r.plan.jobs[0].pace.process = Arrivals::Poisson;
    // 2,000 arrived where 2,150 were expected: 7.5 %, below 4 / sqrt(2,000) = 8.9 %.
    r.plan.jobs[0].pace.rate[Direction::Read] = Some(Rate::Iops(215.0));
    assert_eq!(findings(&r).findings, []);
    r.plan.jobs[0].pace.rate[Direction::Read] = Some(Rate::Iops(225.0));
    assert_eq!(findings(&r).findings[0].code, "RATE_NOT_REACHED");
    r.plan.jobs[0].pace.rate[Direction::Read] = Some(Rate::Bandwidth(2.0 * 819_200.0));
    assert_eq!(
        findings(&r).findings[0].evidence,
        "Planned 1.56 MiB of reads per second, achieved 800 KiB (50 %) over 10.00 s; 0 were due but never submitted."
    );
}

#[test]
fn empty_recordings_are_judged_without_panic() {
    let empty = findings(&run_of(Vec::new()));
    assert_eq!(
        (
            empty.entries.len(),
            empty.groups.len(),
            empty.findings.len()
        ),
        (0, 0, 0)
    );
    let mut r = run_of(vec![job("clean")]);
    r.elapsed = Nanos::ZERO;
    r.jobs[0] = JobRecording {
        ended: Nanos::ZERO,
        intervals: Vec::new(),
        ..idle(&job("clean"))
    };
    r.disks = vec![disk("vda", (0, 0), (0, 0))];
    assert_eq!(findings(&r).findings[0].code, "NOTHING_DONE");
}

/// Regression 0122: a job that was ended by `exitall` of another job before its first I/O was
/// reported as a job without I/O.
#[test]
fn a_job_ended_before_its_first_io_is_not_reported() {
    let mut r = run_of(vec![job("quick"), job("slow")]);
    fill(&mut r, 0, Direction::Read, 10_000, MS);
    r.jobs[1] = JobRecording {
        ended: Nanos::ZERO,
        intervals: Vec::new(),
        ..idle(&job("slow"))
    };
    assert!(
        findings(&r)
            .findings
            .iter()
            .any(|one| one.code == "NOTHING_DONE")
    );
    r.plan.jobs[0].exit.exit_all = true;
    assert!(
        findings(&r)
            .findings
            .iter()
            .all(|one| one.code != "NOTHING_DONE")
    );
}

/// Findings with a time report it: a stall its start, a CPU quota the samples in which it
/// throttled. A finding for the whole run has no time in its evidence.
#[test]
fn findings_have_their_time() {
    let span = |from_ms: u64, to_ms: u64| TimeSpan {
        from: Nanos::from_millis(from_ms),
        to: Nanos::from_millis(to_ms),
    };
    let finding_of = |recording: &Recording, code: &str| {
        findings(recording)
            .findings
            .into_iter()
            .find(|f| f.code == code)
            .expect("the finding")
    };
    let stall = faulty_runs()
        .into_iter()
        .find(|w| w.code == "GENERATOR_STALL")
        .expect("its recording");
    assert_eq!(
        finding_of(&(stall.make)(), "GENERATOR_STALL").when,
        [span(5000, 6003)]
    );
    let throttled = |seconds: &[u64]| {
        let mut recording = clean();
        recording.host.cpu_throttles = Some(43);
        let sample = |n: u64| Sample {
            start: Nanos::from_secs(n),
            length: Nanos::from_secs(1),
            throttles: Some(u64::from(seconds.contains(&n))),
            ..Sample::default()
        };
        recording.conditions.telemetry.samples = (0..10).map(sample).collect();
        finding_of(&recording, "CPU_THROTTLED")
    };
    let part = throttled(&[2, 3, 7]);
    assert_eq!(part.when, [span(2000, 4000), span(7000, 8000)]);
    assert!(
        part.evidence
            .ends_with(" Seen from 2.00 s to 4.00 s and once more, the last until 8.00 s."),
        "{}",
        part.evidence
    );
    let all: Vec<u64> = (0..10).collect();
    let throughout = throttled(&all);
    assert!(
        throughout.when == [span(0, 10_000)] && !throughout.evidence.contains("Seen"),
        "{}",
        throughout.evidence
    );
}

/// Of the slowest I/Os, 8 of 10 ms passed in the device beside rsync: these findings say so, and without a sheet they do not.
#[test]
fn findings_name_the_phase_and_the_process_of_the_blame_sheet() {
    let sheet = || BlameRecording {
        groups: vec![BlameGroup {
            joined: 100,
            rows: vec![BlameRow {
                rank: BlameRank::SlowestPercent,
                ios: 1,
                phases: BlameTimes {
                    ns: [0, MS, MS, 0, 8 * MS, 0],
                },
                in_block_layer_ns: 9 * MS,
                beside_ns: vec![6 * MS],
            }],
            ..BlameGroup::default()
        }],
        others: vec![BlameOther {
            who: OtherKind::Process {
                pid: 1234,
                name: "rsync".to_owned(),
            },
            reads: (0, 0),
            writes: (10, 10 << 20),
            busy_ns: 6 * MS,
        }],
        ..BlameRecording::default()
    };
    let mut seen = std::collections::BTreeSet::new();
    for run in faulty_runs() {
        let expected = match run.code {
            "RATE_LIMITED" | "REQUESTS_RESIZED" | "LITTLE_DISAGREES" | "WORKER_WAITED" => {
                "Of the slowest 1 %, 80 % of the time passed in the device beside 1 MiB writes of PID 1234 (rsync)"
            }
            "FOREIGN_IO" => "Seen beside the load: 1 MiB writes of PID 1234 (rsync) (67 % of",
            _ => continue,
        };
        seen.insert(run.code);
        let evidence = |recording: &Recording| {
            let found = findings(recording).findings;
            let finding = found.into_iter().find(|finding| finding.code == run.code);
            finding.expect("the finding").evidence
        };
        let mut recording = (run.make)();
        let without = evidence(&recording);
        assert!(!without.contains("rsync"), "{without}");
        recording.blame = Some(sheet());
        let with = evidence(&recording);
        assert!(
            with.starts_with(&without) && with.contains(expected),
            "{}: {with}",
            run.code
        );
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

/// Regression 0985: the times of two hosts are aligned to intervals only, and a phase of one could overlap the phase before of the
/// other: the total was one of both phases. Two hosts, two phases of 40,000 reads, the second of b 0.2 s before the first of a ends.
#[test]
fn phases_of_hosts_are_never_added() {
    let recording = on_hosts(&["a", "a", "b", "b"], |r| {
        r.hosts.remove(3);
        r.hosts.remove(1);
        for host in &mut r.hosts {
            host.jobs = 2;
        }
        for (place, from) in [(1, 10_000), (3, 9_800)] {
            r.plan.jobs[place].name = format!("{}:later", ["a", "b"][place / 2]);
            r.plan.jobs[place].start.after_all_before = true;
            r.jobs[place].shift_times(|at| at + Nanos::new(from * 1_000_000));
        }
    });
    let totals = |recording: &Recording| {
        let of = |total: &fathom_model::TotalSummary| {
            let mut names = total.names.clone();
            names.sort();
            (names.join(" "), total.directions[Direction::Read].ios)
        };
        findings(recording)
            .totals
            .iter()
            .map(of)
            .collect::<Vec<_>>()
    };
    let expected = [("a:clean b:clean", 80_000), ("a:later b:later", 80_000)];
    let expected = expected.map(|(names, ios)| (names.to_owned(), ios));
    assert_eq!(totals(&recording), expected);
    // Without a stonewall they may run at the same time: then it is one load.
    let mut together = recording;
    for job in &mut together.plan.jobs {
        job.start.after_all_before = false;
    }
    assert_eq!(totals(&together).len(), 1);
}

/// Two hosts with 4,000 reads per second each: every host keeps its own entry and its own findings, and the total is their sum.
#[test]
fn hosts_are_analysed_each_by_itself_and_summed() {
    let recording = on_hosts(&["a", "b"], |r| {
        for job in &mut r.plan.jobs {
            (job.group_reporting, job.group) = (true, 0);
        }
        // Only b lost CPU time, and only b may be named for it.
        r.hosts[1].host.steal_percent = Some(30.0);
        r.hosts[1].shift = Nanos::from_secs(1);
        r.jobs[1].shift_times(|at| at + Nanos::from_secs(1));
    });
    let found = findings(&recording);
    let names: Vec<&str> = found
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(names, ["a:clean", "b:clean"]);
    let rates: Vec<f64> = found.hosts.iter().map(|host| host.iops).collect();
    assert_eq!(rates, [4000.0, 4000.0]);
    let total = &found.totals[0];
    // 80,000 reads from the start of a to the end of b, 11 s later.
    assert_eq!(total.directions[Direction::Read].ios, 80_000);
    assert_eq!(total.span, Nanos::from_secs(11));
    let stolen: Vec<_> = found
        .findings
        .iter()
        .filter(|f| f.code == "STEAL")
        .collect();
    assert_eq!(stolen.len(), 1);
    assert!(
        stolen[0]
            .about
            .as_deref()
            .is_some_and(|about| about.starts_with('b'))
    );
    // The part of b is again what b recorded: its own start is zero.
    let parts = recording.of_hosts();
    assert_eq!(parts[1].jobs[0].ended, Nanos::from_secs(10));
    assert_eq!(parts[1].plan.jobs[0].name, "b:clean");
}
