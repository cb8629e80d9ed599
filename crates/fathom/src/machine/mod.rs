//! The machine that a command measures: everything that planner, guard and runs ask of it.
//!
//! A command gets its machine from its [`crate::session::Session`], and does not know which one it is.

mod linux;
mod sim;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_device::{DevNo, EbsStats, Permit, ScratchList, TargetFacts};
use fathom_linux::{CommitError, CommitLoad, CommitResult};
use fathom_load::{LoadError, RunHooks};
use fathom_model::{
    Bytes, CpuIdleness, DeviceFacts, DiskCounters, FileSystemFacts, Plan, Recording, Simulated,
    TargetRecording,
};
use fathom_plan::HostInfo;

use crate::fua::FuaCount;
use crate::guard::Images;

pub use self::linux::{LinuxMachine, unix_now_ns};
pub use self::sim::{START_UNIX_NS, SimMachine};

/// A machine, real or simulated.
pub trait Machine: Send + Sync {
    /// What the planner asks.
    fn facts(&self) -> &dyn HostInfo;

    /// What results say of a simulated machine; `None` for a real one.
    fn simulated(&self) -> Option<Simulated>;

    /// Whether commands, applications and control groups run beside a load.
    fn runs_programs(&self) -> bool;

    /// The time that has passed, for durations and intervals.
    fn now(&self) -> Instant;

    /// The wall clock, nanoseconds since 1970.
    fn unix_now_ns(&self) -> u64;

    /// Whether this plan can run here and its targets answer.
    ///
    /// # Errors
    /// Why not.
    fn check_plan(&self, plan: &Plan) -> Result<(), String>;

    /// Whether the targets answer. With `notify` a slow one is reported.
    ///
    /// # Errors
    /// Which one does not.
    fn check_answers(&self, targets: &[PathBuf], notify: bool) -> Result<(), String>;

    /// What is at a path.
    ///
    /// # Errors
    /// When nothing is, or it cannot be read.
    fn entry(&self, path: &Path) -> io::Result<Entry>;

    /// Whether a name is a directory, or can be used as one.
    fn has_directory(&self, path: &Path) -> bool;

    /// The space on the file system of a directory; `None` if it is unknown.
    fn space(&self, directory: &Path) -> Option<Space>;

    /// Whether the user may create a file in a directory.
    fn may_create_in(&self, directory: &Path) -> bool;

    /// The file system of a path, or of its nearest existing directory.
    fn file_system(&self, path: &Path) -> Option<FileSystemFacts>;

    /// The device and the inode number of a directory.
    ///
    /// # Errors
    /// When there is no such directory.
    fn directory_id(&self, path: &Path) -> io::Result<(DevNo, u64)>;

    /// The facts of a target for the guard. Nothing is written.
    ///
    /// # Errors
    /// If its directory does not exist, or the facts cannot be read.
    fn examine(&self, path: &Path, contents: Contents) -> io::Result<Examined>;

    /// The devices that may be written without a code.
    fn scratch_list(&self) -> ScratchList;

    /// The size of a file that a job creates without a size; zero where such a job is refused.
    fn default_file_size(&self) -> u64;

    /// The images of a cluster that a plan names.
    ///
    /// # Errors
    /// Every image that cannot be examined.
    fn examine_images(&self, plan: &Plan) -> Result<Images, Vec<String>>;

    /// The devices below a target.
    fn inspect(&self, path: &Path) -> TargetRecording;

    /// The counters that a volume of a provider keeps of its limits.
    fn volume_counters(&self, device: &DeviceFacts) -> Option<EbsStats>;

    /// Removes a file that fathom created. One that changed since is not removed.
    ///
    /// # Errors
    /// Why it cannot be removed.
    fn remove_created(&self, file: &Path) -> Result<(), String>;

