//! A simulated machine: its devices, the files on them, and the text file that describes both.
//!
//! ```
//! use std::path::Path;
//!
//! use fathom_sim::{Library, MachineFile, Node};
//!
//! let text = "[[device]]\npath = '/data'\nmodel = 'servers(count=1, service=100us)'\n";
//! let machine = MachineFile::parse("machine.toml", text)?.build(&Library::new(), 1)?;
//! assert!(matches!(machine.files.node(Path::new("/data")), Node::Directory(_)));
//! # Ok::<(), fathom_sim::ModelError>(())
//! ```

mod commits;
mod description;
mod event_entry;
mod events;
mod file;
mod files;

pub use self::commits::{SimCommitResult, SimCommits};
pub use self::description::{MachineError, SimDisk, SimMachineSpec};
pub use self::events::{Event, EventKind, ForeignLoad, TokenBucket};
pub use self::file::{DeviceCache, DeviceEntry, FileEntry, MachineFile, OneHost};
pub use self::files::{Extent, FileNode, FileTree, Node, PlaceError, Volume, VolumeKind};
use fathom_model::Nanos;

use crate::error::ModelError;
use crate::registry::{Device, Library};
use crate::spec::ModelSpec;

/// The parts of a simulated machine, ready to be measured.
pub struct Machine {
    /// Its devices.
    pub devices: Vec<Device>,
    /// Where its devices and files are on it.
    pub files: FileTree,
    /// CPUs; none of a machine that is only a device says how many.
    pub cpus: Option<u32>,
    /// CPU time of the load generator for each I/O.
    pub cpu_per_io: Nanos,
    /// What happens to it.
    pub events: Vec<Event>,
}

impl Machine {
    /// A machine with one device: every path below `/dev` is the device, every other path a file on it.
    ///
    /// # Errors
    /// If the description of the device is impossible; with the place.
    pub fn with_device(
        spec: &ModelSpec,
        library: &Library,
        seed: u64,
    ) -> Result<Machine, ModelError> {
        let device = library.build(spec, seed)?;
        let files = FileTree::on_one_device(device.capacity());
        let devices = vec![device];
        Ok(Machine {
            devices,
            files,
            cpus: None,
            cpu_per_io: Nanos::ZERO,
            events: Vec::new(),
        })
    }
}
