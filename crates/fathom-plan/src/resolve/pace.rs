//! When each I/O is due.

use fathom_model::{Arrivals, FlowShare, LatencyTarget, Nanos, Pace, PerDirection, Rate, Think};

use super::diagnostics::Diagnostics;
use super::job::{JobView, within};
use crate::limits::{MAX_BANDWIDTH, MAX_IOPS};
use crate::options::table as opt;
use crate::options::{JobOption, Three};

/// Resolves rates and pauses.
pub(crate) fn resolve(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Pace {
    let rate = rates(view, opt::RATE, opt::RATE_IOPS, diagnostics);
    let rate_min = rates(view, opt::RATE_MIN, opt::RATE_IOPS_MIN, diagnostics);
    check_minimum(view, &rate, &rate_min, diagnostics);
    Pace {
        rate,
        rate_min,
        process: if view.settings.get(opt::RATE_PROCESS) == "poisson" {
            Arrivals::Poisson
        } else {
            Arrivals::Linear
        },
        rate_cycle: Nanos::from_millis(view.settings.get(opt::RATE_CYCLE).min(86_400_000)),
        think: think(view),
        serialize_overlap: view.settings.get(opt::SERIALIZE_OVERLAP),
        flow: flow(view),
        replay: None,
        latency: latency(view, diagnostics),
    }
}

fn rates(
    view: &JobView<'_>,
    bandwidth: JobOption<Three>,
    iops: JobOption<Three>,
    diagnostics: &mut Diagnostics,
) -> PerDirection<Option<Rate>> {
    let by_bytes = view.settings.get(bandwidth).map(|rate| {
        within(
            view,
            bandwidth,
            rate,
            MAX_BANDWIDTH,
            "bytes per second",
            diagnostics,
        )
    });
    let by_ios = view
        .settings
        .get(iops)
        .map(|rate| within(view, iops, rate, MAX_IOPS, "I/Os per second", diagnostics));
    if by_bytes.iter().any(|rate| *rate > 0) && by_ios.iter().any(|rate| *rate > 0) {
        diagnostics.push(
            view.error(
                iops,
                format!("cannot be combined with {}", bandwidth.name().as_str()),
            )
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
    view: &JobView<'_>,
    rate: &PerDirection<Option<Rate>>,
    min: &PerDirection<Option<Rate>>,
    diagnostics: &mut Diagnostics,
) {
    for (rate, min) in rate.0.iter().zip(&min.0) {
        let (option, over) = match (rate, min) {
            (Some(Rate::Bandwidth(rate)), Some(Rate::Bandwidth(min))) => {
                (opt::RATE_MIN.name(), min > rate)
            }
            (Some(Rate::Iops(rate)), Some(Rate::Iops(min))) => {
                (opt::RATE_IOPS_MIN.name(), min > rate)
            }
            _ => continue,
        };
        if over {
            diagnostics.push(
                view.error(option, "is above the rate")
                    .advise("lower it, or raise the rate"),
            );
            return;
        }
    }
}

/// A target of 0 disables the search. In fio a window of 0 judges after every I/O; half a second is the minimum for a useful
/// judgement.
fn latency(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Option<LatencyTarget> {
    let settings = view.settings;
    let limit = settings.get(opt::LATENCY_TARGET);
    let percentile = settings.get(opt::LATENCY_PERCENTILE)[0];
    if limit == 0 {
        return None;
    }
    let window = settings.get(opt::LATENCY_WINDOW);
    if window == 0 && !view.is_fio() {
        let problem = view.error(
            opt::LATENCY_TARGET,
            "needs latency_window, the time spent at each depth",
        );
        diagnostics.push(problem.advise("for example latency_window=5s"));
    }
    let continuous = settings.get(opt::LATENCY_RUN);
    Some(LatencyTarget {
        limit: Nanos::new(limit),
        window: Nanos::new(window.max(1)),
        percentile,
        continuous,
    })
}

/// A weight of 0 disables flow control.
fn flow(view: &JobView<'_>) -> Option<FlowShare> {
    let settings = view.settings;
    let weight = settings.get_u32(opt::FLOW);
    let sleep = Nanos::new(settings.get(opt::FLOW_SLEEP).saturating_mul(1000));
    (weight > 0).then(|| FlowShare {
        id: settings.get(opt::FLOW_ID),
        weight,
        sleep,
    })
}

fn think(view: &JobView<'_>) -> Option<Think> {
    let settings = view.settings;
    let time = settings.get(opt::THINKTIME);
    let timed = settings.get(opt::THINKTIME_IOTIME) > 0;
    (time > 0).then(|| Think {
        time: Nanos::new(time),
        spin: Nanos::new(settings.get(opt::THINKTIME_SPIN).min(time)),
        // As in fio, the default of 1 does not apply when there is a time between pauses.
        blocks: match settings.given_u32(opt::THINKTIME_BLOCKS) {
            None if timed => u32::MAX,
            blocks => blocks.unwrap_or_default().max(1),
        },
        by_issue: settings.get(opt::THINKTIME_BLOCKS_TYPE) == "issue",
        ignored_by_rate: settings.get(opt::RATE_IGNORE_THINKTIME),
        io_time: Nanos::new(settings.get(opt::THINKTIME_IOTIME)),
    })
}
