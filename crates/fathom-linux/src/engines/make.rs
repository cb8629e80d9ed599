//! Creates the requested engine, or a fallback if it is not available.

use std::sync::Arc;

use fathom_load::{Engine, EngineError, EngineRequest, EngineUser, NullEngine};
use fathom_model::{EngineKind, EngineSettings, FileOperation};

use super::aio::AioEngine;
use super::allocate::{Reserve, Truncate};
use super::file::EngineFile;
use super::mmap;
use super::operation::{Directories, DirectoryEntry, OperationEngine};
use super::page_fault;
use super::pool::PoolEngine;
use super::rbd::RbdEngine;
use super::splice::Splice;
use super::sync::{
    Call, Calls, Positioned, Seek, SyncEngine, Vectored, VectoredWithFlags, rw_flags,
};
use super::uring::UringEngine;
use super::vsync::VsyncEngine;
use crate::memory::Pages;

/// Creates the engine of `request` over `files`, the opened files of the request in the same order,
/// and runs `user` with it.
///
/// If io_uring or libaio is not available and the user did not request it by name, the next of
/// io_uring, libaio and posixaio replaces it, and `user` receives the reason. The engine belongs to
/// the calling thread.
///
/// # Errors
/// If the engine is not available: the reason and what to do.
pub fn make_engine<U: EngineUser>(
    request: &EngineRequest<'_>,
    files: Vec<EngineFile>,
    user: U,
) -> Result<U::Output, EngineError> {
    crate::memory::set_pages(if request.huge_pages {
        Pages::HugeWhereAvailable
    } else if request.spec.settings.pool_buffers {
        Pages::Pool
    } else {
        Pages::Ordinary
    });
    let parts = Parts {
        request,
        files: files.into(),
    };
    let settings = &request.spec.settings;
    if settings.offload && request.spec.kind.is_single_call() {
        return parts.run_boxed(parts.pool()?, user);
    }
    match request.spec.kind {
        EngineKind::Sync => parts.run_boxed_sync(Seek::new(parts.files.len()), user),
        EngineKind::Psync => parts.run_boxed_sync(Positioned, user),
        EngineKind::Pvsync => parts.run_boxed_sync(Vectored, user),
        EngineKind::Pvsync2 => {
            parts.run_boxed_sync(VectoredWithFlags(rw_flags(settings, true)), user)
        }
        EngineKind::Vsync => parts.run_boxed(parts.vsync()?, user),
        EngineKind::Mmap => parts.run_boxed(
            mmap::engine(parts.files(), request.files, request.buffer_size)?,
            user,
        ),
        EngineKind::PosixAio => parts.run_boxed(parts.pool()?, user),
        EngineKind::Null => parts.run(parts.null()?, user),
        EngineKind::PageFault => parts.run_boxed(
            page_fault::engine(request.files, request.buffer_size)?,
            user,
        ),
        EngineKind::Cpuio | EngineKind::Exec => Err(EngineError {
            errno: libc::EINVAL,
            what: format!("{} does no I/O", request.spec.kind.name()),
        }),
        EngineKind::Rbd => parts.run_boxed(RbdEngine::new(request)?, user),
        EngineKind::Libaio => parts.run_libaio(user, None),
        EngineKind::IoUring => parts.run_io_uring(user),
        EngineKind::Splice => parts.run_boxed_sync(Splice::new()?, user),
        EngineKind::Falloc => parts.run_boxed_sync(Reserve, user),
        EngineKind::Ftruncate => parts.run_boxed_sync(Truncate, user),
        kind @ (EngineKind::FileCreate
        | EngineKind::FileStat
        | EngineKind::FileDelete
        | EngineKind::DirCreate
        | EngineKind::DirStat
        | EngineKind::DirDelete) => {
            let operation = kind.file_operation().expect("each of these has one");
            let mut directories = Directories::default();
            let entries = request.files.iter().map(|file| {
                directories.entry(&file.path).map_err(|error| EngineError {
                    errno: error.raw_os_error(),
                    what: format!("cannot look up {}", file.path.display()),
                })
            });
            let entries = entries.collect::<Result<_, _>>()?;
            make_operation_engine(request, operation, entries, user)
        }
    }
}

/// As [`make_engine`], for an engine that works on directory entries.
pub(crate) fn make_operation_engine<U: EngineUser>(
    request: &EngineRequest<'_>,
    operation: FileOperation,
    entries: Vec<DirectoryEntry>,
    user: U,
) -> Result<U::Output, EngineError> {
    let engine: Box<dyn Engine> = Box::new(OperationEngine::new(request, operation, entries)?);
    Ok(user.run(engine, request.spec.kind.name(), None))
}

