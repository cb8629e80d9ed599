//! Sweeps, searches and suites with their progress: the newest as grids of their cells, the others in a table.

use std::cmp::Ordering;

use fathom_model::{CellState, Run, RunState, StoredCell};
use fathom_report::{metric_text, run_state};
use fathom_store::{ListFilter, ListedRun};

use super::runs::{Rows, planned, table};
use super::{answer, device_of, started};
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html, elsewhere};
use crate::request::Request;
use crate::workers::Site;

/// The newest of each kind.
const NEWEST: u32 = 50;
/// Experiments that are shown as a grid.
const GRIDS: usize = 8;
/// Cells in a grid; all of them are on the page of the run.
const MOST_CELLS: usize = 400;
/// Share of the colour in the cell with the largest figure, percent: texts stay readable.
const DARKEST: f64 = 35.0;

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
    }
    let others = all.split_off(all.len().min(GRIDS));
    let mut is_running = false;
    for listed in &all {
        let cells = site.library.store().cells(listed.run.id)?;
        is_running |= listed.run.state == RunState::Running && !site.library.is_dead(&listed.run);
        experiment(&mut html, site, listed, &cells);
    }
    if !others.is_empty() {
        html.raw("<section><h2>Earlier ones</h2>");
        let columns = [
            "kind", "started", "state", "verdict", "device", "cells", "progress",
        ];
        let rows = Rows {
            path: "/runs",
            can_pick: false,
        };
        let caption = format!("{} more", others.len());
        table(&mut html, &caption, &others, &columns, site, rows);
        html.raw("</section>");
    }
    if is_running {
        // `site.js` loads the content again after so many seconds.
        html.raw(
            "<p class=note data-again=3>Something is being measured: this page follows it.</p>",
        );
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

fn experiment(html: &mut Html, site: &Site, listed: &ListedRun, cells: &[StoredCell]) {
    let run = &listed.run;
    let is_dead = site.library.is_dead(run);
    let (done, all) = (run.finished, planned(run));
    html.raw("<section class=experiment><h2>")
        .link(
            &format!("/runs/{}", run.id),
            &[],
            &format!("{} {}", run.id, run.experiment.name),
        )
        .raw("</h2><p class=note>")
        .text(&format!(
            "{}, {}, ",
            run.experiment.shown_kind(),
            started(run, site)
        ));
    let state = run_state(run, is_dead);
    if state == "running" {
        html.link(&format!("/live/{}", run.id), &[], state);
    } else {
        html.text(state);
    }
    let device = device_of(&run.experiment.facts);
    html.text(if device.is_empty() { "" } else { ", " })
        .text(&device)
        .raw(" ")
        .verdict(&listed.verdict)
        .raw("</p><p><progress")
        .attribute("max", &all.to_string())
        .attribute("value", &done.to_string())
        .attribute("aria-label", &format!("progress of {}", run.id))
        .raw("></progress> ")
        .text(&format!("{done} of {all} cells"))
        .raw("</p>");
    let figure = cells
        .iter()
        .flat_map(|cell| &cell.figures)
        .find(|(name, _)| name.ends_with("iops"))
        .or_else(|| cells.iter().flat_map(|cell| &cell.figures).next());
    if let Some((figure, _)) = figure {
        let grid = Grid {
            run,
            cells: &cells[..cells.len().min(MOST_CELLS)],
            figure,
            planned: all,
            is_dead,
        };
        grid.write(html);
    }
    html.raw("</section>");
}

/// The cells of an experiment with one figure.
struct Grid<'a> {
    run: &'a Run,
    cells: &'a [StoredCell],
    figure: &'a str,
    planned: u64,
    is_dead: bool,
}

impl Grid<'_> {
    fn write(&self, html: &mut Html) {
        let axes = varied(self.cells);
        html.raw("<p class=sub>")
            .text(self.figure)
            .text(if self.planned as usize > MOST_CELLS {
                " of the first cells"
            } else {
                ""
            })
            .raw("</p>");
        match &axes[..] {
            [(rows, lines), (columns, places)] if self.fits(rows, columns) => {
                html.raw("<div class=whole><table class=grid><thead><tr><th scope=col>")
                    .text(&format!("{rows} / {columns}"))
                    .raw("</th>");
                for place in places {
                    html.raw("<th scope=col>").text(place).raw("</th>");
                }
                html.raw("</tr></thead><tbody>");
                for line in lines {
                    html.raw("<tr><th scope=row>").text(line).raw("</th>");
                    for place in places {
                        html.raw("<td>");
                        match self
                            .cells
                            .iter()
                            .find(|cell| value(cell, rows) == line && value(cell, columns) == place)
                        {
                            Some(cell) => self.cell(html, cell, &[]),
                            None => planned_cell(html),
                        }
                        html.raw("</td>");
                    }
                    html.raw("</tr>");
                }
                html.raw("</tbody></table></div>");
            }
            _ => {
                let names: Vec<&str> = axes.iter().map(|(name, _)| name.as_str()).collect();
                html.raw("<ol class=cells>");
                for cell in self.cells {
                    html.raw("<li>");
                    self.cell(html, cell, &names);
                    html.raw("</li>");
                }
                let missing = (self.planned as usize).min(MOST_CELLS);
                for _ in self.cells.len()..missing {
                    html.raw("<li>");
                    planned_cell(html);
                    html.raw("</li>");
                }
                html.raw("</ol>");
            }
        }
    }

    /// Whether no two cells have the same place.
    fn fits(&self, rows: &str, columns: &str) -> bool {
        let mut places: Vec<(&str, &str)> = self
            .cells
            .iter()
            .map(|cell| (value(cell, rows), value(cell, columns)))
            .collect();
        places.sort_unstable();
        places.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// A link to a cell with its figure, and with its values of some axes.
    fn cell(&self, html: &mut Html, cell: &StoredCell, axes: &[&str]) {
        let of = |cell: &StoredCell| {
            let mut figures = cell.figures.iter();
            figures
                .find(|(name, _)| name == self.figure)
                .map(|one| one.1)
        };
        let largest = self.cells.iter().filter_map(of).fold(0.0, f64::max);
        let state = match (
            cell.state,
            self.is_dead || self.run.state != RunState::Running,
        ) {
            (CellState::Running, false) => "running",
            (CellState::Running, true) => "stopped",
            _ if cell.verdict.is_empty() => cell.state.name(),
            _ => &cell.verdict,
        };
        let known = ["running", "valid", "degraded", "invalid"];
        let class = known.into_iter().find(|word| *word == state);
        let place: Vec<String> = cell
            .axes
            .iter()
            .map(|(axis, value)| format!("{axis}={value}"))
            .collect();
        let text =
            of(cell).map_or_else(|| state.to_owned(), |value| metric_text(self.figure, value));
        html.raw("<a")
            .attribute("class", &format!("cell {}", class.unwrap_or("other")))
            .attribute("href", &format!("/runs/{}.{}", self.run.id, cell.position))
            .attribute("title", &format!("{}: {state}", place.join(" ")));
        if let Some(value) = of(cell).filter(|_| largest > 0.0) {
            let share = (DARKEST * value / largest).clamp(0.0, DARKEST);
            html.attribute("data-style", &format!("--part:{share:.0}%"));
        }
        html.raw("><b>").text(&text).raw("</b>");
        if !axes.is_empty() {
            let own: Vec<String> = axes
                .iter()
                .map(|axis| format!("{axis}={}", value(cell, axis)))
                .collect();
            html.raw("<span>").text(&own.join(" ")).raw("</span>");
        }
        html.raw("</a>");
    }
}

