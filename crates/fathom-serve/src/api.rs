//! The HTTP API: the documents of `fathom runs`, `show`, `export` and `compare`, and what only the server has.

use fathom_model::format::csv_field;
use fathom_model::{CellState, Direction, Interval, RunState};
use fathom_report::{cells_csv, cells_document, comparison_json, comparison_rows};
use fathom_store::{ListedRun, StoreError};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, CSV, JSON, Problem};
use crate::filters::{filter, query};
use crate::pages::trends::{more_is_better, series};
use crate::pages::{devices, fact, named_runs, run as run_page, state};
use crate::request::{Request, address};
use crate::routes::RUN;
use crate::workers::Site;

/// Points of a live curve.
const LIVE_POINTS: usize = 300;
/// Parts of a journal that are read for it: reading all of a day would take longer than the second between two events.
const LIVE_PARTS: u32 = 1200;

/// Whether CSV is wanted.
fn wants_csv(request: &Request) -> Result<bool, Problem> {
    match request.get("format") {
        "" | "json" => Ok(false),
        "csv" => Ok(true),
        _ => Err(Problem::Bad("format: json or csv".to_owned())),
    }
}

fn of_json(value: &Value) -> Answer {
    Answer::new(JSON, format!("{value:#}\n"))
}

fn of_csv(name: &str, text: String) -> Answer {
    Answer::new(CSV, text).with_header(
        "content-disposition",
        format!("attachment; filename=\"{name}.csv\""),
    )
}

fn line(fields: &[String]) -> String {
    fields
        .iter()
        .map(|field| csv_field(field))
        .collect::<Vec<_>>()
        .join(",")
        + "\r\n"
}

fn pairs(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect()
}

pub(crate) fn runs(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let filter = filter(request)?;
    let shown = filter.limit as usize - 1;
    let mut runs = site.library.store().list(&filter)?;
    let has_more = runs.len() > shown;
    runs.truncate(shown);
    let next = runs.last().filter(|_| has_more).map(|last| {
        let mut query = query(request);
        query.push((
            if filter.after.is_some() {
                "after"
            } else {
                "before"
            },
            last.run.id.to_string(),
        ));
        query.push(("format", request.get("format").to_owned()));
        address("/api/v1/runs", &query)
    });
    let linked = |answer: Answer| match &next {
        // RFC 8288.
        Some(next) => answer.with_header("link", format!("<{next}>; rel=\"next\"")),
        None => answer,
    };
    if wants_csv(request)? {
        let head = [
            "run",
            "started_unix_ns",
            "kind",
            "name",
            "state",
            "verdict",
            "cells",
            "cells_finished",
            "host",
            "device",
            "kernel",
        ];
        let mut text = line(&head.map(str::to_owned));
        for listed in &runs {
            let (run, facts) = (&listed.run, &listed.run.experiment.facts);
            text += &line(&[
                run.id.to_string(),
                run.experiment.created_unix_ns.to_string(),
                run.experiment.kind.clone(),
                run.experiment.name.clone(),
                state(run, site.library.is_dead(run)).to_owned(),
                listed.verdict.clone(),
                run.cells.to_string(),
                run.finished.to_string(),
                fact(facts, "host").to_owned(),
                fact(facts, "device").to_owned(),
                fact(facts, "kernel").to_owned(),
            ]);
        }
        return Ok(linked(of_csv("runs", text)));
    }
    let all: Vec<Value> = runs.iter().map(|run| listed(run, site)).collect();
    Ok(linked(of_json(
        &json!({ "fathom_api": 1, "runs": all, "next": next }),
    )))
}

fn listed(listed: &ListedRun, site: &Site) -> Value {
    let (run, experiment) = (&listed.run, &listed.run.experiment);
    let figures: Map<String, Value> = listed
        .figures
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(*value)))
        .collect();
    json!({
        "run": run.id.to_string(),
        "kind": experiment.kind,
        "name": experiment.name,
        "state": state(run, site.library.is_dead(run)),
        "verdict": listed.verdict,
        "started_unix_ns": experiment.created_unix_ns,
        "ended_unix_ns": run.ended_unix_ns,
        "cells_planned": experiment.planned,
        "cells": run.cells,
        "cells_finished": run.finished,
        "facts": pairs(&experiment.facts),
        "labels": pairs(&experiment.labels),
        "first_cell_figures": figures,
    })
}

