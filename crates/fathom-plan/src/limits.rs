//! Upper limits: a value beyond any sensible run is refused, and the message states the limit.

/// Maximum block size: whole pages of 32 bits. Trims of 2 GiB are common in job files for SSDs.
pub(crate) const MAX_BLOCK_SIZE: u64 = (1 << 32) - 4096;
/// Maximum size of a read or write of a file or device, MAX_RW_COUNT of the kernel.
pub(crate) const MAX_TRANSFER: u64 = 0x7fff_f000;
/// Maximum queue depth of one job; io_uring(7) holds 32768 submissions, the kernel 65536 asynchronous requests.
pub(crate) const MAX_QUEUE_DEPTH: u64 = 65_536;
/// Maximum number of clones of one section.
pub(crate) const MAX_CLONES: u64 = 4_096;
/// Maximum number of workers of a whole plan.
pub(crate) const MAX_WORKERS: usize = 16_384;
/// Maximum number of files of one job.
pub(crate) const MAX_FILES: u64 = 1_000_000;
/// Maximum number of generated file names of a whole plan.
pub(crate) const MAX_PATHS: u64 = 1_000_000;
/// Maximum size of the file names of a whole plan, 128 MiB.
pub(crate) const MAX_NAME_BYTES: u64 = 128 << 20;
/// Maximum number of options of all jobs as written, and their bytes: each clone has its own copy in the result.
pub(crate) const MAX_STORED_OPTIONS: [u64; 2] = [1_000_000, 32 << 20];
/// Maximum planned IOPS of one job.
pub(crate) const MAX_IOPS: u64 = 1_000_000_000;
/// Maximum planned bandwidth of one job, 10 TiB/s.
pub(crate) const MAX_BANDWIDTH: u64 = 10 << 40;
/// Maximum of any time, 100 years, in nanoseconds.
pub(crate) const MAX_TIME: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Maximum number of options of one section.
pub(crate) const MAX_OPTIONS: usize = 500;
/// Maximum number of options of all jobs together, with those of the global sections counted for each job, and the
/// bytes of their values.
pub(crate) const MAX_SETTINGS: usize = 1_000_000;
pub(crate) const MAX_SETTING_BYTES: usize = 32 << 20;
