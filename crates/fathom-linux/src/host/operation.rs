//! Prepares the paths of the file-operation engines: files to stat or delete, and directories.
//!
//! Every path is checked here under the guard's rules before the load. The engine then works by
//! directory handle and inode, and removes only what was created for it or what the guard has
//! permitted.

use std::collections::HashMap;
use std::fs::{DirBuilder, symlink_metadata};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_load::{FileFacts, HostError, LayOut};
use fathom_model::{Bytes, FileOperation};

use super::error::{failed, refused};
use super::layout::lay_out;
use super::target::{
    Targets, create_directories, may_not_be_created, missing_directories, permit_new_file,
};
use crate::engines::{Directories, DirectoryEntry};

/// See [`fathom_load::Host::prepare_operation`].
pub(super) fn prepare(
    targets: &Targets,
    prepared: &Prepared,
    operation: FileOperation,
    file: &LayOut,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<FileFacts, HostError> {
    let facts = prepare_path(targets, operation, file, stop, progress)?;
    prepared.note(&file.path)?;
    Ok(facts)
}

/// The entries of all paths that were prepared.
#[derive(Debug, Default)]
pub(super) struct Prepared(Mutex<(Directories, HashMap<PathBuf, DirectoryEntry>)>);

impl Prepared {
    fn lock(&self) -> MutexGuard<'_, (Directories, HashMap<PathBuf, DirectoryEntry>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, path: &Path) -> Result<(), HostError> {
        let (directories, entries) = &mut *self.lock();
        let entry = directories
            .entry(path)
            .map_err(|error| failed("look up", path, &error.into()))?;
        entries.insert(path.to_owned(), entry);
        Ok(())
    }

    /// The entry of a path that was prepared.
    pub(super) fn entry(&self, path: &Path) -> Result<DirectoryEntry, HostError> {
        self.lock()
            .1
            .get(path)
            .cloned()
            .ok_or_else(|| refused(libc::ENOENT, format!("{} was not prepared", path.display())))
    }
}

fn prepare_path(
    targets: &Targets,
    operation: FileOperation,
    file: &LayOut,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<FileFacts, HostError> {
    if stop.load(Ordering::Relaxed) {
        return Err(refused(
            libc::EINTR,
            format!(
                "{} was not prepared: the run was stopped",
                file.path.display()
            ),
        ));
    }
    let existing = symlink_metadata(&file.path).ok();
    if let Some(existing) = &existing {
        let fits = if operation.is_on_directories() {
            existing.is_dir()
        } else {
            existing.is_file()
        };
        if !fits {
            return Err(wrong_kind(&file.path, operation));
        }
    }
    let exists = existing.is_some();
    match operation {
        FileOperation::Create | FileOperation::MakeDirectory if exists => {}
        FileOperation::Create | FileOperation::MakeDirectory => create_parent(&file.path)?,
        FileOperation::Stat | FileOperation::StatDirectory if exists => {}
        FileOperation::Stat | FileOperation::Delete => {
            let facts = lay_out(targets, file, stop, progress)?;
            targets
                .release_one(&file.path)
                .map_err(|error| failed(error.operation, &error.path, &error.source))?;
            return Ok(facts);
        }
        FileOperation::RemoveDirectory if exists => return Err(directory_exists(&file.path)),
        _ if !file.create => return Err(may_not_be_created(&file.path)),
        FileOperation::StatDirectory | FileOperation::RemoveDirectory => {
            create_parent(&file.path)?;
            create_directory(&file.path)?;
        }
    }
    let size = Bytes::ZERO;
    Ok(FileFacts {
        size,
        alignment: 1,
        block_device: false,
        created: !exists,
        laid_out: size,
    })
}

fn wrong_kind(path: &Path, operation: FileOperation) -> HostError {
    let expected = if operation.is_on_directories() {
        "directory"
    } else {
        "regular file"
    };
    let what = format!(
        "{} exists and is not a {expected}; set directory= to a directory used only by this job",
        path.display()
    );
    refused(
        if operation.is_on_directories() {
            libc::ENOTDIR
        } else {
            libc::EINVAL
        },
        what,
    )
}

fn directory_exists(path: &Path) -> HostError {
    let what = format!(
        "{} already exists, and dirdelete removes only directories that it created; remove it, or set another directory=",
        path.display()
    );
    refused(libc::EEXIST, what)
}

/// Creates the parent directory, if a data file could be created there.
fn create_parent(path: &Path) -> Result<(), HostError> {
    let missing = missing_directories(path);
    let topmost = missing.first().map_or(path, |upper| upper.as_path());
    permit_new_file(topmost, Bytes::new(1))?;
    create_directories(missing).map(drop)
}

fn create_directory(path: &Path) -> Result<(), HostError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(|error| failed("create the directory", path, &error))
}
