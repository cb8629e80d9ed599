//! The plan of a run.

use fathom_model::*;

#[cfg(test)]
use super::dice::TestRng;
use super::kept::{Fields, Kept, variant};
use super::value::Value;
use super::{Names, Unreadable};

choice!(Personality { Fathom, Fio });
kept!(Plan {
    personality,
    sources,
    globals,
    overrides,
    jobs,
    interval,
    read_only,
    warnings
});
kept!(Override { job, option, value });
kept!(Job {
    name,
    options,
    description,
    number,
    section,
    clone,
    group,
    group_reporting,
    start,
    exit,
    files,
    pattern,
    limits,
    pace,
    queue,
    engine,
    payload,
    verify,
    sync,
    accounting,
    errors,
    cpus,
    nice,
});
kept!(Start {
    after_all_before,
    after_section,
    delay,
    command_before,
    command_after
});
kept!(ExitRule {
    exit_all,
    exit_all_on_error,
    what
});
choice!(ExitWhat {
    Group,
    Stonewall,
    All
});
choice!(Extent { Whole, Bytes(inner), Percent(inner) });
kept!(SyncPolicy { fsync_every, fdatasync_every, fsync_at_end, fsync_on_close, syncfs_at_end = false });
kept!(Accounting {
    slat,
    clat,
    lat,
    bandwidth,
    slat_percentiles,
    clat_percentiles,
    lat_percentiles,
    percentiles,
    bandwidth_sample,
    iops_sample,
    unified,
    disk_util,
    hidden,
    reduced,
    logs,
});
choice!(Unified { Apart, Mixed, Both });
kept!(Logs {
    bw,
    iops,
    lat,
    hist,
    trace,
    average,
    hist_every,
    hist_coarseness,
    window,
    per_job,
    offset,
    prio,
    issue_time,
    unix_epoch,
    compressed,
    entries,
});
choice!(LogWindow { Mean, Max, Both });
kept!(ErrorPolicy {
    continue_read,
    continue_write,
    continue_verify,
    ignore,
    max_latency
});
kept!(EngineSpec {
    kind,
    named,
    settings
});
choice!(EngineKind {
    Sync,
    Psync,
    Vsync,
    Pvsync,
    Pvsync2,
    Libaio,
    IoUring,
    PosixAio,
    Mmap,
    Null,
    Splice,
    Falloc,
    Ftruncate,
    FileCreate,
    FileStat,
    FileDelete,
    DirCreate,
    DirStat,
    DirDelete,
    PageFault,
    Cpuio,
    Exec,
});
choice!(StatCall { Stat, Lstat, Statx });
kept!(EngineSettings {
    fixed_buffers, register_files, register_where_possible, sq_poll, sq_poll_cpu, high_priority, userspace_reap,
    nowait, uncached, force_async, vectored, stat, remove_made, priorities, numa, atomic = false, cpu = CpuLoad::default(),
    offload = false, lock = FileLock::None, write_hint = None, person = Credentials::default(), pinned = 0, program = None, scheduler = None,
});
kept!(Program {
    path,
    arguments,
    grace,
    redirect
});
kept!(Credentials { user, group, name });
choice!(FileLock {
    None,
    Exclusive,
    ReadWrite
});
kept!(CpuLoad {
    percent,
    spell,
    sorts,
    ends_with_io
});
kept!(Numa { cpu_nodes, memory });
kept!(MemoryPolicy { mode, nodes });
choice!(MemoryMode {
    Local,
    Prefer,
    Bind,
    Interleave
});
kept!(Priorities { worker, shares });
kept!(PriorityShare {
    size,
    percent,
    prio
});
kept!(FileSet {
    paths,
    named,
    size,
    file_size,
    offset,
    offset_increment,
    offset_align,
    direct,
    sync_mode,
    service,
    service_every,
    open_files,
    layout,
});
kept!(Layout {
    create_on_open,
    create_only,
    allow_create,
    overwrite,
    unlink,
    unlink_each_loop,
    fallocate,
    fadvise,
    invalidate,
    pre_read,
    append,
    fill_device,
    create_fsync,
});
choice!(Fallocate {
    None,
    Native,
    Posix,
    Keep,
    Truncate
});
choice!(Fadvise {
    None,
    ByPattern,
    Sequential,
    Random,
    NoReuse
});
choice!(SyncMode { None, Sync, Dsync });
choice!(FileService { RoundRobin, Random, Sequential, Zipf(inner), Pareto(inner), Normal(inner) });
kept!(Limits {
    io_size,
    ios,
    loops,
    runtime,
    time_based,
    ramp,
    steady
});
kept!(SteadyRule {
    measure,
    slope,
    limit,
    percent,
    duration,
    ramp,
    interval
});
choice!(SteadyMeasure {
    Iops,
    Bandwidth,
    Latency
});
kept!(Pace {
    rate,
    process,
    rate_min,
    rate_cycle,
    think,
    serialize_overlap,
    flow,
    replay,
    latency
});
kept!(LatencyTarget {
    limit,
    window,
    percentile,
    keeps_on
});
kept!(FlowShare { id, weight, sleep });
choice!(Rate { Iops(inner), Bandwidth(inner) });
choice!(Arrivals { Linear, Poisson });
kept!(Think {
    time,
    spin,
    blocks,
    by_issue,
    io_time,
    forgiven
});
kept!(Queue {
    depth,
    batch_submit,
    batch_complete_min,
    batch_complete_max,
    low
});
choice!(Traffic { Read, Write, Trim, ReadWrite { read_percent }, TrimWrite, Logged { reads, writes, trims } });
choice!(Access { Sequential { skip }, Random { every, identical } });
kept!(Pattern {
    traffic,
    access,
    block_size,
    block_align,
    unaligned,
    sizes_by_access,
    distribution,
    random_percent,
    without_replacement,
    seed,
    zones,
});
kept!(Strided { size, range, skip });
choice!(BlockSizes { Fixed(inner), Range { min, max }, Split(inner) });
choice!(Distribution {
    Uniform, Zipf { theta, center }, Pareto { power, center }, Normal { deviation, center }, Zoned(inner),
    ZonedAbs(inner), Sequence { blocks, moves_on }, Aged { spare, regions, cache },
});
kept!(Payload {
    fill,
    refill,
    scramble,
    dedupe_percent,
    dedupe_set
});
kept!(DedupeSet { percent, shared });
choice!(Fill { Random, Zeroes, Pattern(inner), Compressible { percent, chunk, pattern } });
choice!(PatternPart { Bytes(inner), Offset, File(inner) });
kept!(Verify {
    kind, after_writes, fatal, pattern, pattern_interval, interval, header_offset, dump, only, backlog,
    backlog_batch, write_sequence, header_seed, state_save, state_load, only_fsynced, threads = 0, thread_cpus = Vec::new(),
});
choice!(VerifyKind {
    Md5,
    Crc64,
    Crc32c,
    Crc32cIntel,
    Crc32,
    Crc16,
    Crc7,
    Xxhash,
    Sha1,
    Sha256,
    Sha512,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Meta,
    Pattern,
    PatternHeader,
    Null,
    Fathom,
});
kept!(Replay {
    log,
    reading,
    files,
    ios,
    bytes,
    syncs,
    length,
    largest,
    alignment,
    bad_lines
});
kept!(ReplayReading {
    timing,
    time_percent,
    redirect,
    folder,
    scale,
    align,
    skip,
    skip_sync,
    lenient
});
choice!(ReplayTiming {
    AsFast,
    OnTime,
    AfterLast,
    NotBefore
});
kept!(ReplayFile { start, end, uses });
