//! I/O traces: what is replayed, when and on which targets, and what is refused.
//!
//! Results are compared with the trace itself, the fault device's own log, and fio's replay of the
//! same trace.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{device_code, program, split_args, start};
use crate::peer::{FATHOM_FIO, FIO, number, run};
use fathom_testkit::{DeviceOptions, FaultDevice, Scratch, require};

const HEADER: &str = "fio version 3 iolog\n";

/// I/Os of lengths that nothing else uses.
const MIXED: [(&str, u64, u64); 8] = [
    ("write", 8192, 1536),
    ("read", 8192, 1536),
    ("write", 1 << 20, 2560),
    ("sync", 0, 0),
    ("write", 9728, 3584),
    ("read", 512, 12_800),
    ("datasync", 0, 0),
    ("read", 1 << 20, 2560),
];

/// A trace of these I/Os on one file, `gap` microseconds apart.
fn trace_of(file: &Path, ios: &[(&str, u64, u64)], gap: u64) -> String {
    let file = file.display();
    let mut text = format!("{HEADER}1 {file} add\n1 {file} open\n");
    for (n, (action, offset, len)) in ios.iter().enumerate() {
        text += &format!(
            "{} {file} {action} {offset} {len}\n",
            1 + gap * (n as u64 + 1)
        );
    }
    text + &format!("{} {file} close\n", 1 + gap * ios.len() as u64)
}

/// The I/Os of [`MIXED`] that the device received; reads of the target inspection have other sizes.
fn received_ios(device: &FaultDevice) -> Vec<(String, u64, u64)> {
    let own = |len: u64| len == 0 || MIXED.iter().any(|io| io.2 == len);
    let all = device.log();
    let own = all
        .iter()
        .filter(|one| own(one.len))
        .map(|one| (one.op.name().to_owned(), one.offset, one.len));
    // The trace begins with a write. Before it, fathom reads the target to inspect it, now and then also 1,536 bytes, and fio
    // drops the page cache, which the file system sees as a sync.
    let received_ios = own.skip_while(|one| one.0 != "write").collect();
    device.clear_log();
    received_ios
}

fn mixed_on_the_device() -> Vec<(String, u64, u64)> {
    let operation = |action: &str| {
        if action.ends_with("sync") {
            "sync"
        } else {
            action
        }
        .to_owned()
    };
    MIXED
        .iter()
        .map(|(action, offset, len)| (operation(action), *offset, *len))
        .collect()
}

/// fio, `fathom fio` and `fathom run` do the I/Os of the trace in its order.
#[test]
fn the_device_receives_the_logged_operations() {
    require!(Root, Fuse, Fio);
    let (scratch, device) = (
        Scratch::new().expect("a directory"),
        FaultDevice::mount(DeviceOptions::default()).expect("a device"),
    );
    std::fs::write(scratch.join("log"), trace_of(&device.path(), &MIXED, 100)).expect("a log");
    let job = [
        "--name=r",
        "--read_iolog=log",
        "--ioengine=psync",
        "--direct=1",
    ];
    let result = run(&FIO, scratch.path(), &job);
    assert_eq!(result.code, Some(0), "{}{}", result.out, result.err);
    assert_eq!(received_ios(&device), mixed_on_the_device(), "fio");
    for personality in ["fio", "run"] {
        let code = format!("--destroy={}", device_code(&device.path()));
        let result = run(
            &[FATHOM_FIO[0], personality],
            scratch.path(),
            &[&job[..], &[&code]].concat(),
        );
        assert_eq!(
            (result.code, result.err.as_str()),
            (Some(0), ""),
            "{personality}: {}",
            result.out
        );
        assert_eq!(
            received_ios(&device),
            mixed_on_the_device(),
            "{personality}"
        );
    }
}

/// The I/O lines of a trace, without times, open and close.
fn ios(log: &str) -> Vec<String> {
    let io = |line: &str| {
        line.split_once(' ')
            .map(|(_, rest)| rest.to_owned())
            .filter(|rest| rest.split(' ').count() == 4)
    };
    log.lines().skip(1).filter_map(io).collect()
}

