//! Every detector: a run in which it speaks, with the sentence expected of it, and proof that nobody else says it.

mod sample;

use fathom_analyse::{DETECTORS, Detector, findings, findings_with};
use fathom_model::*;

use sample::*;

/// A run with one thing wrong.
struct Wrong {
    code: &'static str,
    weight: Weight,
    about: Option<&'static str>,
    evidence: &'static str,
    make: fn() -> Recording,
}

fn wrong(
    code: &'static str,
    weight: Weight,
    about: Option<&'static str>,
    evidence: &'static str,
    make: fn() -> Recording,
) -> Wrong {
    Wrong { code, weight, about, evidence, make }
}

/// The clean run after `change`.
fn with(change: impl FnOnce(&mut Recording)) -> Recording {
    let mut recording = clean();
    change(&mut recording);
    recording
}

/// A clean run of writes in place of reads.
fn writes(change: impl FnOnce(&mut Job)) -> Recording {
    let mut job = job("clean");
    job.pattern.traffic = Traffic::Write;
    change(&mut job);
    let mut recording = run_of(vec![job]);
    fill(&mut recording, 0, Direction::Write, 40_000, MS);
    recording
}

/// Two workers; the second begins when the first ends, in the same group.
fn one_after_the_other() -> Recording {
    let (first, mut second) = (job("first"), job("second"));
    second.number = 2;
    second.files.paths = vec!["/data/other".into()];
    let mut recording = run_of(vec![first, second]);
    (0..2).for_each(|i| fill(&mut recording, i, Direction::Read, 40_000, MS));
    let later = &mut recording.jobs[1];
    (later.measured_from, later.ended) = (Nanos::from_secs(10), Nanos::from_secs(20));
    later.intervals.iter_mut().for_each(|i| i.start += Nanos::from_secs(10));
    recording.elapsed = Nanos::from_secs(20);
    recording
}

/// The scene of a generator stopped for one second: due times go on, so the I/Os due meanwhile wait up to one second.
fn stopped_for_a_second() -> Recording {
    let mut recording = open_loop();
    let d = &mut recording.jobs[0].directions[Direction::Read];
    (d.response, d.lateness) = (Histogram::new(), Histogram::new());
    d.response.record_n(2 * MS, 1_800);
    d.lateness.record_n(1_000, 1_800);
    // 200 due in that second, 5 ms apart: 1000, 995, .. 5 ms.
    for i in 1..=200 {
        d.response.record(i * 5 * MS + 2 * MS);
        d.lateness.record(i * 5 * MS);
    }
    recording.stalls = vec![Stall { at: Nanos::from_secs(5), lasted: Nanos::from_millis(1_003) }];
    recording
}

fn late_without_a_stall() -> Recording {
    let mut recording = open_loop();
    let d = &mut recording.jobs[0].directions[Direction::Read];
    d.lateness = Histogram::new();
    d.lateness.record_n(1_000, 1_900);
    d.lateness.record_n(50 * MS, 100);
    recording
}

fn three_quarters_of_the_rate() -> Recording {
    let mut recording = open_loop();
    let d = &mut recording.jobs[0].directions[Direction::Read].counts;
    d.planned += 1_000;
    d.not_sent += 1_000;
    recording.plan.jobs[0].pace.rate[Direction::Read] = Some(Rate::Iops(300.0));
    recording
}

fn verifying(planned: u64, good: u64, bad: u64) -> Recording {
    let mut recording = writes(|_| {});
    recording.plan.jobs[0].verify = Some(Verify {
        kind: VerifyKind::Crc32c,
        after_writes: true,
        fatal: false,
        pattern: Vec::new(),
        interval: 0,
        header_offset: 0,
        dump: false,
        only: false,
        backlog: 0,
        backlog_batch: 0,
        write_sequence: true,
        header_seed: true,
    });
    recording.jobs[0].verify = VerifyCounts { planned, good, bad, bytes: good * 4096 };
    recording
}

