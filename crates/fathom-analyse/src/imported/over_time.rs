//! How even imported results are over time, each direction for itself.

use fathom_model::{Direction, DirectionOverTime, Entry, OverTime};

/// Fewer intervals have no standard deviation worth showing.
const FEWEST: usize = 5;
/// A last interval that is shorter than this share of the first is a rest.
const WHOLE: f64 = 0.5;

/// The intervals of all directions of all entries: those of the logs, otherwise fio's own samples of the rate.
pub(super) fn over_time(entries: &[Entry]) -> Vec<DirectionOverTime> {
    let mut all = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        for direction in Direction::ALL {
            all.extend(of_direction(number, entry, direction));
        }
    }
    all
}

fn of_direction(number: usize, entry: &Entry, direction: Direction) -> Option<DirectionOverTime> {
    let summary = &entry.directions[direction];
    if summary.iops <= 0.0 {
        return None;
    }
    let usual = entry
        .series
        .first()
        .map_or(0.0, |first| first.length.as_secs_f64());
    let mut whole: Vec<_> = entry.series.iter().collect();
    if whole
        .last()
        .is_some_and(|last| last.length.as_secs_f64() < usual * WHOLE)
    {
        whole.pop();
    }
    let rates: Vec<f64> = whole
        .iter()
        .filter(|moment| moment.length.get() > 0)
        .map(|moment| moment.directions[direction].ios as f64 / moment.length.as_secs_f64())
        .collect();
    let latencies: Vec<f64> = whole
        .iter()
        .filter_map(|moment| Some(moment.directions[direction].mean? as f64))
        .collect();
    let samples = &summary.iops_samples;
    let iops = spread(&rates).or_else(|| {
        (samples.count >= FEWEST as u64 && samples.mean > 0.0).then_some(OverTime {
            intervals: samples.count,
            mean: samples.mean,
            deviation: samples.dev,
            least: samples.min,
            most: samples.max,
        })
    })?;
    Some(DirectionOverTime {
        entry: number,
        direction,
        iops,
        latency: spread(&latencies),
    })
}

fn spread(values: &[f64]) -> Option<OverTime> {
    let n = values.len();
    if n < FEWEST || values.iter().all(|value| *value == 0.0) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(OverTime {
        intervals: n as u64,
        mean,
        deviation: (squares / (n - 1) as f64).sqrt(),
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        most: values.iter().copied().fold(0.0, f64::max),
    })
}