/// A trace that is written during a replay equals the replayed trace.
#[test]
fn a_replay_writes_an_equal_log() {
    let scratch = Scratch::new().expect("a directory");
    let all = [&MIXED[..], &[("trim", 4096, 8192)]].concat();
    let log = trace_of(Path::new("data"), &all, 0);
    std::fs::write(scratch.join("log"), &log).expect("a log");
    for (name, timing) in [
        ("again", "--replay_no_stall=1"),
        ("timed", "--replay_no_stall=0"),
    ] {
        let options = [
            "--name=r",
            "--read_iolog=log",
            "--ioengine=io_uring",
            "--iodepth=4",
            timing,
            &format!("--write_iolog={name}"),
        ];
        let result = run(&[FATHOM_FIO[0], "run"], scratch.path(), &options);
        assert_eq!(result.code, Some(0), "{}{}", result.out, result.err);
        let written = std::fs::read_to_string(scratch.join(name)).expect("a trace");
        let same = |line: String| {
            if line.contains("sync") {
                line.replace("0 4096", "0 0")
            } else {
                line
            }
        };
        assert_eq!(
            ios(&written).into_iter().map(same).collect::<Vec<_>>(),
            ios(&log)
        );
    }
}

/// fio 3.33: waits of version 2 are milliseconds since the start; size, loops and number_ios have
/// no effect.
#[test]
fn the_same_log_counts_the_same_in_fio() {
    require!(Fio);
    let directories =
        [&FIO[..], &FATHOM_FIO[..]].map(|program| (program, Scratch::new().expect("a directory")));
    let two = "fio version 2 iolog\nb add\nb open\nb write 0 4096\nb wait 300 0\nb write 4096 512\nb wait 600 0\nb sync 0 0\nb write 9999 77\nb close\n";
    for (_, directory) in &directories {
        std::fs::write(directory.join("data"), vec![7; 2 << 20]).expect("a file");
        std::fs::write(directory.join("two"), two).expect("a log");
        std::fs::write(
            directory.join("three"),
            trace_of(Path::new("data"), &MIXED, 50_000),
        )
        .expect("a log");
        let bad = format!(
            "{}garbage\n12 data jump 0 1\n",
            trace_of(Path::new("data"), &MIXED, 0)
        );
        std::fs::write(directory.join("bad"), bad).expect("a log");
    }
    let destroy = || format!("--destroy={}", device_code(&directories[1].1.join("data")));
    for options in [
        "--read_iolog=two --size=4k --loops=3",
        "--read_iolog=three --number_ios=1",
        "--read_iolog=three --replay_scale=2 --replay_align=512 --replay_no_stall=1",
        "--read_iolog=three --replay_redirect=other --replay_no_stall=1",
        "--read_iolog=bad",
    ] {
        let counts = directories.each_ref().map(|(program, directory)| {
            let mut line = vec!["--name=r", "--ioengine=psync", "--output-format=json"];
            line.extend(options.split_whitespace());
            let destroy = destroy();
            if *program == FATHOM_FIO {
                line.push(&destroy);
            }
            let result = run(program, directory.path(), &line);
            let document = &result.out[result
                .out
                .find('{')
                .unwrap_or_else(|| panic!("{options}: {}{}", result.out, result.err))..];
            let json = serde_json::from_str(document)
                .unwrap_or_else(|error| panic!("{error}: {}", result.out));
            let per_direction = ["read", "write", "trim"].map(|direction| {
                ["total_ios", "io_bytes"]
                    .map(|what| number(&json, &format!("/jobs/0/{direction}/{what}")))
            });
            (result.code, per_direction)
        });
        assert_eq!(counts[0], counts[1], "{options}");
    }
}

