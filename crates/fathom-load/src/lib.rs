//! Plan -> recording: who does which I/O when, and what came of it.
//!
//! The crate knows neither Linux nor a simulator: it sees an [`Engine`], a [`Clock`] and a [`Host`].

mod arrivals;
mod clock;
mod engine;
mod host;
#[allow(dead_code)]
mod logger;
mod payload;
#[allow(dead_code)]
mod offsets;
#[allow(dead_code)]
mod recorder;
mod rng;
#[allow(dead_code)]
mod script;
#[cfg(test)]
mod testing;

pub use self::clock::Clock;
pub use self::engine::{Completion, Engine, EngineError, EngineRequest, EngineUser, Op, Request, Wait};
pub use self::host::{FileFacts, Host, HostError, LayOut, OpenFile};
pub use self::payload::{Filler, Measured, PayloadError, Sampler, measure};
