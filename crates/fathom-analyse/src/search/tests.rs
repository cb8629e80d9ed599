//! Searches on devices whose answer is known.
#![cfg(test)]

use fathom_model::{CellFigures, CellLatency, Histogram, MaxLoad, Nanos};
use fathom_sim::{Arrivals, Servers, Service};

use super::*;
use crate::{MeasuredLoad, judge, response};

const BOUNDS: SearchBounds = SearchBounds {
    start: 5_000,
    least: 10,
    most: 1_000_000,
    precision: 0.01,
};

/// Runs a search to its end; returns the answer and the number of trials.
fn search(
    bounds: SearchBounds,
    mut judge: impl FnMut(SearchLoad, u64) -> SearchVerdict,
) -> (SearchAnswer, u64) {
    let mut search = Search::new(bounds);
    for trial in 0..1_000 {
        match search.step() {
            SearchStep::Done(answer) => return (answer, trial),
            SearchStep::Measure(load) => search.learn(judge(load, trial)),
        }
    }
    panic!("no answer after 1,000 trials: {search:?}")
}

fn sharp(kept: bool) -> SearchVerdict {
    SearchVerdict { kept, sure: true }
}

/// Without noise the edge is exact.
#[test]
fn a_sharp_edge_is_found_wherever_it_is() {
    for edge in [11, 500, 4_999, 5_000, 12_345, 700_001, 999_999] {
        let (answer, trials) = search(BOUNDS, |at, _| sharp(at.load <= edge));
        let load = answer.load.expect("an answer");
        assert!(
            load <= edge && load as f64 >= edge as f64 / 1.01 - 1.0,
            "{edge}: {answer:?}"
        );
        assert!(
            answer.low == Some(load) && answer.high.is_some_and(|high| high > edge),
            "{edge}: {answer:?}"
        );
        assert!(trials < 30, "{edge}: {trials}");
    }
}

#[test]
fn edges_outside_the_bounds_are_reported() {
    let (nothing, _) = search(BOUNDS, |_, _| sharp(false));
    assert_eq!(
        nothing,
        SearchAnswer {
            load: None,
            low: None,
            high: Some(10),
            exceeded: Some(10),
            stopped_early: false,
        }
    );
    let (all, _) = search(BOUNDS, |_, _| sharp(true));
    assert_eq!(
        all,
        SearchAnswer {
            load: Some(1_000_000),
            low: Some(1_000_000),
            high: None,
            exceeded: None,
            stopped_early: false,
        }
    );
}

/// A short trial that was disturbed, or that ended before a queue grew, puts the bracket on the
/// wrong side of the edge. Regression 0270: the search never left the bracket.
#[test]
fn a_long_trial_corrects_a_short_one() {
    for (edge, wrong) in [(20_000, false), (3_000, true)] {
        let (answer, trials) = search(BOUNDS, |at, _| {
            let disturbed = !at.long && (4_000..=6_000).contains(&at.load);
            sharp(if disturbed { wrong } else { at.load <= edge })
        });
        let load = answer.load.expect("an answer") as f64;
        assert!(
            (0.98..=1.0).contains(&(load / edge as f64)),
            "{edge}: {answer:?}"
        );
        assert!(
            answer.high.is_some_and(|high| high > edge) && trials < 40,
            "{answer:?} after {trials}"
        );
    }
}

/// A search in which no trial is sure ends without an interval.
#[test]
fn a_search_without_a_sure_trial_ends() {
    let (answer, trials) = search(BOUNDS, |at, _| SearchVerdict {
        kept: at.load <= 12_345,
        sure: false,
    });
    assert!(
        answer
            .load
            .is_some_and(|load| (12_222..=12_345).contains(&load)),
        "{answer:?}"
    );
    assert_eq!((answer.low, answer.high), (None, None));
    assert!(trials < 60, "{trials}");
}

