//! A figure over many runs: levels between change points, and what changed.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartMark, ChartSeries, MarkPosition, SeriesShape,
};

use crate::provider_limits::change_point::segments;

/// The method, as pages and documents name it.
pub const TREND_METHOD: &str = "PELT (Killick, Fearnhead and Eckley 2012): changes of the mean, penalty 3 ln n, noise from the median absolute \
                                difference of neighbours; changes below 3 % are ignored";
/// Fewer runs than this after a change do not confirm it.
const CONFIRMED: usize = 3;

/// Runs with one mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index of the first run.
    pub from: usize,
    /// Index after the last one.
    pub to: usize,
    /// Mean of its values.
    pub mean: f64,
    /// Its mean divided by that of the level before, minus 1; `None` for the first level.
    pub change: Option<f64>,
    /// Whether enough runs follow the change.
    pub is_confirmed: bool,
}

impl Level {
    /// Whether the change to this level is for the worse. `more_is_better` is true of rates, false of latencies.
    #[must_use]
    pub fn is_regression(&self, more_is_better: bool) -> bool {
        self.is_confirmed
            && self
                .change
                .is_some_and(|change| (change < 0.0) == more_is_better)
    }
}

/// The levels of `values`, which are in the order of their runs. Each level after the first begins at a change point.
#[must_use]
pub fn trend(values: &[f64]) -> Vec<Level> {
    let mut before: Option<f64> = None;
    segments(values)
        .into_iter()
        .map(|segment| {
            let change = before
                .filter(|mean| *mean != 0.0)
                .map(|mean| segment.mean / mean - 1.0);
            before = Some(segment.mean);
            Level {
                from: segment.from,
                to: segment.to,
                mean: segment.mean,
                change,
                is_confirmed: segment.to - segment.from >= CONFIRMED,
            }
        })
        .collect()
}

/// The values with their levels. `names` are those of the runs, as many as `values`.
#[must_use]
pub fn trend_chart(
    title: &str,
    y: ChartAxis,
    names: &[String],
    values: &[f64],
    levels: &[Level],
) -> Chart {
    let place = |at: usize| at as f64;
    let points = values
        .iter()
        .enumerate()
        .map(|(at, value)| (place(at), *value));
    let means = levels.iter().flat_map(|level| {
        let last = level.to.saturating_sub(1);
        [(place(level.from), level.mean), (place(last), level.mean)]
    });
    let mut means: Vec<(f64, f64)> = means.collect();
    means.dedup_by_key(|(x, _)| *x);
    let marks = levels.iter().filter_map(|level| {
        let change = level.change?;
        Some(ChartMark {
            at: MarkPosition::Up(place(level.from)),
            label: format!("{:+.0} %", 100.0 * change),
            panel: None,
        })
    });
    Chart {
        name: "trend".into(),
        title: title.to_owned(),
        x: ChartAxis {
            title: "Run".into(),
            scale: AxisScale::Names(names.to_vec()),
            ..ChartAxis::default()
        },
        y: vec![y],
        marks: marks.collect(),
        body: ChartBody::Series(vec![
            ChartSeries {
                name: "Run".into(),
                // Dots, so that the names are in a legend: both lines end at about the same value.
                shape: SeriesShape::Dots,
                points: points.collect(),
                ..ChartSeries::default()
            },
            ChartSeries {
                name: "Mean of the level".into(),
                shape: SeriesShape::Thin,
                points: means,
                colour: 1,
                dashed: true,
                ..ChartSeries::default()
            },
        ]),
        notes: vec![format!("Change points: {TREND_METHOD}.")],
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 uniform numbers of the minimal standard generator (Park and Miller 1988) make a normal one.
    fn noisy(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut state = seed;
        let mut normal = || {
            let sum: f64 = (0..12)
                .map(|_| {
                    state = state * 48_271 % 2_147_483_647;
                    state as f64 / 2_147_483_647.0
                })
                .sum();
            sum - 6.0
        };
        (0..count)
            .map(|at| level(at) * (1.0 + 0.02 * normal()))
            .collect()
    }

    #[test]
    fn a_slower_firmware_is_one_regression() {
        let values = noisy(7, 60, |at| if at < 40 { 100_000.0 } else { 88_000.0 });
        let levels = trend(&values);
        assert_eq!(levels.len(), 2, "{levels:?}");
        // One run may belong to either side within the noise.
        assert!((39..=41).contains(&levels[1].from), "{levels:?}");
        let change = levels[1].change.expect("a change");
        assert!((-0.14..=-0.10).contains(&change), "{change}");
        assert!(levels[1].is_regression(true) && !levels[1].is_regression(false));
        assert!(!levels[0].is_regression(true));
    }

    /// Of 200 series without a change, at most 5 % may have one: the penalty of 3 ln n keeps it well below.
    #[test]
    fn noise_alone_is_no_change() {
        let wrong = (1..=200)
            .filter(|seed| trend(&noisy(*seed * 7919, 50, |_| 100_000.0)).len() > 1)
            .count();
        assert!(wrong <= 10, "{wrong} of 200");
    }

    #[test]
    fn one_last_run_confirms_nothing() {
        let mut values = noisy(3, 30, |_| 100_000.0);
        values.push(60_000.0);
        let levels = trend(&values);
        let last = levels.last().expect("a level");
        assert!(last.to == 31 && !last.is_regression(true), "{levels:?}");
        values.extend([60_500.0, 59_800.0, 60_200.0]);
        assert!(
            trend(&values)
                .last()
                .is_some_and(|level| level.is_regression(true))
        );
    }

    #[test]
    fn a_chart_has_the_values_and_the_changes() {
        let values = [10.0, 10.0, 10.0, 5.0, 5.0, 5.0];
        let names: Vec<String> = (1..=6).map(|n| format!("r{n}")).collect();
        let chart = trend_chart("t", ChartAxis::default(), &names, &values, &trend(&values));
        assert_eq!(chart.marks.len(), 1);
        assert_eq!(
            (chart.marks[0].at, chart.marks[0].label.as_str()),
            (MarkPosition::Up(3.0), "-50 %")
        );
        assert_eq!(
            trend_chart("t", ChartAxis::default(), &[], &[], &trend(&[])).marks,
            []
        );
    }
}
