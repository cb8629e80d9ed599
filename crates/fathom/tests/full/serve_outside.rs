//! What others see of `fathom serve`: Chromium and Prometheus.

#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

use crate::serve_support::*;
use fathom_testkit::Scratch;
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The part of a text between two others, which it has.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0
}

/// Prometheus with the configuration of docs/how-to/team.md reads the server, and every panel and every variable of the dashboard finds
/// something in it.
#[test]
fn the_dashboard_shows_what_prometheus_reads() {
    const TEST: &str = "the_dashboard_shows_what_prometheus_reads";
    let scratch = Scratch::new().expect("a directory");
    let file = |name: &str| scratch.path().join(name);
    let server = Server::start(&store(&scratch));
    std::fs::write(file("token"), &server.token).expect("a file");
    let page = include_str!("../../../../docs/how-to/team.md");
    let configuration = between(page, "```yaml\n", "```")
        .replace("/etc/fathom/token", &file("token").display().to_string())
        .replace("127.0.0.1:8410", &server.address)
        .replace(
            "scrape_interval: 1m",
            "scrape_interval: 1s\n    scrape_timeout: 1s",
        );
    std::fs::write(file("prometheus.yml"), configuration).expect("a file");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = free.local_addr().expect("an address").to_string();
    drop(free);
    let started = Command::new("prometheus")
        .arg(format!(
            "--config.file={}",
            file("prometheus.yml").display()
        ))
        .arg(format!("--storage.tsdb.path={}", file("data").display()))
        .arg(format!("--web.listen-address={place}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(prometheus) = started else {
        eprintln!("SKIP: {TEST}: Prometheus is not installed");
        return;
    };
    // Ended at the end of the test.
    let prometheus = Server {
        child: prometheus,
        address: place,
        token: String::new(),
    };
    let ask = |path: &str, query: &str| -> Value {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        // Two minutes: a server without data never has any.
        for _ in 0..1200 {
            if TcpStream::connect(&prometheus.address).is_ok() {
                let (_, body) = prometheus.get(&format!("{path}{encoded}"));
                // The body may come in chunks, each with its length.
                let json: String = body.lines().filter(|line| line.starts_with('{')).collect();
                let answer: Value = serde_json::from_str(&json).unwrap_or_default();
                assert_ne!(answer["status"], "error", "{query}: {answer}");
                let found = &answer["data"]["result"];
                let found = if found.is_null() {
                    &answer["data"]
                } else {
                    found
                };
                if found.as_array().is_some_and(|found| !found.is_empty()) {
                    return found.clone();
                }
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{query}: nothing");
    };
    let runs = ask("/api/v1/query?query=", "fathom_store_runs");
    assert_eq!(runs[0]["value"][1], "3", "{runs}");
    let dashboard = include_str!("../../../../packaging/grafana/fathom.json");
    let dashboard: Value = serde_json::from_str(dashboard).expect("JSON");
    let variables = dashboard["templating"]["list"]
        .as_array()
        .expect("variables");
    assert_eq!(variables.len(), 2);
    for variable in variables {
        let query = variable["query"]["query"].as_str().expect("a query");
        let (metric, label) = between(query, "label_values(", ")")
            .split_once(", ")
            .expect("a metric and a label");
        let values = ask(&format!("/api/v1/label/{label}/values?match[]="), metric);
        assert!(
            values
                .as_array()
                .is_some_and(|values| values.iter().all(|value| value != "")),
            "{query}: {values}"
        );
    }
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() >= 6);
    for panel in panels {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("an expression");
            let query = query.replace("$run", ".*").replace("$host", ".*");
            ask("/api/v1/query?query=", &query);
        }
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
    let trend = format!(
        "/trends?figure=read%20iops&name={}&",
        name_of(&server, "r1")
    );
    for (target, wanted) in [
        ("/?", "Compare r3"),
        ("/runs/r3?", "<canvas"),
        ("/trends?figure=read%20iops&", "<polyline"),
        (&trend, "<canvas"),
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