/// The cell figures of a trial on `device`: short ones take two seconds, long ones follow the rule,
/// with at least `ios` I/Os.
fn trial(
    device: Servers,
    coming: Arrivals,
    limits: &[SloLimit],
    at: SearchLoad,
    (seed, ios): (u64, u64),
) -> CellFigures {
    let (rate, how) = (
        at.load as f64,
        if coming == Arrivals::Even {
            LoadArrivals::Even
        } else {
            LoadArrivals::Poisson
        },
    );
    let seconds = if at.long {
        trial_seconds(limits, 0.01, rate, how)
            .clamp(12.0, 60.0)
            .max(ios as f64 / rate)
    } else {
        2.0
    };
    let seen = device.open_with(coming, rate, (rate * seconds) as u64, seed);
    let few = |all: &Histogram| {
        let p = |percent: f64| all.percentile(percent).unwrap_or(0.0);
        CellLatency {
            mean: all.mean(),
            p50: p(50.0),
            p90: p(90.0),
            p99: p(99.0),
            p999: p(99.9),
            p9999: p(99.99),
            max: 0.0,
        }
    };
    CellFigures {
        iops: seen.iops,
        offered: Some(rate),
        latency: few(&seen.latency),
        elapsed: Nanos::new(seen.elapsed_ns as u64),
        per_target: Vec::new(),
        parts: if at.long {
            seen.parts.iter().map(few).collect()
        } else {
            Vec::new()
        },
        ..CellFigures::default()
    }
}

/// The complete answer for a device under a limit.
fn search_for(device: Servers, coming: Arrivals, limit: &str, seed: u64, ios: u64) -> MaxLoad {
    let limits = vec![limit.parse::<SloLimit>().expect("a limit")];
    let arrivals = if coming == Arrivals::Even {
        LoadArrivals::Even
    } else {
        LoadArrivals::Poisson
    };
    let mut open = Vec::new();
    let bounds = SearchBounds {
        start: device.max_iops() as u64 / 2,
        least: device.max_iops() as u64 / 1000 + 1,
        most: (device.max_iops() * 1.25) as u64,
        precision: 0.01,
    };
    let (answer, _) = search(bounds, |at, number| {
        let figures = trial(device, coming, &limits, at, (seed * 1000 + number, ios));
        open.push((at.load, figures.clone()));
        judge(&limits, &figures)
    });
    let measured = MeasuredLoad {
        closed: Vec::new(),
        open,
        arrivals,
    };
    response("sim".into(), &limits, &measured, Some(answer))
        .max_load
        .expect("an answer")
}

/// M/M/1: p99 of the response time is ln(100) S / (1 - rho), so p99 <= L holds up to (1 - ln(100) S
/// / L) / S.
#[test]
fn the_most_iops_of_one_server_under_a_p99_limit() {
    let device = Servers {
        count: 1,
        mean_ns: 100_000.0,
        service: Service::Exponential,
        credit_ns: 0.0,
    };
    for (number, limit_ms) in [1.0, 2.0, 4.0].into_iter().enumerate() {
        let truth = (1.0 - 100_f64.ln() * 0.1 / limit_ms) * 10_000.0;
        let most = search_for(
            device,
            Arrivals::Poisson,
            &format!("p99<={limit_ms}ms"),
            1 + number as u64,
            800_000,
        );
        is_right(&most, truth);
    }
}

fn is_right(most: &MaxLoad, truth: f64) {
    let load = most.load.expect("an answer") as f64;
    assert!(
        (load / truth - 1.0).abs() < 0.02,
        "{load} instead of {truth}: {most:?}"
    );
    let (low, high) = (
        most.low.expect("a lower end") as f64,
        most.high.expect("an upper end") as f64,
    );
    assert!(
        low <= truth && truth <= high,
        "{low} to {high} without {truth}"
    );
}

/// Fixed service times and 16 servers: with a limit of 5 ms the queue meets it up to 0.3 % below
/// the maximum of 160,000 IOPS.
#[test]
fn the_most_iops_of_a_device_with_a_ceiling() {
    let device = Servers {
        count: 16,
        mean_ns: 100_000.0,
        service: Service::Fixed,
        credit_ns: 0.0,
    };
    let most = search_for(device, Arrivals::Poisson, "p99<=5ms", 9, 0);
    is_right(&most, device.max_iops());
}

/// A rate limiter of 1,000 a second with a slice of 50 ms. Six trials of two seconds at 1,018 a
/// second all end before any I/O waits, so that a search with short trials found 1,023, although no
/// load above 1,000 is possible. Regression 0271.
#[test]
fn the_rate_of_a_limiter_with_a_slice_is_not_overestimated() {
    let device = Servers {
        count: 1,
        mean_ns: 1e6,
        service: Service::Fixed,
        credit_ns: 50e6,
    };
    let short = device.open_with(Arrivals::Even, 1_018.0, 2_036, 1);
    assert!(
        short.latency.max().expect("values").as_millis() < 50,
        "a short trial shows nothing"
    );
    is_right(
        &search_for(device, Arrivals::Even, "p99<=50ms", 1, 0),
        1_000.0,
    );
}

