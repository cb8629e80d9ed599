//! Real situations on this machine that must cause a finding, through the program itself. Each
//! proves that its detector works: without the detector there is no finding and the test fails.
//! `docs/findings.md` lists the test of each cause.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Json, fathom, filename_arg, program, sh, split_args, start, wait_until};
use fathom_testkit::{
    DeviceOptions, FaultDevice, FsKind, Latency, LoopDevice, LoopOptions, Mount, Scratch, require,
    skip,
};
use rustix::process::{Pid, Signal, kill_process};

/// Runs `fathom run` with these options on the path. None of these findings makes a result invalid.
fn run(more: &str, path: &Path) -> Json {
    let mut command = program(split_args(&format!(
        "run --name=x --bs=4k --output-format=json {more}"
    )));
    command.arg(filename_arg(path));
    start(command).finish().expect(0).json()
}

/// A file of random data, out of the page cache.
fn file(directory: &Path, mib: usize) -> PathBuf {
    let path = directory.join("data");
    sh(&format!(
        "head -c {}M /dev/urandom > {} && sync {}",
        mib,
        path.display(),
        path.display()
    ));
    path
}

fn loop_over(directory: &Scratch, mib: usize) -> LoopDevice {
    let image = file(directory.path(), mib);
    LoopDevice::attach(&image, LoopOptions::default()).expect("a loop device")
}

/// Cause 5: reads from memory, while other programs read from the disk below the device.
#[test]
fn reads_from_the_page_cache() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_over(&directory, 192);
    let mount = Mount::format(device.path(), FsKind::Ext4, "").expect("an ext4");
    let path = file(mount.path(), 128);
    let json = run(
        "--rw=randread --direct=0 --invalidate=0 --ioengine=psync",
        &path,
    );
    assert!(
        json.expect_finding("PAGE_CACHE").contains("of 128 MiB"),
        "{}",
        json.expect_finding("PAGE_CACHE")
    );
    assert!(
        json.expect_finding("WORKING_SET_CACHED")
            .contains("region of 128 MiB")
    );
}

/// Cause 6: ext4 with data=journal accepts O_DIRECT and buffers the I/O.
#[test]
fn direct_io_that_uses_the_page_cache() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_over(&directory, 64);
    let mount = Mount::format(device.path(), FsKind::Ext4, "data=journal").expect("an ext4");
    let path = file(mount.path(), 8);
    let json = run("--rw=randread --direct=1 --ioengine=psync", &path);
    assert!(
        json.expect_finding("DIRECT_NOT_DIRECT")
            .contains("its file system buffers it"),
        "{}",
        json.expect_finding("DIRECT_NOT_DIRECT")
    );
}

/// Cause 6: tmpfs is memory, with or without O_DIRECT.
#[test]
fn a_file_system_in_memory() {
    let Ok(directory) = Scratch::below(Path::new("/dev/shm")) else {
        return skip("needs /dev/shm");
    };
    if sh(&format!("stat -f -c %T {}", directory.path().display())) != "tmpfs" {
        return skip("/dev/shm is not a tmpfs");
    }
    let path = file(directory.path(), 8);
    let json = run("--rw=randread --direct=0 --ioengine=psync", &path);
    assert!(
        json.expect_finding("MEMORY_BACKED")
            .contains("memory of this machine")
    );
    let ran = fathom(
        split_args(
            "run --name=x --bs=4k --rw=randread --direct=1 --ioengine=psync --output-format=json",
        )
        .into_iter()
        .chain([filename_arg(&path)]),
    );
    // Kernels before 6.6 refuse O_DIRECT on tmpfs.
    if ran.code() == 0 {
        assert!(
            ran.json()
                .expect_finding("DIRECT_NOT_DIRECT")
                .contains("in memory")
        );
    }
}

/// Cause 7: a file of holes, and one that is allocated but not written.
#[test]
fn holes_and_reserved_blocks() {
    let directory = Scratch::new().expect("a directory");
    for (name, make) in [
        ("holes", "truncate -s 16M"),
        ("reserved", "fallocate -l 16M"),
    ] {
        let path = directory.join(name);
        sh(&format!(
            "{make} {0} && dd if=/dev/urandom of={0} bs=1M count=4 conv=notrunc,fsync 2>/dev/null",
            path.display()
        ));
        let json = run("--rw=randread --direct=1 --ioengine=psync", &path);
        assert!(
            json.expect_finding("HOLES_READ")
                .starts_with("75 % of the read range"),
            "{}",
            json.expect_finding("HOLES_READ")
        );
    }
    let written = file(directory.path(), 16);
    assert_eq!(
        run("--rw=randread --direct=1 --ioengine=psync", &written).finding("HOLES_READ"),
        None
    );
}

