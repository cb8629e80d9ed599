//! `fathom search` as users call it.

use crate::common;
use std::path::PathBuf;

use crate::common::{Json, check_near, fathom, lock_machine_shared, retry_measurement, split_args};
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Scratch, require};

fn search(rest: &str) -> Vec<String> {
    split_args(&format!("search {rest}"))
}

fn document(out: &str) -> Json {
    Json(serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}")))
}

/// A job file on a target without latency.
fn job(scratch: &Scratch, more: &str) -> String {
    let file = scratch.join("load.fio");
    std::fs::write(
        &file,
        format!("[global]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\n[load]\n{more}"),
    )
    .expect("a file");
    file.display().to_string()
}

#[test]
fn the_curves_and_knees_are_measured_without_a_limit() {
    let scratch = Scratch::new().expect("a directory");
    let ran = fathom(search(&format!(
        "{} --runtime=100ms --json",
        job(&scratch, "")
    )));
    let json = document(&ran.out);
    let list = |name: &str| json.0[name].as_array().cloned().unwrap_or_default();
    let depths: Vec<f64> = list("closed_loop")
        .iter()
        .filter_map(|point| point["depth"].as_f64())
        .collect();
    assert_eq!(
        depths,
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0],
        "{}\n{}",
        ran.out,
        ran.err
    );
    assert_eq!(list("open_loop").len(), 8);
    let rules: Vec<&str> = json.0["knees"]
        .as_array()
        .expect("knees")
        .iter()
        .filter_map(|knee| knee["rule"].as_str())
        .collect();
    assert_eq!(
        rules,
        ["Kneedle", "95 % of peak", "R >= 2 R0", "N* = R0 x Xmax"]
    );
    assert!(json.0["max_load"].is_null(), "no limit was given");
    for point in list("open_loop") {
        assert!(
            point["offered_iops"]
                .as_f64()
                .is_some_and(|offered| offered > 0.0),
            "{point}"
        );
    }
}

/// A target without latency meets these limits at every load that it reaches.
#[test]
fn a_limit_gives_an_answer_with_a_confidence_interval_and_explanation() {
    let scratch = Scratch::new().expect("a directory");
    let ran = fathom(search(&format!(
        "{} --slo=p99<=20ms --slo=mean<=20ms --runtime=100ms --precision=20%",
        job(&scratch, "")
    )));
    for part in [
        "Maximum load with p99 <= 20.0 ms and mean <= 20.0 ms:",
        "Closed loop; service time",
        "Open loop, Poisson arrivals",
        "R >= 2 R0",
    ] {
        assert!(
            ran.out.contains(part),
            "{part} is missing in\n{}\n{}",
            ran.out,
            ran.err
        );
    }
    assert!(
        ran.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ran.out
    );
}

