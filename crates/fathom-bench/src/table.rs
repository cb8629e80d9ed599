//! The table, for the terminal and for a page.

use crate::machine::Machine;
use crate::row::{Goal, Row, Spread};

const COLUMNS: [&str; 7] = ["figure", "fathom", "peer", "", "ratio", "goal", "met"];

/// For the terminal.
pub fn text(machine: &Machine, rows: &[(&'static str, Row)]) -> String {
    let mut out = String::from("\n");
    machine
        .facts
        .iter()
        .for_each(|(name, fact)| out += &format!("{name:<14}{fact}\n"));
    let mut last = "";
    for (case, row) in rows {
        if *case != last {
            out += &format!("\n{case}\n");
        }
        last = case;
        let [what, ours, theirs, unit, ratio, goal_text, reached] = cells(row);
        out += &format!(
            "  {what}\n    {ours} {unit}; {}: {theirs}; ratio {ratio}; goal {goal_text}; met {reached}\n",
            row.peer
        );
        if !row.note.is_empty() {
            out += &format!("    ({})\n", row.note);
        }
    }
    out
}

/// For `docs/benchmarks.md`.
pub fn markdown(machine: &Machine, rows: &[(&'static str, Row)]) -> String {
    let mut out = String::from(
        "# fathom and fio compared\n\nWritten by `cargo run --release -p fathom-bench -- --markdown docs/benchmarks.md`, which runs both programs in \
          alternating pairs. A figure is the median of its runs, with the minimum and the maximum in brackets. The ratio is \
          that of each pair, fathom to the peer. CPU time is that of the whole program minus that of a run of one I/O.\n\n",
    );
    out += "| | |\n| --- | --- |\n";
    machine
        .facts
        .iter()
        .for_each(|(name, fact)| out += &format!("| {name} | {fact} |\n"));
    let mut last = "";
    for (case, row) in rows {
        if *case != last {
            out += &format!(
                "\n## {case}\n\n| {} |\n|{}\n",
                COLUMNS.join(" | "),
                " --- |".repeat(COLUMNS.len())
            );
        }
        last = case;
        let mut cells = cells(row);
        if !row.note.is_empty() {
            cells[0] += &format!(" ({})", row.note);
        }
        if row.peer != "fio" {
            cells[2] += &format!(" ({})", row.peer);
        }
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out
}

fn cells(row: &Row) -> [String; 7] {
    let reached = match row.reached() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    [
        row.what.clone(),
        shown(row.ours),
        shown(row.theirs),
        row.unit.to_owned(),
        shown(row.ratio),
        goal_text(row.goal),
        reached.to_owned(),
    ]
}

fn goal_text(goal: Goal) -> String {
    match goal {
        Goal::RatioAtLeast(least) => format!("at least {least}"),
        Goal::RatioAtMost(most) => format!("at most {most}"),
        Goal::RatioWithin(least, most) => format!("{least} to {most}"),
        Goal::OursAtMost(most) => format!("fathom at most {}", figure(most)),
        Goal::OursAtLeast(least) => format!("fathom at least {}", figure(least)),
        Goal::OursWithin(least, most) => format!("fathom {least} to {most}"),
        Goal::None => "-".to_owned(),
    }
}

fn shown(spread: Option<Spread>) -> String {
    spread.map_or_else(
        || "-".to_owned(),
        |spread| {
            format!(
                "{} ({} - {})",
                figure(spread.median),
                figure(spread.least),
                figure(spread.most)
            )
        },
    )
}

/// Four significant digits, with thousands separators.
fn figure(value: f64) -> String {
    let whole = value.abs().log10().floor().max(0.0);
    if !whole.is_finite() || whole < 4.0 {
        let decimals = if value.abs() < 0.1 {
            4
        } else {
            3 - whole as usize
        };
        return format!("{value:.decimals$}");
    }
    fathom_model::format::thousands(value.abs().round_ties_even() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        let shown = [
            0.0,
            0.0123,
            0.5,
            2.71449,
            26.9,
            9_999.0,
            12_345.6,
            19_957_000.0,
        ]
        .map(figure);
        assert_eq!(
            shown,
            [
                "0.0000",
                "0.0123",
                "0.500",
                "2.714",
                "26.90",
                "9999",
                "12,346",
                "19,957,000"
            ]
        );
    }

    #[test]
    fn a_row_has_its_goal_and_whether_it_was_met() {
        let machine = Machine {
            facts: vec![("CPU", "one".into())],
        };
        let row = Row::new(
            "reads",
            "IOPS",
            (vec![8.0], vec![4.0]),
            Goal::RatioAtLeast(4.0),
        );
        let rows = [
            ("null", row),
            ("disk", Row::missing("writes", "no disk".into())),
        ];
        let page = markdown(&machine, &rows);
        assert!(page.contains("| reads | 8.000 (8.000 - 8.000) | 4.000 (4.000 - 4.000) | IOPS | 2.000 (2.000 - 2.000) | at least 4 | no |"), "{page}");
        assert!(page.contains("writes (not measured: no disk)"), "{page}");
        assert!(text(&machine, &rows).contains("goal at least 4; met no"));
    }
}
