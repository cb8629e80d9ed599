//! What limits the rate of a load, how sure that is, and the evidence.

/// A short measurement of the load of a run at another queue depth or with another block size, made after the run and never part of its
/// figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DepthProbe {
    /// I/Os that were kept in flight, over all jobs.
    pub depth: u32,
    /// I/Os that completed.
    pub ios: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Mean service time (clat), nanoseconds.
    pub mean_ns: f64,
    /// Shortest service time, nanoseconds. At depth 1, where no I/O waits for another one of the load, it is that of the target alone.
    pub min_ns: f64,
    /// One in ten took less, nanoseconds; 0 where that is not known.
    pub p10_ns: f64,
    /// Nine in ten took less.
    pub p90_ns: f64,
    /// I/Os per second of the device meanwhile that were not of this load; 0 where that is not known.
    pub foreign_iops: f64,
    /// Bytes of an I/O where they are not those of the run; 0 where they are.
    pub block: u64,
    /// Variance of the I/Os of its intervals as a share of their mean (index of dispersion): 1 for independent completions. `None` with too
    /// few intervals.
    pub dispersion: Option<f64>,
}

/// What earlier runs of the same load on the same device reached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EarlierRuns {
    /// How many there are.
    pub count: u32,
    /// The median of their rates in the direction with most I/Os, per second.
    pub median_iops: f64,
    /// The lowest of their rates.
    pub least_iops: f64,
}

/// What can limit the rate of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitCause {
    /// Too few I/Os are in flight: more would complete more per second.
    QueueDepth,
    /// The target completes no more per second, however many I/Os are in flight.
    Target,
    /// The depth is near the knee: more in flight give a little more, and each takes longer.
    Knee,
    /// More I/Os in flight complete fewer per second.
    TooDeep,
    /// The link between the target and the host.
    Link,
    /// The target is the limit, because each write to an array with parity becomes several I/Os of its members.
    RaidWritePenalty,
    /// The target is the limit, because one member of an array is slower than the others.
    SlowMember,
    /// The target is the limit, because it moves data to free flash while it is written.
    GarbageCollection,
    /// The target is hot and slows itself down.
    Heat,
    /// The target is slower than it was in earlier runs of the same load, and nothing else explains it.
    SlowerThanBefore,
    /// The target is the limit, because the kernel splits each I/O into several requests.
    Splitting,
    /// The flushes between the writes.
    Flush,
    /// A ceiling of the volume, the provider or a controller: a rate that is set rather than reached.
    Ceiling,
    /// A limit of the control group of this process.
    ControlGroup,
    /// Another program that uses the target.
    Neighbour,
    /// The target completed nothing for a part of the time.
    TargetStall,
    /// The planned rate, which the target keeps up with.
    PlannedRate,
    /// The planned pauses between I/Os.
    ThinkTime,
    /// This program cannot generate more.
    Program,
    /// The CPUs of this host: stolen, throttled or used by others.
    HostCpu,
    /// What was recorded does not tell.
    #[default]
    NotKnown,
}

impl LimitCause {
    /// The name of the cause in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LimitCause::QueueDepth => "queue_depth",
            LimitCause::Target => "target",
            LimitCause::Knee => "knee",
            LimitCause::TooDeep => "too_deep",
            LimitCause::Link => "link",
            LimitCause::RaidWritePenalty => "raid_write_penalty",
            LimitCause::SlowMember => "slow_member",
            LimitCause::GarbageCollection => "garbage_collection",
            LimitCause::Heat => "heat",
            LimitCause::SlowerThanBefore => "slower_than_before",
            LimitCause::Splitting => "splitting",
            LimitCause::Flush => "flush",
            LimitCause::Ceiling => "ceiling",
            LimitCause::ControlGroup => "control_group",
            LimitCause::Neighbour => "neighbour",
            LimitCause::TargetStall => "target_stall",
            LimitCause::PlannedRate => "planned_rate",
            LimitCause::ThinkTime => "think_time",
            LimitCause::Program => "program",
            LimitCause::HostCpu => "host_cpu",
            LimitCause::NotKnown => "not_known",
        }
    }
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The evidence does not tell.
    #[default]
    NotKnown,
    /// It explains the rate, and a rival is open.
    Likely,
    /// It explains the rate, and the evidence excludes its rivals.
    Fact,
}

impl Certainty {
    /// The name of the certainty in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::NotKnown => "not_known",
            Certainty::Likely => "likely",
            Certainty::Fact => "fact",
        }
    }
}

/// What limits the rate of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// The cause.
    pub cause: LimitCause,
    /// The shares of the mean response of a closed loop that its parts have, which add up to 1; empty where they are not known. The
    /// share of the queue depth is the time of an I/O that waits for nothing.
    pub shares: Vec<(LimitCause, f64)>,
    /// How sure it is.
    pub certainty: Certainty,
    /// One or two sentences with the figures.
    pub sentences: Vec<String>,
    /// The figures of the sentences with their names, in ns, bytes, or parts of one: those that were looked at, also where another sentence
    /// took the place of theirs.
    pub figures: Vec<(&'static str, f64)>,
    /// What speaks for it.
    pub evidence_for: Vec<String>,
    /// What speaks against it, or for a rival.
    pub evidence_against: Vec<String>,
    /// The measurement that would settle it, if it is not a fact.
    pub settled_by: Option<String>,
}
