//! Results on disk: every run with its plan, its cells, their recordings, figures and findings.
//!
//! One schema and one SQL text for SQLite, which is embedded and the default, and PostgreSQL. Whatever [`Store`] has
//! acknowledged survives a killed process and a power cut.
//!
//! *It must not lose what it acknowledged, judge, or format for people.* It reads no clock and no environment: times and
//! places are handed in.
#![forbid(unsafe_code)]

mod batch;
mod cells;
mod document;
mod error;
mod journal;
mod pairs;
mod place;
mod runs;
mod schema;
mod store;

pub use self::document::{Unreadable, read_recording, write_recording};
pub use self::error::StoreError;
pub use self::journal::Journal;
pub use self::schema::VERSION;
pub use self::store::Store;
pub use fathom_model::{
    CellState, Content, Experiment, Run, RunId, RunState, StoredCell, StoredFinding,
};
