//! Searches on devices whose answer is known.
#![cfg(test)]

use fathom_sim::{Servers, Service};

use super::*;

const BOUNDS: SearchBounds = SearchBounds { start: 5_000, least: 10, most: 1_000_000, precision: 0.01 };

/// Runs a search to its end; the answer, and how many trials it took.
fn search(bounds: SearchBounds, mut keeps: impl FnMut(u64, u64) -> bool) -> (SearchAnswer, u64) {
    let mut search = Search::new(bounds);
    for trial in 0..1_000 {
        match search.step() {
            SearchStep::Done(answer) => return (answer, trial),
            SearchStep::Measure(load) => search.learn(keeps(load, trial)),
        }
    }
    panic!("no answer after 1,000 trials: {search:?}")
}

/// Without chance: the edge is where it is.
#[test]
fn a_sharp_edge_is_found_wherever_it_is() {
    for edge in [11, 500, 4_999, 5_000, 12_345, 700_001, 999_999] {
        let (answer, trials) = search(BOUNDS, |load, _| load <= edge);
        let load = answer.load.expect("an answer");
        assert!(load <= edge && load as f64 >= edge as f64 / 1.01 - 1.0, "{edge}: {answer:?}");
        assert!(answer.low == Some(load) && answer.high.is_some_and(|high| high > edge), "{edge}: {answer:?}");
        assert!(trials < 80, "{edge}: {trials}");
    }
}

#[test]
fn edges_outside_of_the_bounds_are_said() {
    let (nothing, _) = search(BOUNDS, |_, _| false);
    assert_eq!(nothing, SearchAnswer { load: None, low: None, high: Some(10) });
    let (all, _) = search(BOUNDS, |_, _| true);
    assert_eq!(all, SearchAnswer { load: Some(1_000_000), low: Some(1_000_000), high: None });
}

/// M/M/1: p99 of the response time is ln(100) S / (1 - rho), so p99 <= L holds up to (1 - ln(100) S / L) / S.
#[test]
fn the_most_iops_of_one_server_under_a_p99_limit() {
    let device = Servers { count: 1, mean_ns: 100_000.0, service: Service::Exponential };
    for (number, limit_ms) in [1.0, 2.0, 4.0].into_iter().enumerate() {
        let limit = limit_ms * 1e6;
        let truth = (1.0 - 100_f64.ln() * 100_000.0 / limit) * 10_000.0;
        let (answer, _) = search(BOUNDS, |load, trial| {
            let seen = device.open(load as f64, 400_000, 1_000 * (number as u64 + 1) + trial);
            seen.latency.percentile(99.0).expect("values") <= limit
        });
        let load = answer.load.expect("an answer") as f64;
        assert!((load / truth - 1.0).abs() < 0.02, "p99 <= {limit_ms} ms: {load} instead of {truth}");
        let (low, high) = (answer.low.expect("a lower end") as f64, answer.high.expect("an upper end") as f64);
        assert!(low <= truth && truth <= high, "{low} to {high} without {truth}");
    }
}

/// Fixed times and 16 servers: with 5 ms to wait the queue keeps the limit up to 0.3 % below the end, 160,000 IOPS.
#[test]
fn the_most_iops_of_a_device_with_a_ceiling() {
    let device = Servers { count: 16, mean_ns: 100_000.0, service: Service::Fixed };
    let (answer, _) = search(BOUNDS, |load, trial| {
        let seen = device.open(load as f64, 300_000, 9_000 + trial);
        seen.latency.percentile(99.0).expect("values") <= 5e6 && seen.iops > 0.98 * load as f64
    });
    let load = answer.load.expect("an answer") as f64;
    assert!((load / device.most() - 1.0).abs() < 0.02, "{load}");
}

/// The knee of eight servers with fixed times is eight, whatever the seed.
#[test]
fn the_knee_of_a_simulated_device() {
    let device = Servers { count: 8, mean_ns: 80_000.0, service: Service::Fixed };
    let points: Vec<crate::ClosedPoint> = [1, 2, 4, 8, 16, 32, 64]
        .into_iter()
        .map(|depth| {
            let seen = device.closed(depth, 50_000, 7);
            crate::ClosedPoint { depth, iops: seen.iops, mean_ns: seen.latency.mean() }
        })
        .collect();
    let knees = crate::knees(&points);
    let depth = |rule| knees.iter().find(|knee| knee.rule == rule).expect("every rule answers").depth.expect("a depth");
    assert_eq!(depth(crate::KneeRule::Kneedle), 8.0);
    assert_eq!(depth(crate::KneeRule::NearlyAll), 8.0);
    assert_eq!(depth(crate::KneeRule::Twice), 16.0);
    assert!((depth(crate::KneeRule::Asymptotes) - 8.0).abs() < 0.05);
}

/// A search that is told again what was known goes on where it was.
#[test]
fn a_search_can_be_told_again() {
    let verdict = |load: u64, trial: u64| load + (trial * 7919) % 60 <= 12_345;
    let mut first = Search::new(BOUNDS);
    let mut told = Vec::new();
    while let SearchStep::Measure(load) = first.step() {
        let kept = verdict(load, told.len() as u64);
        told.push((load, kept));
        first.learn(kept);
    }
    for until in 0..told.len() {
        let mut again = Search::new(BOUNDS);
        told[..until].iter().for_each(|(_, kept)| again.learn(*kept));
        assert_eq!(again.step(), SearchStep::Measure(told[until].0));
    }
}

#[test]
fn limits_are_read_as_they_are_written() {
    let limit: SloLimit = "p99<=1ms".parse().expect("a limit");
    assert_eq!(limit, SloLimit { figure: LatencyFigure::Percentile(99.0), most: fathom_model::Nanos::from_millis(1) });
    assert_eq!(limit.to_string(), "p99 <= 1.0 ms");
    assert_eq!(limit.least_ios(), 1_000);
    let mean: SloLimit = " mean < 250 us".parse().expect("a limit");
    assert_eq!((mean.figure, mean.most.get()), (LatencyFigure::Mean, 250_000));
    for wrong in ["p99", "p99<=1", "p0<=1ms", "p100<=1ms", "q99<=1ms", "p99<=-1ms", "p99<=1e99s", "<=", "p99<=nanms", "p99<=1 hour", "p99.5<=1ms"] {
        let error = wrong.parse::<SloLimit>().expect_err(wrong);
        assert!(error.to_string().contains("p99<=1ms"), "{error}");
    }
}
