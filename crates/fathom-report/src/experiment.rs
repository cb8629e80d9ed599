//! The text of experiments: status line, result of a cell, and table of a sweep.

use std::time::Duration;

use fathom_model::{CellFigures, Estimate, Grid, GridRow, Progress, Verdict};

use crate::Style;
use crate::output::wrap;
use crate::progress::fitting_line;
use crate::text::simulated_line;
use fathom_model::format::{TimeUnit, bandwidth, duration, rate, thousands, time_left};

/// The position in an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellPosition {
    /// Number of the cell, from 1.
    pub number: usize,
    /// Number of cells.
    pub all: usize,
    /// Name of the cell.
    pub name: String,
    /// Remaining time of the whole experiment.
    pub left: Option<Duration>,
}

/// The status line of a cell: `3/24 bs=4k iodepth=8: running, 45.0%, read 391MiB/s 100k IOPS, eta 00m:05s; all: 4m 10s left`.
#[must_use]
pub fn cell_status_line(position: &CellPosition, progress: &Progress, width: usize) -> String {
    let left = position.left.map_or(String::new(), |left| {
        format!("; all: {} left", time_left(left))
    });
    let number = format!("{}/{}", position.number, position.all);
    let words: Vec<&str> = position.name.split_whitespace().collect();
    // First the status gets shorter, then the name, word by word; the remaining time is left out last.
    for kept in (0..=words.len()).rev() {
        let head = match kept {
            0 => format!("{number}: "),
            _ if kept < words.len() => format!("{number} {} ...: ", words[..kept].join(" ")),
            _ => format!("{number} {}: ", words.join(" ")),
        };
        let available = width.checked_sub(head.chars().count() + left.chars().count());
        let status = available.map(|available| fitting_line(progress, available));
        if let Some(status) = status.filter(|status| Some(status.chars().count()) <= available) {
            return head + &status + &left;
        }
    }
    (number + &left).chars().take(width).collect()
}

/// The result of a cell as lines of at most `width` columns, each ended.
#[must_use]
pub fn cell_lines(
    position: &CellPosition,
    result: Result<&CellFigures, &str>,
    width: usize,
) -> String {
    wrap(&cell_line(position, result), width, "", "  ")
}

/// The result of a cell in one line.
#[must_use]
pub fn cell_line(position: &CellPosition, result: Result<&CellFigures, &str>) -> String {
    let head = format!("{}/{} {}: ", position.number, position.all, position.name);
    match result {
        Ok(figures) => head + &figures_line(figures),
        Err(why) => format!("{head}not measured: {why}"),
    }
}

/// `95,012 IOPS, 389 MB/s, median 336 us, p99 1.25 ms`, and its findings.
#[must_use]
pub fn figures_line(figures: &CellFigures) -> String {
    let latency = &figures.latency;
    let mut line = format!(
        "{} IOPS, {}, median {}, p99 {}",
        rate(figures.iops),
        bandwidth(figures.bandwidth),
        duration(latency.p50),
        duration(latency.p99)
    );
    let failed = figures.bad.saturating_sub(figures.not_sent);
    for (n, what) in [(failed, "failed"), (figures.not_sent, "not sent")] {
        if n > 0 {
            line += &format!(", {} I/Os {what}", thousands(n));
        }
    }
    if figures.verdict != Verdict::Valid {
        line += &format!(
            " ({}: {})",
            verdict_text(figures.verdict),
            figures.codes.join(", ")
        );
    }
    line
}

/// `8,012 IOPS, median 120 us, p99 250 us in a one-second preview; the measurement follows`.
#[must_use]
pub fn first_look(figures: &CellFigures) -> String {
    let (iops, latency) = (rate(figures.iops), &figures.latency);
    format!(
        "{iops} IOPS, median {}, p99 {} in a one-second preview; the measurement follows",
        duration(latency.p50),
        duration(latency.p99)
    )
}

/// Capitals draw attention to a misleading result.
fn verdict_text(verdict: Verdict) -> String {
    let name = verdict.name();
    if verdict == Verdict::Invalid {
        name.to_uppercase()
    } else {
        name.to_owned()
    }
}

