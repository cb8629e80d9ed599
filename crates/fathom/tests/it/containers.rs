//! What a container does not have: the CPUs and the memory of the host, /sys, a writable root, a home directory, an entry in
//! the table of users. And what an older kernel does not have.

use crate::common;
use std::process::Command;

use crate::common::{Completed, FATHOM, split_args, start};
use fathom_testkit::seccomp::{Denied, on_older_kernel};
use fathom_testkit::{ControlGroup, LoopDevice, LoopOptions, Scratch, require, skip};

/// A plain job on a file.
const JOB: &str = "run --no-store --name=x --filename=data --size=16m --rw=randrw --bs=4k --iodepth=16 --direct=1 --format=json";

/// A group with limits; `None`, with a message, where the machine has no hierarchy of version 1 for it.
fn group(controller: &str, limits: &[(&str, &str)]) -> Option<ControlGroup> {
    let group = match ControlGroup::new(controller) {
        Ok(group) => group,
        Err(error) => {
            skip(&format!("no cgroup v1 {controller}: {error}"));
            return None;
        }
    };
    for (file, value) in limits {
        group.set(file, value).expect("a limit");
    }
    Some(group)
}

/// Runs a shell script in a mount namespace of its own: its mounts end with it.
fn in_namespace(directory: &Scratch, setup: &str, line: &str) -> Completed {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-e", "-c"])
        .arg(format!("{setup}\nexec \"$0\" \"$@\""))
        .arg(FATHOM)
        .args(split_args(line))
        .current_dir(directory.path());
    start(command).finish()
}

/// Regression 0573: a result in a container had the memory and the CPUs of the host. The expected values are the limits.
#[test]
fn the_limits_of_the_group_are_the_machine() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let line = "run --no-store --name=$ncpus --ioengine=null --size=64k --format=json";
    let Some(memory) = group("memory", &[("memory.limit_in_bytes", "134217728")]) else {
        return;
    };
    let mut command = memory.command(FATHOM);
    command.args(split_args(line)).current_dir(directory.path());
    let json = start(command).finish().expect(0).json();
    assert_eq!(json.number("/fathom/host/memory_bytes"), 134_217_728.0);
    let Some(cpu) = group(
        "cpu",
        &[
            ("cpu.cfs_period_us", "100000"),
            ("cpu.cfs_quota_us", "90000"),
        ],
    ) else {
        return;
    };
    let mut command = cpu.command(FATHOM);
    command.args(split_args(line)).current_dir(directory.path());
    let json = start(command).finish().expect(0).json();
    assert_eq!(json.number("/fathom/host/cpus"), 1.0);
}

/// A group without limits of its own below another one, removed before that one.
struct InnerGroup(std::path::PathBuf);

impl InnerGroup {
    fn below(outer: &ControlGroup) -> InnerGroup {
        let path = outer.path().join("inner");
        std::fs::create_dir(&path).expect("a group");
        InnerGroup(path)
    }

    /// The program in this group.
    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ > "$0" && exec "$@""#]);
        command.arg(self.0.join("cgroup.procs")).arg(FATHOM);
        command
    }
}

impl Drop for InnerGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A limit holds for the groups below the one that has it: a container within a limited pod.
#[test]
fn the_limits_of_an_outer_group_are_the_machine() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let line = "run --no-store --name=x --ioengine=null --size=64k --format=json";
    let limits: [(&str, &[(&str, &str)], &str, f64); 2] = [
        (
            "memory",
            &[("memory.limit_in_bytes", "134217728")],
            "memory_bytes",
            134_217_728.0,
        ),
        (
            "cpu",
            &[
                ("cpu.cfs_period_us", "100000"),
                ("cpu.cfs_quota_us", "90000"),
            ],
            "cpus",
            1.0,
        ),
    ];
    for (controller, limits, figure, expected) in limits {
        let Some(outer) = group(controller, limits) else {
            return;
        };
        let inner = InnerGroup::below(&outer);
        let mut command = inner.command();
        command.args(split_args(line)).current_dir(directory.path());
        let json = start(command).finish().expect(0).json();
        let found = json.number(&format!("/fathom/host/{figure}"));
        assert_eq!(found, expected, "{controller}");
    }
}

