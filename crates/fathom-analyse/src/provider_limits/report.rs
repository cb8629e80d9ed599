//! The report of `fathom limits`: what the measurements of a volume show together.

use fathom_model::{Entry, Histogram, MergedInterval, Nanos};

use super::bucket::{LimitedUnit, RateLimit, RateShape, rate_shape, steady_rate};
use super::counted::{CountedForm, CountedLimit, SizePoint, counted_limit};
use crate::figures::{bytes, count, duration, rate};

/// Latencies at two depths are the same if they differ by this share at most.
const SAME_LATENCY: f64 = 0.15;
/// The rate grows with the depth if it reaches this share of a proportional growth.
const GROWS: f64 = 0.8;
/// Shorter latencies are those of devices, nanoseconds.
const DELAY: f64 = 500e3;
/// A bucket that regained this share of its size was full again.
const FULL: f64 = 0.95;

/// The measurements.
#[derive(Clone, Copy, Debug)]
pub struct LimitsInput<'a> {
    /// As much as the volume gives, from a bucket that may be full.
    pub drain: &'a Entry,
    /// One I/O in flight, after that.
    pub one: Option<&'a Entry>,
    /// Other block sizes in bytes, after that.
    pub sizes: &'a [(u64, &'a Entry)],
    /// As much as the volume gives once more.
    pub refill: Option<&'a Entry>,
    /// How long the volume was nearly idle before `refill`.
    pub idle: Nanos,
}

/// What limits a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitsVerdict {
    /// A token bucket: a burst, then a base rate.
    Bucket,
    /// A limit without a burst.
    Ceiling,
    /// Each I/O is delayed, whatever the rate.
    Latency,
    /// No limit was met.
    None,
}

impl LimitsVerdict {
    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LimitsVerdict::Bucket => "token bucket",
            LimitsVerdict::Ceiling => "ceiling",
            LimitsVerdict::Latency => "latency",
            LimitsVerdict::None => "none",
        }
    }
}

/// The result.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitsReport {
    /// What limits the volume.
    pub verdict: LimitsVerdict,
    /// The limit of 4 KiB I/Os.
    pub limit: Option<RateLimit>,
    /// What it counts.
    pub counted: Option<CountedLimit>,
    /// The base rate at each block size.
    pub sizes: Vec<SizePoint>,
    /// I/Os per second that came back while the volume was idle.
    pub refill: Option<f64>,
    /// Whether the bucket was full again, so that the refill may be faster.
    pub was_full: bool,
    /// Median latency with one I/O in flight, nanoseconds.
    pub one_ns: Option<f64>,
    /// The mean rate of the drain, I/Os per second.
    pub mean_iops: f64,
    /// Label and value of each line.
    pub rows: Vec<(&'static str, String)>,
    /// The sentence that matters.
    pub sentence: String,
}

/// Analyses the measurements.
#[must_use]
pub fn limits_report(input: &LimitsInput<'_>) -> LimitsReport {
    let shape = shape(input.drain);
    let (verdict, limit) = match shape {
        Some(RateShape::Bucket(limit)) => (LimitsVerdict::Bucket, Some(limit)),
        Some(RateShape::Ceiling(limit)) => (LimitsVerdict::Ceiling, Some(limit)),
        None => (LimitsVerdict::None, None),
    };
    let mean_iops = mean(&input.drain.series);
    let one_ns = input.one.and_then(|entry| median(&entry.series));
    let delay = one_ns.filter(|_| limit.is_none() && is_delay(input));
    let verdict = if delay.is_some() {
        LimitsVerdict::Latency
    } else {
        verdict
    };
    let mut sizes: Vec<SizePoint> = Vec::new();
    if let Some(limit) = limit {
        sizes.push(SizePoint {
            bytes: limit.one_size.unwrap_or(4096.0).round() as u64,
            iops: limit.base,
        });
        for (bytes, entry) in input.sizes {
            let base = match self::shape(entry) {
                Some(RateShape::Bucket(limit) | RateShape::Ceiling(limit)) => Some(limit.base),
                None => steady_rate(&entry.series),
            };
            sizes.extend(base.map(|iops| SizePoint {
                bytes: *bytes,
                iops,
            }));
        }
    }
    let counted = counted_limit(&sizes);
    let (refill, was_full) = refilled(input, limit.as_ref()).unzip();
    let mut report = LimitsReport {
        verdict,
        limit,
        counted,
        sizes,
        refill,
        was_full: was_full.unwrap_or(false),
        one_ns,
        mean_iops,
        rows: Vec::new(),
        sentence: String::new(),
    };
    report.rows = rows(&report, input);
    report.sentence = sentence(&report, input);
    report
}

