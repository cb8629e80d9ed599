//! `fathom report`: what its first page answers, how it compares devices, and how it looks on paper and on a phone.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::fathom;
use fathom_testkit::Scratch;

/// One job of a result of fio or fathom.
#[derive(Clone, Default)]
struct Job {
    name: &'static str,
    description: &'static str,
    rw: &'static str,
    block: u64,
    depth: u32,
    iops: f64,
    /// Median in microseconds; the p99 is four times as long.
    median: f64,
    cpu: f64,
    options: &'static str,
    /// Standard deviation of the samples of the rate, and their number.
    spread: (f64, u64),
}

impl Job {
    fn json(&self) -> String {
        let Job {
            name,
            description,
            rw,
            block,
            depth,
            iops,
            median,
            cpu,
            options,
            spread,
        } = self;
        let ns = median * 1e3;
        let direction = format!(
            r#"{{"iops": {iops}, "bw_bytes": {}, "total_ios": 100000, "iops_stddev": {}, "iops_samples": {},
            "clat_ns": {{"min": 1, "max": {}, "mean": {ns}, "stddev": 1.0, "N": 100000, "percentile": {{"50.000000": {ns}, "99.000000": {}, "99.900000": {}}}}}}}"#,
            iops * *block as f64,
            spread.0,
            spread.1,
            ns * 20.0,
            ns * 4.0,
            ns * 10.0
        );
        let directions = match *rw {
            "randrw" => format!(r#""read": {direction}, "write": {direction}"#),
            rw if rw.contains("write") => format!(r#""write": {direction}"#),
            _ => format!(r#""read": {direction}"#),
        };
        format!(
            r#"{{"jobname": "{name}", "job options": {{"rw": "{rw}", "bs": "{block}", "iodepth": "{depth}", "description": "{description}"{options}}},
            "usr_cpu": {cpu}, "sys_cpu": {cpu}, {directions}}}"#
        )
    }
}

/// A result of fathom with a verdict and findings.
fn result(jobs: &[Job], verdict: &str, findings: &str) -> String {
    let all: Vec<String> = jobs.iter().map(Job::json).collect();
    let names: Vec<String> = jobs
        .iter()
        .map(|job| format!(r#"{{"name": "{}"}}"#, job.name))
        .collect();
    format!(
        r#"{{"fio version": "fathom-0.1", "timestamp": 1763800000, "jobs": [{}], "fathom" : {{"verdict": "{verdict}", "findings": [{findings}],
        "host": {{"kernel": "6.12.0", "cpus": 8, "memory_bytes": 17179869184}},
        "targets": [{{"path": "/dev/nvme0n1", "devices": [{{"name": "nvme0n1", "model": "ExampleDrive 9", "size": 1000204886016, "medium": "flash", "transport": "nvme"}}]}}],
        "entries": [{}]}}}}"#,
        all.join(","),
        names.join(",")
    )
}

fn finding(code: (&str, &str), weight: &str, about: &str, evidence: &str, advice: &str) -> String {
    format!(
        r#"{{"id": "{}", "code": "{}", "weight": "{weight}", "about": "{about}", "evidence": "{evidence}", "advice": "{advice}"}}"#,
        code.0, code.1
    )
}

