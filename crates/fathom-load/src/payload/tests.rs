//! The properties of payloads, checked with compressors, by counting sectors, and against patterns
//! written by hand.

#![allow(clippy::print_stderr, reason = "a skipped check is reported")]

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use fathom_model::{Fill, PatternPart, Payload};

use super::{Filler, PayloadError, PayloadMeasurement, Sampler, measure};
use crate::testing::payload;

const MIB: usize = 1 << 20;

fn no_files(path: &Path) -> io::Result<Vec<u8>> {
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        path.display().to_string(),
    ))
}

fn filler(payload: &Payload, seed: u64) -> Filler {
    Filler::new(payload, seed, 4, &no_files).unwrap()
}

/// `blocks` consecutive blocks of `size` bytes, through slot 0.
fn stream_of(payload: &Payload, blocks: usize, size: usize) -> Vec<u8> {
    let mut filler = filler(payload, 7);
    let (mut buf, mut all) = (vec![0; size], Vec::new());
    for block in 0..blocks {
        filler.fill(0, &mut buf, (block * size) as u64);
        all.extend_from_slice(&buf);
    }
    all
}

fn distinct_sectors(bytes: &[u8]) -> usize {
    bytes.chunks(512).collect::<HashSet<_>>().len()
}

/// Size after `tool -c`, or `None` and a reported reason.
fn packed(tool: &str, bytes: &[u8]) -> Option<usize> {
    let child = Command::new(tool)
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        fathom_testkit::skip(&format!("{tool} is not installed"));
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    let copy = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&copy));
    let mut out = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    writer.join().unwrap().unwrap();
    child.wait().unwrap();
    Some(out.len())
}

#[test]
fn random_refilled_data_cannot_be_compressed_or_deduplicated() {
    let bytes = stream_of(&payload(Fill::Random), 4096, 4096);
    assert_eq!(distinct_sectors(&bytes), 16 * MIB / 512);
    for tool in ["gzip", "zstd"] {
        if let Some(size) = packed(tool, &bytes) {
            assert!(size >= bytes.len(), "{tool} made {size} of {}", bytes.len());
        }
    }
}

#[test]
fn random_bytes_are_evenly_distributed() {
    let bytes = stream_of(&payload(Fill::Random), 256, 4096);
    let mut counts = [0f64; 256];
    bytes
        .iter()
        .for_each(|&byte| counts[usize::from(byte)] += 1.0);
    let mean = bytes.len() as f64 / 256.0;
    let chi: f64 = counts
        .iter()
        .map(|count| (count - mean).powi(2) / mean)
        .sum();
    // Chi-squared with 255 degrees of freedom: 99.9999 % are below 378.
    assert!(chi < 378.0, "chi squared {chi}");
}

