//! What will be done: complete, so that nothing after the front end asks what was typed.
//!
//! A [`Plan`] is made by `fathom-plan` and only read afterwards. What can be known only from the target itself
//! (its size) stays an [`Extent`] until the target is open.

use std::path::PathBuf;

use crate::{Bytes, Direction, Nanos, PerDirection};

/// Whose meaning the words of a job file have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Personality {
    /// Units mean what they say; traps are warned about.
    #[default]
    Fathom,
    /// fio's exact meaning, traps included.
    Fio,
}

/// Everything one invocation will do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whose meaning the job files were read with.
    pub personality: Personality,
    /// Job files as given on the command line, for the header.
    pub sources: Vec<String>,
    /// Options of the `[global]` sections, canonical names, in order, as written; `None` value for a bare flag.
    pub globals: Vec<(String, Option<String>)>,
    /// Explicit overrides (`--set`), shown in every output.
    pub overrides: Vec<Override>,
    /// Jobs in the order they are started; clones of a section stand side by side.
    pub jobs: Vec<Job>,
    /// Length of one recorded interval.
    pub interval: Nanos,
    /// Refuse every job that writes or trims (`--readonly`).
    pub read_only: bool,
    /// Warnings of the front end, already in words; repeated in the result.
    pub warnings: Vec<String>,
}

/// One `--set [JOB.]OPTION=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The job it applies to; `None` is every job.
    pub job: Option<String>,
    /// Canonical option name.
    pub option: String,
    /// The value, as written.
    pub value: String,
}

/// One worker: a clone of a job section.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name in the report and of log files without a prefix.
    pub name: String,
    /// Options set in this job's own section, canonical names, as written (fio's `job options`).
    pub options: Vec<(String, Option<String>)>,
    /// Free text of the user.
    pub description: Option<String>,
    /// Counted over the whole run from 1; the N of log file names.
    pub number: u32,
    /// Which section of the run this is a clone of, counted from 0.
    pub section: u32,
    /// Which clone of its section this is, counted from 0 (`$jobnum`).
    pub clone: u32,
    /// Reporting group, counted from 0.
    pub group: u32,
    /// Results of the group are merged into one entry.
    pub group_reporting: bool,
    /// What must have ended before this job starts.
    pub start: Start,
    /// What this job's end means for others.
    pub exit: ExitRule,
    /// Where the I/O goes.
    pub files: FileSet,
    /// Which I/O is done.
    pub pattern: Pattern,
    /// How much and how long.
    pub limits: Limits,
    /// When each I/O is due.
    pub pace: Pace,
    /// How many I/Os are kept in flight.
    pub queue: Queue,
    /// Who carries the I/O.
    pub engine: EngineSpec,
    /// What is written.
    pub payload: Payload,
    /// What is checked.
    pub verify: Option<Verify>,
    /// When data is made durable.
    pub sync: SyncPolicy,
    /// What is recorded and logged.
    pub accounting: Accounting,
    /// What an error does.
    pub errors: ErrorPolicy,
    /// CPUs the worker may run on; empty is all.
    pub cpus: Vec<u32>,
    /// `nice` of the worker.
    pub nice: Option<i32>,
}

/// What must have ended before a job starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// `stonewall`: every job before this one in the plan has ended.
    pub after_all_before: bool,
    /// `wait_for`: every clone of that section ([`Job::section`]) has ended.
    pub after_section: Option<u32>,
    /// Waits between these two after it could start (equal: exactly that).
    pub delay: (Nanos, Nanos),
}

/// What the end of a job means for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitRule {
    /// `exitall`: end others when this job ends.
    pub exit_all: bool,
    /// `exitall_on_error`: end others when this job fails.
    pub exit_all_on_error: bool,
    /// Which others.
    pub what: ExitWhat,
}

/// `exit_what`: which jobs `exitall` ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitWhat {
    /// The jobs of the same reporting group.
    #[default]
    Group,
    /// The jobs running up to the next stonewall.
    Stonewall,
    /// All jobs, those not started included.
    All,
}

/// A size that may need the target to be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// To the end of the target.
    #[default]
    Whole,
    /// This many bytes.
    Bytes(Bytes),
    /// This share of the target, in percent (1 to 100).
    Percent(u8),
}

