//! Synthetic events with known delays.

use fathom_model::{BlamePhase, BlameRank, Direction, OtherKind};

use super::*;
use crate::{BlockEvent, BlockEventKind, DeviceNumber, IoFlags};

const DISK: u32 = 8 << 20;
const LOAD: u32 = 100;
const RSYNC: u32 = 1234;
const WORKER: u32 = 7;

fn disk() -> DeviceNumber {
    DeviceNumber(DISK)
}

fn event(
    time_ns: u64,
    thread: u32,
    place: (u64, u32),
    rwbs: &str,
    kind: BlockEventKind,
) -> BlockEvent {
    BlockEvent {
        time_ns,
        cpu: 0,
        thread,
        device: disk(),
        sector: place.0,
        sectors: place.1,
        flags: IoFlags::parse(rwbs),
        kind,
    }
}

fn who(thread: u32) -> Submitter {
    match thread {
        LOAD => Submitter::Load,
        WORKER => Submitter::KernelWorker,
        pid => Submitter::Process {
            pid,
            name: "rsync".to_owned(),
        },
    }
}

fn join() -> BlameJoin {
    let mut devices = TracedDevices::default();
    devices.add(disk());
    BlameJoin::new(devices, &["job".to_owned()], 0, who)
}

/// A read of 8 sectors at `sector` whose stamps are `times`: due, submitted, queued, inserted, issued, completed, reaped.
fn read(sector: u64, times: [u64; 7], out: &mut Vec<BlockEvent>) -> LoadIo {
    let place = (sector, 8);
    out.push(event(times[2], LOAD, place, "R", BlockEventKind::BioQueue));
    out.push(event(times[3], LOAD, place, "R", BlockEventKind::Insert));
    out.push(event(times[4], 1, place, "R", BlockEventKind::Issue));
    out.push(event(
        times[5],
        0,
        place,
        "R",
        BlockEventKind::Complete { error: 0 },
    ));
    LoadIo {
        job: 0,
        direction: Direction::Read,
        offset: sector * 512,
        len: 4096,
        due: times[0],
        submitted: times[1],
        reaped: times[6],
    }
}

fn known(sector: u64, end: u64) -> IoPlace {
    IoPlace::Known(vec![Piece {
        device: disk(),
        sector,
        end,
    }])
}

fn feed(join: &mut BlameJoin, mut events: Vec<BlockEvent>) {
    events.sort_by_key(|event| event.time_ns);
    for event in &events {
        join.event(event);
    }
}

#[test]
fn phases_are_the_differences_of_the_stamps() {
    let mut join = join();
    let mut events = Vec::new();
    let io = read(
        64,
        [1_000, 1_100, 1_300, 1_600, 2_000, 7_000, 7_600],
        &mut events,
    );
    feed(&mut join, events);
    join.add_io(io, known(64, 72));
    let sheet = join.finish();
    assert_eq!(sheet.groups.len(), 1);
    let group = &sheet.groups[0];
    assert_eq!((group.joined, group.unjoined.total()), (1, 0));
    let phases = group.slowest[0].phases;
    assert_eq!(phases.ns, [100, 200, 300, 400, 5_000, 600]);
    assert_eq!(phases.total(), 6_600);
    assert_eq!(phases.largest(), BlamePhase::Device);
    for row in &group.rows {
        assert_eq!(row.phases.total(), group.response_ns, "{row:?}");
    }
}

#[test]
fn sums_equal_the_response_times_whatever_the_stamps() {
    // A linear congruential generator (Knuth's MMIX) makes stamps in any order, also before the submission and after the
    // reaping by less than the clock's slack.
    let mut state = 1_u64;
    let mut random = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut join = join();
    let (mut response, mut ios, mut now) = (0, 0, 1_000_000);
    for n in 0..5_000 {
        now += 1_000 + random(50_000);
        let submitted = now + random(3_000);
        let queued = submitted + random(9_000) - random(200).min(submitted);
        let inserted = queued + random(5_000);
        let issued = inserted + random(5_000);
        let completed = issued + random(100_000);
        let reaped = (completed + random(4_000))
            .saturating_sub(random(300))
            .max(submitted);
        let mut events = Vec::new();
        let stamps = [now, submitted, queued, inserted, issued, completed, reaped];
        let io = read(n * 8, stamps, &mut events);
        for event in &events {
            join.event(event);
        }
        join.add_io(io, known(n * 8, n * 8 + 8));
        join.advance(completed);
        response += reaped - now;
        ios += 1;
    }
    let sheet = join.finish();
    let group = &sheet.groups[0];
    assert_eq!((group.joined, group.unjoined.total()), (ios, 0));
    assert_eq!(group.response_ns, response);
    let mean = group.row(BlameRank::Mean).expect("it has I/Os");
    assert_eq!((mean.ios, mean.phases.total()), (ios, response));
    for io in &group.slowest {
        assert_eq!(io.phases.total(), (io.reaped - io.due).get());
    }
    assert!(
        group
            .slowest
            .windows(2)
            .all(|pair| pair[0].phases.total() >= pair[1].phases.total())
    );
}

