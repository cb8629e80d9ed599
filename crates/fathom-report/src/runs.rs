//! The contents of a store: runs and cells as tables, CSV and JSON.

use fathom_model::{CellState, Run, RunState, StoredCell};
use serde_json::{Map, Value, json};

use crate::Style;
use crate::names::KILLED;
use crate::output::wrap;
use crate::table::{Column, Values, columns, names, value};
use crate::text::simulated_line;
use fathom_model::format::csv_line;
use fathom_model::format::date_minute;
use fathom_model::format::{bandwidth, duration, thousands};

/// The fact that contains the answer of a suite.
const ANSWER: &str = "answer";
/// Maximum width of a column.
const WIDEST: usize = 40;

/// A line for each run, newest last. `dead` says whether the process of a run was killed.
#[must_use]
pub fn runs_text(runs: &[Run], dead: &dyn Fn(&Run) -> bool, style: &Style) -> String {
    let rows = runs.iter().map(|run| {
        let experiment = &run.experiment;
        vec![
            run.id.to_string(),
            date_minute(
                experiment.created_unix_ns / 1_000_000_000,
                style.utc_offset_s,
            ),
            experiment.shown_kind(),
            cells_of(run),
            run_state(run, dead(run)).to_owned(),
            experiment.name.clone(),
        ]
    });
    table(
        &["RUN", "STARTED", "KIND", "CELLS", "STATE", "NAME"],
        rows.collect(),
        style,
    )
}

fn cells_of(run: &Run) -> String {
    let planned = run.experiment.planned.max(run.cells);
    if run.finished == planned {
        planned.to_string()
    } else {
        format!("{} of {planned}", run.finished)
    }
}

/// `running`, `finished`, `stopped`; `killed` if the process of a running one is dead.
#[must_use]
pub fn run_state(run: &Run, dead: bool) -> &'static str {
    match run.state {
        RunState::Running if dead => KILLED,
        state => state.name(),
    }
}

/// The runs as JSON, an object for each.
#[must_use]
pub fn runs_document(runs: &[Run], dead: &dyn Fn(&Run) -> bool) -> String {
    let all: Vec<Value> = runs.iter().map(|run| run_value(run, dead(run))).collect();
    pretty(&json!({ "fathom_runs": 1, "runs": all }))
}

/// A run as an object of JSON, without its cells.
#[must_use]
pub fn run_value(run: &Run, dead: bool) -> Value {
    let experiment = &run.experiment;
    let mut object = json!({
        "run": run.id.to_string(),
        "kind": experiment.kind,
        "name": experiment.name,
        "state": run_state(run, dead),
        "command": experiment.command,
        "started_unix_ns": experiment.created_unix_ns,
        "ended_unix_ns": run.ended_unix_ns,
        "cells_planned": experiment.planned,
        "cells": run.cells,
        "cells_finished": run.finished,
        "facts": texts(&experiment.facts),
        "labels": texts(&experiment.labels),
    });
    if let Some(simulated) = experiment.simulated() {
        object["simulated"] = json!({ "device": simulated.device, "seed": simulated.seed });
    }
    object
}

/// A run of several cells: a title, and a line for each cell with its axes and main metrics.
#[must_use]
pub fn cells_text(run: &Run, dead: bool, cells: &[StoredCell], style: &Style) -> String {
    let experiment = &run.experiment;
    let when = date_minute(
        experiment.created_unix_ns / 1_000_000_000,
        style.utc_offset_s,
    );
    let head = format!(
        "{}: {} {}, {when}, {}, {} cells",
        run.id,
        experiment.kind,
        experiment.name,
        run_state(run, dead),
        cells_of(run)
    );
    let mut text = simulated_line(experiment.simulated().as_ref(), style);
    text += &wrap(&style.clean(&head), style.width, "", "  ");
    let answers = experiment.facts.iter().filter(|(name, _)| name == ANSWER);
    for (_, answer) in answers {
        text += &wrap(
            &style.clean(&format!("Answer: {answer}")),
            style.width,
            "",
            "  ",
        );
    }
    let axes = names(cells.iter().flat_map(|cell| &cell.axes));
    let figures = shown(cells);
    let mut heads = vec!["CELL"];
    heads.extend(axes.iter().map(String::as_str));
    heads.extend(figures.iter().map(String::as_str));
    // The title says so if all are finished.
    let states = cells.iter().any(|cell| cell.state != CellState::Finished);
    heads.extend(states.then_some("STATE"));
    heads.push("VERDICT");
    let rows = cells.iter().map(|cell| {
        let mut row = vec![format!("{}.{}", run.id, cell.position)];
        row.extend(
            axes.iter()
                .map(|name| value(&cell.axes, name).cloned().unwrap_or_default()),
        );
        row.extend(figures.iter().map(|name| {
            value(&cell.figures, name).map_or(String::new(), |figure| metric_text(name, *figure))
        }));
        row.extend(states.then(|| cell.state.name().to_owned()));
        row.push(cell.verdict.clone());
        row
    });
    text += "\n";
    text + &table(&heads, rows.collect(), style)
}