fn shape(entry: &Entry) -> Option<RateShape> {
    let (from, to) = span(&entry.series)?;
    rate_shape(&entry.series, from, to)
}

fn span(series: &[MergedInterval]) -> Option<(Nanos, Nanos)> {
    let last = series.last()?;
    Some((series.first()?.start, last.start + last.length))
}

fn amount(series: &[MergedInterval]) -> f64 {
    series
        .iter()
        .flat_map(|moment| moment.directions.iter())
        .map(|(_, direction)| direction.ios as f64)
        .sum()
}

fn mean(series: &[MergedInterval]) -> f64 {
    span(series).map_or(0.0, |(from, to)| {
        amount(series) / to.saturating_sub(from).as_secs_f64().max(1e-9)
    })
}

fn latencies(series: &[MergedInterval]) -> Histogram {
    let mut all = Histogram::new();
    for (_, direction) in series.iter().flat_map(|moment| moment.directions.iter()) {
        direction.latencies.add_to(&mut all);
    }
    all
}

fn median(series: &[MergedInterval]) -> Option<f64> {
    latencies(series).percentile(50.0)
}

/// Whether every I/O takes the same time at both depths, so that the rate grows with the depth.
fn is_delay(input: &LimitsInput<'_>) -> bool {
    let Some(one) = input.one else {
        return false;
    };
    let (alone, together) = (latencies(&one.series), latencies(&input.drain.series));
    let at = |all: &Histogram, percent| all.percentile(percent).unwrap_or(0.0);
    let (low, high) = (at(&alone, 50.0), at(&together, 50.0));
    let is_narrow = at(&alone, 90.0) - at(&alone, 10.0) <= SAME_LATENCY * low;
    let depth = f64::from(input.drain.depth.max(1));
    low >= DELAY
        && is_narrow
        && high <= low * (1.0 + SAME_LATENCY)
        && mean(&input.drain.series) >= GROWS * depth * mean(&one.series)
}

/// The I/Os per second that came back while the volume was idle, and whether the bucket was full.
fn refilled(input: &LimitsInput<'_>, limit: Option<&RateLimit>) -> Option<(f64, bool)> {
    let (series, limit) = (&input.refill?.series, limit?);
    let (from, to) = span(series)?;
    if input.idle == Nanos::ZERO || limit.unit != LimitedUnit::Ios {
        return None;
    }
    let time = to.saturating_sub(from).as_secs_f64();
    let beyond = amount(series) - limit.base.value * time;
    let idle = input.idle.as_secs_f64();
    // Still a burst at the end: more had come back than this took.
    let spent = rate_shape(series, from, to).is_some();
    let full = beyond >= FULL * limit.bucket.value;
    // One I/O per second was done meanwhile.
    (beyond > 0.0 && spent).then_some((beyond / idle + 1.0, full))
}

