//! The recording, with the names used in documents.

use std::path::PathBuf;

use fathom_model::*;
use serde::{Deserialize, Serialize};
use serde_with::{As, Same};

use super::blame::BlameRecordingDocument;
use super::conditions::ConditionsDocument;
use super::device::TargetRecordingDocument;
use super::observed::ObservedIoDocument;
use super::plan::{PlanDocument, SteadyRuleDocument};
use super::values::{
    BytesDocument, DamageCountsDocument, HistogramDocument, IntervalDocument, NanosDocument,
    PathDocument, PerDirectionDocument, U128Document,
};

/// serde passes the field by reference.
fn is_zero(time: &Nanos) -> bool {
    time.is_zero()
}

fn is_zero_number(number: &u64) -> bool {
    *number == 0
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Recording", remote = "Recording")]
pub(crate) struct RecordingDocument {
    #[serde(rename = "plan", with = "As::<PlanDocument>")]
    plan: Plan,
    #[serde(rename = "started_unix_ns")]
    started_unix_ns: u64,
    #[serde(rename = "elapsed", with = "As::<NanosDocument>")]
    elapsed: Nanos,
    #[serde(rename = "jobs", with = "As::<Vec<JobRecordingDocument>>")]
    jobs: Vec<JobRecording>,
    #[serde(rename = "disks", with = "As::<Vec<DiskRecordingDocument>>")]
    disks: Vec<DiskRecording>,
    #[serde(rename = "targets", with = "As::<Vec<TargetRecordingDocument>>")]
    targets: Vec<TargetRecording>,
    #[serde(rename = "clock", with = "As::<ClockFactsDocument>")]
    clock: ClockFacts,
    #[serde(rename = "host", with = "As::<HostRecordingDocument>")]
    host: HostRecording,
    #[serde(rename = "conditions", with = "As::<ConditionsDocument>")]
    conditions: Conditions,
    #[serde(rename = "stalls", with = "As::<Vec<StallDocument>>")]
    stalls: Vec<Stall>,
    #[serde(rename = "end", with = "As::<RunEndDocument>")]
    end: RunEnd,
    #[serde(rename = "messages")]
    messages: Vec<String>,
    #[serde(
        default,
        rename = "blame",
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<BlameRecordingDocument>>"
    )]
    blame: Option<BlameRecording>,
    #[serde(
        default,
        rename = "hosts",
        skip_serializing_if = "Vec::is_empty",
        with = "As::<Vec<HostPartDocument>>"
    )]
    hosts: Vec<HostPart>,
    #[serde(
        default,
        rename = "depth_probes",
        skip_serializing_if = "Vec::is_empty",
        with = "As::<Vec<DepthProbeDocument>>"
    )]
    depth_probes: Vec<DepthProbe>,
    #[serde(
        default,
        rename = "earlier",
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<EarlierRunsDocument>>"
    )]
    earlier: Option<EarlierRuns>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "EarlierRuns", remote = "EarlierRuns")]
pub(crate) struct EarlierRunsDocument {
    #[serde(rename = "count")]
    count: u32,
    #[serde(rename = "median_iops")]
    median_iops: f64,
    #[serde(rename = "least_iops")]
    least_iops: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DepthProbe", remote = "DepthProbe")]
pub(crate) struct DepthProbeDocument {
    #[serde(rename = "depth")]
    depth: u32,
    #[serde(rename = "ios")]
    ios: u64,
    #[serde(rename = "iops")]
    iops: f64,
    #[serde(rename = "mean_ns")]
    mean_ns: f64,
    #[serde(rename = "min_ns")]
    min_ns: f64,
    #[serde(rename = "p10_ns")]
    p10_ns: f64,
    #[serde(rename = "p90_ns")]
    p90_ns: f64,
    #[serde(rename = "foreign_iops")]
    foreign_iops: f64,
    #[serde(default, rename = "block", skip_serializing_if = "is_zero_number")]
    block: u64,
    #[serde(
        default,
        rename = "dispersion",
        skip_serializing_if = "Option::is_none"
    )]
    dispersion: Option<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "HostPart", remote = "HostPart")]
