//! The summary of the comparison of two collections of results, such as the folders of two drives.

use fathom_model::{CollectionSummary, LoadSummary};

use crate::Style;
use crate::output::wrap;
use crate::tree::{Object, Tree};

/// The meaning of the columns.
const MEANING: &str = "Results with significantly more IOPS are better, with significantly fewer worse. Mixed: more IOPS, but a \
                       less even rate or a longer tail. Totals without intervals are better or worse if the rates differ by more than \
                       twice the standard deviations of their samples. Undecided: all others (intervals are in logs of fio and in json+ of fathom).";

/// The counts of each load as a table, and their sums.
pub(crate) fn text(summary: &CollectionSummary, style: &Style) -> String {
    let mut text = wrap(&style.clean(&title(summary)), style.width, "", "  ");
    let width = summary
        .loads
        .iter()
        .map(|load| load.pattern.len())
        .chain([7])
        .max()
        .unwrap_or(7);
    text += &format!(
        "  {:<width$} {:>5} {:>6} {:>6} {:>6} {:>9}  change\n",
        "pattern", "depth", "better", "mixed", "worse", "undecided"
    );
    for load in &summary.loads {
        text += &format!(
            "  {:<width$} {:>5} {:>6} {:>6} {:>6} {:>9}  {}\n",
            style.clean(&load.pattern),
            load.depth,
            load.better,
            load.mixed,
            load.worse,
            load.undecided,
            change(load)
        );
    }
    let [better, mixed, worse, undecided] = sums(&summary.loads);
    text += &format!(
        "  {:<width$} {:>5} {better:>6} {mixed:>6} {worse:>6} {undecided:>9}\n",
        "all", ""
    );
    text
}

/// The meaning of the columns, once below all summaries.
pub(crate) fn meaning(style: &Style) -> String {
    wrap(MEANING, style.width, "", "")
}

/// The same in Markdown; `cell` escapes a text.
pub(crate) fn markdown(summary: &CollectionSummary, cell: &dyn Fn(&str) -> String) -> String {
    let mut text = format!(
        "{}\n\n| pattern | depth | better | mixed | worse | undecided | change |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
        cell(&title(summary))
    );
    for load in &summary.loads {
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            cell(&load.pattern),
            load.depth,
            load.better,
            load.mixed,
            load.worse,
            load.undecided,
            change(load)
        );
    }
    let [better, mixed, worse, undecided] = sums(&summary.loads);
    text + &format!("| all | | {better} | {mixed} | {worse} | {undecided} | |\n\n{MEANING}\n\n")
}

/// The same as JSON. Shares are fractions.
pub(crate) fn json(summary: &CollectionSummary) -> Object {
    let loads = summary.loads.iter().map(|load| {
        Object::new()
            .with("pattern", &load.pattern)
            .with("depth", load.depth)
            .with("better", load.better as u64)
            .with("mixed", load.mixed as u64)
            .with("worse", load.worse as u64)
            .with("undecided", load.undecided as u64)
            .with("change", Tree::from_iter([load.change.0, load.change.1]))
    });
    Object::new()
        .with("before", &summary.names.0)
        .with("after", &summary.names.1)
        .with("iops", loads.collect::<Tree>())
}

fn title(summary: &CollectionSummary) -> String {
    let (before, after) = &summary.names;
    format!("IOPS of {after} compared with {before}:")
}

fn sums(loads: &[LoadSummary]) -> [usize; 4] {
    loads
        .iter()
        .fold([0; 4], |[better, mixed, worse, undecided], load| {
            [
                better + load.better,
                mixed + load.mixed,
                worse + load.worse,
                undecided + load.undecided,
            ]
        })
}

fn change(load: &LoadSummary) -> String {
    let percent = |share: f64| format!("{:+.1} %", 100.0 * share);
    if load.change.0 == load.change.1 {
        percent(load.change.0)
    } else {
        format!("{} to {}", percent(load.change.0), percent(load.change.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_the_drives_and_counts_results() {
        let load = |depth, counts: [usize; 3], change| LoadSummary {
            pattern: "randread".to_owned(),
            depth,
            better: counts[0],
            mixed: 0,
            worse: counts[1],
            undecided: counts[2],
            change,
        };
        let summary = CollectionSummary {
            names: ("old (sda)".to_owned(), "new (sdb)".to_owned()),
            loads: vec![
                load(1, [3, 1, 0], (-0.125, 3.4)),
                load(16, [0, 0, 1], (0.5, 0.5)),
            ],
        };
        let plain = text(&summary, &Style::default());
        assert!(
            plain.starts_with(
                "IOPS of new (sdb) compared with old (sda):\n  pattern  depth better  mixed  worse undecided  change\n  randread     1      3      0      1         0  -12.5 % to +340.0 %\n  randread    16      0      0      0         1  +50.0 %\n  all                 3      0      1         1\n"
            ),
            "{plain}"
        );
        let marked = markdown(&summary, &str::to_owned);
        assert!(
            marked.contains("| randread | 1 | 3 | 0 | 1 | 0 | -12.5 % to +340.0 % |\n")
                && marked.contains("| all | | 3 | 0 | 1 | 1 | |\n"),
            "{marked}"
        );
    }
}
