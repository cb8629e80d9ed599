//! The Linux side of a run: I/O engines, clock, files, device facts and the target guard's probes.
//!
//! * Engines: [`make_engine`] creates sync, psync, libaio, io_uring and the other engines of
//!   `fathom-load`.
//! * [`LinuxClock`]: the time stamp counter if it is reliable, otherwise CLOCK_MONOTONIC.
//! * [`LinuxHost`]: lays out and opens the files of a run; [`ConditionsWatch`] samples the machine
//!   during it.
//! * [`run_load`]: the loops of `fathom-load`, compiled for these engines, clocks and files.
//! * Probes: [`examine`] collects the facts of a target without side effects, and [`hold`] opens it
//!   with a permit of `fathom-device`.
//! * [`LinuxSysfs`] and [`inspect_target`]: the devices below a target.
//!
//! It is the only crate with `unsafe` code. The engines depend on two rules: a request outside the
//! range of its file is refused, and nobody accesses a buffer while its I/O is in flight.
//!
//! ```
//! use fathom_linux::LinuxClock;
//! use fathom_load::Clock;
//! use fathom_model::Nanos;
//!
//! let clock = LinuxClock::start();
//! let start = clock.now();
//! clock.sleep_until(start + Nanos::from_millis(1));
//! assert!(clock.now() >= start + Nanos::from_millis(1));
//! ```

#![deny(unsafe_op_in_unsafe_fn)]

mod calendar;
mod clock;
mod commits;
mod control_groups;
mod devices;
mod engines;
mod host;
mod io_max;
mod memory;
mod open_flags;
mod output_file;
mod probe;
mod run;
mod sigbus_handler;
mod why;
mod witness;

pub use self::calendar::utc_offset_s;
pub use self::clock::LinuxClock;
pub use self::commits::{CommitError, CommitLoad, CommitMethod, CommitResult, measure_commits};
pub use self::control_groups::ControlGroups;
pub use self::devices::{
    DeviceWatch, LinuxSysfs, ebs_stats, inspect_target, inspect_target_with_ioctls,
};
pub use self::engines::{
    EngineFile, ImageFacts, bare_noop_ring, examine_image, make_engine, make_noop_ring,
};
pub use self::host::{
    BlockMap, CacheState, ConditionsWatch, DirectIo, HostWatch, IdleWatch, LinuxHost, SectorRange,
    cache_state, direct_io, dump_requests, end_with_parent, host_cpus, host_memory,
    idle_calibration, interrupts, read_small, save_in, written_share,
};
pub use self::io_max::LimitedGroup;
pub use self::open_flags::O_DSYNC;
pub use self::output_file::{Document, FileId, OutputError, OutputName, Outputs};
pub use self::probe::{
    Examined, HeldTarget, HoldError, ProbeError, examine, examine_without_samples, file_owner,
    hold, hold_again, list_block_devices, mark_owned, probe_responds, remove_owned,
};
pub use self::run::run_load;
pub use self::sigbus_handler::sigbus_handler;
pub use self::why::WhyReader;
pub use self::witness::{
    CommandInterval, SUPERVISOR_VARIABLE, WitnessError, WitnessEvent, WitnessOptions, WitnessedRun,
    process_totals, process_tree, remove_abandoned_groups, supervise, witness,
};
