//! The same command lines for the installed fio and for `fathom fio`: exit codes, documents and listings.

mod peer;

use std::collections::BTreeSet;

use fathom_testkit::{DeviceOptions, Fault, FaultDevice, FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};
use peer::{FIOS, Left, OURS, run};
use serde_json::Value;

const ONE: &str = "[one]\nioengine=null\nsize=1m\n";
const TWO: &str = "[global]\nioengine=null\nsize=1m\n[a]\nrw=randread\nbs=8k\n[b]\nrw=write\nstonewall\nnumjobs=2\n";
const MIXED: &str = "; what was measured\n[global]\nioengine=null\nsize=4m\niodepth=8\nrandrepeat=0\n\
    [mix 1]\nrw=randrw\nrwmixread=70\nbssplit=4k/60:64k/40\n[late]\nstartdelay=1\nrw=read\nbs=4k,8k\n";
const BAD: &str = "[bad]\nsize=1m\nfrobnicate=1\n";

/// A folder with these job files for one program.
fn folder() -> Scratch {
    let scratch = Scratch::new().expect("a folder");
    for (name, text) in [("one.fio", ONE), ("two.fio", TWO), ("mixed.fio", MIXED), ("bad.fio", BAD)] {
        std::fs::write(scratch.join(name), text).expect("a job file");
    }
    scratch
}

/// fio's answer and ours.
fn both(line: &str) -> [Left; 2] {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    [&FIOS[..], &OURS[..]].map(|program| run(program, folder().path(), &arguments))
}

#[test]
fn exit_codes_are_the_same() {
    require!(Fio);
    let lines = [
        "one.fio",
        "two.fio",
        "two.fio --section=a",
        "one.fio --output-format=json --output=result",
        "--name=j --ioengine=null --size=1m --rw=randread --iodepth 4",
        "-name=j -ioengine=null -size=1m",
        "one.fio two.fio --minimal",
        "--parse-only mixed.fio",
        "--showcmd mixed.fio",
        "--version",
        // Refused.
        "",
        "--output-format=json",
        "nosuch.fio",
        "bad.fio",
        "one.fio bad.fio",
        "--parse-only bad.fio",
        "one.fio --section=nosuch",
        "--nosuch",
        "--name=j --nosuch=1",
        "--name=j --ioengine=null --size=1m --rw=sideways",
        "--name=j --ioengine=null --size=1m --bs=abc",
        "--name=j --ioengine=null --size=1m --iodepth=0",
        "--name=j --ioengine=null --size=1m --numjobs=-1",
        "--name=j --ioengine=null --size=1m --time_based=true",
        "--name=j --ioengine=nosuch --size=1m",
        "--name=j --ioengine=null",
        "--name=j --filename=no/such/file --rw=read --size=1m --allow_file_create=0",
        "--readonly --name=j --rw=write --ioengine=null --size=1m",
    ];
    let mut apart = Vec::new();
    for line in lines {
        let [theirs, ours] = both(line);
        if theirs.code != ours.code || (ours.code == Some(0)) != ours.err.is_empty() {
            apart.push(format!("{line:?}: fio {:?}, ours {:?} {}", theirs.code, ours.code, ours.err));
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// fio counts the clones that failed.
#[test]
fn each_clone_that_fails_counts() {
    require!(Fio, Fuse);
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a device");
    device.inject(Fault::ReadError { offset: 0, len: 1 << 20 });
    let scratch = Scratch::new().expect("a folder");
    let on = format!("--filename={}", device.path().display());
    let line = ["--name=fails", &on, "--rw=read", "--size=1m", "--numjobs=3", "--thread", "--output-format=json"];
    for left in [&FIOS[..], &OURS[..]].map(|program| run(program, scratch.path(), &line)) {
        assert_eq!(left.code, Some(3), "{}{}", left.out, left.err);
    }
}

/// A file system that is too small: fio fills it and counts three clones; we write nothing and say so.
#[test]
fn a_full_device_is_no_success() {
    require!(Fio, Root, Loop);
    let scratch = Scratch::new().expect("a folder");
    let backing = scratch.join("disk");
    std::fs::File::create(&backing).and_then(|file| file.set_len(32 << 20)).expect("a backing file");
    let device = LoopDevice::attach(&backing, LoopOptions::default()).expect("a loop device");
    let mounted = Mount::format(device.path(), FsKind::Ext4, "").expect("a file system");
    let on = format!("--directory={}", mounted.path().display());
    let line = ["--name=full", &on, "--rw=write", "--bs=64k", "--size=64m", "--fallocate=none", "--numjobs=3", "--thread"];
    let ours = run(&OURS, scratch.path(), &line);
    assert!(ours.code == Some(1) && ours.err.contains("are free"), "{ours:?}");
    assert!(!mounted.join("full.0.0").exists());
    assert_eq!(run(&FIOS, scratch.path(), &line).code, Some(3));
}

#[test]
fn versions_have_one_form() {
    require!(Fio);
    for left in both("--version") {
        let numbers = left.out.trim_end().strip_prefix("fio-").expect("fio-").to_owned();
        let parts: Vec<Option<u32>> = numbers.split('.').map(|part| part.parse().ok()).collect();
        assert!(parts.len() >= 2 && parts.iter().all(Option::is_some), "{numbers}");
    }
}

#[test]
fn listings_are_the_same() {
    require!(Fio);
    for line in ["--showcmd one.fio", "--showcmd two.fio", "--showcmd mixed.fio", "--showcmd one.fio two.fio", "--parse-only two.fio"] {
        let [theirs, ours] = both(line);
        assert_eq!(theirs.out, ours.out, "{line}");
    }
}

/// Keys whose children are data.
const DATA: [&str; 3] = ["percentile", "bins", "disk_util"];
/// What the head of fio has and 3.33 has not; of options, those without a value.
const NEWER: [&str; 5] = ["job_start", "latency_target_ns", "latency_window_us", "stonewall", "group_reporting"];

/// Every key with the type of its value, in one line each; of a list the first element stands for all.
fn shape(value: &Value, at: &str, all: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "real",
        Value::Number(_) => "integer",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    all.insert(format!("{at} {kind}"));
    let under = |key: &str| if DATA.contains(&key) { None } else { Some(format!("{at}/{key}")) };
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(n, one)| shape(one, &format!("{at}/{n}"), all)),
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| !NEWER.contains(&key.as_str())) {
                match under(key) {
                    Some(at) => shape(value, &at, all),
                    None => {
                        all.insert(format!("{at}/{key}"));
                    }
                }
            }
        }
        _ => {}
    }
}

