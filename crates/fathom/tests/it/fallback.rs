//! Unavailable engines: another one is used and reported, unless the job names its engine.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Completed, FATHOM, filename_arg, program, split_args, start};
use fathom_testkit::seccomp::{Denied, without};
use fathom_testkit::{Scratch, require, skip};

/// Queue depth 8 and no engine: the best engine that can sustain the depth is chosen.
const UNNAMED: &str =
    "run --name=x --rw=randread --bs=4k --size=4m --direct=1 --iodepth=8 --output-format=json";

fn data(directory: &Scratch) -> PathBuf {
    let path = directory.join("data");
    std::fs::write(&path, vec![0xA5; 4 << 20]).expect("a file to read");
    path
}

/// Runs the program without these system calls.
fn run_without(calls: &[Denied], line: &str, path: &Path) -> Completed {
    let mut command = program(split_args(line));
    command.arg(filename_arg(path));
    without(calls, || start(command).finish()).expect("a filter")
}

/// Regression 0026: a job with a queue depth and no engine got psync, which ignores the depth.
#[test]
fn a_depth_without_an_engine_gets_io_uring() {
    require!(IoUring);
    let directory = Scratch::new().expect("a directory");
    let json = run_without(&[], UNNAMED, &data(&directory))
        .expect(0)
        .json();
    assert_eq!(json.text("/fathom/entries/0/engine"), "io_uring");
    assert_eq!(json.finding("ENGINE_FALLBACK"), None);
    assert_eq!(json.finding("SYNC_ENGINE_DEPTH"), None);
}

#[test]
fn fio_without_an_engine_uses_psync() {
    let directory = Scratch::new().expect("a directory");
    let line = "fio --name=x --rw=randread --bs=4k --size=4m --iodepth=8";
    let ran = run_without(&[Denied::IoUring, Denied::IoSetup], line, &data(&directory)).expect(0);
    assert!(
        ran.out.contains("ioengine=psync") && ran.err.is_empty(),
        "{}\n{}",
        ran.out,
        ran.err
    );
}

#[test]
fn the_next_engine_is_used_and_the_reason_reported() {
    let directory = Scratch::new().expect("a directory");
    let path = data(&directory);
    let cases: [(&[Denied], &str, &[&str]); 2] = [
        (
            &[Denied::IoUring],
            "libaio",
            &["libaio replaced io_uring", "io_uring"],
        ),
        (
            &[Denied::IoUring, Denied::IoSetup],
            "posixaio",
            &["posixaio replaced io_uring", "libaio"],
        ),
    ];
    for (calls, engine, parts) in cases {
        let json = run_without(calls, UNNAMED, &path).expect(0).json();
        assert_eq!(json.text("/fathom/entries/0/engine"), engine);
        assert_eq!(json.count("ok_ios"), 1024);
        let evidence = json.expect_finding("ENGINE_FALLBACK");
        assert!(
            parts.iter().all(|part| evidence.contains(part)),
            "{evidence}"
        );
        let text = run_without(calls, &UNNAMED.replace("--output-format=json", ""), &path)
            .expect(0)
            .out;
        assert!(
            text.contains("ENGINE_FALLBACK") && text.contains(engine),
            "{text}"
        );
    }
}

#[test]
fn a_named_engine_that_is_unavailable_is_an_error() {
    let directory = Scratch::new().expect("a directory");
    let path = data(&directory);
    for (call, engine) in [(Denied::IoUring, "io_uring"), (Denied::IoSetup, "libaio")] {
        for personality in ["run", "fio"] {
            let line = format!(
                "{personality} --name=x --rw=randread --bs=4k --size=4m --direct=1 --iodepth=8 --ioengine={engine}"
            );
            let ran = run_without(&[call], &line, &path).expect(1);
            let message = ran.out + &ran.err;
            assert!(message.contains(engine), "{message}");
            assert!(
                message.contains("Operation not permitted")
                    || message.contains("EPERM")
                    || message.contains("err= 1"),
                "{message}"
            );
            assert!(
                !message.contains("ENGINE_FALLBACK") && !message.contains(" replaced "),
                "{message}"
            );
        }
    }
}

/// An unprivileged user without locked memory: old kernels count io_uring rings against it, newer
/// ones do not. Either way the run completes and reports its engine.
#[test]
fn a_run_without_locked_memory_succeeds() {
    require!(Root);
    let found = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !found("prlimit") || !found("setpriv") {
        return skip("needs prlimit and setpriv");
    }
    let directory = Scratch::new().expect("a directory");
    let path = data(&directory);
    common::sh(&format!(
        "chmod 755 {0} && chmod 644 {0}/data && cp {FATHOM} {0}/fathom",
        directory.path().display()
    ));
    let mut command = Command::new("prlimit");
    command.args([
        "--memlock=0:0",
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--bounding-set=-all",
    ]);
    command
        .arg(directory.join("fathom"))
        .args(split_args(UNNAMED))
        .arg(filename_arg(&path));
    let json = start(command).finish().expect(0).json();
    assert_eq!(json.count("ok_ios"), 1024);
    let engine = json.text("/fathom/entries/0/engine");
    match json.finding("ENGINE_FALLBACK") {
        Some(evidence) => assert!(evidence.starts_with(engine), "{evidence}"),
        None => assert_eq!(engine, "io_uring"),
    }
}
