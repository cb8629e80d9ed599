//! Scenes of findings about targets, queues and what a device transferred.

use fathom_model::*;

use super::Scenes;
use crate::sample::*;
use crate::triggers::{
    below, blamed_us, heated, image, of_queue, on, on_device, queue, sampled, single_reads, with,
    writes,
};

/// The clean run, 40,000 reads or 163,840,000 bytes, of which the device counted so many bytes in so many requests.
fn counted(bytes: u64, requests: u64) -> Recording {
    with(|r| r.disks = vec![disk("vda", (bytes, requests), (0, 0))])
}

/// A target with this share in the page cache, on a file system that does not say how it reads.
fn cached(share: f64) -> Recording {
    let mut recording = on(|t| {
        t.direct = Some(DirectIoMode::Unreported);
        t.cached_share = Some(share);
    });
    recording.plan.jobs[0].files.layout.invalidate = true;
    recording
}

fn written(share: f64) -> Recording {
    on(|t| t.written_share = Some(share))
}

/// A device whose queue has these settings before and after the run.
fn settings(before: (&str, &str), after: (&str, &str)) -> Recording {
    with(|r| {
        r.targets = on_device(queue("loop0", &[before]), Some(queue("loop0", &[after])));
    })
}

/// I/Os of so many KiB where a request has at most 128.
fn split(kib: u32) -> Recording {
    with(|r| {
        r.plan.jobs[0].pattern.block_size = PerDirection::all(BlockSizes::Fixed(kib << 10));
        let settings = [("max_hw_sectors_kb", "1280"), ("max_sectors_kb", "128")];
        r.targets = on_device(queue("loop0", &settings), None);
    })
}

/// Writes to a loop device whose cache the kernel takes for this.
fn loop_cache(setting: &str) -> Recording {
    let mut recording = writes(|_| {});
    let mut device = queue("loop0", &[("write_cache", setting)]);
    device.backing = image(true);
    recording.targets = on_device(device, None);
    recording
}

/// Buffered reads of a region of so many MiB, of 8,192 of memory.
fn buffered(mib: u64) -> Recording {
    with(|r| {
        r.plan.jobs[0].files.direct = false;
        r.jobs[0].region = Bytes::from_mib(mib);
    })
}

/// A device that reports so many seconds of thermal management after the run.
fn throttled(seconds: u64) -> Recording {
    with(|r| {
        let health = |throttled_s| HealthFacts {
            throttled_s: Some(throttled_s),
            ..HealthFacts::default()
        };
        r.targets = vec![below(|d| d.health = health(10))];
        r.targets[0].devices[0].after = Some(DeviceFacts {
            health: health(10 + seconds),
            ..DeviceFacts::default()
        });
    })
}

/// The clean run on a device of this name.
fn on_named(name: &str) -> Recording {
    with(|r| r.targets = on_device(queue(name, &[]), None))
}

fn through_image(direct: bool) -> Recording {
    with(|r| {
        let mut device = queue("loop0", &[]);
        device.backing = image(direct);
        r.targets = on_device(device, None);
    })
}

/// The sensor is hot all the time, and the speed does not change.
fn hot_all_along() -> Recording {
    with(|r| sampled(r, |_, sample| sample.celsius = Some(90.0)))
}

