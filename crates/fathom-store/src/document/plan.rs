//! The plan of a run, with the names used in documents.

use std::path::PathBuf;

use fathom_model::*;
use serde::{Deserialize, Serialize};
use serde_with::{As, Same};

use super::values::{BytesDocument, NanosDocument, PathDocument, PerDirectionDocument};

#[derive(Deserialize, Serialize)]
#[serde(rename = "Personality", remote = "Personality")]
pub(crate) enum PersonalityDocument {
    #[serde(rename = "Fathom")]
    Fathom,
    #[serde(rename = "Fio")]
    Fio,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Plan", remote = "Plan")]
pub(crate) struct PlanDocument {
    #[serde(rename = "personality", with = "As::<PersonalityDocument>")]
    personality: Personality,
    #[serde(rename = "sources")]
    sources: Vec<String>,
    #[serde(rename = "globals")]
    globals: Vec<(String, Option<String>)>,
    #[serde(rename = "overrides", with = "As::<Vec<OverrideDocument>>")]
    overrides: Vec<Override>,
    #[serde(rename = "jobs", with = "As::<Vec<JobDocument>>")]
    jobs: Vec<Job>,
    #[serde(rename = "interval", with = "As::<NanosDocument>")]
    interval: Nanos,
    #[serde(rename = "read_only")]
    read_only: bool,
    #[serde(rename = "warnings")]
    warnings: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Override", remote = "Override")]
pub(crate) struct OverrideDocument {
    #[serde(rename = "job")]
    job: Option<String>,
    #[serde(rename = "option")]
    option: String,
    #[serde(rename = "value")]
    value: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Job", remote = "Job")]
pub(crate) struct JobDocument {
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "options")]
    options: Vec<(String, Option<String>)>,
    #[serde(rename = "description")]
    description: Option<String>,
    #[serde(rename = "number")]
    number: u32,
    #[serde(rename = "section")]
    section: u32,
    #[serde(rename = "clone")]
    clone: u32,
    #[serde(rename = "group")]
    group: u32,
    #[serde(rename = "group_reporting")]
    group_reporting: bool,
    #[serde(rename = "start", with = "As::<StartDocument>")]
    start: Start,
    #[serde(rename = "exit", with = "As::<ExitRuleDocument>")]
    exit: ExitRule,
    #[serde(rename = "files", with = "As::<FileSetDocument>")]
    files: FileSet,
    #[serde(rename = "pattern", with = "As::<PatternDocument>")]
    pattern: Pattern,
    #[serde(rename = "limits", with = "As::<LimitsDocument>")]
    limits: Limits,
    #[serde(rename = "pace", with = "As::<PaceDocument>")]
    pace: Pace,
    #[serde(rename = "queue", with = "As::<QueueDocument>")]
    queue: Queue,
    #[serde(rename = "engine", with = "As::<EngineSpecDocument>")]
    engine: EngineSpec,
    #[serde(rename = "payload", with = "As::<PayloadDocument>")]
    payload: Payload,
    #[serde(rename = "verify", with = "As::<Option<VerifyDocument>>")]
    verify: Option<Verify>,
    #[serde(rename = "sync", with = "As::<SyncPolicyDocument>")]
    sync: SyncPolicy,
    #[serde(rename = "accounting", with = "As::<AccountingDocument>")]
    accounting: Accounting,
    #[serde(rename = "errors", with = "As::<ErrorPolicyDocument>")]
    errors: ErrorPolicy,
    #[serde(rename = "cpus")]
    cpus: Vec<u32>,
    #[serde(rename = "nice")]
    nice: Option<i32>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Start", remote = "Start")]
pub(crate) struct StartDocument {
    #[serde(rename = "after_all_before")]
    after_all_before: bool,
    #[serde(rename = "after_section")]
    after_section: Option<u32>,
    #[serde(rename = "delay", with = "As::<(NanosDocument, NanosDocument)>")]
    delay: (Nanos, Nanos),
    #[serde(rename = "command_before")]
    command_before: Option<String>,
    #[serde(rename = "command_after")]
    command_after: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ExitRule", remote = "ExitRule")]
pub(crate) struct ExitRuleDocument {
    #[serde(rename = "exit_all")]
    exit_all: bool,
    #[serde(rename = "exit_all_on_error")]
    exit_all_on_error: bool,
    #[serde(rename = "what", with = "As::<ExitWhatDocument>")]
    scope: ExitWhat,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ExitWhat", remote = "ExitWhat")]
pub(crate) enum ExitWhatDocument {
    #[serde(rename = "Group")]
    Group,
    #[serde(rename = "Stonewall")]
    Stonewall,
    #[serde(rename = "All")]
    All,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Extent", remote = "Extent")]
pub(crate) enum ExtentDocument {
    #[serde(rename = "Whole")]
    Whole,
    #[serde(rename = "Bytes")]
    Bytes(#[serde(with = "As::<BytesDocument>")] Bytes),
    #[serde(rename = "Percent")]
    Percent(u8),
}

/// serde passes the field by reference.
fn is_none(every: &u32) -> bool {
    *every == 0
}

/// serde passes the field by reference.
fn is_no_flag(flags: &u8) -> bool {
    *flags == 0
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "SyncPolicy", remote = "SyncPolicy")]
pub(crate) struct SyncPolicyDocument {
    #[serde(rename = "fsync_every")]
    fsync_every: u32,
    #[serde(rename = "fdatasync_every")]
    fdatasync_every: u32,
    #[serde(rename = "range_every", default, skip_serializing_if = "is_none")]
    range_every: u32,
    #[serde(rename = "range_flags", default, skip_serializing_if = "is_no_flag")]
    range_flags: u8,
    #[serde(rename = "fsync_at_end")]
    fsync_at_end: bool,
    #[serde(rename = "fsync_on_close")]
    fsync_on_close: bool,
    #[serde(rename = "syncfs_at_end", default)]
    syncfs_at_end: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Accounting", remote = "Accounting")]
pub(crate) struct AccountingDocument {
    #[serde(rename = "slat")]
    slat: bool,
    #[serde(rename = "clat")]
    clat: bool,
    #[serde(rename = "lat")]
    lat: bool,
    #[serde(rename = "bandwidth")]
    bandwidth: bool,
    #[serde(rename = "slat_percentiles")]
    slat_percentiles: bool,
    #[serde(rename = "clat_percentiles")]
    clat_percentiles: bool,
    #[serde(rename = "lat_percentiles")]
    lat_percentiles: bool,
    #[serde(rename = "percentiles")]
    percentiles: Vec<f64>,
    #[serde(rename = "bandwidth_sample", with = "As::<NanosDocument>")]
    bandwidth_sample: Nanos,
    #[serde(rename = "iops_sample", with = "As::<NanosDocument>")]
    iops_sample: Nanos,
    #[serde(rename = "unified", with = "As::<UnifiedDocument>")]
    unified: Unified,
    #[serde(rename = "disk_util")]
    disk_util: bool,
    #[serde(rename = "hidden")]
    hidden: bool,
    #[serde(rename = "reduced")]
    reduced: bool,
    #[serde(rename = "logs", with = "As::<LogsDocument>")]
    logs: Logs,
    #[serde(rename = "blame", default, skip_serializing_if = "std::ops::Not::not")]
    blame: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Unified", remote = "Unified")]
pub(crate) enum UnifiedDocument {
    #[serde(rename = "Apart")]
    Separate,
    #[serde(rename = "Mixed")]
    Mixed,
    #[serde(rename = "Both")]
    Both,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Logs", remote = "Logs")]
pub(crate) struct LogsDocument {
    #[serde(rename = "bw")]
    bw: Option<String>,
    #[serde(rename = "iops")]
    iops: Option<String>,
    #[serde(rename = "lat")]
    lat: Option<String>,
    #[serde(rename = "hist")]
    hist: Option<String>,
    #[serde(rename = "trace")]
    trace: Option<String>,
    #[serde(rename = "average", with = "As::<NanosDocument>")]
    average: Nanos,
    #[serde(rename = "hist_every", with = "As::<NanosDocument>")]
    hist_every: Nanos,
    #[serde(rename = "hist_coarseness")]
    hist_coarseness: u8,
    #[serde(rename = "window", with = "As::<LogWindowDocument>")]
    window: LogWindow,
    #[serde(rename = "per_job")]
    per_job: bool,
    #[serde(rename = "offset")]
    offset: bool,
    #[serde(rename = "prio")]
    prio: bool,
    #[serde(rename = "issue_time")]
    issue_time: bool,
    #[serde(rename = "unix_epoch")]
    unix_epoch: bool,
    #[serde(rename = "compressed")]
    compressed: bool,
    #[serde(rename = "entries")]
    entries: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "LogWindow", remote = "LogWindow")]
pub(crate) enum LogWindowDocument {
    #[serde(rename = "Mean")]
    Mean,
    #[serde(rename = "Max")]
    Max,
    #[serde(rename = "Both")]
    Both,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ErrorPolicy", remote = "ErrorPolicy")]
pub(crate) struct ErrorPolicyDocument {
    #[serde(rename = "continue_read")]
    continue_read: bool,
    #[serde(rename = "continue_write")]
    continue_write: bool,
    #[serde(rename = "continue_verify")]
    continue_verify: bool,
    #[serde(rename = "ignore")]
    ignore: [Vec<i32>; 3],
    #[serde(
        rename = "max_latency",
        with = "As::<PerDirectionDocument<Option<NanosDocument>>>"
    )]
    max_latency: PerDirection<Option<Nanos>>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "EngineSpec", remote = "EngineSpec")]
pub(crate) struct EngineSpecDocument {
    #[serde(rename = "kind", with = "As::<EngineKindDocument>")]
    kind: EngineKind,
    #[serde(rename = "named")]
    named: bool,
    #[serde(rename = "settings", with = "As::<EngineSettingsDocument>")]
    settings: EngineSettings,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "EngineKind", remote = "EngineKind")]
pub(crate) enum EngineKindDocument {
    #[serde(rename = "Sync")]
    Sync,
    #[serde(rename = "Psync")]
    Psync,
    #[serde(rename = "Vsync")]
    Vsync,
    #[serde(rename = "Pvsync")]
    Pvsync,
    #[serde(rename = "Pvsync2")]
    Pvsync2,
    #[serde(rename = "Libaio")]
    Libaio,
    #[serde(rename = "IoUring")]
    IoUring,
    #[serde(rename = "PosixAio")]
    PosixAio,
    #[serde(rename = "Mmap")]
    Mmap,
    #[serde(rename = "Null")]
    Null,
    #[serde(rename = "Splice")]
    Splice,
    #[serde(rename = "Falloc")]
    Falloc,
    #[serde(rename = "Ftruncate")]
    Ftruncate,
    #[serde(rename = "FileCreate")]
    FileCreate,
    #[serde(rename = "FileStat")]
    FileStat,
    #[serde(rename = "FileDelete")]
    FileDelete,
    #[serde(rename = "DirCreate")]
    DirCreate,
    #[serde(rename = "DirStat")]
    DirStat,
    #[serde(rename = "DirDelete")]
    DirDelete,
    #[serde(rename = "PageFault")]
    PageFault,
    #[serde(rename = "Cpuio")]
    Cpuio,
    #[serde(rename = "Exec")]
    Exec,
    #[serde(rename = "Rbd")]
    Rbd,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "StatCall", remote = "StatCall")]
pub(crate) enum StatCallDocument {
    #[serde(rename = "Stat")]
    Stat,
    #[serde(rename = "Lstat")]
    Lstat,
    #[serde(rename = "Statx")]
    Statx,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "EngineSettings", remote = "EngineSettings")]
pub(crate) struct EngineSettingsDocument {
    #[serde(rename = "fixed_buffers")]
    fixed_buffers: bool,
    #[serde(rename = "register_files")]
    register_files: bool,
    #[serde(rename = "register_where_possible")]
    register_where_possible: bool,
    #[serde(rename = "sq_poll")]
    sq_poll: bool,
    #[serde(rename = "sq_poll_cpu")]
    sq_poll_cpu: Option<u32>,
    #[serde(rename = "high_priority")]
    high_priority: bool,
    #[serde(rename = "userspace_reap")]
    userspace_reap: bool,
    #[serde(rename = "nowait")]
    nowait: bool,
    #[serde(rename = "uncached")]
    uncached: bool,
    #[serde(rename = "force_async")]
    force_async: u32,
    #[serde(rename = "vectored")]
    vectored: bool,
    #[serde(rename = "stat", with = "As::<StatCallDocument>")]
    stat: StatCall,
    #[serde(rename = "remove_made")]
    remove_created: bool,
    #[serde(rename = "priorities", with = "As::<PrioritiesDocument>")]
    priorities: Priorities,
    #[serde(rename = "numa", with = "As::<NumaDocument>")]
    numa: Numa,
    #[serde(rename = "atomic", default)]
    atomic: bool,
    #[serde(rename = "cpu", default, with = "As::<CpuLoadDocument>")]
    cpu: CpuLoad,
    #[serde(rename = "offload", default)]
    offload: bool,
    #[serde(
        rename = "pool_buffers",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pool_buffers: bool,
    #[serde(rename = "lock", default, with = "As::<FileLockDocument>")]
    lock: FileLock,
    #[serde(rename = "write_hint", default)]
    write_hint: Option<u8>,
    #[serde(rename = "person", default, with = "As::<CredentialsDocument>")]
    credentials: Credentials,
    #[serde(rename = "pinned", default)]
    locked_memory: u64,
    #[serde(rename = "program", default, with = "As::<Option<ProgramDocument>>")]
    program: Option<Program>,
    #[serde(rename = "scheduler", default)]
    scheduler: Option<String>,
    #[serde(
        rename = "rbd",
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<RbdImageDocument>>"
    )]
    rbd: Option<RbdImage>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "RbdImage", remote = "RbdImage")]
