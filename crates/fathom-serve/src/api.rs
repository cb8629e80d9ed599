//! The HTTP API: the documents of `fathom runs`, `show`, `export` and `compare`, and what only the server has.

use std::time::Instant;

use fathom_model::format::csv_line;
use fathom_model::{CellState, Direction, Interval, RunState, simulated_in};
use fathom_report::{
    cells_csv, cells_document, comparison_json, comparison_rows, run_state, run_value,
};
use fathom_store::{ListedRun, StoreError};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, CSV, JSON, Problem};
use crate::filters::{list, query};
use crate::pages::trends::{more_is_better, requested};
use crate::pages::{devices, fact, groups, run as run_page};
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

/// A table as a file.
fn rows_csv(name: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Answer {
    let head: Vec<String> = head.iter().map(|title| (*title).to_owned()).collect();
    of_csv(
        name,
        rows.fold(csv_line(&head), |text, row| text + &csv_line(&row)),
    )
}

fn pairs(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect()
}

pub(crate) fn runs(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let found = list(site, request)?;
    let runs = &found.runs;
    let next = runs.last().filter(|_| found.has_more).map(|last| {
        let mut query = query(request);
        query.push((
            if found.filter.after.is_some() {
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
            "simulated",
        ];
        let rows = runs.iter().map(|listed| {
            let (run, facts) = (&listed.run, &listed.run.experiment.facts);
            vec![
                run.id.to_string(),
                run.experiment.created_unix_ns.to_string(),
                run.experiment.kind.clone(),
                run.experiment.name.clone(),
                run_state(run, site.library.is_dead(run)).to_owned(),
                listed.verdict.clone(),
                run.cells.to_string(),
                run.finished.to_string(),
                fact(facts, "host").to_owned(),
                fact(facts, "device").to_owned(),
                fact(facts, "kernel").to_owned(),
                simulated_in(facts).map_or(String::new(), |simulated| simulated.device),
            ]
        });
        return Ok(linked(rows_csv("runs", &head, rows)));
    }
    let all: Vec<Value> = runs.iter().map(|run| listed(run, site)).collect();
    Ok(linked(of_json(
        &json!({ "fathom_api": 1, "runs": all, "next": next }),
    )))
}

fn listed(listed: &ListedRun, site: &Site) -> Value {
    let figures: Map<String, Value> = listed
        .figures
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(*value)))
        .collect();
    let mut object = run_value(&listed.run, site.library.is_dead(&listed.run));
    object["verdict"] = listed.verdict.as_str().into();
    object["first_cell_figures"] = figures.into();
    object
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
        let rows = points.iter().map(|point| {
            let axes = point.axes.iter();
            let axes: Vec<String> = axes
                .map(|(axis, value)| format!("{axis}={value}"))
                .collect();
            vec![
                point.run.to_string(),
                point.cell.to_string(),
                axes.join(" "),
                point.figure.clone(),
                point.value.to_string(),
            ]
        });
        let head = ["run", "cell", "axes", "figure", "value"];
        return Ok(rows_csv(&format!("{}-figures", run.id), &head, rows));
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
        let head = [
            "run", "cell", "number", "code", "weight", "about", "evidence",
        ];
        let rows = found.map(|(cell, finding)| {
            let number = fathom_analyse::explain(&finding.code).map_or("", |kind| kind.id);
            let fields = [
                number,
                &finding.code,
                &finding.weight,
                &finding.about,
                &finding.evidence,
            ]
            .map(str::to_owned);
            [vec![run.id.to_string(), cell.to_string()], fields.to_vec()].concat()
        });
        return Ok(rows_csv(&format!("{}-findings", run.id), &head, rows));
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
    let groups = groups(site, request)?;
    if groups.len() < 2 {
        return Err(Problem::Bad(
            "runs: two names or more, such as r1,r2; or two groups, such as group=r1,r2&group=kernel=6.1".to_owned(),
        ));
    }
    let comparison = site.library.compare(&groups).map_err(Problem::Bad)?;
    if wants_csv(request)? {
        let head = ["job", "metric", "before", "after", "change", "conclusion"];
        let rows = comparison_rows(&comparison).into_iter().map(Vec::from);
        return Ok(rows_csv("comparison", &head, rows));
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
    let all = requested(site, request)?;
    if wants_csv(request)? {
        let rows = all.iter().flat_map(|series| {
            let levels = series.levels.iter().enumerate();
            levels.flat_map(move |(number, level)| {
                let points = series.points[level.from..level.to].iter();
                points.map(move |point| {
                    vec![
                        series.name.clone(),
                        point.run.to_string(),
                        point.cell.to_string(),
                        point.started_unix_ns.to_string(),
                        point.verdict.clone(),
                        point.value.to_string(),
                        (number + 1).to_string(),
                        level.mean.to_string(),
                    ]
                })
            })
        });
        let head = [
            "series",
            "run",
            "cell",
            "started_unix_ns",
            "verdict",
            "value",
            "level",
            "level_mean",
        ];
        return Ok(rows_csv("trend", &head, rows));
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

/// The results of a device against its data sheet.
fn sheet(site: &mut Site, request: &Request, device: &str) -> Result<Answer, Problem> {
    let found = devices::sheet(site, device)?.ok_or_else(|| {
        Problem::Missing(format!("No data sheet of the device '{device}' is known."))
    })?;
    let figure = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    if wants_csv(request)? {
        let head = [
            "device",
            "sheet",
            "figure",
            "conditions",
            "promised",
            "measured",
            "ratio",
            "judgement",
            "run",
        ];
        let rows = found.lines.iter().map(|(line, run)| {
            vec![
                device.to_owned(),
                found.id.clone(),
                line.figure.clone(),
                line.conditions.clone(),
                line.promised.to_string(),
                figure(line.measured),
                figure(line.ratio),
                line.judgement.to_owned(),
                run.clone(),
            ]
        });
        return Ok(rows_csv("sheet", &head, rows));
    }
    let lines: Vec<Value> = found
        .lines
        .iter()
        .map(|(line, run)| {
            json!({ "figure": line.figure, "conditions": line.conditions, "promised": line.promised, "measured": line.measured, "ratio": line.ratio, "judgement": line.judgement, "run": run })
        })
        .collect();
    Ok(of_json(
        &json!({ "fathom_api": 1, "device": device, "sheet": found.id, "product": found.product, "runs": found.runs, "figures": lines }),
    ))
}

pub(crate) fn devices(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let device = request.get("device");
    if !device.is_empty() {
        return sheet(site, request, device);
    }
    let all = devices::devices(site)?;
    if wants_csv(request)? {
        let rows = all.iter().map(|device| {
            vec![
                device.name.clone(),
                device.runs.to_string(),
                device.hosts.join(" "),
                device.kernels.join(" "),
                device.newest.to_string(),
            ]
        });
        let head = ["device", "runs", "hosts", "kernels", "newest"];
        return Ok(rows_csv("devices", &head, rows));
    }
    let all: Vec<Value> = all
        .iter()
        .map(|device| json!({ "device": device.name, "runs": device.runs, "hosts": device.hosts, "kernels": device.kernels, "newest": device.newest.to_string(), "sheet": site.library.sheet_name(&device.name) }))
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
            "state": run_state(&run, is_dead),
            "cell": cell.map(|cell| format!("{}.{}", run.id, cell.position)),
            "cells_planned": run.experiment.planned,
            "cells_finished": run.finished,
            "elapsed_s": last.map(|point| point.0),
            "iops": last.map(|point| point.1),
            "bandwidth": last.map(|point| point.2),
            "disturbance": site.disturbance.recent(Instant::now()),
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
