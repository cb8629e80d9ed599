//! Replays end on time.

use std::path::Path;

use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Need, Scratch};

use crate::common::{Json, fathom};
use crate::scene::Scene;

pub const SCENES: &[Scene] = &[Scene::check(
    "delays of a replay do not accumulate",
    &[Need::Root, Need::Fuse],
    delays_do_not_accumulate,
)];

/// A log of sixty reads, one every 25 ms; its times are in microseconds.
fn trace(path: &Path) -> String {
    let path = path.display();
    let reads = (0..60).map(|n| format!("{} {path} read {} 4096\n", n * 25_000, n * 4096));
    format!(
        "fio version 3 iolog\n0 {path} add\n0 {path} open\n{}",
        reads.collect::<String>()
    )
}

/// Every 30th of the reads takes 200 ms; the replay ends on time.
fn delays_do_not_accumulate() -> Result<(), String> {
    let scratch = Scratch::new().expect("a directory");
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a device");
    std::fs::write(scratch.join("log"), trace(&device.path())).expect("a log");
    device.inject(Fault::Stall {
        every: 30,
        micros: 200_000,
    });
    let log = format!("--read_iolog={}", scratch.join("log").display());
    let options = [
        "run",
        "--name=r",
        &log,
        "--ioengine=psync",
        "--direct=1",
        "--output-format=json",
    ];
    let json: Json = fathom(options).expect(0).json();
    match json.number("/jobs/0/read/runtime") {
        on_time if (1_470.0..1_780.0).contains(&on_time) => Ok(()),
        late => Err(format!("{late} ms")),
    }
}
