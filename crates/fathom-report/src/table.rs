//! Stored cells as a table: a row for each cell, a column for each axis and metric that any cell has. CSV and Parquet
//! have the same columns.

use std::collections::HashSet;

use fathom_model::format::printable;
use fathom_model::{Run, StoredCell};

/// The values of a column, row by row; `None` if a cell lacks the axis or metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    /// Strings.
    Texts(Vec<Option<String>>),
    /// Whole numbers.
    Counts(Vec<u64>),
    /// Metrics in base units: 1/s, B/s, s.
    Figures(Vec<Option<f64>>),
}

/// A column with a unique name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
}

/// The columns of all cells of `runs`, in their order.
pub(crate) fn columns(runs: &[(Run, Vec<StoredCell>)]) -> Vec<Column> {
    let rows: Vec<(&Run, &StoredCell)> = runs
        .iter()
        .flat_map(|(run, cells)| cells.iter().map(move |cell| (run, cell)))
        .collect();
    let text = |name: &str, of: &dyn Fn(&Run, &StoredCell) -> String| {
        column(
            name,
            texts(rows.iter().map(|(run, cell)| Some(of(run, cell)))),
        )
    };
    let count = |name: &str, of: &dyn Fn(&StoredCell) -> u64| {
        column(
            name,
            Values::Counts(rows.iter().map(|(_, cell)| of(cell)).collect()),
        )
    };
    let mut all = vec![
        text("run", &|run, _| run.id.to_string()),
        count("cell", &|cell| cell.position),
        text("kind", &|run, _| run.experiment.kind.clone()),
        text("name", &|run, _| run.experiment.name.clone()),
        text("state", &|_, cell| cell.state.name().to_owned()),
        text("verdict", &|_, cell| cell.verdict.clone()),
        count("started_unix_ns", &|cell| cell.started_unix_ns),
        count("elapsed_ns", &|cell| cell.elapsed_ns),
    ];
    if runs
        .iter()
        .any(|(run, _)| run.experiment.simulated().is_some())
    {
        all.push(text("simulated", &|run, _| {
            let simulated = run.experiment.simulated();
            simulated.map_or(String::new(), |one| {
                format!("{} (seed {})", one.device, one.seed)
            })
        }));
    }
    let axes = names(rows.iter().flat_map(|(_, cell)| &cell.axes));
    all.extend(axes.iter().map(|name| {
        column(
            name,
            texts(
                rows.iter()
                    .map(|(_, cell)| value(&cell.axes, name).cloned()),
            ),
        )
    }));
    let figures = names(rows.iter().flat_map(|(_, cell)| &cell.figures));
    all.extend(figures.iter().map(|name| {
        column(
            name,
            Values::Figures(
                rows.iter()
                    .map(|(_, cell)| value(&cell.figures, name).copied())
                    .collect(),
            ),
        )
    }));
    all.push(text("findings", &|_, cell| {
        cell.findings
            .iter()
            .map(|found| found.code.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }));
    with_unique_names(all)
}

/// Texts from outside: what a reader would act on or not see is escaped.
fn texts(all: impl Iterator<Item = Option<String>>) -> Values {
    Values::Texts(
        all.map(|text| text.map(|text| printable(&text).into_owned()))
            .collect(),
    )
}

fn column(name: &str, values: Values) -> Column {
    Column {
        name: printable(name).into_owned(),
        values,
    }
}

/// Makes names unique, since an axis may have the name of a fixed column: the second is `name #2`.
fn with_unique_names(mut all: Vec<Column>) -> Vec<Column> {
    let mut seen = HashSet::new();
    for column in &mut all {
        let plain = column.name.clone();
        let mut n = 1;
        while !seen.insert(column.name.clone()) {
            n += 1;
            column.name = format!("{plain} #{n}");
        }
    }
    all
}

/// The names of pairs without duplicates, in order of first occurrence.
pub(crate) fn names<'a, T: 'a>(pairs: impl Iterator<Item = &'a (String, T)>) -> Vec<String> {
    let mut seen = HashSet::new();
    pairs
        .map(|(name, _)| name)
        .filter(|name| seen.insert(name.as_str()))
        .cloned()
        .collect()
}

/// The value of a pair by its name.
pub(crate) fn value<'a, T>(pairs: &'a [(String, T)], name: &str) -> Option<&'a T> {
    pairs
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_columns_share_a_name() {
        let cell = |position| StoredCell {
            position,
            axes: vec![
                ("cell".into(), "layout".into()),
                ("name #2".into(), "x".into()),
                ("name".into(), "y".into()),
            ],
            ..StoredCell::default()
        };
        let run = Run {
            id: fathom_model::RunId::new(1),
            experiment: fathom_model::Experiment::default(),
            state: fathom_model::RunState::Finished,
            ended_unix_ns: None,
            cells: 2,
            finished: 2,
        };
        let names: Vec<String> = columns(&[(run, vec![cell(1), cell(2)])])
            .into_iter()
            .map(|column| column.name)
            .collect();
        assert_eq!(names[8..11], ["cell #2", "name #2", "name #3"]);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }
}