/// A device with twelve servers of 12 ms, and a job file that reads it.
fn twelve_servers(scratch: &Scratch) -> (FaultDevice, PathBuf) {
    let latency = Latency {
        read_us: 12_000,
        ..Latency::default()
    };
    let device = FaultDevice::mount(DeviceOptions {
        latency,
        threads: 256,
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    device.set_servers(12);
    let file = scratch.join("known.fio");
    let load = format!(
        "[known]\nfilename={}\nsize=64m\nrw=randread\nbs=4k\ndirect=1\nioengine=libaio\n",
        device.path().display()
    );
    std::fs::write(&file, load).expect("a job file");
    (device, file)
}

/// Twelve servers of 12 ms do at most 1,000 I/Os per second, and with even arrivals none waits
/// below that rate. So the maximum under any latency limit above 12 ms is 1,000. In a closed loop,
/// eight in flight do 667 per second, sixteen do 1,000 in 16 ms each, thirty-two in 32 ms; the
/// unloaded 12 ms and 1,000 per second intersect at 12 in flight. (A limit on p99 would fail on a
/// machine that stalls for 80 ms.)
#[test]
fn the_maximum_and_the_knee_of_a_device_with_known_servers() {
    require!(Fuse);
    let _lock = lock_machine_shared();
    common::raise_priority();
    let scratch = Scratch::new().expect("a directory");
    let (_device, file) = twelve_servers(&scratch);
    retry_measurement(|| {
        let ran = fathom(search(&format!(
            "{} --slo=p90<=40ms --arrivals=even --runtime=700ms --precision=2% --json",
            file.display()
        )));
        let json = document(&ran.out);
        let max_load = |name: &str| {
            json.0["max_load"][name]
                .as_f64()
                .ok_or_else(|| format!("no {name}: {}\n{}", ran.out, ran.err))
        };
        check_near("maximum IOPS", max_load("iops")?, 1_000.0, 20.0)?;
        let (low, high) = (max_load("iops_low")?, max_load("iops_high")?);
        if low > 1_000.0 || high < 1_000.0 || high > 1.2 * low {
            return Err(format!("an interval from {low} to {high}"));
        }
        for (rule, depth, by) in [
            ("Kneedle", 16.0, 0.0),
            ("95 % of peak", 16.0, 0.0),
            ("R >= 2 R0", 32.0, 0.0),
            ("N* = R0 x Xmax", 12.0, 0.5),
        ] {
            let found = json.0["knees"]
                .as_array()
                .and_then(|all| all.iter().find(|knee| knee["rule"] == rule))
                .and_then(|knee| knee["depth"].as_f64());
            check_near(
                rule,
                found.ok_or_else(|| format!("{rule} has no knee"))?,
                depth,
                by,
            )?;
        }
        Ok(())
    });
}

/// Regression 0520: a stored search had one answer in the terminal and others in its report and chart. The device of the test
/// above does 1,000 I/Os per second; the terminal, `show`, JSON, report and chart name the same load and the same marks.
#[test]
fn a_search_has_one_answer_everywhere() {
    require!(Fuse);
    let _lock = lock_machine_shared();
    common::raise_priority();
    let scratch = Scratch::new().expect("a directory");
    let (_device, file) = twelve_servers(&scratch);
    let store = format!("--store={}", scratch.join("store.db").display());
    let terminal = retry_measurement(|| {
        let ran = fathom(search(&format!(
            "{} --slo=p90<=40ms --slo=mean<=39ms --arrivals=even --runtime=500ms --precision=2% {store}",
            file.display()
        )));
        let json = fathom(split_args(&format!("show {store} --format=json")));
        let most = document(&json.out).0["runs"][0]["search"]["max_load"]["iops"].as_f64();
        check_near("maximum IOPS", most.unwrap_or(0.0), 1_000.0, 20.0)?;
        Ok(ran.out)
    });
    let show = |more: &str| {
        fathom(split_args(&format!("show {store} {more}")))
            .expect(0)
            .out
    };
    let answer = |text: &str| {
        let start = text
            .find("Maximum load")
            .unwrap_or_else(|| panic!("{text}"));
        let end = text.find("Closed loop").unwrap_or_else(|| panic!("{text}"));
        text[start..end].to_owned()
    };
    assert_eq!(answer(&show("")), answer(&terminal));

    let json = Json(document(&show("--format=json")).0["runs"][0]["search"].clone());
    let most = json.number("/max_load/iops");
    let named = thousands(most);
    let headline = format!("p90 <= 40.0 ms and mean <= 39.0 ms: {named} IOPS");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat(&terminal).contains(&headline),
        "{headline}: {terminal}"
    );
    let points = json.0["open_loop"].as_array().expect("points");
    let marks: Vec<String> = points
        .iter()
        .map(|point| format!("{}/{}", point["trials_within_limits"], point["trials"]))
        .collect();
    let text = answer(&terminal);
    let rows = text.lines().skip_while(|line| !line.starts_with("offered"));
    let passed: Vec<&str> = rows
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(3))
        .collect();
    assert_eq!(passed, marks, "{terminal}");

    let written = |line: &str, name: &str| {
        let path = scratch.join(name);
        fathom(split_args(&format!("{line} {store} -o {}", path.display()))).expect(0);
        std::fs::read_to_string(path).expect("written")
    };
    let mark = format!("Of the steps measured, {named} IOPS is the highest within p90 of 40.0 ms");
    let report = written("report latest", "report.html");
    assert!(
        flat(&report).contains(&headline.replace("<=", "&lt;=")),
        "no {headline} in the report"
    );
    for (name, page) in [
        ("report", &report),
        ("chart", &written("plot latest --chart=load", "load.html")),
    ] {
        assert!(page.contains(&mark), "no '{mark}' in the {name}");
    }
}

