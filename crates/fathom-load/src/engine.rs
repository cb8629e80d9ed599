//! What the load loop asks of whoever carries its I/O.

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
    /// fsync(2) the file; offset and length mean nothing.
    Fsync,
    /// fdatasync(2) the file.
    Fdatasync,
}

/// One I/O, ready to be handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which slot, below [`Engine::depth`]; its buffer belongs to the engine until the completion is reaped.
    pub slot: u32,
    /// Index into [`EngineRequest::files`].
    pub file: u32,
    /// What to do.
    pub op: Op,
    /// Bytes, at most [`EngineRequest::buffer_size`] unless it is a trim.
    pub len: u32,
    /// Where in the file, bytes.
    pub offset: u64,
    /// I/O priority in the kernel's encoding, see ioprio_set(2); 0 is that of the thread.
    pub prio: u16,
}

/// The end of one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Slot of the request.
    pub slot: u32,
    /// Bytes moved (for a trim or sync: 0 is success), or a negative errno.
    pub result: i64,
}

/// How long [`Engine::reap`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Return when this many have completed; 0 does not wait.
    pub at_least: u32,
    /// Return at most this many.
    pub at_most: u32,
    /// Return after this long even with fewer; `None` is up to the engine, which must then still return
    /// within one second so that the loop stays in control.
    pub limit: Option<Nanos>,
}

/// Carries I/O. One worker owns one engine; nothing is shared.
///
/// The loop promises: a slot is in flight at most once, and never more than [`Engine::depth`] are.
/// The engine promises: every request taken by [`Engine::submit`] completes exactly once.
pub trait Engine {
    /// Most I/Os in flight.
    fn depth(&self) -> u32;

    /// Whether a request is over when [`Engine::submit`] returns. Submission latency then means nothing.
    fn is_synchronous(&self) -> bool;

    /// The buffer of `slot`, to fill before a write or to look at after a read.
    ///
    /// # Panics
    /// When the slot is in flight.
    fn buffer(&mut self, slot: u32) -> &mut [u8];

    /// Hands over a batch, in order, and returns how many were taken. Fewer than all are taken only when the kernel
    /// takes no more for now; the loop reaps and comes again with the rest. An I/O the target refuses is not an
    /// error here: it completes with a negative result.
    ///
    /// # Errors
    /// When the engine itself cannot go on.
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError>;

    /// Appends completions to `done`, as `wait` says. Never allocates when `done` has room.
    ///
    /// # Errors
    /// When the engine itself cannot go on.
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError>;
}

/// How a file is opened for the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// Which.
    pub path: PathBuf,
    /// Bytes that may be touched; I/O outside is refused by the engine layer.
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
    /// Create it now if it is not there (`create_on_open`).
    pub create: bool,
}

/// What an engine is made from.
#[derive(Debug)]
pub struct EngineRequest<'a> {
    /// Which, and its settings.
    pub spec: &'a EngineSpec,
    /// Slots wanted; synchronous engines give 1.
    pub depth: u32,
    /// Bytes of each slot's buffer.
    pub buffer_size: u32,
    /// Files, opened as these say.
    pub files: &'a [OpenFile],
}

/// What runs on an engine: generic, so that each engine gets its own copy of the loop and no call is indirect.
pub trait EngineUser {
    /// What it returns.
    type Output;
    /// Runs on `engine`; `fallback` says why it is not the one asked for.
    fn run<E: Engine>(
        self,
        engine: E,
        name: &'static str,
        fallback: Option<String>,
    ) -> Self::Output;
}

/// Why an engine cannot be had or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    /// errno.
    pub errno: i32,
    /// What was being done and how to mend it, in words.
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
