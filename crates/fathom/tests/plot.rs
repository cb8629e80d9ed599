//! `fathom plot` and `fathom report` as a user calls them: pictures, tables and pages of results of fio.

mod common;

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::fathom;
use fathom_testkit::Scratch;

/// Two results of fio, as short as they can be.
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
    let place = directory(&scratch).display().to_string();
    let table = fathom(["plot", place.as_str(), "--chart=depth", "-o", &file("csv")]);
    assert!(table.status.success(), "{}", table.err);
    let text = std::fs::read_to_string(file("csv")).expect("the table");
    assert!(text.contains("\r\n16,40000,0.4,1.6\r\n"), "{text}");
    let drawn = fathom([
        "plot",
        place.as_str(),
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
            .expect("the picture")
            .starts_with(b"\x89PNG\r\n\x1a\n")
    );
    let svg = std::fs::read_to_string(file("svg")).expect("the picture");
    assert!(svg.starts_with("<svg") && svg.contains("IOPS and latency by queue depth"));
}

#[test]
fn undrawable_charts_are_refused_with_an_alternative() {
    let scratch = Scratch::new().expect("a directory");
    let all = results(&directory(&scratch));
    let refused = |arguments: &[&str], says: &str| {
        let ran = fathom(["plot"].iter().chain(arguments));
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    };
    refused(&[&all[0]], "not provided:\n  --output <FILE>");
    refused(&[&all[0], "-o", "x.gif"], ".svg, .png, .html or .csv");
    refused(
        &[&all[0], "--chart=pie", "-o", "x.csv"],
        "invalid value 'pie' for '--chart <NAME>'\n  [possible values: depth",
    );
    refused(&[&all[0], "--chart=time", "-o", "x.csv"], "json+");
    refused(
        &[&all[0], "--colour", "-o", "x.csv"],
        "a similar argument exists: '--color'",
    );
    refused(
        &["/nowhere.json", "-o", "x.csv"],
        "/nowhere.json cannot be read",
    );
    refused(&[&all[0], "--slo=2ms", "-o", "x.csv"], "such as p99<=2ms");
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
    let place = directory(&scratch).display().to_string();
    let ran = fathom(["report", place.as_str(), "-o", &file("md")]);
    assert!(ran.status.success(), "{}", ran.err);
    let text = std::fs::read_to_string(file("md")).expect("the report");
    assert!(
        text.contains("40,000") && text.contains("rw=randread") && text.contains("400 µs"),
        "{text}"
    );
    // In a block of code, four spaces in, nothing is markup.
    assert!(
        text.lines()
            .all(|line| line.starts_with("    ") || !line.contains("<img"))
    );
    let ran = fathom(["report", place.as_str(), "-o", &file("html")]);
    if ran.err.contains("no chart script") {
        eprintln!(
            "SKIP: a_report_is_complete_and_loads_no_external_resources: this build has no chart script"
        );
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

fn browser() -> Option<&'static str> {
    let there = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(there)
}

/// Fifty cells for each of ten block sizes, each with two minutes of intervals: what `fathom run` writes, cut to what a chart takes.
fn sweep(directory: &Path) {
    let series: Vec<String> = (0..240u64).map(|n| {
        let way = format!(r#"{{"ok_ios": {}, "ok_bytes": 4096000, "bad_ios": {}, "p50_ns": 90000, "p99_ns": {}, "max_ns": 900000, "mean_ns": 95000}}"#, 900 + n % 130, u64::from(n % 9 == 0), 200_000 + n * 17 % 9000);
        format!(r#"{{"start_ns": {}, "length_ns": 500000000, "read": {way}, "write": {way}}}"#, n * 500_000_000)
    }).collect();
    let way = r#"{"iops": 2000.0, "bw_bytes": 8192000, "total_ios": 240000, "clat_ns": {"mean": 95000.0, "max": 900000, "min": 1, "N": 240000, "percentile": {"50.000000": 90000, "99.000000": 205000}}}"#;
    for n in 0..500u32 {
        let (depth, jobs, block) = (1 << (n % 10), 1 << (n / 10 % 5), 4 << (n / 50));
        let text = format!(
            r#"{{"fio version": "fathom-0.1", "jobs": [{{"jobname": "cell", "job options": {{"rw": "randrw", "bs": "{block}k", "iodepth": "{depth}", "numjobs": "{jobs}", "group_reporting": ""}},
            "usr_cpu": 1.0, "sys_cpu": 2.0, "read": {way}, "write": {way}}}], "fathom" : {{"verdict": "valid", "findings": [], "entries": [{{"name": "cell", "series": [{}]}}]}}}}"#,
            series.join(",")
        );
        std::fs::write(directory.join(format!("cell{n:03}.json")), text)
            .expect("a result is written");
    }
}