fn sequential_clones() -> Recording {
    let mut jobs = vec![job("clones"), job("clones")];
    for (i, job) in jobs.iter_mut().enumerate() {
        (job.clone, job.number) = (i as u32, i as u32 + 1);
        job.pattern.access = Access::Sequential { skip: 0 };
    }
    let mut recording = run_of(jobs);
    (0..2).for_each(|i| fill(&mut recording, i, Direction::Read, 40_000, MS));
    recording
}

/// Full speed in the first half, half of it in the second.
fn slowing_down() -> Recording {
    with(|r| {
        let JobRecording { directions, intervals, .. } = &mut r.jobs[0];
        let counts = &mut directions[Direction::Read];
        (counts.counts, counts.clat) = (Counts::default(), Histogram::new());
        for (i, interval) in intervals.iter_mut().enumerate() {
            let n = if i < 60 { 400 } else { 200 };
            let d = &mut interval.directions[Direction::Read];
            let mut part = Histogram::new();
            part.record_n(MS, n);
            (d.ios, d.bytes, d.clat) = (n, n * 4096, SparseHistogram::pack(&part));
            counts.clat.record_n(MS, n);
            let c = &mut counts.counts;
            (c.planned, c.ok) = (c.planned + n, c.ok + n);
            (c.bytes_asked, c.bytes_ok) = (c.bytes_asked + n * 4096, c.bytes_ok + n * 4096);
        }
    })
}

