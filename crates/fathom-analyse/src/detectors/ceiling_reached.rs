//! CEILING_REACHED: a limit that is known was reached.

use fathom_model::{Direction, Finding, IoLimit, Weight};

use super::scene::of_run;
use super::{Detector, Scene};
use crate::figures::{bytes, percent, rate};

const CODE: &str = "CEILING_REACHED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

/// Limits are kept to about a percent; above this share of one, it is what holds the rate.
const REACHED: f64 = 0.9;
const ADVICE: &str = "The limit, not the device, sets this rate: raise it (blkio.throttle, io.max of the container or \
                      service), or read the result as the limit's.";

fn look(scene: &Scene) -> Vec<Finding> {
    scene.recording.conditions.limits.iter().filter_map(|limit| reached(scene, limit)).take(1).collect()
}

fn reached(scene: &Scene, limit: &IoLimit) -> Option<Finding> {
    let direction = if limit.reads { Direction::Read } else { Direction::Write };
    let of = |seat: &super::Seat| {
        let d = &seat.entry.directions[direction];
        if limit.ios { d.iops } else { d.bandwidth }
    };
    let real = scene.seats.iter().filter(|seat| seat.members.iter().any(|m| !m.is_null()));
    let got = real.map(of).fold(0.0, f64::max);
    let share = got / limit.per_second as f64;
    if limit.per_second == 0 || share < REACHED {
        return None;
    }
    let figure = |n: f64| if limit.ios { format!("{} I/Os", rate(n)) } else { bytes(n as u64) };
    let evidence = format!(
        "{}s ran at {} per second, {} of the {} that the control group of this process allows on {}.",
        direction.word(),
        figure(got),
        percent(share * 100.0),
        figure(limit.per_second as f64),
        limit.disk,
    );
    Some(of_run(CODE, Weight::Degrades, evidence, ADVICE))
}
