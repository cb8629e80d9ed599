//! Attacks on a server, each as the bytes that a client sends. After each of them the server still answers, the store is
//! unchanged, and no answer contains the token.
#![cfg(feature = "http")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use fathom_model::{
    CellContent, Comparison, Experiment, Report, ReportBlock, ReportSection, Run, RunState,
    SpecLine, StoredCell, StoredFinding,
};
use fathom_serve::{Group, Library, Settings, SheetResults, serve};
use fathom_store::Store;
use fathom_testkit::Scratch;

const TOKEN: &str = "a-token-of-this-test-0123456789";
const FORM: &str = "a-secret-of-the-forms-13579";
const SESSION: &str = "a-session-of-this-test-9876543210";
/// What an attacker writes into names, labels, device models and imported files.
const NASTY: &str =
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&lt;</title></script>{{7*7}}\u{202e}";

struct Stored(Store);

impl Library for Stored {
    fn store(&mut self) -> &mut Store {
        &mut self.0
    }

    fn report(&mut self, names: &[String]) -> Result<Report, String> {
        let blocks = vec![
            ReportBlock::Text(NASTY.to_owned()),
            ReportBlock::Plan(NASTY.to_owned()),
        ];
        let section = ReportSection {
            blocks,
            ..ReportSection::default()
        };
        Ok(Report {
            title: format!("{NASTY} {}", names.join(" ")),
            sections: vec![section],
        })
    }

    fn compare(&mut self, _: &[Group]) -> Result<Comparison, String> {
        Err(format!("no comparison of {NASTY}"))
    }

    fn is_dead(&self, _: &Run) -> bool {
        false
    }

    fn is_measured_here(&self, _: &Run) -> bool {
        false
    }

    fn sheet_name(&self, _: &str) -> Option<String> {
        Some(NASTY.to_owned())
    }

    fn sheet(&mut self, _: &str, _: &[String]) -> Result<Option<SheetResults>, String> {
        let line = SpecLine {
            figure: NASTY.to_owned(),
            conditions: NASTY.to_owned(),
            measured_text: Some(NASTY.to_owned()),
            ..SpecLine::default()
        };
        Ok(Some(SheetResults {
            id: NASTY.to_owned(),
            product: NASTY.to_owned(),
            lines: vec![(line, NASTY.to_owned())],
            runs: 1,
        }))
    }
}

struct Server {
    address: SocketAddr,
    store: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    _scratch: Scratch,
}

impl Server {
    fn start() -> Server {
        let scratch = Scratch::new().expect("a directory");
        let store = scratch.path().join("store.db");
        fill(&mut Store::open(&store).expect("a store"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let settings = Settings {
            token: TOKEN.to_owned(),
            session: SESSION.to_owned(),
            hosts: vec!["bench.example".to_owned()],
            tls: None,
            proxy_header: None,
            utc_offset_s: 0,
            version: "0",
            webhooks: Vec::new(),
            starter: None,
            form_secret: FORM.to_owned(),
            note: |_| (),
            cpu_time: || Duration::ZERO,
        };
        let (path, ended) = (store.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let open = move || -> Result<Box<dyn Library>, String> {
                let mut store = Store::open_existing(&path).map_err(|error| error.to_string())?;
                store.only_reads().map_err(|error| error.to_string())?;
                Ok(Box::new(Stored(store)))
            };
            serve(listener, settings, Box::new(open), &|| ended.load(SeqCst)).expect("it serves");
        });
        Server {
            address,
            store,
            stop,
            thread: Some(thread),
            _scratch: scratch,
        }
    }

    /// Sends bytes and reads what comes back until the end of the connection, or until nothing comes for a second.
    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a timeout");
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, target: &str) -> String {
        self.send(request("GET", target, COOKIE).as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server failed"
            );
        }
    }
}