pub(crate) struct RbdImageDocument {
    #[serde(rename = "cluster", default)]
    cluster: Option<String>,
    #[serde(rename = "client", default)]
    client: Option<String>,
    #[serde(rename = "pool")]
    pool: String,
    #[serde(rename = "image")]
    image: String,
    #[serde(rename = "busy_poll")]
    busy_poll: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Program", remote = "Program")]
pub(crate) struct ProgramDocument {
    #[serde(rename = "path")]
    path: String,
    #[serde(rename = "arguments")]
    arguments: Vec<String>,
    #[serde(rename = "grace", with = "As::<NanosDocument>")]
    grace: Nanos,
    #[serde(rename = "redirect")]
    redirect: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Credentials", remote = "Credentials")]
pub(crate) struct CredentialsDocument {
    #[serde(rename = "user")]
    user: Option<u32>,
    #[serde(rename = "group")]
    group: Option<u32>,
    #[serde(rename = "name")]
    name: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "FileLock", remote = "FileLock")]
pub(crate) enum FileLockDocument {
    #[serde(rename = "None")]
    None,
    #[serde(rename = "Exclusive")]
    Exclusive,
    #[serde(rename = "ReadWrite")]
    ReadWrite,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "CpuLoad", remote = "CpuLoad")]
pub(crate) struct CpuLoadDocument {
    #[serde(rename = "percent")]
    percent: u8,
    #[serde(rename = "spell", with = "As::<NanosDocument>")]
    chunk: Nanos,
    #[serde(rename = "sorts")]
    sorts: bool,
    #[serde(rename = "ends_with_io")]
    ends_with_io: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Numa", remote = "Numa")]
pub(crate) struct NumaDocument {
    #[serde(rename = "cpu_nodes")]
    cpu_nodes: Vec<u32>,
    #[serde(rename = "memory", with = "As::<Option<MemoryPolicyDocument>>")]
    memory: Option<MemoryPolicy>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "MemoryPolicy", remote = "MemoryPolicy")]
