//! Engines without storage (cpuio, page_fault), atomic writes, and sprandom preconditioning of
//! flash.

use crate::common;
use std::collections::HashMap;

use crate::common::{fathom, filename_arg, split_args};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require, skip};

/// Runs the program in `directory`.
fn fathom_in(directory: &Scratch, line: &str) -> common::Completed {
    let mut command = common::program(split_args(line));
    command.current_dir(directory.path());
    common::start(command).finish()
}

/// As in fio: busy periods of `cpuchunks` microseconds, with pauses such that they are `cpuload`
/// percent of the time.
#[test]
fn cpuio_loads_a_cpu_by_its_share() {
    let directory = Scratch::new().expect("a directory");
    for mode in ["noop", "qsort"] {
        let line = format!(
            "fio --output-format=json --name=burn --ioengine=cpuio --cpuload=20 --cpuchunks=10000 --cpumode={mode} --runtime=1s --time_based"
        );
        let ran = fathom_in(&directory, &line).expect(0);
        assert_eq!(ran.err, "");
        let json = ran.json();
        let used = json.number("/jobs/0/usr_cpu") + json.number("/jobs/0/sys_cpu");
        // Waiting for a CPU shortens the busy periods of noop; a sort takes as long as it takes.
        assert!(used > 0.5 && used < 35.0, "{mode}: {used} %");
        assert_eq!(
            json.number("/jobs/0/read/total_ios") + json.number("/jobs/0/write/total_ios"),
            0.0
        );
        assert!(json.number("/jobs/0/job_runtime") >= 900.0, "{mode}");
        assert_eq!(
            std::fs::read_dir(directory.path())
                .expect("a directory")
                .count(),
            0,
            "no file is created"
        );
    }
}

#[test]
fn cpuio_without_a_run_time_ends_with_the_last_io() {
    let directory = Scratch::new().expect("a directory");
    let io = "--name=io --ioengine=null --size=1m --bs=4k --rw=read";
    for burn in [
        "--cpuload=10",
        "--cpuload=10 --exit_on_io_done=1 --runtime=80s --time_based",
    ] {
        let line = format!("run --output-format=json --name=burn --ioengine=cpuio {burn} {io}");
        let json = fathom_in(&directory, &line).expect(0).json();
        assert!(json.finding("NOTHING_DONE").is_none());
        assert_eq!(json.number("/jobs/1/read/total_ios"), 256.0);
    }
}

#[test]
fn cpuio_requires_a_load() {
    let ran = fathom(split_args("fio --name=burn --ioengine=cpuio --runtime=1s")).expect(1);
    assert!(ran.err.contains("cpuload"), "{}", ran.err);
    // The option is valid for this engine only.
    let ran = fathom(split_args(
        "run --name=a --ioengine=null --size=4k --cpuload=5",
    ))
    .expect(2);
    assert!(ran.err.contains("cpuload"), "{}", ran.err);
}

/// The first access to each page is a minor fault (getrusage(2)).
#[test]
fn page_fault_touches_each_page_once_and_reuses_it() {
    let directory = Scratch::new().expect("a directory");
    let faults = |options: &str| {
        let line = format!(
            "fio --output-format=json --name=m --ioengine=page_fault --bs=4k --rw=write --size=16m {options}"
        );
        let ran = fathom_in(&directory, &line).expect(0);
        assert_eq!(ran.err, "");
        let json = ran.json();
        let loops = if options.is_empty() { 1.0 } else { 3.0 };
        assert_eq!(json.number("/jobs/0/write/io_bytes"), loops * 16_777_216.0);
        json.number("/jobs/0/minf")
    };
    let (once, thrice) = (faults(""), faults("--loops=3"));
    // With transparent huge pages there are fewer faults, never more.
    assert!(thrice < once + 2048.0, "{once} {thrice}");
    let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .is_ok_and(|text| text.contains("[always]"));
    assert!(huge || once >= 4096.0, "{once}");
    assert_eq!(
        std::fs::read_dir(directory.path())
            .expect("a directory")
            .count(),
        0,
        "no file is created"
    );
}

#[test]
fn page_fault_refuses_more_memory_than_available() {
    let ran = fathom(split_args(
        "run --name=m --ioengine=page_fault --rw=write --size=100t",
    ))
    .expect(2);
    assert!(ran.err.contains("page_fault would touch"), "{}", ran.err);
}