fn fill(store: &mut Store) {
    for number in 0..3 {
        let run = store
            .begin(&Experiment {
                kind: if number == 1 {
                    "sweep".into()
                } else {
                    "run".into()
                },
                name: NASTY.into(),
                command: vec!["fathom".into(), NASTY.into()],
                plan: NASTY.into(),
                facts: ["host", "kernel", "device", "target"]
                    .map(|name| (name.to_owned(), NASTY.to_owned()))
                    .to_vec(),
                labels: vec![("project".into(), NASTY.into())],
                planned: 2,
                created_unix_ns: 1_700_000_000_000_000_000,
                ..Experiment::default()
            })
            .expect("a run");
        for position in 1..=2 {
            let cell = StoredCell {
                position,
                axes: vec![(NASTY.into(), NASTY.into())],
                plan: NASTY.into(),
                verdict: NASTY.into(),
                notes: vec![NASTY.into()],
                figures: vec![("read iops".into(), 1000.0), (NASTY.into(), 1.0)],
                findings: vec![StoredFinding {
                    code: NASTY.into(),
                    weight: NASTY.into(),
                    about: NASTY.into(),
                    evidence: NASTY.into(),
                }],
                ..StoredCell::default()
            };
            store
                .save_cell(run, &cell, &CellContent::Nothing)
                .expect("a cell");
        }
        if number < 2 {
            store
                .finish(run, RunState::Finished, 1_700_000_001_000_000_000)
                .expect("an end");
        }
    }
}

/// The cookie of a browser that has logged in; `PORT` is replaced.
const COOKIE: &str = "Cookie: fathom-PORT=a-session-of-this-test-9876543210\r\n";

fn request(method: &str, target: &str, headers: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n")
}

/// What an attack must get.
enum Expect {
    /// One answer with one of these statuses.
    Status(&'static [u16]),
    /// A page or document without markup of the attacker.
    Harmless,
    /// A list without any run.
    NoRuns,
}
use Expect::{Harmless, NoRuns, Status};

fn status(answer: &str) -> u16 {
    answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0)
}

