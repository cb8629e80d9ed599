//! Complete runs on a host in memory: what was planned, what happened, and that the two agree.

use std::sync::Arc;

use fathom_model::*;

use crate::States;
use crate::engine::Op;
use crate::testing::{FakeHost, Rule, job, plan, run_on, run_plan, run_watched};

const RANDOM: Access = Access::Random {
    every: 1,
    identical: false,
};
const SEQUENTIAL: Access = Access::Sequential { skip: 0 };

fn deep(mut job: Job, depth: u32) -> Job {
    job.queue = Queue {
        depth,
        batch_submit: depth,
        batch_complete_min: 1,
        batch_complete_max: depth,
        low: depth,
    };
    job
}

fn faked(mut job: Job) -> Job {
    job.engine.kind = EngineKind::Psync;
    job
}

fn one(job: Job) -> JobRecording {
    let (recording, _) = run_on(Arc::new(FakeHost::new(|_, _| None)), vec![job]);
    recording.jobs.into_iter().next().expect("one job")
}

fn assert_balanced(job: &JobRecording) {
    for (direction, d) in job.directions.iter() {
        assert!(d.counts.balanced(), "{direction:?}: {:?}", d.counts);
        assert!(job.warmup[direction].balanced());
        let ios: u64 = job
            .intervals
            .iter()
            .map(|i| i.directions[direction].ios)
            .sum();
        assert_eq!(ios, d.counts.ok);
    }
}

#[test]
fn a_pass_at_any_depth_does_every_block_once_and_balances() {
    for depth in [1, 3, 32, 500] {
        let done = one(deep(job(Traffic::Read, RANDOM), depth));
        let reads = &done.directions[Direction::Read];
        assert_eq!(
            (reads.counts.planned, reads.counts.ok, reads.counts.bytes_ok),
            (256, 256, 1 << 20)
        );
        assert_eq!((reads.clat.count(), reads.lat.count()), (256, 256));
        assert_balanced(&done);
        assert!(done.error.is_none());
    }
}

#[test]
fn slat_and_clat_add_up_to_lat_exactly() {
    let jobs = || {
        vec![deep(
            job(Traffic::ReadWrite { read_percent: 50 }, RANDOM),
            8,
        )]
    };
    let done = as_fio(FakeHost::new(|_, _| None), jobs());
    for d in [Direction::Read, Direction::Write] {
        let d = &done.directions[d];
        assert_eq!(d.slat.sum() + d.clat.sum(), d.lat.sum());
        assert_eq!(
            (d.slat.count(), d.clat.count()),
            (d.lat.count(), d.lat.count())
        );
    }
    // In `fathom run` clat begins before the submission.
    let done = one(jobs().remove(0));
    let d = &done.directions[Direction::Read];
    assert_eq!((d.clat.sum(), d.clat.min()), (d.lat.sum(), d.lat.min()));
}

/// The recording of jobs in the personality of fio.
fn as_fio(host: FakeHost, jobs: Vec<Job>) -> JobRecording {
    let plan = Plan {
        personality: Personality::Fio,
        ..plan(jobs)
    };
    let (recording, _) = run_plan(Arc::new(host), plan);
    recording.jobs.into_iter().next().expect("one job")
}

/// One block over and over: every I/O overlaps every other, so that the effective queue depth is 1.
#[test]
fn overlapping_io_is_serialised_on_request() {
    let sequence = Distribution::Sequence {
        blocks: vec![3],
        advances: false,
    };
    let mut deep = deep(job(Traffic::Write, RANDOM), 8);
    deep.pattern.distribution = PerDirection::all(sequence);
    deep.pattern.without_replacement = false;
    let free = one(deep.clone());
    assert!(
        free.depth_levels[1..].iter().sum::<u64>() > 0,
        "{:?}",
        free.depth_levels
    );
    deep.pace.serialize_overlap = true;
    let apart = one(deep.clone());
    assert_eq!(
        apart.depth_levels[1..].iter().sum::<u64>(),
        0,
        "{:?}",
        apart.depth_levels
    );
    assert_eq!(apart.directions[Direction::Write].counts.ok, 256);
    // I/O that overlaps nothing in flight is not held back.
    deep.pattern.distribution = PerDirection::all(Distribution::Sequence {
        blocks: (0..64).collect(),
        advances: false,
    });
    assert!(one(deep).depth_levels[1..].iter().sum::<u64>() > 0);
}