impl Extent {
    /// The bytes meant on a target of `whole` bytes.
    #[must_use]
    pub fn of(self, whole: Bytes) -> Bytes {
        match self {
            Extent::Whole => whole,
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(share) => Bytes::new((u128::from(whole.get()) * u128::from(share) / 100) as u64),
        }
    }
}

/// The files or devices of one job.
#[derive(Clone, Debug)]
pub struct FileSet {
    /// Paths, resolved from `filename`, `directory`, `filename_format` and `nrfiles`; at least one unless the engine needs none.
    pub paths: Vec<PathBuf>,
    /// Whether the user named the paths (`filename=`); generated names may be created with their folders.
    pub named: bool,
    /// `size`: region and default amount of I/O, of all files together.
    pub size: Extent,
    /// `filesize`: size of each file, between the two.
    pub file_size: Option<(Bytes, Bytes)>,
    /// `offset`: where in each file the region begins.
    pub offset: Extent,
    /// `offset_increment` of one clone, times [`Job::clone`].
    pub offset_increment: Extent,
    /// `offset_align`: the start of a clone is rounded up to this; 0 is the smallest block size.
    pub offset_align: Bytes,
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC or O_DSYNC.
    pub sync_mode: SyncMode,
    /// O_ATOMIC writes where the kernel has them.
    pub atomic: bool,
    /// Which file the next I/O goes to.
    pub service: FileService,
    /// I/Os before the next file is chosen.
    pub service_every: u32,
    /// Most files open at once; 0 is all.
    pub open_files: u32,
    /// How files come to be, and end.
    pub layout: Layout,
}

/// How files come to be before the load, and what becomes of them.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Create each file when the job opens it, not before.
    pub create_on_open: bool,
    /// Lay out and stop; no load.
    pub create_only: bool,
    /// Files may be created at all (`allow_file_create`).
    pub allow_create: bool,
    /// Lay files out in full before a write job too.
    pub overwrite: bool,
    /// Remove the files this job created when it ends.
    pub unlink: bool,
    /// Remove and make anew for each loop.
    pub unlink_each_loop: bool,
    /// Space reservation.
    pub fallocate: Fallocate,
    /// Tell the kernel what will be read (`fadvise_hint`).
    pub fadvise: Fadvise,
    /// Drop the region from the page cache before the job starts.
    pub invalidate: bool,
    /// Read all files once before the load.
    pub pre_read: bool,
    /// Writes start behind the end of an existing file.
    pub append: bool,
    /// Write until the target is full; ENOSPC is the end, not an error.
    pub fill_device: bool,
    /// fsync a created file when it is laid out.
    pub create_fsync: bool,
}

/// `fallocate`: how space is reserved for a new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallocate {
    /// Do not.
    None,
    /// fallocate(2); where it is not supported, do without.
    #[default]
    Native,
    /// posix_fallocate(3).
    Posix,
    /// fallocate(2) with FALLOC_FL_KEEP_SIZE.
    Keep,
    /// ftruncate(2) to the size.
    Truncate,
}

/// `fadvise_hint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fadvise {
    /// Say nothing.
    None,
    /// By the pattern: sequential or random.
    #[default]
    ByPattern,
    /// POSIX_FADV_SEQUENTIAL.
    Sequential,
    /// POSIX_FADV_RANDOM.
    Random,
    /// POSIX_FADV_NOREUSE.
    NoReuse,
}

/// O_SYNC or O_DSYNC at open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Neither.
    #[default]
    None,
    /// O_SYNC: data and metadata are durable when a write completes.
    Sync,
    /// O_DSYNC: data is.
    Dsync,
}

/// `file_service_type`: which file comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FileService {
    /// One after the other, over and over.
    #[default]
    RoundRobin,
    /// Any.
    Random,
    /// One file to its end, then the next.
    Sequential,
    /// By rank, zipf with this theta.
    Zipf(f64),
    /// By rank, pareto with this power.
    Pareto(f64),
    /// Around the middle, with this deviation in percent.
    Normal(f64),
}

/// Which directions a job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Only reads.
    Read,
    /// Only writes.
    Write,
    /// Only trims.
    Trim,
    /// Reads and writes, this percentage of the I/Os being reads.
    ReadWrite {
        /// Percentage of reads, 0 to 100.
        read_percent: u8,
    },
    /// Each block is trimmed, then written.
    TrimWrite,
}

