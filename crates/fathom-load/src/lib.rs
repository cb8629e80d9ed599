//! Plan -> recording: who does which I/O when, and what came of it.
//!
//! The crate knows neither Linux nor a simulator: it sees an [`Engine`], a [`Clock`] and a [`Host`].

mod clock;
mod engine;
mod host;

pub use self::clock::Clock;
pub use self::engine::{Completion, Engine, EngineError, EngineRequest, EngineUser, Op, Request, Wait};
pub use self::host::{FileFacts, Host, HostError, LayOut, OpenFile};
