//! `fathom report` in Chromium: on paper, on a phone and on a wide screen.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use crate::common::fathom;
use crate::report_samples::*;
use fathom_testkit::Scratch;
use std::process::{Command, Stdio};

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