pub(crate) struct MemoryPolicyDocument {
    #[serde(rename = "mode", with = "As::<MemoryModeDocument>")]
    mode: MemoryMode,
    #[serde(rename = "nodes")]
    nodes: Vec<u32>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "MemoryMode", remote = "MemoryMode")]
pub(crate) enum MemoryModeDocument {
    #[serde(rename = "Local")]
    Local,
    #[serde(rename = "Prefer")]
    Prefer,
    #[serde(rename = "Bind")]
    Bind,
    #[serde(rename = "Interleave")]
    Interleave,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Priorities", remote = "Priorities")]
pub(crate) struct PrioritiesDocument {
    #[serde(rename = "worker")]
    worker: Option<u16>,
    #[serde(
        rename = "shares",
        with = "As::<PerDirectionDocument<Vec<PriorityShareDocument>>>"
    )]
    shares: PerDirection<Vec<PriorityShare>>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "PriorityShare", remote = "PriorityShare")]
pub(crate) struct PriorityShareDocument {
    #[serde(rename = "size")]
    size: Option<u32>,
    #[serde(rename = "percent")]
    percent: u8,
    #[serde(rename = "prio")]
    prio: u16,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "FileSet", remote = "FileSet")]
pub(crate) struct FileSetDocument {
    #[serde(rename = "paths", with = "As::<Vec<PathDocument>>")]
    paths: Vec<PathBuf>,
    #[serde(rename = "named")]
    named: bool,
    #[serde(rename = "size", with = "As::<ExtentDocument>")]
    size: Extent,
    #[serde(
        rename = "file_size",
        with = "As::<Option<(BytesDocument, BytesDocument)>>"
    )]
    file_size: Option<(Bytes, Bytes)>,
    #[serde(rename = "offset", with = "As::<ExtentDocument>")]
    offset: Extent,
    #[serde(rename = "offset_increment", with = "As::<ExtentDocument>")]
    offset_increment: Extent,
    #[serde(rename = "offset_align", with = "As::<BytesDocument>")]
    offset_align: Bytes,
    #[serde(rename = "direct")]
    direct: bool,
    #[serde(rename = "sync_mode", with = "As::<SyncModeDocument>")]
    sync_mode: SyncMode,
    #[serde(rename = "service", with = "As::<FileServiceDocument>")]
    service: FileService,
    #[serde(rename = "service_every")]
    service_every: u32,
    #[serde(rename = "open_files")]
    open_files: u32,
    #[serde(rename = "layout", with = "As::<LayoutDocument>")]
    layout: Layout,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Layout", remote = "Layout")]
