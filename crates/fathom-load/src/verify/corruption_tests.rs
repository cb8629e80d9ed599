//! Each class of wrong data is detected and classified correctly.

use std::time::Duration;

use fathom_model::{Fill, PatternPart, Verify, VerifyKind};
use proptest::prelude::*;

use super::stamper::KINDS;
use super::*;
use crate::testing::payload;

const BLOCK: usize = 4096;
const OFFSET: u64 = 8 * BLOCK as u64;
const WHEN: Duration = Duration::new(1_700_000_000, 5);

pub(super) fn verify(kind: VerifyKind) -> Verify {
    let needs_pattern = matches!(kind, VerifyKind::Pattern | VerifyKind::PatternHeader);
    Verify {
        pattern: if needs_pattern {
            vec![PatternPart::Bytes(b"fathom!".to_vec()), PatternPart::Offset]
        } else {
            vec![]
        },
        ..Verify::with(kind)
    }
}

pub(super) fn stamper(verify: &Verify) -> Stamper {
    let payload = payload(Fill::Random);
    Stamper::new(verify, &payload, 42, 1, &|_| Ok(Vec::new())).unwrap()
}

fn stamped(stamper: &Stamper, offset: u64, number: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    stamper.stamp(&mut block, offset, number, WHEN).unwrap();
    block
}

fn expected(stamper: &Stamper, number: u64) -> Expected {
    Expected {
        number: Some(number),
        seed: Some(stamper.seed_of(number, OFFSET)),
    }
}

fn fault(stamper: &Stamper, block: &[u8]) -> Fault {
    stamper
        .check(block, OFFSET, expected(stamper, 9))
        .unwrap_err()
        .fault
}

/// All combinations of methods, formats, intervals and header offsets.
fn shapes() -> impl Iterator<Item = Stamper> {
    let places = [(0, 0), (1024, 0), (1024, 512), (0, 2000), (1000, 200)];
    KINDS.into_iter().flat_map(move |kind| {
        places
            .into_iter()
            .flat_map(move |(interval, header_offset)| {
                let stamper = stamper(&Verify {
                    interval,
                    header_offset,
                    ..verify(kind)
                });
                [
                    stamper.clone(),
                    stamper.with_format(HeaderFormat::Short).unwrap(),
                ]
            })
    })
}

#[test]
fn stamped_blocks_pass() {
    for stamper in shapes() {
        let block = stamped(&stamper, OFFSET, 9);
        stamper
            .check(&block, OFFSET, expected(&stamper, 9))
            .unwrap();
        stamper.check(&block, OFFSET, Expected::default()).unwrap();
    }
}

#[test]
fn the_self_test_passes_for_all_methods_that_check_data() {
    for stamper in shapes() {
        let blind = matches!(stamper.kind, VerifyKind::Meta | VerifyKind::Null);
        let wanted = if blind {
            SelfTest::DataNotChecked
        } else {
            SelfTest::Passed
        };
        assert_eq!(stamper.self_test(BLOCK).unwrap(), wanted, "{stamper:?}");
    }
}

#[test]
fn meta_with_a_pattern_checks_data() {
    let stamper = stamper(&Verify {
        pattern: vec![PatternPart::Bytes(vec![0xab])],
        ..verify(VerifyKind::Meta)
    });
    assert_eq!(stamper.self_test(BLOCK).unwrap(), SelfTest::Passed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any flipped bit anywhere in a block is detected, with every method that checks data.
    #[test]
    fn any_flipped_bit_is_found(bit in 0..BLOCK * 8, which in 0usize..150) {
        let shapes: Vec<Stamper> = shapes().filter(Stamper::checks_data).collect();
        let stamper = &shapes[which % shapes.len()];
        let mut block = stamped(stamper, OFFSET, 9);
        block[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(stamper.check(&block, OFFSET, Expected::default()).is_err(), "{stamper:?} bit {bit}");
    }

    /// `meta` covers exactly the header.
    #[test]
    fn meta_covers_its_header(bit in 0..BLOCK * 8) {
        let stamper = stamper(&verify(VerifyKind::Meta));
        let mut block = stamped(&stamper, OFFSET, 9);
        block[bit / 8] ^= 1 << (bit % 8);
        let found = stamper.check(&block, OFFSET, Expected::default()).is_err();
        prop_assert_eq!(found, bit / 8 < stamper.header_len());
    }

    /// Arbitrary bytes give a result, never a panic.
    #[test]
    fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), which in 0usize..190) {
        let stamper = shapes().nth(which).expect("19 methods, 5 places, 2 formats");
        let verdict = stamper.check(&bytes, OFFSET, Expected::default());
        prop_assert!(verdict.is_err() || stamper.kind == VerifyKind::Null || bytes.is_empty());
    }
}

