//! Detectors on simulated machines: each fires in a scene with its cause, and states the size of the cause as the machine file has it;
//! it is silent in one without the cause, and in one just below its limit.

use std::fmt::Write;

use fathom_testkit::Scratch;

use crate::common::{Json, program, split_args, start};

mod host;
mod load;
mod target;

/// What a run on a simulated machine must say.
struct Scene {
    /// The model of /dev/a.
    model: &'static str,
    /// Events of the machine, each `key = value` separated by commas.
    events: &'static [&'static str],
    /// Options of the load beside those of every scene.
    load: &'static str,
    /// What the evidence contains, or that there is no such finding.
    evidence: Option<&'static str>,
}

/// Eight servers: at most 8,000 per second, and 1 ms for each I/O.
const EIGHT_SERVERS: &str = "servers(count=8, service=1ms)";
/// One server: 1,000 per second.
const ONE_SERVER: &str = "servers(count=1, service=1ms)";

/// Runs one scene.
fn run(scene: &Scene) -> Json {
    run_on(
        scene.model,
        scene.events,
        &format!("--no-probe --ioengine=libaio {}", scene.load),
    )
}

/// A log of 400 reads, one every 5 ms: `--read_iolog=trace`.
fn trace() -> String {
    let mut trace = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n".to_owned();
    for number in 0..400 {
        let (at_us, offset) = (number * 5_000, number * 4096);
        let _ = writeln!(trace, "{at_us} /dev/a read {offset} 4096");
    }
    trace + "2000000 /dev/a close\n"
}

/// Runs a load on a machine with one device of this model, and with these events; `cpu_per_io` is one of the machine. Options before a `--name` of the load belong to the
/// job x.
pub fn run_on(model: &str, events: &[&str], load: &str) -> Json {
    let directory = Scratch::new().expect("a directory");
    // What is said of the machine itself comes first.
    let (machine, events): (Vec<&str>, Vec<&str>) = events
        .iter()
        .partition(|line| line.starts_with("cpu_per_io"));
    let mut machine = format!(
        "{}\n[[device]]\npath = \"/dev/a\"\nmodel = \"{model}\"\nscratch = true\n",
        machine.concat()
    );
    for event in events {
        machine += &format!("\n[[event]]\n{}\n", event.replace(", ", "\n"));
    }
    std::fs::write(directory.join("machine.toml"), machine).expect("a machine");
    std::fs::write(directory.join("trace"), trace()).expect("a log");
    let line = format!(
        "run --filename=/dev/a --direct=1 --bs=4k --rw=randread --norandommap --time_based --json --no-store \
         --machine=machine.toml --name=x {load}"
    );
    let mut command = program(split_args(&line));
    command.current_dir(directory.path());
    let ran = start(command).finish();
    // Failed I/Os have an exit code of their own; what the run says of them is judged here.
    assert!(!ran.out.is_empty(), "{}", ran.err);
    ran.json()
}

/// Checks the scenes of one finding: at least one in which it fires, one without the cause, and one just below the limit.
fn check(code: &str, scenes: &[Scene]) {
    let fires = scenes.iter().filter(|scene| scene.evidence.is_some());
    let fires = fires.count();
    assert!(fires >= 1 && scenes.len() - fires >= 2, "{code}");
    for (number, scene) in scenes.iter().enumerate() {
        let json = run(scene);
        match (scene.evidence, json.finding(code)) {
            (Some(expected), Some(found)) => {
                assert!(found.contains(expected), "{code} {number}: {found}");
            }
            (None, None) => {}
            (_, found) => panic!(
                "{code} {number}: {found:?} in {:#}",
                json.0["fathom"]["findings"]
            ),
        }
    }
}

const PACED: &str = "--rate_iops=200 --iodepth=8 --runtime=4";

fn paced(events: &'static [&'static str], evidence: Option<&'static str>) -> Scene {
    Scene {
        model: EIGHT_SERVERS,
        events,
        load: PACED,
        evidence,
    }
}

fn closed(events: &'static [&'static str], evidence: Option<&'static str>) -> Scene {
    Scene {
        model: EIGHT_SERVERS,
        events,
        load: "--iodepth=8 --runtime=6",
        evidence,
    }
}
