//! From a known load to a trace, its profile, a job file, and the trace of that: what comes back is what went in.
//!
//! Loads have a fixed number of I/Os, and traces are compared with what fio says that it issued, so that figures depend little on how
//! fast the machine is.

use crate::common::{Json, fathom, program, split_args, start};
use crate::scene::Scene;
use fathom_testkit::Need;
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, LoopDevice, LoopOptions, Scratch};
use fathom_trace::Tracefs;
use rustix::process::Signal;
use std::path::Path;

pub const SCENES: &[Scene] = &[
    Scene::check(
        "paced reads come back",
        &[Need::Loop, Need::Fuse, Need::Fio],
        paced_reads_come_back,
    ),
    Scene::check(
        "a hot region comes back",
        &[Need::Loop, Need::Fuse, Need::Fio],
        a_hot_region_comes_back,
    ),
    Scene::check(
        "a log with flushes comes back",
        &[Need::Loop, Need::Fuse, Need::Fio],
        a_log_with_flushes_comes_back,
    ),
];

/// What fio counted.
struct Issued {
    read_bytes: f64,
    written_bytes: f64,
    syncs: f64,
    /// Reads and writes per second.
    iops: f64,
}

impl Issued {
    fn of(output: &str) -> Result<Issued, String> {
        let from = output.find('{').ok_or(format!("no result: {output}"))?;
        let json: serde_json::Value =
            serde_json::from_str(&output[from..]).map_err(|error| format!("{error}: {output}"))?;
        let jobs = json["jobs"].as_array().ok_or("no jobs")?;
        let sum = |pointer: &str| -> f64 {
            jobs.iter()
                .filter_map(|job| job.pointer(pointer)?.as_f64())
                .sum()
        };
        Ok(Issued {
            read_bytes: sum("/read/io_bytes"),
            written_bytes: sum("/write/io_bytes"),
            syncs: sum("/sync/total_ios"),
            iops: sum("/read/iops") + sum("/write/iops"),
        })
    }
}

/// A load that was captured, and the load of its copy.
struct RoundTrip {
    original: Json,
    copy: Json,
    scores: Json,
    /// The job file of the copy.
    job: String,
    issued: Issued,
}

/// A device whose latency is its own: 1 ms, whatever else the machine does.
struct Setup {
    device: LoopDevice,
    scratch: Scratch,
    _fault: FaultDevice,
}

impl Setup {
    fn new() -> Setup {
        let latency = Latency {
            read_us: 1000,
            write_us: 1000,
            ..Latency::default()
        };
        let fault = FaultDevice::mount(DeviceOptions {
            latency,
            ..DeviceOptions::default()
        })
        .expect("a fault device");
        Setup {
            device: LoopDevice::attach(&fault.path(), LoopOptions::default())
                .expect("a loop device"),
            scratch: Scratch::new().expect("a directory"),
            _fault: fault,
        }
    }

    fn path(&self) -> String {
        self.device.path().display().to_string()
    }

