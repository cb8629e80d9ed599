//! Engines that transfer no data: filecreate, filestat, filedelete, dircreate, dirstat and
//! dirdelete.
//!
//! One I/O is one operation on one path. As in fio, open(2) without O_EXCL creates a file, so from
//! its second pass on a job opens the existing file. The close(2) is part of the operation.
//!
//! Everything that changes a directory goes through a handle of that directory, and a file is removed
//! only while its name refers to the inode that was prepared: a directory or a name that somebody
//! replaces during the run leads to an error, not to the loss of another file.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fathom_load::{Completion, Engine, EngineError, EngineRequest, OpenFile, Request, Wait};
use fathom_model::{FileOperation, StatCall};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::{Errno, Result as KernelResult};

/// Device and inode number.
type Inode = (u64, u64);

/// A name in a directory that stays the same directory, wherever it is moved, and the inode that the
/// name refers to.
#[derive(Clone, Debug)]
pub(crate) struct DirectoryEntry {
    directory: Arc<OwnedFd>,
    name: CString,
    /// `None` where nothing has this name yet.
    inode: Option<Inode>,
}

/// Opens each directory once.
#[derive(Debug, Default)]
pub(crate) struct Directories(HashMap<PathBuf, Arc<OwnedFd>>);

impl Directories {
    /// The entry that `path` names now.
    pub(crate) fn entry(&mut self, path: &Path) -> KernelResult<DirectoryEntry> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let name = CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?;
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let directory = match self.0.get(parent) {
            Some(directory) => Arc::clone(directory),
            None => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let directory = Arc::new(rustix::fs::open(parent, flags, Mode::empty())?);
                self.0.insert(parent.to_owned(), Arc::clone(&directory));
                directory
            }
        };
        let mut entry = DirectoryEntry {
            directory,
            name,
            inode: None,
        };
        entry.inode = entry.now()?;
        Ok(entry)
    }
}

impl DirectoryEntry {
    /// The inode that the name refers to now.
    fn now(&self) -> KernelResult<Option<Inode>> {
        match rustix::fs::statat(&*self.directory, &*self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some((stat.st_dev, stat.st_ino))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create_file(&mut self) -> KernelResult<()> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&*self.directory, &*self.name, flags, mode)?;
        if self.inode.is_none() {
            let stat = rustix::fs::fstat(&file)?;
            self.inode = Some((stat.st_dev, stat.st_ino));
        }
        Ok(())
    }

    fn create_directory(&mut self) -> KernelResult<()> {
        rustix::fs::mkdirat(&*self.directory, &*self.name, Mode::RWXU)?;
        self.inode = self.now()?;
        Ok(())
    }

    /// Removes the name while it refers to the inode that was prepared or created.
    fn remove(&self, flags: AtFlags) -> KernelResult<()> {
        match (self.now()?, self.inode) {
            (None, _) => Err(Errno::NOENT),
            (now, known) if now == known => {
                rustix::fs::unlinkat(&*self.directory, &*self.name, flags)
            }
            // Another file has the name now, and nobody permitted its removal.
            _ => Err(Errno::STALE),
        }
    }
}

/// One operation at a time, complete when [`Engine::submit`] returns.
#[derive(Debug)]
pub(crate) struct OperationEngine {
    operation: FileOperation,
    stat: StatCall,
    /// For the operations that only look a path up.
    paths: Box<[CString]>,
    entries: Box<[DirectoryEntry]>,
    /// Entries to remove at the end: created by this engine, if the job requests removal.
    created: Box<[bool]>,
    remove_created: bool,
    completed: Option<Completion>,
    buffer: Vec<u8>,
}

impl OperationEngine {
    /// The engine over `entries`, one for each file of the request, as they were prepared.
    pub(crate) fn new(
        request: &EngineRequest<'_>,
        operation: FileOperation,
        entries: Vec<DirectoryEntry>,
    ) -> Result<Self, EngineError> {
        let paths = request
            .files
            .iter()
            .map(path)
            .collect::<Result<Box<[CString]>, EngineError>>()?;
        let settings = &request.spec.settings;
        let creates = settings.remove_created
            && !matches!(operation, FileOperation::Stat | FileOperation::Delete);
        // The directories that dirstat inspects were created for it, unless they existed: rmdir(2)
        // removes them only if they are empty.
        let created = entries
            .iter()
            .map(|entry| {
                let existed = operation != FileOperation::StatDirectory && entry.inode.is_some();
                creates && !existed
            })
            .collect();
        let buffer = vec![0; request.buffer_size as usize];
        Ok(Self {
            operation,
            stat: settings.stat,
            paths,
            entries: entries.into(),
            created,
            remove_created: settings.remove_created,
            completed: None,
            buffer,
        })
    }

    fn perform(&mut self, request: &Request) -> i64 {
        let index = request.file as usize;
        let (Some(path), Some(entry)) = (self.paths.get(index), self.entries.get_mut(index)) else {
            return -i64::from(libc::EBADF);
        };
        let done = match self.operation {
            FileOperation::Create => entry.create_file(),
            FileOperation::MakeDirectory => entry.create_directory(),
            FileOperation::Stat | FileOperation::StatDirectory => stat_path(self.stat, path),
            FileOperation::Delete => entry.remove(AtFlags::empty()),
            FileOperation::RemoveDirectory => entry.remove(AtFlags::REMOVEDIR),
        };
        done.map_or_else(
            |error| -i64::from(error.raw_os_error()),
            |()| i64::from(request.len),
        )
    }
}

fn stat_path(stat: StatCall, path: &CString) -> KernelResult<()> {
    match stat {
        StatCall::Stat => rustix::fs::stat(path).map(drop),
        StatCall::Lstat => rustix::fs::lstat(path).map(drop),
        StatCall::Statx => {
            rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::ALL).map(drop)
        }
    }
}

fn path(file: &OpenFile) -> Result<CString, EngineError> {
    CString::new(file.path.as_os_str().as_bytes()).map_err(|_| EngineError {
        errno: libc::EINVAL,
        what: format!("{} contains a zero byte", file.path.display()),
    })
}

impl Engine for OperationEngine {
    fn depth(&self) -> u32 {
        1
    }

    fn is_synchronous(&self) -> bool {
        true
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        assert!(
            slot == 0 && self.completed.is_none(),
            "slot {slot} is in flight"
        );
        &mut self.buffer
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        let Some(request) = batch.first().filter(|_| self.completed.is_none()) else {
            return Ok(0);
        };
        self.completed = Some(Completion {
            slot: request.slot,
            result: self.perform(request),
        });
        Ok(1)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        if wait.at_most > 0 {
            done.extend(self.completed.take());
        }
        Ok(())
    }
}

impl Drop for OperationEngine {
    /// A name that no longer exists, or that another file has, needs no removal.
    fn drop(&mut self) {
        if !self.remove_created {
            return;
        }
        let flags = if self.operation.is_on_directories() {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        let created = self.entries.iter().zip(&self.created);
        for (entry, _) in created.filter(|(_, created)| **created) {
            if entry.inode.is_some() {
                let _ = entry.remove(flags);
            }
        }
    }
}
