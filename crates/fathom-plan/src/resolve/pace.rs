//! When each I/O is due.

use fathom_model::{Arrivals, FlowShare, Nanos, Pace, PerDirection, Rate, Think};

use super::bounds::{HIGHEST_BANDWIDTH, HIGHEST_IOPS, within};
use super::job::View;
use super::report::Report;

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
    }
}

fn rates(
    view: &View<'_>,
    bandwidth: &'static str,
    iops: &'static str,
    report: &mut Report,
) -> PerDirection<Option<Rate>> {
    let by_bytes = view
        .settings
        .three(bandwidth, 0)
        .map(|rate| within(view, bandwidth, rate, HIGHEST_BANDWIDTH, "bytes per second", report));
    let by_ios =
        view.settings.three(iops, 0).map(|rate| within(view, iops, rate, HIGHEST_IOPS, "I/Os per second", report));
    if by_bytes.iter().any(|rate| *rate > 0) && by_ios.iter().any(|rate| *rate > 0) {
        report.push(view.error(iops, format!("cannot be set together with {bandwidth}")).advise("keep one of the two"));
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
            report.push(view.error(option, "is above the rate itself").advise("lower it, or raise the rate"));
            return;
        }
    }
}

/// A weight of 0 is no flow.
fn flow(view: &View<'_>) -> Option<FlowShare> {
    let settings = view.settings;
    let weight = settings.small("flow", 0);
    let sleep = Nanos::new(settings.number("flow_sleep", 0).saturating_mul(1000));
    (weight > 0).then(|| FlowShare { id: settings.number("flow_id", 0), weight, sleep })
}

fn think(view: &View<'_>) -> Option<Think> {
    let settings = view.settings;
    let time = settings.number("thinktime", 0);
    (time > 0).then(|| Think {
        time: Nanos::new(time),
        spin: Nanos::new(settings.number("thinktime_spin", 0).min(time)),
        blocks: settings.small("thinktime_blocks", 1).max(1),
        by_issue: settings.choice("thinktime_blocks_type", "complete").0 == "issue",
        io_time: Nanos::new(settings.number("thinktime_iotime", 0)),
    })
}
