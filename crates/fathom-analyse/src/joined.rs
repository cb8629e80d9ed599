//! Combines clones that were reported separately, as group reporting does.

use std::collections::BTreeMap;

use fathom_model::{
    Direction, DirectionSummary, Entry, LatencySummary, MergedInterval, Nanos, PerDirection,
};

/// Combines entries of the same name, group and options: amounts are added, rates are computed over
/// the longest run time, means are weighted. A percentile of several distributions is unknown
/// unless there are bins.
#[must_use]
pub fn joined(entries: &[Entry]) -> Vec<Entry> {
    let mut all: Vec<Vec<&Entry>> = Vec::new();
    for entry in entries {
        let alike = |other: &&mut Vec<&Entry>| {
            other[0].name == entry.name
                && other[0].group == entry.group
                && other[0].options == entry.options
        };
        match all.iter_mut().find(alike) {
            Some(clones) => clones.push(entry),
            None => all.push(vec![entry]),
        }
    }
    all.iter()
        .map(|clones| {
            if let [one] = clones[..] {
                one.clone()
            } else {
                combine(clones)
            }
        })
        .collect()
}

fn combine(clones: &[&Entry]) -> Entry {
    let mut made = clones[0].clone();
    made.members = clones.iter().map(|clone| clone.members).sum();
    made.error = clones
        .iter()
        .map(|clone| clone.error)
        .find(|error| *error != 0)
        .unwrap_or(0);
    made.job_runtime = clones
        .iter()
        .fold(Nanos::ZERO, |sum, clone| sum + clone.job_runtime);
    made.directions = PerDirection::from_fn(|direction| {
        combined(clones.iter().map(|clone| &clone.directions[direction]))
    });
    made.series = series(clones);
    made
}

fn combined<'a>(
    all_directions: impl Iterator<Item = &'a DirectionSummary> + Clone,
) -> DirectionSummary {
    let longest = all_directions
        .clone()
        .map(|direction_summary| direction_summary.runtime_ms)
        .max()
        .unwrap_or(0);
    let mut made = DirectionSummary {
        runtime_ms: longest,
        ..DirectionSummary::default()
    };
    for direction_summary in all_directions.clone() {
        made.bytes += direction_summary.bytes;
        made.ios += direction_summary.ios;
        made.short_ios += direction_summary.short_ios;
        made.dropped_ios += direction_summary.dropped_ios;
        made.counts.add(&direction_summary.counts);
    }
    let rate = |amount: u64, sum: f64| {
        if longest > 0 && amount > 0 {
            amount as f64 * 1e3 / longest as f64
        } else {
            sum
        }
    };
    made.iops = rate(
        made.ios,
        all_directions
            .clone()
            .map(|direction_summary| direction_summary.iops)
            .sum(),
    );
    made.bandwidth = rate(
        made.bytes,
        all_directions
            .clone()
            .map(|direction_summary| direction_summary.bandwidth)
            .sum(),
    );
    made.slat = latency(
        all_directions
            .clone()
            .map(|direction_summary| &direction_summary.slat),
    );
    made.clat = latency(
        all_directions
            .clone()
            .map(|direction_summary| &direction_summary.clat),
    );
    made.lat = latency(all_directions.map(|direction_summary| &direction_summary.lat));
    made
}

/// Combines means and deviations of several samples (Chan, Golub and LeVeque 1979).
fn latency<'a>(parts: impl Iterator<Item = &'a LatencySummary>) -> LatencySummary {
    let (mut made, mut spread) = (LatencySummary::default(), 0.0);
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for part in parts.filter(|part| part.n > 0) {
        let (before, more) = (made.n as f64, part.n as f64);
        let off = part.mean - made.mean;
        spread += part.stddev.powi(2) * (more - 1.0).max(0.0)
            + off * off * before * more / (before + more);
        made.min = if made.n == 0 {
            part.min
        } else {
            made.min.min(part.min)
        };
        made.max = made.max.max(part.max);
        made.mean += off * more / (before + more);
        made.n += part.n;
        made.overflow += part.overflow;
        made.percentiles = part.percentiles.clone();
        part.bins
            .iter()
            .for_each(|(middle, n)| *bins.entry(*middle).or_default() += n);
    }
    made.stddev = if made.n > 1 {
        (spread / (made.n - 1) as f64).sqrt()
    } else {
        0.0
    };
    made.bins = bins.into_iter().collect();
    let held = made.bins.iter().map(|(_, n)| n).sum::<u64>();
    made.percentiles = if held == made.n {
        percentiles(&made)
    } else {
        Vec::new()
    };
    made
}

