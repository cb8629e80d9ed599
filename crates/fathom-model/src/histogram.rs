//! Latency histograms: 128 buckets per power of two, merged exactly.
//!
//! The layout is that of HdrHistogram with two significant digits and a lowest value of 1 ns, so exchange with it is
//! exact; it also nests in fio's 64 per octave, so fio's bins are sums of ours. Values below 256 ns are exact, above
//! that a bucket's middle is at most 1/256 (0.4 %) away from any value in it.

use crate::Nanos;

/// Buckets from 0 ns to [`LARGEST_NS`].
pub const BUCKETS: usize = 4608;
/// The largest value with a bucket of its own, just over 73 minutes. Larger values are counted as overflow.
pub const LARGEST_NS: u64 = (1 << 42) - 1;
const EXACT: u64 = 256;
const HALF_BITS: u32 = 7;
const HALF: u64 = 1 << HALF_BITS;

/// The bucket of `value`; [`BUCKETS`] or more when it is above [`LARGEST_NS`].
#[inline]
#[must_use]
pub const fn bucket_of(value: u64) -> usize {
    // Setting that bit leaves larger values in their octave and takes those below 256 without a branch: their shift is 0.
    let shift = 63 - HALF_BITS - (value | HALF).leading_zeros();
    ((shift as usize) << HALF_BITS) + (value >> shift) as usize
}

/// First and last value of a bucket.
#[must_use]
pub const fn bucket_range(bucket: usize) -> (u64, u64) {
    if (bucket as u64) < EXACT {
        return (bucket as u64, bucket as u64);
    }
    let shift = (bucket >> HALF_BITS) - 1;
    let first = ((bucket - (shift << HALF_BITS)) as u64) << shift;
    (first, first + (1 << shift) - 1)
}

/// Counts of latencies, with exact sum, minimum and maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    overflow: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram. Its 36 KiB are untouched, and so not resident, until values arrive.
    #[must_use]
    pub fn new() -> Self {
        let counts = vec![0; BUCKETS]
            .into_boxed_slice()
            .try_into()
            .expect("as long as it was made");
        Histogram {
            counts,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            overflow: 0,
        }
    }

    /// Counts one value, in nanoseconds.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts the same value `n` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if value > LARGEST_NS {
            self.overflow += n;
        } else {
            self.counts[bucket_of(value)] += n;
        }
        self.count += n;
        self.sum += u128::from(value) * u128::from(n);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts many values, in nanoseconds, faster than one by one.
    #[inline]
    pub fn record_all(&mut self, values: &[u64]) {
        let counts = &mut *self.counts;
        let (mut sum, mut min, mut max) = (0u128, self.min, self.max);
        for &value in values {
            // Only values above the largest have a bucket past the last.
            match counts.get_mut(bucket_of(value)) {
                Some(count) => *count += 1,
                None => self.overflow += 1,
            }
            sum += u128::from(value);
            min = min.min(value);
            max = max.max(value);
        }
        self.count += values.len() as u64;
        self.sum += sum;
        (self.min, self.max) = (min, max);
    }

    /// Adds all of `other`; exact, in any order.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        let (from, to) = other.span();
        for (mine, theirs) in self.counts[from..=to]
            .iter_mut()
            .zip(&other.counts[from..=to])
        {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.overflow += other.overflow;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all values, writing only to used buckets.
    pub fn clear(&mut self) {
        if self.count > 0 {
            let (from, to) = self.span();
            self.counts[from..=to].fill(0);
        }
        (self.count, self.sum, self.min, self.max, self.overflow) = (0, 0, u64::MAX, 0, 0);
    }

    /// First and last bucket that may be non-empty.
    fn span(&self) -> (usize, usize) {
        (
            bucket_of(self.min.min(LARGEST_NS)),
            bucket_of(self.max.min(LARGEST_NS)),
        )
    }

    /// How many values were counted, overflow included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Exact sum of all values, in nanoseconds.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }
    /// Values above [`LARGEST_NS`].
    #[must_use]
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
    /// Exact smallest value; `None` when empty.
    #[must_use]
    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos::new(self.min))
    }
    /// Exact largest value; `None` when empty.
    #[must_use]
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos::new(self.max))
    }
    /// Exact mean in nanoseconds; 0 when empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum as f64 / self.count as f64
        }
    }

    /// Standard deviation (of a sample, n - 1) in nanoseconds, from bucket middles: within 0.4 % of each value.
    #[must_use]
    pub fn std_dev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let spread: f64 = self
            .buckets()
            .map(|(middle, n)| (middle - mean).powi(2) * n as f64)
            .sum();
        let above = (self.max as f64 - mean).powi(2) * self.overflow as f64;
        ((spread + above) / (self.count - 1) as f64).sqrt()
    }

    /// Buckets that are not empty: middle in nanoseconds and count, rising. They are clamped to the exact
    /// minimum and maximum. Overflow is not among them.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let (min, max) = (self.min as f64, self.max as f64);
        self.indexed()
            .map(move |(bucket, n)| {
                let (first, last) = bucket_range(bucket);
                ((first + last) as f64 / 2.0, n)
            })
            .map(move |(middle, n)| (middle.clamp(min, max), n))
    }

    /// Buckets that are not empty, by number.
    pub fn indexed(&self) -> impl Iterator<Item = (usize, u64)> {
        let (from, to) = if self.count == 0 { (0, 0) } else { self.span() };
        self.counts[from..=to]
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(move |(i, n)| (from + i, *n))
    }

    /// The value that `percent` (0 to 100) of all values do not exceed: the middle of its bucket, never outside the
    /// exact minimum and maximum. `None` when empty. Overflowed values count as the maximum.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let wanted = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count);
        if wanted == self.count {
            return Some(self.max as f64);
        }
        let mut seen = 0;
        for (middle, n) in self.buckets() {
            seen += n;
            if seen >= wanted {
                return Some(middle);
            }
        }
        Some(self.max as f64)
    }

    /// How many values are above `limit`, to bucket resolution.
    #[must_use]
    pub fn count_above(&self, limit: Nanos) -> u64 {
        let edge = bucket_of(limit.get().min(LARGEST_NS));
        self.indexed()
            .filter(|(bucket, _)| *bucket > edge)
            .map(|(_, n)| n)
            .sum::<u64>()
            + self.overflow
    }
}

