//! What holds for every device: determinism, and each request completes once, at its time.

use std::collections::BTreeMap;

use fathom_sim::{Library, SimCompletion, SimOp, SimRequest};

use crate::structural::Random;

/// Compositions with all kinds of this file's models.
const DEVICES: &[&str] = &[
    "samsung-970-evo-plus-1tb",
    "samsung-970-evo-plus-1tb(precondition=empty)",
    "samsung-970-evo-plus-1tb(capacity=64M, over_provisioning=5%, buffer=128k, queue_depth=4)",
    "nvme-ssd",
    "sata-ssd",
    "perc-1g(sata-ssd)",
    "p420i(raid0(4 x sata-ssd, chunk=64k))",
    "measured-disk(service=5ms, variation=0.5, queue_gain=0.1)",
    "raid0(4 x hdd-7200, chunk=16k)",
    "raid1(2 x hdd-7200)",
    "raid10(4 x samsung-970-evo-plus-1tb, chunk=1M)",
    "raid5(8 x hdd-7200, chunk=64k)",
    "raid5(4 x hdd-7200, chunk=64k, failed=1)",
    "raid5(3 x floppy-1440, failed=1, rebuild=floppy-1440, rebuild_rate=10kB/s)",
    "raid6(6 x hdd-7200, chunk=4k, failed=2)",
    "raid5(4 x faults(hdd-7200, read_errors=1%, write_errors=1%))",
    "raid6(5 x faults(measured-disk(service=1ms), fails_at=2s))",
    "controller(hdd-7200, read_time=20us, write_time=30us, cache=1M)",
    "controller(hdd-7200, read_time=20us, write_time=30us, cache=64k, read_ahead=128k, \
     batch_period=175us, destage_after=0)",
    "controller(hdd-7200, read_time=20us, write_time=30us, battery=off)",
    "cache(samsung-970-evo-plus-1tb(capacity=64M), hdd-7200)",
    "cache(samsung-970-evo-plus-1tb(capacity=64M), raid5(3 x hdd-7200), writes=back, block=4k)",
    "cache(samsung-970-evo-plus-1tb(capacity=64M), hdd-7200, writes=around, promote=50%, bypass=64k)",
    "tier(samsung-970-evo-plus-1tb(capacity=64M), hdd-7200, epoch=100ms)",
    "controller(raid10(4 x cache(samsung-970-evo-plus-1tb(capacity=16M), hdd-7200)), \
     read_time=20us, write_time=30us)",
];

/// Random requests: all operations, any alignment, some beyond the end, in bursts and pauses.
fn completions(text: &str, seed: u64, count: u64) -> Vec<SimCompletion> {
    let mut device = Library::new()
        .build_text(text, seed)
        .unwrap_or_else(|error| panic!("{error}"));
    let capacity = device.capacity();
    let mut random = Random(seed);
    let (mut done, mut now, mut all) = (Vec::new(), 0, Vec::new());
    let mut open = BTreeMap::new();
    let mut check = |done: &mut Vec<SimCompletion>,
                     open: &mut BTreeMap<u64, (u64, bool)>,
                     last: &mut u64,
                     now: u64| {
        for completion in done.drain(..) {
            let (submitted, beyond) = open
                .remove(&completion.id)
                .unwrap_or_else(|| panic!("{text}: {} completed twice", completion.id));
            assert!(completion.at >= submitted && completion.at <= now, "{text}");
            assert!(completion.at >= *last, "{text}: order of completions");
            assert!(completion.failed || !beyond, "{text}: beyond the end");
            *last = completion.at;
            all.push(completion);
        }
    };
    let mut last = 0;
    for id in 0..count {
        // Advance to a random time, from event to event.
        let pause = [0, 1000, 1_000_000, 50_000_000][random.below(4) as usize];
        let until = now + random.below(pause + 1);
        while let Some(at) = device.next_event().filter(|at| *at <= until) {
            assert!(at >= now, "{text}: an event in the past");
            now = at;
            device.advance(now, &mut done);
            check(&mut done, &mut open, &mut last, now);
        }
        now = until;
        device.advance(now, &mut done);
        check(&mut done, &mut open, &mut last, now);
        let op = [
            SimOp::Read,
            SimOp::Write,
            SimOp::Read,
            SimOp::Write,
            SimOp::Write,
            SimOp::Trim,
            SimOp::Flush,
        ][random.below(7) as usize];
        let bytes = match op {
            SimOp::Flush => 0,
            _ => [512, 4096, 4096, 8192, 65_536, 200_000, 1 << 20][random.below(7) as usize],
        };
        let span = [capacity, 32 << 20, 1 << 20][random.below(3) as usize].min(capacity);
        let mut offset = random.below(span) / 512 * 512;
        let beyond = random.below(50) == 0 && op != SimOp::Flush;
        if beyond {
            offset = capacity - u64::from(bytes) / 2;
        } else if op == SimOp::Flush {
            offset = 0;
        } else {
            offset = offset.min(capacity.saturating_sub(u64::from(bytes)) / 512 * 512);
        }
        let beyond = offset + u64::from(bytes) > capacity;
        let fua = op == SimOp::Write && random.below(8) == 0;
        open.insert(id, (now, beyond));
        device.submit(
            now,
            SimRequest {
                id,
                op,
                offset,
                bytes,
                fua,
            },
        );
    }
    while let Some(at) = device.next_event() {
        assert!(at >= now, "{text}: an event in the past");
        now = at;
        device.advance(now, &mut done);
        check(&mut done, &mut open, &mut last, now);
    }
    assert!(open.is_empty(), "{text}: {} never completed", open.len());
    all
}