    /// Captures the device while this load runs on it, as `name`. The trace has what fio issued, and nothing else.
    fn capture(&self, name: &str, load: &[String]) -> Result<(String, Issued), String> {
        let trace = self.scratch.join(name).display().to_string();
        let running = start(program(["capture", &self.path(), "-o", &trace]));
        let prefix = format!("fathom-{}-", running.id());
        let tracefs = Tracefs::open().expect("tracefs");
        let instances = tracefs.root().join("instances");
        let running = running.wait_until("the capture records", || {
            let ours = |entry: &std::fs::DirEntry| {
                entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| name.starts_with(&prefix))
                    && std::fs::read_to_string(entry.path().join("tracing_on"))
                        .is_ok_and(|text| text.starts_with('1'))
            };
            std::fs::metadata(&trace).is_ok_and(|file| file.len() > 0)
                && std::fs::read_dir(&instances)
                    .expect("instances")
                    .flatten()
                    .any(|entry| ours(&entry))
        });
        // fio makes no other I/O than its jobs: fathom would read the device first, to inspect it.
        let done = std::process::Command::new("fio")
            .arg("--output-format=json")
            .args(load)
            .output()
            .map_err(|error| format!("fio: {error}"))?;
        running.signal(Signal::INT);
        let captured = running.finish().expect(0);
        if !done.status.success() {
            return Err(format!(
                "{load:?}: {}",
                String::from_utf8_lossy(&done.stderr)
            ));
        }
        if captured.out.contains("events were lost") {
            return Err(captured.out);
        }
        let issued = Issued::of(&String::from_utf8_lossy(&done.stdout))?;
        let profile = self.profile(&trace);
        // Bytes and not requests: the kernel may join two of them.
        for (kind, bytes) in [
            ("reads", issued.read_bytes),
            ("writes", issued.written_bytes),
        ] {
            let found = profile.number(&format!("/totals/{kind}/bytes"));
            // udev may read a device that was closed, to identify it.
            if found < bytes || found > bytes * 1.02 + 131_072.0 {
                return Err(format!(
                    "{name}: {found} bytes of {kind}, fio moved {bytes}"
                ));
            }
        }
        // Closing a device that was written flushes it too.
        let flushes = profile.number("/totals/flushes/ios");
        if !(issued.syncs..=issued.syncs + 4.0).contains(&flushes) {
            return Err(format!(
                "{name}: {flushes} flushes, fio issued {}",
                issued.syncs
            ));
        }
        Ok((trace, issued))
    }

    fn profile(&self, trace: &str) -> Json {
        fathom(["profile", trace, "--json"]).expect(0).json()
    }

    /// The load becomes a trace, a job file and another trace of as many I/Os.
    fn round_trip(&self, load: &str) -> Result<RoundTrip, String> {
        let mut line = vec![
            "--name=known".to_owned(),
            format!("--filename={}", self.path()),
        ];
        line.extend(split_args(load));
        let (original, issued) = self.capture("original.trace", &line)?;
        let job = self.scratch.join("copy.fio");
        let made = fathom(["profile", &original, "-o", &job.display().to_string()]).expect(0);
        if !made.err.contains("scores ") {
            return Err(format!("no score: {}", made.err));
        }
        let text = std::fs::read_to_string(&job).expect("a job file");
        let profile = self.profile(&original);
        self.redirect(&job, &text, &profile);
        let (copy, _) = self.capture("copy.trace", &[job.display().to_string()])?;
        let scores = fathom(["fidelity", &original, &copy, "--json"])
            .expect(0)
            .json();
        Ok(RoundTrip {
            original: profile,
            copy: self.profile(&copy),
            scores,
            job: text,
            issued,
        })
    }

    /// All jobs on the device. A copy of one job has as many bytes as the original, however long that takes; several jobs share
    /// the time of the original.
    fn redirect(&self, job: &Path, text: &str, original: &Json) {
        let bytes =
            original.number("/totals/reads/bytes") + original.number("/totals/writes/bytes");
        let one = text.matches("\n[").count() == 2 && !text.contains("\nnumjobs=");
        let mut changed = String::new();
        for line in text.lines() {
            match line {
                "filename=fathom-copy.data" => changed += &format!("filename={}\n", self.path()),
                "time_based" if one => changed += &format!("io_size={bytes}\n"),
                line if one && line.starts_with("runtime=") => changed += "runtime=300\n",
                line => changed += &format!("{line}\n"),
            }
        }
        assert_eq!(changed.matches("filename=/dev").count(), 1, "{text}");
        assert_eq!(changed.contains("io_size="), one, "{text}");
        std::fs::write(job, changed).expect("a job file");
    }
}

fn near(what: &str, found: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (found - expected).abs() <= expected.abs() * tolerance {
        Ok(())
    } else {
        Err(format!("{what}: {found}, expected {expected}"))
    }
}

/// The scores that do not depend on how fast this machine is.
fn check_scores(scores: &Json, least: &[(&str, f64)]) -> Result<(), String> {
    let parts = scores.0["parts"].as_array().expect("parts");
    for (name, least) in least {
        let part = parts
            .iter()
            .find(|part| part["name"] == *name)
            .ok_or_else(|| format!("no part {name}"))?;
        if part["score"].as_f64().is_none_or(|score| score < *least) {
            return Err(format!("{name} below {least}: {}", scores.0));
        }
    }
    Ok(())
}

