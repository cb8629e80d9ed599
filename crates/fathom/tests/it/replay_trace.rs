//! `fathom replay`: what a device receives of a trace is compared with the trace, by the log of the fault device.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::common::{Completed, device_code, fathom};
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Scratch, require};

/// A length that nothing else uses.
const LENGTH: u64 = 7168;

/// I/Os of the trace: read or write, and offset; 10 ms apart.
type Ios = Vec<(bool, u64)>;

struct Scene {
    scratch: Scratch,
    device: FaultDevice,
}

impl Scene {
    fn new() -> Scene {
        Scene {
            scratch: Scratch::new().expect("a directory"),
            device: FaultDevice::mount(DeviceOptions::default()).expect("a device"),
        }
    }

    /// The I/Os in the format of MSR Cambridge: times of 100 ns, offset, length, latency.
    fn trace(&self, ios: &Ios, gap_ms: u64) -> PathBuf {
        let mut text = String::new();
        for (n, (write, offset)) in ios.iter().enumerate() {
            let _ = writeln!(
                text,
                "{},vol,0,{},{offset},{LENGTH},2000",
                128_166_372_003_061_629 + n as u64 * gap_ms * 10_000,
                if *write { "Write" } else { "Read" }
            );
        }
        let file = self.scratch.join("t.csv");
        std::fs::write(&file, text).expect("a trace");
        file
    }

    fn replay(&self, trace: &std::path::Path, more: &[&str]) -> Completed {
        let (trace, target) = (
            trace.display().to_string(),
            self.device.path().display().to_string(),
        );
        let mut line = vec!["replay", &trace, "--on", &target, "--no-store"];
        line.extend(more);
        fathom(line)
    }

    /// The I/Os of [`LENGTH`] that the device got, sorted: with 10 ms between them two may still swap on a busy machine.
    fn received(&self) -> Ios {
        let mut ios: Ios = self
            .device
            .log()
            .iter()
            .filter(|one| one.len == LENGTH)
            .map(|one| (one.op.name() == "write", one.offset))
            .collect();
        ios.sort_unstable();
        self.device.clear_log();
        ios
    }
}

fn sorted(mut ios: Ios) -> Ios {
    ios.sort_unstable();
    ios
}

#[test]
fn the_device_receives_the_ios_of_the_trace() {
    require!(Root, Fuse);
    let scene = Scene::new();
    let ios: Ios = (0..40).map(|n| (n % 3 == 0, n * 37 % 40 * 8192)).collect();
    let trace = scene.trace(&ios, 10);
    // Writes need the permission of the guard.
    let refused = scene.replay(&trace, &[]);
    assert_eq!(refused.code(), 2, "{}", refused.err);
    assert!(refused.err.contains("--destroy="), "{}", refused.err);
    assert_eq!(scene.received(), Ios::new());
    let code = format!("--destroy={}", device_code(&scene.device.path()));
    let done = scene.replay(&trace, &[&code]).expect(0);
    assert_eq!(scene.received(), sorted(ios));
    for text in ["Fidelity of the replay on", "On time: ", "Total = "] {
        assert!(done.out.contains(text), "{text}\n{}", done.out);
    }
}

#[test]
fn devices_of_a_trace_go_to_the_targets_in_turn() {
    require!(Root, Fuse);
    let scratch = Scratch::new().expect("a directory");
    let targets = [(); 2].map(|()| FaultDevice::mount(DeviceOptions::default()).expect("a device"));
    // Three disks, the third of which goes to the first target.
    let mut text = String::new();
    for n in 0..30_u64 {
        let _ = writeln!(
            text,
            "{},vol,{},Read,{},{LENGTH},2000",
            128_166_372_003_061_629 + n * 50_000,
            n % 3,
            n * 8192
        );
    }
    let trace = scratch.join("t.csv");
    std::fs::write(&trace, text).expect("a trace");
    let [first, second] = [0, 1].map(|n: usize| targets[n].path().display().to_string());
    let trace = trace.display().to_string();
    fathom([
        "replay",
        &trace,
        "--on",
        &first,
        "--on",
        &second,
        "--no-store",
    ])
    .expect(0);
    for (target, disks) in targets.iter().zip([&[0, 2][..], &[1]]) {
        let mut received: Vec<u64> = target
            .log()
            .iter()
            .filter(|one| one.len == LENGTH)
            .map(|one| one.offset)
            .collect();
        received.sort_unstable();
        let sent = (0..30).filter(|n| disks.contains(&(n % 3)));
        assert_eq!(received, sent.map(|n| n * 8192).collect::<Vec<u64>>());
    }
}

