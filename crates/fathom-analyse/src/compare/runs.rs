//! Compares two results, job by job and figure by figure.

use std::collections::BTreeMap;
use std::str::FromStr;

use fathom_model::{
    Comparison, ComparisonRow, Direction, Gate, GateOutcome, Metric, OptionDifference,
};

use super::costs::{Costs, explanation, explanations};
use super::difference;
use super::evenness::less_even;
use super::repeats::repeated;

/// One figure of one direction of a job, for the whole run and over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Direction of the I/O.
    pub direction: Direction,
    /// Its metric.
    pub metric: Metric,
    /// Over the whole run.
    pub value: f64,
    /// In each full interval of the run, in order; empty if the result has no intervals.
    pub series: Vec<f64>,
    /// Standard deviation of the samples over time as a share of their mean, of a rate.
    pub spread: Option<f64>,
}

/// One job of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedRun {
    /// Its name.
    pub name: String,
    /// Its options by name, including those of the global section, as written.
    pub options: BTreeMap<String, String>,
    /// Length of the intervals of its series, seconds; 0 without intervals.
    pub interval_s: f64,
    /// The measured figures.
    pub figures: Vec<Figure>,
    /// What its transactions cost, of a database.
    pub costs: Option<Costs>,
}

impl ComparedRun {
    /// Pattern, block size, queue depth and number of jobs, as written or fio's defaults; `None` where the result does not have
    /// the options.
    fn load(&self) -> Option<[&str; 4]> {
        let option = |names: [&str; 2], default| {
            let mut given = names.iter().filter_map(|name| self.options.get(*name));
            given.next().map_or(default, String::as_str)
        };
        let pattern = option(["rw", "readwrite"], "");
        (!pattern.is_empty()).then(|| {
            [
                pattern,
                option(["bs", "blocksize"], "4k"),
                option(["iodepth", "iodepth"], "1"),
                option(["numjobs", "numjobs"], "1"),
            ]
        })
    }
}

/// Options that select the target or the report and do not change the load. Two devices may be
/// compared.
const IGNORED_OPTIONS: [&str; 22] = [
    "randseed",
    "name",
    "filename",
    "directory",
    "description",
    "filename_format",
    "output",
    "unlink",
    "bwavgtime",
    "iopsavgtime",
    "log_avg_msec",
    "log_hist_msec",
    "log_hist_coarseness",
    "log_max_value",
    "log_window_value",
    "log_offset",
    "log_prio",
    "log_unix_epoch",
    "log_store_compressed",
    "per_job_logs",
    "percentile_list",
    "eta",
];

/// Compares two results. Jobs are paired by pattern, block size, queue depth and number of jobs, or else by name.
#[must_use]
pub fn compare(before: &[ComparedRun], after: &[ComparedRun]) -> Comparison {
    let mut comparison = Comparison::default();
    let pairs = pairs(before, after);
    for (job, other) in before.iter().zip(&pairs) {
        match other {
            Some(other) => {
                let other_name = &after[*other].name;
                if *other_name != job.name {
                    let names = (job.name.clone(), other_name.clone());
                    comparison.renamed_jobs.push(names);
                }
                comparison
                    .option_differences
                    .extend(unlike(job, &after[*other]));
                let rows = rows(job, &after[*other]);
                comparison
                    .explanations
                    .extend(explanation(&[job], &[&after[*other]], &rows));
                comparison.rows.extend(rows);
            }
            None => comparison.unmatched_jobs.push(job.name.clone()),
        }
    }
    let unknown = (0..after.len()).filter(|n| !pairs.contains(&Some(*n)));
    comparison
        .unmatched_jobs
        .extend(unknown.map(|n| after[n].name.clone()));
    comparison.less_even = less_even(before, after, &comparison.rows);
    comparison
}

