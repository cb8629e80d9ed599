//! The machine that a load runs on: its files, disks, threads and signals.
//!
//! Every target was judged and opened by [`crate::hold`] and is accessed by that descriptor; no
//! path is resolved twice. Missing files are created under the same rules when they are laid out or
//! opened.

mod atomic_write;
mod block_map;
mod cache;
mod conditions;
mod disks;
mod error;
mod extents;
mod fill;
mod idle;
mod kernel;
mod layout;
mod open;
mod operation;
mod program;
mod reserve;
mod scratch;
mod signal;
mod target;
mod temporary;
mod thread_setup;
mod usage;
mod watch;

use std::collections::HashMap;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use fathom_load::{
    EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError, LARGEST_MEMORY_BUDGET,
    LayOut, NullEngine, Restore, RunningThread, Scratch, ThreadBody, spawn_thread,
};
use fathom_model::{Bytes, DiskCounters, EngineKind, FileOperation, Nanos, Program, Usage};

use self::disks::Disks;
use self::error::failed;
use self::target::{Kind, Targets};
use crate::clock::LinuxClock;
use crate::control_groups::ControlGroups;
use crate::engines::{EngineFile, make_engine, make_noop_ring, make_operation_engine};
use crate::probe::{HeldTarget, HoldError, ProbeError};

pub use self::block_map::{BlockMap, SectorRange};
pub(crate) use self::disks::block_devices;

pub use self::cache::{CacheState, DirectIo, cache_state, direct_io};
pub use self::conditions::ConditionsWatch;
pub(crate) use self::conditions::{group_limits, pressure_total};
pub use self::extents::written_share;
pub use self::idle::{IdleWatch, idle_calibration};
pub use self::signal::{dump_requests, end_with_parent, interrupts};
pub use self::usage::{host_cpus, host_memory};
pub use self::watch::HostWatch;

/// The memory budget is at most one part in this many of what a control group has left: buffers and results need memory too.
const BUDGET_SHARE: u64 = 8;
const LEAST_BUDGET: u64 = 1 << 20;

/// This machine.
#[derive(Debug)]
pub struct LinuxHost {
    clock: LinuxClock,
    targets: Targets,
    /// What the file-operation engines work on.
    prepared: operation::Prepared,
    /// Sizes of the images of the run, by their names as targets, bytes.
    images: Mutex<HashMap<PathBuf, u64>>,
    scratch: Option<PathBuf>,
    /// Directory for the files that a run writes besides its targets.
    aux_directory: PathBuf,
    /// When the load began, on the clock.
    load_start: OnceLock<Nanos>,
}

impl LinuxHost {
    /// A host without targets. Missing files may be created.
    #[must_use]
    pub fn new(clock: LinuxClock) -> Self {
        Self {
            clock,
            targets: Targets::default(),
            prepared: operation::Prepared::default(),
            images: Mutex::default(),
            scratch: None,
            aux_directory: PathBuf::new(),
            load_start: OnceLock::new(),
        }
    }

    /// When the load began, on the clock of the host; zero before it has begun.
    #[must_use]
    pub fn load_start(&self) -> Nanos {
        self.load_start.get().copied().unwrap_or_default()
    }

    /// Sets the directory (`TMPDIR`) of temporary files for data of a long run that does not fit in
    /// memory.
    #[must_use]
    pub fn with_scratch(self, directory: PathBuf) -> Self {
        Self {
            scratch: Some(directory),
            ..self
        }
    }

    /// Sets the directory (`--aux-path`) for files that a run writes besides its targets, instead
    /// of the current one.
    #[must_use]
    pub fn with_aux_directory(self, directory: PathBuf) -> Self {
        Self {
            aux_directory: directory,
            ..self
        }
    }

    /// Adds a target; the plan refers to it by the name under which it was examined. `created`
    /// means that [`crate::hold`] created it for this run: only such files are ever removed.
    ///
    /// # Errors
    /// If it is neither a file nor a device.
    pub fn add(&self, held: HeldTarget, created: bool) -> Result<(), HostError> {
        self.targets.add(held, created)
    }

