//! Plan -> recording: who does which I/O when, and what came of it.
//!
//! The crate knows neither Linux nor a simulator: it sees an [`Engine`], a [`Clock`] and a
//! [`Host`].

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
mod script;
mod targets;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tracelog;
mod verify;
mod worker;

pub use self::archive::IntervalSink;
pub use self::clock::Clock;
pub use self::coordinator::{LoadError, States, Watch, run, salvage};
pub use self::dry_run::dry_run;
pub use self::engine::{
    Completion, Engine, EngineError, EngineRequest, EngineUser, Op, OpenFile, Request, Wait,
};
pub use self::host::{FileFacts, Host, HostError, LayOut, Restore, Scratch};
pub use self::live::Stop;
pub use self::null::NullEngine;
pub use self::payload::{Filler, PayloadError, PayloadMeasurement, Sampler, measure};
pub use self::targets::{TargetAccess, target_accesses};
pub use self::tracelog::TraceSource;
pub use self::verify::{
    Difference, Expected, Fault, HeaderFormat, Mismatch, ReplayVerdict, SelfTest, Stamp, Stamper,
    StateError, VerifyError, VerifyState, name_hash,
};