pub(crate) struct LayoutDocument {
    #[serde(rename = "create_on_open")]
    create_on_open: bool,
    #[serde(rename = "create_only")]
    create_only: bool,
    #[serde(rename = "allow_create")]
    allow_create: bool,
    #[serde(rename = "overwrite")]
    overwrite: bool,
    #[serde(rename = "unlink")]
    unlink: bool,
    #[serde(rename = "unlink_each_loop")]
    unlink_each_loop: bool,
    #[serde(rename = "fallocate", with = "As::<FallocateDocument>")]
    fallocate: Fallocate,
    #[serde(rename = "fadvise", with = "As::<FadviseDocument>")]
    fadvise: Fadvise,
    #[serde(rename = "invalidate")]
    invalidate: bool,
    #[serde(rename = "pre_read")]
    pre_read: bool,
    #[serde(rename = "append")]
    append: bool,
    #[serde(rename = "fill_device")]
    fill_device: bool,
    #[serde(rename = "create_fsync")]
    create_fsync: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Fallocate", remote = "Fallocate")]
pub(crate) enum FallocateDocument {
    #[serde(rename = "None")]
    None,
    #[serde(rename = "Native")]
    Native,
    #[serde(rename = "Posix")]
    Posix,
    #[serde(rename = "Keep")]
    Keep,
    #[serde(rename = "Truncate")]
    Truncate,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Fadvise", remote = "Fadvise")]
pub(crate) enum FadviseDocument {
    #[serde(rename = "None")]
    None,
    #[serde(rename = "ByPattern")]
    ByPattern,
    #[serde(rename = "Sequential")]
    Sequential,
    #[serde(rename = "Random")]
    Random,
    #[serde(rename = "NoReuse")]
    NoReuse,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "SyncMode", remote = "SyncMode")]
pub(crate) enum SyncModeDocument {
    #[serde(rename = "None")]
    None,
    #[serde(rename = "Sync")]
    Sync,
    #[serde(rename = "Dsync")]
    Dsync,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "FileService", remote = "FileService")]
