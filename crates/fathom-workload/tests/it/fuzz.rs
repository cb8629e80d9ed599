//! No input makes a reader or the profile panic.

use fathom_workload::{
    Profile, ReadOptions, Scale, TraceFormat, TraceReader, fidelity, fio_job, profile_json,
    profile_text,
};
use proptest::prelude::*;

fn profiled(bytes: &[u8], format: Option<TraceFormat>) {
    let options = ReadOptions {
        format,
        malformed: Some(1000),
    };
    let Ok(mut reader) = TraceReader::open(bytes, options) else {
        return;
    };
    let Ok(profile) = Profile::of(&mut reader) else {
        return;
    };
    let facts = reader.facts();
    let _ = profile_text(&profile, "x", &facts);
    let _ = profile_json(&profile, "x", &facts);
    let _ = fio_job(&profile, "x", Scale::default());
    assert!(fidelity(&profile, &profile).total.is_finite());
}

/// Lines that are nearly right.
fn line() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("0".to_owned()),
        Just("1".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("9223372036854775808".to_owned()),
        Just("-1".to_owned()),
        Just("0x28".to_owned()),
        Just("1.5".to_owned()),
        (0_u64..1 << 40).prop_map(|n| n.to_string()),
    ];
    let word = prop_oneof![
        number,
        prop::sample::select(vec![
            "R",
            "W",
            "Read",
            "Write",
            "r",
            "8,0",
            "Q",
            "D",
            "C",
            "FN",
            "FWFS",
            "+",
            "[x]",
            "read",
            "write",
            "sync",
            "wait",
            "a",
            "add",
            "DiskRead",
            "DiskFlush",
            "TimeStamp",
            "block_rq_issue:",
            "block_rq_complete:",
            "x-1",
            "[000]",
            "1.0:",
            "fio version 3 iolog",
            "fio version 2 iolog",
            "TIME(s)",
            "SECTOR",
            "BYTES",
            "ELAPSED_USECS",
            "LBA",
            "NBLKS",
            "OP",
            "ByteOffset",
            "IOSize",
        ])
        .prop_map(str::to_owned),
    ];
    (
        prop::collection::vec(word, 1..12),
        prop::sample::select(vec![",", " ", ", "]),
    )
        .prop_map(|(words, separator)| words.join(separator))
}

/// Lengths of I/Os: one in twenty is as large as a trace can say, up to 4 GiB. Each block of it is looked at, so that they would take most of
/// the time of the tests.
fn length() -> impl Strategy<Value = u32> {
    prop_oneof![19 => 0..=1_u32 << 17, 1 => any::<u32>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), format in 0..=TraceFormat::ALL.len()) {
        profiled(&bytes, TraceFormat::ALL.get(format).copied());
    }

    #[test]
    fn any_lines(lines in prop::collection::vec(line(), 1..40), format in 0..=TraceFormat::ALL.len()) {
        profiled(lines.join("\n").as_bytes(), TraceFormat::ALL.get(format).copied());
    }

    #[test]
    fn any_records(records in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u32>(), 0_u32..12, any::<u16>(), 0_u8..50), 0..60)) {
        let mut bytes = Vec::new();
        for (time, sector, length, action, category, pdu) in records {
            bytes.extend(0x6561_7407_u32.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(time.to_le_bytes());
            bytes.extend((sector >> (pdu % 40)).to_le_bytes());
            bytes.extend(length.to_le_bytes());
            bytes.extend((action | u32::from(category) << 16).to_le_bytes());
            bytes.extend([0; 14]);
            bytes.extend(u16::from(pdu % 4).to_le_bytes());
            bytes.extend(vec![0; usize::from(pdu % 4)]);
        }
        profiled(&bytes, None);
    }

    #[test]
    fn any_ios(ios in prop::collection::vec((any::<u64>(), any::<u64>(), length(), 0_usize..4, any::<Option<u64>>(), 0_u32..3), 0..200)) {
        let mut all: Vec<_> = ios.into_iter().map(|(time_ns, offset, length, kind, latency_ns, process)| fathom_workload::TraceIo {
            time_ns,
            latency_ns,
            offset: offset >> 1,
            length,
            device: process,
            process,
            kind: fathom_workload::IoKind::ALL[kind],
            flags: fathom_workload::IoFlags::default(),
        }).collect();
        all.sort_by_key(|io| io.time_ns);
        let profile = Profile::of(&mut all.into_iter()).expect("memory cannot fail");
        let _ = fio_job(&profile, "x", Scale::default());
        // Some I/Os of the copy; a copy can be far longer than the trace, where the rate is high for a moment.
        let copy: Vec<_> = fathom_workload::Copy::new(&profile, fathom_workload::Expression::Profile, 1).take(1000).collect();
        prop_assert!(copy.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    }
}
