//! Twenty loads with known parameters: profiled, the parameters come back within 5 %; a copy made from the profile and captured again has
//! them too and scores at least 90; deliberately wrong copies score below 70, because of what is wrong with them.

use crate::common::*;
use fathom_workload::{
    ArrivalModel, Copy, Expression, IoKind, Pattern, Profile, ReadOptions, Scale, Stream,
    TraceFacts, TraceFormat, TraceIo, TraceReader, TraceSource, fidelity, fio_job, load_file,
    load_file_profile, sentence,
};

fn profile(ios: &[TraceIo]) -> Profile {
    Profile::of(&mut ios.iter().copied()).expect("memory cannot fail")
}

#[track_caller]
fn near(found: f64, expected: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() < 0.05,
        "{what}: {found} in place of {expected}"
    );
}

fn read(bytes: &[u8]) -> Vec<TraceIo> {
    let mut reader = TraceReader::open(bytes, ReadOptions::default()).expect("a trace");
    let mut ios = Vec::new();
    while let Some(io) = reader.next_io().expect("an I/O") {
        ios.push(io);
    }
    ios
}

/// What is true of a copy within 5 %; of shares, within 0.05.
fn parameters(profile: &Profile) -> Vec<(&'static str, f64, bool)> {
    let [reads, writes, _, flushes] = profile.totals;
    let data = (reads.ios + writes.ios).max(1) as f64;
    let mut all = vec![
        ("rate", profile.iops(), false),
        ("size", (reads.bytes + writes.bytes) as f64 / data, false),
        ("reads", reads.ios as f64 / data, true),
        ("flushes", flushes.ios as f64 / data, true),
        ("sequential", profile.sequential, true),
        ("footprint", profile.locality.footprint as f64, false),
        ("streams", profile.streams.len() as f64, false),
    ];
    if let Some(depth) = &profile.depth {
        all.push(("latency", profile.latency.mean(), false));
        all.push(("depth", depth.mean, false));
    }
    all
}

/// The load is captured, profiled, made again by a load file, and captured again: the second capture has the parameters of the first
/// and scores at least 90. Returns the first profile.
#[track_caller]
fn round_trip(ios: &[TraceIo]) -> Profile {
    let original = profile(&read(&capture(ios, 8192)));
    let what = sentence(&original);
    let copy = Profile::of(&mut Copy::new(&original, Expression::Profile, 1)).expect("a copy");
    let found = fidelity(&original, &copy);
    assert!(found.total >= 90.0, "{what}\n{found:#?}");
    let text = load_file(&original, "t", &facts());
    let again = profile(&read(&capture(&read(text.as_bytes()), 8192)));
    let found = fidelity(&original, &again);
    assert!(found.total >= 90.0, "{what}\n{text}\n{found:#?}");
    for ((name, of_original, share), (_, of_copy, _)) in
        parameters(&original).into_iter().zip(parameters(&again))
    {
        let unit = if share { 1.0 } else { of_original };
        assert!(
            (of_copy - of_original).abs() <= 0.05 * unit,
            "{name}: {of_copy} in place of {of_original}: {what}"
        );
    }
    original
}

fn facts() -> TraceFacts {
    TraceFacts {
        format: TraceFormat::Capture,
        devices: vec!["a \"disk\"".to_owned()],
        lines: 0,
        malformed: 0,
        first_malformed: Vec::new(),
        without_completion: 0,
        out_of_order: 0,
        cut: false,
        processes: Vec::new(),
        lost: 0,
        events: 0,
        open: 0,
    }
}

/// A load file is a trace: the reader detects it and makes the same I/Os each time.
#[test]
fn a_load_file_is_read_as_a_trace() {
    let original = profile(&h2(20_000, 60));
    let text = load_file(&original, "t", &facts());
    let ios = || {
        let mut reader =
            TraceReader::open(text.as_bytes(), ReadOptions::default()).expect("a load file");
        let mut ios = Vec::new();
        while let Some(io) = reader.next_io().expect("an I/O") {
            ios.push(io);
        }
        assert_eq!(reader.facts().format, TraceFormat::Load);
        assert_eq!(reader.facts().devices, ["a \"disk\""]);
        ios
    };
    let made = ios();
    assert_eq!(made, ios());
    near(made.len() as f64, 20_000.0, "I/Os");
    // H2 arrivals: job files have Poisson arrivals in their place, CV^2 1.
    near(profile(&made).arrivals.cv2, original.arrivals.cv2, "CV^2");
}