/// What is drawn when the page is opened, and when its end is scrolled to.
const HURRIED: &str = r#"<script>window.addEventListener('load', function () { setTimeout(function () {
  var said = { drawn: window.fathomCharts.size }, places = document.querySelectorAll('[data-chart]'), last = places[places.length - 1];
  said.places = places.length;
  last.scrollIntoView();
  setTimeout(function () {
    said.last = window.fathomCharts.has(last);
    said.then = window.fathomCharts.size;
    document.title = 'SAID ' + JSON.stringify(said);
  }, 1500);
}, 500); });</script></body>"#;

/// A page that draws what is in view, and not all of it, is there at once however long it is.
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
    put_in(&page, HURRIED);
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let Some(browser) = browser() else {
        eprintln!(
            "SKIP: a_report_of_five_hundred_cells_is_small_and_draws_visible_charts_only: no Chromium is there"
        );
        return;
    };
    let Some(message) = (0..3).find_map(|_| {
        visit(browser, &directory(&scratch), &page, &proxy)
            .filter(|message| message["last"] == true)
    }) else {
        assert!(
            !gets_along(browser, &directory(&scratch), &proxy),
            "the end of the page was never drawn"
        );
        eprintln!(
            "SKIP: a_report_of_five_hundred_cells_is_small_and_draws_visible_charts_only: Chromium does not get along on this machine"
        );
        return;
    };
    assert!(message["places"].as_u64() >= Some(500), "{message}");
    assert!(
        message["drawn"].as_u64() <= Some(12) && message["then"].as_u64() <= Some(24),
        "{message}"
    );
}

