//! Rare options: verify threads, dumps of wrong blocks, programs and triggers in parallel with the
//! load, locked memory and I/O schedulers. Results are compared with fio, the fault device's log,
//! the kernel, or arithmetic.

use crate::common;
use crate::peer;
use std::path::Path;

use crate::common::{device_code, fathom, filename_arg, program, split_args, start, wait_until};
use crate::peer::{FATHOM_FIO, FIO, Fixture, number, run};
use fathom_testkit::{
    Corruption, DeviceOptions, FaultDevice, Latency, LoopDevice, LoopOptions, Scratch, require,
    skip,
};

/// `fathom run`, whose documents contain the verify counts.
const FATHOM_RUN: [&str; 3] = [common::FATHOM, "run", "--no-store"];

fn line(program: &[&str], directory: &Path, text: &str) -> peer::Completed {
    run(
        program,
        directory,
        &text.split_whitespace().collect::<Vec<_>>(),
    )
}

/// The I/Os of 4 KiB that the device received, as `w` or `r` with the block number.
fn sequence(program: &[&str], options: &str) -> Vec<String> {
    let device = FaultDevice::mount(DeviceOptions {
        size: 128 << 10,
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    let directory = Scratch::new().expect("a directory");
    let mut job = format!(
        "--name=j --filename={} --rw=write --bs=4k --direct=1 --size=128k --verify=crc32c --verify_state_save=0 {options}",
        device.path().display()
    );
    if program.len() > 1 {
        job += &format!(" --destroy={}", device_code(&device.path()));
    }
    device.clear_log();
    let result = line(program, directory.path(), &job);
    assert_eq!(result.code, Some(0), "{}{}", result.out, result.err);
    let ios = device
        .log()
        .into_iter()
        .filter(|one| one.len == 4096 && matches!(one.op.name(), "read" | "write"));
    ios.map(|one| format!("{}{}", &one.op.name()[..1], one.offset / 4096))
        .collect()
}

/// `verify_backlog_batch`: fewer blocks than the backlog are verified at a time, the oldest first,
/// and the rest at the end.
#[test]
fn a_backlog_is_read_back_in_batches_as_fio_does() {
    require!(Root, Fuse, Fio);
    for options in [
        "--verify_backlog=8 --verify_backlog_batch=4",
        "--verify_backlog=8 --verify_backlog_batch=3",
        "--verify_backlog=8",
    ] {
        let (ours, theirs) = (sequence(&FATHOM_FIO, options), sequence(&FIO, options));
        // The guard samples the contents before the first write.
        let after_first_reads = |all: &[String]| {
            all.iter()
                .skip_while(|one| one.starts_with('r'))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(after_first_reads(&ours).len(), 64, "{options}: {ours:?}");
        assert_eq!(
            after_first_reads(&ours),
            after_first_reads(&theirs),
            "{options}"
        );
    }
}

/// Writes a file and corrupts one byte in the data of the second block and one in the header of the
/// sixth.
fn write_and_corrupt(directory: &Path, program: &[&str], kind: &str) -> Vec<u8> {
    let job = format!(
        "--name=j --filename=data --rw=write --bs=4k --size=64k {kind} --do_verify=0 --verify_state_save=0"
    );
    let result = line(program, directory, &job);
    assert_eq!(result.code, Some(0), "{}{}", result.out, result.err);
    let before = std::fs::read(directory.join("data")).expect("written");
    let mut after = before.clone();
    after[5000] ^= 0x10;
    after[5 * 4096] ^= 0x10;
    std::fs::write(directory.join("data"), after).expect("our own file");
    before
}

fn saved(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .into_string()
                .expect("a name")
        });
    let mut names: Vec<String> = entries.filter(|name| name.starts_with("data.")).collect();
    names.sort();
    names
        .into_iter()
        .map(|name| {
            (
                name.clone(),
                std::fs::read(directory.join(name)).expect("readable"),
            )
        })
        .collect()
}

/// The received and the expected block are saved under fio's file names.
#[test]
fn wrong_blocks_are_saved_as_fio_saves_them() {
    require!(Fio);
    for (kind, names) in [
        (
            "--verify=pattern --verify_pattern=0xdeadbeef",
            vec![
                "data.20480.expected",
                "data.20480.received",
                "data.4096.expected",
                "data.4096.received",
            ],
        ),
        (
            "--verify=crc32c",
            vec![
                "data.20480.hdr_fail",
                "data.4096.expected",
                "data.4096.received",
            ],
        ),
    ] {
        let [ours, theirs] = [&FATHOM_FIO[..], &FIO[..]].map(|program| {
            let directory = Scratch::new().expect("a directory");
            let before = write_and_corrupt(directory.path(), program, kind);
            let read = format!("--name=j --filename=data --rw=read --bs=4k --size=64k {kind} --verify_dump=1 --continue_on_error=verify");
            line(program, directory.path(), &read);
            (before, saved(directory.path()))
        });
        for (_, saved) in [&ours, &theirs] {
            assert_eq!(
                saved.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                names,
                "{kind}"
            );
        }
        let (before, saved) = ours;
        for (name, bytes) in &saved {
            let at: usize = name
                .split('.')
                .nth(1)
                .expect("an offset")
                .parse()
                .expect("a number");
            let mut block = before[at..at + 4096].to_vec();
            if !name.ends_with("expected") {
                block[if at == 4096 { 5000 - 4096 } else { 0 }] ^= 0x10;
            }
            assert!(*bytes == block, "{kind} {name}");
        }
        if kind.contains("pattern") {
            assert!(saved == theirs.1, "both write the same pattern");
        }
    }
}

/// Blocks of `verify=fathom` are saved too, into the directory of `--aux-path`; without the option
/// none are saved.
#[test]
fn wrong_blocks_of_our_own_stamps_are_saved_too() {
    let directory = Scratch::new().expect("a directory");
    let before = write_and_corrupt(directory.path(), &FATHOM_FIO, "--verify=fathom");
    std::fs::create_dir(directory.join("left")).expect("a directory");
    let read = "--name=j --filename=data --rw=read --bs=4k --size=64k --verify=fathom --continue_on_error=verify --aux-path=left";
    line(&FATHOM_FIO, directory.path(), read);
    assert_eq!(saved(&directory.join("left")), []);
    line(
        &FATHOM_FIO,
        directory.path(),
        &format!("{read} --verify_dump=1"),
    );
    let saved = saved(&directory.join("left"));
    let names: Vec<&str> = saved.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "data.20480.expected",
            "data.20480.received",
            "data.4096.expected",
            "data.4096.received"
        ]
    );
    for (name, bytes) in saved.iter().filter(|(name, _)| name.ends_with("expected")) {
        let at: usize = name
            .split('.')
            .nth(1)
            .expect("an offset")
            .parse()
            .expect("a number");
        assert!(*bytes == before[at..at + 4096], "{name}");
    }
}