/// Regression 0028: a common submission time for a whole batch gave its first I/Os almost no
/// service time.
#[test]
fn each_io_of_a_batch_has_its_own_submission_latency() {
    let mut job = deep(job(Traffic::Read, SEQUENTIAL), 8);
    job.files.size = Extent::Bytes(Bytes::new(8 * 4096));
    let slow = FakeHost::new(|_, _| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        None
    });
    let done = as_fio(slow, vec![faked(job)]);
    let reads = &done.directions[Direction::Read];
    // Eight submissions of 2 ms: the first waited 2 ms, the last 16; the rest of the 16 ms is
    // service time.
    let (least, most) = (
        reads.slat.min().expect("eight"),
        reads.slat.max().expect("eight"),
    );
    assert!(
        least >= Nanos::from_millis(2) && most >= Nanos::from_millis(16) && most > least * 7,
        "{least:?} {most:?}"
    );
    assert!(reads.clat.max().expect("eight") >= Nanos::from_millis(14));
    assert_eq!(reads.slat.sum() + reads.clat.sum(), reads.lat.sum());
}

#[test]
fn short_and_failed_ios_are_counted_separately_and_the_first_error_ends_the_job() {
    let host = FakeHost::new(|n, _| match n {
        3 => Some(512),
        9 => Some(-5),
        _ => None,
    });
    let (recording, _) = run_on(Arc::new(host), vec![faked(job(Traffic::Read, SEQUENTIAL))]);
    let done = &recording.jobs[0];
    let counts = done.directions[Direction::Read].counts;
    assert_eq!(
        (counts.ok, counts.short, counts.failed, counts.planned),
        (8, 1, 1, 10)
    );
    assert_eq!(
        (counts.bytes_short, counts.bytes_missing),
        (512, 3584 + 4096)
    );
    assert_eq!(done.error.as_ref().map(|e| e.errno), Some(5));
    assert!(
        done.error
            .as_ref()
            .is_some_and(|e| e.operation.contains("offset 36864"))
    );
    assert_balanced(done);
}

/// The first and the last block of a file are no exception.
#[test]
fn a_failed_io_is_an_error_at_every_place_of_a_file() {
    let rules: [(u64, Rule); 3] = [
        (0, |_, r| (r.offset == 0).then_some(-5)),
        (1, |_, r| (r.offset == 4096).then_some(-5)),
        (255, |_, r| (r.offset == 255 * 4096).then_some(-5)),
    ];
    for (block, rule) in rules {
        for traffic in [Traffic::Read, Traffic::Write] {
            let host = Arc::new(FakeHost::new(rule));
            let (recording, _) = run_on(host, vec![faked(job(traffic, SEQUENTIAL))]);
            let done = &recording.jobs[0];
            let error = done.error.as_ref().expect("an error");
            assert_eq!(error.errno, 5, "{traffic:?}, block {block}");
            let place = format!("at offset {} of test.0.0 failed", block * 4096);
            assert!(error.operation.ends_with(&place), "{}", error.operation);
            let sum: u64 = done.directions.iter().map(|(_, d)| d.counts.ok).sum();
            assert_eq!(sum, block);
        }
    }
}

#[test]
fn continue_on_error_continues_and_counts() {
    let mut job = faked(deep(job(Traffic::Write, RANDOM), 4));
    job.errors.continue_write = true;
    let host = FakeHost::new(|n, _| (n % 10 == 0).then_some(-5));
    let (recording, _) = run_on(Arc::new(host), vec![job]);
    let done = &recording.jobs[0];
    assert_eq!(
        (
            done.errors_continued,
            done.directions[Direction::Write].counts.failed
        ),
        (26, 26)
    );
    assert!(done.error.is_none());
    assert_balanced(done);
}

#[test]
fn a_read_beyond_the_end_of_a_shrunken_file_is_an_error() {
    let host = Arc::new(FakeHost::new(|n, _| (n >= 5).then_some(0)));
    let shrinking = Arc::clone(&host);
    // The rule returns 0 from the sixth read on; the file itself is cut when the loop asks for its
    // size.
    shrinking
        .files
        .lock()
        .expect("not poisoned")
        .insert("test.0.0".into(), vec![0; 1 << 20]);
    let mut job = faked(job(Traffic::Read, SEQUENTIAL));
    job.files.size = Extent::Whole;
    let (recording, _) = run_on(host, vec![job]);
    assert_eq!(recording.jobs[0].error.as_ref().map(|e| e.errno), Some(5));
    assert_eq!(
        recording.jobs[0].directions[Direction::Read].counts.short,
        1
    );
}

#[test]
fn written_blocks_are_read_back_and_a_lost_write_is_found() {
    let checked = Verify::with(VerifyKind::Crc32c);
    for (lost, bad) in [(None, 0), (Some(40), 1)] {
        let host = match lost {
            None => FakeHost::new(|_, _| None),
            // Acknowledged, but never done.
            Some(_) => FakeHost::new(|n, r| (n == 40 && r.op == Op::Write).then_some(4096)),
        };
        for access in [SEQUENTIAL, RANDOM] {
            let host = Arc::new(FakeHost::new(host.rule));
            let mut job = faked(deep(job(Traffic::Write, access), 7));
            job.verify = Some(checked.clone());
            let (recording, _) = run_on(Arc::clone(&host), vec![job]);
            let done = &recording.jobs[0];
            assert_eq!(
                (done.verify.planned, done.verify.good, done.verify.bad),
                (256, 256 - bad, bad),
                "{access:?}"
            );
            assert_eq!(
                done.error.as_ref().map(|e| e.errno),
                (bad > 0).then_some(84)
            );
            assert_eq!(done.directions[Direction::Read].counts.ok, 256);
            assert_balanced(done);
        }
    }
}

