//! Sweeps, searches and suites with their progress.

use fathom_model::Run;
use fathom_store::ListFilter;

use super::{answer, started, state};
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere};
use crate::request::Request;
use crate::workers::Site;

/// The newest of each kind.
const NEWEST: u32 = 50;

pub(crate) fn page(site: &mut Site, _: &Request) -> Result<Answer, Problem> {
    let mut all: Vec<Run> = Vec::new();
    for kind in ["sweep", "search", "suite"] {
        let filter = ListFilter {
            kind: kind.to_owned(),
            limit: NEWEST,
            ..ListFilter::default()
        };
        all.extend(
            site.library
                .store()
                .list(&filter)?
                .into_iter()
                .map(|listed| listed.run),
        );
    }
    all.sort_by_key(|run| std::cmp::Reverse(run.id));
    let mut html = Html::default();
    html.raw("<h1>Experiments</h1>");
    if all.is_empty() {
        html.raw("<p>The store has no sweep, search or suite yet.</p>");
    } else {
        html.raw("<div class=\"whole runs\">");
        html.head(
            "The newest sweeps, searches and suites",
            &[
                "Run", "Name", "Kind", "Started", "State", "Cells", "Progress",
            ],
        );
        for run in &all {
            let (name, planned) = (
                run.id.to_string(),
                run.experiment.planned.max(run.cells).max(1),
            );
            html.raw("<tr><th scope=row>")
                .link(&format!("/runs/{name}"), &[], &name)
                .raw("</th>");
            html.raw("<td class=\"left name\" data-label=Name>")
                .text(&run.experiment.name)
                .raw("</td>");
            html.cell("Kind", &run.experiment.kind);
            html.cell("Started", &started(run, site));
            html.cell("State", state(run, site.library.is_dead(run)));
            html.cell("Cells", &format!("{} of {planned}", run.finished));
            html.raw("<td data-label=Progress><progress")
                .attribute("max", &planned.to_string())
                .attribute("value", &run.finished.to_string());
            html.attribute(
                "aria-label",
                &format!("{} of {planned} cells of {name}", run.finished),
            )
            .raw("></progress></td></tr>");
        }
        html.raw("</tbody></table></div>");
    }
    let list = |kind: &str| format!("/api/v1/runs?kind={kind}");
    elsewhere(
        &mut html,
        &[
            ("Sweeps as JSON", list("sweep")),
            ("Searches as JSON", list("search")),
            ("Suites as JSON", list("suite")),
        ],
        "fathom runs sweep",
    );
    Ok(answer(
        &Frame {
            title: "Experiments",
            current: "/experiments",
            is_wide: true,
            ..Frame::default()
        },
        &html,
    ))
}