/// How often the interval contains the true value: 95 % are stated. One server of 1 ms has the
/// largest noise: the longest trial, one minute, has only 45,000 I/Os.
#[test]
fn the_interval_contains_the_true_value() {
    let device = Servers {
        count: 1,
        mean_ns: 1e6,
        service: Service::Exponential,
        credit_ns: 0.0,
    };
    let truth = (1.0 - 100_f64.ln() / 20.0) * 1_000.0;
    let all: Vec<MaxLoad> = (0..40)
        .map(|seed| search_for(device, Arrivals::Poisson, "p99<=20ms", 100 + seed, 0))
        .collect();
    let holds = |most: &&MaxLoad| {
        most.low.is_none_or(|low| low as f64 <= truth)
            && most.high.is_none_or(|high| truth <= high as f64)
    };
    let held = all.iter().filter(holds).count();
    assert!(held >= 36, "{held} of 40: {all:?}");
    let off: f64 = all
        .iter()
        .map(|most| {
            most.load
                .map_or(1.0, |load| (load as f64 / truth - 1.0).abs())
        })
        .sum::<f64>()
        / 40.0;
    assert!(off < 0.02, "off by {off} in the mean");
}

/// The knee of eight servers with fixed times is eight, whatever the seed.
#[test]
fn the_knee_of_a_simulated_device() {
    let device = Servers {
        count: 8,
        mean_ns: 80_000.0,
        service: Service::Fixed,
        credit_ns: 0.0,
    };
    let points: Vec<crate::ClosedPoint> = [1, 2, 4, 8, 16, 32, 64]
        .into_iter()
        .map(|depth| {
            let seen = device.closed(depth, 50_000, 7);
            crate::ClosedPoint {
                depth,
                iops: seen.iops,
                mean_ns: seen.latency.mean(),
            }
        })
        .collect();
    let knees = crate::knees(&points);
    let depth = |rule| {
        knees
            .iter()
            .find(|knee| knee.rule == rule)
            .expect("every rule has a result")
            .depth
            .expect("a depth")
    };
    assert_eq!(depth(crate::KneeRule::Kneedle), 8.0);
    assert_eq!(depth(crate::KneeRule::NearlyAll), 8.0);
    assert_eq!(depth(crate::KneeRule::Twice), 16.0);
    assert!((depth(crate::KneeRule::Asymptotes) - 8.0).abs() < 0.05);
}

/// A search that receives the known trials again continues where it was.
#[test]
fn a_search_can_be_resumed() {
    let verdict = |load: u64, trial: u64| SearchVerdict {
        kept: load + (trial * 7919) % 60 <= 12_345,
        sure: trial.is_multiple_of(3),
    };
    let mut first = Search::new(BOUNDS);
    let mut search_for = Vec::new();
    while let SearchStep::Measure(at) = first.step() {
        let verdict = verdict(at.load, search_for.len() as u64);
        search_for.push((at, verdict));
        first.learn(verdict);
    }
    for until in 0..search_for.len() {
        let mut again = Search::new(BOUNDS);
        search_for[..until]
            .iter()
            .for_each(|(_, verdict)| again.learn(*verdict));
        assert_eq!(again.step(), SearchStep::Measure(search_for[until].0));
    }
}

#[test]
fn limits_are_parsed() {
    let limit: SloLimit = "p99<=1ms".parse().expect("a limit");
    assert_eq!(
        limit,
        SloLimit {
            figure: LatencyFigure::Percentile(99.0),
            most: fathom_model::Nanos::from_millis(1)
        }
    );
    assert_eq!(limit.to_string(), "p99 <= 1.00 ms");
    assert_eq!(limit.least_ios(), 1_000);
    // Limits of device classes.
    for (class, same) in [("hdd", "mean<=20ms"), ("ssd", "mean<=3ms")] {
        assert_eq!(
            class.parse::<SloLimit>(),
            same.parse::<SloLimit>(),
            "{class}"
        );
    }
    let mean: SloLimit = " mean < 250 us".parse().expect("a limit");
    assert_eq!(
        (mean.figure, mean.most.get()),
        (LatencyFigure::Mean, 250_000)
    );
    for wrong in [
        "p99",
        "p99<=1",
        "p0<=1ms",
        "p100<=1ms",
        "q99<=1ms",
        "p99<=-1ms",
        "p99<=1e99s",
        "<=",
        "p99<=nanms",
        "p99<=1 hour",
        "p99.5<=1ms",
    ] {
        let error = wrong.parse::<SloLimit>().expect_err(wrong);
        assert!(error.to_string().contains("p99<=1ms"), "{error}");
    }
}
