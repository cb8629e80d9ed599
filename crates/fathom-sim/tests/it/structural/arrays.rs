//! RAID: member I/Os by arithmetic, measured curves, degraded operation and rebuild.

use fathom_sim::{
    Library, MeasuredDisk, MeasuredDiskParameters, MemberCounts, Raid, RaidLevel, RaidParameters,
    SimDevice, SimOp, closed_loop,
};

use crate::structural::{Random, assert_within, measure, one, random_requests, request, settle};

const CHUNK: u64 = 64 << 10;

fn disk(seed: u64) -> Box<dyn SimDevice> {
    let parameters = MeasuredDiskParameters {
        capacity_bytes: 1 << 30,
        service_ns: 10_000_000,
        variation: 0.3,
        queue_gain: 0.0,
        queue_depth: 32,
    };
    Box::new(MeasuredDisk::new(parameters, seed).expect("a disk"))
}

fn raid(level: RaidLevel, members: u64) -> Raid {
    let parameters = RaidParameters {
        level,
        chunk_bytes: CHUNK,
        rebuild_bytes_per_s: 0,
    };
    Raid::new(&parameters, (0..members).map(disk).collect()).expect("an array")
}

fn total(raid: &Raid) -> (u64, u64, u64, u64) {
    raid.member_counts()
        .iter()
        .fold((0, 0, 0, 0), |(r, w, rb, wb), one: &MemberCounts| {
            (
                r + one.reads,
                w + one.writes,
                rb + one.read_bytes,
                wb + one.written_bytes,
            )
        })
}

/// Member reads and writes of one request.
fn cost(raid: &mut Raid, op: SimOp, offset: u64, bytes: u32) -> (u64, u64, u64, u64) {
    let before = total(raid);
    let mut now = 1_000_000_000_000;
    one(raid, &mut now, request(op, offset, bytes));
    let after = total(raid);
    (
        after.0 - before.0,
        after.1 - before.1,
        after.2 - before.2,
        after.3 - before.3,
    )
}

/// The table of write penalties: 1 read per small read, and 1, 2, 2, 4, 6 I/Os per small write.
#[test]
fn small_writes_have_the_penalty_of_their_level() {
    for (level, members, penalty) in [
        (RaidLevel::Raid0, 8, 1),
        (RaidLevel::Raid1, 2, 2),
        (RaidLevel::Raid10, 8, 2),
        (RaidLevel::Raid5, 8, 4),
        (RaidLevel::Raid6, 8, 6),
    ] {
        let mut array = raid(level, members);
        let mut random = Random(3);
        let capacity = array.capacity();
        let count = 2000;
        for _ in 0..count {
            let offset = random.below(capacity / 4096) * 4096;
            let (reads, writes, ..) = cost(&mut array, SimOp::Write, offset, 4096);
            assert_eq!(reads + writes, penalty, "{level:?}");
            let (reads, writes, bytes, _) = cost(&mut array, SimOp::Read, offset, 4096);
            assert_eq!((reads, writes, bytes), (1, 0, 4096), "{level:?}");
        }
        // Parity rotates: no member gets more than its share. An idle mirror reads the first copy.
        let mirrored = matches!(level, RaidLevel::Raid1 | RaidLevel::Raid10);
        for member in array.member_counts().iter().filter(|_| !mirrored) {
            let share = (member.reads + member.writes) as f64 / (count * (penalty + 1)) as f64
                * members as f64;
            assert!((0.85..1.15).contains(&share), "{level:?}: {share}");
        }
    }
}

/// RAID 5 of 8: a full stripe takes n writes for n - 1 chunks and no reads; read-modify-write reads
/// the touched chunks and the parity, reconstruct-write the others; the fewer reads win.
#[test]
fn large_writes_read_no_more_than_they_need() {
    for touched in 1..=7_u64 {
        let mut array = raid(RaidLevel::Raid5, 8);
        let (reads, writes, read_bytes, written) =
            cost(&mut array, SimOp::Write, 0, (touched * CHUNK) as u32);
        let expected_reads = (touched + 1).min(7 - touched);
        assert_eq!((reads, writes), (expected_reads, touched + 1), "{touched}");
        assert_eq!(read_bytes, expected_reads * CHUNK);
        assert_eq!(written, (touched + 1) * CHUNK);
    }
    for touched in 1..=6_u64 {
        let mut array = raid(RaidLevel::Raid6, 8);
        let (reads, writes, ..) = cost(&mut array, SimOp::Write, 0, (touched * CHUNK) as u32);
        assert_eq!(
            (reads, writes),
            ((touched + 2).min(6 - touched), touched + 2),
            "{touched}"
        );
    }
    // Ten full stripes in one request: (n - 1) / n of what is written is data.
    let mut array = raid(RaidLevel::Raid5, 8);
    let (reads, _, _, written) = cost(&mut array, SimOp::Write, 0, (70 * CHUNK) as u32);
    assert_eq!((reads, written), (0, 80 * CHUNK));
    // With three members it is cheaper to read the other data chunk than data and parity.
    let mut array = raid(RaidLevel::Raid5, 3);
    let (reads, writes, ..) = cost(&mut array, SimOp::Write, 0, 4096);
    assert_eq!((reads, writes), (1, 2));
}

