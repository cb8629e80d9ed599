//! Runs the jobs of a plan: which I/O each job does, when it does it, and how it ended.
//!
//! `run` turns a [`fathom_model::Plan`] into a [`fathom_model::Recording`]. A coordinator prepares
//! the targets and starts a worker thread for each job, through the [`Host`]. A worker takes its I/O from a generator
//! or a trace, submits it to an [`Engine`] and records every completion.
//!
//! The crate depends neither on Linux nor on a simulator: it uses an [`Engine`], a [`Clock`] and a
//! [`Host`], which another crate implements. [`NullEngine`] is the engine that transfers nothing:
//!
//! ```
//! use fathom_load::{Engine, NullEngine, Op, Request, Wait};
//!
//! let mut engine = NullEngine::new(1, 4096, &[(0, 1 << 20)])?;
//! let read = Request { slot: 0, file: 0, op: Op::Read, len: 4096, offset: 8192, prio: 0 };
//! assert_eq!(engine.submit(&[read])?, 1);
//!
//! let mut done = Vec::new();
//! engine.reap(Wait { at_least: 1, at_most: 1, limit: None }, &mut done)?;
//! assert_eq!(done[0].result, 4096);
//! # Ok::<(), fathom_load::EngineError>(())
//! ```

mod archive;
mod arrivals;
mod budget;
mod clock;
mod coordinator;
mod dry_run;
mod engine;
mod engine_filter;
mod errno;
mod flow;
mod host;
mod io_generator;
mod io_log;
mod job_recording;
mod live;
mod locks;
mod logger;
mod null;
mod offsets;
mod overlaps;
mod payload;
mod priorities;
mod recorder;
mod rng;
mod targets;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trace_read_ahead;
mod verify;
mod worker;

pub use self::archive::IntervalSink;
pub use self::clock::Clock;
pub use self::coordinator::{
    LoadError, RunHooks, States, failed_recording, rebuild_recording, run,
};
pub use self::dry_run::dry_run;
pub use self::engine::{
    Completion, Engine, EngineError, EngineRequest, EngineUser, Op, OpenFile, Request, Wait,
};
pub use self::host::{
    FileFacts, Host, HostError, LARGEST_MEMORY_BUDGET, LayOut, Restore, RunningThread, Scratch,
    THREAD_STACK_SIZE, ThreadBody, spawn_thread,
};
pub use self::io_log::{IoChunk, IoLogSink, LoggedIo};
pub use self::live::Stop;
pub use self::null::NullEngine;
pub use self::payload::{
    Filler, PayloadError, PayloadMeasurement, Sampler, fill_incompressible, measure,
};
pub use self::targets::{PlannedSizes, TargetAccess, target_accesses};
pub use self::trace_read_ahead::TraceSource;
pub use self::verify::{
    Difference, Expected, Fault, HeaderFormat, Mismatch, ReplayVerdict, SelfTest, Stamp, Stamper,
    StateError, VerifyError, VerifyState, name_hash,
};
