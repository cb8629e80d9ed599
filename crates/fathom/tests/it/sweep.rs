//! `fathom sweep` as users call it.

use crate::common;
use crate::common::{Json, fathom, program, split_args, start};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require, skip};

fn sweep(rest: &str) -> Vec<String> {
    split_args(&format!("sweep {rest}"))
}

/// A job file with a known result: the null engine at a fixed rate.
fn paced(scratch: &Scratch) -> String {
    let file = scratch.join("paced.fio");
    let text = "[paced]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\ntime_based\nruntime=300ms\n";
    std::fs::write(&file, text).expect("a file");
    file.display().to_string()
}

fn document(out: &str) -> Json {
    Json(serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}")))
}

#[test]
fn the_dry_run_lists_the_cells_in_order_and_creates_nothing() {
    let scratch = Scratch::new().expect("a directory");
    let ran = fathom(sweep(&format!(
        "{} --axis bs=4k,16k --axis iodepth=1..64*2 --runtime=2s --dry-run",
        scratch.path().display()
    )));
    let out = ran.expect(0).out;
    assert!(
        out.starts_with("14 cells (bs 2 x iodepth 7): 2 s each, 28 s in total"),
        "{out}"
    );
    let cells: Vec<&str> = out
        .lines()
        .skip(2)
        .map(|line| line.trim_start().split_once("  ").expect("a number").1)
        .collect();
    let corners = [
        "bs=4k iodepth=1",
        "bs=4k iodepth=64",
        "bs=16k iodepth=1",
        "bs=16k iodepth=64",
    ];
    assert_eq!(cells[..4], corners);
    assert_eq!(
        cells[4..6],
        ["bs=4k iodepth=8", "bs=16k iodepth=8"],
        "then the middle"
    );
    assert_eq!(cells.len(), 14);
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("the directory")
            .count(),
        0
    );
}

/// A simulated device, so that each rate is exact.
///
/// Regression 1460: the time of a paced job ended with its last I/O, so that 400 I/Os in 2 s were 200.5 per second where 200 were ordered.
#[test]
fn every_cell_reaches_its_own_rate() {
    let scratch = Scratch::new().expect("a directory");
    let file = scratch.join("paced.fio");
    let text = "[paced]\nfilename=x\nioengine=libaio\ndirect=1\nsize=1g\nrw=randread\nbs=4k\ntime_based\nruntime=2\n";
    std::fs::write(&file, text).expect("a file");
    let mut line = sweep(&format!(
        "{} --axis rate_iops=200,1000 --repeat=2 --no-store --json",
        file.display()
    ));
    line.push("--machine=servers(count=8, service=100us)".to_owned());
    let json = document(&fathom(line).expect(0).out);
    assert_eq!(json.number("/cells_not_measured"), 0.0);
    for (cell, rate) in [200.0, 1000.0].into_iter().enumerate() {
        let metric = |name: &str| json.number(&format!("/cells/{cell}/{name}"));
        assert_eq!(
            json.text(&format!("/cells/{cell}/axes/rate_iops")),
            rate.to_string()
        );
        assert_eq!(metric("repeats"), 2.0);
        assert_eq!(metric("iops"), rate);
        assert_eq!(metric("offered_iops"), rate);
        assert_eq!(metric("iops_interval_95"), 0.0);
    }
}

#[test]
fn several_targets_are_loaded_alone_and_together() {
    let scratch = Scratch::new().expect("a directory");
    let (a, b) = (scratch.join("a"), scratch.join("b"));
    let ran = fathom(sweep(&format!(
        "{} {} --create --size=16m --set=direct=0 --runtime=300ms --json",
        a.display(),
        b.display()
    )));
    let json = document(&ran.out);
    assert_eq!(
        json.0
            .pointer("/cells")
            .and_then(|cells| cells.as_array())
            .expect("cells")
            .len(),
        3
    );
    let (first, second) = (
        json.number("/cells/2/target_iops/0"),
        json.number("/cells/2/target_iops/1"),
    );
    let all = json.number("/cells/2/iops");
    assert!(
        first > 0.0 && second > 0.0 && (first + second - all).abs() < all / 1e6,
        "{first} + {second} = {all}"
    );
    assert!(!a.exists() && !b.exists(), "created files are removed");
}