pub(crate) struct HostPartDocument {
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "jobs")]
    jobs: u32,
    #[serde(rename = "shift", with = "As::<NanosDocument>")]
    shift: Nanos,
    #[serde(rename = "elapsed", with = "As::<NanosDocument>")]
    elapsed: Nanos,
    #[serde(rename = "started_unix_ns")]
    started_unix_ns: u64,
    #[serde(rename = "end", with = "As::<RunEndDocument>")]
    end: RunEnd,
    #[serde(rename = "lost")]
    lost: Option<String>,
    #[serde(rename = "late_ns")]
    late_ns: i64,
    #[serde(rename = "late_bound_ns")]
    late_bound_ns: u64,
    #[serde(rename = "wall_offset_ns")]
    wall_offset_ns: i64,
    #[serde(rename = "disks", with = "As::<Vec<DiskRecordingDocument>>")]
    disks: Vec<DiskRecording>,
    #[serde(rename = "targets", with = "As::<Vec<TargetRecordingDocument>>")]
    targets: Vec<TargetRecording>,
    #[serde(rename = "clock", with = "As::<ClockFactsDocument>")]
    clock: ClockFacts,
    #[serde(rename = "host", with = "As::<HostRecordingDocument>")]
    host: HostRecording,
    #[serde(rename = "conditions", with = "As::<ConditionsDocument>")]
    conditions: Conditions,
    #[serde(rename = "stalls", with = "As::<Vec<StallDocument>>")]
    stalls: Vec<Stall>,
    #[serde(rename = "messages")]
    messages: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "RunEnd", remote = "RunEnd")]
pub(crate) enum RunEndDocument {
    #[serde(rename = "Completed")]
    Completed,
    #[serde(rename = "Interrupted")]
    Interrupted,
    #[serde(rename = "Aborted")]
    Aborted,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "JobRecording", remote = "JobRecording")]
pub(crate) struct JobRecordingDocument {
    #[serde(rename = "engine")]
    engine: String,
    #[serde(rename = "fallback")]
    fallback: Option<String>,
    #[serde(rename = "tid")]
    tid: u32,
    #[serde(rename = "skipped")]
    skipped: bool,
    #[serde(rename = "launched", with = "As::<NanosDocument>")]
    launched: Nanos,
    #[serde(rename = "measured_from", with = "As::<NanosDocument>")]
    measured_from: Nanos,
    #[serde(rename = "ended", with = "As::<NanosDocument>")]
    ended: Nanos,
    #[serde(
        rename = "directions",
        with = "As::<PerDirectionDocument<DirectionRecordingDocument>>"
    )]
    directions: PerDirection<DirectionRecording>,
    #[serde(rename = "sync", with = "As::<HistogramDocument>")]
    sync: Histogram,
    #[serde(rename = "sync_failed")]
    sync_failed: u64,
    #[serde(rename = "warmup", with = "As::<PerDirectionDocument<CountsDocument>>")]
    warmup: PerDirection<Counts>,
    #[serde(rename = "intervals", with = "As::<Vec<IntervalDocument>>")]
    intervals: Vec<Interval>,
    #[serde(rename = "depth_levels")]
    depth_levels: [u64; 7],
    #[serde(rename = "submit_levels")]
    submit_levels: [u64; 7],
    #[serde(rename = "complete_levels")]
    complete_levels: [u64; 7],
    #[serde(rename = "in_flight_ns", with = "As::<U128Document>")]
    in_flight_ns: u128,
    #[serde(rename = "usage", with = "As::<UsageDocument>")]
    usage: Usage,
    #[serde(rename = "error", with = "As::<Option<JobErrorDocument>>")]
    error: Option<JobError>,
    #[serde(rename = "errors_continued")]
    errors_continued: u64,
    #[serde(rename = "verify", with = "As::<VerifyCountsDocument>")]
    verify: VerifyCounts,
    #[serde(rename = "pace", with = "As::<PaceRecordingDocument>")]
    pace: PaceRecording,
    #[serde(
        default,
        rename = "gaps",
        skip_serializing_if = "Vec::is_empty",
        with = "As::<Vec<StallDocument>>"
    )]
    gaps: Vec<Stall>,
    #[serde(rename = "verify_state")]
    verify_state: Option<(String, Vec<u8>)>,
    #[serde(rename = "damages", with = "As::<Vec<DamageDocument>>")]
    damages: Vec<Damage>,
    #[serde(rename = "events", with = "As::<Vec<EventDocument>>")]
    events: Vec<Event>,
    #[serde(rename = "region", with = "As::<BytesDocument>")]
    region: Bytes,
    #[serde(rename = "ceiling_iops")]
    ceiling_iops: Option<f64>,
    #[serde(rename = "notes")]
    notes: Vec<String>,
    #[serde(
        default,
        rename = "observed",
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Box<ObservedIoDocument>>>"
    )]
    observed: Option<Box<ObservedIo>>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DirectionRecording", remote = "DirectionRecording")]
