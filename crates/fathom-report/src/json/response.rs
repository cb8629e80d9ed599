//! A search as a JSON document.

use fathom_model::{MaxLoad, NamedKnee, Response, ResponsePoint};

use super::grid::figures;
use super::with_simulated;
use crate::tree::{Object, Tree};

/// The document and a line end. Latencies are nanoseconds, bandwidth is bytes per second.
#[must_use]
pub fn response_json(response: &Response) -> String {
    let head = Object::new().with("fathom search", 1_u32);
    let document: Tree = with_simulated(head, response.simulated.as_ref())
        .with("workload", &response.about)
        .with("arrivals", &response.arrivals)
        .with("limits", response.limits.iter().collect::<Tree>())
        .with("max_load", response.max_load.as_ref().map(most))
        .with(
            "open_loop",
            response
                .open
                .iter()
                .map(|point| one("offered_load", point))
                .collect::<Tree>(),
        )
        .with(
            "closed_loop",
            response
                .closed
                .iter()
                .map(|point| one("depth", point))
                .collect::<Tree>(),
        )
        .with("knees", response.knees.iter().map(knee).collect::<Tree>())
        .with("sentences", response.sentences.iter().collect::<Tree>())
        .with("meets_limits", response.at.as_ref().map(|at| at.met))
        .with("headroom", response.at.as_ref().and_then(|at| at.headroom))
        .into();
    let mut bytes = Vec::new();
    document.write(&mut bytes).expect("writing to memory");
    String::from_utf8_lossy(&bytes).into_owned() + "\n"
}

fn most(most: &MaxLoad) -> Object {
    let bandwidth = most.load.map(|load| load as f64 * most.bytes);
    Object::new()
        .with("iops", most.load)
        .with("bw_bytes", bandwidth)
        .with("iops_low", most.low)
        .with("iops_high", most.high)
        .with("iops_within_limits", most.sustained)
        .with("iops_exceeding_limits", most.exceeded)
        .with("stopped_early", most.stopped_early)
        .with("trial_s", most.seconds)
}

fn one(load: &'static str, point: &ResponsePoint) -> Object {
    let object = Object::new()
        .with(load, point.load)
        .with("trials", point.trials)
        .with("trials_within_limits", point.within_limits);
    figures(object, &point.figures)
}

fn knee(knee: &NamedKnee) -> Object {
    Object::new()
        .with("rule", &knee.rule)
        .with("depth", knee.depth)
        .with("sentence", &knee.sentence)
}