/// Regression 0462: the message about `--set` named "argument 10", which the user did not write.
#[test]
fn an_invalid_override_is_named_in_the_message() {
    let scratch = Scratch::new().expect("a directory");
    for (set, expected) in [
        ("foo=1", "--set foo=1: unknown job option 'foo'"),
        (
            "ramp_time=zz",
            "--set ramp_time=zz: ramp_time: 'zz' is not a time",
        ),
    ] {
        let target = scratch.join("data");
        let line = format!(
            "sweep {} --create --size 1m --axis bs=4k,8k --no-store --set {set}",
            target.display()
        );
        let ran = fathom(split_args(&line));
        assert!(
            ran.code() == 2 && ran.err.contains(expected) && !ran.err.contains("argument"),
            "{} {}",
            ran.code(),
            ran.err
        );
    }
}

#[test]
fn a_cell_that_cannot_run_is_refused_before_any_is_measured() {
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.path().display();
    let foreign = scratch.join("mine");
    std::fs::write(&foreign, vec![1; 4 << 20]).expect("a file");
    let cases = [
        (String::new(), "no axis: give one"),
        ("--axis bs=4k,8k".to_owned(), "give a directory"),
        (
            format!("{directory} --axis bs=4k,5x"),
            "\n  bs=4k,5x\n        ^",
        ),
        (
            format!("{directory} --axis bs=4k --axis bs=8k"),
            "this axis is defined twice",
        ),
        (format!("{directory} --axis bs=4k --set=rw=readd"), "rw"),
        (
            format!("{directory} --axis iodepth=1,2 --runtme=3s"),
            "a similar argument exists: '--runtime'",
        ),
        (
            format!("{directory} --axis iodepth=1..1000 --axis numjobs=1..1000"),
            "more than 100000 cells",
        ),
        (
            format!("{} --axis rw=randread,randwrite", foreign.display()),
            "mine",
        ),
        (
            format!("{directory} --axis target=/tmp,/var"),
            "remove the other paths",
        ),
    ];
    for (arguments, expected) in cases {
        let ran = fathom(sweep(&arguments)).expect(2);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
        assert!(ran.out.is_empty(), "{}", ran.out);
    }
}

/// Arguments of a null-engine sweep with a store of its own.
fn stored_sweep(scratch: &Scratch, rest: &str) -> Vec<String> {
    sweep(&format!(
        "{} --axis iodepth=1..32*2 --axis bs=4k,8k --store={} {rest}",
        paced(scratch),
        store(scratch)
    ))
}

fn store(scratch: &Scratch) -> String {
    scratch.join("store.db").display().to_string()
}

fn resume(scratch: &Scratch, rest: &str) -> Vec<String> {
    split_args(&format!("resume --store={} {rest}", store(scratch)))
}

