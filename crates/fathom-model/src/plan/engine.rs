//! The I/O engine and its settings.

use crate::{Nanos, PerDirection};

/// The I/O engine of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineSpec {
    /// Which engine.
    pub kind: EngineKind,
    /// The user named it: no fallback to another engine.
    pub named: bool,
    /// Private settings; each engine reads its own.
    pub settings: EngineSettings,
}

impl EngineSpec {
    /// Whether an I/O completes before its submission returns, so that at most one is in flight.
    #[must_use]
    pub const fn is_synchronous(&self) -> bool {
        self.kind.is_synchronous() && !(self.settings.offload && self.kind.is_single_call())
    }
}

/// The engines, by fio's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// lseek(2) and read(2)/write(2).
    Sync,
    /// pread(2)/pwrite(2).
    Psync,
    /// Neighbouring blocks gathered into one readv(2)/writev(2).
    Vsync,
    /// preadv(2)/pwritev(2).
    Pvsync,
    /// preadv2(2)/pwritev2(2).
    Pvsync2,
    /// Linux native asynchronous I/O, io_submit(2).
    Libaio,
    /// io_uring(7).
    IoUring,
    /// A pool of threads with pread/pwrite under the name posixaio.
    PosixAio,
    /// mmap(2) and memory copies.
    Mmap,
    /// Completes everything at once and moves no data.
    Null,
    /// splice(2) through a pipe, and vmsplice(2) for writes.
    Splice,
    /// fallocate(2): reserves the range of a read or write, punches that of a trim. Moves no data.
    Falloc,
    /// ftruncate(2) of the file to where each write begins. Moves no data.
    Ftruncate,
    /// Creates files, moves no data.
    FileCreate,
    /// Reads the attributes of files.
    FileStat,
    /// Removes files.
    FileDelete,
    /// Creates directories.
    DirCreate,
    /// Reads the attributes of directories.
    DirStat,
    /// Removes directories.
    DirDelete,
    /// Copies to and from anonymous memory: measures page faults.
    PageFault,
    /// Keeps a CPU busy and does no I/O.
    Cpuio,
    /// Runs a program alongside the load and does no I/O.
    Exec,
    /// An image of a Ceph cluster through librbd.
    Rbd,
}

/// What a file-operation engine does to each of its files, once in a pass. It moves no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileOperation {
    /// open(2) with O_CREAT, and close(2).
    Create,
    /// stat(2), lstat(2) or statx(2).
    Stat,
    /// unlink(2).
    Delete,
    /// mkdir(2).
    MakeDirectory,
    /// stat(2) of a directory.
    StatDirectory,
    /// rmdir(2).
    RemoveDirectory,
}

impl FileOperation {
    /// Whether it leaves everything unchanged.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(self, FileOperation::Stat | FileOperation::StatDirectory)
    }
    /// Whether it acts on directories.
    #[must_use]
    pub const fn is_on_directories(self) -> bool {
        matches!(
            self,
            FileOperation::MakeDirectory
                | FileOperation::StatDirectory
                | FileOperation::RemoveDirectory
        )
    }
}

/// `stat_type`: the call that reads attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatCall {
    /// stat(2).
    #[default]
    Stat,
    /// lstat(2): a link is not followed.
    Lstat,
    /// statx(2).
    Statx,
}