#[test]
fn ranks_are_of_the_right_ios() {
    let mut join = join();
    // 1000 I/Os of 1 to 1000 ms, all of it in the device except for the slowest 1 %, which wait in the scheduler.
    for n in 1..=1_000_u64 {
        let (start, length) = (n * 2_000_000_000, n * 1_000_000);
        let issued = if n > 990 { start + length } else { start };
        let mut events = Vec::new();
        let end = start + length;
        let io = read(
            n * 8,
            [start, start, start, start, issued, end, end],
            &mut events,
        );
        feed(&mut join, events);
        join.add_io(io, known(n * 8, n * 8 + 8));
        join.advance(end);
    }
    let sheet = join.finish();
    let group = &sheet.groups[0];
    let row = |rank| group.row(rank).expect("it has I/Os");
    assert_eq!(row(BlameRank::Mean).ios, 1_000);
    // Whole classes of 1/128 are taken, so a band may be wider by one class on each side: 10 ms of 1000.
    let slowest = row(BlameRank::SlowestPercent);
    assert!((10..=20).contains(&slowest.ios), "{slowest:?}");
    assert!(slowest.phases.share(BlamePhase::Scheduler) >= 0.5);
    let middle = row(BlameRank::P50);
    assert!((490e6..=512e6).contains(&middle.mean_ns()), "{middle:?}");
    assert_eq!(middle.phases.largest(), BlamePhase::Device);
    assert_eq!(row(BlameRank::Slowest).phases.total(), 1_000_000_000);
    assert!((980e6..=1e9).contains(&row(BlameRank::P999).mean_ns()));
}

#[test]
fn an_io_in_several_requests_is_joined_with_all_of_them() {
    let mut join = join();
    let (complete, place) = (BlockEventKind::Complete { error: 0 }, (0, 64));
    let events = vec![
        event(1_000, LOAD, place, "WS", BlockEventKind::BioQueue),
        event(1_100, LOAD, (0, 32), "WS", BlockEventKind::Issue),
        event(1_500, LOAD, (32, 32), "WS", BlockEventKind::Issue),
        event(9_000, 0, (32, 32), "WS", complete),
        event(3_000, 0, (0, 32), "WS", complete),
    ];
    feed(&mut join, events);
    let io = LoadIo {
        job: 0,
        direction: Direction::Write,
        offset: 0,
        len: 32 << 10,
        due: 900,
        submitted: 900,
        reaped: 9_100,
    };
    join.add_io(io, known(0, 64));
    let sheet = join.finish();
    let slowest = &sheet.groups[0].slowest[0];
    assert_eq!(slowest.pieces, 2);
    assert_eq!(slowest.phases.ns, [0, 100, 100, 0, 7_900, 100]);
}

#[test]
fn a_file_in_two_extents_is_joined_with_both() {
    let mut join = join();
    let mut events = Vec::new();
    read(80, [0, 1_000, 1_100, 1_100, 1_200, 5_000, 0], &mut events);
    read(800, [0, 1_000, 1_300, 1_300, 1_400, 6_000, 0], &mut events);
    feed(&mut join, events);
    let piece = |sector| Piece {
        device: disk(),
        sector,
        end: sector + 8,
    };
    let io = LoadIo {
        job: 0,
        direction: Direction::Read,
        offset: 0,
        len: 8192,
        due: 1_000,
        submitted: 1_000,
        reaped: 6_500,
    };
    join.add_io(io, IoPlace::Known(vec![piece(80), piece(800)]));
    let sheet = join.finish();
    assert_eq!(
        sheet.groups[0].slowest[0].phases.ns,
        [0, 100, 0, 100, 4_800, 500]
    );
}