    /// Adds an image of this size, bytes, by its name as a target ([`fathom_model::RbdImage::target`]).
    pub fn add_image(&self, target: PathBuf, size: u64) {
        self.lock_images().insert(target, size);
    }

    fn lock_images(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals the marks of all files and releases all targets. Call it when every engine has ended.
    /// Targets still in use then stay unsealed: if they were written, a later run needs a code for
    /// them.
    ///
    /// # Errors
    /// The error of the first mark that cannot be written.
    pub fn release(&self) -> Result<(), ProbeError> {
        self.targets.release()
    }

    /// Checks the devices and files being written again during a run. The run must stop if one has
    /// changed, or if somebody else uses it.
    ///
    /// # Errors
    /// What has changed.
    pub fn recheck(&self) -> Result<(), HoldError> {
        self.targets.recheck()
    }

    fn open(&self, request: &EngineRequest<'_>) -> Result<Vec<EngineFile>, EngineError> {
        if !request.spec.kind.has_targets() {
            return Ok(Vec::new());
        }
        let opened = request.files.iter().map(|file| {
            let opened = open::open(&self.targets, file, request.spec.kind)?;
            thread_setup::hint_life(
                opened.fd.as_fd(),
                &file.path,
                request.spec.settings.write_hint.filter(|_| file.writes),
            )?;
            let atomic_write = file.writes && request.spec.settings.atomic;
            if atomic_write {
                atomic_write::check(&opened.fd, &file.path, request.buffer_size).map(|()| opened)
            } else {
                Ok(opened)
            }
        });
        opened.collect::<Result<_, _>>().map_err(engine_error)
    }
}

fn engine_error(error: HostError) -> EngineError {
    EngineError {
        errno: error.errno,
        what: error.what,
    }
}

impl Host for LinuxHost {
    type Clock = LinuxClock;

    fn spawn(
        self: &Arc<Self>,
        name: &str,
        body: impl ThreadBody,
    ) -> std::io::Result<Box<dyn RunningThread>> {
        spawn_thread(self, name, body)
    }

    fn clock(&self) -> LinuxClock {
        self.clock
    }

    fn begin_load(&self, zero: Nanos) {
        let _ = self.load_start.set(zero);
    }

    fn lay_out(
        &self,
        file: &LayOut,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
        layout::lay_out(&self.targets, file, stop, progress)
    }

    fn prepare_operation(
        &self,
        operation: FileOperation,
        file: &LayOut,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
        operation::prepare(
            &self.targets,
            &self.prepared,
            operation,
            file,
            stop,
            progress,
        )
    }

    fn scratch(&self) -> std::io::Result<Box<dyn Scratch>> {
        scratch::file(self.scratch.as_deref())
    }

    fn memory_budget(&self) -> u64 {
        let left = ControlGroups::own().memory_left().unwrap_or(u64::MAX);
        (left / BUDGET_SHARE).clamp(LEAST_BUDGET, LARGEST_MEMORY_BUDGET)
    }

    fn size_now(&self, path: &Path) -> Result<Bytes, HostError> {
        if let Some(&size) = self.lock_images().get(path) {
            return Ok(Bytes::new(size));
        }
        let size = match self.targets.get(path) {
            Some(target) => target.size(),
            None => std::fs::metadata(path).map(|facts| facts.len()),
        };
        size.map(Bytes::new)
            .map_err(|error| failed("ask the size of", path, &error))
    }

    fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        if let Some(operation) = request.spec.kind.file_operation() {
            let entries = request
                .files
                .iter()
                .map(|file| self.prepared.entry(&file.path))
                .collect::<Result<_, HostError>>()
                .map_err(engine_error)?;
            return make_operation_engine(request, operation, entries, user);
        }
        make_engine(request, self.open(request)?, user)
    }