/// Cause 8.
#[test]
fn a_payload_of_zeros() {
    let directory = Scratch::new().expect("a directory");
    let json = run(
        "--rw=write --size=1m --zero_buffers --ioengine=psync",
        &directory.join("data"),
    );
    assert_eq!(
        json.expect_finding("SOFT_PAYLOAD"),
        "The data written was zeros."
    );
}

/// Causes 16 and 16b: a loop device over a file has a volatile cache, and the kernel can be set to
/// assume otherwise.
#[test]
fn writes_to_a_volatile_cache() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_over(&directory, 64);
    let mount = Mount::format(device.path(), FsKind::Ext4, "").expect("an ext4");
    let write = |name: &str, more: &str| {
        run(
            &format!("--rw=write --size=1m --direct=1 --ioengine=psync {more}"),
            &mount.join(name),
        )
    };
    let json = write("plain", "");
    assert!(
        json.expect_finding("VOLATILE_CACHE_NO_FLUSH")
            .starts_with("256 writes were acknowledged by loop")
    );
    assert_eq!(json.finding("CACHE_SETTING_DISAGREES"), None);
    let json = write("flushed", "--fdatasync=8");
    assert_eq!(json.finding("VOLATILE_CACHE_NO_FLUSH"), None);
    // Only in a virtual machine the effect of a flush cannot be proven.
    let virtual_machine = json
        .0
        .pointer("/fathom/conditions/virtual_machine")
        .and_then(serde_json::Value::as_bool);
    assert_eq!(
        json.finding("FLUSH_UNPROVEN").is_some(),
        virtual_machine == Some(true)
    );
    let _setting = device
        .set_queue("write_cache", "write through")
        .expect("a setting that can be set");
    let json = write("misreported", "");
    assert!(
        json.expect_finding("CACHE_SETTING_DISAGREES")
            .contains("256 writes went to it without a flush"),
        "{}",
        json.expect_finding("CACHE_SETTING_DISAGREES")
    );
}

/// Causes 20 and 21: a setting left by an earlier test splits each I/O.
#[test]
fn requests_split_by_a_small_max_sectors() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_over(&directory, 64);
    let _small = device
        .set_queue("max_sectors_kb", "64")
        .expect("a setting that can be set");
    let json = run(
        "--rw=randread --bs=256k --direct=1 --ioengine=psync --loops=5",
        device.path(),
    );
    let split = json.expect_finding("REQUESTS_RESIZED");
    assert!(
        split.contains("1,280 reads of 256 KiB on average became 5,120 requests at loop"),
        "{split}"
    );
    let why = json.expect_finding("SETTINGS_REDUCED");
    assert!(
        why.contains("is 64 where 1280 is usual: each I/O of 256 KiB is split into 4 requests"),
        "{why}"
    );
}

/// Cause 21: a setting that changes during the run.
#[test]
fn a_queue_setting_changed_during_the_run() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_over(&directory, 16);
    let line = "run --name=x --bs=4k --rw=randread --norandommap --direct=1 --ioengine=psync --time_based --runtime=2 --output-format=json";
    let mut command = program(split_args(line));
    command.arg(filename_arg(device.path()));
    let running = start(command);
    let reads = || {
        std::fs::read_to_string(device.sysfs().join("stat"))
            .ok()
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
    };
    let before = reads().expect("counters");
    wait_until("the load started", || {
        reads().is_some_and(|now| now > before + 500)
    });
    let _changed = device
        .set_queue("max_sectors_kb", "32")
        .expect("a setting that can be set");
    let json = running.finish().json();
    assert!(
        json.expect_finding("SETTINGS_CHANGED")
            .contains("max_sectors_kb of loop"),
        "{}",
        json.expect_finding("SETTINGS_CHANGED")
    );
}

/// Cause 22: another process reads the device during the run.
#[test]
fn other_io_on_the_device() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_over(&directory, 64);
    let line = "run --name=x --bs=4k --rw=randread --rate_iops=200 --norandommap --direct=1 --ioengine=psync --time_based --runtime=2 --output-format=json";
    let mut command = program(split_args(line));
    command.arg(filename_arg(device.path()));
    let running = start(command);
    std::thread::sleep(Duration::from_millis(700));
    sh(&format!(
        "dd if={} of=/dev/null bs=1M iflag=direct 2>/dev/null",
        device.path().display()
    ));
    let json = running.finish().json();
    assert!(
        json.expect_finding("FOREIGN_IO")
            .contains("were not from this run"),
        "{}",
        json.expect_finding("FOREIGN_IO")
    );
}