/// What is wrong in a load file is said with its place.
#[test]
fn a_wrong_load_file_is_refused_with_the_place() {
    let text = load_file(&profile(&h2(20_000, 61)), "t", &facts());
    for (key, line, expected) in [
        ("load = ", "load = 2", "version 1"),
        (
            "start = ",
            "start = 9999999999999",
            "end must be above start",
        ),
        ("start = ", "begin = 0", "unknown key 'begin'"),
        ("start = ", "start = -1", "start: a whole number from 0"),
        ("start = ", "", "the key start is missing"),
        (
            "latency_us = ",
            "latency_us = [true]",
            "a number is expected",
        ),
        (
            "read_sizes = ",
            "read_sizes = [[1]]",
            "pairs of whole numbers",
        ),
        ("pattern = ", "pattern = 5", "pattern: a table is expected"),
        ("pattern = ", "pattern = ", "line "),
        ("first_s = ", "first_s = -1.0", "must be times"),
        (
            "arrivals = ",
            "arrivals = { name = \"h2\", share = 7.0, short_us = 1.0, long_us = 2.0 }",
            "outside 0 to 1",
        ),
        ("pattern = ", "pattern = { name = \"spiral\" }", "spiral"),
        ("read_sizes = ", "read_sizes = [[0, 5]]", "I/O of 0 bytes"),
        (
            "write_sizes = ",
            "write_sizes = [[512, 99999999999999]]",
            "at most 1e9 per second",
        ),
        ("last_s = ", "last_s = 9e7\nclosed_loop = 0", "1 to 65536"),
    ] {
        let lines = text
            .lines()
            .map(|old| if old.starts_with(key) { line } else { old });
        let wrong = lines.collect::<Vec<&str>>().join("\n");
        assert_ne!(wrong.trim(), text.trim(), "no {key} in {text}");
        let error = load_file_profile(&wrong)
            .err()
            .unwrap_or_else(|| panic!("no error: {wrong}"));
        assert!(error.contains(expected), "{error}: {wrong}");
    }
}

/// Regression 1009: only the time ended a load, so that a closed loop of many slots with a latency of a nanosecond was a trace without
/// end, whatever the number of I/Os in its text.
#[test]
fn a_load_file_ends_after_its_ios_whatever_its_times_are() {
    let ios = 20_000;
    let text = load_file(&profile(&h2(ios, 62)), "t", &facts());
    for (changes, most) in [
        (
            &[
                ("last_s = ", "last_s = 9e7\nclosed_loop = 65536"),
                ("latency_us = ", "latency_us = [0.001]"),
            ][..],
            ios,
        ),
        (
            &[
                ("last_s = ", "last_s = 9e7"),
                (
                    "arrivals = ",
                    "arrivals = { name = \"constant\", gap_us = 0.001 }",
                ),
            ],
            ios * 2,
        ),
    ] {
        let lines = text.lines().map(|old| {
            changes
                .iter()
                .find(|(key, _)| old.starts_with(key))
                .map_or(old, |(_, line)| *line)
        });
        let changed = lines.collect::<Vec<&str>>().join("\n");
        let mut reader =
            TraceReader::open(changed.as_bytes(), ReadOptions::default()).expect("a load file");
        let mut count = 0;
        while count <= most && reader.next_io().expect("an I/O").is_some() {
            count += 1;
        }
        // A few I/Os are of no stream.
        assert!(
            (ios - ios / 100..=most).contains(&count),
            "{count} I/Os, not {ios} to {most}"
        );
    }
}

fn only(profile: &Profile) -> &Stream {
    assert_eq!(profile.streams.len(), 1, "{}", sentence(profile));
    &profile.streams[0]
}