#[test]
fn every_byte_of_a_small_block_is_covered_by_every_checksum() {
    for kind in KINDS {
        let stamper = stamper(&verify(kind));
        if !stamper.checks_data() {
            continue;
        }
        let mut block = vec![0; 512];
        stamper.stamp(&mut block, OFFSET, 9, WHEN).unwrap();
        for byte in 0..block.len() {
            block[byte] ^= 0x01;
            assert!(
                stamper.check(&block, OFFSET, Expected::default()).is_err(),
                "{kind:?} byte {byte}"
            );
            block[byte] ^= 0x01;
        }
    }
}

#[test]
fn a_flipped_bit_is_located_to_the_byte() {
    for header_offset in [0, 512] {
        let stamper = stamper(&Verify {
            header_offset,
            ..verify(VerifyKind::Crc32c)
        });
        let mut block = stamped(&stamper, OFFSET, 9);
        block[3000] ^= 0x20;
        let place = OFFSET + 3000;
        let difference = Difference {
            first: place,
            last: place,
            bytes: 1,
            bits: 1,
        };
        assert_eq!(
            fault(&stamper, &block),
            Fault::Altered {
                method: "crc32c",
                difference: Some(difference)
            }
        );
        let message = stamper
            .check(&block, OFFSET, Expected::default())
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "offset 32768, length 4096, interval 0: wrong crc32c: one bit differs, in byte 35768"
        );
    }
}

#[test]
fn a_flipped_bit_is_located_in_a_pattern() {
    for header_offset in [0, 512] {
        for kind in [
            VerifyKind::Sha1,
            VerifyKind::PatternHeader,
            VerifyKind::Meta,
        ] {
            let pattern = vec![PatternPart::Bytes(vec![1, 2, 3])];
            let stamper = stamper(&Verify {
                header_offset,
                pattern,
                ..verify(kind)
            });
            for byte in [100, 3000] {
                let mut block = stamped(&stamper, OFFSET, 9);
                let good = block[byte];
                block[byte] = 0xee;
                let wanted = Fault::Pattern {
                    at: OFFSET + byte as u64,
                    found: 0xee,
                    expected: good,
                };
                assert_eq!(fault(&stamper, &block), wanted, "{kind:?} {header_offset}");
            }
        }
    }
}

#[test]
fn a_lost_first_write_reads_as_zeros_or_foreign_bytes() {
    let stamper = stamper(&verify(VerifyKind::Crc32c));
    assert_eq!(
        fault(&stamper, &[0; BLOCK]),
        Fault::NoHeader {
            found: 0,
            zeroed: true
        }
    );
    assert_eq!(
        fault(&stamper, &[0x41; BLOCK]),
        Fault::NoHeader {
            found: 0x4141,
            zeroed: false
        }
    );
}

#[test]
fn a_lost_rewrite_is_stale() {
    let stamper = stamper(&verify(VerifyKind::Crc32c));
    let old = stamped(&stamper, OFFSET, 4);
    assert_eq!(
        fault(&stamper, &old),
        Fault::Stale {
            found: 4,
            expected: 9,
            when: WHEN
        }
    );
    assert!(
        fault(&stamper, &old)
            .to_string()
            .starts_with("stale: an older write, number 4 at 1700000000.000 s")
    );
    assert!(
        fault(&stamper, &stamped(&stamper, OFFSET, 10))
            .to_string()
            .starts_with("a later write")
    );
}

#[test]
fn two_runs_of_a_job_are_distinguished_by_the_seed() {
    let stamper = stamper(&verify(VerifyKind::Crc32c));
    let payload = payload(Fill::Random);
    let earlier = Stamper::new(&verify(VerifyKind::Crc32c), &payload, 41, 1, &|_| {
        Ok(Vec::new())
    })
    .unwrap();
    let (found, wanted) = (earlier.seed_of(9, OFFSET), stamper.seed_of(9, OFFSET));
    let old = stamped(&earlier, OFFSET, 9);
    assert_eq!(
        fault(&stamper, &old),
        Fault::OtherRun {
            found,
            expected: wanted,
            when: WHEN
        }
    );
    stamper
        .check(
            &old,
            OFFSET,
            Expected {
                number: Some(9),
                seed: None,
            },
        )
        .expect("only the seed distinguishes them");
}

