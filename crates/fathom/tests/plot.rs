//! `fathom plot` and `fathom report` as a user calls them: pictures, tables and pages of results of fio.

mod common;

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::fathom;
use fathom_testkit::Scratch;

/// Two results of fio, as short as they can be.
fn results(folder: &Path) -> Vec<String> {
    let one = |depth: u32, iops: f64, mean: f64| {
        let name = "<img src=http://198.51.100.7/x onerror=alert(1)>";
        let text = format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "{name}", "job options": {{"rw": "randread", "bs": "4k", "iodepth": "{depth}", "ioengine": "libaio"}},
            "usr_cpu": 2.0, "sys_cpu": 8.0, "read": {{"iops": {iops}, "bw_bytes": {}, "runtime": 10000, "total_ios": {},
            "clat_ns": {{"min": 1, "max": 9000000, "mean": {mean}, "stddev": 1.0, "N": {}, "percentile": {{"50.000000": {mean}, "99.000000": {}}}}}}}}}]}}"#,
            iops * 4096.0, iops * 10.0, iops * 10.0, mean * 4.0
        );
        let path = folder.join(format!("depth{depth}.json"));
        std::fs::write(&path, text).expect("a result is written");
        path.display().to_string()
    };
    vec![one(1, 10_000.0, 100_000.0), one(4, 32_000.0, 125_000.0), one(16, 40_000.0, 400_000.0)]
}

fn folder(scratch: &Scratch) -> PathBuf {
    scratch.path().to_owned()
}

#[test]
fn a_chart_comes_as_picture_page_and_table() {
    let scratch = Scratch::new().expect("a folder");
    results(&folder(&scratch));
    let file = |ending: &str| folder(&scratch).join(format!("depth.{ending}")).display().to_string();
    let place = folder(&scratch).display().to_string();
    let table = fathom(["plot", place.as_str(), "--chart=depth", "-o", &file("csv")]);
    assert!(table.status.success(), "{}", table.err);
    let text = std::fs::read_to_string(file("csv")).expect("the table");
    assert!(text.contains("\r\n16,40000,0.4,1.6\r\n"), "{text}");
    let drawn = fathom(["plot", place.as_str(), "--chart=depth", "-o", &file("svg"), "-o", &file("png"), "-o", &file("html")]);
    if drawn.err.contains("no chart script") {
        eprintln!("SKIP: a_chart_comes_as_picture_page_and_table: this build has no chart script");
        return;
    }
    assert!(drawn.status.success() && drawn.out.is_empty() && drawn.err.is_empty(), "{}", drawn.err);
    assert!(std::fs::read(file("png")).expect("the picture").starts_with(b"\x89PNG\r\n\x1a\n"));
    let svg = std::fs::read_to_string(file("svg")).expect("the picture");
    assert!(svg.starts_with("<svg") && svg.contains("IOPS and latency by queue depth"));
}

#[test]
fn what_cannot_be_drawn_is_refused_with_a_way_out() {
    let scratch = Scratch::new().expect("a folder");
    let all = results(&folder(&scratch));
    let refused = |arguments: &[&str], says: &str| {
        let ran = fathom(["plot"].iter().chain(arguments));
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    };
    refused(&[&all[0]], "where to?");
    refused(&[&all[0], "-o", "x.gif"], ".svg, .png, .html or .csv");
    refused(&[&all[0], "--chart=pie", "-o", "x.csv"], "there is no chart 'pie'; there are depth");
    refused(&[&all[0], "--chart=time", "-o", "x.csv"], "json+");
    refused(&[&all[0], "--colour", "-o", "x.csv"], "there is no option '--colour'");
    refused(&["/nowhere.json", "-o", "x.csv"], "/nowhere.json cannot be read");
    refused(&[&all[0], "--slo=2ms", "-o", "x.csv"], "such as p99:2ms");
}

#[test]
fn a_report_tells_everything_and_runs_nothing_from_outside() {
    let scratch = Scratch::new().expect("a folder");
    results(&folder(&scratch));
    let file = |ending: &str| folder(&scratch).join(format!("report.{ending}")).display().to_string();
    let place = folder(&scratch).display().to_string();
    let ran = fathom(["report", place.as_str(), "-o", &file("md")]);
    assert!(ran.status.success(), "{}", ran.err);
    let text = std::fs::read_to_string(file("md")).expect("the report");
    assert!(text.contains("40,000") && text.contains("rw=randread") && text.contains("400 µs"), "{text}");
    // In a block of code, four spaces in, nothing is markup.
    assert!(text.lines().all(|line| line.starts_with("    ") || !line.contains("<img")));
    let ran = fathom(["report", place.as_str(), "-o", &file("html")]);
    if ran.err.contains("no chart script") {
        eprintln!("SKIP: a_report_tells_everything_and_runs_nothing_from_outside: this build has no chart script");
        return;
    }
    let page = std::fs::read_to_string(file("html")).expect("the report");
    // The chart script has a picture element of its own to save a chart with.
    assert!(page.contains("&lt;img src=http") && !page.contains("<img src=http"));
    assert!(page.len() < 1_300_000, "{} bytes", page.len());
}

