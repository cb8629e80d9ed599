//! The file system of the device: `device`, `control` and `log` in one directory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::OFlags;

use crate::command::{Command, log_text, status};
use crate::core::{Core, Ticket};
use crate::fault::Op;
use crate::pace::Timer;

const ROOT: INodeNo = INodeNo(1);
const DEVICE: INodeNo = INodeNo(2);
const CONTROL: INodeNo = INodeNo(3);
const LOG: INodeNo = INodeNo(4);

/// Asynchronous requests that the kernel passes on at the same time.
const MAX_REQUESTS: u16 = 1024;

/// Names are fixed, but the size of the device can change at any time.
const NAME_TTL: Duration = Duration::from_secs(3600);
const ATTR_TTL: Duration = Duration::ZERO;

/// The file system; it shares the device with the test that mounted it.
pub(crate) struct FaultFs {
    core: Arc<Core>,
    device_name: String,
    timer: Timer,
    next_handle: AtomicU64,
    /// The text that each open control or log file returns to reads, fixed when it was opened or
    /// written.
    answers: Mutex<HashMap<u64, Vec<u8>>>,
}

impl FaultFs {
    /// # Errors
    /// If no thread can be created.
    pub(crate) fn new(core: Arc<Core>, device_name: String) -> io::Result<Self> {
        Ok(FaultFs {
            core,
            device_name,
            timer: Timer::start()?,
            next_handle: AtomicU64::new(1),
            answers: Mutex::default(),
        })
    }

    fn names(&self) -> [(INodeNo, &str); 3] {
        [
            (DEVICE, &self.device_name),
            (CONTROL, "control"),
            (LOG, "log"),
        ]
    }

    fn attr(&self, ino: INodeNo) -> FileAttr {
        let size = if ino == DEVICE { self.core.size() } else { 0 };
        let (kind, perm) = match ino {
            ROOT => (FileType::Directory, 0o755),
            LOG => (FileType::RegularFile, 0o444),
            _ => (FileType::RegularFile, 0o666),
        };
        let (atime, mtime, ctime, crtime) = (UNIX_EPOCH, UNIX_EPOCH, UNIX_EPOCH, UNIX_EPOCH);
        let (nlink, uid, gid, rdev, flags) = (1, 0, 0, 0, 0);
        let (blocks, blksize) = (size.div_ceil(512), 4096);
        FileAttr {
            ino,
            size,
            blocks,
            atime,
            mtime,
            ctime,
            crtime,
            kind,
            perm,
            nlink,
            uid,
            gid,
            rdev,
            blksize,
            flags,
        }
    }

    /// Completes the request at its due time.
    ///
    /// The thread that received it does not wait, so that any number of requests is in flight. A request that hangs has a thread of
    /// its own.
    fn serve(&self, ticket: Ticket, answer: impl FnOnce(&Core, Ticket) + Send + 'static) {
        let core = self.core.clone();
        if !ticket.is_held() {
            return self
                .timer
                .at(ticket.due_ns(), move || answer(&core, ticket));
        }
        // Without a thread the closure is dropped, and with it the reply, which returns EIO.
        let _ = std::thread::Builder::new()
            .name("fault-held".into())
            .spawn(move || {
                core.wait_released(&ticket);
                answer(&core, ticket);
            });
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Vec<u8>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_slice(&self, fh: FileHandle, offset: u64, size: u32) -> Vec<u8> {
        let answers = self.answers();
        let text = answers.get(&fh.0).map_or(&[][..], Vec::as_slice);
        let start = usize::try_from(offset).map_or(text.len(), |o| o.min(text.len()));
        let end = start.saturating_add(size as usize).min(text.len());
        text[start..end].to_vec()
    }

    /// Runs every line of `text`; reads of this open file then return the status or the error.
    fn command(&self, fh: FileHandle, text: &[u8]) -> Result<(), Errno> {
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let done = lines.try_for_each(|line| line.parse::<Command>()?.apply(&self.core));
        let answer = match &done {
            Ok(()) => status(&self.core),
            Err(why) => format!("error {why}\n"),
        };
        self.answers().insert(fh.0, answer.into_bytes());
        done.map_err(|_| Errno::EINVAL)
    }
}

fn errno(e: rustix::io::Errno) -> Errno {
    Errno::from_i32(e.raw_os_error())
}

fn is_durable(flags: OpenFlags) -> bool {
    // O_SYNC contains the bit of O_DSYNC.
    flags.0 as u32 & OFlags::DSYNC.bits() != 0
}

impl Filesystem for FaultFs {
    /// Asks for concurrent direct I/O: without FUSE_ASYNC_DIO the kernel runs an asynchronous
    /// queue one request at a time.
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let flags = InitFlags::FUSE_ASYNC_DIO;
        config.add_capabilities(flags).map_err(|missing| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                format!("kernel lacks {missing:?}"),
            )
        })?;
        // The only errors are for a value of zero.
        let _ = config.set_max_background(MAX_REQUESTS);
        let _ = config.set_congestion_threshold(MAX_REQUESTS);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self
            .names()
            .into_iter()
            .find(|(_, n)| parent == ROOT && name == *n);
        match found {
            Some((ino, _)) => {
                reply.entry_with_ttls(&ATTR_TTL, &NAME_TTL, &self.attr(ino), Generation(0));
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&ATTR_TTL, &self.attr(ino));
    }

    /// Changes nothing: like a block device, the file ignores O_TRUNC and keeps its size.
    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.attr(&ATTR_TTL, &self.attr(ino));
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        let text = match ino {
            CONTROL => status(&self.core),
            LOG => log_text(&self.core),
            _ => String::new(),
        };
        if ino != DEVICE {
            self.answers().insert(handle, text.into_bytes());
        }
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(handle), flags);
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.answers().remove(&fh.0);
        reply.ok();
    }

    fn flush(&self, _r: &Request, _i: INodeNo, _f: FileHandle, _l: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if ino != DEVICE {
            return reply.data(&self.answer_slice(fh, offset, size));
        }
        let ticket = self.core.begin(Op::Read, offset, u64::from(size));
        self.serve(ticket, move |core, ticket| match core.finish_read(ticket) {
            Ok(data) => reply.data(&data),
            Err(e) => reply.error(errno(e)),
        });
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino != DEVICE {
            return match self.command(fh, data) {
                Ok(()) => reply.written(data.len() as u32),
                Err(e) => reply.error(e),
            };
        }
        let ticket = self.core.begin(Op::Write, offset, data.len() as u64);
        let (data, durable) = (data.to_vec(), is_durable(flags));
        self.serve(ticket, move |core, ticket| {
            match core.finish_write(ticket, &data, durable) {
                Ok(bytes) => reply.written(bytes as u32),
                Err(e) => reply.error(errno(e)),
            }
        });
    }

    fn fsync(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        if ino != DEVICE {
            return reply.ok();
        }
        let ticket = self.core.begin(Op::Sync, 0, 0);
        self.serve(ticket, move |core, ticket| match core.finish_sync(ticket) {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(errno(e)),
        });
    }

    fn readdir(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let dots = [".", ".."].map(|name| (ROOT, name, FileType::Directory));
        let files = self
            .names()
            .map(|(ino, name)| (ino, name, FileType::RegularFile));
        let entries = dots.into_iter().chain(files).enumerate();
        for (index, (ino, name, kind)) in entries.skip(offset as usize) {
            if reply.add(ino, index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
