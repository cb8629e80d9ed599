//! What limits a run, on real queues, limits and clocks: the cause is made, and `fathom run` must name it. A wrong cause as a fact fails its
//! scene at once. How often the diagnosis is right on simulated machines, `cargo xtask diagnosis` says.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, Latency, Limit, LoopDevice, LoopOptions, Need, Scratch,
    Throttle,
};
use rustix::fs::OFlags;
use rustix::process::Signal;

use crate::common::{self, Json, device_code, filename_arg, program, split_args, start};
use crate::scene::{Scene, WRONG_FACT};

const DEVICE: &[Need] = &[Need::Fuse, Need::IoUring];
const LIMITED: &[Need] = &[Need::Root, Need::Loop, Need::BlkioV1, Need::IoUring];
const SHARED: &[Need] = &[Need::Root, Need::Fuse, Need::Loop, Need::IoUring];

/// A scene whose run `run` makes, and the cause that it has.
macro_rules! cause {
    ($name:literal, $needs:expr, $run:expr, $cause:literal) => {
        Scene::check($name, $needs, || check(&$run, $cause))
    };
}

/// All scenes. A device that serves all requests in flight at once leaves the depth as the limit; one that serves fewer is the limit itself.
pub const SCENES: &[Scene] = &[
    cause!(
        "cause: depth 1 of psync",
        DEVICE,
        on_servers(0, 2_000, PSYNC),
        "queue_depth"
    ),
    cause!(
        "cause: depth 2 of libaio",
        DEVICE,
        on_servers(0, 2_000, "--ioengine=libaio --iodepth=2"),
        "queue_depth"
    ),
    cause!(
        "cause: depth 4 of io_uring",
        DEVICE,
        on_servers(0, 2_000, "--ioengine=io_uring --iodepth=4"),
        "queue_depth"
    ),
    cause!(
        "cause: depth 8 of libaio",
        DEVICE,
        on_servers(0, 4_000, "--ioengine=libaio --iodepth=8"),
        "queue_depth"
    ),
    cause!(
        "cause: four jobs of psync",
        DEVICE,
        on_servers(0, 2_000, "--ioengine=psync --numjobs=4 --group_reporting"),
        "queue_depth"
    ),
    cause!(
        "cause: depth 2 of writes",
        DEVICE,
        on_servers(0, 2_000, "--rw=randwrite --ioengine=libaio --iodepth=2"),
        "queue_depth"
    ),
    cause!(
        "cause: depth 4 of 16 servers",
        DEVICE,
        on_servers(16, 4_000, "--ioengine=io_uring --iodepth=4"),
        "queue_depth"
    ),
    cause!(
        "cause: one server, depth 4",
        DEVICE,
        on_servers(1, 500, "--ioengine=libaio --iodepth=4"),
        "target"
    ),
    cause!(
        "cause: one server, depth 16",
        DEVICE,
        on_servers(1, 500, "--ioengine=io_uring --iodepth=16"),
        "target"
    ),
    cause!(
        "cause: one server, depth 64",
        DEVICE,
        on_servers(1, 500, "--ioengine=libaio --iodepth=64"),
        "target"
    ),
    cause!(
        "cause: two servers, depth 8",
        DEVICE,
        on_servers(2, 1_000, "--ioengine=libaio --iodepth=8"),
        "target"
    ),
    cause!(
        "cause: four servers, depth 32",
        DEVICE,
        on_servers(4, 2_000, "--ioengine=io_uring --iodepth=32"),
        "target"
    ),
    cause!(
        "cause: one server, eight jobs of psync",
        DEVICE,
        on_servers(1, 500, "--ioengine=psync --numjobs=8 --group_reporting"),
        "target"
    ),
    cause!(
        "cause: one server, writes",
        DEVICE,
        on_servers(1, 500, "--rw=randwrite --ioengine=libaio --iodepth=8"),
        "target"
    ),
    cause!(
        "cause: a ceiling of 1,000, depth 4",
        DEVICE,
        below_ceiling(1_000, "--ioengine=libaio --iodepth=4"),
        "ceiling"
    ),
    cause!(
        "cause: a ceiling of 1,000, depth 16",
        DEVICE,
        below_ceiling(1_000, "--ioengine=io_uring --iodepth=16"),
        "ceiling"
    ),
    cause!(
        "cause: a ceiling of 2,000, depth 8",
        DEVICE,
        below_ceiling(2_000, "--ioengine=libaio --iodepth=8"),
        "ceiling"
    ),
    cause!(
        "cause: a ceiling of 500, depth 32",
        DEVICE,
        below_ceiling(500, "--ioengine=libaio --iodepth=32"),
        "ceiling"
    ),
    cause!(
        "cause: a ceiling of 700, four jobs",
        DEVICE,
        below_ceiling(700, "--ioengine=psync --numjobs=4 --group_reporting"),
        "ceiling"
    ),
    cause!(
        "cause: a ceiling of 1,000, writes",
        DEVICE,
        below_ceiling(1_000, "--rw=randwrite --ioengine=libaio --iodepth=8"),
        "ceiling"
    ),
    cause!(
        "cause: a group with 200 reads, depth 4",
        LIMITED,
        in_group(Limit::ReadIops(200), "--ioengine=libaio --iodepth=4"),
        "control_group"
    ),
    cause!(
        "cause: a group with 500 reads, depth 16",
        LIMITED,
        in_group(Limit::ReadIops(500), "--ioengine=io_uring --iodepth=16"),
        "control_group"
    ),
    cause!(
        "cause: a group with 1,000 reads, depth 8",
        LIMITED,
        in_group(Limit::ReadIops(1_000), "--ioengine=libaio --iodepth=8"),
        "control_group"
    ),
    cause!(
        "cause: a group with 300 reads, psync",
        LIMITED,
        in_group(Limit::ReadIops(300), PSYNC),
        "control_group"
    ),
    cause!(
        "cause: a group with 10 MiB/s",
        LIMITED,
        in_group(
            Limit::ReadBytes(10 << 20),
            "--bs=64k --ioengine=libaio --iodepth=4"
        ),
        "control_group"
    ),
    cause!(
        "cause: a group with 50 MiB/s",
        LIMITED,
        in_group(
            Limit::ReadBytes(50 << 20),
            "--bs=128k --ioengine=io_uring --iodepth=8"
        ),
        "control_group"
    ),
    cause!(
        "cause: a plan of 100 reads",
        DEVICE,
        on_servers(0, 1_000, "--ioengine=psync --rate_iops=100"),
        "planned_rate"
    ),
    cause!(
        "cause: a plan of 300 reads",
        DEVICE,
        on_servers(0, 1_000, "--ioengine=libaio --iodepth=8 --rate_iops=300"),
        "planned_rate"
    ),
    cause!(
        "cause: a plan of 200 random arrivals",
        DEVICE,
        on_servers(
            0,
            1_000,
            "--ioengine=libaio --iodepth=16 --rate_iops=200 --rate_process=poisson"
        ),
        "planned_rate"
    ),
    cause!(
        "cause: a plan of 200 writes",
        DEVICE,
        on_servers(0, 1_000, "--rw=randwrite --ioengine=psync --rate_iops=200"),
        "planned_rate"
    ),
    cause!(
        "cause: pauses of 5 ms",
        DEVICE,
        on_servers(0, 1_000, "--ioengine=psync --thinktime=5ms"),
        "think_time"
    ),
    cause!(
        "cause: pauses of 20 ms",
        DEVICE,
        on_servers(0, 1_000, "--ioengine=libaio --iodepth=4 --thinktime=20ms"),
        "think_time"
    ),
    cause!(
        "cause: pauses of 3 ms, one server",
        DEVICE,
        on_servers(1, 500, "--ioengine=psync --thinktime=3ms"),
        "think_time"
    ),
    cause!(
        "cause: stopped for 3.5 s of 5, one server",
        DEVICE,
        stopped(1, "--ioengine=libaio --iodepth=8"),
        "host_cpu"
    ),
    cause!(
        "cause: stopped for 3.5 s of 5, depth 1",
        DEVICE,
        stopped(0, PSYNC),
        "host_cpu"
    ),
    cause!(
        "cause: a device that hangs for 3.5 s of 5",
        DEVICE,
        hung(0, PSYNC),
        "target_stall"
    ),
    cause!(
        "cause: one server that hangs for 3.5 s of 5",
        DEVICE,
        hung(1, "--ioengine=libaio --iodepth=8"),
        "target_stall"
    ),
    cause!(
        "cause: a sync of 5 ms after each write",
        DEVICE,
        with_syncs(5_000, "--fsync=1"),
        "flush"
    ),
    cause!(
        "cause: a sync of 20 ms after 4 writes",
        DEVICE,
        with_syncs(20_000, "--fdatasync=4"),
        "flush"
    ),
    cause!(
        "cause: 16 readers beside 2 in flight",
        SHARED,
        beside_readers(16, "--ioengine=libaio --iodepth=2"),
        "neighbour"
    ),
    cause!(
        "cause: 32 readers beside 4 in flight",
        SHARED,
        beside_readers(32, "--ioengine=io_uring --iodepth=4"),
        "neighbour"
    ),
];

