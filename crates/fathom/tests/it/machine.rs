//! Commands on a simulated machine: the whole path of the program, twice, with the same result to the last byte.

use fathom_testkit::Scratch;

use crate::common::{Completed, program, split_args, start};

/// A machine with an empty block device that its owner gave away, one with somebody's data, and a file system with a database.
/// One server of 100 us does 10,000 I/Os per second.
const MACHINE: &str = "\
cpus = 2

[[device]]
path = \"/dev/nvme0n1\"
model = \"servers(count=1, service=100us, capacity=64g)\"
scratch = true

[[device]]
path = \"/dev/sda\"
model = \"servers(count=1, service=1ms, capacity=8g)\"
holds_data = true

[[device]]
path = \"/data\"
model = \"servers(count=1, service=100us, capacity=16g)\"

[[device.file]]
path = \"/data/base.db\"
size = \"1g\"
";

const JOB: &str = "[global]\ndirect=1\nioengine=libaio\nbs=4k\nrw=randread\nfilename=/dev/nvme0n1\nsize=1g\ntime_based\nruntime=5\n[a]\n";

/// A directory with the machine and a job file.
fn place() -> Scratch {
    let directory = Scratch::new().expect("a directory");
    std::fs::write(directory.join("machine.toml"), MACHINE).expect("a machine");
    std::fs::write(directory.join("job.fio"), JOB).expect("a job file");
    directory
}

/// Runs a line in a directory, whose names are the same in every directory.
fn run_in(directory: &Scratch, line: &str) -> Completed {
    let mut command = program(split_args(line));
    command.current_dir(directory.path());
    start(command).finish()
}

/// What a command leaves: its outputs, its exit code, and what is stored.
#[derive(PartialEq)]
struct Left {
    code: i32,
    out: String,
    err: String,
    stored: Vec<String>,
}

impl Left {
    /// What a line leaves that begins with an empty store.
    fn by(directory: &Scratch, line: &str, is_stored: bool) -> Left {
        for name in ["store.db", "store.db-wal", "store.db-shm"] {
            let _ = std::fs::remove_file(directory.join(name));
        }
        let store = if is_stored { " --store=store.db" } else { "" };
        let done = run_in(directory, &format!("{line} --machine=machine.toml{store}"));
        let mut stored = Vec::new();
        if is_stored {
            for line in ["runs --json", "show r1 --json", "export r1"] {
                let shown = run_in(directory, &format!("{line} --store=store.db")).expect(0);
                stored.push(shown.out);
            }
        }
        Left {
            code: done.code(),
            out: done.out,
            err: done.err,
            stored,
        }
    }

    /// All lines, with the exit code.
    fn lines(&self) -> Vec<&str> {
        let texts = [&self.out, &self.err].into_iter().chain(&self.stored);
        texts.flat_map(|text| text.lines()).collect()
    }
}

/// Starts a line twice. What it leaves must be the same.
fn same_twice(line: &str, is_stored: bool) -> Left {
    let directory = place();
    let first = Left::by(&directory, line, is_stored);
    let second = Left::by(&directory, line, is_stored);
    if first != second {
        let (one, two) = (first.lines(), second.lines());
        let differs = one.iter().zip(&two).find(|(one, two)| one != two);
        panic!("{line}: {} and {}: {differs:?}", first.code, second.code);
    }
    first
}

/// The same as text and as JSON. Returns the JSON and the exit code.
fn twice(line: &str, is_stored: bool) -> (String, i32) {
    let text = same_twice(line, is_stored);
    let json = same_twice(&format!("{line} --json"), is_stored);
    assert_eq!(text.code, json.code, "{line}: {}", json.err);
    if is_stored {
        assert!(text.stored[0].contains("\"simulated\""), "{line}");
    }
    (json.out, json.code)
}

/// A number of a JSON document.
fn number(text: &str, pointer: &str) -> f64 {
    let document: serde_json::Value = serde_json::from_str(text).expect(text);
    let found = document
        .pointer(pointer)
        .and_then(serde_json::Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer}: {text}"))
}

#[test]
fn run_twice() {
    let (json, code) = twice("run job.fio", true);
    assert_eq!((number(&json, "/jobs/0/read/iops"), code), (10_000.0, 0));
    // The wall clock starts on 1 January 2026.
    assert_eq!(number(&json, "/jobs/0/job_start"), 1_767_225_600_000.0);
}

