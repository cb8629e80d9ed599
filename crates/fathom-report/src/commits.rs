//! The answer of `fathom fsync` as text, JSON and Markdown.

use fathom_model::format::{duration, rate};
use fathom_model::{CommitReport, CommitRow};
use serde_json::json;

use crate::Style;
use crate::experiment::aligned;
use crate::output::wrap;

const HEAD: [&str; 10] = [
    "method",
    "write",
    "clients",
    "commits/s",
    "median",
    "p99",
    "max",
    "flushes",
    "FUA",
    "dev. writes",
];
/// The place of the clients in a row.
const CLIENTS: usize = 2;

fn cells(row: &CommitRow) -> Vec<String> {
    let method = if row.direct {
        row.method.clone() + " *"
    } else {
        row.method.clone()
    };
    let mut cells = vec![
        method,
        format!("{} x {}", row.writes, row.size),
        row.clients.to_string(),
    ];
    if row.failed.is_some() {
        cells.push("n/a".to_owned());
        return cells;
    }
    let share = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    cells.extend([
        rate(row.rate),
        duration(row.median),
        duration(row.p99),
        duration(row.max),
        share(row.flushes),
        share(row.fua),
        share(row.device_writes),
    ]);
    cells
}

/// The parts of the answer: title and rows.
fn parts(report: &CommitReport) -> [(&'static str, &[CommitRow]); 3] {
    [
        ("Methods, one and two writes for a commit", &report.methods),
        ("Sizes", &report.sizes),
        ("Clients, whose commits are grouped", &report.clients),
    ]
}

const LEGEND: &str = "*: direct I/O. Flushes and writes are those of the device for one commit; FUA: those of its writes with forced \
                      unit access, which need no flush (-: only root can see them).";

/// The answer for people.
#[must_use]
pub fn commits_text(report: &CommitReport, style: &Style) -> String {
    let paragraph = |text: &str| wrap(&style.clean(text), style.width, "", "  ");
    let mut text = paragraph(&format!("Commits on {}", report.target));
    for (title, rows) in parts(report).iter().filter(|(_, rows)| !rows.is_empty()) {
        let mut head = HEAD.map(str::to_owned).to_vec();
        let single = rows.iter().all(|row| row.clients == 1);
        let mut rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
        if single {
            head.remove(CLIENTS);
            rows.iter_mut().for_each(|row| drop(row.remove(CLIENTS)));
        }
        text += &format!("\n{title}\n");
        text += &aligned(&head, &rows, 1, style);
    }
    text += "\n";
    text += &paragraph(LEGEND);
    for row in report.methods.iter().filter(|row| row.writes == 1) {
        if let Some(reason) = &row.failed {
            text += &paragraph(&format!("{}: {reason}", row.method));
        }
    }
    for note in &report.notes {
        text += &wrap(&style.clean(note), style.width, "* ", "  ");
    }
    text += &paragraph(&format!(
        "Choose {}: {}.",
        report.choice.as_deref().unwrap_or("none"),
        report.reason
    ));
    text
}

/// The answer as a section of Markdown.
#[must_use]
pub fn commits_markdown(report: &CommitReport) -> String {
    let mut text = format!("## Commits on {}\n", report.target.replace('|', "\\|"));
    for (title, rows) in parts(report).iter().filter(|(_, rows)| !rows.is_empty()) {
        text += &format!("\n{title}\n\n| {} |\n", HEAD.join(" | "));
        text += &format!("| {} |\n", HEAD.map(|_| "---").join(" | "));
        for row in *rows {
            let mut cells = cells(row);
            cells.resize(HEAD.len(), String::new());
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text += &format!("\n{LEGEND}\n");
    for note in &report.notes {
        text += &format!("\n* {note}\n");
    }
    text + &format!(
        "\nChoose {}: {}.\n",
        report.choice.as_deref().unwrap_or("none"),
        report.reason
    )
}

/// The answer as JSON; times in nanoseconds.
#[must_use]
pub fn commits_json(report: &CommitReport) -> String {
    let row = |row: &CommitRow| {
        json!({
            "method": row.method,
            "writes": row.writes,
            "size": row.size,
            "clients": row.clients,
            "direct": row.direct,
            "commits": row.commits,
            "commits_per_second": row.rate,
            "median_ns": row.median,
            "p99_ns": row.p99,
            "max_ns": row.max,
            "syncs_per_commit": row.syncs,
            "flushes_per_commit": row.flushes,
            "fua_writes_per_commit": row.fua,
            "device_writes_per_commit": row.device_writes,
            "rounds": row.rounds,
            "failed": row.failed,
        })
    };
    let rows = |rows: &[CommitRow]| rows.iter().map(row).collect::<Vec<_>>();
    let document = json!({
        "schema": 1,
        "target": report.target,
        "methods": rows(&report.methods),
        "sizes": rows(&report.sizes),
        "clients": rows(&report.clients),
        "choice": report.choice,
        "reason": report.reason,
        "notes": report.notes,
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