#[test]
fn documents_have_the_same_keys_and_types() {
    require!(Fio);
    let lines = [
        "one.fio --output-format=json",
        "two.fio --output-format=json",
        "two.fio --output-format=json+ --lat_percentiles=1 --slat_percentiles=1",
        "two.fio --group_reporting --output-format=json",
        "mixed.fio --output-format=json",
        "--name=f --size=1m --rw=write --fsync=4 --unlink=1 --output-format=json",
        "--name=g --ioengine=null --size=1m --gtod_reduce=1 --output-format=json",
        "--name=u --ioengine=null --size=1m --rw=randrw --unified_rw_reporting=1 --output-format=json",
        "--name=u --ioengine=null --size=1m --rw=randrw --unified_rw_reporting=both --output-format=json",
    ];
    let mut apart = Vec::new();
    for line in lines {
        let shapes = both(line).map(|left| {
            let document = serde_json::from_str(&left.out).unwrap_or_else(|error| panic!("{line}: {error}\n{}{}", left.out, left.err));
            let mut all = BTreeSet::new();
            shape(&document, "", &mut all);
            all
        });
        let [theirs, ours] = shapes;
        apart.extend(theirs.difference(&ours).map(|one| format!("{line}: only fio has {one}")));
        apart.extend(ours.difference(&theirs).map(|one| format!("{line}: only we have {one}")));
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// The bytes of a pattern are those fio writes.
#[test]
fn patterns_are_the_same_bytes() {
    require!(Fio);
    for pattern in ["\"abcd\"-120xdeadface", "0x1234", "\"long\"0xff7", "85"] {
        let written = [&FIOS[..], &OURS[..]].map(|program| {
            let scratch = Scratch::new().expect("a folder");
            let option = format!("--buffer_pattern={pattern}");
            let left = run(program, scratch.path(), &["--name=p", "--filename=data", "--size=16k", "--rw=write", &option]);
            assert_eq!(left.code, Some(0), "{pattern}: {}", left.err);
            std::fs::read(scratch.join("data")).expect("data")
        });
        assert!(written[0] == written[1], "{pattern}: {:02x?} and {:02x?}", &written[0][..16], &written[1][..16]);
    }
}

/// fio does again what our trace says was done.
#[test]
fn fio_replays_our_trace() {
    require!(Fio);
    let scratch = Scratch::new().expect("a folder");
    let traced = "--name=t --size=1m --rw=randrw --fsync=8 --ioengine=libaio --iodepth=4 --filename=a:b --write_iolog=trace \
                  --output-format=json";
    let replay = "--name=r --read_iolog=trace --ioengine=psync --replay_no_stall=1 --output-format=json";
    let done = [(&OURS[..], traced), (&FIOS[..], replay)].map(|(program, line)| {
        let left = run(program, scratch.path(), &line.split_whitespace().collect::<Vec<_>>());
        let json: Value = serde_json::from_str(&left.out).unwrap_or_else(|error| panic!("{error}: {}{}", left.out, left.err));
        ["read", "write"].map(|way| (json["jobs"][0][way]["total_ios"].as_u64(), json["jobs"][0][way]["io_kbytes"].as_u64()))
    });
    assert_eq!(done[0], done[1]);
}
