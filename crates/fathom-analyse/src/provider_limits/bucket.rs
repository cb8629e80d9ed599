//! The shape of a rate over time: a token bucket that runs dry, or a ceiling from the start.

use fathom_model::{Direction, Histogram, MergedInterval, Nanos};

use super::LimitEstimate;
use super::change_point::segments;
use crate::compare::student::quantile as student_quantile;

/// The series is condensed to at most this many parts.
const MOST_BINS: usize = 400;
/// A shape needs this many parts at the base rate.
const LEAST_BINS: usize = 6;
/// The base rate lasts at least this share of the time, and a ceiling nearly all of it.
const DRY_SHARE: f64 = 0.1;
const CEILING_SHARE: f64 = 0.8;
/// A burst is at least this much faster than the base rate.
const BURST: f64 = 1.1;
/// Parts at the base rate may differ by this share from each other, from the 5th to the 95th
/// percentile, and by two I/Os.
const EVEN: f64 = 0.02;
/// Latencies at the base rate may differ by this share of the median, from the 10th to the 90th
/// percentile; with several block sizes, by the second.
const NARROW: f64 = 0.3;
const NARROW_MIXED: f64 = 0.6;
/// The counts of a device are as uneven as its latencies: their index of dispersion (variance over
/// mean) is the squared coefficient of variation of the latency (Cox, Renewal Theory, 1962). Those
/// of a limiter are more even: at most this share of it, where the device would show this variance.
const DISPERSION: f64 = 0.15;
const SEEN_VARIANCE: f64 = 2.0;
/// A full write cache leaves at least the rate of the medium, bytes per second. Below it, and even
/// at that, only a limiter is left.
const MEDIUM_RATE: f64 = 30e6;
/// A load with this share of written bytes is one of writes.
const WRITES: f64 = 0.1;
/// An I/O that had a token took less than this share of the time between two tokens.
const HAD_TOKEN: f64 = 0.5;
/// And this many times less than the median.
const FASTER: f64 = 5.0;
/// Block sizes vary if the bytes per I/O differ by this share between parts.
const VARYING: f64 = 0.01;
/// An uneven quantity is at least this many times as uneven as the limited one.
const LESS_EVEN: f64 = 4.0;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedUnit {
    /// I/Os. Also where all I/Os have one size, so that bytes are as even.
    Ios,
    /// Bytes.
    Bytes,
}

/// A limit of one run. Rates are I/Os or bytes per second, the bucket I/Os or bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// What is limited.
    pub unit: LimitedUnit,
    /// All I/Os of the run have one size, so that I/Os and bytes cannot be distinguished.
    pub one_size: Option<f64>,
    /// The rate that lasts.
    pub base: LimitEstimate,
    /// The rate of the burst, if it was long enough to have one.
    pub burst: Option<LimitEstimate>,
    /// What was done beyond the base rate: the tokens that the bucket held at the start.
    pub bucket: LimitEstimate,
    /// When the bucket was empty, seconds after the start.
    pub dry_at_s: f64,
    /// Length of the analysed time, seconds.
    pub measured_s: f64,
    /// Typical latency at the base rate, nanoseconds.
    pub wait_ns: f64,
}

impl RateLimit {
    /// How long a full bucket of this size lasts at the burst rate, seconds.
    #[must_use]
    pub fn holds_s(&self) -> Option<f64> {
        let above = self.burst?.value - self.base.value;
        (above > 0.0).then(|| self.bucket.value / above)
    }

    /// How long an empty bucket takes to fill while the volume is idle, seconds.
    #[must_use]
    pub fn full_after_s(&self) -> f64 {
        self.bucket.value / self.base.value
    }
}

/// What limits the rate of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateShape {
    /// A burst that ended.
    Bucket(RateLimit),
    /// A limit from the start.
    Ceiling(RateLimit),
}

/// A part of the time.
struct Bin {
    start_s: f64,
    length_s: f64,
    ios: f64,
    bytes: f64,
    written: f64,
    latencies: Histogram,
}

