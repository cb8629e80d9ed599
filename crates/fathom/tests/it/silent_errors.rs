//! Faults that other tools ignore: each is reported, counted separately, and sets the exit code.

use crate::common;
use std::path::Path;
use std::time::Duration;

use crate::common::{
    Completed, Json, Running, device_code, filename_arg, program, sh, split_args, start, wait_until,
};
use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, FaultKind, FsKind, Latency, LoopDevice, LoopOptions, Mount,
    Op, Scratch, require,
};
use rustix::process::Signal;

const ENGINES: [&str; 4] = [
    "psync",
    "pvsync2",
    "libaio --iodepth=8",
    "io_uring --iodepth=8",
];

fn device() -> FaultDevice {
    FaultDevice::mount(DeviceOptions::default()).expect("a fault device")
}

fn slow(micros: u64) -> FaultDevice {
    let latency = Latency {
        read_us: micros,
        write_us: micros,
        sync_us: 0,
    };
    FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device")
}

/// A job of `fathom run` or `fathom fio` on the file.
fn job(personality: &str, more: &str, path: &Path) -> std::process::Command {
    let mut command = program(split_args(&format!(
        "{personality} --name=x --bs=4k --direct=1 --output-format=json {more}"
    )));
    command.arg(filename_arg(path));
    command
}

fn run(more: &str, path: &Path) -> Completed {
    start(job("run", more, path)).finish()
}

/// The bytes of the result are those of complete I/Os, and fio's statistics count only those.
fn assert_only_ok_ios_count(json: &Json, direction: &str) {
    let ok = json.count("ok_ios");
    assert_eq!(json.count("ok_bytes"), ok * 4096);
    assert_eq!(
        json.number(&format!("/jobs/0/{direction}/total_ios")) as u64,
        ok
    );
    let rate = json.number(&format!("/jobs/0/{direction}/iops"));
    let time = json.number(&format!("/jobs/0/{direction}/runtime")) / 1000.0;
    assert!(
        rate * (time - 0.002) <= ok as f64 + 1.0,
        "{rate} IOPS over {time} s from {ok} I/Os"
    );
    assert_eq!(
        json.number(&format!("/jobs/0/{direction}/clat_ns/N")) as u64,
        ok
    );
}

#[test]
fn a_file_truncated_during_the_run_is_reported() {
    for personality in ["run", "fio"] {
        for engine in ENGINES {
            let directory = Scratch::new().expect("a directory");
            let path = directory.join("data");
            std::fs::write(&path, vec![0x5A; 16 << 20]).expect("a file to read");
            let more = format!(
                "--rw=randread --size=16m --norandommap --time_based --runtime=2m --ioengine={engine}"
            );
            let running = start(job(personality, &more, &path));
            wait_until("the load started", || read_bytes(running.id()) > 4 << 20);
            let file = std::fs::File::options()
                .write(true)
                .open(&path)
                .expect("the file");
            file.set_len(2 << 20).expect("truncated");
            let ran = running.finish();
            assert_eq!(
                ran.code(),
                1,
                "{personality} {engine}: {} {}",
                ran.out,
                ran.err
            );
            if personality == "run" {
                let json = ran.json();
                assert!(
                    json.expect_finding("TARGET_SHRANK").contains("to 2 MiB"),
                    "{}",
                    json.expect_finding("TARGET_SHRANK")
                );
                assert_eq!(json.verdict(), "invalid");
                assert_only_ok_ios_count(&json, "read");
            } else {
                assert!(
                    ran.err.contains("TARGET_SHRANK") || ran.err.contains("shrank"),
                    "{}",
                    ran.err
                );
            }
        }
    }
}

