//! What `fathom why` looked at, as plain data: two readings of the kernel's counters, looks at waiting threads between them, and the
//! requests of a trace where one could be taken.

use std::collections::BTreeMap;

use crate::counters::{DiskCounts, ProcessCounts};
use crate::event::DeviceNumber;

use super::requests::TracedRequests;

/// All that is known of some seconds of a machine.
#[derive(Clone, Debug, Default)]
pub struct WhyEvidence {
    /// What was asked for.
    pub scope: WhyScope,
    /// The counters at the start.
    pub before: WhyReading,
    /// The counters at the end.
    pub after: WhyReading,
    /// Looks at threads and devices, in order of time: at the start, between, at the end.
    pub looks: Vec<WhyLook>,
    /// The whole block devices.
    pub devices: BTreeMap<DeviceNumber, WhyDevice>,
    /// Mounts, in the order of the kernel's table.
    pub mounts: Vec<WhyMount>,
    /// Whole devices with swap space.
    pub swap: Vec<DeviceNumber>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Requests of a trace; `None` without one.
    pub requests: Option<TracedRequests>,
    /// What was not read, each in one sentence.
    pub not_looked_at: Vec<String>,
    /// What it took.
    pub cost: WhyCost,
}

/// What the question is about.
#[derive(Clone, Debug, Default)]
pub struct WhyScope {
    /// In words; empty: the whole machine.
    pub name: String,
    /// Whole devices; empty: all.
    pub devices: Vec<DeviceNumber>,
    /// Only what these processes wait for; empty: all processes.
    pub pids: Vec<u32>,
    /// Only what the processes of this control group and of those below it wait for.
    pub group: Option<String>,
}

impl WhyScope {
    /// Whether a process is asked for.
    #[must_use]
    pub fn has_process(&self, pid: u32, group: &str) -> bool {
        match &self.group {
            Some(wanted) => is_in_group(group, wanted),
            None => self.pids.is_empty() || self.pids.contains(&pid),
        }
    }

    /// Whether the question is about some processes.
    #[must_use]
    pub fn is_of_processes(&self) -> bool {
        self.group.is_some() || !self.pids.is_empty()
    }
}

/// Whether `group` is `outer` or below it.
#[must_use]
pub fn is_in_group(group: &str, outer: &str) -> bool {
    let outer = outer.trim_end_matches('/');
    match group.strip_prefix(outer) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// The counters of a machine at one moment.
#[derive(Clone, Debug, Default)]
pub struct WhyReading {
    /// Nanoseconds of a clock that does not jump.
    pub time_ns: u64,
    /// Block devices.
    pub disks: BTreeMap<DeviceNumber, DiskCounts>,
    /// Processes, as far as they were read.
    pub processes: BTreeMap<u32, WhyProcess>,
    /// `/proc/vmstat`, the counters that are used; what the kernel does not have is absent.
    pub memory: BTreeMap<String, u64>,
    /// Microseconds in which at least one task waited: for I/O, memory, a CPU.
    pub pressure: WhyPressure,
    /// Control groups with a limit or with pressure, by their names.
    pub groups: BTreeMap<String, WhyGroup>,
    /// Requests that wait for the server of a FUSE file system, by the minor number of its device.
    pub fuse_waiting: BTreeMap<u32, u64>,
    /// Processes beyond those that are read at most.
    pub skipped_processes: u64,
    /// Processes whose I/O counters this user may not read.
    pub hidden_processes: u64,
}

/// Pressure stall information (`Documentation/accounting/psi.rst`): totals of "some", microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WhyPressure {
    /// For I/O.
    pub io: Option<u64>,
    /// For memory.
    pub memory: Option<u64>,
    /// For a CPU.
    pub cpu: Option<u64>,
}

/// A process.
#[derive(Clone, Debug, Default)]
pub struct WhyProcess {
    /// Its name.
    pub name: String,
    /// Its parent.
    pub parent: u32,
    /// Its control group.
    pub group: String,
    /// The control group that limits its memory.
    pub memory_group: String,
    /// Its I/O; `None` where this user may not read it.
    pub counts: Option<ProcessCounts>,
    /// Bytes that devices read and wrote for its living threads: the counters of a process contain those of its children that
    /// have ended, which the kernel adds when it reaps them. `None` where unknown.
    pub own_bytes: Option<[u64; 2]>,
    /// Major faults.
    pub major_faults: u64,
    /// Time that each thread waited for block I/O, clock ticks (delay accounting).
    pub delays: BTreeMap<u32, u64>,
}

