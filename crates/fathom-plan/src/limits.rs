//! Upper limits: a value beyond any sensible run is refused, and the message states the limit.

/// Largest block, 1 GiB.
pub(crate) const LARGEST_BLOCK: u64 = 1 << 30;
/// Most I/Os one job keeps in flight; io_uring(7) holds 32768 submissions, the kernel 65536 asynchronous requests.
pub(crate) const DEEPEST_QUEUE: u64 = 65_536;
/// Most clones of one section.
pub(crate) const MOST_CLONES: u64 = 4_096;
/// Most workers of a whole plan.
pub(crate) const MOST_WORKERS: usize = 16_384;
/// Most files of one job.
pub(crate) const MOST_FILES: u64 = 1_000_000;
/// Most generated file names of a whole plan.
pub(crate) const MOST_PATHS: u64 = 1_000_000;
/// Most bytes of file names of a whole plan, 128 MiB.
pub(crate) const MOST_NAME_BYTES: u64 = 128 << 20;
/// Most options of all jobs as written, and their bytes: each clone shows its own in the result.
pub(crate) const MOST_HELD: [u64; 2] = [1_000_000, 32 << 20];
/// Highest planned IOPS of one job.
pub(crate) const HIGHEST_IOPS: u64 = 1_000_000_000;
/// Highest planned bandwidth of one job, 10 TiB/s.
pub(crate) const HIGHEST_BANDWIDTH: u64 = 10 << 40;
/// Longest time of any kind, 100 years, in nanoseconds.
pub(crate) const LONGEST_TIME: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Most options of one section.
pub(crate) const MOST_OPTIONS: usize = 500;
/// Most options of all jobs together, those of their global sections counted with each, and the bytes of their values.
pub(crate) const MOST_SETTINGS: usize = 1_000_000;
pub(crate) const MOST_SETTING_BYTES: usize = 32 << 20;
