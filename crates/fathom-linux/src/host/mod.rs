//! The machine a load runs on: its files, disks, threads and signals.
//!
//! Every target was judged and opened by [`crate::hold`] and is known by that descriptor; no path is resolved twice. Files
//! that do not exist yet are created under the same rules when they are laid out or opened.

mod accompany;
mod atomic_write;
mod cache;
mod conditions;
mod disks;
mod error;
mod extents;
mod fill;
mod idle;
mod kept;
mod kernel;
mod layout;
mod open;
mod operation;
mod place;
mod reserve;
mod scratch;
mod signal;
mod target;
mod usage;
mod watch;

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fathom_load::{
    EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError, LayOut, NullEngine,
    Restore, Scratch,
};
use fathom_model::{Bytes, DiskCounters, EngineKind, FileOperation, Program, Usage};

use self::disks::Disks;
use self::error::failed;
use self::target::{Kind, Targets};
use crate::clock::LinuxClock;
use crate::engines::{EngineFile, make_engine, make_noop_ring};
use crate::probe::{Held, ProbeError};

pub use self::cache::{CacheState, DirectIo, cache_state, direct_io};
pub use self::conditions::ConditionsWatch;
pub use self::extents::written_share;
pub use self::idle::{IdleWatch, idle_calibration};
pub use self::signal::{dump_requests, end_with_parent, interrupts};
pub use self::watch::HostWatch;

/// This machine.
#[derive(Debug)]
pub struct LinuxHost {
    clock: LinuxClock,
    targets: Targets,
    scratch: Option<PathBuf>,
    /// Where a run leaves files behind.
    beside: PathBuf,
}

impl LinuxHost {
    /// A host without targets; files that do not exist yet may be created.
    #[must_use]
    pub fn new(clock: LinuxClock) -> Self {
        Self {
            clock,
            targets: Targets::default(),
            scratch: None,
            beside: PathBuf::new(),
        }
    }

    /// Keeps what a long run cannot hold in memory in a file under `folder` (of the user's choice: `TMPDIR`).
    #[must_use]
    pub fn with_scratch(self, folder: PathBuf) -> Self {
        Self {
            scratch: Some(folder),
            ..self
        }
    }

    /// Leaves what a run leaves behind in this folder (`--aux-path`) instead of the current one.
    #[must_use]
    pub fn with_folder(self, folder: PathBuf) -> Self {
        Self {
            beside: folder,
            ..self
        }
    }

    /// Takes over a target; the plan knows it by the name it was examined under. `created` says that [`crate::hold`] created
    /// it for this run: only such files are ever removed.
    ///
    /// # Errors
    /// When it is neither file nor device.
    pub fn add(&self, held: Held, created: bool) -> Result<(), HostError> {
        self.targets.add(held, created)
    }

    /// Seals the marks of all files and lets go of all targets. To be called when every engine has ended; targets in use
    /// by then stay unsealed, which a later run takes for its own all the same.
    ///
    /// # Errors
    /// The first mark that cannot be written.
    pub fn release(&self) -> Result<(), ProbeError> {
        self.targets.release()
    }

    /// Looks again, during a run, at the block devices that are written: the run is to stop when one has changed.
    ///
    /// # Errors
    /// What has changed, in words.
    pub fn recheck(&self) -> Result<(), String> {
        self.targets.recheck().map_err(|error| error.to_string())
    }

    fn open(&self, request: &EngineRequest<'_>) -> Result<Vec<EngineFile>, EngineError> {
        if !request.spec.kind.has_targets() || request.spec.kind.file_operation().is_some() {
            return Ok(Vec::new());
        }
        let opened = request.files.iter().map(|file| {
            let opened = open::open(&self.targets, file, request.spec.kind)?;
            place::hint_life(
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
        opened
            .collect::<Result<_, _>>()
            .map_err(|error: HostError| EngineError {
                errno: error.errno,
                what: error.what,
            })
    }
}

impl Host for LinuxHost {
    type Clock = LinuxClock;

    fn clock(&self) -> LinuxClock {
        self.clock
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
        operation::prepare(&self.targets, operation, file, stop, progress)
    }

    fn scratch(&self) -> std::io::Result<Box<dyn Scratch>> {
        scratch::file(self.scratch.as_deref())
    }

    fn size_now(&self, path: &Path) -> Result<Bytes, HostError> {
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

    fn bind_cpus(&self, cpus: &[u32], nice: Option<i32>) -> Result<(), HostError> {
        usage::bind(cpus)?;
        nice.map_or(Ok(()), usage::be_nice)
    }

    fn bind_numa(&self, numa: &fathom_model::Numa) -> Result<(), HostError> {
        place::place(numa)
    }

    fn set_credentials(&self, person: &fathom_model::Credentials) -> Result<(), HostError> {
        place::act_as(person)
    }

    fn sync_file_system(&self, path: &Path) -> Result<(), HostError> {
        let Some(target) = self.targets.get(path) else {
            return Ok(());
        };
        rustix::fs::syncfs(&*target).map_err(|error| failed("syncfs", path, &error.into()))
    }

    fn command(&self, line: &str, output: &Path) -> Result<(), HostError> {
        place::command(line, output)
    }

    fn save_output(&self, name: &str, bytes: &[u8]) -> Result<(), HostError> {
        let path = self.beside.join(name);
        std::fs::write(&path, bytes).map_err(|error| failed("write", &path, &error))
    }

    fn lock_memory(&self, bytes: u64) -> Result<Restore, HostError> {
        Ok(Box::new(kept::pin(bytes)?))
    }

    fn set_io_schedulers(&self, wanted: &[(PathBuf, String)]) -> Result<Restore, HostError> {
        Ok(Box::new(kept::schedule(&self.targets, wanted)?))
    }

    fn run_program(
        &self,
        program: &Program,
        name: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<String>, HostError> {
        accompany::accompany(program, name, stop)
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

/// Content of a file of at most 16 MiB; a pipe without a writer does not block.
fn read_small(path: &Path) -> std::io::Result<Vec<u8>> {
    const LARGEST: u64 = 16 << 20;
    let file = std::fs::File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let mut content = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        Err(std::io::ErrorKind::FileTooLarge.into())
    } else {
        Ok(content)
    }
}