/// What limits a run, by the counterfactual: the same machine with more I/Os in flight, or with a faster target.
/// One server does 10,000 per second at any depth; 64 servers of 500 us do 2,000 per second for each I/O in flight, and a limit of
/// 3,000 per second holds at any depth that exceeds it. Without other depths, the first I/O tells how many are in service where all take the
/// same time, and nothing tells it where they do not.
#[test]
fn run_tells_what_limits_it() {
    let directory = place();
    for (model, depth, cause, certainty, without_probes) in [
        (
            "servers(count=1, service=200us)",
            8,
            "target",
            "fact",
            ("target", "likely"),
        ),
        (
            "servers(count=64, service=500us)",
            8,
            "queue_depth",
            "fact",
            ("queue_depth", "likely"),
        ),
        (
            "servers(count=64, service=500us, distribution=exponential)",
            8,
            "queue_depth",
            "fact",
            ("not_known", "not_known"),
        ),
        (
            "limit(servers(count=64, service=500us), iops=3000)",
            32,
            "ceiling",
            "likely",
            ("ceiling", "likely"),
        ),
        (
            "servers(count=6, service=500us)",
            4,
            "knee",
            "fact",
            ("queue_depth", "likely"),
        ),
    ] {
        let line = format!(
            "run --name=a --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth={depth} --filename=/dev/x --size=1g \
             --time_based --runtime=20 --no-store --json"
        );
        let run = |more: &[&str]| {
            let mut command = program(split_args(&line));
            command.current_dir(directory.path());
            command.arg(format!("--machine={model}")).args(more);
            start(command).finish().expect(0)
        };
        let json: serde_json::Value = serde_json::from_str(&run(&[]).out).expect("JSON");
        let limit = &json["fathom"]["entries"][0]["limit"];
        assert_eq!(limit["cause"], cause, "{model}: {limit}");
        assert_eq!(limit["certainty"], certainty, "{model}: {limit}");
        let json: serde_json::Value =
            serde_json::from_str(&run(&["--no-probe"]).out).expect("JSON");
        let limit = &json["fathom"]["entries"][0]["limit"];
        assert_eq!(
            (limit["cause"].as_str(), limit["certainty"].as_str()),
            (Some(without_probes.0), Some(without_probes.1)),
            "{model}: {limit}"
        );
    }
}

/// Two hosts, each with a machine of the file, are ready at once: their load starts after the 300 ms that an order has to arrive.
#[test]
fn hosts_twice() {
    let (json, code) = twice("run job.fio --hosts=a,b", true);
    let iops = |job: usize| number(&json, &format!("/jobs/{job}/read/iops"));
    assert_eq!((iops(0), iops(1), code), (10_000.0, 10_000.0, 0));
    for job in ["/jobs/0/job_start", "/jobs/1/job_start"] {
        assert_eq!(number(&json, job), 1_767_225_600_300.0);
    }
}

#[test]
fn experiments_of_hosts_twice() {
    for line in [
        "quick /data --runtime=10s",
        "sweep job.fio --axis=iodepth=1,2",
    ] {
        let (json, code) = twice(&format!("{line} --hosts=a,b"), true);
        assert_eq!(code, 0, "{line}: {json}");
    }
}

#[test]
fn fio_twice() {
    let left = same_twice("fio job.fio --output-format=json", false);
    assert_eq!(
        (number(&left.out, "/jobs/0/read/iops"), left.code),
        (10_000.0, 0)
    );
}

#[test]
fn sim_is_short_for_run() {
    let (json, code) = twice("sim job.fio", true);
    assert_eq!((number(&json, "/jobs/0/read/iops"), code), (10_000.0, 0));
}

#[test]
fn quick_twice() {
    let (_, code) = twice("quick /data --runtime=10s", true);
    assert_eq!(code, 0);
}

#[test]
fn ready_twice() {
    let (json, code) = twice("ready etcd /data --runtime=60s", true);
    assert_eq!(code, 0, "{json}");
}

#[test]
fn limits_twice() {
    let (json, code) = twice("limits /data --runtime=20s", true);
    // A bucket that was not empty after the reads would not have been seen.
    assert_eq!((number(&json, "/limits/latency_alone_s"), code), (1e-4, 0));
}

/// A read of 128 KiB and one of 4 KiB take 100 us: the first figure is below its sheet, which is exit code 1.
#[test]
fn spec_twice() {
    let line = "spec /dev/nvme0n1 --run --sheet=samsung-970-evo-plus-1000 --runtime=1s";
    let (json, code) = twice(line, false);
    assert_eq!(code, 1, "{json}");
    assert!(json.contains("(simulated: machine.toml)"), "{json}");
}

