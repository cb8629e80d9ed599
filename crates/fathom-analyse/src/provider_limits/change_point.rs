//! Change points of a series: where its mean changes.
//!
//! The method is PELT, the exact minimum of a penalised cost over all segmentations, with pruning
//! (Killick, Fearnhead and Eckley, "Optimal Detection of Changepoints With a Linear Computational
//! Cost", Journal of the American Statistical Association 107, 2012). The cost of a segment is
//! its sum of squares around its mean, in units of the variance of the noise. The penalty of a
//! change is 3 ln n, as in the modified Bayesian information criterion for changes of a mean (Zhang
//! and Siegmund, Biometrics 63, 2007).
//!
//! The noise is estimated from the differences of neighbours by their median absolute deviation, so
//! that the changes themselves do not count as noise.

/// Median absolute deviation to standard deviation of a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Noise below this share of the median is not resolved: a perfectly even series has no changes of
/// a thousandth.
const FLOOR: f64 = 0.005;
/// Fewer values than this are outliers if the segments on both sides have the same mean.
const SHORT: usize = 3;
/// Neighbouring segments with means this close are one, relative to the larger.
const SAME: f64 = 0.03;

/// Adjacent values with one mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub from: usize,
    pub to: usize,
    pub mean: f64,
}

/// The segments of `values`, in order. Differences of less than 3 % are not a change, and neither are
/// one or two outliers inside a segment.
pub(crate) fn segments(values: &[f64]) -> Vec<Segment> {
    let ends = pelt(values, noise(values));
    let mut found: Vec<Segment> = Vec::new();
    let mut from = 0;
    for to in ends {
        found.push(segment(values, from, to));
        from = to;
    }
    merge(values, found)
}

fn segment(values: &[f64], from: usize, to: usize) -> Segment {
    let mean = values[from..to].iter().sum::<f64>() / (to - from) as f64;
    Segment { from, to, mean }
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

/// Joins segments that differ too little, and outliers between equal neighbours.
fn merge(values: &[f64], mut found: Vec<Segment>) -> Vec<Segment> {
    loop {
        let outlier = (0..found.len()).find_map(|first| {
            let last = (first + 2..found.len())
                .take_while(|&last| found[last].from - found[first].to < SHORT)
                .find(|&last| is_same(found[first].mean, found[last].mean))?;
            Some((first, last))
        });
        let close = (1..found.len()).find(|&at| is_same(found[at - 1].mean, found[at].mean));
        let (first, last) = match (outlier, close) {
            (Some(both), _) => both,
            (None, Some(at)) => (at - 1, at),
            (None, None) => return found,
        };
        let joined = segment(values, found[first].from, found[last].to);
        found.splice(first..=last, [joined]);
    }
}

/// Standard deviation of the noise.
fn noise(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.to_vec();
    let floor = FLOOR * median(&mut sorted).abs();
    let mut differences: Vec<f64> = values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    let sigma = MAD_TO_SIGMA * median(&mut differences) / std::f64::consts::SQRT_2;
    sigma.max(floor).max(f64::MIN_POSITIVE)
}

/// The median; 0 of nothing.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// The ends of the segments of the cheapest segmentation.
fn pelt(values: &[f64], sigma: f64) -> Vec<usize> {
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    let penalty = 3.0 * (n as f64).ln();
    let mut sums = vec![(0.0, 0.0); n + 1];
    for (at, value) in values.iter().enumerate() {
        let scaled = value / sigma;
        sums[at + 1] = (sums[at].0 + scaled, sums[at].1 + scaled * scaled);
    }
    let cost = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    let mut best = vec![-penalty; n + 1];
    let mut before = vec![0; n + 1];
    let mut candidates = vec![0];
    for to in 1..=n {
        let (at, value) = candidates
            .iter()
            .map(|&from| (from, best[from] + cost(from, to) + penalty))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("a candidate remains");
        (before[to], best[to]) = (at, value);
        candidates.retain(|&from| best[from] + cost(from, to) <= value);
        candidates.push(to);
    }
    let mut ends = vec![n];
    while let Some(&end) = ends.last().filter(|end| before[**end] > 0) {
        ends.push(before[end]);
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise with a known seed: the minimal standard generator of Park and Miller (1988), twelve
    /// uniform numbers for a normal one.
    fn normal(count: usize, sigma: f64) -> Vec<f64> {
        let mut state: u64 = 1;
        let mut uniform = || {
            state = state * 48_271 % 2_147_483_647;
            state as f64 / 2_147_483_647.0
        };
        (0..count)
            .map(|_| sigma * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0))
            .collect()
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let noise = normal(300, 20.0);
        let level = |at: usize| match at {
            0..120 => 3000.0,
            120..220 => 1000.0,
            _ => 1500.0,
        };
        let values: Vec<f64> = (0..300).map(|at| level(at) + noise[at]).collect();
        let found: Vec<(usize, usize)> = segments(&values).iter().map(|s| (s.from, s.to)).collect();
        assert_eq!(found, [(0, 120), (120, 220), (220, 300)]);
    }

    #[test]
    fn noise_and_single_outliers_are_no_change() {
        let mut values: Vec<f64> = normal(300, 30.0).iter().map(|x| 1000.0 + x).collect();
        assert_eq!(segments(&values).len(), 1);
        values[100] = 100.0;
        values[101] = 1900.0;
        assert_eq!(segments(&values).len(), 1);
        assert_eq!(segments(&[500.0; 40]).len(), 1);
        assert_eq!(segments(&[]), []);
    }
}
