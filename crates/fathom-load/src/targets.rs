//! The regions that a job accesses, computed from its files and sizes once the targets are known.

use std::path::{Path, PathBuf};

use fathom_model::{
    Access, Bytes, Direction, EngineKind, Extent, Fallocate, FileOperation, Job, PerDirection,
    Replay, ReplayFile, SyncMode, Traffic,
};

use crate::engine::OpenFile;
use crate::host::{FileFacts, HostError, LayOut};
use crate::io_generator::{Region, all_sizes};
use crate::rng::Rng;

const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const SEED_FILE_SIZE: u64 = 6;
/// The smallest sector of any block device, bytes.
const SECTOR: u64 = 512;

/// The requirements of a job on one file.
#[derive(Clone, Debug)]
pub(crate) struct FileNeeds {
    pub path: PathBuf,
    pub region: Region,
    /// Required size of the file; zero leaves it unchanged.
    pub size: u64,
    /// The operations on it.
    pub uses: PerDirection<bool>,
}

impl FileNeeds {
    /// Whether the job changes this file.
    pub(crate) fn changes(&self) -> bool {
        self.uses[Direction::Write] || self.uses[Direction::Trim]
    }
}

/// How a job accesses one of its files, for the decision whether it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetAccess {
    /// The file.
    pub path: PathBuf,
    /// The accessed byte range, end exclusive.
    pub range: (u64, u64),
    /// The job reads it.
    pub reads: bool,
    /// The job writes it.
    pub writes: bool,
    /// The job trims it.
    pub trims: bool,
    /// Required size of the file before the load; zero leaves it unchanged.
    pub size: u64,
}

/// Sizes that files get from the layout of the jobs so far: a later job without a size uses all of a
/// file that an earlier one makes.
#[derive(Clone, Debug, Default)]
pub struct PlannedSizes(std::collections::HashMap<PathBuf, u64>);

impl PlannedSizes {
    /// The size of a file with this current size after the layout of the jobs so far.
    #[must_use]
    pub fn size(&self, path: &Path, current: u64) -> u64 {
        current.max(self.0.get(path).copied().unwrap_or(0))
    }

    /// Adds the files of a job. With `create_on_open` the job itself makes them when it starts.
    pub(crate) fn note(&mut self, job: &Job, needs: &[FileNeeds]) {
        if job.engine.kind.file_operation().is_some() || job.files.layout.create_on_open {
            return;
        }
        for need in needs {
            self.note_file(&need.path, need.size);
        }
    }

    fn note_file(&mut self, path: &Path, size: u64) {
        let planned = self.0.entry(path.to_owned()).or_default();
        *planned = size.max(*planned);
    }

    /// Adds the files of a job.
    pub fn note_accesses(&mut self, job: &Job, accesses: &[TargetAccess]) {
        if job.engine.kind.file_operation().is_some() || job.files.layout.create_on_open {
            return;
        }
        for access in accesses {
            self.note_file(&access.path, access.size);
        }
    }
}

/// How `job` accesses each of its files, given their current sizes (0 for missing files).
///
/// # Errors
/// If a size cannot be determined.
pub fn target_accesses(
    job: &Job,
    size_of: &dyn Fn(&Path) -> u64,
) -> Result<Vec<TargetAccess>, HostError> {
    // Among the file operations, only the removal of an existing file can lose data.
    match job.engine.kind.file_operation() {
        None if !(job.engine.kind.has_targets() || job.engine.kind.has_image()) => {
            return Ok(Vec::new());
        }
        Some(operation) if operation != FileOperation::Delete => return Ok(Vec::new()),
        _ => {}
    }
    let deletes = job.engine.kind.file_operation() == Some(FileOperation::Delete);
    let shapes = writes(job) && job.engine.kind.changes_allocation();
    let truncates = job.engine.kind == EngineKind::Ftruncate;
    let of = |needs: FileNeeds| TargetAccess {
        // The data after the region is cut off too.
        range: (
            needs.region.start,
            if truncates {
                needs.region.end.max(size_of(&needs.path))
            } else {
                needs.region.end
            },
        ),
        reads: needs.uses[Direction::Read] || job.verify.is_some(),
        writes: deletes || shapes || needs.uses[Direction::Write],
        trims: needs.uses[Direction::Trim],
        size: needs.size,
        path: needs.path,
    };
    Ok(file_needs(job, size_of)?.into_iter().map(of).collect())
}

