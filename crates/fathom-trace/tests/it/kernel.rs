//! The trace on the real kernel, compared with its own text output and counters.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use fathom_testkit::{LoopDevice, LoopOptions, Scratch, require};
use fathom_trace::{
    Bio, BioPart, BlockEvent, DeviceNumber, Request, TraceConsumer, TraceOptions, TraceSession,
    TraceThread, Tracefs, Tracker, TrackerOutput, remove_dead_instances,
};

const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") {
    0o200_000
} else {
    0o40_000
};

fn number_of(device: &Path) -> DeviceNumber {
    let rdev = fs::metadata(device).unwrap().rdev();
    DeviceNumber::new(((rdev >> 8) & 0xfff) as u32, (rdev & 0xff) as u32)
}

#[derive(Default)]
struct Follow {
    tracker: Tracker,
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    requests: Vec<(Request, Vec<BioPart>)>,
    bios: Vec<Bio>,
    gaps: u64,
}

impl TrackerOutput for Seen {
    fn request(&mut self, request: &Request, parts: &[BioPart]) {
        self.requests.push((*request, parts.to_vec()));
    }

    fn bio(&mut self, bio: &Bio) {
        self.bios.push(*bio);
    }
}

impl TraceConsumer for Follow {
    fn event(&mut self, event: &BlockEvent) {
        self.tracker.event(event, &mut self.seen);
    }

    fn lost(&mut self, _: u64, _: u64) {
        self.seen.gaps += 1;
        self.tracker.lost_events();
    }
}

/// Reads and writes completed, and their sectors, by the kernel's counters.
fn counters(device: &LoopDevice) -> [u64; 4] {
    let text = fs::read_to_string(device.sysfs().join("stat")).unwrap();
    let n: Vec<u64> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    [n[0], n[2], n[4], n[6]]
}