/// fio and fathom take the pauses of a trace.
#[test]
fn the_same_log_takes_as_long_as_in_fio() {
    require!(Fio);
    for program in [&FIO[..], &FATHOM_FIO[..], &[FATHOM_FIO[0], "run"]] {
        let scratch = Scratch::new().expect("a directory");
        std::fs::write(
            scratch.join("log"),
            trace_of(Path::new("data"), &[("write", 0, 4096); 8], 50_000),
        )
        .expect("a log");
        let result = run(
            program,
            scratch.path(),
            &[
                "--name=r",
                "--read_iolog=log",
                "--ioengine=psync",
                "--output-format=json",
            ],
        );
        let json = serde_json::from_str(&result.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
        // Seven pauses of 50 ms.
        let took = number(&json, "/jobs/0/write/runtime");
        assert!(took >= 350.0, "{program:?}: {took} ms");
    }
}

/// Clones take the traces of a list in turn; a pipe is read once and replayed by all.
#[test]
fn lists_of_logs_and_streams() {
    let scratch = Scratch::new().expect("a directory");
    for (name, n) in [("one", 1), ("two", 2)] {
        std::fs::write(
            scratch.join(name),
            trace_of(
                Path::new(name).with_extension("d").as_path(),
                &vec![("write", 0, 512); n],
                0,
            ),
        )
        .expect("a log");
    }
    let result = run(
        &FATHOM_FIO,
        scratch.path(),
        &split_line("--name=r --read_iolog=one:two --numjobs=3 --output-format=json"),
    );
    let json: serde_json::Value = serde_json::from_str(&result.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
    let counts: Vec<f64> = (0..3)
        .map(|job| number(&json, &format!("/jobs/{job}/write/total_ios")))
        .collect();
    // fio numbers the clones after the first downwards: 0, 2, 1.
    assert_eq!(counts, [1.0, 1.0, 2.0]);

    let mut command = program(split_args(
        "run --name=r --read_iolog=- --numjobs=2 --group_reporting --output-format=json",
    ));
    command
        .current_dir(scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let text = trace_of(Path::new("three.d"), &[("write", 0, 512); 3], 0);
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(text.as_bytes())
        .expect("written");
    let output = child.wait_with_output().expect("ended");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(number(&json, "/jobs/0/write/total_ios"), 6.0);

    let pipe = scratch.join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    let writer = std::thread::spawn({
        let (pipe, text) = (pipe.clone(), text.clone());
        move || std::fs::write(pipe, text)
    });
    let result = run(
        &FATHOM_FIO,
        scratch.path(),
        &split_line("--name=r --read_iolog=pipe --output-format=json"),
    );
    writer.join().expect("no panic").expect("written");
    let json: serde_json::Value = serde_json::from_str(&result.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
    assert_eq!(number(&json, "/jobs/0/write/total_ios"), 3.0);
}

fn split_line(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The guard checks every file of a trace before any write, for every clone and with redirection.
#[test]
fn targets_of_a_log_are_guarded() {
    let scratch = Scratch::new().expect("a directory");
    let mine = scratch.join("mine");
    std::fs::write(&mine, b"dear data").expect("a file");
    std::fs::write(
        scratch.join("harmless"),
        trace_of(Path::new("new"), &[("write", 0, 512)], 0),
    )
    .expect("a log");
    std::fs::write(
        scratch.join("harmful"),
        trace_of(&mine, &[("write", 0, 512)], 0),
    )
    .expect("a log");
    let trims = trace_of(&mine, &[("trim", 0, 512)], 0);
    std::fs::write(scratch.join("trims"), trims).expect("a log");
    for personality in ["run", "fio"] {
        for options in [
            "--read_iolog=harmful",
            "--read_iolog=trims",
            "--read_iolog=harmless:harmful --numjobs=2",
            "--read_iolog=harmless --replay_redirect=mine",
        ] {
            let result = run(
                &[FATHOM_FIO[0], personality],
                scratch.path(),
                &[&["--name=r"], &split_line(options)[..]].concat(),
            );
            assert!(
                result.code != Some(0) && result.err.contains("mine"),
                "{personality} {options}: {}{}",
                result.out,
                result.err
            );
            assert_eq!(std::fs::read(&mine).expect("still exists"), b"dear data");
            assert!(
                !scratch.join("new").exists(),
                "{personality} {options}: the run is not started"
            );
        }
    }
    let dry = run(
        &[FATHOM_FIO[0], "run"],
        scratch.path(),
        &["--name=r", "--read_iolog=harmless", "--dry-run"],
    );
    assert!(
        dry.out
            .contains("r: would do the replay of harmless at its own times (1 write): 512 bytes"),
        "{}{}",
        dry.out,
        dry.err
    );
    let read_only = run(
        &FATHOM_FIO,
        scratch.path(),
        &["--name=r", "--read_iolog=harmless", "--readonly"],
    );
    assert!(
        read_only.code == Some(1) && read_only.err.contains("--readonly"),
        "{}",
        read_only.err
    );
}

/// One error that names the line, quickly and in little memory.
#[test]
fn malformed_logs_are_refused_with_the_line() {
    let scratch = Scratch::new().expect("a directory");
    let with = |lines: &str| format!("{HEADER}1 f add\n1 f open\n{lines}").into_bytes();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "empty:1:1: not an I/O trace"),
        (
            "old",
            b"fio version 1 iolog\n".to_vec(),
            "old:1:1: not an I/O trace",
        ),
        (
            "binary",
            b"\x07tae\x01\0\0\0".to_vec(),
            "binary:1:1: binary blktrace traces are not supported",
        ),
        (
            "noise",
            (0..100_000u32)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
                .collect(),
            "noise:1:1: not an I/O trace",
        ),
        (
            "nothing",
            with(""),
            "nothing:4:1: the trace contains no read",
        ),
        (
            "garbage",
            with("2 f read 0 512\nsome text\n"),
            "garbage:5:1: the line does not begin with a time",
        ),
        (
            "nul",
            with("2 f\0g read 0 512\n"),
            "nul:4:1: the file name contains a NUL byte",
        ),
        (
            "negative",
            with("2 f read -512 512\n"),
            "negative:4:1: the offset is not a number",
        ),
        (
            "huge",
            with("2 f read 99999999999999999999999 512\n"),
            "huge:4:1: the offset is not a number",
        ),
        (
            "end",
            with("2 f read 18446744073709551104 512\n"),
            "end:4:1: the I/O of 512 bytes at offset",
        ),
        (
            "large",
            with("2 f write 0 2200000000\n"),
            "large:4:1: 2200000000 bytes in one I/O exceed the limit",
        ),
        (
            "late",
            with("18446744073709551615 f read 0 512\n"),
            "late:4:1: the time is more than 100 years",
        ),
        (
            "closed",
            with("2 f close\n3 f read 0 512\n"),
            "closed:5:1: the file 'f' is not open",
        ),
        (
            "stranger",
            with("2 g read 0 512\n"),
            "stranger:4:1: no earlier line adds the file 'g'",
        ),
        (
            "twice",
            with("2 f read 0 512\nfio version 3 iolog\n"),
            "twice:5:1: a second trace begins here",
        ),
        (
            "long",
            with(&"x".repeat(1 << 20)),
            "long:4:1: the line is longer than",
        ),
        (
            "names",
            with(
                &(0..70_000)
                    .map(|n| format!("2 f{n} add\n"))
                    .collect::<String>(),
            ),
            "more than 65536 files",
        ),
    ];
    for (name, text, expected) in cases {
        std::fs::write(scratch.join(name), text).expect("a log");
        let result = run(
            &[FATHOM_FIO[0], "run"],
            scratch.path(),
            &["--name=r", &format!("--read_iolog={name}")],
        );
        assert!(
            result.code == Some(2) && result.err.contains(expected),
            "{name}: {:?} {}",
            result.code,
            result.err
        );
        assert!(result.err.contains("1 error"), "{name}: {}", result.err);
    }
    for (name, expected) in [
        ("/dev/zero", "not a file, pipe or socket"),
        (".", "not a file, pipe or socket"),
        ("missing", "No such file"),
    ] {
        let result = run(
            &[FATHOM_FIO[0], "run"],
            scratch.path(),
            &["--name=r", &format!("--read_iolog={name}")],
        );
        assert!(
            result.code == Some(2) && result.err.contains(expected),
            "{name}: {:?} {}",
            result.code,
            result.err
        );
    }
}

/// File names may contain any bytes except spaces.
#[test]
fn names_need_not_be_utf8() {
    let scratch = Scratch::new().expect("a directory");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let mut log =
        b"fio version 3 iolog\n1 caf\xe9 add\n1 caf\xe9 open\n2 caf\xe9 write 0 512\n".to_vec();
    log.extend_from_slice(b"3 caf\xe9 close\n");
    std::fs::write(scratch.join("log"), log).expect("a log");
    let result = run(
        &FATHOM_FIO,
        scratch.path(),
        &["--name=r", "--read_iolog=log"],
    );
    assert_eq!(
        (result.code, result.err.as_str()),
        (Some(0), ""),
        "{}",
        result.out
    );
    assert_eq!(
        std::fs::metadata(scratch.join(name))
            .expect("created")
            .len(),
        512
    );
}

/// The newest fio omits the operations of replay_skip; the installed one only in blktrace traces.
#[test]
fn skipped_operations_are_not_replayed() {
    let scratch = Scratch::new().expect("a directory");
    let all = [&MIXED[..], &[("trim", 4096, 8192)]].concat();
    std::fs::write(scratch.join("log"), trace_of(Path::new("data"), &all, 0)).expect("a log");
    for (skip, counts) in [
        ("sync", [3.0, 3.0, 1.0]),
        ("read", [0.0, 3.0, 1.0]),
        ("write,sync", [3.0, 0.0, 1.0]),
        ("trim,read", [0.0, 3.0, 0.0]),
    ] {
        let options = [
            "--name=r",
            "--read_iolog=log",
            "--ioengine=null",
            &format!("--replay_skip={skip}"),
            "--output-format=json",
        ];
        let result = run(&FATHOM_FIO, scratch.path(), &options);
        let json = serde_json::from_str(&result.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
        assert_eq!(
            ["read", "write", "trim"]
                .map(|direction| number(&json, &format!("/jobs/0/{direction}/total_ios"))),
            counts,
            "{skip}"
        );
    }
}

/// A trace of reads verifies existing data, as in fio: data that fio wrote passes, and one altered
/// byte is detected.
#[test]
fn reads_of_a_log_are_verified() {
    require!(Fio);
    let scratch = Scratch::new().expect("a directory");
    let write = "--name=w --filename=data --size=64k --rw=write --verify=md5 --do_verify=0 --write_iolog=written";
    assert_eq!(run(&FIO, scratch.path(), &split_line(write)).code, Some(0));
    let log = std::fs::read_to_string(scratch.join("written")).expect("a log");
    std::fs::write(scratch.join("log"), log.replace(" write ", " read ")).expect("a log");
    let check = split_line("--name=r --read_iolog=log --verify=md5 --replay_no_stall=1");
    for program in [&FIO[..], &FATHOM_FIO[..]] {
        let result = run(program, scratch.path(), &check);
        assert_eq!(
            result.code,
            Some(0),
            "{program:?}: {}{}",
            result.out,
            result.err
        );
    }
    let mut data = std::fs::read(scratch.join("data")).expect("the file");
    data[20_000] ^= 1;
    std::fs::write(scratch.join("data"), data).expect("written");
    for program in [&FIO[..], &FATHOM_FIO[..]] {
        let result = run(program, scratch.path(), &check);
        assert!(
            result.code != Some(0) && (result.out + &result.err).contains("offset 16384"),
            "{program:?}"
        );
    }
    // The writes of a trace are verified after it, and the corrupted block has been overwritten.
    let code = device_code(&scratch.join("data"));
    let result = run(
        &FATHOM_FIO,
        scratch.path(),
        &split_line(&format!(
            "--name=r --read_iolog=written --verify=md5 --destroy={code}"
        )),
    );
    assert_eq!(
        (result.code, result.err.as_str()),
        (Some(0), ""),
        "{}",
        result.out
    );
}

/// Trims transfer no data, so a queue of 128 trims of 2 GiB needs no buffers (fio's own suite, 38).
#[test]
fn large_trims_need_no_buffers() {
    let scratch = Scratch::new().expect("a directory");
    let ios: Vec<(&str, u64, u64)> = (0..20)
        .map(|n| {
            (
                if n % 2 == 0 { "trim" } else { "write" },
                n / 2 * 4096,
                if n % 2 == 0 { 1 << 31 } else { 4096 },
            )
        })
        .collect();
    std::fs::write(
        scratch.join("log"),
        trace_of(Path::new("/dev/null"), &ios, 2),
    )
    .expect("a log");
    let result = run(
        &FATHOM_FIO,
        scratch.path(),
        &split_line("--name=r --read_iolog=log --ioengine=null --iodepth=128 --output-format=json"),
    );
    let json: serde_json::Value = serde_json::from_str(&result.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
    assert_eq!(
        (
            number(&json, "/jobs/0/trim/total_ios"),
            number(&json, "/jobs/0/write/total_ios")
        ),
        (10.0, 10.0)
    );
}

/// A trace of a million lines, 28 MiB, is read line by line: memory does not grow with its length.
#[test]
fn memory_does_not_grow_with_the_log() {
    let scratch = Scratch::new().expect("a directory");
    let peak_kib = |name: &str, lines: u64| {
        let mut file =
            std::io::BufWriter::new(std::fs::File::create(scratch.join(name)).expect("a log"));
        write!(file, "{HEADER}1 /dev/null add\n1 /dev/null open\n").expect("written");
        (0..lines).for_each(|n| {
            writeln!(file, "{} /dev/null read {} 4096", 2 + n, n % 1000 * 4096).expect("written");
        });
        // The last I/O keeps the program running until its memory was measured.
        writeln!(file, "{} /dev/null read 0 4096", 400_000 + lines)
            .and_then(|()| file.flush())
            .expect("written");
        let log = format!("--read_iolog={}", scratch.join(name).display());
        let scale = format!("--replay_time_scale={}", 100 + lines / 2_000);
        let mut running = start(program([
            "run",
            "--name=r",
            &log,
            &scale,
            "--ioengine=null",
            "--output-format=json",
        ]));
        let mut peak = 0;
        while !running.has_exited() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", running.id()))
                .unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line
                .and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok())
                .unwrap_or(0)
                .max(peak);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let json: serde_json::Value = serde_json::from_str(&running.finish().out).expect("JSON");
        assert_eq!(number(&json, "/jobs/0/read/total_ios"), (lines + 1) as f64);
        peak
    };
    let (short, long) = (peak_kib("short", 10), peak_kib("long", 1_000_000));
    assert!(
        long < short + (8 << 10),
        "{short} KiB for 11 lines, {long} KiB for a million"
    );
}
