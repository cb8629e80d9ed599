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

fn three_figures(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
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
