//! Runs with a fault in their conditions: targets, queues, limits, the machine.

use fathom_model::*;

use super::{FaultyRun, faulty_run, with, writes};
use crate::sample::*;

pub fn target(change: impl FnOnce(&mut TargetConditions)) -> TargetConditions {
    let mut target = TargetConditions {
        path: "/data/file".into(),
        is_file: true,
        size: Bytes::from_mib(1024),
        memory_backed: false,
        direct: Some(DirectIoMode::Direct),
        written_share: Some(1.0),
        cached_share: Some(0.0),
        dirty: Some(Bytes::ZERO),
        gone: None,
        sharers: Vec::new(),
    };
    change(&mut target);
    target
}

/// The clean run with a blame sheet: 100 I/Os with these times in each phase, milliseconds, and somebody who had requests in the
/// device for half of the time there.
fn blamed(ms: [u64; 6], who: Option<OtherKind>) -> Recording {
    blamed_us(ms.map(|ms| 1_000 * ms), who)
}

/// The clean run with a blame sheet as that of [`blamed`], whose times of each phase are in microseconds.
pub fn blamed_us(us: [u64; 6], who: Option<OtherKind>) -> Recording {
    let phases = BlameTimes {
        ns: us.map(|us| 100 * us * 1_000),
    };
    let in_block_layer_ns = phases.ns[2..5].iter().sum();
    let row = BlameRow {
        rank: BlameRank::Mean,
        ios: 100,
        phases,
        in_block_layer_ns,
        beside_ns: who.iter().map(|_| in_block_layer_ns / 2).collect(),
    };
    with(|r| {
        r.blame = Some(BlameRecording {
            groups: vec![BlameGroup {
                joined: 100,
                response_ns: phases.total(),
                rows: vec![row],
                ..BlameGroup::default()
            }],
            others: who
                .into_iter()
                .map(|who| BlameOther {
                    who,
                    reads: (0, 0),
                    writes: (100, 100 << 20),
                    busy_ns: in_block_layer_ns / 2,
                })
                .collect(),
            ..BlameRecording::default()
        });
    })
}

/// The clean run on a changed target.
pub fn on(change: impl FnOnce(&mut TargetConditions)) -> Recording {
    with(|r| r.conditions.targets = vec![target(change)])
}

/// The target on a device of this name, with these settings of its queue.
pub fn queue(name: &str, settings: &[(&str, &str)]) -> DeviceFacts {
    let settings = settings
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    DeviceFacts {
        name: name.to_owned(),
        queue: QueueFacts {
            settings,
            ..QueueFacts::default()
        },
        ..DeviceFacts::default()
    }
}

pub fn on_device(before: DeviceFacts, after: Option<DeviceFacts>) -> Vec<TargetRecording> {
    let devices = vec![DeviceRecording {
        before,
        after,
        ..DeviceRecording::default()
    }];
    vec![TargetRecording {
        path: "/data/file".into(),
        devices,
        ..TargetRecording::default()
    }]
}

pub fn image(direct: bool) -> Option<BackingFacts> {
    Some(BackingFacts {
        path: "/data/image".into(),
        offset: Bytes::ZERO,
        direct_io: Some(direct),
        file_system: None,
    })
}

