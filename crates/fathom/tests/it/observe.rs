//! `fathom observe` on loop devices: what it reports is compared with what the load did and with the kernel's counters.

use crate::common;
use std::fs;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Completed, Json, Running, fathom, program, start};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};
use fathom_trace::Tracefs;
use rustix::fs::OFlags;
use rustix::process::Signal;

struct LoopScene {
    device: LoopDevice,
    _scratch: Scratch,
}

impl LoopScene {
    fn new() -> LoopScene {
        LoopScene::with(LoopOptions::default())
    }

    fn with(options: LoopOptions) -> LoopScene {
        LoopScene::sized(64 << 20, options)
    }

    fn sized(bytes: u64, options: LoopOptions) -> LoopScene {
        let scratch = Scratch::new().unwrap();
        let device = LoopDevice::create(&scratch.join("backing"), bytes, options).unwrap();
        LoopScene {
            device,
            _scratch: scratch,
        }
    }

    fn path(&self) -> String {
        self.device.path().display().to_string()
    }

    fn name(&self) -> String {
        let name = self.device.path().file_name().unwrap();
        name.to_str().unwrap().to_owned()
    }

    /// Completed reads and writes by the kernel's counters.
    fn counters(&self) -> [u64; 2] {
        let text = fs::read_to_string(self.device.sysfs().join("stat")).unwrap();
        let n: Vec<u64> = text
            .split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect();
        [n[0], n[4]]
    }

    fn read(&self, size: &str, count: u32) {
        dd(&format!(
            "if={} of=/dev/null bs={size} count={count} iflag=direct",
            self.path()
        ));
    }

    /// Observes the device during `load`, and returns the JSON document.
    fn observe(&self, more: &[&str], load: impl FnOnce()) -> Json {
        let path = self.path();
        let mut line = vec!["observe", &path, "--json", "--no-store", "--quiet"];
        line.extend(more);
        observe(&line, load).json()
    }
}

/// Runs the command until `load` is done.
fn observe(line: &[&str], load: impl FnOnce()) -> Completed {
    let line = [line, &["--runtime=60s"]].concat();
    let observer = started(&line);
    load();
    observer.signal(Signal::INT);
    let done = observer.finish();
    assert_eq!(done.code(), 130, "{}", done.err);
    done
}

/// Starts the command and waits until it records.
fn started(line: &[&str]) -> Running {
    let running = start(program(line));
    let prefix = format!("fathom-{}-", running.id());
    let tracefs = Tracefs::open().unwrap();
    let instances = tracefs.root().join("instances");
    running.wait_until("the trace is recorded", || {
        let on = |instance: &Path, file: &str| {
            fs::read_to_string(instance.join(file)).is_ok_and(|text| text.starts_with('1'))
        };
        fs::read_dir(&instances).unwrap().flatten().any(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix))
                // It is the last that is switched on.
                && on(&entry.path(), "events/block/block_bio_complete/enable")
                && on(&entry.path(), "tracing_on")
        })
    })
}

fn dd(arguments: &str) {
    let status = Command::new("dd")
        .args(arguments.split(' '))
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{arguments}");
}

