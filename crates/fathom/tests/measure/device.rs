//! The fault device answers in its time.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Instant;

use fathom_testkit::{DeviceOptions, Entry, FaultDevice, Latency, Need};
use rustix::fs::OFlags;

use crate::machine::raise_priority;
use crate::scene::{Scene, check_near};

pub const SCENES: &[Scene] = &[
    Scene::check(
        "a device of 5 ms takes 5 ms",
        &[Need::Fuse],
        five_milliseconds,
    ),
    Scene::check(
        "sixteen reads take one latency together",
        &[Need::Fuse],
        sixteen_at_once,
    ),
];

const BLOCK: usize = 4096;

/// A block at an address that direct I/O accepts.
#[repr(align(4096))]
struct Aligned([u8; BLOCK]);

fn slow_reader(read_us: u64) -> (FaultDevice, File) {
    let options = DeviceOptions {
        size: 1 << 20,
        latency: Latency {
            read_us,
            ..Latency::default()
        },
        ..DeviceOptions::default()
    };
    let device = FaultDevice::mount(options).expect("a fault device");
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlags::DIRECT.bits() as i32);
    let file = options.open(device.path()).expect("the device opens");
    (device, file)
}

/// The medians of 51 reads, as the caller sees them and as the device logged them.
fn five_milliseconds() -> Result<(), String> {
    raise_priority();
    let (device, file) = slow_reader(5000);
    let mut buffer = Box::new(Aligned([0; BLOCK]));
    let mut seen = Vec::new();
    for at in 0..51 {
        let start = Instant::now();
        file.read_exact_at(&mut buffer.0, at * BLOCK as u64)
            .expect("a read");
        seen.push(start.elapsed().as_nanos() as u64);
    }
    let mut logged: Vec<u64> = device.log().iter().map(Entry::latency_ns).collect();
    seen.sort_unstable();
    logged.sort_unstable();
    let (seen, logged) = (seen[25] as f64 / 1e6, logged[25] as f64 / 1e6);
    check_near("the caller waits beyond 5 ms, ms", seen, 5.15, 0.15)?;
    check_near("the device takes beyond 5 ms, ms", logged, 5.15, 0.15)
}

fn sixteen_at_once() -> Result<(), String> {
    raise_priority();
    let (device, file) = slow_reader(100_000);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for at in 0..16 {
            let file = &file;
            scope.spawn(move || {
                let mut buffer = Box::new(Aligned([0; BLOCK]));
                file.read_exact_at(&mut buffer.0, at * BLOCK as u64)
                    .expect("a read");
            });
        }
    });
    let took = start.elapsed().as_secs_f64() * 1e3;
    let deepest = device.counts().deepest;
    check_near("depth", deepest as f64, 16.0, 0.0)?;
    check_near("all reads, ms", took, 125.0, 25.0)
}