/// A compact histogram: only non-empty buckets, as variable-length numbers. An empty one needs 8 bytes: most intervals of
/// imported logs have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram(Option<Box<PackedBuckets>>);

/// The contents of a [`SparseHistogram`] that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PackedBuckets {
    packed: Box<[u8]>,
    sum: u128,
    min: u64,
    max: u64,
    overflow: u64,
}

impl SparseHistogram {
    /// Packs `histogram`.
    #[must_use]
    pub fn pack(histogram: &Histogram) -> Self {
        let mut packed = Vec::new();
        let mut next = 0;
        for (bucket, n) in histogram.indexed() {
            push_number(&mut packed, (bucket - next) as u64);
            push_number(&mut packed, n);
            next = bucket;
        }
        if packed.is_empty() && histogram.overflow == 0 {
            return SparseHistogram(None);
        }
        SparseHistogram(Some(Box::new(PackedBuckets {
            packed: packed.into_boxed_slice(),
            sum: histogram.sum,
            min: histogram.min,
            max: histogram.max,
            overflow: histogram.overflow,
        })))
    }

    /// Adds what is packed here to `into`; exact.
    pub fn add_to(&self, into: &mut Histogram) {
        let Some(this) = &self.0 else {
            return;
        };
        let mut rest = &this.packed[..];
        let mut bucket = 0;
        let mut count = this.overflow;
        while let Some(step) = pull_number(&mut rest) {
            bucket += step as usize;
            let n = pull_number(&mut rest).expect("numbers are packed in pairs");
            into.counts[bucket] += n;
            count += n;
        }
        if count > 0 {
            into.count += count;
            into.sum += this.sum;
            into.overflow += this.overflow;
            into.min = into.min.min(this.min);
            into.max = into.max.max(this.max);
        }
    }

    /// The histogram that was packed.
    #[must_use]
    pub fn unpack(&self) -> Histogram {
        let mut histogram = Histogram::new();
        self.add_to(&mut histogram);
        histogram
    }

    /// Whether nothing was packed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Size in memory, bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let packed = |this: &PackedBuckets| this.packed.len() + size_of::<PackedBuckets>();
        self.0.as_deref().map_or(0, packed) + size_of::<Self>()
    }

    /// Appends it as bytes; an empty one is two zeros. Stored results use this form, which never changes.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let Some(this) = &self.0 else {
            into.extend([0, 0]);
            return;
        };
        push_number(into, this.packed.len() as u64);
        push_number(into, this.overflow);
        into.extend_from_slice(&this.packed);
        let (high, low) = ((this.sum >> 64) as u64, this.sum as u64);
        [high, low, this.min, this.max]
            .into_iter()
            .for_each(|number| push_number(into, number));
    }

    /// Reads what [`SparseHistogram::encode`] appended, from the front of `from`; `None` when the bytes are incomplete or invalid.
    #[must_use]
    pub fn decode(from: &mut &[u8]) -> Option<Self> {
        let (length, overflow) = (pull_number(from)? as usize, pull_number(from)?);
        if length == 0 && overflow == 0 {
            return Some(SparseHistogram(None));
        }
        let (packed, rest) = from.split_at_checked(length)?;
        *from = rest;
        check_packed(packed, overflow)?;
        let (high, low) = (pull_number(from)?, pull_number(from)?);
        let sum = u128::from(high) << 64 | u128::from(low);
        Some(SparseHistogram(Some(Box::new(PackedBuckets {
            packed: packed.into(),
            sum,
            min: pull_number(from)?,
            max: pull_number(from)?,
            overflow,
        }))))
    }
}

