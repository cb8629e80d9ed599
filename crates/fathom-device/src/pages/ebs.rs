//! Log page 0xD0 of Amazon EBS volumes: performance counters of the volume and of the instance.
//!
//! Layout: Amazon EBS User Guide, "Amazon EBS detailed performance statistics"; the `amzn stats`
//! command of nvme-cli and the collector of the EBS CSI driver have the same one. All numbers are
//! little-endian; bytes 96 to 511 are reserved.

use fathom_model::{Histogram, Nanos};

use super::little;

/// The first four bytes of the page.
const MAGIC: u64 = 0x3C23_B510;
/// Where the histograms of reads and writes start, and how long each is.
const HISTOGRAMS: usize = 512;
const HISTOGRAM_BYTES: usize = 8 + MAX_BINS * BIN_BYTES;
/// A bin: lower end, upper end (8 bytes each), count and a reserved field (4 bytes each).
const BIN_BYTES: usize = 24;
const MAX_BINS: usize = 64;
/// Bytes of the counters and both histograms.
const LENGTH: usize = HISTOGRAMS + 2 * HISTOGRAM_BYTES;

/// Why a page has no statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EbsStatsError {
    /// The page is too short.
    #[error("log page 0xD0 has {0} bytes, and {LENGTH} are needed")]
    Short(usize),
    /// The page is not one of EBS.
    #[error("log page 0xD0 does not start with the number of EBS statistics: not an EBS volume")]
    NotEbs,
    /// A histogram has more bins than fit.
    #[error("log page 0xD0 has a histogram of {0} bins, and at most {MAX_BINS} fit")]
    TooManyBins(u64),
}

/// Counters since the volume was attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EbsStats {
    /// Completed reads and writes.
    pub ops: (u64, u64),
    /// Bytes read and written.
    pub bytes: (u64, u64),
    /// Time spent on reads and writes, microseconds.
    pub busy_us: (u64, u64),
    /// Time in which the load exceeded the volume's IOPS, microseconds.
    pub volume_iops_exceeded_us: u64,
    /// The same for its bandwidth.
    pub volume_bandwidth_exceeded_us: u64,
    /// The same for the IOPS of the instance.
    pub instance_iops_exceeded_us: u64,
    /// The same for the bandwidth of the instance.
    pub instance_bandwidth_exceeded_us: u64,
    /// I/Os that wait now.
    pub queue: u64,
    /// Bins of the latencies of reads: lower end and upper end in microseconds, count.
    pub read_latency: Vec<(u64, u64, u64)>,
    /// The same of writes.
    pub write_latency: Vec<(u64, u64, u64)>,
}

impl EbsStats {
    /// Parses the page.
    ///
    /// # Errors
    /// If it is not a page of EBS.
    pub fn parse(page: &[u8]) -> Result<EbsStats, EbsStatsError> {
        if page.len() < LENGTH {
            return Err(EbsStatsError::Short(page.len()));
        }
        if little(page, 0, 4) != Some(MAGIC) {
            return Err(EbsStatsError::NotEbs);
        }
        let number = |at| little(page, at, 8).unwrap_or(0);
        Ok(EbsStats {
            ops: (number(8), number(16)),
            bytes: (number(24), number(32)),
            busy_us: (number(40), number(48)),
            volume_iops_exceeded_us: number(56),
            volume_bandwidth_exceeded_us: number(64),
            instance_iops_exceeded_us: number(72),
            instance_bandwidth_exceeded_us: number(80),
            queue: number(88),
            read_latency: histogram(page, HISTOGRAMS)?,
            write_latency: histogram(page, HISTOGRAMS + HISTOGRAM_BYTES)?,
        })
    }

    /// What was counted since `before`. A counter that was reset in between counts from zero.
    #[must_use]
    pub fn since(&self, before: &EbsStats) -> EbsStats {
        let less = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        let both = |now: (u64, u64), then: (u64, u64)| (less(now.0, then.0), less(now.1, then.1));
        EbsStats {
            ops: both(self.ops, before.ops),
            bytes: both(self.bytes, before.bytes),
            busy_us: both(self.busy_us, before.busy_us),
            volume_iops_exceeded_us: less(
                self.volume_iops_exceeded_us,
                before.volume_iops_exceeded_us,
            ),
            volume_bandwidth_exceeded_us: less(
                self.volume_bandwidth_exceeded_us,
                before.volume_bandwidth_exceeded_us,
            ),
            instance_iops_exceeded_us: less(
                self.instance_iops_exceeded_us,
                before.instance_iops_exceeded_us,
            ),
            instance_bandwidth_exceeded_us: less(
                self.instance_bandwidth_exceeded_us,
                before.instance_bandwidth_exceeded_us,
            ),
            ..self.clone()
        }
    }

