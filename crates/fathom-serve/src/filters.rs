//! The list of runs by the filters of a query, and the query of the next one.

use fathom_model::RunId;
use fathom_store::{ListFilter, ListedRun};

use crate::answer::Problem;
use crate::request::Request;
use crate::workers::Site;

/// Runs on a page unless the request says otherwise, and at most.
const LIMITS: (u32, u32) = (50, 500);
/// Texts that are searched for.
const MOST_TEXTS: usize = 8;

/// A page of the list.
pub(crate) struct Listed {
    pub runs: Vec<ListedRun>,
    pub filter: ListFilter,
    /// More runs follow in the direction of the filter.
    pub has_more: bool,
}

/// The runs that a request asks for.
pub(crate) fn list(site: &mut Site, request: &Request) -> Result<Listed, Problem> {
    let filter = filter(request)?;
    let shown = filter.limit as usize;
    // One more than fits tells whether there is a next page.
    let mut runs = site.library.store().list(&ListFilter {
        limit: filter.limit + 1,
        ..filter.clone()
    })?;
    let has_more = runs.len() > shown;
    runs.truncate(shown);
    Ok(Listed {
        runs,
        filter,
        has_more,
    })
}

fn filter(request: &Request) -> Result<ListFilter, Problem> {
    let limit = match request.get("limit") {
        "" => LIMITS.0,
        text => text
            .parse()
            .ok()
            .filter(|limit| (1..=LIMITS.1).contains(limit))
            .ok_or_else(|| Problem::Bad(format!("limit: a number from 1 to {}", LIMITS.1)))?,
    };
    let run = |name: &str| match request.get(name) {
        "" => Ok(None),
        text => RunId::parse(text)
            .map(Some)
            .ok_or_else(|| Problem::Bad(format!("{name}: the name of a run, such as r12"))),
    };
    let labels = request
        .all("label")
        .into_iter()
        .map(|label| match label.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(Problem::Bad(format!("label: '{label}' is not NAME=VALUE"))),
        });
    let texts: Vec<String> = request
        .get("q")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    if texts.len() > MOST_TEXTS {
        return Err(Problem::Bad(format!("q: at most {MOST_TEXTS} texts")));
    }
    Ok(ListFilter {
        texts,
        kind: request.get("kind").to_owned(),
        state: request.get("state").to_owned(),
        verdict: request.get("verdict").to_owned(),
        device: request.get("device").to_owned(),
        labels: labels.collect::<Result<_, _>>()?,
        before: run("before")?,
        after: run("after")?,
        limit,
    })
}

/// The query of a filter without its place in the list.
pub(crate) fn query(request: &Request) -> Vec<(&'static str, String)> {
    [
        "q", "kind", "state", "verdict", "device", "label", "cols", "limit",
    ]
    .into_iter()
    .map(|name| match name {
        "cols" | "label" => (name, request.all(name).join(",")),
        name => (name, request.get(name).to_owned()),
    })
    .collect()
}