const PSYNC: &str = "--ioengine=psync";
/// Time of each run, seconds.
const RUN_TIME_S: u64 = 5;
/// How long the program or its target stands still.
const STANDSTILL: Duration = Duration::from_millis(3_500);
/// How long after the begin of the load it stands still.
const BEFORE_STANDSTILL: Duration = Duration::from_millis(700);

/// The answer of a run, compared with the cause that was made.
fn check(ran: &Json, cause: &str) -> Result<(), String> {
    let limit = &ran.0["fathom"]["entries"][0]["limit"];
    let (said, certainty) = (&limit["cause"], &limit["certainty"]);
    if said == cause {
        return Ok(());
    }
    let begin = if certainty == "fact" { WRONG_FACT } else { "" };
    Err(format!("{begin}{said}: {}", limit["text"]))
}

/// `fathom run` of random I/Os of 4 KiB with these options on the target.
fn command(options: &str, path: &Path) -> std::process::Command {
    let mut command = program(load(options, path));
    command.arg(filename_arg(path));
    command
}

/// The arguments of the load without its target. Options that come last count.
fn load(options: &str, path: &Path) -> Vec<String> {
    let mut words = split_args(&format!(
        "run --name=x --bs=4k --rw=randread --direct=1 --norandommap --time_based --runtime={RUN_TIME_S} --no-store --output-format=json {options}"
    ));
    if options.contains("--rw=randwrite") {
        words.push(format!("--destroy={}", device_code(path)));
    }
    words
}

