//! Reduces long series to fewer points and keeps the extremes.

/// Returns about `most` points: the series is divided into equal parts, and the first, the smallest
/// and the largest value of each are kept in order. Nothing is averaged, so no peak or dip is lost.
/// (M4 without the last of each part: Jugel and others, VLDB 2014.)
#[must_use]
pub fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most.max(4) {
        return points.to_vec();
    }
    let part = points.len().div_ceil(most.max(4) / 2);
    let mut kept = Vec::with_capacity(most + 2);
    for piece in points.chunks(part) {
        let by = |a: &(usize, &(f64, f64)), b: &(usize, &(f64, f64))| a.1.1.total_cmp(&b.1.1);
        let low = piece
            .iter()
            .enumerate()
            .min_by(by)
            .map_or(0, |(place, _)| place);
        let high = piece
            .iter()
            .enumerate()
            .max_by(by)
            .map_or(0, |(place, _)| place);
        kept.push(piece[low.min(high)]);
        if low != high {
            kept.push(piece[low.max(high)]);
        }
    }
    if let Some(last) = points.last().filter(|last| kept.last() != Some(last)) {
        kept.push(*last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::thin;

    #[test]
    fn a_million_points_keep_every_extreme_part_by_part() {
        let mut points: Vec<(f64, f64)> = (0..1_000_000).map(|n| (f64::from(n), 100.0)).collect();
        points[123_456].1 = 0.0;
        points[765_432].1 = 1e6;
        let thinned = thin(&points, 1000);
        assert!(thinned.len() <= 1001, "{}", thinned.len());
        assert!(thinned.contains(&(123_456.0, 0.0)) && thinned.contains(&(765_432.0, 1e6)));
        assert!(
            thinned.windows(2).all(|two| two[0].0 < two[1].0),
            "in order"
        );
        assert_eq!(thinned.last(), points.last());
    }

    #[test]
    fn short_series_are_unchanged() {
        let points = vec![(0.0, 1.0), (1.0, 2.0)];
        assert_eq!(thin(&points, 1000), points);
        assert!(thin(&[], 10).is_empty());
    }
}
