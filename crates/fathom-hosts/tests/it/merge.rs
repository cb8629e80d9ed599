//! Merged recordings against sums that are known beforehand.

use fathom_hosts::{MergeError, ReceivedHost, merge};
use fathom_model::*;

const MS: u64 = 1_000_000;

/// A host whose only job did `ios` reads of this latency, in intervals of 100 ms.
fn host(name: &str, late_ns: i64, ios: u64, latency: u64) -> ReceivedHost {
    let job = Job {
        name: "read".to_owned(),
        ..Job::default()
    };
    let mut histogram = Histogram::new();
    histogram.record_n(latency, ios);
    let mut directions = PerDirection::<DirectionRecording>::default();
    directions[Direction::Read] = DirectionRecording {
        counts: Counts {
            planned: ios,
            ok: ios,
            bytes_requested: ios * 4096,
            bytes_ok: ios * 4096,
            ..Counts::default()
        },
        clat: histogram.clone(),
        ..DirectionRecording::default()
    };
    let mut interval = Interval {
        length: Nanos::from_millis(100),
        ..Interval::default()
    };
    interval.directions[Direction::Read] = IntervalDirection {
        ios,
        bytes: ios * 4096,
        clat: SparseHistogram::pack(&histogram),
        ..IntervalDirection::default()
    };
    let plan = Plan {
        jobs: vec![job.clone()],
        interval: Nanos::from_millis(100),
        ..Plan::default()
    };
    // The constructor of recordings fills in everything that this test does not look at.
    let seen = JobRecording {
        launched: Nanos::new(MS),
        measured_from: Nanos::new(MS),
        ended: Nanos::from_secs(1),
        directions,
        intervals: vec![interval],
        ..empty_job(&job)
    };
    let recording = Recording {
        plan,
        started_unix_ns: 1_000_000_000_000,
        elapsed: Nanos::from_secs(1),
        jobs: vec![seen],
        disks: Vec::new(),
        targets: Vec::new(),
        clock: ClockFacts::default(),
        host: HostRecording {
            kernel: "6.1".to_owned(),
            build_profile: "dev".to_owned(),
            cpus: 2,
            ..HostRecording::default()
        },
        conditions: Conditions::default(),
        stalls: Vec::new(),
        end: RunEnd::Completed,
        messages: Vec::new(),
        blame: None,
        depth_probes: Vec::new(),
        earlier: None,
        hosts: Vec::new(),
    };
    ReceivedHost {
        name: name.to_owned(),
        recording: Ok(recording),
        partial: None,
        epoch_late_ns: late_ns,
        late_bound_ns: 1000,
        wall_offset_ns: 0,
    }
}

fn empty_job(job: &Job) -> JobRecording {
    JobRecording {
        engine: job.engine.kind.name().to_owned(),
        fallback: None,
        tid: 1,
        skipped: false,
        launched: Nanos::ZERO,
        measured_from: Nanos::ZERO,
        ended: Nanos::ZERO,
        directions: PerDirection::default(),
        sync: Histogram::new(),
        sync_failed: 0,
        warmup: PerDirection::default(),
        intervals: Vec::new(),
        depth_levels: [0; 7],
        submit_levels: [0; 7],
        complete_levels: [0; 7],
        in_flight_ns: 0,
        usage: Usage::default(),
        error: None,
        errors_continued: 0,
        verify: VerifyCounts::default(),
        pace: PaceRecording::default(),
        gaps: Vec::new(),
        verify_state: None,
        damages: Vec::new(),
        events: Vec::new(),
        region: Bytes::ZERO,
        ceiling_iops: None,
        notes: Vec::new(),
        observed: None,
    }
}

fn merged(hosts: Vec<ReceivedHost>) -> Recording {
    merge(&Plan::default(), hosts).expect("something to merge")
}

/// The figures of all hosts are the sum of what each recorded, to the last I/O and the last bucket.
#[test]
fn nothing_is_lost_and_nothing_is_added() {
    let all = merged(vec![
        host("a", 0, 7, MS),
        host("b", 40_000, 11, 3 * MS),
        host("c", -20_000, 1, 900 * MS),
    ]);
    let mut counts = Counts::default();
    let mut latencies = Histogram::new();
    let mut over_time = 0;
    for job in &all.jobs {
        counts.add(&job.directions[Direction::Read].counts);
        latencies.merge(&job.directions[Direction::Read].clat);
        over_time += job
            .intervals
            .iter()
            .map(|one| one.directions[Direction::Read].ios)
            .sum::<u64>();
    }
    assert!(counts.balanced());
    assert_eq!((counts.ok, counts.bytes_ok, over_time), (19, 19 * 4096, 19));
    let mut expected = Histogram::new();
    for (latency, n) in [(MS, 7), (3 * MS, 11), (900 * MS, 1)] {
        expected.record_n(latency, n);
    }
    assert_eq!(
        latencies.indexed().collect::<Vec<_>>(),
        expected.indexed().collect::<Vec<_>>()
    );
    assert_eq!(
        (latencies.sum(), latencies.max()),
        (expected.sum(), expected.max())
    );
    let names: Vec<&str> = all.plan.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a:read", "b:read", "c:read"]);
    assert_eq!(all.host.cpus, 6);
    assert_eq!(all.host.build_profile, "dev");
}

