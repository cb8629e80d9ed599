//! The figures of an imported result, and what they must obey among themselves.

use fathom_model::{Direction, Finding, Weight};

use super::about;
use super::link::Link;
use super::spec::SpecSheet;
use crate::figures::{bytes, count, duration, percent, rate};

/// Authors round to two figures: within this, rate, latency and depth agree.
const AGREES: f64 = 0.05;
/// Of fewer I/Os, or in less time, a rate shows how it was rounded.
const FEWEST_COUNTED: u64 = 100;
const SHORTEST_MS: u64 = 200;
const ADVICE: &str =
    "Derive one figure from the others instead of typing it: rate x mean latency = I/Os in flight.";

/// One result of somebody else. What is not known stays empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// What to call it.
    pub name: String,
    /// fio's word for the pattern, such as `rw`.
    pub rw: Option<String>,
    /// Reads, writes, trims.
    pub streams: Vec<Stream>,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// Queue depth of one job.
    pub depth: Option<u32>,
    /// Jobs that ran at once.
    pub jobs: Option<u32>,
    /// The figures are those of one job and not of all.
    pub per_job: bool,
    /// A closed loop: the next I/O follows as soon as one is done. False for planned rates and pauses.
    pub closed: bool,
    /// What the device hangs on.
    pub link: Option<Link>,
    /// How many such links, one for each device.
    pub links: u32,
    /// What the author says of it.
    pub claims: Claims,
    /// The vendor's figures.
    pub sheet: Option<SpecSheet>,
    /// Part number as the device reports it.
    pub part_number: Option<String>,
    /// The path from host to device: controller, mode, expander. `None`: nobody wrote it down.
    pub attachment: Option<String>,
    /// Logical block size that the device reports, bytes.
    pub logical_block: Option<u64>,
    /// Skew of the addresses: theta of a zipf distribution.
    pub zipf: Option<f64>,
    /// Region that was touched, bytes.
    pub region: Option<u64>,
    /// I/Os in all.
    pub ios: Option<u64>,
    /// errno of the error that ended it; 0 for none.
    pub error: i32,
    /// I/Os that failed and were passed over (`continue_on_error`).
    pub failed: u64,
    /// Rates, with what amount and time come to.
    pub rates: Vec<Rate>,
}

/// One direction of an imported result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Which.
    pub direction: Direction,
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency from hand-over to completion, nanoseconds; the median where `is_median`.
    pub latency_ns: Option<f64>,
    /// The mean is not known.
    pub is_median: bool,
}

/// What an author says about figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// I/Os in flight.
    pub in_flight: Option<f64>,
    /// The most the link can carry, bytes per second.
    pub ceiling: Option<f64>,
    /// Share of what the links can carry, 0 to 1.
    pub share: Option<f64>,
    /// The pattern, in words.
    pub pattern: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The smallest block the device takes, bytes.
    pub smallest_block: Option<u64>,
}

impl Imported {
    /// I/Os that can be in flight at once.
    #[must_use]
    pub fn possible(&self) -> Option<f64> {
        Some(f64::from(self.depth?) * f64::from(self.jobs.unwrap_or(1)))
    }

    /// I/Os per second of all jobs and directions.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.streams.iter().map(|stream| stream.iops).sum::<f64>() * self.times()
    }

    /// Bytes per second of all jobs and directions.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.iops() * self.block? as f64)
    }

    /// I/Os in flight by Little's law, all jobs together.
    #[must_use]
    pub fn in_flight(&self) -> Option<f64> {
        let product = |stream: &Stream| Some(stream.iops * stream.latency_ns? / 1e9);
        let parts: Vec<f64> = self
            .streams
            .iter()
            .filter(|s| s.iops > 0.0)
            .map(product)
            .collect::<Option<_>>()?;
        (!parts.is_empty()).then(|| parts.iter().sum::<f64>() * self.times())
    }

    /// I/Os in flight by Little's law over those that can be.
    #[must_use]
    pub fn little(&self) -> Option<f64> {
        Some(self.in_flight()? / self.possible()?)
    }

    /// How many times the figures stand for.
    pub(super) fn times(&self) -> f64 {
        if self.per_job {
            f64::from(self.jobs.unwrap_or(1))
        } else {
            1.0
        }
    }
}

/// A rate that a result tells, and that can be counted from it too.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Of what, in words: `read IOPS`.
    pub what: String,
    /// What the result says, per second.
    pub told: f64,
    /// Amount over time.
    pub counted: f64,
}