/// The same percentiles, from the bins.
fn percentiles(of: &LatencySummary) -> Vec<(f64, u64)> {
    let value = |percent: f64| {
        let wanted = ((percent / 100.0 * of.n as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = of.bins.iter().find(|(_, n)| {
            seen += n;
            seen >= wanted
        });
        found.map_or(of.max, |(middle, _)| *middle)
    };
    of.percentiles
        .iter()
        .map(|(percent, _)| (*percent, value(*percent)))
        .collect()
}

/// Adds moments with the same start; other moments are unchanged.
fn series(clones: &[&Entry]) -> Vec<MergedInterval> {
    let mut all: BTreeMap<Nanos, MergedInterval> = BTreeMap::new();
    for moment in clones.iter().flat_map(|clone| &clone.series) {
        match all.entry(moment.start) {
            std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(moment.clone())),
            std::collections::btree_map::Entry::Occupied(mut place) => add(place.get_mut(), moment),
        }
    }
    all.into_values().collect()
}

fn add(sum: &mut MergedInterval, other: &MergedInterval) {
    sum.length = sum.length.max(other.length);
    for direction in Direction::ALL {
        let (mine, theirs) = (&mut sum.directions[direction], &other.directions[direction]);
        let weighed = |direction_summary: &fathom_model::MergedIntervalDirection| {
            direction_summary.mean.map(|mean| {
                (
                    mean as f64 * direction_summary.ios.max(1) as f64,
                    direction_summary.ios.max(1) as f64,
                )
            })
        };
        let parts: Vec<(f64, f64)> = [weighed(mine), weighed(theirs)]
            .into_iter()
            .flatten()
            .collect();
        let (total, weight) = parts
            .iter()
            .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        let mut both = mine.latencies.unpack();
        theirs.latencies.add_to(&mut both);
        let whole = mine.latencies.is_empty() == theirs.latencies.is_empty() && both.count() > 0;
        mine.ios += theirs.ios;
        mine.bytes += theirs.bytes;
        mine.bad += theirs.bad;
        mine.mean = (weight > 0.0).then(|| (total / weight).round() as u64);
        mine.max = mine.max.max(theirs.max);
        let percentile = |percent| {
            whole
                .then(|| both.percentile(percent))
                .flatten()
                .map(|ns| ns.round() as u64)
        };
        (mine.p50, mine.p99) = (percentile(50.0), percentile(99.0));
        mine.latencies = fathom_model::SparseHistogram::pack(&both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clone(name: &str, ios: u64, latency: LatencySummary) -> Entry {
        let mut entry = Entry {
            name: name.to_owned(),
            members: 1,
            depth: 4,
            ..Entry::default()
        };
        let direction_summary = &mut entry.directions[Direction::Read];
        (
            direction_summary.ios,
            direction_summary.bytes,
            direction_summary.runtime_ms,
            direction_summary.iops,
        ) = (ios, ios * 4096, 10_000, ios as f64 / 10.0);
        direction_summary.clat = latency;
        entry
    }

    #[test]
    fn only_clones_are_combined() {
        // 1, 1, 4 and 6, 8: mean 4, squares 9 + 9 + 0 + 4 + 16 = 38 over 4.
        let first = LatencySummary {
            min: 1,
            max: 4,
            mean: 2.0,
            stddev: 3f64.sqrt(),
            n: 3,
            ..LatencySummary::default()
        };
        let second = LatencySummary {
            min: 6,
            max: 8,
            mean: 7.0,
            stddev: 2f64.sqrt(),
            n: 2,
            percentiles: vec![(50.0, 7)],
            ..LatencySummary::default()
        };
        let all = joined(&[
            clone("a", 3, first),
            clone("b", 9, LatencySummary::default()),
            clone("a", 2, second),
        ]);
        assert_eq!(
            all.iter()
                .map(|one| (one.name.as_str(), one.members))
                .collect::<Vec<_>>(),
            [("a", 2), ("b", 1)]
        );
        let read = &all[0].directions[Direction::Read];
        assert_eq!((read.ios, read.bytes, read.iops), (5, 5 * 4096, 0.5));
        assert_eq!(
            (read.clat.min, read.clat.max, read.clat.mean, read.clat.n),
            (1, 8, 4.0, 5)
        );
        assert!(
            (read.clat.stddev - 9.5f64.sqrt()).abs() < 1e-9,
            "{}",
            read.clat.stddev
        );
        assert!(
            read.clat.percentiles.is_empty(),
            "a mean of percentiles is not a percentile"
        );
    }

    #[test]
    fn percentiles_of_clones_come_from_their_bins() {
        let of = |bins: &[(u64, u64)]| LatencySummary {
            n: bins.iter().map(|(_, n)| n).sum(),
            percentiles: vec![(50.0, 1), (99.0, 1)],
            bins: bins.to_vec(),
            ..LatencySummary::default()
        };
        let all = joined(&[
            clone("a", 1, of(&[(10, 60)])),
            clone("a", 1, of(&[(10, 20), (900, 20)])),
        ]);
        assert_eq!(
            all[0].directions[Direction::Read].clat.percentiles,
            [(50.0, 10), (99.0, 900)]
        );
    }
}
