//! CEILING_REACHED: a known limit was reached.

use fathom_model::{Direction, Finding, IoLimit, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, percent, rate};

/// Limits are exact to about a percent; above this share the limit determines the rate.
const REACHED: f64 = 0.9;
const ADVICE: &str = "The limit, not the device, sets this rate: raise it (blkio.throttle, io.max of the container or \
                      service), or read the result as the limit's.";

const LINK_ADVICE: &str = "The link, not the device, sets this rate: a wider or newer slot, or more devices, would lift it. Above \
                           100 % a cache on this side answered.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let groups = run
        .recording
        .conditions
        .limits
        .iter()
        .filter_map(|limit| reached(run, limit));
    groups.take(1).chain(link(run)).collect()
}

/// Checks the link of the only device that has one, in the busier direction.
fn link(run: &RunContext) -> Option<Finding> {
    let devices = run.devices();
    let mut linked = devices
        .iter()
        .filter_map(|device| Some((device, device.before.narrowest_link()?)));
    let (Some((device, link)), None) = (linked.next(), linked.next()) else {
        return None;
    };
    let real = || {
        run.entries
            .iter()
            .filter(|entry| entry.members.iter().any(|m| !m.is_null()))
    };
    let one_way = |d: Direction| {
        real()
            .map(|entry| entry.figures.directions[d].bandwidth)
            .fold(0.0, f64::max)
    };
    let got = Direction::ALL.into_iter().map(one_way).fold(0.0, f64::max);
    let share = got / link.now.bytes_per_s as f64;
    if share < REACHED {
        return None;
    }
    let evidence = format!(
        "{} per second is {} of the {} that the link of {} ({}) can carry after line coding.",
        bytes(got as u64),
        percent(share * 100.0),
        bytes(link.now.bytes_per_s),
        device.before.name,
        link.at,
    );
    Some(of_run(Weight::Degrades, evidence, LINK_ADVICE))
}

fn reached(run: &RunContext, limit: &IoLimit) -> Option<Finding> {
    let direction = if limit.reads {
        Direction::Read
    } else {
        Direction::Write
    };
    let of = |entry: &super::EntryContext| {
        let d = &entry.figures.directions[direction];
        if limit.ios { d.iops } else { d.bandwidth }
    };
    let real = run
        .entries
        .iter()
        .filter(|entry| entry.members.iter().any(|m| !m.is_null()));
    let got = real.map(of).fold(0.0, f64::max);
    let share = got / limit.per_second as f64;
    if limit.per_second == 0 || share < REACHED {
        return None;
    }
    let figure = |n: f64| {
        if limit.ios {
            format!("{} I/Os", rate(n))
        } else {
            bytes(n as u64)
        }
    };
    let evidence = format!(
        "{}s ran at {} per second, {} of the {} that the control group of this process allows on {}.",
        direction.name(),
        figure(got),
        percent(share * 100.0),
        figure(limit.per_second as f64),
        limit.disk,
    );
    Some(of_run(Weight::Degrades, evidence, ADVICE))
}
