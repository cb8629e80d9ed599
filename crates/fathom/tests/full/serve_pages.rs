//! Every page of `fathom serve` in Chromium: at two widths, in both themes, compared with pictures, and the time until it is painted.
//!
//! `FATHOM_AXE=axe.min.js` also checks them with axe-core, of the package of that name. `FATHOM_PAGES_RUNS=10000` measures with so many runs, see `scripts/serve-pages`. `UPDATE_GOLDEN=1` writes the pictures again.
#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::browser::Browser;
use crate::common::program;
use fathom_model::{CellContent, Experiment, RunState, StoredCell, StoredFinding};
use fathom_store::Store;
use fathom_testkit::Scratch;
use serde_json::{Value, json};

/// Runs of every kind with fixed times, of which r10 is measured by another host.
const STORE: &[u8] = include_bytes!("../../../fathom-store/tests/data/every-kind.db");
/// Wide and narrow, with a height.
const WIDTHS: [(u32, u32); 2] = [(1400, 900), (375, 812)];
/// The pictures are this much smaller than the pages.
const SCALE: f64 = 0.25;
/// The largest share of squares that may differ from the picture: another version of Chromium draws letters a little differently.
const MOST_DIFFERENT: f64 = 0.05;
const DEVICE: &str = "INTEL SSDPE2KX010T7 PHLF7250001 QDV10150";

struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`.
    origin: String,
    token: String,
}

impl Server {
    fn start(store: &Path, allowed: &Path) -> Server {
        let mut command = program(["serve", "--store"]);
        let mut child = command
            .arg(store)
            .arg("--allow-run")
            .arg(allowed)
            // Times are shown in the zone of the server.
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("standard output"))
            .read_line(&mut line)
            .expect("an address");
        let (origin, token) = line
            .trim()
            .split_once("/?token=")
            .unwrap_or_else(|| panic!("an address with a token: {line:?}"));
        Server {
            child,
            origin: origin.to_owned(),
            token: token.to_owned(),
        }
    }

    fn address(&self, target: &str) -> String {
        format!("{}{target}", self.origin)
    }

    /// Opens the printed address, which logs the browser in.
    fn log_in(&self, browser: &mut Browser) {
        browser.open(&self.address(&format!("/?token={}", self.token)));
        // It continues by itself to the list of runs. Nothing is asked of a page that is being left.
        browser.wait_for_load();
        browser.wait_for_load();
        browser.wait_for_frames();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Adds nightly runs of one device, whose throughput falls by a tenth after two thirds of them.
fn add_nightly(store: &mut Store, runs: u64) {
    for number in 0..runs {
        let started = 1_700_000_000_000_000_000 + number * 3_600_000_000_000;
        let series = number % 3;
        let facts = [
            ("fathom", "1.0.0"),
            ("host", &format!("bench{series}")),
            ("kernel", if number % 2 == 0 { "6.1.90" } else { "6.12.8" }),
            ("target", "/dev/nvme0n1"),
            ("device", DEVICE),
        ];
        let run = store
            .begin(&Experiment {
                kind: "run".into(),
                name: format!("nightly-{series}.fio"),
                command: ["fathom", "run", "nightly.fio"].map(str::to_owned).to_vec(),
                facts: facts
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .to_vec(),
                labels: vec![
                    ("project".into(), "apollo".into()),
                    ("firmware".into(), "QDV10150".into()),
                ],
                planned: 1,
                created_unix_ns: started,
                ..Experiment::default()
            })
            .expect("a run");
        let wave = [0.0, 900.0, -700.0, 400.0][(number / 3 % 4) as usize];
        let level = if number < runs * 2 / 3 {
            270_000.0
        } else {
            243_000.0
        };
        let iops = level + wave;
        let finding = StoredFinding {
            code: "HOST_BUSY".into(),
            weight: "degrades".into(),
            about: String::new(),
            evidence: "Other programs used 31 % of the CPUs.".into(),
        };
        let is_degraded = number % 7 == 3;
        let cell = StoredCell {
            position: 1,
            started_unix_ns: started,
            elapsed_ns: 60_000_000_000,
            verdict: if is_degraded { "degraded" } else { "valid" }.into(),
            figures: vec![
                ("read iops".into(), iops),
                ("read bandwidth".into(), iops * 4096.0),
                ("read mean".into(), 128.0 / iops),
                ("read p99".into(), 300.0 / iops),
            ],
            findings: if is_degraded {
                vec![finding]
            } else {
                Vec::new()
            },
            ..StoredCell::default()
        };
        store
            .save_cell(run, &cell, &CellContent::Nothing)
            .expect("a cell");
        store
            .finish(run, RunState::Finished, started + 61_000_000_000)
            .expect("an end");
    }
}

/// The store with nightly runs, and a file on which runs may be started.
fn prepared(scratch: &Scratch, nightly: u64) -> Server {
    let path = scratch.path().join("store.db");
    std::fs::write(&path, STORE).expect("a store");
    let mut store = Store::open(&path).expect("a store");
    // A second run like r2, to compare it with: r11.
    let run = store.run("r2").expect("a run");
    let cells = store.cells(run.id).expect("its cell");
    let content = store.content(run.id, 1).expect("its recording");
    let again = store.begin(&run.experiment).expect("a run");
    store
        .save_cell(again, &cells[0], &content)
        .expect("its cell");
    let ended = run.ended_unix_ns.unwrap_or_default();
    store
        .finish(again, RunState::Finished, ended)
        .expect("its end");
    add_nightly(&mut store, nightly);
    drop(store);
    let file = scratch.path().join("disk.img");
    std::fs::write(&file, vec![0; 1 << 20]).expect("a file");
    Server::start(&path, &file)
}

/// Name and address of each page. The names of runs in them are those of the stored ones.
const PAGES: [(&str, &str); 14] = [
    ("runs", "/"),
    (
        "search",
        "/?label=project%3Dapollo&verdict=degraded&cols=started,host,kernel,labels,iops,p99",
    ),
    ("run", "/runs/r2"),
    ("sweep", "/runs/r5"),
    ("cell", "/runs/r5.2"),
    ("compare", "/compare?runs=r2,r11"),
    ("trends", "/trends?figure=read%20iops"),
    (
        "trend",
        "/trends?figure=read%20iops&name=nightly-1.fio&series=nightly-1.fio",
    ),
    ("devices", "/devices"),
    ("experiments", "/experiments"),
    ("live", "/live"),
    ("live-run", "/live/r10"),
    ("start", "/start"),
    ("missing", "/runs/r99999"),
];

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures")
}

/// What is wrong with a page that was visited: requests to elsewhere, messages of errors, a page that is wider than the screen.
fn problems(
    browser: &mut Browser,
    server: &Server,
    events: &[Value],
    is_missing: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for event in events {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let asked = parameters["request"]["url"].as_str().unwrap_or_default();
                if !asked.starts_with(&format!("{}/", server.origin)) && !asked.starts_with("data:")
                {
                    found.push(format!("a request to {asked}"));
                }
            }
            "Log.entryAdded" if !is_missing && parameters["entry"]["level"] != "verbose" => {
                found.push(parameters["entry"]["text"].to_string());
            }
            "Runtime.exceptionThrown" => found.push(parameters["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => found.push(parameters["args"].to_string()),
            _ => {}
        }
    }
    let wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
    if wide.as_i64().is_none_or(|wide| wide > 0) {
        found.push(format!("{wide} points wider than the screen"));
    }
    if let Some(path) = std::env::var_os("FATHOM_AXE") {
        let script = std::fs::read_to_string(path).expect("the script of axe-core");
        browser.evaluate(&format!("{script};1"));
        let violations = browser.evaluate(
            "axe.run().then(found => found.violations.filter(one => ['serious', 'critical'].includes(one.impact)).map(one => one.id + ': ' + one.nodes.map(node => node.target).join(', ')))",
        );
        for violation in violations.as_array().expect("a list") {
            found.push(violation.to_string());
        }
    }
    found
}

/// Regression 1301: no test compared what the pages look like.
#[test]
fn regression_1301_every_page_looks_like_its_picture() {
    const TEST: &str = "regression_1301_every_page_looks_like_its_picture";
    let scratch = Scratch::new().expect("a directory");
    let Some(mut browser) = Browser::start(&scratch) else {
        eprintln!("SKIP: {TEST}: Chromium is not installed");
        return;
    };
    let server = prepared(&scratch, 90);
    let writes = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    let mut taken = Vec::new();
    let mut take = |browser: &mut Browser, name: &str, target: &str, wrong: &mut Vec<String>| {
        for (width, height) in WIDTHS {
            for (theme, dark) in [("light", false), ("dark", true)] {
                browser.look(width, height, dark);
                let events = browser.visit(&server.address(target));
                if name == "live-run" {
                    // Until the first event of the server.
                    browser.evaluate(
                        "new Promise(done => { const look = () => document.getElementById('iops').textContent === '-' ? setTimeout(look, 50) : done(1); look(); })",
                    );
                    browser.wait_for_frames();
                }
                let name = format!("{name}-{width}-{theme}");
                let found = problems(
                    browser,
                    &server,
                    &events,
                    matches!(target, "/runs/r99999" | "/live"),
                );
                wrong.extend(found.iter().map(|problem| format!("{name}: {problem}")));
                // The name of a temporary directory.
                browser.evaluate("document.querySelectorAll('option').forEach(one => { if (one.textContent.startsWith('/')) one.textContent = '/data/disk.img'; })");
                taken.push((name, browser.picture(width, height, SCALE)));
            }
        }
    };
    take(&mut browser, "login", "/login-page", &mut wrong);
    wrong.clear();
    server.log_in(&mut browser);
    for (name, target) in PAGES {
        take(&mut browser, name, target, &mut wrong);
    }
    assert_eq!(wrong, [] as [String; 0]);
    // A page without a policy can compare them.
    browser.look(800, 600, false);
    browser.visit("about:blank");
    for (name, picture) in &taken {
        let path = pictures().join(format!("{name}.png"));
        if writes {
            std::fs::create_dir_all(pictures()).expect("a directory");
            std::fs::write(&path, picture).expect("a picture");
            continue;
        }
        let known = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let different = browser.difference(&known, picture);
        if different > MOST_DIFFERENT {
            let made = std::env::temp_dir().join(format!("fathom-page-{name}.png"));
            std::fs::write(&made, picture).expect("a picture");
            wrong.push(format!(
                "{name}: {:.1} % of it differ from {}; it is in {}",
                100.0 * different,
                path.display(),
                made.display()
            ));
        }
    }
    assert_eq!(wrong, [] as [String; 0]);
    // The comparison finds a difference: another theme, and another page.
    if !writes {
        for (one, other) in [
            ("runs-1400-light", "runs-1400-dark"),
            ("trend-375-light", "devices-375-light"),
        ] {
            let of = |wanted: &str| {
                let found = taken.iter().find(|(name, _)| name == wanted);
                &found.expect("a picture").1
            };
            let different = browser.difference(of(one), of(other));
            assert!(
                different > 5.0 * MOST_DIFFERENT,
                "{one} {other}: {different}"
            );
        }
    }
}

fn environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// The time until the first paint of each page, and until a page shows what a click changes; the median of five. An optimised build on an
/// idle machine needs at most 300 and 100 ms. A test build beside other tests may take ten times as long.
#[test]
fn pages_are_painted_quickly() {
    const TEST: &str = "pages_are_painted_quickly";
    let scratch = Scratch::new().expect("a directory");
    let Some(mut browser) = Browser::start(&scratch) else {
        eprintln!("SKIP: {TEST}: Chromium is not installed");
        return;
    };
    let server = prepared(&scratch, environment("FATHOM_PAGES_RUNS", 200));
    let slower = environment("FATHOM_PAGES_SLOWER", 10) as f64;
    server.log_in(&mut browser);
    let mut late = Vec::new();
    for (width, height) in WIDTHS {
        browser.look(width, height, false);
        for (name, target) in PAGES {
            let (mut paints, mut clicks) = (Vec::new(), Vec::new());
            for number in 0..5 {
                browser.call("Network.clearBrowserCache", &json!({}));
                // Another address each time, so that the server makes the page again.
                let mark = if target.contains('?') { '&' } else { '?' };
                let address = server.address(&format!("{target}{mark}number={width}{number}"));
                browser.visit(&address);
                let paint = browser.evaluate(
                    "new Promise(done => new PerformanceObserver(list => list.getEntries().filter(one => one.name === 'first-contentful-paint').forEach(one => done(one.startTime))).observe({ type: 'paint', buffered: true }))",
                );
                paints.push(paint.as_f64().expect("a time"));
                // The theme changes all colours, and draws all charts again.
                let click = browser.evaluate(
                    "new Promise(done => { const begin = performance.now(); document.getElementById('theme').click(); requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin), 0)); })",
                );
                clicks.push(click.as_f64().expect("a time"));
            }
            let median = |times: &mut Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            };
            let (paint, click) = (median(&mut paints), median(&mut clicks));
            eprintln!("{name} at {width}: first paint {paint:.0} ms, click {click:.0} ms");
            if paint > 300.0 * slower || click > 100.0 * slower {
                late.push(format!("{name} at {width}: {paint:.0} ms, {click:.0} ms"));
            }
        }
    }
    assert_eq!(late, [] as [String; 0]);
}
