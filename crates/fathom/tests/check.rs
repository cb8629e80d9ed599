//! `fathom check`: figures of others, through the program.

mod common;

use common::{fathom, words};
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Scratch, require};

/// Lines of a narrow terminal as one.
fn unfolded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn figures_on_the_command_line_are_judged() {
    // 125 per second of 8.5 ms each need 1.06 in flight.
    let ran = fathom(words("check --iops=125 --lat=8.5ms --iodepth=1")).expect(0);
    assert!(ran.out.contains("DEGRADED") && ran.out.contains("F041 LITTLE_DISAGREES") && ran.out.contains("117.6"), "{}", ran.out);
    // 1,000,000 / 116 = 8,620; 8,459 is 1.9 % less.
    let ran = fathom(words("check --iops=8,459 --lat=116us")).expect(0);
    assert!(ran.out.contains("VALID: nothing known") && unfolded(&ran.out).contains("in flight, of 1 possible (98 %)"), "{}", ran.out);
    let ran = fathom(words("check --iops=253 --bs=4m --numjobs=4 --per-job --link=pcie3x4")).expect(1);
    assert!(ran.out.contains("ABOVE_LINK") && ran.out.contains("108 %"), "{}", ran.out);
    let ran = fathom(words("check --iops=80,00")).expect(1);
    assert!(ran.out.contains("NUMBER_MALFORMED") && ran.out.contains("'80,00'"), "{}", ran.out);
}

#[test]
fn what_is_no_result_is_refused() {
    let folder = Scratch::new().expect("a folder");
    let text = folder.join("text");
    std::fs::write(&text, "fio: no such file").expect("written");
    let at = |path: &std::path::Path| vec!["check".to_owned(), path.to_string_lossy().into_owned()];
    for (arguments, part) in [
        (at(&text), "there is no JSON document"),
        (at(&folder.join("none")), "cannot be read"),
        (words("check"), "give a result"),
        (words("check --nonsense=1"), "no option '--nonsense'"),
        (words("check --iops=1 --link=usb"), "no link that is known"),
        (words("check --iops=1 --lat=fast"), "not a time"),
        (words("check --iops=1 --iodepth=0"), "not a whole number from 1"),
    ] {
        let ran = fathom(&arguments).expect(2);
        assert!(ran.err.contains(part) && ran.out.is_empty(), "{arguments:?}: {}", ran.err);
    }
}

/// fio itself, at a depth that it keeps: rate, latency and depth agree, and nothing is found.
#[test]
fn a_result_of_fio_obeys_littles_law() {
    require!(Fio);
    let folder = Scratch::new().expect("a folder");
    let result = folder.join("result.json");
    let line = "--name=x --ioengine=psync --rw=randread --bs=4k --size=4m --time_based --runtime=1 --thinktime=0 --output-format=json";
    let status = std::process::Command::new("fio")
        .args(words(line))
        .arg(format!("--filename={}", folder.join("data").display()))
        .arg(format!("--output={}", result.display()))
        .stdout(std::process::Stdio::null())
        .status()
        .expect("fio");
    assert!(status.success());
    let ran = fathom([std::path::Path::new("check"), &result]);
    assert!(unfolded(&ran.out).contains("in flight, of 1 possible"), "{} {}", ran.out, ran.err);
}

/// Cause 14: fio's own logs of a device that answers four times a second, in windows of a tenth: where nothing completed there
/// is no row. The summary is right, a picture of the rows is not.
#[test]
fn logs_of_fio_that_disagree_with_its_summary() {
    require!(Fio, Fuse);
    let latency = Latency { read_us: 250_000, ..Latency::default() };
    let device = FaultDevice::mount(DeviceOptions { latency, ..DeviceOptions::default() }).expect("a fault device");
    let folder = Scratch::new().expect("a folder");
    let line = "--name=x --ioengine=psync --rw=randread --bs=4k --size=4m --direct=1 --time_based --runtime=3 --log_avg_msec=100 --output-format=json";
    let status = std::process::Command::new("fio")
        .args(words(line))
        .arg(common::on(&device.path()))
        .arg(format!("--write_iops_log={}", folder.join("log").display()))
        .arg(format!("--output={}", folder.join("result.json").display()))
        .stdout(std::process::Stdio::null())
        .status()
        .expect("fio");
    assert!(status.success());
    let (result, log) = (folder.join("result.json"), format!("--log={}", folder.join("log_iops.1.log").display()));
    let ran = fathom(["check".to_owned(), result.display().to_string(), log]).expect(0);
    let said = unfolded(&ran.out);
    assert!(said.contains("LOGS_MISLEAD") && said.contains("rows are missing"), "{said}");
}
