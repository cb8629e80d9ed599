//! The power-cut test in virtual time, on devices whose behaviour is known: each is judged as it behaves.
//!
//! The disk does one request after the other in 100 us, a flush takes 1 us. One thread that overwrites its file in place with `fdatasync`
//! makes commits of one write (16 KiB) and one flush each.

use std::fmt::Write;

use fathom_testkit::Scratch;
use serde_json::Value;

use crate::common::{Completed, program, split_args, start};

const MODEL: &str = "servers(count=1, service=100us, capacity=4g)";
/// Commits of one write and one flush.
const ONE_STREAM: &str = "--threads=1 --layout=overwrite --method=fdatasync --size=4m";
const METHODS: [&str; 5] = ["fsync", "fdatasync", "dsync", "fua", "rename"];

/// A machine with one disk, on which /data is, with these keys and events, each `key = value` separated by commas.
fn machine(keys: &str, events: &[&str]) -> String {
    let mut text = format!("[[device]]\npath = \"/data\"\nmodel = \"{MODEL}\"\n");
    text += &keys.replace(", ", "\n");
    for event in events {
        let _ = write!(text, "\n[[event]]\n{}\n", event.replace(", ", "\n"));
    }
    text + "\n"
}

fn cut(at: &str) -> String {
    format!("at = '{at}', cut_power = '/data'")
}

fn write(machine: &str, options: &str) -> Completed {
    let directory = Scratch::new().expect("a directory");
    std::fs::write(directory.join("machine.toml"), machine).expect("a machine");
    let line = format!("durable write /data/test --machine=machine.toml {options}");
    let mut command = program(split_args(&line));
    command.current_dir(directory.path());
    start(command).finish()
}

/// The certificate as JSON, which agrees with the exit code.
struct Certificate(Value);

impl Certificate {
    fn of(machine: &str, options: &str) -> Certificate {
        let done = write(machine, &format!("--json {options}"));
        let json: Value =
            serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{}", done.err));
        let code = match json["verdict"].as_str() {
            Some("pass") => 0,
            Some("fail") => 1,
            _ => 3,
        };
        assert_eq!(done.code(), code, "{} {}", done.out, done.err);
        Certificate(json)
    }

    fn verdict(&self) -> &str {
        self.0["verdict"].as_str().expect("a verdict")
    }

