//! Runs with one fault each, and the expected evidence.

use fathom_model::*;

use crate::sample::*;

mod conditions;

pub use conditions::{
    below, blamed_us, faulty_conditions, heated, image, of_queue, on, on_device, queue, sampled,
    single_reads, two_latencies,
};

/// A run with one fault.
pub struct FaultyRun {
    pub code: &'static str,
    pub weight: Weight,
    pub about: Option<&'static str>,
    pub evidence: &'static str,
    pub make: fn() -> Recording,
}

fn faulty_run(
    code: &'static str,
    weight: Weight,
    about: Option<&'static str>,
    evidence: &'static str,
    make: fn() -> Recording,
) -> FaultyRun {
    FaultyRun {
        code,
        weight,
        about,
        evidence,
        make,
    }
}

/// The clean run after `change`.
pub fn with(change: impl FnOnce(&mut Recording)) -> Recording {
    let mut recording = clean();
    change(&mut recording);
    recording
}

/// A clean run of writes instead of reads.
pub fn writes(change: impl FnOnce(&mut Job)) -> Recording {
    let mut job = job("clean");
    job.pattern.traffic = Traffic::Write;
    change(&mut job);
    let mut recording = run_of(vec![job]);
    fill(&mut recording, 0, Direction::Write, 40_000, MS);
    recording
}

/// The clean job on each of these hosts.
pub fn on_hosts(names: &[&str], change: impl FnOnce(&mut Recording)) -> Recording {
    let jobs = names.iter().map(|name| job(&format!("{name}:clean")));
    let mut recording = run_of(jobs.collect());
    for place in 0..names.len() {
        fill(&mut recording, place, Direction::Read, 40_000, MS);
    }
    recording.hosts = names
        .iter()
        .map(|name| HostPart {
            name: (*name).to_owned(),
            jobs: 1,
            elapsed: recording.elapsed,
            started_unix_ns: recording.started_unix_ns,
            late_bound_ns: 50_000,
            clock: recording.clock.clone(),
            host: recording.host.clone(),
            ..HostPart::default()
        })
        .collect();
    change(&mut recording);
    recording
}

/// One I/O of 1 ms at a time on the second host, four on the first one.
fn slow_host() -> Recording {
    let mut recording = on_hosts(&["a", "b"], |_| {});
    let mut slow = job("b:clean");
    slow.queue.depth = 1;
    recording.jobs[1] = idle(&slow);
    recording.plan.jobs[1] = slow;
    fill(&mut recording, 1, Direction::Read, 10_000, MS);
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
    later
        .intervals
        .iter_mut()
        .for_each(|i| i.start += Nanos::from_secs(10));
    recording.elapsed = Nanos::from_secs(20);
    recording
}

/// A generator that is stopped for one second: due times continue, so the I/Os due meanwhile wait
/// up to one second.
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
    recording.stalls = vec![Stall {
        at: Nanos::from_secs(5),
        lasted: Nanos::from_millis(1_003),
    }];
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

/// A trace of 2,000 reads.
fn log() -> Replay {
    Replay {
        log: "x.log".to_owned(),
        reading: ReplayReading::default(),
        files: vec![ReplayFile {
            start: 0,
            end: 4096,
            uses: PerDirection([true, false, false]),
        }],
        ios: PerDirection([2_000, 0, 0]),
        bytes: PerDirection([2_000 * 4096, 0, 0]),
        syncs: 0,
        length: Nanos::from_secs(10),
        largest: 4096,
        alignment: Bytes::new(4096),
        bad_lines: 0,
    }
}

/// A replay with 5 % of its I/Os 50 ms late.
fn late_replay() -> Recording {
    let mut recording = late_without_a_stall();
    let pace = &mut recording.plan.jobs[0].pace;
    pace.rate[Direction::Read] = None;
    pace.replay = Some(log());
    recording
}

