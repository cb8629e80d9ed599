//! Checks that several results of one device are from the same state of the device.

use fathom_model::{Finding, ImportedFigures, Weight};

use super::{CheckInput, about};
use crate::figures::{duration, percent, rate};

/// A deeper queue cannot reduce the latency by more than chance.
const FASTER: f64 = 0.9;
/// Limit of the ratio between two equal runs.
const REPEATS: f64 = 1.25;
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
    let alike = |(a, b): &(&ImportedFigures, &ImportedFigures)| a.rw == b.rw && a.block == b.block;
    let faster = pairs()
        .filter(alike)
        .find_map(|(a, b)| faster_when_deeper(a, b));
    let differs = pairs()
        .filter(alike)
        .find_map(|(a, b)| repeat_differs(a, b));
    faster.into_iter().chain(differs).collect()
}

fn faster_when_deeper(shallow: &ImportedFigures, deep: &ImportedFigures) -> Option<Finding> {
    let (first, second) = (latency(shallow)?, latency(deep)?);
    let (from, to) = (shallow.max_in_flight()?, deep.max_in_flight()?);
    if to <= from || second >= first * FASTER {
        return None;
    }
    let evidence = format!(
        "An I/O takes {} with {from} in flight and {} with {to}: the device was in another state for the first (asleep, or \
         not yet written).",
        duration(first),
        duration(second),
    );
    Some(about(shallow, Weight::Degrades, evidence, ADVICE))
}

fn repeat_differs(one: &ImportedFigures, other: &ImportedFigures) -> Option<Finding> {
    let (low, high) = (one.iops().min(other.iops()), one.iops().max(other.iops()));
    if one.max_in_flight() != other.max_in_flight() || low <= 0.0 || high < low * REPEATS {
        return None;
    }
    let evidence = format!(
        "Two equal runs ({} in flight) reached {} and {} I/Os per second, {} apart: the device was not in the same \
         state.",
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
