//! An experiment as events for programs: one JSON object in each line (NDJSON), written as they happen.
//!
//! Every object has `event`. Times are seconds, rates are per second, latencies are nanoseconds. New keys and new events may
//! be added; existing ones keep their meaning.

use std::time::Duration;

use fathom_model::{CellFigures, Finding, Progress, Weight};

use super::grid::figures;
use crate::experiment::CellPosition;
use crate::tree::{Object, Tree};

/// `{"event":"begin","kind":"sweep","cells":24,"run":"r12"}`: an experiment begins or resumes.
#[must_use]
pub fn begin_event(kind: &str, cells: usize, run: Option<&str>) -> String {
    line(
        Object::new()
            .with("event", "begin")
            .with("kind", kind)
            .with("cells", cells as u64)
            .with("run", run),
    )
}

/// `cell`: a cell begins, at these values of the axes.
#[must_use]
pub fn cell_event(position: &CellPosition, at: &[(String, String)]) -> String {
    let at = Object::of(
        at.iter()
            .map(|(name, value)| (name.clone(), Tree::from(value))),
    );
    line(
        head("cell", position)
            .with("axes", at)
            .with("remaining_s", seconds(position.left)),
    )
}

/// `progress`: the state of the running cell.
#[must_use]
pub fn progress_event(position: &CellPosition, progress: &Progress) -> String {
    let sum = |of: fn(&fathom_model::LiveRate) -> f64| {
        progress.rates.iter().map(|(_, rate)| of(rate)).sum::<f64>()
    };
    let mut object = head("progress", position)
        .with("elapsed_s", progress.elapsed.as_secs_f64())
        .with(
            "expected_s",
            progress.expected.map(fathom_model::Nanos::as_secs_f64),
        )
        .with("remaining_s", seconds(position.left))
        .with("iops", sum(|rate| rate.iops))
        .with("bw_bytes", sum(|rate| rate.bandwidth))
        .with("failed_ios", progress.failed);
    if let Some((done, all)) = progress.layout {
        object.push("layout_bytes", done.get());
        object.push("layout_total_bytes", all.get());
    }
    line(object)
}

/// `done`: a cell with its results and findings.
#[must_use]
pub fn done_event(
    position: &CellPosition,
    at: &[(String, String)],
    cell: &CellFigures,
    findings: &[Finding],
) -> String {
    let at = Object::of(
        at.iter()
            .map(|(name, value)| (name.clone(), Tree::from(value))),
    );
    let serious = findings
        .iter()
        .filter(|finding| finding.weight != Weight::Note)
        .map(|finding| {
            Object::new()
                .with("id", finding.id)
                .with("code", finding.code)
                .with("evidence", &finding.evidence)
                .with("advice", &finding.advice)
        });
    let mut object = figures(
        head("done", position)
            .with("axes", at)
            .with("remaining_s", seconds(position.left)),
        cell,
    );
    object.push("findings", serious.collect::<Tree>());
    line(object)
}

/// `failed`: a cell could not be measured.
#[must_use]
pub fn failed_event(position: &CellPosition, why: &str) -> String {
    line(head("failed", position).with("reason", why))
}

/// `end`: `done`, `interrupted`, `out of time` or `stopped`, and the command that resumes the run.
#[must_use]
pub fn end_event(how: &str, resume: Option<&str>) -> String {
    line(
        Object::new()
            .with("event", "end")
            .with("outcome", how)
            .with("resume", resume),
    )
}

fn head(event: &str, position: &CellPosition) -> Object {
    Object::new()
        .with("event", event)
        .with("number", position.number as u64)
        .with("total", position.all as u64)
        .with("cell", &position.name)
}

fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64())
}

fn line(object: Object) -> String {
    Tree::from(object).compact() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_one_line_of_json() {
        let position = CellPosition {
            number: 2,
            all: 9,
            name: "bs=\"4k\"\n".into(),
            left: Some(Duration::from_millis(1500)),
        };
        let at = [("bs".to_owned(), "4k".to_owned())];
        let lines = [
            begin_event("sweep", 9, None),
            cell_event(&position, &at),
            progress_event(&position, &Progress::default()),
            failed_event(&position, "no\nroom"),
            end_event("interrupted", Some("fathom resume r1")),
        ];
        for text in &lines {
            assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
            let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
            assert!(value["event"].is_string());
        }
        assert_eq!(
            lines[0],
            "{\"event\":\"begin\",\"kind\":\"sweep\",\"cells\":9,\"run\":null}\n"
        );
        let cell: serde_json::Value = serde_json::from_str(&lines[1]).expect("JSON");
        assert_eq!(
            (cell["axes"]["bs"].as_str(), cell["remaining_s"].as_f64()),
            (Some("4k"), Some(1.5))
        );
    }
}
