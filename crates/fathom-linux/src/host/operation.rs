//! Prepares the paths of the file-operation engines: files to stat or delete, and directories.
//!
//! These engines work by path, because they measure the path lookup. Therefore every path is
//! checked here under the guard's rules before the load, and an engine removes only what was
//! created for it or what the guard has permitted.

use std::fs::{DirBuilder, symlink_metadata};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_load::{FileFacts, HostError, LayOut};
use fathom_model::{Bytes, FileOperation};

use super::error::{failed, refused};
use super::layout::lay_out;
use super::target::{Targets, create_directories, missing_directories, permit_new_file};

/// See [`fathom_load::Host::prepare_operation`].
pub(super) fn prepare(
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
