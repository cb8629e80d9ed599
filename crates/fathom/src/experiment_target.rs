//! The target of an experiment. What may be done to it depends on the kind of the path.

use std::path::Path;

use fathom_device::{Machine, Owner, Target};
pub use fathom_experiment::ExperimentTarget;
use fathom_linux::{LinuxSysfs, examine, remove_owned};
use fathom_model::Bytes;

use crate::print::eprint_line;

/// Size of a file that is created, if there is enough space: more than the caches of most disks, and laid out within seconds.
const SIZE: u64 = 1 << 30;
/// At most one part in this many of the free space.
const PART_OF_FREE: u64 = 8;
/// A smaller file shows nothing about a disk.
const LEAST_SIZE: u64 = 16 << 20;

/// A path to measure on.
#[derive(Clone, Copy, Debug)]
pub struct TargetRequest<'a> {
    /// The path.
    pub path: &'a Path,
    /// Name of the file that is created in a directory.
    pub name: &'a str,
    /// Its size; `None` depends on the free space.
    pub size: Option<Bytes>,
    /// Nothing is written.
    pub read_only: bool,
}

/// Determines the target of a path.
///
/// # Errors
/// When nothing can be measured on it.
pub fn resolve_target(request: TargetRequest<'_>) -> Result<ExperimentTarget, String> {
    let path = request.path;
    let is_directory = path.is_dir();
    if is_directory && request.read_only {
        return Err(format!(
            "{} is a directory, and --read-only creates no file in it: name a file or a device to read",
            path.display()
        ));
    }
    let file = if is_directory {
        path.join(request.name)
    } else {
        path.to_owned()
    };
    let examined = examine(&file).map_err(|error| error.to_string())?;
    let called = called(path);
    let target = |size, writes, made| ExperimentTarget {
        file: file.clone(),
        called: called.clone(),
        size,
        writes: writes && !request.read_only,
        made,
    };
    match &examined.facts().target {
        Target::NewFile(_) if request.read_only => {
            Err(format!("{} does not exist", file.display()))
        }
        Target::NewFile(location) => Ok(target(
            Some(room(location.free, request.size, &file)?),
            true,
            true,
        )),
        Target::File(facts) if facts.owner == Owner::Ours && facts.size.get() >= LEAST_SIZE => Ok(
            target(Some(request.size.unwrap_or(facts.size)), true, is_directory),
        ),
        Target::File(facts) if facts.size.get() < 1 << 20 => Err(format!(
            "{} has {} bytes, too few to measure; name a directory to create a file in it",
            file.display(),
            facts.size.get()
        )),
        Target::File(facts) => {
            let there = facts.size.get() >> 20 << 20;
            Ok(target(
                Some(Bytes::new(
                    request.size.map_or(there, |size| size.get().min(there)),
                )),
                false,
                false,
            ))
        }
        Target::Block(_) => Ok(target(request.size, false, false)),
        Target::Char(_) | Target::Other(_) => Err(format!(
            "{} is not a directory, file or block device",
            file.display()
        )),
    }
}

fn called(path: &Path) -> String {
    let sysfs = LinuxSysfs::default();
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let location = if path.exists() { path } else { directory };
    let is_device = std::fs::metadata(path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir());
    let kind = sysfs
        .backing_devices(location)
        .filter(|_| !is_device)
        .map(|below| below.file_system.kind);
    kind.map_or_else(
        || path.display().to_string(),
        |kind| format!("{} ({kind})", path.display()),
    )
}

fn room(free: Bytes, wanted: Option<Bytes>, file: &Path) -> Result<Bytes, String> {
    if let Some(wanted) = wanted {
        return if wanted <= free {
            Ok(wanted)
        } else {
            Err(too_little(free, wanted, file))
        };
    }
    let size = (free.get() / PART_OF_FREE).min(SIZE) >> 20 << 20;
    if size < LEAST_SIZE {
        let (free, file) = (free.get() >> 20, file.display());
        return Err(format!(
            "only {free} MiB are free for {file}, 128 MiB are needed (an eighth of them is used): free some space, or name another directory"
        ));
    }
    Ok(Bytes::new(size))
}

fn too_little(free: Bytes, wanted: Bytes, file: &Path) -> String {
    let words = fathom_model::format::size;
    format!(
        "{} needs {}, but {} are free: free some space, or use a smaller --size",
        file.display(),
        words(wanted),
        words(free)
    )
}

/// Removes a file that fathom created, unless another program changed it.
pub fn remove_created_file(program: &str, file: &Path) {
    if file.exists()
        && let Err(error) = remove_owned(file)
    {
        eprint_line!("{program}: {error}; {} is still there", file.display());
    }
}
