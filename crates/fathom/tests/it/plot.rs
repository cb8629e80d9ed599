//! `fathom plot` and `fathom report` as users call them: images, tables and pages of fio results.

use crate::common;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::fathom;
use fathom_testkit::Scratch;

/// Three minimal results of fio.
fn results(directory: &Path) -> Vec<String> {
    let one = |depth: u32, iops: f64, mean: f64| {
        let name = "<img src=http://198.51.100.7/x onerror=alert(1)>";
        let text = format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "{name}", "job options": {{"rw": "randread", "bs": "4k", "iodepth": "{depth}", "ioengine": "libaio"}},
            "usr_cpu": 2.0, "sys_cpu": 8.0, "read": {{"iops": {iops}, "bw_bytes": {}, "runtime": 10000, "total_ios": {},
            "clat_ns": {{"min": 1, "max": 9000000, "mean": {mean}, "stddev": 1.0, "N": {}, "percentile": {{"50.000000": {mean}, "99.000000": {}}}}}}}}}]}}"#,
            iops * 4096.0,
            iops * 10.0,
            iops * 10.0,
            mean * 4.0
        );
        let path = directory.join(format!("depth{depth}.json"));
        std::fs::write(&path, text).expect("a result is written");
        path.display().to_string()
    };
    vec![
        one(1, 10_000.0, 100_000.0),
        one(4, 32_000.0, 125_000.0),
        one(16, 40_000.0, 400_000.0),
    ]
}

fn directory(scratch: &Scratch) -> PathBuf {
    scratch.path().to_owned()
}

#[test]
fn a_chart_is_written_as_image_page_and_table() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let file = |ending: &str| {
        directory(&scratch)
            .join(format!("depth.{ending}"))
            .display()
            .to_string()
    };
    let path = directory(&scratch).display().to_string();
    let table = fathom(["plot", path.as_str(), "--chart=depth", "-o", &file("csv")]);
    assert!(table.status.success(), "{}", table.err);
    let text = std::fs::read_to_string(file("csv")).expect("the table");
    assert!(text.contains("\r\n16,40000,0.4,1.6\r\n"), "{text}");
    let drawn = fathom([
        "plot",
        path.as_str(),
        "--chart=depth",
        "-o",
        &file("svg"),
        "-o",
        &file("png"),
        "-o",
        &file("html"),
    ]);
    if drawn.err.contains("no chart script") {
        eprintln!(
            "SKIP: a_chart_is_written_as_image_page_and_table: this build has no chart script"
        );
        return;
    }
    assert!(
        drawn.status.success() && drawn.out.is_empty() && drawn.err.is_empty(),
        "{}",
        drawn.err
    );
    assert!(
        std::fs::read(file("png"))
            .expect("the image")
            .starts_with(b"\x89PNG\r\n\x1a\n")
    );
    let svg = std::fs::read_to_string(file("svg")).expect("the image");
    assert!(svg.starts_with("<svg") && svg.contains("IOPS and latency by queue depth"));
}

#[test]
fn undrawable_charts_are_refused_with_an_alternative() {
    let scratch = Scratch::new().expect("a directory");
    let all = results(&directory(&scratch));
    let assert_refused = |arguments: &[&str], expected: &str| {
        let ran = fathom(["plot"].iter().chain(arguments));
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    };
    assert_refused(&[&all[0]], "not provided:\n  --output <FILE>");
    assert_refused(&[&all[0], "-o", "x.gif"], ".svg, .png, .html or .csv");
    assert_refused(
        &[&all[0], "--chart=pie", "-o", "x.csv"],
        "invalid value 'pie' for '--chart <NAME>'\n  [possible values: depth",
    );
    assert_refused(&[&all[0], "--chart=time", "-o", "x.csv"], "json+");
    assert_refused(
        &[&all[0], "--colour", "-o", "x.csv"],
        "a similar argument exists: '--color'",
    );
    assert_refused(
        &["/nowhere.json", "-o", "x.csv"],
        "/nowhere.json: cannot be read",
    );
    assert_refused(&[&all[0], "--slo=2ms", "-o", "x.csv"], "such as p99<=2ms");
    // Regression 0404: an option without effect on the chart was ignored.
    assert_refused(
        &[&all[0], "--chart=depth", "--x=bs", "-o", "x.csv"],
        "--x has no effect on --chart=depth; it applies to xy, heat, 3d",
    );
    assert_refused(
        &[&all[0], "--chart=xy", "--y=bs", "-o", "x.csv"],
        "--y has no effect on --chart=xy; it applies to heat, 3d",
    );
    assert_refused(
        &[&all[0], "--chart=heat", "--x=bs", "--y=bs", "-o", "x.csv"],
        "the two axes must differ",
    );
    assert_refused(
        &[&all[0], "--chart=depth", "--slo=p99<=2ms", "-o", "x.csv"],
        "--slo has no effect on --chart=depth; it applies to load",
    );
}