#[test]
fn a_misdirected_write_reports_its_intended_offset() {
    let stamper = stamper(&verify(VerifyKind::Crc32c));
    let other = stamped(&stamper, OFFSET + BLOCK as u64, 9);
    assert_eq!(
        fault(&stamper, &other),
        Fault::Misdirected {
            belongs: OFFSET + BLOCK as u64
        }
    );
}

#[test]
fn a_misdirected_pattern_is_detected_by_its_offset() {
    let stamper = stamper(&verify(VerifyKind::Pattern));
    let other = stamped(&stamper, OFFSET + BLOCK as u64, 9);
    let Fault::Pattern { at, .. } = fault(&stamper, &other) else {
        panic!("a pattern fault")
    };
    assert_eq!(
        at,
        OFFSET + 8,
        "second byte of the first %o, after 7 bytes of text"
    );
}

#[test]
fn a_torn_write_is_altered_from_the_tear_onwards() {
    let stamper = stamper(&verify(VerifyKind::Md5));
    let (old, mut torn) = (stamped(&stamper, OFFSET, 4), stamped(&stamper, OFFSET, 9));
    torn[512..].copy_from_slice(&old[512..]);
    let Fault::Altered {
        difference: Some(place),
        ..
    } = fault(&stamper, &torn)
    else {
        panic!("a torn block")
    };
    assert!(
        (OFFSET + 512..OFFSET + 516).contains(&place.first),
        "{place:?}"
    );
    assert!(
        place.last > OFFSET + 4090 && place.bytes > 3500,
        "{place:?}"
    );
    let mut torn = old;
    torn[512..].copy_from_slice(&stamped(&stamper, OFFSET, 9)[512..]);
    assert!(
        matches!(fault(&stamper, &torn), Fault::Stale { found: 4, .. }),
        "the old half has the header"
    );
}

#[test]
fn shifted_data_has_no_header() {
    let stamper = stamper(&verify(VerifyKind::Crc32c));
    let mut block = stamped(&stamper, OFFSET, 9);
    block.rotate_right(512);
    assert!(matches!(
        fault(&stamper, &block),
        Fault::NoHeader { zeroed: false, .. }
    ));
    block.rotate_left(513);
    assert!(matches!(fault(&stamper, &block), Fault::NoHeader { .. }));
}

#[test]
fn a_bit_flip_in_the_header_is_not_classified_as_misdirected_or_stale() {
    let stamper = stamper(&verify(VerifyKind::Crc32c));
    for byte in 0..48 {
        let mut block = stamped(&stamper, OFFSET, 9);
        block[byte] ^= 0x04;
        assert_eq!(fault(&stamper, &block), Fault::AlteredHeader, "byte {byte}");
    }
}

#[test]
fn other_methods_lengths_and_formats_are_reported() {
    let crc = stamper(&verify(VerifyKind::Crc32c));
    let block = stamped(&stamper(&verify(VerifyKind::Md5)), OFFSET, 9);
    assert_eq!(
        fault(&crc, &block),
        Fault::WrongMethod {
            found: 2,
            expected: 5
        }
    );
    let block = stamped(
        &stamper(&Verify {
            interval: 1024,
            ..verify(VerifyKind::Crc32c)
        }),
        OFFSET,
        9,
    );
    assert_eq!(fault(&crc, &block), Fault::WrongLength { found: 1024 });
    let short = crc.clone().with_format(HeaderFormat::Short).unwrap();
    assert_eq!(fault(&crc, &stamped(&short, OFFSET, 9)), Fault::OtherFormat);
    assert_eq!(fault(&short, &stamped(&crc, OFFSET, 9)), Fault::OtherFormat);
}

#[test]
fn the_bad_interval_is_reported() {
    let stamper = stamper(&Verify {
        interval: 1024,
        ..verify(VerifyKind::Xxhash)
    });
    let mut block = stamped(&stamper, OFFSET, 9);
    block[2 * 1024 + 500] ^= 1;
    let found = stamper
        .check(&block, OFFSET, Expected::default())
        .unwrap_err();
    assert_eq!(
        (found.interval, found.offset, found.len),
        (2, OFFSET + 2048, 1024)
    );
    stamper
        .check(&block[..2048], OFFSET, Expected::default())
        .expect("a part of the block, in whole intervals");
}