pub(crate) fn run(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let (run, _, cells) = run_page::find(site, request.get(RUN))?;
    let (name, is_dead) = (run.id.to_string(), site.library.is_dead(&run));
    let all = [(run, cells)];
    Ok(if wants_csv(request)? {
        of_csv(&name, cells_csv(&all))
    } else {
        Answer::new(JSON, cells_document(&all, &|_| is_dead))
    })
}

pub(crate) fn figures(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let (run, cell, _) = run_page::find(site, request.get(RUN))?;
    let mut points = site.library.store().figures(run.id)?;
    points.retain(|point| cell.is_none_or(|cell| point.cell == cell));
    if wants_csv(request)? {
        let head = line(&["run", "cell", "axes", "figure", "value"].map(str::to_owned));
        let text = points.iter().fold(head, |text, point| {
            let axes: Vec<String> = point
                .axes
                .iter()
                .map(|(axis, value)| format!("{axis}={value}"))
                .collect();
            text + &line(&[
                point.run.to_string(),
                point.cell.to_string(),
                axes.join(" "),
                point.figure.clone(),
                point.value.to_string(),
            ])
        });
        return Ok(of_csv(&format!("{}-figures", run.id), text));
    }
    let all: Vec<Value> = points
        .iter()
        .map(|point| json!({ "cell": point.cell, "axes": pairs(&point.axes), "figure": point.figure, "value": point.value }))
        .collect();
    Ok(of_json(
        &json!({ "fathom_api": 1, "run": run.id.to_string(), "figures": all }),
    ))
}

pub(crate) fn findings(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let (run, _, cells) = run_page::find(site, request.get(RUN))?;
    let found = cells.iter().flat_map(|cell| {
        cell.findings
            .iter()
            .map(move |finding| (cell.position, finding))
    });
    if wants_csv(request)? {
        let head = line(
            &[
                "run", "cell", "number", "code", "weight", "about", "evidence",
            ]
            .map(str::to_owned),
        );
        let text = found.fold(head, |text, (cell, finding)| {
            let number = fathom_analyse::explain(&finding.code).map_or("", |kind| kind.id);
            let fields = [
                number,
                &finding.code,
                &finding.weight,
                &finding.about,
                &finding.evidence,
            ]
            .map(str::to_owned);
            text + &line(&[vec![run.id.to_string(), cell.to_string()], fields.to_vec()].concat())
        });
        return Ok(of_csv(&format!("{}-findings", run.id), text));
    }
    let all: Vec<Value> = found
        .map(|(cell, finding)| {
            let kind = fathom_analyse::explain(&finding.code);
            json!({
                "cell": cell,
                "number": kind.map(|kind| kind.id),
                "code": finding.code,
                "weight": finding.weight,
                "about": finding.about,
                "evidence": finding.evidence,
                "meaning": kind.map(|kind| kind.meaning),
                "importance": kind.map(|kind| kind.importance),
                "remedy": kind.map(|kind| kind.remedy),
            })
        })
        .collect();
    Ok(of_json(
        &json!({ "fathom_api": 1, "run": run.id.to_string(), "findings": all }),
    ))
}

pub(crate) fn compare(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let names = named_runs(request)?;
    if names.len() < 2 {
        return Err(Problem::Bad(
            "runs: two names or more, such as r1,r2".to_owned(),
        ));
    }
    let comparison = site.library.compare(&names).map_err(Problem::Bad)?;
    if wants_csv(request)? {
        let head =
            line(&["job", "metric", "before", "after", "change", "conclusion"].map(str::to_owned));
        let text = comparison_rows(&comparison)
            .iter()
            .fold(head, |text, row| text + &line(row));
        return Ok(of_csv("comparison", text));
    }
    Ok(Answer::new(JSON, comparison_json(&comparison)))
}