/// What a reader does, done to the page by events of the mouse; what came of it stands in the title.
const READER: &str = r#"<script>window.addEventListener('load', function () { setTimeout(function () {
  var said = {}, violations = 0, place = document.querySelector('[data-chart="0"]'), chart;
  document.addEventListener('securitypolicyviolation', function () { violations += 1; });
  place.scrollIntoView();
  setTimeout(function () {
    chart = window.fathomCharts.get(place);
    said.drawn = !!chart;
    var box = place.querySelector('canvas').getBoundingClientRect();
    var at = function (kind, x, y) { place.querySelector('canvas').dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: box.left + x, clientY: box.top + y, view: window })); };
    at('mousemove', box.width / 2, box.height / 2);
    setTimeout(function () {
      said.tip = place.textContent.indexOf('IOPS') >= 0;
      var name = chart.getOption().legend[0].data[0];
      chart.dispatchAction({ type: 'legendToggleSelect', name: name });
      said.hidden = chart.getOption().legend[0].selected[name] === false;
      var load = null;
      window.fathomCharts.forEach(function (one) { if (one.getOption().dataZoom && one.getOption().dataZoom.length) load = load || one; });
      if (load) { load.dispatchAction({ type: 'dataZoom', start: 20, end: 60 }); said.zoomed = load.getOption().dataZoom[0].start === 20; }
      document.getElementById('theme').click();
      said.dark = document.documentElement.classList.contains('dark');
      var details = document.querySelector('details[data-table="0"]'); details.open = true;
      setTimeout(function () {
        said.rows = details.querySelectorAll('tr').length;
        said.images = document.images.length;
        said.requests = performance.getEntriesByType('resource').filter(function (one) { return !/^(data|blob):/.test(one.name); }).length;
        said.violations = violations;
        document.title = 'SAID ' + JSON.stringify(said);
      }, 200);
    }, 400);
  }, 600);
}, 100); });</script></body>"#;

#[test]
fn a_reader_hovers_toggles_zooms_and_nothing_goes_out() {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success()));
    let Some(browser) = browser else {
        eprintln!("SKIP: a_reader_hovers_toggles_zooms_and_nothing_goes_out: no Chromium is there");
        return;
    };
    let scratch = Scratch::new().expect("a folder");
    results(&folder(&scratch));
    let page = folder(&scratch).join("report.html");
    let ran = fathom(["report", folder(&scratch).to_str().expect("a name"), "-o", page.to_str().expect("a name")]);
    if ran.err.contains("no chart script") {
        eprintln!("SKIP: a_reader_hovers_toggles_zooms_and_nothing_goes_out: this build has no chart script");
        return;
    }
    let text = std::fs::read_to_string(&page).expect("the report").replace("</body>", READER);
    std::fs::write(&page, text).expect("the page is written");
    // Whatever the page asked for would come here.
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    proxy.set_nonblocking(true).expect("it does not wait");
    let mut said = None;
    // A machine with other work may disturb one visit, not each of three.
    for _ in 0..3 {
        match visit(browser, &folder(&scratch), &page, &proxy) {
            None => {
                eprintln!("SKIP: a_reader_hovers_toggles_zooms_and_nothing_goes_out: Chromium does not get along on this machine");
                return;
            }
            Some(told) => {
                let done = ["drawn", "tip", "hidden", "zoomed", "dark"].iter().all(|what| told[*what] == true);
                said = Some(told);
                if done {
                    break;
                }
            }
        }
    }
    let said = said.expect("there was a visit");
    for what in ["drawn", "tip", "hidden", "zoomed", "dark"] {
        assert_eq!(said[what], true, "{what}: {said}");
    }
    assert!(said["rows"].as_u64() >= Some(4), "{said}");
    assert_eq!((said["images"].as_u64(), said["requests"].as_u64(), said["violations"].as_u64()), (Some(0), Some(0), Some(0)), "{said}");
    assert!(matches!(proxy.accept(), Err(error) if error.kind() == ErrorKind::WouldBlock), "something asked the network for something");
}

/// What the reader said; nothing where the browser did not come to an end.
fn visit(browser: &str, folder: &Path, page: &Path, proxy: &TcpListener) -> Option<serde_json::Value> {
    let ran = Command::new("timeout")
        .args(["60", browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-component-update", "--window-size=1000,900"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(["--virtual-time-budget=8000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .env("http_proxy", format!("http://{}", proxy.local_addr().expect("it has one")))
        .stderr(Stdio::null())
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&ran.stdout);
    let said = dom.split("SAID ").nth(1).and_then(|rest| rest.split("</title>").next())?;
    serde_json::from_str(said).ok()
}