#[test]
fn poisson_arrivals_of_uniform_reads() {
    let ios = reads(100_000, 1, |rng| rng.exponential(0.5 * MS));
    let found = round_trip(&ios);
    let stream = only(&found);
    let ArrivalModel::Exponential { mean } = stream.arrivals.model else {
        panic!("{:?}", stream.arrivals.model)
    };
    near(mean, 0.5 * MS, "mean gap");
    near(stream.arrivals.cv2, 1.0, "CV^2");
    assert!(stream.arrivals.autocorrelation.abs() < 0.02);
    // In n windows the index of dispersion of a Poisson process has a standard deviation of sqrt(2/n).
    for (index, windows) in stream
        .arrivals
        .dispersion
        .into_iter()
        .zip([5000.0_f64, 500.0, 50.0])
    {
        let index = index.expect("a long trace");
        assert!(
            (index - 1.0).abs() < 3.5 * (2.0 / windows).sqrt(),
            "{index}"
        );
    }
    assert_eq!(stream.pattern, Pattern::Uniform);
    assert_eq!(stream.depth.as_ref().and_then(|depth| depth.closed), None);
    // 1 - exp(-100000/131072) of 1 GiB is touched.
    near(
        found.locality.footprint as f64,
        GIB as f64 * (1.0 - (-100_000.0_f64 / 131_072.0).exp()),
        "footprint",
    );
    // Little's law: 2000 per second times 150 us.
    near(
        found.depth.as_ref().expect("latencies").mean,
        0.3,
        "mean depth",
    );
    assert_eq!(sentence(&found), "1 stream: random 8 KiB reads over 1 GiB");
}

#[test]
fn constant_arrivals() {
    let ios = reads(50_000, 2, |_| 0.25 * MS);
    let found = round_trip(&ios);
    let ArrivalModel::Constant { gap } = only(&found).arrivals.model else {
        panic!("{:?}", found.arrivals.model)
    };
    near(gap, 0.25 * MS, "gap");
}

fn h2(count: u64, seed: u64) -> Vec<TraceIo> {
    reads(count, seed, |rng| {
        let mean = if rng.uniform() < 0.9 {
            0.1 * MS
        } else {
            5.0 * MS
        };
        rng.exponential(mean)
    })
}

#[test]
fn hyper_exponential_arrivals() {
    let found = round_trip(&h2(200_000, 3));
    let ArrivalModel::Hyper { share, short, long } = only(&found).arrivals.model else {
        panic!("{:?}", found.arrivals.model)
    };
    near(share, 0.9, "share");
    near(short, 0.1 * MS, "short mean");
    near(long, 5.0 * MS, "long mean");
    // CV^2 of H2: 2 (p a^2 + q b^2) / (p a + q b)^2 - 1.
    near(
        found.arrivals.cv2,
        2.0 * 2.509 / (0.59 * 0.59) - 1.0,
        "CV^2",
    );
}

#[test]
fn bursts_and_pauses() {
    let mut left = 0;
    let ios = reads(100_000, 4, |rng| {
        if left == 0 {
            left = 49;
            return 200.0 * MS;
        }
        left -= 1;
        rng.exponential(0.2 * MS)
    });
    let found = round_trip(&ios);
    let ArrivalModel::OnOff {
        burst, gap, pause, ..
    } = only(&found).arrivals.model
    else {
        panic!("{:?}", found.arrivals.model)
    };
    near(burst, 50.0, "burst");
    near(gap, 0.2 * MS, "gap");
    near(pause, 200.0 * MS, "pause");
}

fn zipf(theta: f64, seed: u64) -> Vec<TraceIo> {
    let table = ZipfTable::new(theta, 131_072);
    let ios = reads(400_000, seed, |rng| rng.exponential(0.5 * MS));
    at(ios, seed + 1, |rng| table.draw(rng) * 8192)
}

#[test]
fn zipf_exponents() {
    for (theta, seed) in [(0.9, 5), (1.2, 6)] {
        let found = round_trip(&zipf(theta, seed));
        let Pattern::Zipf { theta: exponent } = only(&found).pattern else {
            panic!("{theta}: {:?}", only(&found).pattern)
        };
        near(exponent, theta, "exponent");
        assert!(sentence(&found).contains(&format!("zipf {exponent:.2}")));
    }
}

/// 90 % of the accesses to 5 of 60 GiB.
fn hot_cold(seed: u64) -> Vec<TraceIo> {
    let ios = reads(200_000, seed, |rng| rng.exponential(0.5 * MS));
    at(ios, seed + 1, |rng| {
        let (start, units) = if rng.uniform() < 0.9 {
            (20 * GIB, 5 * GIB / 8192)
        } else if rng.uniform() < 20.0 / 55.0 {
            (0, 20 * GIB / 8192)
        } else {
            (25 * GIB, 35 * GIB / 8192)
        };
        start + rng.below(units) * 8192
    })
}

