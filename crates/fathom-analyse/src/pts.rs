//! Steady state as the SNIA Solid State Storage Performance Test Specification (PTS) 2.0.2 defines
//! it.

use crate::figures::{count, percent};

/// Rounds of the measurement window.
pub const PTS_WINDOW: usize = 5;
/// Rounds after which the procedure stops, steady or not.
pub const PTS_ROUNDS: usize = 25;
/// Values are integers in units of 2^-20, so that sums and comparisons are exact.
const PARTS: f64 = (1 << 20) as f64;

/// Steady-state check of five rounds of one tracked value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PtsWindow {
    /// Mean of the five.
    pub mean: f64,
    /// Maximum minus minimum.
    pub excursion: f64,
    /// Slope of the least-squares line, per round.
    pub slope: f64,
    /// Value of that line in the first of the five rounds.
    pub start: f64,
    /// The excursion is at most 20 % of the mean.
    pub level: bool,
    /// The line rises or falls by at most 10 % of the mean over the window, which is four rounds
    /// long.
    pub flat: bool,
}

impl PtsWindow {
    /// Both conditions hold.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.level && self.flat
    }
}

/// Checks five rounds. The comparison uses integers: 25 x (max - min) <= sum, and 20 x |sum of (i -
/// 2) y| <= sum.
#[must_use]
pub fn pts_window(values: &[f64; PTS_WINDOW]) -> PtsWindow {
    let parts = values.map(|value| (value * PARTS).round() as i128);
    let sum: i128 = parts.iter().sum();
    let excursion = parts.iter().max().expect("five") - parts.iter().min().expect("five");
    let trend: i128 = parts
        .iter()
        .zip(-2_i128..)
        .map(|(value, place)| place * value)
        .sum();
    let mean = sum as f64 / 5.0 / PARTS;
    let slope = trend as f64 / 10.0 / PARTS;
    PtsWindow {
        mean,
        excursion: excursion as f64 / PARTS,
        slope,
        start: mean - 2.0 * slope,
        level: 25 * excursion <= sum,
        flat: 20 * trend.abs() <= sum,
    }
}

/// The last five rounds of each tracked value; `None` before the fifth round.
#[must_use]
pub fn pts_windows(tracked: &[Vec<f64>]) -> Option<Vec<PtsWindow>> {
    let windows = tracked
        .iter()
        .map(|series| series.last_chunk::<PTS_WINDOW>().map(pts_window));
    windows
        .collect::<Option<Vec<_>>>()
        .filter(|windows| !windows.is_empty())
}

/// The first round, counted from one, in which the windows of all tracked values are steady.
#[must_use]
pub fn pts_steady_round(tracked: &[Vec<f64>]) -> Option<usize> {
    let rounds = tracked.iter().map(Vec::len).min()?;
    let judged = |series: &Vec<f64>, round: usize| {
        series[..round].last_chunk::<PTS_WINDOW>().map(pts_window)
    };
    (PTS_WINDOW..=rounds).find(|round| {
        tracked
            .iter()
            .all(|series| judged(series, *round).is_some_and(|window| window.is_steady()))
    })
}

/// Describes a window: `name` is the tracked value, `round` the last of the five.
#[must_use]
pub fn pts_sentence(name: &str, round: usize, window: &PtsWindow) -> String {
    let share = |value: f64| {
        if window.mean > 0.0 {
            percent(100.0 * value / window.mean)
        } else {
            "?".to_owned()
        }
    };
    let verdict = match (window.level, window.flat) {
        (true, true) => "steady",
        (false, true) => "not steady: it varies too much",
        (true, false) => "not steady: it has a trend",
        (false, false) => "not steady: it varies too much and has a trend",
    };
    let line = 4.0 * window.slope.abs();
    format!(
        "{name}, rounds {} to {round}: {verdict}; mean {}, largest less smallest {} of it (20 % allowed), best fit {} over the window (10 % allowed).",
        round + 1 - PTS_WINDOW,
        figure(window.mean),
        share(window.excursion),
        share(line)
    )
}

