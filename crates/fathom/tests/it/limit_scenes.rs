//! What limits a run, on simulated machines whose cause is known by construction: the whole path of `fathom run` with its probes of other
//! depths. How often the diagnosis is right on machines drawn at random, `cargo xtask diagnosis` says.

use fathom_testkit::Scratch;
use serde_json::Value;

use crate::common::{program, split_args, start};
use crate::detector_scenes::run_on;

/// Runs a load and checks the cause that it names, how sure it is, and a part of the sentence.
fn check(
    (model, events): (&str, &[&str]),
    load: &str,
    (cause, certainty): (&str, &str),
    part: &str,
) {
    let json = run_on(model, events, &format!("--runtime=10 {load}"));
    let entry = &json.0["fathom"]["entries"][0];
    let limit = &entry["limit"];
    assert_eq!(
        (&limit["cause"], &limit["certainty"]),
        (&cause.into(), &certainty.into()),
        "{model} {load}: {limit:#}"
    );
    let text = limit["text"].as_str().expect("a text");
    assert!(text.contains(part), "{model} {load}: {text}");
    let claims_a_fact = text.contains(" is the limit") || text.contains(" are the limit");
    assert!(
        !claims_a_fact || certainty == "fact",
        "a likely cause beside a fact, {model} {load}: {text}"
    );
    let unknown = numbers_without_figure(text, entry);
    assert!(
        unknown.is_empty(),
        "{model} {load}: {unknown:?} of '{text}' are not among {:#}",
        limit["figures"]
    );
}

/// The numbers of a sentence that are none of the figures of its result, and are not said by its plan either.
fn numbers_without_figure(text: &str, entry: &Value) -> Vec<String> {
    let figures = entry["limit"]["figures"].as_array().expect("figures");
    let offered = entry["offered_load"].as_str().unwrap_or_default();
    let values: Vec<f64> = figures
        .iter()
        .filter_map(|figure| figure["value"].as_f64())
        .collect();
    fathom_testkit::numbers_without_value(&text.replace(offered, ""), &values)
}

/// One server completes 5,000 per second at every depth; 64 servers complete 8 per 500 us at depth 8 and 16 at depth 16.
#[test]
fn the_depth_and_the_target_are_told_apart() {
    check(
        ("servers(count=1, service=200us)", &[]),
        "--ioengine=libaio --iodepth=8",
        ("target", "fact"),
        "8 in flight reach 5,000 per second at 1.60 ms each",
    );
    check(
        ("servers(count=64, service=500us)", &[]),
        "--ioengine=libaio --iodepth=8",
        ("queue_depth", "fact"),
        "8 in flight reach 16,000 per second at 500 us each, 16 reach",
    );
    // Each job of a synchronous engine has one I/O in flight, whatever iodepth says.
    check(
        ("servers(count=64, service=500us)", &[]),
        "--ioengine=psync --iodepth=64 --numjobs=4 --group_reporting",
        ("queue_depth", "fact"),
        "4 in flight reach 8,000 per second at 500 us each, 8 reach",
    );
}

/// A volume of 3,000 IOPS in front of servers that could do 128,000: of 64 in flight one leaves every 333 us, which is not the time of a
/// whole number of servers of 500 us.
#[test]
fn a_ceiling_is_not_a_depth() {
    check(
        ("limit(servers(count=64, service=500us), iops=3000)", &[]),
        "--ioengine=libaio --iodepth=32",
        ("ceiling", "likely"),
        "A ceiling of about 3,000 per second",
    );
    // One I/O of 200 us in flight could be 5,000 per second: most of the time of each is spent before the server, also where the mean
    // rate is lower because this program did not run for a while.
    check(
        (
            "limit(servers(count=1, service=200us), iops=814)",
            &["at = '3s', stop_generator = '1500ms'"],
        ),
        "--ioengine=libaio --iodepth=1",
        ("ceiling", "likely"),
        "A ceiling of about 814 per second",
    );
}

