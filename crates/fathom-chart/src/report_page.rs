//! A report as one offline HTML page.

use fathom_model::{Report, ReportBlock, ReportCell, ReportFinding, ReportTable};

use crate::error::ChartError;
use crate::page::{Page, PageParts, escape};
use crate::report::REPEAT;

/// Tables with more columns can be scrolled on a narrow screen that is too wide for cards.
const WIDE: usize = 8;

/// The page: the answer first, then findings, charts and details, with the details folded.
///
/// # Errors
/// If this build has no script.
pub fn report_page(report: &Report) -> Result<String, ChartError> {
    built(report).finish()
}

/// The same for a server, which sends script and style once.
#[must_use]
pub fn report_parts(report: &Report) -> PageParts {
    built(report).parts()
}

fn built(report: &Report) -> Page {
    let mut page = Page::new(&report.title);
    page.markup(&format!("<h1>{}</h1>\n", escape(&report.title)));
    for section in &report.sections {
        let heading = escape(&section.heading);
        match (section.folded, heading.is_empty()) {
            (true, _) => page.markup(&format!(
                "<details class=part><summary><h2>{heading}</h2></summary>\n"
            )),
            (false, true) => page.markup("<section class=answer>\n"),
            (false, false) => page.markup(&format!("<section><h2>{heading}</h2>\n")),
        }
        section
            .blocks
            .iter()
            .for_each(|block| add(&mut page, block));
        page.markup(if section.folded {
            "</details>\n"
        } else {
            "</section>\n"
        });
    }
    page
}

fn add(page: &mut Page, block: &ReportBlock) {
    let paragraph = |class: &str, text: &str| format!("<p class={class}>{}</p>\n", escape(text));
    let markup = match block {
        ReportBlock::Chart(chart) => {
            page.report_chart(chart);
            return;
        }
        ReportBlock::Subject(text) => paragraph("subject", text),
        ReportBlock::Answer(text) => paragraph("statement", text),
        ReportBlock::Text(text) => format!("<p>{}</p>\n", escape(text)),
        ReportBlock::Note(text) => paragraph("note", text),
        ReportBlock::Heading(text) => format!("<h3>{}</h3>\n", escape(text)),
        ReportBlock::Verdict { verdict, reason } => {
            let class = ["valid", "degraded", "invalid"]
                .into_iter()
                .find(|word| word == verdict)
                .unwrap_or_default();
            format!(
                "<p><span class=\"verdict {class}\">{}</span> {}</p>\n",
                escape(&verdict.to_uppercase()),
                escape(reason)
            )
        }
        ReportBlock::Table(table) => html_table(table),
        ReportBlock::Finding(finding) => of_finding(finding),
        ReportBlock::List(items) => {
            let items: String = items
                .iter()
                .map(|item| format!("<li>{}</li>", escape(item)))
                .collect();
            format!("<ul>{items}</ul>\n")
        }
        ReportBlock::Facts(pairs) => {
            let pairs: String = pairs
                .iter()
                .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value)))
                .collect();
            format!("<dl>{pairs}</dl>\n")
        }
        ReportBlock::Plan(plan) => format!(
            "<p class=note>{}</p><pre>{}</pre>\n",
            escape(REPEAT),
            escape(plan)
        ),
    };
    page.markup(&markup);
}

fn of_finding(finding: &ReportFinding) -> String {
    let chips: String = finding
        .about
        .iter()
        .map(|name| format!("<li>{}</li>", escape(name)))
        .collect();
    let chips = if chips.is_empty() {
        chips
    } else {
        format!("<ul class=chips>{chips}</ul>")
    };
    format!(
        "<div class=\"finding g{}\"><b>{}</b><p>{}</p><p class=note>{}</p>{chips}</div>\n",
        finding.severity.min(2),
        escape(&finding.name),
        escape(&finding.evidence),
        escape(&finding.advice),
    )
}

/// A table whose rows become cards on a narrow screen.
fn html_table(table: &ReportTable) -> String {
    let head: String = table
        .head
        .iter()
        .map(|name| format!("<th scope=col>{}</th>", escape(name)))
        .collect();
    let mut body = String::new();
    for group in &table.groups {
        body += "<tbody>";
        if !group.name.is_empty() {
            body += &format!(
                "<tr class=group><th scope=rowgroup colspan={}>{}</th></tr>",
                table.head.len(),
                escape(&group.name)
            );
        }
        for row in &group.rows {
            body += "<tr>";
            for (place, cell) in row.iter().enumerate() {
                body += &html_cell(cell, table.head.get(place).filter(|_| place > 0));
            }
            body += "</tr>";
        }
        body += "</tbody>\n";
    }
    let region = if table.head.len() > WIDE {
        format!(
            " class=scroll tabindex=0 role=region aria-label=\"{}\"",
            escape(&table.caption)
        )
    } else {
        " class=whole".to_owned()
    };
    format!(
        "<div{region}><table><caption>{}</caption><thead><tr>{head}</tr></thead>{body}</table></div>\n",
        escape(&table.caption)
    )
}

/// A row header, or a cell with the name of its column for cards.
fn html_cell(cell: &ReportCell, column: Option<&String>) -> String {
    let dot = cell.colour.map_or(String::new(), |colour| {
        format!("<i class=dot style=\"--c:var(--c{})\"></i>", colour % 8)
    });
    let text = escape(&cell.text);
    let text = if cell.best {
        format!("<b>{text}</b>")
    } else {
        text
    };
    let Some(column) = column else {
        return format!("<th scope=row>{dot}{text}</th>");
    };
    let shade = cell
        .shade
        .filter(|share| share.is_finite())
        .map_or(String::new(), |share| {
            format!(
                " class=shade style=\"--s:{:.0}%\"",
                100.0 * share.clamp(0.0, 1.0)
            )
        });
    // A name with its colour stays together, and has a line of its own on a narrow screen.
    if !dot.is_empty() {
        return format!(
            "<td data-label=\"{}\" class=named><span>{dot}{text}</span></td>",
            escape(column)
        );
    }
    format!("<td data-label=\"{}\"{shade}>{text}</td>", escape(column))
}