/// A device that processes so many requests at a time, 0 for all at once, and each in this time.
fn device(servers: u32, micros: u64) -> FaultDevice {
    let device = FaultDevice::mount(DeviceOptions {
        latency: Latency {
            read_us: micros,
            write_us: micros,
            ..Latency::default()
        },
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    device.set_servers(servers);
    device
}

fn on_servers(servers: u32, micros: u64, options: &str) -> Json {
    let device = device(servers, micros);
    start(command(options, &device.path())).finish().json()
}

/// Requests of 300 us, of which so many start in a second.
fn below_ceiling(per_second: u32, options: &str) -> Json {
    let device = device(0, 300);
    device.set_ceiling(per_second);
    start(command(options, &device.path())).finish().json()
}

/// A loop device on a file in memory of the page cache, which the kernel limits for a control group.
fn in_group(limit: Limit, options: &str) -> Json {
    let scratch = Scratch::new().expect("a directory");
    let image = scratch.join("image");
    std::fs::write(&image, vec![0x5A; 64 << 20]).expect("a backing file");
    let buffered = LoopOptions {
        buffered: true,
        ..LoopOptions::default()
    };
    let device = LoopDevice::attach(&image, buffered).expect("a loop device");
    let group = Throttle::new().expect("a group");
    group.limit(device.path(), limit).expect("a limit");
    let mut command = group.command(common::FATHOM);
    command
        .args(load(options, device.path()))
        .arg(filename_arg(device.path()));
    start(command).finish().json()
}

/// The program is stopped by a signal for most of the run.
fn stopped(servers: u32, options: &str) -> Json {
    let device = device(servers, 1_000);
    let running = start(command(options, &device.path()));
    common::wait_until("the load started", || device.log().len() > 100);
    std::thread::sleep(BEFORE_STANDSTILL);
    running.signal(Signal::STOP);
    std::thread::sleep(STANDSTILL);
    running.signal(Signal::CONT);
    running.finish().json()
}

/// The device answers nothing for most of the run.
fn hung(servers: u32, options: &str) -> Json {
    let device = device(servers, 1_000);
    let running = start(command(options, &device.path()));
    common::wait_until("the load started", || device.log().len() > 100);
    std::thread::sleep(BEFORE_STANDSTILL);
    device.inject(Fault::Hang(None));
    std::thread::sleep(STANDSTILL);
    device.clear_faults();
    device.release();
    running.finish().json()
}

/// One write of 300 us at a time, and syncs of this time.
fn with_syncs(sync_us: u64, syncs: &str) -> Json {
    let device = device(0, 300);
    device.set_latency(Latency {
        read_us: 300,
        write_us: 300,
        sync_us,
    });
    let options = format!("--rw=randwrite --ioengine=psync {syncs}");
    start(command(&options, &device.path())).finish().json()
}

/// Threads that read a device, one block each at a time, until they are dropped.
struct Readers {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    fn start(path: &Path, count: usize) -> Readers {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(OFlags::DIRECT.bits() as i32);
        let file = Arc::new(options.open(path).expect("the device opens"));
        let threads = (0..count)
            .map(|number| {
                let (file, is_over) = (Arc::clone(&file), Arc::clone(&is_over));
                std::thread::spawn(move || read_until(&file, number as u64, &is_over))
            })
            .collect();
        Readers { is_over, threads }
    }
}

/// Reads one block after another.
fn read_until(file: &File, start: u64, is_over: &AtomicBool) {
    #[repr(align(4096))]
    struct Aligned([u8; 4096]);
    let mut buffer = Box::new(Aligned([0; 4096]));
    let mut block = start * 97;
    while !is_over.load(Ordering::Relaxed) {
        block = (block * 31 + 17) % 8192;
        file.read_exact_at(&mut buffer.0, block * 4096)
            .expect("a read");
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A loop device on one server of 500 us, which other threads read as well.
fn beside_readers(count: usize, options: &str) -> Json {
    let fault = device(1, 500);
    let device = LoopDevice::attach(&fault.path(), LoopOptions::default()).expect("a loop device");
    let _readers = Readers::start(device.path(), count);
    start(command(options, device.path())).finish().json()
}
