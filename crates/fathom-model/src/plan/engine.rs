//! Who carries the I/O.

/// Who carries the I/O.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineSpec {
    /// Which engine.
    pub kind: EngineKind,
    /// The user named it: no other may stand in.
    pub named: bool,
    /// Private settings; each engine reads its own.
    pub settings: EngineSettings,
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
    /// Completes everything at once and moves nothing.
    Null,
}

impl EngineKind {
    /// fio's name.
    #[must_use]
    pub const fn word(self) -> &'static str {
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
        }
    }

    /// Whether an I/O is over when the submission returns, so that more than one in flight is impossible.
    #[must_use]
    pub const fn is_synchronous(self) -> bool {
        !matches!(
            self,
            EngineKind::Libaio | EngineKind::IoUring | EngineKind::PosixAio | EngineKind::Null | EngineKind::Vsync
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
    /// io_uring: register buffers and files where the kernel allows it, and do without where it does not.
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
}