/// `1,234`.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    if digits.len() > 3 {
        let (start, end) = digits.split_at(digits.len() - 3);
        format!("{start},{end}")
    } else {
        digits
    }
}

#[test]
fn invalid_searches_are_refused_with_a_reason() {
    let scratch = Scratch::new().expect("a directory");
    for (more, why) in [
        ("rate_iops=100\n", "sets its own rate"),
        ("[second]\nstonewall\n", "waits for others (stonewall)"),
        ("[second]\nrw=randrw\n", "different mixes"),
    ] {
        let ran = fathom(search(&job(&scratch, more))).expect(2);
        assert!(ran.err.contains(why), "{more}: {}", ran.err);
    }
    for (rest, why) in [
        ("", "give a directory"),
        (". --slo=p99", "p99<=1ms"),
        (". --slo", "a value is required for '--slo <LIMIT>'"),
        (". --max=fun", "[possible values: iops, mbps]"),
        (". --arrivals=odd", "[possible values: poisson, even]"),
        (". --precision=0%", "not a percentage from 0.1% to 50%"),
        (". --nonsense", "unexpected argument '--nonsense'"),
        (". ..", "only one target"),
    ] {
        let ran = fathom(search(rest)).expect(2);
        assert!(ran.err.contains(why), "{rest}: {}", ran.err);
    }
}

#[test]
fn a_directory_is_left_unchanged() {
    let scratch = Scratch::new().expect("a directory");
    let ran = fathom(search(&format!(
        "{} --runtime=100ms --size=16m",
        scratch.path().display()
    )));
    assert!(
        ran.out.contains("random read, 4 KiB blocks"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("the directory")
            .count(),
        0,
        "the file is removed"
    );
}

/// Regression 0413: whether a target meets a limit at a load had to be read from a curve.
#[test]
fn a_load_meets_its_limits_or_does_not() {
    let scratch = fathom_testkit::Scratch::new().expect("a directory");
    let job = scratch.join("load.fio");
    std::fs::write(&job, "[load]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\n").expect("a file");
    let store = scratch.join("store.db");
    let search = |rest: &str| {
        fathom(split_args(&format!(
            "search {} --store={} --runtime=200ms {rest}",
            job.display(),
            store.display()
        )))
    };
    // A run in which the machine paused is marked as invalid in the same line.
    retry_measurement(|| {
        let yes = search("--at=500 --slo p99<=1s").expect(0);
        assert!(
            yes.out.starts_with("yes: at 500 IOPS p99 is ")
                && yes.out.contains(" % below the limit of 1.00 s"),
            "{}",
            yes.out
        );
        assert_eq!(yes.out.lines().count(), 1, "{}", yes.out);
        let shown = fathom(split_args(&format!("show --store={}", store.display()))).expect(0);
        assert!(shown.out.starts_with(&yes.out), "{}", shown.out);
        if yes.out.ends_with("% below the limit of 1.00 s\n") {
            Ok(())
        } else {
            Err(yes.out)
        }
    });
    let no = search("--at=500 --slo p99<=1s --slo p50<=1ns --json")
        .expect(1)
        .json();
    assert_eq!(no.0["meets_limits"], false);
    assert!(no.0["headroom"].as_f64().expect("a number") < 0.0);
    let ran = search("--at=500").expect(2);
    assert!(ran.err.contains("--at needs a limit"), "{}", ran.err);

    let run = |limit: &str| {
        fathom(split_args(&format!(
            "run --no-store --name=x --ioengine=null --size=1g --rw=randread --rate_iops=500 --time_based --runtime=1 --slo={limit}"
        )))
    };
    retry_measurement(|| {
        let yes = run("p99<=1s").expect(0);
        let last = yes.out.lines().last().unwrap_or_default();
        if last.starts_with("yes: at ") {
            Ok(())
        } else {
            Err(yes.out)
        }
    });
    let no = run("p50<=1ns").expect(1);
    assert!(no.out.contains("\nno: at "), "{}", no.out);
    assert!(run("p42<=1ms").expect(2).err.contains("--slo"));
}
