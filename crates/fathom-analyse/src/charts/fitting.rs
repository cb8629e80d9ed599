//! Which charts fit some results.

use std::collections::BTreeSet;

use fathom_model::{ChartOptions, JobFigures};

use super::{CHARTS, chart, fit};

/// The names of the charts that these cells have the data for, the one that shows best what was
/// varied first.
#[must_use]
pub fn fitting_charts(cells: &[JobFigures], options: &ChartOptions) -> Vec<&'static str> {
    let chosen: Vec<&JobFigures> = cells.iter().filter(|cell| options.matches(cell)).collect();
    let can_draw = |name: &&'static str| match *name {
        "fit" => fit::is_possible(cells, options),
        name => chart(name, cells, options).is_ok(),
    };
    let mut all: Vec<&'static str> = wanted(&chosen).into_iter().filter(can_draw).collect();
    for kind in CHARTS {
        // These two need a choice of axes or a data sheet.
        let is_special = ["xy", "spec"].contains(&kind.name);
        if !all.contains(&kind.name)
            && !is_special
            && shows_several(kind.name, &chosen)
            && can_draw(&kind.name)
        {
            all.push(kind.name);
        }
    }
    all
}

fn distinct<T: Ord>(chosen: &[&JobFigures], value: impl Fn(&JobFigures) -> Option<T>) -> usize {
    let values: BTreeSet<T> = chosen.iter().filter_map(|cell| value(cell)).collect();
    values.len()
}

/// Whether the quantity on the x axis of a chart has several values.
fn shows_several(name: &str, chosen: &[&JobFigures]) -> bool {
    let depths = distinct(chosen, |cell| cell.depth);
    let jobs = distinct(chosen, |cell| cell.jobs);
    match name {
        "depth" => depths > 1,
        "jobs" => jobs > 1,
        "block" => distinct(chosen, |cell| cell.block) > 1,
        "heat" | "3d" => depths > 1 && jobs > 1,
        "compare" | "cpu" => chosen.len() > 1,
        _ => true,
    }
}

/// The charts of what was varied, the most telling first.
fn wanted(chosen: &[&JobFigures]) -> Vec<&'static str> {
    let rates = distinct(chosen, |cell| cell.offered.map(f64::to_bits));
    let rules = [
        (rates > 1, "load"),
        (distinct(chosen, |cell| cell.offset) > 1, "space"),
        (distinct(chosen, |cell| cell.mix) > 1, "interference"),
        (distinct(chosen, |cell| cell.block) > 2, "block"),
        (shows_several("depth", chosen), "depth"),
        (shows_several("jobs", chosen), "jobs"),
        (chosen.iter().any(|cell| cell.series.len() > 1), "time"),
        (shows_several("compare", chosen), "compare"),
        (true, "percentiles"),
    ];
    rules
        .into_iter()
        .filter_map(|(applies, name)| applies.then_some(name))
        .collect()
}
