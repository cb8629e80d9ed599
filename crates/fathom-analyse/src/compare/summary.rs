//! Summarises the comparison of two collections of results, such as folders of two drives.

use std::collections::BTreeMap;

use fathom_model::{ComparisonRow, Difference, LessEven, LoadSummary, Metric};

use super::ComparedRun;

/// The changes of the IOPS by pattern and depth of the jobs, each direction of a mix for itself. More IOPS of a job in
/// `less_even` are not simply better.
#[must_use]
pub fn load_summaries(
    jobs: &[ComparedRun],
    rows: &[ComparisonRow],
    less_even: &[LessEven],
) -> Vec<LoadSummary> {
    let loads: BTreeMap<&str, (String, u32)> = jobs
        .iter()
        .map(|job| (job.name.as_str(), load(job)))
        .collect();
    let mut all: BTreeMap<(String, u32), LoadSummary> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.metric == Metric::Iops) {
        let Some((pattern, depth)) = loads.get(row.job.as_str()) else {
            continue;
        };
        let pattern = if ["randrw", "rw", "readwrite"].contains(&pattern.as_str()) {
            format!("{pattern} {}", row.direction.name().to_lowercase())
        } else {
            pattern.clone()
        };
        let one = all
            .entry((pattern.clone(), *depth))
            .or_insert_with(|| LoadSummary {
                pattern,
                depth: *depth,
                change: (f64::INFINITY, f64::NEG_INFINITY),
                ..LoadSummary::default()
            });
        one.change = (one.change.0.min(row.change), one.change.1.max(row.change));
        match row.difference.filter(Difference::is_significant) {
            Some(found) if found.change > 0.0 => {
                let is_less_even = less_even
                    .iter()
                    .any(|other| other.job == row.job && other.direction == row.direction);
                *(if is_less_even {
                    &mut one.mixed
                } else {
                    &mut one.better
                }) += 1;
            }
            Some(_) => one.worse += 1,
            None if row.is_apart && row.change > 0.0 => one.better += 1,
            None if row.is_apart => one.worse += 1,
            None => one.undecided += 1,
        }
    }
    all.into_values().collect()
}

/// Pattern and queue depth of a job, with fio's defaults.
fn load(job: &ComparedRun) -> (String, u32) {
    let option = |names: &[&str]| {
        let value = names.iter().find_map(|name| job.options.get(*name))?;
        let plain = value.split(':').next().unwrap_or(value).trim();
        (!plain.is_empty()).then(|| plain.to_owned())
    };
    let depth = option(&["iodepth"]).and_then(|text| text.parse().ok());
    (
        option(&["rw", "readwrite"]).unwrap_or_else(|| "read".to_owned()),
        depth.unwrap_or(1),
    )
}

#[cfg(test)]
mod tests {
    use fathom_model::Direction;

    use super::*;

    fn job(name: &str, rw: &str, depth: &str) -> ComparedRun {
        ComparedRun {
            name: name.to_owned(),
            options: [("rw", rw), ("iodepth", depth)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..ComparedRun::default()
        }
    }

    fn row(job: &str, change: f64, p: Option<f64>) -> ComparisonRow {
        ComparisonRow {
            job: job.to_owned(),
            direction: Direction::Read,
            metric: Metric::Iops,
            before: 100.0,
            after: 100.0 * (1.0 + change),
            change,
            difference: p.map(|p| Difference {
                before: 100.0,
                after: 100.0 * (1.0 + change),
                change,
                interval: (change - 0.01, change + 0.01),
                p,
                resolution: 0.05,
            }),
            is_apart: false,
        }
    }

    /// Regression 0831: a drive with a fiftieth of the IOPS was undecided, because its results are totals.
    #[test]
    fn totals_whose_samples_are_apart_are_decided() {
        let jobs = ["a", "b", "c"].map(|name| job(name, "randread", "1"));
        let rows = [("a", -0.98, true), ("b", 0.5, true), ("c", -0.98, false)];
        let rows = rows.map(|(name, change, is_apart)| ComparisonRow {
            is_apart,
            ..row(name, change, None)
        });
        let found = &load_summaries(&jobs, &rows, &[])[0];
        assert_eq!((found.better, found.worse, found.undecided), (1, 1, 1));
    }

    /// Regression 0515: a drive with more IOPS counted as better although its rate or its tail was less even.
    #[test]
    fn more_iops_that_are_less_even_are_mixed() {
        let jobs = [job("a", "randread", "1"), job("b", "randread", "1")];
        let rows = [row("a", 0.5, Some(0.001)), row("b", 0.5, Some(0.001))];
        let uneven = LessEven {
            job: "b".to_owned(),
            direction: Direction::Read,
            deviation: Some((0.02, 0.2)),
            tail: None,
        };
        let found = load_summaries(&jobs, &rows, &[uneven]);
        assert_eq!((found[0].better, found[0].mixed, found[0].worse), (1, 1, 0));
    }

    /// Regression 0393: the comparison of two folders did not say which drive is better at what.
    #[test]
    fn results_are_counted_by_pattern_and_depth() {
        let jobs = [
            job("a", "randread", "1"),
            job("b", "randread", "1"),
            job("c", "randread", "1"),
            job("d", "randrw:4", "8"),
        ];
        let rows = [
            row("a", 0.5, Some(0.001)),
            row("b", -0.2, Some(0.001)),
            row("c", 0.9, None),
            row("d", 0.1, Some(0.5)),
        ];
        let found: Vec<_> = load_summaries(&jobs, &rows, &[])
            .into_iter()
            .map(|one| {
                (
                    one.pattern,
                    one.depth,
                    [one.better, one.worse, one.undecided],
                    one.change,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("randread".to_owned(), 1, [1, 1, 1], (-0.2, 0.9)),
                ("randrw read".to_owned(), 8, [0, 0, 1], (0.1, 0.1)),
            ]
        );
    }
}
