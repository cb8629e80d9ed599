//! Recordings for tests: a clean run, and functions that introduce one fault.

use fathom_model::*;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// Ten seconds of random direct reads of 4 KiB at depth 4 on io_uring: 40,000 I/Os of exactly 1 ms
/// each, so that by Little's law 4,000 per second x 1 ms = 4 are in flight.
pub fn clean() -> Recording {
    let mut recording = run_of(vec![job("clean")]);
    fill(&mut recording, 0, Direction::Read, 40_000, MS);
    recording
}

/// A run of these jobs, all for ten seconds, with nothing done yet.
pub fn run_of(jobs: Vec<Job>) -> Recording {
    let seen = jobs.iter().map(idle).collect();
    Recording {
        plan: Plan {
            sources: vec!["sample.fio".to_owned()],
            jobs,
            interval: Nanos::from_millis(100),
            warnings: vec!["a warning".to_owned()],
            ..Plan::default()
        },
        started_unix_ns: 1_700_000_000 * SECOND,
        elapsed: Nanos::from_secs(10),
        jobs: seen,
        disks: Vec::new(),
        targets: Vec::new(),
        clock: ClockFacts {
            source: "monotonic".to_owned(),
            cost_ns: 25.0,
            drift_ppm: 1.0,
        },
        host: HostRecording {
            kernel: "6.1".to_owned(),
            build_profile: "release".to_owned(),
            cpus: 4,
            memory: Bytes::from_mib(8192),
            steal_percent: Some(0.0),
            cpu_throttles: Some(0),
            busy_percent: Some(10.0),
            idleness: None,
            simulated: None,
            witnessed: None,
        },
        conditions: Conditions::default(),
        stalls: Vec::new(),
        end: RunEnd::Completed,
        messages: vec!["a message".to_owned()],
        blame: None,
        depth_probes: Vec::new(),
        earlier: None,
        hosts: Vec::new(),
    }
}

/// The job of [`clean`], under another name.
pub fn job(name: &str) -> Job {
    Job {
        name: name.to_owned(),
        options: vec![("rw".to_owned(), Some("randread".to_owned()))],
        files: files(),
        limits: Limits {
            runtime: Some(Nanos::from_secs(10)),
            time_based: true,
            loops: 1,
            ..Limits::default()
        },
        queue: Queue {
            depth: 4,
            batch_submit: 1,
            batch_complete_min: 1,
            batch_complete_max: 4,
            low: 4,
        },
        engine: EngineSpec {
            kind: EngineKind::IoUring,
            named: false,
            settings: EngineSettings::default(),
        },
        accounting: accounting(),
        ..Job::default()
    }
}

fn files() -> FileSet {
    FileSet {
        paths: vec!["/data/file".into()],
        named: true,
        size: Extent::Bytes(Bytes::from_mib(1024)),
        direct: true,
        ..FileSet::default()
    }
}

fn accounting() -> Accounting {
    Accounting {
        slat: true,
        clat: true,
        lat: true,
        bandwidth: true,
        clat_percentiles: true,
        percentiles: vec![50.0, 90.0, 99.0, 99.9],
        bandwidth_sample: Nanos::from_millis(500),
        iops_sample: Nanos::from_millis(500),
        disk_util: true,
        ..Accounting::default()
    }
}

/// A worker that ran ten seconds without I/O.
pub fn idle(job: &Job) -> JobRecording {
    let interval = |i: u64| Interval {
        start: Nanos::from_millis(100 * i),
        length: Nanos::from_millis(100),
        directions: PerDirection::default(),
    };
    JobRecording {
        engine: job.engine.kind.name().to_owned(),
        fallback: None,
        tid: 4711,
        skipped: false,
        launched: Nanos::ZERO,
        measured_from: Nanos::ZERO,
        ended: Nanos::from_secs(10),
        directions: PerDirection::default(),
        sync: Histogram::new(),
        sync_failed: 0,
        warmup: PerDirection::default(),
        intervals: (0..100).map(interval).collect(),
        depth_levels: [0; 7],
        submit_levels: [0; 7],
        complete_levels: [0; 7],
        in_flight_ns: 0,
        usage: Usage {
            user: Nanos::from_millis(500),
            system: Nanos::from_secs(1),
            switches: 7,
            major_faults: 1,
            minor_faults: 2,
            waited: Nanos::ZERO,
        },
        error: None,
        errors_continued: 0,
        verify: VerifyCounts::default(),
        pace: Default::default(),
        damages: Vec::new(),
        gaps: Vec::new(),
        verify_state: None,
        events: Vec::new(),
        region: Bytes::from_mib(1024),
        ceiling_iops: None,
        notes: Vec::new(),
        observed: None,
    }
}

