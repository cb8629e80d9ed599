//! The list of runs.

use fathom_model::Run;
use fathom_model::format::shell_word;
use fathom_report::{metric_text, run_state};
use fathom_store::ListedRun;

use super::{answer, device_of, fact, started};
use crate::answer::{Answer, Problem};
use crate::filters::{list, query};
use crate::html::{Column, Frame, Html, elsewhere, number, words};
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
/// Labels that fathom gives each run, which have columns.
const KNOWN: [&str; 4] = ["host", "kernel", "drive", "firmware"];
/// The columns that are shown first.
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
    let mut found = list(site, request)?;
    if found.filter.after.is_some() {
        found.runs.reverse();
    }
    let (runs, filter) = (&found.runs, &found.filter);
    let all = site.count()?;
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
        html.raw("<form method=get action=\"/compare\">");
        let caption = format!("{} of {all} runs", runs.len());
        table(
            &mut html,
            &caption,
            runs,
            &columns,
            site,
            Rows {
                path: "/runs",
                can_pick: true,
            },
        );
        html.raw("<p><button class=do>Compare the chosen runs</button></p></form>");
    }
    pages(
        &mut html,
        request,
        runs,
        found.has_more,
        (filter.before.is_some(), filter.after.is_some()),
    );
    let texts = [
        request.get("q"),
        request.get("kind"),
        request.get("state"),
        request.get("device"),
    ];
    let texts: Vec<String> = texts
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
        .chain(texts)
        .chain(labels)
        .chain([format!("--newest={}", filter.limit)])
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
    for (label, name, values) in [
        ("Kind", "kind", &kinds[..]),
        ("State", "state", &["running", "finished", "stopped"]),
        ("Verdict", "verdict", &["valid", "degraded", "invalid"]),
    ] {
        html.select(label, name, "all", values, request.get(name));
    }
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

/// How the rows of a table of runs begin and end.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// Where the names lead: `/runs`, `/live`.
    pub path: &'static str,
    /// With a box that chooses the run for a comparison.
    pub can_pick: bool,
}

/// A table of runs.
pub(crate) fn table(
    html: &mut Html,
    caption: &str,
    runs: &[ListedRun],
    columns: &[&str],
    site: &Site,
    rows: Rows,
) {
    const RUN: Column = words("Run");
    const NAME: Column = words("Name");
    const COMPARE: Column = words("Compare");
    let titles: Vec<String> = columns.iter().map(|column| title(column)).collect();
    let shown: Vec<Column> = columns
        .iter()
        .zip(&titles)
        .map(|(column, title)| {
            if ["cells", "iops", "bandwidth", "p99"].contains(column) {
                number(title)
            } else {
                words(title)
            }
        })
        .collect();
    let picks = rows.can_pick.then_some(COMPARE);
    let head: Vec<Column> = [RUN, NAME]
        .into_iter()
        .chain(shown.iter().copied())
        .chain(picks)
        .collect();
    html.head(caption, &head);
    for listed in runs {
        let name = listed.run.id.to_string();
        html.row(&format!("{}/{name}", rows.path), &[], &name)
            .cell(NAME, &listed.run.experiment.name);
        for (column, shown) in columns.iter().zip(&shown) {
            html.open(*shown);
            value(html, column, listed, site);
            html.raw("</td>");
        }
        if rows.can_pick {
            html.raw("<td class=pick data-label=Compare><input type=checkbox name=runs")
                .attribute("value", &name)
                .attribute("aria-label", &format!("Compare {name}"))
                .raw("></td>");
        }
        html.raw("</tr>");
    }
    html.foot();
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
        "kind" => html.text(&run.experiment.shown_kind()),
        "state" => {
            let state = run_state(run, site.library.is_dead(run));
            if state == "running" {
                html.link(&format!("/live/{}", run.id), &[], state)
            } else {
                html.raw("<span class=state>").text(state).raw("</span>")
            }
        }
        "verdict" => html.verdict(&listed.verdict),
        "cells" => html.text(&format!("{} of {}", run.finished, planned(run))),
        "progress" => {
            let (done, planned) = (run.finished, planned(run));
            html.raw("<progress")
                .attribute("max", &planned.to_string())
                .attribute("value", &done.to_string())
                .attribute(
                    "aria-label",
                    &format!("{done} of {planned} cells of {}", run.id),
                )
                .raw("></progress>")
        }
        "labels" => {
            // The others have columns of their own.
            let own = run.experiment.labels.iter();
            let own = own.filter(|(name, _)| !KNOWN.contains(&name.as_str()));
            for (at, (name, value)) in own.enumerate() {
                html.raw(if at == 0 { "" } else { ", " });
                let label = format!("{name}={value}");
                html.link("/", &[("label", label.clone())], &label);
            }
            html
        }
        "iops" | "bandwidth" | "p99" => html.text(&figure(listed, column)),
        "device" => html.text(&device_of(facts)),
        fact_name => html.text(fact(facts, fact_name)),
    };
}

/// Cells of the whole run, as far as they are known.
pub(crate) fn planned(run: &Run) -> u64 {
    run.experiment.planned.max(run.cells).max(1)
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
