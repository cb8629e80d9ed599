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
    /// `read_iolog`: the I/O comes from a log, which says when each is due.
    pub replay: Option<Replay>,
}

/// `flow` and its family: jobs of one id share their I/O by weight, and who is ahead waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShare {
    /// `flow_id`.
    pub id: u64,
    /// `flow`, at least 1.
    pub weight: u32,
    /// `flow_sleep`: how long a job that is ahead waits before it looks again.
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
    /// All alike.
    #[default]
    Linear,
    /// Exponential.
    Poisson,
}

/// `thinktime` and its family.
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
}

/// How many I/Os are kept in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// `iodepth`.
    pub depth: u32,
    /// `iodepth_batch`: most I/Os handed over in one submission.
    pub batch_submit: u32,
    /// `iodepth_batch_complete_min`.
    pub batch_complete_min: u32,
    /// `iodepth_batch_complete_max`.
    pub batch_complete_max: u32,
    /// `iodepth_low`: once full, refill only when this few are left.
    pub low: u32,
}
