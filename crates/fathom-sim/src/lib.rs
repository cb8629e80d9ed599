//! Simulated devices with known answers, so that searches and procedures can be tested exactly.
//!
//! ```
//! use fathom_sim::{Servers, Service};
//!
//! let device = Servers { count: 4, mean_ns: 100_000.0, service: Service::Fixed, credit_ns: 0.0 };
//! assert_eq!(device.max_iops(), 40_000.0);
//! // One I/O at a time keeps one of the four servers busy.
//! let observed = device.closed(1, 10_000, 1);
//! assert!((observed.iops - 10_000.0).abs() < 10.0);
//! ```
//!
//! They use no clock, no file, and no random number without a seed: time is a number that moves
//! from event to event.

pub mod device;
mod random;
mod servers;

pub use self::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime, closed_loop};
pub use self::servers::{Arrivals, Observed, Servers, Service};