/// Name, bytes, and what must come back. `COOKIE` in the bytes is a valid login.
fn attacks() -> Vec<(String, String, Expect)> {
    let mut all: Vec<(String, String, Expect)> = Vec::new();
    let mut add =
        |name: &str, bytes: String, expect: Expect| all.push((name.to_owned(), bytes, expect));
    let own = |target: &str| request("GET", target, COOKIE);
    for target in [
        "/..",
        "/../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/assets/../../../etc/passwd",
        "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/runs/..%2f..%2f..%2fetc%2fpasswd",
        "/runs/%2fetc%2fpasswd",
        "/runs//etc/passwd",
        "/runs/r1/../../../etc/passwd",
        "/runs/file:%2f%2f%2fetc%2fpasswd",
        "/api/v1/runs/%2fetc%2fpasswd",
        "/api/v1/runs/..%5c..%5cetc%5cpasswd",
        "/live/..%2fstore.db",
        "/runs/r1%00.html",
        "/%c0%ae%c0%ae/etc/passwd",
        "/compare?runs=/etc/passwd,/etc/hostname",
        "/compare?runs=../r1,r2",
        "/api/v1/compare?runs=%2fetc%2fpasswd,r1",
    ] {
        add("traversal", own(target), Status(&[400, 404]));
    }
    for target in [
        "/",
        "/?cols=started,kind,state,verdict,device,host,kernel,target,labels,cells,iops",
        "/runs/r1",
        "/runs/r1.1",
        "/runs/r2",
        "/devices",
        "/devices?device=x",
        "/experiments",
        "/live",
        "/live/r3",
        "/trends?figure=read%20iops",
        "/compare?runs=r1,r2",
    ] {
        add("stored XSS", own(target), Harmless);
    }
    let nasty = "%22%27%3E%3Cscript%3Ealert(1)%3C/script%3E%3Cimg%20src=x%20onerror=alert(2)%3E";
    for target in [
        "/?q=",
        "/?device=",
        "/?label=a=",
        "/?label=",
        "/trends?figure=",
        "/trends?name=x&figure=a&device=",
        "/?kind=",
        "/?cols=",
    ] {
        add("reflected XSS", own(&format!("{target}{nasty}")), Harmless);
    }
    for target in ["/compare?runs=", "/?before=", "/?limit="] {
        add(
            "reflected XSS in an error",
            own(&format!("{target}{nasty}")),
            Status(&[400]),
        );
    }
    for (method, target) in [
        ("POST", "/"),
        ("PUT", "/runs/r1"),
        ("DELETE", "/api/v1/runs/r1"),
        ("PATCH", "/api/v1/runs/r1"),
        ("POST", "/api/v1/runs"),
        ("OPTIONS", "/api/v1/runs"),
        ("TRACE", "/"),
        ("CONNECT", "localhost:1"),
    ] {
        add(
            "a change",
            request(method, target, COOKIE),
            Status(&[400, 405]),
        );
    }
    let form = |headers: &str| {
        let body = format!("token={TOKEN}");
        format!(
            "POST /login HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for headers in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        add("CSRF of the login", form(headers), Status(&[403]));
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:80",
        "bench.example.evil.example",
        "localhost@evil.example",
        "",
    ] {
        add(
            "DNS rebinding",
            format!("GET / HTTP/1.1\r\nHost: {host}\r\n{COOKIE}Connection: close\r\n\r\n"),
            Status(&[400, 403]),
        );
    }
    add(
        "no host",
        format!("GET / HTTP/1.1\r\n{COOKIE}Connection: close\r\n\r\n"),
        Status(&[400, 403]),
    );
    add(
        "two hosts",
        format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n{COOKIE}Connection: close\r\n\r\n"
        ),
        Status(&[400, 403]),
    );
    add(
        "an address of another site",
        format!(
            "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n{COOKIE}Connection: close\r\n\r\n"
        ),
        Status(&[400]),
    );
    let hidden = "GET /runs/r1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let smuggled = |headers: &str, body: &str| {
        format!("POST /login HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n{body}")
    };
    for (headers, body) in [
        (
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
            "0\r\n\r\nX",
        ),
        ("Content-Length: 4\r\nContent-Length: 40\r\n", "abcd"),
        ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        ("Content-Length: +4\r\n", "abcd"),
        ("Content-Length: 0x4\r\n", "abcd"),
        ("Content-Length: 4\r\n X: folded\r\n", "abcd"),
    ] {
        add(
            "request smuggling",
            smuggled(headers, &format!("{body}{hidden}")),
            Status(&[400, 401, 403, 413]),
        );
    }
    add(
        "a body of a GET",
        format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\n{COOKIE}Content-Length: {}\r\n\r\n{hidden}",
            hidden.len()
        ),
        Status(&[413]),
    );
    add(
        "a long address",
        own(&format!("/?q={}", "a".repeat(6000))),
        Status(&[414]),
    );
    add(
        "a long header",
        request(
            "GET",
            "/",
            &format!("{COOKIE}X: {}\r\n", "a".repeat(100_000)),
        ),
        Status(&[0, 400, 431]),
    );
    add(
        "many headers",
        request("GET", "/", &format!("{COOKIE}{}", "X: a\r\n".repeat(500))),
        Status(&[0, 400, 431]),
    );
    add(
        "many parameters",
        own(&format!("/?{}", "q=a&".repeat(200))),
        Status(&[400]),
    );
    add(
        "a large form",
        format!(
            "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{}",
            "a".repeat(100_000)
        ),
        Status(&[0, 413]),
    );
    add(
        "no HTTP",
        "\u{16}\u{3}\u{1} TLS?".to_owned(),
        Status(&[0, 400]),
    );
    for q in [
        "%27%20OR%201=1%20--",
        "%25%27%20OR%20%27%25%27=%27",
        "x%27);DROP%20TABLE%20run;--",
        "%25%25%25",
        "_______",
    ] {
        add("SQL injection", own(&format!("/api/v1/runs?q={q}")), NoRuns);
    }
    for (name, value) in [
        ("kind", "%27%20OR%201=1%20--"),
        ("state", "x%27%20UNION%20SELECT%201"),
        ("verdict", "valid%27%20OR%201=1"),
        ("device", "%27%20OR%201=1%20--"),
        ("label", "a=%27%20OR%20%271%27=%271"),
    ] {
        add(
            "SQL injection",
            own(&format!("/api/v1/runs?{name}={value}")),
            NoRuns,
        );
    }
    for query in [
        "before=1%20OR%201=1",
        "limit=1;DROP%20TABLE%20run",
        "limit=-1",
        "limit=999999999",
        "limit=1e3",
        "after=r1%27",
    ] {
        add(
            "SQL injection in a number",
            own(&format!("/api/v1/runs?{query}")),
            Status(&[400]),
        );
    }
    add(
        "SQL injection",
        own("/api/v1/runs/r1%20OR%201=1"),
        Status(&[404]),
    );
    for (target, headers) in [
        ("/", ""),
        ("/runs/r1", ""),
        ("/api/v1/runs", ""),
        ("/api/v1/openapi.json", ""),
        ("/metrics", ""),
        ("/api/v1/live/r3/events", ""),
        ("/nothing", ""),
        ("/", "Cookie: fathom-PORT=\r\n"),
        (
            "/",
            "Cookie: fathom-PORT=a-token-of-this-test-0123456789\r\n",
        ),
        ("/", "X-Forwarded-User: root\r\n"),
        ("/", "X-Forwarded-For: 127.0.0.1\r\n"),
    ] {
        add("no login", request("GET", target, headers), Status(&[401]));
    }
    add(
        "the token of the API in an address",
        request("GET", &format!("/api/v1/runs?token={TOKEN}"), ""),
        Status(&[401]),
    );
    for target in [
        "/?q=%0d%0aSet-Cookie:%20a=b",
        "/runs/r1%0d%0aX:%20y",
        &format!("/%0d%0aLocation:%20x?token={TOKEN}"),
    ] {
        add("header injection", own(target), Status(&[400]));
    }
    all
}

