//! Finds the start of the tail of a distribution.

/// The last percentile, from the median upward, before the latency at least doubles, and the one after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inflection {
    /// Percentile and value before the step.
    pub last: (f64, u64),
    /// Percentile and value after it.
    pub next: (f64, u64),
}

impl Inflection {
    /// Ratio of the value after the step to the value before.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.next.1 as f64 / self.last.1.max(1) as f64
    }
}

/// From this ratio on a step is an inflection.
const RATIO: f64 = 2.0;
/// Minimum number of I/Os beyond a percentile.
const BEYOND: f64 = 10.0;
/// The tail begins here at the earliest.
const MEDIAN: f64 = 50.0;

/// The first step of ascending percentiles at which the value doubles, among those that enough of
/// `n` values support.
#[must_use]
pub fn inflection(percentiles: &[(f64, u64)], n: u64) -> Option<Inflection> {
    let supported = |p: f64| n as f64 * (100.0 - p) / 100.0 + 0.5 >= BEYOND;
    let steps = percentiles.windows(2).map(|pair| Inflection {
        last: pair[0],
        next: pair[1],
    });
    let mut steps = steps.filter(|step| {
        step.last.0 >= MEDIAN && step.next.0 > step.last.0 && supported(step.next.0)
    });
    steps.find(|step| step.last.1 > 0 && step.ratio() >= RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Percentiles that fio prints by default.
    const LADDER: [f64; 17] = [
        1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
        99.95, 99.99,
    ];

    fn percentiles(values: [u64; 17]) -> Vec<(f64, u64)> {
        LADDER.into_iter().zip(values).collect()
    }

    /// Three published runs whose authors name the inflection themselves: sequential reads "stable
    /// to P99.5", mixed reads P95, their writes P99.5.
    #[test]
    fn published_runs_have_the_inflection_of_their_authors() {
        let sequential = [
            53, 53, 53, 53, 53, 54, 55, 55, 59, 60, 73, 75, 91, 99, 235, 433, 2343,
        ];
        let reads = [
            155, 204, 231, 265, 297, 322, 338, 355, 379, 412, 478, 873, 2073, 2212, 2409, 2540,
            6849,
        ];
        let writes = [
            60, 76, 85, 105, 127, 149, 172, 194, 217, 241, 277, 314, 371, 449, 1696, 2737, 6456,
        ];
        let last = |values| inflection(&percentiles(values), 4_000_000).map(|step| step.last.0);
        assert_eq!(
            (last(sequential), last(reads), last(writes)),
            (Some(99.5), Some(95.0), Some(99.5))
        );
        // Four drives, no step.
        let even = [
            97, 101, 102, 102, 103, 106, 116, 119, 123, 123, 124, 127, 133, 145, 186, 196, 221,
        ];
        assert_eq!(last(even), None);
    }

    /// Regression 0351: cache hits below the median were reported as the inflection of the tail.
    #[test]
    fn a_step_below_the_median_is_not_an_inflection() {
        let hits_below_p5 = [
            441, 99_600, 99_800, 99_900, 100_000, 100_100, 100_200, 100_300, 100_400, 100_500,
            100_600, 100_700, 100_800, 100_900, 250_000, 260_000, 270_000,
        ];
        let step = inflection(&percentiles(hits_below_p5), 4_000_000).expect("the step at p99.5");
        assert_eq!((step.last, step.next), ((99.5, 100_900), (99.9, 250_000)));
        // From the median itself on a step counts.
        assert_eq!(
            inflection(&[(50.0, 10), (60.0, 30)], 1000).map(|step| step.last.0),
            Some(50.0)
        );
        assert_eq!(inflection(&[(40.0, 10), (50.0, 30)], 1000), None);
    }

    #[test]
    fn a_step_on_too_few_values_is_ignored() {
        assert!(inflection(&[(50.0, 10), (99.0, 90)], 1000).is_some());
        assert!(inflection(&[(50.0, 10), (99.0, 90)], 900).is_none());
    }
}
