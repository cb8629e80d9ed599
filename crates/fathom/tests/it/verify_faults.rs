//! Corruptions of single blocks by the device are found and classified: twelve classes, hundreds of
//! blocks.

use std::collections::BTreeMap;

use crate::common::{Json, device_code, filename_arg, program, split_args, start};
use fathom_testkit::{Corruption, DeviceOptions, FaultDevice, require};
use serde_json::Value;

const BLOCK: u64 = 4096;
/// Corruptions occur in the third pass, so that there are two older generations.
const PASSES: u64 = 3;

/// The classes of the field studies.
const CLASSES: [&str; 12] = [
    "bit_flip",
    "zeroed",
    "torn_sector",
    "torn_block",
    "shorn_tail",
    "misdirected_write",
    "misdirected_read",
    "lost_write",
    "stale_data",
    "swapped_blocks",
    "data_of_another_run",
    "data_of_another_target",
];

/// A random number generator for offsets and details (SplitMix64).
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// One injected corruption: its class, and the block in which it must be reported.
struct Injected {
    class: &'static str,
    offset: u64,
    /// The other affected block, which must be reported too.
    partner: Option<u64>,
}

fn device(mib: u64) -> FaultDevice {
    FaultDevice::mount(DeviceOptions {
        size: mib << 20,
        ..DeviceOptions::default()
    })
    .expect("a fault device")
}

fn run(device: &FaultDevice, more: &str) -> Json {
    let line = "run --name=x --bs=4k --direct=1 --verify=fathom --rw=randwrite --continue_on_error=verify --output-format=json";
    let mut command = program(split_args(&format!("{line} {more}")));
    command
        .arg(filename_arg(&device.path()))
        .arg(format!("--destroy={}", device_code(&device.path())));
    let ran = start(command).finish();
    let json = ran.json();
    let bad = json.number("/fathom/entries/0/verify/bad_blocks");
    assert_eq!(ran.code(), i32::from(bad > 0.0), "{} {}", ran.out, ran.err);
    json
}

/// A device whose blocks were written by an earlier run with the same job.
fn written(device: FaultDevice) -> FaultDevice {
    let json = run(&device, &format!("--size={}", device.size()));
    assert_eq!(
        json.number("/fathom/entries/0/verify/bad_blocks"),
        0.0,
        "a clean run"
    );
    device
}

/// A corruption of this class, which needs no earlier data. The second value is the other block that it changes.
fn corruption_of(class: &str, other: u64, rng: &mut TestRng) -> (Corruption, Option<u64>) {
    let corruption = match class {
        "bit_flip" => Corruption::Flip {
            at: rng.below(BLOCK) as usize,
            mask: 1 << rng.below(8),
        },
        "zeroed" => Corruption::Zero,
        // Inside the content of a sector; a cut within its first or last bytes would also be a cut between sectors.
        "torn_sector" => Corruption::TearSector {
            bytes: (rng.below(8) * 512 + 72 + rng.below(424)) as usize,
        },
        // The first sector is missing and a later one is written, so that it is not a shorn tail.
        "torn_block" => Corruption::TearBlock {
            kept: (1 + rng.below(126)) << 1,
        },
        "shorn_tail" => Corruption::Shear {
            sectors: 1 + rng.below(7) as usize,
        },
        "misdirected_write" => return (Corruption::Misdirect { to: other }, Some(other)),
        "misdirected_read" => Corruption::ReadFrom { from: other },
        "lost_write" => Corruption::Lose,
        "swapped_blocks" => return (Corruption::Swap { with: other }, Some(other)),
        _ => panic!("{class} has no corruption"),
    };
    (corruption, None)
}

/// Arms `each` corruptions of every class at distinct offsets.
fn arm_corruptions(
    device: &FaultDevice,
    each: usize,
    rng: &mut TestRng,
    earlier_run: &[u8],
    other_target: &FaultDevice,
) -> Vec<Injected> {
    let mut free: Vec<u64> = (0..device.size() / BLOCK).collect();
    for n in (1..free.len()).rev() {
        free.swap(n, rng.below(n as u64 + 1) as usize);
    }
    let mut next_offset = || free.pop().expect("an unused block") * BLOCK;
    let mut all = Vec::new();
    for class in CLASSES {
        for _ in 0..each {
            let (offset, other) = (next_offset(), next_offset());
            let (corruption, partner) = match class {
                "stale_data" => (Corruption::Restore, None),
                "data_of_another_run" => {
                    let before = &earlier_run[offset as usize..(offset + BLOCK) as usize];
                    (Corruption::Put(before.to_vec()), None)
                }
                "data_of_another_target" => {
                    (Corruption::Put(other_target.peek(offset, BLOCK)), None)
                }
                _ => corruption_of(class, other, rng),
            };
            device.corrupt(offset, PASSES, corruption);
            all.push(Injected {
                class,
                offset,
                partner,
            });
        }
    }
    all
}