/// A quota limits the time of the CPUs, not which of them a job may use.
#[test]
fn all_cpus_can_be_named_under_a_quota() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let last = std::thread::available_parallelism().map_or(0, |count| count.get() - 1);
    let Some(cpu) = group(
        "cpu",
        &[
            ("cpu.cfs_period_us", "100000"),
            ("cpu.cfs_quota_us", "90000"),
        ],
    ) else {
        return;
    };
    let mut command = cpu.command(FATHOM);
    let line = format!("run --no-store --name=x --ioengine=null --size=64k --cpus_allowed={last}");
    command
        .args(split_args(&line))
        .current_dir(directory.path());
    start(command).finish().expect(0);
}

/// 64 MiB of memory are enough for a plain job; one whose buffers do not fit is refused before it starts, and not killed.
#[test]
fn a_plain_job_runs_in_64_mib() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let Some(memory) = group("memory", &[("memory.limit_in_bytes", "67108864")]) else {
        return;
    };
    let run = |line: &str| {
        let mut command = memory.command(FATHOM);
        command.args(split_args(line)).current_dir(directory.path());
        start(command).finish()
    };
    let json = run(JOB).expect_measured().json();
    assert_eq!(json.count("ok_ios"), 4096);
    assert_eq!(json.number("/fathom/host/memory_bytes"), 67_108_864.0);
    // The notes of a verification take a part of what is left.
    let verified = "run --no-store --name=v --filename=verified --size=32m --rw=randwrite --bs=512 --norandommap=1 --verify=crc32c --format=json";
    let json = run(verified).expect_measured().json();
    assert_eq!(json.number("/jobs/0/error"), 0.0);
    let large =
        "run --no-store --name=x --filename=data --size=16m --rw=randread --bs=1m --direct=1";
    let refused = run(&format!("{large} --iodepth=128")).expect(2);
    assert!(
        refused
            .err
            .contains("the buffers need 128 MiB, but this process can use 64 MiB of memory"),
        "{}",
        refused.err
    );
    // The limit also holds what the program itself needs.
    let refused = run(&format!("{large} --iodepth=63 --ioengine=libaio"));
    assert!(refused.status.code().is_some(), "killed: {}", refused.err);
    assert!(
        (refused.out + &refused.err).contains("raise the memory limit"),
        "no reason"
    );
}

/// A container may hide all of /sys.
#[test]
fn a_job_runs_without_sys() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    // Neither control groups nor pressure stall information are visible then.
    let setup = "mount -t tmpfs none /sys\nif [ -d /proc/pressure ]; then mount -t tmpfs none /proc/pressure; fi";
    let hidden = in_namespace(&directory, setup, JOB);
    assert_eq!(hidden.expect(0).json().count("ok_ios"), 4096);
    // Without /sys there is no list of devices.
    let listed = in_namespace(&directory, setup, "devices").expect(2);
    assert_eq!(
        listed.err,
        "fathom devices: block devices are listed from /sys/class/block, which does not exist here: mount sysfs at /sys\n"
    );
    assert!(
        std::path::Path::new("/sys/class").exists(),
        "the mount ended with the namespace"
    );
}

/// A read-only root with one writable volume.
#[test]
fn a_job_runs_with_a_read_only_root() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let volume = directory.join("volume");
    std::fs::create_dir(&volume).expect("a directory");
    let setup = format!(
        "mount --bind {0} {0}; mount -o remount,bind,ro /; cd {0}",
        volume.display()
    );
    let ran = in_namespace(&directory, &setup, JOB);
    assert_eq!(ran.expect(0).json().count("ok_ios"), 4096);
}

