//! The certificate as a page of its own.

use std::fmt::Write as _;

use crate::certificate::{Certificate, Verdict, grouped, rows, shown_columns};

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin-top:2rem}\
.verdict{border-left:.5rem solid;padding:.6rem 1rem;margin:1rem 0;font-size:1.1rem}\
.pass{border-color:#2e7d32}.fail{border-color:#c62828}.undecided{border-color:#b26a00}\
.verdict b{text-transform:uppercase}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.2rem .6rem;border-bottom:1px solid #8886;text-align:right;vertical-align:top}\
.commits td,.commits th{white-space:nowrap;font-size:.9rem}th{font-weight:600}td.text,th.text{text-align:left}td.bad{color:#c62828;font-weight:600}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{opacity:.75}dd{margin:0;overflow-wrap:anywhere}\
@media print{body{margin:0}}";

/// The page.
pub(crate) fn page(certificate: &Certificate) -> String {
    let verdict = certificate.verdict;
    let mut page =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    let _ = write!(
        page,
        "<title>Power-cut certificate: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Power-cut certificate</h1>\n",
        verdict.name()
    );
    let class = match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Undecided => "undecided",
    };
    let _ = write!(
        page,
        "<p class=\"verdict {class}\"><b>{}</b>: {}",
        verdict.name(),
        escape(&certificate.reason)
    );
    if let Some(uncertainty) = certificate.uncertainty() {
        let _ = write!(page, "<br>{}", escape(&uncertainty));
    }
    page += "</p>\n";
    causes(&mut page, certificate);
    facts(&mut page, certificate);
    streams(&mut page, certificate);
    page += "<h2>What this test does not prove</h2>\n<ul>\n";
    for limit in &certificate.limits {
        let _ = writeln!(page, "<li>{}</li>", escape(limit));
    }
    page += "</ul>\n</body>\n</html>\n";
    page
}

fn causes(page: &mut String, certificate: &Certificate) {
    if certificate.causes.is_empty() {
        return;
    }
    *page += "<h2>Behaviour that explains the result</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"text\">behaviour</th>\
        <th class=\"text\">class (Zheng et al., FAST 2013)</th><th class=\"text\">observation</th></tr>\n";
    for cause in &certificate.causes {
        let _ = writeln!(
            page,
            "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>",
            cause.cause.name(),
            cause.class.map_or("none", |class| class.name()),
            escape(&cause.evidence)
        );
    }
    *page += "</table></div>\n";
}

fn facts(page: &mut String, certificate: &Certificate) {
    let circumstances = &certificate.circumstances;
    let recorder = if circumstances.second_host {
        format!("{}, another host", circumstances.recorder)
    } else {
        format!("{}, the same machine", circumstances.recorder)
    };
    let facts = [
        ("Path", circumstances.path.clone()),
        ("File system", circumstances.file_system.clone()),
        ("Devices", circumstances.devices.join("; ")),
        ("Host", circumstances.host.clone()),
        ("Recorder", recorder),
        (
            "Commits",
            format!(
                "{} acknowledged, {} checked; each has {} of {} bytes",
                grouped(certificate.acknowledged),
                grouped(certificate.checked),
                crate::certificate::counted(u64::from(certificate.records_per_commit), "record"),
                grouped(u64::from(certificate.record_bytes))
            ),
        ),
        ("Run", certificate.run.to_string()),
        ("Checked", circumstances.checked.clone()),
        ("Program", circumstances.program.clone()),
        (
            "Simulated, not measured",
            circumstances.simulated.clone().unwrap_or_default(),
        ),
    ];
    *page += "<h2>Circumstances</h2>\n<dl>\n";
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(page, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    *page += "</dl>\n";
}

fn streams(page: &mut String, certificate: &Certificate) {
    /// Columns with names.
    const NAMES: std::ops::Range<usize> = 1..4;
    /// Columns whose numbers are violations.
    const VIOLATIONS: std::ops::Range<usize> = 8..15;
    *page += "<h2>Commits</h2>\n<div class=\"wide\"><table class=\"commits\">\n";
    let rows = rows(&certificate.cycles);
    let columns = shown_columns(&rows);
    for (index, row) in rows.iter().enumerate() {
        *page += "<tr>";
        for &column in &columns {
            let cell = &row[column];
            let is_bad = index > 0 && VIOLATIONS.contains(&column) && cell != "0";
            let class = match (NAMES.contains(&column), is_bad) {
                (true, _) => " class=\"text\"",
                (_, true) => " class=\"bad\"",
                _ => "",
            };
            let tag = if index == 0 { "th" } else { "td" };
            let _ = write!(page, "<{tag}{class}>{}</{tag}>", escape(cell));
        }
        *page += "</tr>\n";
    }
    *page += "</table></div>\n<p>Columns without a number above 0 are left out. Acknowledged commits that later ones replaced before the cut are not checked. \
        Out of order: lost, while a commit is there that began after its acknowledgement. Changed includes commits at the \
        place of another one.</p>\n";
}

/// Text as HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            character if character.is_control() => {
                escaped.extend(character.escape_debug());
            }
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_text() {
        assert_eq!(
            escape("<script>'\"&\u{1b}"),
            "&lt;script&gt;&#39;&quot;&amp;\\u{1b}"
        );
    }
}
