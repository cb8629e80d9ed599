//! The blame sheet: a table of the phases, and its sentences.

use fathom_model::format::{duration, percent, thousands};
use fathom_model::{BlameGroup, BlamePhase, BlameRank, BlameRecording, BlameSheet};

use crate::Style;
use crate::output::wrap;

/// The others in the device that are listed.
const MOST_OTHERS: usize = 5;
/// They had requests in the device for at least this share of the time of the I/Os there.
const LEAST_BESIDE: f64 = 0.01;

/// The section of a report. Empty without a sheet.
pub(super) fn blame(sheet: Option<&BlameSheet>, style: &Style) -> String {
    let Some(sheet) = sheet else {
        return String::new();
    };
    let recording = &sheet.recording;
    let mut lines = String::from("\nWhere the response time passed:\n");
    for group in &recording.groups {
        lines += &table(group, style);
    }
    lines += &others(recording, style);
    for sentence in &sheet.sentences {
        lines += &wrap(&style.clean(sentence), style.width, "  ", "  ");
    }
    lines
}

const fn heading(phase: BlamePhase) -> &'static str {
    match phase {
        BlamePhase::Generator => "generator",
        BlamePhase::Submission => "submission",
        BlamePhase::BlockLayer => "block layer",
        BlamePhase::Scheduler => "scheduler",
        BlamePhase::Device => "device",
        BlamePhase::Reaping => "reaping",
    }
}

const fn rank_name(rank: BlameRank) -> &'static str {
    match rank {
        BlameRank::SlowestPercent => "slowest 1 %",
        other => other.name(),
    }
}

/// One group: mean response time of the I/Os at each rank, and the share of each phase of it.
fn table(group: &BlameGroup, style: &Style) -> String {
    let name = match (group.name.as_str(), group.direction) {
        ("", _) | (_, None) => "all I/Os".to_owned(),
        (name, Some(direction)) => format!("{name}, {}", direction.name()),
    };
    let title = format!(
        "{name}: {} of {} I/Os joined with their requests",
        thousands(group.joined),
        thousands(group.joined + group.unjoined.total())
    );
    let mut lines = wrap(&style.clean(&title), style.width, "  ", "    ");
    if group.rows.is_empty() {
        return lines;
    }
    let mut rows = vec![
        ["", "I/Os", "mean"]
            .map(str::to_owned)
            .into_iter()
            .chain(
                BlamePhase::ALL
                    .iter()
                    .map(|phase| heading(*phase).to_owned()),
            )
            .collect::<Vec<String>>(),
    ];
    for row in &group.rows {
        let mut cells = vec![
            rank_name(row.rank).to_owned(),
            thousands(row.ios),
            duration(row.mean_ns()),
        ];
        cells.extend(
            BlamePhase::ALL
                .iter()
                .map(|phase| percent(row.phases.share(*phase) * 100.0)),
        );
        rows.push(cells);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        let mut line = String::from("   ");
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line += " ";
            if column == 0 {
                line += &format!("{cell:width$}");
            } else {
                line += &format!("{cell:>width$}");
            }
        }
        lines += line.trim_end();
        lines.push('\n');
    }
    lines
}

/// Who else had requests in the device, in the time of all I/Os and of the slowest ones.
fn others(recording: &BlameRecording, style: &Style) -> String {
    let Some(group) = recording.groups.first() else {
        return String::new();
    };
    let (Some(mean), Some(slowest)) = (
        group.row(BlameRank::Mean),
        group.row(BlameRank::SlowestPercent),
    ) else {
        return String::new();
    };
    let mut lines = String::new();
    let listed = recording
        .others
        .iter()
        .enumerate()
        .filter(|(index, _)| mean.beside(*index).max(slowest.beside(*index)) >= LEAST_BESIDE)
        .take(MOST_OTHERS);
    for (index, other) in listed {
        let line = format!(
            "Also in the device: {}, {} of the time of all I/Os there, {} of the slowest 1 %",
            other.text(),
            percent(mean.beside(index) * 100.0),
            percent(slowest.beside(index) * 100.0),
        );
        lines += &wrap(&style.clean(&line), style.width, "  ", "    ");
    }
    lines
}
