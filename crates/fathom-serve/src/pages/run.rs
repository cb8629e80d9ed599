//! A run: its report, its cells, and where to continue.

use fathom_chart::report_parts;
use fathom_model::format::shell_word;
use fathom_model::{CellState, Run, RunState, StoredCell};
use fathom_report::{metric_text, run_state};

use super::{answer, started};
use crate::answer::{Answer, Problem};
use crate::html::{Column, Frame, Html, elsewhere, number, words};
use crate::request::{Request, address};
use crate::routes::RUN;
use crate::workers::Site;

/// Cells in the table of a page; all of them are in the downloads.
const MOST_CELLS: usize = 300;

/// The run and its cells, or the one that is named.
pub(crate) fn find(
    site: &mut Site,
    name: &str,
) -> Result<(Run, Option<u64>, Vec<StoredCell>), Problem> {
    let (run, cell) = name
        .split_once('.')
        .map_or((name, None), |(run, cell)| (run, cell.parse().ok()));
    let store = site.library.store();
    let run = store.run(run)?;
    let mut cells = store.cells(run.id)?;
    if let Some(position) = cell {
        cells.retain(|cell| cell.position == position);
        if cells.is_empty() {
            return Err(Problem::Missing(format!(
                "{} has no cell {position}.",
                run.id
            )));
        }
    }
    Ok((run, cell, cells))
}

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let (run, cell, cells) = find(site, request.get(RUN))?;
    let name = cell.map_or(run.id.to_string(), |cell| format!("{}.{cell}", run.id));
    let is_dead = site.library.is_dead(&run);
    let is_running = run.state == RunState::Running && !is_dead;
    let mut html = Html::default();
    html.raw("<p class=sub>").link("/", &[], "Runs").text(" / ");
    if cell.is_some() {
        html.link(&format!("/runs/{}", run.id), &[], &run.id.to_string())
            .text(" / ");
    }
    html.text(&name)
        .text(": ")
        .text(&run.experiment.shown_kind())
        .text(", ")
        .text(&started(&run, site))
        .text(", ");
    html.text(run_state(&run, is_dead)).raw("</p>");
    if is_running {
        html.raw("<p>It is being measured: ")
            .link(&format!("/live/{}", run.id), &[], "live figures")
            .raw("</p>");
    }
    let mut data = String::new();
    let has_result = cells.iter().any(|cell| cell.state != CellState::Running);
    match if has_result {
        site.library.report(std::slice::from_ref(&name))
    } else {
        Err(String::new())
    } {
        Ok(report) => {
            let parts = report_parts(&report);
            html.report(&parts);
            data = parts.data;
        }
        Err(reason) => {
            html.raw("<h1>")
                .text(&format!("{name} {}", run.experiment.name))
                .raw("</h1>");
            if !reason.is_empty() {
                html.raw("<p class=note>").text(&reason).raw("</p>");
            }
        }
    }
    if cells.len() > 1 {
        cell_table(&mut html, &run, &cells);
    }
    notes(&mut html, &cells);
    let words: Vec<String> = run
        .experiment
        .command
        .iter()
        .map(|word| shell_word(word))
        .collect();
    html.raw("<section><h2>Where it comes from</h2><p>The command that measured it:</p><pre>")
        .text(&words.join(" "))
        .raw("</pre>");
    facts(&mut html, &run);
    html.raw("</section>");
    let api = format!("/api/v1/runs/{name}");
    let csv = address(&api, &[("format", "csv".to_owned())]);
    elsewhere(
        &mut html,
        &[("CSV", csv), ("JSON", api)],
        &format!("fathom report {name} -o {name}.html"),
    );
    let title = format!("{name} {}", run.experiment.name);
    Ok(answer(
        &Frame {
            title: &title,
            data: &data,
            ..Frame::default()
        },
        &html,
    ))
}

/// A line for each cell, with its axes and main figures.
fn cell_table(html: &mut Html, run: &Run, cells: &[StoredCell]) {
    let mut axes: Vec<&str> = Vec::new();
    for (name, _) in cells.iter().flat_map(|cell| &cell.axes) {
        if !axes.contains(&name.as_str()) {
            axes.push(name);
        }
    }
    const SHOWN: [&str; 3] = ["iops", "bandwidth", "p99"];
    const VERDICT: Column = words("Verdict");
    let mut head = vec![words("Cell")];
    // The values of most axes are numbers.
    head.extend(axes.iter().copied().map(number));
    head.extend(SHOWN.map(number));
    head.push(VERDICT);
    html.raw("<section><h2>Cells</h2>");
    let caption = if cells.len() > MOST_CELLS {
        format!(
            "The first {MOST_CELLS} of {} cells; the downloads have all of them",
            cells.len()
        )
    } else {
        format!("{} cells", cells.len())
    };
    html.head(&caption, &head);
    for cell in cells.iter().take(MOST_CELLS) {
        let name = format!("{}.{}", run.id, cell.position);
        html.row(&format!("/runs/{name}"), &[], &name);
        for axis in &axes {
            let found = cell.axes.iter().find(|(name, _)| name == axis);
            html.cell(number(axis), found.map_or("", |(_, value)| value));
        }
        for end in SHOWN {
            let found = cell
                .figures
                .iter()
                .find(|(name, _)| name == end || name.ends_with(&format!(" {end}")));
            html.cell(
                number(end),
                &found.map_or(String::new(), |(name, value)| metric_text(name, *value)),
            );
        }
        html.open(VERDICT).verdict(&cell.verdict).raw("</td></tr>");
    }
    html.foot().raw("</section>");
}

fn notes(html: &mut Html, cells: &[StoredCell]) {
    let mut notes: Vec<&str> = cells
        .iter()
        .flat_map(|cell| cell.notes.iter().map(String::as_str))
        .collect();
    notes.dedup();
    if notes.is_empty() {
        return;
    }
    html.raw("<h2>Notes</h2><ul>");
    for note in notes.into_iter().take(50) {
        html.raw("<li>").text(note).raw("</li>");
    }
    html.raw("</ul>");
}

fn facts(html: &mut Html, run: &Run) {
    html.raw("<dl>");
    for (name, value) in &run.experiment.labels {
        html.raw("<dt>label ")
            .text(name)
            .raw("</dt><dd>")
            .link("/", &[("label", format!("{name}={value}"))], value)
            .raw("</dd>");
    }
    for (name, value) in &run.experiment.facts {
        html.raw("<dt>").text(name).raw("</dt><dd>");
        if name == "device" {
            html.link("/", &[("device", value.clone())], value);
        } else {
            html.text(value);
        }
        html.raw("</dd>");
    }
    html.raw("</dl>");
}
