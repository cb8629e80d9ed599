//! The figures of one run.

use crate::tool::Run;

/// All figures that the cases compare.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub ios: f64,
    pub iops: f64,
    /// Of reads and of writes.
    pub iops_by: [f64; 2],
    /// Median completion latency of reads and of writes, ns, interpolated within its bin; 0 without
    /// any.
    pub median: [f64; 2],
    /// User time of the program and its children from start to end, microseconds.
    pub user_us: f64,
    /// User and system time, microseconds.
    pub cpu_us: f64,
    pub wall_ms: f64,
    /// KiB.
    pub resident: Vec<u64>,
    /// KiB.
    pub whole: Vec<u64>,
}

impl Sample {
    pub fn of(run: &Run) -> Result<Self, String> {
        let job = run.json.pointer("/jobs/0").ok_or("the result has no job")?;
        let figure = |at: &str| {
            job.pointer(at)
                .and_then(serde_json::Value::as_f64)
                .unwrap_or(0.0)
        };
        let both =
            |at: &str| ["read", "write"].map(|direction| figure(&format!("/{direction}/{at}")));
        if figure("/error") != 0.0 {
            return Err(format!("the job failed with error {}", figure("/error")));
        }
        let iops_by = both("iops");
        Ok(Self {
            ios: both("total_ios").iter().sum(),
            iops: iops_by.iter().sum(),
            iops_by,
            median: ["read", "write"]
                .map(|direction| median(job.pointer(&format!("/{direction}/clat_ns/bins")))),
            user_us: run.user_us,
            cpu_us: run.user_us + run.system_us,
            wall_ms: run.wall.as_secs_f64() * 1e3,
            resident: run.resident.clone(),
            whole: run.whole.clone(),
        })
    }

    /// User microseconds per I/O, minus those of a run without I/O.
    pub fn user_each(&self, idle: &Sample) -> f64 {
        (self.user_us - idle.user_us).max(0.0) / self.ios.max(1.0)
    }

    /// Total CPU microseconds per I/O, minus those of a run without I/O.
    pub fn cpu_each(&self, idle: &Sample) -> f64 {
        (self.cpu_us - idle.cpu_us).max(0.0) / self.ios.max(1.0)
    }
}

/// The median of json+ bins, each spread evenly over its width. A printed percentile is the middle
/// of a bin, and bins are 1 to 2 % wide: too coarse to distinguish two programs that differ by
/// less.
fn median(bins: Option<&serde_json::Value>) -> f64 {
    let bins = bins
        .and_then(serde_json::Value::as_object)
        .into_iter()
        .flatten();
    let mut bins: Vec<(u64, f64)> = bins
        .filter_map(|(ns, count)| Some((ns.parse().ok()?, count.as_f64()?)))
        .filter(|(_, count)| *count > 0.0)
        .collect();
    bins.sort_by_key(|(ns, _)| *ns);
    let half = bins.iter().map(|(_, count)| count).sum::<f64>() / 2.0;
    let mut seen = 0.0;
    for (middle, count) in bins {
        if seen + count >= half {
            let width = width(middle);
            return middle as f64 - width / 2.0 + width * (half - seen) / count;
        }
        seen += count;
    }
    0.0
}

/// Width of the bin around `ns`: fio's layout has 64 bins in each power of two from 128 ns on
/// (stat.h, FIO_IO_U_PLAT_BITS).
fn width(ns: u64) -> f64 {
    f64::from(1_u32 << ns.max(64).ilog2().saturating_sub(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_has_half_the_counts_below_it() {
        // 32,768 to 65,535 ns is divided into 64 bins of 512 ns: 33,024 is the middle of the first
        // one.
        assert_eq!(width(33_024), 512.0);
        let median = |bins| median(Some(&bins));
        assert_eq!(median(serde_json::json!({"33024": 4})), 33_024.0);
        assert_eq!(
            median(serde_json::json!({"33024": 1, "33536": 3})),
            33_280.0 + 512.0 / 3.0
        );
        assert_eq!(median(serde_json::json!({})), 0.0);
        assert_eq!(super::median(None), 0.0);
    }
}