impl EngineKind {
    /// fio's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EngineKind::Sync => "sync",
            EngineKind::Psync => "psync",
            EngineKind::Vsync => "vsync",
            EngineKind::Pvsync => "pvsync",
            EngineKind::Pvsync2 => "pvsync2",
            EngineKind::Libaio => "libaio",
            EngineKind::IoUring => "io_uring",
            EngineKind::PosixAio => "posixaio",
            EngineKind::Mmap => "mmap",
            EngineKind::Null => "null",
            EngineKind::Splice => "splice",
            EngineKind::Falloc => "falloc",
            EngineKind::Ftruncate => "ftruncate",
            EngineKind::FileCreate => "filecreate",
            EngineKind::FileStat => "filestat",
            EngineKind::FileDelete => "filedelete",
            EngineKind::DirCreate => "dircreate",
            EngineKind::DirStat => "dirstat",
            EngineKind::DirDelete => "dirdelete",
            EngineKind::PageFault => "page_fault",
            EngineKind::Cpuio => "cpuio",
            EngineKind::Exec => "exec",
            EngineKind::Rbd => "rbd",
        }
    }

    /// What it does to each file, if it moves no data.
    #[must_use]
    pub const fn file_operation(self) -> Option<FileOperation> {
        Some(match self {
            EngineKind::FileCreate => FileOperation::Create,
            EngineKind::FileStat => FileOperation::Stat,
            EngineKind::FileDelete => FileOperation::Delete,
            EngineKind::DirCreate => FileOperation::MakeDirectory,
            EngineKind::DirStat => FileOperation::StatDirectory,
            EngineKind::DirDelete => FileOperation::RemoveDirectory,
            _ => return None,
        })
    }

    /// Whether an I/O of it moves data between memory and a target.
    #[must_use]
    pub const fn moves_data(self) -> bool {
        !matches!(self, EngineKind::Falloc | EngineKind::Ftruncate)
            && (self.has_targets() || self.has_image())
            && self.file_operation().is_none()
    }

    /// Whether a job uses a file, a directory or a device of this host.
    #[must_use]
    pub const fn has_targets(self) -> bool {
        !matches!(
            self,
            EngineKind::Null
                | EngineKind::PageFault
                | EngineKind::Cpuio
                | EngineKind::Exec
                | EngineKind::Rbd
        )
    }

    /// Whether a job uses an image that is not a path of this host, see [`EngineSettings::rbd`].
    #[must_use]
    pub const fn has_image(self) -> bool {
        matches!(self, EngineKind::Rbd)
    }

    /// Whether a job does I/O at all.
    #[must_use]
    pub const fn does_io(self) -> bool {
        !matches!(self, EngineKind::Cpuio | EngineKind::Exec)
    }

    /// Whether it changes the allocation or the length of files without writing data.
    #[must_use]
    pub const fn changes_allocation(self) -> bool {
        matches!(self, EngineKind::Falloc | EngineKind::Ftruncate)
    }

    /// Whether an I/O is one system call that reads or writes at an offset.
    #[must_use]
    pub const fn is_single_call(self) -> bool {
        matches!(
            self,
            EngineKind::Sync
                | EngineKind::Psync
                | EngineKind::Vsync
                | EngineKind::Pvsync
                | EngineKind::Pvsync2
        )
    }

    /// Whether an I/O completes before its submission returns, so that at most one is in flight.
    #[must_use]
    pub const fn is_synchronous(self) -> bool {
        !matches!(
            self,
            EngineKind::Libaio
                | EngineKind::IoUring
                | EngineKind::PosixAio
                | EngineKind::Null
                | EngineKind::Vsync
                | EngineKind::Rbd
        )
    }
}

/// Private settings of the engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineSettings {
    /// io_uring: registered buffers.
    pub fixed_buffers: bool,
    /// io_uring: registered files.
    pub register_files: bool,
    /// io_uring: register buffers and files where the kernel allows it.
    pub register_where_possible: bool,
    /// io_uring: a kernel thread polls the submission queue.
    pub sq_poll: bool,
    /// io_uring: CPU of that thread.
    pub sq_poll_cpu: Option<u32>,
    /// Polled completions (IOPOLL, RWF_HIPRI).
    pub high_priority: bool,
    /// libaio: completions are read from the ring without a system call.
    pub userspace_reap: bool,
    /// RWF_NOWAIT.
    pub nowait: bool,
    /// RWF_UNCACHED / RWF_DONTCACHE.
    pub uncached: bool,
    /// io_uring: force IOSQE_ASYNC each N requests; 0 is never.
    pub force_async: u32,
    /// io_uring: readv and writev requests (`nonvectored=0`) instead of plain ones.
    pub vectored: bool,
    /// File operations: the call that reads attributes.
    pub stat: StatCall,
    /// File operations: remove what the job created when it ends (`unlink`).
    pub remove_created: bool,
    /// I/O priorities of the worker and of single I/Os.
    pub priorities: Priorities,
    /// `numa_cpu_nodes`, `numa_mem_policy`: CPUs of the worker and nodes of its buffers.
    pub numa: Numa,
    /// `atomic`: writes are done whole or not at all (RWF_ATOMIC).
    pub atomic: bool,
    /// cpuio: the CPU load.
    pub cpu: CpuLoad,
    /// `io_submit_mode=offload`: blocking calls are made by a pool of threads.
    pub offload: bool,
    /// `mem=mmaphuge`, `mem=shmhuge` of `fathom fio`: buffers from the system's pool of huge pages (hugetlb), or none.
    pub pool_buffers: bool,
    /// `lockfile`: how I/O to a file excludes that of other jobs.
    pub lock: FileLock,
    /// `write_hint`: life time that written data is expected to have, as fcntl(2) F_SET_RW_HINT counts it.
    pub write_hint: Option<u8>,
    /// User and groups of the worker.
    pub credentials: Credentials,
    /// `lockmem`: memory locked while the job runs, bytes.
    pub locked_memory: u64,
    /// exec: the program that runs alongside the load.
    pub program: Option<Program>,
    /// `ioscheduler`: scheduler of the devices below the targets during the run.
    pub scheduler: Option<String>,
    /// rbd: the image.
    pub rbd: Option<RbdImage>,
}