/// The measurements of `fathom quick` with known figures: the knee is at depth 32.
fn quick_jobs() -> Vec<Job> {
    let job = |name, description, rw, block, depth, iops, median| Job {
        name,
        description,
        rw,
        block,
        depth,
        iops,
        median,
        cpu: 5.0,
        options: "",
        spread: (10.0, 20),
    };
    vec![
        job(
            "read-4k-1",
            "4 KiB random reads, depth 1",
            "randread",
            4096,
            1,
            10_000.0,
            90.0,
        ),
        job(
            "read-4k-8",
            "4 KiB random reads, depth 8",
            "randread",
            4096,
            8,
            60_000.0,
            120.0,
        ),
        job(
            "read-4k-32",
            "4 KiB random reads, depth 32",
            "randread",
            4096,
            32,
            400_000.0,
            150.0,
        ),
        job(
            "read-4k-128",
            "4 KiB random reads, depth 128",
            "randread",
            4096,
            128,
            401_000.0,
            310.0,
        ),
        job(
            "read-1m-1",
            "1 MiB sequential reads, depth 1",
            "read",
            1 << 20,
            1,
            1_500.0,
            600.0,
        ),
        job(
            "read-1m",
            "1 MiB sequential reads, depth 8",
            "read",
            1 << 20,
            8,
            3_000.0,
            2_600.0,
        ),
        job(
            "write-1m-1",
            "1 MiB sequential writes, depth 1",
            "write",
            1 << 20,
            1,
            1_000.0,
            900.0,
        ),
        job(
            "write-1m",
            "1 MiB sequential writes, depth 8",
            "write",
            1 << 20,
            8,
            2_000.0,
            3_900.0,
        ),
        job(
            "write-4k-1",
            "4 KiB random writes, depth 1",
            "randwrite",
            4096,
            1,
            40_000.0,
            20.0,
        ),
        job(
            "write-4k-32",
            "4 KiB random writes, depth 32",
            "randwrite",
            4096,
            32,
            150_000.0,
            200.0,
        ),
        job(
            "mix-4k-32",
            "70/30 read/write mix, depth 32",
            "randrw",
            4096,
            32,
            90_000.0,
            180.0,
        ),
        Job {
            options: r#", "fdatasync": "1""#,
            ..job(
                "commit",
                "4 KiB commits (write, fdatasync)",
                "write",
                4096,
                1,
                8_000.0,
                120.0,
            )
        },
    ]
}

fn quick_result() -> String {
    let jobs = quick_jobs();
    let mut findings: Vec<String> = jobs
        .iter()
        .map(|job| {
            finding(
                ("F035", "FEW_SAMPLES"),
                "note",
                job.name,
                &format!("{} has few samples.", job.name),
                "Run longer.",
            )
        })
        .collect();
    findings.push(finding(
        ("F033", "VOLATILE_CACHE_NO_FLUSH"),
        "note",
        "write-1m",
        "Writes stay in a cache.",
        "Add fsync=.",
    ));
    for name in ["read-4k-1", "mix-4k-32"] {
        findings.push(finding(
            ("F024", "WORKER_WAITED"),
            "degrades",
            name,
            &format!("The worker of {name} waited."),
            "Leave a CPU for each worker.",
        ));
    }
    result(&jobs, "degraded", &findings.join(","))
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(&path, text).expect("a result is written");
    path.display().to_string()
}

/// The report on standard output.
fn report(path: &str, format: &str) -> String {
    fathom(["report", path, &format!("--format={format}")])
        .expect(0)
        .out
}

/// The page without the script of the charts and their data; `None` if this build draws nothing.
fn page(path: &str, test: &str) -> Option<String> {
    let ran = fathom(["report", path, "--format=html"]);
    if ran.err.contains("no chart script") {
        eprintln!("SKIP: {test}: this build has no chart script");
        return None;
    }
    assert!(ran.status.success(), "{}", ran.err);
    let end = ran.out.find("<script").expect("the script");
    Some(ran.out[..end].to_owned())
}

/// The positions of `parts`, which must occur in this order.
fn assert_order(text: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let found = text[from..].find(part);
        from += found.unwrap_or_else(|| {
            panic!("'{part}' is missing, or not after the previous one, in\n{text}")
        });
    }
}

