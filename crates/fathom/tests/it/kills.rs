//! SIGKILL at any time: the store opens, no finished cell is lost, and resuming completes the sweep.
//!
//! `FATHOM_STORE_KILLS=1000` runs the long form. How much of a running cell is lost, `cargo xtask measure` says.
#![allow(clippy::print_stderr, reason = "the long form prints what it measured")]

use crate::common;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::common::{program, split_args, start};
use fathom_store::{CellContent, CellState, Store};
use fathom_testkit::{DeviceOptions, FaultDevice, Op, Scratch, require};
use rustix::process::Signal;
use serde_json::Value;

const CELLS: usize = 12;

/// The number of kills, from the environment in the long form.
fn kills(short: u64) -> u64 {
    std::env::var("FATHOM_STORE_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(short)
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

/// Cells that the events of a session report as done.
fn done_cells(events: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(events).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|event| event["event"] == "done")
        .filter_map(|event| Some(event["cell"].as_str()?.to_owned()))
        .collect()
}

/// Finished cells by name, with their start time; each recording must be readable.
fn finished(store_path: &Path) -> BTreeMap<String, u64> {
    let Ok(mut store) = Store::open_existing(store_path) else {
        return BTreeMap::new();
    };
    store.check().expect("it is consistent");
    let Ok(run) = store.run("latest").map(|run| run.id) else {
        return BTreeMap::new();
    };
    let cells = store.cells(run).expect("readable");
    let done = cells
        .iter()
        .filter(|cell| cell.state == CellState::Finished);
    done.map(|cell| {
        assert!(
            matches!(
                store.content(run, cell.position),
                Ok(CellContent::Recording(_))
            ),
            "{} is complete",
            cell.position
        );
        let name = cell
            .axes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" ");
        (name, cell.started_unix_ns)
    })
    .collect()
}

/// A sweep is killed, resumed and killed again until it completes; then the next one starts.
#[test]
fn a_sweep_that_is_killed_repeatedly_completes() {
    let scratch = Scratch::new().expect("a directory");
    let job = "[paced]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\nrate_iops=2000\ntime_based\nruntime=100ms\n";
    std::fs::write(scratch.join("paced.fio"), job).expect("a file");
    let (store_path, events) = (scratch.join("store.db"), scratch.join("events"));
    let seed = u64::from(std::process::id());
    let mut rng = TestRng(seed);
    let sweep_line =
        format!("sweep paced.fio --axis iodepth=1..{CELLS} --set=runtime=100ms --events=events");
    let (mut killed, target) = (0, kills(8));
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    while killed < target {
        let stored =
            Store::open_existing(&store_path).is_ok_and(|mut store| store.run("latest").is_ok());
        let running = start(command(
            &scratch,
            if stored {
                "resume --events=events"
            } else {
                &sweep_line
            },
        ));
        std::thread::sleep(Duration::from_micros(rng.below(900_000)));
        // It may have exited already.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(running.id() as i32).expect("a number"),
            Signal::KILL,
        );
        let ran = running.finish();
        killed += 1;
        let now = finished(&store_path);
        for (cell, start) in &known {
            assert_eq!(
                now.get(cell),
                Some(start),
                "{cell} was finished (seed {seed}, kill {killed})"
            );
        }
        for cell in done_cells(&events) {
            assert!(
                now.contains_key(&cell),
                "{cell} was reported as done (seed {seed}, kill {killed})"
            );
        }
        let _ = std::fs::remove_file(&events);
        known = now;
        if ran.code() >= 0 && known.len() == CELLS {
            known.clear();
            std::fs::remove_file(&store_path).expect("our own file");
            for end in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(scratch.join(format!("store.db{end}")));
            }
        }
    }
    let stored =
        Store::open_existing(&store_path).is_ok_and(|mut store| store.run("latest").is_ok());
    start(command(
        &scratch,
        if stored { "resume" } else { &sweep_line },
    ))
    .finish();
    assert_eq!(finished(&store_path).len(), CELLS, "resuming completes");
}

/// Block size of the load; no other reads of the device have it.
const BLOCK: u64 = 12 << 10;

/// What the store had of the running job is still there, and nothing that the device did not do.
#[test]
fn a_killed_run_keeps_what_was_stored() {
    require!(Fuse);
    let scratch = Scratch::new().expect("a directory");
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    let line = "run --name=x --ioengine=psync --size=32m --rw=randread --bs=12k --norandommap --rate_iops=200 --time_based --runtime=60";
    let mut run = command(&scratch, line);
    run.arg(common::filename_arg(&device.path()));
    let stored_ios = || {
        let mut store = Store::open_existing(&scratch.join("store.db")).ok()?;
        let run = store.run("latest").ok()?.id;
        let jobs = store.journal(run, 1).ok()?;
        let intervals = jobs.iter().flatten();
        Some(intervals.map(|one| one.directions.0[0].ios).sum::<u64>())
    };
    let mut before = 0;
    let running = start(run).wait_until("something is stored", || {
        before = stored_ios().unwrap_or(0);
        before > 0
    });
    running.signal(Signal::KILL);
    drop(running.finish());
    let mut store = Store::open_existing(&scratch.join("store.db")).expect("a store");
    store.check().expect("it is consistent");
    let reads = device.log().into_iter();
    let done = reads
        .filter(|one| one.op == Op::Read && one.len == BLOCK)
        .count() as u64;
    let after = stored_ios().expect("the run");
    assert!(before <= after && after <= done, "{before} {after} {done}");
}

