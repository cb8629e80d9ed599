//! Detectors on simulated machines: each fires in a scene with its cause, and states the size of the cause as the machine file has it;
//! it is silent in one without the cause, and in one just below its limit.

use fathom_testkit::Scratch;

use crate::common::{Json, program, split_args, start};

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

/// Runs a load on a machine with one device of this model, and with these events.
pub fn run_on(model: &str, events: &[&str], load: &str) -> Json {
    let directory = Scratch::new().expect("a directory");
    let mut machine =
        format!("[[device]]\npath = \"/dev/a\"\nmodel = \"{model}\"\nscratch = true\n");
    for event in events {
        machine += &format!("\n[[event]]\n{}\n", event.replace(", ", "\n"));
    }
    std::fs::write(directory.join("machine.toml"), machine).expect("a machine");
    let line = format!(
        "run --name=x --filename=/dev/a --direct=1 --bs=4k --rw=randread --norandommap --time_based --json --no-store \
         --machine=machine.toml {load}"
    );
    let mut command = program(split_args(&line));
    command.current_dir(directory.path());
    let ran = start(command).finish();
    // Failed I/Os have an exit code of their own; what the run says of them is judged here.
    assert!(!ran.out.is_empty(), "{}", ran.err);
    ran.json()
}

/// Checks the scenes of one finding.
fn check(code: &str, scenes: &[Scene]) {
    let present = scenes.iter().filter(|scene| scene.evidence.is_some());
    assert!(present.count() >= 1 && scenes.len() >= 3, "{code}");
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

/// An I/O is due every 5 ms. Of a stop of 28 ms, five I/Os are more than 5 ms late (28, 23, 18, 13 and 8), of one of 25 ms four, and five
/// is the limit.
#[test]
fn a_stopped_generator() {
    check(
        "GENERATOR_STALL",
        &[
            paced(
                &["at = '1s', stop_generator = '50ms'"],
                Some("fell behind by up to 50.0 ms"),
            ),
            paced(
                &["at = '1s', stop_generator = '90ms'"],
                Some("Its watchdog woke 90.0 ms late at 1.00 s of the run."),
            ),
            paced(
                &["at = '1s', stop_generator = '28ms'"],
                Some("fell behind by up to 28.0 ms; 5 I/Os were submitted more than 5.00 ms late"),
            ),
            paced(&["at = '1s', stop_generator = '25ms'"], None),
            paced(&[], None),
            // The target is slow, not the generator.
            paced(
                &["at = '1s', stall_device = '/dev/a', lasts = '90ms'"],
                None,
            ),
        ],
    );
}

/// The queue has one slot, so that what becomes due during a stall of the device waits. An I/O is due every 5 ms: more than 10 ms late are
/// 18 of a stall of 100 ms, and those that wait behind them. One in a hundred is the limit.
#[test]
fn late_submission() {
    let scene = |events, evidence| Scene {
        model: EIGHT_SERVERS,
        events,
        load: "--rate_iops=200 --iodepth=1 --runtime=4",
        evidence,
    };
    check(
        "LATE_ISSUE",
        &[
            scene(
                &["at = '1s', stall_device = '/dev/a', lasts = '100ms'"],
                Some("the queue depth of 1 was exhausted"),
            ),
            scene(
                &["at = '1s', stall_device = '/dev/a', lasts = '40ms'"],
                None,
            ),
            scene(&[], None),
            // That the generator stopped is another finding.
            paced(&["at = '1s', stop_generator = '90ms'"], None),
        ],
    );
}

/// The I/Os in service at the begin of the stall complete 1 ms after its end: a stall of 499 ms is half a second without a completion.
#[test]
fn a_stalled_target() {
    check(
        "TARGET_STALLED",
        &[
            closed(
                &["at = '1s', stall_device = '/dev/a', lasts = '700ms'"],
                Some("Nothing completed for 701 ms from 1.00 s of the run on"),
            ),
            closed(
                &["at = '2s', stall_device = '/dev/a', lasts = '499ms'"],
                Some("Nothing completed for 500 ms from 2.00 s of the run on"),
            ),
            closed(
                &["at = '2s', stall_device = '/dev/a', lasts = '498ms'"],
                None,
            ),
            closed(&[], None),
            // A generator that stops is not a target that does.
            closed(&["at = '1s', stop_generator = '700ms'"], None),
        ],
    );
}

/// 3 of 6 s are half of the time: 1.2 % of them are 0.6 %, 0.8 % are 0.4 %, and half a per cent is the limit.
#[test]
fn stolen_cpu_time() {
    check(
        "STEAL",
        &[
            closed(
                &["at = '1s', steal_cpu = '20%', lasts = '3s'"],
                Some("Steal 10 % of CPU time"),
            ),
            closed(
                &["at = '1s', steal_cpu = '1.2%', lasts = '3s'"],
                Some("Steal 0.6 % of CPU time"),
            ),
            closed(&["at = '1s', steal_cpu = '0.8%', lasts = '3s'"], None),
            closed(&[], None),
        ],
    );
}

/// `slow_cpu` is the speed that is left of 3,000 MHz; a fall by a fifth is the limit.
#[test]
fn slowed_cpus() {
    check(
        "CPU_SLOWED",
        &[
            closed(
                &["at = '2s', slow_cpu = '25%', lasts = '8s'"],
                Some("3000 MHz in the first quarter and at 750 MHz in the last, 75 % slower"),
            ),
            closed(
                &["at = '2s', slow_cpu = '79%', lasts = '8s'"],
                Some("21 % slower"),
            ),
            closed(&["at = '2s', slow_cpu = '81%', lasts = '8s'"], None),
            closed(&[], None),
        ],
    );
}

/// Two per cent of four seconds are 80 ms, 1.3 % of the run; one per cent is the limit.
#[test]
fn memory_pressure() {
    check(
        "MEMORY_PRESSURE",
        &[
            closed(
                &["at = '1s', memory_pressure = '2%', lasts = '4s'"],
                Some("waited for memory for 80.0 ms of the run (1.3 %)"),
            ),
            closed(&["at = '1s', memory_pressure = '1.4%', lasts = '4s'"], None),
            closed(&[], None),
        ],
    );
}

/// A step of 50 ms is the limit; one backwards is one too.
#[test]
fn a_step_of_the_wall_clock() {
    check(
        "WALL_CLOCK_STEPPED",
        &[
            closed(
                &["at = '1s', step_clock = '60ms'"],
                Some("The wall clock stepped by +60.0 ms"),
            ),
            closed(
                &["at = '1s', step_clock = '60ms', back = true"],
                Some("The wall clock stepped by -60.0 ms"),
            ),
            closed(&["at = '1s', step_clock = '49ms'"], None),
            closed(&[], None),
        ],
    );
}

/// The other program reads as often as the run, 2,000 times per second for six seconds; a quarter more than the jobs requested is the limit.
#[test]
fn reads_of_another_program() {
    let scene = |events, evidence| Scene {
        model: EIGHT_SERVERS,
        events,
        load: "--iodepth=2 --runtime=6",
        evidence,
    };
    check(
        "FOREIGN_IO",
        &[
            scene(
                &["at = '0s', foreign_reads = '/dev/a', lasts = '6s', iops = 2000"],
                Some("50 % of the bytes read on a were not from this run"),
            ),
            scene(
                &["at = '0s', foreign_reads = '/dev/a', lasts = '6s', iops = 10"],
                None,
            ),
            scene(&[], None),
        ],
    );
}

/// One server does 1,000 per second.
#[test]
fn a_rate_that_is_not_reached() {
    let scene = |load, evidence| Scene {
        model: ONE_SERVER,
        events: &[],
        load,
        evidence,
    };
    check(
        "RATE_NOT_REACHED",
        &[
            scene(
                "--rate_iops=1100 --iodepth=4 --runtime=4",
                Some("Planned 1,100 reads per second, achieved 1,000 (91 %)"),
            ),
            scene("--rate_iops=1000 --iodepth=4 --runtime=4", None),
            scene("--rate_iops=990 --iodepth=4 --runtime=4", None),
            scene("--iodepth=4 --runtime=4", None),
        ],
    );
}

/// The hundredth I/O fails; without `continue_on_error` it ends the job.
#[test]
fn a_failed_io() {
    let scene = |events, load, evidence| Scene {
        model: EIGHT_SERVERS,
        events,
        load,
        evidence,
    };
    check(
        "IO_ERROR",
        &[
            scene(
                &["at = '0s', fail_io = '/dev/a', number = 100"],
                "--iodepth=4 --runtime=2",
                Some("1 of 100 I/Os failed"),
            ),
            scene(
                &["at = '0s', fail_io = '/dev/a', number = 100"],
                "--iodepth=4 --runtime=2 --continue_on_error=io",
                Some("1 of 8,000 I/Os failed"),
            ),
            scene(
                &["at = '0s', fail_io = '/dev/a', number = 9000"],
                "--iodepth=4 --runtime=2",
                None,
            ),
            scene(&[], "--iodepth=4 --runtime=2", None),
        ],
    );
}

/// From 1 s on nothing completes: the four I/Os in flight never do.
#[test]
fn ios_that_never_complete() {
    check(
        "TIMED_OUT",
        &[
            Scene {
                model: EIGHT_SERVERS,
                events: &["at = '1s', hang_device = '/dev/a'"],
                load: "--iodepth=4 --runtime=2",
                evidence: Some("4 of 4,004 I/Os never completed"),
            },
            // What takes 20 s, which is less than the 30 s after which a run gives up, has completed.
            Scene {
                model: EIGHT_SERVERS,
                events: &["at = '1s', stall_device = '/dev/a', lasts = '20s'"],
                load: "--iodepth=4 --runtime=2",
                evidence: None,
            },
            closed(&[], None),
        ],
    );
}

/// Regression 1462: an I/O that hung left the sentence that a quarter of the time passed in this program.
#[test]
fn a_hung_io_is_not_time_of_this_program() {
    let scene = |events, load| Scene {
        model: EIGHT_SERVERS,
        events,
        load,
        evidence: None,
    };
    let silent = [
        scene(
            &["at = '0s', hang_io = '/dev/a', number = 100"],
            "--iodepth=4 --runtime=2",
        ),
        scene(
            &["at = '1s', hang_device = '/dev/a'"],
            "--iodepth=4 --runtime=2",
        ),
        scene(&[], "--iodepth=4 --runtime=2"),
    ];
    for scene in &silent {
        let json = run(scene);
        assert_eq!(json.finding("LITTLE_DISAGREES"), None);
    }
}

/// Regression 1467: four I/Os that began in the ramp and hung until 1.5 s count with a second each, so that five seemed to be in flight
/// of four, and the result was not valid.
#[test]
fn ios_of_the_ramp_do_not_contradict_the_depth() {
    let scene = Scene {
        model: EIGHT_SERVERS,
        events: &["at = '0.5s', stall_device = '/dev/a', lasts = '1s'"],
        load: "--iodepth=4 --ramp_time=1 --runtime=2",
        evidence: None,
    };
    let json = run(&scene);
    assert!(json.number("/fathom/entries/0/littles_law/in_flight") > 4.9);
    assert_eq!(json.finding("LITTLE_DISAGREES"), None);
}

/// 30,000 I/Os are in the bucket: the load takes 8,000 per second and 1,000 per second flow in, so that it is empty after 30,000 / 7,000
/// = 4.29 s.
#[test]
fn an_empty_token_bucket() {
    let scene = |events, load, evidence| Scene {
        model: EIGHT_SERVERS,
        events,
        load,
        evidence,
    };
    check(
        "BURST_ENDED",
        &[
            scene(
                &["at = '0s', limit_io = '/dev/a', lasts = '60s', iops = 1000, burst = 30000"],
                "--iodepth=8 --runtime=30",
                Some("The burst holds for 4.29 s; after that 1,000 IOPS."),
            ),
            // The bucket holds out.
            scene(
                &["at = '0s', limit_io = '/dev/a', lasts = '60s', iops = 1000, burst = 300000"],
                "--iodepth=8 --runtime=30",
                None,
            ),
            scene(&[], "--iodepth=8 --runtime=30", None),
        ],
    );
}

/// A volume of 200 per second in front of servers that could do 40,000. A device of that rate does not vary either, and of 9 per second
/// the 180 of a run are too few.
#[test]
fn a_ceiling_of_the_volume() {
    let scene = |model, evidence| Scene {
        model,
        events: &[],
        load: "--iodepth=4 --runtime=20",
        evidence,
    };
    check(
        "SMOOTH_CEILING",
        &[
            scene(
                "limit(servers(count=8, service=200us), iops=200)",
                Some("All parts of the run have the same rate, 200 IOPS"),
            ),
            scene("servers(count=1, service=5ms)", None),
            scene("limit(servers(count=8, service=200us), iops=9)", None),
        ],
    );
}

/// A limit of a control group is known to the host; 90 % of it is the limit of the finding.
#[test]
fn a_limit_that_the_host_knows() {
    let scene = |load, evidence| Scene {
        model: EIGHT_SERVERS,
        events: &["at = '0s', limit_io = '/dev/a', lasts = '60s', iops = 1000"],
        load,
        evidence,
    };
    check(
        "CEILING_REACHED",
        &[
            scene(
                "--iodepth=8 --runtime=10",
                Some("100 % of the 1,000 I/Os that the control group of this process allows"),
            ),
            scene("--iodepth=8 --runtime=10 --rate_iops=890", None),
            closed(&[], None),
            // What the host does not know is not claimed to be known.
            Scene {
                model: EIGHT_SERVERS,
                events: &[
                    "at = '0s', limit_io = '/dev/a', lasts = '60s', iops = 1000, burst = 100",
                ],
                load: "--iodepth=8 --runtime=10",
                evidence: None,
            },
        ],
    );
}

/// Another program takes half of one server for a part of the run: 5 equal parts of it differ by up to half. A fifth of the mean is the
/// limit, and 80 of 1,000 are less.
#[test]
fn a_throughput_that_changes() {
    let scene = |events, evidence| Scene {
        model: ONE_SERVER,
        events,
        load: "--iodepth=1 --runtime=10",
        evidence,
    };
    check(
        "NOT_STEADY",
        &[
            scene(
                &["at = '2s', foreign_reads = '/dev/a', lasts = '3s', depth = 1"],
                Some(
                    "Not in steady state: over five equal parts of the run throughput was between 1.95 MiB/s and 3.91 MiB/s",
                ),
            ),
            scene(
                &["at = '2s', foreign_reads = '/dev/a', lasts = '3s', iops = 80"],
                None,
            ),
            scene(&[], None),
        ],
    );
}
