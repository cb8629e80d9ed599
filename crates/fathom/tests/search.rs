//! `fathom search` as a user meets it.

mod common;

use common::{Json, fathom, words};
use fathom_testkit::Scratch;

fn search(rest: &str) -> Vec<String> {
    words(&format!("search {rest}"))
}

fn document(out: &str) -> Json {
    Json(serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}")))
}

/// A job file on a target that answers at once.
fn job(scratch: &Scratch, more: &str) -> String {
    let file = scratch.join("load.fio");
    std::fs::write(&file, format!("[global]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\n[load]\n{more}")).expect("a file");
    file.display().to_string()
}

#[test]
fn the_curves_and_knees_are_measured_without_a_limit() {
    let scratch = Scratch::new().expect("a folder");
    let ran = fathom(search(&format!("{} --for=100ms --json", job(&scratch, ""))));
    let json = document(&ran.out);
    let list = |name: &str| json.0[name].as_array().cloned().unwrap_or_default();
    let depths: Vec<f64> = list("closed_loop").iter().filter_map(|point| point["depth"].as_f64()).collect();
    assert_eq!(depths, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], "{}\n{}", ran.out, ran.err);
    assert_eq!(list("open_loop").len(), 8);
    let rules: Vec<&str> = json.0["knees"].as_array().expect("knees").iter().filter_map(|knee| knee["rule"].as_str()).collect();
    assert_eq!(rules, ["Kneedle", "95 % of peak", "R >= 2 R0", "N* = R0 x Xmax"]);
    assert!(json.0["most"].is_null(), "nothing was limited");
    for point in list("open_loop") {
        assert!(point["offered_iops"].as_f64().is_some_and(|offered| offered > 0.0), "{point}");
    }
}

/// Limits that a target that answers at once keeps at every load that it carries.
#[test]
fn a_limit_gives_an_answer_with_its_interval_and_its_figures_in_words() {
    let scratch = Scratch::new().expect("a folder");
    let ran = fathom(search(&format!("{} --slo=p99<=1s --slo=mean<=1s --for=100ms --precision=20%", job(&scratch, ""))));
    for words in ["Most with p99 <= 1.00 s and mean <= 1.00 s:", "Closed loop; service time", "Open loop, Poisson arrivals", "R >= 2 R0"] {
        assert!(ran.out.contains(words), "{words} is missing in\n{}\n{}", ran.out, ran.err);
    }
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
}

#[test]
fn what_cannot_be_searched_is_refused_with_its_reason() {
    let scratch = Scratch::new().expect("a folder");
    for (more, why) in [
        ("rate_iops=100\n", "has a rate of its own"),
        ("[second]\nstonewall\n", "waits for others (stonewall)"),
        ("[second]\nrw=randrw\n", "different mixes"),
    ] {
        let ran = fathom(search(&job(&scratch, more))).expect(2);
        assert!(ran.err.contains(why), "{more}: {}", ran.err);
    }
    for (rest, why) in [
        ("", "give a folder"),
        (". --slo=p99", "p99<=1ms"),
        (". --slo", "needs a value"),
        (". --max=fun", "neither iops nor mbps"),
        (". --precision=0%", "no percentage"),
        (". --nonsense", "no option '--nonsense'"),
        (". ..", "one at a time"),
    ] {
        let ran = fathom(search(rest)).expect(2);
        assert!(ran.err.contains(why), "{rest}: {}", ran.err);
    }
}

#[test]
fn a_folder_is_left_as_it_was() {
    let scratch = Scratch::new().expect("a folder");
    let ran = fathom(search(&format!("{} --for=100ms --size=16m", scratch.path().display())));
    assert!(ran.out.contains("random read, 4 KiB blocks"), "{}\n{}", ran.out, ran.err);
    assert_eq!(std::fs::read_dir(scratch.path()).expect("the folder").count(), 0, "the file is gone");
}
