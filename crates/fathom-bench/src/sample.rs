//! Figures of one run.

use crate::tool::Run;

/// Everything the cases compare.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub ios: f64,
    pub iops: f64,
    /// Of reads and of writes.
    pub iops_by: [f64; 2],
    /// Median completion latency of reads and of writes, ns; 0 without any.
    pub median: [f64; 2],
    /// Of the program and its children from start to end, microseconds.
    pub user_us: f64,
    /// User and system, microseconds.
    pub cpu_us: f64,
    pub wall_ms: f64,
    /// KiB.
    pub resident: Vec<u64>,
    /// KiB.
    pub whole: Vec<u64>,
}

impl Sample {
    pub fn of(run: &Run) -> Result<Self, String> {
        let job = run.json.pointer("/jobs/0").ok_or("the result holds no job")?;
        let figure = |at: &str| job.pointer(at).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
        let both = |at: &str| ["read", "write"].map(|direction| figure(&format!("/{direction}/{at}")));
        if figure("/error") != 0.0 {
            return Err(format!("the job failed with error {}", figure("/error")));
        }
        let iops_by = both("iops");
        Ok(Self {
            ios: both("total_ios").iter().sum(),
            iops: iops_by.iter().sum(),
            iops_by,
            median: both("clat_ns/percentile/50.000000"),
            user_us: run.user_us,
            cpu_us: run.user_us + run.system_us,
            wall_ms: run.wall.as_secs_f64() * 1e3,
            resident: run.resident.clone(),
            whole: run.whole.clone(),
        })
    }

    /// User microseconds of an I/O, after what a run without I/O takes.
    pub fn user_each(&self, idle: &Sample) -> f64 {
        (self.user_us - idle.user_us).max(0.0) / self.ios.max(1.0)
    }

    /// All CPU microseconds of an I/O, after what a run without I/O takes.
    pub fn cpu_each(&self, idle: &Sample) -> f64 {
        (self.cpu_us - idle.cpu_us).max(0.0) / self.ios.max(1.0)
    }
}