impl Traffic {
    /// Whether a job with this traffic does I/O in `direction`.
    #[must_use]
    pub fn uses(self, direction: Direction) -> bool {
        matches!(
            (self, direction),
            (Traffic::Read, Direction::Read)
                | (Traffic::Write, Direction::Write)
                | (Traffic::Trim, Direction::Trim)
                | (Traffic::TrimWrite, Direction::Write | Direction::Trim)
                | (Traffic::ReadWrite { .. }, Direction::Read | Direction::Write)
        )
    }
}

/// The order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Each I/O starts where the last one of its direction ended, plus `skip` bytes (negative: backwards).
    Sequential {
        /// `rw=read:N`: bytes added after each I/O.
        skip: i64,
    },
    /// Addresses are drawn.
    Random {
        /// `rw=randread:N`: a new address is drawn every N I/Os; in between it is sequential (or identical).
        every: u32,
        /// `rw_sequencer=identical`: in between, the same address again.
        identical: bool,
    },
}

/// Which I/O a job does.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Directions and their mix.
    pub traffic: Traffic,
    /// Order of addresses.
    pub access: Access,
    /// Block sizes.
    pub block_size: PerDirection<BlockSizes>,
    /// `blockalign` of random addresses; 0 is the smallest block size of the direction.
    pub block_align: PerDirection<Bytes>,
    /// `bs_unaligned`: sizes need not be multiples of the smallest.
    pub unaligned: bool,
    /// `bs_is_seq_rand`: the read block size is that of sequential I/O, the write one that of random.
    pub sizes_by_access: bool,
    /// How random addresses are drawn.
    pub distribution: PerDirection<Distribution>,
    /// `percentage_random`, 0 to 100.
    pub random_percent: PerDirection<u8>,
    /// Every block once before any twice (fio's random map); false is `norandommap`.
    pub without_replacement: bool,
    /// Seed of every draw of this job; the same seed gives the same I/O.
    pub seed: u64,
    /// `zonemode=strided`: I/O stays in zones.
    pub zones: Option<Strided>,
}

/// `zonemode=strided`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Bytes of I/O done in a zone before the next.
    pub size: Bytes,
    /// Bytes a zone spans.
    pub range: Bytes,
    /// Bytes skipped after a zone.
    pub skip: Bytes,
}

/// Block sizes of one direction.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockSizes {
    /// Always this.
    Fixed(u32),
    /// Uniform over the multiples of `min` up to `max` (`bsrange`); any byte count with [`Pattern::unaligned`].
    Range {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// Sizes with their shares (`bssplit`); the shares add up to 100.
    Split(Vec<(u32, f64)>),
}

impl BlockSizes {
    /// Smallest size.
    #[must_use]
    pub fn min(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(parts) => parts.iter().map(|part| part.0).min().unwrap_or(0),
        }
    }
    /// Largest size.
    #[must_use]
    pub fn max(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(parts) => parts.iter().map(|part| part.0).max().unwrap_or(0),
        }
    }
}

/// How random addresses are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// All blocks alike.
    #[default]
    Uniform,
    /// Zipf's law with this theta; hot blocks are scattered, or gathered round `center` (0 to 1).
    Zipf {
        /// Exponent; 1.0 excluded.
        theta: f64,
        /// Place of the hottest block as a share of the region; `None` scatters.
        center: Option<f64>,
    },
    /// Self-similar with this power (80/20 is about 0.2).
    Pareto {
        /// Power, in (0, 1).
        power: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// Gaussian.
    Normal {
        /// Standard deviation in percent of the region.
        deviation: f64,
        /// Middle as a share of the region; `None` is 0.5.
        center: Option<f64>,
    },
    /// Shares of the accesses go to shares of the region, in order: (access percent, size percent).
    Zoned(Vec<(u8, u8)>),
    /// Shares of the accesses go to spans of bytes: (access percent, bytes).
    ZonedAbs(Vec<(u8, Bytes)>),
}

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

/// Who carries the I/O.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineSpec {
    /// Which engine.
    pub kind: EngineKind,
    /// The user named it: no other may stand in.
    pub named: bool,
    /// Private settings; each engine reads its own.
    pub settings: EngineSettings,
}

