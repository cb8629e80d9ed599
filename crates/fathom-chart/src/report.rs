//! A report as one offline HTML page, or as Markdown.

use fathom_model::{Report, ReportFinding};

use crate::csv::table;
use crate::error::ChartError;
use crate::page::{Page, escape};

/// Number of fact sections that are initially open.
const OPEN: usize = 8;
const REPEAT: &str =
    "Save this as job.fio and run it again with: fathom run job.fio (or fio job.fio).";
/// Maximum number of time charts with a table in Markdown.
const OVER_TIME: usize = 24;
/// Maximum number of rows of a Markdown table.
const ROWS: usize = 60;

/// The page: verdict and findings first, then figures, charts, facts, and the job file.
///
/// # Errors
/// If this build has no script.
pub fn report_page(report: &Report) -> Result<String, ChartError> {
    let mut page = Page::new(&report.title);
    page.markup(&format!("<h1>{}</h1>\n", escape(&report.title)));
    if let Some(verdict) = &report.verdict {
        let class = ["valid", "degraded", "invalid"]
            .into_iter()
            .find(|word| word == verdict)
            .unwrap_or_default();
        page.markup(&format!(
            "<p><span class=\"verdict {class}\">{}</span></p>\n",
            escape(&verdict.to_uppercase())
        ));
    }
    report
        .summary
        .iter()
        .for_each(|sentence| page.markup(&format!("<p>{}</p>\n", escape(sentence))));
    findings(&mut page, report);
    section(&mut page, "Figures", &html_table(&report.figures));
    if !report.charts.is_empty() {
        page.markup("<h2>Charts</h2>\n");
        report
            .charts
            .iter()
            .for_each(|(chart, derived)| page.chart(chart, derived));
    }
    if !report.over_time.is_empty() {
        page.markup(&format!(
            "<h2>Over time</h2>\n<p class=note>{}</p>\n",
            escape(&report.over_time_derived)
        ));
        report
            .over_time
            .iter()
            .for_each(|chart| page.chart(chart, ""));
    }
    facts(&mut page, report);
    for (place, (name, plan)) in report.plans.iter().enumerate() {
        let heading = if name.is_empty() {
            "Job file".to_owned()
        } else {
            format!("Job file: {name}")
        };
        folded(
            &mut page,
            &heading,
            &format!(
                "<p class=note>{}</p><pre>{}</pre>",
                escape(REPEAT),
                escape(plan)
            ),
            place == 0,
        );
    }
    report
        .notes
        .iter()
        .for_each(|note| page.markup(&format!("<p class=note>{}</p>\n", escape(note))));
    page.finish()
}

fn section(page: &mut Page, heading: &str, inside: &str) {
    page.markup(&format!("<h2>{}</h2>\n{inside}\n", escape(heading)));
}

fn findings(page: &mut Page, report: &Report) {
    page.markup("<h2>Findings</h2>\n");
    if report.findings.is_empty() {
        page.markup(if report.verdict.is_some() {
            "<p>No finding affects these results.</p>\n"
        } else {
            "<p>These results were not checked.</p>\n"
        });
    }
    for finding in &report.findings {
        page.markup(&format!(
            "<div class=\"finding g{}\"><b>{}</b>{}<p>{}</p><p class=note>{}</p></div>\n",
            finding.severity.min(2),
            escape(&finding.name),
            escape(&about(finding)),
            escape(&finding.evidence),
            escape(&finding.advice),
        ));
    }
}

fn about(finding: &ReportFinding) -> String {
    match finding.about.as_slice() {
        [] => String::new(),
        some if some.len() > 6 => {
            format!(" · {} and {} more", some[..5].join(", "), some.len() - 5)
        }
        some => format!(" · {}", some.join(", ")),
    }
}

fn facts(page: &mut Page, report: &Report) {
    for (place, (heading, pairs)) in report.facts.iter().enumerate() {
        let pairs: String = pairs
            .iter()
            .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value)))
            .collect();
        folded(page, heading, &format!("<dl>{pairs}</dl>"), place < OPEN);
    }
}