/// The plan is the limit where the target keeps up with it, also where this program did not run for a short time.
#[test]
fn the_plan_is_the_limit_of_a_target_that_keeps_up() {
    let servers = "servers(count=8, service=1ms)";
    check(
        (servers, &[]),
        "--ioengine=libaio --iodepth=8 --rate_iops=1000",
        ("planned_rate", "fact"),
        "the target keeps up",
    );
    check(
        (servers, &[]),
        "--ioengine=libaio --iodepth=8 --thinktime=5ms",
        ("think_time", "fact"),
        "thinktime=5.00 ms",
    );
}

/// A rate of 6,000 per second: eight servers of 1 ms do it with 16 in flight and not with 4, and four do not with any number.
#[test]
fn a_missed_rate_is_of_the_depth_or_of_the_target() {
    check(
        ("servers(count=8, service=1ms)", &[]),
        "--ioengine=libaio --iodepth=4 --rate_iops=6000",
        ("queue_depth", "fact"),
        "The queue depth is too small",
    );
    check(
        ("servers(count=4, service=1ms)", &[]),
        "--ioengine=libaio --iodepth=16 --rate_iops=6000",
        ("target", "fact"),
        "The target does not reach",
    );
}

/// A stop of this program and one of the target, of 1.5 of 10 s, do not become the limit of a target that is full, but are named with
/// their share. The load ends 8 ms after its 10 s, when the last 32 I/Os of four servers have completed. Where as many I/Os are in flight as there are servers, they are all that could be gained.
#[test]
fn what_stands_still_has_a_share() {
    let stop: &[&str] = &["at = '3s', stop_generator = '1500ms'"];
    let stall: &[&str] = &["at = '3s', stall_device = '/dev/a', lasts = '1500ms'"];
    let four = "servers(count=4, service=1ms)";
    check(
        (four, stop),
        "--ioengine=libaio --iodepth=32",
        ("target", "fact"),
        "This program did not run for 1.50 s of 10.01 s (15 %).",
    );
    check(
        (four, stall),
        "--ioengine=libaio --iodepth=32",
        ("target", "fact"),
        "The target completed nothing for 1.50 s of 10.01 s (15 %).",
    );
    check(
        (four, stall),
        "--ioengine=libaio --iodepth=4",
        ("target_stall", "likely"),
        "The target completed nothing for 1.50 s of 10.00 s (15 %).",
    );
    // Most of the time nothing was done: four servers of 1 ms do 4,000 per second otherwise, and the I/Os of the stop are in one interval.
    check(
        (four, &["at = '3s', stop_generator = '6s'"]),
        "--ioengine=libaio --iodepth=32",
        ("host_cpu", "likely"),
        "Otherwise 32 in flight reach 4,00",
    );
}

/// The limit of a control group is known to the host. What the target does without it was not measured, so that it is no fact: 2 I/Os of
/// 3.2 ms in flight are 625 per second at most, so that a limit of 612 takes 2 %.
#[test]
fn a_limit_of_the_control_group_is_named() {
    check(
        (
            "servers(count=8, service=1ms)",
            &["at = '0s', limit_io = '/dev/a', lasts = '100s', iops = 2000"],
        ),
        "--ioengine=libaio --iodepth=32",
        ("control_group", "likely"),
        "it allows 2,000 reads per second on a",
    );
    check(
        (
            "servers(count=64, service=3200us)",
            &["at = '0s', limit_io = '/dev/a', lasts = '100s', iops = 612"],
        ),
        "--ioengine=libaio --iodepth=2",
        ("not_known", "not_known"),
        "allows 612 reads per second on a, and 2 in flight reach 625 per second at most",
    );
    // 16 I/Os of 1.6 ms in flight are 10,000 per second, so that a limit of 10,024 is not reached.
    check(
        (
            "servers(count=32, service=1600us)",
            &["at = '0s', limit_io = '/dev/a', lasts = '100s', iops = 10024"],
        ),
        "--ioengine=libaio --iodepth=16",
        ("not_known", "not_known"),
        "allows 10,024 reads per second on a, and 16 in flight reach 10,00",
    );
}

