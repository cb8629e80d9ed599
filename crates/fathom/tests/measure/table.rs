//! The results as text and as a page.

use crate::machine::describe;
use crate::scene::Judged;

const COLUMNS: [&str; 7] = [
    "scene",
    "n",
    "right",
    "wrong",
    "disturbed",
    "median",
    "verdict",
];

fn cells(judged: &Judged) -> [String; 7] {
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
    ]
}

fn aligned(cells: &[String; 7]) -> String {
    let [name, n, right, wrong, disturbed, median, verdict] = cells;
    format!("{name:<52} {n:>4} {right:>6} {wrong:>6} {disturbed:>10}  {median:<24} {verdict}")
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

/// The page docs/measurements.md.
pub fn page(all: &[Judged]) -> String {
    let mut page = format!(
        "# Measurements\n\nWritten by `cargo xtask measure --markdown docs/measurements.md`, on {}.\n\n\
         Each scene is attempted n times, alone and in order. An attempt is disturbed where the kernel tells of other load and its \
         answer is wrong or a figure, at most 5 % of all; of the others at least 95 % must be right, or the median must lie within \
         its bounds.\n\n",
        describe()
    );
    let mut row = |cells: &[String]| page += &format!("| {} |\n", cells.join(" | "));
    row(&COLUMNS.map(str::to_owned));
    row(&COLUMNS.map(|_| "---".to_owned()));
    all.iter().for_each(|judged| row(&cells(judged)));
    page
}