#[test]
fn a_replay_takes_as_long_as_the_trace_divided_by_the_speed() {
    require!(Root, Fuse);
    let scene = Scene::new();
    // 3 s from the first to the last.
    let ios: Ios = (0..31).map(|n| (false, n * 8192)).collect();
    let trace = scene.trace(&ios, 100);
    let elapsed = |speed: &str| {
        let done = scene
            .replay(&trace, &[speed, "--json"])
            .expect_measured()
            .json();
        assert_eq!(scene.received().len(), 31);
        done.0["jobs"][0]["read"]["runtime"]
            .as_f64()
            .expect("milliseconds")
    };
    let (same, twice) = (elapsed("--speed=1"), elapsed("--speed=2"));
    // A replay never sends an I/O before its time.
    assert!(same >= 2990.0 && twice >= 1490.0, "{same} {twice}");
    assert!(twice < same - 500.0, "{same} {twice}");
}

#[test]
fn a_larger_trace_is_refused_or_mapped() {
    require!(Root, Fuse);
    let scene = Scene::new();
    let size = std::fs::metadata(scene.device.path())
        .expect("a device")
        .len();
    let ios: Ios = (0..20).map(|n| (false, n * size + n * 8192)).collect();
    let trace = scene.trace(&ios, 5);
    let refused = scene.replay(&trace, &[]);
    assert_eq!(refused.code(), 2, "{}", refused.err);
    assert!(refused.err.contains("--map=wrap"), "{}", refused.err);
    scene.replay(&trace, &["--map=wrap"]).expect(0);
    // Modulo the size.
    assert_eq!(
        scene.received(),
        (0..20).map(|n| (false, n * 8192)).collect::<Ios>()
    );
    for rule in ["--map=scale", "--map=hash"] {
        scene.replay(&trace, &[rule]).expect(0);
        let received = scene.received();
        assert_eq!(received.len(), 20, "{rule}");
        assert!(received.iter().all(|io| io.1 + LENGTH <= size), "{rule}");
    }
}

#[test]
fn a_new_file_is_filled_before_it_is_read() {
    let scratch = Scratch::new().expect("a directory");
    let mut text = String::new();
    for n in 0..100 {
        let _ = writeln!(
            text,
            "{},vol,0,Read,{},4096,2000",
            128_166_372_003_061_629_u64 + n * 20_000,
            n * 41 % 100 * 4096
        );
    }
    let (trace, target) = (scratch.join("t.csv"), scratch.join("new.data"));
    std::fs::write(&trace, text).expect("a trace");
    fathom([
        "replay",
        &trace.display().to_string(),
        "--on",
        &target.display().to_string(),
        "--no-store",
    ])
    .expect(0);
    let file = std::fs::metadata(&target).expect("the file");
    assert_eq!(file.len(), 100 * 4096);
    // No holes: sectors of 512 bytes.
    assert!(file.blocks() * 512 >= 100 * 4096, "{}", file.blocks());
}

/// An I/O of a trace with its times, microseconds.
struct Timed {
    issued: u64,
    done: u64,
}

