use super::*;

const DEVICE: DeviceNumber = DeviceNumber(7 << 20);

fn event(time_ns: u64, kind: BlockEventKind, rwbs: &str, sector: u64, sectors: u32) -> BlockEvent {
    BlockEvent {
        time_ns,
        cpu: 0,
        thread: u32::MAX - 5,
        device: DEVICE,
        sector,
        sectors,
        flags: IoFlags::parse(rwbs),
        kind,
    }
}

fn observe(limits: QueueLimits, events: &[BlockEvent], end: u64) -> Summary {
    let limits = HashMap::from([(DEVICE, limits)]);
    let mut observer = Observer::new(0, limits, Processes::default(), None);
    for event in events {
        observer.event(event);
    }
    observer.finish(end)
}

#[test]
fn phases_depth_and_intervals_are_those_of_the_events() {
    use BlockEventKind::{BioQueue, Complete, Insert, Issue};
    let done = Complete { error: 0 };
    let summary = observe(
        QueueLimits::default(),
        &[
            event(100, BioQueue, "R", 0, 8),
            event(110, Insert, "R", 0, 8),
            event(140, Issue, "R", 0, 8),
            event(240, done, "R", 0, 8),
            event(1_999_999_900, BioQueue, "R", 8, 8),
            event(1_999_999_900, Issue, "R", 8, 8),
            event(2_000_000_100, done, "R", 8, 8),
        ],
        4_000_000_000,
    );
    let device = &summary.devices[&DEVICE];
    let reads = device.direction(IoDirection::Read);
    assert_eq!((reads.requests, reads.bytes, reads.bios), (2, 8192, 2));
    let range = |h: &Histogram| (h.count(), h.min().unwrap().get(), h.max().unwrap().get());
    assert_eq!(range(&reads.phases.queue_to_insert), (1, 10, 10));
    assert_eq!(range(&reads.phases.insert_to_issue), (1, 30, 30));
    assert_eq!(range(&reads.phases.queue_to_issue), (2, 0, 40));
    assert_eq!(range(&reads.phases.issue_to_complete), (2, 100, 200));
    assert_eq!(range(&reads.phases.queue_to_complete), (2, 140, 200));
    // By phase and in all, the sums are equal.
    assert_eq!(
        reads.phases.queue_to_issue.sum() + reads.phases.issue_to_complete.sum(),
        reads.phases.queue_to_complete.sum()
    );
    // Intervals of 100 ms.
    let counts: Vec<u64> = reads.intervals.iter().map(|i| i.requests).collect();
    let at = |n: usize| usize::from(counts[n] == 1);
    assert_eq!((counts.len(), at(0), at(20)), (21, 1, 1));
    assert_eq!(counts.iter().sum::<u64>(), 2);
    // Busy for 100 ns and 200 ns of 4 s; half of the latter is before 2 s.
    assert_eq!(device.depth.time_at, [3_999_999_700, 300]);
    let busy = &device.depth.by_interval;
    assert_eq!((busy[0], busy[19], busy[20]), (100, 100, 100));
    assert_eq!(busy.iter().sum::<u64>(), 300);
    assert_eq!(device.depth.largest, 1);
    // The second read starts where the first ended.
    assert_eq!((reads.at_device.sequential, reads.at_device.runs), (1, 1));
    assert_eq!(reads.at_device.longest_run_bytes, 8192);
    let process = &summary.processes.first().unwrap().1;
    assert_eq!((process.bios, process.bytes), ([2, 0, 0], [8192, 0, 0]));
    assert_eq!(process.sequence.share(), Some(0.5));
}

#[test]
fn splits_are_assigned_to_the_limit_that_caused_them() {
    use BlockEventKind::Split;
    let limits = QueueLimits {
        max_sectors_kb: 64,
        chunk_sectors: 100,
        logical_block_size: 512,
        ..QueueLimits::default()
    };
    let split = |sector, new_sector| event(1, Split { new_sector }, "W", sector, 0);
    let summary = observe(
        limits,
        &[split(0, 128), split(50, 100), split(3, 20), split(128, 256)],
        10,
    );
    let writes = summary.devices[&DEVICE].direction(IoDirection::Write);
    assert_eq!(
        writes.splits,
        BTreeMap::from([
            (SplitCause::MaxSectors, 2),
            (SplitCause::Chunk, 1),
            (SplitCause::Segments, 1)
        ])
    );
}