/// The requirements of a job on all its files, from its plan and their current sizes.
///
/// # Errors
/// If a size cannot be determined, or is beyond the end of a device.
pub(crate) fn file_needs(
    job: &Job,
    size_of: &dyn Fn(&Path) -> u64,
) -> Result<Vec<FileNeeds>, HostError> {
    aligned(job)?;
    if !job.engine.kind.does_io() {
        return Ok(Vec::new());
    }
    if let Some(replay) = &job.pace.replay {
        return Ok(job
            .files
            .paths
            .iter()
            .zip(&replay.files)
            .map(|(path, file)| of_log(job, path, file))
            .collect());
    }
    let uses = PerDirection::from_fn(|d| {
        job.pattern.traffic.uses(d) && (d == Direction::Read || writes(job))
    });
    let mut rng = Rng::new(job.pattern.seed, SEED_FILE_SIZE);
    let count = job.files.paths.len() as u64;
    let of = |path: &PathBuf| {
        let current_size = if job.engine.kind.has_targets() || job.engine.kind.has_image() {
            size_of(path)
        } else {
            0
        };
        let mut region = region(job, count, current_size, &mut rng);
        if region.end <= region.start && job.engine.kind.file_operation().is_some() {
            region = Region {
                start: 0,
                end: u64::from(smallest_block(job)),
            };
        }
        if region.end <= region.start {
            return Err(no_size(job, path, current_size));
        }
        let explicit = !matches!(
            (job.files.size, job.files.file_size),
            (Extent::Whole | Extent::Percent(_), None)
        );
        Ok(FileNeeds {
            path: path.clone(),
            region,
            size: if explicit { region.end } else { 0 },
            uses: uses.clone(),
        })
    };
    job.files.paths.iter().map(of).collect()
}

/// The requirements of a log on one of its files: everything that it accesses.
fn of_log(job: &Job, path: &Path, file: &ReplayFile) -> FileNeeds {
    let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
    let uses = PerDirection::from_fn(|d| file.uses[d] && (d == Direction::Read || !only_checks));
    FileNeeds {
        path: path.to_owned(),
        region: Region {
            start: file.start,
            end: file.end,
        },
        size: file.end,
        uses,
    }
}

/// No target accepts direct I/O in units smaller than a sector of 512 bytes; a target's further
/// requirements are known when it is open.
fn aligned(job: &Job) -> Result<(), HostError> {
    if !job.files.direct || !job.engine.kind.moves_data() || job.pattern.unaligned {
        return Ok(());
    }
    let start = match job.files.offset {
        Extent::Bytes(offset) => offset.get(),
        Extent::Whole | Extent::Percent(_) => 0,
    };
    let refuse = |option: &str, value: u64| {
        let what = format!(
            "{option}={value} with direct=1: direct I/O needs multiples of 512 bytes; change {option}= or set direct=0"
        );
        Err(HostError {
            errno: EINVAL,
            what,
        })
    };
    if let Some(replay) = &job.pace.replay {
        let aligned = replay.alignment.get() >= SECTOR;
        return if aligned {
            Ok(())
        } else {
            Err(unaligned(replay, SECTOR))
        };
    }
    match used(job)
        .map(|d| u64::from(job.pattern.block_size[d].min()))
        .find(|size| !size.is_multiple_of(SECTOR))
    {
        Some(size) => refuse("bs", size),
        None if !start.is_multiple_of(SECTOR) => refuse("offset", start),
        None => Ok(()),
    }
}

fn unaligned(replay: &Replay, need: u64) -> HostError {
    let (log, alignment) = (&replay.log, replay.alignment.get());
    let what = format!(
        "direct I/O needs multiples of {need} bytes, but the I/O of {log} is aligned to {alignment} only; set direct=0"
    );
    HostError {
        errno: EINVAL,
        what,
    }
}