/// Rates and the 99th percentile of whole cells if present, otherwise of parts; a table has no space for more.
fn shown(cells: &[StoredCell]) -> Vec<String> {
    const SHORT: [&str; 3] = ["iops", "bandwidth", "p99"];
    let all = names(cells.iter().flat_map(|cell| &cell.figures));
    let whole: Vec<String> = all
        .iter()
        .filter(|name| SHORT.contains(&name.as_str()))
        .cloned()
        .collect();
    if !whole.is_empty() {
        return whole;
    }
    all.into_iter()
        .filter(|name| SHORT.iter().any(|end| name.ends_with(end)))
        .take(6)
        .collect()
}

/// A metric with the unit that its name implies: `95,012`, `1.20 GB/s`, `336 us`.
#[must_use]
pub fn metric_text(name: &str, figure: f64) -> String {
    match name.rsplit(' ').next().unwrap_or(name) {
        _ if !figure.is_finite() => "-".to_owned(),
        "iops" => thousands(figure.round() as u64),
        "bandwidth" => bandwidth(figure),
        "mean" | "max" => duration(figure * 1e9),
        percentile if percentile.starts_with('p') => duration(figure * 1e9),
        _ => format!("{figure}"),
    }
}

/// Runs with their cells as CSV (RFC 4180): a line for each cell, a column for each axis and figure that any of them has.
/// Metrics are in base units: 1/s, B/s, s.
#[must_use]
pub fn cells_csv(runs: &[(Run, Vec<StoredCell>)]) -> String {
    let columns = columns(runs);
    let rows: usize = runs.iter().map(|(_, cells)| cells.len()).sum();
    let line = |field: &dyn Fn(&Column) -> String| -> String {
        csv_line(&columns.iter().map(field).collect::<Vec<_>>())
    };
    let head = line(&|column| column.name.clone());
    (0..rows).fold(head, |text, row| {
        text + &line(&|column| field(&column.values, row))
    })
}

fn field(values: &Values, row: usize) -> String {
    match values {
        Values::Texts(texts) => texts[row].clone().unwrap_or_default(),
        Values::Counts(counts) => counts[row].to_string(),
        Values::Figures(figures) => figures[row].map_or(String::new(), |figure| figure.to_string()),
    }
}

/// Runs with their cells as JSON.
#[must_use]
pub fn cells_document(runs: &[(Run, Vec<StoredCell>)], dead: &dyn Fn(&Run) -> bool) -> String {
    let all: Vec<Value> = runs
        .iter()
        .map(|(run, cells)| run_with_cells(run, cells, dead(run)))
        .collect();
    pretty(&json!({ "fathom_runs": 1, "runs": all }))
}

/// A search with its cells and its result, as JSON.
#[must_use]
pub fn search_document(
    run: &Run,
    cells: &[StoredCell],
    result: &fathom_model::Response,
    dead: bool,
) -> String {
    let mut object = run_with_cells(run, cells, dead);
    object["search"] = serde_json::from_str(&crate::response_json(result)).unwrap_or_default();
    pretty(&json!({ "fathom_runs": 1, "runs": [object] }))
}

fn run_with_cells(run: &Run, cells: &[StoredCell], dead: bool) -> Value {
    let mut object = run_value(run, dead);
    object["plan"] = run.experiment.plan.clone().into();
    object["cells"] = cells.iter().map(cell_object).collect();
    object
}

fn cell_object(cell: &StoredCell) -> Value {
    let figures: Map<String, Value> = cell
        .figures
        .iter()
        .map(|(name, figure)| (name.clone(), Value::from(*figure)))
        .collect();
    let found = |found: &fathom_model::StoredFinding| json!({ "code": found.code, "weight": found.weight, "about": found.about, "evidence": found.evidence });
    json!({
        "cell": cell.position,
        "state": cell.state.name(),
        "verdict": cell.verdict,
        "started_unix_ns": cell.started_unix_ns,
        "elapsed_ns": cell.elapsed_ns,
        "axes": texts(&cell.axes),
        "figures": figures,
        "findings": cell.findings.iter().map(found).collect::<Vec<_>>(),
        "notes": cell.notes,
        "plan": cell.plan,
    })
}