/// A loop device whose I/O passes through the page cache.
#[test]
fn a_buffered_loop_device() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let image = file(directory.path(), 8);
    let options = LoopOptions {
        buffered: true,
        ..LoopOptions::default()
    };
    let device = LoopDevice::attach(&image, options).expect("a loop device");
    let json = run("--rw=randread --direct=1 --ioengine=psync", device.path());
    assert!(
        json.expect_finding("LOOP_BUFFERED")
            .starts_with("8 MiB passed through loop"),
        "{}",
        json.expect_finding("LOOP_BUFFERED")
    );
}

/// Cause 25: a synchronous engine has one I/O in flight, whatever iodepth says.
#[test]
fn a_synchronous_engine_has_no_queue_depth() {
    let directory = Scratch::new().expect("a directory");
    let path = file(directory.path(), 16);
    let json = run(
        "--rw=randread --direct=1 --ioengine=psync --iodepth=16",
        &path,
    );
    assert!(
        json.expect_finding("SYNC_ENGINE_DEPTH")
            .contains("iodepth=16")
    );
}

/// Orphaned child processes of another program, killed when dropped.
struct Orphans(Vec<Pid>);

impl Orphans {
    fn of(parent: u32) -> Orphans {
        let text = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))
            .unwrap_or_default();
        Orphans(
            text.split_whitespace()
                .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
                .collect(),
        )
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(*pid, Signal::KILL);
        }
    }
}