    /// Prepares a run of `plan`. Files that the run writes besides its targets are below `aux`.
    fn prepare_load<'a>(&'a self, plan: &Plan, aux: &Path) -> Box<dyn PreparedLoad + 'a>;

    /// Opens a file for commits, as its permit allows.
    ///
    /// # Errors
    /// Why it cannot be opened.
    fn open_commits<'a>(
        &'a self,
        examined: Examined,
        permit: &Permit,
    ) -> Result<Box<dyn CommitFile + 'a>, String>;

    /// The work that a CPU can do while it is idle (`--idle-prof=calibrate`).
    fn calibrate_idleness(&self) -> CpuIdleness;

    /// Measures how idle the CPUs are, from the start of the load.
    fn watch_idleness(&self, per_cpu: bool) -> Box<dyn IdlenessWatch>;
}

/// A run whose targets are being opened.
pub trait PreparedLoad {
    /// Adds an image of a cluster, with its size.
    fn add_image(&self, target: PathBuf, size: u64);

    /// Opens a target as permitted. Returns whether its first and last MiB were saved to the file of `backup`.
    ///
    /// # Errors
    /// Why it cannot be opened.
    fn hold(&self, examined: Examined, permit: &Permit, backup: Backup<'_>)
    -> Result<bool, String>;

    /// Runs the plan, and adds what the machine knows of itself and of the devices.
    ///
    /// # Errors
    /// When the files of a job cannot be prepared.
    fn run(self: Box<Self>, plan: Plan, hooks: RunHooks<'_>) -> Result<Recording, LoadError>;
}

/// A file for commits that is open.
pub trait CommitFile {
    /// Measures commits until their time is over or `is_over` returns true.
    ///
    /// # Errors
    /// When the method does not work on this file.
    fn measure(
        &self,
        load: &CommitLoad,
        is_over: &dyn Fn() -> bool,
    ) -> Result<CommitResult, CommitError>;

    /// The counters of the lowest device below the file, with its kernel name.
    fn counters(&self) -> Option<(String, DiskCounters)>;

    /// Begins to count writes with forced unit access.
    fn count_forced_writes(&self) -> FuaCount;

    /// Closes the file.
    fn release(self: Box<Self>);
}

/// How idle the CPUs are while a load runs.
pub trait IdlenessWatch {
    /// The load has begun. Later calls do nothing.
    fn begin(&mut self);

    /// The result.
    fn finish(self: Box<Self>) -> CpuIdleness;
}

/// How much of a target's contents is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The first and last MiB.
    Ends,
    /// Also the samples that the code of the target covers.
    Samples,
}

/// A target and its facts.
pub struct Examined {
    facts: TargetFacts,
    /// The open target of the real machine.
    opened: Option<fathom_linux::Examined>,
}

impl Examined {
    /// The facts.
    pub fn facts(&self) -> &TargetFacts {
        &self.facts
    }
}

/// What happens to the first and last MiB of a device before it is written.
#[derive(Clone, Copy, Debug)]
pub enum Backup<'a> {
    /// They need not be saved.
    NotNeeded,
    /// They are saved to this file.
    SaveTo(&'a Path),
    /// This process saved them before.
    AlreadySaved,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub kind: EntryKind,
    /// Bytes of a file; zero of anything else.
    pub size: u64,
}

/// The kind of an [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A device, a pipe or a socket.
    Special,
}

/// The space on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that the user may still allocate.
    pub free: Bytes,
    /// It is mounted read-only.
    pub read_only: bool,
}

impl dyn Machine {
    /// Whether anything is at a path.
    pub fn exists(&self, path: &Path) -> bool {
        self.entry(path).is_ok()
    }

    /// Bytes of a file; zero if there is none.
    pub fn file_size(&self, path: &Path) -> u64 {
        self.entry(path).map_or(0, |entry| entry.size)
    }

    /// The time since an earlier [`Machine::now`].
    pub fn elapsed(&self, since: Instant) -> Duration {
        self.now().saturating_duration_since(since)
    }

    /// The time since 1970 in seconds.
    pub fn unix_now_s(&self) -> u64 {
        self.unix_now_ns() / 1_000_000_000
    }
}
