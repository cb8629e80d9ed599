//! Results on disk: every run with its plan, its cells, their recordings, figures and findings.
//!
//! One schema and one set of SQL statements serve SQLite, which is embedded and the default, and PostgreSQL. What
//! [`Store`] acknowledged survives a killed process and a power cut. The crate reads no clock and no environment: callers
//! pass times and paths. Without the feature `sqlite` the interface is the same, and opening a store fails with
//! [`StoreError::NotBuilt`].
//!
//! ```
//! use fathom_store::{CellContent, Experiment, RunState, Store, StoredCell};
//!
//! # let directory = std::env::temp_dir().join(format!("fathom-store-doc-{}", std::process::id()));
//! let path = directory.join("results.db");
//! let mut store = Store::open(&path)?;
//! let run = store.begin(&Experiment {
//!     kind: "run".into(),
//!     name: "randread.fio".into(),
//!     planned: 1,
//!     ..Experiment::default()
//! })?;
//! let cell = StoredCell {
//!     figures: vec![("read iops".into(), 95_012.5)],
//!     ..StoredCell::default()
//! };
//! store.save_cell(run, &cell, &CellContent::Nothing)?;
//! store.finish(run, RunState::Finished, 1_700_000_000_000_000_000)?;
//!
//! assert_eq!(store.run("latest")?.state, RunState::Finished);
//! assert_eq!(store.cells(run)?, [cell]);
//! # std::fs::remove_dir_all(&directory).expect("the directory is removed");
//! # Ok::<(), fathom_store::StoreError>(())
//! ```
#![forbid(unsafe_code)]

mod address;
#[cfg(feature = "sqlite")]
mod batch;
#[cfg(feature = "sqlite")]
mod cells;
#[cfg(feature = "sqlite")]
mod copy;
#[cfg(feature = "sqlite")]
mod document;
mod error;
mod filter;
#[cfg(feature = "sqlite")]
mod journal;
#[cfg(feature = "sqlite")]
mod json_columns;
#[cfg(feature = "sqlite")]
mod labels;
#[cfg(feature = "sqlite")]
mod listing;
#[cfg(feature = "sqlite")]
mod location;
#[cfg(feature = "sqlite")]
mod runs;
#[cfg(feature = "sqlite")]
mod schema;
#[cfg(feature = "sqlite")]
mod server;
#[cfg(feature = "sqlite")]
mod store;
// Compiled for its test, too.
#[cfg(any(test, not(feature = "sqlite")))]
#[cfg_attr(feature = "sqlite", allow(dead_code))]
mod unavailable;

pub use self::address::without_password;
#[cfg(feature = "sqlite")]
pub use self::document::{DocumentError, read_recording, write_recording};
pub use self::error::StoreError;
pub use self::filter::{Copied, RunFilter};
#[cfg(feature = "sqlite")]
pub use self::journal::Journal;
#[cfg(feature = "sqlite")]
pub use self::listing::{FigurePoint, ListFilter, ListedRun, RecentNames, SeriesFilter};
#[cfg(feature = "sqlite")]
pub use self::schema::VERSION;
#[cfg(feature = "sqlite")]
pub use self::store::Store;
#[cfg(not(feature = "sqlite"))]
pub use self::unavailable::{Journal, Store, read_recording, write_recording};
pub use fathom_model::{
    CellContent, CellState, Experiment, Run, RunId, RunState, StoredCell, StoredFinding,
};