impl Rate {
    /// The rates of one direction whose I/Os and bytes in so many milliseconds are known; nothing of so few that rounding shows.
    #[must_use]
    pub fn both(
        direction: Direction,
        (iops, ios): (f64, u64),
        (bandwidth, bytes): (f64, u64),
        runtime_ms: u64,
    ) -> Vec<Rate> {
        if ios < FEWEST_COUNTED || runtime_ms < SHORTEST_MS {
            return Vec::new();
        }
        let counted = |amount: u64| amount as f64 * 1e3 / runtime_ms as f64;
        let rate = |word, told, amount| Rate {
            what: format!("{} {word}", direction.word()),
            told,
            counted: counted(amount),
        };
        let mut both = vec![rate("IOPS", iops, ios)];
        both.extend(
            (bandwidth > 0.0 && bytes > 1 << 20)
                .then(|| rate("bytes per second", bandwidth, bytes)),
        );
        both
    }
}

/// fio says of each job how it ended, whatever its figures.
pub(super) fn failed(imported: &Imported) -> Option<Finding> {
    let words = crate::errno::words;
    let (weight, evidence) = match (imported.error, imported.failed) {
        (0, 0) => return None,
        (0, failed) => (
            Weight::Degrades,
            format!(
                "{} I/Os failed and were passed over. They are in neither rate nor latency.",
                count(failed)
            ),
        ),
        (error, _) => (
            Weight::Invalidates,
            format!(
                "The job was ended by error {error} ({}): its figures are those of a part of it.",
                words(error)
            ),
        ),
    };
    Some(about(
        imported,
        "IO_ERROR",
        weight,
        evidence,
        "See the kernel log for the device, mend the cause, and run again.",
    ))
}

/// What is told twice must be the same.
pub(super) fn counted(imported: &Imported) -> Option<Finding> {
    let differs = |one: &&Rate| (one.told - one.counted).abs() > AGREES * one.counted.max(one.told);
    let Rate {
        what,
        told,
        counted,
    } = imported.rates.iter().find(differs)?;
    let evidence = format!(
        "It says {} {what}, but its own amount and time come to {}.",
        rate(*told),
        rate(*counted)
    );
    Some(about(
        imported,
        "SUMMARY_DISAGREES",
        Weight::Invalidates,
        evidence,
        "One of the figures was changed, or is of another run: get the file as fio wrote it.",
    ))
}

/// Zeros are no figures: a result without a completed I/O says nothing about its target.
pub(super) fn nothing_done(imported: &Imported) -> Option<Finding> {
    if imported.ios != Some(0) {
        return None;
    }
    let evidence =
        "0 I/Os were completed: there is no figure in this result that could be right or wrong."
            .to_owned();
    Some(about(
        imported,
        "NOTHING_DONE",
        Weight::Invalidates,
        evidence,
        "See the error of the job, and its size, io_size and number_ios.",
    ))
}

/// Rate, latency and depth must agree.
pub(super) fn little(imported: &Imported) -> Option<Finding> {
    let (flying, possible, ratio) = (
        imported.in_flight()?,
        imported.possible()?,
        imported.little()?,
    );
    let median = imported.streams.iter().any(|stream| stream.is_median);
    if ratio > 1.0 + AGREES {
        let evidence = format!(
            "{} I/Os per second x {} = {flying:.2} in flight, but no more than {possible} can be: at that latency no more \
             than {:.1} per second are possible.",
            rate(imported.iops()),
            duration(flying / imported.iops() * 1e9),
            imported.iops() / ratio,
        );
        let weight = if median {
            Weight::Note
        } else {
            Weight::Degrades
        };
        return Some(about(
            imported,
            "LITTLE_DISAGREES",
            weight,
            evidence,
            ADVICE,
        ));
    }
    if ratio >= 1.0 - AGREES || median || !imported.closed {
        return None;
    }
    let evidence = format!(
        "{} I/Os per second x {} = {flying:.2} in flight, of {possible} possible: {} of the time is in no latency.",
        rate(imported.iops()),
        duration(flying / imported.iops() * 1e9),
        percent((1.0 - ratio) * 100.0),
    );
    Some(about(
        imported,
        "LITTLE_DISAGREES",
        Weight::Note,
        evidence,
        ADVICE,
    ))
}

/// Figures of one job say little about the device.
pub(super) fn per_job(imported: &Imported) -> Option<Finding> {
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
    Some(about(
        imported,
        "PER_JOB_FIGURES",
        Weight::Note,
        evidence,
        advice,
    ))
}

impl Imported {
    /// Little's law in one line: `a: 1,000 I/Os per second x 32.0 ms = 32.0 in flight, of 32 possible (100 %)`.
    #[must_use]
    pub fn words(&self) -> String {
        let name = if self.name.is_empty() {
            "result"
        } else {
            &self.name
        };
        let bandwidth = self
            .bandwidth()
            .map_or(String::new(), |b| format!(" ({}/s)", bytes(b as u64)));
        let head = format!("{name}: {} I/Os per second{bandwidth}", rate(self.iops()));
        let Some((flying, possible)) = self.in_flight().zip(self.possible()) else {
            return head;
        };
        format!(
            "{head} x {} = {flying:.1} in flight, of {possible} possible ({})",
            duration(flying / self.iops() * 1e9),
            percent(flying * 100.0 / possible)
        )
    }
}