pub(crate) enum FileServiceDocument {
    #[serde(rename = "RoundRobin")]
    RoundRobin,
    #[serde(rename = "Random")]
    Random,
    #[serde(rename = "Sequential")]
    Sequential,
    #[serde(rename = "Zipf")]
    Zipf(f64),
    #[serde(rename = "Pareto")]
    Pareto(f64),
    #[serde(rename = "Normal")]
    Normal(f64),
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Limits", remote = "Limits")]
pub(crate) struct LimitsDocument {
    #[serde(rename = "io_size", with = "As::<Option<ExtentDocument>>")]
    io_size: Option<Extent>,
    #[serde(rename = "ios")]
    ios: Option<u64>,
    #[serde(rename = "loops")]
    loops: u64,
    #[serde(rename = "runtime", with = "As::<Option<NanosDocument>>")]
    runtime: Option<Nanos>,
    #[serde(rename = "time_based")]
    time_based: bool,
    #[serde(rename = "ramp", with = "As::<NanosDocument>")]
    ramp: Nanos,
    #[serde(rename = "steady", with = "As::<Option<SteadyRuleDocument>>")]
    steady: Option<SteadyRule>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "SteadyRule", remote = "SteadyRule")]
pub(crate) struct SteadyRuleDocument {
    #[serde(rename = "measure", with = "As::<SteadyMeasureDocument>")]
    measure: SteadyMeasure,
    #[serde(rename = "slope")]
    slope: bool,
    #[serde(rename = "limit")]
    limit: f64,
    #[serde(rename = "percent")]
    percent: bool,
    #[serde(rename = "duration", with = "As::<NanosDocument>")]
    duration: Nanos,
    #[serde(rename = "ramp", with = "As::<NanosDocument>")]
    ramp: Nanos,
    #[serde(rename = "interval", with = "As::<NanosDocument>")]
    interval: Nanos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "SteadyMeasure", remote = "SteadyMeasure")]
pub(crate) enum SteadyMeasureDocument {
    #[serde(rename = "Iops")]
    Iops,
    #[serde(rename = "Bandwidth")]
    Bandwidth,
    #[serde(rename = "Latency")]
    Latency,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Pace", remote = "Pace")]
pub(crate) struct PaceDocument {
    #[serde(
        rename = "rate",
        with = "As::<PerDirectionDocument<Option<RateDocument>>>"
    )]
    rate: PerDirection<Option<Rate>>,
    #[serde(rename = "process", with = "As::<ArrivalsDocument>")]
    process: Arrivals,
    #[serde(
        rename = "rate_min",
        with = "As::<PerDirectionDocument<Option<RateDocument>>>"
    )]
    rate_min: PerDirection<Option<Rate>>,
    #[serde(rename = "rate_cycle", with = "As::<NanosDocument>")]
    rate_cycle: Nanos,
    #[serde(rename = "think", with = "As::<Option<ThinkDocument>>")]
    think: Option<Think>,
    #[serde(rename = "serialize_overlap")]
    serialize_overlap: bool,
    #[serde(rename = "flow", with = "As::<Option<FlowShareDocument>>")]
    flow: Option<FlowShare>,
    #[serde(rename = "replay", with = "As::<Option<ReplayDocument>>")]
    replay: Option<Replay>,
    #[serde(rename = "latency", with = "As::<Option<LatencyTargetDocument>>")]
    latency: Option<LatencyTarget>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "LatencyTarget", remote = "LatencyTarget")]
pub(crate) struct LatencyTargetDocument {
    #[serde(rename = "limit", with = "As::<NanosDocument>")]
    limit: Nanos,
    #[serde(rename = "window", with = "As::<NanosDocument>")]
    window: Nanos,
    #[serde(rename = "percentile")]
    percentile: f64,
    #[serde(rename = "keeps_on")]
    continuous: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "FlowShare", remote = "FlowShare")]
