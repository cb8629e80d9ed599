//! The same command lines for the installed fio and for `fathom fio`: exit codes, documents and
//! listings.

use std::collections::BTreeSet;

use crate::peer::{Completed, FATHOM_FIO, FIO, run};
use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, FsKind, LoopDevice, LoopOptions, Mount, Scratch, require,
};
use serde_json::Value;

const ONE: &str = "[one]\nioengine=null\nsize=1m\n";
const TWO: &str = "[global]\nioengine=null\nsize=1m\n[a]\nrw=randread\nbs=8k\n[b]\nrw=write\nstonewall\nnumjobs=2\n";
const MIXED: &str = "; a comment\n[global]\nioengine=null\nsize=4m\niodepth=8\nrandrepeat=0\n\
    [mix 1]\nrw=randrw\nrwmixread=70\nbssplit=4k/60:64k/40\n[late]\nstartdelay=1\nrw=read\nbs=4k,8k\n";
/// A group of one job, a group of two clones, and a job after a stonewall.
const GROUPS: &str = "[global]\nioengine=null\nsize=1m\ngroup_reporting\n[a]\nrw=read\n[b]\nrw=write\nnew_group\nnumjobs=2\n\
    [c]\nrw=randrw\nstonewall\n";
const UNIFIED: &str = "[global]\nioengine=null\nsize=1m\nrw=randrw\n[a]\nunified_rw_reporting=1\n[b]\n[c]\nunified_rw_reporting=2\n";
const BAD: &str = "[bad]\nsize=1m\nfrobnicate=1\n";

/// A directory with these job files for one program.
fn directory() -> Scratch {
    let scratch = Scratch::new().expect("a directory");
    let all = [
        ("one.fio", ONE),
        ("two.fio", TWO),
        ("mixed.fio", MIXED),
        ("bad.fio", BAD),
        ("groups.fio", GROUPS),
        ("unified.fio", UNIFIED),
    ];
    for (name, text) in all {
        std::fs::write(scratch.join(name), text).expect("a job file");
    }
    scratch
}

