//! Combines the clones of a job that a result lists separately (`numjobs` without
//! `group_reporting`).

use std::collections::{BTreeMap, HashMap};

use fathom_model::{
    Direction, DirectionFigures, Histogram, JobFigures, LatencySummary, MergedInterval,
    MergedIntervalDirection, Nanos, PerDirection, SparseHistogram,
};

/// Combines jobs of one result with the same name and settings if their number is `numjobs`. Rates
/// are added. Percentiles are computed from the combined bins, and omitted if a clone has no bins,
/// because percentiles cannot be added.
#[must_use]
pub(super) fn combined(jobs: Vec<JobFigures>) -> Vec<JobFigures> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Vec<JobFigures>> = Vec::new();
    for job in jobs {
        let place = if job.clones.is_some() {
            *places.entry(load(&job)).or_insert(groups.len())
        } else {
            groups.len()
        };
        match groups.get_mut(place) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
        .into_iter()
        .flat_map(|group| {
            if is_whole(&group) {
                vec![combine(&group)]
            } else {
                group
            }
        })
        .collect()
}

/// The settings that clones share.
fn load(job: &JobFigures) -> String {
    format!(
        "{:?}",
        (
            job.result,
            &job.source,
            &job.name,
            &job.rw,
            job.block,
            job.depth,
            job.clones,
            job.offered,
            job.rate
        )
    )
}

fn is_whole(group: &[JobFigures]) -> bool {
    group.len() > 1 && group[0].clones == u32::try_from(group.len()).ok()
}