/// Regression 0662: without --chart every result was drawn by queue depth. The chart is that of what was varied, and is
/// printed with the others that fit; an option that only one kind of chart has chooses that kind.
#[test]
fn regression_0662_the_default_chart_is_chosen_and_printed() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let csv = directory(&scratch).join("chart.csv").display().to_string();
    let path = directory(&scratch).display().to_string();
    let ran = fathom(["plot", path.as_str(), "-o", &csv]);
    assert!(ran.status.success(), "{}", ran.err);
    let line = ran
        .err
        .lines()
        .find(|line| line.contains("others that fit"));
    let line = line.expect("a line about the chart");
    assert!(
        line.contains("chart depth;") && line.contains("percentiles"),
        "{line}"
    );
    let ran = fathom(["plot", path.as_str(), "--slo=p99<=2ms", "-o", &csv]);
    assert!(ran.status.success(), "{}", ran.err);
    let table = std::fs::read_to_string(&csv).expect("a table");
    assert!(table.starts_with("Throughput (IOPS),"), "{table}");
    let ran = fathom([
        "plot",
        path.as_str(),
        "--chart=depth",
        "--window=3s",
        "-o",
        &csv,
    ]);
    assert!(
        ran.err.contains("--window has no effect on --chart=depth"),
        "{}",
        ran.err
    );
}

/// Regression 0663: a CSV file of a long run had at most 1,500 of its intervals. fio's log has a line for each of 4,000 seconds.
#[test]
fn regression_0663_a_table_has_every_interval() {
    let scratch = Scratch::new().expect("a directory");
    let log: String = (0..4000u32)
        .map(|second| format!("{}, {}, 0, 0, 0\n", (second + 1) * 1000, 100 + second % 7))
        .collect();
    let name = "randread-iodepth-1-numjobs-1_iops.1.log";
    std::fs::write(directory(&scratch).join(name), log).expect("a log is written");
    let csv = directory(&scratch).join("time.csv").display().to_string();
    let path = directory(&scratch).display().to_string();
    let ran = fathom(["plot", path.as_str(), "--chart=time", "-o", &csv]);
    assert!(ran.status.success(), "{}", ran.err);
    let table = std::fs::read_to_string(&csv).expect("a table");
    assert_eq!(table.lines().count(), 4001, "{:?}", table.lines().next());
}