/// With `verify_async` the same wrong blocks are found as without, for fio's and fathom's headers,
/// and threads named `verify` find them.
#[test]
fn verify_async_threads_verify_in_parallel() {
    for kind in ["md5", "fathom"] {
        let found = |threads: &str| {
            let directory = Scratch::new().expect("a directory");
            write_and_corrupt(directory.path(), &FATHOM_FIO, &format!("--verify={kind}"));
            let job = format!(
                "--name=j --filename=data --rw=randread --bs=4k --size=64k --iodepth=8 --ioengine=libaio --verify={kind} --continue_on_error=verify --output-format=json {threads}"
            );
            let result = line(&FATHOM_RUN, directory.path(), &job);
            let json: serde_json::Value = serde_json::from_str(&result.out)
                .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
            ["good_blocks", "bad_blocks", "checked_bytes"]
                .map(|key| number(&json, &format!("/fathom/entries/0/verify/{key}")))
        };
        let plain = found("");
        assert_eq!(plain, [14.0, 2.0, 65536.0], "{kind}");
        for threads in ["--verify_async=1", "--verify_async=3 --verify_async_cpus=0"] {
            assert_eq!(found(threads), plain, "{kind} {threads}");
        }
    }
    let directory = Scratch::new().expect("a directory");
    let mut job = split_args(
        "fio --name=j --rw=write --bs=4k --size=1m --rate_iops=50 --verify=crc32c --verify_backlog=4 --verify_async=2 --verify_async_cpus=0",
    );
    job.push(format!("--directory={}", directory.path().display()));
    let running = start(program(job));
    let two_verify_threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", running.id())).expect("it runs");
        let is_one = |task: &std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|name| name.trim() == "verify")
        };
        tasks.flatten().filter(is_one).count() == 2
    };
    wait_until("two threads that verify", two_verify_threads);
}

