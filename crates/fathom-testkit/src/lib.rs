//! Devices with known results and known faults, for the tests of the other crates.
//!
//! [`FaultDevice`] is a file whose latency, errors and power cuts are controlled by the test. It
//! keeps its own log of every operation, with which a test compares the results of a benchmark.
//!
//! ```no_run
//! use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Keep, Latency, require};
//!
//! fn a_test() {
//!     require!(Fuse);
//!     let latency = Latency { read_us: 5000, ..Latency::default() };
//!     let options = DeviceOptions { latency, ..DeviceOptions::default() };
//!     let device = FaultDevice::mount(options).expect("mount");
//!     device.inject_times(Fault::ReadError { offset: 1 << 20, len: 4096 }, 1);
//!     // ... run the tool on device.path() ...
//!     assert!(device.counts().injected() >= 1, "the fault was not triggered");
//!     let after_power_cut = device.snapshot(&Keep::None);
//!     let slowest_ns = device.log().iter().map(|e| e.latency_ns()).max();
//! }
//! ```

mod clock_shim;
mod command;
mod control_group;
mod core;
mod corruption;
mod device;
mod fault;
mod fusefs;
mod loop_device;
mod model;
mod module_graph;
mod mounted_fs;
mod need;
mod oplog;
mod pace;
mod postgres;
mod said_numbers;
mod scratch;
pub mod seccomp;
mod state;
mod store;
mod throttle;
mod volatile_cache;

pub use crate::core::{Core, Counts, Latency, Ticket};
pub use clock_shim::ClockShim;
pub use command::{COMMANDS, Command as ControlCommand, CommandError};
pub use control_group::ControlGroup;
pub use corruption::Corruption;
pub use device::{DeviceOptions, FaultDevice};
pub use fault::{Fault, FaultKind, Op};
pub use loop_device::{LoopDevice, LoopOptions, QueueSetting};
pub use model::Model;
pub use module_graph::ModuleGraph;
pub use mounted_fs::{FsKind, Mount};
pub use need::{Need, Unmet, all_met, skip};
pub use oplog::Entry;
pub use pace::monotonic_ns;
pub use postgres::{PG_PASSWORD, PgCluster, PgStop};
pub use said_numbers::numbers_without_value;
pub use scratch::Scratch;
pub use store::{Keep, SECTOR};
pub use throttle::{Limit, Throttle};
pub use volatile_cache::{CacheFault, VolatileCache};
