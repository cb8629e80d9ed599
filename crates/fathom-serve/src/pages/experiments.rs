//! Sweeps, searches and suites with their progress.

use fathom_store::{ListFilter, ListedRun};

use super::answer;
use super::runs::{Rows, table};
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere};
use crate::request::Request;
use crate::workers::Site;

/// The newest of each kind.
const NEWEST: u32 = 50;

pub(crate) fn page(site: &mut Site, _: &Request) -> Result<Answer, Problem> {
    let mut all: Vec<ListedRun> = Vec::new();
    for kind in ["sweep", "search", "suite"] {
        all.extend(site.library.store().list(&ListFilter {
            kind: kind.to_owned(),
            limit: NEWEST,
            ..ListFilter::default()
        })?);
    }
    all.sort_by_key(|listed| std::cmp::Reverse(listed.run.id));
    let mut html = Html::default();
    html.raw("<h1>Experiments</h1>");
    if all.is_empty() {
        html.raw("<p>The store has no sweep, search or suite yet.</p>");
    } else {
        let caption = "The newest sweeps, searches and suites";
        let columns = [
            "kind", "started", "state", "verdict", "device", "cells", "progress",
        ];
        let rows = Rows {
            path: "/runs",
            can_pick: false,
        };
        table(&mut html, caption, &all, &columns, site, rows);
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