/// Regression 0061: the writes of a job that io_size or number_ios ended within a pass were not
/// verified.
#[test]
fn an_amount_that_ends_within_a_pass_is_verified() {
    for kind in [VerifyKind::Crc32c, VerifyKind::Fathom] {
        let mut job = faked(job(Traffic::Write, RANDOM));
        job.limits.ios = Some(40);
        job.verify = Some(Verify::with(kind));
        let (recording, _) = run_on(Arc::new(FakeHost::new(|_, _| None)), vec![job]);
        assert_eq!(
            (
                recording.jobs[0].verify.planned,
                recording.jobs[0].verify.good
            ),
            (40, 40),
            "{kind:?}"
        );
    }
}

/// Regressions 0062 and 0063: blocks that were never written were read and reported as wrong.
#[test]
fn an_identical_job_verifies_what_a_job_wrote() {
    for (traffic, only) in [
        (Traffic::Read, false),
        (Traffic::Write, true),
        (Traffic::ReadWrite { read_percent: 50 }, true),
    ] {
        let host = Arc::new(FakeHost::new(|_, _| None));
        let writes = if only { traffic } else { Traffic::Write };
        for (traffic, only) in [(writes, false), (traffic, only)] {
            let mut job = faked(job(traffic, RANDOM));
            job.pattern.without_replacement = false;
            job.limits.ios = Some(60);
            job.verify = Some(Verify {
                only,
                after_writes: false,
                ..Verify::with(VerifyKind::Fathom)
            });
            let (recording, _) = run_on(Arc::clone(&host), vec![job]);
            let done = &recording.jobs[0];
            assert_eq!(done.verify.bad, 0, "{traffic:?} {only}");
            assert!(
                done.verify.good > 20 || traffic == writes && !only,
                "{traffic:?} {only}: {:?}",
                done.verify
            );
        }
    }
}

/// The last write of each block that `host` has seen, as its number among all requests.
fn last_writes(host: &FakeHost) -> std::collections::BTreeMap<u64, u64> {
    let seen = host.seen.lock().expect("not poisoned");
    let writes = (0..).zip(seen.iter()).filter(|(_, r)| r.op == Op::Write);
    writes.map(|(n, r)| (r.offset, n)).collect()
}

/// Regression 0324: fio's checksums were compared with themselves only where blocks are written more
/// than once, so that a block with an older write in it passed: 102 of 181 lost overwrites were
/// found.
#[test]
fn every_lost_overwrite_is_found_by_every_method() {
    let lost = |n: u64, r: &crate::engine::Request| {
        ((500..600).contains(&n) && r.op == Op::Write).then(|| i64::from(r.len))
    };
    for kind in [
        VerifyKind::Crc32c,
        VerifyKind::Md5,
        VerifyKind::Xxhash,
        VerifyKind::Sha256,
        VerifyKind::Fathom,
    ] {
        for depth in [1, 8] {
            let host = Arc::new(FakeHost::new(lost));
            let mut job = faked(deep(job(Traffic::Write, RANDOM), depth));
            job.pattern.without_replacement = false;
            job.limits.io_size = Some(Extent::Bytes(Bytes::new(600 * 4096)));
            job.errors.continue_verify = true;
            job.verify = Some(Verify::with(kind));
            let (recording, _) = run_on(Arc::clone(&host), vec![job]);
            let verify = recording.jobs[0].verify;
            let last = last_writes(&host);
            let wrong = last.values().filter(|n| (500..600).contains(*n)).count() as u64;
            assert!(wrong > 30, "{wrong}");
            // Each block is read back once.
            assert_eq!(
                (verify.bad, verify.good, verify.unknown),
                (wrong, last.len() as u64 - wrong, 0),
                "{kind:?} at depth {depth}"
            );
        }
    }
}