#[test]
fn what_cannot_be_joined_is_counted_by_reason() {
    let mut join = join();
    let mut events = Vec::new();
    // Merged with a write of another process.
    let shared = |time, kind| event(time, LOAD, (0, 16), "WS", kind);
    events.push(event(1_000, LOAD, (0, 8), "WS", BlockEventKind::BioQueue));
    events.push(event(1_010, RSYNC, (8, 8), "WS", BlockEventKind::BioQueue));
    events.push(shared(1_100, BlockEventKind::Issue));
    events.push(shared(2_000, BlockEventKind::Complete { error: 0 }));
    // The same place twice at once.
    let twins: Vec<LoadIo> = (0..2)
        .map(|n| {
            let times = [
                1_000,
                1_000,
                1_100 + n,
                1_100 + n,
                1_200 + n,
                5_000 + n,
                5_100,
            ];
            read(160, times, &mut events)
        })
        .collect();
    feed(&mut join, events);
    let io = |direction, sector: u64| LoadIo {
        job: 0,
        direction,
        offset: sector * 512,
        len: 4096,
        due: 900,
        submitted: 900,
        reaped: 6_000,
    };
    join.add_io(io(Direction::Write, 0), known(0, 8));
    for twin in twins {
        join.add_io(twin, known(160, 168));
    }
    join.add_io(io(Direction::Read, 800), known(800, 808));
    join.add_io(io(Direction::Read, 808), IoPlace::Unknown);
    join.add_io(io(Direction::Read, 816), IoPlace::Buffered);
    join.lost(3, 1_000_000, 2_000_000);
    let late = LoadIo {
        reaped: 1_500_000,
        ..io(Direction::Read, 824)
    };
    join.add_io(late, known(824, 832));
    join.not_logged(0, Direction::Read, 5);
    let sheet = join.finish();
    let unjoined = sheet.groups[0].unjoined;
    assert_eq!(sheet.groups[0].joined, 0);
    assert_eq!(unjoined.merged, 1);
    assert_eq!(unjoined.ambiguous, 2);
    assert_eq!(unjoined.no_request, 1);
    assert_eq!(unjoined.no_position, 1);
    assert_eq!(unjoined.buffered, 1);
    assert_eq!(unjoined.lost_events, 1);
    assert_eq!(unjoined.not_logged, 5);
    assert_eq!((unjoined.total(), sheet.lost_events), (12, 3));
    assert_eq!(
        sheet.groups.len(),
        3,
        "reads and writes are also shown apart"
    );
}

#[test]
fn neighbours_of_the_load_that_are_merged_are_joined() {
    let mut join = join();
    let both = |time, kind| event(time, LOAD, (0, 16), "R", kind);
    let events = vec![
        event(1_000, LOAD, (0, 8), "R", BlockEventKind::BioQueue),
        event(1_050, LOAD, (8, 8), "R", BlockEventKind::BioQueue),
        event(1_050, LOAD, (8, 8), "R", BlockEventKind::BackMerge),
        both(1_200, BlockEventKind::Issue),
        both(3_000, BlockEventKind::Complete { error: 0 }),
    ];
    feed(&mut join, events);
    for sector in [0, 8] {
        let io = LoadIo {
            job: 0,
            direction: Direction::Read,
            offset: sector * 512,
            len: 4096,
            due: 1_000,
            submitted: 1_000,
            reaped: 3_500,
        };
        join.add_io(io, known(sector, sector + 8));
    }
    let group = &join.finish().groups[0];
    assert_eq!((group.joined, group.unjoined.total()), (2, 0));
    let mean = group.row(BlameRank::Mean).expect("it has I/Os");
    assert_eq!(mean.phases.ns, [0, 50, 350, 0, 3_600, 1_000]);
}