/// For each job of `before` its counterpart in `after`: the job with the same pattern, block size, queue depth and number of
/// jobs, because the same measurement of two devices may have other names. Of several jobs with the same load, those
/// with the same name belong together, and a single rest on both sides. Jobs without such a counterpart are paired by
/// name: their plans differ.
pub(super) fn pairs(before: &[ComparedRun], after: &[ComparedRun]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; before.len()];
    let mut free = vec![true; after.len()];
    let mut pair = |n: usize, other: usize, free: &mut Vec<bool>| {
        pairs[n] = Some(other);
        free[other] = false;
    };
    let same_load = |job: &ComparedRun, free: &[bool]| -> Vec<usize> {
        let load = job.load();
        let alike = |n: &usize| free[*n] && load.is_some() && after[*n].load() == load;
        (0..after.len()).filter(alike).collect()
    };
    let mut rest: Vec<usize> = Vec::new();
    for (n, job) in before.iter().enumerate() {
        let named = |other: &usize| after[*other].name == job.name;
        match same_load(job, &free).into_iter().find(named) {
            Some(other) => pair(n, other, &mut free),
            None => rest.push(n),
        }
    }
    let mut unpaired: Vec<usize> = Vec::new();
    for &n in &rest {
        let twins = rest
            .iter()
            .filter(|other| before[**other].load() == before[n].load());
        match (twins.count(), same_load(&before[n], &free).as_slice()) {
            (1, [other]) => pair(n, *other, &mut free),
            _ => unpaired.push(n),
        }
    }
    for n in unpaired {
        let other =
            (0..after.len()).find(|other| free[*other] && after[*other].name == before[n].name);
        if let Some(other) = other {
            pair(n, other, &mut free);
        }
    }
    pairs
}

/// Compares two groups of repeated runs. With more than one run on a side, the variation between
/// runs decides.
#[must_use]
pub fn compare_repeats(before: &[Vec<ComparedRun>], after: &[Vec<ComparedRun>]) -> Comparison {
    let (Some(first), Some(second)) = (before.first(), after.first()) else {
        return Comparison::default();
    };
    let mut comparison = compare(first, second);
    if before.len() + after.len() == 2 {
        return comparison;
    }
    comparison.repeats = Some((before.len(), after.len()));
    // Every run must have the options of the first, on its own side too.
    for other in before.iter().skip(1).chain(after.iter().skip(1)) {
        let more = compare(first, other);
        comparison.unmatched_jobs.extend(more.unmatched_jobs);
        comparison
            .option_differences
            .extend(more.option_differences);
    }
    comparison.unmatched_jobs.sort_unstable();
    comparison.unmatched_jobs.dedup();
    let mut seen = Vec::new();
    comparison.option_differences.retain(|one| {
        !seen.contains(one) && {
            seen.push(one.clone());
            true
        }
    });
    for row in &mut comparison.rows {
        let values = |runs: &[Vec<ComparedRun>]| {
            runs.iter()
                .filter_map(|run| value(first, run, row))
                .collect::<Vec<f64>>()
        };
        let (old, new) = (values(before), values(after));
        row.difference = repeated(&old, &new);
        (row.before, row.after) = (geometric_mean(&old), geometric_mean(&new));
        row.change = row.after / row.before - 1.0;
    }
    comparison.explanations = explanations(before, after, &comparison.rows);
    // The deviations are those of the first runs; the tails are those of all.
    comparison.less_even = less_even(first, second, &comparison.rows);
    comparison
}

/// The figure of `row`, which has the names of `first`, in another run.
fn value(first: &[ComparedRun], run: &[ComparedRun], row: &ComparisonRow) -> Option<f64> {
    let place = first.iter().position(|job| job.name == row.job)?;
    let job = &run[pairs(first, run)[place]?];
    let figure = job
        .figures
        .iter()
        .find(|figure| figure.metric == row.metric && figure.direction == row.direction)?;
    Some(figure.value).filter(|value| *value > 0.0)
}

/// The geometric mean.
fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len().max(1) as f64).exp()
}

