//! Real situations on this machine that must cause a finding, through the program itself. Each
//! proves that its detector works: without the detector there is no finding and the test fails.
//! `docs/findings.md` lists the test of each cause.

use crate::common;
use crate::common::{Json, fathom, filename_arg, program, sh, split_args, start, wait_until};
use crate::scene::Scene;
use fathom_testkit::Need;
use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, Latency, Limit, LoopDevice, LoopOptions, Scratch, Throttle,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const SCENES: &[Scene] = &[
    Scene::check("sampling is cheap", &[], sampling_is_cheap),
    Scene::check(
        "a device that slows down",
        &[Need::Fuse],
        a_device_that_slows_down,
    ),
    Scene::check(
        "a rate limiter",
        &[Need::Root, Need::Loop, Need::BlkioV1],
        a_rate_limiter,
    ),
    Scene::check(
        "percentiles of a group are not averaged",
        &[Need::Fuse],
        percentiles_of_a_group_are_not_averaged,
    ),
    Scene::check(
        "time outside every latency",
        &[],
        time_outside_every_latency,
    ),
    Scene::check(
        "a queue depth that is not reached",
        &[],
        a_queue_depth_that_is_not_reached,
    ),
    Scene::check("two kinds of I/O", &[Need::Fuse], two_kinds_of_io),
    Scene::check("noisy neighbours", &[], noisy_neighbours),
    Scene::check(
        "the generator is the limit",
        &[],
        the_generator_is_the_limit,
    ),
];

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

/// Runs `fathom run` with these options on the path; the scenes check the findings.
fn run(more: &str, path: &Path) -> Json {
    let mut command = program(split_args(&format!(
        "run --name=x --bs=4k --output-format=json {more}"
    )));
    command.arg(filename_arg(path));
    start(command).finish().json()
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

/// Cause 17: a device that becomes much slower during the run.
fn a_device_that_slows_down() -> Result<(), String> {
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
}

/// Cause 19: a limit of the own control group, detected from its setting and from the latency
/// distribution.
fn a_rate_limiter() -> Result<(), String> {
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
    if !evidence.contains("of the 200 I/Os that the control group of this process allows on loop") {
        return Err(evidence.to_owned());
    }
    json.finding("RATE_LIMITED")
        .ok_or_else(|| "no finding for the pattern".to_owned())?;
    let summary = json
        .0
        .pointer("/fathom/entries/0/summary")
        .expect("a summary")
        .to_string();
    if summary.contains("A control group of this process is probably the limit: it allows 200 reads per second on loop") {
        Ok(())
    } else {
        Err(summary)
    }
}

/// Cause 15: percentiles of a group are those of all its I/Os. Two devices of 1 and 20 ms: 19 of 20
/// I/Os take 1 ms, so p50 is 1 ms and p99 20 ms; averages of the two jobs' percentiles would both
/// be 10.5 ms.
fn percentiles_of_a_group_are_not_averaged() -> Result<(), String> {
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
    let at =
        |percent: &str| json.number(&format!("/jobs/0/read/clat_ns/percentile/{percent}")) / 1e6;
    let (p50, p99) = (at("50.000000"), at("99.000000"));
    if p50 < 6.0 && p99 > 19.0 {
        Ok(())
    } else {
        Err(format!("p50 {p50} ms, p99 {p99} ms"))
    }
}

/// Generating random data for each MiB takes longer than copying it into the page cache: rate times
/// latency is far below one.
fn time_outside_every_latency() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let line = "--rw=write --bs=1m --size=16m --refill_buffers --direct=0 --ioengine=psync --time_based --runtime=1200ms";
    let json = run(line, &directory.join("data"));
    let evidence = json
        .finding("LITTLE_DISAGREES")
        .ok_or("all of the time is in latencies?")?;
    if evidence.contains("of the time passed between I/Os, in this program") {
        Ok(())
    } else {
        Err(evidence.to_owned())
    }
}

/// One in twenty I/Os takes 20 ms longer: two kinds of I/O.
fn two_kinds_of_io() -> Result<(), String> {
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
}

/// Cause 4: other processes that take the CPUs.
fn noisy_neighbours() -> Result<(), String> {
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
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
}

/// Cause 3: reads that need only CPU time.
fn the_generator_is_the_limit() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let path = file(directory.path(), 4);
    let line = "run --name=x --bs=4k --rw=randread --norandommap --direct=0 --invalidate=0 --ioengine=psync --time_based --runtime=1 --output-format=json";
    let mut command = program(split_args(line));
    command.arg(filename_arg(&path));
    let json = start(command).finish().json();
    json.finding("TOOL_BOUND")
        .map(drop)
        .ok_or_else(|| format!("{:#}", json.0["fathom"]["findings"]))
}

/// Sampling costs less than a thousandth of a CPU.
fn sampling_is_cheap() -> Result<(), String> {
    let line = "run --name=x --ioengine=null --rw=randread --size=1g --time_based --runtime=4 --rate_iops=1000 --output-format=json";
    let cost = fathom(split_args(line))
        .json()
        .number("/fathom/conditions/telemetry/cost_ns");
    if cost < 4e9 / 1000.0 {
        Ok(())
    } else {
        Err(format!("sampling took {cost} ns of CPU in 4 s"))
    }
}

/// Cause 25: buffered reads complete while they are submitted, one by one.
fn a_queue_depth_that_is_not_reached() -> Result<(), String> {
    let directory = Scratch::new().expect("a directory");
    let path = file(directory.path(), 16);
    let more =
        "--rw=randread --direct=0 --invalidate=0 --ioengine=libaio --iodepth=16 --iodepth_batch=1";
    let json = run(more, &path);
    match json.finding("DEPTH_NOT_REACHED") {
        Some(evidence) if evidence.starts_with("Requested depth 16, achieved") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
