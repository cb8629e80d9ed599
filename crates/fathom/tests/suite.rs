//! `fathom suite` as users call it.

mod common;

use common::{Json, fathom, split_args};
use fathom_testkit::{DeviceOptions, FaultDevice, Latency, Scratch, require};

fn suite(rest: &str) -> Vec<String> {
    split_args(&format!("suite {rest}"))
}

fn document(out: &str) -> Json {
    Json(serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}")))
}

/// A foreign file, which may only be read.
fn foreign(scratch: &Scratch) -> String {
    let file = scratch.join("mine");
    std::fs::write(&file, vec![7; 8 << 20]).expect("a file");
    file.display().to_string()
}

/// A recipe for a target without latency.
fn recipe(scratch: &Scratch, steps: &str) -> String {
    let text = format!(
        "schema = 1\nname = \"mine\"\ntitle = \"My own\"\ntime = \"100ms\"\n[options]\nioengine = \"null\"\n{steps}"
    );
    std::fs::write(scratch.join("mine.toml"), text).expect("a recipe");
    format!(
        "mine {} --suites={}",
        scratch.path().display(),
        scratch.path().display()
    )
}

#[test]
fn the_suites_are_listed_and_each_of_them_can_be_planned() {
    let listed = fathom(suite("")).expect(0).out;
    let scratch = Scratch::new().expect("a directory");
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert_eq!(names.len(), 14, "{listed}");
    for name in names {
        let text = fathom(suite(&format!(
            "{name} {} --dry-run --size=64m",
            scratch.path().display()
        )))
        .expect(0)
        .out;
        assert!(
            text.contains("measuring") && !text.contains("left out"),
            "{text}"
        );
    }
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("the directory")
            .count(),
        0,
        "no file is created"
    );
}

/// The totals of the standard: 5 rounds of 56 minutes are 4 h 40 min, 25 are 23 h 20 min; XSR lasts
/// 22 hours; a check minute after every 30 minutes within 24 hours is 46 rounds, 23 h 46 min.
#[test]
fn the_budget_is_shown_first() {
    let scratch = Scratch::new().expect("a directory");
    for (name, expected) in [
        ("pts-iops", "measuring: 4h 40m to 23h 20m"),
        ("pts-latency", "measuring: 45m 00s to 3h 45m"),
        ("pts-xsr", "measuring: 22h 00m"),
        ("pts-wsat", "measuring: 2h 35m to 23h 46m"),
    ] {
        let text = fathom(suite(&format!(
            "{name} {} --dry-run --size=64m",
            scratch.path().display()
        )))
        .expect(0)
        .out;
        assert!(
            text.contains(expected) && text.contains("not certified"),
            "{expected}: {text}"
        );
    }
    let text = fathom(suite(&format!(
        "pts-iops {} --dry-run --size=1g",
        scratch.path().display()
    )))
    .expect(0)
    .out;
    assert!(
        text.contains("transferring 2 GiB"),
        "twice the size: {text}"
    );
}

#[test]
fn a_file_that_may_not_be_written_is_only_read() {
    let scratch = Scratch::new().expect("a directory");
    let file = foreign(&scratch);
    let ran = fathom(suite(&format!("hero {file} --faster=100")));
    for expected in [
        "random reads, queue depth 128",
        "256 KiB sequential writes, queue depth 32 was left out",
        "rehearsal, not the procedure",
    ] {
        assert!(
            ran.out
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(expected),
            "{expected} is missing in\n{}\n{}",
            ran.out,
            ran.err
        );
    }
    assert!(
        std::fs::read(&file)
            .expect("it exists")
            .iter()
            .all(|byte| *byte == 7),
        "it is unchanged"
    );
    let refused = fathom(suite(&format!("pts-iops {file}"))).expect(2);
    assert!(
        refused.err.contains("is not allowed") && refused.err.contains("--destroy=CODE"),
        "{}",
        refused.err
    );
    // Regression 0296: the time budget was shown only after the confirmation; now it is shown
    // before.
    let planned = fathom(suite(&format!("pts-iops {file} --dry-run"))).expect(2);
    assert!(
        planned.out.contains("measuring: 4h 40m to 23h 20m") && planned.err.contains("--destroy="),
        "{}\n{}",
        planned.out,
        planned.err
    );
}