fn unlike(before: &ComparedRun, after: &ComparedRun) -> Vec<OptionDifference> {
    let mut names: Vec<&String> = before.options.keys().chain(after.options.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let matters =
        |name: &&String| !IGNORED_OPTIONS.contains(&name.as_str()) && !name.ends_with("_log");
    let differ = names.into_iter().filter(matters).filter_map(|name| {
        let values = (
            before.options.get(name).cloned(),
            after.options.get(name).cloned(),
        );
        (values.0 != values.1).then(|| OptionDifference {
            job: before.name.clone(),
            option: name.clone(),
            values,
        })
    });
    differ.collect()
}

fn rows(before: &ComparedRun, after: &ComparedRun) -> Vec<ComparisonRow> {
    let row = |figure: &Figure| {
        let other = after
            .figures
            .iter()
            .find(|other| other.metric == figure.metric && other.direction == figure.direction)?;
        (figure.value > 0.0).then(|| ComparisonRow {
            job: before.name.clone(),
            direction: figure.direction,
            metric: figure.metric,
            before: figure.value,
            after: other.value,
            change: other.value / figure.value - 1.0,
            difference: difference(&figure.series, &other.series),
            is_apart: figure
                .spread
                .zip(other.spread)
                .is_some_and(|spreads| is_apart(figure.value, other.value, spreads)),
        })
    };
    before.figures.iter().filter_map(row).collect()
}

/// Whether two rates differ by more than twice the standard deviations of their samples together. The samples of a run are
/// not independent, so that the error of its mean is not known: this asks for far more than a difference of the means.
fn is_apart(before: f64, after: f64, (one, other): (f64, f64)) -> bool {
    (before - after).abs() > 2.0 * (before * one + after * other)
}

/// How much a figure may change before a build fails: `p99:+5%`, `iops:-3%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The metric.
    pub metric: Metric,
    /// The largest allowed change, as a share; its sign is the direction.
    pub share: f64,
}

/// An invalid limit of a change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid limit '{}'; use one such as p99:+5% or iops:-3%", text.escape_debug())]
pub struct InvalidLimit {
    /// The text of the limit.
    text: String,
}

impl FromStr for Limit {
    type Err = InvalidLimit;

    fn from_str(text: &str) -> Result<Limit, InvalidLimit> {
        let invalid = || InvalidLimit {
            text: text.to_owned(),
        };
        let (metric, change) = text.split_once(':').ok_or_else(invalid)?;
        let metric = metric.parse().map_err(|()| invalid())?;
        let percent: f64 = change
            .trim_end_matches('%')
            .parse()
            .map_err(|_| invalid())?;
        let signed = change.starts_with(['+', '-']);
        if signed && percent.is_finite() {
            Ok(Limit {
                metric,
                share: percent / 100.0,
            })
        } else {
            Err(invalid())
        }
    }
}

impl Limit {
    /// The outcome for `row`; `None` if it is another metric.
    ///
    /// FAIL needs a significant change beyond the limit. Change, test and confidence interval are of the same statistic: the
    /// median interval, or the repeats. PASS needs that change, its interval and the change of the whole run within the limit.
    /// Totals without intervals or repeats show neither.
    #[must_use]
    pub fn outcome(&self, row: &ComparisonRow) -> Option<GateOutcome> {
        if row.metric != self.metric {
            return None;
        }
        let is_beyond = |change: f64| {
            if self.share.is_sign_negative() {
                change < self.share
            } else {
                change > self.share
            }
        };
        let Some(difference) = row.difference else {
            return Some(GateOutcome::Inconclusive);
        };
        let (low, high) = difference.interval;
        Some(
            if is_beyond(difference.change) && difference.is_significant() {
                GateOutcome::Fail
            } else if [row.change, difference.change, low, high]
                .into_iter()
                .any(is_beyond)
            {
                GateOutcome::Inconclusive
            } else {
                GateOutcome::Pass
            },
        )
    }

