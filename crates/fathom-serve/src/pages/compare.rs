//! Runs side by side: the statements of `fathom compare`, and the charts of a report on all of them.

use fathom_chart::report_parts;
use fathom_report::{comparison_remarks, comparison_rows};

use super::{answer, named_runs};
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere};
use crate::request::{Request, address};
use crate::workers::Site;

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
            html.raw("<section><h2>Differences</h2><div class=\"whole runs\">");
            let head = ["Job", "Metric", "Before", "After", "Change", "Conclusion"];
            html.head(
                &format!("{} compared with {}", names[0], names[1..].join(", ")),
                &head,
            );
            for row in comparison_rows(&comparison) {
                html.raw("<tr><th scope=row>").text(&row[0]).raw("</th>");
                for (column, text) in head.iter().zip(&row).skip(1) {
                    html.raw("<td").raw(if *column == "Conclusion" {
                        " class=\"left name\""
                    } else {
                        ""
                    });
                    html.attribute("data-label", column)
                        .raw(">")
                        .text(text)
                        .raw("</td>");
                }
                html.raw("</tr>");
            }
            html.raw("</tbody></table></div><ul>");
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
        let parts = report_parts(&report);
        html.raw("<details class=part><summary><h2>Report on all of them</h2></summary>")
            .report(&parts)
            .raw("</details>");
        data = parts.data;
    }
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
