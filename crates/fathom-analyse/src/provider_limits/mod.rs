//! The limits of a provider: token buckets, smooth ceilings, and what they count.
//!
//! A token bucket fills at the base rate up to its size, and each I/O takes tokens. While it has
//! tokens, I/O is as fast as the device or the burst limit allows; after that exactly the base rate
//! is left. Over a time in which the load takes all it gets, the completed work is
//! `bucket + base x time`, so the size follows from the sum, not from the moment of the change.
//!
//! Devices that become slower look similar: an SLC cache that is full, heat, garbage collection.
//! They differ in two properties of the slow part. A limiter releases work evenly, so that all
//! parts of the time have the same number of I/Os; and each I/O waits for its token, so that all
//! have nearly the same latency. A slow device has an uneven rate or scattered latencies.
//!
//! A write cache that is full has both properties: the load then waits evenly for the medium. So
//! writes count only below the rate of any medium.

mod bucket;
pub(crate) mod change_point;
mod counted;
mod report;

pub use self::bucket::{LimitedUnit, RateLimit, RateShape, rate_shape};
pub use self::counted::{COUNTED_SIZES, CountedForm, CountedLimit, SizePoint, counted_limit};
pub use self::report::{LimitsInput, LimitsReport, LimitsVerdict, limits_report};

/// A value with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitEstimate {
    /// The value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl LimitEstimate {
    /// `value` with the half width of its interval.
    #[must_use]
    pub fn new(value: f64, half_width: f64) -> LimitEstimate {
        LimitEstimate {
            value,
            low: (value - half_width).max(0.0),
            high: value + half_width,
        }
    }
}