fn wrongs() -> Vec<Wrong> {
    use Weight::{Degrades, Invalidates, Note};
    let clean_job = Some("clean");
    vec![
        wrong(
            "SHORT_IO",
            Invalidates,
            clean_job,
            "111 of 40,111 I/Os moved fewer bytes than asked (first: read at offset 4096, 512 of 4096 bytes). \
             163,896,832 of 164,294,656 bytes were moved (99.75 %).",
            || {
                with(|r| {
                    spoil(r, |c| {
                        (c.planned, c.short) = (c.planned + 111, 111);
                        c.bytes_asked += 111 * 4096;
                        (c.bytes_short, c.bytes_missing) = (111 * 512, 111 * 3584);
                    });
                    let direction = Direction::Read;
                    event(r, EventKind::FirstShort { direction, offset: 4096, asked: 4096, moved: 512 });
                })
            },
        ),
        wrong(
            "IO_ERROR",
            Invalidates,
            clean_job,
            "1 of 40,001 I/Os failed (first: read at offset 1048576, Input/output error). Failed I/Os are in neither \
             IOPS nor latency.",
            || with(one_failure),
        ),
        wrong(
            "TARGET_SHRANK",
            Invalidates,
            clean_job,
            "/data/file shrank from 64 MiB to 8 MiB at 1.00 s of the run.",
            || {
                with(|r| {
                    let (from, to) = (Bytes::from_mib(64), Bytes::from_mib(8));
                    event(r, EventKind::TargetShrank { path: "/data/file".to_owned(), from, to });
                })
            },
        ),
        wrong(
            "WORKER_DIED",
            Invalidates,
            clean_job,
            "Worker 1 died at 1.00 s of the run: signal 9. Its I/O is missing.",
            || with(|r| event(r, EventKind::WorkerDied { why: "signal 9".to_owned() })),
        ),
        wrong(
            "NOT_CONSERVED",
            Invalidates,
            clean_job,
            "40,001 reads were planned but 40,000 came to an end (40,000 ok, 0 short, 0 failed, 0 timed out, 0 not \
             sent); 163,840,000 bytes were asked for and 163,840,000 accounted for.",
            || with(|r| spoil(r, |c| c.planned += 1)),
        ),
        wrong(
            "TIMED_OUT",
            Invalidates,
            clean_job,
            "4 of 40,004 I/Os never completed; they were waited for 30.00 s.",
            || {
                with(|r| {
                    spoil(r, |c| {
                        (c.planned, c.timed_out) = (c.planned + 4, 4);
                        (c.bytes_asked, c.bytes_missing) = (c.bytes_asked + 4 * 4096, 4 * 4096);
                    });
                    event(r, EventKind::GaveUp { in_flight: 4, waited: Nanos::from_secs(30) });
                })
            },
        ),
        // 180 of 200 waited for more than 100 ms (i * 5 + 2 > 100 from i = 20 on: 181); of 2,000 the
        // 1,980th is 180 * 5 + 2 = 902 ms, in the bucket [901.8, 906.0) ms with the middle 904 ms.
        wrong(
            "GENERATOR_STALL",
            Invalidates,
            Some("open"),
            "Response p99 904 ms (service 2.0 ms). The generator fell behind by up to 1.00 s; 181 responses took more \
             than 100 ms. Its watchdog woke 1.00 s late at 5.00 s of the run.",
            stopped_for_a_second,
        ),
        wrong(
            "LATE_ISSUE",
            Degrades,
            Some("open"),
            "100 I/Os (5.0 %) were handed over more than 10.0 ms after they were due, up to 50.0 ms; the queue depth \
             of 4 was used up or this host was too slow.",
            late_without_a_stall,
        ),
        wrong(
            "RATE_NOT_REACHED",
            Degrades,
            Some("open"),
            "Asked for 300 reads per second, achieved 200 (67 %) over 10.00 s; 1,000 were due but never handed over.",
            three_quarters_of_the_rate,
        ),
        wrong(
            "DEPTH_NOT_REACHED",
            Degrades,
            clean_job,
            "Asked for depth 16, achieved 4.0 (Little's law: 4,000 I/Os per second x 1.0 ms mean latency).",
            || {
                with(|r| {
                    let queue = &mut r.plan.jobs[0].queue;
                    (queue.depth, queue.low) = (16, 16);
                })
            },
        ),
        wrong(
            "SYNC_ENGINE_DEPTH",
            Degrades,
            clean_job,
            "iodepth=4 was asked of psync, which keeps one I/O in flight: the figures are those of queue depth 1.",
            || with(|r| r.plan.jobs[0].engine.kind = EngineKind::Psync),
        ),
        wrong(
            "HISTOGRAM_OVERFLOW",
            Degrades,
            clean_job,
            "1 value above the histogram's range of 73 minutes; the largest is 2.0 h.",
            || with(|r| r.jobs[0].directions[Direction::Read].lat.record(7_200 * SECOND)),
        ),
        wrong(
            "FIO_BINS_CLAMPED",
            Note,
            clean_job,
            "3 latencies of 17.18 s or more stand in fio's last bin, labelled 17,112,760,320 ns; percentiles, mean and \
             maximum are not clamped.",
            || with(|r| r.jobs[0].directions[Direction::Read].lat.record_n(20 * SECOND, 3)),
        ),
        wrong("NOTHING_DONE", Invalidates, clean_job, "1 of 1 jobs completed no I/O in 10.00 s (0 planned).", || {
            run_of(vec![job("clean")])
        }),
        wrong("JOB_SKIPPED", Degrades, clean_job, "1 of 1 jobs never started.", || {
            let mut r = run_of(vec![job("clean")]);
            r.jobs[0].skipped = true;
            r
        }),
        wrong("RAN_SHORT", Degrades, clean_job, "Ran 10.00 s of the 60.00 s asked for.", || {
            with(|r| r.plan.jobs[0].limits.runtime = Some(Nanos::from_secs(60)))
        }),
        wrong(
            "PAGE_CACHE",
            Degrades,
            None,
            "90 % of the reads came from memory: the devices saw 15.62 MiB of 156.25 MiB.",
            || with(|r| r.disks = vec![disk("vda", (16_384_000, 4_000), (0, 0))]),
        ),
        wrong(
            "FOREIGN_IO",
            Degrades,
            None,
            "50 % of the bytes read on vda were not ours: the device moved 312.5 MiB, the jobs 156.25 MiB.",
            || with(|r| r.disks = vec![disk("vda", (327_680_000, 80_000), (0, 0))]),
        ),
        wrong(
            "REQUESTS_RESIZED",
            Note,
            None,
            "40,000 reads of 4 KiB on average became 320,000 requests at vda (8.0 for each I/O).",
            || with(|r| r.disks = vec![disk("vda", (163_840_000, 320_000), (0, 0))]),
        ),
        wrong("STEAL", Degrades, None, "Steal 2.4 % of CPU time during the run (limit 0.5 %).", || {
            with(|r| r.host.steal_percent = Some(2.4))
        }),
        wrong(
            "CPU_THROTTLED",
            Degrades,
            None,
            "This host, not the device, limited the run: 43 throttles by the CPU quota.",
            || with(|r| r.host.cpu_throttles = Some(43)),
        ),
        // The worker used 1.5 s of 4 CPUs x 10 s: 3.75 %.
        wrong(
            "HOST_BUSY",
            Degrades,
            None,
            "The CPUs of this host were 98 % busy, 94 % not by the workers: the host, not the device, may be the \
             limit.",
            || with(|r| r.host.busy_percent = Some(98.0)),
        ),
        wrong(
            "TOOL_BOUND",
            Degrades,
            clean_job,
            "Worker 1 used 98 % of a CPU at 4,000 I/Os per second: the tool or this host, not the target, may be the \
             limit.",
            || with(|r| r.jobs[0].usage.system = Nanos::from_millis(9_300)),
        ),
        wrong(
            "VERIFY_FAILED",
            Invalidates,
            clean_job,
            "2 of 2,048 checked blocks differ from what was written (first at offset 8192: checksum).",
            || {
                let mut r = verifying(2_048, 2_046, 2);
                event(&mut r, EventKind::FirstMismatch { offset: 8_192, what: "checksum".to_owned() });
                r
            },
        ),
        wrong("VERIFY_NOTHING", Invalidates, clean_job, "Verified 0 of 2,048 blocks, 2,048 skipped.", || {
            verifying(2_048, 0, 0)
        }),
        wrong(
            "ENGINE_FALLBACK",
            Note,
            clean_job,
            "libaio stood in for io_uring: forbidden by sysctl kernel.io_uring_disabled.",
            || {
                with(|r| {
                    r.jobs[0].engine = "libaio".to_owned();
                    r.jobs[0].fallback = Some("forbidden by sysctl kernel.io_uring_disabled".to_owned());
                })
            },
        ),
        wrong(
            "CLOCK_DRIFT",
            Degrades,
            None,
            "The tsc clock drifted 1200 ppm from CLOCK_MONOTONIC during the run (limit 500).",
            || with(|r| r.clock = ClockFacts { source: "tsc".to_owned(), cost_ns: 10.0, drift_ppm: -1200.0 }),
        ),
        wrong(
            "INTERRUPTED",
            Degrades,
            None,
            "The run was interrupted at 10.00 s; I/O in flight was waited for.",
            || with(|r| r.end = RunEnd::Interrupted),
        ),
        wrong(
            "SUMMARY_DISAGREES",
            Invalidates,
            clean_job,
            "The intervals of job 1 hold 40,001 reads, 163,840,000 bytes and 40,000 latencies; its totals 40,000, \
             163,840,000 and 40,000.",
            || with(|r| r.jobs[0].intervals[3].directions[Direction::Read].ios += 1),
        ),
        wrong(
            "VOLATILE_CACHE_NO_FLUSH",
            Note,
            clean_job,
            "40,000 buffered writes completed in memory, without O_SYNC and with no fsync.",
            || writes(|job| job.files.direct = false),
        ),
        wrong(
            "CLONES_OVERLAP",
            Degrades,
            Some("clones"),
            "2 clones go through the same addresses of /data/file in the same order: all but the first may be served \
             by a cache, or merged.",
            sequential_clones,
        ),
        wrong(
            "REPEATED_ADDRESSES",
            Note,
            clean_job,
            "Each byte of the region of 16 MiB was read 9.8 times on average; repeats may come from a cache.",
            || with(|r| r.jobs[0].region = Bytes::from_mib(16)),
        ),
        wrong(
            "FEW_SAMPLES",
            Note,
            clean_job,
            "read clat p99.99 and above rest on fewer than 10 of 40,000 I/Os.",
            || with(|r| r.plan.jobs[0].accounting.percentiles.push(99.99)),
        ),
        // 2 x 156.25 MiB in 10 s, and in 20 s.
        wrong(
            "JOBS_APART",
            Degrades,
            None,
            "The 2 jobs of group 0 did not run together: their total over the longest single run is 31.25 MiB/s, over \
             the 20.00 s they took 15.62 MiB/s.",
            one_after_the_other,
        ),
        // 4,000 and 2,000 per second; mean (3 x 4000 + 2 x 2000) / 5 = 3,200: 2,000 / 3,200 = 62.5 %.
        wrong(
            "NOT_STEADY",
            Note,
            clean_job,
            "Not in steady state: over five equal parts of the run throughput lay between 7.81 MiB/s and 15.62 MiB/s \
             (62 % of the mean).",
            slowing_down,
        ),
        wrong("SOFT_PAYLOAD", Note, clean_job, "The data written was zeros.", || {
            writes(|job| job.payload.fill = Fill::Zeroes)
        }),
    ]
}

