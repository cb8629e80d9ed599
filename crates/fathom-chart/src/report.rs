//! A report as Markdown, and what it shares with the page.

use fathom_model::{Report, ReportFinding};

use crate::csv::table;

pub(crate) const REPEAT: &str =
    "Save this as job.fio and run it again with: fathom run job.fio (or fio job.fio).";
/// Maximum number of time charts with a table in Markdown.
const OVER_TIME: usize = 24;
/// Maximum number of rows of a Markdown table.
const ROWS: usize = 60;

/// What a finding is about, shortened.
pub(crate) fn about(finding: &ReportFinding) -> String {
    match finding.about.as_slice() {
        [] => String::new(),
        some if some.len() > 6 => {
            format!(" · {} and {} more", some[..5].join(", "), some.len() - 5)
        }
        some => format!(" · {}", some.join(", ")),
    }
}

/// The report in Markdown, with a table instead of each chart.
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