/// A replay of the first fifth of a trace.
fn cut_replay() -> Recording {
    let mut recording = open_loop();
    let pace = &mut recording.plan.jobs[0].pace;
    pace.rate[Direction::Read] = None;
    pace.replay = Some(Replay {
        ios: PerDirection([10_000, 0, 0]),
        ..log()
    });
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

pub fn verifying(planned: u64, good: u64, bad: u64) -> Recording {
    let mut recording = writes(|_| {});
    recording.plan.jobs[0].verify = Some(Verify::with(VerifyKind::Crc32c));
    recording.jobs[0].verify = VerifyCounts {
        planned,
        good,
        bad,
        bytes: good * 4096,
        ..VerifyCounts::default()
    };
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
/// Nothing completes between 3 s and 4 s. The second before has twice as many, so that equal parts of the run are equal.
fn stalled() -> Recording {
    with_intervals(|i| match i {
        20..30 => 800,
        30..40 => 0,
        _ => 400,
    })
}

fn slowing_down() -> Recording {
    with_intervals(|i| if i < 60 { 400 } else { 200 })
}

/// A bucket that is empty after 4 s: in a closed loop the latency doubles when the rate halves.
fn burst_of_four_seconds() -> Recording {
    with(|r| {
        refill(
            r,
            0,
            4096,
            |i| if i < 40 { (400, MS) } else { (200, 2 * MS) },
        );
    })
}

/// A limiter from the start: the first I/O finds a token.
fn smooth_limit() -> Recording {
    with(|r| {
        refill(r, 0, 4096, |_| (400, MS));
        one_fast_io(r, 0);
    })
}

/// Three block sizes one after the other, with 400, 400 and 200 I/Os in each tenth of a second: a
/// limit that counts I/Os of 128 KiB.
fn three_sizes() -> Recording {
    let sizes = [4096, 96 << 10, 192 << 10, 384 << 10];
    let jobs = sizes.iter().enumerate().map(|(number, size)| {
        let mut job = job(&format!("size{number}"));
        (job.number, job.group) = (number as u32 + 1, number as u32);
        job.pattern.block_size = PerDirection::from_fn(|_| BlockSizes::Fixed(*size));
        job
    });
    let mut recording = run_of(jobs.collect());
    for (i, (size, (ios, latency))) in sizes
        .into_iter()
        .zip([(400, MS), (400, MS), (200, 2 * MS), (100, 4 * MS + MS / 2)])
        .enumerate()
    {
        let ios = if i == 3 { 133 } else { ios };
        let latency = if i == 3 { 3 * MS } else { latency };
        fill(&mut recording, i, Direction::Read, 40_000, MS);
        refill(&mut recording, i, u64::from(size), |_| (ios, latency));
        one_fast_io(&mut recording, i);
        recording.jobs[i].region = Bytes::from_mib(1 << 20);
        let start = Nanos::from_secs(10 * i as u64);
        let seen = &mut recording.jobs[i];
        seen.measured_from += start;
        seen.ended += start;
        seen.intervals.iter_mut().for_each(|one| one.start += start);
    }
    recording.elapsed = Nanos::from_secs(40);
    recording
}

/// The fastest I/O of a worker takes 50 us.
fn one_fast_io(r: &mut Recording, worker: usize) {
    let JobRecording {
        directions,
        intervals,
        ..
    } = &mut r.jobs[worker];
    let d = &mut intervals[0].directions[Direction::Read];
    let mut latencies = d.clat.unpack();
    latencies.record(50_000);
    (d.ios, d.bytes, d.clat) = (
        d.ios + 1,
        d.bytes + d.bytes / d.ios,
        SparseHistogram::pack(&latencies),
    );
    let size = d.bytes / d.ios;
    let seen = &mut directions[Direction::Read];
    seen.clat.record(50_000);
    let c = &mut seen.counts;
    (c.planned, c.ok) = (c.planned + 1, c.ok + 1);
    (c.bytes_requested, c.bytes_ok) = (c.bytes_requested + size, c.bytes_ok + size);
}

/// The number and the latency of the reads of each interval of a worker, of `size` bytes.
fn refill(r: &mut Recording, worker: usize, size: u64, reads: impl Fn(usize) -> (u64, u64)) {
    let JobRecording {
        directions,
        intervals,
        in_flight_ns,
        ..
    } = &mut r.jobs[worker];
    let counts = &mut directions[Direction::Read];
    (counts.counts, counts.clat) = (Counts::default(), Histogram::new());
    *in_flight_ns = 0;
    for (i, interval) in intervals.iter_mut().enumerate() {
        let (n, latency) = reads(i);
        let d = &mut interval.directions[Direction::Read];
        let mut part = Histogram::new();
        part.record_n(latency, n);
        (d.ios, d.bytes, d.clat) = (n, n * size, SparseHistogram::pack(&part));
        counts.clat.record_n(latency, n);
        *in_flight_ns += u128::from(n) * u128::from(latency);
        let c = &mut counts.counts;
        (c.planned, c.ok) = (c.planned + n, c.ok + n);
        (c.bytes_requested, c.bytes_ok) = (c.bytes_requested + n * size, c.bytes_ok + n * size);
    }
}

/// The reads of each interval.
fn with_intervals(ios: impl Fn(usize) -> u64) -> Recording {
    with(|r| {
        let JobRecording {
            directions,
            intervals,
            ..
        } = &mut r.jobs[0];
        let counts = &mut directions[Direction::Read];
        (counts.counts, counts.clat) = (Counts::default(), Histogram::new());
        for (i, interval) in intervals.iter_mut().enumerate() {
            let n = ios(i);
            let d = &mut interval.directions[Direction::Read];
            let mut part = Histogram::new();
            part.record_n(MS, n);
            (d.ios, d.bytes, d.clat) = (n, n * 4096, SparseHistogram::pack(&part));
            counts.clat.record_n(MS, n);
            let c = &mut counts.counts;
            (c.planned, c.ok) = (c.planned + n, c.ok + n);
            (c.bytes_requested, c.bytes_ok) = (c.bytes_requested + n * 4096, c.bytes_ok + n * 4096);
        }
    })
}

pub fn faulty_runs() -> Vec<FaultyRun> {
    let mut all = faulty_workloads();
    all.extend(faulty_conditions());
    all
}

fn faulty_workloads() -> Vec<FaultyRun> {
    use Weight::{Degrades, Invalidates, Note};
    let clean_job = Some("clean");
    vec![
        faulty_run(
            "HOST_LOST",
            Weight::Invalidates,
            Some("b"),
            "b: lost: no message for 4 s. The figures cover 1 of 2 hosts.",
            || {
                on_hosts(&["a"], |r| {
                    r.hosts.push(HostPart {
                        name: "b".to_owned(),
                        lost: Some("lost: no message for 4 s".to_owned()),
                        ..HostPart::default()
                    });
                })
            },
        ),
        faulty_run(
            "HOSTS_APART",
            Weight::Degrades,
            None,
            "b started 8.00 ms after a (+- 100 us); the limit is 5.00 ms.",
            || on_hosts(&["a", "b"], |r| r.hosts[1].late_ns = 8_000_000),
        ),
        faulty_run(
            "HOSTS_DIFFER",
            Weight::Note,
            None,
            "The hosts differ: kernel 6.1 (a), 6.8 (b).",
            || on_hosts(&["a", "b"], |r| r.hosts[1].host.kernel = "6.8".to_owned()),
        ),
        faulty_run(
            "HOST_STRAGGLES",
            Weight::Degrades,
            Some("b"),
            "b reached 1,000 IOPS, 25 % of the median of the 2 hosts (4,000).",
            slow_host,
        ),
        faulty_run(
            "SHORT_IO",
            Invalidates,
            clean_job,
            "111 of 40,111 I/Os transferred fewer bytes than requested (first: read at offset 4096, 512 of 4096 bytes). \
             163,896,832 of 164,294,656 bytes were transferred (99.75 %).",
            || {
                with(|r| {
                    spoil(r, |c| {
                        (c.planned, c.short) = (c.planned + 111, 111);
                        c.bytes_requested += 111 * 4096;
                        (c.bytes_short, c.bytes_missing) = (111 * 512, 111 * 3584);
                    });
                    let direction = Direction::Read;
                    event(
                        r,
                        EventKind::FirstShort {
                            direction,
                            offset: 4096,
                            requested: 4096,
                            transferred: 512,
                        },
                    );
                })
            },
        ),
        faulty_run(
            "IO_ERROR",
            Invalidates,
            clean_job,
            "1 of 40,001 I/Os failed (first: read at offset 1048576, Input/output error). Failed I/Os are excluded from IOPS and latency.",
            || with(one_failure),
        ),
        faulty_run(
            "TARGET_SHRANK",
            Invalidates,
            clean_job,
            "/data/file shrank from 64 MiB to 8 MiB at 1.00 s of the run.",
            || {
                with(|r| {
                    let (from, to) = (Bytes::from_mib(64), Bytes::from_mib(8));
                    event(
                        r,
                        EventKind::TargetShrank {
                            path: "/data/file".to_owned(),
                            from,
                            to,
                        },
                    );
                })
            },
        ),
        faulty_run(
            "WORKER_DIED",
            Invalidates,
            clean_job,
            "Worker 1 died at 1.00 s of the run: signal 9. Its I/O is missing.",
            || {
                with(|r| {
                    event(
                        r,
                        EventKind::WorkerDied {
                            reason: "signal 9".to_owned(),
                        },
                    );
                })
            },
        ),
        faulty_run(
            "NOT_CONSERVED",
            Invalidates,
            clean_job,
            "40,001 reads were planned but 40,000 have an outcome (40,000 ok, 0 short, 0 failed, 0 timed out, 0 not sent); 163,840,000 bytes were requested and 163,840,000 accounted for.",
            || with(|r| spoil(r, |c| c.planned += 1)),
        ),
        faulty_run(
            "TIMED_OUT",
            Invalidates,
            clean_job,
            "4 of 40,004 I/Os never completed; the wait for them was 30.00 s.",
            || {
                with(|r| {
                    spoil(r, |c| {
                        (c.planned, c.timed_out) = (c.planned + 4, 4);
                        (c.bytes_requested, c.bytes_missing) =
                            (c.bytes_requested + 4 * 4096, 4 * 4096);
                    });
                    event(
                        r,
                        EventKind::GaveUp {
                            in_flight: 4,
                            waited: Nanos::from_secs(30),
                        },
                    );
                })
            },
        ),
        // 180 of 200 waited for more than 100 ms (i * 5 + 2 > 100 from i = 20 on: 181); the 1,980th
        // of 2,000 is 180 * 5 + 2 = 902 ms, in the bucket [901.8, 906.0) ms with the middle 904 ms.
        faulty_run(
            "GENERATOR_STALL",
            Invalidates,
            Some("open"),
            "Response p99 904 ms (service 2.00 ms). The generator fell behind by up to 1.00 s; 181 responses took more \
             than 100 ms. Its watchdog woke 1.00 s late at 5.00 s of the run.",
            stopped_for_a_second,
        ),
        faulty_run(
            "LATE_ISSUE",
            Degrades,
            Some("open"),
            "100 I/Os (5.0 %) were submitted more than 10.0 ms after their due time, up to 50.0 ms; the queue depth of 4 was exhausted or this host was too slow.",
            late_without_a_stall,
        ),
        faulty_run(
            "REPLAY_LAG",
            Degrades,
            Some("open"),
            "Behind x.log by 1.00 us at the median, 49.9 ms at p99 and 50.0 ms at most; 100 I/Os (5.0 %) were more than \
             10.0 ms late.",
            late_replay,
        ),
        faulty_run(
            "REPLAY_CUT",
            Degrades,
            Some("open"),
            "2,000 of the 10,000 I/Os of x.log were submitted before the end.",
            cut_replay,
        ),
        faulty_run(
            "RATE_NOT_REACHED",
            Degrades,
            Some("open"),
            "Planned 300 reads per second, achieved 200 (67 %) over 10.00 s; 1,000 were due but never submitted.",
            three_quarters_of_the_rate,
        ),
        faulty_run(
            "DEPTH_NOT_REACHED",
            Degrades,
            clean_job,
            "Requested depth 16, achieved 4.0 (Little's law: 4,000 I/Os per second x 1.00 ms mean latency).",
            || {
                with(|r| {
                    let queue = &mut r.plan.jobs[0].queue;
                    (queue.depth, queue.low) = (16, 16);
                })
            },
        ),
        faulty_run(
            "SYNC_ENGINE_DEPTH",
            Degrades,
            clean_job,
            "iodepth=4 is set for psync, which keeps one I/O in flight: the figures are those of queue depth 1.",
            || {
                let mut planned = job("clean");
                planned.engine.kind = EngineKind::Psync;
                let mut r = run_of(vec![planned]);
                fill(&mut r, 0, Direction::Read, 10_000, MS);
                r
            },
        ),
        faulty_run(
            "HISTOGRAM_OVERFLOW",
            Degrades,
            clean_job,
            "1 value above the histogram's range of 73 minutes; the largest is 2.0 h.",
            || {
                with(|r| {
                    r.jobs[0].directions[Direction::Read]
                        .lat
                        .record(7_200 * SECOND);
                })
            },
        ),
        faulty_run(
            "FIO_BINS_CLAMPED",
            Note,
            clean_job,
            "3 latencies of 17.18 s or more fall into fio's last bin, labelled 17,112,760,320 ns; percentiles, mean and maximum are not clamped.",
            || {
                with(|r| {
                    r.jobs[0].directions[Direction::Read]
                        .lat
                        .record_n(20 * SECOND, 3);
                })
            },
        ),
        faulty_run(
            "NOTHING_DONE",
            Invalidates,
            clean_job,
            "1 of 1 jobs completed no I/O in 10.00 s (0 planned).",
            || run_of(vec![job("clean")]),
        ),
        faulty_run(
            "JOB_SKIPPED",
            Degrades,
            clean_job,
            "1 of 1 jobs never started.",
            || {
                let mut r = run_of(vec![job("clean")]);
                r.jobs[0].skipped = true;
                r
            },
        ),
        faulty_run(
            "RAN_SHORT",
            Degrades,
            clean_job,
            "Ran 10.00 s of the planned 60.00 s.",
            || with(|r| r.plan.jobs[0].limits.runtime = Some(Nanos::from_secs(60))),
        ),
        faulty_run(
            "PAGE_CACHE",
            Degrades,
            None,
            "90 % of the reads came from memory: the devices delivered 15.62 MiB of 156.25 MiB.",
            || with(|r| r.disks = vec![disk("vda", (16_384_000, 4_000), (0, 0))]),
        ),
        faulty_run(
            "FOREIGN_IO",
            Degrades,
            None,
            "50 % of the bytes read on vda were not from this run: the device transferred 312.5 MiB, the jobs 156.25 MiB.",
            || with(|r| r.disks = vec![disk("vda", (327_680_000, 80_000), (0, 0))]),
        ),
        faulty_run(
            "REQUESTS_RESIZED",
            Note,
            None,
            "40,000 reads of 4 KiB on average became 320,000 requests at vda (8.0 for each I/O).",
            || with(|r| r.disks = vec![disk("vda", (163_840_000, 320_000), (0, 0))]),
        ),
        // 128 pages of 4 KiB are 512 KiB.
        faulty_run(
            "REQUESTS_RESIZED",
            Note,
            None,
            "40,000 reads of 4 KiB on average became 320,000 requests at vda (8.0 for each I/O). A request holds at most 128 pieces of \
             memory (max_segments), 512 KiB in single pages.",
            || {
                with(|r| {
                    r.disks = vec![disk("vda", (163_840_000, 320_000), (0, 0))];
                    let mut target = TargetRecording::default();
                    let mut device = DeviceRecording::default();
                    device.before.name = "vda".to_owned();
                    device.before.queue.max_segments = Some(128);
                    device.before.queue.max_request = Some(Bytes::from_mib(1));
                    target.devices = vec![device];
                    r.targets = vec![target];
                })
            },
        ),
        faulty_run(
            "STEAL",
            Degrades,
            None,
            "Steal 2.4 % of CPU time during the run (limit 0.5 %).",
            || with(|r| r.host.steal_percent = Some(2.4)),
        ),
        faulty_run(
            "CPU_THROTTLED",
            Degrades,
            None,
            "This host, not the device, limited the run: 43 throttles by the CPU quota.",
            || with(|r| r.host.cpu_throttles = Some(43)),
        ),
        // The worker used 1.5 s of 4 CPUs x 10 s: 3.75 %.
        faulty_run(
            "HOST_BUSY",
            Degrades,
            None,
            "The CPUs of this host were 98 % busy, 94 % not by the workers, and worker 1 waited 600 ms for a CPU (6.0 % of its \
             time): the host, not the device, may be the limit.",
            || {
                with(|r| {
                    r.host.busy_percent = Some(98.0);
                    r.jobs[0].usage.waited = Nanos::from_millis(600);
                })
            },
        ),
        faulty_run(
            "WORKER_WAITED",
            Degrades,
            clean_job,
            "Worker 1 was runnable but waited 2.50 s for a CPU (25 % of its time); latencies include that.",
            || with(|r| r.jobs[0].usage.waited = Nanos::from_millis(2_500)),
        ),
        faulty_run(
            "TOOL_BOUND",
            Degrades,
            clean_job,
            "Worker 1 used 98 % of its available CPU time at 4,000 I/Os per second: this program or this host, not the target, may be the limit.",
            || with(|r| r.jobs[0].usage.system = Nanos::from_millis(9_300)),
        ),
        // 4,000 of 4,500: 89 %, above the 85 % at which a limit cannot be distinguished from the
        // target's.
        faulty_run(
            "TOOL_BOUND",
            Degrades,
            clean_job,
            "4,000 of the 4,500 I/Os per second that this host can generate with this plan on a target that answers at once.",
            || with(|r| r.jobs[0].ceiling_iops = Some(4_500.0)),
        ),
        faulty_run(
            "TOOL_BOUND",
            Degrades,
            clean_job,
            "4,000 of the 4,500 I/Os per second that this host can generate with this plan on a target that answers at once. This is a \
             development build: `cargo build --release` gives the program's full speed.",
            || {
                with(|r| {
                    r.jobs[0].ceiling_iops = Some(4_500.0);
                    r.host.build_profile = "dev".to_owned();
                })
            },
        ),
        faulty_run(
            "VERIFY_FAILED",
            Invalidates,
            clean_job,
            "2 of 2,048 checked blocks differ from the data written (first at offset 8192: checksum).",
            || {
                let mut r = verifying(2_048, 2_046, 2);
                event(
                    &mut r,
                    EventKind::FirstMismatch {
                        offset: 8_192,
                        difference: "checksum".to_owned(),
                    },
                );
                r
            },
        ),
        faulty_run(
            "VERIFY_NOTHING",
            Invalidates,
            clean_job,
            "Verified 0 of 2,048 blocks, 2,048 skipped.",
            || verifying(2_048, 0, 0),
        ),
        faulty_run(
            "ENGINE_FALLBACK",
            Note,
            clean_job,
            "libaio replaced io_uring: forbidden by sysctl kernel.io_uring_disabled.",
            || {
                with(|r| {
                    r.jobs[0].engine = "libaio".to_owned();
                    r.jobs[0].fallback =
                        Some("forbidden by sysctl kernel.io_uring_disabled".to_owned());
                })
            },
        ),
        faulty_run(
            "CLOCK_DRIFT",
            Degrades,
            None,
            "The tsc clock drifted 1200 ppm from CLOCK_MONOTONIC during the run (limit 500).",
            || {
                with(|r| {
                    r.clock = ClockFacts {
                        source: "tsc".to_owned(),
                        cost_ns: 10.0,
                        drift_ppm: -1200.0,
                    }
                })
            },
        ),
        faulty_run(
            "INTERRUPTED",
            Degrades,
            None,
            "The run was interrupted at 10.00 s; I/O in flight was waited for.",
            || with(|r| r.end = RunEnd::Interrupted),
        ),
        faulty_run(
            "SUMMARY_DISAGREES",
            Invalidates,
            clean_job,
            "The intervals of job 1 hold 40,001 reads, 163,840,000 bytes and 40,000 latencies; its totals 40,000, \
             163,840,000 and 40,000.",
            || with(|r| r.jobs[0].intervals[3].directions[Direction::Read].ios += 1),
        ),
        faulty_run(
            "VOLATILE_CACHE_NO_FLUSH",
            Note,
            clean_job,
            "40,000 buffered writes completed in memory, without O_SYNC and with no fsync.",
            || writes(|job| job.files.direct = false),
        ),
        faulty_run(
            "CLONES_OVERLAP",
            Degrades,
            Some("clones"),
            "2 clones access the same addresses of /data/file in the same order: a cache may serve all but the first, or the kernel may merge them.",
            sequential_clones,
        ),
        faulty_run(
            "REPEATED_ADDRESSES",
            Note,
            clean_job,
            "Each byte of the region of 16 MiB was read 9.8 times on average; repeats may come from a cache.",
            || with(|r| r.jobs[0].region = Bytes::from_mib(16)),
        ),
        faulty_run(
            "FEW_SAMPLES",
            Note,
            clean_job,
            "read clat p99.99 and above rest on fewer than 10 of 40,000 I/Os.",
            || with(|r| r.plan.jobs[0].accounting.percentiles.push(99.99)),
        ),
        // 2 x 156.25 MiB in 10 s, and in 20 s.
        faulty_run(
            "JOBS_APART",
            Degrades,
            None,
            "The 2 jobs of group 0 did not run together: their total is 31.25 MiB/s over the longest single run; over the 20.00 s from the first start to the last end it is 15.62 MiB/s.",
            one_after_the_other,
        ),
        // 4,000 and 2,000 per second; mean (3 x 4000 + 2 x 2000) / 5 = 3,200: 2,000 / 3,200 = 62.5
        // %.
        faulty_run(
            "NOT_STEADY",
            Note,
            clean_job,
            "Not in steady state: over five equal parts of the run throughput was between 7.81 MiB/s and 15.62 MiB/s (62 % of the mean).",
            slowing_down,
        ),
        // 40 x 400 + 60 x 200 = 28,000 I/Os are 8,000 more than 10 s of 2,000; 8,000 / (4,000 - 2,000) = 4 s, and 8,000 / 2,000
        // = 4 s until it is full.
        faulty_run(
            "BURST_ENDED",
            Degrades,
            clean_job,
            "The rate fell from 4,000 IOPS to 2,000 IOPS (95 % CI 2,000 IOPS to 2,000 IOPS) after 4.00 s and stayed there: a token bucket of 8,000 I/Os was empty. The burst holds for 4.00 s; after that 2,000 IOPS. The empty bucket is full again after 4.00 s without I/O.",
            burst_of_four_seconds,
        ),
        // 4,000 x 4 KiB = 15.6 MiB.
        faulty_run(
            "SMOOTH_CEILING",
            Degrades,
            clean_job,
            "All parts of the run have the same rate, 4,000 IOPS (95 % CI 4,000 IOPS to 4,000 IOPS); with one block size this may as well be a limit of 15.63 MiB/s. The fastest I/O took 50.0 us, the others waited until about 1.00 ms: a limiter sets the rate.",
            smooth_limit,
        ),
        // 133 in each tenth of a second take three of 128 KiB each: 3,990; the middle of 3,990 and 4,000 is 3,995.
        faulty_run(
            "CEILING_BY_SIZE",
            Degrades,
            None,
            "The limit counts I/Os of at most 128 KiB, 3,995 per second; a larger one counts several times: 4,000 IOPS of 4 KiB, 4,000 IOPS of 96 KiB, 2,000 IOPS of 192 KiB, 1,330 IOPS of 384 KiB.",
            three_sizes,
        ),
        // Nothing between 3 s and 4 s of 10 s, 40,000 in the other 9 s: 225 us.
        faulty_run(
            "TARGET_STALLED",
            Degrades,
            clean_job,
            "Nothing completed for 1.00 s from 3.00 s of the run on; usually there is a completion every 225 us.",
            stalled,
        ),
        faulty_run(
            "SOFT_PAYLOAD",
            Note,
            clean_job,
            "The data written was zeros.",
            || writes(|job| job.payload.fill = Fill::Zeroes),
        ),
    ]
}

pub fn one_failure(r: &mut Recording) {
    spoil(r, |c| {
        (c.planned, c.failed) = (c.planned + 1, 1);
        (c.bytes_requested, c.bytes_missing) = (c.bytes_requested + 4096, 4096);
    });
    event(
        r,
        EventKind::FirstError {
            direction: Some(Direction::Read),
            offset: 1_048_576,
            errno: 5,
        },
    );
}