/// With the null engine all rounds are alike: five rounds, then the arithmetic and the means.
#[test]
fn rounds_are_reported_with_the_steady_state_arithmetic() {
    let scratch = Scratch::new().expect("a directory");
    let steps = "[[step]]\nname = \"paced\"\naxes = [\"bs=4k,8k\"]\nrounds = 25\nsteady = [\"bs=4k\"]\noptions = { rw = \"randread\", rate_iops = 2000 }\n";
    let ran = fathom(suite(&format!(
        "{} --size=16m --json",
        recipe(&scratch, steps)
    )));
    let json = document(&ran.out);
    let rounds = json
        .0
        .pointer("/steps/0/rounds")
        .unwrap_or_else(|| panic!("{}", ran.out));
    let values = rounds["tracked"][0]["values"].as_array().expect("values");
    assert!((5..=25).contains(&values.len()), "{rounds}");
    // On a busy machine they may not be steady; the result equals that of the arithmetic in both
    // cases.
    let last: Vec<f64> = values[values.len() - 5..]
        .iter()
        .filter_map(serde_json::Value::as_f64)
        .collect();
    let mean = last.iter().sum::<f64>() / 5.0;
    let range = last.iter().copied().fold(0.0, f64::max)
        - last.iter().copied().fold(f64::INFINITY, f64::min);
    let slope = (2.0 * last[4] + last[3] - last[1] - 2.0 * last[0]) / 10.0;
    let steady = range <= 0.2 * mean && 4.0 * slope.abs() <= 0.1 * mean;
    assert_eq!(
        rounds["steady_round"].as_u64().is_some(),
        steady,
        "{rounds}"
    );
    assert_eq!(json.number("/steps/0/result/cells/0/repeats"), 5.0);
    let sentences = rounds["sentences"].to_string();
    assert!(
        sentences.contains("20 % allowed") && sentences.contains("10 % allowed"),
        "{sentences}"
    );
}

