//! The machine: its disks, and the files on them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fathom_load::HostError;
use fathom_model::Plan;

use super::hardware::{Hardware, WallClock};
use super::shared_time::SharedTime;
use super::world::State;
use crate::machine::{Extent, FileTree, Node, PlaceError};

const ENOENT: i32 = 2;
const EBUSY: i32 = 16;

/// A machine that runs follow one another on. Its time and the state of its disks go on from one run to the next.
pub(crate) struct Machine {
    pub now: Arc<AtomicU64>,
    /// The time that it shares with other machines.
    pub shared: Option<Arc<dyn SharedTime>>,
    pub wall: WallClock,
    /// The state between the runs; `None` during a run.
    state: Mutex<Option<State>>,
    files: Mutex<FileTree>,
}

impl Machine {
    pub fn new(hardware: Hardware, files: FileTree, shared: Option<Arc<dyn SharedTime>>) -> Self {
        Machine {
            now: Arc::default(),
            shared,
            wall: hardware.wall.clone(),
            state: Mutex::new(Some(State::new(0, hardware))),
            files: Mutex::new(files),
        }
    }

    /// The state, for a run.
    ///
    /// # Errors
    /// While another run has it.
    pub fn take_state(&self) -> Result<State, HostError> {
        let state = self.lock_state().take();
        state.ok_or_else(|| HostError {
            errno: EBUSY,
            what: "the simulated machine carries out another run".to_owned(),
        })
    }

    /// Keeps the state for the next run.
    pub fn keep_state(&self, state: State) {
        *self.lock_state() = Some(state);
    }

    /// What `read` finds between two runs; `None` during a run.
    pub fn read<T>(&self, read: impl FnOnce(&Hardware, u64) -> T) -> Option<T> {
        let state = self.lock_state();
        let hardware = &state.as_ref()?.hardware;
        Some(read(hardware, self.now.load(Relaxed)))
    }

    fn lock_state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of its devices and files.
    pub fn files(&self) -> MutexGuard<'_, FileTree> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a file. A whole device that is only read may be smaller than the job says.
    pub fn place(&self, path: &Path, size: u64, writes: bool) -> Result<Extent, HostError> {
        let placed = self.files().place(path, size, writes);
        placed.map_err(|PlaceError { errno, what }| HostError { errno, what })
    }

    /// The size of a file, or of its device.
    pub fn size_now(&self, path: &Path) -> Result<u64, HostError> {
        let files = self.files();
        match files.node(path) {
            Node::File(file) => Ok(file.extent.size),
            Node::Device(volume) | Node::Missing(volume) | Node::Directory(volume) => {
                Ok(files.volumes().get(volume).map_or(0, |one| one.capacity))
            }
            Node::Nowhere => Err(HostError {
                errno: ENOENT,
                what: format!("{}: the simulated machine has no such path", path.display()),
            }),
        }
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