fn region(job: &Job, files: u64, current_size: u64, rng: &mut Rng) -> Region {
    let files_of = &job.files;
    let block = u64::from(smallest_block(job));
    let own_size = files_of.file_size.map(|(low, high)| {
        let steps = (high.get() - low.get()) / block;
        low.get() + rng.below(steps + 1) * block
    });
    let whole = Bytes::new(own_size.unwrap_or(current_size));
    let step = files_of.offset_increment.of(whole).get() * u64::from(job.clone);
    let offset = if files_of.offset == Extent::Whole {
        0
    } else {
        files_of.offset.of(whole).get()
    };
    // As in fio, appending begins at the current end of the file.
    let offset = if files_of.layout.append {
        current_size
    } else {
        offset
    };
    let align = if files_of.offset_align.is_zero() {
        block
    } else {
        files_of.offset_align.get()
    };
    let is_share = matches!(files_of.offset, Extent::Percent(_))
        || step > 0
        || !files_of.offset_align.is_zero();
    let start = if is_share {
        (offset + step).next_multiple_of(align)
    } else {
        offset
    };
    // As in fio, a share is whole blocks, and of a file with its own size it is also the size of the file.
    let share_up_to = |size: u64| {
        let share = files_of.size.of(whole).get();
        start + share.min(size.saturating_sub(start)) / block * block
    };
    let end = match (own_size, files_of.size) {
        (Some(size), _) if files_of.layout.append => start + size,
        (Some(size), Extent::Percent(_)) => share_up_to(size),
        (Some(size), _) => size,
        (None, Extent::Bytes(size)) if !size.is_zero() => start + size.get() / files,
        (None, Extent::Percent(_)) => share_up_to(current_size),
        (None, _) => current_size,
    };
    Region { start, end }
}

fn no_size(job: &Job, path: &Path, current_size: u64) -> HostError {
    let what = if current_size == 0 {
        format!(
            "{}: {} does not exist or is empty, so the size of the job is unknown; add size=",
            job.name,
            path.display()
        )
    } else {
        format!(
            "{}: the region is beyond the {current_size} bytes of {}; reduce offset= or size=",
            job.name,
            path.display()
        )
    };
    HostError {
        errno: EINVAL,
        what,
    }
}

/// Bytes of the largest block that a job transfers. The write that follows a trim has its size.
pub(crate) fn buffer_size(job: &Job) -> u32 {
    let traffic = job.pattern.traffic;
    let moves = |d: &Direction| {
        traffic == Traffic::TrimWrite || (traffic.uses(*d) && *d != Direction::Trim)
    };
    Direction::ALL
        .into_iter()
        .filter(moves)
        .flat_map(|d| all_sizes(&job.pattern, d))
        .map(fathom_model::BlockSizes::max)
        .max()
        .unwrap_or(512)
}

/// Smallest block size of the directions that a job uses.
pub(crate) fn smallest_block(job: &Job) -> u32 {
    used(job)
        .flat_map(|d| all_sizes(&job.pattern, d))
        .map(fathom_model::BlockSizes::min)
        .min()
        .unwrap_or(1)
        .max(1)
}

fn used(job: &Job) -> impl Iterator<Item = Direction> + use<> {
    let traffic = job.pattern.traffic;
    Direction::ALL.into_iter().filter(move |d| traffic.uses(*d))
}

/// Whether the job changes its targets.
pub(crate) fn writes(job: &Job) -> bool {
    if job.engine.kind.file_operation().is_some() {
        return false;
    }
    // Even a read reserves space.
    if job.engine.kind.changes_allocation() {
        return true;
    }
    let traffic = job.pattern.traffic;
    let only_checks = job.verify.as_ref().is_some_and(|verify| verify.only);
    (traffic.uses(Direction::Write) || traffic.uses(Direction::Trim)) && !only_checks
}

/// What must be done to one file before the job.
pub(crate) fn lay_out(job: &Job, needs: &FileNeeds) -> LayOut {
    let layout = &job.files.layout;
    let must_exist = job.engine.kind.file_operation().is_some();
    let reads = must_exist
        || needs.uses[Direction::Read]
        || job.verify.as_ref().is_some_and(|verify| verify.only);
    LayOut {
        path: needs.path.clone(),
        size: Bytes::new(needs.size),
        content: reads || layout.overwrite,
        writes: needs.changes(),
        create: layout.allow_create,
        // Memory past the end of a file cannot be written.
        fallocate: match layout.fallocate {
            Fallocate::None if job.engine.kind == EngineKind::Mmap => Fallocate::Truncate,
            fallocate => fallocate,
        },
        fsync: layout.create_fsync,
        invalidate: None,
        pre_read: false,
        seed: job.pattern.seed,
    }
}

