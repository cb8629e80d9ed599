//! fathom's own format of traces: what is written is read, also from damaged files.

use crate::common::{GIB, MS, Rng, US, capture, io};
use fathom_workload::{
    CaptureWriter, IoFlags, IoKind, ReadOptions, TraceFacts, TraceFormat, TraceIo, TraceReader,
    TraceSource,
};

fn read(bytes: &[u8]) -> (Vec<TraceIo>, TraceFacts) {
    let mut reader = TraceReader::open(bytes, ReadOptions::default()).expect("a capture");
    let mut ios = Vec::new();
    while let Some(io) = reader.next_io().expect("readable") {
        ios.push(io);
    }
    (ios, reader.facts())
}

/// Random reads and a sequential log, with latencies that reorder the completions.
fn load(count: u64) -> Vec<TraceIo> {
    let (mut rng, mut now) = (Rng(5), 0.0);
    (0..count)
        .map(|n| {
            now += rng.exponential(50.0 * US);
            let latency_ns = Some(rng.exponential(300.0 * US) as u64 + 40_000);
            match n % 5 {
                0 => TraceIo {
                    latency_ns,
                    process: 1,
                    flags: IoFlags::SYNC.with(IoFlags::FUA),
                    ..io(now, IoKind::Write, 50 * GIB + n * 4096, 4096)
                },
                1 if n % 10 == 1 => TraceIo {
                    latency_ns,
                    ..io(now, IoKind::Flush, 0, 0)
                },
                _ => TraceIo {
                    latency_ns,
                    process: 2 + n as u32 % 3,
                    ..io(now, IoKind::Read, rng.below(131_072) * 8192, 8192)
                },
            }
        })
        .collect()
}

#[test]
fn a_capture_is_read_as_it_was_written_in_order_of_issue() {
    let ios = load(20_000);
    let file = capture(&ios, 700);
    let (found, facts) = read(&file);
    assert_eq!(found, ios);
    assert_eq!(facts.format, TraceFormat::Capture);
    assert_eq!(facts.devices, ["loop0"]);
    assert_eq!(facts.process_name(1), "postgres 1");
    assert_eq!((facts.malformed, facts.cut, facts.lost), (0, false, 0));
    assert_eq!(facts.out_of_order, 0);
    // The issue says at most 12 bytes for each I/O; random offsets, gaps and latencies are the worst case.
    let each = file.len() as f64 / ios.len() as f64;
    assert!(each < 12.0, "{each} bytes");
}

#[test]
fn a_capture_that_is_cut_anywhere_is_valid_up_to_there() {
    let ios = load(3000);
    let file = capture(&ios, 300);
    let mut rng = Rng(9);
    let mut most = 0;
    for _ in 0..200 {
        let length = 9 + rng.below(file.len() as u64 - 9) as usize;
        let (found, facts) = read(&file[..length]);
        assert!(facts.cut, "{length}");
        // What is there is right: a subset, because later chunks have earlier I/Os.
        assert!(found.iter().all(|io| ios.contains(io)));
        most = most.max(found.len());
    }
    assert!(most > 2000, "{most}");
}

#[test]
fn a_damaged_chunk_is_counted_and_the_others_are_read() {
    let ios = load(3000);
    let mut file = capture(&ios, 300);
    let middle = file.len() / 2;
    file[middle] ^= 0x40;
    let (found, facts) = read(&file);
    assert_eq!(facts.malformed, 1, "{:?}", facts.first_malformed);
    assert!(found.len() >= 2400 && found.len() < 3000, "{}", found.len());
    assert!(found.iter().all(|io| ios.contains(io)));
    assert!(!facts.cut);
}

#[test]
fn lost_events_are_in_the_file_and_lower_the_score() {
    let ios = load(2000);
    let mut file = capture(&ios, 500);
    let whole = file.clone();
    // Before the end: without it, the losses are in chunks of their own.
    file.extend(CaptureWriter::lost(5, 100).bytes);
    file.extend(CaptureWriter::lost(9, 0).bytes);
    let (_, facts) = read(&file);
    assert_eq!(facts.lost, 101);
    // 101 of 8101 events.
    let share = facts.lost_share(2000);
    assert!((share - 101.0 / 8101.0).abs() < 1e-9, "{share}");
    assert!(facts.notes(2000, 2000, true)[0].contains("101 events were lost"));
    let profile = |lost| {
        let mut reader = TraceReader::open(whole.as_slice(), ReadOptions::default()).unwrap();
        let mut profile = fathom_workload::Profile::of(&mut reader).unwrap();
        profile.lost = lost;
        profile
    };
    let score = |lost| fathom_workload::fidelity(&profile(0.0), &profile(lost)).total;
    assert!(score(0.0) > 99.99 && score(0.1) < 90.0 && score(0.5) < 40.0);
}

#[test]
fn extreme_values_come_back() {
    let mut ios = vec![
        io(0.0, IoKind::Read, (1 << 63) - 512, 512),
        io(1.0, IoKind::Write, 0, u32::MAX),
        io(2.0, IoKind::Discard, 1, 1),
        io(3.0 * MS, IoKind::Flush, 0, 0),
    ];
    ios[1].process = u32::MAX;
    ios[2].latency_ns = Some(1 << 62);
    assert_eq!(read(&capture(&ios, 10)).0, ios);
}

/// The checksum protects against damage, not against a file that was made to do harm.
#[test]
fn a_chunk_with_any_content_and_a_right_checksum_does_no_harm() {
    let file = capture(&load(300), 300);
    let at = file
        .windows(8)
        .position(|part| part == b"FCHKi\0\0\0")
        .expect("a chunk of I/Os");
    let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().expect("4 bytes")) as usize;
    let mut rng = Rng(77);
    for _ in 0..3000 {
        let mut bytes = file.clone();
        let content = &mut bytes[at + 16..at + 16 + length];
        for _ in 0..1 + rng.below(4) {
            let place = rng.below(length as u64) as usize;
            // The numbers at the beginning decide most.
            let place = if rng.below(2) == 0 { place % 64 } else { place };
            content[place] = rng.next() as u8;
        }
        let mut crc = flate2::Crc::new();
        crc.update(b"i");
        crc.update(content);
        bytes[at + 12..at + 16].copy_from_slice(&crc.sum().to_le_bytes());
        let mut reader =
            TraceReader::open(bytes.as_slice(), ReadOptions::default()).expect("a capture");
        let profile = fathom_workload::Profile::of(&mut reader).expect("readable");
        let facts = reader.facts();
        let _ = fathom_workload::profile_text(&profile, "x", &facts);
        let _ = fathom_workload::profile_report(&profile, "x", &facts);
        let _ = fathom_workload::fio_job(&profile, "x", fathom_workload::Scale::default());
    }
}