/// One server of 200 us does 5,000 per second and keeps up with 2,896 until it stands still for 4 s: all that waits afterwards waits because
/// of that. A ceiling of 9,316 takes 7 % of what 32 I/Os of 3.2 ms can do, 10,000 per second, and 1.5 s of 10 s are 18 % of the rest.
#[test]
fn a_standstill_is_weighed_against_the_other_limits() {
    check(
        (
            "servers(count=1, service=200us)",
            &["at = '3s', stall_device = '/dev/a', lasts = '4s'"],
        ),
        "--ioengine=libaio --iodepth=4 --rate_iops=2896",
        ("target_stall", "likely"),
        "most of it because the target completed nothing for 4.00 s",
    );
    check(
        (
            "limit(servers(count=64, service=3200us), iops=9316)",
            &["at = '3s', stall_device = '/dev/a', lasts = '1500ms'"],
        ),
        "--ioengine=libaio --iodepth=32",
        ("target_stall", "likely"),
        "The target completed nothing for 1.50 s",
    );
}

/// Another program reads 3,000 of the 5,000 per second of one server: what it does at a rate of its own leaves 2,000 at any depth. One
/// that keeps 8 I/Os in flight beside one of this run has eight of nine of them, and 9 wait 200 us each.
#[test]
fn another_program_has_a_rate_of_its_own_or_a_share_of_the_queue() {
    let server = "servers(count=1, service=200us)";
    let foreign = "at = '0s', foreign_reads = '/dev/a', lasts = '100s'";
    check(
        (server, &[&format!("{foreign}, iops = 3000")]),
        "--ioengine=libaio --iodepth=8",
        ("target", "likely"),
        "The device did 1.5 other I/Os for each of this run",
    );
    check(
        (server, &[&format!("{foreign}, depth = 8")]),
        "--ioengine=libaio --iodepth=1",
        ("neighbour", "likely"),
        "The device did 8 other I/Os for each of this run",
    );
    check(
        (server, &[&format!("{foreign}, depth = 8")]),
        "--ioengine=libaio --iodepth=2",
        ("neighbour", "likely"),
        "The device did 4.0 other I/Os for each of this run",
    );
}

/// Each write takes 200 us and the sync after it 2 ms, so that syncs take 2 / 2.2 = 91 % of the time. Without them one job writes eleven
/// times as much; a second job writes only twice as much.
#[test]
fn syncs_between_writes_are_named() {
    check(
        ("servers(count=8, service=200us, flush=2ms)", &[]),
        "--ioengine=psync --rw=randwrite --fsync=1",
        ("flush", "likely"),
        "syncs took 2.00 ms each, which is 91 % of the time of the queue",
    );
    // Here they take a tenth, and a second job gains more.
    check(
        ("servers(count=8, service=900us, flush=100us)", &[]),
        "--ioengine=psync --rw=randwrite --fsync=1",
        ("queue_depth", "fact"),
        "1 in flight reach 1,000 per second",
    );
    // Two jobs fill the only server: four writes of 200 us take as long as the sync of the other job. Without syncs no write is faster.
    check(
        ("servers(count=1, service=200us, flush=800us)", &[]),
        "--ioengine=psync --numjobs=2 --group_reporting --rw=randwrite --fsync=4",
        ("target", "fact"),
        "2 in flight reach 4,999 per second at 200 us each, 4 reach 5,000",
    );
}

/// A link of 41 MB/s carries 10,010 blocks of 4 KiB per second, and 64 servers of 500 us could do 128,000. The same rate as a limit of the
/// volume is no link.
#[test]
fn a_full_link_is_named() {
    check(
        ("link(servers(count=64, service=500us), rate=41MB/s)", &[]),
        "--ioengine=libaio --iodepth=32",
        ("link", "likely"),
        "The link is probably the limit",
    );
    check(
        (
            "limit(servers(count=64, service=500us), bandwidth=41MB/s)",
            &[],
        ),
        "--ioengine=libaio --iodepth=32",
        ("ceiling", "likely"),
        "A ceiling of about 10,0",
    );
}