/// The first job of a host starts 1 ms after its epoch. A host that starts 250 ms late is shifted by whole intervals, and its own
/// part is again what it recorded.
#[test]
fn times_are_those_of_the_first_host_on_one_grid() {
    let all = merged(vec![
        host("a", 2 * MS as i64, 1, MS),
        host("b", 252 * MS as i64, 1, MS),
    ]);
    assert_eq!(all.hosts[0].late_ns, 3 * MS as i64);
    assert_eq!(all.hosts[1].late_ns, 253 * MS as i64);
    assert_eq!(all.hosts[1].shift, Nanos::from_millis(300));
    assert_eq!(all.jobs[1].intervals[0].start, Nanos::from_millis(300));
    assert_eq!(all.elapsed, Nanos::from_millis(1300));
    let parts = all.of_hosts();
    assert_eq!(parts[1].jobs[0].intervals[0].start, Nanos::ZERO);
    assert_eq!(parts[1].jobs[0].measured_from, Nanos::new(MS));
    assert_eq!(parts[1].elapsed, Nanos::from_secs(1));
}

/// The run began when its first host did, by the clock of the controller: the wall clock of a host that is 5 s ahead says 5 s more.
#[test]
fn the_run_began_by_the_clock_of_the_controller() {
    const HOST_WALL_CLOCK_NS: u64 = 1_000_000_000_000;
    const CLOCK_AHEAD_NS: i64 = 5_000 * MS as i64;
    for (offset, began) in [
        (CLOCK_AHEAD_NS, HOST_WALL_CLOCK_NS - 5_000 * MS),
        (0, HOST_WALL_CLOCK_NS),
        (-CLOCK_AHEAD_NS, HOST_WALL_CLOCK_NS + 5_000 * MS),
    ] {
        let mut first = host("a", 0, 1, MS);
        first.wall_offset_ns = offset;
        let all = merged(vec![host("b", 250 * MS as i64, 1, MS), first]);
        assert_eq!(all.started_unix_ns, began, "{offset}");
        assert_eq!(all.hosts[1].wall_offset_ns, offset);
    }
}

/// A host that starts less than half an interval of 100 ms after the first is not shifted.
#[test]
fn a_shift_is_rounded_to_the_nearest_interval() {
    for (late, shift) in [(0, 0), (1, 0), (49, 0), (51, 100), (149, 100), (151, 200)] {
        let all = merged(vec![
            host("a", 0, 1, MS),
            host("b", late * MS as i64, 1, MS),
        ]);
        assert_eq!(all.hosts[1].shift, Nanos::from_millis(shift), "{late} ms");
        assert_eq!(all.jobs[1].intervals[0].start, Nanos::from_millis(shift));
    }
}

#[test]
fn a_lost_host_is_named_and_has_no_job() {
    let mut lost = host("b", 0, 1, MS);
    lost.recording = Err("lost: no message".to_owned());
    let all = merged(vec![host("a", 0, 5, MS), lost.clone(), host("c", 0, 6, MS)]);
    assert_eq!(all.hosts[1].lost.as_deref(), Some("lost: no message"));
    let ranges: Vec<_> = all
        .host_ranges()
        .map(|(part, range)| (part.name.clone(), range))
        .collect();
    assert_eq!(ranges[2], ("c".to_owned(), 1..2));
    assert_eq!(
        (all.jobs.len(), all.of_hosts().len(), all.host_of_job(1)),
        (2, 2, 2)
    );
    assert!(matches!(
        merge(&Plan::default(), vec![lost]),
        Err(MergeError::Nothing)
    ));
}

/// A host that vanished after it had sent a part of its recording adds that part, and is a lost host.
#[test]
fn a_host_with_a_part_of_its_recording_is_lost() {
    let mut part = host("b", 0, 3, MS);
    part.partial = Some("lost: no message".to_owned());
    let all = merged(vec![host("a", 0, 5, MS), part]);
    let lost: Vec<Option<&str>> = all.hosts.iter().map(|host| host.lost.as_deref()).collect();
    assert_eq!(lost, [None, Some("lost: no message")]);
    let ios: Vec<u64> = all
        .jobs
        .iter()
        .map(|job| job.directions[Direction::Read].counts.ok)
        .collect();
    assert_eq!((ios, all.hosts[1].jobs), (vec![5, 3], 1));
}

#[test]
fn one_interrupted_host_makes_the_run_interrupted() {
    let mut other = host("b", 0, 1, MS);
    if let Ok(recording) = &mut other.recording {
        recording.end = RunEnd::Interrupted;
    }
    assert_eq!(
        merged(vec![host("a", 0, 1, MS), other]).end,
        RunEnd::Interrupted
    );
}
