//! Every class of damage is distinguished from every other one, and right blocks pass.

use fathom_model::{DamageClass, Fill, Verify, VerifyKind};
use proptest::prelude::*;
use twox_hash::XxHash3_64;

use super::*;
use crate::payload::mix;
use crate::testing::payload;

const OFFSET: u64 = 1 << 20;
const LEN: usize = 4096;
const LAST: u64 = 9000;

fn sectors(run: u64, job: u16, target: u32, fill: Fill) -> Sectors {
    let verify = Verify::with(VerifyKind::Fathom);
    let payload = payload(fill);
    Sectors::new(&verify, &payload, run, job, vec![target], &|_| {
        unreachable!("no pattern names a file")
    })
    .expect("stamps")
}

fn ours() -> Sectors {
    sectors(1, 3, 77, Fill::Random)
}

fn block(by: &Sectors, offset: u64, number: u64, generation: u32) -> Vec<u8> {
    let mut block = vec![0; LEN];
    by.stamp(
        &mut block,
        0,
        offset,
        Write {
            number,
            generation,
            when: 1_700_000_000_000_000_000 + number,
        },
    );
    block
}

fn wanted() -> ExpectedStamps {
    ExpectedStamps {
        number: Some(5000),
        generation: Some(3),
        before: None,
        last: LAST,
        first_since: None,
    }
}

fn class(block: &[u8]) -> Option<DamageClass> {
    ours()
        .check(block, 0, OFFSET, &wanted())
        .err()
        .map(|mismatch| mismatch.class)
}

/// Regression 0261: a check-only job that knew how often a block had been written accepted any of
/// those writes.
#[test]
fn a_check_of_an_earlier_run_detects_an_earlier_pass() {
    let want = ExpectedStamps {
        number: None,
        generation: Some(3),
        before: None,
        last: u64::MAX,
        first_since: None,
    };
    let class = |generation| {
        ours()
            .check(&block(&ours(), OFFSET, 5000, generation), 0, OFFSET, &want)
            .err()
            .map(|mismatch| mismatch.class)
    };
    assert_eq!(
        [1, 2, 3, 4].map(class),
        [
            Some(DamageClass::Stale),
            Some(DamageClass::LostWrite),
            None,
            None
        ]
    );
    let mut torn = right();
    torn[1024..].copy_from_slice(&block(&ours(), OFFSET, 4000, 2)[1024..]);
    assert_eq!(
        ours()
            .check(&torn, 0, OFFSET, &want)
            .err()
            .map(|mismatch| mismatch.class),
        Some(DamageClass::ShornTail)
    );
    // Another job may have written there any number of times.
    let other = sectors(1, 4, 77, Fill::Random);
    let mismatch = ours()
        .check(&block(&other, OFFSET, 5000, 1), 0, OFFSET, &want)
        .err();
    assert_eq!(
        mismatch.map(|mismatch| mismatch.class),
        Some(DamageClass::OtherJob)
    );
}

fn right() -> Vec<u8> {
    block(&ours(), OFFSET, 5000, 3)
}

fn older() -> Vec<u8> {
    block(&ours(), OFFSET, 3100, 2)
}

#[test]
fn right_blocks_pass_completely_and_in_parts() {
    assert_eq!(class(&right()), None);
    let part = &right()[1024..2048];
    assert_eq!(ours().check(part, 0, OFFSET + 1024, &wanted()), Ok(()));
    let unknown = ExpectedStamps {
        number: None,
        generation: None,
        before: None,
        last: LAST,
        first_since: None,
    };
    assert_eq!(ours().check(&right(), 0, OFFSET, &unknown), Ok(()));
}

#[test]
fn no_two_writes_have_a_word_of_content_in_common() {
    let (one, two) = (right(), older());
    let words = |bytes: &[u8]| {
        bytes
            .chunks(8)
            .enumerate()
            .filter(|(n, _)| (8..63).contains(&(n % 64)))
            .map(|(_, word)| word.to_vec())
            .collect::<Vec<_>>()
    };
    assert!(words(&one).iter().zip(words(&two)).all(|(a, b)| *a != b));
    let distinct: std::collections::HashSet<_> = words(&one).into_iter().collect();
    assert_eq!(
        distinct.len(),
        8 * 55,
        "nothing for a device to deduplicate"
    );
}

