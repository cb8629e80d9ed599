//! The list of runs.

use fathom_report::metric_text;
use fathom_store::ListedRun;

use super::{answer, fact, started, state};
use crate::answer::{Answer, Problem};
use crate::filters::{filter, query};
use crate::html::{Frame, Html, elsewhere, shell_word};
use crate::request::{Request, address};
use crate::workers::Site;

/// Columns that a reader may choose, besides run and name.
const COLUMNS: [&str; 13] = [
    "started",
    "kind",
    "state",
    "verdict",
    "device",
    "host",
    "kernel",
    "target",
    "labels",
    "cells",
    "iops",
    "bandwidth",
    "p99",
];
/// Those that are shown first.
const FIRST: [&str; 9] = [
    "started",
    "kind",
    "state",
    "verdict",
    "device",
    "labels",
    "iops",
    "bandwidth",
    "p99",
];

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let filter = filter(request)?;
    let shown = filter.limit as usize - 1;
    let mut runs = site.library.store().list(&filter)?;
    let has_more = runs.len() > shown;
    runs.truncate(shown);
    if filter.after.is_some() {
        runs.reverse();
    }
    let all = site.library.store().count()?;
    let columns = columns(request);
    let mut html = Html::default();
    html.raw("<h1>Runs</h1>");
    form(&mut html, request, &columns);
    if runs.is_empty() {
        html.raw("<p>").text(if all == 0 {
            "The store has no runs yet. `fathom run`, `fathom quick` and other commands store theirs; `fathom import` stores results of fio."
        } else {
            "No run matches."
        }).raw("</p>");
    } else {
        list(&mut html, &runs, &columns, site, all);
    }
    pages(
        &mut html,
        request,
        &runs,
        has_more,
        (filter.before.is_some(), filter.after.is_some()),
    );
    let words = [
        request.get("q"),
        request.get("kind"),
        request.get("state"),
        request.get("device"),
    ];
    let words: Vec<String> = words
        .iter()
        .flat_map(|text| text.split_whitespace())
        .map(shell_word)
        .collect();
    let labels = request
        .all("label")
        .into_iter()
        .map(|label| format!("--label={}", shell_word(&label)));
    let command = ["fathom runs".to_owned()]
        .into_iter()
        .chain(words)
        .chain(labels)
        .chain([format!("--newest={shown}")])
        .collect::<Vec<_>>()
        .join(" ");
    let download = |format: &str| {
        let mut query = query(request);
        query.push(("before", request.get("before").to_owned()));
        query.push(("after", request.get("after").to_owned()));
        query.push(("format", format.to_owned()));
        address("/api/v1/runs", &query)
    };
    elsewhere(
        &mut html,
        &[("CSV", download("csv")), ("JSON", download("json"))],
        &command,
    );
    Ok(answer(
        &Frame {
            title: "Runs",
            current: "/",
            is_wide: true,
            ..Frame::default()
        },
        &html,
    ))
}

fn columns(request: &Request) -> Vec<&'static str> {
    let chosen = request.all("cols");
    if chosen.is_empty() {
        return FIRST.to_vec();
    }
    COLUMNS
        .into_iter()
        .filter(|column| chosen.iter().any(|one| one == column))
        .collect()
}

fn select(html: &mut Html, label: &'static str, name: &'static str, values: &[&str], chosen: &str) {
    html.raw("<label>")
        .raw(label)
        .raw(" <select")
        .attribute("name", name)
        .raw("><option value=\"\">all</option>");
    for value in values {
        html.raw("<option").attribute("value", value);
        if *value == chosen {
            html.raw(" selected");
        }
        html.raw(">").text(value).raw("</option>");
    }
    html.raw("</select></label>");
}

fn form(html: &mut Html, request: &Request, columns: &[&str]) {
    html.raw("<form class=filter method=get action=\"/\"><label>Search <input type=search name=q placeholder=\"name, host, kernel\"")
        .attribute("value", request.get("q"))
        .raw("></label><label>Device <input type=search name=device placeholder=\"model or firmware\"")
        .attribute("value", request.get("device"))
        .raw("></label>");
    html.raw("<label>Label <input type=search name=label placeholder=\"project=db\"")
        .attribute("value", &request.all("label").join(","))
        .raw("></label>");
    let kinds = [
        "run", "quick", "sweep", "search", "suite", "import", "fio", "app", "observe", "fsync",
    ];
    select(html, "Kind", "kind", &kinds, request.get("kind"));
    select(
        html,
        "State",
        "state",
        &["running", "finished", "stopped"],
        request.get("state"),
    );
    select(
        html,
        "Verdict",
        "verdict",
        &["valid", "degraded", "invalid"],
        request.get("verdict"),
    );
    html.raw("<button class=do>Show</button><details><summary>Columns</summary>");
    for column in COLUMNS {
        html.raw("<label><input type=checkbox name=cols")
            .attribute("value", column);
        if columns.contains(&column) {
            html.raw(" checked");
        }
        html.raw(">").text(column).raw("</label>");
    }
    html.raw("</details></form>");
}