/// Gives worker `i` `n` good I/Os of `clat` nanoseconds each, spread evenly over its intervals.
pub fn fill(recording: &mut Recording, i: usize, direction: Direction, n: u64, clat: u64) {
    let size = u64::from(recording.plan.jobs[i].pattern.block_size[direction].min());
    let seen = &mut recording.jobs[i];
    let each = n / seen.intervals.len() as u64;
    assert_eq!(
        each * seen.intervals.len() as u64,
        n,
        "n must spread evenly"
    );
    let mut part = Histogram::new();
    part.record_n(clat, each);
    for interval in &mut seen.intervals {
        let d = &mut interval.directions[direction];
        (d.ios, d.bytes, d.clat) = (each, each * size, SparseHistogram::pack(&part));
    }
    let d = &mut seen.directions[direction];
    let (planned, ok) = (d.counts.planned + n, d.counts.ok + n);
    let bytes = d.counts.bytes_ok + n * size;
    d.counts = Counts {
        planned,
        ok,
        bytes_requested: bytes,
        bytes_ok: bytes,
        ..d.counts
    };
    d.slat.record_n(1_000, n);
    d.clat.record_n(clat, n);
    d.lat.record_n(clat + 1_000, n);
    seen.depth_levels[2] += n;
    seen.submit_levels[1] += n;
    seen.complete_levels[1] += n;
    seen.in_flight_ns += u128::from(n) * u128::from(clat);
}

/// Adds I/Os that failed.
pub fn spoil(recording: &mut Recording, add: impl Fn(&mut Counts)) {
    add(&mut recording.jobs[0].directions[Direction::Read].counts);
}

/// An event of the first worker, one second into the run.
pub fn event(recording: &mut Recording, what: EventKind) {
    recording.jobs[0].events.push(Event {
        at: Nanos::from_secs(1),
        kind: what,
    });
}

/// A disk with these bytes and requests read and written.
pub fn disk(name: &str, read: (u64, u64), written: (u64, u64)) -> DiskRecording {
    let before = DiskCounters {
        read_sectors: 100,
        write_sectors: 100,
        read_ios: 5,
        io_ticks: 50,
        ..DiskCounters::default()
    };
    let after = DiskCounters {
        read_sectors: 100 + read.0 / 512,
        read_ios: 5 + read.1,
        write_sectors: 100 + written.0 / 512,
        write_ios: written.1,
        io_ticks: 5_050,
        ..before
    };
    DiskRecording {
        name: name.to_owned(),
        before,
        after,
    }
}

/// A run with a planned rate: 200 reads per second over ten seconds, each 2 ms of service, on time.
pub fn open_loop() -> Recording {
    open_loop_of(2 * MS)
}

/// An open loop of 200 reads per second, each of which takes `service_ns`.
pub fn open_loop_of(service_ns: u64) -> Recording {
    let mut planned = job("open");
    planned.pace.rate[Direction::Read] = Some(Rate::Iops(200.0));
    planned.accounting.percentiles = vec![50.0, 90.0, 99.0];
    let mut recording = run_of(vec![planned]);
    fill(&mut recording, 0, Direction::Read, 2_000, service_ns);
    let d = &mut recording.jobs[0].directions[Direction::Read];
    d.response.record_n(service_ns, 2_000);
    d.lateness.record_n(1_000, 2_000);
    recording
}

/// A command that was watched.
pub fn command(change: impl FnOnce(&mut Witnessed)) -> Option<Box<Witnessed>> {
    let mut witnessed = Witnessed {
        command: vec!["/bin/dd".to_owned(), "if=/data/file".to_owned()],
        ..Witnessed::default()
    };
    change(&mut witnessed);
    Some(Box::new(witnessed))
}