/// Bytes that the process read from the device (`read_bytes` of proc_pid_io(5)).
fn read_bytes(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("read_bytes: "))
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// io_uring is omitted, since it reads the rest of a short read by itself.
#[test]
fn short_reads_are_reported() {
    require!(Fuse);
    for engine in ["psync", "pvsync2", "libaio --iodepth=8"] {
        for personality in ["run", "fio"] {
            let device = device();
            let more = format!("--rw=randread --bs=64k --size=8m --ioengine={engine}");
            // The guard is done when this command runs, so that the faults hit the load.
            let scratch = Scratch::new().expect("a directory");
            let (ready, go) = (scratch.join("ready"), scratch.join("go"));
            let (waits, goes) = (ready.display(), go.display());
            let mut command = job(personality, &more, &device.path());
            command.current_dir(scratch.path()).arg(format!(
                "--exec_prerun=touch {waits}; until [ -e {goes} ]; do sleep 0.01; done"
            ));
            let running = start(command).wait_until("the guard is done", || ready.exists());
            device.inject_times(Fault::ShortRead { at_most: 4096 }, 10);
            std::fs::write(&go, "").expect("a file");
            let ran = running.finish();
            assert_eq!(device.counts().faults[&FaultKind::ShortRead], 10);
            assert_eq!(
                ran.code(),
                1,
                "{personality} {engine}: {} {}",
                ran.out,
                ran.err
            );
            if personality == "run" {
                let json = ran.json();
                json.expect_finding("SHORT_IO");
                assert_eq!(
                    (json.count("short_ios"), json.count("short_bytes")),
                    (10, 10 * 4096),
                    "{engine}"
                );
                assert_eq!(json.count("ok_ios"), 118);
                assert_eq!(json.number("/jobs/0/read/short_ios") as u64, 10);
            } else {
                assert!(ran.err.contains("SHORT_IO"), "{}", ran.err);
            }
        }
    }
}

#[test]
fn an_error_ends_the_job_and_enters_no_statistic() {
    require!(Fuse);
    for (direction, fault) in [
        (
            "read",
            Fault::ReadError {
                offset: 1 << 20,
                len: 4096,
            },
        ),
        (
            "write",
            Fault::WriteError {
                offset: 1 << 20,
                len: 4096,
            },
        ),
    ] {
        for engine in ENGINES {
            for personality in ["run", "fio"] {
                let device = device();
                device.inject(fault);
                let more = format!("--rw={direction} --size=8m --ioengine={engine}");
                let ran = start(with_code(personality, &more, &device)).finish();
                assert!(device.counts().injected() >= 1, "{} {}", ran.out, ran.err);
                assert_eq!(
                    ran.code(),
                    1,
                    "{personality} {direction} {engine}: {} {}",
                    ran.out,
                    ran.err
                );
                if personality == "fio" {
                    continue;
                }
                let json = ran.json();
                let evidence = json.expect_finding("IO_ERROR");
                assert!(
                    evidence.contains(&format!("{direction} at offset 1048576"))
                        && evidence.contains("Input/output error"),
                    "{evidence}"
                );
                assert_eq!(
                    json.count("failed_ios"),
                    device.counts().injected(),
                    "{engine}"
                );
                assert_eq!(json.number("/jobs/0/error") as u64, 5);
                assert_only_ok_ios_count(&json, direction);
            }
        }
    }
}

/// A job on the whole device file, with its `--destroy` code.
fn with_code(personality: &str, more: &str, device: &FaultDevice) -> std::process::Command {
    let mut command = job(personality, more, &device.path());
    command.arg(format!("--destroy={}", device_code(&device.path())));
    command
}

/// Regression 0025: the exit code was 0 although I/Os had failed.
#[test]
fn continued_errors_equal_those_of_the_device() {
    require!(Fuse);
    for engine in ENGINES {
        let device = device();
        // Sixteen of the two thousand blocks, each read twice.
        device.inject(Fault::ReadError {
            offset: 2 << 20,
            len: 64 << 10,
        });
        let more = format!(
            "--rw=randread --size=8m --loops=2 --continue_on_error=all --ioengine={engine}"
        );
        let ran = start(job("run", &more, &device.path())).finish();
        let injected = device.counts().injected();
        assert_eq!(injected, 32, "two passes over sixteen bad blocks");
        assert_eq!(ran.code(), 1, "an I/O failed: {}", ran.err);
        let json = ran.json();
        assert_eq!(
            (json.count("failed_ios"), json.count("planned_ios")),
            (injected, 4096)
        );
        assert_eq!(json.number("/jobs/0/total_err") as u64, injected);
        assert_eq!(json.number("/jobs/0/first_error") as u64, 5);
        json.expect_finding("IO_ERROR");
        assert_only_ok_ios_count(&json, "read");
    }
}

