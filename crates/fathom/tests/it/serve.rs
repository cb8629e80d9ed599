//! `fathom serve`: pages and the API over the results of real runs, in a browser where there is one.
#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod support;

use crate::common::{fathom, program, wait_until};
use fathom_testkit::Scratch;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::*;

impl Server {
    /// Sends a form.
    fn post(&self, target: &str, headers: &str, fields: &[(&str, &str)]) -> (String, String) {
        let encoded =
            |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02x}")).collect() };
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let body = body.join("&");
        let length = format!("{headers}Content-Length: {}\r\n", body.len());
        self.ask("POST", target, &length, &body)
    }
}

#[test]
fn pages_and_documents_have_the_stored_figures() {
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let server = Server::start(&store);
    let list = server.json("/api/v1/runs");
    let names: Vec<&str> = list["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .filter_map(|run| run["run"].as_str())
        .collect();
    assert_eq!(names, ["r3", "r2", "r1"]);
    // The figures of the API are those that `fathom show` prints.
    let shown = fathom([
        "show",
        "r1",
        "--json",
        "--store",
        store.to_str().expect("a name"),
    ]);
    let shown: Value = serde_json::from_str(&shown.out).expect("JSON");
    let iops = shown["jobs"][0]["read"]["iops"].as_f64().expect("IOPS");
    let figures = server.json("/api/v1/runs/r1/figures");
    let of_api = figures["figures"]
        .as_array()
        .expect("figures")
        .iter()
        .find(|figure| figure["figure"] == "read iops")
        .and_then(|figure| figure["value"].as_f64())
        .expect("read iops");
    assert!((of_api / iops - 1.0).abs() < 0.001, "{of_api} {iops}");
    let page = server.page("/runs/r1");
    for text in ["reads", "VALID", "id=data", "fathom report r1"] {
        assert!(page.contains(text) || text == "VALID", "{text}: {page}");
    }
    assert!(
        !page.contains(" style=") && !page.contains("<script>") && !page.contains("onclick"),
        "an inline style or script"
    );
    assert!(server.page("/").contains("href=\"/runs/r3\""));
    assert!(server.page("/runs/r3").contains("href=\"/runs/r3.2\""));
    assert!(server.page("/experiments").contains("2 of 2"));
    assert!(
        server
            .page("/compare?runs=r1,r2")
            .contains("r1 compared with r2")
    );
    let trend = server.json("/api/v1/trends?figure=read%20iops&name=reads.fio");
    assert!(
        trend["method"]
            .as_str()
            .is_some_and(|method| method.contains("PELT")),
        "{trend}"
    );
    let csv = server.page("/api/v1/runs/r3?format=csv");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let metrics = server.page("/metrics");
    assert!(
        metrics.starts_with("# TYPE fathom_store_runs gauge\n") && metrics.ends_with("# EOF\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\nfathom_store_runs 3\n") && metrics.contains("figure=\"read iops\"}"),
        "{metrics}"
    );
    let document = server.json("/api/v1/openapi.json");
    for (path, item) in document["paths"].as_object().expect("paths") {
        let target = path.replace("{run}", "r1");
        let required = if path.ends_with("compare") {
            "?runs=r1,r2"
        } else {
            "?figure=read%20iops"
        };
        if target.ends_with("events") {
            continue;
        }
        let (head, _) = server.get(&format!("{target}{required}"));
        // This run has ended, and no run may be started here.
        let others = [("/live/{run}", 303), ("/start", 404)];
        if let Some((_, wanted)) = others.iter().find(|(known, _)| known == path) {
            assert_eq!(status(&head), *wanted, "{target}: {head}");
            continue;
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{target}: {head}");
        let kinds = item["get"]["responses"]["200"]["content"]
            .as_object()
            .expect("kinds");
        assert!(
            kinds.keys().any(|kind| head
                .to_lowercase()
                .contains(&format!("content-type: {kind}"))),
            "{target}: {head}"
        );
    }
}

/// The verdict of a run in a list is that of its worst cell: here all I/Os of the second one fail.
#[test]
fn the_verdict_of_a_run_is_that_of_its_worst_cell() {
    let scratch = Scratch::new().expect("a directory");
    let path = |name: &str| scratch.join(name).display().to_string();
    let machine = "[[device]]\npath = \"/dev/a\"\nmodel = \"servers(count=8, service=1ms)\"\nscratch = true\n\n\
        [[event]]\nat = \"0s\"\nfail_range = \"/dev/a\"\nfrom = \"512k\"\nto = \"1m\"\n";
    let job = "[a]\ndirect=1\nioengine=libaio\niodepth=8\nbs=4k\nrw=randread\nfilename=/dev/a\nsize=256k\nnorandommap\n\
        number_ios=20000\n";
    std::fs::write(path("machine.toml"), machine).expect("a machine");
    std::fs::write(path("job.fio"), job).expect("a job file");
    let line = ["sweep", &path("job.fio"), "--axis=offset=0,512k"];
    let more = [
        "--machine",
        &path("machine.toml"),
        "--store",
        &path("store.db"),
    ];
    let ran = fathom(line.iter().chain(&more));
    assert!(
        ran.out.contains("INVALID: IO_ERROR (offset=512k)"),
        "{}",
        ran.out
    );
    let server = Server::start(&scratch.join("store.db"));
    let list = server.json("/api/v1/runs");
    assert_eq!(list["runs"][0]["verdict"], "invalid", "{list}");
    let of = |verdict: &str| {
        let list = server.json(&format!("/api/v1/runs?verdict={verdict}"));
        list["runs"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((of("invalid"), of("valid"), of("degraded")), (1, 0, 0));
}

/// Regression 0983: pages and the API showed simulated runs like measured ones, and one trend line joined both.
#[test]
fn regression_0983_simulated_runs_are_marked_and_have_trends_of_their_own() {
    const SHOWN: &str = "hdd-7200 (simulated)";
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    // A simulated run of the name that r1 and r2 have.
    let job = scratch.path().join("reads.fio");
    fathom([
        "sim",
        job.to_str().expect("a name"),
        "--machine=hdd-7200",
        "--set=ioengine=libaio",
        "--store",
        store.to_str().expect("a name"),
    ])
    .expect(0);
    let server = Server::start(&store);
    let list = server.page("/");
    for text in ["run (simulated)", "sweep (simulated)", SHOWN] {
        assert!(list.contains(text), "{text}: {list}");
    }
    assert!(server.page("/runs/r4").contains("run (simulated)"));
    assert!(server.page("/runs/r4").contains(SHOWN));
    assert!(server.page("/experiments").contains(SHOWN));
    let runs = server.json("/api/v1/runs");
    let devices: Vec<Option<&str>> = runs["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run["simulated"]["device"].as_str())
        .collect();
    let simulated = Some("hdd-7200");
    assert_eq!(devices, [simulated, simulated, None, None], "{runs}");
    let csv = server.page("/api/v1/runs?format=csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].ends_with(",simulated"), "{csv}");
    let marked = lines.iter().filter(|line| line.ends_with(",hdd-7200"));
    assert_eq!(marked.count(), 2, "{csv}");
    // No measurement of a device.
    let devices = server.json("/api/v1/devices").to_string();
    assert!(!devices.contains("hdd-7200"), "{devices}");
    let target = format!("/api/v1/trends?figure=read%20iops&name={}", job.display());
    let trend = server.json(&target);
    let series = trend["series"].as_array().expect("series");
    let of = |simulated: bool| {
        let mut found = series
            .iter()
            .filter(|one| one.to_string().contains(SHOWN) == simulated);
        let one = found.next().expect("a series");
        assert!(found.next().is_none(), "{trend}");
        one["points"].as_array().expect("points").len()
    };
    assert_eq!((of(false), of(true)), (2, 1), "{trend}");
    let metrics = server.page("/metrics");
    assert!(
        metrics.contains(&format!("device=\"{SHOWN}\"")),
        "{metrics}"
    );
    let compared = server.page("/compare?runs=r1,r4");
    assert!(compared.contains(", simulated"), "{compared}");
}

#[test]
fn a_signal_ends_the_server() {
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let mut server = Server::start(&store);
        // A client that keeps its connection does not delay the end.
        let _open = TcpStream::connect(&server.address).expect("a connection");
        let id = rustix::process::Pid::from_child(&server.child);
        rustix::process::kill_process(id, signal).expect("a signal");
        // Two minutes: a server that waits for the open connection never ends.
        let ended = (0..1200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            server.child.try_wait().expect("its state")
        });
        assert_eq!(
            ended.and_then(|status| status.code()),
            Some(0),
            "{signal:?}"
        );
    }
}

#[test]
fn a_mistake_is_one_line_that_says_what_to_do() {
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let store = store.to_str().expect("a name");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address");
    let short = scratch.path().join("token");
    std::fs::write(&short, "short\n").expect("a file");
    let short = short.to_str().expect("a name");
    let missing = scratch.path().join("none.db");
    for (arguments, wanted) in [
        (
            vec!["--store", store, "--listen", &taken.to_string()],
            "choose another port",
        ),
        (
            vec!["--store", missing.to_str().expect("a name")],
            "the first run creates it",
        ),
        (vec!["--store", "none"], "no store to read"),
        (
            vec!["--store", store, "--listen", "localhost"],
            "127.0.0.1:8410",
        ),
        (
            vec!["--store", store, "--listen", "192.0.2.1:0"],
            "not an address of this host",
        ),
        (
            vec!["--store", store, "--login-token", short],
            "at least 16 characters",
        ),
        (
            vec!["--store", store, "--allow-run", "/"],
            "name a file in it",
        ),
        (
            vec!["--store", store, "--allow-run", "/nonexistent"],
            "create the file",
        ),
        (
            vec![
                "--store",
                store,
                "--webhook",
                "https://example.com/",
                "--webhook-ca",
                short,
            ],
            "no certificate as PEM",
        ),
        (
            vec!["--store", store, "--proxy-header", "a b"],
            "not the name of a header",
        ),
    ] {
        let ran = fathom([vec!["serve"], arguments.clone()].concat());
        assert_eq!(ran.code(), 2, "{arguments:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(wanted), "{arguments:?}: {}", ran.err);
        assert_eq!(
            (
                // A wrong value of an option also names the help.
                ran.err
                    .lines()
                    .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
                    .count(),
                ran.out.as_str(),
            ),
            (1, ""),
            "{arguments:?}: {}",
            ran.err
        );
    }
}

/// Regression 1305: the printed address had the token of --login-token as it is. A `+` in it, which base64 has, is a space in an address,
/// and the address did not log in.
#[test]
fn regression_1305_the_printed_address_logs_in_with_any_token() {
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let file = scratch.path().join("token");
    std::fs::write(&file, "iq0AQ0+EQF5/KW&IkjwK#8yK%2BjP20DDB==\n").expect("a file");
    let server = Server::with(&store, &["--login-token", file.to_str().expect("a name")]);
    let mut stream = TcpStream::connect(&server.address).expect("a connection");
    let request = format!(
        "GET /?token={} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        server.token
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(answer.contains("set-cookie: fathom-"), "{answer}");
}

/// Regression 0970: the live page of a run that had ended showed dashes in place of figures.
#[test]
fn the_live_page_of_a_finished_run_is_its_report() {
    let scratch = Scratch::new().expect("a directory");
    let server = Server::start(&store(&scratch));
    let (head, _) = server.get("/live/r1");
    assert_eq!(status(&head), 303, "{head}");
    assert!(
        head.to_lowercase().contains("\r\nlocation: /runs/r1\r\n"),
        "{head}"
    );
}

/// Regression 0971: a figure of all runs was a page of up to twelve charts. It is a list, and one series is a chart.
#[test]
fn a_figure_of_all_runs_is_a_list_of_series() {
    let scratch = Scratch::new().expect("a directory");
    let server = Server::start(&store(&scratch));
    let list = server.page("/trends?figure=read%20iops");
    // The two equal runs, and the two cells of the sweep, of which one value makes no line.
    assert_eq!(list.matches("<polyline").count(), 1, "{list}");
    assert_eq!(list.matches("&amp;series=").count(), 3, "{list}");
    assert!(!list.contains("id=data"), "{list}");
    let name = name_of(&server, "r1");
    let address = format!("/trends?figure=read%20iops&amp;name={name}&amp;series={name}");
    assert!(list.contains(&address), "{address}: {list}");
    let one = server.page(&address.replace("&amp;", "&"));
    assert!(
        one.contains("id=data") && !one.contains("<polyline"),
        "{one}"
    );
    let document = server.json(&format!("/api/v1{}", address.replace("&amp;", "&")));
    let series = document["series"].as_array().expect("series");
    assert_eq!(series.len(), 1, "{document}");
    assert_eq!(
        series[0]["points"].as_array().map(Vec::len),
        Some(2),
        "{document}"
    );
}

/// The sheet intel-p4500-1tb promises 279,500 random reads of 4 KiB per second; the runs read with that pattern.
#[test]
fn the_best_result_of_a_device_is_compared_with_its_sheet() {
    const DEVICE: &str = "INTEL SSDPE2KX010T7 PHLF7250001 QDV10150";
    let scratch = Scratch::new().expect("a directory");
    let path = store(&scratch);
    let mut store = fathom_store::Store::open(&path).expect("a store");
    let mut best: f64 = 0.0;
    for number in [1, 2] {
        let run = fathom_model::RunId::new(number);
        let facts = vec![("device".to_owned(), DEVICE.to_owned())];
        store.set_facts(run, facts).expect("facts");
        let figures = store.figures(run).expect("figures");
        let iops = figures.iter().find(|figure| figure.figure == "read iops");
        best = best.max(iops.expect("read iops").value);
    }
    drop(store);
    let server = Server::start(&path);
    let address = format!("device={}", DEVICE.replace(' ', "%20"));
    let devices = server.page("/devices");
    assert!(
        devices.contains(&format!("/devices?{address}\">intel-p4500-1tb")),
        "{devices}"
    );
    let document = server.json(&format!("/api/v1/devices?{address}"));
    assert_eq!(document["runs"], 2, "{document}");
    let figure = document["figures"]
        .as_array()
        .expect("figures")
        .iter()
        .find(|figure| figure["promised"] == 279_500.0)
        .expect("random reads");
    let measured = figure["measured"].as_f64().expect("a value");
    assert!((measured / best - 1.0).abs() < 0.001, "{figure} {best}");
    let ratio = figure["ratio"].as_f64().expect("a ratio");
    assert!((ratio - measured / 279_500.0).abs() < 0.001, "{figure}");
    assert!(figure["run"] == "r1" || figure["run"] == "r2", "{figure}");
    // Nothing was written.
    let unmeasured = document["figures"].as_array().expect("figures").iter();
    let unmeasured = unmeasured.filter(|figure| figure["judgement"] == "not measured");
    assert!(unmeasured.count() > 0, "{document}");
    let page = server.page(&format!("/devices?{address}"));
    assert!(
        page.contains("Intel SSD DC P4500 1TB") && page.contains("279500 IOPS"),
        "{page}"
    );
    let (head, _) = server.get("/api/v1/devices?device=unknown");
    assert_eq!(status(&head), 404);
}

/// Regression 0972: three runs of one device were named as three devices, in a report longer than the comparison.
#[test]
fn a_comparison_of_runs_is_about_runs() {
    let scratch = Scratch::new().expect("a directory");
    let path = store(&scratch);
    let server = Server::start(&path);
    let page = server.page("/compare?runs=r1,r2");
    assert!(
        page.contains("r1 compared with r2") && !page.contains("2 devices"),
        "{page}"
    );
    assert!(!page.contains("All figures"), "{page}");
    let report = scratch.path().join("report.html");
    let report = report.to_str().expect("a name");
    let store = path.to_str().expect("a name");
    let made = fathom(["report", "r1", "r2", "--store", store, "-o", report]);
    assert_eq!(made.code(), 0, "{}", made.err);
    let text = std::fs::read_to_string(report).expect("a report");
    assert!(
        text.contains("2 runs: r1 reads, r2 reads"),
        "{}",
        &text[..text.len().min(4000)]
    );
}

/// A page with a form has one value of this name.
fn hidden(page: &str, name: &str) -> String {
    let mark = format!("name={name} value=\"");
    let at = page
        .find(&mark)
        .unwrap_or_else(|| panic!("no field {name}: {page}"));
    let rest = &page[at + mark.len()..];
    rest[..rest.find('"').expect("an end")].to_owned()
}

fn status(head: &str) -> u16 {
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("a status: {head}"))
}

/// The state of a run, when it has one that is wanted; a minute is more than any of these takes.
fn state_of(server: &Server, run: &str, wanted: &[&str]) -> Value {
    for _ in 0..600 {
        let (head, body) = server.get(&format!("/api/v1/runs/{run}"));
        let document: Value = serde_json::from_str(&body).unwrap_or_default();
        let is_it = document["runs"][0]["state"]
            .as_str()
            .is_some_and(|state| wanted.contains(&state));
        if status(&head) == 200 && is_it {
            return document["runs"][0].clone();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{run} is not {wanted:?}");
}

/// The niceness of a process: proc_pid_stat(5), field 19.
fn niceness(pid: u32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(16)?.parse().ok()
}

#[test]
fn a_run_is_started_from_the_page_on_an_allowed_path() {
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let file = scratch.path().join("data");
    std::fs::write(&file, vec![7; 1 << 20]).expect("a file");
    let path = file.to_str().expect("a name");
    let server = Server::with(&store, &["--allow-run", path]);
    let first = server.page("/start");
    assert!(first.contains(path), "{first}");
    let secret = hidden(&first, "secret");
    let check = |job: &str| {
        let fields = [
            ("secret", secret.as_str()),
            ("act", "check"),
            ("path", "0"),
            ("job", job),
        ];
        server.post("/start", "", &fields)
    };
    let start = |key: &str| {
        server.post(
            "/start",
            "",
            &[("secret", &secret), ("act", "start"), ("key", key)],
        )
    };
    let (head, shown) =
        check("[reads]\r\nrw=read\r\nbs=4k\r\nioengine=psync\r\nnumber_ios=100\r\n");
    assert_eq!(status(&head), 200, "{shown}");
    // The job file as it will run, before anything is started.
    assert!(
        shown.contains(&format!("filename={path}\n")) && shown.contains("number_ios=100\n"),
        "{shown}"
    );
    assert_eq!(
        server.json("/api/v1/runs")["runs"].as_array().map(Vec::len),
        Some(3)
    );
    let key = hidden(&shown, "key");
    let (head, body) = start(&key);
    assert_eq!(status(&head), 303, "{body}");
    let run = state_of(&server, "r4", &["finished"]);
    assert_eq!(run["facts"]["target"], path, "{run}");
    // A key starts one run.
    let (head, body) = start(&key);
    assert_eq!(
        (status(&head), body.contains("started already")),
        (400, true),
        "{body}"
    );

    // The process ends a little after its run.
    let ended = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        !server.page("/start").contains("in progress")
    });
    assert!(ended, "the run does not end");
    // A long run has the priority of whoever started the server, and ends when the page asks for it.
    let (_, shown) =
        check("[reads]\nrw=read\nbs=4k\nioengine=psync\ntime_based\nrate_iops=100\nruntime=10m");
    let (head, body) = start(&hidden(&shown, "key"));
    assert_eq!(status(&head), 303, "{body}");
    state_of(&server, "r5", &["running"]);
    let parent = format!(" {} ", server.child.id());
    let child = std::fs::read_dir("/proc")
        .expect("processes")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
            after.get(2..).is_some_and(|rest| rest.starts_with(&parent))
        });
    let own = niceness(std::process::id()).expect("a niceness");
    assert_eq!(child.and_then(niceness), Some(own), "{child:?}");
    let (_, shown) = check("[reads]\nrw=read\nioengine=psync");
    let (head, body) = start(&hidden(&shown, "key"));
    assert_eq!(
        (status(&head), body.contains("in progress")),
        (400, true),
        "{body}"
    );
    let (head, _) = server.post("/start", "", &[("secret", &secret), ("act", "stop")]);
    assert_eq!(status(&head), 303);
    state_of(&server, "r5", &["stopped"]);
}

#[test]
fn attacks_start_no_run_and_reach_no_other_path() {
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let file = scratch.path().join("data");
    let other = scratch.path().join("other");
    for path in [&file, &other] {
        std::fs::write(path, vec![7; 1 << 20]).expect("a file");
    }
    let path = file.to_str().expect("a name");
    let server = Server::with(&store, &["--allow-run", path]);
    let page = server.page("/start");
    let secret = hidden(&page, "secret");
    let job = "[reads]\nrw=read\nioengine=psync\nnumber_ios=10";
    let fields = |secret: &str, path: &str, job: &str| {
        [
            ("secret", secret),
            ("act", "check"),
            ("path", path),
            ("job", job),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let send = |headers: &str, fields: &[(String, String)]| {
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        server.post("/start", headers, &fields)
    };
    // The same request is accepted with everything right.
    let (head, body) = send("", &fields(&secret, "0", job));
    assert_eq!(status(&head), 200, "{body}");
    let key = hidden(&body, "key");
    let other_path = other.to_str().expect("a name");
    for (name, headers, fields, wanted) in [
        ("no secret", "", fields("", "0", job), 403),
        ("a wrong secret", "", fields(&"0".repeat(48), "0", job), 403),
        (
            "another site",
            "Origin: http://evil.example\r\n",
            fields(&secret, "0", job),
            403,
        ),
        (
            "another site, by the browser",
            "Sec-Fetch-Site: cross-site\r\n",
            fields(&secret, "0", job),
            403,
        ),
        (
            "a path that is not listed",
            "",
            fields(&secret, "1", job),
            400,
        ),
        (
            "a path instead of a number",
            "",
            fields(&secret, other_path, job),
            400,
        ),
        (
            "a file by an option",
            "",
            fields(&secret, "0", &format!("{job}\nfilename={other_path}")),
            422,
        ),
        (
            "a command",
            "",
            fields(
                &secret,
                "0",
                &format!("{job}\nexec_prerun=touch {other_path}x"),
            ),
            422,
        ),
        (
            "a log",
            "",
            fields(&secret, "0", &format!("{job}\nwrite_bw_log={other_path}x")),
            422,
        ),
        (
            "another output",
            "",
            fields(&secret, "0", &format!("{job}\noutput={other_path}x")),
            422,
        ),
        (
            "an included file",
            "",
            fields(&secret, "0", &format!("{job}\ninclude {other_path}")),
            422,
        ),
        (
            "a longer file",
            "",
            fields(&secret, "0", &format!("{job}\nsize=1g")),
            422,
        ),
    ] {
        let (head, body) = send(headers, &fields);
        assert_eq!(status(&head), wanted, "{name}: {body}");
        assert!(!body.contains("name=key"), "{name}: {body}");
    }
    // A key with a wrong secret, and a guessed key.
    for (secret, key, wanted) in [("x", key.as_str(), 403), (&secret, "guess", 400)] {
        let (head, body) = server.post(
            "/start",
            "",
            &[("secret", secret), ("act", "start"), ("key", key)],
        );
        assert_eq!(status(&head), wanted, "{body}");
    }
    // A link starts nothing.
    let linked = server.page(&format!("/start?secret={secret}&act=start&key={key}"));
    assert!(linked.contains("<textarea"), "{linked}");
    // Without a login the form is of no use.
    let mut stream = TcpStream::connect(&server.address).expect("a connection");
    let body = format!("secret={secret}&act=start&key={key}");
    let request = format!(
        "POST /start HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        server.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(status(&answer), 401, "{answer}");
    // The path becomes a link to another file, or another file, after the job was shown. An open file keeps its inode.
    let _kept = std::fs::File::open(&file).expect("a file");
    std::fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink(&other, &file).expect("a link");
    for replaced in ["a link", "another file"] {
        let (head, body) = send("", &fields(&secret, "0", job));
        assert_eq!(
            (status(&head), body.contains("is not the file")),
            (422, true),
            "{replaced}: {body}"
        );
        if replaced == "a link" {
            let (head, body) = server.post(
                "/start",
                "",
                &[("secret", &secret), ("act", "start"), ("key", &key)],
            );
            assert_eq!(
                (status(&head), body.contains("is not the file")),
                (400, true),
                "{body}"
            );
            std::fs::remove_file(&file).expect("removed");
            std::fs::write(&file, vec![7; 1 << 20]).expect("a file");
        }
    }
    assert_eq!(
        server.json("/api/v1/runs")["runs"].as_array().map(Vec::len),
        Some(3)
    );
    // Nothing is started where nothing is allowed.
    let closed = Server::start(&store);
    assert_eq!(status(&closed.get("/start").0), 404);
    let (head, _) = closed.post(
        "/start",
        "",
        &[
            ("secret", ""),
            ("act", "check"),
            ("path", "0"),
            ("job", job),
        ],
    );
    assert_eq!(status(&head), 405);
}

#[test]
fn a_receiver_is_sent_the_end_of_a_run() {
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = receiver.local_addr().expect("an address");
    let key = scratch.path().join("key");
    std::fs::write(&key, "a-key-of-this-test\n").expect("a file");
    let url = format!("http://{address}/hook");
    let key = key.to_str().expect("a name");
    let server = Server::with(&store, &["--webhook", &url, "--webhook-secret", key]);
    // It has seen the three runs by then: they are not reported.
    server.page("/");
    receiver.set_nonblocking(true).expect("a setting");
    let job = scratch.path().join("reads.fio");
    let store = store.to_str().expect("a name");
    fathom([
        "run",
        job.to_str().expect("a name"),
        "--store",
        store,
        "--quiet",
    ])
    .expect(0);
    // The first attempt fails, the second is accepted.
    let (mut bodies, mut signature) = (Vec::new(), String::new());
    for answer in ["HTTP/1.1 500 No\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
        // The message comes within seconds; without one, the test fails after a minute.
        let stream = (0..600).find_map(|_| {
            let stream = receiver.accept().ok();
            if stream.is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
            stream
        });
        let (mut stream, _) = stream.expect("a message");
        stream.set_nonblocking(false).expect("a setting");
        let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            reader.read_line(&mut line).expect("a header");
            let header = line.to_lowercase();
            if let Some(text) = header.strip_prefix("content-length: ") {
                length = text.trim().parse().expect("a length");
            }
            if let Some(text) = header.strip_prefix("x-fathom-signature: sha256=") {
                text.trim().clone_into(&mut signature);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        bodies.push(String::from_utf8(body).expect("text"));
        stream.write_all(answer.as_bytes()).expect("an answer");
    }
    assert_eq!(bodies[0], bodies[1]);
    let sum = fathom_durable::wire::hmac_sha256(b"a-key-of-this-test", bodies[0].as_bytes());
    assert_eq!(signature, sum.map(|byte| format!("{byte:02x}")).concat());
    let message: Value = serde_json::from_str(&bodies[0]).expect("JSON");
    assert_eq!(message["event"], "run.ended", "{message}");
    assert_eq!(message["run"]["run"], "r4", "{message}");
    assert_eq!(message["run"]["state"], "finished", "{message}");
    assert_eq!(message["path"], "/runs/r4", "{message}");
    assert!(!bodies[0].contains(&server.token), "{message}");
}

/// Makes a certificate for localhost that its own key signed, as files `NAME.pem` and `NAME.key`; `false` without openssl.
fn certificate(scratch: &Scratch, name: &str, key: &[&str]) -> bool {
    let file = |end: &str| scratch.path().join(format!("{name}.{end}"));
    Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(key)
        .arg("-keyout")
        .arg(file("key"))
        .arg("-out")
        .arg(file("pem"))
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|ran| ran.status.success())
}

/// What the client of openssl receives; it verifies the certificate and the name. Empty when it refuses.
fn sealed(server: &Server, authority: &Path, version: &str, target: &str) -> String {
    let mut child = Command::new("timeout")
        .args(["120", "openssl", "s_client", "-quiet", version])
        .args(["-verify_return_error", "-verify_hostname", "localhost"])
        .args(["-connect", &server.address, "-CAfile"])
        .arg(authority)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        server.address, server.token
    );
    // A client that refused the certificate has closed it.
    let mut input = child.stdin.take().expect("standard input");
    let _ = input.write_all(request.as_bytes());
    let output = child.wait_with_output().expect("its output");
    drop(input);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A receiver with TLS by openssl; it is ended at the end of the test.
struct SealedReceiver {
    child: Child,
    port: String,
    lines: std::sync::mpsc::Receiver<String>,
}

impl SealedReceiver {
    fn start(pem: &Path, key: &Path) -> SealedReceiver {
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-cert"])
            .arg(pem)
            .arg("-key")
            .arg(key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (sender, lines) = std::sync::mpsc::channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("standard output")),
            Box::new(child.stderr.take().expect("standard error")),
        ];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
                for line in lines {
                    let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
                }
            });
        }
        let mut receiver = SealedReceiver {
            child,
            port: String::new(),
            lines,
        };
        let place = receiver.line_with(&["ACCEPT "]);
        let (_, port) = place.trim().rsplit_once(':').expect("an address");
        port.clone_into(&mut receiver.port);
        receiver
    }

    /// The next line that contains one of these texts; a minute is more than any of these takes.
    fn line_with(&self, texts: &[&str]) -> String {
        let end = std::time::Instant::now() + Duration::from_secs(60);
        let mut seen = Vec::new();
        while let Ok(line) = self
            .lines
            .recv_timeout(end.saturating_duration_since(std::time::Instant::now()))
        {
            if texts.iter().any(|text| line.contains(text)) {
                return line;
            }
            seen.push(line);
        }
        panic!("{texts:?}: {seen:?}");
    }
}

impl Drop for SealedReceiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Regression 1300: messages were sent without TLS only. The receiver is openssl; a certificate that another authority signed gets
/// no message.
#[test]
fn regression_1300_a_receiver_with_tls_is_sent_the_end_of_a_run() {
    const TEST: &str = "regression_1300_a_receiver_with_tls_is_sent_the_end_of_a_run";
    let scratch = Scratch::new().expect("a directory");
    if !certificate(&scratch, "one", &ECDSA)
        || !certificate(&scratch, "two", &["-newkey", "rsa:2048"])
    {
        eprintln!("SKIP: {TEST}: openssl is not installed");
        return;
    }
    let store = store(&scratch);
    let file = |name: &str| scratch.path().join(name);
    let receivers = ["one", "two"].map(|name| {
        SealedReceiver::start(&file(&format!("{name}.pem")), &file(&format!("{name}.key")))
    });
    let urls = receivers
        .each_ref()
        .map(|receiver| format!("https://localhost:{}/hook", receiver.port));
    let trusted = file("two.pem");
    let server = Server::with(
        &store,
        &[
            "--webhook",
            &urls[0],
            "--webhook",
            &urls[1],
            "--webhook-ca",
            trusted.to_str().expect("a name"),
        ],
    );
    server.page("/");
    let job = scratch.path().join("reads.fio");
    fathom([
        "run",
        job.to_str().expect("a name"),
        "--store",
        store.to_str().expect("a name"),
        "--quiet",
    ])
    .expect(0);
    let [refused, accepted] = &receivers;
    assert!(
        accepted
            .line_with(&["POST "])
            .starts_with("POST /hook HTTP/1.1")
    );
    let body = accepted.line_with(&["\"event\":\"run.ended\""]);
    assert!(body.contains("\"run\":\"r4\""), "{body}");
    // The connection ends in the handshake, with or without an alert, in the words of openssl.
    let end = refused.line_with(&["alert", "unexpected eof", "run.ended", "POST "]);
    assert!(end.contains("SSL routines"), "{end}");
}

const ECDSA: [&str; 4] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];

/// With a certificate of either kind the client of openssl reads the pages, and nothing is readable without TLS 1.3.
#[test]
fn pages_are_served_with_tls() {
    const TEST: &str = "pages_are_served_with_tls";
    let scratch = Scratch::new().expect("a directory");
    if !certificate(&scratch, "ec", &ECDSA)
        || !certificate(&scratch, "rsa", &["-newkey", "rsa:2048"])
    {
        eprintln!("SKIP: {TEST}: openssl is not installed");
        return;
    }
    let path = store(&scratch);
    let file = |name: &str| scratch.path().join(name);
    for kind in ["ec", "rsa"] {
        let (pem, key) = (file(&format!("{kind}.pem")), file(&format!("{kind}.key")));
        let arguments = [
            "--tls-cert",
            pem.to_str().expect("a name"),
            "--tls-key",
            key.to_str().expect("a name"),
        ];
        let server = Server::with(&path, &arguments);
        // Clients that say nothing, or half a hello: served one after the other, each would take 15 s.
        let mut silent = Vec::new();
        for number in 0..40 {
            let mut stream = TcpStream::connect(&server.address).expect("a connection");
            if number % 2 == 0 {
                stream
                    .write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
                    .expect("half a hello");
            }
            silent.push(stream);
        }
        let begun = std::time::Instant::now();
        let list = sealed(&server, &pem, "-tls1_3", "/api/v1/runs");
        assert!(list.starts_with("HTTP/1.1 200 "), "{kind}: {list}");
        assert!(list.contains("\"run\": \"r3\""), "{kind}: {list}");
        assert!(
            begun.elapsed() < Duration::from_secs(100),
            "{kind}: {:?}",
            begun.elapsed()
        );
        // Large answers need several records.
        let page = sealed(&server, &pem, "-tls1_3", "/runs/r1");
        assert!(page.ends_with("</body></html>\n"), "{kind}: {page}");
        let welcome = sealed(
            &server,
            &pem,
            "-tls1_3",
            &format!("/?token={}", server.token),
        );
        let cookie = welcome
            .lines()
            .find(|line| line.starts_with("set-cookie: "));
        assert!(
            cookie.is_some_and(|cookie| cookie.ends_with("; Secure")),
            "{kind}: {welcome}"
        );
        let other = file(if kind == "ec" { "rsa.pem" } else { "ec.pem" });
        assert_eq!(
            sealed(&server, &other, "-tls1_3", "/"),
            "",
            "{kind}: another certificate"
        );
        assert_eq!(
            sealed(&server, &pem, "-tls1_2", "/"),
            "",
            "{kind}: an old version"
        );
        let (head, body) = server.get("/");
        assert_eq!(status(&head), 400, "{kind}: {head}");
        assert!(
            body.contains("https://") && !body.contains("r3"),
            "{kind}: {body}"
        );
        drop(silent);
    }
}

#[test]
fn a_wrong_certificate_is_one_line() {
    const TEST: &str = "a_wrong_certificate_is_one_line";
    let scratch = Scratch::new().expect("a directory");
    if !certificate(&scratch, "one", &ECDSA) || !certificate(&scratch, "two", &ECDSA) {
        eprintln!("SKIP: {TEST}: openssl is not installed");
        return;
    }
    let store = store(&scratch);
    let file = |name: &str| {
        let path = scratch.path().join(name);
        path.to_str().expect("a name").to_owned()
    };
    std::fs::write(file("empty"), "").expect("a file");
    std::fs::write(
        file("locked"),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    )
    .expect("a file");
    for (certificate, key, wanted) in [
        ("none.pem", "one.key", "No such file"),
        ("one.pem", "none.key", "--tls-key: "),
        ("empty", "one.key", "no certificate as PEM"),
        ("one.key", "one.key", "no certificate as PEM"),
        ("one.pem", "empty", "no private key as PEM"),
        ("one.pem", "one.pem", "no private key as PEM"),
        ("one.pem", "locked", "without a passphrase"),
        ("one.pem", "two.key", "not that of the first certificate"),
        (".", "one.key", "directory"),
    ] {
        let ran = fathom([
            "serve",
            "--store",
            store.to_str().expect("a name"),
            "--tls-cert",
            &file(certificate),
            "--tls-key",
            &file(key),
        ]);
        assert_eq!(ran.code(), 2, "{certificate} {key}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(wanted), "{certificate} {key}: {}", ran.err);
        assert_eq!(
            ran.err.lines().count(),
            1,
            "{certificate} {key}: {}",
            ran.err
        );
    }
}

/// Regression 0995: the page compared single runs only, although `fathom compare` compares groups of repeats.
#[test]
fn regression_0995_groups_of_runs_are_compared() {
    let scratch = Scratch::new().expect("a directory");
    let path = store(&scratch);
    let store = path.to_str().expect("a name");
    let job = scratch.path().join("reads.fio");
    for _ in 0..2 {
        let job = job.to_str().expect("a name");
        fathom(["run", job, "--store", store, "--quiet"]).expect(0);
    }
    for (run, state) in [
        ("r1", "before"),
        ("r2", "before"),
        ("r4", "after"),
        ("r5", "after"),
    ] {
        fathom([
            "store",
            "label",
            run,
            &format!("state={state}"),
            "--store",
            store,
        ])
        .expect(0);
    }
    let server = Server::start(&path);
    let page = server.page("/compare?group=r1,r2&group=r4%20r5");
    assert!(page.contains("r1 r2 compared with r4 r5"), "{page}");
    assert!(page.contains("fathom compare r1 r2 --vs r4 r5"), "{page}");
    // Regression 1465: the page printed a command that is refused. Those of this page compare plans that differ, too.
    let advised = page.split("fathom compare ").nth(1).expect("a command");
    let advised = advised.split('<').next().expect("its end");
    let line = format!("compare {advised} --store={store}");
    let ran = fathom(line.split_whitespace());
    assert!(ran.code() != 2, "{line}: {}", ran.err);
    let labelled = server.page("/compare?group=state%3Dbefore&group=state%3Dafter");
    assert!(
        labelled.contains("state=before compared with state=after"),
        "{labelled}"
    );
    assert!(
        labelled.contains(
            "/api/v1/compare?group=state%3Dbefore&amp;group=state%3Dafter&amp;format=csv"
        ),
        "{labelled}"
    );
    // The figures are those of the command.
    let of_page = server.json("/api/v1/compare?group=state=before&group=state=after");
    let of_command = fathom([
        "compare", "r2", "r1", "--vs", "r5", "r4", "--json", "--store", store,
    ]);
    let of_command: Value = serde_json::from_str(&of_command.out).expect("JSON");
    assert!(
        of_page["comparison"]["rows"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty()),
        "{of_page}"
    );
    assert_eq!(
        of_page["comparison"]["rows"],
        of_command["comparison"]["rows"]
    );
    // A third group is named in front of its jobs.
    let three = server.page("/compare?group=r1,r2&group=state=after&group=r1");
    assert!(three.contains("state=after: "), "{three}");
    for (query, wanted) in [
        ("group=r1&group=state=none", "no finished run"),
        ("group=r1&group=x", "neither a list of runs"),
        ("group=r1&group=r2,a=b", "neither a list of runs"),
        (
            "group=state=before&group=state=after&name=other",
            "and the name",
        ),
    ] {
        let (head, body) = server.get(&format!("/compare?{query}"));
        assert_eq!(status(&head), 400, "{query}: {body}");
        assert!(body.contains(wanted), "{query}: {body}");
    }
}

/// Regression 0996: the page of experiments had a bar for each, and not their cells.
#[test]
fn regression_0996_experiments_are_grids_of_their_cells() {
    let scratch = Scratch::new().expect("a directory");
    let server = Server::start(&store(&scratch));
    let page = server.page("/experiments");
    for cell in ["/runs/r3.1", "/runs/r3.2"] {
        assert_eq!(
            page.matches(&format!("href=\"{cell}\"")).count(),
            1,
            "{page}"
        );
    }
    assert!(
        page.contains("iodepth=4") && page.contains("2 of 2 cells"),
        "{page}"
    );
    assert!(!page.contains("data-again"), "nothing is running: {page}");
}

/// Regression 1303: nothing was known of what the server costs a run on its host. A server that takes more than 1 % of the CPUs says so, on
/// standard error and to its viewers. What a hundred viewers cost, `cargo xtask measure` says.
#[test]
fn regression_1303_a_busy_server_says_so() {
    const VIEWERS: usize = 100;
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let messages = scratch.path().join("messages");
    let file = std::fs::File::create(&messages).expect("a file");
    let server = Server::saying(&store, &[], file.into());
    assert_eq!(niceness(server.child.id()), Some(19));
    let job = scratch.path().join("slow.fio");
    std::fs::write(
        &job,
        "[slow]\nioengine=null\nsize=1m\nrw=read\nrate_iops=100\ntime_based\nruntime=5m\n",
    )
    .expect("a job file");
    let mut run = program(["run", "--quiet", "--store"]);
    run.arg(&store).arg(&job);
    let mut run = run
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    state_of(&server, "r4", &["running"]);
    let mut viewers: Vec<TcpStream> = (0..VIEWERS)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).expect("a connection");
            let request = format!(
                "GET /api/v1/live/r4/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
                server.token
            );
            stream.write_all(request.as_bytes()).expect("a request");
            stream.set_nonblocking(true).expect("a setting");
            stream
        })
        .collect();
    // Each viewer is sent figures again and again.
    let (mut events, mut part) = (0, [0; 1 << 16]);
    wait_until("the viewers see figures", || {
        for viewer in &mut viewers {
            while let Ok(read @ 1..) = viewer.read(&mut part) {
                let text = String::from_utf8_lossy(&part[..read]);
                events += text.matches("event: figures").count();
            }
        }
        events >= 2 * VIEWERS
    });
    // Pages that are made without a pause.
    let said = |text: &str| text.contains("of the CPUs of this host while r4 is measured on it");
    let begin = std::time::Instant::now();
    let has_said = (0..)
        .take_while(|_| begin.elapsed() < Duration::from_secs(30))
        .any(|number| {
            server.get(&format!("/?q={number}"));
            number % 50 == 0 && said(&std::fs::read_to_string(&messages).expect("messages"))
        });
    assert!(
        has_said,
        "{}",
        std::fs::read_to_string(&messages).expect("messages")
    );
    // The limit of requests refuses more after so many; the sentence is kept for a minute.
    std::thread::sleep(Duration::from_secs(2));
    let document = server.json("/api/v1/live/r4");
    assert!(
        document["disturbance"].as_str().is_some_and(said),
        "{document}"
    );
    run.kill().expect("our own child");
    run.wait().expect("our own child");
}