    fn with_noop<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        match request.spec.kind {
            EngineKind::IoUring => make_noop_ring(request.depth, request.buffer_size, user),
            kind => {
                let depth = if kind.is_synchronous() && request.spec.is_synchronous() {
                    1
                } else {
                    request.depth
                };
                Ok(user.run(
                    NullEngine::new(depth, request.buffer_size, &[])?,
                    "null",
                    None,
                ))
            }
        }
    }

    fn finish(&self, path: &Path, fsync: bool, unlink: bool) -> Result<(), HostError> {
        let Some(target) = self.targets.get(path) else {
            return Ok(());
        };
        if fsync && target.kind() != Kind::Char {
            rustix::fs::fsync(&*target).map_err(|error| failed("fsync", path, &error.into()))?;
        }
        if unlink {
            self.targets.remove(&target)
        } else {
            Ok(())
        }
    }

    fn is_character_device(&self, path: &Path) -> bool {
        self.targets
            .get(path)
            .is_some_and(|target| target.kind() == Kind::Char)
    }

    fn empty_file(&self, path: &Path) -> Result<(), HostError> {
        let Some(target) = self.targets.get(path).filter(|target| target.created()) else {
            return Ok(());
        };
        let truncate = || {
            let fd = target.reopen(rustix::fs::OFlags::RDWR)?;
            rustix::fs::ftruncate(fd, 0)
        };
        truncate().map_err(|error| failed("truncate", path, &error.into()))
    }

    fn bind_cpus(&self, cpus: &[u32], nice: Option<i32>) -> Result<(), HostError> {
        usage::bind_cpus(cpus)?;
        nice.map_or(Ok(()), usage::set_nice)
    }

    fn bind_numa(&self, numa: &fathom_model::Numa) -> Result<(), HostError> {
        thread_setup::bind_numa(numa)
    }

    fn set_credentials(&self, credentials: &fathom_model::Credentials) -> Result<(), HostError> {
        thread_setup::act_as(credentials)
    }

    fn sync_file_system(&self, path: &Path) -> Result<(), HostError> {
        let Some(target) = self.targets.get(path) else {
            return Ok(());
        };
        rustix::fs::syncfs(&*target).map_err(|error| failed("syncfs", path, &error.into()))
    }

    fn command(&self, line: &str, output: &Path) -> Result<(), HostError> {
        thread_setup::command(line, output)
    }

    fn save_output(&self, name: &str, bytes: &[u8]) -> Result<(), HostError> {
        save_in(&self.aux_directory, name, bytes)
    }

    fn saves_progress(&self) -> bool {
        self.aux_directory != Path::new("")
    }

    fn lock_memory(&self, bytes: u64) -> Result<Restore, HostError> {
        Ok(Box::new(temporary::pin(bytes)?))
    }

    fn set_io_schedulers(&self, wanted: &[(PathBuf, String)]) -> Result<Restore, HostError> {
        Ok(Box::new(temporary::schedule(&self.targets, wanted)?))
    }

    fn run_program(
        &self,
        program: &Program,
        name: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<String>, HostError> {
        program::run_program(program, name, stop)
    }

    fn set_io_priority(&self, prio: u16) -> Result<(), HostError> {
        usage::prioritise(prio)
    }

    fn thread_id(&self) -> u32 {
        rustix::thread::gettid()
            .as_raw_nonzero()
            .get()
            .unsigned_abs()
    }

    fn usage(&self) -> Usage {
        usage::usage()
    }

    fn read_file(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        read_small(path)
    }

    fn disks(&self, targets: &[PathBuf]) -> Vec<(String, DiskCounters)> {
        let mut disks = Disks::default();
        for path in targets {
            match self.targets.get(path) {
                Some(target) => disks.add_open(target.as_fd()),
                None => disks.add_path(path),
            }
        }
        disks.into_found()
    }
}

/// Saves what a run found in the directory of its files.
///
/// # Errors
/// If the file cannot be written.
pub fn save_in(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), HostError> {
    let path = directory.join(name);
    crate::Outputs::default()
        .write(&path, crate::OutputName::Implicit, bytes)
        .map_err(|error| failed("write", &path, &error.into()))
}

/// Contents of a file of at most 16 MiB, such as that of a pattern; a pipe without a writer does not block.
///
/// # Errors
/// If it cannot be read or is larger.
pub fn read_small(path: &Path) -> std::io::Result<Vec<u8>> {
    const MAX_BYTES: u64 = 16 << 20;
    let file = std::fs::File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        Err(std::io::ErrorKind::FileTooLarge.into())
    } else {
        Ok(content)
    }
}