#[test]
fn a_full_file_system_is_an_error_unless_fill_device_is_set() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&directory.join("image"), 32 << 20, LoopOptions::default())
        .expect("a loop device");
    let mount = Mount::format(device.path(), FsKind::Ext4, "").expect("an ext4");
    // The guard refuses a plan that fills the disk before anything is written.
    let refused = run("--rw=write --size=64m --ioengine=psync", &mount.join("big")).expect(2);
    assert!(refused.err.contains("free"), "{}", refused.err);
    assert!(!mount.join("big").exists());
    // Another process takes the free space while the run writes.
    for engine in ["psync", "libaio --iodepth=4"] {
        let path = mount.join("data");
        let more =
            format!("--rw=write --size=10m --fallocate=none --startdelay=1s --ioengine={engine}");
        let running = start(job("run", &more, &path));
        wait_until("the guard has allowed the run", || path.exists());
        sh(&format!(
            "dd if=/dev/zero of={} bs=1M 2>/dev/null; true",
            mount.join("other").display()
        ));
        let ran = running.finish();
        let json = ran.json();
        assert_eq!(ran.code(), 1);
        assert!(
            json.expect_finding("IO_ERROR").contains("No space left"),
            "{}",
            json.expect_finding("IO_ERROR")
        );
        assert_eq!(json.number("/jobs/0/error") as u64, 28);
        assert!(json.count("failed_ios") > 0);
        sh(&format!(
            "rm {} {}",
            mount.join("other").display(),
            path.display()
        ));
    }
}

#[test]
fn one_failed_fsync_fails_the_run() {
    require!(Fuse);
    for personality in ["run", "fio"] {
        for engine in ["psync", "io_uring --iodepth=4", "libaio --iodepth=4"] {
            let device = slow(4000);
            let more = format!("--rw=write --size=4m --fsync=8 --ioengine={engine}");
            let running = start(with_code(personality, &more, &device));
            let writes = || {
                device
                    .log()
                    .iter()
                    .filter(|one| one.op == Op::Write)
                    .count()
            };
            wait_until("the load started", || writes() > 40);
            device.inject_times(Fault::SyncError, 1);
            let ran = running.finish();
            assert_eq!(device.counts().injected(), 1, "{} {}", ran.out, ran.err);
            assert_eq!(
                ran.code(),
                1,
                "{personality} {engine}: {} {}",
                ran.out,
                ran.err
            );
            if personality == "run" {
                let json = ran.json();
                assert!(
                    json.expect_finding("IO_ERROR").contains("fsync"),
                    "{}",
                    json.expect_finding("IO_ERROR")
                );
                assert_eq!(json.verdict(), "invalid");
                let syncs = device
                    .log()
                    .iter()
                    .filter(|one| one.op == Op::Sync && one.result == 0)
                    .count();
                assert!(
                    json.number("/jobs/0/sync/total_ios") as usize <= syncs,
                    "a failed fsync does not count"
                );
            }
        }
    }
}

/// The unlinked file still exists for the run; its results are right, and no file is left. Regression 1484: the probes of other depths laid
/// it out again.
#[test]
fn a_file_unlinked_during_the_run_does_not_stop_it() {
    let directory = Scratch::new().expect("a directory");
    let path = directory.join("data");
    let running = start(job(
        "run",
        "--rw=randread --size=4m --time_based --runtime=2 --ioengine=psync",
        &path,
    ));
    // The load reads from the disk what was laid out.
    wait_until("it reads", || read_bytes(running.id()) > 1 << 20);
    std::fs::remove_file(&path).expect("removed");
    let json = running.finish().expect(0).json();
    assert!(json.count("ok_ios") > 100);
    assert!(!path.exists());
}