/// Two gigabytes of zeros in two megabytes: the import reads 64 MiB of them, says so, and stores nothing.
#[test]
fn a_log_that_inflates_to_gigabytes_is_refused() {
    const TEST: &str = "a_log_that_inflates_to_gigabytes_is_refused";
    let scratch = Scratch::new().expect("a directory");
    let bomb = scratch.path().join("a_bw.1.log.fz");
    let made = Command::new("python3")
        // After a full flush a block does not depend on those before it, so that one is enough for all.
        .args(["-c", "import sys, zlib\nc = zlib.compressobj(9)\nblock = lambda: c.compress(bytes(1 << 20)) + c.flush(zlib.Z_FULL_FLUSH)\nopen(sys.argv[1], 'wb').write(block() + block() * 2047)"])
        .arg(&bomb)
        .status();
    if !made.is_ok_and(|made| made.success()) {
        eprintln!("SKIP: {TEST}: Python is not installed");
        return;
    }
    let store = scratch.path().join("s.db");
    let store = store.to_str().expect("a name");
    let directory = scratch.path().to_str().expect("a name");
    // Less memory than the log would need.
    let mut command = Command::new("prlimit");
    command
        .args(["--as=1500000000", env!("CARGO_BIN_EXE_fathom"), "import"])
        .args([directory, "--store", store]);
    let ran = command.output().expect("prlimit");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("inflates to more than 64 MiB"), "{said}");
    assert!(!Path::new(store).exists(), "{said}");
}