fn list(html: &mut Html, runs: &[ListedRun], columns: &[&'static str], site: &Site, all: u64) {
    html.raw("<form method=get action=\"/compare\"><div class=\"whole runs\">");
    let caption = format!("{} of {all} runs", runs.len());
    html.raw("<table><caption>")
        .text(&caption)
        .raw("</caption><thead><tr><th scope=col>Run</th><th scope=col class=left>Name</th>");
    for column in columns {
        html.raw("<th scope=col")
            .raw(if is_number(column) { "" } else { " class=left" })
            .raw(">")
            .text(&title(column))
            .raw("</th>");
    }
    html.raw("<th scope=col>Compare</th></tr></thead><tbody>");
    for listed in runs {
        let run = &listed.run;
        let name = run.id.to_string();
        html.raw("<tr><th scope=row>")
            .link(&format!("/runs/{name}"), &[], &name)
            .raw("</th>");
        html.raw("<td class=\"left name\" data-label=Name>")
            .text(&run.experiment.name)
            .raw("</td>");
        for column in columns {
            html.raw("<td")
                .raw(if is_number(column) { "" } else { " class=left" })
                .attribute("data-label", &title(column))
                .raw(">");
            value(html, column, listed, site);
            html.raw("</td>");
        }
        html.raw("<td class=pick data-label=Compare><input type=checkbox name=runs")
            .attribute("value", &name)
            .attribute("aria-label", &format!("Compare {name}"))
            .raw("></td></tr>");
    }
    html.raw(
        "</tbody></table></div><p><button class=do>Compare the chosen runs</button></p></form>",
    );
}

fn is_number(column: &str) -> bool {
    ["cells", "iops", "bandwidth", "p99"].contains(&column)
}

fn title(column: &str) -> String {
    match column {
        "iops" => "IOPS".to_owned(),
        "p99" => "p99".to_owned(),
        other => other[..1].to_uppercase() + &other[1..],
    }
}

fn value(html: &mut Html, column: &str, listed: &ListedRun, site: &Site) {
    let run = &listed.run;
    let facts = &run.experiment.facts;
    match column {
        "started" => html.text(&started(run, site)),
        "kind" => html.text(&run.experiment.kind),
        "state" => {
            let state = state(run, site.library.is_dead(run));
            if state == "running" {
                html.link(&format!("/live/{}", run.id), &[], state)
            } else {
                html.raw("<span class=state>").text(state).raw("</span>")
            }
        }
        "verdict" => html.verdict(&listed.verdict),
        "cells" => html.text(&format!(
            "{} of {}",
            run.finished,
            run.experiment.planned.max(run.cells)
        )),
        "labels" => {
            for (at, (name, value)) in run.experiment.labels.iter().enumerate() {
                html.raw(if at == 0 { "" } else { ", " });
                let label = format!("{name}={value}");
                html.link("/", &[("label", label.clone())], &label);
            }
            html
        }
        "iops" | "bandwidth" | "p99" => html.text(&figure(listed, column)),
        fact_name => html.text(fact(facts, fact_name)),
    };
}

/// A figure of the whole run; of the first direction where there are several. Runs of several cells have none.
fn figure(listed: &ListedRun, end: &str) -> String {
    if listed.run.experiment.planned > 1 {
        return String::new();
    }
    let is_it = |name: &str| {
        name == end
            || name
                .strip_suffix(end)
                .is_some_and(|before| before.ends_with(' '))
    };
    let found = listed.figures.iter().find(|(name, _)| is_it(name));
    found.map_or(String::new(), |(name, value)| metric_text(name, *value))
}

fn pages(
    html: &mut Html,
    request: &Request,
    runs: &[ListedRun],
    has_more: bool,
    (before, after): (bool, bool),
) {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else {
        return;
    };
    let has_newer = if after { has_more } else { before };
    let has_older = if after { true } else { has_more };
    html.raw("<nav class=pages aria-label=\"Pages of the list\">");
    let link = |html: &mut Html, name: &'static str, run: &ListedRun, text: &str| {
        let mut query = query(request);
        query.push((name, run.run.id.to_string()));
        html.link("/", &query, text);
    };
    if has_newer {
        link(html, "after", first, "Newer runs");
    }
    if has_older {
        link(html, "before", last, "Older runs");
    }
    html.raw("</nav>");
}
