//! Output options write only to files, pipes and terminals.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{fathom, program, sh, split_args, start};
use fathom_testkit::{LoopDevice, LoopOptions, Scratch, require};

const NULL_JOB: &str = "--name=x --ioengine=null --rw=read --bs=4k --size=64k";

fn sum(image: &Path) -> String {
    sh(&format!("sha256sum < {}", image.display()))
}

/// One stored run and a JSON result to report on.
fn prepare(directory: &Path) {
    let line = format!("run {NULL_JOB} --store=store.db --output-format=json --output=result.json");
    start({
        let mut command = program(split_args(&line));
        command.current_dir(directory);
        command
    })
    .finish();
    assert!(directory.join("result.json").exists() && directory.join("store.db").exists());
}

/// Regression 0299: `--output`, `--events`, `export|report|plot|show -o`, `compare
/// --junit|--markdown`, `--store`, logs and verify states opened a block device and overwrote it
/// without confirmation.
#[test]
fn no_output_option_writes_to_a_block_device() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    prepare(directory.path());
    let image = directory.path().join("image");
    fs::write(&image, vec![0x5a; 4 << 20]).expect("an image");
    let device = LoopDevice::attach(&image, LoopOptions::default()).expect("a loop device");
    let path = device.path().display().to_string();
    // The file names of logs, such as PREFIX_bw.1.log, are links to the device.
    symlink(device.path(), directory.path().join("log_bw.1.log")).expect("a link");
    symlink(device.path(), directory.path().join("agg-read_bw.log")).expect("a link");
    let before = sum(&image);
    let lines = [
        format!("run {NULL_JOB} --no-store --output={path}"),
        format!("run {NULL_JOB} --store={path}"),
        format!("run {NULL_JOB} --no-store --write_bw_log=log"),
        format!("run {NULL_JOB} --no-store --bandwidth-log=agg"),
        format!("fio {NULL_JOB} --output={path}"),
        format!(
            "sweep target --create --size=1m --runtime=100ms --axis iodepth=1 --no-store --events={path}"
        ),
        format!("export latest --store=store.db -o {path}"),
        format!("show latest --store=store.db -o {path}"),
        format!("compare result.json result.json --markdown={path}"),
        format!("compare result.json result.json --junit={path}"),
        format!("import result.json --store={path}"),
    ];
    for line in &lines {
        let mut command = program(split_args(line));
        command.current_dir(directory.path());
        let ran = start(command).finish();
        // A store that cannot be opened does not invalidate a result: it is reported, and the
        // result is printed.
        let stores = line.contains("--store=/");
        assert!(stores || ran.code() != 0, "{line}: {}", ran.err);
        assert_eq!(before, sum(&image), "{line}: the device was written");
        assert!(
            ran.err.contains(&path) || ran.err.contains("symbolic link"),
            "{line}: {}",
            ran.err
        );
    }
}

/// Regression 0300: the result of a run replaced the file that the run had measured.
#[test]
fn an_output_does_not_overwrite_the_target() {
    let directory = Scratch::new().expect("a directory");
    let target = directory.path().join("target");
    fs::write(&target, vec![1; 1 << 20]).expect("a target");
    let line = format!(
        "run --name=x --rw=read --bs=4k --filename={0} --no-store --output={0}",
        target.display()
    );
    let ran = fathom(split_args(&line)).expect(2);
    assert!(ran.err.contains("is a target of this run"), "{}", ran.err);
    assert_eq!(fs::read(&target).expect("the target"), vec![1; 1 << 20]);
}
