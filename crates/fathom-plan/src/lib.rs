//! Parses fio's job files and command lines into a [`Plan`](fathom_model::Plan).
//!
//! The steps are: [`parse_args`] turns a command line into an [`Invocation`], and [`plan`] reads its job files, finds every option in
//! the option table ([`options`]), checks the values, and resolves each section into jobs. Every error has a location and, where
//! possible, a fix, and all errors are reported together. The [`Personality`](fathom_model::Personality) selects the meaning of
//! units: exactly that of fio, or the plain one of `fathom run`.
//!
//! The crate opens no files and reads neither the environment nor a clock: the caller provides them through [`FileReader`] and
//! [`HostInfo`].
//!
//! Experiments are plans too: [`Sweep`], [`Recipe`] and [`Quick`] make job files and cells. The functions [`parse_size`],
//! [`parse_time`], [`parse_rate`], [`parse_percent`] and [`parse_count`] parse quantities for every command line.
//!
//! ```
//! use std::io;
//! use std::path::Path;
//!
//! use fathom_model::{Personality, Traffic};
//! use fathom_plan::{FileReader, HostInfo, parse_args, plan};
//!
//! struct Example;
//!
//! impl FileReader for Example {
//!     fn read(&self, _path: &str) -> io::Result<Vec<u8>> {
//!         Ok(b"[job]\nrw=randread\nbs=4k\nsize=1g\nfilename=/data/file\n".to_vec())
//!     }
//! }
//!
//! impl HostInfo for Example {
//!     fn variable(&self, _name: &str) -> Option<String> {
//!         None
//!     }
//!     fn memory_mib(&self) -> u64 {
//!         8192
//!     }
//!     fn cpus(&self) -> u32 {
//!         4
//!     }
//!     fn page_size(&self) -> u64 {
//!         4096
//!     }
//!     fn is_special(&self, _path: &Path) -> bool {
//!         false
//!     }
//!     fn is_directory(&self, _path: &Path) -> bool {
//!         true
//!     }
//!     fn entropy(&self) -> u64 {
//!         1
//!     }
//! }
//!
//! let arguments = ["job.fio".to_owned(), "--set".to_owned(), "iodepth=32".to_owned()];
//! let invocation = parse_args(&arguments, Personality::Fathom).expect("a valid command line");
//! let planned = plan(&invocation, &Example, &Example).expect("a valid job file");
//! let job = &planned.plan.jobs[0];
//! assert_eq!((job.pattern.traffic, job.queue.depth), (Traffic::Read, 32));
//!
//! let error = parse_args(&["--iodpeth=32".to_owned()], Personality::Fathom).expect_err("a typo");
//! assert_eq!(
//!     error[0].to_string(),
//!     "argument 1: unknown option '--iodpeth' (did you mean --iodepth?)"
//! );
//! ```

mod command;
mod diagnostic;
mod experiment;
mod host;
mod iolog;
mod jobfile;
mod limits;
mod options;
mod reference;
mod resolve;
mod span;
mod text;
mod values;

pub use self::command::{
    Action, AgentOptions, ArgumentUse, ClientOption, ColorMode, Eta, IdleProf, Invocation,
    OutputFormat, Reporting, SimulatedMachine, Switch, TriggerOptions, client_hosts, help_text,
    parse_args, planning_arguments, show_command, switches,
};
pub use self::diagnostic::{Diagnostic, Severity};
pub use self::experiment::{
    Axis, AxisError, LIMITED_STEP, LIMITS_DRAIN, LIMITS_IDLE, LIMITS_ONE, LIMITS_REFILL,
    LIMITS_SIZE, Level, LimitsPlan, PlannedCell, Profile, ProfileJob, ProfilePlace, ProfileStep,
    Quick, QuickError, Recipe, RecipeError, Rounds, RunTarget, Setting, Step, Sweep, Tenant,
    Tracked, Training, coarse_first, file_value, merge_plans, profile_place, read_profile,
    read_recipe,
};
pub use self::host::{FileReader, HostInfo};
pub use self::iolog::{TraceError, TraceReader, TraceSummary, summarise_trace};
pub use self::jobfile::{Assignment, JobFile, Section, Source};
pub use self::options::{
    Kind, OptionRow, Support, closest_option, command_help, engine_help, find, option_groups,
    option_help, options, read_value, value_description,
};
pub use self::reference::{ListedOption, ListedValue, compatibility, job_option_list, switch_list};
pub use self::resolve::{Planned, plan, read_job_files, show_commands};
pub use self::span::Span;
pub use self::text::closest;
pub use self::values::{
    ParseContext, QuantityError, Size, Unit, Value, ValueError, parse_count, parse_percent,
    parse_rate, parse_size, parse_time,
};