/// No home directory, no terminal, and a user that the system does not know. Without a store the result is only printed.
#[test]
fn any_user_without_a_home_can_measure() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let open = format!(
        "chmod 777 {0} && cp {FATHOM} {0}/fathom && chmod 755 {0}/fathom",
        directory.path().display()
    );
    common::sh(&open);
    let run = |line: &str| {
        let mut command = Command::new("setpriv");
        command
            .args([
                "--reuid=123456",
                "--regid=0",
                "--clear-groups",
                "--bounding-set=-all",
            ])
            .arg(directory.join("fathom"))
            .args(split_args(line))
            .env_clear()
            .current_dir(directory.path());
        start(command).finish()
    };
    let ran = run(&JOB.replace("--no-store ", "")).expect(0);
    assert_eq!(ran.json().count("ok_ios"), 4096);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(
        matches!(lines[..], [line] if line.contains("neither XDG_DATA_HOME nor HOME is set")),
        "{}",
        ran.err
    );
    // Commands that need a store name what is missing, and only options that they have.
    let shown = run("show").expect(2);
    assert!(
        shown
            .err
            .ends_with("neither XDG_DATA_HOME nor HOME is set; use --store=FILE\n"),
        "{}",
        shown.err
    );
    let quiet = run(JOB).expect(0);
    assert_eq!(quiet.err, "");
}

/// Regression 0574: whether each feature of newer kernels has a replacement was not tested. Without it the same I/O is done.
#[test]
fn every_newer_kernel_feature_has_a_replacement() {
    let directory = Scratch::new().expect("a directory");
    for missing in [
        &[Denied::Statx][..],
        &[Denied::Cachestat],
        &[Denied::PopulateWrite],
        &[Denied::IoUringRegister],
        &[Denied::StatxDirectIo],
        &[Denied::EnterArgument],
        &[Denied::IoUring],
        &[Denied::AfterLinux54],
        &[
            Denied::AfterLinux54,
            Denied::IoUring,
            Denied::Statx,
            Denied::PopulateWrite,
        ],
    ] {
        for line in [
            JOB.to_owned(),
            JOB.replace("--direct=1", "--ioengine=psync --direct=0"),
        ] {
            let mut command = common::program(split_args(&line));
            command.current_dir(directory.path());
            let ran = on_older_kernel(missing, || start(command).finish()).expect("a filter");
            let json = ran.expect_measured().json();
            assert_eq!(json.count("ok_ios"), 4096, "{missing:?}");
            // The mount of the target is found without statx as well.
            let mounted = json.text("/fathom/targets/0/file_system/mounted_at");
            assert!(mounted.starts_with('/'), "{missing:?}: {mounted}");
        }
    }
}

/// Regression 0596: a ring whose waits could not time out was used, and the run failed. Without `IORING_ENTER_EXT_ARG` libaio
/// replaces io_uring.
#[test]
fn libaio_replaces_a_ring_without_time_limits() {
    require!(IoUring);
    let directory = Scratch::new().expect("a directory");
    let mut command = common::program(split_args(JOB));
    command.current_dir(directory.path());
    let ran = on_older_kernel(&[Denied::EnterArgument], || start(command).finish());
    let json = ran.expect("a filter").expect(0).json();
    assert_eq!(json.text("/fathom/entries/0/engine"), "libaio");
    json.expect_finding("ENGINE_FALLBACK");
}

/// Without the fields of direct I/O its support is found by trying, and the alignment is not in the result.
#[test]
fn direct_io_is_found_without_statx_fields() {
    let directory = Scratch::new().expect("a directory");
    let mut command = common::program(split_args(JOB));
    command.current_dir(directory.path());
    let ran = on_older_kernel(&[Denied::StatxDirectIo], || start(command).finish());
    let json = ran.expect("a filter").expect(0).json();
    assert_eq!(json.count("ok_ios"), 4096);
    assert_eq!(
        json.text("/fathom/targets/0/file_system/direct_io/reported"),
        "unknown"
    );
}