/// Cause 24: fio's main process is killed and its workers continue; the next measurement of the
/// same device reports them. That fathom's own load ends with the program is tested by
/// a_killed_program_leaves_no_workers_and_a_readable_log.
#[test]
fn workers_that_outlive_their_parent() {
    require!(Fio, Fuse);
    let latency = Latency {
        read_us: 2_000,
        ..Latency::default()
    };
    let device = FaultDevice::mount(DeviceOptions {
        latency,
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    let mut fio = Command::new("fio");
    fio.args(split_args("--name=x --numjobs=2 --ioengine=psync --rw=randread --bs=4k --size=16m --direct=1 --time_based --runtime=60"));
    let mut fio = fio
        .arg(filename_arg(&device.path()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("fio");
    wait_until("fio's workers are running", || device.log().len() > 50);
    let orphans = Orphans::of(fio.id());
    let _ = (fio.kill(), fio.wait());
    let seen = device.log().len();
    wait_until("they continue without their parent", || {
        device.log().len() > seen + 50
    });
    let json = run(
        "--rw=randread --size=16m --direct=1 --ioengine=psync --number_ios=50",
        &device.path(),
    );
    let evidence = json.expect_finding("TARGET_SHARED");
    assert!(
        orphans.0.len() == 2 && evidence.matches("fio (process ").count() == 2,
        "{evidence}"
    );
    drop(orphans);
    wait_until("they have ended", || device.counts().in_flight == 0);
    let json = run(
        "--rw=randread --size=16m --direct=1 --ioengine=psync --number_ios=50",
        &device.path(),
    );
    assert_eq!(json.finding("TARGET_SHARED"), None);
}

/// Two clones of a sequential job in one file, each starting at offset 0.
#[test]
fn clones_on_the_same_offsets() {
    let directory = Scratch::new().expect("a directory");
    let path = file(directory.path(), 4);
    let json = run("--rw=read --numjobs=2 --direct=1 --ioengine=psync", &path);
    assert!(
        json.expect_finding("CLONES_OVERLAP")
            .starts_with("2 clones access the same addresses of"),
        "{}",
        json.expect_finding("CLONES_OVERLAP")
    );
    assert_eq!(
        run(
            "--rw=read --numjobs=2 --offset_increment=2m --size=2m --direct=1 --ioengine=psync",
            &path
        )
        .finding("CLONES_OVERLAP"),
        None
    );
}

/// Cause 26: verification follows the writes, and the run is interrupted before it.
#[test]
fn verification_that_did_not_run() {
    let directory = Scratch::new().expect("a directory");
    let path = directory.join("data");
    let line = "run --name=x --bs=4k --rw=randwrite --size=4m --verify=crc32c --rate_iops=100 --ioengine=psync --output-format=json";
    let mut command = program(split_args(line));
    command.arg(filename_arg(&path));
    let running = start(command);
    wait_until("the load started", || {
        path.metadata().is_ok_and(|facts| facts.len() == 4 << 20)
    });
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::INT);
    let json = running.finish().expect(130).json();
    assert!(
        json.expect_finding("VERIFY_NOTHING")
            .starts_with("Verified 0 of"),
        "{}",
        json.expect_finding("VERIFY_NOTHING")
    );
    json.expect_finding("INTERRUPTED");
}

/// A file that is renamed and removed during the run.
#[test]
fn a_renamed_file() {
    let directory = Scratch::new().expect("a directory");
    let path = file(directory.path(), 4);
    let line = "run --name=x --bs=4k --rw=randread --norandommap --time_based --runtime=2 --ioengine=psync --output-format=json";
    let mut command = program(split_args(line));
    command.arg(filename_arg(&path));
    let running = start(command);
    std::thread::sleep(Duration::from_millis(700));
    std::fs::rename(directory.join("data"), directory.join("moved")).expect("moved");
    std::fs::remove_file(directory.join("moved")).expect("removed");
    let json = running.finish().json();
    assert!(
        json.expect_finding("TARGET_GONE")
            .contains("(4 MiB) was removed or replaced"),
        "{}",
        json.expect_finding("TARGET_GONE")
    );
}

/// A control group of the CPU hierarchy, removed when dropped.
struct Quota(PathBuf);

impl Quota {
    /// At most a tenth of one CPU.
    fn tenth() -> Option<Quota> {
        let path =
            Path::new("/sys/fs/cgroup/cpu").join(format!("fathom-findings-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let group = Quota(path);
        std::fs::write(group.0.join("cpu.cfs_quota_us"), "10000").ok()?;
        Some(group)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Cause 2: a generator that is throttled by its CPU quota.
#[test]
fn a_cpu_quota() {
    require!(Root);
    let Some(group) = Quota::tenth() else {
        return skip("needs the cpu hierarchy of cgroup version 1");
    };
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(r#"echo $$ > "$0/cgroup.procs" && exec "$@""#)
        .arg(&group.0)
        .arg(common::FATHOM);
    command.args(split_args("run --name=x --ioengine=null --rw=randread --size=1g --time_based --runtime=2 --output-format=json"));
    let json = start(command).finish().json();
    assert!(
        json.expect_finding("CPU_THROTTLED")
            .contains("throttles by the CPU quota"),
        "{}",
        json.expect_finding("CPU_THROTTLED")
    );
}

/// Samples follow each other without a gap. What they cost, `cargo xtask measure` says.
#[test]
fn sampling_is_complete() {
    let line = "run --name=x --ioengine=null --rw=randread --size=1g --time_based --runtime=1 --rate_iops=1000 --output-format=json";
    let json = fathom(split_args(line)).json();
    let samples = json
        .0
        .pointer("/fathom/conditions/telemetry/samples")
        .and_then(serde_json::Value::as_array)
        .expect("samples");
    assert!(!samples.is_empty());
    for pair in samples.windows(2) {
        let at = |sample: &serde_json::Value, name: &str| sample[name].as_u64().expect("a time");
        assert_eq!(
            at(&pair[0], "start_ns") + at(&pair[0], "length_ns"),
            at(&pair[1], "start_ns"),
            "no gap"
        );
    }
}

/// Runs a job on a simulated device.
fn simulate(options: &str, device: &str) -> Json {
    let scratch = Scratch::new().expect("a directory");
    let job = scratch.join("job.fio");
    let options = options.replace(' ', "\n");
    let text = format!("[x]\nfilename=x\nbs=4k\nsize=64m\ndirect=1\nioengine=libaio\n{options}\n");
    std::fs::write(&job, text).expect("a job file");
    let (job, device) = (job.display().to_string(), format!("--machine={device}"));
    fathom(["sim", &job, &device, "--no-store", "--quiet", "--json"])
        .expect(0)
        .json()
}

/// One in twenty I/Os takes 20 ms longer: two kinds of I/O. With one kind there is no such finding.
#[test]
fn two_kinds_of_io() {
    let options = "rw=randread norandommap number_ios=4000";
    let json = simulate(
        options,
        "faults(servers(service=500us), slow=5%, slow_time=20ms)",
    );
    let inflection = json.expect_finding("PERCENTILE_INFLECTION");
    assert!(
        inflection.contains("up to p90") || inflection.contains("up to p95"),
        "{inflection}"
    );
    let json = simulate(options, "servers(service=500us)");
    assert_eq!(json.finding("PERCENTILE_INFLECTION"), None);
}

/// Cause 19: a limit of 200 reads per second shows in the pattern of the latencies; a device of that speed does not look like one.
#[test]
fn a_rate_limiter() {
    let options = "rw=randread norandommap iodepth=4 time_based runtime=20";
    let json = simulate(options, "limit(servers(count=8, service=200us), iops=200)");
    json.expect_finding("SMOOTH_CEILING");
    let json = simulate(options, "servers(count=1, service=5ms)");
    assert_eq!(json.finding("RATE_LIMITED"), None);
    assert_eq!(json.finding("SMOOTH_CEILING"), None);
}
