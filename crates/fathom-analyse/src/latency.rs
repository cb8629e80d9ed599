//! Sums of latency distributions.

use fathom_model::Histogram;

/// The exact sum of several distributions.
pub(crate) fn merged<'a>(parts: impl IntoIterator<Item = &'a Histogram>) -> Histogram {
    let mut sum = Histogram::new();
    parts.into_iter().for_each(|part| sum.merge(part));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::LatencySummary;

    #[test]
    fn one_to_a_hundred() {
        let mut h = Histogram::new();
        (1..=100).for_each(|v| h.record(v));
        let s = LatencySummary::of(&h, &[50.0, 99.0, 100.0]);
        assert_eq!(
            (s.min, s.max, s.mean, s.n, s.overflow),
            (1, 100, 50.5, 100, 0)
        );
        assert_eq!(s.percentiles, [(50.0, 50), (99.0, 99), (100.0, 100)]);
        assert_eq!(s.bins.len(), 100);
    }

    #[test]
    fn empty_is_zeros_without_percentiles() {
        assert_eq!(
            LatencySummary::of(&Histogram::new(), &[50.0]),
            LatencySummary::default()
        );
    }

    #[test]
    fn merging_is_addition() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        a.record_n(10, 2);
        b.record_n(40, 1);
        let s = LatencySummary::of(&merged([&a, &b]), &[]);
        assert_eq!((s.n, s.mean, s.min, s.max), (3, 20.0, 10, 40));
        // Deviations -10, -10, 20: (100 + 100 + 400) / 2.
        assert_eq!(s.stddev, 300f64.sqrt());
    }
}