#[test]
fn requests_equal_the_load_and_the_counters_of_the_kernel() {
    require!(Loop);
    let scene = LoopScene::with(LoopOptions {
        sector_size: Some(4096),
        ..LoopOptions::default()
    });
    let mut before = [0; 2];
    let mut after = [0; 2];
    let json = scene.observe(&[], || {
        before = scene.counters();
        scene.read("4k", 300);
        dd(&format!(
            "if=/dev/zero of={} bs=16k count=50 oflag=direct conv=fsync",
            scene.path()
        ));
        after = scene.counters();
    });
    assert_eq!(json.text("/source"), "tracepoints");
    assert_eq!(json.number("/trace/lost_events"), 0.0);
    assert_eq!(json.text("/devices/0/name"), scene.name());
    assert_eq!(
        json.number("/devices/0/read/requests"),
        (after[0] - before[0]) as f64
    );
    // The kernel counts the flush without data as a write.
    assert_eq!(json.number("/devices/0/write/requests"), 50.0);
    assert_eq!(after[1] - before[1], 51);
    assert_eq!(json.number("/devices/0/write/bytes"), 50.0 * 16384.0);
    assert!(json.number("/devices/0/flush_commands/count") >= 1.0);
    assert!(json.number("/devices/0/flush_waits/count") >= 1.0);
    // Both ends of every phase were seen, and the phases add up to the whole.
    for direction in ["read", "write"] {
        let of = |phase: &str, value: &str| {
            json.number(&format!("/devices/0/{direction}/latency/{phase}/{value}"))
        };
        let count = of("queue_to_complete", "count");
        assert_eq!(of("queue_to_issue", "count"), count);
        assert_eq!(of("issue_to_complete", "count"), count);
        let sum = of("queue_to_issue", "mean_ns") + of("issue_to_complete", "mean_ns");
        assert!((sum / of("queue_to_complete", "mean_ns") - 1.0).abs() < 1e-6);
    }
    let processes = json.0["devices"][0]["processes"].as_array().unwrap();
    let dd: Vec<_> = processes
        .iter()
        .filter(|process| process["name"] == "dd")
        .collect();
    assert_eq!(dd.len(), 2);
    assert!(
        dd.iter()
            .any(|p| p["reads"] == 300 && p["read_bytes"] == 300 * 4096)
    );
    assert!(dd.iter().any(|p| p["writes"] == 50 && p["flushes"] == 1));
    // One dd after the other, each from the first sector to the last.
    assert!(
        dd.iter()
            .all(|p| p["sequential_share"].as_f64().unwrap() > 0.95)
    );
    for difference in json.0["trace"]["clock_difference_ns"].as_array().unwrap() {
        assert_eq!(difference, 0);
    }
}

#[test]
fn splits_name_the_limit_that_caused_them() {
    require!(Loop);
    let scene = LoopScene::new();
    let limit = scene.device.set_queue("max_sectors_kb", "16").unwrap();
    let json = scene.observe(&[], || scene.read("64k", 40));
    drop(limit);
    let sizes = json.0["devices"][0]["read"]["bio_sizes"]
        .as_array()
        .unwrap();
    let size = sizes.iter().find(|size| size["bytes"] == 65536).unwrap();
    assert_eq!(size["bios"], 40);
    assert_eq!(size["requests_per_bio"], 4.0);
    assert_eq!(size["limit"], "max_sectors_kb=16");
    let sentence = size["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("64 KiB in, 4 requests out (40 reads of this size)"),
        "{sentence}"
    );
    assert_eq!(json.0["devices"][0]["read"]["split_bios"], 40);
    let requests = json.0["devices"][0]["read"]["request_sizes"]
        .as_array()
        .unwrap();
    assert!(
        requests
            .iter()
            .all(|size| size["bytes"].as_u64().unwrap() <= 16384)
    );
    // Without the limit, one request each.
    let json = scene.observe(&[], || scene.read("64k", 40));
    let sizes = json.0["devices"][0]["read"]["bio_sizes"]
        .as_array()
        .unwrap();
    let size = sizes.iter().find(|size| size["bytes"] == 65536).unwrap();
    assert_eq!(
        (&size["requests_per_bio"], &size["limit"]),
        (&1.0.into(), &().into())
    );
}

#[test]
fn time_in_the_scheduler_is_shown_where_there_is_one() {
    require!(Loop);
    let scene = LoopScene::new();
    let mut seen = 0;
    for scheduler in ["none", "mq-deadline", "bfq"] {
        let Ok(_setting) = scene.device.set_queue("scheduler", scheduler) else {
            continue;
        };
        seen += 1;
        let json = scene.observe(&[], || scene.read("4k", 100));
        assert_eq!(json.text("/devices/0/scheduler"), scheduler);
        let latency = &json.0["devices"][0]["read"]["latency"];
        let inserted = latency["insert_to_issue"]["count"].as_u64().unwrap_or(0);
        match scheduler {
            // Direct I/O goes to the driver without a queue.
            "none" => assert!(inserted < 100, "{inserted}"),
            _ => assert!(inserted >= 100, "{scheduler}: {inserted}"),
        }
        assert!(latency["queue_to_complete"]["count"].as_u64().unwrap() >= 100);
    }
    assert!(seen >= 1);
}