#[test]
fn attacks_get_nothing() {
    let server = Server::start();
    let port = server.address.port().to_string();
    let before = Store::open_existing(&server.store)
        .expect("the store")
        .runs()
        .expect("runs");
    let all = attacks();
    assert!(all.len() >= 60, "{}", all.len());
    for (name, bytes, expect) in all {
        let bytes = bytes.replace("PORT", &port);
        let shown = bytes.chars().take(200).collect::<String>();
        let answer = server.send(bytes.as_bytes());
        // One answer, whatever a request hides in its body.
        assert!(
            answer.matches("HTTP/1.1 ").count() <= 1,
            "{name}: {shown}\n{answer}"
        );
        assert!(!answer.contains("root:"), "{name}: {shown}\n{answer}");
        assert!(
            !answer.contains(TOKEN) && !answer.contains(SESSION),
            "{name}: {shown}\n{answer}"
        );
        for markup in ["<script>alert", "<img"] {
            assert!(!answer.contains(markup), "{name}: {shown}\n{answer}");
        }
        match expect {
            Status(wanted) => assert!(
                wanted.contains(&status(&answer)),
                "{name}: {shown}\n{answer}"
            ),
            Harmless => assert_eq!(status(&answer), 200, "{name}: {shown}\n{answer}"),
            NoRuns => {
                assert_eq!(status(&answer), 200, "{name}: {shown}\n{answer}");
                assert!(answer.contains("\"runs\": []"), "{name}: {shown}\n{answer}");
            }
        }
        assert_eq!(status(&server.get("/healthz")), 200, "{name}: {shown}");
    }
    // The same requests without an attack work.
    let list = server.get("/api/v1/runs").replace("PORT", &port);
    assert_eq!(status(&list), 401, "the cookie has another name: {list}");
    let list = server.send(
        request("GET", "/api/v1/runs", COOKIE)
            .replace("PORT", &port)
            .as_bytes(),
    );
    assert!(
        list.contains("\"run\": \"r3\"") && list.contains("\"run\": \"r1\""),
        "{list}"
    );
    assert_eq!(
        Store::open_existing(&server.store)
            .expect("the store")
            .runs()
            .expect("runs"),
        before
    );
}

#[test]
fn every_answer_has_the_headers_of_security() {
    let server = Server::start();
    for target in ["/", "/healthz", "/nothing", "/api/v1/runs", "/%"] {
        let answer = server.get(target).to_lowercase();
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
        ] {
            assert!(head.contains(header), "{target}: {head}");
        }
        assert!(
            !head.contains("unsafe-inline") && !head.contains("access-control-allow"),
            "{head}"
        );
    }
}

/// A run is in one state: a degraded run is neither valid nor invalid.
#[test]
fn metrics_have_one_verdict_for_each_run() {
    const VERDICTS: [&str; 3] = ["valid", "degraded", "invalid"];
    let server = Server::start();
    let mut store = Store::open(&server.store).expect("the store");
    for verdict in VERDICTS {
        let experiment = Experiment {
            kind: "run".into(),
            name: format!("{verdict} run"),
            planned: 1,
            created_unix_ns: 1_700_000_000_000_000_000,
            ..Experiment::default()
        };
        let run = store.begin(&experiment).expect("a run");
        let cell = StoredCell {
            position: 1,
            verdict: verdict.into(),
            figures: vec![("read iops".into(), 1000.0)],
            ..StoredCell::default()
        };
        store
            .save_cell(run, &cell, &CellContent::Nothing)
            .expect("a cell");
        store
            .finish(run, RunState::Finished, 1_700_000_001_000_000_000)
            .expect("an end");
    }
    let port = server.address.port().to_string();
    let get = request("GET", "/metrics", COOKIE).replace("PORT", &port);
    let metrics = server.send(get.as_bytes());
    for verdict in VERDICTS {
        for state in VERDICTS {
            let line = format!(
                "fathom_newest_verdict{{name=\"{verdict} run\",kind=\"run\",host=\"\",device=\"\",\
                 fathom_newest_verdict=\"{state}\"}} {}\n",
                u8::from(verdict == state)
            );
            assert!(metrics.contains(&line), "{line}{metrics}");
        }
    }
}

