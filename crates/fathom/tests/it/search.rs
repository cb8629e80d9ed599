//! `fathom search` as users call it.

use crate::common::{Completed, Json, fathom, split_args};
use fathom_testkit::Scratch;

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

/// A simulated device, so that the answer does not depend on this machine.
#[test]
fn a_limit_gives_an_answer_with_a_confidence_interval_and_explanation() {
    let scratch = Scratch::new().expect("a directory");
    let ran = simulated(&format!(
        "{} --slo=p99<=40ms --slo=mean<=40ms --runtime=2s --precision=20% --no-store",
        known_job(&scratch)
    ))
    .expect(0);
    for part in [
        "Maximum load with p99 <= 40.0 ms and mean <= 40.0 ms:",
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

/// Twelve servers of 12 ms, and a job file that reads them.
const TWELVE_SERVERS: &str = "--machine=servers(count=12, service=12ms)";

fn known_job(scratch: &Scratch) -> String {
    let file = scratch.join("known.fio");
    let load = "[known]\nfilename=x\nsize=64m\nrw=randread\nbs=4k\ndirect=1\nioengine=libaio\n";
    std::fs::write(&file, load).expect("a job file");
    file.display().to_string()
}

/// Runs `fathom search` on a simulated device with this line.
fn simulated(line: &str) -> Completed {
    let mut arguments = search(line);
    arguments.push(TWELVE_SERVERS.to_owned());
    fathom(arguments)
}

/// Twelve servers of 12 ms do at most 1,000 I/Os per second, and with even arrivals none waits below that rate. So the maximum under any
/// latency limit above 12 ms is 1,000. In a closed loop, eight in flight do 667 per second, sixteen do 1,000 in 16 ms each, thirty-two
/// in 32 ms; the unloaded 12 ms and 1,000 per second intersect at 12 in flight.
#[test]
fn the_maximum_and_the_knee_of_a_device_with_known_servers() {
    let scratch = Scratch::new().expect("a directory");
    let ran = simulated(&format!(
        "{} --slo=p90<=40ms --arrivals=even --runtime=20s --precision=1% --no-store --json",
        known_job(&scratch)
    ));
    let json = document(&ran.out);
    let max_load = |name: &str| {
        let value = json.0["max_load"][name].as_f64();
        value.unwrap_or_else(|| panic!("no {name}: {}\n{}", ran.out, ran.err))
    };
    let (iops, low, high) = (
        max_load("iops"),
        max_load("iops_low"),
        max_load("iops_high"),
    );
    assert!((990.0..=1000.0).contains(&iops), "{iops}");
    assert!(
        low <= 1000.0 && high >= 1000.0 && high <= 1.2 * low,
        "{low} {high}"
    );
    for (rule, depth) in [
        ("Kneedle", 16.0),
        ("95 % of peak", 16.0),
        ("R >= 2 R0", 32.0),
        ("N* = R0 x Xmax", 12.0),
    ] {
        let knees = json.0["knees"].as_array().expect("knees");
        let found = knees.iter().find(|knee| knee["rule"] == rule);
        let found = found.and_then(|knee| knee["depth"].as_f64());
        let found = found.unwrap_or_else(|| panic!("{rule} has no knee: {}", ran.out));
        assert!((found - depth).abs() < 0.05, "{rule}: {found}");
    }
}

/// Regression 0520: a stored search had one answer in the terminal and others in its report and chart. The device of the test
/// above does 1,000 I/Os per second; the terminal, `show`, JSON, report and chart name the same load and the same marks.
#[test]
fn a_search_has_one_answer_everywhere() {
    let scratch = Scratch::new().expect("a directory");
    let store = format!("--store={}", scratch.join("store.db").display());
    let terminal = simulated(&format!(
        "{} --slo=p90<=40ms --slo=mean<=39ms --arrivals=even --runtime=5s --precision=2% {store}",
        known_job(&scratch)
    ))
    .expect(0)
    .out;
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

/// Regression 0413: whether a target meets a limit at a load had to be read from a curve. At 500 per second each read takes 12 ms.
#[test]
fn a_load_meets_its_limits_or_does_not() {
    let scratch = Scratch::new().expect("a directory");
    let (file, store) = (known_job(&scratch), scratch.join("store.db"));
    let search = |rest: &str| {
        simulated(&format!(
            "{file} --store={} --runtime=2s --arrivals=even {rest}",
            store.display()
        ))
    };
    let yes = search("--at=500 --slo p99<=1s").expect(0);
    assert!(
        yes.out.contains("\nyes: at 500 IOPS p99 is ")
            && yes.out.ends_with(" % below the limit of 1.00 s\n"),
        "{}",
        yes.out
    );
    // What was simulated, and the answer.
    assert_eq!(yes.out.lines().count(), 2, "{}", yes.out);
    let shown = fathom(split_args(&format!("show --store={}", store.display()))).expect(0);
    assert!(shown.out.contains(&yes.out), "{}", shown.out);
    let no = search("--at=500 --slo p99<=1s --slo p50<=1ms --json")
        .expect(1)
        .json();
    assert_eq!(no.0["meets_limits"], false);
    assert!(no.0["headroom"].as_f64().expect("a number") < 0.0);
    let ran = search("--at=500").expect(2);
    assert!(ran.err.contains("--at needs a limit"), "{}", ran.err);

    let run = |limit: &str| {
        fathom(split_args(&format!(
            "run --no-store --name=x --ioengine=null --size=1g --rw=randread --number_ios=200 --slo={limit}"
        )))
    };
    let yes = run("p99<=100s").expect(0);
    let last = yes.out.lines().last().unwrap_or_default();
    assert!(last.starts_with("yes: at "), "{}", yes.out);
    let no = run("p50<=1ns").expect(1);
    assert!(no.out.contains("\nno: at "), "{}", no.out);
    assert!(run("p42<=1ms").expect(2).err.contains("--slo"));
}
