//! Controllers, caches and tiers against their arithmetic.

use fathom_sim::{
    Cache, CacheParameters, Controller, ControllerParameters, Library, SimDevice, SimOp, Tier,
    TierParameters, WritePolicy, closed_loop,
};

use crate::structural::{Random, assert_within, measure, one, random_requests, request, settle};

fn device(text: &str) -> Box<dyn SimDevice> {
    Library::new()
        .build_text(text, 1)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn controller_parameters() -> ControllerParameters {
    ControllerParameters {
        cache_bytes: 16 << 20,
        high_water: 0.5,
        low_water: 0.25,
        read_ns: 20_000,
        write_ns: 30_000,
        latency_ns: 5000,
        write_latency_ns: 0,
        battery: true,
        destage_after_ns: 1_000_000_000,
        destage_depth: 4,
        destage_ns: 0,
        destage_bytes: 256 << 10,
        read_ahead_bytes: 0,
        batching: None,
    }
}

const DISK: &str = "measured-disk(service=5ms, capacity=1G)";

/// Writes are acknowledged by the cache until the high-water mark; then at the rate of the disk.
#[test]
fn writes_are_cached_up_to_the_high_water_mark() {
    let mut controller =
        Controller::new(controller_parameters(), device(DISK)).expect("a controller");
    let mut next = random_requests(SimOp::Write, 1 << 30, 4096, 3);
    let mut latencies = Vec::new();
    closed_loop(&mut controller, 1, 6000, &mut next, |_, latency| {
        latencies.push(latency);
    });
    // 8 MiB of 4 KiB are 2,048 writes; while they arrive, 35 us each, the disk starts after the
    // low-water mark of 4 MiB and takes 5 ms each: 1,024 x 35 us / 5 ms = 7 more.
    let first_slow = latencies.iter().position(|latency| *latency > 35_000);
    let first_slow = first_slow.expect("the cache fills");
    assert!((2048..2070).contains(&first_slow), "{first_slow}");
    // Then it proceeds each time when 4 MiB were written back: 1,024 x 5 ms.
    assert_within("stall", latencies[first_slow] as f64, 1024.0 * 5e6, 0.02);
    let stalls = latencies
        .iter()
        .filter(|latency| **latency > 35_000)
        .count();
    assert!((3..=4).contains(&stalls), "{stalls}");
}

/// Without a battery each write waits for the disk; when the battery fails the cache is emptied.
#[test]
fn a_failed_battery_makes_writes_wait() {
    let mut controller =
        Controller::new(controller_parameters(), device(DISK)).expect("a controller");
    let mut now = 0;
    for block in 0..100 {
        let latency = one(
            &mut controller,
            &mut now,
            request(SimOp::Write, block * 8192, 4096),
        );
        assert_eq!(latency, 35_000);
    }
    assert_eq!(controller.dirty_bytes(), 100 * 4096);
    let flush = one(&mut controller, &mut now, request(SimOp::Flush, 0, 0));
    assert_eq!(flush, 35_000);
    controller.set_battery(now, false);
    settle(&mut controller, &mut now);
    assert_eq!(controller.dirty_bytes(), 0);
    let counts = controller.member_counts();
    assert_eq!((counts.writes, counts.written_bytes), (100, 100 * 4096));
    let latency = one(&mut controller, &mut now, request(SimOp::Write, 0, 4096));
    assert_eq!(latency, 35_000 + 5_000_000);
    controller.set_battery(now, true);
    let latency = one(&mut controller, &mut now, request(SimOp::Write, 0, 4096));
    assert_eq!(latency, 35_000);
    // A read of dirty data is answered from the cache, another one by the disk.
    let latency = one(&mut controller, &mut now, request(SimOp::Read, 0, 4096));
    assert_eq!(latency, 25_000);
    let latency = one(
        &mut controller,
        &mut now,
        request(SimOp::Read, 1 << 20, 4096),
    );
    assert_eq!(latency, 25_000 + 5_000_000);
}

/// A log in pieces of 4 KiB reaches the disk in pieces of 256 KiB: 64 times fewer writes, and all
/// bytes once.
#[test]
fn sequential_log_writes_are_coalesced() {
    let mut controller =
        Controller::new(controller_parameters(), device(DISK)).expect("a controller");
    let mut now = 0;
    let records = 4096_u64;
    for record in 0..records {
        one(
            &mut controller,
            &mut now,
            request(SimOp::Write, record * 4096, 4096),
        );
    }
    settle(&mut controller, &mut now);
    let counts = controller.member_counts();
    assert_eq!(counts.written_bytes, records * 4096);
    assert!((64..=66).contains(&counts.writes), "{}", counts.writes);
    // Rewriting one block again and again costs one write.
    for _ in 0..500 {
        one(&mut controller, &mut now, request(SimOp::Write, 0, 4096));
    }
    settle(&mut controller, &mut now);
    assert_eq!(controller.member_counts().writes, counts.writes + 1);
}

/// Dirty data is written back in the order of its addresses, which a disk does faster: the elevator.
#[test]
fn write_back_is_faster_than_the_disk_alone() {
    let rate = |text: &str| {
        let mut device = device(text);
        let mut next = random_requests(SimOp::Write, device.capacity(), 4096, 3);
        measure(&mut *device, 4, (8000, 8000), 0, |_| next()).iops
    };
    let disk = rate("st91000640ss(write_cache=0)");
    let cached = rate(
        "controller(st91000640ss(write_cache=0), cache=16M, destage_depth=32, read_time=20us, write_time=30us)",
    );
    assert!(cached > 1.3 * disk, "{cached} {disk}");
}

/// Mean = h R_fast + (1 - h) R_slow; with uniform reads and a warm cache, h is the share of the
/// blocks that fit.
#[test]
fn the_mean_of_a_cache_follows_its_hit_share() {
    for share in [0.25, 0.5, 0.9] {
        let parameters = CacheParameters {
            block_bytes: 4096,
            writes: WritePolicy::Through,
            promote_share: 1.0,
            bypass_bytes: 0,
        };
        let blocks = 8192_u64;
        let fast = format!(
            "servers(service=100us, count=1000, capacity={}k)",
            (blocks as f64 * share) as u64 * 4
        );
        let slow = "servers(service=5ms, count=1000, capacity=32M)";
        let mut cache = Cache::new(parameters, device(&fast), device(slow), 1).expect("a cache");
        let mut next = random_requests(SimOp::Read, blocks * 4096, 4096, 3);
        closed_loop(&mut cache, 1, 60_000, &mut next, |_, _| {});
        let before = cache.counts();
        let mut latencies = 0;
        let mut now = 1_000_000_000_000;
        settle(&mut cache, &mut now);
        now = now.max(1_000_000_000_000);
        let count = 40_000;
        for _ in 0..count {
            latencies += one(&mut cache, &mut now, next());
        }
        let after = cache.counts();
        let hits = (after.hits - before.hits) as f64 / f64::from(count);
        assert_within("hit share", hits, share, 0.03);
        let expected = hits * 100e3 + (1.0 - hits) * 5e6;
        assert_within("mean", latencies as f64 / f64::from(count), expected, 0.005);
        // Each miss is promoted: one write to the fast device.
        let writes = cache.member_counts()[0].writes;
        assert_eq!(writes, after.misses);
        assert_eq!(writes, after.promotions);
    }
}

/// V13. A database with more memory sends fewer reads to its device, and larger ones, because
/// scans are what remains. Measured: PostgreSQL 13.6 KB and 43 times fewer reads with much memory,
/// 9.5 KB with little.
#[test]
fn more_memory_means_fewer_and_larger_reads() {
    let mut results = Vec::new();
    for memory in [16_u64, 256] {
        let parameters = CacheParameters {
            block_bytes: 8192,
            writes: WritePolicy::Through,
            promote_share: 1.0,
            // Scans read ahead in larger requests, past the pages that they keep.
            bypass_bytes: 64 << 10,
        };
        let memory = format!("servers(service=1us, count=8, capacity={memory}M)");
        let backing = "servers(service=200us, count=8, capacity=4G)";
        let mut pool =
            Cache::new(parameters, device(&memory), device(backing), 1).expect("a cache");
        let mut random = Random(4);
        let mut scan = 0;
        let mut next = || {
            if random.below(200) == 0 {
                scan = (scan + (128 << 10)) % (4 << 30);
                return request(SimOp::Read, scan, 128 << 10);
            }
            // Pages of an index: the product of two uniform numbers prefers low ones.
            let page = random.below(30_000) * random.below(30_000) / 30_000;
            request(SimOp::Read, page * 8192, 8192)
        };
        closed_loop(&mut pool, 8, 100_000, &mut next, |_, _| {});
        let before = pool.member_counts()[1];
        closed_loop_again(&mut pool, 100_000, &mut next);
        let after = pool.member_counts()[1];
        let reads = after.reads - before.reads;
        results.push((reads, (after.read_bytes - before.read_bytes) / reads));
    }
    let [(few_memory, small), (much_memory, large)] = results[..] else {
        panic!("two results");
    };
    assert!(much_memory * 2 < few_memory, "{results:?}");
    assert!(large > small, "{results:?}");
}

/// A second loop, after everything of the first is done.
fn closed_loop_again(
    device: &mut dyn SimDevice,
    count: u64,
    next: &mut dyn FnMut() -> fathom_sim::SimRequest,
) {
    let mut now = 1_000_000_000_000;
    settle(device, &mut now);
    now = now.max(1_000_000_000_000);
    for _ in 0..count {
        one(device, &mut now, next());
    }
}

/// Written data is not lost to eviction: each changed block goes to the backing device.
#[test]
fn changed_blocks_are_written_back_when_they_are_evicted() {
    let parameters = CacheParameters {
        block_bytes: 4096,
        writes: WritePolicy::Back,
        promote_share: 1.0,
        bypass_bytes: 0,
    };
    let mut cache = Cache::new(
        parameters,
        device("servers(service=100us, count=100, capacity=1M)"),
        device("servers(service=5ms, count=100, capacity=1G)"),
        1,
    )
    .expect("a cache");
    let mut now = 0;
    for block in 0..1000 {
        let latency = one(
            &mut cache,
            &mut now,
            request(SimOp::Write, block * 4096, 4096),
        );
        assert_eq!(latency, 100_000);
    }
    settle(&mut cache, &mut now);
    // 256 of 1,000 different blocks are still in the cache.
    assert_eq!(cache.member_counts()[1].writes, 1000 - 256);
    assert_eq!(cache.counts().write_backs, 1000 - 256);
}

/// Hot extents move to the fast tier at the end of an epoch, not before, and nothing is copied
/// twice.
#[test]
fn hot_extents_move_after_an_epoch() {
    let parameters = TierParameters {
        extent_bytes: 1 << 20,
        epoch_ns: 10_000_000_000,
        epoch_bytes: 0,
    };
    let mut tier = Tier::new(
        parameters,
        device("servers(service=100us, count=100, capacity=8M)"),
        device("servers(service=5ms, count=100, capacity=64M)"),
    )
    .expect("a tier");
    assert_eq!(tier.capacity(), 72 << 20);
    let mut now = 0;
    let mut random = Random(6);
    // Four hot extents at the end of the slow tier.
    let mut hot = |tier: &mut Tier, now: &mut u64| {
        let offset = (68 << 20) + random.below(1024) * 4096;
        one(tier, now, request(SimOp::Read, offset, 4096))
    };
    while now < 9_900_000_000 {
        assert_eq!(hot(&mut tier, &mut now), 5_000_000);
    }
    settle(&mut tier, &mut now);
    assert_eq!(tier.moved_extents(), 4);
    for _ in 0..100 {
        assert_eq!(hot(&mut tier, &mut now), 100_000);
    }
    // One exchange reads both extents and writes both.
    let slow = tier.member_counts()[1];
    assert_eq!(slow.writes, 4);
    // Used again in the next epoch they stay: no further exchange.
    settle(&mut tier, &mut now);
    assert_eq!(tier.moved_extents(), 4);
}

/// The shape of seed 004: disks alone are slower than two flash drives as a cache in front of them,
/// and these than four as a tier, for skewed random reads.
#[test]
fn disks_are_slower_than_a_cache_and_that_than_a_tier() {
    let disks =
        "raid10(20 x measured-disk(service=7.5ms, variation=0.3, capacity=512M), chunk=64k)";
    let flash = "servers(service=150us, count=16, capacity=200M)";
    let mean = |text: String| {
        let mut device = device(&text);
        let mut random = Random(8);
        let measured = measure(&mut *device, 16, (150_000, 50_000), 0, |_| {
            // Extents of 1 MiB with popularity by a power law, blocks in them uniformly.
            let unit = (1 + random.below(1 << 20)) as f64 / f64::from(1 << 20);
            let extent = (unit.powi(4) * 5000.0) as u64;
            let offset = (extent << 20) + random.below(256) * 4096;
            request(SimOp::Read, offset, 4096)
        });
        measured.mean_us()
    };
    let alone = mean(disks.to_owned());
    let cached = mean(format!("cache(raid0(2 x {flash}), {disks}, block=64k)"));
    let tiered = mean(format!(
        "tier(raid0(4 x {flash}), {disks}, extent=1M, epoch=5s)"
    ));
    assert!(
        tiered < cached && cached < alone,
        "{tiered} {cached} {alone}"
    );
}

#[test]
fn impossible_caches_are_refused() {
    for (text, problem) in [
        ("cache(hdd-7200)", "needs 2 devices"),
        ("cache(hdd-7200, hdd-7200, block=5000B)", "power of two"),
        ("cache(floppy-1440, hdd-7200, block=64M)", "holds 0 blocks"),
        ("tier(hdd-7200, hdd-7200, extent=4k)", "64 KiB"),
        (
            "controller(hdd-7200, read_time=1us, write_time=1us, low_water=90%)",
            "low_water",
        ),
        ("controller(hdd-7200, write_time=1us)", "missing parameter"),
    ] {
        let error = Library::new().build_text(text, 1).expect_err(text);
        let error = error.to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}