#[test]
fn a_link_with_the_token_logs_in_and_goes_nowhere_else() {
    let server = Server::start();
    let port = server.address.port();
    let answer =
        server.send(request("GET", &format!("/runs/r1?token={TOKEN}&q=a%20b"), "").as_bytes());
    assert_eq!(status(&answer), 200, "{answer}");
    let cookie = format!("set-cookie: fathom-{port}={SESSION}; Path=/; HttpOnly; SameSite=Strict");
    assert!(answer.contains(&cookie), "{answer}");
    assert!(
        answer.contains("refresh: 0; url=/runs/r1?q=a%20b\r\n"),
        "{answer}"
    );
    for target in [
        "//evil.example/",
        "/%2f%2fevil.example/",
        "/%5cevil.example/",
        "///evil.example",
    ] {
        let answer = server.send(request("GET", &format!("{target}?token={TOKEN}"), "").as_bytes());
        let next = answer
            .split("refresh: 0; url=")
            .nth(1)
            .and_then(|rest| rest.lines().next())
            .unwrap_or("/");
        assert!(
            next.starts_with('/') && !next.starts_with("//") && !next.contains('\\'),
            "{target}: {answer}"
        );
    }
}

/// A guesser gets ten tries, then one in five seconds; who is logged in already is not locked out.
#[test]
fn tokens_cannot_be_guessed_quickly() {
    let server = Server::start();
    let tried: Vec<u16> =
        (0..30)
            .map(|number| {
                status(&server.send(
                    request("GET", &format!("/?token=guess-number-{number:08}"), "").as_bytes(),
                ))
            })
            .collect();
    let allowed = tried.iter().filter(|status| **status == 401).count();
    assert!((10..=20).contains(&allowed), "{tried:?}");
    assert!(
        tried.iter().all(|status| [401, 429].contains(status)),
        "{tried:?}"
    );
    let right = request("GET", "/", COOKIE).replace("PORT", &server.address.port().to_string());
    assert_eq!(status(&server.send(right.as_bytes())), 200);
}

/// Half requests and streams that nobody reads do not keep others out, and streams are limited.
#[test]
fn idle_clients_and_floods_of_streams_keep_nobody_out() {
    let server = Server::start();
    let port = server.address.port().to_string();
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(server.address).expect("a connection");
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: loc")
            .expect("half a request");
        open.push(stream);
    }
    let events = request("GET", "/api/v1/live/r3/events", COOKIE).replace("PORT", &port);
    let mut refused = 0;
    for _ in 0..160 {
        let mut stream = TcpStream::connect(server.address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a timeout");
        stream.write_all(events.as_bytes()).expect("a request");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        match &head[9..] {
            b"200" => open.push(stream),
            b"503" => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 160 - 128);
    let begun = Instant::now();
    let list = server.send(
        request("GET", "/api/v1/runs", COOKIE)
            .replace("PORT", &port)
            .as_bytes(),
    );
    assert_eq!(status(&list), 200, "{list}");
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_known_content_is_not_sent_again() {
    let server = Server::start();
    let port = server.address.port().to_string();
    let get = |headers: &str| {
        server.send(
            request("GET", "/api/v1/runs?limit=2", &format!("{COOKIE}{headers}"))
                .replace("PORT", &port)
                .as_bytes(),
        )
    };
    let first = get("");
    let tag = first
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .expect("a tag")
        .to_owned();
    assert!(
        first.contains("link: </api/v1/runs?limit=2&before=r2>; rel=\"next\""),
        "{first}"
    );
    let again = get(&format!("If-None-Match: {tag}\r\n"));
    assert_eq!(status(&again), 304, "{again}");
    assert!(again.ends_with("\r\n\r\n"), "{again}");
    assert_eq!(status(&get("If-None-Match: \"other\"\r\n")), 200);
    // After a change of the store the content is new.
    let mut store = Store::open_existing(&server.store).expect("the store");
    store
        .begin(&Experiment {
            kind: "run".into(),
            name: "later".into(),
            ..Experiment::default()
        })
        .expect("a run");
    let changed = get(&format!("If-None-Match: {tag}\r\n"));
    assert!(
        status(&changed) == 200 && changed.contains("\"name\": \"later\""),
        "{changed}"
    );
}