fn texts(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs
        .iter()
        .map(|(name, text)| (name.clone(), Value::from(text.as_str())))
        .collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// A column is never cut to less.
const LEAST_CUT: usize = 8;

/// Columns as wide as their content, as many as fit; the last may be cut at the edge of the page.
fn table(heads: &[&str], rows: Vec<Vec<String>>, style: &Style) -> String {
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| row.iter().map(|cell| one_line(cell, style)).collect())
        .collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain([heads[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let mut available = style.width.max(1);
    let fits = |column: &usize| {
        let wide = width(*column);
        let cut = *column + 1 == heads.len() && available >= LEAST_CUT;
        let fits = wide <= available || cut || *column == 0;
        available = available.saturating_sub(wide + 2);
        fits
    };
    let widths: Vec<usize> = (0..heads.len()).take_while(fits).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: String = cells
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:0$}", width + 2))
            .collect();
        format!(
            "{}\n",
            padded
                .chars()
                .take(style.width.max(1))
                .collect::<String>()
                .trim_end()
        )
    };
    let head = line(&mut heads.iter().copied());
    rows.iter().fold(head, |text, row| {
        text + &line(&mut row.iter().map(String::as_str))
    })
}

fn one_line(cell: &str, style: &Style) -> String {
    let clean = style.clean(cell).replace('\n', " ");
    if clean.chars().count() <= WIDEST {
        clean
    } else {
        clean.chars().take(WIDEST - 3).collect::<String>() + "..."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::{Experiment, RunId, StoredFinding};

    fn run() -> Run {
        let experiment = Experiment {
            kind: "sweep".into(),
            name: "größe\u{1b}[31m,x".into(),
            planned: 3,
            created_unix_ns: 1_795_229_273_000_000_000,
            labels: vec![("project".into(), "apollo".into())],
            ..Experiment::default()
        };
        Run {
            id: RunId::new(12),
            experiment,
            state: RunState::Running,
            ended_unix_ns: None,
            cells: 2,
            finished: 2,
        }
    }

    fn cell(position: u64, depth: &str, iops: f64) -> StoredCell {
        StoredCell {
            position,
            axes: vec![("iodepth".into(), depth.into())],
            verdict: "valid".into(),
            figures: vec![("read iops".into(), iops), ("read p99".into(), 0.000_336)],
            findings: vec![
                StoredFinding {
                    code: "A".into(),
                    weight: "note".into(),
                    about: String::new(),
                    evidence: "b".into()
                };
                2
            ],
            ..StoredCell::default()
        }
    }

    #[test]
    fn a_list_of_runs() {
        let text = runs_text(
            &[run()],
            &|_| true,
            &Style {
                ascii: true,
                ..Style::default()
            },
        );
        assert_eq!(
            text,
            "RUN  STARTED           KIND   CELLS   STATE   NAME\nr12  2026-11-21 02:47  sweep  2 of 3  killed  gr??e\\u{1b}[31m,x\n"
        );
        let document: Value =
            serde_json::from_str(&runs_document(&[run()], &|_| false)).expect("JSON");
        assert_eq!(document["runs"][0]["state"], "running");
        assert_eq!(document["runs"][0]["cells_planned"], 3);
    }

    /// Regression 0277: numbers were truncated at the edge of a narrow page and showed a different
    /// value.
    #[test]
    fn a_narrow_page_has_whole_columns_only() {
        let cells = [cell(1, "1", 123_456.0), cell(2, "2", 9_500.4)];
        let of = |width: usize| {
            cells_text(
                &run(),
                false,
                &cells,
                &Style {
                    width,
                    ..Style::default()
                },
            )
        };
        for width in 10..60 {
            let text = of(width);
            let rows: Vec<&str> = text
                .lines()
                .filter(|line| line.starts_with("r12.1"))
                .collect();
            assert!(
                rows.len() == 1
                    && (rows[0].contains("123,456")
                        || !rows[0].contains("12,") && !rows[0].contains("123")),
                "{width}: {text}"
            );
            assert!(rows[0].chars().count() <= width, "{width}: {text}");
        }
        assert!(
            of(30).contains("read iops") && !of(30).contains("read p99"),
            "{}",
            of(30)
        );
    }

    #[test]
    fn cells_in_a_table_in_csv_and_in_json() {
        let all = [(
            run(),
            vec![cell(1, "1", 9_500.4), cell(2, "a,\"b\"", f64::NAN)],
        )];
        let text = cells_text(&all[0].0, false, &all[0].1, &Style::default());
        assert!(text.contains("CELL   iodepth  read iops  read p99  VERDICT\nr12.1  1        9,500      336 us    valid\n"), "{text}");
        let whole = |mut cell: StoredCell| {
            cell.figures.insert(0, ("iops".into(), 9_501.0));
            StoredCell {
                state: CellState::Interrupted,
                ..cell
            }
        };
        let text = cells_text(
            &all[0].0,
            false,
            &[whole(cell(1, "1", 9_500.4))],
            &Style::default(),
        );
        assert!(text.contains("CELL   iodepth  iops   STATE        VERDICT\nr12.1  1        9,501  interrupted  valid\n"), "{text}");
        let csv = cells_csv(&all);
        let mut lines = csv.lines();
        assert_eq!(
            lines.next(),
            Some(
                "run,cell,kind,name,state,verdict,started_unix_ns,elapsed_ns,iodepth,read iops,read p99,findings"
            )
        );
        assert_eq!(
            lines.next(),
            Some("r12,1,sweep,\"größe\\u{1b}[31m,x\",finished,valid,0,0,1,9500.4,0.000336,A A")
        );
        assert!(csv.contains(",\"a,\"\"b\"\"\",NaN,"));
        let document: Value =
            serde_json::from_str(&cells_document(&all, &|_| false)).expect("JSON");
        assert_eq!(
            document["runs"][0]["cells"][0]["figures"]["read p99"],
            0.000_336
        );
        assert_eq!(
            document["runs"][0]["cells"][1]["figures"]["read iops"],
            Value::Null
        );
    }
}