pub(crate) struct FlowShareDocument {
    #[serde(rename = "id")]
    id: u64,
    #[serde(rename = "weight")]
    weight: u32,
    #[serde(rename = "sleep", with = "As::<NanosDocument>")]
    sleep: Nanos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Rate", remote = "Rate")]
pub(crate) enum RateDocument {
    #[serde(rename = "Iops")]
    Iops(f64),
    #[serde(rename = "Bandwidth")]
    Bandwidth(f64),
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Arrivals", remote = "Arrivals")]
pub(crate) enum ArrivalsDocument {
    #[serde(rename = "Linear")]
    Linear,
    #[serde(rename = "Poisson")]
    Poisson,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Think", remote = "Think")]
pub(crate) struct ThinkDocument {
    #[serde(rename = "time", with = "As::<NanosDocument>")]
    time: Nanos,
    #[serde(rename = "spin", with = "As::<NanosDocument>")]
    spin: Nanos,
    #[serde(rename = "blocks")]
    blocks: u32,
    #[serde(rename = "by_issue")]
    by_issue: bool,
    #[serde(rename = "io_time", with = "As::<NanosDocument>")]
    io_time: Nanos,
    #[serde(rename = "forgiven")]
    ignored_by_rate: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Queue", remote = "Queue")]
pub(crate) struct QueueDocument {
    #[serde(rename = "depth")]
    depth: u32,
    #[serde(rename = "batch_submit")]
    batch_submit: u32,
    #[serde(rename = "batch_complete_min")]
    batch_complete_min: u32,
    #[serde(rename = "batch_complete_max")]
    batch_complete_max: u32,
    #[serde(rename = "low")]
    low: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Traffic", remote = "Traffic")]
pub(crate) enum TrafficDocument {
    #[serde(rename = "Read")]
    Read,
    #[serde(rename = "Write")]
    Write,
    #[serde(rename = "Trim")]
    Trim,
    #[serde(rename = "ReadWrite")]
    ReadWrite {
        #[serde(rename = "read_percent")]
        read_percent: u8,
    },
    #[serde(rename = "TrimWrite")]
    TrimWrite,
    #[serde(rename = "Logged")]
    Logged {
        #[serde(rename = "reads")]
        reads: bool,
        #[serde(rename = "writes")]
        writes: bool,
        #[serde(rename = "trims")]
        trims: bool,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Access", remote = "Access")]
pub(crate) enum AccessDocument {
    #[serde(rename = "Sequential")]
    Sequential {
        #[serde(rename = "skip")]
        skip: i64,
    },
    #[serde(rename = "Random")]
    Random {
        #[serde(rename = "every")]
        every: u32,
        #[serde(rename = "identical")]
        identical: bool,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Pattern", remote = "Pattern")]
pub(crate) struct PatternDocument {
    #[serde(rename = "traffic", with = "As::<TrafficDocument>")]
    traffic: Traffic,
    #[serde(rename = "access", with = "As::<AccessDocument>")]
    access: Access,
    #[serde(
        rename = "block_size",
        with = "As::<PerDirectionDocument<BlockSizesDocument>>"
    )]
    block_size: PerDirection<BlockSizes>,
    #[serde(
        rename = "block_align",
        with = "As::<PerDirectionDocument<BytesDocument>>"
    )]
    block_align: PerDirection<Bytes>,
    #[serde(rename = "unaligned")]
    unaligned: bool,
    #[serde(rename = "sizes_by_access")]
    sizes_by_access: bool,
    #[serde(
        rename = "distribution",
        with = "As::<PerDirectionDocument<DistributionDocument>>"
    )]
    distribution: PerDirection<Distribution>,
    #[serde(rename = "random_percent", with = "As::<PerDirectionDocument<Same>>")]
    random_percent: PerDirection<u8>,
    #[serde(rename = "without_replacement")]
    without_replacement: bool,
    #[serde(rename = "seed")]
    seed: u64,
    #[serde(rename = "zones", with = "As::<Option<StridedDocument>>")]
    zones: Option<Strided>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Strided", remote = "Strided")]
pub(crate) struct StridedDocument {
    #[serde(rename = "size", with = "As::<BytesDocument>")]
    size: Bytes,
    #[serde(rename = "range", with = "As::<BytesDocument>")]
    range: Bytes,
    #[serde(rename = "skip", with = "As::<BytesDocument>")]
    skip: Bytes,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlockSizes", remote = "BlockSizes")]
pub(crate) enum BlockSizesDocument {
    #[serde(rename = "Fixed")]
    Fixed(u32),
    #[serde(rename = "Range")]
    Range {
        #[serde(rename = "min")]
        min: u32,
        #[serde(rename = "max")]
        max: u32,
    },
    #[serde(rename = "Split")]
    Split(Vec<(u32, f64)>),
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Distribution", remote = "Distribution")]
pub(crate) enum DistributionDocument {
    #[serde(rename = "Uniform")]
    Uniform,
    #[serde(rename = "Zipf")]
    Zipf {
        #[serde(rename = "theta")]
        theta: f64,
        #[serde(rename = "center")]
        center: Option<f64>,
    },
    #[serde(rename = "Pareto")]
    Pareto {
        #[serde(rename = "power")]
        power: f64,
        #[serde(rename = "center")]
        center: Option<f64>,
    },
    #[serde(rename = "Normal")]
    Normal {
        #[serde(rename = "deviation")]
        deviation: f64,
        #[serde(rename = "center")]
        center: Option<f64>,
    },
    #[serde(rename = "Zoned")]
    Zoned(Vec<(u8, u8)>),
    #[serde(rename = "ZonedAbs")]
    ZonedAbs(#[serde(with = "As::<Vec<(Same, BytesDocument)>>")] Vec<(u8, Bytes)>),
    #[serde(rename = "Sequence")]
    Sequence {
        #[serde(rename = "blocks")]
        blocks: Vec<u64>,
        #[serde(rename = "moves_on")]
        advances: bool,
    },
    #[serde(rename = "Aged")]
    Aged {
        #[serde(rename = "spare")]
        spare: f64,
        #[serde(rename = "regions")]
        regions: u32,
        #[serde(rename = "cache", with = "As::<BytesDocument>")]
        cache: Bytes,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Payload", remote = "Payload")]
pub(crate) struct PayloadDocument {
    #[serde(rename = "fill", with = "As::<FillDocument>")]
    fill: Fill,
    #[serde(rename = "refill")]
    refill: bool,
    #[serde(rename = "scramble")]
    scramble: bool,
    #[serde(rename = "dedupe_percent")]
    dedupe_percent: u8,
    #[serde(rename = "dedupe_set", with = "As::<Option<DedupeSetDocument>>")]
    dedupe_set: Option<DedupeSet>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DedupeSet", remote = "DedupeSet")]
pub(crate) struct DedupeSetDocument {
    #[serde(rename = "percent")]
    percent: u8,
    #[serde(rename = "shared")]
    shared: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Fill", remote = "Fill")]
pub(crate) enum FillDocument {
    #[serde(rename = "Random")]
    Random,
    #[serde(rename = "Zeroes")]
    Zeroes,
    #[serde(rename = "Pattern")]
    Pattern(#[serde(with = "As::<Vec<PatternPartDocument>>")] Vec<PatternPart>),
    #[serde(rename = "Compressible")]
    Compressible {
        #[serde(rename = "percent")]
        percent: u8,
        #[serde(rename = "chunk")]
        chunk: u32,
        #[serde(rename = "pattern", with = "As::<Vec<PatternPartDocument>>")]
        pattern: Vec<PatternPart>,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "PatternPart", remote = "PatternPart")]
pub(crate) enum PatternPartDocument {
    #[serde(rename = "Bytes")]
    Bytes(Vec<u8>),
    #[serde(rename = "Offset")]
    Offset,
    #[serde(rename = "File")]
    File(#[serde(with = "As::<PathDocument>")] PathBuf),
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Verify", remote = "Verify")]
pub(crate) struct VerifyDocument {
    #[serde(rename = "kind", with = "As::<VerifyKindDocument>")]
    kind: VerifyKind,
    #[serde(rename = "after_writes")]
    after_writes: bool,
    #[serde(rename = "fatal")]
    fatal: bool,
    #[serde(rename = "pattern", with = "As::<Vec<PatternPartDocument>>")]
    pattern: Vec<PatternPart>,
    #[serde(rename = "pattern_interval")]
    pattern_interval: u32,
    #[serde(rename = "interval")]
    interval: u32,
    #[serde(rename = "header_offset")]
    header_offset: u32,
    #[serde(rename = "dump")]
    dump: bool,
    #[serde(rename = "only")]
    only: bool,
    #[serde(rename = "backlog")]
    backlog: u64,
    #[serde(rename = "backlog_batch")]
    backlog_batch: u64,
    #[serde(rename = "write_sequence")]
    write_sequence: bool,
    #[serde(rename = "header_seed")]
    header_seed: bool,
    #[serde(rename = "state_save")]
    state_save: bool,
    #[serde(rename = "state_load", with = "As::<Option<PathDocument>>")]
    state_load: Option<PathBuf>,
    #[serde(rename = "only_fsynced")]
    only_fsynced: bool,
    #[serde(rename = "threads", default)]
    threads: u32,
    #[serde(rename = "thread_cpus", default)]
    thread_cpus: Vec<u32>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "VerifyKind", remote = "VerifyKind")]
pub(crate) enum VerifyKindDocument {
    #[serde(rename = "Md5")]
    Md5,
    #[serde(rename = "Crc64")]
    Crc64,
    #[serde(rename = "Crc32c")]
    Crc32c,
    #[serde(rename = "Crc32cIntel")]
    Crc32cIntel,
    #[serde(rename = "Crc32")]
    Crc32,
    #[serde(rename = "Crc16")]
    Crc16,
    #[serde(rename = "Crc7")]
    Crc7,
    #[serde(rename = "Xxhash")]
    Xxhash,
    #[serde(rename = "Sha1")]
    Sha1,
    #[serde(rename = "Sha256")]
    Sha256,
    #[serde(rename = "Sha512")]
    Sha512,
    #[serde(rename = "Sha3_224")]
    Sha3_224,
    #[serde(rename = "Sha3_256")]
    Sha3_256,
    #[serde(rename = "Sha3_384")]
    Sha3_384,
    #[serde(rename = "Sha3_512")]
    Sha3_512,
    #[serde(rename = "Meta")]
    Meta,
    #[serde(rename = "Pattern")]
    Pattern,
    #[serde(rename = "PatternHeader")]
    PatternHeader,
    #[serde(rename = "Null")]
    Null,
    #[serde(rename = "Fathom")]
    Fathom,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Replay", remote = "Replay")]
pub(crate) struct ReplayDocument {
    #[serde(rename = "log")]
    log: String,
    #[serde(rename = "reading", with = "As::<ReplayReadingDocument>")]
    reading: ReplayReading,
    #[serde(rename = "files", with = "As::<Vec<ReplayFileDocument>>")]
    files: Vec<ReplayFile>,
    #[serde(rename = "ios", with = "As::<PerDirectionDocument<Same>>")]
    ios: PerDirection<u64>,
    #[serde(rename = "bytes", with = "As::<PerDirectionDocument<Same>>")]
    bytes: PerDirection<u64>,
    #[serde(rename = "syncs")]
    syncs: u64,
    #[serde(rename = "length", with = "As::<NanosDocument>")]
    length: Nanos,
    #[serde(rename = "largest")]
    largest: u32,
    #[serde(rename = "alignment", with = "As::<BytesDocument>")]
    alignment: Bytes,
    #[serde(rename = "bad_lines")]
    bad_lines: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ReplayReading", remote = "ReplayReading")]
pub(crate) struct ReplayReadingDocument {
    #[serde(rename = "timing", with = "As::<ReplayTimingDocument>")]
    timing: ReplayTiming,
    #[serde(rename = "time_percent")]
    time_percent: u64,
    #[serde(rename = "redirect")]
    redirect: Option<String>,
    #[serde(rename = "folder")]
    directory: Option<String>,
    #[serde(rename = "scale")]
    scale: u64,
    #[serde(rename = "align")]
    align: u64,
    #[serde(rename = "skip", with = "As::<PerDirectionDocument<Same>>")]
    skip: PerDirection<bool>,
    #[serde(rename = "skip_sync")]
    skip_sync: bool,
    #[serde(rename = "lenient")]
    lenient: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ReplayTiming", remote = "ReplayTiming")]
pub(crate) enum ReplayTimingDocument {
    #[serde(rename = "AsFast")]
    AsFast,
    #[serde(rename = "OnTime")]
    OnTime,
    #[serde(rename = "AfterLast")]
    AfterLast,
    #[serde(rename = "NotBefore")]
    NotBefore,
    #[serde(rename = "ByDependency")]
    ByDependency,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ReplayFile", remote = "ReplayFile")]
pub(crate) struct ReplayFileDocument {
    #[serde(rename = "start")]
    start: u64,
    #[serde(rename = "end")]
    end: u64,
    #[serde(rename = "uses", with = "As::<PerDirectionDocument<Same>>")]
    uses: PerDirection<bool>,
}

mirrors! {
    PersonalityDocument for Personality,
    PlanDocument for Plan,
    OverrideDocument for Override,
    JobDocument for Job,
    StartDocument for Start,
    ExitRuleDocument for ExitRule,
    ExitWhatDocument for ExitWhat,
    ExtentDocument for Extent,
    SyncPolicyDocument for SyncPolicy,
    AccountingDocument for Accounting,
    UnifiedDocument for Unified,
    LogsDocument for Logs,
    LogWindowDocument for LogWindow,
    ErrorPolicyDocument for ErrorPolicy,
    EngineSpecDocument for EngineSpec,
    EngineKindDocument for EngineKind,
    StatCallDocument for StatCall,
    EngineSettingsDocument for EngineSettings,
    ProgramDocument for Program,
    RbdImageDocument for RbdImage,
    CredentialsDocument for Credentials,
    FileLockDocument for FileLock,
    CpuLoadDocument for CpuLoad,
    NumaDocument for Numa,
    MemoryPolicyDocument for MemoryPolicy,
    MemoryModeDocument for MemoryMode,
    PrioritiesDocument for Priorities,
    PriorityShareDocument for PriorityShare,
    FileSetDocument for FileSet,
    LayoutDocument for Layout,
    FallocateDocument for Fallocate,
    FadviseDocument for Fadvise,
    SyncModeDocument for SyncMode,
    FileServiceDocument for FileService,
    LimitsDocument for Limits,
    SteadyRuleDocument for SteadyRule,
    SteadyMeasureDocument for SteadyMeasure,
    PaceDocument for Pace,
    LatencyTargetDocument for LatencyTarget,
    FlowShareDocument for FlowShare,
    RateDocument for Rate,
    ArrivalsDocument for Arrivals,
    ThinkDocument for Think,
    QueueDocument for Queue,
    TrafficDocument for Traffic,
    AccessDocument for Access,
    PatternDocument for Pattern,
    StridedDocument for Strided,
    BlockSizesDocument for BlockSizes,
    DistributionDocument for Distribution,
    PayloadDocument for Payload,
    DedupeSetDocument for DedupeSet,
    FillDocument for Fill,
    PatternPartDocument for PatternPart,
    VerifyDocument for Verify,
    VerifyKindDocument for VerifyKind,
    ReplayDocument for Replay,
    ReplayReadingDocument for ReplayReading,
    ReplayTimingDocument for ReplayTiming,
    ReplayFileDocument for ReplayFile,
}
