//! The results as text and as a page.

use crate::machine::{commit, describe};
use crate::scene::Judged;

const COLUMNS: [&str; 8] = [
    "scene",
    "n",
    "right",
    "wrong",
    "disturbed",
    "median",
    "verdict",
    "commit",
];

fn cells(judged: &Judged) -> [String; 8] {
    let median = judged.median.map_or(String::new(), |(median, from, to)| {
        format!("{median:.3} of {from} to {to}")
    });
    [
        judged.name.to_owned(),
        judged.attempts.to_string(),
        judged.right.to_string(),
        judged.wrong.to_string(),
        judged.disturbed.to_string(),
        median,
        judged.verdict().to_owned(),
        commit(),
    ]
}

fn aligned(cells: &[String; 8]) -> String {
    let [name, n, right, wrong, disturbed, median, verdict, commit] = cells;
    format!(
        "{name:<52} {n:>4} {right:>6} {wrong:>6} {disturbed:>10}  {median:<24} {verdict:<10} {commit}"
    )
}

/// One scene.
pub fn line(judged: &Judged) -> String {
    aligned(&cells(judged))
}

/// All scenes, with a heading.
pub fn text(all: &[Judged]) -> String {
    let mut lines = vec![describe(), aligned(&COLUMNS.map(str::to_owned))];
    lines.extend(all.iter().map(line));
    lines.join("\n")
}

/// The page docs/measurements.md: the scenes of `order` that were measured now or, on the same machine, for the page `before`.
pub fn page(all: &[Judged], order: &[&str], before: &str) -> String {
    let machine = format!("on {}.", describe());
    let mut page = format!(
        "# Measurements\n\nWritten by `cargo xtask measure --markdown docs/measurements.md`, {machine}\n\n\
         Each scene is attempted n times, alone and in order. What the kernel says about other load decides whether an attempt was \
         disturbed; of the others at least 95 % must be right, or the median must lie within its bounds.\n\n"
    );
    let row = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let is_same_machine = before.contains(&machine);
    let measured = |name: &&str| {
        if let Some(judged) = all.iter().find(|judged| judged.name == *name) {
            return Some(row(&cells(judged)));
        }
        let start = format!("| {name} | ");
        let mut kept = before.lines().filter(|_| is_same_machine);
        kept.find(|line| line.starts_with(&start))
            .map(str::to_owned)
    };
    let heading = [
        row(&COLUMNS.map(str::to_owned)),
        row(&COLUMNS.map(|_| "---".to_owned())),
    ];
    let rows = heading.into_iter().chain(order.iter().filter_map(measured));
    for row in rows {
        page += &row;
        page.push('\n');
    }
    page
}