/// A write of 4 KiB to a RAID 5 reads the old data and parity and writes both: 4 I/Os. A read is one, and so is a write to a RAID 0.
#[test]
fn the_parity_of_an_array_is_named_for_small_writes() {
    let load = "--ioengine=libaio --iodepth=64 --rw=randwrite";
    check(
        ("raid5(4 x servers(count=1, service=1ms), chunk=64k)", &[]),
        load,
        ("raid_write_penalty", "likely"),
        "raid5 of 4 members does up to 4 I/Os for each write of 4 KiB",
    );
    for (model, load) in [
        ("raid0(4 x servers(count=1, service=1ms), chunk=64k)", load),
        (
            "raid5(4 x servers(count=1, service=1ms), chunk=64k)",
            "--ioengine=libaio --iodepth=64",
        ),
    ] {
        let json = run_on(model, &[], &format!("--runtime=10 {load}"));
        let cause = &json.0["fathom"]["entries"][0]["limit"]["cause"];
        assert_eq!(cause, "target", "{model} {load}");
    }
}

/// I/Os of 64 KiB through requests of 16 KiB are four each, and one server of 1 ms does 1,000 requests per second.
#[test]
fn split_requests_are_named() {
    check(
        ("split(servers(count=1, service=1ms), max_bytes=16k)", &[]),
        "--ioengine=libaio --iodepth=8 --bs=64k",
        ("splitting", "likely"),
        "it gets 4 requests for each",
    );
}

/// 64 KiB in four requests of 1 ms each, of which 900 us are those of its bytes: one request of all of them takes 3.7 ms in place of 4 ms,
/// so that not their number is the limit.
#[test]
fn the_bytes_of_split_requests_are_the_target() {
    check(
        (
            "split(servers(count=1, service=100us, rate=18204kB/s), max_bytes=16k)",
            &[],
        ),
        "--ioengine=libaio --iodepth=8 --bs=64k",
        ("target", "likely"),
        "8 in flight reach",
    );
}

/// A link of 64 KiB in 193 us before two servers of 500 us: the time of an I/O alone is no whole number of servers, and that without the
/// link is.
#[test]
fn the_time_on_a_link_makes_no_ceiling() {
    check(
        (
            "link(servers(count=2, service=500us), rate=339935kB/s)",
            &[],
        ),
        "--ioengine=libaio --iodepth=64 --bs=64k",
        ("target", "likely"),
        "64 in flight reach 4,000 per second",
    );
}

/// Eight servers of 800 us on average: 8 in flight would be 10,000 per second, and 16 are held by the ceiling of 8,000.
#[test]
fn a_ceiling_above_the_rate_of_the_run_is_seen_at_twice_the_depth() {
    check(
        (
            "limit(servers(count=8, service=800us, distribution=exponential), iops=8000)",
            &[],
        ),
        "--ioengine=libaio --iodepth=8",
        ("ceiling", "likely"),
        "because twice the depth completes I/Os more evenly",
    );
}

/// One in flight of 800 us is 1,250 per second, whatever the number of servers, and two reach the ceiling of 1,494.
#[test]
fn a_depth_that_gains_more_than_the_target_is_near_the_knee() {
    check(
        ("limit(servers(count=8, service=800us), iops=1494)", &[]),
        "--ioengine=libaio --iodepth=1",
        ("knee", "likely"),
        "1 in flight reach 1,250 per second",
    );
}

