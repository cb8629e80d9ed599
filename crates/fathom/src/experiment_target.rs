//! The target of an experiment: the kind of its path decides how it may be used.

use std::collections::BTreeSet;
use std::path::Path;

use fathom_device::{Owner, Target};
pub use fathom_experiment::ExperimentTarget;
use fathom_model::Bytes;
use fathom_model::format::size as size_text;

use crate::machine::{Contents, EntryKind};
use crate::print::{eprint_line, note_line};
use crate::session::Session;

/// Size of a created file, if enough space is free: larger than the caches of most disks, and laid out within seconds.
const SIZE: u64 = 1 << 30;
/// At most one part in this many of the free space.
const SHARE_OF_FREE: u64 = 8;
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
    /// A file that does not exist is created. Without it, only directories get a file.
    pub create: bool,
}

/// Determines the target of a path.
///
/// # Errors
/// When the path cannot be measured.
pub fn resolve_target(
    session: &Session,
    request: TargetRequest<'_>,
) -> Result<ExperimentTarget, String> {
    let path = request.path;
    let is_directory = session.has_directory(path);
    if is_directory && request.read_only {
        return Err(format!(
            "{} is a directory, and --read-only creates no file in it: give a file or a device to read",
            path.display()
        ));
    }
    let file = if is_directory {
        path.join(request.name)
    } else {
        path.to_owned()
    };
    let examined = session
        .examine(&file, Contents::Ends)
        .map_err(|error| error.to_string())?;
    let display_name = display_name(session, path);
    let target_of = |size, writes, made| ExperimentTarget {
        file: file.clone(),
        display_name: display_name.clone(),
        size,
        writes: writes && !request.read_only,
        made,
    };
    match &examined.facts().target {
        Target::NewFile(_) if request.read_only => {
            Err(format!("{} does not exist", file.display()))
        }
        // Without its volume an image has only its own root.
        Target::NewFile(_)
            if !is_directory && !request.create && is_on_image(session, Path::new("/")) =>
        {
            Err(format!(
                "{} does not exist in this container: mount the volume there, or create this file in the image and measure on it: --create",
                file.display()
            ))
        }
        // A mistyped path must not fill a file system.
        Target::NewFile(_) if !is_directory && !request.create => Err(format!(
            "{} does not exist; to create this file and measure on it: --create",
            file.display()
        )),
        Target::NewFile(place) => {
            check_writable(session, place.read_only, parent(&file))?;
            if let Some(message) = image_message(session, [file.as_path()]) {
                note_line!("fathom: {message}");
            }
            Ok(target_of(
                Some(new_file_size(place.free, request.size, &file)?),
                true,
                true,
            ))
        }
        Target::File(facts) if facts.owner == Owner::Ours && facts.size.get() >= LEAST_SIZE => Ok(
            target_of(Some(request.size.unwrap_or(facts.size)), true, is_directory),
        ),
        // It is nobody's data as far as fathom knows, but only its owner can know.
        Target::File(facts)
            if is_directory && facts.owner == Owner::Unfinished && !facts.locked =>
        {
            Err(format!(
                "{} was left by a run that was killed while it wrote, and other programs may have written it since; remove it, or name another directory",
                file.display()
            ))
        }
        Target::File(facts) if facts.size.get() < 1 << 20 => Err(format!(
            "{} is too small to measure (size {}); give a directory to create a file in it",
            file.display(),
            size_text(facts.size)
        )),
        Target::File(facts) => {
            let file_size = facts.size.get() >> 20 << 20;
            Ok(target_of(
                Some(Bytes::new(
                    request
                        .size
                        .map_or(file_size, |size| size.get().min(file_size)),
                )),
                false,
                false,
            ))
        }
        Target::Block(block) => match request.size {
            Some(size) if size > block.size => Err(format!(
                "{} has {}, and --size asks for {}: reduce --size",
                file.display(),
                size_text(block.size),
                size_text(size)
            )),
            size => Ok(target_of(size, false, false)),
        },
        Target::Char(_) | Target::Other(_) => Err(format!(
            "{} is not a directory, file or block device",
            file.display()
        )),
    }
}