/// Regression 0415: a heat map had the queue depth and the number of jobs as its axes, whatever was varied.
/// Regression 0790: `--metric=lat` was refused for runs of fathom, although their clat starts with the
/// submission and is therefore what fio calls lat.
#[test]
fn regression_0790_lat_of_an_own_run_is_its_clat() {
    let scratch = Scratch::new().expect("a directory");
    let json = scratch.path().join("run.json").display().to_string();
    let made = fathom([
        "run",
        "--store=none",
        "--ioengine=null",
        "--rw=randread",
        "--size=1m",
        "--name=depth1",
        "--output-format=json",
        &format!("--output={json}"),
    ]);
    assert!(made.status.success(), "{}", made.err);
    let table = |metric: &str| {
        let csv = scratch.path().join(format!("{metric}.csv"));
        let drawn = fathom([
            "plot",
            &json,
            "--chart=jobs",
            &format!("--metric={metric}"),
            "-o",
            &csv.display().to_string(),
        ]);
        assert!(drawn.status.success(), "{metric}: {}", drawn.err);
        let text = std::fs::read_to_string(csv).expect("a table");
        text.lines().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(table("lat"), table("mean"));
}

#[test]
fn a_heat_map_has_any_two_axes() {
    let scratch = Scratch::new().expect("a directory");
    let store = format!("--store={}", scratch.join("store.db").display());
    let line = "sweep --set=ioengine=null --set=size=1g --set=rw=randread --set=rate_iops=1000 --axis bs=4k,16k,64k --axis iodepth=1,2 --runtime=200ms";
    let job = scratch.join("load.fio");
    std::fs::write(&job, "[load]\nioengine=null\nsize=1g\nrw=randread\n").expect("a file");
    fathom(
        line.split(' ')
            .map(str::to_owned)
            .chain([job.display().to_string(), store.clone()]),
    )
    .expect(0);
    let csv = scratch.join("heat.csv").display().to_string();
    fathom([
        "plot",
        "latest",
        &store,
        "--chart=heat",
        "--x=block",
        "--y=depth",
        "-o",
        &csv,
    ])
    .expect(0);
    let table = std::fs::read_to_string(csv).expect("a table");
    for size in ["4 KiB", "16 KiB", "64 KiB"] {
        assert!(table.contains(size), "{size} is missing in\n{table}");
    }
    assert_eq!(
        table.lines().filter(|line| line.contains("KiB")).count(),
        6,
        "{table}"
    );
}

#[test]
fn a_report_is_complete_and_loads_no_external_resources() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let file = |ending: &str| {
        directory(&scratch)
            .join(format!("report.{ending}"))
            .display()
            .to_string()
    };
    let path = directory(&scratch).display().to_string();
    let ran = fathom(["report", path.as_str(), "-o", &file("md")]);
    assert!(ran.status.success(), "{}", ran.err);
    let text = std::fs::read_to_string(file("md")).expect("the report");
    assert!(
        text.contains("40,000") && text.contains("rw=randread") && text.contains("400 us"),
        "{text}"
    );
    // In a code block, indented by four spaces, nothing is markup.
    assert!(
        text.lines()
            .all(|line| line.starts_with("    ") || !line.contains("<img"))
    );
    let ran = fathom(["report", path.as_str(), "-o", &file("html")]);
    if ran.err.contains("no chart script") {
        eprintln!(
            "SKIP: a_report_is_complete_and_loads_no_external_resources: this build has no chart script"
        );
        return;
    }
    let page = std::fs::read_to_string(file("html")).expect("the report");
    // The chart script contains an image element of its own for saving a chart.
    assert!(page.contains("&lt;img src=http") && !page.contains("<img src=http"));
    assert!(page.len() < 1_300_000, "{} bytes", page.len());
}

/// Simulates a reader with mouse events; the results are written to the title of the page.
const READER_SCRIPT: &str = r#"<script>window.addEventListener('load', function () { setTimeout(function () {
  var result = {}, violations = 0, element = document.querySelector('[data-chart="0"]'), chart;
  document.addEventListener('securitypolicyviolation', function () { violations += 1; });
  element.scrollIntoView();
  setTimeout(function () {
    chart = window.fathomCharts.get(element);
    result.drawn = !!chart;
    var box = element.querySelector('canvas').getBoundingClientRect();
    var at = function (kind, x, y) { element.querySelector('canvas').dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: box.left + x, clientY: box.top + y, view: window })); };
    at('mousemove', box.width / 2, box.height / 2);
    setTimeout(function () {
      result.tip = element.textContent.indexOf('IOPS') >= 0;
      var name = chart.getOption().legend[0].data[0];
      chart.dispatchAction({ type: 'legendToggleSelect', name: name });
      result.hidden = chart.getOption().legend[0].selected[name] === false;
      var load = null;
      window.fathomCharts.forEach(function (one) { if (one.getOption().dataZoom && one.getOption().dataZoom.length) load = load || one; });
      if (load) { load.dispatchAction({ type: 'dataZoom', start: 20, end: 60 }); result.zoomed = load.getOption().dataZoom[0].start === 20; }
      document.getElementById('theme').click();
      result.dark = document.documentElement.classList.contains('dark');
      var details = document.querySelector('details[data-table="0"]'); details.open = true;
      setTimeout(function () {
        result.rows = details.querySelectorAll('tr').length;
        result.images = document.images.length;
        result.requests = performance.getEntriesByType('resource').filter(function (one) { return !/^(data|blob):/.test(one.name); }).length;
        result.violations = violations;
        document.title = 'RESULT ' + JSON.stringify(result);
      }, 200);
    }, 400);
  }, 600);
}, 100); });</script></body>"#;

fn browser() -> Option<&'static str> {
    let installed = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(installed)
}