#[test]
fn merges_are_counted_and_absent_with_nomerges() {
    require!(Loop);
    let scene = LoopScene::new();
    // A batch of neighbours in one submission.
    let load = || {
        let path = scene.path();
        let batch = "--name=batch --ioengine=libaio --direct=1 --rw=read --bs=4k --size=8m --iodepth=16 --iodepth_batch=16";
        let mut line = vec!["fio", "--filename", &path];
        line.extend(batch.split(' '));
        fathom(line).expect(0);
    };
    let json = scene.observe(&[], load);
    let read = &json.0["devices"][0]["read"];
    let (bios, merged, requests) = (
        read["bios"].as_u64().unwrap(),
        read["merged"].as_u64().unwrap(),
        read["requests"].as_u64().unwrap(),
    );
    assert!(merged > 0, "{read}");
    // Splits add requests, merges take them away.
    let parts = |json: &Json| -> u64 {
        let sizes = json.0["devices"][0]["read"]["bio_sizes"]
            .as_array()
            .unwrap();
        let of = |size: &serde_json::Value| {
            size["bios"].as_f64().unwrap() * size["parts_per_bio"].as_f64().unwrap()
        };
        sizes.iter().map(|size| of(size).round() as u64).sum()
    };
    assert!(parts(&json) >= bios);
    assert_eq!(requests, parts(&json) - merged);
    let setting = scene.device.set_queue("nomerges", "2").unwrap();
    let json = scene.observe(&[], load);
    drop(setting);
    assert_eq!(json.0["devices"][0]["read"]["merged"], 0);
    assert_eq!(json.number("/devices/0/nomerges"), 2.0);
    assert_eq!(json.number("/devices/0/read/requests"), parts(&json) as f64);
}

#[test]
fn buffered_reads_show_read_ahead() {
    require!(Loop);
    let scene = LoopScene::new();
    let json = scene.observe(&[], || {
        dd(&format!(
            "if={} of=/dev/null bs=4k count=2048",
            scene.path()
        ));
    });
    let read = &json.0["devices"][0]["read"];
    // 8 MiB once from the device, nearly all of it read ahead of the program.
    assert!(read["bytes"].as_u64().unwrap() >= 8 << 20);
    assert!(
        read["read_ahead_bytes"].as_u64().unwrap() >= 6 << 20,
        "{read}"
    );
    assert!(read["requests"].as_u64().unwrap() < 2048);
}

#[test]
fn every_request_is_a_line_of_events() {
    require!(Loop);
    let scene = LoopScene::new();
    let file = scene._scratch.join("events");
    let events = format!("--events={}", file.display());
    let json = scene.observe(&[&events], || scene.read("8k", 50));
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len() as f64, json.number("/devices/0/read/requests"));
    let own: Vec<_> = lines
        .iter()
        .filter(|line| line["process"] == "dd")
        .collect();
    assert_eq!(own.len(), 50);
    for line in own {
        assert_eq!(
            (&line["bytes"], &line["direction"]),
            (&8192.into(), &"read".into())
        );
        let time = |name: &str| line[name].as_u64().unwrap();
        assert!(time("queue_ns") <= time("issue_ns") && time("issue_ns") <= time("complete_ns"));
    }
}