    /// The limit that was exceeded longest, with the time.
    #[must_use]
    pub fn exceeded(&self) -> Option<(&'static str, Nanos)> {
        [
            ("the volume's IOPS", self.volume_iops_exceeded_us),
            ("the volume's bandwidth", self.volume_bandwidth_exceeded_us),
            ("the instance's IOPS", self.instance_iops_exceeded_us),
            (
                "the instance's bandwidth",
                self.instance_bandwidth_exceeded_us,
            ),
        ]
        .into_iter()
        .filter(|(_, us)| *us > 0)
        .max_by_key(|(_, us)| *us)
        .map(|(name, us)| (name, Nanos::new(us.saturating_mul(1000))))
    }

    /// The latencies of reads as a histogram, each at the middle of its bin.
    #[must_use]
    pub fn reads(&self) -> Histogram {
        let mut all = Histogram::new();
        for (low, high, count) in &self.read_latency {
            let middle = low / 2 + high / 2;
            all.record_n(middle.saturating_mul(1000), *count);
        }
        all
    }
}

fn histogram(page: &[u8], at: usize) -> Result<Vec<(u64, u64, u64)>, EbsStatsError> {
    let count = little(page, at, 8).unwrap_or(0);
    if count > MAX_BINS as u64 {
        return Err(EbsStatsError::TooManyBins(count));
    }
    Ok((0..count as usize)
        .map(|number| {
            let bin = at + 8 + number * BIN_BYTES;
            let field = |offset, bytes| little(page, bin + offset, bytes).unwrap_or(0);
            (field(0, 8), field(8, 8), field(16, 4))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page by the published layout: each field at its offset.
    fn page() -> Vec<u8> {
        let mut page = vec![0; 4096];
        page[0..4].copy_from_slice(&[0x10, 0xB5, 0x23, 0x3C]);
        let values: [(usize, u64); 11] = [
            (8, 1_000),
            (16, 2_000),
            (24, 4_096_000),
            (32, 8_192_000),
            (40, 500_000),
            (48, 600_000),
            (56, 7_000_000),
            (64, 8),
            (72, 9),
            (80, 10),
            (88, 32),
        ];
        for (at, value) in values {
            page[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        // Two bins of reads; one of writes, after 8 + 64 x 24 = 1,544 bytes.
        for (at, bins) in [
            (512, vec![(0_u64, 100_u64, 600_u32), (100, 300, 400)]),
            (2056, vec![(0, 1000, 2000)]),
        ] {
            page[at..at + 8].copy_from_slice(&(bins.len() as u64).to_le_bytes());
            for (number, (low, high, count)) in bins.into_iter().enumerate() {
                let bin = at + 8 + number * 24;
                page[bin..bin + 8].copy_from_slice(&low.to_le_bytes());
                page[bin + 8..bin + 16].copy_from_slice(&high.to_le_bytes());
                page[bin + 16..bin + 20].copy_from_slice(&count.to_le_bytes());
                // The reserved field is not part of the count.
                page[bin + 20..bin + 24].copy_from_slice(&[0xFF; 4]);
            }
        }
        page
    }

    #[test]
    fn a_page_is_parsed_by_its_published_layout() {
        let stats = EbsStats::parse(&page()).expect("a page");
        assert_eq!(stats.ops, (1_000, 2_000));
        assert_eq!(stats.bytes, (4_096_000, 8_192_000));
        assert_eq!(stats.busy_us, (500_000, 600_000));
        assert_eq!(
            (
                stats.volume_iops_exceeded_us,
                stats.volume_bandwidth_exceeded_us,
                stats.instance_iops_exceeded_us,
                stats.instance_bandwidth_exceeded_us,
                stats.queue
            ),
            (7_000_000, 8, 9, 10, 32)
        );
        assert_eq!(stats.read_latency, [(0, 100, 600), (100, 300, 400)]);
        assert_eq!(stats.write_latency, [(0, 1000, 2000)]);
        assert_eq!(
            stats.exceeded(),
            Some(("the volume's IOPS", Nanos::from_secs(7)))
        );
        assert_eq!(stats.reads().count(), 1000);
        assert_eq!(stats.since(&stats).exceeded(), None);
    }

    #[test]
    fn other_pages_are_errors() {
        assert_eq!(EbsStats::parse(&[]), Err(EbsStatsError::Short(0)));
        for cut in [4, 95, 512, 2056, 3599] {
            assert_eq!(
                EbsStats::parse(&page()[..cut]),
                Err(EbsStatsError::Short(cut))
            );
        }
        assert!(EbsStats::parse(&page()[..3600]).is_ok());
        let mut other = page();
        other[0] = 0;
        assert_eq!(EbsStats::parse(&other), Err(EbsStatsError::NotEbs));
        let mut many = page();
        many[512] = 65;
        assert_eq!(EbsStats::parse(&many), Err(EbsStatsError::TooManyBins(65)));
    }
}
