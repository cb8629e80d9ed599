//! Checks the distributions and the throughput over time of an imported result by the rules for
//! runs of fathom.

use fathom_model::{
    Finding, ImportedDirection, ImportedFigures, ImportedLatency, LatencySummary, Weight,
    is_fio_last_bin,
};

use super::{CheckInput, about};
use crate::detectors::context::timed;
use crate::detectors::{few_samples, not_steady, percentile_inflection};
use crate::figures::{duration, percent};

const CLAMPED_ADVICE: &str =
    "Do not use these percentiles: the bins of fio end there. Mean and maximum are exact.";
const DESCENDING_ADVICE: &str =
    "Use the file as fio wrote it, or report the bug with the version of fio.";
const STANDSTILL_ADVICE: &str = "Do not quote the rate of such a result: it is that of the pause. Look for resets and timeouts of commands in the kernel log (dmesg), and measure again.";
const LOGS_ADVICE: &str = "Use the summary: the latency of the logs is left out of charts. Check whether another run overwrote the logs.";

/// Percentiles that rest on very few I/Os.
pub(crate) fn few_samples(imported: &ImportedFigures) -> Option<Finding> {
    noted(imported, few_samples::evidence, few_samples::ADVICE)
}

/// Percentiles between which the latency at least doubles.
pub(crate) fn inflection(imported: &ImportedFigures) -> Option<Finding> {
    noted(
        imported,
        percentile_inflection::evidence,
        percentile_inflection::ADVICE,
    )
}

fn noted(
    imported: &ImportedFigures,
    evidence: fn(fathom_model::Direction, &str, &LatencySummary) -> Option<String>,
    advice: &str,
) -> Option<Finding> {
    let found = imported
        .latencies
        .iter()
        .find_map(|one| evidence(one.direction, one.kind, &one.summary))?;
    Some(about(imported, Weight::Note, found, advice))
}

/// Throughput that changed over the run, by the logs.
pub(crate) fn not_steady(imported: &ImportedFigures) -> Option<Finding> {
    let rounds = imported.rounds.as_ref().filter(|_| imported.closed)?;
    let (evidence, when) = not_steady::evidence(rounds)?;
    let finding = about(imported, Weight::Note, evidence, not_steady::ADVICE);
    Some(timed(finding, when, rounds.to))
}

/// Percentiles that are the last bin of fio, below the maximum.
pub(crate) fn clamped(imported: &ImportedFigures) -> Option<Finding> {
    let first_clamped = |one: &ImportedLatency| {
        one.summary
            .percentiles
            .iter()
            .copied()
            .find(|(_, ns)| is_fio_last_bin(*ns) && *ns < one.summary.max)
    };
    let (one, (p, ns)) = imported
        .latencies
        .iter()
        .find_map(|one| Some((one, first_clamped(one)?)))?;
    let evidence = format!(
        "{} {} p{p} and above are listed as {}, the last bin of fio, but the maximum is {}: the true percentiles are between them.",
        one.direction.name(),
        one.kind,
        duration(ns as f64),
        duration(one.summary.max as f64),
    );
    Some(about(imported, Weight::Degrades, evidence, CLAMPED_ADVICE))
}

/// A command timeout, during which nothing completed.
pub(crate) fn stood_still(imported: &ImportedFigures) -> Option<Finding> {
    let lasted = |one: &ImportedLatency| {
        let stream = |stream: &&ImportedDirection| stream.direction == one.direction;
        let iops = imported.streams.iter().find(stream)?.iops;
        (iops > 0.0).then(|| one.summary.n as f64 / iops * 1e9)
    };
    let found = |one: &ImportedLatency| {
        let lasted = lasted(one)?;
        Some((lasted, one.summary.standstill(lasted)?))
    };
    let mut closed = imported.latencies.iter().filter(|_| imported.closed);
    let (lasted, stood) = closed.find_map(found)?;
    let evidence = format!(
        "Nothing completed for {} of {}, longer than the 30 s after which the kernel aborts a command: all I/Os in flight waited.",
        duration(stood.get() as f64),
        duration(lasted),
    );
    Some(about(
        imported,
        Weight::Degrades,
        evidence,
        STANDSTILL_ADVICE,
    ))
}

/// Percentiles that fall, which is impossible.
pub(crate) fn descending(input: &CheckInput) -> Vec<Finding> {
    input.results.iter().filter_map(falls).collect()
}

fn falls(imported: &ImportedFigures) -> Option<Finding> {
    let step = |one: &ImportedLatency| {
        one.summary
            .percentiles
            .windows(2)
            .find(|pair| pair[1].1 < pair[0].1)
            .map(|pair| (pair[0], pair[1]))
    };
    let (one, (low, high)) = imported
        .latencies
        .iter()
        .find_map(|one| Some((one, step(one)?)))?;
    let evidence = format!(
        "{} {} is {} at p{}, but {} at p{}: percentiles cannot fall.",
        one.direction.name(),
        one.kind,
        duration(low.1 as f64),
        low.0,
        duration(high.1 as f64),
        high.0,
    );
    Some(about(
        imported,
        Weight::Invalidates,
        evidence,
        DESCENDING_ADVICE,
    ))
}

