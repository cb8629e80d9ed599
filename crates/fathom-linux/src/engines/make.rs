//! From the engine's name to the engine, and to another one where that cannot be had.

use std::sync::Arc;

use fathom_load::{Engine, EngineError, EngineRequest, EngineUser, NullEngine};
use fathom_model::{EngineKind, EngineSettings};

use super::aio::AioEngine;
use super::fault;
use super::file::EngineFile;
use super::mmap;
use super::operation::OperationEngine;
use super::pool::PoolEngine;
use super::shape::{Reserve, Truncate};
use super::splice::Splice;
use super::sync::{
    Call, Calls, Positioned, Seek, SyncEngine, Vectored, VectoredWithFlags, rw_flags,
};
use super::uring::UringEngine;
use super::vsync::VsyncEngine;

/// Makes the engine of `request` over `files`, which are the request's files opened, in its order, and runs `user` on it.
///
/// When io_uring or libaio cannot be had and the user did not name it, the next of io_uring, libaio and posixaio stands in, and
/// `user` is told why. The engine belongs to the calling thread.
///
/// # Errors
/// When the engine cannot be had: what was refused and how to mend it.
pub fn make_engine<U: EngineUser>(
    request: &EngineRequest<'_>,
    files: Vec<EngineFile>,
    user: U,
) -> Result<U::Output, EngineError> {
    let parts = Parts {
        request,
        files: files.into(),
    };
    let settings = &request.spec.settings;
    if settings.offload && request.spec.kind.is_a_call() {
        return parts.run(parts.pool()?, user);
    }
    match request.spec.kind {
        EngineKind::Sync => parts.run_calls(Seek::new(parts.files.len()), user),
        EngineKind::Psync => parts.run_calls(Positioned, user),
        EngineKind::Pvsync => parts.run_calls(Vectored, user),
        EngineKind::Pvsync2 => parts.run_calls(VectoredWithFlags(rw_flags(settings, true)), user),
        EngineKind::Vsync => parts.run(parts.vsync()?, user),
        EngineKind::Mmap => parts.run(
            mmap::engine(parts.files(), request.files, request.buffer_size)?,
            user,
        ),
        EngineKind::PosixAio => parts.run(parts.pool()?, user),
        EngineKind::Null => parts.run(parts.null()?, user),
        EngineKind::PageFault => {
            parts.run(fault::engine(request.files, request.buffer_size)?, user)
        }
        EngineKind::Cpuio | EngineKind::Exec => Err(EngineError {
            errno: libc::EINVAL,
            what: format!("{} does no I/O", request.spec.kind.word()),
        }),
        EngineKind::Libaio => parts.run_libaio(user, None),
        EngineKind::IoUring => parts.run_io_uring(user),
        EngineKind::Splice => parts.run_calls(Splice::new()?, user),
        EngineKind::Falloc => parts.run_calls(Reserve, user),
        EngineKind::Ftruncate => parts.run_calls(Truncate, user),
        kind @ (EngineKind::FileCreate
        | EngineKind::FileStat
        | EngineKind::FileDelete
        | EngineKind::DirCreate
        | EngineKind::DirStat
        | EngineKind::DirDelete) => {
            let operation = kind.file_operation().expect("each of these has one");
            parts.run(OperationEngine::new(request, operation)?, user)
        }
    }
}

/// Runs `user` on an io_uring that carries no-ops only: what is measured then is the load and the ring.
///
/// # Errors
/// When there is no io_uring.
pub fn make_noop_ring<U: EngineUser>(
    depth: u32,
    buffer_size: u32,
    user: U,
) -> Result<U::Output, EngineError> {
    Ok(user.run(UringEngine::noop(depth, buffer_size)?, "io_uring", None))
}

/// What every engine is made from.
struct Parts<'a> {
    request: &'a EngineRequest<'a>,
    files: Arc<[EngineFile]>,
}

impl Parts<'_> {
    fn files(&self) -> Arc<[EngineFile]> {
        Arc::clone(&self.files)
    }

    fn run<E: Engine, U: EngineUser>(&self, engine: E, user: U) -> Result<U::Output, EngineError> {
        Ok(user.run(engine, self.request.spec.kind.word(), None))
    }

    fn run_calls<C: Call, U: EngineUser>(
        &self,
        call: C,
        user: U,
    ) -> Result<U::Output, EngineError> {
        self.run(
            SyncEngine::new(
                Calls {
                    call,
                    files: self.files(),
                },
                self.request.buffer_size,
            )?,
            user,
        )
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

    /// First with all settings, then without those that only make it cheaper, then libaio.
    fn run_io_uring<U: EngineUser>(&self, user: U) -> Result<U::Output, EngineError> {
        let settings = &self.request.spec.settings;
        let refused = match self.uring(settings) {
            Ok(engine) => return self.run(engine, user),
            Err(refused) if self.request.spec.named => return Err(refused),
            Err(refused) => refused,
        };
        for (missing, lesser) in lesser(settings) {
            if let Ok(engine) = self.uring(&lesser) {
                let why = format!("io_uring without {missing}: {refused}");
                return Ok(user.run(engine, EngineKind::IoUring.word(), Some(why)));
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
            Ok(engine) => return Ok(user.run(engine, EngineKind::Libaio.word(), fallback)),
            Err(refused) if self.request.spec.named => return Err(refused),
            Err(refused) => refused.to_string(),
        };
        let why = fallback
            .take()
            .map_or(refused.clone(), |first| format!("{first}; {refused}"));
        Ok(user.run(self.pool()?, EngineKind::PosixAio.word(), Some(why)))
    }
}

/// The settings with less of what a kernel or device may refuse, and what is missing then; only those that differ.
fn lesser(settings: &EngineSettings) -> Vec<(&'static str, EngineSettings)> {
    let unpolled = EngineSettings {
        high_priority: false,
        ..settings.clone()
    };
    let plain = EngineSettings {
        fixed_buffers: false,
        register_files: false,
        ..unpolled.clone()
    };
    let mut lesser = vec![
        ("polled completions", unpolled),
        ("registered buffers and files", plain),
    ];
    lesser.retain(|(_, lesser)| lesser != settings);
    lesser
}