/// XFS with reflink has had atomic writes on any device since Linux 6.16; ext4 on a loop device has
/// none.
#[test]
fn atomic_writes_run_where_supported_and_are_refused_elsewhere() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&directory.join("image"), 400 << 20, LoopOptions::default())
        .expect("a loop device");
    if FsKind::Xfs.available().is_err() {
        return skip("mkfs.xfs is not installed");
    }
    let Ok(mount) = Mount::format(device.path(), FsKind::Xfs, "") else {
        return skip("this kernel has no XFS");
    };
    let job = |path: &std::path::Path, engine: &str, more: &str| {
        let line = "fio --output-format=json --name=a --rw=randwrite --bs=16k --size=4m --iodepth=4 --verify=crc32c --verify_state_save=0 --atomic=1";
        let mut arguments = split_args(line);
        arguments.extend([filename_arg(path), format!("--ioengine={engine}")]);
        arguments.extend(split_args(more));
        fathom(arguments)
    };
    let file = mount.path().join("file");
    let first = job(&file, "pvsync2", "");
    if first.code() != 0 && first.err.contains("does not support atomic writes") {
        return skip("XFS of this kernel has no atomic writes");
    }
    for engine in ["pvsync2", "libaio", "io_uring"] {
        let ran = job(&file, engine, "").expect(0);
        assert_eq!(ran.err, "");
        assert_eq!(
            ran.json().number("/jobs/0/write/io_bytes"),
            f64::from(4 << 20),
            "{engine}"
        );
    }
    // Only these three engines, only powers of two, and no size above the limit of the file.
    for (engine, more, expected) in [
        ("psync", "", "use pvsync2, libaio or io_uring"),
        ("libaio", "--bs=12k", "power of two"),
        ("libaio", "--bs=4m", "supports atomic writes of"),
    ] {
        let ran = job(&file, engine, more).expect(1);
        assert!(
            ran.err.contains(expected) || ran.out.contains(expected),
            "{engine} {more}: {}{}",
            ran.out,
            ran.err
        );
    }
    let ran = job(&directory.join("plain"), "libaio", "").expect(1);
    let other = ran.out.contains("does not support atomic writes")
        || ran.err.contains("does not support atomic writes");
    assert!(other || ran.code() == 0, "{}{}", ran.out, ran.err);
}

/// 64 MiB with 15 % over-provisioning are 18,841 blocks of 4 KiB, the maximum that is written (the
/// newest fio writes as many).
#[test]
fn sprandom_writes_the_physical_capacity() {
    let directory = Scratch::new().expect("a directory");
    let (file, trace) = (directory.join("file"), directory.join("trace"));
    let mut line = split_args(
        "fio --output-format=json --name=a --rw=randwrite --bs=4k --size=64m --sprandom=1 --spr_num_regions=10 --spr_op=0.15",
    );
    line.extend([
        filename_arg(&file),
        format!("--write_iolog={}", trace.display()),
    ]);
    let json = fathom(line).expect(0).json();
    let writes = json.number("/jobs/0/write/total_ios");
    // The blocks to rewrite are chosen at random, which varies the sum by 45 (one standard
    // deviation).
    assert!((18_841.0 - 200.0..=18_841.0).contains(&writes), "{writes}");
    let mut seen: HashMap<u64, u32> = HashMap::new();
    for line in std::fs::read_to_string(&trace)
        .expect("a trace")
        .lines()
        .filter(|line| line.contains(" write "))
    {
        let offset = line
            .split_whitespace()
            .nth(3)
            .and_then(|field| field.parse().ok())
            .expect("an offset");
        *seen.entry(offset).or_default() += 1;
    }
    assert!(seen.len() > 16_100, "{}", seen.len());
    // A block is written at most once per region.
    assert!(seen.values().all(|times| *times <= 10) && seen.values().any(|times| *times == 2));
    for (wrong, expected) in [
        ("--rw=randread", "random writes"),
        ("--norandommap=0", "twice"),
        ("--spr_op=0", "between 0 and 1"),
        ("--spr_num_regions=100000", "too few"),
    ] {
        let mut line = split_args("fio --name=a --rw=randwrite --bs=4k --size=64m --sprandom=1");
        line.extend([filename_arg(&file), wrong.to_owned()]);
        let ran = fathom(line).expect(1);
        assert!(
            ran.err.contains(expected) || ran.out.contains(expected),
            "{wrong}: {}{}",
            ran.out,
            ran.err
        );
    }
}

/// Regression 0312: without another thread or process (`ulimit -u`) the program panicked.
#[test]
fn without_threads_there_is_an_error_and_no_panic() {
    require!(Root);
    let scratch = Scratch::new().expect("a directory");
    let program = scratch.join("fathom");
    std::fs::copy(common::FATHOM, &program).expect("copied");
    let work = scratch.join("work");
    std::fs::create_dir(&work).expect("a directory");
    // A user that has no other process.
    let user = 54_321 + std::process::id() % 1000;
    common::sh(&format!(
        "chmod 755 {0} && chown {user} {1}",
        scratch.path().display(),
        work.display()
    ));
    let shown = program.display();
    let mut stopped = 0;
    for (number, line) in [
        "run --name=x --ioengine=null --size=1m",
        "fio --name=x --ioengine=null --size=1m --numjobs=4",
        "run --name=x --rw=read --size=1m --filename=data",
        "run --name=x --rw=write --size=1m --filename=data2 --ioengine=posixaio --iodepth=4",
        "devices",
        "devices .",
        "quick . --runtime=2",
        "sweep . --axis=bs=4k,8k --set=runtime=100ms",
        "run --name=x --ioengine=null --size=1m --store=store.db",
        "fio --idle-prof=calibrate",
    ]
    .into_iter()
    .enumerate()
    {
        for processes in 1..=4 {
            let ran = std::process::Command::new("sh")
                .args(["-c", &format!(
                    "cd {} && exec setpriv --reuid={user} --regid={user} --clear-groups prlimit --nproc={processes} {shown} {line}",
                    work.display()
                )])
                .env("FATHOM_STORE", "none")
                .output()
                .expect("sh");
            let err = String::from_utf8_lossy(&ran.stderr);
            assert!(
                ran.status.code().is_some_and(|code| code != 101),
                "{line}, {processes}: {:?} {err}",
                ran.status
            );
            assert!(!err.contains("panicked"), "{line}, {processes}: {err}");
            if number == 0 && processes == 1 {
                assert!(
                    err.contains("cannot start a thread") && err.contains("ulimit -u"),
                    "{err}"
                );
            }
            stopped += usize::from(!ran.status.success());
        }
    }
    assert!(stopped > 5, "the limit had an effect");
}

