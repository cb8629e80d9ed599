//! The remaining amount of work of a job.

use fathom_model::{Bytes, Extent, Job};

/// The remaining amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Passes over the regions; `u64::MAX` is unlimited.
    pub passes: u64,
    /// Bytes.
    pub bytes: u64,
    /// I/Os.
    pub ios: u64,
}

impl Budget {
    /// The amount of a job over regions of `region` bytes in all.
    pub fn new(job: &Job, region: u64) -> Budget {
        let limits = &job.limits;
        if job.pace.replay.is_some() {
            return Budget {
                passes: 1,
                bytes: u64::MAX,
                ios: u64::MAX,
            };
        }
        let loops = limits.loops.max(1);
        let ios = limits.ios.unwrap_or(u64::MAX);
        if limits.time_based && limits.runtime.is_some() {
            return Budget {
                passes: u64::MAX,
                bytes: u64::MAX,
                ios,
            };
        }
        let amount = match (limits.io_size, job.files.file_size, job.files.size) {
            (Some(size), _, _) => Some(size.of(Bytes::new(region)).get()),
            // With filesize= the files have their own size, and size= is only the amount, at most
            // all of them.
            (None, Some(_), Extent::Bytes(size)) if !size.is_zero() => Some(size.get().min(region)),
            _ => None,
        };
        match amount {
            Some(bytes) => Budget {
                passes: u64::MAX,
                bytes: bytes.saturating_mul(loops),
                ios,
            },
            None => Budget {
                passes: loops,
                bytes: u64::MAX,
                ios,
            },
        }
    }

    /// Whether nothing is left.
    pub fn spent(&self) -> bool {
        self.passes == 0 || self.bytes == 0 || self.ios == 0
    }

    /// Whether bytes or I/Os are limited.
    pub fn is_limited(&self) -> bool {
        self.bytes != u64::MAX || self.ios != u64::MAX
    }

    /// A pass has ended.
    pub fn end_pass(&mut self) {
        if self.passes != u64::MAX {
            self.passes -= 1;
        }
    }

    /// Takes one I/O of `len` bytes; false if the budget is spent. If the amount is not a whole
    /// number of blocks, the last block that begins inside it is still done, as in fio.
    pub fn take(&mut self, len: u32) -> bool {
        if self.bytes == 0 || self.ios == 0 {
            return false;
        }
        if self.bytes != u64::MAX {
            self.bytes = self.bytes.saturating_sub(u64::from(len));
        }
        if self.ios != u64::MAX {
            self.ios -= 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::job;
    use fathom_model::{Access, Nanos, Traffic};

    #[test]
    fn amounts_follow_the_options() {
        let mut job = job(Traffic::Read, Access::Sequential { skip: 0 });
        let mib = 1 << 20;
        assert_eq!(
            Budget::new(&job, mib),
            Budget {
                passes: 1,
                bytes: u64::MAX,
                ios: u64::MAX
            }
        );
        job.limits.loops = 3;
        assert_eq!(Budget::new(&job, mib).passes, 3);
        job.limits.io_size = Some(Extent::Percent(50));
        assert_eq!(
            Budget::new(&job, mib),
            Budget {
                passes: u64::MAX,
                bytes: mib / 2 * 3,
                ios: u64::MAX
            }
        );
        job.limits.io_size = None;
        job.files.file_size = Some((Bytes::new(mib), Bytes::new(mib)));
        job.files.size = Extent::Bytes(Bytes::new(4096));
        assert_eq!(Budget::new(&job, mib).bytes, 3 * 4096);
        // Regression 0453: an amount beyond the files was done twice.
        job.files.size = Extent::Bytes(Bytes::new(2 * mib));
        assert_eq!(Budget::new(&job, mib).bytes, 3 * mib);
        // Regression 0333: a percentage was taken for all of the files. The regions are that share of them.
        job.files.size = Extent::Percent(25);
        assert_eq!(
            Budget::new(&job, mib / 4),
            Budget {
                passes: 3,
                bytes: u64::MAX,
                ios: u64::MAX
            }
        );
        job.limits.time_based = true;
        job.limits.runtime = Some(Nanos::from_secs(1));
        assert_eq!(Budget::new(&job, mib).passes, u64::MAX);
    }
}
