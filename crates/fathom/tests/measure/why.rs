//! `fathom why` on real situations of this machine whose cause is known because the scene makes it: a block device with a known
//! service time, limits of control groups, a neighbour, memory that is too small. Who asks why something is slow has a busy machine, so
//! no attempt is excused by other load.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fathom_testkit::{
    ControlGroup, DeviceOptions, Fault, FaultDevice, FsKind, Latency, Limit, LoopDevice,
    LoopOptions, Mount, Need, Op, Scratch, Throttle,
};

use rustix::process::Signal;

use crate::common::{FATHOM, Json, Running, fathom, filename_arg, program, sh, split_args, start};
use crate::scene::{Scene, next_case};

pub const SCENES: &[Scene] = &[
    Scene::check(
        "why: a throttled group",
        &[Need::Root, Need::Loop, Need::BlkioV1],
        a_throttled_group,
    )
    .robust(),
    Scene::check(
        "why: one I/O at a time",
        &[Need::Root, Need::Loop, Need::Fuse],
        one_at_a_time,
    )
    .robust(),
    Scene::check(
        "why: a slow device",
        &[Need::Root, Need::Loop, Need::Fuse],
        a_slow_device,
    )
    .robust(),
    Scene::check(
        "why: a neighbour",
        &[Need::Root, Need::Loop, Need::Fuse],
        a_neighbour,
    )
    .robust(),
    Scene::check(
        "why: a storm of flushes",
        &[Need::Root, Need::Loop, Need::Fuse],
        a_storm_of_flushes,
    )
    .robust(),
    Scene::check(
        "why: a busy CPU and no I/O",
        &[Need::Root, Need::Loop],
        no_io,
    )
    .robust(),
    Scene::check(
        "why: a server of a file system that hangs",
        &[Need::Root, Need::Fuse],
        a_server_that_hangs,
    )
    .robust(),
    Scene::check(
        "why: a device that hangs",
        &[Need::Root, Need::Loop, Need::Fuse],
        a_device_that_hangs,
    )
    .robust(),
    Scene::check(
        "why: a page cache full of unwritten data",
        &[Need::Root, Need::Loop, Need::Fuse],
        a_full_page_cache,
    )
    .robust(),
    Scene::check("why: swap", &[Need::Root, Need::Loop], swap).robust(),
    Scene::check("why: memory that is too small", &[Need::Root], memory).robust(),
];

/// The load runs so long before the question.
const LEAD_TIME: Duration = Duration::from_millis(500);

/// A load that ends with its owner.
fn load(mut command: Command, options: &str, path: &Path) -> Running {
    command
        .args(split_args("run --name=load --time_based --runtime=60s"))
        .args(split_args(options))
        .arg(filename_arg(path));
    let running = start(command);
    std::thread::sleep(LEAD_TIME);
    running
}

/// Ends a load, which then uses nothing any more.
fn end(running: Running) {
    running.signal(Signal::KILL);
    running.finish();
}

/// The answer about a path, or about the machine.
fn why(about: &[&str]) -> Json {
    let seconds = ["--runtime=3s"];
    let has_runtime = about.iter().any(|word| word.starts_with("--runtime"));
    let runtime = if has_runtime { &[][..] } else { &seconds };
    fathom(["why", "--json"].iter().chain(runtime).chain(about)).json()
}

/// An error unless the answer is this cause with this certainty, about this process where one is given.
fn check(answer: &Json, cause: &str, certainty: &str, waits: Option<u32>) -> Result<(), String> {
    let found = (
        answer.text("/conclusion/cause"),
        answer.text("/conclusion/certainty"),
    );
    let subjects = answer.0["conclusion"]["subjects"].as_array();
    let names_it = waits.is_none_or(|pid| {
        let subjects = subjects.into_iter().flatten();
        let mut waiting = subjects.filter(|one| one["role"] == "waits");
        waiting.any(|one| one["pid"] == pid)
    });
    if found == (cause, certainty) && names_it {
        Ok(())
    } else {
        Err(format!(
            "{found:?}: {}",
            answer.text("/conclusion/sentence")
        ))
    }
}

/// A block device whose I/Os take so long.
struct SlowDisk {
    device: LoopDevice,
    fault: FaultDevice,
}