/// Fifty cells for each of ten block sizes, each with two minutes of intervals: results of `fathom
/// run`, reduced to the fields that charts use.
fn sweep(directory: &Path) {
    let series: Vec<String> = (0..240u64).map(|n| {
        let direction = format!(r#"{{"ok_ios": {}, "ok_bytes": 4096000, "bad_ios": {}, "p50_ns": 90000, "p99_ns": {}, "max_ns": 900000, "mean_ns": 95000}}"#, 900 + n % 130, u64::from(n % 9 == 0), 200_000 + n * 17 % 9000);
        format!(r#"{{"start_ns": {}, "length_ns": 500000000, "read": {direction}, "write": {direction}}}"#, n * 500_000_000)
    }).collect();
    let direction = r#"{"iops": 2000.0, "bw_bytes": 8192000, "total_ios": 240000, "clat_ns": {"mean": 95000.0, "max": 900000, "min": 1, "N": 240000, "percentile": {"50.000000": 90000, "99.000000": 205000}}}"#;
    for n in 0..500u32 {
        let (depth, jobs, block) = (1 << (n % 10), 1 << (n / 10 % 5), 4 << (n / 50));
        let text = format!(
            r#"{{"fio version": "fathom-0.1", "jobs": [{{"jobname": "cell", "job options": {{"rw": "randrw", "bs": "{block}k", "iodepth": "{depth}", "numjobs": "{jobs}", "group_reporting": ""}},
            "usr_cpu": 1.0, "sys_cpu": 2.0, "read": {direction}, "write": {direction}}}], "fathom" : {{"verdict": "valid", "findings": [], "entries": [{{"name": "cell", "series": [{}]}}]}}}}"#,
            series.join(",")
        );
        std::fs::write(directory.join(format!("cell{n:03}.json")), text)
            .expect("a result is written");
    }
}

/// Reports what is drawn when the page is opened and after scrolling to its end.
const SCROLL_SCRIPT: &str = r#"<script>window.addEventListener('load', function () { setTimeout(function () {
  var result = { drawn: window.fathomCharts.size }, charts = document.querySelectorAll('[data-chart]'), last = charts[charts.length - 1];
  result.charts = charts.length;
  last.scrollIntoView();
  var left = 20, wait = setInterval(function () {
    result.last = window.fathomCharts.has(last);
    if (!result.last && left-- > 0) { return; }
    clearInterval(wait);
    result.then = window.fathomCharts.size;
    document.title = 'RESULT ' + JSON.stringify(result);
  }, 300);
}, 500); });</script></body>"#;

/// A page that draws only the visible charts appears at once, however long it is.
#[test]
fn a_report_of_five_hundred_cells_is_small_and_draws_visible_charts_only() {
    let scratch = Scratch::new().expect("a directory");
    sweep(&directory(&scratch));
    let page = directory(&scratch).join("report.html");
    let ran = fathom([
        "report",
        directory(&scratch).to_str().expect("a name"),
        "-o",
        page.to_str().expect("a name"),
    ]);
    if ran.err.contains("no chart script") {
        eprintln!(
            "SKIP: a_report_of_five_hundred_cells_is_small_and_draws_visible_charts_only: this build has no chart script"
        );
        return;
    }
    assert!(ran.status.success(), "{}", ran.err);
    let size = std::fs::metadata(&page).expect("the report").len();
    assert!(size < 8_000_000, "{size} bytes");
    append_script(&page, SCROLL_SCRIPT);
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let Some(browser) = browser() else {
        eprintln!(
            "SKIP: a_report_of_five_hundred_cells_is_small_and_draws_visible_charts_only: Chromium is not installed"
        );
        return;
    };
    let Some(message) = (0..3).find_map(|_| {
        visit(browser, &directory(&scratch), &page, &proxy)
            .filter(|message| message["last"] == true)
    }) else {
        assert!(
            !browser_works(browser, &directory(&scratch), &proxy),
            "the last chart was never drawn"
        );
        eprintln!(
            "SKIP: a_report_of_five_hundred_cells_is_small_and_draws_visible_charts_only: Chromium does not work on this machine"
        );
        return;
    };
    // Regression 0638: each of the 500 cells had a chart over time.
    let charts = message["charts"].as_u64().unwrap_or(0);
    assert!((8..=16).contains(&charts), "{message}");
    assert!(
        message["drawn"].as_u64() <= Some(12) && message["then"].as_u64() <= Some(24),
        "{message}"
    );
}