/// Regression 0313: in a small address space the program aborted where it could have known before.
#[test]
fn buffers_that_do_not_fit_the_address_space_are_refused() {
    let directory = Scratch::new().expect("a directory");
    for (line, figure) in [
        ("--numjobs=64 --iodepth=64 --bs=1m", "4096 MiB"),
        ("--iodepth=1024 --bs=1m", "1024 MiB"),
        ("--numjobs=2000 --bs=4k", "2000 jobs"),
    ] {
        for (personality, code) in [("run", 2), ("fio", 1)] {
            let line = format!(
                "ulimit -v 800000; exec {} {personality} --name=x --ioengine=libaio --rw=read --size=1g --filename=data {line}",
                common::FATHOM
            );
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &line]).env("FATHOM_STORE", "none");
            command.current_dir(directory.path());
            let ran = common::start(command).finish().expect(code);
            for part in [
                figure,
                "781 MiB of address space (ulimit -v)",
                "lower bs, iodepth or numjobs",
            ] {
                assert!(ran.err.contains(part), "{part} in {}", ran.err);
            }
        }
    }
    let left = std::fs::read_dir(directory.path()).expect("there").count();
    assert_eq!(left, 0, "nothing was created");
    // What fits runs.
    let line = format!(
        "ulimit -v 800000; exec {} run --name=x --ioengine=null --size=1m --numjobs=4 --iodepth=16",
        common::FATHOM
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).env("FATHOM_STORE", "none");
    common::start(command).finish().expect(0);
}

/// Huge pages of a process, of both kinds, KiB.
fn huge_pages(pid: u32) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default();
    let of = |name: &str| -> u64 {
        let lines = maps.lines().filter_map(|line| line.strip_prefix(name));
        lines
            .filter_map(|line| {
                line.trim_start_matches(':')
                    .trim()
                    .split(' ')
                    .next()?
                    .parse::<u64>()
                    .ok()
            })
            .sum()
    };
    of("AnonHugePages") + of("Private_Hugetlb") + of("Shared_Hugetlb")
}

/// Regression 0432: buffers in huge pages let a device with few segments receive a large I/O unsplit, unlike with fio.
/// `fathom fio` allocates as fio does; `fathom run` reports its buffers.
#[test]
fn fathom_fio_allocates_ordinary_pages_as_fio() {
    require!(Fio);
    let directory = Scratch::new().expect("a directory");
    let line = "--name=x --rw=randread --bs=1m --size=32m --ioengine=libaio --iodepth=16 --thread --time_based --runtime=3 \
                --filename=data --output-format=json";
    let observe = |mut command: std::process::Command| {
        command.current_dir(directory.path());
        let mut running = common::start(command);
        let mut most = 0;
        while !running.has_exited() {
            most = most.max(huge_pages(running.id()));
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        (most, running.finish())
    };
    let of_fathom = |personality: &str| {
        let mut arguments = vec![personality.to_owned()];
        arguments.extend(split_args(line));
        observe(common::program(arguments))
    };
    let (ours, _) = of_fathom("fio");
    let mut fio = std::process::Command::new("fio");
    fio.args(split_args(line));
    let (theirs, _) = observe(fio);
    let (of_run, ran) = of_fathom("run");
    if theirs == 0 {
        assert_eq!(ours, 0, "fio has no huge pages here");
    } else {
        assert!(
            ours > 0,
            "the kernel gives fio {theirs} KiB in huge pages by itself"
        );
    }
    let json = ran.json();
    let notes = json
        .0
        .pointer("/fathom/entries/0/notes")
        .map(ToString::to_string);
    let reported = notes.is_some_and(|notes| notes.contains("huge pages") && notes.contains("fio"));
    assert!(reported, "{:#}", json.0["fathom"]);
    let policy = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if policy.is_ok_and(|policy| !policy.contains("[never]")) {
        assert!(of_run >= 2048, "{of_run} KiB in huge pages");
    }
}
