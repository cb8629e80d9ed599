//! SIGKILL at any time: at most the last second of a run is lost.

use crate::common::{program, split_args, start};
use crate::scene::Scene;
use fathom_store::Store;
use fathom_testkit::Need;
use fathom_testkit::{DeviceOptions, FaultDevice, Op, Scratch, monotonic_ns};
use rustix::process::Signal;
use std::time::{Duration, Instant};

pub const SCENES: &[Scene] = &[
    Scene::check(
        "a killed run loses at most a second",
        &[Need::Fuse],
        a_killed_run_loses_at_most_a_second,
    ),
    Scene::check(
        "a killed sweep loses at most a second",
        &[Need::Fuse],
        a_killed_sweep_loses_at_most_a_second_of_its_running_cell,
    ),
    Scene::check(
        "a killed run of rare I/Os loses at most a second",
        &[Need::Fuse],
        a_killed_run_of_rare_ios_loses_at_most_a_second,
    ),
];

/// Kills a run and checks that at most one second of it is lost. The design loses half a second.
fn check_loss(line: &str, (ios, min_delay, max_delay): (usize, u64, u64)) -> Result<(), String> {
    let scratch = Scratch::new().expect("a directory");
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    let line = line.replace("DEVICE", &device.path().display().to_string());
    let job = "[paced]\nioengine=psync\nsize=32m\nrw=randread\nbs=12k\nnorandommap\nrate_iops=200\ntime_based\nruntime=60\n";
    std::fs::write(
        scratch.join("paced.fio"),
        format!("{job}filename={}\n", device.path().display()),
    )
    .expect("a file");
    let mut rng = TestRng(monotonic_ns());
    let delay = Duration::from_millis(min_delay + rng.below(max_delay - min_delay));
    let lost = measure_loss(&scratch, &device, &line, (ios, delay))?;
    if lost <= 1.0 {
        Ok(())
    } else {
        Err(format!("{lost:.2} s are lost"))
    }
}

/// Starts `line` on `device`, waits for `ios` I/Os and then for `time`, kills the program, and
/// returns the age in seconds of the oldest I/O that the device completed and the store lacks. The
/// device's own log is the reference, so that neither the start of the program nor a late kill
/// matters.
fn measure_loss(
    scratch: &Scratch,
    device: &FaultDevice,
    line: &str,
    (ios, time): (usize, Duration),
) -> Result<f64, String> {
    device.clear_log();
    let done = || -> Vec<u64> {
        let reads = device
            .log()
            .into_iter()
            .filter(|entry| entry.op == Op::Read && entry.len == BLOCK);
        reads.map(|entry| entry.end_ns).collect()
    };
    let running = start(command(scratch, line));
    let waiting = Instant::now();
    while done().len() < ios {
        if waiting.elapsed() > Duration::from_secs(20) {
            return Err(format!("{} I/Os in 20 s", done().len()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(time);
    let now = monotonic_ns();
    running.signal(Signal::KILL);
    drop(running.finish());
    let mut store = Store::open_existing(&scratch.join("store.db")).expect("a store");
    store.check().expect("it is consistent");
    let run = store.run("latest").expect("it was started").id;
    let jobs = store.journal(run, 1).expect("readable");
    let stored_ios: u64 = jobs
        .iter()
        .flatten()
        .map(|interval| interval.directions.0[0].ios)
        .sum();
    store.remove(run).expect("our own file");
    let mut done = done();
    done.sort_unstable();
    assert!(
        stored_ios <= done.len() as u64,
        "{stored_ios} I/Os are stored of {}",
        done.len()
    );
    Ok(done
        .get(stored_ios as usize)
        .map_or(0.0, |first| now.saturating_sub(*first) as f64 / 1e9))
}

/// A seeded random number generator (splitmix64).
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

fn command(scratch: &Scratch, line: &str) -> std::process::Command {
    let mut command = program(split_args(line));
    command
        .current_dir(scratch.path())
        .env("FATHOM_STORE", scratch.join("store.db"));
    command
}

/// Block size of the load; no other reads of the device have it.
const BLOCK: u64 = 12 << 10;

fn a_killed_run_loses_at_most_a_second() -> Result<(), String> {
    let line = "run --name=x --filename=DEVICE --ioengine=psync --size=32m --rw=randread --bs=12k --norandommap --rate_iops=200 --time_based --runtime=60";
    check_loss(line, (150, 0, 1000))
}

fn a_killed_sweep_loses_at_most_a_second_of_its_running_cell() -> Result<(), String> {
    check_loss("sweep paced.fio --axis iodepth=1,2", (150, 0, 1000))
}

/// Few I/Os with long pauses: each is stored long before the next one.
fn a_killed_run_of_rare_ios_loses_at_most_a_second() -> Result<(), String> {
    let line = "run --name=x --filename=DEVICE --ioengine=psync --size=32m --rw=randread --bs=12k --norandommap --thinktime=1500ms --time_based --runtime=60";
    check_loss(line, (2, 1100, 1400))
}