/// Regression 0630: a report began with a wall of findings; the figures came after them, named by their options.
#[test]
fn the_first_page_of_a_report_is_the_answer() {
    let scratch = Scratch::new().expect("a directory");
    let path = write(scratch.path(), "quick.json", &quick_result());
    let text = report(&path, "md");
    // 400,000 is 99.75 % of 401,000, 60,000 is 15 %: the knee is at 32. 3,000 blocks of 1 MiB are 3,145.7 MB/s.
    assert_order(
        &text,
        &[
            "ExampleDrive 9 (nvme0n1, 1 TB (931.51 GiB), flash, nvme) · Linux 6.12.0, 8 CPUs, 16 GiB · 2025-11-22 08:26 UTC",
            "**A fast NVMe-class SSD: 400,000 random reads per second at a queue depth of 32, 3,100 MB/s of large reads; a commit typically takes 120 us; above that queue only latency grows.**",
            "**DEGRADED**: The worker of ",
            "Key figures. Latency: completion latency (clat).",
            "| Workload | IOPS | MB/s | Median | p99 | p99.9 |",
            "| Random |",
            "| 4 KiB random reads, depth 32 | 400,000 | 1,638 | 150 us | 600 us | 1.50 ms |",
            "| Sequential |",
            "| 1 MiB sequential reads, depth 8 | 3,000 | 3,146 |",
            "| Mixed |",
            "| 70/30 read/write mix, depth 32: reads | 90,000 |",
            "| Commits |",
            "| 4 KiB commits (write, fdatasync) | 8,000 |",
            "### IOPS and latency by queue depth",
            "## What to do next",
            "Leave a CPU for each worker.",
            "queue depth of 32",
            "## Findings",
            "## Charts",
            "## All figures",
            "## Method",
            "## Job file",
            "## Target",
            "## Host",
        ],
    );
    let Some(page) = page(&path, "the_first_page_of_a_report_is_the_answer") else {
        return;
    };
    let headings = [
        "<section class=answer>",
        "class=subject",
        "class=statement",
        "verdict degraded",
        "<table>",
        "<figure id=chart0>",
        "What to do next</h2>",
        "Findings</h2>",
        "Charts</h2>",
        "<details class=part><summary><h2>All figures",
        "<h2>Method",
        "<h2>Job file",
        "<h2>Host",
    ];
    assert_order(&page, &headings);
    // Every chart has a statement, and a table without opening anything.
    let figures: Vec<&str> = page.split("<figure ").skip(1).collect();
    assert!(
        (2..=12).contains(&figures.len()),
        "{} charts",
        figures.len()
    );
    for figure in figures {
        let label = figure
            .split("aria-label=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .unwrap_or_default();
        assert!(
            label.contains("highest") || label.contains("lowest"),
            "no statement: {label}"
        );
        assert!(
            figure.contains("role=img") && figure.contains("<details data-table="),
            "{figure}"
        );
    }
}

/// Regression 0631: a finding about twelve jobs named each with all of its options.
#[test]
fn each_finding_is_listed_once_the_worst_first() {
    let scratch = Scratch::new().expect("a directory");
    let path = write(scratch.path(), "quick.json", &quick_result());
    let Some(page) = page(&path, "each_finding_is_listed_once_the_worst_first") else {
        return;
    };
    for code in [
        "F024 WORKER_WAITED",
        "F035 FEW_SAMPLES",
        "F033 VOLATILE_CACHE_NO_FLUSH",
    ] {
        assert_eq!(page.matches(&format!("<b>{code}</b>")).count(), 1, "{code}");
    }
    assert_order(
        &page,
        &[
            "<h3>Load generator</h3>",
            "class=\"finding g1\"",
            "<b>F024 WORKER_WAITED</b>",
            "<ul class=chips><li>read-4k-1</li><li>mix-4k-32</li></ul>",
            "class=\"finding g0\"",
            "<b>F035 FEW_SAMPLES</b>",
            "<ul class=chips><li>all 12 jobs</li></ul>",
        ],
    );
}

/// Regression 0632: results without CPU figures had a chart of 0 ns per I/O, and empty columns.
#[test]
fn a_quantity_that_was_not_measured_is_not_shown() {
    let scratch = Scratch::new().expect("a directory");
    let jobs: Vec<Job> = quick_jobs()
        .into_iter()
        .map(|job| Job { cpu: 0.0, ..job })
        .collect();
    let without = write(scratch.path(), "without.json", &result(&jobs, "valid", ""));
    let with = write(scratch.path(), "with.json", &quick_result());
    let (without, with) = (report(&without, "md"), report(&with, "md"));
    assert!(with.contains("CPU time per I/O"), "{with}");
    assert!(
        !without.contains("CPU time per I/O") && !without.contains(" 0 ns"),
        "{without}"
    );
    let text = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "job options": {"rw": "randread", "bs": "4k", "iodepth": "4"}, "read": {"iops": 100.0, "bw_bytes": 409600, "total_ios": 1000}}]}"#;
    let bare = report(&write(scratch.path(), "bare.json", text), "md");
    assert!(
        !bare.contains("p99") && !bare.contains("Median") && !bare.contains("Latency:"),
        "{bare}"
    );
}