/// Regression 0324: of a write that a later one covers in part, the rest is checked as far as it
/// has headers of its own.
#[test]
fn writes_of_several_sizes_that_overlap_are_verified_once() {
    for (interval, align) in [(4096, 0), (0, 0), (4096, 2048), (0, 100)] {
        let host = Arc::new(FakeHost::new(|_, _| None));
        let mut job = faked(deep(job(Traffic::Write, RANDOM), 4));
        let sizes = BlockSizes::Split(vec![(4096, 50.0), (8192, 50.0)]);
        job.pattern.block_size = PerDirection::all(sizes);
        job.pattern.block_align = PerDirection::all(Bytes::new(align));
        job.pattern.without_replacement = false;
        job.limits.io_size = Some(Extent::Bytes(Bytes::from_mib(2)));
        job.verify = Some(Verify {
            interval,
            ..Verify::with(VerifyKind::Crc32c)
        });
        let (recording, _) = run_on(host, vec![job]);
        let verify = recording.jobs[0].verify;
        assert_eq!(verify.bad, 0, "interval {interval}, align {align}");
        assert!(verify.good > 50 && verify.bytes <= 1 << 20, "{verify:?}");
    }
}

/// Regression 0325: a job that starts over until its time ends checked its last pass, and a mixed one
/// only those of its blocks that the last two passes had written.
#[test]
fn everything_that_a_time_based_job_wrote_is_verified() {
    let lost = |n: u64, r: &crate::engine::Request| {
        (n % 97 == 5 && r.op == Op::Write).then(|| i64::from(r.len))
    };
    for (traffic, kind) in [
        (Traffic::Write, VerifyKind::Crc32c),
        (Traffic::ReadWrite { read_percent: 50 }, VerifyKind::Crc32c),
        (Traffic::Write, VerifyKind::Fathom),
        (Traffic::ReadWrite { read_percent: 50 }, VerifyKind::Fathom),
    ] {
        let host = Arc::new(FakeHost::new(|_, _| None));
        let mut job = faked(deep(job(traffic, RANDOM), 4));
        job.limits.time_based = true;
        job.limits.runtime = Some(Nanos::from_millis(60));
        job.errors.continue_verify = true;
        job.verify = Some(Verify::with(kind));
        let (recording, _) = run_on(Arc::clone(&host), vec![job.clone()]);
        let done = &recording.jobs[0];
        let (checked, written) = (
            done.verify.good,
            done.directions[Direction::Write].counts.ok,
        );
        assert!(written > 512, "{written}: not a second pass");
        match kind {
            // Every write.
            VerifyKind::Crc32c => assert_eq!(checked, written, "{traffic:?}"),
            // Every block, at the end.
            _ => assert_eq!(checked, last_writes(&host).len() as u64, "{traffic:?}"),
        }
        assert!(done.verify.time > Nanos::ZERO);
        if kind == VerifyKind::Fathom {
            let host = Arc::new(FakeHost::new(lost));
            let (recording, _) = run_on(Arc::clone(&host), vec![job]);
            let last = last_writes(&host);
            let wrong = last.values().filter(|n| **n % 97 == 5).count() as u64;
            assert_eq!(recording.jobs[0].verify.bad, wrong, "{traffic:?}");
        }
    }
}

/// The first and the last blocks of a file are checked like those between them.
#[test]
fn a_wrong_block_is_found_at_every_place_of_a_file() {
    for kind in [VerifyKind::Crc32c, VerifyKind::Fathom] {
        for block in [0, 1, 128, 254, 255] {
            let host = Arc::new(FakeHost::new(|_, _| None));
            let run = |only| {
                let mut job = faked(deep(job(Traffic::Write, SEQUENTIAL), 4));
                job.verify = Some(Verify {
                    only,
                    after_writes: false,
                    ..Verify::with(kind)
                });
                let (recording, _) = run_on(Arc::clone(&host), vec![job]);
                recording.jobs[0].verify
            };
            run(false);
            let mut files = host.files.lock().expect("not poisoned");
            let file = files.values_mut().next().expect("a file");
            file[block * 4096 + 700] ^= 1;
            drop(files);
            let found = run(true);
            assert_eq!(
                (found.planned, found.good, found.bad),
                (256, 255, 1),
                "{kind:?}, block {block}"
            );
        }
    }
}

/// Regression 0326: a job that only checks ended at the first wrong block without a word about the
/// rest.
#[test]
fn a_verify_only_job_reads_on_after_a_wrong_block() {
    for (kind, fatal) in [
        (VerifyKind::Crc32c, false),
        (VerifyKind::Fathom, false),
        (VerifyKind::Crc32c, true),
    ] {
        let host = Arc::new(FakeHost::new(|_, _| None));
        for only in [false, true] {
            let mut job = faked(job(Traffic::Write, SEQUENTIAL));
            job.verify = Some(Verify {
                only,
                fatal,
                after_writes: false,
                ..Verify::with(kind)
            });
            let (recording, _) = run_on(Arc::clone(&host), vec![job]);
            if !only {
                let mut files = host.files.lock().expect("not poisoned");
                let file = files.values_mut().next().expect("a file");
                (file[3 * 4096 + 700], file[200 * 4096 + 700]) = (1, 2);
                (file[3 * 4096 + 701], file[200 * 4096 + 701]) = (3, 4);
                continue;
            }
            let done = &recording.jobs[0];
            let expected = if fatal { (4, 3, 1) } else { (256, 254, 2) };
            assert_eq!(
                (done.verify.planned, done.verify.good, done.verify.bad),
                expected,
                "{kind:?}"
            );
            assert_eq!(done.error.as_ref().map(|error| error.errno), Some(84));
        }
    }
}