/// The reported corruptions by offset.
fn reported_corruptions(json: &Json) -> BTreeMap<u64, Value> {
    let damages = json
        .0
        .pointer("/fathom/entries/0/verify/corruptions")
        .and_then(Value::as_array)
        .expect("a list");
    damages
        .iter()
        .map(|one| (one["offset"].as_u64().expect("an offset"), one.clone()))
        .collect()
}

/// One round on a device of `mib` MiB; returns the number of injected and found corruptions by
/// class.
fn round(mib: u64, each: usize, engine: &str, seed: u64) -> BTreeMap<&'static str, u64> {
    let other_target = written(device(mib));
    let device = written(device(mib));
    let earlier_run = device.peek(0, device.size());
    let injected = arm_corruptions(
        &device,
        each,
        &mut TestRng(seed),
        &earlier_run,
        &other_target,
    );
    let json = run(
        &device,
        &format!(
            "--size={} --loops={PASSES} --ioengine={engine}",
            device.size()
        ),
    );
    assert_eq!(
        device.corrupted_offsets().len(),
        injected.len(),
        "the device applied all corruptions"
    );
    let mut reported = reported_corruptions(&json);
    let mut counts = BTreeMap::new();
    for Injected {
        class,
        offset,
        partner,
    } in &injected
    {
        for position in [Some(*offset), *partner].into_iter().flatten() {
            let damage = reported
                .remove(&position)
                .unwrap_or_else(|| panic!("seed {seed}: {class} at {position} was missed"));
            assert_eq!(
                damage["class"], *class,
                "seed {seed}, at {position}: {damage:#}"
            );
            assert_generations(class, &damage);
        }
        *counts.entry(*class).or_default() += 1;
    }
    assert!(
        reported.is_empty(),
        "seed {seed}: false alarms: {reported:#?}"
    );
    let bad = json.number("/fathom/entries/0/verify/bad_blocks") as usize;
    assert_eq!(
        bad,
        injected.len() + injected.iter().filter(|one| one.partner.is_some()).count()
    );
    json.expect_finding("VERIFY_FAILED");
    assert_eq!(json.verdict(), "invalid");
    counts
}

/// Checks the expected and found generations and their times, as far as the class has them.
fn assert_generations(class: &str, damage: &Value) {
    let expected = &damage["expected"];
    assert_eq!(expected["generation"], PASSES, "{damage:#}");
    assert!(expected["written_unix_ns"].as_u64() > Some(0), "{damage:#}");
    let found = match class {
        "lost_write" => Some(2),
        "stale_data" => Some(1),
        "data_of_another_run" | "data_of_another_target" => Some(1),
        "swapped_blocks" | "misdirected_read" => Some(PASSES),
        _ => None,
    };
    if let Some(found) = found {
        assert_eq!(damage["found"]["generation"], found, "{damage:#}");
        assert!(
            damage["found"]["written_unix_ns"].as_u64() > Some(0),
            "{damage:#}"
        );
    }
    let expected_second_read = if class == "misdirected_read" {
        "good"
    } else {
        "same"
    };
    assert_eq!(damage["second_read"], expected_second_read, "{damage:#}");
}

#[test]
fn six_hundred_corruptions_in_twelve_classes_are_found_and_classified() {
    require!(Fuse);
    for (seed, engine) in [(1, "psync"), (2, "libaio --iodepth=8")] {
        let counts = round(8, 25, engine, seed);
        assert_eq!((counts.len(), counts.values().sum::<u64>()), (12, 300));
    }
}