pub(crate) struct DirectionRecordingDocument {
    #[serde(rename = "counts", with = "As::<CountsDocument>")]
    counts: Counts,
    #[serde(rename = "slat", with = "As::<HistogramDocument>")]
    slat: Histogram,
    #[serde(rename = "clat", with = "As::<HistogramDocument>")]
    clat: Histogram,
    #[serde(rename = "lat", with = "As::<HistogramDocument>")]
    lat: Histogram,
    #[serde(rename = "response", with = "As::<HistogramDocument>")]
    response: Histogram,
    #[serde(rename = "lateness", with = "As::<HistogramDocument>")]
    lateness: Histogram,
    #[serde(rename = "bad", with = "As::<HistogramDocument>")]
    bad: Histogram,
    #[serde(rename = "priorities", with = "As::<Vec<PriorityRecordingDocument>>")]
    priorities: Vec<PriorityRecording>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "PriorityRecording", remote = "PriorityRecording")]
pub(crate) struct PriorityRecordingDocument {
    #[serde(rename = "prio")]
    prio: u16,
    #[serde(rename = "latency", with = "As::<HistogramDocument>")]
    latency: Histogram,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Counts", remote = "Counts")]
pub(crate) struct CountsDocument {
    #[serde(rename = "planned")]
    planned: u64,
    #[serde(rename = "ok")]
    ok: u64,
    #[serde(rename = "short")]
    short: u64,
    #[serde(rename = "failed")]
    failed: u64,
    #[serde(rename = "timed_out")]
    timed_out: u64,
    #[serde(rename = "not_sent")]
    not_sent: u64,
    #[serde(rename = "bytes_asked")]
    bytes_requested: u64,
    #[serde(rename = "bytes_ok")]
    bytes_ok: u64,
    #[serde(rename = "bytes_short")]
    bytes_short: u64,
    #[serde(rename = "bytes_missing")]
    bytes_missing: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "SteadyRecording", remote = "SteadyRecording")]
pub(crate) struct SteadyRecordingDocument {
    #[serde(rename = "rule", with = "As::<SteadyRuleDocument>")]
    rule: SteadyRule,
    #[serde(rename = "attained")]
    attained: bool,
    #[serde(rename = "slope")]
    slope: f64,
    #[serde(rename = "deviation")]
    deviation: f64,
    #[serde(rename = "criterion")]
    criterion: f64,
    #[serde(rename = "samples", with = "As::<Vec<SteadySampleDocument>>")]
    samples: Vec<SteadySample>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "SteadySample", remote = "SteadySample")]
pub(crate) struct SteadySampleDocument {
    #[serde(rename = "iops")]
    iops: u64,
    #[serde(rename = "bandwidth")]
    bandwidth: u64,
    #[serde(rename = "latency", with = "As::<NanosDocument>")]
    latency: Nanos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "PaceRecording", remote = "PaceRecording")]