/// Runs the line with fio and with fathom.
fn both(line: &str) -> [Completed; 2] {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    [&FIO[..], &FATHOM_FIO[..]].map(|program| run(program, directory().path(), &arguments))
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
    let mut differences = Vec::new();
    for line in lines {
        let [theirs, ours] = both(line);
        if theirs.code != ours.code || (ours.code == Some(0)) != ours.err.is_empty() {
            differences.push(format!(
                "{line:?}: fio {:?}, ours {:?} {}",
                theirs.code, ours.code, ours.err
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// fio counts the clones that failed.
#[test]
fn each_clone_that_fails_counts() {
    require!(Fio, Fuse);
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a device");
    device.inject(Fault::ReadError {
        offset: 0,
        len: 1 << 20,
    });
    let scratch = Scratch::new().expect("a directory");
    let on = format!("--filename={}", device.path().display());
    let line = [
        "--name=fails",
        &on,
        "--rw=read",
        "--size=1m",
        "--numjobs=3",
        "--thread",
        "--output-format=json",
    ];
    for result in [&FIO[..], &FATHOM_FIO[..]].map(|program| run(program, scratch.path(), &line)) {
        assert_eq!(result.code, Some(3), "{}{}", result.out, result.err);
    }
}

/// A file system that is too small: fio fills it and counts three failed clones; fathom writes
/// nothing and reports the lack of space.
#[test]
fn a_full_device_is_an_error() {
    require!(Fio, Root, Loop);
    let scratch = Scratch::new().expect("a directory");
    let backing = scratch.join("disk");
    std::fs::File::create(&backing)
        .and_then(|file| file.set_len(32 << 20))
        .expect("a backing file");
    let device = LoopDevice::attach(&backing, LoopOptions::default()).expect("a loop device");
    let mounted = Mount::format(device.path(), FsKind::Ext4, "").expect("a file system");
    let on = format!("--directory={}", mounted.path().display());
    let line = [
        "--name=full",
        &on,
        "--rw=write",
        "--bs=64k",
        "--size=64m",
        "--fallocate=none",
        "--numjobs=3",
        "--thread",
    ];
    let ours = run(&FATHOM_FIO, scratch.path(), &line);
    assert!(
        ours.code == Some(1) && ours.err.contains("are free"),
        "{ours:?}"
    );
    assert!(!mounted.join("full.0.0").exists());
    assert_eq!(run(&FIO, scratch.path(), &line).code, Some(3));
}

#[test]
fn versions_have_the_same_form() {
    require!(Fio);
    for result in both("--version") {
        let numbers = result
            .out
            .trim_end()
            .strip_prefix("fio-")
            .expect("fio-")
            .to_owned();
        let parts: Vec<Option<u32>> = numbers.split('.').map(|part| part.parse().ok()).collect();
        assert!(
            parts.len() >= 2 && parts.iter().all(Option::is_some),
            "{numbers}"
        );
    }
}

#[test]
fn listings_are_the_same() {
    require!(Fio);
    for line in [
        "--showcmd one.fio",
        "--showcmd two.fio",
        "--showcmd mixed.fio",
        "--showcmd one.fio two.fio",
        "--parse-only two.fio",
    ] {
        let [theirs, ours] = both(line);
        assert_eq!(theirs.out, ours.out, "{line}");
    }
}

/// Keys whose children are data.
const DATA: [&str; 3] = ["percentile", "bins", "disk_util"];
/// Keys of the newest fio that 3.33 lacks, and options without a value.
const NEWER: [&str; 6] = [
    "job_start",
    "latency_target_ns",
    "latency_window_us",
    "stonewall",
    "group_reporting",
    "new_group",
];

/// Every key with the type of its value, one line each.
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
    let under = |key: &str| {
        if DATA.contains(&key) {
            None
        } else {
            Some(format!("{at}/{key}"))
        }
    };
    match value {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(n, one)| shape(one, &format!("{at}/{n}"), all)),
        Value::Object(object) => {
            for (key, value) in object
                .iter()
                .filter(|(key, _)| !NEWER.contains(&key.as_str()))
            {
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
        "one.fio --idle-prof=system --output-format=json",
        "one.fio --idle-prof=percpu --output-format=json",
        // Regression 0140: a job without I/O had a latency_depth in its result; in fio it has none.
        "one.fio --create_only=1 --ioengine=psync --unlink=1 --output-format=json",
        "groups.fio --output-format=json",
        "groups.fio --group_reporting=0 --output-format=json+",
        "groups.fio --unified_rw_reporting=mixed --output-format=json",
        "groups.fio --unified_rw_reporting=both --output-format=json",
        "unified.fio --output-format=json",
        "unified.fio --group_reporting --output-format=json",
        "one.fio --rw=randtrim --output-format=json",
        "one.fio --rw=trimwrite --output-format=json",
        "one.fio --lat_percentiles=1 --clat_percentiles=0 --output-format=json",
        "one.fio --lat_percentiles=0 --clat_percentiles=0 --output-format=json",
        "one.fio --disable_slat=1 --disable_clat=1 --disable_lat=1 --output-format=json",
        "one.fio --continue_on_error=all --output-format=json",
        "one.fio --description=some_words --output-format=json",
        "one.fio --percentile_list=50:99.9 --loops=3 --output-format=json+",
        "one.fio --latency_target=20ms --latency_window=100ms --latency_percentile=90 --iodepth=8 --time_based=1 --runtime=1 --output-format=json",
        "one.fio --ss=iops:90% --ss_dur=2s --rate_iops=500 --time_based=1 --runtime=8 --output-format=json",
        "one.fio --ss=bw_slope:90% --ss_dur=2s --ss_ramp=1s --rate_iops=500 --time_based=1 --runtime=4 --output-format=json",
        // With a run time: without one, fio 3.33 sometimes hangs when a job of a flow ends before
        // another.
        "--name=global --ioengine=null --size=1m --flow_id=1 --flow_sleep=1000 --rate_iops=1000 --time_based=1 --runtime=1 --output-format=json --name=a --flow=2 --name=b --flow=1",
        "one.fio --max_latency=10s --rate_min=1k --rate=1m --number_ios=8 --output-format=json",
    ];
    let differences = side_by_side(&lines, |line, [theirs, ours]| {
        let [theirs, ours] = [theirs, ours].map(|result| {
            let document = serde_json::from_str(&result.out)
                .unwrap_or_else(|error| panic!("{line}: {error}\n{}{}", result.out, result.err));
            let mut all = BTreeSet::new();
            shape(&document, "", &mut all);
            all
        });
        let only = |program: &str, a: &BTreeSet<String>, b: &BTreeSet<String>| {
            a.difference(b)
                .map(|one| format!("{line}: only {program} has {one}"))
                .collect::<Vec<_>>()
        };
        [only("fio", &theirs, &ours), only("fathom", &ours, &theirs)].concat()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Runs each line with both programs, several lines in parallel, and collects the results of
/// `compare`.
fn side_by_side(
    lines: &[&str],
    compare: impl Fn(&str, [Completed; 2]) -> Vec<String> + Sync,
) -> Vec<String> {
    let compare = &compare;
    let some = |lines: &[&str]| {
        lines
            .iter()
            .flat_map(|line| compare(line, both(line)))
            .collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let chunks: Vec<_> = lines
            .chunks(lines.len().div_ceil(10))
            .map(|lines| scope.spawn(move || some(lines)))
            .collect();
        chunks
            .into_iter()
            .flat_map(|chunk| chunk.join().expect("compared"))
            .collect()
    })
}

/// Lines whose terse fields and whose text are compared.
const SHAPES: [&str; 17] = [
    "one.fio",
    "two.fio",
    "two.fio --group_reporting",
    "mixed.fio",
    "groups.fio",
    "groups.fio --group_reporting=0",
    "groups.fio --unified_rw_reporting=mixed",
    "unified.fio",
    "unified.fio --group_reporting",
    "one.fio --rw=randtrim",
    "one.fio --rw=trimwrite",
    "one.fio --gtod_reduce=1",
    "one.fio --lat_percentiles=1 --slat_percentiles=1 --percentile_list=50:99.9",
    "one.fio --continue_on_error=all --description=some_words",
    "--name=f --size=1m --rw=write --fsync=4 --unlink=1",
    "one.fio --rate_iops=2000 --numjobs=2 --thread",
    "one.fio --create_only=1 --ioengine=psync --unlink=1",
];

#[test]
fn terse_lines_have_the_same_number_of_fields() {
    require!(Fio);
    for version in [2, 3, 4, 5] {
        let some = SHAPES.iter().skip(version % 2).step_by(2);
        let lines: Vec<String> = some
            .map(|line| format!("{line} --minimal --terse-version={version}"))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let fields = |result: &Completed| {
            result
                .out
                .lines()
                .map(|line| line.split(';').count())
                .collect::<Vec<_>>()
        };
        let differences = side_by_side(&lines, |line, [theirs, ours]| {
            let (theirs, ours) = (fields(&theirs), fields(&ours));
            if theirs == ours {
                Vec::new()
            } else {
                vec![format!("{line}: fio {theirs:?}, fathom {ours:?}")]
            }
        });
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

/// Masks the parts of a line that differ between runs: numbers, units, rows of wrapped tables.
fn masked(line: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = line.trim_end().chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '0'..='9' => {
                while rest
                    .next_if(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | '+'))
                    .is_some()
                {}
                while rest
                    .next_if(|c| matches!(c, 'k' | 'K' | 'M' | 'G' | 'T' | 'i' | 'B' | 'b'))
                    .is_some()
                {}
                out.push('#');
            }
            ' ' if out.ends_with([' ', '=', '[']) => {}
            c => out.push(c),
        }
    }
    let replacements = [
        ("(nsec)", "(t)"),
        ("(usec)", "(t)"),
        ("(msec)", "(t)"),
        ("( KiB/s)", "(rate)"),
        ("( MiB/s)", "(rate)"),
        ("processes", "workers"),
        ("process", "workers"),
        ("threads", "workers"),
        ("thread", "workers"),
    ];
    let mut out = replacements
        .iter()
        .fold(out, |out, (from, to)| out.replace(from, to));
    if let Some(at) = out.find(": pid=") {
        out.truncate(at);
    }
    // The number of table rows and latency classes depends on the values; fathom prints nothing
    // about laying out files. fio counts zone resets only on zoned devices, prints the sectors of
    // disks, and supports syncfs only since 3.35.
    let varies = out.starts_with(" |")
        || out.starts_with(" lat (t) :")
        || out.contains("Laying out")
        || out.starts_with(" #: ios=");
    let newer = out
        .replace("; # zone resets", "")
        .replace("/syncfs", "")
        .replace("target=#ns, window=#ns", "target=#, window=#");
    (!varies).then_some(newer)
}

#[test]
fn texts_have_the_same_lines() {
    require!(Fio);
    let differences = side_by_side(&SHAPES, |line, [theirs, ours]| {
        let [theirs, ours] =
            [theirs, ours].map(|result| result.out.lines().filter_map(masked).collect::<Vec<_>>());
        // Runs that are too short have no lines for samples and disks. fio 3.33 rounds the rates of
        // the mix to zero.
        let steady = |lines: Vec<String>| -> Vec<String> {
            let is = |line: &String, start: &str| line.starts_with(start);
            // A group of jobs with different kinds of mix has other lines in 3.33 than in newer
            // versions.
            let differs = |l: &String| {
                line.starts_with("unified.fio")
                    && [" READ:", " WRITE:", " MIXED:"]
                        .iter()
                        .any(|word| is(l, word))
            };
            lines
                .into_iter()
                .filter(|l| {
                    !differs(l)
                        && !is(l, " bw (")
                        && !is(l, " iops :")
                        && !is(l, " mixed: IOPS=")
                        && !is(l, "Disk stats")
                        && !is(l, " vd")
                        && !is(l, " loop")
                })
                .collect()
        };
        let (theirs, ours) = (steady(theirs), steady(ours));
        let first = theirs.iter().zip(&ours).find(|(a, b)| a != b);
        match first {
            Some((theirs, ours)) => vec![format!("{line}:\n  fio    {theirs}\n  fathom {ours}")],
            None if theirs.len() != ours.len() => {
                vec![format!("{line}: fio {theirs:#?}, fathom {ours:#?}")]
            }
            None => Vec::new(),
        }
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The bytes of a pattern equal those that fio writes.
#[test]
fn patterns_are_the_same_bytes() {
    require!(Fio);
    for pattern in ["\"abcd\"-120xdeadface", "0x1234", "\"long\"0xff7", "85"] {
        let written = [&FIO[..], &FATHOM_FIO[..]].map(|program| {
            let scratch = Scratch::new().expect("a directory");
            let option = format!("--buffer_pattern={pattern}");
            let result = run(
                program,
                scratch.path(),
                &[
                    "--name=p",
                    "--filename=data",
                    "--size=16k",
                    "--rw=write",
                    &option,
                ],
            );
            assert_eq!(result.code, Some(0), "{pattern}: {}", result.err);
            std::fs::read(scratch.join("data")).expect("data")
        });
        assert!(
            written[0] == written[1],
            "{pattern}: {:02x?} and {:02x?}",
            &written[0][..16],
            &written[1][..16]
        );
    }
}

/// Regression 0040: zones were not traversed as in fio: after the last zone follows the first,
/// until the amount is done; the block that crosses the amount of a zone is its last; a zone that
/// the end of the region truncates ends the pass.
#[test]
fn zones_are_traversed_as_by_fio() {
    require!(Fio);
    for zones in [
        "--size=1m --zonesize=64k --zonerange=128k",
        "--size=1m --zonesize=64k --zonerange=64k --zoneskip=64k",
        "--size=1m --zonesize=64k --zonerange=128k --zoneskip=32k",
        "--size=1m --zonesize=128k --zonerange=64k",
        "--size=1m --zonesize=64k --zoneskip=64k --io_size=2m",
        "--size=1000k --zonesize=60k --zonerange=120k",
        "--size=1m --bs=12k --zonesize=64k --zonerange=128k",
        "--size=1m --offset=100k --zonesize=64k --zonerange=128k",
    ] {
        let traces = [&FIO[..], &FATHOM_FIO[..]].map(|program| {
            let scratch = Scratch::new().expect("a directory");
            let line = format!("--name=z --filename=data --ioengine=null --rw=write --zonemode=strided --write_iolog=trace {zones}");
            let result = run(program, scratch.path(), &line.split_whitespace().collect::<Vec<_>>());
            assert_eq!(result.code, Some(0), "{zones}: {}", result.err);
            let trace = std::fs::read_to_string(scratch.join("trace")).expect("a trace");
            let offsets = trace.lines().filter_map(|line| line.split_once(" write ").map(|(_, offset)| offset.to_owned()));
            offsets.collect::<Vec<_>>()
        });
        assert!(
            !traces[0].is_empty() && traces[0] == traces[1],
            "{zones}: {} and {}",
            traces[0].len(),
            traces[1].len()
        );
    }
}

/// fio replays the trace of a fathom run with the same I/O counts.
#[test]
fn fio_replays_our_trace() {
    require!(Fio);
    let scratch = Scratch::new().expect("a directory");
    let traced = "--name=t --size=1m --rw=randrw --fsync=8 --ioengine=libaio --iodepth=4 --filename=a:b --write_iolog=trace \
                  --output-format=json";
    let replay =
        "--name=r --read_iolog=trace --ioengine=psync --replay_no_stall=1 --output-format=json";
    let counts = [(&FATHOM_FIO[..], traced), (&FIO[..], replay)].map(|(program, line)| {
        let result = run(
            program,
            scratch.path(),
            &line.split_whitespace().collect::<Vec<_>>(),
        );
        let json: Value = serde_json::from_str(&result.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
        ["read", "write"].map(|direction| {
            (
                json["jobs"][0][direction]["total_ios"].as_u64(),
                json["jobs"][0][direction]["io_kbytes"].as_u64(),
            )
        })
    });
    assert_eq!(counts[0], counts[1]);
}

/// The calculated values of a latency target and a steady state are equal in both documents.
#[test]
fn documents_of_paced_jobs_have_the_same_figures() {
    require!(Fio);
    let both = |line: &str, keys: &[&str]| {
        let figures = both(line).map(|result| {
            let json: Value = serde_json::from_str(&result.out)
                .unwrap_or_else(|error| panic!("{line}: {error}\n{}{}", result.out, result.err));
            keys.iter()
                .map(|key| json.pointer(key).cloned())
                .collect::<Vec<_>>()
        });
        assert!(
            figures[0].iter().all(Option::is_some),
            "{line}: {:?}",
            figures[0]
        );
        assert_eq!(figures[0], figures[1], "{line}: {keys:?}");
    };
    let target = "one.fio --latency_target=20ms --latency_window=100ms --latency_percentile=90 --time_based --runtime=1 --output-format=json";
    both(
        target,
        &[
            "/jobs/0/latency_depth",
            "/jobs/0/latency_target",
            "/jobs/0/latency_window",
            "/jobs/0/latency_percentile",
            "/jobs/0/error",
        ],
    );
    let steady = "one.fio --ss=iops:1000000 --ss_dur=2s --rate_iops=500 --time_based --runtime=8 --output-format=json";
    both(
        steady,
        &[
            "/jobs/0/steadystate/ss",
            "/jobs/0/steadystate/duration",
            "/jobs/0/steadystate/attained",
        ],
    );
}

/// Regression 0220: of two jobs of a flow with a planned rate, the second did all I/Os that the
/// flow had delayed in one burst, between the end of the first job and its own end.
#[test]
fn a_flow_holds_until_its_jobs_end() {
    require!(Fio);
    let line = "--name=global --ioengine=null --size=1g --flow_id=1 --rate_iops=3000 --time_based --runtime=1 --output-format=json --name=a --flow=2 --name=b --flow=1";
    for _ in 0..4 {
        let ours = run(
            &FATHOM_FIO,
            directory().path(),
            &line.split_whitespace().collect::<Vec<_>>(),
        );
        let json: Value = serde_json::from_str(&ours.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", ours.out, ours.err));
        let ios = |job: usize| {
            json["jobs"][job]["read"]["total_ios"]
                .as_u64()
                .expect("a number")
        };
        assert!(ios(1) * 2 <= ios(0) + 16, "{} and {}", ios(0), ios(1));
    }
}

/// Regressions 0332 and 0333: final syncs counted as sync I/Os and `fsync=N` did one more than fio; a
/// percentage of `filesize` was all of it; mmap failed on a file without space; aliases of libaio were
/// unknown; `zonesize` without `zonemode` was accepted.
#[test]
fn small_jobs_do_as_many_ios_and_syncs_as_in_fio() {
    require!(Fio);
    let lines = [
        "--rw=write --size=1m --fsync=8",
        "--rw=write --size=1m --io_size=600k --fsync=10",
        "--rw=write --size=1m --end_fsync=1",
        "--rw=write --size=1m --fsync_on_close=1",
        "--rw=read --filesize=1m --size=50%",
        "--rw=write --ioengine=mmap --size=1m --fallocate=none",
        "--rw=randwrite --ioengine=aio --size=256k --iodepth=4",
        "--rw=randwrite --ioengine=linuxaio --size=256k --iodepth=4",
        "--rw=read --size=1m --zonesize=64k --zoneskip=64k",
        "--rw=read --size=63k",
        "--rw=randread --size=63k",
    ];
    let apart: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            let figures = [&FIO[..], &FATHOM_FIO[..]].map(|program| {
                let scratch = Scratch::new().expect("a directory");
                let line = format!("--name=j --filename=data --output-format=json {line}");
                let args: Vec<&str> = line.split_whitespace().collect();
                let left = run(program, scratch.path(), &args);
                let json: Value = serde_json::from_str(&left.out).unwrap_or_default();
                let counts =
                    ["/read/total_ios", "/write/total_ios", "/sync/total_ios"].map(|key| {
                        json.pointer(&format!("/jobs/0{key}"))
                            .and_then(Value::as_u64)
                    });
                (left.code, counts)
            });
            (figures[0] != figures[1])
                .then(|| format!("{line}: fio {:?}, fathom {:?}", figures[0], figures[1]))
        })
        .collect();
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// Regression 0331: `iodepth_low` had no effect.
#[test]
fn a_queue_drains_to_iodepth_low_as_in_fio() {
    require!(Fio);
    let line = "--name=j --filename=data --ioengine=libaio --iodepth=32 --iodepth_low=8 --rw=randread --size=8m --direct=1 --output-format=json";
    for program in [&FIO[..], &FATHOM_FIO[..]] {
        let scratch = Scratch::new().expect("a directory");
        let left = run(
            program,
            scratch.path(),
            &line.split_whitespace().collect::<Vec<_>>(),
        );
        let json: Value = serde_json::from_str(&left.out).expect("a document");
        let full = json["jobs"][0]["iodepth_level"]["32"]
            .as_f64()
            .expect("a share");
        assert!(full < 20.0, "{program:?}: {full}");
    }
}

/// The exit code, and these fields of each job, of both programs, each in a directory of its own.
fn figures_of_both(line: &str, keys: &[&str]) -> [(Option<i32>, Vec<Vec<Value>>); 2] {
    [&FIO[..], &FATHOM_FIO[..]].map(|program| {
        let scratch = Scratch::new().expect("a directory");
        let line = format!("{line} --output-format=json");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let left = run(program, scratch.path(), &arguments);
        // fio prints lines about errors before the document.
        let document = left.out.find('{').map_or("", |start| &left.out[start..]);
        let mut documents = serde_json::Deserializer::from_str(document).into_iter::<Value>();
        let json = documents
            .next()
            .and_then(Result::ok)
            .unwrap_or_else(|| panic!("{program:?} {line}: {} {}", left.out, left.err));
        let jobs = json["jobs"].as_array().expect("jobs");
        let of = |job: &Value| {
            keys.iter()
                .map(|key| job.pointer(key).cloned().unwrap_or_default())
                .collect()
        };
        (left.code, jobs.iter().map(of).collect())
    })
}

/// The lines on which the programs differ in exit code, number of jobs, or one of these fields.
fn differences(lines: &[&str], keys: &[&str]) -> Vec<String> {
    lines
        .iter()
        .filter_map(|line| {
            let [theirs, ours] = figures_of_both(line, keys);
            (theirs != ours).then(|| format!("{line}: fio {theirs:?}, fathom {ours:?}"))
        })
        .collect()
}

const COUNTS: [&str; 4] = [
    "/read/total_ios",
    "/write/total_ios",
    "/trim/total_ios",
    "/error",
];

/// Regressions 0450 to 0453: a job without a size on a file that an earlier job makes was refused; a
/// pass with replacement ended before the last partial block; `size=200%` was refused; `size` beyond
/// `filesize` did the files twice.
#[test]
fn amounts_are_those_of_fio() {
    require!(Fio);
    let lines = [
        "--name=a --filename=data --rw=write --size=1m --name=b --stonewall --filename=data --rw=read",
        "--name=a --filename=data --rw=write --size=1m --name=b --filename=data --rw=randread",
        "--name=a --filename=data --rw=read --size=1m --name=b --filename=data --rw=randread --size=50%",
        "--name=j --filename=data --rw=randread --size=63k --norandommap",
        "--name=j --filename=data --rw=randwrite --size=63k --norandommap --loops=2",
        "--name=j --filename=data --rw=write --filesize=1m --size=200%",
        "--name=j --filename=data --rw=read --filesize=1m --size=2m",
        "--name=j --filename=data --rw=randread --filesize=1m --size=512k",
        "--name=j --filename=data --rw=write --filesize=1m --size=2m --loops=2",
        "--name=j --filename=data --rw=read --filesize=1m --io_size=2m",
    ];
    let apart = differences(&lines, &COUNTS);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// Regression 0452: an amount of more than all is an error in fio too.
#[test]
fn io_size_has_no_more_than_100_percent() {
    require!(Fio);
    for result in both("--name=j --ioengine=null --size=1m --io_size=200%") {
        assert_eq!(result.code, Some(1), "{} {}", result.out, result.err);
    }
}

/// Regression 0455: `unlink_each_loop` was refused. A job that reads has no file in the second loop.
#[test]
fn files_are_removed_between_loops_as_in_fio() {
    require!(Fio);
    let lines = [
        "--name=j --filename=data --rw=write --size=1m --unlink_each_loop=1 --loops=3",
        "--name=j --filename=data --rw=randwrite --size=1m --unlink_each_loop=1 --loops=3",
        "--name=j --filename=data --rw=read --size=1m --unlink_each_loop=1 --loops=3",
    ];
    let apart = differences(&lines, &COUNTS);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
    // Half a loop is left of a file that was emptied before it.
    let scratch = Scratch::new().expect("a directory");
    let line = "--name=j --filename=data --rw=write --size=1m --io_size=1536k --unlink_each_loop=1 --fallocate=none";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let left = run(&FATHOM_FIO, scratch.path(), &arguments);
    assert_eq!(left.code, Some(0), "{}", left.err);
    let data = std::fs::metadata(scratch.join("data")).expect("the file");
    assert_eq!(data.len(), 512 << 10);
}

/// Regression 0456: blocks above 1 GiB were refused; trims of 2 GiB are common in job files for SSDs.
#[test]
fn blocks_may_be_larger_than_a_gibibyte() {
    require!(Fio);
    let lines = [
        "--name=j --ioengine=null --rw=trim --size=4g --bs=2g",
        "--name=j --ioengine=null --rw=read --size=6g --bs=3g",
        "--name=j --ioengine=null --rw=write --size=4600m --bs=2300m",
        "--name=j --ioengine=null --rw=randwrite --size=9m --bs=4k,4k,2g",
    ];
    let apart = differences(&lines, &COUNTS);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// Regression 0457: /dev/zero could not be mapped, and reads of /dev/null failed with engines that fio
/// reads it with.
#[test]
fn character_devices_are_read_as_by_fio() {
    require!(Fio);
    let lines: Vec<String> = ["read", "randread"]
        .iter()
        .flat_map(|rw| {
            [
                ("mmap", "/dev/zero"),
                ("mmap", "/dev/null"),
                ("libaio", "/dev/null"),
                ("libaio", "/dev/zero"),
                ("psync", "/dev/zero"),
                ("io_uring", "/dev/null"),
                ("io_uring", "/dev/zero"),
            ]
            .map(|(engine, path)| {
                format!("--name=j --ioengine={engine} --filename={path} --rw={rw} --size=1m")
            })
        })
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let apart = differences(&lines, &COUNTS);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// Regression 0458: a run that could not begin had no document. Programs that start fio read the error
/// of each job from it.
#[test]
fn failed_runs_have_a_document() {
    require!(Fio);
    let lines = [
        "--name=j --filename=missing/data --rw=read --size=1m",
        "--name=j --filename=data --rw=read",
        "--name=j --filename=data --rw=read --offset=2m",
        "--name=j --readonly --filename=data --rw=read --size=1m",
    ];
    let apart = differences(&lines, &COUNTS);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
    // Of these the guard of fathom says so before an I/O is tried, or the errno differs.
    for line in [
        "--name=j --filename=/etc --rw=read --size=1m",
        "--name=j --filename=data --rw=read --size=1m --allow_file_create=0",
        "--name=j --filename=data --rw=write --size=1m --direct=1 --bs=1000",
    ] {
        let [theirs, ours] = figures_of_both(line, &["/jobname", "/groupid"]);
        assert_eq!(theirs, ours, "{line}");
        let [_, (_, errors)] = figures_of_both(line, &["/error"]);
        assert!(errors[0][0].as_u64() > Some(0), "{line}: {errors:?}");
    }
}

/// Regression 0458: with `--readonly` a file that is shorter than its job was read to its end.
#[test]
fn readonly_refuses_to_extend() {
    require!(Fio);
    for program in [&FIO[..], &FATHOM_FIO[..]] {
        let scratch = Scratch::new().expect("a directory");
        std::fs::write(scratch.join("data"), vec![7; 1 << 20]).expect("a file");
        let line = "--readonly --name=j --filename=data --rw=read --size=2m";
        let left = run(
            program,
            scratch.path(),
            &line.split_whitespace().collect::<Vec<_>>(),
        );
        assert_eq!(left.code, Some(1), "{program:?}: {} {}", left.out, left.err);
        let data = std::fs::read(scratch.join("data")).expect("the file");
        assert_eq!(data, vec![7; 1 << 20]);
    }
}

/// Regression 0458: of a file that another program made and that is shorter than the job, only the
/// existing part was read without a message. fio would replace the file.
#[test]
fn a_short_file_of_another_program_is_reported() {
    let scratch = Scratch::new().expect("a directory");
    std::fs::write(scratch.join("data"), vec![7; 1 << 20]).expect("a file");
    let line = "--name=j --filename=data --rw=read --size=2m";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let left = run(&FATHOM_FIO, scratch.path(), &arguments);
    assert_eq!(left.code, Some(0), "{}", left.err);
    assert!(
        left.err
            .contains("has 1048576 bytes, not the requested 2097152"),
        "{}",
        left.err
    );
    // A file of an earlier run becomes as long as the job needs.
    for size in ["1m", "2m"] {
        let line = format!("--name=j --filename=own --rw=read --size={size}");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let left = run(&FATHOM_FIO, scratch.path(), &arguments);
        assert_eq!((left.code, left.err.as_str()), (Some(0), ""));
    }
    let own = std::fs::metadata(scratch.join("own")).expect("the file");
    assert_eq!(own.len(), 2 << 20);
}

/// Regression 0459: a job that creates its files when it starts had no disk statistics, and a group of
/// different jobs had the options of its first job.
#[test]
fn disks_and_options_of_groups_are_those_of_fio() {
    require!(Fio);
    let line =
        "--name=j --filename=data --rw=write --size=1m --create_on_open=1 --output-format=json";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let disks = [&FIO[..], &FATHOM_FIO[..]].map(|program| {
        let scratch = Scratch::new().expect("a directory");
        let left = run(program, scratch.path(), &arguments);
        let json: Value = serde_json::from_str(&left.out).expect("a document");
        json["disk_util"][0]["name"].clone()
    });
    assert_eq!(disks[0], disks[1]);
    let groups = [
        "--name=global --group_reporting=1 --ioengine=null --size=1m --name=a --rw=write --name=b --rw=randread --bs=8k",
        "--name=global --group_reporting=1 --ioengine=null --size=1m --name=a --rw=write --numjobs=2 --name=b --rw=read --name=c --new_group=1 --rw=read --bs=16k --numjobs=2",
    ];
    let keys = [
        "/jobname",
        "/job options/name",
        "/job options/bs",
        "/job options/rw",
    ];
    let apart = differences(&groups, &keys);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// Regression 0460: a distribution with a center, and the normal distribution, kept hot blocks
/// together. fio scatters them by a hash: of a zipf distribution over 1024 blocks these are the
/// hottest, in this order.
#[test]
fn hot_blocks_are_where_they_are_in_fio() {
    require!(Fio);
    let hottest = |program: &[&str], distribution: &str| {
        let scratch = Scratch::new().expect("a directory");
        let line = format!(
            "--name=j --ioengine=null --filesize=4m --size=4m --io_size=200m --norandommap --rw=randread --write_bw_log=y --log_offset=1 --per_job_logs=0 --random_distribution={distribution}"
        );
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let left = run(program, scratch.path(), &arguments);
        assert_eq!(left.code, Some(0), "{}", left.err);
        let log = std::fs::read_to_string(scratch.join("y_bw.log")).expect("a log");
        let mut counts = std::collections::BTreeMap::<u64, u32>::new();
        for line in log.lines() {
            let offset = line.split(',').nth(4).expect("an offset");
            let offset: u64 = offset.trim().parse().expect("a number");
            *counts.entry(offset / 4096).or_default() += 1;
        }
        let mut blocks: Vec<(u32, u64)> = counts.into_iter().map(|(block, n)| (n, block)).collect();
        blocks.sort_unstable_by(|a, b| b.cmp(a));
        blocks
            .into_iter()
            .map(|(_, block)| block)
            .collect::<Vec<_>>()
    };
    for distribution in ["zipf:1.2:0.5", "zipf:1.2:0", "pareto:0.1:0.25"] {
        let [theirs, ours] =
            [&FIO[..], &FATHOM_FIO[..]].map(|program| hottest(program, distribution));
        assert_eq!(theirs[..4], ours[..4], "{distribution}");
    }
    // Of the normal distribution the 100 most frequent blocks lie all over the file.
    for distribution in ["normal:10", "normal:10:0.2"] {
        for program in [&FIO[..], &FATHOM_FIO[..]] {
            let hot = &hottest(program, distribution)[..100];
            let (first, last) = (hot.iter().min(), hot.iter().max());
            assert!(
                first < Some(&150) && last > Some(&874),
                "{program:?} {distribution}: {first:?} to {last:?}"
            );
        }
    }
}

/// Regression 0461: `--profile=tiobench` was refused, and the help of `fathom fio` has to name
/// `--destroy`.
#[test]
fn the_tiobench_profile_runs_as_in_fio() {
    require!(Fio);
    let [theirs, ours] = [&FIO[..], &FATHOM_FIO[..]].map(|program| {
        let scratch = Scratch::new().expect("a directory");
        run(
            program,
            scratch.path(),
            &["--profile=tiobench", "--output-format=json"],
        )
    });
    let jobs = [&theirs, &ours].map(|left| {
        let json: Value =
            serde_json::from_str(&left.out[left.out.find('{').expect("a document")..])
                .unwrap_or_else(|error| panic!("{error}: {}", left.err));
        let jobs = json["jobs"].as_array().expect("jobs").clone();
        let of = |job: &Value| {
            [
                "/jobname",
                "/groupid",
                "/read/total_ios",
                "/write/total_ios",
            ]
            .map(|key| job.pointer(key).cloned())
        };
        (left.code, jobs.iter().map(of).collect::<Vec<_>>())
    });
    assert_eq!(jobs[0], jobs[1]);
    // Its own options: the size is in MiB.
    let scratch = Scratch::new().expect("a directory");
    let line =
        "--profile=tiobench --size=2 --block=8192 --numruns=2 --threads=2 --output-format=json";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let left = run(&FATHOM_FIO, scratch.path(), &arguments);
    let json: Value = serde_json::from_str(&left.out).expect("a document");
    let ios = json["jobs"][0]["write"]["total_ios"].as_u64();
    assert_eq!(ios, Some((2 << 20) / 8192 * 2 * 2), "{}", left.err);
    let left = run(&FATHOM_FIO, scratch.path(), &["--profile=nosuch"]);
    assert!(left.code == Some(1) && left.err.contains("unknown profile"));
    let help = run(&FATHOM_FIO, scratch.path(), &["--help"]).out;
    assert!(help.contains("--destroy=CODE") && help.contains("--profile=NAME"));
}

/// Regression 0551: `sync_file_range` was refused; fdatasyncs counted as syncs in the document; a write that was followed by an
/// fsync was followed by an fdatasync too.
#[test]
fn syncs_between_writes_are_those_of_fio() {
    require!(Fio);
    let lines = [
        "--size=1m --fdatasync=4",
        "--size=1m --fdatasync=1 --number_ios=10",
        "--size=1m --fdatasync=3 --fsync=5",
        "--size=1m --fdatasync=5 --fsync=7 --loops=3",
        "--size=1m --sync_file_range=write:4",
        "--size=1m --sync_file_range=write",
        "--size=1m --sync_file_range=wait_before,write,wait_after:4",
        "--size=1m --sync_file_range=wait_before,write:8 --fsync=16",
        "--size=1m --sync_file_range=write:3 --fdatasync=5 --fsync=7",
        "--size=1m --sync_file_range=write,wait_after:5 --nrfiles=3 --ioengine=sync",
        "--size=1m --sync_file_range=write:6 --ioengine=pvsync2",
        "--size=1m --sync_file_range=write:6 --ioengine=mmap",
    ];
    let lines = lines.map(|line| format!("--name=j --rw=write {line}"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let keys = [
        "/write/total_ios",
        "/sync/total_ios",
        "/sync/lat_ns/N",
        "/error",
    ];
    let apart = differences(&lines, &keys);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
    // io_uring of fio 3.33 repeats a sync until it has completed.
    let queued = ["libaio"].map(|engine| {
        format!("--name=j --rw=write --size=1m --sync_file_range=write:16 --fsync=64 --ioengine={engine} --iodepth=8")
    });
    let queued: Vec<&str> = queued.iter().map(String::as_str).collect();
    let apart = differences(&queued, &keys[..2]);
    assert!(apart.is_empty(), "{}", apart.join("\n"));
    let refused =
        both("--name=j --ioengine=null --size=1m --rw=write --sync_file_range=sideways:4");
    assert!(refused.iter().all(|ran| ran.code == Some(1)), "{refused:?}");
}

/// Regression 0585: the number of syncs over several passes was known for one engine only. fio syncs after every Nth write that
/// another write follows: of W writes these are (W - 1) / N. fio 3.33 has more of them with some engines (a second one where a
/// pass begins, and repeats until that of io_uring has completed); later versions have this number with every engine.
#[test]
fn syncs_are_counted_over_all_passes() {
    require!(Fio, IoUring);
    let key = ["/write/total_ios", "/sync/total_ios", "/error"];
    for (options, writes, interval) in [
        ("--size=64k --loops=3 --fsync=8", 48, 8),
        ("--size=64k --loops=3 --fsync=3", 48, 3),
        ("--size=64k --loops=3 --fsync=5", 48, 5),
        ("--size=64k --io_size=256k --fsync=5", 64, 5),
    ] {
        let expected = [writes, (writes - 1) / interval, 0].map(|n| Some(f64::from(n)));
        for engine in ["psync", "sync", "pvsync2", "libaio", "io_uring"] {
            let line = format!("--name=j --rw=randwrite --iodepth=4 --ioengine={engine} {options}");
            let [theirs, ours] = figures_of_both(&line, &key).map(|(_, jobs)| {
                let figures = jobs[0].iter().map(Value::as_f64);
                figures.collect::<Vec<_>>()
            });
            assert_eq!(ours, expected, "{line}");
            // The count of libaio is this in every version: it completes a sync within its submission.
            if engine == "libaio" {
                assert_eq!(theirs, expected, "fio {line}");
            }
        }
    }
}

/// Regression 0552: a share of `filesize` was all of the files: they were laid out in full, random I/O went to all of them, and
/// a share that is not a multiple of the block size went past its end.
#[test]
fn a_share_of_filesize_is_the_size_of_the_files() {
    require!(Fio);
    let lines = [
        "--rw=write --size=50% --filesize=1m --nrfiles=4",
        "--rw=randread --size=50% --filesize=1m --nrfiles=4",
        "--rw=read --size=30% --filesize=1m --nrfiles=3 --openfiles=2",
        "--rw=randwrite --size=25% --filesize=1m --nrfiles=8 --bs=16k",
        "--rw=write --size=75% --filesize=1m --nrfiles=4 --io_size=3m",
        "--rw=write --size=50% --filesize=1m --nrfiles=4 --loops=2",
        "--rw=randwrite --size=50% --filesize=1m --nrfiles=4 --file_service_type=random",
        "--rw=read --size=50% --filesize=16m --filename=data",
    ];
    let mut apart = Vec::new();
    for line in lines {
        let line = format!("--name=j {line} --output-format=json");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let [theirs, ours] = [&FIO[..], &FATHOM_FIO[..]].map(|program| {
            let scratch = Scratch::new().expect("a directory");
            let left = run(program, scratch.path(), &arguments);
            let json: Value = serde_json::from_str(&left.out).unwrap_or_default();
            let counts = COUNTS.map(|key| json["jobs"][0].pointer(key).cloned());
            let files = std::fs::read_dir(scratch.path()).expect("a directory");
            let mut sizes: Vec<u64> = files
                .map(|file| file.and_then(|file| file.metadata()).expect("a file").len())
                .collect();
            sizes.sort_unstable();
            (left.code, counts, sizes)
        });
        if theirs != ours {
            apart.push(format!("{line}: fio {theirs:?}, fathom {ours:?}"));
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// Regression 0553: with `bs_is_seq_rand` the sequential I/Os of a random job had the size of random ones. The mean size
/// follows from the shares.
#[test]
fn each_io_has_the_size_of_its_access_as_in_fio() {
    require!(Fio);
    for (line, random_percent) in [
        ("--rw=randread --percentage_random=50", 50.0),
        ("--rw=randwrite --percentage_random=20", 20.0),
        ("--rw=randrw --percentage_random=75", 75.0),
        ("--rw=randread:8", 12.5),
        ("--rw=randread", 100.0),
        ("--rw=read", 0.0),
    ] {
        let line = format!(
            "--name=j {line} --bs=4k,64k --bs_is_seq_rand=1 --norandommap --size=256m --io_size=4g --number_ios=20000 --ioengine=null"
        );
        let keys =
            ["read", "write"].map(|way| [format!("/{way}/io_bytes"), format!("/{way}/total_ios")]);
        let keys: Vec<&str> = keys.iter().flatten().map(String::as_str).collect();
        let expected = (random_percent * 65536.0 + (100.0 - random_percent) * 4096.0) / 100.0;
        for (who, (code, jobs)) in ["fio", "fathom"]
            .into_iter()
            .zip(figures_of_both(&line, &keys))
        {
            let figure = |at: usize| jobs[0][at].as_f64().expect("a figure");
            let mean = (figure(0) + figure(2)) / (figure(1) + figure(3));
            assert!(
                code == Some(0) && (mean / expected - 1.0).abs() < 0.05,
                "{who}: {line}: {mean} bytes, expected {expected}"
            );
        }
    }
}