impl SlowDisk {
    fn new(latency: Latency, servers: u32) -> SlowDisk {
        let options = DeviceOptions {
            latency,
            ..DeviceOptions::default()
        };
        let fault = FaultDevice::mount(options).expect("a fault device");
        fault.set_servers(servers);
        let device = LoopDevice::attach(&fault.path(), LoopOptions::default()).expect("a device");
        SlowDisk { device, fault }
    }

    fn of_reads(read_us: u64, servers: u32) -> SlowDisk {
        let latency = Latency {
            read_us,
            ..Latency::default()
        };
        SlowDisk::new(latency, servers)
    }

    fn path(&self) -> &Path {
        self.device.path()
    }

    fn text(&self) -> String {
        self.path().display().to_string()
    }
}

const READER: &str = "--rw=randread --bs=4k --direct=1 --ioengine=psync --readonly";

fn a_throttled_group() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&directory.join("disk"), 64 << 20, LoopOptions::default())
        .expect("a loop device");
    let group = Throttle::new().expect("a group");
    let limit = 300;
    group
        .limit(device.path(), Limit::ReadIops(limit))
        .expect("a limit");
    let load = load(group.command(FATHOM), READER, device.path());
    let answer = why(&[&device.path().display().to_string()]);
    let pid = load.id();
    drop(load);
    check(&answer, "control_group", "fact", Some(pid))?;
    let figure = answer.number("/conclusion/figures/limit_per_s");
    if figure == limit as f64 {
        Ok(())
    } else {
        Err(format!("a limit of {figure} instead of {limit}"))
    }
}

/// One of many servers is in use: more in flight would complete more, which one depth cannot tell.
fn one_at_a_time() -> Result<(), String> {
    check_reader(4_000, 0, ("one_at_a_time", "likely"))
}

fn a_slow_device() -> Result<(), String> {
    check_reader(40_000, 1, ("slow_device", "fact"))
}

/// The answer about a disk with one reader, whose reads take so long.
fn check_reader(
    read_us: u64,
    servers: u32,
    (cause, certainty): (&str, &str),
) -> Result<(), String> {
    let disk = SlowDisk::of_reads(read_us, servers);
    let load = load(program([""; 0]), READER, disk.path());
    let answer = why(&[&disk.text()]);
    check(&answer, cause, certainty, Some(load.id()))
}

/// One server of 2 ms: with eight I/Os of the neighbour before it a read takes 18 ms, and 2 ms in its pauses.
fn a_neighbour() -> Result<(), String> {
    let disk = SlowDisk::of_reads(2_000, 1);
    let neighbour = "--rw=randread --bs=64k --direct=1 --ioengine=libaio --iodepth=8 --readonly --thinktime=200ms --thinktime_blocks=200";
    let neighbour = load(program([""; 0]), neighbour, disk.path());
    let victim = load(program([""; 0]), READER, disk.path());
    let answer = why(&["--pid", &victim.id().to_string()]);
    check(&answer, "neighbour", "fact", Some(victim.id()))?;
    let user = answer.0["conclusion"]["subjects"].as_array();
    let names = |pid: u32| {
        user.into_iter()
            .flatten()
            .any(|one| one["role"] == "uses" && one["pid"] == pid)
    };
    if names(neighbour.id()) {
        Ok(())
    } else {
        Err(answer.text("/conclusion/sentence").to_owned())
    }
}

fn a_storm_of_flushes() -> Result<(), String> {
    let latency = Latency {
        sync_us: 10_000,
        ..Latency::default()
    };
    let disk = SlowDisk::new(latency, 0);
    let allowed = crate::common::device_code(disk.path());
    let options =
        format!("--rw=write --bs=4k --direct=1 --ioengine=psync --fdatasync=1 --destroy={allowed}");
    let load = load(program([""; 0]), &options, disk.path());
    let answer = why(&[&disk.text()]);
    check(&answer, "flush", "fact", Some(load.id()))
}

/// Looks at threads exclude a wait only if they are many.
fn no_io() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&directory.join("disk"), 64 << 20, LoopOptions::default())
        .expect("a loop device");
    let mut hog = Command::new("sh");
    hog.args(["-c", "while :; do :; done"]);
    let hog = start(hog);
    let (process, disk) = (hog.id().to_string(), device.path().display().to_string());
    let about = [vec!["--pid", process.as_str()], vec![disk.as_str()]];
    let about = next_case(&about.each_ref());
    let answer = why(&[&["--runtime=8s"], &about[..]].concat());
    check(&answer, "not_storage", "fact", None)
}