/// Checks that the buckets are in range and that the counts do not overflow.
fn check_packed(mut packed: &[u8], overflow: u64) -> Option<()> {
    let (mut bucket, mut count) = (0u64, overflow);
    while !packed.is_empty() {
        bucket = bucket.checked_add(pull_number(&mut packed)?)?;
        count = count.checked_add(pull_number(&mut packed)?)?;
    }
    (bucket < BUCKETS as u64).then_some(())
}

/// LEB128, unsigned.
pub(crate) fn push_number(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

pub(crate) fn pull_number(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range_without_gap_or_overlap() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (first, last) = bucket_range(bucket);
            assert_eq!(first, next);
            assert_eq!(bucket_of(first), bucket);
            assert_eq!(bucket_of(last), bucket);
            next = last + 1;
        }
        assert_eq!(next, LARGEST_NS + 1);
    }

    #[test]
    fn a_middle_is_within_one_percent_of_all_its_values_up_to_an_hour() {
        for bucket in 256..BUCKETS {
            let (first, last) = bucket_range(bucket);
            let middle = (first + last) as f64 / 2.0;
            assert!(
                (last as f64 - middle) / middle <= 0.01
                    && (middle - first as f64) / first as f64 <= 0.01
            );
        }
        const { assert!(LARGEST_NS > 3_600_000_000_000) };
    }

    #[test]
    fn known_answers() {
        let mut h = Histogram::new();
        (1..=100).for_each(|v| h.record(v));
        assert_eq!((h.count(), h.sum(), h.mean()), (100, 5050, 50.5));
        assert_eq!(h.percentile(50.0), Some(50.0));
        assert_eq!(h.percentile(99.0), Some(99.0));
        assert_eq!(h.percentile(100.0), Some(100.0));
        // Sample standard deviation of 1..=n is sqrt(n (n + 1) / 12).
        assert!((h.std_dev() - (100.0f64 * 101.0 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(h.count_above(Nanos::new(90)), 10);
    }

    #[test]
    fn overflow_is_counted_and_never_clamped() {
        let mut h = Histogram::new();
        h.record(7);
        h.record_n(LARGEST_NS + 1, 3);
        assert_eq!((h.count(), h.overflow()), (4, 3));
        assert_eq!(h.max(), Some(Nanos::new(LARGEST_NS + 1)));
        assert_eq!(h.percentile(99.0), Some((LARGEST_NS + 1) as f64));
    }

    #[test]
    fn recording_many_at_once_equals_one_by_one() {
        let values = [
            0,
            1,
            127,
            128,
            255,
            256,
            257,
            70_000,
            LARGEST_NS,
            LARGEST_NS + 1,
            u64::MAX,
        ];
        let (mut together, mut one_by_one) = (Histogram::new(), Histogram::new());
        values.chunks(3).for_each(|part| together.record_all(part));
        values.iter().for_each(|value| one_by_one.record(*value));
        assert_eq!(together, one_by_one);
        assert_eq!((together.count(), together.overflow()), (11, 2));
        together.record_all(&[]);
        assert_eq!(together, one_by_one);
    }

    #[test]
    fn merge_order_and_packing_do_not_change_a_histogram() {
        let mut parts = [Histogram::new(), Histogram::new(), Histogram::new()];
        let mut whole = Histogram::new();
        let mut x = 1u64;
        for i in 0..30_000 {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = x >> (20 + i % 40);
            parts[i % 3].record(value);
            whole.record(value);
        }
        let merge = |order: [usize; 3]| {
            let mut sum = Histogram::new();
            order.iter().for_each(|i| sum.merge(&parts[*i]));
            sum
        };
        assert_eq!(merge([0, 1, 2]), whole);
        assert_eq!(merge([2, 0, 1]), whole);
        assert_eq!(SparseHistogram::pack(&whole).unpack(), whole);
        let mut cleared = whole.clone();
        cleared.clear();
        assert_eq!(cleared, Histogram::new());
        assert_eq!(SparseHistogram::pack(&cleared).unpack(), cleared);
    }
}
