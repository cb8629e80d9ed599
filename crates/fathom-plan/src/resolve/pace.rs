//! When each I/O is due.

use fathom_model::{Arrivals, FlowShare, LatencyTarget, Nanos, Pace, PerDirection, Rate, Think};

use super::bounds::{HIGHEST_BANDWIDTH, HIGHEST_IOPS, within};
use super::job::View;
use super::report::Report;
use crate::values::Value;

/// Resolves rates and pauses.
pub(crate) fn resolve(view: &View<'_>, report: &mut Report) -> Pace {
    let rate = rates(view, "rate", "rate_iops", report);
    let rate_min = rates(view, "rate_min", "rate_iops_min", report);
    check_minimum(view, &rate, &rate_min, report);
    Pace {
        rate,
        rate_min,
        process: if view.settings.choice("rate_process", "linear").0 == "poisson" {
            Arrivals::Poisson
        } else {
            Arrivals::Linear
        },
        rate_cycle: Nanos::from_millis(view.settings.number("rate_cycle", 1000).min(86_400_000)),
        think: think(view),
        serialize_overlap: view.settings.switch("serialize_overlap"),
        flow: flow(view),
        replay: None,
        latency: latency(view, report),
    }
}

fn rates(
    view: &View<'_>,
    bandwidth: &'static str,
    iops: &'static str,
    report: &mut Report,
) -> PerDirection<Option<Rate>> {
    let by_bytes = view.settings.three(bandwidth, 0).map(|rate| {
        within(
            view,
            bandwidth,
            rate,
            HIGHEST_BANDWIDTH,
            "bytes per second",
            report,
        )
    });
    let by_ios = view
        .settings
        .three(iops, 0)
        .map(|rate| within(view, iops, rate, HIGHEST_IOPS, "I/Os per second", report));
    if by_bytes.iter().any(|rate| *rate > 0) && by_ios.iter().any(|rate| *rate > 0) {
        report.push(
            view.error(iops, format!("cannot be set together with {bandwidth}"))
                .advise("keep one of the two"),
        );
    }
    let mut rates = [None; 3];
    for (rate, (bytes, ios)) in rates.iter_mut().zip(by_bytes.into_iter().zip(by_ios)) {
        *rate = match (bytes, ios) {
            (0, 0) => None,
            (0, ios) => Some(Rate::Iops(ios as f64)),
            (bytes, _) => Some(Rate::Bandwidth(bytes as f64)),
        };
    }
    PerDirection(rates)
}

fn check_minimum(
    view: &View<'_>,
    rate: &PerDirection<Option<Rate>>,
    min: &PerDirection<Option<Rate>>,
    report: &mut Report,
) {
    for (rate, min) in rate.0.iter().zip(&min.0) {
        let (option, over) = match (rate, min) {
            (Some(Rate::Bandwidth(rate)), Some(Rate::Bandwidth(min))) => ("rate_min", min > rate),
            (Some(Rate::Iops(rate)), Some(Rate::Iops(min))) => ("rate_iops_min", min > rate),
            _ => continue,
        };
        if over {
            report.push(
                view.error(option, "is above the rate itself")
                    .advise("lower it, or raise the rate"),
            );
            return;
        }
    }
}

/// A target of 0 is no search. In fio a window of 0 judges after every I/O; half a second is the least that says anything.
fn latency(view: &View<'_>, report: &mut Report) -> Option<LatencyTarget> {
    let settings = view.settings;
    let limit = settings.number("latency_target", 0);
    let percentile = match settings
        .last("latency_percentile")
        .map(|setting| &setting.value)
    {
        Some(Value::Floats(list)) => list.first().copied().unwrap_or(100.0),
        _ => 100.0,
    };
    if limit == 0 {
        return None;
    }
    let window = settings.number("latency_window", 0);
    if window == 0 && !view.is_fio() {
        let problem = view.error(
            "latency_target",
            "needs latency_window, the time for which each depth is tried",
        );
        report.push(problem.advise("set latency_window=5s, for example"));
    }
    let keeps_on = settings.switch("latency_run");
    Some(LatencyTarget {
        limit: Nanos::new(limit),
        window: Nanos::new(window.max(1)),
        percentile,
        keeps_on,
    })
}

/// A weight of 0 is no flow.
fn flow(view: &View<'_>) -> Option<FlowShare> {
    let settings = view.settings;
    let weight = settings.small("flow", 0);
    let sleep = Nanos::new(settings.number("flow_sleep", 0).saturating_mul(1000));
    (weight > 0).then(|| FlowShare {
        id: settings.number("flow_id", 0),
        weight,
        sleep,
    })
}

fn think(view: &View<'_>) -> Option<Think> {
    let settings = view.settings;
    let time = settings.number("thinktime", 0);
    let timed = settings.number("thinktime_iotime", 0) > 0;
    (time > 0).then(|| Think {
        time: Nanos::new(time),
        spin: Nanos::new(settings.number("thinktime_spin", 0).min(time)),
        // As in fio, the usual 1 does not hold beside a time between pauses.
        blocks: settings
            .small("thinktime_blocks", if timed { u32::MAX } else { 1 })
            .max(1),
        by_issue: settings.choice("thinktime_blocks_type", "complete").0 == "issue",
        forgiven: settings.switch("rate_ignore_thinktime"),
        io_time: Nanos::new(settings.number("thinktime_iotime", 0)),
    })
}