/// The shares of the parts of the mean response add up to 1: of 10 s, this program did not run for 1.5 s.
#[test]
fn the_shares_of_the_response_add_up() {
    let stop: &[&str] = &["at = '3s', stop_generator = '1500ms'"];
    let json = run_on(
        "servers(count=4, service=1ms)",
        stop,
        "--runtime=10 --ioengine=libaio --iodepth=32",
    );
    let limit = &json.0["fathom"]["entries"][0]["limit"];
    let shares = limit["shares"].as_array().expect("shares");
    let share = |cause: &str| {
        let found = shares.iter().find(|one| one["cause"] == cause);
        found.and_then(|one| one["share"].as_f64()).unwrap_or(0.0)
    };
    let sum: f64 = shares.iter().filter_map(|one| one["share"].as_f64()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{limit:#}");
    assert!((share("host_cpu") - 0.15).abs() < 0.001, "{limit:#}");
    // 4 of 32 in flight are in service for the rest of the time.
    assert!(
        (share("queue_depth") - 0.85 / 8.0).abs() < 0.002,
        "{limit:#}"
    );
}

/// Eight servers of 1 ms do 8,000 per second, and from 2 s on 40 % of that: 4,160 on average. Eight in flight have no other limit; four gain
/// more from twice the depth than from 80 % of the speed that becomes 100 %. A device that is hot all the time shows no other rate.
#[test]
fn the_heat_of_a_device_has_a_share() {
    let eight = "servers(count=8, service=1ms)";
    check(
        (
            eight,
            &["at = '2s', overheat_device = '/dev/a', lasts = '100s', speed = '40%'"],
        ),
        "--ioengine=libaio --iodepth=8",
        ("heat", "likely"),
        "The heat of the target is probably the limit: a reported that it was hot for 8.00 s since the run began",
    );
    check(
        (
            eight,
            &["at = '2s', overheat_device = '/dev/a', lasts = '100s', speed = '80%'"],
        ),
        "--ioengine=libaio --iodepth=4",
        ("queue_depth", "fact"),
        "a reported that it was hot for 8.00 s since the run began",
    );
    check(
        (
            eight,
            &["at = '0s', overheat_device = '/dev/a', lasts = '100s', speed = '40%'"],
        ),
        "--ioengine=libaio --iodepth=32",
        ("target", "likely"),
        "the run does not show its rate without that",
    );
}

/// Four members of 1 ms do 4,000 reads per second; if one takes 5 ms, all wait for its 200 per second. With one in flight, the mean of 2 ms
/// would be 1 ms.
#[test]
fn a_slow_member_of_an_array_is_named() {
    let slow = "raid0(3 x servers(count=1, service=1ms), servers(count=1, service=5ms), chunk=64k)";
    for depth in [16, 1] {
        check(
            (slow, &[]),
            &format!("--ioengine=libaio --iodepth={depth}"),
            ("slow_member", "likely"),
            "A slow member of the array is probably the limit: the member a-3 of the array takes",
        );
    }
    check(
        ("raid0(4 x servers(count=1, service=1ms), chunk=64k)", &[]),
        "--ioengine=libaio --iodepth=16",
        ("target", "likely"),
        "a deeper queue",
    );
}

/// Regression 1489: the I/Os at the slow member of an array, slow again and again, were taken for those of a rate limiter.
#[test]
fn a_slow_member_of_an_array_is_no_rate_limiter() {
    let model =
        "raid0(3 x servers(count=1, service=1ms), servers(count=1, service=5ms), chunk=64k)";
    let json = run_on(model, &[], "--runtime=5 --ioengine=libaio --iodepth=16");
    assert_eq!(json.finding("RATE_LIMITED"), None);
}

/// A write of a part of a stripe of raid5 reads and writes two members: four I/Os, twice a turn of two. Without parity each write is one I/O,
/// of which one in four meets the member that takes five times as long; that gains more than a fifth member like the others would, because
/// a turn of two random times of 200 us takes 300 us.
#[test]
fn the_parity_of_an_array_is_weighed_against_its_slow_member() {
    let member = |us: u32| format!("servers(count=2, service={us}us, distribution=exponential)");
    let (usual, slow) = (member(200), member(1000));
    check(
        (&format!("raid5(3 x {usual}, {slow}, chunk=256k)"), &[]),
        "--ioengine=libaio --iodepth=4 --rw=randwrite",
        ("raid_write_penalty", "likely"),
        "The member a-3 of the array takes 1.",
    );
}

/// A link that carries 950 reads of 16 KiB per second lets a target wait that does 4,000: a standstill of 4 s of 10 s loses less.
#[test]
fn a_link_is_weighed_against_a_standstill() {
    check(
        (
            "link(servers(count=2, service=500us), rate=15564kB/s)",
            &["at = '3s', stall_device = '/dev/a', lasts = '4s'"],
        ),
        "--ioengine=libaio --iodepth=2 --bs=16k",
        ("link", "likely"),
        "The target completed nothing for 4.00 s",
    );
}

/// Regression 1496: of exponential times one in ten takes 10.5 % of their mean, and less of a mean that contains a standstill. That was taken
/// for a buffer that takes some writes at once, and hid that the queue depth is the limit.
#[test]
fn times_that_vary_are_no_buffer() {
    check(
        (
            "servers(count=16, service=1600us, distribution=exponential)",
            &["at = '3s', stall_device = '/dev/a', lasts = '4s'"],
        ),
        "--ioengine=libaio --iodepth=1 --rw=randwrite",
        ("queue_depth", "fact"),
        "The target completed nothing for 4.00 s",
    );
}

/// Regression 1497: an I/O of this program takes 150 us of CPU time, and 1.5 ms from 2 s on, while the target does 20,000 per second. The CPU
/// time of its worker was compared with the whole run, of which the target stood still for 4 s, so that the target was the limit as a fact.
#[test]
fn a_busy_worker_is_weighed_against_a_standstill() {
    check(
        (
            "servers(count=4, service=200us, distribution=exponential)",
            &[
                "cpu_per_io = '150us'",
                "at = '2s', slow_cpu = '90%', lasts = '100s'",
                "at = '3s', stall_device = '/dev/a', lasts = '4s'",
            ],
        ),
        "--ioengine=libaio --iodepth=4",
        ("program", "likely"),
        "The target completed nothing for 4.00 s",
    );
}

/// A raid5 that rebuilds a member reads all others for that. What it takes of the run is not known, so that the target is only likely the limit.
#[test]
fn an_array_that_is_rebuilt_is_said_to_be() {
    let member = "servers(count=1, service=1ms)";
    check(
        (
            &format!("raid5(4 x {member}, chunk=64k, failed=1, rebuild={member})"),
            &[],
        ),
        "--ioengine=libaio --iodepth=16",
        ("target", "likely"),
        "members without their data: 1 of 4, and a recover is in progress",
    );
}

/// A device of one server did 1,000 reads per second in three runs, and takes twice as long now: nothing in the last run alone shows that. A
/// fifth run that is as slow as the fourth is no slower than that one.
#[test]
fn a_target_that_is_slower_than_in_earlier_runs_is_named() {
    let directory = Scratch::new().expect("a directory");
    let run = |service_us: u32| {
        let machine = format!(
            "[[device]]\npath = \"/dev/a\"\nmodel = \"servers(count=1, service={service_us}us)\"\nscratch = true\n"
        );
        std::fs::write(directory.join("machine.toml"), machine).expect("a machine");
        let line = "run --filename=/dev/a --direct=1 --bs=4k --rw=randread --norandommap --time_based --json --machine=machine.toml \
                    --name=x --runtime=10 --ioengine=libaio --iodepth=4 --store=store.db";
        let mut command = program(split_args(line));
        command.current_dir(directory.path());
        start(command).finish().json()
    };
    for number in 0..3 {
        let json = run(1000);
        let limit = &json.0["fathom"]["entries"][0]["limit"];
        assert_eq!(limit["cause"], "target", "{number}: {limit:#}");
    }
    let json = run(2000);
    let entry = &json.0["fathom"]["entries"][0];
    let limit = &entry["limit"];
    assert_eq!(limit["cause"], "slower_than_before", "{limit:#}");
    let text = limit["text"].as_str().expect("a text");
    assert!(
        text.contains(
            "the same load did 1,000 per second in the median of 3 earlier runs on this device, 1,000 at least, and 500 now."
        ),
        "{text}"
    );
    let unknown = numbers_without_figure(text, entry);
    assert!(unknown.is_empty(), "{unknown:?} of '{text}'");
    let json = run(2000);
    let limit = &json.0["fathom"]["entries"][0]["limit"];
    assert_eq!(limit["cause"], "target", "{limit:#}");
    let mut command = program(["show", "r4", "--explain", "--store=store.db"]);
    command.current_dir(directory.path());
    let explained = start(command).finish();
    assert_eq!(explained.code(), 0, "{}", explained.err);
    let words: Vec<&str> = explained.out.split_whitespace().collect();
    let text = words.join(" ");
    for part in [
        "x: The target is probably the limit because it is slower than before",
        "This is likely, not sure. To settle it: the same load on a drive of the same kind",
        "Shares of the mean response: queue depth 25 % target 75 %",
    ] {
        assert!(text.contains(part), "{text}");
    }
}
