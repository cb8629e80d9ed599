//! What a path is decides what an experiment may do to it.

use std::path::{Path, PathBuf};

use fathom_device::{Machine, Owner, Target};
use fathom_linux::{LinuxSysfs, examine, remove_owned};
use fathom_model::Bytes;

use crate::print::eprint_line;

/// Size of a file that is made, where there is room: more than the caches of most disks' controllers, and laid out within
/// seconds.
const SIZE: u64 = 1 << 30;
/// At most this part of the room there is.
const PART_OF_FREE: u64 = 8;
/// Less says nothing about a disk.
const LEAST_SIZE: u64 = 16 << 20;

/// What will be looked at.
#[derive(Clone, Debug)]
pub struct ExperimentTarget {
    /// A file or a device.
    pub file: PathBuf,
    /// What it is called where there are several: the path as given, with the file system it is on.
    pub called: String,
    /// How much of it; nothing is all.
    pub size: Option<Bytes>,
    /// Whether it may be written.
    pub writes: bool,
    /// It did not exist before, or stood in the folder as a file of ours.
    pub made: bool,
}

/// What is asked of a path.
#[derive(Clone, Copy, Debug)]
pub struct TargetRequest<'a> {
    /// The path.
    pub path: &'a Path,
    /// Name of the file that is made in a folder.
    pub name: &'a str,
    /// Its size; nothing leaves it to the room there is.
    pub size: Option<Bytes>,
    /// Nothing is written.
    pub read_only: bool,
}

/// Looks at a path.
///
/// # Errors
/// When nothing can be measured on it, and why.
pub fn subject(wish: TargetRequest<'_>) -> Result<ExperimentTarget, String> {
    let path = wish.path;
    let is_folder = path.is_dir();
    if is_folder && wish.read_only {
        return Err(format!(
            "{} is a folder, and --read-only makes no file in it: name a file or a device to read",
            path.display()
        ));
    }
    let file = if is_folder {
        path.join(wish.name)
    } else {
        path.to_owned()
    };
    let examined = examine(&file).map_err(|error| error.to_string())?;
    let called = called(path);
    let subject = |size, writes, made| ExperimentTarget {
        file: file.clone(),
        called: called.clone(),
        size,
        writes: writes && !wish.read_only,
        made,
    };
    match &examined.facts().target {
        Target::NewFile(_) if wish.read_only => Err(format!("there is no {}", file.display())),
        Target::NewFile(place) => Ok(subject(
            Some(room(place.free, wish.size, &file)?),
            true,
            true,
        )),
        Target::File(facts) if facts.owner == Owner::Ours && facts.size.get() >= LEAST_SIZE => Ok(
            subject(Some(wish.size.unwrap_or(facts.size)), true, is_folder),
        ),
        Target::File(facts) if facts.size.get() < 1 << 20 => Err(format!(
            "{} has {} bytes, too few to measure; name a folder to have a file made in it",
            file.display(),
            facts.size.get()
        )),
        Target::File(facts) => {
            let there = facts.size.get() >> 20 << 20;
            Ok(subject(
                Some(Bytes::new(
                    wish.size.map_or(there, |size| size.get().min(there)),
                )),
                false,
                false,
            ))
        }
        Target::Block(_) => Ok(subject(wish.size, false, false)),
        Target::Char(_) | Target::Other(_) => Err(format!(
            "{} is neither a folder, nor a file, nor a block device",
            file.display()
        )),
    }
}

fn called(path: &Path) -> String {
    let sysfs = LinuxSysfs::default();
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let place = if path.exists() { path } else { folder };
    let is_device = std::fs::metadata(path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir());
    let kind = sysfs
        .backing_devices(place)
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
            "there are {free} MiB free for {file}; 128 MiB are needed, of which an eighth is used: make room, or name another folder"
        ));
    }
    Ok(Bytes::new(size))
}

fn too_little(free: Bytes, wanted: Bytes, file: &Path) -> String {
    let words = fathom_model::format::size;
    format!(
        "{} is to have {}, and {} are free: make room, or give a smaller --size",
        file.display(),
        words(wanted),
        words(free)
    )
}

/// Removes a file that was made; one that is not ours any more stays.
pub fn tidy(program: &str, file: &Path) {
    if file.exists()
        && let Err(error) = remove_owned(file)
    {
        eprint_line!("{program}: {error}; {} is still there", file.display());
    }
}