/// An image of a Ceph cluster (rbd(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RbdImage {
    /// `clustername`: name of the cluster; `None` is librados' own default.
    pub cluster: Option<String>,
    /// `clientname`: user of the cluster; `None` is librados' own default.
    pub client: Option<String>,
    /// `pool`.
    pub pool: String,
    /// `rbdname`.
    pub image: String,
    /// `busy_poll`: completions are polled without a wait.
    pub busy_poll: bool,
}

impl RbdImage {
    /// The name of the image as a target of a job, `rbd:POOL/IMAGE`; with `clustername`, `rbd:CLUSTER:POOL/IMAGE`.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.cluster {
            Some(cluster) => format!("rbd:{cluster}:{}/{}", self.pool, self.image),
            None => format!("rbd:{}/{}", self.pool, self.image),
        }
    }
}

/// A program that runs alongside the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path, or a name that is searched in `PATH`.
    pub path: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Time limit for its end after the signal.
    pub grace: Nanos,
    /// Its output goes to files named after the job.
    pub redirect: bool,
}

/// User and groups with which a worker opens its files and does its I/O.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// `uid`.
    pub user: Option<u32>,
    /// `gid`.
    pub group: Option<u32>,
    /// `comm`: name of the thread.
    pub name: Option<String>,
}

/// `lockfile`: which concurrent I/O a file lock excludes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLock {
    /// Nothing.
    #[default]
    None,
    /// All I/O of other jobs.
    Exclusive,
    /// A read excludes writes of other jobs, anything else all their I/O.
    ReadWrite,
}

/// CPU load of a cpuio job: busy periods, each followed by a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLoad {
    /// `cpuload`: busy share of the time, percent, 1 to 100.
    pub percent: u8,
    /// `cpuchunks`: length of a busy period; a sort runs to its end.
    pub chunk: Nanos,
    /// The busy periods sort numbers instead of running an empty loop.
    pub sorts: bool,
    /// The job ends with the last job that does I/O.
    pub ends_with_io: bool,
}

/// NUMA placement of a worker and its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numa {
    /// Nodes whose CPUs it may use; empty is all.
    pub cpu_nodes: Vec<u32>,
    /// Where its memory comes from; `None` leaves it to the kernel.
    pub memory: Option<MemoryPolicy>,
}

/// Where memory comes from. See set_mempolicy(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPolicy {
    /// How.
    pub mode: MemoryMode,
    /// Nodes; empty for [`MemoryMode::Local`].
    pub nodes: Vec<u32>,
}

/// See set_mempolicy(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    /// The node of the CPU that touches it.
    Local,
    /// This node as long as it has free memory.
    Prefer,
    /// These nodes only.
    Bind,
    /// These nodes in turn.
    Interleave,
}

/// I/O priorities in the kernel's encoding: class << 13 | hint << 3 | level. See ioprio_set(2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Priorities {
    /// `prio`, `prioclass`, `priohint`: of the worker; `None` leaves what it has.
    pub worker: Option<u16>,
    /// `cmdprio_percentage`, `cmdprio_bssplit`: shares of the I/Os that go with a priority of their own.
    pub shares: PerDirection<Vec<PriorityShare>>,
}

/// A share of the I/Os of one direction with its own priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityShare {
    /// Block size it is a share of; `None` is any.
    pub size: Option<u32>,
    /// Percent of them; those of one size add up to at most 100.
    pub percent: u8,
    /// The priority.
    pub prio: u16,
}