/// The directory of a file.
fn parent(file: &Path) -> &Path {
    file.parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The message about the first file whose directory is in the image of a container.
pub fn image_message<'a>(
    session: &Session,
    files: impl IntoIterator<Item = &'a Path>,
) -> Option<String> {
    // Outside of such a container no file is.
    if !is_on_image(session, Path::new("/")) {
        return None;
    }
    let directories: BTreeSet<&Path> = files.into_iter().map(parent).collect();
    let directory = directories
        .into_iter()
        .find(|directory| is_on_image(session, directory))?;
    Some(format!(
        "{} is in the image of this container (overlay), not on a volume; to measure a volume, mount it and give its path",
        directory.display()
    ))
}

/// Whether a directory is on the root of a container: its image, and a layer on the disk of the host that takes the writes.
fn is_on_image(session: &Session, directory: &Path) -> bool {
    session.file_system(directory).is_some_and(|file_system| {
        file_system.kind == "overlay" && file_system.mounted_at == Path::new("/")
    })
}

/// Whether files of `needed` bytes can be created in the directory.
///
/// # Errors
/// When it is not writable, or less is free.
pub fn check_directory(session: &Session, directory: &Path, needed: u64) -> Result<(), String> {
    let Some(space) = session.space(directory) else {
        return Ok(());
    };
    check_writable(session, space.read_only, directory)?;
    let free = space.free.get();
    if free < needed {
        return Err(not_enough_space(directory, free, needed));
    }
    Ok(())
}

/// The message about a directory without room.
pub fn not_enough_space(directory: &Path, free: u64, needed: u64) -> String {
    format!(
        "{}: not enough free space: {} free, at least {} needed; free some space, or give another directory",
        directory.display(),
        size_text(Bytes::new(free)),
        size_text(Bytes::new(needed))
    )
}

/// Whether a file can be created in the directory. The layout would fail otherwise, after the preview.
fn check_writable(session: &Session, read_only: bool, directory: &Path) -> Result<(), String> {
    let name = directory.display();
    if read_only {
        return Err(format!(
            "{name} is on a file system that is mounted read-only: it must be mounted read-write, or give a file or a device to read"
        ));
    }
    if session.may_create_in(directory) {
        return Ok(());
    }
    Err(format!(
        "{name}: Permission denied: user {} cannot create a file in it; start as its owner, change its permissions, or give \
         another directory (Kubernetes: set fsGroup)",
        rustix::process::geteuid().as_raw()
    ))
}

fn display_name(session: &Session, path: &Path) -> String {
    let entry = session.entry(path);
    let existing = if entry.is_ok() { path } else { parent(path) };
    let is_device = entry.is_ok_and(|entry| entry.kind == EntryKind::Special);
    let kind = session
        .file_system(existing)
        .filter(|_| !is_device)
        .map(|file_system| file_system.kind);
    kind.map_or_else(
        || path.display().to_string(),
        |kind| format!("{} ({kind})", path.display()),
    )
}

fn new_file_size(free: Bytes, wanted: Option<Bytes>, file: &Path) -> Result<Bytes, String> {
    if let Some(wanted) = wanted {
        return if wanted <= free {
            Ok(wanted)
        } else {
            Err(no_room(free, wanted, file))
        };
    }
    let size = (free.get() / SHARE_OF_FREE).min(SIZE) >> 20 << 20;
    if size < LEAST_SIZE {
        let (free, file) = (free.get() >> 20, file.display());
        return Err(format!(
            "only {free} MiB is free for {file}, and 128 MiB is needed (an eighth of it is used): free some space, or give another directory"
        ));
    }
    Ok(Bytes::new(size))
}

fn no_room(free: Bytes, wanted: Bytes, file: &Path) -> String {
    format!(
        "{} needs {}, but only {} is free: free some space, or use a smaller --size",
        file.display(),
        size_text(wanted),
        size_text(free)
    )
}

/// Removes a file that fathom created. One that changed since is not removed.
pub fn remove_created(session: &Session, program: &str, file: &Path) {
    if session.exists(file)
        && let Err(error) = session.remove_created(file)
    {
        eprint_line!("{program}: {error}; {} was not removed", file.display());
    }
}