#[test]
fn hot_and_cold_zones() {
    let found = round_trip(&hot_cold(7));
    let Pattern::Zones(zones) = &only(&found).pattern else {
        panic!("{:?}", only(&found).pattern)
    };
    let hot = zones
        .iter()
        .max_by(|a, b| (a.share / a.bytes as f64).total_cmp(&(b.share / b.bytes as f64)))
        .expect("zones");
    near(hot.share, 0.9, "share of the hot zone");
    near(hot.bytes as f64, 5.0 * GIB as f64, "size of the hot zone");
    near(
        hot.offset as f64,
        20.0 * GIB as f64,
        "place of the hot zone",
    );
    let text = sentence(&found);
    assert_eq!(
        text,
        "1 stream: random 8 KiB reads over 60 GiB with 90 % in 5 GiB"
    );
}

#[test]
fn logs_with_a_flush_after_every_n() {
    for (every, text) in [(1, "after each write"), (8, "after every 8 writes")] {
        let found = round_trip(&log(50_000, 12_288, every, 0.5 * MS, 8));
        let stream = only(&found);
        let flushing = stream.flushing.expect("flushes");
        near(flushing.every, every as f64, "writes per flush");
        assert!(flushing.even && flushing.data_only);
        assert!(found.sequential > 0.999, "{}", found.sequential);
        assert_eq!(
            sentence(&found),
            format!("1 stream: a sequential log of 12 KiB with fdatasync {text}")
        );
    }
}

/// Regression 1411: a log whose flush is missing now and then was one "with flush after every 1 writes".
#[test]
fn a_flush_after_nearly_each_write_is_after_each() {
    let mut ios = log(50_000, 12_288, 1, 0.5 * MS, 8);
    let mut flushes = 0;
    ios.retain(|io| {
        flushes += u64::from(io.kind == IoKind::Flush);
        io.kind != IoKind::Flush || flushes % 20 != 0
    });
    let text = sentence(&profile(&ios));
    assert!(text.ends_with("with fdatasync after each write"), "{text}");
}

#[test]
fn streams_of_two_processes_and_of_none() {
    for processes in [true, false] {
        let mut log = log(40_000, 12_288, 1, 1.0 * MS, 9);
        let mut pages = reads(80_000, 10, |rng| rng.exponential(0.5 * MS));
        if processes {
            (log, pages) = (process(log, 7), process(pages, 8));
        }
        let found = round_trip(&merge(vec![log, pages]));
        assert_eq!(found.streams.len(), 2, "{}", sentence(&found));
        near(found.streams[0].iops(), 2000.0, "rate of the reads");
        near(found.streams[1].iops(), 1000.0, "rate of the log");
        assert_eq!(
            sentence(&found),
            "2 streams: random 8 KiB reads over 1 GiB, and a sequential log of 12 KiB with fdatasync after each write"
        );
    }
}

#[test]
fn interleaved_logs_are_sequential_at_several_places() {
    let (mut rng, mut now) = (Rng(11), 0.0);
    let ios: Vec<TraceIo> = (0..80_000_u64)
        .map(|n| {
            now += rng.exponential(0.5 * MS);
            io(
                now,
                IoKind::Write,
                (n % 4) * 10 * GIB + n / 4 * 16_384,
                16_384,
            )
        })
        .collect();
    let found = round_trip(&ios);
    let Pattern::Sequential { places, .. } = only(&found).pattern else {
        panic!("{:?}", only(&found).pattern)
    };
    near(places, 4.0, "places");
    assert!(found.sequential > 0.99);
    assert_eq!(profile(&ios).depth, None);
}