pub const SCENES: &[Scenes<Recording>] = &[
    // Half of 163,840,000 bytes, and a sector less.
    Scenes::limit(
        "PAGE_CACHE",
        (
            || counted(81_920_000 - 512, 20_000),
            "50 % of the reads came from memory: the devices delivered 78.12 MiB of 156.25 MiB.",
        ),
        &[
            || counted(81_920_000, 20_000),
            || counted(163_840_000, 40_000),
        ],
    ),
    // One and a half times as many requests as I/Os, and two thirds as many.
    Scenes::limit(
        "REQUESTS_RESIZED",
        (
            || counted(163_840_000, 60_000),
            "40,000 reads of 4 KiB on average became 60,000 requests at vda (1.5 for each I/O).",
        ),
        &[
            || counted(163_840_000, 59_999),
            || counted(163_840_000, 40_000),
        ],
    ),
    Scenes::limit(
        "REQUESTS_RESIZED",
        (
            || counted(163_840_000, 26_666),
            "40,000 reads of 4 KiB on average became 26,666 requests at vda (0.7 for each I/O).",
        ),
        &[
            || counted(163_840_000, 26_667),
            || counted(163_840_000, 40_000),
        ],
    ),
    Scenes::limit(
        "DIRECT_NOT_DIRECT",
        (
            || cached(0.5),
            "and 50 % of it was in the page cache at the end",
        ),
        &[|| cached(0.49), || on(|t| t.cached_share = Some(0.5))],
    ),
    Scenes::limit(
        "HOLES_READ",
        (
            || written(0.99),
            "1.0 % of the read range of /data/file was never written",
        ),
        &[|| written(0.9901), || written(1.0)],
    ),
    Scenes::fact("TARGET_GONE", &[|| on(|t| t.gone = None)]),
    Scenes::fact("TARGET_SHARED", &[|| on(|t| t.sharers.clear())]),
    // The kernel changes the latency of its throttle of writeback by itself.
    Scenes::fact(
        "SETTINGS_CHANGED",
        &[
            || settings(("max_sectors_kb", "1280"), ("max_sectors_kb", "1280")),
            || settings(("wbt_lat_usec", "2000"), ("wbt_lat_usec", "75000")),
        ],
    ),
    Scenes::limit(
        "SETTINGS_REDUCED",
        (
            || split(132),
            "each I/O of 132 KiB is split into 2 requests",
        ),
        &[|| split(128), clean],
    ),
    Scenes::fact(
        "CACHE_SETTING_DISAGREES",
        &[|| loop_cache("write back"), || through_image(true)],
    ),
    Scenes::fact(
        "VOLATILE_CACHE_NO_FLUSH",
        &[
            || {
                writes(|job| {
                    job.files.direct = false;
                    job.sync.fsync_at_end = true;
                })
            },
            || {
                writes(|job| {
                    job.files.direct = false;
                    job.files.sync_mode = SyncMode::Sync;
                })
            },
        ],
    ),
    // Half of 8,192 MiB.
    Scenes::limit(
        "WORKING_SET_CACHED",
        (
            || buffered(4_096),
            "156.25 MiB of buffered reads went to a region of 4 GiB, which fits into the 8 GiB of memory.",
        ),
        &[|| buffered(4_097), clean],
    ),
    Scenes::limit(
        "LATENCY_ABOVE_CLASS",
        (
            || single_reads(Medium::Disk, 20 * MS + 1),
            "reads took 20.0 ms on average; the limit for a hard disk is 20.0 ms",
        ),
        &[|| single_reads(Medium::Disk, 20 * MS), clean],
    ),
    Scenes::limit(
        "LATENCY_ABOVE_CLASS",
        (
            || single_reads(Medium::Flash, 3 * MS + 1),
            "reads took 3.00 ms on average; the limit for an SSD is 3.00 ms",
        ),
        &[|| single_reads(Medium::Flash, 3 * MS), clean],
    ),
    // 4,000 per second of 8.25 ms are 33 in flight, and of 8 ms they are 32.
    Scenes::limit(
        "DEVICE_QUEUE_EXCEEDED",
        (
            || of_queue(33, 8_250_000),
            "33.0 of 33 requested I/Os were in flight on average; nvme0n1 accepts 32 commands at once, so 1.0 waited",
        ),
        &[|| of_queue(33, 8 * MS), || of_queue(32, 8 * MS)],
    ),
    // A quarter of 100 ms.
    Scenes::limit(
        "SCHEDULER_WAIT",
        (
            || blamed_us([0, 0, 0, 25_000, 75_000, 0], None),
            "25 % of the response time (25.0 ms per I/O) passed in the queue of the I/O scheduler",
        ),
        &[
            || blamed_us([0, 0, 0, 24_900, 75_100, 0], None),
            || blamed_us([0, 0, 0, 0, 100_000, 0], None),
        ],
    ),
    // A tenth of a millisecond, also where it is half of the time.
    Scenes::limit(
        "SCHEDULER_WAIT",
        (
            || blamed_us([0, 0, 0, 100, 100, 0], None),
            "50 % of the response time (100 us per I/O) passed in the queue of the I/O scheduler",
        ),
        &[|| blamed_us([0, 0, 0, 99, 99, 0], None), clean],
    ),
    // Others were in the device for half of the time there.
    Scenes::limit(
        "BEHIND_FLUSHES",
        (
            || blamed_us([0, 50_000, 0, 0, 50_000, 0], Some(OtherKind::Flushes)),
            "25 % of the response time (25.0 ms per I/O) passed in the device while it flushed its cache",
        ),
        &[
            || blamed_us([0, 50_200, 0, 0, 49_800, 0], Some(OtherKind::Flushes)),
            || blamed_us([0, 50_000, 0, 0, 50_000, 0], None),
        ],
    ),
    Scenes::limit(
        "BEHIND_OWN_WRITES",
        (
            || {
                blamed_us(
                    [0, 50_000, 0, 0, 50_000, 0],
                    Some(OtherKind::OwnLargeWrites),
                )
            },
            "25 % of the response time (25.0 ms per I/O) passed while the load's own writes of 128 KiB or more",
        ),
        &[
            || {
                blamed_us(
                    [0, 50_200, 0, 0, 49_800, 0],
                    Some(OtherKind::OwnLargeWrites),
                )
            },
            || blamed_us([0, 50_000, 0, 0, 50_000, 0], Some(OtherKind::Flushes)),
        ],
    ),
    Scenes::limit(
        "REAPED_LATE",
        (
            || blamed_us([0, 0, 0, 0, 75_000, 25_000], None),
            "25 % of the response time (25.0 ms per I/O) passed after the device had completed them",
        ),
        &[
            || blamed_us([0, 0, 0, 0, 75_100, 24_900], None),
            || blamed_us([0, 0, 0, 0, 100_000, 0], None),
        ],
    ),
    // 339 of 400 are 15.25 % less, 341 are 14.75 %; the sensor is at 65 degrees and 5 degrees hotter, or less.
    Scenes::limit(
        "TOO_HOT",
        (
            || heated(339, (60.0, 65.0)),
            "Throughput fell by 15 % between the first and the last third of the run, while the hottest sensor rose from 60 to 65",
        ),
        &[
            || heated(341, (60.0, 65.0)),
            || heated(339, (59.0, 64.9)),
            || heated(339, (60.1, 65.0)),
            || heated(400, (60.0, 90.0)),
            hot_all_along,
        ],
    ),
    Scenes::limit(
        "TOO_HOT",
        (
            || throttled(1),
            "nvme0n1 reported 1 s of thermal management",
        ),
        &[|| throttled(0), clean],
    ),
    Scenes::fact(
        "MEMORY_BACKED",
        &[|| on_named("nvme0n1"), || on_named("ramdisk")],
    ),
    Scenes::fact(
        "LOOP_BUFFERED",
        &[|| through_image(true), || on_named("loop0")],
    ),
];