/// The table of a sweep with one row for each cell, and its conclusions.
#[must_use]
pub fn grid_text(grid: &Grid, style: &Style) -> String {
    let repeated = grid.rows.iter().any(|row| row.iops.n > 1);
    let mut head: Vec<String> = grid.axes.clone();
    head.push("IOPS".into());
    if repeated {
        head.push("+-95%".into());
    }
    head.extend(["MB/s", "mean", "median", "p99", "p99.9", "max"].map(String::from));
    let unit = TimeUnit::common(grid.rows.iter().flat_map(latencies));
    let rows: Vec<Vec<String>> = grid
        .rows
        .iter()
        .map(|row| columns(row, repeated, unit))
        .collect();
    let mut text = simulated_line(grid.simulated.as_ref(), style);
    text += &aligned(&head, &rows, grid.axes.len(), style);
    let notes = notes(grid);
    if !notes.is_empty() {
        text += &format!("\n{}", folded(&notes, style));
    }
    if grid.left_out > 0 {
        text += &format!(
            "\n{} of {} cells were not measured.\n",
            grid.left_out,
            grid.left_out as usize + grid.rows.len()
        );
    }
    if !grid.sentences.is_empty() {
        text += &format!("\n{}", folded(&grid.sentences, style));
    }
    text
}

fn folded(sentences: &[String], style: &Style) -> String {
    sentences
        .iter()
        .map(|sentence| wrap(&style.clean(sentence), style.width, "", "  "))
        .collect()
}

/// The latencies that the table shows, nanoseconds.
fn latencies(row: &GridRow) -> [f64; 5] {
    let latency = &row.figures.latency;
    [
        latency.mean,
        latency.p50,
        latency.p99,
        latency.p999,
        latency.max,
    ]
}

fn columns(row: &GridRow, repeated: bool, unit: TimeUnit) -> Vec<String> {
    let mut columns = row.values.clone();
    if row.failed.is_some() {
        columns.push("-".to_owned());
        return columns;
    }
    columns.push(
        rate(row.iops.mean)
            + if row.figures.verdict == Verdict::Valid {
                ""
            } else {
                "*"
            },
    );
    if repeated {
        columns.push(error(&row.iops));
    }
    columns.push(rate(row.figures.bandwidth / 1e6));
    columns.extend(latencies(row).map(|ns| unit.format(ns)));
    columns
}