/// Loads of several properties at once.
#[test]
fn mixed_loads_come_back() {
    // A database: pages by zipf, and a log with a flush after every 32 writes, of one process each.
    let log = process(log(20_000, 16_384, 32, 2.0 * MS, 70), 1);
    let pages = zipf(0.9, 71).into_iter().take(80_000).collect();
    let found = round_trip(&merge(vec![log, process(pages, 2)]));
    near(
        found.streams[1].flushing.expect("flushes").every,
        32.0,
        "writes per flush",
    );

    // Random writes with a flush after every fourth.
    let mut ios = reads(60_000, 72, |rng| rng.exponential(0.5 * MS));
    for io in &mut ios {
        (io.kind, io.length) = (IoKind::Write, 16_384);
        io.offset *= 2;
    }
    let flushes: Vec<TraceIo> = ios
        .iter()
        .skip(3)
        .step_by(4)
        .map(|write| TraceIo {
            latency_ns: Some(300_000),
            ..io(write.time_ns as f64 + 10_000.0, IoKind::Flush, 0, 0)
        })
        .collect();
    let found = round_trip(&merge(vec![ios, flushes]));
    near(
        only(&found).flushing.expect("flushes").every,
        4.0,
        "writes per flush",
    );

    // A closed loop of four slots that reads and writes two sizes.
    let mut ios = closed(60_000, 4, 250.0 * US, 0.0, 73);
    let mut rng = Rng(74);
    for io in &mut ios {
        if rng.uniform() < 0.25 {
            io.kind = IoKind::Write;
        }
        if rng.uniform() < 0.4 {
            io.length = 4096;
        }
    }
    let found = round_trip(&ios);
    let depth = only(&found).depth.as_ref().expect("latencies");
    assert_eq!(depth.closed, Some(4));

    // One reader from the first to the last byte, an I/O at a time.
    let mut ios = closed(40_000, 1, 400.0 * US, 100.0 * US, 75);
    for (n, io) in ios.iter_mut().enumerate() {
        (io.offset, io.length) = (n as u64 * 131_072, 131_072);
    }
    let found = round_trip(&ios);
    assert!(found.sequential > 0.999);
    near(only(&found).think.mean(), 100.0 * US, "think time");
}

#[test]
fn phases_are_found_where_they_begin() {
    let (mut rng, mut now) = (Rng(12), 0.0);
    let mut ios = Vec::new();
    while now < 300e9 {
        // 1000 IOPS of reads, then 3000 IOPS with 30 % of writes, then 500.
        let (rate, writes) = match now {
            ..100e9 => (1000.0, 0.0),
            ..220e9 => (3000.0, 0.3),
            _ => (500.0, 0.0),
        };
        now += rng.exponential(1e9 / rate);
        let kind = if rng.uniform() < writes {
            IoKind::Write
        } else {
            IoKind::Read
        };
        ios.push(io(now, kind, rng.below(131_072) * 8192, 8192));
    }
    let found = round_trip(&ios);
    assert_eq!(found.phases.len(), 3, "{:?}", found.phases);
    for (phase, (end, rate, reads)) in found.phases.iter().zip([
        (100e9, 1000.0, 1.0),
        (220e9, 3000.0, 0.7),
        (300e9, 500.0, 1.0),
    ]) {
        near(phase.end as f64, end, "end of the phase");
        near(phase.iops, rate, "rate of the phase");
        near(phase.read_share, reads, "reads of the phase");
    }
}

#[test]
fn closed_loops_and_think_times() {
    for (slots, think) in [(1, 300.0 * US), (16, 0.0)] {
        let found = round_trip(&closed(60_000, slots, 200.0 * US, think, 13));
        let stream = only(&found);
        let depth = stream.depth.as_ref().expect("latencies");
        assert_eq!(depth.closed, Some(slots as u32), "mean {}", depth.mean);
        if think > 0.0 {
            near(stream.think.mean(), think, "think time");
        }
        near(found.latency.mean(), 200.0 * US, "latency");
    }
}

#[test]
fn sizes_and_mix() {
    let mut rng = Rng(14);
    let mut ios = reads(100_000, 15, |rng| rng.exponential(0.5 * MS));
    for io in &mut ios {
        if rng.uniform() < 0.3 {
            io.kind = IoKind::Write;
            io.length = if rng.uniform() < 0.6 { 4096 } else { 65_536 };
        }
    }
    let found = round_trip(&ios);
    let stream = only(&found);
    near(stream.read_share(), 0.7, "reads");
    let writes = &stream.sizes[1];
    assert_eq!(writes.len(), 2);
    near(
        writes[0].1 as f64 / stream.totals[1].ios as f64,
        0.6,
        "writes of 4 KiB",
    );
}

#[test]
fn several_processes_of_one_kind_are_counted_together() {
    let parts = (1..=6)
        .map(|pid| {
            process(
                reads(20_000, 20 + u64::from(pid), |rng| rng.exponential(2.0 * MS)),
                pid,
            )
        })
        .collect();
    let found = round_trip(&merge(parts));
    assert_eq!(found.streams.len(), 6);
    assert_eq!(
        sentence(&found),
        "6 streams: 6 x random 8 KiB reads over 1 GiB"
    );
}