/// Regression 0327: the page cache was dropped before the first pass only, so that later passes of a
/// buffered job measured memory.
#[test]
fn the_page_cache_is_dropped_before_every_pass() {
    let mib = Extent::Bytes(Bytes::from_mib(1));
    let changes: [(&str, fn(&mut Job), usize); 6] = [
        ("loops", |job| job.limits.loops = 3, 3),
        (
            "io_size",
            |job| job.limits.io_size = Some(Extent::Bytes(Bytes::from_mib(4))),
            4,
        ),
        (
            "direct",
            |job| (job.limits.loops, job.files.direct) = (3, true),
            1,
        ),
        (
            "invalidate=0",
            |job| (job.limits.loops, job.files.layout.invalidate) = (3, false),
            0,
        ),
        ("one pass", |_| (), 1),
        (
            "verified",
            |job| {
                job.limits.loops = 2;
                job.pattern.traffic = Traffic::Write;
                job.verify = Some(Verify::with(VerifyKind::Crc32c));
            },
            2,
        ),
    ];
    for (what, change, drops) in changes {
        for (depth, access) in [(1, SEQUENTIAL), (8, RANDOM)] {
            let host = Arc::new(FakeHost::new(|_, _| None));
            let mut job = faked(deep(job(Traffic::Read, access), depth));
            job.files.size = mib;
            job.files.layout.invalidate = true;
            change(&mut job);
            let ios = job.limits.loops * 256 * if what == "io_size" { 4 } else { 1 };
            let direction = if what == "verified" {
                Direction::Write
            } else {
                Direction::Read
            };
            let (recording, _) = run_on(Arc::clone(&host), vec![job]);
            let done = &recording.jobs[0];
            assert_eq!(done.directions[direction].counts.ok, ios, "{what}");
            let dropped = host.drops.load(std::sync::atomic::Ordering::Relaxed);
            assert_eq!(dropped, drops, "{what} at depth {depth}");
            assert_balanced(done);
        }
    }
}

/// Regression 0328: a job that ended by its amount before the end of its warm-up reported nothing.
#[test]
fn a_job_that_ends_within_its_warm_up_reports_what_it_did() {
    for depth in [1, 8] {
        let mut job = deep(job(Traffic::Read, RANDOM), depth);
        job.limits.ramp = Nanos::from_secs(20);
        let done = one(job);
        let reads = &done.directions[Direction::Read];
        assert_eq!((reads.counts.ok, reads.clat.count()), (256, 256));
        assert_eq!(done.warmup[Direction::Read].ok, 0);
        assert_balanced(&done);
    }
}

/// Regression 0334: with `bs_is_seq_rand` random reads have the size of writes, and did not fit into
/// buffers of the size of reads.
#[test]
fn buffers_fit_the_sizes_of_random_reads() {
    let mut job = faked(job(Traffic::Read, RANDOM));
    job.pattern.sizes_by_access = true;
    job.pattern.block_size[Direction::Write] = BlockSizes::Fixed(8192);
    let done = one(job);
    assert!(done.error.is_none(), "{:?}", done.error);
    let counts = &done.directions[Direction::Read].counts;
    assert_eq!((counts.ok, counts.bytes_ok), (128, 1 << 20));
}

/// Regression 0130: the time for writing the verify header of a block was counted as latency of its
/// write. A SHA-512 over a MiB takes half a millisecond at two GB/s, which no processor reaches;
/// the null engine takes almost nothing.
#[test]
fn stamping_time_is_not_part_of_any_latency() {
    for depth in [1, 2] {
        let mut job = deep(job(Traffic::Write, SEQUENTIAL), depth);
        job.pattern.block_size = PerDirection::all(BlockSizes::Fixed(1 << 20));
        job.files.size = Extent::Bytes(Bytes::from_mib(32));
        job.verify = Some(Verify {
            after_writes: false,
            ..Verify::with(VerifyKind::Sha512)
        });
        let done = one(job);
        let writes = &done.directions[Direction::Write];
        assert_eq!(writes.counts.ok, 32);
        let least = writes
            .lat
            .min()
            .or(writes.clat.min())
            .expect("32 were recorded");
        assert!(least < Nanos::from_micros(300), "depth {depth}: {least:?}");
    }
}

