//! Runs or groups of them side by side: the statements of `fathom compare`, and the charts of a report on all of them.

use fathom_chart::report_parts;
use fathom_model::{Report, ReportBlock, ReportSection};
use fathom_report::{comparison_remarks, comparison_rows};

use super::{answer, group_texts, groups};
use crate::Group;
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere, number, words};
use crate::request::{Request, address};
use crate::workers::Site;

/// Charts on the page, and runs in them.
const MOST_CHARTS: usize = 4;
const CHARTED: usize = 16;
/// Groups that have a field of the form, and titles of them in a sentence.
const FIELDS: usize = 8;
const PATH: &str = "/compare";

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
    let groups = groups(site, request)?;
    let mut html = Html::default();
    html.raw("<h1>Compare</h1>");
    form(&mut html, request, &groups);
    if groups.len() < 2 {
        html.raw("<p>Choose two or more runs, here or in ")
            .link("/", &[], "the list of runs");
        html.raw(". The first is compared with each other one. A group is compared as one: its runs are repeats, named one by one or by labels that they have.</p>");
        return Ok(answer(
            &Frame {
                title: "Compare",
                current: PATH,
                ..Frame::default()
            },
            &html,
        ));
    }
    let titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
    // The command refuses to compare plans that differ unless it is told to.
    let mut unlike = "";
    match site.library.compare(&groups) {
        Ok(comparison) => {
            if !comparison.option_differences.is_empty() {
                unlike = " --unlike";
            }
            html.raw("<section><h2>Differences</h2>");
            let head = [
                words("Job"),
                words("Metric"),
                number("Before"),
                number("After"),
                number("Change"),
                words("Conclusion"),
            ];
            let caption = format!("{} compared with {}", titles[0], shortened(&titles[1..]));
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
            let (first, rest) = reason.split_at(reason.chars().next().map_or(0, char::len_utf8));
            let sentence = format!("{}{rest}.", first.to_uppercase());
            html.raw("<p role=alert>").text(&sentence).raw("</p>");
        }
    }
    let mut data = String::new();
    let charted: Vec<String> = groups
        .iter()
        .flat_map(|group| group.runs.iter().take((CHARTED / groups.len()).max(1)))
        .take(CHARTED)
        .cloned()
        .collect();
    if let Ok(report) = site.library.report(&charted) {
        let parts = report_parts(&charts(report));
        if parts.has_charts {
            html.raw("<section>").report(&parts).raw("</section>");
            data = parts.data;
        }
    }
    html.raw("<section><h2>Reports</h2><dl>");
    for group in &groups {
        html.raw("<dt>").text(&group.title).raw("</dt><dd>");
        for (at, name) in group.runs.iter().enumerate() {
            html.raw(if at == 0 { "" } else { ", " })
                .link(&format!("/runs/{name}"), &[], name);
        }
        html.raw("</dd>");
    }
    html.raw("</dl></section>");
    let download = |format: &str| {
        let mut query: Vec<(&str, String)> = request
            .query
            .iter()
            .filter(|(name, _)| ["runs", "group", "name"].contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        query.push(("format", format.to_owned()));
        address("/api/v1/compare", &query)
    };
    let sides: Vec<String> = groups.iter().map(|group| group.runs.join(" ")).collect();
    let has_one_each = groups.iter().all(|group| group.runs.len() == 1);
    let command = sides.join(if has_one_each { " " } else { " --vs " });
    elsewhere(
        &mut html,
        &[("CSV", download("csv")), ("JSON", download("json"))],
        &format!("fathom compare {command}{unlike}"),
    );
    let title = format!("{} compared", shortened(&titles));
    Ok(answer(
        &Frame {
            title: &title,
            current: PATH,
            data: &data,
            is_wide: true,
            ..Frame::default()
        },
        &html,
    ))
}

/// A field for each group and one more; without groups, a field for runs besides.
fn form(html: &mut Html, request: &Request, groups: &[Group]) {
    let texts = group_texts(request);
    if texts.is_empty() {
        let names: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
        html.raw("<form class=filter method=get action=\"/compare\"><label>Runs <input name=runs placeholder=\"r1,r2\"")
            .attribute("value", &names.join(","))
            .raw("></label><button class=do>Compare</button></form>");
        if groups.len() > 1 {
            return;
        }
    }
    html.raw("<form class=filter method=get action=\"/compare\">");
    for at in 0..(texts.len() + 1).clamp(2, FIELDS) {
        html.raw("<label>")
            .text(&format!("Group {}", at + 1))
            .raw(" <input name=group placeholder=\"r1,r2 or kernel=6.1\"")
            .attribute("value", texts.get(at).unwrap_or(&""))
            .raw("></label>");
    }
    html.raw("<label>Name of the runs <input name=name placeholder=all")
        .attribute("value", request.get("name"))
        .raw("></label><button class=do>Compare the groups</button></form>");
}

/// The first titles of many.
fn shortened(titles: &[&str]) -> String {
    let shown = titles.len().min(FIELDS);
    let text = titles[..shown].join(", ");
    match titles.len() - shown {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
