//! Commits: a write that must survive a power cut, by each method of the kernel, of one client or of many that are grouped.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_model::Histogram;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags};

use crate::O_DSYNC;
use crate::probe::HeldTarget;

/// Alignment of the buffer, sufficient for O_DIRECT on every known file system.
const PAGE: usize = 4096;
/// How often the end of a measurement of many clients is checked.
const POLL: Duration = Duration::from_millis(5);

/// How a write is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitMethod {
    /// Writes to a file opened with O_DSYNC and O_DIRECT.
    OpenDatasync,
    /// Writes, then fdatasync(2).
    Fdatasync,
    /// Writes, then fsync(2).
    Fsync,
    /// Writes to a file opened with O_SYNC and O_DIRECT.
    OpenSync,
    /// pwritev2(2) with RWF_DSYNC, and O_DIRECT.
    RwfDsync,
    /// A chain of linked requests of io_uring: writes, then a data sync.
    UringLinked,
}

impl CommitMethod {
    /// All methods, in the order of the result.
    pub const ALL: [CommitMethod; 6] = [
        CommitMethod::OpenDatasync,
        CommitMethod::Fdatasync,
        CommitMethod::Fsync,
        CommitMethod::OpenSync,
        CommitMethod::RwfDsync,
        CommitMethod::UringLinked,
    ];

    /// Its name; that of `wal_sync_method` of PostgreSQL where it has one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CommitMethod::OpenDatasync => "open_datasync",
            CommitMethod::Fdatasync => "fdatasync",
            CommitMethod::Fsync => "fsync",
            CommitMethod::OpenSync => "open_sync",
            CommitMethod::RwfDsync => "rwf_dsync",
            CommitMethod::UringLinked => "io_uring",
        }
    }

    pub(crate) fn flags(self) -> OFlags {
        match self {
            CommitMethod::OpenDatasync => O_DSYNC | OFlags::DIRECT,
            CommitMethod::OpenSync => OFlags::SYNC | OFlags::DIRECT,
            CommitMethod::RwfDsync => OFlags::DIRECT,
            CommitMethod::Fdatasync | CommitMethod::Fsync | CommitMethod::UringLinked => {
                OFlags::empty()
            }
        }
    }
}

/// A measurement of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitLoad {
    /// The method.
    pub method: CommitMethod,
    /// Writes of one commit.
    pub writes: u32,
    /// Bytes of one write.
    pub size: u32,
    /// Clients that commit at the same time. What several of them wait for is written and synced together.
    pub clients: u32,
    /// How long it takes.
    pub time: Duration,
}

/// The result of a measurement of commits.
#[derive(Clone, Debug)]
pub struct CommitResult {
    /// Time of each commit as its client sees it.
    pub latency: Histogram,
    /// How often the target was synced; fewer than commits where they are grouped.
    pub syncs: u64,
    /// The measured time.
    pub elapsed: Duration,
    /// The page cache was bypassed.
    pub direct: bool,
}

/// Why commits could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitError {
    /// The kernel's error.
    pub errno: i32,
    /// The operation.
    pub operation: &'static str,
}

impl std::fmt::Display for CommitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let error = std::io::Error::from_raw_os_error(self.errno);
        write!(f, "{}: {error}", self.operation)
    }
}

impl std::error::Error for CommitError {}

fn failed(operation: &'static str) -> impl Fn(Errno) -> CommitError {
    move |errno| CommitError {
        errno: errno.raw_os_error(),
        operation,
    }
}

/// Writes at the start of a file, and syncs it. One at a time.
struct Committer {
    file: OwnedFd,
    method: CommitMethod,
    ring: Option<IoUring>,
    buffer: Box<[u8]>,
    aligned: usize,
    direct: bool,
}

