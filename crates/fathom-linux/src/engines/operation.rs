//! Engines that move no data: filecreate, filestat, filedelete, dircreate, dirstat and dirdelete.
//!
//! An I/O is one operation on one path. As in fio a file is created by open(2) without O_EXCL, so that from its second
//! pass on a job opens what is there; the close(2) belongs to the operation here.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use fathom_load::{Completion, Engine, EngineError, EngineRequest, OpenFile, Request, Wait};
use fathom_model::{FileOperation, StatCall};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Result as KernelResult;

/// One operation at a time, over when [`Engine::submit`] returns.
#[derive(Debug)]
pub(super) struct OperationEngine {
    operation: FileOperation,
    stat: StatCall,
    paths: Box<[CString]>,
    /// Those to remove in the end: made by this engine, where the job asks for it.
    made: Box<[bool]>,
    remove_made: bool,
    over: Option<Completion>,
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
        let makes = settings.remove_made
            && !matches!(operation, FileOperation::Stat | FileOperation::Delete);
        let made = request
            .files
            .iter()
            .map(|file| makes && !is_there_before(operation, file))
            .collect();
        let buffer = vec![0; request.buffer_size as usize];
        Ok(Self {
            operation,
            stat: settings.stat,
            paths,
            made,
            remove_made: settings.remove_made,
            over: None,
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
            FileOperation::MakeFolder => rustix::fs::mkdir(path, Mode::RWXU),
            FileOperation::Stat | FileOperation::StatFolder => self.look_at(path),
            FileOperation::Delete => rustix::fs::unlink(path),
            FileOperation::RemoveFolder => rustix::fs::rmdir(path),
        };
        done.map_or_else(
            |error| -i64::from(error.raw_os_error()),
            |()| i64::from(request.len),
        )
    }

    fn look_at(&self, path: &CString) -> KernelResult<()> {
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
        what: format!("{} has a zero byte in its name", file.path.display()),
    })
}

/// What dirstat looks at was made for it before, unless it was there: rmdir(2) takes it away only while it is empty.
fn is_there_before(operation: FileOperation, file: &OpenFile) -> bool {
    operation != FileOperation::StatFolder && std::fs::symlink_metadata(&file.path).is_ok()
}

impl Engine for OperationEngine {
    fn depth(&self) -> u32 {
        1
    }

    fn is_synchronous(&self) -> bool {
        true
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        assert!(slot == 0 && self.over.is_none(), "slot {slot} is in flight");
        &mut self.buffer
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        let Some(request) = batch.first().filter(|_| self.over.is_none()) else {
            return Ok(0);
        };
        self.over = Some(Completion {
            slot: request.slot,
            result: self.perform(request),
        });
        Ok(1)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        if wait.at_most > 0 {
            done.extend(self.over.take());
        }
        Ok(())
    }
}

impl Drop for OperationEngine {
    /// What is gone already needs no removal.
    fn drop(&mut self) {
        if !self.remove_made {
            return;
        }
        for (path, _) in self.paths.iter().zip(&self.made).filter(|(_, made)| **made) {
            let _ = if self.operation.of_folders() {
                rustix::fs::rmdir(path)
            } else {
                rustix::fs::unlink(path)
            };
        }
    }
}