/// A control group.
#[derive(Clone, Debug, Default)]
pub struct WhyGroup {
    /// Limits of rates: device, reads (or writes), I/Os (or bytes), per second.
    pub limits: Vec<WhyLimit>,
    /// What its processes transferred, by device: read I/Os, written I/Os, read bytes, written bytes.
    pub transferred: BTreeMap<DeviceNumber, [u64; 4]>,
    /// Its own pressure.
    pub pressure: WhyPressure,
    /// Memory in use, and the limit, bytes.
    pub memory: Option<(u64, u64)>,
    /// How often the limit of the memory was reached.
    pub memory_max_events: u64,
    /// Pages of files that were read again soon after they had been dropped.
    pub refaults: u64,
}

/// A limit of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhyLimit {
    /// The device.
    pub device: DeviceNumber,
    /// Of reads; else of writes.
    pub reads: bool,
    /// I/Os per second; else bytes.
    pub ios: bool,
    /// The value.
    pub per_second: u64,
}

/// A whole block device.
#[derive(Clone, Debug, Default)]
pub struct WhyDevice {
    /// Its name, such as `sda`.
    pub name: String,
    /// It has a moving medium.
    pub is_rotational: bool,
    /// Whole devices below it.
    pub members: Vec<DeviceNumber>,
    /// State of an md array.
    pub array: Option<WhyArray>,
    /// Its model, such as `Amazon Elastic Block Store`.
    pub model: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Volumes of its provider and its size that can burst.
    pub volumes: Vec<WhyVolume>,
}

/// State of an md array (`Documentation/admin-guide/md.rst`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhyArray {
    /// Such as `raid5`.
    pub level: String,
    /// Missing members.
    pub degraded: u64,
    /// `idle`, `resync`, `recover`, `check`, ...
    pub action: String,
}

/// A volume that the device can be.
#[derive(Clone, Debug, PartialEq)]
pub struct WhyVolume {
    /// Such as `gp2 of 100 GiB (AWS EBS)`.
    pub name: String,
    /// I/Os per second when the credits are used up.
    pub base_iops: f64,
    /// I/Os per second with credits.
    pub burst_iops: f64,
}

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyMount {
    /// The device of the file system.
    pub device: DeviceNumber,
    /// Where it is mounted.
    pub at: String,
    /// Kind of the file system, such as `ext4`.
    pub kind: String,
    /// Its source, as the mounter named it.
    pub source: String,
}

/// Kinds of file systems whose data another program or host serves, so that they may not answer; their names begin like this.
const SERVED_KINDS: [&str; 6] = ["fuse", "nfs", "cifs", "smb3", "ceph", "9p"];

impl WhyMount {
    /// Whether another program or host serves the data.
    #[must_use]
    pub fn is_served(&self) -> bool {
        SERVED_KINDS.iter().any(|kind| self.kind.starts_with(kind))
    }
}

/// One look at threads that wait and at the devices.
#[derive(Clone, Debug, Default)]
pub struct WhyLook {
    /// When.
    pub time_ns: u64,
    /// Block devices.
    pub disks: BTreeMap<DeviceNumber, DiskCounts>,
    /// Threads that wait in the kernel for I/O: uninterruptible, or for a FUSE server. Without threads of the kernel.
    pub waiting: Vec<WaitingThread>,
    /// Threads beyond those that are looked at.
    pub skipped_threads: u64,
}

/// A thread that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitingThread {
    /// Its process.
    pub pid: u32,
    /// Itself.
    pub thread: u32,
    /// Name of the process.
    pub name: String,
    /// Its control group.
    pub group: String,
    /// Functions of the kernel in which it waits, innermost first; empty where this user may not read them.
    pub places: Vec<String>,
    /// The system call, such as `read`; `None` where this user may not read it.
    pub call: Option<&'static str>,
    /// The file of the call.
    pub file: Option<String>,
    /// How often it has ever waited: a thread with the same number as before did not run in between.
    pub switches: Option<u64>,
}

impl WaitingThread {
    /// Whether it waits in a function whose name begins like one of these.
    #[must_use]
    pub fn is_in(&self, functions: &[&str]) -> bool {
        self.places
            .iter()
            .any(|place| functions.iter().any(|name| place.starts_with(name)))
    }
}

/// What the answer cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WhyCost {
    /// CPU time of this program, nanoseconds.
    pub cpu_ns: u64,
    /// Events of the trace.
    pub events: u64,
    /// Events that were lost.
    pub lost_events: u64,
}