fn one_failure(r: &mut Recording) {
    spoil(r, |c| {
        (c.planned, c.failed) = (c.planned + 1, 1);
        (c.bytes_asked, c.bytes_missing) = (c.bytes_asked + 4096, 4096);
    });
    event(r, EventKind::FirstError { direction: Some(Direction::Read), offset: 1_048_576, errno: 5 });
}

fn without(code: &str) -> Vec<Detector> {
    DETECTORS.iter().copied().filter(|d| d.code != code).collect()
}

#[test]
fn every_detector_has_a_scene_here() {
    let scenes: Vec<_> = wrongs().iter().map(|w| w.code).collect();
    for detector in DETECTORS {
        assert!(scenes.contains(&detector.code), "{} has no scene", detector.code);
    }
    assert_eq!(scenes.len(), DETECTORS.len());
}

#[test]
fn each_says_its_sentence() {
    let mut wrong = Vec::new();
    for w in wrongs() {
        let found = findings(&(w.make)()).findings;
        let Some(f) = found.iter().find(|f| f.code == w.code) else { panic!("{} is silent: {found:#?}", w.code) };
        let told = (f.evidence.as_str(), f.weight, f.about.as_deref());
        if told != (w.evidence, w.weight, w.about) || f.advice.is_empty() {
            wrong.push(format!("{}: {told:?}", w.code));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn switched_off_nobody_says_it() {
    for w in wrongs() {
        let found = findings_with(&(w.make)(), &without(w.code)).findings;
        assert!(found.iter().all(|f| f.code != w.code && f.evidence != w.evidence), "{}", w.code);
    }
}

/// One cause, one finding: what else a scene sets off is listed here, with its reason.
#[test]
fn a_scene_sets_off_little_else() {
    // An overflowing latency is beyond fio's last bin as well.
    let also: &[(&str, &[&str])] = &[("HISTOGRAM_OVERFLOW", &["FIO_BINS_CLAMPED"])];
    for w in wrongs() {
        let allowed = also.iter().find(|(code, _)| *code == w.code).map_or(&[][..], |(_, others)| others);
        for f in findings(&(w.make)()).findings {
            assert!(
                f.code == w.code || allowed.contains(&f.code),
                "{} also set off {}: {}",
                w.code,
                f.code,
                f.evidence
            );
        }
    }
}

#[test]
fn a_clean_run_has_no_findings() {
    for recording in [clean(), open_loop(), writes(|_| {}), verifying(2_048, 2_048, 0)] {
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

#[test]
fn a_note_leaves_the_run_valid() {
    let mut r = clean();
    r.plan.jobs[0].accounting.percentiles.push(99.99);
    assert_eq!(findings(&r).verdict, Verdict::Valid);
}

#[test]
fn errors_the_user_asked_to_go_on_after_only_degrade() {
    let mut r = clean();
    one_failure(&mut r);
    r.plan.jobs[0].errors.continue_read = true;
    r.jobs[0].errors_continued = 1;
    let judged = findings(&r);
    assert_eq!(judged.findings.iter().map(|f| f.weight).collect::<Vec<_>>(), [Weight::Degrades]);
    assert_eq!((judged.entries[0].errors_continued, judged.entries[0].error), (Some((1, 5)), 5));
    // An errno named by ignore_error passes without being counted as gone on after.
    r.plan.jobs[0].errors = ErrorPolicy { ignore: [vec![5], Vec::new(), Vec::new()], ..ErrorPolicy::default() };
    r.jobs[0].errors_continued = 0;
    assert_eq!(findings(&r).verdict, Verdict::Degraded);
}

#[test]
fn a_stall_in_a_closed_loop_is_told_once_for_the_run() {
    let mut r = clean();
    let stall = |at, ms| Stall { at: Nanos::from_millis(at), lasted: Nanos::from_millis(ms) };
    // Two watchdogs saw the same second; 20 ms is a scheduler's business.
    r.stalls = vec![stall(2_000, 1_000), stall(2_010, 990), stall(4_000, 20)];
    let judged = findings(&r);
    let f = &judged.findings[0];
    assert_eq!((f.code, f.weight, judged.findings.len()), ("GENERATOR_STALL", Weight::Invalidates, 1));
    assert_eq!(
        f.evidence,
        "The generator was held up 2 times, 1.00 s in all (10 % of the run), for up to 1.00 s at 2.00 s of the run; no \
         I/O was handed over meanwhile."
    );
    r.stalls = vec![stall(2_000, 150)];
    assert_eq!(findings(&r).verdict, Verdict::Degraded);
    r.stalls = vec![stall(4_000, 20)];
    assert_eq!(findings(&r).verdict, Verdict::Valid);
}

#[test]
fn clones_alike_are_told_once_with_their_number() {
    let mut jobs = vec![job("same"); 3];
    jobs.iter_mut().enumerate().for_each(|(i, job)| (job.clone, job.number) = (i as u32, i as u32 + 1));
    let mut r = run_of(jobs);
    (0..3).for_each(|i| fill(&mut r, i, Direction::Read, 40_000, MS));
    (0..3).for_each(|i| r.plan.jobs[i].engine.kind = EngineKind::Psync);
    let judged = findings(&r);
    assert_eq!(judged.findings.len(), 1);
    assert!(judged.findings[0].evidence.ends_with("depth 1. (2 more like this)"), "{}", judged.findings[0].evidence);
}

#[test]
fn a_device_that_reads_itself_as_memory_is_told_for_writes_too() {
    let mut r = writes(|job| {
        job.files.direct = false;
        job.sync.fsync_at_end = true;
    });
    r.disks = vec![disk("vda", (0, 0), (0, 0))];
    let judged = findings(&r);
    assert_eq!(judged.findings[0].code, "PAGE_CACHE");
    assert_eq!(
        judged.findings[0].evidence,
        "100 % of the written bytes stayed in memory: the devices saw 0 bytes of 156.25 MiB."
    );
}

#[test]
fn the_same_recording_gives_the_same_findings_byte_for_byte() {
    for w in wrongs() {
        let text = || format!("{:?}", findings(&(w.make)()));
        assert_eq!(text(), text());
    }
}

/// Just inside every threshold: what a healthy but imperfect run looks like must not be called degraded.
#[test]
fn thresholds_leave_room_for_healthy_runs() {
    type Change = fn(&mut Recording);
    let changes: &[Change] = &[
        |r| r.host.steal_percent = Some(0.5),
        |r| r.host.steal_percent = None,
        |r| r.host.cpu_throttles = None,
        |r| r.clock.drift_ppm = 400.0,
        |r| r.host.busy_percent = Some(89.0),
        |r| r.jobs[0].usage.system = Nanos::from_secs(8),
        |r| r.stalls = vec![Stall { at: Nanos::from_secs(1), lasted: Nanos::from_millis(99) }],
        |r| (r.plan.jobs[0].queue.depth, r.plan.jobs[0].queue.low) = (8, 8),
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
fn a_closed_loop_that_rests_or_flushes_need_not_fill_its_queue() {
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
    Think { time, spin, blocks: 1, by_issue: false, io_time }
}

#[test]
fn a_full_target_is_the_aim_of_fill_device() {
    let mut r = writes(|job| job.files.layout.fill_device = true);
    let c = &mut r.jobs[0].directions[Direction::Write].counts;
    (c.planned, c.failed, c.bytes_asked, c.bytes_missing) = (c.planned + 4, 4, c.bytes_asked + 4 * 4096, 4 * 4096);
    assert_eq!(findings(&r).findings, []);
}

#[test]
fn a_dead_worker_is_told_once() {
    let mut r = run_of(vec![job("clean")]);
    let at = Nanos::from_secs(1);
    let dead = &mut r.jobs[0];
    (dead.launched, dead.measured_from, dead.ended) = (at, at, at);
    dead.intervals.clear();
    dead.error = Some(JobError { errno: 5, what: "the worker died: it panicked".to_owned(), at });
    event(&mut r, EventKind::WorkerDied { why: "it panicked".to_owned() });
    let codes: Vec<_> = findings(&r).findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["WORKER_DIED"]);
}

#[test]
fn a_job_that_could_not_start_is_told_once() {
    let mut r = run_of(vec![job("clean")]);
    let what = "cannot open /data/file".to_owned();
    r.jobs[0].error = Some(JobError { errno: 2, what, at: Nanos::ZERO });
    r.jobs[0].ended = Nanos::ZERO;
    let judged = findings(&r);
    assert_eq!(judged.findings.len(), 1);
    let f = &judged.findings[0];
    assert_eq!((f.code, f.weight), ("IO_ERROR", Weight::Invalidates));
    assert_eq!(f.evidence, "The job failed: cannot open /data/file (No such file or directory).");
}

#[test]
fn an_error_ends_a_timed_job_early() {
    let mut r = clean();
    one_failure(&mut r);
    r.plan.jobs[0].limits.runtime = Some(Nanos::from_secs(60));
    let what = "read of 4096 bytes at offset 1048576 failed".to_owned();
    r.jobs[0].error = Some(JobError { errno: 5, what, at: Nanos::from_secs(10) });
    let found = findings(&r).findings;
    assert_eq!(found.iter().map(|f| f.code).collect::<Vec<_>>(), ["IO_ERROR", "RAN_SHORT"]);
    assert!(found[1].evidence.ends_with("asked for: read of 4096 bytes at offset 1048576 failed."));
    // Others that were told to end with it did not run short by themselves.
    r.jobs[0].error = None;
    r.plan.jobs[0].exit.exit_all = true;
    assert!(findings(&r).findings.iter().all(|f| f.code != "RAN_SHORT"));
}

#[test]
fn a_poisson_shortfall_within_chance_is_none() {
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
        "Asked for 1.56 MiB of reads per second, achieved 800 KiB (50 %) over 10.00 s; 0 were due but never handed \
         over."
    );
}

#[test]
fn nothing_at_all_is_judged_without_panic() {
    let empty = findings(&run_of(Vec::new()));
    assert_eq!((empty.entries.len(), empty.groups.len(), empty.findings.len()), (0, 0, 0));
    let mut r = run_of(vec![job("clean")]);
    r.elapsed = Nanos::ZERO;
    r.jobs[0] = JobRecording { ended: Nanos::ZERO, intervals: Vec::new(), ..idle(&job("clean")) };
    r.disks = vec![disk("vda", (0, 0), (0, 0))];
    assert_eq!(findings(&r).findings[0].code, "NOTHING_DONE");
}
