//! The table of key figures, and the table of all figures.

use fathom_model::{Dimension, DirectionFigures, JobFigures, ReportCell, ReportRows, ReportTable};

use super::workload::{Kind, descriptions, loads};
pub(super) use crate::figures::latency;
use crate::figures::{bytes, rate};

/// With more jobs each load is represented by its shallowest, its best and its deepest one.
const MAX_ROWS: usize = 16;
/// Loads of a table.
const MAX_LOADS: usize = 8;

/// Three significant digits.
pub(super) fn significant(value: f64) -> String {
    match value {
        _ if value >= 100.0 => rate(value.round()),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Megabytes per second, without the unit.
pub(super) fn megabytes(bytes_per_second: f64) -> String {
    significant(bytes_per_second / 1e6)
}

/// The latency that most of the jobs have.
pub(super) fn main_latency(jobs: &[&JobFigures]) -> &'static str {
    let mut names: Vec<(&'static str, usize)> = Vec::new();
    for job in jobs.iter().filter(|job| !job.latency_name.is_empty()) {
        match names.iter_mut().find(|(name, _)| *name == job.latency_name) {
            Some((_, n)) => *n += 1,
            None => names.push((job.latency_name, 1)),
        }
    }
    let most = names.iter().max_by_key(|(_, n)| *n);
    most.map_or("", |(name, _)| name)
}

/// The latency columns that any job has.
fn columns(jobs: &[&JobFigures]) -> Vec<(&'static str, Dimension)> {
    let percentiles = [
        ("Median", Dimension::Percentile(50.0)),
        ("p99", Dimension::Percentile(99.0)),
        ("p99.9", Dimension::Percentile(99.9)),
    ];
    let has = |dimension: Dimension| {
        jobs.iter().any(|job| {
            job.directions
                .iter()
                .any(|one| dimension.of(job, Some(one.direction)).is_some())
        })
    };
    let mut columns: Vec<(&str, Dimension)> = percentiles
        .into_iter()
        .filter(|(_, one)| has(*one))
        .collect();
    if !columns.iter().any(|(name, _)| *name == "Median") && has(Dimension::Mean) {
        columns.insert(0, ("Mean", Dimension::Mean));
    }
    columns
}

/// The key figures of the jobs of one device, and whether some jobs were left out.
pub(super) fn key_figures(jobs: &[&JobFigures]) -> (ReportTable, bool) {
    let loads = loads(jobs);
    let is_short = jobs.len() > MAX_ROWS;
    let chosen: Vec<&JobFigures> = if is_short {
        loads
            .iter()
            .take(MAX_LOADS)
            .flat_map(super::workload::Load::extract)
            .collect()
    } else {
        jobs.to_vec()
    };
    let main = main_latency(&chosen);
    let columns = columns(&chosen);
    let names = descriptions(&chosen);
    let mut groups: Vec<(Kind, &str, ReportRows)> = Vec::new();
    for (job, name) in chosen.iter().zip(&names) {
        let kind = Kind::of(job);
        let other = if job.latency_name == main {
            ""
        } else {
            job.latency_name
        };
        let rows = job
            .directions
            .iter()
            .map(|one| row(job, one, name, &columns));
        match groups
            .iter_mut()
            .find(|(known, latency, _)| (*known, *latency) == (kind, other))
        {
            Some((_, _, group)) => group.rows.extend(rows),
            None => groups.push((
                kind,
                other,
                ReportRows {
                    name: if other.is_empty() {
                        kind.title().to_owned()
                    } else {
                        format!("{} ({other})", kind.title())
                    },
                    rows: rows.collect(),
                },
            )),
        }
    }
    groups.sort_by_key(|(kind, ..)| Kind::ALL.iter().position(|known| known == kind));
    let mut head = vec!["Workload".to_owned(), "IOPS".to_owned(), "MB/s".to_owned()];
    head.extend(columns.iter().map(|(name, _)| (*name).to_owned()));
    let caption = if main.is_empty() || columns.is_empty() {
        "Key figures".to_owned()
    } else {
        format!("Key figures. Latency: {main}.")
    };
    let table = ReportTable {
        caption,
        head,
        groups: groups.into_iter().map(|(.., group)| group).collect(),
    };
    (table, chosen.len() < jobs.len())
}

fn row(
    job: &JobFigures,
    one: &DirectionFigures,
    name: &str,
    columns: &[(&str, Dimension)],
) -> Vec<ReportCell> {
    let name = if job.directions.len() > 1 {
        format!("{name}: {}s", one.direction.name())
    } else {
        name.to_owned()
    };
    let mut cells: Vec<ReportCell> = vec![
        name.into(),
        rate(one.iops).into(),
        megabytes(one.bandwidth).into(),
    ];
    cells.extend(columns.iter().map(|(_, dimension)| {
        dimension
            .of(job, Some(one.direction))
            .map_or_else(|| "–".to_owned(), latency)
            .into()
    }));
    cells
}

/// The figures of every job. Columns without any value are left out.
pub(super) fn all_figures(jobs: &[&JobFigures]) -> ReportTable {
    const HEAD: [&str; 14] = [
        "Result",
        "Job",
        "Pattern",
        "Block",
        "Depth",
        "Jobs",
        "Direction",
        "IOPS",
        "MB/s",
        "Mean",
        "p50",
        "p99",
        "p99.9",
        "Maximum",
    ];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for job in jobs {
        for one in &job.directions {
            let latency = |dimension: Dimension| {
                dimension
                    .of(job, Some(one.direction))
                    .map_or_else(|| "–".to_owned(), latency)
            };
            let number = |value: Option<u32>| {
                value.map_or_else(|| "–".to_owned(), |value| value.to_string())
            };
            rows.push(vec![
                job.source.clone(),
                job.name.clone(),
                job.rw.clone(),
                job.block.map_or_else(|| "–".to_owned(), bytes),
                number(job.depth),
                number(job.jobs),
                one.direction.name().to_owned(),
                rate(one.iops),
                megabytes(one.bandwidth),
                latency(Dimension::Mean),
                latency(Dimension::Percentile(50.0)),
                latency(Dimension::Percentile(99.0)),
                latency(Dimension::Percentile(99.9)),
                latency(Dimension::Max),
            ]);
        }
    }
    // The columns from the job to the bandwidth are always there.
    let is_used = |at: usize| match at {
        0 => rows.iter().any(|row| !row[0].is_empty()),
        1..=8 => true,
        _ => rows.iter().any(|row| row[at] != "–"),
    };
    let used: Vec<usize> = (0..HEAD.len()).filter(|at| is_used(*at)).collect();
    let main = main_latency(jobs);
    ReportTable {
        caption: if main.is_empty() {
            "All figures".to_owned()
        } else {
            format!("All figures. Latency: {main}, or as the table of key figures names it.")
        },
        head: used.iter().map(|at| HEAD[*at].to_owned()).collect(),
        groups: vec![ReportRows {
            name: String::new(),
            rows: rows
                .iter()
                .map(|row| used.iter().map(|at| row[*at].clone().into()).collect())
                .collect(),
        }],
    }
}