pub(crate) fn trends(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let figure = request.get("figure");
    if figure.is_empty() {
        return Err(Problem::Bad(
            "figure: the name of a figure, such as `read iops`".to_owned(),
        ));
    }
    let all = series(site, request)?;
    if wants_csv(request)? {
        let mut text = line(
            &[
                "series",
                "run",
                "cell",
                "started_unix_ns",
                "verdict",
                "value",
                "level",
                "level_mean",
            ]
            .map(str::to_owned),
        );
        for series in &all {
            for (number, level) in series.levels.iter().enumerate() {
                for point in &series.points[level.from..level.to] {
                    text += &line(&[
                        series.name.clone(),
                        point.run.to_string(),
                        point.cell.to_string(),
                        point.started_unix_ns.to_string(),
                        point.verdict.clone(),
                        point.value.to_string(),
                        (number + 1).to_string(),
                        level.mean.to_string(),
                    ]);
                }
            }
        }
        return Ok(of_csv("trend", text));
    }
    let all: Vec<Value> = all
        .iter()
        .map(|series| {
            let points: Vec<Value> = series
                .points
                .iter()
                .map(|point| json!({ "run": point.run.to_string(), "cell": point.cell, "started_unix_ns": point.started_unix_ns, "verdict": point.verdict, "value": point.value }))
                .collect();
            let levels: Vec<Value> = series
                .levels
                .iter()
                .map(|level| {
                    json!({
                        "from": series.points[level.from].run.to_string(),
                        "to": series.points[level.to - 1].run.to_string(),
                        "values": level.to - level.from,
                        "mean": level.mean,
                        "change": level.change,
                        "confirmed": level.is_confirmed,
                        "regression": level.is_regression(more_is_better(figure)),
                    })
                })
                .collect();
            json!({ "series": series.name, "points": points, "levels": levels })
        })
        .collect();
    Ok(of_json(
        &json!({ "fathom_api": 1, "figure": figure, "method": fathom_analyse::TREND_METHOD, "series": all }),
    ))
}

pub(crate) fn devices(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let all = devices::devices(site)?;
    if wants_csv(request)? {
        let head = line(&["device", "runs", "hosts", "kernels", "newest"].map(str::to_owned));
        let text = all.iter().fold(head, |text, device| {
            text + &line(&[
                device.name.clone(),
                device.runs.to_string(),
                device.hosts.join(" "),
                device.kernels.join(" "),
                device.newest.to_string(),
            ])
        });
        return Ok(of_csv("devices", text));
    }
    let all: Vec<Value> = all
        .iter()
        .map(|device| json!({ "device": device.name, "runs": device.runs, "hosts": device.hosts, "kernels": device.kernels, "newest": device.newest.to_string() }))
        .collect();
    Ok(of_json(&json!({ "fathom_api": 1, "devices": all })))
}

/// What the journal of the running cell contains now.
pub(crate) fn live(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let (run, _, cells) = run_page::find(site, request.get(RUN))?;
    let is_dead = site.library.is_dead(&run);
    let cell = cells
        .iter()
        .find(|cell| cell.state == CellState::Running && run.state == RunState::Running);
    let jobs = match cell {
        Some(cell) => match site
            .library
            .store()
            .journal_tail(run.id, cell.position, LIVE_PARTS)
        {
            Ok(jobs) => jobs,
            Err(error @ StoreError::Damaged { .. }) => {
                return Err(Problem::Failed(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        },
        None => Vec::new(),
    };
    let points = rates(&jobs);
    let last = points.last();
    Ok(Answer::new(
        JSON,
        json!({
            "run": run.id.to_string(),
            "state": state(&run, is_dead),
            "cell": cell.map(|cell| format!("{}.{}", run.id, cell.position)),
            "cells_planned": run.experiment.planned,
            "cells_finished": run.finished,
            "elapsed_s": last.map(|point| point.0),
            "iops": last.map(|point| point.1),
            "bandwidth": last.map(|point| point.2),
            "points": points.iter().rev().take(LIVE_POINTS).rev().map(|point| json!([point.0, point.1])).collect::<Vec<_>>(),
        })
        .to_string(),
    ))
}

/// End in seconds, I/Os and bytes per second of each interval that all jobs have finished.
fn rates(jobs: &[Vec<Interval>]) -> Vec<(f64, f64, f64)> {
    let mut all: std::collections::BTreeMap<u64, (u64, u64, u64, usize)> =
        std::collections::BTreeMap::new();
    for interval in jobs.iter().flatten() {
        let sum = all.entry(interval.start.get()).or_default();
        for direction in Direction::ALL {
            let one = &interval.directions[direction];
            sum.0 += one.ios;
            sum.1 += one.bytes;
        }
        sum.2 = sum.2.max(interval.length.get());
        sum.3 += 1;
    }
    let running = jobs.iter().filter(|job| !job.is_empty()).count();
    all.into_iter()
        .filter(|(_, (_, _, length, seen))| *length > 0 && *seen == running)
        .map(|(start, (ios, bytes, length, _))| {
            let seconds = length as f64 / 1e9;
            (
                (start + length) as f64 / 1e9,
                ios as f64 / seconds,
                bytes as f64 / seconds,
            )
        })
        .collect()
}
