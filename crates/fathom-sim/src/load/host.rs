//! The machine: files on the simulated device.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use fathom_load::{
    EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError, LayOut, NullEngine,
};
use fathom_model::{Bytes, DiskCounters, Numa, Plan, SyncMode, Usage};

use super::engine::{FileOnDevice, SimEngine};
use super::world::{VirtualClock, World};
use crate::registry::Device;

const ENOSPC: i32 = 28;
const EOPNOTSUPP: i32 = 95;
/// Files begin at multiples of this.
const ALIGNMENT: u64 = 1 << 20;

/// A machine with one simulated device. A file with a size gets a part of the device, one after the
/// other; a target without a size is the whole device.
pub struct SimHost {
    clock: VirtualClock,
    capacity: u64,
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    by_path: HashMap<PathBuf, OnDevice>,
    /// First byte of the device that no file uses.
    free: u64,
}

#[derive(Clone, Copy)]
struct OnDevice {
    base: u64,
    size: u64,
    whole: bool,
}

impl SimHost {
    /// A machine with this device. The calling thread is the one that calls [`fathom_load::run`].
    #[must_use]
    pub fn new(device: Device) -> Self {
        let capacity = device.capacity();
        SimHost {
            clock: VirtualClock(Arc::new(World::new(device))),
            capacity,
            files: Mutex::default(),
        }
    }

    /// The part of the device for a file. A whole device that is only read may be smaller than the job
    /// says.
    fn place(&self, path: &Path, size: u64, writes: bool) -> Result<OnDevice, HostError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.by_path.get(path) {
            return Ok(*file);
        }
        let whole = size == 0 || path.starts_with("/dev");
        let base = if whole {
            0
        } else {
            files.free.next_multiple_of(ALIGNMENT)
        };
        let size = match (whole, writes) {
            (true, true) => self.capacity.max(size),
            (true, false) => self.capacity,
            (false, _) => size,
        };
        let end = base.saturating_add(size);
        if end > self.capacity {
            let what = format!(
                "{}: the files of the jobs need {end} bytes, the simulated device has {}; reduce size= or set capacity= of the model",
                path.display(),
                self.capacity
            );
            return Err(HostError {
                errno: ENOSPC,
                what,
            });
        }
        if !whole {
            files.free = end;
        }
        let file = OnDevice { base, size, whole };
        files.by_path.insert(path.to_owned(), file);
        Ok(file)
    }
}

/// Why a plan cannot be simulated; with the name of the job and the option.
#[must_use]
pub fn unsupported(plan: &Plan) -> Option<String> {
    plan.jobs.iter().find_map(|job| {
        let engine = job.engine.kind;
        let reason = if !engine.moves_data() {
            "ioengine: it does not read or write a target, so there is nothing to simulate"
        } else if job.verify.is_some() {
            "verify: a simulated device keeps no data; remove the verification"
        } else if job.start.command_before.is_some() || job.start.command_after.is_some() {
            "exec_prerun, exec_postrun: no commands run beside a simulation; remove them"
        } else {
            return None;
        };
        Some(format!("{}: {reason}", job.name))
    })
}

impl Host for SimHost {
    type Clock = VirtualClock;

    fn clock(&self) -> VirtualClock {
        self.clock.clone()
    }

    fn lay_out(
        &self,
        file: &LayOut,
        _: &AtomicBool,
        _: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
        let on_device = self.place(&file.path, file.size.get(), file.writes)?;
        Ok(FileFacts {
            size: Bytes::new(on_device.size),
            alignment: 1,
            // Of a device that is too small, all is read, with a note.
            block_device: on_device.whole && file.size.get() <= on_device.size,
            created: false,
            laid_out: Bytes::ZERO,
        })
    }

    fn keeps_data(&self) -> bool {
        false
    }

    fn size_now(&self, path: &Path) -> Result<Bytes, HostError> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let size = files
            .by_path
            .get(path)
            .map_or(self.capacity, |file| file.size);
        Ok(Bytes::new(size))
    }

    fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        let files = request.files.iter().map(|file| {
            let on_device = self.place(&file.path, file.range.1, false)?;
            Ok(FileOnDevice {
                base: on_device.base,
                range: file.range,
                durable: file.sync != SyncMode::None,
            })
        });
        let files: Result<Vec<FileOnDevice>, HostError> = files.collect();
        let files = files.map_err(|HostError { errno, what }| EngineError { errno, what })?;
        let engine = SimEngine::new(Arc::clone(&self.clock.0), request, files)?;
        Ok(user.run(engine, request.spec.kind.name(), None))
    }

    fn with_noop<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        let engine = NullEngine::new(request.depth, request.buffer_size, &[])?;
        Ok(user.run(engine, "null", None))
    }

    fn finish(&self, _: &Path, _: bool, _: bool) -> Result<(), HostError> {
        Ok(())
    }

    fn bind_cpus(&self, _: &[u32], _: Option<i32>) -> Result<(), HostError> {
        Ok(())
    }

    fn set_io_priority(&self, _: u16) -> Result<(), HostError> {
        Ok(())
    }

    fn bind_numa(&self, _: &Numa) -> Result<(), HostError> {
        Ok(())
    }

    fn command(&self, line: &str, _: &Path) -> Result<(), HostError> {
        Err(HostError {
            errno: EOPNOTSUPP,
            what: format!("no commands run beside a simulation: {line}"),
        })
    }

    fn thread_id(&self) -> u32 {
        1
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn read_file(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::Error::other(format!(
            "a simulation reads no files: {}",
            path.display()
        )))
    }

    fn disks(&self, _: &[PathBuf]) -> Vec<(String, DiskCounters)> {
        Vec::new()
    }
}
