//! Checks that several results of one device are from the same state of the device.

use fathom_model::{Finding, ImportedFigures, Weight};

use super::{CheckInput, about};
use crate::figures::{duration, percent, rate};

/// A deeper queue cannot reduce the latency by more than chance.
const FASTER: f64 = 0.9;
/// Limit of the ratio between two equal runs.
const REPEATS: f64 = 1.25;
/// From this many faster points at a higher depth on, the state of the device is the explanation and not one odd point.
const EXPLAINS: usize = 2;
const ADVICE: &str = "Bring the device into a defined state before each point: write it completely, let it rest, keep it awake (power state), and record all three.";

/// Findings about several results of one device: points of a sweep, and repeats.
pub(crate) fn state_differs(input: &CheckInput) -> Vec<Finding> {
    let mut sorted: Vec<&ImportedFigures> = input
        .results
        .iter()
        .filter(|point| point.max_in_flight().is_some())
        .collect();
    sorted.sort_by(|a, b| {
        a.max_in_flight()
            .unwrap_or(0.0)
            .total_cmp(&b.max_in_flight().unwrap_or(0.0))
    });
    let pairs = || {
        sorted
            .iter()
            .enumerate()
            .flat_map(|(i, a)| sorted[i + 1..].iter().map(move |b| (*a, *b)))
    };
    let alike = |a: &ImportedFigures, b: &ImportedFigures| {
        a.rw == b.rw && a.block == b.block && a.origin.is_comparable(&b.origin)
    };
    let faster = sorted.iter().enumerate().find_map(|(i, shallow)| {
        let deeper = sorted[i + 1..].iter().copied();
        faster_when_deeper(shallow, deeper.filter(|deep| alike(shallow, deep)))
    });
    let differs = pairs()
        .filter(|(a, b)| alike(a, b))
        .find_map(|(a, b)| repeat_differs(a, b));
    faster.into_iter().chain(differs).collect()
}

fn faster_when_deeper<'a>(
    shallow: &ImportedFigures,
    deeper: impl Iterator<Item = &'a ImportedFigures>,
) -> Option<Finding> {
    let (first, from) = (latency(shallow)?, shallow.max_in_flight()?);
    let faster: Vec<(f64, f64)> = deeper
        .filter_map(|deep| Some((latency(deep)?, deep.max_in_flight()?)))
        .filter(|(second, to)| *to > from && *second < first * FASTER)
        .collect();
    let (second, to) = *faster.first()?;
    let cause = if faster.len() >= EXPLAINS {
        format!(
            "{} points at higher depths are faster: the device was in another state for the first (asleep, or not yet written)",
            faster.len()
        )
    } else {
        "the device was not in the same state for both".to_owned()
    };
    let evidence = format!(
        "An I/O takes {} with {from} in flight and {} with {to}; {cause}.",
        duration(first),
        duration(second),
    );
    Some(about(shallow, Weight::Degrades, evidence, ADVICE))
}

fn repeat_differs(one: &ImportedFigures, other: &ImportedFigures) -> Option<Finding> {
    let (low, high) = (one.iops().min(other.iops()), one.iops().max(other.iops()));
    let same_queue = one.depth == other.depth && one.jobs == other.jobs;
    if !same_queue || low <= 0.0 || high < low * REPEATS {
        return None;
    }
    let evidence = format!(
        "Two runs of the same plan ({} in flight) reached {} and {} I/Os per second, {} apart: the device was not in the \
         same state.",
        one.max_in_flight()?,
        rate(low),
        rate(high),
        percent((high / low - 1.0) * 100.0),
    );
    Some(about(one, Weight::Degrades, evidence, ADVICE))
}

fn latency(imported: &ImportedFigures) -> Option<f64> {
    imported
        .streams
        .iter()
        .filter(|stream| stream.iops > 0.0)
        .find_map(|stream| stream.latency_ns)
}