pub(crate) struct PaceRecordingDocument {
    #[serde(rename = "steady", with = "As::<Option<SteadyRecordingDocument>>")]
    steady: Option<SteadyRecording>,
    #[serde(rename = "latency_depth")]
    latency_depth: Option<u32>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Usage", remote = "Usage")]
pub(crate) struct UsageDocument {
    #[serde(rename = "user", with = "As::<NanosDocument>")]
    user: Nanos,
    #[serde(rename = "system", with = "As::<NanosDocument>")]
    system: Nanos,
    #[serde(rename = "switches")]
    switches: u64,
    #[serde(rename = "major_faults")]
    major_faults: u64,
    #[serde(rename = "minor_faults")]
    minor_faults: u64,
    #[serde(rename = "waited", with = "As::<NanosDocument>")]
    waited: Nanos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "JobError", remote = "JobError")]
pub(crate) struct JobErrorDocument {
    #[serde(rename = "errno")]
    errno: i32,
    #[serde(rename = "what")]
    operation: String,
    #[serde(rename = "at", with = "As::<NanosDocument>")]
    at: Nanos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Event", remote = "Event")]
pub(crate) struct EventDocument {
    #[serde(rename = "at", with = "As::<NanosDocument>")]
    at: Nanos,
    #[serde(rename = "what", with = "As::<EventKindDocument>")]
    kind: EventKind,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "EventKind", remote = "EventKind")]
pub(crate) enum EventKindDocument {
    #[serde(rename = "FirstShort")]
    FirstShort {
        #[serde(rename = "direction", with = "As::<DirectionDocument>")]
        direction: Direction,
        #[serde(rename = "offset")]
        offset: u64,
        #[serde(rename = "asked")]
        requested: u32,
        #[serde(rename = "moved")]
        transferred: u32,
    },
    #[serde(rename = "FirstError")]
    FirstError {
        #[serde(rename = "direction", with = "As::<Option<DirectionDocument>>")]
        direction: Option<Direction>,
        #[serde(rename = "offset")]
        offset: u64,
        #[serde(rename = "errno")]
        errno: i32,
    },
    #[serde(rename = "TargetShrank")]
    TargetShrank {
        #[serde(rename = "path")]
        path: String,
        #[serde(rename = "from", with = "As::<BytesDocument>")]
        from: Bytes,
        #[serde(rename = "to", with = "As::<BytesDocument>")]
        to: Bytes,
    },
    #[serde(rename = "GaveUp")]
    GaveUp {
        #[serde(rename = "in_flight")]
        in_flight: u32,
        #[serde(rename = "waited", with = "As::<NanosDocument>")]
        waited: Nanos,
    },
    #[serde(rename = "WorkerDied")]
    WorkerDied {
        #[serde(rename = "why")]
        reason: String,
    },
    #[serde(rename = "FirstMismatch")]
    FirstMismatch {
        #[serde(rename = "offset")]
        offset: u64,
        #[serde(rename = "what")]
        difference: String,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "VerifyCounts", remote = "VerifyCounts")]
pub(crate) struct VerifyCountsDocument {
    #[serde(rename = "planned")]
    planned: u64,
    #[serde(rename = "good")]
    good: u64,
    #[serde(rename = "bad")]
    bad: u64,
    #[serde(rename = "bytes")]
    bytes: u64,
    #[serde(rename = "unknown")]
    unknown: u64,
    // Recordings of before have none; it is written where it was measured.
    #[serde(
        rename = "time",
        default,
        skip_serializing_if = "is_zero",
        with = "As::<NanosDocument>"
    )]
    time: Nanos,
    #[serde(rename = "classes", with = "As::<DamageCountsDocument>")]
    classes: DamageCounts,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DiskRecording", remote = "DiskRecording")]
pub(crate) struct DiskRecordingDocument {
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "before", with = "As::<DiskCountersDocument>")]
    before: DiskCounters,
    #[serde(rename = "after", with = "As::<DiskCountersDocument>")]
    after: DiskCounters,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DiskCounters", remote = "DiskCounters")]
