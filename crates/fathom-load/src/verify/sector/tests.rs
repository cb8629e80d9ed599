//! Every class of damage is told from every other one, and right blocks pass.

use fathom_model::{DamageClass, Fill, Payload, Verify, VerifyKind};
use proptest::prelude::*;
use twox_hash::XxHash3_64;

use super::*;
use crate::payload::mix;

const OFFSET: u64 = 1 << 20;
const LEN: usize = 4096;
const LAST: u64 = 9000;

fn sectors(run: u64, job: u16, target: u32, fill: Fill) -> Sectors {
    let verify = Verify {
        kind: VerifyKind::Fathom,
        after_writes: true,
        fatal: false,
        pattern: Vec::new(),
        interval: 0,
        header_offset: 0,
        dump: false,
        only: false,
        backlog: 0,
        backlog_batch: 0,
        threads: 0,
        thread_cpus: Vec::new(),
        write_sequence: true,
        header_seed: true,
        pattern_interval: 0,
        state_save: false,
        state_load: None,
        only_fsynced: false,
    };
    let payload = Payload {
        fill,
        refill: true,
        scramble: false,
        dedupe_percent: 0,
        dedupe_set: None,
    };
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

fn wanted() -> Wanted {
    Wanted {
        number: Some(5000),
        generation: Some(3),
        before: None,
        last: LAST,
    }
}

fn class(block: &[u8]) -> Option<DamageClass> {
    ours()
        .check(block, 0, OFFSET, &wanted())
        .err()
        .map(|blemish| blemish.class)
}

/// Regression 0261: who only checks, and knows how often the writes went over the place, took any of them for right.
#[test]
fn a_check_of_an_earlier_run_knows_an_earlier_pass() {
    let want = Wanted {
        number: None,
        generation: Some(3),
        before: None,
        last: u64::MAX,
    };
    let class = |generation| {
        ours()
            .check(&block(&ours(), OFFSET, 5000, generation), 0, OFFSET, &want)
            .err()
            .map(|blemish| blemish.class)
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
            .map(|blemish| blemish.class),
        Some(DamageClass::ShornTail)
    );
    // Another job may have written there as often as it was asked to.
    let other = sectors(1, 4, 77, Fill::Random);
    let blemish = ours()
        .check(&block(&other, OFFSET, 5000, 1), 0, OFFSET, &want)
        .err();
    assert_eq!(
        blemish.map(|blemish| blemish.class),
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
fn right_blocks_pass_whole_and_in_parts() {
    assert_eq!(class(&right()), None);
    let part = &right()[1024..2048];
    assert_eq!(ours().check(part, 0, OFFSET + 1024, &wanted()), Ok(()));
    let unknown = Wanted {
        number: None,
        generation: None,
        before: None,
        last: LAST,
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
        "nothing for a device that looks for repetition"
    );
}

#[test]
fn each_class_is_told() {
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
fn the_finding_says_what_was_found() {
    let blemish = ours()
        .check(&older(), 0, OFFSET, &wanted())
        .expect_err("older");
    let found = blemish.found.expect("a stamp");
    assert_eq!(
        (found.number, found.generation, found.when, found.offset),
        (3100, 2, 1_700_000_000_000_003_100, OFFSET)
    );
    let mut shorn = right();
    shorn[3584..].copy_from_slice(&older()[3584..]);
    let blemish = ours()
        .check(&shorn, 0, OFFSET, &wanted())
        .expect_err("shorn");
    assert_eq!(
        (
            blemish.sectors,
            blemish.right.map(|s| s.number),
            blemish.found.map(|s| s.number)
        ),
        ((7, 1), Some(5000), Some(3100))
    );
}

#[test]
fn a_write_before_the_last_but_one_is_stale() {
    let wanted = |before| Wanted {
        number: Some(5000),
        generation: None,
        before: Some(before),
        last: LAST,
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

/// A job that only reads learns the run from the first good block, and finds blocks of any other.
#[test]
fn readers_learn_the_run() {
    let (first, other) = (
        sectors(11, 5, 99, Fill::Random),
        sectors(12, 5, 99, Fill::Random),
    );
    let mut reader = ours();
    assert!(
        !reader.adopt(&[7; LEN], 0, OFFSET, true),
        "garbage teaches nothing"
    );
    assert!(reader.adopt(&block(&first, OFFSET, 1, 1), 0, OFFSET, true));
    let any = Wanted {
        last: u64::MAX,
        ..Wanted::default()
    };
    let check = |block: &[u8]| {
        reader
            .check(block, 0, OFFSET, &any)
            .map_err(|blemish| blemish.class)
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

/// The format as its table says it, made here from nothing but the bytes: digests that were made ahead are those of the content.
#[test]
fn the_checksum_is_the_one_that_the_format_names() {
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

/// Other content than this job's own payload, from another job of the run, is right by its checksum.
#[test]
fn content_that_another_payload_made_is_right() {
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
        // All in one sector: with more, each is looked at by itself.
        let sector = at.iter().next().expect("one") / 4096;
        at.iter().for_each(|bit| { let bit = sector * 4096 + bit % 4096; spoilt[bit / 8] ^= 1 << (bit % 8); });
        prop_assume!(spoilt != block(&ours, OFFSET, 5000, 3));
        let wanted = if known { wanted() } else { Wanted { number: None, last: LAST, ..wanted() } };
        let blemish = ours.check(&spoilt, 0, OFFSET, &wanted).expect_err("spoilt");
        prop_assert_eq!(blemish.class, DamageClass::BitFlip, "{:?}", blemish);
        prop_assert_eq!(blemish.sectors, (sector as u32, 1));
    }

    /// One sector alone has no neighbour that knows the time.
    #[test]
    fn a_flip_is_told_in_a_single_sector_too(bit in 0..4096_usize) {
        let mut spoilt = right()[..512].to_vec();
        spoilt[bit / 8] ^= 1 << (bit % 8);
        let blemish = ours().check(&spoilt, 0, OFFSET, &wanted()).expect_err("spoilt");
        prop_assert_eq!(blemish.class, DamageClass::BitFlip, "{:?}", blemish);
    }

    #[test]
    fn nothing_passes_and_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), LEN), at in 0..LEN) {
        prop_assert!(class(&bytes).is_some());
        let mut half = right();
        half[at..].copy_from_slice(&bytes[at..]);
        prop_assert!(class(&half).is_some());
    }
}