fn rows(report: &LimitsReport, input: &LimitsInput<'_>) -> Vec<(&'static str, String)> {
    let mut rows: Vec<(&'static str, String)> = Vec::new();
    let what = match report.verdict {
        LimitsVerdict::Bucket => "token bucket: a burst, then a base rate",
        LimitsVerdict::Ceiling => "a ceiling without a burst",
        LimitsVerdict::Latency => "a delay of each I/O, no limit of the rate",
        LimitsVerdict::None => "none met",
    };
    rows.push(("limit", what.to_owned()));
    let interval = |value: super::LimitEstimate| {
        format!(
            "{} IOPS (95 % CI {} to {})",
            rate(value.value),
            rate(value.low),
            rate(value.high)
        )
    };
    if let Some(limit) = &report.limit {
        rows.push(("base rate", interval(limit.base)));
        if let Some(burst) = limit.burst {
            rows.push(("burst rate", interval(burst)));
            rows.push((
                "bucket",
                format!(
                    "{} I/Os (95 % CI {} to {}), at least: it may not have been full",
                    count(limit.bucket.value.round() as u64),
                    count(limit.bucket.low.round() as u64),
                    count(limit.bucket.high.round() as u64)
                ),
            ));
            rows.push(("empty after", duration(limit.dry_at_s * 1e9)));
            rows.push((
                "full after",
                format!("{} without I/O", duration(limit.full_after_s() * 1e9)),
            ));
        }
        if let Some(refill) = report.refill.filter(|_| limit.burst.is_some()) {
            let full = if report.was_full {
                ", and it was full again"
            } else {
                ""
            };
            rows.push((
                "refill",
                format!(
                    "{} I/Os per second, measured over {} of rest{full}",
                    rate(refill.round()),
                    duration(input.idle.get() as f64)
                ),
            ));
        }
        rows.push((
            "counts",
            counted_text(report.counted.as_ref(), report.sizes.len()),
        ));
        for point in report.sizes.iter().skip(1) {
            rows.push((
                "",
                format!(
                    "{} IOPS of {}, {}/s",
                    rate(point.iops.value.round()),
                    bytes(point.bytes),
                    bytes((point.iops.value * point.bytes as f64) as u64)
                ),
            ));
        }
    } else {
        rows.push((
            "rate",
            format!("{} IOPS of 4 KiB", rate(report.mean_iops.round())),
        ));
    }
    if let Some(one) = report.one_ns {
        rows.push((
            "latency",
            format!("{} with one I/O in flight", duration(one)),
        ));
    }
    rows
}

fn counted_text(counted: Option<&CountedLimit>, sizes: usize) -> String {
    let Some(CountedLimit { form, worst }) = counted else {
        return if sizes < 3 {
            "unknown: too few block sizes were measured".to_owned()
        } else {
            "undecided: the rates at these block sizes fit no form, or two".to_owned()
        };
    };
    let what = match *form {
        CountedForm::Ios { .. } => "I/Os, whatever their size".to_owned(),
        CountedForm::Bytes { bytes_per_s } => format!("bytes: {}/s", bytes(bytes_per_s as u64)),
        CountedForm::IosOf { unit, iops } => format!(
            "I/Os of at most {}: {} per second",
            bytes(unit),
            rate(iops.round())
        ),
        CountedForm::Both { iops, bytes_per_s } => format!(
            "I/Os and bytes: {} IOPS and {}/s",
            rate(iops.round()),
            bytes(bytes_per_s as u64)
        ),
    };
    format!("{what} (all sizes within {:.1} %)", worst * 100.0)
}

fn sentence(report: &LimitsReport, input: &LimitsInput<'_>) -> String {
    match (&report.limit, report.verdict) {
        (Some(limit), LimitsVerdict::Bucket) => match (limit.burst, limit.holds_s()) {
            (Some(burst), Some(holds)) => format!(
                "{} IOPS: this figure holds for {}; after that {} IOPS.",
                rate(burst.value.round()),
                duration(holds * 1e9),
                rate(limit.base.value.round())
            ),
            _ => format!("Only {} IOPS last.", rate(limit.base.value.round())),
        },
        (Some(limit), _) => format!(
            "{} IOPS is a setting of the provider, not the speed of the device.",
            rate(limit.base.value.round())
        ),
        (None, LimitsVerdict::Latency) => format!(
            "Each I/O takes {}, alone or with others: more I/Os in flight give more IOPS.",
            duration(report.one_ns.unwrap_or(0.0))
        ),
        (None, _) => format!(
            "No limit was met in {}: a bucket of more than {} I/Os would not be empty yet.",
            duration(
                span(&input.drain.series)
                    .map_or(0.0, |(from, to)| to.saturating_sub(from).get() as f64)
            ),
            count(amount(&input.drain.series) as u64)
        ),
    }
}