impl Scene {
    /// The reads in the format of MSR Cambridge, each of another place.
    fn timed_trace(&self, ios: &[Timed]) -> PathBuf {
        let mut text = String::new();
        for (n, io) in ios.iter().enumerate() {
            let _ = writeln!(
                text,
                "{},vol,0,Read,{},{LENGTH},{}",
                128_166_372_003_061_629 + io.issued * 10,
                n * 8192,
                (io.done - io.issued) * 10
            );
        }
        let file = self.scratch.join("timed.csv");
        std::fs::write(&file, text).expect("a trace");
        file
    }
}

/// A load of two kinds of requests at up to about five at a time, with latencies from 0.2 ms to 3 ms: issue and completion of each,
/// and the number of I/Os on the longest chain in which each one had completed before the next was issued.
fn overlapping(ios: usize) -> (Vec<Timed>, Vec<usize>) {
    let (mut seed, mut now) = (7_u64, 0);
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let timed: Vec<Timed> = (0..ios)
        .map(|_| {
            now += 50 + draw(400);
            Timed {
                issued: now,
                done: now + 200 + draw(2) * draw(2800),
            }
        })
        .collect();
    let mut chains = Vec::new();
    for (n, io) in timed.iter().enumerate() {
        let before = (0..n).filter(|j| timed[*j].done <= io.issued);
        chains.push(1 + before.map(|j| chains[j]).max().unwrap_or(0));
    }
    (timed, chains)
}

/// A device that takes 20 ms for each of any number of requests: the replay takes at least 20 ms for each I/O on the longest chain, and
/// each I/O begins when those that it depends on are complete, by the log of the device.
#[test]
fn a_replay_by_dependencies_takes_as_long_as_the_longest_chain() {
    require!(Root, Fuse);
    let scene = Scene::new();
    let (ios, chains) = overlapping(120);
    let longest = *chains.iter().max().expect("I/Os");
    // Neither one after the other nor all at once.
    assert!((20..=80).contains(&longest), "{longest}");
    let trace = scene.timed_trace(&ios);
    scene.device.set_latency(Latency {
        read_us: 20_000,
        ..Latency::default()
    });
    let done = scene.replay(&trace, &["--dependencies"]);
    scene.device.set_latency(Latency::default());
    let done = done.expect(0);
    assert!(done.out.contains("By dependencies: "), "{}", done.out);
    let log = scene.device.log();
    scene.device.clear_log();
    let at = |n: usize| {
        let mut own = log
            .iter()
            .filter(|one| one.len == LENGTH && one.offset == n as u64 * 8192);
        match (own.next(), own.next()) {
            (Some(one), None) => (one.start_ns, one.end_ns),
            _ => panic!("I/O {n} was not sent once"),
        }
    };
    let seen: Vec<(u64, u64)> = (0..ios.len()).map(at).collect();
    // An I/O never begins before one that it depends on is complete.
    for (n, io) in ios.iter().enumerate() {
        for j in (0..n).filter(|j| ios[*j].done <= io.issued) {
            assert!(seen[j].1 <= seen[n].0, "{n} began before {j} was complete");
        }
    }
    let first = seen.iter().map(|one| one.0).min().expect("I/Os");
    let last = seen.iter().map(|one| one.1).max().expect("I/Os");
    let (took, chain) = ((last - first) as f64 / 1e6, longest as f64 * 20.0);
    assert!(
        took >= chain,
        "{took} ms, the longest chain takes {chain} ms"
    );
}

#[test]
fn dependencies_need_latencies() {
    let scratch = Scratch::new().expect("a directory");
    let trace = scratch.join("t.log");
    std::fs::write(
        &trace,
        "fio version 3 iolog\n0 f add\n0 f open\n1 f read 0 4096\n2 f read 4096 4096\n",
    )
    .expect("a trace");
    let target = scratch.join("new.data");
    let refused = fathom([
        "replay",
        &trace.display().to_string(),
        "--on",
        &target.display().to_string(),
        "--dependencies",
        "--no-store",
    ]);
    assert_eq!(refused.code(), 2, "{}", refused.err);
    assert!(
        refused.err.contains("without latencies") && refused.err.contains("--closed"),
        "{}",
        refused.err
    );
    assert!(!target.exists());
}