#[test]
fn each_class_is_detected() {
    use DamageClass::{
        Altered, LostWrite, MisdirectedWrite, Newer, OtherJob, OtherRun, OtherTarget, ShornTail,
        Stale, TornBlock, TornSector, Zeroed,
    };
    let splice = |front: &[u8], back: &[u8], at: usize| [&front[..at], &back[at..]].concat();
    let garbage: Vec<u8> = (0..LEN).map(|n| (n * 7 + n / 256 * 13) as u8).collect();
    let cases = [
        (vec![0; LEN], Zeroed),
        (older(), LostWrite),
        (block(&ours(), OFFSET, 1200, 1), Stale),
        (block(&ours(), OFFSET, 5001, 3), Newer),
        (block(&ours(), OFFSET + 4096, 5001, 3), MisdirectedWrite),
        (
            block(&sectors(2, 3, 77, Fill::Random), OFFSET, 5000, 3),
            OtherRun,
        ),
        (
            block(&sectors(2, 3, 78, Fill::Random), OFFSET, 5000, 3),
            OtherTarget,
        ),
        (
            block(&sectors(1, 4, 77, Fill::Random), OFFSET, 5000, 3),
            OtherJob,
        ),
        (splice(&right(), &older(), 1024), ShornTail),
        (splice(&right(), &[0; LEN], 1536), ShornTail),
        (splice(&older(), &right(), 1024), TornBlock),
        (
            splice(&splice(&right(), &older(), 512), &right(), 1024),
            TornBlock,
        ),
        (splice(&right(), &older(), 1024 + 200), TornSector),
        (splice(&right(), &[0; LEN], 512 + 100), TornSector),
        (splice(&older(), &right(), 2048 + 300), TornSector),
        (garbage.clone(), Altered),
        (splice(&right(), &garbage, 2048), Altered),
    ];
    for (n, (block, expected)) in cases.iter().enumerate() {
        assert_eq!(class(block), Some(*expected), "case {n}");
    }
}

#[test]
fn the_mismatch_has_the_stamp_that_was_found() {
    let mismatch = ours()
        .check(&older(), 0, OFFSET, &wanted())
        .expect_err("older");
    let found = mismatch.found.expect("a stamp");
    assert_eq!(
        (found.number, found.generation, found.when, found.offset),
        (3100, 2, 1_700_000_000_000_003_100, OFFSET)
    );
    let mut shorn = right();
    shorn[3584..].copy_from_slice(&older()[3584..]);
    let mismatch = ours()
        .check(&shorn, 0, OFFSET, &wanted())
        .expect_err("shorn");
    assert_eq!(
        (
            mismatch.sectors,
            mismatch.right.map(|s| s.number),
            mismatch.found.map(|s| s.number)
        ),
        ((7, 1), Some(5000), Some(3100))
    );
}

#[test]
fn a_write_before_the_last_but_one_is_stale() {
    let wanted = |before| ExpectedStamps {
        number: Some(5000),
        generation: None,
        before: Some(before),
        last: LAST,
        first_since: None,
    };
    let class = |before| {
        ours()
            .check(&older(), 0, OFFSET, &wanted(before))
            .expect_err("older")
            .class
    };
    assert_eq!(
        (class(3100), class(4000)),
        (DamageClass::LostWrite, DamageClass::Stale)
    );
}

/// A job that only reads takes the run from the first valid block, and detects blocks of any other
/// run.
#[test]
fn readers_adopt_the_run() {
    let (first, other) = (
        sectors(11, 5, 99, Fill::Random),
        sectors(12, 5, 99, Fill::Random),
    );
    let mut reader = ours();
    assert!(
        !reader.adopt(&[7; LEN], 0, OFFSET, true),
        "garbage has no stamp"
    );
    assert!(reader.adopt(&block(&first, OFFSET, 1, 1), 0, OFFSET, true));
    let any = ExpectedStamps {
        last: u64::MAX,
        ..ExpectedStamps::default()
    };
    let check = |block: &[u8]| {
        reader
            .check(block, 0, OFFSET, &any)
            .map_err(|mismatch| mismatch.class)
    };
    assert_eq!(check(&block(&first, OFFSET, 8, 2)), Ok(()));
    assert_eq!(
        check(&block(&other, OFFSET, 8, 2)),
        Err(DamageClass::OtherRun)
    );
    let mut flipped = block(&first, OFFSET, 8, 2);
    flipped[700] ^= 1;
    assert_eq!(check(&flipped), Err(DamageClass::BitFlip));
}

