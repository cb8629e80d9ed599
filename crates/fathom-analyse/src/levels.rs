//! Shares by class: depths, batch sizes and latency ranges.
//!
//! As in fio, a class that is not empty has at least 0.1 % (depths) or 0.01 % (latencies), so that
//! it is not printed as zero.

use fathom_model::Histogram;

const LEAST_DEPTH_PERCENT: f64 = 0.1;
const LEAST_LATENCY_PERCENT: f64 = 0.01;
/// Upper ends of the classes; the last one (1000) is the next unit.
const EDGES: [u64; 9] = [2, 4, 10, 20, 50, 100, 250, 500, 750];

/// Shares of depth or batch classes in percent.
pub(crate) fn depth_percents(levels: &[u64; 7]) -> [f64; 7] {
    let total = levels.iter().sum();
    levels.map(|n| at_least(n, total, LEAST_DEPTH_PERCENT))
}

/// Shares of the ranges below 1 us, below 1 ms, and above.
pub(crate) struct LatencyRanges {
    pub ns: [f64; 10],
    pub us: [f64; 10],
    pub ms: [f64; 12],
}

/// The ranges of the latencies of `histogram`. A bucket across an edge counts in the range of its
/// middle.
pub(crate) fn latency_ranges(histogram: &Histogram) -> LatencyRanges {
    let (mut ns, mut us, mut ms) = ([0; 10], [0; 10], [0; 12]);
    for (middle, n) in histogram.buckets() {
        match middle as u64 {
            value if value < 1_000 => ns[class(value)] += n,
            value if value < 1_000_000 => us[class(value / 1_000)] += n,
            value => ms[long_class(value / 1_000_000)] += n,
        }
    }
    ms[11] += histogram.overflow();
    let total = histogram.count();
    let percent = |n| at_least(n, total, LEAST_LATENCY_PERCENT);
    LatencyRanges {
        ns: ns.map(percent),
        us: us.map(percent),
        ms: ms.map(percent),
    }
}

fn class(value: u64) -> usize {
    EDGES.partition_point(|edge| *edge <= value)
}

fn long_class(ms: u64) -> usize {
    match ms {
        2000.. => 11,
        1000.. => 10,
        _ => class(ms),
    }
}

fn at_least(n: u64, total: u64, least: f64) -> f64 {
    if n == 0 {
        0.0
    } else {
        (n as f64 / total as f64 * 100.0).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_class_is_not_zero() {
        let percents = depth_percents(&[9_999, 0, 0, 0, 0, 0, 1]);
        assert_eq!(percents[0], 99.99);
        assert_eq!(percents[6], 0.1);
        assert_eq!(depth_percents(&[0; 7]), [0.0; 7]);
    }

    #[test]
    fn latencies_fall_between_the_edges() {
        let mut h = Histogram::new();
        // 1 ns, 3 ns, 200 ns; 1 us, 20.5 us; 1 ms, 1.5 s, 3 s.
        [
            1,
            3,
            200,
            1_000,
            20_500,
            1_000_000,
            1_500_000_000,
            3_000_000_000,
        ]
        .iter()
        .for_each(|v| h.record(*v));
        let r = latency_ranges(&h);
        assert_eq!(r.ns, [12.5, 12.5, 0., 0., 0., 0., 12.5, 0., 0., 0.]);
        assert_eq!(r.us, [12.5, 0., 0., 0., 12.5, 0., 0., 0., 0., 0.]);
        assert_eq!(r.ms, [12.5, 0., 0., 0., 0., 0., 0., 0., 0., 0., 12.5, 12.5]);
    }
}
