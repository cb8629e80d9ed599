//! Engines that cannot be had: another stands in and says so, unless the engine was named.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{FATHOM, Ran, beside, on, program, start, words};
use fathom_testkit::seccomp::{Denied, without};
use fathom_testkit::{Scratch, require, skip};

/// Depth 8 and no engine: the best that can carry it.
const UNNAMED: &str =
    "run --name=x --rw=randread --bs=4k --size=4m --direct=1 --iodepth=8 --output-format=json";

fn data(folder: &Scratch) -> PathBuf {
    let path = folder.join("data");
    std::fs::write(&path, vec![0xA5; 4 << 20]).expect("a file to read");
    path
}

/// The program with system calls taken away.
fn denied(calls: &[Denied], line: &str, path: &Path) -> Ran {
    let mut command = program(words(line));
    command.arg(on(path));
    without(calls, || start(command).finish()).expect("a filter")
}

/// Regression 0026: it got psync, which has no depth.
#[test]
fn a_depth_without_an_engine_gets_io_uring() {
    require!(IoUring);
    let _turn = beside();
    let folder = Scratch::new().expect("a folder");
    let json = denied(&[], UNNAMED, &data(&folder)).done().json();
    assert_eq!(json.text("/fathom/entries/0/engine"), "io_uring");
    assert_eq!(json.finding("ENGINE_FALLBACK"), None);
    assert_eq!(json.finding("SYNC_ENGINE_DEPTH"), None);
}

#[test]
fn fio_without_an_engine_is_psync_as_ever() {
    let _turn = beside();
    let folder = Scratch::new().expect("a folder");
    let line = "fio --name=x --rw=randread --bs=4k --size=4m --iodepth=8";
    let ran = denied(&[Denied::IoUring, Denied::IoSetup], line, &data(&folder)).done();
    assert!(
        ran.out.contains("ioengine=psync") && ran.err.is_empty(),
        "{}\n{}",
        ran.out,
        ran.err
    );
}

#[test]
fn the_next_engine_stands_in_and_says_why() {
    let _turn = beside();
    let folder = Scratch::new().expect("a folder");
    let path = data(&folder);
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
        let json = denied(calls, UNNAMED, &path).done().json();
        assert_eq!(json.text("/fathom/entries/0/engine"), engine);
        assert_eq!(json.count("ok_ios"), 1024);
        let told = json.must_find("ENGINE_FALLBACK");
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        let text = denied(calls, &UNNAMED.replace("--output-format=json", ""), &path)
            .done()
            .out;
        assert!(
            text.contains("ENGINE_FALLBACK") && text.contains(engine),
            "{text}"
        );
    }
}

#[test]
fn a_named_engine_that_cannot_be_had_is_an_error() {
    let _turn = beside();
    let folder = Scratch::new().expect("a folder");
    let path = data(&folder);
    for (call, engine) in [(Denied::IoUring, "io_uring"), (Denied::IoSetup, "libaio")] {
        for personality in ["run", "fio"] {
            let line = format!(
                "{personality} --name=x --rw=randread --bs=4k --size=4m --direct=1 --iodepth=8 --ioengine={engine}"
            );
            let ran = denied(&[call], &line, &path).expect(1);
            let said = ran.out + &ran.err;
            assert!(said.contains(engine), "{said}");
            assert!(
                said.contains("Operation not permitted")
                    || said.contains("EPERM")
                    || said.contains("err= 1"),
                "{said}"
            );
            assert!(
                !said.contains("ENGINE_FALLBACK") && !said.contains(" replaced "),
                "{said}"
            );
        }
    }
}

/// Nobody without locked memory: old kernels count rings against it, newer ones do not. Either way the run is done and
/// the engine told.
#[test]
fn without_locked_memory_the_run_is_done_all_the_same() {
    require!(Root);
    let _turn = beside();
    let found = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !found("prlimit") || !found("setpriv") {
        return skip("needs prlimit and setpriv");
    }
    let folder = Scratch::new().expect("a folder");
    let path = data(&folder);
    common::sh(&format!(
        "chmod 755 {0} && chmod 644 {0}/data && cp {FATHOM} {0}/fathom",
        folder.path().display()
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
        .arg(folder.join("fathom"))
        .args(words(UNNAMED))
        .arg(on(&path));
    let json = start(command).finish().done().json();
    assert_eq!(json.count("ok_ios"), 1024);
    let engine = json.text("/fathom/entries/0/engine");
    match json.finding("ENGINE_FALLBACK") {
        Some(told) => assert!(told.starts_with(engine), "{told}"),
        None => assert_eq!(engine, "io_uring"),
    }
}