/// Regression 0131: verified reads were not counted as blocks to verify: "0 blocks to verify: 16
/// right".
#[test]
fn verified_reads_count_as_blocks_to_verify() {
    let failing =
        |n: u64, r: &crate::engine::Request| (n == 60 + 7 && r.op == Op::Read).then_some(-5);
    for (kind, depth) in [(VerifyKind::Crc32c, 1), (VerifyKind::Fathom, 4)] {
        let host = Arc::new(FakeHost::new(failing));
        for traffic in [Traffic::Write, Traffic::Read] {
            let mut job = faked(deep(job(traffic, SEQUENTIAL), depth));
            job.limits.ios = Some(60);
            job.errors.continue_read = true;
            job.verify = Some(Verify {
                after_writes: false,
                ..Verify::with(kind)
            });
            let (recording, _) = run_on(Arc::clone(&host), vec![job]);
            let done = &recording.jobs[0];
            let failed = done.directions[Direction::Read].counts.failed;
            let expected = if traffic == Traffic::Read {
                (60, 60 - failed)
            } else {
                (0, 0)
            };
            assert_eq!(
                (done.verify.planned, done.verify.good),
                expected,
                "{kind:?} {traffic:?}"
            );
        }
    }
}

#[test]
fn a_backlog_verifies_during_the_run() {
    let mut job = faked(job(Traffic::ReadWrite { read_percent: 50 }, SEQUENTIAL));
    job.verify = Some(Verify {
        fatal: true,
        backlog: 1,
        ..Verify::with(VerifyKind::Md5)
    });
    let host = Arc::new(FakeHost::new(|_, _| None));
    let (recording, _) = run_on(Arc::clone(&host), vec![job]);
    let done = &recording.jobs[0];
    let (reads, writes) = (
        done.directions[Direction::Read].counts.ok,
        done.directions[Direction::Write].counts.ok,
    );
    assert_eq!(
        reads, 256,
        "every I/O was a read, or a write that was read back"
    );
    assert_eq!(done.verify.good, writes);
    let seen = host.seen.lock().expect("not poisoned");
    let first_write = seen
        .iter()
        .position(|r| r.op == Op::Write)
        .expect("half are writes");
    assert_eq!(
        (seen[first_write + 1].op, seen[first_write + 1].offset),
        (Op::Read, seen[first_write].offset)
    );
}

#[test]
fn each_trim_is_followed_by_a_write_of_its_range() {
    let host = Arc::new(FakeHost::new(|_, _| None));
    let job = faked(job(Traffic::TrimWrite, RANDOM));
    let (recording, _) = run_on(Arc::clone(&host), vec![job]);
    let seen = host.seen.lock().expect("not poisoned");
    assert_eq!(seen.len(), 512);
    for pair in seen.chunks(2) {
        assert_eq!((pair[0].op, pair[1].op), (Op::Trim, Op::Write));
        assert_eq!((pair[0].offset, pair[0].len), (pair[1].offset, pair[1].len));
    }
    assert_balanced(&recording.jobs[0]);
}

#[test]
fn an_open_loop_keeps_its_rate_and_measures_from_the_due_time() {
    let mut job = job(Traffic::Read, RANDOM);
    job.pace.rate = PerDirection::all(Some(Rate::Iops(2000.0)));
    job.limits.runtime = Some(Nanos::from_millis(500));
    job.limits.time_based = true;
    let done = one(job);
    let reads = &done.directions[Direction::Read];
    // The schedule itself is exact; I/Os that a busy machine does not submit in time are counted as
    // not sent.
    assert!(
        (999..=1001).contains(&reads.counts.planned),
        "{}",
        reads.counts.planned
    );
    assert_eq!(reads.response.count(), reads.counts.ok);
    assert!(reads.response.sum() >= reads.lateness.sum());
    assert_balanced(&done);
}

/// Regression 0321: a sync took the due time of an I/O, so that half of a planned rate was syncs.
#[test]
fn syncs_do_not_use_up_a_planned_rate() {
    for (fsync_every, fdatasync_every, depth) in [(0, 1, 1), (2, 0, 1), (0, 3, 8), (1, 2, 4)] {
        let mut job = deep(job(Traffic::Write, RANDOM), depth);
        job.sync.fsync_every = fsync_every;
        job.sync.fdatasync_every = fdatasync_every;
        job.pace.rate = PerDirection::all(Some(Rate::Iops(2000.0)));
        job.limits.runtime = Some(Nanos::from_millis(250));
        job.limits.time_based = true;
        let done = one(job);
        let counts = &done.directions[Direction::Write].counts;
        assert!(
            (499..=501).contains(&counts.planned),
            "fsync={fsync_every} fdatasync={fdatasync_every}: {}",
            counts.planned
        );
        assert_balanced(&done);
    }
}