impl Bin {
    fn amount(&self, unit: LimitedUnit) -> f64 {
        match unit {
            LimitedUnit::Ios => self.ios,
            LimitedUnit::Bytes => self.bytes,
        }
    }

    fn rate(&self, unit: LimitedUnit) -> f64 {
        self.amount(unit) / self.length_s
    }
}

/// Analyses the intervals between `from` and `to` of a load that takes all it gets (a closed loop
/// without think time). `None`: the run meets no token bucket, or does not show one clearly.
#[must_use]
pub fn rate_shape(series: &[MergedInterval], from: Nanos, to: Nanos) -> Option<RateShape> {
    let bins = bins(series, from, to);
    if bins.len() < LEAST_BINS {
        return None;
    }
    let one_size = one_size(&bins);
    let units: &[LimitedUnit] = if one_size.is_some() {
        &[LimitedUnit::Ios]
    } else {
        &[LimitedUnit::Ios, LimitedUnit::Bytes]
    };
    let shapes: Vec<(f64, RateShape)> = units
        .iter()
        .filter_map(|unit| shape(&bins, *unit, one_size))
        .collect();
    match shapes[..] {
        [] => None,
        [(_, only)] => Some(only),
        // Both are even only if the sizes hardly vary: the clearly more even one is limited.
        [(ios, first), (bytes, second), ..] => {
            if bytes > LESS_EVEN * ios {
                Some(first)
            } else if ios > LESS_EVEN * bytes {
                Some(second)
            } else {
                None
            }
        }
    }
}

/// Bytes per I/O if they are the same in all parts.
fn one_size(bins: &[Bin]) -> Option<f64> {
    let sizes: Vec<f64> = bins
        .iter()
        .filter(|bin| bin.ios > 0.0)
        .map(|bin| bin.bytes / bin.ios)
        .collect();
    let (low, high) = sizes.iter().fold((f64::MAX, 0.0_f64), |(low, high), size| {
        (low.min(*size), high.max(*size))
    });
    (high > 0.0 && high - low <= VARYING * high).then_some(f64::midpoint(low, high))
}

/// Complete parts of equal length; a short last one is dropped.
fn bins(series: &[MergedInterval], from: Nanos, to: Nanos) -> Vec<Bin> {
    let end = |moment: &MergedInterval| moment.start.get() + moment.length.get();
    let inside: Vec<&MergedInterval> = series
        .iter()
        .filter(|moment| {
            let middle = moment.start.get() + moment.length.get() / 2;
            middle >= from.get() && middle < to.get() && moment.length > Nanos::ZERO
        })
        .collect();
    let each = inside.len().div_ceil(MOST_BINS).max(1);
    let longest = inside
        .iter()
        .map(|moment| moment.length.get())
        .max()
        .unwrap_or(0) as f64
        * each as f64
        / 1e9;
    let mut bins: Vec<Bin> = Vec::new();
    for part in inside.chunks(each) {
        let start = part[0].start.get();
        let length_s = (end(part[part.len() - 1]).saturating_sub(start)) as f64 / 1e9;
        let mut bin = Bin {
            start_s: start.saturating_sub(from.get()) as f64 / 1e9,
            length_s,
            ios: 0.0,
            bytes: 0.0,
            written: 0.0,
            latencies: Histogram::new(),
        };
        for (way, direction) in part.iter().flat_map(|moment| moment.directions.iter()) {
            bin.ios += direction.ios as f64;
            bin.bytes += direction.bytes as f64;
            if way != Direction::Read {
                bin.written += direction.bytes as f64;
            }
            direction.latencies.add_to(&mut bin.latencies);
        }
        bins.push(bin);
    }
    // The end of a run is rarely at the end of an interval.
    if bins.len() > 1 && bins[bins.len() - 1].length_s < 0.9 * longest {
        bins.pop();
    }
    bins
}

