//! Signals and closed pipes: the partial result is kept and reported completely.

use crate::common;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{FATHOM, Running, filename_arg, program, split_args, start, wait_until};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, FaultKind, Latency, Scratch, require};
use rustix::process::Signal;

fn device() -> FaultDevice {
    let latency = Latency {
        read_us: 2000,
        write_us: 2000,
        sync_us: 0,
    };
    FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device")
}

/// Starts a load of one minute and waits until it is running.
fn start_load(device: &FaultDevice, before: &str, more: &str) -> Running {
    let line = "--name=x --rw=randread --bs=4k --size=32m --direct=1 --norandommap --time_based --runtime=60";
    let mut command = program(split_args(&format!("{before} {line} {more}")));
    command.arg(filename_arg(&device.path()));
    let running = start(command);
    wait_until("the load started", || device.log().len() > 200);
    running
}

#[test]
fn an_interrupt_drains_and_keeps_the_partial_result() {
    require!(Fuse);
    for (signal, engine) in [
        (Signal::INT, "psync"),
        (Signal::TERM, "psync"),
        (Signal::INT, "libaio --iodepth=16"),
    ] {
        let device = device();
        let running = start_load(
            &device,
            "run",
            &format!("--ioengine={engine} --output-format=json"),
        );
        running.signal(signal);
        let ran = running.finish().expect(130);
        let json = ran.json();
        assert_eq!(
            (json.text("/fathom/end"), json.count("timed_out_ios")),
            ("interrupted", 0)
        );
        json.expect_finding("INTERRUPTED");
        let seen = device.log().iter().filter(|one| one.len == 4096).count() as u64;
        assert_eq!(
            json.count("ok_ios"),
            seen,
            "all I/Os that the device completed"
        );
        assert_eq!(json.number("/jobs/0/read/total_ios") as u64, seen);
    }
}

#[test]
fn an_interrupted_run_still_prints_its_text() {
    require!(Fuse);
    let device = device();
    let running = start_load(&device, "run", "--ioengine=psync");
    running.signal(Signal::INT);
    let ran = running.finish().expect(130);
    for part in ["read: IOPS=", "Verdict: ", "INTERRUPTED"] {
        assert!(ran.out.contains(part), "{part} missing in\n{}", ran.out);
    }
}

#[test]
fn fio_is_interrupted_with_its_own_code() {
    require!(Fuse);
    for signal in [Signal::INT, Signal::TERM] {
        let device = device();
        let running = start_load(&device, "fio", "--ioengine=psync --output-format=json");
        running.signal(signal);
        let ran = running.finish().expect(128);
        assert!(ran.json().number("/jobs/0/read/total_ios") > 100.0);
    }
}

#[test]
fn logs_of_an_interrupted_run_are_complete() {
    require!(Fuse);
    let (device, directory) = (device(), Scratch::new().expect("a directory"));
    let log = format!("--write_lat_log={}", directory.join("x").display());
    let running = start_load(
        &device,
        "run",
        &format!("--ioengine=psync --output-format=json {log}"),
    );
    running.signal(Signal::INT);
    let json = running.finish().expect(130).json();
    let text = std::fs::read_to_string(directory.join("x_clat.1.log")).expect("the log");
    assert!(text.ends_with('\n'), "the last line is complete");
    assert_eq!(
        text.lines().count() as u64,
        json.count("ok_ios"),
        "one line for each I/O"
    );
    assert!(
        text.lines().all(|line| line.split(", ").count() >= 4),
        "{text}"
    );
}