fn paced_reads_come_back() -> Result<(), String> {
    let scene = Setup::new();
    // 2,000 reads of 8 KiB: fewer than blocks, since fio repeats its offsets after as many.
    let trip = scene.round_trip(
        "--rw=randread --bs=8k --direct=1 --ioengine=libaio --iodepth=64 --norandommap --size=16m \
         --io_size=16384000 --rate_iops=600 --rate_process=poisson",
    )?;
    let RoundTrip {
        original,
        copy,
        scores,
        ..
    } = &trip;
    // The rate is that of the load, and the job file asks for it.
    near("rate", original.number("/iops"), trip.issued.iops, 0.05)?;
    let asked = trip
        .job
        .lines()
        .find_map(|line| line.strip_prefix("rate_iops="));
    let asked = asked.and_then(|rate| rate.parse().ok()).unwrap_or(0.0);
    near("asked rate", asked, original.number("/iops"), 0.01)?;
    for profile in [original, copy] {
        near("reads", profile.number("/totals/reads/ios"), 2000.0, 0.01)?;
        if profile.0["read_sizes"][0][0] != 8192 {
            return Err(format!("sizes: {}", profile.0["read_sizes"]));
        }
        // Of 2,048 blocks, so many reads touch 1 - exp(-2000/2048).
        let expected = 16.0 * 1048576.0 * (1.0 - (-2000.0_f64 / 2048.0).exp());
        near("footprint", profile.number("/footprint"), expected, 0.05)?;
    }
    check_scores(
        scores,
        &[
            ("sizes", 98.0),
            ("mix", 98.0),
            ("footprint", 95.0),
            ("miss-ratio curve", 90.0),
        ],
    )
}

fn a_hot_region_comes_back() -> Result<(), String> {
    let scene = Setup::new();
    // 4,000 reads of 4 KiB.
    let trip = scene.round_trip(
        "--rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=2 --norandommap --size=16m \
         --random_distribution=zoned:90/10:10/90 --io_size=16384000",
    )?;
    for profile in [&trip.original, &trip.copy] {
        // Nine of ten reads in a tenth of 16 MiB: even with the first reads a cache of 3.2 MiB misses
        // less than half; of uniform reads it misses four of five.
        let curve = profile.0["miss_ratio"].as_array().expect("a curve");
        let at = curve
            .iter()
            .rfind(|point| point[0].as_f64() <= Some(3.2 * 1048576.0));
        let misses = at.and_then(|point| point[1].as_f64()).unwrap_or(1.0);
        if misses > 0.5 {
            return Err(format!("{misses} misses"));
        }
    }
    // A job file has whole percentages. The reads of the cold region are 10 %, some 379 of its blocks beside 410 hot ones; as 12 %
    // they are 450. So the footprints differ by up to 8 %, and by chance, with a deviation of 19 blocks on each side, by three
    // times 3 % more. A uniform copy would touch 2,553 blocks and score 31.
    //
    // Not sequentiality, which scored below 95 on a machine with twice as many busy threads as CPUs: the cause is not known yet.
    check_scores(
        &trip.scores,
        &[
            ("sizes", 98.0),
            ("mix", 98.0),
            ("footprint", 80.0),
            ("miss-ratio curve", 90.0),
        ],
    )
}

fn a_log_with_flushes_comes_back() -> Result<(), String> {
    let scene = Setup::new();
    // 1,600 writes of 12 KiB.
    let trip = scene.round_trip(
        "--rw=write --bs=12k --direct=1 --ioengine=psync --fsync=4 --size=12m --io_size=19660800",
    )?;
    for profile in [&trip.original, &trip.copy] {
        let (writes, flushes) = (
            profile.number("/totals/writes/ios"),
            profile.number("/totals/flushes/ios"),
        );
        near("writes for each flush", writes / flushes, 4.0, 0.05)?;
    }
    check_scores(
        &trip.scores,
        &[("sizes", 98.0), ("mix", 95.0), ("sequentiality", 95.0)],
    )
}