#[test]
fn another_process_is_named_with_its_share() {
    let mut join = join();
    let mut events = Vec::new();
    let big = (1 << 20, 2048);
    // rsync has a 1 MiB write in the device during three quarters of the read's time there.
    events.push(event(2_000, RSYNC, big, "WS", BlockEventKind::BioQueue));
    events.push(event(2_000, RSYNC, big, "WS", BlockEventKind::Issue));
    events.push(event(
        5_000,
        0,
        big,
        "WS",
        BlockEventKind::Complete { error: 0 },
    ));
    // Write-back by a worker of the kernel, and a flush, after it.
    let back = (1 << 24, 8);
    events.push(event(8_000, WORKER, back, "W", BlockEventKind::BioQueue));
    events.push(event(8_000, WORKER, back, "W", BlockEventKind::Issue));
    events.push(event(
        8_500,
        0,
        back,
        "W",
        BlockEventKind::Complete { error: 0 },
    ));
    events.push(event(8_000, WORKER, (0, 0), "FF", BlockEventKind::Issue));
    events.push(event(
        8_200,
        0,
        (0, 0),
        "FF",
        BlockEventKind::Complete { error: 0 },
    ));
    let io = read(
        64,
        [1_000, 1_000, 1_000, 1_000, 1_500, 5_000, 5_000],
        &mut events,
    );
    feed(&mut join, events);
    join.add_io(io, known(64, 72));
    let sheet = join.finish();
    let kinds: Vec<&OtherKind> = sheet.others.iter().map(|other| &other.who).collect();
    let rsync = OtherKind::Process {
        pid: RSYNC,
        name: "rsync".to_owned(),
    };
    assert_eq!(kinds, [&rsync, &OtherKind::Kernel, &OtherKind::Flushes]);
    assert_eq!(sheet.others[0].busy_ns, 3_000);
    assert_eq!(sheet.others[0].writes, (1, 1 << 20));
    assert!(sheet.others[0].text().contains("PID 1234 (rsync)"));
    assert!(
        sheet.others[0].text().starts_with("1"),
        "{}",
        sheet.others[0].text()
    );
    let mean = sheet.groups[0].row(BlameRank::Mean).expect("it has I/Os");
    assert_eq!(mean.in_block_layer_ns, 4_000);
    assert_eq!(mean.beside(0), 0.75);
    assert_eq!((mean.beside(1), mean.beside(2)), (0.0, 0.0));
}

#[test]
fn throttled_ios_are_queued_by_a_worker_of_the_kernel() {
    let mut join = join();
    let place = (64, 8);
    let events = vec![
        event(9_000_000, WORKER, place, "R", BlockEventKind::BioQueue),
        event(9_001_000, WORKER, place, "R", BlockEventKind::Issue),
        event(
            9_100_000,
            0,
            place,
            "R",
            BlockEventKind::Complete { error: 0 },
        ),
    ];
    feed(&mut join, events);
    let io = LoadIo {
        job: 0,
        direction: Direction::Read,
        offset: 0,
        len: 4096,
        due: 1_000,
        submitted: 1_000,
        reaped: 9_110_000,
    };
    join.add_io(io, known(64, 72));
    let group = &join.finish().groups[0];
    assert_eq!(group.joined, 1);
    assert_eq!(
        group.slowest[0].phases.of(BlamePhase::Submission),
        8_999_000
    );
}

#[test]
fn own_large_writes_count_beside_small_reads_only() {
    let mut join = join();
    let big = (1 << 20, 2048);
    let mut events = vec![
        event(1_000, LOAD, big, "WS", BlockEventKind::BioQueue),
        event(1_000, LOAD, big, "WS", BlockEventKind::Issue),
        event(9_000, 0, big, "WS", BlockEventKind::Complete { error: 0 }),
    ];
    let small = read(
        64,
        [2_000, 2_000, 2_000, 2_000, 2_000, 4_000, 4_000],
        &mut events,
    );
    feed(&mut join, events);
    join.add_io(small, known(64, 72));
    let large = LoadIo {
        job: 0,
        direction: Direction::Write,
        offset: 0,
        len: 1 << 20,
        due: 1_000,
        submitted: 1_000,
        reaped: 9_000,
    };
    join.add_io(large, known(1 << 20, (1 << 20) + 2048));
    let sheet = join.finish();
    assert_eq!(sheet.others[0].who, OtherKind::OwnLargeWrites);
    let of = |direction| {
        let group = sheet
            .groups
            .iter()
            .find(|group| group.direction == Some(direction));
        let group = group.expect("it has I/Os");
        group.row(BlameRank::Mean).expect("it has I/Os").beside(0)
    };
    assert_eq!(of(Direction::Read), 1.0);
    assert_eq!(of(Direction::Write), 0.0);
}

/// Regression 0893: each place of an I/O stayed in memory for up to a minute, 800 bytes each; at 150,000 I/Os per second the reader
/// of the trace fell behind, and a third of the I/Os was not joined.
#[test]
fn joined_ios_leave_nothing_in_memory() {
    let mut join = join();
    for number in 0..1_000 {
        let start = number * 10_000;
        let mut events = Vec::new();
        let times = [0, 10, 100, 200, 300, 4_000, 5_000].map(|time| start + time);
        let io = read(number * 8, times, &mut events);
        feed(&mut join, events);
        let place = Piece {
            device: disk(),
            sector: number * 8,
            end: number * 8 + 8,
        };
        join.add_io(io, IoPlace::One(place));
        join.advance(start + 9_000);
        assert_eq!(join.waiting_places(), 0, "{number}");
    }
    assert_eq!(join.finish().groups[0].joined, 1_000);
}
