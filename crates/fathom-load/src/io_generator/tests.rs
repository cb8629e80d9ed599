//! Tests of scripts against the job options.

use fathom_model::{
    Access, BlockSizes, Bytes, Direction, Distribution, Job, PerDirection, Personality, Traffic,
};

use super::{IoGenerator, PlannedIo, Region, build};
use crate::engine::Op;
use crate::testing::job;

const REGION: [Region; 1] = [Region {
    start: 4096,
    end: 4096 + (1 << 20),
}];

fn pass(generator: &mut IoGenerator) -> Vec<PlannedIo> {
    let mut planned_ios = Vec::new();
    while generator.fill(&mut planned_ios, 33) > 0 {}
    planned_ios
}

fn planned_ios(job: &Job, regions: &[Region]) -> Vec<PlannedIo> {
    pass(&mut build(job, regions, Personality::Fathom).expect("builds"))
}

/// Asserts that the I/Os tile the region: no gap, no overlap.
fn assert_tiles(mut planned_ios: Vec<PlannedIo>, region: Region) {
    planned_ios.sort_by_key(|d| d.offset);
    let mut at = region.start;
    for planned_io in planned_ios {
        assert_eq!(planned_io.offset, at);
        at += u64::from(planned_io.len);
    }
    assert_eq!(at, region.end);
}

const RANDOM: Access = Access::Random {
    every: 1,
    identical: false,
};

#[test]
fn sequential_reads_are_in_order() {
    let all = planned_ios(&job(Traffic::Read, Access::Sequential { skip: 0 }), &REGION);
    assert_eq!(all.len(), 256);
    assert!(
        all.iter()
            .enumerate()
            .all(|(i, d)| d.offset == 4096 + i as u64 * 4096 && d.op == Op::Read)
    );
}

#[test]
fn random_reads_access_every_block_once_in_another_order_each_pass() {
    let mut generator =
        build(&job(Traffic::Read, RANDOM), &REGION, Personality::Fathom).expect("builds");
    let (first, second) = (pass(&mut generator), pass(&mut generator));
    assert_ne!(first, second);
    assert!(first.windows(2).any(|w| w[1].offset != w[0].offset + 4096));
    assert_tiles(first, REGION[0]);
    assert_tiles(second, REGION[0]);
}

#[test]
fn without_the_random_map_some_blocks_repeat() {
    let mut job = job(Traffic::Read, RANDOM);
    job.pattern.without_replacement = false;
    let mut all: Vec<u64> = planned_ios(&job, &REGION)
        .iter()
        .map(|d| d.offset)
        .collect();
    assert_eq!(all.len(), 256);
    all.sort_unstable();
    all.dedup();
    // Of n draws from n blocks, 1 - 1/e are distinct: 162 of 256; sd is below 7.
    assert!((135..190).contains(&all.len()), "{}", all.len());
}

#[test]
fn several_sizes_without_replacement_tile_the_region() {
    let mut job = job(Traffic::TrimWrite, RANDOM);
    for sizes in [
        BlockSizes::Range {
            min: 512,
            max: 4096,
        },
        BlockSizes::Split(vec![(512, 25.0), (1024, 25.0), (2048, 25.0), (4096, 25.0)]),
    ] {
        job.pattern.block_size = PerDirection::all(sizes);
        let all = planned_ios(&job, &REGION);
        assert!(
            all.iter()
                .all(|d| d.op == Op::Trim && d.then_write && d.len <= 4096 && d.len % 512 == 0)
        );
        assert!(all.windows(2).any(|w| w[1].offset < w[0].offset));
        assert_tiles(all, REGION[0]);
    }
}

#[test]
fn a_mix_keeps_its_share_and_stops_when_both_directions_reach_the_size() {
    for access in [RANDOM, Access::Sequential { skip: 0 }] {
        let all = planned_ios(
            &job(Traffic::ReadWrite { read_percent: 70 }, access),
            &[Region {
                start: 0,
                end: 64 << 20,
            }],
        );
        let reads = all.iter().filter(|d| d.op == Op::Read).count();
        assert_eq!(all.len(), 16_384);
        // Binomial, sd 59.
        assert!(reads.abs_diff(11_469) < 300, "{reads}");
    }
}