/// Regression 0322: in a mix the slowest direction set the pace of both, and a bandwidth was an
/// estimate from the mean block size.
#[test]
fn each_direction_of_a_mix_keeps_its_rate() {
    let iops = |ios| Some(Rate::Iops(ios));
    let bytes = |bytes| Some(Rate::Bandwidth(bytes));
    let split = BlockSizes::Split(vec![(4096, 50.0), (8192, 50.0)]);
    for (read_percent, read, write, sizes) in [
        (70, iops(1000.0), iops(1000.0), None),
        (50, iops(1000.0), iops(250.0), None),
        (50, bytes(4096e3), bytes(1024e3), None),
        (30, bytes(6144e3), iops(300.0), Some(split)),
        (50, None, iops(400.0), None),
        (20, iops(400.0), None, None),
    ] {
        for (depth, access) in [(1, RANDOM), (8, SEQUENTIAL)] {
            let mut job = deep(job(Traffic::ReadWrite { read_percent }, access), depth);
            if let Some(sizes) = &sizes {
                job.pattern.block_size = PerDirection::all(sizes.clone());
            }
            job.pace.rate[Direction::Read] = read;
            job.pace.rate[Direction::Write] = write;
            // A rate of a direction that the job does not use.
            job.pace.rate[Direction::Trim] = iops(77.0);
            job.limits.runtime = Some(Nanos::from_millis(400));
            job.limits.time_based = true;
            let done = one(job);
            for (direction, rate) in [(Direction::Read, read), (Direction::Write, write)] {
                let counts = &done.directions[direction].counts;
                // The bytes of I/Os that a busy machine did not send are in no count.
                let (planned, wanted, most) = match rate {
                    Some(Rate::Iops(ios)) => (counts.planned, ios * 0.4, 1.0),
                    Some(Rate::Bandwidth(bytes)) => (
                        counts.bytes_requested,
                        bytes * 0.4,
                        8192.0 * (1 + counts.not_sent) as f64,
                    ),
                    None => {
                        assert!(counts.ok > 1000, "{direction:?}: {counts:?}");
                        continue;
                    }
                };
                assert!(
                    (planned as f64 - wanted).abs() <= most,
                    "{read:?} {write:?}, {direction:?}: {planned}, not {wanted}"
                );
            }
            assert_balanced(&done);
        }
    }
}

/// Regression 0323: the directions of a mix with rates depend on the clock, and are repeated
/// exactly when what was written is read back.
#[test]
fn a_mix_with_rates_is_verified() {
    for (kind, read, write) in [
        (VerifyKind::Fathom, None, Some(Rate::Iops(300.0))),
        (
            VerifyKind::Crc32c,
            Some(Rate::Iops(900.0)),
            Some(Rate::Iops(300.0)),
        ),
    ] {
        let mut job = faked(deep(
            job(Traffic::ReadWrite { read_percent: 50 }, RANDOM),
            4,
        ));
        job.verify = Some(Verify::with(kind));
        job.pace.rate[Direction::Read] = read;
        job.pace.rate[Direction::Write] = write;
        let done = one(job);
        assert!(done.error.is_none(), "{:?}", done.error);
        assert!(done.verify.planned > 0 && done.verify.bad == 0);
        assert_eq!(
            done.verify.good,
            done.directions[Direction::Write].counts.ok
        );
    }
}

#[test]
fn a_pause_follows_every_few_ios() {
    let mut job = deep(job(Traffic::Read, RANDOM), 4);
    let think = Think {
        time: Nanos::from_millis(5),
        spin: Nanos::ZERO,
        blocks: 10,
        by_issue: false,
        io_time: Nanos::ZERO,
        ignored_by_rate: false,
    };
    job.pace.think = Some(think);
    job.limits.ios = Some(100);
    let done = one(job);
    assert_eq!(done.directions[Direction::Read].counts.ok, 100);
    // Ten pauses, of which the last need not be waited for; without them this takes microseconds.
    let took = (done.ended - done.launched).as_millis();
    assert!(took >= 45, "{took} ms");
    assert_balanced(&done);
}

#[test]
fn a_warm_up_is_counted_separately() {
    let mut job = job(Traffic::Read, RANDOM);
    job.limits.runtime = Some(Nanos::from_millis(60));
    job.limits.ramp = Nanos::from_millis(60);
    job.limits.time_based = true;
    let done = one(job);
    assert!(done.warmup[Direction::Read].ok > 0 && done.directions[Direction::Read].counts.ok > 0);
    assert_eq!(done.measured_from - done.launched, Nanos::from_millis(60));
    assert_balanced(&done);
}