pub(crate) struct DiskCountersDocument {
    #[serde(rename = "read_ios")]
    read_ios: u64,
    #[serde(rename = "read_merges")]
    read_merges: u64,
    #[serde(rename = "read_sectors")]
    read_sectors: u64,
    #[serde(rename = "read_ticks")]
    read_ticks: u64,
    #[serde(rename = "write_ios")]
    write_ios: u64,
    #[serde(rename = "write_merges")]
    write_merges: u64,
    #[serde(rename = "write_sectors")]
    write_sectors: u64,
    #[serde(rename = "write_ticks")]
    write_ticks: u64,
    #[serde(rename = "in_flight")]
    in_flight: u64,
    #[serde(rename = "io_ticks")]
    io_ticks: u64,
    #[serde(rename = "time_in_queue")]
    time_in_queue: u64,
    #[serde(rename = "discard_ios")]
    discard_ios: u64,
    #[serde(rename = "discard_sectors")]
    discard_sectors: u64,
    #[serde(rename = "flush_ios")]
    flush_ios: u64,
    // Recordings of before, and disks without flushes, have none.
    #[serde(
        rename = "flush_ticks",
        default,
        skip_serializing_if = "is_zero_number"
    )]
    flush_ticks: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ClockFacts", remote = "ClockFacts")]
pub(crate) struct ClockFactsDocument {
    #[serde(rename = "source")]
    source: String,
    #[serde(rename = "cost_ns")]
    cost_ns: f64,
    #[serde(rename = "drift_ppm")]
    drift_ppm: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "HostRecording", remote = "HostRecording")]
pub(crate) struct HostRecordingDocument {
    #[serde(rename = "kernel")]
    kernel: String,
    #[serde(
        rename = "build_profile",
        default,
        skip_serializing_if = "String::is_empty"
    )]
    build_profile: String,
    #[serde(rename = "cpus")]
    cpus: u32,
    #[serde(rename = "memory", with = "As::<BytesDocument>")]
    memory: Bytes,
    #[serde(rename = "steal_percent")]
    steal_percent: Option<f64>,
    #[serde(rename = "cpu_throttles")]
    cpu_throttles: Option<u64>,
    #[serde(rename = "busy_percent")]
    busy_percent: Option<f64>,
    #[serde(rename = "idleness", with = "As::<Option<CpuIdlenessDocument>>")]
    idleness: Option<CpuIdleness>,
    #[serde(
        rename = "simulated",
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<SimulatedDocument>>"
    )]
    simulated: Option<Simulated>,
    #[serde(
        rename = "witnessed",
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Box<WitnessedDocument>>>"
    )]
    witnessed: Option<Box<Witnessed>>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Witnessed", remote = "Witnessed")]
pub(crate) struct WitnessedDocument {
    #[serde(rename = "command")]
    command: Vec<String>,
    #[serde(rename = "ended", with = "As::<ProgramEndDocument>")]
    ended: ProgramEnd,
    #[serde(rename = "processes")]
    processes: u64,
    #[serde(rename = "servers", with = "As::<Vec<WatchedProcessDocument>>")]
    servers: Vec<WatchedProcess>,
    #[serde(rename = "left", with = "As::<Vec<WatchedProcessDocument>>")]
    left: Vec<WatchedProcess>,
    #[serde(rename = "io", with = "As::<ProcessIoDocument>")]
    io: ProcessIo,
    #[serde(rename = "user", with = "As::<NanosDocument>")]
    user: Nanos,
    #[serde(rename = "system", with = "As::<NanosDocument>")]
    system: Nanos,
    #[serde(rename = "disks", with = "As::<Vec<GroupDiskDocument>>")]
    disks: Vec<GroupDisk>,
    #[serde(rename = "files", with = "As::<Vec<OpenedFileDocument>>")]
    files: Vec<OpenedFile>,
    #[serde(rename = "unknown")]
    unknown: Vec<String>,
    #[serde(rename = "application", default, skip_serializing_if = "Vec::is_empty")]
    application: Vec<String>,
    #[serde(
        rename = "costs",
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<TransactionCostsDocument>>"
    )]
    costs: Option<TransactionCosts>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "TransactionCosts", remote = "TransactionCosts")]
