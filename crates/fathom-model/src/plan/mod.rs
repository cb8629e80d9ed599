//! The plan of a run: complete, so that later stages do not need the command line.
//!
//! A [`Plan`] is made by `fathom-plan` and only read afterwards. Sizes that depend on the target
//! stay an [`Extent`] until the target is open.

mod accounting;
mod defaults;
mod engine;
mod files;
mod pace;
mod pattern;
mod payload;
mod replay;

use crate::{Bytes, Nanos};

pub use self::accounting::*;
pub use self::engine::*;
pub use self::files::*;
pub use self::pace::*;
pub use self::pattern::*;
pub use self::payload::*;
pub use self::replay::*;

/// The unit conventions of a job file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Personality {
    /// IEC and SI units are distinct; ambiguous values cause warnings.
    #[default]
    Fathom,
    /// Exactly as fio.
    Fio,
}

/// Everything one invocation will do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Unit conventions of the job files.
    pub personality: Personality,
    /// Job files as given on the command line, for the header.
    pub sources: Vec<String>,
    /// Options of the `[global]` sections, canonical names, in order, as written; `None` value for a bare flag.
    pub globals: Vec<(String, Option<String>)>,
    /// Explicit overrides (`--set`), shown in every output.
    pub overrides: Vec<Override>,
    /// Jobs in the order they are started; clones of a section are adjacent.
    pub jobs: Vec<Job>,
    /// Length of one recorded interval.
    pub interval: Nanos,
    /// Refuse every job that writes or trims (`--readonly`).
    pub read_only: bool,
    /// Warnings of the front end as text; repeated in the result.
    pub warnings: Vec<String>,
}

/// One `--set [JOB.]OPTION=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The job it applies to; `None` is every job.
    pub job: Option<String>,
    /// Canonical option name.
    pub option: String,
    /// The value, as written.
    pub value: String,
}

/// One worker: a clone of a job section.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name in the report and of log files without a prefix.
    pub name: String,
    /// Options set in this job's own section, canonical names, as written (fio's `job options`).
    pub options: Vec<(String, Option<String>)>,
    /// Free text of the user.
    pub description: Option<String>,
    /// Counted over the whole run from 1; the N of log file names.
    pub number: u32,
    /// Which section of the run this is a clone of, counted from 0.
    pub section: u32,
    /// Which clone of its section this is, counted from 0 (`$jobnum`).
    pub clone: u32,
    /// Reporting group, counted from 0.
    pub group: u32,
    /// Results of the group are merged into one entry.
    pub group_reporting: bool,
    /// Start conditions.
    pub start: Start,
    /// Which other jobs end with this one.
    pub exit: ExitRule,
    /// The targets.
    pub files: FileSet,
    /// Directions, addresses and sizes.
    pub pattern: Pattern,
    /// How much and how long.
    pub limits: Limits,
    /// When each I/O is due.
    pub pace: Pace,
    /// Queue depth and batching.
    pub queue: Queue,
    /// The I/O engine.
    pub engine: EngineSpec,
    /// What is written.
    pub payload: Payload,
    /// What is checked.
    pub verify: Option<Verify>,
    /// When data is made durable.
    pub sync: SyncPolicy,
    /// What is recorded and logged.
    pub accounting: Accounting,
    /// What an error does.
    pub errors: ErrorPolicy,
    /// CPUs the worker may run on; empty is all.
    pub cpus: Vec<u32>,
    /// `nice` of the worker.
    pub nice: Option<i32>,
}

/// Start conditions of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// `stonewall`: every job before this one in the plan has ended.
    pub after_all_before: bool,
    /// `wait_for`: every clone of that section ([`Job::section`]) has ended.
    pub after_section: Option<u32>,
    /// Waits between these two after it could start (equal: exactly that).
    pub delay: (Nanos, Nanos),
    /// `exec_prerun`: a shell command that is run before the job's files are opened.
    pub command_before: Option<String>,
    /// `exec_postrun`: one that is run when the job has ended.
    pub command_after: Option<String>,
}

/// Which other jobs end with a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitRule {
    /// `exitall`: end others when this job ends.
    pub exit_all: bool,
    /// `exitall_on_error`: end others when this job fails.
    pub exit_all_on_error: bool,
    /// Which other jobs.
    pub scope: ExitWhat,
}

/// `exit_what`: which jobs `exitall` ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitWhat {
    /// The jobs of the same reporting group.
    #[default]
    Group,
    /// The jobs running up to the next stonewall.
    Stonewall,
    /// All jobs, those not started included.
    All,
}

/// A size that may depend on the size of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// To the end of the target.
    #[default]
    Whole,
    /// This many bytes.
    Bytes(Bytes),
    /// This share of the target, in percent (1 to 100).
    Percent(u8),
}

impl Extent {
    /// The size in bytes on a target of `whole` bytes.
    #[must_use]
    pub fn of(self, whole: Bytes) -> Bytes {
        match self {
            Extent::Whole => whole,
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(share) => {
                Bytes::new((u128::from(whole.get()) * u128::from(share) / 100) as u64)
            }
        }
    }
}