/// Names of the measured cells, from the events.
fn measured_cells(events: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(events).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines
        .filter(|event| event["event"] == "done")
        .map(|event| event["cell"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn a_killed_sweep_resumes_without_repeating_finished_cells() {
    let scratch = Scratch::new().expect("a directory");
    let (before, after) = (scratch.join("before"), scratch.join("after"));
    let running = start(program(stored_sweep(
        &scratch,
        &format!("--events={}", before.display()),
    )));
    common::wait_until("some cells are measured", || {
        measured_cells(&before).len() >= 3
    });
    running.signal(rustix::process::Signal::KILL);
    drop(running.finish());
    let first = measured_cells(&before);
    let ran = fathom(resume(&scratch, &format!("--events={}", after.display())));
    let second = measured_cells(&after);
    assert!(
        first.len() < 12 && second.iter().all(|cell| !first.contains(cell)),
        "{first:?} then {second:?}"
    );
    // One cell may have been stored without an event.
    assert!(
        (11..=12).contains(&(first.len() + second.len())),
        "{first:?} then {second:?}"
    );
    let rows = ran
        .out
        .lines()
        .filter(|line| line.contains("4k") || line.contains("8k"))
        .count();
    assert!(
        rows >= 12 && !ran.out.contains("were not measured"),
        "the table has all cells: {}",
        ran.out
    );
    // There is no run left to resume.
    assert!(
        fathom(resume(&scratch, ""))
            .expect(2)
            .err
            .contains("no run can be continued"),
        "finished"
    );
    assert!(
        fathom(resume(&scratch, "r1"))
            .expect(2)
            .err
            .contains("r1 is finished"),
        "finished"
    );
}

#[test]
fn an_interrupt_keeps_finished_cells_and_shows_how_to_resume() {
    let scratch = Scratch::new().expect("a directory");
    let events = scratch.join("events");
    let directory = scratch.join("target");
    std::fs::create_dir(&directory).expect("a directory");
    let arguments = format!(
        "{} --axis bs=4k..32k*2 --runtime=400ms --size=16m --set=direct=0 --store={} --events={}",
        directory.display(),
        store(&scratch),
        events.display()
    );
    let running = start(program(sweep(&arguments)));
    common::wait_until("a cell is measured", || {
        !measured_cells(&events).iter().all(|cell| cell == "layout")
    });
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish().expect(130);
    assert!(
        ran.err.contains("resume with `fathom resume r1`")
            && ran
                .err
                .contains("was not removed, so that the run can be resumed"),
        "{}",
        ran.err
    );
    assert!(
        ran.out.contains("IOPS"),
        "finished cells are shown: {}",
        ran.out
    );
    let ran = fathom(resume(&scratch, "r1 --events=-"));
    assert!(
        ran.out
            .contains("{\"event\":\"end\",\"outcome\":\"done\",\"resume\":null}"),
        "{}",
        ran.out
    );
    assert_eq!(
        std::fs::read_dir(&directory)
            .expect("the directory")
            .count(),
        0,
        "the file is removed"
    );
}

/// ENOSPC on the target: it is reported, files are removed, and the sweep resumes when there is
/// free space.
#[test]
fn a_full_disk_is_reported_and_the_sweep_resumes_later() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a directory");
    if let Err(why) = FsKind::Ext4.available() {
        return skip(&why);
    }
    let device = LoopDevice::create(&scratch.join("disk.img"), 64 << 20, LoopOptions::default())
        .expect("a device");
    let disk = Mount::format(device.path(), FsKind::Ext4, "").expect("a mount");
    let (hog, events) = (disk.path().join("hog"), scratch.join("events"));
    let job = scratch.join("grow.fio");
    std::fs::write(
        &job,
        "[grow]\nrw=write\nbs=64k\ndirect=0\ntime_based\nruntime=1s\n",
    )
    .expect("a file");
    let file = disk.path().join("data");
    let arguments = format!(
        "{} --axis size=2m,24m --set filename={} --store={} --events={}",
        job.display(),
        file.display(),
        store(&scratch),
        events.display()
    );
    let running = start(program(sweep(&arguments)));
    common::wait_until("the first cell runs", || {
        std::fs::read_to_string(&events)
            .unwrap_or_default()
            .contains("\"cell\"")
    });
    // The disk fills while the first cell runs.
    running.signal(rustix::process::Signal::STOP);
    let hog_file = std::fs::File::create(&hog).expect("a file");
    rustix::fs::fallocate(&hog_file, rustix::fs::FallocateFlags::empty(), 0, 40 << 20)
        .expect("enough free space");
    running.signal(rustix::process::Signal::CONT);
    let ran = running.finish().expect(1);
    assert!(
        ran.err.contains("MiB are free") || ran.err.contains("full"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("resume with `fathom resume r1`") && ran.out.contains("2m"),
        "{} {}",
        ran.out,
        ran.err
    );
    drop(hog_file);
    std::fs::remove_file(&hog).expect("our own file");
    let ran = fathom(resume(&scratch, "r1"));
    assert!(
        !ran.out.contains("not measured") && ran.out.contains("24m"),
        "{} {}",
        ran.out,
        ran.err
    );
}