#[test]
fn the_short_format_counts_modulo_65536() {
    let stamper = stamper(&verify(VerifyKind::Crc32c))
        .with_format(HeaderFormat::Short)
        .unwrap();
    let block = stamped(&stamper, OFFSET, 65536 + 9);
    stamper
        .check(
            &block,
            OFFSET,
            Expected {
                number: Some(9),
                seed: None,
            },
        )
        .unwrap();
    assert_eq!(
        fault(&stamper, &stamped(&stamper, OFFSET, 65536)),
        Fault::Stale {
            found: 0,
            expected: 9,
            when: WHEN
        }
    );
}

#[test]
fn unrelated_content_is_not_compared() {
    let stamper = stamper(&verify(VerifyKind::Crc32c));
    let mut block = stamped(&stamper, OFFSET, 9);
    block[64..].copy_from_slice(&stamped(&stamper, 0, 1)[64..]);
    assert_eq!(
        fault(&stamper, &block),
        Fault::Altered {
            method: "crc32c",
            difference: None
        }
    );
}

#[test]
fn impossible_settings_are_refused() {
    let refused = |verify: &Verify| {
        let payload = payload(Fill::Random);
        Stamper::new(verify, &payload, 0, 0, &|_| Ok(Vec::new())).unwrap_err()
    };
    let crc = verify(VerifyKind::Crc32c);
    assert_eq!(
        refused(&Verify {
            header_offset: 51,
            ..crc.clone()
        }),
        VerifyError::HeaderOffset {
            requested: 51,
            header: 52
        }
    );
    assert_eq!(
        refused(&Verify {
            interval: 52,
            ..crc.clone()
        }),
        VerifyError::TooSmall {
            len: 52,
            needed: 53
        }
    );
    assert_eq!(
        refused(&Verify {
            pattern: vec![],
            ..verify(VerifyKind::Pattern)
        }),
        VerifyError::NoPattern
    );
    let small = stamper(&crc).stamp(&mut [0; 52], 0, 0, WHEN);
    assert_eq!(
        small,
        Err(VerifyError::TooSmall {
            len: 52,
            needed: 53
        })
    );
    let found = stamper(&crc)
        .check(&[0; 52], 0, Expected::default())
        .unwrap_err();
    assert_eq!(found.fault, Fault::TooSmall { needed: 53 });
}

#[test]
fn null_fills_but_stamps_and_checks_nothing() {
    let stamper = stamper(&verify(VerifyKind::Null));
    let block = stamped(&stamper, OFFSET, 9);
    assert!(crate::payload::measure(&block).compressed_share > 0.95);
    stamper
        .check(&[0; BLOCK], OFFSET, Expected::default())
        .unwrap();
}

/// fio 3.33 leaves its buffer unchanged after the last whole block: the first 128 bytes of the
/// message, overwritten by the bytes after the last whole 128.
#[test]
fn a_checksum_that_fio_never_computed_is_not_reported_as_corruption() {
    let stamper = stamper(&verify(VerifyKind::Sha512))
        .with_format(HeaderFormat::Short)
        .unwrap();
    let mut block = stamped(&stamper, OFFSET, 9);
    let data = block[168..].to_vec();
    let rest = data.len() % 128;
    block[40..168].copy_from_slice(&data[..128]);
    block[40..40 + rest].copy_from_slice(&data[data.len() - rest..]);
    assert_eq!(fault(&stamper, &block), Fault::NoChecksum);
    block[4000] ^= 1;
    assert!(matches!(
        fault(&stamper, &block),
        Fault::NoChecksum | Fault::Altered { .. }
    ));
}

/// Run by hand in release mode: `cargo test --release -p fathom-load verify_speed -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a measurement, not a check"]
#[allow(clippy::print_stderr, reason = "a person reads the output")]
fn verify_speed() {
    for kind in KINDS {
        let stamper = stamper(&verify(kind));
        let mut block = vec![0; BLOCK];
        let blocks = 2000;
        let start = std::time::Instant::now();
        (0..blocks).for_each(|number| {
            stamper
                .stamp(std::hint::black_box(&mut block), OFFSET, number, WHEN)
                .unwrap();
        });
        let stamped = start.elapsed() / blocks as u32;
        let start = std::time::Instant::now();
        (0..blocks).for_each(|_| {
            stamper
                .check(std::hint::black_box(&block), OFFSET, Expected::default())
                .unwrap();
        });
        eprintln!(
            "{kind:?}: {stamped:?} to stamp, {:?} to check 4 KiB",
            start.elapsed() / blocks as u32
        );
    }
}