#[test]
fn a_malformed_recipe_is_reported_with_its_line_and_others_still_work() {
    let scratch = Scratch::new().expect("a directory");
    let mine = recipe(
        &scratch,
        "[[step]]\nname = \"one\"\noptions = { rw = \"randread\" }\n",
    );
    std::fs::write(
        scratch.join("bad.toml"),
        "schema = 1\nname = \"bad\"\ntitle = \"x\"\n\n[[step]]\nname = \"one\"\nnonsense = 1\n",
    )
    .expect("a file");
    let ran = fathom(suite(&format!("{mine} --size=16m")));
    assert!(
        ran.err.contains("bad.toml:7: unknown key 'nonsense'"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("mine: My own"), "{}\n{}", ran.out, ran.err);
    let refused = fathom(suite(&format!(
        "bad {0} --suites={0}",
        scratch.path().display()
    )))
    .expect(2);
    assert!(refused.err.contains("bad.toml:7"), "{}", refused.err);
    let unknown = fathom(suite(". .")).expect(2);
    assert!(
        unknown.err.contains("`fathom suite` lists all suites"),
        "{}",
        unknown.err
    );
    assert!(
        fathom(suite("herro ."))
            .expect(2)
            .err
            .contains("did you mean hero?")
    );
}

#[test]
fn load_levels_are_shares_of_the_measured_maximum_and_one_job_is_judged() {
    let scratch = Scratch::new().expect("a directory");
    let steps = "[[step]]\nname = \"most\"\noptions = { rw = \"randread\", rate_iops = 4000 }\n\
                 [[step]]\nname = \"map\"\njudged = \"reads\"\njob = \"[reads]\\nrw=randread\\n[others]\\nrw=randread\\nrate_iops=100\\n\"\n\
                 levels = [{ option = \"reads.rate_iops\", of = \"most\", percent = [25, 50] }]\n";
    let ran = fathom(suite(&format!(
        "{} --size=16m --json",
        recipe(&scratch, steps)
    )));
    let json = document(&ran.out);
    let most = json.number("/steps/0/result/cells/0/iops");
    for (cell, share) in [0.25, 0.5].into_iter().enumerate() {
        let reads = json.number(&format!("/steps/1/result/cells/{cell}/iops"));
        assert!(
            reads > 0.4 * share * most && reads < 1.3 * share * most,
            "{reads} instead of {share} of {most}: the other jobs must not count"
        );
    }
    assert_eq!(
        json.text("/steps/1/result/cells/1/axes/reads.rate_iops"),
        "50%"
    );
}

/// Regression 0402: the estimate of a pass in random order was "measuring: 0 s". 1 GiB has 262,144 blocks of 4 KiB.
#[test]
fn a_pass_in_random_order_has_an_estimate() {
    let scratch = Scratch::new().expect("a directory");
    let planned = fathom(suite(&format!(
        "surface {} --size=1g --dry-run",
        scratch.path().display()
    )))
    .expect(0);
    assert!(
        planned
            .out
            .contains("measuring 262,144 random I/Os, until all are done: 27 s at 10,000 IOPS")
            && !planned.out.contains("measuring: 0 s"),
        "{}",
        planned.out
    );
}

#[test]
fn the_surface_is_read_once_and_its_profile_reported() {
    let scratch = Scratch::new().expect("a directory");
    let ran = fathom(suite(&format!(
        "surface {} --size=16m",
        scratch.path().display()
    )));
    assert!(
        ran.out.contains("The whole target once")
            && ran
                .out
                .contains("4 KiB random over the whole target, queue depth 1"),
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

/// The notes of a procedure are before its results and in the document. The shortened times make it
/// a rehearsal.
#[test]
fn a_procedure_reports_deviations_and_the_write_cache_state() {
    let scratch = Scratch::new().expect("a directory");
    let mine = recipe(
        &scratch,
        "[[step]]\nname = \"fill\"\npurge = true\nprepares = true\npasses = 1\noptions = { rw = \"write\" }\n[[step]]\nname = \"one\"\noptions = { rw = \"randread\" }\n",
    );
    let text = std::fs::read_to_string(scratch.join("mine.toml"))
        .expect("a recipe")
        .replace("time = ", "procedure = \"That of a standard\"\ntime = ");
    std::fs::write(scratch.join("mine.toml"), text).expect("a recipe");
    let json = document(&fathom(suite(&format!("{mine} --size=16m --faster=2 --json"))).out);
    let notes: Vec<&str> = json.0["notes"]
        .as_array()
        .expect("notes")
        .iter()
        .filter_map(|note| note.as_str())
        .collect();
    for message in [
        "was not purged",
        "rehearsal, not the procedure",
        "the procedure is for devices",
        "Write cache of",
        "The procedure requires it off.",
    ] {
        assert!(
            notes.iter().any(|note| note.contains(message)),
            "{message} is missing in {notes:?}"
        );
    }
}

/// An interrupted suite is stored, prints how to resume, and completes after resuming.
#[test]
fn an_interrupted_suite_resumes() {
    let scratch = Scratch::new().expect("a directory");
    let steps = "[[step]]\nname = \"three\"\naxes = [\"bs=4k,8k,16k\"]\ntime = \"2s\"\noptions = { rw = \"randread\", rate_iops = 500 }\n";
    let store = scratch.join("store.db");
    let running = common::start(common::program(suite(&format!(
        "{} --size=16m --json --store={}",
        recipe(&scratch, steps),
        store.display()
    ))));
    common::wait_until("the store exists", || store.exists());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish().expect(130);
    assert!(ran.err.contains("fathom resume"), "{}", ran.err);
    let ran = fathom(split_args(&format!("resume --store={}", store.display())));
    let json = document(&ran.out);
    for cell in 0..3 {
        assert!(
            json.number(&format!("/steps/0/result/cells/{cell}/iops")) > 0.0,
            "{}\n{}",
            ran.out,
            ran.err
        );
    }
}

/// Regression 0535: a suite ended without an answer to its question. The terminal, JSON, `show` and the report have the same sentence,
/// and its ratio is that of the means in the document.
#[test]
fn a_suite_answers_its_question_everywhere() {
    let scratch = Scratch::new().expect("a directory");
    let steps = ["even", "zipf"].map(|name| {
        format!("[[step]]\nname = \"{name}\"\naxes = [\"size=1m,4m\"]\noptions = {{ rw = \"randread\" }}\n")
    });
    let text = format!(
        "schema = 1\nname = \"working-set\"\ntitle = \"My own\"\ntime = \"200ms\"\n[options]\nioengine = \"null\"\n{}",
        steps.concat()
    );
    std::fs::write(scratch.join("own.toml"), text).expect("a recipe");
    let place = scratch.path().display();
    let store = format!("--store={}", scratch.join("store.db").display());
    let run = format!("working-set {place} --suites={place} --size=16m {store}");
    let ran = fathom(suite(&format!("{run} --json"))).expect(0);
    let json = document(&ran.out);
    let answer = json.text("/answer");
    let mean = |cell: u32| json.number(&format!("/steps/0/result/cells/{cell}/latency_ns/mean"));
    let ratio = format!("({:.1} times)", mean(1) / mean(0));
    assert!(
        answer.starts_with("Latency ") && answer.contains(&ratio) && answer.contains(" over 4m"),
        "{answer} {ratio} {}",
        ran.out
    );
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = fathom(split_args(&format!("show latest {store}")))
        .expect(0)
        .out;
    assert!(
        joined(&shown).contains(&format!("Answer: {answer}")),
        "{shown}"
    );
    let shown = document(
        &fathom(split_args(&format!("show latest --json {store}")))
            .expect(0)
            .out,
    );
    assert_eq!(shown.text("/runs/0/facts/answer"), answer);
    let page = scratch.join("page.md");
    let report = format!("report latest {store} -o {}", page.display());
    fathom(split_args(&report)).expect(0);
    let page = std::fs::read_to_string(page).expect("the report");
    assert!(joined(&page).contains(answer), "{page}");
    // The terminal ends with it.
    let ran = fathom(suite(&run)).expect(0);
    let last = joined(ran.out.rsplit("\n\n").next().unwrap_or_default());
    assert!(last.starts_with("Answer: Latency "), "{}", ran.out);
}

/// Regression 0583: nothing measured the queue depth that a device uses. This one has eight servers of 3 ms each: 333 reads per
/// second one after the other, 2,667 at most. The recipe is the built-in one with shorter cells; its engine adds some microseconds
/// to each read, and the device's timers as much.
#[test]
fn the_queue_depth_that_a_device_uses_is_measured() {
    require!(Fuse);
    common::raise_priority();
    let _lock = common::lock_machine_exclusive();
    let scratch = Scratch::new().expect("a directory");
    let device = FaultDevice::mount(DeviceOptions {
        latency: Latency {
            read_us: 3_000,
            ..Latency::default()
        },
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    device.set_servers(8);
    let recipe = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suites/queue-depth.toml"
    ))
    .expect("the recipe")
    .replace("\"5s\"", "\"1s\"")
    .replace("1..512*2", "1..32*2")
    .replace("direct = 1", "direct = 1\nbwavgtime = 100");
    std::fs::write(scratch.join("short.toml"), recipe).expect("a recipe");
    let line = format!(
        "queue-depth {} --suites={} --no-store --json",
        device.path().display(),
        scratch.path().display()
    );
    common::retry_measurement(|| {
        let ran = common::start(common::program(suite(&line))).finish();
        assert!(ran.code() <= 1, "{} {}", ran.out, ran.err);
        let answer = document(&ran.out).text("/answer").to_owned();
        let number = |after: &str| -> Option<f64> {
            let rest = &answer[answer.find(after)? + after.len()..];
            rest.split_whitespace().next()?.parse().ok()
        };
        let at_once: Option<f64> = answer.split(' ').next().and_then(|n| n.parse().ok());
        let (least, most) = (number("CI: "), answer.split(" to ").nth(1));
        let most = most.and_then(|rest| rest.split(')').next()?.parse::<f64>().ok());
        let (Some(at_once), Some(least), Some(most), Some(depth)) =
            (at_once, least, most, number("Depth "))
        else {
            return Err(answer);
        };
        // The rates of eight servers are exact; a single read takes at most a tenth longer than the device.
        let known = (7.6..8.8).contains(&at_once) && least <= at_once && at_once <= most;
        if known && depth == 8.0 && answer.contains("at depth 32 a read takes") {
            Ok(())
        } else {
            Err(answer)
        }
    });
}
