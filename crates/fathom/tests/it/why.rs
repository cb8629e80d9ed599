//! `fathom why` on this machine: a process that reads directly is found, and what may not be read is named. The causes are tested in
//! `fathom-linux/tests/it/why`, on machines with a known truth.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Completed, FATHOM, Json, fathom, program, start};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Op, Scratch, require};

/// The document, after what holds on any machine.
#[track_caller]
fn checked(done: &Completed) -> Json {
    let json = done.json();
    assert_eq!(json.number("/version"), 1.0);
    let is_known = json.text("/conclusion/cause") != "not_known";
    let expected = if is_known { 0 } else { 3 };
    assert_eq!(done.code(), expected, "{}", done.err);
    assert!(!json.text("/conclusion/sentence").is_empty());
    assert!(json.number("/cost/cpu_ns") > 0.0);
    assert!(json.number("/cost/looks") >= 2.0);
    json
}

/// Bytes that a device read for a process.
fn device_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "));
    line.map_or(0, |value| value.parse().expect("a count"))
}

#[test]
fn a_process_that_reads_directly_is_named() {
    require!(Root);
    let scratch = Scratch::new().expect("a directory");
    let file = format!("--filename={}", scratch.join("data").display());
    let reader = start(program([
        "run",
        "--name=reader",
        &file,
        "--size=4m",
        "--rw=randread",
        "--bs=4k",
        "--direct=1",
        "--time_based",
        "--runtime=80s",
    ]));
    let pid = reader.id();
    let reader = reader.wait_until("it reads", || device_bytes(pid) > 0);
    let number = pid.to_string();
    let json = checked(&fathom(["why", "--json", "--runtime=1s", "--pid", &number]));
    drop(reader);
    assert_eq!(json.text("/scope"), format!("PID {pid}"));
    let first = json.text("/uses/0");
    assert!(
        first.starts_with(&format!("fathom (pid {pid}): ")),
        "{first}"
    );
}

/// The counters of a command are read before it is gone: dd reads 256 blocks of 4 KiB past the page
/// cache, and perhaps its own program.
#[test]
fn a_command_is_run_and_counted() {
    require!(Root);
    let scratch = Scratch::new().expect("a directory");
    let (data, result) = (scratch.join("data"), scratch.join("result.json"));
    fs::write(&data, vec![7; 1 << 20]).expect("a file");
    fs::File::open(&data)
        .and_then(|file| file.sync_all())
        .expect("written");
    let mut command = program(["why", "--json", "-o"]);
    command
        .arg(&result)
        .args(["--", "dd", "of=/dev/null", "bs=4k", "iflag=direct"]);
    command.arg(format!("if={}", data.display()));
    let done = start(command).finish();
    assert_eq!(done.code(), 0, "{}", done.err);
    let text = fs::read_to_string(&result).expect("a result");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let uses = json["uses"][0].as_str().expect("a sentence");
    assert!(uses.starts_with("dd (pid "), "{uses}");
    assert!(uses.ends_with(" MiB read and 0 bytes written"), "{uses}");
    // The exit code is that of the command.
    let failed = fathom(["why", "--", "sh", "-c", "exit 7"]);
    assert_eq!(failed.code(), 7, "{}", failed.err);
    assert_eq!(failed.out, "", "standard output belongs to the command");
}

/// The server of a FUSE file system does not answer a read. The path is not touched: the command answers in time.
#[test]
fn a_hanging_mount_is_named_and_hangs_nothing() {
    require!(Root, Fuse);
    let fault = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    fault.inject(Fault::Hang(Some(Op::Read)));
    let path = fault.path().display().to_string();
    let mut dd = Command::new("dd");
    dd.args(["of=/dev/null", "bs=4k", "count=1"])
        .arg(format!("if={path}"));
    let dd = start(dd).wait_until("the read hangs", || fault.counts().injected() > 0);
    let number = dd.id().to_string();
    let done = fathom(["why", "--json", "--runtime=1200ms", "--pid", &number]);
    let of_path = fathom(["why", "--json", "--runtime=100ms", &path]);
    fault.release();
    drop(dd);
    let json = checked(&done);
    assert_eq!(json.text("/conclusion/cause"), "file_system_hang");
    assert_eq!(json.text("/conclusion/certainty"), "fact");
    assert_eq!(json.text("/stuck/0/name"), "dd");
    assert_eq!(json.text("/stuck/0/file"), path);
    let mount = Path::new(&path).parent().expect("a mount").display();
    assert_eq!(json.text("/stuck/0/mount"), mount.to_string());
    let not_looked_at = checked(&of_path).0["not_looked_at"].to_string();
    assert!(
        not_looked_at.contains("has no block device"),
        "{not_looked_at}"
    );
}

#[test]
fn without_root_it_says_what_it_did_not_look_at() {
    require!(Root);
    let scratch = Scratch::new().expect("a directory");
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).expect("permissions");
    let copy = scratch.join("fathom");
    fs::copy(FATHOM, &copy).expect("a copy");
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["why", "--json", "--runtime=100ms"]);
    let json = checked(&start(command).finish());
    let not_looked_at = json.0["not_looked_at"].to_string();
    for expected in [
        "reading block tracepoints needs root",
        "which this user may not read",
    ] {
        assert!(
            not_looked_at.contains(expected),
            "{expected}: {not_looked_at}"
        );
    }
}

#[test]
fn what_does_not_exist_is_refused() {
    for (arguments, expected) in [
        (["why", "/no/such/file"], "/no/such/file"),
        (["why", "--pid=4194304"], "no process 4194304"),
        (["why", "--unit=no-such-unit"], "no-such-unit"),
    ] {
        let done = fathom(arguments);
        assert_eq!(done.code(), 2, "{}", done.err);
        assert!(done.err.contains(expected), "{}", done.err);
    }
}