/// The shape of one quantity, with its unevenness.
fn shape(bins: &[Bin], unit: LimitedUnit, one_size: Option<f64>) -> Option<(f64, RateShape)> {
    let rates: Vec<f64> = bins.iter().map(|bin| bin.rate(unit)).collect();
    let parts = segments(&rates);
    let last = parts.last()?;
    // The part in which the bucket ran dry belongs to neither rate.
    let dry_from = if last.from == 0 { 0 } else { last.from + 1 };
    let dry = bins.get(dry_from..).unwrap_or_default();
    let measured_s: f64 = bins.iter().map(|bin| bin.length_s).sum();
    let dry_s: f64 = dry.iter().map(|bin| bin.length_s).sum();
    if dry.len() < LEAST_BINS || dry_s < DRY_SHARE * measured_s {
        return None;
    }
    let base = mean_rate(dry, unit);
    if base.value <= 0.0 {
        return None;
    }
    let unevenness = unevenness(dry, unit, base.value)?;
    let before = &bins[..last.from];
    let waits = merged(dry);
    let is_released = is_narrow(&waits, one_size.is_some()) || is_more_even(dry, &waits);
    if !is_released || may_be_a_full_cache(dry) {
        return None;
    }
    let amount: f64 = bins.iter().map(|bin| bin.amount(unit)).sum();
    // The first part may begin inside an interval: time counts from the start of the load.
    let time_s = bins.last().map_or(0.0, |bin| bin.start_s + bin.length_s);
    let beyond = (amount - base.value * time_s).max(0.0);
    let error = (base.high - base.value) * time_s + one(unit, bins);
    let limit = RateLimit {
        unit,
        one_size,
        base,
        burst: None,
        bucket: LimitEstimate::new(beyond, error),
        dry_at_s: 0.0,
        measured_s: time_s,
        wait_ns: waits.percentile(50.0).unwrap_or(0.0),
    };
    let Some(burst) = burst(before, unit) else {
        // Tokens for less than one part of the time are the slice of a limiter.
        return (dry_s >= CEILING_SHARE * measured_s && has_fast_ios(bins, &limit))
            .then_some((unevenness, RateShape::Ceiling(limit)));
    };
    let is_above = rates[..last.from]
        .iter()
        .all(|rate| *rate > base.value * (1.0 + 2.0 * EVEN));
    if !is_above || burst.value < BURST * base.value {
        return None;
    }
    // In a closed loop a lower rate is a longer wait; without one, less I/O was submitted.
    let waited = merged(before).percentile(50.0).unwrap_or(0.0);
    if limit.wait_ns < BURST * waited {
        return None;
    }
    let limit = RateLimit {
        burst: Some(burst),
        dry_at_s: beyond / (burst.value - base.value),
        ..limit
    };
    Some((unevenness, RateShape::Bucket(limit)))
}

/// Whether these writes may be as fast as a medium behind a full cache.
fn may_be_a_full_cache(dry: &[Bin]) -> bool {
    let sum = |of: fn(&Bin) -> f64| dry.iter().map(of).sum::<f64>();
    let (bytes, written) = (sum(|bin| bin.bytes), sum(|bin| bin.written));
    written > WRITES * bytes && written / sum(|bin| bin.length_s) > MEDIUM_RATE
}

/// The error of counting at the ends: one I/O.
fn one(unit: LimitedUnit, bins: &[Bin]) -> f64 {
    match unit {
        LimitedUnit::Ios => 1.0,
        LimitedUnit::Bytes => {
            let (ios, bytes) = bins
                .iter()
                .fold((0.0, 0.0), |sum, bin| (sum.0 + bin.ios, sum.1 + bin.bytes));
            if ios > 0.0 { bytes / ios } else { 0.0 }
        }
    }
}

/// The rate before the part in which the bucket ran dry.
fn burst(before: &[Bin], unit: LimitedUnit) -> Option<LimitEstimate> {
    let (_, whole) = before.split_last()?;
    (!whole.is_empty()).then(|| mean_rate(whole, unit))
}