/// A loop device is read without `BLKGETDISKSEQ`, and keeps the code that confirms its destruction: /sys has the same number.
#[test]
fn a_device_is_identified_without_its_sequence_call() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&directory.join("disk"), 4 << 20, LoopOptions::default())
        .expect("a loop device");
    let path = device.path().display().to_string();
    let run = |missing: &[Denied], line: String| {
        let command = common::program(split_args(&line));
        on_older_kernel(missing, || start(command).finish()).expect("a filter")
    };
    let line = format!(
        "run --no-store --name=x --filename={path} --rw=randread --bs=4k --size=4m --format=json"
    );
    let json = run(&[Denied::DiskSequence], line).expect(0).json();
    assert_eq!(json.count("ok_ios"), 1024);
    let codes = [&[][..], &[Denied::DiskSequence]]
        .map(|missing| run(missing, format!("devices {path} --json")).expect(0).out);
    let code = |text: &str| {
        let start = text.find("\"code\"").expect("a code");
        text[start..].lines().next().map(str::to_owned)
    };
    assert_eq!(code(&codes[0]), code(&codes[1]));
}

/// Flags of preadv2 and pwritev2 that the kernel does not have are an error of the I/O, as in fio; a job without flags runs.
#[test]
fn flags_of_an_io_that_are_missing_are_reported() {
    let directory = Scratch::new().expect("a directory");
    let job = "run --no-store --name=x --filename=data --size=64k --rw=read --bs=4k --ioengine=pvsync2 --direct=1";
    let run = |line: &str| {
        let mut command = common::program(split_args(line));
        command.current_dir(directory.path());
        on_older_kernel(&[Denied::RwFlags], || start(command).finish()).expect("a filter")
    };
    run(job).expect(0);
    for option in ["--nowait=1", "--hipri=1", "--uncached=1"] {
        let ran = run(&format!("{job} {option}"));
        assert_ne!(ran.code(), 0, "{option}");
        let text = ran.out + &ran.err;
        assert!(text.contains("not supported"), "{option}: {text}");
    }
}

/// Without pressure stall information and tracefs the samples have no pressure, and no finding is derived from it.
#[test]
fn a_job_runs_without_pressure_and_tracing() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let line = "run --no-store --name=x --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=1200ms --format=json";
    let hide = |path: &str| format!("if [ -d {path} ]; then mount -t tmpfs none {path}; fi");
    let setup = ["/proc/pressure", "/sys/kernel/tracing", "/sys/kernel/debug"].map(hide);
    let json = in_namespace(&directory, &setup.join("\n"), line)
        .expect_measured()
        .json();
    let samples = "/fathom/conditions/telemetry/samples/0";
    assert!(json.number(&format!("{samples}/length_ns")) > 0.0);
    for name in ["cpu", "io", "memory"] {
        let value = json
            .0
            .pointer(&format!("{samples}/{name}_pressure_percent"));
        assert!(value.is_none_or(serde_json::Value::is_null), "{name}");
    }
    assert_eq!(json.finding("MEMORY_PRESSURE"), None);
}

/// What has no replacement is refused, with what to do.
#[test]
fn a_feature_without_a_replacement_is_refused() {
    let directory = Scratch::new().expect("a directory");
    for (missing, options, part) in [
        (
            Denied::Statx,
            "--ioengine=pvsync2 --direct=1 --atomic=1",
            "leave out atomic=",
        ),
        (
            Denied::IoUring,
            "--ioengine=io_uring",
            "use ioengine=libaio",
        ),
        (
            Denied::IoSetup,
            "--ioengine=libaio --direct=1",
            "use ioengine=io_uring or psync",
        ),
    ] {
        let line = format!(
            "run --no-store --name=x --filename=data --size=64k --rw=write --bs=4k {options}"
        );
        let mut command = common::program(split_args(&line));
        command.current_dir(directory.path());
        let ran = on_older_kernel(&[missing], || start(command).finish()).expect("a filter");
        assert_ne!(ran.code(), 0, "{missing:?}");
        let text = ran.out + &ran.err;
        assert!(
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(part),
            "{missing:?}: {text}"
        );
    }
}