#[test]
fn every_length_is_filled_to_its_last_byte() {
    for len in [0, 1, 7, 8, 63, 64, 65, 511, 513, 4097] {
        let mut touched = vec![false; len];
        let mut filler = filler(&payload(Fill::Random), 1);
        for _ in 0..16 {
            let mut buf = vec![0; len];
            filler.fill(0, &mut buf, 0);
            touched
                .iter_mut()
                .zip(&buf)
                .for_each(|(touched, &byte)| *touched |= byte != 0);
        }
        assert!(touched.iter().all(|&touched| touched), "length {len}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let make = |seed| {
        let mut buf = vec![0; 4096];
        filler(&payload(Fill::Random), seed).fill(0, &mut buf, 0);
        buf
    };
    assert_eq!(make(1), make(1));
    assert_ne!(make(1), make(2));
}

#[test]
fn scrambling_marks_each_sector_and_leaves_the_rest() {
    let scrambled = Payload {
        refill: false,
        scramble: true,
        ..payload(Fill::Random)
    };
    let bytes = stream_of(&scrambled, 1000, 4096);
    assert_eq!(distinct_sectors(&bytes), 8000);
    assert_eq!(
        bytes[16..256],
        bytes[4096 + 16..4096 + 256],
        "only the marks may change"
    );
}

#[test]
fn without_refill_and_scramble_each_slot_keeps_its_content_until_forgotten() {
    let fixed = Payload {
        refill: false,
        ..payload(Fill::Random)
    };
    let mut filler = filler(&fixed, 3);
    let (mut first, mut second) = (vec![0; 4096], vec![0; 4096]);
    filler.fill(0, &mut first, 0);
    filler.fill(1, &mut second, 0);
    assert_ne!(first, second);
    let before = first.clone();
    filler.fill(0, &mut first, 4096);
    assert_eq!(before, first);
    filler.forget(0);
    filler.fill(0, &mut first, 4096);
    assert_ne!(before, first);
}

#[test]
fn a_longer_block_in_a_used_slot_is_filled_to_its_end() {
    let fixed = Payload {
        refill: false,
        scramble: true,
        ..payload(Fill::Random)
    };
    let mut filler = filler(&fixed, 3);
    let mut buf = vec![0; 8192];
    filler.fill(0, &mut buf[..4096], 0);
    filler.fill(0, &mut buf, 0);
    assert!(
        buf[4096..]
            .chunks(512)
            .all(|sector| sector.iter().any(|&byte| byte != 0))
    );
    assert!(measure(&buf).compressed_share > 0.95);
}

#[test]
fn patterns_are_joined_repeated_and_contain_the_offset() {
    let parts = vec![
        PatternPart::Bytes(b"ab".to_vec()),
        PatternPart::Offset,
        PatternPart::File("/p".into()),
    ];
    let files = |path: &Path| {
        if path == Path::new("/p") {
            Ok(b"xyz".to_vec())
        } else {
            no_files(path)
        }
    };
    let mut filler = Filler::new(&payload(Fill::Pattern(parts)), 0, 1, &files).unwrap();
    let mut buf = [0; 30];
    filler.fill(0, &mut buf, 0x0102_0304);
    let expected: Vec<u8> = b"ab\x04\x03\x02\x01\0\0\0\0xyz"
        .iter()
        .copied()
        .cycle()
        .take(30)
        .collect();
    assert_eq!(buf.to_vec(), expected);
    filler.fill(0, &mut buf, 512);
    assert_eq!(buf[2..4], [0, 2], "only the offset of the block changes");
    let mut short = [0; 5];
    filler.fill(0, &mut short, 0x0102_0304);
    assert_eq!(&short, b"ab\x04\x03\x02");
}

#[test]
fn zeroes_are_zero_and_never_scrambled() {
    let zeroes = Payload {
        refill: false,
        scramble: true,
        ..payload(Fill::Zeroes)
    };
    assert!(stream_of(&zeroes, 4, 4096).iter().all(|&byte| byte == 0));
}

#[test]
fn compressible_data_compresses_by_the_requested_share() {
    for percent in [25, 50, 75] {
        let fill = Fill::Compressible {
            percent,
            chunk: 4096,
            pattern: Vec::new(),
        };
        let bytes = stream_of(&payload(fill), 1024, 16384);
        let zeros = bytes.iter().filter(|&&byte| byte == 0).count() as f64 / bytes.len() as f64;
        assert!(
            (zeros - f64::from(percent) / 100.0).abs() < 0.01,
            "{percent} %: {zeros}"
        );
        if let Some(size) = packed("gzip", &bytes) {
            let saved = 100.0 * (1.0 - size as f64 / bytes.len() as f64);
            assert!(
                (saved - f64::from(percent)).abs() < 2.0,
                "requested {percent} %, gzip saved {saved:.1} %"
            );
        }
    }
}

#[test]
fn the_constant_part_of_compressible_data_is_the_pattern() {
    let pattern = vec![PatternPart::Bytes(vec![0xaa, 0xbb])];
    let fill = Fill::Compressible {
        percent: 50,
        chunk: 0,
        pattern,
    };
    let bytes = stream_of(&payload(fill), 1, 1024);
    assert!(bytes[512..].chunks(2).all(|pair| pair == [0xaa, 0xbb]));
    assert!(measure(&bytes[..512]).compressed_share > 0.9);
}

#[test]
fn the_share_of_repeated_blocks_is_as_requested_and_repeats_are_exact() {
    for percent in [0, 30, 80] {
        let bytes = stream_of(
            &Payload {
                dedupe_percent: percent,
                ..payload(Fill::Random)
            },
            4000,
            512,
        );
        let repeated = 100.0 * (1.0 - distinct_sectors(&bytes) as f64 / 4000.0);
        // Four standard deviations of a binomial share over 4000 draws: 3.2 points at most.
        assert!(
            (repeated - f64::from(percent)).abs() <= 3.2,
            "requested {percent} %, got {repeated:.1} %"
        );
    }
    let again = Payload {
        dedupe_percent: 50,
        ..payload(Fill::Random)
    };
    assert_eq!(stream_of(&again, 100, 512), stream_of(&again, 100, 512));
}

/// Two jobs share a set of 100 blocks and write 2000 blocks each, half of them repeated: together
/// the 2000 new ones and the 100, nearly all of which were drawn. With separate sets, each job has
/// its own 100.
#[test]
fn a_working_set_is_repeated_and_may_be_shared() {
    let distinct = |shared: bool| {
        let mut all = Vec::new();
        for seed in [1, 2] {
            let mut filler = filler(
                &Payload {
                    dedupe_percent: 50,
                    ..payload(Fill::Random)
                },
                seed,
            );
            filler = filler.repeating(100, if shared { 9 } else { seed });
            for block in 0..2000 {
                let mut buf = vec![0; 512];
                filler.fill(0, &mut buf, block * 512);
                all.extend(buf);
            }
        }
        distinct_sectors(&all)
    };
    // Four standard deviations of 4000 draws at one half: 127.
    assert!(distinct(true).abs_diff(2100) <= 127, "{}", distinct(true));
    assert_eq!(distinct(false) - distinct(true), 100);
}

#[test]
fn bad_payloads_are_refused_with_a_message() {
    let refused = |payload: &Payload| Filler::new(payload, 0, 1, &no_files).unwrap_err();
    assert_eq!(
        refused(&payload(Fill::Pattern(Vec::new()))),
        PayloadError::EmptyPattern
    );
    let missing = refused(&payload(Fill::Pattern(vec![PatternPart::File(
        "/none".into(),
    )])));
    assert!(missing.to_string().contains("/none"), "{missing}");
    let much = Payload {
        dedupe_percent: 101,
        ..payload(Fill::Random)
    };
    assert!(refused(&much).to_string().contains("dedupe_percentage=101"));
    let fill = Fill::Compressible {
        percent: 101,
        chunk: 0,
        pattern: Vec::new(),
    };
    assert!(
        refused(&payload(fill))
            .to_string()
            .contains("buffer_compress_percentage=101")
    );
}

#[test]
fn the_measurement_distinguishes_random_zeros_patterns_and_halves() {
    let random = stream_of(&payload(Fill::Random), 16, 4096);
    assert!(
        measure(&random).compressed_share > 0.97,
        "{:?}",
        measure(&random)
    );
    assert_eq!(
        measure(&[0; 65536]),
        PayloadMeasurement {
            zero_share: 1.0,
            compressed_share: 0.0
        }
    );
    assert!(measure(&[0x5a; 65536]).compressed_share < 0.01);
    let half = stream_of(
        &payload(Fill::Compressible {
            percent: 50,
            chunk: 512,
            pattern: vec![],
        }),
        16,
        4096,
    );
    let share = measure(&half).compressed_share;
    assert!((share - 0.5).abs() < 0.05, "{share}");
    let text: Vec<u8> = (0..65536u32)
        .flat_map(|n| format!("{:08}\n", n * 7919).into_bytes())
        .collect();
    assert!(measure(&text).compressed_share < 0.6);
    assert_eq!(measure(&[]).compressed_share, 1.0);
}

#[test]
fn the_sampler_finds_repeated_blocks() {
    let mut sampler = Sampler::new();
    assert!(sampler.measured().is_none());
    let bytes = stream_of(&payload(Fill::Random), 64, 4096);
    bytes.chunks(4096).for_each(|block| sampler.add(block));
    assert_eq!(sampler.duplicate_share(), 0.0);
    bytes.chunks(4096).for_each(|block| sampler.add(block));
    assert!(
        (sampler.duplicate_share() - 0.5).abs() < 0.02,
        "{}",
        sampler.duplicate_share()
    );
    assert!(sampler.measured().unwrap().compressed_share > 0.95);
}

/// Run by hand in release mode: `cargo test --release -p fathom-load payload_speed -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a measurement, not a check"]
fn payload_speed() {
    for size in [4096usize, 131_072] {
        let mut buf = vec![0; size];
        let mut filler = filler(&payload(Fill::Random), 1);
        let blocks = (2 << 30) / size;
        let start = std::time::Instant::now();
        for block in 0..blocks {
            filler.fill(0, std::hint::black_box(&mut buf), (block * size) as u64);
        }
        let rate = (blocks * size) as f64 / start.elapsed().as_secs_f64() / 1e9;
        eprintln!("random refill, {size} bytes: {rate:.1} GB/s");
    }
}