#[test]
fn a_killed_program_leaves_no_workers_and_a_readable_log() {
    require!(Fuse);
    let (device, directory) = (device(), Scratch::new().expect("a directory"));
    let log = format!("--write_lat_log={}", directory.join("x").display());
    let line = format!("--ioengine=libaio --iodepth=8 --log_avg_msec=0 --numjobs=2 {log}");
    let running = start_load(&device, "run", &line);
    wait_until("a log started", || {
        std::fs::metadata(directory.join("x_clat.1.log")).is_ok_and(|facts| facts.len() > 0)
    });
    running.signal(Signal::KILL);
    let ran = running.finish();
    assert_eq!(ran.code(), -1, "killed");
    std::thread::sleep(Duration::from_millis(100));
    let seen = device.log().len();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(
        (seen, device.counts().in_flight),
        (device.log().len(), 0),
        "no I/O continues without the program"
    );
    let text = std::fs::read_to_string(directory.join("x_clat.1.log")).expect("the log");
    let complete = text.rsplit_once('\n').expect("complete lines").0;
    assert!(
        complete.lines().all(|line| line.split(", ").count() >= 4),
        "{text}"
    );
}

/// The device does not complete its I/Os; the first interrupt waits for them, the second does not.
/// Regressions 0023 and 0024: a worker stuck in a system call prevented the log writer, and so the
/// program, from ending, and its I/O was in no count.
#[test]
fn a_second_interrupt_aborts_a_hung_run() {
    require!(Fuse);
    for (engine, depth) in [("libaio", 4), ("io_uring", 4), ("psync", 1)] {
        let device = device();
        let directory = Scratch::new().expect("a directory");
        let result = directory.join("result.json");
        let more = format!(
            "--ioengine={engine} --iodepth={depth} --output-format=json --output={}",
            result.display()
        );
        let mut running = start_load(&device, "run", &more);
        device.inject(Fault::Hang(None));
        wait_until("all I/Os hang", || device.counts().held == depth);
        running.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(1000));
        assert!(
            !running.has_exited(),
            "{engine}: the first interrupt waits for the I/Os in flight"
        );
        running.signal(Signal::INT);
        let text = || std::fs::read_to_string(&result).unwrap_or_default();
        wait_until("the result is written", || text().ends_with("}\n"));
        // The kernel does not end a process before the device has answered.
        device.release();
        let mut ran = running.finish().expect(130);
        ran.out = text();
        let json = ran.json();
        assert_eq!(json.text("/fathom/end"), "aborted");
        assert_eq!(
            json.count("timed_out_ios"),
            depth,
            "{engine}: {:#}",
            json.0["fathom"]
        );
        assert_eq!(json.verdict(), "invalid");
        json.expect_finding("TIMED_OUT");
        // A worker that is stuck in a system call cannot return its recording.
        assert_eq!(
            json.finding("WORKER_DIED").is_some(),
            engine == "psync",
            "{engine}"
        );
        let good = device
            .log()
            .iter()
            .filter(|one| one.len == 4096 && one.faults.is_empty())
            .count() as u64;
        assert_eq!(
            json.count("ok_ios"),
            good,
            "{engine}: only I/Os completed in time count"
        );
        assert!(device.counts().faults[&FaultKind::Hang] >= depth);
    }
}

/// Regression 0021: `help`, `devices` and `explain` panicked on a closed pipe.
#[test]
fn a_closed_pipe_causes_no_panic() {
    require!(Fuse);
    let device = device();
    let line = format!(
        "{FATHOM} run --name=x --rw=randread --bs=4k --size=1m --direct=1 --number_ios=64 {} --output-format=json+",
        filename_arg(&device.path())
    );
    for reader in ["true", "head -c 10", "head -n 1"] {
        let mut child = Command::new("sh");
        child
            .args(["-c", &format!("({line}; echo code $? >&2) | {reader}")])
            .stdout(Stdio::null());
        let ran = start(child).finish();
        assert!(
            !ran.err.contains("panicked") && ran.err.contains("code "),
            "{reader}: {}",
            ran.err
        );
    }
    for command in [
        "help",
        "devices",
        "explain",
        "run --cmdhelp",
        "fio --enghelp",
    ] {
        let mut child = Command::new("sh");
        child.args([
            "-c",
            &format!("sleep 0 | ({FATHOM} {command}; echo code $? >&2) | true"),
        ]);
        let ran = start(child).finish();
        assert!(!ran.err.contains("panicked"), "{command}: {}", ran.err);
    }
}