#[test]
fn a_report_supports_hover_toggle_and_zoom_without_network() {
    let Some(browser) = browser() else {
        eprintln!(
            "SKIP: a_report_supports_hover_toggle_and_zoom_without_network: Chromium is not installed"
        );
        return;
    };
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let page = directory(&scratch).join("report.html");
    let ran = fathom([
        "report",
        directory(&scratch).to_str().expect("a name"),
        "-o",
        page.to_str().expect("a name"),
    ]);
    if ran.err.contains("no chart script") {
        eprintln!(
            "SKIP: a_report_supports_hover_toggle_and_zoom_without_network: this build has no chart script"
        );
        return;
    }
    append_script(&page, READER_SCRIPT);
    // All requests of the page would arrive here.
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    proxy.set_nonblocking(true).expect("non-blocking");
    let mut message = None;
    // Other load on the machine may disturb one visit but not three in a row.
    for _ in 0..3 {
        match visit(browser, &directory(&scratch), &page, &proxy) {
            None => {}
            Some(result) => {
                let done = ["drawn", "tip", "hidden", "zoomed", "dark"]
                    .iter()
                    .all(|key| result[*key] == true);
                message = Some(result);
                if done {
                    break;
                }
            }
        }
    }
    let Some(message) = message else {
        assert!(
            !browser_works(browser, &directory(&scratch), &proxy),
            "the script never finished"
        );
        eprintln!(
            "SKIP: a_report_supports_hover_toggle_and_zoom_without_network: Chromium does not work on this machine"
        );
        return;
    };
    for key in ["drawn", "tip", "hidden", "zoomed", "dark"] {
        assert_eq!(message[key], true, "{key}: {message}");
    }
    assert!(message["rows"].as_u64() >= Some(4), "{message}");
    assert_eq!(
        (
            message["images"].as_u64(),
            message["requests"].as_u64(),
            message["violations"].as_u64()
        ),
        (Some(0), Some(0), Some(0)),
        "{message}"
    );
    assert_eq!(
        received_requests(&proxy),
        Vec::<String>::new(),
        "the page sent network requests"
    );
}

/// Whether the browser can show a minimal page here.
fn browser_works(browser: &str, directory: &Path, proxy: &TcpListener) -> bool {
    let page = directory.join("small.html");
    std::fs::write(&page, "<title>RESULT true</title>").expect("the page is written");
    visit(browser, directory, &page, proxy).is_some()
}

