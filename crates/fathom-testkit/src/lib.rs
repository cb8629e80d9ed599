//! Devices with known answers and known faults, for the tests of the other rooms.
//!
//! [`FaultDevice`] is a file whose latency, errors and power cuts a test decides, and which keeps
//! its own log of every operation: what a benchmark reports is compared with that log.

mod command;
mod core;
mod device;
mod fault;
mod fusefs;
mod model;
mod need;
mod oplog;
mod pace;
mod scratch;
pub mod seccomp;
mod store;
mod throttle;

pub use crate::core::{Core, Counts, Latency, Ticket};
pub use command::{COMMANDS, Command as ControlCommand};
pub use device::{DeviceOptions, FaultDevice};
pub use fault::{Fault, FaultKind, Op};
pub use model::Model;
pub use need::{Need, all_met};
pub use oplog::Entry;
pub use pace::monotonic_ns;
pub use scratch::Scratch;
pub use store::{Keep, SECTOR};
pub use throttle::{Limit, Throttle};
