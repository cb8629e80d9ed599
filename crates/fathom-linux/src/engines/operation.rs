//! Engines that transfer no data: filecreate, filestat, filedelete, dircreate, dirstat and
//! dirdelete.
//!
//! One I/O is one operation on one path. As in fio, open(2) without O_EXCL creates a file, so from
//! its second pass on a job opens the existing file. The close(2) is part of the operation.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use fathom_load::{Completion, Engine, EngineError, EngineRequest, OpenFile, Request, Wait};
use fathom_model::{FileOperation, StatCall};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Result as KernelResult;

/// One operation at a time, complete when [`Engine::submit`] returns.
#[derive(Debug)]
pub(super) struct OperationEngine {
    operation: FileOperation,
    stat: StatCall,
    paths: Box<[CString]>,
    /// Paths to remove at the end: created by this engine, if the job requests removal.
    created: Box<[bool]>,
    remove_created: bool,
    completed: Option<Completion>,
    buffer: Vec<u8>,
}

impl OperationEngine {
    pub(super) fn new(
        request: &EngineRequest<'_>,
        operation: FileOperation,
    ) -> Result<Self, EngineError> {
        let paths = request
            .files
            .iter()
            .map(path)
            .collect::<Result<Box<[CString]>, EngineError>>()?;
        let settings = &request.spec.settings;
        let creates = settings.remove_created
            && !matches!(operation, FileOperation::Stat | FileOperation::Delete);
        let created = request
            .files
            .iter()
            .map(|file| creates && !existed_before(operation, file))
            .collect();
        let buffer = vec![0; request.buffer_size as usize];
        Ok(Self {
            operation,
            stat: settings.stat,
            paths,
            created,
            remove_created: settings.remove_created,
            completed: None,
            buffer,
        })
    }

    fn perform(&self, request: &Request) -> i64 {
        let Some(path) = self.paths.get(request.file as usize) else {
            return -i64::from(libc::EBADF);
        };
        let done = match self.operation {
            FileOperation::Create => {
                let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map(drop)
            }
            FileOperation::MakeDirectory => rustix::fs::mkdir(path, Mode::RWXU),
            FileOperation::Stat | FileOperation::StatDirectory => self.stat_path(path),
            FileOperation::Delete => rustix::fs::unlink(path),
            FileOperation::RemoveDirectory => rustix::fs::rmdir(path),
        };
        done.map_or_else(
            |error| -i64::from(error.raw_os_error()),
            |()| i64::from(request.len),
        )
    }

    fn stat_path(&self, path: &CString) -> KernelResult<()> {
        match self.stat {
            StatCall::Stat => rustix::fs::stat(path).map(drop),
            StatCall::Lstat => rustix::fs::lstat(path).map(drop),
            StatCall::Statx => {
                rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::ALL).map(drop)
            }
        }
    }
}

fn path(file: &OpenFile) -> Result<CString, EngineError> {
    CString::new(file.path.as_os_str().as_bytes()).map_err(|_| EngineError {
        errno: libc::EINVAL,
        what: format!("{} contains a zero byte", file.path.display()),
    })
}

/// The directories that dirstat inspects were created for it, unless they existed: rmdir(2) removes
/// them only if they are empty.
fn existed_before(operation: FileOperation, file: &OpenFile) -> bool {
    operation != FileOperation::StatDirectory && std::fs::symlink_metadata(&file.path).is_ok()
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
    /// A path that no longer exists needs no removal.
    fn drop(&mut self) {
        if !self.remove_created {
            return;
        }
        for (path, _) in self
            .paths
            .iter()
            .zip(&self.created)
            .filter(|(_, created)| **created)
        {
            let _ = if self.operation.is_on_directories() {
                rustix::fs::rmdir(path)
            } else {
                rustix::fs::unlink(path)
            };
        }
    }
}