#[test]
fn a_removed_device_ends_the_run() {
    require!(Root, Fuse, Loop);
    for engine in ENGINES {
        let below = slow(500);
        let device =
            LoopDevice::attach(&below.path(), LoopOptions::default()).expect("a loop device");
        let more = format!(
            "--rw=randread --size=16m --norandommap --time_based --runtime=2m --ioengine={engine}"
        );
        let running = start(job("run", &more, device.path()));
        wait_until("the load started", || below.log().len() > 400);
        below.inject(Fault::Gone);
        let ran = running.finish();
        assert!(below.counts().injected() >= 1);
        assert_eq!(ran.code(), 1, "{engine}: {} {}", ran.out, ran.err);
        let json = ran.json();
        assert!(
            json.expect_finding("IO_ERROR")
                .contains("Input/output error")
        );
        assert!(json.count("failed_ios") >= 1);
        assert_only_ok_ios_count(&json, "read");
        below.clear_faults();
    }
}

#[test]
fn a_read_only_target_is_refused_before_the_run() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let options = LoopOptions {
        read_only: true,
        ..LoopOptions::default()
    };
    let device =
        LoopDevice::create(&directory.join("image"), 8 << 20, options).expect("a loop device");
    for (personality, code) in [("run", 2), ("fio", 1)] {
        let ran = start(job(
            personality,
            "--rw=write --size=1m --ioengine=psync",
            device.path(),
        ))
        .finish()
        .expect(code);
        assert!(ran.err.contains("read-only"), "{}", ran.err);
    }
    run("--rw=read --size=1m --ioengine=psync", device.path()).expect(0);
}

/// The device accepts requests and completes none; the interrupted run reports their number.
#[test]
fn ios_on_a_hung_device_are_counted_separately() {
    require!(Fuse);
    let device = slow(1000);
    let mut running: Running = start(job(
        "run",
        "--rw=randread --size=8m --norandommap --time_based --runtime=1 --ioengine=libaio --iodepth=8",
        &device.path(),
    ));
    wait_until("the load started", || device.log().len() > 200);
    device.inject(Fault::Hang(Some(Op::Read)));
    wait_until("all I/Os hang", || device.counts().held == 8);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(
        !running.has_exited(),
        "the drain waits for the I/Os in flight"
    );
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    device.release();
    let json = running.finish().expect(130).json();
    assert_eq!(json.count("timed_out_ios"), 8);
    json.expect_finding("TIMED_OUT");
    assert!(device.counts().injected() >= 8);
}

/// Regression 0310: writes through a mapping that the kernel could not write back ended without an error. The device behind
/// the loop device has no room, which shows only when the pages are written back.
#[test]
fn writeback_errors_of_mmap_are_errors_of_the_job() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a directory");
    let small = scratch.join("small");
    std::fs::create_dir(&small).expect("a mount point");
    common::sh(&format!(
        "mount -t tmpfs -o size=4m fathom-test {}",
        small.display()
    ));
    let _unmount = Undo(format!("umount {}", small.display()));
    let image = small.join("image");
    common::sh(&format!("truncate -s 64m {}", image.display()));
    let device = common::sh(&format!("losetup --find --show {}", image.display()));
    let _detach = Undo(format!("losetup --detach {device}"));
    for personality in ["run", "fio"] {
        let code = common::device_code(std::path::Path::new(&device));
        let ran = common::fathom(common::split_args(&format!(
            "{personality} --name=x --ioengine=mmap --rw=write --bs=64k --size=32m --filename={device} --destroy={code}"
        )));
        assert_ne!(ran.code(), 0, "{personality}: {}", ran.out);
        let text = format!("{}{}", ran.out, ran.err);
        assert!(text.contains("fsync"), "{text}");
    }
}

/// Runs a command when dropped.
struct Undo(String);

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = std::process::Command::new("sh")
            .args(["-c", &self.0])
            .status();
    }
}
