//! The targets of I/O: files and devices, and how they are created.

use std::path::PathBuf;

use super::Extent;
use crate::Bytes;

/// The files or devices of one job.
#[derive(Clone, Debug)]
pub struct FileSet {
    /// Paths, resolved from `filename`, `directory`, `filename_format` and `nrfiles`; at least one unless the engine needs none.
    pub paths: Vec<PathBuf>,
    /// Whether the user named the paths (`filename=`); generated names may be created with their directories.
    pub named: bool,
    /// `size`: region and default amount of I/O, of all files together.
    pub size: Extent,
    /// `filesize`: size of each file, between the two.
    pub file_size: Option<(Bytes, Bytes)>,
    /// `offset`: where in each file the region begins.
    pub offset: Extent,
    /// `offset_increment` of one clone, times `Job::clone`.
    pub offset_increment: Extent,
    /// `offset_align`: the start of a clone is rounded up to this; 0 is the smallest block size.
    pub offset_align: Bytes,
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC or O_DSYNC.
    pub sync_mode: SyncMode,
    /// How the file of the next I/O is selected.
    pub service: FileService,
    /// I/Os before the next file is chosen.
    pub service_every: u32,
    /// Most files open at once; 0 is all.
    pub open_files: u32,
    /// How files are created and removed.
    pub layout: Layout,
}

/// How files are created before the load and removed after it.
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
    /// Remove and create again for each loop.
    pub unlink_each_loop: bool,
    /// Space reservation.
    pub fallocate: Fallocate,
    /// Tell the kernel what will be read (`fadvise_hint`).
    pub fadvise: Fadvise,
    /// Drop the region from the page cache before the job starts.
    pub invalidate: bool,
    /// Read all files once before the load.
    pub pre_read: bool,
    /// Writes start at the end of an existing file.
    pub append: bool,
    /// Write until the target is full; ENOSPC ends the job and is not an error.
    pub fill_device: bool,
    /// fsync a created file when it is laid out.
    pub create_fsync: bool,
}

/// `fallocate`: how space is reserved for a new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallocate {
    /// Do not.
    None,
    /// fallocate(2), where it is supported.
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
    /// No advice.
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