    /// The gate of `row`; `text` is the limit as it was written.
    #[must_use]
    pub fn gate(&self, text: &str, row: &ComparisonRow) -> Option<Gate> {
        Some(Gate {
            outcome: self.outcome(row)?,
            limit: text.to_owned(),
            allowed: self.share,
            row: row.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Noise;
    use super::*;

    fn job(name: &str, iops: f64, options: &[(&str, &str)]) -> ComparedRun {
        let series = Noise(iops.to_bits()).series(60, iops, iops * 0.02, 0.2);
        let figure = Figure {
            direction: Direction::Read,
            metric: Metric::Iops,
            value: iops,
            series,
            spread: None,
        };
        let options = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        ComparedRun {
            name: name.to_owned(),
            options,
            interval_s: 1.0,
            figures: vec![figure],
            costs: None,
        }
    }

    #[test]
    fn jobs_are_matched_by_name_and_options_are_compared() {
        let before = [
            job(
                "a",
                1000.0,
                &[("bs", "4k"), ("filename", "x"), ("log_avg_msec", "200")],
            ),
            job("gone", 1.0, &[]),
        ];
        let after = [
            job("new", 1.0, &[]),
            job(
                "a",
                900.0,
                &[("bs", "8k"), ("filename", "y"), ("direct", "1")],
            ),
        ];
        let found = compare(&before, &after);
        assert_eq!(found.unmatched_jobs, ["gone", "new"]);
        let options: Vec<&str> = found
            .option_differences
            .iter()
            .map(|unlike| unlike.option.as_str())
            .collect();
        assert_eq!(
            options,
            ["bs", "direct"],
            "another file or log is not another plan"
        );
        let [row] = found.rows.as_slice() else {
            panic!("{found:?}")
        };
        assert!(
            (row.change + 0.1).abs() < 1e-12 && row.difference.expect("a series").is_significant()
        );
    }

    #[test]
    fn runs_that_differ_among_themselves_prove_little() {
        let group = |rates: &[f64]| {
            rates
                .iter()
                .map(|rate| vec![job("a", *rate, &[("bs", "4k")])])
                .collect::<Vec<_>>()
        };
        let noisy = compare_repeats(
            &group(&[1000.0, 900.0, 1100.0]),
            &group(&[950.0, 1050.0, 850.0]),
        )
        .rows
        .remove(0);
        assert!(
            !noisy.difference.expect("six runs").is_significant(),
            "{noisy:?}"
        );
        // The two first runs alone, each steady, would differ.
        assert!(
            compare(&group(&[1000.0])[0], &group(&[950.0])[0]).rows[0]
                .difference
                .expect("a series")
                .is_significant()
        );
        let steady = compare_repeats(&group(&[1000.0, 1001.0, 999.0]), &group(&[950.0, 951.0]));
        assert!(
            steady.rows[0]
                .difference
                .expect("five runs")
                .is_significant()
                && steady.repeats == Some((3, 2))
        );
        assert!((steady.rows[0].change + 0.0495).abs() < 0.001, "{steady:?}");
        let odd = [
            group(&[1.0]).remove(0),
            vec![job("a", 1.0, &[("bs", "8k")])],
        ];
        assert_eq!(
            compare_repeats(&odd, &group(&[1.0]))
                .option_differences
                .len(),
            1,
            "also on one side"
        );
    }

    #[test]
    fn limits_are_read_and_kept() {
        let row = compare(&[job("a", 1000.0, &[])], &[job("a", 900.0, &[])])
            .rows
            .remove(0);
        for (limit, outcome) in [
            ("iops:-5%", Some(GateOutcome::Fail)),
            ("iops:-15%", Some(GateOutcome::Pass)),
            ("iops:+5%", Some(GateOutcome::Pass)),
            ("p99:-5%", None),
            ("iops:-0%", Some(GateOutcome::Fail)),
        ] {
            assert_eq!(
                limit.parse::<Limit>().expect(limit).outcome(&row),
                outcome,
                "{limit}"
            );
        }
        for wrong in [
            "iops",
            "iops:5%",
            "speed:-5%",
            "p101:+5%",
            "iops:-x%",
            "iops:+inf%",
        ] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_change_that_may_be_chance_does_not_break_a_limit() {
        let mut before = job("a", 1000.0, &[]);
        let mut after = job("a", 940.0, &[]);
        before.figures[0].series = Noise(1).series(60, 1000.0, 300.0, 0.5);
        after.figures[0].series = Noise(2).series(60, 1000.0, 300.0, 0.5);
        let row = compare(&[before], &[after]).rows.remove(0);
        let outcome = |limit: &str, row: &ComparisonRow| {
            limit.parse::<Limit>().expect("a limit").outcome(row)
        };
        assert_eq!(
            outcome("iops:-5%", &row),
            Some(GateOutcome::Inconclusive),
            "{row:?}"
        );
        // The interval lies within a wide limit.
        let low = row.difference.expect("long enough").interval.0;
        let wide = format!("iops:{:.1}%", 100.0 * low - 1.0);
        assert_eq!(outcome(&wide, &row), Some(GateOutcome::Pass), "{row:?}");
        // Totals alone show nothing, however large the change is.
        let totals = ComparisonRow {
            difference: None,
            change: -0.9,
            ..row
        };
        assert_eq!(
            outcome("iops:-5%", &totals),
            Some(GateOutcome::Inconclusive)
        );
    }

    /// 100 with a deviation of 10 % and 131 with one of 4 %: 31 apart, and twice the deviations are 2 x (10 + 5.24) = 30.5.
    #[test]
    fn rates_are_apart_beyond_twice_their_deviations() {
        assert!(is_apart(100.0, 131.0, (0.1, 0.04)) && is_apart(131.0, 100.0, (0.04, 0.1)));
        assert!(!is_apart(100.0, 130.0, (0.1, 0.04)) && !is_apart(100.0, 100.0, (0.0, 0.0)));
    }

    /// Regression 0519: FAIL combined the change of the whole run with the interval of the median: a whole run 8 % slower, because
    /// of one stall, and a median interval 2 % slower with certainty, failed a limit of 5 %.
    #[test]
    fn a_gate_judges_one_statistic() {
        let row = ComparisonRow {
            job: "a".to_owned(),
            direction: Direction::Read,
            metric: Metric::Iops,
            before: 1000.0,
            after: 920.0,
            change: -0.08,
            difference: Some(fathom_model::Difference {
                before: 1000.0,
                after: 980.0,
                change: -0.02,
                interval: (-0.025, -0.015),
                p: 0.001,
                resolution: 0.01,
            }),
            is_apart: false,
        };
        let outcome = |limit: &str| limit.parse::<Limit>().expect("a limit").outcome(&row);
        assert_eq!(outcome("iops:-5%"), Some(GateOutcome::Inconclusive));
        assert_eq!(outcome("iops:-1%"), Some(GateOutcome::Fail));
        assert_eq!(outcome("iops:-10%"), Some(GateOutcome::Pass));
    }

    /// Regression 0358: two runs that differ only in the random seed were refused as different plans.
    #[test]
    fn the_random_seed_is_not_a_difference_of_plans() {
        let of = |seed: &str, bs: &str| job("a", 1000.0, &[("randseed", seed), ("bs", bs)]);
        let differences = |after| compare(&[of("1", "4k")], &[after]).option_differences;
        assert_eq!(differences(of("2", "4k")), []);
        assert_eq!(differences(of("2", "8k")).len(), 1);
    }

    /// Regression 0507: jobs were compared by name, so that two drives measured with other names had nothing in common, and equal
    /// names with other depths were compared.
    #[test]
    fn jobs_are_paired_by_their_load() {
        let job = |name: &str, rw: &str, depth: &str| ComparedRun {
            name: name.to_owned(),
            options: [("rw", rw), ("iodepth", depth)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..ComparedRun::default()
        };
        let before = [
            job("a", "randread", "1"),
            job("b", "randread", "32"),
            job("twin1", "read", "8"),
            job("twin2", "read", "8"),
            job("changed", "write", "1"),
        ];
        let after = [
            job("drive-q32", "randread", "32"),
            job("a", "randwrite", "1"),
            job("drive-q1", "randread", "1"),
            job("twin2", "read", "8"),
            job("changed", "write", "4"),
            job("other", "read", "8"),
        ];
        // The second twin has its name; the first is the only rest of its load. The last pair differs in its plan.
        assert_eq!(
            pairs(&before, &after),
            [Some(2), Some(0), Some(5), Some(3), Some(4)]
        );
        let found = compare(&before, &after);
        assert_eq!(
            found.unmatched_jobs,
            ["a"],
            "the random writes of the second"
        );
        assert_eq!(found.renamed_jobs.len(), 3);
    }
}
