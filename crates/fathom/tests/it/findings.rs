//! Real situations on this machine that must cause a finding, through the program itself. Each
//! proves that its detector works: without the detector there is no finding and the test fails.
//! `docs/findings.md` lists the test of each cause.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{
    Json, fathom, filename_arg, lock_machine_shared, program, retry_measurement, sh, split_args,
    start, wait_until,
};
use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, FsKind, Latency, Limit, LoopDevice, LoopOptions, Mount,
    Scratch, Throttle, require, skip,
};
use rustix::process::{Pid, Signal, kill_process};

/// Runs `fathom run` with these options on the path; exit codes 0 and 1 are accepted, the tests
/// check the findings.
fn run(more: &str, path: &Path) -> Json {
    let mut command = program(split_args(&format!(
        "run --name=x --bs=4k --output-format=json {more}"
    )));
    command.arg(filename_arg(path));
    let ran = start(command).finish();
    assert!(ran.code() <= 1, "{} {}", ran.out, ran.err);
    ran.json()
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

/// Cause 5: reads from memory.
#[test]
fn reads_from_the_page_cache() {
    require!(Root, Loop);
    let _lock = lock_machine_shared();
    let directory = Scratch::new().expect("a directory");
    let device = loop_over(&directory, 192);
    let mount = Mount::format(device.path(), FsKind::Ext4, "").expect("an ext4");
    // So much that other programs cannot read half of it from the same disk meanwhile, which hides the finding.
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
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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

/// Cause 17: a device that becomes much slower during the run.
#[test]
fn a_device_that_slows_down() {
    require!(Fuse);
    let _lock = lock_machine_shared();
    retry_measurement(|| {
        let latency = Latency {
            read_us: 500,
            ..Latency::default()
        };
        let device = FaultDevice::mount(DeviceOptions {
            latency,
            ..DeviceOptions::default()
        })
        .expect("a fault device");
        let line = "run --name=x --bs=4k --rw=randread --norandommap --size=16m --direct=1 --ioengine=psync --time_based --runtime=5200ms --output-format=json";
        let running = start({
            let mut command = program(split_args(line));
            command.arg(filename_arg(&device.path()));
            command
        });
        wait_until("the load started", || device.log().len() > 200);
        std::thread::sleep(Duration::from_millis(2400));
        device.set_latency(Latency {
            read_us: 4000,
            ..Latency::default()
        });
        let json = running.finish().json();
        json.finding("NOT_STEADY")
            .map(drop)
            .ok_or_else(|| format!("steady? {:#}", json.0["fathom"]["findings"]))
    });
}

/// Cause 19: a limit of the own control group, detected from its setting and from the latency
/// distribution.
#[test]
fn a_rate_limiter() {
    require!(Root, Loop, BlkioV1);
    common::raise_priority();
    let _lock = lock_machine_shared();
    retry_measurement(|| {
        let directory = Scratch::new().expect("a directory");
        let device = loop_over(&directory, 16);
        let group = Throttle::new().expect("a group");
        group
            .limit(device.path(), Limit::ReadIops(200))
            .expect("a limit");
        let mut command = group.command(common::FATHOM);
        let line = "run --name=x --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --time_based --norandommap --runtime=4 --output-format=json";
        command
            .args(split_args(line))
            .arg(filename_arg(device.path()));
        let json = start(command).finish().json();
        let evidence = json
            .finding("CEILING_REACHED")
            .ok_or("no finding for the own limit")?;
        if !evidence
            .contains("of the 200 I/Os that the control group of this process allows on loop")
        {
            return Err(evidence.to_owned());
        }
        json.finding("RATE_LIMITED")
            .ok_or_else(|| "no finding for the pattern".to_owned())?;
        let summary = json
            .0
            .pointer("/fathom/entries/0/summary")
            .expect("a summary")
            .to_string();
        if summary.contains("to 200 I/Os per second; only a higher limit")
            || summary.contains("This host")
        {
            Ok(())
        } else {
            Err(summary)
        }
    });
}

/// Causes 20 and 21: a setting left by an earlier test splits each I/O.
#[test]
fn requests_split_by_a_small_max_sectors() {
    require!(Root, Loop);
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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

/// Cause 25: buffered reads complete while they are submitted, one by one.
#[test]
fn a_queue_depth_that_is_not_reached() {
    common::raise_priority();
    let _lock = lock_machine_shared();
    let directory = Scratch::new().expect("a directory");
    let path = file(directory.path(), 16);
    retry_measurement(|| {
        let json = run(
            "--rw=randread --direct=0 --invalidate=0 --ioengine=libaio --iodepth=16 --iodepth_batch=1",
            &path,
        );
        let evidence = json
            .finding("DEPTH_NOT_REACHED")
            .ok_or("the depth was reached?")?;
        if evidence.starts_with("Requested depth 16, achieved") {
            Ok(())
        } else {
            Err(evidence.to_owned())
        }
    });
    let json = run(
        "--rw=randread --direct=1 --ioengine=psync --iodepth=16",
        &path,
    );
    assert!(
        json.expect_finding("SYNC_ENGINE_DEPTH")
            .contains("iodepth=16")
    );
}

/// Cause 15: percentiles of a group are those of all its I/Os. Two devices of 1 and 20 ms: 19 of 20
/// I/Os take 1 ms, so p50 is 1 ms and p99 20 ms; averages of the two jobs' percentiles would both
/// be 10.5 ms.
#[test]
fn percentiles_of_a_group_are_not_averaged() {
    require!(Fuse);
    common::raise_priority();
    let _lock = lock_machine_shared();
    retry_measurement(|| {
        let device = |read_us| {
            let latency = Latency {
                read_us,
                ..Latency::default()
            };
            FaultDevice::mount(DeviceOptions {
                latency,
                ..DeviceOptions::default()
            })
            .expect("a fault device")
        };
        let (fast, slow) = (device(1_000), device(20_000));
        let mut command = program(split_args(
            "run --bs=4k --rw=randread --norandommap --size=16m --direct=1 --ioengine=psync --time_based --runtime=2 \
             --group_reporting --output-format=json --name=fast",
        ));
        command
            .arg(filename_arg(&fast.path()))
            .arg("--name=slow")
            .arg(filename_arg(&slow.path()));
        let json = start(command).finish().json();
        let at = |percent: &str| {
            json.number(&format!("/jobs/0/read/clat_ns/percentile/{percent}")) / 1e6
        };
        let (p50, p99) = (at("50.000000"), at("99.000000"));
        if p50 < 6.0 && p99 > 19.0 {
            Ok(())
        } else {
            Err(format!("p50 {p50} ms, p99 {p99} ms"))
        }
    });
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
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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

/// Generating random data for each MiB takes longer than copying it into the page cache: rate times
/// latency is far below one.
#[test]
fn time_outside_every_latency() {
    let _lock = lock_machine_shared();
    let directory = Scratch::new().expect("a directory");
    let line = "--rw=write --bs=1m --size=16m --refill_buffers --direct=0 --ioengine=psync --time_based --runtime=1200ms";
    retry_measurement(|| {
        let json = run(line, &directory.join("data"));
        let evidence = json
            .finding("LITTLE_DISAGREES")
            .ok_or("all of the time is in latencies?")?;
        if evidence.contains("of the time passed between I/Os, in this program") {
            Ok(())
        } else {
            Err(evidence.to_owned())
        }
    });
}

/// Cause 26: verification follows the writes, and the run is interrupted before it.
#[test]
fn verification_that_did_not_run() {
    let _lock = lock_machine_shared();
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
    let _lock = lock_machine_shared();
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

/// One in twenty I/Os takes 20 ms longer: two kinds of I/O.
#[test]
fn two_kinds_of_io() {
    require!(Fuse);
    let _lock = lock_machine_shared();
    retry_measurement(|| {
        let latency = Latency {
            read_us: 500,
            ..Latency::default()
        };
        let device = FaultDevice::mount(DeviceOptions {
            latency,
            ..DeviceOptions::default()
        })
        .expect("a fault device");
        device.inject(Fault::Stall {
            every: 20,
            micros: 20_000,
        });
        let json = run(
            "--rw=randread --norandommap --size=16m --direct=1 --ioengine=psync --number_ios=1200",
            &device.path(),
        );
        assert!(device.counts().injected() >= 50);
        let inflection = json
            .finding("PERCENTILE_INFLECTION")
            .ok_or("no inflection")?;
        if inflection.contains("up to p90") || inflection.contains("up to p95") {
            Ok(())
        } else {
            Err(inflection.to_owned())
        }
    });
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
    let _lock = lock_machine_shared();
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

/// Processes that use CPU time until they are dropped.
struct Burners(Vec<Child>);

impl Burners {
    fn start(count: usize) -> Burners {
        let one = |_| {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn()
                .expect("sh")
        };
        Burners((0..count).map(one).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Cause 4: other processes that take the CPUs.
#[test]
fn noisy_neighbours() {
    let _lock = lock_machine_shared();
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    retry_measurement(|| {
        let _burners = Burners::start(2 * cpus);
        let directory = Scratch::new().expect("a directory");
        let path = file(directory.path(), 4);
        let json = run(
            "--rw=randread --norandommap --direct=1 --ioengine=psync --time_based --runtime=1",
            &path,
        );
        json.finding("HOST_BUSY")
            .map(drop)
            .ok_or_else(|| "no finding for the other processes".to_owned())
    });
}

/// Cause 3: reads that need only CPU time.
#[test]
fn the_generator_is_the_limit() {
    let _lock = lock_machine_shared();
    retry_measurement(|| {
        let directory = Scratch::new().expect("a directory");
        let path = file(directory.path(), 4);
        let line = "run --name=x --bs=4k --rw=randread --norandommap --direct=0 --invalidate=0 --ioengine=psync --time_based --runtime=1 --output-format=json";
        let mut command = program(split_args(line));
        command.arg(filename_arg(&path));
        let json = start(command).finish().json();
        json.finding("TOOL_BOUND")
            .map(drop)
            .ok_or_else(|| format!("{:#}", json.0["fathom"]["findings"]))
    });
}

/// Sampling costs less than a thousandth of a CPU, measured in CPU time, so that other load changes
/// little.
#[test]
fn sampling_is_cheap_and_complete() {
    let _lock = lock_machine_shared();
    let line = "run --name=x --ioengine=null --rw=randread --size=1g --time_based --runtime=4 --rate_iops=1000 --output-format=json";
    let json = retry_measurement(|| {
        let json = fathom(split_args(line)).json();
        let cost = json.number("/fathom/conditions/telemetry/cost_ns");
        if cost < 4e9 / 1000.0 {
            Ok(json)
        } else {
            Err(format!("sampling took {cost} ns of CPU in 4 s"))
        }
    });
    let samples = json
        .0
        .pointer("/fathom/conditions/telemetry/samples")
        .and_then(serde_json::Value::as_array)
        .expect("samples");
    assert!(
        samples.len() >= 4,
        "at least one per second: {}",
        samples.len()
    );
    for pair in samples.windows(2) {
        let at = |sample: &serde_json::Value, name: &str| sample[name].as_u64().expect("a time");
        assert_eq!(
            at(&pair[0], "start_ns") + at(&pair[0], "length_ns"),
            at(&pair[1], "start_ns"),
            "no gap"
        );
    }
}
