//! What happens at the target, and what limits it.

use super::{EIGHT_SERVERS, ONE_SERVER, Scene, check, closed, paced, run};

/// The queue has one slot, so that what becomes due during a stall of the device waits. An I/O is due every 5 ms: more than 10 ms late are
/// 18 of a stall of 100 ms, and those that wait behind them. One in a hundred, 8 of 800, is the limit: after a stall of 43 ms the first one
/// is 43 + 1 - 5 = 39 ms late and each later one 4 ms less, so that the eighth is 11 ms late; after one of 42 ms it is 10 ms late.
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
                &["at = '1s', stall_device = '/dev/a', lasts = '43ms'"],
                Some(
                    "8 I/Os (1.0 %) were submitted more than 10.0 ms after their due time, up to 39.0 ms",
                ),
            ),
            scene(
                &["at = '1s', stall_device = '/dev/a', lasts = '42ms'"],
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

/// The other program reads as often as the run, 2,000 times per second for six seconds; a quarter more than the jobs requested is the limit,
/// or a tenth of the time with one of its I/Os in flight, which are 100 per second of 1 ms.
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
                &["at = '0s', foreign_reads = '/dev/a', lasts = '6s', iops = 100"],
                Some(
                    "600 reads on a were not from this run (100 per second beside 2,000 of the jobs), and took 10 % of its time.",
                ),
            ),
            scene(
                &["at = '0s', foreign_reads = '/dev/a', lasts = '6s', iops = 99"],
                None,
            ),
            scene(&[], None),
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

/// From 1 s on nothing completes: the four I/Os in flight never do. A run gives up 30 s after its runtime, which is at 32 s.
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
            Scene {
                model: EIGHT_SERVERS,
                events: &["at = '1s', stall_device = '/dev/a', lasts = '32s'"],
                load: "--iodepth=4 --runtime=2",
                evidence: Some("4 of 4,004 I/Os never completed"),
            },
            Scene {
                model: EIGHT_SERVERS,
                events: &["at = '1s', stall_device = '/dev/a', lasts = '30s'"],
                load: "--iodepth=4 --runtime=2",
                evidence: None,
            },
            closed(&[], None),
        ],
    );
}

/// A device that reports that its heat slowed it down, as one does that slows down without such a report.
#[test]
fn a_device_that_is_hot() {
    check(
        "TOO_HOT",
        &[
            closed(
                &["at = '1s', overheat_device = '/dev/a', lasts = '2s', speed = '40%'"],
                Some("a reported 2 s of thermal management during the run (1 transition)."),
            ),
            // It becomes hot only after the run.
            closed(
                &["at = '100s', overheat_device = '/dev/a', lasts = '2s', speed = '40%'"],
                None,
            ),
            closed(
                &["at = '1s', stall_device = '/dev/a', lasts = '700ms'"],
                None,
            ),
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
/// = 4.29 s. A burst is at least a tenth faster than what follows: 8,000 are 1.103 times 7,250, and 1.096 times 7,300.
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
            scene(
                &["at = '0s', limit_io = '/dev/a', lasts = '60s', iops = 7250, burst = 7500"],
                "--iodepth=8 --runtime=30",
                Some("The burst holds for 10.00 s; after that 7,250 IOPS."),
            ),
            scene(
                &["at = '0s', limit_io = '/dev/a', lasts = '60s', iops = 7300, burst = 7500"],
                "--iodepth=8 --runtime=30",
                None,
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

/// A volume of 200 per second in front of servers that could do 40,000. A device of that rate does not vary either. 200 I/Os are the least:
/// of 10 per second a run has 204, four of which are in flight at its end, and of 9 per second it has 184.
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
            scene(
                "limit(servers(count=8, service=200us), iops=10)",
                Some("All parts of the run have the same rate, 10 IOPS"),
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
            scene(
                "--iodepth=8 --runtime=10 --rate_iops=910",
                Some("91 % of the 1,000 I/Os that the control group of this process allows"),
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
/// limit. In two of the parts 190 of 1,000 are missing, with a mean of 924: 20.6 % of it. 180 are 19.4 % of 928.
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
                &["at = '0s', foreign_reads = '/dev/a', lasts = '4s', iops = 190"],
                Some("between 3.16 MiB/s and 3.91 MiB/s (21 % of the mean)"),
            ),
            scene(
                &["at = '0s', foreign_reads = '/dev/a', lasts = '4s', iops = 180"],
                None,
            ),
            scene(&[], None),
        ],
    );
}

/// The device accepts nothing for the last 60 ms of each 100 ms: the one I/O that is in flight waits for 60 % of the time, which is the limit,
/// as are ten such pauses, and pauses of 10 ms.
#[test]
fn a_limiter_that_makes_pauses() {
    let scene = |model, load, evidence| Scene {
        model,
        events: &[],
        load,
        evidence,
    };
    let of_60_ms = "faults(servers(count=1, service=100us), stall_every=100ms, stall_time=60ms)";
    check(
        "RATE_LIMITED",
        &[
            scene(
                of_60_ms,
                "--runtime=2",
                Some(
                    "Half of the I/Os took 100 us or less, but 20 I/Os near 60.1 ms account for 60 % of the time",
                ),
            ),
            scene(
                "faults(servers(count=1, service=100us), stall_every=100ms, stall_time=59ms)",
                "--runtime=2",
                None,
            ),
            scene(of_60_ms, "--runtime=1", Some("10 I/Os near 60.1 ms")),
            scene(of_60_ms, "--runtime=900ms", None),
            scene(
                "faults(servers(count=1, service=100us), stall_every=16ms, stall_time=10ms)",
                "--runtime=2",
                Some("125 I/Os near 10.1 ms account for 63 % of the time"),
            ),
            scene(
                "faults(servers(count=1, service=100us), stall_every=16ms, stall_time=9800us)",
                "--runtime=2",
                None,
            ),
            scene("servers(count=1, service=100us)", "--runtime=2", None),
        ],
    );
}

const THREE_SIZES: &str = "--iodepth=4 --runtime=10 --name=b --bs=96k --stonewall --startdelay=1 --iodepth=4 --runtime=10 \
                           --name=c --bs=192k --stonewall --startdelay=1 --iodepth=4 --runtime=10";
const FOUR_SIZES: &str = "--iodepth=4 --runtime=10 --name=b --bs=96k --stonewall --startdelay=1 --iodepth=4 --runtime=10 \
                          --name=c --bs=192k --stonewall --startdelay=1 --iodepth=4 --runtime=10 \
                          --name=d --bs=384k --stonewall --startdelay=1 --iodepth=4 --runtime=10";

/// A volume that counts I/Os of 128 KiB: one of 192 KiB counts twice and one of 384 KiB three times. Each job begins when the volume has a
/// token again. Without the largest size, two limits of 1,000 I/Os and of 93.75 MiB per second explain the rates as well.
#[test]
fn a_limit_that_counts_large_ios_several_times() {
    let scene = |model, load, evidence| Scene {
        model,
        events: &[],
        load,
        evidence,
    };
    let volume = "limit(servers(count=8, service=200us), iops=1000, io_size=128k)";
    let evidence = "The limit counts I/Os of at most 128 KiB, 1,000 per second; a larger one counts several times: \
                    1,000 IOPS of 4 KiB, 1,000 IOPS of 96 KiB, 500 IOPS of 192 KiB, 333 IOPS of 384 KiB.";
    check(
        "CEILING_BY_SIZE",
        &[
            scene(volume, FOUR_SIZES, Some(evidence)),
            scene(volume, THREE_SIZES, None),
            scene(ONE_SERVER, FOUR_SIZES, None),
        ],
    );
}