/// The clock of the kernel, which other architectures always use, measures the same time as that of the CPU.
#[test]
fn the_portable_clock_measures_the_same_time() {
    let directory = Scratch::new().expect("a directory");
    let line = "run --no-store --name=x --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=1 --format=json";
    let mut command = common::program(split_args(line));
    command
        .env("FATHOM_CLOCK", "monotonic")
        .current_dir(directory.path());
    let ran = start(command).finish().expect(0);
    let json = ran.json();
    assert_eq!(json.text("/fathom/clock/source"), "monotonic");
    // Between the runtime and the time of the whole program, by the clock of this test.
    let ms = json.number("/jobs/0/read/runtime");
    let most = ran.took.as_secs_f64() * 1e3;
    assert!(ms >= 990.0 && ms <= most, "{ms} ms of {most} ms");
}

/// Regression 0575: each volume that cannot be measured is refused before anything is written, with what to do.
#[test]
fn volumes_that_cannot_be_measured_are_refused_with_the_remedy() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    std::fs::create_dir(directory.join("data")).expect("a directory");
    let read_only = "mount -t tmpfs -o ro none data";
    let small = "mount -t tmpfs -o size=8m none data";
    let run = "run --no-store --name=x --size=64m --rw=write --bs=4k";
    for (setup, line, parts) in [
        (
            read_only,
            format!("{run} --filename=data/x"),
            ["mounted read-only", "mounted read-write"],
        ),
        (
            read_only,
            format!("{run} --directory=data"),
            ["mounted read-only", "mounted read-write"],
        ),
        (
            read_only,
            "quick data --no-store --runtime=10s".into(),
            ["mounted read-only", "mounted read-write"],
        ),
        (
            read_only,
            "search data --no-store --slo=p99<=1ms".into(),
            ["mounted read-only", "mounted read-write"],
        ),
        (
            small,
            format!("{run} --filename=data/x"),
            ["8 MiB", "another file system"],
        ),
        (
            small,
            "quick data --no-store --runtime=10s".into(),
            ["only 8 MiB is free", "free some space"],
        ),
        (
            small,
            "suite hero data --no-store --size=64m".into(),
            ["only 8 MiB is free", "free some space"],
        ),
        (
            "true",
            "quick missing --no-store --runtime=10s".into(),
            ["does not exist", "--create"],
        ),
        (
            "true",
            "sweep missing --axis=bs=4k,8k --no-store".into(),
            ["does not exist", "--create"],
        ),
        (
            "true",
            format!("{run} --directory=missing"),
            ["is not a directory", "create it first"],
        ),
        (
            "true",
            "quick missing/below --no-store --runtime=10s".into(),
            ["No such file or directory", "create the directory first"],
        ),
    ] {
        let refused = in_namespace(&directory, setup, &line).expect(2);
        for part in parts {
            assert!(
                refused.err.contains(part),
                "{line}: no '{part}' in:\n{}",
                refused.err
            );
        }
        assert_eq!(refused.out, "", "{line}");
    }
    let names: Vec<_> = std::fs::read_dir(directory.path())
        .expect("a directory")
        .collect();
    assert_eq!(names.len(), 1, "nothing was created");
}