/// The requests that arrived at the proxy.
fn received_requests(proxy: &TcpListener) -> Vec<String> {
    let mut lines = Vec::new();
    while let Ok((mut stream, _)) = proxy.accept() {
        let (mut start, timeout) = ([0; 400], Some(Duration::from_secs(2)));
        let read = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(timeout))
            .and_then(|()| stream.read(&mut start))
            .unwrap_or(0);
        lines.push(
            String::from_utf8_lossy(&start[..read])
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        );
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Inserts a script at the end of a page. The last `</body>` is used, because the chart script
/// contains one in a string.
fn append_script(page: &Path, script: &str) {
    let mut text = std::fs::read_to_string(page).expect("the report");
    let end = text.rfind("</body>").expect("the end of the body");
    text.replace_range(end..end + "</body>".len(), script);
    std::fs::write(page, text).expect("the page is written");
}

/// Options that disable the browser's own network requests (time, updates, lists), so that all
/// requests are the page's.
const QUIET_OPTIONS: [&str; 13] = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--no-default-browser-check",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--metrics-recording-only",
    "--no-pings",
    "--disable-features=OptimizationHints,NetworkTimeServiceQuerying,MediaRouter,Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater",
    // Requests that it sends nevertheless find no host; the page itself counts its own requests.
    "--proxy-bypass-list=<-loopback>;*.google.com;*.googleapis.com;*.gvt1.com",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/// The results of the script; `None` if the browser did not finish.
fn visit(
    browser: &str,
    directory: &Path,
    page: &Path,
    proxy: &TcpListener,
) -> Option<serde_json::Value> {
    let ran = Command::new("timeout")
        .args([
            "60",
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--window-size=1000,900",
        ])
        .args(QUIET_OPTIONS)
        .arg(format!(
            "--user-data-dir={}",
            directory.join("profile").display()
        ))
        .arg(format!(
            "--proxy-server={}",
            proxy.local_addr().expect("an address")
        ))
        .args(["--virtual-time-budget=8000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&ran.stdout);
    let message = dom
        .split("RESULT ")
        .nth(1)
        .and_then(|rest| rest.split("</title>").next())?;
    serde_json::from_str(message).ok()
}

/// The flags and the INI file of fio-plot draw the same chart, and keys unknown to fio-plot are
/// reported.
#[test]
fn fio_plot_options_draw_the_same_chart() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let path = |name: &str| directory(&scratch).join(name).display().to_string();
    let ours = fathom([
        "plot",
        &path(""),
        "--rw=randread",
        "--chart=depth",
        "--title=A drive",
        "-o",
        &path("ours.csv"),
    ]);
    assert!(ours.status.success(), "{}", ours.err);
    let flags = fathom([
        "plot",
        "-i",
        &path(""),
        "-T",
        "A drive",
        "-l",
        "-r",
        "randread",
        "-n",
        "1",
        "--line-width",
        "2",
        "-o",
        &path("flags.csv"),
    ]);
    assert!(
        flags.status.success() && flags.err.contains("line_width without effect"),
        "{}",
        flags.err
    );
    let ini = format!(
        "# a comment\n[graphtype]\ngraphtype = bargraph2d_qd\n[settings]\ninput_directory = {}\noutput_filename = {}\ntitle = A drive\nrw = randread\ntype =\nshoe_size = 44\n[layout]\ndisable_grid = no\n",
        path(""),
        path("ini.csv")
    );
    std::fs::write(directory(&scratch).join("plot.ini"), ini).expect("a file");
    let read = fathom(["plot", &path("plot.ini")]);
    assert!(
        read.status.success()
            && read
                .err
                .contains("unknown to fio-plot and ignored: 'shoe_size'")
            && !read.err.contains("disable_grid"),
        "{}",
        read.err
    );
    let table =
        |name: &str| std::fs::read_to_string(directory(&scratch).join(name)).expect("the table");
    assert!(
        table("ours.csv").contains("\r\n16,40000,0.4,1.6\r\n"),
        "{}",
        table("ours.csv")
    );
    assert_eq!(
        (table("flags.csv"), table("ini.csv")),
        (table("ours.csv"), table("ours.csv"))
    );
}

#[test]
fn options_that_fio_plot_refuses_are_refused() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let path = directory(&scratch).display().to_string();
    let assert_refused = |arguments: &[&str], expected: &str| {
        let ran = fathom(["plot"].iter().chain(arguments));
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    };
    assert_refused(
        &["-i", &path, "-g", "-r", "randread"],
        "this chart needs a type (-t iops, bw, lat)",
    );
    assert_refused(
        &["-i", &path, "-l", "--chart=depth"],
        "fio-plot has no option '--chart=depth'",
    );
    assert_refused(
        &["-l", "-r", "read"],
        "no results given; name their directories with input_directory (-i)",
    );
    assert_refused(
        &["-i", &path, "-l", "-d", "many"],
        "iodepth: invalid number 'many'",
    );
    assert_refused(&["nowhere.ini"], "nowhere.ini: cannot be read");
}

/// A drive with known results, compared with the figures of a data sheet: 40,000 IOPS of 72,000,
/// which are 55.5556 %.
#[test]
fn a_data_sheet_is_drawn_beside_results() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let file = directory(&scratch).join("spec.csv").display().to_string();
    let path = directory(&scratch).display().to_string();
    let refused = fathom(["plot", &path, "--chart=spec", "-o", &file]);
    assert!(
        refused.err.contains("name one with --sheet=ID"),
        "{}",
        refused.err
    );
    let drawn = fathom([
        "plot",
        &path,
        "--chart=spec",
        "--sheet=intel-dc-s4600",
        "-o",
        &file,
    ]);
    assert!(drawn.status.success(), "{}", drawn.err);
    let text = std::fs::read_to_string(&file).expect("the table");
    assert!(
        text.lines()
            .any(|line| line.contains("72,000 IOPS") && line.ends_with(",55.5556")),
        "{text}"
    );
}

#[path = "../../../fathom-device/tests/it/survey/tree.rs"]
#[allow(dead_code, reason = "the surveys need more of it")]
mod tree;