/// Regression 0428: a killed write job left no verify state, and the blocks that it had never written were reported as zeroed.
/// The state is saved while the run lasts: what it lists is checked, and the rest is unknown.
#[test]
fn a_killed_write_job_leaves_its_verify_state() {
    require!(Fuse);
    for (method, engine) in [
        ("fathom", "--ioengine=psync"),
        ("fathom", "--ioengine=io_uring --iodepth=8"),
        ("crc32c", "--ioengine=psync"),
    ] {
        let device = FaultDevice::mount(DeviceOptions {
            size: 16 << 20,
            ..DeviceOptions::default()
        })
        .expect("a fault device");
        let scratch = Scratch::new().expect("a directory");
        let job = format!(
            "--name=x --bs=4k --direct=1 --verify={method} --rw=randwrite {engine} --size=16m"
        );
        let mut write = command(&scratch, &format!("run {job} --rate_iops=1000"));
        write
            .arg(common::filename_arg(&device.path()))
            .arg(format!("--destroy={}", common::device_code(&device.path())));
        let running = start(write);
        common::wait_until("1500 writes", || writes(&device) >= 1500);
        running.signal(Signal::KILL);
        running.finish();
        let written = writes(&device);

        let check = |corrupt: bool| {
            if corrupt {
                let first = device.log().into_iter().find(|entry| entry.op == Op::Write);
                let offset = first.expect("a write").offset;
                let fault = fathom_testkit::Fault::BitFlip {
                    offset: offset + 2000,
                    mask: 1,
                };
                device.inject(fault);
            }
            let mut check = command(
                &scratch,
                &format!(
                    "run {job} --verify_only=1 --continue_on_error=verify --output-format=json"
                ),
            );
            check.arg(common::filename_arg(&device.path()));
            start(check).finish()
        };
        let json = check(false).json();
        let count = |name: &str| json.number(&format!("/fathom/entries/0/verify/{name}")) as u64;
        assert_eq!(
            count("bad_blocks"),
            0,
            "{method} {engine}: {:#}",
            json.0["fathom"]
        );
        let checked = count("planned_blocks");
        // Some time after the start a state is written, and then again and again.
        assert!(
            checked <= written && checked > 300,
            "{method} {engine}: {checked} of {written} checked"
        );
        assert_eq!(checked + count("unknown_blocks"), 4096, "{method} {engine}");
        let json = check(true).json();
        assert_eq!(
            json.number("/fathom/entries/0/verify/bad_blocks"),
            1.0,
            "{method} {engine}"
        );
    }
}

/// Writes that the device completed.
fn writes(device: &FaultDevice) -> u64 {
    device
        .log()
        .iter()
        .filter(|entry| entry.op == Op::Write)
        .count() as u64
}

/// One read a second: every half second a part of the interval that lasts goes to the journal, and the whole interval replaces it. A
/// run that is killed has each read once: of 1 s at most the first one, of 2 s two.
#[test]
fn a_read_of_a_killed_run_is_counted_once() {
    let scratch = Scratch::new().expect("a directory");
    let store_path = scratch.join("store.db");
    let line = "run --name=x --ioengine=null --rw=randread --bs=4k --size=1g --rate_iops=1 --time_based --runtime=60 --quiet";
    // What the journal has: the ends of its intervals.
    let recorded_ns = || {
        let mut store = Store::open_existing(&store_path).ok()?;
        let run = store.run("latest").ok()?.id;
        let jobs = store.journal(run, 1).ok()?;
        let ends = jobs.iter().flatten().map(|one| one.start + one.length);
        ends.max().map(fathom_model::Nanos::get)
    };
    let running = start(command(&scratch, line)).wait_until("3 s are in the journal", || {
        recorded_ns().is_some_and(|end| end >= 3_000_000_000)
    });
    let process = rustix::process::Pid::from_raw(running.id() as i32).expect("a number");
    rustix::process::kill_process(process, Signal::KILL).expect("it runs");
    drop(running.finish());
    let shown = start(command(&scratch, "show r1 --json")).finish().json();
    // One is due at the start and one at the end of each second.
    let most = (shown.number("/fathom/elapsed_ns") / 1e9).floor() + 1.0;
    let ios = shown.count("ok_ios") as f64;
    assert!((3.0..=most).contains(&ios), "{ios} of at most {most}");
}