/// Recomputes the checksum from the table of the format and the bytes alone: precomputed digests
/// equal those of the content.
#[test]
fn the_checksum_follows_the_documented_format() {
    for fill in [
        Fill::Random,
        Fill::Zeroes,
        Fill::Compressible {
            percent: 50,
            chunk: 512,
            pattern: Vec::new(),
        },
    ] {
        let block = block(&sectors(5, 3, 77, fill), OFFSET, 5000, 3);
        for sector in block.chunks(SECTOR) {
            let word =
                |at: usize| u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight bytes"));
            let key = mix(mix(word(16) ^ word(32)) ^ word(24));
            let bare: Vec<u8> = (64..504)
                .step_by(8)
                .flat_map(|at| (word(at) ^ key).to_le_bytes())
                .collect();
            let digest = XxHash3_64::oneshot(&bare).to_le_bytes();
            let all = [&sector[8..64], &sector[504..], &digest[..]].concat();
            assert_eq!(word(0), XxHash3_64::oneshot(&all));
        }
    }
}

/// Content of another payload, from another job of the run, is accepted by its checksum.
#[test]
fn content_of_another_payload_is_accepted() {
    let mut reader = ours();
    let written = block(
        &sectors(
            1,
            3,
            77,
            Fill::Compressible {
                percent: 60,
                chunk: 512,
                pattern: Vec::new(),
            },
        ),
        OFFSET,
        5000,
        3,
    );
    assert!(reader.adopt(&written, 0, OFFSET, true));
    assert_eq!(reader.check(&written, 0, OFFSET, &wanted()), Ok(()));
}

proptest! {
    #[test]
    fn any_one_to_three_flipped_bits_are_a_bit_flip(at in proptest::collection::btree_set(0..LEN * 8, 1..=3), compressible: bool, known: bool) {
        let fill = if compressible { Fill::Compressible { percent: 60, chunk: 512, pattern: Vec::new() } } else { Fill::Random };
        let ours = sectors(1, 3, 77, fill);
        let mut spoilt = block(&ours, OFFSET, 5000, 3);
        // All in one sector: with several, each sector is checked separately.
        let sector = at.iter().next().expect("one") / 4096;
        at.iter().for_each(|bit| { let bit = sector * 4096 + bit % 4096; spoilt[bit / 8] ^= 1 << (bit % 8); });
        prop_assume!(spoilt != block(&ours, OFFSET, 5000, 3));
        let wanted = if known { wanted() } else { ExpectedStamps { number: None, last: LAST, ..wanted() } };
        let mismatch = ours.check(&spoilt, 0, OFFSET, &wanted).expect_err("spoilt");
        prop_assert_eq!(mismatch.class, DamageClass::BitFlip, "{:?}", mismatch);
        prop_assert_eq!(mismatch.sectors, (sector as u32, 1));
    }

    /// A single sector has no neighbour that has the time.
    #[test]
    fn a_bit_flip_in_a_single_sector_is_detected(bit in 0..4096_usize) {
        let mut spoilt = right()[..512].to_vec();
        spoilt[bit / 8] ^= 1 << (bit % 8);
        let mismatch = ours().check(&spoilt, 0, OFFSET, &wanted()).expect_err("spoilt");
        prop_assert_eq!(mismatch.class, DamageClass::BitFlip, "{:?}", mismatch);
    }

    #[test]
    fn nothing_passes_and_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), LEN), at in 0..LEN) {
        prop_assert!(class(&bytes).is_some());
        let mut half = right();
        half[at..].copy_from_slice(&bytes[at..]);
        prop_assert!(class(&half).is_some());
    }
}
