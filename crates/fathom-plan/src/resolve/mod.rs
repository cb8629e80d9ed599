//! What was written into what will be done.

mod accounting;
mod bounds;
mod demand;
mod engine;
mod errors;
mod files;
mod job;
mod limits;
mod numa;
mod overrides;
mod pace;
mod pattern;
mod payload;
mod plan;
mod priorities;
mod replay;
mod report;
mod sections;
mod settings;
mod steady;
mod sync;
mod traps;
mod verify;

pub(crate) use self::bounds::{LARGEST_BLOCK, LONGEST_TIME};
pub(crate) use self::engine::ENGINES;
pub use self::plan::{Planned, plan, read_job_files, show_commands};