#[test]
fn a_report_supports_hover_toggle_and_zoom_without_network() {
    let Some(browser) = browser() else {
        eprintln!(
            "SKIP: a_report_supports_hover_toggle_and_zoom_without_network: no Chromium is there"
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
    put_in(&page, READER);
    // Whatever the page asked for would come here.
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    proxy.set_nonblocking(true).expect("it does not wait");
    let mut message = None;
    // A machine with other work may disturb one visit, not each of three.
    for _ in 0..3 {
        match visit(browser, &directory(&scratch), &page, &proxy) {
            None => {}
            Some(told) => {
                let done = ["drawn", "tip", "hidden", "zoomed", "dark"]
                    .iter()
                    .all(|what| told[*what] == true);
                message = Some(told);
                if done {
                    break;
                }
            }
        }
    }
    let Some(message) = message else {
        assert!(
            !gets_along(browser, &directory(&scratch), &proxy),
            "the reader never came to an end"
        );
        eprintln!(
            "SKIP: a_report_supports_hover_toggle_and_zoom_without_network: Chromium does not get along on this machine"
        );
        return;
    };
    for what in ["drawn", "tip", "hidden", "zoomed", "dark"] {
        assert_eq!(message[what], true, "{what}: {message}");
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
        asked_of(&proxy),
        Vec::<String>::new(),
        "the page asked the network for something"
    );
}

/// Whether the browser shows a page of three words here.
fn gets_along(browser: &str, directory: &Path, proxy: &TcpListener) -> bool {
    let page = directory.join("small.html");
    std::fs::write(&page, "<title>SAID true</title>").expect("the page is written");
    visit(browser, directory, &page, proxy).is_some()
}

/// What was asked of the network.
fn asked_of(proxy: &TcpListener) -> Vec<String> {
    let mut lines = Vec::new();
    while let Ok((mut stream, _)) = proxy.accept() {
        let (mut start, patience) = ([0; 400], Some(Duration::from_secs(2)));
        let read = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(patience))
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

/// Puts a reader at the end of a page. The script of the charts has an end of a body of its own, in a string.
fn put_in(page: &Path, reader: &str) {
    let mut text = std::fs::read_to_string(page).expect("the report");
    let end = text.rfind("</body>").expect("a page ends");
    text.replace_range(end..end + "</body>".len(), reader);
    std::fs::write(page, text).expect("the page is written");
}

/// What the browser would ask of its maker by itself: the time, updates, lists. With these, all that is asked is the page's.
const QUIET: [&str; 13] = [
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
    // What it asks all the same finds no host; the page itself counts what it asked for, whoever was asked.
    "--proxy-bypass-list=<-loopback>;*.google.com;*.googleapis.com;*.gvt1.com",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/// What the reader said; nothing where the browser did not come to an end.
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
        .args(QUIET)
        .arg(format!(
            "--user-data-dir={}",
            directory.join("profile").display()
        ))
        .arg(format!(
            "--proxy-server={}",
            proxy.local_addr().expect("it has one")
        ))
        .args(["--virtual-time-budget=8000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&ran.stdout);
    let message = dom
        .split("SAID ")
        .nth(1)
        .and_then(|rest| rest.split("</title>").next())?;
    serde_json::from_str(message).ok()
}

/// The flags of fio-plot and its INI file draw the same picture, and what fio-plot does not know is told.
#[test]
fn fio_plot_options_draw_the_same_chart() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let place = |name: &str| directory(&scratch).join(name).display().to_string();
    let ours = fathom([
        "plot",
        &place(""),
        "--rw=randread",
        "--chart=depth",
        "--title=A drive",
        "-o",
        &place("ours.csv"),
    ]);
    assert!(ours.status.success(), "{}", ours.err);
    let flags = fathom([
        "plot",
        "-i",
        &place(""),
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
        &place("flags.csv"),
    ]);
    assert!(
        flags.status.success() && flags.err.contains("line_width without effect"),
        "{}",
        flags.err
    );
    let ini = format!(
        "# a comment\n[graphtype]\ngraphtype = bargraph2d_qd\n[settings]\ninput_directory = {}\noutput_filename = {}\ntitle = A drive\nrw = randread\ntype =\nshoe_size = 44\n[layout]\ndisable_grid = no\n",
        place(""),
        place("ini.csv")
    );
    std::fs::write(directory(&scratch).join("wish.ini"), ini).expect("a file");
    let read = fathom(["plot", &place("wish.ini")]);
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
    let place = directory(&scratch).display().to_string();
    let refused = |arguments: &[&str], says: &str| {
        let ran = fathom(["plot"].iter().chain(arguments));
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    };
    refused(
        &["-i", &place, "-g", "-r", "randread"],
        "this chart needs one (-t iops, bw, lat)",
    );
    refused(
        &["-i", &place, "-l", "--chart=depth"],
        "fio-plot has no option '--chart=depth'",
    );
    refused(
        &["-l", "-r", "read"],
        "no results given; name their directories with input_directory (-i)",
    );
    refused(
        &["-i", &place, "-l", "-d", "many"],
        "iodepth: invalid number 'many'",
    );
    refused(&["nowhere.ini"], "nowhere.ini cannot be read");
}

/// A drive whose figures are known, against a sheet that promises others: 40,000 IOPS of 72,000 which are 55.5556 %.
#[test]
fn a_data_sheet_is_drawn_beside_results() {
    let scratch = Scratch::new().expect("a directory");
    results(&directory(&scratch));
    let file = directory(&scratch).join("spec.csv").display().to_string();
    let place = directory(&scratch).display().to_string();
    let refused = fathom(["plot", &place, "--chart=spec", "-o", &file]);
    assert!(
        refused.err.contains("name one with --sheet=ID"),
        "{}",
        refused.err
    );
    let drawn = fathom([
        "plot",
        &place,
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

#[path = "../../fathom-device/tests/survey/tree.rs"]
#[allow(dead_code, reason = "the surveys need more of it")]
mod tree;

/// Regression 0286: devices were not among what a result tells of itself, neither in reports nor for the sheet.
/// The sheet of the drive that a result was measured on, by its model as sysfs tells it: 20,000 IOPS promised, and what was reached in percent of it.
#[test]
fn a_data_sheet_is_found_by_the_drive_model() {
    let tree = tree::Tree::parse(include_str!(
        "../../fathom-device/tests/captured/nvme-behind-switch.tree"
    ));
    let facts = fathom_device::survey(&tree, "nvme0n1");
    let scratch = Scratch::new().expect("a directory");
    let place = |name: &str| directory(&scratch).join(name).display().to_string();
    let job = "[j]\nioengine=null\nrw=randread\nbs=4k\nsize=1m\nfilesize=1m\n";
    std::fs::write(place("j.fio"), job).expect("a job file");
    let store = format!("--store={}", place("kept.db"));
    let ran = fathom([
        "run",
        &place("j.fio"),
        &store,
        &format!("--output={}", place("out")),
    ]);
    assert!(
        ran.status.code().is_some_and(|code| code < 2),
        "{}",
        ran.err
    );
    // The same run, on the captured drive.
    {
        let mut kept = fathom_store::Store::open(Path::new(&place("kept.db"))).expect("the store");
        let run = kept.run("latest").expect("the run").id;
        let mut cell = kept.cells(run).expect("its cells").remove(0);
        let fathom_model::CellContent::Recording(mut recording) =
            kept.content(run, cell.position).expect("what was measured")
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
        kept.save_cell(run, &cell, &fathom_model::CellContent::Recording(recording))
            .expect("it is kept");
    }
    std::fs::create_dir_all(place("config/fathom/specs")).expect("a directory");
    let sheet = "schema = 1\n[[sheet]]\nid = \"captured\"\nmaker = \"Samsung\"\nproduct = \"PM9A3\"\nmodels = [\"SAMSUNG MZQL2\"]\nconfidence = \"secondary\"\n\
        source = [\"https://example.com/sheet\"]\n[[sheet.figure]]\nwhat = \"iops\"\nvalue = 20000\ndirection = \"read\"\naccess = \"random\"\nblock = \"4KiB\"\n";
    std::fs::write(place("config/fathom/specs/mine.toml"), sheet).expect("a sheet");
    let plot = |result: &str, file: &str| {
        let mut command = common::program(["plot", result, &store, "--chart=spec", "-o", file]);
        command.env("XDG_CONFIG_HOME", place("config"));
        common::start(command).finish()
    };
    let unknown = plot("latest.1", &place("none.csv"));
    assert!(
        !unknown.status.success()
            && unknown
                .err
                .contains("no data sheet fits the devices of these results"),
        "{}",
        unknown.err
    );
    let drawn = plot("latest.2", &place("spec.csv"));
    assert!(drawn.status.success(), "{}", drawn.err);
    let text = std::fs::read_to_string(place("spec.csv")).expect("the table");
    let line = text
        .lines()
        .find(|line| line.contains("20,000 IOPS"))
        .unwrap_or_else(|| panic!("{text}"));
    let percent: f64 = line
        .rsplit(',')
        .next()
        .and_then(|last| last.trim().parse().ok())
        .expect("a number");
    let reached = fathom(["report", "latest.2", &store, "-o", &place("report.md")]);
    assert!(reached.status.success(), "{}", reached.err);
    let report = std::fs::read_to_string(place("report.md")).expect("the report");
    assert!(
        report.contains("SAMSUNG MZQL21T9HCJR-00A07"),
        "the report tells the device"
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
