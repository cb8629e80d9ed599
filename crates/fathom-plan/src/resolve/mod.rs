//! Sections as written into the jobs of a plan.

mod accounting;
mod demand;
mod diagnostics;
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
mod pitfalls;
mod plan;
mod priorities;
mod replay;
mod sections;
mod settings;
mod steady;
mod sync;
mod verify;

pub use self::plan::{Planned, plan, read_job_files, show_commands};
