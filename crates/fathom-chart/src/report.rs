//! A report as Markdown: the blocks of the page in the same order, with a statement and a table instead of each chart.

use fathom_model::{Report, ReportBlock, ReportCell, ReportChart, ReportFinding, ReportTable};

use crate::csv::table;

pub(crate) const REPEAT: &str =
    "Save this as job.fio and run it again with: fathom run job.fio (or fio job.fio).";
/// Maximum number of rows of the table of a chart.
const ROWS: usize = 60;

/// The report in Markdown.
#[must_use]
pub fn report_markdown(report: &Report) -> String {
    let mut text = format!("# {}\n", plain(&report.title));
    for section in &report.sections {
        if !section.heading.is_empty() {
            text += &format!("\n## {}\n", plain(&section.heading));
        }
        for block in &section.blocks {
            text += &format!("\n{}", markdown(block));
        }
    }
    text
}

fn markdown(block: &ReportBlock) -> String {
    match block {
        ReportBlock::Subject(text) | ReportBlock::Text(text) | ReportBlock::Note(text) => {
            format!("{}\n", plain(text))
        }
        ReportBlock::Answer(text) => format!("**{}**\n", plain(text)),
        ReportBlock::Heading(text) => format!("### {}\n", plain(text)),
        ReportBlock::Verdict { verdict, reason } => {
            format!(
                "**{}**: {}\n",
                plain(&verdict.to_uppercase()),
                plain(reason)
            )
        }
        ReportBlock::Table(table) => report_table(table),
        ReportBlock::Chart(chart) => of_chart(chart),
        ReportBlock::Finding(finding) => of_finding(finding),
        ReportBlock::List(items) => items
            .iter()
            .map(|item| format!("* {}\n", plain(item)))
            .collect(),
        ReportBlock::Facts(pairs) => pairs
            .iter()
            .map(|(name, value)| format!("* {}: {}\n", plain(name), plain(value)))
            .collect(),
        // Four spaces make a code block that its content cannot end.
        ReportBlock::Plan(plan) => {
            let block: String = plan.lines().map(|line| format!("    {line}\n")).collect();
            format!("{}\n\n{block}", plain(REPEAT))
        }
    }
}

fn of_finding(finding: &ReportFinding) -> String {
    let about = if finding.about.is_empty() {
        String::new()
    } else {
        format!(" ({})", plain(&finding.about.join(", ")))
    };
    format!(
        "* **{}**{about}: {} {}\n",
        plain(&finding.name),
        plain(&finding.evidence),
        plain(&finding.advice)
    )
}

fn of_chart(one: &ReportChart) -> String {
    let chart = &one.chart;
    let mut text = format!("### {}\n", plain(&chart.title));
    for part in [&chart.subtitle, &one.statement]
        .into_iter()
        .chain(&chart.notes)
    {
        if !part.is_empty() {
            text += &format!("\n{}\n", plain(part));
        }
    }
    let rows = table(chart);
    text += &format!("\n{}", markdown_table(&rows[..rows.len().min(ROWS + 1)]));
    if rows.len() > ROWS + 1 {
        text += &format!("\n{} more rows.\n", rows.len() - ROWS - 1);
    }
    if !one.derived.is_empty() {
        text += &format!("\n{}\n", plain(&one.derived));
    }
    text
}

fn report_table(table: &ReportTable) -> String {
    let mut rows = vec![table.head.clone()];
    for group in &table.groups {
        if !group.name.is_empty() {
            let mut row = vec![String::new(); table.head.len().max(1)];
            row[0].clone_from(&group.name);
            rows.push(row);
        }
        let text = |cell: &ReportCell| cell.text.clone();
        rows.extend(
            group
                .rows
                .iter()
                .map(|row| row.iter().map(text).collect::<Vec<_>>()),
        );
    }
    format!("{}\n\n{}", plain(&table.caption), markdown_table(&rows))
}

fn markdown_table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
        text += &format!("| {} |\n", cells.join(" | "));
        if number == 0 {
            text += &format!("|{}\n", " --- |".repeat(row.len()));
        }
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