#[test]
fn only_the_named_process_counts() {
    require!(Loop);
    let scene = LoopScene::new();
    // The shell becomes dd when it may.
    let go = scene._scratch.join("go");
    let script = format!(
        "while [ ! -e {} ]; do sleep 0.05; done; exec dd if={} of=/dev/null bs=4k count=30 iflag=direct",
        go.display(),
        scene.path()
    );
    let mut other = Command::new("sh")
        .args(["-c", &script])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = format!("--pid={}", other.id());
    let json = scene.observe(&[&pid], || {
        scene.read("4k", 100);
        fs::write(&go, "").unwrap();
        assert!(other.wait().unwrap().success());
    });
    assert_eq!(json.number("/devices/0/read/requests"), 30.0);
    let processes = json.0["devices"][0]["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 1);
    assert_eq!(processes[0]["pid"], other.id());
}

#[test]
fn a_device_that_disappears_ends_the_observation() {
    require!(Loop);
    let LoopScene { device, _scratch } = LoopScene::new();
    let path = device.path().display().to_string();
    let name = path.trim_start_matches("/dev/").to_owned();
    let observer = started(&[
        "observe",
        &path,
        "--json",
        "--no-store",
        "--quiet",
        "--runtime=60s",
    ]);
    dd(&format!(
        "if={path} of=/dev/null bs=4k count=20 iflag=direct"
    ));
    device.detach().unwrap();
    // The kernel gives the first free number, which is this one, unless another test has taken it already.
    let _next = LoopScene::new();
    let done = observer.finish();
    assert_eq!(done.code(), 0, "{}", done.err);
    let json = done.json();
    assert_eq!(json.text("/devices_gone/0"), name);
    assert!(json.number("/devices/0/read/requests") >= 20.0);
}

#[test]
fn a_killed_observer_leaves_an_instance_that_the_next_one_removes() {
    require!(Loop);
    let scene = LoopScene::new();
    let path = scene.path();
    let observer = started(&["observe", &path, "--no-store", "--runtime=60s"]);
    let prefix = format!("fathom-{}-", observer.id());
    observer.signal(Signal::KILL);
    observer.finish();
    let tracefs = Tracefs::open().unwrap();
    let left = || -> Vec<PathBuf> {
        fs::read_dir(tracefs.root().join("instances"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_str().unwrap().starts_with(&prefix))
            .map(|entry| entry.path())
            .collect()
    };
    // Another test may have removed it already. If not, it records nothing any more.
    for instance in left() {
        if let Ok(on) = fs::read_to_string(instance.join("tracing_on")) {
            assert_eq!(on.trim(), "0");
        }
    }
    let was_left = !left().is_empty();
    let done = fathom(["observe", &path, "--no-store", "--runtime=200ms"]);
    assert_eq!(done.code(), 0, "{}", done.err);
    assert!(left().is_empty());
    if was_left {
        assert!(
            done.err.contains("removed the trace instance") || left().is_empty(),
            "{}",
            done.err
        );
    }
}

#[test]
fn another_tracer_keeps_its_own_events() {
    require!(Loop);
    let scene = LoopScene::new();
    let tracefs = Tracefs::open().unwrap();
    struct Instance(PathBuf);
    impl Drop for Instance {
        fn drop(&mut self) {
            let _ = fs::remove_dir(&self.0);
        }
    }
    let other = Instance(
        tracefs
            .root()
            .join(format!("instances/other-{}", std::process::id())),
    );
    fs::create_dir(&other.0).unwrap();
    fs::write(other.0.join("events/block/block_rq_issue/enable"), "1").unwrap();
    let json = scene.observe(&[], || scene.read("4k", 60));
    assert!(json.number("/devices/0/read/requests") >= 60.0);
    // The other one still records, and has all requests of the device.
    let on = fs::read_to_string(other.0.join("events/block/block_rq_issue/enable")).unwrap();
    assert_eq!(on.trim(), "1");
    let number = fs::read_to_string(scene.device.sysfs().join("dev")).unwrap();
    let wanted = format!("block_rq_issue: {} R", number.trim().replace(':', ","));
    let text = fs::read_to_string(other.0.join("trace")).unwrap();
    assert!(text.matches(&wanted).count() >= 60);
}

#[test]
fn lost_events_make_the_figures_partial() {
    require!(Loop);
    let scene = LoopScene::new();
    let json = scene.observe(&["--buffer=64k"], || scene.read("4k", 16_000));
    assert!(json.number("/trace/lost_events") > 0.0);
    assert_eq!(json.0["partial"], true);
    assert!(json.number("/devices/0/read/requests") < 16_000.0);
    let path = scene.path();
    let text = observe(&["observe", &path, "--buffer=64k", "--no-store"], || {
        scene.read("4k", 16_000);
    });
    assert!(text.out.contains("partial: "), "{}", text.out);
}

#[test]
fn without_the_right_to_trace_the_counters_remain() {
    require!(Loop);
    let scene = LoopScene::new();
    let path = scene.path();
    let mut command = Command::new("setpriv");
    command.args([
        "--bounding-set=-sys_admin,-dac_override,-dac_read_search",
        common::FATHOM,
    ]);
    command.args(["observe", &path, "--json", "--runtime=2s"]);
    command.env("FATHOM_STORE", "none");
    let before = scene.counters()[0];
    let running = start(command);
    // The counters are read at the start and at the end.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        scene.read("4k", 10);
    }
    let done = running.finish();
    assert_eq!(done.code(), 0, "{}", done.err);
    assert!(
        done.err
            .contains("only the counters of the kernel are read"),
        "{}",
        done.err
    );
    let json = done.json();
    assert_eq!(json.text("/source"), "counters");
    let reads = json.number("/devices/0/ios/read");
    assert!(
        reads >= 10.0 && reads <= (scene.counters()[0] - before) as f64,
        "{reads}"
    );
}

#[test]
fn an_observation_is_a_run_of_the_store() {
    require!(Loop);
    let scene = LoopScene::new();
    let store = scene._scratch.join("store.db");
    let path = scene.path();
    let mut runs = Vec::new();
    for _ in 0..2 {
        let mut command = program(["observe", &path, "--runtime=2s"]);
        command.env("FATHOM_STORE", &store);
        let running = start(command);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(1_600) {
            scene.read("4k", 100);
        }
        let done = running.finish();
        assert_eq!(done.code(), 0, "{}", done.err);
        let at = done.err.find("fathom show ").expect("stored") + "fathom show ".len();
        runs.push(done.err[at..].split_whitespace().next().unwrap().to_owned());
    }
    let with_store = |line: &[&str]| {
        let mut command = program(line);
        command.env("FATHOM_STORE", &store);
        start(command).finish()
    };
    let read = format!("{} read", scene.name());
    // Regression 0890: a report made from the JSON of an observation had none of its charts.
    let json = scene._scratch.join("observed.json").display().to_string();
    let mut command = program(["observe", &path, "--runtime=2s", "--json", "-o", &json]);
    command.env("FATHOM_STORE", &store);
    let running = start(command);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(1_600) {
        scene.read("4k", 100);
    }
    let done = running.finish();
    assert_eq!(done.code(), 0, "{}", done.err);
    let mut reports = ["latest", &json].map(|result| {
        let report = with_store(&["report", result, "--format=md", "--title=Loop device"]);
        assert_eq!(report.code(), 0, "{}", report.err);
        report.out
    });
    assert!(
        reports[0].contains("Latency of requests by phase"),
        "{}",
        reports[0]
    );
    // The stored run has the target as its name, and a column with it; the file has none.
    reports = reports.map(|text| {
        text.replace(&format!("{path} · "), "")
            .replace(
                &format!("| {path} | {}", scene.name()),
                &format!("| {}", scene.name()),
            )
            .replace("| Result | Job |", "| Job |")
            .lines()
            .filter(|line| !line.starts_with("| ---"))
            .collect::<Vec<_>>()
            .join("\n")
    });
    assert_eq!(reports[0], reports[1]);
    let show = with_store(&["show", &runs[0]]);
    assert_eq!(show.code(), 0, "{}", show.err);
    assert!(show.out.contains(&read), "{}", show.out);
    let export = with_store(&["export", &runs[0], "--format=csv"]);
    assert_eq!(export.code(), 0, "{}", export.err);
    let compare = with_store(&["compare", &runs[0], &runs[1]]);
    assert_eq!(compare.code(), 0, "{}", compare.err);
    let listed = with_store(&["runs"]);
    assert!(listed.out.contains("observe"), "{}", listed.out);
    // The figures of a load that nobody made are left out, and that programs paused is not a fault of the device.
    for absent in ["IO depths", "cpu  ", "TARGET_STALLED"] {
        assert!(!show.out.contains(absent), "{absent}: {}", show.out);
    }
    // What was seen is in the charts.
    let table = |chart: &str| {
        let file = scene._scratch.join("chart.csv").display().to_string();
        let chart = format!("--chart={chart}");
        let plot = with_store(&["plot", &runs[0], &chart, "--name", &read, "-o", &file]);
        assert_eq!(plot.code(), 0, "{chart}: {}", plot.err);
        fs::read_to_string(&file).unwrap()
    };
    let sizes = table("sizes");
    assert!(sizes.contains("4 KiB") && sizes.contains("100"), "{sizes}");
    for chart in ["phases", "offsets", "in-device"] {
        assert!(table(chart).lines().count() > 10, "{chart}");
    }
    let page = scene._scratch.join("page.html").display().to_string();
    let report = with_store(&["report", &runs[0], "-o", &page]);
    assert_eq!(report.code(), 0, "{}", report.err);
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("Latency of requests by phase"));
}