/// The jobs of one drive of a comparison: its rates are `factor` times those of the slowest.
fn drive(factor: f64) -> Vec<Job> {
    let job = |rw, block, depth, iops: f64, median: f64| Job {
        name: "job",
        rw,
        block,
        depth,
        iops: iops * factor,
        median: median / factor,
        cpu: 1.0,
        // 10 % of the rate in 100 samples: a standard error of 1 %.
        spread: (0.1 * iops * factor, 100),
        ..Job::default()
    };
    vec![
        job("randread", 4096, 1, 1_000.0, 1_000.0),
        job("randread", 4096, 16, 8_000.0, 2_000.0),
        job("randread", 4096, 64, 8_100.0, 8_000.0),
        job("write", 1 << 20, 8, 100.0, 80_000.0),
        job("randrw", 4096, 16, 3_000.0, 5_000.0),
    ]
}

fn drive_result(factor: f64) -> String {
    result(&drive(factor), "valid", "").replace("ExampleDrive 9", "")
}

/// Regression 0633: a report of several drives drew each alone and compared nothing.
#[test]
fn several_devices_are_ranked_and_compared() {
    let scratch = Scratch::new().expect("a directory");
    for (name, factor) in [("alpha", 2.0), ("beta", 4.0), ("gamma", 1.0)] {
        write(
            scratch.path(),
            &format!("{name}/result.json"),
            &drive_result(factor),
        );
    }
    let path = scratch.path().display().to_string();
    let text = report(&path, "md");
    // The ratio of two means with a relative error of 1 % each: 2 x exp(+-1.984 x 0.01414), t(0.975, 99) = 1.984.
    let (low, high) = (
        2.0 * (-1.984f64 * 0.014_142).exp(),
        2.0 * (1.984f64 * 0.014_142).exp(),
    );
    let interval = format!("95 % CI of the ratio: {low:.2} to {high:.2}");
    let statements: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("**") && line.contains("CI of the ratio"))
        .collect();
    assert_eq!(statements.len(), 3, "{text}");
    for statement in &statements {
        assert!(
            statement.contains(&interval)
                && statement.contains("beta is fastest")
                && statement.contains("gamma"),
            "{statement}"
        );
    }
    // 1,000 us / 4; the knee of 8,000 (98.8 % of 8,100) x 4; 100 x 4 x 1.048576 MB/s; p99 = 4 x 5,000 us / 4.
    assert_order(
        &text,
        &[
            "Latency at depth 1: median of 4 KiB random reads",
            "| 1. beta | 250 us |",
            "| 2. alpha | 500 us | 2.00 times as long |",
            "| 3. gamma | 1.00 ms | 4.00 times as long |",
            "IOPS at the knee",
            "| 1. beta | 32,000 IOPS (16 in flight) |",
            "| 2. alpha | 16,000 IOPS (16 in flight) | 50 % of the best |",
            "| 3. gamma | 8,000 IOPS (16 in flight) | 25 % of the best |",
            "Sustained writes",
            "| 1. beta | 419 MB/s |",
            "| 2. alpha | 210 MB/s |",
            "| 3. gamma | 105 MB/s |",
            "Tail under mix",
            "| 1. beta | 5.00 ms |",
            "| 2. alpha | 10.0 ms |",
            "| 3. gamma | 20.0 ms |",
        ],
    );
    // Five workloads and depths, all won by the same drive, each by a factor of two.
    assert!(
        text.contains("Wins in 5 comparisons: beta 5, alpha 0, gamma 0; ties 0."),
        "{text}"
    );
    assert_eq!(text.matches("| beta × 2.00 ").count(), 5, "{text}");
    for name in ["alpha", "beta", "gamma"] {
        assert!(
            text.contains(&format!("\n## {name}\n")),
            "no section of {name}"
        );
    }
    let Some(page) = page(&path, "several_devices_are_ranked_and_compared") else {
        return;
    };
    // One colour for each device, everywhere.
    for (n, name) in ["alpha", "beta", "gamma"].iter().enumerate() {
        let dots: Vec<&str> = page
            .split("<i class=dot style=\"--c:var(--c")
            .skip(1)
            .filter(|rest| {
                rest.contains(name) && rest[..rest.find("</t").unwrap_or(0)].contains(name)
            })
            .collect();
        assert!(
            !dots.is_empty() && dots.iter().all(|rest| rest.starts_with(&n.to_string())),
            "{name}"
        );
    }
}