#[test]
fn wrong_copies_score_low_for_the_right_reason() {
    let worst = |original: &[TraceIo], copy: &[TraceIo]| {
        let result = fidelity(&profile(original), &profile(copy));
        assert!(result.total < 70.0, "{result:#?}");
        result.worst().expect("scores").name
    };
    // Offsets in another order.
    let original = log(40_000, 12_288, 8, 0.5 * MS, 30);
    let mut shuffled = original.clone();
    let mut rng = Rng(31);
    for index in (1..shuffled.len()).rev() {
        let other = rng.below(index as u64 + 1) as usize;
        if shuffled[index].has_data() && shuffled[other].has_data() {
            let offset = shuffled[index].offset;
            shuffled[index].offset = shuffled[other].offset;
            shuffled[other].offset = offset;
        }
    }
    assert_eq!(worst(&original, &shuffled), "sequentiality");

    // The mean of all sizes in place of each.
    let mut original = reads(50_000, 32, |rng| rng.exponential(0.5 * MS));
    for (index, io) in original.iter_mut().enumerate() {
        io.length = if index % 2 == 0 { 4096 } else { 12_288 };
    }
    let mut averaged = original.clone();
    averaged.iter_mut().for_each(|io| io.length = 8192);
    assert_eq!(worst(&original, &averaged), "sizes");

    // Poisson arrivals of the same rate in place of bursts.
    let original = h2(100_000, 33);
    let mean = original[original.len() - 1].time_ns as f64 / original.len() as f64;
    let poisson = reads(100_000, 34, |rng| rng.exponential(mean));
    assert_eq!(worst(&original, &poisson), "gaps");

    // Reads in place of writes, a tenth of the footprint, ten times the latency.
    let original = reads(100_000, 35, |rng| rng.exponential(0.5 * MS));
    let mut writes = original.clone();
    writes.iter_mut().for_each(|io| io.kind = IoKind::Write);
    assert!(["mix", "sizes"].contains(&worst(&original, &writes)));
    let mut small = original.clone();
    small.iter_mut().for_each(|io| io.offset /= 16 * 8192);
    small.iter_mut().for_each(|io| io.offset *= 8192);
    assert!(["footprint", "miss-ratio curve"].contains(&worst(&original, &small)));
    let mut slow = original.clone();
    slow.iter_mut()
        .for_each(|io| io.latency_ns = io.latency_ns.map(|ns| ns * 10));
    assert!(["latency", "depth"].contains(&worst(&original, &slow)));
}

#[test]
fn a_load_is_its_own_perfect_copy() {
    let original = profile(&hot_cold(40));
    let result = fidelity(&original, &original);
    assert_eq!(result.total, 100.0, "{result:#?}");
}

/// Regression 0822: a job of random reads got the flushes of its process, whose writes were a sequential log, and fio then read at half
/// the rate.
#[test]
fn a_job_that_only_reads_does_not_flush() {
    let mut parts = vec![process(
        reads(20_000, 60, |rng| rng.exponential(0.5 * MS)),
        1,
    )];
    // A log of the same process, and now and then a write to a place of its own with a flush.
    parts.push(process(log(10_000, 4096, 1, 1.0 * MS, 61), 1));
    let rare = (0..60_u64).flat_map(|n| {
        let now = 150.0 * MS * n as f64;
        [
            io(now, IoKind::Write, 10 * GIB + n * 7919 % 60 * 65_536, 8192),
            io(now + 1000.0, IoKind::Flush, 0, 0),
        ]
    });
    parts.push(process(rare.collect(), 1));
    let job = fio_job(&profile(&merge(parts)), "t", Scale::default());
    let from = job
        .find("rw=randread")
        .unwrap_or_else(|| panic!("no reads in {job}"));
    let section = job[from..].split("\n[").next().expect("a section");
    assert!(
        !section.contains("fsync") && section.contains("rate_process=poisson"),
        "{job}"
    );
}

/// Regression 1403: eight I/Os in one burst became a job without a rate that ran as fast as it could for the whole time, and a stream
/// of the last third of a trace ran from the start.
#[test]
fn a_stream_of_part_of_the_trace_has_its_own_times() {
    let burst = (0..8_u64).map(|n| {
        io(
            1000.0 * n as f64,
            IoKind::Read,
            50 * GIB + (n << 19),
            1 << 19,
        )
    });
    let parts = vec![
        process(reads(230, 62, |rng| rng.exponential(100.0 * MS)), 1),
        process(burst.collect(), 2),
        process(
            log(100, 4096, 1, 50.0 * MS, 63)
                .into_iter()
                .map(|mut io| {
                    io.time_ns += 15_000_000_000;
                    io
                })
                .collect(),
            3,
        ),
    ];
    let job = fio_job(&profile(&merge(parts)), "t", Scale::default());
    let section = |rw: &str| {
        let from = job.find(rw).unwrap_or_else(|| panic!("no {rw} in {job}"));
        job[from..].split("\n[").next().expect("a section")
    };
    let burst = section("rw=read\n");
    assert!(
        burst.contains("time_based=0\nio_size=4194304\n") && burst.contains("runtime=1ms"),
        "{job}"
    );
    let log = section("rw=write\n");
    assert!(
        log.contains("startdelay=15") && log.contains("runtime=5"),
        "{job}"
    );
    let reads = section("rw=randread\n");
    assert!(
        !reads.contains("startdelay") && !reads.contains("runtime"),
        "{job}"
    );
}