/// `dd` with direct I/O.
fn dd(arguments: &[String]) {
    let status = Command::new("dd")
        .args(arguments)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

fn loop_device(scratch: &Scratch, size: u64) -> LoopDevice {
    LoopDevice::create(
        &scratch.path().join("backing"),
        size,
        LoopOptions::default(),
    )
    .unwrap()
}

#[test]
fn every_request_of_a_device_is_followed_and_agrees_with_its_counters() {
    require!(Loop);
    let scratch = Scratch::new().unwrap();
    let device = loop_device(&scratch, 64 << 20);
    let path = device.path().display().to_string();
    let options = TraceOptions {
        devices: vec![number_of(device.path())],
        ..TraceOptions::default()
    };
    let trace = TraceThread::start(&options, Follow::default()).unwrap();
    assert_eq!(trace.missing(), []);
    let before = counters(&device);
    dd(&[
        format!("of={path}"),
        "if=/dev/zero".into(),
        "bs=4k".into(),
        "count=500".into(),
        "oflag=direct".into(),
        "conv=fsync".into(),
    ]);
    dd(&[
        format!("if={path}"),
        "of=/dev/null".into(),
        "bs=64k".into(),
        "count=300".into(),
        "iflag=direct".into(),
    ]);
    let after = counters(&device);
    let recorded = trace.stop().unwrap();
    let seen = &recorded.consumer.seen;
    assert_eq!((recorded.totals.lost, seen.gaps), (0, 0));
    let sum = |read: bool| {
        let own = seen
            .requests
            .iter()
            .filter(|(r, _)| r.flags.is_read() == read && !r.flags.is_flush());
        let sectors: u64 = own.clone().map(|(r, _)| u64::from(r.sectors)).sum();
        [own.count() as u64, sectors]
    };
    let [reads, writes] = [sum(true), sum(false)];
    // Direct I/O of dd, and nothing but: udev and others may read a few sectors more.
    assert!(reads[0] >= 300 && reads[1] >= 300 * 128, "{reads:?}");
    // The kernel's counters have a flush without data as a write, too.
    assert_eq!(writes, [500 + 1, 500 * 8]);
    let difference: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    assert_eq!(difference, [reads, writes].concat());
    let dd_threads: Vec<_> = recorded
        .names
        .threads()
        .filter(|t| recorded.names.name(*t).as_deref() == Some("dd"))
        .collect();
    assert_eq!(dd_threads.len(), 2, "two processes");
    for (request, parts) in seen.requests.iter().filter(|(r, _)| r.sectors > 0) {
        assert!(request.complete_history, "{request:?}");
        assert_eq!(parts.len() as u32, request.parts);
        let (queue, issue) = (request.t_queue.unwrap(), request.t_issue.unwrap());
        let insert = request.t_insert.unwrap_or(issue);
        assert!(queue <= insert && insert <= issue && issue <= request.t_complete);
        assert_eq!(request.error, 0);
    }
    let flushes = seen.requests.iter().filter(|(r, _)| r.flags.is_flush());
    assert!(flushes.count() >= 1, "conv=fsync flushes");
    assert_eq!(recorded.consumer.tracker.open(), 0);
    assert_eq!(recorded.consumer.tracker.counts().unmatched, 0);
    // Both clocks are the same.
    assert_eq!(recorded.totals.clock.len(), 2);
    for check in &recorded.totals.clock {
        assert_eq!(check.difference_ns(), 0, "{check:?}");
    }
}

#[test]
fn decoded_events_equal_the_text_that_the_kernel_prints() {
    require!(Loop);
    let scratch = Scratch::new().unwrap();
    let device = loop_device(&scratch, 16 << 20);
    let tracefs = Tracefs::open().unwrap();
    let mut options = TraceOptions {
        devices: vec![number_of(device.path())],
        ..TraceOptions::default()
    };
    options
        .tracepoints
        .push(fathom_trace::Tracepoint::GetRequest);
    let session = TraceSession::start(tracefs.root(), &options).unwrap();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(device.path())
        .unwrap();
    file.write_all(&vec![7; 1 << 20]).unwrap();
    file.sync_all().unwrap();
    file.seek(SeekFrom::Start(4 << 20)).unwrap();
    file.read_exact(&mut vec![0; 300_000]).unwrap();
    drop(file);
    let instance = tracefs
        .root()
        .join("instances")
        .join(session.instance_name());
    fs::write(instance.join("tracing_on"), "0").unwrap();
    let text = fs::read_to_string(instance.join("trace")).unwrap();
    // `dd-123 [001] d..1. 76028.734879: block_rq_issue: 7,0 R 4096 () 0 + 8 be,0,4 [dd]`
    let expected: Vec<(String, String)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": block_"))
        .map(|(head, rest)| {
            let time = head.rsplit(' ').next().unwrap().to_owned();
            let (name, rest) = rest.split_once(": ").unwrap();
            let mut words = rest.split(' ');
            let flags = words.nth(1).unwrap();
            let range: Vec<&str> = match name {
                "split" => words.take(1).collect(),
                _ => {
                    let words: Vec<&str> = words.collect();
                    let plus = words.iter().position(|w| *w == "+").unwrap();
                    vec![words[plus - 1], words[plus + 1]]
                }
            };
            (time, format!("{name} {flags} {range:?}"))
        })
        .collect();
    let mut decoded = Vec::new();
    let mut collect = |event: &BlockEvent| {
        use fathom_trace::BlockEventKind as K;
        let name = match event.kind {
            K::BioQueue => "bio_queue",
            K::Split { .. } => "split",
            K::BackMerge => "bio_backmerge",
            K::FrontMerge => "bio_frontmerge",
            K::RequestMerge => "rq_merge",
            K::GetRequest => "getrq",
            K::Insert => "rq_insert",
            K::Issue => "rq_issue",
            K::Complete { .. } => "rq_complete",
            K::Requeue => "rq_requeue",
            _ => "other",
        };
        // The text rounds to the nearest microsecond.
        let micros = (event.time_ns + 500) / 1_000;
        decoded.push((
            format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            name,
            *event,
        ));
    };
    session.finish(&mut collect).unwrap();
    assert!(decoded.len() > 50, "{}", decoded.len());
    assert_eq!(decoded.len(), expected.len());
    let mut reads = 0;
    for ((time, name, event), (expected_time, expected)) in decoded.iter().zip(&expected) {
        assert_eq!(time, expected_time);
        let mut words = expected.splitn(3, ' ');
        assert_eq!(words.next(), Some(*name));
        let flags = words.next().unwrap();
        assert_eq!(event.flags, fathom_trace::IoFlags::parse(flags));
        reads += usize::from(event.flags.is_read());
        let mut range = vec![event.sector.to_string()];
        if *name != "split" {
            range.push(event.sectors.to_string());
        }
        assert_eq!(words.next().unwrap(), format!("{range:?}"));
    }
    // At least one read: queued, issued and completed.
    assert!(reads >= 3);
}

