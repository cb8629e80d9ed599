//! `fathom limits`: the measurements that show the limits of a volume, as a job file that can be
//! run again.

use std::path::Path;

use fathom_model::{Bytes, Nanos};

use super::cell::file_value;
use super::quick::QuickError;

/// The job that drains the bucket.
pub const LIMITS_DRAIN: &str = "drain";
/// The job with one I/O in flight at the base rate.
pub const LIMITS_ONE: &str = "depth-1";
/// The job that lets the bucket fill: one I/O per second.
pub const LIMITS_IDLE: &str = "idle";
/// The job that drains what has come back.
pub const LIMITS_REFILL: &str = "refill";
/// Names of the jobs with other block sizes begin so, followed by the size in KiB.
pub const LIMITS_SIZE: &str = "size-";

/// Parts of the time, of 120.
const DRAIN_PARTS: u64 = 60;
const ONE_PARTS: u64 = 6;
const SIZES_PARTS: u64 = 30;
const IDLE_PARTS: u64 = 12;
const REFILL_PARTS: u64 = 12;
const PARTS: u64 = 120;

/// The measurements of `fathom limits` on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsPlan {
    file: String,
    size: Option<Bytes>,
    writes: bool,
    depth: u32,
    time: Nanos,
    sizes: Vec<u64>,
}

impl LimitsPlan {
    /// Measurements of the first `size` bytes of `file`, or all of it, that take `time` together.
    /// `sizes` are the block sizes in bytes besides 4 KiB. `writes`: writes instead of reads.
    ///
    /// # Errors
    /// When a job file cannot contain the name.
    pub fn new(
        file: &Path,
        size: Option<Bytes>,
        writes: bool,
        depth: u32,
        time: Nanos,
        sizes: &[u64],
    ) -> Result<LimitsPlan, QuickError> {
        Ok(LimitsPlan {
            file: file_value(file)?,
            size,
            writes,
            depth,
            time,
            sizes: sizes.to_vec(),
        })
    }

    fn part(&self, parts: u64) -> Nanos {
        Nanos::new((u128::from(self.time.get()) * u128::from(parts) / u128::from(PARTS)) as u64)
    }

    /// How long the bucket is drained.
    #[must_use]
    pub fn drain_time(&self) -> Nanos {
        self.part(DRAIN_PARTS)
    }

    /// How long each of the other block sizes is measured.
    #[must_use]
    pub fn size_time(&self) -> Nanos {
        Nanos::new(self.part(SIZES_PARTS).get() / self.sizes.len().max(1) as u64)
    }

    /// How long the volume is left nearly idle.
    #[must_use]
    pub fn idle_time(&self) -> Nanos {
        self.part(IDLE_PARTS)
    }

    fn target(&self) -> String {
        let size = self
            .size
            .map_or(String::new(), |size| format!("size={}\n", size.get()));
        format!("filename={}\n{size}", self.file)
    }

    /// The job file that lays out the target without measuring.
    #[must_use]
    pub fn layout(&self) -> String {
        format!(
            "[layout]\n{}rw=randread\nbs=1m\ncreate_only=1\n",
            self.target()
        )
    }

    /// The job file that measures.
    #[must_use]
    pub fn measure(&self) -> String {
        let rw = if self.writes { "randwrite" } else { "randread" };
        let mut text = format!(
            "[global]\n{}direct=1\ntime_based\nrw={rw}\nrandrepeat=0\nnorandommap\n",
            self.target()
        );
        let mut job = |name: &str, time: Nanos, options: &str| {
            text += &format!(
                "\n[{name}]\nstonewall\nruntime={}us\n{options}\n",
                time.get() / 1000
            );
        };
        let depth = self.depth;
        let deep = format!("bs=4k\niodepth={depth}");
        job(LIMITS_DRAIN, self.drain_time(), &deep);
        job(LIMITS_ONE, self.part(ONE_PARTS), "bs=4k\niodepth=1");
        for size in &self.sizes {
            job(
                &format!("{LIMITS_SIZE}{}k", size >> 10),
                self.size_time(),
                &format!("bs={size}\niodepth={depth}"),
            );
        }
        job(
            LIMITS_IDLE,
            self.idle_time(),
            "bs=4k\niodepth=1\nrate_iops=1",
        );
        job(LIMITS_REFILL, self.part(REFILL_PARTS), &deep);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measurements_take_the_given_time() {
        let plan = LimitsPlan::new(
            Path::new("/data/file"),
            Some(Bytes::from_mib(64)),
            false,
            32,
            Nanos::from_secs(120),
            &[24 << 10, 48 << 10, 96 << 10],
        )
        .expect("a plain name");
        let text = plan.measure();
        let times = text
            .lines()
            .filter_map(|line| line.strip_prefix("runtime=")?.strip_suffix("us"))
            .map(|us| us.parse::<u64>().expect("a number"));
        assert_eq!(times.sum::<u64>(), 120_000_000);
        assert_eq!(text.matches("stonewall").count(), 7);
        assert!(text.contains("[size-24k]") && text.contains("bs=24576"));
    }
}