fn hanging_read(fault: &FaultDevice, path: &Path) -> Running {
    fault.inject(Fault::Hang(Some(Op::Read)));
    let mut dd = Command::new("dd");
    dd.args(["of=/dev/null", "bs=4k", "count=1", "iflag=direct"])
        .arg(format!("if={}", path.display()));
    start(dd).wait_until("the read hangs", || fault.counts().injected() > 0)
}

fn a_server_that_hangs() -> Result<(), String> {
    let fault = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    let dd = hanging_read(&fault, &fault.path());
    let pid = dd.id();
    let answer = why(&["--pid", &pid.to_string()]);
    fault.release();
    drop(dd);
    check(&answer, "file_system_hang", "fact", Some(pid))
}

fn a_device_that_hangs() -> Result<(), String> {
    let disk = SlowDisk::new(Latency::default(), 0);
    let dd = hanging_read(&disk.fault, disk.path());
    let pid = dd.id();
    let answer = why(&[&disk.text()]);
    disk.fault.release();
    drop(dd);
    check(&answer, "device_hang", "fact", Some(pid))
}

/// Undoes a change of this machine, also when an attempt fails.
struct Undo(String);

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = Command::new("sh").args(["-c", &self.0]).status();
    }
}

/// At most 32 MiB may wait to be written, and a device takes 1,280 KiB in 20 ms, one after the other.
fn a_full_page_cache() -> Result<(), String> {
    let disk = SlowDisk::new(Latency::default(), 1);
    sh(&format!("mkfs.ext4 -q -F {}", disk.text()));
    let mount = Mount::existing(disk.path(), FsKind::Ext4, "").expect("mounted");
    disk.fault.set_latency(Latency {
        write_us: 20_000,
        ..Latency::default()
    });
    let old = |name: &str| sh(&format!("cat /proc/sys/vm/{name}")).trim().to_owned();
    let _undo = Undo(format!(
        "echo {} > /proc/sys/vm/dirty_ratio; echo {} > /proc/sys/vm/dirty_background_ratio",
        old("dirty_ratio"),
        old("dirty_background_ratio")
    ));
    sh(
        "echo 33554432 > /proc/sys/vm/dirty_bytes; echo 16777216 > /proc/sys/vm/dirty_background_bytes",
    );
    let writer = load(
        program([""; 0]),
        "--rw=write --bs=1m --size=40m --direct=0 --ioengine=psync",
        &mount.join("out"),
    );
    let answer = why(&[&disk.text()]);
    end(writer);
    disk.fault.set_latency(Latency::default());
    check(&answer, "writeback", "fact", None)
}

/// A group of processes with 64 MiB of memory.
fn small_group() -> ControlGroup {
    let group = ControlGroup::new("memory").expect("a group");
    group.set("memory.limit_in_bytes", "64M").expect("a limit");
    group
}

/// A process that uses 128 MiB of memory in turn, of which half is in swap space.
fn swap() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&directory.join("disk"), 512 << 20, LoopOptions::default())
        .expect("a loop device");
    let path = device.path().display();
    sh(&format!("mkswap {path} && swapon {path}"));
    let off = Undo(format!("swapoff {path}"));
    let group = small_group();
    let mut user = group.command("perl");
    user.args([
        "-e",
        "$x = 'a' x (1 << 27); while (1) { for ($i = 0; $i < length $x; $i += 4096) { substr($x, $i, 1) = 'b' } }",
    ]);
    let user = start(user);
    std::thread::sleep(4 * LEAD_TIME);
    let pid = user.id();
    let answer = why(&["--pid", &pid.to_string()]);
    end(user);
    drop(off);
    check(&answer, "swap", "fact", Some(pid))
}

/// A program reads a mapped file of 96 MiB again and again with 64 MiB of memory. The kernel counts a page that comes back only where
/// pages are dropped one by one, as those of mapped files are.
fn memory() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let data = directory.join("data");
    sh(&format!(
        "head -c 96M /dev/urandom > {0} && sync {0}",
        data.display()
    ));
    let group = small_group();
    let load = load(
        group.command(FATHOM),
        "--rw=read --bs=64k --direct=0 --ioengine=mmap --readonly",
        &data,
    );
    std::thread::sleep(4 * LEAD_TIME);
    let answer = why(&["--pid", &load.id().to_string()]);
    end(load);
    check(&answer, "memory", "likely", None)
}
