//! Runs side by side: the statements of `fathom compare`, and the charts of a report on all of them.

use fathom_chart::report_parts;
use fathom_model::{Report, ReportBlock, ReportSection};
use fathom_report::{comparison_remarks, comparison_rows};

use super::{answer, named_runs};
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere, number, words};
use crate::request::{Request, address};
use crate::workers::Site;

/// Charts on the page.
const MOST_CHARTS: usize = 4;

/// The first charts of a report; its other parts compare devices, and are long.
fn charts(report: Report) -> Report {
    let blocks = report
        .sections
        .into_iter()
        .flat_map(|section| section.blocks)
        .filter(|block| matches!(block, ReportBlock::Chart(_)))
        .take(MOST_CHARTS);
    Report {
        title: "Charts".to_owned(),
        sections: vec![ReportSection {
            blocks: blocks.collect(),
            ..ReportSection::default()
        }],
    }
}

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let names = named_runs(request)?;
    let mut html = Html::default();
    html.raw("<h1>Compare</h1><form class=filter method=get action=\"/compare\"><label>Runs <input name=runs placeholder=\"r1,r2\"")
        .attribute("value", &names.join(","))
        .raw("></label><button class=do>Compare</button></form>");
    if names.len() < 2 {
        html.raw("<p>Choose two or more runs, here or in ")
            .link("/", &[], "the list of runs");
        html.raw(". The first is compared with each other one.</p>");
        return Ok(answer(
            &Frame {
                title: "Compare",
                ..Frame::default()
            },
            &html,
        ));
    }
    match site.library.compare(&names) {
        Ok(comparison) => {
            html.raw("<section><h2>Differences</h2>");
            let head = [
                words("Job"),
                words("Metric"),
                number("Before"),
                number("After"),
                number("Change"),
                words("Conclusion"),
            ];
            let caption = format!("{} compared with {}", names[0], names[1..].join(", "));
            html.head(&caption, &head);
            for row in comparison_rows(&comparison) {
                html.raw("<tr><th scope=row>").text(&row[0]).raw("</th>");
                for (column, text) in head.iter().zip(&row).skip(1) {
                    html.cell(*column, text);
                }
                html.raw("</tr>");
            }
            html.foot().raw("<ul>");
            for remark in comparison_remarks(&comparison) {
                html.raw("<li>").text(&remark).raw("</li>");
            }
            html.raw("</ul></section>");
        }
        Err(reason) => {
            html.raw("<p role=alert>").text(&reason).raw("</p>");
        }
    }
    let mut data = String::new();
    if let Ok(report) = site.library.report(&names) {
        let parts = report_parts(&charts(report));
        if parts.has_charts {
            html.raw("<section>").report(&parts).raw("</section>");
            data = parts.data;
        }
    }
    html.raw("<p>Reports: ");
    for (at, name) in names.iter().enumerate() {
        html.raw(if at == 0 { "" } else { ", " })
            .link(&format!("/runs/{name}"), &[], name);
    }
    html.raw("</p>");
    let download = |format: &str| {
        address(
            "/api/v1/compare",
            &[("runs", names.join(",")), ("format", format.to_owned())],
        )
    };
    let command = format!("fathom compare {}", names.join(" "));
    elsewhere(
        &mut html,
        &[("CSV", download("csv")), ("JSON", download("json"))],
        &command,
    );
    let title = format!("{} compared", names.join(", "));
    Ok(answer(
        &Frame {
            title: &title,
            data: &data,
            is_wide: true,
            ..Frame::default()
        },
        &html,
    ))
}