#[test]
fn loops_io_size_and_number_ios_limit_the_job() {
    let with = |change: fn(&mut Job)| {
        let mut job = deep(job(Traffic::Read, RANDOM), 4);
        change(&mut job);
        one(job).directions[Direction::Read].counts.ok
    };
    assert_eq!(with(|job| job.limits.loops = 3), 768);
    assert_eq!(
        with(|job| job.limits.io_size = Some(Extent::Bytes(Bytes::from_mib(2)))),
        512
    );
    assert_eq!(
        with(|job| job.limits.io_size = Some(Extent::Bytes(Bytes::from_kib(64)))),
        16
    );
    assert_eq!(with(|job| job.limits.ios = Some(10)), 10);
}

#[test]
fn jobs_behind_a_stonewall_start_after_the_others_have_ended() {
    let mut first = job(Traffic::Read, RANDOM);
    first.limits.runtime = Some(Nanos::from_millis(50));
    first.limits.time_based = true;
    let mut second = job(Traffic::Read, RANDOM);
    second.start.after_all_before = true;
    let (recording, _) = run_on(Arc::new(FakeHost::new(|_, _| None)), vec![first, second]);
    assert!(recording.jobs[1].launched >= recording.jobs[0].ended);
}

/// Regression 1461: a job was shown as done before its recording had arrived, and who then asked for the state of the run got an older one
/// of that job, or none: `fathom quick` lost a row. Here each worker takes 300 ms from the end of its load to its recording.
#[test]
fn a_job_that_is_shown_as_done_has_its_final_recording() {
    let mut host = FakeHost::new(|_, _| None);
    host.usage_time = std::time::Duration::from_millis(300);
    let jobs: Vec<Job> = (0..2)
        .map(|sequence| {
            let mut one = job(Traffic::Read, RANDOM);
            one.start.after_all_before = sequence > 0;
            one
        })
        .collect();
    let done = std::cell::Cell::new(0);
    let mut states = 0;
    let mut progress = |now: &Progress| {
        let is_done = |phase: &&JobPhase| **phase == JobPhase::Done;
        done.set(now.jobs.iter().filter(is_done).count());
    };
    let (recording, _) = run_watched(
        Arc::new(host),
        plan(jobs),
        &mut progress,
        Some(States {
            wanted: &mut |_| true,
            take: &mut |state, _| {
                states += 1;
                let final_ones = state
                    .jobs
                    .iter()
                    .filter(|job| !job.skipped && job.directions[Direction::Read].counts.ok == 256);
                assert!(final_ones.count() >= done.get(), "{} are done", done.get());
            },
        }),
    );
    assert!(states > 0 && recording.jobs.len() == 2);
}

#[test]
fn logs_hold_every_io_in_order() {
    let mut job = job(Traffic::Read, SEQUENTIAL);
    job.accounting.logs = Logs {
        bw: Some("x".into()),
        lat: Some("x".into()),
        per_job: true,
        ..Logs::default()
    };
    let (_, chunks) = run_on(Arc::new(FakeHost::new(|_, _| None)), vec![job]);
    for wanted in [LogKind::Bw, LogKind::Lat, LogKind::Clat] {
        let entries: Vec<LogEntry> = chunks
            .iter()
            .filter_map(|chunk| match chunk {
                LogChunk::Entries { kind, entries, .. } if *kind == wanted => Some(entries.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        assert!(
            entries
                .iter()
                .enumerate()
                .all(|(i, e)| e.offset == i as u64 * 4096),
            "{wanted:?}"
        );
        assert_eq!(entries.len(), 256);
        assert!(entries.windows(2).all(|w| w[0].at <= w[1].at));
    }
}

/// Regression 0055: the first job of a flow was not limited until the thread of the second job had
/// been created. A job that is limited to its share of the other job's maximum cannot have done
/// more, however the threads are scheduled.
#[test]
fn jobs_of_a_flow_that_start_together_are_limited_from_the_first_io() {
    let mut slow = job(Traffic::Read, RANDOM);
    slow.pace.flow = Some(FlowShare {
        id: 1,
        weight: 1,
        sleep: Nanos::ZERO,
    });
    slow.limits.runtime = Some(Nanos::from_secs(60));
    slow.limits.time_based = true;
    // The fast job ends first and ends the other one: no I/O is ever outside the flow.
    let mut fast = slow.clone();
    fast.limits.runtime = Some(Nanos::from_millis(200));
    fast.exit = ExitRule {
        exit_all: true,
        exit_all_on_error: false,
        scope: ExitWhat::All,
    };
    slow.section = 1;
    slow.pace.rate = PerDirection::all(Some(Rate::Iops(100.0)));
    let (recording, _) = run_on(Arc::new(FakeHost::new(|_, _| None)), vec![fast, slow]);
    let ios = |job: usize| recording.jobs[job].directions[Direction::Read].counts.ok;
    // A job may start one I/O when it has started at most one more than the other: two more in all. The slow job has one more
    // that waits for its due time, which counts for the flow and is dropped when the run ends.
    assert!(ios(0) <= ios(1) + 3, "{} beside {}", ios(0), ios(1));
}