/// The engines, by fio's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// lseek(2) and read(2)/write(2).
    Sync,
    /// pread(2)/pwrite(2).
    Psync,
    /// Neighbouring blocks gathered into one readv(2)/writev(2).
    Vsync,
    /// preadv(2)/pwritev(2).
    Pvsync,
    /// preadv2(2)/pwritev2(2).
    Pvsync2,
    /// Linux native asynchronous I/O, io_submit(2).
    Libaio,
    /// io_uring(7).
    IoUring,
    /// A pool of threads with pread/pwrite under the name posixaio.
    PosixAio,
    /// mmap(2) and memory copies.
    Mmap,
    /// Completes everything at once and moves nothing.
    Null,
}

impl EngineKind {
    /// fio's name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            EngineKind::Sync => "sync",
            EngineKind::Psync => "psync",
            EngineKind::Vsync => "vsync",
            EngineKind::Pvsync => "pvsync",
            EngineKind::Pvsync2 => "pvsync2",
            EngineKind::Libaio => "libaio",
            EngineKind::IoUring => "io_uring",
            EngineKind::PosixAio => "posixaio",
            EngineKind::Mmap => "mmap",
            EngineKind::Null => "null",
        }
    }

    /// Whether an I/O is over when the submission returns, so that more than one in flight is impossible.
    #[must_use]
    pub const fn is_synchronous(self) -> bool {
        !matches!(
            self,
            EngineKind::Libaio | EngineKind::IoUring | EngineKind::PosixAio | EngineKind::Null | EngineKind::Vsync
        )
    }
}

/// Private settings of the engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineSettings {
    /// io_uring: registered buffers.
    pub fixed_buffers: bool,
    /// io_uring: registered files.
    pub register_files: bool,
    /// io_uring: register buffers and files where the kernel allows it, and do without where it does not.
    pub register_where_possible: bool,
    /// io_uring: a kernel thread polls the submission queue.
    pub sq_poll: bool,
    /// io_uring: CPU of that thread.
    pub sq_poll_cpu: Option<u32>,
    /// Polled completions (IOPOLL, RWF_HIPRI).
    pub high_priority: bool,
    /// libaio: completions are read from the ring without a system call.
    pub userspace_reap: bool,
    /// RWF_NOWAIT.
    pub nowait: bool,
    /// RWF_UNCACHED / RWF_DONTCACHE.
    pub uncached: bool,
    /// io_uring: force IOSQE_ASYNC each N requests; 0 is never.
    pub force_async: u32,
    /// io_uring: readv and writev requests (`nonvectored=0`) instead of plain ones.
    pub vectored: bool,
}

/// What is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// Kind of content.
    pub fill: Fill,
    /// Fresh content for every write (`refill_buffers`); otherwise the buffer is filled once and marked.
    pub refill: bool,
    /// Each 512-byte sector is marked so that no two writes are alike (`scramble_buffers`).
    pub scramble: bool,
    /// `dedupe_percentage`: share of blocks that repeat an earlier one.
    pub dedupe_percent: u8,
}

/// Kind of content.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fill {
    /// Incompressible.
    #[default]
    Random,
    /// `zero_buffers`.
    Zeroes,
    /// `buffer_pattern`, repeated.
    Pattern(Vec<PatternPart>),
    /// `buffer_compress_percentage`: this share of each chunk is constant.
    Compressible {
        /// Share that compresses away, 0 to 100.
        percent: u8,
        /// `buffer_compress_chunk`; 0 is the whole block.
        chunk: u32,
        /// What the constant part repeats; empty is zeros.
        pattern: Vec<PatternPart>,
    },
}

/// A piece of a buffer or verify pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternPart {
    /// These bytes.
    Bytes(Vec<u8>),
    /// `%o`: offset of the block, 8 bytes, little endian.
    Offset,
    /// `'FILE'`: the content of that file.
    File(PathBuf),
}