#[test]
fn every_request_completes_once() {
    for text in DEVICES {
        assert_eq!(completions(text, 1, 1500).len(), 1500, "{text}");
    }
}

#[test]
fn the_same_seed_gives_the_same_completions() {
    for text in DEVICES {
        let first = completions(text, 5, 600);
        assert_eq!(first, completions(text, 5, 600), "{text}");
    }
}

/// Parameters of all kinds with values that are possible, extreme, impossible or not values at all:
/// either an error with the place, or a device that works.
#[test]
fn random_parameters_never_panic() {
    const KINDS: &[(&str, &[&str])] = &[
        (
            "samsung-970-evo-plus-1tb(precondition=filled, ",
            &[
                "capacity",
                "channels",
                "chips_per_channel",
                "dies_per_chip",
                "planes",
                "page",
                "pages_per_block",
                "read_time",
                "read_spread",
                "program_time",
                "erase_time",
                "channel_rate",
                "program_suspend",
                "link_rate",
                "command_time",
                "queue_depth",
                "buffer",
                "buffer_time",
                "read_ahead",
                "read_ahead_streams",
                "over_provisioning",
                "slc_cache",
                "slc_dynamic",
                "slc_fold_rate",
                "precondition",
                "garbage_collection",
            ],
        ),
        (
            "raid5(4 x measured-disk(service=1ms), ",
            &["chunk", "rebuild_rate", "failed", "rebuild"],
        ),
        (
            "raid6(4 x measured-disk(service=1ms), ",
            &["chunk", "failed"],
        ),
        (
            "raid10(4 x measured-disk(service=1ms), ",
            &["chunk", "failed"],
        ),
        (
            "perc-1g(measured-disk(service=1ms), ",
            &[
                "cache",
                "high_water",
                "low_water",
                "read_time",
                "write_time",
                "latency",
                "write_latency",
                "battery",
                "destage_after",
                "destage_depth",
                "destage_size",
                "destage_time",
                "read_ahead",
                "batch_period",
                "batch",
                "batch_threshold",
                "batch_clock_1",
                "batch_clock_2",
            ],
        ),
        (
            "cache(measured-disk(service=1ms, capacity=16M), measured-disk(service=1ms), ",
            &["block", "writes", "promote", "bypass"],
        ),
        (
            "tier(measured-disk(service=1ms, capacity=64M), measured-disk(service=1ms), ",
            &["extent", "epoch", "epoch_bytes"],
        ),
        (
            "measured-disk(service=1ms, ",
            &[
                "capacity",
                "service",
                "variation",
                "queue_gain",
                "queue_depth",
            ],
        ),
    ];
    const VALUES: &[&str] = &[
        "0", "1", "2", "3", "7", "64", "65536", "1e9", "-1", "0.5", "50%", "1e300", "nan", "on",
        "off", "back", "empty", "1B", "511B", "4k", "64k", "16M", "1G", "1TB", "999PB", "1e18B",
        "1ns", "1us", "1ms", "1s", "24h", "1kB/s", "1GB/s", "1PB/s", "hdd-7200", "x(y",
    ];
    let mut random = Random(17);
    let (mut refused, mut built) = (0, 0);
    for _ in 0..4000 {
        let (start, names) = KINDS[random.below(KINDS.len() as u64) as usize];
        let mut text = start.to_owned();
        for number in 0..1 + random.below(3) / 2 {
            let name = names[random.below(names.len() as u64) as usize];
            let value = VALUES[random.below(VALUES.len() as u64) as usize];
            text += &format!("{}{name}={value}", if number > 0 { ", " } else { "" });
        }
        text += ")";
        match Library::new().build_text(&text, 1) {
            Err(error) => {
                assert!(error.to_string().contains(':'), "{text}: {error}");
                refused += 1;
            }
            Ok(mut device) => {
                built += 1;
                let (mut done, mut now) = (Vec::new(), 0);
                let capacity = device.capacity();
                for id in 0..40 {
                    let op = [SimOp::Read, SimOp::Write, SimOp::Trim][random.below(3) as usize];
                    let bytes = 4096 << random.below(6) as u32;
                    let offset = random.below(capacity);
                    device.submit(
                        now,
                        SimRequest {
                            id,
                            op,
                            offset,
                            bytes,
                            fua: false,
                        },
                    );
                    if random.below(2) == 0
                        && let Some(at) = device.next_event()
                    {
                        now = at;
                        device.advance(now, &mut done);
                    }
                }
                let mut events = 0;
                while done.len() < 40 {
                    now = device
                        .next_event()
                        .unwrap_or_else(|| panic!("{text}: {} of 40 completed", done.len()));
                    device.advance(now, &mut done);
                    events += 1;
                    assert!(events < 1_000_000, "{text}: no end");
                }
            }
        }
    }
    assert!(refused > 500 && built > 200, "{refused} {built}");
}
