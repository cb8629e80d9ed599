//! The machine: its disks, and the files on them.

use std::io;
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
    real_files: Mutex<Arc<dyn RealFiles>>,
}

/// Files of the real machine that a run reads and writes besides its targets.
pub trait RealFiles: Send + Sync {
    /// The content of a small file that a pattern names.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Saves `bytes` under this name in the output directory of the run.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn save(&self, name: &str, bytes: &[u8]) -> Result<(), HostError>;
}

/// A run without such files.
struct NoFiles;

impl RealFiles for NoFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Err(io::Error::other(format!(
            "this simulation reads no files: {}",
            path.display()
        )))
    }

    fn save(&self, _: &str, _: &[u8]) -> Result<(), HostError> {
        Ok(())
    }
}

impl Machine {
    pub fn new(hardware: Hardware, files: FileTree, shared: Option<Arc<dyn SharedTime>>) -> Self {
        Machine {
            now: Arc::default(),
            shared,
            wall: hardware.wall.clone(),
            state: Mutex::new(Some(State::new(0, hardware))),
            files: Mutex::new(files),
            real_files: Mutex::new(Arc::new(NoFiles)),
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

    /// Whether the disks keep what is written to them. Not known during a run.
    pub fn keeps_contents(&self) -> bool {
        self.read(|hardware, _| hardware.contents.is_some())
            .unwrap_or(false)
    }

    pub fn set_real_files(&self, files: Arc<dyn RealFiles>) {
        *self.lock_real_files() = files;
    }

    pub fn real_files(&self) -> Arc<dyn RealFiles> {
        Arc::clone(&self.lock_real_files())
    }

    fn lock_real_files(&self) -> MutexGuard<'_, Arc<dyn RealFiles>> {
        self.real_files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
        } else if job.verify.as_ref().is_some_and(|verify| verify.state_load.is_some()) {
            "verify_state_load: what a simulated disk holds ends with the command that wrote it, so that there is nothing to check; remove it"
        } else if job.start.command_before.is_some() || job.start.command_after.is_some() {
            "exec_prerun, exec_postrun: no commands run beside a simulation; remove them"
        } else {
            return None;
        };
        Some(format!("{}: {reason}", job.name))
    })
}
