//! `fathom report`: what its first page answers, how it compares devices, and how it looks on paper and on a phone.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod samples;

use crate::common;
use crate::common::fathom;
use fathom_testkit::Scratch;
use samples::*;
use std::path::Path;

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