impl Committer {
    /// A committer of at most `longest` bytes.
    fn open(
        target: &HeldTarget,
        method: CommitMethod,
        size: usize,
        longest: usize,
    ) -> Result<Committer, CommitError> {
        let present = rustix::fs::fstat(target.as_fd())
            .map_err(failed("fstat"))?
            .st_size;
        // The permit covers the present size of the file.
        if u64::try_from(present).unwrap_or(0) < longest as u64 {
            return Err(failed("the file is too small")(Errno::INVAL));
        }
        let buffer = vec![0x5a_u8; longest + PAGE].into_boxed_slice();
        let aligned = buffer.as_ptr().align_offset(PAGE).min(PAGE);
        let ring = match method {
            CommitMethod::UringLinked => Some(IoUring::new(8).map_err(|error| CommitError {
                errno: error.raw_os_error().unwrap_or(libc::ENOSYS),
                operation: "io_uring_setup",
            })?),
            _ => None,
        };
        let mut flags = OFlags::RDWR | method.flags();
        let reopen = |flags| target.reopen(flags).map_err(failed("open"));
        let file = match target.reopen(flags) {
            Err(Errno::INVAL) if flags.contains(OFlags::DIRECT) => {
                flags -= OFlags::DIRECT;
                reopen(flags)?
            }
            opened => opened.map_err(failed("open"))?,
        };
        let mut committer = Committer {
            file,
            method,
            ring,
            buffer,
            aligned,
            direct: flags.contains(OFlags::DIRECT),
        };
        // A write that is smaller than a block of the device is not possible with direct I/O.
        match committer.commit(1, size) {
            Err(error) if error.errno == libc::EINVAL && committer.direct => {
                committer.file = reopen(flags - OFlags::DIRECT)?;
                committer.direct = false;
                committer.commit(1, size)?;
            }
            other => other?,
        }
        Ok(committer)
    }

    /// `writes` writes of `size` bytes each, one after the other in the file, and what makes them durable.
    fn commit(&mut self, writes: u32, size: usize) -> Result<(), CommitError> {
        if self.ring.is_some() {
            return self.commit_linked(writes, size);
        }
        for number in 0..writes as usize {
            let bytes = self
                .buffer
                .get(self.aligned..self.aligned + size)
                .ok_or(failed("the buffer is too small")(Errno::INVAL))?;
            let offset = (number * size) as u64;
            let written = if self.method == CommitMethod::RwfDsync {
                let slices = [std::io::IoSlice::new(bytes)];
                rustix::io::pwritev2(&self.file, &slices, offset, ReadWriteFlags::DSYNC)
                    .map_err(failed("pwritev2 with RWF_DSYNC"))?
            } else {
                rustix::io::pwrite(&self.file, bytes, offset).map_err(failed("write"))?
            };
            if written != size {
                return Err(failed("short write")(Errno::NOSPC));
            }
        }
        match self.method {
            CommitMethod::Fdatasync => {
                rustix::fs::fdatasync(&self.file).map_err(failed("fdatasync"))
            }
            CommitMethod::Fsync => rustix::fs::fsync(&self.file).map_err(failed("fsync")),
            _ => Ok(()),
        }
    }

    fn commit_linked(&mut self, writes: u32, size: usize) -> Result<(), CommitError> {
        let refused = |error: std::io::Error| CommitError {
            errno: error.raw_os_error().unwrap_or(libc::EIO),
            operation: "io_uring_enter",
        };
        let fd = types::Fd(self.file.as_raw_fd());
        let bytes = self
            .buffer
            .get(self.aligned..self.aligned + size)
            .ok_or(failed("the buffer is too small")(Errno::INVAL))?;
        let Some(ring) = &mut self.ring else {
            return Ok(());
        };
        let entries = writes as usize + 1;
        for number in 0..writes as usize {
            let write = opcode::Write::new(fd, bytes.as_ptr(), size as u32)
                .offset((number * size) as u64)
                .build()
                .flags(squeue::Flags::IO_LINK)
                .user_data(size as u64);
            // SAFETY: the buffer and the file belong to `self`; all completions are waited for below before either is used
            // again or dropped.
            unsafe { ring.submission().push(&write) }
                .map_err(|_| failed("the queue is full")(Errno::BUSY))?;
        }
        let sync = opcode::Fsync::new(fd)
            .flags(types::FsyncFlags::DATASYNC)
            .build()
            .user_data(0);
        // SAFETY: it has no buffer.
        unsafe { ring.submission().push(&sync) }
            .map_err(|_| failed("the queue is full")(Errno::BUSY))?;
        let mut done = 0;
        let mut outcome = Ok(());
        while done < entries {
            match ring.submit_and_wait(entries - done) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // Requests may still be in flight, so buffer and ring are never freed.
                    std::mem::forget(self.ring.take());
                    std::mem::forget(std::mem::take(&mut self.buffer));
                    return Err(refused(error));
                }
            }
            for entry in ring.completion() {
                done += 1;
                if entry.result() < 0 && outcome.is_ok() {
                    outcome = Err(CommitError {
                        errno: -entry.result(),
                        operation: "linked write and sync",
                    });
                } else if entry.result() as u64 != entry.user_data() && outcome.is_ok() {
                    outcome = Err(failed("short write")(Errno::NOSPC));
                }
            }
        }
        outcome
    }
}