    fn number(&self, name: &str) -> u64 {
        self.0[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {:#}", self.0))
    }

    /// The sum over all cycles and streams.
    fn sum(&self, name: &str) -> u64 {
        let cycles = self.0["cycles"].as_array().expect("cycles").iter();
        let streams = cycles.flat_map(|cycle| cycle["streams"].as_array().expect("streams"));
        streams
            .map(|stream| stream[name].as_u64().expect(name))
            .sum()
    }

    /// Commits that are not as they were acknowledged.
    fn violations(&self) -> u64 {
        let names = [
            "lost",
            "torn_512",
            "torn_4k",
            "torn_record",
            "changed",
            "misplaced",
        ];
        names.iter().map(|name| self.sum(name)).sum()
    }

    fn causes(&self) -> Vec<&str> {
        let causes = self.0["causes"].as_array().expect("causes").iter();
        causes.filter_map(|cause| cause["cause"].as_str()).collect()
    }

    fn expect_pass(&self) {
        assert_eq!(self.verdict(), "pass", "{:#}", self.0);
        assert_eq!(self.violations(), 0);
        assert_eq!(self.sum("there"), self.number("checked"));
        assert!(self.number("checked") > 0);
    }
}

/// Four seeds, each with a cut for every method: 20 cycles.
#[test]
fn a_device_that_keeps_its_promises_loses_nothing() {
    let cuts = ["100ms", "200ms", "300ms", "400ms", "500ms"].map(cut);
    let machine = machine("", &cuts.each_ref().map(String::as_str));
    for seed in 1..=4 {
        let found = Certificate::of(&machine, &format!("--seed={seed} --size=2m"));
        found.expect_pass();
        assert_eq!(found.number("cuts"), 5);
        let cycles = found.0["cycles"].as_array().expect("cycles");
        for (cycle, method) in cycles.iter().zip(METHODS) {
            assert_eq!(
                (&cycle["method"], &cycle["end"]),
                (&method.into(), &"power cut".into())
            );
            let streams = cycle["streams"].as_array().expect("streams");
            assert_eq!(streams.len(), if method == "rename" { 2 } else { 6 });
            for stream in streams {
                let number = |name: &str| stream[name].as_u64().expect(name);
                assert!(number("acknowledged") > 5, "{cycle:#}");
                assert_eq!(number("acknowledged"), number("replaced") + number("there"));
            }
        }
    }
}

/// The cache holds what its size says: of commits of 16 KiB the last ten in 160 KiB. The cut is within a write, so that all of them
/// were acknowledged. Where each record is written on its own, commits have one record of 8 KiB.
#[test]
fn a_device_that_ignores_flushes_loses_what_its_cache_holds() {
    let cut = cut("100.05ms");
    for (keys, options, lost) in [
        ("volatile_cache = '160k', ignores_flush = true", "", 10),
        ("volatile_cache = '80k', ignores_flush = true", "", 5),
        ("volatile_cache = '0k', ignores_flush = true", "", 0),
        ("volatile_cache = '160k'", "", 0),
        (
            "volatile_cache = '160k', ignores_flush = true",
            "--method=fsync",
            10,
        ),
        (
            "volatile_cache = '80k', ignores_flush = true",
            "--method=dsync --records=1",
            10,
        ),
        (
            "volatile_cache = '80k', ignores_fua = true",
            "--method=fua --records=1",
            10,
        ),
        ("volatile_cache = '80k', ignores_fua = true", "", 0),
    ] {
        let stream = match options {
            "" => ONE_STREAM.to_owned(),
            _ => format!("--threads=1 --layout=overwrite --size=4m {options}"),
        };
        let found = Certificate::of(&machine(keys, &[&cut]), &stream);
        assert_eq!(found.sum("lost"), lost, "{keys} {options}: {:#}", found.0);
        assert_eq!(found.violations(), lost, "{keys} {options}");
        if lost == 0 {
            found.expect_pass();
        } else {
            assert_eq!(
                (found.verdict(), found.causes().len()),
                ("fail", 1),
                "{keys} {options}"
            );
        }
    }
}

/// Writes with forced unit access are stored, but the name of their file was flushed, and never left the cache: they fill it no more.
#[test]
fn commits_in_a_file_whose_name_is_lost_are_lost() {
    let machine = machine(
        "volatile_cache = '80k', ignores_flush = true",
        &[&cut("50.05ms")],
    );
    let stream = "--threads=1 --layout=overwrite --size=4m --method=fua --records=1";
    let found = Certificate::of(&machine, stream);
    assert_eq!(found.verdict(), "fail");
    assert_eq!(found.sum("lost"), found.number("checked"));
    assert_eq!(found.sum("no_file"), found.number("checked"));
}

/// In a cache of 16 MiB nothing has reached the media, not even the directory of the test.
#[test]
fn a_file_system_that_was_never_stored_cannot_be_read() {
    let machine = machine("ignores_flush = true", &[&cut("50ms")]);
    let found = Certificate::of(&machine, "--size=1m");
    assert_eq!(
        (found.verdict(), found.causes()),
        ("fail", vec!["unreadable file system"])
    );
    let text = write(&machine, "--size=1m").expect(1).out;
    assert!(
        text.starts_with(
            "Simulated, not measured: machine.toml (seed 1)\n\nfail: the file system cannot be read"
        ),
        "{text}"
    );
}

/// The network is cut when in the other run the power is. The recorder has the same acknowledgements; what was committed after them is on
/// the disk or not, and nobody claims it. Ten commits of 16 KiB are in the cache, and about 200 were made since the last acknowledgement.
#[test]
fn what_the_recorder_did_not_get_is_not_claimed() {
    let keys = "volatile_cache = '160k', ignores_flush = true";
    let (early, late) = (cut("100.05ms"), cut("120.05ms"));
    let network = "at = '100.05ms', cut_network = '50ms'";
    // Of 256 places in the file none is used twice without an acknowledgement.
    let stream = ONE_STREAM.replace("4m", "12m");
    let claimed = Certificate::of(&machine(keys, &[&early]), &stream);
    let unclaimed = Certificate::of(&machine(keys, &[network, &late]), &stream);
    assert_eq!(
        claimed.number("acknowledged"),
        unclaimed.number("acknowledged")
    );
    assert_eq!((claimed.verdict(), claimed.sum("lost")), ("fail", 10));
    unclaimed.expect_pass();
    // Without the cut of the network they are claimed.
    let later = Certificate::of(&machine(keys, &[&late]), &stream);
    assert_eq!((later.verdict(), later.sum("lost")), ("fail", 10));
    let since = later.number("acknowledged") - claimed.number("acknowledged");
    // 20 ms of 101 us each.
    assert!((197..=199).contains(&since), "{since}");
}

/// Acknowledgements that take 5 ms and have left before the cut arrive after it, before the check does: it takes as long. Only the commit
/// that was being written has none.
#[test]
fn an_acknowledgement_on_its_way_arrives() {
    let delay = "at = '0s', delay_network = '5ms', lasts = '1h'";
    let found = Certificate::of(&machine("", &[delay, &cut("100.05ms")]), ONE_STREAM);
    found.expect_pass();
    assert!(found.sum("in_flight_there") + found.sum("in_flight_torn") <= 1);
}

/// Between the cut of the network and that of the power are 198 commits without an acknowledgement. They are on the disk, as the check
/// sees of the 64 at which it looks, and they are no loss.
#[test]
fn commits_without_an_acknowledgement_are_no_loss() {
    let network = "at = '100.05ms', cut_network = '50ms'";
    let stream = ONE_STREAM.replace("4m", "12m");
    let found = Certificate::of(&machine("", &[network, &cut("120.05ms")]), &stream);
    found.expect_pass();
    assert_eq!(found.sum("in_flight_there"), 64);
}

/// Of two requests that follow each other one is a write. It changes one of the last commits, which nothing overwrites later: of the
/// commit before it in the same place the rest is there, or all of it.
#[test]
fn a_torn_commit_is_told_from_a_lost_one() {
    let stream = "--threads=1 --layout=overwrite --method=fdatasync --size=1m";
    let both = |event: &str, more: &str| {
        let one = |number: u64| format!("at = '0s', {event} = '/data', number = {number}{more}");
        [one(1950), one(1951), cut("100.05ms")]
    };
    for (event, more, name) in [
        ("lose_write", "", "lost"),
        ("tear_write", ", keep = '512B'", "torn_512"),
        ("tear_write", ", keep = '4k'", "torn_4k"),
        ("tear_write", ", keep = '8k'", "torn_record"),
    ] {
        let events = both(event, more);
        let machine = machine("", &events.each_ref().map(String::as_str));
        let found = Certificate::of(&machine, stream);
        assert_eq!(found.verdict(), "fail", "{event} {more}");
        assert_eq!(
            (found.sum(name), found.violations()),
            (1, 1),
            "{event} {more}: {:#}",
            found.0
        );
        assert_eq!(
            found.causes() == ["torn writes"],
            name != "lost",
            "{event} {more}"
        );
    }
}

/// Of 2 MiB the journal has an eighth; of the other 1,792 KiB the disk of the recorder has 64 KiB left, which are full before the cut.
#[test]
fn a_recorder_whose_disk_is_full_leaves_the_test_undecided() {
    let recorder = "\n[[device]]\nhost = 'recorder'\npath = '/log'\nmodel = 'servers(count=1, service=10us, capacity=2m)'\n\
        [[device.file]]\npath = '/log/other/file'\nsize = 'SIZE'\n";
    for (size, is_full) in [("1728k", true), ("1472k", false)] {
        let machine = machine("", &[&cut("400.05ms")]) + &recorder.replace("SIZE", size);
        let done = write(&machine, ONE_STREAM);
        let code = if is_full { 3 } else { 0 };
        assert_eq!(done.code(), code, "{} {}", done.out, done.err);
        for part in ["No space left on device", "nothing after them is claimed"] {
            assert_eq!(done.err.contains(part), is_full, "{}", done.err);
        }
        assert_eq!(done.out.contains("pass: "), !is_full, "{}", done.out);
    }
}

/// Regression 1480: a writer that had lost the recorder stopped, and the check took a cut long after that for one while it wrote: it passed
/// a device that had time to store everything. The writer hears nothing for 15 s, and cannot tell the recorder that it stops.
#[test]
fn a_cut_after_the_writer_has_stopped_proves_nothing() {
    let network = "at = '50ms', cut_network = '25s'";
    let found = Certificate::of(&machine("", &[network, &cut("20s")]), ONE_STREAM);
    assert_eq!(
        (found.verdict(), found.violations()),
        ("undecided", 0),
        "{:#}",
        found.0
    );
    assert_eq!(found.0["cycles"][0]["end"], "stopped");
    assert!(found.number("acknowledged") > 0);
}

#[test]
fn the_power_of_the_device_alone_is_cut() {
    let found = Certificate::of(
        &machine("", &[&cut("50ms"), &cut("150ms")]),
        "--size=1m --device-cut",
    );
    found.expect_pass();
    let ends = found.0["cycles"].as_array().expect("cycles").iter();
    assert!(
        ends.map(|cycle| &cycle["end"])
            .eq(["device cut", "device cut"])
    );
}

/// A file on another disk of the machine, which loses its power too.
#[test]
fn a_recorder_on_the_same_machine_is_said() {
    let other = format!("\n[[device]]\npath = '/log'\nmodel = '{MODEL}'\n");
    let machine = machine("", &[&cut("50ms")]) + &other;
    let found = Certificate::of(&machine, "--size=1m --recorder=/log/acks.log");
    found.expect_pass();
    assert_eq!(found.0["circumstances"]["second_host"], false);
    let same = write(&machine, "--size=1m --recorder=/data/acks.log").expect(2);
    assert!(
        same.err.contains("on the file system under test"),
        "{}",
        same.err
    );
}

#[test]
fn the_same_test_leaves_the_same_bytes() {
    let machine = machine("", &[&cut("50ms"), &cut("100ms")]);
    let [first, second] = [(), ()].map(|()| write(&machine, "--size=2m --seed=9").expect(0));
    assert_eq!((&first.out, &first.err), (&second.out, &second.err));
    let other = write(&machine, "--size=2m --seed=10").expect(0);
    assert_ne!(first.err, other.err);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let with_cut = machine("", &[&cut("50ms")]);
    let without = machine("", &[]);
    for (machine, options, part) in [
        (&without, "--size=1m", "is never cut: add [[event]]"),
        (
            &with_cut,
            "--cycles=2 --cut=true --state=x",
            "says when the power is cut",
        ),
        (&with_cut, "--token-file=x", "has its own recorder"),
    ] {
        let done = write(machine, options).expect(2);
        assert!(done.err.contains(part), "{options}: {}", done.err);
    }
    let early = machine_with_two_cuts();
    let done = write(&early, "--size=1m").expect(2);
    assert!(done.err.contains("cycle 2 has not begun"), "{}", done.err);
    let directory = Scratch::new().expect("a directory");
    std::fs::write(directory.join("machine.toml"), with_cut).expect("a machine");
    for (line, part) in [
        (
            "durable write /elsewhere --machine=machine.toml",
            "no file system there, but /data",
        ),
        (
            "durable write /data/x --machine=nvme-ssd",
            "give the file of a machine",
        ),
        (
            "durable check /data/x --machine=machine.toml",
            "option of `durable write`",
        ),
        (
            "run --name=a --filename=/data/x --size=1m --machine=machine.toml",
            "cut_power is an event of `fathom durable write`",
        ),
    ] {
        let mut command = program(split_args(line));
        command.current_dir(directory.path());
        let done = start(command).finish().expect(2);
        assert!(done.err.contains(part), "{line}: {}", done.err);
    }
}

/// The second cut comes while the first cycle is checked: one read takes 100 us.
fn machine_with_two_cuts() -> String {
    machine("", &[&cut("50ms"), &cut("50.1ms")])
}