pub(crate) struct TransactionCostsDocument {
    #[serde(rename = "transactions")]
    transactions: u64,
    #[serde(rename = "cpu_ns")]
    cpu_ns: u64,
    #[serde(rename = "reads")]
    reads: u64,
    #[serde(rename = "read_ns")]
    read_ns: u64,
    #[serde(rename = "writes")]
    writes: u64,
    #[serde(rename = "write_ns")]
    write_ns: u64,
    #[serde(rename = "flushes")]
    flushes: u64,
    #[serde(rename = "flush_ns")]
    flush_ns: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ProgramEnd", remote = "ProgramEnd")]
pub(crate) enum ProgramEndDocument {
    #[serde(rename = "Code")]
    Code(i32),
    #[serde(rename = "Signal")]
    Signal(i32),
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "WatchedProcess", remote = "WatchedProcess")]
pub(crate) struct WatchedProcessDocument {
    #[serde(rename = "process")]
    process: u32,
    #[serde(rename = "name")]
    name: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ProcessIo", remote = "ProcessIo")]
pub(crate) struct ProcessIoDocument {
    #[serde(rename = "read_bytes")]
    read_bytes: u64,
    #[serde(rename = "written_bytes")]
    written_bytes: u64,
    #[serde(rename = "read_calls")]
    read_calls: u64,
    #[serde(rename = "write_calls")]
    write_calls: u64,
    #[serde(rename = "device_read_bytes")]
    device_read_bytes: u64,
    #[serde(rename = "device_written_bytes")]
    device_written_bytes: u64,
    #[serde(rename = "cancelled_bytes")]
    cancelled_bytes: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "GroupDisk", remote = "GroupDisk")]
pub(crate) struct GroupDiskDocument {
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "reads")]
    reads: u64,
    #[serde(rename = "read_bytes")]
    read_bytes: u64,
    #[serde(rename = "writes")]
    writes: u64,
    #[serde(rename = "written_bytes")]
    written_bytes: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "OpenedFile", remote = "OpenedFile")]
pub(crate) struct OpenedFileDocument {
    #[serde(rename = "path", with = "As::<PathDocument>")]
    path: PathBuf,
    #[serde(rename = "reads")]
    reads: bool,
    #[serde(rename = "writes")]
    writes: bool,
    #[serde(rename = "direct")]
    direct: bool,
    #[serde(rename = "disk")]
    disk: Option<String>,
    #[serde(rename = "memory_backed")]
    memory_backed: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Simulated", remote = "Simulated")]
pub(crate) struct SimulatedDocument {
    #[serde(rename = "device")]
    device: String,
    #[serde(rename = "seed")]
    seed: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "CpuIdleness", remote = "CpuIdleness")]
pub(crate) struct CpuIdlenessDocument {
    #[serde(rename = "system_percent")]
    system_percent: Option<f64>,
    #[serde(rename = "cpus_percent")]
    cpus_percent: Vec<f64>,
    #[serde(rename = "unit_mean_us")]
    unit_mean_us: f64,
    #[serde(rename = "unit_stddev_us")]
    unit_stddev_us: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Stall", remote = "Stall")]
pub(crate) struct StallDocument {
    #[serde(rename = "at", with = "As::<NanosDocument>")]
    at: Nanos,
    #[serde(rename = "lasted", with = "As::<NanosDocument>")]
    lasted: Nanos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DamageClass", remote = "DamageClass")]
pub(crate) enum DamageClassDocument {
    #[serde(rename = "BitFlip")]
    BitFlip,
    #[serde(rename = "Zeroed")]
    Zeroed,
    #[serde(rename = "TornSector")]
    TornSector,
    #[serde(rename = "TornBlock")]
    TornBlock,
    #[serde(rename = "ShornTail")]
    ShornTail,
    #[serde(rename = "MisdirectedWrite")]
    MisdirectedWrite,
    #[serde(rename = "MisdirectedRead")]
    MisdirectedRead,
    #[serde(rename = "LostWrite")]
    LostWrite,
    #[serde(rename = "Stale")]
    Stale,
    #[serde(rename = "Swapped")]
    Swapped,
    #[serde(rename = "OtherRun")]
    OtherRun,
    #[serde(rename = "OtherTarget")]
    OtherTarget,
    #[serde(rename = "Duplicated")]
    Duplicated,
    #[serde(rename = "OtherJob")]
    OtherJob,
    #[serde(rename = "Newer")]
    Newer,
    #[serde(rename = "Altered")]
    Altered,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "WriteMark", remote = "WriteIdentity")]
pub(crate) struct WriteIdentityDocument {
    #[serde(rename = "run")]
    run: u64,
    #[serde(rename = "job")]
    job: u32,
    #[serde(rename = "generation")]
    generation: u32,
    #[serde(rename = "number")]
    number: u64,
    #[serde(rename = "when_unix_ns")]
    when_unix_ns: Option<u64>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "SecondLook", remote = "RereadResult")]