/// The jobs as one: counts and rates are added, bins and intervals merged.
pub(super) fn combine(group: &[JobFigures]) -> JobFigures {
    let first = &group[0];
    let mean = |value: fn(&(f64, f64)) -> f64| {
        group
            .iter()
            .filter_map(|job| job.cpu.as_ref().map(value))
            .sum::<f64>()
            / group.len() as f64
    };
    let mut findings = Vec::new();
    for finding in group.iter().flat_map(|job| &job.findings) {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    JobFigures {
        jobs: first.clones,
        directions: Direction::ALL
            .into_iter()
            .filter_map(|direction| direction_figures(group, direction))
            .collect(),
        cpu: first.cpu.map(|_| (mean(|cpu| cpu.0), mean(|cpu| cpu.1))),
        series: series(group),
        steady: Vec::new(),
        findings,
        offset: group.iter().filter_map(|job| job.offset).min(),
        classes: classes(group),
        clones: None,
        ..first.without_series()
    }
}

fn direction_figures(group: &[JobFigures], direction: Direction) -> Option<DirectionFigures> {
    let directions: Vec<&DirectionFigures> = group
        .iter()
        .flat_map(|job| &job.directions)
        .filter(|direction_figures| direction_figures.direction == direction)
        .collect();
    let ios: u64 = directions
        .iter()
        .map(|direction_figures| direction_figures.ios)
        .sum();
    let weighted = |value: fn(&DirectionFigures) -> Option<f64>| {
        let all: Option<f64> = directions
            .iter()
            .map(|direction_figures| Some(value(direction_figures)? * direction_figures.ios as f64))
            .sum();
        all.filter(|_| ios > 0).map(|sum| sum / ios as f64)
    };
    (!directions.is_empty()).then(|| DirectionFigures {
        direction,
        iops: directions
            .iter()
            .map(|direction_figures| direction_figures.iops)
            .sum(),
        iops_spread: None,
        bandwidth: directions
            .iter()
            .map(|direction_figures| direction_figures.bandwidth)
            .sum(),
        ios,
        latency: latency(
            &directions
                .iter()
                .map(|direction_figures| &direction_figures.latency)
                .collect::<Vec<_>>(),
        ),
        slat: weighted(|direction_figures| direction_figures.slat),
        lat: weighted(|direction_figures| direction_figures.lat),
    })
}

fn latency(all: &[&LatencySummary]) -> LatencySummary {
    let n: u64 = all.iter().map(|one| one.n).sum();
    let over = |value: &dyn Fn(&LatencySummary) -> f64| {
        all.iter().map(|one| value(one) * one.n as f64).sum::<f64>() / (n as f64).max(1.0)
    };
    let mean = over(&|one| one.mean);
    let mut bins = BTreeMap::new();
    if all.iter().all(|one| !one.bins.is_empty()) {
        all.iter()
            .flat_map(|one| &one.bins)
            .for_each(|(value, count)| *bins.entry(*value).or_insert(0) += count);
    }
    let bins: Vec<(u64, u64)> = bins.into_iter().collect();
    let listed = all.first().map_or(&[][..], |one| &one.percentiles);
    LatencySummary {
        min: all.iter().map(|one| one.min).min().unwrap_or(0),
        max: all.iter().map(|one| one.max).max().unwrap_or(0),
        mean,
        // Second moments are added: that of a part is its variance plus the square of its mean.
        stddev: (over(&|one| one.stddev * one.stddev + one.mean * one.mean) - mean * mean)
            .max(0.0)
            .sqrt(),
        n,
        percentiles: listed
            .iter()
            .filter_map(|(percent, _)| Some((*percent, percentile(&bins, *percent)?)))
            .collect(),
        bins,
        overflow: all.iter().map(|one| one.overflow).sum(),
    }
}

/// The middle of the bin that contains the percentile.
fn percentile(bins: &[(u64, u64)], percent: f64) -> Option<u64> {
    let total: u64 = bins.iter().map(|bin| bin.1).sum();
    let mut below = 0;
    bins.iter()
        .find(|(_, count)| {
            below += count;
            below as f64 >= percent / 100.0 * total as f64
        })
        .map(|bin| bin.0)
}

/// Combines intervals with the same start.
fn series(group: &[JobFigures]) -> Vec<MergedInterval> {
    let mut at: BTreeMap<Nanos, Vec<&MergedInterval>> = BTreeMap::new();
    group
        .iter()
        .flat_map(|job| &job.series)
        .for_each(|moment| at.entry(moment.start).or_default().push(moment));
    let mut scratch = Histogram::new();
    at.into_iter()
        .map(|(start, all)| MergedInterval {
            start,
            length: all
                .iter()
                .map(|moment| moment.length)
                .max()
                .unwrap_or_default(),
            directions: PerDirection::from_fn(|d| {
                combine_moments(
                    &all.iter()
                        .map(|moment| &moment.directions[d])
                        .collect::<Vec<_>>(),
                    &mut scratch,
                )
            }),
        })
        .collect()
}

fn combine_moments(
    all: &[&MergedIntervalDirection],
    scratch: &mut Histogram,
) -> MergedIntervalDirection {
    let ios: u64 = all.iter().map(|one| one.ios).sum();
    let mut made = MergedIntervalDirection {
        ios,
        ..MergedIntervalDirection::default()
    };
    made.bytes = all.iter().map(|one| one.bytes).sum();
    made.bad = all.iter().map(|one| one.bad).sum();
    made.max = all.iter().filter_map(|one| one.max).max();
    let mean = |of: fn(&MergedIntervalDirection) -> Option<u64>| {
        let sum: Option<u128> = all
            .iter()
            .filter(|one| one.ios > 0)
            .map(|one| Some(u128::from(of(one)?) * u128::from(one.ios)))
            .sum();
        sum.filter(|_| ios > 0)
            .and_then(|sum| u64::try_from(sum / u128::from(ios)).ok())
    };
    made.mean = mean(|one| one.mean);
    made.slat = mean(|one| one.slat);
    made.lat = mean(|one| one.lat);
    scratch.clear();
    all.iter().for_each(|one| one.latencies.add_to(scratch));
    if all
        .iter()
        .all(|one| one.ios == 0 || !one.latencies.is_empty())
        && scratch.count() > 0
    {
        made.p50 = scratch.percentile(50.0).map(|value| value.round() as u64);
        made.p99 = scratch.percentile(99.0).map(|value| value.round() as u64);
        made.latencies = SparseHistogram::pack(scratch);
    }
    made
}

/// Shares weighted by the number of I/Os.
fn classes(group: &[JobFigures]) -> Vec<(f64, f64)> {
    let ios = |job: &JobFigures| {
        job.directions
            .iter()
            .map(|direction_figures| direction_figures.ios)
            .sum::<u64>() as f64
    };
    let all: f64 = group.iter().map(ios).sum();
    if all == 0.0
        || group
            .iter()
            .any(|job| job.classes.len() != group[0].classes.len())
    {
        return Vec::new();
    }
    let share = |place: usize| {
        group
            .iter()
            .map(|job| job.classes[place].1 * ios(job))
            .sum::<f64>()
            / all
    };
    group[0]
        .classes
        .iter()
        .enumerate()
        .map(|(place, class)| (class.0, share(place)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clone(iops: f64, bins: &[(u64, u64)]) -> JobFigures {
        let n = bins.iter().map(|bin| bin.1).sum();
        let mean = bins
            .iter()
            .map(|bin| bin.0 as f64 * bin.1 as f64)
            .sum::<f64>()
            / n as f64;
        let summary = LatencySummary {
            mean,
            n,
            bins: bins.to_vec(),
            percentiles: vec![(50.0, 1), (99.0, 1)],
            max: 9,
            ..LatencySummary::default()
        };
        let direction_figures = DirectionFigures {
            direction: Direction::Read,
            iops,
            iops_spread: None,
            bandwidth: iops * 4096.0,
            ios: n,
            latency: summary,
            slat: None,
            lat: None,
        };
        let way_of = |ios| {
            PerDirection::from_fn(|d| MergedIntervalDirection {
                ios: if d == Direction::Read { ios } else { 0 },
                ..MergedIntervalDirection::default()
            })
        };
        let moment = MergedInterval {
            start: Nanos::ZERO,
            length: Nanos::from_secs(1),
            directions: way_of(n),
        };
        JobFigures {
            name: "j".into(),
            jobs: Some(1),
            clones: Some(2),
            directions: vec![direction_figures],
            series: vec![moment],
            ..JobFigures::default()
        }
    }

    /// Regression 0285: each of 8 clones was shown in the charts as 1 job. 90 I/Os of 100 ns in one
    /// clone and 10 of 1,000 ns in the other: half of all within 100 ns, 99 % within 1,000 ns, 190
    /// ns on average.
    #[test]
    fn clones_are_one_load_with_the_percentiles_of_all_its_ios() {
        let all = combined(vec![clone(90.0, &[(100, 90)]), clone(10.0, &[(1000, 10)])]);
        let [one] = all.as_slice() else {
            panic!("{} jobs", all.len())
        };
        let direction_figures = &one.directions[0];
        assert_eq!(
            (
                one.jobs,
                direction_figures.iops,
                direction_figures.ios,
                direction_figures.latency.mean
            ),
            (Some(2), 100.0, 100, 190.0)
        );
        assert_eq!(
            direction_figures.latency.percentiles,
            [(50.0, 100), (99.0, 1000)]
        );
        assert_eq!(
            (
                one.series.len(),
                one.series[0].directions[Direction::Read].ios
            ),
            (1, 100)
        );
        // The standard deviation of 90 times 100 and 10 times 1,000.
        assert!(
            (direction_figures.latency.stddev - 270.0).abs() < 1e-6,
            "{}",
            direction_figures.latency.stddev
        );
    }

    #[test]
    fn other_jobs_are_not_combined() {
        let one = clone(1.0, &[(100, 1)]);
        assert_eq!(combined(vec![one.clone()]).len(), 1);
        assert_eq!(
            combined(vec![
                one.clone(),
                JobFigures {
                    name: "k".into(),
                    ..one.clone()
                }
            ])
            .len(),
            2
        );
        assert_eq!(
            combined(vec![
                one.clone(),
                JobFigures {
                    result: 1,
                    ..one.clone()
                }
            ])
            .len(),
            2
        );
        assert_eq!(
            combined(vec![
                JobFigures {
                    clones: None,
                    ..one.clone()
                },
                JobFigures {
                    clones: None,
                    ..one
                }
            ])
            .len(),
            2
        );
    }
}
