//! Durations.

use std::time::Duration;

use crate::Nanos;

/// Nanoseconds with the unit that suits, in three figures up to a second: `336 us`, `1.25 ms`, `12.34 s`, `2.0 h`.
#[must_use]
pub fn duration(ns: f64) -> String {
    match ns {
        _ if ns < 999.5 => format!("{ns:.0} ns"),
        _ if ns < 9.995e5 => format!("{} us", three_figures(ns / 1e3)),
        _ if ns < 9.995e8 => format!("{} ms", three_figures(ns / 1e6)),
        _ if ns < 6e11 => format!("{:.2} s", ns / 1e9),
        _ if ns < 3.6e12 => format!("{:.1} min", ns / 6e10),
        _ => format!("{:.1} h", ns / 3.6e12),
    }
}

/// A latency of a result as [`duration`]; `at least 17.1 s` for the last bin of fio, which has no upper bound.
#[must_use]
pub fn latency(ns: f64) -> String {
    if crate::is_fio_last_bin(ns as u64) {
        format!("at least {:.1} s", ns / 1e9)
    } else {
        duration(ns)
    }
}

fn three_figures(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// One unit for all times of a table, so that they can be compared at a glance.
///
/// ```
/// use fathom_model::format::TimeUnit;
///
/// let times = [336e3, 1.25e6];
/// let unit = TimeUnit::common(times);
/// assert_eq!(times.map(|ns| unit.format(ns)), ["336 us", "1,250 us"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    symbol: &'static str,
    ns: f64,
}

impl TimeUnit {
    const ALL: [TimeUnit; 4] = [
        TimeUnit {
            symbol: "ns",
            ns: 1.0,
        },
        TimeUnit {
            symbol: "us",
            ns: 1e3,
        },
        TimeUnit {
            symbol: "ms",
            ns: 1e6,
        },
        TimeUnit {
            symbol: "s",
            ns: 1e9,
        },
    ];
    /// The largest value has at most so many units, or the next unit is used.
    const MOST: f64 = 1e5;

    /// The unit of the smallest of `times` (nanoseconds; zeros do not count), or a larger one where the largest would have six
    /// digits or more.
    #[must_use]
    pub fn common(times: impl IntoIterator<Item = f64>) -> TimeUnit {
        let used = times.into_iter().filter(|ns| *ns > 0.0 && ns.is_finite());
        let (low, high) = used.fold((f64::INFINITY, 0.0f64), |(low, high), ns| {
            (low.min(ns), high.max(ns))
        });
        let fits = |unit: &&TimeUnit| high < TimeUnit::MOST * unit.ns;
        let smallest = TimeUnit::ALL
            .iter()
            .rposition(|unit| low >= 0.9995 * unit.ns)
            .unwrap_or(0);
        let mut units = TimeUnit::ALL[if high > 0.0 { smallest } else { 0 }..].iter();
        units.find(fits).copied().unwrap_or(TimeUnit::ALL[3])
    }

    /// Nanoseconds in this unit, in three figures or all digits of the whole number: `0.336 ms`, `1,250 us`.
    #[must_use]
    pub fn format(self, ns: f64) -> String {
        let value = ns / self.ns;
        let number = match value {
            v if v >= 999.5 => super::number::thousands(v.round() as u64),
            _ if self.ns == 1.0 || value == 0.0 => format!("{value:.0}"),
            v if v >= 0.9995 => three_figures(v),
            v if v >= 0.09995 => format!("{v:.3}"),
            v => format!("{v:.4}"),
        };
        format!("{number} {}", self.symbol)
    }
}

/// A time that was set, in hours, minutes and seconds: `30 s`, `1 min 30 s`, `100 h`, `1.50 s`.
#[must_use]
pub fn exact_time(time: Nanos) -> String {
    let ns = time.get();
    if ns == 0 {
        return "0 s".to_owned();
    }
    // From a minute on, parts of a second are left out: `duration` would say 1.0 h of 1 h 1 min 10 s.
    if ns < 60_000_000_000 && !ns.is_multiple_of(1_000_000_000) {
        return duration(ns as f64);
    }
    let s = ns / 1_000_000_000;
    let part =
        |n: u64, unit: &str| (n > 0).then(|| format!("{} {unit}", super::number::thousands(n)));
    let parts = [
        part(s / 3600, "h"),
        part(s / 60 % 60, "min"),
        part(s % 60, "s"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A time that passes, short enough for a status line: `2.5 s`, `45 s`, `4m 10s`, `2h 05m`.
#[must_use]
pub fn time_left(time: Duration) -> String {
    if time.as_millis() < 9950 && !time.as_millis().is_multiple_of(1000) {
        return format!("{:.1} s", time.as_secs_f64());
    }
    let s = time.as_secs_f64().round() as u64;
    match s {
        0..=99 => format!("{s} s"),
        100..=5999 => format!("{}m {:02}s", s / 60, s % 60),
        _ => format!("{}h {:02}m", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_figures() {
        let all = [
            0.0,
            12.0,
            336_400.0,
            999_600.0,
            1_250_000.0,
            2e6,
            948e6,
            1.003e9,
            12.34e9,
        ]
        .map(duration);
        assert_eq!(
            all,
            [
                "0 ns", "12 ns", "336 us", "1.00 ms", "1.25 ms", "2.00 ms", "948 ms", "1.00 s",
                "12.34 s"
            ]
        );
        assert_eq!([750e9, 7.2e12].map(duration), ["12.5 min", "2.0 h"]);
    }

    /// Regression 0505: latencies of one table were in microseconds and milliseconds.
    #[test]
    fn a_table_has_one_unit() {
        let table = |times: &[f64]| {
            let unit = TimeUnit::common(times.iter().copied());
            times.iter().map(|ns| unit.format(*ns)).collect::<Vec<_>>()
        };
        assert_eq!(table(&[336e3, 1.25e6, 0.0]), ["336 us", "1,250 us", "0 us"]);
        assert_eq!(table(&[60e3, 12e9]), ["0.0600 ms", "12,000 ms"]);
        assert_eq!(table(&[4.2e6, 19.9e6]), ["4.20 ms", "19.9 ms"]);
        assert_eq!(table(&[80.0, 990.0]), ["80 ns", "990 ns"]);
        assert_eq!(table(&[2e9, 1e15]), ["2.00 s", "1,000,000 s"]);
        assert_eq!(table(&[0.0]), ["0 ns"]);
    }

    #[test]
    fn exact_times_have_hours_minutes_and_seconds() {
        let at = |ms: u64| exact_time(Nanos::from_millis(ms));
        assert_eq!(
            [0, 1500, 30_000, 90_000, 3_600_000, 86_400_000].map(at),
            ["0 s", "1.50 s", "30 s", "1 min 30 s", "1 h", "24 h"]
        );
        assert_eq!(
            [99_940, 3_670_010].map(at),
            ["1 min 39 s", "1 h 1 min 10 s"]
        );
    }

    #[test]
    fn remaining_times_are_short() {
        let at = |s: u64| time_left(Duration::from_secs(s));
        assert_eq!(time_left(Duration::from_millis(2500)), "2.5 s");
        assert_eq!([45, 250, 7500].map(at), ["45 s", "4m 10s", "2h 05m"]);
    }
}