/// Regression 1404: gaps with a CV^2 of 0.1 to 0.5, as those of a paced load whose I/Os are late by a few per cent of a gap, were
/// copied as Poisson arrivals, whose CV^2 is 1.
#[test]
fn jitter_is_not_poisson() {
    let late = |rng: &mut Rng| 0.5 * MS + 1.5 * MS * rng.uniform();
    let found = profile(&reads(20_000, 64, late));
    // A uniform distribution of width w and mean m has a CV^2 of w^2 / 12 m^2.
    near(found.arrivals.cv2, 1.5 * 1.5 / (12.0 * 1.25 * 1.25), "CV^2");
    assert_eq!(found.arrivals.model.name(), "constant");
}

/// Bursts of reads of some 20 ms and writes of some 3 ms, each after all of the one before and a pause of 1 ms. `size` is the number
/// of I/Os of each.
fn waiting_bursts(size: impl Fn(u64) -> u64) -> Vec<TraceIo> {
    let (mut rng, mut now) = (Rng(65), 0.0);
    let mut ios = Vec::new();
    for burst in 0..4000 {
        let mut free = 0.0_f64;
        for _ in 0..size(burst) {
            now += rng.exponential(3.0 * US);
            let (kind, latency) = if rng.uniform() < 0.7 {
                (IoKind::Read, 20.0 * MS + rng.exponential(0.2 * MS))
            } else {
                (IoKind::Write, 3.0 * MS + rng.exponential(0.2 * MS))
            };
            free = free.max(now + latency);
            ios.push(TraceIo {
                latency_ns: Some(latency as u64),
                ..io(now, kind, rng.below(131_072) * 8192, 8192)
            });
        }
        now = free + 1.0 * MS + rng.exponential(0.1 * MS);
    }
    ios
}

/// The number after `OPTION=` in a job file.
fn value(job: &str, option: &str) -> f64 {
    let from = job
        .find(option)
        .unwrap_or_else(|| panic!("no {option} in {job}"));
    let line = job[from + option.len()..].lines().next();
    line.and_then(|value| value.split(',').next()?.parse().ok())
        .expect("a number")
}

/// Regression 1407: bursts that wait for the one before became independent slots, each of which sends its next I/O when its own has
/// completed: where a burst waits for its slowest I/O, the copy ran at 1.4 to 1.55 times the rate.
#[test]
fn bursts_that_wait_for_each_other_keep_their_rate() {
    let found = round_trip(&waiting_bursts(|_| 8));
    near(only(&found).burst().expect("bursts"), 8.0, "burst");
    let job = fio_job(&found, "t", Scale::default());
    assert!(job.contains("thinktime_blocks_type=issue"), "{job}");
    let size = value(&job, "iodepth=");
    assert_eq!(size, 8.0);
    assert_eq!(size, value(&job, "thinktime_blocks="));
    // A burst takes as long as its slowest I/O, then comes the pause: the rate is that of the trace.
    let slowest = 20.5 * MS;
    near(
        size * 1e9 / (slowest + value(&job, "thinktime=") * US),
        found.iops(),
        "rate of the job file",
    );
}

/// Regression 1409: bursts of 8 and 9 I/Os, and of 3 and 4 of a sequential read, became bursts of one size, at which the device was
/// never as deep as in the trace.
#[test]
fn bursts_that_differ_become_a_rate() {
    let found = round_trip(&waiting_bursts(|burst| 8 + burst % 2));
    near(only(&found).burst().expect("bursts"), 8.5, "burst");
    let job = fio_job(&found, "t", Scale::default());
    assert!(!job.contains("thinktime"), "{job}");
    assert_eq!(value(&job, "iodepth="), 9.0);
    near(
        value(&job, "rate_iops="),
        found.iops() * only(&found).read_share(),
        "rate of the reads",
    );
}

