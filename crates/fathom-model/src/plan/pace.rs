//! How much, how long, how deep, and when each I/O is due.

use super::{Extent, Replay};
use crate::{Nanos, PerDirection};

/// How much, and how long.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// `io_size`: bytes of I/O; the default is the region.
    pub io_size: Option<Extent>,
    /// `number_ios`.
    pub ios: Option<u64>,
    /// `loops`: how often the amount is done, at least 1.
    pub loops: u64,
    /// `runtime`: end of measuring, counted from the end of the warm-up.
    pub runtime: Option<Nanos>,
    /// `time_based`: start over until the runtime ends.
    pub time_based: bool,
    /// `ramp_time`: warm-up that is not measured.
    pub ramp: Nanos,
    /// `steadystate`: end when steady.
    pub steady: Option<SteadyRule>,
}

/// `steadystate` and related options: when a job or a reporting group is in steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// What must be steady.
    pub measure: SteadyMeasure,
    /// Its slope counts, in units per sample; otherwise its largest distance from its mean.
    pub slope: bool,
    /// The slope or distance must stay below this.
    pub limit: f64,
    /// The limit is in percent of the mean.
    pub percent: bool,
    /// `steadystate_duration`: the evaluated time, a multiple of the interval.
    pub duration: Nanos,
    /// `steadystate_ramp_time`: not evaluated before this.
    pub ramp: Nanos,
    /// `steadystate_check_interval`: distance of samples.
    pub interval: Nanos,
}

impl SteadyRule {
    /// Number of samples evaluated together.
    #[must_use]
    pub fn samples(&self) -> usize {
        (self.duration.get() / self.interval.get().max(1)).max(1) as usize
    }
}

/// What must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyMeasure {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean service time, nanoseconds.
    Latency,
}

/// When each I/O is due.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Open loop: I/Os are due at this rate whatever the target does. `None`: closed loop at the queue depth.
    pub rate: PerDirection<Option<Rate>>,
    /// Gaps of the open loop.
    pub process: Arrivals,
    /// `rate_min`: fail below this.
    pub rate_min: PerDirection<Option<Rate>>,
    /// `ratecycle`: window of `rate_min`.
    pub rate_cycle: Nanos,
    /// Pauses of the closed loop.
    pub think: Option<Think>,
    /// `serialize_overlap`: an I/O waits while another in flight in the same job touches any of its bytes.
    pub serialize_overlap: bool,
    /// `flow`: this job's part of the I/O of all jobs with the same id.
    pub flow: Option<FlowShare>,
    /// `read_iolog`: I/Os and due times come from a log.
    pub replay: Option<Replay>,
    /// `latency_target`: search for the depth that meets it.
    pub latency: Option<LatencyTarget>,
}

/// `latency_target` and related options: searches for the deepest queue at which latencies stay below a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTarget {
    /// The limit of total latency.
    pub limit: Nanos,
    /// `latency_window`: duration of each attempt.
    pub window: Nanos,
    /// `latency_percentile`: percentage of the I/Os that must keep the limit; at 100 the first slower one ends the attempt.
    pub percentile: f64,
    /// `latency_run`: continue the search to the end of the job.
    pub continuous: bool,
}

/// `flow` and related options: jobs of one id share their I/O by weight, and the one that is ahead waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShare {
    /// `flow_id`.
    pub id: u64,
    /// `flow`, at least 1.
    pub weight: u32,
    /// `flow_sleep`: how long a job that is ahead waits before it checks again.
    pub sleep: Nanos,
}

/// A planned rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// I/Os per second.
    Iops(f64),
    /// Bytes per second.
    Bandwidth(f64),
}

/// Gaps between arrivals of the open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Constant.
    #[default]
    Linear,
    /// Exponential.
    Poisson,
}

/// `thinktime` and related options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// Pause.
    pub time: Nanos,
    /// Part of the pause spent busy.
    pub spin: Nanos,
    /// I/Os between pauses, at least 1.
    pub blocks: u32,
    /// Count issued I/Os, not completed ones (`thinktime_blocks_type=issue`).
    pub by_issue: bool,
    /// `thinktime_iotime`: at least this much load time between pauses.
    pub io_time: Nanos,
    /// `rate_ignore_thinktime`: I/Os due during a pause are skipped.
    pub ignored_by_rate: bool,
}

/// How many I/Os are kept in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// `iodepth`.
    pub depth: u32,
    /// `iodepth_batch`: most I/Os in one submission.
    pub batch_submit: u32,
    /// `iodepth_batch_complete_min`.
    pub batch_complete_min: u32,
    /// `iodepth_batch_complete_max`.
    pub batch_complete_max: u32,
    /// `iodepth_low`: once full, refill only when this few are left.
    pub low: u32,
}