/// Runs `user` on an io_uring that only carries no-ops, to measure the load generator and the ring.
///
/// # Errors
/// If io_uring is not available.
pub fn make_noop_ring<U: EngineUser>(
    depth: u32,
    buffer_size: u32,
    user: U,
) -> Result<U::Output, EngineError> {
    Ok(user.run(UringEngine::noop(depth, buffer_size)?, "io_uring", None))
}

/// The inputs of every engine.
struct Parts<'a> {
    request: &'a EngineRequest<'a>,
    files: Arc<[EngineFile]>,
}

impl Parts<'_> {
    fn files(&self) -> Arc<[EngineFile]> {
        Arc::clone(&self.files)
    }

    fn run<E: Engine, U: EngineUser>(&self, engine: E, user: U) -> Result<U::Output, EngineError> {
        Ok(user.run(engine, self.request.spec.kind.name(), None))
    }

    /// For engines whose calls take much longer than one indirect call: they share one copy of the load loops, which
    /// are by far the slowest code of the workspace to compile.
    fn run_boxed<'e, E: Engine + 'e, U: EngineUser>(
        &self,
        engine: E,
        user: U,
    ) -> Result<U::Output, EngineError> {
        let engine: Box<dyn Engine + 'e> = Box::new(engine);
        self.run(engine, user)
    }

    fn sync<C: Call>(&self, call: C) -> Result<SyncEngine<Calls<C>>, EngineError> {
        SyncEngine::new(
            Calls {
                call,
                files: self.files(),
            },
            self.request.buffer_size,
        )
    }

    fn run_boxed_sync<C: Call, U: EngineUser>(
        &self,
        call: C,
        user: U,
    ) -> Result<U::Output, EngineError> {
        self.run_boxed(self.sync(call)?, user)
    }

    fn vsync(&self) -> Result<VsyncEngine, EngineError> {
        VsyncEngine::new(self.files(), self.request.depth, self.request.buffer_size)
    }

    fn pool(&self) -> Result<PoolEngine, EngineError> {
        PoolEngine::new(self.files(), self.request.depth, self.request.buffer_size)
    }

    fn null(&self) -> Result<NullEngine, EngineError> {
        let ranges: Vec<_> = self.request.files.iter().map(|file| file.range).collect();
        NullEngine::new(self.request.depth, self.request.buffer_size, &ranges)
    }

    fn uring(&self, settings: &EngineSettings) -> Result<UringEngine, EngineError> {
        UringEngine::new(
            self.files(),
            self.request.depth,
            self.request.buffer_size,
            settings,
        )
    }

    /// Tries all settings first, then without the optional ones, then libaio.
    fn run_io_uring<U: EngineUser>(&self, user: U) -> Result<U::Output, EngineError> {
        let settings = &self.request.spec.settings;
        let refused = match self.uring(settings) {
            Ok(engine) => return self.run(engine, user),
            Err(refused) if self.request.spec.named => return Err(refused),
            Err(refused) => refused,
        };
        for (missing, reduced_settings) in reduced_settings(settings) {
            if let Ok(engine) = self.uring(&reduced_settings) {
                let why = format!("io_uring without {missing}: {refused}");
                return Ok(user.run(engine, EngineKind::IoUring.name(), Some(why)));
            }
        }
        self.run_libaio(user, Some(refused.to_string()))
    }

    fn run_libaio<U: EngineUser>(
        &self,
        user: U,
        mut fallback: Option<String>,
    ) -> Result<U::Output, EngineError> {
        let (depth, size) = (self.request.depth, self.request.buffer_size);
        let refused = match AioEngine::new(self.files(), depth, size, &self.request.spec.settings) {
            Ok(engine) => {
                let engine: Box<dyn Engine> = Box::new(engine);
                return Ok(user.run(engine, EngineKind::Libaio.name(), fallback));
            }
            Err(refused) if self.request.spec.named => return Err(refused),
            Err(refused) => refused.to_string(),
        };
        let why = fallback
            .take()
            .map_or(refused.clone(), |first| format!("{first}; {refused}"));
        let engine: Box<dyn Engine> = Box::new(self.pool()?);
        Ok(user.run(engine, EngineKind::PosixAio.name(), Some(why)))
    }
}

/// Reduced settings that a kernel or device is more likely to accept, each with what it lacks; only
/// those that differ.
fn reduced_settings(settings: &EngineSettings) -> Vec<(&'static str, EngineSettings)> {
    let unpolled = EngineSettings {
        high_priority: false,
        ..settings.clone()
    };
    let plain = EngineSettings {
        fixed_buffers: false,
        register_files: false,
        ..unpolled.clone()
    };
    let mut reduced_settings = vec![
        ("polled completions", unpolled),
        ("registered buffers and files", plain),
    ];
    reduced_settings.retain(|(_, reduced_settings)| reduced_settings != settings);
    reduced_settings
}