/// dd reads 200 blocks of one file and 100 of another.
#[test]
fn requests_are_named_by_their_files() {
    require!(Root, Loop);
    if let Err(unmet) = FsKind::Ext4.available() {
        return fathom_testkit::skip(&unmet.to_string());
    }
    let scene = LoopScene::new();
    let mount = Mount::format(scene.device.path(), FsKind::Ext4, "").unwrap();
    let file = |name: &str| mount.path().join(name).display().to_string();
    for name in ["one", "two", "three"] {
        dd(&format!(
            "if=/dev/zero of={} bs=1M count=2 conv=fsync",
            file(name)
        ));
    }
    let read = |name: &str, count: u32| {
        dd(&format!(
            "if={} of=/dev/null bs=4k count={count} iflag=direct",
            file(name)
        ));
    };
    let files = format!("--files={}", mount.path().display());
    let json = scene.observe(&[&files], || {
        read("one", 200);
        read("two", 100);
    });
    let seen: Vec<(String, u64)> = json.0["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let name = one["name"].as_str().unwrap().to_owned();
            (name, one["reads"].as_u64().unwrap())
        })
        .collect();
    assert!(seen.contains(&(file("one"), 200)), "{seen:?}");
    assert!(seen.contains(&(file("two"), 100)), "{seen:?}");
    assert!(
        !seen.iter().any(|(name, _)| *name == file("three")),
        "{seen:?}"
    );
    // Only the file that is named; the other I/O is counted together.
    let files = format!("--files={}", file("two"));
    let json = scene.observe(&[&files], || {
        read("one", 200);
        read("two", 100);
    });
    assert_eq!(json.text("/files/0/name"), file("two"));
    assert_eq!(json.number("/files/0/reads"), 100.0);
    assert!(json.number("/outside_of_files/requests") >= 200.0);
    // As text, and without the option nothing of it.
    let path = scene.path();
    let text = |more: &[&str]| {
        let line = [&["observe", &path, "--no-store", "--quiet"], more].concat();
        observe(&line, || read("two", 100)).out
    };
    assert!(text(&[&files]).contains(&file("two")));
    assert!(!text(&[]).contains(&file("two")));
}

