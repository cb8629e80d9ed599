//! The recording: every field of it, by name.

use fathom_model::*;

#[cfg(test)]
use super::dice::TestRng;
use super::kept::{Fields, Kept, variant};
use super::value::Value;
use super::{Names, Unreadable};

kept!(Recording {
    plan,
    started_unix_ns,
    elapsed,
    jobs,
    disks,
    targets,
    clock,
    host,
    conditions,
    stalls,
    end,
    messages,
});
choice!(RunEnd {
    Completed,
    Interrupted,
    Aborted
});
kept!(JobRecording {
    engine,
    fallback,
    tid,
    skipped,
    launched,
    measured_from,
    ended,
    directions,
    sync,
    sync_failed,
    warmup,
    intervals,
    depth_levels,
    submit_levels,
    complete_levels,
    in_flight_ns,
    usage,
    error,
    errors_continued,
    verify,
    pace,
    verify_state,
    damages,
    events,
    region,
    ceiling_iops,
    notes,
});
kept!(DirectionRecording {
    counts,
    slat,
    clat,
    lat,
    response,
    lateness,
    bad,
    priorities
});
kept!(PriorityRecording { prio, latency });
kept!(Counts {
    planned,
    ok,
    short,
    failed,
    timed_out,
    not_sent,
    bytes_asked,
    bytes_ok,
    bytes_short,
    bytes_missing
});
kept!(SteadyRecording {
    rule,
    attained,
    slope,
    deviation,
    criterion,
    samples
});
kept!(SteadySample {
    iops,
    bandwidth,
    latency
});
kept!(PaceRecording {
    steady,
    latency_depth
});
kept!(Usage {
    user,
    system,
    switches,
    major_faults,
    minor_faults,
    waited
});
kept!(JobError { errno, what, at });
kept!(Event { at, what });
choice!(EventKind {
    FirstShort { direction, offset, asked, moved }, FirstError { direction, offset, errno }, TargetShrank { path,
    from, to }, GaveUp { in_flight, waited }, WorkerDied { why }, FirstMismatch { offset, what },
});
kept!(VerifyCounts {
    planned,
    good,
    bad,
    bytes,
    unknown,
    classes
});
kept!(DiskRecording {
    name,
    before,
    after
});
kept!(DiskCounters {
    read_ios,
    read_merges,
    read_sectors,
    read_ticks,
    write_ios,
    write_merges,
    write_sectors,
    write_ticks,
    in_flight,
    io_ticks,
    time_in_queue,
    discard_ios,
    discard_sectors,
    flush_ios,
});
kept!(ClockFacts {
    source,
    cost_ns,
    drift_ppm
});
kept!(HostRecording {
    kernel,
    cpus,
    memory,
    steal_percent,
    cpu_throttles,
    busy_percent,
    idleness
});
kept!(CpuIdleness {
    system_percent,
    cpus_percent,
    unit_mean_us,
    unit_stddev_us
});
kept!(Stall { at, lasted });
choice!(DamageClass {
    BitFlip,
    Zeroed,
    TornSector,
    TornBlock,
    ShornTail,
    MisdirectedWrite,
    MisdirectedRead,
    LostWrite,
    Stale,
    Swapped,
    OtherRun,
    OtherTarget,
    Duplicated,
    OtherJob,
    Newer,
    Altered,
});
kept!(WriteMark {
    run,
    job,
    generation,
    number,
    when_unix_ns
});
choice!(SecondLook {
    Same,
    Good,
    Changed,
    NotTried
});
kept!(Damage {
    class,
    path,
    offset,
    len,
    sectors,
    expected,
    found,
    elsewhere,
    again,
    detail
});

impl Kept for DamageCounts {
    fn keep(&self, names: &mut Names) -> Value {
        self.seen().collect::<Vec<_>>().keep(names)
    }
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
        let mut counts = DamageCounts::default();
        Vec::<(DamageClass, u64)>::restore(value, names)?
            .into_iter()
            .for_each(|(class, n)| counts.count_many(class, n));
        Ok(counts)
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        let mut counts = DamageCounts::default();
        DamageClass::ALL
            .into_iter()
            .for_each(|class| counts.count_many(class, dice.below(3) as u64));
        counts
    }
}
