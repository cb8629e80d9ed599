//! Options for the process and for opening files: uid, gid, comm, lockfile, opendir, write_hint,
//! end_syncfs, offload.

use crate::common;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Completed, fathom, filename_arg, sh, split_args};
use fathom_testkit::{Scratch, require, skip};

fn job(line: &str, more: &[String]) -> Completed {
    let mut arguments = split_args("fio --output-format=json --name=a --bs=4k --size=1m");
    arguments.extend(split_args(line));
    arguments.extend_from_slice(more);
    fathom(arguments)
}

fn directory_arg(directory: &Path) -> String {
    format!("--directory={}", directory.display())
}

/// The permissions of the file apply to the named user and group, who open it.
#[test]
fn files_are_opened_as_the_named_user_and_group() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))
        .expect("our own file");
    let path = directory.join("file");
    std::fs::write(&path, vec![1; 1 << 20]).expect("a file");
    let mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))
            .expect("our own file");
    };
    for (bits, options, code) in [
        (0o600, "--uid=65534", 1),
        (0o604, "--uid=65534 --gid=65534", 0),
        (0o640, "--uid=65534 --gid=65534", 1),
        (0o640, "--uid=65534 --gid=0", 0),
        (0o600, "", 0),
    ] {
        mode(bits);
        let ran = job(&format!("--rw=read {options}"), &[filename_arg(&path)]);
        assert_eq!(
            ran.code(),
            code,
            "{bits:o} {options}: {}{}",
            ran.out,
            ran.err
        );
    }
}

#[test]
fn the_thread_has_the_job_name() {
    let directory = Scratch::new().expect("a directory");
    let mut line = split_args(
        "fio --name=a --ioengine=null --size=1g --bs=4k --rate_iops=100 --runtime=20s --time_based --comm=busybee",
    );
    line.push(directory_arg(directory.path()));
    let running = common::start(common::program(line));
    let named = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", running.id())).expect("it runs");
        tasks.flatten().any(|task| {
            std::fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|name| name.trim() == "busybee")
        })
    };
    common::wait_until("a thread of that name", named);
}

/// fcntl(2): the hint belongs to the inode, and F_GET_RW_HINT (1035) returns it as long as the
/// inode is in memory.
#[test]
fn write_lifetime_hints_reach_the_kernel() {
    let directory = Scratch::new().expect("a directory");
    let path = directory.join("file");
    job("--rw=write", &[filename_arg(&path)]).expect(0);
    let held = std::fs::File::open(&path).expect("it exists");
    for (hint, number) in [("short", 2), ("extreme", 5), ("none", 1)] {
        let ran = job(
            &format!("--rw=write --write_hint={hint}"),
            &[filename_arg(&path)],
        );
        if ran.code() != 0 && ran.out.contains("does not support write_hint=") {
            return skip("this kernel does not support write hints");
        }
        ran.expect(0);
        let script = format!(
            "import fcntl,struct; f=open('{}'); print(struct.unpack('Q', fcntl.fcntl(f, 1035, struct.pack('Q', 0)))[0])",
            path.display()
        );
        assert_eq!(
            sh(&format!("python3 -c \"{script}\"")),
            number.to_string(),
            "{hint}"
        );
    }
    drop(held);
}

#[test]
fn every_file_below_a_directory_is_used() {
    let directory = Scratch::new().expect("a directory");
    std::fs::create_dir(directory.join("deep")).expect("a directory");
    for name in ["one", "two", "deep/three"] {
        std::fs::write(directory.join(name), vec![1; 64 << 10]).expect("a file");
    }
    std::os::unix::fs::symlink("/dev/null", directory.join("link")).expect("a link");
    let mut line = split_args("fio --output-format=json --name=a --bs=4k --rw=read");
    line.push(format!("--opendir={}", directory.path().display()));
    let json = fathom(line).expect(0).json();
    assert_eq!(
        json.number("/jobs/0/read/io_bytes"),
        f64::from(3 * (64 << 10))
    );
    let empty = Scratch::new().expect("a directory");
    let ran = job(
        "--rw=read",
        &[format!("--opendir={}", empty.path().display())],
    )
    .expect(1);
    assert!(ran.err.contains("no file below"), "{}", ran.err);
    let ran = job("--rw=read --opendir=/nowhere/at/all", &[]).expect(1);
    assert!(ran.err.contains("not a readable directory"), "{}", ran.err);
}