/// The target of the clean run, on a device of its own.
pub fn below(change: impl FnOnce(&mut DeviceFacts)) -> TargetRecording {
    let mut before = DeviceFacts {
        name: "nvme0n1".to_owned(),
        ..DeviceFacts::default()
    };
    change(&mut before);
    TargetRecording {
        path: "/data/file".into(),
        devices: vec![DeviceRecording {
            before,
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Single reads of this latency on a medium.
pub fn single_reads(medium: Medium, clat_ns: u64) -> Recording {
    let mut job = job("clean");
    job.queue.depth = 1;
    // 400 I/Os are too few for a p99.
    job.accounting.percentiles = vec![50.0, 90.0];
    let mut recording = run_of(vec![job]);
    fill(&mut recording, 0, Direction::Read, 400, clat_ns);
    recording.targets = vec![below(|device| device.medium = medium)];
    recording
}

/// 4,000 reads per second on a device that accepts 32 at once.
pub fn of_queue(depth: u32, clat_ns: u64) -> Recording {
    let mut job = job("clean");
    job.queue.depth = depth;
    let mut recording = run_of(vec![job]);
    fill(&mut recording, 0, Direction::Read, 40_000, clat_ns);
    recording.targets = vec![below(|device| device.queue.device_depth = Some(32))];
    recording
}

/// Ten samples of a second each.
pub fn sampled(recording: &mut Recording, make: impl Fn(u64, &mut Sample)) {
    let one = |i| {
        let mut sample = Sample {
            start: Nanos::from_secs(i),
            length: Nanos::from_secs(1),
            ..Sample::default()
        };
        make(i, &mut sample);
        sample
    };
    recording.conditions.telemetry.samples = (0..10).map(one).collect();
}

/// 20 fast I/Os in each of 100 slices of 100 ms, the last of each waiting for the next slice.
fn in_slices() -> Recording {
    let mut planned = job("clean");
    (planned.queue.depth, planned.queue.low) = (1, 1);
    planned.accounting.percentiles = vec![50.0, 90.0];
    let mut r = run_of(vec![planned]);
    fill(&mut r, 0, Direction::Read, 2_000, 70_000);
    let JobRecording {
        directions,
        intervals,
        ..
    } = &mut r.jobs[0];
    let d = &mut directions[Direction::Read];
    d.clat = Histogram::new();
    let mut part = Histogram::new();
    part.record_n(70_000, 19);
    part.record_n(98 * MS, 1);
    for interval in intervals {
        interval.directions[Direction::Read].clat = SparseHistogram::pack(&part);
        d.clat.merge(&part);
    }
    r
}

/// 94 % of the reads take one time, 6 % another.
pub fn two_latencies(fast_ns: u64, slow_ns: u64) -> Recording {
    with(|r| {
        let mut part = Histogram::new();
        part.record_n(fast_ns, 376);
        part.record_n(slow_ns, 24);
        let JobRecording {
            directions,
            intervals,
            ..
        } = &mut r.jobs[0];
        let d = &mut directions[Direction::Read];
        d.clat = Histogram::new();
        r.plan.jobs[0].accounting.percentiles = vec![50.0, 90.0, 95.0, 99.0];
        for interval in intervals {
            interval.directions[Direction::Read].clat = SparseHistogram::pack(&part);
            d.clat.merge(&part);
        }
        (r.plan.jobs[0].queue.depth, r.plan.jobs[0].queue.low) = (5, 5);
    })
}

/// 400 reads in each tenth of a second, and so many in the second half of the run, in which the sensor is hotter.
pub fn heated(late: u64, (cool, hot): (f64, f64)) -> Recording {
    with(|r| {
        let seen = &mut r.jobs[0];
        let d = &mut seen.directions[Direction::Read];
        (d.counts, d.clat) = (Counts::default(), Histogram::new());
        for (i, interval) in seen.intervals.iter_mut().enumerate() {
            let n = if i < 50 { 400 } else { late };
            let one = &mut interval.directions[Direction::Read];
            let mut part = Histogram::new();
            part.record_n(MS, n);
            (one.ios, one.bytes, one.clat) = (n, n * 4096, SparseHistogram::pack(&part));
            d.clat.merge(&part);
            (d.counts.planned, d.counts.ok) = (d.counts.planned + n, d.counts.ok + n);
            (d.counts.bytes_requested, d.counts.bytes_ok) = (
                d.counts.bytes_requested + n * 4096,
                d.counts.bytes_ok + n * 4096,
            );
        }
        sampled(r, |i, sample| {
            sample.celsius = Some(if i < 5 { cool } else { hot });
        });
    })
}

pub fn faulty_conditions() -> Vec<FaultyRun> {
    use Weight::{Degrades, Invalidates, Note};
    let clean_job = Some("clean");
    vec![
        faulty_run(
            "DIRECT_NOT_DIRECT",
            Degrades,
            None,
            "Direct I/O was requested for /data/file, but its file system buffers it: 100 % of it was in the page cache at the end.",
            || on(|t| (t.direct, t.cached_share) = (Some(DirectIoMode::Buffered), Some(1.0))),
        ),
        faulty_run(
            "HOLES_READ",
            Degrades,
            None,
            "62 % of the read range of /data/file was never written; those reads did not reach the medium.",
            || on(|t| t.written_share = Some(0.38)),
        ),
        faulty_run(
            "TARGET_GONE",
            Degrades,
            None,
            "/data/file (1 GiB) was removed or replaced 2.00 s into the run; the load continued on a file that can no longer be opened.",
            || on(|t| t.gone = Some(Nanos::from_secs(2))),
        ),
        faulty_run(
            "TARGET_SHARED",
            Degrades,
            None,
            "When the load ended, /data/file was open in fio (process 812, for writing; its parent is process 1: a service, or its parent has ended), backup (process 9, for reading) as well.",
            || {
                on(|t| {
                    let fio = Sharer {
                        process: 812,
                        name: "fio".to_owned(),
                        writes: true,
                        orphan: true,
                    };
                    t.sharers = vec![
                        fio,
                        Sharer {
                            process: 9,
                            name: "backup".to_owned(),
                            ..Sharer::default()
                        },
                    ];
                })
            },
        ),
        // 4,000 per second of 1 ms each are impossible at depth 3.
        faulty_run(
            "LITTLE_DISAGREES",
            Invalidates,
            clean_job,
            "4,000 I/Os per second x 1.00 ms = 4.00 in flight by Little's law, but at most 3 are possible.",
            || with(|r| (r.plan.jobs[0].queue.depth, r.plan.jobs[0].queue.low) = (3, 3)),
        ),
        // 4 of 6: a third of the time is missing.
        faulty_run(
            "LITTLE_DISAGREES",
            Note,
            clean_job,
            "4,000 I/Os per second x 1.00 ms = 4.00 in flight, of 6 possible: 33 % of the time passed between I/Os, in this program.",
            || with(|r| (r.plan.jobs[0].queue.depth, r.plan.jobs[0].queue.low) = (6, 6)),
        ),
        // 100 pauses of 98 ms, in the bucket with the middle 97.8 ms, are 9.78 s of 100 x (19 x 70
        // us + 98 ms) = 9.93 s.
        faulty_run(
            "RATE_LIMITED",
            Degrades,
            clean_job,
            "Half of the I/Os took 70.0 us or less, but 100 I/Os near 97.8 ms account for 98 % of the time: the pattern of a rate \
             limiter, or of a device that pauses.",
            in_slices,
        ),
        faulty_run(
            "CEILING_REACHED",
            Degrades,
            None,
            "reads ran at 4,000 I/Os per second, 98 % of the 4,100 I/Os that the control group of this process allows on \
             vda.",
            || {
                with(|r| {
                    let disk = "vda".to_owned();
                    r.conditions.limits = vec![IoLimit {
                        disk,
                        reads: true,
                        ios: true,
                        per_second: 4_100,
                    }];
                })
            },
        ),
        // Buckets are 0.4 to 0.8 % wide.
        faulty_run(
            "PERCENTILE_INFLECTION",
            Note,
            clean_job,
            "read clat is 1.00 ms up to p90 and 5.00 ms at p95, 5.0 times that.",
            || two_latencies(MS, 5 * MS),
        ),
        faulty_run(
            "SETTINGS_CHANGED",
            Degrades,
            None,
            "1 queue setting changed during the run: max_sectors_kb of loop0 from 1280 to 128.",
            || {
                with(|r| {
                    let settings =
                        |kib| queue("loop0", &[("max_sectors_kb", kib), ("nomerges", "0")]);
                    r.targets = on_device(settings("1280"), Some(settings("128")));
                })
            },
        ),
        faulty_run(
            "SETTINGS_REDUCED",
            Note,
            None,
            "max_sectors_kb of loop0 is 128 where 1280 is usual: each I/O of 1 MiB is split into 8 requests.",
            || {
                with(|r| {
                    r.plan.jobs[0].pattern.block_size =
                        PerDirection::all(BlockSizes::Fixed(1 << 20));
                    r.targets = on_device(
                        queue(
                            "loop0",
                            &[("max_hw_sectors_kb", "1280"), ("max_sectors_kb", "128")],
                        ),
                        None,
                    );
                })
            },
        ),
        faulty_run(
            "CACHE_SETTING_DISAGREES",
            Degrades,
            None,
            "The kernel treats loop0 as having no volatile cache (write through), but the file below it, /data/image, has one: 40,000 writes went to it without a flush.",
            || {
                let mut r = writes(|_| {});
                let mut lied = queue("loop0", &[("write_cache", "write through")]);
                lied.backing = image(true);
                r.targets = on_device(lied, None);
                r
            },
        ),
        faulty_run(
            "VOLATILE_CACHE_NO_FLUSH",
            Note,
            clean_job,
            "40,000 writes were acknowledged by vda from a volatile cache (write_cache is \"write back\"), with no flush.",
            || {
                let mut r = writes(|_| {});
                r.targets = on_device(queue("vda", &[("write_cache", "write back")]), None);
                r
            },
        ),
        faulty_run(
            "VOLATILE_CACHE_NO_FLUSH",
            Note,
            clean_job,
            "40,000 writes to the image had no flush: they may have completed in the cache of librbd (rbd_cache).",
            || {
                writes(|job| {
                    job.engine.kind = EngineKind::Rbd;
                    job.files.direct = false;
                })
            },
        ),
        faulty_run(
            "WORKING_SET_CACHED",
            Note,
            clean_job,
            "156.25 MiB of buffered reads went to a region of 1 GiB, which fits into the 8 GiB of memory.",
            || with(|r| r.plan.jobs[0].files.direct = false),
        ),
        // 400 single reads in 10 s take 25 ms each.
        faulty_run(
            "LATENCY_ABOVE_CLASS",
            Note,
            clean_job,
            "With one I/O in flight, reads took 25.0 ms on average; the limit for a hard disk is 20.0 ms (louwrentius.com, \
             \"Understanding Storage Performance - IOPS and Latency\", 2020).",
            || single_reads(Medium::Disk, 25 * MS),
        ),
        // 64 in flight at 16 ms each; SATA accepts 32.
        faulty_run(
            "DEVICE_QUEUE_EXCEEDED",
            Note,
            clean_job,
            "64.0 of 64 requested I/Os were in flight on average; nvme0n1 accepts 32 commands at once, so 32.0 waited in the \
             kernel, 8.00 ms each.",
            || of_queue(64, 16 * MS),
        ),
        faulty_run(
            "SCHEDULER_WAIT",
            Note,
            None,
            "Of all I/Os, 75 % of the response time (3.00 ms per I/O) passed in the queue of the I/O scheduler, behind 1 MiB writes \
             of PID 1234 (rsync).",
            || {
                let name = "rsync".to_owned();
                blamed(
                    [0, 0, 0, 3, 1, 0],
                    Some(OtherKind::Process { pid: 1234, name }),
                )
            },
        ),
        faulty_run(
            "BEHIND_FLUSHES",
            Note,
            None,
            "Of all I/Os, 50 % of the response time (2.00 ms per I/O) passed in the device while it flushed its cache.",
            || blamed([0, 0, 0, 0, 4, 0], Some(OtherKind::Flushes)),
        ),
        faulty_run(
            "BEHIND_OWN_WRITES",
            Note,
            None,
            "Of all I/Os, 50 % of the response time (2.00 ms per I/O) passed while the load's own writes of 128 KiB or more were \
             in the device.",
            || blamed([0, 0, 0, 0, 4, 0], Some(OtherKind::OwnLargeWrites)),
        ),
        faulty_run(
            "REAPED_LATE",
            Degrades,
            None,
            "Of all I/Os, 60 % of the response time (3.00 ms per I/O) passed after the device had completed them: the load \
             generator saw the completions late.",
            || blamed([0, 0, 0, 0, 2, 3], None),
        ),
        faulty_run(
            "TOO_HOT",
            Degrades,
            clean_job,
            "Throughput fell by 18 % between the first and the last third of the run, while the hottest sensor rose from 58 \
             to 78 degrees Celsius.",
            || heated(330, (58.0, 78.0)),
        ),
        faulty_run(
            "TOO_HOT",
            Degrades,
            None,
            "nvme0n1 reported 74 s of thermal management during the run (3 transitions); it is at 82 degrees Celsius.",
            || {
                with(|r| {
                    let health = |throttled_s, throttle_count| HealthFacts {
                        throttled_s: Some(throttled_s),
                        throttle_count: Some(throttle_count),
                        temperature_c: Some(82.0),
                        ..HealthFacts::default()
                    };
                    r.targets = vec![below(|d| d.health = health(10, 2))];
                    r.targets[0].devices[0].after = Some(DeviceFacts {
                        health: health(84, 5),
                        ..DeviceFacts::default()
                    });
                })
            },
        ),
        // 156.25 MiB in 10 s are 16.38 MB/s, of 18 MB/s.
        faulty_run(
            "CEILING_REACHED",
            Degrades,
            None,
            "15.62 MiB per second is 91 % of the 17.17 MiB that the link of nvme0n1 (0000:03:00.0) can carry after line \
             coding.",
            || {
                with(|r| {
                    let now = LinkSpeed {
                        bytes_per_s: 18_000_000,
                        ..LinkSpeed::default()
                    };
                    let link = Link {
                        kind: LinkKind::Pcie,
                        at: "0000:03:00.0".to_owned(),
                        now,
                        best: None,
                    };
                    r.targets = vec![below(|d| d.links = vec![link])];
                })
            },
        ),
        faulty_run(
            "CACHE_SETTING_DISAGREES",
            Degrades,
            None,
            "The kernel treats nvme0n1 as having no volatile cache, but the device reports (NVMe identify) one that is enabled: 40,000 writes went to it without a flush.",
            || {
                let mut r = writes(|_| {});
                r.targets = vec![below(|d| {
                    d.cache.kernel = Some(KernelCache::WriteThrough);
                    (d.cache.device_on, d.cache.source) = (Some(true), Some("NVMe identify"));
                })];
                r
            },
        ),
        faulty_run(
            "CPU_SLOWED",
            Degrades,
            None,
            "The CPUs ran at 3000 MHz in the first quarter and at 1500 MHz in the last, 50 % slower.",
            || {
                with(|r| {
                    sampled(r, |i, sample| {
                        sample.cpu_mhz = Some(if i < 4 { 3_000.0 } else { 1_500.0 });
                    });
                })
            },
        ),
        faulty_run(
            "MEMORY_PRESSURE",
            Degrades,
            None,
            "All tasks of this machine waited for memory for 500 ms of the run (5.0 %). Seen from 3.00 s to 4.00 s.",
            || {
                with(|r| {
                    sampled(r, |i, sample| {
                        sample.memory_pressure = Some(if i == 3 { 50.0 } else { 0.0 });
                    });
                })
            },
        ),
        faulty_run(
            "WALL_CLOCK_STEPPED",
            Note,
            None,
            "The wall clock stepped by +2.10 s within the 1.00 s before 4.00 s of the run.",
            || {
                with(|r| {
                    sampled(r, |i, sample| {
                        sample.wall_step_ns = if i == 3 { 2_100_000_000 } else { 100_000 }
                    });
                })
            },
        ),
        faulty_run(
            "FLUSH_UNPROVEN",
            Note,
            clean_job,
            "100 flushes took 2.00 ms on average; inside a virtual machine nothing shows that they made data durable.",
            || {
                let mut r = writes(|job| job.sync.fsync_every = 400);
                r.jobs[0].sync.record_n(2 * MS, 100);
                r.conditions.virtual_machine = Some(true);
                r
            },
        ),
        faulty_run(
            "MEMORY_BACKED",
            Degrades,
            None,
            "zram0 is a device in the 8 GiB of memory of this machine.",
            || with(|r| r.targets = on_device(queue("zram0", &[]), None)),
        ),
        faulty_run(
            "LOOP_BUFFERED",
            Degrades,
            None,
            "156.25 MiB passed through loop0, which accesses /data/image through the page cache.",
            || {
                with(|r| {
                    let mut buffered = queue("loop0", &[]);
                    buffered.backing = image(false);
                    r.targets = on_device(buffered, None);
                })
            },
        ),
        faulty_run(
            "COMMAND_FAILED",
            Degrades,
            None,
            "dd ended with exit code 1 after 10.00 s.",
            || with(|r| r.host.witnessed = command(|one| one.ended = ProgramEnd::Code(1))),
        ),
        faulty_run(
            "PROCESSES_LEFT",
            Note,
            None,
            "1 process of dd still ran when it had ended: sleep (process 812). Its I/O after that is not counted.",
            || {
                with(|r| {
                    r.host.witnessed = command(|one| {
                        one.left = vec![WatchedProcess {
                            process: 812,
                            name: "sleep".to_owned(),
                        }];
                    });
                })
            },
        ),
    ]
}
