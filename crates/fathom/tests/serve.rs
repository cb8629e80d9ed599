//! `fathom serve`: pages and the API over the results of real runs, in a browser where there is one.
#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{fathom, program};
use fathom_testkit::Scratch;
use serde_json::Value;

/// A server over a store; it is ended at the end of the test.
struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    address: String,
    token: String,
}

impl Server {
    fn start(store: &Path) -> Server {
        let mut command = program(["serve", "--store"]);
        let mut child = command
            .arg(store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("standard output"))
            .read_line(&mut line)
            .expect("an address");
        let (address, token) = line
            .trim()
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once("/?token="))
            .unwrap_or_else(|| panic!("an address with a token: {line:?}"));
        Server {
            child,
            address: address.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Head and body of the answer.
    fn get(&self, target: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(600)))
            .expect("a timeout");
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            self.address, self.token
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    fn page(&self, target: &str) -> String {
        let (head, body) = self.get(target);
        assert!(
            head.starts_with("HTTP/1.1 200 "),
            "{target}: {head}\n{body}"
        );
        body
    }

    fn json(&self, target: &str) -> Value {
        let body = self.page(target);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{target}: {error}: {body}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A store with two equal measurements of a simulated disk, r1 and r2, and a sweep of it, r3.
fn store(scratch: &Scratch) -> std::path::PathBuf {
    let store = scratch.path().join("store.db");
    let job = scratch.path().join("reads.fio");
    std::fs::write(
        &job,
        "[reads]\nrw=randread\nbs=4k\nsize=64m\nioengine=null\nnumber_ios=2000\n",
    )
    .expect("a job file");
    let run = |arguments: &[&str]| {
        let mut all: Vec<&str> = arguments.to_vec();
        let store = store.to_str().expect("a name");
        all.extend(["--store", store, "--quiet"]);
        let ran = fathom(&all);
        assert!(
            [0, 1].contains(&ran.code()),
            "{all:?}: {}{}",
            ran.out,
            ran.err
        );
    };
    // The simulated disk has no results of an engine that reads nothing.
    let swept = scratch.path().join("swept.fio");
    std::fs::write(
        &swept,
        "[reads]\nrw=randread\nbs=4k\nsize=64m\nioengine=libaio\n",
    )
    .expect("a job file");
    let job = job.to_str().expect("a name");
    let swept = swept.to_str().expect("a name");
    run(&["run", job]);
    run(&["run", job]);
    run(&[
        "sweep",
        swept,
        "--device=hdd-7200",
        "--axis",
        "iodepth=1,4",
        "--set",
        "number_ios=200",
    ]);
    let listed = fathom(["runs", "--store", store.to_str().expect("a name")]);
    assert_eq!(listed.out.matches("finished").count(), 3, "{}", listed.out);
    store
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

/// The first of these browsers that is installed.
fn browser(test: &str) -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        });
    if found.is_none() {
        eprintln!("SKIP: {test}: Chromium is not installed");
    }
    found
}

/// The document after its scripts have run, and the messages of the browser; `None` if Chromium does not work.
fn visited(browser: &str, scratch: &Scratch, address: &str) -> Option<(String, String)> {
    let ran = Command::new("timeout")
        .args([
            "300",
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--window-size=1400,900",
            "--enable-logging=stderr",
            "--v=0",
        ])
        .arg(format!(
            "--user-data-dir={}",
            scratch.path().join("profile").display()
        ))
        // Whatever is asked of another host fails and is logged.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        .args(["--virtual-time-budget=10000", "--dump-dom", address])
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&ran.stdout).into_owned();
    dom.contains("</html>")
        .then(|| (dom, String::from_utf8_lossy(&ran.stderr).into_owned()))
}

/// In Chromium the printed address logs in, charts are drawn, and the policy of the pages is not violated.
#[test]
fn a_browser_shows_the_pages() {
    const TEST: &str = "a_browser_shows_the_pages";
    let Some(browser) = browser(TEST) else { return };
    let scratch = Scratch::new().expect("a directory");
    let server = Server::start(&store(&scratch));
    for (target, wanted) in [
        ("/?", "Compare r3"),
        ("/runs/r3?", "<canvas"),
        ("/trends?figure=read%20iops&", "<canvas"),
        ("/compare?runs=r1,r2&", "r1 compared with r2"),
    ] {
        let address = format!("http://{}{target}token={}", server.address, server.token);
        let Some((dom, log)) = visited(browser, &scratch, &address) else {
            eprintln!("SKIP: {TEST}: Chromium does not work on this machine");
            return;
        };
        assert!(dom.contains(wanted), "{target}: {wanted}: {dom}");
        assert!(
            !dom.contains(&server.token),
            "{target}: the token stays in the page"
        );
        for problem in [
            "Content Security Policy",
            "Refused to",
            "Uncaught",
            "ERR_NAME_NOT_RESOLVED",
        ] {
            assert!(!log.contains(problem), "{target}: {log}");
        }
    }
}
