//! Devices made of arithmetic: what they answer is known, so that searches and procedures can be tested to the digit.
//!
//! No clock, no file, and no random number without a seed: time is a number that moves from event to event.

mod random;
mod servers;

pub use self::servers::{Coming, Observed, Servers, Service};
