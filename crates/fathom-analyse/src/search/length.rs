//! Length of trials near the highest load, and their uncertainty.
//!
//! Three effects let a trial meet the limits although its load would not meet them permanently:
//!
//! * *Its end.* If a load exceeds the capacity by a share d, the response time grows by d seconds
//!   each second. After T seconds the percentile q of a trial is q d T, which is within a limit L
//!   as long as d < L / (q T).
//! * *A credit.* A rate limiter that was idle passes the first I/Os at once. Linux's blk-throttle
//!   counts in slices of 100 ms (block/blk-throttle.c, `throtl_slice`), so a load above the limit
//!   does not queue until a tenth of a second's worth is used up.
//! * *Chance.* With Poisson arrivals the number and the clusters of arrivals vary between trials. A
//!   queue near saturation has a response time with a tail exp(-a R (1 - rho)); if the share beyond
//!   a limit must be 1 - q, the load is known after N I/Os with a standard error of
//!   1 / (ln(1 / (1 - q)) sqrt((1 - q) N)), whatever the limit, the service time and the number of servers, if the
//!   excursions beyond the limit are independent. They are clustered, and service times vary too:
//!   in simulations, M/D/1 and M/M/1 with limits of 3 to 200 service times have 1.3 to 2 times
//!   that, so a factor of two is used. For the mean it is sqrt(8 / N) (M/M/1 in heavy traffic:
//!   Whitt, Planning Queueing Simulations, Management Science 35, 1989).

use super::{LatencyFigure, SloLimit};

/// Seconds' worth of I/O that a limiter may pass at once.
const CREDIT: f64 = 0.1;
/// Factor of the standard error for clustered excursions.
const CLUSTERS: f64 = 2.0;
/// Standard errors to each side.
const SIGMAS: f64 = 2.0;

/// Arrivals of an open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadArrivals {
    /// Independent of each other, like those of many users.
    #[default]
    Poisson,
    /// At equal intervals.
    Even,
}

/// Seconds of a trial that distinguish a load `precision` (a share) above the capacity from one
/// below it.
#[must_use]
pub fn trial_seconds(
    limits: &[SloLimit],
    precision: f64,
    load: f64,
    arrivals: LoadArrivals,
) -> f64 {
    let each = limits.iter().map(|limit| {
        let ios = (deviation(limit.figure, arrivals) / precision).powi(2);
        ((seconds(limit) + CREDIT) / precision).max(ios / load.max(1.0))
    });
    each.fold(0.0, f64::max)
}

/// The share by which a load may be too high and still meet `limits` in a trial of `length`
/// seconds.
#[must_use]
pub fn trial_error(limits: &[SloLimit], load: f64, length: f64, arrivals: LoadArrivals) -> f64 {
    let each = limits.iter().map(|limit| {
        let chance = SIGMAS * deviation(limit.figure, arrivals) / (load * length).max(1.0).sqrt();
        (seconds(limit) + CREDIT) / length.max(1e-3) + chance
    });
    each.fold(0.0, f64::max)
}

/// The response time that a growing queue may reach at the end of a trial within the limit.
fn seconds(limit: &SloLimit) -> f64 {
    let share = match limit.figure {
        LatencyFigure::Percentile(percent) => percent / 100.0,
        // The mean of a value that grows from zero is half of its final value.
        LatencyFigure::Mean => 0.5,
        LatencyFigure::Max => 1.0,
    };
    limit.most.get() as f64 * 1e-9 / share
}

/// The standard error of the load after one I/O, as a share.
fn deviation(figure: LatencyFigure, arrivals: LoadArrivals) -> f64 {
    match (figure, arrivals) {
        (_, LoadArrivals::Even) => 0.0,
        (LatencyFigure::Mean, _) => 8_f64.sqrt(),
        // The maximum does not converge in longer trials.
        (LatencyFigure::Max, _) => 1.0,
        (LatencyFigure::Percentile(percent), _) => {
            let beyond = 1.0 - percent / 100.0;
            CLUSTERS / (-beyond.ln() * beyond.sqrt())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Vec<SloLimit> {
        vec![text.parse().expect("a limit")]
    }

    /// 2 / (ln 100 x 0.1) = 4.343: 188,600 I/Os for 1 %. A limit of 50 ms and a slice of 100 ms
    /// need 15 s for 1 %.
    #[test]
    fn the_length_follows_from_limit_precision_and_load() {
        let ios = 1000.0 * trial_seconds(&limit("p99<=1ms"), 0.01, 1000.0, LoadArrivals::Poisson);
        assert!((ios - 188_600.0).abs() < 50.0, "{ios}");
        let even = trial_seconds(&limit("p99<=50ms"), 0.01, 1000.0, LoadArrivals::Even);
        assert!((even - 15.05).abs() < 0.01, "{even}");
        let fast = trial_seconds(&limit("p50<=1ms"), 0.01, 1e6, LoadArrivals::Poisson);
        assert!((fast - 10.2).abs() < 0.01, "{fast}");
    }

    /// The uncertainty of a trial of that length: the precision for its end, and two standard
    /// errors.
    #[test]
    fn the_uncertainty_decreases_with_the_length() {
        let limits = limit("p99<=50ms");
        assert!((trial_error(&limits, 1000.0, 15.05, LoadArrivals::Even) - 0.01).abs() < 1e-4);
        let error = |seconds: f64| trial_error(&limits, 1000.0, seconds, LoadArrivals::Poisson);
        // (50 ms / 0.99 + 100 ms) / 47.15 s = 0.32 %; 2 x 4.343 / sqrt(47,150) = 4.0 %.
        assert!((error(47.15) - 0.0432).abs() < 1e-3, "{}", error(47.15));
        assert!(error(10.0) > error(20.0) && error(20.0) > error(60.0));
    }
}
