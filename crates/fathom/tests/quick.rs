//! `fathom quick` as a user meets it.

mod common;

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use common::{fathom, program, start, words};
use fathom_testkit::{LoopDevice, LoopOptions, Scratch, require};

fn quick(rest: &str) -> Vec<String> {
    words(&format!("quick {rest}"))
}

#[test]
fn a_folder_is_measured_in_the_time_asked_and_left_as_it_was() {
    let scratch = Scratch::new().expect("a folder");
    let ran = fathom(quick(&format!("{} --for=10s --json", scratch.path().display())));
    let json = ran.done().json();
    let jobs = json.0.pointer("/jobs").and_then(|all| all.as_array()).expect("jobs").len();
    assert_eq!(jobs, 10);
    for job in 0..jobs {
        let ios: f64 = ["read", "write"].iter().map(|way| json.number(&format!("/jobs/{job}/{way}/total_ios"))).sum();
        assert!(ios > 0.0, "measurement {job} did nothing");
    }
    // The time of all measurements together is what was asked; a busy machine starts them late.
    let measured: f64 = (0..jobs).map(|job| json.number(&format!("/jobs/{job}/job_runtime"))).sum();
    assert!((5_000.0..=10_500.0).contains(&measured), "{measured} ms");
    assert_eq!(std::fs::read_dir(scratch.path()).expect("the folder").count(), 0, "the file is gone");
}

#[test]
fn a_foreign_file_is_only_read() {
    let scratch = Scratch::new().expect("a folder");
    let file = scratch.join("mine");
    let content: Vec<u8> = (0..8u32 << 20).map(|i| (i % 251) as u8).collect();
    std::fs::write(&file, &content).expect("a file");
    let json = fathom(quick(&format!("{} --for=10s --json", file.display()))).done().json();
    assert_eq!(json.0.pointer("/jobs").and_then(|all| all.as_array()).expect("jobs").len(), 5);
    assert!(std::fs::read(&file).expect("it is there") == content, "the file is as it was");
}

#[test]
fn a_device_is_only_read_and_the_answer_is_a_table() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a folder");
    let image = scratch.join("disk.img");
    let device = LoopDevice::create(&image, 64 << 20, LoopOptions::default()).expect("a device");
    let ran = fathom(quick(&format!("{} --for=10s", device.path().display()))).done();
    for row in ["4 KiB random reads, one by one", "1 MiB reads in order", "Verdict:", "p99"] {
        assert!(ran.out.contains(row), "{row} is missing in\n{}", ran.out);
    }
    assert!(!ran.out.contains("random writes") && !ran.out.contains("commits"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    drop(device);
    assert!(std::fs::read(&image).expect("the image").iter().all(|byte| *byte == 0), "nothing was written");
}

#[test]
fn an_interrupt_keeps_what_is_known_and_removes_the_file() {
    let scratch = Scratch::new().expect("a folder");
    let running = start(program(quick(&format!("{} --for=60s", scratch.path().display()))));
    let size = || std::fs::metadata(scratch.join("fathom-quick.data")).map_or(0, |facts| facts.blocks() * 512);
    let mut before = 0;
    // Layout is over when the file is there and grows no more.
    common::until("it is laid out", || {
        std::thread::sleep(Duration::from_millis(1500));
        std::mem::replace(&mut before, size()) == before && before > 0
    });
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish_within(Duration::from_secs(20)).expect(130);
    assert!(ran.out.contains("interrupted"), "{}", ran.out);
    assert_eq!(std::fs::read_dir(scratch.path()).expect("the folder").count(), 0, "the file is gone");
}

/// Regression 0120: an interrupt before the load began was told as a refusal.
#[test]
fn an_interrupt_while_the_file_is_laid_out_is_an_interrupt() {
    let scratch = Scratch::new().expect("a folder");
    let arguments = quick(&format!("{} --for=60s", scratch.path().display()));
    let file = scratch.join("fathom-quick.data");
    let lengthy = words(&format!("run --name=x --size=7g --create_only=1 --filename={}", file.display()));
    for (arguments, left) in [(arguments, 0), (lengthy, 1)] {
        let running = start(program(arguments));
        common::until("it began", || file.exists());
        running.signal(rustix::process::Signal::INT);
        running.finish_within(Duration::from_secs(20)).expect(130);
        assert_eq!(std::fs::read_dir(scratch.path()).expect("the folder").count(), left);
    }
}

#[test]
fn what_cannot_be_looked_at_is_refused_in_words() {
    let scratch = Scratch::new().expect("a folder");
    let folder = scratch.path().display();
    std::fs::write(scratch.join("tiny"), "x").expect("a file");
    let cases = [
        (String::new(), "give a folder, a file or a device"),
        (format!("{folder} {folder}"), "one target at a time"),
        (format!("{folder} --fro=20s"), "there is no option '--fro=20s'"),
        (format!("{folder} --for=1s"), "too short"),
        (format!("{folder} --for=soon"), "is no time"),
        (format!("{folder} --for"), "needs a time"),
        (format!("{folder} --read-only"), "--read-only makes no file"),
        (format!("{folder}/no/where"), "no/where"),
        (format!("{folder}/tiny"), "too few to measure"),
        ("/dev/null".to_owned(), "neither a folder, nor a file, nor a block device"),
    ];
    for (arguments, expected) in cases {
        let ran = fathom(quick(&arguments)).expect(2);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
        assert!(ran.out.is_empty(), "{}", ran.out);
    }
}

#[test]
fn the_recipe_is_a_job_file_that_runs() {
    let scratch = Scratch::new().expect("a folder");
    let shown = fathom(quick(&format!("{} --show", scratch.path().display()))).expect(0).out;
    let file = scratch.join("quick.fio");
    std::fs::write(&file, shown).expect("a file");
    fathom(["run", "--parse-only", &file.display().to_string()]).expect(0);
}
