//! SIGKILL at any moment of the program: the store opens, nothing finished is lost, what was under way lacks its last second
//! at most, and resuming completes.
//!
//! `FATHOM_STORE_KILLS=1000` is the long form.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{program, start, words};
use fathom_store::{CellState, Content, Store};
use fathom_testkit::Scratch;
use rustix::process::Signal;
use serde_json::Value;

const CELLS: usize = 12;

/// How many kills: many where the long form is asked for.
fn kills(short: u64) -> u64 {
    std::env::var("FATHOM_STORE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(short)
}

/// Chance with a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

fn command(scratch: &Scratch, line: &str) -> std::process::Command {
    let mut command = program(words(line));
    command.current_dir(scratch.path()).env("FATHOM_STORE", scratch.join("store.db"));
    command
}

/// Cells that the events of a session call done.
fn told(events: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(events).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|event| event["event"] == "done").filter_map(|event| Some(event["cell"].as_str()?.to_owned())).collect()
}

/// Finished cells by name, with what the moment of their start was; each recording must be readable.
fn finished(place: &Path) -> BTreeMap<String, u64> {
    let Ok(mut store) = Store::open_existing(place) else { return BTreeMap::new() };
    store.check().expect("it is sound");
    let Ok(run) = store.run("latest").map(|run| run.id) else { return BTreeMap::new() };
    let cells = store.cells(run).expect("readable");
    let done = cells.iter().filter(|cell| cell.state == CellState::Finished);
    done.map(|cell| {
        assert!(matches!(store.content(run, cell.position), Ok(Content::Recording(_))), "{} is whole", cell.position);
        let name = cell.axes.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        (name, cell.started_unix_ns)
    })
    .collect()
}

/// A sweep is killed, and resumed and killed again, until it is through; then the next.
#[test]
fn a_sweep_that_is_killed_again_and_again_comes_to_its_end() {
    let scratch = Scratch::new().expect("a folder");
    let job = "[paced]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\nrate_iops=2000\ntime_based\nruntime=100ms\n";
    std::fs::write(scratch.join("paced.fio"), job).expect("a file");
    let (place, events) = (scratch.join("store.db"), scratch.join("events"));
    let seed = u64::from(std::process::id());
    let mut dice = Dice(seed);
    let begin = format!("sweep paced.fio --axis iodepth=1..{CELLS} --set=runtime=100ms --events=events");
    let (mut killed, wanted) = (0, kills(8));
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    while killed < wanted {
        let begun = Store::open_existing(&place).is_ok_and(|mut store| store.run("latest").is_ok());
        let running = start(command(&scratch, if begun { "resume --events=events" } else { &begin }));
        std::thread::sleep(Duration::from_micros(dice.below(900_000)));
        // It may have come to its end before.
        let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(running.id() as i32).expect("a number"), Signal::KILL);
        let ran = running.finish();
        killed += 1;
        let now = finished(&place);
        for (cell, start) in &known {
            assert_eq!(now.get(cell), Some(start), "{cell} was finished (seed {seed}, kill {killed})");
        }
        for cell in told(&events) {
            assert!(now.contains_key(&cell), "{cell} was told as done (seed {seed}, kill {killed})");
        }
        let _ = std::fs::remove_file(&events);
        known = now;
        if ran.code() >= 0 && known.len() == CELLS {
            known.clear();
            std::fs::remove_file(&place).expect("ours");
            for end in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(scratch.join(format!("store.db{end}")));
            }
        }
    }
    let begun = Store::open_existing(&place).is_ok_and(|mut store| store.run("latest").is_ok());
    start(command(&scratch, if begun { "resume" } else { &begin })).finish();
    assert_eq!(finished(&place).len(), CELLS, "resuming completes");
}

/// What `fathom run` measured until it was killed, but for the last second; in a test that shares the machine, three.
#[test]
fn a_killed_run_lacks_its_last_second_at_most() {
    const RATE: f64 = 1000.0;
    let scratch = Scratch::new().expect("a folder");
    let line = "run --name=x --ioengine=null --size=1g --rw=randread --bs=4k --rate_iops=1000 --rate_process=linear --time_based --runtime=60";
    let mut dice = Dice(u64::from(std::process::id()) << 8);
    let (mut worst, mut tried) = (f64::MIN, 0);
    while tried < kills(2).div_ceil(10) {
        let running = start(command(&scratch, line));
        std::thread::sleep(Duration::from_millis(1500 + dice.below(2500)));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
        running.signal(Signal::KILL);
        drop(running.finish());
        let mut store = Store::open_existing(&scratch.join("store.db")).expect("a store");
        store.check().expect("it is sound");
        let run = store.run("latest").expect("it began").id;
        let began = store.cells(run).expect("readable")[0].started_unix_ns;
        let kept: u64 = store.journal(run, 1).expect("readable").iter().flatten().map(|interval| interval.directions.0[0].ios).sum();
        worst = worst.max((now - began) as f64 / 1e9 - kept as f64 / RATE);
        tried += 1;
        store.remove(run).expect("ours");
    }
    eprintln!("{tried} kills of a run: {worst:.2} s lost at most, its start included");
    assert!(worst < 3.0, "{worst} s");
}