/// Jobs that lock shared files complete all I/Os exactly once with every engine and depth, and
/// there is no deadlock.
#[test]
fn jobs_that_lock_their_files_all_complete() {
    let directory = Scratch::new().expect("a directory");
    let files = format!("--filename={0}/a:{0}/b:{0}/c", directory.path().display());
    for lock in ["exclusive", "readwrite"] {
        for engine in ["psync", "libaio", "io_uring", "posixaio"] {
            let line = format!(
                "--rw=randrw --numjobs=3 --iodepth=8 --ioengine={engine} --lockfile={lock} --loops=2 --group_reporting"
            );
            let json = job(&line, std::slice::from_ref(&files)).expect(0).json();
            let ios =
                json.number("/jobs/0/read/total_ios") + json.number("/jobs/0/write/total_ios");
            // The region is split over three files, each in whole blocks.
            assert_eq!(ios, 3.0 * 2.0 * 255.0, "{lock} {engine}");
        }
    }
}

#[test]
fn the_file_system_is_synced_at_the_end() {
    let directory = Scratch::new().expect("a directory");
    job(
        "--rw=write --end_syncfs=1",
        &[directory_arg(directory.path())],
    )
    .expect(0);
    let trace = directory.join("trace");
    if std::process::Command::new("strace")
        .arg("-V")
        .output()
        .is_err()
    {
        return skip("strace is not installed");
    }
    let line = format!(
        "strace -f -e trace=syncfs -o {} {} fio --name=a --bs=4k --size=64k --rw=write --end_syncfs=1 --directory={}",
        trace.display(),
        common::FATHOM,
        directory.path().display()
    );
    sh(&line);
    assert!(
        std::fs::read_to_string(&trace)
            .expect("a trace")
            .contains("syncfs(")
    );
}

/// With offloaded submission, a synchronous engine keeps a queue, as fio's depth levels show.
#[test]
fn offloaded_calls_keep_a_queue() {
    let directory = Scratch::new().expect("a directory");
    for engine in ["psync", "pvsync2"] {
        let line = |mode: &str| {
            format!("--rw=randread --iodepth=8 --ioengine={engine} --io_submit_mode={mode}")
        };
        let levels = |mode: &str| {
            let json = job(&line(mode), &[directory_arg(directory.path())])
                .expect(0)
                .json();
            assert_eq!(json.number("/jobs/0/read/total_ios"), 256.0);
            json.number("/jobs/0/iodepth_level/8")
        };
        assert_eq!(levels("inline"), 0.0);
        assert!(levels("offload") > 50.0, "{engine}");
    }
}

/// Regression 0433: `kill -9` ended the program of `ioengine=exec`, but not what that program had started.
#[test]
fn a_killed_run_leaves_no_process_of_its_programs() {
    let directory = fathom_testkit::Scratch::new().expect("a directory");
    let script = directory.join("program.sh");
    std::fs::write(&script, "#!/bin/sh\nsleep 300 &\necho $! >child\nsleep 301 &\necho $! >>child\necho $$ >>child\nwait\n")
        .expect("a script");
    common::sh(&format!("chmod +x {}", script.display()));
    for (signal, wait) in [
        (rustix::process::Signal::KILL, 5),
        (rustix::process::Signal::INT, 15),
    ] {
        let _ = std::fs::remove_file(directory.join("child"));
        let mut command = common::program([
            "run",
            "--name=x",
            "--ioengine=exec",
            "--program=./program.sh",
            "--grace_time=1",
            "--time_based",
            "--runtime=60",
        ]);
        command.current_dir(directory.path());
        let mut running = common::start(command);
        let pids = || -> Vec<u32> {
            let text = std::fs::read_to_string(directory.join("child")).unwrap_or_default();
            text.lines().filter_map(|line| line.parse().ok()).collect()
        };
        common::wait_until("the program started", || {
            pids().len() == 3 || running.has_exited()
        });
        let started = pids();
        assert_eq!(started.len(), 3, "{}", running.finish().err);
        running.signal(signal);
        // A process that has ended and was not reaped yet has no command line.
        let alive = |pid: &u32| {
            std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
        };
        let limit = std::time::Instant::now() + std::time::Duration::from_secs(wait);
        while started.iter().any(alive) && std::time::Instant::now() < limit {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let left: Vec<&u32> = started.iter().filter(|pid| alive(pid)).collect();
        assert!(
            left.is_empty(),
            "{signal:?}: {left:?} of {started:?} are alive"
        );
        running.finish();
    }
}
