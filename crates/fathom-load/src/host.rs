//! What a load needs from the machine it runs on: files, engines, clocks, counters.

use std::fmt;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fathom_model::{
    Bytes, Credentials, DiskCounters, Fallocate, FileOperation, Numa, Program, Usage,
};

use crate::clock::Clock;
use crate::engine::{EngineError, EngineRequest, EngineUser};

/// Something about the machine that is put back when this is dropped.
pub type Kept = Box<dyn std::any::Any>;

/// An anonymous file that is removed when it is dropped.
pub trait Scratch: Read + Write + Seek + Send {}
impl<T: Read + Write + Seek + Send> Scratch for T {}

/// The machine, or a model of one.
pub trait Host: Sync {
    /// Its clock.
    type Clock: Clock;

    /// The clock of this run.
    fn clock(&self) -> Self::Clock;

    /// Brings a file into the state a job needs, or finds that it is.
    /// Devices and files that are large enough are left as they are. Calls `progress` with bytes written as it goes on.
    ///
    /// # Errors
    /// When the file is not there and may not be made, or cannot be filled.
    fn lay_out(
        &self,
        file: &LayOut,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError>;

    /// Gets a path ready for a file-operation engine: what it looks at or removes is made first, as `file` says, and nothing
    /// is held open. What is there already is only removed later where the guard permits it.
    ///
    /// # Errors
    /// When it may not or cannot be made.
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

    /// Size of a target now, by its open descriptor where there is one.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn size_now(&self, path: &Path) -> Result<Bytes, HostError>;

    /// Opens the files, makes the engine, runs `user` on it. When the engine is not to be had and was not named by the
    /// user, another stands in and `user` is told why.
    ///
    /// # Errors
    /// When no engine or file can be had.
    fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError>;

    /// Runs `user` on an engine that answers at once and moves nothing, but costs what the asked one costs to drive.
    ///
    /// # Errors
    /// When it cannot be had.
    fn with_noop<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError>;

    /// Ends the life of a file: fsync where asked, unlink where asked (only files this run created).
    ///
    /// # Errors
    /// When fsync or unlink fails.
    fn finish(&self, path: &Path, fsync: bool, unlink: bool) -> Result<(), HostError>;

    /// Binds the calling thread to CPUs and gives it a nice value.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn settle(&self, cpus: &[u32], nice: Option<i32>) -> Result<(), HostError>;

    /// Gives the I/O of the calling thread a priority, in the encoding of ioprio_set(2).
    ///
    /// # Errors
    /// When the kernel refuses.
    fn prioritise(&self, prio: u16) -> Result<(), HostError>;

    /// Binds the calling thread and its memory to NUMA nodes.
    ///
    /// # Errors
    /// When there are no such nodes, or the kernel refuses.
    fn place(&self, numa: &Numa) -> Result<(), HostError>;

    /// Makes the calling thread somebody: its name, and whose rights it has from now on.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn act_as(&self, _person: &Credentials) -> Result<(), HostError> {
        Ok(())
    }

    /// syncfs(2) of the file system that a file is on.
    ///
    /// # Errors
    /// When it fails.
    fn sync_file_system(&self, _path: &Path) -> Result<(), HostError> {
        Ok(())
    }

    /// Runs a shell command of the user; what it says goes to the file `output`.
    ///
    /// # Errors
    /// When it cannot be run or ends with anything but success.
    fn command(&self, line: &str, output: &Path) -> Result<(), HostError>;

    /// Saves `bytes` under this name in the folder of what a run leaves behind.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn leave(&self, _name: &str, _bytes: &[u8]) -> Result<(), HostError> {
        Ok(())
    }

    /// Takes memory from everyone else until what is returned is dropped (mlock(2)).
    ///
    /// # Errors
    /// When there is not so much, or it may not be locked.
    fn pin(&self, _bytes: u64) -> Result<Kept, HostError> {
        Ok(Box::new(()))
    }

    /// Gives the devices below these targets another I/O scheduler each until what is returned is dropped.
    ///
    /// # Errors
    /// When a target has no device with such a scheduler, or it may not be changed.
    fn schedule(&self, _wanted: &[(PathBuf, String)]) -> Result<Kept, HostError> {
        Ok(Box::new(()))
    }

    /// Runs a program until it ends or `stop` says so, and tells how it ended if that was by itself. What it says goes into
    /// `name.stdout` and `name.stderr`.
    ///
    /// # Errors
    /// When it cannot be started or its output has no place.
    fn accompany(
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
    /// When it cannot be read, or is larger than 16 MiB.
    fn read_file(&self, path: &Path) -> std::io::Result<Vec<u8>>;

    /// A number for the full name of a target: the same name gives the same number in every run.
    fn name_of(&self, path: &Path) -> u32 {
        crate::verify::name_hash(path)
    }

    /// A file for what a long run must not keep in memory, seen by nobody else and gone when it is dropped.
    ///
    /// # Errors
    /// When there is no place for it; the run goes on in memory.
    fn scratch(&self) -> std::io::Result<Box<dyn Scratch>> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Counters of the block devices below these targets, by kernel name.
    fn disks(&self, targets: &[PathBuf]) -> Vec<(String, DiskCounters)>;
}

/// What state a file must be brought into.
#[derive(Clone, Debug)]
pub struct LayOut {
    /// Which.
    pub path: PathBuf,
    /// Size wanted; zero leaves it as it is.
    pub size: Bytes,
    /// It will be read, or overwritten in place: every byte up to `size` must have been written (with incompressible data).
    pub content: bool,
    /// It will be written or trimmed.
    pub writes: bool,
    /// It may be created, with missing folders.
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

/// A file that is ready.
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

/// Why the machine could not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// errno.
    pub errno: i32,
    /// What, where, and how to mend it.
    pub what: String,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({})",
            self.what,
            std::io::Error::from_raw_os_error(self.errno)
        )
    }
}

impl std::error::Error for HostError {}