fn figure(value: f64) -> String {
    if value >= 1000.0 {
        count(value.round() as u64)
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An independent implementation of the standard in fractions of integers, with the general
    /// formula of the least-squares slope.
    fn oracle(y: [i128; 5]) -> bool {
        let n = 5;
        let x = [1_i128, 2, 3, 4, 5];
        let (sx, sy): (i128, i128) = (x.iter().sum(), y.iter().sum());
        let sxy: i128 = x.iter().zip(y).map(|(x, y)| x * y).sum();
        let sxx: i128 = x.iter().map(|x| x * x).sum();
        // slope = numerator / denominator; mean = sy / n.
        let (numerator, denominator) = (n * sxy - sx * sy, n * sxx - sx * sx);
        let range = y.iter().max().expect("five") - y.iter().min().expect("five");
        // range <= 20 / 100 x sy / n
        let level = range * 100 * n <= 20 * sy;
        // |slope| x (5 - 1) <= 10 / 100 x sy / n
        let flat = numerator.abs() * 4 * 100 * n <= 10 * sy * denominator;
        level && flat
    }

    /// A linear congruential generator (Knuth, MMIX), so that the series are the same everywhere.
    fn next(state: &mut u64, below: u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    /// 200 series of 25 rounds that fall to a level, with different noise: each window and the
    /// first steady round agree with the standard's arithmetic.
    #[test]
    fn two_hundred_series_are_judged_as_the_standard_does() {
        let mut state = 20_201_001;
        let (mut accepted, mut windows) = (0, [0, 0]);
        for number in 0..200_u64 {
            let (level, noise) = (1_000 + next(&mut state, 100_000), 1 + number % 90);
            let fresh = level * (1 + next(&mut state, 5));
            let series: Vec<u64> = (0..25_u64)
                .map(|round| {
                    let falls = level + (fresh - level) / (1 + round * round * (1 + number % 3));
                    falls - falls * noise / 200 + next(&mut state, falls * noise / 100 + 1)
                })
                .collect();
            let values: Vec<f64> = series.iter().map(|value| *value as f64).collect();
            let exact: Vec<bool> = series
                .windows(5)
                .map(|five| oracle(std::array::from_fn(|i| i128::from(five[i]))))
                .collect();
            let ours: Vec<bool> = values
                .windows(5)
                .map(|five| pts_window(five.try_into().expect("five")).is_steady())
                .collect();
            assert_eq!(ours, exact, "{series:?}");
            let first = exact.iter().position(|steady| *steady).map(|at| at + 5);
            assert_eq!(pts_steady_round(&[values]), first);
            accepted += usize::from(first.is_some());
            exact
                .iter()
                .for_each(|steady| windows[usize::from(*steady)] += 1);
        }
        assert!(
            (20..180).contains(&accepted),
            "both results must be common: {accepted} of 200 accepted"
        );
        assert!(windows.iter().all(|n| *n > 500), "{windows:?}");
    }

    /// The limits are inclusive: 20 % of 100 is 20, and a rise of 10 over four rounds is a slope of
    /// 2.5.
    #[test]
    fn the_limits_themselves_are_allowed() {
        for (values, steady) in [
            ([90.0, 110.0, 100.0, 110.0, 90.0], true),
            ([90.0, 110.0, 101.0, 110.0, 90.0], true),
            ([90.0, 110.0, 99.0, 110.0, 90.0], false),
            ([95.0, 97.5, 100.0, 102.5, 105.0], true),
            ([95.0, 97.5, 100.0, 102.5, 105.1], false),
            ([105.0, 102.5, 100.0, 97.5, 95.0], true),
        ] {
            assert_eq!(pts_window(&values).is_steady(), steady, "{values:?}");
        }
        let window = pts_window(&[95.0, 97.5, 100.0, 102.5, 105.0]);
        assert_eq!(
            (window.mean, window.excursion, window.slope, window.start),
            (100.0, 10.0, 2.5, 95.0)
        );
    }

    /// Other interpretations of the rule, +-20 % around the mean and 10 % per round, would accept
    /// these.
    #[test]
    fn looser_interpretations_of_the_rule_are_not_used() {
        assert!(!pts_window(&[85.0, 115.0, 100.0, 115.0, 85.0]).is_steady());
        let climbing = pts_window(&[92.0, 96.0, 100.0, 104.0, 108.0]);
        assert!(climbing.level && !climbing.flat, "{climbing:?}");
    }

    #[test]
    fn all_tracked_values_must_be_steady_together() {
        let (level, falls) = (
            vec![100.0; 7],
            vec![200.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0],
        );
        assert_eq!(pts_steady_round(std::slice::from_ref(&level)), Some(5));
        assert_eq!(pts_steady_round(&[level.clone(), falls]), Some(6));
        assert_eq!(
            pts_steady_round(&[level, vec![100.0; 4]]),
            None,
            "four rounds are not a window"
        );
        assert_eq!(pts_steady_round(&[]), None);
    }

    #[test]
    fn the_figures_are_in_the_sentence() {
        let window = pts_window(&[92_000.0, 96_000.0, 100_000.0, 104_000.0, 108_000.0]);
        let sentence = pts_sentence("4 KiB 0/100", 9, &window);
        assert!(
            sentence.starts_with(
                "4 KiB 0/100, rounds 5 to 9: not steady: it has a trend; mean 100,000,"
            ),
            "{sentence}"
        );
        assert!(
            sentence.contains(
                "16 % of it (20 % allowed), best fit 16 % over the window (10 % allowed)"
            ),
            "{sentence}"
        );
    }
}
