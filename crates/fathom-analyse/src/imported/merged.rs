//! Checks percentiles of several jobs: the percentile of all their I/Os follows from their counts
//! and is not the mean of the jobs' percentiles.

use fathom_model::{Finding, LatencyPercentiles, Weight};

use super::CheckInput;
use crate::figures::{count, duration, percent};

/// Width of fio's bins (64 in each power of two): a listed value may be off by as much.
const BIN: f64 = 1.0 / 64.0;
/// A value this close to the mean of the jobs' percentiles is their mean.
const MEAN: f64 = 0.03;
/// Rounding of the listed percentiles, percent.
const ROUNDING: f64 = 0.05;

/// Share of the I/Os that took at most `ns`, percent: lower and upper bound.
fn within(part: &LatencyPercentiles, ns: f64) -> (f64, f64) {
    let surely = part
        .percentiles
        .iter()
        .filter(|(_, value)| value * (1.0 + BIN) <= ns)
        .map(|(p, _)| *p);
    let beyond = part
        .percentiles
        .iter()
        .find(|(_, value)| value * (1.0 - BIN) > ns)
        .map(|(p, _)| *p);
    (surely.fold(0.0, f64::max), beyond.unwrap_or(100.0))
}

fn value_at(part: &LatencyPercentiles, wanted: f64) -> Option<f64> {
    part.percentiles
        .iter()
        .find(|(p, _)| (p - wanted).abs() < 1e-6)
        .map(|(_, value)| *value)
}

/// Checks whether the stated percentiles are possible for all jobs together. The listed percentiles
/// of the jobs are enough; bins are not needed.
pub(crate) fn averaged(input: &CheckInput) -> Vec<Finding> {
    input
        .percentiles
        .iter()
        .filter_map(|(percent, ns)| judge_percentile(&input.spreads, *percent, *ns))
        .collect()
}

fn judge_percentile(parts: &[LatencyPercentiles], wanted: f64, claimed_ns: f64) -> Option<Finding> {
    let ios: u64 = parts.iter().map(|part| part.ios).sum();
    if ios == 0 || parts.iter().any(|part| part.percentiles.is_empty()) {
        return None;
    }
    let (least, most) = together(parts, ios, claimed_ns);
    if wanted >= least - ROUNDING && wanted <= most + ROUNDING {
        return None;
    }
    let evidence = format!(
        "{} is stated as p{wanted} of {} jobs together, but {} of their {} I/Os took no longer{}{}.",
        duration(claimed_ns),
        parts.len(),
        shares(least, most),
        count(ios),
        mean_of_parts(parts, wanted, claimed_ns),
        truth(parts, ios, wanted),
    );
    let advice = "Add the histograms of all jobs and take the percentile of the sum (group_reporting does); a mean of percentiles is not \
                  a percentile.";
    Some(Finding {
        id: "",
        code: "",
        weight: Weight::Invalidates,
        about: None,
        evidence,
        advice: advice.to_owned(),
        when: Vec::new(),
    })
}

fn together(parts: &[LatencyPercentiles], ios: u64, ns: f64) -> (f64, f64) {
    let sum = parts
        .iter()
        .map(|part| (within(part, ns), part.ios as f64 / ios as f64));
    sum.fold((0.0, 0.0), |(low, high), ((l, h), weight)| {
        (low + l * weight, high + h * weight)
    })
}

fn shares(least: f64, most: f64) -> String {
    let (least, most) = (percent(least), percent(most));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

fn mean_of_parts(parts: &[LatencyPercentiles], wanted: f64, claimed_ns: f64) -> String {
    let Some(own) = parts
        .iter()
        .map(|part| value_at(part, wanted))
        .collect::<Option<Vec<f64>>>()
    else {
        return String::new();
    };
    let mean = own.iter().sum::<f64>() / own.len() as f64;
    if (claimed_ns / mean - 1.0).abs() > MEAN {
        return String::new();
    }
    let own: Vec<String> = own.iter().take(8).map(|ns| duration(*ns)).collect();
    format!(
        ": it is the mean of the p{wanted} of each ({})",
        own.join(", ")
    )
}

/// `; p99 of all is about 20.0 ms`: the percentile of all I/Os, between the listed values.
fn truth(parts: &[LatencyPercentiles], ios: u64, wanted: f64) -> String {
    let mut values: Vec<f64> = parts
        .iter()
        .flat_map(|part| &part.percentiles)
        .map(|(_, value)| *value)
        .collect();
    values.sort_by(f64::total_cmp);
    let wide = |ns: f64| ns * (1.0 + 2.0 * BIN);
    let low = values
        .iter()
        .find(|ns| together(parts, ios, wide(**ns)).1 >= wanted);
    let high = values
        .iter()
        .find(|ns| together(parts, ios, wide(**ns)).0 >= wanted);
    match low.zip(high) {
        Some((low, high)) if high / low < 1.0 + 4.0 * BIN => {
            format!("; p{wanted} of all is about {}", duration(*high))
        }
        Some((low, high)) => format!(
            "; p{wanted} of all is between {} and {}",
            duration(*low),
            duration(*high)
        ),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imported::judge;

    fn spread(ios: u64, ns: f64) -> LatencyPercentiles {
        let percents = [1.0, 50.0, 95.0, 99.0, 99.9];
        LatencyPercentiles {
            ios,
            percentiles: percents.map(|p| (p, ns * (1.0 + p / 10_000.0))).to_vec(),
        }
    }

    /// 19 of 20 I/Os take 1 ms and one takes 20 ms: p50 is 1 ms, p99 is 20 ms, and the mean of both
    /// p99 is 10.6 ms.
    #[test]
    fn the_mean_of_two_percentiles_is_not_a_percentile() {
        let parts = [spread(1_900, 1e6), spread(100, 20e6)];
        let found = judge_percentile(&parts, 99.0, 10.6e6).expect("it is wrong");
        assert_eq!(
            found.evidence,
            "10.6 ms is stated as p99 of 2 jobs together, but 95 % of their 2,000 I/Os took no longer: it is the mean of \
             the p99 of each (1.01 ms, 20.2 ms); p99 of all is about 20.0 ms."
        );
        let input = CheckInput {
            spreads: parts.to_vec(),
            percentiles: vec![(99.0, 10.6e6)],
            ..CheckInput::default()
        };
        let found = judge(&input).remove(0);
        assert_eq!((found.code, found.id), ("PERCENTILES_AVERAGED", "F072"));
        assert_eq!(judge_percentile(&parts, 99.0, 20.1e6), None, "the true one");
        assert_eq!(judge_percentile(&parts, 50.0, 1e6), None);
        assert!(
            judge_percentile(&parts, 99.0, 5e6)
                .is_some_and(|other| !other.evidence.contains("mean"))
        );
    }

    #[test]
    fn unknown_figures_are_not_judged() {
        assert_eq!(judge_percentile(&[], 99.0, 1e6), None);
        assert_eq!(
            judge_percentile(
                &[LatencyPercentiles {
                    ios: 5,
                    percentiles: Vec::new()
                }],
                99.0,
                1e6
            ),
            None
        );
    }
}