/// Regression 0022: a full output device caused a panic, and a result that could not be written had
/// the exit code of a refusal.
#[test]
fn a_full_output_is_reported() {
    require!(Fuse);
    let device = device();
    for (personality, format) in [
        ("run", "normal"),
        ("run", "json"),
        ("fio", "normal"),
        ("fio", "json"),
    ] {
        let line = format!(
            "{personality} --name=x --rw=randread --bs=4k --size=1m --direct=1 --number_ios=8 --output-format={format}"
        );
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &format!(
                "exec {FATHOM} {line} {} >/dev/full",
                filename_arg(&device.path())
            ),
        ]);
        let ran = start(command).finish();
        assert_eq!(ran.code(), 1, "{personality} {format}: {:?}", ran.status);
        assert!(
            ran.err.contains("No space left") && !ran.err.contains("panicked"),
            "{}",
            ran.err
        );
    }
    for command in [
        "help",
        "devices",
        "explain",
        "version",
        "run --cmdhelp",
        "fio --version",
        "run --showcmd --name=x --size=1m",
    ] {
        let mut child = Command::new("sh");
        child.args(["-c", &format!("exec {FATHOM} {command} >/dev/full")]);
        let ran = start(child).finish();
        assert!(!ran.err.contains("panicked"), "{command}: {}", ran.err);
        assert!(ran.code() > 0, "{command}: {:?} {}", ran.status, ran.err);
    }
}

/// The command with the default action of SIGHUP. These tests may themselves run under nohup, which ignores it.
fn with_default_hangup(command: Command) -> Command {
    let mut wrapped = Command::new("env");
    wrapped
        .arg("--default-signal=HUP")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        wrapped.env(name, value.expect("tests set variables"));
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    wrapped
}

/// Regression 0307: SIGHUP, which a closed terminal sends, ended the program without a result and left its files behind.
#[test]
fn a_hangup_is_an_interrupt() {
    require!(Fuse);
    for (personality, code) in [("run", 130), ("fio", 128)] {
        let device = device();
        let line = format!(
            "{personality} --name=x --rw=randread --bs=4k --size=32m --direct=1 --norandommap --time_based --runtime=60 --ioengine=psync --output-format=json"
        );
        let mut command = with_default_hangup(program(split_args(&line)));
        command.arg(filename_arg(&device.path()));
        let running = start(command);
        wait_until("the load started", || device.log().len() > 200);
        running.signal(Signal::HUP);
        let ran = running.finish().expect(code);
        assert!(ran.json().number("/jobs/0/read/total_ios") > 100.0);
    }
    let scratch = Scratch::new().expect("a directory");
    let mut command = program(split_args(
        "run --name=x --rw=randread --bs=4k --size=1m --unlink=1 --time_based --runtime=60",
    ));
    command.current_dir(scratch.path());
    let running = start(with_default_hangup(command));
    wait_until("its file is made", || scratch.join("x.0.0").exists());
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::HUP);
    running.finish().expect(130);
    let left = std::fs::read_dir(scratch.path()).expect("there").count();
    assert_eq!(left, 0, "its files are removed");
}

/// Also `quick` leaves nothing behind, in each of its phases.
#[test]
fn a_hangup_of_quick_leaves_nothing_behind() {
    for wait_ms in [200, 2500] {
        let scratch = Scratch::new().expect("a directory");
        let mut command = program(["quick", "--runtime=60"]);
        command.arg(scratch.path());
        let running = start(with_default_hangup(command));
        wait_until("its file is made", || {
            std::fs::read_dir(scratch.path()).expect("there").count() > 0
        });
        std::thread::sleep(Duration::from_millis(wait_ms));
        running.signal(Signal::HUP);
        running.finish().expect(130);
        let left: Vec<_> = std::fs::read_dir(scratch.path())
            .expect("there")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left, [""; 0], "{wait_ms} ms");
    }
}