fn planned_cell(html: &mut Html) {
    html.raw("<span class=\"cell planned\">planned</span>");
}

fn value<'a>(cell: &'a StoredCell, axis: &str) -> &'a str {
    let mut axes = cell.axes.iter();
    axes.find(|(name, _)| name == axis)
        .map_or("", |(_, value)| value)
}

/// The axes with more than one value, each with its values in the order of the cells.
fn varied(cells: &[StoredCell]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in cells.iter().flat_map(|cell| &cell.axes) {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if values.contains(value) => {}
            Some((_, values)) => values.push(value.clone()),
            None => all.push((name.clone(), vec![value.clone()])),
        }
    }
    all.retain(|(_, values)| values.len() > 1);
    for (_, values) in &mut all {
        // Cells are measured in any order.
        if values.iter().all(|value| size(value).is_some()) {
            values.sort_by(|a, b| size(a).partial_cmp(&size(b)).unwrap_or(Ordering::Equal));
        }
    }
    all
}

/// A number with a suffix of a size, such as `64k`; only the order of such values is used.
fn size(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text[digits.len()..].chars().next() {
        None => 0,
        Some(suffix) => "kmgt".find(suffix.to_ascii_lowercase())? + 1,
    };
    Some(digits.parse::<f64>().ok()? * 1024_f64.powi(power as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(position: u64, axes: &[(&str, &str)], iops: f64) -> StoredCell {
        StoredCell {
            position,
            axes: axes
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            figures: vec![("read iops".to_owned(), iops)],
            verdict: "valid".to_owned(),
            ..StoredCell::default()
        }
    }

    fn written(cells: &[StoredCell], planned: u64) -> String {
        let run = Run {
            id: fathom_model::RunId::new(1),
            experiment: fathom_model::Experiment::default(),
            state: RunState::Finished,
            ended_unix_ns: None,
            cells: cells.len() as u64,
            finished: cells.len() as u64,
        };
        let mut html = Html::default();
        Grid {
            run: &run,
            cells,
            figure: "read iops",
            planned,
            is_dead: false,
        }
        .write(&mut html);
        crate::html::page(&Frame::default(), &html)
    }

    #[test]
    fn two_axes_are_rows_and_columns() {
        let axes = |bs, depth| [("bs", bs), ("iodepth", depth), ("rw", "read")];
        let cells = [
            cell(1, &axes("64k", "16"), 1000.0),
            cell(2, &axes("1m", "16"), 4000.0),
            cell(3, &axes("64k", "4"), 500.0),
        ];
        let page = written(&cells, 4);
        assert!(page.contains("bs / iodepth"), "{page}");
        let place = |text: &str| page.find(text).expect("a head");
        assert!(place(">4</th>") < place(">16</th>"), "{page}");
        assert!(place(">64k</th>") < place(">1m</th>"), "{page}");
        // The fourth cell has not begun.
        assert_eq!(page.matches("<td>").count(), 4, "{page}");
        assert_eq!(page.matches("planned").count(), 2, "{page}");
        // The colour is proportional to the figure.
        for part in ["--part:9%", "--part:35%", "--part:4%"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn cells_that_share_a_place_are_a_list() {
        let axes = |bs, depth| [("bs", bs), ("iodepth", depth)];
        let cells = [
            cell(1, &axes("4k", "1"), 1000.0),
            cell(2, &axes("8k", "8"), 4000.0),
            cell(3, &axes("4k", "1"), 500.0),
        ];
        let page = written(&cells, 5);
        assert!(!page.contains("<table"), "{page}");
        assert_eq!(page.matches("<li>").count(), 5, "{page}");
        assert!(page.contains("bs=8k iodepth=8"), "{page}");
    }
}