#[test]
fn mixed_sequential_directions_have_their_own_positions() {
    let all = planned_ios(
        &job(
            Traffic::ReadWrite { read_percent: 50 },
            Access::Sequential { skip: 0 },
        ),
        &REGION,
    );
    for op in [Op::Read, Op::Write] {
        let mine: Vec<u64> = all
            .iter()
            .filter(|d| d.op == op)
            .map(|d| d.offset)
            .collect();
        assert!(mine.windows(2).all(|w| w[1] == w[0] + 4096));
        assert_eq!(mine[0], 4096);
    }
}

/// Regression 0001: a sequential pass with random block sizes skipped the end of its region if the
/// size chosen there did not fit; fio chooses one that fits.
#[test]
fn sequential_passes_with_several_sizes_reach_the_end() {
    for seed in 0..50 {
        let mut job = job(Traffic::TrimWrite, Access::Sequential { skip: 0 });
        let sizes = vec![(512, 25.0), (1024, 25.0), (2048, 25.0), (4096, 25.0)];
        (job.pattern.seed, job.pattern.block_size) =
            (seed, PerDirection::all(BlockSizes::Split(sizes)));
        assert_tiles(planned_ios(&job, &REGION), REGION[0]);
        job.pattern.block_size = PerDirection::all(BlockSizes::Range {
            min: 512,
            max: 4096,
        });
        assert_tiles(planned_ios(&job, &REGION), REGION[0]);
    }
}

#[test]
fn syncs_follow_every_nth_write() {
    let mut job = job(Traffic::Write, Access::Sequential { skip: 0 });
    job.sync.fsync_every = 4;
    let all = planned_ios(&job, &REGION);
    let syncs: Vec<usize> = (0..all.len()).filter(|i| all[*i].op == Op::Fsync).collect();
    assert_eq!(syncs.len(), 64);
    assert!(syncs.iter().enumerate().all(|(n, at)| *at == n * 5 + 4));
}

#[test]
fn files_alternate_and_all_are_covered() {
    let regions = [
        Region {
            start: 0,
            end: 40_960,
        },
        Region {
            start: 0,
            end: 40_960,
        },
    ];
    let all = planned_ios(
        &job(Traffic::Read, Access::Sequential { skip: 0 }),
        &regions,
    );
    assert_eq!(all.len(), 20);
    assert!(
        all.iter()
            .enumerate()
            .all(|(i, d)| d.file as usize == i % 2)
    );
}

#[test]
fn a_copy_of_a_script_gives_the_same_ios() {
    let mut job = job(Traffic::Write, RANDOM);
    for without in [true, false] {
        job.pattern.without_replacement = without;
        let mut generator = build(&job, &REGION, Personality::Fathom).expect("builds");
        let _ = pass(&mut generator);
        let mut copy = generator.clone();
        assert_eq!(pass(&mut generator), pass(&mut copy));
    }
}

#[test]
fn every_distribution_stays_in_the_region() {
    let mut job = job(Traffic::Read, RANDOM);
    for law in [
        Distribution::Zipf {
            theta: 1.2,
            center: None,
        },
        Distribution::Pareto {
            power: 0.2,
            center: Some(0.5),
        },
        Distribution::Normal {
            deviation: 25.0,
            center: None,
        },
        Distribution::Zoned(vec![(60, 10), (30, 20), (8, 30), (2, 40)]),
        Distribution::ZonedAbs(vec![(50, Bytes::new(65_536)), (50, Bytes::from_mib(8))]),
    ] {
        job.pattern.distribution = PerDirection::all(law);
        let all = planned_ios(&job, &REGION);
        assert_eq!(all.len(), 256);
        assert!(
            all.iter().all(|d| d.offset >= 4096
                && d.offset + 4096 <= REGION[0].end
                && d.offset % 4096 == 0)
        );
    }
}

#[test]
fn a_region_without_a_block_is_refused_with_a_message() {
    let refused = build(
        &job(Traffic::Read, RANDOM),
        &[Region { start: 0, end: 100 }],
        Personality::Fathom,
    );
    assert!(
        refused
            .err()
            .map(|error| error.to_string())
            .is_some_and(|message| message.contains("100 bytes") && message.contains("size="))
    );
}

#[test]
fn block_align_sets_the_offsets() {
    let mut job = job(Traffic::Read, RANDOM);
    job.pattern.block_align = PerDirection::all(Bytes::new(512));
    let all = planned_ios(
        &job,
        &[Region {
            start: 0,
            end: 1 << 20,
        }],
    );
    assert!(all.iter().all(|d| d.offset % 512 == 0) && all.iter().any(|d| d.offset % 4096 != 0));
    assert_eq!(all[0].direction(), Some(Direction::Read));
}