/// A section that can be opened and closed.
fn folded(page: &mut Page, heading: &str, inside: &str, open: bool) {
    let open = if open { " open" } else { "" };
    page.markup(&format!(
        "<details class=part{open}><summary><h2>{}</h2></summary>\n{inside}\n</details>\n",
        escape(heading)
    ));
}

fn html_table(rows: &[Vec<String>]) -> String {
    let mut table = String::from("<div class=scroll><table>");
    for (number, row) in rows.iter().enumerate() {
        let tag = if number == 0 { "th" } else { "td" };
        let cells: String = row
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
            .collect();
        table += &format!("<tr>{cells}</tr>");
    }
    table + "</table></div>"
}

/// The same in Markdown, with a table instead of each chart.
#[must_use]
pub fn report_markdown(report: &Report) -> String {
    let mut text = format!("# {}\n\n", plain(&report.title));
    if let Some(verdict) = &report.verdict {
        text += &format!("**{}**\n\n", plain(&verdict.to_uppercase()));
    }
    report
        .summary
        .iter()
        .for_each(|sentence| text += &format!("{}\n\n", plain(sentence)));
    text += "## Findings\n\n";
    if report.findings.is_empty() {
        text += if report.verdict.is_some() {
            "No finding affects these results.\n\n"
        } else {
            "These results were not checked.\n\n"
        };
    }
    for finding in &report.findings {
        text += &format!(
            "* **{}**{}: {} {}\n",
            plain(&finding.name),
            plain(&about(finding)),
            plain(&finding.evidence),
            plain(&finding.advice)
        );
    }
    text += &format!("\n## Figures\n\n{}", markdown_table(&report.figures));
    for (chart, derived) in &report.charts {
        text += &format!(
            "\n## {}\n\n{}\n\n",
            plain(&chart.title),
            plain(&chart.subtitle)
        );
        chart
            .notes
            .iter()
            .for_each(|note| text += &format!("{}\n\n", plain(note)));
        text += &format!("{}\n{}\n", markdown_table(&table(chart)), plain(derived));
    }
    if !report.over_time.is_empty() {
        text += &format!("\n## Over time\n\n{}\n", plain(&report.over_time_derived));
        for chart in report.over_time.iter().take(OVER_TIME) {
            text += &format!(
                "\n### {}\n\n{}\n\n",
                plain(&chart.title),
                plain(&chart.subtitle)
            );
            chart
                .notes
                .iter()
                .for_each(|note| text += &format!("{}\n\n", plain(note)));
            text += &markdown_table(&table(chart));
        }
    }
    for (heading, pairs) in &report.facts {
        text += &format!("\n## {}\n\n", plain(heading));
        pairs
            .iter()
            .for_each(|(name, value)| text += &format!("* {}: {}\n", plain(name), plain(value)));
    }
    for (name, plan) in &report.plans {
        let heading = if name.is_empty() {
            String::new()
        } else {
            format!(": {}", plain(name))
        };
        // Four spaces make a code block that its content cannot end.
        let block: String = plan.lines().map(|line| format!("    {line}\n")).collect();
        text += &format!("\n## Job file{heading}\n\n{}\n\n{block}", plain(REPEAT));
    }
    report
        .notes
        .iter()
        .for_each(|note| text += &format!("\n{}\n", plain(note)));
    text
}

fn markdown_table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().take(ROWS + 1).enumerate() {
        text += &format!(
            "| {} |\n",
            row.iter()
                .map(|cell| plain(cell))
                .collect::<Vec<_>>()
                .join(" | ")
        );
        if number == 0 {
            text += &format!("|{}\n", " --- |".repeat(row.len()));
        }
    }
    if rows.len() > ROWS + 1 {
        text += &format!("\n{} more rows.\n", rows.len() - ROWS - 1);
    }
    text
}

/// Escapes untrusted text for Markdown: no markup, no HTML, one line.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => safe.extend(['\\', character]),
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '&' => safe += "&amp;",
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}