/// The writes of a replay are verified after it; overwritten blocks are verified only once.
#[test]
fn replayed_writes_are_verified() {
    let directory = Scratch::new().expect("a directory");
    // The second write covers half of the first, the fourth repeats the third, the fifth is
    // trimmed.
    let ios = "write 0 8192\ndata write 4096 4096\ndata write 65536 4096\ndata write 65536 4096\ndata write 131072 4096\ndata trim 131072 4096\n";
    std::fs::write(
        directory.join("trace"),
        format!("fio version 2 iolog\ndata add\ndata open\ndata {ios}data close\n"),
    )
    .expect("a log");
    for kind in ["crc32c", "fathom"] {
        let job = format!(
            "--name=j --read_iolog=trace --verify={kind} --output-format=json --verify_state_save=0"
        );
        let result = line(&FATHOM_RUN, directory.path(), &job);
        let json: serde_json::Value = serde_json::from_str(&result.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
        let verify = |key: &str| number(&json, &format!("/fathom/entries/0/verify/{key}"));
        assert_eq!(
            (
                result.code,
                verify("good_blocks"),
                verify("bad_blocks"),
                verify("checked_bytes")
            ),
            (Some(0), 2.0, 0.0, 8192.0),
            "{kind} {}",
            result.err
        );
    }
}

/// If a device loses a write of a replay, verification finds the block.
#[test]
fn a_lost_write_of_a_replay_is_found() {
    require!(Root, Fuse);
    let device = FaultDevice::mount(DeviceOptions {
        size: 1 << 20,
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    let directory = Scratch::new().expect("a directory");
    let path = device.path();
    let one = |offset: u64| format!("{} write {offset} 4096\n", path.display());
    let log = format!(
        "fio version 2 iolog\n{0} add\n{0} open\n{1}{0} close\n",
        path.display(),
        (0..8).chain([3]).map(|n| one(n * 4096)).collect::<String>()
    );
    std::fs::write(directory.join("trace"), log).expect("a log");
    device.corrupt(3 * 4096, 2, Corruption::Lose);
    let job = format!(
        "--name=j --read_iolog=trace --verify=fathom --direct=1 --output-format=json --destroy={}",
        device_code(&path)
    );
    let result = line(&FATHOM_RUN, directory.path(), &job);
    let json: serde_json::Value = serde_json::from_str(&result.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", result.out, result.err));
    let verify = |key: &str| number(&json, &format!("/fathom/entries/0/verify/{key}"));
    assert_eq!(
        (result.code, verify("good_blocks"), verify("bad_blocks")),
        (Some(1), 7.0, 1.0),
        "{}",
        result.err
    );
}

/// exec: the program runs in parallel with the load, with fio's placeholders in its arguments, and
/// its output is in the same files as with fio.
#[test]
fn a_program_runs_in_parallel_with_the_load() {
    let fixture = Fixture::new(
        "[side]\nioengine=exec\nprogram=/bin/echo\narguments=job %n of %r s\nruntime=30\n[load]\nioengine=null\nsize=1m\n",
    );
    let json = fixture.json(&[]);
    assert_eq!(fixture.text("side.stdout"), "job side of 30 s\n");
    assert_eq!(number(&json, "/jobs/1/read/total_ios"), 256.0);
    let missing = Fixture::new("[side]\nioengine=exec\nprogram=/no/such/program\n");
    let result = run(&FATHOM_FIO, missing.0.path(), &["job.fio"]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("/no/such/program"), "{}", result.err);
    let unnamed = Fixture::new("[side]\nioengine=exec\n");
    assert!(
        run(&FATHOM_FIO, unnamed.0.path(), &["job.fio"])
            .err
            .contains("set program=PATH")
    );
}

/// It gets SIGTERM when its time is over, and SIGKILL when it does not end.
#[test]
fn a_program_ends_with_its_job() {
    let fixture = Fixture::new(
        "[side]\nioengine=exec\nprogram=/bin/sh\narguments=script\nruntime=1\ngrace_time=1\n",
    );
    std::fs::write(
        fixture.0.join("script"),
        "trap 'echo terminated' TERM\necho $$\nwhile :; do sleep 0.1; done\n",
    )
    .expect("a script");
    fixture.json(&[]);
    let message = fixture.text("side.stdout");
    let (pid, signal) = message.split_once('\n').expect("two lines");
    assert_eq!(signal, "terminated\n");
    assert!(!Path::new("/proc").join(pid).exists(), "{pid} still exists");
}

/// A timeout or a file ends the jobs; then their verify states are saved, and then the command
/// runs.
#[test]
fn a_trigger_ends_the_run() {
    for trigger in ["--trigger-timeout=3s", "--trigger-file=now"] {
        let directory = Scratch::new().expect("a directory");
        let mut job = split_args(
            "fio --name=j --filename=data --rw=write --bs=4k --size=64m --rate=1m --fallocate=none --verify=crc32c --do_verify=0 --output-format=json",
        );
        job.extend([trigger.to_owned(), "--trigger=ls > seen".to_owned()]);
        let mut command = program(job);
        command.current_dir(directory.path());
        let running = start(command);
        wait_until("some data", || {
            std::fs::metadata(directory.join("data")).is_ok_and(|data| data.len() > 0)
        });
        std::fs::write(directory.join("now"), "").expect("a file");
        let ran = running.finish().expect(0);
        assert!(ran.json().number("/jobs/0/write/io_bytes") < f64::from(64 << 20));
        let seen = std::fs::read_to_string(directory.join("seen")).expect("the command ran");
        assert!(seen.contains("local-j-0-verify.state"), "{seen}");
        assert_eq!(
            seen.contains("now"),
            trigger.contains("timeout"),
            "the trigger file is removed: {seen}"
        );
    }
    let failing = fathom(split_args(
        "fio --name=j --ioengine=null --size=1g --time_based --runtime=30 --trigger-timeout=100ms --trigger=false",
    ));
    assert!(
        failing.code() == 1 && failing.err.contains("--trigger: 'false' ended with"),
        "{}",
        failing.err
    );
}

/// While a job with `lockmem` runs, the process has that much memory locked.
#[test]
fn memory_is_locked_while_the_job_runs() {
    let running = start(program(split_args(
        "fio --name=j --ioengine=null --size=1g --rate_iops=10 --time_based --runtime=30 --lockmem=8m --numjobs=2",
    )));
    let locked = || {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
        status
            .lines()
            .any(|line| line.starts_with("VmLck:") && line.contains(" 16384 kB"))
    };
    wait_until("16 MiB of locked memory", locked);
    let ran = fathom(split_args(
        "fio --name=j --ioengine=null --size=64k --lockmem=1p",
    ));
    assert!(
        ran.code() == 1 && ran.err.contains("would leave no memory"),
        "{}",
        ran.err
    );
}

/// `ioscheduler` is set during the run, and the previous scheduler is restored afterwards.
#[test]
fn the_scheduler_is_switched_and_restored() {
    require!(Root, Loop);
    let image = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&image.join("disk.img"), 16 << 20, LoopOptions::default())
        .expect("a loop device");
    let name = device
        .path()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let file = format!("/sys/block/{name}/queue/scheduler");
    let now = || std::fs::read_to_string(&file).expect("sysfs");
    let before = now();
    let schedulers = before
        .split_whitespace()
        .map(|scheduler| scheduler.trim_matches(['[', ']']));
    let Some(other) = schedulers
        .clone()
        .find(|scheduler| !before.contains(&format!("[{scheduler}]")))
    else {
        return skip("the loop devices of this kernel have one scheduler only");
    };
    let mut job = split_args(&format!(
        "fio --name=j --rw=read --bs=4k --size=16m --rate_iops=200 --ioscheduler={other}"
    ));
    job.push(filename_arg(device.path()));
    let running = start(program(job.clone()));
    wait_until("the other scheduler", || {
        now().contains(&format!("[{other}]"))
    });
    running.signal(rustix::process::Signal::INT);
    running.finish();
    assert_eq!(now(), before);
    let mut wrong =
        split_args("fio --name=j --rw=read --bs=4k --size=64k --ioscheduler=no-such-one");
    wrong.push(filename_arg(device.path()));
    let ran = fathom(wrong);
    assert!(
        ran.code() == 1 && ran.err.contains("no I/O scheduler 'no-such-one'"),
        "{}",
        ran.err
    );
    assert_eq!(now(), before);
}

/// Two jobs with offloaded submission and `serialize_overlap` never write the same bytes at the
/// same time, according to the device's log.
#[test]
fn offloaded_jobs_serialise_overlapping_writes() {
    require!(Root, Fuse);
    let overlapping_pairs = |serialize: u8| {
        let latency = Latency {
            write_us: 2000,
            ..Latency::default()
        };
        let device = FaultDevice::mount(DeviceOptions {
            size: 64 << 10,
            latency,
            ..DeviceOptions::default()
        })
        .expect("a fault device");
        let mut job = split_args(&format!(
            "fio --name=j --rw=randwrite --norandommap --bs=4k --size=64k --io_size=1m --numjobs=2 --iodepth=4 --ioengine=psync --direct=1 --io_submit_mode=offload --serialize_overlap={serialize}"
        ));
        job.extend([
            filename_arg(&device.path()),
            format!("--destroy={}", device_code(&device.path())),
        ]);
        device.clear_log();
        fathom(job).expect(0);
        let log: Vec<_> = device
            .log()
            .into_iter()
            .filter(|one| one.op.name() == "write" && one.len == 4096)
            .collect();
        assert_eq!(log.len(), 512);
        let overlap = |a: usize, b: usize| {
            log[a].offset == log[b].offset
                && log[a].start_ns < log[b].end_ns
                && log[b].start_ns < log[a].end_ns
        };
        (0..log.len())
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .filter(|(a, b)| overlap(*a, *b))
            .count()
    };
    assert_eq!(overlapping_pairs(1), 0);
    assert!(overlapping_pairs(0) > 0, "without it writes overlap");
}

/// Unsupported options are refused with an alternative; `fathom run` warns about options without
/// effect.
#[test]
fn no_option_is_silently_ignored() {
    for (option, alternative) in [
        ("cgroup=x", "systemd-run"),
        ("cgroup_weight=500", "IOWeight"),
        ("mem=cudamalloc", "in host memory"),
        ("unlink_each_loop=1 --verify=crc32c", "unlink=1"),
        ("write_barrier=4", "fsync"),
    ] {
        let line = format!("fio --name=j --ioengine=null --size=64k --{option}");
        let ran = fathom(line.split(' '));
        assert!(
            ran.code() == 1 && ran.err.contains(alternative),
            "{option}: {}",
            ran.err
        );
    }
    for (option, why) in [
        ("iomem_align=64k", "aligned to 4096 bytes"),
        ("mem=mmaphuge", "with huge pages where available"),
        ("openfiles=3", "all files of a job stay open"),
    ] {
        let ran = fathom([
            "run",
            "--name=j",
            "--ioengine=null",
            "--size=64k",
            &format!("--{option}"),
        ])
        .expect(0);
        assert!(ran.err.contains(why), "{option}: {}", ran.err);
    }
}

/// The system's pool of huge pages, restored at the end.
struct HugePagePool(String);

const POOL: &str = "/proc/sys/vm/nr_hugepages";

impl HugePagePool {
    /// A pool of so many pages; `None` if the kernel does not provide them.
    fn set(pages: u32) -> Option<HugePagePool> {
        let before = std::fs::read_to_string(POOL).ok()?;
        let pool = HugePagePool(before);
        std::fs::write(POOL, pages.to_string()).ok()?;
        let now = std::fs::read_to_string(POOL).ok()?;
        (now.trim() == pages.to_string()).then_some(pool)
    }

    /// Pages of the pool that are used or reserved.
    fn used() -> u64 {
        let facts = std::fs::read_to_string("/proc/meminfo").expect("meminfo");
        let of = |name: &str| -> u64 {
            let line = facts.lines().find(|line| line.starts_with(name));
            let number = line.and_then(|line| line.split_whitespace().nth(1));
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        of("HugePages_Total:") - of("HugePages_Free:") + of("HugePages_Rsvd:")
    }
}

impl Drop for HugePagePool {
    fn drop(&mut self) {
        let _ = std::fs::write(POOL, &self.0);
    }
}

/// Regression 0522: `mem=mmaphuge` and `mem=shmhuge` of `fathom fio` had ordinary pages. fio takes the buffers from the pool of
/// huge pages, and fails without free ones; other values of mem= have ordinary pages.
#[test]
fn huge_page_buffers_come_from_the_pool_as_those_of_fio() {
    require!(Root, Fio);
    let directory = Scratch::new().expect("a directory");
    let run = |fathom: bool, mem: &str| {
        let mut command = if fathom {
            program(["fio"])
        } else {
            std::process::Command::new("fio")
        };
        let size = if std::path::Path::new(POOL).exists() {
            "1m"
        } else {
            "4k"
        };
        command
            .args([
                "--name=j",
                "--filename=data",
                "--size=4m",
                "--rw=read",
                "--ioengine=psync",
            ])
            .args(["--time_based", "--runtime=1", "--rate_iops=50"])
            .arg(format!("--bs={size}"))
            .arg(format!("--mem={mem}"))
            .current_dir(directory.path());
        start(command)
    };
    {
        let Some(_pool) = HugePagePool::set(0) else {
            return fathom_testkit::skip("the pool of huge pages cannot be changed");
        };
        for (mem, expected) in [("mmaphuge", 1), ("shmhuge", 1), ("mmap", 0)] {
            for fathom in [false, true] {
                assert_eq!(
                    run(fathom, mem).finish().code(),
                    expected,
                    "{mem}, fathom: {fathom}"
                );
            }
        }
    }
    let Some(_pool) = HugePagePool::set(8) else {
        return fathom_testkit::skip("the kernel has no memory for eight huge pages");
    };
    for (mem, uses_pool) in [("mmaphuge", true), ("shmhuge", true), ("malloc", false)] {
        for fathom in [false, true] {
            let mut running = run(fathom, mem);
            let mut most = 0;
            // As long as it runs, which on a busy machine begins late.
            while !running.has_exited() {
                most = most.max(HugePagePool::used());
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert_eq!(running.finish().code(), 0, "{mem}, fathom: {fathom}");
            assert_eq!(most > 0, uses_pool, "{mem}, fathom: {fathom}: {most} pages");
        }
    }
}