/// Below nohup(1) SIGHUP is ignored, and stays so. The exit code of `fathom fio` does not depend on how busy this machine is.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "trap '' HUP; exec \"$0\" fio --name=x --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=2",
        FATHOM,
    ]);
    command.env("FATHOM_STORE", "none");
    let running = start(command);
    std::thread::sleep(Duration::from_millis(1000));
    running.signal(Signal::HUP);
    running.finish().expect(0);
}

/// Regression 0306: a program that `ioengine=exec` had started went on after fathom was killed.
#[test]
fn a_killed_run_ends_its_programs() {
    let scratch = Scratch::new().expect("a directory");
    let mut command = program(split_args(
        "run --name=x --ioengine=exec --program=/bin/sleep --arguments=4321 --std_redirect=0",
    ));
    command.current_dir(scratch.path());
    let running = start(command);
    let program_of = |parent: u32| {
        let children = std::fs::read_dir(format!("/proc/{parent}/task")).ok()?;
        children.flatten().find_map(|task| {
            let text = std::fs::read_to_string(task.path().join("children")).ok()?;
            text.split_whitespace().find_map(|pid| {
                let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
                line.contains("4321").then(|| pid.to_owned())
            })
        })
    };
    let mut pid = None;
    wait_until("the program runs", || {
        pid = program_of(running.id());
        pid.is_some()
    });
    running.signal(Signal::KILL);
    drop(running.finish());
    let line = format!("/proc/{}/cmdline", pid.expect("it ran"));
    wait_until("the program has ended", || {
        !std::fs::read_to_string(&line).is_ok_and(|text| text.contains("4321"))
    });
}

/// Regression 0308: a trigger file that existed before the run was removed.
#[test]
fn a_trigger_file_that_exists_is_not_removed() {
    let scratch = Scratch::new().expect("a directory");
    let file = scratch.join("go");
    std::fs::write(&file, "precious").expect("a file");
    for (personality, code) in [("run", 2), ("fio", 1)] {
        let ran = common::fathom([
            personality,
            "--name=x",
            "--ioengine=null",
            "--size=1g",
            "--time_based",
            "--runtime=2",
            &format!("--trigger-file={}", file.display()),
        ])
        .expect(code);
        assert!(ran.err.contains("go exists already"), "{}", ran.err);
        assert!(ran.err.contains("name another file"), "{}", ran.err);
        assert_eq!(std::fs::read(&file).expect("there"), b"precious");
    }
    // A target of the run appears when it is laid out.
    let target = scratch.join("data");
    let ran = common::fathom([
        "run",
        "--name=x",
        "--rw=read",
        "--size=1m",
        &format!("--filename={}", target.display()),
        &format!("--trigger-file={}", target.display()),
    ])
    .expect(2);
    assert!(ran.err.contains("is a target of this run"), "{}", ran.err);
}

/// Regression 0319: a device that stopped answering after the start kept the program silent: nothing said what a run waited
/// for whose runtime was over.
#[test]
fn a_runtime_that_passes_without_an_end_is_reported() {
    require!(Fuse);
    let device = device();
    let line = "run --name=x --rw=randread --bs=4k --size=32m --direct=1 --norandommap --time_based --runtime=1 --ioengine=psync --output-format=json";
    let mut command = program(split_args(line));
    command.arg(filename_arg(&device.path()));
    let running = start(command);
    wait_until("the load started", || device.log().len() > 200);
    device.inject(Fault::Hang(None));
    std::thread::sleep(Duration::from_secs(5));
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    running.signal(Signal::INT);
    // It may wait for the kernel to let go of the device, but not with its result.
    std::thread::sleep(Duration::from_secs(2));
    device.clear_faults();
    let ran = running.finish();
    let path = device.path().display().to_string();
    assert!(
        ran.err
            .contains("x: its runtime ended 2 s ago; waiting for I/O in flight on")
            && ran.err.contains(&path),
        "{}",
        ran.err
    );
    let json = ran.json();
    let evidence = json.expect_finding("WORKER_DIED");
    assert!(
        evidence.contains(&format!("stuck in an I/O on {path}")),
        "{evidence}"
    );
}