/// A directory of somebody else.
#[test]
fn a_directory_without_permission_is_refused_with_the_remedy() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    common::sh(&format!(
        "chmod 755 {0} && mkdir {0}/data && chmod 755 {0}/data && cp {FATHOM} {0}/fathom && chmod 755 {0}/fathom",
        directory.path().display()
    ));
    let remedy = "user 123456 cannot create a file in it; start as its owner";
    for (line, part) in [
        ("quick data --no-store --runtime=10s", remedy),
        ("search data --no-store --slo=p99<=1ms", remedy),
        (
            "run --no-store --name=x --directory=data --size=1m --rw=write",
            "permission denied; run as its owner",
        ),
    ] {
        let mut command = Command::new("setpriv");
        command
            .args([
                "--reuid=123456",
                "--regid=123456",
                "--clear-groups",
                "--bounding-set=-all",
            ])
            .arg(directory.join("fathom"))
            .args(split_args(line))
            .current_dir(directory.path());
        let refused = start(command).finish().expect(2);
        assert!(refused.err.contains(part), "{line}: {}", refused.err);
    }
}

/// Regression 0576: an image that was run without a volume measured its own root and did not say so.
#[test]
fn an_image_without_a_volume_is_reported() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    let setup = format!(
        r#"mkdir lower upper work root
        for name in lib lib64 usr proc dev sys tmp; do mkdir lower/$name; done
        touch lower/fathom
        mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work root
        for name in lib lib64 usr proc dev sys; do if [ -d /$name ]; then mount --rbind /$name root/$name; fi; done
        mount --bind {FATHOM} root/fathom"#
    );
    let inside = |line: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-e", "-c"])
            .arg(format!("{setup}\nexec chroot root /fathom \"$0\" \"$@\""))
            .args(split_args(line))
            .current_dir(directory.path());
        let ran = start(command).finish();
        for name in ["lower", "upper", "work", "root"] {
            let _ = std::fs::remove_dir_all(directory.join(name));
        }
        ran
    };
    let refused = inside("quick /data --no-store --runtime=10s").expect(2);
    assert!(
        refused
            .err
            .contains("/data does not exist in this container: mount the volume there"),
        "{}",
        refused.err
    );
    assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    let ran = inside("run --no-store --name=x --filename=/tmp/x --size=64k --rw=write --width=200");
    let ran = ran.expect(0);
    assert!(
        ran.out
            .contains("/tmp is in the image of this container (overlay), not on a volume"),
        "{}",
        ran.out
    );
    let shown = inside("quick /tmp --no-store --runtime=10s --dry-run").expect(0);
    assert!(
        shown
            .err
            .contains("/tmp is in the image of this container (overlay), not on a volume"),
        "{}",
        shown.err
    );
}

/// Regression 0581: without /proc the error was "No such file or directory", an empty target was left behind, and `quick` found
/// a host without memory. The cause and the command that removes it are named; nothing is created. Engines without a target run.
#[test]
fn without_proc_the_cause_is_named() {
    require!(Root);
    let directory = Scratch::new().expect("a directory");
    std::fs::write(directory.join("data"), vec![1; 1 << 20]).expect("a file");
    let job = "--name=x --size=1m --bs=4k";
    for line in [
        format!("run --no-store {job} --filename=data --rw=randread"),
        format!("run --no-store {job} --filename=new --rw=randwrite"),
        format!("fio {job} --filename=data --rw=randread"),
        format!("fio {job} --filename=new --rw=randwrite"),
        "quick --no-store .".to_owned(),
    ] {
        let ran = in_namespace(&directory, "umount -l /proc", &line);
        assert!(ran.code() != 0, "{line}: {}", ran.out);
        for part in ["/proc is not mounted", "mount -t proc proc /proc"] {
            assert!(ran.err.contains(part), "{line}: {}", ran.err);
        }
        assert!(!ran.err.contains("No such file"), "{line}: {}", ran.err);
        let files = std::fs::read_dir(directory.path()).expect("a directory");
        assert_eq!(files.count(), 1, "{line}");
    }
    let line = format!("run --no-store {job} --ioengine=null --rw=randread --format=json");
    let json = in_namespace(&directory, "umount -l /proc", &line)
        .expect(0)
        .json();
    assert_eq!(json.number("/jobs/0/read/total_ios"), 256.0);
}
