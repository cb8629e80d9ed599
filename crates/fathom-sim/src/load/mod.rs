//! A simulated device as the machine of the load generator: its clock, its engine and its files.
//!
//! The threads of a run take turns: one runs until it waits for the device or for a time. Then
//! virtual time moves to the first event for which a thread waits. The order is fixed, so that the
//! same plan, device and seed give the same recording.

mod engine;
mod host;
mod world;

pub use self::engine::SimEngine;
pub use self::host::{SimHost, unsupported};
pub use self::world::VirtualClock;
