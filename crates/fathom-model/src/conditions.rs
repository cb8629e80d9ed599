//! Conditions of a run: samples of the machine over time, and the state of the targets.

use std::path::PathBuf;

use crate::{Bytes, DiskCounters, Nanos};

/// Conditions of one run. Unknown values are absent and are never taken as good.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Samples over the run.
    pub telemetry: Telemetry,
    /// One for each target that was open.
    pub targets: Vec<TargetConditions>,
    /// I/O limits of this process's own control groups on those devices.
    pub limits: Vec<IoLimit>,
    /// This machine is virtual; `None` where unknown.
    pub virtual_machine: Option<bool>,
}

/// Samples of the machine, evenly spaced; long runs have longer ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Names of the devices of [`Sample::disks`], in the same order.
    pub disks: Vec<String>,
    /// In the order of time, without gaps.
    pub samples: Vec<Sample>,
    /// CPU time that sampling took.
    pub cost: Nanos,
}

/// The machine over a short time. Shares are percent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Start, counted from the run's epoch.
    pub start: Nanos,
    /// Length.
    pub length: Nanos,
    /// The counters of each device over this time; `in_flight` is the value at its end.
    pub disks: Vec<DiskCounters>,
    /// Each CPU of the machine.
    pub cpus: Vec<CpuShare>,
    /// Share of the time in which some task waited for a CPU. See Documentation/accounting/psi.rst of Linux.
    pub cpu_pressure: Option<f64>,
    /// The same for I/O.
    pub io_pressure: Option<f64>,
    /// Share of the time in which all tasks waited for memory.
    pub memory_pressure: Option<f64>,
    /// Mean frequency of the CPUs, MHz.
    pub cpu_mhz: Option<f64>,
    /// Hottest sensor, degrees Celsius.
    pub celsius: Option<f64>,
    /// Memory that programs could still have.
    pub available: Option<Bytes>,
    /// Written data that is not yet on its way to a device.
    pub dirty: Option<Bytes>,
    /// Written data on its way.
    pub writeback: Option<Bytes>,
    /// CPU quota throttles of the own control groups.
    pub throttles: Option<u64>,
    /// How much the wall clock moved relative to the monotonic clock, nanoseconds.
    pub wall_step_ns: i64,
}

/// How one CPU spent its time, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShare {
    /// Neither idle nor stolen.
    pub busy: f64,
    /// Used by other virtual machines.
    pub stolen: f64,
}

/// What O_DIRECT does on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectIoMode {
    /// The file system reports direct I/O.
    Direct,
    /// The file system accepts O_DIRECT but buffers the I/O, or refuses it.
    Buffered,
    /// The file system does not report it.
    Unreported,
}

/// A target after the load.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetConditions {
    /// Its path in the plan.
    pub path: PathBuf,
    /// Regular file, not a device.
    pub is_file: bool,
    /// Size.
    pub size: Bytes,
    /// The file system keeps its data in memory (`tmpfs`, `ramfs`).
    pub memory_backed: bool,
    /// What O_DIRECT does.
    pub direct: Option<DirectIoMode>,
    /// Share of the file that has ever been written, 0 to 1; known for files that the run only read.
    pub written_share: Option<f64>,
    /// Share of the target in the page cache at the end, 0 to 1.
    pub cached_share: Option<f64>,
    /// Of those, not yet written back.
    pub dirty: Option<Bytes>,
    /// From this time on the path named another file or none.
    pub gone: Option<Nanos>,
    /// Other programs that had it open when the load ended.
    pub sharers: Vec<Sharer>,
}

/// Another program that has a target open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharer {
    /// Process number.
    pub process: u32,
    /// Its name, as the kernel stores it (at most 15 bytes).
    pub name: String,
    /// It may write.
    pub writes: bool,
    /// Its parent is process 1: it is a service, or what started it has ended.
    pub orphan: bool,
}

/// An I/O limit of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoLimit {
    /// Kernel name of the device.
    pub disk: String,
    /// Reads or writes.
    pub reads: bool,
    /// I/Os, or bytes.
    pub ios: bool,
    /// How many each second.
    pub per_second: u64,
}
