//! The machine: files on the simulated device.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fathom_load::{
    EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError, LayOut, NullEngine,
};
use fathom_model::{Bytes, DiskCounters, Numa, Plan, SyncMode, Usage};

use super::engine::{FileOnDevice, SimEngine};
use super::world::{VirtualClock, World};
use crate::machine::{Extent, FileTree, Machine, Node, PlaceError, join};
use crate::registry::Device;

const EOPNOTSUPP: i32 = 95;

/// A simulated machine: its clock, and the files on its devices. Both go on from one run to the next.
pub struct SimHost {
    clock: VirtualClock,
    capacity: u64,
    /// Where each device begins on all of them together.
    starts: Vec<u64>,
    files: Mutex<FileTree>,
}

impl SimHost {
    /// A machine with this device, on which every path is. The calling thread is the one that calls [`fathom_load::run`].
    #[must_use]
    pub fn new(device: Device) -> Self {
        let files = FileTree::on_one_device(device.capacity());
        let devices = vec![device];
        SimHost::of_machine(Machine { devices, files })
    }

    /// A machine. The calling thread is the one that calls [`fathom_load::run`].
    #[must_use]
    pub fn of_machine(Machine { devices, files }: Machine) -> Self {
        let (device, starts) = join(devices);
        let capacity = device.capacity();
        SimHost {
            clock: VirtualClock(Arc::new(World::new(device))),
            capacity,
            starts,
            files: Mutex::new(files),
        }
    }

    /// The names of its devices and files.
    pub fn files(&self) -> MutexGuard<'_, FileTree> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a file. A whole device that is only read may be smaller than the job says.
    fn place(&self, path: &Path, size: u64, writes: bool) -> Result<Extent, HostError> {
        let placed = self.files().place(path, size, writes);
        placed.map_err(|PlaceError { errno, what }| HostError { errno, what })
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
            block_device: on_device.whole,
            created: false,
            laid_out: Bytes::ZERO,
        })
    }

    fn keeps_data(&self) -> bool {
        false
    }

    fn size_now(&self, path: &Path) -> Result<Bytes, HostError> {
        let files = self.files();
        let size = match files.node(path) {
            Node::File(file) => file.extent.size,
            Node::Device(volume) => files.volumes()[volume].capacity,
            Node::Directory(_) | Node::Missing(_) | Node::Nowhere => self.capacity,
        };
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
                base: self.starts.get(on_device.disk).copied().unwrap_or(0) + on_device.base,
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

    fn finish(&self, path: &Path, _: bool, unlink: bool) -> Result<(), HostError> {
        if unlink {
            self.files().remove(path);
        }
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