/// The file has lost its name before it is observed: only the tracepoints of its file system say whose the requests are. Regression 1482:
/// a removed file whose first I/O was seen at the end of the observation was not named.
#[test]
fn a_removed_file_keeps_its_name() {
    require!(Root, Loop);
    for kind in [FsKind::Ext4, FsKind::Xfs] {
        if let Err(unmet) = kind.available() {
            return fathom_testkit::skip(&unmet.to_string());
        }
        let scene = LoopScene::sized(320 << 20, LoopOptions::default());
        let mount = Mount::format(scene.device.path(), kind, "").unwrap();
        let file = mount.path().join("temporary");
        let files = format!("--files={}", mount.path().display());
        let open = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(&file)
            .unwrap();
        fs::remove_file(&file).unwrap();
        let json = scene.observe(&[&files], || {
            let memory = vec![7u8; 8192];
            let block = memory.as_ptr().align_offset(4096);
            for number in 0..100 {
                open.write_all_at(&memory[block..block + 4096], number * 4096)
                    .unwrap();
            }
        });
        // Until now this program had it open.
        drop(open);
        let name = format!("{} (deleted)", file.display());
        let seen = json.0["files"].as_array().unwrap();
        let writes = seen
            .iter()
            .find(|one| one["name"] == name.as_str())
            .map(|one| one["writes"].as_u64().unwrap());
        assert_eq!(writes, Some(100), "{}: {seen:?}", kind.name());
    }
}

/// Each option has a test here, or is one that all commands share.
#[test]
fn every_option_has_a_test() {
    const TESTED: [&str; 9] = [
        // a_switch_limits_the_time
        "runtime", // an_audit_reads_and_explains_in_one_command
        "audit",   // only_the_named_process_counts
        "pid",     // only_the_named_group_counts
        "cgroup",  // requests_are_named_by_their_files
        "files",   // the_view_shows_devices_and_processes
        "watch",   // every_request_is_a_line_of_events
        "events",  // lost_events_make_the_figures_partial
        "buffer",  // an_observation_is_a_run_of_the_store
        "store",
    ];
    const SHARED: [&str; 9] = [
        "help", "output", "format", "json", "quiet", "color", "width", "no-store", "label",
    ];
    let help = fathom(["observe", "--help"]).expect(0).out;
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| {
            line.trim_start()
                .strip_prefix("--")
                .or(line.split_once(", --").map(|two| two.1))
        })
        .filter_map(|rest| rest.split([' ', '=', '[']).next())
        .collect();
    assert!(options.len() >= TESTED.len(), "{options:?}");
    for option in options {
        assert!(
            TESTED.contains(&option) || SHARED.contains(&option),
            "--{option} has no test"
        );
    }
}