/// Data bytes arrive at the members exactly once, whatever the requests are; unaligned requests
/// touch two members.
#[test]
fn members_get_the_bytes_of_the_requests() {
    for level in [RaidLevel::Raid0, RaidLevel::Raid10, RaidLevel::Raid1] {
        let copies = if level == RaidLevel::Raid0 { 1 } else { 2 };
        let members = if level == RaidLevel::Raid1 { 2 } else { 6 };
        let mut array = raid(level, members);
        let mut random = Random(9);
        for _ in 0..500 {
            let bytes = 512 + random.below(1 << 20) as u32;
            let offset = random.below(array.capacity() - u64::from(bytes));
            let (_, _, read, _) = cost(&mut array, SimOp::Read, offset, bytes);
            let (_, _, _, written) = cost(&mut array, SimOp::Write, offset, bytes);
            assert_eq!(read, u64::from(bytes));
            assert_eq!(written, copies * u64::from(bytes));
        }
    }
    let mut array = raid(RaidLevel::Raid0, 4);
    let (aligned, ..) = cost(&mut array, SimOp::Read, CHUNK, CHUNK as u32);
    let (unaligned, ..) = cost(&mut array, SimOp::Read, CHUNK - 4096, CHUNK as u32);
    assert_eq!((aligned, unaligned), (1, 2));
}

/// Degraded: a read of a lost chunk takes n - 1 reads (RAID 5) or n - 2 (RAID 6), or one from the
/// other copy; other reads take one.
#[test]
fn degraded_reads_reconstruct() {
    for (level, reconstruction) in [
        (RaidLevel::Raid5, 7),
        (RaidLevel::Raid6, 6),
        (RaidLevel::Raid10, 1),
    ] {
        let mut array = raid(level, 8);
        array.fail_member(2);
        let mut random = Random(5);
        let capacity = array.capacity();
        let (mut direct, mut reconstructed) = (0_u64, 0_u64);
        for _ in 0..4000 {
            let offset = random.below(capacity / 4096) * 4096;
            let (reads, writes, ..) = cost(&mut array, SimOp::Read, offset, 4096);
            assert_eq!(writes, 0);
            match reads {
                1 => direct += 1,
                reads => {
                    assert_eq!(reads, reconstruction, "{level:?}");
                    reconstructed += 1;
                }
            }
        }
        if reconstruction > 1 {
            // One of eight members is lost.
            assert_within("share", reconstructed as f64 / 4000.0, 0.125, 0.15);
        }
        assert!(direct > 0);
        assert_eq!(array.member_counts()[2].reads, 0);
    }
}

/// The failures that a level survives, and one more.
#[test]
fn an_array_fails_with_one_failure_too_many() {
    for (level, members, survives) in [
        (RaidLevel::Raid0, 4, vec![]),
        (RaidLevel::Raid1, 3, vec![0, 1]),
        (RaidLevel::Raid10, 4, vec![0, 2]),
        (RaidLevel::Raid5, 5, vec![1]),
        (RaidLevel::Raid6, 6, vec![1, 4]),
    ] {
        let mut array = raid(level, members);
        let mut random = Random(1);
        for member in &survives {
            array.fail_member(*member);
        }
        let mut failures = |array: &mut Raid| {
            let next = || {
                let op = [SimOp::Read, SimOp::Write][random.below(2) as usize];
                let bytes = 4096 * (1 + random.below(64)) as u32;
                request(op, random.below((1 << 28) / 4096) * 4096, bytes)
            };
            let mut requests = next;
            let (mut done, mut failed, mut now) = (Vec::new(), 0, 0);
            for id in 0..300 {
                array.submit(now, fathom_sim::SimRequest { id, ..requests() });
                while let Some(at) = array.next_event() {
                    now = at;
                    array.advance(now, &mut done);
                }
            }
            assert_eq!(done.len(), 300);
            failed += done.iter().filter(|completion| completion.failed).count();
            failed
        };
        assert_eq!(failures(&mut array), 0, "{level:?} with {survives:?}");
        let fatal = (0..members as usize)
            .rev()
            .find(|member| !survives.contains(member))
            .expect("a member that works");
        array.fail_member(fatal);
        assert!(failures(&mut array) > 0, "{level:?} without {fatal}");
    }
}

