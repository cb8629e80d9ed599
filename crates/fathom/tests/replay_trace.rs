//! `fathom replay`: what a device receives of a trace is compared with the trace, by the log of the fault device.

mod common;

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use common::{Completed, device_code, fathom, lock_machine_shared};
use fathom_testkit::{DeviceOptions, FaultDevice, Scratch, require};

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
    let done = scene.replay(&trace, &[&code]).expect_done();
    assert_eq!(scene.received(), sorted(ios));
    for text in ["Fidelity of the replay on", "On time: ", "Total = "] {
        assert!(done.out.contains(text), "{text}\n{}", done.out);
    }
}

#[test]
fn a_replay_takes_as_long_as_the_trace_divided_by_the_speed() {
    require!(Root, Fuse);
    let _machine = lock_machine_shared();
    let scene = Scene::new();
    // 3 s from the first to the last.
    let ios: Ios = (0..31).map(|n| (false, n * 8192)).collect();
    let trace = scene.trace(&ios, 100);
    let elapsed = |speed: &str| {
        let done = scene
            .replay(&trace, &[speed, "--json"])
            .expect_done()
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
    scene.replay(&trace, &["--map=wrap"]).expect_done();
    // Modulo the size.
    assert_eq!(
        scene.received(),
        (0..20).map(|n| (false, n * 8192)).collect::<Ios>()
    );
    for rule in ["--map=scale", "--map=hash"] {
        scene.replay(&trace, &[rule]).expect_done();
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
    .expect_done();
    let file = std::fs::metadata(&target).expect("the file");
    assert_eq!(file.len(), 100 * 4096);
    // No holes: sectors of 512 bytes.
    assert!(file.blocks() * 512 >= 100 * 4096, "{}", file.blocks());
}