#[test]
fn sweep_twice() {
    let (json, code) = twice("sweep job.fio --axis=iodepth=1,2", true);
    assert_eq!(code, 0, "{json}");
}

#[test]
fn search_twice() {
    let (json, code) = twice("search job.fio --slo=mean<=1ms --runtime=1s", true);
    assert_eq!(code, 0, "{json}");
}

#[test]
fn suite_twice() {
    let (json, code) = twice("suite working-set /data", true);
    assert_eq!(code, 0, "{json}");
}

/// A write takes 100 us and a flush 1 us; a write that is durable when it completes needs no flush.
#[test]
fn fsync_twice() {
    let (json, code) = twice("fsync /data --runtime=4s", false);
    assert_eq!(code, 0, "{json}");
    for (row, method, us) in [(0, "open_datasync", 100.0), (2, "fdatasync", 101.0)] {
        let document: serde_json::Value = serde_json::from_str(&json).expect(&json);
        let found = document
            .pointer(&format!("/methods/{row}"))
            .unwrap_or_else(|| panic!("{json}"));
        assert_eq!(found["method"], method, "{json}");
        assert_eq!(found["median_ns"].as_f64(), Some(us * 1000.0), "{json}");
    }
}

/// The same device from one cell to the next: what the first wrote, the second finds.
#[test]
fn a_machine_keeps_its_files_between_the_jobs_of_a_run() {
    let directory = place();
    let jobs = "[global]\ndirect=1\nioengine=psync\nbs=4k\nfilename=/data/new\nsize=1m\n[w]\nrw=write\n[r]\nstonewall\nrw=read\n";
    std::fs::write(directory.join("two.fio"), jobs).expect("a job file");
    let done = run_in(
        &directory,
        "run two.fio --machine=machine.toml --json --no-store",
    );
    let json = done.expect(0).json();
    assert_eq!(json.number("/jobs/0/write/total_ios"), 256.0);
    assert_eq!(json.number("/jobs/1/read/total_ios"), 256.0);
    json.assert_conserved();
}

#[test]
fn the_guard_refuses_what_holds_data() {
    let directory = place();
    let write = "run --name=x --rw=write --bs=4k --size=1m --no-store --machine=machine.toml";
    for (target, reason) in [
        ("/dev/sda", "--destroy="),
        ("/data/base.db", "--destroy="),
        ("/dev/sdb", "/dev/sdb"),
        ("/elsewhere/file", "/elsewhere/file"),
    ] {
        let line = format!("{write} --filename={target}");
        let refused = run_in(&directory, &line).expect(2);
        assert!(refused.err.contains(reason), "{target}: {}", refused.err);
        assert!(refused.out.is_empty(), "{target}: {}", refused.out);
    }
    // The refusal names the code; with it the device is written.
    let refused = run_in(&directory, &format!("{write} --filename=/dev/sda"));
    let code = refused.err.split("--destroy=").nth(1).expect("a code");
    let code: String = code
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let line = format!("{write} --filename=/dev/sda --destroy={code}");
    run_in(&directory, &line).expect(0);
    // Nothing is asked about reads and new files.
    for target in ["/dev/sda --rw=read", "/data/base.db --rw=read", "/data/new"] {
        run_in(&directory, &format!("{write} --filename={target}")).expect(0);
    }
}

#[test]
fn mistakes_of_a_machine_name_the_line() {
    let directory = place();
    std::fs::write(
        directory.join("machine.toml"),
        format!("{MACHINE}colour = 1\n"),
    )
    .expect("a machine");
    let refused = run_in(&directory, "run job.fio --machine=machine.toml").expect(2);
    assert!(
        refused.err.contains("machine.toml:20:10"),
        "{}",
        refused.err
    );
    for (line, reason) in [
        ("run job.fio --seed=2", "--seed needs --machine"),
        ("run job.fio --machine=nvme", "unknown model 'nvme'"),
        (
            "run job.fio --machine=nvme-ssd --hosts=all",
            "--hosts has names",
        ),
        (
            "quick . --machine=nvme-ssd --hosts=a --nats=nats://h",
            "leave out --nats",
        ),
    ] {
        let refused = run_in(&directory, line).expect(2);
        assert!(refused.err.contains(reason), "{line}: {}", refused.err);
    }
}