/// A rebuild reads (n - 1) members and writes one, each completely, at the given rate; then the
/// array is as before.
#[test]
fn a_rebuild_reads_the_others_and_writes_one() {
    for (level, members, sources) in [
        (RaidLevel::Raid5, 5, 4),
        (RaidLevel::Raid6, 6, 4),
        (RaidLevel::Raid1, 2, 1),
        (RaidLevel::Raid10, 4, 1),
    ] {
        let parameters = RaidParameters {
            level,
            chunk_bytes: CHUNK,
            rebuild_bytes_per_s: 10 << 20,
        };
        let disks = (0..members).map(disk).collect();
        let mut array = Raid::new(&parameters, disks).expect("an array");
        array.fail_member(1);
        array
            .rebuild_member(0, 1, disk(99))
            .expect("the member has failed");
        let mut now = 0;
        settle(&mut array, &mut now);
        assert_eq!(array.degraded_members(), 0);
        let (.., read, written) = total(&array);
        assert_eq!((read, written), (sources << 30, 1 << 30), "{level:?}");
        // 1 GiB at 10 MiB/s; a read and a write of 10 ms per 512 KiB would allow 25 MiB/s.
        assert_within("seconds", now as f64 / 1e9, 102.4, 0.02);
        let (reads, ..) = cost(&mut array, SimOp::Read, 0, (4 * CHUNK) as u32);
        assert!(reads <= 4, "no reconstruction: {reads}");
    }
}

/// Without a limit the rebuild shares the members with the load: it takes longer, and the load
/// gets less.
#[test]
fn a_rebuild_and_the_load_slow_each_other() {
    let text = |rest: &str| {
        format!("raid5(8 x measured-disk(service=14.02ms, capacity=4G), chunk=64k{rest})")
    };
    let iops = |rest: &str| {
        let mut array = Library::new().build_text(&text(rest), 3).expect("an array");
        let mut next = random_requests(SimOp::Read, 7 * (4 << 30), 4096, 5);
        measure(&mut *array, 16, (100, 1500), 0, |_| next()).iops
    };
    let (whole, degraded) = (iops(""), iops(", failed=1"));
    let rebuilding = iops(", failed=1, rebuild=measured-disk(service=14.02ms, capacity=4G)");
    // Degraded: one of eight reads becomes seven on the seven others, 14/8 reads for each and
    // 7 members: 8 / (14/8) / 8 = 1/2 of the whole array, when all are busy.
    assert!(
        degraded < 0.75 * whole && degraded > 0.4 * whole,
        "{degraded} {whole}"
    );
    assert!(rebuilding < 0.95 * degraded, "{rebuilding} {degraded}");
}

/// A read error is repaired from the other members, a write error removes the member.
#[test]
fn errors_of_a_member_do_not_reach_the_host() {
    for text in [
        "raid5(3 x measured-disk(service=1ms), faults(measured-disk(service=1ms), read_errors=0.3))",
        "raid6(4 x measured-disk(service=1ms), faults(measured-disk(service=1ms), write_errors=0.1))",
        "raid1(measured-disk(service=1ms), faults(measured-disk(service=1ms), fails_at=100ms))",
        "raid10(3 x measured-disk(service=1ms), faults(measured-disk(service=1ms), read_errors=50%))",
    ] {
        let mut array = Library::new().build_text(text, 1).expect("an array");
        let (mut random, mut done, mut now) = (Random(2), Vec::new(), 0);
        for id in 0..2000 {
            let op = [SimOp::Read, SimOp::Write][random.below(2) as usize];
            let offset = random.below(1 << 20) * 4096;
            array.submit(
                now,
                fathom_sim::SimRequest {
                    id,
                    ..request(op, offset, 4096)
                },
            );
            while let Some(at) = array.next_event() {
                now = at;
                array.advance(now, &mut done);
            }
        }
        assert_eq!(done.len(), 2000, "{text}");
        assert!(done.iter().all(|completion| !completion.failed), "{text}");
    }
}