/// Drives whose intervals of the ratio include 1 are not ranked by noise.
#[test]
fn equal_devices_are_called_equal() {
    let scratch = Scratch::new().expect("a directory");
    for (name, factor) in [("alpha", 1.0), ("beta", 1.01)] {
        write(
            scratch.path(),
            &format!("{name}/result.json"),
            &drive_result(factor),
        );
    }
    let text = report(&scratch.path().display().to_string(), "md");
    assert!(
        text.contains("do not differ measurably (95 % CI of the ratio: 0.98 to 1.04)"),
        "{text}"
    );
    // The mix has no samples of one direction: 1 % is below the limit for a tie.
    assert!(text.contains("ties 5."), "{text}");
}

/// Regression 0634: every job of 500 results and 50 drives was drawn over time, 490 charts in all.
#[test]
fn fifty_drives_fold_into_matrices() {
    let scratch = Scratch::new().expect("a directory");
    for n in 1..=50u32 {
        write(
            scratch.path(),
            &format!("drive{n:02}/result.json"),
            &drive_result(f64::from(n)),
        );
    }
    let path = scratch.path().display().to_string();
    let text = report(&path, "md");
    for n in 1..=50 {
        assert!(
            text.matches(&format!("drive{n:02}")).count() >= 3,
            "drive{n:02}"
        );
    }
    // Drive 50 is the fastest in each of the four questions, drive 1 the slowest.
    assert_order(
        &text,
        &[
            "Ranking, the best mean rank first",
            "| drive50 | 20.0 us (1.) |",
            "| drive49 |",
            "| drive01 | 1.00 ms (50.) |",
        ],
    );
    let Some(page) = page(&path, "fifty_drives_fold_into_matrices") else {
        return;
    };
    assert!(
        page.matches("<figure ").count() <= 12,
        "{}",
        page.matches("<figure ").count()
    );
}

/// Markdown has the sections of the page, in the same order.
#[test]
fn markdown_and_page_have_the_same_sections() {
    let scratch = Scratch::new().expect("a directory");
    let path = write(scratch.path(), "quick.json", &quick_result());
    let text = report(&path, "md");
    let sections: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    let Some(page) = page(&path, "markdown_and_page_have_the_same_sections") else {
        return;
    };
    let headings: Vec<&str> = page
        .split("<h2>")
        .skip(1)
        .filter_map(|rest| rest.split("</h2>").next())
        .collect();
    assert_eq!(sections, headings);
    let charts = text
        .lines()
        .filter(|line| line.starts_with("### IOPS") || line.starts_with("### Latency"))
        .count();
    assert!(charts > 0, "{text}");
}