/// The rate over several parts. The interval is that of the mean of up to ten groups of parts
/// (Student's t), and never below one I/O at the ends.
fn mean_rate(bins: &[Bin], unit: LimitedUnit) -> LimitEstimate {
    let time: f64 = bins.iter().map(|bin| bin.length_s).sum();
    let value = bins.iter().map(|bin| bin.amount(unit)).sum::<f64>() / time;
    let ends = one(unit, bins) / time;
    let groups: Vec<f64> = bins
        .chunks(bins.len().div_ceil(10))
        .map(|group| {
            let time: f64 = group.iter().map(|bin| bin.length_s).sum();
            group.iter().map(|bin| bin.amount(unit)).sum::<f64>() / time
        })
        .collect();
    let n = groups.len() as f64;
    if groups.len() < 2 {
        return LimitEstimate::new(value, ends);
    }
    let mean = groups.iter().sum::<f64>() / n;
    let variance = groups.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student_quantile(0.975, n - 1.0) * (variance / n).sqrt();
    LimitEstimate::new(value, half.max(ends))
}

/// The range of the parts from the 5th to the 95th percentile, relative to the base rate; `None` if
/// it is too large for a limiter. Parts of less than half a second are joined: throttles of the
/// kernel work in slices of a tenth of a second.
fn unevenness(bins: &[Bin], unit: LimitedUnit, base: f64) -> Option<f64> {
    let length = bins.iter().map(|bin| bin.length_s).fold(0.0, f64::max);
    let joined = ((0.5 / length).round() as usize).clamp(1, (bins.len() / LEAST_BINS).max(1));
    let mut rates: Vec<f64> = bins
        .chunks_exact(joined)
        .map(|group| {
            let time: f64 = group.iter().map(|bin| bin.length_s).sum();
            group.iter().map(|bin| bin.amount(unit)).sum::<f64>() / time
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share).round() as usize];
    let range = at(0.95) - at(0.05);
    let of_ends = 2.0 * one(unit, bins) / (length * joined as f64);
    (range <= EVEN * base + of_ends).then_some((range / base).max(1e-6))
}

fn merged(bins: &[Bin]) -> Histogram {
    let mut all = Histogram::new();
    for bin in bins {
        all.merge(&bin.latencies);
    }
    all
}

/// Whether all I/Os waited about as long.
fn is_narrow(waits: &Histogram, one_size: bool) -> bool {
    let at = |percent| waits.percentile(percent);
    let (Some(low), Some(median), Some(high)) = (at(10.0), at(50.0), at(90.0)) else {
        return false;
    };
    let limit = if one_size { NARROW } else { NARROW_MIXED };
    high - low <= limit * median
}

/// Whether the counts are more even than the latencies allow without a limiter.
fn is_more_even(bins: &[Bin], waits: &Histogram) -> bool {
    let n = bins.len() as f64;
    let mean = bins.iter().map(|bin| bin.ios).sum::<f64>() / n;
    let variance = bins.iter().map(|bin| (bin.ios - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let variation = waits.std_dev() / waits.mean().max(1.0);
    let of_device = variation * variation * mean;
    of_device >= SEEN_VARIANCE && variance <= DISPERSION * of_device
}

/// Whether some I/Os did not wait, which shows that the device alone is faster than the rate: with
/// one I/O in flight it does one per latency.
fn has_fast_ios(bins: &[Bin], limit: &RateLimit) -> bool {
    let all = merged(bins);
    let (Some(fastest), Some(median)) = (all.min(), all.percentile(50.0)) else {
        return false;
    };
    let fastest = fastest.get() as f64;
    let between_tokens = 1e9 * one(limit.unit, bins) / limit.base.value;
    fastest < HAD_TOKEN * between_tokens && fastest * FASTER < median
}

/// The rate of I/Os of a load after its first fifth; `None` without I/O.
pub(super) fn steady_rate(series: &[MergedInterval]) -> Option<LimitEstimate> {
    let last = series.last()?;
    let bins = bins(series, series.first()?.start, last.start + last.length);
    let steady = &bins[bins.len() / 5..];
    let rate = (!steady.is_empty()).then(|| mean_rate(steady, LimitedUnit::Ios))?;
    (rate.value > 0.0).then_some(rate)
}