/// Merges the requirements of many jobs: a file that several jobs use is brought into a state that
/// suits all.
pub(crate) fn merge(lay_outs: impl IntoIterator<Item = LayOut>) -> Vec<LayOut> {
    let mut merged: Vec<LayOut> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for next in lay_outs {
        let place = *places.entry(next.path.clone()).or_insert(merged.len());
        match merged.get_mut(place) {
            None => merged.push(next),
            Some(first) => {
                first.size = first.size.max(next.size);
                first.content |= next.content;
                first.writes |= next.writes;
                first.create |= next.create;
                first.fsync |= next.fsync;
            }
        }
    }
    merged
}

/// The region that is available in a file with these properties, and a note if it is smaller.
///
/// # Errors
/// If none of it is available, or direct I/O cannot be aligned.
pub(crate) fn available_region(
    job: &Job,
    needs: &FileNeeds,
    facts: &FileFacts,
) -> Result<(Region, Option<String>), HostError> {
    let path = needs.path.display();
    let size = facts.size.get();
    let refuse = |errno, what| Err(HostError { errno, what });
    if let Some(replay) = &job.pace.replay {
        return available_log_region(job, replay, needs, facts).map(|region| (region, None));
    }
    let block = u64::from(smallest_block(job));
    if job.files.direct && facts.alignment > 1 && !block.is_multiple_of(u64::from(facts.alignment))
    {
        let need = facts.alignment;
        return refuse(
            EINVAL,
            format!(
                "{path}: direct I/O in blocks of {block} bytes, but the target needs multiples of {need}; raise bs= or set direct=0"
            ),
        );
    }
    // A smaller device is read to its end, as fio does; a write beyond it is a mistake.
    if facts.block_device && needs.region.end > size && writes(job) {
        let end = needs.region.end;
        return refuse(
            ENOSPC,
            format!(
                "{path}: the job ends at byte {end}, the device at {size}; reduce size= or offset="
            ),
        );
    }
    if size == 0 || size >= needs.region.end || writes(job) {
        return Ok((needs.region, None));
    }
    if size < needs.region.start + block {
        return refuse(
            EINVAL,
            format!(
                "{path}: the file has {size} bytes, the job starts at {}; reduce offset=",
                needs.region.start
            ),
        );
    }
    let note = format!(
        "{path} has {size} bytes, not the requested {}: only these are read",
        needs.region.end
    );
    Ok((
        Region {
            start: needs.region.start,
            end: size,
        },
        Some(note),
    ))
}

/// The log determines the region: all of it must exist.
fn available_log_region(
    job: &Job,
    replay: &Replay,
    needs: &FileNeeds,
    facts: &FileFacts,
) -> Result<Region, HostError> {
    let (size, end) = (facts.size.get(), needs.region.end);
    if job.files.direct
        && !replay
            .alignment
            .get()
            .is_multiple_of(u64::from(facts.alignment.max(1)))
    {
        return Err(unaligned(replay, facts.alignment.into()));
    }
    // A character device has no size.
    if end <= size || size == 0 || (needs.changes() && !facts.block_device) {
        return Ok(needs.region);
    }
    let (path, log) = (needs.path.display(), &replay.log);
    let what = format!(
        "{path} has {size} bytes, but {log} ends at byte {end}; set replay_scale or replay_redirect"
    );
    Err(HostError {
        errno: if facts.block_device { ENOSPC } else { EINVAL },
        what,
    })
}

/// How the file is opened for the load.
pub(crate) fn open(job: &Job, needs: &FileNeeds, region: Region) -> OpenFile {
    let checks = job.verify.is_some();
    OpenFile {
        path: needs.path.clone(),
        range: (region.start, region.end),
        writes: needs.changes(),
        reads: needs.uses[Direction::Read] || checks,
        direct: job.files.direct,
        sync: if needs.changes() {
            job.files.sync_mode
        } else {
            SyncMode::None
        },
        fadvise: job.files.layout.fadvise,
        random: matches!(job.pattern.access, Access::Random { .. }),
        create: job.files.layout.create_on_open,
    }
}