/// Regression 0286: the devices of a result were missing in reports and in the search for a data
/// sheet. The data sheet of the measured drive is found by the model name from sysfs; the chart
/// shows the result in percent of the 20,000 IOPS of the sheet.
#[test]
fn a_data_sheet_is_found_by_the_drive_model() {
    let tree = tree::Tree::parse(include_str!(
        "../../../fathom-device/tests/captured/nvme-behind-switch.tree"
    ));
    let facts = fathom_device::survey(&tree, "nvme0n1");
    let scratch = Scratch::new().expect("a directory");
    let path = |name: &str| directory(&scratch).join(name).display().to_string();
    let job = "[j]\nioengine=null\nrw=randread\nbs=4k\nsize=1m\nfilesize=1m\n";
    std::fs::write(path("j.fio"), job).expect("a job file");
    let store = format!("--store={}", path("store.db"));
    let ran = fathom([
        "run",
        &path("j.fio"),
        &store,
        &format!("--output={}", path("out")),
    ]);
    assert!(
        ran.status.code().is_some_and(|code| code < 2),
        "{}",
        ran.err
    );
    // The same run, as if on the captured drive.
    {
        let mut store = fathom_store::Store::open(Path::new(&path("store.db"))).expect("the store");
        let run = store.run("latest").expect("the run").id;
        let mut cell = store.cells(run).expect("its cells").remove(0);
        let fathom_model::CellContent::Recording(mut recording) =
            store.content(run, cell.position).expect("the content")
        else {
            panic!("a recording")
        };
        let device = fathom_model::DeviceRecording {
            before: facts,
            ..Default::default()
        };
        recording.targets = vec![fathom_model::TargetRecording {
            devices: vec![device],
            ..Default::default()
        }];
        cell.position += 1;
        store
            .save_cell(run, &cell, &fathom_model::CellContent::Recording(recording))
            .expect("it is stored");
    }
    std::fs::create_dir_all(path("config/fathom/specs")).expect("a directory");
    let sheet = "schema = 1\n[[sheet]]\nid = \"captured\"\nmaker = \"Samsung\"\nproduct = \"PM9A3\"\nmodels = [\"SAMSUNG MZQL2\"]\nconfidence = \"secondary\"\n\
        source = [\"https://example.com/sheet\"]\n[[sheet.figure]]\nwhat = \"iops\"\nvalue = 20000\ndirection = \"read\"\naccess = \"random\"\nblock = \"4KiB\"\n";
    std::fs::write(path("config/fathom/specs/mine.toml"), sheet).expect("a sheet");
    let plot = |result: &str, file: &str| {
        let mut command = common::program(["plot", result, &store, "--chart=spec", "-o", file]);
        command.env("XDG_CONFIG_HOME", path("config"));
        common::start(command).finish()
    };
    let unknown = plot("latest.1", &path("none.csv"));
    assert!(
        !unknown.status.success()
            && unknown
                .err
                .contains("no data sheet fits the devices of these results"),
        "{}",
        unknown.err
    );
    let drawn = plot("latest.2", &path("spec.csv"));
    assert!(drawn.status.success(), "{}", drawn.err);
    let text = std::fs::read_to_string(path("spec.csv")).expect("the table");
    let line = text
        .lines()
        .find(|line| line.contains("20,000 IOPS"))
        .unwrap_or_else(|| panic!("{text}"));
    let percent: f64 = line
        .rsplit(',')
        .next()
        .and_then(|last| last.trim().parse().ok())
        .expect("a number");
    let reached = fathom(["report", "latest.2", &store, "-o", &path("report.md")]);
    assert!(reached.status.success(), "{}", reached.err);
    let report = std::fs::read_to_string(path("report.md")).expect("the report");
    assert!(
        report.contains("SAMSUNG MZQL21T9HCJR-00A07"),
        "the report names the device"
    );
    let row = report
        .lines()
        .find(|line| line.contains("| read |"))
        .unwrap_or_else(|| panic!("{report}"));
    let iops: f64 = row
        .split('|')
        .nth(8)
        .map(|cell| cell.trim().replace(',', ""))
        .and_then(|cell| cell.parse().ok())
        .expect("a number");
    assert!(
        (percent - iops / 200.0).abs() <= 0.01 * percent.max(1.0),
        "{percent} % of 20,000 are not {iops}"
    );
}