pub(crate) enum RereadResultDocument {
    #[serde(rename = "Same")]
    Same,
    #[serde(rename = "Good")]
    Good,
    #[serde(rename = "Changed")]
    Changed,
    #[serde(rename = "NotTried")]
    NotTried,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Damage", remote = "Damage")]
pub(crate) struct DamageDocument {
    #[serde(rename = "class", with = "As::<DamageClassDocument>")]
    class: DamageClass,
    #[serde(rename = "path", with = "As::<PathDocument>")]
    path: PathBuf,
    #[serde(rename = "offset")]
    offset: u64,
    #[serde(rename = "len")]
    len: u32,
    #[serde(rename = "sectors")]
    sectors: (u32, u32),
    #[serde(rename = "expected", with = "As::<Option<WriteIdentityDocument>>")]
    expected: Option<WriteIdentity>,
    #[serde(rename = "found", with = "As::<Option<WriteIdentityDocument>>")]
    found: Option<WriteIdentity>,
    #[serde(rename = "elsewhere", with = "As::<Option<(PathDocument, Same)>>")]
    elsewhere: Option<(PathBuf, u64)>,
    #[serde(rename = "again", with = "As::<RereadResultDocument>")]
    reread: RereadResult,
    #[serde(rename = "detail")]
    detail: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Direction", remote = "Direction")]
pub(crate) enum DirectionDocument {
    #[serde(rename = "Read")]
    Read,
    #[serde(rename = "Write")]
    Write,
    #[serde(rename = "Trim")]
    Trim,
}

mirrors! {
    RecordingDocument for Recording,
    DepthProbeDocument for DepthProbe,
    EarlierRunsDocument for EarlierRuns,
    HostPartDocument for HostPart,
    RunEndDocument for RunEnd,
    WitnessedDocument for Witnessed,
    TransactionCostsDocument for TransactionCosts,
    ProgramEndDocument for ProgramEnd,
    WatchedProcessDocument for WatchedProcess,
    ProcessIoDocument for ProcessIo,
    GroupDiskDocument for GroupDisk,
    OpenedFileDocument for OpenedFile,
    JobRecordingDocument for JobRecording,
    DirectionRecordingDocument for DirectionRecording,
    PriorityRecordingDocument for PriorityRecording,
    CountsDocument for Counts,
    SteadyRecordingDocument for SteadyRecording,
    SteadySampleDocument for SteadySample,
    PaceRecordingDocument for PaceRecording,
    UsageDocument for Usage,
    JobErrorDocument for JobError,
    EventDocument for Event,
    EventKindDocument for EventKind,
    VerifyCountsDocument for VerifyCounts,
    DiskRecordingDocument for DiskRecording,
    DiskCountersDocument for DiskCounters,
    ClockFactsDocument for ClockFacts,
    HostRecordingDocument for HostRecording,
    SimulatedDocument for Simulated,
    CpuIdlenessDocument for CpuIdleness,
    StallDocument for Stall,
    DamageClassDocument for DamageClass,
    WriteIdentityDocument for WriteIdentity,
    RereadResultDocument for RereadResult,
    DamageDocument for Damage,
    DirectionDocument for Direction,
}
