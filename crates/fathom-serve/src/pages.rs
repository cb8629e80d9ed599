//! The pages, each in a file of its own, and what they share.

pub(crate) mod compare;
pub(crate) mod devices;
pub(crate) mod experiments;
pub(crate) mod live;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod start;
pub(crate) mod trends;

use fathom_model::format::date_minute;
use fathom_model::{Run, RunId, simulated_in};
use fathom_store::ListFilter;

use crate::Group;
use crate::answer::{Answer, HTML, Problem};
use crate::html::{Frame, Html, page as framed};
use crate::request::Request;
use crate::workers::Site;

/// Runs that one page compares. Reading that many recordings takes seconds.
const MOST_RUNS: usize = 200;
/// Runs of a group of labels, the newest.
const OF_LABELS: u32 = 50;
/// Names of runs in the title of a group.
const IN_TITLE: usize = 3;

/// Whether a text names a run or a cell: `r12`, `r12.3`, `latest`.
pub(crate) fn is_run(text: &str) -> bool {
    let (run, cell) = text
        .split_once('.')
        .map_or((text, None), |(run, cell)| (run, Some(cell)));
    let is_cell = |cell: &str| {
        cell.parse::<u64>().is_ok_and(|n| n > 0) && cell.bytes().all(|b| b.is_ascii_digit())
    };
    (run == "latest" || run.starts_with('r') && RunId::parse(run).is_some())
        && cell.is_none_or(is_cell)
}

/// The runs that a request names, as `runs=r1,r2` or `runs=r1&runs=r2`.
pub(crate) fn named_runs(request: &Request) -> Result<Vec<String>, Problem> {
    let names = request.all("runs");
    if let Some(wrong) = names.iter().find(|name| !is_run(name)) {
        return Err(Problem::Bad(format!(
            "runs: '{wrong}' is not the name of a run, such as r12 or r12.3"
        )));
    }
    if names.len() > MOST_RUNS {
        return Err(Problem::Bad(format!("runs: at most {MOST_RUNS}")));
    }
    Ok(names)
}

/// The values of `group` of a request.
pub(crate) fn group_texts(request: &Request) -> Vec<&str> {
    let given = request.query.iter();
    given
        .filter(|(name, value)| name == "group" && !value.trim().is_empty())
        .map(|(_, value)| value.as_str())
        .collect()
}

/// The groups that a request names: each `group` is a list of runs or of labels that its runs have, as in `group=r1,r2&group=kernel=6.1`.
/// Without groups each run is one.
pub(crate) fn groups(site: &mut Site, request: &Request) -> Result<Vec<Group>, Problem> {
    let texts = group_texts(request);
    let groups: Vec<Group> = if texts.is_empty() {
        let single = named_runs(request)?.into_iter().map(|name| Group {
            title: name.clone(),
            runs: vec![name],
        });
        single.collect()
    } else {
        let name = request.get("name");
        let read = texts.into_iter().map(|text| group(site, text, name));
        read.collect::<Result<_, _>>()?
    };
    if groups.iter().map(|group| group.runs.len()).sum::<usize>() > MOST_RUNS {
        return Err(Problem::Bad(format!(
            "at most {MOST_RUNS} runs are compared at once"
        )));
    }
    Ok(groups)
}

fn group(site: &mut Site, text: &str, name: &str) -> Result<Group, Problem> {
    let items: Vec<&str> = text
        .split([',', ' '])
        .filter(|item| !item.is_empty())
        .collect();
    let labels: Vec<(String, String)> = items
        .iter()
        .filter_map(|item| item.split_once('='))
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if labels.is_empty() && items.iter().all(|item| is_run(item)) && !items.is_empty() {
        let title = match items.len() {
            0..=IN_TITLE => items.join(" "),
            all => format!("{} and {} more", items[0], all - 1),
        };
        let runs = items.into_iter().map(str::to_owned).collect();
        return Ok(Group { title, runs });
    }
    if labels.len() != items.len() || items.is_empty() {
        return Err(Problem::Bad(format!(
            "group: '{text}' is neither a list of runs, such as r1,r2, nor of labels, such as kernel=6.1"
        )));
    }
    let title = items.join(" ");
    let found = site.library.store().list(&ListFilter {
        labels,
        texts: name.split_whitespace().map(str::to_owned).collect(),
        state: "finished".to_owned(),
        limit: OF_LABELS,
        ..ListFilter::default()
    })?;
    let runs: Vec<String> = found
        .iter()
        .filter(|listed| name.is_empty() || listed.run.experiment.name == name)
        .map(|listed| listed.run.id.to_string())
        .collect();
    if runs.is_empty() {
        let named = if name.is_empty() { "" } else { " and the name" };
        return Err(Problem::Bad(format!(
            "group: no finished run has the labels {title}{named}"
        )));
    }
    Ok(Group { title, runs })
}

pub(crate) fn started(run: &Run, site: &Site) -> String {
    date_minute(
        run.experiment.created_unix_ns / 1_000_000_000,
        site.settings.utc_offset_s,
    )
}

/// A fact of a run; empty without it.
pub(crate) fn fact<'a>(facts: &'a [(String, String)], name: &str) -> &'a str {
    facts
        .iter()
        .find(|(key, _)| key == name)
        .map_or("", |(_, value)| value)
}

/// The device of a run, with a mark if it was simulated; empty if it is unknown.
pub(crate) fn device_of(facts: &[(String, String)]) -> String {
    simulated_in(facts).map_or_else(
        || fact(facts, "device").to_owned(),
        |simulated| format!("{} (simulated)", simulated.device),
    )
}

/// A page with a menu.
pub(crate) fn answer(frame: &Frame, html: &Html) -> Answer {
    Answer::new(HTML, framed(frame, html))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs() {
        for name in ["r1", "r12.3", "latest", "latest.1"] {
            assert!(is_run(name), "{name}");
        }
        for name in [
            "",
            "r",
            "r0",
            "12",
            "r1.",
            "r1.0",
            "r1.+1",
            "r1.2.3",
            "../r1",
            "r1/",
            "R1x",
            "r99999999999999999999",
        ] {
            assert!(!is_run(name), "{name}");
        }
    }
}