/// Regression 0635: an unknown extension, and PDF without a browser, are refused in one line.
#[test]
fn formats_that_cannot_be_written_are_refused() {
    let scratch = Scratch::new().expect("a directory");
    let path = write(scratch.path(), "quick.json", &quick_result());
    let odd = scratch.path().join("report.docx").display().to_string();
    let ran = fathom(["report", &path, "-o", &odd]).expect(2);
    assert!(
        ran.err
            .contains("use the extension .html, .md or .pdf, or name the format with --format"),
        "{}",
        ran.err
    );
    // --format overrides the extension.
    fathom(["report", &path, "--format=md", "-o", &odd]).expect(0);
    assert!(
        std::fs::read_to_string(&odd)
            .expect("the report")
            .starts_with("# Storage benchmark")
    );
    let pdf = scratch.path().join("report.pdf").display().to_string();
    let mut command = common::program(["report", &path, "-o", &pdf]);
    command.env("PATH", scratch.path());
    let ran = common::start(command).finish();
    if ran.err.contains("no chart script") {
        eprintln!(
            "SKIP: formats_that_cannot_be_written_are_refused: this build has no chart script"
        );
        return;
    }
    assert_eq!(ran.status.code(), Some(2), "{}", ran.err);
    assert!(
        ran.err.contains("PDF needs Chromium") && ran.err.trim().lines().count() == 1,
        "{}",
        ran.err
    );
    assert!(!Path::new(&pdf).exists());
}

fn browser(test: &str) -> Option<&'static str> {
    let works = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(works);
    if found.is_none() {
        eprintln!("SKIP: {test}: Chromium is not installed");
    }
    found
}

/// Regression 0636: a printed report had charts that were never drawn, and cut tables.
#[test]
fn a_quick_report_has_at_most_four_pages() {
    const TEST: &str = "a_quick_report_has_at_most_four_pages";
    if browser(TEST).is_none() {
        return;
    }
    let scratch = Scratch::new().expect("a directory");
    let path = write(scratch.path(), "quick.json", &quick_result());
    let pdf = scratch.path().join("report.pdf");
    let ran = fathom(["report", &path, "-o", &pdf.display().to_string()]);
    if ran.err.contains("no chart script") || ran.err.contains("wrote no PDF") {
        eprintln!("SKIP: {TEST}: {}", ran.err.trim());
        return;
    }
    assert!(ran.status.success(), "{}", ran.err);
    let bytes = std::fs::read(&pdf).expect("the PDF");
    let text = String::from_utf8_lossy(&bytes);
    let pages = text.matches("/Type /Page\n").count()
        + text.matches("/Type /Page/").count()
        + text.matches("/Type/Page/").count();
    assert!((1..=4).contains(&pages), "{pages} pages");
    // 210 mm x 297 mm are 595 x 842 points.
    assert!(text.contains("/MediaBox [0 0 59"), "not A4");
}

/// Opens all details of a page, then posts what `found()` returns.
const FRAME_SCRIPT: &str = r#"<script>window.addEventListener('load', function () { setTimeout(function () {
  document.querySelectorAll('details').forEach(function (one) { one.open = true; });
  setTimeout(function () { parent.postMessage('RESULT ' + JSON.stringify(found()), '*'); }, 300);
}, 300); });</script></body>"#;

/// The width of the page and of its window, and elements that are wider.
const WIDTHS: &str = r#"<script>function found() {
  var wide = [];
  document.querySelectorAll('main *').forEach(function (one) {
    var box = one.getBoundingClientRect();
    if (box.right > window.innerWidth + 1 && box.width > 0) wide.push(one.tagName + '.' + one.className + ' ' + Math.round(box.right));
  });
  return { inner: window.innerWidth, width: document.documentElement.scrollWidth, wide: wide.slice(0, 5) };
}</script>"#;

/// Texts that overlap another text, and texts that a box cuts off. Texts of charts are not elements of the page; `legible` tests
/// them. What is outside the window is laid out as well.
const TEXTS: &str = r#"<style>* { content-visibility: visible !important; }</style><script>function found() {
  var walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [], bad = [];
  while (walker.nextNode()) {
    var node = walker.currentNode, parent = node.parentElement;
    if (!node.textContent.trim() || ['SCRIPT', 'STYLE'].indexOf(parent.tagName) >= 0 || !parent.checkVisibility()) continue;
    var range = document.createRange();
    range.selectNodeContents(node);
    Array.from(range.getClientRects()).forEach(function (box) {
      if (box.width > 0 && box.height > 0) texts.push({ node: node, box: box, text: node.textContent.trim().slice(0, 40) });
    });
    for (var above = parent; above && above !== document.body; above = above.parentElement) {
      if (getComputedStyle(above).overflowX === 'hidden' && above.scrollWidth > above.clientWidth + 1) bad.push('cut off: ' + node.textContent.trim().slice(0, 40));
    }
  }
  texts.sort(function (a, b) { return a.box.top - b.box.top; });
  texts.forEach(function (one, n) {
    for (var m = n + 1; m < texts.length && texts[m].box.top < one.box.bottom - 2; m++) {
      var other = texts[m], wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      var high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      // Lines of one text share a few pixels above and below their letters.
      if (one.node !== other.node && wide > 2 && high > 4) bad.push(one.text + ' / ' + other.text);
    }
  });
  return { texts: texts.length, bad: bad.slice(0, 5) };
}</script>"#;