/// Commits at the start of a held file for the time of `load`, or until `stop` returns true.
///
/// # Errors
/// When the method is not available, or an I/O fails.
pub fn measure_commits(
    target: &HeldTarget,
    load: &CommitLoad,
    stop: &dyn Fn() -> bool,
) -> Result<CommitResult, CommitError> {
    let size = load.size as usize;
    let longest = size * load.writes.max(1) as usize * load.clients.max(1) as usize;
    let committer = Committer::open(target, load.method, size, longest)?;
    if load.clients > 1 {
        grouped(committer, load, stop)
    } else {
        single(committer, load, stop)
    }
}

fn single(
    mut committer: Committer,
    load: &CommitLoad,
    stop: &dyn Fn() -> bool,
) -> Result<CommitResult, CommitError> {
    let mut latency = Histogram::new();
    let started = Instant::now();
    let mut now = started;
    while now - started < load.time && !stop() {
        committer.commit(load.writes, load.size as usize)?;
        let after = Instant::now();
        latency.record((after - now).as_nanos() as u64);
        now = after;
    }
    Ok(CommitResult {
        syncs: latency.count(),
        latency,
        elapsed: now - started,
        direct: committer.direct,
    })
}

/// What the clients of a group share.
struct Group {
    /// Commits that clients have asked for, and that are durable.
    asked: u64,
    durable: u64,
    /// The one who writes for all takes it.
    committer: Option<Committer>,
    syncs: u64,
    error: Option<CommitError>,
}

/// Group commit: who finds no sync in progress becomes the leader, and writes and syncs for everyone who waits.
fn grouped(
    committer: Committer,
    load: &CommitLoad,
    stop: &dyn Fn() -> bool,
) -> Result<CommitResult, CommitError> {
    let direct = committer.direct;
    let group = Mutex::new(Group {
        asked: 0,
        durable: 0,
        committer: Some(committer),
        syncs: 0,
        error: None,
    });
    let synced = Condvar::new();
    let over = AtomicBool::new(false);
    let started = Instant::now();
    let latency = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.clients)
            .map(|_| scope.spawn(|| client(&group, &synced, &over, load)))
            .collect();
        while started.elapsed() < load.time
            && !stop()
            && clients.iter().any(|client| !client.is_finished())
        {
            std::thread::sleep(POLL);
        }
        over.store(true, Relaxed);
        let mut all = Histogram::new();
        for client in clients {
            if let Ok(latency) = client.join() {
                all.merge(&latency);
            }
        }
        all
    });
    let elapsed = started.elapsed();
    let group = group.into_inner().unwrap_or_else(PoisonError::into_inner);
    match group.error {
        Some(error) => Err(error),
        None => Ok(CommitResult {
            latency,
            syncs: group.syncs,
            elapsed,
            direct,
        }),
    }
}

fn client(
    group: &Mutex<Group>,
    synced: &Condvar,
    over: &AtomicBool,
    load: &CommitLoad,
) -> Histogram {
    let mut latency = Histogram::new();
    while !over.load(Relaxed) {
        let begun = Instant::now();
        let mut shared = group.lock().unwrap_or_else(PoisonError::into_inner);
        shared.asked += 1;
        let mine = shared.asked;
        while shared.durable < mine && shared.error.is_none() {
            let Some(mut committer) = shared.committer.take() else {
                shared = synced.wait(shared).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (from, to) = (shared.durable, shared.asked);
            drop(shared);
            let written = committer.commit_group(load, to - from);
            shared = group.lock().unwrap_or_else(PoisonError::into_inner);
            shared.committer = Some(committer);
            match written {
                Ok(()) => {
                    shared.durable = to;
                    shared.syncs += 1;
                }
                Err(error) => shared.error = Some(error),
            }
            synced.notify_all();
        }
        if shared.error.is_some() {
            break;
        }
        drop(shared);
        latency.record(begun.elapsed().as_nanos() as u64);
    }
    latency
}

impl Committer {
    /// The commits of `clients` clients as one write each, `writes` times as long, and one sync.
    fn commit_group(&mut self, load: &CommitLoad, clients: u64) -> Result<(), CommitError> {
        self.commit(load.writes, load.size as usize * clients as usize)
    }
}