#[test]
fn a_switch_limits_the_time() {
    require!(Loop);
    let scene = LoopScene::new();
    let path = scene.path();
    let seconds = |runtime: &str| {
        let line = ["observe", &path, "--json", "--no-store", "--quiet", runtime];
        fathom(line).expect(0).json().number("/elapsed_ns") / 1e9
    };
    // It may end late on a busy machine, but not early.
    let (short, long) = (seconds("--runtime=200ms"), seconds("--runtime=900ms"));
    assert!(short >= 0.2, "{short}");
    assert!(long >= 0.9, "{long}");
}

/// Two readers, of which one is in a control group, for so long that it can be looked up.
#[test]
fn only_the_named_group_counts() {
    require!(Root, Loop);
    let group = match fathom_testkit::ControlGroup::new("blkio") {
        Ok(group) => group,
        Err(error) => return fathom_testkit::skip(&error),
    };
    let scene = LoopScene::new();
    let mut shell = group.command("sh");
    let source = format!("if={}", scene.path());
    shell
        .args([
            "-c",
            "cat /proc/self/cgroup; exec dd \"$0\" of=/dev/null bs=4k count=16384 iflag=direct",
        ])
        .arg(&source)
        .stderr(Stdio::null());
    // The name as the kernel has it is in the output of a first reader.
    let out = shell.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let name = text
        .lines()
        .find(|line| line.contains("blkio"))
        .or(text.lines().find(|line| line.starts_with("0::")))
        .and_then(|line| line.rsplit_once(':'))
        .map(|(_, name)| name.to_owned())
        .unwrap();
    let json = scene.observe(&[&format!("--cgroup={name}")], || {
        scene.read("4k", 100);
        assert!(shell.stdout(Stdio::null()).status().unwrap().success());
    });
    assert_eq!(json.number("/devices/0/read/requests"), 16384.0);
}

#[test]
fn the_view_shows_devices_and_processes() {
    require!(Loop);
    let scene = LoopScene::new();
    let path = scene.path();
    let done = observe(&["observe", &path, "--watch", "--no-store"], || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(2_500) {
            scene.read("4k", 100);
        }
    });
    assert!(done.out.matches("reads/s").count() >= 2, "{}", done.out);
    assert!(done.out.contains(&scene.name()) && done.out.contains("  dd"));
    assert!(!done.out.contains('\u{1b}'), "no terminal");
}

#[test]
fn an_audit_reads_and_explains_in_one_command() {
    require!(Loop);
    let scene = LoopScene::new();
    let limit = scene.device.set_queue("max_sectors_kb", "4").unwrap();
    let path = scene.path();
    let before = scene.counters();
    let done = fathom([
        "observe",
        &path,
        "--audit=16k",
        "--no-store",
        "--quiet",
        "--width=300",
    ]);
    let requests = scene.counters()[0] - before[0];
    drop(limit);
    assert_eq!(done.code(), 0, "{}", done.err);
    assert!(
        done.out.contains("16 KiB in, 4 requests out (1,000 reads of this size): the kernel splits at max_sectors_kb=4"),
        "{}",
        done.out
    );
    assert!(requests >= 4_000, "{requests}");
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    for (line, expected) in [
        (
            &["observe", "/no/such/path"][..],
            "/no/such/path: No such file",
        ),
        (&["observe", "/dev/null"], "/dev/null is a character device"),
        (&["observe", "/proc"], "without a block device"),
        (&["observe", "--pid=4194305"], "--pid: no process 4194305"),
        (
            &["observe", "--files=/no/such/file"],
            "--files: /no/such/file: No such file",
        ),
        (&["observe", "--pid=x"], "invalid value 'x'"),
        (&["observe", "--cgroup=relative"], "is not an absolute path"),
        (
            &["observe", "--cgroup=/sys/fs/cgroup/no-such-group"],
            "is not a control group",
        ),
        (&["observe", "--buffer=1k"], "--buffer: 64k to 128m"),
        (&["observe", "--runtime=1ms"], "too short"),
        (
            &["observe", "--json", "--events=-"],
            "cannot both go to standard output",
        ),
        (&["observe", "/", "--audit=16k"], "/ is a directory"),
        (
            &["observe", "/dev/null", "--audit=100"],
            "/dev/null is a character device",
        ),
        (&["observe", "--json", "--watch"], "--watch shows text"),
    ] {
        let done = fathom(line);
        assert_eq!(done.code(), 2, "{line:?}: {}", done.err);
        assert!(done.err.contains(expected), "{line:?}: {}", done.err);
    }
}