/// Latency logs whose mean contradicts the summary.
pub(crate) fn logs_contradict(input: &CheckInput) -> Vec<Finding> {
    input.results.iter().filter_map(contradicts).collect()
}

fn contradicts(imported: &ImportedFigures) -> Option<Finding> {
    let means = imported.log_latency?;
    let evidence = format!(
        "The rows of the latency logs have a mean of {}, the summary has {} ({} of it).",
        duration(means.logs_ns),
        duration(means.summary_ns),
        percent(means.logs_ns * 100.0 / means.summary_ns),
    );
    Some(about(imported, Weight::Degrades, evidence, LOGS_ADVICE))
}

#[cfg(test)]
mod tests {
    use fathom_model::{Direction, Nanos, ThroughputRounds};

    use super::*;
    use crate::imported::judge_imported;

    fn with(max: u64, percentiles: &[(f64, u64)]) -> ImportedFigures {
        ImportedFigures {
            latencies: vec![ImportedLatency {
                direction: Direction::Read,
                kind: "clat",
                summary: LatencySummary {
                    n: 1_000_000,
                    max,
                    percentiles: percentiles.to_vec(),
                    ..LatencySummary::default()
                },
            }],
            closed: true,
            ..ImportedFigures::default()
        }
    }

    fn codes(figures: &ImportedFigures) -> Vec<(&'static str, Weight)> {
        let found = judge_imported(figures);
        found.iter().map(|one| (one.code, one.weight)).collect()
    }

    /// Regression 0381: imports were not judged by findings about steady state, few samples, the
    /// last bin of fio and the inflection.
    #[test]
    fn imports_are_judged_by_the_rules_of_runs() {
        assert_eq!(codes(&with(2_000, &[(50.0, 1_000), (99.0, 1_900)])), []);
        let slow = with(
            38_590_000_000,
            &[(50.0, 17_112_760_320), (99.0, 17_112_760_320)],
        );
        assert_eq!(codes(&slow), [("FIO_BINS_CLAMPED", Weight::Degrades)]);
        let mut few = with(2_000, &[(50.0, 1_000), (99.0, 1_900)]);
        few.latencies[0].summary.n = 500;
        assert_eq!(codes(&few), [("FEW_SAMPLES", Weight::Note)]);
        let inflected = with(9_000, &[(50.0, 1_000), (90.0, 5_000), (99.0, 5_100)]);
        assert_eq!(codes(&inflected), [("PERCENTILE_INFLECTION", Weight::Note)]);
        let drifting = ImportedFigures {
            rounds: Some(ThroughputRounds {
                bytes_per_s: [100.0, 90.0, 80.0, 70.0, 60.0],
                from: Nanos::ZERO,
                to: Nanos::from_secs(50),
            }),
            ..with(2_000, &[(50.0, 1_000), (99.0, 1_900)])
        };
        let found = judge_imported(&drifting);
        assert_eq!((found[0].code, found[0].when.len()), ("NOT_STEADY", 2));
        let paced = ImportedFigures {
            closed: false,
            ..drifting
        };
        assert_eq!(codes(&paced), []);
    }

    /// Regression 0382: a p99 below the median was accepted.
    #[test]
    fn percentiles_that_fall_are_malformed() {
        let found = judge_imported(&with(2_000, &[(50.0, 1_000), (99.0, 900)]));
        assert_eq!(
            (found[0].code, found[0].evidence.as_str()),
            (
                "NUMBER_MALFORMED",
                "read clat is 1.00 us at p50, but 900 ns at p99: percentiles cannot fall."
            )
        );
    }

    /// Regression 0871: a drive that did not answer for 30 of 60 s was reported as one of half the speed. The figures are
    /// those of a WD740GD; of the array, one I/O waited while 500 others per second completed.
    #[test]
    fn a_command_timeout_in_a_result_is_a_finding() {
        let result = |ios: u64, seconds: f64, [median, mean, max]: [f64; 3]| {
            let ns = |seconds: f64| (seconds * 1e9) as u64;
            let mut figures = with(ns(max), &[(50.0, ns(median))]);
            figures.latencies[0].summary.n = ios;
            figures.latencies[0].summary.mean = mean * 1e9;
            figures.streams = vec![ImportedDirection {
                direction: Direction::Read,
                iops: ios as f64 / seconds,
                latency_ns: None,
                is_median: false,
            }];
            figures
        };
        let stood = result(3671, 60.014, [0.0158, 0.0326, 30.786]);
        let found = stood_still(&stood).expect("a standstill");
        assert_eq!(found.weight, Weight::Degrades);
        assert!(
            found.evidence.contains("30.79 s of 60.01 s"),
            "{}",
            found.evidence
        );
        assert_eq!(
            stood_still(&result(7464, 60.036, [0.0321, 0.0321, 0.0498])),
            None
        );
        assert_eq!(
            stood_still(&result(30_780, 61.2, [6.006, 7.52, 53.9])),
            None
        );
        let paced = ImportedFigures {
            closed: false,
            ..stood
        };
        assert_eq!(stood_still(&paced), None);
    }
}