#[test]
fn lost_events_of_a_small_buffer_are_counted_exactly() {
    require!(Loop);
    let scratch = Scratch::new().unwrap();
    let device = loop_device(&scratch, 16 << 20);
    let tracefs = Tracefs::open().unwrap();
    let options = TraceOptions {
        devices: vec![number_of(device.path())],
        buffer_bytes: 1,
        ..TraceOptions::default()
    };
    let session = TraceSession::start(tracefs.root(), &options).unwrap();
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECT)
        .open(device.path())
        .unwrap();
    // Direct I/O needs an aligned buffer.
    let mut buffer = vec![0; 8192];
    let start = buffer.as_ptr().align_offset(4096);
    let reads = 2_000u64;
    for _ in 0..reads {
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_exact(&mut buffer[start..start + 4096]).unwrap();
    }
    let instance = tracefs
        .root()
        .join("instances")
        .join(session.instance_name());
    let written: u64 = fs::read_dir(instance.join("per_cpu"))
        .unwrap()
        .map(|cpu| {
            let stats = fs::read_to_string(cpu.unwrap().path().join("stats")).unwrap();
            let value = |name: &str| -> u64 {
                let line = stats.lines().find(|l| l.starts_with(name)).unwrap();
                line.split(": ").nth(1).unwrap().parse().unwrap()
            };
            value("entries") + value("overrun")
        })
        .sum();
    let mut follow = Follow::default();
    let (totals, _) = session.finish(&mut follow).unwrap();
    assert!(totals.lost > 1_000, "{totals:?}");
    assert!(follow.seen.gaps > 0);
    // Every event was delivered or counted as lost; the two markers of the clock are in the buffer, too.
    let known = totals.events + totals.lost;
    assert!(
        (written..=written + 2).contains(&known) || (known..=known + 2).contains(&written),
        "{written} written, {known} known"
    );
    // Requests that are complete all the same have all of their times.
    for (request, _) in &follow.seen.requests {
        assert!(request.t_issue.is_some_and(|t| t <= request.t_complete));
    }
}

#[test]
fn instances_are_removed_at_the_end_and_those_of_dead_processes_by_the_next_start() {
    require!(Root);
    let Ok(tracefs) = Tracefs::open() else {
        fathom_testkit::skip("no tracefs");
        return;
    };
    let session = TraceSession::start(tracefs.root(), &TraceOptions::default()).unwrap();
    let own = tracefs
        .root()
        .join("instances")
        .join(session.instance_name());
    assert!(own.exists());
    let clocks = fs::read_to_string(own.join("trace_clock")).unwrap();
    assert!(clocks.contains("[mono]"), "{clocks}");
    // Another tracer's, and one of a process number that does not exist.
    let foreign = tracefs
        .root()
        .join("instances")
        .join("not-fathom-test-instance");
    let dead = tracefs.root().join("instances").join("fathom-4194304-1-0");
    fs::create_dir(&foreign).unwrap();
    fs::create_dir(&dead).unwrap();
    // Any other fathom that starts a trace at this moment may be the one that removes it.
    remove_dead_instances(tracefs.root()).unwrap();
    let foreign_left = foreign.exists();
    fs::remove_dir(&foreign).unwrap();
    assert!(foreign_left && own.exists() && !dead.exists());
    drop(session);
    assert!(!own.exists());
}

/// Regression 1474: the start of a trace failed with "No such device" while another program removed the same dead instance.
#[test]
fn several_programs_remove_the_same_dead_instances() {
    require!(Root);
    let Ok(tracefs) = Tracefs::open() else {
        fathom_testkit::skip("no tracefs");
        return;
    };
    let instances = tracefs.root().join("instances");
    for round in 10..15 {
        let dead: Vec<_> = (0..4)
            .map(|number| instances.join(format!("fathom-4194304-{round}-{number}")))
            .collect();
        for directory in &dead {
            fs::create_dir(directory).unwrap();
        }
        std::thread::scope(|scope| {
            let removers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| remove_dead_instances(tracefs.root()).map(drop)))
                .collect();
            for remover in removers {
                remover.join().unwrap().unwrap();
            }
        });
        assert!(dead.iter().all(|directory| !directory.exists()));
    }
}