/// Regression 1410: a closed loop without pauses, whose I/Os take the same time and so complete together, became bursts that wait for
/// their slowest I/O.
#[test]
fn a_closed_loop_in_step_is_a_depth() {
    let (mut rng, mut free) = (Rng(66), [0.0_f64; 16]);
    let mut ios = Vec::new();
    for number in 0..32_000_usize {
        let slot = number % 16;
        let now = free[slot].max(ios.last().map_or(0.0, |io: &TraceIo| io.time_ns as f64))
            + rng.exponential(10.0 * US);
        let latency = 20.0 * MS + rng.exponential(30.0 * US);
        free[slot] = now + latency;
        ios.push(TraceIo {
            latency_ns: Some(latency as u64),
            ..io(now, IoKind::Read, rng.below(12_800) * 16_384, 16_384)
        });
    }
    let found = profile(&ios);
    assert!(only(&found).is_in_step());
    let job = fio_job(&found, "t", Scale::default());
    assert!(
        !job.contains("thinktime") && !job.contains("rate_iops"),
        "{job}"
    );
    assert_eq!(value(&job, "iodepth="), 16.0);
}

/// Regression 1408: the job of a log whose flushes wait for its writes had a queue depth of 16, at which fio sends the flush as soon as
/// the write is submitted: half of the gaps were others.
#[test]
fn a_log_whose_flushes_wait_for_its_writes_has_a_depth_of_one() {
    let trace = |delay: f64| -> Vec<TraceIo> {
        (0..4000_u64)
            .flat_map(|n| {
                let now = 33.0 * MS * n as f64;
                let write = io(now, IoKind::Write, n * 4096, 4096);
                let flush = io(now + delay, IoKind::Flush, 0, 0);
                [(write, 3.0 * MS), (flush, 0.3 * MS)].map(|(io, latency)| TraceIo {
                    latency_ns: Some(latency as u64),
                    ..io
                })
            })
            .collect()
    };
    let depth = |delay| {
        let job = fio_job(&profile(&trace(delay)), "t", Scale::default());
        let depth = job.lines().find_map(|line| line.strip_prefix("iodepth="));
        depth.map(str::to_owned)
    };
    assert_eq!(depth(3.1 * MS).as_deref(), Some("1"));
    assert_eq!(depth(0.05 * MS).as_deref(), Some("16"));
}

/// Regression 0820: each job of a made job file had a file of its own, so that streams that share a region of the trace did not
/// share it in the copy, and on one target the clones of a log with several places wrote over each other.
#[test]
fn regions_of_a_job_file_overlap_as_those_of_the_trace() {
    let near = reads(40_000, 50, |rng| rng.exponential(0.5 * MS));
    let parts = vec![
        process(near.clone(), 1),
        process(log(20_000, 4096, 1, 1.0 * MS, 51), 2),
    ];
    let job = fio_job(&profile(&merge(parts)), "t", Scale::default());
    assert_eq!(job.matches("filename=").count(), 1);
    let value = |section: &str, option: &str| -> Option<u64> {
        let from = job
            .find(section)
            .unwrap_or_else(|| panic!("no {section} in {job}"));
        job[from..]
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .find_map(|line| line.strip_prefix(option))
            .map(|value| value.parse().expect("a number"))
    };
    // The reads come first; the log, at 100 GiB in the trace, follows them within a few MiB.
    assert_eq!(value("[random-1]", "offset="), None);
    let offset = value("[sequential-2]", "offset=").expect("an offset");
    let size = value("[random-1]", "size=").expect("a size");
    assert!(offset >= size && offset < size + (4 << 20), "{job}");
    // Two processes in one region share it; in two regions they do not.
    let far = |mut ios: Vec<TraceIo>| {
        ios.iter_mut().for_each(|io| io.offset += 7 * GIB);
        ios
    };
    let second = reads(40_000, 52, |rng| rng.exponential(0.5 * MS));
    let both = |second: Vec<TraceIo>| {
        let parts = vec![process(near.clone(), 1), process(second, 2)];
        fio_job(&profile(&merge(parts)), "t", Scale::default())
    };
    let shared = both(second.clone());
    assert!(
        shared.contains("numjobs=2") && !shared.contains("offset_increment="),
        "{shared}"
    );
    assert!(both(far(second)).contains("offset_increment="));
}