#[test]
fn flushes_read_ahead_and_bio_devices_are_counted_apart() {
    use BlockEventKind::{BioComplete, BioQueue, Complete, Issue};
    let done = Complete { error: 0 };
    let summary = observe(
        QueueLimits::default(),
        &[
            event(0, BioQueue, "FWS", 0, 0),
            event(5, Issue, "FF", 0, 0),
            event(25, done, "FF", u64::MAX, 0),
            event(30, done, "WS", 0, 0),
            event(40, BioQueue, "RA", 0, 256),
            event(41, Issue, "RA", 0, 256),
            event(50, done, "RA", 0, 256),
            event(60, BioQueue, "WFS", 8, 8),
            event(61, Issue, "WFS", 8, 8),
            event(90, Complete { error: -5 }, "WFS", 8, 8),
        ],
        100,
    );
    let device = &summary.devices[&DEVICE];
    assert_eq!((device.flushes.count(), device.flushes.sum()), (1, 20));
    assert_eq!(
        (device.flush_waits.count(), device.flush_waits.sum()),
        (1, 30)
    );
    let reads = device.direction(IoDirection::Read);
    assert_eq!((reads.read_ahead, reads.read_ahead_bytes), (1, 131_072));
    let writes = device.direction(IoDirection::Write);
    assert_eq!((writes.requests, writes.fua, writes.errors), (1, 1, 1));
    assert_eq!(writes.fua_latency.sum(), 30);

    let summary = observe(
        QueueLimits {
            bio_based: true,
            ..QueueLimits::default()
        },
        &[
            event(0, BioQueue, "W", 0, 8),
            event(7, BioComplete { error: 0 }, "W", 0, 8),
        ],
        100,
    );
    let writes = summary.devices[&DEVICE].direction(IoDirection::Write);
    assert_eq!((writes.requests, writes.bytes), (1, 4096));
    assert_eq!(writes.phases.queue_to_complete.sum(), 7);
    assert_eq!(writes.phases.issue_to_complete.count(), 0);
}

#[test]
fn a_filter_keeps_the_io_of_others_out() {
    use BlockEventKind::{BioQueue, Complete, Issue};
    let mut observer = Observer::new(
        0,
        HashMap::new(),
        Processes::default(),
        Some(Box::new(|process| process.pid == 1)),
    );
    for event in [
        event(0, BioQueue, "R", 0, 8),
        event(1, Issue, "R", 0, 8),
        event(2, Complete { error: 0 }, "R", 0, 8),
    ] {
        observer.event(&event);
    }
    let summary = observer.finish(10);
    assert!(summary.processes.is_empty());
    assert_eq!(summary.devices[&DEVICE].requests(), 0);
    assert_eq!(summary.devices[&DEVICE].depth.largest, 1);
}

/// One request a minute for two days: the intervals become longer, and lose nothing.
#[test]
fn intervals_of_days_are_as_many_as_those_of_minutes() {
    use BlockEventKind::{BioQueue, Complete, Issue};
    const MINUTE: u64 = 60_000_000_000;
    let mut events = Vec::new();
    for n in 0..2_880u64 {
        let at = n * MINUTE + 7;
        events.push(event(at, BioQueue, "R", 8 * n, 8));
        events.push(event(at, Issue, "R", 8 * n, 8));
        events.push(event(at + 1_000 + n, Complete { error: 0 }, "R", 8 * n, 8));
    }
    let summary = observe(QueueLimits::default(), &events, 2_880 * MINUTE);
    let device = &summary.devices[&DEVICE];
    let reads = device.direction(IoDirection::Read);
    assert!(reads.intervals.len() <= MOST_INTERVALS);
    assert!(device.depth.by_interval.len() <= MOST_INTERVALS);
    let mut expected = vec![0; reads.intervals.len()];
    for n in 0..2_880u64 {
        expected[((n * MINUTE + 1_007 + n) / summary.interval_ns) as usize] += 1;
    }
    let counts: Vec<u64> = reads.intervals.iter().map(|i| i.requests).collect();
    assert_eq!(counts, expected);
    let mut all = Histogram::new();
    for interval in &reads.intervals {
        interval.issue_to_complete.add_to(&mut all);
    }
    assert_eq!(all, reads.phases.issue_to_complete);
    assert_eq!(
        device.depth.by_interval.iter().sum::<u64>() as u128,
        all.sum()
    );
    let observed = summary.observed_io(DEVICE, IoDirection::Read).unwrap();
    let offsets = observed.offsets.unwrap();
    assert_eq!(offsets.counts.iter().sum::<u64>(), 2_880);
}