/// Writes go to all copies; reads go to the copy with the shorter queue, so that two copies read
/// twice as fast.
#[test]
fn mirrors_share_reads() {
    let iops = |text: &str, op| {
        let mut array = Library::new().build_text(text, 1).expect("an array");
        let mut next = random_requests(op, 1 << 30, 4096, 5);
        measure(&mut *array, 32, (500, 5000), 0, |_| next()).iops
    };
    let disk = "measured-disk(service=10ms)";
    let mirror = format!("raid1(2 x {disk})");
    assert_within("reads", iops(&mirror, SimOp::Read), 200.0, 0.02);
    assert_within("writes", iops(&mirror, SimOp::Write), 100.0, 0.02);
}

/// The chart of seed 001: RAID 5 of 8 disks of 7,200 rpm, random reads of 4 KiB. Each disk by its
/// measured service time at queue depth 1 (14.02 ms, of which 0.31 are its deviation) and the
/// fitted law of command queueing.
const CHART: [(usize, f64, f64); 7] = [
    (1, 71.0, 13.0),
    (2, 132.0, 15.0),
    (4, 232.0, 17.0),
    (8, 355.0, 23.0),
    (16, 479.0, 33.0),
    (32, 583.0, 55.0),
    (64, 691.0, 93.0),
];

fn chart_array() -> Box<dyn SimDevice> {
    let text = "raid5(8 x measured-disk(service=14.02ms, variation=0.31, queue_gain=0.08, \
                capacity=1TB), chunk=64k)";
    Library::new().build_text(text, 11).expect("an array")
}

/// V3: each depth of the chart within 5 %.
#[test]
fn a_raid_5_of_eight_disks_follows_the_measured_chart() {
    for (depth, iops, mean_ms) in CHART {
        let mut array = chart_array();
        let span = array.capacity();
        let mut next = random_requests(SimOp::Read, span, 4096, 5);
        let measured = measure(&mut *array, depth, (1000, 40_000), 0, |_| next());
        assert_within(&format!("depth {depth}"), measured.iops, iops, 0.05);
        // The means of the chart are cut to whole milliseconds, and agree with its own rates only
        // that far (Little's law at depth 1: 14.1 ms, printed as 13).
        let little = depth as f64 / iops * 1000.0;
        assert_within("mean", measured.mean_us() / 1000.0, little, 0.05);
        assert!((mean_ms / little - 1.0).abs() < 0.12);
    }
}

/// V14: an mdadm array of 8 disks read 3.8 times as fast as it wrote at depth 64, another array 3.3
/// times at depth 32.
#[test]
fn a_raid_5_reads_four_times_as_fast_as_it_writes() {
    for (depth, measured_ratio) in [(64, 3.8), (32, 3.3)] {
        let mut rates = Vec::new();
        for op in [SimOp::Read, SimOp::Write] {
            let mut array = chart_array();
            let span = array.capacity();
            let mut next = random_requests(op, span, 4096, 5);
            rates.push(measure(&mut *array, depth, (1000, 20_000), 0, |_| next()).iops);
        }
        let ratio = rates[0] / rates[1];
        assert_within(&format!("depth {depth}"), ratio, measured_ratio, 0.15);
    }
}

#[test]
fn impossible_arrays_are_refused() {
    for (text, problem) in [
        ("raid6(3 x hdd-7200)", "needs 4 to 64"),
        ("raid5(2 x hdd-7200)", "needs 3 to 64"),
        ("raid10(5 x hdd-7200)", "even number"),
        ("raid5(8 x hdd-7200, chunk=60k)", "power of two"),
        ("raid0(8 x hdd-7200, failed=1)", "loses its data"),
        ("raid5(8 x hdd-7200, failed=2)", "loses its data"),
        (
            "raid5(8 x hdd-7200, rebuild=hdd-7200)",
            "nothing has failed",
        ),
        (
            "raid5(3 x hdd-7200, failed=1, rebuild=floppy-1440)",
            "the array needs",
        ),
        ("raid1(65 x hdd-7200)", "64"),
    ] {
        let error = Library::new().build_text(text, 1).expect_err(text);
        let error = error.to_string();
        assert!(error.contains(problem), "{text}: {error}");
        assert!(error.starts_with("device:1:"), "{error}");
    }
}

