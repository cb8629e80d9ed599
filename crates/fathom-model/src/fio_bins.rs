//! fio's histogram bins: 64 per power of two, the last one without an upper bound.
//!
//! fio stores values up to 127 ns exactly, then 64 bins per power of two in 29 groups, and prints each as its middle
//! (documented in its `stat.h`). Each of our buckets is inside exactly one of those bins.

use crate::{Histogram, bucket_range};

/// Bins of fio: 29 groups of 64.
pub const FIO_BINS: u64 = 29 * 64;
/// From here on all values share fio's last bin, 17.18 s.
pub const FIO_CLAMP_NS: u64 = 1 << 34;
const EXACT: u64 = 128;
const MANTISSA_BITS: u32 = 6;

/// The value of the last bin of fio 2, which has 19 groups of 64 bins of microseconds: 16.7 s.
const FIO_2_LAST_NS: u64 = 16_711_680_000;

/// Whether fio lists a percentile of these nanoseconds for its last bin, which has no upper bound: the percentile is at least as long.
#[must_use]
pub const fn is_fio_last_bin(ns: u64) -> bool {
    ns == fio_bin_value(FIO_BINS - 1) || ns == FIO_2_LAST_NS
}

/// Number of fio's bin for `value` nanoseconds.
#[must_use]
pub const fn fio_bin(value: u64) -> u64 {
    if value < EXACT {
        return value;
    }
    if value >= FIO_CLAMP_NS {
        return FIO_BINS - 1;
    }
    let shift = value.ilog2() - MANTISSA_BITS;
    ((shift as u64) << MANTISSA_BITS) + (value >> shift)
}

/// The value fio prints for a bin.
#[must_use]
pub const fn fio_bin_value(bin: u64) -> u64 {
    if bin < EXACT {
        return bin;
    }
    let shift = (bin >> MANTISSA_BITS) - 1;
    let first = (bin - (shift << MANTISSA_BITS)) << shift;
    first + (1 << shift) / 2
}

/// (fio's middle, count) of all bins that are not empty, rising. Overflow is not among them.
#[must_use]
pub fn fio_bins(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for (bucket, n) in histogram.indexed() {
        let middle = fio_bin_value(fio_bin(bucket_range(bucket).0));
        match bins.last_mut() {
            Some((last, sum)) if *last == middle => *sum += n,
            _ => bins.push((middle, n)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BUCKETS;

    /// (value, number of the bin, middle), by hand from the layout that fio documents.
    const KNOWN: [(u64, u64, u64); 14] = [
        (0, 0, 0),
        (127, 127, 127),
        // 128..=255: two values to a bin.
        (128, 128, 129),
        (129, 128, 129),
        (255, 191, 255),
        // 256..=511: four.
        (256, 192, 258),
        (259, 192, 258),
        (260, 193, 262),
        // 2^20 = bin (20 - 6 + 1) * 64, width 2^14.
        (1 << 20, 960, (1 << 20) + (1 << 13)),
        ((1 << 33) - 1, 1791, (127 << 26) + (1 << 25)),
        (1 << 33, 1792, (64 << 27) + (1 << 26)),
        // The last: 127 * 2^27 + 2^26.
        ((1 << 34) - 1, 1855, 17_112_760_320),
        (1 << 34, 1855, 17_112_760_320),
        (3_600_000_000_000, 1855, 17_112_760_320),
    ];

    /// fio 3 prints 17112760320 ns, and fio 2 16711680 us, for every percentile in the last bin.
    #[test]
    fn the_last_bin_is_a_lower_bound() {
        let listed = [17_112_760_320, 16_711_680 * 1000];
        assert!(listed.into_iter().all(is_fio_last_bin));
        let near = [
            17_112_760_319,
            17_112_760_321,
            16_978_542_592,
            30_000_000_000,
        ];
        assert!(!near.into_iter().any(is_fio_last_bin));
    }

    #[test]
    fn known_answers() {
        for (value, bin, middle) in KNOWN {
            assert_eq!(
                (fio_bin(value), fio_bin_value(fio_bin(value))),
                (bin, middle),
                "{value} ns"
            );
        }
    }

    #[test]
    fn every_bucket_is_within_one_fio_bin() {
        for bucket in 0..BUCKETS {
            let (first, last) = bucket_range(bucket);
            assert_eq!(fio_bin(first), fio_bin(last), "{first}..={last}");
        }
    }

    #[test]
    fn neighbours_in_one_bin_are_added() {
        let mut h = Histogram::new();
        h.record_n(256, 2);
        h.record_n(258, 3);
        h.record(260);
        h.record_n(1 << 35, 4);
        h.record_n(20_000_000_000, 5);
        assert_eq!(fio_bins(&h), [(258, 5), (262, 1), (17_112_760_320, 9)]);
    }
}
