//! What the file-operation engines find when they start: files to look at or to remove, and folders.
//!
//! They work by path, as what they measure is the path. Therefore every path is looked at here, under the guard's rules,
//! before the load; and what an engine removes is only what was made for it, or what the guard has permitted.

use std::fs::{DirBuilder, symlink_metadata};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_load::{FileFacts, HostError, LayOut};
use fathom_model::{Bytes, FileOperation};

use super::error::{failed, refused};
use super::layout::lay_out;
use super::target::{Targets, make_folders, missing_folders, permitted};

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
                "{} was not made ready: the run was stopped",
                file.path.display()
            ),
        ));
    }
    let there = symlink_metadata(&file.path).ok();
    if let Some(there) = &there {
        let fits = if operation.of_folders() {
            there.is_dir()
        } else {
            there.is_file()
        };
        if !fits {
            return Err(wrong_kind(&file.path, operation));
        }
    }
    let there = there.is_some();
    match operation {
        FileOperation::Create | FileOperation::MakeFolder if there => {}
        FileOperation::Create | FileOperation::MakeFolder => make_parent(&file.path)?,
        FileOperation::Stat | FileOperation::StatFolder if there => {}
        FileOperation::Stat | FileOperation::Delete => {
            let facts = lay_out(targets, file, stop, progress)?;
            targets
                .let_go(&file.path)
                .map_err(|error| failed(error.doing, &error.path, &error.source))?;
            return Ok(facts);
        }
        FileOperation::RemoveFolder if there => return Err(foreign_folder(&file.path)),
        FileOperation::StatFolder | FileOperation::RemoveFolder => {
            make_parent(&file.path)?;
            make_folder(&file.path)?;
        }
    }
    let size = Bytes::ZERO;
    Ok(FileFacts {
        size,
        alignment: 1,
        block_device: false,
        created: !there,
        laid_out: size,
    })
}

fn wrong_kind(path: &Path, operation: FileOperation) -> HostError {
    let noun = if operation.of_folders() {
        "folder"
    } else {
        "plain file"
    };
    let what = format!(
        "{} is there and is no {noun}; name a folder of the job's own in directory=",
        path.display()
    );
    refused(
        if operation.of_folders() {
            libc::ENOTDIR
        } else {
            libc::EINVAL
        },
        what,
    )
}

fn foreign_folder(path: &Path) -> HostError {
    let what = format!(
        "{} is there already, and dirdelete removes only folders that it made; remove it, or name another place in directory=",
        path.display()
    );
    refused(libc::EEXIST, what)
}

/// Where nothing may be made, nothing is: the place is judged as for a file of data.
fn make_parent(path: &Path) -> Result<(), HostError> {
    let missing = missing_folders(path);
    let place = missing.first().map_or(path, |upper| upper.as_path());
    permitted(place, Bytes::new(1))?;
    make_folders(missing).map(drop)
}

fn make_folder(path: &Path) -> Result<(), HostError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(|error| failed("create the folder", path, &error))
}
