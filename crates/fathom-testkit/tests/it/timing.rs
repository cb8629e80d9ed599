//! Tests of the timing of the fault device: it never answers early, and keeps its depth. How late it is on a machine without other load,
//! `cargo xtask measure` says.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Latency, require};
use rustix::fs::OFlags;

use crate::aligned::Aligned;

const BLOCK: usize = 4096;
fn slow_reader(read_us: u64) -> (FaultDevice, File) {
    let latency = Latency {
        read_us,
        ..Latency::default()
    };
    let options = DeviceOptions {
        size: 1 << 20,
        latency,
        ..DeviceOptions::default()
    };
    let device = FaultDevice::mount(options).expect("mount the fault device");
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlags::DIRECT.bits() as i32);
    let file = options.open(device.path()).expect("open the device");
    (device, file)
}

/// Median of 51 reads in milliseconds: as the caller sees it, and as the device logged it.
fn medians(device: &FaultDevice, file: &File) -> (f64, f64) {
    device.clear_log();
    let mut buffer = Aligned::new(BLOCK);
    let mut seen: Vec<u64> = (0..51)
        .map(|i| {
            let start = Instant::now();
            file.read_exact_at(buffer.as_mut(), i * BLOCK as u64)
                .expect("read");
            start.elapsed().as_nanos() as u64
        })
        .collect();
    let mut logged: Vec<u64> = device
        .log()
        .iter()
        .map(fathom_testkit::Entry::latency_ns)
        .collect();
    assert_eq!(logged.len(), seen.len());
    seen.sort_unstable();
    logged.sort_unstable();
    (seen[25] as f64 / 1e6, logged[25] as f64 / 1e6)
}

#[test]
fn a_latency_of_five_milliseconds_is_kept() {
    require!(Fuse);
    let (device, file) = slow_reader(5000);
    let (seen, logged) = medians(&device, &file);
    assert!(
        logged >= 5.0 && seen >= logged,
        "asked 5 ms, log {logged}, caller {seen}"
    );
}

/// Without FUSE_ASYNC_DIO the kernel runs such a queue one request at a time.
fn reaches_depth_sixteen(engine: &str) {
    let (device, _file) = slow_reader(5000);
    let mut fio = std::process::Command::new("fio");
    fio.args([
        "--name=deep",
        "--rw=randread",
        "--bs=4k",
        "--direct=1",
        "--iodepth=16",
    ]);
    fio.args(["--size=1m", "--io_size=1280k"]);
    fio.arg(format!("--ioengine={engine}"));
    let output = fio
        .arg(format!("--filename={}", device.path().display()))
        .output()
        .expect("fio");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(device.counts().deepest, 16);
    let log = device.log();
    assert_eq!(log.len(), 320);
    let shortest = log.iter().map(fathom_testkit::Entry::latency_ns).min();
    assert!(
        shortest >= Some(5_000_000),
        "requested 5 ms: {shortest:?} ns"
    );
}

#[test]
fn a_libaio_queue_reaches_its_depth() {
    require!(Fuse, Fio);
    reaches_depth_sixteen("libaio");
}

#[test]
fn an_io_uring_queue_reaches_its_depth() {
    require!(Fuse, Fio, IoUring);
    reaches_depth_sixteen("io_uring");
}

/// The device answers when all are there, however late a thread starts. With fewer in the device at a time this would never end, which the
/// limit of time reports.
#[test]
fn sixteen_direct_reads_are_in_the_device_together() {
    require!(Fuse);
    let (device, file) = slow_reader(0);
    device.inject(Fault::Hang(None));
    let limit = Instant::now() + Duration::from_secs(60);
    std::thread::scope(|scope| {
        for i in 0..16 {
            let file = &file;
            scope.spawn(move || {
                let mut buffer = Aligned::new(BLOCK);
                file.read_exact_at(buffer.as_mut(), i * BLOCK as u64)
                    .expect("read");
            });
        }
        while device.counts().deepest < 16 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        device.clear_faults();
        device.release();
    });
    assert_eq!(device.counts().deepest, 16);
}
