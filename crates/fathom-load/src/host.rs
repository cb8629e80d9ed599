//! The interface to the machine: files, engines, clocks, counters.

use std::fmt;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use fathom_model::{
    Bytes, Credentials, DiskCounters, Fallocate, FileOperation, Nanos, Numa, Program, Usage,
};

use crate::clock::Clock;
use crate::engine::{EngineError, EngineRequest, EngineUser};

/// A changed machine setting that is restored when this is dropped.
pub type Restore = Box<dyn std::any::Any>;

/// An anonymous file that is removed when it is dropped.
pub trait Scratch: Read + Write + Seek + Send {}
impl<T: Read + Write + Seek + Send> Scratch for T {}

/// What a new thread of a run does.
pub trait ThreadBody: Send + 'static {
    /// Runs it in the new thread; `host` is the machine as that thread sees it.
    fn run<H: Host>(self, host: &Arc<H>);
}

/// A thread that a host started.
pub trait RunningThread {
    /// Whether it has ended, also by a panic.
    fn is_finished(&self) -> bool;
}

impl RunningThread for JoinHandle<()> {
    fn is_finished(&self) -> bool {
        JoinHandle::is_finished(self)
    }
}

/// Bytes of the stack of a thread of a run.
pub const THREAD_STACK_SIZE: usize = 1 << 20;

/// Starts a thread of the operating system: [`Host::spawn`] of a host with real threads.
///
/// # Errors
/// If the system starts no more threads.
pub fn spawn_thread<H: Host + Send + Sync + 'static>(
    host: &Arc<H>,
    name: &str,
    body: impl ThreadBody,
) -> io::Result<Box<dyn RunningThread>> {
    /// The kernel keeps this many bytes of a name.
    const MAX_NAME_LEN: usize = 15;
    let name = name.chars().filter(|c| *c != '\0').take(MAX_NAME_LEN);
    let host = Arc::clone(host);
    let thread = std::thread::Builder::new()
        .name(name.collect())
        .stack_size(THREAD_STACK_SIZE)
        .spawn(move || body.run(&host))?;
    Ok(Box::new(thread))
}

/// The machine, or a model of one.
pub trait Host {
    /// Its clock.
    type Clock: Clock;

    /// Starts a thread of the run. In virtual time it gets its first turn when the calling thread waits.
    ///
    /// # Errors
    /// If the machine starts no more threads.
    fn spawn(
        self: &Arc<Self>,
        name: &str,
        body: impl ThreadBody,
    ) -> io::Result<Box<dyn RunningThread>>;

    /// The clock of this run.
    fn clock(&self) -> Self::Clock;

    /// The files are ready and the load begins. All times of the recording are relative to `zero` of this clock, and so must be those of
    /// what the host observes beside the load.
    fn begin_load(&self, _zero: Nanos) {}

    /// Brings a file into the state that a job needs, or checks that it is. Devices and files that
    /// are large enough are left unchanged. Calls `progress` with the bytes written so far.
    ///
    /// # Errors
    /// If the file is missing and may not be created, or cannot be filled.
    fn lay_out(
        &self,
        file: &LayOut,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError>;

    /// Prepares a path for a file-operation engine: a file that the engine inspects or removes is
    /// created first, as `file` specifies, and nothing is held open. An existing file is only
    /// removed later, and only where the guard permits it.
    ///
    /// # Errors
    /// If it may not or cannot be created.
    fn prepare_operation(
        &self,
        operation: FileOperation,
        file: &LayOut,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
        let _ = operation;
        self.lay_out(file, stop, progress)
    }

    /// Current size of a target, by its open descriptor where there is one.
    ///
    /// # Errors
    /// If the size cannot be determined.
    fn size_now(&self, path: &Path) -> Result<Bytes, HostError>;

    /// Opens the files, creates the engine and runs `user` on it. If the engine is unavailable and
    /// the user did not name it, another engine is used and `user` receives the reason.
    ///
    /// # Errors
    /// If no engine or file is available.
    fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError>;

    /// Runs `user` on an engine that completes at once and transfers nothing, but has the
    /// submission cost of the requested engine.
    ///
    /// # Errors
    /// If it is unavailable.
    fn with_noop<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError>;

    /// Finishes a file: fsync if requested, unlink if requested (only files that this run created).
    ///
    /// # Errors
    /// If fsync or unlink fails.
    fn finish(&self, path: &Path, fsync: bool, unlink: bool) -> Result<(), HostError>;

    /// Whether the targets keep what is written. If not, no content is made for writes.
    fn keeps_data(&self) -> bool {
        true
    }

    /// Whether a target is a character device such as /dev/null, which has no size.
    fn is_character_device(&self, _path: &Path) -> bool {
        false
    }

    /// Removes the data of a file between two passes (`unlink_each_loop`), if this run created the
    /// file. Any other file stays as it is.
    ///
    /// # Errors
    /// If the file cannot be truncated.
    fn empty_file(&self, _path: &Path) -> Result<(), HostError> {
        Ok(())
    }

    /// Binds the calling thread to CPUs and sets its nice value.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn bind_cpus(&self, cpus: &[u32], nice: Option<i32>) -> Result<(), HostError>;

    /// Sets the I/O priority of the calling thread, in the encoding of ioprio_set(2).
    ///
    /// # Errors
    /// If the kernel refuses.
    fn set_io_priority(&self, prio: u16) -> Result<(), HostError>;

    /// Binds the calling thread and its memory to NUMA nodes.
    ///
    /// # Errors
    /// If a node does not exist, or the kernel refuses.
    fn bind_numa(&self, numa: &Numa) -> Result<(), HostError>;

    /// Sets the name and the credentials of the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn set_credentials(&self, _credentials: &Credentials) -> Result<(), HostError> {
        Ok(())
    }