/// A closed loop of whole stripes needs no reads at all, and its rate is that of the slowest
/// member in each stripe.
#[test]
fn full_stripes_are_written_without_reads() {
    let mut array = raid(RaidLevel::Raid5, 5);
    let stripe = 4 * CHUNK;
    let mut row = 0;
    let next = || {
        row += 1;
        request(SimOp::Write, row * stripe, stripe as u32)
    };
    closed_loop(&mut array, 4, 500, next, |_, _| {});
    let (reads, writes, ..) = total(&array);
    assert_eq!(reads, 0);
    // Those still in flight at the end are counted too.
    assert!((2500..=2520).contains(&writes), "{writes}");
}

/// When requests that are submitted together complete, in multiples of the service time of a disk.
fn completions(text: &str, requests: &[(SimOp, u64, u32)]) -> Vec<f64> {
    let mut array = Library::new().build_text(text, 1).expect("an array");
    for (id, (op, offset, bytes)) in (0..).zip(requests) {
        array.submit(
            0,
            fathom_sim::SimRequest {
                id,
                ..request(*op, *offset, *bytes)
            },
        );
    }
    let mut done = Vec::new();
    while let Some(at) = array.next_event() {
        array.advance(at, &mut done);
    }
    done.sort_by_key(|completion| completion.id);
    let times = done.iter().map(|completion| completion.at as f64 / 10e6);
    times.collect()
}

/// A small write of RAID 5 is a read of data and parity, then their write: twice the service time of
/// a disk. Of two writes with the same part of the parity the second one begins when the first has
/// ended, at 2, and ends at 4. With other parts of it both read at once: the disk with the parity
/// reads until 2 and writes until 3 and 4. Writes to other stripes share no disk here.
#[test]
fn writes_of_the_same_part_of_a_stripe_wait_for_each_other() {
    let array =
        "raid5(5 x measured-disk(service=10ms, variation=0, queue_gain=0, capacity=1G), chunk=64k)";
    let page = 4096;
    let write = |offset, bytes| (SimOp::Write, offset, bytes);
    let times = |requests: &[(SimOp, u64, u32)]| completions(array, requests);
    assert_eq!(times(&[write(0, page)]), [2.0]);
    // The same page, and the same page of another chunk of the stripe.
    assert_eq!(times(&[write(0, page), write(0, page)]), [2.0, 4.0]);
    assert_eq!(times(&[write(0, page), write(CHUNK, page)]), [2.0, 4.0]);
    // Half a page each: md locks whole pages.
    let halves = [write(0, 2048), write(CHUNK + 2048, 2048)];
    assert_eq!(times(&halves), [2.0, 4.0]);
    // Other pages of the stripe.
    let others = [write(0, page), write(CHUNK + 4096, page)];
    assert_eq!(times(&others), [3.0, 4.0]);
    // Three with the same part are served in the order of their arrival.
    let three = [write(0, page), write(CHUNK, page), write(2 * CHUNK, page)];
    assert_eq!(times(&three), [2.0, 4.0, 6.0]);
    // A read takes no lock.
    let read = (SimOp::Read, CHUNK, page);
    assert_eq!(times(&[write(0, page), read]), [2.0, 1.0]);
}

/// Every write completes once, whatever waits for what: writes of all sizes to a few stripes, and
/// to an array that has lost its data, where each ends at once.
#[test]
fn no_write_waits_for_ever() {
    for level in ["raid5", "raid6"] {
        for failing in [0, 2] {
            let disk = "measured-disk(service=1ms, capacity=1G)";
            let mut text = format!("{level}({} x {disk}", 6 - failing);
            if failing > 0 {
                text += &format!(", {failing} x faults({disk}, fails_at=2s)");
            }
            text += ", chunk=16k)";
            let mut array = Library::new().build_text(&text, 3).expect("an array");
            let mut random = Random(4);
            let (mut sent, mut done) = (0, 0);
            let next = || {
                sent += 1;
                let bytes = 512 * (1 + random.below(300)) as u32;
                request(SimOp::Write, random.below(1 << 12) * 512, bytes)
            };
            closed_loop(&mut *array, 200, 20_000, next, |_, _| done += 1);
            assert_eq!((sent, done), (20_000, 20_000), "{text}");
        }
    }
}