/// Regression 0261: a later process that only verifies accepted blocks of an earlier pass. It knows
/// the number of passes from the job.
#[test]
fn a_later_check_finds_lost_and_stale_writes() {
    require!(Fuse);
    let device = written(device(1));
    device.corrupt(8 * BLOCK, PASSES, Corruption::Lose);
    device.corrupt(9 * BLOCK, PASSES, Corruption::Restore);
    let size = device.size();
    run(
        &device,
        &format!("--size={size} --loops={PASSES} --do_verify=0"),
    );
    let json = run(
        &device,
        &format!("--size={size} --loops={PASSES} --verify_only"),
    );
    let reported = reported_corruptions(&json);
    let of = |block: u64| {
        reported.get(&(block * BLOCK)).map(|one| {
            (
                one["class"].clone(),
                one["found"]["generation"].clone(),
                one["detail"].clone(),
            )
        })
    };
    let detail = || Value::from("pass 3 of the job should be here");
    assert_eq!(
        of(8),
        Some((Value::from("lost_write"), Value::from(2), detail())),
        "{reported:#?}"
    );
    assert_eq!(
        of(9),
        Some((Value::from("stale_data"), Value::from(1), detail())),
        "{reported:#?}"
    );
    assert_eq!(reported.len(), 2);
}

/// Regression 0430: over data without a stamp, lost, torn and shorn writes and torn sectors were "altered", as if another
/// program had written there. Of the corruptions of the first writes to a place, over three kinds of earlier data, 95 % get
/// the class that the device injected.
#[test]
fn corruptions_of_first_writes_are_classified_over_any_earlier_data() {
    require!(Fuse);
    const EACH: usize = 20;
    let classes = [
        "bit_flip",
        "zeroed",
        "torn_sector",
        "torn_block",
        "shorn_tail",
        "misdirected_write",
        "misdirected_read",
        "lost_write",
        "swapped_blocks",
    ];
    for earlier in ["unstamped", "own", "foreign"] {
        for (seed, engine) in [(31, "psync"), (32, "io_uring --iodepth=8")] {
            let device = device(8);
            let size = device.size();
            let mut rng = TestRng(seed);
            let background = match earlier {
                "unstamped" => (0..size / 8)
                    .flat_map(|_| rng.below(u64::MAX).to_le_bytes())
                    .collect(),
                "own" => {
                    run(&device, &format!("--size={size}"));
                    device.peek(0, size)
                }
                _ => written(self::device(8)).peek(0, size),
            };
            std::fs::write(device.path(), &background).expect("written");
            let mut free: Vec<u64> = (0..size / BLOCK).collect();
            for n in (1..free.len()).rev() {
                free.swap(n, rng.below(n as u64 + 1) as usize);
            }
            let mut injected = Vec::new();
            for class in classes {
                for _ in 0..EACH {
                    let (offset, other) = (
                        free.pop().expect("free") * BLOCK,
                        free.pop().expect("free") * BLOCK,
                    );
                    let (corruption, partner) = corruption_of(class, other, &mut rng);
                    device.corrupt(offset, 1, corruption);
                    injected.extend(
                        [Some(offset), partner]
                            .into_iter()
                            .flatten()
                            .map(|at| (at, class)),
                    );
                }
            }
            let json = run(&device, &format!("--size={size} --ioengine={engine}"));
            assert_eq!(device.corrupted_offsets().len(), classes.len() * EACH);
            let reported = reported_corruptions(&json);
            assert_eq!(
                reported.len(),
                injected.len(),
                "{earlier} {engine}: all are found, no others"
            );
            let wrong: Vec<String> = injected
                .iter()
                .filter(|(at, class)| reported[at]["class"] != *class)
                .map(|(at, class)| {
                    format!(
                        "{class} as {} ({})",
                        reported[at]["class"], reported[at]["detail"]
                    )
                })
                .collect();
            assert!(
                wrong.len() * 20 <= injected.len(),
                "{earlier} {engine}: {} of {} wrong: {wrong:#?}",
                wrong.len(),
                injected.len()
            );
        }
    }
}

/// The full count, for a release: `cargo test --release --test it verify_faults -- --ignored
/// --nocapture`.
#[test]
#[ignore = "takes minutes"]
#[allow(clippy::print_stdout, reason = "its figures are its result")]
fn ten_thousand_corruptions_in_twelve_classes_are_found_and_classified() {
    require!(Fuse);
    let mut sum: BTreeMap<&str, u64> = BTreeMap::new();
    for (seed, engine) in (10..)
        .zip(
            ["psync", "libaio --iodepth=8", "io_uring --iodepth=16"]
                .into_iter()
                .cycle(),
        )
        .take(9)
    {
        for (class, n) in round(32, 93, engine, seed) {
            *sum.entry(class).or_default() += n;
        }
    }
    let all: u64 = sum.values().sum();
    println!("{all} injected, all found and classified, 0 false alarms: {sum:#?}");
    assert!(all >= 10_000);
}
