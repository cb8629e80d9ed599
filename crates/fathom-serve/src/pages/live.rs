//! Runs while they are measured. `live.js` shows the events of `/api/v1/live/RUN/events`.

use fathom_model::RunState;
use fathom_store::ListFilter;

use super::answer;
use super::runs::{Rows, table};
use crate::answer::{Answer, HTML, Problem};
use crate::html::{Frame, Html, elsewhere};
use crate::request::Request;
use crate::routes::RUN;
use crate::workers::Site;

/// More runs than are measured at once.
const MOST: u32 = 200;

pub(crate) fn list(site: &mut Site, _: &Request) -> Result<Answer, Problem> {
    let filter = ListFilter {
        state: "running".to_owned(),
        limit: MOST,
        ..ListFilter::default()
    };
    let mut alive = site.library.store().list(&filter)?;
    alive.retain(|listed| !site.library.is_dead(&listed.run));
    let mut html = Html::default();
    html.raw("<h1>Live</h1>");
    if alive.is_empty() {
        html.raw("<p>Nothing is being measured. This page shows runs that write to this store, while they last.</p>");
    } else {
        let rows = Rows {
            path: "/live",
            can_pick: false,
        };
        let columns = ["kind", "started", "host", "target", "cells", "progress"];
        table(&mut html, "Being measured", &alive, &columns, site, rows);
    }
    if site.settings.starter.is_some() {
        html.raw("<p>")
            .link("/start", &[], "Start a run")
            .raw("</p>");
    }
    elsewhere(
        &mut html,
        &[("JSON", "/api/v1/runs?state=running".to_owned())],
        "fathom runs running",
    );
    Ok(answer(
        &Frame {
            title: "Live",
            current: "/live",
            is_wide: true,
            ..Frame::default()
        },
        &html,
    ))
}

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let run = site.library.store().run(request.get(RUN))?;
    let name = run.id.to_string();
    if run.state != RunState::Running || site.library.is_dead(&run) {
        // Nothing more is measured: the report has the figures.
        return Ok(Answer::new(HTML, "")
            .with_status(303)
            .with_header("location", format!("/runs/{name}")));
    }
    let mut html = Html::default();
    html.raw("<h1>")
        .text(&format!("{name} {}", run.experiment.name))
        .raw("</h1><p id=state role=status>")
        .text(run.state.name())
        .raw("</p><p id=disturbance class=note role=status></p><p id=report hidden>")
        .link(&format!("/runs/{name}"), &[], "Open the report");
    html.raw("</p><div class=big><div><b id=iops>-</b><span>IOPS</span></div><div><b id=bandwidth>-</b><span>MB/s</span></div>\
              <div><b id=elapsed>-</b><span>seconds of this cell</span></div><div><b id=cells>-</b><span>cells finished</span></div></div>\
              <figure><figcaption><p class=title>IOPS over time</p><p class=sub>Of the cell that is measured now, from the journal of the store</p></figcaption>\
              <div class=plot id=plot role=img aria-label=\"IOPS over time\"></div></figure><noscript><p>Without scripts, load the page again to see more.</p></noscript>");
    html.raw("<p id=events hidden")
        .attribute("data-events", &format!("/api/v1/live/{name}/events"))
        .raw("></p>");
    elsewhere(
        &mut html,
        &[
            ("Events", format!("/api/v1/live/{name}/events")),
            ("JSON", format!("/api/v1/live/{name}")),
            ("Run", format!("/runs/{name}")),
        ],
        &format!("fathom show {name}"),
    );
    let title = format!("{name} live");
    Ok(answer(
        &Frame {
            title: &title,
            current: "/live",
            data: "{\"charts\":[],\"light\":{},\"dark\":{},\"served\":true}",
            script: "live.js",
            ..Frame::default()
        },
        &html,
    ))
}
