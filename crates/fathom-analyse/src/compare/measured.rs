//! Converts a run of fathom or another program to the figures that are compared.

use std::collections::BTreeMap;

use fathom_model::{
    Direction, DirectionSummary, Entry, Findings, MergedInterval, MergedIntervalDirection, Metric,
    Samples,
};

use super::{ComparedRun, Costs, Figure};
use crate::joined::joined;

/// Percentiles that are compared; fio writes all of them by default.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];
/// An interval shorter than this part of the usual length is the first or last of a run.
const FULL: f64 = 0.95;
/// Fewer samples do not show how much a rate varies.
const SAMPLES: u64 = 10;

/// The jobs of a run with their figures for the whole run and over time; clones of a job are
/// combined.
#[must_use]
pub fn measured(findings: &Findings) -> Vec<ComparedRun> {
    joined(&findings.entries)
        .iter()
        .enumerate()
        .map(|(place, entry)| ComparedRun {
            // The first one has the transactions of a database, others the block I/O of its devices.
            costs: Costs::of(findings).filter(|_| place == 0),
            ..job(entry, &findings.globals)
        })
        .collect()
}

fn job(entry: &Entry, globals: &[(String, Option<String>)]) -> ComparedRun {
    let options: BTreeMap<String, String> = globals
        .iter()
        .chain(&entry.options)
        .map(|(name, value)| (name.clone(), value.clone().unwrap_or_default()))
        .collect();
    let length = |moment: &MergedInterval| moment.length.get() as f64;
    let usual = entry.series.iter().map(length).fold(0.0, f64::max);
    let full: Vec<&MergedInterval> = entry
        .series
        .iter()
        .filter(|moment| usual > 0.0 && length(moment) >= FULL * usual)
        .collect();
    let used = Direction::ALL
        .into_iter()
        .filter(|direction| entry.directions[*direction].iops > 0.0);
    let figures = used
        .flat_map(|direction| figures(direction, &entry.directions[direction], &full))
        .collect();
    ComparedRun {
        name: entry.name.clone(),
        options,
        interval_s: usual / 1e9,
        figures,
        costs: None,
    }
}

fn figures(
    direction: Direction,
    direction_summary: &DirectionSummary,
    full: &[&MergedInterval],
) -> Vec<Figure> {
    let counted = |count: fn(&MergedIntervalDirection) -> u64| -> Vec<f64> {
        let rates: Vec<f64> = full
            .iter()
            .map(|moment| {
                count(&moment.directions[direction]) as f64 * 1e9 / moment.length.get() as f64
            })
            .collect();
        // Latency logs without others have no counts.
        if rates.iter().all(|rate| *rate == 0.0) {
            Vec::new()
        } else {
            rates
        }
    };
    let over_time = |figure: &dyn Fn(&MergedIntervalDirection) -> Option<f64>| {
        full.iter()
            .filter_map(|moment| figure(&moment.directions[direction]))
            .collect()
    };
    let latency =
        direction_summary
            .response
            .as_ref()
            .unwrap_or(if direction_summary.clat.mean > 0.0 {
                &direction_summary.clat
            } else {
                &direction_summary.lat
            });
    let mut all = vec![
        Figure {
            direction,
            metric: Metric::Iops,
            value: direction_summary.iops,
            series: counted(|moment| moment.ios),
            spread: spread(&direction_summary.iops_samples),
        },
        Figure {
            direction,
            metric: Metric::Bandwidth,
            value: direction_summary.bandwidth,
            series: counted(|moment| moment.bytes),
            spread: spread(&direction_summary.bw_samples),
        },
    ];
    if latency.mean > 0.0 {
        let series = over_time(&|moment| moment.mean.map(|mean| mean as f64));
        all.push(Figure {
            direction,
            metric: Metric::Mean,
            value: latency.mean,
            series,
            spread: None,
        });
    }
    for percent in PERCENTILES {
        let Some((_, value)) = latency
            .percentiles
            .iter()
            .find(|(listed, _)| *listed == percent)
        else {
            continue;
        };
        let series = over_time(&|moment| percentile(moment, percent));
        all.push(Figure {
            direction,
            metric: Metric::Percentile(percent),
            value: *value as f64,
            series,
            spread: None,
        });
    }
    all
}

/// The relative standard deviation of enough samples.
fn spread(samples: &Samples) -> Option<f64> {
    (samples.count >= SAMPLES && samples.mean > 0.0).then(|| samples.dev / samples.mean)
}

fn percentile(moment: &MergedIntervalDirection, percent: f64) -> Option<f64> {
    match percent {
        50.0 => moment.p50.map(|ns| ns as f64),
        99.0 => moment.p99.map(|ns| ns as f64),
        other => (!moment.latencies.is_empty())
            .then(|| moment.latencies.unpack().percentile(other))
            .flatten(),
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{ImportedResult, LatencySummary, Nanos};

    use super::*;

    #[test]
    fn figures_in_whole_and_in_full_intervals() {
        let mut entry = Entry {
            name: "a".to_owned(),
            options: vec![("rw".to_owned(), Some("randread".to_owned()))],
            ..Entry::default()
        };
        let direction_summary = &mut entry.directions[Direction::Read];
        (direction_summary.iops, direction_summary.bandwidth) = (1000.0, 4_096_000.0);
        direction_summary.clat = LatencySummary {
            mean: 900.0,
            n: 9,
            percentiles: vec![(50.0, 800), (99.0, 2000)],
            ..LatencySummary::default()
        };
        for (millis, ios, p99) in [
            (100, 1, Some(5)),
            (500, 500, Some(2100)),
            (500, 0, None),
            (500, 510, Some(1900)),
        ] {
            let mut moment = MergedInterval {
                length: Nanos::from_millis(millis),
                ..MergedInterval::default()
            };
            moment.directions[Direction::Read] = MergedIntervalDirection {
                ios,
                p99,
                ..MergedIntervalDirection::default()
            };
            entry.series.push(moment);
        }
        let globals = vec![("bs".to_owned(), Some("4k".to_owned()))];
        let result = ImportedResult {
            entries: vec![entry],
            globals,
            ..ImportedResult::default()
        };
        let jobs = measured(&crate::imported(result));
        let [job] = jobs.as_slice() else {
            panic!("{jobs:?}")
        };
        assert_eq!(
            job.options
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_str()))
                .collect::<Vec<_>>(),
            [("bs", "4k"), ("rw", "randread")]
        );
        let figure = |metric: Metric| {
            job.figures
                .iter()
                .find(|figure| figure.metric == metric)
                .expect("the figure")
        };
        // The first interval is not a full one. 500 I/Os in half a second are 1000 per second, and
        // no I/O is zero.
        assert_eq!(figure(Metric::Iops).series, [1000.0, 0.0, 1020.0]);
        assert_eq!(figure(Metric::Percentile(99.0)).series, [2100.0, 1900.0]);
        assert_eq!(
            (
                figure(Metric::Mean).value,
                figure(Metric::Bandwidth).series.len()
            ),
            (900.0, 0)
        );
        assert!(
            job.figures
                .iter()
                .all(|figure| figure.metric != Metric::Percentile(99.9)),
            "figures that the result lacks are missing"
        );
    }
}
