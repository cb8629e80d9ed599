//! What held while a run was measured.

use fathom_model::*;

#[cfg(test)]
use super::dice::TestRng;
use super::kept::{Fields, Kept, variant};
use super::value::Value;
use super::{Names, Unreadable};

kept!(Conditions {
    telemetry,
    targets,
    limits,
    virtual_machine
});
kept!(Telemetry {
    disks,
    samples,
    cost
});
kept!(Sample {
    start,
    length,
    disks,
    cpus,
    cpu_pressure,
    io_pressure,
    memory_pressure,
    cpu_mhz,
    celsius,
    available,
    dirty,
    writeback,
    throttles,
    wall_step_ns,
});
kept!(CpuShare { busy, stolen });
choice!(DirectTruth {
    Direct,
    Buffered,
    Unsaid
});
kept!(TargetConditions {
    path,
    is_file,
    size,
    memory_backed,
    direct,
    written_share,
    cached_share,
    dirty,
    gone,
    sharers
});
kept!(Sharer {
    process,
    name,
    writes,
    orphan
});
kept!(IoLimit {
    disk,
    reads,
    ios,
    per_second
});