/// What `script` finds in `page` when it is shown `width` pixels wide; `None` if Chromium does not work.
fn found_in_page(
    browser: &str,
    scratch: &Scratch,
    page: &str,
    script: &str,
    width: u32,
) -> Option<serde_json::Value> {
    let end = page.rfind("</body>").expect("the end of the body");
    let inner = write(
        scratch.path(),
        "inner.html",
        &format!("{}{script}{FRAME_SCRIPT}", &page[..end]),
    );
    // A window of Chromium is at least 500 px wide; a frame is not.
    let outer = write(
        scratch.path(),
        "outer.html",
        &format!(
            "<body style='margin:0'><iframe src='file://{inner}' style='width:{width}px;height:800px;border:0'></iframe><script>window.addEventListener('message', function (e) {{ document.title = e.data; }});</script></body>"
        ),
    );
    let ran = Command::new("timeout")
        .args([
            "60",
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--window-size=1500,900",
            "--allow-file-access-from-files",
        ])
        .arg(format!(
            "--user-data-dir={}",
            scratch.path().join("profile").display()
        ))
        .args(["--virtual-time-budget=8000", "--dump-dom"])
        .arg(format!("file://{outer}"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&ran.stdout).into_owned();
    let message = dom
        .split("<title>RESULT ")
        .nth(1)?
        .split("</title>")
        .next()?;
    let message = message
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    Some(serde_json::from_str(&message).expect("the result"))
}

/// Reports in HTML: of a quick measurement, and of two devices with long names. `None` without the script of charts.
fn html_reports(test: &str, scratch: &Scratch) -> Option<Vec<String>> {
    write(scratch.path(), "one/quick.json", &quick_result());
    for (name, factor) in [
        (
            "a/alpha-with-a-name-of-a-drive-that-does-not-end-S6WSNJ0T90012A",
            2.0,
        ),
        ("a/beta", 4.0),
    ] {
        write(
            scratch.path(),
            &format!("{name}/result.json"),
            &drive_result(factor),
        );
    }
    let mut reports = Vec::new();
    for source in ["one", "a"] {
        let path = scratch.path().join(source).display().to_string();
        let ran = fathom(["report", &path, "--format=html"]);
        if ran.err.contains("no chart script") {
            eprintln!("SKIP: {test}: this build has no chart script");
            return None;
        }
        reports.push(ran.out);
    }
    Some(reports)
}

/// Regression 0637: tables of a report had to be scrolled sideways on a phone.
#[test]
fn a_report_fits_on_a_phone() {
    const TEST: &str = "a_report_fits_on_a_phone";
    let Some(browser) = browser(TEST) else { return };
    let scratch = Scratch::new().expect("a directory");
    let Some(reports) = html_reports(TEST, &scratch) else {
        return;
    };
    for page in &reports {
        let Some(found) = found_in_page(browser, &scratch, page, WIDTHS, 375) else {
            eprintln!("SKIP: {TEST}: Chromium does not work on this machine");
            return;
        };
        assert_eq!(found["inner"].as_u64(), Some(375), "{found}");
        assert!(found["width"].as_u64() <= Some(375), "{found}");
    }
}

/// On a phone and on a wide screen, no text of a report overlaps another or is cut off. A page in which two texts overlap shows
/// that the script notices it.
#[test]
fn texts_of_a_report_do_not_overlap() {
    const TEST: &str = "texts_of_a_report_do_not_overlap";
    let Some(browser) = browser(TEST) else { return };
    let scratch = Scratch::new().expect("a directory");
    let Some(reports) = html_reports(TEST, &scratch) else {
        return;
    };
    let bad = "<!doctype html><body><p style='position:absolute;top:9px'>one</p><p style='position:absolute;top:12px'>two</p><p style='overflow:hidden;width:20px;white-space:nowrap;margin-top:90px'>much too long</p></body>";
    let Some(found) = found_in_page(browser, &scratch, bad, TEXTS, 375) else {
        eprintln!("SKIP: {TEST}: Chromium does not work on this machine");
        return;
    };
    assert_eq!(
        found["bad"],
        serde_json::json!(["cut off: much too long", "one / two"])
    );
    for page in &reports {
        for width in [375, 1400] {
            let found = found_in_page(browser, &scratch, page, TEXTS, width)
                .expect("Chromium worked a moment ago");
            assert!(found["texts"].as_u64() > Some(20), "{found}");
            assert_eq!(found["bad"], serde_json::json!([]), "{width} px: {found}");
        }
    }
}

/// The titles of a page that need something below them: headings, and captions of charts. Those of tables stand below.
fn titles(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (from, to) in [
        ("<h2", "</h2>"),
        ("<h3", "</h3>"),
        ("<figcaption", "</figcaption>"),
    ] {
        for part in page.split(from).skip(1) {
            let inner = part
                .split_once('>')
                .and_then(|(_, rest)| rest.split_once(to));
            found.extend(inner.map(|(inner, _)| plain(inner)));
        }
    }
    found
}

/// The text of HTML without its elements, with single spaces.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut is_inside = false;
    for letter in html.chars() {
        match letter {
            '<' => is_inside = true,
            '>' => {
                is_inside = false;
                text.push(' ');
            }
            _ if !is_inside => text.push(letter),
            _ => {}
        }
    }
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("&quot;", "\"")
        .replace("&#39;", "'");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Regression 1448: nothing but a style rule said that a heading or the caption of a chart is printed on the page of what it
/// belongs to. A page of the PDF never ends with one.
#[test]
fn regression_1448_no_caption_stands_alone_on_a_printed_page() {
    const TEST: &str = "regression_1448_no_caption_stands_alone_on_a_printed_page";
    if browser(TEST).is_none() {
        return;
    }
    if Command::new("pdftotext")
        .arg("-v")
        .stderr(Stdio::null())
        .status()
        .is_err()
    {
        eprintln!("SKIP: {TEST}: pdftotext is not installed");
        return;
    }
    let scratch = Scratch::new().expect("a directory");
    let Some(pages) = html_reports(TEST, &scratch) else {
        return;
    };
    let mut ends = 0;
    for (page, source) in pages.iter().zip(["one", "a"]) {
        let pdf = scratch.path().join(format!("{source}.pdf"));
        let ran = fathom([
            "report",
            &scratch.path().join(source).display().to_string(),
            "-o",
            &pdf.display().to_string(),
        ]);
        assert!(ran.status.success(), "{}", ran.err);
        let text = Command::new("pdftotext")
            .args(["-layout", "-enc", "UTF-8"])
            .arg(&pdf)
            .arg("-")
            .output()
            .expect("pdftotext starts");
        assert!(text.status.success());
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        let titles = titles(page);
        assert!(titles.len() > 3, "{titles:?}");
        for (number, sheet) in text.split('\u{c}').enumerate() {
            let Some(last) = sheet.lines().rfind(|line| !line.trim().is_empty()) else {
                continue;
            };
            let last = last.split_whitespace().collect::<Vec<_>>().join(" ");
            ends += 1;
            let alone = titles
                .iter()
                .any(|title| *title == last || (last.len() > 20 && title.ends_with(&last)));
            assert!(!alone, "{source}: page {} ends with {last:?}", number + 1);
        }
    }
    assert!(ends > 3, "{ends} pages");
}
