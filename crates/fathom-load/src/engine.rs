//! The interface between the load loop and the engines that do its I/O.

use std::fmt;
use std::path::PathBuf;

use fathom_model::{EngineSpec, Fadvise, Nanos, SyncMode};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Fill the slot's buffer from the file.
    Read,
    /// Move the slot's buffer to the file.
    Write,
    /// Discard the range.
    Trim,
    /// fsync(2) the file; offset and length are ignored.
    Fsync,
    /// fdatasync(2) the file.
    Fdatasync,
    /// sync_file_range(2) with these flags; length 0 is up to the end of the file.
    SyncFileRange(u8),
}

impl Op {
    /// Whether this is a sync, which transfers no data.
    #[must_use]
    pub const fn is_sync(self) -> bool {
        matches!(self, Op::Fsync | Op::Fdatasync | Op::SyncFileRange(_))
    }
}

/// One I/O, ready to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The slot, below [`Engine::depth`]; its buffer belongs to the engine until the completion is
    /// reaped.
    pub slot: u32,
    /// Index into [`EngineRequest::files`].
    pub file: u32,
    /// What to do.
    pub op: Op,
    /// Bytes, at most [`EngineRequest::buffer_size`] unless it is a trim.
    pub len: u32,
    /// Where in the file, bytes.
    pub offset: u64,
    /// I/O priority in the kernel's encoding, see ioprio_set(2); 0 is the priority of the thread.
    pub prio: u16,
}

/// The completion of one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Slot of the request.
    pub slot: u32,
    /// Bytes transferred (0 for a successful trim or sync), or a negative errno.
    pub result: i64,
}

/// How long [`Engine::reap`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Return when this many have completed; 0 does not wait.
    pub at_least: u32,
    /// Return at most this many.
    pub at_most: u32,
    /// Return after this long even with fewer; with `None` the engine decides, but must return
    /// within one second so that the loop stays in control.
    pub limit: Option<Nanos>,
}

/// Does I/O. One worker owns one engine; nothing is shared.
///
/// The loop guarantees that a slot is in flight at most once, and that at most [`Engine::depth`]
/// slots are. The engine guarantees that every request accepted by [`Engine::submit`] completes
/// exactly once.
pub trait Engine {
    /// Maximum number of I/Os in flight.
    fn depth(&self) -> u32;

    /// Whether a request has completed when [`Engine::submit`] returns. Submission latency is then
    /// undefined.
    fn is_synchronous(&self) -> bool;

    /// The buffer of `slot`, to fill before a write or to inspect after a read.
    ///
    /// # Panics
    /// If the slot is in flight.
    fn buffer(&mut self, slot: u32) -> &mut [u8];

    /// Submits a batch, in order, and returns how many requests were accepted. Fewer than all are
    /// accepted only when the kernel accepts no more for now; the loop then reaps and submits the
    /// rest again. An I/O that the target refuses is not an error here: it completes with a
    /// negative result.
    ///
    /// # Errors
    /// If the engine itself cannot continue.
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError>;

    /// Appends completions to `done` as `wait` specifies. Never allocates when `done` has room.
    ///
    /// # Errors
    /// If the engine itself cannot continue.
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError>;
}

/// An engine that is called indirectly.
impl<E: Engine + ?Sized> Engine for Box<E> {
    fn depth(&self) -> u32 {
        (**self).depth()
    }

    fn is_synchronous(&self) -> bool {
        (**self).is_synchronous()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        (**self).buffer(slot)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        (**self).submit(batch)
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        (**self).reap(wait, done)
    }
}

/// How a file is opened for the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// The path.
    pub path: PathBuf,
    /// The byte range that may be accessed; the engines refuse I/O outside it.
    pub range: (u64, u64),
    /// For writing.
    pub writes: bool,
    /// For reading.
    pub reads: bool,
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC or O_DSYNC.
    pub sync: SyncMode,
    /// Access hint.
    pub fadvise: Fadvise,
    /// Access is random; decides [`Fadvise::ByPattern`].
    pub random: bool,
    /// Create it when it is opened if it is missing (`create_on_open`).
    pub create: bool,
}

/// The parameters of a new engine.
#[derive(Debug)]
pub struct EngineRequest<'a> {
    /// The engine and its settings.
    pub spec: &'a EngineSpec,
    /// Requested slots; synchronous engines have 1.
    pub depth: u32,
    /// Bytes of each slot's buffer.
    pub buffer_size: u32,
    /// The files to open, with their flags.
    pub files: &'a [OpenFile],
    /// Buffers in huge pages where the kernel has them. Without, they are in ordinary pages, as those
    /// of fio: a large I/O then consists of more pieces of memory, and a device with few segments
    /// splits it.
    pub huge_pages: bool,
}

/// Code that runs on an engine. It is generic, so that an engine for high rates gets its own copy of
/// the loop and no call is indirect; others are given as `Box<dyn Engine>` and share one copy.
pub trait EngineUser {
    /// The result.
    type Output;
    /// Runs on `engine`; `fallback` is the reason if it is not the requested engine.
    fn run<E: Engine>(
        self,
        engine: E,
        name: &'static str,
        fallback: Option<String>,
    ) -> Self::Output;
}

/// Why an engine is unavailable or cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    /// errno.
    pub errno: i32,
    /// The failed action and how to fix it.
    pub what: String,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({})",
            self.what,
            std::io::Error::from_raw_os_error(self.errno)
        )
    }
}

impl std::error::Error for EngineError {}
