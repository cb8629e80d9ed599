//! Checks the figures of an imported result against each other.

use fathom_model::{Finding, ImportedFigures, StatedRate, Weight};

use super::about;
use crate::figures::{bytes, count, duration, percent, rate};

/// Rate, latency and depth agree within this share, because authors round to two digits.
const AGREES: f64 = 0.05;
const ADVICE: &str =
    "Derive one figure from the others instead of typing it: rate x mean latency = I/Os in flight.";

/// Checks for the error of the job and failed I/Os.
pub(crate) fn failed(imported: &ImportedFigures) -> Option<Finding> {
    let message = crate::errno::message;
    let (weight, evidence) = match (imported.error, imported.failed) {
        (0, 0) => return None,
        (0, failed) => (
            Weight::Degrades,
            format!(
                "{} I/Os failed without ending the job. They are excluded from rates and latencies.",
                count(failed)
            ),
        ),
        (error, _) => (
            Weight::Invalidates,
            format!(
                "Error {error} ({}) ended the job: its figures cover only a part of it.",
                message(error)
            ),
        ),
    };
    Some(about(
        imported,
        weight,
        evidence,
        "Check the kernel log for the device, remove the cause, and run again.",
    ))
}

/// Checks that a stated rate equals amount divided by time.
pub(crate) fn rates_disagree(imported: &ImportedFigures) -> Option<Finding> {
    let differs = |one: &&StatedRate| {
        (one.stated - one.computed).abs() > AGREES * one.computed.max(one.stated)
    };
    let StatedRate {
        name,
        stated,
        computed,
    } = imported.rates.iter().find(differs)?;
    let evidence = format!(
        "The result states {} {name}, but its amount and time give {}.",
        rate(*stated),
        rate(*computed)
    );
    Some(about(
        imported,
        Weight::Invalidates,
        evidence,
        "One of the figures was changed or belongs to another run: use the file as fio wrote it.",
    ))
}

/// Checks that any I/O completed: otherwise the result says nothing about its target.
pub(crate) fn nothing_done(imported: &ImportedFigures) -> Option<Finding> {
    if imported.ios != Some(0) {
        return None;
    }
    let evidence = "0 I/Os completed: the result has no figures to check.".to_owned();
    Some(about(
        imported,
        Weight::Invalidates,
        evidence,
        "Check the error of the job, and its size, io_size and number_ios.",
    ))
}

/// Checks rate, latency and depth by Little's law.
pub(crate) fn little(imported: &ImportedFigures) -> Option<Finding> {
    let (in_flight, max_in_flight, ratio) = (
        imported.in_flight()?,
        imported.max_in_flight()?,
        imported.little()?,
    );
    let median = imported.streams.iter().any(|stream| stream.is_median);
    if ratio > 1.0 + AGREES {
        let evidence = format!(
            "{} I/Os per second x {} = {in_flight:.2} in flight, but at most {max_in_flight} are possible: at that latency at most {:.1} per second are possible.",
            rate(imported.iops()),
            duration(in_flight / imported.iops() * 1e9),
            imported.iops() / ratio,
        );
        let weight = if median {
            Weight::Note
        } else {
            Weight::Degrades
        };
        return Some(about(imported, weight, evidence, ADVICE));
    }
    if ratio >= 1.0 - AGREES || median || !imported.closed {
        return None;
    }
    let evidence = format!(
        "{} I/Os per second x {} = {in_flight:.2} in flight, of {max_in_flight} possible: {} of the time is in no latency.",
        rate(imported.iops()),
        duration(in_flight / imported.iops() * 1e9),
        percent((1.0 - ratio) * 100.0),
    );
    Some(about(imported, Weight::Note, evidence, ADVICE))
}

/// Reports figures that are those of one of several jobs.
pub(crate) fn per_job(imported: &ImportedFigures) -> Option<Finding> {
    let jobs = imported.jobs.filter(|jobs| imported.per_job && *jobs > 1)?;
    let together = imported
        .bandwidth()
        .map_or(String::new(), |b| format!(", {}/s", bytes(b as u64)));
    let evidence = format!(
        "The figures are those of 1 of {jobs} jobs: together {} I/Os per second{together}, if all ran at the same time and \
         alike.",
        rate(imported.iops()),
    );
    let advice = "Publish the sum over the time that all jobs ran together (group_reporting), not one job's part.";
    Some(about(imported, Weight::Note, evidence, advice))
}

/// Little's law in one line: `a: 1,000 I/Os per second x 32.0 ms = 32.0 in flight, of 32 possible
/// (100 %)`.
#[must_use]
pub fn little_line(figures: &ImportedFigures) -> String {
    let name = if figures.name.is_empty() {
        "result"
    } else {
        &figures.name
    };
    let bandwidth = figures
        .bandwidth()
        .map_or(String::new(), |b| format!(" ({}/s)", bytes(b as u64)));
    let head = format!(
        "{name}: {} I/Os per second{bandwidth}",
        rate(figures.iops())
    );
    let Some((in_flight, possible)) = figures.in_flight().zip(figures.max_in_flight()) else {
        return head;
    };
    let latency = figures
        .latency_name
        .map_or(String::new(), |name| format!(" ({name})"));
    format!(
        "{head} x {}{latency} = {in_flight:.1} in flight, of {possible} possible ({})",
        duration(in_flight / figures.iops() * 1e9),
        percent(in_flight * 100.0 / possible)
    )
}
