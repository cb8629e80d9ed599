//! A report as one offline HTML page.

use fathom_model::Report;

use crate::error::ChartError;
use crate::page::{Page, escape};
use crate::report::{REPEAT, about};

/// Number of fact sections that are initially open.
const OPEN: usize = 8;

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