    /// syncfs(2) of the file system that a file is on.
    ///
    /// # Errors
    /// If it fails.
    fn sync_file_system(&self, _path: &Path) -> Result<(), HostError> {
        Ok(())
    }

    /// Runs a shell command of the user; its output goes to the file `output`.
    ///
    /// # Errors
    /// If it cannot be run or does not exit successfully.
    fn command(&self, line: &str, output: &Path) -> Result<(), HostError>;

    /// Saves `bytes` under this name in the output directory of the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn save_output(&self, _name: &str, _bytes: &[u8]) -> Result<(), HostError> {
        Ok(())
    }

    /// Whether the progress of verified writes is to be saved with [`Host::save_output`] while the run
    /// lasts.
    fn saves_progress(&self) -> bool {
        false
    }

    /// Locks this much memory (mlock(2)) until the returned guard is dropped.
    ///
    /// # Errors
    /// If there is not enough memory, or it may not be locked.
    fn lock_memory(&self, _bytes: u64) -> Result<Restore, HostError> {
        Ok(Box::new(()))
    }

    /// Changes the I/O scheduler of the devices below these targets until the returned guard is
    /// dropped.
    ///
    /// # Errors
    /// If a target has no device with such a scheduler, or it may not be changed.
    fn set_io_schedulers(&self, _wanted: &[(PathBuf, String)]) -> Result<Restore, HostError> {
        Ok(Box::new(()))
    }

    /// Runs a program until it exits or `stop` returns true. Returns how it exited if it did so on
    /// its own. Its output goes to `name.stdout` and `name.stderr`.
    ///
    /// # Errors
    /// If it cannot be started or its output cannot be written.
    fn run_program(
        &self,
        _program: &Program,
        _name: &str,
        _stop: &dyn Fn() -> bool,
    ) -> Result<Option<String>, HostError> {
        Ok(None)
    }

    /// Id of the calling thread.
    fn thread_id(&self) -> u32;

    /// CPU time of the calling thread so far.
    fn usage(&self) -> Usage;

    /// Content of a small file that a pattern names.
    ///
    /// # Errors
    /// If it cannot be read, or is larger than 16 MiB.
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// An identifier of a target: the same path gives the same number in every run.
    fn target_id(&self, path: &Path) -> u32 {
        crate::verify::name_hash(path)
    }

    /// A private file for data that a long run must not keep in memory, deleted when it is dropped.
    ///
    /// # Errors
    /// If it cannot be created; the run then continues in memory.
    fn scratch(&self) -> io::Result<Box<dyn Scratch>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Bytes that the notes of a run may take, for its intervals and for its verification each: at most
    /// [`LARGEST_MEMORY_BUDGET`], less where a limit leaves less memory.
    fn memory_budget(&self) -> u64 {
        LARGEST_MEMORY_BUDGET
    }

    /// Counters of the block devices below these targets, by kernel name.
    fn disks(&self, targets: &[PathBuf]) -> Vec<(String, DiskCounters)>;
}

/// The largest memory budget.
pub const LARGEST_MEMORY_BUDGET: u64 = 64 << 20;

/// The state into which a file must be brought.
#[derive(Clone, Debug)]
pub struct LayOut {
    /// The path.
    pub path: PathBuf,
    /// Requested size; zero leaves it unchanged.
    pub size: Bytes,
    /// It will be read, or overwritten in place: every byte up to `size` must have been written
    /// (with incompressible data).
    pub content: bool,
    /// It will be written or trimmed.
    pub writes: bool,
    /// It may be created, with missing directories.
    pub create: bool,
    /// Space reservation for a file that will only be written.
    pub fallocate: Fallocate,
    /// fsync after filling.
    pub fsync: bool,
    /// Drop the range from the page cache.
    pub invalidate: Option<(u64, u64)>,
    /// Read the file once.
    pub pre_read: bool,
    /// Seed of the data.
    pub seed: u64,
}

/// The properties of a prepared file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Its size.
    pub size: Bytes,
    /// Logical block size that direct I/O must be aligned to; 1 when unknown or buffered.
    pub alignment: u32,
    /// It is a block device.
    pub block_device: bool,
    /// This run created it.
    pub created: bool,
    /// Bytes written to lay it out.
    pub laid_out: Bytes,
}

/// Why an operation of the machine failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// errno.
    pub errno: i32,
    /// The failed action, the object, and how to fix it.
    pub what: String,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({})",
            self.what,
            io::Error::from_raw_os_error(self.errno)
        )
    }
}

impl std::error::Error for HostError {}