fn error(iops: &Estimate) -> String {
    iops.relative()
        .map_or("-".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

/// Maximum number of rows that a note names.
const MOST_NAMED: usize = 4;

/// The findings of rows, each once with the rows it applies to.
fn notes(grid: &Grid) -> Vec<String> {
    let name = |row: &GridRow| {
        let pairs = grid
            .axes
            .iter()
            .zip(&row.values)
            .map(|(axis, value)| format!("{axis}={value}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for row in &grid.rows {
        let what = match &row.failed {
            Some(why) => format!("not measured: {why}"),
            None if row.figures.verdict == Verdict::Valid => continue,
            None => format!(
                "* {}: {}",
                verdict_text(row.figures.verdict),
                row.figures.codes.join(", ")
            ),
        };
        match notes.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) => names.push(name(row)),
            None => notes.push((what, vec![name(row)])),
        }
    }
    notes
        .into_iter()
        .map(|(what, names)| format!("{what} ({})", among(&names, grid.rows.len())))
        .collect()
}

/// `all 9`, or their names.
fn among(names: &[String], all: usize) -> String {
    let n = names.len();
    match n {
        _ if n == all && n > 1 => format!("all {n}"),
        _ if n > MOST_NAMED => format!(
            "{}; and {} more",
            names[..MOST_NAMED - 1].join("; "),
            n + 1 - MOST_NAMED
        ),
        _ => names.join("; "),
    }
}

/// Axis values left-aligned, metrics right-aligned; columns that do not fit are omitted from the right.
pub(crate) fn aligned(head: &[String], rows: &[Vec<String>], axes: usize, style: &Style) -> String {
    let width_of = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(head[column].chars().count())
    };
    let mut available = style.width;
    let mut widths = Vec::new();
    for column in 0..head.len() {
        let width = width_of(column);
        if widths.len() > axes && available < width + 2 {
            break;
        }
        available = available.saturating_sub(width + 2);
        widths.push(width);
    }
    let line = |cells: &[String]| {
        let mut text = String::new();
        for (column, width) in widths.iter().enumerate() {
            let cell = cells
                .get(column)
                .map_or(String::new(), |cell| style.clean(cell));
            text += &if column < axes {
                format!("{cell:width$}  ")
            } else {
                format!("{cell:>width$}  ")
            };
        }
        text.trim_end().to_owned() + "\n"
    };
    std::iter::once(line(head))
        .chain(rows.iter().map(|row| line(row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use fathom_model::{CellLatency, Nanos};

    use super::*;

    fn figures() -> CellFigures {
        CellFigures {
            iops: 95_012.0,
            bandwidth: 95_012.0 * 4096.0,
            latency: CellLatency {
                mean: 340e3,
                p50: 336e3,
                p99: 1.25e6,
                p999: 2e6,
                max: 4.5e6,
                ..CellLatency::default()
            },
            elapsed: Nanos::from_secs(10),
            per_target: Vec::new(),
            ..CellFigures::default()
        }
    }

    #[test]
    fn a_cell_in_a_line() {
        let position = CellPosition {
            number: 3,
            all: 24,
            name: "bs=4k iodepth=8".into(),
            left: Some(Duration::from_secs(250)),
        };
        let line = cell_line(&position, Ok(&figures()));
        assert_eq!(
            line,
            "3/24 bs=4k iodepth=8: 95,012 IOPS, 389 MB/s, median 336 us, p99 1.25 ms"
        );
        assert_eq!(
            cell_line(&position, Err("no")),
            "3/24 bs=4k iodepth=8: not measured: no"
        );
        // Regression 0408: under overload, I/Os that were not sent "failed".
        let overloaded = CellFigures {
            bad: 1_203,
            not_sent: 1_200,
            ..figures()
        };
        assert!(
            cell_line(&position, Ok(&overloaded)).ends_with(", 3 I/Os failed, 1,200 I/Os not sent")
        );
        let live = cell_status_line(&position, &Progress::default(), 60);
        assert_eq!(live, "3/24 bs=4k iodepth=8: waiting; all: 4m 10s left");
        assert!(
            cell_status_line(&position, &Progress::default(), 30).ends_with("all: 4m 10s left")
        );
    }

    /// Regression 0409: the line of a cell was cut within a word.
    #[test]
    fn the_status_of_a_cell_fits_any_terminal() {
        let position = CellPosition {
            number: 3,
            all: 24,
            name: "rw=randread bs=64k iodepth=128 numjobs=16".into(),
            left: Some(Duration::from_secs(250)),
        };
        let mut known: Vec<&str> = position.name.split(' ').collect();
        known.extend(["3/24", "...", "waiting", "all", "4m", "10s", "left"]);
        for width in 40..=200 {
            let line = cell_status_line(&position, &Progress::default(), width);
            assert!(line.chars().count() <= width, "{width}: {line}");
            for word in line.split([' ', ':', ';']).filter(|word| !word.is_empty()) {
                assert!(known.contains(&word), "{width}: '{word}' in {line}");
            }
        }
        assert_eq!(
            cell_status_line(&position, &Progress::default(), 44),
            "3/24: waiting; all: 4m 10s left"
        );
    }

    #[test]
    fn the_table_fits_the_page_and_marks_invalid_rows() {
        let row = |bs: &str, verdict| GridRow {
            values: vec![bs.to_owned(), "8".to_owned()],
            iops: Estimate {
                mean: 95_012.0,
                half_width: Some(950.0),
                n: 3,
            },
            figures: CellFigures {
                verdict,
                codes: vec!["SHORT_IO".into()],
                ..figures()
            },
            failed: None,
        };
        let mut grid = Grid {
            axes: vec!["bs".into(), "iodepth".into()],
            rows: vec![row("4k", Verdict::Valid), row("128k", Verdict::Invalid)],
            left_out: 2,
            sentences: vec!["It is fast.".into()],
            simulated: None,
        };
        let text = grid_text(&grid, &Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "bs    iodepth     IOPS  +-95%  MB/s    mean  median       p99     p99.9"
        );
        assert_eq!(
            lines[1],
            "4k    8         95,012   1.0%   389  340 us  336 us  1,250 us  2,000 us"
        );
        assert!(
            lines[2].contains("95,012*")
                && text.contains("* INVALID: SHORT_IO (bs=128k iodepth=8)"),
            "{text}"
        );
        assert!(
            text.contains("2 of 4 cells were not measured.") && text.ends_with("It is fast.\n")
        );
        grid.rows[0].failed = Some("no room".into());
        assert!(
            grid_text(&grid, &Style::default()).contains("not measured: no room (bs=4k iodepth=8)")
        );
        let narrow = grid_text(
            &grid,
            &Style {
                width: 40,
                ..Style::default()
            },
        );
        assert!(
            narrow
                .lines()
                .take(3)
                .all(|line| line.chars().count() <= 40),
            "{narrow}"
        );
    }
}