/// What is checked on reading back.
#[derive(Clone, Debug, PartialEq)]
pub struct Verify {
    /// Checksum or method.
    pub kind: VerifyKind,
    /// Read back after the write phase.
    pub after_writes: bool,
    /// Stop at the first mismatch.
    pub fatal: bool,
    /// `verify_pattern`.
    pub pattern: Vec<PatternPart>,
    /// Size of one verified piece; 0 is the block.
    pub interval: u32,
    /// `verify_offset`: where in each piece the header stands.
    pub header_offset: u32,
    /// Save what was expected and what was found.
    pub dump: bool,
    /// `verify_only`: no writes, only the check of an earlier run.
    pub only: bool,
    /// `verify_backlog`: check after this many writes; 0 is at the end.
    pub backlog: u64,
    /// `verify_backlog_batch`.
    pub backlog_batch: u64,
    /// `verify_write_sequence`: check the sequence number in the header.
    pub write_sequence: bool,
    /// `verify_header_seed`: check the seed in the header.
    pub header_seed: bool,
}

/// fio's `verify=` methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the name of a published checksum")]
pub enum VerifyKind {
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
    /// Only the header.
    Meta,
    /// Only the pattern, no header.
    Pattern,
    /// The pattern behind a header.
    PatternHeader,
    /// Writes headers, checks nothing.
    Null,
}

/// When data is made durable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPolicy {
    /// fsync(2) every N writes; 0 is never.
    pub fsync_every: u32,
    /// fdatasync(2) every N writes; 0 is never.
    pub fdatasync_every: u32,
    /// fsync at the end of the job.
    pub fsync_at_end: bool,
    /// fsync when a file is closed.
    pub fsync_on_close: bool,
}

/// What is recorded and logged.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    /// Latency kinds that are kept.
    pub slat: bool,
    /// See `slat`.
    pub clat: bool,
    /// See `slat`.
    pub lat: bool,
    /// Single I/Os may be logged with their bandwidth (`disable_bw_measurement=0`); samples are kept either way.
    pub bandwidth: bool,
    /// Kinds with percentiles in the report.
    pub slat_percentiles: bool,
    /// See `slat_percentiles`.
    pub clat_percentiles: bool,
    /// See `slat_percentiles`.
    pub lat_percentiles: bool,
    /// `percentile_list`, 0 to 100, rising.
    pub percentiles: Vec<f64>,
    /// `bwavgtime`: length of a bandwidth sample.
    pub bandwidth_sample: Nanos,
    /// `iopsavgtime`.
    pub iops_sample: Nanos,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `disk_util`.
    pub disk_util: bool,
    /// `gtod_reduce`: no latency at all.
    pub reduced: bool,
    /// Which logs are written.
    pub logs: Logs,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Read, write and trim apart.
    #[default]
    Apart,
    /// Only the sum, named mixed.
    Mixed,
    /// Both.
    Both,
}

/// Log files of a job, in fio's formats.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// `write_bw_log`: prefix.
    pub bw: Option<String>,
    /// `write_iops_log`: prefix.
    pub iops: Option<String>,
    /// `write_lat_log`: prefix of lat, slat and clat logs.
    pub lat: Option<String>,
    /// `write_hist_log`: prefix.
    pub hist: Option<String>,
    /// `write_iolog`: name of the trace.
    pub trace: Option<String>,
    /// `log_avg_msec`; zero logs every I/O.
    pub average: Nanos,
    /// `log_hist_msec`.
    pub hist_every: Nanos,
    /// `log_hist_coarseness`, 0 to 6.
    pub hist_coarseness: u8,
    /// `log_window_value`.
    pub window: LogWindow,
    /// One file for each job (`per_job_logs`).
    pub per_job: bool,
    /// `log_offset`.
    pub offset: bool,
    /// `log_prio`.
    pub prio: bool,
    /// `log_issue_time`.
    pub issue_time: bool,
    /// `log_unix_epoch` / `log_alternate_epoch`.
    pub unix_epoch: bool,
    /// `log_entries`.
    pub entries: u64,
}

/// `log_window_value`: what an averaged entry holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogWindow {
    /// The mean.
    #[default]
    Mean,
    /// The maximum.
    Max,
    /// Both.
    Both,
}

/// What an error does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorPolicy {
    /// `continue_on_error`: go on after failed reads.
    pub continue_read: bool,
    /// Go on after failed writes and trims.
    pub continue_write: bool,
    /// Go on after verify errors.
    pub continue_verify: bool,
    /// `ignore_error`: errno values that are not counted as failures: reads, writes, verify.
    pub ignore: [Vec<i32>; 3],
    /// `max_latency`: the job fails when an I/O takes longer.
    pub max_latency: PerDirection<Option<Nanos>>,
}
