//! Simulated devices with known answers, so that searches and procedures can be tested exactly.
//!
//! They use no clock, no file, and no random number without a seed: time is a number that moves
//! from event to event.

mod random;
mod servers;

pub use self::servers::{Coming, Observed, Servers, Service};
