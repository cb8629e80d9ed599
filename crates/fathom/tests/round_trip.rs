//! From a known load to a trace, its profile, a job file, and the trace of that: what comes back is what went in.

mod common;

use std::path::Path;

use common::{Json, fathom, program, retry_on_busy_machine, split_args, start};
use fathom_testkit::{
    DeviceOptions, FaultDevice, Latency, LoopDevice, LoopOptions, Scratch, require,
};
use fathom_trace::Tracefs;
use rustix::process::Signal;

/// A device whose latency is its own: 1 ms, whatever else the machine does.
struct Scene {
    device: LoopDevice,
    scratch: Scratch,
    _fault: FaultDevice,
}

impl Scene {
    fn new() -> Scene {
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
        Scene {
            device: LoopDevice::attach(&fault.path(), LoopOptions::default())
                .expect("a loop device"),
            scratch: Scratch::new().expect("a directory"),
            _fault: fault,
        }
    }

    fn path(&self) -> String {
        self.device.path().display().to_string()
    }

    /// Captures the device while this load runs on it, as `name`.
    fn capture(&self, name: &str, load: &[String]) -> Result<String, String> {
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
            .args(load)
            .output()
            .map_err(|error| format!("fio: {error}"))?;
        running.signal(Signal::INT);
        running.finish().expect(0);
        if done.status.success() {
            Ok(trace)
        } else {
            Err(format!(
                "{load:?}: {}",
                String::from_utf8_lossy(&done.stderr)
            ))
        }
    }

    fn profile(&self, trace: &str) -> Json {
        fathom(["profile", trace, "--json"]).expect_done().json()
    }

    /// The load becomes a trace, a job file and another trace. Returns the profiles of both, and the scores.
    fn round_trip(&self, load: &str) -> Result<(Json, Json, Json), String> {
        let mut line = vec![
            "--name=known".to_owned(),
            format!("--filename={}", self.path()),
        ];
        line.extend(split_args(load));
        let original = self.capture("original.trace", &line)?;
        let job = self.scratch.join("copy.fio");
        let made = fathom(["profile", &original, "-o", &job.display().to_string()]).expect_done();
        if !made.err.contains("scores ") {
            return Err(format!("no score: {}", made.err));
        }
        self.redirect(&job);
        let copy = self.capture("copy.trace", &[job.display().to_string()])?;
        let scores = fathom(["fidelity", &original, &copy, "--json"])
            .expect_done()
            .json();
        Ok((self.profile(&original), self.profile(&copy), scores))
    }

    /// All jobs on the device.
    fn redirect(&self, job: &Path) {
        let text = std::fs::read_to_string(job).expect("a job file");
        assert!(text.contains("\nfilename=fathom-copy.data\n"), "{text}");
        let text = text.replace("fathom-copy.data", &self.path());
        std::fs::write(job, text).expect("a job file");
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

#[test]
fn paced_reads_come_back() {
    require!(Loop, Fuse, Fio);
    let scene = Scene::new();
    retry_on_busy_machine(|| {
        let (original, copy, scores) = scene.round_trip(
            "--rw=randread --bs=8k --direct=1 --ioengine=libaio --iodepth=64 --norandommap --size=16m \
             --rate_iops=600 --rate_process=poisson --time_based --runtime=6s",
        )?;
        for profile in [&original, &copy] {
            // 3600 arrivals: the standard error of the rate is 1.7 %.
            near("rate", profile.number("/iops"), 600.0, 0.1)?;
            if profile.0["read_sizes"][0][0] != 8192 {
                return Err(format!("sizes: {}", profile.0["read_sizes"]));
            }
        }
        near(
            "footprint",
            copy.number("/footprint"),
            original.number("/footprint"),
            0.05,
        )?;
        check_scores(
            &scores,
            &[
                ("sizes", 98.0),
                ("mix", 98.0),
                ("footprint", 95.0),
                ("miss-ratio curve", 90.0),
            ],
        )
    });
}

#[test]
fn a_hot_region_comes_back() {
    require!(Loop, Fuse, Fio);
    let scene = Scene::new();
    retry_on_busy_machine(|| {
        let (original, copy, scores) = scene.round_trip(
            "--rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=2 --norandommap --size=16m \
             --random_distribution=zoned:90/10:10/90 --time_based --runtime=5s",
        )?;
        for profile in [&original, &copy] {
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
        check_scores(
            &scores,
            &[
                ("sizes", 98.0),
                ("mix", 98.0),
                ("sequentiality", 95.0),
                ("footprint", 90.0),
                ("miss-ratio curve", 90.0),
            ],
        )
    });
}

#[test]
fn a_log_with_flushes_comes_back() {
    require!(Loop, Fuse, Fio);
    let scene = Scene::new();
    retry_on_busy_machine(|| {
        let (original, copy, scores) = scene.round_trip(
            "--rw=write --bs=12k --direct=1 --ioengine=psync --fsync=4 --size=12m --time_based --runtime=4s",
        )?;
        for profile in [&original, &copy] {
            let (writes, flushes) = (
                profile.number("/totals/writes/ios"),
                profile.number("/totals/flushes/ios"),
            );
            near("writes for each flush", writes / flushes, 4.0, 0.05)?;
        }
        check_scores(
            &scores,
            &[("sizes", 98.0), ("mix", 95.0), ("sequentiality", 95.0)],
        )
    });
}
