//! The description of a simulated machine: its disks, its CPUs, and what happens to it at set times.
//!
//! ```
//! use fathom_model::Nanos;
//! use fathom_sim::Library;
//! use fathom_sim::machine::{Event, SimDisk, SimMachineSpec};
//!
//! let device = Library::new().build_text("servers(count=4, service=100us)", 1)?;
//! let machine = SimMachineSpec {
//!     disks: vec![SimDisk { path: "/dev/vdb".into(), device }],
//!     events: vec![Event::disk_stalls(Nanos::from_millis(200), Nanos::from_millis(50), 0)],
//!     ..SimMachineSpec::default()
//! };
//! let host = fathom_sim::SimHost::with_machine(machine)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::PathBuf;

use fathom_model::{Bytes, Nanos};

use super::events::Event;
use crate::registry::Device;

/// A machine that can be simulated.
pub struct SimMachineSpec {
    /// Its disks. Events refer to them by their place in this list.
    pub disks: Vec<SimDisk>,
    /// CPUs, at least one.
    pub cpus: u32,
    /// CPU time of the load generator for each I/O, spent before the I/O is submitted. With zero its threads never wait for a
    /// CPU.
    pub cpu_per_io: Nanos,
    /// Nominal frequency of the CPUs, MHz.
    pub cpu_mhz: f64,
    /// Physical memory.
    pub memory: Bytes,
    /// The wall clock at the machine's time zero, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// What happens to it, in any order.
    pub events: Vec<Event>,
}

impl Default for SimMachineSpec {
    fn default() -> Self {
        SimMachineSpec {
            disks: Vec::new(),
            cpus: 1,
            cpu_per_io: Nanos::ZERO,
            cpu_mhz: 3000.0,
            memory: Bytes::from_mib(16 << 10),
            started_unix_ns: 0,
            events: Vec::new(),
        }
    }
}

/// A disk of a machine.
pub struct SimDisk {
    /// Its path, or that of the directory whose files are on it; an empty path has all files.
    pub path: PathBuf,
    /// The device.
    pub device: Device,
}

/// Why a machine cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// There is nothing to measure.
    #[error("the machine has no disk; add one")]
    NoDisk,
    /// There is nothing that could run a program.
    #[error("the machine has no CPU; set cpus to 1 or more")]
    NoCpu,
    /// Two disks have the same path.
    #[error("two disks have the path {}; give each its own", path.display())]
    SamePath {
        /// The path.
        path: PathBuf,
    },
    /// An event happens to a disk that does not exist.
    #[error("event {event} happens to disk {disk}, but the disks have the numbers 0 to {last}")]
    NoSuchDisk {
        /// Its place in the list of events, from 0.
        event: usize,
        /// The number of the disk.
        disk: usize,
        /// The highest number.
        last: usize,
    },
    /// A value of an event is impossible.
    #[error("event {event}: {what}")]
    ImpossibleEvent {
        /// Its place in the list of events, from 0.
        event: usize,
        /// What is wrong, and what is possible.
        what: &'static str,
    },
}

impl SimMachineSpec {
    /// Checks the description.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self) -> Result<(), MachineError> {
        let last = self
            .disks
            .len()
            .checked_sub(1)
            .ok_or(MachineError::NoDisk)?;
        if self.cpus == 0 {
            return Err(MachineError::NoCpu);
        }
        for (number, disk) in self.disks.iter().enumerate() {
            if self.disks[..number]
                .iter()
                .any(|other| other.path == disk.path)
            {
                let path = disk.path.clone();
                return Err(MachineError::SamePath { path });
            }
        }
        for (event, what) in self.events.iter().enumerate() {
            if let Some(disk) = what.kind.disk().filter(|disk| *disk > last) {
                return Err(MachineError::NoSuchDisk { event, disk, last });
            }
            what.kind
                .check()
                .map_err(|what| MachineError::ImpossibleEvent { event, what })?;
        }
        Ok(())
    }
}
